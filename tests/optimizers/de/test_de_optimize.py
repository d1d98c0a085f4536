"""`minimize` and `DifferentialEvolution`, from the user's side."""

import gc
import math
import os
import signal
import subprocess
import sys
import textwrap
import weakref
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from raising import raises

from uaos.errors import InvalidFeedback, InvalidFile, InvalidParameter, UnknownName
from uaos.minimization import minimize
from uaos.optimizers.catalogue import configuration, methods
from uaos.optimizers.de.operators import Operator
from uaos.optimizers.de.optimizer import DifferentialEvolution
from uaos.optimizers.de.rules import SuccessHistory
from uaos.problems.space import Box
from uaos.selection.method import Method

BOX = [(-5.0, 5.0)] * 4


def bowl(x):
    """Row by row and all at once it must be the same to the last bit, so without `sum`."""
    y = x - 1.0
    return y[..., 0] ** 2 + y[..., 1] ** 2 + 2 * y[..., 2] ** 2 + 3 * y[..., 3] ** 2


def picky(x):
    if x[0] > 3:
        raise ArithmeticError("outside the model's range")
    return float(bowl(x))


def same(one, other):
    assert one.x.tolist() == other.x.tolist()
    assert (one.fun, one.nfev, one.nit) == (other.fun, other.nfev, other.nit)
    assert one.history.counts.tolist() == other.history.counts.tolist()


def test_one_call_finds_the_minimum():
    result = minimize(bowl, BOX, seed=1, budget=8000)
    assert result.fun < 1e-8
    assert result.x == pytest.approx([1.0] * 4, abs=1e-3)
    assert result.nfev == 8000
    assert not result.success
    assert result.message == "the budget of 8,000 evaluations is spent"
    assert result["fun"] == result.fun
    assert "history" in result
    assert set(result) == set(result.keys())
    assert "success: False" in repr(result)
    with pytest.raises(KeyError):
        result["jac"]


@pytest.mark.parametrize("method", [None, "U-AOS-FW", "F-AUC-MAB", "JADE", "L-SHADE", "rand/1"])
def test_serial_vectorised_and_mapped_runs_are_the_same(method):
    given = {"method": method, "seed": 5, "budget": 1500}
    serial = minimize(lambda x: float(bowl(x)), BOX, **given)
    same(serial, minimize(bowl, BOX, vectorized=True, **given))
    same(serial, minimize(bowl, BOX, workers=map, **given))
    with ThreadPoolExecutor(3) as executor:
        same(serial, minimize(bowl, BOX, workers=executor, **given))


def test_worker_processes_give_the_same_run_also_when_some_evaluations_fail():
    given = {"seed": 5, "budget": 300, "on_error": "fail", "popsize": 30}
    same(minimize(picky, BOX, workers=2, **given), minimize(picky, BOX, **given))


@pytest.mark.parametrize("name", methods())
def test_every_entry_of_the_catalogue_runs(name):
    found = configuration(name)
    budget = 37 if name == "GP" else 307  # it is meant for few evaluations
    if found.optimizer == "DE":
        budget = 10 * found.settings.population_size(4, None) + 7
    result = minimize(bowl, BOX, method=name, vectorized=True, seed=1, budget=budget)
    assert result.nfev == budget
    assert np.isfinite(result.fun)


def test_the_seed_of_a_result_repeats_it():
    one = minimize(bowl, BOX, budget=500)
    same(one, minimize(bowl, BOX, budget=500, seed=one.seed))
    given = minimize(bowl, BOX, budget=500, seed=np.random.default_rng(3))
    assert given.seed is None


def test_a_target_ends_the_run_after_the_generation_that_reaches_it():
    result = minimize(bowl, BOX, seed=1, target=0.5)
    assert result.success
    assert result.fun <= 0.5
    assert "the target 0.5 was reached" in result.message
    assert result.nfev < 2000
    assert result.history.best[-2] > 0.5


@pytest.mark.parametrize("ending", ["true", "stop"])
def test_a_callback_sees_the_run_and_may_end_it(ending):
    seen = []

    def callback(state):
        assert state.population.shape == (len(state.fitness), 4)
        assert state.probabilities.sum() == pytest.approx(1)
        assert len(state.operators) == len(state.probabilities)
        assert state.fun == bowl(state.x) == state.fitness.min()
        with pytest.raises(ValueError, match="read-only"):
            state.population[0] = 0
        seen.append(state.generation)
        if len(seen) == 4:
            if ending == "stop":
                raise StopIteration
            return True
        return None

    result = minimize(bowl, BOX, method="mix", seed=1, callback=callback)
    assert seen == [0, 1, 2, 3]
    assert (result.nit, result.success, result.message) == (3, False, "the callback ended the run")


def test_failing_evaluations_are_survived():
    result = minimize(picky, BOX, seed=1, budget=4000, on_error="fail")
    assert result.fun < 1e-4
    with pytest.raises(ArithmeticError, match="outside the model"):
        minimize(picky, BOX, seed=1, budget=4000)


@pytest.mark.filterwarnings("ignore:fun returned None")
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, None])
def test_nothing_but_failures_end_with_a_message(value):
    result = minimize(lambda x: value, BOX, method="mix", seed=1, budget=900)
    assert not result.success
    assert result.x is None
    assert math.isnan(result.fun)
    assert result.nfev == 900
    assert "none of 900 evaluations gave a finite value" in result.message


@pytest.mark.parametrize(
    "fun",
    [
        lambda x: "good",
        lambda x: x,
    ],
)
def test_an_objective_that_returns_no_number_is_an_error_that_shows_it(fun):
    with pytest.raises(InvalidFeedback):
        minimize(fun, BOX, method="mix")


def test_an_objective_may_return_an_array_of_length_one():
    assert minimize(lambda x: bowl(x)[None], BOX, budget=50, seed=1).nfev == 50


def test_ctrl_c_returns_the_best_so_far_with_the_unfinished_generation():
    calls = []

    def fun(x):
        calls.append(x)
        if len(calls) == 105:
            raise KeyboardInterrupt
        return -1.0 if len(calls) == 103 else float(bowl(x))

    result = minimize(fun, BOX, seed=1)
    assert not result.success
    assert result.message == "interrupted; this is the best so far"
    assert result.nfev == 104
    assert result.fun == -1.0
    assert result.x.tolist() == calls[102].tolist()


def test_a_real_ctrl_c_ends_a_vectorised_run_too():
    sizes = []

    def fun(X):
        sizes.append(len(X))
        if len(sizes) == 5:
            os.kill(os.getpid(), signal.SIGINT)
        return bowl(X)

    result = minimize(fun, BOX, vectorized=True, seed=1)
    assert not result.success
    assert result.nfev == sum(sizes[:4])


def test_starting_points_are_used():
    assert minimize(bowl, BOX, x0=[1.0] * 4, budget=40, seed=1).fun == 0
    assert minimize(bowl, BOX, x0=[[0.0] * 4, [1.0] * 4], budget=40, seed=1).fun == 0


def test_bounds_may_be_an_array_or_scipy_s():
    lb, ub = np.full(4, -5.0), np.full(4, 5.0)
    plain = minimize(bowl, BOX, budget=100, seed=1)
    same(plain, minimize(bowl, np.column_stack([lb, ub]), budget=100, seed=1))
    same(plain, minimize(bowl, SimpleNamespace(lb=lb, ub=5.0), budget=100, seed=1))


def test_a_configuration_brings_its_settings_and_arguments_win():
    one = DifferentialEvolution(Box(BOX, outside_allowed=True), method="U-AOS-FW")
    assert (one.settings.boundary, one.settings.NP, one.settings.center) == ("none", 262, True)
    assert one.ask()[0].tolist() == [0.0] * 4
    two = DifferentialEvolution(
        BOX, method="U-AOS-FW", boundary="clip", popsize=50, F=0.9, CR=0.2, top_NP=0.3, center=False
    )
    assert (two.settings.boundary, two.settings.NP, two.settings.top_NP) == ("clip", 50, 0.3)
    assert two.settings.best_rule == "latest"
    assert DifferentialEvolution(BOX).settings.boundary == "midpoint"
    assert DifferentialEvolution(BOX, method=Method()).settings.boundary == "midpoint"


def test_a_method_a_configuration_and_its_file_run_the_same(tmp_path):
    chosen = configuration("RecPM-tuned")
    by_name = minimize(bowl, BOX, method="RecPM-tuned", budget=1000, seed=1)
    same(by_name, minimize(bowl, BOX, method=chosen, budget=1000, seed=1))
    chosen.to_toml(tmp_path / "mine.toml")
    same(by_name, minimize(bowl, BOX, method=tmp_path / "mine.toml", budget=1000, seed=1))


def test_the_recommended_population_shrinks_for_a_short_budget_only():
    assert len(DifferentialEvolution([(-5, 5)] * 20, budget=1000).ask()) == 50
    assert len(DifferentialEvolution([(-5, 5)] * 20, budget=100_000).ask()) == 200
    assert len(DifferentialEvolution([(-5, 5)] * 20, method="mix", budget=1000).ask()) == 200


def test_a_pool_of_one_needs_no_method():
    rule = SuccessHistory(5)
    one = DifferentialEvolution(BOX, operators=[Operator("rand/1", rule, rule)], budget=100, seed=1)
    while not one.done:
        one.tell(bowl(one.ask()))
    assert one.operators == ("rand/1 success_history(5)",)


def test_a_run_under_way_says_so():
    one = DifferentialEvolution(BOX, seed=1)
    assert one.result.message == "the run is not finished"
    assert one.result.x is None
    one.tell(bowl(one.ask()))
    assert not one.result.success
    assert one.result.fun == bowl(one.result.x)
    assert "40 evaluations" in repr(one)


@pytest.mark.parametrize(
    ("given", "error", "name"),
    [
        ({"bounds": [(0, 1), (1, 0)]}, InvalidParameter, "bounds[1]"),
        ({"bounds": [0, 1]}, InvalidParameter, "shape"),
        ({"bounds": "box"}, InvalidParameter, "bounds"),
        ({"budget": 0}, InvalidParameter, "budget"),
        ({"budget": 10.5}, InvalidParameter, "budget"),
        ({"seed": -1}, InvalidParameter, "seed"),
        ({"x0": [0, 0, 0]}, InvalidParameter, "x0"),
        ({"x0": [0, 0, 9, 0]}, InvalidParameter, "x0[2]"),
        ({"target": "low"}, InvalidParameter, "target"),
        ({"workers": 0}, InvalidParameter, "workers"),
        ({"workers": 2, "vectorized": True}, InvalidParameter, "workers"),
        ({"on_error": "ignore"}, InvalidParameter, "on_error"),
        ({"fun": 3}, InvalidParameter, "fun"),
        ({"method": "U-AOS"}, UnknownName, "U-AOS"),
        ({"method": 3}, InvalidParameter, "method"),
        ({"F": 0.5}, InvalidParameter, "F"),
        ({"popsize": 5}, InvalidParameter, "popsize"),
    ],
)  # fmt: skip
def test_arguments_that_make_no_sense_are_refused(given, error, name):
    with raises(error, name=name):
        minimize(**{"fun": lambda x: 0.0, "bounds": BOX} | given)


def test_a_run_is_freed_as_soon_as_nobody_refers_to_it():
    """Many runs in one process would pile up until the garbage collector finds the cycles."""
    one = configuration("EA4eig").build(BOX, seed=1, budget=500)
    while not one.done:
        one.tell(bowl(one.ask()))
    gc.disable()
    try:
        seen = weakref.ref(one)
        del one
        assert seen() is None
    finally:
        gc.enable()


# Exact resume


@pytest.mark.parametrize("method", ["mix", "U-AOS-FW", "F-AUC-MAB-tuned", "SHADE"])
def test_a_saved_run_continues_bit_for_bit(method, tmp_path):
    one = DifferentialEvolution(BOX, method=method, seed=4, budget=4000, popsize=30)
    for _ in range(13):
        one.tell(bowl(one.ask()))
    one.ask()
    one.save(tmp_path / "run.npz")
    other = DifferentialEvolution.load(tmp_path / "run.npz")
    for each in (one, other):
        while not each.done:
            each.tell(bowl(each.ask()))
    same(one.result, other.result)
    assert other.result.seed == 4


def test_own_operators_are_passed_again_when_a_run_is_loaded(tmp_path):
    class Counter:
        name = "counter"
        calls = 0

        def propose(self, state, parents, rng):
            self.calls += 1
            return state.best + rng.normal(size=(len(parents), 4)) / self.calls

        def state(self):
            return {"calls": self.calls}

        def restore(self, state):
            self.calls = state["calls"]

    one = DifferentialEvolution(BOX, operators=["rand/1", Counter()], seed=1, budget=1000)
    for _ in range(5):
        one.tell(bowl(one.ask()))
    one.save(tmp_path / "run.npz")
    with pytest.raises(UnknownName):
        DifferentialEvolution.load(tmp_path / "run.npz")
    other = DifferentialEvolution.load(tmp_path / "run.npz", operators=[Counter()])
    assert (one.ask() == other.ask()).all()


def test_a_file_of_something_else_is_refused(tmp_path):
    Method().selector(3, seed=1).save(tmp_path / "selector.npz")
    with pytest.raises(InvalidFile):
        DifferentialEvolution.load(tmp_path / "selector.npz")


_SAVES_FOREVER = """
    import sys, numpy as np
    from uaos.optimizers.de.optimizer import DifferentialEvolution
    de = DifferentialEvolution([(-5.0, 5.0)] * 4, seed=7, budget=6000, popsize=30)
    while not de.done:
        X = de.ask()
        de.save(sys.argv[1])
        print(de.generation, flush=True)
        de.tell(((X - 1.0) ** 2).sum(axis=1))
"""
_CONTINUES = """
    import sys
    from uaos.optimizers.de.optimizer import DifferentialEvolution
    de = DifferentialEvolution.load(sys.argv[1])
    while not de.done:
        de.tell(((de.ask() - 1.0) ** 2).sum(axis=1))
    print(de.result.x.tobytes().hex(), de.result.nit)
"""


def test_a_killed_process_is_continued_by_another(tmp_path):
    file = str(tmp_path / "run.npz")
    first = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(_SAVES_FOREVER), file],
        stdout=subprocess.PIPE,
        text=True,
    )
    for line in first.stdout:
        if int(line) == 8:
            break
    first.kill()
    first.stdout.close()
    first.wait()
    continued = _output(_CONTINUES, file)
    given = {"seed": 7, "budget": 6000, "popsize": 30, "vectorized": True, "noise": False}
    whole = minimize(lambda X: ((X - 1.0) ** 2).sum(axis=1), BOX, **given)
    assert continued.split() == [whole.x.tobytes().hex(), str(whole.nit)]


def _output(program, *arguments):
    """What a Python program prints in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout
