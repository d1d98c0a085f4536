"""Provenance of runs: the command line that started them, and the versions of packages."""

import platform
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.metadata import PackageNotFoundError, version

_COMMAND: ContextVar[str] = ContextVar("command", default="")

# The packages that compute.
_PACKAGES = ("numpy", "numba", "coco-experiment", "cma")


@contextmanager
def command_line(arguments: Sequence[str]) -> Iterator[None]:
    """Let the stores that are written within record the command ``uaos ARGUMENTS``."""
    # File names may hold bytes that are no characters, which a store does not take.
    text = shlex.join(["uaos", *arguments]).encode(errors="replace").decode()
    before = _COMMAND.set(text)
    try:
        yield
    finally:
        _COMMAND.reset(before)


def current_command() -> str:
    """Return the command line that is being run, quoted for a shell; empty within Python."""
    return _COMMAND.get()


def versions() -> dict[str, str]:
    """Return the versions of Python and of the installed packages that compute."""
    # Our own as imported: what an editable installation says may be old.
    ours: str = sys.modules["uaos"].__version__
    installed = {"python": platform.python_version(), "uaos": ours}
    for package in _PACKAGES:
        try:
            installed[package] = version(package)
        except PackageNotFoundError:
            continue
    return installed
