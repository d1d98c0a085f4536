"""Evaluating a batch: the constraints first, then the objective where it counts."""

import math
import warnings
from collections.abc import Callable
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from uaos.arrays import FloatArray, detached
from uaos.errors import InvalidFeedback, InvalidParameter, shortened
from uaos.optimizers.base.details import Details
from uaos.problems.constraints import Constraints
from uaos.problems.derivatives import checked_gradients
from uaos.problems.problem import Problem
from uaos.problems.space import MOST_POINTS
from uaos.runs.callers import (
    AllAtOnce,
    Caller,
    CallsInterrupted,
    Workers,
    caller,
    over_batch,
    worker_count,
)
from uaos.runs.memory import PointMemory
from uaos.statefile import SavedState, State


class EvaluationInterrupted(KeyboardInterrupt):
    """Ctrl-C came, or the executor broke, while a batch was evaluated.

    Parameters
    ----------
    ready : list of (int, float)
        The rows of feasible points with a value, and the values.
    """

    def __init__(self, ready: list[tuple[int, float]]) -> None:
        super().__init__("interrupted")
        self.ready = ready


class PointOutcome(NamedTuple):
    """Outcome of the evaluation of one point."""

    number: int
    value: float
    violation: float | None = None  # None without constraints
    details: Details | None = None


@dataclass
class PointTask:
    """One point to evaluate.

    Parameters
    ----------
    full : ndarray, shape (1, D)
        The point with all coordinates.
    argument : ndarray or None
        The argument of what workers call; None if there is nothing to call.
    value : float or None
        The value of the point, if it is known.
    """

    full: FloatArray
    argument: FloatArray | None
    value: float | None = None


class Evaluator:
    """Turns batches of points into values and violations; the only caller of users' functions.

    Points are those of the free coordinates. The user's functions get copies with all coordinates.
    A context manager, as it may own worker processes.

    Parameters
    ----------
    problem : Problem
        What to evaluate.
    workers : int, Executor, Client or map-like callable
        The workers that evaluate a batch in parallel.
    on_error : {"raise", "fail"}
        Whether an exception of a function ends the run, or counts as a failed evaluation.
    strict : bool
        Whether None is an error; otherwise it counts as a failed evaluation, with a warning.
    record : bool
        Whether `memory` keeps all points that are evaluated.
    remember : bool
        Whether `memory` recalls what was evaluated, in a space with few points.

    Attributes
    ----------
    memory : PointMemory
        The values that are known: the function is not called at these points.

    Examples
    --------
    >>> import numpy as np
    >>> import uaos
    >>> from uaos.problems import sphere
    >>> from uaos.runs.evaluator import Evaluator
    >>> with Evaluator(uaos.Problem(sphere, [(-5, 5), (1, 1)])) as evaluator:
    ...     values, violations, _ = evaluator(np.array([[2.0], [3.0]]))
    >>> values.tolist(), violations
    ([5.0, 10.0], None)
    """

    def __init__(
        self,
        problem: Problem,
        *,
        workers: Workers = 1,
        on_error: str = "raise",
        strict: bool = False,
        record: bool = False,
        remember: bool = False,
    ) -> None:
        if not (isinstance(on_error, str) and on_error in ("raise", "fail")):
            raise InvalidParameter(
                f'on_error is {shortened(on_error)}; expected "raise" or "fail"',
                name="on_error",
                value=on_error,
            )
        self.problem, self.space = problem, problem.space
        small = problem.space.size <= MOST_POINTS
        self.memory = PointMemory(record=record, remember=remember and small)
        # A known value does not say what the residuals are.
        self._recalls = type(problem).residuals is Problem.residuals
        self._out: dict[int, PointTask] = {}  # points that are being evaluated one by one
        self._ready: list[int] = []  # those that need no call
        tolerate = on_error == "fail"
        self._strict = self._checked_none = strict
        self._tolerate = tolerate
        self._residuals: FloatArray | None = None  # of the last batch
        self._residual_count: int | None = None
        #: Gradients evaluated so far.
        self.gradient_evaluations = 0
        self._objective = _objective_caller(problem, workers, tolerate)
        self._constraints = Constraints(
            problem.constraints, vectorized=problem.vectorized, tolerate=tolerate
        )
        self.constrained = bool(self._constraints.each)
        self._workers = workers
        self._single: Caller | None = None  # calls all functions at single points
        self._constraint_workers: Caller | None = None
        if self.constrained and worker_count(workers) != 1:
            at_point = partial(_at_point, self._constraints.values)
            self._constraint_workers = caller(at_point, workers)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for each in (self._objective, self._constraint_workers, self._single):
            if each is not None:
                each.close()

    def __call__(
        self, points: FloatArray, epsilon: float = 0.0, gradients: bool = False
    ) -> tuple[FloatArray, FloatArray | None, Details | None]:
        """Return the values of points and, under constraints, their violations and details.

        Parameters
        ----------
        points : ndarray, shape (n, d)
            The free coordinates.
        epsilon : float
            How large a violation may be for the optimizer to need the value; the values of other
            points are NaN. With inf, the function is called wherever the constraints are defined;
            where they are violated, its exceptions count as failed evaluations.
        gradients : bool
            Whether the optimizer can use gradients; they are evaluated if the problem has them.

        Raises
        ------
        EvaluationInterrupted
            On Ctrl-C, or if the user's executor breaks.
        """
        full = self.space.full(points)
        try:
            values, violations, details = self._evaluate(full, epsilon, gradients)
        except EvaluationInterrupted as interrupt:
            rows = [row for row, _ in interrupt.ready]
            self.memory.interrupt(full[rows], np.array([value for _, value in interrupt.ready]))
            raise
        except Exception:
            self.memory.interrupt(full[:0], np.zeros(0))
            raise
        self.memory.record(full, values, violations)
        return values, violations, details

    def _evaluate(
        self, full: FloatArray, epsilon: float, gradients: bool
    ) -> tuple[FloatArray, FloatArray | None, Details | None]:
        if not self.constrained:
            values = self._values(full)
            slopes = self._gradients(full, values) if gradients else None
            if slopes is None and self._residuals is None:
                return values, None, None
            return values, None, Details(gradients=slopes, residuals=self._residuals)
        constraints = self._constraint_values(full)
        if constraints is None:
            return np.full(len(full), np.nan), np.full(len(full), np.inf), None
        violations = self._constraints.violations(constraints)
        inequalities, equalities = self._constraints.parts(constraints)
        values = self._values_where_needed(full, violations, epsilon)
        slopes = self._gradients(full, values) if gradients else None
        # Without the objective's gradient, differences are necessary in any case.
        jacobian = None if slopes is None else self._constraints.slopes(full[0])
        if jacobian is not None:
            jacobian = jacobian[:, self.space.free]
        return values, violations, Details(inequalities, equalities, slopes, jacobian=jacobian)

    def _gradients(self, full: FloatArray, values: FloatArray) -> FloatArray | None:
        """Return the gradients by the free coordinates, NaN where there is no value."""
        jac = self.problem.jac
        if jac is None:
            return None
        rows = np.flatnonzero(np.isfinite(values))
        slopes = np.full(full.shape, np.nan)
        if len(rows):
            copies = full[rows].copy()
            try:
                returned = (
                    jac(copies) if self.problem.vectorized else [detached(jac(x)) for x in copies]
                )
            except Exception:
                if not self._tolerate:
                    raise
                returned = np.full(copies.shape, np.nan)
            slopes[rows] = checked_gradients(returned, len(rows), full.shape[1])
            self.gradient_evaluations += len(rows)
        return slopes[:, self.space.free]

    def _values_where_needed(
        self, full: FloatArray, violations: FloatArray, epsilon: float
    ) -> FloatArray:
        """Return the values of points that violate constraints by at most `epsilon`, else NaN."""
        # Equality constraints are rarely met exactly: evaluate points that almost meet them.
        tolerance = epsilon if self._constraints.narrow and epsilon < np.inf else 0.0
        rows = np.flatnonzero(violations <= tolerance)
        values = np.full(len(full), np.nan)
        if len(rows):
            try:
                values[rows] = self._values(full[rows])
            except EvaluationInterrupted as interrupt:
                ready = [(int(rows[k]), value) for k, value in interrupt.ready]
                raise EvaluationInterrupted(
                    [(row, value) for row, value in ready if violations[row] == 0]
                ) from None
        outside = np.flatnonzero((violations > tolerance) & (violations < np.inf))
        if epsilon == np.inf and len(outside):
            ready = [(int(row), float(values[row])) for row in rows]
            try:
                values[outside] = self._values_outside(full[outside])
            except EvaluationInterrupted:
                raise EvaluationInterrupted(ready) from None
        return values

    def _values_outside(self, full: FloatArray) -> FloatArray:
        """Return the values of infeasible points, NaN where the function raises an exception."""
        try:
            return self._values(full)
        except Exception:
            if len(full) == 1:
                return np.array([np.nan])
            return np.concatenate([self._values_outside(x[None]) for x in full])

    @property
    def broken(self) -> BrokenExecutor | None:
        """Exception of the user's executor, if it takes no more calls."""
        callers = (self._objective, self._constraint_workers, self._single)
        return next((each.broken for each in callers if each and each.broken), None)

    @property
    def workers(self) -> int:
        """Number of points that can be evaluated at a time."""
        return self._objective.workers

    def submit(
        self, number: int, point: FloatArray, epsilon: float = 0.0, gradient: bool = False
    ) -> None:
        """Begin the evaluation of one point, of at most `workers` at a time.

        Parameters
        ----------
        number : int
            A number by which :meth:`collect` returns the point.
        point : ndarray, shape (d,)
            The free coordinates.
        epsilon : float
            As for a batch.
        gradient : bool
            Whether the optimizer can use the gradient.
        """
        task = self._out[number] = self.task(point, epsilon, gradient)
        if task.argument is None:
            self._ready.append(number)
        else:
            self._point_caller.submit(number, task.argument)

    def collect(self) -> list[PointOutcome]:
        """Wait for evaluations to end; return their outcomes."""
        if self._ready:
            ended: list[tuple[int, object]] = [(number, np.nan) for number in self._ready]
            self._ready = []
        else:
            try:
                ended = self._point_caller.collect()
            except Exception as error:
                number = self._point_caller.failed_row
                if number is not None and self._only_fun:  # otherwise another one may have failed
                    self._note_point(error, self._out[number].full[0])
                raise
        return [self.outcome(number, self._out.pop(number), returned) for number, returned in ended]

    def task(self, point: FloatArray, epsilon: float, gradient: bool) -> PointTask:
        """Return the evaluation that one point needs."""
        full = self.space.full(point[None])
        recalled = self.memory.recall(full) if self._recalls else None
        value = None
        if recalled is not None:
            self.memory.record(full, recalled)  # which leaves out what was recalled
            value = float(recalled[0])
        if self._only_fun:
            return PointTask(full, full[0].copy() if value is None else None, value)
        if self.constrained and not self._constraints.measure(full):
            return PointTask(full, None, value)
        limit = epsilon if epsilon == np.inf or self._constraints.narrow else 0.0
        scale = np.ones(1) if self._constraints.scale is None else self._constraints.scale
        wanted = [-np.inf if value is not None else limit, float(gradient)]
        return PointTask(full, np.concatenate([full[0], wanted, scale]), value)

    def outcome(self, number: int, task: PointTask, returned: object) -> PointOutcome:
        """Return the outcome of a task from what the functions returned at its point.

        That is the value; with constraints or a gradient, what :func:`_at_one_point` returns.
        """
        details = None
        excess = np.array([np.inf]) if self.constrained else None  # where constraints are undefined
        if isinstance(returned, _OnePoint):
            details = self._point_details(returned)
            if self.constrained:
                excess = self._constraints.violations(returned.constraints[None])
            returned = returned.value
        violation = None if excess is None else float(excess[0])
        if task.value is not None:
            return PointOutcome(number, task.value, violation, details)
        value = self.problem.values([returned], 1, strict=self._strict)
        self.memory.record(task.full, value, excess)
        return PointOutcome(number, float(value[0]), violation, details)

    def _point_details(self, returned: "_OnePoint") -> Details:
        """Return constraints and gradients at a point."""
        columns: dict[str, FloatArray] = {}
        if self.constrained:
            parts = self._constraints.parts(returned.constraints[None])
            columns["inequalities"], columns["equalities"] = parts
        if returned.gradient is not None:
            slopes = checked_gradients([returned.gradient], 1, self.problem.dimension)
            columns["gradients"] = slopes[:, self.space.free]
            self.gradient_evaluations += 1
        if returned.jacobian is not None:
            columns["jacobian"] = returned.jacobian[:, self.space.free]
        return Details(**columns)

    def perform(self, task: PointTask) -> object:
        """Call the functions at the point of a task in this process; return what they return."""
        if task.argument is None:
            return np.nan
        if self._only_fun:
            return self._called(task.argument[None])[0]
        return self._one_point(task.argument)

    @property
    def _only_fun(self) -> bool:
        """True if there are neither constraints nor a gradient."""
        return not self.constrained and self.problem.jac is None

    @property
    def _one_point(self) -> Callable[[FloatArray], "_OnePoint"]:
        fun, jac = self.problem.fun, self.problem.jac
        if self.problem.vectorized:
            fun, jac = partial(_at_point, fun), None if jac is None else partial(_at_point, jac)
        if self._tolerate:
            fun = partial(_tolerant, fun)
            jac = None if jac is None else partial(_tolerant_gradient, jac)
        constraints = self._constraints if self.constrained else None
        return partial(_at_one_point, constraints, fun, jac, self.problem.dimension)

    @property
    def _point_caller(self) -> Caller:
        """Caller of all functions at single points."""
        if self._only_fun:
            return self._objective
        if self._single is None:
            self._single = caller(self._one_point, self._workers)
        return self._single

    def state(self) -> State:
        """Return what the evaluator has learned."""
        return {"scale": self._constraints.scale, "memory": self.memory.state()}

    def restore(self, state: SavedState) -> None:
        """Continue from what :meth:`state` returned."""
        self._constraints.scale = state["scale"]
        self.memory.restore(state["memory"])

    def objective(self, x: FloatArray) -> float:
        """Return the value of one point."""
        full = self.space.full(x[None])
        values = self._values(full)
        self.memory.record(full, values)
        return float(values[0])

    def violation(self, x: FloatArray) -> float:
        """Return by how much one point violates the constraints, as one number."""
        if not self.constrained:
            return 0.0
        constraints = self._constraint_values(self.space.full(x[None]))
        return (
            np.inf if constraints is None else float(self._constraints.violations(constraints)[0])
        )

    def violations_by_constraint(self, x: FloatArray) -> list[FloatArray]:
        """Return by how much one point violates each function of each constraint."""
        return [excess[0] for excess in self._constraints.components(self.space.full(x[None]))]

    def margins(self, x: FloatArray) -> FloatArray:
        """Return how far inside the constraints one point is."""
        return self._constraints.margins(self.space.full(x))

    def _values(self, full: FloatArray) -> FloatArray:
        """Return the values of points with all coordinates; fun is called where none is known."""
        values = self.memory.recall(full) if self._recalls else None
        if values is None:
            return self._called(full)
        rows = np.flatnonzero(np.isnan(values))
        if len(rows):
            try:
                values[rows] = self._called(full[rows])
            except EvaluationInterrupted as interrupt:
                ready = [(int(rows[k]), value) for k, value in interrupt.ready]
                raise EvaluationInterrupted(ready) from None
        return values

    def _called(self, full: FloatArray) -> FloatArray:
        """Return what the function returns for points with all coordinates."""
        try:
            returned = self._objective(full.copy())
        except CallsInterrupted as interrupt:
            ready = [(row, self._number(value)) for row, value in interrupt.returned.items()]
            raise EvaluationInterrupted(ready) from None
        except StopIteration as error:
            raise RuntimeError("fun raised StopIteration, which is for iterators") from error
        except Exception as error:
            if self._objective.failed_row is not None:
                self._note_point(error, full[self._objective.failed_row])
            raise
        if not self._checked_none:
            self._checked_none = True
            _warn_of_none(returned)
        self._take_residuals(self.problem.residuals(returned, len(full)))
        return self.problem.values(returned, len(full), strict=self._strict)

    def _note_point(self, error: Exception, full: FloatArray) -> None:
        """Add the point at which fun raised an exception to the exception."""
        x = self.space.point(full)
        point = shortened(x) if isinstance(x, dict) else np.array2string(x, threshold=20)
        error.add_note(
            f'raised by fun at x = {point}; on_error="fail" would count it as a failed evaluation'
        )

    def _take_residuals(self, residuals: FloatArray | None) -> None:
        """Take the residuals of a batch; raise an error if their number has changed."""
        if residuals is not None and not np.isnan(residuals).all():
            number = residuals.shape[1]
            if self._residual_count not in (None, number):
                raise InvalidFeedback(
                    f"residuals returned {number} numbers, and {self._residual_count} before; "
                    "expected the same number at each point"
                )
            self._residual_count = number
        self._residuals = residuals

    def _number(self, value: object) -> float:
        """Return one value of an interrupted batch; NaN if it is not a number."""
        try:
            return float(self.problem.values([value], 1, strict=False)[0])
        except InvalidFeedback:
            return math.nan

    def _constraint_values(self, full: FloatArray) -> FloatArray | None:
        """Return the values of all constraints at points with all coordinates; None if all failed.

        None is returned only until the functions have succeeded once.
        """
        if not self._constraints.measure(full):
            return None
        try:
            if self._constraint_workers is None:
                return self._constraints.values(full)
            return np.array(self._constraint_workers(full), dtype=float)
        except CallsInterrupted:
            raise EvaluationInterrupted([]) from None  # no values of the objective yet


def _objective_caller(problem: Problem, workers: Workers, tolerate: bool) -> Caller:
    """Return the way to call a problem's function."""
    threads = worker_count(workers)
    if problem.vectorized:
        if threads != 1:
            raise InvalidParameter(
                f"workers is {shortened(workers)}; expected 1 with vectorized=True, where fun "
                "gets the whole batch",
                name="workers",
                value=workers,
            )
        return AllAtOnce(problem.fun, tolerate)
    if threads is not None and workers != -1 and not tolerate:
        compiled = over_batch(problem.fun, problem.dimension, threads)
        if compiled is not None:
            return AllAtOnce(compiled)
    return caller(partial(_tolerant, problem.fun) if tolerate else problem.fun, workers)


# With `partial` these can be sent to workers.


def _tolerant(fun: Callable[[FloatArray], object], x: FloatArray) -> object:
    """Return the value of the objective, NaN for an exception."""
    try:
        return fun(x)
    except Exception:
        return np.nan


def _at_point(function: Callable[..., Any], x: FloatArray) -> Any:
    """Return the value of a function of many points at one."""
    return function(x[None])[0]


def _tolerant_gradient(jac: Callable[[FloatArray], Any], x: FloatArray) -> Any:
    """Return the gradient, NaN for an exception."""
    try:
        return jac(x)
    except Exception:
        return np.full(len(x), np.nan)


class _OnePoint(NamedTuple):
    """Values of all functions at a point, and the gradients if they are wanted and known."""

    constraints: FloatArray
    value: object
    gradient: Any = None
    jacobian: FloatArray | None = None


def _at_one_point(
    constraints: Constraints | None,
    fun: Callable[[FloatArray], object],
    jac: Callable[[FloatArray], Any] | None,
    dimension: int,
    row: FloatArray,
) -> _OnePoint:
    """Return the values of constraints and objective at a point, and the gradients.

    The row holds the point, the largest violation at which the objective is called, -inf if its
    value is known, whether gradients are wanted, and the scales of violations. The objective is NaN
    where it is not called, and where it fails outside.
    """
    x, (limit, wanted), scale = row[:dimension], row[dimension:][:2], row[dimension + 2 :]
    values, violation = np.empty(0), 0.0
    value: object = np.nan
    if constraints is not None:
        values = constraints.values(x[None])[0]
        violation = float((constraints.beyond(values[None]) / scale).sum())
    if violation <= limit and violation < np.inf:
        value = detached((partial(_tolerant, fun) if violation > 0 else fun)(x.copy()))
    if jac is None or not wanted or not (limit == -np.inf or _is_finite(value)):
        return _OnePoint(values, value)
    gradient = detached(jac(x.copy()))
    return _OnePoint(
        values, value, gradient, None if constraints is None else constraints.slopes(x)
    )


def _is_finite(value: object) -> bool:
    """Return whether a value is a finite number."""
    try:
        return math.isfinite(float(value))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False


def _warn_of_none(returned: object) -> None:
    values = returned if isinstance(returned, list) else [returned]
    if all(value is None for value in values):
        warnings.warn(
            "fun returned None, which counts as a failed evaluation; is `return` missing?",
            RuntimeWarning,
            stacklevel=2,
        )
