"""When kernels are compiled, and where they are cached, even where nothing is writable."""

import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import numpy as np
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


def add_up(values):
    total = 0.0
    for value in values:
        total += value
    return total


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    return tmp_path


compiler_on = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="the compiler is off")


@compiler_on
def test_a_kernel_is_compiled_once_interpreting_it_has_taken_long(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = jit.njit(add_up)
    monkeypatch.setattr(jit, "PATIENCE", 9.0)
    assert kernel(np.ones(3)) == 3.0
    assert kernel.signatures == []
    monkeypatch.setattr(jit, "PATIENCE", 0.0)
    assert kernel(np.ones(3)) == 3.0
    assert len(kernel.signatures) == 1


@compiler_on
def test_a_kernel_with_much_to_do_is_compiled_at_once(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = jit.njit(add_up)
    monkeypatch.setattr(jit, "PATIENCE", 9.0)
    assert kernel(np.ones(jit.FEW + 1)) == jit.FEW + 1
    assert len(kernel.signatures) == 1


@compiler_on
def test_a_kernel_in_the_cache_is_not_interpreted(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = jit.njit(add_up), jit.njit(add_up)
    monkeypatch.setattr(jit, "PATIENCE", 0.0)
    first(np.ones(3))
    monkeypatch.setattr(jit, "PATIENCE", 9.0)
    second(np.ones(3))
    assert len(second.signatures) == 1
    second(np.ones(3, int))  # a type that is not cached
    assert len(second.signatures) == 2


_FULL = """
    import resource
    import numpy as np
    from uaos import jit
    from uaos.optimizers.base import mark_failures
    jit.PATIENCE = 0.0
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
    print(mark_failures(np.array([3.0, 1.0])), len(mark_failures.signatures))
"""


@compiler_on
def test_on_a_full_disk_kernels_are_compiled_without_a_cache(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(_FULL)],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "1 1\n"  # the place of the best, one signature
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


_SWITCH = """
    import sys
    from uaos import jit, minimize
    jit.PATIENCE = float(sys.argv[1])
    found = minimize(lambda x: float(abs(x) @ abs(x)), [(-5, 4)] * 3, method="rand/1",
                     popsize=20, budget=2000, seed=1)
    print(found.x.tobytes().hex(), found.nfev, found.history.best.tobytes().hex())
"""


@compiler_on
def test_a_run_is_the_same_whenever_its_kernels_are_compiled(tmp_path: Path) -> None:
    outputs = [
        subprocess.run(
            [sys.executable, "-c", textwrap.dedent(_SWITCH), patience], capture_output=True,
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / patience)}, check=True,
        ).stdout
        for patience in ("0", "0.01", "100")
    ]  # fmt: skip
    assert len(set(outputs)) == 1
