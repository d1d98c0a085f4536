"""The steps between the components of a method: checks, success, scaling and normalization.

Sums run in the order of the index, so that compiled and interpreted kernels agree to the last bit.
"""

import numpy as np

from uaos.arrays import BoolArray, FloatArray, IntArray
from uaos.jit import njit
from uaos.selection.components.base import saturate


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
