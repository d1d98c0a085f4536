"""The statistical tests, by hand and against SciPy."""

import math

import numpy as np
import pytest
from scipy import stats

from uaos.statistics import (
    friedman_test,
    holm,
    paired_t_test,
    rank_rows,
    rank_sum_test,
    sign_test,
    wilcoxon_test,
)


def test_equal_values_share_their_mean_rank() -> None:
    """Two values for the ranks 3 and 4 get 3.5 each."""
    assert rank_rows(np.array([[3.0, 1.0, 3.0, 2.0], [5.0, 5.0, 5.0, 5.0]])).tolist() == [
        [3.5, 1, 3.5, 2], [2.5, 2.5, 2.5, 2.5],
    ]  # fmt: skip


# Wilcoxon


def test_zeros_are_ranked_and_split_between_the_sides() -> None:
    """Two zeros take the ranks 1 and 2: the others have 3, 4 and 5, and one sign pattern in eight.

    Signed ranks 3 + 4 - 5 = 2. Of the eight sums of 3, 4 and 5, those of 7 or more are 7, 8, 9 and
    12, those of 7 or less 0, 3, 4, 5 and 7: p = 2 · 4/8 = 1.
    """
    (p,), (signed_ranks,) = wilcoxon_test([0.0, 0.0, 1.0, 2.0, -3.0])
    assert signed_ranks == 2
    assert p == 1
    (p,), (signed_ranks,) = wilcoxon_test([0.0, 0.0, 1.0, 2.0, 3.0])
    assert signed_ranks == 12
    assert p == 2 / 8


def test_zeros_weaken_a_loss_of_the_smallest_size() -> None:
    """Wins by 2 and 3, a loss by 1: with many zeros the three ranks become nearly equal."""
    few, many = wilcoxon_test([-1.0, 2.0, 3.0]), wilcoxon_test([-1.0, 2.0, 3.0, *[0.0] * 10])
    assert few[1] == pytest.approx([4])  # 2 + 3 - 1
    assert many[1] == pytest.approx([14])  # 12 + 13 - 11
    assert few[0] == many[0] == [0.5]  # two of eight sums are as large, on either side


def test_only_zeros_show_no_difference() -> None:
    """All differences are zero, in a small sample and in a large one."""
    for size in (5, 60):
        assert wilcoxon_test(np.zeros(size)) == (1.0, 0.0)


@pytest.mark.parametrize("size", [1, 6, 13, 14, 50, 51, 120])
def test_tests_agree_with_scipy(size: int) -> None:
    """Exact for small samples, approximate for large ones, with ties and zeros or without."""
    rng = np.random.default_rng(size)
    rounded = rng.integers(-4, 6, (4, size)).astype(float)
    for sample in (*rounded, *rng.normal(0.3, 1, (4, size))):
        if sample.any():
            expected = stats.wilcoxon(sample, zero_method="zsplit").pvalue
            assert wilcoxon_test(sample)[0] == pytest.approx([expected], rel=1e-12)
        other = sample[::-1][:9] + 0.5
        expected = stats.mannwhitneyu(sample, other).pvalue
        assert rank_sum_test(sample, other)[0] == pytest.approx([expected], rel=1e-12)


# Friedman


def test_friedman_agrees_with_scipy_with_ties_and_without() -> None:
    """Statistic and p-value of tables with many ties and with none."""
    rng = np.random.default_rng(5)
    for largest in (2, 4, 1000):
        table = rng.integers(0, largest, (9, 5)).astype(float)
        theirs = stats.friedmanchisquare(*table.T)
        ours = friedman_test(table)
        assert ours.statistic == pytest.approx(theirs.statistic, abs=1e-12)
        assert ours.p_value == pytest.approx(theirs.pvalue, abs=1e-12)


def test_friedman_of_equal_columns_shows_no_difference() -> None:
    """Every row is one tie."""
    assert friedman_test(np.ones((6, 4)))[1:] == (0.0, 1.0)


def test_conover_s_difference_by_hand() -> None:
    """Ranks 1 2 3 four times and 2 1 3: R = 6, 9, 15, A = 70, t(0.975; 8) = 2.306.

    2.306 √(2 (5·70 - 342) / 8) = 3.261
    """
    test = friedman_test(np.array([[1, 2, 3]] * 4 + [[2, 1, 3]], float))
    assert test.conover_difference(0.05) == pytest.approx(3.261, abs=5e-4)


# Other tests


def test_the_sign_test_by_hand() -> None:
    """Eight wins of nine: 2 (1 + 9) / 2⁹; two of four: at most 1."""
    assert sign_test(8, 1) == 20 / 512
    assert sign_test(2, 2) == 1


def test_the_t_test_agrees_with_scipy() -> None:
    """Means on either side of zero; a constant difference is certain, no difference is none."""
    differences = np.random.default_rng(2).normal([1, 0, -2], size=(9, 3))
    theirs = stats.ttest_1samp(differences, 0)
    t, p = paired_t_test(differences)
    assert t == pytest.approx(theirs.statistic)
    assert p == pytest.approx(theirs.pvalue)
    t, p = paired_t_test(np.column_stack([np.ones(4), np.zeros(4)]))
    assert t.tolist() == [math.inf, 0]
    assert p.tolist() == [0, 1]


def test_holm_by_hand() -> None:
    """Of 0.01, 0.04, 0.03, 0.005: 4·0.005, 3·0.01, 2·0.03, and 0.04 lifted to 0.06."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.9]).tolist() == [1.0, 1.0]
    assert holm([]).size == 0
