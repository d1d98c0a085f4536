"""A store is one file, one writer's, never half written, and left alone if it is not ours."""

import sqlite3
import stat
from pathlib import Path

import numpy as np
import pytest
from experiment_stubs import content, essence, small_plan
from raising import raises

import uaos
from uaos.errors import InvalidFile, InvalidParameter, UaosError, UnknownName
from uaos.experiments import Plan, PlanConflict, Store, StoreInUse, run_unit
from uaos.experiments.merge import MergeConflict, merge_stores
from uaos.experiments.provenance import command_line
from uaos.experiments.schema import FORMAT
from uaos.experiments.unit import Finished, Unit, failed


def filled(path: Path, plan: Plan, share: slice = slice(None)) -> Path:
    """A store with a part of the plan's units run, here and now."""
    with Store.create_or_resume(path, plan) as store:
        units = sorted(store.missing(plan))[share]
        store.record([done(plan, unit) for unit in units])
    return path


def done(plan: Plan, unit: Unit) -> Finished:
    return run_unit(unit, plan.suite[unit.problem], plan.competitors[unit.method])


def lost(plan: Plan, unit: Unit) -> Finished:
    return failed(unit, plan.suite[unit.problem], "lost")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return filled(tmp_path_factory.mktemp("store") / "whole.db", small_plan())


def test_what_is_written_is_read(tmp_path: Path) -> None:
    plan = small_plan("mix", functions="1,3", instances="1")
    unit = next(plan.units())
    result = done(plan, unit)
    with Store.create_or_resume(tmp_path / "a.db", plan) as store:
        store.record([result])
    with Store.open(tmp_path / "a.db") as store:
        (back,) = store.outcomes(traces=True)
        assert essence(back)[:13] == essence(result.outcome)[:13]
        np.testing.assert_allclose(back.trace.values, result.outcome.trace.values, rtol=1e-6)
        assert back.seconds == result.outcome.seconds
        assert back.hits.dtype == np.int64
        assert store.packed_course(unit.key) == result.course
        history = store.history("mix", "f1 i1 2-D")
        assert history is not None
        assert history.operators == uaos.configuration("mix").settings.names
        assert store.history("mix", "f3 i1 2-D") is None
        assert store.configurations()["mix"] == uaos.configuration("mix").to_dict()
        assert store.methods() == ["mix"]
        assert {p.function for p in store.problems()} == {"f1", "f3"}
        assert set(store.planned()["mix"].values()) == {(1, 120)}
        assert store.tallies()["mix"] == (2, 1, 0, int(back.solved))
        ((started, packages),) = store.sessions
        assert started.startswith("20")
        assert packages["uaos"] == uaos.__version__
        assert {"python", "numpy", "numba", "coco-experiment"} <= packages.keys()


def test_failures_are_kept_with_their_reason_until_they_are_to_run_again(tmp_path: Path) -> None:
    plan = small_plan("mix", functions="1", instances="1")
    with Store.create_or_resume(tmp_path / "a.db", plan) as store:
        store.record([lost(plan, next(plan.units()))])
        assert store.missing(plan) == []
        (outcome,) = store.outcomes()
        assert (outcome.status, outcome.reason, outcome.error) == ("failed", "lost", float("inf"))
        assert store.forget_failures() == 1
        assert store.missing(plan) == list(plan.units())


def test_a_finished_store_is_one_file(finished: Path) -> None:
    assert [p.name for p in finished.parent.iterdir()] == ["whole.db"]


def test_the_outcomes_of_an_unknown_method_are_an_error_with_near_misses(finished: Path) -> None:
    with Store.open(finished) as store:
        assert {o.method for o in store.outcomes("JADE")} == {"JADE"}
        with raises(UnknownName, name="JAD", near="JADE"):
            store.outcomes("JAD")


def test_a_reader_sees_what_a_coordinator_has_written_so_far(tmp_path: Path) -> None:
    plan = small_plan("mix")
    with (
        Store.create_or_resume(tmp_path / "a.db", plan) as writer,
        Store.open(tmp_path / "a.db") as reader,
    ):
        assert reader.outcomes() == []
        writer.record([lost(plan, u) for u in list(plan.units())[:3]])
        assert len(reader.outcomes()) == 3
    with Store.open(tmp_path / "a.db") as reader:
        assert len(reader.outcomes()) == 3


def test_a_store_can_be_read_where_nothing_can_be_written(finished: Path, tmp_path: Path) -> None:
    folder = tmp_path / "archive"
    folder.mkdir()
    copy = folder / "a.db"
    copy.write_bytes(finished.read_bytes())
    copy.chmod(stat.S_IRUSR)
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        assert content(copy) == content(finished)
    finally:
        folder.chmod(stat.S_IRWXU)


# Resuming


def test_only_what_is_missing_is_left_to_run(tmp_path: Path) -> None:
    plan = small_plan()
    path = filled(tmp_path / "a.db", plan, slice(0, 5))
    with Store.create_or_resume(path, plan) as store:
        over = {outcome.unit.key for outcome in store.outcomes()}
        left = [unit.key for unit in store.missing(plan)]
        assert len(over) == 5
        assert sorted(left + list(over)) == sorted(u.key for u in plan.units())
        # shuffled, so that a slow function is not all at the end
        assert left != sorted(left)


def test_methods_and_problems_may_be_added(tmp_path: Path) -> None:
    path = filled(tmp_path / "a.db", small_plan("mix", functions="1"))
    wider = small_plan("SHADE", "mix", functions="1-2", repetitions=2)
    with Store.create_or_resume(path, wider) as store:
        assert len(store.missing(wider)) == len(wider) - 3
        assert store.methods() == ["mix", "SHADE"]
        assert {tally.total for tally in store.tallies().values()} == {12}  # six problems, twice


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 2},
        {"budget": 500},
        {"seed": 3, "budget": 1},
    ],
)
def test_another_experiment_in_the_same_file_is_refused(changes: dict, tmp_path: Path) -> None:
    path = filled(tmp_path / "a.db", small_plan("mix"), slice(0, 1))
    before = path.read_bytes()
    with pytest.raises(PlanConflict):
        Store.create_or_resume(path, small_plan("mix", **changes))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_changed_configuration_under_the_same_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('note = "a"\n[de]\nF = 0.4\nNP = 20\n')
    path = filled(tmp_path / "a.db", small_plan(tmp_path / "mine.toml"), slice(0, 1))
    (tmp_path / "mine.toml").write_text('note = "b"\n[de]\nF = 0.6\nNP = 20\n')
    with pytest.raises(PlanConflict):
        Store.create_or_resume(path, small_plan(tmp_path / "mine.toml"))
    (tmp_path / "mine.toml").write_text('note = "b"\n[de]\nF = 0.4\nNP = 20\n')
    Store.create_or_resume(path, small_plan(tmp_path / "mine.toml")).close()


def test_the_second_coordinator_is_refused_while_the_first_works(tmp_path: Path) -> None:
    plan = small_plan("mix")
    with Store.create_or_resume(tmp_path / "a.db", plan):
        with pytest.raises(StoreInUse):
            Store.create_or_resume(tmp_path / "a.db", plan)
        with pytest.raises(StoreInUse):
            Store.create_or_resume(tmp_path / "a.db", plan)
    Store.create_or_resume(tmp_path / "a.db", plan).close()


# Files that are not whole stores of ours


def foreign_sqlite(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE holidays (day TEXT)")
    connection.commit()
    connection.close()


def in_format(number: int, path: Path, whole: bytes) -> None:
    path.write_bytes(whole)
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {number}")
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    "kind",
    [
        "empty",
        "text",
        "short",
        "foreign",
        "newer",
        "half",
        "page less",
        "scrambled",
    ],
)
def test_a_file_that_is_not_a_whole_store_is_refused_and_untouched(
    kind: str, finished: Path, tmp_path: Path
) -> None:
    path, whole = tmp_path / "a.db", finished.read_bytes()
    if kind == "foreign":
        foreign_sqlite(path)
    elif kind == "newer":
        in_format(FORMAT + 1, path, whole)
    else:
        middle = len(whole) // 2
        path.write_bytes({
            "empty": b"", "text": b"dear diary\n" * 50, "short": whole[:50],
            "half": whole[: middle], "page less": whole[:-4096],
            "scrambled": whole[:4096] + bytes(range(256)) * ((len(whole) - 4096) // 256),
        }[kind])  # fmt: skip
    before = path.read_bytes()
    with pytest.raises(InvalidFile):
        Store.open(path)
    with pytest.raises(InvalidFile):
        Store.create_or_resume(path, small_plan())
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_a_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidFile):
        Store.open(tmp_path / "a.db")
    with pytest.raises(InvalidFile):
        Store.create_or_resume(tmp_path / "none" / "a.db", small_plan())
    with pytest.raises(InvalidFile):
        Store.create_or_resume(tmp_path, small_plan())
    assert list(tmp_path.iterdir()) == []


# Merging


def test_stores_of_several_machines_become_one(finished: Path, tmp_path: Path) -> None:
    plan = small_plan()
    first = filled(tmp_path / "first.db", plan, slice(0, 14))
    second = filled(tmp_path / "second.db", plan, slice(10, None))
    assert merge_stores(tmp_path / "all.db", [first, second]) == len(plan)
    assert content(tmp_path / "all.db") == content(finished)
    names = sorted(p.name for p in tmp_path.iterdir())
    assert names == ["all.db", "first.db", "second.db"]
    with Store.create_or_resume(tmp_path / "all.db", plan) as store:
        assert store.missing(plan) == []
        assert len(store.sessions) == 3


def test_commands_are_recorded_once_and_merged_in_their_order(tmp_path: Path) -> None:
    """A command that is repeated counts once; what is written from Python has none."""
    plan = small_plan("mix", functions="1", instances="1")
    for name, command in (("a", "bench a.db"), ("b", "bench b.db"), ("a", "bench a.db")):
        with command_line(command.split()):
            Store.create_or_resume(tmp_path / f"{name}.db", plan).close()
    Store.create_or_resume(tmp_path / "a.db", plan).close()
    with command_line(["bench", "c d.db", "--merge"]):
        merge_stores(tmp_path / "c d.db", [tmp_path / "a.db", tmp_path / "b.db"])
    with Store.open(tmp_path / "c d.db") as store:
        assert store.commands == [
            "uaos bench a.db",
            "uaos bench b.db",
            "uaos bench 'c d.db' --merge",
        ]


def test_a_run_that_is_done_goes_before_one_that_failed(tmp_path: Path) -> None:
    plan = small_plan("mix", functions="1", instances="1")
    good = filled(tmp_path / "good.db", plan)
    with Store.create_or_resume(tmp_path / "bad.db", plan) as store:
        store.record([lost(plan, next(plan.units()))])
    for number, order in enumerate(([good, store.path], [store.path, good])):
        merge_stores(tmp_path / f"{number}.db", order)
        assert content(tmp_path / f"{number}.db") == content(good)


def test_stores_that_disagree_are_not_merged(finished: Path, tmp_path: Path) -> None:
    plan = small_plan()
    with Store.create_or_resume(tmp_path / "liar.db", plan) as store:
        unit = next(plan.units())
        result = done(plan, unit)
        store.record([result._replace(outcome=result.outcome._replace(best=0.125))])
    with pytest.raises(MergeConflict):
        merge_stores(tmp_path / "all.db", [finished, tmp_path / "liar.db"])
    other = filled(tmp_path / "other.db", small_plan(seed=2), slice(0, 1))
    with pytest.raises(MergeConflict):
        merge_stores(tmp_path / "all.db", [finished, other])
    short = filled(tmp_path / "short.db", small_plan(budget=300), slice(0, 1))
    with pytest.raises(MergeConflict):
        merge_stores(tmp_path / "all.db", [finished, short])
    assert not (tmp_path / "all.db").exists()


def test_merging_writes_a_new_file_only(finished: Path, tmp_path: Path) -> None:
    (tmp_path / "there.db").write_text("mine")
    with raises(InvalidParameter, name="merge"):
        merge_stores(tmp_path / "there.db", [finished])
    with raises(UaosError, name="merge"):
        merge_stores(tmp_path / "all.db", [])
    assert (tmp_path / "there.db").read_text() == "mine"
