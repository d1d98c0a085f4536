"""A search space: named variables with conditions, and forbidden combinations.

A candidate is a plain mapping of the *active* variables to their values: a variable whose condition
does not hold is absent. To an optimizer a space is a box of real numbers, one coordinate for each
variable that is not fixed; `encode` and `decode` lead from a candidate to a point and back.
"""

import contextlib
import dataclasses
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from uaos.arrays import BoolArray, FloatArray, IntArray
from uaos.checks import LONGEST_NAME, is_printable_name, real_numbers
from uaos.errors import InvalidParameter, UaosError, UnknownName, shortened
from uaos.params import Categorical, Integer, Real, RealSetting, Value, decimals_of, same_value
from uaos.problems.activity import Activity, Test

#: A candidate: the values of the variables that are active.
Values = Mapping[str, Value]

#: Attempts to draw a value or candidate that is neither forbidden nor repeated.
REDRAWS = 100
# Attempts to draw a whole candidate.
_RESTARTS = 5

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, ">": operator.gt, "==": operator.eq,
}  # fmt: skip


class ForbiddenCandidate(UaosError, ValueError):
    """A candidate is a combination of values that cannot work."""


@dataclass(frozen=True)
class Condition:
    """Condition that the variable `name` exists and has one of `values`, and that `also` hold."""

    name: str
    values: tuple[Value, ...]
    also: tuple["Condition", ...] = ()

    def holds(self, values: Values) -> bool:
        """Return whether the condition holds."""
        own = self.name in values and any(
            same_value(values[self.name], value) for value in self.values
        )
        return own and all(condition.holds(values) for condition in self.also)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its variables."""
        return (self.name, *(condition.name for condition in self.also))

    def __str__(self) -> str:
        own = f"{self.name} is " + " or ".join(map(str, self.values))
        return " and ".join([own, *map(str, self.also)])


@dataclass(frozen=True)
class Variable:
    """Variable with a name and a domain; it exists where any condition of `when` holds."""

    name: str
    domain: Real | Integer | Categorical
    when: tuple[Condition, ...] = ()

    @property
    def default(self) -> Value | None:
        """Value to start from, if there is one."""
        domain = self.domain
        if isinstance(domain, Categorical) and self.fixed:
            only: Value = domain.choices[0]
            return only
        return domain.default

    @property
    def fixed(self) -> bool:
        """True if the variable has a single value."""
        return isinstance(self.domain, Categorical) and len(self.domain.choices) == 1

    @property
    def width(self) -> float:
        """Width of the range, in log space for a log scale; 0 for a choice."""
        if isinstance(self.domain, Categorical):
            return 0.0
        low, high = bounds(self.domain) if self.domain.log else (self.domain.low, self.domain.high)
        return float(high - low)

    def uniform(self, rng: np.random.Generator) -> Value:
        """Draw a value uniformly: in log space for a log scale, rounded as declared."""
        domain = self.domain
        if isinstance(domain, Categorical):
            drawn: Value = domain.choices[int(rng.integers(len(domain.choices)))]
            return drawn
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
    if isinstance(domain, RealSetting):
        plain = round(plain, domain.digits)
    return float(min(max(plain, domain.low), domain.high))


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


@dataclass(frozen=True, init=False, repr=False)
class Space:
    """A search space: named variables in order.

    Parameters
    ----------
    variables : mapping of names to Real, Integer, Categorical or a single value
        The variables. Each number, string, boolean or None is a fixed value. In the space each
        variable comes after those that its conditions name.
    forbidden : sequence of Forbidden
        Combinations that a tuner does not try.

    Attributes
    ----------
    variables : tuple of Variable
        The variables, with conditions.
    bounds : ndarray, shape (d, 2)
        The box that an optimizer searches, one coordinate for each variable that is not fixed.
    integrality : ndarray of int, shape (d,)
        Which coordinates are integers, 2 for those without an order.

    Raises
    ------
    InvalidParameter
        If a variable or a condition is invalid, or conditions form a cycle.

    Examples
    --------
    >>> import uaos
    >>> space = uaos.Space({
    ...     "kernel": uaos.Categorical(["rbf", "poly"]),
    ...     "degree": uaos.Integer(2, 5, when={"kernel": "poly"}),
    ... })
    >>> space.decode([0, 3]), space.decode([1, 3])
    ({'kernel': 'rbf'}, {'kernel': 'poly', 'degree': 3})
    """

    variables: tuple[Variable, ...]
    forbidden: tuple[Forbidden, ...]

    def __init__(
        self,
        variables: Mapping[str, object] | Iterable[Variable],
        forbidden: Iterable[Forbidden] = (),
    ) -> None:
        if isinstance(variables, Mapping):
            variables = _declared(variables)
        declared = tuple(variables) if isinstance(variables, Iterable) else (variables,)
        if not all(isinstance(variable, Variable) for variable in declared):
            raise InvalidParameter(
                f"variables is {shortened(variables)}; expected a mapping of names to variables",
                name="variables", value=variables,
            )  # fmt: skip
        object.__setattr__(self, "variables", declared)
        object.__setattr__(self, "forbidden", tuple(forbidden))

    def __repr__(self) -> str:
        """Return the declarations, one per line."""
        lines = [f"    {v.name!r}: {v.default!r}," if v.fixed else f"    {v.name!r}: {v.domain!r},"
                 for v in self]  # fmt: skip
        return "\n".join(["Space({", *lines, "})"])

    # As a box

    @cached_property
    def searched(self) -> tuple[Variable, ...]:
        """Variables that have a coordinate: those that are not fixed."""
        return tuple(variable for variable in self.variables if not variable.fixed)

    @cached_property
    def bounds(self) -> FloatArray:
        """Box of the coordinates, (d, 2)."""
        ends = [variable.domain.coordinate[:2] for variable in self.searched]
        return np.array(ends, float).reshape(-1, 2)

    @cached_property
    def integrality(self) -> IntArray:
        """Kind of each coordinate: 0 for real, 1 for integer, 2 for category."""
        kinds = ("real", "integer", "category")
        return np.array([kinds.index(v.domain.coordinate.kind) for v in self.searched], np.int64)

    @cached_property
    def log_integers(self) -> BoolArray | None:
        """Which coordinates are logarithms of integers, with others between them; None if none."""
        domains = [variable.domain for variable in self.searched]
        chosen = [isinstance(domain, Integer) and domain.log for domain in domains]
        return np.array(chosen) if any(chosen) else None

    def decode(self, points: ArrayLike) -> Any:
        """Return the candidate of a point, (d,), or a list with those of several, (n, d)."""
        try:
            array = real_numbers(points)
            if not np.isfinite(array).all():
                raise ValueError
        except (TypeError, ValueError):
            raise InvalidParameter(
                f"points is {shortened(points)}; expected finite numbers",
                name="points", value=points,
            ) from None  # fmt: skip
        if array.shape[-1:] != (len(self.searched),) or array.ndim > 2:
            raise InvalidParameter(
                f"points has shape {array.shape}; expected ({len(self.searched)},), or "
                f"(n, {len(self.searched)}): a coordinate for each variable that is not fixed",
                name="points", value=points,
            )  # fmt: skip
        if array.ndim == 2:
            return [self._candidate(row) for row in array.tolist()]
        return self._candidate(array.tolist())

    def _candidate(self, point: list[float]) -> dict[str, Value]:
        coordinates = iter(point)
        candidate: dict[str, Value] = {}
        for variable in self.variables:
            number = 0.0 if variable.fixed else next(coordinates)
            if is_active(variable, candidate):
                candidate[variable.name] = variable.domain.decode(number)
        return candidate

    def encode(self, values: Mapping[str, object], owner: str = "") -> FloatArray:
        """Return the point of a candidate.

        A variable that is missing has its default. One that is not active has its default or the
        middle of its range, whatever `values` has for it, such as NaN in a row of a data frame.

        Parameters
        ----------
        values : mapping
            A value for each active variable.
        owner : str
            Name of the candidate in messages.
        """
        if not isinstance(values, Mapping):
            raise InvalidParameter(
                f"{owner or 'values'} is {shortened(values)}; expected a mapping of names to "
                "values",
                name=owner or "values", value=values,
            )  # fmt: skip
        defaults = {v.name: v.default for v in self.variables if v.default is not None}
        declared: dict[str, Any] = {**defaults, **values}
        complete: dict[str, Any] = {**defaults, **self.check(declared, owner)}
        point = []
        for variable in self.searched:
            low, high, kind = variable.domain.coordinate
            middle = 0.5 * (low + high)
            if variable.name in complete:
                number = variable.domain.encode(complete[variable.name])
                point.append(min(max(number, low), high))
            else:
                point.append(middle if kind == "real" else float(math.floor(middle)))
        return np.array(point, float)

    @cached_property
    def activity(self) -> Activity | None:
        """Conditions under which coordinates are active; None if all always are."""
        coordinates = {variable.name: j for j, variable in enumerate(self.searched)}
        tests: dict[str, list[tuple[Test, ...]]] = {}
        for variable in self.variables:  # after those that its conditions name
            tests[variable.name] = _alternatives(self, variable, coordinates, tests)
        either = [tests[variable.name] for variable in self.searched]
        return Activity(either) if any(either) else None

    def starts(self, x0: object) -> FloatArray | None:
        """Return the points of candidates to start from: one mapping, several, or the defaults."""
        return self.start if x0 is None else self.encode_all(x0, "x0")

    def encode_all(self, candidates: object, owner: str) -> FloatArray:
        """Return the point of one candidate, (d,), or those of several, (n, d)."""
        if isinstance(candidates, Mapping):
            return self.encode(candidates, owner)
        several = candidates if isinstance(candidates, Sequence) else ()
        if len(several) and all(isinstance(candidate, Mapping) for candidate in several):
            return np.array([self.encode(x, f"{owner}[{k}]") for k, x in enumerate(several)])
        raise InvalidParameter(
            f"{owner} is {shortened(candidates)}; expected a mapping of names to values, or a list "
            "of them",
            name=owner, value=candidates,
        )  # fmt: skip

    @cached_property
    def start(self) -> FloatArray | None:
        """Point of the defaults; None unless each variable has one that is active there."""
        try:
            return self.encode({}) if any(v.default is not None for v in self) else None
        except InvalidParameter:
            return None

    def __iter__(self) -> Iterator[Variable]:
        return iter(self.variables)

    def __len__(self) -> int:
        return len(self.variables)

    def __getitem__(self, name: str) -> Variable:
        for variable in self.variables:
            if variable.name == name:
                return variable
        raise UnknownName("variable", name, self.names, hint="(of the search space)")

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

        Values drawn earlier are kept: starting over would make choices rare that forbid many
        combinations. After a hundred forbidden values of one variable, the candidate is drawn
        again, a few times; the last one may still be forbidden.
        """
        for _ in range(_RESTARTS):
            candidate: dict[str, Value] = {}
            for variable in self.variables:
                if is_active(variable, candidate):
                    self._draw_into(candidate, variable.name, partial(value, variable))
            if not self.why_forbidden(candidate):
                break
        return candidate

    def _draw_into(
        self, candidate: dict[str, Value], name: str, value: Callable[[], Value]
    ) -> None:
        """Set a variable of a candidate, to a value that does not forbid it if possible."""
        for _ in range(REDRAWS):
            candidate[name] = value()
            if not any(rule.holds(candidate) for rule in self._rules[name]):
                return

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
                hint = f"(in {owner or 'the candidate'})"
                raise UnknownName("variable", name, self.names, hint=hint)
        candidate = self.fill(lambda variable: _checked(variable, values, owner))
        why = self.why_forbidden(candidate)
        if why:
            raise ForbiddenCandidate(f"{owner or 'the candidate'} is forbidden: {why}")
        return candidate

    # Fixing and narrowing

    def fix(self, name: str, value: object) -> "Space":
        """Return the space with one variable held at a value."""
        checked = self[name].domain.check(value, name)
        return self._with(name, Categorical(default=checked, choices=(checked,)))

    def limit(self, name: str, low: float, high: float) -> "Space":
        """Return the space with a number limited to an interval, within its hard bounds.

        If an end has more decimals than declared, the search uses as many.
        """
        domain = self[name].domain
        if isinstance(domain, Categorical):
            raise InvalidParameter(
                f"{name} has choices, not a range; expected only({name!r}, choices)",
                name=name, value=(low, high),
            )  # fmt: skip
        if not low <= high:
            interval = f"{low:g}..{high:g}"
            raise InvalidParameter(
                f"the range {interval} of {name} is empty; expected LOW..HIGH with LOW <= HIGH",
                name=name, value=interval,
            )  # fmt: skip
        is_integer = isinstance(domain, Integer)
        ends = [domain.check(int(end) if is_integer and float(end).is_integer() else end, name)
                for end in (low, high)]  # fmt: skip
        if ends[0] == ends[1]:
            return self.fix(name, ends[0])
        if domain.log and float(ends[0]) <= 0:
            raise InvalidParameter(
                f"the range of {name} is {low:g}..{high:g}; expected one above 0 (log scale)",
                name=name, value=f"{low:g}..{high:g}",
            )  # fmt: skip
        changes: dict[str, Any] = {"low": ends[0], "high": ends[1]}
        if isinstance(domain, RealSetting):
            changes["digits"] = max(domain.digits, *(decimals_of(float(end)) for end in ends))
        return self._with(name, dataclasses.replace(domain, **changes))

    def only(self, name: str, choices: Iterable[object]) -> "Space":
        """Return the space with a choice narrowed to some of its values."""
        domain = self[name].domain
        if not isinstance(domain, Categorical):
            raise InvalidParameter(
                f"{name} has a range, not choices; expected limit({name!r}, low, high)",
                name=name, value=choices,
            )  # fmt: skip
        values = tuple(dict.fromkeys(domain.check(choice, name) for choice in choices))
        first = values[0] if values else None
        return self._with(name, dataclasses.replace(domain, choices=values, default=first))

    def _with(self, name: str, domain: Real | Integer | Categorical) -> "Space":
        changed = (
            dataclasses.replace(v, domain=domain) if v.name == name else v for v in self.variables
        )
        return dataclasses.replace(self, variables=tuple(changed))._pruned()

    def _pruned(self) -> "Space":
        """Return the space without inactive variables, and conditions and rules without effect."""
        variables: dict[str, Variable] = {}
        for variable in self.variables:
            left, always = [], not variable.when
            for condition in variable.when:
                parts = [_possible(c, variables) for c in (condition, *condition.also)]
                if all(part.values for part in parts):
                    left.append(dataclasses.replace(parts[0], also=tuple(parts[1:])))
                    always |= all(_always_holds(part, variables) for part in parts)
            if left or always:
                when = () if always else tuple(left)
                variables[variable.name] = dataclasses.replace(variable, when=when)
        rules = tuple(
            rule for rule in self.forbidden
            if rule.names <= variables.keys()
            and all(_may_hold(clause, variables) for clause in rule.clauses)
        )  # fmt: skip
        return dataclasses.replace(self, variables=tuple(variables.values()), forbidden=rules)


def _checked(variable: Variable, values: Values, owner: str) -> Value:
    """Return the value of a variable; raise if it is missing or outside the search space."""
    name, domain = variable.name, variable.domain
    whose = f"{name} of {owner}" if owner else name
    if name not in values:
        raise InvalidParameter(
            f"{whose} is missing; expected {_expected(domain)}", name=name, value=None, owner=owner
        )
    raw: object = values[name]
    if isinstance(domain, Integer) and isinstance(raw, float) and raw.is_integer():
        raw = int(raw)  # of a data frame, where NaN elsewhere makes all integers floats
    with contextlib.suppress(InvalidParameter):
        value = domain.check(raw, name)
        if isinstance(domain, Categorical) or (
            not isinstance(value, str) and domain.low <= value <= domain.high
        ):
            return value
    raise InvalidParameter(
        f"{whose} is {shortened(values[name])}; expected {_expected(domain)}",
        name=name, value=values[name], owner=owner,
    )  # fmt: skip


def _expected(domain: Real | Integer | Categorical) -> str:
    """Return the values of a variable as shown in an error message."""
    return f"an integer, {domain.range}" if isinstance(domain, Integer) else domain.range


def _possible(condition: Condition, variables: Mapping[str, Variable]) -> Condition:
    """Return one condition with the values that its variable still has."""
    parent = variables.get(condition.name)
    if parent is None:
        return Condition(condition.name, ())
    if not isinstance(parent.domain, Categorical):
        return Condition(condition.name, condition.values)
    values = tuple(value for value in condition.values if value in parent.domain.choices)
    return Condition(condition.name, values)


def _always_holds(condition: Condition, variables: Mapping[str, Variable]) -> bool:
    """Return whether a condition holds for all values of a variable that always exists."""
    parent = variables[condition.name]
    choices = parent.domain.choices if isinstance(parent.domain, Categorical) else None
    return not parent.when and choices is not None and len(condition.values) == len(choices)


def is_active(variable: Variable, values: Values) -> bool:
    """Return whether a variable exists, given the values of those before it."""
    return not variable.when or any(condition.holds(values) for condition in variable.when)


def _may_hold(comparison: Clause, variables: Mapping[str, Variable]) -> bool:
    """Return whether a comparison may hold; only the values of choices are tried."""
    domain = variables[comparison.name].domain
    if comparison.variable or not isinstance(domain, Categorical):
        return True
    return any(comparison.holds({comparison.name: value}) for value in domain.choices)


def _alternatives(
    space: Space,
    variable: Variable,
    coordinates: Mapping[str, int],
    earlier: Mapping[str, list[tuple[Test, ...]]],
) -> list[tuple[Test, ...]]:
    """Return the tests of coordinates under one of which a variable is active; none if always."""
    either: list[tuple[Test, ...]] = []
    for condition in variable.when:
        parts: list[list[tuple[Test, ...]]] = []
        for single in (condition, *condition.also):
            parent = space[single.name]
            if parent.fixed:  # has no coordinate: its own conditions instead
                parts.append(earlier[parent.name] or [()])
            else:
                intervals = tuple(_interval(parent.domain, value) for value in single.values)
                parts.append([((coordinates[parent.name], intervals),)])
        for combination in product(*parts):
            tests = tuple(test for part in combination for test in part)
            if not tests:
                return []
            either.append(tests)
    return either


def _interval(domain: Real | Integer | Categorical, value: Any) -> tuple[float, float]:
    """Return the part of a coordinate that stands for a value."""
    if isinstance(domain, Integer) and domain.log:
        return math.log(value - 0.5), math.log(value + 0.5)
    number = domain.encode(value)
    return number - 0.5, number + 0.5


# From a user's mapping


def _declared(declared: Mapping[str, object]) -> tuple[Variable, ...]:
    """Return the variables of a mapping in order, each after those that its conditions name."""
    if not declared:
        raise InvalidParameter(
            "the space is empty; expected at least one variable", name="space", value=declared
        )
    domains = {_checked_name(name): _as_domain(name, value) for name, value in declared.items()}
    waiting = {
        name: Variable(name, domain, _conditions(name, domain, domains))
        for name, domain in domains.items()
    }
    ordered: dict[str, Variable] = {}
    while waiting:
        ready = next((
            variable for variable in waiting.values()
            if all(name in ordered for condition in variable.when for name in condition.names)
        ), None)  # fmt: skip
        if ready is None:
            cycle = _cycle(waiting)
            raise InvalidParameter(
                f"the conditions of {', '.join(cycle)} form a cycle; expected an order in which "
                "each depends on earlier variables only",
                name="when", value=cycle,
            )  # fmt: skip
        ordered[ready.name] = waiting.pop(ready.name)
    return tuple(ordered.values())


def _cycle(waiting: Mapping[str, Variable]) -> tuple[str, ...]:
    """Return variables each of which depends on the next, and the last one on the first."""
    path = [next(iter(waiting))]
    while path[-1] not in path[:-1]:
        names = [name for condition in waiting[path[-1]].when for name in condition.names]
        path.append(next(name for name in names if name in waiting))
    return tuple(path[path.index(path[-1]) : -1])


def _checked_name(name: object) -> str:
    if is_printable_name(name):
        return str(name)
    raise InvalidParameter(
        f"a variable is called {shortened(name)}; expected a string of 1 to {LONGEST_NAME} "
        "printable characters",
        name="space", value=name,
    )  # fmt: skip


def _as_domain(name: str, value: object) -> Real | Integer | Categorical:
    """Return a domain; a plain value is fixed."""
    if isinstance(value, Real | Integer | Categorical):
        return value
    if value is None or isinstance(value, str | bool | np.bool_ | int | float | np.number):
        return Categorical((value,))
    raise InvalidParameter(
        f"{name} is {shortened(value)}; expected uaos.Real(low, high), uaos.Integer(low, high), "
        "uaos.Categorical(choices), or a fixed value: a number, a string, a boolean or None",
        name=name, value=value,
    )  # fmt: skip


def _conditions(
    name: str,
    domain: Real | Integer | Categorical,
    domains: Mapping[str, Real | Integer | Categorical],
) -> tuple[Condition, ...]:
    """Return the conditions under which a variable exists; any of them is enough."""
    when = domain.when
    if when is None:
        return ()
    several = [when] if isinstance(when, Mapping) else when
    if not (
        isinstance(several, Sequence)
        and several
        and all(isinstance(each, Mapping) and each for each in several)
    ):
        raise InvalidParameter(
            f"when of {name} is {shortened(when)}; expected a mapping of names to values, or a "
            "list of them",
            name="when", value=when,
        )  # fmt: skip
    conditions = []
    for alternative in several:
        parts = [_condition(name, *pair, domains) for pair in alternative.items()]
        conditions.append(dataclasses.replace(parts[0], also=tuple(parts[1:])))
    return tuple(conditions)


def _condition(
    name: str, other: str, wanted: object, domains: Mapping[str, Real | Integer | Categorical]
) -> Condition:
    """Return the condition that another variable has a value, or one of several."""
    if other not in domains:
        raise UnknownName("variable", other, domains, hint=f"(in the condition of {name})")
    if other == name:
        raise InvalidParameter(
            f"the condition of {name} names {name} itself, a cycle; expected another variable",
            name="when", value=other,
        )  # fmt: skip
    domain = domains[other]
    if isinstance(domain, Real) and domain.step is None:
        raise InvalidParameter(
            f"the condition of {name} names {other}, a real number; expected a categorical or "
            "integer variable",
            name="when", value=other,
        )  # fmt: skip
    several = isinstance(wanted, list | tuple | set | frozenset | range)
    if several and isinstance(domain, Categorical):
        several = not any(same_value(wanted, c) for c in domain.choices)
    values = list(wanted) if several else [wanted]  # type: ignore[call-overload]
    if not values:
        raise InvalidParameter(
            f"the condition of {name} allows no value of {other}; expected {domain.range}",
            name="when", value=wanted,
        )  # fmt: skip
    return Condition(other, tuple(_in_range(name, other, value, domain) for value in values))


def _in_range(name: str, other: str, value: object, domain: Real | Integer | Categorical) -> Value:
    """Return a value of a condition, if the variable may have it."""
    try:
        return domain.check(value, other)
    except InvalidParameter:
        raise InvalidParameter(
            f"the condition of {name} names {shortened(value)}, which {other} cannot be; expected "
            f"{domain.range}",
            name="when", value=value,
        ) from None  # fmt: skip
