"""Shares of targets, read from the figures of COCO's archive of post-processed data.

    python benchmarks/coco_figures.py ppdata-archive docs/results/data/coco-published.csv

writes those of bbob-constrained, bbob-mixint and bbob-largescale over all functions.

The archive (https://github.com/numbbo/ppdata-archive, branch gh-pages) has no numbers, but its
figures `pprldmany_*.svg` are vector graphics: each algorithm is a path from the left to the right
edge, and a line of the same color and marker leads from its end to the name of the algorithm.
"""

import argparse
import csv
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_NUMBER = r"(-?[\d.]+(?:e-?\d+)?)"
_ELEMENT = re.compile(
    r'<g id="(line2d|text)_\d+">(.*?)'
    r'(?=\n *<g id="(?:line2d|text|[xy]tick|matplotlib|patch|axes)|\Z)',
    re.DOTALL,
)
#: The years of the figures, by suite.
YEARS = {"bbob-constrained": 2022, "bbob-mixint": 2019, "bbob-largescale": 2019}
BUDGETS = (10, 30, 100, 300, 1_000, 3_000, 10_000)
#: Algorithms whose names the figures shorten.
NAMES = {
    "AL1-CMA-E": "AL1-CMA-ES", "AL2-CMA-E": "AL2-CMA-ES", "AL3-CMA-E": "AL3-CMA-ES",
    "AL4-CMA-E": "AL4-CMA-ES", "CMA-ES-py": "CMA-ES (pycma)", "TPE-hyper": "TPE (hyperopt)",
    "DE-scipy": "DE (SciPy)", "RANDOMSEA": "random search", "RandomSea": "random search",
    "CMA large": "CMA-ES", "m2DLBFGS": "L-BFGS (m=2D)", "LBFGS lar": "L-BFGS",
    "BPepsMAg": "BP-ε-MAg-ES", "epsMAg He": "ε-MAg-ES",
}  # fmt: skip
#: Two ends of lines are the same point if they are less than this apart.
_CLOSE = 0.01


class _Line(NamedTuple):
    """Path of a figure, with its color and marker."""

    points: list[tuple[float, float]]
    color: str | None
    marker: str | None


class _Figure:
    """Lines and texts of a figure, and its axes."""

    def __init__(self, svg: str) -> None:
        self.left, self.decade = self._axis(svg, "x")
        self.bottom, self.height = self._axis(svg, "y")
        self.lines: list[_Line] = []
        texts = []
        for kind, body in _ELEMENT.findall(svg):
            if kind == "line2d":
                self.lines.append(_line(body))
            else:
                [place] = re.findall(rf"translate\({_NUMBER} {_NUMBER}\)", body)[:1]
                texts.append((float(place[0]), float(place[1]), _comment(body)))
        rightmost = max(x for x, _, _ in texts)
        self.names = [name for x, _, name in sorted(texts, key=lambda t: t[1]) if x == rightmost]

    @staticmethod
    def _axis(svg: str, axis: str) -> tuple[float, float]:
        """Return where an axis has 0, and the length of its unit."""
        ticks = []
        tick = f'<g id="{axis}tick_'  # minor ones have no label
        label = rf"{tick}\d+\">(?:(?!{tick}|<!--).)*<!-- [\d.]+ -->"
        for body in re.findall(label, svg, re.DOTALL):
            [place] = re.findall(rf'<use [^>]*\b{axis}="{_NUMBER}"', body)[:1]
            ticks.append((float(_comment(body)), float(place)))
        (first, start), (last, end) = ticks[0], ticks[-1]
        unit = (end - start) / (last - first)
        return start - first * unit, unit

    def curves(self) -> Iterator[tuple[str, list[tuple[float, float]]]]:
        """Yield the name and the points of each algorithm; a curve at zero is not drawn."""
        leaders = [
            line for line in self.lines
            if len(line.points) == 2 and line.marker
            and self.left < line.points[0][0] < line.points[1][0]
        ]  # fmt: skip
        leaders.sort(key=lambda line: line.points[1][1])
        for name, leader in zip(self.names, leaders, strict=True):
            end = leader.points[0]
            paths = [
                line.points for line, after in zip(self.lines, self.lines[1:], strict=False)
                if line.points and math.dist(line.points[-1], end) < _CLOSE
                and line.marker is None
                and (line.color, after.marker) == (leader.color, leader.marker)
            ]  # fmt: skip
            if not paths and abs(end[1] - self.bottom) < _CLOSE:
                paths = [[end]]
            [points] = paths
            yield name, points

    def share(self, points: list[tuple[float, float]], evaluations: int) -> float:
        """Return the share of targets reached by a number of evaluations per dimension."""
        x = self.left + self.decade * math.log10(evaluations) + _CLOSE / 10
        height = [y for at, y in points if at <= x]
        return (height[-1] - self.bottom) / self.height if height else 0.0


def _line(body: str) -> _Line:
    path = re.search(r'<path[^>]*?\bd="([^"]*)"', body)
    points = re.findall(rf"[ML] {_NUMBER} {_NUMBER}", path[1]) if path else []
    color, marker = re.search(r"stroke: ?(#\w+)", body), re.search(r'xlink:href="#(\w+)"', body)
    return _Line(
        [(float(x), float(y)) for x, y in points],
        color[1] if color else None,
        marker[1] if marker else None,
    )


def _comment(body: str) -> str:
    """Return the text that a group of glyphs shows."""
    [text] = re.findall(r"<!-- (.*?) -->", body)[:1]
    return str(text).strip()


def shares(path: Path, budgets: tuple[int, ...]) -> dict[str, list[float]]:
    """Return the shares of targets of each algorithm in a figure.

    Parameters
    ----------
    path : Path
        A figure `pprldmany_*.svg`.
    budgets : tuple of int
        Evaluations per dimension.

    Returns
    -------
    dict
        By name, as far as the figure shows it, one share for each budget.
    """
    figure = _Figure(path.read_text(encoding="utf-8"))
    return {
        name: [figure.share(points, budget) for budget in budgets]
        for name, points in figure.curves()
    }


def main() -> None:
    """Write the shares of all published algorithms."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("archive", type=Path)
    parser.add_argument("out", type=Path)
    chosen = parser.parse_args()
    with chosen.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["suite", "year", "dimension", "algorithm", *BUDGETS])
        for suite, year in YEARS.items():
            figures = (chosen.archive / suite / str(year)).glob("pprldmany_*D_noiselessall.svg")
            for figure in sorted(figures, key=_dimension):
                for name, reached in shares(figure, BUDGETS).items():
                    full = NAMES.get(name, name.split()[0])
                    cells = [f"{share:.3f}" for share in reached]
                    writer.writerow([suite, year, _dimension(figure), full, *cells])


def _dimension(figure: Path) -> int:
    [number] = re.findall(r"_(\d+)D_", figure.name)
    return int(number)


if __name__ == "__main__":
    main()
