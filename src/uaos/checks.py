"""Checks of plain arguments: numbers, counts, switches, arrays, seeds."""

import numbers
from decimal import Decimal
from types import UnionType
from typing import Union, cast, get_args, get_origin, get_type_hints, is_typeddict

import numpy as np

from uaos.arrays import FloatArray
from uaos.errors import InvalidFeedback, InvalidParameter, shortened


def as_float(value: object) -> float:
    """Return the nearest float, an infinity for an integer beyond their range, NaN otherwise."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return np.nan
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf  # type: ignore[operator]


def evaluation_count(value: object, name: str = "budget", unit: str = "evaluations") -> int | None:
    """Return a limit as an integer; 1e5 counts as one."""
    if value is None:
        return None
    number = as_float(value)
    if number.is_integer() and number >= 1:
        return int(number)
    raise InvalidParameter(
        f"{name} is {shortened(value)}; expected a positive number of {unit}, or None",
        name=name, value=value,
    )  # fmt: skip


def positive_integer(value: object, name: str) -> int:
    """Return a positive integer, of Python or NumPy."""
    if isinstance(value, numbers.Integral) and not isinstance(value, bool) and int(value) >= 1:
        return int(value)
    raise InvalidParameter(
        f"{name} is {shortened(value)}; expected a positive integer", name=name, value=value
    )


def parse_budget(budget: float | str, dimension: int) -> int:
    """Return the evaluations of a budget: 20000, "2e6", or 500 times the dimension, "500D".

    Examples
    --------
    >>> parse_budget("500D", 3)
    1500
    """
    text = shortened(budget) if isinstance(budget, int) else str(budget).strip()
    relative = text[-1:] in ("D", "d")
    try:
        number = float(text[:-1] if relative else text)
    except ValueError:
        number = 0.0
    if not (1 <= number <= 1e12 and number == int(number)):
        raise InvalidParameter(
            f"budget is {shortened(budget)}; expected a number of evaluations from 1 to 1e12, or "
            'a multiple of the dimension such as "10000D"', name="budget", value=budget,
        )  # fmt: skip
    return int(number) * (dimension if relative else 1)


def nonnegative_number(value: object, name: str) -> float:
    """Return a value as a finite number of at least 0."""
    number = as_float(value)
    if 0 <= number < np.inf:
        return number
    raise InvalidParameter(
        f"{name} is {shortened(value)}; expected a finite number >= 0", name=name, value=value
    )


def real_target(target: object) -> float | None:
    """Return the fitness at which a run ends, or None."""
    if target is None:
        return None
    number = as_float(target)
    if np.isfinite(number) or (np.isinf(number) and number == target):  # not from a large integer
        return number
    raise InvalidParameter(
        f"target is {shortened(target)}; expected a number, or None", name="target", value=target
    )


# Largest size of a seed.
_SEED_BITS = 4096

#: Largest number of characters in the name of a problem, a method or a variable.
LONGEST_NAME = 250


def printable_name(value: object, what: str) -> str:
    """Return a name; reports, terminals and stores need a short one without control characters."""
    if is_printable_name(value):
        return str(value)
    raise InvalidParameter(
        f"{what} is {shortened(value)}; expected a string of 1 to {LONGEST_NAME} printable "
        "characters", name=what, value=value,
    )  # fmt: skip


def is_printable_name(value: object) -> bool:
    """Return whether a value may be a name."""
    return (
        isinstance(value, str)
        and bool(value.strip())
        and value.isprintable()
        and len(value) <= LONGEST_NAME
    )


def fits(value: object, kind: object) -> bool:
    """Return whether plain data, as read from JSON, has an annotated type.

    `kind` may be a class, a union, a list, a mapping of strings, or a TypedDict.
    """
    if kind is object:
        return True
    if is_typeddict(kind):
        hints = get_type_hints(kind)
        required: frozenset[str] = getattr(kind, "__required_keys__", frozenset())
        return (
            isinstance(value, dict)
            and required <= set(value)
            and all(key in hints and fits(entry, hints[key]) for key, entry in value.items())
        )
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return any(fits(value, part) for part in parts)
    if origin is list:
        return isinstance(value, list) and all(fits(entry, parts[0]) for entry in value)
    if origin is dict:
        return isinstance(value, dict) and all(fits(entry, parts[1]) for entry in value.values())
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, (float, int) if kind is float else cast(type, kind))


def true_or_false(value: object, name: str) -> bool:
    """Return a boolean; strings such as "no" would otherwise count as True."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise InvalidParameter(
        f"{name} is {shortened(value)}; expected True or False", name=name, value=value
    )


# Kinds of arrays that NumPy would silently convert to real numbers.
_NOT_REAL = {"c": "complex numbers", "U": "strings", "S": "strings", "M": "dates", "m": "times"}

_FLOAT = np.dtype(np.float64)


def real_numbers(values: object) -> FloatArray:
    """Copy values to an array of floats; raise TypeError or ValueError if they are not numbers.

    None counts as NaN.
    """
    if type(values) is np.ndarray and values.dtype is _FLOAT:
        return values.copy()
    try:
        raw = np.asarray(values)
    except ValueError:
        raise ValueError("they are sequences of different lengths") from None
    if raw.dtype.kind in _NOT_REAL:
        raise TypeError(f"they are {_NOT_REAL[raw.dtype.kind]}")
    if raw.dtype.kind == "O":
        for value in raw.ravel().tolist():
            if not (value is None or isinstance(value, numbers.Real | Decimal)):
                raise TypeError(f"{shortened(value, 80)} is a {type(value).__name__}")
    try:
        return np.array(raw, np.float64, order="C")
    except OverflowError:
        raise ValueError("an integer is too large for a float") from None


def feedback_numbers(values: object, source: str) -> FloatArray:
    """Copy values that the user's code returned or told to an array of floats.

    Parameters
    ----------
    values : object
        The values; None counts as NaN.
    source : str
        The subject of the error message, such as "a constraint returned".

    Raises
    ------
    InvalidFeedback
        If they are not real numbers.
    """
    try:
        return real_numbers(values)
    except (TypeError, ValueError) as error:
        raise InvalidFeedback(
            f"{source} {shortened(values, 100)}; expected real numbers, but {error}"
        ) from None


def seeded_generator(seed: object) -> tuple[int | None, np.random.Generator]:
    """Return the seed (None if `seed` is a generator) and the generator of a run."""
    if isinstance(seed, np.random.Generator):
        return None, seed
    if seed is None:
        # Drawn here, so that the result can name the seed that repeats the run.
        seed = int(np.random.SeedSequence().generate_state(1)[0])
    number = integer_seed(seed)
    # NumPy's fastest generator: drawing numbers is a large part of the cost of a generation.
    return number, np.random.Generator(np.random.SFC64(number))


def integer_seed(seed: object) -> int:
    """Return a seed as an integer, of a size that results can show and files can store."""
    if isinstance(seed, numbers.Integral) and not isinstance(seed, bool):
        number = int(seed)
        if 0 <= number < 2**_SEED_BITS:
            return number
    raise InvalidParameter(
        f"seed is {shortened(seed)}; expected an integer >= 0 of at most {_SEED_BITS} bits, a "
        "numpy Generator, or None", name="seed", value=seed,
    )  # fmt: skip
