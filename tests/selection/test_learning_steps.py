"""The steps between the components, for any numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import written

from uaos.selection.components.base import LIMIT
from uaos.selection.learning import (
    count_applications,
    first_outside,
    fitness_summary,
    normalize_probabilities,
    normalize_qualities,
    scale_rewards,
)

numbers = st.floats(allow_nan=True, allow_infinity=True)
rows = st.lists(numbers, min_size=2, max_size=9).map(np.array)


def finite(raw: np.ndarray) -> np.ndarray:
    """NaN becomes 0, and everything else is cut at the limit."""
    return np.clip(np.where(np.isnan(raw), 0, raw), -LIMIT, LIMIT)


@given(rows)
def test_rewards_are_finite_and_scaled_onto_the_unit_interval(raw: np.ndarray) -> None:
    cut = finite(raw)
    np.testing.assert_array_equal(scale_rewards(raw, False), cut)
    span = np.ptp(cut)
    expected = (cut - cut.min()) / span if span > 0 else np.zeros(len(raw))
    np.testing.assert_allclose(scale_rewards(raw, True), expected, rtol=1e-12)


@given(rows)
def test_qualities_are_shifted_and_divided_by_their_sum(raw: np.ndarray) -> None:
    shifted = finite(raw) - min(0.0, finite(raw).min())
    total = shifted.sum()
    expected = shifted / total if total > 0 else np.full(len(raw), 1 / len(raw))
    np.testing.assert_allclose(written(normalize_qualities, raw), expected, rtol=1e-12)


@given(st.lists(st.floats(0, 1e100), min_size=2, max_size=9).map(np.array))
def test_probabilities_sum_to_one(raw: np.ndarray) -> None:
    found = written(normalize_probabilities, raw)
    assert found.sum() == pytest.approx(1)
    assert np.all(found >= 0)


def test_the_summary_of_fitness_looks_at_finite_values() -> None:
    parents, offspring = np.array([3.0, np.nan, 2.0]), np.array([-np.inf, 5.0, 4.0])
    assert fitness_summary(parents, offspring) == (2, 4, False)
    assert fitness_summary(parents[[0, 2]], offspring[1:]) == (2, 4, True)
    assert fitness_summary(parents[1:2], offspring[:1]) == (np.inf, np.inf, False)


def test_operators_are_counted_and_strangers_found() -> None:
    applications = np.array([1, 0, 0])
    count_applications(applications, np.array([2, 0, 2]))
    assert applications.tolist() == [2, 0, 2]
    assert first_outside(np.array([0, 2, 1]), 3) == -1
    assert first_outside(np.array([0, 3, -1]), 3) == 1
    assert first_outside(np.array([0, 2, -1]), 3) == 2
