"""What figures are made of: axes with margins, ticks, legends, names beside lines, panels."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from uaos.reporting.style import (
    GRAY,
    SMALL,
    TEXT,
    TICK,
    Axes,
    Drawing,
    LineStyle,
    Style,
    text_width,
)

if TYPE_CHECKING:  # loaded when a figure is drawn
    from matplotlib.axis import Axis
    from matplotlib.lines import Line2D

# Inches: a line of a legend, the handle and the gap beside a name, the edges of the figure.
_LEGEND_LINE, _HANDLE, _COLUMN_GAP, _EDGE = 0.138, 0.29, 0.18, 0.05
# Points of the smallest font for names.
_SMALLEST = 5.5


def axes_with_margins(
    figure: Drawing, left: float, bottom: float, right: float, top: float
) -> Axes:
    """Add axes with margins in inches."""
    width, height = figure.get_size_inches()
    return figure.add_axes(
        (left / width, bottom / height, 1 - (left + right) / width, 1 - (bottom + top) / height)
    )


def fitted(
    figure: Drawing, names: Sequence[str], size: float, width: float, *, bold: bool = False
) -> tuple[float, list[str]]:
    """Return a font size and the names, so that the widest is within `width` inches.

    Names are shortened where the smallest font does not suffice.
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


def decades(axis: "Axis", most: int) -> None:
    """Put ticks at powers of ten on a logarithmic axis, at most `most`; none without data."""
    from matplotlib.ticker import FixedLocator, NullLocator

    low, high = np.sort(axis.get_view_interval())
    first, last = (np.log10(low), np.log10(high)) if low > 0 else (1.0, 0.0)
    powers = np.arange(np.ceil(first - 1e-9), np.floor(last + 1e-9) + 1)
    step = max(1, -(-len(powers) // most))
    axis.set_major_locator(FixedLocator([float(p) for p in 10.0 ** powers[::step]]))
    axis.set_minor_locator(NullLocator())


# In sizes of the font: a dashed line shows its gaps beside the marker.
_HANDLE_LENGTH = 2.4


def legend_size(figure: Drawing, names: Sequence[str], width: float) -> tuple[int, float, float]:
    """Return the columns of a legend with these names in `width` inches, its width and height."""
    each = text_width(figure, names, TICK) + _HANDLE + _COLUMN_GAP
    columns = max(1, min(len(names), int((width - 2 * _EDGE + _COLUMN_GAP / 2) / each)))
    # As few columns as the rows need, so that the last row is full.
    rows = -(-len(names) // columns)
    columns = -(-len(names) // rows)
    return columns, columns * each, rows * _LEGEND_LINE + 0.02


def legend(figure: Drawing, handles: Sequence["Line2D"], x: float, y: float, width: float) -> None:
    """Add a legend below (x, y), in inches from the lower left corner; x is its middle."""
    wide, high = figure.get_size_inches()
    columns, _, _ = legend_size(figure, [str(h.get_label()) for h in handles], width)
    figure.legend(
        handles=handles, loc="upper center", bbox_to_anchor=(x / wide, y / high), ncols=columns,
        fontsize=TICK, handlelength=_HANDLE_LENGTH, columnspacing=1.2, handletextpad=0.5,
        labelspacing=0.3, borderaxespad=0, borderpad=0,
    )  # fmt: skip


def handle(name: str, style: LineStyle, *, line: bool = True) -> "Line2D":
    """Return the legend handle of a method."""
    from matplotlib.lines import Line2D

    return Line2D(
        [], [], color=style.color, linestyle=style.dash if line else "", marker=style.marker,
        markersize=4, markeredgewidth=0, linewidth=1.2, label=name,
    )  # fmt: skip


# Inches from the axes to the marker before a name, from there to the name, and after the name.
_LEAD, _NAME_GAP, _END = 0.22, 0.07, 0.05
# Inches of a marker.
_SQUARE = 4 / 72
# Height of a line of text, in sizes of its font.
_TEXT_LINE = 1.22


class LineEnd(NamedTuple):
    """The name of a line that ends at the height `y` of the right edge."""

    name: str
    y: float
    style: LineStyle | None
    bold: bool = False


def names_width(
    figure: Drawing, names: Sequence[str], size: float = TEXT, bold: bool = False
) -> float:
    """Return the inches that names take to the right of the axes."""
    return _LEAD + _NAME_GAP + text_width(figure, names, size, bold=bold) + _END


def name_ends(axes: Axes, ends: Sequence[LineEnd], size: float = TEXT) -> None:
    """Write each name beside the end of its line, moved as far as other names require.

    Names that do not fit beside the axes are written smaller.
    """
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    figure, box = axes.figure, axes.get_window_extent()
    assert isinstance(figure, Figure)
    width, height = box.width / figure.dpi, box.height / figure.dpi
    beside = figure.get_size_inches()[0] - box.x1 / figure.dpi - _LEAD - _NAME_GAP - _END
    low, high = axes.get_ylim()
    size = min(size, 72 * height / (_TEXT_LINE * max(len(ends) - 0.75, 1)))
    bold = any(end.bold for end in ends)
    size, names = fitted(figure, [end.name for end in ends], size, beside, bold=bold)
    gap = _TEXT_LINE * size / 72 / height
    ideal = np.array([(end.y - low) / (high - low) for end in ends])
    # The topmost stays below a title that may reach over it.
    places = spread(ideal, gap, 0.0, 1 - gap / 4)
    for end, name, at, place in zip(ends, names, ideal, places, strict=True):
        color = GRAY if end.style is None else end.style.color
        x = 1 + _LEAD / width
        common: dict[str, Any] = {"color": color, "transform": axes.transAxes, "clip_on": False}
        axes.plot([1, x], [at, place], linewidth=0.6, linestyle=":", **common)
        if end.style is not None and end.style.hatch:
            # Markers have no hatch.
            square = Rectangle(
                (x - _SQUARE / width / 2, place - _SQUARE / height / 2), _SQUARE / width,
                _SQUARE / height, facecolor=color, hatch=end.style.hatch, edgecolor="white",
                linewidth=0, transform=axes.transAxes, clip_on=False,
            )  # fmt: skip
            axes.add_artist(square)
        elif end.style is not None:
            axes.plot([x], [place], end.style.marker, markersize=72 * _SQUARE, mew=0, **common)
        axes.text(
            x + _NAME_GAP / width, place, name, transform=axes.transAxes, va="center_baseline",
            ha="left", fontsize=size, color=GRAY if end.style is None else None,
            fontweight="bold" if end.bold else "normal",
        )  # fmt: skip


def spread(
    ideal: NDArray[np.float64], gap: float, low: float = 0.0, high: float = 1.0
) -> NDArray[np.float64]:
    """Return places between `low` and `high`, at least `gap` apart, close to the wanted ones.

    With t_i the places ascending, t_i - i·gap must not descend: the nearest such sequence is the
    isotonic regression.
    """
    order = np.argsort(ideal, kind="stable")
    steps = gap * np.arange(len(ideal))
    near = _isotonic(ideal[order] - steps)
    places = np.empty_like(ideal)
    places[order] = np.clip(near, low, max(low, high - steps[-1])) + steps
    return places


def _isotonic(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the nearest sequence that does not descend, by pooling adjacent violators.

    Not by SciPy, whose import takes longer than drawing.
    """
    means, sizes = list[float](), list[int]()
    for value in values.tolist():
        mean, size = value, 1
        while means and means[-1] > mean:
            mean = (means.pop() * sizes[-1] + mean * size) / (sizes[-1] + size)
            size += sizes.pop()
        means.append(mean)
        sizes.append(size)
    return np.repeat(means, sizes)


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
    draw: Callable[[int, Axes], object],
    labels: tuple[str, str, str],
    handles: Sequence["Line2D"],
) -> Drawing:
    """Draw a grid of panels; `draw` is called with the number and the axes of each.

    `labels` are those of x and y, and a shorter one of y. The legend fills the place of missing
    panels if it fits there, otherwise it stands below.
    """
    panel = (width - _LEFT - _RIGHT - (columns - 1) * _ACROSS) / columns
    rows = -(-len(titles) // columns)
    tall, missing = aspect * panel, rows * columns - len(titles)
    with style.figure(width, 1.0) as figure:
        names = [str(h.get_label()) for h in handles]
        hole = missing * panel + (missing - 1) * _ACROSS
        _, needed, high = legend_size(figure, names, hole)
        inside = missing > 0 and needed <= hole and high <= tall + _DOWN / 2
        below = 0.04 if inside else 0.05 + legend_size(figure, names, width)[2]
        bottom = _BELOW + _LABEL + below
        height = _TOP + rows * tall + (rows - 1) * _DOWN + bottom
        figure.set_size_inches(width, height)
        grid = _panels(figure, (rows, columns), (panel, tall), bottom)
        for i, axes in enumerate(grid[: len(titles)]):
            draw(i, axes)
        # A title may extend into the gap beside it, unless a tick's number may stand there.
        _write_titles(figure, grid, titles, panel if missing else panel + _ACROSS - 0.08)
        _finish_grid(grid, len(titles), columns)
        decades(grid[0].xaxis, min(4, max(2, int(panel / 0.19))))
        used = min(columns, len(titles))
        across = used * panel + (used - 1) * _ACROSS
        middle = (_LEFT + across / 2, bottom + (height - _TOP - bottom) / 2)
        _label_grid(figure, labels, middle, bottom)
        if inside:
            legend(figure, handles, width - _RIGHT - hole / 2, bottom + (tall + high) / 2, hole)
        else:
            legend(figure, handles, width / 2, below, width)
    return figure


def _panels(
    figure: Drawing, shape: tuple[int, int], size: tuple[float, float], bottom: float
) -> list[Axes]:
    """Return axes that share their scales, each of a size in inches."""
    (width, height), (across, down) = figure.get_size_inches(), size
    grid = figure.subplots(
        *shape, sharex=True, sharey=True, squeeze=False,
        gridspec_kw={
            "left": _LEFT / width, "right": 1 - _RIGHT / width, "bottom": bottom / height,
            "top": 1 - _TOP / height, "wspace": _ACROSS / across, "hspace": _DOWN / down,
        },
    )  # fmt: skip
    return list(grid.ravel())


def _write_titles(
    figure: Drawing, grid: Iterable[Axes], titles: Sequence[str], width: float
) -> None:
    """Write a title above each panel, in a font in which the widest takes at most `width`."""
    size = SMALL + 0.5
    size *= min(1.0, width / text_width(figure, titles, size))
    for axes, title in zip(grid, titles, strict=False):
        axes.set_title(title, fontsize=size, pad=2.5)
        axes.tick_params(labelsize=SMALL)


def _finish_grid(grid: Sequence[Axes], panels: int, columns: int) -> None:
    """Hide unused axes, and put numbers below the lowest panel of each column."""
    for axes in grid[panels:]:
        axes.set_axis_off()
    for axes in grid[max(0, panels - columns) : panels]:
        axes.tick_params(labelbottom=True)


def _label_grid(
    figure: Drawing, labels: tuple[str, str, str], middle: tuple[float, float], bottom: float
) -> None:
    """Write the labels below and beside the panels, whose middle is in inches."""
    width, height = figure.get_size_inches()
    most = 2 * min(middle[1], height - middle[1])
    beside = labels[1] if text_width(figure, [labels[1]]) <= most else labels[2]
    figure.text(0.05 / width, middle[1] / height, beside, rotation=90, va="center", ha="left",
                fontsize=TEXT)  # fmt: skip
    figure.text(middle[0] / width, (bottom - _BELOW) / height, labels[0], ha="center", va="top",
                fontsize=TEXT)  # fmt: skip
