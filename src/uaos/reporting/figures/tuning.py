"""A tuning: the values that it drew, the candidates left, the parameters that mattered."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from uaos.errors import Missing
from uaos.reporting.canvas import LineEnd, axes_with_margins, name_ends, names_width
from uaos.reporting.figures import TUNING, Figure
from uaos.reporting.style import (
    FAINT,
    GRAY,
    INK,
    LINES,
    SMALL,
    TICK,
    Axes,
    Drawing,
    LineStyle,
    Style,
    text_width,
)
from uaos.runs.picture import HATCHES, PALETTE
from uaos.selection.components import FAMILIES

if TYPE_CHECKING:  # a report without tunings does not load them
    from uaos.tuning.summaries import Drawn, Importance, Survival, TuningSource

# Inches: margins, for numbers at the lowest ticks, for the word below them; a panel of numbers at
# its narrowest, with its margins, and a value in a panel of choices.
_LEFT, _EDGE, _TICKS, _WORD = 0.34, 0.08, 0.14, 0.16
_NARROW, _VALUE = 0.78, 0.09
# Inches from tick to tick, about.
_TICK = 0.14


# Panels of choices in a row; inches from one panel down to the next, and their heights: of choices,
# of numbers. In a column panels of choices stand one below the other, low enough for a page.
_PAGE, _COLUMN = (2, 0.24, 0.75, 0.62), (1, 0.21, 0.5, 0.42)


def frequency_data(source: "TuningSource") -> "tuple[Drawn, ...]":
    """Return the values drawn for each race, of the parameters that the winner has."""
    from uaos.tuning.summaries import frequencies

    drawn = list(frequencies(*source).values())
    of_winner = [d for d in drawn if d.winner is not None] or drawn
    if not any(d.values for d in of_winner):
        raise Missing("the tuning has drawn no candidate with a free parameter yet")
    return in_order(of_winner)


def draw_frequencies(parameters: "tuple[Drawn, ...]", style: Style) -> Drawing:
    """Draw a panel for each parameter, with the winner's value marked.

    Above, the shares of the values of choices among the candidates new in the race; below, a point
    for each value of a number, and a line at their median.
    """
    choices, numbers = (
        [parameter for parameter in parameters if parameter.choices],
        [parameter for parameter in parameters if not parameter.choices],
    )
    width = style.inches("page")
    across, down, choice, tall = _PAGE if width > 5 else _COLUMN
    across = max(1, min(across, len(choices)))
    small = min(6, int((width - _EDGE) / _NARROW))
    below = -(-len(numbers) // small)
    # Equally many in each row, as far as possible.
    small = -(-len(numbers) // max(1, below))
    rows = [choices[i : i + across] for i in range(0, len(choices), across)]
    heights = [max(choice, *(_VALUE * len(o.choices) for o in row)) for row in rows]
    with style.figure(width, 1.0) as figure:
        legend = _legend(figure, width - 2 * _EDGE)
        top = 0.15 + 0.13 * legend.count("\n")
        blocks = (sum(h + down for h in heights) + _TICKS, below * (tall + down) + _TICKS)
        height = top + sum(b for b, any_ in zip(blocks, (rows, below), strict=True) if any_) + _WORD
        figure.set_size_inches(width, height)
        y = height - top - down
        names = [str(value) for parameter in choices for value in parameter.choices]
        beside = names_width(figure, names, SMALL, bold=True) if names else 0.0
        for i, parameter in enumerate(choices):
            high = heights[i // across]
            axes = _panel(figure, across, i, y - high, high, beside)
            _stack(axes, parameter)
            _finish(axes, parameter.name, len(parameter.values), i + across >= len(choices))
            if i % across == across - 1 or parameter is choices[-1]:
                y -= high + down
        y -= _TICKS if choices else 0
        for i, number in enumerate(numbers):
            axes = _panel(figure, small, i, y - i // small * (tall + down) - tall, tall, _EDGE / 2)
            _points(axes, number)
            _finish(axes, number.name, len(number.values), i + small >= len(numbers))
        figure.text(_EDGE / width, 1 - 0.05 / height, legend, ha="left", va="top", fontsize=TICK)
        figure.text(0.5, 0.02 / height, "race", ha="center", va="bottom")
    return figure


def _legend(figure: Drawing, width: float) -> str:
    parts = "bars: share of the candidates drawn;", "points: values;", "bold, dashed: the winner's"
    line = " ".join(parts)
    return (
        line if text_width(figure, [line], TICK) <= width else f"{parts[0]}\n{parts[1]} {parts[2]}"
    )


def in_order(chosen: "Iterable[Drawn]") -> "tuple[Drawn, ...]":
    """Return choices before numbers, the components in the order of the loop first."""
    order = {name: i for i, name in enumerate(FAMILIES)}
    return tuple(sorted(chosen, key=lambda o: (not o.choices, order.get(o.name, 9))))


def _panel(
    figure: Drawing, columns: int, i: int, bottom: float, high: float, beside: float
) -> Axes:
    """Add the i-th panel of a grid, with names to its right."""
    width, height = figure.get_size_inches()
    slot = (width - _EDGE) / columns
    left = i % columns * slot + _LEFT
    return figure.add_axes(
        (left / width, bottom / height, (slot - _LEFT - beside) / width, high / height)
    )


def _finish(axes: Axes, name: str, races: int, is_bottom: bool) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_title(name, fontsize=SMALL + 0.5, pad=2.5)
    axes.set_xlim(0.4, races + 0.6)
    inches = axes.get_window_extent().width / axes.figure.dpi
    axes.xaxis.set_major_locator(
        MaxNLocator(min(5, max(2, int(inches / _TICK))), integer=True, min_n_ticks=1)
    )
    axes.tick_params(labelsize=SMALL, labelbottom=is_bottom)


def _stack(axes: Axes, parameter: "Drawn") -> None:
    shares = parameter.shares
    races = np.arange(1, len(shares) + 1)
    tops = np.cumsum(shares, axis=1)
    ends = []
    for k, value in enumerate(parameter.choices):
        color, hatch = PALETTE[k % len(PALETTE)], HATCHES[k // len(PALETTE) % len(HATCHES)]
        axes.bar(
            races, shares[:, k], 1.0, bottom=tops[:, k] - shares[:, k],
            facecolor=color, hatch=hatch, edgecolor="white", linewidth=0.3, label=str(value),
        )  # fmt: skip
        middle = float(tops[-1, k] - shares[-1, k] / 2)
        line = LineStyle(color, "s", hatch=hatch)
        ends.append(LineEnd(str(value), middle, line, bold=value == parameter.winner))
    axes.set_ylim(0, 1)
    axes.set_yticks([0, 0.5, 1])
    name_ends(axes, ends, SMALL)


def _points(axes: Axes, parameter: "Drawn") -> None:
    from matplotlib.ticker import NullLocator

    # Spread sideways by a fixed generator, so that the figure of a tuning is always the same.
    rng = np.random.default_rng(1)
    for race, drawn in enumerate(parameter.values, start=1):
        values = np.array(drawn, dtype=np.float64)
        sideways = race + rng.uniform(-0.3, 0.3, len(values))
        axes.plot(sideways, values, ".", color=LINES[0], alpha=0.4, markersize=2, mew=0)
        if len(values):
            middle = np.median(values)
            axes.plot([race - 0.4, race + 0.4], [middle] * 2, color=INK, linewidth=0.8)
    if parameter.winner is not None:
        winner = float(parameter.winner)
        axes.axhline(winner, color=LINES[5], linewidth=0.7, linestyle=(0, (4, 2)), zorder=1)
    # A little more than the range, where points would be cut in half.
    if parameter.log:
        more = (parameter.high / parameter.low) ** 0.03
        axes.set_yscale("log")
        axes.yaxis.set_minor_locator(NullLocator())
        axes.set_ylim(parameter.low / more, parameter.high * more)
    else:
        more = 0.03 * (parameter.high - parameter.low)
        axes.set_ylim(parameter.low - more, parameter.high + more)


def frequency_interactive(parameters: "tuple[Drawn, ...]") -> dict[str, object]:
    """Return the values as the report's script reads them."""
    return {
        "choices": {c.name: {
            "values": [str(v) for v in c.choices], "shares": np.round(c.shares.T, 4).tolist(),
            "winner": None if c.winner is None else str(c.winner),
        } for c in parameters if c.choices},
        "numbers": {n.name: {
            "low": n.low, "high": n.high, "log": n.log, "winner": n.winner,
            "values": [[float(f"{v:.4g}") for v in values] for values in n.values],
        } for n in parameters if not n.choices},
    }  # fmt: skip


FREQUENCIES = Figure(
    "tuning-frequencies", "values drawn in each race of a tuning", TUNING, frequency_data,
    draw_frequencies,
    options=("tuning",), in_report="tuning", interactive=frequency_interactive,
)  # fmt: skip


# Inches between numbers side by side, at least: closer, two of them read as one.
_BETWEEN = 0.04


def survival_data(source: "TuningSource") -> "tuple[Survival, ...]":
    """Return the races of a tuning."""
    from uaos.tuning.summaries import survival

    races = survival(*source)
    if not races:
        raise Missing("the tuning has finished no step of a race yet")
    return tuple(races)


def draw_survival(races: "tuple[Survival, ...]", style: Style) -> Drawing:
    """Draw how many candidates were left after each problem, race by race.

    A step is as high as the candidates before its problem; one more shows those left at the end.
    """
    width = style.inches("column")
    with style.figure(width, max(2.1, min(0.55 * width, 3.4))) as figure:
        axes = axes_with_margins(figure, 0.45, 0.40, 0.10, 0.24)
        start, middles = 0, []
        for i, race in enumerate(races):
            wide = len(race.alive)
            steps = np.arange(wide + 1)
            left = [*race.alive, race.alive[-1]]
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


def _spaced(figure: Drawing, axes: Axes, at: Sequence[float], names: Sequence[str]) -> list[str]:
    """Return the names, with "" for those that would overlap the previous name."""
    inch = axes.get_window_extent().width / figure.dpi / np.ptp(axes.get_xlim())
    labels, end = [], -np.inf
    for x, name in zip(at, names, strict=True):
        half = text_width(figure, [name], TICK) / 2
        fits = x * inch - half >= end + _BETWEEN
        end = x * inch + half if fits else end
        labels.append(name if fits else "")
    return labels


def survival_interactive(races: "tuple[Survival, ...]") -> list[dict[str, object]]:
    """Return the races as the report's script reads them."""
    return [{"race": s.iteration, "alive": list(s.alive)} for s in races]


SURVIVAL = Figure(
    "tuning-survival", "candidates left in each race of a tuning", TUNING, survival_data,
    draw_survival,
    options=("tuning",), in_report="tuning", interactive=survival_interactive,
    caption="Candidates left after each problem of a race. New ones are drawn around the survivors "
    "of the race before.",
)  # fmt: skip


def importance_data(source: "TuningSource", most: int = 20) -> "tuple[Importance, ...]":
    """Return the share of the ranks' variance that each parameter explains, largest first."""
    from uaos.tuning.summaries import importance

    shares = importance(*source)[:most]
    if not shares:
        raise Missing("the importance of parameters is not known: it takes more candidates")
    return tuple(shares)


def draw_importance(parameters: "tuple[Importance, ...]", style: Style) -> Drawing:
    """Draw a bar for each parameter.

    A stroke marks the noise, and the bar of a share within it is gray. The numbers stand in a
    separate column, where no stroke crosses them.
    """
    width, height = style.inches("column"), 0.68 + 0.17 * len(parameters)
    with style.figure(width, height) as figure:
        names = [parameter.name for parameter in parameters]
        left, right, top = text_width(figure, names) + 0.14, 0.44, 0.22
        axes = axes_with_margins(figure, left, 0.40, right, top)
        places, shares = np.arange(len(parameters)), [parameter.share for parameter in parameters]
        sure = [parameter.share > parameter.noise for parameter in parameters]
        axes.barh(places, shares, 0.66, color=[LINES[0] if yes else FAINT for yes in sure])
        edge = min(1.0, max(0.05, *shares, *(parameter.noise for parameter in parameters)))
        for place, parameter in enumerate(parameters):
            axes.text(1 + (right - 0.06) / (width - left - right), place, f"{parameter.share:.0%}",
                      transform=axes.get_yaxis_transform(), va="center_baseline", ha="right",
                      fontsize=TICK)  # fmt: skip
        noise = [min(parameter.noise, 1.0) for parameter in parameters]
        axes.plot(noise, places, "|", color=GRAY, markersize=8, markeredgewidth=0.8,
                  clip_on=False, label="_noise")  # fmt: skip
        axes.set_yticks(places, names)
        axes.set_ylim(len(parameters) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.set_xlim(0, edge)
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:.0%}")
        axes.set_xlabel("variance of ranks explained (ε²)")
        figure.text(0.05 / width, 1 - 0.05 / height, "| marks the noise; gray bars lie within it",
                    ha="left", va="top", fontsize=TICK)  # fmt: skip
    return figure


IMPORTANCE = Figure(
    "tuning-importance", "parameters that mattered in a tuning", TUNING, importance_data,
    draw_importance,
    options=("tuning",),
)  # fmt: skip
