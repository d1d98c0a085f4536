"""Known values are not evaluated again, and a record has every point that was evaluated."""

import sys

import numpy as np
import pytest
from raising import raises

import uaos
from uaos.errors import InvalidParameter, Missing
from uaos.problems import rosenbrock, sphere
from uaos.runs.memory import PointMemory

BOX = [(-5.0, 5.0)] * 3


class Counted:
    """A function that remembers where it was called."""

    def __init__(self):
        self.points = []

    def __call__(self, x):
        self.points.append(x.copy())
        return float(rosenbrock(x))


def search(**arguments):
    fun = Counted()
    arguments = {"budget": 60, "seed": 1, "record": "points"} | arguments
    return uaos.minimize(fun, BOX, **arguments), np.array(fun.points)


@pytest.fixture(scope="module")
def earlier():
    return search()[0]


@pytest.mark.parametrize("method", [None, "BFGS", "CMA-ES", "STEP", "mix", "L-SHADE"])
def test_a_search_continues_from_known_points_without_evaluating_them(method, earlier):
    """The budget counts new evaluations, and the result is no worse than what was known."""
    result, called = search(method=method, seed=2, known=(earlier.X, earlier.F))
    assert result.nfev == len(called) == len(result.F) == 60
    assert result.fun <= earlier.fun
    known = {x.tobytes() for x in earlier.X}
    assert not known & {x.tobytes() for x in called}


@pytest.mark.parametrize("method", [None, "CMA-ES", "mix"])
def test_a_budget_of_one_evaluation_is_spent_on_a_new_point(method, earlier):
    _, called = search(method=method, known=(earlier.X, earlier.F), budget=1)
    assert called.tobytes() not in {x.tobytes() for x in earlier.X}


def test_a_known_value_may_reach_the_target(earlier):
    result, called = search(known=(earlier.X, earlier.F), target=earlier.fun)
    assert (result.nfev, len(called), result.success) == (0, 0, True)
    assert (result.x == earlier.x).all()


def test_points_to_start_from_come_before_known_ones(earlier):
    _, called = search(method="BFGS", known=(earlier.X, earlier.F), x0=[1.0, 2.0, 3.0])
    assert called[0].tolist() == [1, 2, 3]


def test_failed_and_outside_points_are_left_out():
    X = [[0, 0, 0], [1, 1, 1], [9, 9, 9]]
    result, called = search(method="BFGS", known=(X, [7.0, np.nan, -1.0]), budget=1)
    assert result.fun <= 7
    assert called[0, 1:].tolist() == [0, 0]  # the first difference from the only valid point


def test_several_starting_points_are_evaluated_once():
    X = np.random.default_rng(1).uniform(-5, 5, (5, 3))
    result, called = search(method="BFGS", x0=X)
    assert (called[:5] == X).all()
    assert len({x.tobytes() for x in called}) == len(called) == result.nfev == 60


def test_under_constraints_known_points_come_with_violations():
    constraint = {"type": "ineq", "fun": lambda x: x[0] - 1}
    X, f = [[0, 0, 0], [2, 0, 0]], [0.0, 4.0]
    result = uaos.minimize(
        sphere, BOX, constraints=constraint, known=(X, f, [1.0, 0.0]), budget=40, seed=1,
        record="points",
    )  # fmt: skip
    assert result.fun <= 4
    assert len(result.X) == len(result.violations) == result.nfev == 40
    with raises(InvalidParameter, name="known"):
        uaos.minimize(sphere, BOX, constraints=constraint, known=(X, f), budget=40)


def test_named_variables_are_known_by_name():
    box = {"rate": uaos.Real(1e-3, 1, log=True), "kind": uaos.Categorical(["a", "b"])}
    result = uaos.minimize(
        lambda p: p["rate"] + (p["kind"] == "a"), box, budget=30, seed=1, record="points",
        known=([{"rate": 0.5, "kind": "b"}], [0.5]),
    )  # fmt: skip
    assert {"rate": 0.5, "kind": "b"} not in result.X
    assert result.fun == min(result.F)
    assert set(result.X[0]) == {"rate", "kind"}


@pytest.mark.parametrize(
    "known", [3, ([[0, 0, 0]],), ([[0, 0]], [1.0]), ([[0, 0, 0]], [1.0, 2.0]), ("a", "b")]
)
def test_what_is_not_known_points_is_refused(known):
    with raises(InvalidParameter, name="known"):
        search(known=known)


def test_pairs_of_a_dict_and_a_value_are_refused_with_what_is_expected():
    with raises(InvalidParameter, name="known") as caught:
        uaos.minimize(lambda p: 0.0, {"a": uaos.Real(0, 1)}, known=[({"a": 1.0}, 2.0)])
    assert "X is a list of mappings" in str(caught.value)


def test_the_record_is_the_same_on_workers(earlier):
    parallel = uaos.minimize(rosenbrock, BOX, budget=60, seed=1, workers=2, record="points")
    assert (parallel.X == earlier.X).all()
    assert (parallel.F == earlier.F).all()


def test_an_asynchronous_run_records_and_recalls(earlier):
    known = (earlier.X, earlier.F)
    arguments = {"budget": 30, "seed": 1, "record": "points", "known": known}
    first = uaos.minimize(rosenbrock, BOX, workers=2, schedule="async", **arguments)
    again = uaos.minimize(rosenbrock, BOX, schedule=first.log, **arguments)
    assert first.nfev == len(first.F) == 30
    assert (first.X == again.X).all()


def test_a_resumed_run_has_the_same_record(tmp_path, earlier):
    known = (earlier.X, earlier.F)
    whole, _ = search(seed=3, known=known)
    search(seed=3, known=known, checkpoint=tmp_path / "a", maxiter=4)
    resumed, called = search(seed=3, known=known, checkpoint=tmp_path / "a")
    assert len(called) < 60
    assert (resumed.X == whole.X).all()
    assert resumed.fun == whole.fun


def test_the_record_as_columns(earlier, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    columns = earlier.to_frame()
    assert list(columns) == ["x0", "x1", "x2", "fun"]
    assert (columns["fun"] == earlier.F).all()
    with pytest.raises(Missing, match="record"):
        uaos.minimize(sphere, BOX, budget=5, seed=1).to_frame()
    with raises(InvalidParameter, name="record"):
        search(record=True)


def test_the_values_of_a_maximum_keep_their_sign():
    arguments = {"budget": 20, "seed": 1, "record": "points"}
    result = uaos.maximize(lambda x: 1 - float(sphere(x - 1)), BOX, **arguments)
    assert result.fun == result.F.max()
    more = uaos.maximize(
        lambda x: 1 - float(sphere(x - 1)), BOX, known=(result.X, result.F), **arguments
    )
    assert more.fun >= result.fun


def test_a_known_point_may_be_evaluated_again():
    memory, x = PointMemory(record=True), np.zeros((1, 2))
    memory.learn(x, np.array([1.0]))
    with memory.unused():
        assert memory.recall(x) is None
    assert memory.recall(-x).tolist() == [1.0]  # -0.0
    assert memory.recalled == 1


@pytest.mark.parametrize("method", [None, "CMA-ES", "mix", "GP"])
def test_known_points_do_without_bounds(method):
    """With x0, and with the best known point instead of it."""
    X = np.array([[1.0, 2.0], [2.0, -1.0]])
    bounds = [(-np.inf, np.inf), (-3.0, np.inf)]
    options = {"known": (X, (X**2).sum(axis=1)), "method": method, "budget": 20, "seed": 1}
    result = uaos.minimize(sphere, x0=[4.0, 4.0], **options)
    assert result.fun == sphere(result.x) <= 5.0
    assert uaos.minimize(sphere, bounds, **options).fun <= 5.0


def test_a_record_of_nothing_has_the_dimension():
    known = np.zeros((1, 3)), [0.0]
    result, _ = search(known=known, target=1.0)
    assert result.nfev == 0
    assert result.X.shape == (0, 3)
