"""Sequential quadratic programming with finite differences inside the box, and restarts."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from uaos.arrays import BoolArray, FloatArray
from uaos.optimizers.base.details import constraint_values, first_gradient, first_jacobian
from uaos.optimizers.base.settings import OptimizerSettings
from uaos.optimizers.optima import Tangents
from uaos.optimizers.quadratic import PenaltyProgram
from uaos.optimizers.registration import register
from uaos.optimizers.restarting import RestartingSearch, RestartingSettings
from uaos.selection import bibliography as bib

_EPSILON = float(np.finfo(float).eps)
# The first and the largest differences, as shares of the scale, and the smallest, as a share of the
# coordinate.
_FIRST_STEP, _WIDEST_STEP, _LEAST_STEP = 1e-4, 1e-2, 1e-10
# Differences are at least the share _SHARE of the last step. Where slopes change quickly, the share
# is _WIDENING times the relative error of linear predictions above _NEGLIGIBLE, up to
# _LARGEST_SHARE.
_SHARE, _LARGEST_SHARE, _WIDENING, _NEGLIGIBLE = 0.02, 0.3, 20.0, 0.01
# Once a step shows that the problem is smooth, _SHARE falls to _FINEST_SHARE for the rest of the
# run. Where steps shorter than the differences fail, it falls by _REFINEMENT, to the same limit.
_FINEST_SHARE, _REFINEMENT = 2e-5, 0.03
# If one of the first _EARLY steps has a relative error above _ROUGH, the run becomes a coarse one.
_EARLY, _ROUGH = 3, 0.2
# Steps shorter than this, as a share of the scale, do not count as progress, and do not lead to
# shorter differences.
_FINEST = 1e-9
# Distances from a bound, as a share of the scale, that are rounding errors.
_ROUNDED = 1e-15
# Differences in the stages of a coarse run, as shares of the scale. A stage that makes no progress
# is followed by the next.
_COARSE = (0.1, 0.0)
# Steps shorter than this share of the differences end such a stage; steps to the feasible side are
# shorter than this share of the scale.
_SHORT = 0.1
# The first step is about this long, in units of the scale.
_FIRST_LENGTH = 1.0
# The curvature of the first model, as a share of that along the first step, unless differences are
# wide. Updates raise one that is too low at once, and a step that is too long costs one point.
_LOW_CURVATURE = 0.3
# Multipliers count in the model at most this many times as much as those of least squares. On long
# steps they are large because the model is curved, and would curve it even more.
_MOST_MULTIPLIERS = 30.0
# If the constraints' share of the curvature falls below this share of what it was, the model is
# lowered with it, unless steps confirm its curvature, but at most to this share of what it was.
_OUTDATED, _LEAST_LEFT = 0.1, 1e-6
# Sufficient decrease of the merit (Armijo), as a share of what the model promises.
_DECREASE = 1e-4
# Step lengths that a line search tries before it gives up.
_MAX_TRIALS = 10
# Weights of violations in a quadratic program, in units of the gradient: the first, the last for
# steps that end inside the constraints, and the last where linear constraints are contradictory.
_FIRST_WEIGHT, _INSIDE_WEIGHT, _LAST_WEIGHT = 1e3, 1e3, 1e9
# Runs that violate constraints by no more than this have ended at an optimum.
_MET = 1e-6
# It is one if the model promises no more than this share of the value, or of 1.
_OPTIMAL = 1e-6
# Larger violations that a step saves are worth at least this many times the rounding errors.
_WORTH = 100.0
# Coordinates are alike if their slopes differ by no more than this share of the largest. A run that
# starts where some are moves those aside by up to this share of the scale.
_ALIKE, _ASIDE = 1e-8, 0.05
# Starting points drawn for each run, which starts from the one furthest from earlier starts.
_DRAWN, _MAX_STARTS = 10, 50
# Where the box is far wider than the scale, the boxes of starting points grow over this many runs.
_MAX_NEAR = 10
# A run ends if its model predicts a known optimum: relative to the step there, and to the scale.
_PREDICTED, _AT = 0.2, 1e-6
# A run ends after this many iterations in a row whose gain or steps are within rounding errors.
_MAX_STALLED = 3
# A run ends after _MAX_BEHIND iterations in a row in which it is behind the best value of earlier
# runs by more than _HOPELESS times the promised gain (_HOPELESS_COARSE with wide differences).
_MAX_BEHIND, _HOPELESS, _HOPELESS_COARSE = 3, 20.0, 1e4
# A full step that fails is corrected for the curvature of the constraints this many times, if the
# curvature has at least this share in the failure.
_MAX_CORRECTIONS, _CURVED = 3, 0.1


class LocalModel(NamedTuple):
    """Models of function and constraints near a point.

    Attributes
    ----------
    x : ndarray, shape (D,)
        The point.
    f : float
        The value there.
    c : ndarray, shape (M,)
        The constraints there, at most 0 where feasible; the equalities last.
    gradient : ndarray, shape (D,)
        The slope of the function.
    jacobian : ndarray, shape (M, D)
        The slopes of the constraints.
    hessian : ndarray, shape (D, D)
        The curvature of the Lagrangian.
    equal : ndarray of bool, shape (M,)
        Which constraints are equalities.
    """

    x: FloatArray
    f: float
    c: FloatArray
    gradient: FloatArray
    jacobian: FloatArray
    hessian: FloatArray
    equal: BoolArray

    def violated(self, c: FloatArray) -> FloatArray:
        """Return by how much each constraint is violated if they have these values."""
        return np.where(self.equal, np.abs(c), np.maximum(c, 0.0))

    @property
    def violation(self) -> float:
        """Largest violation at the point; infinite where a constraint failed."""
        worst = float(self.violated(self.c).max(initial=0.0))
        return worst if np.isfinite(worst) else np.inf


@dataclass(frozen=True)
class SQPSettings(RestartingSettings):
    """Settings of sequential quadratic programming: `restarts`, whether to restart when a run ends.

    Passed to :class:`uaos.SQP`.
    """

    title: ClassVar[str] = "SQP"


@register
class SQP(RestartingSearch):
    """Sequential quadratic programming for constraints, with finite differences and restarts.

    Each iteration solves a quadratic program: a model of the Lagrangian by damped BFGS updates,
    under linear models of the constraints, whose violations are penalized, so that it always has a
    solution. A line search along the solution reduces the l1 merit function f + Σ ρ_i v_i with the
    violations v_i; where the full step fails, second-order corrections are tried first. Multipliers
    far larger than those of least squares, as long steps have them, are reduced in the model, which
    is lowered once the multipliers that it was made with have fallen. The points
    of a gradient are one batch, at which the constraints are evaluated as well. The function needs
    a value at infeasible points, too; where it has none, only violations are reduced.

    A run has converged if the model promises no gain beyond rounding errors, even with central
    differences. Differences are at least 2 % of the last step, shorter once a step has shown that
    the problem is smooth, and up to 30 % where linear models of the constraints predict badly. In
    every second run, and where the first steps show such roughness, they start with a tenth of the
    scale, which smooths out small local optima. A run that starts where coordinates are alike, such
    as the center if the places of equal parts are searched, first moves them apart at random. A run
    that ends slightly outside the inequalities makes a last step to their feasible side. Where the
    box is infinite or far wider than `x0` is large, later runs start near `x0` at first, and then
    farther and farther away.

    Parameters
    ----------
    bounds, seed, budget, target, x0, history
        As for every optimizer (:class:`~uaos.Optimizer`). Runs start from the
        points of `x0` in turn; without them, the first starts from the center of the box and the
        others from uniform random points.
    settings, restarts
        See :class:`SQPSettings`.

    Attributes
    ----------
    history : History or None
        The course of the run, with the columns `gain` (what the model promises) and `restarts`.

    Raises
    ------
    InvalidParameter
        If a setting is out of range.

    References
    ----------
    Nocedal & Wright, Numerical Optimization, 2nd ed., 2006, chapter 18. Powell, M. J. D. (1978), "A
    fast algorithm for nonlinearly constrained optimization calculations".

    Examples
    --------
    >>> import uaos
    >>> corner = {"type": "ineq", "fun": lambda x: x[0] + x[1] - 1}
    >>> bowl = lambda x: float(x @ x)
    >>> result = uaos.minimize(bowl, [(-5, 5)] * 2, method="SQP", constraints=corner)
    >>> result.success, round(result.fun, 6)
    (True, 0.5)
    """

    name: ClassVar[str] = "SQP"
    settings_class: ClassVar[type[OptimizerSettings]] = SQPSettings
    reference: ClassVar[str] = bib.NOCEDAL_2006
    handles: ClassVar[tuple[str, ...]] = ("constraints", "noise")
    columns: ClassVar[tuple[str, ...]] = ("gain", "restarts")
    state_names: ClassVar[tuple[str, ...]] = (
        "_c", "_equalities", "_gradient", "_known", "_exact",
        "_jacobian", "_hessian", "_offsets", "_central", "_old_x", "_old_f", "_old_gradient",
        "_old_jacobian", "_multipliers", "_penalties", "_errors", "_direction", "_plain",
        "_promise", "_length", "_moved", "_share", "_least_share", "_error", "_steps", "_spread",
        "_trials", "_returns", "_corrected", "_stalled", "_retrying", "_refined", "_behind",
        "_updates", "_bends", "_bent", "_starts", "_tangents",
    )  # fmt: skip

    settings: SQPSettings

    def _start(self) -> None:
        self._scale = self.scale
        self._starts = np.zeros((0, self.dimension))
        self._tangents = Tangents(self.dimension)
        super()._start()

    @property
    def wants_gradients(self) -> bool:
        """True except at the points of finite differences."""
        return self._phase != "gradient"

    @property
    def epsilon(self) -> float:
        """Infinity: the value is needed everywhere."""
        return np.inf

    @property
    def confirmed(self) -> bool:
        """True if runs from independent starts have ended at the best value.

        If the problem seems to be convex, two runs are enough; otherwise a better optimum must be
        unlikely.
        """
        return self._optima.repeated if self._tangents.convex else self._optima.known

    @property
    def doubt(self) -> str:  # noqa: D102 (see Optimizer)
        settled = bool(self.settled) and self.settled[0] <= self.best_fitness
        infeasible = not np.isfinite(self.best_fitness)  # which the message says
        return "" if settled or infeasible else "a run ended before it reached an optimum"

    @property
    def candidates(self) -> FloatArray:
        """The present point of the run, if it meets the constraints, and the best point."""
        violated = self._violated(self._c) > np.where(self._equal(), _MET, 0.0)
        present = [] if violated.any() or not np.isfinite(self._f) else [self._x]
        return np.vstack([*present, super().candidates])

    @property
    def model(self) -> LocalModel:
        """Models at the present point of the run."""
        return LocalModel(
            self._x, self._f, self._c, self._gradient / self._scale, self._jacobian / self._scale,
            self._hessian / np.outer(self._scale, self._scale), self._equal(),
        )  # fmt: skip

    # A run

    def _drawn_start(self, low: FloatArray, high: FloatArray) -> FloatArray:
        drawn = self.rng.uniform(low, high, (_DRAWN, self.dimension))
        away = np.abs(drawn[:, None] - self._starts) / np.where(high > low, high - low, 1.0)
        best: FloatArray = drawn[away.max(axis=2).min(axis=1).argmax()]
        return best

    def _drawn_box(self) -> tuple[FloatArray, FloatArray]:
        drawn = self._runs - (1 if self.x0 is None else len(self.x0))
        return self.region.draw(self.rng, most=min(1.0, drawn / _MAX_NEAR))

    def _begin_run(self) -> None:
        D = self.dimension
        self._starts = np.vstack([self._starts, self._x])[-_MAX_STARTS:]
        self._c, self._equalities = np.zeros(0), 0  # all constraints, the equalities last
        self._gradient, self._jacobian = np.zeros(D), np.zeros((0, D))
        self._known: FloatArray | None = None  # the gradient at the present point, if it was told
        self._exact = False  # whether all gradients there were told
        self._hessian = np.eye(D)
        self._offsets = np.zeros((0, D))
        self._central = False
        self._old_x: FloatArray | None = None
        self._old_f = float("nan")
        self._old_gradient, self._old_jacobian = np.zeros(D), np.zeros((0, D))
        self._multipliers, self._penalties = np.zeros(0), np.zeros(0)
        self._errors = np.zeros(0)  # of the last linear prediction of the constraints
        self._direction, self._plain = np.zeros(D), np.zeros(D)  # the latter before a correction
        self._promise = float("nan")
        self._length = 1.0
        self._spread = _COARSE[0] if self._runs % 2 == 0 else 0.0  # least difference at present
        self._moved = 0.0  # length of the last step
        self._share = _SHARE  # least difference in units of that
        self._least_share = _SHARE  # what that is where all is smooth
        self._error = np.inf  # relative error of the last linear prediction
        self._steps = 0
        self._trials = 0
        self._returns = 0  # steps to the feasible side after the run
        self._corrected = False
        self._stalled = 0
        self._retrying = self._refined = False
        self._behind = 0
        self._updates = 0
        self._bends = np.zeros(0)  # the largest curvatures of the constraints in this model
        self._bent = 0.0  # the most that they have contributed to it

    def _end(self) -> None:
        """End the run, and note whether it has led to the best value of all runs."""
        if self._return_inside():
            return
        self._ended = True
        if not (self._independent and self._violated(self._c).max(initial=0.0) <= _MET):
            return
        size = _OPTIMAL * max(1.0, abs(self._f))
        if self._promise <= max(size, self._noise()):
            # Points that miss equalities by a little count as feasible, and may be better.
            ahead = self._f - self.best_fitness
            near = ahead <= size + _MET * float(self._penalties.sum())
            self._settle(min(self._f, self.best_fitness) if near else self._f)
        if np.isfinite(self._f):
            self._optima.add(self._f, self._x)

    def _return_inside(self) -> bool:
        """Go on with a short step to the feasible side of inequalities, if that is promising."""
        violated = np.where(self._equal(), 0.0, self._violated(self._c))
        better = self.best_violation > 0 or self._f < self.best_fitness
        usable = violated.any() and np.isfinite(self._c).all()
        if not (better and usable and self._returns < _MAX_CORRECTIONS):
            return False
        # The shortest step that ends as far inside as the point is outside.
        self._hessian = np.eye(self.dimension) * np.trace(self._hessian)
        solution, met = self._solve_within(self._c + violated + self._margins(), _INSIDE_WEIGHT)
        if solution is None or not met or np.abs(solution[0]).max() > _SHORT:
            return False
        self._direction, self._length, self._phase = solution[0] * self._scale, 1.0, "return"
        self._returns += 1
        return True

    def _learn_return(self, x: FloatArray, f: float, c: FloatArray) -> None:
        if np.isfinite(f) and self._violated(c).sum() < self._violated(self._c).sum():
            self._x, self._f, self._c = x.copy(), f, c.copy()
        else:
            self._returns = _MAX_CORRECTIONS
        self._end()

    def _next_points(self) -> FloatArray:
        if self._phase == "start":
            return np.array([self._x])
        if self._phase == "gradient":
            with np.errstate(all="ignore"):  # of huge values and tiny curvatures
                return self._difference_points()
        point = self._x + self._length * self._direction
        # Bounds are met exactly: near them, rounding errors of steps may violate a constraint.
        near = (_FINEST if self._phase == "return" else _ROUNDED) * self._scale
        point = np.where(point - self.low < near, self.low, point)
        point = np.where(self.high - point < near, self.high, point)
        return np.array([point])

    def _learn(self, points: FloatArray, values: FloatArray) -> None:
        with np.errstate(all="ignore"):
            constraints, self._equalities = constraint_values(
                len(values), self.violations, self.details
            )
            if self._phase == "start":
                self._learn_start(values, constraints)
            elif self._phase == "gradient":
                self._learn_gradient(values, constraints)
            else:
                learn = self._learn_trial if self._phase == "line" else self._learn_return
                learn(points[0], float(values[0]), constraints[0])
        self.record(gain=self._promise, restarts=self.restarts)

    def _learn_start(self, values: FloatArray, constraints: FloatArray) -> None:
        self._f, self._c = float(values[0]), constraints[0]
        M = len(self._c)
        usable = np.isfinite(self._c).all() and (M > 0 or np.isfinite(self._f))
        if not usable:
            self._end()
            return
        self._multipliers, self._penalties = np.zeros(M), np.zeros(M)
        self._errors = np.zeros(M)
        self._jacobian = np.zeros((M, self.dimension))
        if self.noise.level > 0:
            self._spread = _COARSE[0]
        self._differentiate()

    # Derivatives. Everything is in units of the scale.

    def _differentiate(self) -> None:
        """Go on with the gradients, which take differences unless all are known.

        With constraints, coarse runs take wide differences in any case.
        """
        self._phase = "gradient"
        gradient = first_gradient(self.details)
        jacobian = first_jacobian(self.details, len(self._c))
        self._known = None if gradient is None else gradient * self._scale
        coarse = self._spread > 0 and len(self._c) > 0
        self._exact = self._known is not None and jacobian is not None and not coarse
        if self._exact:
            assert self._known is not None
            assert jacobian is not None
            self._gradient = self._known
            self._jacobian = jacobian.reshape(-1, self.dimension) * self._scale
            self._offsets = np.zeros((0, self.dimension))
            self._use_gradient()

    def _noise(self) -> float:
        """Return the size of errors in the objective near the present point: rounding or noise."""
        rounding = 4.0 * _EPSILON * abs(self._f) if np.isfinite(self._f) else 0.0
        return max(rounding, self.noise.level, 1e-300)

    def _difference_points(self) -> FloatArray:
        """Return the points of a gradient: one per coordinate, or two for central differences."""
        D, scale = self.dimension, self._scale
        steps = np.full(D, _FIRST_STEP)
        if self._old_x is not None:
            curvature = np.maximum(np.diagonal(self._hessian), 1e-300)
            widest = _WIDEST_STEP if self.noise.level == 0 else _COARSE[0]
            steps = np.minimum(2.0 * np.sqrt(self._noise() / curvature), widest)
            if self._central:
                steps = np.minimum(steps ** (2 / 3), widest)
            steps = np.maximum(steps, min(self._share * self._moved, _COARSE[0]))
        steps = np.maximum(steps, self._spread)
        steps = np.maximum(steps, _LEAST_STEP * np.maximum(np.abs(self._x) / scale, 1e-3)) * scale
        # Towards lower values, unless the bound is in the way.
        ahead = np.where(self._gradient > 0, -steps, steps)
        outside = (self._x + ahead > self.high) | (self._x + ahead < self.low)
        ahead = np.where(outside, -ahead, ahead)
        offsets = [ahead]
        if self._central:
            outside = (self._x - ahead > self.high) | (self._x - ahead < self.low)
            offsets.append(np.where(outside, 0.5 * ahead, -ahead))
        points = np.vstack([self._inside(self._x + np.diag(each)) for each in offsets])
        # As they are in floating-point numbers.
        places = np.arange(len(points)) % D
        moved = points[np.arange(len(points)), places] - self._x[places]
        self._offsets = moved.reshape(len(offsets), D)
        return points

    def _learn_gradient(self, values: FloatArray, constraints: FloatArray) -> None:
        if len(values) < self._offsets.size:
            return  # cut to the budget
        derivatives = self._derivatives(np.column_stack([values, constraints]))
        self._gradient, self._jacobian = derivatives[:, 0], derivatives[:, 1:].T.copy()
        if self._known is not None:
            self._gradient = self._known
        self._use_gradient()

    def _use_gradient(self) -> None:
        """Update the model, and choose the next step."""
        if self._old_x is None:
            if self._independent and self.x0 is None and (alike := self._find_alike()).any():
                self._start_aside(alike)
                return
            length = float(np.linalg.norm(self._gradient))
            # Where the function is flat, differences for the constraints stay as they are.
            flat = 4.0 * self._noise() / _FIRST_STEP**2 if length == 0 else 0.0
            self._hessian = np.eye(self.dimension) * max(length / _FIRST_LENGTH, flat, 1e-12)
            self._bends, self._bent = np.zeros(len(self._c)), 0.0
        else:
            self._update_model()
        self._old_x, self._old_f = self._x.copy(), self._f
        self._old_gradient, self._old_jacobian = self._gradient, self._jacobian
        if self._spread == 0:
            self._tangents.add(
                self._x / self._scale, np.append(self._f, self._c),
                np.vstack([self._gradient, self._jacobian]),
                float(np.abs(self._offsets / self._scale).max(initial=0.0)),
                np.append(False, self._equal()),
            )  # fmt: skip
        self._choose_direction()

    def _find_alike(self) -> BoolArray:
        """Return the coordinates that nothing distinguishes from another one.

        The center of a box is such a point if the places of equal parts are searched: they would
        move together forever. Slopes of constraints are compared in any order, as each part has
        its own.
        """
        slopes = np.column_stack([self._gradient, np.sort(self._jacobian.T, axis=1)])
        places = np.column_stack([self._x, self.low, self.high, self._scale])
        order = np.lexsort([slopes.sum(axis=1), *places.T])
        differences = np.abs(np.diff(slopes[order], axis=0)).max(axis=1)
        same = (np.diff(places[order], axis=0) == 0).all(axis=1)
        same &= differences <= _ALIKE * np.abs(slopes).max()
        same &= (slopes[order[1:]] != 0).any(axis=1)  # otherwise they have no effect
        alike = np.zeros(self.dimension, bool)
        alike[order[1:][same]] = alike[order[:-1][same]] = True
        return alike

    def _start_aside(self, alike: BoolArray) -> None:
        """Start the run anew, with these coordinates moved by random lengths."""
        aside = _ASIDE * self._scale * self.rng.uniform(-1.0, 1.0, self.dimension)
        self._x = self._inside(self._x + np.where(alike, aside, 0.0))
        self._f, self._phase = float("nan"), "start"
        self._begin_run()

    def _derivatives(self, columns: FloatArray) -> FloatArray:
        """Return the derivatives of the objective and of the constraints, (D, 1 + M)."""
        rows, D = self._offsets.shape
        base = np.concatenate([[self._f], self._c])
        offsets = (self._offsets / self._scale)[:, :, None]
        slopes = (columns - base).reshape(rows, D, len(base)) / offsets
        derivatives: FloatArray = slopes[0]
        if rows == 2:
            a, b = offsets
            central = (slopes[0] * b - slopes[1] * a) / (b - a)
            derivatives = np.where(np.isfinite(slopes[0]), slopes[0], slopes[1])
            derivatives = np.where(np.isfinite(central), central, derivatives)
        elif self._updates and self._spread == 0:
            # What the model knows of the curvature of the Lagrangian is the error of a difference.
            bend = 0.5 * offsets[0, :, 0] * np.diagonal(self._hessian)
            most = 0.5 * np.abs(derivatives[:, 0])
            derivatives[:, 0] -= np.clip(bend, -most, most)
        # A failed evaluation says nothing about its coordinate, which is then left out.
        return np.where(np.isfinite(derivatives), derivatives, 0.0)

    def _update_model(self) -> None:
        """Update the model of the Lagrangian by BFGS with Powell's damping."""
        assert self._old_x is not None
        s = (self._x - self._old_x) / self._scale
        multipliers = self._limited_multipliers()
        bends = self._jacobian - self._old_jacobian
        y = self._gradient - self._old_gradient + bends.T @ multipliers
        sy = float(s @ y)
        if not (np.isfinite(sy) and s.any()):
            return
        self._shorten_differences(s)
        self._bends = np.maximum(self._bends, np.linalg.norm(bends, axis=1) / np.linalg.norm(s))
        self._lower_outdated(s, sy, float(self._bends @ np.abs(self._multipliers)))
        if self._updates == 0 and sy > 0:
            low = _LOW_CURVATURE * sy / float(s @ s)
            curvature = float(y @ y) / sy if self._spread > 0 else low
            self._hessian = np.eye(self.dimension) * max(curvature, 1e-12)
        Bs = self._hessian @ s
        sBs = float(s @ Bs)
        if sBs <= self.noise.level:  # noise hides the curvature
            return
        if sy < 0.2 * sBs:
            share = 0.8 * sBs / (sBs - sy)
            y = share * y + (1 - share) * Bs
            sy = float(s @ y)
        hessian = self._hessian + np.outer(y, y) / sy - np.outer(Bs, Bs) / sBs
        if np.isfinite(hessian).all():
            self._hessian = 0.5 * (hessian + hessian.T)
            self._updates += 1

    def _limited_multipliers(self) -> FloatArray:
        """Return the multipliers, reduced where they exceed those of least squares by far."""
        active = self._equal() | (self._multipliers > 0)
        free = (self._x > self.low) & (self._x < self.high)
        slopes = self._jacobian[np.ix_(active, free)]
        if not (slopes.size and np.isfinite(slopes).all()):
            return self._multipliers
        estimate = np.linalg.lstsq(slopes.T, -self._gradient[free], rcond=1e-8)[0]
        estimate = np.where(self._equal()[active], estimate, np.maximum(estimate, 0.0))
        norms = np.linalg.norm(self._jacobian[active], axis=1)
        size = float(np.linalg.norm(norms * self._multipliers[active]))
        most = _MOST_MULTIPLIERS * float(np.linalg.norm(norms * estimate))
        return self._multipliers * (most / size) if size > most else self._multipliers

    def _lower_outdated(self, s: FloatArray, sy: float, bent: float) -> None:
        """Lower the model and the penalties where they are those of much larger multipliers."""
        self._bent = max(self._bent, bent)
        sBs = float(s @ self._hessian @ s)
        explained = sBs <= self._bent * float(s @ s)
        if explained and bent < _OUTDATED * self._bent and sy < _OUTDATED * sBs:
            self._hessian = self._hessian * max(bent / self._bent, sy / sBs, _LEAST_LEFT)
            self._bent = bent
            self._penalties = np.zeros(len(self._c))

    def _shorten_differences(self, s: FloatArray) -> None:
        """Allow short differences if the last step has shown that the problem is smooth.

        The slopes at both ends then explain the change of the value (trapezoidal rule), and linear
        models of the constraints are accurate.
        """
        slopes = self._old_gradient @ s, self._gradient @ s
        error = abs(self._f - self._old_f - 0.5 * sum(slopes))
        straight = error <= _NEGLIGIBLE * np.abs(slopes).sum() and self._error <= _NEGLIGIBLE
        if straight and self._spread == 0:
            self._share = self._least_share = _FINEST_SHARE

    # The quadratic program

    def _equal(self) -> BoolArray:
        """Return which constraints are equalities."""
        return np.arange(len(self._c)) >= len(self._c) - self._equalities

    def _violated(self, c: FloatArray) -> FloatArray:
        """Return by how much each constraint is violated."""
        return np.where(self._equal(), np.abs(c), np.maximum(c, 0.0))

    def _margins(self) -> FloatArray:
        """Return how far inside the inequalities to end, as linear models are inexact."""
        rounding = 8.0 * _EPSILON * (np.abs(self._c) + np.abs(self._jacobian).sum(axis=1))
        likely = np.minimum(self._errors, 0.5 * np.abs(self._c))
        return np.where(self._equal(), 0.0, np.maximum(likely, rounding))

    def _solve(self, c: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """Return a step in units of the scale, and the multipliers.

        It ends a little inside the inequalities if there is room for that.
        """
        solution, met = self._solve_within(c + self._margins(), _INSIDE_WEIGHT)
        return solution if met else self._solve_within(c, _LAST_WEIGHT)[0]

    def _solve_within(
        self, c: FloatArray, last: float
    ) -> tuple[tuple[FloatArray, FloatArray] | None, bool]:
        """Return the solution of the quadratic program, and whether it meets the constraints."""
        norms = np.linalg.norm(self._jacobian, axis=1)
        norms = np.where(norms > 0, norms, 1.0)
        gradient = self._gradient if np.isfinite(self._f) else np.full(self.dimension, 1e-6)
        solution, weight, least = None, _FIRST_WEIGHT, np.inf
        while weight <= last:
            trial = PenaltyProgram(
                self._hessian, gradient, self._jacobian / norms[:, None], c / norms, self._equal(),
                weight, (self.low - self._x) / self._scale, (self.high - self._x) / self._scale,
            ).solve()  # fmt: skip
            if trial is None:
                break
            left = (self._violated(c + self._jacobian @ trial[0]) / norms).max(initial=0.0)
            # With a large weight the program may be too badly conditioned.
            if left <= least:
                solution, least = (trial[0], trial[1] / norms), left
            if left <= 1e-9:
                return solution, True
            weight *= 1e3
        return solution, False

    def _choose_direction(self) -> None:
        solution = self._solve(self._c)
        if solution is None:  # the model may be too badly conditioned
            curvature = max(float(np.diagonal(self._hessian).mean()), 1e-12)
            self._hessian, self._updates = np.eye(self.dimension) * curvature, 0
            solution = self._solve(self._c)
        if solution is None:
            self._end()
            return
        self._direction, self._multipliers = solution[0] * self._scale, solution[1]
        self._raise_penalties(solution[0])
        self._promise = self._model_gain(solution[0])
        if self._predicts_optimum(solution[0]):
            return
        feasible = self._violated(self._c).max(initial=0.0) <= _MET
        short = float(np.abs(solution[0]).max()) < _SHORT * self._spread
        if short or not self._promise > self._noise() or not self._direction.any():
            self._no_progress()
            return
        factor = _HOPELESS_COARSE if self._spread > 0 else _HOPELESS
        behind = self._f - self.best_fitness > factor * self._promise
        hopeless = self._runs > 1 and feasible and behind
        self._behind = self._behind + 1 if hopeless else 0
        if self._behind >= _MAX_BEHIND:
            self._end()
            return
        self._length, self._trials, self._corrected = 1.0, 0, False
        self._phase = "line"

    def _predicts_optimum(self, d: FloatArray) -> bool:
        """End an independent run whose model predicts a known optimum; return whether it did."""
        if not (self._independent and self._updates and len(self._optima.points)):
            return False
        away = np.abs(self._x / self._scale + d - self._optima.points / self._scale).max(axis=1)
        k = int(away.argmin())
        value = self._f + float(self._gradient @ d + 0.5 * d @ self._hessian @ d)
        miss, change = abs(value - self._optima.values[k]), abs(self._f - self._optima.values[k])
        if away[k] > _PREDICTED * np.abs(d).max() + _AT or not miss <= _PREDICTED * change:
            return False
        self._ended = True
        self._optima.add(self._optima.values[k], self._optima.points[k])
        return True

    def _raise_penalties(self, d: FloatArray) -> None:
        """Adapt the weights of the merit function to the multipliers."""
        size = 1.5 * np.abs(self._multipliers)
        self._penalties = np.maximum(size, 0.5 * (self._penalties + size))
        # Large enough for the merit to fall where violations do.
        violated = self._violated(self._c)
        saved = violated - self._violated(self._c + self._jacobian @ d)
        if saved.sum() > 0 and np.isfinite(self._f):
            rise = float(self._gradient @ d + 0.5 * d @ self._hessian @ d)
            gain = float(self._penalties @ saved)
            least = _WORTH * self._noise() if violated.max() > _MET else 0.0
            if (missing := max(2.0 * rise, rise + least) - gain) > 0:
                useful = np.maximum(saved, 0.0)
                self._penalties = self._penalties + missing * useful / float(useful @ useful)

    def _model_gain(self, d: FloatArray) -> float:
        """Return by how much a step reduces the merit according to the model."""
        saved = self._violated(self._c) - self._violated(self._c + self._jacobian @ d)
        gain = float(self._penalties @ saved)
        if not np.isfinite(self._f):
            return float(saved.sum())
        return gain - float(self._gradient @ d + 0.5 * d @ self._hessian @ d)

    # Line search

    def _gain(self, f: float, c: FloatArray) -> float:
        """Return by how much a point is better than the present one, by the merit function."""
        saved = self._violated(self._c) - self._violated(c)
        if not np.isfinite(self._f):
            return float(saved.sum())
        return self._f - f + float(self._penalties @ saved)

    def _learn_trial(self, x: FloatArray, f: float, c: FloatArray) -> None:
        self._trials += 1
        d = (x - self._x) / self._scale
        gain = self._gain(f, c)
        defined = np.isfinite(gain) and np.isfinite(c).all()
        if defined and gain > 0 and gain >= _DECREASE * self._length * self._promise:
            self._accept(x, f, c, gain, d)
            return
        full = self._trials == 1 or self._corrected
        early = full and self._trials <= _MAX_CORRECTIONS
        if defined and early and self._correct(c, d, self._promise - gain):
            return
        if self._corrected:
            self._corrected = False
            self._direction = self._plain
        if self._trials >= _MAX_TRIALS:
            self._no_progress()
            return
        slope = self._promise
        bend = slope - gain / self._length
        vertex = 0.5 * slope / bend if bend > 0 else 0.5
        self._length *= min(0.5, max(0.1, vertex)) if defined else 0.25
        reach = self._length * float(np.abs(self._direction / self._scale).max())
        if defined and _FINEST < reach < np.abs(self._offsets / self._scale).max(initial=0.0):
            self._moved = reach
            self._refine()
            return
        if np.array_equal(self._inside(self._x + self._length * self._direction), self._x):
            self._no_progress()

    def _correct(self, c: FloatArray, d: FloatArray, missing: float) -> bool:
        """Correct a full step for the curvature of the constraints; return whether it changed.

        It does if unforeseen violations are a good part of what is missing of the promised gain.
        """
        unforeseen = self._violated(c) - self._violated(self._c + self._jacobian @ d)
        if not float(self._penalties @ unforeseen) > _CURVED * missing:
            return False
        solution = self._solve(c - self._jacobian @ d)
        if solution is None:
            return False
        if not self._corrected:
            self._plain = self._direction
        self._direction = solution[0] * self._scale
        self._corrected = True
        return True

    def _accept(self, x: FloatArray, f: float, c: FloatArray, gain: float, d: FloatArray) -> None:
        self._errors = np.abs(c - self._c - self._jacobian @ d)
        self._adapt_differences(d)
        self._x, self._f, self._c = x.copy(), f, c.copy()
        self._moved = float(np.abs(d).max())
        idle = gain <= self._noise() or self._moved < _FINEST
        self._stalled = self._stalled + 1 if idle else 0
        if self._stalled >= _MAX_STALLED:
            self._end()
            return
        self._retrying = self._refined = False
        self._central = False
        self._differentiate()

    def _adapt_differences(self, d: FloatArray) -> None:
        """Widen differences where the slopes of active constraints change from step to step."""
        size = np.abs(self._multipliers)
        active = size > 1e-6 * size.max(initial=0.0)
        reach = np.linalg.norm(self._jacobian[active], axis=1) * np.linalg.norm(d)
        error = float((self._errors[active] / np.where(reach > 0, reach, np.inf)).max(initial=0.0))
        # On smooth problems errors fall: two in a row must be large.
        excess = min(error, self._error) - _NEGLIGIBLE
        self._share = min(max(_WIDENING * excess, self._least_share), _LARGEST_SHARE)
        self._error = error
        self._steps += 1
        if self._spread == 0 and self._runs % 2 and self._steps <= _EARLY and error > _ROUGH:
            self._spread, self._steps = _COARSE[0], _EARLY
            self._old_x, self._updates = None, 0  # its curvature is that of small ripples
            self._penalties = np.zeros(len(self._c))

    def _refine(self) -> None:
        """Repeat the gradient: its differences were wider than steps that fail."""
        if self._refined or self._spread > 0:
            self._no_progress()
            return
        self._refined = True
        self._least_share = max(_REFINEMENT * self._least_share, _FINEST_SHARE)
        self._phase = "gradient"

    def _no_progress(self) -> None:
        """Try again with central differences; if that was tried, the run has ended."""
        if self._spread > 0:
            self._spread = _COARSE[_COARSE.index(self._spread) + 1]
            self._penalties = np.zeros(len(self._c))
            if not self._updates:
                self._old_x = None  # the model is that of slopes over a large range
            self._phase = "gradient"
            return
        if self._retrying or self._exact:
            self._end()
            return
        self._retrying = True
        self._central = True
        self._phase = "gradient"
