"""One store out of several, such as from several machines."""

import os
from collections.abc import Sequence
from pathlib import Path

from uaos.errors import InvalidParameter, UaosError
from uaos.experiments.store import Store, differing
from uaos.experiments.storefile import Lock, connect, create, insert, is_whole
from uaos.experiments.unit import Outcome, Unit
from uaos.files import whole_file


class MergeConflict(UaosError, ValueError):
    """Two stores disagree."""


def merge(out: str | os.PathLike[str], sources: Sequence[str | os.PathLike[str]]) -> int:
    """Write a new store with the runs of all `sources`; how many of them are finished.

    The stores must be of one experiment: the same suite, the same seed, the same budget, and the
    same configuration under the same name. A run that two of them finished must have the same
    outcome.

    Parameters
    ----------
    out : str or path
        A new file.
    sources : sequence of str or path
        Stores.

    Raises
    ------
    MergeConflict
        If the stores are not of one experiment.
    """
    target = Path(out)
    if not sources:
        raise InvalidParameter("merge", [], "two stores or more to merge")
    if target.exists():
        raise InvalidParameter("merge", str(target), "a new file: this one exists")
    if not target.absolute().parent.is_dir():
        raise InvalidParameter("merge", str(target), "a file in a folder that exists")
    with whole_file(target) as part:
        create(part)
        with Store(part, connect(part, write=True), Lock(part)) as merged:
            first: Path | None = None
            for source in sources:
                with Store.open(source) as store:
                    if first is not None:
                        _check(merged, store, first)
                    _copy(merged, store)
                    first = first or store.path
            return sum(tally.done + tally.failed for tally in merged.tallies().values())


def _check(merged: Store, store: Store, first: Path) -> None:
    """Refuse a store of another experiment."""
    differences = []
    for what in ("seed", "suite"):
        if (one := getattr(merged, what)) != (other := getattr(store, what)):
            differences.append(f"{what}: {one} and {other}")
    query = "SELECT hash FROM suite"
    if not differences and merged._rows(query) != store._rows(query):
        differences.append("the suite's file is not the same")
    query = (
        "SELECT problems.name, MAX(budget) FROM plan JOIN problems ON problems.id = problem "
        "GROUP BY problem"
    )
    budgets, known = dict(merged._rows(query)), merged.configurations()
    for problem, budget in store._rows(query):
        if budgets.get(problem, budget) != budget:
            differences.append(f"budget on {problem}: {budgets[problem]} and {budget}")
            break
    for name, configuration in store.configurations().items():
        if name in known:
            differences += differing(name, known[name], configuration)
    if differences:
        raise MergeConflict(
            f"{store.path} is not of the experiment of {first}: " + "; ".join(differences[:8])
        )


def _copy(merged: Store, store: Store) -> None:
    have = {outcome.unit: outcome for outcome in merged.outcomes()}
    into = merged._connection
    with merged._transaction():
        for table in ("about", "suite"):
            columns = "key, value" if table == "about" else "id, name, file, source, hash"
            insert(into, table, store._rows(f"SELECT {columns} FROM {table}"), "INSERT OR IGNORE")
        merged.add_methods(dict(store._rows("SELECT name, configuration FROM methods ORDER BY id")))
        problems = merged._known("problems")
        insert(into, "problems", [
            (problems.setdefault(row[0], len(problems) + 1), *row)
            for row in store._rows(
                "SELECT name, function, category, dimension, instance, optimum, bounds "
                "FROM problems ORDER BY id"
            )
            if row[0] not in problems
        ])  # fmt: skip
        _copy_plan(merged, store)
        sessions: dict[int | None, int | None] = {None: None}
        for number, started, packages in store._rows("SELECT id, started, versions FROM sessions"):
            sessions[number] = merged._rows("SELECT COALESCE(MAX(id), 0) + 1 FROM sessions")[0][0]
            insert(into, "sessions", [(sessions[number], started, packages)])
        session_of = {
            Unit(*unit): session
            for *unit, session in store._rows(
                "SELECT methods.name, problems.name, repetition, seed, budget, session FROM runs "
                "JOIN methods ON methods.id = method JOIN problems ON problems.id = problem "
                f"WHERE {is_whole('runs')}"
            )
        }
        for outcome in store.outcomes(traces=True):
            before = have.get(outcome.unit)
            if before is None or _replaces(before, outcome, store):
                packed = store.packed_course(outcome.unit.key)
                merged._put(outcome, packed, sessions[session_of[outcome.unit]])


def _copy_plan(merged: Store, store: Store) -> None:
    into = merged._connection
    known = {
        (method, problem): repetitions
        for method, problem, repetitions in merged._rows(
            "SELECT method, problem, repetitions FROM plan"
        )
    }
    rows = []
    for method, problem, repetitions, budget in store._rows(
        "SELECT methods.name, problems.name, repetitions, budget FROM plan "
        "JOIN methods ON methods.id = method JOIN problems ON problems.id = problem"
    ):
        key = merged._known("methods")[method], merged._known("problems")[problem]
        rows.append((*key, max(repetitions, known.get(key, 0)), budget))
    insert(into, "plan", rows, "INSERT OR REPLACE")


def _replaces(before: Outcome, outcome: Outcome, store: Store) -> bool:
    """Whether an outcome takes the place of another; done goes before failed."""
    if "failed" in (before.status, outcome.status):
        return outcome.status == "done"
    for field in ("evaluations", "best"):
        if (there := getattr(before, field)) != (here := getattr(outcome, field)):
            raise MergeConflict(
                f"{store.path}: {outcome.unit} has {field} {here}, and {there} in another store"
            )
    if (before.hits != outcome.hits).any():
        raise MergeConflict(f"{store.path}: {outcome.unit} reached its targets at other times")
    return False
