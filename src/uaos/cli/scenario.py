"""`uaos scenario`: compare methods on simulated operators whose rewards change."""

import math
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from uaos.cli.app import INTERRUPTED, app, console
from uaos.cli.options import Overwrite, Seed, split_names
from uaos.files import check_output
from uaos.pictures import PICTURES
from uaos.scenarios import KINDS, Scenario, ScenarioResult, compare_methods, make_scenario
from uaos.text import count

# Applications that take about ten seconds, from which on more processes pay off.
_MANY = 500_000


# fmt: off
@app.command(
    "scenario",
    epilog="Example: [bold]uaos scenario --methods AP,PM,F-AUC-MAB --kind uniform --operators 5 "
    "--every 50 --plot scenario.png[/]",
)
def show_scenario(
    methods: Annotated[str, typer.Option(
        help="Compare these: AP (adaptive pursuit), PM (probability matching), MAB (bandit), names "
        "(see `uaos methods`) or files (.toml), separated by commas.")] = "AP,PM,MAB",
    kind: Annotated[str, typer.Option(
        help=f"Choose how rewards are distributed: {', '.join(KINDS)}.")] = "uniform",
    operators: Annotated[int, typer.Option(help="Simulate this many operators.")] = 5,
    every: Annotated[int, typer.Option(
        help="Change the best operator after this many applications.")] = 50,
    steps: Annotated[int, typer.Option(help="Apply operators this often in a repetition.")] = 500,
    repetitions: Annotated[int, typer.Option(help="Repeat each method this often.")] = 100,
    seed: Seed = 1,
    jobs: Annotated[int | None, typer.Option(
        help="Use this many processes (default: one; for long comparisons, one for each "
        "processor).")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the curves (.png, .svg or .pdf).")] = None,
    overwrite: Overwrite = False,
) -> None:
    # fmt: on
    """Test how methods select, in isolation: on simulated operators whose best one is known.

    The table shows how often each method chose the best operator, its regret, and its reaction time
    to changes.
    """
    if plot is not None:
        check_output(plot, suffixes=PICTURES, overwrite=overwrite)
    names = split_names(methods)
    scenario = make_scenario(kind, operators=operators, every=every, steps=steps)
    if jobs is None and len(names) * repetitions * steps <= _MANY:
        jobs = 1
    try:
        outcome = _compare(names, scenario, repetitions=repetitions, seed=seed, jobs=jobs)
    except KeyboardInterrupt:
        console.print("interrupted; nothing is drawn")
        sys.exit(INTERRUPTED)
    console.print(_table(outcome))
    console.print(
        f"[dim]{kind} scenario, {operators} operators, {count(steps, 'application')}, another "
        f"best operator every {every}; {count(repetitions, 'repetition')}, ± one standard error[/]"
    )
    if plot is not None:
        outcome.plot(plot)
        console.print(Text(f"drawn: {plot}"))


def _compare(
    names: list[str], scenario: Scenario, *, repetitions: int, seed: int, jobs: int | None
) -> ScenarioResult:
    """Compare methods, and show the progress."""
    bar = Progress(
        TextColumn("repetitions"), BarColumn(), MofNCompleteColumn(), TextColumn("left"),
        TimeRemainingColumn(), console=console, transient=True, disable=not console.is_terminal,
    )  # fmt: skip
    task = bar.add_task("", total=repetitions)
    with bar:
        return compare_methods(
            names, scenario, repetitions=repetitions, seed=seed, jobs=jobs,
            on_progress=lambda finished: bar.update(task, completed=finished),
        )  # fmt: skip


def _table(outcome: ScenarioResult) -> Table:
    """Return a row for each method, and dimmed rows for the baselines."""
    table = Table(box=None, padding=(0, 3, 0, 0), pad_edge=False)
    for column in ("method", "best chosen", "regret", "reaction", "unanswered"):
        table.add_column(column, justify="left" if column == "method" else "right")
    for row in outcome.summaries():
        style = "bold" if row.name in outcome.methods else "dim"
        missed = "–" if math.isnan(row.missed) else f"{row.missed:.0%}"
        table.add_row(
            Text(row.name, style=style), str(row.share), str(row.regret), str(row.reaction), missed
        )
    return table
