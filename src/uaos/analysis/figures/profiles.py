"""Runtime profiles: overall, by class, by function."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from uaos.analysis.ecdf import Ecdf, combined, ecdf
from uaos.analysis.figures.canvas import axes_with_margins, handle, legend, legend_height
from uaos.analysis.figures.choice import chosen, shared_functions, spans
from uaos.analysis.figures.labels import End, name_ends, room
from uaos.analysis.figures.reference import NAME, profile_2009
from uaos.analysis.results import Results
from uaos.analysis.style import DEFAULT, GREY, SMALL, TEXT, TICK, Look, Style, text_width
from uaos.problems.bbob import BBOB, CLASSES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Simulated restarts are shown up to so many times the longest budget.
_ROOM = 10
# Points of a curve in a decade at most: more cannot be told apart in print.
_POINTS = 150


class _Profiles:
    """The curves of the methods on each function, and how far they are drawn."""

    def __init__(
        self,
        results: Results,
        dimension: int,
        methods: Sequence[str] | None,
        style: Style,
        restarts: bool,
    ) -> None:
        self.dimension = dimension
        self.methods = chosen(results, dimension, methods)
        self.looks = style.looks(results.methods)
        self.runs = {m: {r.function: r for r in results.of(m, dimension)} for m in self.methods}
        self.curves = {
            m: {f: ecdf(r, restarts=restarts) for f, r in of.items()} for m, of in self.runs.items()
        }
        longest = max(int(r.budgets.max()) for of in self.runs.values() for r in of.values())
        self.end = max(10.0, longest / dimension * (_ROOM if restarts else 1))
        self.restarts = restarts

    def draw(self, axes: Any, functions: Sequence[int], *, thin: bool = False) -> list[End]:
        """Draw each method's profile over those of the functions that it has, and best2009's."""
        ends = []
        reference = profile_2009(tuple(functions), self.dimension)
        if reference is not None:
            _line(axes, reference, self.end, color=GREY, linestyle=(0, (4, 2)), linewidth=1.0,
                  zorder=1.9, label=NAME)  # fmt: skip
            ends.append(End(NAME, float(reference.at(self.end)), None))
        for i, method in enumerate(self.methods):
            of = [f for f in functions if f in self.curves[method]]
            if not of:
                continue
            curve = combined([self.curves[method][f] for f in of])
            budget = max(int(self.runs[method][f].budgets.max()) for f in of) / self.dimension
            look = self.looks[method]
            _line(axes, curve, self.end if self.restarts else budget, color=look.color,
                  linestyle=look.stroke, linewidth=0.9 if thin else 1.2, label=method)  # fmt: skip
            _marks(axes, curve, look, budget, self.end, (i + 0.5) / len(self.methods), thin)
            ends.append(End(method, float(curve.at(self.end)), look))
        axes.set_xscale("log")
        axes.set_xlim(1, self.end)
        axes.set_ylim(0, 1)
        axes.grid(True)
        return ends

    def said(self, functions: Sequence[int]) -> str:
        return f"{spans(functions)}, {self.dimension}-D"


def ecdf_overall(
    results: Results,
    dimension: int,
    methods: Sequence[str] | None = None,
    *,
    restarts: bool = True,
    style: Style = DEFAULT,
) -> "Figure":
    """Runtime profiles over all functions that every method was run on.

    A curve is the share of (function, target) pairs solved within so many evaluations / dimension;
    the cross marks the budget, beyond which it shows simulated restarts. The dashed line is
    best2009, a pair counting at its aRT.
    """
    of = _Profiles(results, dimension, methods, style, restarts)
    functions = shared_functions(results, dimension, of.methods)
    width = style.inches("column")
    with style.figure(width, max(2.3, min(0.72 * width, 4.2))) as figure:
        right = room(figure, [*of.methods, NAME])
        axes = axes_with_margins(figure, 0.48, 0.40, right, 0.24)
        ends = of.draw(axes, functions)
        axes.set_title(f"{of.said(functions)}, 51 targets", fontsize=TICK)
        axes.set_xlabel("evaluations / dimension")
        axes.set_ylabel("share of (function, target) pairs")
        axes.set_yticks(np.linspace(0, 1, 6))
        _decades(axes, 8)
        name_ends(axes, ends)
    return figure


def ecdf_classes(
    results: Results,
    dimension: int,
    methods: Sequence[str] | None = None,
    *,
    restarts: bool = True,
    style: Style = DEFAULT,
) -> "Figure":
    """The runtime profiles of :func:`ecdf_overall` in each of the five classes of functions."""
    of = _Profiles(results, dimension, methods, style, restarts)
    functions = shared_functions(results, dimension, of.methods)
    panels = [
        (name, present)
        for name, members in CLASSES.items()
        if (present := [f for f in functions if f in members])
    ]
    width = style.inches("page")
    columns = min(3 if width > 5 else 2, len(panels) + 1)
    titles = [f"{name}, {spans(present)}" for name, present in panels]
    return _multiples(of, style, width, columns, [p for _, p in panels], titles, 0.66)


def ecdf_functions(
    results: Results,
    dimension: int,
    methods: Sequence[str] | None = None,
    *,
    restarts: bool = True,
    style: Style = DEFAULT,
) -> "Figure":
    """The runtime profiles of :func:`ecdf_overall` on each function."""
    of = _Profiles(results, dimension, methods, style, restarts)
    functions = sorted({f for m in of.methods for f in of.curves[m]})
    width = style.inches("page")
    columns = min(6 if width > 5 else 4, len(functions))
    names = [BBOB(f, 2).name.replace("ill-conditioned", "ill-cond.") for f in functions]
    titles = [f"f{f} {name}" for f, name in zip(functions, names, strict=True)]
    if width <= 5:
        titles = [f"f{f}" for f in functions]
    return _multiples(of, style, width, columns, [[f] for f in functions], titles, 0.75)


def _multiples(
    of: _Profiles,
    style: Style,
    width: float,
    columns: int,
    panels: Sequence[Sequence[int]],
    titles: Sequence[str],
    aspect: float,
) -> "Figure":
    """Small multiples with common axes, and one legend below them."""
    rows = -(-len(panels) // columns)
    left, right, top, across = 0.44, 0.10, 0.22, 0.19
    panel = (width - left - right - (columns - 1) * across) / columns
    tall = aspect * panel
    down = 0.24
    with style.figure(width, 1.0) as figure:
        bottom = 0.40 + legend_height(figure, [*of.methods, NAME])
        height = top + rows * tall + (rows - 1) * down + bottom
        figure.set_size_inches(width, height)
        grid = figure.subplots(
            rows, columns, sharex=True, sharey=True, squeeze=False,
            gridspec_kw={
                "left": left / width, "right": 1 - right / width, "bottom": bottom / height,
                "top": 1 - top / height, "wspace": across / panel, "hspace": down / tall,
            },
        ).ravel()  # fmt: skip
        size = min([SMALL + 0.5, *(
            (SMALL + 0.5) * (panel + across - 0.05) / text_width(figure, [title], SMALL + 0.5)
            for title in titles
        )])  # fmt: skip
        for axes, members, title in zip(grid, panels, titles, strict=False):
            of.draw(axes, members, thin=True)
            axes.set_title(title, fontsize=size, pad=2.5)
            axes.tick_params(labelsize=SMALL)
        for axes in grid[len(panels) :]:
            axes.set_axis_off()
        for axes in grid[max(0, len(panels) - columns) : len(panels)]:
            axes.tick_params(labelbottom=True)
        grid[0].set_yticks([0, 0.5, 1])
        _decades(grid[0], 4)
        middle = (bottom + (height - top - bottom) / 2) / height
        figure.text(0.06 / width, middle, f"share of (function, target) pairs, {of.dimension}-D",
                    rotation=90, va="center", ha="left", fontsize=TEXT)  # fmt: skip
        figure.text((left + (width - left - right) / 2) / width, (bottom - 0.30) / height,
                    "evaluations / dimension", ha="center", va="center", fontsize=TEXT)  # fmt: skip
        legend(figure, _handles(of))
    return figure


def _handles(of: _Profiles) -> list[Any]:
    from matplotlib.lines import Line2D

    reference = Line2D([], [], color=GREY, linestyle=(0, (4, 2)), linewidth=1.0, label=NAME)
    return [*(handle(method, of.looks[method]) for method in of.methods), reference]


def _line(axes: Any, curve: Ecdf, end: float, **look: Any) -> None:
    """The steps of a curve up to `end`, thinned to what can be seen."""
    inside = curve.times < end
    times, shares = curve.times[inside], curve.shares[inside]
    if len(times) > _POINTS:
        bins = np.floor(_POINTS * np.log10(times))
        keep = np.append(np.flatnonzero(np.diff(bins)), len(times) - 1)
        times, shares = times[keep], shares[keep]
    start = min(1.0, times[0] if len(times) else 1.0) / 10
    x = np.concatenate([[start], times, [end]])
    y = np.concatenate([[0.0], shares, [float(curve.at(end))]])
    axes.plot(x, y, drawstyle="steps-post", **look)


def _marks(
    axes: Any, curve: Ecdf, look: Look, budget: float, end: float, shift: float, thin: bool
) -> None:
    """Two or three markers of the method where others have none, and the cross at the budget."""
    size = 2.6 if thin else 4.0
    decades = np.log10(end)
    places = 10.0 ** np.arange(shift, decades, 2.0 if thin else 1.0)
    places = places[places < min(end, budget)]
    axes.plot(places, curve.at(places), look.marker, color=look.color, markersize=size,
              markeredgewidth=0, linestyle="", label="_markers")  # fmt: skip
    axes.plot([budget], [float(curve.at(budget))], "x", color=look.color, markersize=size + 1.5,
              markeredgewidth=1.0, linestyle="", zorder=3, clip_on=False,
              label="_budget")  # fmt: skip


def _decades(axes: Any, most: int) -> None:
    """Powers of ten at the ticks, not more than `most` of them, and none without a number."""
    from matplotlib.ticker import FixedLocator, NullLocator

    low, high = axes.get_xlim()
    powers = np.arange(np.ceil(np.log10(low) - 1e-9), np.floor(np.log10(high) + 1e-9) + 1)
    step = -(-len(powers) // most)
    axes.xaxis.set_major_locator(FixedLocator([float(p) for p in 10.0 ** powers[::step]]))
    axes.xaxis.set_minor_locator(NullLocator())
