"""Runtime profiles: overall, by class, by function."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uaos.analysis.ecdf import Ecdf, ecdf
from uaos.analysis.restarts import ROOM
from uaos.analysis.results import Results
from uaos.problems import natural_key
from uaos.problems.bbob import GROUPS, TITLES
from uaos.reporting.figures.canvas import axes_with_margins, decades, handle
from uaos.reporting.figures.choice import chosen, shared_functions, spans
from uaos.reporting.figures.labels import End, name_ends, room
from uaos.reporting.figures.multiples import small_multiples
from uaos.reporting.figures.reference import NAME, profile_2009
from uaos.reporting.style import DEFAULT, GREY, TICK, Look, Style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Points of a curve in a decade at most: more cannot be told apart in print.
_POINTS = 150
# Names beside the curves take no more than this of the width.
_BESIDE = 0.4
_REFERENCE: dict[str, Any] = {"color": GREY, "linestyle": (0, (4, 2)), "linewidth": 1.0}


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
        self.end = max(10.0, longest / dimension * (ROOM if restarts else 1))
        self.restarts = restarts

    def draw(self, axes: Any, functions: Sequence[str], *, thin: bool = False) -> list[End]:
        """Draw each method's profile over those of the functions that it has, and best2009's."""
        ends = []
        known = profile_2009(tuple(functions), self.dimension)
        if known is not None:
            _line(axes, [known], self.end, zorder=1.9, label=NAME, **_REFERENCE)
            ends.append(End(NAME, float(known.at(self.end)), None))
        for i, method in enumerate(self.methods):
            of = [f for f in functions if f in self.curves[method]]
            if not of:
                continue
            curves = [self.curves[method][f] for f in of]
            budget = max(int(self.runs[method][f].budgets.max()) for f in of) / self.dimension
            look = self.looks[method]
            _line(axes, curves, self.end if self.restarts else budget, color=look.color,
                  linestyle=look.stroke, linewidth=0.9 if thin else 1.2, label=method)  # fmt: skip
            _marks(axes, curves, look, budget, self.end, (i + 0.5) / len(self.methods), thin)
            ends.append(End(method, float(share(curves, self.end)), look))
            if not self.restarts and budget < self.end:
                axes.plot([budget, self.end], [ends[-1].y] * 2, color=look.color, linestyle=":",
                          linewidth=0.6, label="_beyond")  # fmt: skip
        axes.set_xscale("log")
        axes.set_xlim(1, self.end)
        # A little room, for a line at 1 would be cut in half.
        axes.set_ylim(0, 1.02)
        axes.set_yticks([0, 0.5, 1] if thin else np.linspace(0, 1, 6))
        axes.grid(True)
        return ends

    def multiples(
        self,
        style: Style,
        width: float,
        columns: int,
        aspect: float,
        panels: Sequence[tuple[str, Sequence[str]]],
    ) -> "Figure":
        """A panel for each title and its functions."""
        from matplotlib.lines import Line2D

        handles = [handle(method, self.looks[method]) for method in self.methods]
        if profile_2009(tuple(panels[0][1]), self.dimension) is not None:
            handles.append(Line2D([], [], label=NAME, **_REFERENCE))
        return small_multiples(
            style, width, columns, aspect, [title for title, _ in panels],
            lambda i, axes: self.draw(axes, panels[i][1], thin=True),
            ("evaluations / dimension", f"share of (function, target) pairs, {self.dimension}-D",
             f"share, {self.dimension}-D"),
            handles,
        )  # fmt: skip


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
        right = min(room(figure, [*of.methods, NAME]), _BESIDE * width)
        axes = axes_with_margins(figure, 0.48, 0.40, right, 0.24)
        ends = of.draw(axes, functions)
        axes.set_title(f"{spans(functions)}, {dimension}-D, 51 targets", fontsize=TICK)
        axes.set_xlabel("evaluations / dimension")
        axes.set_ylabel("share of (function, target) pairs")
        decades(axes.xaxis, 8)
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
        (f"{name}, {spans(present)}", present)
        for name, members in GROUPS.items()
        if (present := [f for f in functions if f in members])
    ]
    width = style.inches("page")
    return of.multiples(style, width, 3 if width > 5 else 2, 0.66, panels)


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
    functions = sorted({f for m in of.methods for f in of.curves[m]}, key=natural_key)
    width = style.inches("page")
    wide = width > 5
    columns = int(np.clip(len(functions), 3 if wide else 2, 6 if wide else 4))
    # In a column there is room for no more than the number.
    names = [f" {TITLES[f]}" if wide and f in TITLES else "" for f in functions]
    titles = [
        f"{f}{name.replace('ill-conditioned', 'ill-cond.')}"
        for f, name in zip(functions, names, strict=True)
    ]
    panels = [(title, [f]) for title, f in zip(titles, functions, strict=True)]
    return of.multiples(style, width, columns, 0.75, panels)


def share(curves: Sequence[Ecdf], time: ArrayLike) -> NDArray[np.float64]:
    """The share of pairs solved within `time`, every function having the same weight."""
    return np.asarray(np.mean([curve.at(time) for curve in curves], axis=0))


def _line(axes: Any, curves: Sequence[Ecdf], end: float, **look: Any) -> None:
    """The steps of a profile up to `end`: all of them, or as many as can be seen."""
    times = np.concatenate([curve.times for curve in curves])
    times = times[times < end]
    if len(times) > 4 * _POINTS:
        low, high = np.log10(times.min()), np.log10(end)
        times = np.logspace(low, high, int(_POINTS * (high - low)) + 2)[:-1]
    times = np.unique(times)
    start = min(1.0, times[0] if len(times) else 1.0) / 10
    x = np.concatenate([[start], times, [end]])
    axes.plot(x, share(curves, x), drawstyle="steps-post", **look)


def _marks(
    axes: Any, curves: Sequence[Ecdf], look: Look, budget: float, end: float, shift: float,
    thin: bool,
) -> None:  # fmt: skip
    """Markers of the method where others have none, and a cross at the budget."""
    size = 2.6 if thin else 4.0
    places = 10.0 ** np.arange(shift, np.log10(end), 2.0 if thin else 1.0)
    places = places[places < min(end, budget)]
    shown: dict[str, Any] = {"color": look.color, "linestyle": ""}
    axes.plot(places, share(curves, places), marker=look.marker, markersize=size,
              markeredgewidth=0, label="_markers", **shown)  # fmt: skip
    axes.plot([budget], share(curves, [budget]), marker="x", markersize=size + 1.5,
              markeredgewidth=1.0, zorder=3, clip_on=False, label="_budget", **shown)  # fmt: skip
