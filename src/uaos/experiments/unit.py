"""One run: the unit of work, running it, and its outcome."""

import copy
import hashlib
import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from uaos.arrays import FloatArray
from uaos.experiments.recorder import FINAL, NO_TRACE, TARGETS, Recorder, Trace, pack_course
from uaos.loading import line_of
from uaos.optimizers.base import Optimizer
from uaos.optimizers.configuration import Configuration
from uaos.problems import Problem
from uaos.result import Ending, Result
from uaos.runs.evaluator import Evaluator
from uaos.runs.noise import NoiseMeter
from uaos.runs.run import Observer, Run
from uaos.runs.search import problem_arguments
from uaos.runs.stopping import Budget, Done, StoppingRule


class Unit(NamedTuple):
    """One run of an experiment. Made by :meth:`Plan.units`.

    Attributes
    ----------
    method, problem : str
        Their names.
    repetition, seed, budget : int
        Number of the repetition, seed, and largest number of evaluations.
    """

    method: str
    problem: str
    repetition: int
    seed: int
    budget: int

    @property
    def key(self) -> tuple[str, str, int]:
        """Return what identifies the unit within its experiment."""
        return self[:3]

    def __str__(self) -> str:
        return f"{self.method} on {self.problem}, repetition {self.repetition}"


class Outcome(NamedTuple):
    """Outcome of one run. Made by :func:`run_unit`.

    Attributes
    ----------
    method, problem, function, group, dimension, instance, repetition, seed, budget
        The unit of work and its problem.
    evaluations : int
        Number of evaluations made.
    best : float
        The best value, infinite if there was none.
    error : float
        `best` minus the optimum; NaN if that is not known.
    hits : ndarray
        ``hits[t]`` is the evaluation, counted from 1, at which an error of at most ``TARGETS[t]``
        was first seen; -1 for never, or if the optimum is not known.
    trace : Trace
        The improvements; empty if they were not asked for.
    seconds : float
        Duration of the run by the clock.
    status, reason : str
        "done", or "failed" and why.
    """

    method: str
    problem: str
    function: str
    group: str
    dimension: int
    instance: int | None
    repetition: int
    seed: int
    budget: int
    evaluations: int
    best: float
    error: float
    hits: NDArray[np.int64]
    trace: Trace
    seconds: float
    status: str
    reason: str

    @property
    def unit(self) -> Unit:
        """Return the unit of work."""
        return Unit(self.method, self.problem, self.repetition, self.seed, self.budget)

    @property
    def solved(self) -> bool:
        """Return whether the final target was reached."""
        return bool(self.hits[-1] > 0)


class Finished(NamedTuple):
    """An outcome with the course of its run, packed (see `uaos.experiments.recorder`)."""

    outcome: Outcome
    course: bytes | None


def derived_seed(experiment: int, *identity: object) -> int:
    """Return a unit's seed: a hash of the experiment's seed and the unit's identity only."""
    text = "\x1f".join(map(str, (experiment, *identity)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def run_unit(unit: Unit, problem: Problem, configuration: Configuration) -> Finished:
    """Run until the final target is reached or the budget spent; an exception is a failed run.

    The final target is 1e-8 above the optimum; where that is not known, runs end with the budget.
    On a noisy problem (one with `true`), the values recorded are the true ones of the points that
    the run recommends. The outcome depends on the unit, its problem and its configuration only.

    Parameters
    ----------
    unit : Unit
        What to run.
    problem : Problem
        The unit's problem.
    configuration : Configuration
        The unit's method.

    Returns
    -------
    Finished
        The :class:`Outcome`, and the course of the run.

    Examples
    --------
    >>> from uaos.experiments import Plan, run_unit
    >>> from uaos.problems import suite
    >>> problems = suite("bbob", dimension=2, functions="1", instances="1")
    >>> plan = Plan.of(["JADE"], problems, budget=50)
    >>> unit = next(plan.units())
    >>> outcome = run_unit(unit, plan.suite[unit.problem], plan.competitors[unit.method]).outcome
    >>> outcome.evaluations, outcome.status
    (50, 'done')
    """
    started = time.perf_counter()
    packed, status, reason = None, "done", ""
    recorder = Recorder(None)
    try:
        recorder = Recorder(problem.optimum)
        packed = _optimize(configuration, problem, recorder, unit)
    except Exception as error:  # of any kind: the experiment continues
        where = f" ({line})" if (line := line_of(error)) else ""
        status, reason = "failed", f"{type(error).__name__}: {error}"[:900] + where[:100]
    measured = outcome(
        unit, problem, evaluations=recorder.evaluations, best=recorder.best, error=recorder.error,
        hits=recorder.hits, trace=recorder.trace(), seconds=time.perf_counter() - started,
        status=status, reason=reason,
    )  # fmt: skip
    return Finished(measured, packed)


def _optimize(
    configuration: Configuration, problem: Problem, recorder: Recorder, unit: Unit
) -> bytes:
    # A copy: what a custom operator learns must not reach the next run in this process.
    chosen = copy.deepcopy(configuration)
    problem = problem.renewed()
    arguments = problem_arguments(problem, chosen)
    x0 = problem.space.starts(problem.x0)
    optimizer = chosen.build(seed=unit.seed, budget=unit.budget, x0=x0, **arguments)
    meter = None if problem.true is None else NoiseMeter()
    watch = _Watch(recorder) if meter is None else _NoisyWatch(recorder, problem, meter)
    with Evaluator(problem, strict=True) as evaluator:
        rules = (_Solved(recorder), Budget(), Done())
        run = Run(optimizer, evaluator, rules, (watch,), noise=meter)
        run.advance() if meter is None else run.complete()
    assert optimizer.history is not None
    return pack_course(optimizer.history, watch.restarts)


class _Solved(StoppingRule):
    """End a run once its recorder has seen the final target."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def __call__(self, optimizer: Optimizer) -> Ending | None:
        """Return why the run ends, None if it goes on."""
        optimum = self._recorder.optimum
        if optimum is None or not self._recorder.solved:
            return None
        return Ending.of_target(optimum + FINAL)


class _Watch(Observer):
    """Records the values of a run, and when the optimizer restarts."""

    def __init__(self, recorder: Recorder) -> None:
        self.restarts: list[int] = []
        self._recorder, self._seen = recorder, 0

    def evaluated(
        self, optimizer: Optimizer, values: FloatArray, violations: FloatArray | None
    ) -> None:
        """Record the values of feasible points."""
        if optimizer.restarts > self._seen:  # it restarted in `ask`
            self._note_restart()
        self._seen = optimizer.restarts
        if violations is not None:
            values = np.where(violations == 0, values, np.nan)
        self._recorder.see(values)

    def told(self, optimizer: Optimizer) -> None:
        """Note a restart, or the first convergence."""
        if optimizer.restarts > self._seen or (not self.restarts and optimizer.converged):
            self._note_restart()
        self._seen = optimizer.restarts

    def _note_restart(self) -> None:
        """Add a restart, unless it follows from the convergence that was noted."""
        evaluations = self._recorder.evaluations
        if not self.restarts or self.restarts[-1] < evaluations:
            self.restarts.append(evaluations)


class _NoisyWatch(_Watch):
    """Records the true values of the points that a run on a noisy problem recommends."""

    def __init__(self, recorder: Recorder, problem: Problem, meter: NoiseMeter) -> None:
        super().__init__(recorder)
        self._problem, self._meter = problem, meter

    def evaluated(
        self, optimizer: Optimizer, values: FloatArray, violations: FloatArray | None
    ) -> None:
        """Count the values, which are not the true ones."""
        super().evaluated(optimizer, np.full(len(values), np.nan), None)

    def told(self, optimizer: Optimizer) -> None:
        """Record the value of the present candidate."""
        super().told(optimizer)
        estimates = self._meter.candidates[:1]
        candidates = estimates[0].x[None] if estimates else optimizer.candidates
        if self._meter.confirmation is not None and optimizer.best_x is not None:
            candidates = optimizer.best_x[None]
        if optimizer.best_violation == 0 and len(candidates):
            self._judge(self._problem.space.full(candidates[0]))

    def ended(self, result: Result) -> None:
        """Record the value of the result."""
        if result.x is not None and not result.constr_violation:
            space = self._problem.space
            self._judge(space.full(np.atleast_2d(np.asarray(space.reduced(result.x), float)))[0])

    def _judge(self, x: FloatArray) -> None:
        value = float(self._problem.true_values(x[None])[0])
        self._recorder.judge(self._recorder.evaluations, value)


def outcome(unit: Unit, problem: Problem, **measured: Any) -> Outcome:
    """Return the outcome of a unit; by default, that of a run without evaluations."""
    values: dict[str, Any] = {
        "evaluations": 0, "best": float("inf"),
        "error": float("nan") if problem.optimum is None else float("inf"),
        "hits": np.full(len(TARGETS), -1, np.int64), "trace": NO_TRACE, "seconds": 0.0,
        "status": "done", "reason": "",
    }  # fmt: skip
    return Outcome(
        unit.method, problem.name, problem.function, str(problem.group), problem.dimension,
        problem.instance, unit.repetition, unit.seed, unit.budget, **(values | measured),
    )  # fmt: skip


def failed(unit: Unit, problem: Problem, reason: str) -> Finished:
    """Return a failed outcome for a unit without a result."""
    return Finished(outcome(unit, problem, status="failed", reason=reason[:1000]), None)
