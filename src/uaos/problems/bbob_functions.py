"""The 24 noiseless functions of BBOB, compiled.

A function is a chain of transformations of the points (shift, rotate, oscillate, skew, scale) that
ends in a simple function such as a sum of squares. The steps are kernels on all points of a batch,
and each function below reads as in the definition: Hansen, N., Finck, S., Ros, R. & Auger, A.
(2009), "Real-parameter black-box optimization benchmarking 2009: noiseless functions definitions",
INRIA report RR-6829.

The operations have the order that they have in COCO, so that values equal those of COCO to the last
bit (a test compares them), and runs do not depend on which of the two evaluates. For whole batches
these are three to ten times as fast. In sums over coordinates the inner loop runs over what is
independent, which lets the compiler vectorize without changing the order of a sum.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from uaos.arrays import FloatArray
from uaos.jit import njit

# Constants of the random numbers of BBOB (the minimal standard generator, with a shuffle table).
_MODULUS, _MULTIPLIER, _QUOTIENT, _REMAINDER = 2_147_483_647, 16_807, 127_773, 2_836
_TABLE, _TABLE_WIDTH, _DISCARDED = 32, 67_108_865, 8
_TINY = 1e-99

# Added to the seed of an instance for the second stream: the first rotation of most functions.
_SECOND = 1_000_000
#: Twice the distance of the optimum of Schwefel's function from 0, in each coordinate.
SCHWEFEL = 4.2096874637
# Functions that share the seeds of another one.
_SEED_OF = {4: 3, 18: 17}


@dataclass(frozen=True)
class Instance:
    """One instance of a function: where its optimum is, and how it is rotated.

    Parameters
    ----------
    number : int
        The function, 1 to 24.
    dimension : int
    instance : int
    """

    number: int
    dimension: int
    instance: int

    @cached_property
    def seed(self) -> int:
        """Seed of the random numbers."""
        return _SEED_OF.get(self.number, self.number) + 10_000 * self.instance

    @cached_property
    def f_opt(self) -> float:
        """Value that is added to the function: a ratio of Gaussian numbers, at most 1000."""
        numerator, denominator = _gauss(1, self.seed)[0], _gauss(1, self.seed + 1)[0]
        rounded = math.floor(100.0 * 100.0 * numerator / denominator + 0.5) / 100.0
        return min(1000.0, max(-1000.0, float(rounded)))

    @cached_property
    def smallest(self) -> float:
        """Smallest value; that of Schwefel's function is not exactly `f_opt`."""
        if self.number != 20:
            return self.f_opt
        return float(FUNCTIONS[20](self)(0.5 * SCHWEFEL * self.signs[None])[0])

    @cached_property
    def x_opt(self) -> FloatArray:
        """Position of the optimum in most functions, in [-4, 4] with four decimals."""
        seed = self.seed + _SECOND if self.number == 12 else self.seed
        point = 8 * np.floor(1e4 * _uniform(self.dimension, seed)) / 1e4 - 4
        point[point == 0.0] = -1e-5
        return point

    @cached_property
    def signs(self) -> FloatArray:
        """Random signs, one for each coordinate."""
        return np.where(_uniform(self.dimension, self.seed) < 0.5, -1.0, 1.0)

    @cached_property
    def exponents(self) -> list[float]:
        """Numbers from 0 to 1, equally spaced over the coordinates."""
        return [i / (self.dimension - 1.0) for i in range(self.dimension)]

    def powers(self, base: float) -> FloatArray:
        """Return powers of a base with exponents from 0 to 1."""
        return np.array([math.pow(base, exponent) for exponent in self.exponents])

    def skewness(self, beta: float) -> FloatArray:
        """Return the strength of :func:`skew` in each coordinate."""
        return np.array([beta * i / (self.dimension - 1.0) for i in range(self.dimension)])

    @cached_property
    def first_rotation(self) -> FloatArray:
        """Rotation R of the definitions, transposed."""
        return np.ascontiguousarray(_rotation(self.dimension, self.seed + _SECOND).T)

    @cached_property
    def second_rotation(self) -> FloatArray:
        """Rotation Q of the definitions, transposed."""
        return np.ascontiguousarray(_rotation(self.dimension, self.seed).T)

    def scaled_rotation(self, base: float) -> FloatArray:
        """Return the matrix R · diag(powers of the base) · Q, transposed."""
        product = np.zeros_like(self.first_rotation)
        for k, factor in enumerate(self.powers(base)):  # in the order of COCO's sum
            product += (self.first_rotation[k] * factor)[None, :] * self.second_rotation[:, k, None]
        return product


def _uniform(n: int, seed: int) -> FloatArray:
    """Return n uniform random numbers of BBOB."""
    state = max(abs(seed), 1)
    table = [0] * _TABLE
    for i in range(_TABLE + _DISCARDED - 1, -1, -1):
        state = _next_state(state)
        if i < _TABLE:
            table[i] = state
    drawn, numbers = table[0], np.empty(n)
    for i in range(n):
        state = _next_state(state)
        place = drawn // _TABLE_WIDTH
        drawn, table[place] = table[place], state
        numbers[i] = drawn / 2.147483647e9 or _TINY
    return numbers


def _next_state(state: int) -> int:
    quotient = state // _QUOTIENT
    state = _MULTIPLIER * (state - quotient * _QUOTIENT) - _REMAINDER * quotient
    return state + _MODULUS if state < 0 else state


def _gauss(n: int, seed: int) -> FloatArray:
    """Return n Gaussian random numbers of BBOB, by the method of Box and Muller."""
    u = _uniform(2 * n, seed)
    return np.array([
        math.sqrt(-2 * math.log(u[i])) * math.cos(2 * math.pi * u[n + i]) or _TINY
        for i in range(n)
    ])  # fmt: skip


def _rotation(dimension: int, seed: int) -> FloatArray:
    """Return a random rotation: Gaussian columns, made orthonormal by Gram and Schmidt."""
    columns = _gauss(dimension * dimension, seed).reshape(dimension, dimension)
    for i, column in enumerate(columns):
        for other in columns[:i]:
            column -= _dot(column, other) * other
        column /= math.sqrt(_dot(column, column))
    return columns.T


def _dot(a: FloatArray, b: FloatArray) -> float:
    """Return the inner product, summed from the first to the last coordinate."""
    return float(np.add.accumulate(a * b)[-1])


# Transformations: z has the points as rows


@njit
def rotate(z: FloatArray, transposed: FloatArray, offset: float) -> FloatArray:
    """Return M z + offset for each point, where `transposed` is the transpose of the matrix M."""
    rotated = np.full(z.shape, offset)
    for n in range(z.shape[0]):
        for j in range(z.shape[1]):
            for i in range(z.shape[1]):
                rotated[n, i] += z[n, j] * transposed[j, i]
    return rotated


@njit
def oscillate(z: FloatArray) -> FloatArray:
    """Return T_osz(z), which adds smooth local irregularities (in place)."""
    for n in range(z.shape[0]):
        for i in range(z.shape[1]):
            value = z[n, i]
            if value > 0.0:
                log = math.log(value) / 0.1
                exponent = log + 0.49 * (math.sin(log) + math.sin(0.79 * log))
                z[n, i] = math.pow(math.exp(exponent), 0.1)
            elif value < 0.0:
                log = math.log(-value) / 0.1
                exponent = log + 0.49 * (math.sin(0.55 * log) + math.sin(0.31 * log))
                z[n, i] = -math.pow(math.exp(exponent), 0.1)
    return z


@njit
def skew(z: FloatArray, strength: FloatArray) -> FloatArray:
    """Return T_asy(z), which breaks the symmetry about 0 (in place)."""
    for n in range(z.shape[0]):
        for i in range(z.shape[1]):
            if z[n, i] > 0.0:
                z[n, i] = math.pow(z[n, i], 1.0 + strength[i] * math.sqrt(z[n, i]))
    return z


@njit
def penalty(x: FloatArray) -> FloatArray:
    """Return the squared distance of each point from the box [-5, 5]^D."""
    distance = np.zeros(x.shape[0])
    for n in range(x.shape[0]):
        for i in range(x.shape[1]):
            excess = abs(x[n, i]) - 5.0
            if excess > 0.0:
                distance[n] += excess * excess
    return distance


# Simple functions, in which a chain of transformations ends


@njit
def weighted_squares(z: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the weighted sum of squares of each point."""
    total = np.zeros(z.shape[0])
    for n in range(z.shape[0]):
        for i in range(z.shape[1]):
            total[n] += weights[i] * z[n, i] * z[n, i]
    return total


@njit
def rastrigin_sum(z: FloatArray) -> FloatArray:
    """Return Rastrigin's function."""
    values = np.empty(z.shape[0])
    for n in range(z.shape[0]):
        cosines, squares = 0.0, 0.0
        for i in range(z.shape[1]):
            cosines += math.cos(2 * math.pi * z[n, i])
            squares += z[n, i] * z[n, i]
        values[n] = 10.0 * (z.shape[1] - cosines) + squares
    return values


@njit
def linear_slope(x: FloatArray, slope: FloatArray, best: FloatArray) -> FloatArray:
    """Return a linear function that is constant beyond the best corner of the box."""
    values = np.zeros(x.shape[0])
    for n in range(x.shape[0]):
        for i in range(x.shape[1]):
            inside = x[n, i] if x[n, i] * best[i] < 25.0 else best[i]
            values[n] += 5.0 * abs(slope[i]) - slope[i] * inside
    return values


@njit
def attractive_sector(z: FloatArray, x_opt: FloatArray) -> FloatArray:
    """Return a sum of squares that is steep in one orthant."""
    total = np.zeros(z.shape[0])
    for n in range(z.shape[0]):
        for i in range(z.shape[1]):
            weight = 10_000.0 if x_opt[i] * z[n, i] > 0.0 else 1.0
            total[n] += weight * z[n, i] * z[n, i]
    return total


@njit
def rosenbrock_sum(z: FloatArray) -> FloatArray:
    """Return Rosenbrock's function."""
    values = np.empty(z.shape[0])
    for n in range(z.shape[0]):
        valley, slope = 0.0, 0.0
        for i in range(z.shape[1] - 1):
            across = z[n, i] * z[n, i] - z[n, i + 1]
            along = z[n, i] - 1.0
            valley += across * across
            slope += along * along
        values[n] = 100.0 * valley + slope
    return values


@njit
def sharp_ridge(z: FloatArray) -> FloatArray:
    """Return a ridge along the first coordinate, which is not differentiable."""
    values = np.empty(z.shape[0])
    for n in range(z.shape[0]):
        squares = 0.0
        for i in range(1, z.shape[1]):
            squares += z[n, i] * z[n, i]
        values[n] = 100.0 * math.sqrt(squares) + z[n, 0] * z[n, 0]
    return values


@njit
def different_powers(z: FloatArray) -> FloatArray:
    """Return the root of a sum of powers from 2 to 6."""
    values = np.empty(z.shape[0])
    for n in range(z.shape[0]):
        total = 0.0
        for i in range(z.shape[1]):
            total += math.pow(abs(z[n, i]), 2.0 + 4.0 * i / (z.shape[1] - 1.0))
        values[n] = math.sqrt(total)
    return values


@njit
def weierstrass(z: FloatArray, amplitudes: FloatArray, frequencies: FloatArray) -> FloatArray:
    """Return the mean over the coordinates of a truncated Weierstrass series."""
    values = np.empty(z.shape[0])
    for n in range(z.shape[0]):
        total = 0.0
        for i in range(z.shape[1]):
            angle = 2 * math.pi * (z[n, i] + 0.5)
            for k in range(len(frequencies)):
                total += math.cos(angle * frequencies[k]) * amplitudes[k]
        values[n] = total / z.shape[1]
    return values


@njit
def schaffer(z: FloatArray) -> FloatArray:
    """Return Schaffer's function F7."""
    values = np.empty(z.shape[0])
    for n in range(z.shape[0]):
        total = 0.0
        for i in range(z.shape[1] - 1):
            squares = z[n, i] * z[n, i] + z[n, i + 1] * z[n, i + 1]
            wave = math.sin(50.0 * math.pow(squares, 0.1))
            total += math.pow(squares, 0.25) * (1.0 + wave * wave)
        mean = total / (z.shape[1] - 1.0)
        values[n] = mean * mean
    return values


@njit
def griewank_rosenbrock(z: FloatArray) -> FloatArray:
    """Return Griewank's function of the terms of Rosenbrock's."""
    values = np.empty(z.shape[0])
    for n in range(z.shape[0]):
        total = 0.0
        for i in range(z.shape[1] - 1):
            across, along = z[n, i] * z[n, i] - z[n, i + 1], 1.0 - z[n, i]
            term = 100.0 * across * across + along * along
            total += term / 4000.0 - math.cos(term)
        values[n] = 10.0 + 10.0 * total / (z.shape[1] - 1)
    return values


@njit
def schwefel(z: FloatArray) -> FloatArray:
    """Return Schwefel's function, with a penalty beyond 500."""
    values = np.empty(z.shape[0])
    for n in range(z.shape[0]):
        outside, total = 0.0, 0.0
        for i in range(z.shape[1]):
            excess = abs(z[n, i]) - 500.0
            if excess > 0.0:
                outside += excess * excess
            total += z[n, i] * math.sin(math.sqrt(abs(z[n, i])))
        values[n] = 0.01 * (outside + 418.9828872724339 - total / z.shape[1])
    return values


@njit
def highest_peak(
    z: FloatArray, centers: FloatArray, scales: FloatArray, heights: FloatArray
) -> FloatArray:
    """Return 10 minus the highest of many Gaussian peaks at each point."""
    values = np.empty(z.shape[0])
    for n in range(z.shape[0]):
        distances = np.zeros(len(heights))
        for j in range(z.shape[1]):
            for k in range(len(heights)):
                difference = z[n, j] - centers[j, k]
                distances[k] += scales[j, k] * difference * difference
        highest = 0.0
        for k in range(len(heights)):
            highest = max(highest, heights[k] * math.exp(-0.5 / z.shape[1] * distances[k]))
        values[n] = 10.0 - highest
    return values


@njit
def katsuura(z: FloatArray) -> FloatArray:
    """Return Katsuura's function, a product of sums that are continuous but nowhere smooth."""
    values = np.empty(z.shape[0])
    exponent = 10.0 / math.pow(z.shape[1], 1.2)
    for n in range(z.shape[0]):
        sums = np.zeros(z.shape[1])
        scale = 1.0
        for _ in range(32):
            scale *= 2.0
            for i in range(z.shape[1]):
                scaled = scale * z[n, i]
                sums[i] += abs(scaled - math.floor(scaled + 0.5)) / scale
        product = 1.0
        for i in range(z.shape[1]):
            product *= math.pow(1.0 + (i + 1.0) * sums[i], exponent)
        values[n] = 10.0 / z.shape[1] / z.shape[1] * (product - 1.0)
    return values


@njit
def lunacek(x_hat: FloatArray, z: FloatArray) -> FloatArray:
    """Return the function of two funnels by Lunacek, with the waves of Rastrigin's function."""
    values = np.empty(z.shape[0])
    dimension = float(z.shape[1])
    s = 1.0 - 0.5 / (math.sqrt(dimension + 20) - 4.1)
    second = -math.sqrt((2.5 * 2.5 - 1.0) / s)
    for n in range(z.shape[0]):
        funnel, other, cosines = 0.0, 0.0, 0.0
        for i in range(z.shape[1]):
            funnel += (x_hat[n, i] - 2.5) * (x_hat[n, i] - 2.5)
            other += (x_hat[n, i] - second) * (x_hat[n, i] - second)
            cosines += math.cos(2 * math.pi * z[n, i])
        values[n] = min(funnel, dimension + s * other) + 10.0 * (dimension - cosines)
    return values


# The functions: each prepares what depends on the instance, and returns a function of points (n, D)

Values = Callable[[FloatArray], FloatArray]


def _quadratic(weights: FloatArray, transform: Values, i: Instance) -> Values:
    return lambda x: weighted_squares(transform(x - i.x_opt), weights) + i.f_opt


def _sphere(i: Instance) -> Values:
    return _quadratic(np.ones(i.dimension), lambda z: z, i)


def _separable_ellipsoid(i: Instance) -> Values:
    return _quadratic(i.powers(1e6), oscillate, i)


def _separable_rastrigin(i: Instance) -> Values:
    strength, scales = i.skewness(0.2), _half_powers_of_ten(i.dimension)
    return lambda x: rastrigin_sum(scales * skew(oscillate(x - i.x_opt), strength)) + i.f_opt


def _half_powers_of_ten(D: int) -> FloatArray:
    """Return powers of 10 with exponents from 0 to 1/2."""
    return np.array([math.pow(10.0, 0.5 * k / (D - 1.0)) for k in range(D)])


def _bueche_rastrigin(i: Instance) -> Values:
    x_opt, scales = i.x_opt.copy(), i.powers(math.sqrt(10.0))
    x_opt[::2] = abs(x_opt[::2])
    even = np.arange(i.dimension) % 2 == 0

    def values(x: FloatArray) -> FloatArray:
        z = oscillate(x - x_opt)
        z = np.where((z > 0.0) & even, scales * 10.0, scales) * z
        return rastrigin_sum(z) + i.f_opt + 100.0 * penalty(x)

    return values


def _linear_slope(i: Instance) -> Values:
    best = np.where(i.x_opt < 0.0, -5.0, 5.0)
    slope = np.sign(best) * i.powers(10.0)
    return lambda x: linear_slope(x, slope, best) + i.f_opt


def _attractive_sector(i: Instance) -> Values:
    matrix = i.scaled_rotation(math.sqrt(10.0))

    def values(x: FloatArray) -> FloatArray:
        total = attractive_sector(rotate(x - i.x_opt, matrix, 0.0), i.x_opt)
        return _power(oscillate(total[:, None])[:, 0], 0.9) + i.f_opt

    return values


def _power(values: FloatArray, exponent: float) -> FloatArray:
    """Return powers by the C library, from which those of NumPy may differ in the last bit."""
    return np.array([math.pow(value, exponent) for value in values.tolist()])


def _step_ellipsoid(i: Instance) -> Values:
    weights = i.powers(100.0)
    first = np.ascontiguousarray(
        i.second_rotation
        * np.array([math.sqrt(math.pow(10.0, exponent)) for exponent in i.exponents])
    )

    def values(x: FloatArray) -> FloatArray:
        z = rotate(x - i.x_opt, first, 0.0)
        start = abs(z[:, 0]) * 1e-4
        z = np.where(abs(z) > 0.5, np.floor(z + 0.5), np.floor(10.0 * z + 0.5) / 10.0)
        total = np.maximum(start, weighted_squares(rotate(z, i.first_rotation, 0.0), weights))
        return 0.1 * total + penalty(x) + i.f_opt

    return values


def _rosenbrock(i: Instance) -> Values:
    x_opt, factor = 0.75 * i.x_opt, max(1.0, math.sqrt(i.dimension) / 8.0)
    return lambda x: rosenbrock_sum(factor * (x - x_opt) + 1.0) + i.f_opt


def _rotated_rosenbrock(i: Instance) -> Values:
    matrix = max(1.0, math.sqrt(i.dimension) / 8.0) * i.second_rotation
    return lambda x: rosenbrock_sum(rotate(x, matrix, 0.5)) + i.f_opt


def _ellipsoid(i: Instance) -> Values:
    return _quadratic(i.powers(1e6), lambda z: oscillate(rotate(z, i.first_rotation, 0.0)), i)


def _discus(i: Instance) -> Values:
    weights = np.array([1e6] + [1.0] * (i.dimension - 1))
    return _quadratic(weights, lambda z: oscillate(rotate(z, i.first_rotation, 0.0)), i)


def _bent_cigar(i: Instance) -> Values:
    weights, strength = np.array([1.0] + [1e6] * (i.dimension - 1)), i.skewness(0.5)
    return _quadratic(
        weights,
        lambda z: rotate(skew(rotate(z, i.first_rotation, 0.0), strength), i.first_rotation, 0.0),
        i,
    )


def _sharp_ridge(i: Instance) -> Values:
    matrix = i.scaled_rotation(math.sqrt(10.0))
    return lambda x: sharp_ridge(rotate(x - i.x_opt, matrix, 0.0)) + i.f_opt


def _different_powers(i: Instance) -> Values:
    return lambda x: different_powers(rotate(x - i.x_opt, i.first_rotation, 0.0)) + i.f_opt


def _rastrigin(i: Instance) -> Values:
    matrix, strength = i.scaled_rotation(math.sqrt(10.0)), i.skewness(0.2)

    def values(x: FloatArray) -> FloatArray:
        z = skew(oscillate(rotate(x - i.x_opt, i.first_rotation, 0.0)), strength)
        return rastrigin_sum(rotate(z, matrix, 0.0)) + i.f_opt

    return values


def _weierstrass(i: Instance) -> Values:
    matrix, terms = i.scaled_rotation(1.0 / math.sqrt(100.0)), range(12)
    amplitudes = np.array([math.pow(0.5, k) for k in terms])
    frequencies = np.array([math.pow(3.0, k) for k in terms])
    least = 0.0
    for amplitude, frequency in zip(amplitudes, frequencies, strict=True):
        least += amplitude * math.cos(2 * math.pi * frequency * 0.5)

    def values(x: FloatArray) -> FloatArray:
        z = rotate(oscillate(rotate(x - i.x_opt, i.first_rotation, 0.0)), matrix, 0.0)
        cubes = _power(weierstrass(z, amplitudes, frequencies) - least, 3.0)
        return 10.0 * cubes + i.f_opt + 10.0 / i.dimension * penalty(x)

    return values


def _schaffer(i: Instance, conditioning: float) -> Values:
    matrix = np.ascontiguousarray(i.second_rotation * i.powers(math.sqrt(conditioning)))
    strength = i.skewness(0.5)

    def values(x: FloatArray) -> FloatArray:
        z = rotate(skew(rotate(x - i.x_opt, i.first_rotation, 0.0), strength), matrix, 0.0)
        return schaffer(z) + i.f_opt + 10.0 * penalty(x)

    return values


def _griewank_rosenbrock(i: Instance) -> Values:
    matrix = max(1.0, math.sqrt(i.dimension) / 8.0) * i.second_rotation
    return lambda x: griewank_rosenbrock(rotate(x, matrix, 0.0) + 0.5) + i.f_opt


def _schwefel(i: Instance) -> Values:
    scales = _half_powers_of_ten(i.dimension)

    def values(x: FloatArray) -> FloatArray:
        z = 2.0 * (x * i.signs)
        z[:, 1:] += 0.25 * (z[:, :-1] - SCHWEFEL)
        z = 100.0 * (scales * (z - SCHWEFEL) + SCHWEFEL)
        return schwefel(z) + i.f_opt

    return values


def _gallagher(i: Instance, peaks: int, condition: float, width: float, center: float) -> Values:
    ranks = np.argsort(_uniform(peaks - 1, i.seed), kind="stable")
    conditions = [condition, *(math.pow(1000.0, int(rank) / (peaks - 2)) for rank in ranks)]
    heights = np.array([10.0, *(k / (peaks - 2) * (9.1 - 1.1) + 1.1 for k in range(peaks - 1))])
    scales = np.empty((i.dimension, peaks))
    for k, peak_condition in enumerate(conditions):
        order = np.argsort(_uniform(i.dimension, i.seed + 1000 * k), kind="stable")
        exponents = [int(rank) / (i.dimension - 1) - 0.5 for rank in order]
        scales[:, k] = [math.pow(peak_condition, exponent) for exponent in exponents]
    positions = width * _uniform(i.dimension * peaks, i.seed).reshape(peaks, i.dimension) - center
    centers = rotate(positions, i.second_rotation, 0.0)
    centers[0] *= 0.8
    centers = np.ascontiguousarray(centers.T)

    def values(x: FloatArray) -> FloatArray:
        root = oscillate(
            highest_peak(rotate(x, i.second_rotation, 0.0), centers, scales, heights)[:, None]
        )[:, 0]
        return root * root + penalty(x) + i.f_opt

    return values


def _katsuura(i: Instance) -> Values:
    matrix = i.scaled_rotation(math.sqrt(100.0))
    return lambda x: katsuura(rotate(x - i.x_opt, matrix, 0.0)) + i.f_opt + penalty(x)


def _lunacek(i: Instance) -> Values:
    signs = np.where(_gauss(i.dimension, i.seed) < 0.0, -1.0, 1.0)
    first = np.ascontiguousarray(i.second_rotation * i.powers(math.sqrt(100.0)))

    def values(x: FloatArray) -> FloatArray:
        x_hat = 2.0 * x * signs
        z = rotate(rotate(x_hat - 2.5, first, 0.0), i.first_rotation, 0.0)
        return lunacek(x_hat, z) + 1e4 * penalty(x) + i.f_opt

    return values


#: Factories of the functions, by number.
FUNCTIONS: dict[int, Callable[[Instance], Values]] = {
    1: _sphere,
    2: _separable_ellipsoid,
    3: _separable_rastrigin,
    4: _bueche_rastrigin,
    5: _linear_slope,
    6: _attractive_sector,
    7: _step_ellipsoid,
    8: _rosenbrock,
    9: _rotated_rosenbrock,
    10: _ellipsoid,
    11: _discus,
    12: _bent_cigar,
    13: _sharp_ridge,
    14: _different_powers,
    15: _rastrigin,
    16: _weierstrass,
    17: lambda i: _schaffer(i, 10.0),
    18: lambda i: _schaffer(i, 1000.0),
    19: _griewank_rosenbrock,
    20: _schwefel,
    21: lambda i: _gallagher(i, 101, math.sqrt(1000.0), 10.0, 5.0),
    22: lambda i: _gallagher(i, 21, 1000.0, 9.8, 4.9),
    23: _katsuura,
    24: _lunacek,
}
