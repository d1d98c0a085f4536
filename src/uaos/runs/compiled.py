"""Objectives that numba has compiled: a batch of points in one compiled loop."""

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

import numpy as np

from uaos.arrays import FloatArray


class WithArguments:
    """A function with its further arguments, which can be sent to workers.

    Parameters
    ----------
    function : callable
        A function of a point and further arguments.
    args : tuple
        These arguments.
    """

    def __init__(self, function: Callable[..., object], args: tuple[object, ...]) -> None:
        self.function, self.args = function, args

    def __call__(self, x: FloatArray) -> object:
        """Return the function's value."""
        return self.function(x, *self.args)


class CompiledObjective:
    """A compiled objective of one point as a function of many, (n, D), shared by `threads`.

    Raises NumbaError if numba cannot call the objective so.
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
    """Return the objective for batches, None if it is not compiled or numba cannot call it so."""
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

    loop: Callable[..., None] = evaluate
    return loop
