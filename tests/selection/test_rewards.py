"""Rewards, by hand."""

import math

import numpy as np
import pytest
from test_memory import record

from uaos.selection.components import components
from uaos.selection.learning import scale_rewards
from uaos.selection.memory import memory_for


def reward(name: str, n_operators: int, *generations, **values) -> list[float]:
    component = components("reward")[name](**values)
    memory = memory_for(component, n_operators)
    for entries in generations:
        record(memory, entries)
    return component.compute(memory).tolist()


# Two generations. Operator 0: successes 2 of 3, then 1 of 1; operator 1: 0 of 1, then 1 of 3;
# operator 2 is applied in the second generation only, without success.
FIRST = [(0, 4, True), (0, 2, True), (0, 0, False), (1, 0, False)]
SECOND = [(0, 1, True), (1, 5, True), (1, 0, False), (1, 0, False), (2, 0, False)]


def test_success_rate_adds_the_rates_of_the_generations() -> None:
    rates = reward("success_rate", 3, FIRST, SECOND, max_gen=5, frac=0)
    assert rates == pytest.approx([2 / 3 + 1, 0 + 1 / 3, 0])


def test_success_rate_with_power_fraction_and_noise() -> None:
    rates = reward("success_rate", 3, FIRST, SECOND, max_gen=5, power=2, frac=0.5, noise=0.1)
    # each generation has 2 successes in all: 0.5 · 2 = 1 goes to everybody, applied or not
    assert rates == pytest.approx(
        [(4 + 1) / 3 + (1 + 1) / 1 + 0.1, 1 / 1 + (1 + 1) / 3 + 0.1, 1 / 1 + 1 / 1 + 0.1]
    )


def test_success_rate_gives_an_operator_that_was_not_applied_its_share() -> None:
    # operator 2 was not applied: n = 1, so 0.5 · 2; without frac there is nothing to share
    assert reward("success_rate", 3, FIRST, frac=0.5) == pytest.approx([(2 + 1) / 3, 1, 1])
    assert reward("success_rate", 3, FIRST, frac=0) == pytest.approx([2 / 3, 0, 0])


def test_success_rate_looks_at_max_gen_generations_only() -> None:
    assert reward("success_rate", 3, FIRST, SECOND, max_gen=1, frac=0) == pytest.approx(
        [1, 1 / 3, 0]
    )


def test_immediate_success_divides_by_the_size_of_the_last_generation() -> None:
    assert reward("immediate_success", 3, FIRST, SECOND) == pytest.approx([1 / 5, 1 / 5, 0])


def test_success_sum_divides_sums_by_applications() -> None:
    # (6 + 1) / (3 + 1), 5 / (1 + 3), 0 / 1
    assert reward("success_sum", 3, FIRST, SECOND, max_gen=5) == pytest.approx([7 / 4, 5 / 4, 0])


def test_generation_success_sum_divides_generation_by_generation() -> None:
    # 6/3 + 1/1, 0/1 + 5/3, 0
    assert reward("generation_success_sum", 3, FIRST, SECOND) == pytest.approx([3, 5 / 3, 0])


def test_best_2_generations_compares_the_two_last_bests() -> None:
    # C (B0 - B1) / |n0 - n1|: (1 - 4) / |1 - 3|, (5 - 0) / |3 - 1|, 0 / 1
    assert reward("best_2_generations", 3, FIRST, SECOND) == pytest.approx([-1.5, 2.5, 0])


def test_best_2_generations_relative_to_the_previous_best() -> None:
    # 0.5 (1 - 4) / 4; a previous best of 0 counts as 1: 0.5 · 5
    got = reward("best_2_generations", 3, FIRST, SECOND, C=0.5, alpha=1, beta=0)
    assert got == pytest.approx([-0.375, 2.5, 0])


def test_best_2_generations_in_the_first_generation_compares_with_nothing() -> None:
    # (4 - 0) / |3 - 0|, 0 / 1, 0
    assert reward("best_2_generations", 3, FIRST) == pytest.approx([4 / 3, 0, 0])


def test_normalised_best_sum_is_the_mean_of_powers_of_the_bests() -> None:
    # (4² + 1²) / 2, (0 + 5²) / 2
    got = reward("normalised_best_sum", 3, FIRST, SECOND, rho=2)
    assert got == pytest.approx([8.5, 12.5, 0])


def test_normalised_best_sum_relative_to_the_largest_sum() -> None:
    # the largest sum of bests is 4 + 1 = 0 + 5 = 5
    got = reward("normalised_best_sum", 3, FIRST, SECOND, alpha=1)
    assert got == pytest.approx([0.5, 0.5, 0])


# Four operators: 0 is (std 1, mean 3), 1 is (0, 2), 2 has no success, 3 is (2, 2).
POINTS = [(0, 2, True), (0, 4, True), (1, 2, True), (2, 0, False), (3, 0, True), (3, 4, True)]


def test_pareto_dominance_counts_the_dominated() -> None:
    # 0 dominates 1; 3 dominates 1 (equal mean, larger std); 0 and 3 do not dominate each other
    assert reward("pareto_dominance", 4, POINTS) == pytest.approx([0.5, 0, 0, 0.5])


def test_pareto_rank_counts_the_dominators() -> None:
    # PR = 0, 2, -, 0: 1 - 0/2, 1 - 2/2, no point, 1 - 0/2
    assert reward("pareto_rank", 4, POINTS) == pytest.approx([1, 0, 0, 1])


def test_without_any_dominance_pareto_rewards_are_zero_and_one() -> None:
    single = [(0, 3, True), (1, 0, False)]
    assert reward("pareto_dominance", 2, single) == [0, 0]
    assert reward("pareto_rank", 2, single) == [1, 0]


def test_equal_metrics_have_no_deviation_however_many_there_are() -> None:
    # 0.1 + 0.1 + 0.1 is not 0.3: a naive mean would give operator 0 a tiny spread, and dominance
    entries = [(0, 0.1, True)] * 3 + [(1, 0.1, True)]
    assert reward("pareto_dominance", 2, entries) == [0, 0]


@pytest.mark.parametrize("theta", [36, 45, 54, 90])
def test_compass_projects_normalized_points(theta: int) -> None:
    # divided by the maxima (std 2, mean 3): (0.5, 1), (0, 2/3), (0, 0), (1, 2/3)
    points = [(0.5, 1), (0, 2 / 3), (0, 0), (1, 2 / 3)]
    angle = math.radians(theta)
    v = [math.hypot(s, m) * math.cos(math.atan2(m, s) - angle) for s, m in points]
    expected = [x - min(v) for x in v]
    assert reward("compass_projection", 4, POINTS, theta=theta) == pytest.approx(expected)


def test_area_under_curve_walks_the_ranking() -> None:
    # ranking best first: 0, 1, 0 with steps 0.5^q (3 - q) = 3, 1, 0.25
    entries = [(0, 9, True), (0, 1, True), (1, 5, True)]
    # operator 0: up 3, across 1 (area 3 · 1), up 0.25: area 3 / (1 · 3.25)
    # operator 1: across 3 at height 0, up 1, across 0.25 (area 0.25): 0.25 / (3.25 · 1)
    assert reward("area_under_curve", 3, entries, W=20, D=0.5) == pytest.approx(
        [3 / 3.25, 0.25 / 3.25, 0]
    )


def test_area_under_curve_walks_ties_along_the_diagonal() -> None:
    # all equal: each shares the mean step, and half of the rectangle is under the diagonal
    entries = [(0, 1, True), (1, 1, True), (1, 1, True)]
    assert reward("area_under_curve", 2, entries, W=20, D=0.3) == pytest.approx([0.5, 0.5])


def test_area_under_curve_of_the_only_operator_is_one() -> None:
    assert reward("area_under_curve", 2, [(1, 3, True), (1, 2, True)], D=0.5) == [0, 1]


def test_area_under_curve_without_decay_counts_every_rank_alike() -> None:
    # D = 0: steps 1, 1, 1 for the ranking 0, 1, 0: operator 0 has area 1 of 1 · 2
    entries = [(0, 9, True), (0, 1, True), (1, 5, True)]
    assert reward("area_under_curve", 2, entries, W=20, D=0) == pytest.approx([0.5, 0.5])


def test_sum_of_ranks_is_a_share_of_the_weights() -> None:
    # ranks 1, 2, 2 (a tie takes the smaller), W = 4: weights 0.5 · 3, 0.25 · 2, 0.25 · 2
    entries = [(0, 9, True), (1, 5, True), (2, 5, True)]
    got = reward("sum_of_ranks", 4, entries, W=4, D=0.5)
    assert got == pytest.approx([1.5 / 2.5, 0.5 / 2.5, 0.5 / 2.5, 0])


def test_window_success_sum_is_the_mean_metric_in_the_window() -> None:
    entries = [(0, 4, True), (0, 2, True), (1, 1, True)]
    assert reward("window_success_sum", 3, entries, normalise=0) == [3, 1, 0]
    assert reward("window_success_sum", 3, entries, normalise=1) == pytest.approx([1, 1 / 3, 0])


def test_fitness_rate_rank_decays_the_shares_of_what_was_gained_by_rank() -> None:
    gained = [(0, 1, True), (1, 3, True), (1, 3, True), (2, 2, True), (2, 9, False)]  # 1, 6 and 2
    assert reward("fitness_rate_rank", 3, gained) == [1 / 9, 6 / 9, 2 / 9]
    # ranks 2, 0 and 1: 1/4, 6 and 2/2 of 7.25
    assert reward("fitness_rate_rank", 3, gained, D=0.5) == [0.25 / 7.25, 6 / 7.25, 1 / 7.25]


def test_consensus_is_the_mean_improvement_only_if_successes_rank_alike() -> None:
    # operator 0: 2 successes of 3, mean 6/3; operator 1: 1 of 2, mean 1/2: the same order
    alike = [(0, 4, True), (0, 2, True), (0, 0, False), (1, 1, True), (1, 0, False)]
    assert reward("consensus", 2, alike) == pytest.approx([2, 0.5])
    # operator 1 gains more with fewer successes: their numbers count
    differing = [(0, 1, True), (0, 1, True), (1, 9, True)]
    assert reward("consensus", 2, differing) == [2, 1]
    # equally many successes are no consensus either
    assert reward("consensus", 2, [(0, 1, True), (1, 9, True)]) == [1, 1]


def test_success_counts_start_anew_after_a_generation_with_a_share_that_was_too_small() -> None:
    four = [(0, 1, True)] * 4
    # from 1 and 1: after four successes 5 and 1, and 1/6 is not below 0.2/2
    assert reward("success_count", 2, four, start=1, least=0.2) == [5, 1]
    # 9 and 1: 1/10 is not below 1/10 either; 13 and 1 is, but the generation was chosen before
    assert reward("success_count", 2, four, four, start=1, least=0.2) == [9, 1]
    assert reward("success_count", 2, *[four] * 3, start=1, least=0.2) == [13, 1]
    after = [four, four, four, [(1, 3, True), (0, 2, False)]]
    assert reward("success_count", 2, *after, start=1, least=0.2) == [1, 2]


def test_leader_is_the_operator_with_the_single_lowest_best() -> None:
    # fitness is −metric: the bests are −4, −5 and none
    assert reward("leader", 3, [(0, 4, True), (1, 5, True), (1, 2, False)]) == [0, 1, 0]
    # the first draws level: nobody leads; then it passes
    assert reward("leader", 2, [(0, 4, True), (1, 5, True)], [(0, 5, True)]) == [0, 0]
    assert reward("leader", 2, [(0, 4, True), (1, 5, True)], [(0, 6, False)]) == [1, 0]


def test_state_values_are_those_of_the_present_state_or_of_all() -> None:
    failures = [(0, 0, False), (1, 0, False)]
    gains, more = [(0, 4, True), (1, 2, True)], [(0, 5, True), (1, 1, True)]
    # a new state, in which nothing was learned: the means over all states are 4/2 and 2/2
    assert reward("state_value", 2, failures, gains, rate=0) == [2, 1]
    # the third generation begins and ends there
    assert reward("state_value", 2, failures, gains, more, rate=0) == [5, 1]
    # with a discount, half of the best value of the next state is added: that was 2
    assert reward("state_value", 2, failures, gains, more, rate=0, gamma=0.5) == [6, 2]


@pytest.mark.parametrize("name", [n for n in components("reward") if n != "success_count"])
def test_without_any_success_every_reward_is_zero(name: str) -> None:
    failures = [(0, 0, False), (1, 0, False)]
    assert reward(name, 2, failures, failures) == [0, 0]


def test_scaling_maps_onto_zero_to_one() -> None:
    assert scale_rewards(np.array([-1.0, 1.0, 3.0]), True).tolist() == [0, 0.5, 1]
    assert scale_rewards(np.array([7.0, 7.0]), True).tolist() == [0, 0]
