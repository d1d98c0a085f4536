"""Everything about a run of differential evolution but the objective, the budget and the seed."""

import math
import numbers
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from types import MappingProxyType
from typing import Any, ClassVar, Self

from uaos.errors import InvalidParameter, UnknownName
from uaos.optimizers.base import custom_operators
from uaos.optimizers.de import layout
from uaos.optimizers.de.operators import (
    CustomOperator,
    Operator,
    PoolMember,
    as_members,
    check_population,
    least_population,
    member_from_data,
    paper_pool,
    unique_names,
)
from uaos.optimizers.de.rules import (
    Rule,
    as_rule,
    rule_from_data,
    rule_to_data,
    share_labels,
)
from uaos.optimizers.settings import OptimizerSettings
from uaos.params import check_fields, choice, integer, known_only, parameters, real

# How large a population is over a run, and when the run starts afresh

#: The largest population.
MOST_PARENTS = 10_000_000

_IN_DIMENSION = re.compile(r"(\d+(?:\.\d+)?)\s*(D|sqrt\(D\) ln\(D\))")
_POWERS: dict[str, Callable[[int], float]] = {
    "D": float,
    "sqrt(D) ln(D)": lambda D: math.sqrt(D) * math.log(max(D, 2)),  # ln 1 would give NP = 0
}
_ENDS = 'an integer >= 2, or a multiple of the dimension such as "2D"'


def size_in_dimension(text: str, name: str, allowed: str, dimension: int = 1) -> int:
    """Return the size that "18D" or "25sqrt(D) ln(D)" means in a dimension."""
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
    >>> from uaos.optimizers.de.settings import Linear
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

    def end(self, dimension: int, members: Sequence[PoolMember]) -> int:
        """NP_end in a dimension; a multiple of it is raised to what the pool needs."""
        least, _ = least_population(members)
        if isinstance(self.NP_end, str):
            return max(least, size_in_dimension(self.NP_end, "NP_end", _ENDS, dimension))
        check_population(self.NP_end, members, f"NP_end of {self.rule}")
        return self.NP_end


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
    >>> from uaos.optimizers.de.settings import Stagnation
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


# The settings

BOUNDARIES = {
    "none": layout.NONE,
    "clip": layout.CLIP,
    "reflect": layout.REFLECT,
    "midpoint": layout.MIDPOINT,
    "resample": layout.RESAMPLE,
}
_DRAWN_TOP = re.compile(r"U\(2/NP,\s*(0?\.\d+|1(?:\.0*)?)\)")
_SIZES = f'an integer 4 to {MOST_PARENTS}, a multiple of the dimension ("18D"), or None (chosen)'
_TOPS = 'a real number > 0 and at most 1, or "U(2/NP,0.2)" (drawn)'


@dataclass(frozen=True, eq=False)
class DifferentialEvolutionSettings(OptimizerSettings):
    """The settings of a differential evolution. Those with a range are what a tuner may search.

    Parameters
    ----------
    pool : sequence of Operator or str, or str, optional
        Operators, strategy names, or a named pool; by default "paper", the nine strategies of the
        framework's paper.
    F, CR : float or rule
        For operators that leave them open.
    NP : int or str, optional
        Population size, or a multiple of the dimension such as "18D" or "25sqrt(D) ln(D)"; None
        (TOML: "auto") chooses it from dimension and budget.
    top_NP : float or str
        The share of parents that x_pbest is drawn from; "U(2/NP,0.2)" to draw it for each offspring
        (SHADE).
    boundary : str
        Repair of bounds; see :class:`uaos.DifferentialEvolution`.
    center : bool
        Whether the middle of the box is in the first population.
    best_rule : {"population", "latest"}
        x_best is the best parent, or the individual that now stands where the last generation's
        best offspring was made.
    archive : {"recent", "history"}
        Which of the parents that lost to their offspring stay in a full archive: the newest takes a
        random member's place, or a random sample of all that ever lost.
    archive_size : float
        In multiples of NP.
    schedule : Linear, str or None
        A population that shrinks: ``Linear(4)``, in TOML ``{rule = "linear", NP_end = 4}``. None
        (TOML: "constant") keeps its size.
    restart : Stagnation, str or None
        A fresh start when nothing improves: "stagnation", or ``Stagnation()`` with its numbers,
        in TOML ``{rule = "stagnation", patience = 100, spread = 1e-12, growth = 2.0}``.
    Raises
    ------
    InvalidParameter
        If a setting is out of range.

    Examples
    --------
    >>> from uaos.optimizers.de.settings import DifferentialEvolutionSettings
    >>> DifferentialEvolutionSettings(pool=("rand/1", "best/1"), F=0.7, NP="10D").names
    ('rand/1', 'best/1')
    """

    title: ClassVar[str] = "differential evolution"
    aliases: ClassVar[Mapping[str, str]] = MappingProxyType({"popsize": "NP", "operators": "pool"})

    pool: tuple[PoolMember | str, ...] | str | None = None
    F: float | Rule = real(
        0.1, 2, default=0.5, allowed=(0, 2), symbol="F", doc="scale of differences"
    )
    CR: float | Rule = real(
        0.1, 1, default=0.9, allowed=(0, 1), symbol="CR", doc="crossover probability"
    )
    NP: int | str | None = integer(
        50, 400, default=200, allowed=(4, MOST_PARENTS), symbol="NP", doc="population size"
    )
    top_NP: float | str = real(
        0.02, 1, default=0.05, allowed=(0, 1), symbol="p", doc="share of parents x_pbest is one of"
    )
    boundary: str = choice(*BOUNDARIES, default="midpoint", tuned=False, doc="repair of bounds")
    center: bool = choice(False, True, default=False, tuned=False, doc="whether the middle is in")
    best_rule: str = choice("population", "latest", default="population", tuned=False, doc="x_best")
    archive: str = choice("recent", "history", default="recent", tuned=False, doc="who is kept")
    archive_size: float = real(
        0, 100, default=1.0, tuned=False, doc="size of the archive, times NP"
    )
    schedule: Linear | str | None = None
    restart: Stagnation | str | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        declared = parameters(type(self))
        is_paper = self.pool is None or (isinstance(self.pool, str) and self.pool == "paper")
        put(self, "pool", None if is_paper else as_members(self.pool))
        put(self, "F", as_rule(self.F, "F", "the pool"))
        put(self, "CR", as_rule(self.CR, "CR", "the pool"))
        if isinstance(self.NP, str):
            size_in_dimension(self.NP, "NP", _SIZES)
        elif self.NP is not None:
            try:
                put(self, "NP", declared["NP"].check(self.NP, "NP"))
            except InvalidParameter:
                raise InvalidParameter("NP", self.NP, _SIZES) from None
        top = _largest_top(self.top_NP)
        put(self, "top_NP", self.top_NP if isinstance(self.top_NP, str) else top)
        for name, parameter in declared.items():
            if name in ("F", "CR", "NP", "top_NP"):
                continue
            put(self, name, parameter.check(getattr(self, name), name))
        put(self, "schedule", from_data(self.schedule, "schedule", "constant", (Linear,)))
        put(self, "restart", from_data(self.restart, "restart", "none", (Stagnation,)))
        unique_names(self.operators)

    # What the engine reads

    @property
    def members(self) -> tuple[PoolMember, ...]:
        """The pool with every F and CR filled in."""
        run: dict[str, Any] = {"F": self.F, "CR": self.CR}
        return tuple(
            replace(m, **{role: rule for role, rule in run.items() if getattr(m, role) is None})
            if isinstance(m, Operator)
            else m
            for m in self.operators
        )

    @property
    def alternatives(self) -> int:
        """The number of operators."""
        return len(self.operators)

    @property
    def names(self) -> tuple[str, ...]:
        """A unique name for each operator of the pool."""
        return unique_names(self.operators)

    @property
    def operators(self) -> tuple[PoolMember, ...]:
        """The pool; an F or CR of None is that of the run."""
        members: Any = self.default_pool() if self.pool is None else self.pool
        return tuple(members)

    @classmethod
    def default_pool(cls) -> tuple[PoolMember, ...]:
        """Return the pool of settings that name none: `paper`."""
        return paper_pool()

    @property
    def top_drawn(self) -> bool:
        """Whether top_NP is drawn for each offspring."""
        return isinstance(self.top_NP, str)

    @property
    def top(self) -> float:
        """top_NP, or the largest that is drawn."""
        return _largest_top(self.top_NP)

    def population_size(self, dimension: int, budget: int | None) -> int:
        """NP of a run: as given, or 10·D of at least 20, fewer for a budget below 20 generations.

        A multiple of the dimension is raised to what the pool's strategies need; a number that is
        too small for them is an error that names the strategy.
        """
        least, _ = least_population(self.members)
        if isinstance(self.NP, int):
            return self.NP
        if isinstance(self.NP, str):
            return max(least, size_in_dimension(self.NP, "NP", _SIZES, dimension))
        chosen = max(20, 10 * dimension)
        if budget is not None:
            chosen = min(chosen, budget // 20)
        return max(least, chosen)

    # Plain data

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain data that TOML can hold; `pool` is left out if it is `paper`."""
        pool = () if self.pool is None else self.pool
        named = [r for m in pool if isinstance(m, Operator) for r in (m.F, m.CR)]
        labels = share_labels(r for r in (self.F, self.CR, *named) if isinstance(r, Rule))
        data: dict[str, Any] = {
            STORED_NAMES.get(f.name, f.name): getattr(self, f.name) for f in fields(self)
        }
        for role in ("F", "CR"):
            data[role] = rule_to_data(data[role], labels)
        data["NP"] = "auto" if self.NP is None else self.NP
        for name, off in (("schedule", "constant"), ("restart", "none")):
            part = data[name]
            data[name] = off if part is None else {"rule": part.rule} | asdict(part)
        if self.pool is None:
            del data["pool"]
        else:
            data["pool"] = [
                m.to_dict(labels) if isinstance(m, Operator) else {"own": getattr(m, "name", m)}
                for m in pool
            ]
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], custom: Mapping[str, object] | None = None) -> Self:
        """Return the settings that :meth:`to_dict` described; the rest takes its default.

        `custom` gives custom operators of the pool, by name, that are not registered.
        """
        named = {stored: name for name, stored in STORED_NAMES.items()}
        values = {named.get(name, name): value for name, value in data.items()}
        known_only(values, {f.name: f for f in fields(cls)}, cls.title)
        own = {**custom_operators(), **(custom or {})}
        operators = {name: one for name, one in own.items() if isinstance(one, CustomOperator)}
        shared: dict[str, Rule] = {}
        for role in ("F", "CR"):
            if role in values:
                values[role] = rule_from_data(values[role], shared)
        if "pool" in values:
            if not isinstance(values["pool"], list | tuple) and values["pool"] != "paper":
                raise InvalidParameter("pool", values["pool"], 'a list of operators, or "paper"')
            if values["pool"] != "paper":
                members = (member_from_data(m, shared, operators) for m in values["pool"])
                values["pool"] = tuple(members)
        if isinstance(values.get("NP"), str) and values["NP"] == "auto":
            values["NP"] = None
        return cls(**values)

    # What tables show

    def texts(self) -> dict[str, str]:
        """Return the settings that matter to the recipe as strings, without the pool."""
        operators = [m for m in self.operators if isinstance(m, Operator)]
        names = {stored: name for name, stored in STORED_NAMES.items()}
        shown = {}
        for stored, value in self.to_dict().items():
            name = names.get(stored, stored)
            # An F or CR that every operator replaces by its own is not part of the recipe.
            own = [getattr(m, name) is not None for m in operators] if name in ("F", "CR") else []
            if name == "pool" or (own and all(own)):
                continue
            shown[name] = str(value)
            if isinstance(value, Mapping):
                rest = ", ".join(f"{k} {v}" for k, v in value.items() if k != "rule")
                shown[name] = f"{value['rule']} ({rest})" if rest else str(value["rule"])
        return shown

    def summary(self) -> str:
        """Return the settings that differ from their defaults, in one line, without the pool."""
        usual, first = type(self)().to_dict(), self.members[0]
        rule = first.F if isinstance(first, Operator) else None
        parts = [f"F and CR {rule}"] if isinstance(rule, Rule) and rule.adaptive else []
        for key, value in self.to_dict().items():
            if key != "pool" and value != usual.get(key):
                parts.append(f"{key} {value['rule'] if isinstance(value, dict) else value}")
        return ", ".join(parts)

    def operator_texts(self) -> list[tuple[str, str, str, str]]:
        """Return name, strategy, F and CR of each operator."""
        rows = []
        for name, member in zip(self.names, self.members, strict=True):
            cells = ("", "", "")
            if isinstance(member, Operator):
                cells = (member.strategy, str(member.F), str(member.CR))
            rows.append((name, *cells))
        return rows

    # Which rules are one object matters, and the fields' own equality does not see it.

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DifferentialEvolutionSettings) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(repr(self._key()))

    def _key(self) -> tuple[Any, ...]:
        own = tuple(id(m) for m in self.pool or () if not isinstance(m, Operator))
        return (self.to_dict(), own)


#: Settings that files and stores call otherwise, as they did from the first.
STORED_NAMES = {"center": "centre"}


def _largest_top(top: float | str) -> float:
    """Return the number in a top_NP, which is checked."""
    match = _DRAWN_TOP.fullmatch(top) if isinstance(top, str) else None
    if match is not None:
        return float(match[1])
    if isinstance(top, numbers.Real) and not isinstance(top, bool) and 0 < float(top) <= 1:
        return float(top)
    raise InvalidParameter("top_NP", top, _TOPS)
