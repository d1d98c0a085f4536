"""Average running times: COCO's table, with the published values as rows of their own."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from uaos.analysis.art import AverageRunningTime, printed
from uaos.analysis.best2009 import TABLE_TARGETS, best2009
from uaos.analysis.paper import DIMENSION, NAMES, published
from uaos.analysis.results import random_stream
from uaos.analysis.tables import printed_dispersion, target_name
from uaos.problems.bbob import GROUPS, TITLES
from uaos.reporting.report.chapter import Chapter
from uaos.reporting.report.grid import Cell, Row, grid
from uaos.reporting.report.html import Markup, joined, prose, tag, whole
from uaos.reporting.report.looks import Looks
from uaos.reporting.report.stars import best, possible, stars

_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def running_section(chapter: Chapter, looks: Looks) -> Markup:
    """The table, what it is filtered by, and what its signs mean."""
    D = chapter.dimension
    rows: list[Row] = []
    for function in chapter.functions:
        rows += _function(chapter, function, looks)
    columns: list[object] = ["f", "method"]
    columns += [prose(target_name(t)) for t in TABLE_TARGETS] + ["solved"]
    table = grid(
        f"art-{D}", f"aRT to f − f_opt ≤ target, divided by that of best 2009, {D}-D", columns,
        rows, texts=2, note=_note(chapter),
    )  # fmt: skip
    return tag("div", _filters(chapter), table, class_="filtered running")


def _function(chapter: Chapter, function: str, looks: Looks) -> list[Row]:
    D = chapter.dimension
    where = {"function": function, "class": _class(function)}
    name = TITLES.get(function, "")
    rows = []
    reference = best2009(function, D)
    if reference:
        cells = [Cell(_evaluations(reference.get(t, np.nan))) for t in TABLE_TARGETS]
        head = (
            Cell(function, float(random_stream(function))),
            Cell(joined([name, tag("small", " best 2009")])),
        )
        rows.append(Row((*head, *cells, Cell("")), "reference", where))
    leaders = [best(chapter, function, i) for i in range(len(TABLE_TARGETS))]
    marks = [stars(chapter, function, i) for i in range(len(TABLE_TARGETS))]
    for method in chapter.methods:
        if (method, function) not in chapter.running_times:
            continue
        times = chapter.running_times[method, function]
        cells = [
            _cell(one, method in leaders[i], marks[i] if method in leaders[i] else 0)
            for i, one in enumerate(times)
        ]
        runs = chapter.results.runs[method, D, function]
        solved = Cell(f"{runs.solved}/{len(runs)}", runs.solved / len(runs))
        first = (Cell(function, float(random_stream(function))), Cell(looks.called(method), method))
        rows.append(Row((*first, *cells, solved), "", {**where, "method": method}))
        if D == DIMENSION and method in NAMES:
            rows.append(_published(method, function, where))
    return rows


def _cell(one: AverageRunningTime, leads: bool, mark: int) -> Cell:
    look = "best" if leads else ""
    if np.isinf(one.art):
        return Cell("∞", np.inf, "never")
    star = ""
    if mark:
        power = str(mark).translate(_SUPERSCRIPT) if mark > 1 else ""
        star = tag("span", f"★{power}", class_="star", title=f"p < 1e-{mark}" if mark > 1 else
                   "p < 0.05")  # fmt: skip
    hover = f"{printed(one.art)} evaluations; {one.successes} of {one.trials} runs"
    if np.isnan(one.ratio):
        shown = joined([printed(one.art), tag("small", " ev.")])
        return Cell(tag("span", shown, star, title=hover), one.art, look)
    spread: object = ""
    if one.trials > 1:
        spread = tag("small", f" ({printed_dispersion(one.dispersion_ratio)})")
    return Cell(tag("span", printed(one.ratio), spread, star, title=hover), one.ratio, look)


def _published(method: str, function: str, where: Mapping[str, Any]) -> Row:
    table = published()
    cells = []
    solved = ""
    for target in TABLE_TARGETS:
        known = table[method, function, target]
        cells.append(Cell(printed(known.ratio), known.ratio))
        solved = f"{known.successes}/{known.trials}"
    name = tag("span", f"{NAMES[method]}, published", class_="method")
    first = (Cell(function, float(random_stream(function))), Cell(name, f"{method} published"))
    return Row((*first, *cells, Cell(solved)), "published", {**where, "method": method})


def _evaluations(number: float) -> str:
    if np.isnan(number):
        return "–"
    return printed(number) if number >= 1e7 or np.isinf(number) else whole(number)


def _class(function: str) -> str:
    return next((name for name, members in GROUPS.items() if function in members), "")


def _filters(chapter: Chapter) -> Markup:
    """Menus and boxes that leave rows out."""
    options = [tag("option", "all functions", value="")]
    present = [c.name for c in chapter.classes]
    if len(present) > 1:
        classes = [tag("option", name, value=f"class:{name}") for name in present]
        options.append(tag("optgroup", *classes, label="classes"))
    single = [
        tag("option", f"{f} {TITLES.get(f, '')}".strip(), value=f"function:{f}")
        for f in chapter.functions
    ]
    options.append(tag("optgroup", *single, label="functions"))
    menus = [tag("label", "Functions ", tag("select", *options, data_filter="where"))]
    if len(chapter.methods) > 1:
        names = [tag("option", "all methods", value="")]
        names += [tag("option", m, value=f"method:{m}") for m in chapter.methods]
        menus.append(tag("label", "Methods ", tag("select", *names, data_filter="who")))
    if _has_published(chapter):
        menus.append(tag("label", tag("input", type="checkbox", checked=True,
                                      data_filter="published"), " published values"))  # fmt: skip
    return tag("div", *menus, class_="filters screen")


def _has_published(chapter: Chapter) -> bool:
    return chapter.dimension == DIMENSION and any(m in NAMES for m in chapter.methods)


def _note(chapter: Chapter) -> str:
    said = []
    if any(len(runs) > 1 for runs in chapter.runs):
        said.append(
            "In brackets: half the distance from the 10 to the 90 %-tile of run lengths with "
            "simulated restarts, in the same unit."
        )
    said.append(
        "Shaded rows: best 2009, in evaluations. ∞: never reached. ev.: in evaluations, where best "
        "2009 never reached the target."
    )
    if len(chapter.methods) > 1:
        said.append("Bold: the least aRT.")
        if possible(chapter):
            said.append(
                "★: its runs are better than those of every other method (rank-sum test, corrected "
                "for the number of functions, p < 0.05; ★² for p < 10⁻², …)."
            )
        else:
            said.append("No method has runs enough on a function for a test of aRT.")
    said.append("Solved: 10⁻⁸ was reached.")
    if _has_published(chapter):
        said.append(
            "Published: Sharma, López-Ibáñez and Kazakov (2020), on 13 instances of each function "
            "and with their budgets."
        )
    return " ".join(said)


def art_records(chapter: Chapter) -> list[dict[str, Any]]:
    """The numbers of the table, for programs."""
    return [
        {"method": c.method, "dimension": c.dimension, "function": c.function, "target": c.target,
         "art": c.art, "successes": c.successes, "trials": c.trials, "best2009": c.reference,
         "ratio": c.ratio, "percentile_10": c.low, "percentile_90": c.high,
         "dispersion_ratio": c.dispersion_ratio}
        for times in chapter.running_times.values()
        for c in times
    ]  # fmt: skip
