"""Models that make mutants, values that individuals keep, and algorithms that take turns."""

import itertools
import math
from statistics import NormalDist

import numpy as np
import pytest
from raising import raises

import uaos
from uaos.errors import InvalidParameter
from uaos.optimizers.de import layout, models, variation
from uaos.optimizers.de.models import IndividualDependent, SampleModel, Tournament
from uaos.optimizers.de.operators import Operator
from uaos.optimizers.de.optimizer import DifferentialEvolution
from uaos.optimizers.de.population import Batch, Population, against_worst
from uaos.optimizers.de.rules import BimodalCauchy, SuccessHistory, redraw
from uaos.optimizers.de.settings import Settings
from uaos.optimizers.de.strategies import STRATEGIES

LOW, HIGH = np.full(3, -1.0), np.full(3, 3.0)


def made(kind, X, generations, order=None, *, seed=1):
    """A model of parents X, by default the best first."""
    population = Population(X, LOW, HIGH, Settings(), archives=False)
    if order is not None:
        population.order = order
    return kind(population, np.random.default_rng(seed), generations)


def proposed(model, n, *, F=0.5, rotated=False):
    """The mutants of the first n parents, and their CR, NaN where the model leaves it open."""
    batch, samples = Batch(0), np.empty((n, 3))
    batch.parents, batch.F, batch.CR = np.arange(n), np.full(n, F), np.full(n, math.nan)
    batch.uniforms = model.rng.random((n, layout.CROSS + 3))
    model.propose(batch, np.arange(n), rotated, samples)
    return samples, batch.CR


# Values that individuals keep


def test_bimodal_values_are_quantiles_of_two_cauchy_distributions():
    n, rules = 200_000, (BimodalCauchy(0.65, 1.0, 0.1), BimodalCauchy(0.1, 0.95, 0.1))
    numbers = [rule.numbers_of(role) for rule, role in zip(rules, ("F", "CR"), strict=True)]
    u = (np.arange(n) + 0.5) / n
    F, CR = rates = np.empty((2, n))
    places, nobody = np.arange(n), np.zeros(n, bool)
    redraw(
        rates, np.arange(2), np.array(numbers), np.arange(2), np.stack([u, u], axis=1),
        np.array([False, True]), np.ones(n, int), places, nobody,
    )  # fmt: skip

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
    F, CR = BimodalCauchy(), BimodalCauchy(0.1, 0.95)
    run = DifferentialEvolution(
        [(-5, 5)] * 3, method="DE-uniform", operators=[Operator("rand/1", F, CR)], popsize=10,
        seed=1,
    )  # fmt: skip
    run.tell(np.zeros(len(run.ask())))
    before = run.variation.rates.copy()
    run.ask()
    assert run.variation.batch.F.tolist() == before[0].tolist()
    assert run.variation.batch.CR.tolist() == before[1].tolist()
    run.tell([-1.0, 0.0, *[1.0] * 7, math.nan])
    same = (run.variation.rates == before).all(axis=0)
    assert same.tolist() == [True, True] + [False] * 8


def test_eigenvector_crossover_with_kept_values_needs_an_operator_that_keeps_some():
    with raises(InvalidParameter, name="eigen_CR", value="kept"):
        Settings(("rand/1",), eigen=0.4, eigen_CR="kept")


def test_a_coordinate_is_forced_only_where_crossover_takes_none():
    """With CR = 0 each offspring differs in one coordinate, with CR = 1 in all."""
    for CR, changed in ((0.0, 1), (1.0, 4)):
        settings = Settings(("rand/1",), F=0.5, CR=CR, NP=20, j_rand="if none")
        run = uaos.Configuration("forced", settings=settings).build([(-5, 5)] * 4, seed=1)
        X = run.ask()
        run.tell((X**2).sum(axis=1))
        assert ((run.ask() != X).sum(axis=1) == changed).all()


def test_forced_coordinates_leave_the_share_of_taken_ones_at_the_crossover_rate():
    """P(taken) = CR + (1 - CR)^D / D, and not CR + (1 - CR) / D."""
    settings = Settings(("rand/1",), F=0.5, CR=0.3, NP=4000, j_rand="if none")
    run = uaos.Configuration("forced", settings=settings).build([(-5, 5)] * 4, seed=1)
    X = run.ask()
    run.tell((X**2).sum(axis=1))
    assert (run.ask() != X).mean() == pytest.approx(0.3 + 0.7**4 / 4, abs=0.01)


def test_between_two_stages_of_a_run_no_rule_or_strategy_changes():
    """What changes over a run is set at the end of each stage only."""
    rule = SuccessHistory(phases="jSO")
    for start, end in itertools.pairwise((0.0, *variation._STAGES, 1.5)):
        within = np.linspace(start, end, 50)[1:-1].tolist()
        assert len({rule.limits(t) for t in within}) == 1
        assert not any(start < s.other_until < end for s in STRATEGIES.values())


# Replacing the worst


def test_each_value_in_turn_competes_with_the_worst_that_is_left():
    fitness, values = np.array([3.0, 9.0, 5.0]), np.array([4.0, 7.0, math.nan, 1.0])
    places, compared = np.empty(4, np.int64), np.empty(4)
    against_worst(fitness, values, places, compared)
    # 4 replaces 9; 7 is worse than 5, as is NaN; 1 replaces 5
    assert places.tolist() == [1, -1, -1, 2]
    assert compared.tolist() == [9, 5, 5, 5]
    assert fitness.tolist() == [3, 4, 1]


# Models


def test_cma_es_on_a_shared_population_starts_from_its_better_half_with_half_the_box():
    rng = np.random.default_rng(3)
    X = rng.uniform(0, 2, (2000, 3))
    order = np.argsort((X**2).sum(axis=1))
    model = made(SampleModel, X, 50, order)
    points, CR = proposed(model, 2000)
    assert np.isnan(CR).all()
    raw = math.log(1000.5) - np.log(np.arange(1, 1001))
    mean = (raw / raw.sum()) @ X[order[:1000]]
    drawn = np.empty((2, 3))
    model.distribution.sample(np.array([[0.0] * 3, [1.0] * 3]), np.arange(2), drawn)
    assert drawn[0] == pytest.approx(mean)
    assert drawn[1] == pytest.approx(mean + 2.0)
    # What falls outside is halfway from the bound to the member before, in [0, 2].
    assert np.isin(points, [(X + LOW) / 2, (X + HIGH) / 2]).any()
    assert ((points >= LOW) & (points <= HIGH)).all()


def test_cma_es_learns_from_a_whole_generation_of_its_own():
    X = np.random.default_rng(3).uniform(0, 2, (20, 3))
    model = made(SampleModel, X, 50)
    points, _ = proposed(model, 20)
    before = model.state()
    model.learn(points[:19], np.arange(19.0), np.ones(19, bool), 100)
    assert model.state()["sigma"] == before["sigma"]
    model.learn(points, np.arange(20.0), np.ones(20, bool), 100)
    assert model.state()["sigma"] != before["sigma"]
    assert model.before.tolist() == points.tolist()


def test_individual_dependent_mutants_in_the_first_stage_start_from_the_parent():
    """Of the best individual F is near 1/NP, so that its mutant is near it; of the last near 1."""
    X = np.random.default_rng(5).uniform(0, 2, (50, 3))
    mutants, CR = proposed(made(IndividualDependent, X, 100), 50, rotated=True)
    assert np.isnan(CR).all()  # crossover by eigenvectors has its own
    steps = np.linalg.norm(mutants - X, axis=1)
    assert np.median(steps[:10]) < np.median(steps[-10:]) / 3


def test_individual_dependent_crossover_follows_the_rank_and_the_box():
    X = np.random.default_rng(5).uniform(-1, 3, (200, 3))
    order = np.arange(200)[::-1].copy()
    mutants, CR = proposed(made(IndividualDependent, X, 100, order), 200)
    assert ((mutants >= LOW) & (mutants <= HIGH)).all()
    assert (CR >= 0).all()
    assert (CR <= 1).all()
    assert CR[:20].mean() > 0.85  # the first parents are the last in rank
    assert CR[-20:].mean() < 0.2


def test_f_and_cr_of_a_rank_are_normal_values_redrawn_until_in_the_unit_interval():
    n, NP = 200_000, 10
    u = np.arange(n) / n  # 0 included
    for rank in (0, 4, 9):
        mean = (rank + 1) / NP
        values = np.array([models.within_unit(rank, models._parts_within(NP), v) for v in u])
        normal = NormalDist(mean, 0.1)
        inside = normal.cdf(1) - normal.cdf(0)
        assert (values > 0).all()
        assert (values <= 1).all()
        for x in (mean - 0.08, mean - 0.02):
            expected = (normal.cdf(x) - normal.cdf(0)) / inside
            assert np.mean(values < x) == pytest.approx(expected, abs=1e-4)


def test_the_second_stage_begins_after_half_of_the_generations_or_a_tenth_without_success():
    lucky, unlucky = (made(IndividualDependent, np.zeros((10, 3)), 100) for _ in range(2))
    for g in range(60):
        for model, survives in ((lucky, True), (unlucky, False)):
            model.learn(np.zeros((1, 3)), np.zeros(1), np.array([survives]), 100)
        assert (lucky.generation > lucky.switch) == (g + 1 > 50)
        assert (unlucky.generation > unlucky.switch) == (g + 1 >= 10)


# EA4eig


def test_all_offspring_of_a_generation_have_one_algorithm_and_jso_alone_fills_the_archive():
    run = uaos.configuration("EA4eig").build([(-5, 5)] * 4, seed=2, budget=6000)
    names, seen = run.operators, set()
    while not run.done:
        X, archived = run.ask(), run.population.counters[0]
        run.tell((X**2).sum(axis=1))
        if run.generation:
            (one,) = set(run.variation.batch.operators.tolist())
            seen.add(names[one])
            if names[one] != "jSO":
                assert run.population.counters[0] <= archived
    assert seen == {"CoBiDE", "IDE", "CMA-ES", "jSO"}
    assert run.population.NP == 10
    assert run.history.counts.sum() == 6000 - 100


def test_ea4eig_runs_under_constraints():
    result = uaos.minimize(
        lambda x: float(x @ x), [(-5, 5)] * 3, method="EA4eig", budget=4000, seed=1,
        constraints={"type": "ineq", "fun": lambda x: x[0] - 1.0},
    )  # fmt: skip
    assert result.fun == pytest.approx(1.0, abs=1e-2)


def test_a_tournament_takes_three_different_parents_the_better_of_two_each():
    X = np.arange(60.0).reshape(20, 3)  # the first is the best
    n = 40_000
    model = made(Tournament, X, 10, seed=4)
    # With F = 0 the mutant is x_t1; the better of two is in the first half with chance 3/4.
    first, CR = proposed(model, n, F=0.0)
    assert np.isnan(CR).all()
    assert np.mean(first[:, 0] < 30) == pytest.approx(0.75, abs=0.01)
    second, _ = proposed(model, n, F=1.0)
    assert (second != first).all(axis=1).mean() > 0.5
    alone, _ = proposed(made(Tournament, X[:3], 10, seed=4), n, F=1e6)
    # x_t1 + F (x_t2 - x_t3): the difference of two of three parents is ±3 or ±6, never 0.
    assert np.unique(np.abs(np.round((alone[:, 0]) / 1e6))).tolist() == [3, 6]


# The newest


def test_a_generation_of_the_newest_may_have_fewer_offspring_than_parents():
    settings = uaos.configuration("L-SRTDE").settings
    assert settings.offspring == 0.5
    run = uaos.configuration("L-SRTDE").build([(-5, 5)] * 3, seed=1, budget=300)
    batches = []
    while not run.done:
        X = run.ask()
        batches.append((len(X), run.population.NP))
        run.tell((X**2).sum(axis=1))
    assert batches[0] == (60, 60)
    assert all(n == max(1, round(NP / 2)) for n, NP in batches[1:-1])
    assert sum(n for n, _ in batches) == 300


def test_each_parent_has_an_offspring_unless_the_newest_survive():
    with raises(InvalidParameter, name="offspring", value=0.5):
        Settings(offspring=0.5)


def test_jso_has_a_population_in_one_dimension_too():
    """25 √D ln D is 0 there; with ln 2 it is 17.3."""
    settings = uaos.configuration("jSO").settings
    assert settings.population_size(1, None) == 17
    assert settings.population_size(2, None) == 25  # 25 · 1.414 · 0.693 = 24.5
