"""Experiments on BBOB: what to run (plan), running it (runner), what came out (store).

    from uaos.experiments import Plan, Store, run

    if __name__ == "__main__":
        plan = Plan.of(["mix", "JADE"], dimension=5, instances="1-5", budget="2000D")
        run(plan, "first.db", jobs=2)
        for outcome in Store.open("first.db").outcomes("mix"):
            print(outcome.function, outcome.instance, outcome.error)

A run's seed is derived from the experiment's and from what the run is: results depend neither on
the order, nor on the workers, nor on interruptions. `uaos bench` is the same from a terminal.
"""

from uaos.experiments.plan import Plan, PlanConflict, training_set
from uaos.experiments.pools import WorkersLost
from uaos.experiments.records import Outcome, Unit
from uaos.experiments.runner import Progress, Stopped, run
from uaos.experiments.store import Store, StoreInUse
from uaos.experiments.targets import ECDF_TARGETS, FINAL, TARGETS
from uaos.experiments.units import run_unit

__all__ = [
    "ECDF_TARGETS",
    "FINAL",
    "TARGETS",
    "Outcome",
    "Plan",
    "PlanConflict",
    "Progress",
    "Stopped",
    "Store",
    "StoreInUse",
    "Unit",
    "WorkersLost",
    "run",
    "run_unit",
    "training_set",
]
