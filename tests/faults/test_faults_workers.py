"""Workers that die or stand still, and a scheduler that dies."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from fault_tools import BENCH, runs, short_and_long, start, wait_until


def children(process: int) -> list[int]:
    """The worker processes; multiprocessing's resource tracker is none."""
    found = []
    with suppress(FileNotFoundError, ProcessLookupError):  # they may end at any time
        for task in Path(f"/proc/{process}/task").glob("*/children"):
            for number in task.read_text().split():
                if "spawn_main" in Path(f"/proc/{number}/cmdline").read_text():
                    found.append(int(number))
    return found


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
            with suppress(ProcessLookupError):
                if number % 3 == 2:
                    os.kill(worker, signal.SIGSTOP)
                    time.sleep(0.5)
                    os.kill(worker, signal.SIGCONT)
                else:
                    os.kill(worker, signal.SIGKILL)
            count(("workers killed while starting", "workers killed later",
                   "workers stopped and continued")[number % 3])  # fmt: skip
        _, err = process.communicate(timeout=600)
        assert process.returncode == 0, err
        assert runs(folder / "a.db") == good


def test_a_scheduler_that_dies_ends_the_command_with_one_line(tmp_path: Path, count) -> None:
    pytest.importorskip("distributed", reason="the extra uaos[cluster] is not installed")
    quiet = {"cwd": tmp_path, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    common = ["--no-dashboard", "--scheduler-file", "scheduler.json"]
    scheduler, worker = (
        subprocess.Popen([sys.executable, "-m", f"distributed.cli.{name}", *common, *more], **quiet)
        for name, more in (
            ("dask_scheduler", ("--host", "127.0.0.1", "--port", "0")),
            ("dask_worker", ("--nthreads", "1")),
        )
    )
    try:
        wait_until(lambda: address_in(tmp_path / "scheduler.json") is not None)
        address = address_in(tmp_path / "scheduler.json")
        command = ["bench", "a.db", "--methods", "JADE", "--dim", "5", "--instances", "41-60",
                   "--budget", "10000D", "--dask", address]  # fmt: skip
        process = start(command, tmp_path)
        wait_until(lambda: process.poll() is not None or finished(tmp_path / "a.db") > 1)
        scheduler.kill()
        _, err = process.communicate(timeout=600)
    finally:
        for one in (worker, scheduler):
            one.kill()
            one.wait()
    assert process.returncode == 2, err
    assert err.startswith("error: the connection to the Dask cluster is lost. What was finished")
    assert err.count("\n") == 1, err
    assert finished(tmp_path / "a.db") > 1
    count("Dask schedulers killed")


def address_in(file: Path) -> str | None:
    """The address that a scheduler wrote to a file; None as long as it is not written."""
    try:
        return json.loads(file.read_text())["address"]
    except (FileNotFoundError, ValueError):
        return None


def finished(path: Path) -> int:
    return len(runs(path)) if path.exists() else 0
