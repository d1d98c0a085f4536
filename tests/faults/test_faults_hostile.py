"""Files from strangers: nothing in them is run, obeyed by a terminal, or fills the memory."""

import hashlib
import json
import sqlite3
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import pytest
from command_line import run as command_line
from fault_tools import attempt
from raising import raises

import uaos
from uaos import loading, statefile
from uaos.errors import InvalidParameter
from uaos.experiments import Store, recorder
from uaos.experiments.recorder import unpack_trace
from uaos.experiments.rows import insert
from uaos.experiments.storefile import connect

EVIL = "import os; os.mkdir('owned')"


@pytest.fixture(scope="module")
def store(whole: Path) -> bytes:
    return whole.read_bytes()


def forge(path: Path, statement: str, *values: object) -> None:
    """Change a store as somebody does who computes the checksums, too."""
    connection = connect(path, write=True)
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute(statement, values)
    for table in ("suite", "methods", "problems", "runs", "courses", "traces"):
        rows = connection.execute(f"SELECT * FROM {table}").fetchall()
        insert(connection, table, (row[:-1] for row in rows), "INSERT OR REPLACE")
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER evil AFTER INSERT ON runs BEGIN DELETE FROM runs; END",
        "CREATE VIEW more AS SELECT load_extension('evil') FROM runs",
        "CREATE TABLE more (x)",
        "CREATE VIRTUAL TABLE more USING fts5(x)",
        "CREATE INDEX more ON runs (abs(seed))",
        "ALTER TABLE runs ADD COLUMN more AS (abs(seed))",
    ],
)
@pytest.mark.parametrize("command", ["compare", "report", "plot", "bench", "tune"])
def test_a_store_with_more_than_a_store_has_is_refused_by_every_command(
    command: str, statement: str, store: bytes, tmp_path: Path, count
) -> None:
    (tmp_path / "a.db").write_bytes(store)
    connection = sqlite3.connect(tmp_path / "a.db")
    connection.execute(statement)
    connection.commit()
    connection.close()
    words = {
        "compare": ["compare", "a.db"], "report": ["report", "a.db", "-o", "r.html"],
        "plot": ["plot", "ecdf-overall", "a.db", "-o", "f.png"],
        "bench": ["bench", "a.db", "--status"], "tune": ["tune", "a.db", "--status"],
    }[command]  # fmt: skip
    done = command_line(*words, cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "other tables, views or triggers" in done.stderr
    count("stores with foreign tables, views, triggers or columns, refused")


def test_reading_a_store_runs_nothing_of_the_suite_file_that_it_keeps(
    store: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count
) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(store)
    forge(path, "UPDATE suite SET file = 'evil.py', source = ?", EVIL)
    ran: list = []
    monkeypatch.setattr(loading, "load_source", lambda *given: ran.append(given))
    for words in (
        ["compare", "a.db"],
        ["bench", "a.db", "--status"],
        ["bench", "a.db", "--export", "a.csv"],
        ["bench", "b.db", "--merge", "a.db"],
        ["plot", "ecdf-overall", "a.db", "-o", "a.png"],
        ["report", "a.db", "-o", "a.html"],
    ):
        done = command_line(*words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    with Store.open(path) as opened:
        assert "not run from a store; load the file first" in attempt(opened.load_suite)[1]
    assert not ran
    assert not (tmp_path / "owned").exists()
    count("commands that read a store with code in it, and ran none", 6)


@pytest.mark.parametrize(
    "name", ["Generator", "seed", "default_rng", "set_state", "__builtins__", "mtrand", None, 3]
)
def test_a_state_names_no_other_generator_than_numpys(name: object, tmp_path: Path, count) -> None:
    path = tmp_path / "s.state"
    uaos.method("SaDE").selector(3, seed=1).save(path)
    data = path.read_bytes()
    for generator in statefile.BIT_GENERATORS:
        data = data.replace(f'"{generator}"'.encode(), json.dumps(name).encode())
    head = len(statefile._MAGIC) + 32
    body = data[head:]
    old = int.from_bytes(path.read_bytes()[head : head + 8], "little")
    length = old + len(data) - path.stat().st_size
    body = length.to_bytes(8, "little") + body[8:]
    path.write_bytes(statefile._MAGIC + hashlib.sha256(body).digest() + body)
    _, line = attempt(uaos.Selector.load, path)
    assert "the generator is" in line
    count("states that name foreign generators, refused")


def test_bombs_are_refused(tmp_path: Path, count) -> None:
    """A few bytes that become gigabytes: in an archive, a packed course, a packed trace."""
    with zipfile.ZipFile(tmp_path / "s.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("state.npy", bytes(2**26))
    assert attempt(uaos.Selector.load, tmp_path / "s.npz")[1]
    bomb = zlib.compress(bytes(2**26), 9)
    for unpack in (recorder.unpack_course, unpack_trace):
        with pytest.raises(ValueError, match="of the wrong length"):
            unpack(bomb)
    head = {"kind": "selector", "version": 1, "state": {"__array__": 0},
            "arrays": [{"type": "<f8", "shape": [2**40]}]}  # fmt: skip
    text = json.dumps(head).encode()
    body = len(text).to_bytes(8, "little") + text
    file = tmp_path / "s.state"
    file.write_bytes(statefile._MAGIC + hashlib.sha256(body).digest() + body)
    assert attempt(uaos.Selector.load, file)[1]
    count("bombs refused", 4)


NAMES = ["\x1b[31mred", "a\x1b]0;title\x07", "a\nb", "a\rb", "\x9b2J", "a\u202eb", "\x00", "a\x7f"]


@pytest.mark.parametrize("name", NAMES)
def test_no_name_holds_control_characters(name: str, tmp_path: Path, count) -> None:
    with raises(InvalidParameter, name="name"):
        uaos.Problem(lambda x: 0.0, [(0, 1)], name=name)
    with raises(InvalidParameter, name="name"):
        uaos.Configuration(name, optimizer="CMA-ES")
    count("names with control characters, refused", 2)


@pytest.mark.parametrize("column", ["methods SET name", "problems SET function", "suite SET name"])
def test_a_store_with_control_characters_in_names_is_refused(
    column: str, store: bytes, tmp_path: Path, count
) -> None:
    path = tmp_path / "a.db"
    for name in NAMES:
        path.write_bytes(store)
        forge(path, f"UPDATE {column} = ? WHERE id = 1", name)
        _, line = attempt(Store.open, path)
        assert "a.db: damaged (" in line
        assert line.isprintable()
    count("stores with control characters in names, refused", len(NAMES))


def test_reasons_of_failures_are_shown_without_escape_sequences(
    store: bytes, tmp_path: Path, count
) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(store)
    forge(path, "UPDATE runs SET status = 'failed', reason = ? WHERE id = 1", "\x1b[2Jgone\x9b2J")
    done = command_line("bench", "a.db", "--status", cwd=tmp_path)
    assert "gone" in done.stdout
    assert not set(done.stdout + done.stderr) & {"\x1b", "\x9b", "\x07"}
    done = command_line("compare", "\x1b[31m.db", cwd=tmp_path)
    assert "\x1b" not in done.stderr
    count("messages with escape sequences, shown as text", 2)


def test_deep_nesting_is_refused(tmp_path: Path, count) -> None:
    deep = "x = " + "[" * 5000 + "]" * 5000 + "\n"
    assert "not readable as TOML" in attempt(uaos.Configuration.from_toml, deep)[1]
    text = b'{"kind": "selector", "version": 1, "state": ' + b"[" * 5000 + b"]" * 5000 + b"}"
    body = len(text).to_bytes(8, "little") + text
    file = tmp_path / "s.state"
    file.write_bytes(statefile._MAGIC + hashlib.sha256(body).digest() + body)
    assert attempt(uaos.Selector.load, file)[1]
    for key in ("a" + ".a" * 12_000, " . ".join("a" * 12_000), ".".join(['"b"'] * 8_000)):
        line = attempt(uaos.Configuration.from_toml, f"{key} = 1\n[{key}]\n")[1]
        assert "a key of more than 32 parts" in line
        assert "more than 32 parts" in attempt(uaos.Configuration.from_toml, f"[{key}]\n")[1]
    count("deeply nested files, refused", 8)


def peak(code: str, folder: Path) -> int:
    """The memory in megabytes that code takes more at its peak than importing uaos does."""
    script = (
        "import resource, sys, uaos\nfrom uaos.errors import UaosError\n"
        "used = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\nbefore = used()\n"
        f"try:\n    {code}\nexcept UaosError as error:\n    print(error, file=sys.stderr)\n"
        "print((used() - before) // 1024)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=True
    )
    assert done.stderr.count("\n") == 1
    return int(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="measures memory as Linux counts it")
def test_large_and_endless_files_take_little_memory(tmp_path: Path, count) -> None:
    assert peak("uaos.Configuration.from_toml('/dev/zero')", tmp_path) < 50
    assert peak("uaos.suite('/dev/zero')", tmp_path) < 100
    (tmp_path / "a.toml").write_text("".join(f"a{n}.b.c.d.e = 1\n" for n in range(16_000)))
    assert peak("uaos.Configuration.from_toml('a.toml')", tmp_path) < 250
    text = json.dumps({"kind": "selector", "version": 1, "state": [[]] * 14_000_000}).encode()
    body = len(text).to_bytes(8, "little") + text  # 56 MB
    (tmp_path / "s.state").write_bytes(statefile._MAGIC + hashlib.sha256(body).digest() + body)
    assert peak("uaos.Selector.load('s.state')", tmp_path) < 100
    count("large and endless files, refused", 4)
