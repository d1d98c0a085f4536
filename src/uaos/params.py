"""Parameters: variables of a search space, and declared settings.

A variable (:class:`Real`, :class:`Integer`, :class:`Categorical`) has a range that is searched. A
setting is a variable that is declared on a dataclass field, by :func:`real`, :func:`integer` or
:func:`choice`::

    @dataclass(frozen=True)
    class WeightedSum(Quality):
        delta: float = real(0, 1, default=0.6, symbol="δ", doc="weight of the new reward")

Validation, command-line help, the tables of the documentation and the search spaces of tuners are
all derived from the declaration. `low` and `high` bound the search of a tuner; where a
value outside them still makes sense when set by hand, `allowed` gives the wider interval.
"""

import contextlib
import dataclasses
import math
import numbers
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import KW_ONLY, dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np

from uaos.checks import as_float, true_or_false
from uaos.errors import LONGEST, InvalidParameter, UnknownName, shortened

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Value = float | int | str

#: The largest integer up to which every integer is a floating-point number.
LARGEST_EXACT = 2**53

#: Values of other variables with which a variable exists: all of a mapping, any of several.
When = Mapping[str, object] | Sequence[Mapping[str, object]] | None


class Coordinate(NamedTuple):
    """Interval of the real line that stands for a parameter, and what its numbers mean.

    An integer coordinate is rounded; a category is an integer without an order.
    """

    low: float
    high: float
    kind: Literal["real", "integer", "category"]


@dataclass(frozen=True, kw_only=True, repr=False)
class Parameter:
    """Base class of parameters: the default, and the conditions under which they exist."""

    default: Value | None = None
    when: When = field(default=None, hash=False)

    #: Fields that a short declaration has in this order.
    _positional: ClassVar[tuple[str, ...]] = ()

    def __repr__(self) -> str:
        """Return the declaration, without defaults."""
        ends = [getattr(self, name) for name in self._positional]
        plain = type(self)(*ends)
        shown = [repr(end) for end in ends]
        for name in (part.name for part in dataclasses.fields(self)):
            text = repr(getattr(self, name))
            if name not in self._positional and text != repr(getattr(plain, name)):
                shown.append(f"{name}={text}")
        return f"{type(self).__name__}({', '.join(shown)})"

    @property
    def range(self) -> str:
        """Return the values a tuner may try, as a string."""
        raise NotImplementedError

    @property
    def allowed(self) -> str:
        """Return the values that are accepted, as a string."""
        return self.range

    def check(self, value: object, name: str, owner: str = "") -> Value | None:
        """Return `value` as the declared type, or raise :class:`InvalidParameter`."""
        raise NotImplementedError

    def refusal(self, value: object, name: str, owner: str) -> InvalidParameter:
        """Return the error for a value that is not allowed."""
        title = f"{name} of {owner}" if owner else name
        message = f"{title} is {shortened(value)}; expected {self.allowed}"
        return InvalidParameter(message, name=name, value=value, owner=owner)


@dataclass(frozen=True, kw_only=True, repr=False)
class Setting(Parameter):
    """Base class of declared parameters: symbol in equations, description, for a tuner or not."""

    symbol: str = ""
    doc: str = ""
    tuned: bool = True


@dataclass(frozen=True, repr=False)
class Real(Parameter):
    """A real number in [low, high].

    Parameters
    ----------
    low, high : float
        The range that is searched.
    log : bool
        Whether it is searched on a logarithmic scale; `low` is above 0 then.
    step : float, optional
        Only low, low + step, low + 2 step, … up to high are searched.
    default : float, optional
        The value to start from.
    when : mapping, optional
        Names of other variables and the value, or several values, with which this one exists. A
        list of mappings: it exists where one of them holds.

    Raises
    ------
    InvalidParameter
        If the range is empty, or the scale, the step or the default do not fit it.

    Examples
    --------
    >>> import uaos
    >>> uaos.Real(1e-5, 1e-1, log=True).range
    '1e-05 to 0.1, log scale'
    """

    _positional: ClassVar[tuple[str, ...]] = ("low", "high")

    low: float
    high: float
    log: bool = False
    step: float | None = None
    _: KW_ONLY
    default: float | None = None

    def __post_init__(self) -> None:
        _check_range(self, numbers.Real, "a finite number")
        _check_default(self)

    @property
    def range(self) -> str:  # noqa: D102 (see Parameter)
        return f"{self.low:g} to {self.high:g}{_scale(self)}"

    @property
    def allowed(self) -> str:  # noqa: D102
        return f"a real number from {self.low:g} to {self.high:g}{_steps(self)}"

    def check(self, value: object, name: str, owner: str = "") -> float | str:  # noqa: D102
        if isinstance(value, numbers.Real) and not isinstance(value, bool):
            try:
                number = float(value)
            except OverflowError:
                number = math.inf
            if math.isfinite(number) and self._accepts(number) and _on_grid(self, number):
                return number
        raise self.refusal(value, name, owner)

    def _accepts(self, number: float) -> bool:
        """Return whether a number is in the range."""
        return self.low <= number <= self.high

    @property
    def coordinate(self) -> Coordinate:
        """Return the interval that an optimizer searches; with steps it counts them."""
        if self.step is not None:
            return Coordinate(0.0, float(_step_count(self)), "integer")
        if self.log:
            return Coordinate(math.log(self.low), math.log(self.high), "real")
        return Coordinate(float(self.low), float(self.high), "real")

    def encode(self, value: float) -> float:
        """Return the number in the interval that stands for a value."""
        if self.step is not None:
            return float(round((value - self.low) / self.step))
        return math.log(value) if self.log else float(value)

    def decode(self, number: float) -> float:
        """Return the value that a number in the interval stands for."""
        if self.step is not None:
            decimals = max(decimals_of(self.low), decimals_of(self.step))
            number = round(self.low + round(number) * self.step, decimals)
        elif self.log:
            number = float(f"{math.exp(number):.13e}")  # 0.001, encoded and decoded, is 0.001
        return float(min(max(number, self.low), self.high))


@dataclass(frozen=True, kw_only=True, repr=False)
class RealSetting(Setting, Real):
    """A real number that is declared by :func:`real`; a tuner rounds it to `digits` decimals."""

    hard_low: float = math.nan  # by default, that of the range
    hard_high: float = math.nan
    open_low: bool = False
    open_high: bool = False
    digits: int = 2
    bound: str = ""
    shared: bool = False

    @property
    def range(self) -> str:  # noqa: D102
        return f"{self.low:g} to {self.bound or format(self.high, 'g')}{_scale(self)}"

    @property
    def allowed(self) -> str:  # noqa: D102
        interval = f"from {self.hard_low:g} to {self.hard_high:g}{_steps(self)}"
        if self.open_low or self.open_high:
            signs = ">" if self.open_low else ">=", "<" if self.open_high else "<="
            interval = f"{signs[0]} {self.hard_low:g} and {signs[1]} {self.hard_high:g}"
        below = f" (and below {self.bound})" if self.bound else ""
        share = ', or a share such as "0.2/K"' if self.shared else ""
        return f"a real number {interval}{below}{share}"

    def check(self, value: object, name: str, owner: str = "") -> float | str:  # noqa: D102
        if self.shared and isinstance(value, str):
            share = per_operator(value)
            if share is not None and self.hard_low <= share < self.hard_high:
                return f"{float(share)!r}/K"
        return super().check(value, name, owner)

    def _accepts(self, number: float) -> bool:
        over = number >= self.hard_high if self.open_high else number > self.hard_high
        under = number <= self.hard_low if self.open_low else number < self.hard_low
        return not under and not over


@dataclass(frozen=True, repr=False)
class Integer(Parameter):
    """An integer in [low, high].

    Parameters
    ----------
    low, high : int
        The range that is searched.
    log, step, default, when
        As for :class:`Real`.

    Raises
    ------
    InvalidParameter
        If the range is empty, or the scale, the step or the default do not fit it.

    Examples
    --------
    >>> import uaos
    >>> uaos.Integer(16, 512, step=16).range
    '16 to 512, in steps of 16'
    """

    _positional: ClassVar[tuple[str, ...]] = ("low", "high")

    low: int
    high: int
    log: bool = False
    step: int | None = None
    _: KW_ONLY
    default: int | None = None

    def __post_init__(self) -> None:
        _check_range(self, numbers.Integral, "an integer of at most 308 digits")
        if self.step is None and not self.log and max(-self.low, self.high) > LARGEST_EXACT:
            object.__setattr__(self, "step", 1)  # a coordinate that counts from low
        _check_default(self)

    @property
    def range(self) -> str:  # noqa: D102
        return f"{self.low} to {self.high}{_scale(self)}"

    @property
    def allowed(self) -> str:  # noqa: D102
        return f"an integer from {self._ends[0]} to {self._ends[1]}{_steps(self)}"

    @property
    def _ends(self) -> tuple[int, int]:
        """Least and largest value that is accepted."""
        return self.low, self.high

    def check(self, value: object, name: str, owner: str = "") -> int:  # noqa: D102
        if (
            isinstance(value, numbers.Integral)
            and not isinstance(value, bool)
            and self._ends[0] <= int(value) <= self._ends[1]
            and _on_grid(self, int(value))
        ):
            return int(value)
        raise self.refusal(value, name, owner)

    @property
    def coordinate(self) -> Coordinate:
        """Return the interval that an optimizer searches; with steps it counts them.

        On a log scale it is a real interval, of which every integer has the part that rounds to it.
        """
        if self.step is not None:
            return Coordinate(0.0, float(_step_count(self)), "integer")
        if self.log:
            return Coordinate(math.log(self.low - 0.5), math.log(self.high + 0.5), "real")
        return Coordinate(float(self.low), float(self.high), "integer")

    def encode(self, value: int) -> float:
        """Return the number in the interval that stands for a value."""
        if self.step is not None:
            return float((value - self.low) // self.step)
        return math.log(value) if self.log else float(value)

    def decode(self, number: float) -> int:
        """Return the value that a number in the interval stands for."""
        if self.step is not None:
            value = self.low + round(number) * self.step
        else:
            value = round(math.exp(number) if self.log else number)
        return min(max(value, self.low), self.high)


@dataclass(frozen=True, kw_only=True, repr=False)
class IntegerSetting(Setting, Integer):
    """An integer that is declared by :func:`integer`."""

    hard_low: int = None  # type: ignore[assignment] # by default, that of the range
    hard_high: int = None  # type: ignore[assignment]

    @property
    def _ends(self) -> tuple[int, int]:
        return self.hard_low, self.hard_high


@dataclass(frozen=True, kw_only=True)
class OptionalInteger(Setting):
    """An integer, or None, which is the default."""

    default: None = None
    value: IntegerSetting

    @property
    def range(self) -> str:  # noqa: D102
        return self.value.range

    @property
    def allowed(self) -> str:  # noqa: D102
        return f"{self.value.allowed}, or None"

    def check(self, value: object, name: str, owner: str = "") -> int | None:  # noqa: D102
        if value is None:
            return None
        try:
            return self.value.check(value, name, owner)
        except InvalidParameter:
            raise self.refusal(value, name, owner) from None


@dataclass(frozen=True, repr=False)
class Categorical(Parameter):
    """One of a few values.

    Parameters
    ----------
    choices : sequence
        The values; any objects, such as strings, numbers, booleans, tuples or None.
    ordered : bool
        Whether neighbors in the sequence are similar, as those of small, medium, large.
    default, when
        As for :class:`Real`.

    Raises
    ------
    InvalidParameter
        If there are no choices or equal ones, or the default is none of them.

    Examples
    --------
    >>> import uaos
    >>> uaos.Categorical(["rbf", "poly"]).range
    'one of rbf, poly'
    """

    _positional: ClassVar[tuple[str, ...]] = ("choices",)

    choices: tuple[Any, ...]  # of any type
    ordered: bool = False

    def __post_init__(self) -> None:
        # The order of a set changes from one process to the next.
        unordered = isinstance(self.choices, Set | Mapping)
        if isinstance(self.choices, str) or unordered or not isinstance(self.choices, Iterable):
            raise InvalidParameter(
                f"choices is {shortened(self.choices)}; expected a sequence of values",
                name="choices", value=self.choices,
            )  # fmt: skip
        several = self.choices.tolist() if isinstance(self.choices, np.ndarray) else self.choices
        object.__setattr__(self, "choices", tuple(several))
        true_or_false(self.ordered, "ordered")
        if not self.choices:
            raise InvalidParameter(
                "choices is empty; expected at least one value", name="choices", value=()
            )
        for k, choice in enumerate(self.choices if len(self._places) < len(self.choices) else ()):
            if any(same_value(choice, other) for other in self.choices[:k]):
                raise InvalidParameter(
                    f"choices has {shortened(choice)} twice; expected different values",
                    name="choices", value=choice,
                )  # fmt: skip
        _check_default(self)

    @property
    def range(self) -> str:  # noqa: D102
        choices = ", ".join(map(str, self.choices))
        return f"one of {choices if len(choices) <= LONGEST else f'{choices[:LONGEST]}…'}"

    def check(self, value: object, name: str, owner: str = "") -> Any:  # noqa: D102
        return self.choices[self.index(value, name, owner)]

    def index(self, value: object, name: str, owner: str = "") -> int:
        """Return the position of a choice, or raise :class:`InvalidParameter`."""
        with contextlib.suppress(LookupError, TypeError, ValueError):
            return self._places[_hashed(value)]
        for k, choice in enumerate(self.choices):
            if same_value(value, choice):
                return k
        raise self.refusal(value, name, owner)

    @cached_property
    def _places(self) -> dict[tuple[bool, Any], int]:
        """Positions of the choices by value; empty if a choice cannot be hashed."""
        with contextlib.suppress(TypeError, ValueError):
            return {_hashed(choice): k for k, choice in enumerate(self.choices)}
        return {}

    @property
    def coordinate(self) -> Coordinate:
        """Return the interval that an optimizer searches: the positions of the choices."""
        unordered = not self.ordered and len(self.choices) > 2
        return Coordinate(0.0, len(self.choices) - 1.0, "category" if unordered else "integer")

    def encode(self, value: object) -> float:
        """Return the number in the interval that stands for a value."""
        return float(self.index(value, "value"))

    def decode(self, number: float) -> Any:
        """Return the value that a number in the interval stands for."""
        return self.choices[min(max(round(number), 0), len(self.choices) - 1)]


@dataclass(frozen=True, kw_only=True, repr=False)
class ChoiceSetting(Setting, Categorical):
    """One of a few values, declared by :func:`choice`."""


def same_value(value: object, choice: object) -> bool:
    """Return whether a value is a choice: True is not 1, and 1.0 is."""
    if value is choice:
        return True
    try:
        return bool(_hashed(value) == _hashed(choice))
    except (TypeError, ValueError):
        if isinstance(value, np.ndarray) and isinstance(choice, np.ndarray):
            return np.array_equal(value, choice)
        return False


def _hashed(value: object) -> tuple[bool, Any]:
    """Return a key that equal values share, all NaN too; True and 1 are different."""
    is_nan = isinstance(value, float | np.floating) and np.isnan(value)
    return isinstance(value, bool | np.bool_), math.nan if is_nan else value


def _check_range(parameter: Real | Integer, kind: type, expected: str) -> None:
    """Check the ends of a range, its scale and its step; set the ends that are accepted."""
    title = type(parameter).__name__
    ends = f"{title}({shortened(parameter.low, 40)}, {shortened(parameter.high, 40)})"
    for name in ("low", "high", "step"):
        value = getattr(parameter, name)
        if name == "step" and value is None:
            continue
        if not isinstance(value, kind) or not math.isfinite(as_float(value)):
            raise InvalidParameter(
                f"{name} of {ends} is {shortened(value)}; expected {expected}",
                name=name,
                value=value,
            )
        if isinstance(value, np.generic):  # whose arithmetic may overflow
            object.__setattr__(parameter, name, value.item())
    low, high = parameter.low, parameter.high
    if not low < high:
        raise InvalidParameter(
            f"the range of {ends} is empty; expected low < high, or for a single value that value "
            "itself",
            name="high", value=high,
        )  # fmt: skip
    if not math.isfinite(as_float(high - low)):
        raise InvalidParameter(
            f"the range of {ends} is too wide: high - low overflows; rescale the variable",
            name="high", value=high,
        )  # fmt: skip
    true_or_false(parameter.log, f"log of {ends}")
    if parameter.log and not low > 0:
        raise InvalidParameter(
            f"{ends} has a log scale, but begins at {low:g}; expected low > 0",
            name="low", value=low,
        )  # fmt: skip
    if parameter.step is not None:
        _check_step(parameter, parameter.step, ends)
    if isinstance(parameter, RealSetting | IntegerSetting):
        for name, end in (("hard_low", low), ("hard_high", high)):
            declared = getattr(parameter, name)
            if declared is None or math.isnan(declared):
                object.__setattr__(parameter, name, end)


def _check_step(parameter: Real | Integer, step: float, ends: str) -> None:
    """Check that a step fits a range, which `ends` describes."""
    width = parameter.high - parameter.low
    if parameter.log or not 0 < step <= width:
        problem = "has a log scale, too; expected one of them" if parameter.log else (
            f"does not fit; expected more than 0 and at most {width:g}"
        )  # fmt: skip
        raise InvalidParameter(
            f"step {shortened(step)} of {ends} {problem}", name="step", value=step
        )
    if isinstance(parameter, Real) and width / step > LARGEST_EXACT:
        raise InvalidParameter(
            f"step {step:g} of {ends} is too small to have an effect; omit it",
            name="step", value=step,
        )  # fmt: skip


def _check_default(parameter: Real | Integer | Categorical) -> None:
    """Check that the default is accepted."""
    if parameter.default is not None:
        parameter.check(parameter.default, "default", type(parameter).__name__)


def _step_count(parameter: Real | Integer) -> int:
    """Return the number of steps from low to high."""
    assert parameter.step is not None
    return math.floor((parameter.high - parameter.low) / parameter.step + 1e-9)


def _on_grid(parameter: Real | Integer, value: float) -> bool:
    """Return whether a value is a number of steps from low; always without a step."""
    if parameter.step is None:
        return True
    steps = (value - parameter.low) / parameter.step
    return abs(steps - round(steps)) < 1e-6 and round(steps) <= _step_count(parameter)


def _steps(parameter: Real | Integer) -> str:
    return "" if parameter.step is None else f", in steps of {parameter.step:g}"


def _scale(parameter: Real | Integer) -> str:
    return _steps(parameter) + (", log scale" if parameter.log else "")


def decimals_of(number: float) -> int:
    """Return the number of decimals of a finite number as it is printed."""
    return max(0, -int(Decimal(repr(float(number))).normalize().as_tuple().exponent))


def per_operator(text: str) -> Fraction | None:
    """Return the share s of a string `s/K`, where K is the number of operators, or None.

    It is exact: 0.54/K for nine operators is 0.06 to the last bit.
    """
    match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*/\s*K\s*", text)
    return Fraction(match[1]) if match else None


def real(
    low: float,
    high: float,
    *,
    default: float,
    allowed: tuple[float, float] | None = None,
    open_low: bool = False,
    open_high: bool = False,
    log: bool = False,
    bound: str = "",
    shared: bool = False,
    tuned: bool = True,
    symbol: str = "",
    doc: str = "",
) -> Any:
    """Declare a real parameter on a dataclass field.

    Parameters
    ----------
    low, high : float
        The range that a tuner searches.
    default : float
        The default value.
    allowed : pair of float, optional
        The range that is accepted; by default that of the tuner.
    open_low, open_high : bool
        Whether the lower or the upper end itself is excluded.
    log : bool
        Whether a tuner searches on a logarithmic scale.
    bound : str
        Names an upper limit set by the number of operators K; implies `shared`.
    shared : bool
        Whether the parameter may be a share of the number of operators K, as the string "0.2/K".
    tuned : bool
        Whether a tuner searches it.
    symbol, doc : str
        Its symbol in equations, and its description.

    Returns
    -------
    dataclasses.Field

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import uaos
    >>> @dataclass(frozen=True)
    ... class Settings:
    ...     rate: float = uaos.real(0, 1, default=0.1, doc="learning rate")
    >>> Settings().rate
    0.1
    """
    hard_low, hard_high = allowed or (low, high)
    return _field(
        RealSetting(
            default=default, low=low, high=high, hard_low=hard_low, hard_high=hard_high,
            open_low=open_low, open_high=open_high, log=log, bound=bound,
            shared=shared or bool(bound), tuned=tuned, symbol=symbol, doc=doc,
        )
    )  # fmt: skip


def integer(
    low: int,
    high: int,
    *,
    default: int | None,
    allowed: tuple[int, int] | None = None,
    log: bool = False,
    tuned: bool = True,
    symbol: str = "",
    doc: str = "",
) -> Any:
    """Declare an integer parameter on a dataclass field.

    Parameters
    ----------
    low, high, allowed, log, tuned, symbol, doc
        As for :func:`real`.
    default : int or None
        The default value. With None the parameter is optional.

    Returns
    -------
    dataclasses.Field

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import uaos
    >>> @dataclass(frozen=True)
    ... class Settings:
    ...     window: int = uaos.integer(1, 50, default=5, doc="generations")
    >>> Settings().window
    5
    """
    hard_low, hard_high = allowed or (low, high)
    value = IntegerSetting(
        default=low if default is None else default, low=low, high=high, hard_low=hard_low,
        hard_high=hard_high, log=log, tuned=tuned, symbol=symbol, doc=doc,
    )  # fmt: skip
    if default is None:
        return _field(OptionalInteger(value=value, tuned=tuned, symbol=symbol, doc=doc))
    return _field(value)


def choice(
    *choices: Value,
    default: Value,
    tuned: bool = True,
    symbol: str = "",
    doc: str = "",
) -> Any:
    """Declare a parameter that takes one of a few values on a dataclass field.

    Parameters
    ----------
    *choices : str, bool or number
        The values.
    default, tuned, symbol, doc
        As for :func:`real`.

    Returns
    -------
    dataclasses.Field

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import uaos
    >>> @dataclass(frozen=True)
    ... class Settings:
    ...     mean: str = uaos.choice("arithmetic", "harmonic", default="arithmetic", doc="the mean")
    >>> Settings().mean
    'arithmetic'
    """
    return _field(ChoiceSetting(choices, default=default, tuned=tuned, symbol=symbol, doc=doc))


def _field(parameter: Setting) -> Any:
    return dataclasses.field(default=parameter.default, metadata={"parameter": parameter})


def parameters(owner: "DataclassInstance | type[DataclassInstance]") -> dict[str, Setting]:
    """Return the parameters declared on a dataclass or an instance of one, by field name."""
    return {
        f.name: f.metadata["parameter"]
        for f in dataclasses.fields(owner)
        if "parameter" in f.metadata
    }


def known_only(names: Iterable[str], known: Mapping[str, object], owner: str) -> None:
    """Raise :class:`UnknownName` for the first of `names` that `owner` does not declare."""
    for name in names:
        if name not in known:
            raise UnknownName(f"parameter of {owner}", name, known)


def check_fields(instance: "DataclassInstance", owner: str) -> None:
    """Check every declared field of a frozen dataclass and convert it to its declared type."""
    for name, parameter in parameters(type(instance)).items():
        value = parameter.check(getattr(instance, name), name, owner)
        object.__setattr__(instance, name, value)
