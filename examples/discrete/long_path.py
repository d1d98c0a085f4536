"""The long k-path: a hill that winds through the bit strings, with rare short cuts.

Every point of the path is one flip from the next, so that single flips climb it step by step; flips
of k = 3 bits nearly always leave it, but now and then jump far ahead. Rudolph, G. (1997),
"Convergence properties of evolutionary algorithms"; as a test of adaptive operator selection:
Fialho, Á., Schoenauer, M. & Sebag, M. (2009), "Analysis of adaptive operator selection techniques
on the royal road and long k-path problems", GECCO.

    python examples/discrete/long_path.py --plot long_path.png
"""

import numpy as np
from bits import OPERATORS
from competition import Problem, main

K = 3


def path(length: int) -> np.ndarray:
    """The points of the path from its start, 0…0, to its end, in rows.

    A path over k more bits: the shorter path behind k zeros, then its last point behind 0…01,
    0…011, up to k − 1 ones, then the shorter path backwards behind k ones.
    """
    points = np.array([[False], [True]])
    ones = np.tri(K - 1, K, dtype=bool)[:, ::-1]
    while points.shape[1] < length:
        zeros = np.zeros((len(points), K), dtype=bool)
        bridge = np.hstack([ones, np.repeat(points[-1:], K - 1, axis=0)])
        points = np.vstack([np.hstack([zeros, points]), bridge, np.hstack([~zeros, points[::-1]])])
    return points


def problem(quick: bool) -> Problem:
    length = 10 if quick else 22
    points = path(length)
    weights = 1 << np.arange(length)
    numbers = points @ weights
    order = numbers.argsort()

    def left(bits):
        """Steps to the end of the path; off the path, beyond its length, the ones: back to 0…0."""
        codes = bits @ weights
        place = order[np.searchsorted(numbers, codes, sorter=order).clip(max=len(order) - 1)]
        on_path = numbers[place] == codes
        return np.where(on_path, len(points) - 1 - place, len(points) + bits.sum(axis=1))

    return Problem(
        name=f"long {K}-path, {length} bits, {len(points)} points",
        start=lambda rng: np.zeros(length, dtype=bool),
        fitness=left,
        operators=OPERATORS,
        offspring=20,
        generations=100 if quick else 1500,
        target=0,
        unit="points left",
    )


if __name__ == "__main__":
    main(problem)
