"""The median error over the course of the runs, on each function."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uaos.analysis.results import Runs
from uaos.analysis.sectioning import Section
from uaos.experiments.recorder import TARGETS
from uaos.reporting.canvas import decades, handle, small_multiples
from uaos.reporting.figures import SECTION, Figure
from uaos.reporting.figures.profiles import X_LABEL, chosen_methods
from uaos.reporting.style import Axes, Drawing, Style

# Points of a curve in a decade: more cannot be distinguished in print.
_POINTS = 60


@dataclass(frozen=True)
class Convergence:
    """Curves by function and method: evaluations / D, and the median error from there on.

    `methods` are all methods of the results, in the order of their colors.
    """

    curves: dict[str, dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]]
    titles: tuple[str, ...]
    methods: tuple[str, ...]
    shown: tuple[str, ...]
    section: str


def data(section: Section, methods: Sequence[str] | None = None) -> Convergence:
    """Return the median error of each method's runs on each function."""
    shown = chosen_methods(section, methods)
    curves = {
        f: {m: median_course(section.runs[m, f]) for m in shown if (m, f) in section.runs}
        for f in section.functions
    }
    drawn = {f: lines for f, lines in curves.items() if lines}
    titles = tuple(section.function_title(f) for f in drawn)
    return Convergence(drawn, titles, section.methods, shown, section.title)


def median_course(runs: Runs) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return evaluations / D up to the budget, and the median of the errors reached by then.

    An error is known as the smallest target that was reached; NaN if most runs reached none.
    """
    end = float(runs.budgets.max())
    times = np.geomspace(1, end, int(_POINTS * np.log10(max(end, 10))) + 1)
    reached = [np.searchsorted(hits[hits > 0], times, "right") for hits in runs.hits]
    levels = np.append(np.inf, np.log10(TARGETS))[np.array(reached)]
    middle = np.median(levels, axis=0)
    return times / runs.dimension, 10 ** np.where(np.isinf(middle), np.nan, middle)


def draw(convergence: Convergence, style: Style) -> Drawing:
    """Draw a panel for each function."""
    width = style.inches("page")
    columns = 3 if width > 5 and len(convergence.curves) > 2 else 2
    styles = style.line_styles(convergence.methods)
    panels = list(convergence.curves.values())
    end = max(float(x[-1]) for panel in panels for x, _ in panel.values())

    def panel(i: int, axes: Axes) -> None:
        for method, (x, y) in panels[i].items():
            line = styles[method]
            # Markers of different methods are offset along the curve.
            offset = (convergence.shown.index(method) + 0.5) / len(convergence.shown)
            axes.plot(
                x, y, color=line.color, linestyle=line.dash, linewidth=1.0, drawstyle="steps-post",
                marker=line.marker, markersize=2.6, markeredgewidth=0, label=method,
                markevery=(int(offset * _POINTS), _POINTS),
            )  # fmt: skip
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(1, max(10.0, end))
        decades(axes.yaxis, 7)
        axes.grid(True)

    return small_multiples(
        style, width, columns, 0.66, convergence.titles, panel,
        (f"{X_LABEL}, {convergence.section}", "median error", "error"),
        [handle(method, styles[method]) for method in convergence.shown],
    )  # fmt: skip


CONVERGENCE = Figure(
    "convergence", "median error over time on each function", SECTION, data, draw,
    options=("dim", "methods", "order"),
)  # fmt: skip
