"""Options that several commands share, groups of options, and functions that parse them."""

import inspect
from collections.abc import Callable
from copy import copy
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from typing import Annotated, TypeVar, get_args, get_type_hints

import typer

R = TypeVar("R")

# fmt: off
SuiteName = Annotated[str, typer.Option(
    "--suite", metavar="NAME|FILE.py",
    help="Take the problems from bbob, bbob-constrained, bbob-mixint, bbob-largescale, bbob-noisy, "
    "or a Python file.")]
BbobFunctions = Annotated[str | None, typer.Option(
    help='Choose functions of a COCO suite, such as "1-5,8" (default: all).')]
BbobDimension = Annotated[int | None, typer.Option(
    help="Choose the dimension of a COCO suite; BBOB has 2, 3, 5, 10, 20 (default) and 40.")]
Overwrite = Annotated[bool, typer.Option(
    "--overwrite", help="Replace output files even if uaos did not write them.")]
Seed = Annotated[int, typer.Option(help="Set the seed, so that the result can be reproduced.")]
Control = Annotated[str | None, typer.Option(
    metavar="uniform",
    help="Add a control for each method that selects: the same algorithm and settings with "
    "uniform choice, called NAME (uniform).")]
Focus = Annotated[str | None, typer.Option(
    metavar="METHOD",
    help="Compare this method with each of the others, in the headline and the first table.")]
ShownMethods = Annotated[str | None, typer.Option(
    "--methods",
    help="Show only these methods or groups of the catalogue (literature, tuned, winners, all), "
    "separated by commas; uniform choice is always shown.")]
RetryFailed = Annotated[bool, typer.Option("--retry-failed", help="Repeat failed runs.")]
Jobs = Annotated[int | None, typer.Option(
    help="Use this many processes (default: one per processor).")]
Dask = Annotated[str | None, typer.Option(metavar="ADDRESS", help="Run on this Dask cluster.")]
Train = Annotated[str | None, typer.Option(
    metavar="SHARE|NAMES",
    help="Train on this share of the suite, such as 0.5, or on these problems, separated by "
    "commas, and keep the others for testing.")]
SplitSeed = Annotated[int, typer.Option(min=0, help="Set the seed of the random split by --train.")]
# fmt: on


@dataclass(frozen=True)
class Workers:
    """Workers."""

    jobs: Jobs = None
    dask: Dask = None


def grouped(command: Callable[..., R]) -> Callable[..., R]:
    """Let a command take groups of options.

    A parameter whose type is a dataclass is replaced by the fields of the dataclass, each of which
    is an option as typer declares it. The command gets the dataclass. Its help shows each group in
    a panel whose title is the docstring of the dataclass.
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
    panel = (inspect.getdoc(group) or "Options").rstrip(".")
    parameters = []
    for field in fields(group):
        kind, option = get_args(hints[field.name])
        shown = copy(option)  # options that several commands share keep their own panel
        shown.rich_help_panel = panel
        parameters.append(inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[kind, shown],
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
        ))  # fmt: skip
    return parameters


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
