"""Search by a model: the Gaussian process, what it is told, and the points it proposes."""

import math
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from raising import raises

import uaos
from uaos.extras import one_blas_thread
from uaos.optimizers.de.variation import move_integers, mutate_categories
from uaos.optimizers.gaussian_process import (
    _loss,
    condition,
    covariance,
    default_hyper,
    fitted_hyper,
    log_improvement,
)
from uaos.optimizers.mixed import Coordinates
from uaos.optimizers.portfolio import Traits, default_members
from uaos.optimizers.surrogate import model_values

MIXED = np.array([False, True])


# The process


def test_covariance_is_maternes_with_equal_categories_at_distance_0() -> None:
    points = np.array([[0.0, 1.0], [0.5, 1.0], [0.0, 2.0]])
    K = covariance(points, points, MIXED, np.array([0.5, 2.0]))
    r = math.sqrt(5.0)  # of a distance of one length
    assert math.isclose(K[0, 1], (1 + r + 5 / 3) * math.exp(-r))
    half = math.sqrt(5.0) / 2  # different categories: 1 / 2
    assert math.isclose(K[0, 2], (1 + half + half**2 / 3) * math.exp(-half))
    assert np.diag(K).tolist() == [1.0, 1.0, 1.0]


def test_the_gradient_of_the_likelihood_is_that_of_differences() -> None:
    rng = np.random.default_rng(1)
    points = np.column_stack([rng.random(12), rng.integers(3, size=12)])
    values, hyper = rng.standard_normal(12), np.array([-0.5, 0.3, -3.0])
    _, gradient = _loss(points, values, MIXED, hyper)
    for j, step in enumerate(1e-5 * np.eye(3)):
        ends = [_loss(points, values, MIXED, hyper + s)[0] for s in (step, -step)]
        assert math.isclose(gradient[j], (ends[0] - ends[1]) / 2e-5, rel_tol=1e-4)


def test_a_fit_is_no_worse_than_the_prior_and_interpolates_smooth_values() -> None:
    points = np.linspace(0, 1, 15)[:, None]
    values = np.sin(6 * points[:, 0])
    values -= values.mean()
    no_category = np.array([False])
    hyper = fitted_hyper(points, values, no_category)
    model = condition(points, values, no_category, hyper)
    before = _loss(points, values, no_category, default_hyper(1))[0]
    assert _loss(points, values, no_category, model.hyper)[0] <= before
    mean, deviation = model.predict(points)
    np.testing.assert_allclose(mean, values, atol=1e-2)
    assert deviation.max() < model.predict(np.array([[3.0]]))[1][0]


def test_expected_improvement_by_hand() -> None:
    at_best = log_improvement(np.array([1.0]), np.array([2.0]), 1.0)[0]
    assert math.isclose(at_best, math.log(2.0 / math.sqrt(2 * math.pi)))  # σ φ(0)
    near, far = log_improvement(np.array([5.999, 6.001]), np.array([1.0, 1.0]), 0.0)
    assert math.isclose(near, far, abs_tol=0.1)  # where the expansion takes over


def test_linear_algebra_has_one_thread() -> None:
    """Threads of BLAS would wait for each other on a busy machine.

    SciPy may have loaded a BLAS of its own later, which is not limited.
    """
    threadpoolctl = pytest.importorskip("threadpoolctl")

    def threads() -> list[int]:
        pools = threadpoolctl.threadpool_info()
        return [pool["num_threads"] for pool in pools if pool["user_api"] == "blas"]

    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before = threads()
        with one_blas_thread():
            assert 1 in threads()
        assert threads() == before


def test_a_process_far_away_knows_nothing() -> None:
    model = condition(np.zeros((1, 1)), np.ones(1), np.array([False]), default_hyper(1))
    mean, deviation = model.predict(np.array([[50.0]]))
    assert abs(mean[0]) < 1e-6
    assert math.isclose(deviation[0] ** 2, model.variance, rel_tol=1e-6)


# What it is told


def test_outliers_and_failures_are_drawn_in() -> None:
    values = np.array([0.0, 1.0, 2.0, 1e9, np.nan])
    scores = model_values(values)
    assert np.isfinite(scores).all()
    assert scores[3] == scores[4] == scores.max()
    assert scores[1] - scores[0] > 0.01 * (scores[3] - scores[0])


@pytest.mark.parametrize("constraint", [None, {"type": "ineq", "fun": lambda p: 0.5 - p["x"]}])
@pytest.mark.filterwarnings("error")
def test_differences_of_values_may_overflow(constraint: dict | None) -> None:
    space = {"x": uaos.Real(-1, 1), "k": uaos.Categorical(list("abc"))}
    result = uaos.minimize(
        lambda p: 1.5e308 * p["x"], space, budget=25, seed=1, constraints=constraint
    )
    assert result.fun < -1e308


def test_infeasible_points_follow_feasible_ones() -> None:
    scores = model_values(np.array([5.0, np.nan, np.nan]), np.array([0.0, 0.1, 0.2]))
    assert scores[0] < scores[1] < scores[2]


# Points


def test_neighbors_stay_in_the_box_and_change_something() -> None:
    kinds = np.array([0, 1, 2])
    coordinates = Coordinates(np.array([0.0, -0.5, -0.5]), np.array([1.0, 9.5, 3.5]), kinds)
    rng = np.random.default_rng(1)
    points = coordinates.uniform(500, rng)
    near = coordinates.neighbors(points, rng)
    for sample in (points, near):
        assert ((sample >= [0, 0, 0]) & (sample <= [1, 9, 3])).all()
        assert (sample[:, 1:] == np.rint(sample[:, 1:])).all()
    assert (near != points).any(axis=1).mean() > 0.8
    assert set(near[:, 2]) == {0, 1, 2, 3}


def test_neighbors_on_a_log_scale_are_other_integers() -> None:
    space = uaos.Space({"n": uaos.Integer(1, 20, log=True)})
    coordinates, rng = Coordinates.of(space), np.random.default_rng(1)
    near = coordinates.neighbors(np.log(np.full((500, 1), 6.0)), rng)
    numbers = [p["n"] for p in space.decode(near)]
    assert 6 not in numbers
    assert {1, 5, 7, 20} <= set(numbers)


def test_it_finds_the_optimum_of_a_mixed_function_within_60_evaluations() -> None:
    space = uaos.Space({
        "x": uaos.Real(-5, 5), "n": uaos.Integer(0, 20), "k": uaos.Categorical(list("abcdef")),
    })  # fmt: skip
    run = uaos.SurrogateSearch(space, seed=1, budget=60)
    seen = []
    while not run.done:
        points = run.ask()
        seen += [tuple(p) for p in points.tolist()]
        run.tell([p["x"] ** 2 + abs(p["n"] - 13) + (p["k"] != "d") for p in space.decode(points)])
    best = space.decode(run.best_x)
    assert (best["n"], best["k"]) == (13, "d")
    assert len(set(seen)) == 60


def test_coordinates_that_do_not_count_are_not_searched() -> None:
    """A model that knows the condition does not try "a" twice."""
    space = uaos.Space({
        "k": uaos.Categorical(["a", "b", "c"]), "x": uaos.Real(0, 1, when={"k": ["b", "c"]}),
    })  # fmt: skip
    seen = []

    def loss(p: dict) -> float:
        seen.append(tuple(p.items()))
        return 0.3 if p["k"] == "a" else (p["x"] - 0.7) ** 2 + (p["k"] == "b")

    result = uaos.minimize(loss, space, budget=25, seed=1, noise=False)
    assert result.x["k"] == "c"
    assert seen.count((("k", "a"),)) <= 3  # two in the first points
    assert result.fun < 1e-4


def test_the_history_has_what_proposed_the_points(tmp_path) -> None:
    """The first points, then mostly the model; moves make most points after 10·D evaluations."""
    run = uaos.SurrogateSearch({"n": uaos.Integer(0, 99), "m": uaos.Integer(0, 99)}, seed=1)

    def advance(run: uaos.Optimizer, evaluations: int) -> None:
        while run.evaluations < evaluations:
            run.tell([abs(n - 40) + abs(m - 70) for n, m in run.ask()])

    advance(run, 20)
    early = run.history.counts.sum(axis=0)
    assert early.sum() == 20
    assert early[0] == 5  # the start
    assert early[1] > early[2:].sum() > 0
    run.ask()
    run.save(tmp_path / "run")
    loaded = uaos.SurrogateSearch.load(tmp_path / "run")
    for each in (run, loaded):
        advance(each, 60)
    late = run.history.counts.sum(axis=0) - early
    assert late[1] < late[2:].sum()
    assert run.probabilities.tolist() == pytest.approx([0, 0.1, *[0.18] * 5])
    np.testing.assert_array_equal(run.history.counts, loaded.history.counts)


def test_a_method_chooses_among_the_moves_and_is_saved(tmp_path) -> None:
    """Steps alone lead to better points, so a greedy method prefers them."""
    greedy = uaos.method("RecPM", selection="greedy")
    space = uaos.Space({f"k{j}": uaos.Categorical(range(9)) for j in range(4)})
    target = np.array([8, 1, 5, 3])

    def advance(run: uaos.Optimizer, evaluations: int) -> None:
        while run.evaluations < evaluations:
            run.tell((run.ask() != target).sum(axis=1) + 0.5)

    run = uaos.SurrogateSearch(space, seed=1, budget=400, method=greedy)
    advance(run, 100)
    learned = run.probabilities[2:]
    assert learned.sum() == pytest.approx(0.9)
    assert learned.max() > 0.18  # uniform choice
    run.save(tmp_path / "run")
    loaded = uaos.SurrogateSearch.load(tmp_path / "run")
    for each in (run, loaded):
        advance(each, 120)
    np.testing.assert_array_equal(run.history.counts, loaded.history.counts)
    assert run.probabilities.tolist() == loaded.probabilities.tolist()


def test_failures_and_violations_reach_the_method() -> None:
    """Points without a value, and infeasible ones, are no gain."""
    run = uaos.SurrogateSearch([(0, 1)] * 2, seed=1, budget=130, method=uaos.method("RecPM"))
    while not run.done:
        points = run.ask()
        values = np.where(points[:, 0] > 0.9, np.nan, points.sum(axis=1))
        run.tell(values, np.maximum(0.3 - points[:, 1], 0.0))
    assert np.isfinite(run.probabilities).all()
    assert run.result.fun == pytest.approx(0.3, abs=0.01)


def test_a_configuration_with_a_method_has_a_control() -> None:
    recipe = uaos.Configuration("mine", uaos.method("RecPM"), optimizer="GP")
    control = recipe.with_uniform_choice()
    run = control.build([(0, 1)] * 2, seed=1, budget=150)
    while not run.done:
        run.tell((run.ask() ** 2).sum(axis=1))
    assert run.probabilities.tolist() == pytest.approx([0, 0.1, *[0.18] * 5])
    assert not uaos.configuration("GP").selects


def test_a_name_is_not_a_method() -> None:
    with raises(uaos.errors.InvalidParameter, name="method", value="RecPM"):
        uaos.SurrogateSearch([(0, 1)] * 2, method="RecPM")


@pytest.mark.parametrize("constraint", [None, {"type": "ineq", "fun": lambda p: p["n"] - 5}])
def test_workers_that_do_not_wait_for_each_other_are_busy(constraint: dict | None) -> None:
    """Points that are out keep others away, and are learned in the order in which they come."""
    at_work, most, calls = 0, 0, 0

    def count(p: dict) -> float:
        nonlocal at_work, most, calls
        at_work, calls = at_work + 1, calls + 1
        most = max(most, at_work if calls > 20 else 0)  # not in the initial points, a batch
        time.sleep(0.02)
        at_work -= 1
        return (p["x"] - 0.3) ** 2 + (p["k"] != "b") + abs(p["n"] - 4)

    space = {"x": uaos.Real(0, 1), "k": uaos.Categorical(list("abcd")), "n": uaos.Integer(0, 9)}
    with ThreadPoolExecutor(3) as pool:
        result = uaos.minimize(
            count, space, budget=60, seed=1, workers=pool, schedule="async", record="points",
            constraints=constraint,
        )  # fmt: skip
    assert most >= 2
    assert (result.x["k"], result.x["n"]) == ("b", 4 if constraint is None else 5)
    assert len({tuple(x.values()) for x in result.X}) == result.nfev == 60


def test_points_that_are_out_keep_others_away() -> None:
    run = uaos.SurrogateSearch([(0, 3)] * 2, integrality=True, seed=1, budget=20, initial=1)
    first = run.ask(5)
    run.tell(first.sum(axis=1), points=first)
    others = run.ask(11)
    assert len(np.unique(np.vstack([first, others]), axis=0)) >= 14
    run.tell(others.sum(axis=1)[::-1], points=others[::-1])
    assert run.evaluations == 16


def test_a_batch_has_different_points() -> None:
    run = uaos.SurrogateSearch([(0, 1)] * 2, seed=1, budget=40, batch=4)
    while not run.done:
        points = run.ask()
        run.tell((points**2).sum(axis=1))
    assert len({tuple(p) for p in points.tolist()}) == len(points) > 1


# Categories elsewhere


def test_differential_evolution_exchanges_categories() -> None:
    """The base has 0; the difference has 3 and 1 in offspring 0, and 2 twice in offspring 1."""
    rows = np.array([[0.0], [3.2], [1.0], [2.0]])
    partners = np.zeros((2, 7), np.int64)
    partners[0, :3], partners[1, :3] = (0, 1, 2), (0, 3, 3)
    mutants = np.empty((2, 1))
    one = np.zeros(2, np.int64)
    mutate_categories(
        rows, partners, one, np.array([1]), np.array([0.5, 0.5]), np.array([0]),
        np.full((2, 1, 3), 0.4), mutants,
    )  # fmt: skip
    assert mutants.ravel().tolist() == [3.0, 0.0]


def test_a_category_that_would_stagnate_becomes_another() -> None:
    parents = np.full((200, 1), 2.0)
    offspring = parents.copy()
    j = np.array([0])
    low, high = np.array([-0.5 + 1e-12]), np.array([4.5 - 1e-12])
    move_integers(offspring, parents, j, j, low, high, np.random.default_rng(1))
    assert set(offspring.ravel().tolist()) == {0.0, 1.0, 3.0, 4.0}


@pytest.mark.parametrize(
    ("table", "budget", "names"),
    [
        ("categories", 200, ["GP"]),
        ("categories", None, ["GP", "mix"]),
        ("categories", 1000, ["GP"]),
        ("discrete", 1000, ["GP"]),
        ("discrete", 2000, ["STEP", "BFGS", "CMA-ES"]),
        ("integers", 200, ["GP"]),
        ("integers", 1000, ["STEP", "BFGS", "CMA-ES"]),
        ("integers", 2000, ["STEP", "BFGS", "CMA-ES"]),
    ],
)
def test_the_portfolio_has_a_model_where_it_pays(table: str, budget: int, names: list) -> None:
    traits = Traits(**{table: True, "integers": True})
    assert [member.name for member in default_members(5, budget, traits)] == names


@pytest.mark.parametrize(
    ("table", "budget", "names"),
    [
        ("categories", 1000, ["GP"]),
        ("discrete", 400, ["mixed-SQP"]),
        ("discrete", 1000, ["mixed-SQP", "CMA-ES"]),
        ("integers", 400, ["mixed-SQP"]),
        ("integers", 1000, ["mixed-SQP", "CMA-ES"]),
        ("integers", 5000, ["mixed-SQP", "CMA-ES", "mix"]),
    ],
)
def test_under_constraints_integers_are_searched_by_models_of_these(
    table: str, budget: int, names: list
) -> None:
    traits = Traits(**{table: True, "integers": True, "constrained": True})
    assert [member.name for member in default_members(5, budget, traits)] == names


def test_integers_on_a_log_scale_count_as_integers_and_under_constraints_like_categories() -> None:
    space = {"n": uaos.Integer(1, 99, log=True), "x": uaos.Real(0, 1)}
    assert uaos.Portfolio(space, budget=60).operators == ("GP",)
    constrained = {"settings": {"constrained": True}, "budget": 60}
    assert uaos.Portfolio(space, **constrained).operators == ("GP",)
    plain = {"n": uaos.Integer(1, 99), "x": uaos.Real(0, 1)}
    assert uaos.Portfolio(plain, **constrained).operators == ("mixed-SQP",)
    plain["k"] = uaos.Integer(0, 3, when={"n": [1, 2, 3]})
    assert uaos.Portfolio(plain, **constrained).operators == ("GP",)


def test_half_of_the_variables_have_to_be_integers_for_the_model_beyond_100_d() -> None:
    kinds = [[1, 1, 0, 0], [1, 0, 0, 0]]
    runs = [uaos.Portfolio([(0, 9)] * 4, integrality=kind, budget=800) for kind in kinds]
    assert [run.operators for run in runs] == [("GP",), ("CMA-ES",)]
