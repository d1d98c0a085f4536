"""Counts what was tried, and says so at the end."""

from collections import Counter

import pytest


@pytest.fixture
def count(record_property):
    """Notes what happened: `count("kills of bench, resumed", 3)`; works with worker processes."""

    def note(what: str, times: int = 1) -> None:
        record_property("fault", (what, times))

    return note


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
