"""Where commands print, and what they print: closed streams, other encodings, odd file names."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import run as command_line
from experiment_stubs import small_plan
from rich.segment import Segment
from rich.text import Text

from uaos.cli import app
from uaos.experiments import run

UAOS = [sys.executable, "-m", "uaos"]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from concurrent.futures import ThreadPoolExecutor

    path = tmp_path_factory.mktemp("store") / "a.db"
    with ThreadPoolExecutor(1) as executor:
        run(small_plan("mix", "JADE", functions="1,3", instances="1"), path, executor)
    return path


def test_what_an_encoding_lacks_is_printed_as_a_question_mark(store: Path) -> None:
    done = subprocess.run(
        [*UAOS, "compare", str(store)], capture_output=True, check=False,
        env=os.environ | {"PYTHONIOENCODING": "cp1252"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"?" in done.stdout


@pytest.mark.skipif(os.name == "nt", reason="closes streams by a POSIX shell")
def test_a_command_works_with_closed_streams(store: Path) -> None:
    words = f"'{sys.executable}' -m uaos bench '{store}' --status"
    for closed in (">&-", ">&- 2>&-"):
        done = subprocess.run(["sh", "-c", f"{words} {closed}"], capture_output=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.skipif(sys.platform != "linux", reason="needs file names of any bytes")
def test_file_names_may_hold_bytes_that_are_no_characters(store: Path, tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff.db")
    shutil.copy(store, tmp_path / name)
    for words in (
        ["compare", name], ["report", name, "-o", os.fsdecode(b"\xfe.html")],
        ["bench", name, "--export", os.fsdecode(b"\xfe.csv")], ["bench", "m.db", "--merge", name],
    ):  # fmt: skip
        done = command_line(*words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert command_line("compare", os.fsdecode(b"\xfd.db"), cwd=tmp_path).returncode == 2


@pytest.mark.skipif(sys.platform != "linux", reason="looks at the process in /proc")
@pytest.mark.parametrize("wait", [0.05, 0.3])
def test_ctrl_c_while_the_command_starts_gives_no_traceback(wait: float) -> None:
    process = subprocess.Popen(
        [*UAOS, "methods"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    # As soon as uaos is being imported: before, it is Python that starts.
    maps = Path(f"/proc/{process.pid}/maps")
    end = time.monotonic() + 60
    while maps.exists() and "_multiarray_umath" not in maps.read_text():
        assert time.monotonic() < end
    time.sleep(wait)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode in (-signal.SIGINT, 130, 0)
    assert "Traceback" not in err


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="there is no SIGHUP on Windows")
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_a_hangup_leaves_no_lock(number: int, tmp_path: Path) -> None:
    words = ["bench", "a.db", "--methods", "JADE", "--dim", "5", "--instances", "41-60",
             "--budget", "10000D", "--jobs", "1"]  # fmt: skip
    process = subprocess.Popen(
        [*UAOS, *words], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # tests may run under nohup
    )  # fmt: skip
    end = time.monotonic() + 120
    while not (tmp_path / "a.db").exists():
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.02)
    process.send_signal(number)
    _, err = process.communicate(timeout=120)
    assert process.returncode != 0
    assert "Traceback" not in err
    assert {path.name for path in tmp_path.iterdir()} <= {"a.db"}


def test_the_console_replaces_control_characters_in_whatever_it_renders() -> None:
    """The filter overrides `Console.render`: if rich renames that, this test fails."""
    for printed in ("a\x1b[31mb", Text("a\x1b[31mb")):
        with app.console.capture() as captured:
            app.console.print(printed, markup=False)
        assert "\x1b" not in captured.get()
        assert "\N{REPLACEMENT CHARACTER}" in captured.get()
    segments = list(app.console.render(Text("\x9b2J")))
    assert Segment("\N{REPLACEMENT CHARACTER}2J") in segments
