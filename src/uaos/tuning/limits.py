"""Limits that a user sets to a search space, as they are typed or kept in a file.

reward=immediate_success            held at a value
NP=50..150                          a number narrowed to an interval
reward=success_sum|success_rate     a choice narrowed to some of its values
"""

import math
import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from uaos.errors import InvalidFile, InvalidParameter, UaosError, UnknownName
from uaos.params import Choice, Integer, Value, known_only
from uaos.selection.method import read_toml
from uaos.tuning.design import Design, design
from uaos.tuning.models import uniform_candidates
from uaos.tuning.space import Space, Variable

# How many candidates are drawn, each from a hundred attempts, to see whether any can run.
_ATTEMPTS = 3

#: A limit: "fix" or "range", and what was typed or read from a file.
Limit = tuple[str, Any]


def narrow(
    of: Design,
    fix: Iterable[str] = (),
    ranges: Iterable[str] = (),
    file: str | os.PathLike[str] | None = None,
) -> Design:
    """The design with texts such as "F=0.5" fixed and such as "NP=50..150" as ranges.

    `file` is a TOML file with such limits in tables [fix] and [range]; a text about the same
    parameter wins over it. The order does not matter. An error if nothing is left that can run.
    """
    limits = {} if file is None else read_limits(of, file)
    limits |= _typed(of.space, fix, ranges)
    made = of.narrowed(lambda space: _applied(space, limits))
    _check_any_works(made)
    return made


def read_limits(of: Design, file: str | os.PathLike[str]) -> dict[str, Limit]:
    """The limits in a TOML file, by parameter."""
    try:
        data = read_toml(file)
        known_only(data, {"fix": None, "range": None}, "the file of limits")
        for table in data.values():
            if not isinstance(table, Mapping):
                raise InvalidParameter("limits", table, "tables [fix] and [range]")
        fixed, ranges = data.get("fix", {}), data.get("range", {})
        limits: dict[str, Limit] = {name: ("fix", value) for name, value in fixed.items()}
        for name, value in ranges.items():
            if name in limits:
                raise InvalidParameter(name, value, "one limit, in [fix] or in [range]")
            limits[name] = ("range", value)
        _applied(of.space, limits)
    except InvalidFile:
        raise
    except UaosError as error:
        raise InvalidFile(f"{os.fspath(file)}: {error}") from error
    return limits


def _typed(space: Space, fix: Iterable[str], ranges: Iterable[str]) -> dict[str, Limit]:
    limits: dict[str, Limit] = {}
    for kind, texts, example in (
        ("fix", fix, "NAME=VALUE such as F=0.5"),
        ("range", ranges, 'NAME=LOW..HIGH such as NP=50..150, or "NAME=VALUE|VALUE"'),
    ):
        for text in texts:
            name, equals, value = (part.strip() for part in text.partition("="))
            if not (name and equals and value):
                raise InvalidParameter(f"--{kind}", text, example)
            _variable(space, name)
            if name in limits:
                raise InvalidParameter(f"--{kind}", text, f"one limit for {name}")
            limits[name] = (kind, value)
    return limits


def _applied(space: Space, limits: Mapping[str, Limit]) -> Space:
    """The space under all limits, those a parameter depends on first."""
    wanted = {name: _variable(space, name) for name in limits}
    for name in [n for n in space.names if n in wanted]:
        kind, given = limits[name]
        if name not in space.names:
            needs = " or ".join(map(str, wanted[name].when))
            raise InvalidParameter(
                name, given, f"no limit, as other limits take it out: it exists where {needs}"
            )
        if kind == "fix":
            space = space.fix(name, _value(wanted[name], given))
        else:
            space = _ranged(space, wanted[name], given)
    return space


def _variable(space: Space, name: str) -> Variable:
    try:
        return space[name]
    except UnknownName as error:
        wide = name in design("wide").space.names
        hint = "(the space `wide` has it: --space wide)" if wide else ""
        raise UnknownName(error.kind, name, space.names, hint=hint) from None


def _ranged(space: Space, variable: Variable, given: Any) -> Space:
    name, domain = variable.name, variable.domain
    several = _several(given)
    if isinstance(domain, Choice):
        if isinstance(given, str) and ".." in given:
            raise InvalidParameter(name, given, f"some of {'|'.join(map(str, domain.choices))}")
        return space.only(name, [_value(variable, one) for one in several])
    example = f"LOW..HIGH such as {domain.low:g}..{domain.high:g}"
    if isinstance(given, str):
        low, dots, high = given.partition("..")
        several = [low, high] if dots else []
    if len(several) != 2:
        raise InvalidParameter(name, given, f"{example}; to hold it at a value, fix it")
    ends = [_number(end) for end in several]
    if any(end is None for end in ends):
        raise InvalidParameter(name, given, example)
    for end in several:
        _value(variable, end)  # an end that is not allowed is named in its own words
    return space.limit(name, *(float(end) for end in ends if end is not None))


def _several(given: Any) -> list[Any]:
    if isinstance(given, str):
        return [part.strip() for part in given.split("|")]
    return list(given) if isinstance(given, list) else [given]


def _value(variable: Variable, given: Any) -> Value:
    """What was typed, as one of the parameter's values."""
    name, domain = variable.name, variable.domain
    if isinstance(domain, Choice):
        text = str(int(given) if isinstance(given, bool) else given)
        for one in domain.choices:
            if str(one) == text:
                return one
        raise UnknownName(f"value of {name}", text, map(str, domain.choices))
    number = _number(given)
    if number is None:
        raise InvalidParameter(name, given, domain.allowed)
    whole = isinstance(domain, Integer) and number == int(number)
    return domain.check(int(number) if whole else number, name)


def _number(given: Any) -> float | None:
    """A finite number, or None."""
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        return None
    try:
        number = float(given)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _check_any_works(made: Design) -> None:
    """Refuse a space of which nothing can run, saying why of one candidate."""
    rng = np.random.default_rng(1)
    if uniform_candidates(made.space, _ATTEMPTS, rng, made.works):
        return
    drawn = made.space.fill(lambda variable: variable.uniform(rng))
    why = made.space.why_forbidden(drawn)
    if not why:
        try:
            made.configuration(drawn)
        except UaosError as error:
            why = str(error)
    raise UaosError(f"no configuration of this search space can run: {why}; change its limits")
