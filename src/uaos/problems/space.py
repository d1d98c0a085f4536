"""The space that a run searches: bounds, integer coordinates, starting points.

A coordinate whose bounds are equal is held there: a run searches the others alone.
"""

from collections.abc import Iterator, ValuesView
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from uaos.arrays import BoolArray, FloatArray
from uaos.checks import real_numbers
from uaos.errors import InvalidParameter


class Bounds(Protocol):
    """Lower and upper bounds as attributes, such as those of scipy.optimize.Bounds."""

    @property
    def lb(self) -> ArrayLike:
        """Lower bounds."""

    @property
    def ub(self) -> ArrayLike:
        """Upper bounds."""


#: Bounds of a box: pairs (low, high), or an object with `lb` and `ub`.
BoundsLike = ArrayLike | Bounds


def box(bounds: object, *, held: bool = False) -> tuple[FloatArray, FloatArray]:
    """Return lower and upper bounds from pairs, an array (D, 2), or an object with `lb` and `ub`.

    `held` allows low = high.
    """
    order = "low <= high" if held else "low < high"
    expected = f"a pair (low, high) of finite numbers, {order}, for each coordinate"
    if isinstance(bounds, Iterator | ValuesView):  # such as zip(low, high), or values of a dict
        bounds = list(bounds)
    try:
        if bounds is None:
            raise TypeError
        if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
            lb, ub = np.broadcast_arrays(np.atleast_1d(bounds.lb), np.atleast_1d(bounds.ub))
            pairs = np.column_stack([lb, ub]).astype(float)
        else:
            pairs = real_numbers(bounds)
    except (TypeError, ValueError):
        raise InvalidParameter(
            f"bounds is {bounds!r}; expected {expected}", name="bounds", value=bounds
        ) from None
    if pairs.ndim != 2 or pairs.shape[1] != 2 or len(pairs) == 0:
        if pairs.ndim == 2 and len(pairs) == 2:
            expected += "; for two arrays low and high: list(zip(low, high))"
        raise InvalidParameter(
            f"bounds has shape {pairs.shape}; expected (D, 2), {expected}",
            name="shape", value=pairs.shape, owner="bounds",
        )  # fmt: skip
    for j, (a, b) in enumerate(pairs.tolist()):
        if not (np.isfinite(a) and np.isfinite(b)):
            expected += ". Where you know no bound, give one that is wide enough"
        if not (np.isfinite(a) and np.isfinite(b) and (a < b or (held and a == b))):
            raise InvalidParameter(
                f"bounds[{j}] is {(a, b)}; expected {expected}", name=f"bounds[{j}]", value=(a, b)
            )
        if not (np.isfinite(b - a) and np.isfinite(a + b)):
            raise InvalidParameter(
                f"bounds[{j}] is {(a, b)}, where high - low or high + low overflows; rescale the "
                "variable",
                name=f"bounds[{j}]", value=(a, b),
            )  # fmt: skip
    return pairs[:, 0].copy(), pairs[:, 1].copy()


def integer_coordinates(integrality: ArrayLike, dimension: int) -> BoolArray:
    """Return which coordinates are integers; one value stands for all of them."""
    try:
        chosen = np.broadcast_to(np.asarray(integrality), (dimension,))
        if chosen.dtype.kind not in "biuf" or not np.isin(chosen, (0, 1)).all():
            raise ValueError
    except ValueError:
        raise InvalidParameter(
            f"integrality is {integrality!r}; expected True or False for each of {dimension} "
            "coordinates",
            name="integrality", value=integrality,
        ) from None  # fmt: skip
    return chosen.astype(bool)


def integer_box(low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the smallest and the largest integer within the bounds of each coordinate."""
    least, most = np.ceil(low), np.floor(high)
    for j in np.flatnonzero(least > most).tolist():
        raise InvalidParameter(
            f"there is no integer between the bounds {low[j]:g} and {high[j]:g}; widen them, or "
            "change `integrality`",
            name="bounds", value=(float(low[j]), float(high[j])),
        )  # fmt: skip
    return least, most


def start_points(x0: object, low: FloatArray, high: FloatArray, boundary: str) -> FloatArray | None:
    """Return the points that a run is to start with, (m, D), inside the box if it is enforced."""
    if x0 is None:
        return None
    D = len(low)
    expected = f"one point of length {D}, or several, (m, {D}), of finite numbers"
    try:
        points = np.atleast_2d(real_numbers(x0))
    except (TypeError, ValueError):
        raise InvalidParameter(f"x0 is {x0!r}; expected {expected}", name="x0", value=x0) from None
    if points.ndim != 2 or points.shape[1] != D or not np.isfinite(points).all():
        raise InvalidParameter(f"x0 is {x0!r}; expected {expected}", name="x0", value=x0)
    outside = np.argwhere((points < low) | (points > high))
    if len(outside) and boundary != "none":
        point, j = outside[0].tolist()
        raise InvalidParameter(
            f"x0[{point}, {j}] is {points[point, j]:g}; expected {low[j]:g} to {high[j]:g}, or "
            'any number with boundary="none"',
            name=f"x0[{point}, {j}]", value=float(points[point, j]),
        )  # fmt: skip
    return points


class FreeSpace:
    """The box without the coordinates that are held at low = high.

    Parameters
    ----------
    bounds : array_like, shape (D, 2), or an object with `lb` and `ub`
        The box.
    integrality : array_like of bool, optional
        Which coordinates are integers; a single value applies to all.

    Attributes
    ----------
    low, high : ndarray, shape (D,)
        The bounds of all coordinates, rounded inward for integers.
    free : ndarray of bool, shape (D,)
        Which coordinates are searched.
    dimension : int
        The number of free coordinates.
    integrality : ndarray of bool, shape (dimension,), or None
        Which free coordinates are integers.
    """

    def __init__(self, bounds: BoundsLike, integrality: ArrayLike | None = None) -> None:
        self.low, self.high = box(bounds, held=True)
        self.integrality: BoolArray | None = None
        if integrality is not None:
            chosen = integer_coordinates(integrality, len(self.low))
            self.low[chosen], self.high[chosen] = integer_box(self.low[chosen], self.high[chosen])
            self.integrality = chosen[self.low < self.high]
        self.free = self.low < self.high
        self.dimension = int(self.free.sum())
        for array in (self.low, self.high, self.free):
            array.flags.writeable = False

    @property
    def bounds(self) -> FloatArray:
        """Bounds of the free coordinates."""
        return np.column_stack([self.low[self.free], self.high[self.free]])

    def full(self, x: FloatArray) -> FloatArray:
        """Return a copy of a point, or of several, with the held coordinates."""
        if self.dimension == len(self.low):
            return x.copy()
        full = np.broadcast_to(self.low, (*x.shape[:-1], len(self.low))).copy()
        full[..., self.free] = x
        return full

    def reduced(self, x0: ArrayLike | None) -> ArrayLike | None:
        """Return starting points without the held coordinates."""
        if x0 is None or self.dimension == len(self.low):
            return x0
        try:
            points = np.atleast_2d(np.array(x0, dtype=float))
        except (TypeError, ValueError):
            return x0  # the optimizer says what is wrong
        D = len(self.low)
        if points.shape[-1] != D:
            raise InvalidParameter(
                f"x0 has shape {points.shape}; expected one point of length {D}, or several, "
                f"(m, {D})",
                name="x0", value=x0,
            )  # fmt: skip
        return points[:, self.free]

    def rounded(self, points: FloatArray) -> FloatArray:
        """Return a copy of points of the free coordinates with integers rounded."""
        points = points.copy()
        if self.integrality is not None:
            points[:, self.integrality] = np.rint(points[:, self.integrality])
        return points
