"""Quasi-Newton local search with finite differences inside the box, and restarts."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from uaos.arrays import BoolArray, FloatArray, IntArray
from uaos.jit import njit
from uaos.optimizers.base.details import first_gradient
from uaos.optimizers.base.settings import OptimizerSettings
from uaos.optimizers.limited import LimitedModel
from uaos.optimizers.registration import register
from uaos.optimizers.restarting import RestartingSearch, RestartingSettings
from uaos.params import choice
from uaos.selection import bibliography as bib

#: Above this dimension the model has a limited memory: decompositions of a matrix take too long.
LIMITED = 320

_EPSILON = float(np.finfo(float).eps)

# Chosen on BBOB, instances 1 to 5, with 5·D to 500·D evaluations. Half or twice as much is better
# on about as many functions as it is worse.

# The first differences of a run reach this far, as a share of the box: far enough to see the large
# shape of a function, and exact on quadratic ones. In a run that refines a point, and in all later
# gradients, they reach at most _CLOSE_STEP, which averages out roughness; noise may require more.
_FIRST_STEP = 0.2
_CLOSE_STEP = 1e-3
# Up to this dimension, with this many evaluations per dimension or more, further gradients cost so
# little that the first differences are forward ones, and reach only this far.
_FEW_DIMENSIONS = 3
_FEW_EVALUATIONS = 20
_NARROW_STEP = 0.07
# Step lengths that a line search tries along the first direction of a run before it gives up. That
# direction may not lead downhill, as its differences are coarse.
_COARSE_TRIALS = 2
# The first model is diagonal. If the second gradient differs from its prediction by more than the
# share _MISFIT, a model with the share _LOW_CURVATURE of the observed curvature in all directions
# replaces it. That makes steps long; a run that refines a point does not do so.
_MISFIT = 0.3
_LOW_CURVATURE = 1e-5
# With _MANY_DIMENSIONS variables or more, it takes too long to see all directions. The curvatures
# of new steps fall while they lead to flatter directions. Once one is not below _FALL times the
# lowest, directions not seen yet get _UNSEEN_SHARE of the lowest. These are the directions whose
# curvature in the model is below _UNSEEN times the low curvature.
_MANY_DIMENSIONS = 8
_FALL = 0.5
_UNSEEN_SHARE = 0.3
_UNSEEN = 100.0
# Central differences lower the model's curvatures at most by this factor.
_LEAST_FACTOR = 0.01
# A run ends when the model promised less than the share _LITTLE of what the run has gained so far
# for the last _LATEST iterations, and these gained less than the share _KEPT of that: numerical
# errors of the values, which may be much larger than those of rounding, then hide the slopes.
# Chosen on BBOB, instances 1 to 3, where it changes one run of 192, and on a cross-validation.
_LATEST = 3
_LITTLE = 0.01
_KEPT = 2e-4

# Usual values and safeguards, which hardly change where runs end.

# Sufficient decrease (Armijo), as a share of what the slope promises.
_DECREASE = 1e-4
# Step lengths that a line search tries in all other directions.
_MAX_TRIALS = 12
# Differences are at least this far apart, as a share of the coordinate.
_LEAST_STEP = 1e-12
# Number of changes to the set of coordinates at a bound when the model is minimized in the box.
_MAX_CHANGES = 30
# A run ends after _MAX_BEHIND iterations in a row in which it is behind the best value of earlier
# runs by more than _HOPELESS times the promised gain.
_MAX_BEHIND = 3
_HOPELESS = 1e4
# A run ends after this many iterations in a row whose gain is within rounding errors.
_MAX_STALLED = 3
# Values that differ by this share of what a run has gained are the same.
_SAME = 1e-10


@njit
def _larger(a: float, b: float) -> float:
    """Return the larger of two numbers, or NaN if either is NaN."""
    return a if a > b or a != a else b


@njit
def _choose_lengths(
    directions: FloatArray,
    least: float,
    farthest: float,
    x: FloatArray,
    width: FloatArray,
    nearest: FloatArray,
    inner: BoolArray,
    length: FloatArray,
) -> bool:
    """Write the length of the difference along each direction, `least` within its limits.

    A difference reaches at most `farthest`, as a share of the box. A coordinate whose `nearest`
    bound would be passed is no longer inner. Return whether all inner coordinates have stayed.
    """
    D = len(x)
    for i in range(D):
        rough: float = np.float64(0.0)
        wide: float = np.float64(0.0)
        for j in range(D):
            reach = abs(directions[i, j])
            rough = _larger(reach / max(abs(x[j]), 1e-3 * width[j]), rough)
            wide = _larger(reach / width[j], wide)
        most, at_least = farthest / wide, _larger(least, _LEAST_STEP / rough)
        length[i] = at_least if at_least < most or at_least != at_least else most
    stayed = True
    far = np.empty(D)
    for j in range(D):
        far[j] = 0.0
        for i in range(D):
            reach = length[i] * abs(directions[i, j]) * (1.0 if inner[i] else 0.0)
            far[j] = _larger(reach, far[j])
    for j in range(D):
        if inner[j] and far[j] > nearest[j]:
            inner[j] = stayed = False
    return stayed


@njit
def _fits(
    x: FloatArray, length: float, direction: FloatArray, lowest: FloatArray, highest: FloatArray
) -> bool:
    """Return whether the point at this length along a direction is inside the box."""
    for j in range(len(x)):
        v = x[j] + length * direction[j]
        if not lowest[j] <= v <= highest[j]:
            return False
    return True


@njit
def _place_differences(
    x: FloatArray,
    directions: FloatArray,
    slopes: FloatArray,
    length: FloatArray,
    lowest: FloatArray,
    highest: FloatArray,
    offsets: FloatArray,
    points: FloatArray,
) -> None:
    """Write the offsets along each direction, one or (central differences) two, and the points.

    They go toward lower values, unless the box is in the way.
    """
    rows, D = offsets.shape
    for i in range(D):
        direction = directions[i]
        ahead = -length[i] if slopes[i] > 0.0 else length[i]
        if not _fits(x, ahead, direction, lowest, highest):
            ahead = -ahead
        offsets[0, i] = ahead
        if rows == 2:
            offsets[1, i] = -ahead
            if not _fits(x, -ahead, direction, lowest, highest):
                offsets[1, i] = 2.0 * ahead
        for r in range(rows):
            for j in range(D):
                v = x[j] + offsets[r, i] * direction[j]
                if v != v:  # the difference under- or overflowed
                    v = x[j]
                points[r * D + i, j] = min(max(v, lowest[j]), highest[j])


@njit
def _differentiate(
    values: FloatArray,
    f: float,
    offsets: FloatArray,
    directions: FloatArray,
    inner: BoolArray,
    along: FloatArray,
    curvature: FloatArray,
    gradient: FloatArray,
) -> None:
    """Write the slopes along the directions and, if differences are central, the curvatures.

    `gradient` becomes the derivatives by the coordinates that are not inner.
    """
    rows, D = offsets.shape
    for i in range(D):
        a = offsets[0, i]
        slope = (values[i] - f) / a
        if rows == 1:
            along[i] = slope - 0.5 * a  # the model's curvature is 1
        else:
            b = offsets[1, i]
            other = (values[D + i] - f) / b
            along[i] = (slope * b - other * a) / (b - a)
            curvature[i] = 2.0 * (slope - other) / (a - b)
            if not np.isfinite(along[i]):
                along[i] = slope if np.isfinite(slope) else other
        # A failed evaluation says nothing about its direction, which is then left out.
        if not np.isfinite(along[i]):
            along[i] = 0.0
        gradient[i] = along[i] if inner[i] else along[i] / directions[i, i]


@njit
def _update(
    B: FloatArray,
    y: FloatArray,
    y_scaled: FloatArray,
    Bs: FloatArray,
    Bs_scaled: FloatArray,
    new: FloatArray,
) -> bool:
    """Write B + y y'/s'y - Bs (Bs)'/s'Bs; return whether all of it is finite."""
    D = len(y)
    finite = True
    for i in range(D):
        for j in range(D):
            new[i, j] = B[i, j] + y[i] * y_scaled[j] - Bs[i] * Bs_scaled[j]
            finite &= np.isfinite(new[i, j])
    return finite


@njit
def _mark_free(
    x: FloatArray, g: FloatArray, lowest: FloatArray, highest: FloatArray, free: BoolArray
) -> int:
    """Mark and count the coordinates that can move: not flat, and not held by a bound."""
    count = 0
    for i in range(len(x)):
        held = (x[i] <= lowest[i] and g[i] > 0.0) or (x[i] >= highest[i] and g[i] < 0.0)
        free[i] = not held and g[i] != 0.0
        count += free[i]
    return count


@njit
def _way_to_bound(
    d: FloatArray, move: FloatArray, low: FloatArray, high: FloatArray
) -> tuple[float, int]:
    """Return the share of a move up to the first bound and its coordinate, 1 and -1 if inside."""
    share, first = 1.0, -1
    for i in range(len(d)):
        room = high[i] - d[i] if move[i] > 0.0 else low[i] - d[i]
        if abs(move[i]) * share > abs(room):
            share, first = abs(room) / abs(move[i]), i
    return share, first


@njit
def _longest(d: FloatArray, width: FloatArray) -> float:
    """Return the largest share of the box's width that a step takes; inf if it is not finite."""
    longest = 0.0
    for i in range(len(d)):
        if not np.isfinite(d[i]):
            return np.inf
        longest = max(longest, abs(d[i]) / width[i])
    return longest


@dataclass(frozen=True)
class Differences:
    """Points of finite differences, and what is needed to learn a gradient from their values."""

    points: FloatArray
    central: bool
    offsets: FloatArray
    directions: FloatArray
    inner: BoolArray


@dataclass(frozen=True)
class LocalSettings(RestartingSettings):
    """Settings of the local search. Passed to :class:`uaos.LocalSearch`.

    Parameters
    ----------
    boundary : {"project", "none"}
        Whether points stay inside the box. With "none" the box is only where runs start, if it
        allows points outside; otherwise "none" is the same as "project".
    restarts : bool
        Whether to restart when a run has ended. If not, `done` is true from then on.

    Raises
    ------
    InvalidParameter
        If a setting is out of range.
    """

    title: ClassVar[str] = "BFGS"
    repair: ClassVar[str] = "project"

    boundary: str = choice(
        "project", "none", default="project", tuned=False, doc="what happens outside the box"
    )


@register
class LocalSearch(RestartingSearch):
    """BFGS with finite differences inside the box, and restarts.

    A run starts with central differences over a large part of the box, whose second differences
    give the diagonal of the Hessian; up to three variables, unless the budget is below 20·D, it
    starts with narrower forward differences. If the next gradient contradicts this model, the
    function is not separable, and a model of low curvature takes its place, except in a run
    that refines a point (`restart_from`). From eight variables on, once the curvatures of new
    steps no longer fall, directions not seen yet get a share of the lowest. The following
    gradients take forward differences along the axes of the model, scaled to the same curvature
    and corrected by it: rounding errors then weigh the same in each, however badly conditioned
    the function is. After 12, 18, 27, … iterations, and where there is no progress, they are
    central: their second differences lower curvatures that the model has too high. The points
    of a gradient are one batch. A step leads to the minimum of the model inside the box. A run ends
    where steps gain next to nothing of what the model promises, as numerical errors hide the
    slopes. Above 320 variables the model is a diagonal and the last 20 steps (limited memory), and
    differences are along the coordinates.

    Parameters
    ----------
    bounds, seed, budget, target, x0, history
        As for every optimizer (:class:`~uaos.Optimizer`). Runs start from the
        points of `x0` in turn; without them, the first starts from the center of the box and the
        others from uniform random points: of the box, or of one of random size around `x0` where
        the bounds are infinite or very wide. First differences are a fifth of its width, narrower
        ones 7 %.
    settings, boundary, restarts
        See :class:`LocalSettings`.

    Attributes
    ----------
    history : History or None
        The course of the run, with the columns `gradient` (the length of the gradient in the
        coordinates that are free to move) and `restarts`.

    Raises
    ------
    InvalidParameter
        If a setting is out of range.

    References
    ----------
    Nocedal & Wright, Numerical Optimization, 2nd ed., 2006, chapters 6 to 8 and 16.7.

    Examples
    --------
    >>> import uaos
    >>> from uaos.problems import rosenbrock
    >>> result = uaos.minimize(rosenbrock, [(-5, 5)] * 4, method="BFGS", target=1e-8)
    >>> result.success
    True
    """

    name: ClassVar[str] = "BFGS"
    settings_class: ClassVar[type[OptimizerSettings]] = LocalSettings
    reference: ClassVar[str] = bib.NOCEDAL_2006
    columns: ClassVar[tuple[str, ...]] = ("gradient", "restarts")
    state_names: ClassVar[tuple[str, ...]] = (
        "_first_step", "_gradient", "_hessian",
        "_offsets", "_directions", "_inner", "_central", "_old_x", "_old_gradient", "_direction",
        "_length", "_trials", "_trial_x", "_trial_f", "_trial_gradient",
        "_stalled", "_gains", "_steps", "_next_central", "_retrying", "_behind", "_steepness",
        "_limited", "_low_curvature", "_least_curvature", "_first_f", "_promised",
    )  # fmt: skip

    settings: LocalSettings

    def _start(self) -> None:
        D = self.dimension
        bounded = self.settings.boundary == "project"
        self._lowest: FloatArray = self.low if bounded else np.full(D, -np.inf)
        self._highest: FloatArray = self.high if bounded else np.full(D, np.inf)
        super()._start()

    # A run

    def restart_from(self, x: FloatArray) -> None:
        """Abandon the present run and start one that refines a point."""
        super().restart_from(x)
        self._first_step = _CLOSE_STEP

    def _begin_run(self) -> None:
        D = self.dimension
        self._first_step = _NARROW_STEP if self._starts_forward else _FIRST_STEP
        self._gradient = np.zeros(D)
        self._limited = LimitedModel(D) if D > LIMITED else None
        self._hessian = np.zeros((D, D) if self._limited is None else (0, 0))
        self._central = True
        self._offsets = np.zeros((0, D))
        self._directions = np.zeros((D, D))
        self._inner = np.zeros(D, bool)
        self._old_x: FloatArray | None = None
        self._old_gradient: FloatArray | None = None
        self._direction = np.zeros(D)
        self._length = 1.0
        self._trials = 0
        self._trial_x: FloatArray | None = None
        self._trial_f = float("nan")
        self._trial_gradient: FloatArray | None = None
        self._stalled = 0
        self._gains = np.full((_LATEST, 2), np.inf)  # of recent iterations: gained and promised
        self._steps = 0
        self._next_central = 12
        self._retrying = False
        self._behind = 0
        self._steepness = float("nan")
        self._first_f = float("nan")
        self._foreseen: dict[bytes, Differences] = {}  # at points being tried
        self._ahead: Iterator[FloatArray] | None = None  # their points not handed out yet
        self._promised = float("inf")  # gain that the model expects of the next step
        self._low_curvature = 0.0  # of directions not seen yet; 0 if the model has none
        self._least_curvature = float("inf")  # of the steps since the model was lowered

    @property
    def _starts_forward(self) -> bool:
        """True if the first differences of a run are forward ones."""
        each = np.inf if self.budget is None else self.budget / self.dimension
        return self.dimension <= _FEW_DIMENSIONS and bool(each >= _FEW_EVALUATIONS)

    @property
    def steady(self) -> bool:
        """True if the first run has not ended, and promises no more than it has gained so far.

        Where a function is rough, gradients promise large gains that steps do not keep.
        """
        in_first_run = self.restarts == 0 and not self._ended
        return in_first_run and self._promised <= self._first_f - self._f

    @property
    def doubt(self) -> str:  # noqa: D102 (see Optimizer)
        # Points of differences may be slightly better than where a run has settled.
        gain = self._first_f - self.best_fitness
        level = self.best_fitness + (_SAME * gain if 0 < gain < np.inf else 0.0)
        settled = bool(self.settled) and self.settled[0] <= level
        return "" if settled else "a run ended before it reached an optimum"

    def _next_points(self) -> FloatArray:
        self._ahead = None
        if self._phase == "start":
            return np.array([self._x])
        if self._phase == "gradient":
            with np.errstate(all="ignore"):
                return self._difference_points()
        return np.array([self._inside(self._x + self._length * self._direction)])

    def _learn(self, points: FloatArray, values: FloatArray) -> None:
        with np.errstate(all="ignore"):  # overflow of huge values is checked later
            if self._phase == "start":
                self._learn_start(values)
            elif self._phase == "gradient":
                self._learn_gradient(values)
            else:
                self._learn_trial(points, values)
        self.record(gradient=self._steepness, restarts=self.restarts)

    def _learn_start(self, values: FloatArray) -> None:
        if len(values) == 0 or np.isnan(values[0]):
            self._ended = True
            return
        self._f = self._first_f = float(values[0])
        self._phase = "gradient"
        self._central = not self._starts_forward
        gradient = first_gradient(self.details)
        if gradient is not None:
            self._take_gradient(gradient)

    @property
    def wants_gradients(self) -> bool:
        """True except at the points of finite differences."""
        return self._phase != "gradient"

    def _take_gradient(self, gradient: FloatArray) -> None:
        """Go on with a gradient that was told, without differences."""
        self._gradient = gradient.copy()
        if self._old_x is None or self._old_gradient is None:
            self._reset_model(None)
        else:
            self._update_model(self._x - self._old_x, self._gradient - self._old_gradient)
        self._old_x, self._old_gradient = self._x.copy(), self._gradient.copy()
        self._choose_direction()

    def foresee(self) -> FloatArray | None:
        """Return another point of the gradient that follows if the point being tried is accepted.

        Its directions are known already: they depend on the model, which a line search leaves.
        """
        if self._phase == "gradient":
            return None
        if self._ahead is None:
            if self._phase == "start":
                x, central = self._x, not self._starts_forward
            else:
                x = self._inside(self._x + self._length * self._direction)
                central = self._steps + 1 == self._next_central
            with np.errstate(all="ignore"):
                differences = self._differences(x, self._f, central=central)
            self._foreseen[x.tobytes()] = differences
            self._ahead = iter(differences.points)
        return next(self._ahead, None)

    # Gradient

    def _noise(self, f: float) -> float:
        """Return the size of errors in values near f: rounding or noise."""
        return max(4.0 * _EPSILON * abs(f), self.noise.level, 1e-300)

    def _difference_points(self) -> FloatArray:
        """Return the points of a gradient: one per direction, or two for central differences."""
        taken = self._foreseen.get(self._x.tobytes())
        if taken is None or taken.central != self._central:
            taken = self._differences(self._x, self._f, central=self._central)
        self._offsets, self._directions, self._inner = taken.offsets, taken.directions, taken.inner
        return taken.points

    def _differences(self, x: FloatArray, f: float, *, central: bool) -> Differences:
        """Return differences for the gradient at a point whose value is about f."""
        D = self.dimension
        if self._old_x is None:
            directions, inner = np.diag(self._first_step * self._width), np.zeros(D, bool)
            length, slopes = np.ones(D), np.zeros(D)
        else:
            directions, inner, length, slopes = self._choose_differences(x, f, central=central)
        rows = 2 if central else 1
        offsets, points = np.empty((rows, D)), np.empty((rows * D, D))
        _place_differences(
            x, directions, slopes, length, self._lowest, self._highest, offsets, points
        )
        return Differences(points, central, offsets, directions, inner)

    def _choose_differences(
        self, x: FloatArray, f: float, *, central: bool
    ) -> tuple[FloatArray, BoolArray, FloatArray, FloatArray]:
        """Choose directions in which the model's curvature is 1, and the lengths of differences.

        Rounding errors then weigh the same in each, however badly conditioned the function is. The
        directions are the axes of the model, and the coordinates themselves close to a bound.
        Return the directions, which coordinates are not close to a bound, the lengths, and the
        slopes along the directions at the point before.
        """
        nearest = np.minimum(x - self._lowest, self._highest - x)
        inner = nearest > 0
        diagonal = np.sqrt(self._curvatures())
        length = np.empty(self.dimension)
        while True:
            axes, all_inner = self._axes(inner), bool(inner.all())
            if axes is not None and all_inner:
                directions = np.ascontiguousarray(axes)
            else:
                directions = np.diag(1.0 / diagonal)
                if axes is None:
                    inner = np.zeros(self.dimension, bool)
                else:
                    directions[_block(inner)] = axes
            slopes = directions @ self._gradient
            least = 2.0 * np.sqrt(self._noise(f))
            if central:
                # A share of the way to the minimum of the model, if that is more.
                least = np.maximum(least, 0.3 * np.sqrt(np.mean(slopes**2)))
            farthest = _CLOSE_STEP if self.noise.level == 0 else _FIRST_STEP
            if _choose_lengths(directions, least, farthest, x, self._width, nearest, inner, length):
                return directions, inner, length, slopes

    def _curvatures(self) -> FloatArray:
        """Return the diagonal of the model."""
        return np.diagonal(self._hessian) if self._limited is None else self._limited.diagonal

    def _axes(self, inner: BoolArray) -> FloatArray | None:
        """Return the axes of the model in the inner coordinates, as rows, or None."""
        if self._limited is not None:
            return None
        block = self._hessian[_block(inner)]
        try:
            eigenvalues, vectors = np.linalg.eigh(block)
        except np.linalg.LinAlgError:
            return None
        if not (eigenvalues > 0).all():
            return None
        axes: FloatArray = (vectors / np.sqrt(eigenvalues)).T
        return axes

    def _learn_gradient(self, values: FloatArray) -> None:
        rows, D = self._offsets.shape
        if len(values) < rows * D:
            return
        along, curvature, self._gradient = np.empty(D), np.empty(D), np.empty(D)
        _differentiate(
            values, self._f, self._offsets, self._directions, self._inner, along, curvature,
            self._gradient,
        )  # fmt: skip
        if self._inner.any():
            # The inverse of the directions: U' B U = I.
            block = _block(self._inner)
            self._gradient[self._inner] = self._hessian[block] @ (
                self._directions[block].T @ along[self._inner]
            )
        if self._old_x is None or self._old_gradient is None:
            steps = np.diagonal(self._directions)
            self._reset_model(curvature / steps**2 if rows == 2 else None)
        else:
            self._update_model(self._x - self._old_x, self._gradient - self._old_gradient)
            if rows == 2:
                self._flatten_model(curvature)
        self._old_x = self._x.copy()
        self._old_gradient = self._gradient.copy()
        self._choose_direction()

    def _update_model(self, s: FloatArray, y: FloatArray) -> None:
        """Update the model by BFGS: the step s changed the gradient by y."""
        if self._limited is not None:
            self._limited.update(s, y)
            return
        if self._low_curvature > 0:
            self._raise_model(s, y)
        Bs = self._hessian @ s
        sBs = float(s @ Bs)
        close = self._first_step == _CLOSE_STEP
        first = self._steps == 1 and self.noise.level == 0 and not close
        if sBs > 0 and first and np.sum((y - Bs) ** 2) > _MISFIT**2 * np.sum(y**2):
            self._lower_model(s, y)
        elif sBs > self.noise.level:  # otherwise noise hides the curvature
            sy = float(s @ y)
            if sy < 0.2 * sBs:  # Powell's damping keeps the model positive definite
                share = 0.8 * sBs / (sBs - sy)
                y = share * y + (1 - share) * Bs
                sy = float(s @ y)
            hessian = np.empty_like(self._hessian)
            if _update(self._hessian, y, y / sy, Bs, Bs / sBs, hessian):
                self._hessian = hessian

    def _lower_model(self, s: FloatArray, y: FloatArray) -> None:
        """Start a model with a low curvature in all directions: the function is not separable.

        Updates raise a curvature that is too low at once, but lower one that is too high only in
        the direction of the step. The step s and the change y of the gradient only give its size,
        as the first gradient was taken over a larger range.
        """
        curvature = _LOW_CURVATURE * abs(float(s @ y)) / float(np.sum((s / self._width) ** 2))
        if 0 < curvature < np.inf:
            self._hessian = np.diag(curvature / self._width**2)
            if self.dimension >= _MANY_DIMENSIONS:
                self._low_curvature = curvature

    def _raise_model(self, s: FloatArray, y: FloatArray) -> None:
        """Raise a low model in the directions not seen yet, once new steps are not much flatter."""
        size = float(np.sum((s / self._width) ** 2))
        curvature = float(s @ y) / size if size > 0 else 0.0
        if not 0 < curvature < np.inf:
            return
        least, self._least_curvature = self._least_curvature, min(curvature, self._least_curvature)
        if curvature < _FALL * least:
            return
        scale = np.outer(self._width, self._width)
        eigenvalues, vectors = np.linalg.eigh(self._hessian * scale)
        unseen = eigenvalues < _UNSEEN * self._low_curvature
        raised = np.maximum(eigenvalues[unseen], _UNSEEN_SHARE * self._least_curvature)
        axes = vectors[:, unseen]
        self._hessian = self._hessian + (axes * (raised - eigenvalues[unseen])) @ axes.T / scale
        self._low_curvature = 0.0

    def _flatten_model(self, curvature: FloatArray) -> None:
        """Correct the model along the axes in which the function is less curved.

        Updates raise a curvature that is too low at once, but lower one that is too high only in
        the direction of the step.
        """
        if self._limited is not None:
            factor = np.where(curvature > 0, np.clip(curvature, _LEAST_FACTOR, 100.0), 1.0)
            self._limited.diagonal = self._limited.diagonal * factor
            return
        block = _block(self._inner)
        axes = self._directions[block]
        axes = axes / np.sqrt(np.sum(axes**2, axis=1))[:, None]
        # Not positive: not convex here, or a failed evaluation.
        factor = np.where(curvature > 0, np.clip(curvature, _LEAST_FACTOR, 1.0), 1.0)
        scaling = np.eye(self.dimension)
        scaling[block] = axes.T @ (np.sqrt(factor[self._inner])[:, None] * axes)
        hessian = scaling @ self._hessian @ scaling
        if np.isfinite(hessian).all():
            self._hessian = 0.5 * (hessian + hessian.T)

    def _reset_model(self, curvature: FloatArray | None) -> None:
        """Start a diagonal model, from second differences where they are known."""
        least = np.abs(self._gradient) / self._width  # no step beyond the box
        diagonal = least if curvature is None else np.fmax(np.abs(curvature), least)
        diagonal = np.where(diagonal > 0, np.clip(diagonal, 1e-150, 1e150), 1.0)
        if self._limited is None:
            self._hessian = np.diag(diagonal)
        else:
            self._limited.reset(diagonal)

    def _choose_direction(self) -> None:
        g = self._gradient
        free = np.empty(self.dimension, bool)
        count = _mark_free(self._x, g, self._lowest, self._highest, free)
        slopes = g if count == self.dimension else g[free]
        self._steepness = float(np.sqrt(np.sum(slopes**2)))
        if count == 0:
            if self._central:
                self._end_settled()  # flat
            else:
                self._no_progress()
            return
        d = self._model_step(free)
        if not (np.isfinite(d).all() and g @ d < 0):
            self._reset_model(None)
            d = self._model_step(free)
            d = np.where(np.isfinite(d), d, 0.0)  # the width of the box may underflow
        d /= max(1.0, _longest(d, self._width))
        # Runs that are about to end above the best value of earlier ones end here.
        self._promised = -0.5 * float(g @ d)
        hopeless = self._f - self.best_fitness > _HOPELESS * self._promised
        self._behind = self._behind + 1 if hopeless else 0
        if self._behind >= _MAX_BEHIND:
            self._ended = True
            return
        self._direction = d
        self._length = 1.0
        self._trials = 0
        self._trial_x = None
        self._foreseen = {}
        self._phase = "line"

    def _model_step(self, free: BoolArray) -> FloatArray:
        """Return the step to the minimum of the model inside the box, NaN if there is none.

        An active-set method: coordinates are held where the step meets a bound, and released where
        the model falls toward the inside. It ends early after many changes.
        """
        if self._limited is not None:
            return self._limited.step(self._gradient, free)
        low, high = self._lowest - self._x, self._highest - self._x
        d, free, held = np.zeros(self.dimension), free.copy(), np.zeros(self.dimension, bool)
        for _ in range(_MAX_CHANGES):
            slopes = self._gradient + self._hessian @ d
            move = np.zeros(self.dimension)
            try:
                move[free] = np.linalg.solve(self._hessian[_block(free)], -slopes[free])
            except np.linalg.LinAlgError:
                return np.full(self.dimension, np.nan)
            share, first = _way_to_bound(d, move, low, high)
            d += share * move
            if first >= 0:
                d[first] = high[first] if move[first] > 0 else low[first]
                free[first], held[first] = False, True
                continue
            slopes = self._gradient + self._hessian @ d
            inward = held & np.where(d >= high, slopes > 0, slopes < 0)
            if not inward.any():
                break
            released = int(np.argmax(np.where(inward, np.abs(slopes), 0.0)))
            free[released], held[released] = True, False
        return d

    # Line search

    def _learn_trial(self, points: FloatArray, values: FloatArray) -> None:
        if len(values) == 0:
            return
        x, f = points[0], float(values[0])
        self._trials += 1
        slope = float(self._gradient @ (x - self._x)) / self._length
        gain = self._f - f
        # The minimum of the parabola through both values and the slope, as a share of the step.
        bend = -gain - slope * self._length
        vertex = -0.5 * slope * self._length / bend if bend > 0 else np.inf
        better = f < (self._trial_f if self._trial_x is not None else self._f)
        enough = gain >= -_DECREASE * slope * self._length and slope < 0 and gain > 0
        if better and enough:
            first = self._trial_x is None
            self._trial_x, self._trial_f = x.copy(), f
            self._trial_gradient = first_gradient(self.details)
            if vertex > 1.5 and self._trials < _MAX_TRIALS:
                self._length *= min(vertex, 4.0)
                if not np.array_equal(self._inside(self._x + self._length * self._direction), x):
                    return
            elif vertex < 0.6 and first and self._trials < _MAX_TRIALS:
                self._length *= max(vertex, 0.1)
                return
            self._accept()
            return
        if self._trial_x is not None:
            self._accept()
            return
        if self._trials >= self._most_trials(f) or abs(gain) <= self._noise(self._f):
            self._no_progress()
            return
        self._length *= 0.25 if np.isnan(f) else min(0.5, max(0.1, vertex))
        if np.array_equal(self._inside(self._x + self._length * self._direction), self._x):
            self._no_progress()

    def _most_trials(self, f: float) -> int:
        """Return the number of trials after which one with value f ends the line search."""
        coarse = self._steps == 0 and not self._retrying and len(self._offsets) > 0
        return _COARSE_TRIALS if coarse and not np.isnan(f) else _MAX_TRIALS

    def _accept(self) -> None:
        assert self._trial_x is not None
        gain = self._f - self._trial_f
        self._stalled = self._stalled + 1 if gain <= self._noise(self._f) else 0
        self._note_gain(gain)
        self._x, self._f = self._trial_x, self._trial_f
        self._trial_x = None
        if self._stalled >= _MAX_STALLED or self._keeps_no_promise:
            self._end_settled()
            return
        self._steps += 1
        self._central = self._steps == self._next_central
        if self._central:
            self._next_central += (self._next_central + 1) // 2
        self._retrying = False
        self._phase = "gradient"
        if self._trial_gradient is not None:
            self._take_gradient(self._trial_gradient)

    def _no_progress(self) -> None:
        """Try again with the other kind of differences; if that was tried, the run has ended."""
        if self._retrying:
            self._end_settled()
            return
        self._note_gain(0.0)
        self._retrying = True
        self._central = not self._central
        self._phase = "gradient"

    def _note_gain(self, gain: float) -> None:
        """Remember what an iteration has gained, and what the model had promised."""
        self._gains = np.append(self._gains[1:], [[gain, self._promised]], axis=0)

    @property
    def _keeps_no_promise(self) -> bool:
        """Whether recent iterations promised little, and gained next to nothing of that."""
        gain, promised = self._gains.sum(axis=0)
        little = promised < _LITTLE * (self._first_f - self._f)
        return bool(little and gain < _KEPT * promised)

    def _inside(self, points: FloatArray) -> FloatArray:
        return np.minimum(np.maximum(points, self._lowest), self._highest)


def _block(chosen: BoolArray) -> tuple[slice, slice] | tuple[IntArray, IntArray]:
    """Return an index of the chosen rows and columns, a quick one if all are chosen."""
    if chosen.all():
        return slice(None), slice(None)
    places = np.flatnonzero(chosen)
    return places[:, None], places[None, :]
