"""Runtime profiles on each function."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from uaos.analysis.section import Section
from uaos.reporting.figures import SECTION, Figure
from uaos.reporting.figures._profiles import Profiles, draw_grid, interactive, profiles
from uaos.reporting.style import Style

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


def data(section: Section, methods: Sequence[str] | None = None, restarts: bool = True) -> Profiles:
    """Return the profiles of each function."""
    return profiles(section, "function", methods, restarts=restarts)


def draw(of: Profiles, style: Style) -> "Drawing":
    """Draw a panel for each function."""
    width = style.inches("page")
    is_wide = width > 5
    columns = int(np.clip(len(of.panels), 3 if is_wide else 2, 6 if is_wide else 4))
    # A column is too narrow for more than the number.
    titles = [p.title.replace("ill-conditioned", "ill-cond.") if is_wide else p.key
              for p in of.panels]  # fmt: skip
    return draw_grid(of, style, width, columns, 0.75, titles)


FIGURE = Figure(
    "ecdf-functions", "runtime profiles on each function", SECTION, data, draw,
    options=("dim", "methods", "order", "no-restarts"), in_report="profiles",
    interactive=interactive,
)  # fmt: skip
