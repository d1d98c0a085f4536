"""The normal distribution of CMA-ES that learns from points made elsewhere too.

Its mean is the weighted mean of the better half of the points it is shown; step size and covariance
matrix follow by the equations of CMA-ES.
"""

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from uaos.jit import njit
from uaos.optimizers.base import Array

#: The initial step size, in units of which a box is `UNITS` wide: the competition's is [-100, 100].
SIGMA, UNITS = 0.5, 200.0


class Distribution:
    """The distribution of a run.

    With the best μ = NP/2 points x_1, x_2, … and w_i proportional to ln(NP/2 + 1/2) - ln i, mean,
    paths, step size and matrix change as in CMA-ES without negative weights; the learning rates are
    those of the first NP. Mohamed et al. (2017), LSHADE-SPACMA.

    Parameters
    ----------
    low, high : ndarray
        The box.
    NP : int
        The size of the first population.
    sigma : float
        The first step size.
    """

    def __init__(self, low: Array, high: Array, NP: int, sigma: float = SIGMA) -> None:
        self._sigma = sigma
        self._low, self._unit = (low + high) / 2.0, (high - low) / UNITS
        D = self.dimension = len(low)
        _, mu_eff = weights(NP)
        self._c_c = (4 + mu_eff / D) / (D + 4 + 2 * mu_eff / D)
        self._c_sigma = (mu_eff + 2) / (D + mu_eff + 5)
        self._c_1 = 2 / ((D + 1.3) ** 2 + mu_eff)
        self._c_mu = min(1 - self._c_1, 2 * (mu_eff - 2 + 1 / mu_eff) / ((D + 2) ** 2 + mu_eff))
        self._d_sigma = 1 + 2 * max(0.0, math.sqrt((mu_eff - 1) / (D + 1)) - 1) + self._c_sigma
        self._expected = math.sqrt(D) * (1 - 1 / (4 * D) + 1 / (21 * D * D))
        self._reset(np.zeros(D))

    def _reset(self, mean: Array) -> None:
        D = self.dimension
        self.mean, self.sigma = mean, self._sigma
        self.C, self.factor, self.whitening = np.eye(D), np.eye(D), np.eye(D)
        self.path_sigma, self.path_c = np.zeros(D), np.zeros(D)
        self.decomposed = 0  # evaluations at the last decomposition

    def sample(self, z: Array, mine: Array, points: Array) -> None:
        """Write points to the rows `mine`, one from each row of standard normal numbers."""
        steps = z.dot(self.factor.T)
        _place(steps, self.mean, self.sigma, self._low, self._unit, mine, points)

    def recenter(self, population: Array, order: Array) -> None:
        """Take the mean from a population; `order` has its places, the best first."""
        w, _ = weights(len(order))
        self.mean = w.dot(self._better(population, order))

    def _better(self, population: Array, order: Array) -> Array:
        """The better half of a population, best first, in the units of the distribution."""
        better = np.empty((len(order) // 2, self.dimension))
        _gather(population, order, self._low, self._unit, better)
        return better

    # A distribution that has lost its scale starts again, and needs no warnings.
    @np.errstate(all="ignore")
    def follow(self, population: Array, order: Array, evaluations: int) -> None:
        """Move to a population; `order` has its places, the best first."""
        NP, D = len(order), self.dimension
        w, mu_eff = weights(NP)
        steps = self._better(population, order)
        old, self.mean = self.mean, w.dot(steps)
        c_s, c_c = self._c_sigma, self._c_c
        step, scaled, weighted = np.empty(D), np.empty((D, D)), np.empty(steps.shape)
        gain = math.sqrt(c_s * (2 - c_s) * mu_eff)
        _step(
            self.mean, old, self.sigma, gain, self.whitening, self._c_mu, w, step, scaled, steps,
            weighted,
        )  # fmt: skip
        self.path_sigma = path = (1 - c_s) * self.path_sigma + scaled.dot(step)
        square = float(path.dot(path))
        limit = (2 + 4 / (D + 1)) * D * (1 - (1 - c_s) ** (2 * evaluations / NP))
        h = 1.0 if square < limit else 0.0
        gain = h * math.sqrt(c_c * (2 - c_c) * mu_eff)
        decay = 1 - self._c_1 - self._c_mu + (1 - h) * self._c_1 * c_c * (2 - c_c)
        finite = _update(
            self.C, decay, self._c_1, 1 - c_c, gain, step, self.path_c, weighted.T.dot(steps)
        )  # fmt: skip
        exponent = c_s / self._d_sigma * (math.sqrt(square) / self._expected - 1)
        self.sigma *= math.exp(min(exponent, 700.0))
        if not (finite and 0 < self.sigma < 1e100):
            self._reset(self.mean)
        elif evaluations - self.decomposed > NP / (self._c_1 + self._c_mu) / D / 10:
            self.decomposed = evaluations
            self._decompose()

    def _decompose(self) -> None:
        values, vectors = np.linalg.eigh(self.C)  # reads the lower triangle
        factor, scaled = np.empty_like(vectors), np.empty_like(vectors)
        _scale_axes(values, vectors, factor, scaled)
        whitening = scaled.dot(vectors.T)
        if values[0] > 0 and _all_finite(factor, whitening):
            self.factor, self.whitening = factor, whitening
        else:
            self._reset(self.mean)

    _CHANGING = (
        "mean", "sigma", "C", "factor", "whitening", "path_sigma", "path_c", "decomposed",
    )  # fmt: skip

    def state(self) -> dict[str, Any]:
        """What changes in a run."""
        return {name: np.array(getattr(self, name)) for name in self._CHANGING}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from what :meth:`state` returned."""
        for name in self._CHANGING:
            value = np.array(state[name])
            setattr(self, name, value.item() if value.ndim == 0 else value)


@njit
def _step(
    mean: Array,
    old: Array,
    sigma: float,
    gain: float,
    whitening: Array,
    c_mu: float,
    w: Array,
    step: Array,
    scaled: Array,
    steps: Array,
    weighted: Array,
) -> None:
    """Write the step of the mean in units of sigma, and the whitening matrix times `gain`.

    Make points such steps from the old mean too, and write these times c_mu w.
    """
    for i in range(len(mean)):
        step[i] = (mean[i] - old[i]) / sigma
        for j in range(len(mean)):
            scaled[i, j] = gain * whitening[i, j]
    for i in range(steps.shape[0]):
        for j in range(steps.shape[1]):
            away = (steps[i, j] - old[j]) / sigma
            steps[i, j] = away
            weighted[i, j] = c_mu * (away * w[i])


@njit
def _scale_axes(values: Array, vectors: Array, factor: Array, scaled: Array) -> None:
    """Write the eigenvectors times the roots of the eigenvalues, and divided by them."""
    roots = np.sqrt(values)
    for i in range(vectors.shape[0]):
        for j in range(vectors.shape[1]):
            factor[i, j] = vectors[i, j] * roots[j]
            scaled[i, j] = vectors[i, j] / roots[j]


@njit
def _all_finite(one: Array, two: Array) -> bool:
    """Whether two matrices of the same shape are finite."""
    finite = True
    for i in range(one.shape[0]):
        for j in range(one.shape[1]):
            finite &= np.isfinite(one[i, j]) and np.isfinite(two[i, j])
    return finite


@njit
def _update(
    C: Array,
    decay: float,
    c_1: float,
    stays: float,
    gain: float,
    step: Array,
    path: Array,
    rank_mu: Array,
) -> bool:
    """Move the path and the matrix; return whether the matrix is finite."""
    finite = True
    for i in range(len(path)):
        path[i] = stays * path[i] + gain * step[i]
    for i in range(len(path)):
        for j in range(len(path)):
            C[i, j] = decay * C[i, j] + c_1 * (path[i] * path[j]) + rank_mu[i, j]
            finite &= np.isfinite(C[i, j])
    return finite


@njit
def _gather(population: Array, order: Array, low: Array, unit: Array, points: Array) -> None:
    """Write the first of a population in `order`, in units from `low` on."""
    for i in range(points.shape[0]):
        for j in range(points.shape[1]):
            points[i, j] = (population[order[i], j] - low[j]) / unit[j]


@njit
def _place(
    steps: Array, mean: Array, sigma: float, low: Array, unit: Array, mine: Array, points: Array
) -> None:
    """Make points of steps, in the rows `mine`."""
    for m in range(len(mine)):
        i = mine[m]
        for j in range(points.shape[1]):
            points[i, j] = low[j] + unit[j] * (mean[j] + sigma * steps[m, j])


@lru_cache(maxsize=512)
def weights(NP: int) -> tuple[Array, float]:
    """The weights of the better half of NP points, and how many equal ones they are worth."""
    raw = np.log(NP / 2 + 0.5) - np.log(np.arange(1, NP // 2 + 1))
    normalized = raw / raw.sum()
    return normalized, 1.0 / float((normalized**2).sum())
