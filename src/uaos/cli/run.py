"""`uaos run`: one method on one BBOB problem, watched live."""

import os
import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from uaos.cli.app import INTERRUPTED, app, console
from uaos.cli.options import Dimension
from uaos.errors import InvalidParameter
from uaos.minimize import INTERRUPTED as INTERRUPTED_RUN
from uaos.minimize import minimize
from uaos.optimizers.base import RunView
from uaos.optimizers.result import Result
from uaos.problems import BBOB

#: The error at which COCO calls a problem solved.
SOLVED = 1e-8
_PICTURES = (".png", ".svg", ".pdf")


@app.command(
    "run",
    epilog="Example: [bold]uaos run --function 8 --dim 20 --method U-AOS-FW --seed 1 "
    "--plot run.png[/]",
)
def run(
    function: Annotated[int, typer.Option(help="BBOB function, 1 to 24.")] = 8,
    dim: Dimension = 20,
    instance: Annotated[int, typer.Option(help="Instance of the function, 1 to 1000.")] = 1,
    method: Annotated[
        str, typer.Option(help="A name (see `uaos methods`) or a configuration file (.toml).")
    ] = "mix",
    seed: Annotated[int | None, typer.Option(help="Makes the run repeatable.")] = None,
    budget: Annotated[
        int | None, typer.Option(help="Evaluations at most (default: 10 000 × dim).")
    ] = None,
    popsize: Annotated[
        int | None, typer.Option(help="Population size (default: the method's).")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the run into this file (.png, .svg or .pdf).")
    ] = None,
) -> None:
    """Run a method on a BBOB problem: evaluations, error and operator use, live."""
    problem = BBOB(function, dim, instance)
    if plot is not None:
        check_plot(plot)
    limit = 10_000 * dim if budget is None else budget
    panel = _Panel(problem, method, limit)
    # A file or a pipe gets the summary alone.
    with Live(console=console, refresh_per_second=10, transient=True, auto_refresh=False) as live:

        def show(state: RunView) -> None:
            if console.is_terminal and panel.is_due():
                live.update(panel.drawn(state), refresh=True)

        result = minimize(
            problem, problem.bounds, method=method, budget=limit, seed=seed, popsize=popsize,
            target=problem.optimum + SOLVED, callback=show,
        )  # fmt: skip
    console.print(_summary(problem, method, result, panel.seconds))
    if plot is not None and result.history is not None:
        result.history.plot(plot, f_opt=problem.optimum)
        console.print(f"drawn: {plot}")
    if result.message == INTERRUPTED_RUN:
        sys.exit(INTERRUPTED)


def check_plot(path: Path) -> None:
    """Refuse a picture that cannot be drawn before the run, not after it."""
    if path.suffix.lower() not in _PICTURES:
        raise InvalidParameter("plot", str(path), "a file that ends in " + ", ".join(_PICTURES))
    if not (path.parent.is_dir() and os.access(path.parent, os.W_OK)):
        raise InvalidParameter(
            "plot", str(path), "a file in a folder that exists, to be written to"
        )


class _Panel:
    """The live picture of a run, drawn ten times a second at most."""

    def __init__(self, problem: BBOB, method: str, budget: int) -> None:
        self.title = f"{method} on {problem.function} {problem.title}, {problem.dimension}-D"
        self.f_opt, self.budget = problem.optimum, budget
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
        head.add_row("best - f_opt", f"{state.fun - self.f_opt:.3e}", "")
        bars = Table.grid(padding=(0, 2))
        for name, p in zip(state.operators, state.probabilities, strict=True):
            bars.add_row(name, _bar(p, 24), f"{p:.2f}")
        progress = ProgressBar(total=self.budget, completed=done, width=48)
        parts = (head, progress, Text(""), bars) if state.operators else (head, progress)
        return Panel(Group(*parts), title=self.title, expand=False)


def _bar(share: float, width: int) -> Text:
    return Text(("━" * round(share * width)).ljust(width), style="cyan")


def _summary(problem: BBOB, method: str, result: Result, seconds: float) -> RenderableType:
    error = result.fun - problem.optimum
    verdict = (
        Text("solved", style="bold green") if error <= SOLVED else Text("not solved", style="bold")
    )
    table = Table.grid(padding=(0, 2))
    table.add_row("problem", f"{problem.function} {problem.title}, {problem.dimension}-D, "
                  f"instance {problem.instance}")  # fmt: skip
    table.add_row("method", method)
    table.add_row("outcome", Text.assemble(verdict, f": best - f_opt = {error:.3e}"))
    if error > SOLVED:
        table.add_row("why it ended", result.message)
    table.add_row("evaluations", f"{result.nfev:,} in {result.nit:,} iterations, {seconds:.1f} s")
    table.add_row("seed", str(result.seed))
    if result.history is None or not result.history.operators:
        return table
    use = Table.grid(padding=(0, 2))
    counts = result.history.counts.sum(axis=0)
    for name, count in zip(result.history.operators, counts, strict=True):
        share = count / max(1, counts.sum())
        use.add_row(name, _bar(share, 30), f"{share:.1%}")
    return Group(table, Text("\noperators used"), use)
