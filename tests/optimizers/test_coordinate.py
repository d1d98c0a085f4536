"""Coordinate search: STEP on lines, the test of separability, failures, exact resume, BBOB."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from raising import raises

from uaos.errors import InvalidParameter
from uaos.optimizers.coordinate import CoordinateSearch, _choose


def rastrigin(x):
    z = x - 0.7
    return (10 * (1 - np.cos(2 * np.pi * z)) + z**2).sum(axis=1)


def rosenbrock(x):
    return (100 * (x[:, 1:] - x[:, :-1] ** 2) ** 2 + (1 - x[:, :-1]) ** 2).sum(axis=1)


def run(optimizer, fun, *, until_converged=False):
    while not (optimizer.done or (until_converged and optimizer.converged)):
        optimizer.tell(fun(optimizer.ask()))
    return optimizer


def chosen(x, y, *, state=(0, 0, 0), points=100):
    x, y = np.array(x, float), np.array(y, float)
    state = np.array(state)
    forecast = np.zeros(2)
    index, at = _choose(x, y, len(x), x[0], x[-1], state, forecast, points, 1.5)
    return int(index), float(at), int(state[0]), forecast


def test_the_easiest_interval_is_split():
    """With ε = 4e-6: (√4 + √0)²/1² ≈ 4 for [0, 1] but (√0 + √4)²/2² ≈ 1 for [1, 3]."""
    assert chosen([0, 1, 3], [4, 0, 4])[:2] == (2, 2.0)


def test_a_failure_counts_like_the_worst_value():
    """Ends of value 4, 0, (4): the intervals [1, 3] and [3, 4] have difficulties 1 and 16."""
    assert chosen([0, 1, 3, 4], [4, 0, np.inf, 4])[:2] == (2, 2.0)


def test_refining_goes_to_the_vertex_of_the_parabola():
    """(x - 2)² at 0, 1.5, 4: the vertex is 2, in the interval after 1.5, and 0 is expected."""
    index, at, status, forecast = chosen([0, 1.5, 4], [4, 0.25, 4], state=(1, 0, 0))
    assert (index, status) == (2, 1)
    assert at == pytest.approx(2)
    assert forecast[0] == pytest.approx(0)


def test_a_separable_multimodal_function_is_solved():
    found = run(CoordinateSearch([(-5, 5)] * 10, seed=1, target=1e-8), rastrigin)
    assert found.separable
    assert found.evaluations < 1500
    assert np.allclose(found.best_x, 0.7, atol=1e-5)


def test_lines_of_a_separable_function_share_batches():
    found = CoordinateSearch([(-5, 5)] * 10, seed=1)
    found.tell(rastrigin(found.ask()))
    points = found.ask()
    assert points.shape == (10, 10)
    assert (points != 0).sum(axis=1).tolist() == [1] * 10


def test_the_best_coordinates_meet_when_the_lines_have_8_points():
    batches = []
    search = CoordinateSearch([(-4.0, 4.0)] * 5, seed=1, budget=60)
    while not search.done:
        points = search.ask()
        batches.append(len(points))
        search.tell(np.floor(np.abs(points - 2.7)).sum(axis=1))
    # 1 + 1 + 2·3 points; 7 batches bring each line from 1 point to 8; then the one of all lines.
    assert batches[:9] == [8, 5, 5, 5, 5, 5, 5, 5, 1]
    assert search.best_fitness == 0  # plateaus of width 2 on lines of length 8


def test_the_test_of_separability_takes_a_start_and_a_mixture_per_bit():
    """D = 20 has numbers of five bits: x, z and 2·5 mixtures."""
    found = CoordinateSearch([(-5, 5)] * 20, seed=1)
    assert found.ask().shape == (12, 20)
    found.tell(rosenbrock(found.ask()))
    assert not found.separable
    assert len(found.ask()) == 1


@pytest.mark.parametrize("pair", [(0, 1), (2, 5), (3, 6)])
def test_an_interaction_of_any_two_coordinates_is_noticed(pair):
    def fun(x):
        return rastrigin(x) + 1e-3 * x[:, pair[0]] * x[:, pair[1]]

    found = CoordinateSearch([(-5, 5)] * 7, seed=1, separable_only=True, restarts=False)
    run(found, fun)
    assert not found.separable
    assert found.converged
    assert found.evaluations == 8


def test_without_bounds_a_far_point_hides_no_interaction():
    """Within 1e6 times x0, where other runs may start, x0⁴ is all that the values show."""
    found = CoordinateSearch([(-np.inf, np.inf)] * 3, seed=3, x0=[2.0, 5.0, 1.0])
    points = found.ask()
    found.tell(points[:, 0] ** 4 + (points[:, 1] - points[:, 2]) ** 2)
    assert not found.separable


def test_rounding_errors_are_no_interaction():
    found = CoordinateSearch([(-5, 5)] * 20, seed=1)
    found.tell(1e6 + 1e3 * rastrigin(found.ask()))
    assert found.separable


def test_sweeps_improve_on_a_function_that_is_not_separable():
    found = CoordinateSearch([(-2, 2)] * 3, seed=1, restarts=False, sweeps=3)
    run(found, rosenbrock)
    assert found.converged
    assert found.best_fitness < 1.5  # it is 2 at the start


def test_an_optimum_in_a_corner_is_met_exactly():
    found = run(CoordinateSearch([(-5, 5)] * 3, restarts=False), lambda x: x @ [-1.0, 2.0, -0.01])
    assert found.best_x.tolist() == [5, -5, 5]
    assert found.converged
    assert found.done


def test_one_dimension():
    found = run(CoordinateSearch([(-5, 5)], target=1e-10), rastrigin)
    assert found.on_target
    assert found.best_x == pytest.approx(0.7, abs=1e-5)


@pytest.mark.parametrize("D", [1, 3])
@pytest.mark.parametrize(
    "fun",
    [
        lambda x: np.ones(len(x)),
        lambda x: np.full(len(x), np.nan),
        lambda x: np.floor(3 * np.abs(x - 0.1)).sum(axis=1),
        lambda x: np.where(x[:, 0] > 0, 1e307, -1e307) * np.abs(x).max(axis=1),
        lambda x: 1e-300 * rastrigin(x),
        lambda x: np.sign(x).sum(axis=1),
    ],
    ids=["flat", "failures", "steps", "huge", "tiny", "jump"],
)
def test_hard_functions_end_cleanly(fun, D):
    found = run(CoordinateSearch([(-5, 5)] * D, seed=3, restarts=False), fun)
    assert found.converged


def test_failed_evaluations_are_survived():
    """Half of the box fails, the starting point included."""

    def fun(x):
        return np.where(x[:, 0] < 0.1, np.nan, rastrigin(x))

    found = run(CoordinateSearch([(-5, 5)] * 2, seed=1, restarts=False), fun)
    assert found.best_fitness < 1e-8


def test_points_stay_inside_the_box():
    def fun(x):
        assert (x >= [-5, 1, 0]).all()
        assert (x <= [-4, 1.5, 1e-9]).all()
        return rosenbrock(x)

    run(CoordinateSearch([(-5, -4), (1, 1.5), (0, 1e-9)], seed=2, budget=3000), fun)


def test_a_line_has_at_most_the_given_points():
    """x = 0 is known; each line gets up to 40 points and 60 for refining the best."""
    found = CoordinateSearch([(-5, 5)] * 2, seed=1, points=40, sweeps=1, restarts=False)
    run(found, lambda x: np.sin(1e5 * x).sum(axis=1))
    assert found.evaluations <= 4 + 2 * (40 + 60) + 1


@pytest.mark.parametrize("budget", [1, 5, 12, 13, 40, 555])
def test_the_budget_is_exact(budget):
    for fun in (rastrigin, rosenbrock):
        found = run(CoordinateSearch([(-5, 5)] * 5, seed=1, budget=budget), fun)
        assert found.evaluations == budget


def test_restarts_continue_after_convergence():
    found = CoordinateSearch([(-2, 2)] * 3, seed=1)
    run(found, rosenbrock, until_converged=True)
    ended = found.evaluations
    found.tell(rosenbrock(found.ask()))
    assert not found.converged
    assert found.restarts == 1
    assert found.evaluations > ended


SCRIPT = """
import json, sys
import numpy as np
from uaos import jit
from uaos.optimizers.coordinate import CoordinateSearch
jit.PATIENCE = 0.0  # compiled at once
report = []
for coupling in (0.0, 1.0):
    optimizer = CoordinateSearch([(-1, 5)] * 3, seed=5, budget=600)
    while not optimizer.done:
        x = optimizer.ask()
        optimizer.tell((x**2 - np.cos(9 * x)).sum(axis=1) + coupling * x[:, 0] * x[:, 1])
        report.append([float(v).hex() for v in x[-1]])
json.dump(report, sys.stdout)
"""


def test_compiled_and_interpreted_kernels_agree_to_the_last_bit():
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_DISABLE_JIT"}
    reports = [
        json.loads(
            subprocess.run(
                [sys.executable, "-c", SCRIPT],
                env=environment | extra, capture_output=True, text=True, check=True,
            ).stdout
        )
        for extra in ({}, {"NUMBA_DISABLE_JIT": "1"})
    ]  # fmt: skip
    assert len(reports[0]) > 500
    assert reports[0] == reports[1]


@pytest.mark.parametrize(
    ("argument", "value"), [("points", 2), ("sweeps", 0), ("restarts", 1), ("separable_only", "no")]
)
def test_wrong_arguments_are_named(argument, value):
    with raises(InvalidParameter, name=argument):
        CoordinateSearch([(-5, 5)] * 2, **{argument: value})


@pytest.mark.parametrize(("function", "most"), [(1, 100), (2, 400), (3, 600), (4, 3000), (5, 50)])
def test_bbob_functions_in_5_d_are_solved(function, most):
    cocoex = pytest.importorskip("cocoex")
    for instance in (41, 42, 43):
        problem = cocoex.BareProblem("bbob", function, 5, instance)
        found = CoordinateSearch(
            [(-5, 5)] * 5, seed=1, budget=most, target=problem.best_value() + 1e-8
        )
        run(found, lambda x: [problem(row) for row in x])  # noqa: B023
        assert found.on_target
