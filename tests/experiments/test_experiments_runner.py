"""Whatever happens to workers and coordinator, the store ends up the same."""

import math
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import experiment_stubs as stubs
import pytest
from experiment_stubs import content, small_plan, wait_for
from raising import raises

from uaos.errors import InvalidParameter, UaosError
from uaos.experiments import Progress, Stopped, Store, WorkersLost, run
from uaos.experiments.executors import LocalPool


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict:
    """The small plan run one after the other, in this process."""
    path = tmp_path_factory.mktemp("plain") / "plain.db"
    with ThreadPoolExecutor(1) as executor:
        run(small_plan(), path, executor)
    return content(path)


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_number_of_workers_does_not_matter(jobs: int, expected: dict, tmp_path: Path) -> None:
    seen: list[Progress] = []
    tallies = run(small_plan(), tmp_path / "a.db", jobs=jobs, on_progress=seen.append)
    assert content(tmp_path / "a.db") == expected
    assert seen[0] == (24, 0, 0, 0, 0)
    assert seen[-1] == (24, 24, 24, 0, 0)
    assert {name: (t.total, t.done, t.failed) for name, t in tallies.items()} == {
        "mix": (12, 12, 0),
        "JADE": (12, 12, 0),
    }


def test_the_order_and_the_rest_of_the_plan_do_not_matter(expected: dict, tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as executor:
        run(small_plan("JADE", functions="3-4"), tmp_path / "a.db", executor)
        run(small_plan("JADE", "mix", instances="3,1"), tmp_path / "a.db", executor)
        run(small_plan("SHADE", "JADE", "mix"), tmp_path / "a.db", executor)
    found = content(tmp_path / "a.db")
    assert {key: value for key, value in found.items() if key[0] != "SHADE"} == expected


def test_a_finished_experiment_starts_nothing(tmp_path: Path) -> None:
    def nowhere() -> ThreadPoolExecutor:
        raise AssertionError("an executor was made")

    with ThreadPoolExecutor(1) as executor:
        first = run(small_plan("mix"), tmp_path / "a.db", executor)
    assert run(small_plan("mix"), tmp_path / "a.db", nowhere) == first


def test_an_exception_fails_its_unit_and_the_rest_goes_on(expected: dict, tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as executor:
        run(small_plan(), tmp_path / "a.db", executor, work=stubs.raises_on_f3)
        found = content(tmp_path / "a.db")
        bad = {key for key, ((*_, status, _), _) in found.items() if status == "failed"}
        assert bad == {key for key in expected if key[1].startswith("f3 ")}
        assert {found[key][0][-1] for key in bad} == {"ZeroDivisionError: on purpose"}
        # Failed is a result: it is run again only if that is wished.
        run(small_plan(), tmp_path / "a.db", executor)
        assert content(tmp_path / "a.db") == found
        run(small_plan(), tmp_path / "a.db", executor, retry_failed=True)
        assert content(tmp_path / "a.db") == expected


# Workers that die


def test_a_unit_that_kills_its_worker_is_recorded_and_the_rest_goes_on(
    expected: dict, tmp_path: Path
) -> None:
    run(small_plan(), tmp_path / "a.db", jobs=2, work=stubs.dies_on_f2)
    found = content(tmp_path / "a.db")
    bad = {key for key in expected if key[1] == "f2 i1 2-D"}
    for key in expected:
        if key in bad:
            assert found[key][0][-2] == "failed"
            assert "its worker died every time it was run" in found[key][0][-1]
        else:
            assert found[key] == expected[key]


def test_units_of_a_worker_that_died_are_run_again(
    expected: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UAOS_TEST_MARK", str(tmp_path / "mark"))
    run(small_plan(), tmp_path / "a.db", jobs=2, work=stubs.dies_once)
    assert (tmp_path / "mark").exists()
    assert content(tmp_path / "a.db") == expected


def test_a_worker_that_dies_while_starting_is_replaced(
    expected: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UAOS_TEST_MARK", str(tmp_path / "mark"))
    monkeypatch.setattr("uaos.experiments.executors._start_worker", stubs.dies_while_starting)
    run(small_plan(), tmp_path / "a.db", jobs=1)
    assert (tmp_path / "mark.1").exists()
    assert content(tmp_path / "a.db") == expected


def test_workers_that_never_start_end_the_run_with_advice_and_no_failed_unit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "uaos.experiments.executors._start_worker", stubs.always_dies_while_starting
    )
    with pytest.raises(WorkersLost):
        run(small_plan(), tmp_path / "a.db", jobs=1)
    assert not (tmp_path / "a.db").exists()


def spawning() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(2, get_context("spawn"))


def test_the_culprit_is_isolated_where_one_death_breaks_everything(
    expected: dict, tmp_path: Path
) -> None:
    plan = small_plan("mix", functions="1-2", instances="1-2")
    run(plan, tmp_path / "a.db", spawning, work=stubs.dies_on_f2)
    found = content(tmp_path / "a.db")
    assert len(found) == 4
    for key, value in found.items():
        if key[1] == "f2 i1 2-D":
            assert value[0][-2] == "failed"
        else:
            assert value == expected[key]


def test_an_executor_that_cannot_be_made_again_ends_the_run_with_advice(
    expected: dict, tmp_path: Path
) -> None:
    with (
        spawning() as executor,
        pytest.raises(WorkersLost),
    ):
        run(small_plan("mix"), tmp_path / "a.db", executor, work=stubs.dies_on_f2)
    with ThreadPoolExecutor(1) as executor:
        run(small_plan(), tmp_path / "a.db", executor)
    assert content(tmp_path / "a.db") == expected


class Flaky(ThreadPoolExecutor):
    """Loses units as a lost connection does: without a result, and without a dead worker."""

    def __init__(self, losses: float) -> None:
        super().__init__(1)
        self.losses = losses

    def submit(self, work, /, *arguments, **named):
        self.losses -= 1
        if self.losses < 0:
            return super().submit(work, *arguments, **named)
        lost: Future = Future()
        lost.set_exception(ConnectionResetError("reset\nby peer"))
        return lost


def test_what_a_pool_loses_is_run_again_and_no_failure(expected: dict, tmp_path: Path) -> None:
    with Flaky(3) as executor:
        run(small_plan(), tmp_path / "a.db", executor)
    assert content(tmp_path / "a.db") == expected


def test_a_pool_that_loses_everything_ends_the_run_and_fails_no_unit(
    expected: dict, tmp_path: Path
) -> None:
    with ThreadPoolExecutor(1) as executor:
        run(small_plan("mix"), tmp_path / "a.db", executor)
    before = content(tmp_path / "a.db")
    with (
        Flaky(math.inf) as executor,
        pytest.raises(WorkersLost, match=r"\(ConnectionResetError: reset\)\. What was finished"),
    ):
        run(small_plan(), tmp_path / "a.db", executor)
    assert content(tmp_path / "a.db") == before
    gone = ThreadPoolExecutor(1)
    gone.shutdown()
    with pytest.raises(WorkersLost, match="after shutdown"):
        run(small_plan(), tmp_path / "a.db", gone)
    assert content(tmp_path / "a.db") == before


def test_a_unit_that_asks_python_to_exit_is_a_failed_unit(expected: dict, tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as executor:
        run(small_plan("mix"), tmp_path / "a.db", executor, work=stubs.exits_on_f3)
    found = content(tmp_path / "a.db")
    bad = {key: value for key, value in found.items() if value != expected[key]}
    assert {key[1].split()[0] for key in bad} == {"f3"}
    assert {value[0][-1] for value in bad.values()} == {"SystemExit: on purpose"}


def test_a_worker_that_cannot_load_what_it_is_sent_fails_no_unit(tmp_path: Path) -> None:
    with pytest.raises(WorkersLost, match="a worker cannot load .*ModuleNotFoundError"):
        run(small_plan("mix"), tmp_path / "a.db", jobs=1, work=stubs.Unloadable())
    assert not (tmp_path / "a.db").exists()


def test_a_script_without_a_main_guard_gets_advice_instead_of_failed_units(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import uaos\nfrom uaos.experiments import Plan, run\n"
        "suite = uaos.suite('bbob', functions='1', dimension=2, instances='1')\n"
        "plan = Plan.of(['mix'], suite, budget=100)\n"
        "run(plan, 'a.db', jobs=1)\n"
    )
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "must do so under `if __name__ == '__main__':`" in done.stderr
    assert not (tmp_path / "a.db").exists()


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"jobs": 0}, "jobs"),
        ({"jobs": "2"}, "jobs"),
        ({"executor": 3}, "executor"),
    ],
)
def test_what_is_no_place_to_run_units_is_refused(
    arguments: dict, name: str, tmp_path: Path
) -> None:
    with raises(InvalidParameter, name=name):
        run(small_plan(), tmp_path / "a.db", **arguments)


def test_a_store_that_cannot_be_written_any_more_is_a_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sqlite3

    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(Store, "_put", full)
    with (
        ThreadPoolExecutor(1) as executor,
        pytest.raises(UaosError, match=r"a.db: cannot be written \(database or disk is full\)"),
    ):
        run(small_plan("mix"), tmp_path / "a.db", executor)


# The coordinator stopped or killed

SESSION = """
import sys
import experiment_stubs as stubs
from uaos.experiments import run
if __name__ == "__main__":
    run(stubs.small_plan(), sys.argv[1], jobs=int(sys.argv[3]), work=getattr(stubs, sys.argv[2]))
"""


def session(folder: Path, work: str = "slowly", jobs: int = 2) -> subprocess.Popen:
    """A coordinator of its own, in a process."""
    script = folder / "session.py"
    script.write_text(SESSION)
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, str(script), str(folder / "a.db"), work, str(jobs)],
        env=os.environ | {"PYTHONPATH": path}, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_a_coordinator_killed_five_times_leaves_the_store_of_one_never_killed(
    expected: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed at any moment: before, while and after the last unit it can finish is written."""
    path, rng = tmp_path / "a.db", random.Random(1)
    before: dict = {}
    for number in range(5):
        more, tickets = rng.choice([0, 1, 1, 2]), tmp_path / f"tickets {number}"
        tickets.mkdir()
        for ticket in range(more + 1):
            (tickets / str(ticket)).touch()
        monkeypatch.setenv("UAOS_TEST_MARK", str(tickets))
        process = session(tmp_path, "takes_a_ticket", jobs=1 + number % 2)
        wait_for(process, path, len(before) + more)
        time.sleep(rng.uniform(0.0, 0.1))
        process.kill()
        assert process.wait() == -signal.SIGKILL, process.stderr.read()
        process.stderr.close()
        found = content(path) if path.exists() else {}
        assert before.items() <= found.items()  # nothing that was finished is lost
        assert found.items() <= expected.items()
        assert len(found) >= len(before) + more
        before = found
    process = session(tmp_path)
    assert process.wait() == 0, process.stderr.read()
    process.stderr.close()
    assert content(path) == expected
    assert not list(tmp_path.glob("a.db?*"))


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
def test_workers_end_when_their_coordinator_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "mark"
    monkeypatch.setenv("UAOS_TEST_MARK", str(mark))
    process = session(tmp_path, "tells_its_process")
    wait_for(process, tmp_path / "a.db", 2)
    process.kill()
    process.wait()
    process.stderr.close()
    workers = {int(line) for line in mark.read_text().split()}
    assert workers

    def alive(worker: int) -> bool:
        try:
            return Path(f"/proc/{worker}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
        except (FileNotFoundError, ProcessLookupError):
            return False

    until = time.monotonic() + 300
    while any(map(alive, workers)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(map(alive, workers))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_experiment_says_how_far_it_is_and_continues(
    number: int, expected: dict, tmp_path: Path
) -> None:
    stopped = []

    def stop(progress: Progress) -> None:
        if progress.new >= 3 and not stopped:
            stopped.append(progress)
            os.kill(os.getpid(), number)

    with ThreadPoolExecutor(1) as executor:
        with pytest.raises(Stopped) as e:
            run(small_plan(), tmp_path / "a.db", executor, on_progress=stop)
        assert len(content(tmp_path / "a.db")) == e.value.progress.over >= 3
        run(small_plan(), tmp_path / "a.db", executor)
    assert content(tmp_path / "a.db") == expected


def test_linear_algebra_takes_one_thread_in_each_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")  # set by the user, so it stays
    pool = LocalPool(1)
    try:
        for name, threads in (("OPENBLAS_NUM_THREADS", "1"), ("OMP_NUM_THREADS", "3")):
            assert pool.submit(os.getenv, name).result(600) == threads
    finally:
        pool.close(finished=True)
    assert "OPENBLAS_NUM_THREADS" not in os.environ
