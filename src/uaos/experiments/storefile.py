"""The file of a store: made whole, checked before it is opened, and locked to one writer."""

import contextlib
import json
import os
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

from uaos.errors import InvalidFile, UaosError

_MAGIC = b"SQLite format 3\x00"


@dataclass(frozen=True)
class Kind:
    """What a file is a store of.

    SQLite keeps `application` and `format` in the first hundred bytes, where `file` and we find
    them. `format` is raised by one with every change of `schema`: a store of another format is
    refused. `apart` is what a second process can do that wants to write, too.
    """

    noun: str
    application: bytes
    format: int
    schema: str
    apart: str


EXPERIMENT = Kind(
    noun="experiment",
    application=b"uaos",
    format=1,
    apart="use another file and merge the two later (uaos bench --merge)",
    schema="""
CREATE TABLE experiment (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE methods (name TEXT PRIMARY KEY, configuration TEXT NOT NULL);
CREATE TABLE sessions (id INTEGER PRIMARY KEY, started TEXT NOT NULL, versions TEXT NOT NULL);
CREATE TABLE units (
    id INTEGER PRIMARY KEY,
    method TEXT NOT NULL REFERENCES methods (name), function INTEGER NOT NULL,
    dimension INTEGER NOT NULL, instance INTEGER NOT NULL, repetition INTEGER NOT NULL,
    seed INTEGER NOT NULL, budget INTEGER NOT NULL,
    status TEXT NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'done', 'failed')),
    evaluations INTEGER, error REAL, hits BLOB, seconds REAL, reason TEXT,
    session INTEGER REFERENCES sessions (id),
    UNIQUE (method, function, dimension, instance, repetition)
);
CREATE TABLE courses (
    unit INTEGER PRIMARY KEY REFERENCES units (id), data BLOB NOT NULL
);
""",
)

# The stores there are, and the commands that read them.
_STORES = {b"uaos": ("an experiment", "uaos bench"), b"uaot": ("a tuning", "uaos tune")}

# What damaged contents lead to where they are taken for numbers, tables or packed bytes.
_UNREADABLE = (
    sqlite3.DatabaseError, zlib.error, ArithmeticError, AttributeError, LookupError, TypeError,
    ValueError,
)  # fmt: skip


class StoreInUse(UaosError):
    """Another process is writing to the store."""


def create(path: Path, kind: Kind = EXPERIMENT) -> None:
    """An empty store, which appears at `path` complete or not at all."""
    part = path.with_name(path.name + ".part")
    for leftover in (part, Path(f"{part}-journal")):
        leftover.unlink(missing_ok=True)
    try:
        connection = sqlite3.connect(part)
    except sqlite3.OperationalError as error:
        raise InvalidFile(f"{path}: cannot be made ({error})") from error
    with contextlib.closing(connection):
        connection.executescript(
            f"PRAGMA application_id = {int.from_bytes(kind.application, 'big')};"
            f"PRAGMA user_version = {kind.format}; BEGIN; {kind.schema} COMMIT;"
        )
    os.replace(part, path)


def check_folder(path: Path) -> None:
    """Refuse a place where no file can be."""
    if path.is_dir():
        raise InvalidFile(f"{path}: a folder, where a file is expected")
    if not path.absolute().parent.is_dir():
        raise InvalidFile(f"{path}: there is no folder {path.absolute().parent}")


def application(path: Path) -> bytes:
    """The four bytes in which SQLite keeps what a file is for."""
    with path.open("rb") as file:
        return file.read(72)[68:]


def check(path: Path, kind: Kind = EXPERIMENT) -> None:
    """Refuse, without touching it, a file that is not a whole store of a version we know."""
    try:
        with open(path, "rb") as file:
            head = file.read(100)
    except FileNotFoundError:
        raise InvalidFile(f"{path}: there is no such file") from None
    except OSError as error:
        raise InvalidFile(f"{path}: cannot be read ({error.strerror})") from None
    if len(head) < 100 or not head.startswith(_MAGIC):
        raise InvalidFile(f"{path}: not a store of uaos, or a damaged one")
    purpose = head[68:72]
    if purpose not in _STORES:
        raise InvalidFile(f"{path}: an SQLite file, but not a store of uaos")
    if purpose != kind.application:
        (found, command), (expected, _) = _STORES[purpose], _STORES[kind.application]
        raise InvalidFile(
            f"{path}: the store of {found}, where that of {expected} is expected; `{command}` "
            "reads it"
        )
    version = int.from_bytes(head[60:64], "big")
    if version > kind.format:
        raise InvalidFile(
            f"{path}: written in format {version} by a newer uaos; this one reads up to "
            f"{kind.format}. Update uaos"
        )
    if version < kind.format:
        raise InvalidFile(
            f"{path}: written in format {version} by an older version of uaos; this one reads "
            f"{kind.format}. Read it with that version, or use another file"
        )
    with reading(path), contextlib.closing(connect(path)) as connection:
        verdict = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if verdict != "ok":
            raise damaged(path, verdict)
        if lost := connection.execute("PRAGMA foreign_key_check").fetchone():
            raise damaged(path, f"{lost[0]} refer to {lost[2]} that are not there")
        _check_types(path, connection)


def _check_types(path: Path, connection: sqlite3.Connection) -> None:
    """Refuse text where a number is declared, and the like, which SQLite itself lets pass."""
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    for (table,) in tables:
        columns = connection.execute("SELECT name, lower(type) FROM pragma_table_info(?)", (table,))
        wrong = " OR ".join(
            f"typeof({_quoted(name)}) NOT IN ('null', '{declared}')" for name, declared in columns
        )
        if connection.execute(f"SELECT 1 FROM {_quoted(table)} WHERE {wrong} LIMIT 1").fetchone():
            raise damaged(path, f"a value of the wrong type in {table}")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def damaged(path: Path, why: object) -> InvalidFile:
    """The error for a store that cannot be read to its end."""
    words = str(why).splitlines() or [type(why).__name__]
    return InvalidFile(f"{path}: damaged ({words[0]}); restore it from a copy")


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Whatever damaged contents lead to is called by its name."""
    try:
        yield
    except UaosError:
        raise
    except _UNREADABLE as error:
        raise damaged(path, error) from error


def as_table(text: str) -> dict[str, Any]:
    """What a store keeps as a table in JSON."""
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError("no table where one is expected")
    return found


def connect(path: Path, *, write: bool = False) -> sqlite3.Connection:
    """A connection that cannot write, or the one that can."""
    place = f"file:{quote(str(path.resolve()))}"
    if not write:
        connection = sqlite3.connect(f"{place}?mode=ro", uri=True, timeout=30)
        try:
            connection.execute("SELECT 1 FROM sqlite_master")
        except sqlite3.OperationalError:
            # A store that was being written, in a folder where we may not write beside it.
            connection.close()
            connection = sqlite3.connect(f"{place}?mode=ro&immutable=1", uri=True)
        return connection
    connection = sqlite3.connect(f"{place}?mode=rw", uri=True, timeout=30, isolation_level=None)
    # Readers are not held up while the coordinator writes, and no commit is lost by a power cut.
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def disconnect(connection: sqlite3.Connection) -> None:
    """Close the connection that can write, and leave one file with nothing beside it."""
    try:
        # Fails while somebody reads; then the next coordinator tidies up.
        connection.execute("PRAGMA busy_timeout = 0")
        connection.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.OperationalError:
        pass
    finally:
        connection.close()


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


class Lock:
    """The right to write a store. The operating system takes it back from a process that died.

    Held on a file beside the store, as SQLite's own locks are lost when any handle of the store's
    file is closed.
    """

    def __init__(self, path: Path, kind: Kind = EXPERIMENT) -> None:
        self._path = path.with_name(path.name + ".lock")
        while True:
            try:
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
            except OSError as error:
                raise InvalidFile(f"{path}: cannot be written ({error.strerror})") from None
            if not _try_lock(self._file):
                os.close(self._file)
                raise StoreInUse(
                    f"{path}: another process is running this {kind.noun}; wait for it, stop it, "
                    f"or {kind.apart}"
                )
            # The last holder may have removed the file after we opened it: then it locks nothing.
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(self._file), os.stat(self._path)):
                    return
            os.close(self._file)

    def release(self) -> None:
        """Let others write."""
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


class OpenStore:
    """A store that is open: for reading, or with the lock for the one that writes."""

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: "Lock | None") -> None:
        self.path = path
        self._connection = connection
        self._lock = lock

    def close(self) -> None:
        """Close the file; a writer leaves it as one file, with nothing beside it."""
        if self._lock is None:
            self._connection.close()
            return
        try:
            disconnect(self._connection)
        finally:
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        """All that is written within, or nothing."""
        try:
            with transaction(self._connection):
                yield
        except sqlite3.OperationalError as error:
            raise UaosError(f"{self.path}: cannot be written ({error})") from error
        except sqlite3.DatabaseError as error:
            # Its subclasses are mistakes of ours; itself is for a file that is not in order.
            if type(error) is sqlite3.DatabaseError:
                raise damaged(self.path, error) from error
            raise

    def _rows(
        self, query: str, values: tuple[Any, ...] = (), make: Callable[..., Any] | None = None
    ) -> list[Any]:
        """The answer to a query, each row as `make` reads it."""
        with reading(self.path):
            rows = self._connection.execute(query, values).fetchall()
            return rows if make is None else [make(*row) for row in rows]
