"""Offspring metrics, by hand: parents 10, 8, 6, 4 and offspring 7, 9, 2, 4; best so far 3."""

import numpy as np
import pytest

from uaos.selection.components import components
from uaos.selection.learning import mask_failures, repair_fitness

PARENTS = np.array([10.0, 8.0, 6.0, 4.0])
OFFSPRING = np.array([7.0, 9.0, 2.0, 4.0])  # better, worse, better, equal
BEST_SO_FAR = 3.0


def measure(name: str, parents, offspring, best_so_far) -> tuple[np.ndarray, np.ndarray]:
    """The metrics and the successes."""
    metric = components("metric")[name]()
    values, successes = (
        metric.compute(parents, offspring, best_so_far),
        np.empty(len(parents), bool),
    )
    mask_failures(values, successes, parents, offspring, metric.by_reference)
    return values, successes


@pytest.mark.parametrize(
    ("name", "expected", "successes"),
    [
        ("offspring_fitness", [-7, 0, -2, 0], [1, 0, 1, 0]),
        # the best offspring has 2: exp(-(7 - 2)), exp(0)
        ("exp_offspring_fitness", [np.exp(-5), 0, 1, 0], [1, 0, 1, 0]),
        ("parent_improvement", [3, 0, 4, 0], [1, 0, 1, 0]),
        # best parent 4: 4 - 7 < 0, 4 - 2 = 2; no success without beating it
        ("best_parent_improvement", [0, 0, 2, 0], [0, 0, 1, 0]),
        ("best_so_far_improvement", [0, 0, 1, 0], [0, 0, 1, 0]),
        # median 7: 7 - 7 = 0 is no success, 7 - 2 = 5
        ("median_improvement", [0, 0, 5, 0], [0, 0, 1, 0]),
        # 3/7 · 3 and 3/2 · 4
        ("relative_improvement", [9 / 7, 0, 6, 0], [1, 0, 1, 0]),
        # 3/10 and 4/6
        ("parent_relative_improvement", [0.3, 0, 2 / 3, 0], [1, 0, 1, 0]),
    ],
)
def test_each_metric_by_hand(name: str, expected: list[float], successes: list[int]) -> None:
    values, success = measure(name, PARENTS, OFFSPRING, BEST_SO_FAR)
    np.testing.assert_allclose(values, expected, rtol=1e-15)
    assert success.tolist() == [bool(s) for s in successes]


def test_every_metric_has_a_case_above() -> None:
    assert len(components("metric")) == 8


def test_relative_improvement_divides_zero_by_the_smallest_normal_number() -> None:
    values, success = measure("relative_improvement", np.array([2.0]), np.array([0.0]), 1e-300)
    # 1e-300 / 2.2250738585072014e-308 · 2
    assert values[0] == pytest.approx(2e-300 / 2.2250738585072014e-308)
    assert success[0]


def test_failed_offspring_become_inf_and_failed_parents_the_worst_finite_one() -> None:
    parents, offspring = repair_fitness(
        np.array([1.0, np.nan, 5.0, -np.inf]), np.array([np.nan, 2.0, -np.inf, 3.0])
    )
    assert parents.tolist() == [1, 5, 5, 5]
    assert offspring.tolist() == [np.inf, 2, np.inf, 3]


def test_where_no_parent_is_finite_nothing_improves() -> None:
    parents, offspring = repair_fitness(np.array([np.nan, np.inf]), np.array([1.0, 2.0]))
    _, success = measure("parent_improvement", parents, offspring, np.inf)
    assert not success.any()


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_the_median_of_the_parents_is_numpys(n: int) -> None:
    parents = np.random.default_rng(n).normal(size=n)
    values = components("metric")["median_improvement"]().compute(parents, parents - 9.0, 0.0)
    np.testing.assert_array_equal(values, np.median(parents) - (parents - 9.0))
