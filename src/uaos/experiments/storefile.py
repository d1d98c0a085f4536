"""The file of a store: created atomically, checked before it is opened, locked by one writer.

One SQLite format for benchmarks and tunings. Every row has a checksum over its other columns,
computed by a function that is registered with SQLite, so that queries can leave out damaged rows.
The schema is fixed: a file with anything else in it, such as a trigger or a view, is refused.
"""

import contextlib
import itertools
import json
import operator
import os
import sqlite3
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from uaos.checks import LONGEST_NAME
from uaos.errors import InvalidFile, UaosError
from uaos.experiments.recorder import TARGETS
from uaos.files import whole_file

_MAGIC = b"SQLite format 3\x00"

#: Identifies the file; SQLite keeps it and the format in the first hundred bytes.
APPLICATION = b"uaos"
#: Incremented with every change of the schema.
FORMAT = 2

#: A value of SQLite, and a row of values.
Value = int | float | str | bytes | None
Values = tuple[Value, ...]

SCHEMA = """
CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL, checksum INTEGER NOT NULL)
    WITHOUT ROWID;
CREATE TABLE suite (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, file TEXT NOT NULL, source TEXT NOT NULL,
    hash TEXT NOT NULL, checksum INTEGER NOT NULL
);
CREATE TABLE problems (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, function TEXT NOT NULL,
    category TEXT NOT NULL, dimension INTEGER NOT NULL, instance INTEGER, optimum REAL,
    bounds BLOB NOT NULL, checksum INTEGER NOT NULL
);
CREATE TABLE methods (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, configuration TEXT NOT NULL,
    checksum INTEGER NOT NULL
);
CREATE TABLE plan (
    method INTEGER NOT NULL REFERENCES methods (id),
    problem INTEGER NOT NULL REFERENCES problems (id), repetitions INTEGER NOT NULL,
    budget INTEGER NOT NULL, checksum INTEGER NOT NULL,
    PRIMARY KEY (method, problem)
) WITHOUT ROWID;
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY, started TEXT NOT NULL, versions TEXT NOT NULL,
    checksum INTEGER NOT NULL
);
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, method INTEGER NOT NULL REFERENCES methods (id),
    problem INTEGER NOT NULL REFERENCES problems (id), repetition INTEGER NOT NULL,
    seed INTEGER NOT NULL, budget INTEGER NOT NULL, status TEXT NOT NULL,
    evaluations INTEGER NOT NULL, best REAL, error REAL, hits BLOB NOT NULL, seconds REAL NOT NULL,
    reason TEXT NOT NULL, session INTEGER REFERENCES sessions (id), checksum INTEGER NOT NULL,
    UNIQUE (method, problem, repetition, seed, budget)
);
CREATE TABLE traces (
    run INTEGER PRIMARY KEY REFERENCES runs (id), data BLOB NOT NULL, checksum INTEGER NOT NULL
);
CREATE TABLE courses (
    run INTEGER PRIMARY KEY REFERENCES runs (id), data BLOB NOT NULL, checksum INTEGER NOT NULL
);
CREATE TABLE tunings (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, setup TEXT NOT NULL, started TEXT NOT NULL,
    versions TEXT NOT NULL, seconds REAL NOT NULL, finished TEXT, data TEXT,
    checksum INTEGER NOT NULL
);
CREATE TABLE candidates (
    tuning INTEGER NOT NULL REFERENCES tunings (id), id INTEGER NOT NULL,
    iteration INTEGER NOT NULL, parent INTEGER,
    configuration TEXT NOT NULL REFERENCES methods (name), vals TEXT NOT NULL,
    origin TEXT NOT NULL, checksum INTEGER NOT NULL,
    PRIMARY KEY (tuning, id)
) WITHOUT ROWID;
CREATE TABLE iterations (
    tuning INTEGER NOT NULL REFERENCES tunings (id), iteration INTEGER NOT NULL,
    planned INTEGER NOT NULL, budget INTEGER NOT NULL, candidates INTEGER NOT NULL,
    runs_used INTEGER NOT NULL, why TEXT NOT NULL, checksum INTEGER NOT NULL,
    PRIMARY KEY (tuning, iteration)
) WITHOUT ROWID;
CREATE TABLE steps (
    tuning INTEGER NOT NULL REFERENCES tunings (id), iteration INTEGER NOT NULL,
    step INTEGER NOT NULL, instance TEXT NOT NULL, seed INTEGER NOT NULL, alive INTEGER NOT NULL,
    best INTEGER, runs_used INTEGER NOT NULL, statistic REAL, pvalue REAL, elapsed REAL,
    position INTEGER, mean_cost REAL, checksum INTEGER NOT NULL,
    PRIMARY KEY (tuning, iteration, step)
) WITHOUT ROWID;
CREATE TABLE eliminations (
    tuning INTEGER NOT NULL REFERENCES tunings (id), iteration INTEGER NOT NULL,
    step INTEGER NOT NULL, candidate INTEGER NOT NULL, rank_sum REAL, reason TEXT NOT NULL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (tuning, candidate, iteration, step)
);
CREATE TABLE elites (
    tuning INTEGER NOT NULL REFERENCES tunings (id), iteration INTEGER NOT NULL,
    rank INTEGER NOT NULL, candidate INTEGER NOT NULL, instances INTEGER NOT NULL, rank_sum REAL,
    mean_cost REAL, checksum INTEGER NOT NULL,
    PRIMARY KEY (tuning, iteration, rank)
) WITHOUT ROWID;
CREATE TABLE results (
    tuning INTEGER NOT NULL REFERENCES tunings (id), candidate INTEGER NOT NULL,
    position INTEGER NOT NULL, cost REAL, checksum INTEGER NOT NULL,
    PRIMARY KEY (tuning, candidate, position)
) WITHOUT ROWID;
"""

# Conditions on columns; `{0}` stands for the column. By default numbers have the declared type,
# integers are not negative, texts are short, and only columns that allow it are NULL.
_DEFAULT = {
    "INTEGER": "typeof({0}) = 'integer' AND {0} BETWEEN 0 AND 1000000000000000000",
    "REAL": "typeof({0}) = 'real'",
    "TEXT": "typeof({0}) = 'text' AND length(CAST({0} AS BLOB)) <= 8192",
    "BLOB": "typeof({0}) = 'blob' AND length({0}) <= 16777216",
}
_LONG = "typeof({0}) = 'text' AND length(CAST({0} AS BLOB)) <= 16777216"
_NAME = f"typeof({{0}}) = 'text' AND length(CAST({{0}} AS BLOB)) BETWEEN 1 AND {4 * LONGEST_NAME}"
_COUNT = "typeof({0}) = 'integer' AND {0} BETWEEN 1 AND 1000000000000000000"
_FINITE = "typeof({0}) = 'real' AND abs({0}) < 9e999"
_SEED = "typeof({0}) = 'integer' AND {0} >= 0"
_ALLOWED = {
    "about.value": _LONG,
    "suite.name": _NAME, "suite.source": _LONG,
    "problems.id": _COUNT, "problems.name": _NAME, "problems.function": _NAME,
    "problems.category": _NAME, "problems.dimension": _COUNT, "problems.optimum": _FINITE,
    "problems.instance": "typeof({0}) = 'integer'",
    "problems.bounds": "typeof({0}) = 'blob' AND length({0}) = 16 * problems.dimension",
    "methods.id": _COUNT, "methods.name": _NAME, "methods.configuration": _LONG,
    "plan.repetitions": _COUNT, "plan.budget": _COUNT,
    "sessions.id": _COUNT, "sessions.versions": _LONG,
    "runs.method": "{0} IN (SELECT id FROM methods)",
    "runs.problem": "{0} IN (SELECT id FROM problems)",
    "runs.repetition": _COUNT, "runs.seed": _SEED, "runs.budget": _COUNT,
    # A run that was made has evaluated something, which averages and logarithms rely on.
    "runs.evaluations": f"{_COUNT} OR (runs.status = 'failed' AND {_DEFAULT['INTEGER']})",
    "runs.status": "{0} IN ('done', 'failed')", "runs.best": _FINITE,
    "runs.hits": f"typeof({{0}}) = 'blob' AND length({{0}}) = {8 * len(TARGETS)}",
    "runs.seconds": f"{_FINITE} AND {{0}} >= 0",
    "tunings.id": _COUNT, "tunings.setup": _LONG, "tunings.versions": _LONG,
    "tunings.data": _LONG, "tunings.seconds": f"{_FINITE} AND {{0}} >= 0",
    "candidates.vals": _LONG, "candidates.configuration": _NAME,
    "steps.instance": _NAME, "steps.seed": _SEED,
    "steps.best": "EXISTS (SELECT 1 FROM candidates WHERE (tuning, id) = (steps.tuning, {0}))",
    "elites.candidate":
        "EXISTS (SELECT 1 FROM candidates WHERE (tuning, id) = (elites.tuning, {0}))",
    "results.candidate":
        "EXISTS (SELECT 1 FROM candidates WHERE (tuning, id) = (results.tuning, {0}))",
}  # fmt: skip

#: Tables in which a damaged row only costs a run, which can be repeated; others must be intact.
REPEATABLE = ("runs", "traces", "courses")

# Exceptions that damaged numbers, mappings or packed bytes may cause.
_UNREADABLE = (
    sqlite3.DatabaseError, zlib.error, ArithmeticError, AttributeError, LookupError, MemoryError,
    RecursionError, TypeError, ValueError,
)  # fmt: skip


class StoreInUse(UaosError):
    """Another process is writing to the store."""


# Rows and their checksums


def row_checksum(*values: Value) -> int:
    """Return the checksum of a row: of its columns in order, without the checksum itself.

    CRC-32 of the types, the numbers (eight bytes each, little-endian), and the bytes; text is
    passed as bytes.
    """
    return _checksum(tuple(map(type, values)))(values)


@cache
def _checksum(types: tuple[type, ...]) -> Callable[[Values], int]:
    """Return a function that computes the checksum of a row, of its columns of these types."""

    def chosen(*kinds: type) -> Callable[[Values], tuple[Any, ...]]:
        places = [i for i, kind in enumerate(types) if kind in kinds]
        if len(places) > 1:
            return operator.itemgetter(*places)
        start = places[0] if places else 0
        return operator.itemgetter(slice(start, start + len(places)))

    codes = "".join({int: "q", float: "d"}.get(kind, "") for kind in types)
    pack, numbers, blobs = struct.Struct(f"<{codes}").pack, chosen(int, float), chosen(bytes)
    start = zlib.crc32(",".join(kind.__name__ for kind in types).encode())
    return lambda row: zlib.crc32(b"".join((pack(*numbers(row)), *blobs(row))), start)


@cache
def _layout() -> tuple[list[Values], dict[str, dict[str, str]]]:
    """Return the schema as SQLite has it, and the column types of each table."""
    schema, columns = _declared()
    return schema, {
        table: {name: kind for name, kind, _ in declared} for table, declared in columns.items()
    }


@cache
def _declared() -> tuple[list[Values], dict[str, list[tuple[str, str, bool]]]]:
    """Return the schema as SQLite has it, and for each table name, type and NOT NULL of columns."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(SCHEMA)
        schema = _schema_of(connection)
        columns = {}
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'"):
            query = 'SELECT name, type, "notnull" OR pk FROM pragma_table_info(?)'
            rows = connection.execute(query, (table,)).fetchall()
            columns[table] = [row for row in rows if row[0] != "checksum"]
    return schema, columns


def _schema_of(connection: sqlite3.Connection) -> list[Values]:
    return connection.execute(
        "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
    ).fetchall()


def is_whole(table: str) -> str:
    """Return the SQL condition that a row has valid values and the right checksum."""
    columns, allowed = _checked(table)
    return f"({allowed} AND row_checksum({columns}) = {table}.checksum)"


def whole_columns(
    cursor: sqlite3.Cursor, table: str, order: str, size: int = 5000
) -> Iterator[dict[str, tuple[Any, ...]]]:
    """Yield the columns of undamaged rows, `size` rows at a time; text as bytes.

    Faster than a query with :func:`is_whole`, for which SQLite calls Python once per row.
    """
    columns, allowed = _checked(table)
    cursor.execute(f"SELECT {columns}, checksum FROM {table} WHERE {allowed} ORDER BY {order}")
    names = (*_layout()[1][table], "checksum")
    while rows := cursor.fetchmany(size):
        columns_read = list(zip(*rows, strict=True))
        # Usually all rows have the same types: then check them column by column.
        kinds = [set(map(type, column)) for column in columns_read[:-1]]
        if all(len(kind) == 1 for kind in kinds):
            checksums = [*map(_checksum(tuple(kind.pop() for kind in kinds)), rows)]
        else:
            checksums = [row_checksum(*row[:-1]) for row in rows]
        if not all(whole := [*map(operator.eq, checksums, columns_read[-1])]):
            columns_read = list(zip(*itertools.compress(rows, whole), strict=True))
        if columns_read:
            yield dict(zip(names, columns_read, strict=True))


@cache
def _checked(table: str) -> tuple[str, str]:
    """Return the columns that the checksum covers, and the condition that all have valid values."""
    covered, conditions = [], []
    for name, kind, required in _declared()[1][table]:
        column = f"{table}.{name}"
        # Text as bytes: damaged text may not be valid UTF-8, which sqlite3 cannot return.
        covered.append(f"CAST({column} AS BLOB)" if kind == "TEXT" else column)
        condition = _ALLOWED.get(column, _DEFAULT[kind]).format(column)
        conditions.append(f"({condition})" if required else f"({column} IS NULL OR {condition})")
    return ", ".join(covered), " AND ".join(conditions)


def insert(
    connection: sqlite3.Connection, table: str, rows: Iterable[Iterable[object]],
    how: str = "INSERT",
) -> None:  # fmt: skip
    """Write rows, each with the values of all columns but the checksum."""
    kinds = tuple(_layout()[1][table].values())
    marks = ", ".join("?" * (len(kinds) + 1))
    connection.executemany(
        f"{how} INTO {table} VALUES ({marks})", (_with_checksum(row, kinds) for row in rows)
    )


def _with_checksum(row: Iterable[Any], kinds: tuple[str, ...]) -> list[Value]:
    values, summed = [], []
    for value, kind in zip(row, kinds, strict=True):
        if isinstance(value, np.generic):  # SQLite would take it for bytes
            value = value.item()
        if kind == "REAL" and value is not None:
            value = float(value)
            if value != value:  # SQLite has no NaN
                value = None
        values.append(value)
        summed.append(value.encode() if kind == "TEXT" and value is not None else value)
    values.append(row_checksum(*summed))
    return values


# Files


def create(path: Path) -> None:
    """Create an empty store atomically."""
    try:
        with whole_file(path) as part, contextlib.closing(sqlite3.connect(part)) as connection:
            connection.execute("PRAGMA journal_mode = MEMORY")  # no second file
            create_tables(connection)
    except sqlite3.DatabaseError as error:
        raise unusable(path, error, "written") from error


def create_tables(connection: sqlite3.Connection) -> None:
    """Make the tables of a store in an empty database."""
    connection.executescript(
        f"PRAGMA application_id = {int.from_bytes(APPLICATION, 'big')};"
        f"PRAGMA user_version = {FORMAT}; BEGIN; {SCHEMA} COMMIT;"
    )


def check_place(path: Path) -> None:
    """Raise an error if a file cannot be written at this path."""
    if path.is_dir():
        raise InvalidFile(f"{path} is a folder; expected a file")
    if not path.absolute().parent.is_dir():
        raise InvalidFile(f"{path}: no folder {path.absolute().parent}; create it first")


_EXPECTED = "expected a file that uaos bench or uaos tune wrote"


def _check_format(path: Path) -> None:
    """Refuse a file whose header is not that of a store in the current format."""
    try:
        with open(path, "rb") as file:
            head = file.read(100)
    except FileNotFoundError:
        raise InvalidFile(f"{path}: file not found; check the path") from None
    except OSError as error:
        raise InvalidFile(f"{path}: cannot be read ({error.strerror})") from None
    if len(head) < 100 or not head.startswith(_MAGIC):
        raise InvalidFile(f"{path}: not a store of uaos, or damaged; {_EXPECTED}")
    application, version = head[68:72], int.from_bytes(head[60:64], "big")
    if application != APPLICATION:
        raise InvalidFile(f"{path}: an SQLite file, but not a store of uaos; {_EXPECTED}")
    if version > FORMAT:
        raise InvalidFile(
            f"{path}: written in format {version} by a newer version of uaos; this one reads "
            f"format {FORMAT}. Update uaos"
        )
    if version < FORMAT:
        raise InvalidFile(
            f"{path}: written by uaos 0.1, whose stores this version does not read; run the "
            "experiment again with another file"
        )


def open_checked(path: Path) -> sqlite3.Connection:
    """Return a connection for reading; refuse a file that is not an intact store."""
    _check_format(path)
    with reading(path):
        connection = connect(path)
        try:
            _check_contents(path, connection)
        except BaseException:
            connection.close()
            raise
    return connection


def _check_contents(path: Path, connection: sqlite3.Connection) -> None:
    """Refuse a file with other tables than a store, or with damaged rows.

    Runs, traces and courses are not checked row by row: damaged ones are omitted when read. Pages
    of traces and courses, most of a large file, are checked by :func:`check_pages`.
    """
    schema, types = _layout()
    if _schema_of(connection) != schema:
        raise InvalidFile(f"{path}: not a store of uaos: it has other tables, views or triggers")
    for table in types:
        if table in ("traces", "courses"):
            continue
        verdict = connection.execute(f"PRAGMA integrity_check({table})").fetchone()[0]
        if verdict != "ok":
            raise damaged(path, verdict)
        if table in REPEATABLE:
            continue
        wrong = f"SELECT 1 FROM {table} WHERE NOT ({is_whole(table)}) LIMIT 1"
        if connection.execute(wrong).fetchone():
            raise damaged(path, f"a row of {table} is not what uaos writes")
        if lost := connection.execute(f"PRAGMA foreign_key_check({table})").fetchone():
            raise damaged(path, f"{lost[0]} refer to missing {lost[2]}")


def check_pages(path: Path, connection: sqlite3.Connection) -> None:
    """Refuse a file in which any page is damaged, those of traces and courses included.

    A writer checks a store first: rows would be lost on a damaged page, or overwrite pages that are
    in use.
    """
    with reading(path):
        verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if verdict != "ok":
        raise damaged(path, verdict)


def damaged(path: Path, why: object) -> InvalidFile:
    """Return the error for a damaged store."""
    words = str(why).splitlines() or [type(why).__name__]
    return InvalidFile(f"{path}: damaged ({words[0]}); restore it from a copy")


# SQLite's codes for errors of the disk, the folder or another process, not of the file's contents.
_OUTSIDE = (
    sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_NOLFS, sqlite3.SQLITE_PROTOCOL,
)  # fmt: skip


def unusable(path: Path, error: BaseException, doing: str = "read") -> InvalidFile:
    """Return the error for a store that is damaged, or on a disk that is full or fails.

    `doing` is "read" or "written".
    """
    # The lowest byte of a code is the kind of error. Text that cannot be decoded has no code.
    unknown = sqlite3.SQLITE_CORRUPT if doing == "read" else sqlite3.SQLITE_IOERR
    code = getattr(error, "sqlite_errorcode", unknown) & 0xFF
    if isinstance(error, sqlite3.OperationalError) and code in _OUTSIDE:
        return InvalidFile(
            f"{path}: cannot be {doing} ({error}). Free space on the disk, or check the "
            "permissions of the folder, then run the same command again"
        )
    return damaged(path, error)


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Report any error that damaged contents cause as a damaged store."""
    try:
        yield
    except UaosError:
        raise
    except _UNREADABLE as error:
        raise unusable(path, error) from error


def as_mapping(text: str) -> dict[str, object]:
    """Return a mapping that a store keeps as JSON."""
    mapping = json.loads(text)
    if not isinstance(mapping, dict):
        raise ValueError("expected a mapping")
    return mapping


def connect(path: Path, *, write: bool = False) -> sqlite3.Connection:
    """Connect to a store, read-only unless `write`."""
    place = f"file:{quote(os.fsencode(path.resolve()))}"  # any bytes in names
    if not write:
        connection = sqlite3.connect(f"{place}?mode=ro", uri=True, timeout=30)
        try:
            connection.execute("SELECT 1 FROM sqlite_master")
        except sqlite3.OperationalError:
            # The store is being written, in a folder that is not writable.
            connection.close()
            connection = sqlite3.connect(f"{place}?mode=ro&immutable=1", uri=True)
        return prepared(connection)
    connection = sqlite3.connect(f"{place}?mode=rw", uri=True, timeout=30, isolation_level=None)
    # The coordinator does not block readers, and a power failure loses no commit.
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    return prepared(connection)


def prepared(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Return the connection with the checksum registered and code in the file disabled."""
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.create_function("row_checksum", -1, row_checksum, deterministic=True)
    return connection


class Lock:
    """Exclusive permission to write a store; the operating system revokes it if the process dies.

    Held on a file beside the store, as SQLite's own locks are lost when any handle of the store's
    file is closed.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(path.name + ".lock")
        while True:
            try:
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
            except OSError as error:
                raise InvalidFile(f"{path}: cannot be written ({error.strerror})") from None
            if not _try_lock(self._file):
                os.close(self._file)
                raise StoreInUse(
                    f"{path}: another process is writing this store; wait for it, stop it, or use "
                    "another file"
                )
            # The last holder may have removed the file after we opened it; then try again.
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(self._file), os.stat(self._path)):
                    return
            os.close(self._file)

    def release(self) -> None:
        """Release the lock."""
        if self._file >= 0:
            with contextlib.suppress(OSError):
                os.unlink(self._path)
            os.close(self._file)
            self._file = -1


def _try_lock(handle: int) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
