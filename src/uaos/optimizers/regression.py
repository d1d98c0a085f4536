"""Linear and quadratic models of a function by weighted regression."""

from functools import lru_cache
from typing import ClassVar

import numpy as np

from uaos.arrays import FloatArray, IntArray
from uaos.statefile import Stateful

#: Models have squares up to the first number of variables, and cross terms up to the second: larger
#: ones take too long to fit.
MOST_WITH_SQUARES, MOST_WITH_CROSS_TERMS = 100, 12
# A model is fitted to this share of the points, the best ones, and needs this many times its
# coefficients. Of points, at least this many times the coefficients of the largest model are kept.
_FITTED, _NEEDED, _KEPT = 0.75, 1.1, 2
# The fewest points of a model.
_FEWEST = 3
#: The fewest values that tell whether a model predicts them: fewer agree by chance.
LEAST_COMPARED = 15
# The weight of the best point, relative to that of the worst. With 20, as published, lucky values
# weigh too much.
_FALL = 5.0
# Added to the squared lengths of the columns of the regression, which are 1.
_RIDGE = 1e-12
# The most that a value contributes to its own prediction.
_MOST_LEVERAGE = 0.9999
# Values above this are divided by the largest, as their squares overflow.
_HUGE = 1e100
# Halvings of the interval in which the length of a step is met.
_HALVINGS = 40


@lru_cache(maxsize=64)
def _pairs(n: int) -> tuple[IntArray, IntArray]:
    """Return the indices of all pairs of n things."""
    first, second = np.triu_indices(n, 1)
    return first, second


def kendall(a: FloatArray, b: FloatArray) -> float:
    """Return Kendall's τ: the share of pairs in the same order minus that in the opposite one.

    Examples
    --------
    >>> import numpy as np
    >>> round(kendall(np.array([1.0, 2.0, 3.0]), np.array([1.0, 5.0, 4.0])), 3)
    0.333
    """
    first, second = _pairs(len(a))
    return float(np.mean(np.sign(a[first] - a[second]) * np.sign(b[first] - b[second])))


class Regression(Stateful):
    """Model of a function, fitted to the latest points of a search.

    Equation
    --------
    m(x) = c + b'z + z'Hz / 2,  z = A (x - x₀)

    minimizes Σ (w_i (f_i - m(x_i)))² over the better three quarters of the points, where the
    weights w_i fall by rank from 5 to 1. H is 0 at first, diagonal with 1.5 (2·D + 1) points, and
    full with 1.5 times its number of coefficients.

    Parameters
    ----------
    dimension : int
        The number D of variables.

    Attributes
    ----------
    points, values : ndarray
        The latest points, the newest batch first, and the better ones first in a batch.
    fitted : bool
        Whether there is a model.

    References
    ----------
    Hansen, N. (2019), "A global surrogate assisted CMA-ES", GECCO.

    Examples
    --------
    >>> import numpy as np
    >>> regression, eye = Regression(2), np.eye(2)
    >>> points = np.random.default_rng(1).uniform(-1, 1, (20, 2))
    >>> regression.add(points, np.sum((points - 0.2) ** 2, axis=1), least=0)
    >>> regression.fit(np.zeros(2), eye, np.ones(2))
    >>> np.round(regression.step(np.zeros(2), eye, radius=1.0), 6)
    array([0.2, 0.2])
    """

    state_names: ClassVar[tuple[str, ...]] = (
        "points", "values", "fitted", "center", "axes", "unit", "constant", "slope", "curvature",
    )  # fmt: skip

    def __init__(self, dimension: int) -> None:
        self.points, self.values = np.zeros((0, dimension)), np.zeros(0)
        self.fitted = False
        self.center, self.axes = np.zeros(dimension), np.eye(dimension)
        self.unit = 1.0  # of the values of the model
        self.constant, self.slope = 0.0, np.zeros(dimension)
        self.curvature = np.zeros((dimension, dimension))
        self._left_out = np.zeros(0)  # predictions of the values, each without itself
        pairs = dimension * (dimension - 1) // 2
        self._sizes = [1 + dimension]  # the coefficients of each kind of model
        if dimension <= MOST_WITH_SQUARES:
            self._sizes.append(1 + 2 * dimension)
        if dimension <= MOST_WITH_CROSS_TERMS:
            self._sizes.append(1 + 2 * dimension + pairs)

    def add(self, points: FloatArray, values: FloatArray, least: int) -> None:
        """Add the points with finite values, and drop the oldest; keep at least this many."""
        finite = np.isfinite(values)
        points, values = points[finite], values[finite]
        order = np.argsort(values, kind="stable")
        kept = max(least, _KEPT * self._sizes[-1])
        self.points = np.concatenate([points[order], self.points])[:kept]
        self.values = np.concatenate([values[order], self.values])[:kept]

    def fit(self, center: FloatArray, axes: FloatArray, scale: FloatArray) -> None:
        """Fit the model to the points.

        Parameters
        ----------
        center : ndarray, shape (D,)
            The point x₀.
        axes : ndarray, shape (D, D)
            The matrix A of a model with cross terms, for steps of about 1.
        scale : ndarray, shape (D,)
            The lengths of the coordinates, for models without.
        """
        count = len(self.values)
        self.fitted = False
        if count < _FEWEST:
            return
        kind = max(k for k, n in enumerate(self._sizes) if k == 0 or _FITTED * count >= _NEEDED * n)
        chosen = max(self._sizes[kind] + 2, int(_FITTED * (count + 1)))
        order = np.argsort(self.values, kind="stable")[:chosen]
        weights = np.linspace(_FALL, 1.0, len(order))
        largest = float(np.abs(self.values[order]).max())
        self.unit = largest if largest > _HUGE else 1.0
        values = self.values[order] / self.unit
        with np.errstate(all="ignore"):  # where the axes are not finite, there is no model
            self.center, self.axes = center, axes if kind == 2 else np.diag(1.0 / scale)
            design = self._terms(self.points[order], kind)
            self.fitted = self._solve(design, values - values[0], weights, order, kind)
        if self.fitted:
            self.constant += float(values[0])
            self._left_out = self.unit * (self._left_out + values[0])

    def _terms(self, points: FloatArray, kind: int) -> FloatArray:
        """Return the columns of the regression."""
        Z = (points - self.center) @ self.axes.T
        columns = [np.ones((len(Z), 1)), Z]
        if kind > 0:
            columns.append(0.5 * Z**2)
        if kind > 1:
            first, second = _pairs(Z.shape[1])
            columns.append(Z[:, first] * Z[:, second])
        return np.hstack(columns)

    def _solve(
        self,
        design: FloatArray,
        values: FloatArray,
        weights: FloatArray,
        order: IntArray,
        kind: int,
    ) -> bool:
        """Set the coefficients, and the predictions of values left out; return if that succeeded.

        The value y_i of the regression is predicted without itself by y_i - e_i / (1 - h_i), with
        its residual e_i and leverage h_i.
        """
        rows, y = design * weights[:, None], values * weights
        lengths = np.linalg.norm(rows, axis=0)
        lengths[lengths == 0] = 1.0
        rows /= lengths
        matrix = rows.T @ rows
        matrix[np.diag_indices_from(matrix)] += _RIDGE
        try:
            inverse = np.linalg.inv(matrix)
        except np.linalg.LinAlgError:
            return False
        found = inverse @ (rows.T @ y)
        leverage = np.minimum(np.sum((rows @ inverse) * rows, axis=1), _MOST_LEVERAGE)
        left_out = (y - (y - rows @ found) / (1.0 - leverage)) / weights
        found = found / lengths
        if not (np.isfinite(found).all() and np.isfinite(left_out).all()):
            return False
        D = len(self.center)
        self.constant, self.slope = float(found[0]), found[1 : 1 + D]
        self.curvature = np.diag(found[1 + D : 1 + 2 * D]) if kind > 0 else np.zeros((D, D))
        if kind > 1:
            first, second = _pairs(D)
            self.curvature[first, second] = self.curvature[second, first] = found[1 + 2 * D :]
        self._left_out = np.full(len(self.values), np.nan)
        self._left_out[order] = left_out
        return True

    def __call__(self, points: FloatArray) -> FloatArray:
        """Return the values of the model at points, (n, D); inf where they overflow."""
        with np.errstate(all="ignore"):
            Z = (points - self.center) @ self.axes.T
            bends = np.sum((Z @ self.curvature) * Z, axis=1)
            values = self.unit * (self.constant + Z @ self.slope + 0.5 * bends)
        return np.where(np.isfinite(values), values, np.inf)

    def agreement(self, count: int) -> float:
        """Return Kendall's τ of the latest values and their predictions by the latest fit.

        Each value is left out of its own prediction: a model with about as many coefficients as
        points would agree with any values, noise included. 0 if there are too few.
        """
        if not self.fitted or len(self.values) < LEAST_COMPARED:
            return 0.0
        predicted = self._left_out[:count]
        predicted = np.where(np.isnan(predicted), self(self.points[:count]), predicted)
        return kendall(self.values[:count], predicted)

    def step(self, center: FloatArray, axes: FloatArray, radius: float) -> FloatArray:
        """Return the step from a point to the minimum of the model within a radius.

        Equation
        --------
        z = -(H + s I)⁻¹ b,  x = center + axes⁻¹ z

        with the smallest s >= 0 for which H + s I is positive definite and |z| is at most the
        radius; H and b are those of the model in the coordinates z. The step is NaN where numbers
        overflow, as in huge boxes.
        """
        try:
            with np.errstate(all="ignore"):
                change = self.axes @ np.linalg.inv(axes)
                bend = change.T @ self.curvature @ change
                moved = self.slope + self.curvature @ (self.axes @ (center - self.center))
                eigenvalues, vectors = np.linalg.eigh(0.5 * (bend + bend.T))
                slope = vectors.T @ (change.T @ moved)
        except np.linalg.LinAlgError:
            return np.full(len(center), np.nan)
        if not (np.isfinite(eigenvalues).all() and np.isfinite(slope).all()):
            return np.full(len(center), np.nan)

        def shifted(s: float) -> FloatArray:
            bends = eigenvalues + s
            return -slope / np.where(bends > 0, bends, np.inf)

        low = max(0.0, -float(eigenvalues[0]))
        z = shifted(low)
        if eigenvalues[0] <= 0 or np.linalg.norm(z) > radius:
            high = low + float(np.linalg.norm(slope)) / radius
            for _ in range(_HALVINGS):
                middle = 0.5 * (low + high)
                too_long = np.linalg.norm(shifted(middle)) > radius
                low, high = (middle, high) if too_long else (low, middle)
            z = shifted(high)
        step: FloatArray = vectors @ z
        return step
