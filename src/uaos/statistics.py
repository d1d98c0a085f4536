"""Statistical tests that races and the analysis of experiments share.

There is one rule for equal values: they share the mean of their ranks. Zero differences in
Wilcoxon's test are ranked with the others, and their ranks are split evenly between the two sides.
If zeros are discarded, as Wilcoxon did, a significant result can become insignificant when zeros
turn into small differences in favor of the better method (Pratt 1959). Demšar (2006) recommends the
split for comparing algorithms over many problems.

References
----------
Pratt, J. W. (1959), "Remarks on zeros and ties in the Wilcoxon signed rank procedures", Journal of
the American Statistical Association 54.

Demšar, J. (2006), "Statistical comparisons of classifiers over multiple data sets", Journal of
Machine Learning Research 7.
"""

from collections.abc import Sequence
from functools import cache, lru_cache
from math import comb, sqrt
from types import ModuleType
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from uaos.arrays import FloatArray, IntArray
from uaos.extras import optional

# Samples up to these sizes are tested exactly: by Wilcoxon's test with ties and without, and by the
# rank-sum test.
_EXACT_WITH_TIES, _EXACT, _EXACT_RANK_SUM = 13, 50, 8


def rank_rows(values: FloatArray) -> FloatArray:
    """Rank the values of each row: 1 for the smallest, equal values share their mean rank."""
    return _rank_with_ties(values)[0]


def _rank_with_ties(values: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the ranks in each row, and Σ (t³ - t) over its ties of t values."""
    n = values.shape[-1]
    order = np.argsort(values, axis=-1)
    ordered = np.take_along_axis(values, order, -1)
    is_first, is_last = np.ones((2, *values.shape), bool)
    is_first[..., 1:] = is_last[..., :-1] = ordered[..., 1:] != ordered[..., :-1]
    start = np.maximum.accumulate(np.where(is_first, np.arange(n), 0), axis=-1)
    end = np.minimum.accumulate(np.where(is_last, np.arange(n), n)[..., ::-1], axis=-1)[..., ::-1]
    ranks = np.empty(values.shape)
    np.put_along_axis(ranks, order, (start + end) / 2 + 1, -1)
    return ranks, np.sum((end - start + 1) ** 2 - 1, axis=-1)


# Two samples


def wilcoxon_test(differences: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Test by Wilcoxon's signed-rank test whether the differences in each row lean to one side.

    The test is two-sided. It is exact for at most 13 differences, or 50 without ties and zeros;
    otherwise it uses the normal approximation. The ranks of zeros are split between the sides.

    Parameters
    ----------
    differences : array_like
        Paired differences, one sample per row.

    Returns
    -------
    p_values, signed_ranks : ndarray
        One p-value and one sum of signed ranks per row. The sum is negative if the differences
        lean below zero.

    References
    ----------
    Wilcoxon, F. (1945), "Individual comparisons by ranking methods", Biometrics Bulletin 1.
    """
    d = np.atleast_2d(np.asarray(differences, dtype=np.float64))
    n = d.shape[1]
    ranks, ties = _rank_with_ties(np.abs(d))
    signed_ranks = np.sum(np.sign(d) * ranks, axis=1)
    # The variance is 0 where all differences are.
    deviation = np.sqrt(np.maximum((n * (n + 1) * (2 * n + 1) - ties / 2) / 6, 1e-9))
    p_values: FloatArray = 2 * _special().ndtr(-np.abs(signed_ranks) / deviation)
    is_exact = (n <= _EXACT_WITH_TIES) | ((ties == 0) & (d != 0).all(axis=1) & (n <= _EXACT))
    for row in np.flatnonzero(is_exact):
        p_values[row] = _exact_signed_rank_p(d[row], ranks[row])
    p_values[~d.any(axis=1)] = 1.0
    return p_values, signed_ranks


def _exact_signed_rank_p(differences: FloatArray, ranks: FloatArray) -> float:
    """Return the share of all choices of signs with a rank sum at least as extreme, two-sided."""
    nonzero = differences != 0
    doubled = np.rint(2 * ranks[nonzero]).astype(np.int64)
    # As integers, and sorted: most samples then have the same distribution.
    at_most = _rank_sum_distribution(tuple(sorted(doubled.tolist())))
    observed = int(doubled[differences[nonzero] > 0].sum())
    below = at_most[observed - 1] if observed else 0.0
    tail = min(at_most[observed], at_most[-1] - below)
    return float(min(1.0, 2 * tail / at_most[-1]))


@lru_cache(maxsize=1024)
def _rank_sum_distribution(doubled: tuple[int, ...]) -> FloatArray:
    """Count the choices of signs whose sum of ranks, doubled, is at most 0, 1, 2, …"""
    ways = np.zeros(sum(doubled) + 1)
    ways[0] = 1
    for doubled_rank in doubled:
        ways[doubled_rank:] += ways[:-doubled_rank]
    return np.cumsum(ways)


def sign_test(wins: int, losses: int) -> float:
    """Return the two-sided p-value of the sign test; ties are not counted.

    p = 2 Σ_{i ≤ m} C(n, i) / 2ⁿ,  n = wins + losses,  m = min(wins, losses);  at most 1
    """
    n = wins + losses
    ways = sum(comb(n, i) for i in range(min(wins, losses) + 1))
    return min(1.0, 2 * ways / (1 << n))


def rank_sum_test(first: ArrayLike, second: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Test by the rank-sum test whether two samples differ, for each row of both.

    The test is two-sided. It is exact if one sample has at most 8 values and there are no ties;
    otherwise it uses the normal approximation with a continuity correction.

    Parameters
    ----------
    first, second : array_like
        The samples, one pair per row.

    Returns
    -------
    p_values, lean : ndarray
        One of each per row. `lean` is negative if the values of the first tend to be smaller.

    References
    ----------
    Mann, H. B. & Whitney, D. R. (1947), "On a test of whether one of two random variables is
    stochastically larger than the other", Annals of Mathematical Statistics 18.
    """
    a = np.atleast_2d(np.asarray(first, dtype=np.float64))
    b = np.atleast_2d(np.asarray(second, dtype=np.float64))
    n, m = a.shape[1], b.shape[1]
    ranks, ties = _rank_with_ties(np.concatenate([a, b], axis=1))
    lean = ranks[:, :n].sum(axis=1) - n * (n + 1) / 2 - n * m / 2
    total = n + m
    variance = n * m / 12 * (total + 1 - ties / (total * (total - 1)))
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (np.abs(lean) - 0.5) / np.sqrt(variance)
    p_values = np.where(variance > 0, np.minimum(1.0, 2 * _special().ndtr(-z)), 1.0)
    if min(n, m) <= _EXACT_RANK_SUM:
        is_exact = ties == 0
        smaller = np.rint(n * m / 2 - np.abs(lean[is_exact])).astype(np.int64)
        p_values[is_exact] = _exact_rank_sum_p(*sorted((n, m)))[smaller]
    return p_values, lean


def stratified_rank_sum_test(
    first: Sequence[ArrayLike], second: Sequence[ArrayLike]
) -> tuple[float, float]:
    """Test by van Elteren's test whether two methods differ within strata, such as problems.

    With the rank sum W of the first sample of n among n + m values in each stratum,

        z = Σ (W - n (n+m+1)/2) / (n+m+1)  /  √ Σ Var W / (n+m+1)²

    is standard normal if there is no difference in any stratum. The test is two-sided.

    Parameters
    ----------
    first, second : sequence of array_like
        The samples of each stratum.

    Returns
    -------
    p_value, z : float
        `z` is negative if the values of the first tend to be smaller.

    References
    ----------
    van Elteren, P. (1960), "On the combination of independent two sample tests of Wilcoxon",
    Bulletin of the International Statistical Institute 37.

    Examples
    --------
    >>> from uaos.statistics import stratified_rank_sum_test
    >>> p, z = stratified_rank_sum_test([[1, 2, 3]] * 4, [[4, 5, 6]] * 4)
    >>> p < 0.001, z < 0
    (True, True)
    """
    total = variance = 0.0
    for a, b in zip(first, second, strict=True):
        n, m = np.size(a), np.size(b)
        N = n + m
        ranks, ties = _rank_with_ties(np.concatenate([np.ravel(a), np.ravel(b)]).astype(float))
        total += (float(ranks[:n].sum()) - n * (N + 1) / 2) / (N + 1)
        variance += n * m / 12 * (N + 1 - float(ties) / (N * (N - 1))) / (N + 1) ** 2
    if variance <= 0:
        return 1.0, 0.0
    z = total / sqrt(variance)
    return float(2 * _special().ndtr(-abs(z))), z


@cache
def _exact_rank_sum_p(n: int, m: int) -> FloatArray:
    """Return the two-sided p of each value up to n m / 2 of Mann and Whitney's statistic."""
    # ways[u] counts the orders with the statistic u: Π (1 - q^(m + i)) / (1 - q^i).
    ways = np.zeros(n * m // 2 + 1)
    ways[0] = 1
    for i in range(1, n + 1):
        ways[m + i :] -= ways[: -m - i]
        for start in range(i):
            ways[start::i] = np.cumsum(ways[start::i])
    return np.minimum(1.0, 2 * np.cumsum(ways) / comb(n + m, n))


def paired_t_test(differences: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Test by the paired t-test, two-sided, whether the mean of each column differs from zero.

    Parameters
    ----------
    differences : ndarray
        Paired differences, one sample per column.

    Returns
    -------
    t, p_values : ndarray
        One of each per column. A constant difference other than 0 has an infinite t.
    """
    n = len(differences)
    mean = differences.mean(axis=0)
    error = differences.std(axis=0, ddof=1) / sqrt(n)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(mean == 0, 0.0, mean / error)
    return t, 2 * _special().stdtr(n - 1, -np.abs(t))


# Several samples


class FriedmanTest(NamedTuple):
    """Friedman's test of n rows with k columns. Made by :func:`friedman_test`.

    Attributes
    ----------
    ranks : ndarray
        The ranks in each row.
    statistic, p_value : float
    """

    ranks: FloatArray
    statistic: float
    p_value: float

    def conover_difference(self, alpha: float) -> float:
        """Return the largest difference of rank sums that is not significant at level alpha.

            t(1 - α/2; (n-1)(k-1)) √(2 (n A - Σ R²) / ((n-1)(k-1)))

        A is the sum of the squared ranks, R are the rank sums.

        References
        ----------
        Conover, W. J. (1999), Practical Nonparametric Statistics, 3rd edition, section 5.8.
        """
        n, k = self.ranks.shape
        freedom = (n - 1) * (k - 1)
        squares, sums = float((self.ranks**2).sum()), self.ranks.sum(axis=0)
        spread = 2 * (n * squares - float((sums**2).sum())) / freedom
        return float(_special().stdtrit(freedom, 1 - alpha / 2)) * sqrt(spread)


def friedman_test(values: FloatArray) -> FriedmanTest:
    """Test by Friedman's test whether the columns differ in their ranks within rows.

    With rank sums R and tie sizes u, the statistic

        X = 12 Σ (R - n(k+1)/2)² / (n k (k+1) - Σ (u³ - u)/(k-1))

    is chi-square distributed with k - 1 degrees of freedom if there is no difference.

    Parameters
    ----------
    values : ndarray
        n rows (problems) with k columns (methods).

    Returns
    -------
    FriedmanTest

    References
    ----------
    Friedman, M. (1940), "A comparison of alternative tests of significance for the problem of m
    rankings", Annals of Mathematical Statistics 11.
    """
    n, k = values.shape
    ranks = rank_rows(values)
    # A tie of u ranks takes (u³ - u)/12 from the sum of their squares: this is the denominator of
    # X times (k-1)/12, and exact, as ranks are multiples of 1/2.
    denominator = float((ranks**2).sum()) - n * k * (k + 1) ** 2 / 4
    if denominator <= 0:  # every row is one tie
        return FriedmanTest(ranks, 0.0, 1.0)
    deviations = ranks.sum(axis=0) - n * (k + 1) / 2
    statistic = (k - 1) * float((deviations**2).sum()) / denominator
    return FriedmanTest(ranks, statistic, float(_special().chdtrc(k - 1, statistic)))


# Several tests


def holm(p_values: ArrayLike) -> FloatArray:
    """Return Holm's step-down correction of m p-values.

        p̃₍ᵢ₎ = min(1, max_{j ≤ i} (m − j + 1) p₍ⱼ₎),  p₍₁₎ ≤ … ≤ p₍ₘ₎

    Parameters
    ----------
    p_values : array_like
        The p-values of m tests.

    Returns
    -------
    ndarray
        The corrected p-values, in the same order.

    References
    ----------
    Holm, S. (1979), "A simple sequentially rejective multiple test procedure", Scandinavian
    Journal of Statistics 6.

    Examples
    --------
    >>> from uaos.analysis import holm
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def _special() -> ModuleType:
    module: ModuleType = optional("scipy.special", "a statistical test")
    return module
