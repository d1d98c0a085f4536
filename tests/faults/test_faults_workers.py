"""Workers that die or stand still, and a scheduler that dies."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fault_tools import BENCH, finish, runs, short_and_long, start, wait_until


def children(process: int) -> list[int]:
    """The worker processes; multiprocessing's resource tracker is none."""
    found = []
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        found += [int(word) for word in task.read_text().split()]
    return [n for n in found if "spawn_main" in Path(f"/proc/{n}/cmdline").read_text()]


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
@short_and_long(1, 12)
def test_workers_that_die_or_stand_still_change_nothing(times: int, tmp_path: Path, count) -> None:
    """Killed while they start, killed at work, or stopped for a while and continued."""
    command = [*BENCH[:-1], "2"]
    (tmp_path / "plain").mkdir()
    assert finish(command, tmp_path / "plain")[0] == 0
    good, done = runs(tmp_path / "plain" / "a.db"), 0
    for number in range(times):
        folder = tmp_path / str(number)
        folder.mkdir()
        process = start(command, folder)
        wait_until(lambda p=process: p.poll() is not None or len(children(p.pid)) > 0)
        time.sleep(0.3 * (number % 4))
        for worker in children(process.pid)[:1]:
            if number % 3 == 2:
                os.kill(worker, signal.SIGSTOP)
                time.sleep(0.5)
                os.kill(worker, signal.SIGCONT)
            else:
                os.kill(worker, signal.SIGKILL)
            done += 1
        _, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        assert runs(folder / "a.db") == good
    count("workers killed or stopped", done)


def test_a_scheduler_that_dies_shows_no_traceback_and_names_the_loss(tmp_path: Path, count) -> None:
    pytest.importorskip("distributed", reason="the extra uaos[cluster] is not installed")
    here = {"cwd": tmp_path, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1",
            "--port", "0", "--no-dashboard", "--scheduler-file", "s.json"]  # fmt: skip
    scheduler = subprocess.Popen(dask, **here)
    worker = None
    try:
        wait_until((tmp_path / "s.json").exists)
        worker = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", "s.json",
             "--nthreads", "1", "--no-dashboard", "--no-nanny"], **here,
        )  # fmt: skip
        import json

        wait_until(lambda: "address" in (tmp_path / "s.json").read_text())
        address = json.loads((tmp_path / "s.json").read_text())["address"]
        long = [*BENCH[:-2], "--dask", address]
        # A function that neither method solves, and far more evaluations than the test waits for.
        long[long.index("1-3")], long[long.index("400")] = "24", "20000000"
        long[long.index("--dim") + 1] = "20"
        process = start(long, tmp_path)
        wait_until(lambda: process.poll() is not None or (tmp_path / "a.db").exists())
        time.sleep(2)
        scheduler.kill()
        _, err = process.communicate(timeout=120)
    finally:
        for one in (worker, scheduler):
            if one is not None:
                one.kill()
                one.wait()
    assert process.returncode == 2, err
    assert "Traceback" not in err
    assert err.splitlines()[-1].startswith("error: the connection to the Dask cluster is lost"), err
    count("Dask schedulers killed")
