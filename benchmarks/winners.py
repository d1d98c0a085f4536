"""Run the recipes of `uaos.optimizers.winners` on the functions of competitions, beside others.

    python benchmarks/winners.py run --suite cec2022 --budget 2000 --contenders "jSO;minion jSO"
    python benchmarks/winners.py page runs.csv …

Functions: CEC-2017 without f2 (as in the competition) or CEC-2022, both from minionpy. `run`
appends one row per run to the CSV file and skips the runs that are in it. A contender is a name of
the catalogue; such a name followed by `, resample`, to redraw coordinates outside the box; or
`minion` and a name of that package, with its defaults.

`page` writes tables into docs/results/winners.md: for each suite, dimension and budget the mean
rank of each contender by its mean error over the seeds that all contenders have; errors up to 1e-8
are 0; and each recipe beside minionpy's version: the functions on which its errors are
significantly lower, not different and higher (Mann-Whitney's test, two-sided, 5 %; below five runs
the mean errors are counted), and Wilcoxon's signed-rank test on the mean errors of all functions.
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

from uaos import minimize
from uaos.statistics import rank_rows, rank_sum_test, wilcoxon_test

#: Recipes and their names in minionpy. Its jSO redraws coordinates outside the box.
PEERS = {"L-SHADE": "LSHADE", "jSO": "jSO", "jSO, resample": "jSO", "L-SRTDE": "LSRTDE"}
SUITES = {"cec2017": (2017, [f for f in range(1, 31) if f != 2]), "cec2022": (2022, range(1, 13))}
SOLVED, LEVEL, FEW = 1e-8, 0.05, 5
PAGE = Path(__file__).parents[1] / "docs" / "results" / "winners.md"
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


def write_page(runs: list[Path]) -> None:
    """Put the tables of the runs into their place on the page."""
    begin, end = "<!-- runs -->\n", "<!-- end of runs -->"
    before, _, rest = PAGE.read_text("utf-8").partition(begin)
    after = rest.partition(end)[2]
    PAGE.write_text(f"{before}{begin}\n{tables(runs).strip()}\n\n{end}{after}", "utf-8")


def tables(paths: list[Path]) -> str:
    """Return the tables of every suite, dimension and budget in the files as Markdown."""
    experiments: dict[tuple[str, ...], dict[str, dict[tuple[str, int], float]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    for path in paths:
        with path.open() as file:
            for row in csv.DictReader(file):
                error = float(row["error"])
                cell = row["function"], int(row["seed"])
                experiment = experiments[row["suite"], row["dimension"], row["budget"]]
                experiment[row["contender"]][cell] = error if error > SOLVED else 0.0
    parts = []
    for (suite, dimension, budget), errors in experiments.items():
        functions = [str(f) for f in SUITES[suite][1]]
        seeds = sorted(set.intersection(*({s for _, s in cells} for cells in errors.values())))
        seeds = [s for s in seeds if all((f, s) in c for c in errors.values() for f in functions)]
        name = suite.replace("cec", "CEC-")
        counted = f"{len(seeds)} run{'s' * (len(seeds) > 1)}"
        title = f"{name}, {dimension}-D, {int(budget):,}·D evaluations, {counted}"
        runs = {
            name: np.array([[cells[f, s] for s in seeds] for f in functions])
            for name, cells in errors.items()
        }
        parts += [f"### {title}\n", _ranks(runs), _beside_peers(runs, functions)]
    return "\n".join(parts)


def _ranks(runs: dict[str, np.ndarray]) -> str:
    means = np.array([errors.mean(axis=1) for errors in runs.values()]).T
    ranks = rank_rows(means).mean(axis=0)
    best = means == means.min(axis=1, keepdims=True)
    lines = ["| contender | mean rank | best on | runs to 1e-8 |", "|---|--:|--:|--:|"]
    for k in np.argsort(ranks, kind="stable"):
        name, errors = list(runs.items())[k]
        lines.append(
            f"| {name} | {ranks[k]:.2f} | {best[:, k].sum()} | {(errors == 0).mean():.0%} |"
        )
    return "\n".join(lines) + "\n"


def _beside_peers(runs: dict[str, np.ndarray], functions: list[str]) -> str:
    tested = len(next(iter(runs.values()))[0]) >= FEW
    outcomes = ("better", "no difference", "worse") if tested else ("lower mean", "equal", "higher")
    lines = [f"| recipe | minionpy's | {' | '.join(outcomes)} | p, all functions |",
             "|---|---|--:|--:|--:|--:|"]  # fmt: skip
    for name, peer in PEERS.items():
        if name not in runs or f"minion {peer}" not in runs:
            continue
        ours, theirs = runs[name], runs[f"minion {peer}"]
        better, worse = [], []
        for function, a, b in zip(functions, ours, theirs, strict=True):
            if len(a) < FEW:
                differ, lower = a.mean() != b.mean(), a.mean() < b.mean()
            else:
                (p,), (lean,) = rank_sum_test(a, b)
                differ, lower = p < LEVEL, lean < 0
            if differ:
                (better if lower else worse).append(f"f{function}")
        (p,), _ = wilcoxon_test(ours.mean(axis=1) - theirs.mean(axis=1))
        same = len(functions) - len(better) - len(worse)
        cells = (
            f"{len(x)} ({', '.join(x)})" if x and tested else str(len(x)) for x in (better, worse)
        )
        lines.append(f"| {name} | {peer} | {next(cells)} | {same} | {next(cells)} | {p:.2g} |")
    return "\n".join(lines) + "\n" if len(lines) > 2 else ""


def main() -> None:
    """Parse the arguments."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run")
    runs.add_argument("--suite", choices=SUITES, default="cec2017")
    runs.add_argument("--dimension", type=int, default=10)
    runs.add_argument("--budget", type=int, default=10_000, help="in multiples of the dimension")
    runs.add_argument("--contenders", required=True, help="separated by ;")
    runs.add_argument("--seeds", type=int, default=15)
    runs.add_argument("--out", type=Path, default=Path("runs.csv"))
    page = commands.add_parser("page")
    page.add_argument("runs", type=Path, nargs="+")
    options = parser.parse_args()
    if options.command == "run":
        run(options.suite, options.dimension, options.budget, options.contenders.split(";"),
            options.seeds, options.out)  # fmt: skip
    else:
        write_page(options.runs)


if __name__ == "__main__":
    main()
