"""The command line: parse, call the library, show. One command is one module."""

from uaos.cli import bench, compare, methods, run, scenario, tune  # noqa: F401 (they add commands)
from uaos.cli.app import app, main

__all__ = ["app", "main"]
