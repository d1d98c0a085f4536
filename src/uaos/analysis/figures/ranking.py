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

# Inches: of a name's line, of a bar's line, of what is above the axis, beside a name.
_NAME, _BAR, _ABOVE, _BESIDE = 0.18, 0.08, 0.56, 0.14


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
        left, right = (text_width(figure, part) + _BESIDE for part in (shown[:half], shown[half:]))
        axes = axes_with_margins(figure, left, 0, right, 0)
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
        # An inch in ranks.
        inch = (k - 1) / (width - left - right)
        for place, i in enumerate(order):
            first = place < half
            y = top + bars + _NAME * ((place if first else k - 1 - place) + 0.5)
            rank, look = ranking.mean_ranks[i], looks[ranking.methods[i]]
            edge = 1 - 0.06 * inch if first else k + 0.06 * inch
            axes.plot([rank, rank, edge], [top, y, y], color=look.color, linewidth=0.9,
                      linestyle=look.stroke, clip_on=False, solid_joinstyle="miter")  # fmt: skip
            axes.plot([rank], [top], look.marker, color=look.color, markersize=4.5,
                      markeredgewidth=0, clip_on=False, zorder=4)  # fmt: skip
            name, number = ranking.methods[i], f"{rank:.2f}"
            text = f"{name}  {number}" if first else f"{number}  {name}"
            beside = -0.03 * inch if first else 0.03 * inch
            axes.text(edge + beside, y, text, ha="right" if first else "left",
                      va="center_baseline", fontsize=TEXT)  # fmt: skip
        for row, (best, worst) in enumerate(groups):
            y = top + 0.10 + _BAR * row
            ends = ranking.mean_ranks[[best, worst]]
            reach = 0.03 * inch
            axes.plot([ends[0] - reach, ends[1] + reach], [y, y], color=INK, linewidth=2.4,
                      solid_capstyle="butt", clip_on=False, zorder=3)  # fmt: skip
        _difference(axes, ranking, dimension, 1 - (left - 0.05) * inch)
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


def _difference(axes: Any, ranking: Ranking, dimension: int, left: float) -> None:
    """What was ranked, and the critical difference as a length."""
    axes.text(left, 0.06, f"mean ranks, {ranking.problems} problems, {dimension}-D", ha="left",
              va="top", fontsize=TICK)  # fmt: skip
    length, y = ranking.critical_difference, 0.27
    # Where it is longer than the axis, the number has to do.
    drawn = length if length <= len(ranking.methods) - 1 else 0.0
    if drawn:
        axes.plot([1, 1 + drawn], [y, y], color=INK, linewidth=0.8, clip_on=False)
        for x in (1, 1 + drawn):
            axes.plot([x, x], [y - 0.03, y + 0.03], color=INK, linewidth=0.8, clip_on=False)
    axes.text(1 + drawn, y, f"  critical difference {length:.2f} (α = {ALPHA:g})", ha="left",
              va="center_baseline", fontsize=TICK, color=GREY)  # fmt: skip
