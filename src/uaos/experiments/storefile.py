"""The file of a store: created atomically, checked before it is opened."""

import contextlib
import json
import os
import sqlite3
import zlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from uaos.errors import InvalidFile, UaosError
from uaos.experiments.rows import is_whole, row_checksum
from uaos.experiments.schema import (
    APPLICATION,
    FORMAT,
    REPEATABLE,
    create_tables,
    expected_schema,
    schema_of,
    table_columns,
)
from uaos.files import whole_file

_MAGIC = b"SQLite format 3\x00"

# Exceptions that damaged numbers, mappings or packed bytes may cause.
_UNREADABLE = (
    sqlite3.DatabaseError, zlib.error, ArithmeticError, AttributeError, LookupError, MemoryError,
    RecursionError, TypeError, ValueError,
)  # fmt: skip


def create(path: Path) -> None:
    """Create an empty store atomically."""
    try:
        with whole_file(path) as part, contextlib.closing(sqlite3.connect(part)) as connection:
            connection.execute("PRAGMA journal_mode = MEMORY")  # no second file
            create_tables(connection)
    except sqlite3.DatabaseError as error:
        raise unusable(path, error, "written") from error


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
    if schema_of(connection) != expected_schema():
        raise InvalidFile(f"{path}: not a store of uaos: it has other tables, views or triggers")
    for table in table_columns():
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
