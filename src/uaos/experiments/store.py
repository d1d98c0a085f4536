"""What came out: one SQLite file an experiment, written by one coordinator in transactions.

Killed at any moment, the file opens and holds every unit that was finished; the same plan then runs
what is missing. Readers need not wait for the writer.
"""

import datetime
import json
import os
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from uaos.errors import InvalidFile, UnknownName
from uaos.experiments import course, hits
from uaos.experiments.plan import Plan, PlanConflict
from uaos.experiments.records import Finished, Outcome, Unit
from uaos.experiments.storefile import (
    Lock,
    OpenStore,
    StoreInUse,
    as_table,
    check,
    check_folder,
    connect,
    create,
)
from uaos.experiments.targets import TARGETS
from uaos.experiments.versions import versions
from uaos.optimizers.history import History

__all__ = ["Outcome", "Span", "Store", "StoreInUse", "Tally"]

_COLUMNS = (
    "method, function, dimension, instance, repetition, seed, budget, evaluations, error, hits, "
    "seconds, status, reason"
)
_KEY = "method = ? AND function = ? AND dimension = ? AND instance = ? AND repetition = ?"
_COURSE = f"SELECT data FROM courses JOIN units ON unit = units.id WHERE {_KEY}"


class Span(NamedTuple):
    """What a store's units range over."""

    seed: int
    methods: tuple[str, ...]
    functions: tuple[int, ...]
    dimensions: tuple[int, ...]
    instances: tuple[int, ...]
    repetitions: int
    budgets: dict[int, int]


class Tally(NamedTuple):
    """How far a method is: units wanted, done, failed, and solved among those done."""

    total: int
    done: int
    failed: int
    solved: int


class Store(OpenStore):
    """The outcomes of an experiment; see :meth:`open` and :meth:`create_or_resume`."""

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: Lock | None) -> None:
        super().__init__(path, connection, lock)
        self._session: int | None = None

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> "Store":
        """For reading; never writes, and works while a coordinator does."""
        place = Path(path)
        check(place)
        return cls(place, connect(place), None)

    @classmethod
    def create_or_resume(cls, path: str | os.PathLike[str], plan: Plan) -> "Store":
        """For the one coordinator: a new store, or one that already holds a part of the plan.

        Methods, problems and repetitions may be added to a store; another seed, another budget or a
        changed configuration under the same name is a :class:`PlanConflict`.
        """
        place = Path(path)
        check_folder(place)
        lock = Lock(place)
        try:
            fresh = not place.exists()
            if fresh:
                create(place)
            else:
                check(place)
                with cls(place, connect(place), None) as before:
                    before._check_against(plan)
            made = cls(place, connect(place, write=True), lock)
        except BaseException:
            lock.release()
            raise
        try:
            made._add(plan)
        except BaseException:
            made.close()
            raise
        return made

    # Reading

    def outcomes(self, method: str | None = None) -> list[Outcome]:
        """What came out of every finished unit, of one method or of all."""
        where = "status != 'waiting'" + ("" if method is None else " AND method = ?")
        if method is not None and method not in self.methods():
            raise UnknownName("method", method, self.methods(), hint=f"(in {self.path})")
        order = "method, dimension, function, instance, repetition"
        return self._rows(
            f"SELECT {_COLUMNS} FROM units WHERE {where} ORDER BY {order}",
            () if method is None else (method,),
            _outcome,
        )

    def methods(self) -> list[str]:
        """The methods' names, in the order in which they joined."""
        return [name for (name,) in self._rows("SELECT name FROM methods ORDER BY rowid")]

    def configurations(self) -> dict[str, dict[str, Any]]:
        """Each method's configuration in full."""
        query = "SELECT name, configuration FROM methods ORDER BY rowid"
        return dict(self._rows(query, make=lambda name, text: (name, as_table(text))))

    @property
    def plan(self) -> Span:
        """What the store's units, finished or not, range over."""
        found: dict[str, tuple[int, ...]] = {}
        for column in ("function", "dimension", "instance"):
            rows = self._rows(f"SELECT DISTINCT {column} FROM units ORDER BY 1")
            found[column] = tuple(value for (value,) in rows)
        repetitions = self._rows("SELECT COALESCE(MAX(repetition), 0) FROM units")[0][0]
        return Span(
            self.seed, tuple(self.methods()), found["function"], found["dimension"],
            found["instance"], repetitions, self._budgets(),
        )  # fmt: skip

    @property
    def seed(self) -> int:
        """The experiment's seed."""
        found = self._rows("SELECT value FROM experiment WHERE key = 'seed'", make=int)
        if not found:
            raise InvalidFile(f"{self.path}: holds no experiment yet; start the experiment again")
        return int(found[0])

    @property
    def sessions(self) -> list[tuple[str, dict[str, str]]]:
        """When the experiment was started and continued, and with which versions of what."""
        query = "SELECT started, versions FROM sessions ORDER BY id"
        return self._rows(query, make=lambda started, text: (started, as_table(text)))

    def tallies(self) -> dict[str, Tally]:
        """How far each method is."""
        tallies = dict.fromkeys(self.methods(), Tally(0, 0, 0, 0))
        last = 8 * (len(TARGETS) - 1)
        rows = self._rows(
            "SELECT method, COUNT(*), SUM(status = 'done'), SUM(status = 'failed'), "
            f"SUM(status = 'done' AND substr(hits, {last + 1}, 8) != ?) FROM units GROUP BY method",
            ((-1).to_bytes(8, "little", signed=True),),
            lambda method, *counts: (method, Tally(*map(int, counts))),
        )
        return tallies | dict(rows)

    def history(
        self, method: str, function: int, dimension: int, instance: int, repetition: int = 1
    ) -> History | None:
        """The thinned course of a run: operator use and best; None for a run that kept none."""
        rows = self._rows(
            _COURSE, (method, function, dimension, instance, repetition), course.unpack
        )
        return rows[0] if rows else None

    def packed_course(self, key: tuple[Any, ...]) -> bytes | None:
        """The course of a run as it is stored."""
        rows = self._rows(_COURSE, key)
        return rows[0][0] if rows else None

    # Writing, by the coordinator

    def missing(self, plan: Plan) -> list[Unit]:
        """The units of the plan that are neither done nor failed, shuffled, always alike."""
        over = {
            tuple(row)
            for row in self._rows(
                "SELECT method, function, dimension, instance, repetition FROM units "
                "WHERE status != 'waiting'"
            )
        }
        # A unit's seed is a hash: an order by it has nothing to do with what is slow.
        return sorted((u for u in plan.units() if u.key not in over), key=lambda u: u.seed)

    def record(self, finished: Iterable[Finished]) -> None:
        """Write outcomes, all of them or none."""
        with self._transaction():
            for outcome, packed in finished:
                self._put(outcome, packed)

    def forget_failures(self) -> int:
        """Let the failed units run again; how many there are."""
        with self._transaction():
            return self._connection.execute(
                "UPDATE units SET status = 'waiting', evaluations = NULL, error = NULL, "
                "hits = NULL, seconds = NULL, reason = NULL WHERE status = 'failed'"
            ).rowcount

    # Inside

    def _budgets(self) -> dict[int, int]:
        return dict(self._rows("SELECT DISTINCT dimension, budget FROM units ORDER BY 1"))

    def _check_against(self, plan: Plan) -> None:
        differences = []
        if self._rows("SELECT 1 FROM experiment WHERE key = 'seed'") and self.seed != plan.seed:
            differences.append(f"seed: {self.seed} there, {plan.seed} here")
        budget = self._budgets().get(plan.dimension, plan.budget)
        if budget != plan.budget:
            differences.append(f"budget: {budget} there, {plan.budget} here")
        stored = self.configurations()
        for name, competitor in plan.competitors.items():
            if name in stored:
                differences += differing(name, stored[name], plain(competitor.to_dict()))
        if differences:
            raise PlanConflict(
                f"{self.path} holds another experiment. " + "; ".join(differences[:8])
                + ". Use another file, or a method under another name"
            )  # fmt: skip

    def _add(self, plan: Plan) -> None:
        run = self._connection.execute
        with self._transaction():
            run("INSERT OR IGNORE INTO experiment VALUES ('seed', ?)", (str(plan.seed),))
            for name, competitor in plan.competitors.items():
                text = json.dumps(competitor.to_dict())
                run("INSERT OR IGNORE INTO methods VALUES (?, ?)", (name, text))
            self._connection.executemany(
                "INSERT OR IGNORE INTO units (method, function, dimension, instance, repetition, "
                "seed, budget) VALUES (?, ?, ?, ?, ?, ?, ?)", plan.units(),
            )  # fmt: skip
            self._begin_session(versions())

    def _begin_session(self, packages: Mapping[str, str]) -> None:
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        self._session = self._connection.execute(
            "INSERT INTO sessions (started, versions) VALUES (?, ?)", (now, json.dumps(packages))
        ).lastrowid

    def _put(self, outcome: Outcome, packed: bytes | None) -> None:
        self._connection.execute(
            "UPDATE units SET seed = ?, budget = ?, evaluations = ?, error = ?, hits = ?, "
            f"seconds = ?, status = ?, reason = ?, session = ? WHERE {_KEY}",
            (outcome.seed, outcome.budget, outcome.evaluations, outcome.error,
             outcome.hits.astype("<i8").tobytes(), outcome.seconds, outcome.status, outcome.reason,
             self._session, *outcome[:5]),
        )  # fmt: skip
        if packed is not None:
            self._connection.execute(
                f"INSERT OR REPLACE INTO courses SELECT id, ? FROM units WHERE {_KEY}",
                (packed, *outcome[:5]),
            )


def _outcome(*row: Any) -> Outcome:
    if None in row:
        raise ValueError("a finished run without its outcome")
    found = Outcome(*row)
    return found._replace(hits=hits.from_bytes(row[9]))


def plain(data: Any) -> Any:
    """Data as it comes back from a store."""
    return json.loads(json.dumps(data))


def differing(where: str, there: Any, here: Any) -> list[str]:
    """What differs between two configurations, apart from what does not change a run."""
    if isinstance(there, dict) and isinstance(here, dict):
        found = []
        for key in (*there, *(k for k in here if k not in there)):
            if key not in ("note", "reference", "tuning"):
                name = f"{where}.{key}"
                found += differing(name, there.get(key, "nothing"), here.get(key, "nothing"))
        return found
    return [] if there == here else [f"{where}: {there!r} there, {here!r} here"]
