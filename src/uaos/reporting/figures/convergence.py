"""The median error over the course of the runs on each function, with a band of quartiles."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from uaos.analysis.focus import MIN_RUNS
from uaos.analysis.results import Runs
from uaos.analysis.sectioning import Section
from uaos.arrays import FloatArray
from uaos.experiments.recorder import TARGETS
from uaos.reporting.canvas import decades, handle, small_multiples
from uaos.reporting.figures import SECTION, Figure
from uaos.reporting.figures.profiles import X_LABEL, chosen_methods, focus_width
from uaos.reporting.style import Axes, Drawing, Style

# Points of a curve per decade: more cannot be distinguished in print.
_POINTS = 60
# Points of a curve per decade in the report.
_REPORT_POINTS = 12


class ConvergenceCurve(NamedTuple):
    """Errors of runs over time, known as the smallest target reached; NaN before the first.

    Attributes
    ----------
    times : ndarray
        Evaluations / D, up to the budget.
    median, low, high : ndarray
        The median and the quartiles of the errors reached by then.
    """

    times: FloatArray
    median: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class Convergence:
    """Courses by function and method.

    `methods` are all methods of the results, in the order of their colors; bands are drawn where
    all methods have several runs.
    """

    curves: dict[str, dict[str, ConvergenceCurve]]
    titles: tuple[str, ...]
    methods: tuple[str, ...]
    shown: tuple[str, ...]
    section: str
    banded: bool = True
    focus: str | None = None


def data(section: Section, methods: Sequence[str] | None = None, bands: bool = True) -> Convergence:
    """Return the errors of each method's runs on each function over time."""
    shown = chosen_methods(section, methods)
    curves = {
        f: {m: course_of(section.runs[m, f]) for m in shown if (m, f) in section.runs}
        for f in section.functions
    }
    drawn = {f: lines for f, lines in curves.items() if lines}
    titles = tuple(section.function_title(f) for f in drawn)
    several = all(len(section.runs[m, f]) >= MIN_RUNS for f in drawn for m in drawn[f])
    return Convergence(
        drawn, titles, section.methods, shown, section.title, bands and several, section.focus
    )


def course_of(runs: Runs) -> ConvergenceCurve:
    """Return the course of the errors of runs."""
    end = float(runs.budgets.max())
    times = np.geomspace(1, end, int(_POINTS * np.log10(max(end, 10))) + 1)
    reached = [np.searchsorted(hits[hits > 0], times, "right") for hits in runs.hits]
    levels = np.append(np.inf, np.log10(TARGETS))[np.array(reached)]
    # Errors of runs that reached no target are infinite: do not interpolate between them.
    quartiles = np.quantile(levels, [0.5, 0.25, 0.75], axis=0, method="lower")
    quartiles[0] = np.median(levels, axis=0)
    errors = 10 ** np.where(np.isinf(quartiles), np.nan, quartiles)
    return ConvergenceCurve(times / runs.dimension, *errors)


def convergence_interactive(convergence: Convergence) -> dict[str, object]:
    """Return the panels as the report's script reads them: log10 of errors on a grid of times."""
    panels: dict[str, object] = {}
    for (function, courses), title in zip(
        convergence.curves.items(), convergence.titles, strict=True
    ):
        lines = [
            _on_grid(courses[m], convergence.banded) if m in courses else None
            for m in convergence.methods
        ]
        panels[function] = {"title": f"{title}, {convergence.section}", "lines": lines}
    return {"decade": _REPORT_POINTS, "panels": panels}


def _on_grid(course: ConvergenceCurve, banded: bool) -> dict[str, list[float | None]]:
    """Return the median, and the band if there is one, at powers of ten of evaluations / D."""
    last = int(np.floor(_REPORT_POINTS * np.log10(max(course.times[-1], 1.0)) + 1e-9))
    grid = 10.0 ** (np.arange(last + 1) / _REPORT_POINTS)
    places = np.searchsorted(course.times, grid * (1 + 1e-9), "right") - 1

    def values(errors: FloatArray) -> list[float | None]:
        logarithms = np.log10(errors[places])
        return [None if np.isnan(v) else round(float(v), 2) for v in logarithms]

    names = ("median", "low", "high") if banded else ("median",)
    return {name: values(getattr(course, name)) for name in names}


def draw(convergence: Convergence, style: Style) -> Drawing:
    """Draw a panel for each function."""
    width = style.inches("page")
    columns = 3 if width > 5 and len(convergence.curves) > 2 else 2
    styles = style.line_styles(convergence.methods)
    panels = list(convergence.curves.values())
    end = max(float(course.times[-1]) for panel in panels for course in panel.values())

    def panel(i: int, axes: Axes) -> None:
        axes.autoscale(False)  # once is enough; matplotlib would do it for each band
        for method, course in panels[i].items():
            line, x, y = styles[method], course.times, course.median
            if convergence.banded:
                axes.fill_between(
                    x, course.low, course.high, step="post", color=line.color, alpha=0.15,
                    linewidth=0, label="_band",
                )  # fmt: skip
            # Markers of different methods are offset along the curve.
            offset = (convergence.shown.index(method) + 0.5) / len(convergence.shown)
            axes.plot(
                x, y, color=line.color, linestyle=line.dash, drawstyle="steps-post",
                linewidth=focus_width(method, convergence.focus), marker=line.marker,
                markersize=2.6, markeredgewidth=0, label=method,
                markevery=(int(offset * _POINTS), _POINTS),
            )  # fmt: skip
        axes.autoscale(True)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(1, max(10.0, end))
        decades(axes.yaxis, 7)
        axes.grid(True)

    label = "median error, and its quartiles" if convergence.banded else "median error"
    return small_multiples(
        style, width, columns, 0.66, convergence.titles, panel,
        (f"{X_LABEL}, {convergence.section}", label, "error"),
        [handle(method, styles[method]) for method in convergence.shown],
    )  # fmt: skip


CONVERGENCE = Figure(
    "convergence", "median error over time on each function, with bands of the middle half",
    SECTION, data, draw, options=("dim", "methods", "order"), in_report="convergence",
    interactive=convergence_interactive,
)  # fmt: skip
