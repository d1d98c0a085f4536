"""Which values a tuning drew: shares of choices and points of numbers, race by race."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from uaos.errors import InvalidParameter, UnknownName
from uaos.optimizers.picture import HATCHES, PALETTE
from uaos.reporting.figures.labels import End, name_ends, room
from uaos.reporting.style import DEFAULT, INK, LINES, SMALL, TICK, Look, Style, text_width
from uaos.selection.components import FAMILIES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from uaos.analysis.tuning import Numbers, Shares
    from uaos.tuning.store import TuningStore

# Inches: margins, for numbers at the lowest ticks, for the word below them; a panel of numbers at
# its narrowest, with its margins, and a value in a panel of choices.
_LEFT, _EDGE, _TICKS, _WORD = 0.34, 0.08, 0.14, 0.16
_NARROW, _VALUE = 0.78, 0.09
# Inches from tick to tick, about.
_TICK = 0.14


class _Sizes(NamedTuple):
    """Panels of choices in a row; inches from one panel down to the next, and their heights."""

    across: int
    down: float
    choice: float
    number: float


# In a column, panels of choices stand one below the other: low ones, for a page to hold them all.
_PAGE, _COLUMN = _Sizes(2, 0.24, 0.75, 0.62), _Sizes(1, 0.21, 0.5, 0.42)


def tuning_frequencies(
    store: "TuningStore",
    tuning: int,
    parameters: Sequence[str] | None = None,
    *,
    style: Style = DEFAULT,
) -> "Figure":
    """Which values were drawn for each race, a panel for each parameter, the winner's marked.

    Above, the shares of the values of choices among the candidates new in the race; below, a point
    for each value of a number, and a line at their median. Shown are these parameters, or
    those that the winner has.
    """
    from uaos.analysis.tuning import Shares, frequencies

    found = _chosen(frequencies(store, tuning), parameters)
    choices = sorted((o for o in found if isinstance(o, Shares)), key=lambda o: order(o.name))
    numbers = [o for o in found if not isinstance(o, Shares)]
    width = style.inches("page")
    across, down, choice, tall = _PAGE if width > 5 else _COLUMN
    across = max(1, min(across, len(choices)))
    small = min(6, int((width - _EDGE) / _NARROW))
    below = -(-len(numbers) // small)
    # As many in each row, as far as it goes.
    small = -(-len(numbers) // max(1, below))
    rows = [choices[i : i + across] for i in range(0, len(choices), across)]
    highs = [max(choice, *(_VALUE * len(o.values) for o in row)) for row in rows]
    with style.figure(width, 1.0) as figure:
        said = _said(figure, width - 2 * _EDGE)
        top = 0.15 + 0.13 * said.count("\n")
        blocks = (sum(h + down for h in highs) + _TICKS, below * (tall + down) + _TICKS)
        height = top + sum(b for b, any_ in zip(blocks, (rows, below), strict=True) if any_) + _WORD
        figure.set_size_inches(width, height)
        y = height - top - down
        names = [str(value) for one in choices for value in one.values]
        beside = room(figure, names, SMALL, bold=True) if names else 0.0
        for i, one in enumerate(choices):
            high = highs[i // across]
            axes = _panel(figure, across, i, y - high, high, beside)
            _stack(axes, one)
            _settle(axes, one.name, len(one.shares), i + across >= len(choices))
            if i % across == across - 1 or one is choices[-1]:
                y -= high + down
        y -= _TICKS if choices else 0
        for i, number in enumerate(numbers):
            axes = _panel(figure, small, i, y - i // small * (tall + down) - tall, tall, _EDGE / 2)
            _points(axes, number)
            _settle(axes, number.name, len(number.values), i + small >= len(numbers))
        figure.text(_EDGE / width, 1 - 0.05 / height, said, ha="left", va="top", fontsize=TICK)
        figure.text(0.5, 0.02 / height, "race", ha="center", va="bottom")
    return figure


def _chosen(
    found: "Mapping[str, Shares | Numbers]", parameters: Sequence[str] | None
) -> "list[Shares | Numbers]":
    for name in parameters or ():
        if name not in found:
            raise UnknownName("parameter", name, found, hint="(of those that were tuned)")
    wanted = found if parameters is None else parameters
    kept = [found[name] for name in dict.fromkeys(wanted)]
    if parameters is None and any(one.winner is not None for one in kept):
        kept = [one for one in kept if one.winner is not None]
    if not kept or not len(kept[0].shares if hasattr(kept[0], "shares") else kept[0].values):
        raise InvalidParameter("candidates", "none", "one at least, with a free parameter")
    return kept


def _said(figure: Any, width: float) -> str:
    parts = "bars: share of the candidates drawn;", "points: values;", "bold, dashed: the winner's"
    one = " ".join(parts)
    return one if text_width(figure, [one], TICK) <= width else f"{parts[0]}\n{parts[1]} {parts[2]}"


def order(name: str) -> int:
    """The components first, in the order of the loop."""
    return FAMILIES.index(name) if name in FAMILIES else len(FAMILIES)


def _panel(figure: Any, columns: int, i: int, bottom: float, high: float, beside: float) -> Any:
    """The i-th panel of a grid, with room for names to its right."""
    width, height = figure.get_size_inches()
    slot = (width - _EDGE) / columns
    left = i % columns * slot + _LEFT
    return figure.add_axes(
        (left / width, bottom / height, (slot - _LEFT - beside) / width, high / height)
    )


def _settle(axes: Any, name: str, races: int, lowest: bool) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_title(name, fontsize=SMALL + 0.5, pad=2.5)
    axes.set_xlim(0.4, races + 0.6)
    wide = axes.get_window_extent().width / axes.figure.dpi
    axes.xaxis.set_major_locator(
        MaxNLocator(min(5, max(2, int(wide / _TICK))), integer=True, min_n_ticks=1)
    )
    axes.tick_params(labelsize=SMALL, labelbottom=lowest)


def _stack(axes: Any, one: "Shares") -> None:
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
        look = Look(color, "s", hatch=hatch)
        ends.append(End(str(value), middle, look, bold=value == one.winner))
    axes.set_ylim(0, 1)
    axes.set_yticks([0, 0.5, 1])
    name_ends(axes, ends, SMALL)


def _points(axes: Any, one: "Numbers") -> None:
    from matplotlib.ticker import NullLocator

    # Spread sideways by a fixed generator: the picture of a tuning is always the same.
    rng = np.random.default_rng(1)
    for race, values in enumerate(one.values, start=1):
        sideways = race + rng.uniform(-0.3, 0.3, len(values))
        axes.plot(sideways, values, ".", color=LINES[0], alpha=0.4, markersize=2, mew=0)
        if len(values):
            middle = np.median(values)
            axes.plot([race - 0.4, race + 0.4], [middle] * 2, color=INK, linewidth=0.8)
    if one.winner is not None:
        axes.axhline(one.winner, color=LINES[5], linewidth=0.7, linestyle=(0, (4, 2)), zorder=1)
    # A little more than the range, for points at its ends would be cut in half.
    if one.log:
        more = (one.high / one.low) ** 0.03
        axes.set_yscale("log")
        axes.yaxis.set_minor_locator(NullLocator())
        axes.set_ylim(one.low / more, one.high * more)
    else:
        more = 0.03 * (one.high - one.low)
        axes.set_ylim(one.low - more, one.high + more)
