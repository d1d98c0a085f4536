"""Workers that die or stand still, and a scheduler that dies."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fault_tools import BENCH, runs, short_and_long, start, wait_until


def children(process: int) -> list[int]:
    """The worker processes; multiprocessing's resource tracker is none."""
    found = []
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        found += [int(word) for word in task.read_text().split()]
    return [n for n in found if "spawn_main" in Path(f"/proc/{n}/cmdline").read_text()]


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
@short_and_long(1, 12)
def test_workers_that_die_or_stand_still_change_nothing(
    times: int, undisturbed: dict, tmp_path: Path, count
) -> None:
    """Killed while they start, killed at work, or stopped for a while and continued."""
    command = [*BENCH[:-1], "2"]
    good = runs(undisturbed["bench"][0])
    for number in range(times):
        folder = tmp_path / str(number)
        folder.mkdir()
        process = start(command, folder)
        wait_until(lambda p=process: p.poll() is not None or len(children(p.pid)) > 0)
        time.sleep(0 if number % 3 == 0 else 0.3 + 0.1 * number)
        for worker in children(process.pid)[:1]:
            if number % 3 == 2:
                os.kill(worker, signal.SIGSTOP)
                time.sleep(0.5)
                os.kill(worker, signal.SIGCONT)
            else:
                os.kill(worker, signal.SIGKILL)
            count(("workers killed while starting", "workers killed later",
                   "workers stopped and continued")[number % 3])  # fmt: skip
        _, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        assert runs(folder / "a.db") == good


def test_a_scheduler_that_dies_ends_the_command_with_one_line(tmp_path: Path, count) -> None:
    pytest.importorskip("distributed", reason="the extra uaos[cluster] is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    quiet = {"cwd": tmp_path, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--no-dashboard"]
    scheduler = subprocess.Popen([*dask, "--port", address.rsplit(":", 1)[1]], **quiet)
    dask = [sys.executable, "-m", "distributed.cli.dask_worker", "--no-dashboard"]
    worker = subprocess.Popen([*dask, address, "--nthreads", "1"], **quiet)
    command = ["bench", "a.db", "--methods", "JADE", "--dim", "5", "--instances", "41-60",
               "--budget", "10000D", "--dask", address]  # fmt: skip
    try:
        for _ in range(5):  # until the scheduler answers
            process = start(command, tmp_path)
            wait_until(
                lambda p=process: p.poll() is not None or finished(tmp_path / "a.db") > 1, 300
            )
            if process.poll() is None:
                break
        scheduler.kill()
        _, err = process.communicate(timeout=120)
    finally:
        for one in (worker, scheduler):
            one.kill()
            one.wait()
    assert process.returncode == 2, err
    assert err.startswith("error: the connection to the Dask cluster is lost. What was finished")
    assert err.count("\n") == 1, err
    assert finished(tmp_path / "a.db") > 1
    count("Dask schedulers killed")


def finished(path: Path) -> int:
    return len(runs(path)) if path.exists() else 0
