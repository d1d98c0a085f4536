"""The store of tunings: runs are kept for good and shared, the record of a race is written anew."""

import dataclasses
import hashlib
import math
import sqlite3
import stat
from pathlib import Path

import numpy as np
import pytest
import tuning_cases
from hypothesis import given
from hypothesis import strategies as st
from raising import raises

import uaos
from uaos.errors import InvalidFile, UaosError, UnknownName
from uaos.experiments import Plan, Store, StoreInUse
from uaos.experiments.database import Database
from uaos.experiments.recorder import TARGETS
from uaos.experiments.schema import FORMAT, SCHEMA, create_tables
from uaos.experiments.unit import Outcome, Unit, failed, outcome
from uaos.problems import suite
from uaos.tuning.store import Candidate, Cost, Elite, Iteration, Step, TuningStore

NAN, INF = float("nan"), float("inf")
SUITE = suite("bbob", functions="3", instances=[7, 8])
SETUP = {**tuning_cases.SETUP, "problems": ["f3 i7 20-D"]}


def run(key: str, seed: int = 1, **changes: object) -> Outcome:
    """A made-up run."""
    hits = np.arange(len(TARGETS), dtype=np.int64) - 1
    made = outcome(
        Unit(key, SUITE[0].name, 1, seed, 20_000), SUITE[0], evaluations=19_000, best=80.125,
        error=0.125, hits=hits, seconds=1.5,
    )  # fmt: skip
    return made._replace(**changes)


def essence(outcome: Outcome) -> tuple:
    """An outcome that can be compared."""
    return tuple(outcome._replace(hits=tuple(outcome.hits), trace=None))


def same(left: object, right: object) -> bool:
    """Equal, where NaN is NaN."""
    return repr(left) == repr(right)


@pytest.fixture
def store(tmp_path: Path) -> TuningStore:
    with TuningStore.create_or_resume(tmp_path / "t.db", SUITE) as made:
        yield made


# Configurations


@pytest.mark.parametrize("name", uaos.methods())
def test_a_configuration_is_kept_whole(name: str, store: TuningStore) -> None:
    given = uaos.configuration(name)
    key = store.key(given)
    store.record_runs([run(key)])
    back = store.configuration(key, name)
    assert {**back.to_dict(), "reference": given.reference, "note": given.note} == given.to_dict()
    assert store.key(back) == key


def test_a_configurations_key_is_that_of_what_it_runs(store: TuningStore) -> None:
    mix = uaos.configuration("mix")
    key = store.key(mix)
    assert len(key) == 32
    other = dataclasses.replace(mix, name="mine", note="hello", reference="me", kind="own")
    assert store.key(other) == key
    assert store.key(dataclasses.replace(mix, tuning={"seed": 3})) == key
    changed = dataclasses.replace(mix, settings=dataclasses.replace(mix.settings, CR=0.8))
    assert store.key(changed) != key
    slower = dataclasses.replace(mix, method=mix.method.replace(gamma=0.3))
    assert len({key, store.key(changed), store.key(slower)}) == 3


def test_all_configurations_of_the_catalogue_that_differ_have_keys_that_differ(
    store: TuningStore,
) -> None:
    entries = [uaos.configuration(name) for name in uaos.methods()]
    told = ("name", "reference", "note")
    recipes = {repr({k: v for k, v in e.to_dict().items() if k not in told}) for e in entries}
    assert len({store.key(e) for e in entries}) == len(recipes)


def test_a_key_that_is_not_there_is_an_error(store: TuningStore) -> None:
    key = store.key(uaos.configuration("mix"))  # not written before something is run or raced
    with raises(UnknownName, name="3367bdefcced74ed493837330b9a35f3"):
        store.configuration(key)


# Runs


def test_runs_are_read_as_they_were_written(tmp_path: Path) -> None:
    with TuningStore.create_or_resume(tmp_path / "t.db", SUITE) as store:
        key = store.key(uaos.configuration("mix"))
        unit = Unit(key, SUITE[0].name, 1, 5, 20_000)
        written = [
            run(key), run(key, 2**63 - 1, error=INF), run(key, 3, budget=100),
            run(key, 4, problem=SUITE[1].name, instance=8), failed(unit, SUITE[0], "lost").outcome,
        ]  # fmt: skip
        store.record_runs(written[:3])
        store.record_runs(written[3:])
    with TuningStore.open(tmp_path / "t.db") as store:
        found = store.cached()
    assert {unit: essence(o) for unit, o in found.items()} == {o.unit: essence(o) for o in written}
    assert found[unit].hits.dtype == np.int64
    assert [p.name for p in tmp_path.iterdir()] == ["t.db"]


def test_runs_are_written_all_or_none(store: TuningStore) -> None:
    key = store.key(uaos.configuration("mix"))
    with pytest.raises(sqlite3.IntegrityError):
        store.record_runs([run(key), run(key, 2, evaluations=None)])
    assert store.cached() == {}
    store.record_runs([run(key)])  # and the configuration is written with the first that can be
    assert store.configuration(key).settings == uaos.configuration("mix").settings


def test_failures_are_kept_until_they_are_to_run_again(store: TuningStore) -> None:
    key = store.key(uaos.configuration("mix"))
    store.record_runs([run(key), run(key, 2, status="failed", reason="lost")])
    assert store.forget_failures() == 1
    assert [unit.seed for unit in store.cached()] == [1]


def test_what_made_the_runs_is_noted_once_a_session(tmp_path: Path) -> None:
    for seed in (1, 2):
        with TuningStore.create_or_resume(tmp_path / "t.db", SUITE) as store:
            store.record_runs([run(store.key(uaos.configuration("mix")), seed)])
            store.record_runs([run(store.key(uaos.configuration("mix")), seed + 10)])
    with TuningStore.open(tmp_path / "t.db") as store:
        assert len(store.sessions) == 2
        started, packages = store.sessions[0]
    assert started.startswith("20")
    assert packages["uaos"] == uaos.__version__


# The record of a race


def raced(store: TuningStore, tuning: int) -> list:
    """Write one of everything, with NumPy's numbers and what is not a number; what was written."""
    key = store.key(uaos.configuration("mix"))
    candidates = [
        Candidate(1, 1, None, key, {"F": 0.5, "selection": "greedy"}, "initial"),
        Candidate(2, 2, 1, key, {"F": np.float64(0.25), "NP": np.int64(50)}, "model"),
    ]
    steps = [
        Step(1, 1, "f1 i1 20-D", 5, 2, None, 2),
        Step(1, 2, "f1 i7 20-D", 2**63 - 1, 1, 1, 4, 6.5, 0.01, 0.25, 1, INF),
    ]
    costs = [Cost(1, 0, 0.5), Cost(1, 1, NAN), Cost(2, np.int64(0), INF), Cost(2, 1, -INF)]
    iterations = [Iteration(1, 4, 100, 2, 4, "few are left")]
    elites = [Elite(1, 1, 1, 2, 3.0, 0.5), Elite(1, 2, 2, 2, NAN, INF)]
    store.add(tuning, *candidates)
    store.add(tuning, steps[0])
    store.add(tuning, steps[1], *costs)
    store.add(tuning, iterations[0])
    store.add(tuning, *elites)
    candidates[1] = candidates[1]._replace(values={"F": 0.25, "NP": 50})
    costs[2] = Cost(2, 0, INF)
    return [candidates, iterations, steps, elites, costs]


def record(store: TuningStore, tuning: int) -> list:
    return [
        store.candidates(tuning), store.iterations(tuning), store.steps(tuning),
        store.elites(tuning), store.results(tuning),
    ]  # fmt: skip


def test_the_record_of_a_race_is_read_as_it_was_written(tmp_path: Path) -> None:
    with TuningStore.create_or_resume(tmp_path / "t.db", SUITE) as store:
        tuning = store.begin(SETUP)
        written = raced(store, tuning)
    with TuningStore.open(tmp_path / "t.db") as store:
        assert same(record(store, tuning), written)
        # the configurations of candidates are there before anything was run
        assert store.configuration(store.candidates(tuning)[0].configuration, "x").name == "x"


@given(st.floats())
def test_every_cost_survives(cost: float) -> None:
    # SQLite itself turns a NaN into NULL
    connection = sqlite3.connect(":memory:", isolation_level=None)
    store = TuningStore(Database(Path("memory"), connection, None))
    with store:
        create_tables(connection)
        store.add(1, Step(1, 1, "f1", 1, 1, 1, 1), Cost(1, 1, cost))
        ((_, _, back),) = store.results(1)
    assert back == cost or (math.isnan(back) and math.isnan(cost))


def test_a_step_is_written_whole_or_not_at_all(store: TuningStore) -> None:
    tuning = store.begin(SETUP)
    with pytest.raises(sqlite3.IntegrityError):
        store.add(tuning, Step(1, 1, "f1", 1, 1, 1, 1), Cost(1, 1, 0.5), Cost(1, None, 1))
    assert record(store, tuning) == [[]] * 5


def test_a_tuning_is_begun_finished_and_begun_again(tmp_path: Path) -> None:
    with TuningStore.create_or_resume(tmp_path / "t.db", SUITE) as store:
        first = store.begin(SETUP)
        (tuning,) = store.tunings()
        assert (tuning.id, tuning.setup, tuning.finished, tuning.data) == (first, SETUP, None, {})
        assert tuning.started.startswith("20")
        assert tuning.versions["uaos"] == uaos.__version__
        raced(store, first)
        store.record_runs([run(store.key(uaos.configuration("mix")))])
        store.finish(first, {**tuning_cases.RESULT, "used": np.int64(4)})
        (tuning,) = store.tunings()
        assert tuning.finished.startswith("20")
        assert tuning.data == tuning_cases.RESULT
    with TuningStore.create_or_resume(tmp_path / "t.db", SUITE) as store:
        # the same setup, however it is written down, is the same tuning
        assert store.begin(dict(reversed(SETUP.items()))) == first
        (again,) = store.tunings()
        assert (again.key, again.started) == (tuning.key, tuning.started)
        assert (again.finished, again.data) == (None, {})
        assert record(store, first) == [[]] * 5
        assert len(store.cached()) == 1


def test_tunings_of_one_file_have_a_record_each(store: TuningStore) -> None:
    first = store.begin(SETUP)
    written = raced(store, first)
    second = store.begin({**SETUP, "seed": 2})
    assert second != first
    assert record(store, second) == [[]] * 5
    raced(store, second)
    assert store.begin({**SETUP, "seed": 2}) == second
    assert same(record(store, first), written)
    assert [t.setup["seed"] for t in store.tunings()] == [1, 2]


def test_a_setup_is_plain_data(store: TuningStore) -> None:
    with pytest.raises(TypeError, match="a store holds numbers, strings, lists"):
        store.begin({"design": object()})
    assert store.tunings() == []


# The file


def test_a_reader_sees_what_a_tuner_has_written_so_far(tmp_path: Path) -> None:
    with (
        TuningStore.create_or_resume(tmp_path / "t.db", SUITE) as writer,
        TuningStore.open(tmp_path / "t.db") as reader,
    ):
        assert reader.cached() == {}
        key = writer.key(uaos.configuration("mix"))
        writer.record_runs([run(key, seed) for seed in range(3)])
        assert len(reader.cached()) == 3
        raced(writer, writer.begin(SETUP))
        assert len(reader.steps(1)) == 2
        with pytest.raises(UaosError, match=r"t.db: cannot be written \(attempt to write a read"):
            reader.record_runs([run(key, 9)])
        with pytest.raises(UaosError, match="cannot be written"):
            reader.begin(SETUP)
    with TuningStore.open(tmp_path / "t.db") as reader:
        assert len(reader.cached()) == 3


def test_the_second_tuner_is_refused_while_the_first_works(tmp_path: Path) -> None:
    with (
        TuningStore.create_or_resume(tmp_path / "t.db", SUITE),
        pytest.raises(StoreInUse),
    ):
        TuningStore.create_or_resume(tmp_path / "t.db", SUITE)
    TuningStore.create_or_resume(tmp_path / "t.db", SUITE).close()


def test_a_store_can_be_read_where_nothing_can_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "archive"
    folder.mkdir()
    with TuningStore.create_or_resume(folder / "t.db", SUITE) as store:
        store.record_runs([run(store.key(uaos.configuration("mix")))])
    (folder / "t.db").chmod(stat.S_IRUSR)
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        with TuningStore.open(folder / "t.db") as store:
            assert len(store.cached()) == 1
    finally:
        folder.chmod(stat.S_IRWXU)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("empty", "not a store of uaos"),
        ("text", "not a store of uaos"),
        ("foreign", "an SQLite file, but not a store of uaos"),
        ("experiment", "the store of a benchmark; expected that of a tuning. `uaos bench` rea"),
        ("newer", "written in format 3 by a newer uaos; this one reads up to 2. Update uaos"),
        ("half", "damaged"),
    ],
)
def test_a_file_that_is_not_a_whole_store_of_tunings_is_refused_and_untouched(
    kind: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "t.db"
    if kind == "experiment":
        plan = Plan.of(["mix"], SUITE, budget=100)
        Store.create_or_resume(path, plan).close()
    elif kind in ("empty", "text"):
        path.write_bytes({"empty": b"", "text": b"dear diary\n" * 50}[kind])
    else:
        if kind != "foreign":
            TuningStore.create_or_resume(path, SUITE).close()
        connection = sqlite3.connect(path)
        connection.execute("CREATE TABLE holidays (day TEXT)")
        if kind == "newer":
            connection.execute(f"PRAGMA user_version = {FORMAT + 1}")
        connection.commit()
        connection.close()
        if kind == "half":
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    before = path.read_bytes()
    with pytest.raises(InvalidFile):
        TuningStore.open(path)
    with pytest.raises(InvalidFile):
        TuningStore.create_or_resume(path, SUITE)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


# What makes the tables of each format, hashed.
TABLES = {2: "e33696c849832a17"}


def test_other_tables_are_another_format() -> None:
    made = hashlib.sha256(" ".join(SCHEMA.split()).encode()).hexdigest()[:16]
    assert TABLES[FORMAT] == made, "raise the format, and note its tables above"


def test_a_tuning_is_no_benchmark(tmp_path: Path) -> None:
    TuningStore.create_or_resume(tmp_path / "t.db", SUITE).close()
    message = "t.db: the store of a tuning; expected that of a benchmark. `uaos tune` reads it"
    with pytest.raises(InvalidFile, match=message):
        Store.open(tmp_path / "t.db")
    plan = Plan.of(["mix"], SUITE, budget=100)
    with pytest.raises(InvalidFile, match=message):
        Store.create_or_resume(tmp_path / "t.db", plan)


def test_what_cannot_be_a_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidFile):
        TuningStore.open(tmp_path / "t.db")
    with pytest.raises(InvalidFile):
        TuningStore.create_or_resume(tmp_path / "none" / "t.db", SUITE)
    with pytest.raises(InvalidFile):
        TuningStore.create_or_resume(tmp_path, SUITE)
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_is_damaged_later_is_a_clear_error(store: TuningStore) -> None:
    store.database.connection.execute("DROP TABLE runs")
    with pytest.raises(InvalidFile):
        store.cached()
