"""Problems know their minimum."""

import pickle

import cocoex
import numpy as np
import pytest
from raising import raises

from uaos.errors import InvalidParameter
from uaos.problems import BBOB, Problem, Suite, ackley, rastrigin, rosenbrock, sphere
from uaos.problems.bbob import DIMENSIONS, GROUPS, TITLES


@pytest.mark.parametrize("dimension", [2, 5, 20, 40])
@pytest.mark.parametrize("function", range(1, 25))
def test_a_bbob_problem_equals_that_of_coco(function: int, dimension: int) -> None:
    """Values are the same to the last bit, inside and outside the box and near the optimum."""
    instance = 1 + (7 * function + dimension) % 60
    problem = BBOB(function, dimension, instance)
    theirs = cocoex.BareProblem("bbob", function, dimension, instance)
    rng = np.random.default_rng(function)
    near = np.array(theirs.best_parameter()) + 1e-4 * rng.standard_normal((5, dimension))
    drawn = rng.uniform(-5, 5, (10, dimension)), rng.uniform(-9, 9, (5, dimension))
    points = np.concatenate([*drawn, near, np.zeros((1, dimension))])
    assert problem.evaluate(points).tolist() == [theirs(x) for x in points]
    assert problem.optimum == theirs.best_value()
    assert (problem.low == -5).all()
    assert (problem.high == 5).all()


def test_a_bbob_problem_is_least_at_its_optimum() -> None:
    """No function falls below its optimum, which the sphere reaches."""
    for function in range(1, 25):
        problem = BBOB(function, 2, 1)
        points = np.random.default_rng(function).uniform(-5, 5, (50, 2))
        assert (problem.evaluate(points) >= problem.optimum).all()
    sphere_problem, theirs = BBOB(1, 2, 1), cocoex.BareProblem("bbob", 1, 2, 1)
    assert sphere_problem(theirs.best_parameter()) == sphere_problem.optimum


def test_a_problem_survives_pickling() -> None:
    problem = pickle.loads(pickle.dumps(BBOB(8, 20, 7)))
    assert problem.key == (8, 20, 7)
    assert problem.name == "f8 i7 20-D"
    assert (problem.function, problem.group) == ("f8", "moderate")
    assert problem.title == "f8 Rosenbrock, 20-D, instance 7"


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((0,), "function"),
        ((25,), "function"),
        ((1.5,), "function"),
        ((1, 4), "dimension"),
        ((1, 20, 0), "instance"),
    ],
)
def test_a_problem_that_does_not_exist_is_refused(arguments: tuple, name: str) -> None:
    with raises(InvalidParameter, name=name):
        BBOB(*arguments)


@pytest.mark.parametrize("length", [0, 1, 19, 21])
def test_a_point_of_another_length_is_refused(length: int) -> None:
    with raises(InvalidParameter, name="x"):
        BBOB(1, 20)(np.zeros(length))


def test_the_classes_cover_the_24_functions() -> None:
    assert [f for functions in GROUPS.values() for f in functions] == list(TITLES)
    assert list(TITLES) == [f"f{n}" for n in range(1, 25)]
    assert 20 in DIMENSIONS


@pytest.mark.parametrize(
    ("function", "where"), [(sphere, 0), (rosenbrock, 1), (rastrigin, 0), (ackley, 0)]
)
def test_an_analytic_function_is_zero_at_its_minimum_only(function, where: float) -> None:
    least = np.full(4, where, dtype=float)
    assert function(least) == pytest.approx(0, abs=1e-12)
    others = np.random.default_rng(1).uniform(-3, 3, (50, 4))
    values = function(others)
    assert values.shape == (50,)
    assert (values > 0).all()
    assert values[7] == pytest.approx(float(function(others[7])))


@pytest.mark.parametrize("problem", [Problem(sphere, [(-5, 5)] * 2), BBOB(1, dimension=2)])
@pytest.mark.parametrize("name", ["fun", "name", "group", "optimum", "space", "dimension", "new"])
def test_a_problem_cannot_be_changed(problem: Problem, name: str) -> None:
    """No attribute can be set or deleted once a problem is made."""
    with pytest.raises(AttributeError):
        setattr(problem, name, None)
    with pytest.raises(AttributeError):
        delattr(problem, name)


def test_the_bounds_of_a_problem_cannot_be_changed() -> None:
    """The arrays of a problem are its own, and read-only."""
    bounds = np.array([(-5.0, 5.0)] * 2)
    problem = Problem(sphere, bounds)
    bounds[:] = 0.0
    assert problem.low.tolist() == [-5.0, -5.0]
    with pytest.raises(ValueError, match="read-only"):
        problem.low[0] = 0.0


def test_a_suite_leaves_the_problems_of_the_user_as_they_are() -> None:
    """A suite sets the group in a copy."""
    problem = Problem(sphere, [(-5, 5)] * 2)
    suite = Suite("one", [problem])
    assert (problem.group, suite[0].group) == (None, "one")
    assert suite[0].fun is problem.fun


def test_hundreds_of_integers_are_counted_without_a_warning() -> None:
    """There are 21^300 points, more than a float can tell; a warning would fail the test."""
    problem = Problem(sphere, [(0, 20)] * 300, integrality=[True] * 300)
    assert problem.space.size == np.inf
