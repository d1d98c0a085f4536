"""Equations worth compiling: twins of a few components' `compute`, for the CPU.

A component defines its equation once, in array-namespace style. On nine numbers that costs some
microseconds of calls into NumPy, which is most of what a cheap method costs in a generation. The
components of the methods that are used most have a twin here: the same equation as a loop. The
tests hold each twin to its definition. Sums run in the order of the index and functions are those
of the C library, or both are left to NumPy, so that compiled and interpreted twins agree to the
last bit.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from uaos.jit import njit
from uaos.selection.components import Component, probabilities, qualities
from uaos.selection.components.probabilities import AdaptivePursuit, ProbabilityMatching
from uaos.selection.components.qualities import Bellman, UpperConfidenceBound, WeightedSum
from uaos.selection.components.rewards import ImmediateSuccess, SuccessRate, SuccessSum
from uaos.selection.components.rewards_ranked import AreaUnderCurve, WindowSuccessSum
from uaos.selection.components.selections import Greedy, Proportional
from uaos.selection.components.views import Window

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
            s = successes[t, op]
            own = s * s if power == 2 else s
            rewards[op] += (own + frac * everybody) / max(1.0, applications[t, op])
    for op in range(K):
        rewards[op] += noise
    return rewards


@njit(cache=True)
def _success_sum(sums: Array, applications: Array) -> Array:
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


@njit(cache=True)
def _entries(operators: Array, metrics: Array, K: int) -> Array:
    """K rows: the metrics of each operator's entries in the window, 0 at the others' places."""
    rows = np.zeros((K, len(operators)))
    for e in range(len(operators)):
        if operators[e] >= 0:
            rows[operators[e], e] = metrics[e]
    return rows


@njit(cache=True)
def _means(totals: Array, operators: Array, normalise: bool) -> Array:
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


@njit(cache=True)
def _curves(
    operators: Array, metrics: Array, size: int, order: Array, weights: Array, K: int
) -> tuple[Array, Array]:
    """What to sum: each operator's steps in x, and the areas below them; and its final y.

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
            for q in range(first, last):
                terms[1, op, q] = terms[0, op, q] * (y[first] + y[last])
            first = last
        heights[op] = y[W]
    return terms, heights


@njit(cache=True)
def _shares_below(sums: Array, heights: Array) -> Array:
    K = len(heights)
    rewards = np.zeros(K)
    for op in range(K):
        x, area, y = sums[0, op], sums[1, op] / 2.0, heights[op]
        if y > 0.0:
            rewards[op] = area / x / y if x > 0.0 else 1.0
    return rewards


@njit(cache=True)
def _weighted_sum(rewards: Array, old: Array, delta: float) -> Array:
    K = len(rewards)
    qualities = np.empty(K)
    for op in range(K):
        qualities[op] = delta * rewards[op] + (1.0 - delta) * old[op]
    return qualities


@njit(cache=True)
def _all_seen(observations: Array) -> float:
    total = 0.0
    for seen in observations:
        total += max(1.0, seen)
    return total


@njit(cache=True)
def _upper_confidence_bound(rewards: Array, observations: Array, C: float, log: float) -> Array:
    K = len(rewards)
    qualities = np.empty(K)
    for op in range(K):
        qualities[op] = rewards[op] + C * math.sqrt(log / max(1.0, observations[op]))
    return qualities


@njit(cache=True)
def _bellman(
    rewards: Array, previous: Array, p: Array, c1: float, c2: float, gamma: float, softmax: bool
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
    if softmax:
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
def _adaptive_pursuit(qualities: Array, old: Array, p_min: float, p_max: float, mu: float) -> Array:
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


@njit(cache=True)
def _greedy(probabilities: Array, tie: float, n: int) -> Array:
    K = len(probabilities)
    largest = probabilities[0]
    equals = 0
    for op in range(K):
        if probabilities[op] > largest:
            largest, equals = probabilities[op], 0
        if probabilities[op] == largest:
            equals += 1
    left = math.floor(tie * equals)
    best = 0
    for op in range(K):
        if probabilities[op] == largest:
            best = op
            if left == 0:
                break
            left -= 1
    return np.full(n, best)


Compute = Callable[..., Any]


def _window_success_sum(c: WindowSuccessSum) -> Compute:
    def compute(m: Window) -> Array:
        totals = _entries(m.operators, m.metrics, len(m.labels)).sum(axis=1)
        return _means(totals, m.operators, c.normalise == 1)

    return compute


def _area_under_curve(c: AreaUnderCurve) -> Compute:
    # 0^q would leave a single entry: every rank weighs the same instead.
    with np.errstate(under="ignore"):
        weights = c.D ** np.arange(c.W) if c.D > 0 else np.empty(0)

    def compute(m: Window) -> Array:
        order = (-m.metrics).argsort()
        terms, heights = _curves(m.operators, m.metrics, int(m.size), order, weights, len(m.labels))
        return _shares_below(terms.sum(axis=2), heights)

    return compute


def _bound(c: UpperConfidenceBound) -> Compute:
    # NumPy's logarithm and that of the C library need not agree in the last bit.
    return lambda now: _upper_confidence_bound(
        now.rewards, now.observations, c.C, np.log(_all_seen(now.observations))
    )


_TWINS: dict[type[Component], Callable[[Any], Compute]] = {
    ImmediateSuccess: lambda c: lambda m: _immediate_success(m.successes, m.applications),
    SuccessRate: lambda c: (
        lambda m: _success_rate(m.successes, m.applications, c.power, c.frac, c.noise)
    ),
    SuccessSum: lambda c: lambda m: _success_sum(m.sums, m.applications),
    WindowSuccessSum: _window_success_sum,
    AreaUnderCurve: _area_under_curve,
    WeightedSum: lambda c: lambda now: _weighted_sum(now.rewards, now.qualities, c.delta),
    UpperConfidenceBound: _bound,
    qualities.Identity: lambda c: lambda now: now.rewards,
    Bellman: lambda c: (
        lambda now: _bellman(
            now.rewards, now.previous_rewards, now.probabilities, c.c1, c.c2, c.gamma, c.softmax
        )
    ),
    ProbabilityMatching: lambda c: lambda q, p: _probability_matching(q, c.p_min, c.error),
    AdaptivePursuit: lambda c: lambda q, p: _adaptive_pursuit(q, p, c.p_min, c.p_max, c.mu),
    probabilities.Identity: lambda c: lambda q, p: q,
    Proportional: lambda c: lambda p, draws, progress: _proportional(p, draws.pick),
    Greedy: lambda c: (
        lambda p, draws, progress: _greedy(
            p, draws.tie if c.ties == "random" else 0.0, len(draws.pick)
        )
    ),
}


def compiled(component: Component) -> Compute:
    """The component's compiled twin, or its `compute` with NumPy for `xp`."""
    twin = _TWINS.get(type(component))
    if twin is not None:
        return twin(component)
    compute: Compute = component.compute  # type: ignore[attr-defined]
    return lambda *inputs: compute(*inputs, np)


def has_twin(component: Component) -> bool:
    """Whether :func:`compiled` gives a twin: it computes floats, one an operator, and never warns.

    What a twin is given is finite, and small enough for its products.
    """
    return type(component) in _TWINS
