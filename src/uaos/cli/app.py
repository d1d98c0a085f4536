"""The command `uaos` itself: its help, its errors, and where it prints."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from uaos import __version__
from uaos.errors import UaosError
from uaos.extras import missing_extra
from uaos.loading import load_file

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

#: The exit code after Ctrl-C, as shells have it.
INTERRUPTED = 130

# Click's base of usage errors, which typer has under another name from version to version.
_UsageError: Any = typer.BadParameter.__mro__[1]


def main() -> None:
    """Run the command line: bad input ends with exit code 2 and one clear line."""
    try:
        # What typer returns after Ctrl-C; a command that ends so itself, having said more, exits.
        code = app(standalone_mode=False)
        if code == INTERRUPTED:
            _failed("interrupted", INTERRUPTED)
    except (KeyboardInterrupt, typer.Abort):
        code = _failed("interrupted", INTERRUPTED)
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            error.show()
            code = 2
        else:
            code = _failed(f"{error.format_message()} (--help shows what there is)", 2)
    except UaosError as error:
        code = _failed(str(error), 2)
    except ImportError as error:
        missing = missing_extra(error, "this command")
        if missing is None:
            raise
        code = _failed(str(missing), 2)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        code = _failed(f"{place}{error.strerror or error}", 2)
    sys.exit(code or 0)


def _failed(message: str, code: int) -> int:
    # Straight to the stream: messages may hold what a markup would take for its own.
    print(message if code == INTERRUPTED else f"error: {message}", file=sys.stderr)
    return code


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"uaos {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    imported: Annotated[
        Path | None,
        typer.Option(
            "--import",
            metavar="FILE.py",
            help="Run this file first, to register your components and optimizers.",
        ),
    ] = None,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    if imported is not None:
        load_file(imported)
