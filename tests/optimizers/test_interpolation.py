"""Search by quadratic models: exact on quadratics, its interpolation, failures, few evaluations."""

import numpy as np
import pytest

import uaos
from uaos.optimizers.base.outstanding import Outstanding
from uaos.optimizers.interpolation import QuadraticSearch, _descend
from uaos.problems import rosenbrock


def run(search, fun):
    while not search.done:
        search.tell([fun(x) for x in search.ask()])
    return search


def conditions(search):
    """Return the matrix of the interpolation conditions (Powell 2006, equation 3.10)."""
    Z = search._scaled(search._points)
    n, D = Z.shape
    matrix = np.zeros((n + D + 1, n + D + 1))
    matrix[:n, :n] = 0.5 * (Z @ Z.T) ** 2
    matrix[n:, :n] = np.vstack([np.ones(n), Z.T])
    matrix[:n, n:] = matrix[n:, :n].T
    return matrix


def test_a_separable_quadratic_takes_one_step():
    """2·D + 1 values determine it; its minimum is the next point."""
    search = run(
        QuadraticSearch([(-5, 4)] * 4, seed=1, budget=10), lambda x: float((x - 1) @ (x - 1) * 3)
    )
    np.testing.assert_allclose(search.best_x, 1.0, atol=1e-12)


def test_the_model_interpolates_its_points_after_each_step():
    search = QuadraticSearch([(-2, 2)] * 3, seed=1, budget=25)
    search.tell([float(rosenbrock(x)) for x in search.ask()])
    while not search.done:
        search.tell([float(rosenbrock(x)) for x in search.ask()])
        Z = search._scaled(search._points)
        model = search._constant + Z @ search._slope
        model += 0.5 * np.einsum("ij,jk,ik->i", Z, search._hessian, Z)
        np.testing.assert_allclose(model, search._values, rtol=1e-3)


def test_the_inverse_follows_a_replaced_point():
    search = QuadraticSearch([(-2, 2)] * 3, seed=1, budget=25)
    for _ in range(2):
        search.tell([float(rosenbrock(x)) for x in search.ask()])
    search._replace(np.array([0.3, 0.2, -0.1]), 1.0)
    np.testing.assert_allclose(search._inverse, np.linalg.inv(conditions(search)), atol=1e-9)


def test_rosenbrock():
    search = QuadraticSearch([(-5, 5)] * 5, seed=1, budget=1000, target=1e-8)
    assert run(search, lambda x: float(rosenbrock(x))).on_target


def test_the_step_minimizes_the_model_in_the_box():
    """d = (-1, 0.25) where the bound -1 holds the first coordinate; downhill without curvature."""
    d = np.zeros(2)
    value = _descend(
        np.array([4.0, -0.5]), np.diag([2.0, 2.0]), np.array([-1.0, -1.0]), np.ones(2), d
    )
    np.testing.assert_allclose(d, [-1.0, 0.25])
    assert value == pytest.approx(-4 + 1 - 0.125 + 0.0625)
    d = np.zeros(1)
    assert _descend(np.zeros(1), np.array([[-2.0]]), np.array([-1.0]), np.array([2.0]), d) == -4
    assert d.tolist() == [2.0]


def test_failed_evaluations_count_as_the_largest_value():
    def fails(x):
        return np.nan if x[0] > 1 else float((x - 0.5) @ (x - 0.5))

    assert run(QuadraticSearch([(-5, 5)] * 3, seed=1, budget=30), fails).best_fitness < 0.5
    nothing = run(QuadraticSearch([(-5, 5)] * 3, seed=1, budget=30), lambda x: np.nan)
    assert nothing.best_x is None


def test_idle_workers_evaluate_the_first_points_in_advance():
    """The point that follows depends on all of their values."""
    out = Outstanding(QuadraticSearch([(-5, 4)] * 3, seed=1, budget=30), workers=9)
    first = out.ask(9)
    assert len(first) == 7
    for number, x in reversed(first):
        out.tell(number, float((x - 1) @ (x - 1)))
    [(_, step)] = out.ask(9)
    np.testing.assert_allclose(step, 1.0)


@pytest.mark.parametrize("budget", [1, 3, 6, 7, 8])
def test_tiny_budgets_are_kept(budget):
    """Up to 2·D there is one point beside the first in each coordinate, so that a step remains."""
    search = run(QuadraticSearch([(-5, 5)] * 3, seed=1, budget=budget), lambda x: float(x @ x))
    assert search.evaluations == budget


@pytest.mark.parametrize("D", [2, 5, 20])
def test_the_default_achieves_more_at_5_d_than_its_gradients(D):
    """Sphere, ellipsoid, Rosenbrock's function and step ellipsoid, at 5·D: geometric means."""

    def mean(method):
        errors = []
        for problem in uaos.suite("bbob", dimension=D, functions="1,7,8,10", instances="1-3"):
            result = uaos.minimize(problem, method=method, budget=5 * D, seed=1)
            errors.append(np.log10(max(result.fun - problem.optimum, 1e-8)))
        return np.mean(errors)

    assert mean(None) < mean("BFGS")
