"""The picture of a tuning: which values were drawn, iteration by iteration."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from uaos.analysis.tuning import Numbers, Shares
from uaos.de.picture import HATCHES, PALETTE
from uaos.tuning.records import Tuning

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The three blocks of panels: panels in a row, and the height of a row in inches.
_COMPONENTS, _CHOICES, _NUMBERS = (3, 1.9), (4, 1.4), (6, 1.6)
_WIDTH = 13.5

_FAMILIES = ("metric", "reward", "quality", "probability", "selection")
_STAR = "★"


def draw(entry: Tuning, found: Mapping[str, Shares | Numbers], path: Any) -> "Figure":
    """Stacked shares for choices above, points for numbers below, the winner's values starred."""
    # A figure of its own: pyplot's would be shared with whatever else the user is drawing.
    from matplotlib.figure import Figure

    choices = {name: one for name, one in found.items() if isinstance(one, Shares)}
    blocks: list[tuple[tuple[int, float], list[Shares | Numbers]]] = [
        (_COMPONENTS, [choices[name] for name in _FAMILIES if name in choices]),
        (_CHOICES, [one for name, one in choices.items() if name not in _FAMILIES]),
        (_NUMBERS, [one for one in found.values() if isinstance(one, Numbers)]),
    ]
    blocks = [block for block in blocks if block[1]]
    heights = [height * -(-len(panels) // columns) for (columns, height), panels in blocks]
    figure: Figure = Figure(figsize=(_WIDTH, 0.6 + sum(heights)), dpi=100, layout="constrained")
    setup = entry.setup
    figure.suptitle(
        f"values drawn in each iteration of a tuning with {setup['runs']:,} runs of "
        f"{setup['budget']} evaluations on {len(setup['instances'])} problems; {_STAR} the winner\n"
        "bars: shares of the new candidates, below 1 where some do not have the parameter; points: "
        "their values, with the median",
        fontsize=10,
    )
    parts = figure.subfigures(max(1, len(blocks)), 1, height_ratios=heights or None, squeeze=False)
    for part, ((columns, _), panels) in zip(parts[:, 0], blocks, strict=False):
        grid = part.subplots(-(-len(panels) // columns), columns, squeeze=False).ravel()
        for axes, one in zip(grid, panels, strict=False):
            axes.spines[["top", "right"]].set_visible(False)
            axes.tick_params(labelsize=7)
            axes.set_title(one.name, fontsize=9, loc="left", fontweight="bold")
            if isinstance(one, Shares):
                _stack(axes, one)
            else:
                _points(axes, one)
        for axes in grid[len(panels) :]:
            axes.set_axis_off()
    if path is not None:
        figure.savefig(path)
    return figure


def _stack(axes: Any, one: Shares) -> None:
    iterations = np.arange(1, len(one.shares) + 1)
    bottom = np.zeros(len(iterations))
    for k, value in enumerate(one.values):
        axes.bar(
            iterations, one.shares[:, k], 0.9, bottom=bottom, facecolor=PALETTE[k % len(PALETTE)],
            hatch=HATCHES[k // len(PALETTE) % len(HATCHES)], edgecolor="white", linewidth=0.4,
            label=f"{value} {_STAR}" if value == one.winner else str(value),
        )  # fmt: skip
        bottom = bottom + one.shares[:, k]
    axes.set_ylim(0, 1)
    axes.set_yticks([0, 0.5, 1])
    axes.set_xticks(iterations)
    handles, labels = axes.get_legend_handles_labels()
    # The topmost of the stack first.
    legend = axes.legend(
        handles[::-1], labels[::-1], loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False,
        fontsize=7, handlelength=1, handleheight=0.8, labelspacing=0.25,
    )  # fmt: skip
    for text in legend.get_texts():
        if text.get_text().endswith(_STAR):
            text.set_fontweight("bold")


def _points(axes: Any, one: Numbers) -> None:
    # Spread sideways by a fixed generator: the picture of a tuning is always the same.
    rng = np.random.default_rng(1)
    for iteration, values in enumerate(one.values, start=1):
        sideways = iteration + rng.uniform(-0.3, 0.3, len(values))
        axes.plot(sideways, values, ".", color=PALETTE[0], alpha=0.45, markersize=5, mew=0)
        if len(values):
            middle = np.median(values)
            axes.plot([iteration - 0.4, iteration + 0.4], [middle] * 2, color="#222222", lw=1.2)
    if one.log:
        axes.set_yscale("log")
    last = len(one.values)
    if one.winner is not None:
        axes.axhline(one.winner, color=PALETTE[5], linewidth=0.9, zorder=0)
        axes.plot([last + 0.55], [one.winner], marker="*", color=PALETTE[5], markersize=9,
                  markeredgewidth=0, clip_on=False, linestyle="")  # fmt: skip
    axes.set_xlim(0.4, last + 0.6)
    axes.set_xticks(range(1, last + 1))
    axes.set_ylim(one.low, one.high)
