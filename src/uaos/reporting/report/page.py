"""The whole page: sections in their order, style, script and data in one file."""

import base64
import gzip
import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from uaos.experiments.versions import versions
from uaos.reporting.report.chapter import Chapter, chapter
from uaos.reporting.report.courses import Chosen, courses
from uaos.reporting.report.grid import csv_text
from uaos.reporting.report.hero import hero
from uaos.reporting.report.html import Markup, joined, listed, markup, tag
from uaos.reporting.report.looks import Looks
from uaos.reporting.report.operators import operator_section, telling, use_records
from uaos.reporting.report.overview import (
    adapting_records,
    class_records,
    data_words,
    missing_words,
    overview_records,
    overview_section,
    pair_records,
)
from uaos.reporting.report.payoff import payoff
from uaos.reporting.report.profiles import profile_data, profile_section
from uaos.reporting.report.published import compared, published_records, published_section
from uaos.reporting.report.recipes import recipe, symbols
from uaos.reporting.report.reproduce import reproduce_section, version_records
from uaos.reporting.report.running import art_records, running_section
from uaos.reporting.report.sources import Sources
from uaos.reporting.report.tunings import TuningView

_FOLDER = files("uaos") / "data" / "report"
_SCRIPTS = ("unpack.js", "theme.js", "plots.js", "tuning.js", "tables.js", "start.js")


def page(
    sources: Sources,
    *,
    title: str | None,
    chosen: Sequence[Chosen] | None,
    commands: Sequence[str],
    made: str,
    tell: Callable[[str], None],
) -> str:
    """The HTML of a report."""
    results = sources.results
    looks = Looks(results.methods)
    tell("tests")
    chapters = [chapter(results, d) for d in results.dimensions]
    tunings = [TuningView(entry, i) for i, entry in enumerate(sources.tunings, 1)]
    beside = compared(results)
    tell("operator use")
    ranked = [s.method for c in chapters[:1] for s in c.overall.standings]
    found, left_out = courses(sources.experiments, chosen, ranked)
    sections: list[tuple[str, str, Markup]] = []
    if chapters:
        tell("overview")
        first = _by_dimension(chapters, looks, lambda c, looks: overview_section(
            c, looks, hero(c, found), payoff(c, tunings, looks)
        ))  # fmt: skip
        tell("runtime profiles")
        profiles = _by_dimension(chapters, looks, profile_section)
        tell("running times")
        sections += [
            ("overview", "Overview", first),
            ("profiles", "Runtime profiles", profiles),
            ("running-times", "Running times", joined([
                _by_dimension(chapters, looks, running_section), published_section(beside, looks),
            ])),
            ("operators", "Operators", operator_section(
                found, looks, chosen=chosen is not None, left_out=left_out
            )),
        ]  # fmt: skip
    if tunings:
        tell("tuning")
        several = len(tunings) > 1
        parts = [view.section(looks, several) for view in tunings]
        sections.append(("tuning", "Tuning", joined(parts)))
    if chapters:
        shown = [
            recipe(m, results.configurations.get(m, {}), looks, opened=len(results.methods) == 1)
            for m in results.methods
        ]
        sections.append(("methods", "Methods", joined([symbols(), *shown])))
    sections.append(
        ("reproduce", "Reproduce", reproduce_section(sources, commands, telling(found), made))
    )
    data = {
        "methods": looks.data(),
        "chapters": {str(c.dimension): profile_data(c) for c in chapters},
        "courses": [c.data for c in found],
        "tunings": {str(t.number): t.data() for t in tunings},
        "csv": _csv(chapters, tunings)
        | {"versions": csv_text(version_records(sources))}
        | ({"operators": csv_text(use_records(found))} if found else {})
        | {name: csv_text(records) for name, records in published_records(beside).items()},
    }
    tell("writing")
    name = title or _title(chapters, tunings)
    said = joined(data_words(sources, chapters), " ")
    lacking = missing_words(sources, chapters, looks)
    return _filled(name, said, lacking, sections, looks, data)


def _by_dimension(
    chapters: Sequence[Chapter], looks: Looks, section: Callable[[Chapter, Looks], Markup]
) -> Markup:
    if len(chapters) == 1:
        return section(chapters[0], looks)
    return joined(
        joined([tag("h3", f"{c.dimension}-D", class_="dimension"), section(c, looks)])
        for c in chapters
    )


def _title(chapters: Sequence[Chapter], tunings: Sequence[TuningView]) -> str:
    if not chapters:
        return "A tuning" if len(tunings) == 1 else f"{len(tunings)} tunings"
    methods = list(dict.fromkeys(m for c in chapters for m in c.methods))
    names = str(listed(methods)) if len(methods) <= 3 else f"{len(methods)} methods"
    where = " and ".join(f"{c.dimension}-D" for c in chapters)
    functions = sorted({f for c in chapters for f in c.functions})
    on = f"{len(functions)} BBOB functions" if len(functions) > 1 else f"BBOB {functions[0]}"
    return f"{names} on {on}, {where}"


def _csv(chapters: Sequence[Chapter], tunings: Sequence[TuningView]) -> dict[str, str]:
    made: dict[str, str] = {}
    for c in chapters:
        D = c.dimension
        made[f"overview-{D}"] = csv_text(overview_records(c))
        made[f"classes-{D}"] = csv_text(class_records(c))
        made[f"art-{D}"] = csv_text(art_records(c))
        if c.verdict.tests:
            made[f"adapting-{D}"] = csv_text(adapting_records(c))
        if c.pairs:
            made[f"pairs-{D}"] = csv_text(pair_records(c).records)
    for t in tunings:
        made |= t.csv()
    return made


def _filled(
    title: str,
    said: Markup,
    lacking: Sequence[Markup],
    sections: Sequence[tuple[str, str, Markup]],
    looks: Looks,
    data: dict[str, Any],
) -> str:
    items = tag("ul", *(tag("li", line) for line in lacking))
    box = tag("div", tag("b", "To be known"), items, class_="missing") if lacking else Markup("")
    body = joined(
        tag("section", tag("h2", name), box if i == 0 else "", content, id=key)
        for i, (key, name, content) in enumerate(sections)
    )
    menu = joined(tag("a", name, href=f"#{key}") for key, name, _ in sections)
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    parts = {
        "title": tag("title", title),
        "style": _read("report.css") + looks.style(),
        "heading": joined([tag("h1", title), tag("p", said, class_="subtitle") if said else ""]),
        "menu": menu,
        "body": body,
        "version": markup(versions().get("uaos", "")),
        "data": _packed(text),
        "plotly": _plotly(),
        "script": "\n".join(_read(name) for name in _SCRIPTS),
    }
    # In one pass, so that nothing inside a part is taken for a place.
    return re.sub(r"<!--(\w+)-->", lambda place: parts[place[1]], _read("page.html"))


@cache
def _plotly() -> str:
    """Plotly's script, from the installed package."""
    from plotly.offline import get_plotlyjs

    return _packed(get_plotlyjs())


def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _packed(text: str) -> str:
    """Compressed, as text: a third of the size, unpacked by every browser since 2023."""
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()
