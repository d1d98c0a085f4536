"""Least-squares problems: the function returns residuals."""

from collections.abc import Sequence
from typing import cast

import numpy as np

from uaos.arrays import FloatArray
from uaos.checks import feedback_numbers
from uaos.errors import InvalidFeedback
from uaos.problems.problem import Problem


class ResidualProblem(Problem):
    """A problem whose function returns residuals; its value is half the sum of their squares.

    The parameters are those of :class:`uaos.Problem`.

    Examples
    --------
    >>> import numpy as np
    >>> from uaos.problems.residuals import ResidualProblem
    >>> line = ResidualProblem(lambda x: x - np.array([1.0, 2.0]), [(-5, 5)] * 2, name="line")
    >>> line([1.0, 4.0])
    2.0
    """

    def residuals(self, returned: object, n: int) -> FloatArray | None:
        """Return what the function returned as residuals, (n, R), NaN where it failed."""
        rows = [
            feedback_numbers(row, "residuals returned").ravel()
            for row in cast(Sequence[object], returned)
        ]
        size = max((len(row) for row in rows), default=1)
        failed = np.full(size, np.nan)
        rows = [failed if len(row) == 1 and np.isnan(row[0]) else row for row in rows]
        if len(rows) != n or any(len(row) != size for row in rows):
            raise InvalidFeedback(
                f"residuals has different lengths: {sorted({len(row) for row in rows})}; expected "
                "the same number of residuals at each point"
            )
        return np.array(rows)

    def values(self, returned: object, n: int, *, strict: bool) -> FloatArray:
        """Return half the sums of squares."""
        residuals = self.residuals(returned, n)
        assert residuals is not None
        with np.errstate(over="ignore"):
            halves: FloatArray = 0.5 * np.sum(residuals**2, axis=1)
        return halves
