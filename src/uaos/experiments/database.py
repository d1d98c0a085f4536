"""SQLite as stores use it: queries, transactions, and errors that name the file."""

import contextlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from uaos.experiments import rows, storefile
from uaos.experiments.lock import Lock
from uaos.experiments.storefile import reading, unusable


class Database:
    """Connection to the file of a store. Errors of SQLite are raised as those of the store.

    Parameters
    ----------
    path : Path
        The file.
    connection : sqlite3.Connection
        Connection to it.
    lock : Lock, optional
        Held by the process that writes.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: Lock | None) -> None:
        self.path, self.connection, self._lock = path, connection, lock
        self._numbers: dict[str, dict[str, int]] = {}

    @property
    def writable(self) -> bool:
        """True for the one process that writes."""
        return self._lock is not None

    def rows(
        self, query: str, values: tuple[object, ...] = (), make: Callable[..., Any] | None = None
    ) -> list[Any]:
        """Return the rows of a query, each converted by `make`."""
        with reading(self.path):
            selected = self.connection.execute(query, values).fetchall()
            return selected if make is None else [make(*row) for row in selected]

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """Read the file as it is now, although a coordinator may be adding runs."""
        with reading(self.path):
            if not self.connection.in_transaction:
                self.connection.execute("BEGIN")
            try:
                yield
            finally:
                self.connection.rollback()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Write everything inside the block, or nothing."""
        execute = self.connection.execute
        try:
            execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._numbers.clear()  # of rows that were not written
                with contextlib.suppress(sqlite3.Error):  # a full disk has rolled back already
                    execute("ROLLBACK")
                raise
            execute("COMMIT")
        except sqlite3.DatabaseError as error:
            # Other subclasses are programming errors; the class itself means a damaged file.
            if type(error) in (sqlite3.OperationalError, sqlite3.DatabaseError):
                raise unusable(self.path, error, "written") from error
            raise

    def insert(self, table: str, values: Iterable[Iterable[object]], how: str = "INSERT") -> None:
        """Write rows, each with the values of all columns but the checksum."""
        rows.insert(self.connection, table, values, how)

    def numbers(self, table: str) -> dict[str, int]:
        """Return the numbers of the methods or the problems by name."""
        if table not in self._numbers:
            self._numbers[table] = dict(self.rows(f"SELECT name, id FROM {table}"))
        return self._numbers[table]

    def insert_named(self, table: str, values: Iterable[tuple[Any, ...]]) -> dict[str, int]:
        """Write new methods or problems, names first; return the numbers of all by name."""
        numbers = self.numbers(table)
        new = {row[0]: row for row in values if row[0] not in numbers}
        numbers |= {name: n for n, name in enumerate(new, 1 + max(numbers.values(), default=0))}
        self.insert(table, ((numbers[name], *row) for name, row in new.items()))
        return numbers

    def check_pages(self) -> None:
        """Refuse a file with a damaged page, before anything is written or copied."""
        storefile.check_pages(self.path, self.connection)

    def close(self) -> None:
        """Close the file; a writer also removes the auxiliary files of SQLite."""
        try:
            if self._lock is not None:
                # Fails while a reader is active; then the next coordinator removes them.
                with contextlib.suppress(sqlite3.OperationalError):
                    self.connection.execute("PRAGMA busy_timeout = 0")
                    self.connection.execute("PRAGMA journal_mode = DELETE")
            self.connection.close()
        finally:
            if self._lock is not None:
                self._lock.release()

    def delete(self) -> None:
        """Close the file, which this process created, and delete it."""
        self.connection.close()
        for suffix in ("", "-wal", "-shm", "-journal"):
            Path(f"{self.path}{suffix}").unlink(missing_ok=True)
        if self._lock is not None:
            self._lock.release()
