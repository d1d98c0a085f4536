"""The user's functions may write to the points that they get: nothing else changes by it."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import uaos
from uaos.problems import Problem
from uaos.runs.evaluator import Evaluator

BOX = [(-5.0, 5.0), (2.0, 2.0), (-5.0, 5.0)]


def bowl(x):
    return float(((x - 1) ** 2).sum())


def bowl_that_writes(x):
    value = bowl(x)
    x[:] = 99.0
    return value


def bowls_that_write(X):
    values = ((X - 1) ** 2).sum(axis=1)
    X[:] = 99.0
    return values


def inside(x):
    return 3.0 - x[0] - x[2]


def inside_that_writes(x):
    value = inside(x)
    x[:] = -99.0
    return value


def same(a, b):
    assert a.x.tolist() == b.x.tolist()
    assert (a.fun, a.nfev, a.nit, a.message) == (b.fun, b.nfev, b.nit, b.message)


@pytest.mark.parametrize("method", [None, "mix", "CMA-ES", "BFGS"])
@pytest.mark.parametrize("box", [BOX, [(-5.0, 5.0)] * 3])
def test_an_objective_may_write_to_its_point(method, box):
    arguments = {"method": method, "seed": 1, "budget": 400}
    plain = uaos.minimize(bowl, box, **arguments)
    same(uaos.minimize(bowl_that_writes, box, **arguments), plain)
    vectorized = uaos.minimize(bowls_that_write, box, vectorized=True, **arguments)
    assert vectorized.fun == pytest.approx(plain.fun, abs=1e-9)


@pytest.mark.parametrize("workers", [2, map, lambda f, points: [f(x) for x in points], "threads"])
def test_an_objective_on_workers_may_write_to_its_point(workers):
    arguments = {"method": "mix", "seed": 1, "budget": 200}
    plain = uaos.minimize(bowl, BOX, **arguments)
    with ThreadPoolExecutor(2) as executor:
        chosen = executor if workers == "threads" else workers
        same(uaos.minimize(bowl_that_writes, BOX, workers=chosen, **arguments), plain)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_constraint_may_write_to_its_point(workers):
    arguments = {"seed": 1, "budget": 400, "workers": workers}
    plain, writing = (
        uaos.minimize(bowl, BOX, constraints=[{"type": "ineq", "fun": fun}] * 2, **arguments)
        for fun in (inside, inside_that_writes)
    )
    same(writing, plain)
    assert plain.maxcv == writing.maxcv == 0
    assert inside(writing.x) >= 0


def test_a_polishing_function_may_write_to_its_point_and_bounds():
    pytest.importorskip("scipy")

    def polish(fun, x, bounds, constraints):
        fun(x)
        x[:] = bounds.lb[:] = bounds.ub[:] = 77.0
        return uaos.minimize(bowl, BOX, seed=2, budget=2000)

    result = uaos.minimize(bowl_that_writes, BOX, seed=1, budget=30, polish=polish)
    assert result.fun == bowl(result.x) < 1.0 + 1e-9
    assert result.x[1] == 2.0


@pytest.mark.parametrize("constrained", [False, True])
def test_polishing_may_call_functions_that_write(constrained):
    pytest.importorskip("scipy")
    results = [
        uaos.minimize(
            fun, BOX, method="mix", seed=1, budget=100, polish=True,
            constraints={"type": "ineq", "fun": limit} if constrained else None,
        )
        for fun, limit in ((bowl, inside), (bowl_that_writes, inside_that_writes))
    ]  # fmt: skip
    same(*results)


def test_a_problem_hands_out_copies():
    points = np.ones((3, 2))
    problem = Problem(bowl_that_writes, [(-5, 5)] * 2)
    assert problem.evaluate(points).tolist() == [0.0] * 3
    assert (points == 1.0).all()


def test_the_note_of_an_exception_has_the_point_as_it_was():
    def fun(x):
        x[:] = 99.0
        raise ArithmeticError(os.getpid())

    with pytest.raises(ArithmeticError) as raised:
        uaos.minimize(fun, [(2, 2), (1, 1.5)], x0=[2, 1.25], seed=1)
    assert "x = [2.   1.25]" in raised.value.__notes__[0]


def same_array(function):
    """Return a function that returns its results in one array, which it fills anew each time."""
    numbers = {}

    def filled(x):
        result = np.atleast_1d(function(x))
        array = numbers.setdefault("array", np.empty_like(result))
        array[:] = result
        return array

    return filled


@pytest.mark.parametrize("workers", [1, 2, map, "executor"])
def test_functions_may_return_the_same_array_each_time(workers):
    """Values, gradients and constraints of a batch are those of each point, not of the last."""
    box = [(-5.0, 5.0)] * 2
    sphere, half = same_array(lambda x: float(x @ x)), same_array(lambda x: x[0] - 1.0)
    with ThreadPoolExecutor(1) as executor:
        chosen = executor if workers == "executor" else workers
        options = {"workers": chosen, "seed": 1, "budget": 200, "method": "CMA-ES"}
        result = uaos.minimize(sphere, box, **options)
        bounded = uaos.minimize(
            sphere, box, constraints={"type": "ineq", "fun": half}, **options | {"workers": 1}
        )
    assert result.fun == float(result.x @ result.x) < 1e-3
    assert bounded.fun == float(bounded.x @ bounded.x) == pytest.approx(1.0, abs=1e-2)


def test_gradients_may_be_the_same_array_each_time():
    problem = Problem(
        lambda x: float(x @ x), [(-5, 5)] * 2, name="sphere", jac=same_array(lambda x: 2 * x)
    )
    points = np.array([[1.0, 2.0], [3.0, 4.0]])
    with Evaluator(problem) as evaluator:
        _, _, details = evaluator(points, gradients=True)
    assert details.gradients.tolist() == [[2.0, 4.0], [6.0, 8.0]]


def test_residuals_may_be_the_same_array_each_time():
    result = uaos.least_squares(same_array(lambda x: x - [1.0, 2.0]), [0.0, 0.0], seed=1)
    assert result.x == pytest.approx([1.0, 2.0])
    assert result.fun == pytest.approx(0.0, abs=1e-12)


def test_asynchronous_runs_hand_out_copies():
    def writes(x):
        value = float(x @ x)
        x[:] = 999.0
        return value

    result = uaos.minimize(
        writes, [(-5, 5)] * 2, budget=20, seed=1, schedule="async", record="points"
    )
    assert (np.abs(result.X) <= 5).all()
    assert result.F.tolist() == [float(x @ x) for x in result.X]
