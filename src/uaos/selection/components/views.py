"""What a reward sees: the kinds of memory, as plain arrays.

They are named tuples, so that JAX can trace through them. In all of them K operators are numbered
0..K-1, and the arrays have a fixed size from the first generation on; what is not filled is 0.
"""

from typing import NamedTuple

from uaos.selection.components.base import Array, Namespace


class Generations(NamedTuple):
    """The last generations, newest first: row t is the t-th last, row 0 the one just evaluated."""

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

    def observations(self, xp: Namespace) -> Array:
        """How many successes of each operator there are in these generations."""
        return self.successes.sum(axis=0)


class Successes(NamedTuple):
    """The metrics of each operator's last successes."""

    metrics: Array
    """K rows; the first `counts[op]` entries of a row are filled, in no particular order."""
    counts: Array

    def observations(self, xp: Namespace) -> Array:
        """How many successes of each operator are remembered."""
        return self.counts

    def points(self, xp: Namespace) -> tuple[Array, Array, Array]:
        """Standard deviation and mean of each operator's metrics, and whether it has any.

        Both are taken relative to the smallest metric, so that equal metrics give a deviation of
        exactly 0 and a mean of exactly that metric, whatever their number; and in order, so that
        operators with the same metrics have the same point to the last bit.
        """
        filled = xp.arange(self.metrics.shape[1]) < self.counts[:, None]
        n = xp.maximum(self.counts, 1.0)
        ordered = xp.sort(xp.where(filled, self.metrics, xp.inf), axis=1)
        first = xp.where(self.counts > 0, ordered[:, 0], 0.0)
        relative = xp.where(filled, ordered - first[:, None], 0.0)
        shift = relative.sum(axis=1) / n
        spread = xp.where(filled, relative - shift[:, None], 0.0)
        deviation = xp.sqrt((spread * spread).sum(axis=1) / n)
        return deviation, first + shift, self.counts > 0


class Bests(NamedTuple):
    """The best fitness that each operator has reached."""

    values: Array
    """`best[op]`: smaller is better; inf before the first value."""

    def observations(self, xp: Namespace) -> Array:
        """One of each operator: its best value."""
        return xp.ones(self.values.shape)


class Window(NamedTuple):
    """The most recent successes of all operators together, oldest first."""

    operators: Array
    """The operator of each entry; -1 where the window is not filled."""
    metrics: Array
    """The metric of each entry; -inf where the window is not filled."""
    size: Array
    """`m`: how many entries are filled."""
    labels: Array
    """0..K-1."""

    def membership(self, xp: Namespace) -> Array:
        """K rows of W flags: does the entry belong to the operator?"""
        return self.labels[:, None] == self.operators

    def observations(self, xp: Namespace) -> Array:
        """How many entries each operator has."""
        return self.membership(xp).sum(axis=1)
