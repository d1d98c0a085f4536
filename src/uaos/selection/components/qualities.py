"""Qualities: a running estimate of how good each operator is, from its rewards.

Whatever the component, normalization follows: negative values are shifted so that the smallest
is 0, and the qualities are divided by their sum (sum 0: 1/K each).
"""

import math
from abc import abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from uaos.arrays import FloatArray, IntArray
from uaos.jit import njit
from uaos.params import choice, real
from uaos.selection.components.base import Component, register_component, saturate


class Evidence(NamedTuple):
    """Arrays of length K. Passed to :meth:`uaos.Quality.compute`."""

    rewards: FloatArray
    """`r`: the rewards just computed (after scaling, if the method scales)."""
    previous_rewards: FloatArray
    """`r_old`: those of the generation before."""
    qualities: FloatArray
    """`q_old`: the qualities so far, non-negative with sum 1."""
    probabilities: FloatArray
    """`p`: the current probabilities."""
    observations: FloatArray | IntArray
    """`N`: the number of entries of the memory that the reward used."""


class Quality(Component):
    """Base of the qualities: one value for each operator, from the :class:`Evidence`.

    Examples
    --------
    >>> import uaos
    >>> @uaos.register
    ... class Halfway(uaos.Quality):
    ...     def compute(self, now):
    ...         return (now.rewards + now.qualities) / 2
    """

    family: ClassVar[str] = "quality"
    #: Whether the rule reads `observations`; counting them takes time, so say False if not.
    counts_observations: ClassVar[bool] = True

    @abstractmethod
    def compute(self, now: Evidence) -> FloatArray:
        """Return the K qualities, before normalization.

        A kernel takes the first four parts of the evidence, and the parameters.
        """
        assert self.kernel is not None
        return self.kernel(*now[:4], *self.values)


def reward_weight_parameter(default: float) -> float:
    """Declare `delta`."""
    delta: float = real(0, 1, default=default, symbol="δ", doc="weight of the new reward")
    return delta


@register_component
class WeightedSum(Quality):
    """An exponential moving average of the rewards.

    Equation
    --------
    q[op] = δ r[op] + (1 − δ) q_old[op]

    References
    ----------
    Thierens, D. (2005), "An adaptive pursuit strategy for allocating operator probabilities",
    GECCO.
    """

    counts_observations: ClassVar[bool] = False

    delta: float = reward_weight_parameter(default=0.6)

    @staticmethod
    @njit
    def kernel(
        rewards: FloatArray,
        _previous: FloatArray,
        old: FloatArray,
        _probabilities: FloatArray,
        delta: float,
    ) -> FloatArray:
        K = len(rewards)
        qualities = np.empty(K)
        for op in range(K):
            qualities[op] = delta * rewards[op] + (1.0 - delta) * old[op]
        return qualities


@register_component
class UpperConfidenceBound(Quality):
    """The reward plus a bonus for rarely observed operators.

    N counts what the reward used: window entries, the last fix_appl successes, or the
    successes (fitness_rate_rank: applications) of the last max_gen generations; 0 counts as 1.

    Equation
    --------
    q[op] = r[op] + C sqrt(log(Σ_j N[j]) / N[op])

    References
    ----------
    Fialho, Á., Da Costa, L., Schoenauer, M. & Sebag, M. (2008), "Extreme value based adaptive
    operator selection", PPSN X; the bound: Auer, P., Cesa-Bianchi, N. & Fischer, P. (2002),
    "Finite-time analysis of the multiarmed bandit problem", Machine Learning 47.
    """

    # The paper prints 0 to 1; its authors' irace scenario has a wider range.
    C: float = real(
        0.01, 100, default=0.5, allowed=(0, 1e6), log=True, symbol="C", doc="weight of the bonus"
    )

    def compute(self, now: Evidence) -> FloatArray:
        # NumPy's logarithm and that of the C library need not agree in the last bit.
        log = np.log(_all_observations(now.observations))
        return _upper_confidence_bound(now.rewards, now.observations, self.C, log)


@njit
def _all_observations(observations: FloatArray | IntArray) -> float:
    total = 0.0
    for count in observations:
        total += max(1.0, count)
    return total


@njit
def _upper_confidence_bound(
    rewards: FloatArray, observations: FloatArray | IntArray, C: float, log: float
) -> FloatArray:
    K = len(rewards)
    qualities = np.empty(K)
    for op in range(K):
        qualities[op] = rewards[op] + C * math.sqrt(log / max(1.0, observations[op]))
    return qualities


@register_component
class IdentityQuality(Quality):
    """The reward itself.

    Equation
    --------
    q[op] = r[op]

    References
    ----------
    Sharma, M., López-Ibáñez, M. & Kazakov, D. (2020), "Unified framework for the adaptive operator
    selection of discrete parameters", arXiv 2005.05613.
    """

    name: ClassVar[str] = "identity"
    counts_observations: ClassVar[bool] = False

    @staticmethod
    @njit
    def kernel(
        rewards: FloatArray, _previous: FloatArray, _qualities: FloatArray, _p: FloatArray
    ) -> FloatArray:
        return rewards


@register_component
class WeightedNormalisedSum(Quality):
    """A moving average of each operator's share of the rewards, kept above a floor.

    If Σ r = 0, the quotient is 1/K.

    Equation
    --------
    q[op] = δ max(q_min, r[op] / Σ_j r[j]) + (1 − δ) q_old[op]

    References
    ----------
    Igel, C. & Kreutz, M. (2003), "Operator adaptation in evolutionary computation and its
    application to structure optimization of neural networks", Neurocomputing 55(1–2).
    """

    counts_observations: ClassVar[bool] = False

    delta: float = reward_weight_parameter(default=0.3)
    q_min: float = real(0, 1, default=0.1, symbol="q_min", doc="minimum share of an operator")

    def compute(self, now: Evidence) -> FloatArray:
        total = now.rewards.sum()
        return weighted_normalised_sum(now.rewards, now.qualities, total, self.delta, self.q_min)


@njit
def weighted_normalised_sum(
    rewards: FloatArray, old: FloatArray, total: float, delta: float, q_min: float
) -> FloatArray:
    """Compute the equation of :class:`WeightedNormalisedSum`."""
    K = len(rewards)
    qualities = np.empty(K)
    for op in range(K):
        share = saturate(rewards[op] / total) if total != 0.0 else 1.0 / K
        qualities[op] = delta * max(q_min, share) + (1.0 - delta) * old[op]
    return qualities


@register_component
class Bellman(Quality):
    """The expected discounted return, if operators follow each other as their probabilities say.

    ⚑ The paper's 1 is the identity matrix; the softmax is that of the authors' experiments. The
    paper's remark that γ = 0 reduces to a weighted sum of rewards holds without it.

    As the p sum to 1, row i of P sums to K p_i + 1 before its division, and P has rank two:
    q = q' + γ (a p + b) / (K p + 1) with a = Σ_j q_j and b = Σ_j p_j q_j. Summing this equation,
    plain and weighted by p, gives two linear equations for a and b. With s = Σ_j p_j / (K p_j + 1)
    their determinant is (1 − γ) (1 + γ − 2 γ s), positive for every γ < 1.

    Equation
    --------
    q' = c1 r + c2 r_old
    P[i,j] = (p_i + p_j) / Σ_k (p_i + p_k)
    solve (I − γ P) q = q'
    softmax = True: then q[op] = exp(q[op]) / Σ_j exp(q[j])

    References
    ----------
    Sharma, M., López-Ibáñez, M. & Kazakov, D. (2018), "Performance assessment of recursive
    probability matching for adaptive operator selection in differential evolution", PPSN XV.
    """

    counts_observations: ClassVar[bool] = False

    c1: float = real(0, 1, default=1, symbol="c1", doc="weight of the current reward")
    c2: float = real(0, 1, default=0.9, symbol="c2", doc="weight of the previous reward")
    # At exactly 1 the matrix I − γ P is singular.
    gamma: float = real(
        0.01, 1, default=0.46, allowed=(0, 1), open_high=True, symbol="γ", doc="discount"
    )
    softmax: bool = choice(
        True, False, default=True, tuned=False, doc="whether the solution passes through a softmax"
    )

    @staticmethod
    @njit
    def kernel(
        rewards: FloatArray,
        previous: FloatArray,
        _qualities: FloatArray,
        p: FloatArray,
        c1: float,
        c2: float,
        gamma: float,
        softmax: float,
    ) -> FloatArray:
        K = len(rewards)
        value = np.empty(K)
        s = total = weighted = 0.0
        for op in range(K):
            value[op] = c1 * rewards[op] + c2 * previous[op]
            s += p[op] / (K * p[op] + 1.0)
            total += value[op]
            weighted += p[op] * value[op]
        # Two linear equations for a = Σ_j q_j and b = Σ_j p_j q_j: see the class's docstring.
        own, other = 1.0 - gamma * s, gamma * (1.0 - s)
        determinant = (1.0 - gamma) * (1.0 + gamma - 2.0 * gamma * s)
        a = (own * total + K * other * weighted) / determinant
        b = (other / K * total + own * weighted) / determinant
        largest = -math.inf
        for op in range(K):
            value[op] += gamma * (a * p[op] + b) / (K * p[op] + 1.0)
            largest = max(largest, value[op])
        if softmax:
            # The division by the sum is left to `normalize_qualities`, which follows anyway.
            for op in range(K):
                value[op] = math.exp(value[op] - largest)
        return value
