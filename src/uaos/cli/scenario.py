"""`uaos scenario`: methods on simulated operators whose rewards change."""

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
from uaos.files import PICTURES, check_output
from uaos.scenarios import KINDS, ScenarioResult, compare, scenario
from uaos.text import count

# Applications worth the start of more processes: some ten seconds of work.
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
    """Test how methods select, in isolation: operators are simulated, the best one is known.

    The table shows how often the best operator was chosen, the regret, and the reaction time.
    """
    if plot is not None:
        check_output(plot, suffixes=PICTURES, overwrite=overwrite)
    wanted = split_names(methods)
    setting = scenario(kind, operators=operators, every=every, steps=steps)
    if jobs is None and len(wanted) * repetitions * steps <= _MANY:
        jobs = 1
    bar = Progress(
        TextColumn("repetitions"), BarColumn(), MofNCompleteColumn(), TextColumn("left"),
        TimeRemainingColumn(), console=console, transient=True, disable=not console.is_terminal,
    )  # fmt: skip
    task = bar.add_task("", total=repetitions)
    try:
        with bar:
            outcome = compare(
                wanted, setting, repetitions=repetitions, seed=seed, jobs=jobs,
                on_progress=lambda finished: bar.update(task, completed=finished),
            )  # fmt: skip
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


def _table(outcome: ScenarioResult) -> Table:
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
