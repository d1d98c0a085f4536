"""EA4eig: the four algorithms, how they take turns, and what each adds to a generation."""

import math
from statistics import NormalDist

import numpy as np
import pytest
from raising import raises

import uaos
from uaos.errors import InvalidParameter
from uaos.optimizers.de import layout
from uaos.optimizers.winners import ea4eig, shared_cma

BOX = [(-1.0, 3.0)] * 3


def built(**settings):
    return uaos.configuration("EA4eig").build(BOX, seed=2, **settings)


def told(algorithm, X, **settings):
    """A run whose parents are X, the first being the best, in a generation of an algorithm."""
    run = built(x0=X, popsize=len(X), **settings)
    run.ask()
    run.tell(np.arange(float(len(X))))
    run.offspring.draw(np.full(len(X), algorithm), run.rng)
    return run


# CoBiDE


def test_bimodal_values_are_quantiles_of_two_cauchy_distributions():
    n = 200_000
    u = (np.arange(n) + 0.5) / n
    F, CR = kept = np.empty((2, n))
    locations = np.array(ea4eig.LOCATIONS)  # 0.65 and 1 for F, 0.1 and 0.95 for CR
    ea4eig.redraw(kept, np.arange(n), locations, np.stack([u, u], axis=1))

    def above(x, loc):  # 1 - P(x) of a Cauchy distribution of scale 0.1
        return 0.5 - math.atan((x - loc) / 0.1) / math.pi

    # F is redrawn while negative: P(F > 0.8) = ΣP(> 0.8) / ΣP(> 0), 1 takes all above it.
    expected = (above(0.8, 0.65) + above(0.8, 1.0)) / (above(0, 0.65) + above(0, 1.0))
    assert np.mean(F > 0.8) == pytest.approx(expected, abs=1e-4)
    assert F.min() >= 0
    assert F.max() == 1
    # CR is cut: half of P(CR < 0) of either location is at 0.
    assert np.mean(CR == 0) == pytest.approx(1 - above(0, 0.1) / 2 - above(0, 0.95) / 2, abs=1e-4)


def test_an_individual_draws_its_values_anew_when_its_offspring_fail():
    X = np.random.default_rng(1).uniform(0, 2, (10, 3))
    run = told(ea4eig.COBIDE, X)
    before = run.kept.copy()
    run._draw_rates()
    assert run.offspring.F.tolist() == before[0].tolist()
    assert run.offspring.CR.tolist() == before[1].tolist()
    run._learn_rates(np.zeros(10), np.array([-1.0, 0.0, *[1.0] * 7, math.nan]))
    same = (run.kept == before).all(axis=0)
    assert same.tolist() == [True, True] + [False] * 8


# IDE


def test_f_and_cr_of_a_rank_are_normal_values_redrawn_until_in_the_unit_interval():
    n, NP = 200_000, 10
    u = np.arange(n) / n  # 0 included
    for rank in (0, 4, 9):
        mean = (rank + 1) / NP
        values = np.array([ea4eig.within_unit(rank, ea4eig.parts_within(NP), v) for v in u])
        normal = NormalDist(mean, 0.1)
        inside = normal.cdf(1) - normal.cdf(0)
        assert (values > 0).all()
        assert (values <= 1).all()
        for x in (mean - 0.08, mean - 0.02):
            expected = (normal.cdf(x) - normal.cdf(0)) / inside
            assert np.mean(values < x) == pytest.approx(expected, abs=1e-4)


def test_individual_dependent_mutants_in_the_first_stage_start_from_the_parent():
    """Of the best individual F is near 1/NP, so that its mutant is near it; of the last near 1."""
    X = np.random.default_rng(5).uniform(0, 2, (50, 3))
    run = told(ea4eig.IDE, X)
    run._axes = np.eye(3)  # so that mutants may leave the box
    mutants = run._mutate(run._choose_partners())
    steps = np.linalg.norm(mutants - X, axis=1)
    assert np.median(steps[:10]) < np.median(steps[-10:]) / 3


def test_individual_dependent_crossover_follows_the_rank_and_the_box():
    X = np.random.default_rng(5).uniform(-1, 3, (200, 3))
    run = told(ea4eig.IDE, X)
    mutants, CR = run._mutate(run._choose_partners()), run.offspring.CR
    assert ((mutants >= run.low) & (mutants <= run.high)).all()
    assert (CR > 0).all()
    assert (CR <= 1).all()
    assert CR[:20].mean() < 0.2
    assert CR[-20:].mean() > 0.85


def test_the_second_stage_begins_after_half_of_the_generations_or_a_tenth_without_success():
    lucky, unlucky = (built(popsize=10, budget=1000) for _ in range(2))  # plans 100 generations
    for g in range(60):
        lucky._learn_stage(True)
        unlucky._learn_stage(False)
        assert (lucky.ide_generation > lucky.ide_switch) == (g + 1 > 50)
        assert (unlucky.ide_generation > unlucky.ide_switch) == (g + 1 >= 10)


def test_ide_needs_five_parents():
    with raises(InvalidParameter, name="popsize", value=4):
        built(popsize=4)


# CMA-ES


def test_cma_es_starts_from_the_better_half_of_the_population_with_half_the_box():
    X = np.random.default_rng(3).uniform(0, 2, (2000, 3))
    run = told(ea4eig.CMA_ES, X)
    points = run._sample(run.offspring.operators)
    raw = math.log(1000.5) - np.log(np.arange(1, 1001))
    assert run.cma.mean * 4 - 1 == pytest.approx((raw / raw.sum()) @ X[:1000])
    assert run.cma.sigma == 0.5
    assert ((points >= -1) & (points <= 3)).all()


def test_samples_outside_the_box_go_halfway_from_earlier_ones_to_the_bound():
    points, earlier = np.array([[-3.0, 5.0, 1.0]]), np.array([[1.0, 2.0, 0.0]])
    shared_cma.bring_halfway(points, earlier, np.full(3, -1.0), np.full(3, 3.0))
    assert points.tolist() == [[0.0, 2.5, 1.0]]  # (1 - 1)/2, (2 + 3)/2, inside


def test_cma_es_learns_from_a_whole_generation_of_its_own():
    X = np.random.default_rng(3).uniform(0, 2, (20, 3))
    run = told(ea4eig.CMA_ES, X)
    run._told = run._sample(run.offspring.operators)
    run._learn_rates(np.zeros(19), np.arange(19.0))
    assert run.cma.sigma == 0.5
    run._learn_rates(np.zeros(20), np.arange(20.0))
    assert run.cma.sigma != 0.5


def test_a_step_of_the_distribution_worked_by_hand():
    """One dimension, NP = 4: μ = 2, w = (ln 2.5, ln 1.25) / their sum, C from 1."""
    cma = shared_cma.SharedCMA(np.zeros(1), np.ones(1), 4, np.zeros((4, 1)))
    w = np.log([2.5, 1.25]) / np.log([2.5, 1.25]).sum()
    mu_eff = 1 / (w**2).sum()
    cma.mean = np.array([0.5])
    cma.learn(np.array([[0.5], [0.25], [0.0], [0.75]]), np.array([3.0, 1.0, 0.0, 2.0]), 4)
    steps = np.array([-1.0, -0.5])  # of the best two, 0 and 0.25, in units of sigma = 0.5
    step = w @ steps
    assert cma.mean == pytest.approx([0.5 + 0.5 * step])
    c_s, c_c = cma.c_sigma, cma.c_c
    path = np.sqrt(c_c * (2 - c_c) * mu_eff) * step  # h = 1: the path is short
    expected = 1 - cma.c_1 - cma.c_mu + cma.c_1 * path**2 + cma.c_mu * (w @ steps**2)
    assert cma.C[0, 0] == pytest.approx(expected)
    length = np.sqrt(c_s * (2 - c_s) * mu_eff) * abs(step)
    chi = 1 - 1 / 4 + 1 / 21
    assert cma.sigma == pytest.approx(0.5 * np.exp(c_s / cma.d_sigma * (length / chi - 1)))


def test_x_arch_is_neither_the_parent_nor_x_r1():
    partners, uniforms = np.zeros((5, layout.PARTNERS), np.int64), np.zeros((5, 12))
    drawn = set()
    for u in np.linspace(0, 1, 2000, endpoint=False):
        uniforms[:, layout.ARCHIVE] = u
        # parents 0 .. 4, two archived from row 9 on; offspring 3 has x_r1 = x_arch = 1
        partners[:, layout.PLUS_2] = partners[:, layout.MINUS_2] = 0
        partners[3, [layout.PLUS_2, layout.MINUS_2]] = 1
        ea4eig.avoid_first_partner(5, 9, 2, uniforms, partners)
        drawn.add(int(partners[3, layout.MINUS_2]))
    assert drawn == {0, 2, 4, 9, 10}


def test_each_value_in_turn_competes_with_the_worst_that_is_left():
    fitness, values = np.array([3.0, 9.0, 5.0]), np.array([4.0, 7.0, math.nan, 1.0])
    places, compared = np.empty(4, np.int64), np.empty(4)
    ea4eig.challenge_worst(fitness, values, places, compared)
    # 4 replaces 9; 7 is worse than 5, as is NaN; 1 replaces 5
    assert places.tolist() == [1, 2, 2, 2]
    assert compared.tolist() == [9, 5, 5, 5]
    assert fitness.tolist() == [3, 4, 1]


# Crossover


def crossed(CR, cross, j_rand):
    uniforms = np.zeros((1, layout.CROSS + 4))
    uniforms[0, layout.CROSS :], uniforms[0, layout.J_RAND] = cross, (j_rand + 0.5) / 4
    child = np.empty((1, 4))
    mutant = np.array([[1.0, 2.0, 3.0, 4.0]])
    ea4eig.cross_where_taken(np.zeros((1, 4)), mutant, np.array([CR]), uniforms, child)
    return child[0].tolist()


def test_a_coordinate_is_forced_only_where_crossover_takes_none():
    assert crossed(0.5, [0.1, 0.9, 0.9, 0.4], j_rand=2) == [1, 0, 0, 4]
    assert crossed(0.0, [0.1, 0.9, 0.9, 0.4], j_rand=2) == [0, 0, 3, 0]


def test_crossover_along_eigenvectors_worked_by_hand():
    run = told(ea4eig.COBIDE, np.zeros((5, 3)))
    # Axes (e1 + e2)/√2, (e1 - e2)/√2, e3; only the first is taken.
    h = math.sqrt(0.5)
    run._axes = np.array([[h, h, 0], [h, -h, 0], [0, 0, 1.0]])
    run.kept[1] = 0.5
    run.offspring.uniforms[:, layout.CROSS :] = 0.1, 0.9, 0.9
    # (1 + 2)/√2 along (1, 1)/√2 is 1.5 in both.
    assert run._cross(np.tile([1.0, 2.0, 3.0], (5, 1))) == pytest.approx(
        np.tile([1.5, 1.5, 0], (5, 1))
    )


def test_eigenvectors_are_the_axes_of_a_diagonal_ridge():
    t = np.linspace(-1, 1, 9)
    axes = ea4eig.eigenvectors(np.stack([t, t], axis=1))
    assert np.abs(axes[1]) == pytest.approx([math.sqrt(0.5)] * 2)  # the longest is the last
    assert ea4eig.eigenvectors(np.array([[1e300, 0.0], [-1e300, 0.0]])) is None


# The whole


def test_all_offspring_of_a_generation_have_one_algorithm_and_jso_alone_fills_the_archive():
    run = uaos.configuration("EA4eig").build([(-5, 5)] * 4, seed=2, budget=6000)
    names, seen = run.operators, set()
    while not run.done:
        X, archived = run.ask(), run.population.archived
        run.tell((X**2).sum(axis=1))
        if run.generation:
            (algorithm,) = set(run.offspring.operators.tolist())
            seen.add(names[algorithm])
            if names[algorithm] != "jSO":
                assert run.population.archived <= archived
    assert seen == {"CoBiDE", "IDE", "CMA-ES", "jSO"}
    assert run.population.NP == 10
    assert run.history.counts.sum() == 6000 - 100


def test_ea4eig_runs_under_constraints():
    result = uaos.minimize(
        lambda x: float(x @ x), [(-5, 5)] * 3, method="EA4eig", budget=4000, seed=1,
        constraints={"type": "ineq", "fun": lambda x: x[0] - 1.0},
    )  # fmt: skip
    assert result.fun == pytest.approx(1.0, abs=1e-2)


def test_a_run_saved_between_ask_and_tell_in_every_generation_continues_exactly(tmp_path):
    """Until each algorithm has had its turn."""
    run, other = (uaos.configuration("EA4eig").build(BOX, seed=4, budget=1500) for _ in "12")
    while not run.done:
        run.tell((run.ask() ** 2).sum(axis=1))
        other.ask()
        other.save(tmp_path / "run.npz")
        other = ea4eig.EA4eig.load(tmp_path / "run.npz")
        other.tell((other.ask() ** 2).sum(axis=1))
    assert (run.history.counts.sum(axis=0) > 0).all()
    assert run.result.x.tolist() == other.result.x.tolist()
    assert run.history.best.tolist() == other.history.best.tolist()


def test_halfway_to_a_bound_does_not_overflow():
    points, wall = np.array([[-np.inf], [np.inf]]), np.array([1.5e308])
    shared_cma.bring_halfway(points, np.array([[-1.2e308], [1.3e308]]), -wall, wall)
    assert points.ravel() == pytest.approx([-1.35e308, 1.4e308])
