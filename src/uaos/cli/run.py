"""`uaos run`: run one method on one problem, and show it live."""

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from uaos.checks import parse_budget
from uaos.cli.app import INTERRUPTED, app, console
from uaos.cli.options import Overwrite, SuiteName, grouped
from uaos.errors import InvalidParameter, Missing, UaosError
from uaos.experiments import FINAL
from uaos.loading import line_of
from uaos.minimization import minimize
from uaos.optimizers.catalogue import PORTFOLIO, RECOMMENDED
from uaos.pictures import check_picture
from uaos.problems import BBOB, Problem
from uaos.problems import suite as suite_called
from uaos.result import Result, RunView, Status
from uaos.text import count


# fmt: off
@dataclass(frozen=True)
class _ProblemChoice:
    """Problem."""

    suite: SuiteName = "bbob"
    name: Annotated[str | None, typer.Option(
        "--problem", metavar="NAME", help="Run on this problem of --suite FILE.py.")] = None
    function: Annotated[int | None, typer.Option(
        help="Choose the BBOB function, 1 to 24 (default: 8).")] = None
    dim: Annotated[int | None, typer.Option(
        help="Choose the BBOB dimension: 2, 3, 5, 10, 20 or 40 (default: 20).")] = None
    instance: Annotated[int | None, typer.Option(
        help="Choose the BBOB instance, 1 to 1000 (default: 1).")] = None

    def problem(self) -> Problem:
        """Return the problem that the options choose."""
        if not self.suite.endswith(".py"):
            if self.suite == "bbob" and self.name is not None:
                raise Missing("--problem needs --suite FILE.py; for BBOB use --function")
        elif any(value is not None for value in (self.function, self.dim, self.instance)):
            raise InvalidParameter(
                f"--function, --dim and --instance are for COCO's suites; choose a problem of "
                f"{self.suite} with --problem",
                name="suite", value=self.suite,
            )  # fmt: skip
        if self.suite == "bbob":
            function = 8 if self.function is None else self.function
            dimension = 20 if self.dim is None else self.dim
            return BBOB(function, dimension, 1 if self.instance is None else self.instance)
        problems = suite_called(
            self.suite, dimension=self.dim,
            functions=None if self.function is None else [self.function],
            instances=None if self.instance is None else [self.instance],
        )
        if self.name is None and len(problems) > 1:
            raise Missing(f"Missing option --problem, one of: {', '.join(problems.names)}")
        return problems[0 if self.name is None else self.name]


@dataclass(frozen=True)
class _Optimizer:
    """Optimizer."""

    method: Annotated[str | None, typer.Option(
        help="Run this method: a name (see `uaos methods`) or a configuration file (.toml); "
        "default: portfolio, or mix with --popsize.")] = None
    seed: Annotated[int | None, typer.Option(
        help="Set the seed, so that the result can be reproduced (default: random).")] = None
    budget: Annotated[str, typer.Option(
        help="Limit the evaluations: a number, or a multiple of the dimension.")] = "10000D"
    popsize: Annotated[int | None, typer.Option(
        help="Set the population size (default: that of the method).")] = None

    @property
    def name(self) -> str:
        """Name of the method."""
        return self.method or (PORTFOLIO if self.popsize is None else RECOMMENDED)


@app.command(
    "run",
    epilog="Example: [bold]uaos run --function 8 --dim 20 --method U-AOS-FW --seed 1 "
    "--plot run.png[/]",
)
@grouped
def run_command(
    choice: _ProblemChoice,
    optimizer: _Optimizer,
    plot: Annotated[Path | None, typer.Option(
        help="Draw the run into this file (.png, .svg or .pdf).")] = None,
    overwrite: Overwrite = False,
) -> None:
    # fmt: on
    """Run a method on a problem, and watch its best value and operator use."""
    if plot is not None:
        check_picture(plot, overwrite=overwrite)
    problem = choice.problem()
    panel = _Panel(problem, optimizer.name, parse_budget(optimizer.budget, problem.dimension))
    result = _run(problem, optimizer, panel)
    console.print(_summary(problem, optimizer.name, result, panel.seconds))
    if plot is not None and result.history is not None:
        result.history.plot(plot, f_opt=problem.optimum)
        console.print(Text(f"drawn: {plot}"))
    if result.status == Status.INTERRUPTED:
        sys.exit(INTERRUPTED)


def _run(problem: Problem, optimizer: _Optimizer, panel: "_Panel") -> Result:
    """Run the optimizer; on a terminal, show the panel meanwhile."""
    with Live(console=console, refresh_per_second=10, transient=True, auto_refresh=False) as live:

        def show(state: RunView) -> None:
            if console.is_terminal and panel.is_due():
                live.update(panel.drawn(state), refresh=True)

        try:
            return minimize(
                problem, method=optimizer.method, budget=panel.budget, seed=optimizer.seed,
                popsize=optimizer.popsize, callback=show,
                # The estimate of a noisy value may be below the optimum, which is a true value.
                target=None if problem.optimum is None or problem.true else problem.optimum + FINAL,
            )  # fmt: skip
        except Exception as error:
            line = line_of(error)
            if isinstance(error, UaosError) or not line:
                raise
            raise UaosError(
                f"{problem.name} raised {type(error).__name__}: {error} ({line})"
            ) from error


def _best(problem: Problem, value: float) -> tuple[str, str]:
    """Return the name and text of the best value, or of its error if the optimum is known."""
    if problem.optimum is None:
        return "best", f"{value:.6g}"
    return "best - f_opt", f"{value - problem.optimum:.3e}"


class _Panel:
    """Live view of a run, drawn at most ten times a second."""

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


def _judged_value(problem: Problem, result: Result) -> float:
    """Return the value by which a run is judged: the one without noise, if it is known."""
    if problem.true is None or result.x is None:
        return float(result.fun)
    names = problem.space.names
    x = result.x if names is None else names.encode(result.x)
    return float(problem.true_values(np.asarray(x, float)[None])[0])


def _summary(problem: Problem, method: str, result: Result, seconds: float) -> RenderableType:
    value = _judged_value(problem, result)
    best = " = ".join(_best(problem, value))
    if problem.optimum is None:
        solved, outcome = False, Text(best)
    else:
        solved = value - problem.optimum <= FINAL
        verdict = ("solved: ", "bold green") if solved else "not solved: "
        outcome = Text.assemble(verdict, best)
    table = Table.grid(padding=(0, 2))
    table.add_row("problem", Text(problem.title))
    table.add_row("method", method)
    table.add_row("outcome", outcome)
    if result.fun_std is not None:
        error = f"{2 * result.fun_std:.2g} (2 standard errors)"
        table.add_row("estimate", f"{result.fun:.6g} ± {error}")
    if isinstance(result.x, dict):
        values = ", ".join(f"{name} = {value!r}" for name, value in result.x.items())
        table.add_row("best point", Text(values))
    if not solved:
        table.add_row("stopped by", result.message)
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
