"""What the arguments of a run mean, checked: bounds, starting points, budget, target, seed, …"""

import numbers
from decimal import Decimal
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
    try:
        if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
            lb, ub = np.broadcast_arrays(np.atleast_1d(bounds.lb), np.atleast_1d(bounds.ub))
            pairs = np.column_stack([lb, ub]).astype(float)
        else:
            pairs = real_numbers(bounds)
    except (TypeError, ValueError):
        raise InvalidParameter("bounds", bounds, allowed) from None
    if pairs.ndim != 2 or pairs.shape[1] != 2 or len(pairs) == 0:
        raise InvalidParameter("bounds", f"of shape {pairs.shape}", allowed)
    for j, (a, b) in enumerate(pairs.tolist()):
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
    """The nearest float; an infinity for an integer beyond the range of floats."""
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def evaluation_count(value: Any, name: str = "budget", unit: str = "evaluations") -> int | None:
    """A limit as an integer; 1e5 will do."""
    if value is None:
        return None
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        number = as_float(value)
        if number.is_integer() and number >= 1:
            return int(number)
    raise InvalidParameter(name, value, f"an integer of {unit} >= 1, or None")


def real_number(value: Any, name: str, low: float) -> float:
    """A finite number of at least `low`."""
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        number = as_float(value)
        if low <= number < np.inf:
            return number
    raise InvalidParameter(name, value, f"a number >= {low:g}")


def real_target(target: Any) -> float | None:
    """A fitness at which a run may end."""
    if target is None:
        return None
    if isinstance(target, numbers.Real) and not isinstance(target, bool):
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


def real_numbers(values: Any) -> Array:
    """Any kind of array as a new, plain one of floats; TypeError or ValueError if it is none.

    None counts as NaN.
    """
    raw = np.asarray(values)
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
