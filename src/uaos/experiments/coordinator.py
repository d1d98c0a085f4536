"""The coordinator: keeps workers busy with units, and isolates a unit that brings them down."""

import signal
import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import contextmanager
from typing import Any, Generic, NamedTuple, TypeVar

from uaos.errors import UaosError
from uaos.experiments.pools import NEVER_BEGUN, Pool

#: How often a unit is run again whose worker died.
RERUNS = 3

# Seconds after which the coordinator looks up, to notice a wish to stop.
_LOOK_UP = 0.2

U = TypeVar("U", bound=Hashable)
R = TypeVar("R")


class Progress(NamedTuple):
    """How far an experiment is, in units of its plan; `new` are those of this session.

    `damaged` counts runs that were in the store, and are made again as they were damaged.
    """

    total: int
    over: int
    new: int
    failed: int
    damaged: int = 0


class Stopped(UaosError):
    """The work was stopped; what was finished is in the store."""

    def __init__(self, finished: str, path: object, progress: Progress | None = None) -> None:
        self.progress = progress
        super().__init__(f"stopped: {finished} are in {path}; the same command continues")


class Coordinator(Generic[U, R]):
    """Runs units on a pool.

    A unit is run by `work(*arguments(unit))`. `on_results` gets what came back together; for a
    unit of which nothing came back, what `failed` makes of it and the reason.
    """

    def __init__(
        self,
        units: Iterable[U],
        pool: Pool,
        *,
        work: Callable[..., R],
        arguments: Callable[[U], tuple[Any, ...]],
        failed: Callable[[U, str], R],
        on_results: Callable[[list[tuple[U, R]]], None],
    ) -> None:
        self._pool, self._work = pool, work
        self._arguments, self._failed, self._on_results = arguments, failed, on_results
        self._waiting = deque(units)
        self._suspects: deque[U] = deque()
        self._lost: dict[U, int] = {}
        self._running: dict[Future[R], U] = {}
        self._alone = False

    def run(self, stopping: threading.Event) -> bool:
        """Run all units; False if it was stopped before."""
        self._fill()
        while self._running:
            if stopping.is_set():
                return False
            done, _ = wait(self._running, timeout=_LOOK_UP, return_when=FIRST_COMPLETED)
            if not done:
                continue
            ordered = [future for future in self._running if future in done]
            units = [(self._running.pop(future), future) for future in ordered]
            results = [self._result(unit, future) for unit, future in units]
            if not stopping.is_set():
                self._fill()  # before the results are written, so that no worker waits for that
            if ended := [result for result in results if result is not None]:
                self._on_results(ended)
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
            future = self._pool.submit(self._work, *self._arguments(unit))
            self._running[future] = unit

    def _result(self, unit: U, future: "Future[R]") -> tuple[U, R] | None:
        """What a unit gave; None if it will be run again."""
        try:
            return unit, future.result()
        except (Exception, CancelledError) as error:
            losses = self._pool.losses(future, error)
            if not losses:
                return unit, self._failed(unit, f"{type(error).__name__}: {error}")
            if losses == NEVER_BEGUN:
                self._pool.repair()
                self._waiting.appendleft(unit)
                return None
            by_itself = self._pool.isolating or self._alone
            # In company another unit may be the culprit: that counts once, whatever it stood for.
            self._lost[unit] = self._lost.get(unit, 0) + (losses if by_itself else 1)
            self._pool.repair()
            if by_itself and self._lost[unit] > RERUNS:
                reason = f"its worker died every time it was run ({error})"
                return unit, self._failed(unit, reason)
            self._suspects.append(unit)
            return None


@contextmanager
def stop_signals() -> Iterator[threading.Event]:
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
