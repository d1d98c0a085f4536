"""Widths, fonts and colors of all figures."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Literal

from uaos.errors import InvalidParameter, UnknownName, shortened
from uaos.extras import optional
from uaos.pictures import show_in_notebooks

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure

    Drawing = Figure
else:
    Axes = Drawing = object  # matplotlib is loaded when a figure is drawn

#: A dash of matplotlib: solid, or an offset and the lengths of strokes and gaps.
Dash = Literal["-"] | tuple[float, tuple[float, ...]]

#: Inches of one column of a paper, and of both.
WIDTHS = {"column": 3.5, "page": 7.2}
_NARROWEST, _WIDEST = 3.0, 40.0

# All come with matplotlib, so that a figure is the same on every machine; the generic names are for
# viewers of an SVG that lack them. STIX has the shapes of Times.
FONTS = {
    "sans": ["DejaVu Sans", "sans-serif"],
    "serif": ["STIXGeneral", "DejaVu Serif", "serif"],
}
_MATHEMATICS = {"sans": "dejavusans", "serif": "stix"}

_STYLE_SHEET = str(files("uaos") / "data" / "figures.mplstyle")

#: Sizes in points: of axis labels and method names, of numbers at ticks, of small multiples.
TEXT, TICK, SMALL = 8.0, 7.5, 6.5

#: Colors of lines and texts, of references, and of what stands in the background.
INK, GRAY, FAINT = "#222222", "#6b6b6b", "#dddddd"

#: Colors of methods, distinguishable with any color vision: Okabe and Ito's without yellow, black
#: last, and between them four of Tol's and violet. Operators have others
#: (`uaos.runs.picture.PALETTE`).
LINES = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9",
    "#D55E00", "#882255", "#999933", "#332288", "#661100",
    "#7733DD", "#000000",
)  # fmt: skip
#: The same on the dark background of the report, lighter where they could not be seen.
LINES_ON_DARK = (
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9",
    "#d55e00", "#9c4872", "#999933", "#6659a6", "#915447",
    "#7c3bde", "#636363",
)  # fmt: skip
#: Lines of operators on white: their colors, darker where they could not be seen.
OPERATOR_LINES = (
    "#7896c1", "#d97c5d", "#9f945b", "#3ca587", "#c2818e",
    "#6b9bb2", "#8e9b27", "#ae8e6f", "#9988bb", "#949494",
)  # fmt: skip
# Seven, so that a combination of color and marker repeats only after 84 methods.
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_DASHES: tuple[Dash, ...] = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (4, 1, 1, 1)))


@dataclass(frozen=True)
class LineStyle:
    """Style of a method in every figure: a color, and a marker for print without color.

    The hatch is that of areas, whose marker is a square.
    """

    color: str
    marker: str
    dash: Dash = "-"
    hatch: str = ""


@dataclass(frozen=True)
class Style:
    """Width and font of a figure.

    Parameters
    ----------
    width
        "column", "page" or inches; the width of the kind of figure if None.
    font
        "sans" or "serif".
    order
        Methods that take the first colors, so that figures of several stores agree on them; the
        others follow in the order of the results.

    Raises
    ------
    UnknownName
        If there is no such font.

    Examples
    --------
    >>> from uaos.reporting.style import Style
    >>> Style(width="page", font="serif").inches("column")
    7.2
    """

    width: float | str | None = None
    font: str = "sans"
    order: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.font not in FONTS:
            raise UnknownName("font", self.font, FONTS)
        if self.width is not None:
            self.inches("page")

    def inches(self, default: str) -> float:
        """Return the width of the figure in inches."""
        width = default if self.width is None else self.width
        if width in WIDTHS:
            return WIDTHS[str(width)]
        try:
            number = float(width)
        except ValueError:
            number = 0.0
        if not _NARROWEST <= number <= _WIDEST:
            raise InvalidParameter(
                f"width is {shortened(width)}; expected {', '.join(WIDTHS)} or inches from "
                f"{_NARROWEST:g} to {_WIDEST:g}", name="width", value=width,
            )  # fmt: skip
        return number

    def line_styles(self, methods: Sequence[str]) -> dict[str, LineStyle]:
        """Return how each of the methods is drawn."""
        ordered = dict.fromkeys((*self.order, *methods))
        return {
            name: LineStyle(
                LINES[i % len(LINES)],
                MARKERS[i % len(MARKERS)],
                _DASHES[i // len(LINES) % len(_DASHES)],
            )
            for i, name in enumerate(ordered)
        }

    @contextlib.contextmanager
    def figure(self, width: float, height: float) -> Iterator[Drawing]:
        """Make an empty figure of this size, inside which texts and ticks have this style.

        Its ticks are made at the end; matplotlib would make them when the figure is saved, without
        this style.
        """
        matplotlib = optional("matplotlib", "a figure")
        # Not pyplot's, which would be shared with whatever else the user is drawing.
        from matplotlib.figure import Figure

        settings = {
            "font.family": FONTS[self.font], "mathtext.fontset": _MATHEMATICS[self.font],
        }  # fmt: skip
        with matplotlib.rc_context(settings, fname=_STYLE_SHEET):
            figure = Figure(figsize=(width, height), dpi=100)
            show_in_notebooks(figure)
            yield figure
            for axes in figure.axes:
                for axis in (axes.xaxis, axes.yaxis):
                    axis.get_ticklabels(which="both")


DEFAULT = Style()


def text_width(
    figure: Drawing, texts: Sequence[str], size: float = TEXT, *, bold: bool = False
) -> float:
    """Return the width of the widest of the texts in inches."""
    widest = 0.0
    for text in texts:
        weight = "bold" if bold else "normal"
        drawn = figure.text(0, 0, text, fontsize=size, fontweight=weight)
        widest = max(widest, drawn.get_window_extent().width / figure.dpi)
        drawn.remove()
    return widest
