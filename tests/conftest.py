"""What every test process needs."""

import gc
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Before NumPy is imported, here and in what tests start: threads for small matrices only wait.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from registries import _registries_as_before  # noqa: F401 (a fixture of every test)

# Property tests try the same few examples everywhere; at night, many others
# (`--hypothesis-profile thorough`). None fails because a machine is slow or a kernel is compiled.
settings.register_profile(
    "steady", max_examples=25, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip
settings.register_profile(
    "thorough", settings.get_profile("steady"), max_examples=1000, derandomize=False,
)  # fmt: skip
settings.load_profile("steady")

# Collecting tests, and the reports of thousands of them, make many objects and little garbage.
gc.set_threshold(100_000, 20, 20)

# A job in a shell's background starts with Ctrl-C ignored, and so would all that it starts; some
# tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)


# Windows has no signals to kill with, no pseudo-terminals and other permissions: modules that need
# these are not collected there, and the header says so.
_POSIX = r"SIGKILL|SIGINT|os\.kill|killpg|fcntl|\bpty\b|import resource|chmod|symlink|mkfifo"
_POSIX += r"|from terminal import|from fault_tools import"
collect_ignore = [
    str(path)
    for path in sorted(Path(__file__).parent.rglob("test_*.py"))
    if sys.platform == "win32" and re.search(_POSIX, path.read_text(encoding="utf-8"))
]


def pytest_configure(config):
    """Look for fonts, once: a command that has to do so says so on stderr."""
    if not hasattr(config, "workerinput"):
        import matplotlib.font_manager  # noqa: F401


def pytest_report_header():
    if collect_ignore:
        names = ", ".join(Path(path).stem for path in collect_ignore)
        return f"not collected, as they need POSIX signals, terminals or permissions: {names}"
    return None


@pytest.fixture(autouse=True)
def _forked_workers() -> Iterator[None]:
    """Do not count the idle threads that earlier tests left, as Dask does.

    Beside threads, workers are spawned instead of forked, and import what they need anew.
    """
    earlier = set(threading.enumerate()) - {threading.current_thread()}
    without_earlier = SimpleNamespace(
        active_count=lambda: len(set(threading.enumerate()) - earlier)
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("uaos.runs.workers.threading", without_earlier)
        yield


@pytest.fixture
def quick_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork the workers of experiments from a process that has imported what they need.

    For tests of commands, which run in this process; those of workers spawn them as users do.
    """
    if sys.platform == "linux":
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["numba", "uaos.experiments.unit", "uaos.tuning.costs"])
        monkeypatch.setattr("uaos.experiments.executors.get_context", lambda _: context)


# Fixtures that take seconds to make. With several processes, tests that use the same one share one.
SLOW_FIXTURES = (
    "undisturbed", "reports", "stores", "first", "cocopp", "interpreted", "raced", "uninterrupted",
    "cluster", "without_extras",
)  # fmt: skip
# The groups that take longest.
FIRST = ("site", "study")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Group tests by what they share; start the groups first, so that nothing waits for them."""

    def turn(item: pytest.Item) -> tuple[int, str]:
        mark = item.get_closest_marker("xdist_group")
        if mark is None:
            return len(FIRST) + 1, ""
        name = mark.args[0]
        return FIRST.index(name) if name in FIRST else len(FIRST), name

    for item in items:
        for name in SLOW_FIXTURES:
            if name in getattr(item, "fixturenames", ()):
                item.add_marker(pytest.mark.xdist_group(name))
                break
    items.sort(key=turn)


# Tests without a group that are sent to a process at a time: the scheduler of pytest-xdist goes
# over all that it has sent, after each test.
BUNDLE = 10


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Send tests without a group in bundles."""
    if config.getoption("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadGroupScheduling

    class Bundles(LoadGroupScheduling):
        def __init__(self) -> None:
            super().__init__(config, log)
            self.places: dict[str, int] = {}

        def _split_scope(self, nodeid: str) -> str:
            group = super()._split_scope(nodeid)
            if group != nodeid:
                return group
            return f"bundle {self.places.setdefault(nodeid, len(self.places)) // BUNDLE}"

    return Bundles()


def pytest_collection_finish() -> None:
    """Spare the garbage collector the thousands of tests, which stay to the end."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


# The cluster measures and logs nothing, and so costs little while no test uses it.
_CLUSTER = """
import sys

import dask
import distributed

if __name__ == "__main__":
    with (
        dask.config.set({
            "distributed.admin.log-length": 0,
            "distributed.admin.system-monitor.interval": "10s",
            "distributed.admin.tick.interval": "1s",
            "distributed.worker.memory.monitor-interval": "10s",
            "distributed.worker.profile.enabled": False,
        }),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1",
            dashboard_address=None, silence_logs=50,
        ) as cluster,
    ):
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


class _Cluster:
    """A Dask cluster of two worker processes, in a process that ends when we do."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._address = ""

    def address(self, folder: Path) -> str:
        """Return its address; start it in a folder unless it is running."""
        if self._process is None:
            script = folder / "cluster.py"
            script.write_text(_CLUSTER)
            self._process = subprocess.Popen(
                [sys.executable, str(script)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
            self._address = self._process.stdout.readline().strip()
        return self._address

    def close(self) -> None:
        if self._process is not None:
            with self._process:  # its input is closed, and it is waited for
                self._process = None


_cluster = _Cluster()


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Dask cluster that no test may damage; for tests that ignore warnings."""
    why = "dask and distributed are not installed: the extra uaos[cluster]"
    pytest.importorskip("distributed", reason=why)
    yield _cluster.address(tmp_path_factory.mktemp("cluster"))
    # What Dask leaves behind may warn when it is collected: here, where warnings are ignored.
    gc.collect()


def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """End the cluster with the last of its tests, as it takes processor time even when idle."""
    if "cluster" not in getattr(nextitem, "fixturenames", ()):
        _cluster.close()
