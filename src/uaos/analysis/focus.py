"""One method against another: on which problems it is better, by how much, and since when."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from uaos.analysis.scoring import ALPHA, ProblemKey, problem_outcomes
from uaos.arrays import FloatArray
from uaos.statistics import holm, stratified_rank_sum_test, wilcoxon_test

#: The outcome of a test that is not significant, as all tables word it.
SAME = "no significant difference"
#: Smallest number of runs per problem for testing runs instead of the medians of problems.
MIN_RUNS = 3
# Resamples for an interval, and the quantiles that are its ends.
_RESAMPLES, _ENDS = 2000, (0.025, 0.975)
# With fewer problems, resampling them is meaningless.
_MIN_PROBLEMS = 3

#: The scores of a method's runs on each problem (:func:`uaos.analysis.scoring.run_scores`).
ScoresOfMethod = Mapping[ProblemKey, Sequence[float]]


@dataclass(frozen=True)
class Ratio:
    """Geometric mean of ratios over some problems, with a 95 % confidence interval.

    Below 1 the first method is better. `low` and `high` are NaN if there are too few runs.
    """

    value: float
    low: float
    high: float
    problems: int

    @property
    def has_interval(self) -> bool:
        """True if there are enough runs for an interval."""
        return not np.isnan(self.low)


@dataclass(frozen=True)
class Duel:
    """Two methods on one problem. Made by :func:`duels`.

    Attributes
    ----------
    problem : tuple
        Function, dimension and name.
    unit : {"evaluations", "error"}
        Unit of the ratio: evaluations if all runs of both solved the problem, otherwise errors.
    ratio : Ratio
        The first method's divided by the second's.
    outcome : int or None
        -1 if the runs of the first are significantly better, 1 if they are worse, 0 if there is no
        significant difference, None if there are too few runs for one.
    difference : float
        Of the median scores; negative if the first is better.
    """

    problem: ProblemKey
    unit: str
    ratio: Ratio
    outcome: int | None
    difference: float


@dataclass(frozen=True)
class FocusTest:
    """The method in focus against another. Made by :func:`focus_tests`.

    Attributes
    ----------
    method, other : str
        The two methods.
    duels : tuple of Duel
        Problem by problem.
    better, level, worse : int
        Problems on which the runs of the method are significantly better, not different, and worse;
        where problems have too few runs for a test, problems on which the median is.
    evaluations, error : Ratio or None
        By how much: the ratio of evaluations on the problems that all runs of both solved, and the
        ratio of final errors on the others; None without such problems.
    p, p_holm : float
        Of the test over all problems, and Holm-corrected for the other methods.
    direction : float
        Of the test; negative if the method is better.
    since : float or None
        Evaluations / D after which the method has always reached more targets than the other; None
        if it has not at the end.
    """

    method: str
    other: str
    duels: tuple[Duel, ...]
    better: int
    level: int
    worse: int
    evaluations: Ratio | None
    error: Ratio | None
    p: float
    p_holm: float
    direction: float
    since: float | None = None

    def __repr__(self) -> str:
        where = f"better on {self.better} of {len(self.duels)} problems, worse on {self.worse}"
        return f"<{self.method} against {self.other}: {self.outcome}, {where}>"

    @property
    def outcome(self) -> str:
        """Return "better", "worse" or "no significant difference"."""
        if not self.p_holm < ALPHA:
            return SAME
        return "better" if self.direction < 0 else "worse"


def has_repetitions(scores: Mapping[str, ScoresOfMethod]) -> bool:
    """Return whether runs are tested: every problem has several of each method."""
    sizes = [len(runs) for by_problem in scores.values() for runs in by_problem.values()]
    return bool(sizes) and min(sizes) >= MIN_RUNS


def focus_tests(
    method: str, scores: Mapping[str, ScoresOfMethod], longest: float
) -> tuple[FocusTest, ...]:
    """Test a method against each of the others, on the problems that both were run on.

    If every problem has three runs or more of each method, the runs are compared within problems
    by van Elteren's test: is one method better on these problems? Otherwise the medians are
    compared over the problems by Wilcoxon's signed-rank test: would it be better on others like
    them? Either way, p is Holm-corrected for the other methods, not for all pairs.

    Parameters
    ----------
    method : str
        The method in focus.
    scores : mapping
        The scores of the runs, by method and problem.
    longest : float
        The longest run, in evaluations / D.

    Returns
    -------
    tuple of FocusTest
        One for each other method.

    References
    ----------
    van Elteren, P. (1960), "On the combination of independent two sample tests of Wilcoxon",
    Bulletin of the International Statistical Institute 37.
    """
    by_runs, ours = has_repetitions(scores), scores[method]
    others = [name for name in scores if name != method and set(scores[name]) & set(ours)]
    raw = [_tested(method, name, ours, scores[name], longest, by_runs) for name in others]
    corrected = holm([test.p for test in raw])
    return tuple(
        replace(test, p_holm=float(p)) for test, p in zip(raw, corrected, strict=True)
    )  # fmt: skip


def _tested(
    method: str, other: str, ours: ScoresOfMethod, theirs: ScoresOfMethod, longest: float,
    by_runs: bool,
) -> FocusTest:  # fmt: skip
    """Return the test against one other method, not corrected."""
    each = duels_by_problem(ours, theirs, longest)
    problems = [duel.problem for duel in each]
    if by_runs:
        samples = ([scores[p] for p in problems] for scores in (ours, theirs))
        p, direction = stratified_rank_sum_test(*samples)
    else:
        tested = wilcoxon_test([duel.difference for duel in each])
        p, direction = float(tested[0][0]), float(tested[1][0])
    signs = [duel.outcome for duel in each if duel.outcome is not None]
    if not signs:  # too few runs
        signs = [int(np.sign(duel.difference)) for duel in each]
    ratios = {
        unit: _mean_ratio([d.problem for d in each if d.unit == unit], ours, theirs, longest, unit)
        for unit in ("evaluations", "error")
    }
    return FocusTest(
        method, other, each, signs.count(-1), signs.count(0), signs.count(1),
        ratios["evaluations"], ratios["error"], p, p, direction,
    )  # fmt: skip


def duels_by_problem(
    first: ScoresOfMethod, second: ScoresOfMethod, longest: float
) -> tuple[Duel, ...]:
    """Compare two methods on each problem that both were run on.

    Parameters
    ----------
    first, second : mapping
        The scores of their runs on each problem.
    longest : float
        The longest run, in evaluations / D.
    """
    outcomes = problem_outcomes(first, second)
    problems = [p for p in first if p in second]
    solved = [max(*first[p], *second[p]) <= np.log10(longest) for p in problems]
    units = ["evaluations" if all_runs else "error" for all_runs in solved]
    ratios = _ratios(
        [[_logarithms(s[p], longest, unit) for s in (first, second)]
         for p, unit in zip(problems, units, strict=True)]
    )  # fmt: skip
    return tuple(
        Duel(p, unit, ratio, outcomes.get(p), median(first[p]) - median(second[p]))
        for p, unit, ratio in zip(problems, units, ratios, strict=True)
    )


def _ratios(pairs: Sequence[Sequence[FloatArray]]) -> list[Ratio]:
    """Return the ratio on each problem, from the logarithms of both methods' runs.

    All problems with as many runs share their resamples, so that one product takes the means.
    """
    ratios = [Ratio(10.0 ** float(np.mean(a) - np.mean(b)), np.nan, np.nan, 1) for a, b in pairs]
    sizes = [(len(a), len(b)) for a, b in pairs]
    for size in {s for s in sizes if min(s) >= MIN_RUNS}:
        alike = [i for i, s in enumerate(sizes) if s == size]
        rng = np.random.default_rng(1)
        first, second = (
            np.array([pairs[i][side] for i in alike]) @ _resampling_weights(size[side], rng)
            for side in (0, 1)
        )
        ends = np.quantile(first - second, _ENDS, axis=1)
        for i, low, high in zip(alike, *(10.0**ends).tolist(), strict=True):
            ratios[i] = replace(ratios[i], low=low, high=high)
    return ratios


def _resampling_weights(size: int, rng: np.random.Generator) -> FloatArray:
    """Return the weight of each of `size` values in the mean of each resample, one per column."""
    drawn = rng.integers(0, size, (_RESAMPLES, size)) + size * np.arange(_RESAMPLES)[:, None]
    counts = np.bincount(drawn.ravel(), minlength=_RESAMPLES * size)
    return counts.reshape(_RESAMPLES, size).T / size


def _mean_ratio(
    problems: Sequence[ProblemKey], first: ScoresOfMethod, second: ScoresOfMethod, longest: float,
    unit: str,
) -> Ratio | None:  # fmt: skip
    """Return the geometric mean over problems of a ratio of evaluations or errors."""
    if not problems:
        return None
    pairs = [[_logarithms(s[p], longest, unit) for s in (first, second)] for p in problems]
    differences = np.array([np.mean(a) - np.mean(b) for a, b in pairs])
    if min(min(len(a), len(b)) for a, b in pairs) >= MIN_RUNS:
        rng = np.random.default_rng(1)
        means = ([x @ _resampling_weights(len(x), rng) for x in pair] for pair in pairs)
        resampled = np.mean([a - b for a, b in means], axis=0)
    elif len(problems) >= _MIN_PROBLEMS:
        rng = np.random.default_rng(1)
        resampled = rng.choice(differences, (_RESAMPLES, len(problems))).mean(axis=1)
    else:
        resampled = np.array([np.nan])
    ends = np.quantile(resampled, _ENDS)
    value, low, high = (10.0 ** float(x) for x in (differences.mean(), *ends))
    return Ratio(value, low, high, len(problems))


def _logarithms(scores: Sequence[float], longest: float, unit: str) -> FloatArray:
    """Return log10 of the evaluations, or of the errors (at least the final target) of runs."""
    values = np.asarray(scores, np.float64)
    if unit == "evaluations":
        return values
    errors: FloatArray = np.maximum(values - np.log10(longest), 0.0)
    return errors
