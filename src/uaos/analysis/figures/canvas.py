"""Margins in inches, and legends below the axes: what the figures are laid out with."""

from collections.abc import Sequence
from typing import Any

from uaos.analysis.style import TICK, Look, text_width

# Inches of a line of a legend, of what stands before a name, and of the edges.
_LINE, _HANDLE, _EDGE = 0.155, 0.47, 0.1


def axes_with_margins(figure: Any, left: float, bottom: float, right: float, top: float) -> Any:
    """Axes with margins in inches."""
    width, height = figure.get_size_inches()
    return figure.add_axes(
        (left / width, bottom / height, 1 - (left + right) / width, 1 - (bottom + top) / height)
    )


def legend_height(figure: Any, names: Sequence[str]) -> float:
    """Inches that a legend with these names takes at the bottom of the figure."""
    return _LINE * -(-len(names) // _columns(figure, names)) + 0.06


def legend(figure: Any, handles: Sequence[Any]) -> None:
    """One legend for the whole figure, at its bottom, in as many columns as fit."""
    columns = _columns(figure, [str(handle.get_label()) for handle in handles])
    figure.legend(
        handles=handles, loc="lower center", ncols=columns, fontsize=TICK, handlelength=2.0,
        columnspacing=1.2, handletextpad=0.5, labelspacing=0.3, borderaxespad=0.15, borderpad=0.2,
    )  # fmt: skip


def handle(name: str, look: Look, *, line: bool = True) -> Any:
    """What stands before a method's name in a legend."""
    from matplotlib.lines import Line2D

    return Line2D(
        [], [], color=look.color, linestyle=look.stroke if line else "", marker=look.marker,
        markersize=4, markeredgewidth=0, linewidth=1.2, label=name,
    )  # fmt: skip


def _columns(figure: Any, names: Sequence[str]) -> int:
    room = figure.get_size_inches()[0] - 2 * _EDGE
    return max(1, min(len(names), int(room / (text_width(figure, names, TICK) + _HANDLE))))
