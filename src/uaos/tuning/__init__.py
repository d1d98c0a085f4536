"""Tuning: find the best method for a set of problems, by iterated racing.

    import uaos
    from uaos.tuning import TuningPlan, design, tune

    if __name__ == "__main__":
        suite = uaos.suite("bbob", dimension=5, instances="train")
        plan = TuningPlan(design(dimension=5), suite, budget="200D")
        tune(plan, "first.db", jobs=2).best.to_toml("first.toml")

The result depends on the plan alone, not on workers or interruptions. `uaos tune` is the same from
a terminal.
"""

from uaos.problems.variables import Space
from uaos.tuning.design_space import Design, design, design_for, portfolio_design
from uaos.tuning.limits import narrow
from uaos.tuning.plan import HeldOutProblems, TuningPlan, check_training, initial_candidates
from uaos.tuning.race import Rules
from uaos.tuning.simulation import RecordedRun, Recordings, simulate
from uaos.tuning.store import TuningStore
from uaos.tuning.tuner import TuningResult, tune

__all__ = [
    "Design", "HeldOutProblems", "RecordedRun", "Recordings", "Rules", "Space",
    "TuningPlan", "TuningResult", "TuningStore", "check_training", "design", "design_for",
    "initial_candidates", "narrow", "portfolio_design", "simulate", "tune",
]  # fmt: skip
