"""The command `uaos` itself: its help, its errors, and where it prints."""

import sys
from typing import Annotated

import typer
from rich.console import Console

from uaos import __version__
from uaos.errors import UaosError

app = typer.Typer(
    name="uaos",
    help="Adaptive operator selection: compose, run and compare methods.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
# What is piped into a file or another program is not squeezed into 80 columns.
console = Console(width=None if sys.stdout.isatty() else 150)


def main() -> None:
    """Run the command line: bad input ends with exit code 2 and one clear line."""
    try:
        app()
    except UaosError as error:
        # Straight to the stream: messages may hold what a markup would take for its own.
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()  # the reader (head, less) has gone: nothing is wrong
        sys.exit(0)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"uaos {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass
