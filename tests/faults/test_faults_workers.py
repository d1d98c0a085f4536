"""Workers that die or stand still."""

import os
import signal
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
