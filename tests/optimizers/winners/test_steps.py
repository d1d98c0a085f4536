"""The steps that jSO, L-SRTDE and the differential evolution of MOS replace, each on its own."""

import math

import numpy as np
import pytest
from raising import raises

import uaos
from uaos.errors import InvalidParameter
from uaos.optimizers.de import layout
from uaos.optimizers.winners import jso, lsrtde, mos


@pytest.mark.parametrize("name", ["jSO", "L-SRTDE", "EA4eig"])
def test_a_winner_has_operators_of_its_own(name):
    with raises(InvalidParameter, name="operators"):
        uaos.minimize(sum, [(-1, 1)] * 2, method=name, operators=["rand/1"])
    with raises(InvalidParameter, name="F", value=0.5):
        uaos.configuration(name).build([(-1, 1)] * 2, F=0.5)
    with raises(InvalidParameter, name="method", value=name):
        uaos.DifferentialEvolution([(-1, 1)] * 2, method=name)


# jSO


def test_jso_has_a_population_in_one_dimension_too():
    """25 √D ln D is 0 there; with ln 2 it is 17.3."""
    settings = uaos.configuration("jSO").settings
    assert settings.population_size(1, None) == 17
    assert settings.population_size(2, None) == 25  # 25 · 1.414 · 0.693 = 24.5


def test_limits_and_weights_change_over_the_run():
    for progress, F, CR in ((0.0, 0.7, 0.7), (0.25, 0.7, 0.6), (0.5, 0.7, 0.0), (0.6, 1.0, 0.0)):
        largest, smallest = np.ones(1), np.zeros(1)
        jso.limit_rates(progress, largest, smallest)
        assert (largest[0], smallest[0]) == (F, CR)
    assert [jso.weight(t) for t in (0.0, 0.2, 0.4, 1.0)] == [0.7, 0.8, 1.2, 1.2]
    # 0.25 of 100 parents at the start, 0.125 of them (12.5, to even) at the end.
    assert [jso.leader_count(0.25, t, 100) for t in (0.0, 1.0, 2.0)] == [25, 12, 12]


def test_the_weighted_mutant_worked_by_hand():
    rows = np.array([[1.0], [5.0], [2.0], [8.0]])
    partners, mutants = np.zeros((1, layout.PARTNERS), np.int64), np.empty((1, 1))
    partners[0, [layout.PLUS_1, layout.PLUS_2, layout.MINUS_2]] = 1, 2, 3
    jso.mutate_weighted(rows, partners, 0.7, np.array([0.5]), mutants)
    assert mutants[0, 0] == pytest.approx(1 + 0.5 * (0.7 * 4 - 6))  # 1 + .35·(5 - 1) + .5·(2 - 8)


# L-SRTDE


def test_a_generation_of_the_newest_has_half_as_many_offspring_as_parents():
    run = uaos.configuration("L-SRTDE").build([(-5, 5)] * 3, seed=1, budget=300)
    batches = []
    while not run.done:
        X = run.ask()
        batches.append((len(X), run.population.NP))
        run.tell((X**2).sum(axis=1))
    assert batches[0] == (60, 60)
    assert all(n == max(1, round(NP / 2)) for n, NP in batches[1:-1])
    assert sum(n for n, _ in batches) == 300


def test_the_newest_replace_the_oldest_and_elites_are_sorted():
    rows, fitness = np.arange(3.0)[:, None], np.array([5.0, 6.0, 7.0])
    successful = np.zeros(3, bool)
    place = lsrtde.replace_oldest(
        rows, fitness, np.array([0, 1, 2]), 2, np.array([[10.0], [11.0], [12.0]]),
        np.array([4.0, 9.0, 6.5]), successful,
    )  # fmt: skip
    # 4 <= 5 goes to place 2; 9 fails; the third's parent is 4 by then, so 6.5 fails.
    assert successful.tolist() == [True, False, False]
    assert (rows[:, 0].tolist(), fitness.tolist(), place) == ([0, 1, 10], [5, 6, 4], 0)


def test_elites_are_the_best_of_both_and_of_equals_the_older():
    rows = np.array([[1.0], [3.0], [5.0]])
    merged = np.empty(3)
    lsrtde.merge_elites(
        rows, 0, np.array([1.0, 3.0, 5.0]), np.array([[30.0], [20.0], [90.0]]),
        np.array([3.0, 2.0, 9.0]), np.array([1, 0, 2]), merged,
    )  # fmt: skip
    assert merged.tolist() == [1, 2, 3]
    assert rows[:, 0].tolist() == [1, 20, 3]


def test_the_share_taken_counts_the_forced_coordinate():
    uniforms = np.zeros((1, layout.CROSS + 4))
    uniforms[0, layout.CROSS :] = 0.1, 0.9, 0.8, 0.7
    uniforms[0, layout.J_RAND] = 0.5  # coordinate 2
    CR = np.array([0.5])
    lsrtde.share_taken(CR, uniforms, 4)
    assert CR.tolist() == [0.5]  # the first and the forced one, of four


def test_lsrtde_takes_no_constraints_and_needs_elites():
    with raises(InvalidParameter, name="method"):
        uaos.minimize(
            sum, [(-1, 1)] * 2, method="L-SRTDE",
            constraints={"type": "ineq", "fun": lambda x: x[0]},
        )  # fmt: skip
    with raises(InvalidParameter, name="archive_size", value=0.1):
        uaos.configuration("L-SRTDE").build([(-1, 1)] * 2, archive_size=0.1)


# MOS


def test_a_tournament_takes_three_different_parents_the_better_of_two_each():
    n, rng = 40_000, np.random.default_rng(4)
    partners = np.zeros((n, layout.PARTNERS), np.int64)
    mos.choose_by_tournament(np.arange(20), rng.random((3, n)), partners)
    # The better of two is in the first half with chance 3/4.
    assert np.mean(partners[:, layout.BASE] < 10) == pytest.approx(0.75, abs=0.01)
    mos.choose_by_tournament(np.arange(3), rng.random((3, n)), partners)
    assert (np.sort(partners[:, :3], axis=1) == [0, 1, 2]).all()


def test_exponential_crossover_worked_by_hand():
    def child(CR, cross, start):
        uniforms = np.zeros((1, layout.CROSS + 4))
        uniforms[0, layout.CROSS :], uniforms[0, layout.J_RAND] = cross, (start + 0.5) / 4
        made = np.empty((1, 4))
        mutant = np.array([[1.0, 2.0, 3.0, 4.0]])
        mos.cross_exponentially(np.zeros((1, 4)), mutant, np.array([CR]), uniforms, made)
        return made[0].tolist()

    # From coordinate 2 on: 2, then .1 and .4 < .5 take 3 and 0, .9 ends it.
    assert child(0.5, [0, 0.1, 0.4, 0.9], 2) == [1, 0, 3, 4]
    assert child(1.0, [0, 0, 0, 0], 2) == [1, 2, 3, 4]
    assert child(0.0, [0, 0, 0, 0], 3) == [0, 0, 0, 4]
    assert math.isclose(sum(child(0.5, [0, 0.6, 0, 0], 1)), 2)
