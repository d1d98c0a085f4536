"""Levenberg-Marquardt: nonlinear least squares with finite differences inside the box."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from uaos.arrays import FloatArray
from uaos.optimizers.base.settings import OptimizerSettings
from uaos.optimizers.optima import Optima
from uaos.optimizers.quadratic import PenaltyProgram
from uaos.optimizers.registration import register
from uaos.optimizers.restarting import RestartingSearch, RestartingSettings
from uaos.selection import bibliography as bib

_EPSILON = float(np.finfo(float).eps)
# Differences, as a share of a coordinate. They are at least the share _LEAST_SIZE of the scale, or,
# once slopes are known, change the residuals by at least the share _VISIBLE, and the coordinate by
# _LEAST of the scale.
_DIFFERENCE, _LEAST_SIZE, _VISIBLE, _LEAST = 1e-7, 1e-4, 1e-9, 1e-13
# The trust region after a step, in units of its length, if it gains less than the share _BAD of
# what the model promises, and if it gains more than _GOOD.
_BAD, _GOOD, _SHRINKAGE, _GROWTH = 0.25, 0.75, 0.25, 2.0
# Steps that are tried in a row before a run ends.
_MAX_TRIALS = 25
# A run ends once the model promises a smaller share of the value than _PRECISION. It has converged
# if that holds for _OPTIMAL without a trust region.
_PRECISION, _OPTIMAL = 1e-13, 1e-7
# Directions with less than this share of the largest influence are lost in errors of differences.
_RANK = 1e-6
# Newton's steps to the damping that makes a step as long as the trust region.
_MAX_NEWTON = 100


@dataclass(frozen=True)
class LeastSquaresSettings(RestartingSettings):
    """Settings of Levenberg-Marquardt: `restarts`, whether to restart when a run ends.

    Passed to :class:`uaos.optimizers.least_squares.LM`.
    """

    title: ClassVar[str] = "LM"


@register
class LM(RestartingSearch):
    """Levenberg-Marquardt for least squares, with finite differences, bounds and restarts.

    The value is half the sum of squared residuals, which `tell` gets in its details. A step
    minimizes the linear model of the residuals inside the box and a trust region, in which each
    coordinate has the weight of its largest influence on the residuals so far. The first region is
    as wide as the starting point is far from 0. The points of the differences are one batch. Where
    no residuals are told, the value is the only residual.

    Parameters
    ----------
    bounds, seed, budget, target, x0, history
        As for every optimizer (:class:`~uaos.Optimizer`). Runs start from the
        points of `x0` in turn, the others from random points.
    settings, restarts
        See :class:`LeastSquaresSettings`.

    Raises
    ------
    InvalidParameter
        If a setting is out of range.

    References
    ----------
    Nocedal & Wright, Numerical Optimization, 2nd ed., 2006, chapter 10. Moré, J. J. (1978), "The
    Levenberg-Marquardt algorithm: implementation and theory".

    Examples
    --------
    >>> import numpy as np
    >>> import uaos
    >>> t = np.linspace(0, 5, 20)
    >>> decay = lambda p: p[0] * np.exp(-p[1] * t) - 3 * np.exp(-1.3 * t)
    >>> result = uaos.least_squares(decay, x0=[1, 1], seed=1)
    >>> result.x.round(6).tolist(), result.success
    ([3.0, 1.3], True)
    """

    name: ClassVar[str] = "LM"
    settings_class: ClassVar[type[OptimizerSettings]] = LeastSquaresSettings
    reference: ClassVar[str] = bib.NOCEDAL_2006
    columns: ClassVar[tuple[str, ...]] = ("gain", "restarts")
    state_names: ClassVar[tuple[str, ...]] = (
        "_residuals", "_jacobian", "_weights", "_radius", "_offsets",
        "_step", "_length", "_promise", "_trials", "_first",
    )  # fmt: skip

    settings: LeastSquaresSettings

    def _start(self) -> None:
        super()._start()
        self._optima = Optima(self.dimension, least=0.0)

    def _begin_run(self) -> None:
        self._residuals, self._jacobian = np.zeros(0), np.zeros((0, self.dimension))
        self._weights = np.zeros(self.dimension)  # largest norms of the columns of the Jacobian
        self._radius = 0.0  # of the trust region
        self._offsets = np.zeros(self.dimension)
        self._step, self._length = np.zeros(self.dimension), 0.0
        self._promise = float("nan")
        self._first = float("nan")  # value at the start
        self._trials = 0

    @property
    def confirmed(self) -> bool:
        """True if a run has ended at 0, or enough independent ones at the best value."""
        return 0.0 in self._optima.values or self._optima.known

    @property
    def steady(self) -> bool:
        """True if the first run has not ended, and promises no more than it has gained so far."""
        in_first_run = self.restarts == 0 and not self._ended
        return in_first_run and self._promise <= self._first - self._f

    @property
    def doubt(self) -> str:  # noqa: D102 (see Optimizer)
        # Points of differences may be slightly better than where a run has settled.
        settled = bool(self.settled) and self.settled[0] <= (1.0 + _OPTIMAL) * self.best_fitness
        return "" if settled else "a run ended before it reached an optimum"

    def _next_points(self) -> FloatArray:
        if self._phase == "start":
            return np.array([self._x])
        if self._phase == "jacobian":
            return self._difference_points()
        return self._inside(self._x + self._step)[None]  # a sum may be rounded

    def _learn(self, points: FloatArray, values: FloatArray) -> None:
        reported = None if self.details is None else self.details.residuals
        residuals = values[:, None] if reported is None else reported
        with np.errstate(all="ignore"):
            if self._phase == "start":
                self._learn_start(float(values[0]), residuals[0])
            elif self._phase == "jacobian":
                self._learn_jacobian(residuals)
            else:
                self._learn_trial(points[0], float(values[0]), residuals[0])
        self.record(gain=self._promise, restarts=self.restarts)

    def _learn_start(self, value: float, residuals: FloatArray) -> None:
        if not (np.isfinite(value) and np.isfinite(residuals).all()):
            self._ended = True
            return
        self._f, self._residuals = value, residuals.copy()
        self._first = value
        self._phase = "jacobian"

    def _difference_points(self) -> FloatArray:
        """Return a point for each coordinate, on the other side where a bound is in the way."""
        with np.errstate(all="ignore"):
            influence = np.linalg.norm(self._jacobian, axis=0)
            visible = _VISIBLE * (np.linalg.norm(self._residuals) + self._reach()) / influence
        least = np.where(
            influence > 0,
            np.maximum(visible, _LEAST * self.scale),
            _DIFFERENCE * _LEAST_SIZE * self.scale,
        )
        steps = np.maximum(_DIFFERENCE * np.abs(self._x), least)
        steps = np.where(self._x + steps > self.high, -steps, steps)
        points = self._inside(self._x + np.diag(steps))
        self._offsets = np.diagonal(points) - self._x
        return points

    def _reach(self) -> float:
        """Return how much the coordinates contribute to the residuals, by the linear model."""
        return float(np.linalg.norm(np.abs(self._jacobian) @ np.abs(self._x)))

    def _learn_jacobian(self, residuals: FloatArray) -> None:
        if len(residuals) < self.dimension:
            return  # cut to the budget
        slopes = (residuals - self._residuals) / self._offsets[:, None]
        self._jacobian = np.where(np.isfinite(slopes), slopes, 0.0).T.copy()
        first = not self._weights.any()
        self._weights = np.maximum(self._weights, np.linalg.norm(self._jacobian, axis=0))
        if first:
            size = np.where(self._x == 0, 0.25 * self.scale, np.abs(self._x))
            self._radius = float(np.linalg.norm(self._weights * np.minimum(size, self.scale)))
        self._trials = 0
        self._choose_step()

    def _minimize_model(self, radius: float, least: float = _EPSILON) -> tuple[FloatArray, float]:
        """Return the step that minimizes the model in a trust region, and what it promises.

        Directions with less than the share `least` of the largest influence are left out.
        """
        weights = np.where(self._weights > 0, self._weights, 1.0)
        J = self._jacobian / weights
        low, high = (self.low - self._x) * weights, (self.high - self._x) * weights
        d, damping = _damped_step(J, self._residuals, radius, least)
        if (d < low).any() or (d > high).any():
            eye = np.eye(self.dimension)
            solution = PenaltyProgram(
                J.T @ J + max(damping, least**2, _EPSILON) * eye, J.T @ self._residuals, eye[:0],
                np.zeros(0), np.zeros(0, bool), 1.0, low, high,
            ).solve()  # fmt: skip
            d = np.minimum(np.maximum(d, low), high) if solution is None else solution[0]
        change = J @ d
        return d / weights, -float(change @ (self._residuals + 0.5 * change))

    def _choose_step(self) -> None:
        """Minimize the model; the run ends if that promises nothing."""
        step, self._promise = self._minimize_model(self._radius)
        self._step = self._inside(self._x + step) - self._x
        self._length = float(np.linalg.norm(self._weights * self._step))
        if not self._promise > _PRECISION * abs(self._f) or not self._step.any():
            self._end()
            return
        self._phase = "trial"

    def _learn_trial(self, x: FloatArray, value: float, residuals: FloatArray) -> None:
        gain = self._f - value
        defined = np.isfinite(gain) and np.isfinite(residuals).all()
        ratio = gain / self._promise if defined else -1.0
        if ratio < _BAD:
            self._radius = _SHRINKAGE * self._length
        elif ratio > _GOOD:
            self._radius = max(self._radius, _GROWTH * self._length)
        if ratio > 1e-4:
            self._x, self._f, self._residuals = x.copy(), value, residuals.copy()
            self._phase = "jacobian"
            return
        self._trials += 1
        if self._trials >= _MAX_TRIALS:
            self._end()
        else:
            self._choose_step()

    def _end(self) -> None:
        """End the run, and note whether it has led to the best value of all runs.

        Where no coordinate has influence, or one has lost it, the end is no optimum.
        """
        self._ended = True
        influence = np.linalg.norm(self._jacobian, axis=0)
        lost = not influence.any() or bool(((influence == 0) & (self._weights > 0)).any())
        rounding = _EPSILON * self._reach()
        zero = max(0.5 * rounding**2, _EPSILON**2)
        if self._f <= min(zero, _EPSILON * self._first):
            self._f = 0.0  # but for rounding errors
        elif lost or self._minimize_model(np.inf, _RANK)[1] > _OPTIMAL * abs(self._f):
            return
        self._end_settled()
        if self._independent:
            self._optima.add(self._f, self._x)


def _damped_step(
    J: FloatArray, r: FloatArray, radius: float, least: float
) -> tuple[FloatArray, float]:
    """Return d of length <= radius that minimizes |J d + r|, and its multiplier (Hebden, Moré).

    Singular values below the share `least` of the largest are taken for 0.
    """
    U, sizes, V = np.linalg.svd(J, full_matrices=False)
    kept = sizes > least * max(J.shape) * sizes.max(initial=0.0)
    sizes, V, goal = sizes[kept], V[kept], (U.T @ r)[kept]
    damping = 0.0
    for _ in range(_MAX_NEWTON):
        d = sizes * goal / (sizes**2 + damping)
        length = float(np.linalg.norm(d))
        if length <= 1.01 * radius:
            break
        slope = float(np.sum(d**2 / (sizes**2 + damping)))
        if not slope > 0:  # underflow
            break
        damping += (length / max(radius, 1e-300) - 1.0) * length**2 / slope
    return -V.T @ d, damping
