"""Constraints and integer coordinates: the order of points, credit, what SciPy's objects mean."""

import math
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from raising import raises

import uaos
from uaos import minimize
from uaos.errors import InvalidFeedback, InvalidParameter
from uaos.optimizers.base import feasibility
from uaos.problems.constraints import Constraint, Constraints
from uaos.runs.evaluator import Evaluator

BOX = [(-5.0, 5.0)] * 2
INF, NAN = math.inf, math.nan


def at_least(bound, fun):
    """An object like scipy.optimize.NonlinearConstraint."""
    return SimpleNamespace(fun=fun, lb=bound, ub=INF)


def bowl(x):
    return float((x**2).sum())


def test_slopes_are_those_of_the_parts():
    """Of a matrix, of bounds, of functions with one limit, two or an equality."""
    x = np.array([0.3, -0.7])
    each = [
        SimpleNamespace(A=[[1.0, 2.0], [3.0, -1.0]], lb=[-1.0, 2.0], ub=[1.0, 2.0]),
        SimpleNamespace(lb=[0.0, -INF], ub=[1.0, 2.0]),
        SimpleNamespace(
            fun=lambda x: [x[0] * x[1], x[0] ** 2], lb=[-1.0, 0.5], ub=[INF, 0.5],
            jac=lambda x: [[x[1], x[0]], [2 * x[0], 0.0]],
        ),
        {"type": "eq", "fun": lambda x, a: a * x[1], "args": (3.0,), "jac": lambda x, a: [0.0, a]},
    ]  # fmt: skip
    constraints = Constraints(each, vectorized=False)

    def parts(x):
        return np.hstack(constraints.parts(constraints.values(x[None])))[0]

    step = 1e-6
    differences = [(parts(x + step * e) - parts(x - step * e)) / (2 * step) for e in np.eye(2)]
    assert constraints.slopes(x) == pytest.approx(np.transpose(differences), abs=1e-8)
    each[2].jac = "2-point"
    assert Constraints(each, vectorized=False).slopes(x) is None


# The order of points


def test_feasible_points_come_first_then_smaller_violations():
    values = np.array([5.0, -9.0, 3.0, NAN, -1.0])
    violations = np.array([0.0, 0.2, 0.0, 0.1, INF])
    assert feasibility.order(values, violations).tolist() == [2, 0, 3, 1, 4]
    # Up to ε = 0.2, values decide: -9, 3, 5; a value that is missing comes last.
    assert feasibility.order(values, violations, 0.2).tolist() == [1, 2, 0, 3, 4]


def test_ranks_are_exact_where_sums_would_round():
    values, violations = np.array([1e20, 1e20, 1e20]), np.array([0.0, 1e-9, 1e-9])
    assert feasibility.ranks(values, violations).tolist() == [1, 2, 2]


def test_merits_count_violations_from_the_worst_feasible_value():
    values, violations = np.array([5.0, -9.0, 3.0, 0.0]), np.array([0.0, 0.2, 0.0, INF])
    assert feasibility.merits(values, violations).tolist()[:3] == [5.0, 5.2, 3.0]
    assert np.isnan(feasibility.merits(values, violations)[3])
    nothing = feasibility.merits(values[1:2], violations[1:2])
    assert nothing.tolist() == [0.2]  # no feasible value: the violation itself


# ask and tell


def told(values, violations):
    run = uaos.DifferentialEvolution(BOX, method="rand/1", popsize=4, seed=1)
    points = run.ask()
    run.tell(values, violations)
    return run, points


def test_the_best_starts_anew_at_the_first_feasible_point():
    run, points = told([1.0, 2.0, 3.0, 4.0], [0.5, 0.1, 0.3, NAN])
    assert (run.best_fitness, run.best_violation) == (INF, 0.1)
    assert run.best_x.tolist() == points[1].tolist()
    assert not run.result.success
    assert run.result.message == "the run is not finished; no feasible point was found"
    run.ask()
    run.tell([-1.0, 7.0, -2.0, 6.0], [0.05, 0.0, 0.2, 0.0])
    assert (run.best_fitness, run.best_violation) == (6.0, 0.0)
    assert "maxcv" in run.result


def test_a_target_is_reached_at_feasible_points_only():
    run = uaos.CMAES(BOX, seed=1, target=0.0, popsize=4)
    run.ask()
    run.tell([-1.0] * 4, [0.1] * 4)
    assert not run.done
    run.ask()
    run.tell([-1.0] * 4, [0.1, 0, 0.1, 0.1])
    assert run.done


def test_violations_come_with_every_batch_or_with_none():
    run, _ = told([1.0] * 4, [0.0] * 4)
    run.ask()
    with pytest.raises(InvalidFeedback):
        run.tell([1.0] * 4)
    with pytest.raises(InvalidFeedback):
        run.tell([1.0] * 4, [-1.0] * 4)
    local = uaos.LocalSearch(BOX, seed=1)
    local.ask()
    with pytest.raises(InvalidFeedback):
        local.tell([1.0], [0.0])


def test_single_values_may_have_violations():
    one, _ = told([1.0, 2.0, 3.0, 4.0], [0.5, 0.0, 0.3, 0.0])
    other = uaos.DifferentialEvolution(BOX, method="rand/1", popsize=4, seed=1)
    other.ask()
    for k, value, violation in ((3, 4.0, 0.0), (0, 1.0, 0.5), (2, 3.0, 0.3), (1, 2.0, 0.0)):
        other.tell_one(k, value, violation)
    assert one.ask().tolist() == other.ask().tolist()
    assert other.best_fitness == 2.0


def test_credit_follows_the_order_of_points():
    """By hand: which of four offspring beat their parents."""
    seen = {}

    class Watching:
        name = "watching"

        def propose(self, state, parents, rng):
            return rng.uniform(-1, 1, (len(parents), 2))

        def learn(self, state, parents, points, values, improved):
            seen["improved"] = improved.tolist()

    run = uaos.DifferentialEvolution(
        BOX, method="rand/1", operators=[Watching()], popsize=4, seed=1
    )
    run.ask()
    run.tell([1.0, 2.0, NAN, NAN], [0.0, 0.0, 0.5, 0.4])
    offspring = run.ask()
    # Infeasible child of a feasible parent; better value; smaller violation; larger violation.
    run.tell([NAN, 1.5, NAN, NAN], [0.1, 0.0, 0.3, 0.6])
    assert seen["improved"] == [False, True, True, False]
    assert run.view.population[[1, 2]].tolist() == offspring[[1, 2]].tolist()
    assert run.view.violations.tolist() == [0.0, 0.0, 0.3, 0.4]
    assert run.view.fitness.tolist() == [1.0, 1.5, INF, INF]


@pytest.mark.parametrize(
    ("budget", "generations"),
    [(1000, 70), (4000, 200), (10_000, 300)],  # 70 % of the budget, 200 generations, 30 %
)
def test_the_level_of_tolerated_violations_falls_to_zero(budget, generations):
    run = uaos.DifferentialEvolution(BOX, method="rand/1", popsize=10, seed=1, budget=budget)
    levels = []
    while not run.done:
        X = run.ask()
        levels.append(run.epsilon)
        run.tell((X**2).sum(axis=1), np.abs(X[:, 0] - 1.0) + 0.1)
    assert levels[0] == feasibility.UNLIMITED  # before the first population
    assert levels[1] > levels[2] > 0
    assert levels[generations - 1] > 0
    assert levels[generations] == 0


def test_constraints_change_nothing_where_all_points_are_feasible():
    for method in ("mix", "CMA-ES"):
        plain = minimize(bowl, BOX, method=method, budget=600, seed=3)
        held = minimize(
            bowl, BOX, method=method, budget=600, seed=3, constraints=at_least(-1.0, bowl)
        )
        assert held.x.tolist() == plain.x.tolist()
        assert held.maxcv == 0


# minimize


@pytest.mark.parametrize("method", [None, "mix", "CMA-ES"])
def test_an_optimum_on_a_constraint_is_found(method):
    """The point of x + y >= 1 nearest to the origin is (0.5, 0.5)."""
    result = minimize(
        bowl, BOX, method=method, seed=1, budget=1500,
        constraints=at_least(1.0, lambda x: x[0] + x[1]),
    )  # fmt: skip
    assert result.fun == pytest.approx(0.5, abs=1e-3)
    assert result.constr[0].tolist() == [0.0]


def test_an_equality_is_met():
    """On y = x² + 1, the value nearest to the origin is at (0, 1)."""
    result = minimize(
        bowl, BOX, seed=1, constraints={"type": "eq", "fun": lambda x: x[1] - x[0] ** 2 - 1}
    )
    assert result.x == pytest.approx([0, 1], abs=1e-3)
    assert 0 <= result.maxcv <= 1e-6


@pytest.mark.parametrize("integrality", [None, [True, False, False]])
def test_a_short_run_meets_an_equality_at_the_best_integers(integrality):
    """ε must not be 0 before the population has found its way.

    The nearest points to (2.3, 1.7, 0.4) on the sphere of radius 3: along the ray from the center,
    at distance 3 - sqrt(8.34) = 0.112; with x_0 = 2 on the circle of radius sqrt(5), where
    (1.7, 0.4) has length 1.7464: 0.3² + (2.2361 - 1.7464)² = 0.3297.
    """
    sphere = {"type": "eq", "fun": lambda X: (X**2).sum(axis=1) - 9.0}
    nearest = 0.01257 if integrality is None else 0.32975
    for seed in range(1, 6):
        result = minimize(
            lambda X: ((X - [2.3, 1.7, 0.4]) ** 2).sum(axis=1), [(-5, 5)] * 3, method="mix",
            constraints=sphere, integrality=integrality, vectorized=True, budget=5000, seed=seed,
        )  # fmt: skip
        assert result.maxcv <= 1e-6
        assert result.fun == pytest.approx(nearest, abs=2e-3)


def test_the_function_is_not_called_at_infeasible_points():
    result = minimize(
        lambda x: math.sqrt(x[0] - 1.0) + x[1] ** 2, BOX, seed=1, budget=1000,
        constraints=at_least(1.0, lambda x: x[0]),
    )  # fmt: skip
    assert result.fun == pytest.approx(0, abs=1e-2)


@pytest.mark.parametrize("method", ["mix", "CMA-ES"])
def test_evolution_does_not_need_values_of_infeasible_points(method):
    seen = []
    minimize(
        lambda x: seen.append(x[0]) or x[1] ** 2, BOX, method=method, seed=1, budget=200,
        constraints=at_least(1.0, lambda x: x[0]),
    )  # fmt: skip
    assert seen
    assert min(seen) >= 1.0


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("vectorized", [False, True])
def test_exceptions_of_a_constraint_count_as_failed_evaluations(workers, vectorized):
    """It fails at the first point, the center, and has two functions."""
    if vectorized and workers == 2:
        return

    def limits(x):
        x = np.atleast_2d(x)
        if (abs(x) < 0.1).all(axis=1).any():
            raise ArithmeticError("no mesh")
        both = np.column_stack([x[:, 0], x[:, 1]])
        return both if vectorized else both[0]

    def fun(x):
        return ((x - 1.0) ** 2).sum(axis=-1)

    given = {"constraints": at_least(0.0, limits), "vectorized": vectorized, "workers": workers}
    result = minimize(fun, BOX, x0=[0.0, 0.0], seed=1, budget=800, on_error="fail", **given)
    assert result.fun < 1e-6
    assert result.constr[0].tolist() == [0.0, 0.0]
    with pytest.raises(ArithmeticError, match="no mesh"):
        minimize(fun, BOX, x0=[0.0, 0.0], seed=1, budget=800, **given)


@pytest.mark.parametrize("kind", ["map", "executor"])
def test_ctrl_c_among_constraints_returns_a_point_with_its_own_value(kind):
    """Violations that were ready, such as 0, are no values of the function."""
    calls = []

    def limit(x):
        calls.append(x)
        if len(calls) == 150:
            raise KeyboardInterrupt
        return x[0]

    def fun(x):
        return bowl(x) + 7.0

    with ThreadPoolExecutor(1) as pool:
        result = minimize(
            fun, BOX, seed=1, budget=2000, constraints=at_least(1.0, limit),
            workers=(lambda *each: map(*each)) if kind == "map" else pool,
        )  # fmt: skip
    assert result.message.startswith("interrupted")
    assert result.fun == fun(result.x) >= 7.0


def test_a_constraint_that_always_fails_is_no_error_where_failures_are_none():
    def fails(x):
        raise ArithmeticError

    result = minimize(bowl, BOX, seed=1, budget=60, constraints=at_least(0, fails), on_error="fail")
    assert (result.x, result.nfev, result.success, result.maxcv) == (None, 60, False, INF)
    assert "none of 60 evaluations gave a finite value" in result.message


def test_an_infeasible_end_is_no_success():
    result = minimize(bowl, BOX, seed=1, constraints=at_least(11.0, lambda x: x[0] + x[1]))
    assert not result.success
    assert result.message.endswith("no feasible point was found (maxcv = 1)")
    assert result["maxcv"] == pytest.approx(1)
    assert result.fun == INF
    assert "maxcv: 1" in str(result)


def test_every_way_of_evaluating_gives_the_same_run():
    def both(X):
        return np.column_stack([X[:, 0] + X[:, 1], X[:, 0]])

    given = {"seed": 1, "budget": 500}
    limits = at_least([1.0, 0.2], lambda x: [x[0] + x[1], x[0]])
    one = minimize(bowl, BOX, constraints=limits, **given)
    two = minimize(bowl, BOX, constraints=limits, workers=2, **given)
    whole = minimize(
        lambda X: (X**2).sum(axis=1), BOX, vectorized=True,
        constraints=at_least([1.0, 0.2], both), **given,
    )  # fmt: skip
    assert one.x.tolist() == two.x.tolist() == whole.x.tolist()


def test_polishing_stays_feasible():
    given = {"constraints": at_least(1.0, lambda x: x[0] + x[1]), "seed": 1, "budget": 300}
    rough = minimize(bowl, BOX, method="mix", **given)
    smooth = minimize(bowl, BOX, method="mix", polish=True, **given)
    assert 0.5 <= smooth.fun < rough.fun
    assert smooth.maxcv == 0


def test_local_search_takes_no_constraints_and_the_portfolio_leaves_it_out():
    limit = at_least(1.0, lambda x: x[0])
    with raises(InvalidParameter, name="method", value="BFGS"):
        minimize(bowl, BOX, method="BFGS", constraints=limit)
    assert "BFGS" in uaos.Portfolio(BOX).operators
    assert uaos.Portfolio(BOX, constrained=True).operators == ("SQP", "CMA-ES", "mix")
    assert uaos.Portfolio(BOX, constrained=True, budget=200).operators == ("SQP",)
    integers = uaos.Portfolio(BOX, constrained=True, integrality=[True, False])
    assert integers.operators == ("mixed-SQP", "CMA-ES", "mix")
    assert "BFGS" not in uaos.Portfolio(BOX, integrality=[True, False]).operators


# What SciPy's objects mean


@pytest.mark.parametrize(
    ("given", "excess"),
    [
        (SimpleNamespace(fun=lambda x: [x[0] + x[1], x[0]], lb=[-INF, 0], ub=[2, 1]), [2.0, 0.0]),
        (SimpleNamespace(A=[[1, 1], [2, 0]], lb=5, ub=INF), [1.0, 3.0]),
        (SimpleNamespace(lb=[0, 4], ub=[1, 5]), [0.0, 1.0]),
        ({"type": "ineq", "fun": lambda x: x[0] - 2}, [1.0]),
        ({"type": "eq", "fun": lambda x, a: x[1] - a, "args": (5,)}, [2.0]),
        (SimpleNamespace(fun=lambda x: NAN, lb=0, ub=1), [INF]),
    ],
    ids=["nonlinear", "linear", "bounds", "inequality", "equality", "NaN"],
)
def test_violations_at_a_point_by_hand(given, excess):
    """At (1, 3)."""
    assert Constraint(given)(np.array([[1.0, 3.0]]), False).tolist() == [excess]


def test_violations_are_added_in_units_of_the_first_batch():
    both = Constraints([{"type": "ineq", "fun": lambda x: -x[0]}, at_least(0, lambda x: -x[1])],
                       vectorized=False)  # fmt: skip
    X = np.array([[10.0, 0.1], [5.0, 0.2]])
    assert both.violations(both.values(X)).tolist() == [1.5, 1.5]  # 10/10 + 0.1/0.2, 5/10 + 0.2/0.2
    assert both.violations(both.values(2 * X)).tolist() == [3.0, 3.0]


def test_an_equality_may_be_off_by_a_millionth():
    one = Constraints({"type": "eq", "fun": lambda x: x[0] - 1}, vectorized=False)
    found = one.violations(one.values(np.array([[3.0], [1 + 9e-7], [1.0]])))
    assert found.tolist() == [1.0, 0.0, 0.0]


def test_constraints_become_inequalities_and_equalities():
    """0 <= x <= 2 gives -x <= 0 and x - 2 <= 0; y = 1 gives y - 1 = 0; x + y <= 3 the last."""
    both = Constraints(
        [SimpleNamespace(lb=[0, 1], ub=[2, 1]), SimpleNamespace(A=[[1, 1]], lb=-INF, ub=3)],
        vectorized=False,
    )
    inequalities, equalities = both.parts(both.values(np.array([[0.5, 4.0]])))
    assert inequalities.tolist() == [[-0.5, -1.5, 1.5]]
    assert equalities.tolist() == [[3.0]]


class Everywhere(uaos.Optimizer):
    """Asks for three points once, and needs the values of all."""

    name = "everywhere"
    handles = ("constraints",)
    epsilon = INF

    def _propose(self):
        return np.array([[-1.0, 0.0], [2.0, 0.0], [3.0, 0.0]])

    def _learn(self, points, values):
        self.told = values, self.violations, self.details


def told_everywhere(fun, constraints):
    run = Everywhere(BOX)
    with Evaluator(uaos.Problem(fun, BOX, name="fun", constraints=constraints)) as evaluator:
        run.tell(*evaluator(run.ask(), run.epsilon))
    return run.told


def test_an_optimizer_may_need_values_and_constraints_everywhere():
    values, violations, details = told_everywhere(bowl, at_least(1.0, lambda x: x[0]))
    assert values.tolist() == [1.0, 4.0, 9.0]
    assert violations.tolist() == [1.0, 0.0, 0.0]
    assert details.inequalities.tolist() == [[2.0], [-1.0], [-2.0]]
    assert details.equalities.shape == (3, 0)


def test_exceptions_of_fun_count_as_failures_only_where_it_was_called_outside():
    def fun(x):
        return math.sqrt(x[0])

    values, _, _ = told_everywhere(fun, at_least(0.0, lambda x: x[0]))
    assert np.isnan(values[0])
    assert values[1] == math.sqrt(2)
    with pytest.raises(ValueError, match="math domain"):
        told_everywhere(fun, at_least(-4.0, lambda x: x[0]))


@pytest.mark.parametrize(
    "wrong", [3, "a", {"type": "ineq"}, {"fun": bowl}, SimpleNamespace(lb=2, ub=1), [bowl]]
)
def test_what_is_no_constraint_is_refused(wrong):
    with pytest.raises(InvalidParameter):
        minimize(bowl, BOX, constraints=wrong)


def test_the_message_for_a_wrong_constraint_has_no_memory_address():
    """Objects of SciPy have no representation of their own."""

    class NonlinearConstraint:
        fun, lb, ub = 3, 0, 1

    with pytest.raises(InvalidParameter, match=r"NonlinearConstraint object>; expected"):
        minimize(bowl, BOX, constraints=NonlinearConstraint())


def test_what_is_wrong_with_a_constraint_is_said():
    with raises(InvalidParameter, name="constraints"):
        minimize(bowl, BOX, constraints={"type": "inequality", "fun": bowl})
    with raises(InvalidParameter, name="(lb, ub) of constraints"):
        minimize(bowl, BOX, constraints=SimpleNamespace(lb=2, ub=1))


@pytest.mark.parametrize("vectorized", [False, True])
def test_a_condition_that_nothing_violates_is_refused(vectorized):
    """True and False are 1 and 0, and both are at least 0; with lb = 1 False is a violation."""
    condition = lambda x: x[..., 0] >= 1  # noqa: E731
    fun = (lambda X: (X**2).sum(axis=1)) if vectorized else bowl
    constraint = {"type": "ineq", "fun": condition}
    with pytest.raises(InvalidFeedback, match="True and False both lie between"):
        minimize(fun, BOX, constraints=constraint, vectorized=vectorized, budget=20)
    assert Constraint(at_least(1, condition))(np.zeros((1, 2)), vectorized).tolist() == [[1.0]]


def test_a_constraint_without_return_is_warned_of_once():
    """None counts as a failed evaluation, which is rarely meant."""
    constraint = {"type": "ineq", "fun": lambda x: None}
    with pytest.warns(RuntimeWarning, match="is `return` missing") as caught:
        assert minimize(bowl, BOX, constraints=constraint, budget=20, seed=1).x is None
    assert len(caught) == 1


def test_a_constraint_of_the_wrong_shape_is_named():
    limit = SimpleNamespace(fun=lambda x: [1.0, 2.0, 3.0], lb=[0, 0], ub=[1, 1])
    with pytest.raises(InvalidFeedback):
        minimize(bowl, BOX, constraints=limit)
    with pytest.raises(InvalidFeedback):
        minimize(bowl, BOX, constraints=SimpleNamespace(A=[[1, 2, 3]], lb=0, ub=1))


# Integers


@pytest.mark.parametrize("method", [None, "mix", "CMA-ES"])
def test_integer_coordinates_are_integers_in_every_call(method):
    """Of (x - 1.6)² + (y - 0.3)², with x an integer, the minimum is 0.16 at (2, 0.3)."""
    seen = []

    def fun(x):
        seen.append(x[0])
        return (x[0] - 1.6) ** 2 + (x[1] - 0.3) ** 2

    result = minimize(fun, BOX, method=method, integrality=[True, False], seed=1, budget=3000)
    assert set(seen) <= set(range(-5, 6))
    assert result.x == pytest.approx([2, 0.3], abs=1e-4)
    assert result.fun == pytest.approx(0.16, abs=1e-8)


@pytest.mark.parametrize("method", [None, "mix", "CMA-ES"])
def test_integers_do_not_stagnate(method):
    """A staircase whose best step is far from where most points are, all coordinates integers."""

    def stairs(x):
        return float(np.abs(x - np.array([37, -12, 4, 90])).sum())

    result = minimize(
        stairs, [(-100, 100)] * 4, method=method, integrality=True, seed=2, budget=20_000, target=0
    )
    assert result.fun == 0
    assert result.x.tolist() == [37, -12, 4, 90]


def test_every_integer_of_the_box_is_as_likely():
    run = uaos.DifferentialEvolution([(0.2, 3.9)], integrality=True, popsize=4000, seed=1)
    values, counts = np.unique(run.ask(), return_counts=True)
    assert values.tolist() == [1, 2, 3]
    assert counts.min() > 1200  # of 4000, a third each


def test_an_integer_coordinate_with_one_value_is_held():
    result = minimize(
        bowl, [(0.5, 1.4), (-3, 3)], integrality=[1, 0], seed=1, budget=200, method="mix"
    )
    assert result.x[0] == 1
    assert result.nfev == 200


@pytest.mark.parametrize(
    ("integrality", "name"),
    [
        ([True], "integrality"),
        ([2, 0], "integrality"),
        ("ab", "integrality"),
        ([True, False], "bounds"),
    ],
)
def test_wrong_integrality_is_named(integrality, name):
    bounds = [(0.2, 0.9), (0, 1)]
    if integrality == [True]:
        integrality = [True, False, True]
    with raises(InvalidParameter, name=name):
        minimize(bowl, bounds, integrality=integrality)


def test_local_search_takes_no_integers():
    with raises(InvalidParameter, name="integrality"):
        minimize(bowl, BOX, method="BFGS", integrality=True)
