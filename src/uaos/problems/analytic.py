"""Functions with the minimum 0, of one point (D,) or of many (n, D) at once."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Value = NDArray[np.float64]


def sphere(x: ArrayLike) -> Value:
    """Σ x_j², least at 0: the easiest there is."""
    x = np.asarray(x, float)
    return np.asarray((x**2).sum(axis=-1))


def rosenbrock(x: ArrayLike) -> Value:
    """Σ 100 (x_{j+1} − x_j²)² + (1 − x_j)², least at 1: a bent, narrow valley."""
    x = np.asarray(x, float)
    a, b = x[..., :-1], x[..., 1:]
    return np.asarray((100.0 * (b - a**2) ** 2 + (1.0 - a) ** 2).sum(axis=-1))


def rastrigin(x: ArrayLike) -> Value:
    """10 D + Σ x_j² − 10 cos 2πx_j, least at 0: a regular grid of local minima."""
    x = np.asarray(x, float)
    return np.asarray((x**2 - 10.0 * np.cos(2.0 * np.pi * x) + 10.0).sum(axis=-1))


def ackley(x: ArrayLike) -> Value:
    """Least at 0: a nearly flat, rippled plain with a deep hole in the middle."""
    x = np.asarray(x, float)
    far = np.exp(-0.2 * np.sqrt((x**2).mean(axis=-1)))
    ripples = np.exp(np.cos(2.0 * np.pi * x).mean(axis=-1))
    return np.asarray(20.0 + np.e - 20.0 * far - ripples)
