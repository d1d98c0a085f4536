"""The parameters that mattered in a tuning."""

from typing import TYPE_CHECKING

import numpy as np

from uaos.errors import Missing
from uaos.reporting.canvas import axes_with_margins
from uaos.reporting.figures import TUNING, Figure
from uaos.reporting.style import FAINT, GREY, LINES, TICK, Style, text_width
from uaos.tuning.summaries import Importance, TuningSource, importance

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


def data(source: TuningSource, most: int = 20) -> tuple[Importance, ...]:
    """Return the share of the ranks' variance that each parameter explains, largest first."""
    found = importance(*source)[:most]
    if not found:
        raise Missing("the importance of parameters is not known: it takes more candidates")
    return tuple(found)


def draw(found: tuple[Importance, ...], style: Style) -> "Drawing":
    """Draw a bar for each parameter.

    A stroke marks the noise, and the bar of a share within it is grey. The numbers stand in a
    column of their own, where no stroke crosses them.
    """
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


FIGURE = Figure(
    "tuning-importance", "parameters that mattered in a tuning", TUNING, data, draw,
    options=("tuning",),
)  # fmt: skip
