"""Points whose values are known before a search starts."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from uaos.arrays import BoolArray, FloatArray
from uaos.checks import real_numbers
from uaos.errors import InvalidParameter, shortened
from uaos.optimizers.base import Optimizer, feasibility
from uaos.problems.problem import Problem
from uaos.problems.space import StartLike
from uaos.runs.evaluator import Evaluator

#: Points and their values, and by how much they violate constraints if there are any.
KnownLike = tuple[StartLike, ArrayLike] | tuple[StartLike, ArrayLike, ArrayLike]

_EXPECTED = "expected (X, f), or (X, f, violations) under constraints, with one row of X per value"


@dataclass(frozen=True)
class Known:
    """Points whose values are known, from earlier runs or from starting points just evaluated.

    Parameters
    ----------
    points : ndarray, shape (n, d)
        The free coordinates.
    values : ndarray, shape (n,)
        Their values; NaN for a failed evaluation.
    violations : ndarray, shape (n,), or None
        By how much they violate constraints, if there are any.
    """

    points: FloatArray
    values: FloatArray
    violations: FloatArray | None

    @classmethod
    def checked(cls, known: object, problem: Problem) -> "Known | None":
        """Return what the argument `known` of `minimize` describes; None if it is None.

        Points outside the box are left out.

        Raises
        ------
        InvalidParameter
            If `known` has another form.
        """
        if known is None:
            return None
        space = problem.space
        rows = "" if space.names is None else ": X is a list of mappings of names to values"
        invalid = InvalidParameter(
            f"known is {shortened(known, 80)}; {_EXPECTED}{rows}", name="known", value=known
        )
        if not (isinstance(known, tuple | list) and len(known) == 2 + problem.constrained):
            raise invalid
        named = None if space.names is None else space.names.encode_all(known[0], "known[0]")
        try:
            reduced = space.reduced(known[0]) if named is None else named
            numbers = [real_numbers(part) for part in (reduced, *known[1:])]
        except (TypeError, ValueError):  # among them InvalidParameter, which would speak of x0
            raise invalid from None
        points, columns = np.atleast_2d(numbers[0]), [np.atleast_1d(part) for part in numbers[1:]]
        shapes = [part.shape for part in columns]
        if points.shape[1:] != (space.dimension,) or set(shapes) != {(len(points),)}:
            raise InvalidParameter(
                f"known has points of shape {points.shape} and values of shape {shapes[0]}; "
                f"{_EXPECTED}, and {space.dimension} coordinates",
                name="known", value=known,
            )  # fmt: skip
        inside = cls._inside(known[0], len(points), problem) & np.isfinite(points).all(axis=1)
        violations = columns[1][inside] if problem.constrained else None
        return cls(space.rounded(points[inside]), columns[0][inside], violations)

    @staticmethod
    def _inside(points: object, n: int, problem: Problem) -> BoolArray:
        """Return which of n points are inside the box, fixed coordinates included."""
        if problem.space.names is not None:
            return np.ones(n, bool)
        full, bounds = np.atleast_2d(real_numbers(points)), problem.bounds
        outside = (full < bounds[:, 0]) | (full > bounds[:, 1])
        return np.asarray(~outside.any(axis=1))

    def best(self, n: int | None) -> FloatArray:
        """Return the best n points, or all that did not fail, best first."""
        violations = np.zeros(len(self.values)) if self.violations is None else self.violations
        order = feasibility.order(self.values, violations)
        failed = ~np.isfinite(self.values) & (violations == 0)
        best: FloatArray = self.points[order[~failed[order]][:n]]
        return best

    def teach(self, optimizer: Optimizer, evaluator: Evaluator, *, counted: bool) -> None:
        """Let the run know the values: they are not evaluated again, and one may be the best.

        Parameters
        ----------
        optimizer, evaluator
            Those of the run.
        counted : bool
            Whether the values were evaluated at the expense of the budget.
        """
        evaluator.memory.learn(evaluator.space.full(self.points), self.values)
        take_in = optimizer.count_earlier if counted else optimizer.take_known
        take_in(self.points, self.values, self.violations)
