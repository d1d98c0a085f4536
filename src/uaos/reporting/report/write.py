"""Writing a report: whole, or not at all."""

import os
import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from uaos.errors import InvalidParameter
from uaos.files import whole_file
from uaos.reporting.report.courses import Chosen, parsed
from uaos.reporting.report.page import page
from uaos.reporting.report.sources import Sources


def write_report(
    stores: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    title: str | None = None,
    runs: str | Iterable[str | tuple[str, Any, int]] | None = None,
    commands: Sequence[str] = (),
    tell: Callable[[str], None] | None = None,
) -> Path:
    """Write a report of stores, of experiments and of tunings, to one HTML file.

    `runs` are those whose operator use is shown, as "mix:8:3" (method, function, instance) or
    tuples; the most telling if it is None. `commands` are shown first among those that make it all
    again. `tell` is called with what is under way.
    """
    place = check_output(output, stores)
    chosen = parsed(runs)
    with Sources(stores) as sources:
        made = page(
            sources, title=title, chosen=chosen, commands=commands,
            made=_command(sources, place, title, chosen), tell=tell or (lambda _: None),
        )  # fmt: skip
    with whole_file(place) as part:
        part.write_text(made, encoding="utf-8")
    return place


def check_output(
    output: str | os.PathLike[str], stores: Sequence[str | os.PathLike[str]] = ()
) -> Path:
    """Refuse what cannot be written before the work, not after it."""
    place = Path(output)
    if place.is_dir() or not place.absolute().parent.is_dir():
        raise InvalidParameter("output", str(place), "a file in a folder that exists")
    if place.suffix.lower() not in (".html", ".htm"):
        raise InvalidParameter("output", str(place), "a file that ends in .html")
    if any(place.absolute() == Path(s).absolute() for s in stores):
        raise InvalidParameter("output", str(place), "another file than the stores")
    return place


def _command(
    sources: Sources, place: Path, title: str | None, chosen: Sequence[Chosen] | None
) -> str:
    """The command that writes the report."""
    names = [e.name for e in sources.experiments]
    names += dict.fromkeys(t.name for t in sources.tunings)
    words = ["uaos", "report", *names, "-o", place.name]
    words += [] if title is None else ["--title", title]
    if chosen is not None:
        words += ["--runs", ",".join(":".join(map(str, one)) for one in chosen)]
    return shlex.join(words)
