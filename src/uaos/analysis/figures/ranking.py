"""Mean ranks with the critical difference."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from uaos.analysis.figures.canvas import axes_with_margins
from uaos.analysis.figures.choice import chosen
from uaos.analysis.results import Results
from uaos.analysis.scores import scores
from uaos.analysis.statistics import ALPHA, Ranking, friedman
from uaos.analysis.style import DEFAULT, GREY, INK, TEXT, TICK, Style, text_width
from uaos.errors import InvalidParameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Inches: of a name's line, of a bar's line, of what is above the axis.
_NAME, _BAR, _ABOVE = 0.18, 0.08, 0.56


def ranks(
    results: Results,
    dimension: int,
    methods: Sequence[str] | None = None,
    *,
    style: Style = DEFAULT,
) -> "Figure":
    """Mean ranks over the problems that all methods were run on, the best at the left.

    Bars join methods that are closer than Nemenyi's critical difference, which is drawn above.

    Demšar, J. (2006), "Statistical comparisons of classifiers over multiple data sets", Journal of
    Machine Learning Research 7.
    """
    names = chosen(results, dimension, methods)
    ranking = friedman(scores(results, dimension, names))
    if len(names) < 2 or not ranking.problems:
        got = f"{len(names)} methods with {ranking.problems} problems in common"
        raise InvalidParameter("ranks", got, "two methods with one problem in common at least")
    looks = style.looks(results.methods)
    order = np.argsort(ranking.mean_ranks, kind="stable")
    groups = alike(ranking)
    half = -(-len(names) // 2)
    width = style.inches("column")
    bars = _BAR * len(groups) + 0.10
    height = _ABOVE + bars + _NAME * half + 0.06
    with style.figure(width, height) as figure:
        shown = [f"{ranking.methods[i]}  {ranking.mean_ranks[i]:.2f}" for i in order]
        side = text_width(figure, shown) + 0.12
        axes = axes_with_margins(figure, side, 0, side, 0)
        axes.set_axis_off()
        k = len(names)
        axes.set_xlim(1, k)
        # Heights in inches from the top.
        axes.set_ylim(height, 0)
        top = _ABOVE
        axes.plot([1, k], [top, top], color=INK, linewidth=0.8, clip_on=False)
        for tick in range(1, k + 1):
            axes.plot([tick, tick], [top - 0.05, top], color=INK, linewidth=0.8, clip_on=False)
            axes.text(tick, top - 0.07, str(tick), ha="center", va="bottom", fontsize=TICK)
        span = width - 2 * side
        for place, i in enumerate(order):
            first = place < half
            y = top + bars + _NAME * ((place if first else k - 1 - place) + 0.5)
            rank, look = ranking.mean_ranks[i], looks[ranking.methods[i]]
            edge = 1 - 0.06 * (k - 1) / span if first else k + 0.06 * (k - 1) / span
            axes.plot([rank, rank, edge], [top, y, y], color=look.color, linewidth=0.9,
                      linestyle=look.stroke, clip_on=False, solid_joinstyle="miter")  # fmt: skip
            axes.plot([rank], [top], look.marker, color=look.color, markersize=4.5,
                      markeredgewidth=0, clip_on=False, zorder=4)  # fmt: skip
            name, number = ranking.methods[i], f"{rank:.2f}"
            text = f"{name}  {number}" if first else f"{number}  {name}"
            beside = -0.03 * (k - 1) / span if first else 0.03 * (k - 1) / span
            axes.text(edge + beside, y, text, ha="right" if first else "left",
                      va="center_baseline", fontsize=TEXT)  # fmt: skip
        for row, (best, worst) in enumerate(groups):
            y = top + 0.10 + _BAR * row
            ends = ranking.mean_ranks[[best, worst]]
            reach = 0.03 * (k - 1) / span
            axes.plot([ends[0] - reach, ends[1] + reach], [y, y], color=INK, linewidth=2.4,
                      solid_capstyle="butt", clip_on=False, zorder=3)  # fmt: skip
        _difference(axes, ranking, dimension)
    return figure


def alike(ranking: Ranking) -> list[tuple[int, int]]:
    """Best and worst of each largest group of methods within the critical difference."""
    order = [int(i) for i in np.argsort(ranking.mean_ranks, kind="stable")]
    found: list[tuple[int, int]] = []
    reached = -1
    for start, best in enumerate(order):
        within = ranking.mean_ranks[order] - ranking.mean_ranks[best] <= ranking.critical_difference
        last = int(np.flatnonzero(within)[-1])
        if last > start and last > reached:
            found.append((best, order[last]))
        reached = max(reached, last)
    return found


def _difference(axes: Any, ranking: Ranking, dimension: int) -> None:
    """The critical difference as a length, and what was ranked."""
    length, y = ranking.critical_difference, 0.24
    # Where it is longer than the axis, the number has to do.
    if length <= len(ranking.methods) - 1:
        ends = [1, 1 + length]
        axes.plot(ends, [y, y], color=INK, linewidth=0.8, clip_on=False)
        for x in ends:
            axes.plot([x, x], [y - 0.035, y + 0.035], color=INK, linewidth=0.8, clip_on=False)
    axes.text(
        1, 0.16, f"critical difference {length:.2f} (α = {ALPHA:g}); {ranking.problems} problems, "
        f"{dimension}-D", ha="left", va="bottom", fontsize=TICK, color=GREY, clip_on=False,
    )  # fmt: skip
