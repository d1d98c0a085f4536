"""Scores of runs, pairwise Wilcoxon tests with Holm's correction, and Friedman's ranking.

The procedure is that of Demšar, J. (2006), "Statistical comparisons of classifiers over multiple
data sets", Journal of Machine Learning Research 7, with Wilcoxon's test in place of Nemenyi's as
recommended by Benavoli, A., Corani, G. & Mangili, F. (2016), "Should we really use post-hoc tests
based on mean-ranks?", Journal of Machine Learning Research 17.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uaos.analysis.results import Runs, target_index
from uaos.experiments.targets import FINAL
from uaos.extras import optional
from uaos.problems import natural_key

#: Below this a difference is called significant.
ALPHA = 0.05

#: With fewer problems Wilcoxon's test cannot find a significant difference: 2 / 2^5 > 0.05.
MIN_PROBLEMS = 6

#: Function, dimension and name of a problem.
ProblemKey = tuple[str, int, str]


def score_runs(runs: Runs, limit: float) -> NDArray[np.float64]:
    """Score each run in powers of ten; smaller is better.

        s = log10(evaluations to 1e-8 / D)         if the final target was reached
        s = log10(limit) + log10(error / 1e-8)     otherwise

    `limit` is the longest run of the comparison in evaluations / D. So a run that hits the final
    target earlier is better, any that hits it beats any that does not, and among those the smaller
    final error wins; ten times the evaluations weigh as much as a ten times larger error.
    """
    hits = runs.hits[:, target_index(FINAL)]
    errors = np.nan_to_num(runs.errors, nan=1e300, posinf=1e300)
    missed = np.log10(limit) + np.log10(np.maximum(errors, FINAL) / FINAL)
    return np.where(hits > 0, np.log10(np.maximum(hits, 1) / runs.dimension), missed)


@dataclass(frozen=True)
class Scores:
    """Scores of the methods (columns) on the problems that all of them were run on (rows).

    A problem's score is the median over its repetitions; `omitted` counts the problems that some
    method was not run on.
    """

    methods: tuple[str, ...]
    problems: tuple[ProblemKey, ...]
    values: NDArray[np.float64]
    omitted: int = 0

    def by_function(self) -> "Scores":
        """Return one row for each function: the median over its instances."""
        names = [problem[:2] for problem in self.problems]
        kinds = list(dict.fromkeys(names))
        where = np.array([kinds.index(name) for name in names], dtype=np.int64)
        rows = [np.median(self.values[where == k], axis=0) for k in range(len(kinds))]
        values = np.array(rows).reshape(len(kinds), len(self.methods))
        return Scores(self.methods, tuple((f, d, f) for f, d in kinds), values)

    def on(self, functions: Sequence[str]) -> "Scores":
        """Return the scores on the problems of these functions."""
        rows = [i for i, problem in enumerate(self.problems) if problem[0] in functions]
        return Scores(self.methods, tuple(self.problems[i] for i in rows), self.values[rows])


def scores(runs: Sequence[Runs], methods: Sequence[str]) -> Scores:
    """Score the methods on every problem that all of them were run on."""
    limit = max((float((r.evaluations / r.dimension).max()) for r in runs), default=1.0)
    found: dict[str, dict[ProblemKey, float]] = {name: {} for name in methods}
    for r in runs:
        if r.method in found:
            score = score_runs(r, limit)
            names, where = np.unique(r.problems.astype(str), return_inverse=True)
            sorted_scores = score[np.argsort(where, kind="stable")]
            counts = np.bincount(where, minlength=len(names))
            if (counts == counts[0]).all():
                medians = np.median(sorted_scores.reshape(len(names), -1), axis=1)
            else:
                parts = np.split(sorted_scores, np.cumsum(counts)[:-1])
                medians = np.array([np.median(part) for part in parts])
            for name, median in zip(names.tolist(), medians.tolist(), strict=True):
                found[r.method][r.function, r.dimension, name] = median
    every: set[ProblemKey] = set().union(*found.values())
    shared = sorted(every.intersection(*found.values()),
                    key=lambda p: (natural_key(p[0]), p[1], natural_key(p[2])))  # fmt: skip
    values = np.array([[of[p] for of in found.values()] for p in shared])
    values = values.reshape(len(shared), len(found))
    return Scores(tuple(found), tuple(shared), values, len(every) - len(shared))


@dataclass(frozen=True)
class Pair:
    """Two methods over the same problems; what is negative favors the first.

    `difference` is the median of the score differences, in powers of ten, and `signed_ranks` the
    sum of their signed ranks, whose sign says which of the two a significant test found better.
    """

    first: str
    second: str
    wins: int
    ties: int
    losses: int
    difference: float
    p: float
    p_holm: float
    signed_ranks: float

    @property
    def problems(self) -> int:
        """How many problems both were run on."""
        return self.wins + self.ties + self.losses

    @property
    def better(self) -> str | None:
        """The significantly better of the two by Holm's p, or None."""
        if not self.p_holm < ALPHA:
            return None
        return self.first if self.signed_ranks < 0 else self.second

    def swapped(self) -> "Pair":
        """Return the same with the second method first."""
        return Pair(
            self.second, self.first, self.losses, self.ties, self.wins, -self.difference, self.p,
            self.p_holm, -self.signed_ranks,
        )  # fmt: skip


class Pairs(tuple[Pair, ...]):
    """The tests of all pairs of methods."""

    __slots__ = ()

    def pair(self, first: str, second: str) -> Pair:
        """Return the test of two methods, `first` first."""
        for p in self:
            if (p.first, p.second) == (first, second):
                return p
            if (p.second, p.first) == (first, second):
                return p.swapped()
        raise LookupError(f"{first} and {second} were not compared")

    def compared_with(
        self, method: str, others: Sequence[str]
    ) -> tuple[list[str], list[str], list[str]]:
        """Return those that `method` is better than, not different from, and worse than."""
        better: list[str] = []
        level: list[str] = []
        worse: list[str] = []
        for other in others:
            if other != method:
                found = self.pair(method, other).better
                (better if found == method else worse if found == other else level).append(other)
        return better, level, worse


def pairwise(scores: Scores) -> Pairs:
    """Test every pair of methods by Wilcoxon's signed-rank test, corrected after Holm.

    Two-sided; the ranks of equal scores are split evenly between the two sides.

    References
    ----------
    Wilcoxon, F. (1945), "Individual comparisons by ranking methods", Biometrics Bulletin 1.
    """
    raw = []
    for a, b in combinations(range(len(scores.methods)), 2):
        difference = scores.values[:, a] - scores.values[:, b]
        p, lean = wilcoxon(difference)
        raw.append((a, b, difference, p, lean))
    corrected = holm([p for *_, p, _ in raw])
    return Pairs(
        Pair(
            scores.methods[a], scores.methods[b], int((d < 0).sum()), int((d == 0).sum()),
            int((d > 0).sum()), float(np.median(d)) if d.size else 0.0, p, float(adjusted), lean,
        )
        for (a, b, d, p, lean), adjusted in zip(raw, corrected, strict=True)
    )  # fmt: skip


def wilcoxon(difference: NDArray[np.float64]) -> tuple[float, float]:
    """Return Wilcoxon's p and the sum of signed ranks (negative: mostly below zero)."""
    if not difference.any():
        return 1.0, 0.0
    stats = _stats()
    p = float(stats.wilcoxon(difference, zero_method="zsplit").pvalue)
    ranks = stats.rankdata(np.abs(difference))
    return p, float(np.sign(difference) @ ranks)


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Return Holm's step-down correction of m p-values.

        p̃₍ᵢ₎ = min(1, max_{j ≤ i} (m − j + 1) p₍ⱼ₎),  p₍₁₎ ≤ … ≤ p₍ₘ₎

    References
    ----------
    Holm, S. (1979), "A simple sequentially rejective multiple test procedure", Scandinavian
    Journal of Statistics 6.
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


@dataclass(frozen=True)
class Ranking:
    """Mean ranks (1 is best) of the methods over the problems, and Friedman's test.

    `statistic` and `p` are NaN for fewer than three methods or two problems.
    """

    methods: tuple[str, ...]
    mean_ranks: NDArray[np.float64]
    problems: int
    statistic: float
    p: float

    def rank(self, method: str) -> float:
        """Return one method's mean rank; NaN if it was not ranked."""
        if method not in self.methods:
            return np.nan
        return float(self.mean_ranks[self.methods.index(method)])

    @property
    def order(self) -> tuple[str, ...]:
        """The methods, best mean rank first."""
        return tuple(self.methods[i] for i in np.argsort(self.mean_ranks, kind="stable"))


def friedman(scores: Scores) -> Ranking:
    """Rank the methods on each problem and test by Friedman's test whether they differ at all.

    References
    ----------
    Friedman, M. (1940), "A comparison of alternative tests of significance for the problem of m
    rankings", Annals of Mathematical Statistics 11.
    """
    n, k = scores.values.shape
    if not n or not k:
        return Ranking(scores.methods, np.full(k, np.nan), n, np.nan, np.nan)
    stats = _stats()
    ranks = stats.rankdata(scores.values, axis=1)
    statistic, p = np.nan, np.nan
    if k > 2 and n > 1:
        # If all methods are equal everywhere there is nothing to divide by.
        equal = bool((ranks == ranks[:, :1]).all())
        statistic, p = (0.0, 1.0) if equal else stats.friedmanchisquare(*scores.values.T)
    return Ranking(scores.methods, ranks.mean(axis=0), n, float(statistic), float(p))


def indistinct_groups(ranking: Ranking, pairs: Pairs) -> list[tuple[str, ...]]:
    """Return the largest sets of methods none of which differs significantly from another.

    Each set has two methods or more, best mean rank first: the maximal cliques of the graph whose
    edges are the pairs without a significant difference (Bron & Kerbosch 1973).
    """
    order = ranking.order
    level = {m: {o for o in order if o != m and pairs.pair(m, o).better is None} for m in order}
    found: list[tuple[str, ...]] = []

    def extend(clique: set[str], candidates: set[str], excluded: set[str]) -> None:
        if not candidates and not excluded and len(clique) > 1:
            found.append(tuple(m for m in order if m in clique))
        for method in [m for m in order if m in candidates]:
            extend(clique | {method}, candidates & level[method], excluded & level[method])
            candidates = candidates - {method}
            excluded = excluded | {method}

    extend(set(), set(order), set())
    return sorted(found, key=lambda clique: [order.index(m) for m in clique])


def better_than_all(runs: Sequence[Runs], leader: str, target: float, tests: int) -> int:
    """Return how significantly the runs of `leader` beat those of every other method.

    The rank-sum test: a run that reached the target is better than one that did not, the earlier
    better than the later, and among those that did not the smaller final error is better. The
    largest p counts, times `tests` (Bonferroni).

    Returns
    -------
    int
        0 if not significant, k if p < 10^-k, 1 if p < 0.05.
    """
    ranks = _ranks(runs, target)
    first = ranks.pop(leader)
    worst = 0.0 if ranks else 1.0
    for other in ranks.values():
        if np.array_equal(first, other):
            return 0
        found = _stats().mannwhitneyu(first, other, alternative="two-sided")
        worst = max(worst, float(found.pvalue))
        if worst * tests >= ALPHA:
            return 0
    return stars(worst * tests)


def better_than_reference(runs: Runs, target: float, reference: float, tests: int) -> int:
    """Return how significantly the runs are faster than the reference's aRT to the target.

    Wilcoxon's signed-rank test of the run lengths to the target, runs that missed it being the
    longest, against the aRT; p times `tests` (Bonferroni). The reference's own runs are not known,
    so its aRT is taken as exact.

    Returns
    -------
    int
        0 if not significant, k if p < 10^-k, 1 if p < 0.05.
    """
    times = runs.evaluations_to([target])[0]
    if not np.isfinite(reference):
        return 0
    difference = np.log(np.where(np.isnan(times), 1e300, times) / reference)
    p, lean = wilcoxon(difference)
    return stars(p * tests) if lean < 0 else 0


def stars(p: float) -> int:
    """Return k for p < 10^-k, 1 for p < 0.05, otherwise 0."""
    return 0 if not p < ALPHA else max(1, int(np.floor(-np.log10(max(p, 1e-99)))))


def _ranks(runs: Sequence[Runs], target: float) -> dict[str, NDArray[np.int64]]:
    """Return each method's runs in an order: evaluations to the target, then errors of the rest."""
    hits = np.concatenate([r.hits[:, target_index(target)] for r in runs])
    errors = np.concatenate([np.nan_to_num(r.errors, nan=np.inf) for r in runs])
    _, by_error = np.unique(errors, return_inverse=True)
    order = np.where(hits > 0, hits, int(hits.max(initial=0)) + 1 + by_error.ravel())
    ends = np.cumsum([len(r) for r in runs])[:-1]
    return {r.method: part for r, part in zip(runs, np.split(order, ends), strict=True)}


def _stats() -> Any:
    return optional("scipy.stats", "a statistical test", "SciPy", "experiments")
