"""Share, regret and reaction time, by hand."""

import numpy as np
import pytest

from uaos.scenarios import Estimate, UniformScenario
from uaos.scenarios.comparison import estimate, reaction_times, regrets, summarize


def ranks(*rows: str) -> np.ndarray:
    """Ranks written as digits, a row a repetition."""
    return np.array([[int(c) for c in row.replace(" ", "")] for row in rows], dtype=np.int16)


def test_the_regret_is_what_the_best_operator_would_have_brought_more() -> None:
    # means 3, 2, 1: the ranks 0, 1, 2 lose 0, 1, 2
    assert regrets(ranks("0210"), UniformScenario(operators=3).means).tolist() == [[0, 2, 1, 0]]


def test_a_change_is_answered_where_most_of_a_window_went_to_the_new_best() -> None:
    # The first stretch of eight is no change. In the second one, the first four with more than
    # two 0s are 0100, after two applications. In the third, the first four of all.
    row = "11111111 11010000 00001111"
    assert reaction_times(ranks(row), every=8, window=4).tolist() == [[2, 0]]


def test_a_change_that_is_not_answered_in_time_counts_in_full() -> None:
    # A window must not reach over the next change: 1110 | 0000 is not seen as 00 0.
    assert reaction_times(ranks("1111 1110 0000"), every=4, window=3).tolist() == [[4, 0]]


def test_a_last_stretch_that_is_cut_short_is_left_out() -> None:
    assert reaction_times(ranks("0000 0000 1"), every=4, window=2).tolist() == [[0]]
    assert reaction_times(ranks("0000"), every=4, window=2).shape == (1, 0)
    assert reaction_times(ranks("00"), every=4, window=2).shape == (1, 0)


def test_a_mean_comes_with_its_standard_error() -> None:
    # deviations -1, 0, 1: variance 1, error 1/√3
    assert estimate(np.array([1.0, 2.0, 3.0])) == (2, pytest.approx(3**-0.5))
    assert np.isnan(estimate(np.array([1.0])).error)
    assert np.isnan(estimate(np.zeros(0)).mean)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Estimate(0.49512, 0.00341), "0.495 ± 0.003"),
        (Estimate(38.61, 0.55), "38.6 ± 0.6"),
        (Estimate(120.4, 13.0), "120 ± 13"),
        (Estimate(1.0, 0.0), "1"),
        (Estimate(0.25, float("nan")), "0.25"),
        (Estimate(float("nan"), float("nan")), "–"),
    ],
)
def test_an_estimate_is_shown_with_the_decimals_that_it_is_worth(
    value: Estimate, text: str
) -> None:
    assert str(value) == text


def test_a_summary_sums_up() -> None:
    made = UniformScenario(operators=3, every=4, steps=8)
    row = summarize("mine", ranks("1111 0000", "2222 1111"), made)
    assert row.name == "mine"
    assert row.share == (0.25, 0.25)  # 4/8 and 0/8
    assert row.regret == (1.0, 0.5)  # 4/8 and 12/8
    assert row.reaction == (2.0, 2.0)  # 0 and 4
    assert row.missed == 0.5


def test_without_a_change_there_is_no_reaction() -> None:
    row = summarize("mine", ranks("0011"), UniformScenario(operators=3, every=9, steps=4))
    assert row.share.mean == 0.5
    assert np.isnan(row.reaction.mean)
    assert np.isnan(row.missed)


def test_a_window_is_no_longer_than_the_time_between_changes() -> None:
    made = UniformScenario(operators=3, every=2, steps=4)
    assert summarize("mine", ranks("1100"), made).reaction.mean == 0
