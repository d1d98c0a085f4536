"""CMA-ES with active covariance update and restarts.

The mean is kept in the problem's coordinates; step size, covariance matrix and evolution paths are
in units of the box's widths, so that a run does not depend on how the variables are scaled.
Equations and default constants are those of Hansen's tutorial; kernels are plain loops whose sums
are taken in the order written, and powers, logarithms and exponentials are taken outside them, so
that compiled and interpreted kernels agree to the last bit.

References
----------
Hansen, N. (2016), "The CMA evolution strategy: a tutorial", arXiv:1604.00772.
Auger, A. and Hansen, N. (2005), "A restart CMA evolution strategy with increasing population size",
CEC 2005 (IPOP).
Hansen, N. (2009), "Benchmarking a BI-population CMA-ES on the BBOB-2009 function testbed", GECCO
workshop (BIPOP).
Loshchilov, I., Schoenauer, M. and Sebag, M. (2012), "Alternative restart strategies for CMA-ES",
PPSN XII (NBIPOP).
"""

import math
import sys
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from uaos.arrays import FloatArray, IntArray
from uaos.history import History
from uaos.jit import njit
from uaos.optimizers.base import Optimizer, feasibility
from uaos.optimizers.base.settings import OptimizerSettings
from uaos.optimizers.registration import register
from uaos.params import choice, integer, real
from uaos.selection import bibliography as bib
from uaos.statefile import SavedState

#: Restarts of NBIPOP: the better regime gets BUDGET_RATIO times the evaluations of the other, and a
#: large run divides the initial step size by SIGMA_DECREASE.
BUDGET_RATIO = 2.0
SIGMA_DECREASE = 1.6
#: A run ends when values range over less than this, ...
TOL_FUN = 1e-12
#: ... when steps are smaller than this times the initial ones, or larger than that, ...
TOL_X, TOL_X_UP = 1e-12, 1e4
#: ... or when the covariance matrix has a larger condition number.
MAX_CONDITION = 1e14
#: A coordinate may leave the box by this many of its standard deviations without a penalty, so that
#: the search can converge to an optimum on a bound. The distance falls to 0 as the deviation rises
#: to this share of the box; otherwise the search would lose sight of the inside.
FREE_DISTANCE, FREE_BELOW = 4.0, 0.01
#: The population is at least this share of the workers of an asynchronous run.
WORKERS_SHARE = 0.75
#: The least standard deviation of an integer coordinate.
INTEGER_DEVIATION = 0.3
#: Noise dominates where its deviation is more than this share of the interquartile range of values.
#: If that lasts, the population grows by this factor, up to this share of the budget.
DOMINANT_NOISE, NOISE_GROWTH, LARGEST_SHARE = 0.5, 1.7, 0.1
#: Noise lasts if it dominates in this many checks in a row and has not fallen to this share in the
#: meantime. In the first part of the budget, one more such check ends the run.
HELD_TIMES, FALLEN, FIRST_PART = 3, 0.5, 0.5
#: The weight of the latest mean in the average of means.
AVERAGING = 0.2
#: The least step size near the points of another search, as a share of the usual one.
LEAST_START = 0.03
#: Generations between two checks for stagnation, and the most that a check considers.
_STAGNATION_INTERVAL, _STAGNATION_WINDOW = 10, 20_000

# The regimes of a run, as indices.
_LARGE, _SMALL = 0, 1
# The reasons that `_ending` returns, by index.
_REASONS = ("", "tolx", "noeffectaxis", "tolxup")


@dataclass(frozen=True)
class Constants:
    """Default constants for dimension D and population size λ (tutorial, table 1)."""

    mu: int
    mu_eff: float
    weights: FloatArray
    total_weight: float
    c_sigma: float
    d_sigma: float
    c_c: float
    c_1: float
    c_mu: float
    #: What a path moves by, times the mean step.
    gain_sigma: float
    gain_c: float
    expected_norm: float
    #: Generations from one decomposition of the covariance matrix to the next; meanwhile less than
    #: a tenth of the matrix is replaced, less than 1/D if D > 10.
    lazy_gap: int
    #: The most generations, those considered for TolFun, and for stagnation at least and at most.
    max_generations: int
    fun_window: int
    stagnation_least: int
    stagnation_most: int


@lru_cache(maxsize=64)
def constants(D: int, popsize: int) -> Constants:
    """Return the constants of a run."""
    raw = np.array([math.log((popsize + 1) / 2) - math.log(i) for i in range(1, popsize + 1)])
    mu = popsize // 2
    positive, negative = raw[:mu], raw[mu:]
    mu_eff = float(positive.sum() ** 2 / (positive**2).sum())
    squares = float((negative**2).sum())
    mu_eff_negative = float(negative.sum() ** 2) / squares if squares > 0 else 0.0
    c_1 = 2 / ((D + 1.3) ** 2 + mu_eff)
    c_mu = min(1 - c_1, 2 * (0.25 + mu_eff + 1 / mu_eff - 2) / ((D + 2) ** 2 + mu_eff))
    shrink = min(
        1 + c_1 / c_mu,
        1 + 2 * mu_eff_negative / (mu_eff + 2),
        (1 - c_1 - c_mu) / (D * c_mu),  # keeps the matrix positive definite
    )
    weights = raw / positive.sum()
    if squares > 0:
        weights[mu:] = raw[mu:] * (shrink / -float(negative.sum()))
    c_sigma = (mu_eff + 2) / (D + mu_eff + 5)
    c_c = (4 + mu_eff / D) / (D + 4 + 2 * mu_eff / D)
    max_generations = int(100 + 50 * (D + 3) ** 2 / math.sqrt(popsize))
    least = math.ceil(120 + 30 * D / popsize)
    return Constants(
        mu=mu,
        mu_eff=mu_eff,
        weights=weights,
        total_weight=sum(weights.tolist()),
        c_sigma=c_sigma,
        d_sigma=1 + 2 * max(0.0, math.sqrt((mu_eff - 1) / (D + 1)) - 1) + c_sigma,
        c_c=c_c,
        c_1=c_1,
        c_mu=c_mu,
        gain_sigma=math.sqrt(c_sigma * (2.0 - c_sigma) * mu_eff),
        gain_c=math.sqrt(c_c * (2.0 - c_c) * mu_eff),
        expected_norm=math.sqrt(D) * (1 - 1 / (4 * D) + 1 / (21 * D * D)),
        lazy_gap=max(1, int(1 / (max(D, 10) * (c_1 + c_mu)))),
        max_generations=max_generations,
        fun_window=10 + math.ceil(30 * D / popsize),
        stagnation_least=least,
        stagnation_most=max(least, min(_STAGNATION_WINDOW, max_generations // 5)),
    )


@njit
def _sample(
    z: FloatArray,
    factor: FloatArray,
    mean: FloatArray,
    width: FloatArray,
    sigma: float,
    C: FloatArray,
    low: FloatArray,
    high: FloatArray,
    enforced: bool,
    steps: FloatArray,
    points: FloatArray,
    excess: FloatArray,
) -> bool:
    """Write the steps y = B D z, the points and, if the box is enforced, their excess.

    `factor[j]` is the j-th axis: eigenvector times square root of the eigenvalue. `excess` is the
    penalized squared distance from the box. Return whether any of it is positive.
    """
    n, D = z.shape
    left = False
    for k in range(n):
        for i in range(D):
            steps[k, i] = 0.0
        for j in range(D):
            for i in range(D):
                steps[k, i] += factor[j, i] * z[k, j]
        excess[k] = 0.0
        for i in range(D):
            v = mean[i] + sigma * width[i] * steps[k, i]
            if enforced and v != v:  # in a huge box, steps overflow
                v = low[i] / 2.0 + high[i] / 2.0
            if enforced and not (low[i] <= v <= high[i]):
                inside = min(max(v, low[i]), high[i])
                deviation = sigma * np.sqrt(C[i, i])
                free = FREE_DISTANCE * max(0.0, 1.0 - deviation / FREE_BELOW)
                away = abs(v - inside) / (width[i] * deviation) - free
                if away > 0.0:
                    excess[k] += away * away
                    left = True
                v = inside
            points[k, i] = v
    return left


@njit
def _recombine(order: IntArray, weights: FloatArray, rows: FloatArray, mu: int) -> FloatArray:
    """Return the weighted mean of the best mu rows."""
    D = rows.shape[1]
    mean = np.zeros(D)
    for r in range(mu):
        for i in range(D):
            mean[i] += weights[r] * rows[order[r], i]
    return mean


@njit
def _follow(
    path: FloatArray, z_mean: FloatArray, basis: FloatArray, c_sigma: float, gain: float
) -> float:
    """Move the path of sigma along C^(-1/2) y = B z, and return its length.

    `basis[j]` is the j-th eigenvector.
    """
    D = len(path)
    for i in range(D):
        path[i] *= 1.0 - c_sigma
    for j in range(D):
        for i in range(D):
            path[i] += gain * z_mean[j] * basis[j, i]
    square = 0.0
    for i in range(D):
        square += path[i] * path[i]
    return float(np.sqrt(square))


@njit
def _advance(
    order: IntArray,
    weights: FloatArray,
    mu: int,
    z: FloatArray,
    steps: FloatArray,
    basis: FloatArray,
    scale: FloatArray,
    c_sigma: float,
    gain: float,
    mean: FloatArray,
    path: FloatArray,
) -> tuple[FloatArray, float]:
    """Move the mean and the path of sigma; return the mean step and the path's length."""
    step = _recombine(order, weights, steps, mu)
    for i in range(len(mean)):
        mean[i] += scale[i] * step[i]
    length = _follow(path, _recombine(order, weights, z, mu), basis, c_sigma, gain)
    return step, length


@njit
def _adapt(
    C: FloatArray,
    path: FloatArray,
    c_1: float,
    decay: float,
    order: IntArray,
    z: FloatArray,
    steps: FloatArray,
    weights: FloatArray,
    c_mu: float,
) -> None:
    """Let the lower triangle of C decay, and add the outer products of the path and the steps.

    Negative weights are scaled by D / |C^(-1/2) y|² = D / |z|².
    """
    n, D = z.shape
    for i in range(D):
        c = c_1 * path[i]
        for j in range(i + 1):
            C[i, j] = decay * C[i, j] + c * path[j]
    for r in range(n):
        k = order[r]
        w = c_mu * weights[r]
        if w < 0.0:
            square = 0.0
            for i in range(D):
                square += z[k, i] * z[k, i]
            if square == 0.0:
                continue
            w *= D / square
        for i in range(D):
            c = w * steps[k, i]
            for j in range(i + 1):
                C[i, j] += c * steps[k, j]


@njit
def _is_flat(
    generation: int, worst: float, bests: FloatArray, window: int, tolerance: float
) -> bool:
    """Return whether the values of the last `window` generations are equal up to the tolerance."""
    if generation < window:
        return False
    least = np.inf
    most = worst
    for g in range(generation - window, generation):
        value = bests[g % len(bests)]
        least = min(least, value)
        most = max(most, value)
    # Below a few units in the last place, differences are rounding.
    return bool(most - least <= max(tolerance, 1e-15 * abs(least)))


@njit
def _ending(
    axis: int,
    sigma: float,
    sigma0: float,
    mean: FloatArray,
    width: FloatArray,
    path_c: FloatArray,
    C: FloatArray,
    factor: FloatArray,
) -> int:
    """Return the index in `_REASONS` of what ends the run by its step sizes; 0 for none."""
    D = len(mean)
    small = True
    for i in range(D):
        limit = TOL_X * sigma0
        if sigma * np.sqrt(C[i, i]) >= limit or sigma * abs(path_c[i]) >= limit:
            small = False
            break
    if small:
        return 1
    moves = False
    for i in range(D):
        if mean[i] + 0.1 * sigma * width[i] * factor[axis, i] != mean[i]:
            moves = True
            break
    if not moves:
        return 2
    for i in range(D):
        if sigma * np.sqrt(C[i, i]) > TOL_X_UP * sigma0:
            return 3
    return 0


# What ends a run at an optimum, up to rounding.
_OPTIMAL = ("tolfun", "tolx", "noeffectaxis")


@dataclass(frozen=True)
class CMASettings(OptimizerSettings):
    """Settings of CMA-ES. Passed to :class:`uaos.CMAES`.

    Parameters
    ----------
    restarts : {"NBIPOP", "BIPOP", "IPOP", "none"}
        With "IPOP" each run has twice the population of the one before. "BIPOP" has such runs and
        others with small populations and step sizes, and gives both regimes the same number of
        evaluations. With "NBIPOP" a large run also divides the initial step size by 1.6, a small
        one has the first run's population, and the regime that found the better value gets twice
        the evaluations. With "none" the distribution no longer changes once the run has ended.
    sigma0 : float
        The initial step size, as a share of the width of the box that a run starts in.
    popsize : int, optional
        The first run's population size; default 4 + floor(3 ln D), times `enlarged`.
    boundary : {"penalty", "none"}
        With "penalty" a coordinate that leaves the box is moved to the nearest bound before the
        point is evaluated, and the point is ranked by its value plus a penalty: 2/D times the
        interquartile range of the generation's values times the squared distance from the box, in
        standard deviations and without a free distance that grows from 0 to 4 deviations as these
        shrink below a hundredth of the box. With "none" it is evaluated where it is, if the box
        allows points outside; otherwise "none" is the same as "penalty".
    center : bool
        Whether the first run starts from the center of the box if there is no `x0`. Over the first
        evaluations this is better than a random mean, unless optima are known to be far out.
    enlarged : float
        Factor on the default population size, as for noisy functions.

    Raises
    ------
    InvalidParameter
        If a setting is out of range.
    """

    title: ClassVar[str] = "CMA-ES"
    repair: ClassVar[str] = "penalty"

    restarts: str = choice(
        "NBIPOP", "BIPOP", "IPOP", "none", default="NBIPOP", doc="how runs follow each other"
    )
    sigma0: float = real(
        0.05, 1, default=0.2, allowed=(0, 10), open_low=True, log=True, symbol="σ₀",
        doc="initial step size, times the width of the box",
    )  # fmt: skip
    popsize: int | None = integer(
        4, 100, default=None, allowed=(2, 10_000_000), log=True, symbol="λ",
        doc="population size of the first run",
    )  # fmt: skip
    boundary: str = choice(
        "penalty", "none", default="penalty", tuned=False, doc="what happens outside the box"
    )
    center: bool = choice(
        False, True, default=False, doc="whether the first run starts from the center"
    )
    enlarged: float = real(
        1, 4, default=1, allowed=(1, 1_000), log=True, tuned=False,
        doc="factor on the default population size",
    )  # fmt: skip


@register
class CMAES(Optimizer):
    """CMA-ES, which samples a normal distribution and adapts its mean, step size and covariance.

    A run ends when it has converged or no longer makes progress, and another one starts, as
    `restarts` says. The best point over all of them is kept.

    Parameters
    ----------
    bounds, seed, budget, target, x0, history, integrality
        See :class:`Optimizer`. Each row of `x0` is the first point and the mean of one run; the
        runs after those start from a mean drawn uniformly from the middle 80 % of the box, or of
        a box of random size around `x0` where the bounds are infinite or very wide.
    settings, restarts, sigma0, popsize, boundary, center, enlarged
        See :class:`CMASettings`.

    Attributes
    ----------
    popsize : int
        Points in a batch of the present run.
    mean, sigma
        The mean, and the step size as a share of the width of the box that the run started in.
    condition : float
        Condition number of the covariance matrix.
    history : History or None
        Columns `sigma`, `condition`, `restarts` and `popsize`, a row for each batch.
    ended_by : str
        The reason why the run ended, or an empty string while it continues. "tolfun": the values of
        10 + 30 D/λ generations range over less than 1e-12; "tolx": steps are below 1e-12 of the
        initial ones; "noeffectaxis": a tenth of a standard deviation does not change the mean;
        "tolxup": steps are above 1e4 times the initial ones; "condition": it is above 1e14;
        "maxiter": 100 + 50 (D+3)²/√λ generations; "stagnation": the medians of the best and of the
        median values did not improve from the first to the last 30 % of a fifth of the run, at
        least 120 + 30 D/λ generations; "noise": noise has dominated for long; "maxfevals": a
        small run of BIPOP used half the evaluations of the last large one.

    Raises
    ------
    InvalidParameter
        If a setting is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> import uaos
    >>> optimizer = uaos.CMAES([(-5, 5)] * 4, seed=1, budget=2000, target=1e-8)
    >>> while not optimizer.done:
    ...     optimizer.tell([np.sum((x - 1) ** 2) for x in optimizer.ask()])
    >>> optimizer.best_fitness <= 1e-8
    True
    """

    name: ClassVar[str] = "CMA-ES"
    keeps_inside: ClassVar[bool] = True
    handles: ClassVar[tuple[str, ...]] = ("constraints", "integrality", "noise")
    settings_class: ClassVar[type[OptimizerSettings]] = CMASettings
    reference: ClassVar[str] = f"{bib.HANSEN_2016}; {bib.LOSHCHILOV_2012}"
    state_names: ClassVar[tuple[str, ...]] = (
        "popsize", "mean", "sigma", "condition", "ended_by", "_width",
        "_C", "_basis", "_factor", "_path_sigma", "_path_c",
        "_z", "_steps", "_excess", "_has_left", "_gathered",
        "_generation", "_decomposed", "_run_sigma0", "_run_evaluations", "_run_limit", "_regime",
        "_bests", "_medians", "_tolerance", "_average", "_dominated", "_held", "_held_level",
        "_last_mean", "_runs", "_large_runs", "_last_large", "_spent", "_found", "_has_feasible",
    )  # fmt: skip

    batch_names: ClassVar[tuple[str, ...]] = ("_excess",)

    settings: CMASettings

    def _start(self) -> None:
        usual = round(self.settings.enlarged * (4 + int(3 * math.log(self.dimension))))
        self.first_popsize = self.settings.popsize or usual
        if self.history is not None:
            self.history = History(columns=("sigma", "condition", "restarts", "popsize"))
        self._tolerance = 0.0  # of values; set by the first generation
        self._dominated = False  # whether noise dominates the values
        # Over all runs.
        self._last_mean: FloatArray | None = None  # of the run before
        self._runs = 0
        self._large_runs = 0  # after the first run
        self._last_large = 0  # evaluations of the last of them
        self._spent = [0, 0]  # evaluations of each regime
        self._found = [math.inf, math.inf]  # best value of each regime
        # The first run has the small population; it counts for that regime.
        self._start_run(_SMALL, self.first_popsize, self.settings.sigma0)

    # Runs

    def _start_run(self, regime: int, popsize: int, sigma: float, limit: int | None = None) -> None:
        D = self.dimension
        self._regime = regime
        self._run_sigma0 = sigma
        self._run_limit = limit
        self._run_evaluations = 0
        self.popsize = popsize
        self._constants = constants(D, popsize)
        from_x0 = self.x0 is not None and self._runs < len(self.x0)
        low, high = self.region.first() if from_x0 else self.region.draw(self.rng)
        self._width = high - low
        if from_x0 and self.x0 is not None:
            self.mean = self.x0[self._runs].copy()
        elif self.settings.center and self._runs == 0:
            self.mean = 0.5 * (low + high)
        else:
            self.mean = low + self._width * (0.1 + 0.8 * self.rng.random(D))
        self._runs += 1
        self._average: FloatArray | None = None  # of the latest means, under noise
        # How often in a row noise was seen to dominate without falling below this level.
        self._held, self._held_level = 0, math.inf
        self.sigma = sigma
        self.condition = 1.0
        self.ended_by = ""
        self._C = np.eye(D)
        self._basis = np.eye(D)
        self._factor = np.eye(D)
        self._path_sigma = np.zeros(D)
        self._path_c = np.zeros(D)
        self._z = self._steps = np.zeros((0, D))
        self._excess = np.zeros(0)
        self._has_left = False
        self._has_feasible = False  # under constraints
        # Of the next generation, if it comes in parts: values, violations, excess and points.
        self._gathered = np.zeros((0, 3 + D))
        self._generation = 0
        self._decomposed = 0  # the generation of the last decomposition
        self._bests = np.zeros(self._constants.stagnation_most)
        self._medians = np.zeros(self._constants.stagnation_most)

    def continue_from(self, mean: FloatArray, popsize: int) -> None:
        """Continue the run from another mean and with another population size.

        For an algorithm in which CMA-ES shares a population with others.
        """
        self.mean = np.array(mean, float)
        if popsize != self.popsize:
            self.popsize = popsize
            self._constants = constants(self.dimension, popsize)
            self._bests = np.full(self._constants.stagnation_most, math.inf)
            self._medians = self._bests.copy()

    def _restart(self) -> None:
        self.restarts += 1
        self._last_mean = self.mean.copy()
        if self._regime == _LARGE:
            self._last_large = self._run_evaluations
        if self._next_regime() == _LARGE:
            self._large_runs += 1
            decrease = SIGMA_DECREASE if self.settings.restarts == "NBIPOP" else 1.0
            self._start_run(
                _LARGE,
                self.first_popsize * 2**self._large_runs,
                self.settings.sigma0 / decrease**self._large_runs,
            )
        elif self.settings.restarts == "NBIPOP":
            sigma = self.settings.sigma0 * 0.01 ** self.rng.random()
            self._start_run(_SMALL, self.first_popsize, sigma)
        else:
            sigma = self.settings.sigma0 * 0.01 ** self.rng.random()
            growth = (2**self._large_runs / 2) ** (self.rng.random() ** 2)
            popsize = int(self.first_popsize * growth)
            self._start_run(_SMALL, popsize, sigma, self._last_large // 2)

    def _next_regime(self) -> int:
        """Return the regime that is behind its share of the evaluations."""
        large, small = self._spent
        if self.settings.restarts == "IPOP":
            return _LARGE
        if self.settings.restarts == "NBIPOP":
            if self._found[_LARGE] < self._found[_SMALL]:
                return _LARGE if large <= BUDGET_RATIO * small else _SMALL
            if self._found[_SMALL] < self._found[_LARGE]:
                return _LARGE if BUDGET_RATIO * large <= small else _SMALL
        return _LARGE if large <= small else _SMALL

    @property
    def converged(self) -> bool:
        """True from the end of a run to the start of the next."""
        return self.ended_by != ""

    @property
    def doubt(self) -> str:  # noqa: D102 (see Optimizer)
        if self.ended_by in ("", *_OPTIMAL):
            return ""
        return f"the run ended by {self.ended_by}; not confirmed by a second search"

    def expect_noise(self, level: float, spread: float) -> None:
        """Record how noisy the values are; where noise dominates, enlarge the population.

        Noise dominates if s > 0.5 q, with the deviation s of noise and the interquartile range q of
        values (of noise alone, q = 1.35 s). If it does in three checks in a row, and s has not
        halved, the run goes on with 1.7 times the population: a mean of more steps averages more
        noise. After the fourth check the run is at some optimum, and ends by "noise" while half of
        the budget is left. Noise that fades toward the optimum does not last that long.
        """
        super().expect_noise(level, spread)
        self._dominated = level > DOMINANT_NOISE * spread
        if not self._dominated or self._generation == 0:
            self._held, self._held_level = 0, math.inf
            return
        falls = level < FALLEN * self._held_level
        self._held, self._held_level = (1, level) if falls else (self._held + 1, self._held_level)
        early = self.budget is None or self.evaluations < FIRST_PART * self.budget
        if self._held > HELD_TIMES and early and self.settings.restarts != "none":
            self.ended_by = self.ended_by or "noise"
            return
        popsize = round(NOISE_GROWTH * self.popsize)
        fits = self.budget is None or popsize <= LARGEST_SHARE * self.budget
        if fits and self._held >= HELD_TIMES:
            self.continue_from(self.mean, popsize)

    def start_near(self, points: FloatArray) -> None:
        """Reduce the first step size to the distance of these points from the mean.

        Equation
        --------
        σ = min(σ₀, max(√(mean of ((x_i - m_i) / w_i)²), 0.03 σ₀))

        over the points x and their coordinates i, with the mean m and the widths w of the box.
        Points of a local search may be much closer to each other than to the optimum.
        """
        distance = float(np.sqrt(np.mean(((points - self.mean) / self._width) ** 2)))
        self.sigma = min(self.sigma, max(distance, LEAST_START * self.sigma))

    @property
    def candidates(self) -> FloatArray:
        """The mean, the average of the latest means, the last one before, and the best point.

        The mean averages over many values; the best point may owe its place to one lucky value.
        Where noise dominates, the mean itself wanders around the optimum, and the average comes
        first:

            a = (1 - c) a + c m,  c = 0.2

        after each generation, with the mean m.
        """
        latest = (self._average, self.mean) if self._dominated else (self.mean, self._average)
        inside = np.array([mean for mean in (*latest, self._last_mean) if mean is not None])
        if self.settings.boundary != "none":
            inside = np.clip(inside, self.low, self.high)
        return np.vstack([self.rounded(inside), super().candidates])

    # The loop

    def _propose(self) -> FloatArray:
        if self.ended_by and self.settings.restarts != "none":
            self._restart()
        n = self.popsize if self.wanted is None else min(self.wanted, self.popsize)
        shape = (n, self.dimension)
        is_first = len(self._z) == 0  # of the run
        self._z = self._draw(n)
        if is_first and self.x0 is not None and self._runs <= len(self.x0):
            self._z[0] = 0.0  # the point of x0 itself
        self._steps = np.empty(shape)
        self._excess = np.empty(n)
        points = np.empty(shape)
        self._has_left = _sample(
            self._z, self._factor, self.mean, self._width, self.sigma, self._C,
            self.low, self.high, self.settings.boundary != "none",
            self._steps, points, self._excess,
        )  # fmt: skip
        return points

    def _draw(self, n: int) -> FloatArray:
        """Return the steps of n points in units of the distribution."""
        return self.rng.standard_normal((n, self.dimension))

    def _learn(self, points: FloatArray, values: FloatArray) -> None:
        if self.wanted is not None:  # points come as workers are free, not by generations
            gathered = self._gather(points, values)
            if gathered is None:
                return
            values = gathered
        n, regime = len(values), self._regime
        self._run_evaluations += n
        self._spent[regime] += n
        if self.violations is None:
            order = values.argsort(kind="stable")  # NaN last
            best = float(values[order[0]])
        else:
            order = feasibility.order(values, self.violations)
            feasible = self.violations[order[0]] == 0
            best = float(values[order[0]]) if feasible else math.inf
            values = feasibility.merits(values, self.violations)
            if feasible and not self._has_feasible:
                # Values are compared from here on, instead of violations.
                self._has_feasible = True
                self._bests[:] = self._medians[:] = math.inf
        if math.isnan(values[order[-1]]):
            values = np.where(np.isnan(values), np.inf, values)
            best = float(np.nan_to_num(best, nan=math.inf))
        self._found[regime] = min(self._found[regime], best)
        # A batch that was cut to the budget is the last, and a run without restarts ends for good.
        if n == self.popsize and not self.ended_by:
            self._move(values, order)
        if self.history is not None:
            self.history.append(
                (self.best_fitness, self.evaluations, self.iterations, self.sigma, self.condition,
                 self.restarts, self.popsize),
            )  # fmt: skip

    def _move(self, values: FloatArray, by_value: IntArray) -> None:
        """Complete a generation: update the distribution, and decide whether the run ends."""
        c = self._constants
        order = by_value
        if self._has_left:
            order = self._penalized(values, by_value).argsort(kind="stable")
        place = self._generation % c.stagnation_most
        self._bests[place] = best = float(values[by_value[0]])
        self._medians[place] = values[by_value[self.popsize // 2]]
        worst = float(values[by_value[-1]])
        if self._tolerance == 0:
            # Relative to the first values where these are tiny.
            self._tolerance = TOL_FUN * (min(1.0, worst - best) if worst > best else 1.0)
        self._generation += 1
        self._update(order)
        if self.integers is not None:
            self._widen_integers()
        if self._generation - self._decomposed >= c.lazy_gap:
            self._decompose()
        if not self.ended_by:
            self.ended_by = self._reason(worst)
            if self.ended_by in _OPTIMAL and (self.violations is None or self._has_feasible):
                self._settle(best)

    def _update(self, order: IntArray) -> None:
        """Move mean and paths, and adapt covariance matrix and step size."""
        c = self._constants
        step, length = _advance(
            order, c.weights, c.mu, self._z, self._steps, self._basis, self.sigma * self._width,
            c.c_sigma, c.gain_sigma, self.mean, self._path_sigma,
        )  # fmt: skip
        if self.noise.level > 0:
            before = self.mean if self._average is None else self._average
            self._average = (1 - AVERAGING) * before + AVERAGING * self.mean
        warm = math.sqrt(1 - (1 - c.c_sigma) ** (2 * self._generation))
        limit = (1.4 + 2 / (self.dimension + 1)) * c.expected_norm * warm
        self._path_c *= 1.0 - c.c_c
        lost = c.c_1 * c.c_c * (2.0 - c.c_c)
        if length < limit:  # otherwise the path of C does not move
            self._path_c += c.gain_c * step
            lost = 0.0

        decay = 1.0 + lost - c.c_1 - c.c_mu * c.total_weight
        _adapt(self._C, self._path_c, c.c_1, decay, order, self._z, self._steps, c.weights, c.c_mu)
        self.sigma *= math.exp(min(1.0, c.c_sigma / c.d_sigma * (length / c.expected_norm - 1)))

    def _widen_integers(self) -> None:
        """Keep the standard deviation of integer coordinates large enough to change them."""
        assert self.integers is not None
        for i in self.integers:
            least = (INTEGER_DEVIATION / (self.sigma * self._width[i])) ** 2
            self._C[i, i] = max(self._C[i, i], least)

    def _penalized(self, values: FloatArray, by_value: IntArray) -> FloatArray:
        """Return the values plus the penalty of points that left the box."""
        ranked = values[by_value]
        ranked = ranked[np.isfinite(ranked)]
        n = len(ranked)
        with np.errstate(over="ignore"):
            spread = float(ranked[3 * n // 4] - ranked[n // 4]) if n else 0.0
            if spread == 0:
                # If most values are equal, any scale that keeps their order will do.
                spread = float(ranked[-1] - ranked[0] if n else 0.0) or 1.0
            # Finite when doubled, as inf * 0 is NaN for points without excess.
            scale = min(spread, sys.float_info.max / 2) / self.dimension
            penalized: FloatArray = values + 2 * scale * self._excess
        return penalized

    def _decompose(self) -> None:
        """Compute the axes of the distribution from the covariance matrix."""
        self._decomposed = self._generation
        try:
            eigenvalues, vectors = np.linalg.eigh(self._C)  # reads the lower triangle
        except np.linalg.LinAlgError:
            self.ended_by = "condition"
            return
        smallest, largest = float(eigenvalues[0]), float(eigenvalues[-1])
        if not (smallest > 0 and largest < MAX_CONDITION * smallest):
            self.ended_by = "condition"
            return
        self.condition = largest / smallest
        self._basis = np.ascontiguousarray(vectors.T)
        self._factor = np.sqrt(eigenvalues)[:, None] * self._basis

    def _reason(self, worst: float) -> str:
        """Return why the run ends, or an empty string."""
        c, g = self._constants, self._generation
        if _is_flat(g, worst, self._bests, c.fun_window, self._tolerance):
            return "tolfun"
        code = _ending(
            g % self.dimension, self.sigma, self._run_sigma0, self.mean, self._width,
            self._path_c, self._C, self._factor,
        )  # fmt: skip
        if code:
            return _REASONS[code]
        if g >= c.max_generations:
            return "maxiter"
        if self._run_limit is not None and self._run_evaluations >= self._run_limit:
            return "maxfevals"
        if g % _STAGNATION_INTERVAL == 0 and self._stagnates():
            return "stagnation"
        return ""

    def _stagnates(self) -> bool:
        c, g = self._constants, self._generation
        window = min(max(c.stagnation_least, g // 5), c.stagnation_most)
        if g < window:
            return False
        part = (3 * window + 9) // 10
        first = np.arange(g - window, g - window + part) % c.stagnation_most
        last = np.arange(g - part, g) % c.stagnation_most
        return all(
            _median(values[last]) >= _median(values[first])
            for values in (self._bests, self._medians)
        )

    # Several batches at a time

    @property
    def overlaps(self) -> bool:  # noqa: D102 (see Optimizer)
        return True

    def expect(self, workers: int) -> None:  # noqa: D102 (see Optimizer)
        # With much smaller populations, most points come from outdated distributions.
        popsize = max(self.first_popsize, math.ceil(WORKERS_SHARE * workers))
        if popsize > self.first_popsize and self.evaluations == 0:
            self.first_popsize, self._runs = popsize, 0
            self._start_run(_SMALL, popsize, self.settings.sigma0)

    def _gather(self, points: FloatArray, values: FloatArray) -> FloatArray | None:
        """Add points to the next generation; return the values once it is complete.

        Some may have been sampled from an earlier distribution. Their steps are expressed by the
        present one, and their lengths limited as for injected points (Hansen 2011).
        """
        violations = np.zeros(len(values)) if self.violations is None else self.violations
        columns = np.column_stack([values, violations, self._excess[: len(values)], points])
        self._gathered = np.vstack([self._gathered, columns])
        if len(self._gathered) < self.popsize:
            return None
        rows, self._gathered = np.split(self._gathered, [self.popsize])
        if self.violations is not None:
            self.violations = rows[:, 1].copy()
        self._excess = rows[:, 2].copy()
        self._has_left = bool(self._excess.any())
        self._steps = (rows[:, 3:] - self.mean) / (self.sigma * self._width)
        self._z = self._steps @ self._basis.T / np.linalg.norm(self._factor, axis=1)
        shrink = np.minimum(
            1.0, self._longest / np.maximum(np.linalg.norm(self._z, axis=1), 1e-300)
        )
        self._z *= shrink[:, None]
        self._steps *= shrink[:, None]
        return rows[:, 0].copy()

    @property
    def _longest(self) -> float:
        """Length of the longest step of an injected point, in units of the distribution."""
        D = self.dimension
        return math.sqrt(D) + 2 * D / (D + 2)

    # Exact resume

    def restore(self, state: SavedState) -> None:  # noqa: D102 (see Optimizer)
        super().restore(state)
        self._constants = constants(self.dimension, self.popsize)


def _median(values: FloatArray) -> float:
    return float(np.partition(values, len(values) // 2)[len(values) // 2])
