"""The values that a tuning drew: shares of choices and points of numbers, race by race."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from uaos.errors import Missing, UnknownName
from uaos.optimizers.picture import HATCHES, PALETTE
from uaos.reporting.canvas import LineEnd, name_ends, names_width
from uaos.reporting.figures import TUNING, Figure
from uaos.reporting.style import INK, LINES, SMALL, TICK, LineStyle, Style, text_width
from uaos.selection.components import FAMILIES
from uaos.tuning.summaries import Numbers, Shares, TuningSource, frequencies

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

# Inches: margins, for numbers at the lowest ticks, for the word below them; a panel of numbers at
# its narrowest, with its margins, and a value in a panel of choices.
_LEFT, _EDGE, _TICKS, _WORD = 0.34, 0.08, 0.14, 0.16
_NARROW, _VALUE = 0.78, 0.09
# Inches from tick to tick, about.
_TICK = 0.14


# Panels of choices in a row; inches from one panel down to the next, and their heights: of choices,
# of numbers. In a column panels of choices stand one below the other, low enough for a page.
_PAGE, _COLUMN = (2, 0.24, 0.75, 0.62), (1, 0.21, 0.5, 0.42)


Drawn = tuple[Shares | Numbers, ...]


def data(source: TuningSource, parameters: Sequence[str] | None = None) -> Drawn:
    """Return the values drawn for each race; of `parameters`, or of those that the winner has."""
    found = frequencies(*source)
    for name in parameters or ():
        if name not in found:
            raise UnknownName("parameter", name, found, hint="(of those that were tuned)")
    chosen = [found[name] for name in dict.fromkeys(parameters or found)]
    if parameters is None and any(one.winner is not None for one in chosen):
        chosen = [one for one in chosen if one.winner is not None]
    if not chosen or not one_races(chosen[0]):
        raise Missing("the tuning has drawn no candidate with a free parameter yet")
    return tuple(sorted(chosen, key=lambda one: (isinstance(one, Numbers), family_index(one.name))))


def one_races(one: Shares | Numbers) -> int:
    """Return how many races there were."""
    return len(one.shares if isinstance(one, Shares) else one.values)


def draw(of: Drawn, style: Style) -> "Drawing":
    """Draw a panel for each parameter, with the winner's value marked.

    Above, the shares of the values of choices among the candidates new in the race; below, a point
    for each value of a number, and a line at their median.
    """
    choices = [one for one in of if isinstance(one, Shares)]
    numbers = [one for one in of if isinstance(one, Numbers)]
    width = style.inches("page")
    across, down, choice, tall = _PAGE if width > 5 else _COLUMN
    across = max(1, min(across, len(choices)))
    small = min(6, int((width - _EDGE) / _NARROW))
    below = -(-len(numbers) // small)
    # Equally many in each row, as far as possible.
    small = -(-len(numbers) // max(1, below))
    rows = [choices[i : i + across] for i in range(0, len(choices), across)]
    heights = [max(choice, *(_VALUE * len(o.values) for o in row)) for row in rows]
    with style.figure(width, 1.0) as figure:
        legend = _legend(figure, width - 2 * _EDGE)
        top = 0.15 + 0.13 * legend.count("\n")
        blocks = (sum(h + down for h in heights) + _TICKS, below * (tall + down) + _TICKS)
        height = top + sum(b for b, any_ in zip(blocks, (rows, below), strict=True) if any_) + _WORD
        figure.set_size_inches(width, height)
        y = height - top - down
        names = [str(value) for one in choices for value in one.values]
        beside = names_width(figure, names, SMALL, bold=True) if names else 0.0
        for i, one in enumerate(choices):
            high = heights[i // across]
            axes = _panel(figure, across, i, y - high, high, beside)
            _stack(axes, one)
            _finish(axes, one.name, len(one.shares), i + across >= len(choices))
            if i % across == across - 1 or one is choices[-1]:
                y -= high + down
        y -= _TICKS if choices else 0
        for i, number in enumerate(numbers):
            axes = _panel(figure, small, i, y - i // small * (tall + down) - tall, tall, _EDGE / 2)
            _points(axes, number)
            _finish(axes, number.name, len(number.values), i + small >= len(numbers))
        figure.text(_EDGE / width, 1 - 0.05 / height, legend, ha="left", va="top", fontsize=TICK)
        figure.text(0.5, 0.02 / height, "race", ha="center", va="bottom")
    return figure


def _legend(figure: Any, width: float) -> str:
    parts = "bars: share of the candidates drawn;", "points: values;", "bold, dashed: the winner's"
    one = " ".join(parts)
    return one if text_width(figure, [one], TICK) <= width else f"{parts[0]}\n{parts[1]} {parts[2]}"


def family_index(name: str) -> int:
    """Return the place of a component in the loop; other parameters follow."""
    return FAMILIES.index(name) if name in FAMILIES else len(FAMILIES)


def _panel(figure: Any, columns: int, i: int, bottom: float, high: float, beside: float) -> Any:
    """Add the i-th panel of a grid, with names to its right."""
    width, height = figure.get_size_inches()
    slot = (width - _EDGE) / columns
    left = i % columns * slot + _LEFT
    return figure.add_axes(
        (left / width, bottom / height, (slot - _LEFT - beside) / width, high / height)
    )


def _finish(axes: Any, name: str, races: int, lowest: bool) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_title(name, fontsize=SMALL + 0.5, pad=2.5)
    axes.set_xlim(0.4, races + 0.6)
    wide = axes.get_window_extent().width / axes.figure.dpi
    axes.xaxis.set_major_locator(
        MaxNLocator(min(5, max(2, int(wide / _TICK))), integer=True, min_n_ticks=1)
    )
    axes.tick_params(labelsize=SMALL, labelbottom=lowest)


def _stack(axes: Any, one: Shares) -> None:
    races = np.arange(1, len(one.shares) + 1)
    tops = np.cumsum(one.shares, axis=1)
    ends = []
    for k, value in enumerate(one.values):
        color, hatch = PALETTE[k % len(PALETTE)], HATCHES[k // len(PALETTE) % len(HATCHES)]
        axes.bar(
            races, one.shares[:, k], 1.0, bottom=tops[:, k] - one.shares[:, k],
            facecolor=color, hatch=hatch, edgecolor="white", linewidth=0.3, label=str(value),
        )  # fmt: skip
        middle = float(tops[-1, k] - one.shares[-1, k] / 2)
        line = LineStyle(color, "s", hatch=hatch)
        ends.append(LineEnd(str(value), middle, line, bold=value == one.winner))
    axes.set_ylim(0, 1)
    axes.set_yticks([0, 0.5, 1])
    name_ends(axes, ends, SMALL)


def _points(axes: Any, one: Numbers) -> None:
    from matplotlib.ticker import NullLocator

    # Spread sideways by a fixed generator, so that the figure of a tuning is always the same.
    rng = np.random.default_rng(1)
    for race, values in enumerate(one.values, start=1):
        sideways = race + rng.uniform(-0.3, 0.3, len(values))
        axes.plot(sideways, values, ".", color=LINES[0], alpha=0.4, markersize=2, mew=0)
        if len(values):
            middle = np.median(values)
            axes.plot([race - 0.4, race + 0.4], [middle] * 2, color=INK, linewidth=0.8)
    if one.winner is not None:
        axes.axhline(one.winner, color=LINES[5], linewidth=0.7, linestyle=(0, (4, 2)), zorder=1)
    # A little more than the range, where points would be cut in half.
    if one.log:
        more = (one.high / one.low) ** 0.03
        axes.set_yscale("log")
        axes.yaxis.set_minor_locator(NullLocator())
        axes.set_ylim(one.low / more, one.high * more)
    else:
        more = 0.03 * (one.high - one.low)
        axes.set_ylim(one.low - more, one.high + more)


def interactive(of: Drawn) -> dict[str, Any]:
    """Return the values as the report's script reads them."""
    return {
        "choices": {c.name: {
            "values": [str(v) for v in c.values], "shares": np.round(c.shares.T, 4).tolist(),
            "winner": None if c.winner is None else str(c.winner),
        } for c in of if isinstance(c, Shares)},
        "numbers": {n.name: {
            "low": n.low, "high": n.high, "log": n.log, "winner": n.winner,
            "values": [[float(f"{v:.4g}") for v in values] for values in n.values],
        } for n in of if isinstance(n, Numbers)},
    }  # fmt: skip


FIGURE = Figure(
    "tuning-frequencies", "values drawn in each race of a tuning", TUNING, data, draw,
    options=("tuning", "parameters"), in_report="tuning", interactive=interactive,
)  # fmt: skip
