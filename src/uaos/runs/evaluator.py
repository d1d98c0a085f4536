"""Evaluating a generation: one point after another, all at once, or on several workers.

Every way gives the same values for the same points, so that a run does not depend on it.
"""

import dataclasses
import math
import os
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numba import njit
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError

from uaos.arrays import FloatArray
from uaos.checks import real_numbers, true_or_false
from uaos.errors import InvalidFeedback, InvalidParameter
from uaos.problems.constraints import Constraints
from uaos.problems.space import FreeSpace
from uaos.result import INFEASIBLE, Result
from uaos.runs.workers import ProcessPool
from uaos.text import count

Objective = Callable[[FloatArray], Any]
#: `workers`: a number of processes (-1: one for each processor), an Executor, or a map.
Workers = Any

# Chunks to a worker and generation: few messages, yet no worker waits long for a slow one.
_CHUNKS = 4
# A chunk takes no longer than this, unless it is a single point: at the end of a batch workers wait
# for the slowest, and a message costs some 0.1 ms.
_CHUNK_SECONDS = 0.005


class Interrupted(Exception):
    """Ctrl-C came while a generation was evaluated; `ready`: the rows with a value, and it."""

    def __init__(self, ready: list[tuple[int, float]]) -> None:
        super().__init__("interrupted")
        self.ready = ready


class Evaluator:
    """Calls the objective for a generation; a context manager, as it may own worker processes.

    `tolerate`: an exception of the objective gives NaN, a failed evaluation, instead of ending the
    run. `vector`: `fun` returns an array, as constraints do. `full` makes a point one that the user
    knows, for the note on an exception.
    """

    def __init__(
        self,
        fun: Objective,
        *,
        vectorized: bool,
        workers: Workers,
        tolerate: bool,
        vector: bool = False,
        full: Callable[[FloatArray], FloatArray] | None = None,
    ) -> None:
        if not callable(fun):
            raise InvalidParameter("fun", fun, "a function of a point (or of many: vectorized)")
        number = isinstance(workers, int | np.integer) and not isinstance(workers, bool)
        if not (number and (workers >= 1 or workers == -1)) and not (
            callable(workers) or hasattr(workers, "submit")
        ):
            raise InvalidParameter(
                "workers", workers, "a number of processes >= 1, -1 for one to each processor, "
                "a concurrent.futures.Executor, or a function like map, such as pool.map",
            )  # fmt: skip
        vectorized = true_or_false(vectorized, "vectorized")
        if vectorized and not (number and workers == 1):
            raise InvalidParameter(
                "workers", workers, "1 with vectorized=True: fun gets the whole generation"
            )
        self._fun, self._point = fun, partial(_tolerant, fun) if tolerate else fun
        self._vectorized, self._tolerate, self._vector = vectorized, tolerate, vector
        self._full = full
        self._checked_return = False
        self._pool: Any = None  # processes of our own
        self._executor: Any = None  # the user's
        self._map: Any = map
        self._workers = 1
        self._seconds = math.inf  # that a point took in the last generation
        if number:
            self._workers = (os.cpu_count() or 1) if workers == -1 else int(workers)
            if self._workers > 1:
                self._pool = ProcessPool(self._point, self._workers)
        elif hasattr(workers, "submit"):
            self._executor = workers
            self._workers = getattr(workers, "_max_workers", 0) or 4
        else:
            self._map = workers

    def __enter__(self) -> "Evaluator":
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.close()

    def __call__(self, X: FloatArray) -> FloatArray:
        """The objective at each row of X."""
        try:
            return self._evaluated(X)
        except StopIteration as error:
            raise RuntimeError("fun raised StopIteration, which is for iterators") from error

    def _evaluated(self, X: FloatArray) -> FloatArray:
        if self._vectorized:
            return self._whole(X)
        if self._pool is not None:
            return self._distributed(X)
        return self._mapped(X) if self._executor is None else self._gather(X)

    def _whole(self, X: FloatArray) -> FloatArray:
        try:
            return self._values(self._fun(X), len(X))
        except InvalidFeedback:
            raise
        except Exception:
            if self._tolerate:
                return np.full(len(X), np.nan)
            raise

    def _mapped(self, X: FloatArray) -> FloatArray:
        """One point after another by `map`, or by the function that was given in its place."""
        values: list[Any] = []
        wanted = (
            "workers, as a function, must return like map one value for each point; it returned"
        )
        try:
            # Rows one by one cost less than all at once; a user's map may want a list.
            mapped = self._map(self._point, X if self._map is map else list(X))
            try:
                each = iter(mapped)
            except TypeError:
                raise InvalidFeedback(f"{wanted} {_shown(mapped)}") from None
            # Quicker than a loop, and like one it keeps what was ready when Ctrl-C comes.
            values.extend(each)
        except KeyboardInterrupt:
            raise Interrupted([(i, _number(v)) for i, v in enumerate(values)]) from None
        except Exception as error:
            if self._map is map:
                self._note_point(error, X[len(values)])
            raise
        if len(values) < len(X) and self._map is map:
            raise StopIteration  # by fun, which ended the loop of `extend`
        if len(values) != len(X):
            raise InvalidFeedback(
                f"{wanted} {count(len(values), 'value')} for {count(len(X), 'point')}"
            )
        return self._values(values, len(X))

    def _distributed(self, X: FloatArray) -> FloatArray:
        """On processes of our own."""
        started = time.perf_counter()
        ready: dict[int, Any] = {}
        try:
            self._pool.evaluate(X, self._parts(len(X)), ready)
        except KeyboardInterrupt:
            self._pool.close(at_once=True)
            raise Interrupted([(row, _number(ready[row])) for row in sorted(ready)]) from None
        except BaseException as error:
            self._pool.close(at_once=True)
            if self._pool.failed_row is not None:
                self._note_point(error, X[self._pool.failed_row])
            raise
        self._seconds = (time.perf_counter() - started) * min(self._workers, len(X)) / len(X)
        return self._values([ready[row] for row in range(len(X))], len(X))

    def _gather(self, X: FloatArray) -> FloatArray:
        """On an executor: chunks of rows out, their values in, in order."""
        parts = self._parts(len(X))
        futures: list[Any] = []
        started = time.perf_counter()
        try:
            for part in parts:
                rows = X[part.start : part.stop]
                futures.append(self._executor.submit(_chunk, self._point, rows))
            values = [v for future in futures for v in future.result()]
        except BaseException as error:
            ready = _ready(parts, futures)
            for future in futures:
                future.cancel()
            if isinstance(error, KeyboardInterrupt):
                raise Interrupted(ready) from None
            raise
        self._seconds = (time.perf_counter() - started) * min(self._workers, len(X)) / len(X)
        return self._values(values, len(X))

    def _note_point(self, error: BaseException, x: FloatArray) -> None:
        """Say at which point the objective raised an exception."""
        if self._full is not None:
            point = np.array2string(self._full(x), threshold=20)
            error.add_note(
                f'raised by fun at x = {point}; on_error="fail" would count it as a failed '
                "evaluation"
            )

    def _values(self, returned: Any, n: int) -> FloatArray:
        """What was returned for n points, as numbers."""
        if self._vector:
            return np.array(returned, dtype=float)
        if not self._checked_return:
            self._checked_return = True
            each = returned if isinstance(returned, list) else [returned]
            if all(value is None for value in each):
                warnings.warn(
                    "fun returned None, which counts as a failed evaluation; is `return` missing?",
                    RuntimeWarning,
                    stacklevel=2,
                )
        return _as_values(returned, n, self._vectorized)

    def _parts(self, n: int) -> list[range]:
        """The rows of each chunk: as many as a worker did in a moment of the last generation."""
        quick = math.ceil(n / (_CHUNKS * self._workers))
        size = max(1, min(quick, int(_CHUNK_SECONDS / max(self._seconds, 1e-9))))
        return [range(start, min(start + size, n)) for start in range(0, n, size)]


def _ready(parts: Sequence[range], futures: Sequence[Any]) -> list[tuple[int, float]]:
    """The rows of the chunks that are finished, each with its value."""
    ready: list[tuple[int, float]] = []
    for part, future in zip(parts, futures, strict=False):
        if future.done() and not future.cancelled() and future.exception() is None:
            ready += zip(part, map(_number, future.result()), strict=True)
    return ready


# With `partial` these can be sent to workers.


def _tolerant(fun: Objective, x: FloatArray) -> Any:
    """The objective with NaN for an exception."""
    try:
        return fun(x)
    except Exception:
        return np.nan


def _chunk(fun: Objective, X: FloatArray) -> list[Any]:
    """The objective for several rows."""
    return [fun(x) for x in X]


def _at_point(fun: Any, x: FloatArray) -> Any:
    """A function of many points at one."""
    return fun(x[None])[0]


def _as_values(values: Any, n: int, vectorized: bool = False) -> FloatArray:
    """What the objective returned, as n floats; anything else is an error that shows it."""
    try:
        array = real_numbers(values)
    except (TypeError, ValueError) as error:
        raise InvalidFeedback(
            f"fun must return a real number for each point: {error}; got {_shown(values)}"
        ) from None
    if array.size == n:  # some functions return arrays of length one
        return array.reshape(n)
    if vectorized:
        raise InvalidFeedback(
            f"fun must return one number for each point, shape {(n,)}; it returned shape "
            f"{array.shape}. With vectorized=True it takes points as the rows of an array, (n, D)"
        )
    raise InvalidFeedback(
        f"fun must return one number for each point; it returned shape {array.shape[1:]}"
    )


def _number(value: Any) -> float:
    """One value of an interrupted generation; NaN if it is no number."""
    try:
        return float(_as_values([value], 1)[0])
    except InvalidFeedback:
        return math.nan


def _shown(value: Any) -> str:
    return repr(value)[:200]


# Objectives that numba has compiled: a batch of points in one compiled loop


class CompiledObjective:
    """A compiled objective of one point as a function of many, (n, D), shared by `threads`.

    Its `loop` writes the values of points to an array: ``loop(X, values, *args)``. Raises
    NumbaError if numba cannot call the objective so.
    """

    def __init__(self, fun: Any, dimension: int, args: tuple[Any, ...], threads: int) -> None:
        self.loop = _loop(fun, bool(args))
        self.loop(np.zeros((0, dimension)), np.zeros(0), *args)  # compiles, and evaluates nothing
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

    def __call__(self, X: FloatArray, *args: Any) -> FloatArray:
        """The values of points."""
        values = np.empty(len(X))
        if self._pool is None:
            self.loop(X, values, *args)
            return values
        parts = (np.array_split(array, min(self._threads, len(X))) for array in (X, values))
        list(self._pool.map(lambda x, v: self.loop(x, v, *args), *parts))
        return values


def over_batch(fun: Any, dimension: int, args: Any, threads: int) -> CompiledObjective | None:
    """The objective for batches, None if it is not compiled or numba cannot call it so."""
    if not isinstance(fun, Dispatcher) or not isinstance(args, tuple):
        return None
    try:
        return CompiledObjective(fun, dimension, args, threads)
    except NumbaError:
        return None


@lru_cache(maxsize=16)
def _loop(fun: Any, further: bool) -> Any:
    if further:

        @njit(nogil=True)
        def evaluate(X: FloatArray, values: FloatArray, *args: Any) -> None:
            for i in range(len(X)):
                values[i] = fun(X[i], *args)

    else:  # a function of fixed arguments, which a compiled loop can be given

        @njit(nogil=True)
        def evaluate(X: FloatArray, values: FloatArray) -> None:
            for i in range(len(X)):
                values[i] = fun(X[i])

    return evaluate


# Objective and constraints


class Batch:
    """Evaluates the points of a batch: the constraints first, then the objective where it counts.

    `evaluate` is the objective's; `workers` evaluate the constraints as well.
    """

    def __init__(
        self, space: FreeSpace, constraints: Constraints, evaluate: Evaluator, workers: Workers
    ) -> None:
        self.space, self._constraints, self._evaluate = space, constraints, evaluate
        self._beyond = space.function(constraints.beyond, ())
        self._distributed: Evaluator | None = None
        if constraints.each and not (isinstance(workers, int) and workers == 1):
            self._distributed = Evaluator(
                partial(_at_point, self._beyond), vectorized=False, workers=workers, tolerate=False,
                vector=True,
            )  # fmt: skip

    def __enter__(self) -> None:
        pass

    def __exit__(self, *ending: object) -> None:
        if self._distributed is not None:
            self._distributed.__exit__(*ending)

    def __call__(self, X: FloatArray, epsilon: float) -> tuple[FloatArray, FloatArray | None]:
        """The values, and without constraints None, otherwise the violations.

        `epsilon`: how large a violation may be for the run to want the value.
        """
        if not self.constrained:
            return self._evaluate(X), None
        violations = self._violations(X)
        level = epsilon if self._constraints.narrow else 0.0
        rows = np.flatnonzero(violations <= level)
        values = np.full(len(X), np.nan)
        if len(rows):
            try:
                values[rows] = self._evaluate(X[rows])
            except Interrupted as interrupt:
                ready = [(int(rows[k]), value) for k, value in interrupt.ready]
                raise Interrupted([(i, v) for i, v in ready if violations[i] == 0]) from None
        return values, violations

    def _violations(self, X: FloatArray) -> FloatArray:
        if not self._constraints.measure(self.space.full(X)):
            return np.full(len(X), np.inf)
        apart = self._distributed
        try:
            beyond = self._beyond(X) if apart is None else apart(X)
        except Interrupted:
            raise Interrupted([]) from None  # what was ready are no values of the objective
        return self._constraints.violations(beyond)

    @property
    def constrained(self) -> bool:
        """Whether there are constraints."""
        return bool(self._constraints.each)

    def objective(self, x: FloatArray) -> float:
        """The objective at one point."""
        return float(self._evaluate(x[None])[0])

    def violation(self, x: FloatArray) -> float:
        """By how much one point violates the constraints."""
        return float(self._violations(x[None])[0]) if self.constrained else 0.0

    def margins(self, x: FloatArray) -> FloatArray:
        """How far inside the constraints one point is."""
        return self._constraints.margins(self.space.full(x))

    def completed(self, result: Result) -> Result:
        """The result with the violations of the constraints at its point."""
        if not self.constrained or result.x is None:
            return result
        constr = [excess[0] for excess in self._constraints.components(result.x[None])]
        largest = float(max(excess.max(initial=0.0) for excess in constr))
        message = result.message
        if message.endswith(INFEASIBLE):
            message += f" (maxcv = {largest:.6g})"
        return dataclasses.replace(result, message=message, constr=constr, constr_violation=largest)
