"""Runs of optimizers as files, from which they continue bit for bit."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from uaos import statefile
from uaos.checks import seeded_generator
from uaos.errors import InvalidFile
from uaos.optimizers import registry
from uaos.problems.activity import Activity
from uaos.problems.space import Box
from uaos.selection.method import Method

if TYPE_CHECKING:
    from uaos.optimizers.base.optimizer import Optimizer

#: Version of the files.
FORMAT = 12

Saved = TypeVar("Saved", bound="Optimizer")


def save_run(run: "Optimizer", path: str | os.PathLike[str]) -> None:
    """Write a run to a file."""
    content = {
        "optimizer": run.name,
        "settings": run.settings.to_dict(),
        "method": None if run.method is None else run.method.to_dict(),
        "bounds": np.column_stack([run.low, run.high]),
        "scale": run.box.scale,
        "outside_allowed": run.outside_allowed,
        "activity": None if run.activity is None else run.activity.lists(),
        "log_integers": run.log_integers,
        "budget": run.budget,
        "target": run.target,
        "x0": run.x0,
        "integrality": run.integrality,
        "seed": run.seed,
        "generator": type(run.rng.bit_generator).__name__,
        "state": run.state(),
    }
    statefile.write(path, "run", FORMAT, content)


def load_run(
    expected: type[Saved], path: str | os.PathLike[str], custom: Mapping[str, object] | None = None
) -> Saved:
    """Return a run that continues where the saved one stood.

    Parameters
    ----------
    expected : type
        The class of the run, or a base class of it.
    path : path-like
        The file.
    custom : mapping, optional
        Objects that the file only names, such as custom operators.

    Raises
    ------
    InvalidFile
        If the file is damaged, or holds a run of another class.
    """
    content = statefile.read(path, "run", FORMAT)
    with statefile.rebuilding(path, except_for=(registry.MissingOperator,)):
        name = content["optimizer"]
        kind = expected
        if getattr(expected, "name", None) != name:
            registered = registry.optimizer_class(name)
            if not issubclass(registered, expected):
                raise InvalidFile(f"holds a run of {name}, where {expected.name} is expected")
            kind = registered
        method, alternatives = content["method"], content["activity"]
        run = kind(
            Box(
                content["bounds"], scale=content["scale"],
                outside_allowed=content["outside_allowed"],
                activity=None if alternatives is None else Activity(alternatives),
                log_integers=content["log_integers"],
            ),
            kind.settings_class.from_dict(content["settings"], custom),
            method=None if method is None else Method.from_dict(method),
            budget=content["budget"], target=content["target"], x0=content["x0"],
            seed=statefile.new_generator(content["generator"]),
            history=content["state"]["history"] is not None,
            integrality=content["integrality"],
        )  # fmt: skip
        run.seed = None if content["seed"] is None else seeded_generator(content["seed"])[0]
        statefile.check_kinds(content["state"], run.state())
        run.restore(content["state"])
    return run
