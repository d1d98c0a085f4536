"""Where new candidates come from: the models' numbers by hand, and what is never drawn."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from spaces import choice, cooking, flat, real, when, whole

from uaos.problems.variables import Clause, Forbidden, Space
from uaos.tuning.racer import Sampler, children, nearly_equal
from uaos.tuning.sampling import uniform_candidates


def anything(_: object) -> bool:
    return True


def two() -> Space:
    """A real and a choice of four: N = 2."""
    return Space((real("x", 0, 4), choice("c", "a", "b", "c", "d")))


# The numbers of a model


def test_a_first_model_has_half_of_each_range_and_equal_chances() -> None:
    space = Space((
        real("x", 1, 4), whole("n", 2, 10), real("y", 0.01, 100, log=True),
        whole("m", 1, 7, log=True), choice("c", 1, 2, 3, 4),
    ))  # fmt: skip
    model = Sampler.first(space)
    assert model.spreads == pytest.approx({
        "x": 1.5, "n": 4, "y": math.log(10_000) / 2, "m": math.log(8) / 2,
    })  # fmt: skip
    assert model.chances["c"].tolist() == [0.25] * 4


def test_an_update_is_computed_by_hand() -> None:
    values = {"x": 1.0, "c": "b"}
    first = Sampler.first(two())
    # Iteration 2 of 4 with 9 new candidates, N = 2: the spread 2 times (1/9)^(1/2) = 2/3. A quarter
    # of the chances moves to b: 3/16 for the others, 7/16 for b; 0.2^(1/2) = 0.447 is not reached.
    second = first.updated(two(), values, iteration=2, planned=4, new=9)
    assert second.spreads == pytest.approx({"x": 2 / 3})
    assert second.chances["c"].tolist() == pytest.approx([3 / 16, 7 / 16, 3 / 16, 3 / 16])
    # Iteration 3, 4 new: 2/3 times 1/2. Half moves: 3/32 and 7/32 + 1/2 = 0.719, cut at 0.447; the
    # sum is then 9/32 + 0.4472 = 0.7285.
    third = second.updated(two(), values, iteration=3, planned=4, new=4)
    assert third.spreads == pytest.approx({"x": 1 / 3})
    total = 9 / 32 + math.sqrt(0.2)
    assert third.chances["c"].tolist() == pytest.approx(
        [3 / 32 / total, math.sqrt(0.2) / total, 3 / 32 / total, 3 / 32 / total]
    )
    assert first.chances["c"].tolist() == [0.25] * 4  # a model does not change


def test_what_the_survivor_lacks_keeps_its_chances_and_its_spread_shrinks() -> None:
    space = Space(
        (choice("a", 1, 2), choice("b", 1, 2, when("a", 1)), real("x", 0, 1, when("a", 1)))
    )
    model = Sampler.first(space).updated(space, {"a": 2}, iteration=2, planned=2, new=8)
    assert model.chances["b"].tolist() == [0.5, 0.5]
    assert model.chances["a"][1] > 0.5
    assert model.spreads["x"] == pytest.approx(0.25)  # 0.5 (1/8)^(1/3)


def test_fixed_variables_do_not_count_as_free() -> None:
    space = Space((real("x", 0, 4), choice("fixed", 1)))
    model = Sampler.first(space).updated(
        space, {"x": 1.0, "fixed": 1}, iteration=2, planned=2, new=4
    )
    assert model.spreads == pytest.approx({"x": 0.5})  # N = 1: 2 times 1/4
    assert model.chances["fixed"].tolist() == [1]


def test_a_soft_restart_is_computed_by_hand() -> None:
    # Spreads go back by two iterations: times 4^(2/2), but not beyond 2 (1/4)^(1/2) = 1, what they
    # were in the second iteration.
    narrow = Sampler({"x": 0.1}, {"c": np.array([0.7, 0.1, 0.1, 0.1])})
    wider = narrow.widened(two(), 4)
    assert wider.spreads == pytest.approx({"x": 0.4})
    # 0.9 p + 0.07: 0.7 and three times 0.16, together 1.18
    assert wider.chances["c"].tolist() == pytest.approx([0.7 / 1.18] + [0.16 / 1.18] * 3)
    assert Sampler({"x": 0.5}, {}).widened(two(), 4).spreads == pytest.approx({"x": 1})


# Draws from a model


def around(variable, value: float, spread: float, count: int = 4000) -> np.ndarray:
    rng = np.random.default_rng(1)
    model = Sampler({variable.name: spread}, {})
    return np.array([model.draw(variable, {variable.name: value}, rng) for _ in range(count)])


@pytest.mark.parametrize(("value", "spread"), [(0.5, 0.1), (0.0, 0.2), (0.9, 0.5), (1.0, 0.01)])
def test_a_real_is_a_truncated_normal(value: float, spread: float) -> None:
    found = around(real("x", 0, 1), value, spread)
    assert found.min() >= 0
    assert found.max() <= 1
    theory = stats.truncnorm((0 - value) / spread, (1 - value) / spread, value, spread)
    tolerance = 5 * theory.std() / math.sqrt(len(found))
    assert abs(found.mean() - theory.mean()) < tolerance + 0.003  # rounding to two digits
    # the extremes of 4000 draws lie beyond the 0.1 % quantiles
    assert found.min() <= round(theory.ppf(0.003), 2)
    assert found.max() >= round(theory.ppf(0.997), 2)


def test_an_integer_is_as_likely_below_its_parent_as_above() -> None:
    found = Counter(around(whole("n", 1, 9), 5, 2.0))
    assert set(found) == set(range(1, 10))
    # mean 5.5 on [1, 10), floor: symmetric around 5
    theory = stats.truncnorm(-4.5 / 2, 4.5 / 2, 5.5, 2)
    for n in range(1, 10):
        share = theory.cdf(n + 1) - theory.cdf(n)
        assert abs(found[n] / 4000 - share) < 5 * math.sqrt(share * (1 - share) / 4000)


def test_both_ends_of_an_integer_are_drawn_and_nothing_beyond() -> None:
    for value in (1, 9):
        found = Counter(around(whole("n", 1, 9), value, 8.0))
        assert set(found) == set(range(1, 10))


def test_a_log_scale_is_normal_in_the_logarithm() -> None:
    logs = np.log10(around(real("x", 0.01, 100, log=True), 1.0, math.log(10) / 2))
    # spread half a decade around 1, hardly cut: mean 0, standard deviation 0.5
    assert abs(logs.mean()) < 5 * 0.5 / math.sqrt(4000)
    assert abs(logs.std() - 0.5) < 0.03


def test_no_spread_gives_the_parent_s_value() -> None:
    assert set(around(real("x", 0, 1), 0.25, 0.0, 10)) == {0.25}
    assert set(around(real("x", 0, 1), 0.25, 1e-12, 10)) == {0.25}
    assert set(around(whole("n", 1, 9), 9, 0.0, 10)) == {9}


def test_a_choice_follows_the_parent_s_distribution() -> None:
    rng = np.random.default_rng(1)
    model = Sampler({}, {"c": np.array([0.5, 0.25, 0.125, 0.125])})
    found = Counter(model.draw(two()["c"], {"c": "d"}, rng) for _ in range(4000))
    for value, share in zip("abcd", (0.5, 0.25, 0.125, 0.125), strict=True):
        assert abs(found[value] / 4000 - share) < 5 * math.sqrt(share * (1 - share) / 4000)


def test_what_the_parent_lacks_is_drawn_uniformly() -> None:
    rng = np.random.default_rng(1)
    space = Space((choice("a", 1, 2), real("x", 0, 1, when("a", 1))))
    model = Sampler({"x": 1e-9}, {"a": np.array([0.5, 0.5])})
    made = children(space, {0: ({"a": 2}, model)}, 160, rng, anything)
    found = [values["x"] for _, values in made if values["a"] == 1]
    assert len(found) == 101  # every value of two digits once: a = 2 is the parent
    assert {round(x, 2) for x in found} == {k / 100 for k in range(101)}


# Who is drawn


@given(st.integers(0, 2**32))
def test_children_are_new_candidates_of_the_space(seed: int) -> None:
    rng = np.random.default_rng(seed)
    space = cooking()
    parents = uniform_candidates(space, 3, rng, anything)
    narrow = Sampler.first(space).updated(space, parents[0], iteration=2, planned=3, new=50)
    both = {i: (values, narrow) for i, values in enumerate(parents)}
    made = [values for _, values in children(space, both, 20, rng, anything)]
    for values in made:
        assert space.check(values) == values
        assert values not in parents
        assert made.count(values) == 1


def test_a_better_parent_has_more_children() -> None:
    rng = np.random.default_rng(1)
    space = Space((real("x", 0, 1000), real("y", 0, 1000)))
    parents = [{"x": 100.0, "y": 1.0}, {"x": 500.0, "y": 1.0}, {"x": 900.0, "y": 1.0}]
    both = {i: (values, Sampler.first(space)) for i, values in enumerate(parents)}
    made = children(space, both, 3000, rng, anything)
    found = Counter(parent for parent, _ in made)
    for parent, share in enumerate((1 / 2, 1 / 3, 1 / 6)):  # (E - r + 1) / (E (E + 1) / 2)
        assert abs(found[parent] / 3000 - share) < 5 * math.sqrt(share * (1 - share) / 3000)


def test_a_child_stands_near_the_parent_that_is_named() -> None:
    rng = np.random.default_rng(1)
    space = Space((real("x", 0, 1000),))
    model = Sampler({"x": 5.0}, {})
    parents = {100: ({"x": 100.0}, model), 900: ({"x": 900.0}, model)}
    made = children(space, parents, 100, rng, anything)
    assert {parent for parent, _ in made} == {100, 900}
    assert all(abs(values["x"] - parent) < 30 for parent, values in made)


def test_nothing_is_drawn_twice_and_an_exhausted_space_gives_fewer() -> None:
    rng = np.random.default_rng(1)
    space = flat(2, 3)
    made = uniform_candidates(space, 10, rng, anything)
    assert len(made) == 6
    assert len({tuple(c.values()) for c in made}) == 6
    besides = uniform_candidates(space, 10, rng, anything, made[:4])
    assert sorted(map(str, besides)) == sorted(map(str, made[4:]))
    parents = {i: (values, Sampler.first(space)) for i, values in enumerate(made[:2])}
    found = children(space, parents, 10, rng, anything)
    assert len(found) == 4
    failed = children(space, parents, 10, rng, anything, made[2:5])
    assert [values for _, values in failed] == [made[5]]


def test_what_is_forbidden_or_does_not_work_is_drawn_again() -> None:
    rng = np.random.default_rng(1)
    space = Space(
        (whole("n", 1, 6), choice("c", 1, 2)),
        (Forbidden((Clause("n", ">", 3), Clause("c", "==", 1)), "so"),),
    )
    made = uniform_candidates(space, 20, rng, lambda values: values["n"] != 2)
    found = {(c["n"], c["c"]) for c in made}
    assert found == {(1, 1), (3, 1), (1, 2), (3, 2), (4, 2), (5, 2), (6, 2)}


def test_a_space_of_which_nothing_works_gives_nothing() -> None:
    rng = np.random.default_rng(1)
    assert uniform_candidates(flat(2), 3, rng, lambda _: False) == []


# Who is alike


def test_near_twins_have_the_same_choices_and_numbers_within_a_hundredth() -> None:
    space = Space((choice("a", "x", "y"), real("r", 0, 2, when("a", "x")), whole("n", 0, 200)))
    candidates = [
        {"a": "x", "r": 1.00, "n": 50},  # 0: near 1
        {"a": "x", "r": 1.02, "n": 52},  # 1: both a hundredth of the range away
        {"a": "x", "r": 1.05, "n": 50},  # 2: r is further away
        {"a": "x", "r": 1.00, "n": 53},  # 3: near 1, which is 0.02 and 1 away
        {"a": "y", "n": 50},  # 4: another choice; r is absent
        {"a": "y", "n": 51},  # 5: near 4, as both lack r
        {"a": "y", "n": 60},  # 6
    ]
    assert nearly_equal(space, candidates).tolist() == [True, True, False, True, True, True, False]
    assert nearly_equal(space, candidates[:1]).tolist() == [False]


def test_neighbors_of_two_digits_are_alike_wherever_they_are() -> None:
    # 0.58 - 0.57 is above 0.01 in floating point, 0.11 - 0.10 below
    space = Space((real("r", 0, 1),))
    for k in range(100):
        assert nearly_equal(space, [{"r": k / 100}, {"r": (k + 1) / 100}]).all()
        assert not nearly_equal(space, [{"r": k / 100}, {"r": (k + 2) / 100}]).any()


def test_nearness_on_a_log_scale_is_a_ratio() -> None:
    # a hundredth of the four decades: a ratio of 10^0.04 = 1.096
    space = Space((real("r", 0.01, 100, log=True),))
    assert nearly_equal(space, [{"r": 50.0}, {"r": 54.0}]).all()
    assert not nearly_equal(space, [{"r": 0.05}, {"r": 0.06}]).any()
