"""When kernels are compiled, and where they are cached, even where nothing is writable."""

import io
import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import numba
import numpy as np
import pytest
from numba import config

from uaos import jit


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`tmp_path` is the folder for temporary files, and numba has no folder of its own."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(config, "CACHE_DIR", "")
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    return tmp_path


def test_the_cache_folder_belongs_to_the_user(temporary: Path) -> None:
    jit.ensure_cache_dir()
    folder = temporary / f"uaos-{os.getuid()}"
    assert config.CACHE_DIR == os.environ["NUMBA_CACHE_DIR"] == str(folder)
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_others_may_write_to_is_not_taken(temporary: Path) -> None:
    folder = temporary / f"uaos-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    jit.ensure_cache_dir()
    assert str(folder) != config.CACHE_DIR
    assert Path(config.CACHE_DIR).stat().st_mode & 0o777 == 0o700


_IMPORT = """
    import os, tempfile
    def refuse(*args, **settings):
        raise AssertionError("a file is written")
    tempfile.TemporaryFile = tempfile.NamedTemporaryFile = tempfile.mkdtemp = refuse
    import uaos
    print(sorted(os.listdir(os.environ["NUMBA_CACHE_DIR"])))
"""


def test_the_import_writes_no_file(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    assert _output(_IMPORT, env=environment) == "[]\n"


def _output(script: str, *arguments: str, env: dict[str, str]) -> str:
    """Return what a script prints in a new process."""
    command = [sys.executable, "-c", textwrap.dedent(script), *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout


def add_up(values):
    total = 0.0
    for value in values:
        total += value
    return total


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def quarters(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of kernels goes 0.25 s at a time."""
    clock = iter(np.arange(1000) * 0.25)
    monkeypatch.setattr(jit, "perf_counter", lambda: next(clock))


compiler_on = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="the compiler is off")


@compiler_on
def test_a_kernel_is_compiled_once_interpreting_it_has_taken_long(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = jit.njit(add_up)
    monkeypatch.setattr(jit, "PATIENCE", 9.0)
    assert kernel(np.ones(3)) == 3.0
    assert kernel.dispatcher().signatures == []
    monkeypatch.setattr(jit, "PATIENCE", 0.0)
    assert kernel(np.ones(3)) == 3.0
    assert len(kernel.dispatcher().signatures) == 1


@compiler_on
def test_a_kernel_with_much_to_do_is_compiled_at_once(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = jit.njit(add_up)
    monkeypatch.setattr(jit, "PATIENCE", 9.0)
    assert kernel(np.ones(jit.LARGE + 1)) == jit.LARGE + 1
    assert len(kernel.dispatcher().signatures) == 1


@compiler_on
def test_speed_is_measured_of_compiled_code(empty_cache: Path) -> None:
    """Kernels are compiled at their first call where `at_once` says so; then patience is back."""
    kernel, patience = jit.njit(add_up), jit.PATIENCE
    with jit.at_once():
        assert kernel(np.ones(3)) == 3.0
    assert len(kernel.dispatcher().signatures) == 1
    assert jit.PATIENCE == patience > 0


_SHORT = """
    import sys
    from uaos import minimize
    minimize(lambda x: float(x @ x), [(-5, 4)] * 3, budget=100, seed=1)
    print("numba" in sys.modules)
"""


def test_a_short_run_does_not_import_numba() -> None:
    assert _output(_SHORT, env=dict(os.environ)) == "False\n"


@compiler_on
def test_a_kernel_in_the_cache_is_not_interpreted(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = jit.njit(add_up), jit.njit(add_up)
    monkeypatch.setattr(jit, "PATIENCE", 0.0)
    first(np.ones(3))
    monkeypatch.setattr(jit, "PATIENCE", 9.0)
    monkeypatch.setattr(jit, "WARM_UP", 0.0)
    second(np.ones(3))
    assert len(second.dispatcher().signatures) == 1
    second(np.ones(3, int))  # a type that is not cached
    assert len(second.dispatcher().signatures) == 2


_SHARE = """
    import sys
    import numpy as np
    import uaos
    from uaos import jit
    from uaos.selection.learning import compiled_learner, fitness_summary
    jit.PATIENCE = 0.0
    method = uaos.method("RecPM")
    if len(sys.argv) > 1:
        fitness_summary(np.ones(3), np.ones(3))
    method.selector(3, seed=1).update([0, 1, 2], [3.0, 3.0, 3.0], [1.0, 2.0, 4.0])
    parts = (method.metric, method.reward, method.quality, method.probability)
    for kernel in (compiled_learner(*map(type, parts)), fitness_summary):
        stats = kernel.dispatcher().stats
        print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


@compiler_on
def test_two_processes_share_a_cache(tmp_path: Path) -> None:
    """The first one compiles the learning step, the second one loads it, or a part of it."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    assert _output(_SHARE, env=environment) == "0 1\n0 1\n"
    assert _output(_SHARE, "a part", env=environment) == "1 0\n1 0\n"


@compiler_on
def test_a_second_run_like_the_first_compiles_nothing_more(
    empty_cache: Path, quarters: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel takes 0.75 s of each run, by a clock that goes 0.25 s at a time."""
    monkeypatch.setattr(jit, "PATIENCE", 1.0)
    kernel = jit.njit(add_up)
    for run in range(4):
        jit.begin_run()
        for _ in range(3):
            kernel(np.ones(3))
        # In the third run it has taken twice the patience.
        assert len(kernel.dispatcher().signatures) == (run >= 2)


@compiler_on
def test_in_a_long_run_patience_is_short(
    empty_cache: Path, quarters: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two kernels take 0.25 s a call each; the second one is compiled once they took a second."""
    monkeypatch.setattr(jit, "PATIENCE", 5.0)
    monkeypatch.setattr(jit, "LONG", 1.0)
    first, second = jit.njit(add_up), jit.njit(add_up)
    jit.begin_run()
    for kernel in (first, second, first, first, second):
        assert kernel.dispatcher().signatures == []
        kernel(np.ones(3))
    assert len(second.dispatcher().signatures) == 0
    monkeypatch.setattr(jit, "SHORT", 0.1)
    second(np.ones(3))
    assert len(second.dispatcher().signatures) == 1
    assert first.dispatcher().signatures == []


@compiler_on
def test_without_what_lazy_compiling_needs_numba_compiles_at_once(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Simulate a numba whose dispatchers have no `enable_caching`."""
    with jit.at_once():
        jit.njit(add_up)(np.ones(3))  # numba imports the rest of itself
    numba_njit, eager = numba.njit, []

    def without(*, cache, **options):
        assert options == {"nogil": True, "error_model": "numpy"}
        if not cache:
            return lambda function: object()
        return lambda function: (
            eager.append(numba_njit(cache=True, **options)(function)) or eager[-1]
        )

    monkeypatch.setattr(numba, "njit", without)
    monkeypatch.setattr(jit, "WARM_UP", 0.0)
    kernel = jit.njit(add_up)
    assert kernel(np.array([1.0, 2.0])) == 3.0
    assert [len(dispatcher.signatures) for dispatcher in eager] == [1]


@jit.njit
def _add_up(values):
    total = 0.0
    for value in values:
        total += value
    return total


@compiler_on
def test_compiled_kernels_call_kernels(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "PATIENCE", 0.0)
    twice = jit.njit(lambda values: 2.0 * _add_up(values))
    assert twice(np.ones(3)) == 6.0
    assert len(twice.dispatcher().signatures) == 1


@compiler_on
def test_kernels_that_an_interpreted_one_calls_are_part_of_it(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are interpreted with it, however long they take, and the clock is read twice."""
    ticks = iter(range(1000))
    monkeypatch.setattr(jit, "perf_counter", lambda: next(ticks))
    monkeypatch.setattr(jit, "PATIENCE", 2.0)
    before = len(_add_up.dispatcher().signatures)
    outer = jit.njit(lambda values: _add_up(values) + _add_up(values))
    assert outer(np.ones(3, np.int16)) == 6.0
    assert (len(_add_up.dispatcher().signatures), next(ticks)) == (before, 2)


@compiler_on
def test_where_no_folder_can_be_written_to_code_is_cached_in_a_temporary_one(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = jit.njit(add_up)
    enable = type(kernel.dispatcher()).enable_caching

    def only_where_named(dispatcher):
        if not config.CACHE_DIR:
            raise RuntimeError("cannot cache function: no locator available")
        enable(dispatcher)

    monkeypatch.setattr(type(kernel.dispatcher()), "enable_caching", only_where_named)
    monkeypatch.setattr(jit, "PATIENCE", 0.0)
    assert kernel(np.ones(3)) == 3.0
    assert list(temporary.rglob("*.nbi"))


@compiler_on
def test_a_damaged_cache_is_ignored(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "PATIENCE", 0.0)
    jit.njit(add_up)(np.ones(3))
    for path in empty_cache.rglob("*.nb?"):
        path.write_bytes(b"")
    assert jit.njit(add_up)(np.ones(3)) == 3.0


@compiler_on
def test_a_kernel_does_not_wait_for_a_suspended_process(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock of the cache is held throughout: the kernel is compiled without the cache."""
    fcntl = pytest.importorskip("fcntl")
    monkeypatch.setattr(jit, "PATIENCE", 0.0)
    jit.njit(add_up)(np.ones(3))
    (lock,) = empty_cache.rglob("uaos.lock")
    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        monkeypatch.setattr(jit, "LOCK_SECONDS", 0.0)
        assert jit.njit(add_up)(np.ones((2, 3))[0]) == 3.0


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@compiler_on
@pytest.mark.parametrize("stream", [_Terminal(), io.StringIO()])
def test_a_terminal_is_told_of_long_compiling(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch, stream: io.StringIO
) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(jit, "PATIENCE", 0.0)
    monkeypatch.setattr(jit, "SILENCE", 0.01)
    monkeypatch.setattr(jit, "_seconds", 0.0)
    for _ in range(2):
        jit.njit(add_up)(np.ones(3))
    assert stream.getvalue() == ("compiling, once …\n" if stream.isatty() else "")


_FULL = """
    import resource
    import numpy as np
    from uaos import jit
    from uaos.optimizers.base.feedback import mark_failures
    jit.PATIENCE = 0.0
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
    print(mark_failures(np.array([3.0, 1.0])), len(mark_failures.dispatcher().signatures))
"""


@compiler_on
def test_on_a_full_disk_kernels_are_compiled_without_a_cache(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    assert _output(_FULL, env=environment).startswith("1 ")  # the place of the best
    assert list(tmp_path.rglob("*.nb?")) == []


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
    # In the middle of the run, from its first call by code of the cache, and not at all.
    outputs = [
        _output(_SWITCH, patience, env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / cache)})
        for patience, cache in (("0.01", "filled"), ("0", "filled"), ("100", "empty"))
    ]
    assert len(set(outputs)) == 1
