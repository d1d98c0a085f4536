"""The command line: parse, call the library, show. Each command has a module of its own."""

import inspect
import re
import sys
from collections.abc import Iterable
from importlib import import_module

import typer

from uaos.cli import app as _app
from uaos.interrupts import ending_cleanly, handle_from_now_on

#: The commands, each in the module of its name.
COMMANDS = (
    "methods",
    "run",
    "bench",
    "compare",
    "plot",
    "report",
    "tune",
    "scenario",
    "study",
    "recommend",
)


def load_commands(names: Iterable[str] = COMMANDS) -> typer.Typer:
    """Return the application with these commands."""
    for name in names:
        import_module(f"uaos.cli.{name}")
    for command in _app.app.registered_commands:
        # typer keeps the line breaks of a docstring; join them, so that the terminal wraps lines.
        command.help = re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.getdoc(command.callback) or "")
    return _app.app


def main() -> None:
    """Run the command line, loading only the module of the requested command."""
    words = sys.argv[1:]
    arguments = (
        word
        for previous, word in zip(["", *words], words, strict=False)
        if not word.startswith("-") and previous != "--import"
    )
    command = next(arguments, None)
    load_commands([command] if command in COMMANDS else COMMANDS)
    handle_from_now_on()
    with ending_cleanly():
        _app.main()


__all__ = ["COMMANDS", "load_commands", "main"]
