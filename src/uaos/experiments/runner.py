"""Running a plan: the coordinator hands units to workers and writes what comes back."""

import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from contextlib import contextmanager
from os import PathLike
from typing import Any, NamedTuple

from uaos.errors import UaosError
from uaos.experiments.plan import Plan
from uaos.experiments.pools import Pool, check_pool, pool_for
from uaos.experiments.records import Finished, Unit, failed
from uaos.experiments.store import Store, Tally
from uaos.experiments.units import Competitor, run_unit

#: How often a unit is run again whose worker died.
RERUNS = 3

# Seconds after which the coordinator looks up, to notice a wish to stop.
_LOOK_UP = 0.2


class Progress(NamedTuple):
    """How far an experiment is, in units of its plan; `new` are those of this session."""

    total: int
    over: int
    new: int
    failed: int


class Stopped(UaosError):
    """The experiment was stopped; what was finished is in the store."""

    def __init__(self, progress: Progress, path: object) -> None:
        self.progress = progress
        super().__init__(
            f"stopped: {progress.over} of {progress.total} runs are in {path}; the same command "
            "continues"
        )


def run(
    plan: Plan,
    path: str | PathLike[str],
    executor: Executor | Callable[[], Executor] | None = None,
    *,
    jobs: int | None = None,
    dask: str | None = None,
    retry_failed: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
    work: Callable[[Unit, Competitor], Finished] = run_unit,
) -> dict[str, Tally]:
    """Run what the store at `path` does not have yet of the plan; how far each method is then.

    Units run in `jobs` processes of this machine (default: one for each processor), on the Dask
    cluster at the address `dask`, or on `executor`; a function that makes executors lets the
    experiment go on when one breaks. Ctrl-C stops it cleanly (:class:`Stopped`).
    """
    plan.check()
    check_pool(executor, jobs)
    with Store.create_or_resume(path, plan) as store:
        if retry_failed:
            store.forget_failures()
        missing = store.missing(plan)
        if missing:
            pool = pool_for(executor, jobs, dask, len(missing))
            coordinator = _Coordinator(store, plan, missing, pool, on_progress, work)
            finished = False
            try:
                with _stop_signals() as stopping:
                    finished = coordinator.run(stopping)
            finally:
                coordinator.drop()
                pool.close(finished=finished)
            if not finished:
                raise Stopped(coordinator.progress, store.path)
        return store.tallies()


class _Coordinator:
    """Keeps the workers busy, and isolates a unit that brings them down."""

    def __init__(
        self, store: Store, plan: Plan, missing: Sequence[Unit], pool: Pool,
        on_progress: Callable[[Progress], None] | None, work: Callable[..., Finished],
    ) -> None:  # fmt: skip
        self._store, self._pool, self._work = store, pool, work
        self._competitors = plan.competitors
        self._on_progress = on_progress
        self._waiting = deque(missing)
        self._suspects: deque[Unit] = deque()
        self._lost: dict[Unit, int] = {}
        self._running: dict[Future[Finished], Unit] = {}
        self._alone = False
        self.progress = Progress(len(plan), len(plan) - len(missing), 0, 0)

    def run(self, stopping: threading.Event) -> bool:
        """Run everything that is missing; False if it was stopped before."""
        self._report()
        self._fill()
        while self._running:
            if stopping.is_set():
                return False
            done, _ = wait(self._running, timeout=_LOOK_UP, return_when=FIRST_COMPLETED)
            if not done:
                continue
            units = [(self._running.pop(future), future) for future in done]
            results = [self._result(unit, future) for unit, future in units]
            if not stopping.is_set():
                self._fill()  # before the results are written, so that no worker waits for that
            self._write([result for result in results if result is not None])
        # A wish to stop may come just as the last units under way end.
        return not (self._waiting or self._suspects)

    def drop(self) -> None:
        """Take back what has not begun."""
        for future in self._running:
            future.cancel()

    def _fill(self) -> None:
        """Submit as much as the pool's window takes; a suspect only by itself."""
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
            future = self._pool.submit(self._work, unit, self._competitors[unit.method])
            self._running[future] = unit

    def _result(self, unit: Unit, future: "Future[Finished]") -> Finished | None:
        """What a unit gave; None if it will be run again."""
        try:
            return future.result()
        except (Exception, CancelledError) as error:
            losses = self._pool.losses(error)
            if not losses:
                return failed(unit, f"{type(error).__name__}: {error}")
            by_itself = self._pool.isolating or self._alone
            # In company another unit may be the culprit: that counts once, whatever it stood for.
            self._lost[unit] = self._lost.get(unit, 0) + (losses if by_itself else 1)
            self._pool.repair()
            if by_itself and self._lost[unit] > RERUNS:
                return failed(unit, f"its worker died every time it was run ({error})")
            self._suspects.append(unit)
            return None

    def _write(self, results: list[Finished]) -> None:
        if results:
            self._store.record(results)
            bad = sum(result.outcome.status == "failed" for result in results)
            total, over, new, failures = self.progress
            more = len(results)
            self.progress = Progress(total, over + more, new + more, failures + bad)
            self._report()

    def _report(self) -> None:
        if self._on_progress is not None:
            self._on_progress(self.progress)


@contextmanager
def _stop_signals() -> Iterator[threading.Event]:
    """An event that Ctrl-C or a polite kill sets; the second Ctrl-C is an ordinary one."""
    stopping = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stopping
        return

    def stop(number: int, _: Any) -> None:
        if stopping.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        stopping.set()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
