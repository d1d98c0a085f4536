"""What the arguments of a run mean, checked: bounds, starting points, budget, target, seed, …

A coordinate whose bounds are equal is held there: a run searches the others alone.
"""

import numbers
from collections.abc import Iterator, ValuesView
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np

from uaos.errors import InvalidParameter

Array = np.ndarray[Any, Any]


def box(bounds: Any, *, held: bool = False) -> tuple[Array, Array]:
    """Lower and upper bounds from pairs, an array (D, 2), or an object with `lb` and `ub`.

    `held` allows low = high.
    """
    order = "low <= high" if held else "low < high"
    allowed = f"a pair (low, high) of finite numbers, {order}, for each coordinate"
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
        raise InvalidParameter("bounds", bounds, allowed) from None
    if pairs.ndim != 2 or pairs.shape[1] != 2 or len(pairs) == 0:
        if pairs.ndim == 2 and len(pairs) == 2:
            allowed += "; for two arrays low and high: list(zip(low, high))"
        raise InvalidParameter("shape", pairs.shape, f"(D, 2), {allowed}", owner="bounds")
    for j, (a, b) in enumerate(pairs.tolist()):
        if not (np.isfinite(a) and np.isfinite(b)):
            allowed += ". Where you know no bound, give one that is wide enough"
        if not (np.isfinite(a) and np.isfinite(b) and (a < b or (held and a == b))):
            raise InvalidParameter(f"bounds[{j}]", (a, b), allowed)
        if not (np.isfinite(b - a) and np.isfinite(a + b)):
            raise InvalidParameter(
                f"bounds[{j}]", (a, b), "bounds whose width high - low is finite, and low + high "
                "too; these overflow. Rescale the variable",
            )  # fmt: skip
    return pairs[:, 0].copy(), pairs[:, 1].copy()


def integer_coordinates(integrality: Any, dimension: int) -> Array:
    """Which coordinates are integers, as an array of bool; one value stands for all of them."""
    try:
        chosen = np.broadcast_to(np.asarray(integrality), (dimension,))
        if chosen.dtype.kind not in "biuf" or not np.isin(chosen, (0, 1)).all():
            raise ValueError
    except ValueError:
        raise InvalidParameter(
            "integrality", integrality, f"True or False for each of {dimension} coordinates"
        ) from None
    return chosen.astype(bool)


def integer_box(low: Array, high: Array) -> tuple[Array, Array]:
    """The least and the largest integer of each coordinate."""
    least, most = np.ceil(low), np.floor(high)
    for j in np.flatnonzero(least > most).tolist():
        raise InvalidParameter(
            "bounds", (float(low[j]), float(high[j])), "an integer between the bounds of each "
            "coordinate that `integrality` makes one",
        )  # fmt: skip
    return least, most


def start_points(x0: Any, low: Array, high: Array, boundary: str) -> Array | None:
    """The points that a run is to start with, (m, D), inside the box if it is enforced."""
    if x0 is None:
        return None
    D = len(low)
    allowed = f"one point of length {D}, or several, (m, {D}), of finite numbers"
    try:
        points = np.atleast_2d(real_numbers(x0))
    except (TypeError, ValueError):
        raise InvalidParameter("x0", x0, allowed) from None
    if points.ndim != 2 or points.shape[1] != D or not np.isfinite(points).all():
        raise InvalidParameter("x0", x0, allowed)
    outside = np.argwhere((points < low) | (points > high))
    if len(outside) and boundary != "none":
        point, j = outside[0].tolist()
        raise InvalidParameter(
            f"x0[{point}, {j}]", float(points[point, j]),
            f'{low[j]:g} to {high[j]:g} (or anything with boundary="none")',
        )  # fmt: skip
    return points


def as_float(value: Any) -> float:
    """The nearest float, an infinity for an integer beyond their range, NaN for no real number."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return np.nan
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf  # type: ignore[operator]


def evaluation_count(value: Any, name: str = "budget", unit: str = "evaluations") -> int | None:
    """A limit as an integer; 1e5 will do."""
    if value is None:
        return None
    number = as_float(value)
    if number.is_integer() and number >= 1:
        return int(number)
    raise InvalidParameter(name, value, f"an integer of {unit} >= 1, or None")


def real_number(value: Any, name: str, low: float) -> float:
    """A finite number of at least `low`."""
    number = as_float(value)
    if low <= number < np.inf:
        return number
    raise InvalidParameter(name, value, f"a finite number >= {low:g}")


def real_target(target: Any) -> float | None:
    """A fitness at which a run may end."""
    if target is None:
        return None
    number = as_float(target)
    if np.isfinite(number) or number == target:  # an infinity only if it was given as one
        return number
    raise InvalidParameter("target", target, "a number, or None")


def true_or_false(value: Any, name: str) -> bool:
    """A switch; strings such as "no" would otherwise count as True."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise InvalidParameter(name, value, "True or False")


#: What NumPy would turn into numbers, or cut to them, without a word.
_NO_NUMBERS = {"c": "complex", "U": "strings", "S": "strings", "M": "dates", "m": "times"}


_FLOAT = np.dtype(np.float64)


def real_numbers(values: Any) -> Array:
    """Any kind of array as a new, plain one of floats; TypeError or ValueError if it is none.

    None counts as NaN.
    """
    if type(values) is np.ndarray and values.dtype is _FLOAT:
        return values.copy()
    try:
        raw = np.asarray(values)
    except ValueError:
        raise ValueError("they are sequences of different lengths") from None
    if raw.dtype.kind in _NO_NUMBERS:
        raise TypeError(f"they are {_NO_NUMBERS[raw.dtype.kind]}")
    if raw.dtype.kind == "O":
        for value in raw.ravel().tolist():
            if not (value is None or isinstance(value, numbers.Real | Decimal)):
                raise TypeError(f"{value!r:.80} is a {type(value).__name__}")
    try:
        return np.array(raw, np.float64, order="C")
    except OverflowError:
        raise ValueError("an integer is too large for a float") from None


def generator(seed: Any) -> tuple[int | None, np.random.Generator]:
    """The seed (None if a generator was given) and the generator of a run."""
    if isinstance(seed, np.random.Generator):
        return None, seed
    if seed is None:
        # Drawn here, so that the result can say which seed repeats the run.
        seed = int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(seed, numbers.Integral) and not isinstance(seed, bool) and int(seed) >= 0:
        # NumPy's fastest: drawing numbers is a good part of what a generation costs.
        return int(seed), np.random.Generator(np.random.SFC64(int(seed)))
    raise InvalidParameter("seed", seed, "an integer >= 0, a numpy Generator, or None")


# Coordinates that are held


class FreeSpace:
    """The box without the coordinates that are held at low = high."""

    def __init__(self, bounds: Any, integrality: Any) -> None:
        self.low, self.high = box(bounds, held=True)
        self.integrality: Array | None = None  # of the free coordinates
        if integrality is not None:
            chosen = integer_coordinates(integrality, len(self.low))
            self.low[chosen], self.high[chosen] = integer_box(self.low[chosen], self.high[chosen])
            self.integrality = chosen[self.low < self.high]
        self.free = self.low < self.high
        self.dimension = int(self.free.sum())
        self.whole = bool(self.free.all())

    @property
    def bounds(self) -> Array:
        """The bounds of the free coordinates."""
        return np.column_stack([self.low[self.free], self.high[self.free]])

    def function(self, fun: Any, args: Any) -> Any:
        """The objective as a function of the free coordinates alone."""
        if not isinstance(args, tuple):
            raise InvalidParameter("args", args, "a tuple of further arguments of fun")
        if not callable(fun) or (self.whole and not args):
            return fun
        # With `partial` it can be sent to workers.
        return partial(_applied, fun, args, None if self.whole else (self.low, self.free))

    def full(self, x: Array) -> Array:
        """A point, or several, with the held coordinates."""
        return x if self.whole else _filled(x, self.low, self.free)

    def reduced(self, x0: Any) -> Any:
        """Starting points without the held coordinates."""
        if x0 is None or self.whole:
            return x0
        try:
            points = np.atleast_2d(np.array(x0, dtype=float))
        except (TypeError, ValueError):
            return x0  # the optimizer says what is wrong
        if points.shape[-1] != len(self.low):
            raise InvalidParameter(
                "x0", x0, f"one point of length {len(self.low)}, or several, (m, {len(self.low)})"
            )
        return points[:, self.free]

    def view(self, view: Any) -> Any:
        """What a callback sees, with the held coordinates."""
        return view if self.whole else _FullView(view, self)


def _filled(x: Array, low: Array, free: Array) -> Array:
    full = np.broadcast_to(low, (*x.shape[:-1], len(low))).copy()
    full[..., free] = x
    return full


def _applied(fun: Any, args: tuple[Any, ...], held: tuple[Array, Array] | None, x: Array) -> Any:
    """An objective with its further arguments and held coordinates."""
    return fun(x if held is None else _filled(x, *held), *args)


class _FullView:
    """The view of a run over the free coordinates, with the held ones filled in."""

    def __init__(self, view: Any, space: FreeSpace) -> None:
        self._view, self._space = view, space

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._view, name)
        if name in ("x", "best", "population", "archive"):
            return None if value is None else self._space.full(value)
        return getattr(self._space, name) if name in ("low", "high") else value
