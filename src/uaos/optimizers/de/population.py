"""The parents and the archive: who survives a generation, who is kept, who leaves."""

import math

import numpy as np

from uaos.optimizers.base import Array
from uaos.optimizers.de import layout, survival
from uaos.optimizers.de.settings import Settings

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
        best: int = survival.survive(
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
        best: int = survival.survive_newest(
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
        survival.against_worst(self.fitness.copy(), values, places, compared)
        return compared, places

    def replace_worst(
        self, points: Array, values: Array, places: Array, batch: Batch, counts: Array
    ) -> int:
        """Let offspring take these places; return the best's index, -1 if all failed."""
        counts[batch.operators[0]] += len(values)
        best: int = survival.take_places(self.rows, self.fitness, points, values, places)
        self.success_rate = float(np.count_nonzero(places >= 0)) / len(values)
        self.sort()
        return best

    def _keep_best(self, points: Array, values: Array, order: Array) -> None:
        """Let the archive hold the best of its members and of some points, which `order` sorts."""
        elite = self.elite_fitness
        size = min(len(elite) + len(order), self.capacity)
        self.elite_fitness = np.empty(size)
        survival.keep_best(
            self.rows, self.NP_start, elite, points, values, order, self.elite_fitness
        )
        self.counters[layout.ARCHIVED] = size

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
        leave = 0 if self.newest else self.counters.item(layout.ARCHIVED) - self.capacity
        self.latest = survival.shrink(
            self.rows, fitness, excess, order, NP, self.latest, stay, self.NP_start, self.counters,
            rng.random(max(0, leave)),
        )  # fmt: skip
        if self.newest:
            self.counters[layout.PLACE] %= NP
            self.elite_fitness = self.elite_fitness[: self.capacity]  # the best come first
            self.counters[layout.ARCHIVED] = len(self.elite_fitness)
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
