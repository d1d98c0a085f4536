"""How large the population is, and when a run starts afresh."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from uaos.errors import InvalidParameter
from uaos.optimizers.de.operators import Member, Operator
from uaos.optimizers.de.strategies import strategy
from uaos.params import check_fields, integer, real

#: The largest population.
MOST_PARENTS = 10_000_000

_IN_DIMENSION = re.compile(r"(\d+(?:\.\d+)?)\s*D")
_ENDS = 'a whole number >= 2, or a multiple of the dimension such as "2D"'


def size_in_dimension(text: str, name: str, allowed: str, dimension: int = 1) -> int:
    """The size that a text such as "18D" means in a dimension."""
    match = _IN_DIMENSION.fullmatch(text)
    if not match or float(match[1]) <= 0:
        raise InvalidParameter(name, text, allowed)
    size = float(match[1]) * dimension
    if size > MOST_PARENTS:
        raise InvalidParameter(
            name,
            text,
            f"at most {MOST_PARENTS} parents; for dimension {dimension} it means {size:g}",
        )
    return round(size)


def least_population(members: Sequence[Member]) -> tuple[int, str]:
    """The smallest NP that every operator of a pool can work with, and the strategy that needs it.

    Never below 2, as x_pbest is one of at least two.
    """
    needs = [
        (strategy(m.strategy).least_population, m.strategy)
        for m in members
        if isinstance(m, Operator)
    ]
    return max([(2, ""), *needs], key=lambda need: need[0])


def check_population(NP: int, members: Sequence[Member], name: str = "NP") -> None:
    """Raise :class:`InvalidParameter` if a strategy of the pool cannot work with so few parents."""
    least, neediest = least_population(members)
    if least > NP:
        raise InvalidParameter(name, NP, f"at least {least}, which {neediest} needs")


@dataclass(frozen=True)
class Linear:
    """NP falls linearly with the evaluations spent, to `NP_end` at the end: the worst leave.

    NP(e) = round(NP_0 + (NP_end - NP_0) e / budget). Tanabe and Fukunaga (2014), L-SHADE.
    """

    rule: ClassVar[str] = "linear"

    NP_end: int | str

    def __post_init__(self) -> None:
        end = self.NP_end
        if isinstance(end, str):
            size_in_dimension(end, "NP_end", _ENDS)
        elif isinstance(end, bool) or not isinstance(end, int) or end < 2:
            raise InvalidParameter("NP_end", end, _ENDS, owner="linear")

    def end(self, dimension: int, members: Sequence[Member]) -> int:
        """NP_end in a dimension; a multiple of it is raised to what the pool needs."""
        least, _ = least_population(members)
        if isinstance(self.NP_end, str):
            return max(least, size_in_dimension(self.NP_end, "NP_end", _ENDS, dimension))
        check_population(self.NP_end, members, "NP_end of linear")
        return self.NP_end

    def to_dict(self) -> dict[str, Any]:
        """The schedule as plain data."""
        return {"rule": self.rule, "NP_end": self.NP_end}


@dataclass(frozen=True)
class Stagnation:
    """Start afresh after `patience` generations without a better best, or when all are alike.

    Alike: max f - min f <= spread (1 + |min f|). The new population has `growth` times the size;
    archive, rules and selector start afresh too; the best point ever is kept.
    """

    rule: ClassVar[str] = "stagnation"

    patience: int = integer(
        20, 1000, default=200, allowed=(1, 10**9), doc="generations without a better best"
    )
    spread: float = real(0, 1, default=1e-12, doc="relative difference of worst and best")
    growth: float = real(1, 4, default=1.0, allowed=(0.1, 100), doc="factor on NP")

    def __post_init__(self) -> None:
        check_fields(self, self.rule)

    def to_dict(self) -> dict[str, Any]:
        """The restart rule as plain data."""
        return {"rule": self.rule} | {f.name: getattr(self, f.name) for f in fields(self)}


def linear(NP_end: int | str) -> Linear:
    """A population that shrinks to `NP_end`, a number or a multiple of the dimension ("2D")."""
    return Linear(NP_end)


def stagnation(patience: int = 200, spread: float = 1e-12, growth: float = 1.0) -> Stagnation:
    """A restart when nothing has improved for `patience` generations, or all fitness is alike."""
    return Stagnation(patience, spread, growth)
