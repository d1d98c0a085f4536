"""Sources of a report: stores of benchmarks and of tunings, and single runs of them."""

import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple, Self, TypedDict

import numpy as np
from numpy.typing import NDArray

from uaos.analysis.findings import is_adaptive
from uaos.analysis.results import Results
from uaos.errors import InvalidFile, InvalidParameter, Missing, UnknownName
from uaos.experiments.reader import Tally
from uaos.experiments.run_table import RunTable
from uaos.experiments.store import Store, open_store
from uaos.files import as_path
from uaos.history import History
from uaos.problems import titles
from uaos.text import natural_key

if TYPE_CHECKING:  # loaded when there is a tuning
    from uaos.tuning.records import Tuning
    from uaos.tuning.store import TuningStore

# Parts of a run whose operator use is compared.
_PARTS = 6

#: What `--runs` expects.
RUN_FORM = "method:function:instance, such as mix:8:3, or method:problem, separated by commas"


@dataclass(frozen=True, eq=False)
class Experiment:
    """The store of a benchmark, and those of its runs that are shown, in columns."""

    store: Store
    table: RunTable

    @property
    def name(self) -> str:
        """Return the name of the file, without its folder."""
        return self.store.name

    @cached_property
    def tallies(self) -> dict[str, Tally]:
        """Return the numbers of finished and failed runs of each method."""
        tallies = self.store.tallies()
        return {method: tallies[method] for method in self.table.methods}

    @cached_property
    def failures(self) -> list[tuple[str, str]]:
        """Return the method and the reason of each run that failed."""
        shown = set(self.table.methods)
        return [(o.method, o.reason) for o in self.store.failures() if o.method in shown]

    def course(self, row: int) -> "Course | None":
        """Return a run of the table with its history; None if no history was recorded."""
        table = self.table
        record, method = table.problems[table.problem[row]], table.methods[table.method[row]]
        history = self.store.history(method, record.name, int(table.repetition[row]))
        if history is None or not len(history):
            return None
        title = titles(self.store.suite).get(record.function, "")
        return Course(
            method, record.name, record.function, record.dimension, int(table.repetition[row]),
            bool(table.hits[row, -1] > 0), history,
            None if np.isnan(record.optimum) else record.optimum,
            f"{record.function} {title}".strip(),
        )  # fmt: skip


@dataclass(frozen=True)
class TuningEntry:
    """One tuning of a store."""

    store: "TuningStore"
    tuning: "Tuning"

    @property
    def name(self) -> str:
        """Return the name of the file, without its folder."""
        return self.store.name


class Sources:
    """The open stores of a report; use them in a `with` statement.

    `methods` restricts benchmarks to these methods or groups, as :meth:`Results.select` does.
    """

    def __init__(
        self, paths: Sequence[str | os.PathLike[str]], methods: Sequence[str] | None = None
    ) -> None:
        from uaos.tuning.store import TuningStore

        if not paths:
            raise InvalidParameter(
                "No store to report on: pass at least one store of a benchmark or a tuning",
                name="stores", value=[],
            )  # fmt: skip
        places = list(dict.fromkeys(as_path(path) for path in paths))
        with ExitStack() as opened:
            stores = [opened.enter_context(open_store(p, Store, TuningStore)) for p in places]
            tunings = [store for store in stores if isinstance(store, TuningStore)]
            self.experiments = tuple(Experiment(s, s.table()) for s in stores if s not in tunings)
            self.results = results_of(self.experiments)
            self.is_selection = methods is not None
            if methods is not None:
                # Afterwards, because errors may be relative to the best run of any method.
                self.results = self.results.select(methods=methods)
                shown = {*self.results.methods, *self.results.failed}
                self.experiments = tuple(
                    Experiment(e.store, e.table.select(shown)) for e in self.experiments
                )
            self.tunings = tuple(
                TuningEntry(store, tuning)
                for store in tunings
                for tuning in store.tunings()
                if store.steps(tuning.id)
            )
            if not self.results.runs and not self.tunings:
                failed = sum(self.results.failed.values())
                more = f" ({failed} failed; uaos bench {places[0]} --status says why)"
                raise InvalidFile(
                    f"{', '.join(map(str, places))}: nothing is finished yet"
                    f"{more if failed else ''}; a report needs finished runs"
                )
            self._opened = opened.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()


def results_of(experiments: Sequence[Experiment]) -> Results:
    """Return the results of experiments, whose runs are read once."""
    return Results.of_stores([e.store for e in experiments], [e.table for e in experiments])


# Single runs


@dataclass(frozen=True, eq=False)
class Course:
    """One run with its history.

    `optimum` is the value that errors are relative to; None if it is not known.
    """

    method: str
    problem: str
    function: str
    dimension: int
    repetition: int
    solved: bool
    history: History
    optimum: float | None
    function_title: str = ""

    @property
    def title(self) -> str:
        """Return the method and the problem."""
        name = self.problem
        if self.function_title and name.startswith(self.function):
            name = self.function_title + name.removeprefix(self.function)
        again = f", repetition {self.repetition}" if self.repetition > 1 else ""
        return f"{self.method} on {name}{again}"

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """Return each operator's share of the run's evaluations."""
        total = self.history.counts.sum(axis=0)
        share: NDArray[np.float64] = total / max(1, int(total.sum()))
        return share

    @cached_property
    def change(self) -> float:
        """Return how much operator use changes, from 0 to 1.

        The run is cut into six parts with equally many rows. The result is the mean total variation
        distance between the shares of two parts, minus what chance alone would give if the shares
        were equal; at least 0.
        """
        rows = np.array_split(self.history.counts, min(_PARTS, len(self.history)))
        parts = np.array([p.sum(axis=0) for p in rows if p.sum()], dtype=np.float64)
        if len(parts) < 2:
            return 0.0
        sizes = parts.sum(axis=1)
        shares, common = parts / sizes[:, None], parts.sum(axis=0) / sizes.sum()
        # The mean distance of two normal draws of variance v is √(2 v / π).
        variance = common * (1 - common) * (1 / sizes[:, None, None] + 1 / sizes[None, :, None])
        apart = np.abs(shares[:, None] - shares[None]) - np.sqrt(2 * variance / np.pi)
        off = ~np.eye(len(parts), dtype=bool)
        return max(0.0, float(apart.sum(axis=2)[off].mean()) / 2)


def alternate(courses: Iterable[Course], order: Sequence[str]) -> list[Course]:
    """Sort runs by how much operator use changes, the methods taking turns as in `order`."""
    by_method: dict[str, list[Course]] = {method: [] for method in order}
    for course in sorted(courses, key=lambda c: -c.change):
        by_method.setdefault(course.method, []).append(course)
    return [course for turn in zip_longest(*by_method.values()) for course in turn if course]


class RunFilter(TypedDict, total=False):
    """The chosen properties of a run."""

    dim: int
    function: str
    problem: str
    instance: int
    repetition: int


#: A method, and its run: a problem, or a function and an instance.
ChosenRun = tuple[str, RunFilter]

#: A run as users choose it: a string, or method and problem, or method, function and instance.
RunChoice = str | tuple[str, str] | tuple[str, str | int, int]


def parse_runs(runs: str | Iterable[RunChoice] | None) -> list[ChosenRun] | None:
    """Return chosen runs from a string such as "mix:8:3,JADE:valley 2-D", or from tuples."""
    if runs is None:
        return None
    chosen = [_parse_run(run) for run in (runs.split(",") if isinstance(runs, str) else runs)]
    if not chosen:
        raise _invalid_run(runs)
    return chosen


def _parse_run(run: RunChoice) -> ChosenRun:
    parts: Sequence[str | int] = run.strip().rsplit(":", 2) if isinstance(run, str) else run
    if isinstance(run, str) and len(parts) == 3 and not str(parts[2]).strip().isdigit():
        parts = run.strip().split(":", 1)
    try:
        if len(parts) == 2:
            method, problem = map(str, parts)
            if not problem.strip() or problem.strip().isdigit():
                raise ValueError
            return method, {"problem": problem.strip()}
        method, function, instance = map(str, parts)
        return method, {"function": numbered(function), "instance": int(instance)}
    except (TypeError, ValueError):
        raise _invalid_run(run) from None


def _invalid_run(runs: object) -> InvalidParameter:
    return InvalidParameter(
        f"{runs!r} does not name a run; use {RUN_FORM}", name="runs", value=runs
    )


def numbered(function: str) -> str:
    """Return a function's name; that of BBOB's 8 is f8."""
    return f"f{function}" if function.isdigit() else function


class _Row(NamedTuple):
    """A finished run: its properties, its experiment, and its row in the experiment's table."""

    on: RunFilter
    experiment: Experiment
    row: int


def courses_of(experiments: Sequence[Experiment], method: str, wanted: RunFilter) -> list[Course]:
    """Return the runs of a method that have a history.

    The error names the first part of `wanted` that no run matches, and the values to choose from.
    """
    methods = dict.fromkeys(m for e in experiments for m in e.table.methods)
    if method not in methods:
        raise UnknownName("method", method, methods, hint="(in the files)")
    rows = [row for e in experiments for row in _finished(e, method)]
    described = f"finished runs of {method}"
    for key in ("dim", "function", "problem", "instance", "repetition"):
        if key in wanted and rows:
            value = wanted[key]
            present = sorted({str(row.on.get(key)) for row in rows}, key=natural_key)
            rows = [row for row in rows if row.on.get(key) == value]
            if not rows:
                raise InvalidParameter(
                    f"{key} {value} is in none of the {described}; choose one of "
                    f"{', '.join(present)}", name=key, value=value,
                )  # fmt: skip
            described += f", {key} {value}"
    courses = [c for row in rows if (c := row.experiment.course(row.row)) is not None]
    if not courses:
        no_history = f"none of the {described} has a history"
        raise Missing(no_history if rows else f"there are no {described}")
    return courses


def _finished(experiment: Experiment, method: str) -> Iterable[_Row]:
    table = experiment.table
    if method not in table.methods:
        return
    of_method = (table.method == table.methods.index(method)) & ~table.failed
    for row in of_method.nonzero()[0].tolist():
        problem = table.problems[table.problem[row]]
        on: RunFilter = {
            "dim": problem.dimension, "function": problem.function, "problem": problem.name,
            "repetition": int(table.repetition[row]),
        }  # fmt: skip
        if problem.instance is not None:
            on["instance"] = problem.instance
        yield _Row(on, experiment, row)


def representative_courses(experiments: Sequence[Experiment], order: Sequence[str]) -> list[Course]:
    """Return, for each method with several operators, its median run on each function.

    It is the median of the solved runs if there are any. The methods take turns as in `order`, each
    beginning with the run in which its operator use changes most.
    """
    courses: dict[tuple[str, str, int], Course] = {}
    for e in experiments:
        configurations = e.store.configurations()
        for m, method in enumerate(e.table.methods):
            if not is_adaptive(configurations.get(method)):
                continue
            for key, row in _medians(e.table, m):
                if (method, *key) not in courses:
                    course = e.course(row)
                    if course is not None and len(course.history.operators) > 1:
                        courses[method, *key] = course
    return alternate(courses.values(), order)


def _medians(table: RunTable, method: int) -> Iterable[tuple[tuple[str, int], int]]:
    """Return, by function and dimension, the row of the median run."""
    rows = np.flatnonzero((table.method == method) & ~table.failed)
    kinds = [(p.function, p.dimension) for p in table.problems]
    kind_of_row = (
        np.array([kinds.index(kind) for kind in kinds])[table.problem[rows]] if len(rows) else rows
    )
    for kind in dict.fromkeys(kind_of_row.tolist()):
        all_rows = rows[kind_of_row == kind]
        solved = all_rows[table.hits[all_rows, -1] > 0]
        chosen = solved if len(solved) else all_rows
        keys = table.evaluations[solved] if len(solved) else table.best[all_rows]
        yield kinds[kind], int(chosen[np.argsort(keys, kind="stable")][(len(chosen) - 1) // 2])
