"""A run: an optimizer meets a problem."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from uaos import jit
from uaos.arrays import FloatArray
from uaos.optimizers.base import Optimizer
from uaos.optimizers.base.details import Details
from uaos.result import Ending, Result
from uaos.runs.evaluator import EvaluationInterrupted, Evaluator
from uaos.runs.noise import ExactValues
from uaos.runs.stopping import BROKEN, INTERRUPTED, Budget, StoppingRule, Target
from uaos.statefile import SavedState, State
from uaos.text import count

#: The rules that every optimizer knows.
DEFAULT_RULES: tuple[StoppingRule, ...] = (Target(), Budget())

#: Values of points, and under constraints their violations and details.
Evaluated = tuple[FloatArray, FloatArray | None, Details | None]

#: Function that improves the result of a run at its end.
Polish = Callable[[Result, Evaluator, Optimizer], Result]


class Observer:
    """Watches a run; a subclass overrides the events it needs."""

    def evaluated(
        self, optimizer: Optimizer, values: FloatArray, violations: FloatArray | None
    ) -> None:
        """Receive the values of a batch before the optimizer does."""
        return

    def told(self, optimizer: Optimizer) -> None:
        """Look at the optimizer after it has learned from a batch."""
        return

    def ended(self, result: Result) -> None:
        """Receive the result."""
        return


class Run:
    """An optimizer at work on a problem, until a stopping rule ends it.

    Parameters
    ----------
    optimizer : Optimizer
        Proposes points, and learns from their values.
    evaluator : Evaluator
        Turns points into values.
    rules : sequence of StoppingRule
        When the run ends. The first rule that applies says why.
    observers : sequence of Observer
        Observers of the run.
    ending : Ending, optional
        Why the run ended before its first batch, if it did.
    noise : ExactValues, optional
        A :class:`uaos.runs.noise.NoiseMeter` evaluates points again to notice noise; by default,
        values are taken as they are.

    Attributes
    ----------
    ending : Ending or None
        Why the run ended; None while it is under way.
    resumable : bool
        Whether a run with this :meth:`state` goes on as this one: while points are evaluated, and
        between batches, but not while the optimizer proposes or learns.

    Examples
    --------
    >>> import uaos
    >>> from uaos.problems import sphere
    >>> from uaos.runs.evaluator import Evaluator
    >>> from uaos.runs.run import Run
    >>> problem = uaos.Problem(sphere, [(-5, 5)] * 2)
    >>> optimizer = uaos.CMAES(problem.bounds, seed=1, budget=100)
    >>> with Evaluator(problem) as evaluator:
    ...     result = Run(optimizer, evaluator).complete()
    >>> result.nfev, result.status
    (100, 1)
    """

    def __init__(
        self,
        optimizer: Optimizer,
        evaluator: Evaluator,
        rules: Sequence[StoppingRule] = DEFAULT_RULES,
        observers: Sequence[Observer] = (),
        ending: Ending | None = None,
        noise: ExactValues | None = None,
    ) -> None:
        self.optimizer, self.evaluator = optimizer, evaluator
        self.rules, self.observers = rules, observers
        self.ending, self.noise = ending, noise or ExactValues()
        self.noise.attach(optimizer, self._again)
        self._batches = 0
        self.resumable = True
        jit.begin_run()
        self._pending: FloatArray | None = None  # points that are being evaluated

    def advance(self) -> None:
        """Ask, evaluate and tell until a rule ends the run."""
        while not self._stops():
            self.resumable = False
            points = self.optimizer.ask()
            values, violations, details = self._evaluate(points)
            self.optimizer.tell(values, violations, details)
            self._batches += 1
            self.resumable = True
            for observer in self.observers:
                observer.told(self.optimizer)

    def _stops(self) -> bool:
        """Measure noise, if it is time to, and ask the rules whether the run ends here."""
        if self.ending is not None:
            return True
        self.resumable = False
        self._measure_noise()
        self.resumable = True
        rules = self.rules if self._batches else [rule for rule in self.rules if rule.at_start]
        endings = (rule(self.optimizer) for rule in rules)
        self.ending = next((ending for ending in endings if ending is not None), None)
        return self.ending is not None

    def _measure_noise(self) -> None:
        """Evaluate points again to measure noise, if it is time to."""
        self.noise.check()

    def _evaluate(self, points: FloatArray) -> Evaluated:
        """Return values, violations and details; confirm values if the function has outliers."""
        values, violations, details = self._once(points)
        plain = violations is None and details is None
        return self.noise.confirmed(points, values, plain=plain), violations, details

    def _once(self, points: FloatArray) -> Evaluated:
        """Evaluate each point once, and let the observers see it."""
        self._pending = points
        resumable, self.resumable = self.resumable, True
        values, violations, details = self.evaluator(
            points, self.optimizer.epsilon, self.optimizer.wants_gradients
        )
        self.resumable = resumable
        self._pending = None
        self.optimizer.spending.recalled = self.evaluator.memory.recalled
        for observer in self.observers:
            observer.evaluated(self.optimizer, values, violations)
        return values, violations, details

    def _again(self, points: FloatArray) -> FloatArray:
        """Return new values of points; NaN where one is infeasible."""
        with self.evaluator.memory.unused():
            values, violations, _ = self._once(points)
        return values if violations is None else np.where(violations == 0, values, np.nan)

    # Exact resume

    def state(self) -> State:
        """Return everything that changes during the run."""
        return {
            "batches": self._batches,
            "x0": self.optimizer.x0,
            "seed": self.optimizer.seed,
            "optimizer": self.optimizer.state(),
            "evaluator": self.evaluator.state(),
            "noise": self.noise.state(),
        }

    def restore(self, state: SavedState) -> None:
        """Continue from what :meth:`state` of a run of the same problem returned."""
        self._batches, self.optimizer.seed = state["batches"], state["seed"]
        self.optimizer.restore(state["optimizer"])
        self.evaluator.restore(state["evaluator"])
        self.noise.restore(state["noise"])

    def complete(self, polish: Polish | None = None) -> Result:
        """Run to the end, polish the result if asked to, and return it.

        Ctrl-C returns the best so far, and so does an executor that breaks.
        """
        try:
            self.advance()
            assert self.ending is not None
            result, self.ending = self.noise.concluded(self.optimizer.result, self.ending)
            if polish is not None and result.x is not None and not self.noise.seen:
                result = self._polished(result, polish)
        except KeyboardInterrupt as interrupt:
            self.ending = self._interruption
            result = self.noise.estimated(self._with_pending(interrupt))
            if self.evaluator.broken is not None and result.x is None:
                raise self.evaluator.broken from None  # there is nothing to return
        except Exception as error:
            self._note_best(error)
            raise
        result = self._described(result)
        for observer in self.observers:
            observer.ended(result)
        return result

    def _polished(self, result: Result, polish: Polish) -> Result:
        try:
            return polish(result, self.evaluator, self.optimizer)
        except KeyboardInterrupt:
            self.ending = self._interruption
            return result

    @property
    def _interruption(self) -> Ending:
        return INTERRUPTED if self.evaluator.broken is None else BROKEN

    def _with_pending(self, interrupt: KeyboardInterrupt) -> Result:
        """Return the best so far, including the values that were ready when it was interrupted."""
        result = self.optimizer.result
        if self._pending is None or not isinstance(interrupt, EvaluationInterrupted):
            return result
        if self.noise.confirmation is not None:
            return result  # values are not confirmed
        result = dataclasses.replace(result, nfev=result.nfev + len(interrupt.ready))
        finite = [(value, row) for row, value in interrupt.ready if np.isfinite(value)]
        if finite and not min(finite)[0] >= result.fun:  # which may be NaN
            value, row = min(finite)
            return dataclasses.replace(result, x=self._pending[row], fun=value)
        return result

    def _note_best(self, error: Exception) -> None:
        """Add the best point so far to the exception of a user's function."""
        optimizer = self.optimizer
        if optimizer.best_x is not None:
            after = count(optimizer.evaluations, "evaluation")
            space = self.evaluator.space
            x = space.point(space.full(optimizer.best_x))
            x = x if isinstance(x, dict) else x.tolist()
            error.add_note(f"best so far, after {after}: fun = {optimizer.best_fitness!r}, x = {x}")

    def _described(self, result: Result) -> Result:
        """Return the result with all coordinates, the violations at its point, and the ending."""
        assert self.ending is not None
        feasible = self.optimizer.best_violation == 0 or bool(np.isfinite(result.fun))
        return described(result, self.ending, self.evaluator, feasible=feasible)


def described(result: Result, ending: Ending, evaluator: Evaluator, *, feasible: bool) -> Result:
    """Return a result with all coordinates, the violations at its point, and the ending.

    Parameters
    ----------
    result : Result
        The result, over the free coordinates.
    ending : Ending
        Why the run ended.
    evaluator : Evaluator
        Knows the fixed coordinates and the constraints.
    feasible : bool
        Whether the point is feasible.
    """
    x, maxcv = result.x, None
    if result.population is not None:
        named = evaluator.space.names is not None
        population = None if named else evaluator.space.full(result.population)
        energies = None if named else result.population_energies
        result = dataclasses.replace(result, population=population, population_energies=energies)
    if x is not None:
        if evaluator.constrained:
            constr = evaluator.violations_by_constraint(x)
            maxcv = float(max(excess.max(initial=0.0) for excess in constr))
            result = dataclasses.replace(result, constr=constr, constr_violation=maxcv)
        result = dataclasses.replace(result, x=evaluator.space.point(evaluator.space.full(x)))
        ending = ending if feasible else ending.at_infeasible_point(maxcv)
        if result.fun_evaluations is not None:
            ending = ending.of_noisy_function(result.fun_evaluations)
    if evaluator.problem.jac is not None:
        result = dataclasses.replace(result, njev=evaluator.gradient_evaluations)
    recorded = evaluator.memory.recorded()
    if recorded is not None:
        result = dataclasses.replace(result, **_record(recorded, evaluator))
    return dataclasses.replace(
        result, success=ending.success, status=int(ending.status), message=ending.message
    )


def _record(
    recorded: tuple[FloatArray, FloatArray, FloatArray], evaluator: Evaluator
) -> dict[str, Any]:
    """Return the fields of a result that hold all evaluated points."""
    points, values, violations = recorded
    space = evaluator.space
    points = points.reshape(len(points), len(space.low))  # also if there are none
    named = space.names is not None
    return {
        "X": [space.point(x) for x in points] if named else points,
        "F": values,
        "violations": violations if evaluator.constrained else None,
    }
