"""A generation of learning in one compiled call, for methods whose components are all kernels.

The equations are the components' own: here is the order in which they are called, as in
`Selector._learn`. A component that leaves part of its equation to NumPy is not among them: a sum or
a logarithm of NumPy's may differ from a compiled one in the last bit.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from uaos.jit import njit
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

# A component's place is its code in `learner`.
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
_REWARD, _QUALITY, _PROBABILITY = range(1, 4)

# NumPy adds as many numbers or more in another order.
_MANY = 8


class Fused(NamedTuple):
    """A method at work, as its learner takes it: what stays, and the arrays that it changes."""

    numbers: Array
    """The parameters of its components, a row for each component, in the order of declaration."""
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


def codes_of(method: Method, n_operators: int) -> tuple[list[int], Array] | None:
    """The codes and numbers of a method's components, or None if one has no code."""
    if n_operators >= _MANY and isinstance(method.quality, qualities.WeightedNormalisedSum):
        return None
    codes, numbers = [], np.zeros((4, 4))
    for row, (family, known) in enumerate(_COMPILED.items()):
        component = getattr(method, family)
        if type(component) not in known:
            return None
        codes.append(known.index(type(component)))
        values = [float(getattr(component, name)) for name in parameters(component)]
        numbers[row, : len(values)] = values
    return codes, numbers


# These metrics are functions of their arguments alone.
_parent_improvement, _offspring_fitness, _relative_improvement, _parent_relative = map(
    njit,
    (cls.compute for cls in _COMPILED["metric"]),
)


@cache
def learner(metric: int, reward: int, quality: int, probability: int) -> Any:
    """The kernel for a method of these codes; it has no other component's branch, once compiled."""

    def learn(  # type: ignore[no-untyped-def]
        numbers, scale, table, count, previous, q, p, tally, operators, parents, offspring
    ) -> None:
        """Learn from one generation; the first arguments are those of a :class:`Fused`.

        One by one, because a call with a tuple of arrays takes longer.
        """
        least_parent, least_offspring, all_finite = fitness_summary(parents, offspring)
        if not all_finite:
            parents, offspring = repair_fitness(parents, offspring)
        best_so_far = min(tally[0], least_parent)

        if metric == 0:
            values = _parent_improvement(None, parents, offspring, best_so_far)
        elif metric == 1:
            values = _offspring_fitness(None, parents, offspring, best_so_far)
        elif metric == 2:
            values = _relative_improvement(None, parents, offspring, best_so_far)
        else:
            values = _parent_relative(None, parents, offspring, best_so_far)
        successes = np.empty(len(values), np.bool_)
        mask_failures(values, successes, parents, offspring, False)

        given = numbers[_REWARD]
        if reward == 3:
            record_bests(table, operators, offspring)
            r = rewards.leader(table[3, 0])
        elif reward == 4:
            record_counts(table, given[0], given[1] / len(p), operators, successes)
            r = given[0] + table[0, 0]
        else:
            record_generation(table, count, operators, values, successes)
            if reward == 0:
                r = rewards.immediate_success(table[0], table[1])
            elif reward == 1:
                r = rewards.success_rate(table[0], table[1], int(given[1]), given[2], given[3])
            elif reward == 2:
                r = rewards.success_sum(table[2], table[1])
            else:
                r = rewards.column_sums(table[2])
        r = scale_rewards(r, scale)

        given = numbers[_QUALITY]
        if quality == 0:
            new = r
        elif quality == 1:
            new = qualities.weighted_sum(r, q, given[0])
        elif quality == 2:
            softmax = given[3] > 0.0
            new = qualities.bellman(r, previous, p, given[0], given[1], given[2], softmax)
        else:
            total = 0.0
            for op in range(len(r)):
                total += r[op]
            new = qualities.weighted_normalised_sum(r, q, total, given[0], given[1])
        normalize_qualities(new, q)

        given = numbers[_PROBABILITY]
        if probability == 0:
            new = q
        elif probability == 1:
            new = probabilities.probability_matching(q, given[0], given[1])
        elif probability == 2:
            new = probabilities.adaptive_pursuit(q, p, given[0], given[1], given[2])
        else:
            new = probabilities.clipped_shares(q, given[0], given[1], int(given[2]))
        normalize_probabilities(new, p)
        # Element by element: the compiler takes seconds for an assignment to a slice.
        for op in range(len(r)):
            previous[op] = r[op]
        tally[0] = min(best_so_far, least_offspring)
        tally[1] += len(operators)

    # A file of its own in numba's cache: in one that several share, processes that compile at the
    # same time may take each other's places.
    learn.__qualname__ = f"learn_{metric}_{reward}_{quality}_{probability}"
    return njit(learn)


@njit
def learn_nothing(  # type: ignore[no-untyped-def]
    numbers, scale, table, count, previous, q, p, tally, operators, parents, offspring
) -> None:
    """Serve, as a learner, a run of one operator."""
