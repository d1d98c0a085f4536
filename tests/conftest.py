"""What every test process needs."""

import gc
import re
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The same examples everywhere, and none fails because a machine is slow or a kernel is compiled.
settings.register_profile(
    "steady", deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip
settings.load_profile("steady")

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


# Fixtures that take seconds to make. With several processes, tests that use the same one share one.
SLOW_FIXTURES = (
    "undisturbed", "reports", "stores", "first", "cocopp", "interpreted", "raced", "uninterrupted",
)  # fmt: skip
# The groups that take longest.
FIRST = ("site", "study")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Group tests by what they share; start the groups first, so that nothing waits for them."""

    def turn(item: pytest.Item) -> int:
        mark = item.get_closest_marker("xdist_group")
        if mark is None:
            return len(FIRST) + 1
        return FIRST.index(mark.args[0]) if mark.args[0] in FIRST else len(FIRST)

    for item in items:
        for name in SLOW_FIXTURES:
            if name in getattr(item, "fixturenames", ()):
                item.add_marker(pytest.mark.xdist_group(name))
                break
    items.sort(key=turn)


@pytest.fixture
def cluster():
    """A Dask cluster of two worker processes on this machine; for tests that ignore warnings."""
    why = "dask and distributed are not installed: the extra uaos[cluster]"
    dask = pytest.importorskip("dask", reason=why)
    distributed = pytest.importorskip("distributed", reason=why)
    settings = {"distributed.scheduler.allowed-failures": 0, "distributed.admin.log-length": 0}
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1",
            dashboard_address=None, silence_logs=50,
        ) as made,
    ):  # fmt: skip
        yield made
    # What Dask leaves behind may warn when it is collected: here, where warnings are ignored.
    del made
    gc.collect()
