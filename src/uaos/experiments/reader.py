"""What a store holds: the experiment that was planned, and the runs that are finished."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from uaos.checks import is_printable_name
from uaos.errors import InvalidFile, UnknownName
from uaos.experiments.database import Database
from uaos.experiments.plan import CODE, CONTENT, Identity
from uaos.experiments.recorder import (
    NO_TRACE,
    TARGETS,
    Trace,
    hits_from_bytes,
    unpack_course,
    unpack_trace,
)
from uaos.experiments.rows import is_whole
from uaos.experiments.run_table import ProblemRecord, RunTable, read_columns
from uaos.experiments.storefile import as_mapping, damaged, reading
from uaos.experiments.unit import Outcome
from uaos.history import History
from uaos.loading import load_source, loaded_files
from uaos.problems import Suite, built_in_suite, titles
from uaos.problems.problem import suite_in

_COLUMNS = (
    "methods.name, problems.name, function, category, dimension, instance, repetition, runs.seed, "
    "runs.budget, evaluations, best, error, hits, seconds, status, reason"
)
_JOINED = (
    "runs JOIN methods ON methods.id = runs.method JOIN problems ON problems.id = runs.problem"
)
_ORDER = "runs.method, runs.problem, repetition, runs.id"
#: Prefix of the keys of recorded command lines.
COMMAND_KEY = "command "
_NEVER = (-1).to_bytes(8, "little", signed=True)


class Tally(NamedTuple):
    """Progress of a method: runs planned, done, failed, and solved among those done."""

    total: int
    done: int
    failed: int
    solved: int


class StoreReader:
    """Everything that can be read from a store. Made by :meth:`Store.open`.

    Parameters
    ----------
    database : Database
        Connection to the file.
    """

    def __init__(self, database: Database) -> None:
        self.database, self.path = database, database.path

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.path}>"

    # The experiment

    @property
    def name(self) -> str:
        """Return the name of the file as text, even if it is not valid UTF-8."""
        return os.fsencode(self.path.name).decode(errors="replace")

    @property
    def suite(self) -> str:
        """Return the name of the suite that the problems are of."""
        rows = self.database.rows("SELECT name FROM suite")
        return str(rows[0][0]) if rows else ""

    @property
    def suite_file(self) -> str:
        """Return the name of the suite's file, without its folder; empty if it has none."""
        rows = self.database.rows("SELECT file FROM suite")
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
        return self.database.rows(query, make=lambda started, text: (started, as_mapping(text)))

    def methods(self) -> list[str]:
        """Return the names of the methods, in the order in which they were added."""
        return [name for (name,) in self.database.rows("SELECT name FROM methods ORDER BY id")]

    def problems(self) -> list[ProblemRecord]:
        """Return the problems, in the order in which they were added."""
        query = "SELECT name, function, category, dimension, instance, optimum FROM problems"
        rows = map(ProblemRecord._make, self.database.rows(f"{query} ORDER BY id"))
        return [p._replace(optimum=float("nan")) if p.optimum is None else p for p in rows]

    def configurations(self) -> dict[str, dict[str, object]]:
        """Return the full configuration of each method."""
        query = "SELECT name, configuration FROM methods ORDER BY id"
        return dict(self.database.rows(query, make=lambda name, text: (name, as_mapping(text))))

    def planned(self) -> dict[str, dict[str, tuple[int, int]]]:
        """Return repetitions and budget by method and problem."""
        planned: dict[str, dict[str, tuple[int, int]]] = {}
        for method, problem, *rest in self.database.rows(
            "SELECT methods.name, problems.name, repetitions, budget FROM plan JOIN methods ON "
            "methods.id = method JOIN problems ON problems.id = problem ORDER BY method, problem"
        ):
            planned.setdefault(method, {})[problem] = tuple(rest)
        return planned

    @property
    def commands(self) -> list[str]:
        """Return the command lines that wrote the store, each once; work from Python has none."""
        query = f"SELECT value FROM about WHERE key GLOB '{COMMAND_KEY}*' ORDER BY key"
        return [command for (command,) in self.database.rows(query)]

    def identity(self) -> Identity:
        """Return the properties that all parts of an experiment share."""
        identity = dict(
            self.database.rows("SELECT key, CAST(value AS INTEGER) FROM about WHERE key = 'seed'")
        )
        for name, content in self.database.rows("SELECT name, hash FROM suite"):
            identity |= {"suite": name, CONTENT: content}
        for name, *values, bounds in self.database.rows(
            "SELECT name, dimension, optimum, bounds FROM problems"
        ):
            identity[f"problem {name}"] = [*values, np.frombuffer(bounds, "<f8").tolist()]
        for problems in self.planned().values():
            identity |= {f"budget on {name}": budget for name, (_, budget) in problems.items()}
        # A suite file may be corrected if all runs with the former one failed.
        identity |= self.database.rows(
            "SELECT key, value FROM about JOIN methods ON key = ? || name WHERE EXISTS "
            "(SELECT 1 FROM runs WHERE method = methods.id AND status = 'done')", (CODE,)
        )  # fmt: skip
        return identity | {
            f"method {name}": configuration for name, configuration in self.configurations().items()
        }

    def _filled(self, query: str, make: Callable[..., Any] | None = None) -> list[Any]:
        """Return the rows of a query; refuse a store without an experiment."""
        if rows := self.database.rows(query, make=make):
            return rows
        raise InvalidFile(f"{self.path}: holds no experiment yet; start the experiment again")

    def check_names(self) -> None:
        """Refuse names that uaos does not write."""
        names = [name for (name,) in self.database.rows("SELECT name FROM suite")] + self.methods()
        names += [name for problem in self.problems() for name in problem[:3]]
        if not all(map(is_printable_name, names)):
            raise damaged(self.path, "names that uaos does not write, with control characters")
        functions = {} if self.suite_file else titles(self.suite)
        if functions and not all(
            p.function in functions and p.instance is not None for p in self.problems()
        ):
            raise damaged(self.path, f"problems that the suite {self.suite} does not have")

    # Its runs

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
        return self.database.rows(
            f"SELECT {columns} FROM {tables} WHERE {where} ORDER BY {_ORDER}",
            () if method is None else (method,),
            _outcome,
        )

    def failures(self) -> list[Outcome]:
        """Return the runs that failed; their `reason` says why."""
        where = f"{is_whole('runs')} AND runs.status = 'failed'"
        query = f"SELECT {_COLUMNS} FROM {_JOINED} WHERE {where} ORDER BY {_ORDER}"
        return self.database.rows(query, (), _outcome)

    def table(self) -> RunTable:
        """Return all finished runs in columns: faster and smaller than :meth:`outcomes`."""
        with self.database.snapshot():
            columns = read_columns(self.database)
            return RunTable(tuple(self.methods()), tuple(self.problems()), **columns)

    def tallies(self) -> dict[str, Tally]:
        """Return the progress of each method."""
        totals = {
            name: sum(n for n, _ in problems.values()) for name, problems in self.planned().items()
        }
        last = 8 * (len(TARGETS) - 1)
        # A writer has removed damaged runs.
        whole = "1" if self.database.writable else is_whole("runs")
        counts = dict(self.database.rows(
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
        rows = self.database.rows(
            f"SELECT data FROM {_JOINED} JOIN courses ON courses.run = runs.id "
            "WHERE methods.name = ? AND problems.name = ? AND repetition = ? "
            f"AND {is_whole('courses')}", tuple(key),
        )  # fmt: skip
        return rows[0][0] if rows else None

    def traces(self, runs: Iterable[int]) -> dict[int, Trace]:
        """Return the improvements of runs, by their ids in :meth:`table`; omit damaged ones."""
        query = f"SELECT data FROM traces WHERE run = ? AND {is_whole('traces')}"
        return {
            number: trace
            for number in map(int, runs)
            for trace in self.database.rows(query, (number,), unpack_trace)
        }

    def damaged(self) -> int:
        """Return how many runs are omitted because their row is damaged."""
        rows = self.database.rows(f"SELECT COUNT(*) FROM runs WHERE NOT ({is_whole('runs')})")
        return int(rows[0][0])


def _outcome(*row: Any) -> Outcome:
    *head, best, error, hits, seconds, status, reason = row[:16]
    trace = unpack_trace(row[16]) if len(row) > 16 and row[16] is not None else NO_TRACE
    best = float("inf") if best is None else best
    error = float("nan") if error is None else error
    return Outcome._make(
        (*head, best, error, hits_from_bytes(hits), trace, seconds, status, reason)
    )
