"""Qualities, probabilities and selections, by hand."""

import math

import numpy as np
import pytest
from raising import raises
from strategies import written

from uaos.errors import InvalidParameter
from uaos.selection.components import Draws, Evidence, components
from uaos.selection.learning import normalize_probabilities, normalize_qualities


def quality(name: str, rewards, before=None, q=None, p=None, seen=None, **values) -> list[float]:
    k = len(rewards)
    equal = [1 / k] * k
    parts = (rewards, before or [0] * k, q or equal, p or equal, seen or [1] * k)
    evidence = Evidence(*(np.array(part, dtype=float) for part in parts))
    component = components("quality")[name](**values)
    return written(normalize_qualities, component.compute(evidence)).tolist()


def test_weighted_sum_moves_toward_the_reward() -> None:
    # 0.5 · (1, 0) + 0.5 · (0.5, 0.5) = (0.75, 0.25)
    assert quality("weighted_sum", [1, 0], delta=0.5) == [0.75, 0.25]


def test_upper_confidence_bound_adds_a_bonus_for_the_unseen() -> None:
    # N = 4 and 0, which counts as 1: log 5 in both
    bonus = [0.5 * math.sqrt(math.log(5) / 4), 0.5 * math.sqrt(math.log(5))]
    raw = [0.2 + bonus[0], 0.1 + bonus[1]]
    got = quality("upper_confidence_bound", [0.2, 0.1], seen=[4, 0], C=0.5)
    assert got == pytest.approx([raw[0] / sum(raw), raw[1] / sum(raw)])


def test_identity_is_the_reward() -> None:
    assert quality("identity", [3, 1]) == [0.75, 0.25]


def test_weighted_normalised_sum_floors_the_share() -> None:
    # shares (0.9, 0.1) floored at 0.3, then 0.5 · share + 0.5 · 0.5: (0.7, 0.4) of 1.1
    got = quality("weighted_normalised_sum", [9, 1], delta=0.5, q_min=0.3)
    assert got == pytest.approx([0.7 / 1.1, 0.4 / 1.1])


def test_weighted_normalised_sum_of_nothing_shares_equally() -> None:
    got = quality("weighted_normalised_sum", [0, 0], q=[0.8, 0.2], delta=0.5, q_min=0)
    assert got == pytest.approx([0.65, 0.35])


def test_bellman_solves_the_linear_system() -> None:
    # p = (3/4, 1/4): rows (3/2, 1) / (5/2) and (1, 1/2) / (3/2), q' = 1 · (1, 0) + 0.5 · (0, 1)
    gamma = 0.5
    (a, b), (c, d) = (1 - gamma * 0.6, -gamma * 0.4), (-gamma * 2 / 3, 1 - gamma / 3)
    det = a * d - b * c
    q = [(d * 1 - b * 0.5) / det, (a * 0.5 - c * 1) / det]
    total = math.exp(q[0]) + math.exp(q[1])
    got = quality("bellman", [1, 0], before=[0, 1], p=[0.75, 0.25], c1=1, c2=0.5, gamma=gamma)
    assert got == pytest.approx([math.exp(q[0]) / total, math.exp(q[1]) / total])


def test_bellman_without_discount_is_the_softmax_of_the_rewards() -> None:
    got = quality("bellman", [1, 0], c1=1, c2=0, gamma=0)
    assert got == pytest.approx([math.e / (math.e + 1), 1 / (math.e + 1)])


def test_bellman_without_softmax_is_the_solution_itself() -> None:
    # as above: det = 0.7 · 5/6 - 0.2 · 1/3, q = ((5/6 + 0.1), (0.35 + 1/3)) / det
    got = quality(
        "bellman", [1, 0], before=[0, 1], p=[0.75, 0.25], c1=1, c2=0.5, gamma=0.5, softmax=False
    )
    first, second = 5 / 6 + 0.1, 0.35 + 1 / 3
    assert got == pytest.approx([first / (first + second), second / (first + second)])


def test_bellman_without_discount_and_softmax_is_a_weighted_sum_of_rewards() -> None:
    # 1 · (3, 1) + 0.5 · (0, 2) = (3, 2)
    got = quality("bellman", [3, 1], before=[0, 2], c1=1, c2=0.5, gamma=0, softmax=False)
    assert got == pytest.approx([0.6, 0.4])


def test_negative_qualities_are_shifted_and_none_at_all_are_equal() -> None:
    # (-1, 0, 1) becomes (0, 1, 2) / 3
    assert written(normalize_qualities, np.array([-1.0, 0.0, 1.0])).tolist() == pytest.approx(
        [0, 1 / 3, 2 / 3]
    )
    assert written(normalize_qualities, np.zeros(4)).tolist() == [0.25] * 4


def probability(name: str, q, p=None, **values) -> list[float]:
    old = np.array(p or [1 / len(q)] * len(q))
    component = components("probability")[name](**values).for_operators(len(q))
    return written(
        normalize_probabilities, component.compute(np.array(q, dtype=float), old)
    ).tolist()


def test_probability_matching_keeps_everybody_above_the_floor() -> None:
    # 0.1 + 0.8 · q
    assert probability("probability_matching", [1, 0], p_min=0.1) == pytest.approx([0.9, 0.1])


def test_probability_matching_adds_the_error_to_every_quality() -> None:
    # (1 + 0.5, 0 + 0.5) / 2
    got = probability("probability_matching", [1, 0], p_min=0, error=0.5)
    assert got == pytest.approx([0.75, 0.25])


def test_a_share_as_least_probability_follows_the_number_of_operators() -> None:
    # p_min = 0.2 / 2 = 0.1, and 0.2 / 4 = 0.05
    assert probability("probability_matching", [1, 0], p_min="0.2/K") == pytest.approx([0.9, 0.1])
    got = probability("probability_matching", [1, 0, 0, 0], p_min="0.2/K")
    assert got == pytest.approx([0.85, 0.05, 0.05, 0.05])


def test_adaptive_pursuit_pushes_the_best_up_and_the_others_down() -> None:
    # 0.5 · 0.8 + 0.5 · 0.5 = 0.65; 0.5 · 0.2 + 0.5 · 0.5 = 0.35
    got = probability("adaptive_pursuit", [0.4, 0.6], p_min=0.2, p_max=0.8, mu=0.5)
    assert got == pytest.approx([0.35, 0.65])


def test_shares_pass_from_the_others_to_the_best_down_to_the_floor() -> None:
    # from 1/2 each: 0.2 · (1 - 0.25/0.75) · 1/2 = 1/15
    got = probability("share_transfer", [0.25, 0.75], xi=0.2)
    assert got == pytest.approx([1 / 2 - 1 / 15, 1 / 2 + 1 / 15])
    # the other would fall to 0.25: it stops at p_min
    assert probability("share_transfer", [0, 1], xi=0.5, p_min=0.4) == pytest.approx([0.4, 0.6])
    # two are best, and divide 0.3 · 1/3
    got = probability("share_transfer", [0.5, 0, 0.5], xi=0.3)
    assert got == pytest.approx([1 / 3 + 0.05, 1 / 3 - 0.1, 1 / 3 + 0.05])
    assert probability("share_transfer", [0.5, 0.5], xi=0.3) == [0.5, 0.5]


def test_clipped_shares_cut_the_qualities_and_are_even_where_one_is_zero() -> None:
    # 0.95 -> 0.9, 0.05 -> 0.1
    assert probability("clipped_shares", [0.95, 0.05]) == pytest.approx([0.9, 0.1])
    assert probability("clipped_shares", [1.0, 0.0]) == [0.5, 0.5]
    assert probability("clipped_shares", [1.0, 0.0], even=0) == pytest.approx([0.9, 0.1])


def test_identity_takes_the_qualities() -> None:
    assert probability("identity", [0.3, 0.7]) == [0.3, 0.7]


@pytest.mark.parametrize("name", ["probability_matching", "adaptive_pursuit"])
@pytest.mark.parametrize("p_min", [0.25, 0.3, "1/K"])
def test_a_floor_too_high_for_the_operators_is_refused(name: str, p_min: float | str) -> None:
    with raises(InvalidParameter, name="p_min"):
        probability(name, [1, 0, 0, 0], p_min=p_min)


def test_a_maximum_below_the_minimum_is_refused() -> None:
    with raises(InvalidParameter, name="p_max", value=0.1):
        components("probability")["adaptive_pursuit"](p_min=0.2, p_max=0.1)


def test_a_maximum_below_a_share_is_refused_for_so_many_operators() -> None:
    pursuit = components("probability")["adaptive_pursuit"](p_min="0.9/K", p_max=0.1)
    with raises(InvalidParameter, name="p_max", value=0.1):
        pursuit.for_operators(4)


def choose(
    name: str, p, pick, explore=None, tie=0.0, progress=0.0, applications=None, **values
) -> list[int]:
    applied = np.array(applications or [0] * len(p))
    explore = np.array(explore or [0.0] * len(pick))
    draws = Draws(np.array(pick), explore, tie, applied)
    component = components("selection")[name](**values)
    return np.asarray(component.compute(np.array(p), draws, progress)).tolist()


def test_proportional_divides_the_unit_interval() -> None:
    assert choose("proportional", [0.5, 0, 0.5], [0, 0.49, 0.5, 0.999]) == [0, 0, 2, 2]


def test_proportional_never_picks_an_impossible_operator() -> None:
    # the probabilities sum to a little less than 1, and the pick is the largest double below 1
    p = [0.1] * 9 + [0.1 - 1e-12, 0.0]
    assert choose("proportional", p, [np.nextafter(1, 0)]) == [9]


def test_greedy_breaks_ties_once_a_generation() -> None:
    p = [0.4, 0.2, 0.4]
    assert choose("greedy", p, [0.1, 0.9], tie=0.49) == [0, 0]
    assert choose("greedy", p, [0.1, 0.9], tie=0.5) == [2, 2]
    assert choose("greedy", p, [0.1, 0.9], tie=0.99, ties="first") == [0, 0]


def test_epsilon_greedy_explores_uniformly() -> None:
    # exploring: floor(0.9 · 3) = 2; not exploring: the best, 1
    assert choose("epsilon_greedy", [0.1, 0.8, 0.1], [0.9, 0.9], [0.29, 0.3], eps=0.3) == [2, 1]


def test_linear_annealed_explores_less_and_less() -> None:
    p, pick, explore = [0.1, 0.8, 0.1], [0.9], [0.5]
    assert choose("linear_annealed", p, pick, explore, progress=0.4) == [2]
    assert choose("linear_annealed", p, pick, explore, progress=0.5) == [1]


def test_proportional_greedy_sometimes_follows_the_probabilities() -> None:
    p = [0.1, 0.8, 0.1]
    assert choose("proportional_greedy", p, [0.05, 0.05], [0.29, 0.3], eps=0.3) == [0, 1]


def test_shares_divide_the_parents_and_round_by_the_largest_remainder() -> None:
    # of 5: 3.0, 1.5, 0.5 -> 3, 1, 0 and the first of the equal remainders; in the order of picks
    pick = [0.9, 0.1, 0.5, 0.3, 0.7]
    assert choose("shares", [0.6, 0.3, 0.1], pick) == [1, 0, 0, 0, 1]
    assert choose("shares", [0.6, 0.3, 0.1], []) == []


def test_largest_deficit_serves_who_is_furthest_behind_its_share() -> None:
    # N = 10: deficits 6 - 8, 3 - 1, 1 - 1 give operator 1; N = 11: 6.6 - 8, 3.3 - 2, 1.1 - 1 again;
    # N = 12: 7.2 - 8, 3.6 - 3, 1.2 - 1 again; N = 13: 7.8 - 8, 3.9 - 4, 1.3 - 1 give operator 2
    chosen = choose("largest_deficit", [0.6, 0.3, 0.1], [0.5] * 4, applications=[8, 1, 1])
    assert chosen == [1, 1, 1, 2]


def test_largest_deficit_breaks_ties_by_the_lowest_number_and_reaches_everybody() -> None:
    # nothing applied: all deficits are 0; then 0.5 - 1, 0.25, 0.25; then 1 - 1, 0.5 - 1, 0.5
    assert choose("largest_deficit", [0.5, 0.25, 0.25], [0.5] * 3) == [0, 1, 2]
