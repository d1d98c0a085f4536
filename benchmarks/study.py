"""A small study: five methods on eight BBOB functions in 10-D, as a table and a picture.

    make study            (about half a minute on two cores; writes the folder study/)

Each method runs three times on each function, with at most 100,000 evaluations. The table gives the
median evaluations to f_opt + 1e-8, or the median error where a function was not solved; the picture
shows what one adaptive method did on the Rosenbrock function.
"""

import argparse
import csv
import statistics
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.progress import track
from rich.table import Table

import uaos
from uaos.problems import BBOB

METHODS = ("mix", "RecPM-tuned", "Compass-tuned", "JADE", "uniform")
FUNCTIONS = (1, 3, 6, 8, 10, 13, 17, 21)
SEEDS = (1, 2, 3)
DIMENSION, BUDGET, SOLVED = 10, 100_000, 1e-8


class Run(NamedTuple):
    method: str
    function: int
    seed: int


class Outcome(NamedTuple):
    error: float
    evaluations: int


def outcome(run: Run) -> Outcome:
    problem = BBOB(run.function, DIMENSION, run.seed)
    result = uaos.minimize(
        problem, problem.bounds, method=run.method, budget=BUDGET, seed=run.seed,
        target=problem.f_opt + SOLVED, history=False,
    )  # fmt: skip
    return Outcome(result.fun - problem.f_opt, result.nfev)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("study"), help="where results go")
    parser.add_argument("--jobs", type=int, default=None, help="processes (default: all cores)")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    console = Console()
    runs = [Run(m, f, s) for f in FUNCTIONS for m in METHODS for s in SEEDS]
    with ProcessPoolExecutor(arguments.jobs) as pool:
        found = track(pool.map(outcome, runs), f"{len(runs)} runs", len(runs), console=console)
        outcomes = dict(zip(runs, found, strict=True))
    console.print(_table(outcomes))
    _write(arguments.folder / "runs.csv", outcomes)
    _draw(arguments.folder / "operators.png")
    console.print(f"every run: {arguments.folder / 'runs.csv'}")
    console.print(f"operators at work: {arguments.folder / 'operators.png'}")


def _table(outcomes: dict[Run, Outcome]) -> Table:
    title = f"BBOB {DIMENSION}-D: median evaluations to {SOLVED:g}, or (median error)"
    table = Table(title=title)
    table.add_column("function")
    for method in METHODS:
        table.add_column(method, justify="right")
    solved = dict.fromkeys(METHODS, 0)
    for f in FUNCTIONS:
        cells = []
        for method in METHODS:
            mine = [outcomes[Run(method, f, s)] for s in SEEDS]
            hits = [o.evaluations for o in mine if o.error <= SOLVED]
            solved[method] += len(hits)
            error = statistics.median(o.error for o in mine)
            full = len(hits) * 2 > len(mine)
            cells.append(f"{statistics.median(hits):,.0f}" if full else f"({error:.1e})")
        table.add_row(f"f{f} {BBOB(f, DIMENSION).name}", *cells)
    table.add_section()
    total = len(FUNCTIONS) * len(SEEDS)
    table.add_row("solved runs", *(f"{solved[m]} of {total}" for m in METHODS))
    return table


def _write(path: Path, outcomes: dict[Run, Outcome]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*Run._fields, *Outcome._fields])
        writer.writerows([*run, *found] for run, found in outcomes.items())


def _draw(path: Path) -> None:
    problem = BBOB(8, 20, 1)
    result = uaos.minimize(
        problem, problem.bounds, method="Compass", budget=200_000, seed=2,
        target=problem.f_opt + SOLVED,
    )  # fmt: skip
    assert result.history is not None
    result.history.plot(path, f_opt=problem.f_opt)


if __name__ == "__main__":
    main()
