"""Run the recipes of `uaos.optimizers.winners` on the functions of competitions, beside others.

    python benchmarks/winners.py winners.csv --suite cec2022 --contenders "jSO;minion jSO"

Functions: CEC-2017 without f2 (as in the competition) or CEC-2022, both from minionpy. One row per
run is appended to the CSV file; runs that are in it are skipped. A contender is a name of the
catalogue; such a name followed by `, resample`, to redraw coordinates outside the box; or `minion`
and a name of that package, with its defaults. `docs/make_results.py` makes the tables.
"""

import argparse
import csv
from itertools import product
from pathlib import Path
from time import process_time

from outside import Objective
from outside_problems import _cec

from uaos import minimize

SUITES = {"cec2017": (2017, [f for f in range(1, 31) if f != 2]), "cec2022": (2022, range(1, 13))}
COLUMNS = ("suite", "dimension", "budget", "function", "contender", "seed", "error",
           "evaluations", "seconds")  # fmt: skip


def best_error(problem, contender: str, budget: int, seed: int) -> tuple[float, int]:
    """Return the lowest error of a run, and its evaluations."""
    objective = Objective(problem, budget)
    if contender.startswith("minion "):
        import minionpy

        minionpy.Minimizer(
            lambda X: objective.evaluate(X).tolist(), problem.bounds,
            algo=contender.removeprefix("minion "), maxevals=budget, seed=seed,
        ).optimize()  # fmt: skip
    else:
        name, _, boundary = contender.partition(", ")
        minimize(
            objective.evaluate, problem.bounds, method=name, budget=budget, seed=seed,
            vectorized=True, **({"boundary": boundary} if boundary else {}),
        )  # fmt: skip
    return objective.best - problem.optimum, objective.used


def run(
    suite: str, dimension: int, budget: int, contenders: list[str], seeds: int, out: Path
) -> None:
    """Append the runs that the file lacks, seed by seed: an interrupted run is a smaller one."""
    done = set()
    if out.exists():
        with out.open() as file:
            done = {tuple(row[c] for c in COLUMNS[:6]) for row in csv.DictReader(file)}
    year, functions = SUITES[suite]
    problems = {function: _cec(year, function, dimension) for function in functions}
    with out.open("a", newline="") as file:
        write = csv.writer(file)
        if not done:
            write.writerow(COLUMNS)
        for seed, (function, problem), name in product(
            range(1, seeds + 1), problems.items(), contenders
        ):
            key = tuple(map(str, (suite, dimension, budget, function, name, seed)))
            if key not in done:
                start = process_time()
                error, used = best_error(problem, name, budget * dimension, seed)
                write.writerow((*key, repr(error), used, f"{process_time() - start:.3f}"))
                file.flush()


def main() -> None:
    """Parse the arguments."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--suite", choices=SUITES, default="cec2017")
    parser.add_argument("--dimension", type=int, default=10)
    parser.add_argument("--budget", type=int, default=10_000, help="in multiples of the dimension")
    parser.add_argument("--contenders", required=True, help="separated by ;")
    parser.add_argument("--seeds", type=int, default=15)
    options = parser.parse_args()
    run(options.suite, options.dimension, options.budget, options.contenders.split(";"),
        options.seeds, options.out)  # fmt: skip


if __name__ == "__main__":
    main()
