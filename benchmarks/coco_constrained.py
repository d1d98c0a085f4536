"""Share of COCO's targets on bbob-constrained: uaos beside SciPy's SLSQP and COBYLA with restarts.

    python benchmarks/coco_constrained.py --dimensions 5,10 --instances 6-10 --budget 100

COCO's own logger counts, evaluations of the function and of the constraints added up. Targets are
the 41 precisions 10^2, 10^1.8, …, 10^-6 above the optimum, at feasible points. The peers of SciPy
start from COCO's initial solution, and then from random points until the budget is spent.
"""

import argparse
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cocoex
import numpy as np

import uaos

TARGETS = 10.0 ** np.linspace(2, -6, 41)
EVALUATIONS = (10, 30, 100, 300, 1_000, 3_000, 10_000)


Course = list[tuple[int, float]]


class _Spent(Exception):
    """The budget is spent."""


def with_uaos(problem: Any, budget: int, seed: int) -> None:
    """Run the default method; a point costs an evaluation of the function and the constraints."""
    limits = SimpleNamespace(fun=problem.constraint, lb=-np.inf, ub=0.0)
    bounds = np.column_stack([problem.lower_bounds, problem.upper_bounds])
    points = max(budget // 2, 1)
    uaos.minimize(
        problem, bounds, constraints=limits, x0=problem.initial_solution, budget=points, seed=seed,
        history=False,
    )  # fmt: skip


def with_scipy(method: str) -> Callable[[Any, int, int], None]:
    """Return a runner of a method of SciPy, with restarts."""

    def run(problem: Any, budget: int, seed: int) -> None:
        from scipy.optimize import minimize

        rng = np.random.default_rng(seed)

        def counted(function: Callable[[Any], Any], sign: float) -> Callable[[Any], Any]:
            def call(x: Any) -> Any:
                if problem.evaluations + problem.evaluations_constraints >= budget:
                    raise _Spent
                return sign * function(x)

            return call

        limits = {"type": "ineq", "fun": counted(problem.constraint, -1.0)}
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
    "uaos": with_uaos,
    "SLSQP": with_scipy("SLSQP"),
    "COBYLA": with_scipy("COBYLA"),
}


def measure(name: str, dimension: int, instances: str, budget: int) -> list[Course]:
    """Return, for each run, evaluations and the best error by then."""
    with tempfile.TemporaryDirectory() as folder:
        observer = cocoex.Observer(
            "bbob-constrained", f"outer_folder:{folder} result_folder:{name}"
        )
        suite = cocoex.Suite(
            "bbob-constrained", f"instances:{instances}", f"dimensions:{dimension}"
        )
        for number, problem in enumerate(suite):
            problem.observe_with(observer)
            CONTENDERS[name](problem, budget * dimension, number)
            problem.free()
        files = sorted(Path(folder).glob("**/data_f*/*.dat"))
        courses: list[Course] = []
        for file in files:
            for line in file.read_text().splitlines():
                if re.match("%", line):
                    courses.append([])
                else:
                    cells = line.split()
                    courses[-1].append((int(cells[0]) + int(cells[1]), float(cells[2])))
    return courses


def share(courses: list[Course], evaluations: int) -> float:
    """Return the mean share of targets reached after so many evaluations."""
    bests = [min([e for n, e in c if n <= evaluations] or [np.inf]) for c in courses]
    return float(np.mean([np.mean(best <= TARGETS * (1 + 1e-9)) for best in bests]))


def main() -> None:
    """Print the table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dimensions", default="5")
    parser.add_argument("--instances", default="6-10")
    parser.add_argument("--budget", type=int, default=100, help="evaluations per dimension")
    parser.add_argument("--only", help="names, separated by commas")
    given = parser.parse_args()
    names = given.only.split(",") if given.only else list(CONTENDERS)
    print("| D | evaluations | " + " | ".join(names) + " |\n|---|---|" + "---|" * len(names))
    for dimension in map(int, given.dimensions.split(",")):
        measured = [measure(name, dimension, given.instances, given.budget) for name in names]
        for each in [n for n in EVALUATIONS if n <= given.budget]:
            cells = [f"{share(courses, each * dimension):.3f}" for courses in measured]
            print(f"| {dimension} | {each:,}·D | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
