"""Figures as files: PNG, SVG and PDF, the same bytes from the same figure."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uaos.analysis import wording
from uaos.errors import InvalidParameter
from uaos.files import whole_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: What a figure can be written as, and what keeps the date and the versions out of it.
FORMATS: dict[str, dict[str, None]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
# Dots in an inch of a PNG, as journals ask for.
_DPI = 300


def check_path(path: str | os.PathLike[str]) -> Path:
    """Refuse a file that cannot be written, before anything is drawn."""
    place = Path(path)
    if place.suffix.lower() not in FORMATS:
        raise InvalidParameter(
            "figure", str(place), f"a file that ends in {wording.listed(FORMATS, 'or')}"
        )
    if place.is_dir() or not place.absolute().parent.is_dir():
        raise InvalidParameter("figure", str(place), "a file in a folder that exists")
    return place


def save(figure: "Figure", path: str | os.PathLike[str]) -> Path:
    """Write a figure as PNG (300 dpi), SVG (texts stay texts) or PDF (TrueType), by the suffix.

    The file appears whole or not at all, and holds no date: equal figures are equal files.
    """
    import matplotlib

    place = check_path(path)
    form = place.suffix.lower()
    settings: Any = {
        "svg.fonttype": "none", "svg.hashsalt": "uaos", "pdf.fonttype": 42, "pdf.compression": 6,
    }  # fmt: skip
    with matplotlib.rc_context(settings), whole_file(place) as part:
        figure.savefig(part, format=form[1:], dpi=_DPI, metadata=FORMATS[form])
    return place
