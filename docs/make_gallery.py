"""Draw the gallery of the README from a study:  make study && python docs/make_gallery.py study

Needs Chromium, for the picture of the report.
"""

import io
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image, ImageOps

from uaos.analysis import Results, section
from uaos.reporting.figures import draw
from uaos.reporting.sources import Sources, courses_of
from uaos.reporting.style import Style
from uaos.tuning.store import TuningStore

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER = Path(__file__).parent / "images"
# Dots across, and colors: what a page shows, in a small file.
WIDE, COLORS = 1300, 96
# The run of mix whose operators are shown.
RUN = {"function": "f4", "instance": 1}


def keep(picture: Image.Image, name: str) -> None:
    """Write a picture in few colors."""
    few = picture.convert("RGB").quantize(COLORS, dither=Image.Dither.NONE)
    few.save(FOLDER / name, optimize=True)


def drawn(figure: "Figure") -> Image.Image:
    """A figure as an image."""
    written = io.BytesIO()
    figure.savefig(written, format="png", dpi=WIDE / figure.get_figwidth())
    return Image.open(written)


def seen(page: Path, width: int, height: int) -> Image.Image:
    """The first screen of a page."""
    shot = FOLDER / "shot.png"
    subprocess.run(
        ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
         f"--window-size={width},{height}", "--virtual-time-budget=20000",
         f"--screenshot={shot}", page.absolute().as_uri()],
        check=True, capture_output=True,
    )  # fmt: skip
    picture = Image.open(io.BytesIO(shot.read_bytes()))
    shot.unlink()
    return picture


def main(study: Path) -> None:
    page = seen(study / "report.html", 1300, 1000)
    keep(ImageOps.expand(page, 1, "#c9d0d6"), "study-report.png")
    part = section(Results.read(study / "test.db"))
    keep(drawn(draw("ecdf-overall", part, style=Style(5.0))), "study-ecdf.png")
    keep(drawn(draw("ranks", part)), "study-ranks.png")
    with Sources([study / "test.db"]) as sources:
        (course,) = courses_of(sources.experiments, "mix", RUN)
        keep(drawn(draw("operators", course)), "study-operators.png")
    with TuningStore.open(study / "tuning.db") as store:
        keep(drawn(draw("tuning-frequencies", (store, 1))), "study-tuning.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
