"""What happened in a tuning: how candidates fell, which parameters mattered."""

from typing import TYPE_CHECKING

import numpy as np

from uaos.analysis.figures.canvas import axes_with_margins
from uaos.analysis.style import DEFAULT, FAINT, GREY, LINES, TICK, Style, text_width
from uaos.errors import InvalidParameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from uaos.tuning.store import TuningStore


def tuning_survival(store: "TuningStore", tuning: int, *, style: Style = DEFAULT) -> "Figure":
    """How many candidates were left after each problem, race by race."""
    from uaos.analysis.tuning import survival

    races = survival(store, tuning)
    if not races:
        raise InvalidParameter("races", "none", "one at least, to be drawn")
    width = style.inches("column")
    with style.figure(width, max(2.1, min(0.55 * width, 3.4))) as figure:
        axes = axes_with_margins(figure, 0.45, 0.40, 0.10, 0.24)
        start, middles = 0, []
        for i, race in enumerate(races):
            steps = np.arange(len(race.alive) + 1)
            left = [len(race.candidates), *race.alive]
            axes.fill_between(start + steps, left, step="post", color=LINES[0], alpha=0.2, lw=0)
            axes.step(start + steps, left, where="post", color=LINES[0], solid_capstyle="butt")
            middles.append(start + len(race.alive) / 2)
            start += len(race.alive)
            if i + 1 < len(races):
                axes.axvline(start, color="0.8", linewidth=0.4, zorder=0)
        axes.set_xlim(0, start)
        axes.set_ylim(0, None)
        axes.grid(True, axis="y")
        axes.set_xticks(middles, [str(race.iteration) for race in races])
        axes.tick_params(axis="x", length=0)
        axes.set_xlabel("race (as wide as it has steps)")
        axes.set_ylabel("candidates left")
        axes.set_title(f"{len(races)} races, {start} steps", fontsize=TICK)
    return figure


def tuning_importance(
    store: "TuningStore", tuning: int, *, most: int = 20, style: Style = DEFAULT
) -> "Figure":
    """Which parameters mattered: the share of the ranks' variance that each explains.

    A share within the noise, which a stroke marks, is grey.
    """
    from uaos.analysis.tuning import importance

    found = importance(store, tuning)[:most]
    if not found:
        allowed = "a tuning with more candidates, so that something can be said"
        raise InvalidParameter("parameters whose importance is known", "none", allowed)
    width = style.inches("column")
    with style.figure(width, 0.62 + 0.16 * len(found)) as figure:
        names = [one.name for one in found]
        axes = axes_with_margins(figure, text_width(figure, names) + 0.14, 0.40, 0.34, 0.16)
        places, shares = np.arange(len(found)), [one.share for one in found]
        sure = [one.share > one.noise for one in found]
        axes.barh(places, shares, 0.66, color=[LINES[0] if yes else FAINT for yes in sure])
        axes.plot([one.noise for one in found], places, "|", color=GREY, markersize=6,
                  markeredgewidth=0.8, label="_noise")  # fmt: skip
        edge = max(0.05, *shares, *(one.noise for one in found))
        for place, one in zip(places, found, strict=True):
            at = one.share if one.share > one.noise else one.noise
            axes.text(at + 0.015 * edge, place, f"{one.share:.0%}", va="center_baseline",
                      ha="left", fontsize=TICK)  # fmt: skip
        axes.set_yticks(places, names)
        axes.set_ylim(len(found) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.set_xlim(0, edge)
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:.0%}")
        axes.set_xlabel("variance of ranks explained (ε²)")
    return figure
