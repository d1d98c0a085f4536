"""The course of one run: which operators it used, how probable they were, how close it came."""

from typing import TYPE_CHECKING, Any

import numpy as np

from uaos.errors import InvalidParameter
from uaos.optimizers.history import History
from uaos.optimizers.picture import PALETTE, descent, shares, stack
from uaos.reporting.figures.canvas import decades, legend, legend_size
from uaos.reporting.figures.labels import End, name_ends, room
from uaos.reporting.style import DEFAULT, TICK, Look, Style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Names stand beside the bands if they take no more than this of the width.
_ASIDE = 0.4
# Beyond the palette, the colours come again in these.
_STROKES = ("-", (0, (4, 1.5)), (0, (1, 1)))


def operators(
    history: History,
    f_opt: float | None = None,
    title: str | None = None,
    *,
    style: Style = DEFAULT,
) -> "Figure":
    """Shares of the offspring, the operators' probabilities and the best error, over evaluations.

    The probabilities are those that the method computes and its selection chooses from: they are
    the chances of the operators where it is proportional, while a greedy one takes the largest.
    Without `f_opt` the best fitness itself is drawn.
    """
    from matplotlib.ticker import MaxNLocator

    ends, made = shares(history, "evaluations")
    if not len(ends):
        raise InvalidParameter("history", "empty", "one with a generation at least")
    width = style.inches("page")
    with style.figure(width, 1.0) as figure:
        names = history.operators
        beside = room(figure, names)
        # Names beside their bands need no colour to be understood; in a column there is no room.
        aside = beside < _ASIDE * width
        left, right, top = 0.52, beside if aside else 0.20, 0.24 if title else 0.08
        below = 0.02 if aside else 0.02 + legend_size(figure, names, width)[2]
        bottom = 0.38 + below
        height = top + bottom + min(4.2, max(3.0, 0.5 * width))
        figure.set_size_inches(width, height)
        upper, middle, lower = figure.subplots(
            3, 1, sharex=True, height_ratios=(3, 2, 2),
            gridspec_kw={
                "left": left / width, "right": 1 - right / width, "bottom": bottom / height,
                "top": 1 - top / height, "hspace": 0.16,
            },
        )  # fmt: skip
        stack(upper, ends, made, names)
        _probabilities(middle, history)
        descent(lower, history, f_opt, "evaluations", linewidth=1.2, fontsize=TICK)
        upper.set_ylabel("share of offspring")
        middle.set_ylabel("probability")
        lower.set_ylabel("best fitness" if f_opt is None else "best error")
        upper.set_ylim(0, 1)
        upper.set_yticks([0, 0.5, 1])
        for axes in (middle, lower):
            axes.grid(True)
        if lower.get_yscale() == "log":
            decades(lower.yaxis, 4)
        lower.set_xlim(0, ends[-1])
        lower.set_xlabel("evaluations")
        lower.xaxis.set_major_locator(MaxNLocator(5 if width < 5 else 8, steps=[1, 2, 5, 10]))
        lower.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")
        if title:
            upper.set_title(title, fontsize=TICK)
        for axes in (upper, middle, lower):
            axes.yaxis.set_label_coords(-(left - 0.17) / (width - left - right), 0.5)
        if aside:
            top_of = np.cumsum(made[-1])
            name_ends(upper, [
                End(name, float(top_of[k] - made[-1, k] / 2), Look(PALETTE[k % len(PALETTE)], ""))
                for k, name in enumerate(names)
            ])  # fmt: skip
        else:
            # As the bands lie: the topmost first.
            bands = upper.get_legend_handles_labels()[0][::-1]
            legend(figure, bands, width / 2, below, width)
    return figure


def _probabilities(axes: Any, history: History) -> None:
    from matplotlib.ticker import MaxNLocator

    for k in range(len(history.operators)):
        axes.plot(
            history.evaluations, history.probabilities[:, k], linewidth=0.9,
            color=PALETTE[k % len(PALETTE)],
            linestyle=_STROKES[k // len(PALETTE) % len(_STROKES)],
        )  # fmt: skip
    axes.set_ylim(0, None)
    axes.yaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 2.5, 5, 10]))
