"""The command line: parse, call the library, show. One command is one module."""

from uaos.cli import (  # noqa: F401 (they add commands)
    bench,
    compare,
    methods,
    plot,
    report,
    run,
    scenario,
    study,
    tune,
)
from uaos.cli.app import app, main

__all__ = ["app", "main"]
