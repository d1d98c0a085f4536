"""Noise: whether a function returns different values at one point, and which point is best then.

A run with a :class:`NoiseMeter` evaluates a few points again. Where the values differ, the search
is told how much, a part of the budget is set aside, and the run ends with the point that is best
on average, an estimate of its value and the standard error of this estimate.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from uaos.arrays import FloatArray
from uaos.errors import InvalidParameter, shortened
from uaos.optimizers.base import Optimizer
from uaos.statefile import SavedState, State

#: The largest share of the evaluations for detection, and the most repeats of its first check.
DETECTION, FIRST_REPEATS = 0.01, 5
#: Repeats of each later check for noise.
LATER_REPEATS = 2
#: Values of one point that differ by less than this share are equal up to rounding.
ROUNDING = 1e-12
#: The most and the fewest latest values for the interquartile range.
RECENT, LEAST_RECENT = 20, 4
#: The share of the budget for comparing candidates at the end, and the fewest and most evaluations.
RESERVE, LEAST_RESERVE, MOST_RESERVE = 0.05, 10, 400
#: Candidates are evaluated again when the evaluations have grown by this factor, and by so many.
GROWTH, LEAST_GROWTH = 1.5, 100
#: While differences between points are real, the deviation is measured again when the interquartile
#: range has fallen by this factor, with so many repeats, and at least so many evaluations apart.
FALL, FALL_REPEATS, LEAST_APART = 4.0, 3, 8
#: Repeats of each candidate then, as a share of the evaluations so far, and at most.
FOLLOWING, MOST_REPEATS = 0.005, 10
#: The number of latest values of a point from which its noise is estimated.
LATEST = 10
#: The number of values that an estimate needs to reach a target.
RELIABLE = 4
#: The most candidates kept for the end.
MOST_CANDIDATES = 3

#: Evaluates points, and returns NaN where one is infeasible.
Evaluate = Callable[[FloatArray], FloatArray]


class PointEstimate:
    """Mean of the values at a point, updated value by value (Welford's method).

    Equation
    --------
    n = n + 1,  d = f - m,  m = m + d / n,  S = S + d (f - m)
    standard error = t / 2 √(S / (n - 1) / n),
    t = 2 + 5 / (2 ν) + 49 / (16 ν²) + 2.86 / ν³,  ν = n - 1

    A deviation that rests on few values is uncertain itself. With t, the quantile of Student's
    distribution with ν degrees of freedom (Cornish-Fisher expansion), the mean plus or minus two
    standard errors covers as much as two deviations of a normal distribution, 95 %.

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
    >>> estimate.mean, round(estimate.error, 3)
    (2.0, 1.262)
    """

    def __init__(self, x: FloatArray) -> None:
        self.x = x
        self.count, self.mean, self._squares = 0, math.inf, 0.0
        self.latest: list[float] = []

    def include(self, values: Sequence[float] | FloatArray) -> None:
        """Include values of the point, except those that are not finite."""
        for value in values:
            if math.isfinite(value):
                self.count += 1
                before = value - (self.mean if self.count > 1 else 0.0)
                self.mean = before if self.count == 1 else self.mean + before / self.count
                self._squares += before * (value - self.mean) if self.count > 1 else 0.0
                self.latest = [*self.latest[1 - LATEST :], float(value)]

    @property
    def deviation(self) -> float:
        """Standard deviation of the values; NaN if there are fewer than two."""
        return math.sqrt(self._squares / (self.count - 1)) if self.count > 1 else math.nan

    @property
    def error(self) -> float:
        """Standard error of the mean; NaN if there are fewer than two values."""
        if self.count < 2:
            return math.nan
        freedom = self.count - 1
        widened = 1 + 1.25 / freedom + 49 / 32 / freedom**2 + 1.43 / freedom**3
        return widened * self.deviation / math.sqrt(self.count)

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


class NoiseMeter:
    """Meter that evaluates points again, to detect noise and find the point best on average.

    Detection: the best of the first points is evaluated again up to five times, then the best point
    so far twice whenever the evaluations have doubled. All of this takes at most 1 % of the
    evaluations. The optimizer is told the deviation of the values at that point and the
    interquartile range of the latest values of the search (:meth:`uaos.Optimizer.expect_noise`).

    While the deviation is small against this range, both are followed: noise often fades towards
    the optimum, and where it does not, it soon hides the differences. The best point is evaluated
    again three times whenever the range has fallen to a quarter.

    Once there is noise, 5 % of the budget is set aside. Candidates of the optimizer are evaluated
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
    detected : bool
        Whether noise was noticed, or is expected and was measured.
    level : float
        The deviation s; 0 as long as no noise was seen.
    """

    def __init__(self, *, expected: bool = False) -> None:
        self.expected = expected
        self.level = 0.0
        self.detected = False
        self.candidates: list[PointEstimate] = []
        self._recent: FloatArray = np.zeros(0)
        self._next = 0.0  # evaluations at which points are evaluated again
        self._measured = (0, math.inf)  # evaluations at the last measurement, and the spread then

    def observe(self, values: FloatArray) -> None:
        """Record the values of a batch."""
        finite = values[np.isfinite(values)]
        self._recent = np.concatenate([self._recent, finite])[-RECENT:]

    def check(self, optimizer: Optimizer, evaluate: Evaluate) -> None:
        """Evaluate points again, if it is time to."""
        known = optimizer.best_x is not None and optimizer.best_violation == 0
        if not known or len(self._recent) < LEAST_RECENT or optimizer.exhausted:
            return
        if optimizer.evaluations >= self._next:
            if self.detected:
                self._follow(optimizer, evaluate)
            else:
                self._detect(optimizer, evaluate)
        elif self.detected and not optimizer.noisy and self._has_fallen(optimizer.evaluations):
            self._measure(optimizer, FALL_REPEATS, evaluate)

    @property
    def spread(self) -> float:
        """Interquartile range of the latest values of the search."""
        low, high = np.percentile(self._recent, [25, 75])
        return float(high - low)

    def _has_fallen(self, evaluations: int) -> bool:
        """Return whether the spread has become so much smaller that noise may hide differences."""
        before, spread = self._measured
        return evaluations >= before + LEAST_APART and self.spread < spread / FALL

    def _measure(self, optimizer: Optimizer, repeats: int, evaluate: Evaluate) -> None:
        """Evaluate the best point again."""
        if optimizer.best_x is not None:
            estimate = PointEstimate(optimizer.best_x)
            estimate.include([optimizer.best_fitness])
            self._spend(optimizer, [estimate], repeats, evaluate)
            self._judge(optimizer, estimate.deviation, abs(estimate.mean))

    # Detection

    def _detect(self, optimizer: Optimizer, evaluate: Evaluate) -> None:
        """Evaluate the best point again, and set evaluations aside if the values differ."""
        repeats = self._detection_repeats(optimizer)
        if repeats > 0:
            self._measure(optimizer, repeats, evaluate)
        self._next = max(2 * optimizer.evaluations, (optimizer.repeats + LATER_REPEATS) / DETECTION)
        if self.detected:
            self._next = optimizer.evaluations + LEAST_GROWTH
            if optimizer.remaining is not None:
                optimizer.reserved += min(_reserve(optimizer), optimizer.remaining // 2)

    def _detection_repeats(self, optimizer: Optimizer) -> int:
        """Return the number of repeats: fewer in a short run, unless noise is expected."""
        if optimizer.repeats > 0:
            return LATER_REPEATS
        if self.expected or optimizer.budget is None:
            return FIRST_REPEATS
        return min(FIRST_REPEATS, int(DETECTION * optimizer.budget / 2))

    def _judge(self, optimizer: Optimizer, deviation: float, size: float) -> None:
        """Tell the optimizer of noise, given the deviation and the size of values at a point."""
        if math.isfinite(deviation):
            self.level = deviation if deviation > ROUNDING * size else 0.0
        self.detected = self.detected or self.expected or self.level > 0
        if self.detected:
            self._measured = (optimizer.evaluations, self.spread)
            optimizer.expect_noise(self.level, self.spread)

    # Candidates

    def _follow(self, optimizer: Optimizer, evaluate: Evaluate) -> None:
        """Evaluate the current candidate of each search and the best earlier one again."""
        newest = [PointEstimate(x) for x in optimizer.candidates[: optimizer.rivals]]
        chosen = self.candidates[:1] + newest
        n = optimizer.evaluations
        each = min(max(LATER_REPEATS, int(FOLLOWING * n)), MOST_REPEATS)
        self._spend(optimizer, chosen, each, evaluate)
        self._keep(chosen)
        optimizer.credit(np.array([estimate.bound(self.level) for estimate in newest]))
        self._judge(optimizer, typical_deviation(chosen), abs(chosen[-1].mean))
        self._note(optimizer)
        self._next = max(GROWTH * n, n + LEAST_GROWTH)

    def _note(self, optimizer: Optimizer) -> None:
        """Pass the best estimate to the optimizer and its history."""
        if self.candidates:
            best = self.candidates[0]
            if best.count >= RELIABLE:
                optimizer.estimate = best.bound(self.level)
            if optimizer.history is not None:
                error = self.level / math.sqrt(best.count)
                optimizer.history.note_estimate(optimizer.evaluations, best.mean, error)

    def _keep(self, estimates: Sequence[PointEstimate]) -> None:
        """Add estimates to the candidates, the best first, and drop the worst."""
        new = [e for e in estimates if e.count and e not in self.candidates]
        self.candidates = self._ranked([*self.candidates, *new])[:MOST_CANDIDATES]

    def _ranked(self, estimates: Sequence[PointEstimate]) -> list[PointEstimate]:
        """Return estimates in the order of their bounds."""
        return sorted(estimates, key=lambda estimate: estimate.bound(self.level))

    def _spend(
        self,
        optimizer: Optimizer,
        estimates: Sequence[PointEstimate],
        each: int,
        evaluate: Evaluate,
    ) -> None:
        """Evaluate points again at the expense of the search, if it has evaluations left."""
        n = each * len(estimates)
        if n and (optimizer.remaining is None or n < optimizer.remaining):
            _evaluate(optimizer, estimates, each, evaluate)

    # The end

    def best_known(self) -> PointEstimate | None:
        """Return the best candidate so far, without further evaluations."""
        return self.candidates[0] if self.candidates else None

    def recommend(self, optimizer: Optimizer, evaluate: Evaluate) -> PointEstimate | None:
        """Compare the candidates with the evaluations set aside, and return the best on average.

        Returns
        -------
        PointEstimate or None
            The point with an estimate from new evaluations; None if there is none.
        """
        left = _reserve(optimizer)
        if optimizer.budget is not None:
            left = min(left, optimizer.budget - optimizer.nfev)
        rivals = [*self.candidates, *self._unknown(optimizer)]
        final = (left + 1) // 2
        left -= final
        while len(rivals) > 1:
            rounds = math.ceil(math.log2(len(rivals)))
            each = left // rounds // len(rivals)
            if each:
                _evaluate(optimizer, rivals, each, evaluate)
                left -= each * len(rivals)
            rivals = self._ranked(rivals)[: (len(rivals) + 1) // 2]
        if not rivals or not final:
            return self.best_known()
        winner = PointEstimate(rivals[0].x)
        _evaluate(optimizer, [winner], final + left, evaluate)
        if not winner.count:  # it failed each time
            return next((e for e in (rivals[0], *self.candidates) if e.count), None)
        self.candidates = [winner]
        self._note(optimizer)
        return winner

    def _unknown(self, optimizer: Optimizer) -> list[PointEstimate]:
        """Return the optimizer's candidates that have no estimate yet."""
        known = [estimate.x for estimate in self.candidates]
        new: list[FloatArray] = []
        for x in optimizer.candidates:
            if not any(np.array_equal(x, other) for other in [*known, *new]):
                new.append(x)
        return [PointEstimate(x) for x in new]

    # Exact resume

    def state(self) -> State:
        """Return everything that changes during the run."""
        return {
            "level": self.level, "detected": self.detected,
            "candidates": [estimate.state() for estimate in self.candidates],
            "recent": self._recent, "next": self._next, "measured": list(self._measured),
        }  # fmt: skip

    def restore(self, state: SavedState) -> None:
        """Continue from what :meth:`state` returned."""
        self.level, self.detected = state["level"], state["detected"]
        self.candidates = [PointEstimate.from_state(saved) for saved in state["candidates"]]
        self._recent, self._next = np.array(state["recent"]), state["next"]
        evaluations, spread = state["measured"]
        self._measured = (evaluations, spread)


def _evaluate(
    optimizer: Optimizer, estimates: Sequence[PointEstimate], each: int, evaluate: Evaluate
) -> None:
    """Evaluate each point `each` times, all in one batch."""
    values = evaluate(np.repeat([estimate.x for estimate in estimates], each, axis=0))
    optimizer.repeats += len(values)
    for estimate, repeats in zip(estimates, values.reshape(-1, each), strict=True):
        estimate.include(repeats)


def _reserve(optimizer: Optimizer) -> int:
    """Return the number of evaluations for the end of a run."""
    share = int(RESERVE * (optimizer.budget or optimizer.evaluations))
    return min(max(share, LEAST_RESERVE), MOST_RESERVE)


def noise_meter(noise: object) -> NoiseMeter | None:
    """Return the meter for the argument `noise` of :func:`uaos.minimize`; None for False."""
    if isinstance(noise, bool | np.bool_):
        return NoiseMeter(expected=True) if noise else None
    if isinstance(noise, str) and noise == "auto":
        return NoiseMeter()
    raise InvalidParameter(
        f'noise is {shortened(noise)}; expected True, False or "auto"', name="noise", value=noise
    )
