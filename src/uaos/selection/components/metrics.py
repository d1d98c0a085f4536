"""Offspring metrics: how good is one offspring, compared with what was there before?

Notation: `f_i` is the fitness of parent i, `u_i` that of its offspring, and smaller is better. The
references are taken before the generation's survival step: `f_best` is the smallest of the
parents' fitness, `f_med` their median, `f_bsf` the best fitness seen in the run before this
generation.

An offspring *improves* when `u_i < f_i`; one that does not has metric 0 and is a failure. An
improving offspring is a success, except under the metrics that compare with a reference
(`by_reference`), where it is a success only if its metric is > 0. ⚑ The framework's paper counts
success by `metric > 0` throughout, which fails for `-u_i`: it may be negative.
"""

import sys
from abc import abstractmethod
from typing import ClassVar

import numpy as np

from uaos.arrays import FloatArray
from uaos.jit import njit
from uaos.selection.components.base import Component, register_component

#: The smallest positive normal number.
SMALLEST = sys.float_info.min


class Metric(Component):
    """Base of the metrics: one value per offspring; the selector sets failures to 0.

    Examples
    --------
    >>> import uaos
    >>> @uaos.register
    ... class Gain(uaos.Metric):
    ...     def compute(self, parents, offspring, best_so_far):
    ...         return parents - offspring
    """

    family: ClassVar[str] = "metric"
    #: Whether a success needs a metric above 0, beyond improving on the parent.
    by_reference: ClassVar[bool] = False

    @abstractmethod
    def compute(self, parents: FloatArray, offspring: FloatArray, best_so_far: float) -> FloatArray:
        """Return the metric of every offspring, as if all improved; `u_i` = inf if one failed."""
        assert self.kernel is not None
        return self.kernel(parents, offspring, best_so_far)


@njit
def improvement_on(reference: float, offspring: FloatArray) -> FloatArray:
    """Compute how much better each offspring is than a reference, 0 if it is not."""
    values = np.empty(len(offspring))
    for i in range(len(offspring)):
        values[i] = max(0.0, reference - offspring[i])
    return values


@register_component
class OffspringFitness(Metric):
    """The offspring's own fitness, negated so that larger is better.

    Equation
    --------
    metric(i) = −u_i

    References
    ----------
    Lobo, F. G. & Goldberg, D. E. (1997), "Decision making in a hybrid genetic algorithm", IEEE
    International Conference on Evolutionary Computation.
    """

    @staticmethod
    @njit
    def kernel(parents: FloatArray, offspring: FloatArray, best_so_far: float) -> FloatArray:
        return -offspring


@register_component
class ExpOffspringFitness(Metric):
    """The offspring's fitness on an exponential scale, 1 for the generation's best.

    The minimum runs over all offspring with a finite fitness, improving or not. ⚑ The paper
    announces seven metrics and defines six; this is the seventh of its authors' experiments.

    Equation
    --------
    metric(i) = exp(−(u_i − min_j u_j))

    References
    ----------
    Sharma, M., López-Ibáñez, M. & Kazakov, D. (2020), "Unified framework for the adaptive operator
    selection of discrete parameters", arXiv 2005.05613.
    """

    def compute(self, parents: FloatArray, offspring: FloatArray, best_so_far: float) -> FloatArray:
        values: FloatArray = np.exp(offspring.min() - offspring)
        return values


@register_component
class ParentImprovement(Metric):
    """How much better the offspring is than its parent.

    Equation
    --------
    metric(i) = f_i − u_i

    References
    ----------
    Barbosa, H. J. C. & Sá, A. M. (2000), "On adaptive operator probabilities in real coded genetic
    algorithms", Workshop on Advances and Trends in AI for Problem Solving.
    """

    @staticmethod
    @njit
    def kernel(parents: FloatArray, offspring: FloatArray, best_so_far: float) -> FloatArray:
        return parents - offspring


@register_component
class BestParentImprovement(Metric):
    """How much better the offspring is than the best of the current parents.

    Equation
    --------
    metric(i) = max(0, f_best − u_i)

    References
    ----------
    Davis, L. (1989), "Adapting operator probabilities in genetic algorithms", ICGA.
    """

    by_reference: ClassVar[bool] = True

    def compute(self, parents: FloatArray, offspring: FloatArray, best_so_far: float) -> FloatArray:
        return improvement_on(parents.min(), offspring)


@register_component
class BestSoFarImprovement(Metric):
    """How much better the offspring is than the best fitness seen in the run before it.

    Equation
    --------
    metric(i) = max(0, f_bsf − u_i)

    References
    ----------
    Sharma, M., López-Ibáñez, M. & Kazakov, D. (2020), "Unified framework for the adaptive operator
    selection of discrete parameters", arXiv 2005.05613.
    """

    by_reference: ClassVar[bool] = True

    def compute(self, parents: FloatArray, offspring: FloatArray, best_so_far: float) -> FloatArray:
        return improvement_on(best_so_far, offspring)


@register_component
class MedianImprovement(Metric):
    """How much better the offspring is than the median of the current parents.

    ⚑ It must also improve on its own parent, as in the authors' script; the printed equation does
    not ask for that.

    Equation
    --------
    metric(i) = max(0, f_med − u_i)

    References
    ----------
    Julstrom, B. A. (1995), "What have you done for me lately? Adapting operator probabilities in a
    steady-state genetic algorithm", ICGA.
    """

    by_reference: ClassVar[bool] = True

    def compute(self, parents: FloatArray, offspring: FloatArray, best_so_far: float) -> FloatArray:
        return _median_improvement(parents, offspring)


@njit
def _median(values: FloatArray) -> float:
    ordered = np.sort(values)
    middle = len(ordered) // 2
    median: float = ordered[middle]
    if len(ordered) % 2 == 0:
        median = (ordered[middle - 1] + ordered[middle]) / 2.0
    return median


@njit
def _median_improvement(parents: FloatArray, offspring: FloatArray) -> FloatArray:
    return improvement_on(_median(parents), offspring)


@register_component
class RelativeImprovement(Metric):
    """The improvement on the parent, weighted by how close the offspring is to the best so far.

    Meant for positive fitness. `u_i = 0` divides by the smallest positive normal number instead.

    Equation
    --------
    metric(i) = (f_bsf / u_i) · (f_i − u_i)

    References
    ----------
    Ong, Y. S. & Keane, A. J. (2004), "Meta-Lamarckian learning in memetic algorithms", IEEE
    Transactions on Evolutionary Computation 8(2).
    """

    @staticmethod
    @njit
    def kernel(parents: FloatArray, offspring: FloatArray, best_so_far: float) -> FloatArray:
        values = np.empty(len(offspring))
        for i in range(len(offspring)):
            divisor = offspring[i] if offspring[i] != 0.0 else SMALLEST
            values[i] = best_so_far / divisor * (parents[i] - offspring[i])
        return values


@register_component
class ParentRelativeImprovement(Metric):
    """The improvement on the parent as a share of the parent's fitness.

    `f_i = 0` divides by the smallest positive normal number instead.

    Equation
    --------
    metric(i) = (f_i − u_i) / |f_i|

    References
    ----------
    Sallam, K. M., Elsayed, S. M., Chakrabortty, R. K. & Ryan, M. J. (2020), "Improved
    multi-operator differential evolution algorithm for solving unconstrained problems", Congress on
    Evolutionary Computation.
    """

    printed: ClassVar[bool] = False

    @staticmethod
    @njit
    def kernel(parents: FloatArray, offspring: FloatArray, best_so_far: float) -> FloatArray:
        values = np.empty(len(offspring))
        for i in range(len(offspring)):
            divisor = abs(parents[i]) if parents[i] != 0.0 else SMALLEST
            values[i] = (parents[i] - offspring[i]) / divisor
        return values
