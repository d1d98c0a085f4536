"""Coordinate-wise global search by STEP, which splits the interval that is easiest to improve."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from uaos.arrays import FloatArray, IntArray
from uaos.jit import njit
from uaos.optimizers.base.settings import OptimizerSettings
from uaos.optimizers.registration import register
from uaos.optimizers.restarting import RestartingSearch, RestartingSettings
from uaos.params import choice, integer
from uaos.selection import bibliography as bib

_EPSILON = float(np.finfo(float).eps)
# The improvement that an interval should bring, as a share of the range of values on the line.
_IMPROVEMENT = 1e-6
# The first sweep leaves a line once every interval would have to be this many times as curved as
# the most curved stretch seen on the line; each further sweep multiplies the factor.
_CURVATURE = 1.5
_CURVATURE_GROWTH = 2.5
# The first points of a line are placed regardless of its curvature.
_MIN_POINTS = 8
# The most evaluations for refining the best point of a line.
_MAX_REFINE = 60
# Restarts raise the number of points per line at most by this factor.
_MAX_GROWTH = 8
# Interactions of coordinates below this share of their effects count as rounding errors.
_INTERACTION = 1e-9

# Columns of a line's `state`, and their values.
_STATUS, _TRUST, _REFINED = 0, 1, 2
_SPLITTING, _REFINING, _FINISHED = 0, 1, 2
_UNTRIED, _AGREED, _MISSED = 0, 1, 2


@njit
def _finish(state: IntArray) -> tuple[int, float]:
    state[_STATUS] = _FINISHED
    return -1, 0.0


@njit
def _extremes(y: FloatArray, n: int) -> tuple[int, float]:
    """Return the index of the best of n values, and the worst finite value."""
    best = 0
    worst = -np.inf
    for i in range(n):
        if y[i] < y[best]:
            best = i
        if worst < y[i] < np.inf:
            worst = y[i]
    return best, worst


@njit
def _widest(x: FloatArray, n: int) -> int:
    """Return the left end of the widest interval between n points."""
    widest = 0
    for i in range(n - 1):
        if x[i + 1] - x[i] > x[widest + 1] - x[widest]:
            widest = i
    return widest


@njit
def _easiest(
    x: FloatArray, y: FloatArray, n: int, best: float, worst: float
) -> tuple[int, float, float]:
    """Return the easiest interval, the root of its difficulty, and the line's largest curvature."""
    rounding = 8.0 * _EPSILON * max(abs(worst), abs(best))
    goal = best - _IMPROVEMENT * (worst - best)
    easiest = 0
    least = np.inf
    curvature = 0.0
    for i in range(n - 1):
        width = x[i + 1] - x[i]
        left = min(y[i], worst)
        right = min(y[i + 1], worst)
        # The difficulty's root: of the parabola through both ends that touches the goal.
        root = (np.sqrt(left - goal) + np.sqrt(right - goal)) / width
        if root < least:
            least = root
            easiest = i
        if i > 0:
            before = x[i] - x[i - 1]
            bend = (right - left) / width - (left - min(y[i - 1], worst)) / before
            bend = abs(bend) / (width + before) - rounding / width / before
            curvature = max(curvature, bend)
    return easiest, least, curvature


@njit
def _refine(
    x: FloatArray, y: FloatArray, b: int, worst: float, state: IntArray, forecast: FloatArray
) -> tuple[int, float]:
    """Choose a point beside the best one, x[b], by parabolic interpolation, or finish the line."""
    best = y[b]
    before = x[b] - x[b - 1]
    after = x[b + 1] - x[b]
    slope = (best - min(y[b - 1], worst)) / before
    bend = ((min(y[b + 1], worst) - best) / after - slope) / (before + after)
    tolerance = 1e-15 * (worst - best) + 4.0 * _EPSILON * abs(best)
    if not bend * max(before, after) ** 2 >= tolerance:
        return _finish(state)
    at = 0.5 * x[b - 1] + 0.5 * x[b] - 0.5 * slope / bend
    gain = bend * (at - x[b]) ** 2
    if gain < tolerance and state[_TRUST] == _AGREED:
        return _finish(state)
    if gain < tolerance or state[_TRUST] == _MISSED:
        # The parabola does not describe the function, or may not: halve the wider side.
        state[_TRUST] = _AGREED if gain < tolerance else _UNTRIED
        at = x[b] - 0.5 * before if before > after else x[b] + 0.5 * after
    else:
        forecast[0] = best - gain
        forecast[1] = 0.25 * gain
    index = b if at < x[b] else b + 1
    if not x[index - 1] < at < x[index]:
        return _finish(state)
    state[_REFINED] += 1
    return index, at


@njit
def _choose(
    x: FloatArray,
    y: FloatArray,
    n: int,
    low: float,
    high: float,
    state: IntArray,
    forecast: FloatArray,
    points: int,
    limit: float,
) -> tuple[int, float]:
    """Return where to evaluate next on a line of n points: (index to insert at, coordinate).

    The index is -1 once the line is finished. Failures have the value inf and count like the worst
    value. `forecast` becomes the expected value and its tolerance, or NaN.
    """
    forecast[0] = np.nan
    if x[0] > low:
        return 0, low
    if x[n - 1] < high:
        return n, high
    b, worst = _extremes(y, n)
    if not 0.0 < worst - y[b] < np.inf:  # flat so far, or nothing but failures
        widest = _widest(x, n)
        middle = 0.5 * x[widest] + 0.5 * x[widest + 1]
        if n <= min(_MIN_POINTS, points) and x[widest] < middle < x[widest + 1]:
            return widest + 1, middle
        return _finish(state)
    if state[_STATUS] == _SPLITTING:
        easiest, least, curvature = _easiest(x, y, n, y[b], worst)
        middle = 0.5 * x[easiest] + 0.5 * x[easiest + 1]
        promising = n <= _MIN_POINTS or least * least <= limit * curvature
        if n <= points and promising and x[easiest] < middle < x[easiest + 1]:
            return easiest + 1, middle
        state[_STATUS] = _REFINING
        state[_TRUST] = _UNTRIED
        state[_REFINED] = 0
    if b == 0 or b == n - 1 or state[_REFINED] >= _MAX_REFINE:
        return _finish(state)
    return _refine(x, y, b, worst, state, forecast)


@njit
def _choose_all(
    lines: IntArray,
    x: FloatArray,
    y: FloatArray,
    counts: IntArray,
    low: FloatArray,
    high: FloatArray,
    state: IntArray,
    forecast: FloatArray,
    points: int,
    limit: float,
    index: IntArray,
    at: FloatArray,
) -> int:
    """Choose a point on each unfinished line, and return their number."""
    chosen = 0
    for j in lines:
        index[j] = -1
        if state[j, _STATUS] != _FINISHED:
            index[j], at[j] = _choose(
                x[j], y[j], counts[j], low[j], high[j], state[j], forecast[j], points, limit
            )
            if index[j] >= 0:
                chosen += 1
    return chosen


@njit
def _insert_all(
    lines: IntArray,
    x: FloatArray,
    y: FloatArray,
    counts: IntArray,
    state: IntArray,
    forecast: FloatArray,
    index: IntArray,
    at: FloatArray,
    values: FloatArray,
) -> None:
    """Add the values of the chosen points to their lines, in order."""
    k = 0
    for j in lines:
        if index[j] < 0:
            continue
        value = values[k]
        k += 1
        if np.isnan(value):
            value = np.inf
        if not np.isnan(forecast[j, 0]):
            agreed = abs(value - forecast[j, 0]) <= forecast[j, 1]
            state[j, _TRUST] = _AGREED if agreed else _MISSED
        for i in range(counts[j], index[j], -1):
            x[j, i] = x[j, i - 1]
            y[j, i] = y[j, i - 1]
        x[j, index[j]] = at[j]
        y[j, index[j]] = value
        counts[j] += 1


@dataclass(frozen=True)
class CoordinateSettings(RestartingSettings):
    """Settings of the coordinate search. Passed to :class:`uaos.CoordinateSearch`.

    Parameters
    ----------
    points : int
        The most points on a line in the last sweep of a run, without those that refine the best.
        Each sweep before has half as many. Restarts double it, up to eight times as many.
    sweeps : int
        The sweeps of a run; each makes more difficult intervals worthwhile than the one before.
    separable_only : bool
        Whether a run ends at once if the function is not separable.
    restarts : bool
        Whether to restart when a run has ended. If not, `done` is true from then on.

    Raises
    ------
    InvalidParameter
        If a setting is out of range.
    """

    title: ClassVar[str] = "STEP"

    points: int = integer(
        30, 1000, default=300, allowed=(3, 1_000_000), log=True, doc="points on a line"
    )
    sweeps: int = integer(1, 5, default=2, allowed=(1, 100), doc="sweeps of a run")
    separable_only: bool = choice(
        False, True, default=False, tuned=False, doc="whether to search separable functions only"
    )


@register
class CoordinateSearch(RestartingSearch):
    """STEP (Select The Easiest Point) along the coordinates, for functions that are separable.

    Along one coordinate, STEP keeps the points evaluated so far in order and halves the interval
    that is easiest to improve on: the one whose ends can be joined by the least curved parabola
    that passes ε below the best value. When all intervals are more difficult than the most curved
    stretch seen allows, the best point is refined by parabolic interpolation and the line is done.

    A few evaluations at the start tell whether the function is a sum of functions of one
    coordinate each. Then all lines are searched side by side, one point of each per batch, and a
    sweep continues the lines of the sweep before. The point with the best coordinate of every line
    is evaluated whenever the lines have 8, 16, 32, … points, and at the end of a sweep. Otherwise
    the lines are searched in turn, each from the best point so far.

    Parameters
    ----------
    bounds, seed, budget, target, x0, history
        As for every optimizer (:class:`~uaos.Optimizer`). Runs start from the
        points of `x0` in turn; without them, the first starts from the center of the box and the
        others from the best point, or from uniform random points if coordinates interact.
    settings, points, sweeps, separable_only, restarts
        See :class:`CoordinateSettings`.

    Attributes
    ----------
    separable : bool
        Whether the run treats the function as a sum of functions of one coordinate each.
    history : History or None
        The course of the run, with the column `restarts`.

    Notes
    -----
    With the known points x_i of a line in order, f_best the best of their values and
    g_i = f(x_i) - f_best + ε, the difficulty of the interval [x_i, x_{i+1}] is
    ((√g_i + √g_{i+1}) / (x_{i+1} - x_i))², the quadratic coefficient of that parabola.

    References
    ----------
    Swarzberg, Seront & Bersini, "S.T.E.P.: The Easiest Way to Optimize a Function", IEEE
    Conference on Evolutionary Computation, 1994, pages 519-524.

    Examples
    --------
    >>> import uaos
    >>> from uaos.problems import rastrigin
    >>> result = uaos.minimize(rastrigin, [(-3, 6)] * 4, method="STEP", target=1e-8)
    >>> result.success
    True
    """

    name: ClassVar[str] = "STEP"
    settings_class: ClassVar[type[OptimizerSettings]] = CoordinateSettings
    reference: ClassVar[str] = bib.SWARZBERG_1994
    state_names: ClassVar[tuple[str, ...]] = (
        "_sweep", "_separable", "_lines", "_known_x",
        "_known_y", "_counts", "_line_state", "_forecast", "_index", "_at", "_mixing", "_swept_f",
        "_target",
    )  # fmt: skip

    settings: CoordinateSettings

    def _start(self) -> None:
        self._first, self._last = self.region.widest()  # the ends of lines
        self._separable = False
        super()._start()

    # A run

    def _next_start(self) -> FloatArray:
        from_x0 = self.x0 is not None and self._runs < len(self.x0)
        if self._separable and self.best_x is not None and not from_x0:
            # Every point is as good a start as any other; here rounding errors are smallest.
            return self.best_x.copy()
        return super()._next_start()

    def _begin_run(self) -> None:
        D = self.dimension
        self._swept_f = float("inf")
        self._sweep = 0
        self._separable = D == 1
        self._lines = np.zeros(0, np.int64)
        self._mixing = np.zeros((0, D), bool)
        self._known_x = np.zeros((D, 0))
        self._known_y = np.zeros((D, 0))
        self._counts = np.zeros(D, np.int64)
        self._line_state = np.zeros((D, 3), np.int64)
        self._forecast = np.full((D, 2), np.nan)
        self._index = np.full(D, -1, np.int64)
        self._at = np.zeros(D)
        self._target = self._x

    @property
    def doubt(self) -> str:  # noqa: D102 (see Optimizer)
        if self._separable:
            return ""
        return "no better point along the coordinates, which interact"

    @property
    def separable(self) -> bool:
        """True if the run treats the function as a sum of functions of one coordinate each."""
        return self._separable

    def _next_points(self) -> FloatArray:
        if self._phase == "start":
            return self._start_points()
        if self._phase in ("meet", "combine"):
            return np.array([self._target])
        lines = self._lines[self._index[self._lines] >= 0]
        points: FloatArray = np.repeat(self._x[None], len(lines), axis=0)
        points[np.arange(len(lines)), lines] = self._at[lines]
        return points

    def _learn(self, points: FloatArray, values: FloatArray) -> None:
        if self._phase == "start":
            self._learn_start(values)
        elif self._phase in ("meet", "combine"):
            self._learn_combined(points, values)
        else:
            self._learn_lines(values)
        self.record(restarts=self.restarts)

    # Separability

    def _start_points(self) -> FloatArray:
        """Return the starting point and its mixtures with another, which show interactions.

        The coordinates are split in two by each bit of their numbers, so that some split separates
        any two. If they do not interact, f(x) + f(z) = f(x mixed with z) + f(z mixed with x). The
        other point is near, as far away one coordinate may hide the interactions of the others.
        """
        D = self.dimension
        if D == 1:
            return np.array([self._x])
        bits = (D - 1).bit_length()
        number = self.rng.permutation(D)
        takes = ((number[None] >> np.arange(bits)[:, None]) & 1).astype(bool)
        self._mixing = np.concatenate([np.ones((1, D), bool), takes, ~takes])
        other = self.rng.uniform(*self.region.first())
        return np.concatenate([self._x[None], np.where(self._mixing, other, self._x)])

    def _learn_start(self, values: FloatArray) -> None:
        """Find out from the values of :meth:`_start_points` whether the function is separable."""
        if len(values) < 1 + len(self._mixing):  # cut by the budget: the run is over
            return
        self._f = float(values[0]) if np.isfinite(values[0]) else float("inf")
        if self.dimension > 1:
            with np.errstate(over="ignore", invalid="ignore"):
                self._separable = _is_additive(values)
        if self.settings.separable_only and not self._separable:
            self._ended = True
            return
        self._begin_sweep()

    # Lines

    def _points(self) -> int:
        growth = min(1 << min(self.restarts, 30), _MAX_GROWTH)
        return max(3, growth * self.settings.points >> (self.settings.sweeps - 1 - self._sweep))

    def _limit(self) -> float:
        return _CURVATURE * _CURVATURE_GROWTH ** min(self._sweep + self.restarts, 100)

    def _begin_sweep(self) -> None:
        self._swept_f = self._f
        size = self._points() + _MAX_REFINE * (self._sweep + 1) + 3
        shape = (self.dimension, size)
        old_x, old_y = self._known_x, self._known_y
        self._known_x, self._known_y = np.zeros(shape), np.zeros(shape)
        if self._separable:
            if self._sweep == 0:
                self._open(np.arange(self.dimension))
            else:
                self._known_x[:, : old_x.shape[1]] = old_x
                self._known_y[:, : old_y.shape[1]] = old_y
                self._line_state[:, _STATUS] = _SPLITTING
        else:
            self._open(np.zeros(1, np.int64))
        self._phase = "lines"
        self._advance()

    def _open(self, lines: IntArray) -> None:
        """Start to search the lines through the present point."""
        self._lines = lines
        self._counts[lines] = 1
        self._known_x[lines, 0] = self._x[lines]
        self._known_y[lines, 0] = self._f
        self._line_state[lines] = 0

    def _advance(self) -> None:
        """Choose the next points, moving on to the next line or sweep if necessary."""
        while True:
            chosen = _choose_all(
                self._lines, self._known_x, self._known_y, self._counts, self._first, self._last,
                self._line_state, self._forecast, self._points(), self._limit(), self._index,
                self._at,
            )  # fmt: skip
            if chosen:
                return
            if len(self._lines) > 1:
                if not self._meet("combine"):
                    self._end_sweep()
                return
            self._take_line(int(self._lines[0]))
            if self._separable or self._lines[0] == self.dimension - 1:
                self._end_sweep()
                return
            self._open(self._lines + 1)

    def _take_line(self, line: int) -> None:
        best = int(np.argmin(self._known_y[line, : self._counts[line]]))
        self._x = self._x.copy()
        self._x[line] = self._known_x[line, best]
        self._f = float(self._known_y[line, best])

    def _learn_lines(self, values: FloatArray) -> None:
        if len(values) < np.count_nonzero(self._index[self._lines] >= 0):
            return
        _insert_all(
            self._lines, self._known_x, self._known_y, self._counts, self._line_state,
            self._forecast, self._index, self._at, values,
        )  # fmt: skip
        most = int(self._counts[self._lines].max())
        doubled = most >= _MIN_POINTS and most & (most - 1) == 0
        if len(self._lines) > 1 and doubled and self._meet("meet"):
            return
        self._advance()

    def _meet(self, phase: str) -> bool:
        """Evaluate the best coordinates of all lines next, unless that is the present point."""
        self._target = self._combined()
        if np.array_equal(self._target, self._x):
            return False
        self._phase = phase
        return True

    def _combined(self) -> FloatArray:
        """Return the best coordinate of each line."""
        point: FloatArray = self._x.copy()
        for line in self._lines:
            best = int(np.argmin(self._known_y[line, : self._counts[line]]))
            point[line] = self._known_x[line, best]
        return point

    def _learn_combined(self, points: FloatArray, values: FloatArray) -> None:
        if len(values) == 0:
            return
        if values[0] < self._f:
            self._x, self._f = points[0].copy(), float(values[0])
            for line in self._lines:  # they now pass through this point
                values_on_line = self._known_y[line, : self._counts[line]]
                values_on_line += self._f - values_on_line.min()
        if self._phase == "combine":
            self._end_sweep()
        else:
            self._phase = "lines"
            self._advance()

    def _end_sweep(self) -> None:
        self._sweep += 1
        stuck = not self._separable and not self._f < self._swept_f
        if self._sweep >= self.settings.sweeps or stuck:
            self._ended = True
            if self._separable:
                self._settle(self._f)
        else:
            self._begin_sweep()


def _is_additive(values: FloatArray) -> bool:
    """Return whether f(x), f(z) and the values of the mixtures show no interaction."""
    splits = (len(values) - 2) // 2
    mixed = values[2 : 2 + splits] + values[2 + splits :]
    effect = np.max(np.abs(values - values[0]))
    rounding = 32 * _EPSILON * np.max(np.abs(values))
    interaction = np.abs(mixed - (values[0] + values[1]))
    # False if there are failures, which are NaN.
    return bool((interaction <= _INTERACTION * effect + rounding).all())
