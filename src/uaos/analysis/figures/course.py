"""The course of one run: which operators it used, how probable they were, how close it came."""

from typing import TYPE_CHECKING

from uaos.analysis.figures.canvas import legend, legend_height
from uaos.analysis.style import DEFAULT, TICK, Style
from uaos.de.history import History
from uaos.de.picture import PALETTE, descent, shares, stack
from uaos.errors import InvalidParameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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

    Without `f_opt` the best fitness itself is drawn.
    """
    ends, made = shares(history, "evaluations")
    if not len(ends):
        raise InvalidParameter("history", "empty", "one with a generation at least")
    width = style.inches("page")
    with style.figure(width, 1.0) as figure:
        left, right, top = 0.52, 0.12, 0.24 if title else 0.08
        bottom = 0.40 + legend_height(figure, history.operators)
        height = top + bottom + min(4.2, max(3.2, 0.5 * width))
        figure.set_size_inches(width, height)
        upper, middle, lower = figure.subplots(
            3, 1, sharex=True, height_ratios=(3, 2, 2),
            gridspec_kw={
                "left": left / width, "right": 1 - right / width, "bottom": bottom / height,
                "top": 1 - top / height, "hspace": 0.16,
            },
        )  # fmt: skip
        stack(upper, ends, made, history.operators)
        for k in range(len(history.operators)):
            middle.plot(history.evaluations, history.probabilities[:, k], linewidth=0.9,
                        color=PALETTE[k % len(PALETTE)],
                        linestyle=_STROKES[k // len(PALETTE) % len(_STROKES)])  # fmt: skip
        descent(lower, history, f_opt, "evaluations", linewidth=1.2, fontsize=TICK)
        upper.set_ylabel("share")
        middle.set_ylabel("probability")
        lower.set_ylabel("best fitness" if f_opt is None else "best error")
        upper.set_ylim(0, 1)
        middle.set_ylim(0, None)
        for axes in (middle, lower):
            axes.grid(True)
        lower.set_xlim(0, ends[-1])
        lower.set_xlabel("evaluations")
        if title:
            upper.set_title(title, fontsize=TICK)
        figure.align_ylabels([upper, middle, lower])
        legend(figure, upper.get_legend_handles_labels()[0])
    return figure
