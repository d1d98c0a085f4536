"""Rows of a store, each with a checksum over its other columns.

The checksum is computed by a function that is registered with SQLite, so that queries can leave out
damaged rows.
"""

import itertools
import operator
import sqlite3
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np

from uaos.experiments.schema import Value, Values, checked_columns, table_columns

_ROWS_AT_A_TIME = 5000


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


def is_whole(table: str) -> str:
    """Return the SQL condition that a row has valid values and the right checksum."""
    columns, allowed = checked_columns(table)
    return f"({allowed} AND row_checksum({columns}) = {table}.checksum)"


def whole_columns(
    connection: sqlite3.Connection, table: str, order: str
) -> Iterator[dict[str, tuple[Any, ...]]]:
    """Yield the columns of undamaged rows, some thousand rows at a time; text as bytes.

    Faster than a query with :func:`is_whole`, for which SQLite calls Python once per row.
    """
    columns, allowed = checked_columns(table)
    query = f"SELECT {columns}, checksum FROM {table} WHERE {allowed} ORDER BY {order}"
    names = (*(column.name for column in table_columns()[table]), "checksum")
    cursor = connection.execute(query)
    while rows := cursor.fetchmany(_ROWS_AT_A_TIME):
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


def insert(
    connection: sqlite3.Connection, table: str, rows: Iterable[Iterable[object]],
    how: str = "INSERT",
) -> None:  # fmt: skip
    """Write rows, each with the values of all columns but the checksum."""
    kinds = tuple(column.kind for column in table_columns()[table])
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
