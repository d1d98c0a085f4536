"""What holds of every method, whatever the feedback: laws that follow from the equations."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from raising import raises
from strategies import (
    METRICS,
    QUARTERS,
    Recorded,
    feedback,
    fitness_for,
    histories,
    instances,
    lead,
    parameters_of,
    quality_decided_by_rounding,
    recorded,
    registered,
    shares,
    vectors,
    written,
)

import uaos
from uaos.errors import InvalidParameter
from uaos.selection.components import Evidence
from uaos.selection.learning import normalize_probabilities, normalize_qualities
from uaos.selection.memory import memory_for

OPERATORS = st.integers(2, 6)
POSITIVE = tuple(x for x in QUARTERS if x > 0)
#: Rewards that know nothing of a metric but its rank, or whether there was a success.
BY_ORDER = ("area_under_curve", "sum_of_ranks", "success_rate", "immediate_success")
#: Those, and the rewards that compare metrics with each other by quotients or by order.
SCALE_FREE = (
    *BY_ORDER,
    "pareto_dominance",
    "pareto_rank",
    "compass_projection",
    "window_success_sum",
)


@st.composite
def cases(draw, longest=8, **fixed):
    """A number of operators, a random method with the fixed components, and a history.

    `fitness` may fix the values that fitness is drawn from.
    """
    k = draw(OPERATORS)
    chosen = {
        family: fixed[family] if family in fixed else draw(st.sampled_from(registered(family)))
        for family in ("metric", "reward", "quality", "probability", "selection")
    }
    made = {family: draw(instances(family, name, k)) for family, name in chosen.items()}
    method = uaos.Method(**made, scale_rewards=fixed.get("scale_rewards", draw(st.booleans())))
    fitness = fixed.get("fitness", fitness_for(chosen["metric"]))
    return k, method, draw(histories(feedback(k, fitness), longest))


def started(method, k, seed=1):
    return method.selector(k, seed=seed, budget=40)


def rewards_of(reward, k, generations):
    memory = memory_for(reward, k)
    for generation in generations:
        memory.record(*generation.arrays())
    with np.errstate(all="ignore"):
        return reward.compute(memory)


def reading(memory):
    """The rewards that read a kind of memory."""
    rewards = uaos.components("reward")
    return [name for name in registered("reward") if rewards[name].memory == memory]


# Probabilities are probabilities


@pytest.mark.parametrize("probability", registered("probability"))
@pytest.mark.parametrize("quality", registered("quality"))
@given(data=st.data())
def test_qualities_and_probabilities_are_distributions(
    quality: str, probability: str, data: st.DataObject
) -> None:
    """After every generation they are finite, not negative, and sum to 1."""
    k, method, history = data.draw(cases(quality=quality, probability=probability))
    selector = started(method, k)
    for generation in history:
        selector.update(*generation)
        for numbers in (selector.qualities, selector.probabilities):
            assert np.all(np.isfinite(numbers))
            assert np.all(numbers >= 0)
            assert numbers.sum() == pytest.approx(1, abs=1e-12)


@given(case=cases(probability="probability_matching"))
def test_probability_matching_leaves_every_operator_p_min(case: Any) -> None:
    """p_min is what an operator of quality 0 has, and an operator of quality 1 has the rest."""
    k, method, history = case
    p_min = method.probability.for_operators(k).p_min
    selector = started(method, k)
    for generation in history:
        selector.update(*generation)
        assert np.all(selector.probabilities >= p_min - 1e-12)
        assert np.all(selector.probabilities <= 1 - (k - 1) * p_min + 1e-12)


@given(case=cases(probability="adaptive_pursuit", longest=20))
def test_adaptive_pursuit_leaves_every_operator_its_share_of_p_min(case: Any) -> None:
    """p_min itself only where the goals p_max + (K - 1) p_min sum to 1 or less.

    The step keeps (1 - mu) of the old probabilities and adds mu times the goals, and its sum is
    divided out: the floor is p_min divided by the sum of the goals, where that is above 1.
    """
    k, method, history = case
    rule = method.probability.for_operators(k)
    floor = rule.p_min / max(1.0, rule.p_max + (k - 1) * rule.p_min)
    selector = started(method, k)
    for generation in history:
        selector.update(*generation)
        assert np.all(selector.probabilities >= floor - 1e-12)


def test_p_max_below_a_share_of_p_min_is_refused() -> None:
    """Whether p_max is below p_min = 0.9/K shows when the operators are known."""
    method = uaos.Method(probability={"name": "adaptive_pursuit", "p_min": "0.9/K", "p_max": 0.1})
    assert method.selector(9).n_operators == 9
    with raises(InvalidParameter, name="p_max", value=0.1):
        method.selector(3)


# What does not matter


@pytest.mark.parametrize(
    ("reward", "metric"),
    [
        (reward, metric)
        for reward in SCALE_FREE
        for metric in registered("metric")
        if metric != "exp_offspring_fitness" or reward in BY_ORDER
    ],
)
@settings(max_examples=10)
@given(data=st.data(), exponent=st.sampled_from([-3, -1, 1, 4]))
def test_the_unit_of_fitness_does_not_matter(
    reward: str, metric: str, data: st.DataObject, exponent: int
) -> None:
    """Fitness times a power of 2, which is exact, gives the very same rewards.

    `exp_offspring_fitness` keeps the order of the offspring in any unit, but not their distances.
    """
    # Positive, as dividing by 0 gives a metric of limited size in any unit.
    k, method, history = data.draw(cases(metric=metric, reward=reward, fitness=POSITIVE))
    if reward == "window_success_sum":
        method = method.replace(normalise=1)
    one, other = started(method, k), started(method, k)
    for operators, parents, offspring in history:
        one.update(operators, parents, offspring)
        unit = 2.0**exponent
        other.update(operators, np.array(parents) * unit, np.array(offspring) * unit)
        np.testing.assert_array_equal(one.rewards, other.rewards)


@pytest.mark.parametrize("name", registered("reward"))
@given(data=st.data(), k=OPERATORS, kind=st.sampled_from(["quarters", "coarse"]))
def test_renumbered_operators_have_renumbered_rewards(
    name: str, data: st.DataObject, k: int, kind: str
) -> None:
    """No reward knows an operator by its number."""
    reward = data.draw(instances("reward", name, k))
    history = data.draw(histories(recorded(k, METRICS[kind])))
    number = data.draw(st.permutations(range(k)))
    renamed = [g._replace(operators=[number[op] for op in g.operators]) for g in history]
    rewards = rewards_of(reward, k, history)
    np.testing.assert_allclose(rewards_of(reward, k, renamed)[number], rewards, rtol=1e-12)


@pytest.mark.parametrize("name", registered("quality"))
@given(data=st.data(), k=OPERATORS)
def test_renumbered_operators_have_renumbered_qualities(
    name: str, data: st.DataObject, k: int
) -> None:
    """No quality knows an operator by its number."""
    quality = data.draw(instances("quality", name, k))
    rewards, counts = vectors(k, QUARTERS), vectors(k, range(60))
    kinds = (rewards, rewards, shares(k), shares(k), counts)
    r, r_old, q_old, p, n = drawn = [data.draw(kind) for kind in kinds]
    how = (name, parameters_of(quality, k), r_old, p)
    assume(not quality_decided_by_rounding(*how, (r, q_old, n)))
    now = Evidence(*(np.array(numbers, dtype=float) for numbers in drawn))
    number = data.draw(st.permutations(range(k)))
    place = np.argsort(number)
    renamed = Evidence(*(array[place] for array in now))
    found = written(normalize_qualities, quality.compute(now))
    other = written(normalize_qualities, quality.compute(renamed))
    np.testing.assert_allclose(other[number], found, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", registered("probability"))
@given(data=st.data(), k=OPERATORS)
def test_renumbered_operators_have_renumbered_probabilities(
    name: str, data: st.DataObject, k: int
) -> None:
    """But for the pursuit of one of several best operators, which takes the lowest number."""
    rule = data.draw(instances("probability", name, k)).for_operators(k)
    q, p = np.array(data.draw(shares(k))), np.array(data.draw(shares(k)))
    if name == "adaptive_pursuit":
        assume(lead(q.tolist()) > 0)
    number = data.draw(st.permutations(range(k)))
    place = np.argsort(number)
    found = written(normalize_probabilities, rule.compute(q, p))
    other = written(normalize_probabilities, rule.compute(q[place], p[place]))
    np.testing.assert_allclose(other[number], found, rtol=1e-12)


@pytest.mark.parametrize("name", reading("generations"))
@given(data=st.data(), k=OPERATORS)
def test_the_order_within_a_generation_does_not_matter_to_the_generation_memory(
    name: str, data: st.DataObject, k: int
) -> None:
    """Sums and maxima of a generation are the same in any order."""
    reward = data.draw(instances("reward", name, k))
    history = data.draw(histories(recorded(k)))
    mixed = []
    for generation in history:
        order = data.draw(st.permutations(range(len(generation.operators))))
        mixed.append(type(generation)(*([column[i] for i in order] for column in generation)))
    np.testing.assert_array_equal(rewards_of(reward, k, mixed), rewards_of(reward, k, history))


def test_the_order_within_a_generation_matters_to_the_other_memories() -> None:
    """They keep the last successes, and the last of a generation is the last of the population."""
    for name, size in (("window_success_sum", {"W": 2}), ("compass_projection", {"fix_appl": 1})):
        method = uaos.Method(reward={"name": name, **size}, scale_rewards=False)
        forward, backward = started(method, 2), started(method, 2)
        # The improvements are 1, 2, 1; operator 1 ends with the 1, or with the 2.
        forward.update([0, 1, 1], [9.0, 9.0, 9.0], [8.0, 7.0, 8.0])
        backward.update([1, 1, 0], [9.0, 9.0, 9.0], [8.0, 7.0, 8.0])
        assert forward.rewards.tolist() != backward.rewards.tolist()


@pytest.mark.parametrize("name", reading("successes"))
@given(data=st.data(), k=OPERATORS)
def test_operators_with_the_same_successes_are_equals(
    name: str, data: st.DataObject, k: int
) -> None:
    """Whatever the order of the successes: none dominates another, and all have one reward."""
    reward = data.draw(instances("reward", name, k))
    metrics = data.draw(st.lists(st.sampled_from(QUARTERS), min_size=1, max_size=reward.fix_appl))
    history = []
    for op in range(k):
        ordered = data.draw(st.permutations(metrics))
        history.append(Recorded([op] * len(ordered), ordered, [True] * len(ordered)))
    assert len(set(rewards_of(reward, k, history).tolist())) == 1


# What is bounded


@pytest.mark.parametrize("reward", registered("reward"))
@given(data=st.data())
def test_scaled_rewards_fill_the_unit_interval(reward: str, data: st.DataObject) -> None:
    """From 0 to 1, or all 0."""
    k, method, history = data.draw(cases(reward=reward, scale_rewards=True))
    selector = started(method, k)
    for generation in history:
        selector.update(*generation)
        rewards = selector.rewards
        assert rewards.min() == 0
        assert rewards.max() in (0, 1)


@pytest.mark.parametrize("reward", registered("reward"))
def test_a_memory_never_grows(reward: str) -> None:
    """What a selector holds has the size after 300 generations that it has before the first."""
    selector = started(uaos.Method(reward=reward), 4)

    def sizes():
        return {name: array.nbytes for name, array in selector.state()["memory"].items()}

    before = sizes()
    rng = np.random.default_rng(1)
    for n in rng.integers(1, 40, 300):
        selector.update(selector.select(n), np.ones(n), rng.random(n) * 1.5)
    assert sizes() == before


# Interrupted runs


def same(one, other):
    """Whether two states are equal to the last bit."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return np.array_equal(one, other)


@pytest.mark.parametrize("reward", registered("reward"))
@given(data=st.data(), seed=st.integers(0, 99))
def test_a_restored_selector_continues_bit_for_bit(
    reward: str, data: st.DataObject, seed: int
) -> None:
    """Its choices and all it has learned are those of the selector that went on."""
    k, method, history = data.draw(cases(reward=reward))
    cut = data.draw(st.integers(0, len(history)))
    whole, resumed = started(method, k, seed), started(method, k, seed + 1)
    for generation in history:  # what the other one went through leaves no trace
        resumed.select(4)
        resumed.update(*generation)
    for generation in history[:cut]:
        whole.select(3)
        whole.update(*generation)
    saved = whole.state()
    resumed.restore(saved)
    for generation in history[cut:]:
        np.testing.assert_array_equal(whole.select(5), resumed.select(5))
        whole.update(*generation)
        resumed.update(*generation)
        assert same(whole.state(), resumed.state())
    assert same(whole.state(), resumed.state())
    # Neither going on changed what was saved.
    again = started(method, k, seed)
    for generation in history[:cut]:
        again.select(3)
        again.update(*generation)
    assert same(again.state(), saved)
