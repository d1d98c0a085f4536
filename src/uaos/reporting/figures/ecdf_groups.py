"""Runtime profiles in each group of functions."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from uaos.analysis.section import Section
from uaos.reporting.figures import SECTION, Figure
from uaos.reporting.figures._profiles import Profiles, draw_grid, interactive, profiles
from uaos.reporting.style import Style

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


def data(section: Section, methods: Sequence[str] | None = None, restarts: bool = True) -> Profiles:
    """Return the profiles over the functions of each group that every method was run on."""
    return profiles(section, "group", methods, restarts=restarts)


def draw(of: Profiles, style: Style) -> "Drawing":
    """Draw a panel for each group."""
    width = style.inches("page")
    columns = min(3 if width > 5 else 2, max(2, len(of.panels)))
    return draw_grid(of, style, width, columns, 0.66, [panel.title for panel in of.panels])


FIGURE = Figure(
    "ecdf-groups", "runtime profiles in each group of functions", SECTION, data, draw,
    options=("dim", "methods", "order", "no-restarts"), in_report="profiles",
    interactive=interactive,
)  # fmt: skip
