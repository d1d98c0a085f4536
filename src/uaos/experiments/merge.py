"""One store out of several, such as from several machines."""

import os
from collections.abc import Sequence
from pathlib import Path

from uaos.errors import InvalidParameter, UaosError
from uaos.experiments.records import Outcome
from uaos.experiments.store import Store, differing
from uaos.experiments.storefile import Lock, connect, create


class MergeConflict(UaosError, ValueError):
    """Two stores disagree."""


def merge(out: str | os.PathLike[str], sources: Sequence[str | os.PathLike[str]]) -> int:
    """Write a new store with the units of all `sources`; how many of them are finished.

    The stores must be of one experiment: the same seed, the same budget, and the same configuration
    under the same name. A unit that two of them finished must have the same outcome.
    """
    target = Path(out)
    if not sources:
        raise InvalidParameter("merge", [], "two stores or more to merge")
    if target.exists():
        raise InvalidParameter("merge", str(target), "a new file: this one exists")
    if not target.absolute().parent.is_dir():
        raise InvalidParameter("merge", str(target), "a file in a folder that exists")
    part = target.with_name(target.name + ".merging")
    lock = Lock(target)
    try:
        part.unlink(missing_ok=True)
        create(part)
        merged = Store(part, connect(part, write=True), Lock(part))
        try:
            first: dict[str, Path] = {}
            for source in sources:
                with Store.open(source) as store:
                    _check(merged, store, first)
                    _copy(merged, store)
            count = sum(tally.done + tally.failed for tally in merged.tallies().values())
        finally:
            merged.close()
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
        lock.release()
    return count


def _check(merged: Store, store: Store, first: dict[str, Path]) -> None:
    """Refuse a store of another experiment."""
    differences = []
    if first and merged.seed != store.seed:
        differences.append(f"seed: {merged.seed} and {store.seed}")
    budgets, known = merged.plan.budgets if first else {}, merged.configurations()
    for dimension, budget in store.plan.budgets.items():
        if budgets.get(dimension, budget) != budget:
            differences.append(f"budget in {dimension}-D: {budgets[dimension]} and {budget}")
    for name, configuration in store.configurations().items():
        if name in known:
            differences += differing(name, known[name], configuration)
    if differences:
        raise MergeConflict(
            f"{store.path} is not of the experiment of {next(iter(first.values()))}: "
            + "; ".join(differences[:8])
        )
    first.setdefault("", store.path)


def _copy(merged: Store, store: Store) -> None:
    have = {outcome[:5]: outcome for outcome in merged.outcomes()}
    into = merged._connection
    with merged._transaction():
        for table in ("experiment", "methods"):
            rows = store._rows(f"SELECT * FROM {table} ORDER BY rowid"
                               if table == "methods" else f"SELECT * FROM {table}")  # fmt: skip
            into.executemany(f"INSERT OR IGNORE INTO {table} VALUES (?, ?)", rows)
        sessions: dict[int | None, int | None] = {None: None}
        for number, started, packages in store._rows("SELECT * FROM sessions ORDER BY id"):
            sessions[number] = into.execute(
                "INSERT INTO sessions (started, versions) VALUES (?, ?)", (started, packages)
            ).lastrowid
        into.executemany(
            "INSERT OR IGNORE INTO units (method, function, dimension, instance, repetition, seed, "
            "budget) VALUES (?, ?, ?, ?, ?, ?, ?)",
            store._rows("SELECT method, function, dimension, instance, repetition, seed, budget "
                        "FROM units ORDER BY id"),
        )  # fmt: skip
        session_of = {
            (*key,): session
            for *key, session in store._rows(
                "SELECT method, function, dimension, instance, repetition, session FROM units"
            )
        }
        for outcome in store.outcomes():
            before = have.get(outcome[:5])
            if before is not None and not _replaces(before, outcome, store):
                continue
            merged._session = sessions[session_of[outcome[:5]]]
            merged._put(outcome, store.packed_course(outcome[:5]))


def _replaces(before: Outcome, outcome: Outcome, store: Store) -> bool:
    """Whether an outcome takes the place of another; done goes before failed."""
    if "failed" in (before.status, outcome.status):
        return outcome.status == "done"
    for field in ("seed", "evaluations", "error"):
        if getattr(before, field) != getattr(outcome, field):
            there, here = getattr(before, field), getattr(outcome, field)
            raise MergeConflict(
                f"{store.path}: {outcome.method} on f{outcome.function}, {outcome.dimension}-D, "
                f"instance {outcome.instance}, repetition {outcome.repetition} has {field} {here}, "
                f"and {there} in another store"
            )
    if (before.hits != outcome.hits).any():
        raise MergeConflict(f"{store.path}: {outcome[:5]} reached its targets at other times")
    return False
