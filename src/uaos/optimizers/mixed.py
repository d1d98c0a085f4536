"""Box of real, integer and categorical coordinates, for searches that know which is which."""

from dataclasses import dataclass

import numpy as np

from uaos.arrays import BoolArray, FloatArray, IntArray
from uaos.problems.activity import Activity
from uaos.problems.space import CATEGORY, rounded_logarithms
from uaos.problems.variables import Space


@dataclass(frozen=True)
class Coordinates:
    """Box of real, integer and categorical coordinates, and its map to that of the model.

    Parameters
    ----------
    low, high : ndarray, shape (d,)
        The box; that of an integer is half a unit wider than its range on either side.
    kinds : ndarray of int, shape (d,)
        0 for a real number, 1 for an integer, 2 for a category.
    activity : Activity, optional
        Which coordinates are active, depending on others. The others are put in the middle.
    log_integers : ndarray of bool, shape (d,), optional
        Which real numbers are logarithms of integers; None if none are.
    """

    low: FloatArray
    high: FloatArray
    kinds: IntArray
    activity: Activity | None = None
    log_integers: BoolArray | None = None

    @classmethod
    def of(cls, space: Space) -> "Coordinates":
        """Return the coordinates of named variables."""
        half = np.where(space.integrality > 0, 0.5, 0.0)
        low, high = space.bounds[:, 0] - half, space.bounds[:, 1] + half
        return cls(low, high, space.integrality, space.activity, space.log_integers)

    @property
    def categories(self) -> BoolArray:
        """Mask of the coordinates that are categories."""
        return np.asarray(self.kinds == CATEGORY)

    def rounded(self, points: FloatArray) -> FloatArray:
        """Return points inside the box, with integers rounded."""
        inside = np.clip(points, self.low, self.high)
        whole = np.clip(np.rint(inside), np.ceil(self.low), np.floor(self.high)) + 0.0  # no -0.0
        points = np.where(self.kinds > 0, whole, inside)
        if self.log_integers is not None:
            points = rounded_logarithms(points, self.log_integers, self.low, self.high)
        if self.activity is None:
            return points
        middle = 0.5 * (self.low + self.high)
        middle = np.where(self.kinds > 0, np.floor(middle), middle)
        return np.where(self.activity.of(points), points, middle)

    def scaled(self, points: FloatArray) -> FloatArray:
        """Return rounded points as the model has them: categories as they are, others in [0, 1]."""
        return np.where(self.categories, points, (points - self.low) / (self.high - self.low))

    def uniform(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw points, rounded."""
        return self.rounded(self.low + (self.high - self.low) * rng.random((n, len(self.low))))

    def spread(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw points that divide each coordinate evenly (Latin hypercube), rounded."""
        cells = np.argsort(rng.random((len(self.low), n)), axis=1).T
        shares = (cells + rng.random((n, len(self.low)))) / n
        return self.rounded(self.low + (self.high - self.low) * shares)

    def neighbors(self, points: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw one neighbor of each point: some of its coordinates are moved, at least one."""
        n, d = points.shape
        changed = rng.random((n, d)) < 1.0 / d
        changed[np.arange(n), rng.integers(d, size=n)] = True
        return self.rounded(np.where(changed, self.moved(points, rng), points))

    def moved(self, points: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return points of which all coordinates have moved; they may be outside the box.

        A category becomes any one, an integer moves by a step or more, and a real number by a
        normal step whose size is drawn, too. The logarithm of an integer becomes that of another.
        """
        n, d = points.shape
        width = self.high - self.low
        share = 10.0 ** rng.uniform(-3.0, -0.3, (n, 1))
        with np.errstate(over="ignore"):  # of a huge box; points are brought back
            step = width * share * rng.standard_normal((n, d))
            whole = np.sign(step) * np.maximum(1.0, np.rint(np.abs(step)))
            moved = np.where(self.kinds == 0, points + step, points + whole)
        if self.log_integers is not None:
            before = np.rint(np.exp(points[:, self.log_integers]))
            ahead = np.sign(step[:, self.log_integers])
            after = np.exp(moved[:, self.log_integers])
            after = np.where(np.rint(after) == before, np.maximum(before + ahead, 0.5), after)
            moved[:, self.log_integers] = np.log(after)
        drawn = np.floor(self.low + 0.5 + width * rng.random((n, d)))
        return np.where(self.categories, drawn, moved)
