"""`uaos run`: one method on one problem, watched live."""

import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from uaos.cli.app import INTERRUPTED, app, console
from uaos.cli.options import Overwrite, SuiteName
from uaos.errors import Missing
from uaos.experiments import FINAL
from uaos.experiments.plan import parse_budget
from uaos.files import check_output
from uaos.minimization import PORTFOLIO, minimize_problem
from uaos.optimizers.catalogue import RECOMMENDED
from uaos.pictures import PICTURES
from uaos.problems import BBOB, Problem
from uaos.problems import suite as suite_called
from uaos.result import Result, RunView, Status
from uaos.text import count


# fmt: off
@app.command(
    "run",
    epilog="Example: [bold]uaos run --function 8 --dim 20 --method U-AOS-FW --seed 1 "
    "--plot run.png[/]",
)
def run(
    suite: SuiteName = "bbob",
    problem: Annotated[str | None, typer.Option(
        metavar="NAME", help="Run on this problem of --suite FILE.py.")] = None,
    function: Annotated[int | None, typer.Option(
        help="Choose the BBOB function, 1 to 24 (default: 8).")] = None,
    dim: Annotated[int | None, typer.Option(
        help="Choose the BBOB dimension: 2, 3, 5, 10, 20 or 40 (default: 20).")] = None,
    instance: Annotated[int | None, typer.Option(
        help="Choose the BBOB instance, 1 to 1000 (default: 1).")] = None,
    method: Annotated[str | None, typer.Option(
        help="Run this method: a name (see `uaos methods`) or a configuration file (.toml); "
        "default: portfolio, or mix with --popsize.")] = None,
    seed: Annotated[int | None, typer.Option(help="Make the result repeatable.")] = None,
    budget: Annotated[str, typer.Option(
        help="Limit the evaluations: a number, or a multiple of the dimension.")] = "10000D",
    popsize: Annotated[int | None, typer.Option(
        help="Set the population size (default: the method's).")] = None,
    plot: Annotated[Path | None, typer.Option(
        help="Draw the run into this file (.png, .svg or .pdf).")] = None,
    overwrite: Overwrite = False,
) -> None:
    # fmt: on
    """Run a method on a problem: evaluations, best value and operator use, live."""
    if plot is not None:
        check_output(plot, suffixes=PICTURES, overwrite=overwrite)
    if suite == "bbob":
        chosen: Problem = BBOB(
            *(default if given is None else given
              for given, default in ((function, 8), (dim, 20), (instance, 1)))
        )  # fmt: skip
    else:
        only_bbob = {"functions": function, "dimension": dim, "instances": instance}
        chosen = _problem(suite, problem, **only_bbob)
    limit = parse_budget(budget, chosen.dimension)
    name = method or (PORTFOLIO if popsize is None else RECOMMENDED)
    panel = _Panel(chosen, name, limit)
    # A file or a pipe gets the summary alone.
    with Live(console=console, refresh_per_second=10, transient=True, auto_refresh=False) as live:

        def show(state: RunView) -> None:
            if console.is_terminal and panel.is_due():
                live.update(panel.drawn(state), refresh=True)

        result = minimize_problem(
            chosen, method=method, budget=limit, seed=seed, popsize=popsize,
            target=None if chosen.optimum is None else chosen.optimum + FINAL, callback=show,
        )  # fmt: skip
    console.print(_summary(chosen, name, result, panel.seconds))
    if plot is not None and result.history is not None:
        result.history.plot(plot, f_opt=chosen.optimum)
        console.print(Text(f"drawn: {plot}"))
    if result.status == Status.INTERRUPTED:
        sys.exit(INTERRUPTED)


def _problem(file: str, name: str | None, **only_bbob: Any) -> Problem:
    chosen = suite_called(file, **only_bbob)
    if name is None and len(chosen) > 1:
        raise Missing(f"Missing option --problem, one of: {', '.join(chosen.names)}")
    return chosen[0 if name is None else name]


def _best(problem: Problem, value: float) -> tuple[str, str]:
    """What is best so far: the error where the optimum is known."""
    if problem.optimum is None:
        return "best", f"{value:.6g}"
    return "best - f_opt", f"{value - problem.optimum:.3e}"


class _Panel:
    """The live picture of a run, drawn ten times a second at most."""

    def __init__(self, problem: Problem, method: str, budget: int) -> None:
        self.problem, self.method, self.budget = problem, method, budget
        self.start = time.perf_counter()
        self._next = 0.0

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.start

    def is_due(self) -> bool:
        due = self.seconds >= self._next
        if due:
            self._next = self.seconds + 0.1
        return due

    def drawn(self, state: RunView) -> RenderableType:
        done = state.nfev
        left = self.seconds * (self.budget - done) / max(done, 1)
        head = Table.grid(padding=(0, 2))
        head.add_row("evaluations", f"{done:,} of {self.budget:,}", f"{left:.0f} s left at most")
        head.add_row(*_best(self.problem, state.fun), "")
        bars = Table.grid(padding=(0, 2))
        for name, p in zip(state.operators, state.probabilities, strict=True):
            bars.add_row(name, _bar(p, 24), f"{p:.2f}")
        progress = ProgressBar(total=self.budget, completed=done, width=48)
        parts = (head, progress, Text(""), bars) if state.operators else (head, progress)
        title = Text(f"{self.method} on {self.problem.title}")
        return Panel(Group(*parts), title=title, expand=False)


def _bar(share: float, width: int) -> Text:
    return Text(("━" * round(share * width)).ljust(width), style="cyan")


def _summary(problem: Problem, method: str, result: Result, seconds: float) -> RenderableType:
    known = problem.optimum is not None
    solved = known and result.fun - float(problem.optimum or 0.0) <= FINAL
    verdict = Text("solved: " if solved else "not solved: ", style="bold green" if solved else "")
    best = " = ".join(_best(problem, result.fun))
    table = Table.grid(padding=(0, 2))
    table.add_row("problem", Text(problem.title))
    table.add_row("method", method)
    table.add_row("outcome", verdict + best if known else best)
    if not solved:
        table.add_row("why it ended", result.message)
    iterations = count(result.nit, "iteration")
    table.add_row("evaluations", f"{result.nfev:,} in {iterations}, {seconds:.1f} s")
    table.add_row("seed", str(result.seed))
    if result.history is None or not result.history.operators:
        return table
    use = Table.grid(padding=(0, 2))
    counts = result.history.counts.sum(axis=0)
    for name, used in zip(result.history.operators, counts, strict=True):
        share = used / max(1, counts.sum())
        use.add_row(name, _bar(share, 30), f"{share:.1%}")
    return Group(table, Text("\noperators used"), use)
