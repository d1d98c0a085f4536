"""The runs of experiments, arranged for analysis: those of one method on one function."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uaos.errors import InvalidParameter, UnknownName
from uaos.experiments.plan import UNIFORM
from uaos.experiments.recorder import Trace
from uaos.experiments.store import Outcome, ProblemRecord, Store, differing
from uaos.experiments.targets import FINAL, TARGETS
from uaos.problems import natural_key

#: Method, function and dimension of runs that are pooled.
Key = tuple[str, str, int]


@dataclass(frozen=True)
class Runs:
    """The runs of one method on one function in one dimension.

    Parameters
    ----------
    method, function, dimension, group
        What was run on what; the group is that of the function.
    problems
        The name of each run's problem; problems of a function are its instances.
    evaluations, budgets
        How many evaluations each run made, and how many it was allowed.
    errors
        How close each run came.
    hits
        ``hits[i, j]`` is the evaluation, counted from 1, at which run i first reached
        ``TARGETS[j]``, or -1.
    """

    method: str
    function: str
    dimension: int
    group: str
    problems: NDArray[np.object_]
    evaluations: NDArray[np.int64]
    errors: NDArray[np.float64]
    hits: NDArray[np.int64]
    budgets: NDArray[np.int64]
    #: What was computed from the runs, for those who ask again.
    cache: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.evaluations)

    def evaluations_to(self, targets: ArrayLike) -> NDArray[np.float64]:
        """Return the evaluations to each target (rows) in each run (columns); NaN if missed."""
        hits = self.hits[:, [target_index(float(t)) for t in np.atleast_1d(targets)]].T
        return np.where(hits > 0, hits, np.nan)

    @property
    def solved(self) -> int:
        """How many runs reached the final target."""
        return int((self.hits[:, target_index(FINAL)] > 0).sum())

    def cut(self, budget: int) -> "Runs":
        """Return the same runs as if they had been stopped after `budget` evaluations.

        Errors are those of the whole runs: how close a run was on its way is not known.
        """
        hits = np.where(self.hits > budget, -1, self.hits)
        return replace(
            self, hits=hits, evaluations=np.minimum(self.evaluations, budget),
            budgets=np.minimum(self.budgets, budget),
        )  # fmt: skip

    def on(self, problems: Iterable[str]) -> "Runs":
        """Return the runs on these problems only."""
        wanted = set(problems)
        keep = np.array([name in wanted for name in self.problems], dtype=bool)
        return replace(
            self, problems=self.problems[keep], evaluations=self.evaluations[keep],
            errors=self.errors[keep], hits=self.hits[keep], budgets=self.budgets[keep],
        )  # fmt: skip


@cache
def target_index(target: float) -> int:
    """Return the index of a target in TARGETS."""
    near = int(np.argmin(np.abs(np.log10(TARGETS) - np.log10(target)))) if target > 0 else -1
    if not np.isclose(TARGETS[near], target, rtol=1e-6, atol=0):
        allowed = (
            f"one of {len(TARGETS)} from {TARGETS[0]:g} to {TARGETS[-1]:g}; "
            f"the nearest is {TARGETS[near]:.8g}"
        )
        raise InvalidParameter("target", target, allowed)
    return near


@dataclass(frozen=True)
class Results:
    """Runs of several methods on the problems of a suite.

    Parameters
    ----------
    runs
        The runs by method, function and dimension.
    failed
        How many runs of each method failed; they are in no other number.
    configurations
        The configuration of each method, as stored.
    suite
        The name of the suite.
    relative
        Problems whose optimum is not known: their errors are relative to the best value of any
        of the runs.
    """

    runs: Mapping[Key, Runs]
    failed: Mapping[str, int] = field(default_factory=dict)
    configurations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    suite: str = "bbob"
    relative: tuple[str, ...] = ()

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods, in the order in which they first appear."""
        return tuple(dict.fromkeys(method for method, _, _ in self.runs))

    @property
    def dimensions(self) -> tuple[int, ...]:
        """The dimensions, ascending."""
        return tuple(sorted({dimension for _, _, dimension in self.runs}))

    @property
    def functions(self) -> tuple[str, ...]:
        """The functions, in their natural order: f2 before f10."""
        return tuple(sorted({function for _, function, _ in self.runs}, key=natural_key))

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """The functions of each group, in the order of the functions."""
        of = {runs.function: runs.group for runs in self.runs.values()}
        found: dict[str, list[str]] = {}
        for function in self.functions:
            found.setdefault(of[function], []).append(function)
        return {group: tuple(functions) for group, functions in found.items()}

    def of(self, method: str) -> list[Runs]:
        """Return one method's runs, function by function."""
        keys = [key for key in self.runs if key[0] == method]
        return [self.runs[key] for key in sorted(keys, key=lambda k: (natural_key(k[1]), k[2]))]

    def select(
        self,
        *,
        methods: Sequence[str] | None = None,
        functions: Iterable[str] | None = None,
        dimension: int | None = None,
    ) -> "Results":
        """Return only these methods (uniform choice always stays), functions and dimension."""
        for name in methods or ():
            if name not in (known := {*self.methods, *self.failed}):
                raise UnknownName("method", name, sorted(known), hint="(of those in the stores)")
        wanted = None if methods is None else (*methods, UNIFORM)
        order = self.methods if wanted is None else tuple(dict.fromkeys(wanted))
        chosen = None if functions is None else set(functions)
        runs = {
            key: runs
            for name in order
            for key, runs in self.runs.items()
            if key[0] == name
            and (dimension is None or key[2] == dimension)
            and (chosen is None or key[1] in chosen)
        }
        failed = {m: n for m, n in self.failed.items() if wanted is None or m in wanted}
        return replace(self, runs=runs, failed=failed)

    def matching(self, text: str) -> list[str]:
        """Return the functions that a string such as "1-5,8" or "f1,valley" names."""
        found: list[str] = []
        for part in (p.strip() for p in text.split(",")):
            span = re.fullmatch(r"f?(\d+)(?:-f?(\d+))?", part)
            if part in self.functions or span is None:
                names = [part]
            else:
                names = [f"f{n}" for n in range(int(span[1]), int(span[2] or span[1]) + 1)]
            present = [name for name in names if name in self.functions]
            if not present:
                raise UnknownName("function", part, self.functions, hint="(in the stores)")
            found += present
        return found

    @classmethod
    def from_outcomes(
        cls,
        outcomes: Iterable[Outcome],
        configurations: Mapping[str, Mapping[str, Any]] | None = None,
        suite: str = "bbob",
    ) -> "Results":
        """Arrange outcomes; the same run met twice counts once."""
        found = list(outcomes)
        return _arranged(_Columns.of_outcomes(found), configurations or {}, suite)

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
        parts: list[_Columns] = []
        configurations: dict[str, Mapping[str, Any]] = {}
        suite = ""
        for path in paths:
            with Store.open(path) as store:
                if suite and store.suite != suite:
                    raise InvalidParameter("suite", store.suite, f"{suite}, as in the other stores",
                                           owner=str(path))  # fmt: skip
                suite = store.suite
                for name, made in store.configurations().items():
                    if found := differing(name, configurations.setdefault(name, made), made):
                        allowed = "the same configuration in all stores"
                        raise InvalidParameter("; ".join(found[:4]), name, allowed, owner=str(path))
                parts.append(_Columns.of_store(store))
        return _arranged(_Columns.joined(parts), configurations, suite) if parts else cls({})


@dataclass(frozen=True)
class _Columns:
    """Runs in columns; `method` and `problem` are positions in `methods` and `problems`.

    `traces` has the improvements of runs on problems whose optimum is not known, by row.
    """

    methods: tuple[str, ...]
    problems: tuple[ProblemRecord, ...]
    method: NDArray[np.int64]
    problem: NDArray[np.int64]
    repetition: NDArray[np.int64]
    seed: NDArray[np.int64]
    budget: NDArray[np.int64]
    evaluations: NDArray[np.int64]
    best: NDArray[np.float64]
    error: NDArray[np.float64]
    failed: NDArray[np.bool_]
    hits: NDArray[np.int64]
    traces: dict[int, Trace]

    @classmethod
    def of_store(cls, store: Store) -> "_Columns":
        table = store.table()
        unknown = np.isnan([p.optimum for p in table.problems])
        rows = np.flatnonzero(unknown[table.problem] & ~table.failed)
        by_id = store.traces(table.id[rows].tolist()) if len(rows) else {}
        return cls(
            table.methods, table.problems, table.method.astype(np.int64),
            table.problem.astype(np.int64), table.repetition, table.seed, table.budget,
            table.evaluations, table.best, table.error, table.failed, table.hits,
            {int(row): by_id[int(table.id[row])] for row in rows},
        )  # fmt: skip

    @classmethod
    def of_outcomes(cls, outcomes: Sequence[Outcome]) -> "_Columns":
        methods = tuple(dict.fromkeys(o.method for o in outcomes))
        problems: dict[str, ProblemRecord] = {}
        for o in outcomes:
            known = np.nan if np.isnan(o.error) else o.best - o.error
            record = ProblemRecord(o.problem, o.function, o.group, o.dimension, o.instance, known)
            problems.setdefault(o.problem, record)
        places = {name: i for i, name in enumerate(problems)}

        def column(kind: Any, values: Iterable[Any]) -> Any:
            return np.array(list(values), kind)

        return cls(
            methods, tuple(problems.values()),
            column(np.int64, (methods.index(o.method) for o in outcomes)),
            column(np.int64, (places[o.problem] for o in outcomes)),
            column(np.int64, (o.repetition for o in outcomes)),
            column(np.int64, (o.seed for o in outcomes)),
            column(np.int64, (o.budget for o in outcomes)),
            column(np.int64, (o.evaluations for o in outcomes)),
            column(np.float64, (o.best for o in outcomes)),
            column(np.float64, (o.error for o in outcomes)),
            column(np.bool_, (o.status != "done" for o in outcomes)),
            column(np.int64, (o.hits for o in outcomes)).reshape(len(outcomes), len(TARGETS)),
            {i: o.trace for i, o in enumerate(outcomes) if np.isnan(o.error)},
        )  # fmt: skip

    @classmethod
    def joined(cls, parts: "Sequence[_Columns]") -> "_Columns":
        """Return the runs of several stores as one."""
        if len(parts) == 1:
            return parts[0]
        methods = tuple(dict.fromkeys(name for part in parts for name in part.methods))
        problems: dict[str, ProblemRecord] = {}
        for part in parts:
            for record in part.problems:
                other = problems.setdefault(record.name, record)
                if other[:4] != record[:4] or not _same(other.optimum, record.optimum):
                    raise InvalidParameter("problem", record.name, "the same in all stores")
        places = {name: i for i, name in enumerate(problems)}
        traces: dict[int, Trace] = {}
        rows = 0
        for part in parts:
            traces |= {rows + row: trace for row, trace in part.traces.items()}
            rows += len(part.method)
        columns: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in ("repetition", "seed", "budget", "evaluations", "best", "error", "failed",
                         "hits")
        }  # fmt: skip
        columns["method"] = np.concatenate(
            [np.array([methods.index(m) for m in p.methods], np.int64)[p.method] for p in parts]
        )
        columns["problem"] = np.concatenate(
            [np.array([places[q.name] for q in p.problems], np.int64)[p.problem] for p in parts]
        )
        return cls(methods, tuple(problems.values()), traces=traces, **columns)


def _same(first: float, second: float) -> bool:
    return first == second or (np.isnan(first) and np.isnan(second))


def _arranged(
    columns: _Columns, configurations: Mapping[str, Mapping[str, Any]], suite: str
) -> Results:
    rows = _unique(columns)
    if not len(rows):
        return Results({}, _failures(columns, rows), configurations, suite)
    kinds = list(dict.fromkeys((p.function, p.dimension) for p in columns.problems))
    kind = np.array([kinds.index((p.function, p.dimension)) for p in columns.problems], np.int64)
    names = np.array([p.name for p in columns.problems], object)
    method, problem = columns.method[rows], columns.problem[rows]
    order = np.lexsort((problem, kind[problem], method))
    rows = rows[order]
    # Rows that are in order already are not copied.
    in_order = len(rows) == len(columns.method) and bool((np.diff(rows) == 1).all())
    every = columns if in_order else _taken(columns, rows)
    hits, errors, relative = _with_references(every)
    method, problem = every.method, every.problem
    code = method * len(kinds) + kind[problem]
    starts = np.flatnonzero(np.diff(code, prepend=-1))
    runs = {}
    for start, end in zip(starts, [*starts[1:], len(code)], strict=True):
        part, record = slice(start, end), every.problems[int(problem[start])]
        key = (every.methods[int(method[start])], record.function, record.dimension)
        runs[key] = Runs(
            *key, record.group, problems=names[problem[part]],
            evaluations=every.evaluations[part], errors=errors[part], hits=hits[part],
            budgets=every.budget[part],
        )  # fmt: skip
    return Results(runs, _failures(columns, rows), configurations, suite, relative)


def _unique(columns: _Columns) -> NDArray[np.int64]:
    """Return the rows of finished runs, each run once."""
    done = np.flatnonzero(~columns.failed)
    keys = np.column_stack([getattr(columns, c)[done] for c in _IDENTITY])
    _, first, where = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    if len(first) == len(done):
        return done
    budgets = columns.budget[done]
    off = np.flatnonzero(budgets != budgets[first][where.ravel()])
    if len(off):
        row = done[off[0]]
        owner = (
            f"{columns.methods[columns.method[row]]} on "
            + columns.problems[columns.problem[row]].name
        )
        both = f"{budgets[first][where.ravel()][off[0]]:,} and {budgets[off[0]]:,}"
        allowed = "one for the same run in all stores"
        raise InvalidParameter("budget", both, allowed, owner=owner)
    return done[np.sort(first)]


_IDENTITY = ("method", "problem", "repetition", "seed")


def _taken(columns: _Columns, rows: NDArray[np.int64]) -> _Columns:
    """Return these rows only."""
    found = {int(row): i for i, row in enumerate(rows)} if columns.traces else {}
    traces = {found[row]: t for row, t in columns.traces.items() if row in found}
    names = (*_IDENTITY, "budget", "evaluations", "best", "error", "failed", "hits")
    return replace(columns, traces=traces, **{n: getattr(columns, n)[rows] for n in names})


def _failures(columns: _Columns, done: NDArray[np.int64]) -> dict[str, int]:
    """Return how many runs of each method failed and were not done elsewhere."""

    def keys(rows: NDArray[np.int64]) -> list[tuple[Any, ...]]:
        return list(zip(*(getattr(columns, c)[rows].tolist() for c in _IDENTITY), strict=True))

    failed = set(keys(np.flatnonzero(columns.failed)))
    if not failed:
        return {}
    counts: dict[str, int] = {}
    for key in failed - set(keys(done)):
        name = columns.methods[key[0]]
        counts[name] = counts.get(name, 0) + 1
    return dict(sorted(counts.items()))


def _with_references(
    columns: _Columns,
) -> tuple[NDArray[np.int64], NDArray[np.float64], tuple[str, ...]]:
    """Return hits and errors, with those of problems whose optimum is not known filled in.

    With f* the best value of any run on the problem, and f₁ the median of the runs' first values,
    the error of a value f is

        100 (f - f*) / (f₁ - f*)

    so that 1e2 is where runs begin. It does not change if the objective is shifted or scaled.
    """
    hits, errors = columns.hits, columns.error
    if not columns.traces:
        return hits, errors, ()
    hits, errors = hits.copy(), errors.copy()
    relative = []
    for place, record in enumerate(columns.problems):
        rows = np.flatnonzero(columns.problem == place)
        rows = rows[[int(row) in columns.traces for row in rows]] if len(rows) else rows
        if not len(rows):
            continue
        relative.append(record.name)
        finite = columns.best[rows][np.isfinite(columns.best[rows])]
        reference = float(finite.min()) if len(finite) else 0.0
        firsts = [float(columns.traces[int(r)].values[0]) for r in rows
                  if len(columns.traces[int(r)].values)]  # fmt: skip
        distance = float(np.median(firsts)) - reference if firsts else 0.0
        unit = distance / 100 if distance > 0 else 1.0
        errors[rows] = (columns.best[rows] - reference) / unit
        levels = reference + TARGETS * unit
        for row in rows:
            at, values = columns.traces[int(row)]
            index = np.searchsorted(-values, -levels, side="left")
            reached = index < len(values)
            hits[row] = -1
            hits[row, reached] = at[index[reached]]
    return hits, errors, tuple(sorted(relative, key=natural_key))
