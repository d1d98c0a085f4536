"""`minimize` with SciPy's vocabulary: arguments, callbacks, limits, convergence, results."""

import inspect
import json
import math
import multiprocessing
import pickle
import re
import sys
import time

import numpy as np
import pytest
from raising import raises

import uaos
from uaos import minimize
from uaos.errors import InvalidFeedback, InvalidParameter
from uaos.result import Status

BOX = [(-5.0, 5.0)] * 3


def bowl(x):
    return float(((x - 1.0) ** 2).sum())


def rosenbrock(x):
    return float((100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum())


# Arguments


def test_further_arguments_reach_the_function():
    def shifted(x, center, factor):
        return factor * float(((x - center) ** 2).sum())

    result = minimize(shifted, BOX, args=(2.0, 3.0), seed=1)
    assert result.x == pytest.approx([2.0] * 3, abs=1e-6)
    with raises(InvalidParameter, name="args", value=3):
        minimize(shifted, BOX, args=3)


def test_rng_is_another_name_of_seed():
    one = minimize(bowl, BOX, rng=7, budget=200)
    assert one.x.tolist() == minimize(bowl, BOX, seed=7, budget=200).x.tolist()
    with raises(InvalidParameter, name="rng", value=1):
        minimize(bowl, BOX, seed=1, rng=1)


def test_a_seed_may_be_whatever_numpy_makes_a_generator_from():
    generator = np.random.default_rng(3)
    expected = minimize(bowl, BOX, seed=generator, budget=60).x.tolist()
    for seed in (
        np.random.SeedSequence(3), np.random.PCG64(3), np.random.RandomState(np.random.PCG64(3)),
    ):  # fmt: skip
        assert minimize(bowl, BOX, seed=seed, budget=60).x.tolist() == expected


def test_unknown_keywords_are_type_errors():
    with pytest.raises(TypeError, match="unexpected keyword argument 'zzz'; help.uaos.minimize"):
        minimize(bowl, BOX, zzz=3)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("popsiz", "did you mean 'popsize'?"),
        ("strategy", 'method="best/1" for "best1bin"'),
        ("mutation", "F=Uniform(0.5, 1) from uaos.optimizers.de.rules"),
        ("recombination", "use CR=0.7"),
        ("init", "pass the points as x0"),
        ("updating", "omit it"),
        ("maxfev", "use budget"),
        ("hess", "only values and gradients"),
        ("sigma0", 'uaos.Configuration("mine", optimizer="CMA-ES"'),
    ],
)
def test_arguments_of_other_libraries_are_named_with_what_to_use(name, advice):
    message = f"unexpected keyword argument '{name}'; .*{re.escape(advice)}"
    with pytest.raises(TypeError, match=message):
        minimize(bowl, BOX, **{name: 1})


@pytest.mark.parametrize(
    "call",
    [
        lambda: minimize(bowl, [0, 0, 0], bounds=BOX),  # as scipy.optimize.minimize has it
        lambda: minimize(bowl, [0, 0, 0], BOX),
        lambda: minimize(bowl, BOX, 100),
    ],
)
def test_only_the_function_and_the_bounds_have_a_place(call):
    with pytest.raises(TypeError, match=r"name the others: minimize\(fun, bounds, x0=x0\)"):
        call()


def test_the_arguments_are_those_that_help_shows():
    parameters = inspect.signature(minimize).parameters
    assert list(parameters)[:4] == ["fun", "bounds", "method", "budget"]
    assert {"args", "workers", "popsize", "restart"} <= set(parameters)
    assert (parameters["workers"].default, parameters["popsize"].default) == (1, None)
    assert all(p.kind is not p.VAR_KEYWORD for p in parameters.values())


@pytest.mark.parametrize("method", [None, "CMA-ES", "BFGS", "STEP", "mix"])
@pytest.mark.parametrize("budget", [2, 3, 40, None])
def test_every_starting_point_is_evaluated_and_the_search_starts_from_the_best(method, budget):
    seen = []

    def fun(x):
        seen.append(x.tolist())
        return bowl(x)

    x0 = [[0.0, 0.0, 0.0], [4.0, 4.0, 4.0], [1.0, 1.0, 1.5]]
    result = minimize(fun, BOX, x0=x0, method=method, budget=budget, seed=1)
    assert seen[:3] == x0[:budget]
    assert result.nfev == len(seen)
    assert result.fun <= (3.0 if budget == 2 else 0.25)
    if method == "BFGS" and budget not in (2, 3):  # along the first coordinate
        assert seen[3][1:] == [1.0, 1.5]
    if method != "mix" and budget not in (2, 3):
        assert seen[3] != [1.0, 1.0, 1.5]  # its value is known


@pytest.mark.parametrize("method", [None, "mix", "CMA-ES"])
@pytest.mark.parametrize("budget", [60, 5_000])
def test_there_may_be_more_starting_points_than_individuals(method, budget):
    """Of 100 points, the last is the best; a population of mix in three dimensions has 30."""
    x0 = np.linspace(-5.0, 1.01, 100)[:, None] * np.ones(3)
    seen = []

    def fun(x):
        seen.append(x.tolist())
        return bowl(x)

    result = minimize(fun, BOX, x0=x0, method=method, budget=budget, seed=1, noise=False)
    assert seen[:100] == x0[:budget].tolist()
    assert result.nfev == len(seen) == budget
    assert budget == 60 or seen[100] != x0[-1].tolist()  # the search knows its value


@pytest.mark.parametrize("method", [None, "mix", "CMA-ES"])
def test_every_one_of_several_starting_points_is_checked(method):
    for wrong, name in ((9.0, "x0[1, 2]"), (math.nan, "x0")):
        with raises(InvalidParameter, name=name):
            minimize(bowl, BOX, x0=[[0, 0, 0], [0, 0, wrong]], method=method, budget=50)
    with raises(InvalidParameter, name="x0"):
        minimize(bowl, BOX, x0=[[0, 0], [0, 0]], method=method, budget=50)


def test_a_problem_stands_for_its_function_bounds_and_constraints():
    limit = {"type": "ineq", "fun": lambda x: 0.5 - x[0]}
    problem = uaos.Problem(bowl, BOX, constraints=limit)
    one = minimize(problem, budget=100, seed=1)
    other = minimize(bowl, BOX, constraints=limit, budget=100, seed=1)
    assert (one.fun, one.x.tolist()) == (other.fun, other.x.tolist())
    for name, value in (("constraints", limit), ("args", (1,))):
        with raises(InvalidParameter, name=name):
            minimize(problem, **{name: value})
    with raises(InvalidParameter, name="bounds"):
        minimize(bowl)


def test_starting_points_are_ordered_by_feasibility_and_rounded():
    seen = []

    def fun(x):
        seen.append(x.tolist())
        return bowl(x)

    limit = {"type": "ineq", "fun": lambda x: 0.5 - x[0]}  # at most 0.5
    x0 = [[1.0, 1.0, 1.2], [0.0, 2.0, 1.4], [0.0, 1.0, 1.4]]
    result = minimize(
        fun, BOX, x0=x0, constraints=limit, integrality=[0, 0, 1], budget=4, method="CMA-ES", seed=1
    )
    # The first is infeasible, where fun is not called; the values of the others are 2 and 1.
    assert seen[:2] == [[0.0, 2.0, 1.0], [0.0, 1.0, 1.0]]
    assert len(seen) == 3
    assert seen[2] not in seen[:2]
    assert (result.nfev, result.fun, result.constr_violation) == (4, 1.0, 0.0)


def test_ctrl_c_among_the_starting_points_keeps_the_best():
    calls = []

    def fun(x):
        calls.append(x)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return bowl(x)

    result = minimize(fun, BOX, x0=[[3.0] * 3, [2.0] * 3, [1.0] * 3], seed=1, disp=True)
    assert (result.nfev, result.fun, result.x.tolist()) == (2, 3.0, [2.0] * 3)
    assert result.message == "interrupted; this is the best so far"


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"tol": -1}, "tol"),
        ({"atol": "a"}, "atol"),
        ({"maxiter": 0}, "maxiter"),
        ({"maxfun": 1.5}, "maxfun"),
        ({"max_time": math.nan}, "max_time"),
        ({"disp": "yes"}, "disp"),
        ({"polish": 1}, "polish"),
        ({"method": "CMA-ES", "F": 0.5}, "F"),
        ({"bounds": [(2, 1)]}, "bounds[0]"),
        ({"bounds": [(0, math.inf)]}, "bounds[0]"),
        ({"bounds": None}, "bounds"),
        ({"bounds": ([0] * 3, [1] * 3)}, "shape"),
        ({"callback": lambda x, f, context: None}, "callback"),
        ({"callback": lambda: None}, "callback"),
        ({"workers": multiprocessing}, "workers"),
    ],
)
def test_values_that_make_no_sense_are_refused(given, name):
    with raises(InvalidParameter, name=name):
        minimize(**{"fun": bowl, "bounds": BOX, "budget": 50, "seed": 1} | given)


@pytest.mark.parametrize(
    "box", [zip([-5.0] * 3, [5.0] * 3, strict=True), dict(zip("abc", BOX, strict=True)).values()]
)
def test_bounds_may_be_any_collection_of_pairs(box):
    expected = minimize(bowl, BOX, seed=1, budget=60).x.tolist()
    assert minimize(bowl, box, seed=1, budget=60).x.tolist() == expected


# Held coordinates


@pytest.mark.parametrize("method", [None, "CMA-ES", "BFGS"])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_coordinate_with_equal_bounds_is_held(method, workers):
    seen = []

    def watch(state):
        seen.append(state.x.copy())
        assert (state.low[1], state.high[1], len(state.x)) == (2.0, 2.0, 3)

    result = minimize(
        bowl, [(-5, 5), (2, 2), (-5, 5)], method=method, x0=[0.5, 2.0, 0.5], seed=1,
        callback=watch, workers=workers, budget=2000,
    )  # fmt: skip
    assert result.x == pytest.approx([1.0, 2.0, 1.0], abs=1e-3)
    assert all(x[1] == 2.0 for x in seen)


@pytest.mark.parametrize("bounds", [[(-5, 5), (2, 2)], [(1, 1), (2, 2)]])
def test_a_start_off_a_held_coordinate_is_refused(bounds):
    """x0 has 3 where the bounds say 2, whether or not anything is left to search."""
    with raises(InvalidParameter, name="x0[1]", value=3.0):
        minimize(bowl, bounds, x0=[1, 3])


def test_none_is_an_infinite_bound_as_in_scipy():
    """The minimum of (x - 7)^2 + (y - 7)^2 with x >= 0 and y <= 3 is at (7, 3)."""

    def fun(x):
        return float(((x - 7) ** 2).sum())

    result = minimize(fun, [(0, None), [None, 3]], x0=[1, 1], seed=1)
    assert result.x == pytest.approx([7, 3], abs=1e-6)
    same = minimize(fun, [(0, np.inf), (-np.inf, 3)], x0=[1, 1], seed=1)
    assert (result.fun, result.nfev) == (same.fun, same.nfev)
    with raises(InvalidParameter, name="bounds[0]"):
        minimize(fun, [(math.nan, 1), (0, 1)])


def test_held_coordinates_are_seen_in_a_vectorized_function_and_in_populations():
    def fun(X):
        assert (X[:, 0] == 3.0).all()
        return (X**2).sum(axis=1)

    def watch(state):
        assert (state.population[:, 0] == 3.0).all()

    result = minimize(
        fun, [(3, 3), (-5, 5)], method="mix", vectorized=True, callback=watch, seed=1, budget=400
    )
    assert result.x[0] == 3.0
    with raises(InvalidParameter, name="x0"):
        minimize(fun, [(3, 3), (-5, 5)], vectorized=True, x0=[1.0])


@pytest.mark.parametrize("vectorized", [False, True])
def test_where_every_coordinate_is_held_the_result_is_that_point(vectorized):
    fun = (lambda X: (X**2).sum(axis=1)) if vectorized else (lambda x: x @ x)
    held = minimize(fun, [(2, 2), (3, 3)], vectorized=vectorized)
    assert (held.x.tolist(), held.fun, held.nfev, held.success) == ([2, 3], 13, 1, True)
    limit = {"type": "ineq", "fun": lambda x: x[..., 0] - 4}  # x0 >= 4, and x0 is 2
    outside = minimize(fun, [(2, 2), (3, 3)], vectorized=vectorized, constraints=limit)
    assert (outside.maxcv, outside.success) == (2.0, False)
    assert outside.message.endswith("by its bounds; no feasible point was found (maxcv = 2)")


def _raises(x):
    raise ArithmeticError("nothing here")


@pytest.mark.parametrize(
    ("fun", "constraints"),
    [
        (lambda x: math.nan, None),
        (lambda x: math.inf, None),
        (_raises, None),
        (lambda x: 1.0, {"type": "ineq", "fun": _raises}),
        (lambda x: 1.0, {"type": "ineq", "fun": lambda x: math.nan}),
    ],
)
def test_where_every_coordinate_is_held_a_failed_evaluation_is_no_success(fun, constraints):
    """A point that cannot be evaluated is a failure, whether or not there is anything to search."""
    for bounds in ([(1, 1)], [(1, 2)]):
        result = minimize(fun, bounds, constraints=constraints, on_error="fail", budget=20, seed=1)
        assert (result.x, result.success, result.status) == (None, False, Status.FAILED)
        assert math.isnan(result.fun)


def test_where_every_coordinate_is_held_an_exception_ends_the_run():
    """Exceptions of the objective and of constraints reach the caller by default."""
    for arguments in (
        {"fun": _raises},
        {"fun": sum, "constraints": {"type": "eq", "fun": _raises}},
    ):
        with pytest.raises(ArithmeticError):
            minimize(bounds=[(1, 1)], **arguments)


# Callbacks


@pytest.mark.parametrize("method", ["mix", "CMA-ES"])
def test_a_callback_may_have_either_of_scipy_s_signatures(method):
    seen = []

    def by_result(intermediate_result):
        seen.append((intermediate_result.x.copy(), intermediate_result.fun))
        assert intermediate_result.nfev > 0
        return len(seen) == 3

    def by_point(xk, convergence):
        seen.append((xk, convergence))
        return len(seen) == 3

    def by_default(x, convergence=0.0):
        return by_point(x, convergence)

    for callback in (by_result, by_point, by_default, lambda a, b: by_point(a, b)):
        seen.clear()
        result = minimize(bowl, BOX, callback=callback, seed=1, method=method)
        assert len(seen) == 3
        assert (result.success, result.message) == (False, "the callback ended the run")
        assert all(point.shape == (3,) for point, _ in seen)
    assert all(0 <= convergence < 1 for _, convergence in seen)

    def by_xk(xk):
        return xk.shape == (3,)

    assert minimize(bowl, BOX, callback=by_xk, seed=1, method=method).nit <= 1


@pytest.mark.parametrize("verdict", [True, 1, "stop", np.True_])
def test_any_true_value_of_a_callback_stops(verdict):
    assert minimize(bowl, BOX, callback=lambda state: verdict, seed=1, method="mix").nit == 0
    assert minimize(bowl, BOX, callback=lambda state: None, seed=1, budget=90).nfev == 90


# Limits and convergence


@pytest.mark.parametrize("method", [None, "CMA-ES", "BFGS", "STEP", "JADE", "uniform"])
def test_a_run_without_budget_and_target_ends_when_it_has_converged(method):
    result = minimize(lambda x: (x[0] - 0.3) ** 2, [(-5, 5)], seed=1, method=method)
    assert (result.success, result.message) == (True, "converged")
    assert result.fun < 1e-15
    assert result.nfev < 7000


@pytest.mark.parametrize("method", [None, "CMA-ES", "BFGS"])
def test_rosenbrock_converges_in_a_few_thousand_evaluations(method):
    result = minimize(rosenbrock, [(-5, 5)] * 2, seed=1, method=method)
    assert result.message == "converged"
    assert result.fun < 1e-15
    assert result.nfev < 3000


def test_a_minimum_far_from_zero_is_found_to_machine_precision():
    result = minimize(lambda x: 1e6 + bowl(x), BOX, seed=1)
    assert result.message == "converged"
    assert result.fun == pytest.approx(1e6, rel=1e-15)


def test_a_run_with_a_budget_goes_on_after_convergence():
    result = minimize(lambda x: x[0] ** 2, [(-5, 5)], method="mix", seed=1, budget=5000)
    assert (result.nfev, result.success) == (5000, False)
    assert result.history.restarts[-1] > 0
    assert result.message == "the budget of 5,000 evaluations is spent"


def test_a_spent_default_budget_is_called_so():
    """10,000 evaluations in one dimension, where -1 is never reached."""
    result = minimize(bowl, [(-5, 5)], target=-1, method="BFGS", seed=1, history=False)
    assert result.message == "the default budget of 10,000 evaluations is spent"


def test_tolerances_end_a_run_with_a_budget():
    loose = minimize(bowl, BOX, method="mix", seed=1, budget=30_000, atol=1e-3)
    tight = minimize(bowl, BOX, method="mix", seed=1, budget=30_000, atol=1e-9)
    assert loose.message == tight.message == "converged"
    assert loose.nfev < tight.nfev < 30_000
    # With NP values whose standard deviation is below 0.001 the best is close to the mean.
    assert loose.fun < 1e-2
    relative = minimize(lambda x: 1e3 + bowl(x), BOX, method="mix", seed=1, tol=1e-6)
    assert relative.nfev < tight.nfev


def test_the_convergence_of_a_population_is_that_of_scipy():
    de = uaos.DifferentialEvolution(BOX, popsize=4, operators=["rand/1"], seed=1)
    de.ask()
    de.tell([1.0, 2.0, 3.0, 4.0])
    de.tol, de.atol = 0.1, 0.2
    # std = sqrt(1.25), mean = 2.5
    assert de.convergence == pytest.approx((0.2 + 0.25) / math.sqrt(1.25))
    assert not de.converged
    de.tol = 0.4
    assert de.converged
    assert de.view.convergence > 1


def test_iterations_evaluations_and_time_are_limited():
    by_iterations = minimize(bowl, BOX, seed=1, maxiter=4)
    assert (by_iterations.nit, by_iterations.success) == (4, False)
    assert by_iterations.message == "the limit of 4 iterations is reached"
    assert minimize(bowl, BOX, seed=1, maxfun=77).nfev == 77
    assert minimize(bowl, BOX, seed=1, maxfun=77, budget=50).nfev == 50
    by_time = minimize(bowl, BOX, seed=1, max_time=0)
    assert by_time.message == "the time limit of 0 s is reached"
    assert not by_time.success


def test_a_target_of_infinity_is_not_reached_by_failures():
    result = minimize(lambda x: math.nan, BOX, target=math.inf, seed=1)
    assert not result.success
    assert "gave a finite value" in result.message


@pytest.mark.parametrize("method", [None, "CMA-ES", "mix"])
def test_without_a_budget_a_run_ends_when_100_evaluations_a_dimension_have_failed(method):
    result = minimize(lambda x: math.nan, BOX, seed=1, method=method)
    assert 100 * len(BOX) <= result.nfev < 150 * len(BOX)
    assert not result.success


@pytest.mark.parametrize("method", [None, "mix"])
def test_a_function_that_is_seldom_defined_is_searched_with_the_whole_budget(method):
    def seldom(x):
        return float(np.sum((x - 0.3) ** 2)) if np.all(np.abs(x - 0.3) < 0.07) else math.nan

    result = minimize(seldom, [(-1, 1)] * 2, seed=1, budget=2000, method=method)
    assert result.nfev == 2000
    assert result.fun < 1e-10


def test_limits_hold_while_every_evaluation_fails():
    result = minimize(lambda x: math.nan, BOX, seed=1, budget=4000, maxiter=3)
    assert result.nit == 3
    timed = minimize(lambda x: math.nan, BOX, seed=1, budget=4000, max_time=0)
    assert timed.message == "the time limit of 0 s is reached"


def test_further_arguments_may_come_in_a_list():
    result = minimize(lambda x, a: float(np.sum((x - a) ** 2)), BOX, args=[0.5], seed=1)
    assert result.x == pytest.approx(0.5, abs=1e-6)


# Any optimizer


@pytest.mark.parametrize("method", ["CMA-ES", "BFGS", "STEP"])
def test_every_way_of_evaluating_gives_the_same_run(method):
    given = {"method": method, "seed": 3, "budget": 500}
    one = minimize(bowl, BOX, **given)
    for other in (
        minimize(lambda X: np.array([bowl(x) for x in X]), BOX, vectorized=True, **given),
        minimize(bowl, BOX, workers=2, **given),
    ):
        assert (one.fun, one.nfev, one.nit) == (other.fun, other.nfev, other.nit)
        assert one.x.tolist() == other.x.tolist()


def test_a_configuration_of_any_optimizer_can_be_minimized_with(tmp_path):
    chosen = uaos.Configuration("small", optimizer="CMA-ES", settings={"popsize": 6})
    chosen.to_toml(tmp_path / "small.toml")
    one = minimize(bowl, BOX, method=chosen, seed=1, budget=300)
    other = minimize(bowl, BOX, method=str(tmp_path / "small.toml"), seed=1, budget=300)
    assert one.x.tolist() == other.x.tolist()
    assert minimize(bowl, BOX, method="CMA-ES", popsize=6, seed=1, budget=300).fun == one.fun


# Results


def test_polishing_improves_the_result():
    pytest.importorskip("scipy")
    rough = minimize(rosenbrock, BOX, method="mix", seed=1, budget=1500)
    fine = minimize(rosenbrock, BOX, method="mix", seed=1, budget=1500, polish=True)
    assert fine.fun < rough.fun
    assert fine.nfev > 1500
    assert rosenbrock(fine.x) == fine.fun


def test_an_exception_late_in_a_run_says_what_was_best():
    calls = []

    def fun(x):
        calls.append(x)
        if len(calls) == 100:
            raise ArithmeticError
        return bowl(x)

    with pytest.raises(ArithmeticError) as raised:
        minimize(fun, [*BOX, (2, 2)], seed=1, x0=[1, 1, 1, 2])
    told = re.fullmatch(
        r"best so far, after \d+ evaluations: fun = 1.0, x = (.*)", raised.value.__notes__[-1]
    )
    assert json.loads(told[1]) == [1.0, 1.0, 1.0, 2.0]  # the value of which is (2 - 1)² = 1


def test_an_exception_while_polishing_says_what_was_best():
    pytest.importorskip("scipy")

    def polish(fun, x, **_):
        raise ArithmeticError

    with pytest.raises(ArithmeticError) as raised:
        minimize(bowl, BOX, seed=1, budget=30, polish=polish)
    assert raised.value.__notes__[-1].startswith("best so far, after 30 evaluations: fun = ")


def test_a_missing_scipy_is_named_before_the_run(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(uaos.UaosError):
        minimize(lambda x: pytest.fail("evaluated"), BOX, polish=True)


@pytest.mark.parametrize("polish", [True, lambda fun, x, **_: fun(x)])
def test_ctrl_c_while_polishing_returns_the_best_so_far(polish):
    pytest.importorskip("scipy")
    calls = []

    def fun(x):
        calls.append(x)
        if len(calls) > 100:
            raise KeyboardInterrupt
        return rosenbrock(x)

    result = minimize(fun, BOX, seed=1, budget=100, polish=polish)
    assert (result.nfev, result.success) == (100, False)
    assert result.message == "interrupted; this is the best so far"
    assert result.fun == rosenbrock(result.x)


def test_a_polishing_function_is_called_as_in_scipy():
    optimize = pytest.importorskip("scipy.optimize")
    given = {}

    def polish(fun, x, bounds, constraints):
        given.update(x=x, low=bounds.lb, high=bounds.ub, constraints=constraints)
        return optimize.OptimizeResult(x=np.array([1.0, 2.0, 3.0]), jac=np.zeros(3))

    def fun(x):
        return (x[0] - 1) ** 2 + (x[2] - 3.2) ** 2

    settings = {"method": "mix", "seed": 1, "budget": 300, "integrality": [0, 0, 1]}
    box = [(-5, 5), (2, 2), (-5, 5)]
    rough = minimize(fun, box, **settings)
    fine = minimize(fun, box, polish=polish, **settings)
    assert given["x"].tolist() == rough.x.tolist()
    assert rough.x[2] == 3
    assert (given["low"].tolist(), given["high"].tolist()) == ([-5, 2, 3], [5, 2, 3])
    assert given["constraints"] == ()
    assert (fine.x.tolist(), fine.fun, fine["jac"].tolist()) == ([1, 2, 3], fun([1, 2, 3]), [0] * 3)
    with pytest.raises(InvalidFeedback):
        minimize(fun, box, polish=lambda *_, **__: 7, **settings)


def test_progress_is_printed_where_it_is_wanted(capsys):
    minimize(bowl, BOX, method="mix", seed=1, budget=500, disp=True)
    lines = capsys.readouterr().out.splitlines()
    assert re.match(r"\d+ evaluations \(\d+% of the budget\), best [\d.e-]+, curr-to", lines[0])
    assert lines[-1].endswith("the budget of 500 evaluations is spent")
    minimize(bowl, BOX, seed=1, budget=500)
    assert capsys.readouterr().out == ""


def test_progress_into_a_file_comes_ever_more_seldom(capsys, monkeypatch):
    """After 0, 0.1, 0.2, 0.4, … 6.4, 12.8 and then every 10 seconds: 17 lines in 100 seconds."""
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])

    def fun(x):
        clock[0] += 0.0125
        return bowl(x)

    minimize(fun, BOX, seed=1, budget=8_000, disp=True)
    lines = capsys.readouterr().out.splitlines()
    assert 15 <= len(lines) <= 20
    assert re.search(r"at most \d\d s left$", lines[-4])


@pytest.mark.parametrize(
    "found",
    [
        lambda: minimize(lambda x: float(x @ x), [(-5, 5)] * 1000, seed=1, budget=2000,
                         record="points"),
        lambda: minimize(lambda x: float(x @ x), [(-5, 5)] * 200, seed=1, budget=500,
                         constraints=[{"type": "ineq", "fun": lambda x: x - 1}]),
        lambda: minimize(lambda d: sum(d.values()), {f"v{i}": uaos.Real(0, 1) for i in range(200)},
                         seed=1, budget=300),
        lambda: uaos.least_squares(lambda x: x - 1, np.zeros(300)),
    ],
    ids=["points", "constraints", "names", "residuals"],
)  # fmt: skip
def test_every_result_fits_a_screen(found):
    """Arrays are cut, names are counted."""
    lines = repr(found()).splitlines()
    assert len(lines) <= 32
    assert max(map(len, lines)) <= 110


def test_a_result_fits_a_screen_and_a_notebook():
    result = minimize(lambda x: float(x @ x), [(-5, 5)] * 200, seed=1, budget=300)
    text = repr(result)
    assert len(text.splitlines()) < 15
    assert max(map(len, text.splitlines())) <= 100
    page = result._repr_html_()
    assert page.count("<tr>") == 8 + 1 + len(result.history.operators)
    assert "the budget of 300 evaluations is spent" in page
    assert re.search(r"nfev: 300 \(best found after \d+\)", text)
    single = minimize(bowl, BOX, method="CMA-ES", seed=1, budget=50)
    assert "operators" not in single._repr_html_()


def test_a_result_is_a_mapping():
    result = minimize(bowl, BOX, seed=1, budget=20)
    names = ["x", "fun", "nfev", "nit", "success", "status", "message", "seed", "history"]
    assert list(result) == names
    assert len(result) == 9
    assert dict(result)["nfev"] == 20


def test_a_best_value_that_falls_to_zero_is_drawn_on_a_logarithmic_axis():
    result = minimize(lambda x: float(x @ x), [(-5, 5)] * 2, seed=1, x0=[3, 2], budget=200)
    assert result.fun == 0
    assert result.plot().axes[1].get_yscale() == "log"


@pytest.mark.parametrize(
    ("best", "scale"), [([200.0, 2e-4, 0.0], "log"), ([5000.0, 1.0, 0.0], "linear")]
)
def test_an_axis_is_logarithmic_where_small_values_come_before_zero(best, scale):
    history = uaos.History()
    for k, value in enumerate(best):
        history.record(evaluations=10 * k + 10, best=value, iteration=k)
    assert history.plot().axes[0].get_yscale() == scale


def test_a_notebook_shows_a_plot_that_is_not_pyplot_s():
    formatters = pytest.importorskip("IPython.core.formatters")
    figure = minimize(bowl, BOX, seed=1, budget=200).plot()
    shown, _ = formatters.DisplayFormatter().format(figure)
    assert shown["image/png"].startswith(b"\x89PNG")
    again = pickle.loads(pickle.dumps(figure))
    assert len(again.axes) == len(figure.axes)


def test_a_result_plots_its_history():
    result = minimize(bowl, BOX, method="mix", seed=1, budget=200)
    assert result.plot().axes[0].get_ylabel() == "share of offspring"
    cma = minimize(bowl, BOX, method="CMA-ES", seed=1, budget=200)
    assert "sigma" in [axes.get_ylabel() for axes in cma.plot().axes]
    with pytest.raises(uaos.UaosError):
        minimize(bowl, BOX, seed=1, budget=200, history=False).plot()


def test_the_result_of_differential_evolution_has_its_population_best_first():
    bounds = [(-5, 5), (2, 2), (-5, 5)]  # the second coordinate is held
    result = minimize(lambda x: float(x @ x), bounds, method="mix", budget=400, seed=1)
    assert result.population.shape[1] == 3
    assert (result.population[:, 1] == 2).all()
    assert result.population_energies.tolist() == [float(x @ x) for x in result.population]
    assert result.population_energies[0] == result.fun == min(result.population_energies)
    assert "population" not in repr(result)


def test_an_infinite_maxfun_is_no_limit():
    result = minimize(lambda x: float(x @ x), [(-5, 5)] * 2, maxfun=np.inf, budget=50, seed=1)
    assert result.nfev == 50


def test_a_function_that_returns_no_number_is_a_runtime_error_as_in_scipy():
    with pytest.raises(RuntimeError):
        minimize(lambda x: x, [(-5, 5)] * 2, budget=50, seed=1)


@pytest.mark.parametrize(
    ("x0", "bounds", "hint"),
    [
        ([1, 1], ([0, 0], [10, 10]), r"list\(zip\(low, high\)\)"),  # which look like two pairs
        ([1, 1, 1], ([0, 0, 0], [10, 10, 10]), r"list\(zip\(low, high\)\)"),
        ([1, 1], (0, np.inf), r"the same pair everywhere: \[\(low, high\)\] \* D"),
    ],
)
def test_bounds_in_the_form_of_scipys_least_squares_are_refused_with_a_hint(x0, bounds, hint):
    with pytest.raises(InvalidParameter, match=hint):
        uaos.least_squares(lambda p: p - 3, x0=x0, bounds=bounds)
