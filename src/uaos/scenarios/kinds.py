"""The scenarios of the literature, for any number of operators.

Operators have ranks, 0 for the best. In all scenarios the mean rewards of the ranks are
K, K − 1, …, 1 (with Cauchy noise, their medians); they differ in how much a single reward reveals
about its mean.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from uaos.arrays import FloatArray
from uaos.errors import InvalidParameter, UnknownName
from uaos.params import check_fields, integer

Ranks = NDArray[np.int16]

# The largest number of rewards in a repetition: steps times operators.
_LARGEST = 2_000_000


class World(NamedTuple):
    """The ranks and rewards that all methods of a comparison share."""

    ranks: Ranks
    """(repetitions, steps, K): the rank of each operator, 0 for the best."""
    rewards: FloatArray
    """(repetitions, steps, K): the reward that each operator would earn if applied."""


@dataclass(frozen=True)
class Scenario(ABC):
    """Simulate K operators whose ranks are permuted at random every ΔT steps.

    Each permutation changes the best operator, as in Thierens (2005). A custom scenario derives
    from this class and defines `rewards`, and `means` if they are not K, K − 1, …, 1.

    Raises
    ------
    InvalidParameter
        If a number is out of range.

    Examples
    --------
    >>> from uaos.scenarios import Scenario
    >>> class Noisy(Scenario):
    ...     def rewards(self, ranks, rng):
    ...         return self.means[ranks] + rng.normal(size=ranks.shape)
    >>> Noisy(operators=3, every=100, steps=300).changes
    range(100, 300, 100)
    """

    name: ClassVar[str] = "custom"

    operators: int = integer(2, 1000, default=5, symbol="K", doc="number of operators")
    every: int = integer(1, _LARGEST, default=50, symbol="ΔT", doc="steps between two changes")
    steps: int = integer(1, _LARGEST, default=500, doc="applications in a repetition")

    def __post_init__(self) -> None:
        owner = f"the {self.name} scenario"
        check_fields(self, owner)
        if self.steps * self.operators > _LARGEST:
            raise InvalidParameter(
                f"{owner} has {self.steps:,} steps; with {self.operators} operators at most "
                f"{_LARGEST // self.operators:,} are possible",
                name="steps", value=self.steps, owner=owner,
            )  # fmt: skip

    @property
    def means(self) -> FloatArray:
        """Return the mean reward of each rank, best first."""
        return np.arange(self.operators, 0, -1, dtype=np.float64)

    @property
    def changes(self) -> range:
        """Return the steps at which the ranks change."""
        return range(self.every, self.steps, self.every)

    @abstractmethod
    def rewards(self, ranks: Ranks, rng: np.random.Generator) -> FloatArray:
        """Draw a reward for each entry of an array of ranks."""

    def draw(self, repetitions: int, rng: np.random.Generator) -> World:
        """Draw the ranks and rewards of a number of repetitions."""
        k, phases = self.operators, 1 + len(self.changes)
        # The next best operator is 1 to K − 1 places further (modulo K), so never the same one.
        moves = rng.integers(1, k, size=(repetitions, phases))
        moves[:, 0] = rng.integers(k, size=repetitions)
        best = moves.cumsum(axis=1) % k
        # The others follow in random order.
        keys = rng.random((repetitions, phases, k))
        np.put_along_axis(keys, best[..., None], -1.0, axis=2)
        phase_ranks = keys.argsort(axis=2).argsort(axis=2).astype(np.int16)
        ranks = phase_ranks.repeat(self.every, axis=1)[:, : self.steps]
        return World(ranks, self.rewards(ranks, rng))


class UniformScenario(Scenario):
    """Draw rewards uniformly from overlapping intervals: [K−1, K+1], [K−2, K], …, [0, 2].

    With five operators: [4, 6], [3, 5], [2, 4], [1, 3], [0, 2]. Nearly every reward helps to
    distinguish neighboring ranks, and none is a failure.

    Reference: Thierens, D. (2005), "An adaptive pursuit strategy for allocating operator
    probabilities", GECCO.

    Examples
    --------
    >>> from uaos.scenarios import UniformScenario
    >>> UniformScenario(operators=3).means
    array([3., 2., 1.])
    """

    name: ClassVar[str] = "uniform"

    def rewards(self, ranks: Ranks, rng: np.random.Generator) -> FloatArray:  # noqa: D102 (see base)
        return self.means[ranks] - 1.0 + 2.0 * rng.random(ranks.shape)


class BooleanScenario(Scenario):
    """Draw a reward of 2K with probability 1/2, (K−1)/2K, …, 1/2K, otherwise a failure.

    With five operators: 10 with probability 0.5, 0.4, 0.3, 0.2, 0.1. The means are those of the
    uniform scenario; all successes are equal, so only their frequency distinguishes operators.

    Reference: Da Costa, L., Fialho, Á., Schoenauer, M. & Sebag, M. (2008), "Adaptive operator
    selection with dynamic multi-armed bandits", GECCO; Fialho, Á., Da Costa, L., Schoenauer, M. &
    Sebag, M. (2010), "Analyzing bandit-based adaptive operator selection mechanisms", Annals of
    Mathematics and Artificial Intelligence 60.

    Examples
    --------
    >>> import numpy as np
    >>> from uaos.scenarios import BooleanScenario
    >>> BooleanScenario(operators=5).rewards(np.array([0, 0, 0, 4]), np.random.default_rng(1))
    array([ 0.,  0., 10.,  0.])
    """

    name: ClassVar[str] = "boolean"

    def rewards(self, ranks: Ranks, rng: np.random.Generator) -> FloatArray:  # noqa: D102
        size = 2.0 * self.operators
        return np.where(rng.random(ranks.shape) < self.means[ranks] / size, size, 0.0)


class OutlierScenario(Scenario):
    """Draw 10K, 10(K−1), …, 10 with probability 0.1, otherwise a failure.

    With five operators: 50, 40, 30, 20, 10. The means are those of the uniform scenario; most
    applications reveal nothing; only the size of the rare successes distinguishes operators. (The
    numbers are our choice, so that the means agree.) Reference: as for :class:`BooleanScenario`.

    Examples
    --------
    >>> import numpy as np
    >>> from uaos.scenarios import OutlierScenario
    >>> scenario = OutlierScenario(operators=5)
    >>> float(scenario.rewards(np.zeros(20, int), np.random.default_rng(1)).max())
    50.0
    """

    name: ClassVar[str] = "outlier"
    chance: ClassVar[float] = 0.1

    def rewards(self, ranks: Ranks, rng: np.random.Generator) -> FloatArray:  # noqa: D102
        rare = rng.random(ranks.shape) < self.chance
        return np.where(rare, self.means[ranks] / self.chance, 0.0)


class NoisyScenario(UniformScenario):
    """Add normal noise to the rewards of the uniform scenario, with a deviation of K/2.

    With five operators the noise of a single reward is more than twice the difference between
    neighboring ranks, and rewards below 0 look like failures. Such noise
    arises when an improvement is the difference of two noisy values.

    Examples
    --------
    >>> import numpy as np
    >>> from uaos.scenarios import NoisyScenario
    >>> scenario = NoisyScenario(operators=5)
    >>> bool(scenario.rewards(np.full(20, 4), np.random.default_rng(1)).min() < 0)
    True
    """

    name: ClassVar[str] = "noisy"

    def rewards(self, ranks: Ranks, rng: np.random.Generator) -> FloatArray:  # noqa: D102
        noise = 0.5 * self.operators * rng.standard_normal(ranks.shape)
        return super().rewards(ranks, rng) + noise


class CauchyScenario(UniformScenario):
    """Add Cauchy noise to one in five rewards of the uniform scenario.

    Its scale is 1, and single values are off by hundreds, so that they dominate a sum or a maximum
    of rewards.

    Examples
    --------
    >>> import numpy as np
    >>> from uaos.scenarios import CauchyScenario
    >>> bool(CauchyScenario().rewards(np.zeros(999, int), np.random.default_rng(1)).max() > 20)
    True
    """

    name: ClassVar[str] = "cauchy"
    chance: ClassVar[float] = 0.2

    def rewards(self, ranks: Ranks, rng: np.random.Generator) -> FloatArray:  # noqa: D102
        affected = rng.random(ranks.shape) < self.chance
        noise = rng.standard_cauchy(ranks.shape)
        return super().rewards(ranks, rng) + np.where(affected, noise, 0.0)


#: The scenarios by name.
KINDS: dict[str, type[Scenario]] = {
    kind.name: kind
    for kind in (UniformScenario, BooleanScenario, OutlierScenario, NoisyScenario, CauchyScenario)
}


def make_scenario(kind: str, *, operators: int = 5, every: int = 50, steps: int = 500) -> Scenario:
    """Return a scenario of a kind given by its name.

    Parameters
    ----------
    kind : {"uniform", "boolean", "outlier", "noisy", "cauchy"}
    operators, every, steps : int
        Its settings; see :class:`Scenario`.

    Returns
    -------
    Scenario

    Raises
    ------
    UnknownName
        If there is no such kind.

    Examples
    --------
    >>> from uaos.scenarios import make_scenario
    >>> make_scenario("uniform", operators=3).means
    array([3., 2., 1.])
    """
    if kind not in KINDS:
        raise UnknownName("scenario", kind, KINDS)
    return KINDS[kind](operators=operators, every=every, steps=steps)
