"""Run the benchmarks, print one table, write benchmarks/results.md.

    python benchmarks/run.py [--only selector,engine] [--quick]

Contenders take turns over several rounds; timing.py says what is reported. A missed aim is shown
and does not fail the run.
"""

import argparse
import importlib
import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter

from rich.console import Console
from table import Section, as_markdown, on_terminal

from uaos import jit

PARTS = (
    "selector", "one-at-a-time", "engine", "peers", "families", "coco", "experiments", "stores",
    "tuning", "memory", "start",
)  # fmt: skip
PACKAGES = (
    "uaos", "numpy", "numba", "scipy", "coco-experiment", "pygmo", "pymoo", "cma", "minionpy",
)  # fmt: skip
RESULTS = Path(__file__).parent / "results.md"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help=f"parts, with commas between: {','.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, so rougher numbers")
    given = parser.parse_args()
    parts = PARTS if given.only is None else tuple(given.only.split(","))
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        parser.error(f"unknown part {unknown[0]!r}; there are {', '.join(PARTS)}")
    console, progress = Console(), Console(stderr=True)
    header = _header()
    sections: list[Section] = []
    try:
        for part in parts:
            with jit.at_once():  # no round is to interpret kernels
                sections.append(_measured(part, given.quick, progress))
    except KeyboardInterrupt:
        progress.print(f"interrupted during {part}; {RESULTS.name} is as it was")
        if sections:
            console.print(on_terminal(sections))
        return 130
    console.print(*header, sep="\n", markup=False, highlight=False)
    console.print(on_terminal(sections))
    judged = [row.met for section in sections for row in section.rows if row.met]
    met = sum(verdict.startswith("yes") for verdict in judged)
    console.print(f"\n{met} of {len(judged)} aims met")
    if parts == PARTS and not given.quick:
        RESULTS.write_text(as_markdown(sections, header), encoding="utf-8")
        progress.print(f"written: benchmarks/{RESULTS.name}")
    else:
        progress.print(f"benchmarks/{RESULTS.name} is as it was: only a full run writes it")
    return 0


def _measured(part: str, quick: bool, progress: Console) -> Section:
    start = perf_counter()
    with progress.status(f"measuring {part}"):
        if not progress.is_terminal:
            progress.print(f"measuring {part} …")
        section: Section = importlib.import_module(part.replace("-", "_")).run(quick)
    progress.print(f"measured {part} in {perf_counter() - start:.0f} s")
    return section


def _header() -> list[str]:
    """Return package versions, processor and load; nothing that names the machine."""
    load = os.getloadavg()[0]
    return [
        f"Python {platform.python_version()}, {', '.join(map(_package, PACKAGES))}",
        f"{_processor()}, {os.cpu_count()} cores, load average {load:.1f} at the start",
        "wall clock over rounds in which the contenders took turns. Times: fastest round (median, "
        "slowest), judged by the fastest; where only that meets an aim, `met` says so. Ratios: "
        "taken round by round, median (lowest, highest), judged by the median",
    ]


def _package(name: str) -> str:
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return f"{name} not installed"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown processor"
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


if __name__ == "__main__":
    sys.exit(main())
