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
from uaos.selection.memory import Memory, record_generation
from uaos.selection.normalization import (
    fitness_summary,
    mask_failures,
    normalize_probabilities,
    normalize_qualities,
    repair_fitness,
    scale_rewards,
)

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
