"""Benchmarks on noisy problems judge the points that a method recommends by their true values."""

import numpy as np
import pytest

import uaos
from uaos.errors import InvalidParameter
from uaos.experiments import Plan, run_unit

BOX = [(-5.0, 5.0)] * 3


def sphere(x):
    return float(np.sum((x - 1.0) ** 2))


def noisy_problem(**arguments):
    rng = np.random.default_rng(1)
    return uaos.Problem(
        lambda x: sphere(x) + 0.3 * rng.standard_normal(), BOX, name="noisy", **arguments
    )


def outcome(problem, method, budget=600):
    plan = Plan.of([method], uaos.Suite("own", [problem]), budget=budget)
    unit = next(plan.units())
    return run_unit(unit, plan.suite[unit.problem], plan.competitors[unit.method]).outcome


@pytest.mark.parametrize("method", ["portfolio", "mix"])
def test_true_values_count(method):
    """The error is that of a recommended point, which is never below 0."""
    measured = outcome(noisy_problem(true=sphere, optimum=0.0), method)
    assert measured.evaluations == 600
    assert 0 <= measured.error == measured.best < 1.0
    assert (measured.trace.values > 0).all()
    assert not measured.solved


def test_true_values_of_named_variables_count():
    """The recommended point reaches `true` as a dict."""

    def true(p):
        return (p["x"] - 1.0) ** 2 + (p["k"] != "b")

    rng = np.random.default_rng(1)
    problem = uaos.Problem(
        lambda p: true(p) + 0.1 * rng.standard_normal(),
        {"x": uaos.Real(-5, 5), "k": uaos.Categorical(list("abc"))},
        name="noisy", true=true, optimum=0.0,
    )  # fmt: skip
    assert 0 <= outcome(problem, "mix", budget=200).best < 0.5


def test_without_true_values_the_luckiest_counts():
    """If only noisy values are known, they are all there is."""
    assert outcome(noisy_problem(), "CMA-ES").best < 0


def test_true_values_of_points():
    """`true` is called like `fun`."""
    problem = noisy_problem(true=sphere)
    assert problem.true_values(np.ones((2, 3))).tolist() == [0.0, 0.0]
    assert uaos.Problem(sphere, BOX).true_values(np.zeros((1, 3))).tolist() == [3.0]


def test_true_is_a_function():
    """Anything else is refused by name."""
    with pytest.raises(InvalidParameter, match="true is 3; expected a function") as caught:
        noisy_problem(true=3)
    assert caught.value.name == "true"
