"""The evaluator: runs configurations on problems, each run once and for all."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from operator import index
from typing import NamedTuple

from uaos.errors import InvalidParameter
from uaos.experiments.coordinator import Coordinator, Stopped, stop_signals
from uaos.experiments.pools import Pool, check_pool, pool_for
from uaos.experiments.records import Outcome, Unit, failed
from uaos.experiments.units import run_unit
from uaos.optimizers.configuration import Configuration
from uaos.problems import Problem
from uaos.tuning.objective import objective as objective_called
from uaos.tuning.store import TuningStore

#: A configuration to run on a problem with a seed.
Task = tuple[Configuration, Problem, int]

#: Runs a configuration on a problem, with a seed and a budget in evaluations.
Work = Callable[[Configuration, Problem, int, int], Outcome]

# SQLite's integers have 64 bits.
_LAST_SEED = 2**63 - 1

# As many processes as the user wants: how many runs there will be is not known.
_MANY = 1024


class Result(NamedTuple):
    """What a task cost, infinite with the `reason` for a run that failed.

    `cached` is whether the store had the run already, `seconds` how long the run took then or now:
    a race that is to be repeatable must not depend on either.
    """

    cost: float
    reason: str
    cached: bool
    seconds: float


def run_one(configuration: Configuration, problem: Problem, seed: int, budget: int) -> Outcome:
    """Run a configuration on a problem; an exception is a failed run."""
    unit = Unit(configuration.name, problem.name, 1, seed, budget)
    return run_unit(unit, problem, configuration).outcome


class Evaluator:
    """Gives the costs of tasks, running on a pool what the store does not have.

        with TuningStore.create_or_resume("tuning.db", suite) as store:
            with Evaluator(store, "error", 20_000, jobs=2) as evaluator:
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
        budget: int | Callable[[Problem], int],
        executor: Executor | Callable[[], Executor] | None = None,
        *,
        jobs: int | None = None,
        dask: str | None = None,
        work: Work = run_one,
        on_run: Callable[[Result], None] | None = None,
    ) -> None:
        self._cost = objective_called(objective)
        check_pool(executor, jobs)
        self._store, self._budget = store, budget
        self._executor, self._jobs, self._dask = executor, jobs, dask
        self._work, self._on_run = work, on_run
        self._pool: Pool | None = None
        self._stopping, self._signals = threading.Event(), ExitStack()
        cached = store.cached().items()
        self._known = {unit: self._result(outcome, True) for unit, outcome in cached}
        #: How many runs this evaluator has made.
        self.runs = 0

    def __enter__(self) -> "Evaluator":
        self._stopping = self._signals.enter_context(stop_signals())
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the pool."""
        self._signals.close()
        self._end_pool(finished=True)

    def evaluate(self, tasks: Sequence[Task]) -> list[Result]:
        """The results of the tasks, in their order; what the store has is not run again."""
        units = [self._unit(*task) for task in tasks]
        missing: dict[Unit, Task] = {}
        for unit, task in zip(units, tasks, strict=True):
            if unit not in self._known:
                missing.setdefault(unit, task)
        if missing or self._stopping.is_set():
            self._run(missing)
        results = [self._known[unit] for unit in units]
        for unit in missing:
            self._known[unit] = self._known[unit]._replace(cached=True)
        return results

    def _unit(self, configuration: Configuration, problem: Problem, seed: int) -> Unit:
        if not 0 <= seed <= _LAST_SEED:
            raise InvalidParameter("seed", seed, "an integer 0 to 2^63 - 1")
        key = self._store.key(configuration)
        budget = self._budget(problem) if callable(self._budget) else self._budget
        return Unit(key, problem.name, 1, index(seed), index(budget))

    def _run(self, missing: dict[Unit, Task]) -> None:
        """Run units, writing each as it ends."""
        finished = False
        try:
            if not self._stopping.is_set():
                if self._pool is None:
                    self._pool = pool_for(self._executor, self._jobs, self._dask, _MANY)
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
            result = self._known[unit] = self._result(outcome, False)
            self.runs += 1
            if self._on_run is not None:
                self._on_run(result)

    def _result(self, outcome: Outcome, cached: bool) -> Result:
        return Result(self._cost(outcome), outcome.reason, cached, outcome.seconds)

    def _end_pool(self, *, finished: bool) -> None:
        if self._pool is not None:
            pool, self._pool = self._pool, None
            pool.close(finished=finished)
