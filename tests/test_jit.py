"""A place for what numba compiled, even where nothing is writable."""

import os
import tempfile
from pathlib import Path

import pytest
from numba.core import config

from uaos import jit


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The usual folders cannot be made; the temporary one is `tmp_path`."""
    (tmp_path / "file").touch()
    monkeypatch.setattr(jit, "usual_folders", lambda: (tmp_path / "file" / "a",) * 2)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(config, "CACHE_DIR", "")
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    return tmp_path


def test_numba_gets_a_folder_of_the_users_own(elsewhere: Path) -> None:
    jit.keep_somewhere()
    folder = elsewhere / f"uaos-{os.getuid()}"
    assert config.CACHE_DIR == os.environ["NUMBA_CACHE_DIR"] == str(folder)
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_others_may_write_to_is_not_taken(elsewhere: Path) -> None:
    folder = elsewhere / f"uaos-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    jit.keep_somewhere()
    assert str(folder) != config.CACHE_DIR
    assert Path(config.CACHE_DIR).stat().st_mode & 0o777 == 0o700


def test_a_folder_that_the_user_named_stays(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config, "CACHE_DIR", "/named")
    jit.keep_somewhere()
    assert config.CACHE_DIR == "/named"


def test_where_the_usual_folders_can_be_written_to_nothing_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jit, "usual_folders", lambda: (tmp_path / "a", tmp_path / "b"))
    monkeypatch.setattr(config, "CACHE_DIR", "")
    jit.keep_somewhere()
    assert config.CACHE_DIR == ""
    assert not (tmp_path / "b").exists()  # the first will do
