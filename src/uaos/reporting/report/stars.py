"""Which running time is best, and whether significantly so: bold and stars of COCO's tables."""

from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from uaos.analysis.results import Runs, column
from uaos.analysis.statistics import ALPHA
from uaos.reporting.report.chapter import Chapter


def best(chapter: Chapter, function: str, place: int) -> set[str]:
    """The methods with the least finite aRT to the table's target at `place`."""
    arts = {
        m: chapter.running_times[m, function][place].art
        for m in chapter.methods
        if (m, function) in chapter.running_times
    }
    least = min(arts.values(), default=np.inf)
    return {m for m, art in arts.items() if art == least and np.isfinite(art)}


def stars(chapter: Chapter, function: str, place: int) -> int:
    """How significantly the best method beats every other: 0 for not, k for p < 10^-k (or 0.05).

    The rank-sum test of the runs of the best with those of each other method: a run that reached
    the target is better than one that did not, the earlier better than the later, and among those
    that did not the smaller final error is better. The largest p counts, times the number of
    functions (Bonferroni).
    """
    leaders = best(chapter, function, place)
    others = [m for m in chapter.methods if (m, function) in chapter.running_times]
    if len(leaders) != 1 or len(others) < 2:
        return 0
    (leader,) = leaders
    target = chapter.running_times[leader, function][place].target
    runs = {m: chapter.results.runs[m, chapter.dimension, function] for m in others}
    worst = max(
        _p(runs[leader], runs[other], target) for other in others if other != leader
    ) * len(chapter.functions)  # fmt: skip
    if worst >= ALPHA:
        return 0
    return max(1, int(np.floor(-np.log10(max(worst, 1e-99)))))


def possible(chapter: Chapter) -> bool:
    """Whether the runs are enough for a star.

    The least p of n against m runs is 2 / C(n + m, n).
    """
    sizes: dict[str, list[int]] = {}
    for runs in chapter.runs:
        sizes.setdefault(runs.function, []).append(len(runs))
    each = [(max(of), min(of)) for of in sizes.values() if len(of) > 1]
    least = min((2 / comb(n + m, n) for n, m in each), default=1.0)
    return least * len(chapter.functions) < ALPHA


def _p(first: Runs, second: Runs, target: float) -> float:
    a, b = _order(first, target), _order(second, target)
    if a == b:
        return 1.0
    ranks = _ranked(a + b)
    return float(
        stats.mannwhitneyu(ranks[: len(a)], ranks[len(a) :], alternative="two-sided").pvalue
    )


def _order(runs: Runs, target: float) -> list[tuple[bool, float]]:
    """Each run as what it is ranked by: missed or not, then evaluations or error."""
    hits = runs.hits[:, column(target)]
    errors = np.nan_to_num(runs.errors, nan=np.inf)
    return [(bool(h <= 0), float(e if h <= 0 else h)) for h, e in zip(hits, errors, strict=True)]


def _ranked(values: list[tuple[bool, float]]) -> NDArray[np.int64]:
    places = {value: place for place, value in enumerate(sorted(set(values)))}
    return np.array([places[value] for value in values])
