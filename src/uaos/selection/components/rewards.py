"""Rewards: how well has each operator done recently? Larger is better.

Notation: `s[t,op]` successes, `n[t,op]` applications (successes and failures), `S[t,op]` sum and
`B[t,op]` maximum of the metric over the successes of op in the t-th last generation, where
t = 0 is the one just evaluated; sums over t run over the last `T = min(max_gen, generations so
far)`. A quotient whose denominator is 0 is 0 unless stated otherwise.

Three base classes say which memory a reward reads: :class:`GenerationReward` (the last `max_gen`
generations), :class:`SuccessReward` (each operator's last `fix_appl` successes) and
:class:`WindowReward` (the last `W` successes of all operators).
"""

import math
from abc import abstractmethod
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from uaos.arrays import BoolArray, FloatArray, IntArray
from uaos.jit import njit
from uaos.params import choice, integer, parameters, real
from uaos.selection.components.base import Component, ratio, register_component, saturate

if TYPE_CHECKING:
    from uaos.selection.memory import (
        BestMemory,
        CountMemory,
        GenerationMemory,
        StateMemory,
        SuccessMemory,
        WindowMemory,
    )


def generations_parameter(default: int = 10) -> int:
    """Declare `max_gen`."""
    max_gen: int = integer(
        1, 50, default=default, allowed=(1, 10_000), doc="number of past generations used"
    )
    return max_gen


def successes_parameter() -> int:
    """Declare `fix_appl`; the paper prints 10 to 50, yet one of its tuned values is 66."""
    fix_appl: int = integer(
        10, 150, default=50, allowed=(1, 100_000), doc="number of successes of each operator"
    )
    return fix_appl


def window_parameter() -> int:
    """Declare `W`."""
    W: int = integer(20, 150, default=50, allowed=(1, 100_000), doc="size of the window")
    return W


def rank_decay_parameter(default: float = 0.4) -> float:
    """Declare `D`."""
    D: float = real(0, 1, default=default, symbol="D", doc="decay factor of the ranks")
    return D


class Reward(Component):
    """Base of the rewards: one value per operator, computed from a memory."""

    family: ClassVar[str] = "reward"
    #: Which memory the reward reads: "generations", "successes", "window", "bests", "tally" or
    #: "states".
    memory: ClassVar[str] = ""
    #: The name of the parameter that sets the size of the memory.
    extent: ClassVar[str] = ""
    #: Whether N of the upper confidence bound counts failed applications too.
    counts_failures: ClassVar[bool] = False

    @abstractmethod
    def compute(self, memory: Any) -> FloatArray:
        """Return the K rewards, before scaling."""


class GenerationReward(Reward):
    """Base of the rewards over the last `max_gen` generations.

    Examples
    --------
    >>> import numpy as np
    >>> import uaos
    >>> @uaos.register
    ... class MeanGain(uaos.GenerationReward):
    ...     max_gen: int = uaos.integer(1, 50, default=5, doc="number of generations")
    ...
    ...     def compute(self, memory):
    ...         return memory.sums.sum(axis=0) / np.maximum(memory.applications.sum(axis=0), 1)
    """

    memory: ClassVar[str] = "generations"
    extent: ClassVar[str] = "max_gen"
    max_gen = 1

    @cached_property
    def values(self) -> tuple[float, ...]:
        """Return the parameters as a kernel takes them, without `max_gen`."""
        names = (name for name in parameters(self) if name != self.extent)
        return tuple(float(getattr(self, name)) for name in names)

    @abstractmethod
    def compute(self, memory: "GenerationMemory") -> FloatArray:
        """Return the K rewards from the generations, newest first.

        A kernel takes the memory's successes, applications, sums and bests, and the parameters.
        """
        assert self.kernel is not None
        return self.kernel(*memory.table, *self.values)


class SuccessReward(Reward):
    """Base of the rewards over each operator's last `fix_appl` successes.

    Examples
    --------
    >>> import uaos
    >>> @uaos.register
    ... class BestSuccess(uaos.SuccessReward):
    ...     fix_appl: int = uaos.integer(1, 100, default=20, doc="successes of each operator")
    ...
    ...     def compute(self, memory):
    ...         return memory.metrics.max(axis=1)
    """

    memory: ClassVar[str] = "successes"
    extent: ClassVar[str] = "fix_appl"
    fix_appl = 50

    @abstractmethod
    def compute(self, memory: "SuccessMemory") -> FloatArray:
        """Return the K rewards from each operator's successes."""


class WindowReward(Reward):
    """Base of the rewards over the window of the last `W` successes of all operators.

    Examples
    --------
    >>> import uaos
    >>> @uaos.register
    ... class ShareOfWindow(uaos.WindowReward):
    ...     W: int = uaos.integer(10, 200, default=50, doc="length of the window")
    ...
    ...     def compute(self, memory):
    ...         return memory.membership().sum(axis=1) / self.W
    """

    memory: ClassVar[str] = "window"
    extent: ClassVar[str] = "W"
    W = 50

    @abstractmethod
    def compute(self, memory: "WindowMemory") -> FloatArray:
        """Return the K rewards from the window."""


@njit
def column_sums(table: FloatArray) -> FloatArray:
    """Return the sum of each operator's column, in the order of the rows."""
    T, K = table.shape
    sums = np.zeros(K)
    for t in range(T):
        for op in range(K):
            sums[op] += table[t, op]
    return sums


@register_component
class SuccessRate(GenerationReward):
    """The share of applications that succeeded, generation by generation.

    ⚑ A generation in which the operator was not applied counts with n = 1, where the paper divides
    by 0, so that its share of all successes keeps it alive; the noise is added once.

    Equation
    --------
    r[op] = Σ_t (s[t,op]^power + frac · Σ_j s[t,j]) / n[t,op] + noise

    References
    ----------
    Qin, A. K., Huang, V. L. & Suganthan, P. N. (2009), "Differential evolution algorithm with
    strategy adaptation for global numerical optimization", IEEE Transactions on Evolutionary
    Computation 13(2); power 2: Niehaus, J. & Banzhaf, W. (2001), "Adaption of operator
    probabilities in genetic programming", EuroGP.
    """

    max_gen: int = generations_parameter()
    power: int = choice(1, 2, default=1, symbol="γ", doc="power of the successes")
    frac: float = real(0, 1, default=0.01, doc="share of all successes that each operator gets")
    noise: float = real(0, 1, default=0, symbol="ε", doc="added to every reward")

    @staticmethod
    @njit
    def kernel(
        successes: FloatArray,
        applications: FloatArray,
        sums: FloatArray,
        bests: FloatArray,
        power: float,
        frac: float,
        noise: float,
    ) -> FloatArray:
        T, K = successes.shape
        rewards = np.zeros(K)
        for t in range(T):
            all_successes = 0.0
            for op in range(K):
                all_successes += successes[t, op]
            for op in range(K):
                s = successes[t, op]
                credit = s * s if power == 2 else s
                rewards[op] += (credit + frac * all_successes) / max(1.0, applications[t, op])
        for op in range(K):
            rewards[op] += noise
        return rewards


@register_component
class ImmediateSuccess(GenerationReward):
    """The share of the last generation's offspring that are successes of the operator.

    NP is the number of offspring in that generation.

    Equation
    --------
    r[op] = s[0,op] / NP

    References
    ----------
    Sharma, M., López-Ibáñez, M. & Kazakov, D. (2018), "Performance assessment of recursive
    probability matching for adaptive operator selection in differential evolution", PPSN XV.
    """

    @staticmethod
    @njit
    def kernel(
        successes: FloatArray, applications: FloatArray, sums: FloatArray, bests: FloatArray
    ) -> FloatArray:
        K = successes.shape[1]
        NP = 0.0
        for op in range(K):
            NP += applications[0, op]
        rewards = np.empty(K)
        for op in range(K):
            rewards[op] = successes[0, op] / NP
        return rewards


@register_component
class SuccessSum(GenerationReward):
    """The mean metric of an application over the last generations.

    Equation
    --------
    r[op] = Σ_t S[t,op] / Σ_t n[t,op]

    References
    ----------
    Igel, C. & Kreutz, M. (2003), "Operator adaptation in evolutionary computation and its
    application to structure optimization of neural networks", Neurocomputing 55(1–2).
    """

    max_gen: int = generations_parameter()

    @staticmethod
    @njit
    def kernel(
        successes: FloatArray, applications: FloatArray, sums: FloatArray, bests: FloatArray
    ) -> FloatArray:
        T, K = sums.shape
        rewards = np.zeros(K)
        for op in range(K):
            total = applied = 0.0
            for t in range(T):
                total += sums[t, op]
                applied += applications[t, op]
            if applied > 0.0:
                rewards[op] = total / applied
        return rewards


@register_component
class ImprovementSum(GenerationReward):
    """The sum of the metric over the last generations, however often the operator was applied.

    Equation
    --------
    r[op] = Σ_t S[t,op]

    References
    ----------
    Mohamed, A. W., Hadi, A. A., Fattouh, A. M. & Jambi, K. M. (2017), "LSHADE with semi-parameter
    adaptation hybrid with CMA-ES for solving CEC 2017 benchmark problems", Congress on Evolutionary
    Computation.
    """

    printed: ClassVar[bool] = False

    max_gen: int = generations_parameter()

    @staticmethod
    @njit
    def kernel(
        successes: FloatArray, applications: FloatArray, sums: FloatArray, bests: FloatArray
    ) -> FloatArray:
        return column_sums(sums)


@register_component
class Consensus(GenerationReward):
    """The mean improvement if it ranks operators like their successes, otherwise the success count.

    The mean is over all applications: a lucky operator with few successes does not win by it.

    Equation
    --------
    m[op] = Σ_t S[t,op] / Σ_t n[t,op], c[op] = Σ_t s[t,op]
    r[op] = m[op] for all op, if (m[j] − m[k]) (c[j] − c[k]) > 0 for all j ≠ k, else r[op] = c[op]

    References
    ----------
    LaTorre, A., Muelas, S. & Peña, J. M. (2010), "Benchmarking a MOS-based algorithm on the
    BBOB-2010 noiseless function testbed", GECCO workshop.
    """

    printed: ClassVar[bool] = False

    max_gen: int = generations_parameter(default=1)

    def compute(self, memory: "GenerationMemory") -> FloatArray:
        means = SuccessSum.kernel(*memory.table)
        counts = column_sums(memory.successes)
        return means if _rank_alike(means, counts) else counts


@njit
def _rank_alike(first: FloatArray, second: FloatArray) -> bool:
    """Return whether both arrays rank the operators in the same order, without ties."""
    for j in range(len(first)):
        for k in range(j):
            up = first[j] > first[k] and second[j] > second[k]
            down = first[j] < first[k] and second[j] < second[k]
            if not (up or down):
                return False
    return True


@register_component
class GenerationSuccessSum(GenerationReward):
    """The mean metric of an application, generation by generation.

    Equation
    --------
    r[op] = Σ_t S[t,op] / n[t,op]

    References
    ----------
    Igel, C. & Kreutz, M. (1999), "Using fitness distributions to improve the evolution of learning
    structures", Congress on Evolutionary Computation.
    """

    max_gen: int = generations_parameter()

    def compute(self, memory: "GenerationMemory") -> FloatArray:
        means = ratio(memory.sums, memory.applications)
        return np.asarray(means.sum(axis=0))


@register_component
class FitnessRateRank(GenerationReward):
    """The operator's share of the recent gains, discounted by its rank.

    With one application in a generation, max_gen is the size of the sliding window of FRRMAB. N of
    the upper confidence bound counts applications, as there. Equal gains share the best rank.

    Equation
    --------
    R[op] = Σ_t S[t,op]
    r[op] = D^rank(op) R[op] / Σ_j D^rank(j) R[j], rank 0 being that of the largest R

    References
    ----------
    Li, K., Fialho, Á., Kwong, S. & Zhang, Q. (2014), "Adaptive operator selection with bandits for
    a multiobjective evolutionary algorithm based on decomposition", IEEE Transactions on
    Evolutionary Computation 18(1).
    """

    searched: ClassVar[bool] = False
    printed: ClassVar[bool] = False
    counts_failures: ClassVar[bool] = True

    max_gen: int = generations_parameter(default=50)
    D: float = rank_decay_parameter(default=1.0)

    def compute(self, memory: "GenerationMemory") -> FloatArray:
        gained = memory.sums.sum(axis=0)
        rank = (gained[:, None] < gained).sum(axis=1)
        decayed = self.D**rank * gained
        return ratio(decayed, decayed.sum())


@register_component
class Best2Generations(GenerationReward):
    """How the best metric changed from the previous generation to this one.

    A factor of 0 in the denominator is replaced by 1. First generation: B[1] = 0, n[1] = 0.

    ⚑ Without a success B is 0, so that with `offspring_fitness`, which may be negative, an operator
    that failed can rank above one that succeeded. `elitist` excludes that: B[t,op] is then the best
    metric of op so far, as in an algorithm that never loses its best. Without
    a success, and for the first one, the reward is 0; for later ones it is at least 0.

    Equation
    --------
    r[op] = C (B[0,op] − B[1,op]) / (B[1,op]^α · |n[0,op] − n[1,op]|^β)

    References
    ----------
    Karafotias, G., Eiben, A. E. & Hoogendoorn, M. (2014), "Generic parameter control with
    reinforcement learning", GECCO.
    """

    C: float = real(0.001, 1, default=1, symbol="C", doc="scaling constant")
    alpha: int = choice(0, 1, default=0, symbol="α", doc="1: relative to the previous best")
    beta: int = choice(0, 1, default=1, symbol="β", doc="1: per change of applications")
    elitist: bool = choice(
        True, False, default=False, tuned=False, doc="whether B is the best of all generations"
    )
    max_gen = 2

    def compute(self, memory: "GenerationMemory") -> FloatArray:
        now, before = memory.bests[0], memory.bests[1]
        if self.elitist:  # -inf before an operator's first success
            now = np.where(np.isfinite(now), now, 0.0)
            before = np.where(np.isfinite(before), before, now)
        relative = before**self.alpha
        change = np.abs(memory.applications[0] - memory.applications[1]) ** self.beta
        gain = self.C * (now - before)
        rewards: FloatArray = gain / np.where(relative == 0, 1.0, relative)
        return rewards / np.where(change == 0, 1.0, change)


@register_component
class NormalisedBestSum(GenerationReward):
    """The mean of the best metrics of the last generations (extreme values).

    ⚑ Until the memory is full the sum is divided by T, not by max_gen as the paper prints.

    Equation
    --------
    r[op] = (1/T) Σ_t B[t,op]^ρ / (max_j Σ_t B[t,j])^α

    References
    ----------
    Fialho, Á., Schoenauer, M. & Sebag, M. (2009), "Analysis of adaptive operator selection
    techniques on the royal road and long k-path problems", GECCO.
    """

    max_gen: int = generations_parameter()
    rho: int = choice(1, 2, 3, default=1, symbol="ρ", doc="intensity")
    alpha: int = choice(0, 1, default=0, symbol="α", doc="1: relative to the best operator")

    def compute(self, memory: "GenerationMemory") -> FloatArray:
        largest = memory.bests.sum(axis=0).max() ** self.alpha
        mean = (memory.bests**self.rho).sum(axis=0) / memory.count
        return ratio(mean, largest)


@register_component
class ParetoDominance(SuccessReward):
    """How many operators it dominates in diversity and mean of its successes.

    Each operator is the point (std, mean) of its last fix_appl success metrics, both maximized. An
    operator without a success has no point: it gets reward 0 and is not compared.

    Equation
    --------
    PD(op) = #{j : op dominates j}
    r[op] = PD(op) / Σ_j PD(j)

    References
    ----------
    Maturana, J., Lardeux, F. & Saubion, F. (2010), "Autonomous operator management for evolutionary
    algorithms", Journal of Heuristics 16(6).
    """

    fix_appl: int = successes_parameter()

    def compute(self, memory: "SuccessMemory") -> FloatArray:
        wins, _ = _dominance_counts(*memory.points())
        return ratio(wins, wins.sum())


@njit
def _dominance_counts(
    std: FloatArray, mean: FloatArray, present: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Count how many operators each one dominates, and how many dominate it.

    The point (std, mean) of a dominates that of b if it is >= in both and > in one: diversity and
    mean of what an operator makes are both maximized (⚑ as the paper says; its authors' script
    minimizes the deviation).
    """
    K = len(std)
    wins, losses = np.zeros(K), np.zeros(K)
    for a in range(K):
        for b in range(K):
            at_least = std[a] >= std[b] and mean[a] >= mean[b]
            better = std[a] > std[b] or mean[a] > mean[b]
            if at_least and better and present[a] and present[b]:
                wins[a] += 1.0
                losses[b] += 1.0
    return wins, losses


@register_component
class ParetoRank(SuccessReward):
    """How few operators dominate it in diversity and mean of its successes.

    Points as in pareto_dominance; an operator without a point has reward 0. ⚑ The paper's PR / ΣPR
    rewards the dominated; it is subtracted from 1, so that larger is better.

    Equation
    --------
    PR(op) = #{j : j dominates op}
    r[op] = 1 − PR(op) / Σ_j PR(j)

    References
    ----------
    Maturana, J., Lardeux, F. & Saubion, F. (2010), "Autonomous operator management for evolutionary
    algorithms", Journal of Heuristics 16(6).
    """

    fix_appl: int = successes_parameter()

    def compute(self, memory: "SuccessMemory") -> FloatArray:
        _, losses = _dominance_counts(*memory.points())
        return np.where(memory.counts > 0, 1.0 - ratio(losses, losses.sum()), 0.0)


@register_component
class CompassProjection(SuccessReward):
    """Diversity and mean of its successes, projected on the direction θ.

    σ and μ are the operator's std and mean, each divided by its maximum over the operators; an
    operator without a success is the point (0, 0). ⚑ The division is that of the authors' script,
    not of the paper, whose minimum keeps the wrong index.

    Equation
    --------
    v[op] = hypot(σ, μ) · cos(atan2(μ, σ) − θ) = σ cos θ + μ sin θ
    r[op] = v[op] − min_j v[j]

    References
    ----------
    Maturana, J. & Saubion, F. (2008), "A compass to guide genetic algorithms", PPSN X.
    """

    fix_appl: int = successes_parameter()
    theta: int = choice(36, 45, 54, 90, default=45, symbol="θ", doc="direction, in degrees")

    def compute(self, memory: "SuccessMemory") -> FloatArray:
        std, mean, present = memory.points()
        angle = math.radians(self.theta)
        return _project(std, mean, present, math.cos(angle), math.sin(angle))


@njit
def _project(
    std: FloatArray, mean: FloatArray, present: BoolArray, cosine: float, sine: float
) -> FloatArray:
    K = len(std)
    most_diverse = best = -math.inf
    for op in range(K):
        most_diverse = max(most_diverse, std[op] if present[op] else 0.0)
        best = max(best, mean[op] if present[op] else 0.0)
    v = np.zeros(K)
    smallest = math.inf
    for op in range(K):
        if present[op]:
            x = saturate(std[op] / most_diverse) if most_diverse != 0.0 else 0.0
            y = saturate(mean[op] / best) if best != 0.0 else 0.0
            v[op] = x * cosine + y * sine
        smallest = min(smallest, v[op])
    for op in range(K):
        v[op] -= smallest
    return v


@register_component
class AreaUnderCurve(WindowReward):
    """Area under the operator's curve through the ranking of the window, best first.

    An entry of op raises y by its step, an entry of another operator adds y · step to the area and
    moves x by its step. Entries with equal metric share the mean of their steps and are walked
    along the diagonal. If x = 0 < y, the reward is 1; if y = 0, it is 0. ⚑ The paper
    has no formula; the area is divided by the rectangle x · y. D = 0 gives every rank the same
    step: 0^q would leave one entry.

    Equation
    --------
    step(q) = D^q (m − q), q = 0..m−1 the rank, m the number of entries; D = 0: step 1
    r[op] = area / (final x · final y)

    References
    ----------
    Fialho, Á., Schoenauer, M. & Sebag, M. (2010), "Toward comparison-based adaptive operator
    selection", GECCO.
    """

    W: int = window_parameter()
    D: float = rank_decay_parameter()

    def compute(self, memory: "WindowMemory") -> FloatArray:
        order = (-memory.metrics).argsort()
        weights = _rank_weights(self.D, self.W)
        size, K = int(memory.size), len(memory.labels)
        terms, heights = _curves(memory.operators, memory.metrics, size, order, weights, K)
        return _normalized_areas(terms.sum(axis=2), heights)


@lru_cache(maxsize=64)
def _rank_weights(D: float, W: int) -> FloatArray:
    """Return D^q of the ranks q = 0..W-1; an empty array for D = 0, where all ranks are equal."""
    return np.asarray(D ** np.arange(W), np.float64) if D > 0 else np.empty(0)


@njit
def _curves(
    operators: IntArray,
    metrics: FloatArray,
    size: int,
    order: IntArray,
    weights: FloatArray,
    K: int,
) -> tuple[FloatArray, FloatArray]:
    """Return the terms to sum (each operator's steps in x, and the areas below), and its final y.

    `order` ranks the entries, best first. `weights` are D^q, or none where every step is 1.
    """
    W = len(operators)
    below = np.zeros(W + 1)
    for q in range(W):
        step = 0.0
        if q < size:
            step = weights[q] * (size - q) if len(weights) > 0 else 1.0
        below[q + 1] = below[q] + step
    terms, heights = np.zeros((2, K, W)), np.zeros(K)
    y = np.zeros(W + 1)
    for op in range(K):
        first = 0
        while first < W:
            # Equal metrics stand side by side, from `first` to before `last`: they share steps.
            last = first + 1
            while last < W and metrics[order[last]] == metrics[order[first]]:
                last += 1
            step = (below[last] - below[first]) / (last - first)
            for q in range(first, last):
                mine = operators[order[q]] == op
                y[q + 1] = y[q] + step if mine else y[q]
                terms[0, op, q] = 0.0 if mine else step
            # Along the diagonal of a tie the mean height is that of its two ends.
            for q in range(first, last):
                terms[1, op, q] = terms[0, op, q] * (y[first] + y[last])
            first = last
        heights[op] = y[W]
    return terms, heights


@njit
def _normalized_areas(sums: FloatArray, heights: FloatArray) -> FloatArray:
    K = len(heights)
    rewards = np.zeros(K)
    for op in range(K):
        x, area, y = sums[0, op], sums[1, op] / 2.0, heights[op]
        if y > 0.0:
            rewards[op] = area / x / y if x > 0.0 else 1.0
    return rewards


@register_component
class SumOfRanks(WindowReward):
    """The operator's share of the rank weights in the window.

    Ties get the smallest rank of the tie. D = 0 gives every rank the weight 0, hence every operator
    the reward 0.

    Equation
    --------
    r[op] = Σ_{op's entries} D^q (W − q) / Σ_{all entries} D^q (W − q), q = 1..m the rank

    References
    ----------
    Fialho, Á., Schoenauer, M. & Sebag, M. (2010), "Toward comparison-based adaptive operator
    selection", GECCO.
    """

    W: int = window_parameter()
    D: float = rank_decay_parameter()

    def compute(self, memory: "WindowMemory") -> FloatArray:
        negated = -memory.metrics  # so that the largest metric comes first
        rank = np.searchsorted(np.sort(negated), negated, side="left") + 1.0
        weight = self.D**rank * (self.W - rank)
        per_operator = np.where(memory.membership(), weight, 0.0).sum(axis=1)
        return ratio(per_operator, per_operator.sum())


@register_component
class WindowSuccessSum(WindowReward):
    """The mean metric of the operator's entries in the window.

    Equation
    --------
    r[op] = mean of op's metrics; normalise = 1: divided by the largest such mean

    References
    ----------
    Fialho, Á., Schoenauer, M. & Sebag, M. (2009), "Analysis of adaptive operator selection
    techniques on the royal road and long k-path problems", GECCO.
    """

    W: int = window_parameter()
    normalise: int = choice(0, 1, default=1, symbol="ω", doc="1: relative to the best operator")

    def compute(self, memory: "WindowMemory") -> FloatArray:
        entries = _entries(memory.operators, memory.metrics, len(memory.labels))
        return _means(entries.sum(axis=1), memory.operators, self.normalise == 1)


@njit
def _entries(operators: IntArray, metrics: FloatArray, K: int) -> FloatArray:
    """Return K rows: the metrics of each operator's entries in the window, 0 elsewhere."""
    rows = np.zeros((K, len(operators)))
    for e in range(len(operators)):
        if operators[e] >= 0:
            rows[operators[e], e] = metrics[e]
    return rows


@njit
def _means(totals: FloatArray, operators: IntArray, normalise: bool) -> FloatArray:
    K = len(totals)
    counts = np.zeros(K)
    for op in operators:
        if op >= 0:
            counts[op] += 1.0
    largest = -math.inf
    means = np.zeros(K)
    for op in range(K):
        if counts[op] > 0.0:
            means[op] = totals[op] / counts[op]
        largest = max(largest, means[op])
    if normalise:
        for op in range(K):
            means[op] = means[op] / largest if largest != 0.0 else 0.0
    return means


@register_component
class Leader(Reward):
    """1 for the operator whose own best fitness so far is below that of every other.

    Meant for selecting among optimizers. "So far" is the life of the selector, starting from the
    best values it is given (:meth:`uaos.Method.selector`). Equal bests, or no value yet: all 0.

    Equation
    --------
    r[op] = 1 if best[op] < min_{j ≠ op} best[j], else 0

    References
    ----------
    this package; it is not part of the framework's paper.
    """

    memory: ClassVar[str] = "bests"
    searched: ClassVar[bool] = False
    printed: ClassVar[bool] = False

    def compute(self, memory: "BestMemory") -> FloatArray:
        return leader(memory.values)


@njit
def leader(bests: FloatArray) -> FloatArray:
    """Compute the equation of :class:`Leader`."""
    first = 0
    for op in range(1, len(bests)):
        if bests[op] < bests[first]:
            first = op
    rewards = np.zeros(len(bests))
    rewards[first] = 1.0
    for op in range(len(bests)):
        if op != first and bests[op] == bests[first]:
            rewards[first] = 0.0
    return rewards


@register_component
class SuccessCount(Reward):
    """The successes so far, counted from `start` again whenever an operator falls far behind.

    s[op] is the number of successes in the generation just evaluated; c starts as c[op] = start.

    Equation
    --------
    c[op] = start for all op, if min_j c[j] / Σ_j c[j] < least / K
    c[op] = c[op] + s[op]
    r[op] = c[op]

    References
    ----------
    Tvrdík, J. (2006), "Competitive differential evolution", MENDEL; as choice of an algorithm for a
    generation: Bujok, P. & Kolenovsky, P. (2022), "Eigen crossover in cooperative model of
    evolutionary algorithms applied to CEC 2022 single objective numerical optimisation", Congress
    on Evolutionary Computation.
    """

    memory: ClassVar[str] = "tally"
    printed: ClassVar[bool] = False

    start: float = real(
        1, 10, default=2, allowed=(1e-6, 1e6), symbol="n0", doc="initial count of every operator"
    )
    least: float = real(0, 1, default=0.2, symbol="δ", doc="minimum share, times 1/K")

    def compute(self, memory: "CountMemory") -> FloatArray:
        return memory.counts


@register_component
class StateValue(Reward):
    """The value of each operator in the present state of the search, learned from its metrics.

    A state is one of nine: the share of successes in the last generation is below 5 %, below 20 %
    or more; the last new best is of this generation, of the last ten, or older. m[op] is the sum of
    the metric over the successes of op, divided by its applications, in a generation that began in
    state s and led to state s'; n[s,op] is the number of such generations. Where n[s',op] = 0, the
    value learned in all states takes the place of Q[s',op]. It suits metrics without a
    scale, such as `parent_relative_improvement`.

    With γ = 0 it is a contextual bandit. With γ > 0 it is Q-learning, meant for methods that choose
    one operator per generation: all operators of a generation lead to the same state.

    Equation
    --------
    Q[s,op] = Q[s,op] + max(α, 1 / n[s,op]) (m[op] + γ max_j Q[s',j] − Q[s,op])
    r[op] = Q[s',op]

    References
    ----------
    Watkins, C. J. C. H. & Dayan, P. (1992), "Q-learning", Machine Learning 8; for operators of
    differential evolution: Sharma, M., Komninos, A., López-Ibáñez, M. & Kazakov, D. (2019), "Deep
    reinforcement learning based parameter control in differential evolution", GECCO.
    """

    memory: ClassVar[str] = "states"
    searched: ClassVar[bool] = False
    printed: ClassVar[bool] = False

    rate: float = real(
        0, 1, default=0.1, tuned=False, symbol="α", doc="minimum weight of a generation"
    )
    gamma: float = real(
        0, 1, default=0, allowed=(0, 1), open_high=True, tuned=False, symbol="γ",
        doc="weight of the next state",
    )  # fmt: skip

    def compute(self, memory: "StateMemory") -> FloatArray:
        return memory.estimates
