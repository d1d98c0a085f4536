"""A generation of learning in one compiled call, for methods whose components are all kernels.

The equations are the components' own: here is the order in which they are called, as in
`Selector._learn`. A component that leaves part of its equation to NumPy is not among them: a sum or
a logarithm of NumPy's may differ from a compiled one in the last bit.
"""

from typing import Any, NamedTuple

import numpy as np

from uaos.jit import linked
from uaos.params import parameters
from uaos.selection.components import metrics, probabilities, qualities, rewards
from uaos.selection.components.base import Array
from uaos.selection.kernels import (
    fitness_summary,
    mask_failures,
    normalize_probabilities,
    normalize_qualities,
    repair_fitness,
    scale_rewards,
)
from uaos.selection.memory import record_bests, record_counts, record_generation
from uaos.selection.method import Method

# A component's place is its code in the kernels below.
_COMPILED: dict[str, tuple[type[Any], ...]] = {
    "metric": (
        metrics.ParentImprovement, metrics.OffspringFitness, metrics.RelativeImprovement,
        metrics.ParentRelativeImprovement,
    ),
    "reward": (
        rewards.ImmediateSuccess, rewards.SuccessRate, rewards.SuccessSum, rewards.Leader,
        rewards.SuccessCount, rewards.ImprovementSum,
    ),
    "quality": (
        qualities.Identity, qualities.WeightedSum, qualities.Bellman,
        qualities.WeightedNormalisedSum,
    ),
    "probability": (
        probabilities.Identity, probabilities.ProbabilityMatching, probabilities.AdaptivePursuit,
        probabilities.ClippedShares,
    ),
}  # fmt: skip
_METRIC, _REWARD, _QUALITY, _PROBABILITY = range(4)
_LEADER, _SUCCESS_COUNT, _IMPROVEMENT_SUM = 3, 4, 5

# NumPy adds as many numbers or more in another order.
_MANY = 8


class Fused(NamedTuple):
    """A method at work as :func:`learn` takes it: what stays, and the arrays that it changes."""

    codes: Array
    """The code of each component."""
    numbers: Array
    """Their parameters, a row for each component, in the order of declaration."""
    scale: bool
    """Whether rewards are scaled."""
    table: Array
    """The memory of generations, best values or successes; `count`: how many generations."""
    count: Array
    rewards: Array
    qualities: Array
    probabilities: Array
    tally: Array
    """The best fitness so far, and the number of offspring reported."""


def codes_of(method: Method, n_operators: int) -> tuple[Array, Array] | None:
    """The codes and numbers of a method's components, or None if one has no code."""
    if n_operators >= _MANY and isinstance(method.quality, qualities.WeightedNormalisedSum):
        return None
    codes, numbers = np.zeros(4, np.int64), np.zeros((4, 4))
    for row, (family, known) in enumerate(_COMPILED.items()):
        component = getattr(method, family)
        if type(component) not in known:
            return None
        codes[row] = known.index(type(component))
        values = [float(getattr(component, name)) for name in parameters(component)]
        numbers[row, : len(values)] = values
    return codes, numbers


# These metrics are functions of their arguments alone.
_parent_improvement, _offspring_fitness, _relative_improvement, _parent_relative = map(
    linked,
    (cls.compute for cls in _COMPILED["metric"]),
)


@linked
def _metrics(code: int, parents: Array, offspring: Array, best_so_far: float) -> Array:
    if code == 0:
        return _parent_improvement(None, parents, offspring, best_so_far)
    if code == 1:
        return _offspring_fitness(None, parents, offspring, best_so_far)
    if code == 2:
        return _relative_improvement(None, parents, offspring, best_so_far)
    return _parent_relative(None, parents, offspring, best_so_far)


@linked
def _rewards(code: int, given: Array, table: Array) -> Array:
    successes, applications, sums = table[0], table[1], table[2]
    if code == 0:
        return rewards.immediate_success(successes, applications)
    if code == 1:
        return rewards.success_rate(successes, applications, int(given[1]), given[2], given[3])
    if code == _LEADER:
        return rewards.leader(table[3, 0])
    if code == _SUCCESS_COUNT:
        return given[0] + table[0, 0]
    if code == _IMPROVEMENT_SUM:
        return rewards.column_sums(sums)
    return rewards.success_sum(sums, applications)


@linked
def _qualities(code: int, given: Array, r: Array, previous: Array, q: Array, p: Array) -> Array:
    if code == 0:
        return r
    if code == 1:
        return qualities.weighted_sum(r, q, given[0])
    if code == 3:
        total = 0.0
        for op in range(len(r)):
            total += r[op]
        return qualities.weighted_normalised_sum(r, q, total, given[0], given[1])
    return qualities.bellman(r, previous, p, given[0], given[1], given[2], given[3] > 0.0)


@linked
def _probabilities(code: int, given: Array, q: Array, p: Array) -> Array:
    if code == 0:
        return q
    if code == 1:
        return probabilities.probability_matching(q, given[0], given[1])
    if code == 2:
        return probabilities.adaptive_pursuit(q, p, given[0], given[1], given[2])
    return probabilities.clipped_shares(q, given[0], given[1], int(given[2]))


@linked
def learn(  # type: ignore[no-untyped-def]
    codes, numbers, scale, table, count, previous, q, p, tally, operators, parents, offspring
) -> None:
    """Learn from one generation; the first arguments are those of a :class:`Fused`.

    One by one, because a call with a tuple of arrays takes longer.
    """
    least_parent, least_offspring, all_finite = fitness_summary(parents, offspring)
    if not all_finite:
        parents, offspring = repair_fitness(parents, offspring)
    best_so_far = min(tally[0], least_parent)
    metric = _metrics(codes[_METRIC], parents, offspring, best_so_far)
    successes = np.empty(len(metric), np.bool_)
    mask_failures(metric, successes, parents, offspring, False)
    if codes[_REWARD] == _LEADER:
        record_bests(table, operators, offspring)
    elif codes[_REWARD] == _SUCCESS_COUNT:
        least = numbers[_REWARD, 1] / len(p)
        record_counts(table, numbers[_REWARD, 0], least, operators, successes)
    else:
        record_generation(table, count, operators, metric, successes)
    r = scale_rewards(_rewards(codes[_REWARD], numbers[_REWARD], table), scale)
    normalize_qualities(
        _qualities(codes[_QUALITY], numbers[_QUALITY], r, previous, q, p), q
    )  # fmt: skip
    normalize_probabilities(
        _probabilities(codes[_PROBABILITY], numbers[_PROBABILITY], q, p), p
    )  # fmt: skip
    previous[:] = r
    tally[0] = min(best_so_far, least_offspring)
    tally[1] += len(operators)
