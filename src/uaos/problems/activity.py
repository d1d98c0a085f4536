"""Activity of coordinates: those of a variable count only where its conditions hold."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from uaos.arrays import BoolArray, FloatArray

#: A coordinate, and the intervals in one of which it must be.
Test = tuple[int, tuple[tuple[float, float], ...]]


@dataclass(frozen=True, init=False)
class Activity:
    """Conditions under which the coordinates of a point are active.

    Parameters
    ----------
    alternatives : sequence, one entry per coordinate
        The alternatives under one of which the coordinate is active; none if it always is. An
        alternative is a sequence of tests that all must hold: an earlier coordinate, which must be
        active too, and the intervals (low, high) in one of which it must be.

    Examples
    --------
    The second coordinate is active where the first one is 1.

    >>> activity = Activity([[], [[(0, [(0.5, 1.5)])]]])
    >>> activity.of(np.array([[0.0, 3.0], [1.0, 3.0]])).tolist()
    [[True, False], [True, True]]
    """

    alternatives: tuple[tuple[tuple[Test, ...], ...], ...]

    def __init__(
        self,
        alternatives: Sequence[Sequence[Sequence[tuple[int, Sequence[tuple[float, float]]]]]],
    ) -> None:
        coordinates = range(len(alternatives))
        checked = tuple(
            tuple(tuple(_checked(test, coordinates) for test in tests) for tests in choices)
            for choices in alternatives
        )
        object.__setattr__(self, "alternatives", checked)

    def of(self, points: FloatArray) -> BoolArray:
        """Return which coordinates of points, (n, d), are active."""
        active = np.ones(points.shape, bool)
        for j, choices in enumerate(self.alternatives):
            if choices:
                holds = [
                    [active[:, k] & _inside(points[:, k], parts) for k, parts in tests]
                    for tests in choices
                ]
                active[:, j] = np.any([np.all(tests, axis=0) for tests in holds], axis=0)
        return active

    def lists(self) -> list[object]:
        """Return the alternatives as lists, for a saved run."""
        return [
            [[[k, [list(part) for part in parts]] for k, parts in tests] for tests in choices]
            for choices in self.alternatives
        ]


def _checked(test: tuple[int, Sequence[tuple[float, float]]], coordinates: range) -> Test:
    """Return a test in its declared types; raise an error if its coordinate does not exist."""
    coordinate, parts = test
    return coordinates[coordinate], tuple((float(low), float(high)) for low, high in parts)


def _inside(numbers: FloatArray, parts: Sequence[tuple[float, float]]) -> BoolArray:
    """Return which numbers are in one of the intervals."""
    inside = np.zeros(len(numbers), bool)
    for low, high in parts:
        inside |= (low <= numbers) & (numbers <= high)
    return inside
