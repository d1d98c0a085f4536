"""Outcomes of experiments: one SQLite file each, written by one coordinator in transactions.

If the coordinator is killed, the file still holds every finished run, and the same plan runs the
missing ones. Readers need not wait for the writer. A damaged row is left out, and its run is
repeated when the experiment is continued.
"""

import contextlib
import datetime
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from uaos.checks import is_printable_name
from uaos.errors import InvalidFile, UaosError, UnknownName
from uaos.experiments import storefile
from uaos.experiments.plan import CODE, CONTENT, Identity, Plan, PlanConflict, differences
from uaos.experiments.provenance import current_command, versions
from uaos.experiments.recorder import (
    NO_TRACE,
    TARGETS,
    Trace,
    hits_from_bytes,
    pack_trace,
    unpack_course,
    unpack_trace,
)
from uaos.experiments.storefile import (
    Lock,
    as_mapping,
    damaged,
    insert,
    is_whole,
    reading,
    unusable,
    whole_columns,
)
from uaos.experiments.unit import Finished, Outcome, Unit
from uaos.files import as_path
from uaos.history import History
from uaos.loading import load_source, loaded_files
from uaos.problems import Suite, built_in_suite, titles
from uaos.problems.problem import suite_in

#: The kinds of stores.
BENCHMARK, TUNING = "benchmark", "tuning"
_COMMANDS = {BENCHMARK: "uaos bench", TUNING: "uaos tune"}

_COLUMNS = (
    "methods.name, problems.name, function, category, dimension, instance, repetition, runs.seed, "
    "runs.budget, evaluations, best, error, hits, seconds, status, reason"
)
_JOINED = (
    "runs JOIN methods ON methods.id = runs.method JOIN problems ON problems.id = runs.problem"
)
_ORDER = "runs.method, runs.problem, repetition, runs.id"
_INTEGERS = ("id", "method", "problem", "repetition", "seed", "budget", "evaluations")
_REALS = ("best", "error", "seconds")
#: Prefix of the keys of recorded command lines.
COMMAND_KEY = "command "
_NEVER = (-1).to_bytes(8, "little", signed=True)


class Stopped(UaosError):
    """The work was stopped; finished runs are in the store.

    Parameters
    ----------
    finished : str
        The finished part, as a phrase.
    path : path
        The store.
    progress : Progress, optional
        The progress of the work.
    """

    def __init__(self, finished: str, path: object, progress: object = None) -> None:
        self.progress = progress
        super().__init__(f"stopped: {finished} are in {path}; the same command continues")


class ProblemRecord(NamedTuple):
    """A problem of a store; `optimum` is NaN if unknown, `instance` None if not numbered."""

    name: str
    function: str
    group: str
    dimension: int
    instance: int | None
    optimum: float


class Tally(NamedTuple):
    """Progress of a method: runs planned, done, failed, and solved among those done."""

    total: int
    done: int
    failed: int
    solved: int


@dataclass(frozen=True)
class RunTable:
    """All finished runs of a store in columns. Made by :meth:`Store.table`.

    Attributes
    ----------
    methods, problems : tuple
        The entries to which the columns `method` and `problem` are indices.
    id : ndarray
        The number of each run in the store.
    method, problem, repetition, seed, budget : ndarray
        The unit of work.
    evaluations, best, error, seconds : ndarray
        The outcome: evaluations, best value, its distance from the optimum, duration.
    failed : ndarray of bool
        Which runs failed.
    hits : ndarray, shape (runs, targets)
        The evaluation at which each of `TARGETS` was first reached, or -1.
    """

    methods: tuple[str, ...]
    problems: tuple[ProblemRecord, ...]
    id: NDArray[np.int64]
    method: NDArray[np.int32]
    problem: NDArray[np.int32]
    repetition: NDArray[np.int64]
    seed: NDArray[np.int64]
    budget: NDArray[np.int64]
    evaluations: NDArray[np.int64]
    best: NDArray[np.float64]
    error: NDArray[np.float64]
    seconds: NDArray[np.float64]
    failed: NDArray[np.bool_]
    hits: NDArray[np.int32] | NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.id)


class Store:
    """The outcomes of an experiment: one SQLite file.

    Open it with :meth:`open` or :meth:`create_or_resume`.

    Parameters
    ----------
    path : Path
        The file.
    connection : sqlite3.Connection
        Connection to the file.
    lock : Lock, optional
        Held by the process that writes.

    Examples
    --------
    >>> from uaos.experiments import Store
    >>> with Store.open("mine.db") as store:
    ...     print(store.methods(), len(store.table()))
    ['JADE', 'uniform'] 12
    """

    #: The kind of store.
    kind = BENCHMARK

    def __init__(
        self, path: Path, connection: sqlite3.Connection, lock: storefile.Lock | None
    ) -> None:
        self.path = path
        self._connection = connection
        self._lock = lock  # held by a writer
        self._session: int | None = None
        self._is_new = False  # whether this process created the file
        #: Number of damaged runs that were removed.
        self.removed = 0
        self._ids: dict[str, dict[str, int]] = {}

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """Open a store for reading.

        Never writes, and works while a coordinator does. Raises InvalidFile if the file is not a
        store, is damaged, or is a store of another kind.
        """
        return open_store(path, cls)

    @classmethod
    def create_or_resume(cls, path: str | os.PathLike[str], plan: Plan) -> Self:
        """Open a store for the one coordinator: a new one, or one with a part of the plan.

        Methods, problems and repetitions may be added to a store. Another seed, another budget, a
        changed suite file, or a changed configuration under the same name is a
        :class:`PlanConflict`. Runs with a damaged row are removed, so that they run again.
        """
        return cls._writer(path, lambda there: there._check_against(plan), lambda s: s._add(plan))

    @classmethod
    def _writer(
        cls,
        path: str | os.PathLike[str],
        check_before: Callable[[Self], None],
        begin: Callable[[Self], None],
    ) -> Self:
        """Open a store for writing: `check_before` may refuse it, `begin` writes first."""
        place = as_path(path)
        storefile.check_place(place)
        lock = Lock(place)
        try:
            is_new = not place.exists()
            if is_new:
                storefile.create(place)
            else:
                with cls.open(place) as before:
                    before.check_pages()
                    check_before(before)
            with reading(place):
                store = cls(place, storefile.connect(place, write=True), lock)
        except BaseException:
            lock.release()
            raise
        store._is_new = is_new
        try:
            store.remove_damaged("runs")
            with store._transaction():
                insert(store._connection, "about", [("kind", cls.kind)], "INSERT OR IGNORE")
                begin(store)
                store._begin_session()
        except BaseException:
            store.abandon()
            raise
        return store

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        failed = isinstance(error, Exception) and not isinstance(error, Stopped)
        self.abandon() if failed else self.close()

    def close(self) -> None:
        """Close the file; a writer also removes the auxiliary files of SQLite."""
        try:
            if self._lock is not None:
                # Fails while a reader is active; then the next coordinator removes them.
                with contextlib.suppress(sqlite3.OperationalError):
                    self._connection.execute("PRAGMA busy_timeout = 0")
                    self._connection.execute("PRAGMA journal_mode = DELETE")
            self._connection.close()
        finally:
            if self._lock is not None:
                self._lock.release()

    def abandon(self) -> None:
        """Close the file; delete it if it is new and has no run yet."""
        if not self._is_new or self._lock is None or self._has_runs():
            self.close()
            return
        self._connection.close()
        for suffix in ("", "-wal", "-shm", "-journal"):
            Path(f"{self.path}{suffix}").unlink(missing_ok=True)
        self._lock.release()

    def _has_runs(self) -> bool:
        try:
            return bool(self._connection.execute("SELECT 1 FROM runs LIMIT 1").fetchone())
        except sqlite3.Error:  # a full disk: then there may be some
            return True

    def check_pages(self) -> None:
        """Refuse a store with a damaged page, before anything is written or copied."""
        storefile.check_pages(self.path, self._connection)

    def _check_names(self) -> None:
        names = [name for (name,) in self._rows("SELECT name FROM suite")] + self.methods()
        names += [name for problem in self.problems() for name in problem[:3]]
        if not all(map(is_printable_name, names)):
            raise damaged(self.path, "names that uaos does not write, with control characters")
        functions = {} if self.suite_file else titles(self.suite)
        if functions and not all(
            p.function in functions and p.instance is not None for p in self.problems()
        ):
            raise damaged(self.path, f"problems that the suite {self.suite} does not have")

    # Reading

    def outcomes(self, method: str | None = None, *, traces: bool = False) -> list[Outcome]:
        """Return the outcome of every finished run, or of those of one method.

        `traces` reads the improvements, too; runs with a damaged trace are left out then.
        """
        if method is not None and method not in self.methods():
            raise UnknownName("method", method, self.methods(), hint=f"(in {self.path})")
        where = is_whole("runs") + ("" if method is None else " AND methods.name = ?")
        tables, columns = _JOINED, _COLUMNS
        if traces:
            # Every run has a trace, which may be empty; a run without one is damaged.
            tables += " JOIN traces ON traces.run = runs.id"
            where += f" AND {is_whole('traces')}"
            columns += ", traces.data"
        return self._rows(
            f"SELECT {columns} FROM {tables} WHERE {where} ORDER BY {_ORDER}",
            () if method is None else (method,),
            _outcome,
        )

    def failures(self) -> list[Outcome]:
        """Return the runs that failed; their `reason` says why."""
        where = f"{is_whole('runs')} AND runs.status = 'failed'"
        query = f"SELECT {_COLUMNS} FROM {_JOINED} WHERE {where} ORDER BY {_ORDER}"
        return self._rows(query, (), _outcome)

    def table(self) -> RunTable:
        """Return all finished runs in columns: faster and smaller than :meth:`outcomes`."""
        run = self._connection.execute
        # In one transaction, or a coordinator may add runs in between.
        with reading(self.path), contextlib.closing(self._connection.cursor()) as cursor:
            if not self._connection.in_transaction:
                cursor.execute("BEGIN")
            try:
                methods, problems = (
                    np.array([number for (number,) in run(f"SELECT id FROM {table} ORDER BY id")])
                    for table in ("methods", "problems")
                )
                rows, most = run("SELECT COUNT(*), MAX(evaluations) FROM runs").fetchone()
                integers = np.zeros((len(_INTEGERS), rows), np.int64)
                reals = np.zeros((len(_REALS), rows))
                failed = np.zeros(rows, bool)
                # This takes most of the memory; 32 bits suffice below 2^31 evaluations.
                kind = np.int32 if isinstance(most, int) and most < 2**31 else np.int64
                hits = np.zeros((rows, len(TARGETS)), kind)
                end = 0
                # The order is that of an index: nothing has to be sorted.
                for column in whole_columns(cursor, "runs", "method, problem, repetition"):
                    start, end = end, end + len(column["id"])
                    integers[:, start:end] = [column[name] for name in _INTEGERS]
                    reals[:, start:end] = np.array([column[n] for n in _REALS], float)  # None: NaN
                    failed[start:end] = [status == b"failed" for status in column["status"]]
                    packed = np.frombuffer(b"".join(column["hits"]), "<i8")
                    hits[start:end] = packed.reshape(end - start, len(TARGETS))
                names, records = tuple(self.methods()), tuple(self.problems())
            finally:
                self._connection.rollback()
        integers, reals = integers[:, :end], reals[:, :end]
        reals[0, np.isnan(reals[0])] = np.inf
        named: dict[str, Any] = dict(zip((*_INTEGERS, *_REALS), (*integers, *reals), strict=True))
        named["method"] = np.searchsorted(methods, named["method"]).astype(np.int32)
        named["problem"] = np.searchsorted(problems, named["problem"]).astype(np.int32)
        return RunTable(names, records, **named, failed=failed[:end], hits=hits[:end])

    def methods(self) -> list[str]:
        """Return the names of the methods, in the order in which they were added."""
        return [name for (name,) in self._rows("SELECT name FROM methods ORDER BY id")]

    def problems(self) -> list[ProblemRecord]:
        """Return the problems, in the order in which they were added."""
        query = "SELECT name, function, category, dimension, instance, optimum FROM problems"
        rows = map(ProblemRecord._make, self._rows(f"{query} ORDER BY id"))
        return [p._replace(optimum=float("nan")) if p.optimum is None else p for p in rows]

    def configurations(self) -> dict[str, dict[str, object]]:
        """Return the full configuration of each method."""
        query = "SELECT name, configuration FROM methods ORDER BY id"
        return dict(self._rows(query, make=lambda name, text: (name, as_mapping(text))))

    def planned(self) -> dict[str, dict[str, tuple[int, int]]]:
        """Return repetitions and budget by method and problem."""
        planned: dict[str, dict[str, tuple[int, int]]] = {}
        for method, problem, *rest in self._rows(
            "SELECT methods.name, problems.name, repetitions, budget FROM plan JOIN methods ON "
            "methods.id = method JOIN problems ON problems.id = problem ORDER BY method, problem"
        ):
            planned.setdefault(method, {})[problem] = tuple(rest)
        return planned

    @property
    def name(self) -> str:
        """Return the name of the file as text, even if it is not valid UTF-8."""
        return os.fsencode(self.path.name).decode(errors="replace")

    @property
    def suite(self) -> str:
        """Return the name of the suite that the problems are of."""
        rows = self._rows("SELECT name FROM suite")
        return str(rows[0][0]) if rows else ""

    @property
    def suite_file(self) -> str:
        """Return the name of the suite's file, without its folder; empty if it has none."""
        rows = self._rows("SELECT file FROM suite")
        return Path(rows[0][0]).name if rows else ""

    def load_suite(self) -> Suite:
        """Rebuild the problems of the store, so that they can be evaluated.

        A suite file must have been loaded before (:func:`uaos.suite`): a store may come from an
        untrusted source, so the copy of the file in it is never run.
        """
        problems = self.problems()
        ((name, file, source),) = self._filled("SELECT name, file, source FROM suite")
        if not source:
            return built_in_suite(name, [(p.function, p.dimension, p.instance) for p in problems])
        if source not in dict(loaded_files()).values():
            raise InvalidFile(
                f"{self.path}: its suite is the Python file {file!r}, which is not run from a "
                "store; load the file first, with uaos.suite(...)"
            )
        return suite_in(load_source(file, source)).select(p.name for p in problems)

    @property
    def seed(self) -> int:
        """Return the experiment's seed."""
        query = "SELECT value FROM about WHERE key = 'seed'"
        return int(self._filled(query, make=int)[0])

    @property
    def sessions(self) -> list[tuple[str, dict[str, str]]]:
        """Return when the experiment was started and continued, and with which package versions."""
        query = "SELECT started, versions FROM sessions ORDER BY id"
        return self._rows(query, make=lambda started, text: (started, as_mapping(text)))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.path}>"

    @property
    def commands(self) -> list[str]:
        """Return the command lines that wrote the store, each once; work from Python has none."""
        query = f"SELECT value FROM about WHERE key GLOB '{COMMAND_KEY}*' ORDER BY key"
        return [command for (command,) in self._rows(query)]

    def tallies(self) -> dict[str, Tally]:
        """Return the progress of each method."""
        totals = {
            name: sum(n for n, _ in problems.values()) for name, problems in self.planned().items()
        }
        last = 8 * (len(TARGETS) - 1)
        # A writer has removed damaged runs.
        whole = is_whole("runs") if self._lock is None else "1"
        counts = dict(self._rows(
            "SELECT name, SUM(status = 'done'), SUM(status = 'failed'), "
            f"SUM(status = 'done' AND substr(hits, {last + 1}, 8) != ?) "
            f"FROM runs JOIN methods ON methods.id = method WHERE {whole} "
            "GROUP BY method", (_NEVER,), lambda name, *counted: (name, tuple(map(int, counted))),
        ))  # fmt: skip
        tallies = {}
        for name in self.methods():
            counted = counts.get(name, (0, 0, 0))
            tallies[name] = Tally(totals.get(name, counted[0] + counted[1]), *counted)
        return tallies

    def history(self, method: str, problem: str, repetition: int = 1) -> History | None:
        """Return the thinned history of a run; None if there is none or it is damaged."""
        return self.course(method, problem, repetition)[0]

    def course(
        self, method: str, problem: str, repetition: int = 1
    ) -> tuple[History | None, tuple[int, ...] | None]:
        """Return the thinned history of a run, and its restarts; None if there is no course.

        Restarts are the evaluations after which the optimizer had converged or started afresh, the
        first hundred.
        """
        packed = self.packed_course((method, problem, repetition))
        with reading(self.path):
            return (None, None) if packed is None else unpack_course(packed)

    def packed_course(self, key: tuple[str, str, int]) -> bytes | None:
        """Return the course of a run as it is stored."""
        rows = self._rows(
            f"SELECT data FROM {_JOINED} JOIN courses ON courses.run = runs.id "
            "WHERE methods.name = ? AND problems.name = ? AND repetition = ? "
            f"AND {is_whole('courses')}", tuple(key),
        )  # fmt: skip
        return rows[0][0] if rows else None

    def traces(self, runs: Iterable[int]) -> dict[int, Trace]:
        """Return the improvements of runs, by their ids in :meth:`table`; omit damaged ones."""
        query = f"SELECT data, {is_whole('traces')} FROM traces WHERE run = ?"
        traces = {}
        with reading(self.path):
            for number in map(int, runs):
                data, whole = self._connection.execute(query, (number,)).fetchone() or (b"", False)
                if whole:
                    traces[number] = unpack_trace(data)
        return traces

    def damaged(self) -> int:
        """Return how many runs are omitted because their row is damaged."""
        rows = self._rows(f"SELECT COUNT(*) FROM runs WHERE NOT ({is_whole('runs')})")
        return int(rows[0][0])

    # Writing, by the coordinator

    def missing(self, plan: Plan) -> list[Unit]:
        """Return the units of the plan that are neither done nor failed, in a fixed order."""
        methods, problems = self._known("methods"), self._known("problems")
        over = set(self._rows("SELECT method, problem, repetition FROM runs"))
        units = [
            plan.unit(method, problem, repetition)
            for method in plan.competitors
            for problem in plan.suite
            for repetition in range(1, plan.repetitions + 1)
            if (methods.get(method), problems.get(problem.name), repetition) not in over
        ]
        # Seeds are hashes: ordered by them, slow units are spread evenly.
        return sorted(units, key=lambda unit: unit.seed)

    def record(self, finished: Iterable[Finished]) -> None:
        """Write outcomes, all of them or none."""
        with self._transaction():
            for outcome, packed in finished:
                self._put(outcome, packed)

    def forget_failures(self) -> int:
        """Delete the failed runs, so that they run again; return their number."""
        failed = self._rows("SELECT id FROM runs WHERE status = 'failed'")
        return self._delete(number for (number,) in failed)

    def remove_damaged(self, *tables: str) -> int:
        """Remove runs with a damaged row in these tables; return their number."""
        damaged_runs: set[int] = set()
        for table in () if self._is_new else tables:
            key = "id" if table == "runs" else "run"
            wrong = f"SELECT {key} FROM {table} WHERE NOT {is_whole(table)}"
            if table == "traces":
                wrong += " UNION SELECT id FROM runs WHERE id NOT IN (SELECT run FROM traces)"
            damaged_runs.update(number for (number,) in self._rows(wrong))
        self.removed += len(damaged_runs)
        return self._delete(damaged_runs)

    # Inside

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        """Write everything inside the block, or nothing."""
        execute = self._connection.execute
        try:
            execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._ids.clear()  # ids that were not written
                with contextlib.suppress(sqlite3.Error):  # a full disk has rolled back already
                    execute("ROLLBACK")
                raise
            execute("COMMIT")
        except sqlite3.DatabaseError as error:
            # Other subclasses are programming errors; the class itself means a damaged file.
            if type(error) in (sqlite3.OperationalError, sqlite3.DatabaseError):
                raise unusable(self.path, error, "written") from error
            raise

    def _rows(
        self, query: str, values: tuple[object, ...] = (), make: Callable[..., Any] | None = None
    ) -> list[Any]:
        """Return the rows of a query, each converted by `make`."""
        with reading(self.path):
            rows = self._connection.execute(query, values).fetchall()
            return rows if make is None else [make(*row) for row in rows]

    def _delete(self, runs: Iterable[int]) -> int:
        chosen = [(number,) for number in runs]
        with self._transaction():
            for table, column in (("traces", "run"), ("courses", "run"), ("runs", "id")):
                self._connection.executemany(f"DELETE FROM {table} WHERE {column} = ?", chosen)
        return len(chosen)

    def _filled(self, query: str, make: Callable[..., Any] | None = None) -> list[Any]:
        """Return the rows of a query; refuse a store without an experiment."""
        if rows := self._rows(query, make=make):
            return rows
        raise InvalidFile(f"{self.path}: holds no experiment yet; start the experiment again")

    def identity(self) -> Identity:
        """Return the properties that all parts of an experiment share."""
        identity = dict(
            self._rows("SELECT key, CAST(value AS INTEGER) FROM about WHERE key = 'seed'")
        )
        for name, content in self._rows("SELECT name, hash FROM suite"):
            identity |= {"suite": name, CONTENT: content}
        for name, *values, bounds in self._rows(
            "SELECT name, dimension, optimum, bounds FROM problems"
        ):
            identity[f"problem {name}"] = [*values, np.frombuffer(bounds, "<f8").tolist()]
        for problems in self.planned().values():
            identity |= {f"budget on {name}": budget for name, (_, budget) in problems.items()}
        # A suite file may be corrected if all runs with the former one failed.
        identity |= self._rows(
            "SELECT key, value FROM about JOIN methods ON key = ? || name WHERE EXISTS "
            "(SELECT 1 FROM runs WHERE method = methods.id AND status = 'done')", (CODE,)
        )  # fmt: skip
        return identity | {
            f"method {name}": configuration for name, configuration in self.configurations().items()
        }

    def _check_against(self, plan: Plan) -> None:
        if different := differences(self.identity(), plan.identity()):
            raise PlanConflict(
                f"{self.path} holds another experiment. {'; '.join(different)}. Use another "
                "store, restore what was changed, or give the method another name"
            )

    def _add(self, plan: Plan) -> None:
        insert(self._connection, "about", [("seed", str(plan.seed))], "INSERT OR IGNORE")
        insert(self._connection, "about", plan.codes().items(), "INSERT OR REPLACE")
        self.add_suite(plan.suite)
        self.add_methods(
            {name: json.dumps(entry.to_dict()) for name, entry in plan.competitors.items()}
        )
        each = {p.name: (plan.repetitions, plan.evaluations(p)) for p in plan.suite}
        self.add_plan(dict.fromkeys(plan.competitors, each))

    def add_plan(self, planned: Mapping[str, Mapping[str, tuple[int, int]]]) -> None:
        """Write the part of the plan that is new, within a transaction."""
        methods, problems, there = self._known("methods"), self._known("problems"), self.planned()
        rows = [
            (methods[method], problems[problem], *each)
            for method, problems_of_method in planned.items()
            for problem, each in problems_of_method.items()
            if each > there.get(method, {}).get(problem, (0, 0))
        ]
        insert(self._connection, "plan", rows, "INSERT OR REPLACE")

    def add_suite(self, suite: Suite) -> None:
        """Write the suite and its problems, within a transaction."""
        insert(
            self._connection, "suite", [(1, suite.name, suite.file, suite.source, suite.hash)],
            "INSERT OR IGNORE",
        )  # fmt: skip
        self.add_named("problems", (
            (p.name, p.function, str(p.group), p.dimension, p.instance, p.optimum,
             p.bounds.astype("<f8").tobytes())
            for p in suite
        ))  # fmt: skip

    def add_methods(self, configurations: dict[str, str]) -> None:
        """Write methods and their configurations (as JSON), within a transaction."""
        self.add_named("methods", configurations.items())

    def add_named(self, table: str, rows: Iterable[tuple[Any, ...]]) -> dict[str, int]:
        """Write new methods or problems; return the numbers of all by name."""
        ids = self._known(table)
        new = {row[0]: row for row in rows if row[0] not in ids}
        ids |= {name: n for n, name in enumerate(new, 1 + max(ids.values(), default=0))}
        insert(self._connection, table, ((ids[name], *row) for name, row in new.items()))
        return ids

    def _known(self, table: str) -> dict[str, int]:
        """Return the ids of the methods or the problems by name."""
        if table not in self._ids:
            self._ids[table] = dict(self._rows(f"SELECT name, id FROM {table}"))
        return self._ids[table]

    def add_command(self, command: str) -> None:
        """Write a command line, unless it is empty or there already, within a transaction."""
        recorded = self.commands
        if command and command not in recorded:
            key = f"{COMMAND_KEY}{len(recorded) + 1:06}"
            insert(self._connection, "about", [(key, command)])

    def _begin_session(self) -> None:
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        number = self._rows("SELECT COALESCE(MAX(id), 0) + 1 FROM sessions")[0][0]
        insert(self._connection, "sessions", [(number, now, json.dumps(versions()))])
        self._session = number
        self.add_command(current_command())

    def _put(self, outcome: Outcome, packed: bytes | None) -> None:
        """Write a run, replacing any earlier one, within a transaction."""
        key = self._known("methods")[outcome.method], self._known("problems")[outcome.problem]
        self._put_row(
            (*key, outcome.repetition, outcome.seed, outcome.budget, outcome.status,
             outcome.evaluations, None if outcome.best == float("inf") else outcome.best,
             outcome.error, outcome.hits.astype("<i8").tobytes(), outcome.seconds, outcome.reason,
             self._session), pack_trace(outcome.trace), packed,
        )  # fmt: skip

    def _put_row(self, row: tuple[object, ...], trace: bytes, course: bytes | None) -> None:
        """Write a run as a row of its table, without its number."""
        run = self._connection.execute
        number = run(
            "SELECT id FROM runs WHERE method = ? AND problem = ? AND repetition = ? "
            "AND seed = ? AND budget = ?", row[:5],
        ).fetchone()  # fmt: skip
        if number is None:
            number = run("SELECT COALESCE(MAX(id), 0) + 1 FROM runs").fetchone()
        parts = [("runs", row), ("traces", (trace,)), ("courses", (course,))]
        for table, values in parts if course is not None else parts[:2]:
            insert(self._connection, table, [(number[0], *values)], "INSERT OR REPLACE")


S = TypeVar("S", bound=Store)


def open_store(path: str | os.PathLike[str], *kinds: type[S]) -> S:
    """Open a file, checked once, as a store of one of the given classes, for reading.

    Parameters
    ----------
    path : str or path
    *kinds : type
        Classes of stores; which of them the file holds is written in it.

    Raises
    ------
    InvalidFile
        If the file is not a store, is damaged, or holds a store of another kind.
    """
    place = as_path(path)
    connection = storefile.open_checked(place)
    try:
        with reading(place):
            row = connection.execute("SELECT value FROM about WHERE key = 'kind'").fetchone()
        matching = [kind for kind in kinds if row is None or row[0] == kind.kind]
        if not matching and row[0] not in _COMMANDS:
            raise damaged(place, "neither a benchmark nor a tuning")
        if not matching:
            expected = " or ".join(kind.kind for kind in kinds)
            raise InvalidFile(
                f"{place}: the store of a {row[0]}; expected that of a {expected}. "
                f"`{_COMMANDS[row[0]]}` reads it"
            )
        store = matching[0](place, connection, None)
        store._check_names()
    except BaseException:
        connection.close()
        raise
    return store


def _outcome(*row: Any) -> Outcome:
    *head, best, error, hits, seconds, status, reason = row[:16]
    trace = unpack_trace(row[16]) if len(row) > 16 and row[16] is not None else NO_TRACE
    best = float("inf") if best is None else best
    error = float("nan") if error is None else error
    return Outcome._make(
        (*head, best, error, hits_from_bytes(hits), trace, seconds, status, reason)
    )
