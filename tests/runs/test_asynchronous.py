"""Asynchronous runs keep their workers busy, and their logs repeat them."""

import os
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from raising import raises

import uaos
from uaos.errors import InvalidFeedback, InvalidParameter
from uaos.runs.callers import caller

BOX = [(-5.0, 5.0)] * 3


def bowl(x):
    return float((x - 1) @ (x - 1))


def uneven(x):
    time.sleep(0.002 * np.random.default_rng().random())
    return bowl(x)


def valley(x):
    return float(100 * np.sum((x[1:] - x[:-1] ** 2) ** 2) + np.sum((1 - x) ** 2))


def uneven_valley(x):
    time.sleep(0.002 * np.random.default_rng().random())
    return valley(x)


def dies_at_large_values(x):
    if x[0] > 4.0:
        os._exit(7)
    return bowl(x)


@pytest.mark.parametrize("method", ["portfolio", "BFGS"])
def test_points_in_advance_are_in_the_log(method):
    """Eight workers evaluate gradients in advance; so does the run that repeats theirs."""
    options = {"seed": 1, "budget": 150, "method": method, "record": "points"}
    with ThreadPoolExecutor(8) as executor:
        result = uaos.minimize(uneven_valley, BOX, workers=executor, schedule="async", **options)
    again = uaos.minimize(valley, BOX, schedule=result.log, **options)
    np.testing.assert_array_equal(again.X, result.X)
    assert again.log.tolist() == result.log.tolist()
    assert result.nfev == 150


@pytest.mark.parametrize(("method", "budget"), [(None, 210), ("BFGS", 300)])
def test_one_worker_evaluates_nothing_in_advance(method, budget):
    """Then asynchronous and synchronous runs are the same.

    That is, until CMA-ES takes over: it has no generations there, and sums are rounded differently.
    """
    options = {"seed": 1, "budget": budget, "record": "points", "noise": False, "method": method}
    runs = [uaos.minimize(valley, BOX, schedule=name, **options) for name in ("sync", "async")]
    np.testing.assert_array_equal(runs[0].X, runs[1].X)


@pytest.mark.parametrize("pool", ["processes", "executor", "alone"])
def test_the_log_repeats_the_run(pool):
    with ThreadPoolExecutor(4) as executor:
        workers = {"processes": 4, "executor": executor, "alone": 1}[pool]
        result = uaos.minimize(uneven, BOX, seed=1, budget=200, workers=workers, schedule="async")
    again = uaos.minimize(bowl, BOX, seed=1, budget=200, schedule=result.log)
    assert (result.nfev, result.status) == (200, 1)
    assert again.x.tolist() == result.x.tolist()
    assert again.log.tolist() == result.log.tolist()
    assert result.fun == bowl(result.x)


@pytest.mark.parametrize("schedule", ["sync", "async"])
def test_a_dask_cluster_evaluates(schedule):
    """A client, and its executor, have as many points out as the cluster has threads."""
    distributed = pytest.importorskip("distributed")
    with distributed.Client(
        n_workers=2, threads_per_worker=2, processes=False, dashboard_address="127.0.0.1:0"
    ) as client:
        runs = [
            uaos.minimize(uneven, BOX, seed=1, budget=60, workers=workers, schedule=schedule)
            for workers in (client, client.get_executor())
        ]
    for result in runs:
        again = result.log if schedule == "async" else "sync"
        assert result.log is None or result.log[0] == 4
        serial = uaos.minimize(bowl, BOX, seed=1, budget=60, schedule=again)
        assert (result.nfev, result.x.tolist()) == (60, serial.x.tolist())


def test_a_dask_cluster_evaluates_a_point_again():
    """Otherwise noise would not be noticed."""
    distributed = pytest.importorskip("distributed")
    with distributed.Client(
        n_workers=1, threads_per_worker=4, processes=False, dashboard_address="127.0.0.1:0"
    ) as client:
        values = caller(lambda x: np.random.default_rng().random(), client)(np.zeros((4, 2)))
    assert len(set(values)) == 4


def test_a_worker_that_dies_costs_its_point():
    with pytest.warns(RuntimeWarning, match=r"a worker process died \(exit code 7\)"):
        result = uaos.minimize(
            dies_at_large_values, BOX, seed=1, budget=80, workers=3, schedule="async", method="mix"
        )
    assert result.nfev == 80
    assert result.fun < 20


def test_an_exception_and_ctrl_c_end_the_run():
    calls = []

    def fails(x):
        calls.append(x)
        if len(calls) == 20:
            raise KeyboardInterrupt
        if len(calls) == 40:
            raise ArithmeticError("forty")
        return bowl(x)

    interrupted = uaos.minimize(fails, BOX, budget=100, schedule="async")
    assert (interrupted.status, interrupted.nfev) == (6, 19)
    with pytest.raises(ArithmeticError, match="forty"):
        uaos.minimize(fails, BOX, budget=100, schedule="async")


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"schedule": "async", "workers": map}, "workers"),
        ({"schedule": [4, 1, 99]}, "schedule"),
        ({"schedule": [-1]}, "schedule"),
    ],
)
def test_what_it_cannot_do_is_said(arguments, name):
    with raises(InvalidParameter, name=name):
        uaos.minimize(bowl, BOX, budget=50, **arguments)


def test_the_last_batch_of_cma_es_may_be_cut_to_the_budget():
    """Two workers and an odd budget: one point of the last pair is left."""
    with ThreadPoolExecutor(2) as executor:
        for budget in (39, 40, 41):
            result = uaos.minimize(
                bowl, BOX, seed=1, budget=budget, method="CMA-ES", workers=executor,
                schedule="async",
            )  # fmt: skip
            assert result.nfev == budget


def test_a_run_that_was_continued_has_no_log(tmp_path):
    """The log would not tell what happened before."""
    options = {"seed": 1, "schedule": "async", "checkpoint": tmp_path / "run.state"}
    first = uaos.minimize(bowl, BOX, budget=60, maxiter=20, **options)
    assert first.log is not None
    assert uaos.minimize(bowl, BOX, budget=60, **options).log is None


@pytest.mark.parametrize("seed", [1, 2])
def test_the_last_generation_has_as_many_operators_as_points(seed):
    """While other points are out, fewer than `remaining` can be evaluated."""
    with ThreadPoolExecutor(2) as executor:
        result = uaos.minimize(
            uneven, [(0.0, 1.0)] * 5, seed=seed, budget=400, method="Compass-tuned",
            workers=executor, schedule="async", noise=False,
        )  # fmt: skip
    assert result.nfev == 400


def corner(x):
    return float(x[0] + x[1])


def outside_disc(x):
    return float(x[0] ** 2 + x[1] ** 2)


DISC = {"type": "ineq", "fun": lambda x: 1.0 - outside_disc(x)}


@pytest.mark.parametrize("budget", [80, 800])
def test_constraints(budget):
    """The optimum of x + y in the unit disc is -√2; a log repeats the run."""
    options = {"seed": 1, "budget": budget, "constraints": DISC, "record": "points"}
    with ThreadPoolExecutor(4) as executor:
        result = uaos.minimize(
            corner, [(-2, 2)] * 2, workers=executor, schedule="async", **options
        )  # fmt: skip
    assert result.fun == pytest.approx(-np.sqrt(2), abs=1e-6)
    assert result.maxcv == 0
    excess = np.maximum(0, [outside_disc(x) - 1 for x in result.X])
    np.testing.assert_array_equal(result.violations > 0, excess > 0)
    again = uaos.minimize(corner, [(-2, 2)] * 2, schedule=result.log, **options)
    assert again.x.tolist() == result.x.tolist()
    np.testing.assert_array_equal(again.X, result.X)


def test_constraints_on_processes():
    """Constraints are evaluated by the workers, as the objective is."""
    result = uaos.minimize(
        corner, [(-2, 2)] * 2, seed=1, budget=60, workers=2, schedule="async", constraints=DISC,
    )  # fmt: skip
    assert result.fun == pytest.approx(-np.sqrt(2), abs=1e-6)


@pytest.mark.parametrize("method", ["mix", "CMA-ES"])
def test_infeasible_points_are_not_evaluated(method):
    """Only SQP needs values there."""

    def objective(x):
        assert outside_disc(x) <= 1
        return corner(x)

    result = uaos.minimize(
        objective, [(-2, 2)] * 2, seed=1, budget=300, method=method, schedule="async",
        constraints=DISC,
    )  # fmt: skip
    assert result.maxcv == 0


def test_constraints_that_fail_are_violated():
    """With on_error="fail" an exception of a constraint is an infinite violation."""

    def fails(x):
        if x[0] > 0:
            raise ValueError
        return 1.0 - outside_disc(x)

    result = uaos.minimize(
        corner, [(-2, 2)] * 2, seed=1, budget=60, x0=[1.0, 1.0], schedule="async",
        constraints={"type": "ineq", "fun": fails}, on_error="fail",
    )  # fmt: skip
    assert result.nfev == 60 or result.success
    assert result.x[0] <= 0


def test_known_values_under_constraints():
    """A known value is not evaluated again, but its constraints are."""
    called = []

    def objective(x):
        called.append(x.tolist())
        return corner(x)

    known = (np.array([[0.5, 0.5], [-0.5, 0.5]]), np.array([1.0, 0.0]), np.zeros(2))
    uaos.minimize(
        objective, [(-2, 2)] * 2, seed=1, budget=20, known=known, schedule="async",
        constraints=DISC,
    )  # fmt: skip
    assert [-0.5, 0.5] not in called


class KilledWorker(Exception):
    """Named as the exception with which Dask gives up a call."""


class LosingExecutor(ThreadPoolExecutor):
    """Executor whose workers die of large values, as those of a Dask cluster may."""

    def submit(self, function, *arguments):
        def call():
            if (np.atleast_2d(arguments[-1])[:, 0] > 1.5).any():
                raise KilledWorker("four workers died")
            return function(*arguments)

        return super().submit(call)


@pytest.mark.parametrize("schedule", ["sync", "async"])
def test_workers_of_a_cluster_that_die_cost_their_point(schedule):
    """In a chunk of points only the one that kills its workers is lost."""
    with LosingExecutor(2) as executor, pytest.warns(RuntimeWarning, match="four workers died"):
        result = uaos.minimize(
            bowl, BOX, seed=1, budget=60, workers=executor, schedule=schedule, method="mix",
            record="points",
        )  # fmt: skip
    assert result.nfev == 60
    np.testing.assert_array_equal(np.isnan(result.F), result.X[:, 0] > 1.5)


def valley_gradient(x):
    gradient = np.zeros_like(x)
    gradient[:-1] = -400 * x[:-1] * (x[1:] - x[:-1] ** 2) - 2 * (1 - x[:-1])
    gradient[1:] += 200 * (x[1:] - x[:-1] ** 2)
    return gradient


def valley_and_gradient(x):
    time.sleep(0.002 * np.random.default_rng().random())
    return valley(x), valley_gradient(x)


def test_one_worker_uses_gradients_as_a_synchronous_run_does():
    options = {"seed": 1, "budget": 60, "record": "points", "noise": False, "method": "BFGS"}
    runs = [
        uaos.minimize(valley, BOX, jac=valley_gradient, schedule=name, **options)
        for name in ("sync", "async")
    ]
    np.testing.assert_array_equal(runs[0].X, runs[1].X)
    assert runs[0].njev == runs[1].njev > 10


@pytest.mark.parametrize("threads", [False, True])
@pytest.mark.parametrize("constraints", [None, DISC])
def test_workers_evaluate_gradients(threads, constraints):
    """The function that returns both is called once per point; a log repeats the run."""
    options = {"seed": 1, "budget": 120, "constraints": constraints, "record": "points"}
    with ThreadPoolExecutor(4) as executor:
        result = uaos.minimize(
            valley_and_gradient, BOX, jac=True, schedule="async",
            workers=executor if threads else 2, **options,
        )  # fmt: skip
    assert result.njev > 5
    again = uaos.minimize(valley, BOX, jac=valley_gradient, schedule=result.log, **options)
    np.testing.assert_array_equal(again.X, result.X)
    assert again.njev == result.njev


@pytest.mark.parametrize(
    ("gradient", "error", "message"),
    [
        (lambda x: [][0], IndexError, "out of range"),
        (lambda x: x[:2], InvalidFeedback, r"jac returned shape \(2,\); expected \(3,\)"),
    ],
)
def test_a_gradient_that_fails_ends_the_run(gradient, error, message):
    with pytest.raises(error, match=message):
        uaos.minimize(valley, BOX, jac=gradient, budget=60, seed=1, schedule="async")


def test_a_gradient_that_fails_may_count_as_unknown():
    """With on_error="fail" differences take its place."""
    result = uaos.minimize(
        valley, BOX, jac=lambda x: [][0], budget=200, seed=1, schedule="async", on_error="fail",
    )  # fmt: skip
    assert result.fun < 1e-6
