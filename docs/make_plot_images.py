"""Draw the figures of plot.md:  python docs/make_plot_images.py bbob-20d.db

The store is that of docs/results: uaos bench bbob-20d.db --methods mix,RecPM-tuned,JADE,U-AOS-FW
--dim 20 --instances test
"""

import sys
from pathlib import Path

from uaos.analysis import Results, section
from uaos.reporting.figures import draw, save
from uaos.reporting.style import Style

FOLDER = Path(__file__).parent / "images"


def main(store: str) -> None:
    part = section(Results.read(store), 20)
    save(draw("ecdf-overall", part, style=Style(4.5)), FOLDER / "ecdf-overall.png")
    save(draw("art-ratio", part), FOLDER / "art-ratio.png")


if __name__ == "__main__":
    main(*sys.argv[1:])
