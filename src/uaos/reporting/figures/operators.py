"""One run: which operators it used, how probable they were, how close it came."""

import numpy as np
from numpy.typing import NDArray

from uaos.errors import Missing
from uaos.reporting.canvas import LineEnd, decades, legend, legend_size, name_ends, names_width
from uaos.reporting.figures import RUN, Figure
from uaos.reporting.sources import Course
from uaos.reporting.style import INK, OPERATOR_LINES, TICK, Axes, Drawing, LineStyle, Style
from uaos.runs.picture import PALETTE, shares, stack

# Names stand beside the bands if they take at most this share of the width.
_NAMES = 0.4
# Dashes for operators beyond the palette.
_DASHES = ("-", (0, (4, 1.5)), (0, (1, 1)))
# Errors are drawn no smaller: a run ends at 1e-8.
_FLOOR = 1e-9


def data(course: Course) -> Course:
    """Return the run, if it has a history of operators."""
    if not len(course.history) or not course.history.operators:
        raise Missing(f"{course.title}: the run has no history of operators")
    return course


def _best(course: Course) -> tuple[str, NDArray[np.float64]]:
    """Return the best error so far, or the best value if the optimum is not known; its name."""
    best = course.history.best
    if course.optimum is None:
        return "best value", best
    return "best error", np.maximum(best - course.optimum, _FLOOR)


def _restarts(course: Course) -> NDArray[np.int64]:
    """Return the evaluations after which the run started afresh."""
    h = course.history
    again = np.diff(h.restarts, prepend=0) if "restarts" in h.columns else np.zeros(len(h))
    return np.asarray(h.evaluations[np.flatnonzero(again)])


def draw(course: Course, style: Style) -> Drawing:
    """Draw shares above, the method's probabilities in the middle, the best error below.

    The probabilities are those from which the selection chooses: the chances of the operators if
    it is proportional, while a greedy one takes the largest.
    """
    width = style.inches("page")
    with style.figure(width, 1.0) as figure:
        names = course.history.operators
        needed = names_width(figure, names)
        # Names beside their bands need no color to be understood; a column is too narrow.
        beside = needed < _NAMES * width
        left, right, top = 0.52, needed if beside else 0.20, 0.24
        below = 0.02 if beside else 0.02 + legend_size(figure, names, width)[2]
        bottom = 0.38 + below
        height = top + bottom + min(4.2, max(3.0, 0.5 * width))
        figure.set_size_inches(width, height)
        upper, middle, lower = figure.subplots(
            3, 1, sharex=True, height_ratios=(3, 2, 2),
            gridspec_kw={
                "left": left / width, "right": 1 - right / width, "bottom": bottom / height,
                "top": 1 - top / height, "hspace": 0.16,
            },
        )  # fmt: skip
        ends, blocks = shares(course.history, "evaluations")
        stack(upper, ends, blocks, names)
        _probabilities(middle, course)
        _descent(lower, course)
        lower.set_xlim(0, ends[-1])
        upper.set_title(course.title, fontsize=TICK)
        _finish(upper, middle, lower, most_ticks=5 if width < 5 else 8)
        for axes in (upper, middle, lower):
            axes.yaxis.set_label_coords(-(left - 0.17) / (width - left - right), 0.5)
        if beside:
            top_of = np.cumsum(blocks[-1])
            name_ends(upper, [
                LineEnd(name, float(top_of[k] - blocks[-1, k] / 2),
                        LineStyle(PALETTE[k % len(PALETTE)], "s"))
                for k, name in enumerate(names)
            ])  # fmt: skip
        else:
            # In the order of the bands: the topmost first.
            bands = upper.get_legend_handles_labels()[0][::-1]
            legend(figure, bands, width / 2, below, width)
    return figure


def _finish(upper: Axes, middle: Axes, lower: Axes, *, most_ticks: int) -> None:
    """Add the labels, ticks and grids of the three parts."""
    from matplotlib.ticker import MaxNLocator

    upper.set_ylabel("share of evaluations")
    middle.set_ylabel("probability")
    upper.set_ylim(0, 1)
    upper.set_yticks([0, 0.5, 1])
    for axes in (middle, lower):
        axes.grid(True)
    lower.set_xlabel("evaluations")
    lower.xaxis.set_major_locator(MaxNLocator(most_ticks, steps=[1, 2, 5, 10]))
    lower.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")


def _probabilities(axes: Axes, course: Course) -> None:
    from matplotlib.ticker import MaxNLocator

    for k, chances in enumerate(course.history.probabilities.T):
        axes.plot(
            course.history.evaluations, chances, linewidth=0.9,
            color=OPERATOR_LINES[k % len(OPERATOR_LINES)],
            linestyle=_DASHES[k // len(PALETTE) % len(_DASHES)],
        )  # fmt: skip
    axes.set_ylim(0, None)
    axes.yaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 2.5, 5, 10]))


def _descent(axes: Axes, course: Course) -> None:
    label, best = _best(course)
    best = np.where(np.isfinite(best), np.clip(best, -1e300, 1e300), best)  # for the axes
    axes.plot(course.history.evaluations, best, color=INK, linewidth=1.2)
    axes.set_ylabel(label)
    finite = best[np.isfinite(best)]
    if len(finite) and finite.min() > 0 and finite.max() / 10 > finite.min():
        axes.set_yscale("log")
        decades(axes.yaxis, 4)
    restarts = _restarts(course)
    for k, at in enumerate(restarts):
        axes.axvline(at, color="0.6", linewidth=0.8, linestyle=":", label="" if k else "restart")
    if len(restarts):
        axes.legend(frameon=False, fontsize=TICK)


def course_interactive(course: Course) -> dict[str, object]:
    """Return the run as the report's script reads it; shares are in thousandths."""
    h, (label, best) = course.history, _best(course)
    evaluations = np.maximum(h.counts.sum(axis=1, keepdims=True), 1)
    return {
        "title": course.title, "operators": list(h.operators),
        "evaluations": h.evaluations.tolist(),
        "shares": np.round(1000 * h.counts / evaluations).astype(int).T.tolist(),
        "probabilities": np.round(1000 * h.probabilities).astype(int).T.tolist(),
        "best": [float(f"{e:.6g}") if np.isfinite(e) else None for e in best],
        "label": label, "restarts": _restarts(course).tolist(),
    }  # fmt: skip


FIGURE = Figure(
    "operators", "operators, probabilities and error in one run", RUN, data, draw,
    options=("dim", "method", "function", "instance", "problem", "repetition"),
    interactive=course_interactive,
)  # fmt: skip
