"""Margins in inches, powers of ten at ticks, and legends that cover nothing."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from uaos.reporting.style import TICK, Look, text_width

# Inches: a line of a legend, the handle and the gap beside a name, the edges of the figure.
_LINE, _HANDLE, _GAP, _EDGE = 0.138, 0.21, 0.18, 0.05
# Points of the smallest font for names.
_SMALLEST = 5.5


def axes_with_margins(figure: Any, left: float, bottom: float, right: float, top: float) -> Any:
    """Axes with margins in inches."""
    width, height = figure.get_size_inches()
    return figure.add_axes(
        (left / width, bottom / height, 1 - (left + right) / width, 1 - (bottom + top) / height)
    )


def fitted(
    figure: Any, names: Sequence[str], size: float, width: float, *, bold: bool = False
) -> tuple[float, list[str]]:
    """A size of font, and the names, with which the widest is within `width` inches.

    Names are cut where the smallest font does not do.
    """
    widest = text_width(figure, names, size, bold=bold)
    size = max(min(size, size * width / widest), min(size, _SMALLEST))
    cut = []
    for name in names:
        left = name
        while len(left) > 2 and text_width(figure, [left], size, bold=bold) > width + 1e-9:
            left = left.removesuffix("…")[:-1] + "…"
        cut.append(left)
    return size, cut


def decades(axis: Any, most: int) -> None:
    """Powers of ten at the ticks of a logarithmic axis, at most so many of them."""
    from matplotlib.ticker import FixedLocator, NullLocator

    low, high = np.sort(axis.get_view_interval())
    powers = np.arange(np.ceil(np.log10(low) - 1e-9), np.floor(np.log10(high) + 1e-9) + 1)
    step = -(-len(powers) // most)
    axis.set_major_locator(FixedLocator([float(p) for p in 10.0 ** powers[::step]]))
    axis.set_minor_locator(NullLocator())


def legend_size(figure: Any, names: Sequence[str], width: float) -> tuple[int, float, float]:
    """The columns of a legend with these names in so many inches, its width and its height."""
    each = text_width(figure, names, TICK) + _HANDLE + _GAP
    columns = max(1, min(len(names), int((width - 2 * _EDGE + _GAP / 2) / each)))
    # Columns that a full last row can do without leave no gap in it.
    rows = -(-len(names) // columns)
    columns = -(-len(names) // rows)
    return columns, columns * each, rows * _LINE + 0.02


def legend(figure: Any, handles: Sequence[Any], x: float, y: float, width: float) -> None:
    """A legend that hangs from (x, y), in inches from the lower left corner; x is its middle."""
    wide, high = figure.get_size_inches()
    columns, _, _ = legend_size(figure, [str(h.get_label()) for h in handles], width)
    figure.legend(
        handles=handles, loc="upper center", bbox_to_anchor=(x / wide, y / high), ncols=columns,
        fontsize=TICK, handlelength=1.6, columnspacing=1.2, handletextpad=0.5, labelspacing=0.3,
        borderaxespad=0, borderpad=0,
    )  # fmt: skip


def handle(name: str, look: Look, *, line: bool = True) -> Any:
    """What stands before a method's name in a legend."""
    from matplotlib.lines import Line2D

    return Line2D(
        [], [], color=look.color, linestyle=look.stroke if line else "", marker=look.marker,
        markersize=4, markeredgewidth=0, linewidth=1.2, label=name,
    )  # fmt: skip
