"""Scenarios deal ranks and rewards as the literature defines them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from raising import raises

from uaos.errors import InvalidParameter, UnknownName
from uaos.scenarios import (
    KINDS,
    BooleanScenario,
    OutlierScenario,
    Scenario,
    UniformScenario,
    make_scenario,
)


def many(kind: Scenario, n: int = 20_000) -> np.ndarray:
    """n rewards of each rank, (n, K)."""
    ranks = np.tile(np.arange(kind.operators, dtype=np.int16), (n, 1))
    return kind.rewards(ranks, np.random.default_rng(1))


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_the_mean_rewards_are_those_announced(kind: type[Scenario]) -> None:
    made = kind(operators=5)
    assert made.means.tolist() == [5, 4, 3, 2, 1]
    drawn = many(made)
    error = drawn.std(axis=0) / np.sqrt(len(drawn))
    assert (np.abs(drawn.mean(axis=0) - made.means) < 5 * error).all()


def test_uniform_rewards_fill_overlapping_intervals() -> None:
    drawn = many(UniformScenario(operators=5))
    # [4, 6], [3, 5], [2, 4], [1, 3], [0, 2]
    assert np.allclose(drawn.min(axis=0), [4, 3, 2, 1, 0], atol=0.01)
    assert np.allclose(drawn.max(axis=0), [6, 5, 4, 3, 2], atol=0.01)


def test_boolean_rewards_are_ten_or_nothing() -> None:
    drawn = many(BooleanScenario(operators=5))
    assert set(drawn.ravel()) == {0, 10}
    assert np.allclose((drawn > 0).mean(axis=0), [0.5, 0.4, 0.3, 0.2, 0.1], atol=0.02)


def test_outliers_are_rare_and_large() -> None:
    drawn = many(OutlierScenario(operators=5))
    assert np.allclose((drawn > 0).mean(axis=0), 0.1, atol=0.01)
    assert drawn.max(axis=0).tolist() == [50, 40, 30, 20, 10]


@given(
    operators=st.integers(2, 9), every=st.integers(1, 12), steps=st.integers(1, 60),
    seed=st.integers(0, 1000),
)  # fmt: skip
def test_every_deal_is_a_permutation_with_another_best(
    operators: int, every: int, steps: int, seed: int
) -> None:
    made = UniformScenario(operators, every, steps)
    world = made.draw(3, np.random.default_rng(seed))
    assert world.ranks.shape == world.rewards.shape == (3, steps, operators)
    assert (np.sort(world.ranks, axis=2) == np.arange(operators)).all()
    changed = (np.diff(world.ranks.argmin(axis=2), axis=1) != 0).any(axis=0)
    assert (np.flatnonzero(changed) + 1).tolist() == list(made.changes)
    assert (np.abs(world.rewards - made.means[world.ranks]) <= 1).all()


def test_after_a_change_any_other_operator_may_be_the_best() -> None:
    made = UniformScenario(operators=3, every=1, steps=2)
    best = made.draw(3000, np.random.default_rng(1)).ranks.argmin(axis=2)
    pairs, counts = np.unique(best @ [3, 1], return_counts=True)
    # 0→1, 0→2, 1→0, 1→2, 2→0, 2→1, each in a sixth of 3000
    assert pairs.tolist() == [1, 2, 3, 5, 6, 7]
    assert (np.abs(counts - 500) < 100).all()


def test_a_scenario_of_ones_own_gives_its_rewards() -> None:
    class Sure(Scenario):
        def rewards(self, ranks, rng):
            return self.means[ranks]

    world = Sure(operators=3, steps=4).draw(1, np.random.default_rng(1))
    assert (world.rewards == 3 - world.ranks).all()


def test_a_scenario_has_a_name() -> None:
    assert make_scenario("boolean", operators=3) == BooleanScenario(operators=3)
    with raises(UnknownName, name="bolean", near="boolean"):
        make_scenario("bolean")


@pytest.mark.parametrize(
    ("name", "value"), [("operators", 1), ("every", 0), ("steps", 1.5), ("steps", 2_000_000)]
)
def test_a_scenario_that_cannot_be_is_refused(name: str, value: float) -> None:
    with pytest.raises(InvalidParameter) as error:
        UniformScenario(**{name: value})
    assert (error.value.name, error.value.value) == (name, value)
    assert error.value.owner == "the uniform scenario"
