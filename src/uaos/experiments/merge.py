"""Merge stores, such as those of several machines."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from uaos.errors import InvalidParameter, UaosError
from uaos.experiments.database import Database
from uaos.experiments.lock import Lock
from uaos.experiments.plan import differences
from uaos.experiments.provenance import current_command
from uaos.experiments.reader import COMMAND_KEY
from uaos.experiments.rows import is_whole
from uaos.experiments.store import Store
from uaos.experiments.storefile import connect, create
from uaos.experiments.unit import Unit
from uaos.files import as_path, whole_file

_PROBLEM = "name, function, category, dimension, instance, optimum, bounds"
_RUN = (
    "method, problem, repetition, seed, budget, status, evaluations, best, error, hits, seconds, "
    "reason"
)
_KEY = "method = ? AND problem = ? AND repetition = ? AND seed = ? AND budget = ?"


class MergeConflict(UaosError, ValueError):
    """Two stores disagree."""


def merge_stores(out: str | os.PathLike[str], sources: Sequence[str | os.PathLike[str]]) -> int:
    """Write a new store with the runs of all `sources`; return how many are finished.

    The stores must be of one experiment: the same suite, the same seed, the same budget, and the
    same configuration under the same name. A run that two of them finished must have the same
    outcome.
    """
    target = as_path(out, "out")
    if not sources:
        raise InvalidParameter(
            "no stores to merge; name them after the new file", name="merge", value=[]
        )
    if target.exists():
        raise InvalidParameter(
            f"{target} exists; merge into a new file", name="merge", value=str(target)
        )
    if not target.absolute().parent.is_dir():
        raise InvalidParameter(
            f"{target} cannot be written: there is no such folder; create it first", name="merge",
            value=str(target),
        )  # fmt: skip
    with whole_file(target) as part:
        create(part)
        with Store(Database(part, connect(part, write=True), Lock(part))) as merged:
            first: Path | None = None
            for source in sources:
                with Store.open(source) as store:
                    store.database.check_pages()
                    different = differences(merged.identity(), store.identity()) if first else []
                    if different:
                        raise MergeConflict(
                            f"{store.path} and {first} belong to different experiments: "
                            f"{'; '.join(different)}. Merge stores of one experiment only"
                        )
                    _copy(merged, store)
                    first = first or store.path
            with merged.database.transaction():
                merged.add_command(current_command())
            return sum(tally.done + tally.failed for tally in merged.tallies().values())


def _copy(merged: Store, store: Store) -> None:
    into, rows_of = merged.database, store.database.rows
    with into.transaction():
        about = rows_of(f"SELECT key, value FROM about WHERE key NOT GLOB '{COMMAND_KEY}*'")
        into.insert("about", about, "INSERT OR IGNORE")
        suite = rows_of("SELECT id, name, file, source, hash FROM suite")
        into.insert("suite", suite, "INSERT OR IGNORE")
        for command in store.commands:
            merged.add_command(command)
        numbers: dict[str, dict[int, int]] = {}
        for table in ("methods", "problems"):
            columns = "name, configuration" if table == "methods" else _PROBLEM
            rows = rows_of(f"SELECT id, {columns} FROM {table} ORDER BY id")
            ids = into.insert_named(table, (row for _, *row in rows))
            numbers[table] = {number: ids[name] for number, name, *_ in rows}
        merged.add_plan(store.planned())
        last = merged.database.rows("SELECT COALESCE(MAX(id), 0) FROM sessions")[0][0]
        sessions = rows_of("SELECT id, started, versions FROM sessions")
        into.insert("sessions", [(last + number, *rest) for number, *rest in sessions])
        _copy_runs(merged, store, numbers, last)


def _copy_runs(
    merged: Store, store: Store, numbers: dict[str, dict[int, int]], sessions: int
) -> None:
    for *values, session, trace, course in store.database.rows(
        f"SELECT {_RUN}, session, traces.data, courses.data FROM runs JOIN traces ON "
        "traces.run = runs.id LEFT JOIN courses ON courses.run = runs.id AND "
        f"{is_whole('courses')} WHERE {is_whole('runs')} AND {is_whole('traces')}"
    ):
        method, problem, *more = values
        row = (numbers["methods"][method], numbers["problems"][problem], *more)
        before = merged.database.rows(f"SELECT {_RUN} FROM runs WHERE {_KEY}", row[:5])
        if before and not _replaces(before[0], row, merged, store):
            continue
        merged.put_row((*row, session and session + sessions), trace, course)


def _replaces(before: tuple[Any, ...], row: tuple[Any, ...], merged: Store, store: Store) -> bool:
    """Return whether a run replaces another: a finished run replaces a failed one."""
    if "failed" in (before[5], row[5]):
        return bool(row[5] == "done")
    # The error and the seconds are not compared: they may differ between versions.
    for at, field in ((6, "evaluations"), (7, "best"), (9, "hits")):
        if before[at] != row[at]:
            unit = Unit(merged.methods()[row[0] - 1], merged.problems()[row[1] - 1].name, *row[2:5])
            values = f"{field} {row[at]}, and {before[at]}" if at < 9 else f"other {field} than"
            raise MergeConflict(f"{store.path}: {unit} has {values} in another store")
    return False
