"""What stands between the components of a selector's step, compiled.

The same steps as `measure`, `scaled` and `normalised` of the component families, which
define them in array-namespace style. Each is a handful of array operations on a few numbers, where
calling NumPy costs more than computing; as kernels they cost a third of the selector's time less.
Sums run in the order of the index, so that compiled and interpreted kernels agree to the last bit.

An algorithm that makes one offspring at a time is judged in plain numbers (:func:`judge_of_one`),
by the metric's own definition: array-namespace style needs no arrays.
"""

import math
from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np

from uaos.jit import njit
from uaos.selection.components import Component, Metric
from uaos.selection.components.base import LIMIT

Array = np.ndarray[Any, Any]
#: From the fitness of parent and offspring and the best so far to the metric and the success.
JudgeOfOne = Callable[[float, float, float], tuple[float, bool]]


@njit(cache=True)
def first_outside(operators: Array, n_operators: int) -> int:
    """The first place whose operator is not one of 0..K-1, or -1."""
    for i in range(len(operators)):
        if operators[i] < 0 or operators[i] >= n_operators:
            return i
    return -1


@njit(cache=True)
def survey(parents: Array, offspring: Array) -> tuple[float, float, bool]:
    """The least finite fitness of parents and of offspring, and whether any is not finite."""
    least_parent = np.inf
    least_offspring = np.inf
    failed = False
    for i in range(len(parents)):
        if not np.isfinite(parents[i]):
            failed = True
        elif parents[i] < least_parent:
            least_parent = parents[i]
        if not np.isfinite(offspring[i]):
            failed = True
        elif offspring[i] < least_offspring:
            least_offspring = offspring[i]
    return least_parent, least_offspring, failed


@njit(cache=True)
def saturated(value: float) -> float:
    """The value cut to ±LIMIT; NaN is 0."""
    if np.isnan(value):
        return 0.0
    return min(max(value, -LIMIT), LIMIT)


@njit(cache=True)
def judge(
    values: Array, parents: Array, offspring: Array, by_reference: bool
) -> tuple[Array, Array]:
    """Metrics and successes: 0 and a failure where the offspring does not improve."""
    n = len(values)
    metrics = np.zeros(n)
    successes = np.zeros(n, np.bool_)
    for i in range(n):
        if offspring[i] < parents[i]:
            metrics[i] = saturated(values[i])
            successes[i] = metrics[i] > 0.0 or not by_reference
    return metrics, successes


def own(component: Component) -> bool:
    """Whether it is of this package, hence in array-namespace style; a user's need not be."""
    return type(component).__module__.startswith("uaos.selection.components.")


class _Number(float):
    """A number that can be asked for its minimum, as an array can."""

    def min(self) -> "_Number":
        return self


class _Numbers:
    """The namespace of single numbers, as far as metrics need it."""

    maximum = staticmethod(max)
    exp = staticmethod(math.exp)

    @staticmethod
    def where(condition: bool, one: float, other: float) -> float:
        return one if condition else other

    @staticmethod
    def median(number: float) -> float:
        return number


def judge_of_one(metric: Metric) -> JudgeOfOne | None:
    """What :func:`judge` says of a single offspring; None for a metric that may need arrays."""
    if not own(metric):
        return None
    compute, by_reference = metric.compute, metric.by_reference

    def judged(parent: float, offspring: float, best_so_far: float) -> tuple[float, bool]:
        # A failed evaluation, of either, is NaN or infinite, and nothing is improved.
        if not -inf < offspring < parent < inf:
            return 0.0, False
        value = saturated(compute(_Number(parent), _Number(offspring), best_so_far, _Numbers))
        return value, value > 0.0 or not by_reference

    return judged


@njit(cache=True)
def settled_rewards(values: Array, scale: bool) -> Array:
    """Finite rewards, mapped linearly onto [0, 1] (all equal: all 0) if the method scales."""
    k = len(values)
    rewards = np.empty(k)
    low, high = np.inf, -np.inf
    for op in range(k):
        rewards[op] = saturated(values[op])
        low, high = min(low, rewards[op]), max(high, rewards[op])
    if scale:
        span = high - low
        for op in range(k):
            rewards[op] = (rewards[op] - low) / span if span > 0.0 else 0.0
    return rewards


@njit(cache=True)
def settled_qualities(values: Array) -> Array:
    """Finite qualities, shifted so that none is negative, and divided by their sum."""
    k = len(values)
    finite = np.empty(k)
    low = 0.0
    for op in range(k):
        finite[op] = saturated(values[op])
        low = min(low, finite[op])
    for op in range(k):
        finite[op] = finite[op] - low
    return settled_probabilities(finite)


@njit(cache=True)
def settled_probabilities(values: Array) -> Array:
    """Non-negative values divided by their sum; 1/K each if the sum is 0."""
    k = len(values)
    total = 0.0
    for op in range(k):
        total += values[op]
    shares = np.empty(k)
    for op in range(k):
        shares[op] = values[op] / total if total > 0.0 else 1.0 / k
    return shares
