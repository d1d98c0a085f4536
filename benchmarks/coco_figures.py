"""Shares of targets, read from the figures of COCO's archive of post-processed data.

The archive (https://github.com/numbbo/ppdata-archive, branch gh-pages) has no numbers, but its
figures `pprldmany_*.svg` are vector graphics: each algorithm is a path from the left to the right
edge, and a line of the same color and marker leads from its end to the name of the algorithm.
"""

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
        for body in re.findall(rf'<g id="{axis}tick_\d+">.*?-->', svg, re.DOTALL):
            [place] = re.findall(rf'<use [^>]*\b{axis}="{_NUMBER}"', body)[:1]
            ticks.append((float(_comment(body)), float(place)))
        (first, start), (last, end) = ticks[0], ticks[-1]
        unit = (end - start) / (last - first)
        return start - first * unit, unit

    def curves(self) -> Iterator[tuple[str, list[tuple[float, float]]]]:
        """Yield the name and the points of each algorithm; a curve at zero is not drawn."""
        leaders = [
            line for line in self.lines
            if len(line.points) == 2 and line.marker and line.points[1][0] > line.points[0][0]
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
    color, marker = re.search(r"stroke:(#\w+)", body), re.search(r'xlink:href="#(\w+)"', body)
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
