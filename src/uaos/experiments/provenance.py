"""Provenance of runs: the command line that started them, and the versions of packages."""

import platform
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.metadata import PackageNotFoundError, version

_COMMAND: ContextVar[str] = ContextVar("command", default="")

# Packages whose version may change results.
_PACKAGES = ("numpy", "numba", "coco-experiment", "cma")


@contextmanager
def command_line(arguments: Sequence[str]) -> Iterator[None]:
    """Let stores that are written in this context record the command ``uaos ARGUMENTS``."""
    # File names may not be valid UTF-8, as a store requires.
    text = shlex.join(["uaos", *arguments]).encode(errors="replace").decode()
    before = _COMMAND.set(text)
    try:
        yield
    finally:
        _COMMAND.reset(before)


def current_command() -> str:
    """Return the current command line, quoted for a shell; empty if called from Python."""
    return _COMMAND.get()


def versions() -> dict[str, str]:
    """Return the versions of Python, uaos and the packages that may change results."""
    # As imported: the metadata of an editable installation may be outdated.
    ours: str = sys.modules["uaos"].__version__
    installed = {"python": platform.python_version(), "uaos": ours}
    for package in _PACKAGES:
        try:
            installed[package] = version(package)
        except PackageNotFoundError:
            continue
    return installed
