"""The racer's statistics once more, slow and plain: the judge of the fast code.

Written from the equations, with loops, and without NumPy.
"""

import math
from collections.abc import Sequence

Rows = Sequence[Sequence[float]]


def mid_ranks(row: Sequence[float]) -> list[float]:
    """The rank of each value, 1 for the smallest; equals share the mean of their ranks."""
    ranks = []
    for value in row:
        smaller = sum(other < value for other in row)
        equal = sum(other == value for other in row)
        # the ranks smaller + 1, …, smaller + equal
        ranks.append(smaller + (equal + 1) / 2)
    return ranks


def tie_sizes(row: Sequence[float]) -> list[int]:
    """How often each value occurs."""
    return [list(row).count(value) for value in set(row)]


def rank_sums(rows: Rows) -> list[float]:
    ranked = [mid_ranks(row) for row in rows]
    return [sum(row[j] for row in ranked) for j in range(len(rows[0]))]


def friedman_statistic(rows: Rows) -> float:
    """X = 12 Σ (R - n(k+1)/2)² / (n k (k+1) - Σ (u³ - u)/(k-1)); 0 if every row is one tie."""
    n, k = len(rows), len(rows[0])
    above = 12 * sum((R - n * (k + 1) / 2) ** 2 for R in rank_sums(rows))
    ties = sum(u**3 - u for row in rows for u in tie_sizes(row))
    below = n * k * (k + 1) - ties / (k - 1)
    return above / below if below > 0 else 0.0


def conover_difference(rows: Rows, quantile: float) -> float:
    """The largest difference of rank sums that is none: t √(2 (n A - Σ R²) / ((n-1)(k-1)))."""
    n, k = len(rows), len(rows[0])
    A = sum(rank**2 for row in rows for rank in mid_ranks(row))
    squares = sum(R**2 for R in rank_sums(rows))
    return quantile * math.sqrt(2 * (n * A - squares) / ((n - 1) * (k - 1)))


def least_budget(N: int) -> int:
    """The least budget for N free parameters under the usual rules (mu 5, a test an instance)."""
    J = S = math.floor(2 + math.log2(N))
    mu, each_test, new = 5, 1, 1
    if J > 5:
        T = mu + each_test + (J - 5) * new + 5 * max(each_test, new)
    else:
        T = mu + each_test + (J - 1) * max(each_test, new)
    return (S + 1) * J * T
