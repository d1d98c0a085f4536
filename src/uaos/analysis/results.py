"""The runs of experiments, arranged for analysis: those of one method on one function."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uaos.arrays import FloatArray, IntArray
from uaos.errors import InvalidParameter, UnknownName
from uaos.experiments.plan import differing
from uaos.experiments.recorder import FINAL, TARGETS, Trace
from uaos.experiments.run_table import ProblemRecord, RunTable
from uaos.experiments.store import Store
from uaos.optimizers.catalogue import expanded
from uaos.optimizers.configuration import UNIFORM
from uaos.text import count, natural_key

#: Method, function and dimension of runs that are pooled.
Key = tuple[str, str, int]

#: Returns the improvements of the runs in some rows of a table, None where they are lost.
Traces = Callable[[IntArray], list[Trace | None]]


@dataclass(frozen=True)
class Runs:
    """The runs of one method on one function in one dimension.

    Parameters
    ----------
    method, function, dimension, group
        The method, the function and its group.
    problems
        The name of each run's problem; problems of a function are its instances.
    evaluations, budgets
        How many evaluations each run made, and how many it was allowed.
    errors, best
        The final error and the best value of each run.
    hits
        ``hits[i, j]`` is the evaluation, counted from 1, at which run i first reached
        ``TARGETS[j]``, or -1.
    seconds
        How long each run took.

    Examples
    --------
    >>> from uaos.analysis import Results
    >>> runs = Results.read("mine.db").runs["JADE", "f1", 2]
    >>> len(runs), runs.solved, runs.evaluations_to([1.0]).shape
    (2, 0, (1, 2))
    """

    method: str
    function: str
    dimension: int
    group: str
    problems: NDArray[np.object_]
    evaluations: IntArray
    errors: FloatArray
    best: FloatArray
    hits: NDArray[np.int32] | IntArray
    budgets: IntArray
    seconds: FloatArray
    #: Cached results of computations on the runs.
    cache: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __repr__(self) -> str:
        return (
            f"<{count(len(self), 'run')} of {self.method} on {self.function}, {self.dimension}-D>"
        )

    def __len__(self) -> int:
        return len(self.evaluations)

    def evaluations_to(self, targets: ArrayLike) -> FloatArray:
        """Return the evaluations to each target (rows) in each run (columns); NaN if missed."""
        hits = self.hits[:, [target_index(float(t)) for t in np.atleast_1d(targets)]].T
        return np.where(hits > 0, hits, np.nan)

    @property
    def solved(self) -> int:
        """Return how many runs reached the final target."""
        return int((self.hits[:, target_index(FINAL)] > 0).sum())

    def cut(self, budget: int) -> "Runs":
        """Return the same runs as if they had been stopped after `budget` evaluations.

        Errors are those of the whole runs, as earlier ones are not known.
        """
        hits = np.where(self.hits > budget, -1, self.hits)
        return replace(
            self, hits=hits, evaluations=np.minimum(self.evaluations, budget),
            budgets=np.minimum(self.budgets, budget),
        )  # fmt: skip

    def on(self, problems: Iterable[str]) -> "Runs":
        """Return the runs on these problems only."""
        names = set(problems)
        keep = np.array([name in names for name in self.problems], dtype=bool)
        each = ("problems", "evaluations", "errors", "best", "hits", "budgets", "seconds")
        return replace(self, **{name: getattr(self, name)[keep] for name in each})


@cache
def target_index(target: float) -> int:
    """Return the index of a target in TARGETS."""
    near = int(np.argmin(np.abs(np.log10(TARGETS) - np.log10(target)))) if target > 0 else -1
    if not np.isclose(TARGETS[near], target, rtol=1e-6, atol=0):
        raise InvalidParameter(
            f"target {target:g} is not recorded; expected one of {len(TARGETS)} from "
            f"{TARGETS[0]:g} to {TARGETS[-1]:g}, the nearest of which is {TARGETS[near]:.8g}",
            name="target", value=target,
        )  # fmt: skip
    return near


@dataclass(frozen=True)
class Results:
    """Runs of several methods on the problems of a suite.

    Parameters
    ----------
    runs
        The runs by method, function and dimension.
    failed
        How many runs of each method failed; no other number includes them.
    configurations
        The configuration of each method, as stored.
    suite
        The name of the suite.
    relative
        Problems whose optimum is not known: their errors are relative to the best value of any
        of the runs.

    Examples
    --------
    >>> from uaos.analysis import Results
    >>> results = Results.read("mine.db")
    >>> results.methods, results.functions, results.dimensions
    (('JADE', 'uniform'), ('f1', 'f3', 'f8'), (2,))
    """

    runs: Mapping[Key, Runs]
    failed: Mapping[str, int] = field(default_factory=dict)
    configurations: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    suite: str = "bbob"
    relative: tuple[str, ...] = ()

    def __repr__(self) -> str:
        runs = count(sum(map(len, self.runs.values())), "run")
        methods = count(len(self.methods), "method")
        return f"<Results of {methods} on {self.suite}: {runs}>"

    @property
    def methods(self) -> tuple[str, ...]:
        """Return the methods, in the order in which they first appear."""
        return tuple(dict.fromkeys(method for method, _, _ in self.runs))

    @property
    def dimensions(self) -> tuple[int, ...]:
        """Return the dimensions, ascending."""
        return tuple(sorted({dimension for _, _, dimension in self.runs}))

    @property
    def functions(self) -> tuple[str, ...]:
        """Return the functions, in their natural order: f2 before f10."""
        return tuple(sorted({function for _, function, _ in self.runs}, key=natural_key))

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Return the functions of each group, in the order of the functions."""
        group_of = {runs.function: runs.group for runs in self.runs.values()}
        groups: dict[str, list[str]] = {}
        for function in self.functions:
            groups.setdefault(group_of[function], []).append(function)
        return {group: tuple(functions) for group, functions in groups.items()}

    @property
    def seconds(self) -> float:
        """Return the durations of the runs, added up."""
        return math.fsum(seconds for runs in self.runs.values() for seconds in runs.seconds)

    @cached_property
    def _keys(self) -> dict[str, list[Key]]:
        """Return the keys of each method's runs."""
        keys: dict[str, list[Key]] = {}
        for key in self.runs:
            keys.setdefault(key[0], []).append(key)
        return keys

    def of(self, method: str) -> list[Runs]:
        """Return one method's runs, function by function."""
        keys = self._keys.get(method, [])
        return [self.runs[key] for key in sorted(keys, key=lambda k: (natural_key(k[1]), k[2]))]

    def select(
        self,
        *,
        methods: Sequence[str] | None = None,
        functions: Iterable[str] | None = None,
        dimension: int | None = None,
    ) -> "Results":
        """Return only these methods (uniform choice always stays), functions and dimension.

        A group of the catalogue, such as "winners", stands for its members in the results.
        """
        chosen_methods = None if methods is None else (*self._members(methods), UNIFORM)
        order = self.methods if chosen_methods is None else tuple(dict.fromkeys(chosen_methods))
        chosen = None if functions is None else set(functions)
        runs = {
            key: self.runs[key]
            for name in order
            for key in self._keys.get(name, ())
            if (dimension is None or key[2] == dimension) and (chosen is None or key[1] in chosen)
        }
        failed = {
            m: n for m, n in self.failed.items() if chosen_methods is None or m in chosen_methods
        }
        left = set().union(*(r.problems for r in runs.values())) if self.relative else ()
        relative = tuple(problem for problem in self.relative if problem in left)
        return replace(self, runs=runs, failed=failed, relative=relative)

    def _members(self, names: Iterable[str]) -> list[str]:
        """Return methods of the results: those named, and the members of groups."""
        present = {*self.methods, *self.failed}
        members: list[str] = []
        for name in names:
            if name in present:
                members.append(name)
            elif (group := expanded([name])) != [name]:
                members += [member for member in group if member in present]
            else:
                raise UnknownName("method", name, sorted(present), hint="(of those in the stores)")
        return members

    def matching(self, text: str) -> list[str]:
        """Return the functions that a string such as "1-5,8" or "f1,valley" names."""
        functions: list[str] = []
        for part in (p.strip() for p in text.split(",")):
            span = re.fullmatch(r"f?(\d+)(?:-f?(\d+))?", part)
            if part in self.functions or span is None:
                names = [part]
            else:
                names = [f"f{n}" for n in range(int(span[1]), int(span[2] or span[1]) + 1)]
            present = [name for name in names if name in self.functions]
            if not present:
                raise UnknownName("function", part, self.functions, hint="(in the stores)")
            functions += present
        return functions

    @classmethod
    def read(cls, *paths: str | PathLike[str]) -> "Results":
        """Read the results of one or several stores.

        The same run in two stores counts once. Where an optimum is not known, the best value of any
        run in these stores takes its place.

        Raises
        ------
        InvalidParameter
            If a name means different things in the stores: a method with two configurations, a
            problem with two definitions, or stores of different suites.
        """
        with ExitStack() as opened:
            return cls.of_stores([opened.enter_context(Store.open(path)) for path in paths])

    @classmethod
    def of_stores(
        cls, stores: Sequence[Store], tables: Sequence[RunTable] | None = None
    ) -> "Results":
        """Arrange the runs of open stores, as :meth:`read` does.

        Parameters
        ----------
        stores
        tables
            The runs of each store, if they were read before.
        """
        if not stores:
            return cls({})
        configurations = _configurations(stores)
        tables = [store.table() for store in stores] if tables is None else tables
        ends = np.cumsum([len(table) for table in tables])
        table = tables[0] if len(tables) == 1 else _joined(tables)
        del tables

        def traces(rows: IntArray) -> list[Trace | None]:
            owner, ids = np.searchsorted(ends, rows, side="right"), table.id[rows]
            each = [s.traces(ids[owner == i].tolist()) for i, s in enumerate(stores)]
            return [each[o].get(int(i)) for o, i in zip(owner, ids, strict=True)]

        return arranged(table, traces, configurations, stores[0].suite)


def _configurations(stores: Sequence[Store]) -> dict[str, Mapping[str, object]]:
    """Return the configuration of each method; refuse stores that contradict each other."""
    configurations: dict[str, Mapping[str, object]] = {}
    suite = stores[0].suite
    for store in stores:
        if store.suite != suite:
            raise InvalidParameter(
                f"{store.path} is of the suite {store.suite}, and {stores[0].path} of {suite}; "
                "compare stores of one suite", name="suite", value=store.suite,
                owner=str(store.path),
            )  # fmt: skip
        for name, configuration in store.configurations().items():
            before = configurations.setdefault(name, configuration)
            if before is not configuration and (
                different := differing(name, before, configuration)
            ):
                raise InvalidParameter(
                    f"{name} has another configuration in {store.path} than in the other stores: "
                    f"{'; '.join(different[:4])}; give one of them another name",
                    name="methods", value=name, owner=str(store.path),
                )  # fmt: skip
    return configurations


def _joined(tables: Sequence[RunTable]) -> RunTable:
    """Return the runs of several stores as one table."""
    methods = tuple(dict.fromkeys(name for table in tables for name in table.methods))
    problems: dict[str, ProblemRecord] = {}
    for record in (record for table in tables for record in table.problems):
        other = problems.setdefault(record.name, record)
        if other[:4] != record[:4] or not np.array_equal(other[5], record[5], equal_nan=True):
            raise InvalidParameter(
                f"problem {record.name} differs between the stores; compare stores of the same "
                "problems", name="problem", value=record.name,
            )  # fmt: skip
    columns = {
        column.name: np.concatenate([getattr(table, column.name) for table in tables])
        for column in fields(RunTable)[2:]
    }
    columns["method"] = _positions(methods, [(t.methods, t.method) for t in tables])
    columns["problem"] = _positions(
        tuple(problems), [([p.name for p in t.problems], t.problem) for t in tables]
    )
    return RunTable(methods, tuple(problems.values()), **columns)


def _positions(
    names: Sequence[str], parts: Iterable[tuple[Sequence[str], NDArray[np.int32]]]
) -> NDArray[np.int32]:
    """Return positions in lists of names as positions in the list of all names."""
    position = {name: i for i, name in enumerate(names)}
    return np.concatenate(
        [np.array([position[n] for n in part], np.int32)[column] for part, column in parts]
    )


def arranged(
    table: RunTable,
    traces: Traces,
    configurations: Mapping[str, Mapping[str, object]],
    suite: str,
) -> Results:
    """Arrange runs by method, function and dimension.

    Parameters
    ----------
    table
    traces
        Returns the improvements of the runs in given rows, None where they are lost.
    configurations, suite
        As in :class:`Results`.
    """
    rows, failed = _finished(table)
    table, rows, relative = _with_relative_errors(table, rows, traces)
    kinds: dict[tuple[str, int], int] = {}
    each = [kinds.setdefault((p.function, p.dimension), len(kinds)) for p in table.problems]
    kind = np.array(each, np.int64)
    names = np.array([p.name for p in table.problems], object)
    rows = rows[np.lexsort((table.problem[rows], kind[table.problem[rows]], table.method[rows]))]
    code = table.method[rows].astype(np.int64) * len(kind) + kind[table.problem[rows]]
    runs = {}
    for pooled in np.split(rows, np.flatnonzero(np.diff(code)) + 1) if len(rows) else ():
        record = table.problems[table.problem[pooled[0]]]
        key = (table.methods[table.method[pooled[0]]], record.function, record.dimension)
        runs[key] = Runs(
            *key, record.group, problems=names[table.problem[pooled]],
            evaluations=table.evaluations[pooled], errors=table.error[pooled],
            best=table.best[pooled], hits=table.hits[pooled], budgets=table.budget[pooled],
            seconds=table.seconds[pooled],
        )  # fmt: skip
    return Results(runs, failed, configurations, suite, relative)


def _finished(table: RunTable) -> tuple[IntArray, dict[str, int]]:
    """Return the rows of finished runs, each run once, and how many of each method only failed."""
    identity = (table.seed, table.repetition, table.problem, table.method)
    order = np.lexsort((table.failed, *identity))
    is_new = np.ones(len(order), bool)
    is_new[1:] = np.any([np.diff(column[order]) != 0 for column in identity], axis=0)
    first = order[is_new]
    budgets = table.budget[first][np.cumsum(is_new) - 1]
    different = np.flatnonzero((table.budget[order] != budgets) & ~table.failed[order])
    if len(different):
        row = order[different[0]]
        problem, method = table.problems[table.problem[row]].name, table.methods[table.method[row]]
        both = f"{budgets[different[0]]:,} and {table.budget[row]:,}"
        raise InvalidParameter(
            f"{method} on {problem} has the budgets {both} in different stores; compare stores "
            "with one budget", name="budget", value=both, owner=f"{method} on {problem}",
        )  # fmt: skip
    failed = Counter(table.methods[m] for m in table.method[first[table.failed[first]]])
    return np.sort(first[~table.failed[first]]), dict(sorted(failed.items()))


def _with_relative_errors(
    table: RunTable, rows: IntArray, traces: Traces
) -> tuple[RunTable, IntArray, tuple[str, ...]]:
    """Return the table with the hits and errors of problems whose optimum is not known.

    With f* the best value of any run on the problem, and f₁ the median of the runs' first values,
    the error of a value f is

        100 (f - f*) / (f₁ - f*)

    so that runs begin at 1e2. It does not change if the objective is shifted or scaled. Also
    returned are the rows whose trace is available, and the names of these problems.
    """
    unknown = np.flatnonzero(np.isnan([p.optimum for p in table.problems]))
    if not len(unknown):
        return table, rows, ()
    table = replace(table, error=table.error.copy(), hits=table.hits.copy())
    lost: list[int] = []
    relative = []
    for problem in unknown:
        on_problem = rows[table.problem[rows] == problem]
        pairs = zip(on_problem.tolist(), traces(on_problem), strict=True)
        trace_of = {row: trace for row, trace in pairs if trace is not None}
        lost += [row for row in on_problem.tolist() if row not in trace_of]
        if trace_of:
            relative.append(table.problems[problem].name)
            _fill_relative(table, trace_of)
    names = tuple(sorted(relative, key=natural_key))
    return table, (rows[~np.isin(rows, lost)] if lost else rows), names


def _fill_relative(table: RunTable, trace_of: Mapping[int, Trace]) -> None:
    """Write the hits and errors of the runs of one problem into the table."""
    rows = np.array(list(trace_of))
    best = table.best[rows]
    reference = float(np.min(best, where=np.isfinite(best), initial=np.inf))
    reference = reference if np.isfinite(reference) else 0.0
    firsts = [trace.values[0] for trace in trace_of.values() if len(trace.values)]
    distance = float(np.median(firsts)) - reference if firsts else 0.0
    unit = distance / 100 if distance > 0 else 1.0
    table.error[rows] = (best - reference) / unit
    levels = reference + TARGETS * unit
    for row, (evaluations, values) in trace_of.items():
        index = np.searchsorted(-values, -levels, side="left")
        reached = index < len(values)
        table.hits[row] = -1
        table.hits[row, reached] = evaluations[index[reached]]
