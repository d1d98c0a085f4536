"""Tables of a store: one SQLite format for benchmarks and tunings.

The schema is fixed: a file with anything else in it, such as a trigger or a view, is refused.
"""

import contextlib
import sqlite3
from functools import cache
from typing import NamedTuple

from uaos.checks import LONGEST_NAME
from uaos.experiments.recorder import TARGETS

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


def create_tables(connection: sqlite3.Connection) -> None:
    """Make the tables of a store in an empty database."""
    connection.executescript(
        f"PRAGMA application_id = {int.from_bytes(APPLICATION, 'big')};"
        f"PRAGMA user_version = {FORMAT}; BEGIN; {SCHEMA} COMMIT;"
    )


class Column(NamedTuple):
    """A column of a table, as the schema declares it."""

    name: str
    kind: str
    required: bool


def schema_of(connection: sqlite3.Connection) -> list[Values]:
    """Return the schema of a database: tables, indices, views and triggers."""
    return connection.execute(
        "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
    ).fetchall()


@cache
def _declared() -> tuple[list[Values], dict[str, list[Column]]]:
    """Return the schema as SQLite has it, and the columns of each table without checksums."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(SCHEMA)
        schema = schema_of(connection)
        columns = {}
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'"):
            query = 'SELECT name, type, "notnull" OR pk FROM pragma_table_info(?)'
            rows = map(Column._make, connection.execute(query, (table,)))
            columns[table] = [column for column in rows if column.name != "checksum"]
    return schema, columns


def expected_schema() -> list[Values]:
    """Return the schema of every store."""
    return _declared()[0]


def table_columns() -> dict[str, list[Column]]:
    """Return the columns of each table of a store, without the checksum."""
    return _declared()[1]


@cache
def checked_columns(table: str) -> tuple[str, str]:
    """Return the columns that the checksum covers, and the condition that all have valid values."""
    covered, conditions = [], []
    for name, kind, required in table_columns()[table]:
        column = f"{table}.{name}"
        # Text as bytes: damaged text may not be valid UTF-8, which sqlite3 cannot return.
        covered.append(f"CAST({column} AS BLOB)" if kind == "TEXT" else column)
        condition = _ALLOWED.get(column, _DEFAULT[kind]).format(column)
        conditions.append(f"({condition})" if required else f"({column} IS NULL OR {condition})")
    return ", ".join(covered), " AND ".join(conditions)
