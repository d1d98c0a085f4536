"""Evaluating a generation: one point after another, all at once, or on several workers.

Every way gives the same values for the same points, so that a run does not depend on it.
"""

import os
import signal
from collections.abc import Callable
from typing import Any

import numpy as np

from uaos.de.protocols import Array
from uaos.errors import InvalidFeedback, InvalidParameter

Objective = Callable[[Array], Any]
#: `workers`: a number of processes (-1: one for each processor), an Executor, or a map.
Workers = Any

# Chunks to a worker and generation: few messages, yet no worker waits long for a slow one.
_CHUNKS = 4


class Interrupted(Exception):
    """Ctrl-C came while a generation was evaluated; `values` are those that were ready."""

    def __init__(self, values: list[float]) -> None:
        super().__init__("interrupted")
        self.values = values


class Evaluator:
    """Calls the objective for a generation; a context manager, as it may own worker processes.

    `tolerate`: an exception of the objective gives NaN, a failed evaluation, instead of ending the
    run.
    """

    def __init__(
        self, fun: Objective, *, vectorized: bool, workers: Workers, tolerate: bool
    ) -> None:
        if not callable(fun):
            raise InvalidParameter("fun", fun, "a function of a point (or of many: vectorized)")
        number = isinstance(workers, int | np.integer) and not isinstance(workers, bool)
        if not (number and (workers >= 1 or workers == -1)) and not (
            callable(workers) or hasattr(workers, "submit")
        ):
            raise InvalidParameter(
                "workers", workers, "a number of processes >= 1, -1 for one to each processor, "
                "a concurrent.futures.Executor, or a function like map",
            )  # fmt: skip
        if vectorized and not (number and workers == 1):
            raise InvalidParameter(
                "workers", workers, "1 with vectorized=True: fun gets the whole generation"
            )
        self._fun = fun
        self._vectorized = vectorized
        self._tolerate = tolerate
        self._pool: Any = None
        self._map: Any = None
        self._chunks = 1
        if number:
            count = (os.cpu_count() or 1) if workers == -1 else int(workers)
            if count > 1:
                self._pool = _processes(fun, count, tolerate)
                self._chunks = _CHUNKS * count
        elif hasattr(workers, "submit"):
            self._map, self._chunks = workers, _CHUNKS * (getattr(workers, "_max_workers", 0) or 4)
        else:
            self._map = workers

    def __enter__(self) -> "Evaluator":
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def __call__(self, X: Array) -> Array:
        """The objective at each row of X."""
        if self._vectorized:
            return self._whole(X)
        if self._pool is not None:
            return self._gather(self._pool, _evaluate_here, X)
        if self._map is None:
            return _as_values(self._serial(X), len(X))
        point = _Tolerant(self._fun) if self._tolerate else self._fun
        if hasattr(self._map, "submit"):
            return self._gather(self._map, _Chunk(point), X)
        return _as_values(list(self._map(point, list(X))), len(X))

    def _serial(self, X: Array) -> list[Any]:
        values: list[Any] = []
        fun = _Tolerant(self._fun) if self._tolerate else self._fun
        try:
            # Quicker than a loop, and like one it keeps what was ready when Ctrl-C comes.
            values.extend(map(fun, X))
        except KeyboardInterrupt:
            raise Interrupted(values) from None
        return values

    def _whole(self, X: Array) -> Array:
        try:
            return _as_values(self._fun(X), len(X))
        except InvalidFeedback:
            raise
        except Exception:
            if self._tolerate:
                return np.full(len(X), np.nan)
            raise

    def _gather(self, executor: Any, work: Any, X: Array) -> Array:
        """Chunks of rows out, their values in, in order."""
        parts = np.array_split(X, min(len(X), self._chunks))
        futures = [executor.submit(work, part) for part in parts]
        try:
            values = [v for future in futures for v in future.result()]
        except BaseException:
            for future in futures:
                future.cancel()
            raise
        return _as_values(values, len(X))


class _Tolerant:
    """The objective with NaN for an exception."""

    def __init__(self, fun: Objective) -> None:
        self._fun = fun

    def __call__(self, x: Array) -> Any:
        try:
            return self._fun(x)
        except Exception:
            return np.nan


class _Chunk:
    """The objective for several rows; sent to the workers of an Executor."""

    def __init__(self, fun: Objective) -> None:
        self._fun = fun

    def __call__(self, X: Array) -> list[Any]:
        return [self._fun(x) for x in X]


_here: Objective | None = None


def _start_worker(fun: Objective, tolerate: bool) -> None:
    """A worker process gets the objective once; Ctrl-C is for its parent to handle."""
    global _here
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _here = _Tolerant(fun) if tolerate else fun


def _evaluate_here(X: Array) -> list[Any]:
    assert _here is not None
    return [_here(x) for x in X]


def _processes(fun: Objective, count: int, tolerate: bool) -> Any:
    import pickle
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    try:
        pickle.dumps(fun)
    except Exception as error:
        raise InvalidParameter(
            "fun", fun, "a function that can be sent to worker processes, defined at the top of a "
            f"module (not a lambda or a local function), or workers=1 ({error})",
        ) from None  # fmt: skip
    # Spawned, not forked: compiled code may have threads, which a fork would break.
    return ProcessPoolExecutor(
        count, get_context("spawn"), initializer=_start_worker, initargs=(fun, tolerate)
    )


def _as_values(values: Any, n: int) -> Array:
    """What the objective returned, as n floats; anything else is an error that shows it."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        shown = repr(values)[:200]
        raise InvalidFeedback(f"fun must return a number for each point; got {shown}") from None
    if array.shape == (n,):
        return array
    if array.shape == (n, 1):  # some functions return arrays of length one
        return array[:, 0]
    raise InvalidFeedback(
        f"fun must return one number for each point, shape {(n,)}; it returned shape {array.shape}"
    )
