"""A selector learns, refuses what does not fit, and continues exactly where it was saved."""

import copy
import io
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from raising import raises
from rich.console import Console

import uaos
from uaos import Method, Selector, statefile
from uaos.errors import InvalidFeedback, InvalidFile, InvalidParameter, UnknownName
from uaos.selection.selector import FORMAT

METHOD = Method(reward="success_sum", quality="weighted_sum")


def improving(selector: Selector, gains: list[float], generations: int) -> None:
    """Every offspring of operator k improves its parent by exactly gains[k]."""
    for _ in range(generations):
        operators = selector.select(50)
        parents = np.full(50, 100.0)
        selector.update(operators, parents, parents - np.array(gains)[operators])


def settled(probability: dict[str, object]) -> np.ndarray:
    reward = {"name": "success_sum", "max_gen": 1}
    method = Method("parent_improvement", reward, "weighted_sum", probability, scale_rewards=False)
    selector = method.selector(5, seed=1)
    # Steady gains for operators that are all applied in every generation of 500.
    operators = np.arange(500) % 5
    for _ in range(300):
        selector.update(operators, np.zeros(500), operators - 5.0)
    return selector.probabilities


def test_probability_matching_settles_in_proportion_to_the_gains() -> None:
    got = settled({"name": "probability_matching", "p_min": 0.1})
    # 0.1 + (1 - 5 · 0.1) r / 15 for the gains 5, 4, 3, 2, 1: 0.2667 for the best
    np.testing.assert_allclose(got, [0.1 + 0.5 * r / 15 for r in (5, 4, 3, 2, 1)], rtol=1e-12)
    assert got[0] == pytest.approx(0.2667, abs=1e-4)


def test_adaptive_pursuit_settles_at_its_maximum() -> None:
    got = settled({"name": "adaptive_pursuit", "p_min": 0.1, "p_max": 0.6, "mu": 0.8})
    np.testing.assert_allclose(got, [0.6, 0.1, 0.1, 0.1, 0.1], rtol=1e-12)


def test_it_starts_with_equal_probabilities_equal_qualities_and_no_reward() -> None:
    selector = METHOD.selector(4, seed=1)
    assert selector.probabilities.tolist() == [0.25] * 4
    assert selector.qualities.tolist() == [0.25] * 4
    assert selector.rewards.tolist() == [0] * 4


def test_every_operator_is_applied_once_before_the_rule_takes_over() -> None:
    greedy = Method(selection={"name": "greedy", "ties": "first"})
    for seed in range(20):
        operators = greedy.selector(6, seed=seed).select(10)
        # six parents get the six operators in random order, the others the first of the equals
        assert sorted(operators[:6]) == list(range(6))
        assert operators[6:].tolist() == [0] * 4


def test_one_at_a_time_every_operator_still_gets_its_turn() -> None:
    selector = Method(selection="greedy").selector(5, seed=3)
    seen = []
    for _ in range(5):
        operator = selector.select(1)
        seen.append(int(operator[0]))
        selector.update(operator, [1.0], [2.0])
    assert sorted(seen) == list(range(5))


def test_operators_that_the_user_applied_count_as_applied() -> None:
    selector = Method(selection={"name": "greedy", "ties": "first"}).selector(3, seed=0)
    selector.update([0, 1], [1, 1], [0, 1])
    assert selector.select(2).tolist() == [2, 0]


def test_batches_may_change_their_size_and_a_scalar_is_a_generation_of_one() -> None:
    selector = METHOD.selector(3, seed=1)
    for n in (10, 1, 7, 0, 25):
        operators = selector.select(n)
        assert operators.shape == (n,)
        assert operators.dtype == np.int64
        selector.update(operators, np.ones(n), np.zeros(n))
    selector.update(2, 1.0, 0.5)
    assert selector.probabilities.sum() == pytest.approx(1)


def test_the_better_operator_is_chosen_more_often() -> None:
    selector = METHOD.selector(3, seed=5)
    improving(selector, [1.0, 3.0, 0.5], generations=30)
    assert np.bincount(selector.select(3000), minlength=3).argmax() == 1


def test_the_best_so_far_includes_parents_and_earlier_offspring() -> None:
    selector = Method("best_so_far_improvement", "success_sum", scale_rewards=False).selector(
        2, seed=1
    )
    selector.update([0, 1], [5, 6], [4, 7])  # best so far 5: an improvement of 1
    assert selector.rewards.tolist() == [1, 0]
    selector.update([0, 1], [9, 9], [4.5, 3.5])  # best so far 4: only operator 1 improves, by 0.5
    # operator 0: (1 + 0) / 2 applications, operator 1: (0 + 0.5) / 2
    assert selector.rewards.tolist() == [0.5, 0.25]


def test_failed_evaluations_are_applications_that_failed() -> None:
    selector = Method(reward="success_sum", scale_rewards=False).selector(2, seed=1)
    selector.update([0, 0, 0, 1], [3, 3, 3, 3], [np.nan, -np.inf, 1, np.inf])
    assert selector.rewards.tolist() == [pytest.approx(2 / 3), 0]


def test_linear_annealing_ends_greedy_when_the_budget_is_spent() -> None:
    method = Method(selection="linear_annealed")
    selector = method.selector(4, seed=1, budget=100)
    improving(selector, [1, 2, 3, 4], generations=2)
    assert len(set(selector.select(100).tolist())) == 1


def test_the_same_seed_gives_the_same_choices() -> None:
    runs = []
    for _ in range(2):
        selector = uaos.method("U-AOS-FW").selector(9, seed=42)
        improving(selector, list(range(9)), generations=5)
        runs.append(selector.select(100).tolist())
    assert runs[0] == runs[1]


@pytest.mark.parametrize("n_operators", [0, 1, -3, 2.5, True, "two"])
def test_fewer_than_two_operators_are_refused(n_operators: object) -> None:
    with raises(InvalidParameter, name="n_operators"):
        METHOD.selector(n_operators, seed=1)


def test_a_floor_too_high_for_the_operators_is_refused() -> None:
    with raises(InvalidParameter, name="p_min", value=0.11):
        uaos.method("RecPM").selector(10, seed=1)


@pytest.mark.parametrize("seed", [-1, 1.5, "x", True])
def test_a_seed_that_is_none_is_refused(seed: object) -> None:
    with raises(InvalidParameter, name="seed"):
        METHOD.selector(3, seed=seed)


def test_annealing_without_a_budget_is_refused() -> None:
    with raises(InvalidParameter, name="budget", value=None):
        Method(selection="linear_annealed").selector(3, seed=1)


@pytest.mark.parametrize("budget", [0, -5, float("nan"), "many"])
def test_a_budget_that_is_none_is_refused(budget: object) -> None:
    with raises(InvalidParameter, name="budget"):
        METHOD.selector(3, seed=1, budget=budget)


@pytest.mark.parametrize("n", [-1, 1.5, True, None])
def test_a_number_of_parents_that_is_none_is_refused(n: object) -> None:
    with raises(InvalidParameter, name="n"):
        METHOD.selector(3, seed=1).select(n)


@pytest.mark.parametrize(
    ("operators", "parents", "offspring"),
    [
        ([0, 1], [1.0], [1.0, 2.0]),
        ([[0, 1]], [[1.0, 2.0]], [[1.0, 2.0]]),
        ([0, 3], [1.0, 1.0], [1.0, 1.0]),
        ([-1], [1.0], [1.0]),
        ([0.5], [1.0], [1.0]),
        (["a"], [1.0], [1.0]),
        ([0], ["x"], [1.0]),
        ([0], [1.0], [1j]),
        ([0], [10**400], [1.0]),
        ([[0], [1, 2]], [1.0, 1.0], [1.0, 1.0]),
    ],
)
def test_feedback_that_does_not_fit_is_refused_and_changes_nothing(
    operators: list, parents: list, offspring: list
) -> None:
    selector = METHOD.selector(3, seed=1)
    improving(selector, [1, 2, 3], generations=2)
    before = selector.state()
    with pytest.raises(InvalidFeedback):
        selector.update(operators, parents, offspring)
    assert_equal_states(selector.state(), before)


def assert_equal_states(one: dict, other: dict) -> None:
    assert one.keys() == other.keys()
    for key, value in one.items():
        if isinstance(value, dict):
            assert_equal_states(value, other[key])
        else:
            np.testing.assert_array_equal(value, other[key])


@pytest.mark.parametrize("name", uaos.components("reward"))
def test_a_selector_restored_from_disk_continues_bit_for_bit(name: str, tmp_path: Path) -> None:
    selector = Method(reward=name).selector(4, seed=9)
    gains = [1.0, 0.5, 2.0, 0.1]
    improving(selector, gains, generations=7)
    selector.save(tmp_path / "selector.npz")
    restored = Selector.load(tmp_path / "selector.npz")
    assert restored.method == selector.method
    for s in (selector, restored):
        improving(s, gains, generations=7)
    assert_equal_states(restored.state(), selector.state())
    assert restored.select(100).tolist() == selector.select(100).tolist()


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
@pytest.mark.parametrize("name", uaos.components("reward"))
def test_a_copy_of_a_selector_learns_alone_and_alike(
    name: str, duplicate: Callable[[Selector], Selector]
) -> None:
    selector = Method(reward=name).selector(4, seed=9)
    gains = [1.0, 0.5, 2.0, 0.1]
    improving(selector, gains, generations=7)
    before = selector.state()
    duplicated = duplicate(selector)
    improving(duplicated, gains, generations=7)
    assert_equal_states(selector.state(), before)
    improving(selector, gains, generations=7)
    assert_equal_states(duplicated.state(), selector.state())


def test_another_bit_generator_is_saved_along(tmp_path: Path) -> None:
    selector = METHOD.selector(3, seed=np.random.Generator(np.random.SFC64(1)))
    selector.save(tmp_path / "s")
    assert Selector.load(tmp_path / "s").select(50).tolist() == selector.select(50).tolist()


def test_a_selector_with_a_budget_is_restored_with_it(tmp_path: Path) -> None:
    selector = Method(selection="linear_annealed").selector(3, seed=1, budget=1000)
    selector.save(tmp_path / "s")
    assert Selector.load(tmp_path / "s").budget == 1000


def test_a_missing_corrupt_or_foreign_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidFile):
        Selector.load(tmp_path / "nothing")
    path = tmp_path / "s"
    METHOD.selector(3, seed=1).save(path)
    whole = path.read_bytes()
    for damaged in (b"", b"hello", whole[:100], whole[: len(whole) // 2]):
        path.write_bytes(damaged)
        with pytest.raises(InvalidFile):
            Selector.load(path)
    np.savez(tmp_path / "other.npz", a=np.ones(3))
    with pytest.raises(InvalidFile):
        Selector.load(tmp_path / "other.npz")


def test_a_file_of_another_kind_or_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s"
    statefile.write(path, "run", 1, {})
    with pytest.raises(InvalidFile):
        Selector.load(path)
    statefile.write(path, "selector", 99, {})
    with pytest.raises(InvalidFile):
        Selector.load(path)


def test_a_file_with_parts_missing_or_of_the_wrong_shape_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s"
    selector = METHOD.selector(3, seed=1)
    statefile.write(path, "selector", FORMAT, {"method": METHOD.to_dict()})
    with pytest.raises(InvalidFile):
        Selector.load(path)
    state = METHOD.selector(4, seed=1).state()
    before = selector.state()
    with pytest.raises(InvalidFile):
        selector.restore(state)
    with pytest.raises(InvalidFile):
        selector.restore({**before, "rng": {"nonsense": 1}})
    wide = METHOD.replace(max_gen=7).selector(3, seed=1).state()
    with pytest.raises(InvalidFile):
        selector.restore(wide)
    assert_equal_states(selector.state(), before)


@pytest.mark.parametrize(
    ("reward", "name", "value"),
    [
        ("sum_of_ranks", "operators", 10**6),
        ("sum_of_ranks", "size", 10**6),
        ("sum_of_ranks", "size", -1),
        ("pareto_rank", "next", 10**6),
        ("pareto_rank", "counts", 10**6),
        ("pareto_rank", "counts", np.nan),
    ],
)
def test_a_state_with_indices_outside_its_memory_is_refused(
    reward: str, name: str, value: float
) -> None:
    """A kernel would write to memory that is not its own."""
    selector = Method(reward=reward).selector(3, seed=1)
    selector.update([0, 1, 2], [9, 9, 9], [1, 2, 3])
    before, state = selector.state(), selector.state()
    state["memory"][name][...] = value
    with pytest.raises(InvalidFile):
        selector.restore(state)
    assert_equal_states(selector.state(), before)


@pytest.mark.parametrize("name", ["seed", "default_rng", "Generator", "__class__", 3, ["PCG64"]])
def test_a_file_that_names_anything_but_a_bit_generator_is_refused(
    name: object, tmp_path: Path
) -> None:
    """Before, any attribute of numpy.random was called."""
    path = tmp_path / "s"
    METHOD.selector(3, seed=1).save(path)
    content = statefile.read(path, "selector", FORMAT)
    statefile.write(path, "selector", FORMAT, content | {"generator": name})
    with pytest.raises(InvalidFile):
        Selector.load(path)


@pytest.mark.parametrize("name", list(statefile.BIT_GENERATORS))
def test_every_bit_generator_is_saved_and_continued(name: str, tmp_path: Path) -> None:
    selector = METHOD.selector(3, seed=np.random.Generator(statefile.BIT_GENERATORS[name](5)))
    selector.select(7)
    selector.save(tmp_path / "s")
    assert Selector.load(tmp_path / "s").select(50).tolist() == selector.select(50).tolist()


@pytest.mark.parametrize(
    "changes",
    [
        {"n_operators": 10**12},
        {"n_operators": "3"},
        {"budget": -1},
        {"method": {"reward": "nothing"}},
        {"method": []},
        {"state": None},
        {"state": {"probabilities": np.zeros(3)}},
    ],
    ids=str,
)
def test_a_file_with_forged_content_is_an_invalid_file(
    changes: dict[str, object], tmp_path: Path
) -> None:
    path = tmp_path / "s"
    METHOD.selector(3, seed=1).save(path)
    content = statefile.read(path, "selector", FORMAT)
    statefile.write(path, "selector", FORMAT, content | changes)
    with pytest.raises(InvalidFile):
        Selector.load(path)


def test_saving_replaces_a_file_only_by_a_complete_one(tmp_path: Path) -> None:
    path = tmp_path / "s"
    selector = METHOD.selector(3, seed=1)
    selector.save(path)
    before = path.read_bytes()
    with pytest.raises(TypeError):
        statefile.write(path, "selector", 1, {"not plain": object()})
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_handed_out_is_a_copy() -> None:
    selector = METHOD.selector(3, seed=1)
    selector.probabilities[:] = 7
    assert selector.probabilities.tolist() == [1 / 3] * 3


def test_the_display_shows_every_operator() -> None:
    selector = METHOD.selector(3, seed=1)
    improving(selector, [1, 2, 3], generations=3)
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(selector)
    shown = console.export_text()
    assert "selector after 150 offspring" in shown
    assert "█" in shown
    assert repr(selector).startswith("Selector(3 operators, probabilities=[")


PORTFOLIO = Method(
    "parent_improvement", "leader", "identity",
    {"name": "probability_matching", "p_min": 1 / 6}, "largest_deficit",
)  # fmt: skip


def test_the_leader_gets_its_multiple_of_the_applications() -> None:
    # p_min = 1/(κ + K − 1) with κ = 4 and K = 3: the leader has 4/6, the others 1/6 each
    selector = PORTFOLIO.selector(3, seed=1, bests=[5.0, 2.0, 9.0])
    used = np.zeros(3)
    for _ in range(600):
        (op,) = selector.select(1)
        used[op] += 1
        selector.update([op], [9.0], [9.0])
    assert selector.probabilities == pytest.approx([1 / 6, 4 / 6, 1 / 6])
    assert used.tolist() == pytest.approx([100, 400, 100], abs=1)


def test_a_leader_that_is_overtaken_steps_down() -> None:
    selector = PORTFOLIO.selector(3, seed=1, bests=[5.0, 2.0, 9.0])
    selector.update([2], [9.0], [1.0])
    assert selector.rewards.tolist() == [0, 0, 1]
    selector.update([0], [5.0], [1.0])  # two with the same best: nobody leads
    assert selector.rewards.tolist() == [0, 0, 0]
    selector.update([1, 0], [5.0, 5.0], [np.nan, 0.5])
    assert selector.rewards.tolist() == [1, 0, 0]


def test_the_largest_deficit_does_not_serve_the_unapplied_first() -> None:
    method = Method(quality="identity", probability="identity", selection="largest_deficit")
    selector = method.selector(3, seed=1)
    selector.update([0, 0, 1], [9, 9, 9], [1, 9, 9])  # p = (1, 0, 0), N = (2, 1, 0)
    # deficits 3 - 2, -1, 0; then 4 - 3, -1, 0: operator 2 has no share, and gets nothing
    assert selector.select(4).tolist() == [0, 0, 0, 0]


def test_a_batch_counts_as_so_many_applications_and_is_saved(tmp_path: Path) -> None:
    selector = PORTFOLIO.selector(3, seed=1, bests=[5.0, np.inf, 9.0])
    selector.update([0] * 5 + [1], [9.0] * 6, [9.0] * 6)
    selector.save(tmp_path / "selector")
    again = Selector.load(tmp_path / "selector")
    # p = (4, 1, 1) / 6, N = (5, 1, 0): deficits -1, 0, 1
    assert again.select(1).tolist() == selector.select(1).tolist() == [2]
    assert_equal_states(again.state(), selector.state())


@pytest.mark.parametrize("bests", [[1.0], [1.0, 2.0, 3.0, 4.0], "abc", 7.0, [[1.0, 2.0, 3.0]]])
def test_best_values_that_do_not_fit_the_operators_are_refused(bests: object) -> None:
    with raises(InvalidParameter, name="bests"):
        PORTFOLIO.selector(3, bests=bests)


def test_best_values_mean_nothing_to_other_rewards() -> None:
    one, other = Method().selector(2, seed=1, bests=[1.0, 2.0]), Method().selector(2, seed=1)
    assert_equal_states(one.state(), other.state())


def test_in_the_scope_of_a_generation_all_offspring_have_one_operator() -> None:
    """Each operator has a generation first; then the choice follows the probabilities."""
    method = uaos.Method(reward="success_sum", scope="generation")
    selector = method.selector(3, seed=4)
    seen = []
    for _ in range(60):
        operators = selector.select(5)
        assert len(set(operators.tolist())) == 1
        seen.append(int(operators[0]))
        # Only operator 1 ever improves.
        selector.update(operators, [2.0] * 5, [1.0 if op == 1 else 3.0 for op in operators])
    assert set(seen[:3]) == {0, 1, 2}
    assert seen.count(1) > 20 + 10


def test_a_scope_is_kept_by_files_and_changes() -> None:
    method = uaos.method("SaDE", scope="generation")
    assert uaos.Method.from_toml(method.to_toml()) == method != uaos.method("SaDE")
    assert method.for_operators(4).scope == "generation"
    assert "scope" not in uaos.method("SaDE").to_dict()
    with raises(UnknownName, name="day"):
        uaos.Method(scope="day")
