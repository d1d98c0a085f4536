"""Memories keep what the specification says, in the order it says, and never grow."""

import copy

import numpy as np
import pytest

from uaos import jit
from uaos.selection.components import components
from uaos.selection.memory import (
    BestMemory,
    GenerationMemory,
    SuccessMemory,
    WindowMemory,
    memory_for,
)


def record(memory, entries) -> None:
    """Feed a memory one generation of (operator, metric, success); its fitness is −metric."""
    operators, metrics, successes = zip(*entries, strict=True)
    metrics = np.array(metrics, dtype=float)
    memory.record(np.array(operators), metrics, np.array(successes), -metrics)


def test_a_generation_is_counted_by_operator() -> None:
    memory = GenerationMemory(2, max_gen=2)
    record(memory, [(0, 3, True), (0, 5, True), (0, 0, False), (1, 0, False)])
    assert memory.successes[0].tolist() == [2, 0]
    assert memory.applications[0].tolist() == [3, 1]
    assert memory.sums[0].tolist() == [8, 0]
    assert memory.bests[0].tolist() == [5, 0]
    assert memory.count == 1


def test_the_best_of_negative_metrics_is_negative() -> None:
    memory = GenerationMemory(1, max_gen=1)
    record(memory, [(0, -7, True), (0, -2, True)])
    assert memory.bests[0, 0] == -2


def test_generations_move_down_and_the_oldest_leaves() -> None:
    memory = GenerationMemory(1, max_gen=2)
    for metric in (1, 2, 3):
        record(memory, [(0, metric, True)])
    assert memory.sums[:, 0].tolist() == [3, 2]
    assert memory.count == 2


def test_each_operator_keeps_its_own_last_successes() -> None:
    memory = SuccessMemory(2, fix_appl=2)
    record(memory, [(0, 1, True), (0, 2, True), (1, 9, True), (0, 3, True), (0, 8, False)])
    assert sorted(memory.metrics[0]) == [2, 3]
    assert memory.metrics[1, 0] == 9
    assert memory.counts.tolist() == [2, 1]


def window(memory: WindowMemory) -> list[tuple[int, float]]:
    filled = int(memory.size)
    assert (memory.operators[filled:] == -1).all()
    assert np.isneginf(memory.metrics[filled:]).all()
    return list(
        zip(memory.operators[:filled].tolist(), memory.metrics[:filled].tolist(), strict=True)
    )


def test_the_window_is_filled_in_the_order_of_the_population() -> None:
    memory = WindowMemory(3, W=3)
    record(memory, [(2, 1, True), (0, 5, False), (1, 4, True)])
    assert window(memory) == [(2, 1), (1, 4)]


def test_in_a_full_window_the_oldest_entry_of_the_same_operator_leaves() -> None:
    memory = WindowMemory(3, W=3)
    record(memory, [(0, 7, True), (1, 1, True), (0, 6, True), (0, 2, True)])
    # (0, 7) leaves although its metric is the largest; the new one is the newest
    assert window(memory) == [(1, 1), (0, 6), (0, 2)]


def test_a_new_operator_displaces_the_smallest_metric_of_a_full_window() -> None:
    memory = WindowMemory(3, W=3)
    record(memory, [(0, 7, True), (1, 1, True), (0, 6, True), (2, 3, True)])
    assert window(memory) == [(0, 7), (0, 6), (2, 3)]


def test_a_new_operator_that_is_not_better_than_the_smallest_is_not_stored() -> None:
    memory = WindowMemory(3, W=2)
    record(memory, [(0, 7, True), (1, 3, True), (2, 3, True)])
    assert window(memory) == [(0, 7), (1, 3)]


def test_of_equally_small_metrics_the_oldest_leaves() -> None:
    memory = WindowMemory(3, W=3)
    record(memory, [(0, 1, True), (1, 5, True), (1, 1, True), (2, 3, True)])
    assert window(memory) == [(1, 5), (1, 1), (2, 3)]


@pytest.mark.parametrize("name", components("reward"))
def test_a_reward_has_the_memory_it_reads_and_its_size_is_fixed(name: str) -> None:
    reward = components("reward")[name]()
    memory = memory_for(reward, 3)
    before = {key: array.shape for key, array in memory.arrays().items()}
    for generation in range(200):
        record(memory, [(i % 3, generation, True) for i in range(7)])
    assert {key: array.shape for key, array in memory.arrays().items()} == before
    assert reward.compute(memory).shape == (3,)


def test_the_compiled_kernels_of_states_agree_with_the_interpreted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reward = components("reward")["state_value"](gamma=0.5)
    generations = [[(0, 3, True), (1, 0, False), (2, 1, True)], [(1, 2, True), (1, 4, True)]]
    rewards = []
    for patience in (9.0, 0.0):
        monkeypatch.setattr(jit, "PATIENCE", patience)
        memory = memory_for(reward, 3)
        for generation in generations:
            record(memory, generation)
        rewards.append(reward.compute(memory).tolist())
    assert rewards[0] == rewards[1]


#: Rewards that look at successes.
COUNTING = [
    n for n in components("reward") if n not in ("leader", "fitness_rate_rank", "state_value")
]


def test_the_state_value_counts_generations_of_the_present_state() -> None:
    memory = memory_for(components("reward")["state_value"](), 3)
    failing = [(1, 0, False)] * 40
    record(memory, [(2, 1, True), *failing])  # from the first state to itself: 1 of 41 succeeds
    assert memory.observations().tolist() == [0, 1, 1]
    record(memory, [(0, 2, True)])  # to one of many successes, where nothing was learned yet
    assert memory.observations().tolist() == [0, 0, 0]


def test_the_fitness_rate_rank_counts_failures_too() -> None:
    memory = memory_for(components("reward")["fitness_rate_rank"](), 3)
    record(memory, [(2, 1, True), (1, 5, False), (2, 4, True)])
    assert memory.observations().tolist() == [0, 1, 2]


def test_the_leader_looks_at_one_value_of_each_operator() -> None:
    memory = memory_for(components("reward")["leader"](), 3)
    record(memory, [(2, 1, True), (1, 5, False)])
    assert memory.observations().tolist() == [1, 1, 1]


@pytest.mark.parametrize("name", COUNTING)
def test_a_memory_counts_the_successes_it_holds(name: str) -> None:
    memory = memory_for(components("reward")[name](), 3)
    assert memory.observations().tolist() == [0, 0, 0]
    record(memory, [(2, 1, True), (1, 5, False), (2, 4, True), (0, 3, True)])
    assert memory.observations().tolist() == [1, 0, 2]


@pytest.mark.parametrize("name", COUNTING)
def test_a_deep_copy_sees_its_own_generations(name: str) -> None:
    memory = memory_for(components("reward")[name](), 2)
    copied = copy.deepcopy(memory)
    record(copied, [(0, 3, True)])
    assert copied.observations().tolist() == [1, 0]
    assert memory.observations().tolist() == [0, 0]


@pytest.mark.parametrize("name", components("reward"))
def test_an_empty_memory_is_worth_what_a_selector_starts_with(name: str) -> None:
    reward = components("reward")[name]()
    if reward.memory != "generations":  # a generation is there before a reward is asked for
        start = getattr(reward, "start", 0)  # all equal, which is scaled to 0
        assert reward.compute(memory_for(reward, 3)).tolist() == [start] * 3


def test_the_best_of_each_operator_is_its_lowest_finite_fitness() -> None:
    memory = BestMemory(3)
    nothing = np.zeros(5), np.zeros(5, dtype=bool)
    memory.record(np.array([0, 0, 1, 1, 1]), *nothing, np.array([3.0, 2.0, np.nan, -np.inf, 7.0]))
    assert memory.values.tolist() == [2, 7, np.inf]
    memory.record(np.array([0]), *(a[:1] for a in nothing), np.array([4.0]))
    assert memory.values.tolist() == [2, 7, np.inf]
