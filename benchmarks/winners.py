"""Compare the recipes of `uaos.optimizers.winners` with other implementations of the same methods.

    python benchmarks/winners.py run --recipes jSO,L-SRTDE --seeds 15 --out runs.csv
    python benchmarks/winners.py table runs.csv

Functions: CEC-2017 in 10-D without f2 (as in the competition), or CEC-2022 in 10-D (`--suite`);
10,000·D evaluations unless `--budget` says otherwise. `run` appends one row a run to the CSV file
and skips the runs that are in it.
`table` counts, for each recipe and each peer, the functions on which the errors of the recipe are
significantly lower or higher: Mann-Whitney's test, two-sided, at 5 %. Errors up to 1e-8 are 0.

Peers are the C++ versions of the package minionpy, with its defaults. How points are brought back
into the box matters much on some functions, and minionpy has other repairs than the originals: so
that implementations are compared, and not repairs, both sides draw such coordinates anew. Its IMODE
adds a local search, its NL-SHADE-RSP learns from the last F drawn (see `uaos methods`).
"""

import argparse
import csv
from collections import defaultdict
from itertools import product
from pathlib import Path
from time import process_time

import numpy as np
from outside import Objective
from outside_problems import _cec
from rich.console import Console
from rich.table import Table

from uaos import minimize

#: The name of each recipe in minionpy.
PEERS = {"L-SHADE": "LSHADE", "jSO": "jSO", "NL-SHADE-RSP": "NLSHADE_RSP", "IMODE": "IMODE",
         "L-SRTDE": "LSRTDE"}  # fmt: skip
SUITES = {"cec2017": (2017, [f for f in range(1, 31) if f != 2]), "cec2022": (2022, range(1, 13))}
DIMENSION, BUDGET, SOLVED, LEVEL = 10, 10_000, 1e-8, 0.05
COLUMNS = ("suite", "budget", "function", "contender", "seed", "error", "evaluations", "seconds")


def _run_uaos(objective: Objective, method: str, seed: int) -> None:
    minimize(
        objective.evaluate, objective.problem.bounds, method=method, budget=objective.left,
        seed=seed, vectorized=True, boundary="resample",
    )  # fmt: skip


def _run_minion(objective: Objective, algorithm: str, seed: int) -> None:
    import minionpy

    minionpy.Minimizer(
        lambda X: objective.evaluate(X).tolist(), objective.problem.bounds, algo=algorithm,
        maxevals=objective.left, seed=seed, options={"bound_strategy": "random"},
    ).optimize()  # fmt: skip


def run(suite: str, budget: int, recipes: list[str], seeds: int, out: Path, alone: bool) -> None:
    """Run the recipes and, unless they are run alone, their peers."""
    done = set()
    if out.exists():
        with out.open() as file:
            done = {tuple(row[c] for c in COLUMNS[:5]) for row in csv.DictReader(file)}
    year, functions = SUITES[suite]
    contenders = [(name, _run_uaos, name) for name in recipes]
    if not alone:
        contenders += [(f"minion {PEERS[n]}", _run_minion, PEERS[n]) for n in recipes]
    with out.open("a", newline="") as file:
        write = csv.writer(file)
        if not done:
            write.writerow(COLUMNS)
        problems = {function: _cec(year, function, DIMENSION) for function in functions}
        # Seed by seed, so that an interrupted run is a smaller one.
        for seed, (function, problem), (name, runner, argument) in product(
            range(1, seeds + 1), problems.items(), contenders
        ):
            key = (suite, str(budget), str(function), name, str(seed))
            if key in done:
                continue
            objective, start = Objective(problem, budget * DIMENSION), process_time()
            runner(objective, argument, seed)
            error, seconds = objective.best - problem.optimum, process_time() - start
            write.writerow((*key, repr(error), objective.used, f"{seconds:.3f}"))
            file.flush()


def table(paths: list[Path]) -> Table:
    """Return how often each recipe is better or worse than its peers."""
    from scipy.stats import mannwhitneyu

    errors: dict[tuple[str, str], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
    for path in paths:
        with path.open() as file:
            for row in csv.DictReader(file):
                key = f"{row['suite']}, {row['budget']}D", row["contender"]
                error = float(row["error"])
                errors[key][int(row["function"])].append(error if error > SOLVED else 0.0)
                seconds[key].append(float(row["seconds"]))
    made = Table("suite", "recipe", "peer", "runs, both", "functions", "better", "equal", "worse",
                 "worse on", "seconds a run, both")  # fmt: skip
    for (suite, name), found in errors.items():
        other = f"minion {PEERS.get(name)}"
        theirs = errors.get((suite, other))
        if theirs is None:
            continue
        better, worse = [], []
        shared = sorted(found.keys() & theirs.keys())
        for function in shared:
            a, b = np.array(found[function]), np.array(theirs[function])
            if np.unique([*a, *b]).size > 1 and mannwhitneyu(a, b).pvalue < LEVEL:
                lower = mannwhitneyu(a, b, alternative="less").pvalue < LEVEL
                (better if lower else worse).append(function)
        runs = [min(len(e[f]) for f in shared) for e in (found, theirs)]
        made.add_row(
            suite, name, other, f"{runs[0]}, {runs[1]}", str(len(shared)), str(len(better)),
            str(len(shared) - len(better) - len(worse)), str(len(worse)),
            " ".join(f"f{f}" for f in worse),
            ", ".join(f"{np.mean(seconds[suite, c]):.2f}" for c in (name, other)),
        )  # fmt: skip
    return made


def main() -> None:
    """Parse the arguments."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run")
    runs.add_argument("--suite", choices=SUITES, default="cec2017")
    runs.add_argument("--budget", type=int, default=BUDGET, help="in multiples of the dimension")
    runs.add_argument("--recipes", default=",".join(PEERS))
    runs.add_argument("--seeds", type=int, default=15)
    runs.add_argument("--alone", action="store_true", help="without peers")
    runs.add_argument("--out", type=Path, required=True)
    shows = commands.add_parser("table")
    shows.add_argument("files", type=Path, nargs="+")
    given = parser.parse_args()
    if given.command == "run":
        run(
            given.suite, given.budget, given.recipes.split(","), given.seeds, given.out, given.alone
        )
    else:
        Console(width=160).print(table(given.files))


if __name__ == "__main__":
    main()
