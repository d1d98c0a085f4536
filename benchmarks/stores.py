"""Measure a large store: comparing and reporting its runs, and finding what is left to run.

Run as a script, it is the process measured: its time and memory are those of one command, from the
start of Python on. For 1,000,000 runs: `python benchmarks/stores.py fill million.db 100`, then the
same with `compare`, `report` and `resume`.
"""

import contextlib
import dataclasses
import io
import json
import re
import resource
import sys
import tempfile
from pathlib import Path
from time import process_time

import numpy as np
from processes import output_of
from table import Row, Section

import uaos
from uaos.cli import main
from uaos.experiments import TARGETS, Plan, Store, Trace
from uaos.experiments.unit import Finished, outcome

TITLE = "stores"
METHODS, PROBLEMS = 25, 400
AIMS = {"compare": 5.0, "megabytes": 300.0, "resume": 3.0, "report": 40.0}


def run(quick: bool) -> Section:
    repetitions = 2 if quick else 20
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.db"
        runs = fill(path, repetitions)
        size = path.stat().st_size / 1e6
        found: dict[str, float] = {}
        for part in reversed(MEASURED):  # the memory is that of `compare`
            found |= json.loads(output_of(__file__, part, str(path), str(repetitions)))
    rows = tuple(
        Row(what, f"{found[key]:.1f} {unit}", "", "", f"< {AIMS[key]:g} {unit}",
            "yes" if found[key] < AIMS[key] else "no")
        for what, key, unit in (
            ("uaos compare", "compare", "s"), ("largest memory of that", "megabytes", "MB"),
            ("uaos report", "report", "s"), ("what is left to run", "resume", "s"),
        )
    )  # fmt: skip
    how = (
        f"a store of {runs:,} made-up runs with traces, {size:,.0f} MB, in a process of its own: "
        "opened, every row checked. Processor time, imports included. One run for each row."
    )
    return Section(TITLE, how, rows)


def plan_of(repetitions: int) -> Plan:
    """Return copies of one method on 400 problems."""
    base = uaos.configuration("JADE")
    methods = [dataclasses.replace(base, name=f"method {i}") for i in range(METHODS)]
    suite = uaos.Suite("large", [
        uaos.Problem(uaos.problems.sphere, [(-1, 1)] * 20, name=f"p{i}", function=f"f{i % 40}",
                     optimum=0.0, vectorized=True)
        for i in range(PROBLEMS)
    ])  # fmt: skip
    return Plan.of(methods, suite, repetitions=repetitions, budget="10000D", uniform=False)


def fill(path: Path, repetitions: int) -> int:
    """Write the store and return its number of runs."""
    rng, plan = np.random.default_rng(1), plan_of(repetitions)
    at = np.cumsum(rng.integers(1, 1500, 200))
    trace = Trace(at, 10.0 ** np.linspace(4, -3, 200))
    with Store.create_or_resume(path, plan) as store:
        part = []
        for unit in plan.units():
            hits = np.sort(rng.integers(1, 200_000, len(TARGETS)))
            hits[40:] = -1
            made = outcome(
                unit, plan.suite[unit.problem], evaluations=200_000, best=1e-3, error=1e-3,
                hits=hits, trace=trace, seconds=0.5,
            )  # fmt: skip
            part.append(Finished(made, None))
            if len(part) == 5000:
                store.record(part)
                part = []
        store.record(part)
    return len(plan)


def compare(path: Path, repetitions: int) -> dict[str, float]:
    """Return the seconds of `uaos compare`."""
    run_command("compare", str(path))
    return {"compare": process_time()}


def largest_memory() -> float:
    """Return the peak megabytes of this process."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage also counts the process that started this one
        return int(re.findall(r"VmHWM:\s+(\d+) kB", status.read_text())[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def report(path: Path, repetitions: int) -> dict[str, float]:
    """Return the seconds of `uaos report`."""
    run_command("report", str(path), "-o", str(path.with_suffix(".html")), "--overwrite")
    return {"report": process_time()}


def run_command(*words: str) -> None:
    """Run a command of uaos in this process."""
    sys.argv = ["uaos", *words]
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            main()
        except SystemExit as end:
            if end.code:
                raise


def resume(path: Path, repetitions: int) -> dict[str, float]:
    """Return the seconds until the runner knows that nothing is left to run."""
    plan = plan_of(repetitions)
    with Store.create_or_resume(path, plan) as store:
        assert store.missing(plan) == []
    return {"resume": process_time()}


MEASURED = {one.__name__: one for one in (compare, report, resume)}

if __name__ == "__main__":
    store, times = Path(sys.argv[2]), int(sys.argv[3])
    if sys.argv[1] == "fill":
        print(json.dumps({"runs": fill(store, times), "fill": process_time()}))
    else:
        found = MEASURED[sys.argv[1]](store, times)
        print(json.dumps(found | {"megabytes": largest_memory()}))
