"""Figures for a paper and for the report, found in the modules of this package.

A figure is a :class:`Figure` in a module's variable: its name, help, options, a function that
returns what is drawn as plain data, and a function that draws it. `uaos plot` and the report find
figures here; :func:`register_figure` adds those of other packages.

    from uaos.analysis import Results, section
    from uaos.reporting.figures import draw, save

    save(draw("ecdf-overall", section(Results.read("mine.db"))), "ecdf.pdf")
"""

import os
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from uaos.errors import NameClash, UnknownName, shortened
from uaos.files import check_output
from uaos.pictures import PICTURES, save_figure
from uaos.reporting.style import DEFAULT, Drawing, Style

#: What a figure shows: methods of a section, one run, a tuning, or the catalogue (no file).
SECTION, RUN, TUNING, CATALOGUE = "section", "run", "tuning", "catalogue"

# Dots per inch of a PNG.
_DPI = 300


@dataclass(frozen=True)
class Figure:
    """A kind of figure.

    Parameters
    ----------
    name
        Such as "ecdf-overall".
    help
        What it shows, for `uaos plot`.
    source
        SECTION, RUN, TUNING or CATALOGUE: what `data` is called with (the last: None).
    data
        Called with the source and options, returns what is drawn as plain data. It raises
        :class:`uaos.errors.Missing` if there is nothing to draw.
    draw
        Called with the data and a :class:`~uaos.reporting.style.Style`, returns a matplotlib
        figure.
    options
        The keyword arguments of `data` that `uaos plot` offers, with their help.
    in_report
        The section of the report that shows it: "overview", "profiles", "running-times" or
        "tuning"; nowhere if empty.
    caption
        What the report says below it.
    interactive
        Turns the data into what the report's script draws; without, the report has an image.

    Examples
    --------
    >>> from uaos.reporting.figures import figures
    >>> figures()["ranks"].source
    'section'
    """

    name: str
    help: str
    source: str
    data: Callable[..., Any]
    draw: Callable[[Any, Style], Drawing]
    options: tuple[str, ...] = ()
    in_report: str = ""
    caption: str = ""
    interactive: Callable[[Any], Any] | None = None


_REGISTERED: dict[str, Figure] = {}
# The order of these figures; others follow.
_ORDER = (
    "ecdf-overall", "ecdf-groups", "ecdf-functions", "convergence", "art-ratio", "ranks",
    "operators", "tuning-frequencies", "tuning-survival", "tuning-importance", "literature",
)  # fmt: skip


def register_figure(figure: Figure) -> Figure:
    """Add a custom figure to those of `uaos plot` and the report.

    Parameters
    ----------
    figure : Figure

    Returns
    -------
    Figure

    Raises
    ------
    NameClash
        If there is a figure of that name.

    Examples
    --------
    >>> from matplotlib.figure import Figure as Drawing
    >>> from uaos.reporting.figures import SECTION, Figure, register_figure
    >>> def data(section):
    ...     return section.methods
    >>> def draw(methods, style):
    ...     drawing = Drawing()
    ...     drawing.suptitle(", ".join(methods))
    ...     return drawing
    >>> register_figure(Figure("names", "The names of the methods.", SECTION, data, draw)).name
    'names'
    """
    if figure.name in figures():
        raise NameClash(f"the figure {shortened(figure.name)} exists already; choose another name")
    _REGISTERED[figure.name] = figure
    return figure


def figures() -> dict[str, Figure]:
    """Return all figures by name.

    Returns
    -------
    dict of str to Figure
        The built-in figures, then registered ones.

    Examples
    --------
    >>> from uaos.reporting.figures import figures
    >>> list(figures())[:3]
    ['ecdf-overall', 'ecdf-groups', 'ecdf-functions']
    """
    return _built_in() | _REGISTERED


def figure(name: str) -> Figure:
    """Return a figure by its name; underscores count as hyphens."""
    hyphenated = name.replace("_", "-")
    if hyphenated not in figures():
        raise UnknownName("figure", name, figures())
    return figures()[hyphenated]


@cache
def _built_in() -> dict[str, Figure]:
    modules = [import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__)]
    declared = {value.name: value for module in modules for value in vars(module).values()
             if isinstance(value, Figure)}  # fmt: skip
    return {
        name: declared[name] for name in dict.fromkeys((*_ORDER, *declared)) if name in declared
    }


def draw(name: str, source: object, *, style: Style = DEFAULT, **options: object) -> Drawing:
    """Draw a figure.

    Parameters
    ----------
    name : str
        The figure, such as "ecdf-overall"; :func:`figures` has all.
    source : Section, run or tuning
        What the figure shows: a :class:`uaos.analysis.Section` for most.
    style : Style
        Width and font.
    **options
        Those of the figure; `uaos plot --help` lists them.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> from uaos.analysis import Results, section
    >>> from uaos.reporting.figures import draw
    >>> drawing = draw("ranks", section(Results.read("mine.db")))
    >>> drawing.get_size_inches().tolist()[0]
    3.5
    """
    kind = figure(name)
    return kind.draw(kind.data(source, **options), style)


def save(drawing: Drawing, path: str | os.PathLike[str]) -> Path:
    """Write a figure as PNG (300 dpi), SVG (text stays text) or PDF (TrueType), by the suffix.

    The file is written atomically and has no date, so that equal figures are equal files.

    Parameters
    ----------
    drawing : matplotlib.figure.Figure
    path : str or path
        Ends in .png, .svg or .pdf.

    Returns
    -------
    Path

    Examples
    --------
    >>> from uaos.analysis import Results, section
    >>> from uaos.reporting.figures import draw, save
    >>> save(draw("ecdf-overall", section(Results.read("mine.db"))), "profiles.pdf").name
    'profiles.pdf'
    """
    place = check_output(path, suffixes=PICTURES, overwrite=True)
    save_figure(drawing, place, dpi=_DPI)
    return place
