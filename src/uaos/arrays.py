"""Types of NumPy arrays, and copies of those that belong to others."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


def detached(value: T) -> T:
    """Return a value that its owner cannot change any more: a copy if it is an array.

    A function may return the same array at each point, with other numbers in it.
    """
    return value.copy() if isinstance(value, np.ndarray) else value
