"""Damaged, hostile and old stores: nothing that is not what was written is believed."""

import random
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
import tuning_cases
from experiment_stubs import content, essence, small_plan

import uaos
from uaos.errors import InvalidFile, UaosError
from uaos.experiments import Progress, Store, run, run_unit
from uaos.experiments.merge import merge_stores
from uaos.experiments.store import open_store
from uaos.experiments.storefile import create
from uaos.experiments.unit import Unit, outcome
from uaos.problems import suite
from uaos.tuning.store import Candidate, Cost, Elite, Iteration, Step, TuningStore

PLAN = small_plan("mix", functions="1,2", instances="1")


def an_experiment(path: Path) -> None:
    with Store.create_or_resume(path, PLAN) as store:
        store.record([
            run_unit(u, PLAN.suite[u.problem], PLAN.competitors[u.method]) for u in PLAN.units()
        ])  # fmt: skip


def a_tuning(path: Path) -> None:
    problems = suite("bbob", functions="3", instances="7")
    with TuningStore.create_or_resume(path, problems) as store:
        tuning = store.begin(tuning_cases.SETUP)
        key = store.key(uaos.configuration("mix"))
        unit = Unit(key, problems[0].name, 1, 5, 900)
        store.record_runs([outcome(unit, problems[0], evaluations=800, best=1.0, error=0.5)])
        store.add(tuning, Candidate(1, 1, None, key, {"F": 0.5}, "initial"))
        step = Step(1, 1, "f3 i7 20-D", 5, 1, 1, 1, 6.5, 0.01, 0.25, 1, 0.5)
        store.add(tuning, step, Cost(1, 0, 0.5))
        store.add(tuning, Iteration(1, 4, 100, 2, 4, "few are left"))
        store.add(tuning, Elite(1, 1, 1, 2, 3.0, 0.5))
        store.finish(tuning, tuning_cases.RESULT)


def read_experiment(path: Path) -> list[object]:
    """Every way of reading there is; what is read, but for what a damaged run leaves out."""
    with Store.open(path) as store:
        found: list[object] = [store.seed, store.planned(), store.sessions, store.configurations()]
        store.tallies()
        table = store.table()
        assert len(table) == len(store.outcomes()) == 2 - store.damaged()
        for one in store.outcomes(traces=True):
            store.history(*one.unit.key)
            found.append((one.unit.key, essence(one)))
    merge_stores(path.with_name("merged.db"), [path])
    path.with_name("merged.db").unlink()
    return found


def read_tuning(path: Path) -> list[object]:
    with TuningStore.open(path) as store:
        found: list[object] = [store.sessions, store.tunings()]
        found += [(unit, essence(one)) for unit, one in store.cached().items()]
        for tuning in store.tunings():
            for candidate in store.candidates(tuning.id):
                found.append(store.configuration(candidate.configuration).to_dict())
            for table in ("iterations", "steps", "elites", "results"):
                found += getattr(store, table)(tuning.id)
    return found


KINDS = {"experiment": (an_experiment, read_experiment), "tuning": (a_tuning, read_tuning)}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The bytes of a small store of each kind, which can be read."""
    found = {}
    for kind, (make, read) in KINDS.items():
        path = tmp_path_factory.mktemp("whole") / "store.db"
        make(path)
        read(path)
        found[kind] = path.read_bytes()
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_no_wrong_byte_is_ever_read_as_a_value(
    kind: str, whole: dict[str, bytes], tmp_path: Path
) -> None:
    """A damaged store is refused in one line, or the damaged run left out; nothing else changes."""
    read = KINDS[kind][1]
    path, draw, lines = tmp_path / "store.db", random.Random(1), []
    path.write_bytes(whole[kind])
    good = read(path)
    # Much of a small store is zeros between its pages' contents.
    contents = [at for at, byte in enumerate(whole[kind]) if byte]
    for at in draw.sample(contents, 200):
        data = bytearray(whole[kind])
        data[at] ^= draw.randrange(1, 256)
        path.write_bytes(data)
        try:
            found = read(path)
        except UaosError as error:
            lines.append(str(error).splitlines())
        else:
            assert all(value in good for value in found), (at, data[at])
        path.with_name("merged.db").unlink(missing_ok=True)
    assert len(lines) > 20
    assert {len(line) for line in lines} == {1}


@pytest.mark.parametrize(
    ("kind", "table", "column", "value"),
    [
        ("experiment", "methods", "configuration", "{bad"),
        ("experiment", "methods", "name", "other"),
        ("experiment", "sessions", "versions", ""),
        ("experiment", "about", "value", "one"),
        ("experiment", "problems", "optimum", 3.0),
        ("experiment", "suite", "source", "x"),
        ("experiment", "plan", "repetitions", 7),
        ("tuning", "tunings", "setup", "{}"),
        ("tuning", "tunings", "data", "[]"),
        ("tuning", "candidates", "vals", "{"),
        ("tuning", "elites", "mean_cost", "abc"),
        ("tuning", "results", "cost", 0.25),
        ("tuning", "steps", "pvalue", None),
    ],
)  # fmt: skip
def test_a_damaged_row_that_no_run_can_replace_is_an_error(
    kind: str, table: str, column: str, value: object, whole: dict[str, bytes], tmp_path: Path
) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(whole[kind])
    changed(path, f"UPDATE {table} SET {column} = ?", value)
    read: Callable[[Path], object] = KINDS[kind][1]
    message = rf"store.db: damaged \(a row of {table} is not what uaos writes\); restore it from"
    with pytest.raises(InvalidFile, match=message):
        read(path)


def changed(path: Path, statement: str, *values: object) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement, values)
    connection.close()


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("runs", "hits", b"\0"),
        ("runs", "error", 0.25),
        ("runs", "evaluations", "abc"),
        ("runs", "status", b"\xff"),
        ("runs", "seed", 1.5),
        ("courses", "data", b"\0\x11"),
        ("traces", "data", b""),
    ],
)
def test_a_damaged_run_is_left_out_and_made_again(
    table: str, column: str, value: object, whole: dict[str, bytes], tmp_path: Path
) -> None:
    path, good = tmp_path / "store.db", tmp_path / "good.db"
    for file in (path, good):
        file.write_bytes(whole["experiment"])
    number = "id" if table == "runs" else "run"
    changed(path, f"UPDATE {table} SET {column} = ? WHERE {number} = 2", value)
    with Store.open(path) as store:
        assert store.damaged() == (table == "runs")
        assert len(store.outcomes()) == len(store.table()) == 2 - store.damaged()
        assert store.tallies()["mix"].done == 2 - store.damaged()
    seen: list[Progress] = []
    with ThreadPoolExecutor(1) as executor:
        run(PLAN, path, executor, on_progress=seen.append)
    assert (seen[-1].new, seen[-1].damaged) == (1, 1)
    assert content(path) == content(good)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER evil AFTER INSERT ON runs BEGIN DELETE FROM runs; END",
        "CREATE VIEW more AS SELECT * FROM runs",
        "CREATE TABLE more (x)",
        "CREATE INDEX more ON runs (seed)",
        "ALTER TABLE runs ADD COLUMN more TEXT",
        "DROP TABLE courses",
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_a_store_with_another_schema_is_refused(
    statement: str, kind: str, whole: dict[str, bytes], tmp_path: Path
) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(whole[kind])
    changed(path, statement)
    for use in (Store.open, TuningStore.open, lambda p: open_store(p, Store, TuningStore)):
        with pytest.raises(InvalidFile):
            use(path)
    with pytest.raises(InvalidFile):
        Store.create_or_resume(path, PLAN)


def test_a_store_whose_experiment_never_began_says_so(tmp_path: Path) -> None:
    create(tmp_path / "new.db")
    with (
        Store.open(tmp_path / "new.db") as store,
        pytest.raises(InvalidFile),
    ):
        _ = store.seed


# Stores of version 0.1


@pytest.mark.parametrize("application", [b"uaos", b"uaot"])
def test_a_store_of_version_0_1_is_refused_in_one_line(tmp_path: Path, application: bytes) -> None:
    """Stores of format 1, of experiments and of tunings, give one clear error and stay as is."""
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            f"PRAGMA application_id = {int.from_bytes(application, 'big')};"
            "PRAGMA user_version = 1; CREATE TABLE experiment (key TEXT, value TEXT);"
        )
    before = path.read_bytes()
    for use in (Store.open, TuningStore.open, lambda p: Store.create_or_resume(p, PLAN)):
        with pytest.raises(InvalidFile):
            use(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
