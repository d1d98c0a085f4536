"""Counts what was tried, and says so at the end; runs that nothing disturbed, for comparison."""

import time
from collections import Counter
from pathlib import Path

import pytest
from fault_tools import BENCH, TUNE, finish, make_store


@pytest.fixture
def count(record_property):
    """Notes what happened: `count("kills of bench, resumed", 3)`; works with worker processes."""

    def note(what: str, times: int = 1) -> None:
        record_property("fault", (what, times))

    return note


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small store."""
    path = tmp_path_factory.mktemp("whole") / "a.db"
    make_store(path)
    return path


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, float]]:
    """The stores of BENCH and TUNE, and the seconds that each command took."""
    found = {}
    for command in (BENCH, TUNE):
        folder, begun = tmp_path_factory.mktemp("undisturbed"), time.monotonic()
        code, _, err = finish(command, folder)
        assert code == 0, err
        found[command[0]] = folder / command[1], time.monotonic() - begun
    return found


def pytest_terminal_summary(terminalreporter) -> None:
    counts: Counter[str] = Counter()
    for report in terminalreporter.stats.get("passed", []):
        for name, value in getattr(report, "user_properties", ()):
            if name == "fault" and report.when == "call":
                counts[value[0]] += value[1]
    if counts:
        terminalreporter.section("faults injected")
        for what, times in sorted(counts.items()):
            terminalreporter.write_line(f"{times:>8,}  {what}")
