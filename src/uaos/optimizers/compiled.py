"""Objectives that numba has compiled: a batch of points in one compiled loop."""

from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError

from uaos.jit import njit
from uaos.optimizers.arguments import Array


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

    def __call__(self, X: Array, *args: Any) -> Array:
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
        def evaluate(X: Array, values: Array, *args: Any) -> None:
            for i in range(len(X)):
                values[i] = fun(X[i], *args)

    else:  # a function of fixed arguments, which a compiled loop can be given

        @njit(nogil=True)
        def evaluate(X: Array, values: Array) -> None:
            for i in range(len(X)):
                values[i] = fun(X[i])

    return evaluate
