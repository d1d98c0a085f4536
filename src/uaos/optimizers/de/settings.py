"""Settings of differential evolution."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from types import MappingProxyType
from typing import Any, ClassVar, Self, TypeVar

from uaos.checks import as_float
from uaos.errors import InvalidParameter, UnknownName, shortened
from uaos.optimizers.base.settings import OptimizerSettings
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
    RateRule,
    as_rule,
    rule_from_data,
    rule_to_data,
    share_labels,
)
from uaos.optimizers.registry import custom_operators
from uaos.params import check_fields, choice, integer, known_only, parameters, real

# The size of the population over a run, and restarts

#: The largest population.
MOST_PARENTS = 10_000_000

_IN_DIMENSION = re.compile(r"(\d+(?:\.\d+)?)\s*(D|sqrt\(D\) ln\(D\))")
_POWERS: dict[str, Callable[[int], float]] = {
    "D": float,
    "sqrt(D) ln(D)": lambda D: math.sqrt(D) * math.log(max(D, 2)),  # ln 1 would give NP = 0
}
_ENDS = 'an integer >= 2, or a multiple of the dimension such as "2D"'


def size_in_dimension(text: str, name: str, expected: str, dimension: int = 1) -> int:
    """Return the size that "18D" or "25sqrt(D) ln(D)" means in a dimension."""
    match = _IN_DIMENSION.fullmatch(text)
    if not match or float(match[1]) <= 0:
        raise InvalidParameter(
            f"{name} is {shortened(text)}; expected {expected}", name=name, value=text
        )
    size = float(match[1]) * _POWERS[match[2]](dimension)
    if size > MOST_PARENTS:
        raise InvalidParameter(
            f"{name} is {shortened(text)}, which in dimension {dimension} means {size:g} parents; "
            f"expected at most {MOST_PARENTS}",
            name=name, value=text,
        )  # fmt: skip
    return round(size)


@dataclass(frozen=True)
class Linear:
    """Schedule by which NP falls linearly with the evaluations spent: the worst leave.

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
    >>> run = uaos.DifferentialEvolution([(-5, 5)] * 3, NP_schedule=Linear(6), budget=10_000)
    """

    rule: ClassVar[str] = "linear"

    NP_end: int | str

    def __post_init__(self) -> None:
        end = self.NP_end
        if isinstance(end, str):
            size_in_dimension(end, "NP_end", _ENDS)
        elif isinstance(end, bool) or not isinstance(end, int) or end < 2:
            raise InvalidParameter(
                f"NP_end of {self.rule} is {shortened(end)}; expected {_ENDS}",
                name="NP_end",
                value=end,
            )

    def size(self, start: int, end: int, spent: int, whole: int) -> int:
        """Return NP after `spent` of `whole` evaluations."""
        return max(end, round(start + (end - start) * spent / whole))

    def end(self, dimension: int, members: Sequence[PoolMember]) -> int:
        """Return NP_end in a dimension; a multiple of it is raised to what the pool needs."""
        least, _ = least_population(members)
        if isinstance(self.NP_end, str):
            return max(least, size_in_dimension(self.NP_end, "NP_end", _ENDS, dimension))
        check_population(self.NP_end, members, f"NP_end of {self.rule}")
        return self.NP_end


@dataclass(frozen=True)
class Stagnation:
    """Restart after `patience` generations without a better best, or when all values are alike.

    Alike: max f - min f <= spread (1 + |min f|). The new population has `growth` times the size;
    archive, rules and selector start afresh too; the best point so far is kept.

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


T = TypeVar("T", Linear, Stagnation)


def from_data(data: object, name: str, off: str, kind: type[T]) -> T | None:
    """Return a schedule or restart rule from plain data.

    That is the word for "off", a mapping with the name of the rule and its parameters, or the name
    alone if all of these have defaults.
    """
    if data is None or isinstance(data, kind):
        return data
    if isinstance(data, str) and data == off:
        return None
    values: dict[str, Any] = dict(data) if isinstance(data, Mapping) else {"rule": data}
    rule = values.pop("rule", None)
    if not (isinstance(rule, str) and rule == kind.rule):
        raise UnknownName(name, rule, (off, kind.rule))
    known_only(values, {f.name: f for f in fields(kind)}, rule)
    if kind is Linear and "NP_end" not in values:
        raise InvalidParameter(
            f'{name} "linear" lacks NP_end, the final size; expected {{rule = "linear", '
            "NP_end = 4}, in Python Linear(4)",
            name=name, value=rule,
        )  # fmt: skip
    return kind(**values)


# The settings

BOUNDARIES = {
    "none": layout.NONE,
    "clip": layout.CLIP,
    "reflect": layout.REFLECT,
    "midpoint": layout.MIDPOINT,
    "resample": layout.RESAMPLE,
}
_DRAWN_TOP = re.compile(r"U\(2/NP,\s*(0?\.\d+|1(?:\.0*)?)\)")
_SIZES = f'an integer in [4, {MOST_PARENTS}], a multiple of the dimension ("18D"), or None'
_TOPS = 'a number in (0, 1], or "U(2/NP,0.2)"'


@dataclass(frozen=True, eq=False)
class DifferentialEvolutionSettings(OptimizerSettings):
    """Settings of differential evolution; a tuner may search those with a range.

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
    NP_schedule : Linear, str or None
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
    repair: ClassVar[str] = "midpoint"
    aliases: ClassVar[Mapping[str, str]] = MappingProxyType({"popsize": "NP", "operators": "pool"})

    pool: tuple[PoolMember | str, ...] | str | None = None
    F: float | RateRule = real(
        0.1, 2, default=0.5, allowed=(0, 2), symbol="F", doc="scale of differences"
    )
    CR: float | RateRule = real(
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
    NP_schedule: Linear | str | None = None
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
                raise InvalidParameter(
                    f"NP is {shortened(self.NP)}; expected {_SIZES}", name="NP", value=self.NP
                ) from None
        top = _largest_top(self.top_NP)
        put(self, "top_NP", self.top_NP if isinstance(self.top_NP, str) else top)
        for name, parameter in declared.items():
            if name in ("F", "CR", "NP", "top_NP"):
                continue
            put(self, name, parameter.check(getattr(self, name), name))
        put(self, "NP_schedule", from_data(self.NP_schedule, "NP_schedule", "constant", Linear))
        put(self, "restart", from_data(self.restart, "restart", "none", Stagnation))
        unique_names(self.operators)

    # For the run

    @property
    def members(self) -> tuple[PoolMember, ...]:
        """Operators of the pool, with every F and CR filled in."""
        run: dict[str, Any] = {"F": self.F, "CR": self.CR}
        return tuple(
            replace(m, **{role: rule for role, rule in run.items() if getattr(m, role) is None})
            if isinstance(m, Operator)
            else m
            for m in self.operators
        )

    @property
    def alternatives(self) -> int:
        """Number of operators."""
        return len(self.operators)

    @property
    def names(self) -> tuple[str, ...]:
        """Unique names of the operators."""
        return unique_names(self.operators)

    @property
    def operators(self) -> tuple[PoolMember, ...]:
        """Operators of the pool; an F or CR of None is that of the run."""
        return self.default_pool() if self.pool is None else as_members(self.pool)

    @classmethod
    def default_pool(cls) -> tuple[PoolMember, ...]:
        """Return the pool if none is given: `paper`."""
        return paper_pool()

    @property
    def top_drawn(self) -> bool:
        """True if top_NP is drawn for each offspring."""
        return isinstance(self.top_NP, str)

    @property
    def top(self) -> float:
        """top_NP, or the largest that is drawn."""
        return _largest_top(self.top_NP)

    def population_size(self, dimension: int, budget: int | None) -> int:
        """Return NP of a run: as given, or 10·D and at least 20, fewer if the budget is short.

        Short means below 20 generations. A multiple of the dimension is raised to what the
        strategies of the pool need.
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

    def to_dict(self) -> dict[str, object]:
        """Return the settings as plain data that TOML can hold, without the default pool."""
        pool = () if self.pool is None else self.operators
        named = [r for m in pool if isinstance(m, Operator) for r in (m.F, m.CR)]
        labels = share_labels(r for r in (self.F, self.CR, *named) if isinstance(r, RateRule))
        data: dict[str, Any] = {
            STORED_NAMES.get(f.name, f.name): getattr(self, f.name) for f in fields(self)
        }
        for role in ("F", "CR"):
            data[role] = rule_to_data(data[role], labels)
        data["NP"] = "auto" if self.NP is None else self.NP
        for name, off in (("schedule", "constant"), ("restart", "none")):
            rule = data[name]
            data[name] = off if rule is None else {"rule": rule.rule} | asdict(rule)
        if self.pool is None:
            del data["pool"]
        else:
            data["pool"] = [
                m.to_dict(labels) if isinstance(m, Operator) else {"own": m.name} for m in pool
            ]
        return data

    @classmethod
    def from_dict(
        cls, data: Mapping[str, object], custom: Mapping[str, object] | None = None
    ) -> Self:
        """Return the settings that :meth:`to_dict` described; the rest takes its default.

        `custom` gives custom operators of the pool, by name, that are not registered.
        """
        names = {stored: name for name, stored in STORED_NAMES.items()}
        values: dict[str, Any] = {names.get(name, name): value for name, value in data.items()}
        known_only(values, {f.name: f for f in fields(cls)}, cls.title)
        shared: dict[str, RateRule] = {}
        for role in ("F", "CR"):
            if role in values:
                values[role] = rule_from_data(values[role], shared)
        pool = values.get("pool", "paper")
        if isinstance(pool, list | tuple):
            available = {**custom_operators(), **(custom or {})}
            operators = {name: o for name, o in available.items() if isinstance(o, CustomOperator)}
            values["pool"] = tuple(member_from_data(m, shared, operators) for m in pool)
        elif pool != "paper":
            raise InvalidParameter(
                f'pool is {shortened(pool)}; expected a list of operators, or "paper"',
                name="pool", value=pool,
            )  # fmt: skip
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
        parts = [f"F and CR {rule}"] if isinstance(rule, RateRule) and rule.adaptive else []
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

    # Equality of the fields does not see which rules are the same object.

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DifferentialEvolutionSettings) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(repr(self._key()))

    def _key(self) -> tuple[dict[str, object], tuple[int, ...]]:
        custom = tuple(id(m) for m in self.operators if not isinstance(m, Operator))
        return self.to_dict(), custom


#: Settings with another name in files and stores.
STORED_NAMES = {"center": "centre", "NP_schedule": "schedule"}


def _largest_top(top: float | str) -> float:
    """Return the number in a top_NP, or raise if there is none."""
    match = _DRAWN_TOP.fullmatch(top) if isinstance(top, str) else None
    if match is not None:
        return float(match[1])
    if 0 < (number := as_float(top)) <= 1:
        return number
    raise InvalidParameter(
        f"top_NP is {shortened(top)}; expected {_TOPS}", name="top_NP", value=top
    )
