"""Where new candidates come from: uniform at first, then models around the survivors.

Every survivor carries a model of its own: a spread for each number, which shrinks from race to
race, and a distribution for each choice, which moves towards the survivor's value. A child inherits
the model of its parent.

López-Ibáñez, M., Dubois-Lacoste, J., Pérez Cáceres, L., Birattari, M. & Stützle, T. (2016), "The
irace package: iterated racing for automatic algorithm configuration", Operations Research
Perspectives 3.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from uaos.params import Choice, Integer, Real, Value
from uaos.tuning.space import REDRAWS, Candidate, Space, Variable, bounds, rounded


@dataclass(frozen=True)
class Model:
    """Spreads of the numbers (in log space for a log scale) and distributions of the choices."""

    spreads: dict[str, float]
    chances: dict[str, NDArray[np.float64]]

    @classmethod
    def first(cls, space: Space) -> "Model":
        """Half of each range, and equal chances."""
        spreads = {v.name: v.width / 2 for v in space if not isinstance(v.domain, Choice)}
        chances = {
            v.name: np.full(len(v.domain.choices), 1 / len(v.domain.choices))
            for v in space
            if isinstance(v.domain, Choice)
        }
        return cls(spreads, chances)

    def updated(
        self, space: Space, values: Candidate, *, iteration: int, planned: int, new: int
    ) -> "Model":
        """The model of a survivor for iteration j of J in which `new` candidates are drawn.

        With N free variables, spreads shrink by (1/new)^(1/N); chances become p (1 - (j-1)/J), plus
        (j-1)/J for the survivor's own value, at most 0.2^(1/N), and are normalised.
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
        spreads = {name: s * shrink for name, s in self.spreads.items()}
        return Model(spreads, chances)

    def widened(self, space: Space, new: int) -> "Model":
        """Softly restarted, for an iteration in which `new` candidates are drawn.

        Spreads go back by two iterations, times new^(2/N), to that of the second iteration at most;
        chances become 0.9 p + 0.1 max p, and are normalised.
        """
        shrink = (1 / new) ** (1 / max(1, space.free))
        spreads = {
            name: min(s / shrink**2, space[name].width / 2 * shrink)
            for name, s in self.spreads.items()
        }
        flatter = {name: 0.9 * p + 0.1 * p.max() for name, p in self.chances.items()}
        return Model(spreads, {name: p / p.sum() for name, p in flatter.items()})

    def draw(self, variable: Variable, parent: Candidate, rng: np.random.Generator) -> Value:
        """A value near the parent's; uniform where the parent has none."""
        domain = variable.domain
        if isinstance(domain, Choice):
            return domain.choices[_pick(np.cumsum(self.chances[variable.name]), rng)]
        if variable.name not in parent:
            return variable.uniform(rng)
        return _near(domain, float(parent[variable.name]), self.spreads[variable.name], rng)


def _near(domain: Real | Integer, centre: float, spread: float, rng: np.random.Generator) -> Value:
    """Truncated normal around a value, by inversion of the distribution function."""
    low, high = bounds(domain)
    centre += 0.5 * isinstance(domain, Integer)  # the middle of [n, n + 1)
    if domain.log:
        centre = math.log(centre)
    if spread <= 0:
        return rounded(domain, centre)
    least, most = ndtr((low - centre) / spread), ndtr((high - centre) / spread)
    drawn = centre + spread * float(ndtri(least + (most - least) * rng.random()))
    return rounded(domain, min(max(drawn, low), high))


def _pick(steps: NDArray[np.float64], rng: np.random.Generator) -> int:
    """The step of a cumulated distribution into which a draw falls; the last may miss 1."""
    return min(int(np.searchsorted(steps, rng.random(), side="right")), len(steps) - 1)


def _index(variable: Variable, value: Value) -> int:
    assert isinstance(variable.domain, Choice)
    return variable.domain.choices.index(value)


def uniform_candidates(
    space: Space, count: int, rng: np.random.Generator, works: Callable[[Candidate], bool],
    besides: Iterable[Candidate] = (),
) -> list[dict[str, Value]]:  # fmt: skip
    """`count` candidates drawn uniformly, none forbidden, none twice, none of `besides`."""

    def draw() -> tuple[int, dict[str, Value]]:
        return 0, space.draw(lambda variable: variable.uniform(rng))

    return [values for _, values in _distinct(space, count, draw, works, besides)]


def children(
    space: Space, parents: Sequence[Candidate], models: Sequence[Model], weights: Sequence[float],
    count: int, rng: np.random.Generator, works: Callable[[Candidate], bool],
    besides: Iterable[Candidate] = (),
) -> list[tuple[int, dict[str, Value]]]:  # fmt: skip
    """`count` new candidates, each with the index of its parent, who is drawn by weight.

    None is forbidden, none comes twice, none is a parent or one of `besides`.
    """
    steps = np.cumsum(weights) / np.sum(weights)

    def draw() -> tuple[int, dict[str, Value]]:
        index = _pick(steps, rng)
        return index, space.draw(lambda variable: models[index].draw(variable, parents[index], rng))

    return _distinct(space, count, draw, works, (*parents, *besides))


def _distinct(
    space: Space, count: int, draw: Callable[[], tuple[int, dict[str, Value]]],
    works: Callable[[Candidate], bool], besides: Iterable[Candidate],
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


def identity(candidate: Candidate) -> tuple[tuple[str, Value], ...]:
    """What two equal candidates share."""
    return tuple(sorted(candidate.items()))


def nearly_equal(space: Space, candidates: Sequence[Candidate]) -> NDArray[np.bool_]:
    """Which candidates have a near twin: the same choices, numbers within 10^-digits of the range.

    An integer counts as a real number of the usual two digits.
    """
    count = len(candidates)
    alike = ~np.eye(count, dtype=bool)
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
    low = bounds(variable.domain)[0]
    return (number - low) / (variable.width or 1.0)
