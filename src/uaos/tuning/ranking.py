"""Which candidates of a race are worse than the best one: the statistical tests.

A test sees the costs of the candidates (columns) on the instances they all have been run on (rows).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Costs = NDArray[np.float64]


class Verdict(NamedTuple):
    """The test's statistic and p-value, and which candidates stay."""

    statistic: float
    p_value: float
    stays: NDArray[np.bool_]


def ranks(costs: Costs) -> NDArray[np.float64]:
    """The candidates' ranks on each instance, 1 for the smallest cost, ties their mean."""
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
    tied = sum(
        float(((u := np.unique(row, return_counts=True)[1]) ** 3 - u).sum()) for row in costs
    )
    below = n * k * (k + 1) - tied / (k - 1)
    if below <= 0:  # every instance is one tie
        return Verdict(0.0, 1.0, np.ones(k, bool))
    statistic = 12 * float(((sums - n * (k + 1) / 2) ** 2).sum()) / below
    p_value = float(stats.chi2.sf(statistic, k - 1))
    if p_value >= alpha:
        return Verdict(statistic, p_value, np.ones(k, bool))
    freedom = (n - 1) * (k - 1)
    spread = max(0.0, 2 * (n * float((order**2).sum()) - float((sums**2).sum())) / freedom)
    critical = float(stats.t.ppf(1 - alpha / 2, freedom)) * np.sqrt(spread)
    return Verdict(statistic, p_value, sums - sums.min() <= critical)


def wilcoxon(costs: Costs, alpha: float) -> Verdict:
    """Wilcoxon's signed-rank test of two candidates; one that is never worse, and not equal, wins.

    Wilcoxon, F. (1945), "Individual comparisons by ranking methods", Biometrics Bulletin 1.
    """
    difference = costs[:, 0] - costs[:, 1]
    both = np.ones(2, bool)
    if not difference.any():
        return Verdict(0.0, 1.0, both)
    if (difference <= 0).all() or (difference >= 0).all():
        return Verdict(0.0, 0.0, np.array([difference.sum() < 0, difference.sum() > 0]))
    found = stats.wilcoxon(difference, correction=True, method="approx")
    p_value = float(found.pvalue)
    if p_value >= alpha:
        return Verdict(float(found.statistic), p_value, both)
    sums = ranks(costs).sum(axis=0)
    if sums[0] == sums[1]:
        sums = costs.sum(axis=0)
    return Verdict(float(found.statistic), p_value, sums == sums.min())


def t_test(costs: Costs, alpha: float) -> Verdict:
    """The paired t-test of every candidate against the one of the smallest mean.

    For costs whose size matters, not only their order. The p-value is the smallest one.
    """
    _, k = costs.shape
    best = int(np.argmin(costs.mean(axis=0)))
    difference = costs - costs[:, [best]]
    mean = difference.mean(axis=0)
    error = stats.sem(difference, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(mean == 0, 0.0, mean / error)  # a constant difference is an infinite t
    p_values = 2 * stats.t.sf(np.abs(t), len(costs) - 1)
    others = np.delete(p_values, best)
    return Verdict(float(np.abs(t).max()), float(others.min(initial=1.0)),
                   (p_values >= alpha) | (np.arange(k) == best))  # fmt: skip


#: The tests by name.
TESTS: dict[str, Callable[[Costs, float], Verdict]] = {"friedman": friedman, "t-test": t_test}
