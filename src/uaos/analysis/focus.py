"""One method against each of the others: better where, by how much, since when."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from uaos.analysis.scoring import ALPHA, ProblemKey, on_each_problem, run_scores
from uaos.analysis.sectioning import Section
from uaos.arrays import FloatArray
from uaos.statistics import holm, stratified_rank_sum_test, wilcoxon_test
from uaos.table import METHOD, NUMBER, TEXT, Cell, Column, Table
from uaos.text import count, join_names, p_value

#: From this number of runs on each problem on, the runs are tested, not the medians of problems.
LEAST_RUNS = 3
# Resamples for an interval, and its level.
_RESAMPLES, _LEVEL = 2000, 0.95

_Scores = dict[ProblemKey, list[float]]


@dataclass(frozen=True)
class FocusTest:
    """The method in focus against another. Made by :func:`focus_tests`.

    Attributes
    ----------
    method, other : str
        The two methods.
    better, level, worse : int
        Problems on which the runs of the method are significantly better, not different, and worse;
        where problems have too few runs for a test, problems on which its median is.
    effort, low, high : float
        The ratio of evaluations, or of errors where unsolved, as a geometric mean over the
        problems; and an interval that covers it with 95 %. Below 1 is better.
    p, p_holm : float
        Of the test over all problems, and corrected after Holm for the other methods.
    since : float or None
        Evaluations / D from which on the method has solved more targets than the other; None if it
        has not at the end.
    """

    method: str
    other: str
    better: int
    level: int
    worse: int
    effort: float
    low: float
    high: float
    p: float
    p_holm: float
    since: float | None

    @property
    def outcome(self) -> str:
        """Return "better", "worse" or "no significant difference"."""
        if not self.p_holm < ALPHA:
            return "no significant difference"
        return "better" if self.effort < 1 else "worse"


def has_repetitions(section: Section) -> bool:
    """Return whether runs are tested: every problem has several of each method."""
    scores = run_scores(list(section.runs.values()), section.methods)
    sizes = [len(runs) for by_problem in scores.values() for runs in by_problem.values()]
    return bool(sizes) and min(sizes) >= LEAST_RUNS


def focus_tests(section: Section) -> tuple[FocusTest, ...]:
    """Test the method in focus against each of the others, on the problems that both were run on.

    If every problem has three runs or more of each method, the runs are compared within problems
    by van Elteren's test: does one method give better values on these problems? Otherwise the
    medians are compared over the problems by Wilcoxon's signed-rank test: would it on others like
    them? Either way p is corrected after Holm for the other methods, not for all pairs.

    Parameters
    ----------
    section : Section
        The runs, with a method in focus.

    Returns
    -------
    tuple of FocusTest
        One for each other method.

    References
    ----------
    van Elteren, P. (1960), "On the combination of independent two sample tests of Wilcoxon",
    Bulletin of the International Statistical Institute 37.
    """
    assert section.focus is not None
    scores = run_scores(list(section.runs.values()), section.methods)
    ours, by_runs = scores[section.focus], has_repetitions(section)
    others = [m for m in section.methods if m != section.focus and set(scores[m]) & set(ours)]
    raw = [_tested(section, other, ours, scores[other], by_runs) for other in others]
    corrected = holm([test.p for test in raw])
    return tuple(
        FocusTest(**{**vars(test), "p_holm": float(p)})
        for test, p in zip(raw, corrected, strict=True)
    )


def _tested(
    section: Section, other: str, ours: _Scores, theirs: _Scores, by_runs: bool
) -> FocusTest:
    """Return the test against one other method, not corrected."""
    assert section.focus is not None
    problems = [p for p in ours if p in theirs]
    first, second = [ours[p] for p in problems], [theirs[p] for p in problems]
    differences = np.array([median(a) - median(b) for a, b in zip(first, second, strict=True)])
    better, level, worse = on_each_problem(ours, theirs)
    if better + level + worse == 0:  # too few runs
        better, worse = int((differences < 0).sum()), int((differences > 0).sum())
        level = len(differences) - better - worse
    if by_runs:
        p = stratified_rank_sum_test(first, second)[0]
    else:
        p = float(wilcoxon_test(differences)[0][0])
    low, high = _interval(first, second, by_runs)
    return FocusTest(
        section.focus, other, better, level, worse, 10 ** float(_effort(first, second)),
        10**low, 10**high, p, p, _since(section, other),
    )  # fmt: skip


def _effort(first: Sequence[Sequence[float]], second: Sequence[Sequence[float]]) -> float:
    """Return the mean over the problems of the difference of mean scores."""
    return float(np.mean([np.mean(a) - np.mean(b) for a, b in zip(first, second, strict=True)]))


def _interval(
    first: Sequence[Sequence[float]], second: Sequence[Sequence[float]], by_runs: bool
) -> tuple[float, float]:
    """Return a bootstrap interval of the effort: of runs within problems, or of problems."""
    rng = np.random.default_rng(1)
    if by_runs:
        resampled = np.mean([_resampled(a, rng) - _resampled(b, rng)
                             for a, b in zip(first, second, strict=True)], axis=0)  # fmt: skip
    else:
        means = np.array([np.mean(a) - np.mean(b) for a, b in zip(first, second, strict=True)])
        resampled = rng.choice(means, (_RESAMPLES, len(means))).mean(axis=1)
    low, high = np.quantile(resampled, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    return float(low), float(high)


def _resampled(values: Sequence[float], rng: np.random.Generator) -> FloatArray:
    """Return the means of resamples."""
    means: FloatArray = rng.choice(np.asarray(values), (_RESAMPLES, len(values))).mean(axis=1)
    return means


def _since(section: Section, other: str) -> float | None:
    """Return the evaluations / D from which on more targets are solved than by another method."""
    assert section.focus is not None
    functions = section.shared
    ours, theirs = (section.profile(m, functions, restarts=False) for m in (section.focus, other))
    if ours is None or theirs is None:
        return None
    times = np.union1d(ours.times, theirs.times)
    behind = np.flatnonzero(ours.at(times) <= theirs.at(times))
    first = 0 if not len(behind) else int(behind[-1]) + 1
    return float(times[first]) if first < len(times) else None


def focus_headline(section: Section) -> str:
    """Say in a sentence or two how the method in focus did against the others.

    Parameters
    ----------
    section : Section
        The runs, with a method in focus.
    """
    tests = focus_tests(section)
    if not tests:
        return f"{section.focus} shares no problem with another method."
    parts = []
    for outcome, words in (
        ("better", "is significantly better than"),
        ("worse", "is significantly worse than"),
        ("no significant difference", "does not differ significantly from"),
    ):
        names = [test.other for test in tests if test.outcome == outcome]
        if names:
            parts.append(f"{words} {join_names(names)}")
    problems = count(max(t.better + t.level + t.worse for t in tests), "problem")
    better, worse = _span([t.better for t in tests]), _span([t.worse for t in tests])
    where = f"It is better on {better} of {problems} and worse on {worse}."
    text = f"{section.focus} {'; it '.join(parts)}. {where}"
    return f"{text} {_by_how_much(tests[0])}" if len(tests) == 1 else text


def _span(counts: Sequence[int]) -> str:
    """Return counts as words: none, 4, or 2 to 5."""
    low, high = min(counts), max(counts)
    if high == 0:
        return "none"
    return str(low) if low == high else f"{low} to {high}"


def _by_how_much(test: FocusTest) -> str:
    return (
        f"It takes {test.effort:.2g} times the evaluations, or leaves as much of the error "
        f"({test.low:.2g} to {test.high:.2g})."
    )


def focus_table(section: Section) -> Table:
    """Tabulate the method in focus against each of the others."""
    records = [vars(test) | {"outcome": test.outcome, "dimension": section.dimension or ""}
               for test in focus_tests(section)]  # fmt: skip
    columns: dict[str, Column] = {
        "against": (METHOD, "other"), "outcome": (TEXT, "outcome"),
        "better/level/worse": (NUMBER, lambda r: Cell(f"{r['better']}/{r['level']}/{r['worse']}",
                                                      r["better"])),
        "effort": (NUMBER, lambda r: Cell(f"{r['effort']:.2g}", r["effort"])),
        "95 %": (TEXT, lambda r: Cell(f"{r['low']:.2g} to {r['high']:.2g}", r["low"])),
        "p": (NUMBER, "p_holm", p_value),
        "ahead since": (NUMBER, lambda r: Cell("–" if r["since"] is None else f"{r['since']:.3g}·D",
                                               r["since"])),
    }  # fmt: skip
    test = "van Elteren’s test of the runs within problems" if has_repetitions(section) else (
        "Wilcoxon’s test over the problems")  # fmt: skip
    note = (
        "Better and worse: problems with a significant difference of the runs; where there are too "
        "few runs for that, of medians. Effort: ratio of evaluations, or of final errors where "
        f"unsolved, below 1 is better, with a bootstrap interval. p: {test}, corrected after Holm "
        "for the other methods. Ahead since: evaluations from which on it has reached more targets."
    )
    return Table.from_records(
        "focus", f"{section.focus} against the others, {section.title}", columns, records, note
    )
