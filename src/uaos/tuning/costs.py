"""The costs of candidates: objectives, and the runner that makes each run only once."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from typing import NamedTuple

import numpy as np

from uaos.errors import UnknownName
from uaos.experiments.executors import WorkerPool, pool_for
from uaos.experiments.recorder import ECDF_TARGETS, FINAL, TARGETS
from uaos.experiments.runner import Coordinator, stop_signals
from uaos.experiments.store import Stopped
from uaos.experiments.unit import Outcome, Unit, failed, run_unit
from uaos.optimizers.configuration import Configuration
from uaos.problems import Problem
from uaos.tuning.store import TuningStore

#: The cost of a run; less is better.
Objective = Callable[[Outcome], float]

_EASIEST = len(TARGETS) - len(ECDF_TARGETS)


def error_cost(outcome: Outcome) -> float:
    """Return how far from the optimum the run ended: max(f_best - f_opt, 10⁻⁸).

    Where the optimum is not known, return the best value. A run ends within 10⁻⁸ of the
    optimum, the final target. How far below it ends says nothing about the method, so all runs that
    solve their problem cost the same.
    """
    if outcome.status != "done" or not outcome.best < np.inf:
        return float("inf")
    if np.isnan(outcome.error):
        return outcome.best
    return max(outcome.error, FINAL)


def evaluations_cost(outcome: Outcome) -> float:
    """Return how long the run took: log10 of the evaluations to within 10⁻⁸ of the optimum.

    An unsolved run counts with its budget, plus a hundredth for each decade that its error is above
    10⁻⁸ (at most 20), to distinguish unsolved runs. Where the optimum is not known, the cost is the
    best value.
    """
    if outcome.status != "done" or not outcome.best < np.inf:
        return float("inf")
    if np.isnan(outcome.error):
        return outcome.best
    if outcome.solved:
        return float(np.log10(outcome.hits[-1]))
    decades = np.log10(outcome.error / FINAL) if outcome.error > FINAL else 0.0
    return float(np.log10(outcome.budget) + 0.01 * min(decades, 20.0))


def anytime_cost(outcome: Outcome) -> float:
    """Return how much of the run was spent far from the optimum: 1 - A.

        A = 1/L ∫₀ᴸ ECDF(10ᵘ) du,  L = log10(budget / D)

    ECDF(t) is the share of the 51 targets 10², 10¹·⁸, …, 10⁻⁸ that the run reached within t·D
    evaluations. 0 if all are reached at once, 1 if none is reached within the budget. Where the
    optimum is not known there are no targets, and the cost is the best value.
    """
    if outcome.status != "done":
        return float("inf")
    if np.isnan(outcome.error):
        return outcome.best
    end = np.log10(outcome.budget / outcome.dimension)
    if not end > 0:
        return 1.0
    hits = outcome.hits[_EASIEST:]
    times = np.maximum(hits[hits > 0] / outcome.dimension, 1.0)
    left = np.clip(end - np.log10(times), 0.0, None)
    return float(1.0 - left.sum() / (len(ECDF_TARGETS) * end))


OBJECTIVES: dict[str, Objective] = {
    "error": error_cost, "evaluations": evaluations_cost, "anytime": anytime_cost,
}  # fmt: skip


def objective_called(name: str) -> Objective:
    """Return the objective of this name."""
    if name not in OBJECTIVES:
        raise UnknownName("objective", name, OBJECTIVES)
    return OBJECTIVES[name]


#: A configuration to run on a problem with a seed.
CandidateRun = tuple[Configuration, Problem, int]

#: Runs a configuration on a problem, with a seed and a budget in evaluations.
Work = Callable[[Configuration, Problem, int, int], Outcome]

# The number of runs is not known beforehand, so it must not limit the processes.
_MANY = 1024


class RunCost(NamedTuple):
    """The cost of a run; infinite for a run that failed, with the `reason`."""

    cost: float
    reason: str


def run_one(configuration: Configuration, problem: Problem, seed: int, budget: int) -> Outcome:
    """Run a configuration on a problem; an exception counts as a failed run."""
    unit = Unit(configuration.name, problem.name, 1, seed, budget)
    return run_unit(unit, problem, configuration).outcome


class CandidateRunner:
    """Runs candidates on a pool, unless the store has the run already, and returns their costs.

        with TuningStore.create_or_resume("tuning.db", suite) as store:
            with CandidateRunner(store, "error", lambda problem: 20_000, jobs=2) as runner:
                costs = runner.run(runs)

    The pool starts with the first run that is needed and stays open until the end: `jobs` processes
    on this machine (default: one for each processor), the Dask cluster at the address `dask`, or
    `executor`, as in :func:`uaos.experiments.run`. `on_run` is called with the cost
    of every run that ends. Ctrl-C stops the runs at any time (:class:`~uaos.experiments.Stopped`).
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
        self._store, self._budget, self._work, self._on_run = store, budget, work, on_run
        self._pool_options = executor, jobs, dask
        self._pool: WorkerPool | None = None
        self._stopping, self._signals = threading.Event(), ExitStack()
        self._costs = {unit: self._result(o) for unit, o in store.cached().items()}

    def __enter__(self) -> "CandidateRunner":
        self._stopping = self._signals.enter_context(stop_signals())
        return self

    def __exit__(self, *_: object) -> None:
        self._signals.close()
        self._end_pool(finished=True)

    def run(self, runs: Sequence[CandidateRun]) -> list[RunCost]:
        """Return the costs of runs, in order; a run that the store has is not repeated."""
        units = [
            Unit(self._store.key(configuration), problem.name, 1, seed, self._budget(problem))
            for configuration, problem, seed in runs
        ]
        missing = {u: r for u, r in zip(units, runs, strict=True) if u not in self._costs}
        if missing or self._stopping.is_set():
            self._run_missing(missing)
        return [self._costs[unit] for unit in units]

    def _run_missing(self, missing: dict[Unit, CandidateRun]) -> None:
        """Run units, and write each as it ends."""
        finished = False
        try:
            if not self._stopping.is_set():
                self._pool = self._pool or pool_for(*self._pool_options, _MANY)
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
            raise Stopped(f"all finished runs ({len(self._costs)})", self._store.path)

    def _write(self, ended: list[tuple[Unit, Outcome]]) -> None:
        outcomes = [outcome._replace(**unit._asdict()) for unit, outcome in ended]
        self._store.record_runs(outcomes)
        for (unit, _), outcome in zip(ended, outcomes, strict=True):
            self._costs[unit] = self._result(outcome)
            self._on_run(self._costs[unit])

    def _result(self, outcome: Outcome) -> RunCost:
        return RunCost(self._cost(outcome), outcome.reason)

    def _end_pool(self, *, finished: bool) -> None:
        if self._pool is not None:
            pool, self._pool = self._pool, None
            pool.close(finished=finished)
