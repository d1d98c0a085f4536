"""Order of points under constraints: feasible ones by value, then the others by violation.

A violation is one number for a point, 0 where it is feasible. Points whose violation is at most a
level ε count as feasible while ε is above 0 (the ε-constrained method), which keeps a search going
where the feasible region is thin. A point that failed has an infinite violation.

References
----------
Deb, K. (2000), "An efficient constraint handling method for genetic algorithms", Computer Methods
in Applied Mechanics and Engineering 186.
Takahama, T. and Sakai, S. (2010), "Constrained optimization by the ε constrained differential
evolution with an archive and gradient-based mutation", CEC.
"""

import numpy as np
from numpy.typing import NDArray

from uaos.arrays import FloatArray

#: A level ε for points with any violation, without asking for values at infeasible points.
UNLIMITED = float(np.finfo(float).max)


def order(values: FloatArray, violations: FloatArray, epsilon: float = 0.0) -> NDArray[np.intp]:
    """Return the indices of the points, best first; ties keep their order."""
    return np.lexsort((values, np.where(violations <= epsilon, 0.0, violations)))


def ranks(values: FloatArray, violations: FloatArray, epsilon: float = 0.0) -> FloatArray:
    """Return the rank of each point as a float: 1 for the best, equal for ties, NaN for failures.

    Ranks are exact, whereas a violation added to a large value would be lost in rounding.
    """
    sequence = order(values, violations, epsilon)
    v, f = np.where(violations <= epsilon, 0.0, violations)[sequence], values[sequence]
    new = np.ones(len(v), bool)
    new[1:] = (v[1:] != v[:-1]) | (f[1:] != f[:-1])
    ranked = np.empty(len(v))
    ranked[sequence] = np.cumsum(new)
    ranked[np.isinf(violations)] = np.nan
    return ranked


def merits(values: FloatArray, violations: FloatArray, epsilon: float = 0.0) -> FloatArray:
    """Return one number for each point, in the same order, so that improvements can be measured.

    A feasible point has its value. The others have their violation plus the worst feasible value,
    if there is one. Failures have NaN.
    """
    feasible = violations <= epsilon
    worst = float(values[feasible].max(initial=-np.inf))
    merit = np.where(feasible, values, violations + (worst if np.isfinite(worst) else 0.0))
    merit[np.isinf(violations)] = np.nan
    return merit
