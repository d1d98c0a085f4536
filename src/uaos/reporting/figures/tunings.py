"""What happened in a tuning: how candidates fell, which parameters mattered."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from uaos.errors import InvalidParameter
from uaos.reporting.figures.canvas import axes_with_margins
from uaos.reporting.style import DEFAULT, FAINT, GREY, LINES, TICK, Style, text_width

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from uaos.tuning.store import TuningStore

# Inches between numbers side by side, at least: nearer, two of them read like one.
_BETWEEN = 0.04


def tuning_survival(store: "TuningStore", tuning: int, *, style: Style = DEFAULT) -> "Figure":
    """How many candidates were left after each problem, race by race.

    A step is as high as the candidates before its problem; one more shows those left at the end.
    """
    from uaos.analysis.tuning import survival

    races = survival(store, tuning)
    if not races:
        raise InvalidParameter("races", "none", "one at least, to be drawn")
    width = style.inches("column")
    with style.figure(width, max(2.1, min(0.55 * width, 3.4))) as figure:
        axes = axes_with_margins(figure, 0.45, 0.40, 0.10, 0.24)
        start, middles = 0, []
        for i, race in enumerate(races):
            wide = len(race.alive) + 1
            steps = np.arange(wide + 1)
            left = [len(race.candidates), *race.alive, race.alive[-1]]
            axes.fill_between(start + steps, left, step="post", color=LINES[0], alpha=0.2, lw=0)
            axes.step(start + steps, left, where="post", color=LINES[0], solid_capstyle="butt")
            middles.append(start + wide / 2)
            start += wide
            if i + 1 < len(races):
                axes.axvline(start, color="0.8", linewidth=0.4, zorder=0)
        axes.set_xlim(0, start)
        axes.set_ylim(0, None)
        axes.grid(True, axis="y")
        axes.set_xticks(middles, _apart(figure, axes, middles, [str(r.iteration) for r in races]))
        axes.tick_params(axis="x", length=0)
        axes.set_xlabel("race (as wide as it has problems)")
        axes.set_ylabel("candidates left")
        axes.set_title(f"{len(races)} races, {start - len(races)} steps", fontsize=TICK)
    return figure


def _apart(figure: "Figure", axes: Any, at: Sequence[float], names: Sequence[str]) -> list[str]:
    """Names below these places, less those that would stand too near to the one before."""
    inch = axes.get_window_extent().width / figure.dpi / np.ptp(axes.get_xlim())
    kept, end = [], -np.inf
    for x, name in zip(at, names, strict=True):
        half = text_width(figure, [name], TICK) / 2
        fits = x * inch - half >= end + _BETWEEN
        end = x * inch + half if fits else end
        kept.append(name if fits else "")
    return kept


def tuning_importance(
    store: "TuningStore", tuning: int, *, most: int = 20, style: Style = DEFAULT
) -> "Figure":
    """Which parameters mattered: the share of the ranks' variance that each explains.

    A stroke marks the noise, and the bar of a share within it is grey. The numbers stand in a
    column of their own, where no stroke crosses them.
    """
    from uaos.analysis.tuning import importance

    found = importance(store, tuning)[:most]
    if not found:
        allowed = "a tuning with more candidates, so that something can be said"
        raise InvalidParameter("parameters whose importance is known", "none", allowed)
    width, height = style.inches("column"), 0.68 + 0.17 * len(found)
    with style.figure(width, height) as figure:
        names = [one.name for one in found]
        left, right, top = text_width(figure, names) + 0.14, 0.44, 0.22
        axes = axes_with_margins(figure, left, 0.40, right, top)
        places, shares = np.arange(len(found)), [one.share for one in found]
        sure = [one.share > one.noise for one in found]
        axes.barh(places, shares, 0.66, color=[LINES[0] if yes else FAINT for yes in sure])
        edge = max(0.05, *shares, *(one.noise for one in found))
        for place, one in zip(places, found, strict=True):
            axes.text(1 + (right - 0.06) / (width - left - right), place, f"{one.share:.0%}",
                      transform=axes.get_yaxis_transform(), va="center_baseline", ha="right",
                      fontsize=TICK)  # fmt: skip
        axes.plot([one.noise for one in found], places, "|", color=GREY, markersize=8,
                  markeredgewidth=0.8, clip_on=False, label="_noise")  # fmt: skip
        axes.set_yticks(places, names)
        axes.set_ylim(len(found) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.set_xlim(0, edge)
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:.0%}")
        axes.set_xlabel("variance of ranks explained (ε²)")
        figure.text(0.05 / width, 1 - 0.05 / height, "| marks the noise; grey bars lie within it",
                    ha="left", va="top", fontsize=TICK)  # fmt: skip
    return figure
