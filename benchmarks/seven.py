"""Tabulate the seven algorithms of the paper: our running times beside the published ones.

python benchmarks/seven.py bbob-20d.db --csv docs/results/data/seven

The store is that of docs/results/README.md. Writes seven-art.csv, one row for each function and
target: the ratios to best 2009, the evaluations of best 2009, and whether the ratios are more than
a factor of 2 apart; and seven-solved.csv, the runs solved of each function.
"""

import argparse
import csv
from pathlib import Path

from uaos.analysis import Results, against_paper
from uaos.analysis.published import PAPER
from uaos.problems import reference


def main() -> None:
    """Write both files."""
    parser = argparse.ArgumentParser()
    parser.add_argument("store", type=Path)
    parser.add_argument("--csv", required=True, help="the beginning of the names of the files")
    options = parser.parse_args()
    best = {(c.algorithm, c.function, c.target): c.art / c.ratio
            for c in reference("bbob").published("paper")}  # fmt: skip
    art: list[tuple[object, ...]] = []
    runs: list[tuple[object, ...]] = []
    for compared in against_paper(Results.read(options.store)):
        for cell in compared.cells:
            evaluations = best[PAPER[compared.method][0], cell.function, cell.target]
            art.append((compared.method, cell.function, f"{cell.target:g}", f"{cell.ours:.4g}",
                        f"{cell.published:g}", f"{evaluations:.0f}", int(cell.is_off)))  # fmt: skip
        runs += [(compared.method, function, *counts)
                 for function, counts in compared.solved.items()]  # fmt: skip
    for name, names, rows in (
        ("art", ("method", "function", "target", "ours", "published", "best2009", "off"), art),
        ("solved", ("method", "function", "ours", "runs", "published", "published runs"), runs),
    ):
        with Path(f"{options.csv}-{name}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([names, *rows])


if __name__ == "__main__":
    main()
