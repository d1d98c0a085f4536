"""Population and archive: survival, sizes, restarts and the ε-constrained method."""

import math
from typing import ClassVar

import numpy as np

from uaos.arrays import FloatArray, IntArray
from uaos.jit import njit
from uaos.optimizers.base import feasibility
from uaos.optimizers.de import layout as at
from uaos.optimizers.de.settings import DifferentialEvolutionSettings, Stagnation
from uaos.statefile import Stateful

#: Above this size the order of the parents is sorted anew; below it, insertion is faster.
INSERTION = 1024


class Offspring(Stateful):
    """Operators, F, CR and random numbers of the offspring of a generation.

    `uniforms` has a row for each offspring; its columns are those of `layout`.
    """

    state_names: ClassVar[tuple[str, ...]] = ("operators", "uniforms", "F", "CR", "repairs")

    def __init__(self, columns: int) -> None:
        self.operators = np.zeros(0, np.int64)
        self.F, self.CR = np.zeros(0), np.zeros(0)
        self.uniforms = np.zeros((0, columns))
        self.repairs = 0  # how many left the box

    def draw(self, operators: IntArray, rng: np.random.Generator) -> None:
        """Draw the random numbers of a generation with one offspring by each of `operators`."""
        n, (rows, columns) = len(operators), self.uniforms.shape
        self.operators = operators
        if rows < n:
            self.uniforms, self.F, self.CR = np.empty((n, columns)), np.empty(n), np.empty(n)
        elif rows > n:  # no new memory where a population shrinks
            self.uniforms, self.F, self.CR = self.uniforms[:n], self.F[:n], self.CR[:n]
        rng.random(out=self.uniforms)


class Population(Stateful):
    """Parents with their fitness, and the archive of those that lost."""

    state_names: ClassVar[tuple[str, ...]] = (
        "NP", "NP_start", "capacity", "rows", "fitness", "excess", "order", "counters", "latest",
    )  # fmt: skip

    def __init__(
        self,
        points: FloatArray,
        low: FloatArray,
        high: FloatArray,
        settings: DifferentialEvolutionSettings,
        archives: bool,
    ) -> None:
        self.low, self.high = low, high
        self._settings, self._archives = settings, archives
        NP = len(points)
        self.NP = self.NP_start = NP
        self.capacity = self.capacity_at(NP)
        # Rows 0 .. NP-1 are the population; the archive follows where that ended at the start.
        self.rows = np.zeros((NP + self.capacity, len(low)))
        self.rows[:NP] = points
        self.fitness = np.full(NP, np.inf)
        self.excess = np.zeros(NP)  # the violations of the constraints, if there are any
        self.order = np.arange(NP)  # best first
        self.counters = np.zeros(2, np.int64)  # of the archive: see `layout`
        self.latest: int | None = None  # where the last generation's best offspring was made

    def capacity_at(self, NP: int) -> int:
        """Return the size of the archive beside NP parents."""
        return round(self._settings.archive_size * NP) if self._archives else 0

    @property
    def archived(self) -> int:
        """Number of members of the archive."""
        return self.counters.item(at.ARCHIVED)

    @property
    def best_index(self) -> int:
        """Row of x_best: that of the best parent, or as `best_rule="latest"` says."""
        if self.latest is not None and self._settings.best_rule == "latest":
            return self.latest
        return self.order.item(0)

    def sort(self) -> None:
        """Bring the order of the parents up to date."""
        if self.NP <= INSERTION:
            sort_again(self.order, self.fitness)
        else:
            self.order = np.argsort(self.fitness, kind="stable")

    # A generation

    def enter(self, values: FloatArray) -> None:
        """Take in the first population; points that failed or were not evaluated have +inf."""
        self.fitness[: len(values)] = np.where(np.isnan(values), np.inf, values)
        self.order = np.argsort(self.fitness, kind="stable")

    def reassess(self, values: FloatArray) -> None:
        """Average the fitness of parents with new values, where both are finite."""
        old = self.fitness[: len(values)]
        new = np.where(np.isnan(values), old, 0.5 * (old + values))
        self.fitness[: len(values)] = np.where(np.isinf(old), old, new)
        self.order = np.argsort(self.fitness, kind="stable")

    def survive(self, points: FloatArray, values: FloatArray, offspring: Offspring) -> int | None:
        """Replace parents by offspring that are not worse; return the index of the best offspring.

        The index is None if all offspring failed. Parents that lost enter the archive.
        """
        self.archive_losers(values, self.fitness, offspring.uniforms)
        best = self.replace_parents(points, values, self.fitness)
        self.sort()
        return best

    def archive_losers(self, values: FloatArray, fitness: FloatArray, uniforms: FloatArray) -> None:
        """Copy parents that lose to their offspring to the archive, before they are replaced."""
        if self.capacity > 0:
            archive_losers(
                self.rows, fitness, values, uniforms, self.NP_start, self.capacity, self.counters,
                self._settings.archive == "history",
            )  # fmt: skip

    def replace_parents(
        self, points: FloatArray, values: FloatArray, fitness: FloatArray
    ) -> int | None:
        """Replace parents by offspring that are not worse, and update `fitness`.

        The order of the parents is not updated. Return the index of the best offspring, None if
        all failed.
        """
        best: int = replace_parents(self.rows, fitness, points, values)
        return best if best >= 0 else None

    # Convergence

    def may_have_converged(self, atol: float, tol: float) -> bool:
        """Return whether convergence above 1 is possible, given the best and the worst alone.

        The standard deviation is at least (max f - min f) / √(2 NP).
        """
        least, most = self.fitness.item(self.order.item(0)), self.fitness.item(self.order.item(-1))
        tolerated = atol + tol * max(abs(least), abs(most))
        return bool(most - least <= 1.01 * tolerated * math.sqrt(2.0 * self.NP))

    def convergence(self, atol: float, tol: float) -> float:
        """Return (atol + tol·|mean f|) / std f, above 1 once the population has converged."""
        last = self.order[-1]
        if self.fitness[last] == np.inf or self.excess[last] > 0:
            return 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            spread, mean = float(np.std(self.fitness)), float(np.mean(self.fitness))
        tolerated = atol + tol * abs(mean)
        if spread <= tolerated:
            return 2.0 if spread == 0 else max(float(np.nextafter(1, 2)), tolerated / spread)
        return tolerated / spread if spread < np.inf else 0.0

    # Size

    def resize(self, NP: int, rng: np.random.Generator) -> IntArray:
        """Remove the worst parents, and random members of an archive that is now too large.

        Return the former places of the parents that stay.
        """
        stay = np.empty(NP, np.int64)
        leaving = max(0, self.archived - self.capacity_at(NP))
        keep_best(self.rows, self.fitness, self.excess, self.order, stay)
        shrink_archive(self.rows, self.NP_start, self.counters, rng.random(leaving))
        if self.latest is not None:
            place = int(np.searchsorted(stay, self.latest))
            self.latest = place if place < NP and stay[place] == self.latest else None
        self.NP, self.capacity = NP, self.capacity_at(NP)
        self.fitness, self.excess = self.fitness[:NP], self.excess[:NP]
        self.order = self.order[:NP]
        return stay


# Survival, compiled. Arrays are those of `Population`.


@njit
def sort_again(order: IntArray, fitness: FloatArray) -> None:
    """Update `order` (best first, ties by index) by insertion, as few parents have moved."""
    for k in range(1, len(order)):
        moved = order[k]
        f = fitness[moved]
        m = k - 1
        while m >= 0:
            other = order[m]
            g = fitness[other]
            if g > f or (g == f and other > moved):
                order[m + 1] = other
                m -= 1
            else:
                break
        order[m + 1] = moved


@njit
def archive_losers(
    rows: FloatArray,
    fitness: FloatArray,
    values: FloatArray,
    uniforms: FloatArray,
    archive: int,
    capacity: int,
    counters: IntArray,
    reservoir: bool,
) -> None:
    """Copy each parent with u < f to the archive, which starts at row `archive`.

    In a full archive it replaces a random member; a `reservoir` is a random sample of all parents
    that ever lost.
    """
    for i in range(len(values)):
        if not (np.isfinite(values[i]) and values[i] < fitness[i]):
            continue
        counters[at.EVER_LOST] += 1
        place = counters[at.ARCHIVED]
        if place < capacity:
            counters[at.ARCHIVED] += 1
        elif reservoir:
            place = int(uniforms[i, at.KEEP] * counters[at.EVER_LOST])
        else:
            place = int(uniforms[i, at.KEEP] * capacity)
        if place < capacity:
            for j in range(rows.shape[1]):
                rows[archive + place, j] = rows[i, j]


@njit
def replace_parents(
    rows: FloatArray, fitness: FloatArray, points: FloatArray, values: FloatArray
) -> int:
    """Replace each parent by its offspring if u <= f; return the best offspring, -1 if all failed.

    A value that is not finite never survives; a failed parent has fitness +inf.
    """
    best = -1
    for i in range(len(values)):
        u = values[i]
        if not np.isfinite(u):
            continue
        if best < 0 or u < values[best]:
            best = i
        if u <= fitness[i]:
            for j in range(rows.shape[1]):
                rows[i, j] = points[i, j]
            fitness[i] = u
    return best


@njit
def keep_best(
    rows: FloatArray, fitness: FloatArray, excess: FloatArray, order: IntArray, stay: IntArray
) -> None:
    """Move the best parents to the first rows, and write their former places to `stay`.

    The length of `stay` is their number.
    """
    NP = len(stay)
    stays = np.zeros(len(fitness), np.bool_)
    place = np.empty(len(fitness), np.int64)
    for k in range(NP):
        stays[order[k]] = True
    new = 0
    for i in range(len(fitness)):
        if stays[i]:
            place[i], stay[new] = new, i
            if new < i:
                for j in range(rows.shape[1]):
                    rows[new, j] = rows[i, j]
                fitness[new], excess[new] = fitness[i], excess[i]
            new += 1
    for k in range(NP):
        order[k] = place[order[k]]


@njit
def shrink_archive(
    rows: FloatArray, archive: int, counters: IntArray, uniforms: FloatArray
) -> None:
    """Replace a random member of the archive by the last one, for each of `uniforms`."""
    for k in range(len(uniforms)):
        counters[at.ARCHIVED] -= 1
        last = counters[at.ARCHIVED]
        gap = int(uniforms[k] * (last + 1))
        for j in range(rows.shape[1]):
            rows[archive + gap, j] = rows[archive + last, j]


# Between two restarts


class Epoch(Stateful):
    """Course of a population since its start."""

    state_names: ClassVar[tuple[str, ...]] = (
        "start", "started", "best", "violation", "since_better", "reassessing", "reassessed",
    )  # fmt: skip

    def __init__(self, start: int, length: int) -> None:
        # Evaluations before it, and from there to the end of the run.
        self.start, self.length = start, length
        self.started = False  # whether the first population has been told
        self.best = self.violation = math.inf
        self.since_better = 0  # generations
        self.reassessing = False  # whether parents are being evaluated again ...
        self.reassessed = False  # ... and whether they were just now

    def progress(self, evaluations: int) -> float:
        """Return the share of the epoch that is spent after `evaluations` of the run."""
        return (evaluations - self.start) / self.length

    def note(self, value: float) -> None:
        """Compare the best value of a generation with the best so far."""
        self.since_better += 1
        if value < self.best:
            self.best, self.since_better = value, 0

    def is_stagnating(self, rule: Stagnation, population: Population) -> bool:
        """Return whether a restart is due: no better best for too long, or all values alike."""
        if self.since_better >= rule.patience:
            return True
        first, last = population.order.item(0), population.order.item(-1)
        if population.excess.item(last) > 0:
            return False
        least, most = population.fitness.item(first), population.fitness.item(last)
        return bool(most < np.inf and most - least <= rule.spread * (1.0 + abs(least)))


# The ε-constrained method: the level ε starts as the violation at a quantile of the first
# population and falls to 0. For the order of points under it see
# `uaos.optimizers.base.feasibility`.

_QUANTILE, _POWER = 0.2, 5.0
# ε reaches 0 after the first share of the run; in a short one after that many generations, or the
# second share.
_SHARES, _GENERATIONS = (0.3, 0.7), 200


class Relaxation(Stateful):
    """Level ε of a population."""

    state_names: ClassVar[tuple[str, ...]] = ("epsilon", "first")

    def __init__(self, population: Population, epoch: Epoch) -> None:
        self._population, self._epoch = population, epoch
        self.epsilon = self.first = np.inf  # no first population has been told yet
        # Of the offspring that are compared.
        self._violations = self._ranks = np.zeros(0)

    def start(self, violations: FloatArray, evaluations: int) -> None:
        """Set the level by the first population."""
        population, n = self._population, len(violations)
        population.excess[:n], population.excess[n:] = violations, np.inf
        # ε is of use only if some infeasible points have values.
        comparable = np.isfinite(population.fitness) & (population.excess > 0)
        level = np.quantile(population.excess, _QUANTILE, method="lower")
        self.first = float(level) if comparable.any() else 0.0
        self.lower(evaluations)

    def compare(self, values: FloatArray, violations: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the merits of parents and offspring for credit, and rank all for survival."""
        population, epsilon = self._population, self.epsilon
        n, NP = len(values), population.NP
        fitness = np.concatenate([population.fitness, np.where(np.isnan(values), np.inf, values)])
        excess = np.concatenate([population.excess, violations])
        # Up to ε values decide; a point without one has failed.
        excess[NP:][np.isnan(values) & (violations <= epsilon)] = np.inf
        self._violations, self._ranks = violations, feasibility.ranks(fitness, excess, epsilon)
        paired = np.r_[:n, NP : NP + n]
        credit = feasibility.merits(fitness[paired], excess[paired], epsilon)
        return np.where(np.isnan(credit[:n]), np.inf, credit[:n]), credit[n:]

    def survive(self, points: FloatArray, values: FloatArray, offspring: Offspring) -> int | None:
        """Replace parents by offspring of no worse rank, as :meth:`Population.survive` does."""
        population, n, NP = self._population, len(values), self._population.NP
        parents, ranks = self._ranks[:NP].copy(), self._ranks[NP:].copy()
        population.archive_losers(ranks, parents, offspring.uniforms)
        best = population.replace_parents(points, ranks, parents)
        replaced = np.flatnonzero(parents[:n] == ranks)
        population.fitness[replaced] = np.where(np.isnan(values), np.inf, values)[replaced]
        population.excess[replaced] = self._violations[replaced]
        return best

    def lower(self, evaluations: int) -> None:
        """Update ε, the order of the parents and the best of the epoch."""
        population, epoch = self._population, self._epoch
        least, most = (share * epoch.length for share in _SHARES)
        relaxed = min(max(least, _GENERATIONS * population.NP_start), most)
        left = max(0.0, 1.0 - (evaluations - epoch.start) / relaxed)
        self.epsilon = self.first * left**_POWER
        population.order = feasibility.order(population.fitness, population.excess, self.epsilon)
        top = population.order[0]
        best = float(population.excess[top]), float(population.fitness[top])
        epoch.since_better += 1
        if self.epsilon > 0:
            epoch.since_better = 0  # the best point changes with ε
        elif best < (epoch.violation, epoch.best):
            epoch.violation, epoch.best = best
            epoch.since_better = 0
