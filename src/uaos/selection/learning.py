"""A generation of learning: from the fitness of offspring to the probabilities of operators.

`compose` defines the order of the steps. A method whose components all have kernels learns in one
compiled call; any other method calls its components in turn.
"""

import os
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from uaos.arrays import BoolArray, FloatArray, IntArray
from uaos.jit import njit
from uaos.selection.components import Component, Evidence
from uaos.selection.components.base import saturate
from uaos.selection.memory import Memory, record_generation

Step = Callable[..., Any]

#: Arrays that learning updates in place: the table of a :class:`GenerationMemory` and its number of
#: generations; the rewards, qualities and probabilities of the operators. (A plain tuple: a
#: named one makes each call of the kernel a third slower.)
LearningState = tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]


def compose(metric: Step, record: Step, reward: Step, quality: Step, probability: Step) -> Step:
    """Return a function that learns from one generation, step by step."""

    def learn(
        state: LearningState,
        values: tuple[tuple[float, ...], ...],  # parameters of reward, quality and probability
        by_reference: bool,
        scale: bool,
        best_so_far: float,
        operators: IntArray,
        parents: FloatArray,
        offspring: FloatArray,
    ) -> float:
        """Update the state from one generation; return the best fitness so far."""
        table, count, previous, q, p = state
        best_parent, best_offspring, all_finite = fitness_summary(parents, offspring)
        if not all_finite:
            parents, offspring = repair_fitness(parents, offspring)
        best_so_far = min(best_so_far, best_parent)

        metrics = metric(parents, offspring, best_so_far)
        successes = np.empty(len(metrics), np.bool_)
        mask_failures(metrics, successes, parents, offspring, by_reference)
        record(table, count, operators, metrics, successes, offspring)
        rewards = scale_rewards(reward(table[0], table[1], table[2], table[3], *values[0]), scale)
        normalize_qualities(quality(rewards, previous, q, p, *values[1]), q)
        normalize_probabilities(probability(q, p, *values[2]), p)

        # A loop, because numba takes seconds to compile an assignment to a slice.
        for op in range(len(rewards)):
            previous[op] = rewards[op]
        return min(best_so_far, best_offspring)

    return learn


@cache
def compiled_learner(
    metric: type[Component],
    reward: type[Component],
    quality: type[Component],
    probability: type[Component],
) -> Step:
    """Return the kernel that learns by the kernels of these components."""
    parts = (metric, reward, quality, probability)
    kernels: Any = [part.kernel for part in parts]
    learn = compose(kernels[0], record_generation, *kernels[1:])
    # A cache file for each combination. Numba compiles anew when this file has changed; the stamp
    # covers those of the kernels that are called.
    learn.__qualname__ = "_".join(["learn", *(part.name for part in parts), _stamp()])
    return njit(learn)


@cache
def _stamp() -> str:
    """Return a checksum of the times and sizes of this package's files."""
    files = sorted(Path(__file__).parent.rglob("*.py"))
    states = [(state.st_mtime_ns, state.st_size) for state in map(os.stat, files)]
    return f"{zlib.crc32(repr(states).encode()):08x}"


def interpreted_learner(
    metric: Step,
    reward: Step,
    quality: Step,
    probability: Step,
    memory: Memory,
    counts_observations: bool,
    reuses_rewards: bool,
) -> Step:
    """Return a function like that of :func:`compiled_learner`, which calls `compute` methods.

    It writes to `memory`, so it ignores its first two arguments. With `reuses_rewards`, rewards are
    computed only when the memory has changed.
    """
    latest: FloatArray | None = None

    def record(
        _table: FloatArray,
        _count: FloatArray,
        operators: IntArray,
        metrics: FloatArray,
        successes: BoolArray,
        offspring: FloatArray,
    ) -> None:
        memory.record(operators, metrics, successes, offspring)

    def compute_rewards(*_tables: FloatArray) -> FloatArray:
        nonlocal latest
        if latest is None or memory.changed or not reuses_rewards:
            latest = reward(memory)
        return latest

    def compute_qualities(
        rewards: FloatArray, previous: FloatArray, q: FloatArray, p: FloatArray
    ) -> Any:
        observations = memory.observations() if counts_observations else p
        return quality(Evidence(rewards, previous, q, p, observations))

    # Overflow, 0/0 and the like are masked or saturated, so warnings are not needed.
    learn = compose(metric, record, compute_rewards, compute_qualities, probability)
    return np.errstate(all="ignore")(learn)


# The steps between the components: checks, success, scaling and normalization. Sums run in the
# order of the index, so that compiled and interpreted kernels agree to the last bit.


@njit
def first_outside(operators: IntArray, n_operators: int) -> int:
    """Return the first place whose operator is not one of 0..K-1, or -1."""
    for i in range(len(operators)):
        if operators[i] < 0 or operators[i] >= n_operators:
            return i
    return -1


@njit
def count_applications(applications: IntArray, operators: IntArray) -> None:
    """Add each operator's number of occurrences to its applications."""
    for i in range(len(operators)):
        applications[operators[i]] += 1


@njit
def fitness_summary(parents: FloatArray, offspring: FloatArray) -> tuple[float, float, bool]:
    """Return the best finite fitness of parents and of offspring, and whether all are finite."""
    best_parent = np.inf
    best_offspring = np.inf
    all_finite = True
    for i in range(len(parents)):
        if not np.isfinite(parents[i]):
            all_finite = False
        elif parents[i] < best_parent:
            best_parent = parents[i]
        if not np.isfinite(offspring[i]):
            all_finite = False
        elif offspring[i] < best_offspring:
            best_offspring = offspring[i]
    return best_parent, best_offspring, all_finite


@njit
def repair_fitness(parents: FloatArray, offspring: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return copies of the fitness values in which failed evaluations have a defined fitness.

    A fitness that is not finite is a failed evaluation. A failed offspring gets inf, which never
    improves. A failed parent gets the fitness of the worst finite parent, so that improving on it
    has a finite size; if no parent is finite, nothing improves.
    """
    n = len(parents)
    worst = -np.inf
    for i in range(n):
        if np.isfinite(parents[i]) and parents[i] > worst:
            worst = parents[i]
    repaired_parents, repaired_offspring = np.empty(n), np.empty(n)
    for i in range(n):
        repaired_parents[i] = parents[i] if np.isfinite(parents[i]) else worst
        repaired_offspring[i] = offspring[i] if np.isfinite(offspring[i]) else np.inf
    return repaired_parents, repaired_offspring


@njit
def mask_failures(
    metrics: FloatArray,
    successes: BoolArray,
    parents: FloatArray,
    offspring: FloatArray,
    by_reference: bool,
) -> int:
    """Set the metrics of offspring that do not improve to 0, and mark and count the successes.

    An offspring that improves on its parent is a success. With `by_reference`, for metrics that
    compare with a reference other than the parent, its metric must be positive as well.
    """
    n_successes = 0
    for i in range(len(metrics)):
        improves = offspring[i] < parents[i]
        metrics[i] = saturate(metrics[i]) if improves else 0.0
        successes[i] = improves and (metrics[i] > 0.0 or not by_reference)
        n_successes += successes[i]
    return n_successes


@njit
def scale_rewards(values: FloatArray, scale: bool) -> FloatArray:
    """Return finite rewards; with `scale`, mapped linearly onto [0, 1] (all equal: all 0)."""
    k = len(values)
    rewards = np.empty(k)
    low, high = np.inf, -np.inf
    for op in range(k):
        rewards[op] = saturate(values[op])
        low, high = min(low, rewards[op]), max(high, rewards[op])
    if scale:
        span = high - low
        for op in range(k):
            rewards[op] = (rewards[op] - low) / span if span > 0.0 else 0.0
    return rewards


@njit
def normalize_qualities(values: FloatArray, shares: FloatArray) -> None:
    """Write finite qualities, shifted so that none is negative, and divided by their sum."""
    low = 0.0
    for op in range(len(values)):
        shares[op] = saturate(values[op])
        low = min(low, shares[op])
    for op in range(len(values)):
        shares[op] -= low
    normalize_probabilities(shares, shares)


@njit
def normalize_probabilities(values: FloatArray, shares: FloatArray) -> None:
    """Write non-negative values, divided by their sum; 1/K each if the sum is 0."""
    k = len(values)
    total = 0.0
    for op in range(k):
        total += values[op]
    for op in range(k):
        shares[op] = values[op] / total if total > 0.0 else 1.0 / k
