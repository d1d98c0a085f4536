"""Runtime profiles as plain data, and how they are drawn: for three figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from uaos.analysis.ecdf import RESTART_HORIZON, Ecdf
from uaos.analysis.section import Section
from uaos.analysis.text import ranges
from uaos.errors import Missing, UnknownName
from uaos.reporting.canvas import LineEnd, handle, small_multiples
from uaos.reporting.style import GREY, LineStyle, Style

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

X_LABEL = "evaluations / dimension"
Y_LABEL = "share of (function, target) pairs"
#: Points to a power of ten at which the report notes a curve: finer than a screen shows.
DECADE = 80
#: The report writes shares as integer multiples of 1 / UNIT.
UNIT = 10_000

# Points of a curve in a decade at most: more cannot be distinguished in print.
_POINTS = 150
_REFERENCE: dict[str, Any] = {"color": GREY, "linestyle": (0, (4, 2)), "linewidth": 1.0}


@dataclass(frozen=True)
class Curve:
    """The profile of a method, and its budget in evaluations / D."""

    method: str
    ecdf: Ecdf
    budget: float


@dataclass(frozen=True)
class Panel:
    """The profiles over some functions: "all", a group or one function."""

    key: str
    title: str
    functions: tuple[str, ...]
    curves: tuple[Curve, ...]
    reference: Ecdf | None


@dataclass(frozen=True)
class Profiles:
    """Panels with the same axes.

    `methods` are all methods of the results, in the order of their colours; `end` is where the
    axis ends, in evaluations / D.
    """

    panels: tuple[Panel, ...]
    methods: tuple[str, ...]
    shown: tuple[str, ...]
    section: str
    end: float
    restarts: bool
    reference: str


def profiles(
    section: Section, by: str, methods: Sequence[str] | None = None, *, restarts: bool = True
) -> Profiles:
    """Return the profiles over all functions, by group or by function.

    Parameters
    ----------
    section
        The runs.
    by
        "all", "group" or "function".
    methods
        Those to show; all if None.
    restarts
        Whether restarts are simulated.
    """
    shown = chosen_methods(section, methods)
    functions = section.functions
    if by != "function":
        functions = tuple(f for f in functions if all((m, f) in section.runs for m in shown))
    if not functions:
        raise Missing(f"there is no function that all of {', '.join(shown)} were run on")
    end = max(10.0, section.budget * (RESTART_HORIZON if restarts else 1))
    panels = []
    for key, title, members in _members(section, by, functions):
        curves = []
        for method in shown:
            curve = section.profile(method, members, restarts=restarts)
            if curve is not None:
                runs = [section.runs[method, f] for f in members if (method, f) in section.runs]
                budget = max(float(r.budgets.max()) / r.dimension for r in runs)
                curves.append(Curve(method, curve, budget))
        reference = section.reference_profile(members)
        if curves:
            panels.append(Panel(key, title, members, tuple(curves), reference))
    name = section.reference.name if section.reference else ""
    return Profiles(tuple(panels), section.methods, shown, section.title, end, restarts, name)


def _members(
    section: Section, by: str, functions: tuple[str, ...]
) -> list[tuple[str, str, tuple[str, ...]]]:
    if by == "all":
        return [("all", f"all functions ({ranges(functions)})", functions)]
    if by == "function":
        return [(f, section.function_title(f), (f,)) for f in functions]
    found = []
    for name, of in section.results.groups.items():
        if present := tuple(f for f in of if f in functions):
            found.append((name, f"{name}, {ranges(present)}", present))
    return found


def chosen_methods(section: Section, methods: Sequence[str] | None) -> tuple[str, ...]:
    """Return the methods to show: exactly those asked for, or all."""
    if methods is None:
        return section.methods
    for name in methods:
        if name not in section.methods:
            raise UnknownName("method", name, section.methods, hint=f"(with {section.title} runs)")
    if not methods:
        raise Missing(f"name at least one method to draw: {', '.join(section.methods)}")
    return tuple(dict.fromkeys(methods))


def draw_panel(axes: Any, panel: Panel, of: Profiles, styles: dict[str, LineStyle],
               *, thin: bool = False) -> list[LineEnd]:  # fmt: skip
    """Draw the curves of a panel; return where they end."""
    ends = []
    if panel.reference is not None:
        _line(axes, panel.reference, of.end, zorder=1.9, label=of.reference, **_REFERENCE)
        ends.append(LineEnd(of.reference, float(panel.reference.at(of.end)), None))
    for curve in panel.curves:
        style, budget = styles[curve.method], curve.budget
        _line(axes, curve.ecdf, of.end if of.restarts else budget, color=style.color,
              linestyle=style.dash, linewidth=0.9 if thin else 1.2, label=curve.method)  # fmt: skip
        offset = (of.shown.index(curve.method) + 0.5) / len(of.shown)
        _marks(axes, curve.ecdf, style, budget, of.end, offset, thin)
        ends.append(LineEnd(curve.method, float(curve.ecdf.at(of.end)), style))
        if not of.restarts and budget < of.end:
            axes.plot([budget, of.end], [ends[-1].y] * 2, color=style.color, linestyle=":",
                      linewidth=0.6, label="_beyond")  # fmt: skip
    axes.set_xscale("log")
    axes.set_xlim(1, of.end)
    # A little more than 1, where a line would be cut in half.
    axes.set_ylim(0, 1.02)
    axes.set_yticks([0, 0.5, 1] if thin else np.linspace(0, 1, 6))
    axes.grid(True)
    return ends


def draw_grid(
    of: Profiles, style: Style, width: float, columns: int, aspect: float, titles: Sequence[str]
) -> "Drawing":
    """Draw small multiples."""
    from matplotlib.lines import Line2D

    styles = style.line_styles(of.methods)
    handles = [handle(method, styles[method]) for method in of.shown]
    if of.panels[0].reference is not None:
        handles.append(Line2D([], [], label=of.reference, **_REFERENCE))
    return small_multiples(
        style, width, columns, aspect, titles,
        lambda i, axes: draw_panel(axes, of.panels[i], of, styles, thin=True),
        (f"{X_LABEL}, {of.section}", Y_LABEL, "share"), handles,
    )  # fmt: skip


def _line(axes: Any, curve: Ecdf, end: float, **style: Any) -> None:
    """Draw the steps of a profile up to `end`, as many as can be seen."""
    times = curve.times[curve.times < end]
    if len(times) > 4 * _POINTS:
        low, high = np.log10(times.min()), np.log10(end)
        times = np.logspace(low, high, int(_POINTS * (high - low)) + 2)[:-1]
    start = min(1.0, times[0] if len(times) else 1.0) / 10
    x = np.concatenate([[start], times, [end]])
    axes.plot(x, curve.at(x), drawstyle="steps-post", **style)


def _marks(
    axes: Any, curve: Ecdf, style: LineStyle, budget: float, end: float, offset: float, thin: bool
) -> None:
    """Draw the method's markers, apart from those of other methods, and a cross at the budget."""
    size = 2.6 if thin else 4.0
    places = 10.0 ** np.arange(offset, np.log10(end), 2.0 if thin else 1.0)
    places = places[places < min(end, budget)]
    shown: dict[str, Any] = {"color": style.color, "linestyle": ""}
    axes.plot(places, curve.at(places), marker=style.marker, markersize=size, markeredgewidth=0,
              label="_markers", **shown)  # fmt: skip
    axes.plot([budget], curve.at([budget]), marker="x", markersize=size + 1.5,
              markeredgewidth=1.0, zorder=3, clip_on=False, label="_budget", **shown)  # fmt: skip


# For the report's script


def interactive(of: Profiles) -> dict[str, Any]:
    """Return the panels as the report's script reads them."""
    return {panel.key: _panel_data(panel, of) for panel in of.panels}


def _panel_data(panel: Panel, of: Profiles) -> dict[str, Any]:
    return {
        "title": f"{panel.title}, {of.section}",
        "lines": {
            c.method: {
                "steps": steps(c.ecdf, of.end if of.restarts else c.budget),
                "end": round(c.budget, 2),
            }
            for c in panel.curves
        },
        "reference": None if panel.reference is None else steps(panel.reference, of.end),
    }


def steps(curve: Ecdf, end: float) -> list[list[int]]:
    """Return a curve as places on a logarithmic grid, and the share from there on."""
    places = np.arange(np.floor(DECADE * np.log10(max(end, 1.0))) + 1)
    shares = np.round(UNIT * curve.at(10.0 ** (places / DECADE))).astype(int)
    rises = np.flatnonzero(np.diff(shares, prepend=0))
    return [rises.tolist(), shares[rises].tolist()]
