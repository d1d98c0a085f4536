"""Sampling models: where new candidates come from.

Every survivor carries a model of its own: a spread for each number, which shrinks from race to
race, and a distribution for each choice, which moves toward the survivor's value. A child inherits
the model of its parent.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uaos.params import Choice, Integer, Real, Value
from uaos.tuning.space import Space, Values, Variable, bounds, distinct, rounded


@dataclass(frozen=True)
class Sampler:
    """Spreads of the numbers (in log space for a log scale) and distributions of the choices."""

    spreads: dict[str, float]
    chances: dict[str, NDArray[np.float64]]

    @classmethod
    def first(cls, space: Space) -> "Sampler":
        """Half of each range, and equal chances."""
        sizes = {v.name: len(v.domain.choices) for v in space if isinstance(v.domain, Choice)}
        return cls(
            {v.name: v.width / 2 for v in space if v.name not in sizes},
            {name: np.full(size, 1 / size) for name, size in sizes.items()},
        )

    def updated(
        self, space: Space, values: Values, *, iteration: int, planned: int, new: int
    ) -> "Sampler":
        """The model of a survivor for iteration j of J in which `new` candidates are drawn.

        With N free variables, spreads shrink by (1/new)^(1/N); chances become p (1 - (j-1)/J), plus
        (j-1)/J for the survivor's own value, at most 0.2^(1/N), and are normalized.
        """
        N = max(1, space.free)
        shrink = (1 / new) ** (1 / N)
        share = (iteration - 1) / planned
        chances = {}
        for name, p in self.chances.items():
            if name in values:
                p = p * (1 - share)
                p[_index(space[name], values[name])] += share
                p = np.minimum(p, 0.2 ** (1 / N))
            chances[name] = p / p.sum()
        return Sampler({name: s * shrink for name, s in self.spreads.items()}, chances)

    def widened(self, space: Space, new: int) -> "Sampler":
        """Softly restarted, for an iteration in which `new` candidates are drawn.

        Spreads go back by two iterations, times new^(2/N), to that of the second iteration at most;
        chances become 0.9 p + 0.1 max p, and are normalized.
        """
        shrink = (1 / new) ** (1 / max(1, space.free))
        spreads = {
            name: min(s / shrink**2, space[name].width / 2 * shrink)
            for name, s in self.spreads.items()
        }
        flatter = {name: 0.9 * p + 0.1 * p.max() for name, p in self.chances.items()}
        return Sampler(spreads, {name: p / p.sum() for name, p in flatter.items()})

    def draw(self, variable: Variable, parent: Values, rng: np.random.Generator) -> Value:
        """A value near the parent's; uniform where the parent has none."""
        domain = variable.domain
        if isinstance(domain, Choice):
            return domain.choices[_pick(np.cumsum(self.chances[variable.name]), rng)]
        if variable.name not in parent:
            return variable.uniform(rng)
        return _near(domain, float(parent[variable.name]), self.spreads[variable.name], rng)


def _near(domain: Real | Integer, center: float, spread: float, rng: np.random.Generator) -> Value:
    """Truncated normal around a value, by inversion of the distribution function."""
    from scipy.special import ndtr, ndtri

    low, high = bounds(domain)
    center += 0.5 * isinstance(domain, Integer)  # the middle of [n, n + 1)
    if domain.log:
        center = math.log(center)
    if spread <= 0:
        return rounded(domain, center)
    least, most = ndtr((low - center) / spread), ndtr((high - center) / spread)
    drawn = center + spread * float(ndtri(least + (most - least) * rng.random()))
    return rounded(domain, min(max(drawn, low), high))


def _pick(steps: NDArray[np.float64], rng: np.random.Generator) -> int:
    """The step of a cumulated distribution into which a draw falls; the last may miss 1."""
    return min(int(np.searchsorted(steps, rng.random(), side="right")), len(steps) - 1)


def _index(variable: Variable, value: Value) -> int:
    assert isinstance(variable.domain, Choice)
    return variable.domain.choices.index(value)


def children(
    space: Space, parents: Mapping[int, tuple[Values, Sampler]], count: int,
    rng: np.random.Generator, works: Callable[[Values], bool], besides: Iterable[Values] = (),
) -> list[tuple[int, dict[str, Value]]]:  # fmt: skip
    """`count` new candidates, each with its parent: the best of E has E shares, the last has 1.

    None is forbidden, none comes twice, none is a parent or one of `besides`.
    """
    numbers, shares = list(parents), np.arange(len(parents), 0, -1)
    steps = np.cumsum(shares) / np.sum(shares)

    def draw() -> tuple[int, dict[str, Value]]:
        parent = numbers[_pick(steps, rng)]
        values, model = parents[parent]
        return parent, space.draw(lambda variable: model.draw(variable, values, rng))

    taken = [values for values, _ in parents.values()]
    return distinct(space, count, draw, works, (*taken, *besides))


def nearly_equal(space: Space, candidates: Sequence[Values]) -> NDArray[np.bool_]:
    """Which candidates have a near twin: the same choices, numbers within 10^-digits of the range.

    An integer counts as a real number of the usual two digits.
    """
    alike = ~np.eye(len(candidates), dtype=bool)
    for variable in space:
        column = np.array([_coordinate(variable, c.get(variable.name)) for c in candidates])
        apart = np.abs(column[:, None] - column[None, :])
        near = 10.0 ** -getattr(variable.domain, "digits", 2) + 1e-9  # not decided by rounding
        alike &= apart <= (0.5 if isinstance(variable.domain, Choice) else near)
    return np.asarray(alike.any(axis=1))


def _coordinate(variable: Variable, value: Value | None) -> float:
    """A value on a scale where different choices are 1 apart, a range is 1 wide, absent is far."""
    if value is None:
        return -1e9
    if isinstance(variable.domain, Choice):
        return float(_index(variable, value))
    number = math.log(float(value)) if variable.domain.log else float(value)
    return (number - bounds(variable.domain)[0]) / (variable.width or 1.0)
