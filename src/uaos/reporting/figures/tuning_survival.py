"""The candidates left in each race of a tuning."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from uaos.errors import Missing
from uaos.reporting.canvas import axes_with_margins
from uaos.reporting.figures import TUNING, Figure
from uaos.reporting.style import LINES, TICK, Style, text_width
from uaos.tuning.summaries import Survival, TuningSource, survival

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

# Inches between numbers side by side, at least: closer, two of them read as one.
_BETWEEN = 0.04


def data(source: TuningSource) -> tuple[Survival, ...]:
    """Return the races of a tuning."""
    races = survival(*source)
    if not races:
        raise Missing("the tuning has finished no step of a race yet")
    return tuple(races)


def draw(races: tuple[Survival, ...], style: Style) -> "Drawing":
    """Draw how many candidates were left after each problem, race by race.

    A step is as high as the candidates before its problem; one more shows those left at the end.
    """
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
        axes.set_xticks(middles, _spaced(figure, axes, middles, [str(r.iteration) for r in races]))
        axes.tick_params(axis="x", length=0)
        axes.set_xlabel("race (as wide as it has problems)")
        axes.set_ylabel("candidates left")
        axes.set_title(f"{len(races)} races, {start - len(races)} steps", fontsize=TICK)
    return figure


def _spaced(figure: "Drawing", axes: Any, at: Sequence[float], names: Sequence[str]) -> list[str]:
    """Return the names at these places, without those too close to the one before."""
    inch = axes.get_window_extent().width / figure.dpi / np.ptp(axes.get_xlim())
    kept, end = [], -np.inf
    for x, name in zip(at, names, strict=True):
        half = text_width(figure, [name], TICK) / 2
        fits = x * inch - half >= end + _BETWEEN
        end = x * inch + half if fits else end
        kept.append(name if fits else "")
    return kept


def interactive(races: tuple[Survival, ...]) -> list[dict[str, Any]]:
    """Return the races as the report's script reads them."""
    return [{"race": s.iteration, "alive": [len(s.candidates), *s.alive]} for s in races]


FIGURE = Figure(
    "tuning-survival", "candidates left in each race of a tuning", TUNING, data, draw,
    options=("tuning",), in_report="tuning", interactive=interactive,
    caption="Candidates left after each problem of a race. New ones are drawn around the survivors "
    "of the race before.",
)  # fmt: skip
