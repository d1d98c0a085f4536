"""Equations worth compiling: twins of a few components' `compute`, for the CPU.

A component defines its equation once, in array-namespace style. On nine numbers that costs some
microseconds of calls into NumPy, which is most of what a cheap method costs in a generation. The
components of the methods that are used most have a twin here: the same equation as a loop. The
tests hold each twin to its definition. Sums run in the order of the index and functions are those
of the C library, so that compiled and interpreted twins agree to the last bit.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from uaos.components import Component
from uaos.components.probabilities import ProbabilityMatching
from uaos.components.qualities import Bellman, WeightedSum
from uaos.components.rewards import ImmediateSuccess, SuccessRate
from uaos.components.selections import Proportional

Array = np.ndarray[Any, Any]


@njit(cache=True)
def _immediate_success(successes: Array, applications: Array) -> Array:
    K = successes.shape[1]
    NP = 0.0
    for op in range(K):
        NP += applications[0, op]
    rewards = np.empty(K)
    for op in range(K):
        rewards[op] = successes[0, op] / NP
    return rewards


@njit(cache=True)
def _success_rate(
    successes: Array, applications: Array, power: int, frac: float, noise: float
) -> Array:
    T, K = successes.shape
    rewards = np.zeros(K)
    for t in range(T):
        everybody = 0.0
        for op in range(K):
            everybody += successes[t, op]
        for op in range(K):
            if applications[t, op] > 0.0:
                s = successes[t, op]
                own = s * s if power == 2 else s
                rewards[op] += (own + frac * everybody) / applications[t, op]
    for op in range(K):
        rewards[op] += noise
    return rewards


@njit(cache=True)
def _weighted_sum(rewards: Array, old: Array, delta: float) -> Array:
    K = len(rewards)
    qualities = np.empty(K)
    for op in range(K):
        qualities[op] = delta * rewards[op] + (1.0 - delta) * old[op]
    return qualities


@njit(cache=True)
def _bellman(
    rewards: Array, previous: Array, p: Array, c1: float, c2: float, gamma: float
) -> Array:
    """In closed form, as the docstring of `Bellman` derives it."""
    K = len(rewards)
    value = np.empty(K)
    s = total = weighted = 0.0
    for op in range(K):
        value[op] = c1 * rewards[op] + c2 * previous[op]
        s += p[op] / (K * p[op] + 1.0)
        total += value[op]
        weighted += p[op] * value[op]
    own, other = 1.0 - gamma * s, gamma * (1.0 - s)
    determinant = (1.0 - gamma) * (1.0 + gamma - 2.0 * gamma * s)
    a = (own * total + K * other * weighted) / determinant
    b = (other / K * total + own * weighted) / determinant
    largest = -math.inf
    for op in range(K):
        value[op] += gamma * (a * p[op] + b) / (K * p[op] + 1.0)
        largest = max(largest, value[op])
    for op in range(K):
        value[op] = math.exp(value[op] - largest)
    return value


@njit(cache=True)
def _probability_matching(qualities: Array, p_min: float, error: float) -> Array:
    K = len(qualities)
    total = 0.0
    for op in range(K):
        total += qualities[op] + error
    free = 1.0 - K * p_min
    probabilities = np.empty(K)
    for op in range(K):
        probabilities[op] = p_min + free * (qualities[op] + error) / total
    return probabilities


@njit(cache=True)
def _proportional(probabilities: Array, pick: Array) -> Array:
    K, n = len(probabilities), len(pick)
    edges = np.empty(K)
    total = 0.0
    for op in range(K):
        total += probabilities[op]
        edges[op] = total
    operators = np.empty(n, np.int64)
    for i in range(n):
        x = pick[i] * total
        op = 0
        while op < K - 1 and edges[op] <= x:
            op += 1
        operators[i] = op
    return operators


Compute = Callable[..., Any]

_TWINS: dict[type[Component], Callable[[Any], Compute]] = {
    ImmediateSuccess: lambda c: lambda m: _immediate_success(m.successes, m.applications),
    SuccessRate: lambda c: (
        lambda m: _success_rate(m.successes, m.applications, c.power, c.frac, c.noise)
    ),
    WeightedSum: lambda c: lambda now: _weighted_sum(now.rewards, now.qualities, c.delta),
    Bellman: lambda c: (
        lambda now: _bellman(
            now.rewards, now.previous_rewards, now.probabilities, c.c1, c.c2, c.gamma
        )
    ),
    ProbabilityMatching: lambda c: lambda q, p: _probability_matching(q, c.p_min, c.error),
    Proportional: lambda c: lambda p, draws, progress: _proportional(p, draws.pick),
}


def compiled(component: Component) -> Compute:
    """The component's compiled twin, or its `compute` with NumPy for `xp`."""
    twin = _TWINS.get(type(component))
    if twin is not None:
        return twin(component)
    compute: Compute = component.compute  # type: ignore[attr-defined]
    return lambda *inputs: compute(*inputs, np)
