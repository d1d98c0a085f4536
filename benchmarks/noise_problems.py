"""Noisy problems: the 39 outside problems with noise, hyper-parameters, and a simulation.

- The problems `report` of `outside_problems.py` with normal noise whose deviation is 5 % of the
  interquartile range of their values over the box.
- Hyper-parameters of scikit-learn, on data that come with it: the error of a five-fold
  cross-validation, whose folds are drawn anew for every evaluation. The true value is the mean
  over 40 fixed divisions.
- A store with two goods: when to order, and how much of it, at the least mean cost per day. Demand
  is random. The true value is the mean of 400 fixed years.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from outside_problems import problems

#: The deviation of noise, as a share of the interquartile range of values over the box.
DEVIATION = 0.05


class NoisyProblem:
    """A noisy function over a box, which counts its evaluations and knows its true value.

    `noisy(x, rng)` returns a value, `true(x)` the mean of all values.
    """

    def __init__(
        self,
        name: str,
        bounds: list[tuple[float, float]],
        noisy: Callable[[np.ndarray, np.random.Generator], float],
        true: Callable[[np.ndarray], float],
        seed: int,
    ) -> None:
        self.name, self.bounds, self._noisy, self._true = name, bounds, noisy, true
        self.low, self.high = np.array(bounds, float).T
        self.dimension, self.evaluations = len(bounds), 0
        self.rng = np.random.default_rng([seed, len(bounds)])

    def value(self, x: Any) -> float:
        """Return the value without noise, at the nearest point of the box."""
        return float(self._true(np.clip(np.asarray(x, float), self.low, self.high)))

    def __call__(self, x: Any) -> float:
        self.evaluations += 1
        inside = np.clip(np.asarray(x, float), self.low, self.high)
        return float(self._noisy(inside, self.rng))


def outside(seed: int) -> list[NoisyProblem]:
    """Return all problems, with fresh counts and noise of a seed."""
    return [*with_noise("report", seed), *_hyper_parameters(seed), _store(seed)]


def with_noise(suite: str, seed: int) -> list[NoisyProblem]:
    """Return the problems of a suite of `outside_problems.py` with noise."""
    made = []
    for problem in problems(suite):
        sample = np.random.default_rng(1).uniform(
            problem.low, problem.high, (200, problem.dimension)
        )
        values = np.asarray(problem.values(sample), float)
        low, high = np.percentile(values[np.isfinite(values)], [25, 75])
        deviation = DEVIATION * (high - low)

        def true(x: np.ndarray, function: Any = problem.values) -> float:
            return float(np.nan_to_num(np.asarray(function(x[None]), float)[0], nan=1e300))

        def noisy(
            x: np.ndarray, rng: np.random.Generator, true: Any = true, deviation: float = deviation
        ) -> float:
            return float(true(x) + deviation * rng.standard_normal())

        made.append(NoisyProblem(problem.name, problem.bounds, noisy, true, seed))
    return made


# Hyper-parameters


def _hyper_parameters(seed: int) -> list[NoisyProblem]:
    """Return support vector machines, with the logarithms of C and gamma as variables."""
    from sklearn import datasets
    from sklearn.svm import SVC, SVR

    made = []
    for name, load, model in (
        ("SVC on wine", datasets.load_wine, SVC), ("SVC on iris", datasets.load_iris, SVC),
        ("SVR on diabetes", datasets.load_diabetes, SVR),
    ):  # fmt: skip
        X, y = load(return_X_y=True)
        X, y = X[:200], y[:200]
        y = y if model is SVC else y / np.std(y)
        error = partial(_error, X=(X - X.mean(0)) / X.std(0), y=y, model=model)
        true = partial(_mean_error, error=error)
        made.append(NoisyProblem(name, [(-3.0, 4.0), (-5.0, 2.0)], error, true, seed))
    return made


def _error(
    x: np.ndarray, rng: np.random.Generator, *, X: np.ndarray, y: np.ndarray, model: Any
) -> float:
    """Return the share of wrong classes, or the mean squared error, of a new cross-validation."""
    total = 0.0
    order = rng.permutation(len(y))
    for part in np.array_split(order, 5):
        rest = np.setdiff1d(order, part)
        fitted = model(C=10.0 ** x[0], gamma=10.0 ** x[1], max_iter=20_000).fit(X[rest], y[rest])
        found = fitted.predict(X[part])
        wrong = found != y[part] if model.__name__ == "SVC" else (found - y[part]) ** 2
        total += float(np.sum(wrong))
    return total / len(y)


def _mean_error(x: np.ndarray, *, error: Any) -> float:
    rng = np.random.default_rng(10_000)
    return float(np.mean([error(x, rng) for _ in range(40)]))


# A simulation


def _store(seed: int) -> NoisyProblem:
    def true(x: np.ndarray) -> float:
        rng = np.random.default_rng(20_000)
        return float(np.mean([_store_cost(x, rng) for _ in range(400)]))

    return NoisyProblem("store", [(0.0, 120.0), (1.0, 200.0)] * 2, _store_cost, true, seed)


def _store_cost(x: np.ndarray, rng: np.random.Generator) -> float:
    """Return the mean cost per day of a year: holding, lost sales, and orders.

    `x` holds, for each of two goods, the stock below which it is ordered, and the quantity. An
    order arrives after one to five days; demand is Poisson, and higher in one quarter.
    """
    total = 0.0
    for least, quantity, mean, holding, lost in (
        (x[0], x[1], 8.0, 0.05, 4.0), (x[2], x[3], 3.0, 0.2, 9.0),
    ):  # fmt: skip
        demand = rng.poisson(np.where(np.arange(360) // 90 == 2, 1.5 * mean, mean))
        delays = rng.integers(1, 6, 360)
        stock, due = 2.0 * least, -1
        for day in range(360):
            if day == due:
                stock, due = stock + quantity, -1
            sold = min(stock, float(demand[day]))
            stock -= sold
            total += holding * stock + lost * (demand[day] - sold)
            if due < 0 and stock <= least:
                due = day + int(delays[day])
                total += 30.0
    return total / 360
