"""Runtime profiles over all functions that every method was run on."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from uaos.analysis.section import Section
from uaos.analysis.text import ranges
from uaos.experiments.targets import ECDF_TARGETS
from uaos.reporting.canvas import axes_with_margins, decades, name_ends, names_width
from uaos.reporting.figures import SECTION, Figure
from uaos.reporting.figures._profiles import (
    X_LABEL,
    Y_LABEL,
    Panel,
    Profiles,
    draw_panel,
    interactive,
    profiles,
)
from uaos.reporting.style import TICK, Style, text_width

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

# Names beside the curves take at most this share of the width.
_NAMES = 0.4


def data(section: Section, methods: Sequence[str] | None = None, restarts: bool = True) -> Profiles:
    """Return the share of (function, target) pairs solved over evaluations / dimension."""
    return profiles(section, "all", methods, restarts=restarts)


def draw(of: Profiles, style: Style) -> "Drawing":
    """Draw the curves, with the methods' names at their ends.

    A cross marks the budget, beyond which a curve shows simulated restarts. The dashed line is the
    reference, a pair counting at its aRT.
    """
    (panel,) = of.panels
    width = style.inches("column")
    with style.figure(width, max(2.3, min(0.72 * width, 4.2))) as figure:
        names = [*of.shown, *([of.reference] if panel.reference is not None else [])]
        right = min(names_width(figure, names), _NAMES * width)
        axes = axes_with_margins(figure, 0.48, 0.40, right, 0.24)
        ends = draw_panel(axes, panel, of, style.line_styles(of.methods))
        axes.set_title(_title(figure, panel, of, width - 0.53), fontsize=TICK)
        axes.set_xlabel(X_LABEL)
        axes.set_ylabel(Y_LABEL)
        decades(axes.xaxis, 8)
        name_ends(axes, ends)
    return figure


def _title(figure: "Drawing", panel: Panel, of: Profiles, width: float) -> str:
    """Return the longest title that fits."""
    end = f"{of.section}, {len(ECDF_TARGETS)} targets"
    choice = [f"{ranges(panel.functions)}, {end}", f"{len(panel.functions)} functions, {end}", end]
    fits = [text for text in choice if text_width(figure, [text], TICK) <= width]
    return fits[0] if fits else of.section


FIGURE = Figure(
    "ecdf-overall", "runtime profiles over all functions", SECTION, data, draw,
    options=("dim", "methods", "order", "no-restarts"), in_report="profiles",
    interactive=interactive,
)  # fmt: skip
