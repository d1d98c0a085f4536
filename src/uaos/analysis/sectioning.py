"""A section of a comparison: runs that are ranked, tested and drawn together."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from uaos.analysis.art import TABLE_TARGETS, AverageRunningTime, running_times
from uaos.analysis.focus import FocusTest, focus_tests, has_repetitions
from uaos.analysis.profiles import Ecdf, area, combined, ecdf, of_times
from uaos.analysis.results import Results, Runs
from uaos.analysis.scoring import (
    ALPHA,
    Pairs,
    ProblemKey,
    Ranking,
    Scores,
    friedman,
    on_each_problem,
    pairwise,
    run_scores,
    scores,
)
from uaos.errors import InvalidParameter, Missing, UnknownName
from uaos.problems import Reference, reference, titles
from uaos.text import count, ranges

#: Up to this many problems, each is analyzed on its own.
_FEW_PROBLEMS = 50


@dataclass(frozen=True)
class Standing:
    """Results of a method on some of the functions; `runs` are those with known optima."""

    method: str
    rank: float
    solved: int
    runs: int

    @property
    def share(self) -> float:
        """Return the share of the runs that were solved; NaN without runs."""
        return self.solved / self.runs if self.runs else np.nan


@dataclass(frozen=True)
class Group:
    """Results of the methods on a group of functions, best mean rank first, with their tests."""

    name: str
    functions: tuple[str, ...]
    problems: int
    standings: tuple[Standing, ...]
    scores: Scores

    @cached_property
    def pairs(self) -> Pairs:
        """Return the tests of all pairs over the problems of the group."""
        return pairwise(self.scores)

    @property
    def leaders(self) -> tuple[str, ...]:
        """Return the methods that share the best mean rank; none without problems."""
        best = min((s.rank for s in self.standings if self.problems), default=0.0)
        return tuple(s.method for s in self.standings if s.rank == best)

    def standing(self, method: str) -> Standing:
        """Return how a method did."""
        return next(s for s in self.standings if s.method == method)


@dataclass(frozen=True)
class Section:
    """Runs that are ranked, tested and drawn together.

    Where functions exist in several dimensions there is a section for each dimension; otherwise
    one section holds all problems, each one's evaluations divided by its own dimension.

    Parameters
    ----------
    results
        The runs.
    seed
        Of the simulated restarts.
    focus
        The method that is compared with each of the others, if the question is about one.

    Examples
    --------
    >>> from uaos.analysis import Results, section
    >>> part = section(Results.read("mine.db"))
    >>> part.title, part.budget, sorted(part.ranking.order)
    ('2-D', 200.0, ['JADE', 'uniform'])
    """

    results: Results
    seed: int = 1
    focus: str | None = None

    def __repr__(self) -> str:
        methods = count(len(self.methods), "method")
        return f"<Section {self.title}: {methods} on {count(len(self.functions), 'function')}>"

    @cached_property
    def dimension(self) -> int | None:
        """Return the dimension of all problems; None if they differ."""
        dimensions = self.results.dimensions
        return dimensions[0] if len(dimensions) == 1 else None

    @property
    def key(self) -> str:
        """Return the name of the section in files: the dimension, or "all"."""
        return "all" if self.dimension is None else str(self.dimension)

    @property
    def title(self) -> str:
        """Return the dimensions, and whether targets are relative, as tables and figures say it."""
        text = self.dimensions
        return f"{text}, relative targets" if self.results.relative else text

    @property
    def dimensions(self) -> str:
        """Return the dimensions: 20-D, or 2-D to 10-D."""
        dimensions = self.results.dimensions
        if len(dimensions) == 1:
            return f"{dimensions[0]}-D"
        return f"{dimensions[0]}-D to {dimensions[-1]}-D"

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """Return the methods."""
        return self.results.methods

    @cached_property
    def functions(self) -> tuple[str, ...]:
        """Return the functions that any method was run on."""
        return self.results.functions

    @cached_property
    def shared(self) -> tuple[str, ...]:
        """Return the functions that every method was run on."""
        each = [{r.function for r in self.results.of(m)} for m in self.methods]
        return tuple(f for f in self.functions if all(f in functions for functions in each))

    @cached_property
    def runs(self) -> dict[tuple[str, str], Runs]:
        """Return the runs by method and function, in the order of the methods."""
        return {(m, r.function): r for m in self.methods for r in self.results.of(m)}

    def runs_of(self, method: str, functions: Iterable[str]) -> list[Runs]:
        """Return the runs of a method on those of the functions that it was run on."""
        return [self.runs[method, f] for f in functions if (method, f) in self.runs]

    @cached_property
    def budget(self) -> float:
        """Return the largest budget of a run, in evaluations / D."""
        return max(float(r.budgets.max()) / r.dimension for r in self.runs.values())

    @cached_property
    def longest(self) -> float:
        """Return the longest run, in evaluations / D."""
        return max(float(r.evaluations.max()) / r.dimension for r in self.runs.values())

    # Tests

    @cached_property
    def run_scores(self) -> dict[str, dict[ProblemKey, list[float]]]:
        """Return the scores of each method's runs on each problem."""
        return run_scores(list(self.runs.values()), self.methods)

    @cached_property
    def has_repetitions(self) -> bool:
        """Return whether runs are tested: every problem has several of each method."""
        return has_repetitions(self.run_scores)

    @cached_property
    def focus_tests(self) -> tuple[FocusTest, ...]:
        """Return the tests of the method in focus against each of the others; none without one."""
        if self.focus is None:
            return ()
        tests = focus_tests(self.focus, self.run_scores, self.longest)
        return tuple(replace(t, since=self._ahead_since(self.focus, t.other)) for t in tests)

    def _ahead_since(self, method: str, other: str) -> float | None:
        """Return the evaluations / D from which on a method has reached more targets."""
        ours, theirs = (self.profile(m, self.shared, restarts=False) for m in (method, other))
        if ours is None or theirs is None:
            return None
        times = np.union1d(ours.times, theirs.times)
        behind = np.flatnonzero(ours.at(times) <= theirs.at(times))
        first = 0 if not len(behind) else int(behind[-1]) + 1
        return float(times[first]) if first < len(times) else None

    @cached_property
    def scores(self) -> Scores:
        """Return the scores on the problems that every method was run on."""
        return scores(list(self.runs.values()), self.methods)

    @cached_property
    def ranking(self) -> Ranking:
        """Return mean ranks and Friedman's test."""
        return friedman(self.scores)

    @cached_property
    def pairs(self) -> Pairs:
        """Return the tests of all pairs over the problems."""
        return pairwise(self.scores)

    @cached_property
    def function_pairs(self) -> Pairs:
        """Return the tests of all pairs with each function counted once."""
        return pairwise(self.scores.by_function())

    @cached_property
    def tests_each_problem(self) -> bool:
        """Return whether problems are tested one by one: there are few, with several runs each."""
        if self.reference is not None:  # very many problems, with one run each
            return False
        problems = {problem for runs in self.runs.values() for problem in runs.problems.tolist()}
        return len(problems) <= _FEW_PROBLEMS

    @cached_property
    def problem_tests(self) -> dict[tuple[str, str], tuple[int, int, int]]:
        """Count, for pairs of methods, the problems where the first is better, level and worse.

        Better and worse are significant; empty where no problem has enough runs.
        """
        if not self.tests_each_problem:
            return {}
        scores = self.run_scores
        tests = {(p.first, p.second): on_each_problem(scores[p.first], scores[p.second])
                 for p in self.pairs}  # fmt: skip
        return tests if any(map(sum, tests.values())) else {}

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Return the groups of functions."""
        return tuple(
            self._group(name, functions) for name, functions in self.results.groups.items()
        )

    @cached_property
    def overall(self) -> Group:
        """Return all functions."""
        return self._group("all", self.functions)

    def _group(self, name: str, functions: tuple[str, ...]) -> Group:
        part = self.scores.on(functions)
        ranking, count = friedman(part), len(part.problems)
        standings = []
        for method in self.methods:
            solved, total = self.solved(self.runs_of(method, functions))
            standings.append(Standing(method, ranking.rank(method), solved, total))
        standings.sort(key=lambda s: (s.rank if count else 0.0, -s.solved))
        return Group(name, functions, count, tuple(standings), part)

    def solved(self, runs: Iterable[Runs]) -> tuple[int, int]:
        """Return how many runs solved their problem, of those on problems with a known optimum."""
        unknown = self.results.relative
        judged = [r.on(set(r.problems) - set(unknown)) if unknown else r for r in runs]
        return sum(r.solved for r in judged), sum(map(len, judged))

    # Running times and profiles

    @cached_property
    def reference(self) -> Reference | None:
        """Return the published running times of the suite, if there are any for these functions."""
        published = reference(self.results.suite)
        has_times = published is not None and any(
            published.running_times(f, r.dimension) is not None for (_, f), r in self.runs.items()
        )
        return published if has_times else None

    def reference_times(self, function: str) -> NDArray[np.float64] | None:
        """Return the reference's aRT to the 51 targets; None if it is not known."""
        if self.reference is None:
            return None
        return self.reference.running_times(function, self.dimension_of(function))

    def dimension_of(self, function: str) -> int:
        """Return the dimension of a function."""
        return next(r.dimension for (_, f), r in self.runs.items() if f == function)

    def function_title(self, function: str) -> str:
        """Return a function's name and, if the suite has one, its title."""
        return f"{function} {titles(self.results.suite).get(function, '')}".rstrip()

    @cached_property
    def running_times(self) -> Mapping[tuple[str, str], list[AverageRunningTime]]:
        """Return the aRT to the targets of the tables, by method and function."""
        return {
            (m, f): running_times(r, TABLE_TARGETS, reference=self.reference_times(f),
                                  seed=self.seed)
            for (m, f), r in self.runs.items()
        }  # fmt: skip

    def profile(self, method: str, functions: tuple[str, ...], *, restarts: bool) -> Ecdf | None:
        """Return a method's profile over those of the functions that it was run on."""
        runs = self.runs_of(method, functions)
        curves = [ecdf(r, restarts=restarts, seed=self.seed) for r in runs]
        return combined(curves) if curves else None

    def reference_profile(self, functions: tuple[str, ...]) -> Ecdf | None:
        """Return the profile of the reference's aRT; None if it lacks one of the functions."""
        times = [(self.reference_times(f), self.dimension_of(f)) for f in functions]
        curves = [of_times(t, dimension) for t, dimension in times if t is not None]
        return combined(curves) if curves and len(curves) == len(times) else None

    def area(self, method: str, functions: tuple[str, ...], limit: float, restarts: bool) -> float:
        """Return the area under a method's profile, averaged over the functions."""
        runs = self.runs_of(method, functions)
        areas = [area(r, limit, restarts=restarts, seed=self.seed) for r in runs]
        return float(np.mean(areas)) if areas else np.nan

    # Caveats

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Return caveats on the numbers."""
        notes = []
        if self.results.relative:
            notes.append(relative_note(self.results.relative))
        if self.scores.omitted:
            shared = len(self.scores.problems)
            total = shared + self.scores.omitted
            notes.append(
                f"Tests and ranks use the {shared} of {total} problems that every method was run "
                "on."
            )
            for method in self.methods:
                runs = self.runs_of(method, self.functions)
                if (ran := len(set().union(*(r.problems for r in runs)))) < total:
                    notes.append(f"{method} was run on {ran:,} of {count(total, 'problem')}.")
        problems, methods = len(self.scores.problems), len(self.methods)
        tests = methods * (methods - 1) // 2
        # The smallest possible p, Holm-corrected.
        if self.focus is None and problems and 2.0 ** (1 - problems) * tests > ALPHA:
            notes.append(
                f"With {count(problems, 'problem')}, no difference among {methods} methods can be "
                "significant; more problems are needed"
                + (", or --focus METHOD, which tests by all runs" * self.has_repetitions)
                + "."
                + (" The table of pairs has tests on single problems." * bool(self.problem_tests))
            )
        budgets: dict[str, list[str]] = {}
        for method in self.methods:
            budgets.setdefault(self.budget_text(method), []).append(method)
        if len(budgets) > 1:
            each = "; ".join(f"{b} for {', '.join(m)}" for b, m in budgets.items())
            notes.append(f"The budgets differ: {each}.")
        return tuple(notes)

    def budget_text(self, method: str | None = None) -> str:
        """Return the largest budget, of a method or of all: evaluations, or a multiple of D."""
        methods = self.methods if method is None else (method,)
        pooled = [r for m in methods for r in self.runs_of(m, self.functions)]
        largest = {int(r.budgets.max()) for r in pooled}
        if self.dimension is not None or len(largest) == 1:  # the same in all dimensions
            return f"{max(largest):,}"
        return f"{max(float(r.budgets.max()) / r.dimension for r in pooled):,.0f}·D"


def relative_note(problems: tuple[str, ...]) -> str:
    """Return the note on problems whose optima are not known."""
    return (
        f"Unknown optima: {ranges(problems)}. There, errors count from the best value of all runs, "
        "in percent of its distance from a typical first value; no run counts as solved."
    )


def sections(results: Results, *, seed: int = 1, focus: str | None = None) -> list[Section]:
    """Divide results into sections.

    Parameters
    ----------
    results : Results
        The runs.
    seed : int
        The seed of the simulated restarts.
    focus : str, optional
        The method that the comparison is about.

    Returns
    -------
    list of Section
        One for each dimension if functions exist in several, otherwise one.

    Raises
    ------
    Missing
        If there are no finished runs.
    UnknownName
        If there are none of the method in focus.

    Examples
    --------
    >>> from uaos.analysis import Results, sections
    >>> [section.title for section in sections(Results.read("mine.db"))]
    ['2-D']
    """
    if not results.runs:
        failed = sum(results.failed.values())
        failures = f" ({failed} failed)" if failed else ""
        raise Missing(
            f"there are no finished runs of these methods and functions{failures}; run them "
            "with `uaos bench`, or choose others"
        )
    if focus is not None and focus not in results.methods:
        raise UnknownName("method", focus, results.methods, hint="(among those in the stores)")
    if len({(f, d) for _, f, d in results.runs}) > len(results.functions):
        return [Section(results.select(dimension=d), seed, focus) for d in results.dimensions]
    return [Section(results, seed, focus)]


def section(results: Results, dimension: int | None = None, *, seed: int = 1) -> Section:
    """Return the section of a dimension, or the only one.

    Parameters
    ----------
    results : Results
        The runs.
    dimension : int, optional
        Which section; needed if there are several.
    seed : int
        Of the simulated restarts.

    Returns
    -------
    Section
        What tables and figures are made from.

    Raises
    ------
    Missing
        If there are no finished runs, or several dimensions and none is chosen.
    InvalidParameter
        If there are no runs in the dimension.

    Examples
    --------
    >>> from uaos.analysis import Results, section
    >>> section(Results.read("mine.db"), dimension=2).functions
    ('f1', 'f3', 'f8')
    """
    parts = sections(results, seed=seed)
    present = ", ".join(map(str, results.dimensions))
    if dimension is None and len(parts) > 1:
        raise Missing(f"the runs have several dimensions; choose one with --dim: {present}")
    if dimension is None:
        return parts[0]
    if dimension not in results.dimensions:
        raise InvalidParameter(
            f"there are no runs in dimension {dimension}; choose one of {present}",
            name="dimension", value=dimension,
        )  # fmt: skip
    return Section(results.select(dimension=dimension), seed)
