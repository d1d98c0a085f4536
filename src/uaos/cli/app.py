"""The command `uaos` itself: its help, its errors, and where it prints."""

import io
import re
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.segment import Segment

from uaos import __version__
from uaos.errors import UaosError
from uaos.experiments.provenance import command_line
from uaos.extras import missing_extra
from uaos.loading import line_of, load_file

app = typer.Typer(
    name="uaos",
    help="Adaptive operator selection: compose, run and compare methods.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
# Control characters except tab and newline, and characters that change the writing direction.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def harmless(text: str) -> str:
    """Replace control characters: names and messages may come from untrusted files."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


class _Console(Console):
    """Console that shows control characters in texts instead of obeying them."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Render without control characters, except those that rich adds itself."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else harmless(text), style, control)


# Output to a file or pipe is not squeezed into 80 columns.
console = _Console(width=None if sys.stdout is not None and sys.stdout.isatty() else 150)


def spinner() -> Progress:
    """Return a progress display with one task, whose description is the current step."""
    progress = Progress(
        SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), console=console,
        transient=True, disable=not console.is_terminal,
    )  # fmt: skip
    progress.add_task("reading", total=None)
    return progress


#: The exit code after Ctrl-C, as in shells.
INTERRUPTED = 130

# Click's base class of usage errors, whose place in typer depends on the version.
_UsageError: Any = typer.BadParameter.__mro__[1]

# What `--jobs` is called elsewhere, in `uaos.minimize` and other programs.
_NAMES_OF_JOBS = ("--workers", "--processes", "--n-jobs", "--cores")


def main() -> None:
    """Run the command line; invalid input ends with exit code 2 and one line."""
    _accept_all_characters()
    try:
        with command_line(sys.argv[1:]):
            code = app(standalone_mode=False, prog_name="uaos")
        if code == INTERRUPTED:  # typer returns it after Ctrl-C
            _failed("interrupted", INTERRUPTED)
    except (KeyboardInterrupt, typer.Abort):
        code = _failed("interrupted", INTERRUPTED)
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            error.show()
            code = 2
        else:
            command = error.ctx.command_path if error.ctx else "uaos"
            if getattr(error, "option_name", "") in _NAMES_OF_JOBS:
                error.possibilities = ["--jobs"]
            code = _failed(f"{error.format_message()} (for help: {command} --help)", 2)
    except UaosError as error:
        code = _failed(str(error), 2)
    except ImportError as error:
        missing = missing_extra(error)
        if missing is None:
            raise
        code = _failed(str(missing), 2)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        code = _failed(f"{place}{error.strerror or error}", 2)
    except Exception as error:
        if not (line := line_of(error)):
            raise
        code = _failed(f"{line} raised {type(error).__name__}: {error}", 2)
    sys.exit(code or 0)


def _accept_all_characters() -> None:
    """Print what the encoding lacks, such as ∞ on Windows or bytes of a file name, as "?"."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _failed(message: str, code: int) -> int:
    # Not through rich, which would take brackets in a message for markup.
    with suppress(OSError):  # a terminal that was closed
        print(harmless(message if code == INTERRUPTED else f"error: {message}"), file=sys.stderr)
    return code


def _version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"uaos {__version__}")
        raise typer.Exit


# fmt: off
@app.callback()
def _main(
    imported: Annotated[list[Path] | None, typer.Option(
        "--import", metavar="FILE.py",
        help="Run this file first, to register custom components and optimizers (repeatable).")
    ] = None,
    version: Annotated[bool, typer.Option(
        "--version", callback=_version, is_eager=True, help="Show the version, and exit.")] = False,
) -> None:
    # fmt: on
    for file in imported or ():
        load_file(file)
