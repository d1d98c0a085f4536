"""Worker processes that evaluate an objective.

Where the operating system can fork, and no thread runs that a fork would break, workers are forked:
they start at once, a script needs no guard, and the objective may be a lambda. Elsewhere
they are spawned, and the objective must be importable. An objective that is defined in a notebook
or an interactive session can only be forked. The death of a worker costs the evaluation that killed
it, not the run.
"""

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from typing import Any, cast

import numpy as np

from uaos.arrays import FloatArray, detached
from uaos.errors import InvalidParameter, UaosError, shortened

# Consecutive deaths of workers before any evaluation, per worker.
_MOST_FALSE_STARTS = 3

# Our ends of the pipes to all workers, of every pool.
_open_ends: set[Connection] = set()


class ProcessPool:
    """Up to `most` processes that evaluate `fun`, an objective of one point."""

    def __init__(self, fun: Callable[[FloatArray], object], most: int) -> None:
        if multiprocessing.current_process().daemon:
            raise InvalidParameter(
                f"workers is {most}; expected 1 inside a worker process, such as that of a "
                "multiprocessing.Pool, which may not start processes of its own",
                name="workers", value=most,
            )  # fmt: skip
        self._fun = fun
        self._most = most
        self._context: Any = multiprocessing.get_context(_start_method(fun))
        self._workers: dict[Connection, Any] = {}
        self._points: dict[Connection, int] = {}  # the numbers of points under way
        self._false_starts = 0
        self._warned = False
        self.failed_row: int | None = None  # or number of the point where `fun` raised an exception

    def _start(self) -> None:
        ours, theirs = self._context.Pipe()
        _open_ends.add(ours)
        # A forked process inherits our ends of all pipes, including those of other pools; while it
        # keeps them open, other workers would not notice that this process is gone.
        inherited = list(_open_ends) if self._context.get_start_method() == "fork" else []
        with ctrl_c_held_back(), warnings.catch_warnings():
            # Python warns about forking beside threads; `_start_method` does so only if it must.
            warnings.simplefilter("ignore", DeprecationWarning)
            process = self._context.Process(
                target=_serve, args=(theirs, inherited, self._fun), daemon=True
            )
            process.start()
        theirs.close()
        self._workers[ours] = process

    def evaluate(self, X: FloatArray, parts: Sequence[range], ready: dict[int, object]) -> None:
        """Evaluate the rows of X, in the given parts, and put their values into `ready`."""
        while len(self._workers) < min(self._most, len(parts)):
            self._start()
        waiting = list(reversed(parts))
        busy: dict[Connection, range] = {}
        while waiting or busy:
            idle = [connection for connection in self._workers if connection not in busy]
            while waiting and idle:
                connection = idle.pop()
                part = waiting.pop()
                busy[connection] = part
                # One that has died is noticed below.
                with suppress(BrokenPipeError, ConnectionResetError):
                    connection.send(X[part.start : part.stop])
            for answering in wait(list(busy)):
                connection = cast(Connection, answering)
                part = busy.pop(connection)
                try:
                    succeeded, answer = connection.recv()
                except (EOFError, ConnectionResetError):
                    waiting += self._replace(connection, part, ready)
                    continue
                self._false_starts = 0
                if not succeeded:
                    row, error = answer
                    self.failed_row = None if row is None else part.start + row
                    raise error
                ready.update(zip(part, answer, strict=True))

    @property
    def busy(self) -> bool:
        """True if points of :meth:`submit` are being evaluated."""
        return bool(self._points)

    def submit(self, number: int, point: FloatArray) -> None:
        """Begin the evaluation of one point; there must be fewer than `most` under way."""
        idle = [connection for connection in self._workers if connection not in self._points]
        if not idle:
            self._start()
            idle = list(self._workers)[-1:]
        self._points[idle[0]] = number
        with suppress(BrokenPipeError, ConnectionResetError):  # noticed by `collect`
            idle[0].send(point[None])

    def collect(self) -> list[tuple[int, object]]:
        """Wait for evaluations to end; return the numbers of the points and their values."""
        ended: list[tuple[int, object]] = []
        for answering in wait(list(self._points)):
            connection = cast(Connection, answering)
            number = self._points.pop(connection)
            try:
                succeeded, answer = connection.recv()
            except (EOFError, ConnectionResetError):
                lost: dict[int, object] = {}
                self._replace(connection, range(number, number + 1), lost)
                ended += lost.items()
                continue
            self._false_starts = 0
            if not succeeded:
                self.failed_row = number
                raise answer[1]
            ended.append((number, answer[0]))
        return ended

    def _replace(
        self, connection: Connection, part: range, ready: dict[int, object]
    ) -> list[range]:
        """Start a worker in place of a dead one; return the parts to evaluate again."""
        process = self._workers.pop(connection)
        process.join()
        _close(connection)
        self._false_starts += 1
        if self._false_starts > _MOST_FALSE_STARTS * (len(self._workers) + 1):
            raise UaosError(
                "the worker processes die as soon as they start. In a script, put the call under "
                '`if __name__ == "__main__":`; otherwise find out why with workers=1'
            )
        self._start()
        if len(part) > 1:  # one of them killed it: find out which
            return [range(row, row + 1) for row in reversed(part)]
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"a worker process died (exit code {process.exitcode}); its evaluation counts as "
                "failed",
                RuntimeWarning,
                stacklevel=2,
            )
        ready[part.start] = np.nan
        return []

    def close(self, *, at_once: bool = False) -> None:
        """End the processes; `at_once`: even if they are evaluating."""
        for connection, process in self._workers.items():
            if at_once:
                process.terminate()
            _close(connection)  # which ends a worker that waits
        for process in self._workers.values():
            process.join(5)
            if process.is_alive():
                process.kill()
        self._workers.clear()
        self._points.clear()


def _close(ours: Connection) -> None:
    _open_ends.discard(ours)
    ours.close()


def _start_method(fun: Callable[[FloatArray], object]) -> str:
    """Return how to start processes that can evaluate `fun`."""
    can_fork = sys.platform == "linux"
    if can_fork and threading.active_count() == 1:
        return "fork"
    try:
        pickled = pickle.dumps(fun)
        if not (_interactive() and b"__main__" in pickled):
            return "spawn"
        reason = "it is defined interactively"
    except Exception as error:
        reason = str(error)
    if can_fork:
        return "fork"  # the only way to hand it over
    raise InvalidParameter(
        f"{fun!r} cannot be sent to worker processes ({reason}); define it at the top of a "
        "module, not in a notebook, as a lambda or as a local function, or use workers=1",
        name="fun", value=fun,
    )  # fmt: skip


def _interactive() -> bool:
    """Return whether the main module has no file that a spawned process could import."""
    return not os.path.isfile(getattr(sys.modules["__main__"], "__file__", ""))


def _serve(connection: Connection, inherited: list[Connection], fun: Callable[[Any], Any]) -> None:
    """Evaluate the points that arrive until the pipe is closed, in a worker process."""
    for other in inherited:
        other.close()
    # Ctrl-C is for the parent to handle.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    # Forked workers would all draw the same numbers.
    np.random.seed()  # noqa: NPY002
    while True:
        try:
            X = connection.recv()
        except (EOFError, OSError):
            return
        values: list[object] = []
        answer: tuple[bool, Any] = (True, values)
        try:
            for x in X:
                values.append(detached(fun(x)))
        except Exception as error:
            error.add_note("in a worker process:\n" + traceback.format_exc())
            answer = (False, (len(values), error))
        try:
            if not answer[0]:
                pickle.loads(pickle.dumps(answer))  # some exceptions cannot be unpickled
            connection.send(answer)
        except (BrokenPipeError, ConnectionResetError):
            return
        except Exception as error:  # it cannot be pickled
            source, content, row = "the value of fun", answer[1], None
            if not answer[0]:
                source, (row, content) = "the exception of fun", answer[1]
            failure = TypeError(
                f"{source} cannot be sent from a worker process: {shortened(content, 200)} "
                f"({error})"
            )
            for note in getattr(content, "__notes__", ()):
                failure.add_note(note)
            connection.send((False, (row, failure)))


@contextmanager
def ctrl_c_held_back() -> Iterator[None]:
    """Shield processes started here from Ctrl-C, which their parent handles."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
