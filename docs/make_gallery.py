"""Draw the gallery of the README from a study:  make study && python docs/make_gallery.py study

Needs Chromium, for the picture of the report.
"""

import io
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image, ImageOps

from uaos.analysis import Results
from uaos.experiments import Store
from uaos.problems import BBOB
from uaos.reporting.figures import ecdf_overall, operators, ranks, tuning_frequencies
from uaos.reporting.style import Style
from uaos.tuning.store import TuningStore

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER = Path(__file__).parent / "images"
# Dots across, and colours: what a page shows, in a small file.
WIDE, COLORS = 1300, 96
# The run whose operators are shown: method, function, dimension, instance, repetition.
RUN = ("mix", 4, 20, 1, 1)


def keep(picture: Image.Image, name: str) -> None:
    """Write a picture in few colours."""
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
    results = Results.read(study / "test.db")
    keep(drawn(ecdf_overall(results, 20, style=Style(5.0))), "study-ecdf.png")
    keep(drawn(ranks(results, 20)), "study-ranks.png")
    with Store.open(study / "test.db") as store:
        history = store.history(*RUN)
    method, function, dimension, instance, _ = RUN
    problem = BBOB(function, dimension, instance)
    title = f"{method} on f{function} {problem.name}, {dimension}-D"
    keep(drawn(operators(history, problem.optimum, title)), "study-operators.png")
    with TuningStore.open(study / "tuning.db") as store:
        keep(drawn(tuning_frequencies(store, 1)), "study-tuning.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
