"""Objectives that numba has compiled: a batch of points in one compiled loop."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError

from uaos.jit import njit
from uaos.optimizers.arguments import Array


def over_batch(fun: Any, dimension: int, args: Any, threads: int) -> Callable[..., Array] | None:
    """Return `fun` as a function of many points, (n, D), if numba has compiled it.

    Parameters
    ----------
    fun : callable
        The objective of one point.
    dimension : int
        The number of coordinates.
    args : tuple
        The further arguments it will get.
    threads : int
        How many threads share a batch.

    Returns
    -------
    callable or None
        None if it is not compiled, or numba cannot call it so.
    """
    if not isinstance(fun, Dispatcher) or not isinstance(args, tuple):
        return None
    loop = _loop(fun)
    try:
        loop(np.zeros((0, dimension)), *args)  # compiles, and evaluates nothing
    except NumbaError:
        return None
    return loop if threads == 1 else _Threads(loop, threads)


@lru_cache(maxsize=16)
def _loop(fun: Any) -> Any:
    @njit(nogil=True)
    def evaluate(X: Array, *args: Any) -> Array:
        values = np.empty(len(X))
        for i in range(len(X)):
            values[i] = fun(X[i], *args)
        return values

    return evaluate


class _Threads:
    """A loop over a batch whose parts several threads evaluate."""

    def __init__(self, loop: Any, threads: int) -> None:
        self._loop, self._threads = loop, threads
        self._pool = ThreadPoolExecutor(threads)

    def __call__(self, X: Array, *args: Any) -> Array:
        parts = np.array_split(X, min(self._threads, len(X)))
        return np.concatenate(list(self._pool.map(lambda part: self._loop(part, *args), parts)))
