"""Local search: quasi-Newton behavior, bounds, failures, restarts, exact resume, BBOB."""

import numpy as np
import pytest
from raising import raises

import uaos
from uaos.errors import InvalidParameter
from uaos.optimizers.base import RunFinished
from uaos.optimizers.limited import LimitedModel
from uaos.optimizers.local import LocalSearch
from uaos.problems.space import Box


def sphere(x):
    return ((x - 0.3) ** 2).sum(axis=1)


def rosenbrock(x):
    return (100 * (x[:, 1:] - x[:, :-1] ** 2) ** 2 + (1 - x[:, :-1]) ** 2).sum(axis=1)


def run(optimizer, fun, batches=10**6, *, until_converged=False):
    for _ in range(batches):
        if optimizer.done or (until_converged and optimizer.converged):
            break
        optimizer.tell(fun(optimizer.ask()))
    return optimizer


def test_a_sphere_takes_one_gradient_and_one_step():
    """1 + 2·D + 1 evaluations: central differences are exact, and so is their curvature."""
    found = run(LocalSearch([(-5, 5)] * 10, target=1e-12), sphere)
    assert found.evaluations == 1 + 2 * 10 + 1
    assert np.allclose(found.best_x, 0.3, atol=1e-6)


def test_a_run_can_be_given_up_for_one_from_a_point():
    found = run(LocalSearch([(-5, 5)] * 3, seed=1), rosenbrock, batches=4)
    found.restart_from(np.array([1.0, 2.0, 3.0]))
    assert found.ask().tolist() == [[1, 2, 3]]
    assert found.restarts == 1
    assert run(found, rosenbrock, until_converged=True).best_fitness < 1e-12


def test_a_run_that_refines_a_point_keeps_its_first_model(monkeypatch):
    """A model of low curvature would lead away from the point."""
    given_up = []
    monkeypatch.setattr(
        LocalSearch, "_lower_model", lambda search, *_: given_up.append(search.restarts)
    )
    search = run(LocalSearch([(-5, 5)] * 5, seed=1), rosenbrock, batches=10)
    search.restart_from(np.array([0.5, 0.2, 0.1, 0.0, 0.3]))
    run(search, rosenbrock, batches=10)
    assert given_up == [0]
    assert search.restarts == 1


def test_a_badly_scaled_quadratic_is_solved_by_the_second_differences():
    scales = 10.0 ** np.arange(-3, 4)
    found = run(LocalSearch([(-5, 5)] * 7, target=1e-10), lambda x: (scales * (x - 1) ** 2).sum(1))
    assert found.on_target
    assert found.evaluations < 60


def test_a_rotated_quadratic_is_solved():
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))[0]
    scales = 10.0 ** np.arange(6)
    found = run(
        LocalSearch([(-5, 5)] * 6, target=1e-10, budget=3000),
        lambda x: (scales * ((x - 1) @ rotation) ** 2).sum(1),
    )
    assert found.on_target


def test_rounding_errors_do_not_stop_it_on_a_badly_conditioned_function():
    """Condition 1e8, rotated, on top of 1000, where values are rounded to 1e-13."""
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(8, 8)))[0]
    scales = 10.0 ** np.linspace(0, 8, 8)
    found = run(
        LocalSearch([(-5, 5)] * 8, target=1000 + 1e-9, budget=5000, restarts=False),
        lambda x: 1000 + (scales * ((x - 1) @ rotation) ** 2).sum(1),
    )
    assert found.on_target


def test_a_run_ends_where_numerical_errors_hide_the_slopes():
    """It takes 124 evaluations of the first function and 248 of the second without the rule."""
    for condition, most in ((1e4, 80), (1e2, 80)):
        weights = condition ** np.linspace(0, 1, 3)

        def with_errors(x, weights=weights):
            z = x - 0.3
            errors = 1e-7 * np.sum(np.sin(1e7 * x))
            return float(weights @ z**2 + 0.3 * np.sum(z**4) + errors)

        search = uaos.LocalSearch([(-5, 5)] * 3, budget=600, restarts=False, seed=1)
        while not search.done:
            search.tell([with_errors(x) for x in search.ask()])
        assert search.evaluations <= most
        assert search.best_fitness < 1e-7
        assert search.doubt == ""


def test_curvatures_that_the_model_has_too_high_are_lowered():
    """A rotated discus: every coordinate has curvature 1e5 or so, but 11 of 12 axes have 2."""
    axis = np.ones(12) / np.sqrt(12)
    found = run(
        LocalSearch([(-5, 5)] * 12, target=1e-8, budget=400, restarts=False, x0=np.arange(12) / 6),
        lambda x: ((x - 1) ** 2).sum(1) + 1e6 * ((x - 1) @ axis) ** 2,
    )
    assert found.on_target


@pytest.mark.parametrize("unit", [np.ones(12), 10.0 ** np.linspace(-2, 2, 12)])
def test_directions_not_seen_yet_take_the_lowest_curvature_seen(unit):
    """A rotated sum of powers: 377 evaluations in any units; 679 if the model stays low."""
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(12, 12)))[0]
    powers = np.linspace(2, 6, 12)
    found = run(
        LocalSearch(np.outer(unit, (-5, 5)), target=1e-8, budget=500, restarts=False),
        lambda x: (np.abs((x / unit - 1) @ rotation) ** powers).sum(1),
    )
    assert found.on_target


def test_rosenbrock_is_solved_in_10_d():
    found = run(LocalSearch([(-5, 10)] * 10, target=1e-10, budget=5000, seed=1), rosenbrock)
    assert found.on_target
    assert np.allclose(found.best_x, 1, atol=1e-4)


def test_an_optimum_in_a_corner_is_met_exactly():
    """A linear function: one gradient, then the step to the corner (5, -5, 5)."""
    found = run(LocalSearch([(-5, 5)] * 3, restarts=False), lambda x: x @ [-1.0, 2.0, -0.01])
    assert found.best_x.tolist() == [5, -5, 5]
    assert found.converged
    assert found.done
    assert found.evaluations < 25
    with pytest.raises(RunFinished):
        found.ask()


def test_an_optimum_on_a_face_is_found_by_freezing_its_coordinate():
    """(x0 - 9)² has its minimum outside; the others are coupled: x1 + x2 = 1, x1 - x2 = 1."""

    def fun(x):
        return (x[:, 0] - 9) ** 2 + 50 * (x[:, 1] + x[:, 2] - 1) ** 2 + (x[:, 1] - x[:, 2] - 1) ** 2

    found = run(LocalSearch([(-5, 5)] * 3, restarts=False), fun)
    assert found.best_x[0] == 5
    assert np.allclose(found.best_x[1:], [1, 0], atol=1e-6)


@pytest.mark.parametrize("start", [None, [5, 5, 5], [-5, 5, -5]])
def test_points_stay_inside_the_box(start):
    def fun(x):
        assert (x >= -5).all()
        assert (x <= 5).all()
        return rosenbrock(x) - 50 * x[:, 0]

    run(LocalSearch([(-5, 5)] * 3, seed=2, x0=start, budget=3000), fun)


def test_without_bounds_the_search_leaves_the_box():
    found = run(
        LocalSearch(Box([(-1, 1)] * 3, outside_allowed=True), boundary="none", target=1e-10),
        lambda x: ((x - 4) ** 2).sum(1),
    )
    assert found.on_target
    assert np.allclose(found.best_x, 4, atol=1e-4)


def test_one_dimension():
    found = run(LocalSearch([(-4, 4)], target=-1 + 1e-12), lambda x: -np.cos(x[:, 0] - 1))
    assert found.on_target
    assert found.best_x == pytest.approx(1, abs=1e-5)


def test_a_flat_function_ends_after_its_first_gradient():
    found = run(LocalSearch([(-5, 5)] * 4, restarts=False), lambda x: np.ones(len(x)))
    assert found.converged
    assert found.evaluations == 1 + 2 * 4


@pytest.mark.parametrize(("dimension", "each", "points"), [(3, 19, 6), (3, 20, 3), (4, 20, 8)])
def test_first_differences_are_forward_in_few_dimensions(dimension, each, points):
    """From 20·D evaluations on, where the next gradients cost little."""
    optimizer = LocalSearch([(-5, 5)] * dimension, seed=1, budget=each * dimension)
    optimizer.tell(sphere(optimizer.ask()))
    assert len(optimizer.ask()) == points


def test_a_wrong_first_direction_is_soon_given_up():
    """Differences that span the box see the bowl around 1, not the cone at 0, where the run is."""

    def fun(x):
        distance = np.sqrt((x**2).sum(axis=1))
        return np.where(distance < 1.9, distance, ((x - 1) ** 2).sum(axis=1))

    optimizer, sizes = LocalSearch([(-5, 5)] * 4, seed=1, restarts=False), []
    for _ in range(5):
        points = optimizer.ask()
        sizes.append(len(points))
        optimizer.tell(fun(points))
    assert sizes == [1, 8, 1, 1, 4]  # start, first gradient, two trials, next gradient


def test_failed_evaluations_are_avoided():
    """NaN beyond x0 = 0.5 stops the way from 0 to the minimum of the sphere at 1, 1, 1."""

    def fun(x):
        return np.where(x[:, 0] > 0.5, np.nan, ((x - 1) ** 2).sum(axis=1))

    found = run(LocalSearch([(-5, 5)] * 3, restarts=False), fun)
    assert found.converged
    assert found.best_fitness < 0.7501  # 3 · 0.5² where the way ends
    assert found.best_x[0] <= 0.5


def test_a_run_that_starts_at_a_failure_ends_and_the_next_starts_elsewhere():
    def fun(x):
        return np.where(np.abs(x).max(axis=1) < 0.1, np.nan, sphere(x))

    found = LocalSearch([(-5, 5)] * 2, seed=1, target=1e-10)
    found.tell(fun(found.ask()))
    assert found.converged
    run(found, fun)
    assert found.on_target
    assert found.restarts >= 1


@pytest.mark.parametrize(
    "fun",
    [
        lambda x: np.abs(x - 0.1).sum(axis=1),
        lambda x: np.floor(10 * np.abs(x - 0.1)).sum(axis=1),
        lambda x: np.full(len(x), np.nan),
        lambda x: np.where(x[:, 0] > 0, 1e307, -1e307) * np.abs(x).max(axis=1),
        lambda x: 1e-300 * sphere(x),
    ],
    ids=["kinks", "steps", "failures", "huge", "tiny"],
)
def test_hard_functions_end_cleanly(fun):
    found = run(LocalSearch([(-5, 5)] * 3, seed=3, restarts=False, budget=20_000), fun)
    assert found.converged


def test_restarts_from_random_points_find_the_better_of_two_valleys():
    def fun(x):
        return np.minimum(((x + 3) ** 2).sum(axis=1) - 5, ((x - 1) ** 2).sum(axis=1))

    found = run(LocalSearch([(-5, 5)] * 2, seed=1, budget=2000, target=-5 + 1e-8), fun)
    assert found.on_target
    assert found.restarts >= 1


def test_runs_start_from_the_given_points_in_turn():
    starts = [[1.0, 2.0], [3.0, -4.0]]
    found = LocalSearch([(-5, 5)] * 2, x0=starts, seed=1)
    assert found.ask().tolist() == [starts[0]]
    run(found, sphere, until_converged=True)
    assert found.ask().tolist() == [starts[1]]
    assert not found.converged
    assert found.restarts == 1


@pytest.mark.parametrize("budget", [1, 2, 11, 22, 57])
def test_the_budget_is_exact(budget):
    found = run(LocalSearch([(-5, 5)] * 5, seed=1, budget=budget), rosenbrock)
    assert found.evaluations == budget


def test_the_history_has_a_row_per_batch():
    found = run(LocalSearch([(-5, 5)] * 2, seed=1), rosenbrock, 20)
    assert len(found.history) == 20
    assert found.history.evaluations[-1] == found.evaluations
    assert LocalSearch([(-5, 5)], history=False).history is None


@pytest.mark.parametrize(("argument", "value"), [("boundary", "mirror"), ("restarts", "no")])
def test_wrong_arguments_are_named(argument, value):
    with raises(InvalidParameter, name=argument):
        LocalSearch([(-5, 5)] * 2, **{argument: value})


@pytest.mark.parametrize("boundary", ["project", "none"])
@pytest.mark.parametrize(("function", "most"), [(1, 12), (2, 400), (5, 12), (8, 2000), (14, 600)])
def test_bbob_functions_in_5_d_are_solved(function, most, boundary):
    cocoex = pytest.importorskip("cocoex")
    for instance in (41, 42, 43):
        problem = cocoex.BareProblem("bbob", function, 5, instance)
        found = LocalSearch(
            Box([(-5, 5)] * 5, outside_allowed=True), seed=1, budget=most,
            target=problem.best_value() + 1e-8, boundary=boundary,
        )  # fmt: skip
        run(found, lambda x: [problem(row) for row in x])  # noqa: B023
        assert found.on_target


# Many variables


def ellipsoid(points):
    """Return values of a rotated ellipsoid with condition 100: neighbors interact."""
    turned = points + 0.5 * np.roll(points, 1, axis=1)
    return (np.logspace(0, 2, points.shape[1]) * (turned - 1) ** 2).sum(axis=1)


def test_many_variables_are_searched_with_a_limited_memory(monkeypatch):
    """No matrix is decomposed; 150 variables, of which some end at their bounds."""
    monkeypatch.setattr("uaos.optimizers.local.LIMITED", 100)
    found = LocalSearch([(-5, 0.5)] * 50 + [(-5, 5)] * 100, seed=1, budget=15_000)
    run(found, ellipsoid)
    assert found._hessian.size == 0
    free = LocalSearch([(-5, 5)] * 150, seed=1, budget=15_000, target=1e-6)
    run(free, ellipsoid)
    assert free.on_target
    assert (found.best_x <= [0.5] * 50 + [5] * 100).all()


def test_a_limited_memory_agrees_with_the_matrix_on_its_steps():
    """With all steps remembered, the two-loop recursion solves B d = -g."""
    rng = np.random.default_rng(1)
    model, B, D = LimitedModel(5), np.eye(5), 5
    A = np.diag([1.0, 2, 3, 4, 5]) + 0.1
    for _ in range(4):
        s = rng.standard_normal(D)
        model.update(s, A @ s)
    last = model.steps[-1], model.changes[-1]
    B *= last[1] @ last[1] / (last[0] @ last[1])
    for s, y in zip(model.steps, model.changes, strict=True):
        B += np.outer(y, y) / (y @ s) - np.outer(B @ s, B @ s) / (s @ B @ s)
    g = rng.standard_normal(D)
    assert np.allclose(model.step(g, np.ones(D, bool)), np.linalg.solve(B, -g))


def test_a_search_with_a_limited_memory_resumes_exactly(tmp_path, monkeypatch):
    monkeypatch.setattr("uaos.optimizers.local.LIMITED", 100)
    runs = [LocalSearch([(-5, 5)] * 120, seed=1) for _ in range(2)]
    for _ in range(12):
        for search in runs:
            search.tell(ellipsoid(search.ask()))
    runs[1].save(tmp_path / "run")
    runs[1] = LocalSearch.load(tmp_path / "run")
    for _ in range(12):
        a, b = (search.ask() for search in runs)
        assert np.array_equal(a, b)
        for search in runs:
            search.tell(ellipsoid(a))


def test_differences_reach_beyond_the_noise():
    """On a sphere with noise of deviation s, differences of 2 √s / √2 change f by 2 s."""
    optimizer = LocalSearch([(-5, 5)] * 4, x0=[3.0, 2.0, 1.0, 4.0], seed=1)
    for _ in range(3):  # start, first gradient, step
        optimizer.tell([float(x @ x) for x in optimizer.ask()])
    optimizer.expect_noise(0.04, 10.0)
    reach = np.abs(optimizer.ask() - optimizer.best_x).max()
    assert reach == pytest.approx(0.4 / 2**0.5, rel=1e-6)


def test_steps_within_the_noise_leave_the_model():
    """A step whose predicted gain is below the noise says nothing about the curvature."""
    optimizer = LocalSearch([(-5, 5)] * 2, x0=[3.0, 2.0], seed=1)
    for _ in range(2):
        optimizer.tell([float(x @ x) for x in optimizer.ask()])
    model = optimizer._hessian.copy()
    optimizer.expect_noise(0.04, 10.0)
    optimizer._update_model(np.array([0.01, 0.0]), np.array([5.0, 0.0]))
    assert np.array_equal(optimizer._hessian, model)
    optimizer._update_model(np.array([1.0, 0.0]), np.array([3.0, 0.0]))
    assert optimizer._hessian[0, 0] == pytest.approx(3.0)


@pytest.mark.parametrize("D", [2, 3, 5])
def test_a_point_that_is_better_by_rounding_is_no_reason_for_doubt(D: int) -> None:
    """Near 0, a point of the last differences is often better than where the run ended."""
    rng = np.random.default_rng(0)
    for _ in range(15):
        x0 = rng.uniform(-4, 4, D)
        result = uaos.minimize(
            uaos.problems.rosenbrock, [(-5, 5)] * D, x0=x0, seed=1, method="BFGS"
        )
        assert result.success or result.fun > 1e-15
