"""Experiments on a suite: what to run (plan), how to run it (runner), the outcomes (store).

    import uaos
    from uaos.experiments import Plan, Store, run

    if __name__ == "__main__":
        suite = uaos.suite("bbob", dimension=5, instances="1-5")
        run(Plan.of(["mix", "JADE"], suite, budget="2000D"), "first.db", jobs=2)
        for outcome in Store.open("first.db").outcomes("mix"):
            print(outcome.problem, outcome.error)

A run's seed is a hash of the experiment's seed, the method, the problem and the repetition, so
results do not depend on order, workers or interruptions. `uaos bench` is the same from a terminal.
"""

from uaos.experiments.executors import WorkersLost
from uaos.experiments.lock import StoreInUse
from uaos.experiments.plan import Plan, PlanConflict
from uaos.experiments.recorder import ECDF_TARGETS, FINAL, TARGETS, Trace
from uaos.experiments.run_table import RunTable
from uaos.experiments.runner import Progress, run
from uaos.experiments.store import Stopped, Store
from uaos.experiments.unit import Outcome, Unit, run_unit

__all__ = [
    "ECDF_TARGETS", "FINAL", "TARGETS", "Outcome", "Plan", "PlanConflict", "Progress",
    "RunTable", "Stopped", "Store", "StoreInUse", "Trace", "Unit", "WorkersLost", "run",
    "run_unit",
]  # fmt: skip
