"""Names at the ends of lines, as COCO writes them: none covers a line or another name."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from uaos.reporting.figures.canvas import fitted
from uaos.reporting.style import GREY, TEXT, Look, text_width

# Inches from the axes to the marker before a name, from there to the name, and after the name.
_LEAD, _GAP, _END = 0.22, 0.07, 0.05
# Inches of a marker.
_SQUARE = 4 / 72
# Height of a line of text, in sizes of its font.
_LINE = 1.22


class End(NamedTuple):
    """What ends at the height `y` of the right edge, and what it is called."""

    name: str
    y: float
    look: Look | None
    bold: bool = False


def room(figure: Any, names: Sequence[str], size: float = TEXT, bold: bool = False) -> float:
    """Inches that names take to the right of the axes."""
    return _LEAD + _GAP + text_width(figure, names, size, bold=bold) + _END


def name_ends(axes: Any, ends: Sequence[End], size: float = TEXT) -> None:
    """Write each name beside the end of its line, moved just as far as others need room.

    Names too many or too long for what is beside the axes are written smaller.
    """
    from matplotlib.patches import Rectangle

    figure, box = axes.figure, axes.get_window_extent()
    width, height = box.size / figure.dpi
    beside = figure.get_size_inches()[0] - box.x1 / figure.dpi - _LEAD - _GAP - _END
    low, high = axes.get_ylim()
    size = min(size, 72 * height / (_LINE * max(len(ends) - 0.75, 1)))
    bold = any(end.bold for end in ends)
    size, names = fitted(figure, [end.name for end in ends], size, beside, bold=bold)
    gap = _LINE * size / 72 / height
    wanted = np.array([(end.y - low) / (high - low) for end in ends])
    # The topmost stays below a title that may reach over it.
    places = spread(wanted, gap, 0.0, 1 - gap / 4)
    for end, name, at, place in zip(ends, names, wanted, places, strict=True):
        color = GREY if end.look is None else end.look.color
        x = 1 + _LEAD / width
        look: dict[str, Any] = {"color": color, "transform": axes.transAxes, "clip_on": False}
        axes.plot([1, x], [at, place], linewidth=0.6, linestyle=":", **look)
        if end.look is not None and end.look.hatch:
            # Markers have no hatch.
            square = Rectangle(
                (x - _SQUARE / width / 2, place - _SQUARE / height / 2), _SQUARE / width,
                _SQUARE / height, facecolor=color, hatch=end.look.hatch, edgecolor="white",
                linewidth=0, transform=axes.transAxes, clip_on=False,
            )  # fmt: skip
            axes.add_artist(square)
        elif end.look is not None:
            axes.plot([x], [place], end.look.marker, markersize=72 * _SQUARE, mew=0, **look)
        axes.text(
            x + _GAP / width, place, name, transform=axes.transAxes, va="center_baseline",
            ha="left", fontsize=size, color=GREY if end.look is None else None,
            fontweight="bold" if end.bold else "normal",
        )  # fmt: skip


def spread(
    wanted: NDArray[np.float64], gap: float, low: float = 0.0, high: float = 1.0
) -> NDArray[np.float64]:
    """Places from `low` to `high`, `gap` apart at least, as the wanted ones lie and near them.

    With t_i the places ascending, t_i - i·gap must not descend: the nearest such sequence is the
    isotonic regression.
    """
    order = np.argsort(wanted, kind="stable")
    steps = gap * np.arange(len(wanted))
    near = isotonic_regression(wanted[order] - steps).x
    places = np.empty_like(wanted)
    places[order] = np.clip(near, low, max(low, high - steps[-1])) + steps
    return places
