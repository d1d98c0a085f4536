"""Each stopping rule says when a run ends, and with which status, success and message."""

import time

import numpy as np
import pytest

import uaos
from uaos.result import Ending, Status
from uaos.runs import stopping
from uaos.runs.evaluator import Evaluator
from uaos.runs.run import Observer, Run

BOX = [(-5.0, 5.0)] * 2


# Constraints that no point meets.
NOWHERE = {"type": "ineq", "fun": lambda x: -1.0}


def bowl(x):
    return float(x @ x)


def after(batches, fun=bowl, **arguments):
    """CMA-ES after some batches."""
    optimizer = uaos.CMAES(BOX, seed=1, **arguments)
    for _ in range(batches):
        optimizer.tell([fun(x) for x in optimizer.ask()])
    return optimizer


def described(ending):
    return ending.status, ending.success, ending.message


def test_a_target_ends_a_run_with_success():
    """Any value of the bowl in the box is below 60, and none below -1."""
    rule = stopping.Target()
    assert rule(after(1)) is None
    assert rule(after(1, target=-1.0)) is None
    reached = (Status.SUCCESS, True, "the target 60 was reached")
    assert described(rule(after(1, target=60.0))) == reached


def test_a_budget_ends_a_run_without_success():
    """Six points per batch: the second of a budget of 10 is cut to four."""
    rule = stopping.Budget()
    assert rule(after(1, budget=10)) is None
    spent = (Status.BUDGET, False, "the budget of 10 evaluations is spent")
    assert described(rule(after(2, budget=10))) == spent
    default = stopping.Budget(default=True)(after(2, budget=10))
    assert default.message == "the default budget of 10 evaluations is spent"


def test_a_run_without_a_finite_value_has_failed():
    failed = after(2, fun=lambda x: np.nan, budget=10)
    for rule in (stopping.Budget(), stopping.AllFailed(10)):
        status, success, message = described(rule(failed))
        assert (status, success) == (Status.FAILED, False)
        assert message.startswith("none of 10 evaluations gave a finite value")
    assert stopping.AllFailed(11)(failed) is None
    assert stopping.AllFailed(10)(after(2)) is None


def test_a_flat_function_converges():
    rule = stopping.Converged()
    assert rule(after(1)) is None
    optimizer = after(0)
    while rule(optimizer) is None:
        optimizer.tell([bowl(x) for x in optimizer.ask()])
    assert described(rule(optimizer)) == (Status.SUCCESS, True, "converged")


def test_iterations_are_limited():
    rule = stopping.Iterations(3)
    assert rule(after(2)) is None
    reached = (Status.ITERATIONS, False, "the limit of 3 iterations is reached")
    assert described(rule(after(3))) == reached


def test_time_is_limited(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    rule = stopping.Time(2.5)
    clock[0] = 102.4
    assert rule(after(1)) is None
    clock[0] = 102.5
    reached = (Status.TIME, False, "the time limit of 2.5 s is reached")
    assert described(rule(after(1))) == reached


def test_a_callback_ends_a_run():
    space = uaos.Problem(bowl, BOX).space
    ended = (Status.CALLBACK, False, "the callback ended the run")
    for callback in (lambda view: view.nfev == 6, lambda x, convergence: next(iter([]))):
        assert described(stopping.Callback(callback, space)(after(1))) == ended
    assert stopping.Callback(lambda view: False, space)(after(1)) is None
    failed = after(1, fun=lambda x: np.nan)
    assert stopping.Callback(lambda view: True, space)(failed) is None  # there is no point to show


def test_an_infeasible_point_is_no_success():
    """A run that converged there has a status of its own; others keep theirs."""
    converged = Ending.converged().at_infeasible_point(0.25)
    assert described(converged) == (
        Status.INFEASIBLE, False, "converged; no feasible point was found (maxcv = 0.25)"
    )  # fmt: skip
    assert Ending.of_budget(9).at_infeasible_point().status == Status.BUDGET


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ({"budget": 50}, Status.BUDGET),
        ({"target": 60.0}, Status.SUCCESS),
        ({}, Status.SUCCESS),
        ({"maxiter": 3}, Status.ITERATIONS),
        ({"max_time": 0.0}, Status.TIME),
        ({"callback": lambda view: True}, Status.CALLBACK),
        ({"constraints": NOWHERE, "method": "SQP"}, Status.INFEASIBLE),
        ({"bounds": [(1, 1)] * 2}, Status.SUCCESS),
    ],
)
def test_a_result_has_the_status_of_its_run(arguments, status):
    result = uaos.minimize(**{"fun": bowl, "bounds": BOX, "seed": 1} | arguments)
    assert result.status == result["status"] == status
    assert type(result.status) is int
    assert result.success == (status == 0)


def test_a_failed_and_an_interrupted_run_have_their_status():
    assert uaos.minimize(lambda x: np.nan, BOX, budget=50).status == Status.FAILED

    def interrupted(x):
        raise KeyboardInterrupt

    assert uaos.minimize(interrupted, BOX).status == Status.INTERRUPTED


def test_an_optimizer_knows_its_status_without_a_run():
    assert after(1).result.status == Status.UNFINISHED
    assert after(2, budget=10).result.status == Status.BUDGET


def test_the_first_rule_that_applies_ends_a_run_and_observers_see_every_batch():
    """Three batches of six points: both rules apply then."""
    seen = []

    class Watch(Observer):
        def evaluated(self, optimizer, values, violations):
            seen.append((optimizer.evaluations, len(values), violations))

        def told(self, optimizer):
            seen.append(optimizer.evaluations)

    optimizer = uaos.CMAES(BOX, seed=1, budget=18)
    with Evaluator(uaos.Problem(bowl, BOX)) as evaluator:
        run = Run(optimizer, evaluator, [stopping.Iterations(3), stopping.Budget()], [Watch()])
        run.advance()
    assert run.ending.status == Status.ITERATIONS
    assert seen == [(0, 6, None), 6, (6, 6, None), 12, (12, 6, None), 18]


SIX = {"kernel": uaos.Categorical(["rbf", "poly", "linear"]), "degree": uaos.Integer(1, 2)}


@pytest.mark.parametrize("schedule", ["sync", "async"])
def test_a_run_ends_when_every_point_of_the_space_was_evaluated(schedule: str) -> None:
    """No point is evaluated twice, but for those that show that there is no noise."""
    calls = []

    def fun(p: dict) -> int:
        calls.append(tuple(p.values()))
        return 10 * p["degree"] + len(p["kernel"])

    seen = []
    result = uaos.minimize(
        fun, SIX, budget=500, seed=1, schedule=schedule,
        callback=lambda intermediate_result: seen.append(intermediate_result.nfev),
    )  # fmt: skip
    assert seen[-1] == result.nfev
    assert result.x == {"kernel": "rbf", "degree": 1}
    assert (result.status, result.success) == (Status.SUCCESS, True)
    assert len(set(calls)) == 6
    assert result.nfev == len(calls) <= 9


def test_points_of_a_noisy_function_are_evaluated_again() -> None:
    """Whether the function is said to be noisy, or turns out to be."""
    for noise in (True, "auto"):
        rng = np.random.default_rng(1)
        result = uaos.minimize(
            lambda p, rng=rng: p["degree"] + rng.normal(), SIX, budget=300, seed=1, noise=noise
        )
        assert (result.nfev, result.x["degree"]) == (300, 1)
        assert result.fun_evaluations > 10


def test_points_that_fail_count_as_evaluated() -> None:
    result = uaos.minimize(
        lambda p: np.nan if p["kernel"] == "rbf" else p["degree"], SIX, budget=500, seed=1
    )
    assert result.success
    assert result.nfev < 20


def test_what_is_not_active_makes_no_other_point() -> None:
    """Two kernels without a degree, and one with three of them: 5 points, not 9."""
    space = {"kernel": SIX["kernel"], "degree": uaos.Integer(2, 4, when={"kernel": "poly"})}
    result = uaos.minimize(lambda p: p.get("degree", 3), space, budget=500, seed=1)
    assert result.x == {"kernel": "poly", "degree": 2}
    assert "all 5 points" in result.message
    assert result.nfev < 15
