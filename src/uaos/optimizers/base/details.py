"""What is known of a batch of points beside one value and one violation each."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from uaos.arrays import FloatArray


@dataclass(frozen=True)
class Details:
    """Constraints and gradients at the points of a batch, each None if unknown.

    Parameters
    ----------
    inequalities : ndarray, shape (n, M), optional
        The values of M functions that are feasible where they are at most 0; NaN where one failed.
    equalities : ndarray, shape (n, E), optional
        The values of E functions that are 0 where an equality is met exactly.
    gradients : ndarray, shape (n, D), optional
        The gradients of the objective, NaN where one failed.
    residuals : ndarray, shape (n, R), optional
        Where the objective is half a sum of squares: what is squared.
    jacobian : ndarray, shape (M + E, D), optional
        The gradients of the inequalities, and then of the equalities, at the first point.

    Examples
    --------
    >>> import numpy as np
    >>> from uaos.optimizers.base.details import Details
    >>> Details(inequalities=np.array([[-1.0, 0.5]])).inequalities.shape
    (1, 2)
    """

    inequalities: FloatArray | None = None
    equalities: FloatArray | None = None
    gradients: FloatArray | None = None
    residuals: FloatArray | None = None
    jacobian: FloatArray | None = None


def first_gradient(details: Details | None) -> FloatArray | None:
    """Return the gradient at the first point of a batch, if it is known and finite."""
    if details is None or details.gradients is None:
        return None
    gradient: FloatArray = details.gradients[0]
    return gradient if np.isfinite(gradient).all() else None


def first_jacobian(details: Details | None, M: int) -> FloatArray | None:
    """Return the gradients of M constraints at the first point of a batch, if all are known."""
    if M == 0:
        return np.zeros((0, 0))
    if details is None or details.jacobian is None or len(details.jacobian) != M:
        return None
    return details.jacobian if np.isfinite(details.jacobian).all() else None


def constraint_values(
    n: int, violations: FloatArray | None, details: Details | None
) -> tuple[FloatArray, int]:
    """Return the constraints at n points, (n, M), the equalities last, and how many these are.

    If only violations are known, they are the one constraint, NaN where it failed.
    """
    if violations is None:
        return np.zeros((n, 0)), 0
    if details is None or details.inequalities is None:
        return np.where(np.isinf(violations), np.nan, violations)[:, None], 0
    if details.equalities is None:
        return details.inequalities, 0
    both = np.hstack([details.inequalities, details.equalities])
    return both, details.equalities.shape[1]


def stacked(rows: Sequence[Details | None]) -> Details | None:
    """Return constraints and gradients at several points, those of one in each row, or None.

    They are NaN where they are unknown.
    """
    first = rows[0]
    columns = {"jacobian": None if first is None else first.jacobian}
    for name in ("inequalities", "equalities", "gradients"):
        parts = [None if row is None else getattr(row, name) for row in rows]
        known = next((part for part in parts if part is not None), None)
        if known is not None:
            unknown = np.full(known.shape, np.nan)
            columns[name] = np.vstack([unknown if part is None else part for part in parts])
    return Details(**columns) if len(columns) > 1 else None
