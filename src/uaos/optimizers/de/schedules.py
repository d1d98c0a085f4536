"""How large a population is over a run, and when the run starts afresh."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from uaos.errors import InvalidParameter, UnknownName
from uaos.optimizers.de.operators import Member, check_population, least_population
from uaos.params import check_fields, integer, known_only, real

#: The largest population.
MOST_PARENTS = 10_000_000

_IN_DIMENSION = re.compile(r"(\d+(?:\.\d+)?)\s*(D|D\^2|sqrt\(D\) ln\(D\))")
_POWERS: dict[str, Callable[[int], float]] = {
    "D": float,
    "D^2": lambda D: float(D * D),
    "sqrt(D) ln(D)": lambda D: math.sqrt(D) * math.log(D),
}
_ENDS = 'an integer >= 2, or a multiple of the dimension such as "2D"'


def size_in_dimension(text: str, name: str, allowed: str, dimension: int = 1) -> int:
    """The size that "18D", "6D^2" or "25sqrt(D) ln(D)" means in a dimension."""
    match = _IN_DIMENSION.fullmatch(text)
    if not match or float(match[1]) <= 0:
        raise InvalidParameter(name, text, allowed)
    size = float(match[1]) * _POWERS[match[2]](dimension)
    if size > MOST_PARENTS:
        raise InvalidParameter(
            name,
            text,
            f"at most {MOST_PARENTS} parents; for dimension {dimension} it means {size:g}",
        )
    return round(size)


@dataclass(frozen=True)
class Linear:
    """NP falls linearly with the evaluations spent, to `NP_end` at the end: the worst leave.

    NP(e) = round(NP_0 + (NP_end - NP_0) e / budget). Tanabe and Fukunaga (2014), L-SHADE.

    Parameters
    ----------
    NP_end : int or str
        The size at the end, or a multiple of the dimension such as "2D".

    Raises
    ------
    InvalidParameter
        If `NP_end` is neither.

    Examples
    --------
    >>> import uaos
    >>> from uaos.optimizers.de.schedules import Linear
    >>> run = uaos.DifferentialEvolution([(-5, 5)] * 3, schedule=Linear(6), budget=10_000)
    """

    rule: ClassVar[str] = "linear"

    NP_end: int | str

    def __post_init__(self) -> None:
        end = self.NP_end
        if isinstance(end, str):
            size_in_dimension(end, "NP_end", _ENDS)
        elif isinstance(end, bool) or not isinstance(end, int) or end < 2:
            raise InvalidParameter("NP_end", end, _ENDS, owner=self.rule)

    def size(self, start: int, end: int, spent: int, whole: int) -> int:
        """NP after `spent` of `whole` evaluations."""
        return max(end, round(start + (end - start) * spent / whole))

    def end(self, dimension: int, members: Sequence[Member]) -> int:
        """NP_end in a dimension; a multiple of it is raised to what the pool needs."""
        least, _ = least_population(members)
        if isinstance(self.NP_end, str):
            return max(least, size_in_dimension(self.NP_end, "NP_end", _ENDS, dimension))
        check_population(self.NP_end, members, f"NP_end of {self.rule}")
        return self.NP_end


@dataclass(frozen=True)
class NonLinear(Linear):
    """NP falls faster at first, to `NP_end` at the end: the worst leave.

    NP(e) = round(NP_0 + (NP_end - NP_0) t^(1 - t)), t = e / budget. Stanovov, Akhmedova and
    Semenkin (2021), NL-SHADE-RSP.
    """

    rule: ClassVar[str] = "nonlinear"

    def size(self, start: int, end: int, spent: int, whole: int) -> int:
        """NP after `spent` of `whole` evaluations."""
        t = min(1.0, spent / whole)
        share: float = t ** (1.0 - t)
        return max(end, round(start + (end - start) * share))


SCHEDULES = (Linear, NonLinear)


@dataclass(frozen=True)
class Stagnation:
    """Start afresh after `patience` generations without a better best, or when all are alike.

    Alike: max f - min f <= spread (1 + |min f|). The new population has `growth` times the size;
    archive, rules and selector start afresh too; the best point ever is kept.

    Parameters
    ----------
    patience : int
        Generations without a better best.
    spread : float
        The relative difference of worst and best up to which all are alike.
    growth : float
        What the population size is multiplied by at a restart.

    Examples
    --------
    >>> import uaos
    >>> from uaos.optimizers.de.schedules import Stagnation
    >>> run = uaos.DifferentialEvolution([(-5, 5)] * 3, restart=Stagnation(patience=100))
    """

    rule: ClassVar[str] = "stagnation"

    patience: int = integer(
        20, 1000, default=200, allowed=(1, 10**9), doc="generations without a better best"
    )
    spread: float = real(0, 1, default=1e-12, doc="relative difference of worst and best")
    growth: float = real(1, 4, default=1.0, allowed=(0.1, 100), doc="factor on NP")

    def __post_init__(self) -> None:
        check_fields(self, self.rule)


def from_data(data: object, name: str, off: str, kinds: tuple[type[Any], ...]) -> Any:
    """A schedule or restart from plain data: the word for "off", or a table naming the rule.

    The name of the rule alone will do where it has a default for everything.
    """
    if data is None or isinstance(data, kinds):
        return data
    if isinstance(data, str):
        if data == off:
            return None
        data = {"rule": data}
    rules = {made.rule: made for made in kinds}
    if not isinstance(data, Mapping):
        raise UnknownName(name, data, (off, *rules))
    values = dict(data)
    rule = values.pop("rule", None)
    if not isinstance(rule, str) or rule not in rules:
        raise UnknownName(name, rule, (off, *rules))
    made = rules[rule]
    known_only(values, {f.name: f for f in fields(made)}, rule)
    if issubclass(made, Linear) and "NP_end" not in values:
        raise InvalidParameter(
            name, rule, f'with the size to end with: {{rule = "{rule}", NP_end = 4}}, in Python '
            f"{made.__name__}(4)",
        )  # fmt: skip
    return made(**values)
