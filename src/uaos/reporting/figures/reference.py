"""best2009 at each of the 51 targets of a runtime profile."""

import numpy as np
from numpy.typing import NDArray

from uaos.analysis.ecdf import Ecdf, combined
from uaos.problems.bbob import REFERENCE

NAME = "best 2009"


def running_times_2009(function: str, dimension: int) -> NDArray[np.float64] | None:
    """best2009's aRT to the 51 targets, infinite where none reached it; None if unknown."""
    return REFERENCE.running_times(function, dimension)


def profile_2009(functions: tuple[str, ...], dimension: int) -> Ecdf | None:
    """The share of (function, target) pairs that best2009's aRT is within; None if unknown."""
    curves = []
    for function in functions:
        times = running_times_2009(function, dimension)
        if times is None:
            return None
        reached, counts = np.unique(times[np.isfinite(times)], return_counts=True)
        curves.append(Ecdf(reached / dimension, counts.cumsum() / len(times)))
    return combined(curves)
