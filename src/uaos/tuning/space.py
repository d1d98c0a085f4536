"""A search space: variables with conditions, and combinations that are forbidden.

A candidate is a plain mapping of the *active* variables to their values: a variable whose condition
does not hold is absent. Nothing here knows what the variables are for.
"""

import dataclasses
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np

from uaos.errors import InvalidParameter, UaosError, UnknownName
from uaos.params import Choice, Integer, Parameter, Real, Value

#: A candidate: the values of the variables that are active.
Values = Mapping[str, Value]

#: How often a forbidden or repeated draw is made again.
REDRAWS = 100

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, ">": operator.gt, "==": operator.eq,
}  # fmt: skip


class ForbiddenCandidate(UaosError, ValueError):
    """A candidate is a combination of values that cannot work."""


@dataclass(frozen=True)
class Condition:
    """Holds where the variable `name` is active and has one of `values`."""

    name: str
    values: tuple[Value, ...]

    def __str__(self) -> str:
        return f"{self.name} is " + " or ".join(map(str, self.values))


@dataclass(frozen=True)
class Variable:
    """A name, the values a tuner may give it, and when it exists: where any of `when` holds."""

    name: str
    domain: Real | Integer | Choice
    when: tuple[Condition, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Choice) and self.domain.log and not self.domain.low > 0:
            raise InvalidParameter(self.name, self.domain.range, "a range above 0, for a log scale")

    @property
    def fixed(self) -> bool:
        """Whether there is nothing to search."""
        return isinstance(self.domain, Choice) and len(self.domain.choices) == 1

    @property
    def width(self) -> float:
        """The width of the range, in log space for a log scale; 0 for a choice."""
        if isinstance(self.domain, Choice):
            return 0.0
        low, high = bounds(self.domain) if self.domain.log else (self.domain.low, self.domain.high)
        return float(high - low)

    def uniform(self, rng: np.random.Generator) -> Value:
        """A value drawn uniformly: in log space for a log scale, rounded as declared."""
        domain = self.domain
        if isinstance(domain, Choice):
            return domain.choices[int(rng.integers(len(domain.choices)))]
        if isinstance(domain, Integer) and not domain.log:
            return int(rng.integers(domain.low, domain.high + 1))
        low, high = bounds(domain)
        return rounded(domain, low + (high - low) * rng.random())


def bounds(domain: Real | Integer) -> tuple[float, float]:
    """The interval that values are drawn from: an integer n stands for [n, n + 1)."""
    low, high = float(domain.low), float(domain.high) + isinstance(domain, Integer)
    return (math.log(low), math.log(high)) if domain.log else (low, high)


def rounded(domain: Real | Integer, drawn: float) -> Value:
    """The value that a number drawn from :func:`bounds` stands for."""
    plain = math.exp(drawn) if domain.log else drawn
    if isinstance(domain, Integer):
        return int(min(max(math.floor(plain), domain.low), domain.high))
    return float(min(max(round(plain, domain.digits), domain.low), domain.high))


@dataclass(frozen=True)
class Clause:
    """A variable against a number, a word or another variable."""

    name: str
    relation: str
    other: Value
    variable: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The variables that it is about."""
        return (self.name, str(self.other)) if self.variable else (self.name,)

    def holds(self, values: Values) -> bool:
        """Whether both sides exist and compare so."""
        if any(name not in values for name in self.names):
            return False
        other = values[str(self.other)] if self.variable else self.other
        return _COMPARISONS[self.relation](values[self.name], other)

    def __str__(self) -> str:
        return f"{self.name} {self.relation} {self.other}"


@dataclass(frozen=True)
class Forbidden:
    """Candidates for which every one of `clauses` holds, and why they cannot work."""

    clauses: tuple[Clause, ...]
    why: str

    @property
    def names(self) -> set[str]:
        """The variables that it is about."""
        return {name for clause in self.clauses for name in clause.names}

    def holds(self, values: Values) -> bool:
        """Whether a candidate is one of them."""
        return all(c.holds(values) for c in self.clauses)

    def __str__(self) -> str:
        return " and ".join(map(str, self.clauses))


@dataclass(frozen=True)
class Space:
    """A search space. Made by :func:`uaos.tuning.design`.

    Attributes
    ----------
    variables : tuple of Variable
        Each after those that its conditions name.
    forbidden : tuple of Forbidden
        What must not be combined.
    """

    variables: tuple[Variable, ...]
    forbidden: tuple[Forbidden, ...] = ()

    def __iter__(self) -> Iterator[Variable]:
        return iter(self.variables)

    def __len__(self) -> int:
        return len(self.variables)

    def __getitem__(self, name: str) -> Variable:
        for variable in self.variables:
            if variable.name == name:
                return variable
        raise UnknownName("parameter of the search space", name, self.names)

    @property
    def names(self) -> tuple[str, ...]:
        """The variables' names, in order."""
        return tuple(v.name for v in self.variables)

    @property
    def free(self) -> int:
        """How many variables have something to search."""
        return sum(not v.fixed for v in self.variables)

    def fill(self, value: Callable[[Variable], Value]) -> dict[str, Value]:
        """A candidate: `value` is asked for each variable that is active, in order."""
        made: dict[str, Value] = {}
        for variable in self.variables:
            if is_active(variable, made):
                made[variable.name] = value(variable)
        return made

    def draw(self, value: Callable[[Variable], Value]) -> dict[str, Value]:
        """A candidate of random values; one that completes what is forbidden is drawn again.

        What was drawn before it stays: to begin anew would make the choices rare that forbid much.
        The candidate is forbidden all the same if a hundred draws of one value were.
        """
        made: dict[str, Value] = {}
        for variable in self.variables:
            if is_active(variable, made):
                for _ in range(REDRAWS):
                    made[variable.name] = value(variable)
                    if not any(one.holds(made) for one in self._rules[variable.name]):
                        break
        return made

    @cached_property
    def _rules(self) -> dict[str, list[Forbidden]]:
        """What is forbidden, by the variables that it is about."""
        return {v.name: [one for one in self.forbidden if v.name in one.names] for v in self}

    def why_forbidden(self, values: Values) -> str:
        """Why a candidate cannot work, or "" if it can."""
        return next((f"{one} ({one.why})" for one in self.forbidden if one.holds(values)), "")

    def check(self, values: Values, owner: str = "") -> dict[str, Value]:
        """The candidate in declared types; an error names what is missing, unknown or forbidden.

        Values of variables that are not active are left out.
        """
        for name in values:
            if name not in self.names:
                raise UnknownName(f"parameter of {owner or 'the candidate'}", name, self.names)

        def given(variable: Variable) -> Value:
            name, domain = variable.name, variable.domain
            allowed = f"{domain.range} (in this search space)" if name in values else domain.range
            try:
                checked = domain.check(values.get(name), name)
            except InvalidParameter:
                raise InvalidParameter(name, values.get(name), allowed, owner=owner) from None
            if isinstance(domain, Choice) or (
                not isinstance(checked, str) and domain.low <= checked <= domain.high
            ):
                return checked
            raise InvalidParameter(name, values[name], allowed, owner=owner)

        made = self.fill(given)
        why = self.why_forbidden(made)
        if why:
            raise ForbiddenCandidate(f"{owner or 'the candidate'} is forbidden: {why}")
        return made

    # Fixing and narrowing

    def fix(self, name: str, value: object) -> "Space":
        """The space with one variable held at a value."""
        checked = self[name].domain.check(value, name)
        return self._with(name, Choice(default=checked, choices=(checked,)))

    def limit(self, name: str, low: float, high: float) -> "Space":
        """The space with a number narrowed to an interval, or widened to what is allowed.

        Ends with more decimals than the declaration searches are searched to their own.
        """
        domain = self[name].domain
        assert isinstance(domain, Real | Integer)
        if not low <= high:
            raise InvalidParameter(name, f"{low:g}..{high:g}", "a range LOW..HIGH with LOW <= HIGH")
        whole = isinstance(domain, Integer)
        ends = [domain.check(int(end) if whole and float(end).is_integer() else end, name)
                for end in (low, high)]  # fmt: skip
        if ends[0] == ends[1]:
            return self.fix(name, ends[0])
        changes: dict[str, Any] = {"low": ends[0], "high": ends[1]}
        if isinstance(domain, Real):
            changes["digits"] = max(domain.digits, *(decimals(float(end)) for end in ends))
        return self._with(name, dataclasses.replace(domain, **changes))

    def only(self, name: str, choices: Iterable[object]) -> "Space":
        """The space with a choice narrowed to some of its values."""
        domain = self[name].domain
        assert isinstance(domain, Choice)
        kept = tuple(dict.fromkeys(domain.check(c, name) for c in choices))
        return self._with(name, dataclasses.replace(domain, choices=kept, default=kept[0]))

    def _with(self, name: str, domain: Real | Integer | Choice) -> "Space":
        changed = (
            dataclasses.replace(v, domain=domain) if v.name == name else v for v in self.variables
        )
        return dataclasses.replace(self, variables=tuple(changed))._pruned()

    def _pruned(self) -> "Space":
        """Without variables that are never active, conditions that always hold, idle rules."""
        kept: dict[str, Variable] = {}
        for variable in self.variables:
            left, always = [], not variable.when
            for condition in variable.when:
                parent = kept.get(condition.name)
                choices = getattr(parent.domain, "choices", ()) if parent else ()
                values = tuple(v for v in condition.values if v in choices)
                if parent and values:
                    left.append(Condition(condition.name, values))
                    always |= not parent.when and len(values) == len(choices)
            if left or always:
                when = () if always else tuple(left)
                kept[variable.name] = dataclasses.replace(variable, when=when)
        rules = tuple(
            one for one in self.forbidden
            if one.names <= kept.keys() and all(_may_hold(c, kept) for c in one.clauses)
        )  # fmt: skip
        return dataclasses.replace(self, variables=tuple(kept.values()), forbidden=rules)

    def to_dict(self) -> list[dict[str, Any]]:
        """The space as plain data: what tells one search from another."""
        return [
            {"name": v.name, **plain(v.domain), "when": " or ".join(map(str, v.when))}
            for v in self.variables
        ]


def is_active(variable: Variable, values: Values) -> bool:
    """Whether a variable exists, given the values of those before it."""
    return not variable.when or any(values.get(c.name) in c.values for c in variable.when)


def _may_hold(comparison: Clause, variables: Mapping[str, Variable]) -> bool:
    """Whether a comparison holds for some value of a choice; of a number it is not asked."""
    domain = variables[comparison.name].domain
    if comparison.variable or not isinstance(domain, Choice):
        return True
    return any(comparison.holds({comparison.name: value}) for value in domain.choices)


def searched(parameter: Parameter) -> Real | Integer | Choice:
    """The domain that a tuner searches: a declared end that is itself refused is moved inside."""
    assert isinstance(parameter, Real | Integer | Choice)
    refused = getattr(parameter, "open_high", False)
    if isinstance(parameter, Real) and refused and parameter.high >= parameter.hard_high:
        inside = round(parameter.hard_high - 10.0**-parameter.digits, parameter.digits)
        return dataclasses.replace(parameter, high=inside)
    return parameter


def plain(domain: Real | Integer | Choice) -> dict[str, Any]:
    """What a domain allows, as plain data."""
    if isinstance(domain, Choice):
        return {"choices": list(domain.choices)}
    whole = isinstance(domain, Integer)
    return {"low": domain.low, "high": domain.high, "log": domain.log, "whole": whole}


def decimals(number: float) -> int:
    """The digits after the point of a finite number as it is written."""
    return max(0, -int(Decimal(repr(number)).normalize().as_tuple().exponent))


# Sampling


def uniform_candidates(
    space: Space, count: int, rng: np.random.Generator, works: Callable[[Values], bool],
    besides: Iterable[Values] = (),
) -> list[dict[str, Value]]:  # fmt: skip
    """`count` candidates drawn uniformly, none forbidden, none twice, none of `besides`."""

    def draw() -> tuple[int, dict[str, Value]]:
        return 0, space.draw(lambda variable: variable.uniform(rng))

    return [values for _, values in distinct(space, count, draw, works, besides)]


def distinct(
    space: Space, count: int, draw: Callable[[], tuple[int, dict[str, Value]]],
    works: Callable[[Values], bool], besides: Iterable[Values],
) -> list[tuple[int, dict[str, Value]]]:  # fmt: skip
    """So many draws that are new and not forbidden; fewer if a hundred in a row were not."""
    taken = {identity(candidate) for candidate in besides}
    made: list[tuple[int, dict[str, Value]]] = []
    for _ in range(count):
        for _ in range(REDRAWS):
            parent, values = draw()
            key = identity(values)
            if key not in taken and not space.why_forbidden(values) and works(values):
                taken.add(key)
                made.append((parent, values))
                break
    return made


def identity(candidate: Values) -> tuple[tuple[str, Value], ...]:
    """What two equal candidates share."""
    return tuple(sorted(candidate.items()))
