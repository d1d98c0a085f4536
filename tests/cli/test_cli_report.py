"""`uaos report`: one command, one file; never a traceback."""

# ruff: noqa: F811 (fixtures are imported)

import re
import shutil
from pathlib import Path

import pytest
from command_line import run
from report_cases import stores  # noqa: F401


def test_a_report_is_written_and_its_size_said(stores: list[Path], tmp_path: Path) -> None:
    done = run("report", *map(str, stores), "-o", "r.html", "--title", "A & B", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"written: r.html \(\d\.\d MB\)\n", done.stdout)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<h1>A &amp; B</h1>" in page
    assert "tuning.db -o r.html --title &#x27;A &amp; B&#x27;" in page
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no.db", "-o", "r.html"], "no.db: .*not found"),
        (["x.db", "-o", "r.html"], "x.db: not a store of uaos"),
        (["cut.db", "-o", "r.html"], "cut.db: damaged"),
        (["bench.db", "-o", "no/r.html"], "no/r.html .*written"),
        (["bench.db", "-o", "r.png"], r"r\.png .*\.html"),
        (["bench.db", "-o", "r.html", "--runs", "mix"], "'mix' .*method:function:"),
        (["bench.db", "-o", "r.html", "--runs", "JADE:1:9"], "instance 9 .* 1"),
        (["bench.db"], "Missing option .*--output"),
        (["-o", "r.html"], "Missing argument .*STORE"),
    ],
)
def test_bad_input_ends_with_exit_code_2_and_a_clear_line(
    arguments: list[str], message: str, stores: list[Path], tmp_path: Path
) -> None:
    shutil.copy(stores[0], tmp_path / "bench.db")
    (tmp_path / "x.db").write_text("nothing")
    (tmp_path / "cut.db").write_bytes(stores[0].read_bytes()[:8192])
    before = sorted(tmp_path.iterdir())
    done = run("report", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert re.search(message, done.stderr)
    assert sorted(tmp_path.iterdir()) == before


def test_help_has_an_example() -> None:
    assert "Example: uaos report first.db -o report.html" in run("report", "--help").stdout
