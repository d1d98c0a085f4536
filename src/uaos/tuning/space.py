"""A search space: variables with conditions, and forbidden combinations.

A candidate is a plain mapping of the *active* variables to their values: a variable whose condition
does not hold is absent.
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
from uaos.tuning.records import DomainData, VariableData

#: A candidate: the values of the variables that are active.
Values = Mapping[str, Value]

#: Attempts to draw a value or candidate that is neither forbidden nor repeated.
REDRAWS = 100

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, ">": operator.gt, "==": operator.eq,
}  # fmt: skip


class ForbiddenCandidate(UaosError, ValueError):
    """A candidate is a combination of values that cannot work."""


@dataclass(frozen=True)
class Condition:
    """Condition that the variable `name` is active and has one of `values`."""

    name: str
    values: tuple[Value, ...]

    def __str__(self) -> str:
        return f"{self.name} is " + " or ".join(map(str, self.values))


@dataclass(frozen=True)
class Variable:
    """Variable with a name and a domain; it exists where any condition of `when` holds."""

    name: str
    domain: Real | Integer | Choice
    when: tuple[Condition, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Choice) and self.domain.log and not self.domain.low > 0:
            raise InvalidParameter(
                f"{self.name} has a log scale and needs a range above 0, not {self.domain.range}",
                name=self.name, value=self.domain.range,
            )  # fmt: skip

    @property
    def fixed(self) -> bool:
        """True if the variable has a single value."""
        return isinstance(self.domain, Choice) and len(self.domain.choices) == 1

    @property
    def width(self) -> float:
        """Width of the range, in log space for a log scale; 0 for a choice."""
        if isinstance(self.domain, Choice):
            return 0.0
        low, high = bounds(self.domain) if self.domain.log else (self.domain.low, self.domain.high)
        return float(high - low)

    def uniform(self, rng: np.random.Generator) -> Value:
        """Draw a value uniformly: in log space for a log scale, rounded as declared."""
        domain = self.domain
        if isinstance(domain, Choice):
            return domain.choices[int(rng.integers(len(domain.choices)))]
        if isinstance(domain, Integer) and not domain.log:
            return int(rng.integers(domain.low, domain.high + 1))
        low, high = bounds(domain)
        return rounded(domain, low + (high - low) * rng.random())


def bounds(domain: Real | Integer) -> tuple[float, float]:
    """Return the interval that values are drawn from; an integer n stands for [n, n + 1)."""
    low, high = float(domain.low), float(domain.high) + isinstance(domain, Integer)
    return (math.log(low), math.log(high)) if domain.log else (low, high)


def rounded(domain: Real | Integer, drawn: float) -> Value:
    """Return the value that a number drawn from :func:`bounds` stands for."""
    plain = math.exp(drawn) if domain.log else drawn
    if isinstance(domain, Integer):
        return int(min(max(math.floor(plain), domain.low), domain.high))
    return float(min(max(round(plain, domain.digits), domain.low), domain.high))


@dataclass(frozen=True)
class Clause:
    """Comparison of a variable with a number, a string or another variable."""

    name: str
    relation: str
    other: Value
    variable: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its variables."""
        return (self.name, str(self.other)) if self.variable else (self.name,)

    def holds(self, values: Values) -> bool:
        """Return whether both sides exist and the comparison holds."""
        if any(name not in values for name in self.names):
            return False
        other = values[str(self.other)] if self.variable else self.other
        return _COMPARISONS[self.relation](values[self.name], other)

    def __str__(self) -> str:
        return f"{self.name} {self.relation} {self.other}"


@dataclass(frozen=True)
class Forbidden:
    """Candidates for which all `clauses` hold, and why they cannot work."""

    clauses: tuple[Clause, ...]
    why: str

    @property
    def names(self) -> set[str]:
        """Names of its variables."""
        return {name for clause in self.clauses for name in clause.names}

    def holds(self, values: Values) -> bool:
        """Return whether a candidate is one of them."""
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
        """Names of the variables, in order."""
        return tuple(v.name for v in self.variables)

    @property
    def free(self) -> int:
        """Number of variables that are not fixed."""
        return sum(not v.fixed for v in self.variables)

    def fill(self, value: Callable[[Variable], Value]) -> dict[str, Value]:
        """Return the candidate whose active variables have the values of `value`, in order."""
        candidate: dict[str, Value] = {}
        for variable in self.variables:
            if is_active(variable, candidate):
                candidate[variable.name] = value(variable)
        return candidate

    def draw(self, value: Callable[[Variable], Value]) -> dict[str, Value]:
        """Draw a candidate; draw a value again if it makes the candidate forbidden.

        Values drawn earlier stay, as starting over would make choices rare that forbid many
        combinations. The candidate is forbidden nevertheless if a hundred draws of a value are.
        """
        candidate: dict[str, Value] = {}
        for variable in self.variables:
            if is_active(variable, candidate):
                for _ in range(REDRAWS):
                    candidate[variable.name] = value(variable)
                    if not any(rule.holds(candidate) for rule in self._rules[variable.name]):
                        break
        return candidate

    @cached_property
    def _rules(self) -> dict[str, list[Forbidden]]:
        """Forbidden combinations by the variables in them."""
        return {v.name: [rule for rule in self.forbidden if v.name in rule.names] for v in self}

    def why_forbidden(self, values: Values) -> str:
        """Return why a candidate cannot work, or "" if it can."""
        reasons = (f"{rule} ({rule.why})" for rule in self.forbidden if rule.holds(values))
        return next(reasons, "")

    def check(self, values: Values, owner: str = "") -> dict[str, Value]:
        """Return the candidate in declared types, without variables that are not active.

        An error names a value that is missing, unknown or forbidden.
        """
        for name in values:
            if name not in self.names:
                raise UnknownName(f"parameter of {owner or 'the candidate'}", name, self.names)

        candidate = self.fill(lambda variable: _checked(variable, values, owner))
        why = self.why_forbidden(candidate)
        if why:
            raise ForbiddenCandidate(f"{owner or 'the candidate'} is forbidden: {why}")
        return candidate

    # Fixing and narrowing

    def fix(self, name: str, value: object) -> "Space":
        """Return the space with one variable held at a value."""
        checked = self[name].domain.check(value, name)
        return self._with(name, Choice(default=checked, choices=(checked,)))

    def limit(self, name: str, low: float, high: float) -> "Space":
        """Return the space with a number limited to an interval, within its hard bounds.

        If an end has more decimals than declared, the search uses as many.
        """
        domain = self[name].domain
        assert isinstance(domain, Real | Integer)
        if not low <= high:
            interval = f"{low:g}..{high:g}"
            raise InvalidParameter(
                f"the range {interval} of {name} is empty; expected LOW..HIGH with LOW <= HIGH",
                name=name, value=interval,
            )  # fmt: skip
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
        """Return the space with a choice narrowed to some of its values."""
        domain = self[name].domain
        assert isinstance(domain, Choice)
        values = tuple(dict.fromkeys(domain.check(choice, name) for choice in choices))
        return self._with(name, dataclasses.replace(domain, choices=values, default=values[0]))

    def _with(self, name: str, domain: Real | Integer | Choice) -> "Space":
        changed = (
            dataclasses.replace(v, domain=domain) if v.name == name else v for v in self.variables
        )
        return dataclasses.replace(self, variables=tuple(changed))._pruned()

    def _pruned(self) -> "Space":
        """Return the space without inactive variables, true conditions and idle rules."""
        variables: dict[str, Variable] = {}
        for variable in self.variables:
            left, always = [], not variable.when
            for condition in variable.when:
                parent = variables.get(condition.name)
                choices = getattr(parent.domain, "choices", ()) if parent else ()
                values = tuple(v for v in condition.values if v in choices)
                if parent and values:
                    left.append(Condition(condition.name, values))
                    always |= not parent.when and len(values) == len(choices)
            if left or always:
                when = () if always else tuple(left)
                variables[variable.name] = dataclasses.replace(variable, when=when)
        rules = tuple(
            rule for rule in self.forbidden
            if rule.names <= variables.keys()
            and all(_may_hold(clause, variables) for clause in rule.clauses)
        )  # fmt: skip
        return dataclasses.replace(self, variables=tuple(variables.values()), forbidden=rules)

    def to_dict(self) -> list[VariableData]:
        """Return the space as plain data, equal for equal spaces."""
        return [
            {"name": v.name, **plain(v.domain), "when": " or ".join(map(str, v.when))}
            for v in self.variables
        ]


def _checked(variable: Variable, values: Values, owner: str) -> Value:
    """Return the value of a variable; raise if it is missing or outside the search space."""
    name, domain = variable.name, variable.domain
    whose = f"{name} of {owner}" if owner else name
    if name not in values:
        raise InvalidParameter(
            f"{whose} is missing; expected {domain.range}", name=name, value=None, owner=owner
        )
    try:
        value = domain.check(values[name], name)
    except InvalidParameter:
        value = None
    if value is not None and (
        isinstance(domain, Choice)
        or (not isinstance(value, str) and domain.low <= value <= domain.high)
    ):
        return value
    raise InvalidParameter(
        f"{whose} is {values[name]!r}; this search space has {domain.range}",
        name=name, value=values[name], owner=owner,
    )  # fmt: skip


def is_active(variable: Variable, values: Values) -> bool:
    """Return whether a variable exists, given the values of those before it."""
    return not variable.when or any(values.get(c.name) in c.values for c in variable.when)


def _may_hold(comparison: Clause, variables: Mapping[str, Variable]) -> bool:
    """Return whether a comparison may hold; only the values of choices are tried."""
    domain = variables[comparison.name].domain
    if comparison.variable or not isinstance(domain, Choice):
        return True
    return any(comparison.holds({comparison.name: value}) for value in domain.choices)


def searched(parameter: Parameter) -> Real | Integer | Choice:
    """Return the domain that a tuner searches; an end that is excluded is moved inside."""
    assert isinstance(parameter, Real | Integer | Choice)
    refused = getattr(parameter, "open_high", False)
    if isinstance(parameter, Real) and refused and parameter.high >= parameter.hard_high:
        inside = round(parameter.hard_high - 10.0**-parameter.digits, parameter.digits)
        return dataclasses.replace(parameter, high=inside)
    return parameter


def plain(domain: Real | Integer | Choice) -> DomainData:
    """Return a domain as plain data."""
    if isinstance(domain, Choice):
        return {"choices": list(domain.choices)}
    whole = isinstance(domain, Integer)
    return {"low": domain.low, "high": domain.high, "log": domain.log, "whole": whole}


def decimals(number: float) -> int:
    """Return the number of decimals of a finite number as it is printed."""
    return max(0, -int(Decimal(repr(number)).normalize().as_tuple().exponent))


# Sampling


def uniform_candidates(
    space: Space, count: int, rng: np.random.Generator, works: Callable[[Values], bool],
    besides: Iterable[Values] = (),
) -> list[dict[str, Value]]:  # fmt: skip
    """Draw `count` different candidates uniformly, none of them forbidden or one of `besides`."""

    def draw() -> tuple[int, dict[str, Value]]:
        return 0, space.draw(lambda variable: variable.uniform(rng))

    return [values for _, values in draw_distinct(space, count, draw, works, besides)]


def draw_distinct(
    space: Space, count: int, draw: Callable[[], tuple[int, dict[str, Value]]],
    works: Callable[[Values], bool], besides: Iterable[Values],
) -> list[tuple[int, dict[str, Value]]]:  # fmt: skip
    """Draw `count` new candidates; fewer if a hundred draws in a row are old or forbidden."""
    keys = {identity(candidate) for candidate in besides}
    drawn: list[tuple[int, dict[str, Value]]] = []
    for _ in range(count):
        for _ in range(REDRAWS):
            parent, values = draw()
            key = identity(values)
            if key not in keys and not space.why_forbidden(values) and works(values):
                keys.add(key)
                drawn.append((parent, values))
                break
    return drawn


def identity(candidate: Values) -> tuple[tuple[str, Value], ...]:
    """Return a key that equal candidates share."""
    return tuple(sorted(candidate.items()))
