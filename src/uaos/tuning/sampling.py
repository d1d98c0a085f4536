"""Draw candidates from a search space, and describe the space as plain data."""

import dataclasses
from collections.abc import Callable, Iterable

import numpy as np

from uaos.params import Categorical, Integer, OptionalInteger, Parameter, Real, RealSetting, Value
from uaos.problems.variables import REDRAWS, Space, Values
from uaos.tuning.records import DomainData, VariableData


def searched(parameter: Parameter) -> Real | Integer | Categorical:
    """Return the domain that a tuner searches; an end that is excluded is moved inside."""
    if isinstance(parameter, OptionalInteger):
        return parameter.value
    assert isinstance(parameter, Real | Integer | Categorical)
    if not (isinstance(parameter, RealSetting) and parameter.open_high):
        return parameter
    if parameter.high < parameter.hard_high:
        return parameter
    inside = round(parameter.hard_high - 10.0**-parameter.digits, parameter.digits)
    return dataclasses.replace(parameter, high=inside)


def plain(domain: Real | Integer | Categorical) -> DomainData:
    """Return a domain as plain data."""
    if isinstance(domain, Categorical):
        return {"choices": list(domain.choices)}
    is_integer = isinstance(domain, Integer)
    return {"low": domain.low, "high": domain.high, "log": domain.log, "whole": is_integer}


def space_data(space: Space) -> list[VariableData]:
    """Return a space as plain data, equal for equal spaces."""
    return [
        {"name": v.name, **plain(v.domain), "when": " or ".join(map(str, v.when))} for v in space
    ]


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
