"""What a reward sees: the kinds of memory, as plain arrays.

K operators are numbered 0..K-1. The arrays have a fixed size from the first generation on; what is
not filled is 0 unless said otherwise. They are live: a component reads them and does not write.
"""

from typing import NamedTuple

import numpy as np

from uaos.jit import njit
from uaos.selection.components.base import Array


class Generations(NamedTuple):
    """The last generations, newest first. Passed to :meth:`uaos.GenerationReward.compute`.

    Row t is the t-th last generation, row 0 the one just evaluated.
    """

    successes: Array
    """`s[t, op]`: how many offspring of op were successes."""
    applications: Array
    """`n[t, op]`: how often op was applied."""
    sums: Array
    """`S[t, op]`: sum of the metric over the successes."""
    bests: Array
    """`B[t, op]`: maximum of the metric over the successes."""
    count: Array
    """`T`: how many rows are filled."""


class Successes(NamedTuple):
    """Each operator's last successes. Passed to :meth:`uaos.SuccessReward.compute`."""

    metrics: Array
    """K rows; the first `counts[op]` entries of a row are filled, in no particular order."""
    counts: Array
    """How many successes of each operator are remembered."""

    def points(self) -> tuple[Array, Array, Array]:
        """Standard deviation and mean of each operator's metrics, and whether it has any.

        Both are taken relative to the smallest metric, so that equal metrics give a deviation of
        exactly 0 and a mean of exactly that metric, whatever their number; and in order, so that
        operators with the same metrics have the same point to the last bit.
        """
        n = np.maximum(self.counts, 1.0)
        relative, smallest = _above_smallest(self.metrics, self.counts)
        shift = relative.sum(axis=1) / n
        squares = _squared_deviations(relative, shift, self.counts)
        return np.sqrt(squares.sum(axis=1) / n), smallest + shift, self.counts > 0


@njit(cache=True)
def _above_smallest(metrics: Array, counts: Array) -> tuple[Array, Array]:
    """Each row in order and relative to its smallest metric, and that metric."""
    K, size = metrics.shape
    relative, smallest = np.zeros((K, size)), np.zeros(K)
    for op in range(K):
        count = int(counts[op])
        if count > 0:
            ordered = np.sort(metrics[op, :count])
            smallest[op] = ordered[0]
            for e in range(count):
                relative[op, e] = ordered[e] - ordered[0]
    return relative, smallest


@njit(cache=True)
def _squared_deviations(relative: Array, shift: Array, counts: Array) -> Array:
    K, size = relative.shape
    squares = np.zeros((K, size))
    for op in range(K):
        for e in range(int(counts[op])):
            deviation = relative[op, e] - shift[op]
            squares[op, e] = deviation * deviation
    return squares


class Window(NamedTuple):
    """The last successes of all, oldest first. Passed to :meth:`uaos.WindowReward.compute`."""

    operators: Array
    """The operator of each entry; -1 where the window is not filled."""
    metrics: Array
    """The metric of each entry; -inf where the window is not filled."""
    size: Array
    """`m`: how many entries are filled."""
    labels: Array
    """0..K-1."""

    def membership(self) -> Array:
        """K rows of W flags: does the entry belong to the operator?"""
        return self.labels[:, None] == self.operators


class Bests(NamedTuple):
    """The best fitness that each operator has reached."""

    values: Array
    """`best[op]`: smaller is better; inf before the first value."""


class SuccessCounts(NamedTuple):
    """Counts of successes that start anew when one is far behind."""

    counts: Array
    """`c[op]`: the count of each operator."""
