"""EA4eig: CoBiDE, IDE, CMA-ES and jSO take turns on one population, a generation each.

Bujok and Kolenovsky (2022), "Eigen crossover in cooperative model of evolutionary algorithms
applied to CEC 2022 single objective numerical optimisation"; Wang, Li, Huang and Li (2014), CoBiDE;
Tang, Dong and Liu (2015), IDE.
"""

import math
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import ClassVar

import numpy as np

from uaos.arrays import FloatArray, IntArray
from uaos.errors import InvalidFile, InvalidParameter
from uaos.jit import njit
from uaos.optimizers.de import layout as at
from uaos.optimizers.de.operators import Operator, PoolMember
from uaos.optimizers.de.rates import standard_normal
from uaos.optimizers.de.rules import SuccessHistory
from uaos.optimizers.de.settings import DifferentialEvolutionSettings, Linear
from uaos.optimizers.de.variation import cross, distinct, move_integers, repair
from uaos.optimizers.registration import register
from uaos.optimizers.winners import jso
from uaos.optimizers.winners.base import Winner, WinnerSettings, default
from uaos.optimizers.winners.shared_cma import SharedCMA
from uaos.selection.method import Method
from uaos.statefile import SavedState

#: The algorithms, by their numbers in the pool.
COBIDE, IDE, CMA_ES, JSO = range(4)

#: The chance that a generation crosses over along eigenvectors, and the share of the best parents
#: whose covariance matrix has these.
ROTATION, ROTATION_SHARE = 0.4, 0.5
#: CoBiDE: the two locations of F and of CR, and the scale of both.
LOCATIONS, SCALE = ((0.65, 1.0), (0.1, 0.95)), 0.1
#: IDE: the standard deviation of F and CR.
DEVIATION = 0.1


@cache
def _pool() -> tuple[Operator, ...]:
    """Return the four algorithms; only jSO's F and CR are those that run.

    The others draw theirs in this module, and CMA-ES has none.
    """
    memory = SuccessHistory(
        5, F=0.3, CR=0.8, rate=0.5, CR_mean="Lehmer", CR_scale=0.1**0.5, last=0.9
    )
    return (
        Operator("rand/1", 0.5, 0.5, "CoBiDE"),
        Operator("curr-to-rand/1", 0.5, 0.5, "IDE"),
        Operator("rand/1", 0.5, 1.0, "CMA-ES"),
        Operator("curr-to-pbest/1 (archived)", memory, memory, "jSO"),
    )


# CoBiDE: F and CR are those of an individual, drawn anew when its offspring does not survive


@njit
def draw_bimodal(u: float, locations: FloatArray, positive: bool) -> float:
    """Return a Cauchy value around one of two locations, cut to [0, 1].

    If `positive`, it is redrawn while below 0, which chooses the location anew as well.
    """
    below = np.zeros(2)  # the distribution functions at 0
    if positive:
        for k in range(2):
            below[k] = 0.5 - math.atan(locations[k] / SCALE) / math.pi
    chance = (1.0 - below[0]) / (2.0 - (below[0] + below[1]))
    k, within = (0, u / chance) if u < chance else (1, (u - chance) / (1.0 - chance))
    p = below[k] + within * (1.0 - below[k])
    return float(min(max(locations[k] + SCALE * math.tan(math.pi * (p - 0.5)), 0.0), 1.0))


@njit
def redraw(kept: FloatArray, failed: IntArray, locations: FloatArray, uniforms: FloatArray) -> None:
    """Draw new F and CR (the rows of `kept`) of individuals, two uniforms for each."""
    for m in range(len(failed)):
        kept[0, failed[m]] = draw_bimodal(uniforms[m, 0], locations[0], True)
        kept[1, failed[m]] = draw_bimodal(uniforms[m, 1], locations[1], False)


# IDE: x_base + F_o (x_r1 - x_o) + F_o (x_r2 - x_r3), F and CR by the ranks of o and i


@lru_cache(maxsize=256)
def parts_within(NP: int) -> FloatArray:
    """Return the part in (0, 1] of each of IDE's normal distributions, with means 1/NP .. 1.

    The first column has the probability below 0, the second that of the interval.
    """
    parts = np.empty((NP, 2))
    for k in range(NP):
        mean = (k + 1) / NP
        below, above = (0.5 * math.erfc(d / (DEVIATION * math.sqrt(2))) for d in (mean, 1 - mean))
        parts[k] = below, 1.0 - above - below
    return parts


@njit
def within_unit(rank: int, parts: FloatArray, u: float) -> float:
    """Return a normal value with mean rank / NP, redrawn until it is in (0, 1], from a uniform."""
    value = (rank + 1) / len(parts) + DEVIATION * standard_normal(
        parts[rank, 0] + (1.0 - u) * parts[rank, 1]
    )
    return min(max(value, np.finfo(np.float64).tiny), 1.0)  # rounding may step outside


@njit
def choose_by_rank(
    ranks: IntArray,
    order: IntArray,
    superior: int,
    second_stage: bool,
    uniforms: FloatArray,
    partners: IntArray,
) -> None:
    """Write the partners of IDE: x_base, x_r1, x_o, x_r2 and x_r3.

    o, r1, r2 and r3 are distinct and not the parent i; in the first stage, o is i. In the second,
    the base is i with probability 1/2, otherwise o. One of the best `superior` becomes r1 where
    neither r1 nor o is one.
    """
    NP, used, drawn = len(order), np.empty(5, np.int64), np.empty(4, np.int64)
    for i in range(len(partners)):
        distinct(i, NP, uniforms, i, 4, used, drawn, 0)
        used_superior = int(ranks[i] < superior)
        for k in range(4):
            used_superior += int(ranks[drawn[k]] < superior)
        o, r1 = drawn[0] if second_stage else i, drawn[1]
        if ranks[o] >= superior and ranks[r1] >= superior:
            # The authors' program, too, draws from as many of the best as are unused.
            r1 = order[int(uniforms[i, at.R + 4] * max(superior - used_superior, 1))]
        partners[i, at.BASE] = i if second_stage and uniforms[i, at.PBEST] < 0.5 else o
        partners[i, at.PLUS_1], partners[i, at.MINUS_1] = r1, o
        partners[i, at.PLUS_2], partners[i, at.MINUS_2] = drawn[2], drawn[3]


@njit
def rates_by_rank(
    ranks: IntArray,
    partners: IntArray,
    parts: FloatArray,
    uniforms: FloatArray,
    F: FloatArray,
    CR: FloatArray,
) -> None:
    """Write F by the rank of o and CR by that of the parent."""
    for i in range(len(partners)):
        F[i] = within_unit(ranks[partners[i, at.MINUS_1]], parts, uniforms[i, at.F])
        CR[i] = within_unit(ranks[i], parts, uniforms[i, at.CR])


@njit
def mutate_with_noise(
    rows: FloatArray,
    partners: IntArray,
    F: FloatArray,
    noise: FloatArray,
    noisy: float,
    low: FloatArray,
    high: FloatArray,
    mutants: FloatArray,
) -> None:
    """Write the mutants of IDE.

    A coordinate of x_r3 whose `noise` is below `noisy` is drawn anew, by the same number.
    """
    n, D = mutants.shape
    for i in range(n):
        base, r1, o = partners[i, at.BASE], partners[i, at.PLUS_1], partners[i, at.MINUS_1]
        r2, r3 = partners[i, at.PLUS_2], partners[i, at.MINUS_2]
        for j in range(D):
            anew = low[j] + noise[i, j] / noisy * (high[j] - low[j])
            other = anew if noise[i, j] < noisy else rows[r3, j]
            step = F[i] * (rows[r1, j] - rows[o, j]) + F[i] * (rows[r2, j] - other)
            mutants[i, j] = rows[base, j] + step


@njit
def redraw_outside(
    mutants: FloatArray, uniforms: FloatArray, low: FloatArray, high: FloatArray
) -> None:
    """Draw coordinates outside the box anew, each by its own uniform number."""
    n, D = mutants.shape
    for i in range(n):
        for j in range(D):
            if mutants[i, j] < low[j] or mutants[i, j] > high[j]:
                mutants[i, j] = low[j] + uniforms[i, j] * (high[j] - low[j])


# jSO: x_pbest may be the parent, x_arch is neither the parent nor x_r1


@njit
def avoid_first_partner(
    NP: int, archive_start: int, archive_size: int, uniforms: FloatArray, partners: IntArray
) -> None:
    """Let x_arch be another member of population and archive where it is x_r1."""
    for i in range(len(partners)):
        first = partners[i, at.PLUS_2]
        if partners[i, at.MINUS_2] != first:
            continue
        # By what the first choice has left of the same number.
        place = uniforms[i, at.ARCHIVE] * (NP - 1 + archive_size)
        member = int((place - int(place)) * (NP - 2 + archive_size))
        for excluded in (min(i, first), max(i, first)):
            member += int(member >= excluded)
        partners[i, at.MINUS_2] = member + int(member >= NP) * (archive_start - NP)


# Crossover that forces a coordinate only where it would take none, and along eigenvectors


def eigenvectors(points: FloatArray) -> FloatArray | None:
    """Return the principal axes of points as rows; None if the covariance overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        centered = points - points.mean(axis=0)
        matrix = centered.T @ centered / (len(points) - 1)
    if not np.isfinite(matrix).all():
        return None
    return np.ascontiguousarray(np.linalg.eigh(matrix)[1].T)


@njit
def cross_where_taken(
    parents: FloatArray,
    mutants: FloatArray,
    CR: FloatArray,
    uniforms: FloatArray,
    offspring: FloatArray,
) -> None:
    """Write offspring by binomial crossover; where it takes no coordinate, a random one."""
    n, D = offspring.shape
    for i in range(n):
        crossed = 0
        for j in range(D):
            takes = uniforms[i, at.CROSS + j] < CR[i]
            offspring[i, j] = mutants[i, j] if takes else parents[i, j]
            crossed += int(takes)
        if crossed == 0:
            j_rand = int(uniforms[i, at.J_RAND] * D)
            offspring[i, j_rand] = mutants[i, j_rand]


# Survival against the worst


@njit
def challenge_worst(
    fitness: FloatArray, values: FloatArray, places: IntArray, compared: FloatArray
) -> None:
    """Let each value in turn compete with the worst of `fitness`, whose place it takes if better.

    `places` becomes the place of the worst then, and `compared` its fitness.
    """
    for i in range(len(values)):
        worst = 0
        for k in range(1, len(fitness)):
            if fitness[k] > fitness[worst]:
                worst = k
        places[i], compared[i] = worst, fitness[worst]
        if values[i] < fitness[worst]:
            fitness[worst] = values[i]


_SCHEDULE = Linear(10)


@dataclass(frozen=True, eq=False)
class EA4eigSettings(WinnerSettings):
    """Settings of EA4eig, those of differential evolution with other defaults."""

    title: ClassVar[str] = "EA4eig"

    NP: int | str | None = default("NP", 100)
    top_NP: float | str = default("top_NP", 0.25)
    boundary: str = default("boundary", "reflect")
    archive_size: float = default("archive_size", 2.6)
    NP_schedule: Linear | str | None = _SCHEDULE

    @classmethod
    def default_pool(cls) -> tuple[PoolMember, ...]:  # noqa: D102
        return _pool()

    def operator_texts(self) -> list[tuple[str, str, str, str]]:  # noqa: D102
        F_bimodal, CR_bimodal = (
            f"cauchy({a:g} or {b:g}, {SCALE}), kept while it succeeds" for a, b in LOCATIONS
        )
        *_, (_, _, F, CR) = super().operator_texts()
        return [
            ("CoBiDE", "rand/1", F_bimodal, CR_bimodal),
            ("IDE", "x_base + F (x_r1 - x_o + x_r2 - x_r3)",
             f"normal(rank of x_o / NP, {DEVIATION})", f"normal(rank of x_i / NP, {DEVIATION})"),
            ("CMA-ES", "normal distribution", "", ""),
            ("jSO", jso.STRATEGY, f"{F}, {jso.F_LIMIT}", f"{CR}, {jso.CR_LIMIT}"),
        ]  # fmt: skip

    def population_size(self, dimension: int, budget: int | None) -> int:  # noqa: D102
        NP = super().population_size(dimension, budget)
        if NP < 5 and isinstance(self.NP, int):
            raise InvalidParameter(
                f"NP is {NP}; EA4eig expects at least 5, which IDE needs", name="NP", value=NP
            )
        return max(NP, 5)


@register
class EA4eig(Winner):
    """Cooperation of four algorithms on one population, which take turns by their success.

    In some generations, crossover is along the eigenvectors of the covariance matrix of the better
    parents. The offspring of CMA-ES compete with the worst parent of all, those of the others with
    their own.
    """

    name: ClassVar[str] = "EA4eig"
    settings_class: ClassVar[type[DifferentialEvolutionSettings]] = EA4eigSettings
    default_method: ClassVar[Method | None] = Method(
        "parent_improvement", {"name": "success_count", "start": 2, "least": 0.2}, "identity",
        "identity", "proportional", scale_rewards=False, scope="generation",
    )  # fmt: skip
    state_names: ClassVar[tuple[str, ...]] = (
        "kept", "cma", "ide_generation", "ide_idle", "ide_switch",
    )  # fmt: skip

    def _begin(
        self, NP: int, start: int, x0: FloatArray | None = None, center: bool = False
    ) -> None:
        super()._begin(NP, start, x0, center)
        #: F and CR of each individual.
        self.kept = np.empty((2, NP))
        redraw(self.kept, np.arange(NP), np.array(LOCATIONS), self.rng.random((NP, 2)))
        #: How many generations IDE plans with, has had, and had in a row without a survivor, and
        #: the last one of its first stage.
        self.ide_planned = max(1, round(self.epoch.length / NP))
        self.ide_generation, self.ide_idle, self.ide_switch = 0, 0, self.ide_planned // 2
        first = self.population.rows[:NP]
        self.cma = SharedCMA(*self.region.widest(), NP, first, self.scale)
        self._axes: FloatArray | None = None
        self._told = self.population.rows[:0]

    @property
    def _turn(self) -> int:
        """Algorithm that makes the generation."""
        return int(self.offspring.operators[0])

    # Making offspring

    def _make_offspring(self, operators: IntArray) -> FloatArray:
        self._axes = None
        if self.rng.random() < ROTATION and operators[0] != CMA_ES:
            few = max(2, round(ROTATION_SHARE * self.population.NP))
            self._axes = eigenvectors(self.population.rows[self.population.order[:few]])
        if operators[0] == CMA_ES:
            return self._sample(operators)
        return super()._make_offspring(operators)

    def _sample(self, operators: IntArray) -> FloatArray:
        """Make the offspring of CMA-ES, from the weighted mean of the better half of parents."""
        self.offspring.draw(operators, self.rng)
        self.offspring.repairs = 0
        population = self.population
        better = population.rows[population.order[: population.NP // 2]]
        points = self.cma.sample(better, population.NP, self.rng)[: len(operators)]
        if self.integers is not None:
            move_integers(
                points, self._parents(), self.integers, None, self.low, self.high, self.rng
            )
        return points

    def _draw_rates(self) -> None:
        offspring = self.offspring
        if self._turn == COBIDE:
            offspring.F[:], offspring.CR[:] = self.kept[:, : len(offspring.operators)]
        elif self._turn == JSO:
            super()._draw_rates()
            jso.limit_rates(self.progress, offspring.F, offspring.CR)

    def _leaders(self) -> IntArray:
        NP, top = self.population.NP, self.settings.top
        count = jso.leader_count(top, self.progress, NP, math.ceil)
        return np.full(len(self.offspring.operators), count)

    def _choose_partners(self) -> IntArray:
        population, offspring = self.population, self.offspring
        if self._turn != IDE:
            partners = super()._choose_partners()
            if self._turn == JSO:
                avoid_first_partner(
                    population.NP, population.NP_start, population.archived, offspring.uniforms,
                    partners,
                )  # fmt: skip
            return partners
        partners = np.zeros((len(offspring.operators), at.PARTNERS), np.int64)
        ranks = np.empty(population.NP, np.int64)
        ranks[population.order] = np.arange(population.NP)
        choose_by_rank(
            ranks, population.order, int(self._superior_share() * population.NP),
            self.ide_generation > self.ide_switch, offspring.uniforms, partners,
        )  # fmt: skip
        rates_by_rank(
            ranks, partners, parts_within(population.NP), offspring.uniforms, offspring.F,
            offspring.CR,
        )  # fmt: skip
        return partners

    def _superior_share(self) -> float:
        """Return the share of the best individuals that IDE calls superior at this stage."""
        spent = min(1.0, self.ide_generation / self.ide_planned)
        return float(0.1 + 0.9 * 10.0 ** (5.0 * (spent - 1.0)))

    def _mutate(self, partners: IntArray) -> FloatArray:
        F, rows = self.offspring.F, self.population.rows
        mutants = np.empty((len(partners), self.dimension))
        if self._turn == COBIDE:
            mutants = super()._mutate(partners)
            if self._axes is not None:
                parents, reflect = self._parents(), at.REFLECT
                repair(mutants, parents, self.low, self.high, reflect, self.offspring.uniforms)
            return mutants
        if self._turn == JSO:
            jso.mutate_weighted(rows, partners, jso.weight(self.progress), F, mutants)
            return mutants
        noise, noisy = self.rng.random(mutants.shape), 0.1 * self._superior_share()
        mutate_with_noise(rows, partners, F, noise, noisy, *self.region.widest(), mutants)
        if self._axes is None:
            redraw_outside(mutants, self.rng.random(mutants.shape), self.low, self.high)
        return mutants

    def _cross(self, mutants: FloatArray) -> FloatArray:
        offspring, parents, axes = self.offspring, self._parents(), self._axes
        points = np.empty_like(mutants)
        if axes is None:
            crossing = cross if self._turn == IDE else cross_where_taken
            crossing(parents, mutants, offspring.CR, offspring.uniforms, points)
            return points
        # Along the axes, and with the CR that the individual keeps.
        CR = self.kept[1, : len(mutants)].copy()
        steps = (mutants - parents) @ axes.T
        cross_where_taken(np.zeros_like(steps), steps, CR, offspring.uniforms, points)
        return parents + points @ axes

    # Learning and survival

    def _learn(self, points: FloatArray, values: FloatArray) -> None:
        self._told = points
        super()._learn(points, values)

    def _compare(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        if self._turn != CMA_ES or self.violations is not None:
            return super()._compare(values)
        places, compared = np.empty(len(values), np.int64), np.empty(len(values))
        challenge_worst(self.population.fitness.copy(), values, places, compared)
        return compared, values

    def _learn_rates(self, parents: FloatArray, offspring: FloatArray) -> None:
        survived = offspring <= parents  # false for NaN
        if self._turn == COBIDE:
            failed = np.flatnonzero(~survived)
            uniforms = self.offspring.uniforms[failed][:, [at.F, at.CR]]
            redraw(self.kept, failed, np.array(LOCATIONS), np.ascontiguousarray(uniforms))
        elif self._turn == IDE:
            self._learn_stage(bool(survived.any()))
        elif self._turn == JSO:
            super()._learn_rates(parents, offspring)
        elif len(offspring) == self.population.NP:  # the last generation may be smaller
            self.cma.learn(self._told, offspring, self.evaluations)

    def _learn_stage(self, survived: bool) -> None:
        """Let IDE end its first stage once a tenth of its generations in a row had no survivor."""
        if self.ide_generation < self.ide_switch:
            self.ide_idle = 0 if survived else self.ide_idle + 1
            if self.ide_idle >= self.ide_planned / 10:
                self.ide_switch = self.ide_generation
        self.ide_generation += 1

    def _survive(self, points: FloatArray, values: FloatArray) -> None:
        population = self.population
        if self._turn == JSO or self.violations is not None:
            super()._survive(points, values)
            return
        if self._turn == CMA_ES:
            places, compared = np.empty(len(values), np.int64), np.empty(len(values))
            challenge_worst(population.fitness, values, places, compared)
            for i in np.flatnonzero(values < compared):
                population.rows[places[i]] = points[i]
        else:  # parents that lost are archived in the turns of jSO only
            population.replace_parents(points, values, population.fitness)
        population.sort()
        self.epoch.note(float(np.min(values, where=np.isfinite(values), initial=np.inf)))

    def _shrink(self, NP: int) -> None:
        stay = self.population.resize(NP, self.rng)
        self.kept = np.ascontiguousarray(self.kept[:, stay])

    # Exact resume

    def restore(self, state: SavedState) -> None:  # noqa: D102
        super().restore(state)
        if self.kept.shape != (2, self.population.NP):
            raise InvalidFile("the state does not fit the settings; it was damaged or altered")
