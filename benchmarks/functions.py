"""Functions that the benchmarks minimize, all in 20 dimensions."""

from collections.abc import Callable
from functools import cache
from typing import Any

import cocoex
import numba
import numpy as np

D = 20
BOUNDS = [(-5.0, 5.0)] * D


def sphere(x: np.ndarray) -> float:
    """Return a value that is nearly free: one call of NumPy."""
    return x.dot(x)


def rastrigin(x: np.ndarray) -> float:
    """Compute an ordinary Python objective: a handful of NumPy calls."""
    return 10.0 * D + float(np.sum(x * x - 10.0 * np.cos(2.0 * np.pi * x)))


def rosenbrock(X: np.ndarray) -> np.ndarray:
    """Compute the values of a whole generation, (n, D)."""
    head, tail = X[:, :-1], X[:, 1:]
    return (100.0 * (tail - head * head) ** 2 + (1.0 - head) ** 2).sum(axis=1)


@numba.njit
def compiled_rosenbrock(x: np.ndarray) -> float:
    """Return the value at one point, for compiled callers."""
    total = 0.0
    for i in range(len(x) - 1):
        total += 100.0 * (x[i + 1] - x[i] * x[i]) ** 2 + (1.0 - x[i]) ** 2
    return total


def bbob(function: int) -> Callable[[np.ndarray], Any]:
    """Return a BBOB function, instance 1."""
    return _suite().get_problem_by_function_dimension_instance(function, D, 1)


@cache
def _suite() -> cocoex.Suite:
    """Return the suite, cached because a problem lives only as long as its suite."""
    return cocoex.Suite("bbob", "instances:1", f"dimensions:{D}")
