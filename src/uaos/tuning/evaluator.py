"""The evaluator: runs configurations on problems, each run once and for all."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from typing import NamedTuple

from uaos.experiments.pools import WorkerPool, check_pool, pool_for
from uaos.experiments.runner import Coordinator, stop_signals
from uaos.experiments.store import Stopped
from uaos.experiments.unit import Outcome, Unit, failed, run_unit
from uaos.optimizers.configuration import Configuration
from uaos.problems import Problem
from uaos.tuning.objective import objective as objective_called
from uaos.tuning.store import TuningStore

#: A configuration to run on a problem with a seed.
CandidateRun = tuple[Configuration, Problem, int]

#: Runs a configuration on a problem, with a seed and a budget in evaluations.
Work = Callable[[Configuration, Problem, int, int], Outcome]

# As many processes as the user wants: how many runs there will be is not known.
_MANY = 1024


class RunCost(NamedTuple):
    """What a task cost, infinite with the `reason` for a run that failed."""

    cost: float
    reason: str


def run_one(configuration: Configuration, problem: Problem, seed: int, budget: int) -> Outcome:
    """Run a configuration on a problem; an exception is a failed run."""
    unit = Unit(configuration.name, problem.name, 1, seed, budget)
    return run_unit(unit, problem, configuration).outcome


class CostEvaluator:
    """Gives the costs of tasks, running on a pool what the store does not have.

        with TuningStore.create_or_resume("tuning.db", suite) as store:
            with CostEvaluator(store, "error", lambda problem: 20_000, jobs=2) as evaluator:
                results = evaluator.evaluate(tasks)

    The pool starts with the first run that is needed and serves until the end: `jobs` processes of
    this machine (default: one for each processor), the Dask cluster at the address `dask`, or
    `executor`, as in :func:`uaos.experiments.run`. `on_run` is told of every run that ends. Ctrl-C,
    whenever it comes, stops the evaluation (:class:`~uaos.experiments.Stopped`).
    """

    def __init__(
        self,
        store: TuningStore,
        objective: str,
        budget: Callable[[Problem], int],
        executor: Executor | Callable[[], Executor] | None = None,
        *,
        jobs: int | None = None,
        dask: str | None = None,
        work: Work = run_one,
        on_run: Callable[[RunCost], None] = lambda _: None,
    ) -> None:
        self._cost = objective_called(objective)
        check_pool(executor, jobs)
        self._store, self._budget, self._work, self._on_run = store, budget, work, on_run
        self._where = executor, jobs, dask
        self._pool: WorkerPool | None = None
        self._stopping, self._signals = threading.Event(), ExitStack()
        self._known = {unit: self._result(o) for unit, o in store.cached().items()}

    def __enter__(self) -> "CostEvaluator":
        self._stopping = self._signals.enter_context(stop_signals())
        return self

    def __exit__(self, *_: object) -> None:
        self._signals.close()
        self._end_pool(finished=True)

    def evaluate(self, tasks: Sequence[CandidateRun]) -> list[RunCost]:
        """The results of the tasks, in their order; what the store has is not run again."""
        units = [
            Unit(self._store.key(configuration), problem.name, 1, seed, self._budget(problem))
            for configuration, problem, seed in tasks
        ]
        missing = {u: t for u, t in zip(units, tasks, strict=True) if u not in self._known}
        if missing or self._stopping.is_set():
            self._run(missing)
        return [self._known[unit] for unit in units]

    def _run(self, missing: dict[Unit, CandidateRun]) -> None:
        """Run units, writing each as it ends."""
        finished = False
        try:
            if not self._stopping.is_set():
                self._pool = self._pool or pool_for(*self._where, _MANY)
                coordinator: Coordinator[Unit, Outcome] = Coordinator(
                    missing, self._pool, work=self._work, on_results=self._write,
                    failed=lambda unit, reason: failed(unit, missing[unit][1], reason).outcome,
                    arguments=lambda unit: (*missing[unit], unit.budget),
                )  # fmt: skip
                try:
                    finished = coordinator.run(self._stopping)
                finally:
                    coordinator.drop()
        finally:
            if not finished:
                self._end_pool(finished=False)
        if not finished:
            raise Stopped(f"all finished runs ({len(self._known)})", self._store.path)

    def _write(self, ended: list[tuple[Unit, Outcome]]) -> None:
        outcomes = [outcome._replace(**unit._asdict()) for unit, outcome in ended]
        self._store.record_runs(outcomes)
        for (unit, _), outcome in zip(ended, outcomes, strict=True):
            self._known[unit] = self._result(outcome)
            self._on_run(self._known[unit])

    def _result(self, outcome: Outcome) -> RunCost:
        return RunCost(self._cost(outcome), outcome.reason)

    def _end_pool(self, *, finished: bool) -> None:
        if self._pool is not None:
            pool, self._pool = self._pool, None
            pool.close(finished=finished)
