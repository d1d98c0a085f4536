"""The runner runs what was never run, on any workers, and loses nothing that was."""

import dataclasses
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path

import evaluator_stubs as stubs
import numpy as np
import pytest
from evaluator_stubs import BUDGET, PROBLEMS, cheap, each
from raising import raises

import uaos
from uaos.errors import UaosError, UnknownName
from uaos.experiments import Stopped, Unit, WorkersLost, run_unit
from uaos.problems import BBOB, Suite
from uaos.tuning.costs import OBJECTIVES, CandidateRunner, RunCost, run_one
from uaos.tuning.store import TuningStore

MIX, JADE = uaos.configuration("mix"), uaos.configuration("JADE")
TASKS = [(made, problem, 1) for problem in PROBLEMS for made in (MIX, JADE)]


class AtOnce(Executor):
    """Runs what is submitted there and then."""

    _max_workers = 4  # the coordinator then submits eight at a time

    def submit(self, work, /, *arguments):
        future: Future = Future()
        try:
            future.set_result(work(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future


def counting(work=cheap):
    """Work, and the list of what it was asked for."""
    asked: list[tuple] = []

    def counted(configuration, instance, seed, budget):
        asked.append((configuration.name, instance, seed, budget))
        return work(configuration, instance, seed, budget)

    return counted, asked


@pytest.fixture
def store(tmp_path: Path) -> TuningStore:
    with TuningStore.create_or_resume(tmp_path / "t.db", PROBLEMS) as made:
        yield made


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_cost_is_the_objective_of_the_run(objective: str, store: TuningStore) -> None:
    problem = PROBLEMS[2]
    unit = Unit("mix", problem.name, 1, 7, BUDGET)
    expected = run_unit(unit, problem, MIX).outcome
    with CandidateRunner(store, objective, each, AtOnce()) as runner:
        (result,) = runner.run([(MIX, problem, 7)])
    assert result.cost == OBJECTIVES[objective](expected)
    assert result.reason == ""
    ((key, outcome),) = store.cached().items()
    assert key == unit._replace(method=store.key(MIX))
    assert (outcome.hits == expected.hits).all()
    assert (outcome.evaluations, outcome.error) == (expected.evaluations, expected.error)


def test_results_are_in_the_order_of_the_tasks(store: TuningStore) -> None:
    ended: list[float] = []

    def last_first(configuration, problem, seed, budget):
        while len(ended) < 7 - seed:  # until the runs of all higher seeds were told of
            time.sleep(0.001)
        return cheap(configuration, problem, seed, budget)

    with (
        ThreadPoolExecutor(8) as executor,
        CandidateRunner(
            store, "error", each, executor, work=last_first,
            on_run=lambda result: ended.append(result.cost),
        ) as runner,
    ):  # fmt: skip
        results = runner.run([(MIX, PROBLEMS[0], seed) for seed in range(8)])
    # f1, instance 16: 1.16 + seed / 10000
    assert [r.cost for r in results] == pytest.approx([1.16 + s / 10_000 for s in range(8)])
    assert ended == [r.cost for r in reversed(results)]


# Nothing is run twice


def test_what_the_store_has_is_not_run_again(tmp_path: Path) -> None:
    work, asked = counting()
    with (
        TuningStore.create_or_resume(tmp_path / "t.db", PROBLEMS) as store,
        CandidateRunner(store, "error", each, AtOnce(), work=work) as runner,
    ):
        first = runner.run(TASKS[:8])
        assert len(asked) == 8
        second = runner.run(TASKS)
        assert len(asked) == 12
    assert second[:8] == first
    with (
        TuningStore.create_or_resume(tmp_path / "t.db", PROBLEMS) as store,
        CandidateRunner(store, "error", each, AtOnce(), work=work) as runner,
    ):
        assert runner.run(TASKS) == second
    assert len(asked) == 12


def test_equal_tasks_are_run_once_whatever_they_are_called(store: TuningStore) -> None:
    work, asked = counting()
    same = dataclasses.replace(MIX, name="mine")
    with CandidateRunner(store, "error", each, AtOnce(), work=work) as runner:
        results = runner.run(
            [(MIX, PROBLEMS[0], 1), (same, PROBLEMS[0], 1), (MIX, PROBLEMS[0], np.int64(1))]
        )
        assert results[0] == results[1] == results[2]
        assert len(asked) == 1
        # and whatever else differs is another run
        runner.run([(MIX, PROBLEMS[0], 2), (MIX, PROBLEMS[1], 1), (JADE, PROBLEMS[0], 1)])
        assert len(asked) == 4


def test_another_objective_uses_the_same_runs(store: TuningStore) -> None:
    work, asked = counting()
    costs = {}
    for objective in OBJECTIVES:
        with CandidateRunner(store, objective, each, AtOnce(), work=work) as runner:
            costs[objective] = [r.cost for r in runner.run(TASKS)]
    assert len(asked) == len(TASKS)
    assert costs["error"] != costs["anytime"]


def test_a_budget_depends_on_the_problem(tmp_path: Path) -> None:
    work, asked = counting()
    problems = Suite("two", [BBOB(1, dimension, 16) for dimension in (2, 5)])
    store = TuningStore.create_or_resume(tmp_path / "t.db", problems)
    tasks = [(MIX, problem, 1) for problem in problems]
    with CandidateRunner(
        store, "error", lambda p: 100 * p.dimension, AtOnce(), work=work
    ) as runner:
        runner.run(tasks)
    assert [budget for *_, budget in asked] == [200, 500]
    with CandidateRunner(store, "error", lambda _: 200, AtOnce(), work=work) as runner:
        runner.run(tasks)
    assert len(asked) == 3
    assert sorted(unit.budget for unit in store.cached()) == [200, 200, 500]
    store.close()


def test_what_comes_back_together_is_one_transaction(
    store: TuningStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    record = store.record_runs
    monkeypatch.setattr(store, "record_runs", lambda o: (sizes.append(len(o)), record(o)))
    with CandidateRunner(store, "error", each, AtOnce(), work=cheap) as runner:
        runner.run(TASKS)
    assert sizes == [8, 4]


def test_a_run_is_in_the_store_before_anybody_is_told(store: TuningStore) -> None:
    told: list[int] = []
    with (
        TuningStore.open(store.path) as reader,
        CandidateRunner(
            store, "error", each, AtOnce(), work=cheap,
            on_run=lambda _: told.append(len(reader.cached())),
        ) as runner,
    ):  # fmt: skip
        runner.run(TASKS)
    assert told == [8] * 8 + [12] * 4


# Runs that fail, and workers that die


def test_a_run_that_raises_is_a_failed_run_and_the_rest_goes_on(store: TuningStore) -> None:
    with CandidateRunner(store, "error", each, AtOnce(), work=stubs.raises_on_f3) as runner:
        results = runner.run(TASKS)
    for (_, problem, _), result in zip(TASKS, results, strict=True):
        assert (result.cost == float("inf")) == (problem.function == "f3")
        assert result.reason == (
            "ZeroDivisionError: on purpose" if problem.function == "f3" else ""
        )
    # failed is a result: it is run again only if that is wished
    with CandidateRunner(store, "error", each, AtOnce(), work=cheap) as runner:
        assert runner.run(TASKS) == results
    assert store.forget_failures() == 4
    with CandidateRunner(store, "error", each, AtOnce(), work=cheap) as runner:
        assert [r.cost for r in runner.run(TASKS)][-1] == pytest.approx(3.1701)


def test_a_configuration_that_cannot_run_at_all_is_a_failed_run(store: TuningStore) -> None:
    few = dataclasses.replace(
        MIX, settings=dataclasses.replace(MIX.settings, NP_schedule=None, NP=4)
    )
    with CandidateRunner(store, "error", each, AtOnce()) as runner:
        (result,) = runner.run([(few, PROBLEMS[0], 1)])
    assert result.cost == float("inf")
    assert result.reason.startswith("InvalidParameter: NP")


def test_a_task_that_kills_its_worker_is_recorded_and_the_rest_goes_on(store: TuningStore) -> None:
    with CandidateRunner(store, "error", each, jobs=2, work=stubs.dies_on_f2) as runner:
        results = runner.run([(MIX, problem, 1) for problem in PROBLEMS])
        # the same workers, or their successors, go on
        assert runner.run([(MIX, PROBLEMS[0], 2)])[0].cost == pytest.approx(1.1602)
    # 1 + 16 / 100 + 1 / 10000, and so on
    costs = [1.1601, 1.1701, float("inf"), 2.1701, 3.1601, 3.1701]
    assert [r.cost for r in results] == pytest.approx(costs)
    reasons = ["its worker died every time it was run" in r.reason for r in results]
    assert reasons == [False, False, True, False, False, False]


def test_workers_that_cannot_be_replaced_end_it_with_what_was_finished(store: TuningStore) -> None:
    from concurrent.futures import BrokenExecutor

    class Breaks(AtOnce):
        left = 9

        def submit(self, work, /, *arguments):
            self.left -= 1
            if self.left < 0:
                raise BrokenExecutor("gone")
            return super().submit(work, *arguments)

    with (
        CandidateRunner(store, "error", each, Breaks(), work=cheap) as runner,
        pytest.raises(WorkersLost),
    ):
        runner.run(TASKS * 2 + [(MIX, PROBLEMS[0], seed) for seed in range(20)])
    with CandidateRunner(store, "error", each, AtOnce(), work=cheap) as runner:
        assert len(runner.run(TASKS)) == 12


# The pool


def test_the_pool_starts_with_the_first_run_that_is_needed_and_serves_till_the_end(
    store: TuningStore,
) -> None:
    made: list[ThreadPoolExecutor] = []

    def make() -> ThreadPoolExecutor:
        made.append(ThreadPoolExecutor(2))
        return made[-1]

    with CandidateRunner(store, "error", each, make, work=cheap) as runner:
        assert runner.run([]) == []
        assert made == []
        runner.run(TASKS[:4])
        runner.run(TASKS)
        assert len(made) == 1
    with pytest.raises(RuntimeError, match="after shutdown"):
        made[0].submit(int)
    with CandidateRunner(store, "error", each, make, work=cheap) as runner:
        runner.run(TASKS)
    assert len(made) == 1


def test_worker_processes_start_once(
    store: TuningStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UAOS_TEST_MARK", str(tmp_path / "mark"))
    with CandidateRunner(store, "error", each, jobs=1, work=stubs.tells_its_process) as runner:
        runner.run(TASKS[:1])
        runner.run(TASKS)
    workers = (tmp_path / "mark").read_text().split()
    assert len(workers) == 12
    assert len(set(workers)) == 1


def test_an_unknown_objective_is_refused(store: TuningStore) -> None:
    with raises(UnknownName, name="speed"):
        CandidateRunner(store, "speed", each)


# Stopped or killed


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_evaluation_keeps_what_is_finished_and_continues(
    number: int, store: TuningStore
) -> None:
    ended: list[RunCost] = []

    def stop(result: RunCost) -> None:
        ended.append(result)
        if len(ended) == 3:
            os.kill(os.getpid(), number)

    with ThreadPoolExecutor(1) as executor:
        with CandidateRunner(
            store, "error", each, executor, work=stubs.slowly, on_run=stop
        ) as runner:
            message = r"stopped: all finished runs \(\d+\) are in .*t.db; the same command contin"
            with pytest.raises(Stopped, match=message) as error:
                runner.run(TASKS)
            finished = len(store.cached())
            assert 3 <= finished < len(TASKS)
            assert f"({finished})" in str(error.value)
            with pytest.raises(Stopped):  # it is over, for runs that are cached, too
                runner.run([])
        again: list[RunCost] = []
        with CandidateRunner(store, "error", each, executor, on_run=again.append) as runner:
            runner.run(TASKS)
    assert len(again) == len(TASKS) - finished


def test_a_wish_to_stop_between_evaluations_is_heard_at_the_next(store: TuningStore) -> None:
    work, asked = counting()
    before = signal.getsignal(signal.SIGINT)
    with CandidateRunner(store, "error", each, AtOnce(), work=work) as runner:
        runner.run(TASKS)
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(Stopped):
            runner.run(TASKS)
        with pytest.raises(KeyboardInterrupt):  # whoever insists need not wait for that
            os.kill(os.getpid(), signal.SIGINT)
    assert len(asked) == 12
    assert signal.getsignal(signal.SIGINT) is before


def test_it_works_in_a_thread_where_signals_cannot_be_caught(tmp_path: Path) -> None:
    costs: list[float] = []

    def elsewhere() -> None:
        with (
            TuningStore.create_or_resume(tmp_path / "t.db", PROBLEMS) as store,
            CandidateRunner(store, "error", each, AtOnce(), work=cheap) as runner,
        ):
            costs.extend(r.cost for r in runner.run(TASKS))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert len(costs) == 12


def test_a_store_that_cannot_be_written_any_more_is_a_clear_error(store: TuningStore) -> None:
    store.database.connection.execute("PRAGMA query_only = 1")
    with (
        CandidateRunner(store, "error", each, AtOnce(), work=cheap) as runner,
        pytest.raises(UaosError, match=r"t.db: cannot be written \(attempt to write a readonly"),
    ):
        runner.run(TASKS)


def test_commands_load_no_tuner_and_workers_no_statistics() -> None:
    code = """if True:
        import sys, uaos.cli
        print("uaos.tuning" in sys.modules)
        import uaos.tuning.costs
        print("scipy.stats" in sys.modules)"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == ["False", "False"]


SESSION = """
import sys
import evaluator_stubs as stubs
import uaos
from uaos.tuning.costs import CandidateRunner
from uaos.tuning.store import TuningStore
if __name__ == "__main__":
    tasks = [(uaos.configuration(n), p, 1) for p in stubs.PROBLEMS for n in ("mix", "JADE")]
    with TuningStore.create_or_resume(sys.argv[1], stubs.PROBLEMS) as store:
        work = stubs.takes_a_ticket
        with CandidateRunner(store, "error", stubs.each, jobs=2, work=work) as runner:
            runner.run(tasks)
"""


def runs_of(path: Path) -> dict:
    with TuningStore.open(path) as store:
        found = store.cached()
    return {unit: (o.evaluations, o.error, tuple(o.hits)) for unit, o in found.items()}


def test_a_killed_tuner_loses_only_what_is_in_flight(tmp_path: Path) -> None:
    path, script = tmp_path / "t.db", tmp_path / "session.py"
    script.write_text(SESSION)
    places = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    tickets = tmp_path / "tickets"
    tickets.mkdir()
    for ticket in range(4):
        (tickets / str(ticket)).touch()
    process = subprocess.Popen(
        [sys.executable, str(script), str(path)],
        env=os.environ | {"PYTHONPATH": places, "UAOS_TEST_MARK": str(tickets)},
    )
    while process.poll() is None and not (path.exists() and len(runs_of(path)) >= 3):
        time.sleep(0.02)
    seen = runs_of(path)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    found = runs_of(path)
    assert seen.items() <= found.items()
    assert 3 <= len(found) <= 4
    again: list[RunCost] = []
    with (
        TuningStore.create_or_resume(path, PROBLEMS) as store,
        CandidateRunner(store, "error", each, AtOnce(), on_run=again.append) as runner,
    ):
        results = runner.run(TASKS)
    assert len(again) == len(TASKS) - len(found)
    assert found.items() <= runs_of(path).items()
    # what was run before the kill and after it is what would have been run without
    whole = [OBJECTIVES["error"](run_one(*task, BUDGET)) for task in TASKS]
    assert [r.cost for r in results] == whole
    assert sorted(p.name for p in tmp_path.iterdir()) == ["session.py", "t.db", "tickets"]
