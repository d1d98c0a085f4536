"""Tabulate the seven algorithms of the paper: our running times beside the published ones.

uaos bench seven.db --methods PM-AdapSS-tuned --without-uniform --dim 20 --instances test
python benchmarks/seven.py seven.db --csv docs/results/data/seven

Methods that the store does not have are taken from the tables of docs/results/bbob-20d.md, which
are rounded. Writes seven-art.csv, one row for each function and target: the ratios to best 2009,
the evaluations of best 2009, and whether the ratios are more than a factor of 2 apart; and
seven-solved.csv, the runs solved of each function.
"""

import argparse
import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from uaos.analysis import Results, against_paper
from uaos.analysis.published import PAPER, PaperCell
from uaos.problems import reference

PAGE = Path(__file__).parents[1] / "docs" / "results" / "bbob-20d.md"
#: Today's names of methods that have another name on the page.
NEW_NAMES = {"R-SHADE": "SHADE-restart"}


class Ours(NamedTuple):
    """Return our ratios by method, function and target, and solved runs by method and function.

    The second number of a ratio says whether it is off; None: not known.
    """

    ratios: dict[tuple[str, str, float], tuple[float, bool | None]]
    solved: dict[tuple[str, str], tuple[int, int]]


def from_page(page: str) -> Ours:
    """Return what a page has that `uaos compare` wrote."""
    ours = Ours({}, {})
    for heading, (names, *body) in _tables(page):
        alone = re.match(r"### (\S+): our aRT ratio", heading)
        if not alone and "aRT divided by" not in heading:
            continue
        for row in body:
            cells = dict(zip(names, row, strict=True))
            method = alone[1] if alone else cells["method"]
            method, function = NEW_NAMES.get(method, method), f"f{cells['f']}"
            # Tables of one method come later: they count runs up to the published budget.
            solved, trials = cells["solved"].split()[0].split("/")
            ours.solved[method, function] = int(solved), int(trials)
            for name in (name for name in names if re.fullmatch(r"1e-?\d", name)):
                ratio = float(cells[name].split()[0].replace("∞", "inf"))
                off = cells[name].endswith("!") if alone else None
                ours.ratios[method, function, float(name)] = ratio, off
    return ours


def _tables(page: str) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield the headings of a page with the rows of the table below."""
    for part in re.split(r"^(?=#)", page, flags=re.MULTILINE):
        heading, *lines = part.splitlines() or [""]
        table = [line for line in lines if line.startswith("|")]
        if table:
            rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
            yield heading, [rows[0], *rows[2:]]


def from_store(path: Path) -> Ours:
    """Return what a store has."""
    ours = Ours({}, {})
    for compared in against_paper(Results.read(path)):
        for cell in compared.cells:
            ours.ratios[compared.method, cell.function, cell.target] = cell.ours, cell.is_off
        for function, (solved, trials, _, _) in compared.solved.items():
            ours.solved[compared.method, function] = solved, trials
    return ours


def main() -> None:
    """Write both files."""
    parser = argparse.ArgumentParser()
    parser.add_argument("store", type=Path)
    parser.add_argument("--csv", required=True, help="the beginning of the names of the files")
    options = parser.parse_args()
    page, store = from_page(PAGE.read_text("utf-8")), from_store(options.store)
    ratios, solved = page.ratios | store.ratios, page.solved | store.solved
    art: list[list[object]] = []
    runs: dict[tuple[str, str], list[object]] = {}
    for method, (published_as, _) in PAPER.items():
        for cell in reference("bbob").published("paper"):
            key = method, cell.function, cell.target
            if cell.algorithm != published_as or key not in ratios:
                continue
            ours, off = ratios[key]
            if off is None:
                off = PaperCell(cell.function, cell.target, ours, cell.ratio).is_off
            art.append([method, cell.function, f"{cell.target:g}", f"{ours:.4g}",
                        f"{cell.ratio:g}", f"{cell.art / cell.ratio:.0f}", int(off)])  # fmt: skip
            runs[key[:2]] = [*key[:2], *solved[key[:2]], cell.successes, cell.trials]
    for name, names, rows in (
        ("art", ("method", "function", "target", "ours", "published", "best2009", "off"), art),
        ("solved", ("method", "function", "ours", "runs", "published", "published runs"),
         runs.values()),
    ):  # fmt: skip
        with Path(f"{options.csv}-{name}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([names, *rows])


if __name__ == "__main__":
    main()
