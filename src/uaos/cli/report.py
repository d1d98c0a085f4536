"""`uaos report`: benchmarks and tunings as one HTML file."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from uaos.cli.app import app, console, spinner
from uaos.cli.options import Focus, Overwrite, ShownMethods, split_names


# fmt: off
@app.command(
    "report",
    epilog="Example: [bold]uaos report first.db -o report.html[/]   ·   with the runs of your "
    'choice: [bold]uaos report first.db tuning.db -o report.html --runs "mix:8:3,mix:15:1"[/]',
)
def report_command(
    stores: Annotated[list[Path], typer.Argument(
        metavar="STORE", help="Read these files, written by `uaos bench` or `uaos tune`.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Write the report here (.html).")],
    title: Annotated[str | None, typer.Option(
        help="Set the title (default: the methods and the suite).")] = None,
    methods: ShownMethods = None,
    runs: Annotated[str | None, typer.Option(
        metavar="METHOD:PROBLEM,…",
        help="Show the operator use of these runs (default: those where it changes most).")] = None,
    focus: Focus = None,
    overwrite: Overwrite = False,
) -> None:
    # fmt: on
    """Write a report: findings, runtime profiles, running times, operator use, methods.

    The report is one HTML file that works offline.
    """
    # Here, because SciPy's statistics would slow down the start of every other command.
    from uaos.reporting.report import write_report

    with spinner() as bar:
        written = write_report(
            stores, output, title=title,
            methods=None if methods is None else split_names(methods),
            runs=runs, focus=focus, overwrite=overwrite,
            progress=lambda what: bar.update(bar.task_ids[0], description=what),
        )  # fmt: skip
    size = written.stat().st_size / 1e6
    console.print(Text(f"written: {written} ({size:.1f} MB)"), soft_wrap=True)
