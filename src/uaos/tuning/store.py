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
from typing import Any

import numpy as np

from uaos.configuration import Configuration
from uaos.errors import UaosError, UnknownName
from uaos.experiments.records import Outcome, Unit
from uaos.experiments.storefile import (
    Lock,
    check,
    check_folder,
    connect,
    create,
    damaged,
    disconnect,
    transaction,
)
from uaos.experiments.versions import versions
from uaos.tuning.records import TUNING, Candidate, Cost, Elimination, Elite, Step, Tuning

__all__ = ["Candidate", "Cost", "Elimination", "Elite", "Step", "Tuning", "TuningStore"]

_RECORD = ("candidates", "steps", "eliminations", "elites", "results")
_RUNS = (
    "configuration, function, dimension, instance, seed, budget, evaluations, error, hits, "
    "seconds, status, reason"
)


class TuningStore:
    """The runs and the record of tunings; see :meth:`open` and :meth:`create_or_resume`.

    A run is an :class:`~uaos.experiments.Outcome` whose method is the configuration's key.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: Lock | None) -> None:
        self.path = path
        self._connection = connection
        self._lock = lock
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

    # Runs

    def key(self, configuration: Configuration) -> str:
        """What tells a configuration from others: a hash of all but name, reference and note."""
        known = self._keys.get(id(configuration))
        if known is not None:
            return known[1]
        data = configuration.to_dict()
        text = _canonical({k: v for k, v in data.items() if k not in ("name", "reference", "note")})
        made = _hash(text)
        self._keys[id(configuration)] = (configuration, made)
        self._unwritten[made] = text
        return made

    def configuration(self, key: str, name: str = "unnamed") -> Configuration:
        """The configuration that has this key."""
        rows = self._rows("SELECT configuration FROM configurations WHERE key = ?", (key,))
        if not rows:
            raise UnknownName("configuration", key, (), hint=f"(in {self.path})")
        return Configuration.from_dict({**json.loads(rows[0][0]), "name": name})

    def cached(self, budget: int | None = None) -> dict[Unit, Outcome]:
        """All runs, or those with this budget."""
        where, values = ("", ()) if budget is None else (" WHERE budget = ?", (budget,))
        found = {}
        for row in self._rows(f"SELECT {_RUNS} FROM runs{where}", values):
            key, function, dimension, instance, seed, budget, evaluations, error, hits, *rest = row
            unit = Unit(key, function, dimension, instance, 1, seed, budget)
            at = np.frombuffer(hits, "<i8").astype(np.int64)
            found[unit] = Outcome(*unit, evaluations, _number(error), at, *rest)
        return found

    def record_runs(self, outcomes: Iterable[Outcome]) -> None:
        """Write runs, all of them or none."""
        rows = [
            (o.method, o.function, o.dimension, o.instance, o.seed, o.budget, o.evaluations,
             o.error, o.hits.astype("<i8").tobytes(), o.seconds, o.status, o.reason)
            for o in outcomes
        ]  # fmt: skip
        self._write([(f"INSERT OR REPLACE INTO runs ({_RUNS}) VALUES ({_marks(12)})", rows)])

    def forget_failures(self) -> int:
        """Let the failed runs run again; how many there are."""
        with transaction(self._connection):
            return self._connection.execute("DELETE FROM runs WHERE status = 'failed'").rowcount

    # The record of a tuning

    def begin(self, setup: Mapping[str, Any]) -> int:
        """The number of the tuning with this setup, new or begun again.

        Of a tuning that is begun again the runs stay, and its record is written anew: the same
        setup gives the same race.
        """
        text = _canonical(setup)
        run, values = self._connection.execute, (_hash(text), text, _now(), _text(versions()))
        with transaction(self._connection):
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
        return [
            Tuning(number, key, json.loads(setup), started, json.loads(packages), finished,
                   json.loads(data or "{}"))
            for number, key, setup, started, packages, finished, data in self._rows(query)
        ]  # fmt: skip

    def candidates(self, tuning: int) -> list[Candidate]:
        """Everyone who ever joined the race, by number."""
        query = (
            "SELECT id, iteration, parent, configuration, vals, origin FROM candidates "
            "WHERE tuning = ? ORDER BY id"
        )
        rows = [Candidate(*row) for row in self._rows(query, (tuning,))]
        return [c._replace(values=json.loads(str(c.values))) for c in rows]

    def steps(self, tuning: int) -> list[Step]:
        """The steps of the race, in their order."""
        query = (
            "SELECT iteration, step, instance, seed, alive, best, runs_used, statistic, pvalue, "
            "elapsed FROM steps WHERE tuning = ? ORDER BY iteration, step"
        )
        return [Step(*row[:7], *map(_number, row[7:])) for row in self._rows(query, (tuning,))]

    def eliminations(self, tuning: int) -> list[Elimination]:
        """Who left the race, in the order of leaving."""
        query = (
            "SELECT iteration, step, candidate, rank_sum, reason FROM eliminations "
            "WHERE tuning = ? ORDER BY iteration, step, rowid"
        )
        rows = [Elimination(*row) for row in self._rows(query, (tuning,))]
        return [row._replace(rank_sum=_number(row.rank_sum)) for row in rows]

    def elites(self, tuning: int) -> list[Elite]:
        """Who each iteration ended with, the best first."""
        query = (
            "SELECT iteration, rank, candidate, instances, rank_sum, mean_cost FROM elites "
            "WHERE tuning = ? ORDER BY iteration, rank"
        )
        return [Elite(*row[:4], *map(_number, row[4:])) for row in self._rows(query, (tuning,))]

    def results(self, tuning: int) -> list[Cost]:
        """The table of costs, by candidate and position."""
        query = (
            "SELECT candidate, position, cost FROM results WHERE tuning = ? "
            "ORDER BY candidate, position"
        )
        rows = [Cost(*row) for row in self._rows(query, (tuning,))]
        return [row._replace(cost=_number(row.cost)) for row in rows]

    def close(self) -> None:
        """Close the file; a writer leaves it as one file, with nothing beside it."""
        if self._lock is None:
            self._connection.close()
            return
        try:
            disconnect(self._connection)
        finally:
            self._lock.release()

    def __enter__(self) -> "TuningStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Inside

    def _rows(self, query: str, values: tuple[Any, ...] = ()) -> list[Any]:
        try:
            return self._connection.execute(query, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise damaged(self.path, error) from error

    def _write(self, insertions: Sequence[tuple[str, Sequence[Sequence[Any]]]]) -> None:
        try:
            with transaction(self._connection):
                self._connection.executemany(
                    "INSERT OR IGNORE INTO configurations VALUES (?, ?)", self._unwritten.items()
                )
                for query, rows in insertions:
                    self._connection.executemany(query, rows)
        except sqlite3.OperationalError as error:
            raise UaosError(f"{self.path}: cannot be written ({error})") from error
        self._unwritten.clear()


def _insertion(
    table: str, tuning: int, rows: Iterable[tuple[Any, ...]]
) -> tuple[str, list[tuple[Any, ...]]]:
    made = [(tuning, *map(_plain, row)) for row in rows]
    marks = _marks(len(made[0])) if made else "NULL"
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
