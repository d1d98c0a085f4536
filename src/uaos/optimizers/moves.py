"""Moves in a mixed space: make a new point from the best points so far, without a model.

Each move is a function of the coordinates, the best points, sorted, and a generator. The pool has
moves in the neighborhood of one point (a step, a change of some coordinates), and moves that
combine several (a crossover, a draw from the marginal distributions, a difference of two).
"""

from collections.abc import Callable

import numpy as np

from uaos.arrays import FloatArray
from uaos.optimizers.mixed import Coordinates

Move = Callable[[Coordinates, FloatArray, np.random.Generator], FloatArray]


def step(coordinates: Coordinates, best: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Change one coordinate of a point: a category to any, an integer by 1, a number by a step."""
    point = _biased(best, rng).copy()
    j = int(rng.integers(len(point)))
    if coordinates.kinds[j] == 1:
        point[j] += 1.0 if rng.random() < 0.5 else -1.0
    else:
        point[j] = coordinates.moved(point[None], rng)[0, j]
    return _rounded(coordinates, point)


def neighbor(coordinates: Coordinates, best: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Change some coordinates of a point, each to a neighboring value or farther away."""
    changed: FloatArray = coordinates.neighbors(_biased(best, rng)[None], rng)[0]
    return changed


def crossover(coordinates: Coordinates, best: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Take each coordinate from one of two points."""
    first, second = best[rng.integers(len(best), size=2)]
    return _rounded(coordinates, np.where(rng.random(len(first)) < 0.5, first, second))


def marginals(coordinates: Coordinates, best: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw each coordinate from its values in the best points, occasionally from all values."""
    d = best.shape[1]
    drawn = best[rng.integers(len(best), size=d), np.arange(d)]
    anywhere = coordinates.uniform(1, rng)[0]
    return _rounded(coordinates, np.where(rng.random(d) < 0.5 / d, anywhere, drawn))


def difference(coordinates: Coordinates, best: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Add the difference of two points to a third one, as differential evolution does.

    Where the two have different categories, the third one gets that of the first with probability
    F.
    """
    base, first, second = best[rng.integers(len(best), size=3)]
    F = rng.uniform(0.3, 1.0)
    replaced = (first != second) & (rng.random(len(base)) < F)
    with np.errstate(over="ignore"):  # of a huge box; points are brought back
        moved = base + F * (first - second)
    moved = np.where(coordinates.categories, np.where(replaced, first, base), moved)
    return _rounded(coordinates, moved)


#: The pool, by name.
MOVES: dict[str, Move] = {
    move.__name__: move for move in (step, neighbor, crossover, marginals, difference)
}


def _biased(best: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return one of the points, a better one with a larger probability."""
    chosen: FloatArray = best[int(len(best) * rng.random() ** 2)]
    return chosen


def _rounded(coordinates: Coordinates, point: FloatArray) -> FloatArray:
    """Return one point inside the box, with integers rounded."""
    rounded: FloatArray = coordinates.rounded(point[None])[0]
    return rounded
