"""The whole page: sections in their order, style, script and data in one file."""

import base64
import gzip
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from uaos.analysis.comparison import compare
from uaos.analysis.published import against_paper, paper_summary, paper_table
from uaos.analysis.results import Results
from uaos.analysis.sectioning import Section
from uaos.experiments.provenance import versions
from uaos.extras import optional
from uaos.files import MARK
from uaos.markup import Markup, escaped, joined, tag
from uaos.reporting.report.duels import duel_data
from uaos.reporting.report.elements import Colors, shown
from uaos.reporting.report.methods import citations, method_recipe, symbols
from uaos.reporting.report.operators import (
    changing_runs,
    course_data,
    operator_section,
    use_table,
)
from uaos.reporting.report.overview import data_summary, notes, overview_section, report_title
from uaos.reporting.report.profiles import (
    convergence_data,
    convergence_section,
    profile_data,
    profile_section,
    running_time_section,
)
from uaos.reporting.report.reproduce import reproduce_section, version_table
from uaos.reporting.sources import (
    ChosenRun,
    Course,
    Sources,
    courses_of,
    representative_courses,
)
from uaos.table import Table

if TYPE_CHECKING:  # loaded when there is a tuning
    from uaos.reporting.report.tuning import TuningView

#: Largest number of characters of histories in a report.
MAX_HISTORY_SIZE = 1_500_000

_FOLDER = files("uaos") / "data" / "report"
_SCRIPTS = ("unpack.js", "theme.js", "plots.js", "duels.js", "tuning.js", "tables.js", "start.js")


class Part(NamedTuple):
    """A section of the results, and its tables by name."""

    section: Section
    tables: dict[str, Table]


class Chapter(NamedTuple):
    """A section of the page."""

    key: str
    heading: str
    content: Markup


class ReportPage:
    """The HTML page of a report.

    Parameters
    ----------
    sources
        The open stores.
    chosen
        The runs whose operator use is shown; a representative choice if None.
    focus
        The method that the report is about.
    progress
        Called with the name of each step.
    """

    def __init__(
        self,
        sources: Sources,
        *,
        chosen: Sequence[ChosenRun] | None = None,
        focus: str | None = None,
        progress: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.sources, self.results, self._progress = sources, sources.results, progress
        self._focus = focus
        self._colors = Colors(self.results.methods)
        progress("tests")
        self._parts = _compared_parts(self.results, focus)
        self._tunings = _tuning_views(sources)
        progress("operator use")
        self._chosen = chosen is not None
        courses = self._representative() if chosen is None else self._wanted(chosen)
        self._course_data = _limited(courses)
        self._courses = courses[: len(self._course_data)]
        self._omitted = len(courses) - len(self._courses)
        self._tables: list[Table] = [version_table(sources)]

    def to_html(self, title: str | None = None) -> str:
        """Return the page; without a title, its heading names the methods and the problems."""
        chapters = self._chapters()
        self._progress("writing")
        sections = [part.section for part in self._parts]
        heading = title or report_title(sections, len(self._tunings))
        summary = data_summary(self.sources, sections)
        return _filled(heading, summary, chapters, self._colors, self._data())

    def _representative(self) -> list[Course]:
        order = [s.method for s in self._parts[0].section.overall.standings] if self._parts else []
        return representative_courses(self.sources.experiments, order)

    def _wanted(self, chosen: Sequence[ChosenRun]) -> list[Course]:
        experiments = self.sources.experiments
        return [
            course for method, on in chosen for course in courses_of(experiments, method, on)
        ]  # fmt: skip

    def _chapters(self) -> list[Chapter]:
        chapters = self._result_chapters() if self._parts else []
        if self._tunings:
            chapters.append(self._tuning_chapter())
        if self._parts:
            chapters.append(self._method_chapter())
        runs = changing_runs(self._courses) if self._courses else ()
        chapters.append(Chapter("reproduce", "Reproduce", reproduce_section(self.sources, runs)))
        if not self._parts:
            first = chapters[0]
            chapters[0] = first._replace(content=joined([self._remarks(), first.content]))
        return chapters

    def _result_chapters(self) -> list[Chapter]:
        self._progress("overview")
        overview = self._each(self._overview)
        self._progress("runtime profiles")
        profiles = self._each(lambda part: profile_section(part.section, self._colors))
        self._progress("convergence")
        convergence = self._each(lambda part: convergence_section(part.section, self._colors))
        self._progress("running times")
        times = self._each(
            lambda part: running_time_section(part.section, part.tables["art"], self._colors)
        )
        published, tables = _published(self.results, self._colors)
        self._tables += [table for part in self._parts for table in part.tables.values()] + tables
        operators = operator_section(
            self._courses, self._colors, chosen=self._chosen, omitted=self._omitted
        )
        self._tables += [use_table(self._courses)] if self._courses else []
        return [
            Chapter("overview", "Overview", overview),
            Chapter("profiles", "Runtime profiles", profiles),
            Chapter("convergence", "Convergence", convergence),
            Chapter("running-times", "Running times", joined([times, published])),
            Chapter("operators", "Operators", operators),
        ]

    def _overview(self, part: Part) -> Markup:
        winners = dict.fromkeys(m for t in self._tunings if (m := t.tested_in(part.section)))
        remarks = self._remarks() if part is self._parts[0] else None
        return overview_section(
            part.section, part.tables, self._colors, self._courses, list(winners), remarks
        )

    def _tuning_chapter(self) -> Chapter:
        self._progress("tuning")
        several = len(self._tunings) > 1
        self._tables += [table for tuning in self._tunings for table in tuning.tables()]
        content = joined(tuning.section(self._colors, several) for tuning in self._tunings)
        return Chapter("tuning", "Tuning", content)

    def _method_chapter(self) -> Chapter:
        methods, stored = self.results.methods, self.results.configurations
        recipes = [
            method_recipe(method, stored.get(method, {}), self._colors, opened=len(methods) == 1)
            for method in methods
        ]
        used = [stored[method] for method in methods if method in stored]
        return Chapter("methods", "Methods", joined([symbols(), *recipes, citations(used)]))

    def _remarks(self) -> Markup:
        """Return what has to be known before the numbers are trusted."""
        lines = notes(self.sources, [part.section for part in self._parts])
        if not lines:
            return Markup("")
        items = tag("ul", *(tag("li", self._colors.in_text(line)) for line in lines))
        return tag("div", tag("b", "Notes"), items, class_="missing")

    def _each(self, content: Callable[[Part], Markup]) -> Markup:
        """Return the content of every part, with a heading for each if there are several."""
        if len(self._parts) == 1:
            return content(self._parts[0])
        return joined(
            joined([tag("h3", part.section.title, class_="dimension"), content(part)])
            for part in self._parts
        )

    def _data(self) -> dict[str, object]:
        """Return what the script draws."""
        return {
            "methods": self._colors.data(),
            "sections": {
                part.section.key: profile_data(part.section)
                | {"convergence": convergence_data(part.section), "duels": duel_data(part.section)}
                for part in self._parts
            },
            "focus": self._focus,
            "courses": self._course_data,
            "tunings": {str(tuning.number): tuning.data() for tuning in self._tunings},
            "csv": {table.name: table.to_csv() for table in self._tables},
        }


def _compared_parts(results: Results, focus: str | None) -> list[Part]:
    if not results.runs:
        return []
    parts = []
    for compared in compare(results, focus=focus).sections:
        key = compared.section.key
        # By name; the names in the page have the section's key, too.
        tables = {t.name: replace(t, name=f"{t.name}-{key}") for t in compared.tables}
        parts.append(Part(compared.section, tables))
    return parts


def _tuning_views(sources: Sources) -> "list[TuningView]":
    if not sources.tunings:
        return []
    from uaos.reporting.report.tuning import TuningView

    return [TuningView(entry, number) for number, entry in enumerate(sources.tunings, 1)]


def _limited(courses: Sequence[Course]) -> list[dict[str, object]]:
    """Return the data of as many runs as the size allows; at least one."""
    fitting: list[dict[str, object]] = []
    size = 0
    for data in map(course_data, courses):
        size += len(json.dumps(data, separators=(",", ":")))
        if size > MAX_HISTORY_SIZE and fitting:
            break
        fitting.append(data)
    return fitting


def _published(results: Results, colors: Colors) -> tuple[Markup, list[Table]]:
    """Return our numbers beside the paper's, the cells folded; nothing if there are none."""
    comparisons = against_paper(results)
    if not comparisons:
        return Markup(""), []
    summary, each = paper_summary(comparisons), [paper_table(c) for c in comparisons]
    folded = [
        tag("details", tag("summary", colors.name(comparison.method), tag("span", "cell by cell",
            class_="said")), shown(table, colors), class_="screen")
        for comparison, table in zip(comparisons, each, strict=True)
    ]  # fmt: skip
    head = tag("h3", "Against the published table")
    return joined([head, shown(summary, colors, titled=False), *folded]), [summary, *each]


def _filled(
    title: str,
    summary: str,
    chapters: Sequence[Chapter],
    colors: Colors,
    data: dict[str, object],
) -> str:
    """Return the template with its places filled."""
    body = joined(tag("section", tag("h2", c.heading), c.content, id=c.key) for c in chapters)
    menu = joined(tag("a", c.heading, href=f"#{c.key}") for c in chapters)
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    heading = [tag("h1", title), tag("p", summary, class_="subtitle") if summary else ""]
    parts = {
        "title": tag("title", title),
        "style": _read("report.css") + colors.style(),
        "heading": joined(heading),
        "menu": menu,
        "body": body,
        "mark": escaped(MARK),
        "version": escaped(versions().get("uaos", "")),
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
