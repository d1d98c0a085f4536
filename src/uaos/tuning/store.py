"""What a tuning ran and how it raced: one SQLite file, written by one tuner in transactions.

Killed at any moment, the file opens and holds every run that was finished. The same tuning begun
again takes them from there and races on; several tunings in one file share their runs.
"""

import datetime
import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from uaos.errors import UnknownName
from uaos.experiments import hits
from uaos.experiments.records import Outcome, Unit
from uaos.experiments.storefile import (
    Lock,
    OpenStore,
    as_table,
    check,
    check_folder,
    connect,
    create,
)
from uaos.experiments.versions import versions
from uaos.optimizers.configuration import Configuration
from uaos.tuning.records import (
    TUNING,
    Candidate,
    Cost,
    Elimination,
    Elite,
    Iteration,
    Step,
    Tuning,
)

__all__ = [
    "Candidate",
    "Cost",
    "Elimination",
    "Elite",
    "Iteration",
    "Step",
    "Tuning",
    "TuningStore",
]

_Row = TypeVar("_Row", Iteration, Step, Elimination, Elite, Cost)

_RECORD = ("candidates", "iterations", "steps", "eliminations", "elites", "results")
_RUNS = (
    "configuration, function, dimension, instance, seed, budget, evaluations, error, hits, "
    "seconds, status, reason, session"
)


class TuningStore(OpenStore):
    """The runs and the record of tunings; see :meth:`open` and :meth:`create_or_resume`.

    A run is an :class:`~uaos.experiments.Outcome` whose method is the configuration's key.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: Lock | None) -> None:
        super().__init__(path, connection, lock)
        self._session: int | None = None
        # By identity, as to compare configurations takes as long as to make the key.
        self._keys: dict[int, tuple[Configuration, str]] = {}
        self._unwritten: dict[str, str] = {}

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> "TuningStore":
        """For reading; never writes, and works while a tuner does."""
        place = Path(path)
        check(place, TUNING)
        return cls(place, connect(place), None)

    @classmethod
    def create_or_resume(cls, path: str | os.PathLike[str]) -> "TuningStore":
        """For the one tuner: a new store, or one that holds tunings already."""
        place = Path(path)
        check_folder(place)
        lock = Lock(place, TUNING)
        try:
            if place.exists():
                check(place, TUNING)
            else:
                create(place, TUNING)
            return cls(place, connect(place, write=True), lock)
        except BaseException:
            lock.release()
            raise

    @property
    def sessions(self) -> list[tuple[str, dict[str, str]]]:
        """When runs were made, and with which versions of what."""
        query = "SELECT started, versions FROM sessions ORDER BY id"
        return self._rows(query, make=lambda started, text: (started, as_table(text)))

    # Runs

    def key(self, configuration: Configuration) -> str:
        """What tells a configuration from others: a hash of what it runs, whatever its name."""
        known = self._keys.get(id(configuration))
        if known is not None:
            return known[1]
        data = configuration.to_dict()
        text = _canonical({k: data[k] for k in ("version", "method", "de") if k in data})
        made = _hash(text)
        self._keys[id(configuration)] = (configuration, made)
        self._unwritten[made] = text
        return made

    def configuration(self, key: str, name: str = "unnamed") -> Configuration:
        """The configuration that has this key."""
        query = "SELECT key, configuration FROM configurations WHERE key = ?"
        rows = self._rows(query, (key,), _keyed_table)
        if not rows:
            raise UnknownName("configuration", key, (), hint=f"(in {self.path})")
        return Configuration.from_dict({**rows[0], "name": name})

    def cached(self) -> dict[Unit, Outcome]:
        """All runs, in the order in which they ended."""
        return dict(self._rows(f"SELECT {_RUNS} FROM runs ORDER BY rowid", make=_run))

    def record_runs(self, outcomes: Iterable[Outcome]) -> None:
        """Write runs, all of them or none."""
        if self._session is None:
            self._session = self._begin_session()
        rows = [
            (o.method, o.function, o.dimension, o.instance, o.seed, o.budget, o.evaluations,
             o.error, o.hits.astype("<i8").tobytes(), o.seconds, o.status, o.reason, self._session)
            for o in outcomes
        ]  # fmt: skip
        self._write([(f"INSERT OR REPLACE INTO runs ({_RUNS}) VALUES ({_marks(13)})", rows)])

    def forget_failures(self) -> int:
        """Let the failed runs run again; how many there are."""
        with self._transaction():
            return self._connection.execute("DELETE FROM runs WHERE status = 'failed'").rowcount

    # The record of a tuning

    def begin(self, setup: Mapping[str, Any]) -> int:
        """The number of the tuning with this setup, new or begun again.

        Of a tuning that is begun again the runs stay, and its record is written anew: the same
        setup gives the same race.
        """
        text = _canonical(setup)
        run, values = self._connection.execute, (_hash(text), text, _now(), _text(versions()))
        with self._transaction():
            run(
                "INSERT INTO tunings (key, setup, started, versions) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (key) DO UPDATE SET versions = excluded.versions, finished = NULL, "
                "data = NULL", values,
            )  # fmt: skip
            number = int(run("SELECT id FROM tunings WHERE key = ?", values[:1]).fetchone()[0])
            for table in _RECORD:
                run(f"DELETE FROM {table} WHERE tuning = ?", (number,))
        return number

    def add_candidates(self, tuning: int, candidates: Iterable[Candidate]) -> None:
        """Write who joins the race."""
        rows = [c._replace(values=_text(c.values)) for c in candidates]  # type: ignore[arg-type]
        self._write([_insertion("candidates", tuning, rows)])

    def add_step(
        self,
        tuning: int,
        step: Step,
        eliminations: Iterable[Elimination] = (),
        results: Iterable[Cost] = (),
    ) -> None:
        """Write a step of the race, with who left and what was measured, all of it or nothing."""
        self._write([
            _insertion("steps", tuning, [step]),
            _insertion("eliminations", tuning, eliminations),
            _insertion("results", tuning, results),
        ])  # fmt: skip

    def add_iteration(self, tuning: int, iteration: Iteration) -> None:
        """Write how a race went."""
        self._write([_insertion("iterations", tuning, [iteration])])

    def add_elites(self, tuning: int, elites: Iterable[Elite]) -> None:
        """Write who an iteration ended with."""
        self._write([_insertion("elites", tuning, elites)])

    def finish(self, tuning: int, data: Mapping[str, Any]) -> None:
        """Note that a tuning is over, and what its tuner has to say about it."""
        query = "UPDATE tunings SET finished = ?, data = ? WHERE id = ?"
        self._write([(query, [(_now(), _text(data), tuning)])])

    def tunings(self) -> list[Tuning]:
        """The tunings, in the order in which they were first begun."""
        query = "SELECT id, key, setup, started, versions, finished, data FROM tunings ORDER BY id"
        return self._rows(query, make=_tuning)

    def candidates(self, tuning: int) -> list[Candidate]:
        """Everyone who ever joined the race, by number."""
        query = (
            "SELECT id, iteration, parent, configuration, vals, origin FROM candidates "
            "WHERE tuning = ? ORDER BY id"
        )
        return self._rows(query, (tuning,), _candidate)

    def iterations(self, tuning: int) -> list[Iteration]:
        """The races that are over, in their order."""
        return self._record("iterations", tuning, Iteration, "iteration")

    def steps(self, tuning: int) -> list[Step]:
        """The steps of the races, in their order."""
        return self._record("steps", tuning, Step, "iteration, step")

    def eliminations(self, tuning: int) -> list[Elimination]:
        """Who left the race, in the order of leaving."""
        return self._record("eliminations", tuning, Elimination, "iteration, step, rowid")

    def elites(self, tuning: int) -> list[Elite]:
        """Who each iteration ended with, the best first."""
        return self._record("elites", tuning, Elite, "iteration, rank")

    def results(self, tuning: int) -> list[Cost]:
        """The table of costs, by candidate and position."""
        return self._record("results", tuning, Cost, "candidate, position")

    # Inside

    def _record(self, table: str, tuning: int, kind: type[_Row], order: str) -> list[_Row]:
        """The rows of a table that belong to a tuning."""
        columns = ", ".join(kind._fields)
        reals = [kind.__annotations__[name] is float for name in kind._fields]
        return self._rows(
            f"SELECT {columns} FROM {table} WHERE tuning = ? ORDER BY {order}",
            (tuning,),
            lambda *row: kind._make(
                _number(value) if real else value for value, real in zip(row, reals, strict=True)
            ),
        )

    def _write(self, insertions: Sequence[tuple[str, Sequence[Sequence[Any]]]]) -> None:
        with self._transaction():
            self._connection.executemany(
                "INSERT OR IGNORE INTO configurations VALUES (?, ?)", self._unwritten.items()
            )
            for query, rows in insertions:
                if rows:
                    self._connection.executemany(query, rows)
        self._unwritten.clear()

    def _begin_session(self) -> int | None:
        """Note once, with the first runs, what makes them."""
        query = "INSERT INTO sessions (started, versions) VALUES (?, ?)"
        with self._transaction():
            return self._connection.execute(query, (_now(), _text(versions()))).lastrowid


def _keyed_table(key: str, text: str) -> dict[str, Any]:
    """A table whose key is its hash."""
    if _hash(text) != key:
        raise ValueError(f"the contents of {key} are not what was written")
    return as_table(text)


def _run(
    key: str, function: int, dimension: int, instance: int, seed: int, budget: int, *came: Any
) -> tuple[Unit, Outcome]:
    unit = Unit(key, function, dimension, instance, 1, seed, budget)
    evaluations, error, at, seconds, status, reason, _ = came
    found = (evaluations, _number(error), hits.from_bytes(at), seconds, status, reason)
    return unit, Outcome(*unit, *found)


def _tuning(
    number: int, key: str, setup: str, started: str, packages: str, finished: str | None,
    data: str | None,
) -> Tuning:  # fmt: skip
    tables = _keyed_table(key, setup), as_table(packages), as_table(data or "{}")
    return Tuning(number, key, tables[0], started, tables[1], finished, tables[2])


def _candidate(*row: Any) -> Candidate:
    found = Candidate(*row)
    return found._replace(values=as_table(row[4]))


def _insertion(
    table: str, tuning: int, rows: Iterable[tuple[Any, ...]]
) -> tuple[str, list[tuple[Any, ...]]]:
    made = [(tuning, *map(_plain, row)) for row in rows]
    marks = _marks(len(made[0]) if made else 0)
    return f"INSERT OR REPLACE INTO {table} VALUES ({marks})", made


def _marks(count: int) -> str:
    return ", ".join("?" * count)


def _plain(value: Any) -> Any:
    """NumPy's numbers as Python's: SQLite would take them for bytes."""
    return value.item() if isinstance(value, np.generic) else value


def _number(value: float | None) -> float:
    """SQLite has no NaN, and keeps NULL for it."""
    return float("nan") if value is None else value


def _canonical(data: Any) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"), default=_plain_or_error)


def _text(data: Any) -> str:
    return json.dumps(data, default=_plain_or_error)


def _plain_or_error(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} cannot be kept in a store: numbers, texts, lists and tables can")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
