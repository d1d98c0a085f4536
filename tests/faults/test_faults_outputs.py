"""No output option destroys an input, a store, or a file that uaos did not write."""

from pathlib import Path

import pytest
from command_line import run as command_line


@pytest.fixture(scope="module")
def store(whole: Path) -> bytes:
    return whole.read_bytes()


@pytest.mark.parametrize(
    ("command", "victim"),
    [
        (["compare", "VICTIM", "--markdown", "VICTIM"], "a.db"),
        (["compare", "a.db", "--markdown", "VICTIM"], "other.db"),
        (["compare", "a.db", "--markdown", "VICTIM"], "notes.md"),
        (["bench", "VICTIM", "--export", "VICTIM"], "a.csv"),
        (["bench", "a.db", "--export", "VICTIM"], "mine.csv"),
        (["bench", "a.db", "--export", "VICTIM"], "store.csv"),
        (["plot", "ecdf-overall", "VICTIM", "-o", "VICTIM"], "a.png"),
        (["plot", "ecdf-overall", "a.db", "-o", "VICTIM"], "photo.png"),
        (["report", "VICTIM", "-o", "VICTIM"], "a.html"),
        (["report", "a.db", "-o", "VICTIM"], "page.html"),
        (["tune", "a.db", "--status", "--plot", "VICTIM"], "photo.png"),
        (["tune", "VICTIM", "--status", "--plot", "VICTIM"], "a.png"),
        (["scenario", "--plot", "VICTIM"], "photo.png"),
        (["run", "--function", "1", "--dim", "2", "--plot", "VICTIM"], "photo.png"),
        (["bench", "a.db", "--export-coco", "VICTIM"], "notes.md"),
        (["bench", "VICTIM", "--merge", "VICTIM"], "a.db"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_an_output_never_takes_the_place_of_something_else(
    command: list[str], victim: str, store: bytes, tmp_path: Path, count
) -> None:
    (tmp_path / "a.db").write_bytes(store)
    stores = ("a.db", "other.db", "a.csv", "store.csv", "a.png", "a.html")
    content = store if victim in stores else b"something of the user's\n"
    (tmp_path / victim).write_bytes(content)
    before = {path.name for path in tmp_path.iterdir()}
    done = command_line(*(victim if w == "VICTIM" else w for w in command), cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert (tmp_path / victim).read_bytes() == content
    assert {path.name for path in tmp_path.iterdir()} == before
    count("outputs onto inputs, stores and foreign files, refused")
