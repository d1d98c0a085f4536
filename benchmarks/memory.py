"""Measure resident memory early and late in a run; as a script, this is the measured process."""

import json
import os
import sys
from pathlib import Path

import functions
from processes import output_of
from table import Row, Section

from uaos import jit, minimize

TITLE = "memory"
SHORT, EARLY, LATE = 20_000, 100_000, 2_000_000
# Many small generations: one number kept of each would show as a megabyte.
NP = 50
CASES = (("U-AOS-FW", False), ("U-AOS-FW", True), ("mix", False))
# What the allocator may still round up to, in KiB.
SLACK = 256


def run(quick: bool) -> Section:
    rows = []
    for method, history in CASES[:1] if quick else CASES:
        early, late = json.loads(output_of(__file__, method, str(int(history))))
        rows.append(
            Row(
                f"{method}, NP {NP}, history {'on' if history else 'off'}",
                f"{late / 1024:.1f} MiB at 2e6", f"{early / 1024:.1f} MiB at 1e5",
                f"{late / early:.4f}; growth {late - early} KiB",
                f"growth <= {SLACK} KiB" if not history else "",
                ("yes" if late - early <= SLACK else "no") if not history else "",
            )
        )  # fmt: skip
    how = (
        "a process of its own with a vectorized sphere; the resident set as /proc/self/statm has "
        "it, once 1e5 evaluations are done and at the end of the same run, after a short run that "
        "loads all kernels. One run for each row."
    )
    return Section(TITLE, how, tuple(rows))


def resident() -> int:
    """Return the KiB that this process uses now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1024


def measure(method: str, history: bool) -> tuple[int, int]:
    """Return the resident set at the two moments."""
    early: list[int] = []

    def callback(state: object) -> None:
        if not early and state.nfev >= EARLY:
            early.append(resident())

    # A short run first loads every kernel, also those that are needed only late in a run.
    jit.PATIENCE = 0.0
    for budget in (SHORT, LATE):
        minimize(
            lambda X: (X * X).sum(axis=1), functions.BOUNDS, method=method, popsize=NP,
            budget=budget, seed=1, vectorized=True, history=history, callback=callback,
        )  # fmt: skip
    return early[0], resident()


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], bool(int(sys.argv[2])))))
