"""Options that several commands share, and functions that parse them."""

from typing import Annotated

import typer

# fmt: off
SuiteName = Annotated[str, typer.Option(
    "--suite", metavar="NAME|FILE.py", help="Take problems from bbob, or from your Python file.")]
BbobFunctions = Annotated[str | None, typer.Option(
    help='Choose BBOB functions, such as "1-5,8" (default: all 24).')]
BbobDimension = Annotated[int | None, typer.Option(
    help="Choose the BBOB dimension: 2, 3, 5, 10, 20 (default) or 40.")]
Overwrite = Annotated[bool, typer.Option(
    "--overwrite", help="Replace output files that uaos did not write.")]
Seed = Annotated[int, typer.Option(help="Make the result repeatable.")]
RetryFailed = Annotated[bool, typer.Option("--retry-failed", help="Run again what failed.")]
Jobs = Annotated[int | None, typer.Option(
    help="Use this many processes (default: one for each processor).")]
Dask = Annotated[str | None, typer.Option(metavar="ADDRESS", help="Run on this Dask cluster.")]
Train = Annotated[str | None, typer.Option(
    metavar="SHARE|NAMES",
    help="Train on this share of the suite, such as 0.5, or on these problems, separated by "
    "commas; the others are for testing.")]
SplitSeed = Annotated[int, typer.Option(min=0, help="Draw the share of --train with this seed.")]
# fmt: on


def split_names(text: str) -> list[str]:
    """Return the names in an option, which are separated by commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def parse_train(text: str | None) -> float | list[str] | None:
    """Return the share or the names in the option --train."""
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        return split_names(text)
