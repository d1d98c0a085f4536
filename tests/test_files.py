"""Files that appear whole or not at all."""

import os
from pathlib import Path

import pytest

from uaos.errors import InvalidFile
from uaos.files import whole_file


def test_a_file_takes_its_place_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("old")
    with whole_file(path) as part:
        part.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_what_stood_there_stays_if_anything_goes_wrong(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("old")

    def interrupted() -> None:
        with whole_file(path) as part:
            part.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(InvalidFile),
        whole_file(tmp_path / "none" / "x") as part,
    ):
        part.write_text("new")


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    there, link = tmp_path / "there", tmp_path / "link"
    there.write_text("old")
    link.symlink_to(there)
    with whole_file(link) as part:
        part.write_text("new")
    assert link.is_symlink()
    assert there.read_text() == "new"


def test_a_device_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with whole_file(pipe) as part:
            part.write_text("new")
        assert os.read(reader, 10) == b"new"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


def test_others_may_read_it_as_any_file(tmp_path: Path) -> None:
    plain, path = tmp_path / "plain", tmp_path / "x"
    plain.touch()
    with whole_file(path) as part:
        part.write_text("new")
    assert path.stat().st_mode == plain.stat().st_mode
