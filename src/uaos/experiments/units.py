"""Running one unit. What comes out depends on the unit and its configuration, and nothing else."""

import time

import numpy as np

from uaos.experiments import course
from uaos.experiments.hits import Hits
from uaos.experiments.peers import Peer
from uaos.experiments.records import Finished, Outcome, Unit
from uaos.optimizers.configuration import Configuration
from uaos.problems import BBOB

#: What an experiment can run: a configuration of our own, or another library's algorithm.
Competitor = Configuration | Peer


def run_unit(unit: Unit, competitor: Competitor) -> Finished:
    """Run until the final target is reached or the budget spent; an exception is a failed run."""
    started = time.perf_counter()
    hits, packed, status, reason = Hits(np.nan), None, "done", ""
    try:
        problem = BBOB(unit.function, unit.dimension, unit.instance)
        hits = Hits(problem.f_opt)
        if isinstance(competitor, Peer):
            competitor.run(problem, hits, unit.seed, unit.budget)
        else:
            packed = _optimize(competitor, problem, hits, unit)
    except Exception as error:  # whatever it is: the rest of the experiment goes on
        status, reason = "failed", f"{type(error).__name__}: {error}"[:1000]
    outcome = Outcome(
        *unit, evaluations=hits.evaluations, error=_number(hits.error), hits=hits.at,
        seconds=time.perf_counter() - started, status=status, reason=reason,
    )  # fmt: skip
    return Finished(outcome, packed)


def _optimize(configuration: Configuration, problem: BBOB, hits: Hits, unit: Unit) -> bytes:
    optimizer = configuration.build(problem.bounds, seed=unit.seed, budget=unit.budget)
    evaluate = problem._evaluate  # COCO's own function: one call less for each evaluation
    while not (hits.solved or optimizer.done):
        values = np.array([evaluate(x) for x in optimizer.ask()])
        hits.see(values)
        optimizer.tell(values)
    assert optimizer.history is not None
    return course.pack(optimizer.history)


def _number(error: float) -> float:
    return error if error == error else float("inf")
