"""Six functions of different dimensions, two of them with an unknown optimum: a user's suite."""

import numpy as np

import uaos


def trid(x):
    """Least at -D (D + 4) (D - 1) / 6."""
    return float(((x - 1) ** 2).sum() - (x[1:] * x[:-1]).sum())


class Shifted:
    """A sphere somewhere else."""

    def __init__(self, by):
        self.by = by

    def __call__(self, x):
        return float(((x - self.by) ** 2).sum())


def egg(points):
    """Several points at once."""
    return np.abs(points).sum(axis=1) + np.sin(3 * points).sum(axis=1)


def box(d, size=4.0):
    return [(-size, size)] * d


suite = uaos.Suite("six", [
    uaos.Problem(trid, box(3, 9.0), name="trid 3-D", function="trid", optimum=-7.0),
    uaos.Problem(trid, box(4, 16.0), name="trid 4-D", function="trid", optimum=-16.0),
    uaos.Problem(Shifted(0.5), box(2), name="shifted", optimum=0.0, group="easy"),
    uaos.Problem(lambda x: float(np.abs(x).max()), box(5), name="max", optimum=0.0),
    uaos.Problem(egg, box(2), vectorized=True),
    uaos.Problem(lambda x: float(np.cos(x).sum() + 0.01 * (x**2).sum()), box(6), name="waves"),
])  # fmt: skip
