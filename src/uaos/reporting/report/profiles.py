"""Runtime profiles: the curves for the script, thinned, and where they stand on the page."""

from typing import Any

import numpy as np

from uaos.analysis.ecdf import Ecdf
from uaos.analysis.restarts import ROOM
from uaos.problems.bbob import GROUPS
from uaos.reporting import figures
from uaos.reporting.report.chapter import Chapter, Panel
from uaos.reporting.report.html import Markup, joined, tag, whole
from uaos.reporting.report.looks import Looks
from uaos.reporting.report.pictures import image, plot
from uaos.reporting.style import Style

#: Places to a power of ten at which a curve is noted: finer than a screen shows.
DECADE = 80
# Shares are written as whole numbers of this unit.
_UNIT = 10_000

# Inches of the profile over all functions, which stands alone.
_WIDE = 6.0

_X = "evaluations / dimension"
_Y = "share of (function, target) pairs"


def curve_data(curve: Ecdf, end: float) -> list[list[int]]:
    """A curve as steps: places on the logarithmic grid, and the share from there on."""
    places = np.arange(np.floor(DECADE * np.log10(max(end, 1.0))) + 1)
    shares = np.round(_UNIT * curve.at(10.0 ** (places / DECADE))).astype(int)
    steps = np.flatnonzero(np.diff(shares, prepend=0))
    return [steps.tolist(), shares[steps].tolist()]


def profile_data(chapter: Chapter) -> dict[str, Any]:
    """All profiles of a chapter, for the script."""
    panels = {}
    longest = max(10.0, chapter.budget / chapter.dimension)
    for panel in chapter.panels():
        lines: list[dict[str, Any] | None] = []
        for method in chapter.methods:
            raw = chapter.profile(method, panel, restarts=False)
            again = chapter.profile(method, panel, restarts=True)
            if raw is None or again is None:
                lines.append(None)
                continue
            end = _budget(chapter, method, panel) / chapter.dimension
            lines.append({
                "raw": curve_data(raw, end), "again": curve_data(again, ROOM * longest),
                "end": round(end, 2),
            })  # fmt: skip
        reference = chapter.reference(panel)
        panels[panel.key] = {
            "title": f"{panel.title}, {chapter.dimension}-D", "lines": lines,
            "best": None if reference is None else curve_data(reference, ROOM * longest),
        }  # fmt: skip
    return {
        "methods": list(chapter.methods), "decade": DECADE, "unit": _UNIT, "panels": panels,
        "end": {"raw": longest, "again": ROOM * longest}, "x": _X, "y": _Y,
    }  # fmt: skip


def _budget(chapter: Chapter, method: str, panel: Panel) -> int:
    of = chapter.results.of(method, chapter.dimension)
    return max(int(r.budgets.max()) for r in of if r.function in panel.functions)


def profile_section(chapter: Chapter, looks: Looks) -> Markup:
    """The profiles overall, by class and by function."""
    D, results = chapter.dimension, chapter.results
    panels = chapter.panels()
    classes = [p for p in panels if p.key in GROUPS]
    functions = [p for p in panels if _is_function(p)]
    style = Style(order=looks.order)
    parts: list[object] = [_controls(D)]
    if chapter.shared:
        said = f"Runtime profiles, {D}-D. {_overall_words(chapter, panels[0])}"
        still = image(figures.ecdf_overall(results, D, style=Style(_WIDE, order=looks.order)), said)
        parts.append(plot("profile", static=still, dimension=D, panel="all", label=said))
    parts.append(tag("p", _caption(chapter), class_="note"))
    if len(classes) > 1:
        still = image(
            figures.ecdf_classes(results, D, style=style), f"The same in each class, {D}-D."
        )
        parts += [tag("h4", "By class of functions"), _multiples(classes, D, still)]
    if len(functions) > 1:
        still = image(
            figures.ecdf_functions(results, D, style=style), f"The same on each function, {D}-D."
        )
        parts += [tag("h4", "By function"), _multiples(functions, D, still)]
    return joined(parts)


def _is_function(panel: Panel) -> bool:
    return panel.key[1:].isdigit()


def _controls(dimension: int) -> Markup:
    """Which methods are shown, and how their runs count; for all profiles at once."""
    options = (
        ("again", "with restarts", "Runs that failed are run again, simulated, as COCO does"),
        ("raw", "as they were run", "Each run counts up to its end"),
    )
    boxes = [
        tag("label", tag("input", type="radio", name=f"restarts-{dimension}", value=value,
                         checked=value == "again"), f" {text}", title=title)
        for value, text, title in options
    ]  # fmt: skip
    runs = tag("fieldset", tag("legend", "Runs", class_="hidden"), *boxes, class_="switch")
    keys = tag("div", class_="keys", data_keys="profile", data_dimension=dimension)
    return tag("div", keys, runs, class_="panel-tools screen")


def _multiples(panels: list[Panel], dimension: int, still: Markup) -> Markup:
    """Small multiples: buttons that open the profile in full size."""
    drawn = [
        tag("button", tag("span", panel.title, class_="title"),
            tag("div", class_="live", data_plot="profile", data_dimension=dimension,
                data_panel=panel.key, data_small="1"),
            type="button", class_=f"multiple {_start(panel)}".strip(), data_enlarge=panel.key,
            data_dimension=dimension, aria_haspopup="dialog")
        for panel in panels
    ]  # fmt: skip
    grid = tag("div", *drawn, class_="multiples screen")
    return joined([grid, tag("div", still, class_="static")])


def _start(panel: Panel) -> str:
    """The first function of a class begins a row, where a row has room for a whole class."""
    if not _is_function(panel):
        return ""
    return "first" if any(panel.functions[0] == members[0] for members in GROUPS.values()) else ""


def _overall_words(chapter: Chapter, panel: Panel) -> str:
    """What the picture shows, for those who do not see it."""
    reached = []
    for method in chapter.methods:
        curve = chapter.profile(method, panel, restarts=False)
        if curve is not None:
            reached.append(f"{method} reaches {curve.reached:.0%} of the pairs")
    return "Within the budget " + ", ".join(reached) + "."


def _caption(chapter: Chapter) -> Markup:
    budgets = sorted({int(r.budgets.max()) for r in chapter.runs})
    each = " or ".join(whole(b) for b in budgets[:4]) + (" …" if len(budgets) > 4 else "")
    known = any(chapter.reference(p) is not None for p in chapter.panels())
    best = (
        " The dashed line is best 2009: for each target, the best aRT of those of BBOB-2009."
        if known
        else ""
    )
    return Markup(
        "Share of (function, target) pairs reached, over evaluations divided by the dimension; 51 "
        "targets from 10² to 10⁻⁸. Higher and further left is better. A cross marks the budget of "
        f"{each} evaluations; beyond it, runs that failed are run again, simulated.{best}"
    )
