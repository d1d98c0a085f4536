"""Limits that a user sets on a search space, as they are typed or kept in a file.

reward=immediate_success            held at a value
NP=50..150                          a number narrowed to an interval
reward=success_sum|success_rate     a choice narrowed to some of its values
"""

import dataclasses
import math
import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from uaos.errors import InvalidFile, InvalidParameter, UaosError, UnknownName
from uaos.files import read_toml
from uaos.params import Choice, Integer, Real, Value, known_only
from uaos.tuning.design_space import Design, design
from uaos.tuning.space import Space, Variable, uniform_candidates

# How many candidates are drawn, each from a hundred attempts, to see whether any can run.
_ATTEMPTS = 3

#: A limit: "fix" or "range", and a value, an interval or some choices as they are typed.
Limit = tuple[str, str]


def narrow(
    of: Design,
    fix: Iterable[str] = (),
    ranges: Iterable[str] = (),
    file: str | os.PathLike[str] | None = None,
) -> Design:
    """Fix or narrow parameters of a design.

    Parameters
    ----------
    of : Design
    fix : iterable of str
        Values such as "F=0.5".
    ranges : iterable of str
        Ranges such as "NP=50..150" or "reward=success_sum|success_rate".
    file : path, optional
        A TOML file with such limits under [fix] and [range]; `fix` and `ranges` override it.

    Returns
    -------
    Design

    Raises
    ------
    InvalidFile
        If the limits in the file are not of this space.
    UaosError
        If no configuration that is left can run.

    Examples
    --------
    >>> from uaos.tuning import design, narrow
    >>> narrow(design(), fix=["F=0.5"], ranges=["NP=50..150"]).space["NP"].domain.range
    '50 to 150'
    """
    limits: dict[str, Limit] = {}
    if file is not None:
        data = read_toml(file)
        try:
            limits = _parsed(of.space, *_texts(data))
            _limited(of.space, limits)
        except UaosError as error:
            raise InvalidFile(f"{os.fspath(file)}: {error}") from error
    limits |= _parsed(of.space, fix, ranges)
    made = dataclasses.replace(of, space=_limited(of.space, limits))
    _check_any_works(made)
    options = dict(of.options)
    for kind in ("fix", "range"):
        kept = {name: text for name, (which, text) in sorted(limits.items()) if which == kind}
        if kept:
            options[kind] = {**options.get(kind, {}), **kept}
    return dataclasses.replace(made, options=options)


def _texts(data: Mapping[str, Any]) -> list[list[str]]:
    """The limits of a file, under [fix] and under [range], as they would be typed."""
    known_only(data, {"fix": None, "range": None}, "the file of limits")
    for table in data.values():
        if not isinstance(table, Mapping):
            raise InvalidParameter("limits", table, "tables [fix] and [range]")
    return [
        [f"{name}={_as_typed(value)}" for name, value in data.get(kind, {}).items()]
        for kind in ("fix", "range")
    ]


def _as_typed(value: Any) -> str:
    if not isinstance(value, list):
        return str(value)
    numbers = all(isinstance(one, int | float) for one in value)
    return (".." if numbers and len(value) == 2 else "|").join(map(str, value))


def _parsed(space: Space, fix: Iterable[str], ranges: Iterable[str]) -> dict[str, Limit]:
    limits: dict[str, Limit] = {}
    for kind, texts, example in (
        ("fix", fix, "NAME=VALUE such as F=0.5"),
        ("range", ranges, 'NAME=LOW..HIGH such as NP=50..150, or "NAME=VALUE|VALUE"'),
    ):
        for text in texts:
            name, _, value = (part.strip() for part in text.partition("="))
            if not (name and value):
                raise InvalidParameter(f"--{kind}", text, example)
            _variable(space, name)
            if name in limits:
                raise InvalidParameter(f"--{kind}", text, f"one limit for {name}")
            limits[name] = (kind, value)
    return limits


def _variable(space: Space, name: str) -> Variable:
    try:
        return space[name]
    except UnknownName as error:
        wide = name in design("wide").space.names
        hint = "(the space `wide` has it: --space wide)" if wide else ""
        raise UnknownName(error.kind, name, space.names, hint=hint) from None


def _limited(space: Space, limits: Mapping[str, Limit]) -> Space:
    """The space under all limits, those a parameter depends on first."""
    wanted = {name: _variable(space, name) for name in limits}
    for name in [n for n in space.names if n in wanted]:
        (kind, text), domain = limits[name], wanted[name].domain
        if name not in space.names:
            needs = " or ".join(map(str, wanted[name].when))
            raise InvalidParameter(
                name, text, f"no limit, as other limits take it out: it exists where {needs}"
            )
        if kind == "fix":
            space = space.fix(name, _value(name, domain, text))
            continue
        low, interval, high = text.partition("..")
        if isinstance(domain, Choice):
            if interval:
                raise InvalidParameter(name, text, f"some of {'|'.join(map(str, domain.choices))}")
            space = space.only(name, [_value(name, domain, part) for part in text.split("|")])
        else:
            if not interval:
                example = f"{domain.low:g}..{domain.high:g}"
                allowed = f"LOW..HIGH such as {example}; to hold it at a value, fix it"
                raise InvalidParameter(name, text, allowed)
            space = space.limit(name, *(float(_value(name, domain, end)) for end in (low, high)))
    return space


def _value(name: str, domain: Real | Integer | Choice, text: str) -> Value:
    """What was typed, as one of the parameter's values."""
    text = text.strip()
    if isinstance(domain, Choice):
        known = {str(one): one for one in domain.choices}
        if text not in known and text in ("True", "False"):  # of a file, for a switch 0 or 1
            text = str(int(text == "True"))
        if text not in known:
            raise UnknownName(f"value of {name}", text, known)
        return known[text]
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InvalidParameter(name, text, domain.allowed)
    whole = isinstance(domain, Integer) and number.is_integer()
    return domain.check(int(number) if whole else number, name)


def _check_any_works(made: Design) -> None:
    """Refuse a space of which nothing can run, saying why of one candidate."""
    rng = np.random.default_rng(1)
    if uniform_candidates(made.space, _ATTEMPTS, rng, made.works):
        return
    drawn = made.space.fill(lambda variable: variable.uniform(rng))
    why = made.space.why_forbidden(drawn)
    try:
        made.configuration(drawn)
    except UaosError as error:
        why = why or str(error)
    raise UaosError(f"no configuration of this search space can run: {why}; change its limits")
