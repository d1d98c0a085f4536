"""Mean ranks with the critical difference."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from uaos.analysis.results import Results
from uaos.analysis.scores import scores
from uaos.analysis.statistics import ALPHA, Ranking, friedman
from uaos.errors import Missing
from uaos.reporting.figures.canvas import axes_with_margins, fitted
from uaos.reporting.figures.choice import chosen
from uaos.reporting.style import DEFAULT, GREY, INK, TEXT, TICK, Style, text_width

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Inches: of a name's line, of a bar's line, of what is above the axis, beside a name.
_NAME, _BAR, _ABOVE, _BESIDE = 0.18, 0.08, 0.56, 0.14
# A side takes no more than this of the width for its names; more methods than so many have names
# and ranks that a column has no room for.
_SIDE, _MANY = 0.36, 8


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
    if len(names) < 2:
        raise Missing(f"ranks need two methods or more; there is only {names[0]}")
    if not ranking.problems:
        raise Missing(f"ranks need a problem that all of {', '.join(names)} were run on")
    looks = style.looks(results.methods)
    order = np.argsort(ranking.mean_ranks, kind="stable")
    groups = alike(ranking)
    k, half = len(names), -(-len(names) // 2)
    width = style.inches("column" if k <= _MANY else "page")
    bars = _BAR * len(groups) + 0.10
    height = _ABOVE + bars + _NAME * half + 0.06
    with style.figure(width, height) as figure:
        size, texts = _texts(figure, ranking, order, half)
        left, right = (
            text_width(figure, part, size) + _BESIDE for part in (texts[:half], texts[half:])
        )
        axes = axes_with_margins(figure, left, 0, right, 0)
        axes.set_axis_off()
        axes.set_xlim(1, k)
        # Heights are inches from the top; `inch` is one in ranks.
        axes.set_ylim(height, 0)
        inch = (k - 1) / (width - left - right)
        _scale(axes, k, inch)
        for place, (i, text) in enumerate(zip(order, texts, strict=True)):
            rank, look, first = ranking.mean_ranks[i], looks[ranking.methods[i]], place < half
            y = _ABOVE + bars + _NAME * ((place if first else k - 1 - place) + 0.5)
            side, end = (-1, 1) if first else (1, k)
            axes.plot([rank, rank, end + side * 0.06 * inch], [_ABOVE, y, y], color=look.color,
                      linewidth=0.9, linestyle=look.stroke, clip_on=False)  # fmt: skip
            axes.plot([rank], [_ABOVE], look.marker, color=look.color, markersize=4.5,
                      markeredgewidth=0, clip_on=False, zorder=4,
                      label=ranking.methods[i])  # fmt: skip
            axes.text(end + side * 0.09 * inch, y, text, ha="right" if first else "left",
                      va="center_baseline", fontsize=size)  # fmt: skip
        for row, (best, worst) in enumerate(groups):
            y, ends = _ABOVE + 0.10 + _BAR * row, ranking.mean_ranks[[best, worst]]
            axes.plot([ends[0] - 0.03 * inch, ends[1] + 0.03 * inch], [y, y], color=INK,
                      linewidth=2.4, solid_capstyle="butt", clip_on=False, zorder=3)  # fmt: skip
        axes.text(1 - (left - 0.05) * inch, 0.06, ha="left", va="top", fontsize=TICK,
                  s=f"mean ranks, {ranking.problems} problems, {dimension}-D")  # fmt: skip
        _difference(axes, ranking.critical_difference, k, inch, width - left)
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


def _texts(figure: Any, ranking: Ranking, order: Any, half: int) -> tuple[float, list[str]]:
    """Names and mean ranks, in a font in which both sides leave room for the axis."""
    ranks = [f"{ranking.mean_ranks[i]:.2f}" for i in order]
    most = _SIDE * figure.get_size_inches()[0] - _BESIDE - text_width(figure, [f"  {ranks[-1]}"])
    size, cut = fitted(figure, [ranking.methods[i] for i in order], TEXT, most)
    pairs = list(zip(cut, ranks, strict=True))
    return size, [f"{n}  {r}" for n, r in pairs[:half]] + [f"{r}  {n}" for n, r in pairs[half:]]


def _scale(axes: Any, k: int, inch: float) -> None:
    """The axis of ranks, with as many numbers as there is room for."""
    axes.plot([1, k], [_ABOVE, _ABOVE], color=INK, linewidth=0.8, clip_on=False)
    step = max(1, int(np.ceil(0.18 * inch)))
    for tick in range(1, k + 1):
        axes.plot([tick, tick], [_ABOVE - 0.05, _ABOVE], color=INK, linewidth=0.8, clip_on=False)
        if (tick - 1) % step == 0:
            axes.text(tick, _ABOVE - 0.07, str(tick), ha="center", va="bottom", fontsize=TICK)


def _difference(axes: Any, length: float, k: int, inch: float, room: float) -> None:
    """The critical difference as a length; where it is longer than the axis, a number has to do."""
    y, drawn = 0.27, length if length <= k - 1 else 0.0
    if drawn:
        axes.plot([1, 1 + drawn], [y, y], color=INK, linewidth=0.8, clip_on=False)
        for x in (1, 1 + drawn):
            axes.plot([x, x], [y - 0.03, y + 0.03], color=INK, linewidth=0.8, clip_on=False)
    short = f"critical difference {length:.2f}"
    choice = [f"{short} (α = {ALPHA:g})", short, f"CD {length:.2f}"]
    left = room - drawn / inch - 0.08
    fits = [text for text in choice if text_width(axes.figure, [text], TICK) <= left]
    axes.text(1 + drawn + 0.06 * inch, y, (fits or choice)[0 if fits else -1], ha="left",
              va="center_baseline", fontsize=TICK, color=GREY)  # fmt: skip
