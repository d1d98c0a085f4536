"""The examples run, and do what they say."""

import importlib.util
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples"


def run(name: str):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.main()


def test_an_oscillation_is_fitted_to_its_measurements() -> None:
    assert run("own_objective").x == pytest.approx([2.0, 0.3, 2.5], abs=0.05)


def test_an_own_pool_solves_rastrigin_and_uses_all_its_operators() -> None:
    result = run("own_pool")
    assert result.fun < 1e-8
    assert (result.history.counts.sum(axis=0) > 0).all()


def test_an_own_operator_competes_with_the_strategies() -> None:
    result = run("own_operator")
    assert result.fun < 1e-8
    assert result.history.operators[-1] == "gaussian around best"
    assert result.history.counts[:, -1].sum() > 1000


def test_an_own_reward_is_compared_with_a_published_one() -> None:
    medians = run("own_reward")
    assert all(spent < 50_000 for spent in medians.values())


def test_an_external_simulator_is_driven_by_ask_and_tell() -> None:
    result = run("ask_tell")
    assert (result.nfev, result.success) == (400, False)  # the budget is spent
    assert result.fun < 0.05


def test_a_genetic_algorithm_of_pymoo_learns_which_crossover_to_use() -> None:
    best, counts = run("pymoo_ga")
    assert best < 20
    assert counts["crossover"]["PCX"] < counts["crossover"]["SBX"]


def test_adaptive_operators_bring_nsga2_nearer_to_the_front() -> None:
    found = run("pymoo_nsga2")
    assert found["adaptive operators"] < found["pymoo's operators"]


def test_destroy_and_repair_operators_are_selected_for_a_knapsack() -> None:
    profit, counts = run("alns_knapsack")
    assert profit > 3500
    assert sum(counts.values()) == 1_000
    # Random items for the least worthy ones: what a good packing never needs.
    assert counts["destroy 1, repair 0"] < counts["destroy 1, repair 1"]


def test_deaps_own_loop_solves_onemax_with_adaptive_operators() -> None:
    ones, counts = run("deap_onemax")
    assert ones >= 190
    assert counts["mutate"]["mutFlipBit"] > counts["mutate"]["mutInversion"]


def test_every_example_is_tested_here() -> None:
    names = {path.stem for path in FOLDER.glob("*.py")}
    text = Path(__file__).read_text()
    assert all(f'run("{name}")' in text for name in names)
