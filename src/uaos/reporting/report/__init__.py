"""A report: one HTML file that shows the results of benchmarks and tunings.

    from uaos.reporting.report import write_report

    write_report(["first.db", "tuning.db"], "report.html")

The file needs no network and no other file. Plots are interactive where scripts run, and images
where they do not and in print.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from uaos.files import check_output, whole_file
from uaos.reporting.sources import RunChoice, Sources, parse_runs

__all__ = ["write_report"]


def write_report(
    stores: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    title: str | None = None,
    methods: Sequence[str] | None = None,
    runs: str | Iterable[RunChoice] | None = None,
    focus: str | None = None,
    overwrite: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Path:
    """Write a report on stores of benchmarks and tunings to one HTML file.

    Parameters
    ----------
    stores, output
    title
        The heading; by default, what was compared on what.
    methods
        Those shown, besides uniform choice; groups of the catalogue stand for their members. All
        if None.
    runs
        Those whose operator use is shown, as "mix:8:3" (method, function, instance), "mix:valley"
        (method, problem) or tuples; a representative choice if None.
    focus
        The method that the report is about, compared with each of the others.
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
    from uaos.reporting.report.page import ReportPage

    place = check_output(output, inputs=stores, suffixes=(".html", ".htm"), overwrite=overwrite)
    chosen = parse_runs(runs)
    with Sources(stores, methods) as sources:
        page = ReportPage(
            sources, chosen=chosen, focus=focus, progress=progress or (lambda _: None)
        )
        html = page.to_html(title)
    with whole_file(place) as part:
        part.write_text(html, encoding="utf-8")
    return place
