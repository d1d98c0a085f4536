"""Measure what a tuning costs beyond its runs: racing, sampling, workers and the store."""

import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np
from table import Row, Section

from uaos.errors import UaosError
from uaos.experiments.recorder import NO_TRACE, TARGETS
from uaos.experiments.unit import Outcome, derived_seed
from uaos.optimizers.configuration import Configuration
from uaos.problems import Problem, suite
from uaos.tuning.design_space import design
from uaos.tuning.irace import irace_version
from uaos.tuning.plan import TuningPlan
from uaos.tuning.records import Event, Step
from uaos.tuning.tuner import tune

TITLE = "tuning"
JOBS = 2
AIMS = {"racer": 2.0, "irace": 5.0}
_NEVER = np.full(len(TARGETS), -1, np.int64)


def free_run(configuration: Configuration, instance: Problem, seed: int, budget: int) -> Outcome:
    """Return a free run whose error depends on the population size and on chance."""
    NP = configuration.settings.population_size(instance.dimension, budget)
    error = (
        abs(NP - 123) / 100 + derived_seed(seed, configuration.name, instance.name) % 1000 / 1000
    )
    return Outcome(
        configuration.name, instance.name, instance.function, instance.group, instance.dimension,
        instance.instance, 1, seed, budget, evaluations=budget, best=error, error=error,
        hits=_NEVER, trace=NO_TRACE, seconds=0.0, status="done", reason="",
    )  # fmt: skip


def run(quick: bool) -> Section:
    runs = 1000 if quick else 3000
    rows = [_measured("racer", runs)]
    try:
        irace_version()
        rows.append(_measured("irace", 1000))
    except UaosError as error:
        rows.append(Row("irace", f"not measured: {str(error).split('.')[0]}"))
    how = (
        f"the whole design space of the paper, 48 problems, {JOBS} workers, runs that cost "
        "nothing: wall clock from the end of the first step (workers and R are up) to the end, for "
        "each run."
    )
    return Section(TITLE, how, tuple(rows))


def _measured(tuner: str, runs: int) -> Row:
    first: list[tuple[float, int]] = []

    def watch(event: Event) -> None:
        if isinstance(event, Step) and not first:
            first.append((perf_counter(), event.runs_used))

    plan = TuningPlan(
        design(), suite("bbob", instances="train"), runs=runs, budget=20_000, tuner=tuner
    )
    with tempfile.TemporaryDirectory() as folder:
        done = tune(plan, Path(folder) / "tuning.db", jobs=JOBS, work=free_run, on_event=watch)
    start, used = first[0]
    overhead = (perf_counter() - start) / (done.runs - used) * 1e3
    return Row(f"{tuner}, {done.runs} runs", f"{overhead:.2f} ms a run", "", "",
               f"< {AIMS[tuner]:g} ms", "yes" if overhead < AIMS[tuner] else "no")  # fmt: skip
