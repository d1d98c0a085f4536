"""Test functions with minimum 0, of one point (D,) or of several (n, D)."""

import numpy as np
from numpy.typing import ArrayLike

from uaos.arrays import FloatArray


def sphere(x: ArrayLike) -> FloatArray:
    """Compute Σ x_j², with minimum 0 at 0: the easiest test function.

    Parameters
    ----------
    x : array_like, shape (D,) or (n, D)
        A point, or several.

    Returns
    -------
    float or ndarray
        The value of each point.

    Examples
    --------
    >>> from uaos.problems import sphere
    >>> float(sphere([1.0, 2.0]))
    5.0
    """
    x = np.asarray(x, float)
    return np.asarray((x**2).sum(axis=-1))


def rosenbrock(x: ArrayLike) -> FloatArray:
    """Compute Σ 100 (x_{j+1} − x_j²)² + (1 − x_j)², with minimum 0 at 1: a narrow, curved valley.

    Parameters
    ----------
    x : array_like, shape (D,) or (n, D)
        A point, or several.

    Returns
    -------
    float or ndarray
        The value of each point.

    Examples
    --------
    >>> from uaos.problems import rosenbrock
    >>> rosenbrock([[1.0, 1.0], [0.0, 0.0]])
    array([0., 1.])
    """
    x = np.asarray(x, float)
    a, b = x[..., :-1], x[..., 1:]
    return np.asarray((100.0 * (b - a**2) ** 2 + (1.0 - a) ** 2).sum(axis=-1))


def rastrigin(x: ArrayLike) -> FloatArray:
    """Compute 10 D + Σ x_j² − 10 cos 2πx_j, with minimum 0 at 0: a regular grid of local minima.

    Parameters
    ----------
    x : array_like, shape (D,) or (n, D)
        A point, or several.

    Returns
    -------
    float or ndarray
        The value of each point.

    Examples
    --------
    >>> from uaos.problems import rastrigin
    >>> float(rastrigin([1.0, 0.0]))
    1.0
    """
    x = np.asarray(x, float)
    return np.asarray((x**2 - 10.0 * np.cos(2.0 * np.pi * x) + 10.0).sum(axis=-1))


def ackley(x: ArrayLike) -> FloatArray:
    """Compute Ackley's function, with minimum 0 at 0: a rippled plain with a deep hole.

    Parameters
    ----------
    x : array_like, shape (D,) or (n, D)
        A point, or several.

    Returns
    -------
    float or ndarray
        The value of each point.

    Examples
    --------
    >>> from uaos.problems import ackley
    >>> bool(ackley([0.0, 0.0]) < 1e-12)
    True
    """
    x = np.asarray(x, float)
    hole = np.exp(-0.2 * np.sqrt((x**2).mean(axis=-1)))
    ripples = np.exp(np.cos(2.0 * np.pi * x).mean(axis=-1))
    return np.asarray(20.0 + np.e - 20.0 * hole - ripples)
