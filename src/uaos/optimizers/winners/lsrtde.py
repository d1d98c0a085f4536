"""L-SRTDE: a population of the newest and one of the best points, led by the success rate.

Stanovov and Semenkin (2024), "Success rate-based adaptive differential evolution L-SRTDE for CEC
2024 competition".
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from uaos.arrays import BoolArray, FloatArray, IntArray
from uaos.errors import InvalidFile, InvalidParameter
from uaos.jit import njit
from uaos.optimizers.de import layout as at
from uaos.optimizers.de.operators import Operator, PoolMember
from uaos.optimizers.de.rules import Normal, SuccessHistory
from uaos.optimizers.de.settings import DifferentialEvolutionSettings, Linear
from uaos.optimizers.registration import register
from uaos.optimizers.winners.base import Winner, WinnerSettings, default
from uaos.statefile import SavedState

#: The offspring of a generation, times NP: the fewer, the sooner newcomers take part.
OFFSPRING = 0.5
#: F has the mean F_BASE + F_GAIN tanh(5 S) at success rate S.
F_BASE, F_GAIN, F_DEVIATION = 0.4, 0.25, 0.02
#: x_rank has rank k = 0, 1, … with a chance proportional to exp(-PRESSURE·k/NP).
PRESSURE = 3.0


@cache
def _pool() -> tuple[Operator, ...]:
    """Return the only operator; the mean of its F follows the success rate."""
    memory = SuccessHistory(5, CR=1.0, rate=0.5, CR_mean="Lehmer", CR_scale=0.05)
    F = Normal(F_BASE, F_DEVIATION)
    return (Operator("curr-to-pbest/1 (archived)", F, memory, "r-new-to-ptop/n/t"),)


def scale_mean(success_rate: float) -> float:
    """Return the mean of F at a success rate."""
    return F_BASE + F_GAIN * math.tanh(5.0 * success_rate)


@njit
def choose_elites(
    parents: IntArray,
    order: IntArray,
    elites: int,
    elite_count: int,
    leaders: int,
    ranks: FloatArray,
    uniforms: FloatArray,
    partners: IntArray,
) -> None:
    """Write the partners of x_i + F (x_elite - x_i + x_rank - x_stored).

    x_elite is one of the first `leaders` of the elites, which start at row `elites`, x_stored
    another of all `elite_count`; x_rank is a parent, drawn by its rank with the uniform number
    `ranks[m]`, the better ones more often.
    """
    NP = len(order)
    range_of_ranks = math.expm1(-PRESSURE)
    for m in range(len(parents)):
        k = min(int(-math.log1p(ranks[m] * range_of_ranks) * (NP / PRESSURE)), NP - 1)
        elite = int(uniforms[m, at.PBEST] * min(leaders, elite_count))
        stored = int(uniforms[m, at.ARCHIVE] * (elite_count - 1))
        partners[m, at.BASE] = partners[m, at.MINUS_1] = parents[m]
        partners[m, at.PLUS_1] = elites + elite
        partners[m, at.PLUS_2] = order[k]
        partners[m, at.MINUS_2] = elites + stored + int(stored >= elite)


@njit
def share_taken(CR: FloatArray, uniforms: FloatArray, D: int) -> None:
    """Replace CR by the share of coordinates that binomial crossover takes from the mutant."""
    for m in range(len(CR)):
        j_rand = int(uniforms[m, at.J_RAND] * D)
        crossed = int(not uniforms[m, at.CROSS + j_rand] < CR[m])
        for j in range(D):
            crossed += int(uniforms[m, at.CROSS + j] < CR[m])
        CR[m] = crossed / D


@njit
def replace_oldest(
    rows: FloatArray,
    fitness: FloatArray,
    parents: IntArray,
    place: int,
    points: FloatArray,
    values: FloatArray,
    successful: BoolArray,
) -> int:
    """Let each offspring with u <= f of its parent take the place that was renewed longest ago.

    In turn, so that an offspring is compared with the point that has its parent's place by then.
    The first goes to `place`. Mark the successful ones, and return the place of the next.
    """
    for m in range(len(values)):
        if np.isfinite(values[m]) and values[m] <= fitness[parents[m]]:
            successful[m] = True
            for j in range(rows.shape[1]):
                rows[place, j] = points[m, j]
            fitness[place] = values[m]
            place = (place + 1) % len(fitness)
    return place


@njit
def merge_elites(
    rows: FloatArray,
    elites: int,
    old: FloatArray,
    points: FloatArray,
    values: FloatArray,
    order: IntArray,
    new: FloatArray,
) -> None:
    """Merge points into the elites, which are sorted by fitness; the best `len(new)` stay.

    `old` is the fitness of the elites, from row `elites` on; `order` sorts those points that take
    part by `values`. Of equals, elites come first. Their fitness goes to `new`.
    """
    a, b = 0, 0  # how many stay of the elites, and of the points
    while a + b < len(new):
        if b == len(order) or (a < len(old) and old[a] <= values[order[b]]):
            a += 1
        else:
            b += 1
    # From the end on, so that no elite is overwritten before it has moved.
    for place in range(len(new) - 1, -1, -1):
        if b == 0 or (a > 0 and old[a - 1] > values[order[b - 1]]):
            a -= 1
            new[place] = old[a]
            if a < place:
                for j in range(rows.shape[1]):
                    rows[elites + place, j] = rows[elites + a, j]
        else:
            b -= 1
            new[place] = values[order[b]]
            for j in range(rows.shape[1]):
                rows[elites + place, j] = points[order[b], j]


_SCHEDULE = Linear(4)


@dataclass(frozen=True, eq=False)
class LSRTDESettings(WinnerSettings):
    """Settings of L-SRTDE, those of differential evolution with other defaults.

    `top_NP` is multiplied by exp(-7 S), S being the success rate.
    """

    title: ClassVar[str] = "L-SRTDE"

    NP: int | str | None = default("NP", "20D")
    top_NP: float | str = default("top_NP", 0.7)
    boundary: str = default("boundary", "resample")
    NP_schedule: Linear | str | None = _SCHEDULE

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.archive_size < 0.5:
            raise InvalidParameter(
                f"archive_size is {self.archive_size:g}; L-SRTDE expects at least 0.5, as elites "
                "make its mutants",
                name="archive_size", value=self.archive_size,
            )  # fmt: skip

    @classmethod
    def default_pool(cls) -> tuple[PoolMember, ...]:  # noqa: D102
        return _pool()

    def operator_texts(self) -> list[tuple[str, str, str, str]]:  # noqa: D102
        ((name, _, _, CR),) = super().operator_texts()
        F = f"normal({F_BASE} + {F_GAIN} tanh(5 S), {F_DEVIATION})"
        return [(name, "x_i + F (x_elite - x_i + x_rank - x_stored)", F, CR)]


@register
class LSRTDE(Winner):
    """L-SRTDE: a population of the newest points, attracted by the best ones.

    A successful offspring takes the place that was renewed longest ago, and the archive holds the
    best points so far, the elites. The success rate S, the share of the last generation's offspring
    that were successful, decides on F and on how many elites attract.
    """

    name: ClassVar[str] = "L-SRTDE"
    handles: ClassVar[tuple[str, ...]] = ("integrality",)
    settings_class: ClassVar[type[DifferentialEvolutionSettings]] = LSRTDESettings
    further_columns: ClassVar[int] = 2  # the rank of x_rank, and the parent
    state_names: ClassVar[tuple[str, ...]] = ("success_rate", "next_place", "elite_fitness")

    def _begin(
        self, NP: int, start: int, x0: FloatArray | None = None, center: bool = False
    ) -> None:
        super()._begin(NP, start, x0, center)
        self.success_rate = 0.5
        self.next_place = 0
        self.elite_fitness = np.zeros(0)

    # Making offspring

    def _offspring_count(self) -> int:
        return max(1, round(OFFSPRING * self.population.NP))

    def _chosen_parents(self) -> IntArray:
        """Return the parent of each offspring, drawn at random."""
        column = at.CROSS + self.dimension + self.settings.top_drawn + 1
        drawn = self.offspring.uniforms[:, column] * self.population.NP
        return drawn.astype(np.int64)

    def _parents(self) -> FloatArray:
        return self.population.rows[self._chosen_parents()]

    def _draw_rates(self) -> None:
        self.pool.table[0, at.F_A] = scale_mean(self.success_rate)
        super()._draw_rates()

    def _choose_partners(self) -> IntArray:
        population, uniforms = self.population, self.offspring.uniforms
        partners = np.zeros((len(uniforms), at.PARTNERS), np.int64)
        share = self.settings.top * math.exp(-7.0 * self.success_rate)
        leaders = min(population.NP, max(2, int(share * population.NP)))
        ranks = uniforms[:, at.CROSS + self.dimension + self.settings.top_drawn].copy()
        choose_elites(
            self._chosen_parents(), population.order, population.NP_start, population.archived,
            leaders, ranks, uniforms, partners,
        )  # fmt: skip
        return partners

    def _cross(self, mutants: FloatArray) -> FloatArray:
        points = super()._cross(mutants)
        share_taken(self.offspring.CR, self.offspring.uniforms, self.dimension)
        return points

    # Survival

    def _compare(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self.population.fitness[self._chosen_parents()], values

    def _survive(self, points: FloatArray, values: FloatArray) -> None:
        population = self.population
        successful = np.zeros(len(values), np.bool_)
        self.next_place = replace_oldest(
            population.rows, population.fitness, self._chosen_parents(), self.next_place, points,
            values, successful,
        )  # fmt: skip
        newcomers = np.flatnonzero(successful)
        self._merge(points, values, newcomers[values[newcomers].argsort(kind="stable")])
        self.success_rate = len(newcomers) / len(values)
        population.sort()
        self.epoch.note(float(np.min(values, where=np.isfinite(values), initial=np.inf)))

    def _enter(self, values: FloatArray) -> None:
        super()._enter(values)
        population = self.population
        self._merge(population.rows[: population.NP], population.fitness, population.order)

    def _merge(self, points: FloatArray, values: FloatArray, order: IntArray) -> None:
        """Keep the best of the elites and of new points, which `order` lists from best to worst."""
        population, old = self.population, self.elite_fitness
        self.elite_fitness = np.empty(min(len(old) + len(order), population.capacity))
        merge_elites(
            population.rows, population.NP_start, old, points, values, order, self.elite_fitness
        )
        population.counters[at.ARCHIVED] = len(self.elite_fitness)

    def _shrink(self, NP: int) -> None:
        population = self.population
        self.elite_fitness = self.elite_fitness[: population.capacity_at(NP)]  # best first
        population.counters[at.ARCHIVED] = len(self.elite_fitness)
        super()._shrink(NP)
        self.next_place %= NP

    def restore(self, state: SavedState) -> None:  # noqa: D102
        super().restore(state)
        if not (
            self.elite_fitness.shape == (self.population.archived,)
            and (self.population.archived >= 2 or not self.epoch.started)
            and 0 <= self.next_place < self.population.NP
            and 0 <= self.success_rate <= 1
        ):
            raise InvalidFile("the state does not fit the settings; it was damaged or altered")
