"""A store with damaged contents is refused in one line, wherever the damage shows."""

import random
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from test_cli import run as uaos_run

import uaos
from uaos.errors import InvalidFile, UaosError
from uaos.experiments import Outcome, Plan, Store, run_unit
from uaos.experiments.merge import merge
from uaos.experiments.storefile import create
from uaos.experiments.targets import TARGETS
from uaos.tuning.store import Candidate, Cost, Elimination, Elite, Iteration, Step, TuningStore


def an_experiment(path: Path) -> None:
    plan = Plan.of("mix", functions="1,2", instances="1", dimension=2, budget=400, uniform=False)
    with Store.create_or_resume(path, plan) as store:
        store.record([run_unit(u, plan.competitors[u.method]) for u in plan.units()])


def a_tuning(path: Path) -> None:
    with TuningStore.create_or_resume(path) as store:
        tuning = store.begin({"seed": 1, "space": {"F": [0.1, 2.0]}})
        key = store.key(uaos.configuration("mix"))
        hits = np.full(len(TARGETS), -1)
        store.record_runs([Outcome(key, 3, 20, 7, 1, 5, 900, 800, 0.5, hits, 1.5, "done", "")])
        store.add_candidates(tuning, [Candidate(1, 1, None, key, {"F": 0.5}, "initial")])
        step = Step(1, 1, "f3 20-D i7", 5, 1, 1, 1, 6.5, 0.01, 0.25, 1, 0.5)
        store.add_step(tuning, step, [Elimination(1, 1, 1, 4.0, "the test")], [Cost(1, 0, 0.5)])
        store.add_iteration(tuning, Iteration(1, 4, 100, 2, 4, "few are left"))
        store.add_elites(tuning, [Elite(1, 1, 1, 2, 3.0, 0.5)])
        store.finish(tuning, {"runs": 1})


def read_experiment(path: Path) -> None:
    """Every way of reading there is."""
    with Store.open(path) as store:
        _ = store.seed, store.plan, store.sessions, store.configurations(), store.tallies()
        for outcome in store.outcomes():
            store.history(*outcome[:5])
            store.packed_course(outcome[:5])
    merge(path.with_name("merged.db"), [path])
    path.with_name("merged.db").unlink()


def read_tuning(path: Path) -> None:
    with TuningStore.open(path) as store:
        _ = store.sessions, store.cached()
        for tuning in store.tunings():
            for candidate in store.candidates(tuning.id):
                store.configuration(candidate.configuration)
            for table in ("iterations", "steps", "eliminations", "elites", "results"):
                getattr(store, table)(tuning.id)


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
def test_any_wrong_byte_is_an_error_of_ours_or_none(
    kind: str, whole: dict[str, bytes], tmp_path: Path
) -> None:
    read = KINDS[kind][1]
    path, draw, lines = tmp_path / "store.db", random.Random(1), []
    # Much of a small store is zeros between its pages' contents.
    contents = [at for at, byte in enumerate(whole[kind]) if byte]
    for at in draw.sample(contents, 200):
        data = bytearray(whole[kind])
        data[at] ^= draw.randrange(1, 256)
        path.write_bytes(data)
        try:
            read(path)
        except UaosError as error:
            lines.append(str(error).splitlines())
        path.with_name("merged.db").unlink(missing_ok=True)
    assert len(lines) > 20
    assert {len(line) for line in lines} == {1}


@pytest.mark.parametrize(
    ("kind", "table", "column", "value", "why"),
    [
        ("experiment", "units", "hits", b"\0", "buffer size must be a multiple"),
        ("experiment", "units", "hits", b"\0" * 16, "targets in a run, not"),
        ("experiment", "units", "hits", None, "int\\(\\) argument must be"),
        ("experiment", "units", "error", None, "without its outcome"),
        ("experiment", "units", "error", "abc", "a value of the wrong type in units"),
        ("experiment", "units", "seed", 1.5, "a value of the wrong type in units"),
        ("experiment", "methods", "configuration", "{bad", "Expecting property name"),
        ("experiment", "methods", "configuration", "5", "no table where one is expected"),
        ("experiment", "methods", "name", "other", "units refer to methods that are not there"),
        ("experiment", "sessions", "versions", "", "Expecting value"),
        ("experiment", "experiment", "value", "one", "invalid literal"),
        ("experiment", "courses", "data", b"\0\x11", "incorrect header check"),
        ("tuning", "runs", "hits", b"\0", "buffer size must be a multiple"),
        ("tuning", "runs", "evaluations", "abc", "a value of the wrong type in runs"),
        ("tuning", "configurations", "configuration", "{bad", "are not what was written"),
        ("tuning", "tunings", "setup", "{}", "are not what was written"),
        ("tuning", "tunings", "data", "[]", "no table where one is expected"),
        ("tuning", "candidates", "vals", "{", "Expecting property name"),
        ("tuning", "elites", "mean_cost", "abc", "a value of the wrong type in elites"),
    ],
)  # fmt: skip
def test_a_damaged_value_is_called_that(
    kind: str, table: str, column: str, value: object, why: str, whole: dict[str, bytes],
    tmp_path: Path,
) -> None:  # fmt: skip
    path = tmp_path / "store.db"
    path.write_bytes(whole[kind])
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE {table} SET {column} = ?", (value,))
    connection.close()
    read: Callable[[Path], None] = KINDS[kind][1]
    with pytest.raises(InvalidFile, match=rf"store.db: damaged \(.*{why}.*\); restore it from"):
        read(path)


def test_a_damaged_course_ends_a_command_with_one_line(
    whole: dict[str, bytes], tmp_path: Path
) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(whole["experiment"])
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE courses SET data = x'0011'")
    connection.close()
    run = ("--method", "mix", "--function", "1")
    done = uaos_run("plot", "operators", str(path), "-o", str(tmp_path / "run.png"), *run)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {path}: damaged (")
    assert done.stderr.count("\n") == 1


def test_a_store_whose_experiment_never_began_says_so(tmp_path: Path) -> None:
    create(tmp_path / "new.db")
    with (
        Store.open(tmp_path / "new.db") as store,
        pytest.raises(InvalidFile, match=r"new.db: holds no experiment yet; start"),
    ):
        _ = store.plan
