"""Statistical tests of a race: which candidates are worse than the best one.

A test sees the costs of the candidates (columns) on the instances they all have been run on (rows).
SciPy is imported where it is used: the processes that make the runs need none.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Costs = NDArray[np.float64]


class Decision(NamedTuple):
    """The test's statistic and p-value, and which candidates stay."""

    statistic: float
    p_value: float
    stays: NDArray[np.bool_]


def ranks(costs: Costs) -> NDArray[np.float64]:
    """The candidates' ranks on each instance, 1 for the smallest cost, ties their mean."""
    from scipy import stats

    return np.asarray(stats.rankdata(costs, axis=1), dtype=np.float64)


def friedman(costs: Costs, alpha: float) -> Decision:
    """Friedman's test, and Conover's comparison of each candidate with the best.

    With n instances, k candidates, rank sums R and tie sizes u,

        X = 12 Σ (R - n(k+1)/2)² / (n k (k+1) - Σ (u³ - u)/(k-1))

    is chi-square with k - 1 degrees of freedom where all are alike. If it says they are not, those
    stay for which R - min R <= t(1 - α/2; (n-1)(k-1)) √(2 (n A - Σ R²) / ((n-1)(k-1))), A the sum
    of the squared ranks. Two candidates are compared by :func:`wilcoxon`.

    Conover, W. J. (1999), Practical Nonparametric Statistics, 3rd edition, section 5.8.
    """
    from scipy.special import chdtrc, stdtrit

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
        return Decision(0.0, 1.0, np.ones(k, bool))
    statistic = (k - 1) * float(((sums - n * (k + 1) / 2) ** 2).sum()) / below
    p_value = float(chdtrc(k - 1, statistic))
    if p_value >= alpha:
        return Decision(statistic, p_value, np.ones(k, bool))
    freedom = (n - 1) * (k - 1)
    spread = 2 * (n * squares - float((sums**2).sum())) / freedom
    critical = float(stdtrit(freedom, 1 - alpha / 2)) * math.sqrt(spread)
    return Decision(statistic, p_value, sums - sums.min() <= critical)


def by_ranks(costs: Costs, alpha: float) -> Decision:
    """As :func:`friedman`, but two candidates are compared by :func:`sign_test`.

    Costs are compared within an instance only, never between instances: for problems whose values
    are on scales of their own.
    """
    return (sign_test if costs.shape[1] == 2 else friedman)(costs, alpha)


def wilcoxon(costs: Costs, alpha: float) -> Decision:
    """Wilcoxon's signed-rank test of two candidates; one that is never worse, and not equal, wins.

    Wilcoxon, F. (1945), "Individual comparisons by ranking methods", Biometrics Bulletin 1.
    """
    from scipy import stats

    difference = costs[:, 0] - costs[:, 1]
    if not difference.any():
        return Decision(0.0, 1.0, np.ones(2, bool))
    if (difference <= 0).all() or (difference >= 0).all():
        return Decision(0.0, 0.0, np.array([difference.min() < 0, difference.max() > 0]))
    unequal = difference[difference != 0]
    sizes = np.abs(unequal)
    exact = len(sizes) <= 50 and len(np.unique(sizes)) == len(sizes)
    method = "exact" if exact else "approx"
    found = stats.wilcoxon(unequal, correction=not exact, method=method)
    p_value = float(found.pvalue)
    signed = float((np.sign(unequal) * stats.rankdata(sizes)).sum())
    stays = np.array([signed < 0, signed > 0]) | (p_value >= alpha)
    return Decision(float(found.statistic), p_value, stays)


def sign_test(costs: Costs, alpha: float) -> Decision:
    """The two-sided sign test of two candidates; one that is never worse, and not equal, wins.

    With m instances that one of them wins and n - m that the other wins, m <= n - m, the p-value is
    2 Σ_{i <= m} C(n, i) / 2ⁿ, at most 1; instances on which they are equal do not count.
    """
    first, second = (int((costs[:, a] < costs[:, 1 - a]).sum()) for a in (0, 1))
    fewer, n = min(first, second), first + second
    if n == 0:
        return Decision(0.0, 1.0, np.ones(2, bool))
    p_value = 0.0  # never worse
    if fewer:
        p_value = min(1.0, 2 * sum(math.comb(n, i) for i in range(fewer + 1)) / 2**n)
    stays = np.array([first > second, second > first]) | (p_value >= alpha)
    return Decision(float(fewer), p_value, stays)


def t_test(costs: Costs, alpha: float) -> Decision:
    """The paired t-test of every candidate against the one of the smallest mean.

    For costs whose size matters, not only their order. The p-value is the smallest one.
    """
    from scipy.special import stdtr

    n, _ = costs.shape
    best = int(np.argmin(costs.mean(axis=0)))
    difference = costs - costs[:, [best]]
    mean = difference.mean(axis=0)
    error = difference.std(axis=0, ddof=1) / math.sqrt(n)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(mean == 0, 0.0, mean / error)  # a constant difference is an infinite t
    p_values = 2 * stdtr(n - 1, -t)
    return Decision(float(t.max()), float(p_values.min()), p_values >= alpha)


#: The tests by name.
TESTS: dict[str, Callable[[Costs, float], Decision]] = {
    "friedman": friedman, "ranks": by_ranks, "t-test": t_test,
}  # fmt: skip
