"""Share of COCO's targets on bbob-constrained: uaos beside SciPy's methods with restarts.

    python benchmarks/coco_constrained.py run --out courses.jsonl --dimensions 5 --instances 7-10
    python benchmarks/coco_constrained.py table courses.jsonl --csv constrained.csv

COCO's own logger counts, evaluations of the function and of the constraints added up. Targets are
the 41 precisions 10^2, 10^1.8, …, 10^-6 above the optimum, at feasible points. The peers of SciPy
start from COCO's initial solution, and then from random points until the budget is spent. Of runs
with several budgets, the table shows those with the least that suffices. A command that was stopped
goes on where it was.
"""

import argparse
import csv
import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

TARGETS = 10.0 ** np.linspace(2, -6, 41)
EVALUATIONS = (10, 30, 100, 300, 1_000, 3_000, 10_000)
FUNCTIONS = (
    "sphere", "ellipsoid", "linear slope", "rotated ellipsoid", "discus", "bent cigar",
    "different powers", "Rastrigin", "rotated Rastrigin",
)  # fmt: skip

Course = list[tuple[int, float]]


class _Spent(Exception):
    """The budget is spent."""


def with_uaos(method: str | None = None) -> Callable[[Any, int, int], None]:
    """Return a runner of a method, by default the default one.

    A point costs an evaluation of the function and of the constraints.
    """

    def run(problem: Any, budget: int, seed: int) -> None:
        import uaos

        limits = SimpleNamespace(fun=problem.constraint, lb=-np.inf, ub=0.0)
        bounds = np.column_stack([problem.lower_bounds, problem.upper_bounds])
        uaos.minimize(
            problem, bounds, method=method, constraints=limits, x0=problem.initial_solution,
            budget=max(budget // 2, 1), seed=seed, history=False,
        )  # fmt: skip

    return run


def with_pycma(problem: Any, budget: int, seed: int) -> None:
    """Run pycma with its augmented Lagrangian; each restart doubles the population."""
    import cma

    rng = np.random.default_rng(seed)
    low, high = problem.lower_bounds, problem.upper_bounds
    start, size, runs = problem.initial_solution, 0, 0
    options: dict[str, Any] = {
        "verbose": -9, "bounds": [low.tolist(), high.tolist()], "tolstagnation": 200,
    }  # fmt: skip
    while (left := budget - problem.evaluations - problem.evaluations_constraints) > 0:
        options |= {"seed": seed + 1 + runs, "maxfevals": left // 2 + 1}
        if runs:
            options["popsize"] = 2 * size
        search = cma.CMAEvolutionStrategy(start, 2.0, options)
        merit = cma.ConstrainedFitnessAL(problem, problem.constraint)
        while not search.stop():
            points = search.ask()
            search.tell(points, [merit(point) for point in points])
            merit.update(search)
            if problem.evaluations + problem.evaluations_constraints >= budget:
                break
        start, size, runs = rng.uniform(low, high), search.popsize, runs + 1


def with_scipy(method: str) -> Callable[[Any, int, int], None]:
    """Return a runner of a method of SciPy, with restarts."""

    def run(problem: Any, budget: int, seed: int) -> None:
        from scipy.optimize import minimize

        rng = np.random.default_rng(seed)

        def counted(function: Callable[[Any], Any], sign: float) -> Callable[[Any], Any]:
            def call(x: Any) -> Any:
                if problem.evaluations + problem.evaluations_constraints >= budget:
                    raise _Spent
                return sign * np.asarray(function(x))

            return call

        limits: Any = {"type": "ineq", "fun": counted(problem.constraint, -1.0)}
        if method == "COBYQA":
            from scipy.optimize import NonlinearConstraint

            limits = NonlinearConstraint(counted(problem.constraint, 1.0), -np.inf, 0.0)
        bounds = np.column_stack([problem.lower_bounds, problem.upper_bounds])
        start = problem.initial_solution
        try:
            while True:
                minimize(
                    counted(problem, 1.0), start, method=method, bounds=bounds, constraints=limits
                )
                start = rng.uniform(problem.lower_bounds, problem.upper_bounds)
        except _Spent:
            return

    return run


CONTENDERS: dict[str, Callable[[Any, int, int], None]] = {
    "uaos": with_uaos(),
    "CMA-ES": with_uaos("CMA-ES"),
    "mix": with_uaos("mix"),
    "pycma": with_pycma,
    "SLSQP": with_scipy("SLSQP"),
    "COBYLA": with_scipy("COBYLA"),
    "COBYQA": with_scipy("COBYQA"),
}


def _course(folder: str) -> Course:
    """Return evaluations and the best error by then, of the only run in a folder of COCO's."""
    (file,) = Path(folder).glob("**/data_f*/*.dat")
    rows = [line.split() for line in file.read_text().splitlines() if not line.startswith("%")]
    return [(int(row[0]) + int(row[1]), float(row[2])) for row in rows]


def measure(name: str, problem: Any, budget: int, seed: int) -> Course:
    """Run a contender on a problem, and return the course that COCO's logger has written."""
    import cocoex

    with tempfile.TemporaryDirectory() as folder:
        options = f"outer_folder:{folder} result_folder:{name}"
        problem.observe_with(cocoex.Observer("bbob-constrained", options))
        CONTENDERS[name](problem, budget, seed)
        problem.free()
        return _course(folder)


def run(given: argparse.Namespace) -> None:
    """Run the contenders, and append a line for each run."""
    import cocoex

    cocoex.log_level("warning")
    out = Path(given.out)
    lines = out.read_text().splitlines() if out.exists() else []
    keys = "contender", "dimension", "function", "instance", "budget"
    present = {tuple(json.loads(line)[key] for key in keys) for line in lines}
    options = f"dimensions:{given.dimensions}"
    if given.functions:
        options += f" function_indices:{given.functions}"
    suite = cocoex.Suite("bbob-constrained", f"instances:{given.instances}", options)
    with out.open("a") as file:
        for problem in suite:
            function, _, instance = problem.id_triple
            for name in given.only.split(","):
                run_key = name, problem.dimension, function, instance, given.budget
                if run_key in present:
                    continue
                again = suite.get_problem(problem.id)
                start = time.process_time()
                seed = 1000 * instance + function
                course = measure(name, again, given.budget * problem.dimension, seed)
                seconds = round(time.process_time() - start, 2)
                found = dict(zip(keys, run_key, strict=True), seconds=seconds, course=course)
                file.write(json.dumps(found) + "\n")
                file.flush()


def reached(course: Course, evaluations: float) -> float:
    """Return the share of targets reached after a number of evaluations."""
    best = min([error for n, error in course if n <= evaluations] or [np.inf])
    return float(np.mean(best <= TARGETS * (1 + 1e-9)))


def rows(files: list[str], by_function: bool) -> Iterator[dict[str, object]]:
    """Yield the mean shares by dimension, budget and contender, perhaps also by function."""
    lines = [line for file in files for line in Path(file).read_text().splitlines()]
    runs = [json.loads(line) for line in lines]
    budgets = defaultdict(set)
    for found in runs:
        budgets[found["contender"], found["dimension"]].add(found["budget"])
    shares: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    instances: dict[tuple[Any, ...], set[int]] = defaultdict(set)
    for found in runs:
        number = found["function"] - 1
        names = (FUNCTIONS[number // 6], number % 6) if by_function else ("", 0)
        smaller = [
            n for n in budgets[found["contender"], found["dimension"]] if n < found["budget"]
        ]
        for at in (n for n in EVALUATIONS if max(smaller, default=0) < n <= found["budget"]):
            key = found["dimension"], at, names, found["contender"]
            shares[key].append(reached(found["course"], at * found["dimension"]))
            instances[key].add(found["instance"])
    for (dimension, at, names, contender), values in sorted(shares.items()):
        numbers = sorted(instances[dimension, at, names, contender])
        yield {
            "dimension": dimension, "evaluations_per_dimension": at,
            **({"function": names[0], "constraints": names[1]} if by_function else {}),
            "contender": contender, "instances": " ".join(map(str, numbers)), "runs": len(values),
            "share": f"{np.mean(values):.3f}",
        }  # fmt: skip


def table(given: argparse.Namespace) -> None:
    """Print the shares, or write them to a file."""
    found = list(rows(given.files, given.by_function))
    if given.csv:
        with open(given.csv, "w", newline="") as file:
            writer = csv.DictWriter(file, found[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(found)
    for row in found:
        print(*row.values(), sep=" | ")


def main() -> None:
    """Run contenders, or show what they have reached."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    runs = commands.add_parser("run", help="run the contenders")
    runs.add_argument("--out", required=True, help="file of the courses, one line per run")
    runs.add_argument("--dimensions", default="5")
    runs.add_argument("--instances", default="7-10")
    runs.add_argument("--functions", help="numbers, 1 to 54; all unless given")
    runs.add_argument("--budget", type=int, default=100, help="evaluations per dimension")
    runs.add_argument("--only", default="uaos,SLSQP,COBYLA", help="names, separated by commas")
    runs.set_defaults(command=run)
    tables = commands.add_parser("table", help="show the share of targets reached")
    tables.add_argument("files", nargs="+")
    tables.add_argument("--csv", help="write the table to this file")
    tables.add_argument("--by-function", action="store_true")
    tables.set_defaults(command=table)
    given = parser.parse_args()
    given.command(given)


if __name__ == "__main__":
    main()
