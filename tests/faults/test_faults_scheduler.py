"""A Dask scheduler that dies: one line, no run called failed, and the same results in the end."""

import json
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest
from fault_tools import BENCH, TUNE, finish, runs, start, tuning, wait_until

from uaos.experiments.storefile import connect

pytestmark = pytest.mark.skipif(
    find_spec("distributed") is None, reason="the extra uaos[cluster] is not installed"
)

# Many short runs: results are on their way at any moment.
MANY = [
    "bench", "a.db", "--methods", "mix,JADE", "--functions", "1-8", "--dim", "2", "--instances",
    "1-5", "--budget", "300", "--seed", "1", "--without-uniform", "--jobs", "1",
]  # fmt: skip
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM)
LINES = (
    "error: the connection to the Dask cluster is lost. What was finished",
    "error: no Dask scheduler answers",
)


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[subprocess.Popen, str]]:
    """Run a scheduler and a worker; yield the scheduler and its address."""
    quiet = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    common = ["--no-dashboard", "--scheduler-file", "scheduler.json"]
    file = folder / "scheduler.json"
    file.unlink(missing_ok=True)
    processes = [
        subprocess.Popen([sys.executable, "-m", f"distributed.cli.{name}", *common, *more], **quiet)
        for name, more in (
            ("dask_scheduler", ("--host", "127.0.0.1", "--port", "0")),
            ("dask_worker", ("--nthreads", "1", "--no-nanny")),
        )
    ]
    try:
        wait_until(lambda: address_in(file) is not None)
        yield processes[0], str(address_in(file))
    finally:
        for process in processes:
            process.kill()
            process.wait()


def address_in(file: Path) -> str | None:
    """The address that a scheduler wrote to a file; None as long as it is not written."""
    try:
        return json.loads(file.read_text())["address"]
    except (FileNotFoundError, ValueError):
        return None


def count_runs(path: Path) -> int:
    """The finished runs, while a command may be writing."""
    if not path.exists():
        return 0
    with closing(connect(path)) as connection:
        return connection.execute("SELECT COUNT(*) FROM runs").fetchone()[0]


def kill_the_scheduler(command: list[str], folder: Path, runs_before: int, wait: float) -> bool:
    """Kill the scheduler of a command once it has so many runs; whether the command was over."""
    path = folder / command[1]
    with cluster(folder) as (scheduler, address):
        process = start([*command[:-2], "--dask", address], folder)
        wait_until(lambda: process.poll() is not None or count_runs(path) >= runs_before)
        time.sleep(wait)
        scheduler.send_signal(random.Random(runs_before).choice(SIGNALS))
        _, err = process.communicate(timeout=300)
    if process.returncode == 0:
        return True
    assert process.returncode == 2, err
    assert err.startswith(LINES), err
    assert err.count("\n") == 1, err
    assert count_runs(path) >= runs_before
    return False


def test_a_scheduler_that_dies_costs_no_run(undisturbed: dict, tmp_path: Path, count) -> None:
    kill_the_scheduler(BENCH, tmp_path, 3, 0.0)
    code, _, err = finish(BENCH, tmp_path)
    assert code == 0, err
    assert runs(tmp_path / "a.db") == runs(undisturbed["bench"][0])
    count("Dask schedulers of uaos bench killed, resumed to identical results")


@pytest.mark.faults_long
@pytest.mark.parametrize(("command", "read"), [(MANY, runs), (TUNE, tuning)], ids=["bench", "tune"])
def test_schedulers_that_die_at_random_moments_cost_no_run(
    command: list[str], read, tmp_path: Path, count
) -> None:
    (tmp_path / "whole").mkdir()
    code, _, err = finish(command, tmp_path / "whole")
    assert code == 0, err
    path = tmp_path / "whole" / command[1]
    good, total = read(path), count_runs(path)
    draw, deaths = random.Random(1), 0
    while deaths < 20:
        folder = tmp_path / str(deaths)
        folder.mkdir(exist_ok=True)
        # Every fourth time while the command is starting.
        before = draw.randrange(1, total) if deaths % 4 else 0
        if kill_the_scheduler(command, folder, before, draw.uniform(0, 0.3 if before else 3)):
            shutil.rmtree(folder)
            continue
        code, _, err = finish(command, folder)
        assert code == 0, err
        assert read(folder / path.name) == good
        deaths += 1
    count(f"Dask schedulers of uaos {command[0]} killed, resumed to identical results", deaths)
