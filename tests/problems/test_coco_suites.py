"""COCO's suites beside BBOB: their problems, optima, constraints and integers."""

import pickle

import numpy as np
import pytest

import uaos
from uaos.errors import InvalidParameter
from uaos.experiments import Plan, run_unit
from uaos.problems import built_in_suite, titles
from uaos.problems.coco import SUITES

pytest.importorskip("cocoex")

# Suite, a function, its group, the optimum of instance 3 (two decimals, but with constraints).
CASES = [
    ("bbob-constrained", 1, "sphere", -2262.645568),
    ("bbob-mixint", 1, "separable", -247.11),
    ("bbob-largescale", 1, "separable", -247.11),
    ("bbob-noisy", 101, "moderate noise", -247.11),
]


def one(name, function=None, **part):
    """Return a small problem of a suite."""
    dimension = part.pop("dimension", SUITES[name].dimensions[0])
    functions = str(function or SUITES[name].first)
    return uaos.suite(name, dimension=dimension, functions=functions, instances="3", **part)[0]


@pytest.mark.parametrize(("name", "function", "group", "optimum"), CASES)
def test_a_problem_has_group_title_and_optimum(name, function, group, optimum):
    dimension = {"bbob-constrained": 5}.get(name)
    problem = one(name, function, **({"dimension": dimension} if dimension else {}))
    assert problem.group == group
    assert problem.optimum == pytest.approx(optimum, abs=1e-9)
    assert problem.title.startswith(f"f{function} sphere")
    assert titles(name)[f"f{function}"].startswith("sphere")


def test_every_function_has_a_group_and_a_title():
    for about in SUITES.values():
        grouped = [number for members in about.groups.values() for number in members]
        assert sorted(grouped) == list(about.functions)
        assert list(about.titles) == [f"f{number}" for number in about.functions]


def test_constraints_and_the_feasible_point_to_start_from_are_those_of_coco():
    problem = one("bbob-constrained", 2)
    assert problem.constrained
    assert (problem.constraints.fun(np.array(problem.x0)) <= 0).all()
    result = uaos.minimize(problem, budget=400, seed=1)
    assert result.maxcv == 0
    assert result.fun >= problem.optimum - 1e-9


def test_integers_come_first_and_their_bounds_are_kept():
    problem = one("bbob-mixint")
    assert problem.space.integrality.tolist() == [1, 1, 1, 1, 0]
    assert problem.high.tolist() == [1, 3, 7, 15, 5]
    assert not problem.outside_allowed
    assert one("bbob-largescale").outside_allowed


def test_noise_starts_anew_with_every_run():
    problem = one("bbob-noisy", 107)
    values = [uaos.minimize(problem, budget=60, seed=1, noise=False).fun for _ in range(2)]
    assert values[0] == values[1]


@pytest.mark.parametrize("name", SUITES)
def test_benchmarks_run_on_the_suite(name):
    problem = one(name)
    plan = Plan.of(["portfolio"], uaos.Suite(name, [problem]), budget=60)
    unit = next(plan.units())
    outcome = run_unit(unit, problem, plan.competitors[unit.method]).outcome
    assert outcome.status == "done"
    assert outcome.evaluations <= 60
    assert outcome.error > -1e-9


@pytest.mark.parametrize("name", ["bbob-mixint", "bbob-noisy"])
def test_problems_travel_to_workers_and_come_back_from_stores(name):
    problem = one(name)
    again = pickle.loads(pickle.dumps(problem))
    assert (again.name, again.optimum) == (problem.name, problem.optimum)
    stored = built_in_suite(name, [(problem.function, problem.dimension, problem.instance)])
    assert stored.names == (problem.name,)
    assert stored[0].optimum == problem.optimum


@pytest.mark.parametrize(
    "part", [{"dimension": 7}, {"functions": "25"}, {"instances": "test"}, {"instances": "0"}]
)
def test_parts_that_do_not_exist_are_refused(part):
    with pytest.raises(InvalidParameter, match=next(iter(part))):
        uaos.suite("bbob-mixint", **part)


def test_a_problem_may_bring_the_point_to_start_from():
    problem = uaos.Problem(
        lambda x: float((x - 2) @ (x - 2)), [(0, np.inf)] * 2, name="bowl", x0=[1, 1]
    )
    assert np.allclose(uaos.minimize(problem, seed=1).x, 2)


#: The function of BBOB behind each three of bbob-noisy, from f101 on, that BBOB has.
BEHIND = {101: 1, 104: 8, 107: 1, 110: 8, 113: 7, 119: 14, 122: 17, 128: 21}


@pytest.mark.parametrize("function", range(101, 131))
def test_true_values_have_no_noise(function):
    """They are those of BBOB where it has the function, the same for each kind of noise."""
    points = np.random.default_rng(function).uniform(-5, 5, (4, 5))
    first = function - (function - 101) % 3
    problem, gaussian = (one("bbob-noisy", f, dimension=5) for f in (function, first))
    values = problem.true_values(points)
    assert np.array_equal(values, problem.true_values(points))
    assert problem.optimum == gaussian.optimum < values.min()
    if first in BEHIND:
        plain = uaos.suite("bbob", dimension=5, functions=str(BEHIND[first]), instances="3")[0]
        assert values == pytest.approx(plain.evaluate(points), rel=1e-11, abs=1e-11)
        assert problem.optimum == plain.optimum
    else:
        assert values == pytest.approx(gaussian.true_values(points), rel=1e-12)


def test_typical_gaussian_value_is_the_true_one():
    """The median of values with Gaussian noise is the value without: f exp(N(0, 1))."""
    for function in (107, 116, 125):
        problem = one("bbob-noisy", function, dimension=5)
        x = np.full(5, 3.0)
        noisy = np.median([problem(x) for _ in range(4001)]) - problem.optimum
        true = problem.true_values(x[None])[0] - problem.optimum
        assert noisy == pytest.approx(true, rel=0.1)


def test_other_suites_have_no_noise():
    assert one("bbob-mixint").true is None
