"""Models that make mutants: what x_sample of a strategy is.

A model lives as long as the population it works on. It makes mutants for some of the offspring of a
generation, and hears of them and of the survivors.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from uaos.jit import njit
from uaos.optimizers.base import Array
from uaos.optimizers.de.mutation import distinct
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

    x_o + F_o (x_r1 - x_o + x_r2 - x'_r3) with F_o ~ N(rank of o / NP, 0.1), redrawn until in
    (0, 1], and CR ~ N(rank of i / NP, 0.1), redrawn until in [0, 1]. In the first stage o is i; in
    the second it is drawn, and with probability 1/2 x_i takes the place of the first x_o. It begins
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

    def propose(self, batch: "Batch", mine: Array, rotated: bool, samples: Array) -> None:  # noqa: D102
        population, rng = self.population, self.rng
        low, high = population.low, population.high
        n, D = len(mine), len(low)
        share = 0.1 + 0.9 * 10.0 ** (5.0 * (min(1.0, self.generation / self.generations) - 1.0))
        second = self.generation > self.switch
        drawn, places = np.empty((n, 4), np.int64), np.empty((2, n))
        _cast_by_rank(
            population.order, batch.parents, mine, int(share * population.NP), second,
            rng.random((n, 4)), rng.random(n), drawn, places,
        )  # fmt: skip
        F = _normal_between(places[0], rng, open_low=True)
        noise = rng.random((2, n, D))
        swaps = rng.random(n if second else 0)
        outside = _mutate_by_rank(
            population.rows, batch.parents, mine, drawn, F, noise, 0.1 * share, swaps, low, high,
            samples,
        )  # fmt: skip
        if rotated:
            return
        if outside:
            _draw_anew(samples, mine, rng.random((n, D)), low, high)
        batch.CR[mine] = _normal_between(places[1], rng)

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


def _normal_between(
    means: Array, rng: np.random.Generator, *, open_low: bool = False, scale: float = 0.1
) -> Array:
    """Normal numbers, redrawn until all are in [0, 1], or in (0, 1]."""
    values, places, count = np.empty(len(means)), np.arange(len(means)), len(means)
    while count:
        normal = rng.standard_normal(count)
        count = _draw_within_unit(means, scale, normal, open_low, places, values)
    return values


@njit
def _draw_within_unit(
    means: Array, scale: float, normal: Array, open_low: bool, places: Array, values: Array
) -> int:
    """Write values to the first of `places`; return how many of these are outside the interval.

    Their places come first then.
    """
    count = 0
    for k in range(len(normal)):
        i = places[k]
        values[i] = means[i] + scale * normal[k]
        if values[i] < 0.0 or values[i] > 1.0 or (open_low and values[i] == 0.0):
            places[count] = i
            count += 1
    return count


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
def _cast_by_rank(
    order: Array,
    parents: Array,
    mine: Array,
    superior: int,
    second: bool,
    uniforms: Array,
    choices: Array,
    drawn: Array,
    places: Array,
) -> None:
    """Draw o, r1, r2 and r3, distinct and not the parent i; in the first stage, o is i.

    One of the best `superior` is r1 where neither it nor o is. `places` becomes rank / NP of o and
    of i.
    """
    NP = len(order)
    rank, others = np.empty(NP, np.int64), np.empty(5, np.int64)
    for k in range(NP):
        rank[order[k]] = k
    for m in range(len(mine)):
        i = parents[mine[m]]
        distinct(i, NP, uniforms, m, 4, others, drawn[m], 0)
        used = int(rank[i] < superior)
        for k in range(4):
            used += int(rank[drawn[m, k]] < superior)
        if not second:
            drawn[m, 0] = i
        o, r1 = drawn[m, 0], drawn[m, 1]
        if rank[o] >= superior and rank[r1] >= superior:
            # One of the first, as many as are not taken: so the authors' program does.
            drawn[m, 1] = order[int(choices[m] * max(superior - used, 1))]
        places[0, m] = (rank[o] + 1) / NP
        places[1, m] = (rank[i] + 1) / NP


@njit
def _mutate_by_rank(
    X: Array,
    parents: Array,
    mine: Array,
    drawn: Array,
    F: Array,
    noise: Array,
    noisy: float,
    swaps: Array,
    low: Array,
    high: Array,
    mutants: Array,
) -> bool:
    """Write the mutants of IDE; return whether a coordinate is outside the box.

    Coordinates of x_r3 whose second `noise` is below `noisy` are drawn anew by the first; x_i is
    the base where `swaps` is below 1/2, if there are any.
    """
    outside = False
    for m in range(len(mine)):
        o, r1, r2, r3 = drawn[m, 0], drawn[m, 1], drawn[m, 2], drawn[m, 3]
        base = parents[mine[m]] if len(swaps) > 0 and swaps[m] < 0.5 else o
        for j in range(len(low)):
            other = X[r3, j]
            if noise[1, m, j] < noisy:
                other = low[j] + noise[0, m, j] * (high[j] - low[j])
            v = X[base, j] + F[m] * (X[r1, j] - X[o, j]) + F[m] * (X[r2, j] - other)
            outside |= v < low[j] or v > high[j]
            mutants[mine[m], j] = v
    return outside


@njit
def _draw_anew(points: Array, mine: Array, uniforms: Array, low: Array, high: Array) -> None:
    """Draw coordinates outside the box anew."""
    for m in range(len(mine)):
        i = mine[m]
        for j in range(len(low)):
            if points[i, j] < low[j] or points[i, j] > high[j]:
                points[i, j] = low[j] + uniforms[m, j] * (high[j] - low[j])


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
