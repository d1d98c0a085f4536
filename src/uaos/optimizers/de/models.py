"""Models that make mutants: what x_sample of a strategy is.

A model lives as long as the population it works on. It makes mutants for some of the offspring of a
generation, and hears of them and of the survivors.
"""

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from uaos.jit import njit
from uaos.optimizers.base import Array
from uaos.optimizers.de import layout as at
from uaos.optimizers.de.mutation import distinct, standard_normal
from uaos.optimizers.de.sampling import Distribution

if TYPE_CHECKING:
    from uaos.optimizers.de.population import Batch, Population


class Model:
    """What all models have.

    Parameters
    ----------
    population : Population
        The parents.
    rng : numpy.random.Generator
        The generator of the run.
    generations : int
        How many generations of the first size the run is long.
    """

    #: Whether its offspring compete with the worst parent of all, where they are a whole
    #: generation, and not with their own parent.
    replaces_worst: ClassVar[bool] = False
    #: Whether it wants to hear of its own offspring, and of the survivors of every generation.
    learns: ClassVar[bool] = False
    follows: ClassVar[bool] = False

    def __init__(
        self, population: "Population", rng: np.random.Generator, generations: int
    ) -> None:
        self.population, self.rng, self.generations = population, rng, max(1, generations)

    def propose(self, batch: "Batch", mine: Array, rotated: bool, samples: Array) -> None:
        """Write a mutant for each offspring that is `mine`, and its CR where that is the model's.

        `rotated`: whether crossover is by eigenvectors.
        """
        raise NotImplementedError

    def learn(self, points: Array, values: Array, survived: Array, evaluations: int) -> None:
        """Hear of the model's own offspring, before they take their parents' places."""

    def follow(self, evaluations: int) -> None:
        """Hear of the survivors of a generation, whoever made them."""

    def state(self) -> dict[str, Any]:
        """What changes in a run."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from what :meth:`state` returned."""


class PopulationModel(Model):
    """A normal distribution that follows the population, whoever made its members.

    Mohamed et al. (2017), LSHADE-SPACMA.
    """

    follows: ClassVar[bool] = True

    def __init__(
        self, population: "Population", rng: np.random.Generator, generations: int
    ) -> None:
        super().__init__(population, rng, generations)
        self.distribution = Distribution(population.low, population.high, population.NP_start)
        self.distribution.mean = rng.random(len(population.low))

    def propose(self, batch: "Batch", mine: Array, rotated: bool, samples: Array) -> None:  # noqa: D102
        z = self.rng.standard_normal((len(mine), samples.shape[1]))
        self.distribution.sample(z, mine, samples)

    def follow(self, evaluations: int) -> None:  # noqa: D102
        population = self.population
        self.distribution.follow(population.rows, population.order, evaluations)

    def state(self) -> dict[str, Any]:  # noqa: D102
        return self.distribution.state()

    def restore(self, state: Mapping[str, Any]) -> None:  # noqa: D102
        self.distribution.restore(state)


class SampleModel(PopulationModel):
    """CMA-ES that shares a population with others.

    Its mean starts every generation of its own as the weighted mean of the better half of the
    population; paths, step size and matrix learn from its own samples. σ starts as half the box. A
    coordinate outside the box becomes the middle between the bound and the sample before it in the
    same place. Bujok and Kolenovsky (2022), EA4eig.
    """

    replaces_worst: ClassVar[bool] = True
    learns: ClassVar[bool] = True
    follows: ClassVar[bool] = False

    def __init__(
        self, population: "Population", rng: np.random.Generator, generations: int
    ) -> None:
        Model.__init__(self, population, rng, generations)
        low, high, NP = population.low, population.high, population.NP_start
        self.distribution = Distribution(low, high, NP, sigma=100.0)
        self.before = population.rows[:NP].copy()

    def propose(self, batch: "Batch", mine: Array, rotated: bool, samples: Array) -> None:  # noqa: D102
        population = self.population
        self.distribution.recenter(population.rows, population.order)
        super().propose(batch, mine, rotated, samples)
        _bring_halfway(samples, mine, self.before, population.low, population.high)

    def learn(self, points: Array, values: Array, survived: Array, evaluations: int) -> None:  # noqa: D102
        if len(points) < self.population.NP:
            return  # too few to learn from: other operators had a part in it, or the run ends
        self.before = points.copy()
        ranked = values.argsort(kind="stable")  # NaN last
        self.distribution.follow(points, ranked, evaluations)

    def state(self) -> dict[str, Any]:  # noqa: D102
        return super().state() | {"before": self.before.copy()}

    def restore(self, state: Mapping[str, Any]) -> None:  # noqa: D102
        super().restore(state)
        self.before = np.array(state["before"])


class IndividualDependent(Model):
    """Differential evolution whose F and CR follow the ranks, in two stages.

    x_o + F_o (x_r1 - x_o + x_r2 - x'_r3) with F_o ~ N(rank of o / NP, 0.1) and
    CR ~ N(rank of i / NP, 0.1), both redrawn until in (0, 1]. In the first stage o is i; in the
    second it is drawn, and with probability 1/2 x_i takes the place of the first x_o. It begins
    after half of the generations, or once a tenth of them in a row had no survivor. After a share t
    of them the best ps = 0.1 + 0.9·10^(5(t - 1)) of the population are superior: where neither o
    nor r1 is, r1 becomes one that is. Each coordinate of x'_r3 is drawn anew from the box with
    probability ps/10.

    Tang, Dong and Liu (2015), IDE; as part of EA4eig: Bujok and Kolenovsky (2022). Coordinates
    outside the box are drawn anew, unless crossover is by eigenvectors.
    """

    learns: ClassVar[bool] = True

    def __init__(
        self, population: "Population", rng: np.random.Generator, generations: int
    ) -> None:
        super().__init__(population, rng, generations)
        self.generation, self.idle = 0, 0
        self.switch = self.generations // 2  # the last generation of the first stage
        self._no_rates = np.zeros(0)

    def propose(self, batch: "Batch", mine: Array, rotated: bool, samples: Array) -> None:  # noqa: D102
        population, shape = self.population, (len(mine), samples.shape[1])
        share = 0.1 + 0.9 * 10.0 ** (5.0 * (min(1.0, self.generation / self.generations) - 1.0))
        CR = self._no_rates if rotated else batch.CR
        _mutate_by_rank(
            population.rows, population.order, batch.parents, mine, batch.uniforms,
            int(share * population.NP), self.generation > self.switch, self.rng.random(shape),
            0.1 * share, _parts_within(population.NP), population.low, population.high, CR, samples,
        )  # fmt: skip

    def learn(self, points: Array, values: Array, survived: Array, evaluations: int) -> None:  # noqa: D102
        if self.generation < self.switch:
            self.idle = 0 if np.count_nonzero(survived) else self.idle + 1
            if self.idle >= self.generations / 10:
                self.switch = self.generation
        self.generation += 1

    def state(self) -> dict[str, Any]:  # noqa: D102
        return {"counts": np.array([self.generation, self.idle, self.switch])}

    def restore(self, state: Mapping[str, Any]) -> None:  # noqa: D102
        self.generation, self.idle, self.switch = (int(v) for v in state["counts"])


class Tournament(Model):
    """x_t1 + F (x_t2 - x_t3), each of the three the better of two parents drawn at random.

    The smaller of two uniform ranks is below k with probability 1 - (1 - k/NP)². One that another
    has already becomes the next in rank. LaTorre, Muelas and Peña (2010), MOS.
    """

    def propose(self, batch: "Batch", mine: Array, rotated: bool, samples: Array) -> None:  # noqa: D102
        population = self.population
        uniforms = self.rng.random((3, len(mine)))
        _mutate_winners(population.rows, population.order, uniforms, batch.F, mine, samples)


# The standard deviation of F and CR in IDE.
_DEVIATION = 0.1


@lru_cache(maxsize=256)
def _parts_within(NP: int) -> Array:
    """The part in (0, 1] of each of IDE's normal distributions, with means 1/NP .. 1.

    The first column has the probability below 0, the second that of the interval.
    """
    parts = np.empty((NP, 2))
    for k in range(NP):
        mean = (k + 1) / NP
        below, above = (0.5 * math.erfc(d / (_DEVIATION * math.sqrt(2))) for d in (mean, 1 - mean))
        parts[k] = below, 1.0 - above - below
    return parts


@njit
def within_unit(rank: int, parts: Array, u: float) -> float:
    """A normal value with mean rank / NP, redrawn until it is in (0, 1], by a uniform u in [0, 1).

    Redrawing leaves the part of the distribution that is in the interval.
    """
    value = (rank + 1) / len(parts) + _DEVIATION * standard_normal(
        parts[rank, 0] + (1.0 - u) * parts[rank, 1]
    )
    return min(max(value, np.finfo(np.float64).tiny), 1.0)  # rounding may step outside


@njit
def _bring_halfway(points: Array, mine: Array, before: Array, low: Array, high: Array) -> None:
    """Bring coordinates outside the box halfway from `before` to the bound."""
    for i in mine:
        for j in range(points.shape[1]):
            if points[i, j] < low[j]:
                points[i, j] = (before[i, j] + low[j]) / 2.0
            if points[i, j] > high[j]:
                points[i, j] = (before[i, j] + high[j]) / 2.0


@njit
def _mutate_by_rank(
    X: Array,
    order: Array,
    parents: Array,
    mine: Array,
    uniforms: Array,
    superior: int,
    second: bool,
    noise: Array,
    noisy: float,
    parts: Array,
    low: Array,
    high: Array,
    CR: Array,
    mutants: Array,
) -> None:
    """Write the mutants of IDE and, unless that is empty, their CR.

    o, r1, r2 and r3 are distinct and not the parent i; in the first stage, o is i. One of the best
    `superior` becomes r1 where neither it nor o is. A coordinate of x_r3 whose `noise` is below
    `noisy` is drawn anew, by the same number. With CR, coordinates outside the box are drawn anew:
    noise plus another number of the offspring, modulo 1, does not depend on the noise.
    """
    NP = len(order)
    rank, others, drawn = np.empty(NP, np.int64), np.empty(5, np.int64), np.empty(4, np.int64)
    for k in range(NP):
        rank[order[k]] = k
    for m in range(len(mine)):
        row = mine[m]
        i = parents[row]
        distinct(i, NP, uniforms, row, 4, others, drawn, 0)
        o, r1, r2, r3 = drawn[0], drawn[1], drawn[2], drawn[3]
        used = int(rank[i] < superior)
        for k in range(4):
            used += int(rank[drawn[k]] < superior)
        if not second:
            o = i
        if rank[o] >= superior and rank[r1] >= superior:
            # One of the first, as many as are not taken: so the authors' program does.
            r1 = order[int(uniforms[row, at.R + 4] * max(superior - used, 1))]
        base = i if second and uniforms[row, at.PBEST] < 0.5 else o
        F = within_unit(rank[o], parts, uniforms[row, at.F])
        outside = False
        # No branches, so that the compiler makes vector instructions of it.
        for j in range(len(low)):
            anew = low[j] + noise[m, j] / noisy * (high[j] - low[j])
            other = anew if noise[m, j] < noisy else X[r3, j]
            v = X[base, j] + F * (X[r1, j] - X[o, j]) + F * (X[r2, j] - other)
            outside |= (v < low[j]) | (v > high[j])
            mutants[row, j] = v
        if len(CR) > 0:
            CR[row] = within_unit(rank[i], parts, uniforms[row, at.CR])
            if outside:
                for j in range(len(low)):
                    if mutants[row, j] < low[j] or mutants[row, j] > high[j]:
                        u = (noise[m, j] + uniforms[row, at.MEMORY]) % 1.0
                        mutants[row, j] = low[j] + u * (high[j] - low[j])


@njit
def _mutate_winners(
    X: Array, order: Array, uniforms: Array, F: Array, mine: Array, mutants: Array
) -> None:
    """Write mutants of three winners of tournaments each."""
    NP, D = len(order), X.shape[1]
    for m in range(len(mine)):
        one = int(NP * (1.0 - np.sqrt(1.0 - uniforms[0, m])))
        two = int(NP * (1.0 - np.sqrt(1.0 - uniforms[1, m])))
        three = int(NP * (1.0 - np.sqrt(1.0 - uniforms[2, m])))
        if two == one:
            two = (two + 1) % NP
        for _ in range(2):
            if three in (one, two):
                three = (three + 1) % NP
        i, first, plus, minus = mine[m], order[one], order[two], order[three]
        for j in range(D):
            mutants[i, j] = X[first, j] + F[i] * (X[plus, j] - X[minus, j])


def eigenvectors(rows: Array, order: Array) -> Array | None:
    """The axes of the points with these places, as rows; None if numbers are too large."""
    points = np.empty((len(order), rows.shape[1]))
    _center(rows, order, points)
    matrix: Array = points.T @ points
    if not _scale(matrix, 1.0 / (len(points) - 1)):
        return None
    return np.ascontiguousarray(np.linalg.eigh(matrix)[1].T)


@njit
def _center(rows: Array, order: Array, points: Array) -> None:
    """Write the points with these places as seen from their mean."""
    n, D = points.shape
    mean = np.zeros(D)
    for k in range(n):
        for j in range(D):
            mean[j] += rows[order[k], j]
    for j in range(D):
        mean[j] /= n
    for k in range(n):
        for j in range(D):
            points[k, j] = rows[order[k], j] - mean[j]


@njit
def _scale(matrix: Array, factor: float) -> bool:
    """Multiply a matrix; return whether it is finite then."""
    finite = True
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            matrix[i, j] *= factor
            finite &= np.isfinite(matrix[i, j])
    return finite


#: The models by name.
MODELS: dict[str, type[Model]] = {
    "CMA-ES of the population": PopulationModel,
    "CMA-ES": SampleModel,
    "IDE": IndividualDependent,
    "tournament": Tournament,
}
