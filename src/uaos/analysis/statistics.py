"""Are the differences real? Pairwise Wilcoxon tests with Holm's correction, and Friedman's ranking.

The recipe is Demšar, J. (2006), "Statistical comparisons of classifiers over multiple data sets",
Journal of Machine Learning Research 7. Scores are those of :mod:`uaos.analysis.scores`: in powers
of ten, smaller is better.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from uaos.analysis.scores import Scores

#: Below this a difference is called significant.
ALPHA = 0.05

#: Wilcoxon's test can call no difference of fewer problems significant: 2 / 2^5 > 0.05.
TELLING = 6


@dataclass(frozen=True)
class Pair:
    """Two methods over the same problems; what is negative speaks for the first.

    `difference` is the median of the score differences, in powers of ten, and `lean` the sum of
    their signed ranks, whose sign says which of the two a significant test found better.
    """

    first: str
    second: str
    wins: int
    ties: int
    losses: int
    difference: float
    p: float
    p_holm: float
    lean: float

    @property
    def problems(self) -> int:
        """How many problems both were run on."""
        return self.wins + self.ties + self.losses

    @property
    def better(self) -> str | None:
        """The significantly better of the two by Holm's p, or None."""
        if not self.p_holm < ALPHA:
            return None
        return self.first if self.lean < 0 else self.second

    def turned(self) -> "Pair":
        """The same with the second method first."""
        return Pair(
            self.second, self.first, self.losses, self.ties, self.wins, -self.difference, self.p,
            self.p_holm, -self.lean,
        )  # fmt: skip


def pairwise(scores: Scores) -> list[Pair]:
    """Wilcoxon's signed-rank test of every pair of methods, p-values corrected after Holm.

    Two-sided; the ranks of equal scores are split evenly between the two sides. Wilcoxon, F.
    (1945), "Individual comparisons by ranking methods", Biometrics Bulletin 1.
    """
    raw = []
    for a, b in combinations(range(len(scores.methods)), 2):
        difference = scores.values[:, a] - scores.values[:, b]
        p, lean = signed_ranks(difference)
        raw.append((a, b, difference, p, lean))
    corrected = holm([p for *_, p, _ in raw])
    return [
        Pair(
            scores.methods[a], scores.methods[b], int((d < 0).sum()), int((d == 0).sum()),
            int((d > 0).sum()), float(np.median(d)) if d.size else 0.0, p, float(adjusted), lean,
        )
        for (a, b, d, p, lean), adjusted in zip(raw, corrected, strict=True)
    ]  # fmt: skip


def signed_ranks(difference: NDArray[np.float64]) -> tuple[float, float]:
    """Wilcoxon's p, and the sum of signed ranks (negative: mostly below zero)."""
    if not difference.any():
        return 1.0, 0.0
    p = float(stats.wilcoxon(difference, zero_method="zsplit").pvalue)
    ranks = stats.rankdata(np.abs(difference))
    return p, float(np.sign(difference) @ ranks)


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Holm's step-down correction of m p-values (scipy has none).

        p̃₍ᵢ₎ = min(1, max_{j ≤ i} (m − j + 1) p₍ⱼ₎),  p₍₁₎ ≤ … ≤ p₍ₘ₎

    Holm, S. (1979), "A simple sequentially rejective multiple test procedure", Scandinavian
    Journal of Statistics 6.
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


@dataclass(frozen=True)
class Ranking:
    """Mean ranks (1 is best) of the methods over the problems, and what distance is significant.

    `statistic` and `p` are Friedman's, NaN for fewer than three methods or two problems.
    """

    methods: tuple[str, ...]
    mean_ranks: NDArray[np.float64]
    problems: int
    statistic: float
    p: float
    critical_difference: float

    def rank(self, method: str) -> float:
        """One method's mean rank; NaN if it was not ranked."""
        if method not in self.methods:
            return np.nan
        return float(self.mean_ranks[self.methods.index(method)])


def friedman(scores: Scores) -> Ranking:
    """Friedman's test over the problems, with Nemenyi's critical difference.

        CD = q_α √(k (k + 1) / (6 N))

    for k methods and N problems, q_α being the studentised range's quantile for infinitely many
    degrees of freedom, divided by √2. Mean ranks further apart than CD differ significantly.
    Friedman, M. (1940), "A comparison of alternative tests of significance for the problem of m
    rankings", Annals of Mathematical Statistics 11; Nemenyi, P. (1963), "Distribution-free multiple
    comparisons", Princeton.
    """
    n, k = scores.values.shape
    if not n or not k:
        return Ranking(scores.methods, np.full(k, np.nan), n, np.nan, np.nan, np.nan)
    ranks = stats.rankdata(scores.values, axis=1)
    statistic, p = np.nan, np.nan
    if k > 2 and n > 1:
        # All methods equal everywhere: nothing to divide by, and nothing to tell apart.
        alike = bool((ranks == ranks[:, :1]).all())
        statistic, p = (0.0, 1.0) if alike else stats.friedmanchisquare(*scores.values.T)
    distance = critical_difference(k, n) if k > 1 else np.nan
    return Ranking(
        scores.methods, ranks.mean(axis=0), n, float(statistic), float(p), float(distance)
    )


def critical_difference(methods: int, problems: int, alpha: float = ALPHA) -> float:
    """Nemenyi's critical difference of mean ranks."""
    quantile = stats.studentized_range.ppf(1 - alpha, methods, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(methods * (methods + 1) / (6 * problems)))
