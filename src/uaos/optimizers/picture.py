"""The picture of a run: which operators were used, and how good the best point became."""

from typing import TYPE_CHECKING, Any

import numpy as np

from uaos.optimizers.de.protocols import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from uaos.optimizers.history import History

#: Told apart with any colour vision: Okabe and Ito's seven and black, then Tol's wine and olive.
PALETTE = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9",
    "#D55E00", "#F0E442", "#882255", "#999933", "#000000",
)  # fmt: skip
#: Beyond the palette, the colours come again under these.
HATCHES = ("", "////", "....", "xxxx", "----")

# Blocks of generations drawn at most: the noise of single generations hides what changes.
_COLUMNS = 100


def draw(history: "History", path: Any, f_opt: float | None) -> "Figure":
    """Stacked shares of the operators above, best fitness below, over the generations."""
    # A figure of its own: pyplot's would be shared with whatever else the user is drawing.
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    # matplotlib is an external library without types.
    room: Any = ConstrainedLayoutEngine(w_pad=0.15, h_pad=0.1)
    figure: Figure = Figure(figsize=(10, 7), dpi=100, layout=room)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    ends, made = shares(history)
    if len(ends):
        stack(upper, ends, made, history.operators)
        descent(lower, history, f_opt)
        lower.set_xlim(0, ends[-1])
        # Below the axes, for names of operators with settings are long.
        columns = 2 if max(len(name) for name in history.operators) > 30 else 3
        figure.legend(
            *upper.get_legend_handles_labels(), loc="outside lower center", ncols=columns,
            frameon=False, fontsize=10,
        )  # fmt: skip
    else:
        upper.text(0.5, 0.5, "no generation beyond the first population", ha="center", va="center")
    upper.set_ylabel("share of offspring")
    upper.set_ylim(0, 1)
    lower.set_xlabel("generation")
    for axes in (upper, lower):
        axes.spines[["top", "right"]].set_visible(False)
    if path is not None:
        figure.savefig(path)
    return figure


def shares(history: "History", along: str = "generation") -> tuple[Array, Array]:
    """Ends of at most `_COLUMNS` blocks of generations, and each operator's share of a block.

    The ends are values of the history's column `along`.
    """
    rows = len(history)
    if rows == 0:
        return np.zeros(0), np.zeros((0, len(history.operators)))
    starts = np.unique(np.linspace(0, rows, min(rows, _COLUMNS), endpoint=False).astype(int))
    counts = np.add.reduceat(history.counts, starts, axis=0)
    ends = np.append(starts[1:], rows) - 1
    return getattr(history, along)[ends], counts / counts.sum(axis=1, keepdims=True)


def stack(axes: Any, ends: Array, shares: Array, names: tuple[str, ...]) -> None:
    """Draw the shares of blocks that end at `ends`, one operator upon the other."""
    edges = np.concatenate([[0], ends])
    # A block's share stands at its middle; the first and last reach out to the ends.
    middle = np.concatenate([[0], (edges[1:] + edges[:-1]) / 2, ends[-1:]])
    shares = np.concatenate([shares[:1], shares, shares[-1:]])
    bottom = np.zeros(len(middle))
    for k, name in enumerate(names):
        top = bottom + shares[:, k]
        axes.fill_between(
            middle, bottom, top, label=name, facecolor=PALETTE[k % len(PALETTE)],
            hatch=HATCHES[k // len(PALETTE) % len(HATCHES)], edgecolor="white", linewidth=0.4,
        )  # fmt: skip
        bottom = top


def descent(
    axes: Any,
    history: "History",
    f_opt: float | None,
    along: str = "generation",
    *,
    linewidth: float = 1.8,
    fontsize: float = 9,
) -> None:
    """Draw the best fitness, less the optimum if it is known, over the column `along`."""
    at, value = getattr(history, along), history.best - (f_opt or 0.0)
    axes.plot(at, value, color="#222222", linewidth=linewidth)
    axes.set_ylabel("best fitness" if f_opt is None else "best fitness − optimum")
    shown = value[np.isfinite(value)]
    if len(shown) and shown.min() > 0 and shown.max() > 10 * shown.min():
        axes.set_yscale("log")
    again = np.flatnonzero(np.diff(history.restarts, prepend=0))
    for k, g in enumerate(at[again]):
        axes.axvline(g, color="0.6", linewidth=0.8, linestyle=":", label="" if k else "restart")
    if len(again):
        axes.legend(frameon=False, fontsize=fontsize)
