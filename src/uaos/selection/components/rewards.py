"""Rewards: how well has each operator done lately? Larger is better.

Notation: `s[t,op]` successes, `n[t,op]` applications (successes and failures), `S[t,op]` sum and
`B[t,op]` maximum of the metric over the successes of op in the t-th last generation, t = 0 being
the one just evaluated; sums over t run over the last `T = min(max_gen, generations so far)`. A
quotient whose denominator is 0 is 0 unless said otherwise.

Three base classes say which memory a reward reads: :class:`GenerationReward` (the last `max_gen`
generations), :class:`SuccessReward` (each operator's last `fix_appl` successes) and
:class:`WindowReward` (the last `W` successes of all operators). Those of the second and third kind
stand in :mod:`uaos.selection.components.rewards_ranked`.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from uaos.params import choice, integer, real
from uaos.selection.components.base import Array, Component, Namespace, ratio
from uaos.selection.components.registry import register
from uaos.selection.components.views import Bests, Generations, Successes, Window


def generations_parameter(default: int = 10) -> Any:
    """Declare `max_gen`."""
    return integer(
        1, 50, default=default, allowed=(1, 10_000), doc="how many generations are looked at"
    )


class Reward(Component):
    """A reward computes one value an operator from what its memory holds."""

    family: ClassVar[str] = "reward"
    #: Which memory the reward reads: "generations", "successes", "window" or "bests".
    memory: ClassVar[str] = ""

    @property
    def capacity(self) -> int:
        """How much of its memory the reward looks at."""
        raise NotImplementedError

    @abstractmethod
    def compute(self, memory: Any, xp: Namespace) -> Array:
        """The K rewards, before scaling."""


class GenerationReward(Reward):
    """Base of the rewards over the last `max_gen` generations."""

    memory: ClassVar[str] = "generations"
    max_gen = 1

    @property
    def capacity(self) -> int:  # noqa: D102 (see Reward)
        return self.max_gen

    @abstractmethod
    def compute(self, memory: Generations, xp: Namespace) -> Array:
        """The K rewards from the generations, newest first."""


class SuccessReward(Reward):
    """Base of the rewards over each operator's last `fix_appl` successes."""

    memory: ClassVar[str] = "successes"
    fix_appl = 50

    @property
    def capacity(self) -> int:  # noqa: D102
        return self.fix_appl

    @abstractmethod
    def compute(self, memory: Successes, xp: Namespace) -> Array:
        """The K rewards from each operator's successes."""


class WindowReward(Reward):
    """Base of the rewards over the window of the last `W` successes of all operators."""

    memory: ClassVar[str] = "window"
    W = 50

    @property
    def capacity(self) -> int:  # noqa: D102
        return self.W

    @abstractmethod
    def compute(self, memory: Window, xp: Namespace) -> Array:
        """The K rewards from the window."""


def scaled(rewards: Array) -> Array:
    """The rewards mapped linearly onto [0, 1]; all equal: all 0."""
    low = rewards.min()
    span = rewards.max() - low
    return (rewards - low) / (span + (span == 0))


@register
@dataclass(frozen=True, repr=False)
class SuccessRate(GenerationReward):
    """The share of applications that succeeded, generation by generation.

    A generation in which the operator was not applied counts with n = 1, so that its share of
    everybody's successes keeps it alive; the noise is added once.

    Equation:
        r[op] = Σ_t (s[t,op]^power + frac · Σ_j s[t,j]) / n[t,op] + noise

    Reference: Qin, A. K., Huang, V. L. & Suganthan, P. N. (2009), "Differential evolution algorithm
    with strategy adaptation for global numerical optimization", IEEE Transactions on Evolutionary
    Computation 13(2); power 2: Niehaus, J. & Banzhaf, W. (2001), "Adaption of operator
    probabilities in genetic programming", EuroGP.
    """

    max_gen: int = generations_parameter()
    power: int = choice(1, 2, default=1, symbol="γ", doc="power of the successes")
    frac: float = real(0, 1, default=0.01, doc="share of everybody's successes given to each")
    noise: float = real(0, 1, default=0, symbol="ε", doc="added to every reward")

    def compute(self, memory: Generations, xp: Namespace) -> Array:  # noqa: D102 (see base)
        s = memory.successes
        everybody = s.sum(axis=1)[:, None]
        rates = (s**self.power + self.frac * everybody) / xp.maximum(1.0, memory.applications)
        return rates.sum(axis=0) + self.noise


@register
@dataclass(frozen=True, repr=False)
class ImmediateSuccess(GenerationReward):
    """The share of the last generation's offspring that are successes of the operator.

    NP is the number of offspring in that generation.

    Equation:
        r[op] = s[0,op] / NP

    Reference: Sharma, M., López-Ibáñez, M. & Kazakov, D. (2018), "Performance assessment of
    recursive probability matching for adaptive operator selection in differential evolution",
    PPSN XV.
    """

    def compute(self, memory: Generations, xp: Namespace) -> Array:  # noqa: D102
        return memory.successes[0] / memory.applications[0].sum()


@register
@dataclass(frozen=True, repr=False)
class SuccessSum(GenerationReward):
    """The mean metric of an application over the last generations.

    Equation:
        r[op] = Σ_t S[t,op] / Σ_t n[t,op]

    Reference: Igel, C. & Kreutz, M. (2003), "Operator adaptation in evolutionary computation and
    its application to structure optimization of neural networks", Neurocomputing 55(1–2).
    """

    max_gen: int = generations_parameter()

    def compute(self, memory: Generations, xp: Namespace) -> Array:  # noqa: D102
        return ratio(memory.sums.sum(axis=0), memory.applications.sum(axis=0), xp)


@register
@dataclass(frozen=True, repr=False)
class GenerationSuccessSum(GenerationReward):
    """The mean metric of an application, generation by generation.

    Equation:
        r[op] = Σ_t S[t,op] / n[t,op]

    Reference: Igel, C. & Kreutz, M. (1999), "Using fitness distributions to improve the evolution
    of learning structures", Congress on Evolutionary Computation.
    """

    max_gen: int = generations_parameter()

    def compute(self, memory: Generations, xp: Namespace) -> Array:  # noqa: D102
        return ratio(memory.sums, memory.applications, xp).sum(axis=0)


@register
@dataclass(frozen=True, repr=False)
class Best2Generations(GenerationReward):
    """How the best metric changed from the previous generation to this one.

    A factor of the denominator that is 0 is 1. First generation: B[1] = 0, n[1] = 0.

    Equation:
        r[op] = C (B[0,op] − B[1,op]) / (B[1,op]^α · |n[0,op] − n[1,op]|^β)

    Reference: Karafotias, G., Eiben, A. E. & Hoogendoorn, M. (2014), "Generic parameter control
    with reinforcement learning", GECCO.
    """

    C: float = real(0.001, 1, default=1, symbol="C", doc="scaling constant")
    alpha: int = choice(0, 1, default=0, symbol="α", doc="1: relative to the previous best")
    beta: int = choice(0, 1, default=1, symbol="β", doc="1: per change of applications")
    max_gen = 2

    def compute(self, memory: Generations, xp: Namespace) -> Array:  # noqa: D102
        now, before = memory.bests[0], memory.bests[1]
        relative = before**self.alpha
        change = xp.abs(memory.applications[0] - memory.applications[1]) ** self.beta
        gain = self.C * (now - before)
        return gain / xp.where(relative == 0, 1.0, relative) / xp.where(change == 0, 1.0, change)


@register
@dataclass(frozen=True, repr=False)
class Leader(Reward):
    """1 for the operator whose own best fitness so far is below that of every other.

    Meant for selecting among optimizers. "So far" is the life of the selector, starting from the
    best values it is given (:meth:`uaos.Method.selector`). Equal bests, or no value yet: all 0.

    Equation:
        r[op] = 1 if best[op] < min_{j ≠ op} best[j], else 0

    Reference: this package; it is not part of the framework's paper.
    """

    memory: ClassVar[str] = "bests"
    searched: ClassVar[bool] = False

    @property
    def capacity(self) -> int:  # noqa: D102
        return 1

    def compute(self, memory: Bests, xp: Namespace) -> Array:  # noqa: D102
        lowest = memory.values == memory.values.min()
        return 1.0 * (lowest & (lowest.sum() == 1))


@register
@dataclass(frozen=True, repr=False)
class NormalisedBestSum(GenerationReward):
    """The mean of the best metrics of the last generations (extreme values).

    Equation:
        r[op] = (1/T) Σ_t B[t,op]^ρ / (max_j Σ_t B[t,j])^α

    Reference: Fialho, Á., Schoenauer, M. & Sebag, M. (2009), "Analysis of adaptive operator
    selection techniques on the royal road and long k-path problems", GECCO.
    """

    max_gen: int = generations_parameter()
    rho: int = choice(1, 2, 3, default=1, symbol="ρ", doc="intensity")
    alpha: int = choice(0, 1, default=0, symbol="α", doc="1: relative to the best operator")

    def compute(self, memory: Generations, xp: Namespace) -> Array:  # noqa: D102
        largest = memory.bests.sum(axis=0).max() ** self.alpha
        mean = (memory.bests**self.rho).sum(axis=0) / memory.count
        return ratio(mean, largest, xp)
