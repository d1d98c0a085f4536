"""What the property tests draw, and where a comparison would hang on rounding alone.

Fitness values and metrics are small multiples of 1/4: their sums, differences and squares are
exact, and equal values are frequent. Where an equation jumps (a tie in a ranking, a sum that is 0,
rewards that are all equal), a jump on exact equality is compared; only a jump that rounding decides
is left out, by the functions `…decided_by_rounding`.
"""

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import reference
from hypothesis import strategies as st

import uaos
from uaos.params import (
    Categorical,
    IntegerSetting,
    Parameter,
    RealSetting,
    parameters,
    per_operator,
)
from uaos.selection.components import Component

#: Differences below this share of the values are taken for rounding.
NEAR = 1e-4

FAILED = (math.nan, math.inf, -math.inf)
QUARTERS = tuple(k / 4 for k in range(-32, 33))
#: What metrics are drawn from: all quarters, few values with many ties, the ends of the range.
#: (Those are of one sign: a sum in which they cancel would be rounding and nothing else.)
METRICS = {
    "quarters": QUARTERS,
    "coarse": (-2.0, -1.0, 0.0, 1.0, 1.5, 2.0),
    "hard": (0.0, 1e-300, 1e-200, 3.0, 1e100),
}


@cache  # as are the strategies below: to build one takes longer than to draw from it
def registered(family: str) -> list[str]:
    """The names of the package's own components of a family."""
    return [
        name
        for name, component in uaos.components(family).items()
        if component.__module__.startswith("uaos.")
    ]


# Components


@cache
def values(parameter: Parameter, n_operators: int) -> st.SearchStrategy[Any]:
    """Valid values of a parameter: two decimals, or a size small enough to be overrun."""
    if isinstance(parameter, Categorical):
        return st.sampled_from(parameter.choices)
    if isinstance(parameter, IntegerSetting):
        return st.integers(parameter.hard_low, 6)
    assert isinstance(parameter, RealSetting)
    if parameter.bound:
        numbers = st.integers(0, math.ceil(100 / n_operators) - 1).map(lambda k: k / 100)
        return numbers | st.integers(0, 99).map(lambda k: f"{k / 100}/K")
    low, high = math.ceil(100 * parameter.low), math.floor(100 * parameter.high)
    numbers = st.integers(low, high - parameter.open_high).map(lambda k: k / 100)
    ends = [parameter.hard_low, parameter.low, parameter.default]
    return numbers | st.sampled_from(ends if parameter.open_high else [*ends, parameter.high])


@cache
@st.composite
def instances(draw: st.DrawFn, family: str, name: str, n_operators: int) -> Component:
    """A component with random valid parameters for K operators."""
    component = uaos.components(family)[name]
    given = {k: draw(values(p, n_operators)) for k, p in parameters(component).items()}
    if "p_max" in given:
        p_min = given["p_min"]
        least = float(per_operator(p_min) / n_operators) if isinstance(p_min, str) else p_min
        given["p_max"] = max(given["p_max"], least)
    return component(**given)


def parameters_of(component: Component, n_operators: int) -> dict[str, Any]:
    """The parameters as the reference takes them: numbers that fit K operators."""
    return dataclasses.asdict(component.for_operators(n_operators))


# Generations


class Feedback(NamedTuple):
    """What a selector is told of one generation."""

    operators: list[int]
    parents: list[float]
    offspring: list[float]


class Recorded(NamedTuple):
    """What a memory is told of one generation."""

    operators: list[int]
    metrics: list[float]
    successes: list[bool]

    @property
    def offspring(self) -> list[float]:
        """Fitness that goes with the metrics."""
        return [-metric for metric in self.metrics]

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        return (
            np.array(self.operators, dtype=np.int64),
            np.array(self.metrics, dtype=np.float64),
            np.array(self.successes, dtype=bool),
            np.array(self.offspring, dtype=np.float64),
        )


@cache
def _bytes(size: int) -> st.SearchStrategy[bytes]:
    return st.binary(min_size=size, max_size=size)


@st.composite
def tables(draw: st.DrawFn, *columns: Sequence[Any]) -> list[list[Any]]:
    """The columns of a table of 1 to 8 rows; every entry is one of those given for its column.

    A byte is drawn for each entry, and all of them at once, which is three times as fast as entries
    one by one.
    """
    width = len(columns)
    drawn = draw(_bytes(width * draw(st.integers(1, 8))))
    return [
        [entries[byte % len(entries)] for byte in drawn[place::width]]
        for place, entries in enumerate(columns)
    ]


@cache
def feedback(
    n_operators: int, fitness: Sequence[float] = QUARTERS, failed: Sequence[float] = FAILED
) -> st.SearchStrategy[Feedback]:
    """A generation of 1 to 8 offspring; some evaluations failed, of parents and of offspring."""
    found = (*fitness, *failed)
    return tables(range(n_operators), found, found).map(lambda columns: Feedback(*columns))


@cache
def recorded(n_operators: int, metrics: Sequence[float] = QUARTERS) -> st.SearchStrategy[Recorded]:
    """A generation of 1 to 8 offspring as a metric leaves it: a failure has metric 0."""
    successes = [(metric, True) for metric in metrics]
    outcomes = [*successes, *[(0.0, False)] * len(successes)]  # one half failed

    def generation(columns: list[list[Any]]) -> Recorded:
        operators, found = columns
        return Recorded(operators, *map(list, zip(*found, strict=True)))

    return tables(range(n_operators), outcomes).map(generation)


@cache
def histories(one: st.SearchStrategy[Any], longest: int = 8) -> st.SearchStrategy[list[Any]]:
    """Several generations, of varying size."""
    return st.lists(one, min_size=1, max_size=longest)


def fitness_for(metric: str) -> tuple[float, ...]:
    """Fitness values that suit a metric: `relative_improvement` is meant for positive fitness."""
    if metric == "relative_improvement":
        return tuple(x for x in QUARTERS if x >= 0)
    return QUARTERS


# Numbers, one an operator


@cache
def vectors(n_operators: int, entries: Sequence[float]) -> st.SearchStrategy[list[float]]:
    """One of the entries for each operator."""
    return _bytes(n_operators).map(lambda drawn: [entries[byte % len(entries)] for byte in drawn])


@cache
def shares(n_operators: int, least: int = 0) -> st.SearchStrategy[list[float]]:
    """Non-negative numbers whose sum is 1; equal ones are frequent."""
    parts = vectors(n_operators, range(least, 9)).filter(any)
    return parts.map(lambda found: [part / sum(found) for part in found])


# Where rounding decides


def decided_by_rounding(differences: Sequence[float], scale: float) -> bool:
    """Whether a difference that decides a case is tiny, yet not exactly 0 in every computation."""
    tiny = any(abs(d) <= NEAR * scale for d in differences)
    return tiny and any(d != 0 for d in differences)


def span(numbers: Sequence[float]) -> float:
    """How far the numbers lie apart."""
    return max(numbers) - min(numbers)


def lead(numbers: Sequence[float]) -> float:
    """By how much the largest number exceeds the next."""
    second, first = sorted(numbers)[-2:]
    return first - second


def largest(numbers: Sequence[float]) -> float:
    """The largest magnitude."""
    return max(abs(x) for x in numbers)


def best_decided_by_rounding(*versions: Sequence[float]) -> bool:
    """Whether a quality of at most 1 is nearly the best, yet not exactly."""
    return any(0 < max(q) - x <= NEAR for q in versions for x in q)


def dominance_decided_by_rounding(rows: Sequence[Sequence[float]]) -> bool:
    """Whether two operators' means or deviations are equal, or nearly, and not exactly computed."""
    points = [_exact_point(row) for row in rows if row]
    for (mean_a, var_a), (mean_b, var_b) in itertools.combinations(points, 2):
        scale = max(abs(mean_a), abs(mean_b))
        close_mean = abs(mean_a - mean_b) <= NEAR * scale
        if close_mean and not (_is_float(mean_a) and _is_float(mean_b)):
            return True
        close = abs(var_a - var_b) <= NEAR * max(var_a, var_b)
        if close and not all(_is_float(x) for x in (mean_a, var_a, mean_b, var_b)):
            return True
    return False


def _exact_point(row: Sequence[float]) -> tuple[Fraction, Fraction]:
    numbers = [Fraction(x) for x in row]
    mean = sum(numbers) / len(numbers)
    return mean, sum((x - mean) ** 2 for x in numbers) / len(numbers)


def _is_float(x: Fraction) -> bool:
    return Fraction(float(x)) == x


#: Rewards, old qualities and observations, as one of the implementations has them.
Version = tuple[Sequence[float], Sequence[float], Sequence[int]]


def quality_decided_by_rounding(
    name: str,
    params: Mapping[str, Any],
    r_old: Sequence[float],
    p: Sequence[float],
    *versions: Version,
) -> bool:
    """Whether the quality jumps, or the softmax blows up rounding, for these rewards."""
    r = versions[0][0]
    if name == "weighted_normalised_sum":
        totals = [math.fsum(version[0]) for version in versions] + [sum(versions[-1][0])]
        return decided_by_rounding(totals, math.fsum(abs(x) for x in r))
    if name == "bellman":
        if not params["softmax"]:
            solutions = [reference.bellman(params, version[0], r_old, p) for version in versions]
            scale = max(largest(r), largest(r_old))
            return decided_by_rounding([span(q) for q in solutions], scale)
        return max(largest(r), largest(r_old)) / (1 - params["gamma"]) > 1e5
    return _flat_by_rounding(name, params, *versions)


def _flat_by_rounding(name: str, params: Mapping[str, Any], *versions: Version) -> bool:
    """Whether negative qualities differ by rounding alone, which dividing by the sum blows up."""
    raw = []
    for r, q_old, n in versions:
        if name == "weighted_sum":
            raw.append(reference.weighted_sum(params, r, q_old))
        elif name == "upper_confidence_bound":
            raw.append(reference.upper_confidence_bound(params, r, n))
        else:
            raw.append(list(r))
    return min(raw[0]) < 0 and decided_by_rounding([span(x) for x in raw], largest(raw[0]))


def written(kernel: Any, values: np.ndarray) -> np.ndarray:
    """What a kernel writes about values."""
    out = np.empty(len(values))
    kernel(values, out)
    return out
