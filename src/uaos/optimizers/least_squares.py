"""Levenberg-Marquardt: nonlinear least squares with finite differences inside the box."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from uaos.arrays import FloatArray
from uaos.optimizers.optima import Optima
from uaos.optimizers.quadratic import PenaltyProgram
from uaos.optimizers.registration import register
from uaos.optimizers.restarting import RestartingSearch, RestartingSettings
from uaos.optimizers.settings import OptimizerSettings
from uaos.selection import bibliography as bib

_EPSILON = float(np.finfo(float).eps)
# Differences, as a share of a coordinate, or of this share of the scale if that is more.
_DIFFERENCE, _LEAST_SIZE = 1e-7, 1e-4
# The first damping, as a share of the curvatures.
_FIRST_DAMPING = 1e-3
# Steps that are tried in a row before a run ends.
_MAX_TRIALS = 15
# A run has converged once the model promises a smaller share of the value than this.
_PRECISION = 1e-13


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
    minimizes the linear model of the residuals plus a damping term inside the box. The points of
    the differences are one batch. Where no residuals are told, the value is the only residual.

    Parameters
    ----------
    bounds, seed, budget, target, x0, history
        As for every optimizer (:class:`~uaos.optimizers.base.Optimizer`). Runs start from the
        points of `x0` in turn, the others from random points.
    settings, restarts
        See :class:`LeastSquaresSettings`.

    Raises
    ------
    InvalidParameter
        If a setting is out of range.

    References
    ----------
    Nocedal & Wright, Numerical Optimization, 2nd ed., 2006, chapter 10. Nielsen, H. B. (1999),
    "Damping parameter in Marquardt's method", Technical University of Denmark.

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
        *RestartingSearch.state_names, "_residuals", "_jacobian", "_damping", "_growth", "_offsets",
        "_step", "_promise", "_trials",
    )  # fmt: skip

    settings: LeastSquaresSettings

    def _start(self) -> None:
        super()._start()
        self._optima = Optima(self.dimension, least=0.0)

    def _begin_run(self) -> None:
        self._residuals, self._jacobian = np.zeros(0), np.zeros((0, self.dimension))
        self._damping, self._growth = _FIRST_DAMPING, 2.0
        self._offsets = np.zeros(self.dimension)
        self._step = np.zeros(self.dimension)
        self._promise = float("nan")
        self._trials = 0

    @property
    def confirmed(self) -> bool:
        """True if runs from independent starts have ended at the best value, or at 0."""
        return bool(self._optima.values.min(initial=np.inf) <= _EPSILON**2) or super().confirmed

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
        self._phase = "jacobian"

    def _difference_points(self) -> FloatArray:
        """Return a point for each coordinate, on the other side where a bound is in the way."""
        sizes = np.maximum(np.abs(self._x), _LEAST_SIZE * self.scale)
        steps = _DIFFERENCE * sizes
        steps = np.where(self._x + steps > self.high, -steps, steps)
        points = self._inside(self._x + np.diag(steps))
        self._offsets = np.diagonal(points) - self._x
        return points

    def _learn_jacobian(self, residuals: FloatArray) -> None:
        if len(residuals) < self.dimension:
            return  # cut to the budget
        slopes = (residuals - self._residuals) / self._offsets[:, None]
        self._jacobian = np.where(np.isfinite(slopes), slopes, 0.0).T.copy()
        self._trials = 0
        self._choose_step()

    def _choose_step(self) -> None:
        """Minimize the damped model; the run has converged if that promises nothing."""
        J = self._jacobian * self.scale  # in units of the scale
        gradient, curvature = J.T @ self._residuals, J.T @ J
        diagonal = np.diagonal(curvature)
        damping = self._damping * np.maximum(diagonal, 1e-12 * max(float(diagonal.max()), 1e-300))
        solution = PenaltyProgram(
            curvature + np.diag(damping), gradient, np.zeros((0, self.dimension)), np.zeros(0),
            np.zeros(0, bool), 1.0, (self.low - self._x) / self.scale,
            (self.high - self._x) / self.scale,
        ).solve()  # fmt: skip
        if solution is None:
            self._end()
            return
        d = solution[0]
        self._promise = -float(gradient @ d + 0.5 * d @ curvature @ d)
        goal = self._inside(self._x + d * self.scale)
        self._step = goal - self._x
        if not self._promise > _PRECISION * abs(self._f) or not self._step.any():
            self._end()
            return
        self._phase = "trial"

    def _learn_trial(self, x: FloatArray, value: float, residuals: FloatArray) -> None:
        gain = self._f - value
        if np.isfinite(gain) and np.isfinite(residuals).all() and gain > 1e-4 * self._promise:
            ratio = gain / self._promise
            self._damping = max(self._damping * max(1 / 3, 1 - (2 * ratio - 1) ** 3), 1e-15)
            self._growth = 2.0
            self._x, self._f, self._residuals = x.copy(), value, residuals.copy()
            self._phase = "jacobian"
            return
        self._damping *= self._growth
        self._growth *= 2.0
        self._trials += 1
        if self._trials >= _MAX_TRIALS:
            self._end()
        else:
            self._choose_step()

    def _end(self) -> None:
        """End the run, and note whether it has led to the best value of all runs."""
        self._end_settled()
        if self._independent:
            self._optima.add(self._f, self._x)
