"""Polishing: a local search by SciPy, or by the user, from the best point of a run."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from uaos.arrays import FloatArray
from uaos.errors import InvalidFeedback, shortened
from uaos.extras import optional
from uaos.optimizers.base import Optimizer
from uaos.result import Result
from uaos.runs.evaluator import Evaluator

# Polishing stays this far inside the constraints, relative to the range of their values, as it
# meets them only up to rounding.
_INSIDE = 1e-11
# Under constraints, the end of the search is closer to the optimum than a point on its way that is
# better by at most this share of the value, because it lies closer to a constraint.
_NEAR = 1e-9


def polished(result: Result, evaluator: Evaluator, optimizer: Optimizer) -> Result:
    """Return the result after a local search from its point, if that found a better one."""
    assert result.x is not None
    scipy = optional("scipy.optimize", "polish=True")
    low, high = _polish_bounds(result.x, optimizer)
    settings: dict[str, Any] = {"method": "L-BFGS-B"}
    width, unit, rounds, near = np.ones(len(low)), 1.0, 1, 0.0
    if evaluator.constrained:
        # SLSQP expects numbers of the order of 1, and often stops short of the optimum.
        width, unit, rounds = np.where(low < high, high - low, 1.0), max(1.0, abs(result.fun)), 2
        near = _NEAR * unit
        settings = {"method": "SLSQP", "jac": "3-point", "options": {"ftol": 1e-14}}
        samples = np.random.default_rng(0).random((20, len(low)))
        ranges = np.ptp([evaluator.margins(low + u * (high - low)) for u in samples], axis=0)
        ranges = np.where(np.isfinite(ranges) & (ranges > 0), ranges, 1.0)
        margins = evaluator.margins
        settings["constraints"] = {
            "type": "ineq", "fun": lambda u: margins(point_of(u)) / ranges - _INSIDE,
        }  # fmt: skip
    best, origin = _BestSeen(result, evaluator), result.x

    def point_of(u: FloatArray) -> FloatArray:
        """Return the point inside the box; in huge boxes, SciPy's arithmetic overflows."""
        scaled = u * width
        return np.clip(np.where(np.isnan(scaled), origin, scaled), low, high)

    def fun(u: FloatArray) -> float:
        return best.value_at(point_of(u)) / unit

    scaled_bounds = list(zip(low / width, high / width, strict=True))
    end = start = result.x / width
    for _ in range(rounds):
        end = scipy.minimize(fun, end, bounds=scaled_bounds, **settings).x
    # A point that is just outside is drawn a little toward the start, which is inside.
    for back in (0.0, 1e-9, 1e-7, 1e-5):
        point = point_of(end + back * (start - end))
        value = best.value_at(point)
        if value < result.fun and evaluator.violation(point) == 0:
            if value - best.result.fun <= near:
                return dataclasses.replace(best.result, x=point, fun=value)
            break
    return best.result


class _BestSeen:
    """The best feasible point of a result and of the evaluations made since."""

    def __init__(self, result: Result, evaluator: Evaluator) -> None:
        self.result, self._evaluator = result, evaluator

    def value_at(self, point: FloatArray) -> float:
        """Evaluate a point, and keep it if it is the best one."""
        value = self._evaluator.objective(point)
        self.result = dataclasses.replace(self.result, nfev=self.result.nfev + 1)
        if not np.isfinite(value):  # a failed evaluation
            return float("inf")
        if value < self.result.fun and self._evaluator.violation(point) == 0:
            self.result = dataclasses.replace(self.result, x=point.copy(), fun=value)
        return value


def polished_by(
    polish: Callable[..., object], result: Result, evaluator: Evaluator, optimizer: Optimizer
) -> Result:
    """Return the result polished by the user's function, which is called as SciPy calls it."""
    assert result.x is not None
    scipy = optional("scipy.optimize", "a polishing function")
    space, best = evaluator.space, _BestSeen(result, evaluator)
    constraints = evaluator.problem.constraints

    low, high = _polish_bounds(result.x, optimizer)

    def fun(x: FloatArray) -> float:
        free = np.asarray(x, dtype=float)[space.free]
        if not (space.outside_allowed or _inside(free, low, high)):
            return float("inf")  # bounds are kept, whatever the function does
        return best.value_at(free)

    several = isinstance(constraints, Sequence)
    outcome = polish(
        fun, space.full(result.x), bounds=scipy.Bounds(space.full(low), space.full(high)),
        constraints=() if constraints is None else constraints if several else (constraints,),
    )  # fmt: skip
    if not hasattr(outcome, "x"):
        raise InvalidFeedback(
            f"the polishing function returned {shortened(outcome, 80)}; expected an object with "
            "`x`, such as scipy.optimize.OptimizeResult"
        )
    point = np.asarray(outcome.x, dtype=float)[space.free]
    value = best.value_at(point) if _inside(point, low, high) else np.inf
    if value < result.fun and evaluator.violation(point) == 0:
        # As in SciPy its answer counts, even if it has seen a slightly better point.
        jac = getattr(outcome, "jac", None)
        return dataclasses.replace(best.result, x=point, fun=value, jac=jac)
    return best.result


def _inside(point: FloatArray, low: FloatArray, high: FloatArray) -> bool:
    return bool(((low <= point) & (point <= high)).all())


def _polish_bounds(x: FloatArray, optimizer: Optimizer) -> tuple[FloatArray, FloatArray]:
    """Return the bounds within which to polish; integer coordinates are fixed."""
    low, high = optimizer.low.copy(), optimizer.high.copy()
    if optimizer.integers is not None:
        low[optimizer.integers] = high[optimizer.integers] = x[optimizer.integers]
    return low, high
