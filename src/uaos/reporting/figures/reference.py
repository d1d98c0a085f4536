"""best2009 at each of the 51 targets of a runtime profile.

The file `best2009_targets.csv` holds a row for each function and dimension: the aRT of the best of
the algorithms of BBOB-2009 to 10^2, 10^1.8, … 10^-8, as cocopp 2.9.1 (BSD licence) gives them;
`uaos.analysis.best2009` has the seven targets of the tables, and the reference.
"""

import csv
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from uaos.analysis.ecdf import Ecdf, combined

NAME = "best 2009"


def running_times_2009(function: int, dimension: int) -> NDArray[np.float64] | None:
    """best2009's aRT to the 51 targets, infinite where none reached it; None if unknown."""
    return _table().get((function, dimension))


def profile_2009(functions: tuple[int, ...], dimension: int) -> Ecdf | None:
    """The share of (function, target) pairs that best2009's aRT is within; None if unknown."""
    curves = []
    for function in functions:
        times = running_times_2009(function, dimension)
        if times is None:
            return None
        reached, counts = np.unique(times[np.isfinite(times)], return_counts=True)
        curves.append(Ecdf(reached / dimension, counts.cumsum() / len(times)))
    return combined(curves)


@cache
def _table() -> dict[tuple[int, int], NDArray[np.float64]]:
    found = {}
    with (files("uaos.analysis") / "best2009_targets.csv").open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            times = np.array([float(art) for art in row["art"].split()])
            times.flags.writeable = False
            found[int(row["function"]), int(row["dimension"])] = times
    return found
