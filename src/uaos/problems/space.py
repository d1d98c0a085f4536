"""The space that a run searches: bounds, integer coordinates, starting points.

A coordinate whose bounds are equal is held there: a run searches the others alone.
"""

from collections.abc import Iterator, Mapping, Sequence, ValuesView
from typing import Protocol, cast

import numpy as np
from numpy.typing import ArrayLike

from uaos.arrays import BoolArray, FloatArray, IntArray
from uaos.checks import real_numbers, true_or_false
from uaos.errors import InvalidParameter, shortened
from uaos.params import Parameter, Value
from uaos.problems.activity import Activity
from uaos.problems.variables import Space
from uaos.text import exact


class Bounds(Protocol):
    """Lower and upper bounds as attributes, such as those of scipy.optimize.Bounds."""

    @property
    def lb(self) -> ArrayLike:
        """Lower bounds."""

    @property
    def ub(self) -> ArrayLike:
        """Upper bounds."""


#: Bounds of a box: pairs (low, high), an object with `lb` and `ub`, or named variables.
BoundsLike = ArrayLike | Bounds | Space | Mapping[str, object]

#: Points to start from: arrays, or with names mappings.
StartLike = ArrayLike | Mapping[str, object] | Sequence[Mapping[str, object]]

#: What a user's function gets: an array, or with names a dict of the active variables.
Point = FloatArray | dict[str, Value]


def box(bounds: object, *, held: bool = False) -> tuple[FloatArray, FloatArray]:
    """Return lower and upper bounds from pairs, an array (D, 2), or an object with `lb` and `ub`.

    Bounds may be infinite, or None on a side without one. `held` allows low = high.
    """
    order = "low <= high" if held else "low < high"
    expected = f"a pair (low, high) of numbers, {order}, for each coordinate"
    if isinstance(bounds, Iterator | ValuesView):  # such as zip(low, high), or values of a dict
        bounds = list(bounds)
    try:
        if bounds is None:
            expected += ", or None with a starting point: minimize(fun, x0=x0)"
            raise TypeError
        if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
            lb, ub = np.broadcast_arrays(np.atleast_1d(bounds.lb), np.atleast_1d(bounds.ub))
            pairs = np.column_stack([lb, ub]).astype(float)
        else:
            pairs = real_numbers(_without_none(bounds))
    except (TypeError, ValueError):
        parts = bounds if isinstance(bounds, list | tuple) else [bounds]
        if any(isinstance(part, Parameter) for part in parts):
            expected += '; variables need names: {"x": uaos.Real(0, 1)}'
        raise InvalidParameter(
            f"bounds is {shortened(bounds)}; expected {expected}", name="bounds", value=bounds
        ) from None
    if pairs.ndim != 2 or pairs.shape[1] != 2 or len(pairs) == 0:
        if pairs.shape == (2,):
            expected += "; for the same pair everywhere: [(low, high)] * D"
        if pairs.ndim == 1:
            expected += "; for a point to start from, without bounds: minimize(fun, x0=[…])"
        if pairs.ndim == 2 and len(pairs) == 2:
            expected += "; for two arrays low and high: list(zip(low, high))"
        raise InvalidParameter(
            f"bounds has shape {pairs.shape}; expected (D, 2), {expected}",
            name="shape", value=pairs.shape, owner="bounds",
        )  # fmt: skip
    for j, (a, b) in enumerate(pairs.tolist()):
        if not (a < b or (held and a == b and np.isfinite(a))):
            raise InvalidParameter(
                f"bounds[{j}] is {(a, b)}; expected {expected}", name=f"bounds[{j}]", value=(a, b)
            )
        _check_overflow(j, a, b)
    return pairs[:, 0].copy(), pairs[:, 1].copy()


def _check_overflow(j: int, low: float, high: float) -> None:
    """Raise if the bounds of coordinate j are finite, but their difference or sum is not."""
    bounded = np.isfinite(low) and np.isfinite(high)
    if bounded and not (np.isfinite(high - low) and np.isfinite(low + high)):
        raise InvalidParameter(
            f"bounds[{j}] is {(low, high)}, where high - low or high + low overflows; rescale the "
            "variable",
            name=f"bounds[{j}]", value=(low, high),
        )  # fmt: skip


def _without_none(bounds: object) -> object:
    """Return pairs with infinite bounds in place of None, as SciPy reads them."""
    if not isinstance(bounds, Sequence):
        return bounds
    return [
        [
            limit if bound is None else bound
            for bound, limit in zip(pair, (-np.inf, np.inf), strict=True)
        ]
        if isinstance(pair, list | tuple) and len(pair) == 2
        else pair
        for pair in bounds
    ]


#: Spaces of at most this many points are small: a run may remember all of them.
MOST_POINTS = 100_000

#: The kind of a coordinate that is a category; 1 is an integer, 0 a real number.
CATEGORY = 2


def integer_coordinates(integrality: ArrayLike, dimension: int, most: int) -> IntArray:
    """Return the kind of each coordinate, at most `most`; one value stands for all of them."""
    try:
        chosen = np.broadcast_to(np.asarray(integrality), (dimension,))
        if chosen.dtype.kind not in "biuf" or not np.isin(chosen, range(most + 1)).all():
            raise ValueError
    except ValueError:
        raise InvalidParameter(
            f"integrality is {shortened(integrality)}; expected True or False for each of "
            f"{dimension} coordinates",
            name="integrality", value=integrality,
        ) from None  # fmt: skip
    return chosen.astype(np.int64)


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
    """Return the starting points of a run, (m, D); refuse those outside a box that is enforced."""
    if x0 is None:
        return None
    D = len(low)
    expected = f"one point of length {D}, or several, (m, {D}), of finite numbers"
    try:
        points = np.atleast_2d(real_numbers(x0))
    except (TypeError, ValueError):
        raise InvalidParameter(
            f"x0 is {shortened(x0)}; expected {expected}", name="x0", value=x0
        ) from None
    fits = points.ndim == 2 and points.shape[1] == D and len(points) > 0
    if not (fits and np.isfinite(points).all()):
        raise InvalidParameter(f"x0 is {shortened(x0)}; expected {expected}", name="x0", value=x0)
    outside = np.argwhere((points < low) | (points > high))
    if len(outside) and boundary != "none":
        point, j = outside[0].tolist()
        place = f"x0[{point}, {j}]" if np.ndim(cast(ArrayLike, x0)) == 2 else f"x0[{j}]"
        least, most, value = (exact(v[j]) for v in (low, high, points[point]))
        limits = least if low[j] == high[j] else f"{least} to {most}"
        if np.isinf([low[j], high[j]]).any():
            limits = f"at most {most}" if points[point, j] > high[j] else f"at least {least}"
        # Two arrays low and high look like two pairs.
        turned = D == 2 and low[0] <= points[point, 0] <= low[1]
        turned = turned and high[0] <= points[point, 1] <= high[1]
        hint = "; for two arrays low and high: list(zip(low, high))" if turned else ""
        raise InvalidParameter(
            f"{place} is {value}; expected {limits}, as bounds[{j}]{hint}",
            name=place, value=float(points[point, j]),
        )  # fmt: skip
    return points


def _named_integrality(space: Space, integrality: ArrayLike | None) -> IntArray | None:
    """Return which coordinates of named variables are integers; refuse a mask of them."""
    if integrality is not None:
        raise InvalidParameter(
            "integrality is for bounds without names; declare the variable as uaos.Integer",
            name="integrality", value=integrality,
        )  # fmt: skip
    return space.integrality if space.integrality.any() else None


class Box:
    """Box to search.

    Where only bounds are needed, pairs of numbers suffice. All methods evaluate points inside the
    bounds only, unless the box says that the function is defined outside.

    Parameters
    ----------
    bounds : array_like, shape (D, 2), or an object with `lb` and `ub`
        The bounds, as pairs (low, high); infinite where there is none.
    scale : array_like, optional
        The length of a typical step, a number or one for each coordinate. Runs start within it
        around x0. By default it is the width of the box; where that is infinite, or more than 100
        times |x0|, it is 4 |x0|, or 4 if x0 is 0.
    outside_allowed : bool
        Whether the function is defined outside the bounds, too, so that methods that do not
        enforce bounds (``boundary="none"``) may search there. The bounds then say where to start,
        and contain the optimum.
    activity : Activity, optional
        Which coordinates count, depending on others: :attr:`uaos.Space.activity`.
    log_integers : array_like of bool, optional
        Which coordinates are logarithms of integers: :attr:`uaos.Space.log_integers`.

    Attributes
    ----------
    lb, ub : ndarray, shape (D,)
        The bounds.
    scale : ndarray, shape (D,), or None
    outside_allowed : bool
    activity : Activity or None
    log_integers : ndarray of bool, shape (D,), or None

    Raises
    ------
    InvalidParameter
        If a bound is not a number, low is above high, or the scale is not positive.

    Examples
    --------
    >>> import uaos
    >>> box = uaos.Box([(-5, 5)] * 2, outside_allowed=True)
    >>> problem = uaos.Problem(lambda x: (x**2).sum(), box, name="sphere", optimum=0.0)
    >>> problem.outside_allowed
    True
    """

    def __init__(
        self,
        bounds: BoundsLike,
        *,
        scale: ArrayLike | None = None,
        outside_allowed: bool = False,
        activity: Activity | None = None,
        log_integers: ArrayLike | None = None,
    ) -> None:
        self.activity = activity
        self.log_integers = None if log_integers is None else np.asarray(log_integers, bool)
        self.lb, self.ub = box(bounds, held=True)
        self.scale = None if scale is None else _checked_scale(scale, len(self.lb))
        self.outside_allowed = true_or_false(outside_allowed, "outside_allowed")

    @classmethod
    def of(cls, bounds: BoundsLike) -> "Box":
        """Return a box from a box, pairs, or an object with `lb` and `ub`."""
        return bounds if isinstance(bounds, Box) else cls(bounds)


def _checked_scale(scale: ArrayLike, dimension: int) -> FloatArray:
    """Return the scale of each coordinate."""
    try:
        lengths = np.broadcast_to(real_numbers(scale), (dimension,)).copy()
        if not ((lengths > 0) & np.isfinite(lengths)).all():
            raise ValueError
    except (TypeError, ValueError):
        raise InvalidParameter(
            f"scale is {shortened(scale)}; expected a positive number, or one for each of "
            f"{dimension} coordinates",
            name="scale", value=scale,
        ) from None  # fmt: skip
    return lengths


def logarithm_range(low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the least and the largest integer between bounds that are half a unit wider, logged.

    Coordinates that are not logarithms have any value.
    """
    with np.errstate(over="ignore"):
        return np.rint(np.exp(low) + 0.5), np.rint(np.exp(high) - 0.5)


def rounded_logarithms(
    points: FloatArray, chosen: BoolArray, low: FloatArray, high: FloatArray
) -> FloatArray:
    """Return points whose chosen coordinates are logarithms of integers within the bounds."""
    least, most = logarithm_range(low[chosen], high[chosen])
    with np.errstate(over="ignore"):
        integers = np.clip(np.rint(np.exp(points[..., chosen])), least, most)
    points = points.copy()
    points[..., chosen] = np.clip(np.log(integers), low[chosen], high[chosen])
    return points


def bounds_around(bounds: BoundsLike | None, x0: object) -> BoundsLike:
    """Return the bounds, one pair for each coordinate of `x0`.

    If there are none, they are infinite. A single pair in an object with `lb` and `ub`, such as
    `scipy.optimize.Bounds(0, 1)`, stands for all coordinates.
    """
    pair = (-np.inf, np.inf)
    if bounds is not None:
        if isinstance(bounds, Box) or not (hasattr(bounds, "lb") and hasattr(bounds, "ub")):
            return bounds
        limits = cast(Bounds, bounds)
        if np.size(limits.lb) != 1 or np.size(limits.ub) != 1:
            return bounds
        pair = (float(np.ravel(limits.lb)[0]), float(np.ravel(limits.ub)[0]))
    if x0 is None:
        return cast(BoundsLike, bounds)
    try:
        dimension = np.atleast_2d(real_numbers(x0)).shape[-1]
    except (TypeError, ValueError):
        named = "; declare named variables as bounds" if isinstance(x0, Mapping) else ""
        raise InvalidParameter(
            f"x0 is {shortened(x0)}; expected a point of finite numbers{named}",
            name="x0", value=x0,
        ) from None  # fmt: skip
    return np.tile(pair, (dimension, 1))


class FreeSpace:
    """The box without the coordinates that are held at low = high.

    Parameters
    ----------
    bounds : Box, array_like of shape (D, 2), an object with `lb` and `ub`, or named variables
        The box, or a :class:`uaos.Space` or a mapping that it is made from.
    integrality : array_like of bool, optional
        Which coordinates are integers; a single value applies to all.

    Attributes
    ----------
    low, high : ndarray, shape (D,)
        The bounds of all coordinates, rounded inward for integers.
    scale : ndarray, shape (D,), or None
        The length of a typical step in each coordinate, if it is given.
    outside_allowed : bool
        Whether points may leave the bounds.
    free : ndarray of bool, shape (D,)
        Which coordinates are searched.
    dimension : int
        The number of free coordinates.
    integrality : ndarray of int, shape (dimension,), or None
        Which free coordinates are integers, 2 for those without an order.
    names : Space or None
        The named variables whose coordinates these are.
    """

    def __init__(self, bounds: BoundsLike, integrality: ArrayLike | None = None) -> None:
        self.names: Space | None = None
        all_fixed = False
        self.outside_allowed = isinstance(bounds, Box) and bounds.outside_allowed
        self.scale = bounds.scale if isinstance(bounds, Box) else None
        self.integrality: IntArray | None = None
        if isinstance(bounds, Mapping | Space):
            self.names = bounds if isinstance(bounds, Space) else Space(bounds)
            integrality = _named_integrality(self.names, integrality)
            bounds = self.names.bounds
            all_fixed = not len(bounds)
        self.low, self.high = np.empty((2, 0)) if all_fixed else box(bounds, held=True)
        if integrality is not None:
            most = 1 if self.names is None else CATEGORY
            kinds = integer_coordinates(integrality, len(self.low), most)
            chosen = kinds > 0
            self.low[chosen], self.high[chosen] = integer_box(self.low[chosen], self.high[chosen])
            self.integrality = kinds[self.low < self.high]
        self._activity = None if self.names is None else self.names.activity
        self._log_integers = None if self.names is None else self.names.log_integers
        self.free = self.low < self.high
        self.dimension = int(self.free.sum())
        for array in (self.low, self.high, self.free):
            array.flags.writeable = False

    def point(self, x: FloatArray) -> Point:
        """Return a point with all coordinates, or several, as a user's function gets it."""
        if self.names is None:
            return x
        named: dict[str, Value] = self.names.decode(x)
        return named

    @property
    def size(self) -> float:
        """Number of points; infinite unless all free coordinates are integers within bounds.

        In spaces of more than 100,000 points, coordinates that are not active count, too.
        """
        low, high = self.low[self.free], self.high[self.free]
        discrete = np.zeros(self.dimension, bool)
        if self.integrality is not None:
            discrete |= self.integrality > 0
        if self._log_integers is not None:
            least, most = logarithm_range(low, high)
            low, high = np.where(self._log_integers, [least, most], [low, high])
            discrete |= self._log_integers
        if not discrete.all():
            return np.inf
        numbers = high - low + 1
        with np.errstate(over="ignore"):  # of hundreds of integers: infinite
            product = float(np.prod(numbers))
        if self._activity is None or product > MOST_POINTS:
            return product
        grid = low + np.indices(numbers.astype(int).tolist()).reshape(self.dimension, -1).T
        if self._log_integers is not None:
            grid[:, self._log_integers] = np.log(grid[:, self._log_integers])
        return float(len(np.unique(self.full(grid), axis=0)))

    @property
    def box(self) -> Box:
        """Box of the free coordinates."""
        bounds = np.column_stack([self.low[self.free], self.high[self.free]])
        scale = None if self.scale is None else self.scale[self.free]
        return Box(
            bounds, scale=scale, outside_allowed=self.outside_allowed, activity=self._activity,
            log_integers=self._log_integers,
        )  # fmt: skip

    def full(self, x: FloatArray) -> FloatArray:
        """Return a copy of a point, or of several, with the held coordinates.

        Those that are not active are at their lower bounds.
        """
        if self.dimension == len(self.low):
            full = x.copy()
        else:
            full = np.broadcast_to(self.low, (*x.shape[:-1], len(self.low))).copy()
            full[..., self.free] = x
        if self._activity is None:
            return full
        active = self._activity.of(np.atleast_2d(full)).reshape(full.shape)
        return np.where(active, full, self.low)

    def reduced(self, x0: StartLike | None) -> ArrayLike | None:
        """Return starting points without the held coordinates, and without names."""
        if self.names is not None:
            return self.names.starts(x0)
        if x0 is None or self.dimension == len(self.low):
            return cast(ArrayLike, x0)
        try:
            points = np.atleast_2d(np.array(x0, dtype=float))
        except (TypeError, ValueError):
            return cast(ArrayLike, x0)  # the optimizer says what is wrong
        D = len(self.low)
        if points.shape[-1] != D:
            raise InvalidParameter(
                f"x0 has shape {points.shape}; expected one point of length {D}, or several, "
                f"(m, {D})",
                name="x0", value=x0,
            )  # fmt: skip
        return points[:, self.free]

    def starts(self, x0: StartLike | None) -> ArrayLike | None:
        """Return starting points as :meth:`reduced` does; refuse those outside the bounds."""
        if x0 is not None and self.names is None:
            low, high = self.low, self.high
            if self.outside_allowed:  # except in held coordinates
                low, high = np.where(self.free, [[-np.inf], [np.inf]], [low, high])
            start_points(x0, low, high, boundary="")
        return self.reduced(x0)

    def rounded(self, points: FloatArray) -> FloatArray:
        """Return a copy of points of the free coordinates with integers rounded."""
        points = points.copy()
        if self.integrality is not None:
            chosen = self.integrality > 0
            points[:, chosen] = np.rint(points[:, chosen])
        if self._log_integers is not None:
            low, high = self.low[self.free], self.high[self.free]
            points = rounded_logarithms(points, self._log_integers, low, high)
        return points
