"""Declaration of parameters.

A parameter is declared on a dataclass field, by :func:`real`, :func:`integer` or :func:`choice`::

    @dataclass(frozen=True)
    class WeightedSum(Quality):
        delta: float = real(0, 1, default=0.6, symbol="δ", doc="weight of the new reward")

Validation, command-line help, the tables of the documentation and the search spaces of tuners are
all derived from the declaration. `low` and `high` bound the search of a tuner; where a
value outside them still makes sense when set by hand, `allowed` gives the wider interval.
"""

import dataclasses
import math
import numbers
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from uaos.errors import InvalidParameter, UnknownName

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Value = float | int | str


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """Base class of parameters: default, symbol in equations, description."""

    default: Value | None
    symbol: str = ""
    doc: str = ""
    tuned: bool = True

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
        message = f"{title} is {value!r}; expected {self.allowed}"
        return InvalidParameter(message, name=name, value=value, owner=owner)


@dataclass(frozen=True, kw_only=True)
class Real(Parameter):
    """A real number in [low, high]."""

    default: float
    low: float
    high: float
    hard_low: float
    hard_high: float
    open_low: bool = False
    open_high: bool = False
    log: bool = False
    digits: int = 2
    bound: str = ""

    @property
    def range(self) -> str:  # noqa: D102 (see Parameter)
        scale = ", log scale" if self.log else ""
        return f"{self.low:g} to {self.bound or format(self.high, 'g')}{scale}"

    @property
    def allowed(self) -> str:  # noqa: D102
        interval = f"from {self.hard_low:g} to {self.hard_high:g}"
        if self.open_low or self.open_high:
            signs = ">" if self.open_low else ">=", "<" if self.open_high else "<="
            interval = f"{signs[0]} {self.hard_low:g} and {signs[1]} {self.hard_high:g}"
        extra = f' (and below {self.bound}), or a share such as "0.2/K"' if self.bound else ""
        return f"a real number {interval}{extra}"

    def check(self, value: object, name: str, owner: str = "") -> float | str:  # noqa: D102
        if self.bound and isinstance(value, str):
            share = per_operator(value)
            if share is not None and self.hard_low <= share < self.hard_high:
                return f"{float(share)!r}/K"
        if isinstance(value, numbers.Real) and not isinstance(value, bool):
            try:
                number = float(value)
            except OverflowError:
                number = math.inf
            over = number >= self.hard_high if self.open_high else number > self.hard_high
            under = number <= self.hard_low if self.open_low else number < self.hard_low
            if math.isfinite(number) and not under and not over:
                return number
        raise self.refusal(value, name, owner)


@dataclass(frozen=True, kw_only=True)
class Integer(Parameter):
    """An integer in [low, high]."""

    default: int
    low: int
    high: int
    hard_low: int
    hard_high: int
    log: bool = False

    @property
    def range(self) -> str:  # noqa: D102
        return f"{self.low} to {self.high}" + (", log scale" if self.log else "")

    @property
    def allowed(self) -> str:  # noqa: D102
        return f"an integer from {self.hard_low} to {self.hard_high}"

    def check(self, value: object, name: str, owner: str = "") -> int:  # noqa: D102
        if (
            isinstance(value, numbers.Integral)
            and not isinstance(value, bool)
            and self.hard_low <= int(value) <= self.hard_high
        ):
            return int(value)
        raise self.refusal(value, name, owner)


@dataclass(frozen=True, kw_only=True)
class OptionalInteger(Parameter):
    """An integer, or None, which is the default."""

    default: None = None
    value: Integer

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


@dataclass(frozen=True, kw_only=True)
class Choice(Parameter):
    """One of a few values."""

    choices: tuple[Value, ...]

    @property
    def range(self) -> str:  # noqa: D102
        return "one of " + ", ".join(str(c) for c in self.choices)

    def check(self, value: object, name: str, owner: str = "") -> Value:  # noqa: D102
        for choice in self.choices:
            # True equals 1, but only a choice between True and False accepts it.
            same_kind = isinstance(value, bool | np.bool_) == isinstance(choice, bool)
            if isinstance(value, str | numbers.Real | np.bool_) and same_kind and value == choice:
                return choice
        raise self.refusal(value, name, owner)


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
        The value if none is given.
    allowed : pair of float, optional
        The range that is accepted; by default that of the tuner.
    open_low, open_high : bool
        Whether the lower or the upper end itself is excluded.
    log : bool
        Whether a tuner searches on a logarithmic scale.
    bound : str
        Names an upper limit set by the number of operators K; the parameter may then be given as a
        share of it, as the string "0.2/K".
    tuned : bool
        Whether a tuner searches it.
    symbol, doc : str
        What documentation and messages call it, and what it is.

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
        Real(
            default=default, low=low, high=high, hard_low=hard_low, hard_high=hard_high,
            open_low=open_low, open_high=open_high, log=log, bound=bound, tuned=tuned,
            symbol=symbol, doc=doc,
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
        The value if none is given. With None the parameter is optional.

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
    value = Integer(
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
    return _field(Choice(choices=choices, default=default, tuned=tuned, symbol=symbol, doc=doc))


def _field(parameter: Parameter) -> Any:
    return dataclasses.field(default=parameter.default, metadata={"parameter": parameter})


def parameters(owner: "DataclassInstance | type[DataclassInstance]") -> dict[str, Parameter]:
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
