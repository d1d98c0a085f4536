"""Scores of runs, and the comparison of methods by them: pair by pair, and by mean ranks.

The procedure is that of Demšar, J. (2006), "Statistical comparisons of classifiers over multiple
data sets", Journal of Machine Learning Research 7, with Wilcoxon's test in place of Nemenyi's as
recommended by Benavoli, A., Corani, G. & Mangili, F. (2016), "Should we really use post-hoc tests
based on mean-ranks?", Journal of Machine Learning Research 17.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb
from statistics import median

import numpy as np

from uaos.analysis.results import Runs, target_index
from uaos.arrays import FloatArray, IntArray
from uaos.experiments.recorder import FINAL
from uaos.statistics import friedman_test, holm, rank_sum_test, wilcoxon_test
from uaos.text import natural_key

#: Below this a difference is called significant.
ALPHA = 0.05

#: With fewer problems Wilcoxon's test cannot find a significant difference: 2 / 2^5 > 0.05.
MIN_PROBLEMS = 6

#: Function, dimension and name of a problem.
ProblemKey = tuple[str, int, str]


# The largest error that counts, also in place of none: its ratio to the final target is finite.
_WORST = 1e300


def score_runs(runs: Runs, limit: float) -> FloatArray:
    """Score each run in powers of ten; smaller is better.

        s = log10(evaluations to 1e-8 / D)         if the final target was reached
        s = log10(limit) + log10(error / 1e-8)     otherwise

    `limit` is the longest run of the comparison in evaluations / D. So a run that hits the final
    target earlier is better, any run that hits it beats any run that does not, and among runs that
    miss it the smaller final error wins. A factor of ten in evaluations weighs as much as a factor
    of ten in the error.
    """
    hits = runs.hits[:, target_index(FINAL)]
    errors = np.minimum(np.nan_to_num(runs.errors, nan=_WORST), _WORST)
    longest = max(limit, 1 / runs.dimension)  # a store may hold failed runs only
    missed = np.log10(longest) + np.log10(np.maximum(errors, FINAL) / FINAL)
    return np.where(hits > 0, np.log10(np.maximum(hits, 1) / runs.dimension), missed)


@dataclass(frozen=True)
class Scores:
    """Scores on the problems that all methods were run on. Made by :func:`scores`.

    Attributes
    ----------
    methods : tuple of str
        The columns.
    problems : tuple
        The rows: function, dimension and name of each problem.
    values : ndarray
        The median score over the repetitions; smaller is better.
    omitted : int
        Problems that some method was not run on.
    """

    methods: tuple[str, ...]
    problems: tuple[ProblemKey, ...]
    values: FloatArray
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
    """Score the methods on every problem that all of them were run on.

    Parameters
    ----------
    runs : sequence of Runs
        The runs.
    methods : sequence of str
        The methods to score.

    Returns
    -------
    Scores
        The median score of each method on each problem; smaller is better.

    Examples
    --------
    >>> from uaos.analysis import Results, scores
    >>> results = Results.read("mine.db")
    >>> scores(list(results.runs.values()), results.methods).values.shape
    (6, 2)
    """
    medians = {
        method: {problem: median(each) for problem, each in scores_of.items()}
        for method, scores_of in run_scores(runs, methods).items()
    }
    every: set[ProblemKey] = set().union(*medians.values())
    shared = sorted(every.intersection(*medians.values()),
                    key=lambda p: (natural_key(p[0]), p[1], natural_key(p[2])))  # fmt: skip
    values = np.array([[scores_of[p] for scores_of in medians.values()] for p in shared])
    values = values.reshape(len(shared), len(medians))
    return Scores(tuple(medians), tuple(shared), values, len(every) - len(shared))


def run_scores(
    runs: Sequence[Runs], methods: Sequence[str]
) -> dict[str, dict[ProblemKey, list[float]]]:
    """Return the scores of each method's runs on each problem."""
    limit = max((float((r.evaluations / r.dimension).max()) for r in runs), default=1.0)
    scores_of: dict[str, dict[ProblemKey, list[float]]] = {name: {} for name in methods}
    for r in runs:
        if r.method in scores_of:
            for name, score in zip(r.problems.tolist(), score_runs(r, limit).tolist(), strict=True):
                scores_of[r.method].setdefault((r.function, r.dimension, name), []).append(score)
    return scores_of


@dataclass(frozen=True)
class Pair:
    """Two methods on the same problems; negative numbers favor the first. Made by :func:`pairwise`.

    Attributes
    ----------
    first, second : str
        The methods.
    wins, ties, losses : int
        Problems on which the first is better, equal, worse.
    difference : float
        The median of the score differences, in powers of ten.
    p, p_holm : float
        Of Wilcoxon's test, and Holm-corrected for all pairs.
    signed_ranks : float
        Their sum; its sign says which of the two a significant test found better.
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
        """Return the number of problems that both were run on."""
        return self.wins + self.ties + self.losses

    @property
    def better(self) -> str | None:
        """Return the significantly better of the two by Holm's p, or None."""
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
    """Tests of all pairs of methods."""

    @cached_property
    def _by_names(self) -> dict[tuple[str, str], Pair]:
        return {(p.first, p.second): p for p in self}

    def pair(self, first: str, second: str) -> Pair:
        """Return the test of two methods, `first` first."""
        pair = self._by_names.get((first, second))
        return pair or self._by_names[second, first].swapped()

    def compared_with(
        self, method: str, others: Sequence[str]
    ) -> tuple[list[str], list[str], list[str]]:
        """Return the methods that `method` beats, does not differ from, and loses to."""
        better: list[str] = []
        level: list[str] = []
        worse: list[str] = []
        for other in others:
            if other != method:
                winner = self.pair(method, other).better
                (better if winner == method else worse if winner == other else level).append(other)
        return better, level, worse


def pairwise(scores: Scores) -> Pairs:
    """Test every pair of methods by Wilcoxon's signed-rank test, Holm-corrected.

    Two-sided; the ranks of equal scores are split evenly between the two sides, as
    :mod:`uaos.statistics` explains.

    Parameters
    ----------
    scores : Scores
        The scores.

    Returns
    -------
    tuple of Pair
        The tests of all pairs.

    References
    ----------
    Wilcoxon, F. (1945), "Individual comparisons by ranking methods", Biometrics Bulletin 1.

    Examples
    --------
    >>> from uaos.analysis import Results, pairwise, section
    >>> pair = pairwise(section(Results.read("mine.db")).scores)[0]
    >>> pair.first, pair.second, pair.problems
    ('JADE', 'uniform', 6)
    """
    methods = scores.methods
    if len(methods) < 2 or not scores.problems:
        return Pairs()
    first, second = np.triu_indices(len(methods), 1)
    differences = (scores.values[:, first] - scores.values[:, second]).T
    p, signed_ranks = wilcoxon_test(differences)
    medians = np.median(differences, axis=1)
    counts = [part.sum(axis=1) for part in (differences < 0, differences == 0, differences > 0)]
    columns = (*counts, medians, p, holm(p), signed_ranks)
    return Pairs(
        Pair(methods[a], methods[b], *values)
        for a, b, *values in zip(first, second, *(c.tolist() for c in columns), strict=True)
    )


@dataclass(frozen=True)
class Ranking:
    """Mean ranks of the methods, and Friedman's test. Made by :func:`friedman`.

    Attributes
    ----------
    methods : tuple of str
        The methods.
    mean_ranks : ndarray
        Over the problems; 1 is best.
    problems : int
        The number of problems.
    statistic, p : float
        Of the test; NaN for fewer than three methods or two problems.
    """

    methods: tuple[str, ...]
    mean_ranks: FloatArray
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
        """Return the methods, best mean rank first."""
        return tuple(self.methods[i] for i in np.argsort(self.mean_ranks, kind="stable"))


def friedman(scores: Scores) -> Ranking:
    """Rank the methods on each problem and test by Friedman's test whether they differ at all.

    Parameters
    ----------
    scores : Scores
        The scores.

    Returns
    -------
    Ranking
        Mean ranks and the test.

    References
    ----------
    Friedman, M. (1940), "A comparison of alternative tests of significance for the problem of m
    rankings", Annals of Mathematical Statistics 11.

    Examples
    --------
    >>> from uaos.analysis import Results, friedman, section
    >>> friedman(section(Results.read("mine.db")).scores).methods
    ('JADE', 'uniform')
    """
    n, k = scores.values.shape
    if not n or not k:
        return Ranking(scores.methods, np.full(k, np.nan), n, np.nan, np.nan)
    test = friedman_test(scores.values)
    statistic, p = (test.statistic, test.p_value) if k > 2 and n > 1 else (np.nan, np.nan)
    return Ranking(scores.methods, test.ranks.mean(axis=0), n, statistic, p)


def indistinct_groups(ranking: Ranking, pairs: Pairs) -> list[tuple[str, ...]]:
    """Return the largest sets of methods none of which differs significantly from another.

    Each set has two methods or more, best mean rank first: the maximal cliques of the graph whose
    edges are the pairs without a significant difference (Bron & Kerbosch 1973).
    """
    order = ranking.order
    level = {m: {o for o in order if o != m and pairs.pair(m, o).better is None} for m in order}
    groups: list[tuple[str, ...]] = []

    def extend(clique: set[str], candidates: set[str], excluded: set[str]) -> None:
        if not candidates and not excluded and len(clique) > 1:
            groups.append(tuple(m for m in order if m in clique))
        # Whatever is level with the pivot is found through the pivot.
        pivot = max(candidates | excluded, key=lambda m: len(level[m] & candidates), default="")
        for method in [m for m in order if m in candidates - level.get(pivot, set())]:
            extend(clique | {method}, candidates & level[method], excluded & level[method])
            candidates = candidates - {method}
            excluded = excluded | {method}

    extend(set(), set(order), set())
    return sorted(groups, key=lambda clique: [order.index(m) for m in clique])


def better_than_all(runs: Sequence[Runs], leader: str, target: float, tests: int) -> int:
    """Return how significantly the runs of `leader` beat those of every other method.

    The rank-sum test: a run that reached the target is better than one that did not, the earlier
    better than the later, and among those that did not the smaller final error is better. The
    largest p counts, times `tests` (Bonferroni). The result is that of :func:`stars`.
    """
    order = _run_order(runs, target)
    first = order.pop(leader)
    worst = 0.0 if order else 1.0
    for other in order.values():
        if np.array_equal(first, other):
            return 0
        worst = max(worst, float(rank_sum_test(first, other)[0][0]))
        if worst * tests >= ALPHA:
            return 0
    return stars(worst * tests)


def problem_outcomes(
    first: Mapping[ProblemKey, Sequence[float]], second: Mapping[ProblemKey, Sequence[float]]
) -> dict[ProblemKey, int]:
    """Return for each problem whether the runs of `first` are better (-1), worse (1) or neither.

    The test is the rank-sum test of the runs' scores, Holm-corrected over the problems.
    Problems with too few runs for a significant difference are left out.
    """
    by_sizes: dict[tuple[int, int], list[ProblemKey]] = {}
    for problem, scores in first.items():
        sizes = len(scores), len(second.get(problem, ()))
        if 2 / comb(sum(sizes), sizes[0]) < ALPHA:
            by_sizes.setdefault(sizes, []).append(problem)
    tests = [
        rank_sum_test([first[p] for p in problems], [second[p] for p in problems])
        for problems in by_sizes.values()
    ]
    p, direction = np.concatenate([np.empty((2, 0)), *map(np.array, tests)], axis=1)
    signs = np.where(holm(p) < ALPHA, np.sign(direction), 0).astype(int)
    tested = [problem for problems in by_sizes.values() for problem in problems]
    return dict(zip(tested, signs.tolist(), strict=True))


def on_each_problem(
    first: Mapping[ProblemKey, Sequence[float]], second: Mapping[ProblemKey, Sequence[float]]
) -> tuple[int, int, int]:
    """Count the problems where the runs of `first` are better, not different, and worse."""
    signs = list(problem_outcomes(first, second).values())
    return signs.count(-1), signs.count(0), signs.count(1)


def better_than_reference(runs: Runs, target: float, reference: float, tests: int) -> int:
    """Return how significantly the runs are faster than the reference's aRT to the target.

    Wilcoxon's signed-rank test compares the run lengths to the target with the aRT; runs that
    missed the target count as the longest. p is multiplied by `tests` (Bonferroni). The runs of the
    reference are not known, so its aRT is taken as exact. The result is that of :func:`stars`.
    """
    times = runs.evaluations_to([target])[0]
    if not np.isfinite(reference):
        return 0
    difference = np.log(np.where(np.isnan(times), 1e300, times) / reference)
    (p,), (signed_ranks,) = wilcoxon_test(difference)
    return stars(p * tests) if signed_ranks < 0 else 0


def stars(p: float) -> int:
    """Return k for p < 10^-k, 1 for p < 0.05, otherwise 0."""
    return 0 if not p < ALPHA else max(1, int(np.floor(-np.log10(max(p, 1e-99)))))


def _run_order(runs: Sequence[Runs], target: float) -> dict[str, IntArray]:
    """Return each method's runs in an order: evaluations to the target, then errors of the rest."""
    hits = np.concatenate([r.hits[:, target_index(target)] for r in runs])
    errors = np.concatenate([np.nan_to_num(r.errors, nan=np.inf) for r in runs])
    _, by_error = np.unique(errors, return_inverse=True)
    order = np.where(hits > 0, hits, int(hits.max(initial=0)) + 1 + by_error.ravel())
    ends = np.cumsum([len(r) for r in runs])[:-1]
    return {r.method: part for r, part in zip(runs, np.split(order, ends), strict=True)}
