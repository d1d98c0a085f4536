"""The recipes that won competitions: they run, resume exactly, and say where they come from."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import uaos
from uaos.optimizers.base import Optimizer
from uaos.optimizers.configuration import Configuration
from uaos.optimizers.winners import recipes_by_name

NAMES = tuple(recipes_by_name())


def bowl(X):
    """A sphere with its minimum 0 at 0.3, and a failure in a corner."""
    values = ((X - 0.3) ** 2).sum(axis=1)
    return np.where(X[:, 0] > 4.5, np.nan, values)


@pytest.mark.parametrize("name", NAMES)
def test_a_recipe_finds_the_minimum_of_a_bowl(name):
    result = uaos.minimize(
        bowl, [(-5, 5)] * 5, method=name, budget=30_000, target=1e-6, seed=3, vectorized=True
    )
    assert result.fun <= 1e-6


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dimension", [1, 2, 7])
def test_a_recipe_spends_its_budget_in_any_dimension(name, dimension):
    for budget in (7, 500):
        result = uaos.minimize(
            bowl, [(-5, 5)] * dimension, method=name, budget=budget, seed=1, vectorized=True
        )
        assert result.nfev == budget


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("asked", [False, True], ids=["told", "asked"])
def test_a_recipe_continues_exactly_from_a_file(name, asked, tmp_path):
    """Saved in the middle of a run, after `tell` or between `ask` and `tell`."""

    def run(optimizer, until):
        while optimizer.evaluations < until and not optimizer.done:
            optimizer.tell(bowl(optimizer.ask()))
        return optimizer

    def start():
        return uaos.configuration(name).build([(-5, 5)] * 4, seed=5, budget=4000)

    whole, part = run(start(), 4000), run(start(), 2000)
    if asked:
        part.ask()
    part.save(tmp_path / "run.npz")
    again = run(Optimizer.load(tmp_path / "run.npz"), 4000)
    assert again.best_x.tolist() == whole.best_x.tolist()
    assert again.history.best.tolist() == whole.history.best.tolist()
    assert again.rng.random() == whole.rng.random()


@pytest.mark.parametrize("name", NAMES)
def test_a_recipe_survives_being_written_to_toml(name):
    entry = uaos.configuration(name)
    again = Configuration.from_toml(entry.to_toml())
    assert again.settings == entry.settings
    assert again.method == entry.method


@pytest.mark.parametrize("recipe", recipes_by_name().values(), ids=NAMES)
def test_a_recipe_names_its_publication_and_the_source_of_its_constants(recipe):
    assert recipe.configuration.reference
    assert f"Constants: {recipe.source}" in recipe.configuration.note
    assert all(deviation in recipe.configuration.note for deviation in recipe.deviations)


def test_the_page_of_winners_has_the_tables_of_the_catalogue():
    """Otherwise: python docs/make_winners.py"""
    path = Path(__file__).parents[3] / "docs" / "make_winners.py"
    spec = importlib.util.spec_from_file_location("made", path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    page = made.PAGE.read_text("utf-8")
    assert made.filled(page) == page
    assert {row.name for row in made.rows()} >= {"SaDE", "F-AUC-MAB", "L-SHADE", *NAMES}
