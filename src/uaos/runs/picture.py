"""The picture of a run: which operators were used, and how good the best point became."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from uaos.arrays import FloatArray
from uaos.extras import optional
from uaos.pictures import save_figure, show_in_notebooks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from uaos.history import History

#: Colors of operators, lighter than those of methods and distinguishable with any color vision:
#: Tol's light scheme with another blue, tan for olive, and a violet.
PALETTE = (
    "#8FB3E6", "#EE8866", "#EEDD88", "#44BB99", "#FFAABB",
    "#99DDFF", "#BBCC33", "#BB9977", "#9988BB", "#DDDDDD",
)  # fmt: skip
#: Hatches for operators beyond the palette, whose colors repeat.
HATCHES = ("", "////", "....", "xxxx", "----")

# The most blocks drawn: the noise of single generations would hide trends.
_COLUMNS = 100


def draw(history: "History", path: str | os.PathLike[str] | None, f_opt: float | None) -> "Figure":
    """Draw shares of operators, if there are any, above the best fitness and further columns."""
    # Generations are of equal size, or nearly; the batches of other optimizers need not be.
    along = "generation" if "population" in history.columns else "evaluations"
    further = [] if history.operators else _further(history)
    heights = [3, 2] if history.operators else [3, *(1.5 for _ in further)]
    figure, rows = panels(heights)
    fitness = rows[1] if history.operators else rows[0]
    if len(history):
        descent(fitness, history, f_opt, along)
        fitness.set_xlim(0, getattr(history, along)[-1])
    else:
        rows[0].text(0.5, 0.5, "no iteration yet", ha="center", va="center")
    if history.operators:
        rows[0].set_ylim(0, 1)
        rows[0].set_ylabel(f"share of {'offspring' if along == 'generation' else 'evaluations'}")
    if history.operators and len(history):
        stack(rows[0], *shares(history, along), history.operators)
        # Below the axes, because names of operators with settings are long.
        names = history.operators
        columns = 2 if max(map(len, names)) > 30 else len(names) if len(names) < 5 else 3
        figure.legend(
            *rows[0].get_legend_handles_labels(), loc="outside lower center", ncols=columns,
            frameon=False, fontsize=10,
        )  # fmt: skip
    for axes, name in zip(rows[1:], further, strict=False):
        _line(axes, getattr(history, along), getattr(history, name))
        axes.set_ylabel(name.replace("_", " "))
    rows[-1].set_xlabel(along)
    rows[-1].locator_params(axis="x", integer=True)
    if path is not None:
        save_figure(figure, path)
    return figure


def panels(heights: Sequence[float]) -> tuple["Figure", list[Any]]:
    """Return a figure with panels of these heights, one above the other.

    A figure of its own: pyplot's would be shared with whatever else the user is drawing.
    """
    matplotlib = optional("matplotlib.figure", "a figure")
    layout = optional("matplotlib.layout_engine", "a figure")
    engine = layout.ConstrainedLayoutEngine(w_pad=0.15, h_pad=0.1)
    figure: Figure = matplotlib.Figure(figsize=(10, 7), dpi=100, layout=engine)
    show_in_notebooks(figure)
    grid = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights, squeeze=False)
    for axes in grid[:, 0]:
        axes.spines[["top", "right"]].set_visible(False)
    return figure, list(grid[:, 0])


def _further(history: "History") -> list[str]:
    """Return the columns with a panel: those that change, except restarts."""
    changing = []
    for name in history.columns:
        finite = getattr(history, name)[np.isfinite(getattr(history, name))]
        if name != "restarts" and len(finite) and finite.min() < finite.max():
            changing.append(name)
    return changing


def _line(axes: Any, at: FloatArray, value: FloatArray) -> None:
    """Draw a column, on a logarithmic axis if it is positive and spans more than a decade."""
    axes.plot(at, value, color="#222222", linewidth=1.8)
    shown = value[np.isfinite(value)]
    if len(shown) and shown.min() > 0 and shown.max() > 10 * shown.min():
        axes.set_yscale("log")


def shares(history: "History", along: str) -> tuple[FloatArray, FloatArray]:
    """Return the ends of at most `_COLUMNS` blocks of iterations, and operators' shares of them.

    The ends are values of the history's column `along`.
    """
    rows = len(history)
    if rows == 0:
        return np.zeros(0), np.zeros((0, len(history.operators)))
    starts = np.unique(np.linspace(0, rows, min(rows, _COLUMNS), endpoint=False).astype(int))
    counts = np.add.reduceat(history.counts, starts, axis=0)
    ends = np.append(starts[1:], rows) - 1
    return getattr(history, along)[ends], counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)


def stack(axes: Any, ends: FloatArray, shares: FloatArray, names: tuple[str, ...]) -> None:
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


def descent(axes: Any, history: "History", f_opt: float | None, along: str) -> None:
    """Draw the best fitness, less the optimum if it is known, over the column `along`."""
    at, value = getattr(history, along), history.best - (f_opt or 0.0)
    positive = value[value > 0]
    small = 1e-3 * min(1.0, positive.max(initial=0.0))
    to_zero = np.nanmin(value, initial=np.inf) == 0 and np.any(positive < small)
    if len(positive) and (f_opt is not None or to_zero):
        # An axis of powers of ten has no 0: it is drawn where rounding errors are.
        value = np.maximum(value, min(1e-12, positive.min()))
    if len(history.estimates):
        estimates(axes, history, f_opt, along)
    else:
        _line(axes, at, value)
    axes.set_ylabel("best fitness" if f_opt is None else "best fitness − optimum")
    again = np.zeros(0, int)
    if "restarts" in history.columns:
        again = np.flatnonzero(np.diff(history.restarts, prepend=0))
    for k, g in enumerate(at[again]):
        axes.axvline(g, color="0.6", linewidth=0.8, linestyle=":", label="" if k else "restart")
    if len(history.estimates):  # above the axes, as a band leaves no room inside
        axes.legend(
            frameon=False, fontsize=9, loc="lower right", bbox_to_anchor=(1, 1), ncols=4,
            borderaxespad=0,
        )  # fmt: skip
    elif len(again):
        axes.legend(frameon=False, fontsize=9)


def estimates(axes: Any, history: "History", f_opt: float | None, along: str) -> None:
    """Draw the estimates of a noisy function with a band, and the luckiest value as a thin line."""
    evaluations, mean, error = history.estimates.T
    at = np.interp(evaluations, history.evaluations, getattr(history, along))
    mean, error = mean - (f_opt or 0.0), 2 * np.nan_to_num(error)
    if len(at) == 1:  # a band and a line need two
        axes.errorbar(
            at, mean, error, color="#8FB3E6", linewidth=4, clip_on=False,
            label="± 2 standard errors",
        )  # fmt: skip
    axes.fill_between(
        at, mean - error, mean + error, color="#8FB3E6", alpha=0.5, linewidth=0,
        label="± 2 standard errors" if len(at) > 1 else None,
    )  # fmt: skip
    axes.plot(
        at, mean, color="#222222", linewidth=1.8, marker="o" if len(at) == 1 else None,
        clip_on=len(at) > 1, label="mean at the best candidate",
    )  # fmt: skip
    lucky = history.best - (f_opt or 0.0)
    axes.plot(
        getattr(history, along), lucky, color="0.6", linewidth=0.8, label="lowest single value"
    )
    _limit(axes, np.concatenate([mean - error, mean + error]), lucky[-1])


def _limit(axes: Any, values: FloatArray, lowest: float) -> None:
    """Limit the axis so that values far above most others, such as the first ones, are cut off.

    Far above is more than three interquartile ranges above the upper quartile. The lowest single
    value of all is shown if it is at most the range of the values below them.
    """
    finite = values[np.isfinite(values)]
    if len(finite):
        lower, upper = np.percentile(finite, [25, 75])
        low, high = finite.min(), finite[finite <= upper + 3 * (upper - lower)].max()
        low = lowest if 2 * low - high <= lowest < low else low
        margin = 0.05 * (high - low) or 1.0
        axes.set_ylim(low - margin, high + margin)
