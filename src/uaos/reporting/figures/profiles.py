"""Runtime profiles over all functions, in each group, and on each function: three figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np

from uaos.analysis.profiles import RESTART_HORIZON, Ecdf
from uaos.analysis.sectioning import Section
from uaos.errors import Missing, UnknownName
from uaos.experiments.recorder import ECDF_TARGETS
from uaos.reporting.canvas import (
    LineEnd,
    axes_with_margins,
    decades,
    handle,
    name_ends,
    names_width,
    small_multiples,
)
from uaos.reporting.figures import SECTION, Figure
from uaos.reporting.style import GRAY, TICK, Axes, Drawing, LineStyle, Style, text_width
from uaos.text import ranges

X_LABEL = "evaluations / dimension"
Y_LABEL = "share of (function, target) pairs"
#: Points to a power of ten at which the report notes a curve: finer than a screen shows.
DECADE = 80
#: The report writes shares as integer multiples of 1 / UNIT.
UNIT = 10_000

# Points of a curve in a decade at most: more cannot be distinguished in print.
_POINTS = 150
# Factor of the width of the line of the method in focus.
_FOCUS_WIDTH = 1.8
# Names beside the curves take at most this share of the width.
_NAMES = 0.4
_REFERENCE: dict[str, Any] = {"color": GRAY, "linestyle": (0, (4, 2)), "linewidth": 1.0}


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

    `methods` are all methods of the results, in the order of their colors; `end` is where the
    axis ends, in evaluations / D. The line of the method in `focus` is wider.
    """

    panels: tuple[Panel, ...]
    methods: tuple[str, ...]
    shown: tuple[str, ...]
    section: str
    end: float
    restarts: bool
    reference: str
    focus: str | None = None


def overall_data(
    section: Section, methods: Sequence[str] | None = None, restarts: bool = True
) -> Profiles:
    """Return the share of (function, target) pairs solved over evaluations / dimension."""
    shown, shared = _shared(section, methods)
    return _profiles(section, [_all_functions(shared)], shown, restarts)


def _all_functions(functions: tuple[str, ...]) -> tuple[str, str, tuple[str, ...]]:
    return "all", f"all functions ({ranges(functions)})", functions


def group_data(
    section: Section, methods: Sequence[str] | None = None, restarts: bool = True
) -> Profiles:
    """Return the profiles over the functions of each group that every method was run on."""
    shown, shared = _shared(section, methods)
    panels = [
        (name, f"{name}, {ranges(present)}", present)
        for name, functions in section.results.groups.items()
        if (present := tuple(f for f in functions if f in shared))
    ]
    if len(section.results.groups) == 1:  # the suite itself
        panels = [_all_functions(shared)]
    return _profiles(section, panels, shown, restarts)


def function_data(
    section: Section, methods: Sequence[str] | None = None, restarts: bool = True
) -> Profiles:
    """Return the profiles of each function."""
    panels = [(f, section.function_title(f), (f,)) for f in section.functions]
    return _profiles(section, panels, chosen_methods(section, methods), restarts)


def _shared(
    section: Section, methods: Sequence[str] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the methods to show, and the functions that all of them were run on."""
    shown = chosen_methods(section, methods)
    functions = tuple(f for f in section.functions if all((m, f) in section.runs for m in shown))
    if not functions:
        raise Missing(f"there is no function that all of {', '.join(shown)} were run on")
    return shown, functions


def _profiles(
    section: Section, members: Sequence[tuple[str, str, tuple[str, ...]]],
    shown: tuple[str, ...], restarts: bool,
) -> Profiles:  # fmt: skip
    panels = []
    for key, title, functions in members:
        curves = []
        for method in shown:
            if curve := section.profile(method, functions, restarts=restarts):
                runs = section.runs_of(method, functions)
                budget = max(float(r.budgets.max()) / r.dimension for r in runs)
                curves.append(Curve(method, curve, budget))
        if curves:
            reference = section.reference_profile(functions)
            panels.append(Panel(key, title, functions, tuple(curves), reference))
    end = max(10.0, section.budget * (RESTART_HORIZON if restarts else 1))
    name = section.reference.name if section.reference else ""
    return Profiles(
        tuple(panels), section.methods, shown, section.title, end, restarts, name, section.focus
    )


def chosen_methods(section: Section, methods: Sequence[str] | None) -> tuple[str, ...]:
    """Return the methods to show: exactly those asked for, or all."""
    if methods is None:
        return section.methods
    for name in methods:
        if name not in section.methods:
            raise UnknownName("method", name, section.methods, hint="(of the runs shown)")
    if not methods:
        raise Missing(f"name at least one method to draw: {', '.join(section.methods)}")
    return tuple(dict.fromkeys(methods))


def draw_overall(profiles: Profiles, style: Style) -> Drawing:
    """Draw the curves, with the methods' names at their ends.

    A cross marks the budget, beyond which a curve shows simulated restarts. The dashed line is the
    reference, a pair counting at its aRT.
    """
    (panel,) = profiles.panels
    width = style.inches("column")
    with style.figure(width, max(2.3, min(0.72 * width, 4.2))) as figure:
        names = [*profiles.shown, *([profiles.reference] if panel.reference is not None else [])]
        right = min(names_width(figure, names), _NAMES * width)
        axes = axes_with_margins(figure, 0.48, 0.40, right, 0.24)
        ends = _panel(axes, panel, profiles, style.line_styles(profiles.methods))
        # The longest title that fits.
        end = f"{profiles.section}, {len(ECDF_TARGETS)} targets"
        titles = (f"{ranges(panel.functions)}, {end}", f"{len(panel.functions)} functions, {end}",
                  end, profiles.section)  # fmt: skip
        fits = [t for t in titles if text_width(figure, [t], TICK) <= width - 0.53]
        axes.set_title((*fits, profiles.section)[0], fontsize=TICK)
        axes.set_xlabel(X_LABEL)
        axes.set_ylabel(Y_LABEL)
        decades(axes.xaxis, 8)
        name_ends(axes, ends)
    return figure


def draw_groups(profiles: Profiles, style: Style) -> Drawing:
    """Draw a panel for each group."""
    width = style.inches("page")
    columns = min(3 if width > 5 else 2, max(2, len(profiles.panels)))
    return _grid(profiles, style, width, columns, 0.66, [panel.title for panel in profiles.panels])


def draw_functions(profiles: Profiles, style: Style) -> Drawing:
    """Draw a panel for each function."""
    width = style.inches("page")
    is_wide = width > 5
    # Few panels are larger ones.
    columns = (
        int(np.clip(len(profiles.panels) // 2, 3, 6))
        if is_wide
        else min(4, max(2, len(profiles.panels)))
    )
    # A column is too narrow for more than the number.
    titles = [p.title.replace("ill-conditioned", "ill-cond.") if is_wide else p.key
              for p in profiles.panels]  # fmt: skip
    return _grid(profiles, style, width, columns, 0.75, titles)


def _panel(axes: Axes, panel: Panel, profiles: Profiles, styles: dict[str, LineStyle],
           *, thin: bool = False) -> list[LineEnd]:  # fmt: skip
    """Draw the curves of a panel; return where they end."""
    ends = []
    if panel.reference is not None:
        _line(
            axes, panel.reference, profiles.end, zorder=1.9, label=profiles.reference, **_REFERENCE
        )
        ends.append(LineEnd(profiles.reference, float(panel.reference.at(profiles.end)), None))
    for curve in panel.curves:
        style, budget = styles[curve.method], curve.budget
        width = (0.9 if thin else 1.2) * focus_width(curve.method, profiles.focus)
        _line(axes, curve.ecdf, profiles.end if profiles.restarts else budget, color=style.color,
              linestyle=style.dash, linewidth=width, label=curve.method)  # fmt: skip
        offset = (profiles.shown.index(curve.method) + 0.5) / len(profiles.shown)
        _marks(axes, curve.ecdf, style, budget, profiles.end, offset, thin)
        ends.append(LineEnd(curve.method, float(curve.ecdf.at(profiles.end)), style))
        if not profiles.restarts and budget < profiles.end:
            axes.plot([budget, profiles.end], [ends[-1].y] * 2, color=style.color, linestyle=":",
                      linewidth=0.6, label="_beyond")  # fmt: skip
    axes.set_xscale("log")
    axes.set_xlim(1, profiles.end)
    # A little more than 1, where a line would be cut in half.
    axes.set_ylim(0, 1.02)
    axes.set_yticks([0, 0.5, 1] if thin else np.linspace(0, 1, 6))
    axes.grid(True)
    return ends


def _grid(
    profiles: Profiles,
    style: Style,
    width: float,
    columns: int,
    aspect: float,
    titles: Sequence[str],
) -> Drawing:
    """Draw small multiples."""
    from matplotlib.lines import Line2D

    styles = style.line_styles(profiles.methods)
    handles = [handle(method, styles[method]) for method in profiles.shown]
    if profiles.panels[0].reference is not None:
        handles.append(Line2D([], [], label=profiles.reference, **_REFERENCE))
    return small_multiples(
        style, width, columns, aspect, titles,
        lambda i, axes: _panel(axes, profiles.panels[i], profiles, styles, thin=True),
        (f"{X_LABEL}, {profiles.section}", Y_LABEL, "share"), handles,
    )  # fmt: skip


def focus_width(method: str, focus: str | None) -> float:
    """Return the factor of the width of a method's line."""
    return _FOCUS_WIDTH if method == focus else 1.0


def _line(axes: Axes, curve: Ecdf, end: float, **style: Any) -> None:
    """Draw the steps of a profile up to `end`, as many as can be seen."""
    times = curve.times[curve.times < end]
    if len(times) > 4 * _POINTS:
        low, high = np.log10(times.min()), np.log10(end)
        times = np.logspace(low, high, int(_POINTS * (high - low)) + 2)[:-1]
    start = min(1.0, times[0] if len(times) else 1.0) / 10
    x = np.concatenate([[start], times, [end]])
    axes.plot(x, curve.at(x), drawstyle="steps-post", **style)


def _marks(
    axes: Axes, curve: Ecdf, style: LineStyle, budget: float, end: float, offset: float, thin: bool
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


class InteractivePanel(TypedDict):
    """A panel as the report's script reads it: a line or null for each method."""

    title: str
    reference: list[list[int]] | None
    lines: list[dict[str, float | list[list[int]]] | None]


def profile_interactive(profiles: Profiles) -> dict[str, InteractivePanel]:
    """Return the panels as the report's script reads them."""
    kind = "again" if profiles.restarts else "raw"
    panels: dict[str, InteractivePanel] = {}
    for panel in profiles.panels:
        lines: dict[str, dict[str, float | list[list[int]]]] = {
            c.method: {"end": round(c.budget, 2),
                       kind: _steps(c.ecdf, profiles.end if profiles.restarts else c.budget)}
            for c in panel.curves
        }  # fmt: skip
        panels[panel.key] = {
            "title": f"{panel.title}, {profiles.section}",
            "reference": None if panel.reference is None else _steps(panel.reference, profiles.end),
            "lines": [lines.get(method) for method in profiles.methods],
        }
    return panels


def _steps(curve: Ecdf, end: float) -> list[list[int]]:
    """Return where a curve rises, as indices of a logarithmic grid, and its share from there."""
    indices = np.arange(np.floor(DECADE * np.log10(max(end, 1.0))) + 1)
    shares = np.round(UNIT * curve.at(10.0 ** (indices / DECADE))).astype(int)
    rises = np.flatnonzero(np.diff(shares, prepend=0))
    return [rises.tolist(), shares[rises].tolist()]


_COMMON: dict[str, Any] = {
    "options": ("dim", "methods", "order", "no-restarts"), "in_report": "profiles",
    "interactive": profile_interactive,
}  # fmt: skip
OVERALL = Figure("ecdf-overall", "runtime profiles over all functions", SECTION, overall_data,
                 draw_overall, **_COMMON)  # fmt: skip
GROUPS = Figure("ecdf-groups", "runtime profiles in each group of functions", SECTION, group_data,
                draw_groups, **_COMMON)  # fmt: skip
FUNCTIONS = Figure("ecdf-functions", "runtime profiles on each function", SECTION, function_data,
                   draw_functions, **_COMMON)  # fmt: skip
