"""The tests that drop candidates, against values computed by hand, SciPy and the reference."""

import math

import numpy as np
import pytest
import reference_racer as reference
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from uaos.tuning.race import (
    TESTS,
    decide_by_friedman,
    decide_by_ranks,
    decide_by_signs,
    decide_by_t_test,
    decide_by_wilcoxon,
)


def table(seed: int) -> list[list[float]]:
    """Costs of some candidates; of few values, so that ties are frequent, or of many."""
    rng = np.random.default_rng(seed)
    n, k, largest = rng.integers(2, 9), rng.integers(3, 7), rng.choice([2, 4, 1000])
    return rng.integers(0, largest, size=(n, k)).astype(float).tolist()


# Friedman


def test_the_statistic_is_computed_by_hand() -> None:
    # Ranks 1 2 3, 1 3 2, 1 2 3, 2 1 3: sums 5, 8, 11, each to be compared with 4·4/2 = 8.
    # X = 12 (9 + 0 + 9) / (4·3·4) = 216/48 = 4.5; chi-square with 2 degrees: exp(-4.5/2) = 0.1054
    costs = np.array([[1, 2, 3], [1, 3, 2], [1, 2, 3], [5, 4, 6]], float)
    verdict = decide_by_friedman(costs, 0.05)
    assert verdict.statistic == pytest.approx(4.5)
    assert verdict.p_value == pytest.approx(math.exp(-2.25))
    assert verdict.stays.all()


def test_the_statistic_with_ties_is_computed_by_hand() -> None:
    # Ranks 1.5 1.5 3, 1 2.5 2.5, 1 2 3: sums 3.5, 6, 8.5, each to be compared with 3·4/2 = 6.
    # Two ties of two: Σ(u³ - u) = 12. X = 12 (6.25 + 0 + 6.25) / (3·3·4 - 12/2) = 150/30 = 5
    costs = np.array([[1, 1, 3], [1, 2, 2], [1, 2, 3]], float)
    assert decide_by_friedman(costs, 0.05).statistic == pytest.approx(5)


def test_conover_s_difference_is_computed_by_hand() -> None:
    # Ranks: five times 1 2 3. R = 5, 10, 15; X = 12 (25 + 0 + 25) / (5·3·4) = 10, p = e^-5.
    # A = 5·14 = 70: n A - ΣR² = 350 - 350 = 0, so that any difference counts.
    strict = np.array([[1, 2, 3]] * 5, float)
    assert decide_by_friedman(strict, 0.05).stays.tolist() == [True, False, False]
    # With one row 2 1 3: R = 6, 9, 15; X = 12 (16 + 1 + 25) / 60 = 8.4, p = e^-4.2 = 0.015.
    # n A - ΣR² = 350 - (36 + 81 + 225) = 8; t(0.975; 8) = 2.306: 2.306 √(2·8/8) = 3.261.
    # The second is 3 behind and stays; the third, 9 behind, leaves.
    close = np.array([[1, 2, 3]] * 4 + [[2, 1, 3]], float)
    verdict = decide_by_friedman(close, 0.05)
    assert verdict.p_value == pytest.approx(math.exp(-4.2))
    assert verdict.stays.tolist() == [True, True, False]
    # At a level of 0.1, t(0.95; 8) = 1.860: 1.860 √2 = 2.63 < 3
    assert decide_by_friedman(close, 0.1).stays.tolist() == [True, False, False]


def test_all_equal_keeps_everybody() -> None:
    verdict = decide_by_friedman(np.ones((6, 4)), 0.05)
    assert (verdict.statistic, verdict.p_value) == (0.0, 1.0)
    assert verdict.stays.all()


@given(st.integers(0, 2**32))
def test_the_statistic_is_the_reference_s_and_scipy_s(seed: int) -> None:
    rows = table(seed)
    verdict = decide_by_friedman(np.array(rows), 0.05)
    assert verdict.statistic == pytest.approx(reference.friedman_statistic(rows), abs=1e-12)
    if any(len(set(row)) > 1 for row in rows):
        theirs = stats.friedmanchisquare(*np.array(rows).T)
        assert verdict.statistic == pytest.approx(theirs.statistic, abs=1e-12)
        assert verdict.p_value == pytest.approx(theirs.pvalue, abs=1e-12)


@given(st.integers(0, 2**32))
def test_who_stays_is_who_the_reference_keeps(seed: int) -> None:
    rows = table(seed)
    verdict = decide_by_friedman(np.array(rows), 0.05)
    n, k = len(rows), len(rows[0])
    sums = reference.rank_sums(rows)
    difference = math.inf
    if verdict.p_value < 0.05:
        quantile = float(stats.t.ppf(0.975, (n - 1) * (k - 1)))
        difference = reference.conover_difference(rows, quantile)
    behind = [R - min(sums) for R in sums]
    sure = [i for i in range(k) if abs(behind[i] - difference) > 1e-9]
    assert [bool(verdict.stays[i]) for i in sure] == [behind[i] <= difference for i in sure]
    assert verdict.stays[int(np.argmin(sums))]


# Two candidates


def test_two_candidates_are_compared_by_wilcoxon() -> None:
    rng = np.random.default_rng(1)
    costs = rng.normal([0, 1.5], size=(12, 2))
    theirs = stats.wilcoxon(costs[:, 0], costs[:, 1])
    verdict = decide_by_friedman(costs, 0.05)
    assert verdict.p_value == pytest.approx(theirs.pvalue)
    assert verdict.p_value < 0.05
    assert verdict.stays.tolist() == [True, False]
    assert decide_by_friedman(costs[:, ::-1], 0.05).stays.tolist() == [False, True]


def test_one_that_is_never_worse_wins() -> None:
    better_once = np.array([[1, 1], [2, 2], [1, 2], [3, 3], [4, 4]], float)
    assert decide_by_wilcoxon(better_once, 0.05).stays.tolist() == [True, False]
    assert decide_by_wilcoxon(better_once[:, ::-1], 0.05).stays.tolist() == [False, True]
    assert decide_by_wilcoxon(better_once, 0.05).p_value == 0.0


def test_two_that_are_equal_both_stay() -> None:
    verdict = decide_by_wilcoxon(np.array([[1, 1], [2, 2], [3, 3]], float), 0.05)
    assert verdict.p_value == 1.0
    assert verdict.stays.all()


def test_few_instances_with_a_win_for_each_decide_nothing() -> None:
    # four wins and a narrow loss: the exact p-value of W = 1 with n = 5 is 2·2/32 = 0.125
    costs = np.array([[1, 2], [1, 3], [1, 4], [1, 5], [1.5, 1]], float)
    verdict = decide_by_wilcoxon(costs, 0.05)
    assert verdict.p_value == pytest.approx(0.125)
    assert verdict.stays.all()


def test_equal_differences_share_their_ranks() -> None:
    # Seven wins by 1 and a loss by 2: ranks 4 (seven times) and 8, so W = 8. Rank sums of 8 or less
    # come from no loss, one loss (of 8 candidates for it) and two of rank 4 (21 pairs):
    # p = 2 (1 + 8 + 21) / 2⁸ = 0.234
    costs = np.array([[1, 2]] * 7 + [[3, 1]], float)
    verdict = decide_by_wilcoxon(costs, 0.05)
    assert verdict.statistic == 8
    assert verdict.p_value == 60 / 256


def test_the_sizes_of_the_differences_decide_who_wins_and_not_their_number() -> None:
    # The first wins 16 times by 1 … 16 hundredths, the second 14 times by 17 … 30: signed ranks
    # 136 against 329. The first has more wins, and is worse: p < 0.05.
    difference = [-i / 100 for i in range(1, 17)] + [i / 100 for i in range(17, 31)]
    costs = np.column_stack([np.array(difference), np.zeros(30)])
    verdict = decide_by_wilcoxon(costs, 0.05)
    assert verdict.p_value < 0.05
    assert verdict.stays.tolist() == [False, True]


def test_equal_costs_keep_their_ranks() -> None:
    # Wins by 1, 2 and 3, a loss by 4: of 16 rank sums those of {}, 1, 2, 3, 4, 12 and 13 are 4 or
    # less, p = 14/16. With nine ties the ranks are 10, 11, 12 and 13: {} and four alone, p = 10/16.
    rows = [[1, 2], [1, 3], [1, 4], [5, 1]]
    assert decide_by_wilcoxon(np.array(rows, float), 0.05).p_value == 14 / 16
    with_ties = np.array([*rows, *[[3, 3]] * 9], float)
    assert decide_by_wilcoxon(with_ties, 0.05).p_value == 10 / 16
    assert decide_by_wilcoxon(with_ties, 0.7).stays.tolist() == [True, False]


# The t-test


def test_the_t_test_compares_with_the_smallest_mean() -> None:
    rng = np.random.default_rng(2)
    costs = rng.normal([1, 0, 0.2, 3], size=(9, 4))
    best = int(np.argmin(costs.mean(axis=0)))
    verdict = decide_by_t_test(costs, 0.05)
    p_values = [
        1.0 if j == best else float(stats.ttest_rel(costs[:, j], costs[:, best]).pvalue)
        for j in range(4)
    ]
    assert verdict.p_value == pytest.approx(min(p_values))
    assert verdict.stays.tolist() == [p >= 0.05 for p in p_values]
    assert verdict.stays[best]
    assert not verdict.stays[3]


def test_a_constant_difference_is_a_sure_one_and_no_difference_is_none() -> None:
    first = np.array([1.0, 2.0, 4.0, 8.0])
    costs = np.column_stack([first, first + 1, first])
    verdict = decide_by_t_test(costs, 0.05)
    assert verdict.stays.tolist() == [True, False, True]
    assert verdict.p_value == 0.0
    assert verdict.statistic == math.inf


def test_two_candidates_differ_by_the_size_of_their_costs_in_a_t_test() -> None:
    # The second is better four times by little, and worse once by much
    costs = np.array([[1, 0.9]] * 4 + [[1, 90]], float)
    assert decide_by_t_test(costs, 0.05).stays.all()
    assert decide_by_t_test(costs, 0.5).stays.tolist() == [True, False]


@pytest.mark.parametrize("name", TESTS)
def test_somebody_always_stays(name: str) -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        n, k = rng.integers(2, 8), rng.integers(2, 6)
        costs = rng.integers(0, 4, size=(n, k)).astype(float)
        verdict = TESTS[name](costs, 0.2)
        assert verdict.stays.any()
        assert 0 <= verdict.p_value <= 1


# Ranks within an instance only


def test_the_sign_test_is_computed_by_hand() -> None:
    # The first wins 8 of 9, and one instance is a tie: p = 2 (1 + 9) / 2⁹ = 0.0390625.
    costs = np.array([[1, 2]] * 8 + [[3, 2], [5, 5]], float)
    verdict = decide_by_signs(costs, 0.05)
    assert verdict.p_value == pytest.approx(20 / 512)
    assert verdict.stays.tolist() == [True, False]
    assert decide_by_signs(costs, 0.03).stays.all()
    # 2 of 4: p = min(1, 2 (1 + 4 + 6) / 16) = 1
    assert decide_by_signs(np.array([[1, 2], [2, 1]] * 2, float), 0.05).p_value == 1.0


def test_of_two_one_that_is_never_worse_wins_and_equals_stay() -> None:
    assert decide_by_signs(np.array([[1, 1], [1, 2]], float), 0.05).stays.tolist() == [True, False]
    assert decide_by_signs(np.array([[1, 1], [2, 2]], float), 0.05).stays.all()


@given(st.integers(0, 2**32), st.integers(2, 5))
def test_ranks_do_not_see_the_scale_of_an_instance(seed: int, k: int) -> None:
    """Each problem has its own scale: any increasing function of its costs changes nothing."""
    rng = np.random.default_rng(seed)
    costs = rng.normal(size=(8, k))
    scaled = 10.0 ** rng.integers(-6, 7, size=(8, 1)) * np.exp(costs) - 1e3
    for a, b in zip(decide_by_ranks(costs, 0.05), decide_by_ranks(scaled, 0.05), strict=True):
        assert np.array_equal(a, b)
