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
    while not (recorder.solved or optimizer.done):
        values = problem.evaluate(optimizer.ask())
        recorder.see(values)
        optimizer.tell(values)
    assert optimizer.history is not None
    return course.pack(optimizer.history)
