"""The fast implementation computes what the plain transcription of the equations computes."""

import math

import numpy as np
import pytest
import reference
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import (
    COARSE,
    FAILED,
    QUARTERS,
    STEADY,
    decided_by_rounding,
    dominance_decided_by_rounding,
    feedback,
    fitness_for,
    histories,
    instances,
    largest,
    lead,
    parameters_of,
    recorded,
    registered,
    shares,
    span,
    vectors,
)

import uaos
from uaos.components import Draws, Evidence, build, probabilities, qualities
from uaos.components.metrics import comparable, measure
from uaos.components.rewards import scaled
from uaos.memory import memory_for

OPERATORS = st.integers(2, 6)
#: The largest float below 1, and other draws at the edges of a share.
DRAWS = st.integers(0, 63).map(lambda k: k / 64) | st.just(math.nextafter(1.0, 0.0))
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
@settings(STEADY, max_examples=300)
@given(generation=any_generation(), earlier=st.floats(allow_nan=False, allow_infinity=False))
def test_a_metric_agrees_for_any_fitness(name, generation, earlier):
    """Every offspring has the metric and the success that section 1 gives it."""
    parents, offspring = generation
    best_so_far = min([earlier, *(f for f in parents if math.isfinite(f))])
    metrics, successes = reference.measure(name, parents, offspring, best_so_far)
    with np.errstate(all="ignore"):
        ready = comparable(np.array(parents), np.array(offspring), np)
        found = measure(build("metric", name), *ready, best_so_far, np)
    np.testing.assert_array_equal(found[1], successes)
    agree(found[0], metrics, rtol=1e-14, atol=1e-300)


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
    )
    for generation in generations:
        fast.record(*generation.arrays())
        slow.record(*generation)
    return fast.view(), slow


@settings(STEADY, max_examples=300)
@given(data=st.data(), k=OPERATORS, window=st.integers(1, 6))
def test_the_window_keeps_the_entries_of_the_insertion_rule(data, k, window):
    """The same operators and metrics remain, oldest first, under many ties."""
    generations = data.draw(histories(recorded(k, COARSE)))
    fast, slow = remembered(build("reward", {"name": "sum_of_ranks", "W": window}), generations, k)
    entries = slow.window_entries
    unfilled = window - len(entries)
    assert fast.size == len(entries)
    np.testing.assert_array_equal(fast.operators, [op for op, _ in entries] + [-1] * unfilled)
    np.testing.assert_array_equal(fast.metrics, [x for _, x in entries] + [-math.inf] * unfilled)


@settings(STEADY, max_examples=100)
@given(data=st.data(), k=OPERATORS, fix_appl=st.integers(1, 6))
def test_the_success_memory_keeps_each_operators_last_successes(data, k, fix_appl):
    """The same metrics remain of every operator; their order means nothing."""
    generations = data.draw(histories(recorded(k)))
    reward = build("reward", {"name": "pareto_rank", "fix_appl": fix_appl})
    fast, slow = remembered(reward, generations, k)
    for op in range(k):
        count = int(fast.counts[op])
        assert sorted(fast.metrics[op, :count]) == sorted(slow.recent[op])


@settings(STEADY, max_examples=100)
@given(data=st.data(), k=OPERATORS, max_gen=st.integers(1, 6))
def test_the_generation_memory_keeps_the_last_generations(data, k, max_gen):
    """Successes, applications, sum and best of every operator, newest generation first."""
    generations = data.draw(histories(recorded(k)))
    reward = build("reward", {"name": "success_sum", "max_gen": max_gen})
    fast, slow = remembered(reward, generations, k)
    assert fast.count == len(slow.generations)
    for rows, letter in zip(fast[:4], "snSB", strict=True):
        kept = [generation[letter] for generation in slow.generations]
        unfilled = [[0.0] * k] * (max_gen - len(kept))
        np.testing.assert_array_equal(rows, kept + unfilled)


# 3. Reward


@pytest.mark.parametrize("name", registered("reward"))
@settings(STEADY, max_examples=200)
@given(data=st.data(), k=OPERATORS, metrics=st.sampled_from((QUARTERS, COARSE, HARD)))
def test_a_reward_agrees(name, data, k, metrics):
    """The reward, and how many successes it looked at, are those of section 3."""
    reward = data.draw(instances("reward", name, k))
    fast, slow = remembered(reward, data.draw(histories(recorded(k, metrics))), k)
    if name.startswith("pareto"):
        assume(not dominance_decided_by_rounding(slow.recent))
    params = parameters_of(reward, k)
    with np.errstate(all="ignore"):
        found = np.clip(reward.compute(fast, np), -1e100, 1e100)
    agree(found, reference.reward(name, params, slow, k))
    np.testing.assert_array_equal(fast.observations(np), reference.looked_at(name, params, slow, k))


@settings(STEADY, max_examples=100)
@given(data=st.data(), k=OPERATORS)
def test_scaling_agrees(data, k):
    """The rewards are mapped linearly onto [0, 1]; all equal: all 0."""
    rewards = data.draw(vectors(k, QUARTERS) | vectors(k, HARD))
    agree(scaled(np.array(rewards)), reference.scaled(rewards))


# 4. Quality


def flat_by_rounding(name, params, *versions):
    """Whether negative qualities differ by rounding alone, which the division by the sum blows up.

    A version is (rewards, old qualities, observations) as one of the implementations has them.
    """
    raw = []
    for r, q_old, n in versions:
        if name == "weighted_sum":
            raw.append(reference.weighted_sum(params, r, q_old))
        elif name == "upper_confidence_bound":
            raw.append(reference.upper_confidence_bound(params, r, n))
        else:
            raw.append(list(r))
    return min(raw[0]) < 0 and decided_by_rounding([span(x) for x in raw], largest(raw[0]))


def quality_decided_by_rounding(name, params, r_old, *versions):
    """Whether the quality jumps, or the softmax blows up rounding, for these rewards."""
    r = versions[0][0]
    if name == "weighted_normalised_sum":
        totals = [math.fsum(version[0]) for version in versions] + [sum(versions[-1][0])]
        return decided_by_rounding(totals, math.fsum(abs(x) for x in r))
    if name == "bellman":
        return max(largest(r), largest(r_old)) / (1 - params["gamma"]) > 1e5
    return flat_by_rounding(name, params, *versions)


@pytest.mark.parametrize("name", registered("quality"))
@settings(STEADY, max_examples=200)
@given(data=st.data(), k=OPERATORS)
def test_a_quality_agrees(name, data, k):
    """The quality, made non-negative and divided by its sum, is that of section 4."""
    quality = data.draw(instances("quality", name, k))
    params = parameters_of(quality, k)
    hard = vectors(k, HARD) if name != "bellman" else st.nothing()
    rewards = vectors(k, QUARTERS) | vectors(k, COARSE) | hard
    r, r_old = data.draw(rewards), data.draw(rewards)
    q_old, p = data.draw(shares(k)), data.draw(shares(k))
    n = data.draw(vectors(k, range(0, 60)))
    assume(not quality_decided_by_rounding(name, params, r_old, (r, q_old, n)))
    now = Evidence(*(np.array(x, dtype=float) for x in (r, r_old, q_old, p, n)))
    with np.errstate(all="ignore"):
        found = qualities.normalised(quality.compute(now, np), np)
    agree(found, reference.quality(name, params, r, r_old, q_old, p, n))


# 5. Probability


@pytest.mark.parametrize("name", registered("probability"))
@settings(STEADY, max_examples=200)
@given(data=st.data(), k=OPERATORS)
def test_a_probability_agrees(name, data, k):
    """The probability, divided by the sum, is that of section 5; ties of quality are frequent."""
    rule = data.draw(instances("probability", name, k)).for_operators(k)
    q, p_old = data.draw(shares(k)), data.draw(shares(k))
    found = probabilities.normalised(rule.compute(np.array(q), np.array(p_old), np))
    agree(found, reference.probability(name, parameters_of(rule, k), q, p_old))


# 6. Selection


@pytest.mark.parametrize("name", registered("selection"))
@settings(STEADY, max_examples=200)
@given(data=st.data(), k=OPERATORS, tie=DRAWS, progress=st.integers(0, 8).map(lambda i: i / 8))
def test_a_selection_agrees(name, data, k, tie, progress):
    """The same random numbers give the same operators, at the edges of a share as well."""
    selection = data.draw(instances("selection", name, k))
    # In 64ths, so that the draws meet the edges exactly.
    cuts = sorted(data.draw(st.lists(st.integers(0, 64), min_size=k - 1, max_size=k - 1)))
    p = np.diff([0, *cuts, 64]) / 64
    parents = data.draw(st.lists(st.tuples(DRAWS, DRAWS), min_size=1, max_size=8))
    pick, explore = (list(column) for column in zip(*parents, strict=True))
    draws = Draws(np.array(pick), np.array(explore), np.array(tie))
    found = selection.compute(p, draws, progress, np)
    params = parameters_of(selection, k)
    expected = reference.choose(name, params, p.tolist(), pick, explore, tie, progress)
    np.testing.assert_array_equal(found, expected)


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


def step_decided_by_rounding(method, raw, before, fast, slow):
    """Whether rounding decides a case on the way from the raw rewards to the probabilities."""
    k = slow.n_operators
    how = (slow.reward, slow.reward_params, slow.memory, k)
    expected = reference.reward(*how)
    if method.reward.name.startswith("pareto"):
        recent = [row[-method.reward.fix_appl :] for row in slow.memory.recent]
        if dominance_decided_by_rounding(recent):
            return True
    if method.scale_rewards and decided_by_rounding([span(expected), span(raw)], largest(expected)):
        return True
    n = reference.looked_at(*how)
    versions = (slow.rewards, before["slow q"], n), (fast.rewards.tolist(), before["fast q"], n)
    quality = slow.quality, slow.quality_params
    if quality_decided_by_rounding(*quality, before["r"], *versions):
        return True
    leads = [lead(slow.qualities), lead(fast.qualities.tolist())]
    return slow.probability == "adaptive_pursuit" and decided_by_rounding(leads, 1.0)


@pytest.mark.parametrize("quality", registered("quality"))
@pytest.mark.parametrize("reward", registered("reward"))
@settings(STEADY, max_examples=25)
@given(data=st.data(), k=OPERATORS, metric=st.sampled_from(registered("metric")))
def test_a_whole_selector_agrees(reward, quality, data, k, metric):
    """Rewards, qualities and probabilities agree after every generation of a random history."""
    method = data.draw(methods(k, metric, reward, quality))
    history = data.draw(histories(feedback(k, fitness_for(metric))))
    fast, slow = method.selector(k, seed=1, budget=40), transcription(method, k)
    # Its rewards are what the scaling of the first one starts from.
    plain = method.replace(quality="identity", probability="identity", scale_rewards=False)
    plain = plain.selector(k, seed=1, budget=40)
    for generation in history:
        before = {"r": slow.rewards, "slow q": slow.qualities, "fast q": fast.qualities.tolist()}
        for selector in (fast, slow, plain):
            selector.update(*generation)
        raw = plain.rewards.tolist()
        assume(not step_decided_by_rounding(method, raw, before, fast, slow))
        agree(raw, reference.reward(reward, slow.reward_params, slow.memory, k))
        agree(fast.rewards, slow.rewards)
        agree(fast.qualities, slow.qualities)
        agree(fast.probabilities, slow.probabilities)
        assert all(0 <= op < k for op in fast.select(len(generation.operators)))
