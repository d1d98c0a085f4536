"""What the options of several commands share; each command gives its own defaults."""

from typing import Annotated

import typer

Functions = Annotated[str, typer.Option(help='BBOB functions, such as "1-5,8".')]
Dimension = Annotated[int, typer.Option(help="Dimension: 2, 3, 5, 10, 20 or 40.")]
Jobs = Annotated[int | None, typer.Option(help="Processes (default: one for each processor).")]
Dask = Annotated[str | None, typer.Option(metavar="ADDRESS", help="Run on the Dask cluster there.")]


def listed(text: str) -> list[str]:
    """What an option was given, separated by commas."""
    return [part.strip() for part in text.split(",") if part.strip()]
