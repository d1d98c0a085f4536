"""The whole page: sections in their order, style, script and data in one file."""

import base64
import gzip
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

from uaos.analysis.comparison import compare
from uaos.analysis.published import against_paper, paper_summary, paper_table
from uaos.analysis.results import Results
from uaos.analysis.section import Section
from uaos.experiments.unit import versions
from uaos.extras import optional
from uaos.files import MARK
from uaos.reporting.report.html import Colors, shown
from uaos.reporting.report.methods import recipe, symbols
from uaos.reporting.report.operators import (
    changing_runs,
    course_data,
    operator_section,
    use_table,
)
from uaos.reporting.report.overview import data_summary, notes, overview, report_title
from uaos.reporting.report.profiles import profile_data, profile_section, running_time_section
from uaos.reporting.report.reproduce import reproduce_section, version_table
from uaos.reporting.sources import (
    ChosenRun,
    Course,
    Sources,
    courses_of,
    representative_courses,
)
from uaos.table import Table
from uaos.text import Markup, joined, markup, tag

#: Characters of histories in a report at most.
MAX_HISTORY_SIZE = 1_500_000

_FOLDER = files("uaos") / "data" / "report"
_SCRIPTS = ("unpack.js", "theme.js", "plots.js", "tuning.js", "tables.js", "start.js")


def page(
    sources: Sources,
    *,
    title: str | None,
    chosen: Sequence[ChosenRun] | None,
    commands: Sequence[str],
    made: str,
    progress: Callable[[str], None],
) -> str:
    """Return the HTML of a report."""
    results = sources.results
    colors = Colors(results.methods)
    progress("tests")
    compared = compare(results).sections if results.runs else ()
    # By name; the names in the page have the section's key, too.
    parts = [
        (of.section, {t.name: replace(t, name=f"{t.name}-{of.section.key}") for t in of.tables})
        for of in compared
    ]
    tunings = []
    if sources.tunings:
        from uaos.reporting.report.tuning import TuningView

        tunings = [TuningView(entry, i) for i, entry in enumerate(sources.tunings, 1)]
    lines = notes(sources, [part for part, _ in parts])
    items = tag("ul", *(tag("li", colors.in_text(line)) for line in lines))
    remarks = tag("div", tag("b", "Notes"), items, class_="missing") if lines else Markup("")
    progress("operator use")
    order = [s.method for s in parts[0][0].overall.standings] if parts else []
    if chosen is None:
        courses = representative_courses(sources.experiments, order)
    else:
        courses = [c for m, on in chosen for c in courses_of(sources.experiments, m, on)]
    drawn = _limited(courses)
    omitted = len(courses) - len(drawn)
    courses = courses[: len(drawn)]
    tables: list[Table] = [version_table(sources)]
    sections: list[tuple[str, str, Markup]] = []
    if parts:
        progress("overview")
        winners = {
            part.key: list(dict.fromkeys(m for t in tunings if (m := t.tested_in(part))))
            for part, _ in parts
        }
        first = _each(parts, lambda part, of: overview(
            part, of, colors, courses, winners[part.key],
            remarks if part is parts[0][0] else None,
        ))  # fmt: skip
        progress("runtime profiles")
        profiles = _each(parts, lambda part, _: profile_section(part, colors))
        progress("running times")
        times = _each(parts, lambda part, of: running_time_section(part, of["art"], colors))
        beside, published = _published(results, colors)
        tables += [table for _, of in parts for table in of.values()] + published
        sections += [
            ("overview", "Overview", first),
            ("profiles", "Runtime profiles", profiles),
            ("running-times", "Running times", joined([times, beside])),
            ("operators", "Operators", operator_section(
                courses, colors, chosen=chosen is not None, omitted=omitted
            )),
        ]  # fmt: skip
        tables += [use_table(courses)] if courses else []
    if tunings:
        progress("tuning")
        several = len(tunings) > 1
        sections.append(("tuning", "Tuning", joined(t.section(colors, several) for t in tunings)))
        tables += [table for t in tunings for table in t.tables()]
    if parts:
        recipes = [
            recipe(m, results.configurations.get(m, {}), colors, opened=len(results.methods) == 1)
            for m in results.methods
        ]
        sections.append(("methods", "Methods", joined([symbols(), *recipes])))
    sections.append(("reproduce", "Reproduce", reproduce_section(
        sources, commands, changing_runs(courses) if courses else (), made
    )))  # fmt: skip
    data = {
        "methods": colors.data(),
        "sections": {part.key: profile_data(part) for part, _ in parts},
        "courses": drawn,
        "tunings": {str(t.number): t.data() for t in tunings},
        "csv": {table.name: table.to_csv() for table in tables},
    }
    progress("writing")
    only = [part for part, _ in parts]
    name = title or report_title(only, len(tunings))
    if not parts:
        key, heading, content = sections[0]
        sections[0] = (key, heading, joined([remarks, content]))
    return _filled(name, data_summary(sources, only), sections, colors, data)


def _limited(courses: Sequence[Course]) -> list[dict[str, Any]]:
    """Return the data of as many runs as the size allows; at least one."""
    found: list[dict[str, Any]] = []
    size = 0
    for data in map(course_data, courses):
        size += len(json.dumps(data, separators=(",", ":")))
        if size > MAX_HISTORY_SIZE and found:
            break
        found.append(data)
    return found


def _each(
    parts: Sequence[tuple[Section, dict[str, Table]]],
    content: Callable[[Section, dict[str, Table]], Markup],
) -> Markup:
    """Return the content of every section, with a heading for each if there are several."""
    if len(parts) == 1:
        return content(*parts[0])
    return joined(
        joined([tag("h3", part.title, class_="dimension"), content(part, of)]) for part, of in parts
    )


def _published(results: Results, colors: Colors) -> tuple[Markup, list[Table]]:
    """Return our numbers beside the paper's, the cells folded; nothing if there are none."""
    found = against_paper(results)
    if not found:
        return Markup(""), []
    summary, each = paper_summary(found), [paper_table(one) for one in found]
    folded = [
        tag("details", tag("summary", colors.name(one.method), tag("span", "cell by cell",
            class_="said")), shown(table, colors), class_="screen")
        for one, table in zip(found, each, strict=True)
    ]  # fmt: skip
    head = tag("h3", "Against the published table")
    return joined([head, shown(summary, colors, titled=False), *folded]), [summary, *each]


def _filled(
    title: str,
    summary: str,
    sections: Sequence[tuple[str, str, Markup]],
    colors: Colors,
    data: dict[str, Any],
) -> str:
    body = joined(
        tag("section", tag("h2", name), content, id=key) for key, name, content in sections
    )
    menu = joined(tag("a", name, href=f"#{key}") for key, name, _ in sections)
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    heading = [tag("h1", title), tag("p", summary, class_="subtitle") if summary else ""]
    parts = {
        "title": tag("title", title),
        "style": _read("report.css") + colors.style(),
        "heading": joined(heading),
        "menu": menu,
        "body": body,
        "mark": markup(MARK),
        "version": markup(versions().get("uaos", "")),
        "data": _packed(text),
        "plotly": _plotly(),
        "script": "\n".join(_read(name) for name in _SCRIPTS),
    }
    # In one pass, so that nothing inside a part is taken for a place.
    return re.sub(r"<!--(\w+)-->", lambda place: parts[place[1]], _read("page.html"))


@cache
def _plotly() -> str:
    """Return Plotly's script, from the installed package."""
    plotly = optional("plotly.offline", "an interactive report")
    return _packed(plotly.get_plotlyjs())


def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _packed(text: str) -> str:
    """Return text compressed: a third of the size, unpacked by every browser since 2023."""
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()
