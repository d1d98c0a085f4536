"""Draw the figures of plot.md:  python docs/make_plot_images.py bbob-20d.db

The store is that of docs/results: uaos bench bbob-20d.db --methods mix,RecPM-tuned,JADE,U-AOS-FW
--dim 20 --instances test
"""

import sys
from pathlib import Path

from uaos.analysis import Results
from uaos.reporting.figures import art_ratio, ecdf_overall, save
from uaos.reporting.style import Style

FOLDER = Path(__file__).parent / "images"


def main(store: str) -> None:
    results = Results.read(store)
    save(ecdf_overall(results, 20, style=Style(4.5)), FOLDER / "ecdf-overall.png")
    save(art_ratio(results, 20), FOLDER / "art-ratio.png")


if __name__ == "__main__":
    main(*sys.argv[1:])
