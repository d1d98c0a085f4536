"""What a tuning ran and how it raced: the runs of a store, and tables of the races beside them.

Killed at any moment, the file opens and holds every run that was finished. The same tuning begun
again takes them from there and races on; several tunings in one file share their runs.
"""

import datetime
import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np

from uaos.errors import UnknownName
from uaos.experiments.plan import PlanConflict
from uaos.experiments.records import Outcome, Unit, versions
from uaos.experiments.store import TUNING, Store
from uaos.experiments.storefile import Lock, as_mapping, insert
from uaos.optimizers.configuration import Configuration
from uaos.problems import Suite
from uaos.tuning.records import (
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


class TuningStore(Store):
    """The runs and the record of tunings; see :meth:`open` and :meth:`create_or_resume`.

    A run's method is the key of its configuration.
    """

    kind = TUNING

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: Lock | None) -> None:
        super().__init__(path, connection, lock)
        # By identity, as to compare configurations takes as long as to make the key.
        self._keys: dict[int, tuple[Configuration, str]] = {}
        self._unwritten: dict[str, str] = {}

    @classmethod
    def create_or_resume(cls, path: str | os.PathLike[str], suite: Suite) -> Self:  # type: ignore[override]
        """Open a store for the one tuner: a new one, or one that holds tunings already.

        Parameters
        ----------
        path : str or path
        suite : Suite
            The problems to train on. A changed suite file is a
            :class:`~uaos.experiments.PlanConflict`. Damaged runs are removed, so that they run
            again.
        """
        return cls._writer(
            path, lambda there: there._check_suite(suite), lambda store: store.add_suite(suite)
        )

    def _check_suite(self, suite: Suite) -> None:
        if differences := self._suite_differences(suite):
            raise PlanConflict(
                f"{self.path} holds tunings on other problems. {'; '.join(differences[:8])}. "
                "Use another file"
            )

    # Runs

    def key(self, configuration: Configuration) -> str:
        """What tells a configuration from others: a hash of what it runs, whatever its name."""
        known = self._keys.get(id(configuration))
        if known is not None:
            return known[1]
        data = configuration.to_dict()
        left_out = ("name", "reference", "note", "tuning")
        text = _canonical({k: v for k, v in data.items() if k not in left_out})
        made = _hash(text)
        self._keys[id(configuration)] = (configuration, made)
        self._unwritten[made] = text
        return made

    def configuration(self, key: str, name: str = "unnamed") -> Configuration:
        """The configuration that has this key."""
        query = "SELECT configuration FROM methods WHERE name = ?"
        rows = self._rows(query, (key,), as_mapping)
        if not rows:
            raise UnknownName("configuration", key, (), hint=f"(in {self.path})")
        return Configuration.from_dict({**rows[0], "name": name})

    def cached(self) -> dict[Unit, Outcome]:
        """All runs, in the order in which they ended."""
        return {outcome.unit: outcome for outcome in self.outcomes()}

    def record_runs(self, outcomes: Iterable[Outcome]) -> None:
        """Write runs, all of them or none."""
        with self._transaction():
            self.add_methods(self._unwritten)
            for outcome in outcomes:
                self._put(outcome, None)
        self._unwritten.clear()

    # The record of a tuning

    def begin(self, setup: Mapping[str, Any]) -> int:
        """The number of the tuning with this setup, new or begun again.

        Of a tuning that is begun again the runs stay, and its record is written anew: the same
        setup gives the same race.
        """
        text = _canonical(setup)
        run, key = self._connection.execute, _hash(text)
        with self._transaction():
            known = run("SELECT id, started, seconds FROM tunings WHERE key = ?", (key,)).fetchone()
            if known is None:
                number = run("SELECT COALESCE(MAX(id), 0) + 1 FROM tunings").fetchone()[0]
                known = number, _now(), 0.0
            for table in _RECORD:
                run(f"DELETE FROM {table} WHERE tuning = ?", (known[0],))
            number, started, seconds = known
            row = (number, key, text, started, _text(versions()), seconds, None, None)
            insert(self._connection, "tunings", [row], "INSERT OR REPLACE")
        return int(number)

    def add_candidates(self, tuning: int, candidates: Iterable[Candidate]) -> None:
        """Write who joins the race."""
        rows = [(tuning, *c._replace(values=_text(c.values))) for c in candidates]  # type: ignore[arg-type]
        with self._transaction():
            self.add_methods(self._unwritten)
            insert(self._connection, "candidates", rows, "INSERT OR REPLACE")
        self._unwritten.clear()

    def add_step(
        self,
        tuning: int,
        step: Step,
        eliminations: Iterable[Elimination] = (),
        results: Iterable[Cost] = (),
    ) -> None:
        """Write a step of the race, with who left and what was measured, all of it or nothing."""
        with self._transaction():
            for table, rows in (
                ("steps", [step]), ("eliminations", eliminations), ("results", results)
            ):  # fmt: skip
                self._insert_record(table, tuning, rows)
            if step.elapsed == step.elapsed:
                self._update_tuning(tuning, seconds=step.elapsed)

    def add_iteration(self, tuning: int, iteration: Iteration) -> None:
        """Write how a race went."""
        with self._transaction():
            self._insert_record("iterations", tuning, [iteration])

    def add_elites(self, tuning: int, elites: Iterable[Elite]) -> None:
        """Write who an iteration ended with."""
        with self._transaction():
            self._insert_record("elites", tuning, elites)

    def finish(self, tuning: int, data: Mapping[str, Any]) -> None:
        """Note that a tuning is over, and what its tuner has to say about it."""
        with self._transaction():
            self._update_tuning(tuning, finished=_now(), data=_text(data))

    def tunings(self) -> list[Tuning]:
        """The tunings, in the order in which they were first begun."""
        query = (
            "SELECT id, key, setup, started, versions, seconds, finished, data FROM tunings "
            "ORDER BY id"
        )
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
                float("nan") if real and value is None else value
                for value, real in zip(row, reals, strict=True)
            ),
        )

    def _insert_record(self, table: str, tuning: int, rows: Iterable[tuple[Any, ...]]) -> None:
        made = [(tuning, *row) for row in rows]
        insert(self._connection, table, made, "INSERT OR REPLACE")

    def _update_tuning(self, tuning: int, **changes: Any) -> None:
        names = ("id", "key", "setup", "started", "versions", "seconds", "finished", "data")
        query = f"SELECT {', '.join(names)} FROM tunings WHERE id = ?"
        row = self._connection.execute(query, (tuning,)).fetchone()
        values = dict(zip(names, row, strict=True)) | changes
        insert(self._connection, "tunings", [values.values()], "INSERT OR REPLACE")


def _tuning(
    number: int, key: str, setup: str, started: str, packages: str, seconds: float,
    finished: str | None, data: str | None,
) -> Tuning:  # fmt: skip
    tables = as_mapping(setup), as_mapping(packages), as_mapping(data or "{}")
    return Tuning(number, key, tables[0], started, tables[1], seconds, finished, tables[2])


def _candidate(*row: Any) -> Candidate:
    found = Candidate(*row)
    return found._replace(values=as_mapping(row[4]))


def _canonical(data: Any) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"), default=_plain_or_error)


def _text(data: Any) -> str:
    return json.dumps(data, default=_plain_or_error)


def _plain_or_error(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(
        f"{value!r} cannot be kept in a store: numbers, strings, lists and mappings can"
    )


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
