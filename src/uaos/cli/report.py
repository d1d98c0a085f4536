"""`uaos report`: benchmarks and tunings as one HTML file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from uaos.cli.app import app, console
from uaos.cli.options import Overwrite


@app.command(
    "report",
    epilog="Example: [bold]uaos report first.db -o report.html[/]   ·   with the runs of your "
    'choice: [bold]uaos report first.db tuning.db -o report.html --runs "mix:8:3,mix:15:1"[/]',
)
def write(
    stores: Annotated[
        list[Path],
        typer.Argument(metavar="STORE...", help="Files that `uaos bench` or `uaos tune` wrote."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Write the report here (.html).")],
    title: Annotated[
        str | None, typer.Option(help="Set the heading (default: what was compared on what).")
    ] = None,
    runs: Annotated[
        str | None,
        typer.Option(
            metavar="METHOD:PROBLEM,…",
            help="Show the operator use of these runs (default: where it changes most).",
        ),
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Write a report: findings, runtime profiles, running times, operator use, methods.

    One file that needs no network: open it in a browser, send it, print it.
    """
    write_shown(stores, output, title=title, runs=runs, overwrite=overwrite)


def write_shown(stores: Sequence[Path], output: Path, **options: Any) -> None:
    """Write a report and show progress."""
    # Here, because SciPy's statistics would slow down the start of every other command.
    from uaos.reporting.report import write_report

    bar = Progress(
        SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), console=console,
        transient=True, disable=not console.is_terminal,
    )  # fmt: skip
    task = bar.add_task("reading", total=None)
    with bar:
        written = write_report(
            stores, output, progress=lambda what: bar.update(task, description=what), **options
        )  # fmt: skip
    size = written.stat().st_size / 1e6
    console.print(Text(f"written: {written} ({size:.1f} MB)"), soft_wrap=True)
