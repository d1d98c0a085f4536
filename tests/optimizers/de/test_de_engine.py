"""The loop: budget, schedule, restart, settings, history, resume."""

import math

import numpy as np
import pytest
from de_stubs import engine, run, sphere
from raising import raises

from uaos.errors import InvalidFeedback, InvalidParameter, UnknownName
from uaos.history import History
from uaos.optimizers.base import RunFinished
from uaos.optimizers.de.operators import Operator
from uaos.optimizers.de.rules import Cauchy, Jade
from uaos.optimizers.de.settings import DifferentialEvolutionSettings, Linear, Stagnation


@pytest.mark.parametrize("budget", [1, 5, 19, 20, 21, 40, 59, 200])
def test_the_budget_is_exact_to_the_evaluation(budget):
    sizes = []
    one = engine(budget=budget)
    while not one.done:
        X = one.ask()
        sizes.append(len(X))
        one.tell(sphere(X))
    assert sum(sizes) == one.evaluations == budget
    assert sizes[:-1] == [20] * (len(sizes) - 1)
    with pytest.raises(RunFinished):
        one.ask()


def test_the_cut_generation_still_reaches_the_selector():
    one = run(engine(budget=47))
    assert [len(told[0]) for told in one.selector.told] == [20, 7]
    assert one.history.counts.sum(axis=1).tolist() == [20, 7]


def test_the_selector_is_told_of_the_parents_before_survival():
    one = engine(NP=4, pool=["rand/1", "best/1"])
    one.ask()
    one.tell([4.0, 3.0, 2.0, math.nan])
    one.ask()
    one.tell([1.0, math.nan, 5.0, 6.0])
    _, parents, offspring = one.selector.told[0]
    assert parents.tolist() == [4.0, 3.0, 2.0, math.inf]
    assert offspring[0] == 1.0
    assert math.isnan(offspring[1])


def test_the_selector_gets_the_budget_after_the_first_population():
    assert engine(budget=100).selector.budget == 80
    assert engine().selector.budget is None


def test_asking_twice_gives_the_same_points_and_writing_to_them_changes_nothing():
    one = engine()
    for _ in range(2):
        X = one.ask()
        kept = X.copy()
        X[:] = 99.0
        assert (one.ask() == kept).all()
        one.tell(sphere(kept))
    assert one.view.population.max() <= 5


def test_feedback_that_does_not_fit_changes_nothing():
    one, same = engine(), engine()
    for each in (one, same):
        each.tell(sphere(each.ask()))
        each.ask()
    with pytest.raises(InvalidFeedback):
        one.tell(np.zeros(19))
    with pytest.raises(InvalidFeedback):
        one.tell(["a"] * 20)
    for each in (one, same):
        each.tell(sphere(each.ask()))
    assert (one.ask() == same.ask()).all()


def test_telling_before_asking_is_an_error():
    with pytest.raises(InvalidFeedback):
        engine().tell([])


def test_given_points_come_first_and_the_rest_is_random():
    X = engine(x0=np.array([[1.0, 2.0, 3.0], [4.0, 4.0, 4.0]])).ask()
    assert X[:2].tolist() == [[1.0, 2.0, 3.0], [4.0, 4.0, 4.0]]
    assert (X[2:] == engine().ask()[2:]).all()
    assert engine(center=True).ask()[0].tolist() == [0.0, 0.0, 0.0]
    with raises(InvalidParameter, name="x0"):
        engine(x0=np.zeros((21, 3)))


def test_a_pool_of_one_needs_no_selector():
    one = run(engine(make=None, pool=["rand/1"], budget=60))
    assert one.probabilities.tolist() == [1.0]


def test_a_linear_schedule_falls_to_its_end_with_the_budget():
    one = run(engine(NP=40, budget=2000, NP_schedule=Linear(10)))
    sizes = one.history.population
    assert (np.diff(sizes) <= 0).all()
    # After e evaluations NP = round(40 - 30 e / 2000): half of the budget leaves 25.
    half = np.searchsorted(one.history.evaluations, 1000)
    assert sizes[half + 1] == pytest.approx(25, abs=1)
    assert sizes[-1] == pytest.approx(10, abs=1)
    assert len(one.view.population) == len(one.view.fitness) == one.population.NP


def test_the_worst_leave():
    one = engine(NP=10, budget=40, pool=["rand/1"], NP_schedule=Linear(4))
    one.ask()
    one.tell(np.arange(10.0)[::-1])
    one.ask()
    # 40 evaluations, 10 spent: 10 - 6/4 = 8.5, rounded to even.
    assert one.view.fitness.tolist() == [7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0]


def test_an_archive_shrinks_with_the_population():
    one = run(engine(NP=40, budget=1500, NP_schedule=Linear(5), archive_size=2.0, pool=["rand/1", "curr-to-pbest/1 (archived)"]))  # fmt: skip  # noqa: E501
    assert 0 < len(one.view.archive) <= 2 * one.population.NP


def test_sizes_in_dimensions_are_raised_to_what_the_pool_needs():
    settings = DifferentialEvolutionSettings(
        pool=["rand-to-best/2"], NP="2D", NP_schedule=Linear("1D")
    )
    assert settings.population_size(2, None) == 6
    assert settings.NP_schedule.end(2, settings.members) == 6
    assert settings.population_size(20, None) == 40
    with raises(InvalidParameter, name="NP_end of linear", value=5):
        engine(pool=["rand/2"], NP_schedule=Linear(5), budget=100)


def test_a_chosen_population_size_follows_dimension_and_budget():
    settings = DifferentialEvolutionSettings(NP=None)
    assert settings.population_size(20, None) == 200
    assert settings.population_size(1, None) == 20
    assert settings.population_size(20, 1000) == 50  # 20 generations
    assert settings.population_size(20, 10) == 6  # what rand/2 needs


def test_stagnation_restarts_everything_but_the_best():
    rule = Jade()
    one = engine(
        budget=2000, pool=[Operator("rand/1", rule, rule), "best/1"], restart=Stagnation(patience=5)
    )
    rng = np.random.default_rng(0)
    first = True
    selectors = {id(one.selector)}
    while not one.done:
        X = one.ask()
        assert len(X) == min(20, 2000 - one.evaluations)
        one.tell(rng.random(len(X)) + (0 if first else 1))
        first = False
        selectors.add(id(one.selector))
    assert one.restarts >= 10
    assert len(selectors) > 1
    assert one.best_fitness < 1  # found in the first population, kept ever since
    assert one.view.fitness.min() > 1
    assert one.history.restarts[-1] == one.restarts


def test_a_flat_population_restarts_at_once_and_may_grow():
    one = engine(budget=20 + 30 + 45 + 10, restart=Stagnation(growth=1.5))
    sizes = []
    while not one.done:
        X = one.ask()
        sizes.append(len(X))
        one.tell(np.full(len(X), 3.0))
    assert sizes == [20, 30, 45, 10]
    assert one.restarts == 3


def test_a_schedule_after_a_restart_runs_over_what_is_left():
    one = engine(NP=20, budget=1000, NP_schedule=Linear(6), restart=Stagnation())
    for _ in range(10):
        one.tell(sphere(one.ask()))
    one.tell(np.full(len(one.ask()), -1.0))  # all alike: restart
    spent = one.evaluations
    assert len(one.ask()) == 20
    one.tell(np.arange(20.0))
    # 20 of the 1000 - spent evaluations that were left.
    assert len(one.ask()) == round(20 - 14 * 20 / (1000 - spent))


def test_an_unlimited_run_with_a_schedule_goes_on_past_its_horizon():
    one = engine(D=1, NP=20, NP_schedule=Linear(6), restart=Stagnation(patience=10))
    one._horizon = 200
    for _ in range(100):
        one.tell(np.full(len(one.ask()), 1.0) + np.arange(len(one.ask())))
    assert one.restarts > 1


def test_failed_populations_do_not_end_a_run():
    one = engine(budget=100)
    while not one.done:
        one.tell(np.full(len(one.ask()), np.nan))
    assert one.best_x is None
    assert one.best_fitness == math.inf


# Settings


def test_settings_make_the_round_trip():
    settings = DifferentialEvolutionSettings(
        pool=[Operator("rand/1", Cauchy(0.5, 0.1), 0.9, name="a"), "best/1"], F=0.7, NP="18D",
        top_NP="U(2/NP,0.2)", boundary="reflect", center=True, best_rule="latest",
        archive="history", archive_size=2.6, NP_schedule=Linear("2D"), restart=Stagnation(100),
    )  # fmt: skip
    assert DifferentialEvolutionSettings.from_dict(settings.to_dict()) == settings
    assert hash(DifferentialEvolutionSettings.from_dict(settings.to_dict())) == hash(settings)
    assert DifferentialEvolutionSettings.from_dict(
        DifferentialEvolutionSettings(NP=None).to_dict()
    ) == DifferentialEvolutionSettings(NP=None)
    assert DifferentialEvolutionSettings.from_dict({}) == DifferentialEvolutionSettings()
    for name in ("center", "centre"):  # the latter in files and stores
        assert DifferentialEvolutionSettings.from_dict(
            {name: True}
        ) == DifferentialEvolutionSettings(center=True)
    assert (
        DifferentialEvolutionSettings(NP_schedule="constant", restart="none")
        == DifferentialEvolutionSettings()
    )


@pytest.mark.parametrize(
    ("given", "error", "name"),
    [
        ({"NP": 3}, InvalidParameter, "NP"),
        ({"NP": "many"}, InvalidParameter, "NP"),
        ({"top_NP": 0}, InvalidParameter, "top_NP"),
        ({"top_NP": 1.5}, InvalidParameter, "top_NP"),
        ({"top_NP": "U(0,1)"}, InvalidParameter, "top_NP"),
        ({"boundary": "wrap"}, InvalidParameter, "boundary"),
        ({"center": 1}, InvalidParameter, "center"),
        ({"archive_size": -1}, InvalidParameter, "archive_size"),
        ({"NP_schedule": "linaer"}, UnknownName, "linaer"),
        ({"restart": {"rule": "x"}}, UnknownName, "x"),
        ({"boundry": "clip"}, UnknownName, "boundry"),
        ({"pool": [{"strategie": "rand/1"}]}, UnknownName, "strategie"),
        ({"pool": [{"own": "mine"}]}, UnknownName, "mine"),
        ({"NP_schedule": {"rule": "linear", "NP_end": 1}}, InvalidParameter, "NP_end"),
    ],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(given, error, name):
    with raises(error, name=name):
        DifferentialEvolutionSettings.from_dict(given)


# History


def test_the_history_has_a_row_for_each_generation():
    one = run(engine(budget=100))
    history = one.history
    assert history.counts.shape == history.probabilities.shape == (4, 9)
    assert history.counts.sum(axis=1).tolist() == [20] * 4
    assert history.evaluations.tolist() == [40, 60, 80, 100]
    assert history.generation.tolist() == [1, 2, 3, 4]
    assert (np.diff(history.best) <= 0).all()
    assert len(history.operators) == 9


def test_a_long_history_is_thinned_and_loses_no_count():
    history = History(["a", "b"], ("population", "restarts", "repairs"), max_rows=8)
    for g in range(1, 21):
        p = np.array([g / 100, 1 - g / 100])
        history.record(
            counts=np.array([1, g]), probabilities=p, best=-g, evaluations=10 * g, iteration=g,
            population=5, restarts=g // 10, repairs=1,
        )  # fmt: skip
    # 9th row: pairs, 17th generation: fours.
    assert history.stride == 4
    assert history.generation.tolist() == [4, 8, 12, 16, 20]
    assert history.counts[:, 0].tolist() == [4] * 5
    assert history.counts[:, 1].tolist() == [10, 26, 42, 58, 74]
    assert history.repairs.tolist() == [4] * 5
    assert history.best.tolist() == [-4, -8, -12, -16, -20]
    assert history.restarts.tolist() == [0, 0, 1, 1, 2]
    history.record(
        counts=np.array([1, 0]), probabilities=p, best=-21, evaluations=210, iteration=21,
        population=5, restarts=2, repairs=0,
    )  # fmt: skip
    assert history.generation[-1] == 21
    assert History.from_state(history.state()).counts.tolist() == history.counts.tolist()


def test_the_history_as_a_table_has_columns_of_one_length():
    frame = run(engine(budget=100)).history.to_frame()
    assert {len(frame[name]) for name in frame} == {4}
    assert "count rand/1" in frame
    assert "probability best/2" in frame


@pytest.mark.parametrize("operators", [1, 9, 12])
def test_the_picture_has_two_panels_and_names_every_operator(operators, tmp_path):
    pool = [Operator("rand/1", name=f"op {k}") for k in range(operators)]
    one = run(engine(budget=200, pool=pool, restart=Stagnation(3)))
    figure = one.history.plot(tmp_path / "h.png", f_opt=0.0)
    assert len(figure.axes) == 2
    assert [t.get_text() for t in figure.legends[0].get_texts()] == list(one.pool.names)
    assert (tmp_path / "h.png").stat().st_size > 10_000
    assert History(["a"]).plot() is not None  # nothing to draw yet is no error


# Exact resume


@pytest.mark.parametrize("told", [0, 1, 2, 7, 60])
@pytest.mark.parametrize("between", [False, True])
def test_a_restored_engine_continues_bit_for_bit(told, between):
    rule = Jade()
    settings = {
        "pool": [Operator("curr-to-pbest/1 (archived)", rule, rule), "rand/1"], "budget": 2000,
        "NP_schedule": Linear(6), "restart": Stagnation(8), "boundary": "resample", "NP": 20,
        "best_rule": "latest", "archive": "history",
    }  # fmt: skip
    one = engine(**settings)
    for _ in range(told):
        one.tell(sphere(one.ask()))
    if between:
        one.ask()
    state = one.state()
    other = engine(**settings, seed=99)
    other.restore(state)
    run(one)
    run(other)
    assert (one.best_x == other.best_x).all()
    assert (one.view.population == other.view.population).all()
    assert (one.history.counts == other.history.counts).all()
    assert one.rng.random() == other.rng.random()
    assert one.restarts == other.restarts > 0
