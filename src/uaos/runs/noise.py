"""Noise: whether a function returns different values at one point, and which point is best then.

A run with a :class:`NoiseMeter` evaluates a few points again. Where the values differ, the search
is told how much, a part of the budget is set aside, and the run ends with the point that is best
on average, an estimate of its value and the standard error of this estimate.

===============  ================================================================================
class            what it does
===============  ================================================================================
`NoiseMeter`     decides what is evaluated again, and keeps the estimates of the candidates
`PointEstimate`  is the mean of the values at one candidate
`Confirmation`   confirms values where single ones are wrong; see `outliers`
`ExactValues`    takes values as they are, with ``noise=False``
`Noise`          is what the optimizer knows of the noise; see `uaos.optimizers.base`
`Spending`       counts the evaluations that this takes from the search; see there, too
===============  ================================================================================
"""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from uaos.arrays import FloatArray
from uaos.errors import InvalidParameter, shortened
from uaos.optimizers.base import Optimizer
from uaos.result import Ending, Result, Status
from uaos.runs.outliers import (
    LEAST_COST,
    ROUNDING,
    Confirmation,
    Evaluate,
    agree,
    agreed_value,
    step_between,
)
from uaos.statefile import SavedState, State

#: The largest share of the evaluations for detection; runs too short for one check are not checked.
DETECTION = 0.01
#: Rounding of a sum of many terms, as a share of what values were.
RESOLUTION = 1e-13
#: A best point is checked, too, when it has been the best for this share of the evaluations, and
#: for this many per dimension: lucky points stay the best for long.
STANDING, LEAST_STANDING = 0.25, 3
#: Noise takes few values if more than this many of the latest values equal the value on which the
#: evaluations of a point agree, and some equal one that is off; or if values are multiples of a
#: step, and those off are this many steps away or fewer.
COMMON = 2
FEW_STEPS = 100
#: Repeats that measure noise once a value differs, and the fewest of each candidate later on.
FIRST_REPEATS, LATER_REPEATS = 5, 2
#: The latest values for the interquartile range: at least and at most this many, or those of this
#: many gradients by differences, D + 1 each. The spread of one gradient's values is that of its
#: steps, which are as short as the noise allows, and says nothing of how the search gets on.
LEAST_RECENT, RECENT, RECENT_GRADIENTS = 4, 20, 3
#: The share of the budget for comparing candidates at the end, and the fewest and most evaluations.
RESERVE, LEAST_RESERVE, MOST_RESERVE = 0.1, 10, 400
#: Candidates are evaluated again when evaluations have grown by this factor and this number.
GROWTH, LEAST_GROWTH = 1.5, 100
#: While differences between points are real, the deviation is measured again when the interquartile
#: range has fallen by this factor, with this number of repeats, at intervals of at least this many
#: evaluations.
FALL, FALL_REPEATS, LEAST_APART = 4.0, 3, 8
#: Repeats of each candidate then, as a share of the evaluations so far, and at most.
FOLLOWING, MOST_REPEATS = 0.005, 10
#: The number of latest values of a point from which its noise is estimated.
LATEST = 10
#: The number of values that an estimate needs to reach a target.
RELIABLE = 4
#: The most candidates kept for the end, and the most that are confirmed where there are outliers.
MOST_CANDIDATES, MOST_CONFIRMED = 3, 6


class PointEstimate:
    """Mean of the values at a point, updated value by value (Welford's method).

    Equation
    --------
    n = n + 1,  d = f - m,  m = m + d / n,  S = S + d (f - m)
    standard error = t / 2 √(max(S, 2 h²) / (n - 1) / n),
    t = 2 + 5 / (2 ν) + 49 / (16 ν²) + 2.86 / ν³,  ν = n - 1

    A deviation that rests on few values is uncertain itself. With t, the quantile of Student's
    distribution with ν degrees of freedom (Cornish-Fisher expansion), the mean plus or minus two
    standard errors covers as much as two deviations of a normal distribution, 95 %.

    Values may be steps h apart, as in a game that is won or lost (h = 1), and 0 in general. All n
    may then be the same by chance. With 2 h², two standard errors are 3 h / n or more: three in n,
    the 95 % confidence bound of the share of values that differ.

    Parameters
    ----------
    x : ndarray, shape (D,)
        The point.

    Attributes
    ----------
    count, mean
        The number n of values, and their mean m.
    latest : list of float
        The last ten of them.

    Examples
    --------
    >>> import numpy as np
    >>> from uaos.runs.noise import PointEstimate
    >>> estimate = PointEstimate(np.zeros(2))
    >>> estimate.include([1.0, 2.0, 3.0])
    >>> estimate.mean, round(estimate.error(), 3), round(estimate.error(step=1.0), 3)
    (2.0, 1.262, 1.262)
    """

    def __init__(self, x: FloatArray) -> None:
        self.x = x
        self.count, self.mean, self._squares = 0, math.inf, 0.0
        self.latest: list[float] = []

    def include(self, values: Sequence[float] | FloatArray) -> None:
        """Include values of the point, except those that are not finite."""
        for value in map(float, values):  # whose products overflow without a warning
            if math.isfinite(value):
                self.count += 1
                before = value - (self.mean if self.count > 1 else 0.0)
                self.mean = before if self.count == 1 else self.mean + before / self.count
                self._squares += before * (value - self.mean) if self.count > 1 else 0.0
                self.latest = [*self.latest[1 - LATEST :], value]

    @property
    def deviation(self) -> float:
        """Standard deviation of the values; NaN if there are fewer than two."""
        return math.sqrt(self._squares / (self.count - 1)) if self.count > 1 else math.nan

    def error(self, step: float = 0.0) -> float:
        """Return the standard error of the mean; NaN if there are fewer than two values.

        Values are multiples of the step apart.
        """
        if self.count < 2:
            return math.nan
        freedom = self.count - 1
        widened = 1 + 1.25 / freedom + 49 / 32 / freedom**2 + 1.43 / freedom**3
        return widened * math.sqrt(max(self._squares, 2 * step**2) / freedom / self.count)

    def bound(self, deviation: float) -> float:
        """Return the mean plus its standard error, given the deviation of single values.

        Ranked by this bound, a point with two lucky values comes after one with many good values.
        """
        return self.mean + deviation / math.sqrt(self.count) if self.count else math.inf

    def state(self) -> State:
        """Return the estimate as plain values."""
        moments = {"count": self.count, "mean": self.mean, "squares": self._squares}
        return {"x": self.x, "latest": self.latest, **moments}

    @classmethod
    def from_state(cls, state: SavedState) -> "PointEstimate":
        """Return the estimate that :meth:`state` described."""
        estimate = cls(np.array(state["x"]))
        estimate.count, estimate.mean = state["count"], state["mean"]
        estimate._squares, estimate.latest = state["squares"], list(state["latest"])
        return estimate


def typical_deviation(estimates: Sequence[PointEstimate]) -> float:
    """Return the deviation of values at several points, robust to outliers.

    Equation
    --------
    s = 1.4826 median |f - med_i| √(n_i / (n_i - 1))

    over the latest values f at each point i, n_i of them with median med_i: the deviation if noise
    is normal, and small if only a few values are off. NaN if there are no two values at any point.
    """
    residuals = [
        np.abs(np.array(e.latest) - np.median(e.latest)) * math.sqrt(1 + 1 / (len(e.latest) - 1))
        for e in estimates
        if len(e.latest) > 1
    ]
    return float(1.4826 * np.median(np.concatenate(residuals))) if residuals else math.nan


class ExactValues:
    """Values taken as they are, as in a run that does not look for noise.

    Attributes
    ----------
    expected : bool
        Whether the function is known to be noisy.
    detected : bool
        Whether noise was noticed, or is expected and was measured.
    confirmation : Confirmation or None
        Confirms values, if the function has outliers.
    """

    def __init__(self, *, expected: bool = False) -> None:
        self.expected = expected
        self.detected = False
        self.confirmation: Confirmation | None = None

    @property
    def seen(self) -> bool:
        """True if the function has turned out to be noisy or to have outliers."""
        return self.detected or self.confirmation is not None

    def attach(self, optimizer: Optimizer, evaluate: Evaluate) -> None:
        """Set the optimizer of the run, and what evaluates points again."""
        self.optimizer, self.evaluate = optimizer, evaluate

    @property
    def due(self) -> bool:
        """True if points are to be evaluated again now."""
        return False

    def check(self) -> None:
        """Evaluate points again, if it is time to."""
        return

    def probe(self) -> FloatArray | None:
        """Return a point to evaluate again beside others, to detect noise; None if there is none.

        Its value is to be passed to :meth:`probed`.
        """
        return None

    def probed(self, value: float) -> None:
        """Compare the value of :meth:`probe` with the one before."""
        return

    def goes_on(self, ending: Ending) -> bool:
        """Return whether points are evaluated again after a run that ended so."""
        return False

    def heard(self, values: FloatArray) -> None:
        """Take note of values of the search that arrived one by one."""
        return

    def confirmed(self, points: FloatArray, values: FloatArray, *, plain: bool) -> FloatArray:
        """Return the values that count for a batch, given those measured.

        `plain` says that there are no constraints, gradients or residuals.
        """
        return values

    def concluded(self, result: Result, ending: Ending) -> tuple[Result, Ending]:
        """Return the result and the ending of the run, adjusted for noise."""
        return result, ending

    def estimated(self, result: Result) -> Result:
        """Return the result with the best estimate so far, without further evaluations."""
        return result

    def state(self) -> State:
        """Return everything that changes during the run."""
        return {}

    def restore(self, state: SavedState) -> None:
        """Continue from what :meth:`state` returned."""
        return


class NoiseMeter(ExactValues):
    """Meter that evaluates points again, to detect noise and find the point best on average.

    Detection: the best of the first points is evaluated again, and the best point so far whenever
    the evaluations have doubled or it has stood for a quarter of them. All of this takes at most
    1 % of the evaluations; in short runs, checks are further apart. If the values differ, the point
    is evaluated four more times, and the optimizer is told the deviation of the values and the
    interquartile range of the latest values of the search (:meth:`uaos.Optimizer.expect_noise`).

    If some of these values agree, and no others of the search do, the function is exact but for
    outliers. The search then starts over, and each of its values is confirmed
    (:class:`uaos.runs.outliers.Confirmation`).

    While the deviation is small compared to it, both are followed: noise often fades toward
    the optimum, and where it does not, it soon hides the differences. The best point is evaluated
    again three times whenever the range has fallen to a quarter.

    Once there is noise, 10 % of the budget is set aside. Candidates of the optimizer are evaluated
    again as the run goes on, and the best of them are compared at the end: each round divides its
    evaluations evenly, and the better half by mean plus standard error goes on. The last candidate
    is evaluated once more with what is left, about half of what was set aside. Its estimate rests
    on these values alone: those that it was chosen by are too low on average.

    Parameters
    ----------
    expected : bool
        Whether the function is known to be noisy.

    Attributes
    ----------
    expected, detected, confirmation
        As of :class:`ExactValues`.
    candidates : list of PointEstimate
        The best points so far that have been evaluated again.
    """

    def __init__(self, *, expected: bool = False) -> None:
        super().__init__(expected=expected)
        self.candidates: list[PointEstimate] = []
        self._plain = True  # whether outliers may be the only noise
        self._recent: FloatArray = np.zeros(0)
        self._resolution = 0.0  # the rounding of terms as large as values were
        self._other: tuple[FloatArray, float] | None = None  # a point near the best, worse
        self._step = math.inf  # values of points evaluated again are multiples of it apart
        self._next = 0.0  # evaluations at which points are evaluated again
        self._standing = (math.inf, 0.0)  # the best value, and the evaluations since
        self._measured = (0, math.inf)  # evaluations at the last measurement, and the spread then
        self._probe: PointEstimate | None = None  # the point that is evaluated beside others

    @property
    def due(self) -> bool:  # noqa: D102 (see ExactValues)
        optimizer = self.optimizer
        feasible = optimizer.best_x is not None and optimizer.best_violation == 0
        if not feasible or len(self._recent) < LEAST_RECENT or optimizer.exhausted:
            return False
        if self.confirmation is not None:
            return self.confirmation.fails
        if optimizer.evaluations >= self._next:
            return True
        if not self.detected:
            return self._stands()
        return not optimizer.noise.strong and self._has_fallen()

    def check(self) -> None:  # noqa: D102 (see ExactValues)
        if not self.due:
            return
        if self.confirmation is not None:
            self._stop_confirming()
        elif not self.detected:
            self._detect()
        elif self.optimizer.evaluations >= self._next:
            self._follow()
        else:
            self._measure(FALL_REPEATS)

    def probe(self) -> FloatArray | None:  # noqa: D102 (see ExactValues)
        x, known = self.optimizer.best_x, self.detected or self.expected
        if known or self._probe is not None or x is None or not self.due:
            return None
        remaining = self.optimizer.remaining
        if remaining is not None and remaining <= self.optimizer.points_out:
            return None
        self._plan_detection()
        if not self._may_check():
            return None
        self._probe = self._suspect(x)
        self.optimizer.spending.repeats += 1
        return x

    def probed(self, value: float) -> None:  # noqa: D102 (see ExactValues)
        estimate, self._probe = self._probe, None
        if estimate is not None:
            estimate.include([value])
            if self._is_noise(estimate.deviation, estimate.mean):
                self.expected, self._next = True, 0.0  # measure how much

    @property
    def spread(self) -> float:
        """Interquartile range of the latest values of the search."""
        low, high = np.percentile(self._recent, [25, 75])
        return float(high - low)

    def _has_fallen(self) -> bool:
        """Return whether the spread has become so much smaller that noise may hide differences."""
        before, spread = self._measured
        apart = self.optimizer.evaluations - before
        return apart >= LEAST_APART and self.spread < spread / FALL

    def _measure(self, repeats: int) -> None:
        """Evaluate the best point, or another one that tells more, again."""
        if self.optimizer.best_x is not None:
            estimate = self._suspect(self.optimizer.best_x)
            self._spend([estimate], repeats)
            if not self.detected and self._is_noise(estimate.deviation, estimate.mean):
                self._spend([estimate], FIRST_REPEATS - repeats)
            if self._has_outliers(estimate.latest):
                self._start_confirming()
            else:
                self._judge(estimate.deviation, estimate.mean)

    # Detection

    def _suspect(self, best: FloatArray) -> PointEstimate:
        """Return the point to evaluate again, with its value.

        It is the best one unless many points have its value, as in a game that is won or lost: a
        lucky value is likely to be found again there, but not the worse value of a point nearby.
        """
        x, value = best, self.optimizer.best_fitness
        if self._other is not None and int(agree(self._recent, value).sum()) > COMMON:
            x, value = self._other
        estimate = PointEstimate(x)
        estimate.include([value])
        return estimate

    def _stands(self) -> bool:
        """Return whether the best point has been the best for long, and was not checked."""
        value, since = self._standing
        n = self.optimizer.evaluations
        if value != self.optimizer.best_fitness:
            self._standing = self.optimizer.best_fitness, n
            return False
        return n - since >= max(STANDING * n, LEAST_STANDING * self.optimizer.dimension)

    def _detect(self) -> None:
        """Evaluate the best point again, and set evaluations aside if the values differ."""
        if self.expected:
            self._measure(FIRST_REPEATS)
        elif self._may_check():
            self._measure(1)
        self._plan_detection()
        if self.detected:
            self._next = self.optimizer.evaluations + LEAST_GROWTH
            if self.optimizer.remaining is not None:
                set_aside = min(self._reserve, self.optimizer.remaining // 2)
                self.optimizer.spending.reserved += set_aside

    def _plan_detection(self) -> None:
        """Set when the next check for noise is due, so that checks last for the budget."""
        n, budget = self.optimizer.evaluations, self.optimizer.budget
        factor = 2.0
        if budget is not None:
            left = max(0.0, DETECTION * budget - self.optimizer.spending.repeats)
            factor = max(factor, (budget / max(n, 1)) ** (1 / (1 + left)))
        self._next = factor * n
        self._standing = self.optimizer.best_fitness, math.inf

    def _may_check(self) -> bool:
        """Return whether another check keeps detection below its share of the evaluations."""
        budget, repeats = self.optimizer.budget, self.optimizer.spending.repeats
        if budget is None:
            return repeats <= DETECTION * self.optimizer.evaluations
        return repeats + 1 <= DETECTION * budget

    def _is_noise(self, deviation: float, value: float) -> bool:
        """Return whether values with this deviation, about this value, differ by noise.

        Otherwise they differ by rounding, of the value or of terms as large as values were.
        """
        least = ROUNDING * abs(value)
        if not self.detected:
            typical = float(np.median(np.abs(self._recent)))
            self._resolution = max(self._resolution, RESOLUTION * typical)
            least = max(least, self._resolution)
        return deviation > least

    def _judge(self, deviation: float, value: float) -> None:
        """Tell the optimizer of noise, given the deviation of values at a point, and their mean."""
        level = self.optimizer.noise.level
        if math.isfinite(deviation):
            level = deviation if self._is_noise(deviation, value) else 0.0
        self.detected = self.detected or self.expected or level > 0
        if self.detected:
            self._measured = (self.optimizer.evaluations, self.spread)
            self.optimizer.expect_noise(level, self.spread)

    # Outliers

    def _has_outliers(self, values: Sequence[float]) -> bool:
        """Return whether some values of a point agree and others do not.

        Where noise takes few values, such as those of a game that is won or lost, counts or rounded
        values, some agree by chance: other points have both the same value and those that do not
        agree, or these are few steps away.
        """
        if self.detected or not self._plain or "outliers" not in self.optimizer.handles:
            return False
        agreed = agreed_value(np.array(values))
        off = np.array(values)[~agree(np.array(values), agreed)]
        if not math.isfinite(agreed) or not len(off):
            return False
        step = step_between(np.concatenate([self._recent, values]))
        few = np.median(np.abs(off - agreed)) <= FEW_STEPS * step
        common = int(agree(self._recent, agreed).sum()) > COMMON
        return not few and not (common and any(agree(self._recent, x).sum() > 1 for x in off))

    def _start_confirming(self) -> None:
        """Confirm all values from here on, and start over with the best of the candidates."""
        self.confirmation = Confirmation()
        points = self.optimizer.candidates[: int(min(self._left, MOST_CONFIRMED))]
        first = self.evaluate(points)
        self.optimizer.spending.repeats += len(points)
        values = self._confirmed(self.confirmation, points, first, self._left)
        best = int(np.argmin(np.where(np.isnan(values), np.inf, values)))
        # Members must be able to take all points there may be.
        self.optimizer.spending.plan(LEAST_COST)
        self.optimizer.start_over(points[best], float(values[best]))

    def confirmed(  # noqa: D102 (see ExactValues)
        self, points: FloatArray, values: FloatArray, *, plain: bool
    ) -> FloatArray:
        self._plain &= plain
        if self.confirmation is not None:
            left = self._left - len(points)
            values = self._confirmed(self.confirmation, points, values, left)
        self._note_recent(values)
        if plain and not self.seen and self.optimizer.best_fitness in values:
            self._note_other(points, values)
        return values

    def heard(self, values: FloatArray) -> None:  # noqa: D102 (see ExactValues)
        self._plain = False  # they cannot be confirmed
        self._note_recent(values)

    def _note_other(self, points: FloatArray, values: FloatArray) -> None:
        """Keep the point nearest to the best one among those with worse values."""
        best = self.optimizer.best_x
        if best is None:
            return
        worse = np.isfinite(values) & (values > self.optimizer.best_fitness)
        known = points if self._other is None else np.vstack([points, self._other[0]])
        distances = np.max(np.abs(known / 2 - best / 2), axis=1)  # of halves, which are finite
        distances[: len(points)][~worse] = np.inf
        k = int(np.argmin(distances))
        if k < len(points) and worse[k]:
            self._other = points[k], float(values[k])

    def _note_recent(self, values: FloatArray) -> None:
        """Add values of the search to the latest ones."""
        finite = values[np.isfinite(values)]
        most = max(RECENT, RECENT_GRADIENTS * (self.optimizer.dimension + 1))
        self._recent = np.concatenate([self._recent, finite])[-most:]

    def _confirmed(
        self, confirmation: Confirmation, points: FloatArray, values: FloatArray, allowed: float
    ) -> FloatArray:
        """Return confirmed values of points, for at most this many evaluations."""
        before = confirmation.evaluations
        values = confirmation(points, values, allowed, self.evaluate)
        spending = self.optimizer.spending
        spending.repeats += confirmation.evaluations - before - len(points)
        spending.plan(confirmation.cost)
        return values

    def _stop_confirming(self) -> None:
        """Stop confirming values, and treat the function as noisy."""
        self.confirmation, self._plain, self.expected = None, False, True
        self.optimizer.spending.plan(cost=1.0)
        if self.optimizer.best_x is not None:
            self.optimizer.start_over(self.optimizer.best_x, self.optimizer.best_fitness)
        self._detect()

    # Candidates

    def _follow(self) -> None:
        """Evaluate the current candidate of each search and the best earlier one again."""
        optimizer = self.optimizer
        newest = [PointEstimate(x) for x in optimizer.candidates[: optimizer.rivals]]
        chosen = self.candidates[:1] + newest
        n = optimizer.evaluations
        each = min(max(LATER_REPEATS, int(FOLLOWING * n)), MOST_REPEATS)
        self._spend(chosen, each)
        self._keep(chosen)
        optimizer.credit(np.array([self._bound(estimate) for estimate in newest]))
        if optimizer.noise.strong:  # before, noise at earlier candidates may have been stronger
            self._judge(typical_deviation(chosen), chosen[-1].mean)
        self._note()
        self._next = max(GROWTH * n, n + LEAST_GROWTH)

    def _note(self) -> None:
        """Pass the best estimate to the optimizer and its history."""
        if self.candidates:
            optimizer, best = self.optimizer, self.candidates[0]
            if best.count >= RELIABLE:
                optimizer.noise.estimate = self._bound(best)
            if optimizer.history is not None:
                few = best.count <= LATEST  # too few for a deviation of their own
                level = optimizer.noise.level
                error = level / math.sqrt(best.count) if few else self._error(best)
                optimizer.history.note_estimate(optimizer.evaluations, best.mean, error)

    def _keep(self, estimates: Sequence[PointEstimate]) -> None:
        """Add estimates to the candidates, the best first, and drop the worst."""
        new = [e for e in estimates if e.count and e not in self.candidates]
        self.candidates = self._ranked([*self.candidates, *new])[:MOST_CANDIDATES]

    def _ranked(self, estimates: Sequence[PointEstimate]) -> list[PointEstimate]:
        """Return estimates in the order of their bounds."""
        return sorted(estimates, key=self._bound)

    def _bound(self, estimate: PointEstimate) -> float:
        return estimate.bound(self.optimizer.noise.level)

    def _spend(self, estimates: Sequence[PointEstimate], each: int) -> None:
        """Evaluate points again at the expense of the search, if it has evaluations left."""
        n = each * len(estimates)
        if n and (self.optimizer.remaining is None or n < self.optimizer.remaining):
            self._evaluate(estimates, each)

    def _evaluate(self, estimates: Sequence[PointEstimate], each: int) -> None:
        """Evaluate each point `each` times, all in one batch."""
        values = self.evaluate(np.repeat([estimate.x for estimate in estimates], each, axis=0))
        self.optimizer.spending.repeats += len(values)
        for estimate, repeats in zip(estimates, values.reshape(-1, each), strict=True):
            estimate.include(repeats)
        step = step_between(np.concatenate([self._recent, values[np.isfinite(values)]]))
        self._step = min(self._step, step or math.inf)

    def _error(self, estimate: PointEstimate) -> float:
        """Return the standard error of an estimate."""
        return estimate.error(self._step if math.isfinite(self._step) else 0.0)

    @property
    def _left(self) -> float:
        """Number of evaluations that the budget leaves."""
        budget = self.optimizer.budget
        return math.inf if budget is None else budget - self.optimizer.nfev

    @property
    def _reserve(self) -> int:
        """Number of evaluations for the end of a run."""
        share = int(RESERVE * (self.optimizer.budget or self.optimizer.evaluations))
        return min(max(share, LEAST_RESERVE), MOST_RESERVE)

    # The end

    def concluded(  # noqa: D102 (see ExactValues)
        self, result: Result, ending: Ending
    ) -> tuple[Result, Ending]:
        if self.confirmation is not None:
            return result, ending.with_outliers()
        if self.goes_on(ending):
            self._recommend()
            result = dataclasses.replace(result, nfev=self.optimizer.nfev)
        return self.estimated(result), ending

    def goes_on(self, ending: Ending) -> bool:  # noqa: D102 (see ExactValues)
        return self.detected and ending.status not in (Status.TIME, Status.CALLBACK)

    def estimated(self, result: Result) -> Result:  # noqa: D102 (see ExactValues)
        if not self.candidates:
            if not self.expected or self.confirmation is not None or not math.isfinite(result.fun):
                return result
            # There were too few evaluations to repeat one.
            return dataclasses.replace(result, fun_std=math.nan, fun_evaluations=1)
        best = self.candidates[0]
        return dataclasses.replace(
            result, x=best.x, fun=best.mean, fun_std=self._error(best), fun_evaluations=best.count
        )

    def _recommend(self) -> None:
        """Compare the candidates with the evaluations set aside, and keep the best on average."""
        left = int(min(self._reserve, self._left))
        rivals = [*self.candidates, *self._unknown()]
        final = (left + 1) // 2
        left -= final
        while len(rivals) > 1:
            rounds = math.ceil(math.log2(len(rivals)))
            each = left // rounds // len(rivals)
            if each:
                self._evaluate(rivals, each)
                left -= each * len(rivals)
            rivals = self._ranked(rivals)[: (len(rivals) + 1) // 2]
        if rivals and final:
            winner = PointEstimate(rivals[0].x)
            self._evaluate([winner], final + left)
            # The winner may have failed each time.
            estimated = [e for e in (winner, rivals[0], *self.candidates) if e.count]
            self.candidates = estimated[:1]
            self._note()

    def _unknown(self) -> list[PointEstimate]:
        """Return the optimizer's candidates that have no estimate yet."""
        estimated = [estimate.x for estimate in self.candidates]
        new: list[FloatArray] = []
        for x in self.optimizer.candidates:
            if not any(np.array_equal(x, other) for other in [*estimated, *new]):
                new.append(x)
        return [PointEstimate(x) for x in new]

    # Exact resume

    def state(self) -> State:  # noqa: D102 (see ExactValues)
        return {
            "expected": self.expected, "detected": self.detected,
            "candidates": [estimate.state() for estimate in self.candidates],
            "confirmation": None if self.confirmation is None else self.confirmation.state(),
            "plain": self._plain, "recent": self._recent, "next": self._next,
            "resolution": self._resolution, "step": self._step,
            "other": None if self._other is None else list(self._other),
            "measured": list(self._measured), "standing": list(self._standing),
        }  # fmt: skip

    def restore(self, state: SavedState) -> None:  # noqa: D102 (see ExactValues)
        if not state:  # of a run that took values as they are
            return
        self.expected, self.detected = state["expected"], state["detected"]
        self.candidates = [PointEstimate.from_state(saved) for saved in state["candidates"]]
        saved = state["confirmation"]
        self.confirmation = None if saved is None else Confirmation.from_state(saved)
        self._plain = state["plain"]
        self._recent, self._next = np.array(state["recent"]), state["next"]
        self._resolution, self._step = state["resolution"], state["step"]
        if state["other"] is not None:
            x, value = state["other"]
            self._other = np.array(x), value
        evaluations, spread = state["measured"]
        self._measured = (evaluations, spread)
        value, since = state["standing"]
        self._standing = (value, since)


def noise_meter(noise: object) -> ExactValues:
    """Return the meter for the argument `noise` of :func:`uaos.minimize`."""
    if isinstance(noise, bool | np.bool_):
        return NoiseMeter(expected=True) if noise else ExactValues()
    if isinstance(noise, str) and noise == "auto":
        return NoiseMeter()
    raise InvalidParameter(
        f'noise is {shortened(noise)}; expected True, False or "auto"', name="noise", value=noise
    )
