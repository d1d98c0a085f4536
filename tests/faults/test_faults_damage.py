"""Damaged files: identical values, rows reported as damaged, or one line that refuses."""

import random
import shutil
import sqlite3
import threading
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from fault_tools import attempt, damages, runs, short_and_long, small_plan, tuning

import uaos
from uaos.experiments import Store, recorder, run
from uaos.experiments.merge import merge_stores
from uaos.experiments.recorder import unpack_trace
from uaos.experiments.storefile import reading


@short_and_long(150, 5000)
def test_a_damaged_store_never_gives_other_values(
    times: int, whole: Path, tmp_path: Path, count
) -> None:
    good, path, refused, left_out = runs(whole), tmp_path / "a.db", 0, 0
    for data in damages(whole.read_bytes(), times, seed=1):
        path.write_bytes(data)
        found, line = attempt(runs, path)
        if line:
            refused += 1
            continue
        for key, values in found.items():
            # A damaged course is no course, as of a run that kept none.
            assert values in (good[key], (*good[key][:-1], None))
        if found != good:
            left_out += 1
            with Store.open(path) as store:
                assert store.damaged() == len(good) - len(store.outcomes())
    assert refused
    count("damaged benchmark stores", times)
    count("damaged benchmark stores: refused in one line", refused)
    count("damaged benchmark stores: runs reported as damaged", left_out)


@short_and_long(25, 1000)
def test_a_damaged_store_that_is_continued_ends_as_the_whole_one(
    times: int, whole: Path, tmp_path: Path, count
) -> None:
    good, path, continued = runs(whole), tmp_path / "a.db", 0
    with ThreadPoolExecutor(1) as executor:
        for data in damages(whole.read_bytes(), times, seed=2):
            path.write_bytes(data)
            if attempt(run, small_plan(), path, executor)[1]:
                continue
            # A course that was lost without a trace is not missed: some runs keep none.
            for key, values in runs(path).items():
                assert values in (good[key], (*good[key][:-1], None))
            assert set(runs(path)) == set(good)
            continued += 1
    assert continued
    count("damaged benchmark stores continued to identical results, or refused", times)


def test_a_damaged_page_of_traces_is_refused_before_anything_is_added(
    whole: Path, tmp_path: Path, count
) -> None:
    """A page that points outside itself or elsewhere would hide runs, or lose what is written."""
    data, path, times = whole.read_bytes(), tmp_path / "a.db", 0
    size = int.from_bytes(data[16:18], "big")
    with closing(sqlite3.connect(whole)) as connection:
        query = "SELECT rootpage - 1 FROM sqlite_master WHERE name IN ('traces', 'courses')"
        starts = [size * page for (page,) in connection.execute(query)]
    with ThreadPoolExecutor(1) as executor:
        for start in starts:
            cells = int.from_bytes(data[start + 3 : start + 5], "big")
            for at in range(start, start + 8 + 2 * cells):  # the head of the page
                for flipped in (1, 4, 128):
                    copy = bytearray(data)
                    copy[at] ^= flipped
                    path.write_bytes(copy)
                    for attempted in (
                        attempt(run, small_plan(), path, executor),
                        attempt(merge_stores, tmp_path / "merged.db", [path]),
                    ):
                        assert "damaged" in attempted[1]
                    assert path.read_bytes() == copy
                    times += 1
    assert sorted(tmp_path.iterdir()) == [path]
    count("damaged pages of traces and courses, refused before anything is added", times)


@short_and_long(60, 2000)
def test_a_damaged_tuning_never_gives_other_values(
    times: int, undisturbed: dict, tmp_path: Path, count
) -> None:
    whole, path, refused = undisturbed["tune"][0], tmp_path / "t.db", 0
    good = tuning(whole)
    for data in damages(whole.read_bytes(), times, seed=3):
        path.write_bytes(data)
        found, line = attempt(tuning, path)
        if line:
            refused += 1
            continue
        assert set(found.pop("runs")) <= set(good["runs"])
        assert found == {key: value for key, value in good.items() if key != "runs"}
    assert refused
    count("damaged tuning stores", times)


def saved_files(folder: Path) -> dict[str, tuple[Path, object]]:
    """A file of every kind that holds state, and how it is read."""
    selector = uaos.method("SaDE").selector(3, seed=1)
    selector.update(selector.select(9), np.ones(9), np.linspace(0, 2, 9))
    selector.save(folder / "selector.state")
    found: dict = {"selector": (folder / "selector.state", uaos.Selector.load)}
    engine = uaos.DifferentialEvolution([(-5, 5)] * 2, seed=1, budget=500)
    points = engine.ask()
    engine.tell((points**2).sum(axis=1))
    engine.save(folder / "run.state")
    found["run"] = (folder / "run.state", uaos.DifferentialEvolution.load)
    portfolio = uaos.Portfolio([(-5, 5)] * 2, seed=1, budget=500)
    portfolio.tell((portfolio.ask() ** 2).sum(axis=1))
    portfolio.save(folder / "portfolio.state")
    found["portfolio"] = (folder / "portfolio.state", uaos.Portfolio.load)
    return found


@short_and_long(150, 5000)
@pytest.mark.parametrize("kind", ["selector", "run", "portfolio"])
def test_a_damaged_state_is_always_refused(kind: str, times: int, tmp_path: Path, count) -> None:
    path, read = saved_files(tmp_path)[kind]
    data = path.read_bytes()
    for copy in damages(data, times, seed=4):
        path.write_bytes(copy)
        assert attempt(read, path)[1]
    count(f"damaged states of a {kind}, all refused", times)


@short_and_long(200, 5000)
def test_damaged_toml_attempt_or_read_as_it_says(times: int, tmp_path: Path, count) -> None:
    """TOML is for people to edit and has no checksum: whatever is read is a valid configuration."""
    path = tmp_path / "mix.toml"
    uaos.configuration("mix").to_toml(path)
    refused = 0
    for copy in damages(path.read_bytes(), times, seed=5):
        path.write_bytes(copy)
        made, line = attempt(uaos.Configuration.from_toml, path)
        if line:
            refused += 1
        else:
            assert uaos.Configuration.from_toml(made.to_toml()).to_dict() == made.to_dict()
    assert refused
    count("damaged TOML files", times)


@short_and_long(300, 20000)
def test_damaged_packed_courses_and_traces_never_give_other_values(
    times: int, whole: Path, count
) -> None:
    def read(unpack: Callable[[bytes], object], data: bytes) -> None:
        with reading(whole):
            unpack(data)

    connection = sqlite3.connect(whole)
    for table, unpack in (("courses", recorder.unpack_course), ("traces", unpack_trace)):
        (data,) = connection.execute(f"SELECT data FROM {table}").fetchone()
        read(unpack, data)
        for copy in damages(data, times, seed=6):
            _, line = attempt(read, unpack, copy)
            # Without bytes, no trace was recorded; the level of compression does not matter.
            assert line or not copy or zlib.decompress(copy) == zlib.decompress(data)
    connection.close()
    count("damaged packed courses and traces", 2 * times)


@short_and_long(40, 1000)
def test_copies_of_a_store_that_is_being_written_are_read_or_refused(
    times: int, whole: Path, tmp_path: Path, count
) -> None:
    """A torn copy has a part of the runs, each as it was written, or is refused."""
    path, draw, plan = tmp_path / "a.db", random.Random(7), small_plan()
    good, stop = runs(whole), threading.Event()

    def write() -> None:
        with ThreadPoolExecutor(1) as executor:
            while not stop.is_set():
                path.unlink(missing_ok=True)
                run(plan, path, executor)

    writer = threading.Thread(target=write)
    writer.start()
    read = 0
    try:
        while read < times:
            copy = tmp_path / "copy.db"
            for suffix in ("", "-wal", "-shm"):
                Path(f"{copy}{suffix}").unlink(missing_ok=True)
            try:
                for suffix in draw.sample(["", "-wal"], 2):
                    if Path(f"{path}{suffix}").exists():
                        shutil.copy(f"{path}{suffix}", f"{copy}{suffix}")
            except FileNotFoundError:
                continue
            if not copy.exists():
                continue
            found, line = attempt(runs, copy)
            assert line or found.items() <= good.items()
            read += 1
    finally:
        stop.set()
        writer.join()
    count("torn copies of a live store", times)
