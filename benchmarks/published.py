"""What our engine solves on BBOB in 20-D, beside what is published.

    python benchmarks/published.py            (about five minutes on two cores)

1. `mix` on f1 to f14 and JADE on f1 to f5, instances 6 to 8, at most 2,000,000 evaluations: how
   many runs reach f_opt + 1e-8?
2. RecPM-tuned and U-AOS-FW with the settings their authors ran them with: the median evaluations to
   f_opt + 1e-8 over five instances, beside the published average running time to 1e-7.
"""

import argparse
import statistics
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

from rich.console import Console
from rich.progress import track
from rich.table import Table

import uaos
from uaos.analysis.published import PAPER
from uaos.problems import BBOB, reference

BUDGET = 2_000_000

# Published average running times to 1e-7 on 20-D BBOB: the printed ratio to best2009, times the
# running time of best2009 (Sharma, López-Ibáñez and Kazakov 2020, arXiv 2005.05613).
FUNCTIONS = {"RecPM-tuned": (1, 2, 6, 8, 10, 13), "U-AOS-FW": (1, 2, 6)}
PUBLISHED = {
    method: {
        int(cell.function[1:]): round(cell.art)
        for cell in reference("bbob").published("paper")
        if (cell.algorithm, cell.target) == (PAPER[method][0], 1e-7)
        and int(cell.function[1:]) in chosen
    }
    for method, chosen in FUNCTIONS.items()
}
ALLOWED = 1.5
INSTANCES = {"solved": (6, 7, 8), "published": (2, 3, 4, 5, 6)}


class Run(NamedTuple):
    method: str
    function: int
    instance: int


def evaluations(run: Run) -> tuple[Run, int | None]:
    """Return the evaluations until solved, or None."""
    problem = BBOB(run.function, 20, run.instance)
    result = uaos.minimize(
        problem, problem.bounds, method=run.method, budget=BUDGET, seed=run.instance,
        target=problem.optimum + 1e-8, history=False,
    )  # fmt: skip
    solved = result.fun <= problem.optimum + 1e-8
    return run, result.nfev if solved else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=None, help="processes (default: all cores)")
    jobs = parser.parse_args().jobs
    console = Console()
    first = [Run("mix", f, i) for f in range(1, 15) for i in INSTANCES["solved"]]
    first += [Run("JADE", f, i) for f in range(1, 6) for i in INSTANCES["solved"]]
    second = [Run(m, f, i) for m in PUBLISHED for f in PUBLISHED[m] for i in INSTANCES["published"]]
    with ProcessPoolExecutor(jobs) as pool:
        done = pool.map(evaluations, [*first, *second])
        label = f"{len(first) + len(second)} runs"
        spent = dict(track(done, label, total=len(first) + len(second), console=console))
    console.print(_solved(first, spent))
    console.print(_published(spent))


def _solved(runs: list[Run], spent: dict[Run, int | None]) -> Table:
    table = Table(title="solved to 1e-8 within 2,000,000 evaluations, instances 6 to 8")
    for column in ("method", "function", "solved", "evaluations, median of the solved"):
        table.add_column(column, justify="left" if column == "method" else "right")
    for method in dict.fromkeys(run.method for run in runs):
        mine = [run for run in runs if run.method == method]
        for f in dict.fromkeys(run.function for run in mine):
            hits = [spent[run] for run in mine if run.function == f]
            times = [t for t in hits if t is not None]
            middle = f"{statistics.median(times):,.0f}" if times else "-"
            table.add_row(method, f"f{f}", f"{len(times)} of {len(hits)}", middle)
        total = sum(spent[run] is not None for run in mine)
        table.add_row(f"[bold]{method}", "[bold]all", f"[bold]{total} of {len(mine)}", "")
        table.add_section()
    return table


def _published(spent: dict[Run, int | None]) -> Table:
    table = Table(title="evaluations to 1e-8, median of five instances, beside the published aRT")
    for column in ("method", "function", "solved", "ours", "published", "ratio", f"<= {ALLOWED}"):
        table.add_column(column, justify="left" if column == "method" else "right")
    for method, functions in PUBLISHED.items():
        for f, art in functions.items():
            hits = [spent[Run(method, f, i)] for i in INSTANCES["published"]]
            # A run that did not solve the problem took longer than any that did.
            middle = statistics.median(BUDGET * 10 if t is None else t for t in hits)
            count = f"{sum(t is not None for t in hits)} of {len(hits)}"
            solved = middle <= BUDGET
            ours, ratio = (f"{middle:,.0f}", f"{middle / art:.2f}") if solved else ("unsolved", "-")
            met = "yes" if middle <= ALLOWED * art else "NO"
            table.add_row(method, f"f{f}", count, ours, f"{art:,}", ratio, met)
    return table


if __name__ == "__main__":
    main()
