"""The traveling salesman: three neighborhoods of a tour through fifty cities.

A reversal (2-opt) repairs crossings, moving a few cities elsewhere (or-opt) repairs detours, and
swapping two cities rarely repairs anything. Early on nearly every move helps; late, few do.

    python examples/discrete/traveling_salesman.py --plot traveling_salesman.png
"""

import numpy as np
from competition import Problem, main


def _two_places(parent, n, rng):
    """For each of n offspring two different places of the tour, in order."""
    first = rng.integers(len(parent), size=n)
    second = (first + rng.integers(1, len(parent), size=n)) % len(parent)
    return np.minimum(first, second)[:, None], np.maximum(first, second)[:, None]


def two_opt(parent, n, rng):
    """Reverse a stretch of the tour."""
    low, high = _two_places(parent, n, rng)
    at = np.arange(len(parent))
    return parent[np.where((at >= low) & (at <= high), low + high - at, at)]


def or_opt(parent, n, rng):
    """Move a stretch of one to three cities elsewhere."""
    at = np.arange(len(parent))
    size = rng.integers(1, 4, size=(n, 1))
    begin = rng.integers(len(parent), size=(n, 1))
    # The tour turned so that the stretch comes first, then put behind a city of the rest (but
    # not the last one, where it came from).
    turned = parent[(begin + at) % len(parent)]
    behind = rng.integers(size, len(parent) - 1, size=(n, 1))
    keys = np.where(at < size, behind + 0.5, at)
    return np.take_along_axis(turned, keys.argsort(axis=1, kind="stable"), axis=1)


def swap(parent, n, rng):
    """Exchange two cities."""
    low, high = _two_places(parent, n, rng)
    at = np.arange(len(parent))
    return parent[np.where(at == low, high, np.where(at == high, low, at))]


def problem(quick: bool) -> Problem:
    cities = np.random.default_rng(2005).random((12 if quick else 50, 2))
    distances = np.hypot(*(cities[:, None] - cities).transpose(2, 0, 1))

    def length(tours):
        return distances[tours, np.roll(tours, -1, axis=1)].sum(axis=1)

    return Problem(
        name=f"traveling salesman, {len(cities)} cities",
        start=lambda rng: rng.permutation(len(cities)),
        fitness=length,
        operators={"2-opt": two_opt, "or-opt": or_opt, "swap": swap},
        offspring=40,
        generations=30 if quick else 400,
        unit="length of the tour",
    )


if __name__ == "__main__":
    main(problem)
