"""Mean ranks, with bars over methods that do not differ significantly."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from uaos.analysis.scoring import ALPHA, Ranking, friedman, indistinct_groups, pairwise, scores
from uaos.analysis.sectioning import Section
from uaos.errors import Missing
from uaos.reporting.canvas import axes_with_margins, fitted
from uaos.reporting.figures import SECTION, Figure
from uaos.reporting.figures.profiles import chosen_methods
from uaos.reporting.style import INK, TEXT, TICK, Axes, Drawing, Style, text_width
from uaos.text import count

# Inches: of a name's line, of a bar's line, of what is above the axis, beside a name.
_NAME, _BAR, _ABOVE, _BESIDE = 0.18, 0.08, 0.52, 0.14
# A side takes at most this share of the width for its names; with more methods than _MANY a column
# is too narrow.
_SIDE, _MANY = 0.36, 8


@dataclass(frozen=True)
class Ranks:
    """Mean ranks, and the largest sets of methods without significant differences."""

    ranking: Ranking
    groups: tuple[tuple[str, ...], ...]
    methods: tuple[str, ...]
    section: str


def data(section: Section, methods: Sequence[str] | None = None) -> Ranks:
    """Return mean ranks over the problems that all methods were run on."""
    shown = chosen_methods(section, methods)
    if len(shown) < 2:
        raise Missing(f"ranks need two methods or more; there is only {shown[0]}")
    table = scores(list(section.runs.values()), shown)
    if not table.problems:
        raise Missing(f"ranks need a problem that all of {', '.join(shown)} were run on")
    ranking = friedman(table)
    if section.focus in shown:
        groups = _level_with_focus(section, ranking)
    else:
        groups = indistinct_groups(ranking, pairwise(table))
    return Ranks(ranking, tuple(groups), section.methods, section.title)


def _level_with_focus(section: Section, ranking: Ranking) -> list[tuple[str, ...]]:
    """Return the method in focus with those that do not differ significantly from it."""
    level = {t.other for t in section.focus_tests if t.outcome not in ("better", "worse")}
    group = tuple(m for m in ranking.order if m in level or m == section.focus)
    return [group] if len(group) > 1 else []


def draw(ranks: Ranks, style: Style) -> Drawing:
    """Draw mean ranks, the best at the left.

    A bar joins methods that do not differ significantly from one another by Wilcoxon's test over
    the problems, Holm-corrected; its dots are the methods that belong to it. The form is that
    of Demšar, J. (2006), "Statistical comparisons of classifiers over multiple data sets", Journal
    of Machine Learning Research 7.
    """
    ranking, order = ranks.ranking, ranks.ranking.order
    styles = style.line_styles(ranks.methods)
    k, half = len(order), -(-len(order) // 2)
    width = style.inches("column" if k <= _MANY else "page")
    bars = _BAR * len(ranks.groups) + 0.10
    height = _ABOVE + bars + _NAME * half + 0.06
    with style.figure(width, height) as figure:
        size, texts = _texts(figure, ranking, half)
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
        for place, (method, text) in enumerate(zip(order, texts, strict=True)):
            rank, line, first = ranking.rank(method), styles[method], place < half
            y = _ABOVE + bars + _NAME * ((place if first else k - 1 - place) + 0.5)
            side, end = (-1, 1) if first else (1, k)
            axes.plot([rank, rank, end + side * 0.06 * inch], [_ABOVE, y, y], color=line.color,
                      linewidth=0.9, linestyle=line.dash, clip_on=False)  # fmt: skip
            axes.plot([rank], [_ABOVE], line.marker, color=line.color, markersize=4.5,
                      markeredgewidth=0, clip_on=False, zorder=4, label=method)  # fmt: skip
            axes.text(end + side * 0.09 * inch, y, text, ha="right" if first else "left",
                      va="center_baseline", fontsize=size)  # fmt: skip
        _bars(axes, ranks, inch)
        lines = (f"mean ranks, {count(ranking.problems, 'problem')}, {ranks.section}",
                 f"bars: no significant difference (α = {ALPHA:g})")  # fmt: skip
        for y, text in zip((0.05, 0.19), lines, strict=True):
            axes.text(1 - (left - 0.05) * inch, y, text, ha="left", va="top", fontsize=TICK)
    return figure


def _texts(figure: Drawing, ranking: Ranking, half: int) -> tuple[float, list[str]]:
    """Return names and mean ranks, in a font that leaves the axis its width."""
    ranks = [f"{ranking.rank(m):.2f}" for m in ranking.order]
    most = _SIDE * figure.get_size_inches()[0] - _BESIDE - text_width(figure, [f"  {ranks[-1]}"])
    size, cut = fitted(figure, ranking.order, TEXT, most)
    pairs = list(zip(cut, ranks, strict=True))
    return size, [f"{n}  {r}" for n, r in pairs[:half]] + [f"{r}  {n}" for n, r in pairs[half:]]


def _scale(axes: Axes, k: int, inch: float) -> None:
    """Draw the axis of ranks, with as many numbers as fit."""
    axes.plot([1, k], [_ABOVE, _ABOVE], color=INK, linewidth=0.8, clip_on=False)
    step = max(1, int(np.ceil(0.18 * inch)))
    for tick in range(1, k + 1):
        axes.plot([tick, tick], [_ABOVE - 0.05, _ABOVE], color=INK, linewidth=0.8, clip_on=False)
        if (tick - 1) % step == 0:
            axes.text(tick, _ABOVE - 0.07, str(tick), ha="center", va="bottom", fontsize=TICK)


def _bars(axes: Axes, ranks: Ranks, inch: float) -> None:
    """Draw a bar over each set of methods without significant differences."""
    for row, group in enumerate(ranks.groups):
        y, x = _ABOVE + 0.10 + _BAR * row, [ranks.ranking.rank(method) for method in group]
        axes.plot([x[0] - 0.03 * inch, x[-1] + 0.03 * inch], [y, y], color=INK, linewidth=1.2,
                  solid_capstyle="butt", clip_on=False, zorder=3, label="_bar")  # fmt: skip
        axes.plot(x, [y] * len(x), "o", color=INK, markersize=3, markeredgewidth=0,
                  clip_on=False, zorder=3, label="_members")  # fmt: skip


FIGURE = Figure(
    "ranks", "mean ranks, with bars over methods that do not differ significantly", SECTION, data,
    draw, options=("dim", "methods", "order"), in_report="overview",
    caption="Mean ranks over the problems; 1 is best. On a problem, the earlier hit of the final "
    "target 10⁻⁸ is better, otherwise the smaller error. A bar with dots joins methods that do "
    "not differ significantly: from each other by Wilcoxon’s test over the problems, "
    "Holm-corrected; in a report about one method, from that one by the test of the first table.",
)  # fmt: skip
