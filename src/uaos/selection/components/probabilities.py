"""Probabilities: from qualities to the chances of being selected.

Whatever the component, the probabilities are then divided by their sum.
"""

from abc import abstractmethod
from typing import ClassVar, Self

import numpy as np

from uaos.arrays import FloatArray
from uaos.errors import InvalidParameter
from uaos.jit import njit
from uaos.params import choice, parameters, per_operator, real
from uaos.selection.components.base import Component, register_component


class Probability(Component):
    """Base of the probability rules: one value for each operator; they need not sum to 1.

    Examples
    --------
    >>> import uaos
    >>> @uaos.register
    ... class Squared(uaos.Probability):
    ...     def compute(self, qualities, probabilities):
    ...         return qualities**2 + 0.01
    """

    family: ClassVar[str] = "probability"

    def for_operators(self, n_operators: int) -> Self:
        """Return the rule with shares such as "0.2/K" as numbers, and p_min below 1/K."""
        declared = getattr(self, "p_min", 0.0)
        numbers = {
            name: float(share / n_operators)
            for name in parameters(self)
            if isinstance(value := getattr(self, name), str)
            and (share := per_operator(value)) is not None
        }
        p_min, p_max = numbers.get("p_min", declared), getattr(self, "p_max", 1.0)
        # At K p_min = 1 nothing is left to distribute.
        if n_operators * p_min >= 1:
            limit = f"below 1/K = {1 / n_operators:.4g} for K = {n_operators} operators"
            message = f"p_min of {self.name} is {declared}; it must be {limit}"
            raise InvalidParameter(message, name="p_min", value=declared, owner=self.name)
        if p_max < p_min:
            limit = f"at least p_min = {p_min:.4g} for K = {n_operators} operators"
            message = f"p_max of {self.name} is {p_max}; it must be {limit}"
            raise InvalidParameter(message, name="p_max", value=p_max, owner=self.name)
        if numbers:
            return type(self)(**{n: getattr(self, n) for n in parameters(self)} | numbers)
        return self

    @abstractmethod
    def compute(self, qualities: FloatArray, probabilities: FloatArray) -> FloatArray:
        """Return the K new probabilities from the qualities (sum 1) and the old probabilities."""
        assert self.kernel is not None
        return self.kernel(qualities, probabilities, *self.values)


def least_parameter(default: float = 0.05) -> float:
    """Declare `p_min`."""
    p_min: float = real(
        0, 1, default=default, bound="1/K", symbol="p_min", doc="minimum probability of an operator"
    )
    return p_min


@register_component
class ProbabilityMatching(Probability):
    """Proportional to the quality, above a floor.

    ⚑ The paper adds the error once in the denominator; it is added to every term, so that the
    probabilities sum to 1.

    Equation
    --------
    p[op] = p_min + (1 − K p_min) (q[op] + error) / Σ_j (q[j] + error)

    References
    ----------
    Goldberg, D. E. (1990), "Probability matching, the magnitude of reinforcement, and classifier
    system bidding", Machine Learning 5; as operator selection: Thierens, D. (2005), "An adaptive
    pursuit strategy for allocating operator probabilities", GECCO.
    """

    p_min: float = least_parameter()
    error: float = real(0, 1, default=0, shared=True, symbol="ε", doc="added to every quality")

    @staticmethod
    @njit
    def kernel(qualities: FloatArray, _old: FloatArray, p_min: float, error: float) -> FloatArray:
        K = len(qualities)
        total = 0.0
        for op in range(K):
            total += qualities[op] + error
        free = 1.0 - K * p_min
        probabilities = np.empty(K)
        for op in range(K):
            probabilities[op] = p_min + free * (qualities[op] + error) / total
        return probabilities


@register_component
class AdaptivePursuit(Probability):
    """The best operator is pushed toward p_max, the others toward p_min.

    Of several operators with the largest quality, the first is pursued.

    Equation
    --------
    p[op] = μ p_max + (1 − μ) p_old[op] for the operator of largest quality
    p[op] = μ p_min + (1 − μ) p_old[op] for the others

    References
    ----------
    Thierens, D. (2005), "An adaptive pursuit strategy for allocating operator probabilities",
    GECCO.
    """

    p_min: float = least_parameter()
    p_max: float = real(0, 1, default=0.9, symbol="p_max", doc="probability of the best operator")
    mu: float = real(0, 1, default=0.1, symbol="μ", doc="learning rate")

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.p_min, float) and self.p_max < self.p_min:
            message = (
                f"p_max of {self.name} is {self.p_max}; it must be at least p_min = {self.p_min:g}"
            )
            raise InvalidParameter(message, name="p_max", value=self.p_max, owner=self.name)

    @staticmethod
    @njit
    def kernel(
        qualities: FloatArray, old: FloatArray, p_min: float, p_max: float, mu: float
    ) -> FloatArray:
        K = len(qualities)
        best = 0
        for op in range(K):
            if qualities[op] > qualities[best]:
                best = op
        probabilities = np.empty(K)
        for op in range(K):
            goal = p_max if op == best else p_min
            probabilities[op] = mu * goal + (1.0 - mu) * old[op]
        return probabilities


@register_component
class ClippedShares(Probability):
    """The quality, clipped to an interval.

    Equation
    --------
    p[op] = min(p_max, max(p_min, q[op]))
    even = 1: 1/K for all if any q is 0

    References
    ----------
    Sallam, K. M., Elsayed, S. M., Chakrabortty, R. K. & Ryan, M. J. (2020), "Improved
    multi-operator differential evolution algorithm for solving unconstrained problems", Congress on
    Evolutionary Computation.
    """

    printed: ClassVar[bool] = False

    p_min: float = least_parameter(0.1)
    p_max: float = real(0, 1, default=0.9, symbol="p_max", doc="largest probability")
    even: int = choice(1, 0, default=1, doc="1: all are equal if any quality is 0")

    @staticmethod
    @njit
    def kernel(
        qualities: FloatArray, _old: FloatArray, p_min: float, p_max: float, even: float
    ) -> FloatArray:
        K = len(qualities)
        probabilities = np.full(K, 1.0 / K)
        for op in range(K):
            if even and qualities[op] == 0.0:
                return np.full(K, 1.0 / K)
            probabilities[op] = min(max(qualities[op], p_min), p_max)
        return probabilities


@register_component
class ShareTransfer(Probability):
    """The best operators take part of the others' shares, more from worse ones.

    No share falls below p_min. B is the set of operators with the largest quality.

    Equation
    --------
    Δ[op] = min(ξ (1 − q[op] / max_j q[j]) p_old[op], max(0, p_old[op] − p_min))
    p[op] = p_old[op] − Δ[op] for op not in B
    p[op] = p_old[op] + Σ_j Δ[j] / |B| for op in B

    References
    ----------
    LaTorre, A., Muelas, S. & Peña, J. M. (2010), "Benchmarking a MOS-based algorithm on the
    BBOB-2010 noiseless function testbed", GECCO workshop.
    """

    printed: ClassVar[bool] = False

    p_min: float = least_parameter()
    xi: float = real(0, 1, default=0.05, symbol="ξ", doc="largest part of a share that is taken")

    @staticmethod
    @njit
    def kernel(qualities: FloatArray, old: FloatArray, p_min: float, xi: float) -> FloatArray:
        K = len(qualities)
        best = qualities[0]
        for op in range(K):
            best = max(best, qualities[op])
        transferred, winners = 0.0, 0
        probabilities = np.empty(K)
        for op in range(K):
            part = xi * (1.0 - qualities[op] / best) * old[op]
            part = min(part, max(0.0, old[op] - p_min))
            probabilities[op] = old[op] - part
            transferred += part
            winners += qualities[op] == best
        for op in range(K):
            if qualities[op] == best:
                probabilities[op] += transferred / winners
        return probabilities


@register_component
class IdentityProbability(Probability):
    """The quality itself.

    Equation
    --------
    p[op] = q[op]

    References
    ----------
    Igel, C. & Kreutz, M. (1999), "Using fitness distributions to improve the evolution of learning
    structures", Congress on Evolutionary Computation.
    """

    name: ClassVar[str] = "identity"

    @staticmethod
    @njit
    def kernel(qualities: FloatArray, _old: FloatArray) -> FloatArray:
        return qualities
