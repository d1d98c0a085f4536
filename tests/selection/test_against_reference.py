"""The fast implementation computes what the plain transcription of the equations computes."""

import math

import numpy as np
import pytest
import reference
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from strategies import (
    FAILED,
    METRICS,
    QUARTERS,
    Recorded,
    best_decided_by_rounding,
    decided_by_rounding,
    dominance_decided_by_rounding,
    feedback,
    fitness_for,
    histories,
    instances,
    largest,
    parameters_of,
    quality_decided_by_rounding,
    recorded,
    registered,
    shares,
    span,
    vectors,
    written,
)

import uaos
from uaos.params import Integer, parameters
from uaos.selection.components import Draws, Evidence, build
from uaos.selection.learning import (
    mask_failures,
    normalize_probabilities,
    normalize_qualities,
    repair_fitness,
    scale_rewards,
)
from uaos.selection.memory import memory_for

OPERATORS = st.integers(2, 6)
#: The largest float below 1, and other draws at the edges of a share.
DRAWS = st.integers(0, 63).map(lambda k: k / 64) | st.just(math.nextafter(1.0, 0.0))
#: Rewards whose exponentials overflow and underflow.
STEEP = (-1000.0, 0.0, 300.0, 300.25, 1000.0)
HARD = (0.0, 1e100, -1e100, 1e-300, 5e-324, 3.0)


def agree(found, expected, rtol=1e-9, atol=1e-12):
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)


# 1. Metric


@st.composite
def any_generation(draw):
    """Parents and offspring of any size, with ties and failed evaluations."""
    number = st.floats(width=64) | st.sampled_from((*QUARTERS, *FAILED))
    pair = st.tuples(number, number) | number.map(lambda x: (x, x))
    pairs = draw(st.lists(pair, min_size=1, max_size=8))
    return [f for f, _ in pairs], [u for _, u in pairs]


@pytest.mark.parametrize("name", registered("metric"))
@given(generation=any_generation(), earlier=st.floats(allow_nan=False, allow_infinity=False))
@example(generation=([1.7e308, 0.0], [-1.7e308, 1.0]), earlier=0.0)  # 0 times infinity
def test_a_metric_agrees_for_any_fitness(
    name: str, generation: tuple[list[float], list[float]], earlier: float
) -> None:
    """Every offspring has the metric and the success that section 1 gives it."""
    parents, offspring = generation
    best_so_far = min([earlier, *(f for f in parents if math.isfinite(f))])
    metrics, successes = reference.measure(name, parents, offspring, best_so_far)
    metric = build("metric", name)
    with np.errstate(all="ignore"):
        ready = repair_fitness(np.array(parents), np.array(offspring))
        values, marked = metric.compute(*ready, best_so_far), np.empty(len(parents), dtype=bool)
        count = mask_failures(values, marked, *ready, metric.by_reference)
    np.testing.assert_array_equal(marked, successes)
    assert count == sum(successes)
    agree(values, metrics, rtol=1e-14, atol=1e-300)


# 2. Memory


def remembered(reward, generations, n_operators):
    """The memory of a reward and that of the reference, after the same generations."""
    params = parameters_of(reward, n_operators)
    fast = memory_for(reward, n_operators)
    slow = reference.Memory(
        n_operators,
        max_gen=reference.depth(reward.name, params),
        fix_appl=params.get("fix_appl", 0),
        window=params.get("W", 0),
        start=params.get("start", 1),
        least=params.get("least", 0) / n_operators,
    )
    for generation in generations:
        fast.record(*generation.arrays())
        slow.record(*generation, generation.offspring)
    return fast, slow


@given(data=st.data(), k=OPERATORS, window=st.integers(1, 6))
def test_the_window_keeps_the_entries_of_the_insertion_rule(
    data: st.DataObject, k: int, window: int
) -> None:
    """The same operators and metrics remain, oldest first, under many ties."""
    generations = data.draw(histories(recorded(k, METRICS["coarse"])))
    fast, slow = remembered(build("reward", {"name": "sum_of_ranks", "W": window}), generations, k)
    entries = slow.window_entries
    unfilled = window - len(entries)
    assert fast.size == len(entries)
    np.testing.assert_array_equal(fast.operators, [op for op, _ in entries] + [-1] * unfilled)
    np.testing.assert_array_equal(fast.metrics, [x for _, x in entries] + [-math.inf] * unfilled)


@given(data=st.data(), k=OPERATORS, fix_appl=st.integers(1, 6))
def test_the_success_memory_keeps_each_operators_last_successes(
    data: st.DataObject, k: int, fix_appl: int
) -> None:
    """The same metrics remain of every operator; their order means nothing."""
    generations = data.draw(histories(recorded(k)))
    reward = build("reward", {"name": "pareto_rank", "fix_appl": fix_appl})
    fast, slow = remembered(reward, generations, k)
    for op in range(k):
        count = int(fast.counts[op])
        assert sorted(fast.metrics[op, :count]) == sorted(slow.recent[op])


@given(data=st.data(), k=OPERATORS, max_gen=st.integers(1, 6))
def test_the_generation_memory_keeps_the_last_generations(
    data: st.DataObject, k: int, max_gen: int
) -> None:
    """Successes, applications, sum and best of every operator, newest generation first."""
    generations = data.draw(histories(recorded(k)))
    reward = build("reward", {"name": "success_sum", "max_gen": max_gen})
    fast, slow = remembered(reward, generations, k)
    assert fast.count == len(slow.generations)
    for rows, letter in zip(fast.table, "snSB", strict=True):
        kept = [generation[letter] for generation in slow.generations]
        unfilled = [[0.0] * k] * (max_gen - len(kept))
        np.testing.assert_array_equal(rows, kept + unfilled)


# 3. Reward


@pytest.mark.parametrize("name", registered("reward"))
@given(data=st.data(), k=OPERATORS, kind=st.sampled_from(list(METRICS)))
def test_a_reward_agrees(name: str, data: st.DataObject, k: int, kind: str) -> None:
    """The reward, and how many successes it looked at, are those of section 3."""
    reward = data.draw(instances("reward", name, k))
    fast, slow = remembered(reward, data.draw(histories(recorded(k, METRICS[kind]))), k)
    if name.startswith("pareto"):
        assume(not dominance_decided_by_rounding(slow.recent))
    params = parameters_of(reward, k)
    expected = reference.reward(name, params, slow, k)
    with np.errstate(all="ignore"):
        agree(scale_rewards(reward.compute(fast), False), expected)
    np.testing.assert_array_equal(fast.observations(), reference.looked_at(name, params, slow, k))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", registered("reward"))
def test_a_reward_agrees_at_the_size_of_a_run(name: str, seed: int) -> None:
    """Nine operators, 60 generations of up to 200 offspring, default and largest memories."""
    rng = np.random.default_rng(seed)
    sizes = {key: p.high for key, p in parameters(uaos.components("reward")[name]).items()
             if isinstance(p, Integer)}  # fmt: skip
    reward = build("reward", {"name": name, **(sizes if seed else {})})
    generations = []
    for n in rng.integers(1, 200, 60):
        successes = rng.random(n) < 0.3
        metrics = np.where(successes, rng.exponential(size=n) ** 3, 0.0)
        # The second seed rounds, for ties in the window; means and deviations stay apart.
        metrics = metrics.round(1) if seed == 1 and "W" in sizes else metrics
        operators = rng.choice(9, n, p=np.arange(1, 10) / 45)
        generations.append(Recorded(operators.tolist(), metrics.tolist(), successes.tolist()))
    fast, slow = remembered(reward, generations, 9)
    expected = reference.reward(name, parameters_of(reward, 9), slow, 9)
    agree(reward.compute(fast), expected)


@given(data=st.data(), k=OPERATORS)
def test_scaling_agrees(data: st.DataObject, k: int) -> None:
    """The rewards are mapped linearly onto [0, 1]; all equal: all 0."""
    rewards = data.draw(vectors(k, QUARTERS) | vectors(k, HARD))
    agree(scale_rewards(np.array(rewards), True), reference.scaled(rewards))


# 4. Quality


@pytest.mark.parametrize("name", registered("quality"))
@given(data=st.data(), k=OPERATORS)
def test_a_quality_agrees(name: str, data: st.DataObject, k: int) -> None:
    """The quality, made non-negative and divided by its sum, is that of section 4."""
    quality = data.draw(instances("quality", name, k))
    params = parameters_of(quality, k)
    # The softmax of values near the limit would be decided by rounding.
    hard = vectors(k, STEEP if name == "bellman" else HARD)
    rewards = vectors(k, QUARTERS) | vectors(k, METRICS["coarse"]) | hard
    r, r_old = data.draw(rewards), data.draw(rewards)
    q_old, p = data.draw(shares(k)), data.draw(shares(k))
    n = data.draw(vectors(k, range(0, 60)))
    assume(not quality_decided_by_rounding(name, params, r_old, p, (r, q_old, n)))
    now = Evidence(*(np.array(x, dtype=float) for x in (r, r_old, q_old, p, n)))
    expected = reference.quality(name, params, r, r_old, q_old, p, n)
    with np.errstate(all="ignore"):
        agree(written(normalize_qualities, quality.compute(now)), expected)


# 5. Probability


@pytest.mark.parametrize("name", registered("probability"))
@given(data=st.data(), k=OPERATORS)
def test_a_probability_agrees(name: str, data: st.DataObject, k: int) -> None:
    """The probability, divided by the sum, is that of section 5; ties of quality are frequent."""
    rule = data.draw(instances("probability", name, k)).for_operators(k)
    q, p_old = data.draw(shares(k)), data.draw(shares(k))
    expected = reference.probability(name, parameters_of(rule, k), q, p_old)
    agree(written(normalize_probabilities, rule.compute(np.array(q), np.array(p_old))), expected)


# 6. Selection


@pytest.mark.parametrize("name", registered("selection"))
@given(data=st.data(), k=OPERATORS, tie=DRAWS, progress=st.integers(0, 8).map(lambda i: i / 8))
def test_a_selection_agrees(
    name: str, data: st.DataObject, k: int, tie: float, progress: float
) -> None:
    """The same random numbers give the same operators, at the edges of a share as well."""
    selection = data.draw(instances("selection", name, k))
    # In 64ths, so that the draws meet the edges exactly.
    cuts = sorted(data.draw(st.lists(st.integers(0, 64), min_size=k - 1, max_size=k - 1)))
    p = np.diff([0, *cuts, 64]) / 64
    parents = data.draw(st.lists(st.tuples(DRAWS, DRAWS), min_size=1, max_size=8))
    pick, explore = (list(column) for column in zip(*parents, strict=True))
    applied = data.draw(vectors(k, range(9)))
    draws = Draws(np.array(pick), np.array(explore), tie, np.array(applied))
    params = parameters_of(selection, k)
    expected = reference.choose(name, params, p.tolist(), pick, explore, tie, progress, applied)
    np.testing.assert_array_equal(selection.compute(p, draws, progress), expected)


@pytest.mark.parametrize("name", registered("selection"))
def test_a_selector_draws_with_the_frequencies_of_its_rule(name: str) -> None:
    """Half of the budget is spent, and eps = 0.4: the frequencies are within 5 deviations."""
    n, p = 20_000, np.array([0.2, 0.5, 0.3])
    eps = {"eps": 0.4} if "eps" in parameters(uaos.components("selection")[name]) else {}
    method = uaos.Method(
        "parent_improvement", "success_sum", "identity", "identity", {"name": name, **eps},
        scale_rewards=False,
    )  # fmt: skip
    selector = method.selector(3, seed=1, budget=6)
    selector.update([0, 1, 2], [9, 9, 9], [7, 4, 6])  # improvements 2, 5, 3 of 10
    agree(selector.probabilities, p)
    best = np.array([0.0, 1.0, 0.0])
    expected = {
        "proportional": p,
        "greedy": best,
        "epsilon_greedy": 0.4 / 3 + 0.6 * best,
        "linear_annealed": 0.5 / 3 + 0.5 * best,
        "proportional_greedy": 0.4 * p + 0.6 * best,
        "largest_deficit": p,
        "shares": p,
    }[name]
    found = np.bincount(selector.select(n), minlength=3) / n
    assert np.all(np.abs(found - expected) <= 5 * np.sqrt(expected * (1 - expected) / n))


def test_operators_not_yet_applied_are_drawn_uniformly() -> None:
    """One parent a generation: each of the three operators comes first, second, third alike."""
    n = 3_000
    rng = np.random.default_rng(1)
    orders = []
    for _ in range(n):
        selector = uaos.Method(selection="greedy").selector(3, seed=rng)
        orders.append(tuple(int(selector.select(1)[0]) for _ in range(3)))
    assert {tuple(sorted(order)) for order in orders} == {(0, 1, 2)}
    for order in set(orders):
        # 1/6 of 3,000, within 5 deviations of 20.4.
        assert abs(orders.count(order) - 500) <= 102
    assert len(set(orders)) == 6


# The whole method


@st.composite
def methods(draw, k, metric, reward, quality):
    """A method with random parameters, its probability and selection rules at random."""
    rule = draw(st.sampled_from(registered("probability")))
    selection = draw(st.sampled_from(registered("selection")))
    return uaos.Method(
        metric=metric,
        reward=draw(instances("reward", reward, k)),
        quality=draw(instances("quality", quality, k)),
        probability=draw(instances("probability", rule, k)),
        selection=draw(instances("selection", selection, k)),
        scale_rewards=draw(st.booleans()),
    )


def transcription(method, k):
    """The reference's selector for the same method."""
    arguments = {"metric": method.metric.name, "scale_rewards": method.scale_rewards}
    for family in ("reward", "quality", "probability"):
        component = getattr(method, family)
        arguments[family] = component.name
        arguments[f"{family}_params"] = parameters_of(component, k)
    return reference.Selector(k, **arguments)


@pytest.mark.parametrize("quality", registered("quality"))
@pytest.mark.parametrize("reward", registered("reward"))
@settings(max_examples=20)
@given(data=st.data(), k=OPERATORS, metric=st.sampled_from(registered("metric")))
def test_a_whole_selector_agrees(
    reward: str, quality: str, data: st.DataObject, k: int, metric: str
) -> None:
    """Rewards, qualities and probabilities agree after every generation of a random history.

    Each is compared before it is asked whether the next would be decided by rounding.
    """
    method = data.draw(methods(k, metric, reward, quality))
    history = data.draw(histories(feedback(k, fitness_for(metric))))
    fast, slow = method.selector(k, seed=1, budget=40), transcription(method, k)
    # Its rewards are what the scaling of the first one starts from.
    plain = method.replace(quality="identity", probability="identity", scale_rewards=False)
    plain = plain.selector(k, seed=1, budget=40)
    for generation in history:
        r_old, p_old = slow.rewards, slow.probabilities
        q_old = (slow.qualities, fast.qualities.tolist())
        for selector in (fast, slow, plain):
            selector.update(*generation)
        if reward.startswith("pareto"):
            assume(not dominance_decided_by_rounding(slow.memory.recent))
        how = (reward, slow.reward_params, slow.memory, k)
        raw, expected = plain.rewards.tolist(), reference.reward(*how)
        agree(raw, expected)
        spans = [span(expected), span(raw)]
        assume(not (method.scale_rewards and decided_by_rounding(spans, largest(expected))))
        agree(fast.rewards, slow.rewards)
        r, n = (slow.rewards, fast.rewards.tolist()), reference.looked_at(*how)
        versions = [(r[i], q_old[i], n) for i in range(2)]
        how = (quality, slow.quality_params, r_old, p_old)
        assume(not quality_decided_by_rounding(*how, *versions))
        agree(fast.qualities, slow.qualities)
        if slow.probability in ("adaptive_pursuit", "share_transfer"):  # these look for the best
            assume(not best_decided_by_rounding(slow.qualities, fast.qualities.tolist()))
        agree(fast.probabilities, slow.probabilities)
        assert all(0 <= op < k for op in fast.select(len(generation.operators)))
