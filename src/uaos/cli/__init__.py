"""The command line: parse, call the library, show. One command is one module."""

import inspect
import re
import sys
from collections.abc import Iterable
from importlib import import_module

import typer

from uaos.cli import app as _app

#: The commands, each in the module of its name.
COMMANDS = ("methods", "run", "bench", "compare", "plot", "report", "tune", "scenario", "study")


def load_commands(names: Iterable[str] = COMMANDS) -> typer.Typer:
    """Return the application with these commands."""
    for name in names:
        import_module(f"uaos.cli.{name}")
    for command in _app.app.registered_commands:
        # typer keeps the line breaks of a docstring; a terminal has its own.
        command.help = re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.getdoc(command.callback) or "")
    return _app.app


def main() -> None:
    """Run the command line, loading only the module of the command that is given."""
    words = sys.argv[1:]
    previous = ["", *words]
    given = [
        word
        for word, before in zip(words, previous, strict=False)
        if not word.startswith("-") and before != "--import"
    ]
    load_commands(given[:1] if given and given[0] in COMMANDS else COMMANDS)
    _app.main()


__all__ = ["COMMANDS", "load_commands", "main"]
