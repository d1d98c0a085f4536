"""Feedback to an optimizer about its points: values and violations, checked and cleaned."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from uaos.arrays import BoolArray, FloatArray
from uaos.checks import feedback_numbers
from uaos.errors import InvalidFeedback, shortened
from uaos.jit import njit


@dataclass(eq=False, slots=True)
class Feedback:
    """Values of a batch of points, and by how much they violate the constraints.

    Parameters
    ----------
    values : ndarray, shape (n,)
        The values; NaN where an evaluation failed.
    violations : ndarray, shape (n,), or None
        0 where a point is feasible, infinite where it failed; None without constraints.
    lowest : int
        The index of the lowest value, -1 if all failed.
    """

    values: FloatArray
    violations: FloatArray | None
    lowest: int

    @classmethod
    def checked(cls, values: ArrayLike, violations: ArrayLike | None, n: int) -> Self:
        """Return the feedback on n points.

        Raises
        ------
        InvalidFeedback
            If there is not one real number for each point, or a violation is negative.
        """
        numbers = feedback_numbers(values, "values is")
        if numbers.shape != (n,):
            raise InvalidFeedback(
                f"values has shape {numbers.shape}; expected {(n,)}, one value for each "
                "point of ask(). Nothing was changed"
            )
        if violations is None:
            return cls.of(numbers, None)
        excess = feedback_numbers(violations, "violations is")
        if excess.shape != (n,) or (excess < 0).any():
            raise InvalidFeedback(
                f"violations has shape {excess.shape}; expected {(n,)}, a number >= 0 for each "
                "point of ask(). Nothing was changed"
            )
        return cls.of(numbers, excess)

    @classmethod
    def of(cls, values: FloatArray, violations: FloatArray | None) -> Self:
        """Return the feedback from two arrays, in which failures are marked."""
        lowest = mark_failures(values)
        if violations is not None:
            failed = np.isnan(violations) | (np.isnan(values) & (violations == 0))
            violations[failed] = np.inf
        return cls(values, violations, lowest)


@njit
def mark_failures(values: FloatArray) -> int:
    """Make every value that is not finite NaN; return the index of the lowest other, or -1."""
    best = -1
    for i in range(len(values)):
        if not np.isfinite(values[i]):
            values[i] = np.nan
        elif best < 0 or values[i] < values[best]:
            best = i
    return best


@dataclass(eq=False)
class Replies:
    """Values of a batch that arrive one by one, in any order.

    Attributes
    ----------
    values, violations : ndarray, shape (n,)
        Those told so far; NaN elsewhere.
    told : ndarray of bool, shape (n,)
        Which points have been told.
    """

    values: FloatArray
    violations: FloatArray
    told: BoolArray

    @classmethod
    def to(cls, n: int) -> Self:
        """Return replies to n points, none of which has been told yet."""
        return cls(np.full(n, np.nan), np.full(n, np.nan), np.zeros(n, np.bool_))

    @property
    def complete(self) -> bool:
        """True once all points have been told."""
        return bool(self.told.all())

    def add(self, index: object, value: object, violation: object = None) -> None:
        """Take in the value of a point, and its violation if there are constraints.

        Raises
        ------
        InvalidFeedback
            If there is no such point, it has been told already, or its value is not a number.
        """
        if isinstance(index, bool) or not isinstance(index, int | np.integer):
            raise InvalidFeedback(
                f"index is {shortened(index)}; expected an integer. Nothing was changed"
            )
        if not 0 <= index < len(self.told):
            raise InvalidFeedback(
                f"index is {index}; expected 0 to {len(self.told) - 1}, a row of what ask() "
                "returned. Nothing was changed"
            )
        number = feedback_numbers(value, "value is")
        if number.shape != ():
            raise InvalidFeedback(
                f"value has shape {number.shape}; expected a number. Nothing was changed"
            )
        if self.told[index]:
            raise InvalidFeedback(
                f"point {index} has been told already: {self.values[index]}. Nothing was changed"
            )
        if violation is not None:
            self.violations[index] = feedback_numbers(violation, "violation is")
        self.values[index] = number
        self.told[index] = True
