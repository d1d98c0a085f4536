"""Operators on bit strings: those with which the literature compares ways to choose one."""

from collections.abc import Callable

import numpy as np


def flip(count: int) -> Callable:
    """Flip exactly `count` bits, all different."""

    def operator(parent, n, rng):
        places = np.empty((n, count), int)
        # Floyd's sampling: each place below `last`, or `last` itself if that is taken.
        for i, last in enumerate(range(len(parent) - count, len(parent))):
            place = rng.integers(last + 1, size=n)
            taken = (places[:, :i] == place[:, None]).any(axis=1)
            places[:, i] = np.where(taken, last, place)
        offspring = np.repeat(parent[None], n, axis=0)
        rows = np.arange(n)[:, None]
        offspring[rows, places] = ~offspring[rows, places]
        return offspring

    return operator


def flip_each(parent, n, rng):
    """Flip every bit with probability 1/length."""
    return parent ^ (rng.random((n, len(parent))) < 1 / len(parent))


OPERATORS = {"1 bit": flip(1), "3 bits": flip(3), "5 bits": flip(5), "1/n each": flip_each}


def random_bits(length: int) -> Callable:
    """A start: every bit 0 or 1 with the same chance."""
    return lambda rng: rng.random(length) < 0.5
