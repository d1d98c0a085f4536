"""How figures look: widths of a paper, fonts, colours. The one place where that is said."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from uaos.errors import InvalidParameter, UnknownName
from uaos.optimizers.picture import PALETTE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Inches of one column of a paper, and of both.
WIDTHS = {"column": 3.5, "page": 7.2}
_NARROWEST, _WIDEST = 3.0, 40.0

# All of them come with matplotlib, so that a figure is the same on every machine; the generic name
# is for those who read the texts of an SVG without them. STIX has the shapes of Times.
FONTS = {
    "sans": ["DejaVu Sans", "sans-serif"],
    "serif": ["STIXGeneral", "DejaVu Serif", "serif"],
}
_MATHEMATICS = {"sans": "dejavusans", "serif": "stix"}

#: Sizes in points: of axis labels and method names, of numbers at ticks, of small multiples.
TEXT, TICK, SMALL = 8.0, 7.5, 6.5

#: Of a thin line, of texts, of what stands in the background.
INK, GREY, FAINT = "#222222", "#6b6b6b", "#dddddd"

# The palette of the pictures of runs without yellow and black (one is too pale for a line, the
# other is for what is no method), and two more that stay apart from them for the colour-blind.
LINES = (*(c for c in PALETTE if c not in ("#F0E442", "#000000")), "#332288", "#661100")
# Seven, so that colour and marker together come again only after 70 methods.
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_STROKES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (4, 1, 1, 1)))


@dataclass(frozen=True)
class Look:
    """What a method looks like in every figure: a colour, and a marker for print without it.

    The hatch is that of areas, whose marker is a square.
    """

    color: str
    marker: str
    stroke: Any = "-"
    hatch: str = ""


@dataclass(frozen=True)
class Style:
    """Width and font of a figure.

    `width`: "column", "page" or inches; what suits the kind of figure if it is None. `font`: "sans"
    or "serif". `order`: methods that take the first colours, so that figures of several stores
    agree on them; the others follow in the order of the results.
    """

    width: float | str | None = None
    font: str = "sans"
    order: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.font not in FONTS:
            raise UnknownName("font", self.font, FONTS)
        if self.width is not None:
            self.inches("page")

    def inches(self, natural: str) -> float:
        """The width of the figure in inches."""
        width = natural if self.width is None else self.width
        if width in WIDTHS:
            return WIDTHS[str(width)]
        try:
            number = float(width)
        except ValueError:
            number = 0.0
        if not _NARROWEST <= number <= _WIDEST:
            allowed = f"{', '.join(WIDTHS)} or inches from {_NARROWEST:g} to {_WIDEST:g}"
            raise InvalidParameter("width", width, allowed)
        return number

    def looks(self, methods: Sequence[str]) -> dict[str, Look]:
        """What each of all the methods of the results looks like."""
        ordered = dict.fromkeys((*self.order, *methods))
        return {
            name: Look(
                LINES[i % len(LINES)],
                MARKERS[i % len(MARKERS)],
                _STROKES[i // len(LINES) % len(_STROKES)],
            )
            for i, name in enumerate(ordered)
        }

    @contextlib.contextmanager
    def figure(self, width: float, height: float) -> Iterator["Figure"]:
        """An empty figure of so many inches, inside which texts and ticks are made in this style.

        It is laid out once at the end, as matplotlib makes ticks no earlier than that.
        """
        # A figure of its own: pyplot's would be shared with whatever else the user is drawing.
        import matplotlib
        from matplotlib.figure import Figure

        # matplotlib types its settings by their names.
        settings: Any = {
            "font.family": FONTS[self.font], "mathtext.fontset": _MATHEMATICS[self.font],
            "font.size": TEXT, "axes.labelsize": TEXT, "axes.titlesize": TEXT,
            "xtick.labelsize": TICK, "ytick.labelsize": TICK, "legend.fontsize": TICK,
            "axes.linewidth": 0.6, "axes.edgecolor": INK, "axes.labelcolor": INK,
            "text.color": INK, "xtick.color": INK, "ytick.color": INK,
            "axes.labelpad": 3.0, "axes.titlepad": 4.0, "axes.titlelocation": "left",
            "xtick.major.width": 0.6, "ytick.major.width": 0.6, "xtick.major.size": 2.5,
            "ytick.major.size": 2.5, "xtick.minor.size": 1.5, "ytick.minor.size": 1.5,
            "xtick.minor.width": 0.4, "ytick.minor.width": 0.4, "xtick.major.pad": 2.5,
            "ytick.major.pad": 2.5, "axes.spines.top": False, "axes.spines.right": False,
            "grid.color": FAINT, "grid.linewidth": 0.4, "axes.axisbelow": True,
            "lines.linewidth": 1.2, "hatch.linewidth": 0.4, "legend.frameon": False,
            "axes.unicode_minus": True,
        }  # fmt: skip
        with matplotlib.rc_context(settings):
            made = Figure(figsize=(width, height), dpi=100)
            yield made
            made.draw_without_rendering()


DEFAULT = Style()


def text_width(
    figure: "Figure", texts: Sequence[str], size: float = TEXT, *, bold: bool = False
) -> float:
    """How wide the widest of the texts is, in inches."""
    widest = 0.0
    for text in texts:
        weight = "bold" if bold else "normal"
        drawn = figure.text(0, 0, text, fontsize=size, fontweight=weight)
        widest = max(widest, drawn.get_window_extent().width / figure.dpi)
        drawn.remove()
    return widest
