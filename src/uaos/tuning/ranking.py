"""Which candidates of a race are worse than the best one: the statistical tests.

A test sees the costs of the candidates (columns) on the instances they all have been run on (rows).
scipy's statistics, slow to import, are imported where they are used: the processes that make the
runs need none.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, stdtr, stdtrit

Costs = NDArray[np.float64]


class Verdict(NamedTuple):
    """The test's statistic and p-value, and which candidates stay."""

    statistic: float
    p_value: float
    stays: NDArray[np.bool_]


def ranks(costs: Costs) -> NDArray[np.float64]:
    """The candidates' ranks on each instance, 1 for the smallest cost, ties their mean."""
    from scipy import stats

    return np.asarray(stats.rankdata(costs, axis=1), dtype=np.float64)


def friedman(costs: Costs, alpha: float) -> Verdict:
    """Friedman's test, and Conover's comparison of each candidate with the best.

    With n instances, k candidates, rank sums R and tie sizes u,

        X = 12 Σ (R - n(k+1)/2)² / (n k (k+1) - Σ (u³ - u)/(k-1))

    is chi-square with k - 1 degrees of freedom where all are alike. If it says they are not, those
    stay for which R - min R <= t(1 - α/2; (n-1)(k-1)) √(2 (n A - Σ R²) / ((n-1)(k-1))), A the sum
    of the squared ranks. Two candidates are compared by :func:`wilcoxon`.

    Conover, W. J. (1999), Practical Nonparametric Statistics, 3rd edition, section 5.8.
    """
    n, k = costs.shape
    if k == 2:
        return wilcoxon(costs, alpha)
    order = ranks(costs)
    sums = order.sum(axis=0)
    squares = float((order**2).sum())
    # A tie of u ranks takes (u³ - u)/12 from the sum of their squares: this is the denominator of
    # X times (k-1)/12, and exact, as ranks are multiples of 1/2.
    below = squares - n * k * (k + 1) ** 2 / 4
    if below <= 0:  # every instance is one tie
        return Verdict(0.0, 1.0, np.ones(k, bool))
    statistic = (k - 1) * float(((sums - n * (k + 1) / 2) ** 2).sum()) / below
    p_value = float(chdtrc(k - 1, statistic))
    if p_value >= alpha:
        return Verdict(statistic, p_value, np.ones(k, bool))
    freedom = (n - 1) * (k - 1)
    spread = 2 * (n * squares - float((sums**2).sum())) / freedom
    critical = float(stdtrit(freedom, 1 - alpha / 2)) * math.sqrt(spread)
    return Verdict(statistic, p_value, sums - sums.min() <= critical)


def wilcoxon(costs: Costs, alpha: float) -> Verdict:
    """Wilcoxon's signed-rank test of two candidates; one that is never worse, and not equal, wins.

    Wilcoxon, F. (1945), "Individual comparisons by ranking methods", Biometrics Bulletin 1.
    """
    from scipy import stats

    difference = costs[:, 0] - costs[:, 1]
    if not difference.any():
        return Verdict(0.0, 1.0, np.ones(2, bool))
    if (difference <= 0).all() or (difference >= 0).all():
        return Verdict(0.0, 0.0, np.array([difference.min() < 0, difference.max() > 0]))
    unequal = difference[difference != 0]
    sizes = np.abs(unequal)
    exact = len(sizes) <= 50 and len(np.unique(sizes)) == len(sizes)
    method = "exact" if exact else "approx"
    found = stats.wilcoxon(unequal, correction=not exact, method=method)
    p_value = float(found.pvalue)
    signed = float((np.sign(unequal) * stats.rankdata(sizes)).sum())
    stays = np.array([signed < 0, signed > 0]) | (p_value >= alpha)
    return Verdict(float(found.statistic), p_value, stays)


def t_test(costs: Costs, alpha: float) -> Verdict:
    """The paired t-test of every candidate against the one of the smallest mean.

    For costs whose size matters, not only their order. The p-value is the smallest one.
    """
    n, _ = costs.shape
    best = int(np.argmin(costs.mean(axis=0)))
    difference = costs - costs[:, [best]]
    mean = difference.mean(axis=0)
    error = difference.std(axis=0, ddof=1) / math.sqrt(n)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(mean == 0, 0.0, mean / error)  # a constant difference is an infinite t
    p_values = 2 * stdtr(n - 1, -t)
    return Verdict(float(t.max()), float(p_values.min()), p_values >= alpha)


#: The tests by name.
TESTS: dict[str, Callable[[Costs, float], Verdict]] = {"friedman": friedman, "t-test": t_test}
