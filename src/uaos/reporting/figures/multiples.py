"""Small multiples: panels with common axes, each under its title, and one legend for all."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from uaos.reporting.figures.canvas import decades, legend, legend_size
from uaos.reporting.style import SMALL, TEXT, Style, text_width

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Inches: the margins, the gaps between panels, from the panels to the label below them.
_LEFT, _RIGHT, _TOP = 0.44, 0.12, 0.20
_ACROSS, _DOWN = 0.22, 0.23
_BELOW, _LABEL = 0.20, 0.14


def small_multiples(
    style: Style,
    width: float,
    columns: int,
    aspect: float,
    titles: Sequence[str],
    draw: Callable[[int, Any], object],
    labels: tuple[str, str, str],
    handles: Sequence[Any],
) -> "Figure":
    """A grid of panels, `draw` being called with the number and the axes of each.

    `labels` are that of x, that of y, and a shorter one of y. The legend stands where the grid has
    no panel, if it fits there, else below.
    """
    rows = -(-len(titles) // columns)
    panel = (width - _LEFT - _RIGHT - (columns - 1) * _ACROSS) / columns
    tall, free = aspect * panel, rows * columns - len(titles)
    with style.figure(width, 1.0) as figure:
        names = [str(h.get_label()) for h in handles]
        hole = free * panel + (free - 1) * _ACROSS
        _, needed, high = legend_size(figure, names, hole)
        inside = free > 0 and needed <= hole and high <= tall + _DOWN / 2
        below = 0.04 if inside else 0.05 + legend_size(figure, names, width)[2]
        bottom = _BELOW + _LABEL + below
        height = _TOP + rows * tall + (rows - 1) * _DOWN + bottom
        figure.set_size_inches(width, height)
        grid = figure.subplots(
            rows, columns, sharex=True, sharey=True, squeeze=False,
            gridspec_kw={
                "left": _LEFT / width, "right": 1 - _RIGHT / width, "bottom": bottom / height,
                "top": 1 - _TOP / height, "wspace": _ACROSS / panel, "hspace": _DOWN / tall,
            },
        ).ravel()  # fmt: skip
        widest = text_width(figure, titles, SMALL + 0.5)
        # Into the gap beside it, unless a tick's number may stand there.
        most = panel if free else panel + _ACROSS - 0.08
        size = (SMALL + 0.5) * min(1.0, most / widest)
        for i, (axes, title) in enumerate(zip(grid, titles, strict=False)):
            draw(i, axes)
            axes.set_title(title, fontsize=size, pad=2.5)
            axes.tick_params(labelsize=SMALL)
        for axes in grid[len(titles) :]:
            axes.set_axis_off()
        # The lowest panel of each column has the numbers, wherever the column ends.
        for axes in grid[max(0, len(titles) - columns) : len(titles)]:
            axes.tick_params(labelbottom=True)
        decades(grid[0].xaxis, min(4, max(2, int(panel / 0.19))))
        centre = (_LEFT + (width - _LEFT - _RIGHT) / 2, bottom + (height - _TOP - bottom) / 2)
        most = 2 * min(centre[1], height - centre[1])
        beside = labels[1] if text_width(figure, [labels[1]]) <= most else labels[2]
        figure.text(0.05 / width, centre[1] / height, beside, rotation=90, va="center",
                    ha="left", fontsize=TEXT)  # fmt: skip
        figure.text(centre[0] / width, (bottom - _BELOW) / height, labels[0], ha="center",
                    va="top", fontsize=TEXT)  # fmt: skip
        if inside:
            legend(figure, handles, width - _RIGHT - hole / 2, bottom + (tall + high) / 2, hole)
        else:
            legend(figure, handles, width / 2, below, width)
    return figure
