"""Running one unit. What comes out depends on the unit, its problem and its configuration only."""

import time

from uaos.experiments import course
from uaos.experiments.recorder import Recorder
from uaos.experiments.records import Finished, Unit, outcome
from uaos.optimizers.configuration import Configuration
from uaos.problems import Problem


def run_unit(unit: Unit, problem: Problem, configuration: Configuration) -> Finished:
    """Run until the final target is reached or the budget spent; an exception is a failed run.

    The final target is 1e-8 above the optimum; where that is not known, runs end with the budget.
    """
    started = time.perf_counter()
    packed, status, reason = None, "done", ""
    recorder = Recorder(None)
    try:
        recorder = Recorder(problem.optimum)
        packed = _optimize(configuration, problem, recorder, unit)
    except Exception as error:  # whatever it is: the rest of the experiment goes on
        status, reason = "failed", f"{type(error).__name__}: {error}"[:1000]
    made = outcome(
        unit, problem, evaluations=recorder.evaluations, best=recorder.best, error=recorder.error,
        hits=recorder.hits, trace=recorder.trace(), seconds=time.perf_counter() - started,
        status=status, reason=reason,
    )  # fmt: skip
    return Finished(made, packed)


def _optimize(
    configuration: Configuration, problem: Problem, recorder: Recorder, unit: Unit
) -> bytes:
    optimizer = configuration.build(problem.bounds, seed=unit.seed, budget=unit.budget)
    restarts: list[int] = []
    seen = 0
    while not (recorder.solved or optimizer.done):
        points = optimizer.ask()
        if optimizer.restarts > seen:  # as it was asked
            _note(restarts, recorder.evaluations)
        seen = optimizer.restarts
        values = problem.evaluate(points)
        recorder.see(values)
        optimizer.tell(values)
        if optimizer.restarts > seen or (not restarts and optimizer.converged):
            _note(restarts, recorder.evaluations)
        seen = optimizer.restarts
    assert optimizer.history is not None
    return course.pack(optimizer.history, restarts)


def _note(restarts: list[int], evaluations: int) -> None:
    """Add a restart, unless it follows from the convergence that was noted."""
    if not restarts or restarts[-1] < evaluations:
        restarts.append(evaluations)
