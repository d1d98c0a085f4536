"""What is known of a batch of points beside one value and one violation each."""

from dataclasses import dataclass

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

    Examples
    --------
    >>> import numpy as np
    >>> from uaos.optimizers.details import Details
    >>> Details(inequalities=np.array([[-1.0, 0.5]])).inequalities.shape
    (1, 2)
    """

    inequalities: FloatArray | None = None
    equalities: FloatArray | None = None
    gradients: FloatArray | None = None
    residuals: FloatArray | None = None
