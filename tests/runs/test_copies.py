"""The user's functions may write to the points that they get: nothing else changes by it."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import uaos
from uaos.problems import Problem

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
