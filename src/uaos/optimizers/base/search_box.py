"""The box of numbers that an optimizer searches, however it was declared."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from uaos.arrays import BoolArray, FloatArray, IntArray
from uaos.errors import InvalidFeedback, InvalidParameter, shortened
from uaos.problems.activity import Activity
from uaos.problems.space import (
    CATEGORY,
    BoundsLike,
    Box,
    box,
    integer_box,
    integer_coordinates,
    rounded_logarithms,
)
from uaos.problems.variables import Space

#: Replaces an infinite bound, so that the width of the box is finite.
LARGEST = float(np.finfo(float).max) / 2


def without_names(
    bounds: BoundsLike | None, x0: ArrayLike | None, integrality: ArrayLike | None
) -> tuple[BoundsLike | None, ArrayLike | None, ArrayLike | None]:
    """Return the arguments in numbers: named variables become a box, and dicts points."""
    if not isinstance(bounds, Mapping | Space):
        return bounds, x0, integrality
    space = bounds if isinstance(bounds, Space) else Space(bounds)
    if not space.searched:
        raise InvalidParameter(
            f"bounds is {shortened(space)}; expected at least one variable that is not fixed",
            name="bounds", value=bounds,
        )  # fmt: skip
    declared = Box(space.bounds, activity=space.activity, log_integers=space.log_integers)
    return declared, space.starts(x0), space.integrality


@dataclass(frozen=True, eq=False)
class SearchBox:
    """Box of real numbers, some of which are rounded before they are evaluated.

    Parameters
    ----------
    low, high : ndarray, shape (D,)
        The bounds: finite, and half a unit wider than the range of an integer, so that each integer
        is as likely as any other.
    integrality : ndarray of int, shape (D,), optional
        Kinds of the coordinates: 0 real, 1 integer, 2 category; None if all are real.
    activity : Activity, optional
        Which coordinates count, depending on others.
    outside_allowed : bool
        Whether points may leave the box.
    log_integers : ndarray of bool, shape (D,), optional
        Which coordinates are logarithms of integers; None if none are.

    Examples
    --------
    >>> from uaos.optimizers.base.search_box import SearchBox
    >>> box = SearchBox.of([(0, 1), (1, 3)], integrality=[False, True])
    >>> box.high.round(6).tolist(), box.rounded(box.high).tolist()
    ([1.0, 3.5], [1.0, 3.0])
    """

    low: FloatArray
    high: FloatArray
    integrality: IntArray | None = None
    activity: Activity | None = None
    outside_allowed: bool = False
    log_integers: BoolArray | None = None

    @classmethod
    def of(cls, bounds: BoundsLike, integrality: ArrayLike | None = None) -> Self:
        """Return the box within these bounds, which may be infinite."""
        declared = Box.of(bounds)
        low, high = (np.nan_to_num(b, posinf=LARGEST, neginf=-LARGEST) for b in box(declared))
        kinds = None
        if integrality is not None:
            kinds = integer_coordinates(integrality, len(low), CATEGORY)
            chosen = kinds > 0
            least, most = integer_box(low[chosen], high[chosen])
            low[chosen] = np.nextafter(least - 0.5, np.inf)
            high[chosen] = np.nextafter(most + 0.5, -np.inf)
            kinds = kinds if chosen.any() else None
        return cls(
            low, high, kinds, declared.activity, declared.outside_allowed, declared.log_integers
        )

    @cached_property
    def integers(self) -> IntArray | None:
        """Indices of integer coordinates, categories among them; None if there are none."""
        return None if self.integrality is None else np.flatnonzero(self.integrality)

    @cached_property
    def categories(self) -> IntArray | None:
        """Indices of coordinates without an order; None if there are none."""
        if self.integrality is None or not (self.integrality == CATEGORY).any():
            return None
        return np.flatnonzero(self.integrality == CATEGORY)

    def rounded(self, points: FloatArray) -> FloatArray:
        """Return a copy of points with integer coordinates rounded."""
        points = points.copy()
        if self.integers is not None:
            points[..., self.integers] = np.rint(points[..., self.integers]) + 0.0  # no -0.0
        if self.log_integers is not None:
            points = rounded_logarithms(points, self.log_integers, self.low, self.high)
        return points

    def check(self, points: FloatArray, proposer: str) -> None:
        """Raise an error if an optimizer proposed a point outside the box."""
        outside = np.argwhere(~((points >= self.low) & (points <= self.high)))  # or NaN
        if len(outside):
            i, j = outside[0].tolist()
            raise InvalidFeedback(
                f"{proposer} proposed {points[i, j]:g} for coordinate {j}; expected "
                f"{self.low[j]:g} to {self.high[j]:g}. Let _propose return points inside the "
                "bounds, for example np.clip(points, self.low, self.high)"
            )
