"""What the tests of faults share: small stores, commands, damage."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from uaos.errors import UaosError
from uaos.experiments import Plan, Store, run
from uaos.problems import suite
from uaos.tuning.store import TuningStore

BENCH = [
    "bench", "a.db", "--methods", "mix,JADE", "--functions", "1-3", "--dim", "2", "--instances",
    "1-2", "--budget", "400", "--seed", "1", "--without-uniform", "--jobs", "1",
]  # fmt: skip
TUNE = [
    "tune", "t.db", "--method", "SaDE", "--functions", "1,2,8", "--dim", "2", "--instances",
    "16", "--runs", "180", "--budget", "20D", "--seed", "3", "--jobs", "1",
]  # fmt: skip
STUDY = ["study", "--preset", "smoke", "--folder", "s", "--seed", "1", "--jobs", "2"]


def short_and_long(short: int, long: int) -> pytest.MarkDecorator:
    """Run a test with `times` in two sizes; the long one only in `make faults`."""
    return pytest.mark.parametrize(
        "times", [short, pytest.param(long, marks=pytest.mark.faults_long)]
    )


def start(arguments: list[str], folder: Path, **options: object) -> subprocess.Popen:
    """The command in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "uaos", *arguments], cwd=folder, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True, **options,
    )  # fmt: skip


def finish(arguments: list[str], folder: Path, **options: object) -> tuple[int, str, str]:
    """The command to its end: exit code, output, errors."""
    process = start(arguments, folder, **options)
    out, err = process.communicate(timeout=600)
    return process.returncode, out, err


def killed(arguments: list[str], folder: Path, seconds: float) -> bool:
    """Kill the command after a while; whether it was still running."""
    process = start(arguments, folder)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
    process.wait()
    with process.stdout or open(os.devnull), process.stderr or open(os.devnull):
        pass
    return process.returncode == -signal.SIGKILL


def small_plan() -> Plan:
    problems = suite("bbob", functions="1-2", dimension=2, instances="1")
    return Plan.of(["mix", "JADE"], problems, budget=300, seed=1, uniform=False)


def make_store(path: Path) -> None:
    with ThreadPoolExecutor(1) as executor:
        run(small_plan(), path, executor)


def runs(path: Path) -> dict:
    """What came out of each run of a benchmark, but for the time it took."""
    with Store.open(path) as store:
        return {
            o.unit.key: (
                o.seed, o.budget, o.evaluations, o.best, repr(o.error), o.status, o.reason,
                o.hits.tobytes(), *(column.tobytes() for column in o.trace),
                store.packed_course(o.unit.key),
            )
            for o in store.outcomes(traces=True)
        }  # fmt: skip


def tuning(path: Path) -> dict:
    """All that a store tells of a tuning, but for times."""
    with TuningStore.open(path) as store:
        found = {}
        for entry in store.tunings():
            n = entry.id
            found[n] = repr((
                entry.setup, entry.data.get("used"), entry.data.get("best"), store.candidates(n),
                store.iterations(n), [s._replace(elapsed=0.0) for s in store.steps(n)],
                store.elites(n), store.results(n),
            ))  # fmt: skip
        found["runs"] = sorted(
            (unit, repr(o.error), o.evaluations) for unit, o in store.cached().items()
        )
        return found


def damages(data: bytes, times: int, seed: int) -> Iterator[bytes]:
    """Copies with flipped bits, changed bytes, zeroed blocks, and ends that are missing."""
    draw = random.Random(seed)
    filled = [at for at, byte in enumerate(data) if byte]  # much of a small store is zeros
    for number in range(times):
        copy = bytearray(data)
        at = draw.choice(filled)
        kind = draw.random()
        if kind < 0.6:
            copy[at] ^= 1 << draw.randrange(8)
        elif kind < 0.8:
            copy[at] = (copy[at] + draw.randrange(1, 256)) % 256
        elif kind < 0.9:
            end = min(len(copy), at + draw.choice([16, 512, 4096]))
            copy[at:end] = bytes(end - at)
        else:
            del copy[at:]
        assert bytes(copy) != data, number
        yield bytes(copy)


def attempt(read: Callable[..., Any], *arguments: Any) -> tuple[Any, str]:
    """What reading gives, and the one line it ends with otherwise; no other error is allowed."""
    try:
        return read(*arguments), ""
    except UaosError as error:
        line = str(error)
    if len(line.splitlines()) != 1:
        raise AssertionError(f"not one line: {line!r}")
    return None, line


def wait_until(condition: Callable[[], bool], seconds: float = 600.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.02)
