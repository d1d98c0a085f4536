"""Checkpoints: a run saved to a file while it goes on, from which the same call continues it."""

import json
import math
import os
import sys
import time
import warnings
from collections.abc import Mapping
from functools import partial
from hashlib import sha256
from pathlib import Path
from types import CodeType
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from uaos import statefile
from uaos.checks import real_numbers
from uaos.errors import InvalidFile, InvalidParameter, UaosError, shortened
from uaos.files import as_path
from uaos.optimizers.base import Optimizer
from uaos.problems.constraints import as_constraints
from uaos.problems.problem import Problem
from uaos.runs.callers import WithArguments
from uaos.runs.known import Known
from uaos.runs.run import Observer, Run
from uaos.statefile import State

#: Version of the file.
FORMAT = 5
#: Seconds between two saves.
INTERVAL = 2.0
# Saving takes at most this share of the time.
_LARGEST_SHARE = 0.05

#: Properties that identify a run, as strings that can be compared and shown.
Identity = dict[str, str]


class CheckpointConflict(UaosError, ValueError):
    """Error: a checkpoint holds another run."""


class Checkpoint(Observer):
    """Saves a run every few seconds and when it ends, however it ends.

    A context manager: leaving it saves the run, even after an exception. Only if the optimizer was
    interrupted while it proposed or learned does the file stay as it was saved before.

    Parameters
    ----------
    path : path or None
        The file. It is replaced only by a complete one. None saves nothing.

    Examples
    --------
    >>> import tempfile, uaos
    >>> from pathlib import Path
    >>> from uaos.problems import rosenbrock
    >>> path = Path(tempfile.mkdtemp()) / "run.state"
    >>> def search(**limits):
    ...     return uaos.minimize(rosenbrock, [(-5, 5)] * 4, seed=1, budget=500, **limits)
    >>> search(checkpoint=path, maxiter=3).nfev < 500
    True
    >>> search(checkpoint=path).fun == search().fun
    True
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self.path = None if path is None else _in_a_folder(path)
        self._run: Run | None = None
        self._identity: Identity = {}
        self._next = math.inf  # when to save again

    def saved(self) -> State | None:
        """Return what the file holds; None if there is no file yet."""
        if self.path is None or not os.path.exists(self.path):
            return None
        return statefile.read(self.path, "checkpoint", FORMAT)

    def attach(self, run: Run, identity: Identity, saved: State | None) -> None:
        """Save this run from now on; continue it from what was saved, if anything was.

        Raises
        ------
        CheckpointConflict
            If the file holds another run.
        """
        if self.path is None:
            return
        if saved is not None:
            with statefile.rebuilding(self.path, except_for=(CheckpointConflict,)):
                self._compare(saved["identity"], identity)
                run.restore(saved["run"])
        self._run, self._identity = run, identity
        self._save()  # a path that cannot be written to is noticed now

    def told(self, optimizer: Optimizer) -> None:
        """Save the run, if it is time to."""
        if time.monotonic() >= self._next:
            self._save_if_possible()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._run is not None and self._run.resumable:
            self._save_if_possible()

    def _save_if_possible(self) -> None:
        """Save the run, or warn: a full disk is no reason to lose what has been computed."""
        try:
            self._save()
        except InvalidFile as error:
            self._next = time.monotonic() + INTERVAL
            warnings.warn(f"the run is not saved: {error}", RuntimeWarning, stacklevel=2)

    def _save(self) -> None:
        assert self._run is not None
        assert self.path is not None
        started = time.monotonic()
        content = {"identity": self._identity, "run": self._run.state()}
        statefile.write(self.path, "checkpoint", FORMAT, content)
        ended = time.monotonic()
        self._next = ended + max(INTERVAL, (ended - started) / _LARGEST_SHARE)

    def _compare(self, there: Mapping[str, str], here: Identity) -> None:
        """Raise an error if the saved run is another one."""
        different = [name for name in here if there.get(name, here[name]) != here[name]]
        if not different:
            return
        if "budget" in different and "method" in different:
            different.remove("method")  # whose settings follow the budget
        reasons = "; ".join(_reason(name, there[name], here[name]) for name in different[:3])
        raise CheckpointConflict(
            f"{self.path} holds another run: {reasons}. Continue it with the call that began it, "
            "or delete the file to start anew"
        )


#: The reasons for a difference whose values would say nothing, by the beginning of its name.
_REASONS = {
    "fun": "the code of fun has changed, or its args",
    "jac": "jac has changed",
    "constraints": "the constraints have changed",
    "variables": "the variables have changed",
    "method": "the method or its settings have changed",
    "known": "the known points have changed",
}


def _reason(name: str, there: str, here: str) -> str:
    """Return how a property of the saved run differs from that of the call."""
    for start, reason in _REASONS.items():
        if name.startswith(start):
            return reason
    return f"{name} is {there:.60} in the file and {here:.60} in this call"


def _in_a_folder(path: object) -> Path:
    """Return a path whose folder exists."""
    place = as_path(path, "checkpoint")
    if not place.absolute().parent.is_dir():
        raise InvalidParameter(
            f"checkpoint is {str(place)!r}, but there is no folder {place.parent}; create it first",
            name="checkpoint", value=path,
        )  # fmt: skip
    return place


def run_identity(
    problem: Problem,
    optimizer: Optimizer,
    seed: object,
    starts: ArrayLike | None,
    known: Known | None = None,
) -> Identity:
    """Return the properties that a saved run and the call that continues it must share.

    Parameters
    ----------
    problem : Problem
        What is minimized.
    optimizer : Optimizer
        The optimizer of the call.
    seed : object
        The seed of the call; only an integer is compared.
    starts : array_like or None
        The points that the call starts from.
    known : Known, optional
        The points whose values are known.
    """
    method = None if optimizer.method is None else optimizer.method.to_dict()
    python = f" (Python {sys.version_info.major}.{sys.version_info.minor})"  # whose code differs
    variables = problem.space.names
    parts: dict[str, object] = {
        "bounds": problem.bounds.tolist() if variables is None else None,
        "variables": shortened(variables, sys.maxsize),
        "integrality": None if optimizer.integers is None else optimizer.integers.tolist(),
        "x0": None if starts is None else np.atleast_2d(real_numbers(starts)).tolist(),
        f"constraints{python}": [
            [_code(c.function), c.bounds, c.matrix if c.matrix is None else c.matrix.tolist()]
            for c in as_constraints(problem.constraints)
        ],
        "method": [optimizer.name, optimizer.settings.to_dict(), method],
        "budget": optimizer.budget,
        "target": optimizer.target,
        f"fun{python}": _code(problem.fun),
        f"jac{python}": None if problem.jac is None else _code(problem.jac),
        "known": None if known is None else _hashed(known.points, known.values, known.violations),
    }
    if isinstance(seed, int | np.integer):
        parts["seed"] = int(seed)
    return {name: _plain(part) for name, part in parts.items()}


def _plain(part: object) -> str:
    """Return plain data and arrays as a string; of other objects only their type."""

    def plain(value: object) -> object:
        return value.tolist() if hasattr(value, "tolist") else _type(value)

    return json.dumps(part, default=plain, skipkeys=True)


def _type(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _hashed(*parts: object) -> str:
    """Return a hash of plain data and arrays."""
    return sha256(_plain(parts).encode()).hexdigest()


def _code(function: object) -> list[str]:
    """Return hashes of a function's code and arguments, and those of what it wraps.

    Other data that it refers to are not part of it.
    """
    code = getattr(getattr(function, "py_func", function), "__code__", None)  # numba's py_func
    parts = [sha256(_content(code)).hexdigest() if isinstance(code, CodeType) else _type(function)]
    if isinstance(function, partial | WithArguments):
        parts.append(_hashed(function.args, getattr(function, "keywords", None)))
    wrapped = getattr(function, "__wrapped__", getattr(function, "func", None))
    return [*parts, *_code(wrapped)] if callable(wrapped) else parts


def _content(code: CodeType) -> bytes:
    """Return instructions, names and constants of code, including those of inner functions."""
    constants = [
        _content(c) if isinstance(c, CodeType) else repr(c).encode() for c in code.co_consts
    ]
    return b"\0".join([code.co_code, repr(code.co_names).encode(), *constants])
