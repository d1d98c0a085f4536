"""A report: one HTML file that shows the results of benchmarks and tunings.

    from uaos.reporting.report import write_report

    write_report(["first.db", "tuning.db"], "report.html")

The file needs no network and no other file. Plots are interactive where scripts run, and images
where they do not and in print.
"""

import os
import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from uaos.files import check_output, whole_file
from uaos.reporting.sources import ChosenRun, Sources, parse_runs

__all__ = ["write_report"]


def write_report(
    stores: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    title: str | None = None,
    runs: str | Iterable[str | Sequence[Any]] | None = None,
    commands: Sequence[str] = (),
    overwrite: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Path:
    """Write a report on stores of benchmarks and tunings to one HTML file.

    Parameters
    ----------
    stores, output
    title
        The heading; what was compared on what if None.
    runs
        Those whose operator use is shown, as "mix:8:3" (method, function, instance), "mix:valley"
        (method, problem) or tuples; a representative choice if None.
    commands
        Shown first among the commands that reproduce everything.
    overwrite
        Whether a file that uaos did not write may be replaced.
    progress
        Called with what is being done.

    Returns
    -------
    Path

    Examples
    --------
    >>> from uaos.reporting.report import write_report
    >>> write_report(["mine.db"], "report.html", title="JADE and uniform choice").name
    'report.html'
    """
    from uaos.reporting.report.page import page

    place = check_output(output, inputs=stores, suffixes=(".html", ".htm"), overwrite=overwrite)
    chosen = parse_runs(runs)
    with Sources(stores) as sources:
        made = page(
            sources, title=title, chosen=chosen, commands=commands,
            made=_command(sources, place, title, chosen), progress=progress or (lambda _: None),
        )  # fmt: skip
    with whole_file(place) as part:
        part.write_text(made, encoding="utf-8")
    return place


def _command(
    sources: Sources, place: Path, title: str | None, chosen: Sequence[ChosenRun] | None
) -> str:
    """Return the command that writes the report."""
    names = [e.name for e in sources.experiments]
    names += dict.fromkeys(t.name for t in sources.tunings)
    words = ["uaos", "report", *names, "-o", place.name]
    words += [] if title is None else ["--title", title]
    if chosen is not None:
        text = [":".join(map(str, (method, *on.values()))) for method, on in chosen]
        words += ["--runs", ",".join(text)]
    return shlex.join(words)
