"""Everything about a run of differential evolution but the objective, the budget and the seed."""

import numbers
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np

from uaos.errors import InvalidParameter, UnknownName
from uaos.optimizers.base import Array
from uaos.optimizers.de import layout
from uaos.optimizers.de.operators import (
    CustomOperator,
    Member,
    Operator,
    as_members,
    default_pool,
    member_from_data,
    unique_names,
)
from uaos.optimizers.de.rules import (
    Jade,
    Rule,
    SuccessHistory,
    as_rule,
    rule_from_data,
    rule_to_data,
    share_labels,
)
from uaos.optimizers.de.strategies import role_table, strategy
from uaos.params import check_fields, choice, integer, known_only, parameters, real

# How large the population is, and when a run starts afresh

#: The largest population.
MOST_PARENTS = 10_000_000

_IN_DIMENSION = re.compile(r"(\d+(?:\.\d+)?)\s*D")
_ENDS = 'an integer >= 2, or a multiple of the dimension such as "2D"'


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
_TOPS = 'a real number > 0 and at most 1, or "U(2/NP,0.2)"'


@dataclass(frozen=True, eq=False)
class Settings:
    """A configuration of the engine. The fields with a range are what a tuner may search.

    `pool`: operators or strategy names; None is the pool "paper", the nine strategies of the
    framework's paper. Operators that leave F or CR open take the ones given here. `NP`: a number, a
    multiple of the dimension such as "18D", or None (chosen from dimension and budget; "auto" in
    TOML). `top_NP`: a number, or "U(2/NP,0.2)" to draw it for each offspring (SHADE). `boundary`:
    see :class:`uaos.DifferentialEvolution`. What follows is written alike in Python and in the
    section `[de]` of a TOML file, unless it says otherwise:

    - `centre`: True (TOML: true) puts the middle of the box into the first population.
    - `best_rule`: who x_best is. "population": the best parent. "latest": the individual that now
      stands where the last generation's best offspring was made.
    - `archive`: which of the parents that lost to their offspring stay in a full archive. "recent":
      the newest takes a random member's place. "history": a random sample of all that ever lost.
      `archive_size`: its size in multiples of NP, such as 2.6.
    - `schedule`: None (TOML: "constant"), or a population that shrinks: `linear(4)` of
      :mod:`uaos.optimizers.de.settings`, in TOML `{rule = "linear", NP_end = 4}`.
    - `restart`: None (TOML: "none"), or a fresh start when nothing improves any more: "stagnation",
      or with its numbers `stagnation(patience=100)` of :mod:`uaos.optimizers.de.settings`, in TOML
      `{rule = "stagnation", patience = 100, spread = 1e-12, growth = 2.0}`.
    """

    pool: tuple[Member | str, ...] | str | None = None
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
    centre: bool = field(default=False)
    best_rule: str = choice("population", "latest", default="population", tuned=False, doc="x_best")
    archive: str = choice("recent", "history", default="recent", tuned=False, doc="who is kept")
    archive_size: float = field(default=1.0)
    schedule: Linear | str | None = None
    restart: Stagnation | str | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        declared = parameters(type(self))
        if isinstance(self.pool, str) and self.pool == "paper":
            put(self, "pool", None)
        if self.pool is not None:
            put(self, "pool", as_members(self.pool))
        put(self, "F", as_rule(self.F, "F", "the pool"))
        put(self, "CR", as_rule(self.CR, "CR", "the pool"))
        if isinstance(self.NP, str):
            size_in_dimension(self.NP, "NP", _SIZES)
        elif self.NP is not None:
            try:
                put(self, "NP", declared["NP"].check(self.NP, "NP"))
            except InvalidParameter:
                raise InvalidParameter("NP", self.NP, _SIZES) from None
        put(self, "top_NP", _checked_top(self.top_NP))
        for name in ("boundary", "best_rule", "archive"):
            value = getattr(self, name)
            if not isinstance(value, str):
                raise InvalidParameter(name, value, declared[name].allowed)
            put(self, name, declared[name].check(value, name))
        if not isinstance(self.centre, bool):
            raise InvalidParameter("centre", self.centre, "True or False")
        size = self.archive_size
        if isinstance(size, bool) or not isinstance(size, numbers.Real) or not 0 <= size <= 100:
            raise InvalidParameter("archive_size", size, "a real number 0 to 100, times NP")
        put(self, "archive_size", float(size))
        put(self, "schedule", _part(self.schedule, "schedule", "constant", Linear))
        put(self, "restart", _part(self.restart, "restart", "none", Stagnation))
        unique_names([m for m in self.pool or () if not isinstance(m, str)])

    # What the engine reads

    @property
    def members(self) -> tuple[Member, ...]:
        """The pool with every F and CR filled in."""
        pool = default_pool() if self.pool is None else self.pool
        return tuple(
            Operator(
                m.strategy,
                self.F if m.F is None else m.F,
                self.CR if m.CR is None else m.CR,
                m.name,
            )
            if isinstance(m, Operator)
            else m
            for m in pool
            if not isinstance(m, str)
        )

    @property
    def names(self) -> tuple[str, ...]:
        """A unique name for each operator of the pool."""
        pool = default_pool() if self.pool is None else self.pool
        return unique_names([m for m in pool if not isinstance(m, str)])

    @property
    def top(self) -> float:
        """top_NP, or the upper end of its distribution."""
        if isinstance(self.top_NP, str):
            drawn = _DRAWN_TOP.fullmatch(self.top_NP)
            return float(drawn[1]) if drawn else 1.0
        return self.top_NP

    @property
    def top_drawn(self) -> bool:
        """Whether top_NP is drawn for each offspring."""
        return isinstance(self.top_NP, str)

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
        data: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        for role in ("F", "CR"):
            data[role] = rule_to_data(data[role], labels)
        data["NP"] = "auto" if self.NP is None else self.NP
        data["schedule"] = (
            self.schedule.to_dict() if isinstance(self.schedule, Linear) else "constant"
        )
        data["restart"] = self.restart.to_dict() if isinstance(self.restart, Stagnation) else "none"
        if self.pool is None:
            del data["pool"]
        else:
            data["pool"] = [
                m.to_dict(labels) if isinstance(m, Operator) else {"own": getattr(m, "name", m)}
                for m in pool
            ]
        return data

    @classmethod
    def from_dict(
        cls, data: Mapping[str, Any], own: Mapping[str, CustomOperator] | None = None
    ) -> "Settings":
        """The inverse of :meth:`to_dict`; what is left out takes its default.

        `own` gives the custom operators of the pool, by name.
        """
        values = dict(data)
        known_only(values, {f.name: f for f in fields(cls)}, "the differential evolution")
        shared: dict[str, Rule] = {}
        for role in ("F", "CR"):
            if role in values:
                values[role] = rule_from_data(values[role], shared)
        if "pool" in values:
            if not isinstance(values["pool"], list | tuple) and values["pool"] != "paper":
                raise InvalidParameter("pool", values["pool"], 'a list of operators, or "paper"')
            if values["pool"] != "paper":
                members = (member_from_data(m, shared, own or {}) for m in values["pool"])
                values["pool"] = tuple(members)
        if isinstance(values.get("NP"), str) and values["NP"] == "auto":
            values["NP"] = None
        return cls(**values)

    # Which rules are one object matters, and the fields' own equality does not see it.

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Settings) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(repr(self._key()))

    def _key(self) -> tuple[Any, ...]:
        own = tuple(id(m) for m in self.pool or () if not isinstance(m, Operator))
        return (self.to_dict(), own)


def _checked_top(top: object) -> float | str:
    if isinstance(top, str):
        if _DRAWN_TOP.fullmatch(top):
            return top
    elif isinstance(top, numbers.Real) and not isinstance(top, bool) and 0 < float(top) <= 1:
        return float(top)
    raise InvalidParameter("top_NP", top, _TOPS)


def _part(data: object, name: str, off: str, made: type[Any]) -> Any:
    """A schedule or restart from plain data: the word for "off", or a table naming the rule.

    The name of the rule alone will do where it has a default for everything.
    """
    if data is None or isinstance(data, made):
        return data
    if isinstance(data, str):
        if data == off:
            return None
        data = {"rule": data}
    if not isinstance(data, Mapping):
        raise UnknownName(name, data, (off, made.rule))
    values = dict(data)
    rule = values.pop("rule", None)
    if not isinstance(rule, str) or rule != made.rule:
        raise UnknownName(name, rule, (off, made.rule))
    known_only(values, {f.name: f for f in fields(made)}, made.rule)
    if made is Linear and "NP_end" not in values:
        raise InvalidParameter(
            name, rule, 'with the size to end with: {rule = "linear", NP_end = 4}, in Python '
            "linear(4)",
        )  # fmt: skip
    return made(**values)


# A pool made ready to run: its operators as a table for the kernels, its rules with memory

_START = 0.5


class Pool:
    """The operators of a run: tables for the kernels, and the custom ones by number."""

    def __init__(self, settings: Settings) -> None:
        self.members = settings.members
        self.names = settings.names
        self.table = np.full((len(self.members), layout.TABLE), -1.0)
        self.role_table = role_table()
        self.custom: dict[int, CustomOperator] = {}
        self.rules: list[Rule] = []
        self.uses_archive = False
        for k, member in enumerate(self.members):
            if isinstance(member, Operator):
                chosen = strategy(member.strategy)
                self.table[k, layout.STRATEGY] = chosen.code
                self.uses_archive |= chosen.archive
                self._enter(k, layout.F_KIND, member.F)
                self._enter(k, layout.CR_KIND, member.CR)
            else:
                # A custom operator may look at the archive, so one is kept for it.
                self.custom[k] = member
                self.uses_archive = True

    def _enter(self, k: int, column: int, rule: Any) -> None:
        """Write a rule's kind, two numbers and memory row to the table, from `column` on."""
        numbers = [] if rule.adaptive else [float(v) for v in vars(rule).values()]
        self.table[k, column] = rule.kind
        self.table[k, column + 1 : column + 1 + len(numbers)] = numbers
        if rule.adaptive:
            rows = [row for row, known in enumerate(self.rules) if known is rule]
            if not rows:
                self.rules.append(rule)
                rows = [len(self.rules) - 1]
            self.table[k, column + 3] = rows[0]


class RuleMemory:
    """The running state of a pool's adaptive rules, one row for each rule object.

    `means[row, OF_F or OF_CR, k]` is mu of `jade` (k = 0) or the k-th pair of `success_history`.
    """

    def __init__(self, rules: list[Rule]) -> None:
        self.lengths = np.array([r.H if isinstance(r, SuccessHistory) else 1 for r in rules], int)
        self.rates = np.array([r.c if isinstance(r, Jade) else 0.0 for r in rules], float)
        self.means = np.full((len(rules), 2, max([1, *self.lengths.tolist()])), _START)
        self.turns = np.zeros(len(rules), int)

    def state(self) -> dict[str, Array]:
        """What changes in a run."""
        return {"means": self.means.copy(), "turns": self.turns.copy()}

    def restore(self, state: dict[str, Array]) -> None:
        """Continue from what :meth:`state` returned."""
        self.means[:] = state["means"]
        self.turns[:] = state["turns"]
