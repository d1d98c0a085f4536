"""Local search by quadratic models that interpolate few points, for the first evaluations."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from uaos.arrays import FloatArray
from uaos.jit import njit
from uaos.optimizers.base.settings import OptimizerSettings
from uaos.optimizers.registration import register
from uaos.optimizers.restarting import RestartingSearch, RestartingSettings
from uaos.selection import bibliography as bib

# Radii are shares of the box. The first points are this far from the starting point.
_FIRST_RADIUS, _LARGEST_RADIUS, _LEAST_RADIUS = 0.2, 0.5, 1e-9
# The radius grows where a step gains more than the share _GOOD of what the model promises, and
# shrinks where it gains less than the share _BAD.
_GOOD, _BAD = 0.5, 0.25
_GROWTH, _SHRINKAGE = 2.0, 0.7
# The radius becomes a tenth if a step of the model is shorter than that.
_SHORT = 0.1
# Changes to the step, of all coordinates in turn, when the model is minimized.
_MOST_SWEEPS = 20
_SETTLED = 1e-3


@njit
def _descend(
    g: FloatArray, H: FloatArray, low: FloatArray, high: FloatArray, d: FloatArray
) -> float:
    """Move d downhill on g'd + d'Hd/2 in a box, by coordinates in turn; return the value there."""
    D = len(g)
    slope = g.copy()
    for j in range(D):
        if d[j] != 0.0:
            slope += H[j] * d[j]
    for _ in range(_MOST_SWEEPS):
        longest = 0.0
        for j in range(D):
            least, most, bend = low[j] - d[j], high[j] - d[j], H[j, j]
            if bend > 0.0:
                t = min(max(-slope[j] / bend, least), most)
            elif (slope[j] + 0.5 * bend * least) * least < (slope[j] + 0.5 * bend * most) * most:
                t = least
            else:
                t = most
            if not (slope[j] + 0.5 * bend * t) * t < 0.0:
                continue
            d[j] += t
            slope += H[j] * t
            longest = max(longest, abs(t) / (high[j] - low[j]))
        if longest < _SETTLED:
            break
    value: float = np.float64(0.0)
    for i in range(D):
        value += 0.5 * (g[i] + slope[i]) * d[i]
    return value


@register
class QuadraticSearch(RestartingSearch):
    """Local search by quadratic models that interpolate 2·D + 1 points, with restarts.

    A run starts from a point and two beside it in each coordinate, a fifth of the box away; if the
    budget is at most 2·D, from one beside it. Of all quadratic models that interpolate the
    points, the next one is closest to the one before (least change of the Hessian in the Frobenius
    norm). A step leads to its minimum within a radius and the box, and its end takes the place of a
    point that is far away and matters little. The radius depends on how much of the promised gain
    the step brings. A run ends when the radius is tiny, which need not be at an optimum.

    As each evaluation is a step, the first 5·D to 10·D achieve more than those of BFGS; later ones
    achieve less.

    Parameters
    ----------
    bounds, seed, budget, target, x0, history
        As for every optimizer (:class:`~uaos.Optimizer`). Starting points are those
        of :class:`uaos.LocalSearch`.
    settings, restarts
        See :class:`~uaos.optimizers.restarting.RestartingSettings`.

    References
    ----------
    Powell, The NEWUOA software for unconstrained optimization without derivatives, 2006.

    Examples
    --------
    >>> import uaos
    >>> from uaos.problems import sphere
    >>> uaos.minimize(sphere, [(-5, 4)] * 6, method="QUAD", budget=40, target=1e-8).success
    True
    """

    name: ClassVar[str] = "QUAD"
    settings_class: ClassVar[type[OptimizerSettings]] = RestartingSettings
    reference: ClassVar[str] = bib.POWELL_2006
    state_names: ClassVar[tuple[str, ...]] = (
        "_points", "_values", "_radius", "_trial", "_size",
        "_promised", "_steps", "_base", "_unit", "_constant", "_slope", "_hessian", "_inverse",
    )  # fmt: skip

    settings: RestartingSettings

    def _begin_run(self) -> None:
        D = self.dimension
        self._points = np.zeros((0, D))  # that the model interpolates
        self._values = np.zeros(0)
        self._radius = _FIRST_RADIUS
        self._trial = self._x  # the point that is tried, at this distance, with this gain promised
        self._size = self._promised = 0.0
        self._steps = 0
        # The model: a quadratic of z, where x = base + unit width z.
        self._base, self._unit = self._x, _FIRST_RADIUS
        self._constant, self._slope, self._hessian = 0.0, np.zeros(D), np.zeros((D, D))
        self._inverse = np.zeros((0, 0))  # of the matrix of the interpolation conditions
        self._ahead: Iterator[FloatArray] | None = None  # points beside, not handed out yet

    @property
    def doubt(self) -> str:  # noqa: D102 (see Optimizer)
        return "the end of a quadratic model need not be an optimum"

    # Points

    def _next_points(self) -> FloatArray:
        if self._phase == "start":
            return self._x[None]
        return self._points_beside() if self._phase == "beside" else self._trial[None]

    def _points_beside(self) -> FloatArray:
        """Return points beside the starting point, on both sides where the box allows it."""
        D, x, away = self.dimension, self._x, self._radius * self._width
        ahead = np.where(x + away <= self.high, away, -away)
        fits = (self.low <= x - ahead) & (x - ahead <= self.high)
        behind = np.where(fits, -ahead, 0.5 * ahead)
        few = self.budget is not None and self.budget <= 2 * D
        steps = np.diag(ahead) if few else np.vstack([np.diag(ahead), np.diag(behind)])
        return self._inside(x + steps)

    def foresee(self) -> FloatArray | None:
        """Return another point beside the starting point while that is being evaluated."""
        if self._phase != "start":
            return None
        if self._ahead is None:
            self._ahead = iter(self._points_beside())
        return next(self._ahead, None)

    def _learn(self, points: FloatArray, values: FloatArray) -> None:
        with np.errstate(all="ignore"):  # huge values overflow, which is checked below
            if self._phase == "step":
                self._learn_step(points[0], float(values[0]))
            else:
                self._points = np.vstack([self._points, points])
                self._values = np.concatenate([self._values, values])
            if self._phase == "beside":
                self._ended = not np.isfinite(self._values).any() or not self._move_base()
            self._phase = "beside" if self._phase == "start" else "step"
            if self._phase == "step" and not self._ended:
                self._fit()
                self._choose_step()
        self.record(restarts=self.restarts)

    def _learn_step(self, x: FloatArray, value: float) -> None:
        """Take in the value at the end of a step; adapt the radius."""
        gain = self._values[self._best] - value
        share = gain / self._promised if np.isfinite(gain) else -np.inf
        self._replace(x, value)
        if share > _GOOD:
            self._radius = max(self._radius, min(_GROWTH * self._size, _LARGEST_RADIUS))
        elif not share >= _BAD:
            self._radius = _SHRINKAGE * self._size
        self._steps += 1
        drifted = self._steps % len(self._points) == 0  # by rounding errors
        if drifted or not 0.1 * self._unit <= self._radius <= 4.0 * self._unit:
            self._ended = not self._move_base()

    @property
    def _best(self) -> int:
        """Row of the best point."""
        return int(np.nanargmin(self._values))

    def _filled(self) -> FloatArray:
        """Return the values, the largest one in place of those that failed."""
        finite = np.isfinite(self._values)
        return np.where(finite, self._values, np.max(self._values[finite]))

    # The model

    def _scaled(self, points: FloatArray) -> FloatArray:
        return (points - self._base) / (self._unit * self._width)

    def _move_base(self) -> bool:
        """Express the model by steps from the best point; return False if it has no solution."""
        z = self._scaled(self._points[self._best])
        ratio = self._radius / self._unit
        bent = self._hessian @ z
        self._constant += float(self._slope @ z + 0.5 * z @ bent)
        self._slope = ratio * (self._slope + bent)
        self._hessian = ratio**2 * self._hessian
        self._base, self._unit = self._points[self._best].copy(), self._radius
        Z = self._scaled(self._points)
        n, D = Z.shape
        conditions = np.zeros((n + D + 1, n + D + 1))
        conditions[:n, :n] = 0.5 * (Z @ Z.T) ** 2
        conditions[n:, :n] = np.vstack([np.ones(n), Z.T])
        conditions[:n, n:] = conditions[n:, :n].T
        try:
            self._inverse = np.linalg.inv(conditions)
        except np.linalg.LinAlgError:
            return False
        return bool(np.isfinite(self._inverse).all())

    def _fit(self) -> None:
        """Change the model as little as possible so that it interpolates the points."""
        Z, n = self._scaled(self._points), len(self._points)
        model = self._constant + Z @ self._slope + 0.5 * np.sum((Z @ self._hessian) * Z, axis=1)
        change = self._inverse[:, :n] @ (self._filled() - model)
        self._hessian = self._hessian + (Z.T * change[:n]) @ Z
        self._constant += float(change[n])
        self._slope = self._slope + change[n + 1 :]

    def _replace(self, x: FloatArray, value: float) -> None:
        """Put a point in the place of another one, and update the inverse of the conditions."""
        n, best = len(self._points), self._best
        Z, z = self._scaled(self._points), self._scaled(x)
        column = np.concatenate([0.5 * (Z @ z) ** 2, [1.0], z])
        solution = self._inverse @ column  # the first n are the Lagrange polynomials at x
        better = value < self._values[best]
        center = x if better else self._points[best]
        away = np.max(np.abs(self._points - center) / self._width, axis=1) / self._radius
        weight = np.abs(solution[:n]) * np.maximum(1.0, away) ** 4
        weight[best] *= better
        t = int(np.argmax(weight))
        # A change of row and column t, by the formula of Sherman, Morrison and Woodbury.
        after = 0.5 * float(z @ z) ** 2
        solution = solution + self._inverse[:, t] * (after - column[t])
        column[t] = after
        sides = np.column_stack([self._inverse[:, t], solution])
        sides[t, 1] -= 1.0
        first, across, last = self._inverse[t, t], solution[t], column @ solution - after
        middle = np.array([[last, -across], [-across, first]]) / (first * last - across**2)
        self._inverse = self._inverse - sides @ middle @ sides.T
        self._points[t], self._values[t] = x, value

    def _choose_step(self) -> None:
        """Choose the next point, at the minimum of the model within the radius."""
        x, self._f = self._points[self._best].copy(), float(self._values[self._best])
        self._x = x
        gradient = self._slope + self._hessian @ self._scaled(x)
        while self._radius >= _LEAST_RADIUS:
            low, high = (self.low - x) / self._width, (self.high - x) / self._width
            low = np.maximum(low, -self._radius) / self._unit
            high = np.minimum(high, self._radius) / self._unit
            steps = [np.zeros(self.dimension), np.where(gradient > 0, low, high)]
            values = [_descend(gradient, self._hessian, low, high, d) for d in steps]
            d = steps[int(values[1] < values[0])]
            self._promised, self._size = -min(values), float(np.max(np.abs(d))) * self._unit
            self._trial = self._inside(x + d * self._unit * self._width)
            if not np.isfinite(self._trial).all() or not np.isfinite(self._promised):
                self._ended = True
                return
            if self._size >= _SHORT * self._radius and (self._trial != x).any():
                return
            self._radius *= _SHORT
        self._ended = True
