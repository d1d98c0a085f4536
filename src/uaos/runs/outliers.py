"""Outliers: single wrong values of a function whose other values can be trusted."""

import math
from collections.abc import Callable

import numpy as np

from uaos.arrays import BoolArray, FloatArray
from uaos.statefile import SavedState, State

#: Values of one point that differ by less than this share are equal up to rounding.
ROUNDING = 1e-12
#: The most values of one point; if no two of them agree, their median counts.
MOST_VALUES = 12
#: Evaluations per point: the smallest number, the number expected at first, and the number of
#: points that this expectation weighs as much as.
LEAST_COST, FIRST_COST, FIRST_WEIGHT = 2.0, 2.2, 10
#: Confirmation fails if fewer pairs of first values agree than half of them less this number.
TOLERATED = 5


_COUNTS = ("points", "evaluations", "compared", "agreeing")

#: Evaluates points, and returns NaN where one is infeasible.
Evaluate = Callable[[FloatArray], FloatArray]


def agree(a: FloatArray, b: FloatArray | float) -> BoolArray:
    """Return where values are equal up to rounding; NaN equals NaN."""
    with np.errstate(invalid="ignore"):
        close = np.abs(a - b) <= ROUNDING * np.maximum(np.abs(a), np.abs(b))
    same: BoolArray = close | (a == b) | (np.isnan(a) & np.isnan(b))
    return same


def agreed_value(values: FloatArray) -> float:
    """Return the value that most values agree on; NaN if no two do.

    Examples
    --------
    >>> import numpy as np
    >>> agreed_value(np.array([-7.0, 2.0, 2.0]))
    2.0
    >>> agreed_value(np.array([-7.0, 1.0, 2.0]))
    nan
    """
    counts = [int(agree(values, value).sum()) for value in values]
    most = max(counts, default=0)
    return float(values[counts.index(most)]) if most > 1 else math.nan


def step_between(values: FloatArray) -> float:
    """Return the largest step that all values are multiples of apart, up to rounding.

    It is the greatest common divisor of the differences, by Euclid's algorithm: the step of counts
    or rounded values, and next to nothing for values of a continuous function.

    Examples
    --------
    >>> import numpy as np
    >>> step_between(np.array([0.5, 2.0, 4.25, 2.0]))
    0.75
    """
    ordered = np.unique(values)
    rounding = 1e3 * ROUNDING * np.maximum(np.abs(ordered[1:]), np.abs(ordered[:-1]))
    step = 0.0
    for gap, least in zip(np.diff(ordered).tolist(), rounding.tolist(), strict=True):
        rest = math.remainder(gap, step) if step else gap
        while abs(rest) > least:
            step, rest = abs(rest), math.remainder(step, rest)
    return step


class Confirmation:
    """Confirmation of values: every point is evaluated until two of its values agree.

    Where noise hits single values and leaves the others exact, such as a measurement that fails now
    and then, the search without noise goes on with confirmed values. The evaluations per point are
    estimated from the evaluations so far:

        c = (10 · 2.2 + n) / (10 + p)

    with n evaluations of p points. If the first two values agree for fewer points than half of them
    less five, noise is not of this kind.

    Attributes
    ----------
    points, evaluations : int
        Points confirmed, and the evaluations that this took.
    compared, agreeing : int
        Points with two values or more, and those whose first two values agreed.
    """

    def __init__(self) -> None:
        self.points = self.evaluations = self.compared = self.agreeing = 0

    @property
    def cost(self) -> float:
        """Evaluations per point."""
        return (FIRST_WEIGHT * FIRST_COST + self.evaluations) / (FIRST_WEIGHT + self.points)

    @property
    def fails(self) -> bool:
        """True if values differ too often to be confirmed."""
        return self.agreeing < self.compared / 2 - TOLERATED

    def __call__(
        self, points: FloatArray, values: FloatArray, allowed: float, evaluate: Evaluate
    ) -> FloatArray:
        """Evaluate points until two values agree, and return the value that counts for each.

        Parameters
        ----------
        points : ndarray, shape (n, D)
            The points.
        values : ndarray, shape (n,)
            The first value of each.
        allowed : float
            The most evaluations; points with the lowest first values come first.
        evaluate : callable
            Returns new values of points.

        Returns
        -------
        ndarray, shape (n,)
            A value that was found twice; the median of twelve that all differ; or NaN if there
            were too few evaluations to confirm one. Once confirmation fails, the median.
        """
        rows = [[value] for value in values.tolist()]
        settled = [False] * len(rows)
        self.points += len(rows)
        self.evaluations += len(rows)
        spent = 0
        while not self.fails:
            pending = [
                k for k in np.argsort(values).tolist()
                if not settled[k] and len(rows[k]) < MOST_VALUES
            ]  # fmt: skip
            pending = pending[: int(min(len(pending), allowed - spent))]
            if not pending:
                break
            for k, value in zip(pending, evaluate(points[pending]).tolist(), strict=True):
                settled[k] = bool(agree(np.array(rows[k]), value).any())
                self.compared += len(rows[k]) == 1
                self.agreeing += len(rows[k]) == 1 and settled[k]
                rows[k].append(value)
            spent += len(pending)
            self.evaluations += len(pending)
        return np.array([
            row[-1] if agreed else self._unsettled(row)
            for row, agreed in zip(rows, settled, strict=True)
        ])  # fmt: skip

    def _unsettled(self, values: list[float]) -> float:
        """Return the value that counts where no two values of a point agree."""
        counts = self.fails or len(values) >= MOST_VALUES
        return float(np.median(values)) if counts else math.nan

    def state(self) -> State:
        """Return the counts."""
        return {name: getattr(self, name) for name in _COUNTS}

    @classmethod
    def from_state(cls, state: SavedState) -> "Confirmation":
        """Return the confirmation that :meth:`state` described."""
        confirmation = cls()
        for name in _COUNTS:
            setattr(confirmation, name, state[name])
        return confirmation
