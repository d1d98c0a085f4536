"""Save figures of matplotlib atomically, and show them in notebooks."""

import io
import os
from collections.abc import Iterable
from functools import partial
from typing import IO, TYPE_CHECKING

from uaos.errors import InvalidParameter, shortened
from uaos.extras import require
from uaos.files import MARK, as_path, check_output, whole_file
from uaos.text import join_names

if TYPE_CHECKING:  # an optional library
    from matplotlib.figure import Figure

#: Metadata of each image format: the mark of uaos, without dates and versions.
PICTURES: dict[str, dict[str, str | None]] = {
    ".png": {"Software": MARK},
    ".svg": {"Date": None, "Creator": MARK},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": MARK},
}


def check_picture(
    path: str | os.PathLike[str],
    *,
    inputs: Iterable[str | os.PathLike[str]] = (),
    overwrite: bool = False,
) -> None:
    """Refuse a path that no figure can be written to, or a missing matplotlib, before any work."""
    check_output(path, inputs=inputs, suffixes=PICTURES, overwrite=overwrite)
    require("matplotlib", "a figure")


def show_in_notebooks(figure: "Figure") -> None:
    """Let notebooks show a figure created without pyplot, even without `%matplotlib inline`."""
    figure._repr_png_ = partial(_png, figure)  # type: ignore[attr-defined]


def _png(figure: "Figure") -> bytes:
    picture = io.BytesIO()
    figure.savefig(picture, format="png")
    return picture.getvalue()


def save_figure(
    figure: "Figure", path: str | os.PathLike[str] | IO[bytes], *, dpi: float | None = None
) -> None:
    """Write a figure to a path, atomically and with the mark of uaos, or to an open file.

    The text of an SVG stays text, and equal figures give equal files.
    """
    from matplotlib import rc_context

    if hasattr(path, "write"):
        figure.savefig(path, dpi=dpi)
        return
    place = as_path(path)
    if place.name and not place.suffix:
        place = place.with_name(f"{place.name}.png")  # as matplotlib does
    form = place.suffix.lower()
    formats = figure.canvas.get_supported_filetypes()
    if form[1:] not in formats:
        raise InvalidParameter(
            f"path is {shortened(str(place), 80)}; expected a file that ends in "
            f"{join_names([f'.{name}' for name in formats], 'or')}", name="path", value=path,
        )  # fmt: skip
    with rc_context({
        "svg.fonttype": "none", "svg.hashsalt": "uaos", "pdf.fonttype": 42, "pdf.compression": 6,
    }), whole_file(place) as part:  # fmt: skip
        figure.savefig(part, format=form[1:], metadata=PICTURES.get(form), dpi=dpi)
