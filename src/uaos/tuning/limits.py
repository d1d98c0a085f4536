"""Limits of a search space, from the command line or a file.

reward=immediate_success            held at a value
NP=50..150                          a number narrowed to an interval
reward=success_sum|success_rate     a choice narrowed to some of its values
"""

import dataclasses
import math
import os
from collections.abc import Iterable, Mapping

import numpy as np

from uaos.errors import InvalidFile, InvalidParameter, UaosError, UnknownName, shortened
from uaos.files import read_toml
from uaos.params import Categorical, Integer, Real, Value, known_only
from uaos.problems.variables import Space, Variable
from uaos.tuning.design_space import Design
from uaos.tuning.design_space import design as preset_design
from uaos.tuning.sampling import uniform_candidates

# Candidates to draw, with a hundred attempts each, to see whether any can run.
_TRIAL_CANDIDATES = 3

#: A limit: "fix" or "range", and a value, an interval or some choices as a string.
Limit = tuple[str, str]


def narrow(
    design: Design,
    fix: Iterable[str] = (),
    ranges: Iterable[str] = (),
    file: str | os.PathLike[str] | None = None,
) -> Design:
    """Fix or narrow parameters of a design.

    Parameters
    ----------
    design : Design
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
        If the limits in the file do not fit this space.
    UaosError
        If none of the remaining configurations can run.

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
            limits = _parsed(design.space, *_texts(data))
            _limited(design.space, limits)
        except UaosError as error:
            raise InvalidFile(f"{os.fspath(file)}: {error}") from error
    limits |= _parsed(design.space, fix, ranges)
    narrowed = dataclasses.replace(design, space=_limited(design.space, limits))
    _check_any_works(narrowed)
    options = design.options.copy()
    if fixed := {name: text for name, (kind, text) in sorted(limits.items()) if kind == "fix"}:
        options["fix"] = options.get("fix", {}) | fixed
    if ranged := {name: text for name, (kind, text) in sorted(limits.items()) if kind == "range"}:
        options["range"] = options.get("range", {}) | ranged
    return dataclasses.replace(narrowed, options=options)


def _texts(data: Mapping[str, object]) -> list[list[str]]:
    """Return the limits of a file, under [fix] and under [range], as strings."""
    known_only(data, {"fix": None, "range": None}, "the file of limits")
    limits = []
    for kind in ("fix", "range"):
        table = data.get(kind, {})
        if not isinstance(table, Mapping):
            raise InvalidParameter(
                f"{kind} is {shortened(table)}; expected a table [{kind}] of parameters and their "
                "limits",
                name="limits", value=table,
            )  # fmt: skip
        limits.append([f"{name}={_as_string(value)}" for name, value in table.items()])
    return limits


def _as_string(value: object) -> str:
    if not isinstance(value, list):
        return str(value)
    is_interval = len(value) == 2 and all(isinstance(end, int | float) for end in value)
    return (".." if is_interval else "|").join(map(str, value))


def _parsed(space: Space, fix: Iterable[str], ranges: Iterable[str]) -> dict[str, Limit]:
    limits: dict[str, Limit] = {}
    for kind, texts, example in (
        ("fix", fix, "NAME=VALUE such as F=0.5"),
        ("range", ranges, 'NAME=LOW..HIGH such as NP=50..150, or "NAME=VALUE|VALUE"'),
    ):
        for text in texts:
            name, _, value = (part.strip() for part in text.partition("="))
            if not (name and value):
                raise InvalidParameter(
                    f"--{kind} is {text}; expected {example}", name=f"--{kind}", value=text
                )
            _variable(space, name)
            if name in limits:
                raise InvalidParameter(
                    f"--{kind} {text} limits {name} twice; use one limit per parameter",
                    name=f"--{kind}", value=text,
                )  # fmt: skip
            limits[name] = (kind, value)
    return limits


def _variable(space: Space, name: str) -> Variable:
    try:
        return space[name]
    except UnknownName as error:
        wide = name in preset_design("wide").space.names
        hint = "(it is in the space wide: --space wide)" if wide else ""
        raise UnknownName(error.kind, name, space.names, hint=hint) from None


def _limited(space: Space, limits: Mapping[str, Limit]) -> Space:
    """Return the space under all limits, those that others depend on first."""
    variables = {name: _variable(space, name) for name in limits}
    for name in [n for n in space.names if n in variables]:
        (kind, text), domain = limits[name], variables[name].domain
        if name not in space.names:
            needs = " or ".join(map(str, variables[name].when))
            raise InvalidParameter(
                f"{name} cannot be limited, because other limits exclude it; it exists only where "
                f"{needs}",
                name=name, value=text,
            )  # fmt: skip
        if kind == "fix":
            space = space.fix(name, _value(name, domain, text))
            continue
        low, interval, high = text.partition("..")
        if isinstance(domain, Categorical):
            if interval:
                raise InvalidParameter(
                    f"{name} is a choice and cannot be limited to {text}; name some of "
                    f"{'|'.join(map(str, domain.choices))}",
                    name=name, value=text,
                )  # fmt: skip
            space = space.only(name, [_value(name, domain, part) for part in text.split("|")])
        else:
            if not interval:
                raise InvalidParameter(
                    f"the range of {name} is {text}; expected LOW..HIGH, such as "
                    f"{domain.low:g}..{domain.high:g}; to hold it at a value, use --fix",
                    name=name, value=text,
                )  # fmt: skip
            space = space.limit(name, *(float(_value(name, domain, end)) for end in (low, high)))
    return space


def _value(name: str, domain: Real | Integer | Categorical, text: str) -> Value:
    """Parse a value of the parameter."""
    text = text.strip()
    if isinstance(domain, Categorical):
        choices = {str(choice): choice for choice in domain.choices}
        if text not in choices and text in ("True", "False"):  # in a file, for a switch 0 or 1
            text = str(int(text == "True"))
        if text not in choices:
            raise UnknownName(f"value of {name}", text, choices)
        chosen: Value = choices[text]
        return chosen
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InvalidParameter(
            f"{name} cannot be {shortened(text)}; expected {domain.allowed}", name=name, value=text
        )
    is_integer = isinstance(domain, Integer) and number.is_integer()
    return domain.check(int(number) if is_integer else number, name)


def _check_any_works(design: Design) -> None:
    """Raise an error, with an example, if no candidate of the space can run."""
    rng = np.random.default_rng(1)
    if uniform_candidates(design.space, _TRIAL_CANDIDATES, rng, design.works):
        return
    drawn = design.space.fill(lambda variable: variable.uniform(rng))
    why = design.space.why_forbidden(drawn)
    try:
        design.configuration(drawn)
    except UaosError as error:
        why = why or str(error)
    raise UaosError(f"no configuration of this search space can run: {why}; change its limits")
