"""Run EA4eig on three rotated functions in 10-D, 15 times each:  python benchmarks/ea4eig.py"""

import numpy as np

import uaos

D, SEEDS = 10, range(15)
ROTATION = np.linalg.qr(np.random.default_rng(0).standard_normal((D, D)))[0]
SHIFT = np.random.default_rng(1).uniform(-2, 2, D)


def rastrigin(X):
    """Rastrigin's function."""
    Z = (X - SHIFT) @ ROTATION.T
    return 10 * D + np.sum(Z**2 - 10 * np.cos(2 * np.pi * Z), axis=1)


def rosenbrock(X):
    """Rosenbrock's function."""
    Z = (X - SHIFT) @ ROTATION.T + 1
    return np.sum(100 * (Z[:, 1:] - Z[:, :-1] ** 2) ** 2 + (1 - Z[:, :-1]) ** 2, axis=1)


def discus(X):
    """Discus: one coordinate a million times as steep."""
    Z = (X - SHIFT) @ ROTATION.T
    return 1e6 * Z[:, 0] ** 2 + np.sum(Z[:, 1:] ** 2, axis=1)


def main():
    """Print solved runs and the mean of the best values."""
    for function, budget in ((rastrigin, 10_000 * D), (rosenbrock, 2000 * D), (discus, 2000 * D)):
        values = [
            uaos.minimize(function, [(-5, 5)] * D, method="EA4eig", budget=budget, target=1e-8,
                          seed=seed, vectorized=True).fun
            for seed in SEEDS
        ]  # fmt: skip
        solved = sum(value <= 1e-8 for value in values)
        print(f"{function.__name__}, {budget:,} evaluations: {solved} of {len(values)} solved, "
              f"mean {np.mean(values):.2g}")  # fmt: skip


if __name__ == "__main__":
    main()
