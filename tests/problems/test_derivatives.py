"""Gradients that users have: which members use them, how they are counted and checked."""

from types import SimpleNamespace

import numpy as np
import pytest
from raising import raises

import uaos
from uaos.errors import InvalidFeedback, InvalidParameter

BOX = [(-5.0, 5.0)] * 4


def rosenbrock(x):
    return float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


def slope(x):
    gradient = np.zeros_like(x)
    gradient[:-1] = -400 * x[:-1] * (x[1:] - x[:-1] ** 2) - 2 * (1 - x[:-1])
    gradient[1:] += 200 * (x[1:] - x[:-1] ** 2)
    return gradient


def both(x):
    return rosenbrock(x), slope(x)


@pytest.mark.parametrize("method", [None, "BFGS", "SQP"])
def test_a_gradient_saves_evaluations(method):
    arguments = {"x0": [-1.2] * 4, "method": method, "seed": 1, "target": 1e-8}
    with_differences = uaos.minimize(rosenbrock, BOX, **arguments)
    result = uaos.minimize(rosenbrock, BOX, jac=slope, **arguments)
    assert result.fun <= 1e-8
    assert 2 * result.nfev < with_differences.nfev
    assert 0 < result.njev <= result.nfev
    assert "njev" not in with_differences
    together = uaos.minimize(both, BOX, jac=True, **arguments)
    assert (together.nfev, together.njev) == (result.nfev, result.njev)
    assert together.x.tolist() == result.x.tolist()


def test_a_pair_is_evaluated_once():
    calls = []

    def fun(x):
        calls.append(x)
        return both(x)

    result = uaos.minimize(fun, BOX, jac=True, method="BFGS", seed=1, target=1e-8)
    assert len(calls) == result.nfev


def test_other_methods_ignore_it():
    result = uaos.minimize(rosenbrock, BOX, jac=slope, method="mix", seed=1, budget=200)
    assert result.njev == 0


def test_constraints_held_coordinates_and_arguments_go_with_it():
    """The last coordinate is held at 1; x·x <= 2 cuts off the optimum (1, 1, 1, 1).

    There are several local optima; both runs start near the same.
    """
    ball = {"type": "ineq", "fun": lambda x: 2 - x @ x}
    bounds = [*BOX[:3], (1, 1)]
    x0 = [0.1, 0.1, 0.9, 1]
    result = uaos.minimize(
        lambda x, a: a * rosenbrock(x), bounds, args=(2.0,), jac=lambda x, a: a * slope(x),
        constraints=ball, x0=x0, seed=1, budget=600,
    )  # fmt: skip
    plain = uaos.minimize(
        lambda x: 2 * rosenbrock(x), bounds, constraints=ball, x0=x0, seed=1, budget=600
    )
    assert result.fun == pytest.approx(plain.fun, rel=1e-4)
    assert result.njev > 0


def test_under_constraints_a_gradient_costs_no_evaluations():
    """Wide differences of the constraints beside an exact gradient must not delay the end."""
    ball = {"type": "ineq", "fun": lambda x: 1.5 - x @ x}
    found = [
        uaos.minimize(rosenbrock, [(-2, 2)] * 5, constraints=ball, seed=1, jac=jac)
        for jac in (slope, None)
    ]
    assert found[0].fun == pytest.approx(found[1].fun, rel=1e-6)
    assert found[0].nfev < 1.2 * found[1].nfev


def test_gradients_of_constraints_take_the_place_of_differences():
    """A run of SQP needs one point per step, and a shorter gradient at a held coordinate."""
    ball = {"type": "ineq", "fun": lambda x: 1.5 - x @ x}
    line = SimpleNamespace(A=np.ones((1, 5)), lb=-9.0, ub=9.0)
    bounds, start = [(-2, 2)] * 4 + [(0.1, 0.1)], np.full(5, 0.1)
    exact, half = (
        uaos.minimize(
            rosenbrock, bounds, method="SQP", constraints=[limit, line], x0=start, jac=slope
        )
        for limit in ({**ball, "jac": lambda x: -2 * x}, ball)
    )
    assert exact.success
    assert exact.fun == pytest.approx(half.fun, rel=1e-6)
    assert exact.nfev < 0.4 * half.nfev


def test_a_gradient_of_a_constraint_that_fails_is_replaced_by_differences():
    ball = {"type": "ineq", "fun": lambda x: 1.5 - x @ x, "jac": lambda x: np.full(3, np.nan)}
    result = uaos.minimize(rosenbrock, [(-2, 2)] * 3, constraints=ball, jac=slope, seed=1)
    assert result.success
    wrong = {**ball, "jac": lambda x: np.ones(2)}
    with pytest.raises(InvalidFeedback, match=r"expected \(M, 3\)"):
        uaos.minimize(rosenbrock, [(-2, 2)] * 3, constraints=wrong, jac=slope, seed=1)


def test_what_is_no_gradient_is_said():
    with raises(InvalidParameter, name="jac", value="2-point"):
        uaos.minimize(rosenbrock, BOX, jac="2-point")
    with pytest.raises(InvalidFeedback, match="expected \\(4,\\)"):
        uaos.minimize(rosenbrock, BOX, jac=lambda x: [1.0, 2.0], method="BFGS")
    with pytest.raises(InvalidFeedback, match="value, gradient"):
        uaos.minimize(rosenbrock, BOX, jac=True, method="BFGS")


def test_a_vectorized_gradient_gets_the_batch():
    result = uaos.minimize(
        lambda X: (X**2).sum(axis=1), BOX, jac=lambda X: 2 * X, vectorized=True, method="BFGS"
    )
    assert result.fun < 1e-12
    assert result.njev > 0
