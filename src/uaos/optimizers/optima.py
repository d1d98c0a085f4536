"""Evidence that the best optimum is known: where runs ended, and whether functions are convex."""

from typing import ClassVar

import numpy as np

from uaos.arrays import BoolArray, FloatArray
from uaos.statefile import Stateful

# The most optima and tangents that are kept.
_MAX_KEPT = 50
# Two values belong to one optimum if they differ by less than _SAME of their size, or by less than
# _ABOUT of their distance from the best value.
_SAME, _ABOUT = 1e-6, 0.1
# As slopes are inexact, tangents may exceed a convex function by the share _INEXACT of its changes,
# and by what rounding errors of _ROUNDING make of a slope. They are compared at points more than
# _APART differences apart.
_INEXACT, _APART, _ROUNDING = 0.01, 10.0, 4.0 * float(np.finfo(float).eps)
# Runs after which the best optimum may be known, unless the problem is convex.
_MIN_RUNS = 6


class Optima(Stateful):
    """Optima at which independent runs ended.

    Parameters
    ----------
    dimension : int
    least : float
        Values are compared as if they were at least this large.

    Examples
    --------
    >>> import numpy as np
    >>> optima = Optima(1)
    >>> for _ in range(6):
    ...     optima.add(2.0, np.array([1.0]))
    >>> optima.repeated, optima.known
    (True, True)
    """

    state_names: ClassVar[tuple[str, ...]] = ("points", "values", "counts", "number", "runs")

    def __init__(self, dimension: int, least: float = 1.0) -> None:
        self._least = least
        self.points = np.zeros((0, dimension))
        self.values = np.zeros(0)
        self.counts = np.zeros(0, np.int64)
        self.number = self.runs = 0

    def add(self, value: float, point: FloatArray) -> None:
        """Count a run that ended at a point."""
        self.runs += 1
        best = self.values.min(initial=value)
        tolerance = max(_SAME * max(self._least, abs(value)), _ABOUT * (value - best))
        same = np.flatnonzero(np.abs(self.values - value) <= tolerance)
        if len(same):
            k = same[0]
            self.counts[k] += 1
            if value < self.values[k]:
                self.values[k], self.points[k] = value, point
            return
        self.number += 1
        best = np.argsort(self.values, kind="stable")[: _MAX_KEPT - 1]
        self.values = np.append(self.values[best], value)
        self.counts = np.append(self.counts[best], 1)
        self.points = np.vstack([self.points[best], point])

    @property
    def repeated(self) -> bool:
        """True if two runs ended at the best optimum, and one more per run that ended elsewhere."""
        if not self.runs:
            return False
        agreeing = int(self.counts[self.values.argmin()])
        return agreeing >= 2 + (self.runs - agreeing)

    @property
    def known(self) -> bool:
        """True if two runs ended at the best optimum and a better one is unlikely.

        That takes at least six runs, and at least twice as many runs as different optima. Let p be
        the share of runs that end below the best value, with each share equally likely beforehand.
        After n runs its expected value is 1 / (n + 1).
        """
        if self.runs < _MIN_RUNS or self.counts[self.values.argmin()] < 2:
            return False
        return 2 * self.number <= self.runs


class Tangents(Stateful):
    """Linear models of functions at several points, which can show that one is not convex.

    Functions are the columns of values, (F,) at a point, and the rows of slopes, (F, D).
    """

    state_names: ClassVar[tuple[str, ...]] = ("points", "values", "slopes", "steps", "convex")

    def __init__(self, dimension: int) -> None:
        self.points = np.zeros((0, dimension))
        self.values = np.zeros((0, 0))
        self.slopes = np.zeros((0, 0, dimension))
        self.steps = np.zeros(0)
        self.convex = True

    def add(
        self, x: FloatArray, values: FloatArray, slopes: FloatArray, step: float, linear: BoolArray
    ) -> None:
        """Add a point, and compare it with the others.

        Parameters
        ----------
        x : ndarray, shape (D,)
        values, slopes : ndarray, shapes (F,) and (F, D)
        step : float
            The largest difference that the slopes were estimated with.
        linear : ndarray of bool, shape (F,)
            Functions that must be linear for the problem to be convex.
        """
        if not (self.convex and np.isfinite(values).all() and np.isfinite(slopes).all()):
            return
        if self.values.shape[1] != len(values):
            self.values, self.slopes = np.zeros((0, len(values))), np.zeros((0, *slopes.shape))
            self.points, self.steps = np.zeros((0, len(x))), np.zeros(0)
        moves = x - self.points
        far = np.abs(moves).max(axis=1, initial=0.0) > _APART * np.maximum(self.steps, step)
        moves, rises = moves[far], (values - self.values)[far]
        behind, ahead = np.einsum("nfd,nd->nf", self.slopes[far], moves), moves @ slopes.T
        reach = np.abs(moves).sum(axis=1, keepdims=True)
        for change, sign, width in ((behind, 1.0, self.steps[far, None]), (ahead, -1.0, step)):
            gap = sign * (rises - change)
            rounding = _ROUNDING * reach / np.where(width > 0, width, np.inf)
            allowed = _INEXACT * (np.abs(rises) + np.abs(change))
            allowed += (1e-9 + rounding) * (1.0 + np.abs(values))
            if (gap < -allowed).any() or (gap[:, linear] > allowed[:, linear]).any():
                self.convex = False
                return
        latest = slice(-_MAX_KEPT + 1, None)
        self.points = np.vstack([self.points[latest], x])
        self.values = np.vstack([self.values[latest], values])
        self.steps = np.append(self.steps[latest], step)
        self.slopes = np.concatenate([self.slopes[latest], slopes[None]])
