"""Gaussian process over real, integer and categorical coordinates.

The covariance is Matérn's with ν = 5/2, of a distance with one length per coordinate::

    k(x, x') = s² (1 + √5 r + 5 r²/3) exp(-√5 r)      r² = Σ_j d_j² / ℓ_j²

where d_j is the difference of two numbers, scaled to [0, 1], and for categories 1 if they differ.
The lengths ℓ and the share of noise are those that maximize the likelihood times a prior; the
variance s² has its best value given these.

Rasmussen, C. E. & Williams, C. K. I. (2006), Gaussian Processes for Machine Learning, MIT Press.
Jones, D. R., Schonlau, M. & Welch, W. J. (1998), "Efficient global optimization of expensive
black-box functions", Journal of Global Optimization 13.
"""

import math
from typing import NamedTuple

import numpy as np

from uaos.arrays import BoolArray, FloatArray
from uaos.jit import njit

# Limits of the logarithms of lengths and of the noise, and the prior: mean and standard deviation.
_LENGTHS, _NOISE = (math.log(0.02), math.log(30.0)), (math.log(1e-6), math.log(0.5))
_LENGTH_PRIOR_SD, _NOISE_PRIOR = 0.9, (math.log(1e-3), 2.0)
# Steps of the likelihood's maximization, and the first step size.
_STEPS, _RATE = 25, 0.25

_ROOT_5 = math.sqrt(5.0)


class GaussianProcess(NamedTuple):
    """A fitted process; made by :func:`condition`.

    Attributes
    ----------
    points : ndarray, shape (n, d)
        The points, with numbers scaled to [0, 1].
    categories : ndarray of bool, shape (d,)
        Which coordinates are categories.
    hyper : ndarray, shape (d + 1,)
        Logarithms of the lengths and of the noise.
    weights : ndarray, shape (n,)
        K⁻¹ y.
    precision : ndarray, shape (n, n)
        K⁻¹, for a process with variance 1.
    variance : float
        s².
    """

    points: FloatArray
    categories: BoolArray
    hyper: FloatArray
    weights: FloatArray
    precision: FloatArray
    variance: float

    def predict(self, at: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return means and standard deviations at points, (m, d)."""
        cross = covariance(at, self.points, self.categories, np.exp(self.hyper[:-1]))
        mean = cross @ self.weights
        explained = np.einsum("ij,ij->i", cross @ self.precision, cross)
        return mean, np.sqrt(self.variance * np.maximum(1.0 - explained, 1e-12))


@njit
def _difference(a: float, b: float, category: bool, length: float) -> float:
    """Return the difference of two coordinates, 0 or 1 for categories, divided by the length."""
    difference = a - b
    if category:
        difference = 0.0 if difference == 0.0 else 1.0
    return difference / length


@njit
def _add_squares(
    squares: FloatArray,
    x: FloatArray,
    columns: FloatArray,
    categories: BoolArray,
    lengths: FloatArray,
) -> None:
    """Add the squared distances of x from points whose coordinates are the rows of `columns`.

    The inner loop is over points, so that it compiles to instructions for several at a time.
    """
    for j in range(len(lengths)):
        column = columns[j]
        for k in range(len(squares)):
            difference = _difference(x[j], column[k], categories[j], lengths[j])
            squares[k] += difference * difference


@njit
def covariance(
    left: FloatArray, right: FloatArray, categories: BoolArray, lengths: FloatArray
) -> FloatArray:
    """Return the covariances of a process with variance 1, (m, n)."""
    result = np.zeros((len(left), len(right)))
    columns = np.ascontiguousarray(right.T)
    for i in range(len(left)):
        row = result[i]
        _add_squares(row, left[i], columns, categories, lengths)
        for k in range(len(right)):
            scaled = _ROOT_5 * math.sqrt(row[k])
            row[k] = (1.0 + scaled + scaled * scaled / 3.0) * math.exp(-scaled)
    return result


@njit
def length_gradient(
    points: FloatArray, categories: BoolArray, lengths: FloatArray, weights: FloatArray
) -> FloatArray:
    """Return Σ_ik weights[i, k] ∂k(x_i, x_k)/∂ log ℓ_j for each j, variance 1."""
    gradient = np.zeros(len(lengths))
    columns = np.ascontiguousarray(points.T)
    for i in range(len(points)):
        squares = np.zeros(i)
        _add_squares(squares, points[i], columns, categories, lengths)
        for k in range(i):
            scaled = _ROOT_5 * math.sqrt(squares[k])
            slope = 5.0 / 3.0 * (1.0 + scaled) * math.exp(-scaled)
            for j in range(len(lengths)):
                difference = _difference(points[i, j], points[k, j], categories[j], lengths[j])
                gradient[j] += 2.0 * weights[i, k] * slope * (difference * difference)
    return gradient


def fitted_hyper(
    points: FloatArray, values: FloatArray, categories: BoolArray, start: FloatArray | None = None
) -> FloatArray:
    """Return the hyper-parameters of a process that fit values of mean 0.

    Parameters
    ----------
    points : ndarray, shape (n, d)
        The points, with numbers scaled to [0, 1].
    values : ndarray, shape (n,)
        Their values.
    categories : ndarray of bool, shape (d,)
        Which coordinates are categories.
    start : ndarray, shape (d + 1,), optional
        Hyper-parameters to start from, such as those of an earlier fit, beside the prior's mean.

    Returns
    -------
    ndarray, shape (d + 1,)
    """
    starts = [default_hyper(points.shape[1]), *([] if start is None else [start])]
    fits = [_descend(points, values, categories, hyper) for hyper in starts]
    return min(fits, key=lambda fitted: fitted[0])[1]


def _descend(
    points: FloatArray, values: FloatArray, categories: BoolArray, hyper: FloatArray
) -> tuple[float, FloatArray]:
    """Return the smallest loss of a descent from hyper-parameters, and where it was found."""
    low = np.append(np.full(len(hyper) - 1, _LENGTHS[0]), _NOISE[0])
    high = np.append(np.full(len(hyper) - 1, _LENGTHS[1]), _NOISE[1])
    best, lowest = hyper, np.inf
    rates, last = np.full(len(hyper), _RATE), np.zeros(len(hyper))
    for _ in range(_STEPS):
        loss, gradient = _loss(points, values, categories, hyper)
        if loss < lowest:
            best, lowest = hyper, loss
        # Rprop: each coordinate has its step, which grows while the sign of its slope stays.
        rates = np.clip(np.where(gradient * last < 0, 0.5 * rates, 1.2 * rates), 1e-3, 1.0)
        last = gradient
        hyper = np.clip(hyper - rates * np.sign(gradient), low, high)
    return lowest, best


def default_hyper(dimension: int) -> FloatArray:
    """Return the mean of the prior: lengths that grow with the dimension, little noise."""
    lengths = np.full(dimension, math.log(0.5 * math.sqrt(dimension)))
    return np.append(lengths, _NOISE_PRIOR[0])


def condition(
    points: FloatArray, values: FloatArray, categories: BoolArray, hyper: FloatArray
) -> GaussianProcess:
    """Return the process with these hyper-parameters, given the values."""
    precision, _ = _inverse(points, categories, hyper)
    weights = precision @ values
    variance = max(float(values @ weights) / len(values), 1e-12)
    return GaussianProcess(points, categories, hyper, weights, precision, variance)


def _inverse(
    points: FloatArray, categories: BoolArray, hyper: FloatArray
) -> tuple[FloatArray, float]:
    """Return K⁻¹ and log |K|."""
    K = covariance(points, points, categories, np.exp(hyper[:-1]))
    K[np.diag_indices_from(K)] += math.exp(hyper[-1])
    root = np.linalg.cholesky(K)
    inverse_root = np.linalg.inv(root)
    return inverse_root.T @ inverse_root, 2.0 * float(np.log(np.diag(root)).sum())


def _loss(
    points: FloatArray, values: FloatArray, categories: BoolArray, hyper: FloatArray
) -> tuple[float, FloatArray]:
    """Return the negative logarithm of likelihood times prior, and its gradient."""
    precision, log_determinant = _inverse(points, categories, hyper)
    weights = precision @ values
    n = len(values)
    variance = max(float(values @ weights) / n, 1e-12)
    center = default_hyper(len(hyper) - 1)
    spread = np.append(np.full(len(hyper) - 1, _LENGTH_PRIOR_SD), _NOISE_PRIOR[1])
    deviations = (hyper - center) / spread
    loss = 0.5 * (n * math.log(variance) + log_determinant + float(deviations @ deviations))
    sensitivity = 0.5 * (precision - np.outer(weights, weights) / variance)
    slopes = length_gradient(points, categories, np.exp(hyper[:-1]), sensitivity)
    noise = math.exp(hyper[-1]) * float(np.trace(sensitivity))
    return loss, np.append(slopes, noise) + deviations / spread


@njit
def log_improvement(means: FloatArray, deviations: FloatArray, best: float) -> FloatArray:
    """Return the logarithm of the expected improvement over `best`.

    EI = σ (φ(u) + u Φ(u)) with u = (best - μ) / σ; for small u by its asymptotic expansion.
    """
    result = np.empty(len(means))
    for i in range(len(means)):
        u = (best - means[i]) / deviations[i]
        density = -0.5 * u * u - 0.9189385332046727  # log φ(u)
        if u > -6.0:
            gain = math.exp(density) + 0.5 * u * math.erfc(-u / math.sqrt(2.0))
            result[i] = math.log(max(gain, 1e-300)) + math.log(deviations[i])
        else:
            result[i] = density - 2.0 * math.log(-u) + math.log(deviations[i])
    return result


@njit
def log_probability(means: FloatArray, deviations: FloatArray, limit: float) -> FloatArray:
    """Return the logarithm of the probability of a value of at most `limit`.

    P = Φ(u) with u = (limit - μ) / σ; for small u by its asymptotic expansion.
    """
    result = np.empty(len(means))
    for i in range(len(means)):
        u = (limit - means[i]) / deviations[i]
        if u > -6.0:
            result[i] = math.log(0.5 * math.erfc(-u / math.sqrt(2.0)))
        else:
            result[i] = -0.5 * u * u - 0.9189385332046727 - math.log(-u)
    return result
