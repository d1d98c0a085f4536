"""Outcomes of experiments: one SQLite file each, written by one coordinator in transactions.

If the coordinator is killed, the file still holds every finished run, and the same plan runs the
missing ones. Readers need not wait for the writer. A damaged row is left out, and its run is
repeated when the experiment is continued.
"""

import datetime
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from typing import Self, TypeVar

from uaos.errors import InvalidFile, UaosError
from uaos.experiments import storefile
from uaos.experiments.database import Database
from uaos.experiments.lock import Lock
from uaos.experiments.plan import CODE, Plan, PlanConflict, differences
from uaos.experiments.provenance import current_command, versions
from uaos.experiments.reader import COMMAND_KEY, StoreReader
from uaos.experiments.recorder import pack_trace
from uaos.experiments.rows import is_whole
from uaos.experiments.storefile import damaged, reading
from uaos.experiments.unit import Finished, Outcome, Unit
from uaos.files import as_path
from uaos.problems import Suite
from uaos.text import join_names

#: The kinds of stores.
BENCHMARK, TUNING = "benchmark", "tuning"
_COMMANDS = {BENCHMARK: "uaos bench", TUNING: "uaos tune"}


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


class Store(StoreReader):
    """The outcomes of an experiment: one SQLite file.

    Open it with :meth:`open` or :meth:`create_or_resume`.

    Parameters
    ----------
    database : Database
        Connection to the file.

    Examples
    --------
    >>> from uaos.experiments import Store
    >>> with Store.open("mine.db") as store:
    ...     print(store.methods(), len(store.table()))
    ['JADE', 'uniform'] 12
    """

    #: The kind of store.
    kind = BENCHMARK

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._session: int | None = None
        self._is_new = False  # whether this process created the file
        #: Number of damaged runs that were removed.
        self.removed = 0

    # Opening and closing

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
                    before.database.check_pages()
                    check_before(before)
            with reading(place):
                store = cls(Database(place, storefile.connect(place, write=True), lock))
        except BaseException:
            lock.release()
            raise
        store._is_new = is_new
        try:
            store.remove_damaged("runs")
            with store.database.transaction():
                store.database.insert("about", [("kind", cls.kind)], "INSERT OR IGNORE")
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
        """Close the file."""
        self.database.close()

    def abandon(self) -> None:
        """Close the file; delete it if it is new and has no run yet."""
        if self._is_new and self.database.writable and not self._has_runs():
            self.database.delete()
        else:
            self.database.close()

    def _has_runs(self) -> bool:
        try:
            return bool(self.database.connection.execute("SELECT 1 FROM runs LIMIT 1").fetchone())
        except sqlite3.Error:  # a full disk: then there may be some
            return True

    # Runs

    def missing(self, plan: Plan) -> list[Unit]:
        """Return the units of the plan that are neither done nor failed, in a fixed order."""
        methods, problems = self.database.numbers("methods"), self.database.numbers("problems")
        over = set(self.database.rows("SELECT method, problem, repetition FROM runs"))
        units = [
            plan.unit(method, problem, repetition)
            for method, problem, repetition in plan.combinations()
            if (methods.get(method), problems.get(problem.name), repetition) not in over
        ]
        # Seeds are hashes: ordered by them, slow units are spread evenly.
        return sorted(units, key=lambda unit: unit.seed)

    def record(self, finished: Iterable[Finished]) -> None:
        """Write outcomes, all of them or none."""
        with self.database.transaction():
            for outcome, packed in finished:
                self._put(outcome, packed)

    def forget_failures(self) -> int:
        """Delete the failed runs, so that they run again; return their number."""
        failed = self.database.rows("SELECT id FROM runs WHERE status = 'failed'")
        return self._delete(number for (number,) in failed)

    def remove_damaged(self, *tables: str) -> int:
        """Remove runs with a damaged row in these tables; return their number."""
        damaged_runs: set[int] = set()
        for table in () if self._is_new else tables:
            key = "id" if table == "runs" else "run"
            wrong = f"SELECT {key} FROM {table} WHERE NOT {is_whole(table)}"
            if table == "traces":
                wrong += " UNION SELECT id FROM runs WHERE id NOT IN (SELECT run FROM traces)"
            damaged_runs.update(number for (number,) in self.database.rows(wrong))
        self.removed += len(damaged_runs)
        return self._delete(damaged_runs)

    def _delete(self, runs: Iterable[int]) -> int:
        chosen = [(number,) for number in runs]
        with self.database.transaction():
            for table, column in (("traces", "run"), ("courses", "run"), ("runs", "id")):
                delete = f"DELETE FROM {table} WHERE {column} = ?"
                self.database.connection.executemany(delete, chosen)
        return len(chosen)

    def _put(self, outcome: Outcome, packed: bytes | None) -> None:
        """Write a run, replacing any earlier one, within a transaction."""
        numbers = self.database.numbers
        method, problem = numbers("methods")[outcome.method], numbers("problems")[outcome.problem]
        self.put_row(
            (method, problem, outcome.repetition, outcome.seed, outcome.budget, outcome.status,
             outcome.evaluations, None if outcome.best == float("inf") else outcome.best,
             outcome.error, outcome.hits.astype("<i8").tobytes(), outcome.seconds, outcome.reason,
             self._session), pack_trace(outcome.trace), packed,
        )  # fmt: skip

    def put_row(self, row: tuple[object, ...], trace: bytes, course: bytes | None) -> None:
        """Write a run as a row of its table, without its number."""
        run = self.database.connection.execute
        number = run(
            "SELECT id FROM runs WHERE method = ? AND problem = ? AND repetition = ? "
            "AND seed = ? AND budget = ?", row[:5],
        ).fetchone()  # fmt: skip
        if number is None:
            number = run("SELECT COALESCE(MAX(id), 0) + 1 FROM runs").fetchone()
        parts = [("runs", row), ("traces", (trace,)), ("courses", (course,))]
        for table, values in parts if course is not None else parts[:2]:
            self.database.insert(table, [(number[0], *values)], "INSERT OR REPLACE")

    # The experiment

    def _check_against(self, plan: Plan) -> None:
        if different := differences(self.identity(), plan.identity()):
            advice = ["use another store", "restore what was changed"]
            if any(reason.startswith(("method ", CODE)) for reason in different):
                advice.append("give the method another name")
            raise PlanConflict(
                f"{self.path} holds another experiment: {'; '.join(different)}. "
                f"To go on, {join_names(advice, 'or')}"
            )

    def _add(self, plan: Plan) -> None:
        self.database.insert("about", [("seed", str(plan.seed))], "INSERT OR IGNORE")
        self.database.insert("about", plan.codes().items(), "INSERT OR REPLACE")
        self.add_suite(plan.suite)
        self.add_methods(
            {name: json.dumps(entry.to_dict()) for name, entry in plan.competitors.items()}
        )
        budgets = {problem.name: plan.evaluations(problem) for problem in plan.suite}
        planned: dict[str, dict[str, tuple[int, int]]] = {}
        for method, problem, repetition in plan.combinations():
            each = planned.setdefault(method, {})
            most, budget = each.get(problem.name, (0, budgets[problem.name]))
            each[problem.name] = (max(most, repetition), budget)
        self.add_plan(planned)

    def add_plan(self, planned: Mapping[str, Mapping[str, tuple[int, int]]]) -> None:
        """Write the part of the plan that is new, within a transaction."""
        methods, problems = self.database.numbers("methods"), self.database.numbers("problems")
        there = self.planned()
        rows = [
            (methods[method], problems[problem], *each)
            for method, problems_of_method in planned.items()
            for problem, each in problems_of_method.items()
            if each > there.get(method, {}).get(problem, (0, 0))
        ]
        self.database.insert("plan", rows, "INSERT OR REPLACE")

    def add_suite(self, suite: Suite) -> None:
        """Write the suite and its problems, within a transaction."""
        row = (1, suite.name, suite.file, suite.source, suite.hash)
        self.database.insert("suite", [row], "INSERT OR IGNORE")
        self.database.insert_named("problems", (
            (p.name, p.function, str(p.group), p.dimension, p.instance, p.optimum,
             p.bounds.astype("<f8").tobytes())
            for p in suite
        ))  # fmt: skip

    def add_methods(self, configurations: dict[str, str]) -> None:
        """Write methods and their configurations (as JSON), within a transaction."""
        self.database.insert_named("methods", configurations.items())

    def add_command(self, command: str) -> None:
        """Write a command line, unless it is empty or there already, within a transaction."""
        recorded = self.commands
        if command and command not in recorded:
            key = f"{COMMAND_KEY}{len(recorded) + 1:06}"
            self.database.insert("about", [(key, command)])

    def _begin_session(self) -> None:
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        number = self.database.rows("SELECT COALESCE(MAX(id), 0) + 1 FROM sessions")[0][0]
        self.database.insert("sessions", [(number, now, json.dumps(versions()))])
        self._session = number
        self.add_command(current_command())


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
        store = matching[0](Database(place, connection, None))
        store.check_names()
    except BaseException:
        connection.close()
        raise
    return store
