"""The parents and the archive: who survives a generation, who is kept, who leaves.

In this order: the population; survival, compiled; an epoch, from one restart to the next; and the
ε-constrained method.
"""

import math

import numpy as np

from uaos.jit import njit
from uaos.optimizers import feasibility
from uaos.optimizers.base import Array
from uaos.optimizers.de import layout as at
from uaos.optimizers.de.settings import Settings, Stagnation

#: Above this size the order of the parents is sorted anew; below it, insertion is faster.
INSERTION = 1024


class Batch:
    """The offspring of a generation: by whom and of whom they are made, and with what."""

    def __init__(self, columns: int) -> None:
        self.operators = self.parents = np.zeros(0, np.int64)
        self.F, self.CR = np.zeros(0), np.zeros(0)
        self.uniforms = np.zeros((0, columns))
        self.repairs = 0


class Population:
    """The parents with their fitness, and the archive of those that lost."""

    def __init__(
        self, points: Array, low: Array, high: Array, settings: Settings, archives: bool
    ) -> None:
        self.low, self.high = low, high
        self._settings, self._archives = settings, archives
        self.newest = settings.survival == "newest"
        self.reservoir = settings.archive == "history"
        self.by_latest = settings.best_rule == "latest"
        NP, D = len(points), len(low)
        self.NP = self.NP_start = NP
        self.capacity = self.capacity_at(NP)
        # Rows 0..NP-1 are the population, the archive follows; the last is the middle of the box.
        self.rows = np.zeros((NP + self.capacity + 1, D))
        self.rows[:NP], self.rows[-1] = points, (low + high) / 2.0
        self.fitness = np.full(NP, np.inf)
        self.excess = np.zeros(NP)  # the violations of the constraints, if there are any
        self.order = np.arange(NP)  # best first
        self.counters = np.zeros(2, np.int64)
        self.latest = -1  # where the last generation's best offspring was made
        self.elite_fitness = np.zeros(0)  # of the archive, under survival="newest"
        self.success_rate = 0.5

    def capacity_at(self, NP: int) -> int:
        """The size of the archive beside NP parents."""
        return round(self._settings.archive_size * NP) if self._archives else 0

    @property
    def offspring(self) -> int:
        """How many offspring a generation has."""
        share = self._settings.offspring
        return self.NP if share == 1.0 else max(1, round(share * self.NP))

    @property
    def best_index(self) -> int:
        """Where x_best stands: the best parent, or by `best_rule="latest"`."""
        if self.by_latest and self.latest >= 0:
            return self.latest
        return self.order.item(0)

    def sort(self) -> None:
        """Bring the order of the parents up to date."""
        self.order = np.argsort(self.fitness, kind="stable")

    # A generation

    def enter(self, values: Array) -> None:
        """Take in the first population. A point that was not evaluated, or failed, has +inf."""
        self.fitness[: len(values)] = np.where(np.isnan(values), np.inf, values)
        self.sort()
        if self.newest:
            self._keep_best(self.rows[: self.NP], self.fitness, self.order)

    def survive(
        self,
        points: Array,
        values: Array,
        batch: Batch,
        capacity: int,
        counts: Array,
        fitness: Array | None = None,
    ) -> int:
        """Let offspring that are not worse take their parents' places; return the best's index.

        That is -1 if all failed. Parents that lost enter the archive if it has a `capacity`.
        `fitness` is of the parents, where something else than their own decides.
        """
        sorts = self.NP <= INSERTION
        best: int = survive(
            self.rows, self.fitness if fitness is None else fitness, self.NP_start, capacity,
            self.reservoir, self.counters, points, values, batch.uniforms, batch.operators, counts,
            self.order, self.NP if sorts else 0,
        )  # fmt: skip
        if not sorts:
            self.sort()
        return best

    def survive_newest(self, points: Array, values: Array, batch: Batch, counts: Array) -> int:
        """Let the successful take the places that were renewed longest ago, and keep the best."""
        successful = np.zeros(len(values), np.bool_)
        best: int = survive_newest(
            self.rows, self.fitness, batch.parents, self.counters, points, values, batch.operators,
            counts, successful,
        )  # fmt: skip
        found = np.flatnonzero(successful)
        self._keep_best(points, values, found[values[found].argsort(kind="stable")])
        self.success_rate = len(found) / len(values)
        self.sort()
        return best

    def against_worst(self, values: Array) -> tuple[Array, Array]:
        """What each offspring competes with if it is the worst parent, and the place it takes."""
        places, compared = np.empty(len(values), np.int64), np.empty(len(values))
        against_worst(self.fitness.copy(), values, places, compared)
        return compared, places

    def replace_worst(
        self, points: Array, values: Array, places: Array, batch: Batch, counts: Array
    ) -> int:
        """Let offspring take these places; return the best's index, -1 if all failed."""
        counts[batch.operators[0]] += len(values)
        best: int = take_places(self.rows, self.fitness, points, values, places)
        self.success_rate = float(np.count_nonzero(places >= 0)) / len(values)
        self.sort()
        return best

    def _keep_best(self, points: Array, values: Array, order: Array) -> None:
        """Let the archive hold the best of its members and of some points, which `order` sorts."""
        elite = self.elite_fitness
        size = min(len(elite) + len(order), self.capacity)
        self.elite_fitness = np.empty(size)
        keep_best(self.rows, self.NP_start, elite, points, values, order, self.elite_fitness)
        self.counters[at.ARCHIVED] = size

    # How different its members are

    def may_have_converged(self, atol: float, tol: float) -> bool:
        """Whether convergence above 1 is possible, by the best and the worst alone."""
        least, most = self.fitness.item(self.order.item(0)), self.fitness.item(self.order.item(-1))
        return may_have_converged(least, most, self.NP, atol, tol)

    def convergence(self, atol: float, tol: float) -> float:
        """(atol + tol·|mean f|) / std f: above 1 once the population has converged."""
        last = self.order[-1]
        if self.fitness[last] == np.inf or self.excess[last] > 0:
            return 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            spread, mean = float(np.std(self.fitness)), float(np.mean(self.fitness))
        tolerated = atol + tol * abs(mean)
        if spread <= tolerated:
            return 2.0 if spread == 0 else max(float(np.nextafter(1, 2)), tolerated / spread)
        return tolerated / spread if spread < np.inf else 0.0

    # Its size

    def resize(self, NP: int, rng: np.random.Generator) -> Array:
        """Let the worst leave, and random members of an archive now too large; return who stays."""
        fitness, excess, order, stay = self.fitness, self.excess, self.order, np.empty(NP, np.int64)
        self.cut(NP)
        leave = 0 if self.newest else self.counters.item(at.ARCHIVED) - self.capacity
        self.latest = shrink(
            self.rows, fitness, excess, order, NP, self.latest, stay, self.NP_start, self.counters,
            rng.random(max(0, leave)),
        )  # fmt: skip
        if self.newest:
            self.counters[at.PLACE] %= NP
            self.elite_fitness = self.elite_fitness[: self.capacity]  # the best come first
            self.counters[at.ARCHIVED] = len(self.elite_fitness)
        return stay

    def cut(self, NP: int) -> None:
        """Let arrays end with the first NP parents, once only these count."""
        self.NP, self.capacity = NP, self.capacity_at(NP)
        self.fitness, self.order = self.fitness[:NP], self.order[:NP]
        self.excess = self.excess[:NP]


def alike(least: float, most: float, spread: float) -> bool:
    """Whether the fitness of all parents is alike: max f - min f <= spread (1 + |min f|)."""
    return most < np.inf and most - least <= spread * (1.0 + abs(least))


def may_have_converged(least: float, most: float, NP: int, atol: float, tol: float) -> bool:
    """Whether std f <= atol + tol·|mean f| is possible: std f is at least (max - min) / √(2 NP)."""
    tolerated = atol + tol * max(abs(least), abs(most))
    return most - least <= 1.01 * tolerated * math.sqrt(2.0 * NP)


# Survival, compiled. Arrays are those of `Population`.


@njit
def sort_again(order: Array, fitness: Array, NP: int) -> None:
    """Bring `order` (best first, ties by index) up to date by insertion: few parents have moved."""
    for k in range(1, NP):
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
def survive(
    rows: Array,
    fitness: Array,
    offset: int,
    capacity: int,
    reservoir: bool,
    counters: Array,
    offspring: Array,
    values: Array,
    uniforms: Array,
    operators: Array,
    counts: Array,
    order: Array,
    ordered: int,
) -> int:
    """Let each offspring with u <= f take its parent's place, parents that lost enter the archive.

    A value that is not finite never survives; a failed parent has fitness +inf and yields to any
    finite value. Returns the index of the best offspring, -1 if all failed. A full archive gives
    up a random member (`recent`) or is a reservoir of all parents that ever lost (`history`). The
    first `ordered` of `order` are sorted again.
    """
    n, D = offspring.shape
    best = -1
    for i in range(n):
        counts[operators[i]] += 1
        u = values[i]
        if not np.isfinite(u):
            continue
        if best < 0 or u < values[best]:
            best = i
        if u > fitness[i]:
            continue
        if u < fitness[i] and capacity > 0:
            counters[at.EVER_LOST] += 1
            place = counters[at.ARCHIVED]
            if place < capacity:
                counters[at.ARCHIVED] += 1
            elif reservoir:
                place = int(uniforms[i, at.KEEP] * counters[at.EVER_LOST])
            else:
                place = int(uniforms[i, at.KEEP] * capacity)
            if place < capacity:
                for j in range(D):
                    rows[offset + place, j] = rows[i, j]
        for j in range(D):
            rows[i, j] = offspring[i, j]
        fitness[i] = u
    sort_again(order, fitness, ordered)
    return best


@njit
def survive_newest(
    rows: Array,
    fitness: Array,
    parents: Array,
    counters: Array,
    offspring: Array,
    values: Array,
    operators: Array,
    counts: Array,
    successful: Array,
) -> int:
    """Let each offspring with u <= f of its parent take the place that was renewed longest ago.

    One after the other, so that a parent's fitness is that of who stands in its place by then.
    Marks the successful, and returns the index of the best offspring, -1 if all failed.
    """
    n, D = offspring.shape
    best = -1
    for m in range(n):
        counts[operators[m]] += 1
        u = values[m]
        if not np.isfinite(u):
            continue
        if best < 0 or u < values[best]:
            best = m
        if u > fitness[parents[m]]:
            continue
        successful[m] = True
        place = counters[at.PLACE]
        counters[at.PLACE] = (place + 1) % fitness.shape[0]
        for j in range(D):
            rows[place, j] = offspring[m, j]
        fitness[place] = u
    return best


@njit
def keep_best(
    rows: Array,
    start: int,
    elite: Array,
    points: Array,
    values: Array,
    order: Array,
    fitness: Array,
) -> None:
    """Merge points into an archive that is sorted by fitness; the best `len(fitness)` stay.

    `elite` is the fitness of the archive, from row `start` on; `order` sorts those points that
    take part by `values`. Of equals, members come first. The fitness goes to `fitness`.
    """
    D = rows.shape[1]
    old, new = 0, 0
    while old + new < fitness.shape[0]:
        if new == len(order) or (old < len(elite) and elite[old] <= values[order[new]]):
            old += 1
        else:
            new += 1
    # From the end on, so that no member is overwritten before it has moved.
    for place in range(fitness.shape[0] - 1, -1, -1):
        if new == 0 or (old > 0 and elite[old - 1] > values[order[new - 1]]):
            old -= 1
            fitness[place] = elite[old]
            if old == place:
                for k in range(place):
                    fitness[k] = elite[k]
                return
            for j in range(D):
                rows[start + place, j] = rows[start + old, j]
        else:
            new -= 1
            fitness[place] = values[order[new]]
            for j in range(D):
                rows[start + place, j] = points[order[new], j]


@njit
def against_worst(fitness: Array, values: Array, places: Array, compared: Array) -> None:
    """Let each value in turn compete with the worst of `fitness`, whose place it takes if better.

    `places` becomes where it goes, -1 if nowhere, and `compared` what it competed with.
    """
    for i in range(len(values)):
        worst = 0
        for k in range(1, len(fitness)):
            if fitness[k] > fitness[worst]:
                worst = k
        compared[i] = fitness[worst]
        places[i] = -1
        if values[i] < fitness[worst]:
            places[i] = worst
            fitness[worst] = values[i]


@njit
def take_places(rows: Array, fitness: Array, points: Array, values: Array, places: Array) -> int:
    """Let points take their places, -1 being none; return the best's index, -1 if all failed."""
    best = -1
    for i in range(len(values)):
        if np.isfinite(values[i]) and (best < 0 or values[i] < values[best]):
            best = i
        if places[i] >= 0:
            fitness[places[i]] = values[i]
            for j in range(rows.shape[1]):
                rows[places[i], j] = points[i, j]
    return best


@njit
def shrink(
    rows: Array,
    fitness: Array,
    excess: Array,
    order: Array,
    NP: int,
    latest: int,
    stay: Array,
    offset: int,
    counters: Array,
    uniforms: Array,
) -> int:
    """Keep the best NP parents: they move to the first rows, in the order of their places.

    Writes their former places to `stay`, and returns the new place of `latest`, -1 if it is gone.
    A random member of the archive leaves for each of `uniforms`; the last takes its place.
    """
    D = rows.shape[1]
    place = np.full(fitness.shape[0] + 1, -1)  # the last is for latest = -1
    for k in range(NP):
        place[order[k]] = 0
    new = 0
    for i in range(fitness.shape[0]):
        if place[i] == 0:
            place[i] = new
            stay[new] = i
            if new < i:
                for j in range(D):
                    rows[new, j] = rows[i, j]
                fitness[new], excess[new] = fitness[i], excess[i]
            new += 1
    for k in range(NP):
        order[k] = place[order[k]]
    for k in range(len(uniforms)):
        counters[at.ARCHIVED] -= 1
        last = counters[at.ARCHIVED]
        gap = int(uniforms[k] * (last + 1))
        for j in range(D):
            rows[offset + gap, j] = rows[offset + last, j]
    return int(place[latest])


# Between two restarts


class Epoch:
    """The course of a population from its start on."""

    def __init__(self, start: int, length: int) -> None:
        # Evaluations before it, and from there to the end of the run.
        self.start, self.length = start, length
        self.started = False  # whether the first population has been told
        self.best = self.violation = math.inf
        self.since_better = 0  # generations

    def progress(self, evaluations: int) -> float:
        """The share of its evaluations that is spent after so many of the run."""
        return (evaluations - self.start) / self.length

    def note(self, value: float) -> None:
        """Compare the best value of a generation with the best so far."""
        self.since_better += 1
        if value < self.best:
            self.best, self.since_better = value, 0

    def is_stagnating(self, rule: Stagnation, population: Population) -> bool:
        """Whether there was no better best for too long, or all fitness is alike."""
        if self.since_better >= rule.patience:
            return True
        first, last = population.order.item(0), population.order.item(-1)
        if population.excess.item(last) > 0:
            return False
        fitness = population.fitness
        return alike(fitness.item(first), fitness.item(last), rule.spread)


# The ε-constrained method: the level ε starts as the violation at a quantile of the first
# population and falls to 0. See `uaos.optimizers.feasibility` for the order of points under it.

_QUANTILE, _POWER = 0.2, 5.0
# ε reaches 0 after the first share of the run; in a short one after that many generations, or the
# second share.
_SHARES, _GENERATIONS = (0.3, 0.7), 200


class Relaxation:
    """The level ε of a population."""

    def __init__(self, population: Population, epoch: Epoch) -> None:
        self._population, self._epoch = population, epoch
        self.epsilon = self.first = np.inf  # no first population has been told yet
        # Of the offspring that are compared.
        self._violations = self._ranks = np.zeros(0)

    def start(self, violations: Array, evaluations: int) -> None:
        """Set the level by the first population."""
        population, n = self._population, len(violations)
        population.excess[:n], population.excess[n:] = violations, np.inf
        # Without values of infeasible points there is nothing to compare them by.
        known = np.isfinite(population.fitness)
        level = np.quantile(population.excess, _QUANTILE, method="lower")
        self.first = float(level) if (known & (population.excess > 0)).any() else 0.0
        self.lower(evaluations)

    def compare(self, values: Array, violations: Array) -> tuple[Array, Array]:
        """What credit compares, of parents and offspring; the ranks of all are for survival."""
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

    def survive(
        self, points: Array, values: Array, batch: Batch, capacity: int, counts: Array
    ) -> int:
        """Let offspring of no worse rank take their parents' places: see `Population`."""
        population, n, NP = self._population, len(values), self._population.NP
        parents, offspring = self._ranks[:NP].copy(), self._ranks[NP:].copy()
        best = population.survive(points, offspring, batch, capacity, counts, parents)
        taken = np.flatnonzero(parents[:n] == offspring)
        population.fitness[taken] = np.where(np.isnan(values), np.inf, values)[taken]
        population.excess[taken] = self._violations[taken]
        return best

    def lower(self, evaluations: int) -> None:
        """Bring ε and the order of the parents up to date, and note who is best."""
        population, epoch = self._population, self._epoch
        least, most = (share * epoch.length for share in _SHARES)
        relaxed = min(max(least, _GENERATIONS * population.NP_start), most)
        left = max(0.0, 1.0 - (evaluations - epoch.start) / relaxed)
        self.epsilon = self.first * left**_POWER
        population.order = feasibility.order(population.fitness, population.excess, self.epsilon)
        top = population.order[0]
        found = float(population.excess[top]), float(population.fitness[top])
        epoch.since_better += 1
        if self.epsilon > 0:
            epoch.since_better = 0  # what is best changes with ε
        elif found < (epoch.violation, epoch.best):
            epoch.violation, epoch.best = found
            epoch.since_better = 0
