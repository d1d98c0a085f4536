"""Measure what an experiment costs beyond its runs: runner, store and counting of targets."""

import statistics
import tempfile
from pathlib import Path
from time import perf_counter

from table import Row, Section

from uaos.experiments import Plan, Progress, Store
from uaos.experiments import run as run_experiment
from uaos.experiments.recorder import Recorder
from uaos.experiments.unit import Unit, _optimize
from uaos.optimizers.de.optimizer import DifferentialEvolution
from uaos.problems import suite

TITLE = "experiments"
METHOD, EVALUATIONS, JOBS, AIM = "U-AOS-FW", 20_000, 2, 0.05


def run(quick: bool) -> Section:
    functions = "1,8,15" if quick else "1-24"
    plan = Plan.of(
        [METHOD], suite("bbob", functions=functions, instances="all"), budget=EVALUATIONS,
        uniform=False,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "experiment.db"
        first: list[float] = []

        def watch(progress: Progress) -> None:
            if progress.new and not first:
                first.append(perf_counter())

        start = perf_counter()
        run_experiment(plan, path, jobs=JOBS, on_progress=watch)
        end = perf_counter()
        with Store.open(path) as store:
            outcomes = store.outcomes()
    inside = sum(outcome.seconds for outcome in outcomes)
    # From the first result on, when the workers have been started and have loaded the kernels.
    early = statistics.fmean(outcome.seconds for outcome in outcomes)
    steady = JOBS * (end - first[0]) / (inside - JOBS * early) - 1
    whole = JOBS * (end - start) / inside - 1
    units = list(plan.units())
    counting = _counting(plan, units[:: len(units) // (6 if quick else 30)])
    total = (1 + steady) * (1 + counting) - 1
    rows = (
        Row("counting targets in a run", f"{counting:+.1%}", "ask, evaluate, tell alone"),
        Row("runner and store, workers started", f"{steady:+.1%}", f"the runs on {JOBS} workers"),
        Row("both together", f"{total:+.1%}", "ask, evaluate, tell alone", "", f"< {AIM:.0%}",
            "yes" if total < AIM else "no"),
        Row("with the start of the workers", f"{whole:+.1%}", f"the runs on {JOBS} workers"),
    )  # fmt: skip
    how = (
        f"{len(outcomes)} problems of {EVALUATIONS} evaluations, {METHOD}, 20-D, {JOBS} processes: "
        "worker time that was not spent in runs, as a share of the time that was. Needs as many "
        "idle cores as workers."
    )
    return Section(TITLE, how, rows)


def _counting(plan: Plan, units: list[Unit]) -> float:
    """Measure how much more a run costs than a loop that a user would write."""

    from uaos.optimizers.catalogue import configuration

    chosen = configuration(METHOD)
    ratios = []
    for unit in units:
        problem = plan.suite[unit.problem]
        times = {"bare": [], "unit": []}
        for _ in range(3):
            start = perf_counter()
            de = DifferentialEvolution(
                problem.bounds, method=chosen, seed=unit.seed, budget=unit.budget
            )
            while not de.done:
                de.tell(problem.evaluate(de.ask()))
            middle = perf_counter()
            _optimize(chosen, problem, Recorder(problem.optimum), unit)
            times["bare"].append(middle - start)
            times["unit"].append(perf_counter() - middle)
        ratios.append(min(times["unit"]) / min(times["bare"]))
    return statistics.median(ratios) - 1
