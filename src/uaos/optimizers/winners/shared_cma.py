"""The CMA-ES of EA4eig, whose mean is that of a population it shares with other algorithms.

Bujok and Kolenovsky (2022), "Eigen crossover in cooperative model of evolutionary algorithms
applied to CEC 2022 single objective numerical optimisation".
"""

import math
from functools import lru_cache
from typing import ClassVar

import numpy as np

from uaos.arrays import FloatArray
from uaos.jit import njit
from uaos.statefile import Stateful

#: The initial step size, in units of the box's widths.
SIGMA = 0.5


@lru_cache(maxsize=512)
def weights(NP: int) -> tuple[FloatArray, float]:
    """Return the weights of the better half of NP points, and their effective number."""
    raw = np.log(NP / 2 + 0.5) - np.log(np.arange(1, NP // 2 + 1))
    normalized = raw / raw.sum()
    return normalized, 1.0 / float((normalized**2).sum())


@njit
def bring_halfway(
    points: FloatArray, earlier: FloatArray, low: FloatArray, high: FloatArray
) -> None:
    """Bring coordinates outside the box to the middle between the bound and an earlier point."""
    for i in range(points.shape[0]):
        for j in range(points.shape[1]):
            if points[i, j] != points[i, j]:  # overflowed
                points[i, j] = earlier[i, j]
            if points[i, j] < low[j]:
                points[i, j] = earlier[i, j] / 2.0 + low[j] / 2.0  # a sum may overflow
            if points[i, j] > high[j]:
                points[i, j] = earlier[i, j] / 2.0 + high[j] / 2.0


class SharedCMA(Stateful):
    """Normal distribution whose paths, step size and matrix learn from its own samples.

    The mean starts every generation as the weighted mean of the better half of the population, w_i
    proportional to ln(NP/2 + 1/2) - ln i. There are no negative weights, and the learning rates are
    those of the first NP. A coordinate outside the box becomes the middle between the bound and the
    sample that was in the same place before.

    Parameters
    ----------
    low, high : ndarray, shape (D,)
        The box.
    NP : int
        The size of the first population.
    earlier : ndarray, shape (NP, D)
        The first population.
    scale : ndarray, shape (D,), optional
        The lengths in units of which step sizes are; by default the widths of the box.
    """

    state_names: ClassVar[tuple[str, ...]] = (
        "mean", "sigma", "C", "factor", "whitening", "path_sigma", "path_c", "decomposed",
        "earlier",
    )  # fmt: skip

    def __init__(
        self,
        low: FloatArray,
        high: FloatArray,
        NP: int,
        earlier: FloatArray,
        scale: FloatArray | None = None,
    ) -> None:
        self.low, self.high = low, high
        self.width = high - low if scale is None else scale
        D = len(low)
        _, mu_eff = weights(NP)
        self.c_c = (4 + mu_eff / D) / (D + 4 + 2 * mu_eff / D)
        self.c_sigma = (mu_eff + 2) / (D + mu_eff + 5)
        self.c_1 = 2 / ((D + 1.3) ** 2 + mu_eff)
        self.c_mu = min(1 - self.c_1, 2 * (mu_eff - 2 + 1 / mu_eff) / ((D + 2) ** 2 + mu_eff))
        self.d_sigma = 1 + 2 * max(0.0, math.sqrt((mu_eff - 1) / (D + 1)) - 1) + self.c_sigma
        self.expected_norm = math.sqrt(D) * (1 - 1 / (4 * D) + 1 / (21 * D * D))
        self.earlier = earlier.copy()
        self.mean, self.decomposed = np.zeros(D), 0
        self._reset()

    def _reset(self) -> None:
        D = len(self.low)
        self.sigma = SIGMA
        self.C, self.factor, self.whitening = np.eye(D), np.eye(D), np.eye(D)
        self.path_sigma, self.path_c = np.zeros(D), np.zeros(D)

    def sample(self, better: FloatArray, NP: int, rng: np.random.Generator) -> FloatArray:
        """Return NP samples around the weighted mean of the better half of the population."""
        self.mean = weights(NP)[0] @ ((better - self.low) / self.width)
        steps = rng.standard_normal((NP, len(self.low))) @ self.factor.T
        with np.errstate(all="ignore"):  # of a huge box; samples are brought back
            points: FloatArray = self.low + self.width * (self.mean + self.sigma * steps)
        bring_halfway(points, self.earlier, self.low, self.high)
        return points

    # Numbers may overflow; the distribution then starts again.
    @np.errstate(all="ignore")
    def learn(self, points: FloatArray, values: FloatArray, evaluations: int) -> None:
        """Learn from a whole generation of samples, after as many evaluations of the run."""
        self.earlier = points.copy()
        NP, D = points.shape
        w, mu_eff = weights(NP)
        ranked = points[values.argsort(kind="stable")[: NP // 2]]  # NaN last
        steps = ((ranked - self.low) / self.width - self.mean) / self.sigma
        step = w @ steps
        self.mean = self.mean + self.sigma * step
        c_s, c_c = self.c_sigma, self.c_c
        gain = math.sqrt(c_s * (2 - c_s) * mu_eff)
        self.path_sigma = (1 - c_s) * self.path_sigma + gain * (self.whitening @ step)
        square = float(self.path_sigma @ self.path_sigma)
        started = 1 - (1 - c_s) ** (2 * evaluations / NP)
        h = float(square / started / D < 2 + 4 / (D + 1))
        self.path_c = (1 - c_c) * self.path_c + h * math.sqrt(c_c * (2 - c_c) * mu_eff) * step
        rank_one = np.outer(self.path_c, self.path_c) + (1 - h) * c_c * (2 - c_c) * self.C
        rank_mu = (steps.T * w) @ steps
        self.C = (1 - self.c_1 - self.c_mu) * self.C + self.c_1 * rank_one + self.c_mu * rank_mu
        exponent = c_s / self.d_sigma * (math.sqrt(square) / self.expected_norm - 1)
        self.sigma *= math.exp(min(exponent, 700.0))
        if not (np.isfinite(self.C).all() and 1e-300 < self.sigma < 1e300):
            self._reset()
        elif evaluations - self.decomposed > NP / (self.c_1 + self.c_mu) / D / 10:
            self.decomposed = evaluations
            self._decompose()

    def _decompose(self) -> None:
        values, vectors = np.linalg.eigh(self.C)
        if not values[0] > 0:
            self._reset()
            return
        roots = np.sqrt(values)
        self.factor, self.whitening = vectors * roots, (vectors / roots) @ vectors.T
        if not np.isfinite(self.whitening).all():
            self._reset()
