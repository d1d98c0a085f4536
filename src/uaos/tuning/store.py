"""The store of tunings: their runs, and tables of their races.

If the process is killed, the file still holds every finished run. A tuning that is begun again does
not repeat them; several tunings in one file share their runs.
"""

import datetime
import hashlib
import json
import os
from collections.abc import Iterable
from typing import Self, TypeVar, cast

import numpy as np

from uaos.checks import fits
from uaos.errors import UnknownName
from uaos.experiments.database import Database
from uaos.experiments.plan import PlanConflict, code_hash, differences, suite_identity
from uaos.experiments.provenance import versions
from uaos.experiments.store import TUNING, Store
from uaos.experiments.storefile import as_mapping
from uaos.experiments.unit import Outcome, Unit
from uaos.optimizers.configuration import Configuration
from uaos.problems import Suite
from uaos.tuning.records import (
    NAN,
    Candidate,
    Cost,
    Elite,
    Iteration,
    Record,
    Setup,
    Step,
    Tuning,
    TuningOutcome,
)

R = TypeVar("R", bound=Record)

# Table and order of each kind of row. The schema also has a table `eliminations`, which is no
# longer written, as it follows from steps and results.
_TABLES: dict[type, tuple[str, str]] = {
    Candidate: ("candidates", "id"), Iteration: ("iterations", "iteration"),
    Step: ("steps", "iteration, step"), Elite: ("elites", "iteration, rank"),
    Cost: ("results", "candidate, position"),
}  # fmt: skip
_TUNINGS = f"SELECT {', '.join(Tuning._fields)} FROM tunings"
# Fields of events that are written into other tables, or not at all.
_NO_COLUMN = ("costs", "dropped", "elites")


class TuningStore(Store):
    """Store of the runs and the record of tunings, in one SQLite file.

    Open it with :meth:`open` or :meth:`create_or_resume`. A run's method is the key of its
    configuration.

    Parameters
    ----------
    database : Database
        Connection to the file.

    Examples
    --------
    >>> from uaos.tuning import TuningStore
    >>> with TuningStore.open("tuning.db") as store:
    ...     print(len(store.tunings()))
    1
    """

    kind = TUNING

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._unwritten: dict[str, str] = {}

    @classmethod
    def create_or_resume(cls, path: str | os.PathLike[str], suite: Suite) -> Self:  # type: ignore[override]
        """Open a store to write to, new or existing.

        Parameters
        ----------
        path : str or path
        suite : Suite
            The problems to train on. A changed suite file is a
            :class:`~uaos.experiments.PlanConflict`. Damaged runs are removed, so that they run
            again.
        """

        def check(store: Self) -> None:
            if changes := differences(store.identity(), suite_identity(suite)):
                raise PlanConflict(
                    f"{path} holds tunings on other problems. {'; '.join(changes)}. "
                    "Use another file"
                )

        return cls._writer(path, check, lambda store: store.add_suite(suite))

    # Runs

    def key(self, configuration: Configuration) -> str:
        """Return a hash of a configuration and its custom classes, whatever its name."""
        omitted = ("name", "reference", "note", "tuning")
        data = {k: v for k, v in configuration.to_dict().items() if k not in omitted}
        text = _canonical(data)
        key = _hash(text + code_hash(configuration))
        self._unwritten[key] = text
        return key

    def configuration(self, key: str, name: str = "unnamed") -> Configuration:
        """Return the configuration with this key."""
        query = "SELECT configuration FROM methods WHERE name = ?"
        rows = self.database.rows(query, (key,), as_mapping)
        if not rows:
            raise UnknownName("configuration", key, (), hint=f"(in {self.path})")
        return Configuration.from_dict({**rows[0], "name": name})

    def cached(self) -> dict[Unit, Outcome]:
        """Return all runs, in the order in which they ended."""
        return {outcome.unit: outcome for outcome in self.outcomes()}

    def record_runs(self, outcomes: Iterable[Outcome]) -> None:
        """Write runs, all of them or none."""
        with self.database.transaction():
            self.add_methods(self._unwritten)
            for outcome in outcomes:
                self._put(outcome, None)
        self._unwritten.clear()

    # The record of a tuning

    def tuning(self, setup: Setup) -> Tuning | None:
        """Return the tuning with this setup, or None."""
        key = _hash(_canonical(setup))
        return next(iter(self.database.rows(f"{_TUNINGS} WHERE key = ?", (key,), _tuning)), None)

    def begin(self, setup: Setup) -> int:
        """Begin or resume the tuning with this setup, and return its number.

        A resumed tuning keeps its runs. Its record is rewritten, because the same setup leads to
        the same races.
        """
        text = _canonical(setup)
        with self.database.transaction():
            earlier = self.tuning(setup)
            number = earlier.id if earlier else 1 + max((t.id for t in self.tunings()), default=0)
            for table, _ in _TABLES.values():
                self.database.connection.execute(f"DELETE FROM {table} WHERE tuning = ?", (number,))
            started, seconds = (earlier.started, earlier.seconds) if earlier else (_now(), 0.0)
            row = number, _hash(text), text, started, _text(versions()), seconds, None, None
            self.database.insert("tunings", [row], "INSERT OR REPLACE")
        return number

    def add(self, tuning: int, *rows: Record, seconds: float | None = None) -> None:
        """Write events of a race, and the time of the tuning so far, in one transaction."""
        with self.database.transaction():
            self.add_methods(self._unwritten)
            for kind, (table, _) in _TABLES.items():
                values = [(tuning, *_columns(row)) for row in rows if isinstance(row, kind)]
                self.database.insert(table, values, "INSERT OR REPLACE")
            if seconds is not None:
                self._update_tuning(tuning, seconds=seconds)
        self._unwritten.clear()

    def finish(self, tuning: int, data: TuningOutcome) -> None:
        """Record that a tuning is finished, and its result."""
        with self.database.transaction():
            self._update_tuning(tuning, finished=_now(), data=_text(data))

    def tunings(self) -> list[Tuning]:
        """Return the tunings, in the order in which they were first begun."""
        return self.database.rows(f"{_TUNINGS} ORDER BY id", make=_tuning)

    def candidates(self, tuning: int) -> list[Candidate]:
        """Return all candidates of a tuning, by number."""
        return self._record(Candidate, tuning)

    def iterations(self, tuning: int) -> list[Iteration]:
        """Return the races that are over, in order."""
        return self._record(Iteration, tuning)

    def steps(self, tuning: int) -> list[Step]:
        """Return the steps of the races, in order."""
        return self._record(Step, tuning)

    def elites(self, tuning: int) -> list[Elite]:
        """Return the survivors of each iteration, best first."""
        return self._record(Elite, tuning)

    def survivors(self, tuning: int) -> list[Elite]:
        """Return the survivors of the last iteration that is over, best first."""
        elites = self.elites(tuning)
        last = max((e.iteration for e in elites), default=0)
        return [e for e in elites if e.iteration == last]

    def results(self, tuning: int) -> list[Cost]:
        """Return all costs, by candidate and position."""
        return self._record(Cost, tuning)

    # Reading and writing rows

    def _record(self, kind: type[R], tuning: int) -> list[R]:
        """Return the rows of this kind that belong to a tuning."""
        table, order = _TABLES[kind]
        names = [name for name in kind._fields if name not in _NO_COLUMN]
        columns = ", ".join("vals" if name == "values" else name for name in names)

        def read(name: str, value: object) -> object:
            if name == "values":
                return as_mapping(str(value))
            return NAN if value is None and kind.__annotations__[name] is float else value

        def make(*row: object) -> Record:
            values = kind._field_defaults | dict(zip(names, map(read, names, row), strict=True))
            return kind._make(values[name] for name in kind._fields)

        query = f"SELECT {columns} FROM {table} WHERE tuning = ? ORDER BY {order}"
        return self.database.rows(query, (tuning,), make)

    def _update_tuning(self, tuning: int, **changes: str | float) -> None:
        row = self.database.connection.execute(f"{_TUNINGS} WHERE id = ?", (tuning,)).fetchone()
        changed = dict(zip(Tuning._fields, row, strict=True)) | changes
        self.database.insert("tunings", [changed.values()], "INSERT OR REPLACE")


def _columns(row: Record) -> list[object]:
    return [
        _text(value) if name == "values" else value
        for name, value in row._asdict().items()
        if name not in _NO_COLUMN
    ]


def _tuning(
    number: int, key: str, setup: str, started: str, packages: str, seconds: float,
    finished: str | None, data: str | None,
) -> Tuning:  # fmt: skip
    plan, installed, outcome = map(as_mapping, (setup, packages, data or "{}"))
    kinds = (plan, Setup), (installed, dict[str, str]), (outcome, TuningOutcome)
    lacking = finished and set(outcome) != set(TuningOutcome.__annotations__)
    if lacking or not all(fits(value, kind) for value, kind in kinds):
        raise ValueError("the record of a tuning is not what uaos writes")
    return Tuning(
        number, key, cast(Setup, plan), started, cast(dict[str, str], installed), seconds,
        finished, cast(TuningOutcome, outcome),
    )  # fmt: skip


def _canonical(data: object) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"), default=_plain)


def _text(data: object) -> str:
    return json.dumps(data, default=_plain)


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a store holds numbers, strings, lists and mappings, but not {value!r}")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
