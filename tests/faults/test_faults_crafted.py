"""Crafted stores: well-formed, with valid checksums, and with values that uaos does not write."""

import random
import shutil
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from command_line import run as command_line
from fault_tools import BENCH, TUNE, attempt, make_store, runs, short_and_long

from uaos.experiments import Store, runner, schema, storefile
from uaos.experiments.executors import SharedPool
from uaos.tuning import costs

LONG = 20_000
TEXTS = ["", "x", "nan", "a" * LONG, "1" * LONG, "1a" * LONG, "1e" + "9" * LONG, "[]", "{}",
         '{"a": 1}', "null", "[" * 5000, "0.5\u2028x",
         '{"name": [], "optimizer": 3}', "<script>"]  # fmt: skip
NUMBERS = [-(2**63), -1, 0, 1, 7, 2**31, 2**63 - 1, 0.5, -1e308, 1e308, float("inf"), None]
BLOBS = [b"", b"\x00\x01", b"\xff" * 488, bytes(16), b"x" * LONG]
VALUES = [*TEXTS, *NUMBERS, *BLOBS]

OF_A_BENCHMARK = [
    ["compare", "a.db"], ["report", "a.db", "-o", "r.html"], ["bench", "a.db", "--status"],
    ["bench", "a.db", "--export", "e.csv"], ["bench", "m.db", "--merge", "a.db"],
    ["plot", "ecdf-overall", "a.db", "-o", "f.png"], BENCH,
]  # fmt: skip
OF_A_TUNING = [
    ["tune", "t.db", "--status"], ["report", "t.db", "-o", "r.html"],
    ["tune", "t.db", "--status", "--plot", "f.png"], TUNE,
]  # fmt: skip


def columns(path: Path) -> list[tuple[str, str]]:
    """The columns of the tables that have rows."""
    with closing(sqlite3.connect(path)) as connection:
        return [
            (table, column)
            for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")
            if connection.execute(f"SELECT 1 FROM {table}").fetchone()
            for _, column, *_ in connection.execute(f"PRAGMA table_info({table})")
            if column != "checksum"
        ]


def craft(path: Path, table: str, column: str, value: object, *, every: bool) -> bool:
    """Change a column of one row or of all, and the checksums; whether SQLite allows it."""
    connection = storefile.prepared(sqlite3.connect(path))
    checked, _ = schema.checked_columns(table)
    key = "" if every else f" WHERE {column} = (SELECT {column} FROM {table} LIMIT 1)"
    with closing(connection):
        try:
            connection.execute(f"UPDATE {table} SET {column} = ?{key}", (value,))
        except (sqlite3.IntegrityError, OverflowError):
            return False
        connection.execute(f"UPDATE {table} SET checksum = row_checksum({checked})")
        connection.commit()
    return True


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Runs of commands are made here, which saves starting workers."""
    with ThreadPoolExecutor(1) as executor:
        for module in (runner, costs):
            monkeypatch.setattr(module, "pool_for", lambda *_: SharedPool(executor, 1))
        yield


@pytest.mark.usefixtures("in_this_process")
@short_and_long(30, 3000)
def test_no_crafted_store_gives_a_traceback(
    times: int, undisturbed: dict, tmp_path: Path, count
) -> None:
    draw, refused = random.Random(1), 0
    for number in range(times):
        path, commands = draw.choice(
            [(undisturbed["bench"][0], OF_A_BENCHMARK), (undisturbed["tune"][0], OF_A_TUNING)]
        )
        words = draw.choice(commands)
        folder = tmp_path / "now"
        folder.mkdir()
        copy = folder / path.name
        shutil.copy(path, copy)
        table, column = draw.choice(columns(path))
        value = draw.choice(VALUES)
        if craft(copy, table, column, value, every=draw.random() < 0.5):
            done = command_line(*words, cwd=folder)
            case = f"{number}: {table}.{column} = {value!r:.40}, {' '.join(words[:3])}"
            assert done.returncode in (0, 2), case
            assert "Traceback" not in done.stderr, case
            if done.returncode:
                refused += 1
                assert done.stderr.count("\n") == 1, case
                assert len(done.stderr) < 2000, case
        shutil.rmtree(folder)
    assert refused
    count("crafted stores with valid checksums, read or refused in one line", times)


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("problems", "dimension", 0),
        ("problems", "bounds", b"\x00\x01"),
        ("problems", "optimum", "text"),
        ("problems", "function", "f25"),
        ("problems", "name", "f" + "1" * LONG),
        ("methods", "name", "a" * LONG),
        ("methods", "id", 2**63 - 1),
        ("plan", "budget", "text"),
        ("plan", "repetitions", b"blob"),
        ("sessions", "versions", b"blob"),
    ],
)
def test_what_uaos_never_writes_is_refused_on_opening(
    table: str, column: str, value: object, whole: Path, tmp_path: Path, count
) -> None:
    copy = tmp_path / "a.db"
    shutil.copy(whole, copy)
    assert craft(copy, table, column, value, every=False)
    assert "a.db: damaged (" in attempt(Store.open, copy)[1]
    count("crafted stores with valid checksums, read or refused in one line")


def test_a_store_of_an_unknown_kind_is_refused_in_a_short_line(whole: Path, tmp_path: Path) -> None:
    copy = tmp_path / "a.db"
    shutil.copy(whole, copy)
    assert craft(copy, "about", "value", "1" * LONG, every=True)
    line = attempt(Store.open, copy)[1]
    assert "neither a benchmark nor a tuning" in line
    assert len(line) < 2000


@pytest.mark.parametrize(
    ("column", "value"),
    [("evaluations", "text"), ("evaluations", 0), ("best", b"blob"), ("hits", bytes(8)),
     ("method", 9), ("seed", -1), ("status", "over"), ("seconds", float("inf")),
     ("reason", "a" * LONG)],
)  # fmt: skip
def test_a_run_that_uaos_never_writes_is_left_out_and_made_again(
    column: str, value: object, whole: Path, tmp_path: Path, count
) -> None:
    copy, good = tmp_path / "a.db", runs(whole)
    shutil.copy(whole, copy)
    assert craft(copy, "runs", column, value, every=False)
    found = runs(copy)
    assert len(found) < len(good)
    assert found.items() <= good.items()
    with Store.open(copy) as store:
        assert store.damaged() == len(good) - len(found) == len(good) - len(store.table())
    make_store(copy)
    assert runs(copy) == good
    count("crafted stores with valid checksums, read or refused in one line")
