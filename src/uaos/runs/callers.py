"""Ways to call a function at the points of a batch: all at once, one by one, on workers, by numba.

Every way returns the same values for the same points, so that a run does not depend on it. The
function may write to the points that it gets: they are the caller's copies.
"""

import math
import os
import sys
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ThreadPoolExecutor, wait
from functools import lru_cache
from typing import Any, Protocol, TypeVar

import numpy as np

from uaos.arrays import FloatArray, detached
from uaos.errors import InvalidFeedback, InvalidParameter, shortened
from uaos.runs.workers import ProcessPool
from uaos.text import count

R = TypeVar("R")

Function = Callable[[FloatArray], object]
#: `workers`: a number of processes (-1: one per processor), an Executor, a client of Dask,
#: or a function like map.
Workers = Any

# Chunks per worker and batch: few messages, yet no worker waits long for a slow one.
_CHUNKS = 4
# A chunk takes no longer than this, unless it is a single point: at the end of a batch workers wait
# for the slowest, and a message costs some 0.1 ms.
_CHUNK_SECONDS = 0.005
# The attribute of an exception from an executor that says in which row of its chunk it was raised.
_ROW = "_uaos_row"


class CallsInterrupted(KeyboardInterrupt):
    """Ctrl-C came, or the executor broke, while a batch was evaluated.

    Parameters
    ----------
    returned : mapping of int to object
        What the function had returned by then, by row.
    """

    def __init__(self, returned: dict[int, object]) -> None:
        super().__init__("interrupted")
        self.returned = returned


class SupportsSubmit(Protocol):
    """An executor, as those of concurrent.futures."""

    def submit(self, fn: Callable[..., R], /, *args: Any) -> "Future[R]":
        """Schedule a call."""
        ...


class Caller(ABC):
    """Calls a function at each row of an array.

    Attributes
    ----------
    failed_row : int or None
        The row, or the number of the point, at which the function raised an exception, if that is
        known.
    broken : BrokenExecutor or None
        The exception of an executor that takes no more calls.
    """

    failed_row: int | None = None
    broken: BrokenExecutor | None = None
    #: The number of calls that can run at a time.
    workers: int = 1

    @abstractmethod
    def __call__(self, points: FloatArray) -> object:
        """Return what the function returns for the points, (n, D): a list, or an array."""

    def submit(self, number: int, point: FloatArray) -> None:
        """Begin a call at one point, of at most `workers` at a time."""
        self._next = number, point

    def collect(self) -> list[tuple[int, object]]:
        """Wait for calls to end; return their numbers and what the function returned."""
        number, point = self._next
        try:
            returned: Any = self(point[None])
        except Exception:
            self.failed_row = number
            raise
        return [(number, returned[0])]

    def close(self) -> None:
        """Release the workers."""
        return


class AllAtOnce(Caller):
    """Calls a vectorized function once per batch.

    Parameters
    ----------
    function : callable
        A function of many points, (n, D).
    tolerate : bool
        Whether an exception counts as n failed evaluations.
    """

    def __init__(self, function: Function, tolerate: bool = False) -> None:
        self._function, self._tolerate = function, tolerate

    def __call__(self, points: FloatArray) -> object:
        """Return what the function returns."""
        try:
            return self._function(points)
        except Exception:
            if not self._tolerate:
                raise
            return np.full(len(points), np.nan)


class OneByOne(Caller):
    """Calls a function at one point after another, in this process."""

    def __init__(self, function: Function) -> None:
        self._function = function

    def __call__(self, points: FloatArray) -> list[object]:
        """Return a list of what the function returns at each point."""
        values: list[object] = []
        try:
            # Faster than a loop; it also keeps the values that precede Ctrl-C.
            values.extend(map(detached, map(self._function, points)))
        except KeyboardInterrupt:
            raise CallsInterrupted(dict(enumerate(values))) from None
        except Exception:
            self.failed_row = len(values)
            raise
        if len(values) < len(points):
            raise StopIteration  # the function raised it, which silently ended `extend`
        return values


class ByMap(Caller):
    """Calls a function through a `map`-like function of the user."""

    def __init__(self, function: Function, map_like: Callable[..., Iterable[object]]) -> None:
        self._function, self._map = function, map_like

    def __call__(self, points: FloatArray) -> list[object]:
        """Return a list of what the function returns at each point."""
        expected = (
            "workers is a function; like map, it must return one value per point, but returned"
        )
        values: list[object] = []
        try:
            mapped = self._map(self._function, list(points))
            try:
                iterator = iter(mapped)
            except TypeError:
                raise InvalidFeedback(f"{expected} {shortened(mapped, 200)}") from None
            values.extend(map(detached, iterator))
        except KeyboardInterrupt:
            raise CallsInterrupted(dict(enumerate(values))) from None
        if len(values) != len(points):
            raise InvalidFeedback(
                f"{expected} {count(len(values), 'value')} for {count(len(points), 'point')}"
            )
        return values


class _Chunked(Caller):
    """Calls a function for chunks of points on several workers."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._seconds = math.inf  # per point, in the last batch

    def __call__(self, points: FloatArray) -> list[object]:
        """Return a list of what the function returns at each point."""
        started, n = time.perf_counter(), len(points)
        returned = self._gather(points, self._parts(n))
        self._seconds = (time.perf_counter() - started) * min(self.workers, n) / n
        return [returned[row] for row in range(n)]

    @abstractmethod
    def _gather(self, points: FloatArray, parts: Sequence[range]) -> dict[int, object]:
        """Evaluate the chunks; return the values of the function by row."""

    def _parts(self, n: int) -> list[range]:
        """Return the rows of each chunk; a slow function gets small chunks."""
        largest = math.ceil(n / (_CHUNKS * self.workers))
        size = max(1, min(largest, int(_CHUNK_SECONDS / max(self._seconds, 1e-9))))
        return [range(start, min(start + size, n)) for start in range(0, n, size)]


class OnProcesses(_Chunked):
    """Calls a function on processes of its own."""

    def __init__(self, function: Function, workers: int) -> None:
        super().__init__(workers)
        self.pool = ProcessPool(function, workers)

    def _gather(self, points: FloatArray, parts: Sequence[range]) -> dict[int, object]:
        returned: dict[int, object] = {}
        try:
            self.pool.evaluate(points, parts, returned)
        except KeyboardInterrupt:
            self.pool.close(at_once=True)
            raise CallsInterrupted(dict(sorted(returned.items()))) from None
        except BaseException:
            self.pool.close(at_once=True)
            self.failed_row = self.pool.failed_row
            raise
        return returned

    def submit(self, number: int, point: FloatArray) -> None:
        """Begin a call at one point."""
        self.pool.submit(number, point)

    def collect(self) -> list[tuple[int, object]]:
        """Wait for calls to end; return their numbers and what the function returned."""
        try:
            return self.pool.collect()
        except BaseException:
            self.pool.close(at_once=True)
            self.failed_row = self.pool.failed_row
            raise

    def close(self) -> None:
        """End the processes, even if they are evaluating points that are no longer needed."""
        self.pool.close(at_once=self.pool.busy)


class OnExecutor(_Chunked):
    """Calls a function on a user's executor, which stays open."""

    def __init__(self, function: Function, executor: SupportsSubmit) -> None:
        super().__init__(executor_workers(executor))
        self._function, self._executor = function, executor
        self._calls: dict[Future[object], int] = {}

    def _gather(self, points: FloatArray, parts: Sequence[range]) -> dict[int, object]:
        futures: list[Future[list[object]]] = []
        returned: dict[int, object] = {}
        try:
            for part in parts:
                rows = points[part.start : part.stop]
                futures.append(self._executor.submit(_call_each, self._function, rows))
            for part, future in zip(parts, futures, strict=True):
                values = self._values(points[part.start : part.stop], future)
                returned.update(zip(part, values, strict=True))
        except BaseException as error:
            if hasattr(error, _ROW):
                self.failed_row = len(returned) + getattr(error, _ROW)
            returned = _finished(parts, futures)
            for future in futures:
                future.cancel()
            if isinstance(error, BrokenExecutor):
                self.broken = error
            elif not isinstance(error, KeyboardInterrupt):
                raise
            raise CallsInterrupted(returned) from None
        return returned

    def _values(self, points: FloatArray, future: "Future[list[object]]") -> list[object]:
        """Return the values of a chunk; if it killed its workers, find out by which point."""
        error = future.exception()
        if error is None or not _killed_workers(error):
            return future.result()
        if len(points) == 1:
            return [_failed(error)]
        single = [self._executor.submit(_call_each, self._function, x[None]) for x in points]
        return [self._values(points[:1], each)[0] for each in single]

    def submit(self, number: int, point: FloatArray) -> None:
        """Begin a call at one point."""
        try:
            future = self._executor.submit(self._function, point)
        except BrokenExecutor as error:  # for `collect`, after the values that there are
            future = Future()
            future.set_exception(error)
        self._calls[future] = number

    def collect(self) -> list[tuple[int, object]]:
        """Wait for calls to end; return their numbers and what the function returned."""
        ended: list[tuple[int, object]] = []
        for future in wait(self._calls, return_when=FIRST_COMPLETED).done:
            error = future.exception()
            if isinstance(error, BrokenExecutor):
                self.broken = error
                continue
            number = self._calls.pop(future)
            if error is not None and _killed_workers(error):
                ended.append((number, _failed(error)))
                continue
            if error is not None:
                self.failed_row = number
                raise error
            ended.append((number, future.result()))
        if not ended:
            raise CallsInterrupted({})
        return ended

    def close(self) -> None:
        """Cancel the calls that are under way."""
        for future in self._calls:
            future.cancel()


def _killed_workers(error: BaseException) -> bool:
    """Return whether Dask gave up a call because each worker that tried it died."""
    return type(error).__name__ == "KilledWorker"


def _failed(error: BaseException) -> float:
    """Return NaN, and warn of the workers that died."""
    warnings.warn(
        f"workers of the cluster died; their evaluation counts as failed ({shortened(error, 200)})",
        RuntimeWarning,
        stacklevel=2,
    )
    return math.nan


def _call_each(function: Function, points: FloatArray) -> list[object]:
    """Call the function for several rows; a module's function can be sent to workers."""
    values: list[object] = []
    try:
        for x in points:
            values.append(detached(function(x)))
    except Exception as error:
        setattr(error, _ROW, len(values))
        raise
    return values


def _finished(
    parts: Sequence[range], futures: Sequence["Future[list[object]]"]
) -> dict[int, object]:
    """Return the values of the function in finished chunks, by row."""
    returned: dict[int, object] = {}
    for part, future in zip(parts, futures, strict=False):
        if future.done() and not future.cancelled() and future.exception() is None:
            returned.update(zip(part, future.result(), strict=True))
    return returned


def caller(function: Function, workers: Workers) -> Caller:
    """Return the way to call a function of one point on `workers`."""
    number = worker_count(workers)
    if number == 1 or workers is map:
        return OneByOne(function)
    if number is not None:
        return OnProcesses(function, number)
    if hasattr(workers, "get_executor"):  # a client of Dask, whose own futures are of another kind
        # Noisy functions are called again at the same point.
        return OnExecutor(function, workers.get_executor(pure=False))
    if hasattr(workers, "submit"):
        return OnExecutor(function, workers)
    return ByMap(function, workers)


def executor_workers(executor: SupportsSubmit) -> int:
    """Return the number of workers of an executor; that of processors if it is unknown.

    Python's executors have no public name for the number. The executor of Dask has a client, which
    counts the threads of the cluster.
    """
    client = getattr(executor, "_client", None)
    if client is not None and hasattr(client, "nthreads"):
        return sum(client.nthreads().values()) or 1
    workers = getattr(executor, "_max_workers", None)
    return workers if isinstance(workers, int) and workers > 0 else os.cpu_count() or 1


def worker_count(workers: Workers) -> int | None:
    """Return the number of processes that `workers` stands for; None if it is not a number.

    Raises
    ------
    InvalidParameter
        If it is neither a number of processes, an executor, nor a function.
    """
    if isinstance(workers, int | np.integer) and not isinstance(workers, bool):
        if workers == -1:
            return os.cpu_count() or 1
        if workers >= 1:
            return int(workers)
    elif hasattr(workers, "submit") or callable(workers):
        return None
    raise InvalidParameter(
        f"workers is {shortened(workers)}; expected a positive number of processes, -1 for one per "
        "processor, a concurrent.futures.Executor, a dask.distributed.Client, or a function like "
        "map, such as pool.map",
        name="workers",
        value=workers,
    )


# Functions that numba has compiled: a batch of points in one compiled loop.


class WithArguments:
    """A function with its further arguments, which can be sent to workers.

    Parameters
    ----------
    function : callable
        A function of a point and further arguments.
    args : tuple
        The further arguments.
    """

    def __init__(self, function: Callable[..., object], args: tuple[object, ...]) -> None:
        self.function = self.__wrapped__ = function
        self.args = args

    def __call__(self, x: FloatArray) -> object:
        """Return the function's value."""
        return self.function(x, *self.args)


class CompiledObjective:
    """A compiled objective of one point as a function of many, (n, D), run on `threads` threads.

    Raises NumbaError if numba cannot call the objective from a compiled loop.
    """

    def __init__(
        self, fun: Callable[..., float], args: tuple[object, ...], dimension: int, threads: int
    ) -> None:
        self._loop, self._args = _loop(fun, bool(args)), args
        self._loop(np.zeros((0, dimension)), np.zeros(0), *args)  # compiles, evaluates nothing
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

    def __call__(self, points: FloatArray) -> FloatArray:
        """Return the values of points."""
        values = np.empty(len(points))
        if self._pool is None:
            self._loop(points, values, *self._args)
            return values
        parts = (
            np.array_split(array, min(self._threads, len(points))) for array in (points, values)
        )
        list(self._pool.map(lambda x, v: self._loop(x, v, *self._args), *parts))
        return values


def over_batch(
    fun: Callable[..., object], dimension: int, threads: int
) -> CompiledObjective | None:
    """Return the objective for batches; None if it, or a loop over it, cannot be compiled."""
    fun, args = (fun.function, fun.args) if isinstance(fun, WithArguments) else (fun, ())
    if "numba" not in sys.modules:  # then it has compiled nothing, and its import takes long
        return None
    from numba.core.dispatcher import Dispatcher
    from numba.core.errors import NumbaError

    if not isinstance(fun, Dispatcher):
        return None
    try:
        return CompiledObjective(fun, args, dimension, threads)
    except NumbaError:
        return None


@lru_cache(maxsize=16)
def _loop(fun: Callable[..., float], further: bool) -> Callable[..., None]:
    from numba import njit

    if further:

        @njit(nogil=True)
        def evaluate(X: FloatArray, values: FloatArray, *args: object) -> None:
            for i in range(len(X)):
                values[i] = fun(X[i], *args)

    else:

        @njit(nogil=True)
        def evaluate(X: FloatArray, values: FloatArray) -> None:
            for i in range(len(X)):
                values[i] = fun(X[i])

    return evaluate
