"""Run a plan: the coordinator keeps workers busy and writes their results."""

import signal
import threading
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import contextmanager
from os import PathLike
from typing import Generic, NamedTuple, TypeVar

from uaos.errors import UaosError, in_one_line
from uaos.experiments.executors import (
    NEVER_BEGUN,
    WorkerPool,
    WorkersLost,
    check_picklable,
    check_pool,
    pool_for,
)
from uaos.experiments.plan import Plan
from uaos.experiments.reader import Tally
from uaos.experiments.store import Stopped, Store
from uaos.experiments.unit import Finished, Unit, failed, run_unit
from uaos.interrupts import ENDING
from uaos.optimizers.configuration import Configuration
from uaos.problems import Problem

#: How often a unit is repeated if its worker died.
RERUNS = 3

# Seconds after which the coordinator polls for stop requests.
_POLL = 0.2

U = TypeVar("U", bound=Hashable)
R = TypeVar("R")


class Progress(NamedTuple):
    """Progress of an experiment. Passed to :func:`run`'s `on_progress`.

    Attributes
    ----------
    total, over : int
        Runs of the plan, and those that are done or failed.
    new : int
        Runs of this session.
    failed : int
        Runs that failed.
    damaged : int
        Runs that were damaged in the store and are made again.
    """

    total: int
    over: int
    new: int
    failed: int
    damaged: int = 0


def run(
    plan: Plan,
    path: str | PathLike[str],
    executor: Executor | Callable[[], Executor] | None = None,
    *,
    jobs: int | None = None,
    dask: str | None = None,
    retry_failed: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
    work: Callable[[Unit, Problem, Configuration], Finished] = run_unit,
) -> dict[str, Tally]:
    """Run an experiment: the units of the plan that the store does not have yet.

    Ctrl-C stops it cleanly; the same call continues it.

    Parameters
    ----------
    plan : Plan
        What to run.
    path : str or path
        The store.
    executor : Executor or callable, optional
        Where to run it, instead of on `jobs` or `dask`. A function that makes executors lets the
        experiment go on when one breaks.
    jobs : int, optional
        Number of processes on this machine; by default one per processor.
    dask : str, optional
        The address of a Dask cluster.
    retry_failed : bool
        Whether to repeat runs that failed.
    on_progress : callable, optional
        Called with a :class:`Progress` from time to time.
    work : callable
        Makes one run; :func:`run_unit` by default.

    Returns
    -------
    dict of str to Tally
        How many runs of each method are planned, done, failed and solved.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from uaos.experiments import Plan, run
    >>> from uaos.problems import suite
    >>> problems = suite("bbob", dimension=2, functions="1", instances="1-2")
    >>> plan = Plan.of(["JADE"], problems, budget=50)
    >>> run(plan, "small.db", ThreadPoolExecutor(1))["JADE"]
    Tally(total=2, done=2, failed=0, solved=0)
    """
    plan.check()
    check_pool(executor, jobs)
    if executor is None:
        check_picklable(plan.suite, plan.competitors)
    # Signals are handled before processes are started: an exception then might leave them behind.
    with Store.create_or_resume(path, plan) as store, stop_signals() as stopping:
        if retry_failed:
            store.forget_failures()

        def run_missing() -> None:
            if missing := store.missing(plan):
                pool = pool_for(executor, jobs, dask, len(missing))
                report = on_progress or (lambda progress: None)
                _run(missing, plan, store, pool, work, report, stopping)

        run_missing()
        # Last, as it takes long if there are very many runs.
        if store.remove_damaged("traces", "courses"):
            run_missing()
        return store.tallies()


def _run(
    units: list[Unit], plan: Plan, store: Store, pool: WorkerPool, work: Callable[..., Finished],
    report: Callable[[Progress], None], stopping: threading.Event,
) -> None:  # fmt: skip
    progress = Progress(len(plan), len(plan) - len(units), 0, 0, store.removed)

    def write(results: Sequence[tuple[Unit, Finished]]) -> None:
        nonlocal progress
        store.record([result for _, result in results])
        bad, more = sum(r.outcome.status == "failed" for _, r in results), len(results)
        total, over, new, failures, damaged = progress
        progress = Progress(total, over + more, new + more, failures + bad, damaged)
        report(progress)

    coordinator = Coordinator(
        units, pool, work=work, on_results=write,
        failed=lambda unit, reason: failed(unit, plan.suite[unit.problem], reason),
        arguments=lambda unit: (unit, plan.suite[unit.problem], plan.competitors[unit.method]),
    )  # fmt: skip
    finished = False
    try:
        report(progress)
        finished = coordinator.run(stopping)
    finally:
        coordinator.drop()
        pool.close(finished=finished)
    if not finished:
        raise Stopped(f"{progress.over} of {progress.total} runs", store.path, progress)


class _Raised(NamedTuple):
    """Result of a unit whose work raised an exception."""

    reason: str


def _attempt(work: Callable[..., R], *arguments: object) -> R | _Raised:
    """Return what the work returns, or what it raises.

    Only these are errors of the unit. Any other exception of a future comes from the pool, and the
    unit is run again.
    """
    try:
        return work(*arguments)
    except (Exception, SystemExit) as error:
        return _Raised(f"{type(error).__name__}: {error}")


class Coordinator(Generic[U, R]):
    """Runs units on a pool.

    A unit is run by `work(*arguments(unit))`. `on_results` receives the results that arrive
    together; for a unit without a result, that of `failed(unit, reason)`. A unit has none if its
    work raises an exception or kills its worker every time it is run; any other loss is the pool's.
    """

    def __init__(
        self,
        units: Iterable[U],
        pool: WorkerPool,
        *,
        work: Callable[..., R],
        arguments: Callable[[U], tuple[object, ...]],
        failed: Callable[[U, str], R],
        on_results: Callable[[list[tuple[U, R]]], None],
    ) -> None:
        self._pool, self._work = pool, work
        self._arguments, self._failed, self._on_results = arguments, failed, on_results
        self._waiting = deque(units)
        self._suspects: deque[U] = deque()  # units whose worker died
        self._deaths: Counter[U] = Counter()  # deaths of their workers
        self._dropped: Counter[U] = Counter()  # other losses of units by the pool
        self._running: dict[Future[R | _Raised], U] = {}
        self._alone = False  # whether a suspect is the only running unit

    def run(self, stopping: threading.Event) -> bool:
        """Run all units; return False if stopped before the last."""
        self._fill()
        while self._running:
            if stopping.is_set():
                return False
            done, _ = wait(self._running, timeout=_POLL, return_when=FIRST_COMPLETED)
            if not done:
                self._pool.check()
                continue
            ended: list[tuple[U, R]] = []
            try:
                for future in [future for future in self._running if future in done]:
                    ended += self._results(self._running.pop(future), future)
                if not stopping.is_set():
                    self._fill()  # before the results are written, so that no worker waits
            finally:
                if ended:
                    self._on_results(ended)
        # A stop request may arrive just as the last running units end.
        return not (self._waiting or self._suspects)

    def drop(self) -> None:
        """Cancel units that have not begun."""
        for future in self._running:
            future.cancel()

    def _fill(self) -> None:
        """Submit as many units as the pool takes; a suspect runs alone."""
        while len(self._running) < self._pool.window:
            if self._suspects and self._pool.isolating:
                unit = self._suspects.popleft()
            elif self._suspects:
                if self._running:
                    return
                unit, self._alone = self._suspects.popleft(), True
            elif self._waiting and not (self._alone and self._running):
                unit, self._alone = self._waiting.popleft(), False
            else:
                return
            self._running[self._submit(unit)] = unit

    def _submit(self, unit: U) -> "Future[R | _Raised]":
        try:
            return self._pool.submit(_attempt, self._work, *self._arguments(unit))
        except UaosError:
            raise
        except Exception as error:  # an executor that was shut down, or cannot send the unit
            raise _gave_up(unit, error) from error

    def _results(self, unit: U, future: "Future[R | _Raised]") -> list[tuple[U, R]]:
        """Return the unit with its result; nothing if the unit will be run again."""
        try:
            result = future.result()
        except WorkersLost:
            raise
        except Exception as error:
            return self._after_loss(unit, future, error)
        if isinstance(result, _Raised):
            result = self._failed(unit, result.reason)
        return [(unit, result)]

    def _after_loss(
        self, unit: U, future: "Future[R | _Raised]", error: Exception
    ) -> list[tuple[U, R]]:
        """Queue a unit again that the pool lost; return it as failed if it kills its workers."""
        deaths = self._pool.deaths(future, error)
        self._pool.repair()
        if deaths == NEVER_BEGUN:
            self._waiting.appendleft(unit)
            return []
        if not deaths:
            self._dropped[unit] += 1
            if self._dropped[unit] > RERUNS:
                raise _gave_up(unit, error) from error
            self._waiting.appendleft(unit)
            return []
        by_itself = self._pool.isolating or self._alone
        # Otherwise another unit may have killed the worker: count one death.
        self._deaths[unit] += deaths if by_itself else 1
        if by_itself and self._deaths[unit] > RERUNS:
            reason = f"its worker died every time it was run ({error})"
            return [(unit, self._failed(unit, reason))]
        self._suspects.append(unit)
        return []


def _gave_up(unit: object, error: Exception) -> WorkersLost:
    return WorkersLost(
        f"the workers cannot run {unit} ({in_one_line(error)}). What was finished is in "
        "the store; repair or replace the workers, then run the same command again"
    )


@contextmanager
def stop_signals() -> Iterator[threading.Event]:
    """Yield an event that Ctrl-C and signals to end set; a second Ctrl-C interrupts at once."""
    stopping = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stopping
        return

    def stop(number: int, _: object) -> None:
        if stopping.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        stopping.set()

    handled = [n for n in (signal.SIGINT, *ENDING) if signal.getsignal(n) != signal.SIG_IGN]
    before = {number: signal.signal(number, stop) for number in handled}
    try:
        yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
