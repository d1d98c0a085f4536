"""Constraints as in SciPy, recognized by their attributes, so that SciPy is not needed."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from uaos.arrays import BoolArray, FloatArray
from uaos.checks import feedback_numbers, real_numbers
from uaos.errors import InvalidFeedback, InvalidParameter, shortened

#: How far a constraint with lb = ub may be off, relative to 1 or to |lb|: floating-point numbers
#: rarely meet it exactly.
EQUALITY = 1e-6

#: A constraint whose allowed range is smaller than this share of its largest violation in the first
#: batch is handled like an equality.
NARROW = 0.01

_EXPECTED = (
    "a NonlinearConstraint, LinearConstraint or Bounds of scipy.optimize (or an object with their "
    "attributes), a dict such as {'type': 'ineq', 'fun': g} for g(x) >= 0 ('eq': g(x) = 0), or a "
    "sequence of these"
)


def as_constraints(constraints: object) -> list["Constraint"]:
    """Return the constraints as a list; there may be none, one or several."""
    if constraints is None:
        return []
    if isinstance(constraints, Sequence) and not isinstance(constraints, str):
        return [Constraint(constraint) for constraint in constraints]
    return [Constraint(constraints)]


def _invalid_constraint(value: object) -> InvalidParameter:
    """Return the error for a value that is not a constraint."""
    return InvalidParameter(
        f"constraints is {shortened(value)}; expected {_EXPECTED}", name="constraints", value=value
    )


class Constraint:
    """``lb <= fun(x) <= ub``, for one or several functions.

    The specification is an object with `fun`, `lb` and `ub`; with a matrix `A`, `lb` and `ub`; with
    `lb` and `ub` alone, which are then bounds of the variables; or a dict with `type` ("eq": 0,
    "ineq": >= 0), `fun` and perhaps `args`. `jac`, if it is a function, returns the gradients of
    `fun`, (M, D). Once `size`, the number of functions, is known, an exception of `fun` gives NaN.

    Attributes
    ----------
    function, jac : callable or None
    matrix : ndarray or None
    """

    size: int | None = None
    _warned = False

    def __init__(self, specification: object) -> None:
        self._args: tuple[object, ...] = ()
        self.function: Callable[..., ArrayLike] | None = None
        self.jac: Callable[..., ArrayLike] | None = None
        self.matrix: FloatArray | None = None
        if isinstance(specification, Mapping):
            lb, ub, jac = self._read_dict(specification)
        elif hasattr(specification, "lb") and hasattr(specification, "ub"):
            lb, ub, jac = self._read_object(specification)
        else:
            raise _invalid_constraint(specification)
        if callable(jac):  # not the name of a difference scheme, as SciPy has it
            self.jac = jac
        try:
            self._low, self._high = (np.atleast_1d(real_numbers(bound)) for bound in (lb, ub))
            wrong = not (self._low <= self._high).all()  # nor any NaN
        except (TypeError, ValueError):
            wrong = True
        if wrong:
            raise InvalidParameter(
                f"(lb, ub) of a constraint is {shortened((lb, ub))}; expected numbers lb <= ub",
                name="(lb, ub) of constraints", value=(lb, ub),
            )  # fmt: skip

    def _read_dict(self, specification: Mapping[str, Any]) -> tuple[ArrayLike, ArrayLike, object]:
        """Take the function from a dict; return its limits and its gradient."""
        kind, self.function = specification.get("type"), specification.get("fun")
        args = specification.get("args", ())
        is_valid = kind in ("eq", "ineq") and callable(self.function)
        if not is_valid or not isinstance(args, tuple | list):
            raise _invalid_constraint(specification)
        self._args = tuple(args)
        return 0.0, 0.0 if kind == "eq" else np.inf, specification.get("jac")

    def _read_object(self, specification: Any) -> tuple[ArrayLike, ArrayLike, object]:
        """Take the matrix or the function from an object; return its limits and its gradient."""
        jac: object = None
        if hasattr(specification, "A"):
            matrix = specification.A
            dense = matrix.toarray() if hasattr(matrix, "toarray") else matrix
            numbers = feedback_numbers(dense, "the matrix of a constraint is")
            self.matrix = np.atleast_2d(numbers)
        elif hasattr(specification, "fun"):
            self.function = specification.fun
            jac = getattr(specification, "jac", None)
            if not callable(self.function):
                raise _invalid_constraint(specification)
        return specification.lb, specification.ub, jac

    def values(self, X: FloatArray, vectorized: bool) -> FloatArray:
        """Return the value of each function at each point, (n, M) for points (n, D)."""
        if self.matrix is not None:
            if self.matrix.shape[1] != X.shape[1]:
                raise InvalidFeedback(
                    f"the matrix of a constraint has shape {self.matrix.shape}; expected "
                    f"(M, {X.shape[1]}), a column for each coordinate"
                )
            values = X @ self.matrix.T
        elif self.function is None:
            values = X
        elif vectorized:
            values = self._numbers(self._at(X.copy(), len(X)))
            values = values[:, None] if values.ndim == 1 else values
        else:  # a copy, which the user's function may write to
            rows = [np.atleast_1d(self._numbers(self._at(x))) for x in X.copy()]
            if len({row.shape for row in rows}) > 1:
                raise InvalidFeedback(
                    "a constraint returned different numbers of values; expected the same number "
                    "at each point"
                )
            values = np.array(rows)
        sizes = ((1,), values.shape[1:])
        fits = self._low.shape in sizes and self._high.shape in sizes
        if values.ndim != 2 or len(values) != len(X) or not fits:
            raise InvalidFeedback(
                f"a constraint gave an array of shape {values.shape} for {len(X)} points; expected "
                f"({len(X)}, M) with M numbers for each point, as many as lb and ub have"
            )
        return values

    def slopes(self, x: FloatArray) -> FloatArray | None:
        """Return the gradients of the functions at a point, (M, D), or None if they are unknown."""
        if self.matrix is not None:
            return self.matrix
        if self.function is None:
            return np.eye(len(x))
        if self.jac is None:
            return None
        returned = self.jac(x.copy(), *self._args)
        dense = returned.toarray() if hasattr(returned, "toarray") else returned
        slopes = np.atleast_2d(feedback_numbers(dense, "jac of a constraint returned"))
        if slopes.ndim != 2 or slopes.shape[1] != len(x):
            raise InvalidFeedback(
                f"jac of a constraint returned shape {slopes.shape}; expected (M, {len(x)}), a "
                "gradient for each of M functions"
            )
        return slopes

    def _at(self, x: FloatArray, *n: int) -> ArrayLike:
        """Call `fun` at a point, or at n points; return NaN for an exception that is tolerated."""
        assert self.function is not None
        try:
            return self.function(x, *self._args)
        except Exception:
            if self.size is None:
                raise
            return np.full((*n, self.size), np.nan)

    def _numbers(self, returned: object) -> FloatArray:
        """Return what `fun` returned as floats; refuse conditions that cannot be violated."""
        if returned is None and not self._warned:
            self._warned = True
            warnings.warn(
                "a constraint returned None, which counts as a failed evaluation; is `return` "
                "missing?",
                RuntimeWarning, stacklevel=2,
            )  # fmt: skip
        numbers = feedback_numbers(returned, "a constraint returned")
        always_met = (self._low <= 0).all() and (self._high >= 1).all()
        if always_met and np.asarray(returned).dtype.kind == "b":
            raise InvalidFeedback(
                f"a constraint returned {shortened(returned, 60)}; expected numbers, as True and "
                "False both lie between its lb and ub: return how far the point is inside, "
                "negative if it is not"
            )
        return numbers

    def excess(self, values: FloatArray) -> FloatArray:
        """Return by how much values (n, M) are outside lb and ub; inf for NaN."""
        with np.errstate(invalid="ignore"):  # an infinite value at an infinite bound
            below = np.where(values < self._low, self._low - values, 0.0)
            above = np.where(values > self._high, values - self._high, 0.0)
        return np.where(np.isnan(values), np.inf, below + above)

    def __call__(self, X: FloatArray, vectorized: bool) -> FloatArray:
        """Return by how much each point violates each function, (n, M) for points (n, D)."""
        return self.excess(self.values(X, vectorized))

    def parts(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return values (n, M) as inequalities, feasible where <= 0, and as equalities = 0."""
        low, high = (np.broadcast_to(b, values.shape[1:]) for b in (self._low, self._high))
        above, below, equal = self._kinds(low, high)
        inequalities = [low[above] - values[:, above], values[:, below] - high[below]]
        return np.hstack(inequalities), values[:, equal] - low[equal]

    def slope_parts(self, slopes: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the gradients of what :meth:`parts` returns from those of the functions."""
        low, high = (np.broadcast_to(b, slopes.shape[:1]) for b in (self._low, self._high))
        above, below, equal = self._kinds(low, high)
        return np.vstack([-slopes[above], slopes[below]]), slopes[equal]

    @staticmethod
    def _kinds(low: FloatArray, high: FloatArray) -> tuple[BoolArray, BoolArray, BoolArray]:
        """Return which functions have a lower and an upper limit, and which are equalities."""
        equal = low == high
        return np.isfinite(low) & ~equal, np.isfinite(high) & ~equal, equal

    def margins(self, x: FloatArray, vectorized: bool) -> FloatArray:
        """Return how far inside its finite bounds each function is; negative if outside."""
        values = self.values(x[None], vectorized)[0]
        M = len(values)
        allowed = self.tolerance(M)
        with np.errstate(invalid="ignore"):  # an infinite value at an infinite bound
            inside = np.concatenate([values - self._low + allowed, self._high + allowed - values])
        finite = np.isfinite([np.broadcast_to(b, (M,)) for b in (self._low, self._high)])
        return inside[finite.ravel()]

    @property
    def bounds(self) -> tuple[list[float], list[float]]:
        """Limits of the functions, lb and ub."""
        return self._low.tolist(), self._high.tolist()

    def widths(self, M: int) -> FloatArray:
        """Return the width of the allowed range of each of M functions."""
        return np.broadcast_to(self._high - self._low, (M,))

    def tolerance(self, M: int) -> FloatArray:
        """Return by how much each of M functions may miss an equality."""
        allowed = np.where(
            self._low == self._high, EQUALITY * np.maximum(1.0, np.abs(self._low)), 0.0
        )
        return np.broadcast_to(allowed, (M,))


class Constraints:
    """All constraints of a run: by how much points violate them, as one number each.

    Violations of different functions are divided by the largest of the first batch, so that all
    count equally, and added. With `vectorized` the functions take all points
    of a batch at once; with `tolerate` an exception is an infinite violation.
    """

    def __init__(self, constraints: object, *, vectorized: bool, tolerate: bool = False) -> None:
        self.each = as_constraints(constraints)
        self._vectorized, self._tolerate = vectorized, tolerate
        self.scale: FloatArray | None = None
        self._widths: FloatArray | None = None
        self._sizes: list[int] = []

    @property
    def narrow(self) -> bool:
        """True if a constraint is an equality or nearly so, which the first batch shows.

        Feasible points are then too rare for a search among them alone.
        """
        if self._widths is None or self.scale is None:
            return False
        return bool((self._widths < NARROW * self.scale).any())

    def measure(self, X: FloatArray) -> bool:
        """Learn the number of functions from the first point at which they succeed.

        Returns False if they failed at all points.
        """
        for x in X if self._widths is None else ():
            try:
                self.values(x[None])
            except Exception as error:
                if not self._tolerate or isinstance(error, InvalidFeedback):
                    raise
                continue
            for constraint, M in zip(self.each, self._sizes, strict=True):
                constraint.size = M if self._tolerate else None
            widths = [c.widths(M) for c, M in zip(self.each, self._sizes, strict=True)]
            self._widths = np.concatenate(widths)
            break
        return self._widths is not None

    def components(self, X: FloatArray) -> list[FloatArray]:
        """Return by how much points violate each function, an array (n, M) per constraint."""
        return [constraint(X, self._vectorized) for constraint in self.each]

    def margins(self, x: FloatArray) -> FloatArray:
        """Return how far inside the constraints a point is; negative where it is outside."""
        return np.concatenate([c.margins(x, self._vectorized) for c in self.each])

    def values(self, X: FloatArray) -> FloatArray:
        """Return the values of all functions at points (n, D), side by side."""
        parts = [constraint.values(X, self._vectorized) for constraint in self.each]
        self._sizes = [part.shape[1] for part in parts]
        return np.hstack(parts)

    def _by_constraint(self, values: FloatArray) -> list[FloatArray]:
        """Split what :meth:`values` returned."""
        return np.split(values, np.cumsum(self._sizes)[:-1], axis=1)

    def parts(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return values as inequalities, (n, M) and feasible where <= 0, and equalities, (n, E)."""
        pairs = [
            constraint.parts(part)
            for constraint, part in zip(self.each, self._by_constraint(values), strict=True)
        ]
        return np.hstack([pair[0] for pair in pairs]), np.hstack([pair[1] for pair in pairs])

    def slopes(self, x: FloatArray) -> FloatArray | None:
        """Return the gradients of :meth:`parts` at a point, (M + E, D), or None if one is unknown.

        Exceptions of a gradient are raised unless they are tolerated.
        """
        inequalities, equalities = [], []
        if self._vectorized and any(c.matrix is None for c in self.each):
            return None
        for constraint in self.each:
            try:
                slopes = constraint.slopes(x)
            except Exception as error:
                if not self._tolerate or isinstance(error, InvalidFeedback):
                    raise
                return None
            if slopes is None:
                return None
            parts = constraint.slope_parts(slopes)
            inequalities.append(parts[0])
            equalities.append(parts[1])
        return np.vstack([*inequalities, *equalities])

    def beyond(self, values: FloatArray) -> FloatArray:
        """Return by how much values exceed the tolerance of each function."""
        return np.hstack([
            np.maximum(constraint.excess(part) - constraint.tolerance(part.shape[1]), 0.0)
            for constraint, part in zip(self.each, self._by_constraint(values), strict=True)
        ])  # fmt: skip

    def violations(self, values: FloatArray) -> FloatArray:
        """Sum up :meth:`beyond`, scaled, to one number per point; 0 if it is feasible."""
        beyond = self.beyond(values)
        if self.scale is None:
            largest = np.max(beyond, axis=0, where=np.isfinite(beyond), initial=0.0)
            self.scale = np.where(largest > 0, largest, 1.0)
        total: FloatArray = (beyond / self.scale).sum(axis=1)
        return total
