"""Functions with the minimum 0, of one point (D,) or of many (n, D) at once."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Value = NDArray[np.float64]


def sphere(x: ArrayLike) -> Value:
    """Σ x_j², minimum 0 at 0: the easiest there is.

    Parameters
    ----------
    x : array_like, shape (D,) or (n, D)
        A point, or several.

    Returns
    -------
    float or ndarray
        Their values.

    Examples
    --------
    >>> from uaos.problems import sphere
    >>> float(sphere([1.0, 2.0]))
    5.0
    """
    x = np.asarray(x, float)
    return np.asarray((x**2).sum(axis=-1))


def rosenbrock(x: ArrayLike) -> Value:
    """Σ 100 (x_{j+1} − x_j²)² + (1 − x_j)², minimum 0 at 1: a bent, narrow valley.

    Parameters
    ----------
    x : array_like, shape (D,) or (n, D)
        A point, or several.

    Returns
    -------
    float or ndarray
        Their values.

    Examples
    --------
    >>> from uaos.problems import rosenbrock
    >>> rosenbrock([[1.0, 1.0], [0.0, 0.0]])
    array([0., 1.])
    """
    x = np.asarray(x, float)
    a, b = x[..., :-1], x[..., 1:]
    return np.asarray((100.0 * (b - a**2) ** 2 + (1.0 - a) ** 2).sum(axis=-1))


def rastrigin(x: ArrayLike) -> Value:
    """10 D + Σ x_j² − 10 cos 2πx_j, minimum 0 at 0: a regular grid of local minima.

    Parameters
    ----------
    x : array_like, shape (D,) or (n, D)
        A point, or several.

    Returns
    -------
    float or ndarray
        Their values.

    Examples
    --------
    >>> from uaos.problems import rastrigin
    >>> float(rastrigin([1.0, 0.0]))
    1.0
    """
    x = np.asarray(x, float)
    return np.asarray((x**2 - 10.0 * np.cos(2.0 * np.pi * x) + 10.0).sum(axis=-1))


def ackley(x: ArrayLike) -> Value:
    """A nearly flat, rippled plain with a deep hole in the middle; minimum 0 at 0.

    Parameters
    ----------
    x : array_like, shape (D,) or (n, D)
        A point, or several.

    Returns
    -------
    float or ndarray
        Their values.

    Examples
    --------
    >>> from uaos.problems import ackley
    >>> bool(ackley([0.0, 0.0]) < 1e-12)
    True
    """
    x = np.asarray(x, float)
    far = np.exp(-0.2 * np.sqrt((x**2).mean(axis=-1)))
    ripples = np.exp(np.cos(2.0 * np.pi * x).mean(axis=-1))
    return np.asarray(20.0 + np.e - 20.0 * far - ripples)
