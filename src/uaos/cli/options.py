"""Options that several commands share, groups of options, and functions that parse them."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from typing import Annotated, TypeVar, get_type_hints

import typer

R = TypeVar("R")

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


@dataclass(frozen=True)
class Workers:
    """Where runs are made."""

    jobs: Jobs = None
    dask: Dask = None


def grouped(command: Callable[..., R]) -> Callable[..., R]:
    """Let a command take groups of options.

    A parameter whose type is a dataclass is replaced by the fields of the dataclass, each of which
    is an option (or argument) as typer declares it. The command gets the dataclass.
    """
    hints = get_type_hints(command, include_extras=True)
    groups = {
        name: hint for name, hint in hints.items() if isinstance(hint, type) and is_dataclass(hint)
    }
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name in groups:
            parameters += _parameters(groups[name])
        else:
            keyword = inspect.Parameter.KEYWORD_ONLY
            parameters.append(parameter.replace(kind=keyword, annotation=hints[name]))

    @wraps(command)
    def expanded(**values: object) -> R:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        return command(**values)

    expanded.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    expanded.__annotations__ = {p.name: p.annotation for p in parameters}
    return expanded


def _parameters(group: type) -> list[inspect.Parameter]:
    """Return the fields of a group as the parameters of a command."""
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, annotation=hints[field.name],
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
        )
        for field in fields(group)
    ]  # fmt: skip


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
