"""A search space: what exists when, what is drawn, what is refused, and what limits leave."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from raising import raises
from spaces import choice, cooking, flat, real, when, whole

from uaos.errors import InvalidParameter, UnknownName
from uaos.params import Categorical, IntegerSetting, Real, RealSetting
from uaos.problems.variables import (
    Clause,
    Condition,
    Forbidden,
    ForbiddenCandidate,
    Space,
    Variable,
    is_active,
    rounded,
)
from uaos.tuning.sampling import searched, space_data


def drawn(space: Space, seed: int) -> dict:
    rng = np.random.default_rng(seed)
    return space.draw(lambda variable: variable.uniform(rng))


# Conditions


def test_a_variable_exists_where_any_of_its_conditions_holds() -> None:
    salt = cooking()["salt"]
    assert is_active(salt, {"way": "pot"})
    assert is_active(salt, {"way": "oven", "mode": "mild"})
    assert not is_active(salt, {"way": "oven", "mode": "hot"})
    assert not is_active(salt, {"way": "raw"})
    assert is_active(cooking()["pepper"], {})


def test_values_are_asked_for_in_order_and_only_of_what_exists() -> None:
    asked = []

    def value(variable: Variable) -> str | int:
        asked.append(variable.name)
        return {"way": "oven", "mode": "mild"}.get(variable.name, 1)

    made = cooking().fill(value)
    assert asked == ["way", "mode", "salt", "pepper"]
    assert list(made) == asked


# Draws


@given(st.integers(0, 2**32))
def test_every_draw_is_a_candidate(seed: int) -> None:
    made = drawn(cooking(), seed)
    assert cooking().check(made) == made


@given(st.integers(0, 2**32))
def test_every_filled_candidate_passes_unless_forbidden(seed: int) -> None:
    rng = np.random.default_rng(seed)
    made = cooking().fill(lambda variable: variable.uniform(rng))
    if cooking().why_forbidden(made):
        with pytest.raises(ForbiddenCandidate):
            cooking().check(made)
    else:
        assert cooking().check(made) == made


def test_integers_are_uniform_over_the_range_with_both_ends() -> None:
    rng = np.random.default_rng(1)
    seen = Counter(whole("n", 3, 6).uniform(rng) for _ in range(8000))
    assert sorted(seen) == [3, 4, 5, 6]
    # 2000 each; 5 standard deviations are 5 sqrt(8000 · 1/4 · 3/4) = 194
    assert all(abs(count - 2000) < 194 for count in seen.values())


def test_integers_on_a_log_scale_stand_for_intervals() -> None:
    rng = np.random.default_rng(1)
    seen = Counter(whole("n", 1, 3, log=True).uniform(rng) for _ in range(8000))
    # n stands for [n, n + 1): log 2 / log 4 = 1/2 for 1, log(3/2)/log 4 = 0.2925, log(4/3)/log 4
    for number, share in ((1, 0.5), (2, math.log(1.5) / math.log(4)), (3, 0.2075)):
        assert abs(seen[number] / 8000 - share) < 5 * math.sqrt(share * (1 - share) / 8000)


def test_reals_on_a_log_scale_have_a_uniform_logarithm() -> None:
    rng = np.random.default_rng(1)
    logs = [math.log10(real("x", 0.01, 100, log=True).uniform(rng)) for _ in range(4000)]
    # uniform on [-2, 2]: mean 0, standard deviation 4/sqrt(12) = 1.155, of the mean 0.018
    assert abs(np.mean(logs)) < 5 * 0.018
    assert abs(np.std(logs) - 1.155) < 0.05
    assert -2 <= min(logs) < -1.9
    assert 1.95 < max(logs) <= 2


def test_reals_have_their_digits_and_stay_in_the_range() -> None:
    domain = real("x", 0.001, 1).domain
    assert isinstance(domain, Real)
    assert rounded(domain, 0.126) == 0.13
    assert rounded(domain, 0.003) == 0.001  # rounded to 0.00, which is outside
    assert rounded(domain, 0.999) == 1.0
    assert rounded(real("x", 0.01, 100, log=True).domain, math.log(100.004)) == 100.0


def test_choices_are_equally_likely() -> None:
    rng = np.random.default_rng(1)
    seen = Counter(choice("c", "a", "b", "c").uniform(rng) for _ in range(6000))
    assert all(abs(count - 2000) < 183 for count in seen.values())  # 5 sqrt(6000 · 2/9)


def test_a_choice_that_forbids_much_is_drawn_as_often_as_the_others() -> None:
    # of "b" nine values in ten are forbidden: to draw all anew would leave 1 "b" for 10 "a"
    space = Space(
        (choice("c", "a", "b"), whole("n", 1, 10)),
        (Forbidden((Clause("c", "==", "b"), Clause("n", ">", 1)), "so"),),
    )
    seen = Counter(drawn(space, seed)["c"] for seed in range(1000))
    assert abs(seen["b"] - 500) < 79  # 5 sqrt(1000/4)
    assert not any(space.why_forbidden(drawn(space, seed)) for seed in range(200))


def test_a_log_scale_begins_above_0() -> None:
    with raises(InvalidParameter, name="low"):
        real("x", 0, 1, log=True)


# What is checked


def test_a_candidate_is_checked_and_inactive_values_are_left_out() -> None:
    given = {"way": "pot", "water": 3, "mode": "hot", "salt": 1, "pepper": 0.5}
    made = cooking().check(given)
    assert made == {"way": "pot", "water": 3, "salt": 1.0, "pepper": 0.5}
    assert isinstance(made["salt"], float)


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"water": 10}, "water"),
        ({"water": 2.5}, "water"),
        ({"water": None}, "water"),
        ({"way": "grill"}, "way"),
        ({"salt": math.nan}, "salt"),
    ],
)
def test_a_wrong_value_is_named_with_what_the_space_has(changed: dict, name: str) -> None:
    with raises(InvalidParameter, name=name):
        cooking().check({"way": "pot", "water": 3, "salt": 1.0, "pepper": 0} | changed, "soup")


def test_missing_and_unknown_variables_are_named() -> None:
    with raises(InvalidParameter, name="water", value=None):
        cooking().check({"way": "pot", "salt": 1.0, "pepper": 0}, "soup")
    with raises(UnknownName, name="papper", near="pepper"):
        cooking().check({"way": "raw", "papper": 0}, "soup")
    with raises(UnknownName, name="watter", near="water"):
        cooking()["watter"]


def test_a_forbidden_candidate_is_refused_with_the_reason() -> None:
    with pytest.raises(ForbiddenCandidate):
        cooking().check({"way": "oven", "mode": "hot", "fan": 0.5, "pepper": 0.4}, "toast")
    with pytest.raises(ForbiddenCandidate):
        cooking().check({"way": "raw", "pepper": 0.6})


def test_inactive_variables_forbid_nothing() -> None:
    assert not cooking().why_forbidden({"way": "pot", "water": 1, "salt": 1.0, "pepper": 0.0})
    rule = Forbidden((Clause("x", "<", 5), Clause("y", "==", "a")), "so")
    assert rule.holds({"x": 4, "y": "a"})
    for values in ({"x": 5, "y": "a"}, {"x": 4, "y": "b"}, {"x": 4}, {"y": "a"}, {}):
        assert not rule.holds(values)


@pytest.mark.parametrize(
    ("relation", "holds"),
    [("<", (True, False, False)), (">", (False, False, True)), ("==", (False, True, False))],
)
def test_comparisons_mean_what_they_say(relation: str, holds: tuple[bool, ...]) -> None:
    assert tuple(Clause("x", relation, 2).holds({"x": x}) for x in (1, 2, 3)) == holds
    other = Clause("x", relation, "y", variable=True)
    assert tuple(other.holds({"x": x, "y": 2}) for x in (1, 2, 3)) == holds


# Fixing and narrowing


def test_fixing_leaves_out_what_can_never_exist() -> None:
    pot = cooking().fix("way", "pot")
    assert pot.names == ("way", "water", "salt", "pepper")
    assert pot.free == 3
    assert not pot["water"].when  # always there now
    assert not pot["salt"].when
    assert not pot.forbidden  # there is no fan, and nothing raw
    raw = cooking().fix("way", "raw")
    assert raw.names == ("way", "pepper")
    assert [str(one) for one in raw.forbidden] == ["way == raw and pepper > 0.5"]


def test_narrowing_a_choice_keeps_the_conditions_that_are_left() -> None:
    hot = cooking().only("way", ["oven", "pot"])
    assert hot.names == cooking().names
    assert hot["way"].domain.choices == ("oven", "pot")  # in the order given
    assert hot["salt"].when == (Condition("way", ("pot",)), Condition("mode", ("mild",)))
    oven = hot.fix("way", "oven").fix("mode", "mild")
    assert oven.names == ("way", "mode", "salt", "pepper")
    assert oven.free == 2


def test_a_condition_on_all_that_is_left_is_no_condition() -> None:
    space = Space((choice("a", 1, 2, 3), whole("n", 1, 9, when("a", 1, 2))))
    assert space.only("a", [2, 1])["n"].when == ()
    assert space.only("a", [2, 3])["n"].when == (Condition("a", (2,)),)


def test_what_depends_on_a_conditional_choice_stays_conditional() -> None:
    # "mode" may have the one value left and still not exist, without an oven
    space = cooking().fix("mode", "hot")
    assert space["fan"].when == (Condition("mode", ("hot",)),)
    assert space["salt"].when == (Condition("way", ("pot",)),)
    assert space.check({"way": "raw", "pepper": 0.5}) == {"way": "raw", "pepper": 0.5}


@given(st.integers(0, 2**32), st.sampled_from(["pot", "oven", "raw"]))
def test_a_narrowed_space_is_a_part_of_the_whole(seed: int, way: str) -> None:
    made = drawn(cooking().fix("way", way), seed)
    assert made["way"] == way
    assert cooking().check(made) == made


def test_a_value_allowed_by_hand_can_be_fixed() -> None:
    domain = RealSetting(default=0.5, low=0.1, high=1, hard_low=0, hard_high=1)
    space = Space((Variable("CR", domain), choice("a", 1, 2)))
    assert space.fix("CR", 0).check({"CR": 0.0, "a": 1})["CR"] == 0.0
    with raises(InvalidParameter, name="CR", value=2):
        space.fix("CR", 2)
    with raises(InvalidParameter, name="CR", value=0.05):
        space.check({"CR": 0.05, "a": 1})


def test_a_range_is_narrowed_or_widened_to_what_is_allowed() -> None:
    domain = IntegerSetting(default=200, low=50, high=400, hard_low=4, hard_high=1000)
    space = Space((Variable("NP", domain),))
    narrow = space.limit("NP", 60.0, 70.0)["NP"].domain
    assert (narrow.low, narrow.high) == (60, 70)
    assert isinstance(narrow.low, int)
    assert space.limit("NP", 4, 1000)["NP"].domain.high == 1000
    assert space.limit("NP", 60, 60)["NP"].fixed


@pytest.mark.parametrize(
    ("low", "high", "name"),
    [
        (2, 1, "NP"),
        (math.nan, 9, "NP"),
        (1, 99, "NP"),
        (60.5, 99, "NP"),
        (60, math.inf, "NP"),
    ],
)
def test_a_range_that_is_none_is_refused(low: float, high: float, name: str) -> None:
    domain = IntegerSetting(default=200, low=50, high=400, hard_low=4, hard_high=1000)
    with raises(InvalidParameter, name=name):
        Space((Variable("NP", domain),)).limit("NP", low, high)


def test_a_range_of_a_log_scale_begins_above_0() -> None:
    domain = RealSetting(default=1, low=0.01, high=100, hard_low=0, hard_high=1e6, log=True)
    space = Space((Variable("C", domain),))
    with raises(InvalidParameter, name="C"):
        space.limit("C", 0, 1)
    assert space.fix("C", 0)["C"].fixed  # as a value it is allowed


def test_a_range_finer_than_the_digits_is_searched_to_the_digits_of_its_ends() -> None:
    space = Space((real("F", 0, 2), choice("a", 1, 2)))
    rng = np.random.default_rng(1)
    fine = space.limit("F", 0.501, 0.504)["F"]
    assert {fine.uniform(rng) for _ in range(200)} == {0.501, 0.502, 0.503, 0.504}
    coarse = space.limit("F", 0.5, 1)["F"].domain
    assert isinstance(coarse, RealSetting)
    assert coarse.digits == 2


def test_a_choice_keeps_only_values_that_it_has() -> None:
    with raises(InvalidParameter, name="way", value="grill"):
        cooking().only("way", ["grill"])


def test_an_end_that_is_refused_is_moved_inside() -> None:
    gamma = RealSetting(default=0.5, low=0.01, high=1, hard_low=0, hard_high=1, open_high=True)
    assert searched(gamma).high == 0.99
    inside = RealSetting(default=0.5, low=0, high=0.8, hard_low=0, hard_high=1, open_high=True)
    assert searched(inside) is inside
    assert searched(Categorical(default=1, choices=(1, 2))).choices == (1, 2)


def test_a_space_counts_what_is_free() -> None:
    space = flat(2, 3, 1)
    assert (len(space), space.free) == (3, 2)
    assert space.fix("c0", 1).free == 1


def test_two_searches_differ_as_plain_data() -> None:
    texts = [
        str(space_data(space))
        for space in (cooking(), cooking().fix("way", "pot"), cooking().limit("pepper", 0, 0.5),
                      cooking().limit("pepper", 0, 0.5000001), cooking().only("mode", ["hot"]))
    ]  # fmt: skip
    assert len(set(texts)) == 5
    assert space_data(cooking())[4] == {
        "name": "salt", "low": 0.01, "high": 100, "log": True, "whole": False,
        "when": "way is pot or mode is mild",
    }  # fmt: skip
