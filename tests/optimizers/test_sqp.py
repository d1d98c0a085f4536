"""Sequential quadratic programming: constraints of all kinds, failures, bounds."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

import uaos
from uaos.optimizers.base.details import Details

INF, NAN = math.inf, math.nan
BOX = [(-5.0, 5.0)] * 2


def hs71(x):
    return x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2]


#: Hock and Schittkowski (1981), problem 71: the minimum is 17.0140173.
HS71 = [
    {"type": "ineq", "fun": lambda x: np.prod(x) - 25},
    {"type": "eq", "fun": lambda x: x @ x - 40},
]


def at_least(bound, fun):
    return SimpleNamespace(fun=fun, lb=bound, ub=INF)


def search(fun, bounds, constraints=None, **arguments):
    return uaos.minimize(fun, bounds, method="SQP", constraints=constraints, **arguments)


@pytest.mark.parametrize("seed", range(5))
def test_hs71_takes_few_evaluations_with_the_default_method(seed):
    result = uaos.minimize(hs71, [(1, 5)] * 4, constraints=HS71, x0=[1, 5, 5, 1], seed=seed)
    assert result.success
    assert result.fun == pytest.approx(17.0140173, abs=1e-5)
    assert result.nfev < 500


def test_steps_grow_beyond_the_scale():
    """The optimum is 10,000 times the scale away, along a line that a constraint is parallel to."""
    limit = at_least(-1.0, lambda x: x[0] - x[1])
    far = search(
        lambda x: (x[0] + x[1] - 2e4) ** 2 + (x[0] - x[1] + 2) ** 2, None, limit, x0=[1, 1]
    )
    assert far.x == pytest.approx([9999.5, 10000.5], rel=1e-6)
    assert far.nfev < 300


def test_hs71_is_solved_from_its_start():
    result = search(hs71, [(1, 5)] * 4, HS71, x0=[1, 5, 5, 1])
    assert result.success
    assert result.fun == pytest.approx(17.0140173, abs=1e-5)
    assert result.nfev < 200


@pytest.mark.parametrize("seed", range(1, 6))
def test_the_default_method_solves_hs71_and_ends(seed):
    """Independent starts agree, so that the run ends long before its default budget."""
    result = uaos.minimize(hs71, [(1, 5)] * 4, constraints=HS71, x0=[1, 5, 5, 1], seed=seed)
    assert result.success
    assert result.fun == pytest.approx(17.0140173, abs=1e-5)
    assert result.nfev < 1000


@pytest.mark.parametrize("seed", range(1, 9))
def test_rosenbrock_with_a_cubic_and_a_line_does_not_end_in_its_local_optimum(seed):
    """Three quarters of the starts lead to 0.9989 near (0, 0); the minimum is 0 at (1, 1)."""
    limits = [
        at_least(0.0, lambda x: x[1] - 1 - (x[0] - 1) ** 3),
        at_least(0.0, lambda x: 2 - x[0] - x[1]),
    ]
    result = uaos.minimize(
        lambda x: (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2, [(-1.5, 1.5), (-0.5, 2.5)],
        constraints=limits, seed=seed,
    )  # fmt: skip
    assert result.success
    assert result.fun < 1e-10
    assert result.nfev < 1000


@pytest.mark.parametrize("seed", [2, 14])
def test_runs_that_promise_little_end_early_under_equalities(seed):
    """The largest box in an ellipsoid, without bounds above: far starts approach it slowly."""
    on_ellipsoid = {"type": "eq", "fun": lambda x: x[0] ** 2 / 4 + x[1] ** 2 / 9 + x[2] ** 2 - 1}
    result = uaos.minimize(
        lambda x: -8 * np.prod(x), [(0, INF)] * 3, constraints=on_ellipsoid, x0=[1, 1, 1], seed=seed
    )
    assert result.success
    assert result.fun == pytest.approx(-16 / math.sqrt(3), abs=2e-5)
    assert result.nfev < 3000


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_an_equality_is_met_from_both_sides(sign):
    """The objective pulls to one side of it; an inequality would be met without a step."""
    line = {"type": "eq", "fun": lambda x: sign * (x[0] + x[1] - 1)}
    result = search(lambda x: float(x @ x), BOX, line, x0=[0.1, -0.2])
    assert result.success
    assert result.x == pytest.approx([0.5, 0.5], abs=1e-4)
    assert result.nfev < 40


def test_two_runs_suffice_where_all_is_convex():
    limit = at_least(1.0, lambda x: x[0] + x[1])
    result = uaos.minimize(lambda x: float(x @ x), BOX, constraints=limit, seed=1)
    assert result.success
    assert result.fun == pytest.approx(0.5, abs=1e-9)
    assert result.nfev < 70


@pytest.mark.parametrize("start", [[4.0, 4.0], [-4.0, -4.0], [0.0, 0.0]])
def test_a_linear_objective_ends_in_a_corner(start):
    """Of -x - 2y under x + y <= 1 and y <= 0.75 the minimum is -1.75 at (0.25, 0.75)."""
    linear = SimpleNamespace(A=[[1, 1], [0, 1]], lb=-INF, ub=[1, 0.75])
    result = search(lambda x: -x[0] - 2 * x[1], BOX, linear, x0=start)
    assert result.success
    assert result.maxcv == 0
    assert result.fun == pytest.approx(-1.75, abs=1e-7)


def test_redundant_and_contradicting_gradients_do_no_harm():
    """Three times the same constraint, and a square whose gradient vanishes where it is met."""
    same = [at_least(1.0, lambda x: x[0])] * 3 + [{"type": "eq", "fun": lambda x: x[1] ** 2}]
    result = search(lambda x: x[0] ** 2 + (x[1] - 1) ** 2, BOX, same, x0=[4, 3])
    assert result.maxcv <= 1e-6
    assert result.fun == pytest.approx(2.0, abs=5e-3)  # y² <= 1e-6 allows |y| <= 1e-3


def test_points_stay_inside_the_bounds():
    seen = []

    def fun(x):
        seen.append(x)
        return float(((x - 2) ** 2).sum())

    result = search(fun, [(-1, 1)] * 3, at_least(1.0, lambda x: x.sum()))
    assert result.x == pytest.approx([1, 1, 1])
    assert np.abs(seen).max() <= 1


def test_functions_may_fail_outside_the_feasible_region():
    """sqrt raises an exception where its argument is negative; that only costs evaluations."""
    result = search(
        lambda x: math.sqrt(x[0]) + x[1] ** 2, BOX, at_least(0.25, lambda x: x[0]), x0=[-3, 2]
    )
    assert result.success
    assert result.fun == pytest.approx(0.5, abs=1e-6)


def test_constraints_may_be_nan():
    """log x is NaN at x <= 0; the minimum of x under log x >= 0 is 1."""

    def log(x):
        return math.log(x[0]) if x[0] > 0 else NAN

    result = search(lambda x: x[0] + x[1] ** 2, BOX, at_least(0.0, log), x0=[3, 1])
    assert result.fun == pytest.approx(1, abs=1e-6)
    everywhere = search(lambda x: x[0], BOX, at_least(0.0, lambda x: NAN), budget=50)
    assert not everywhere.success
    assert everywhere.nfev == 50


def test_what_cannot_be_met_is_said():
    both = [at_least(2.0, lambda x: x[0]), at_least(2.0, lambda x: -x[0])]
    result = search(lambda x: float(x @ x), BOX, both, budget=300)
    assert not result.success
    assert "no feasible point" in result.message


def test_without_constraints_it_is_a_local_search():
    result = search(lambda x: 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2, BOX)
    assert result.fun < 1e-10
    assert result.success


def test_one_violation_per_point_will_do():
    """With ask and tell, without the values of the constraints."""
    run = uaos.SQP(BOX, x0=[3.0, 3.0], seed=1, budget=400)
    while not run.done:
        points = run.ask()
        run.tell((points**2).sum(axis=1), np.maximum(1 - points.sum(axis=1), 0.0))
    assert run.best_fitness == pytest.approx(0.5, abs=1e-3)


def test_the_points_of_a_gradient_are_one_batch():
    run = uaos.SQP([(-5, 5)] * 4, x0=[1.0] * 4)
    sizes = []
    for _ in range(6):
        points = run.ask()
        sizes.append(len(points))
        values = (points**2).sum(axis=1)
        excess = 1 - points[:, :1]
        run.tell(values, np.maximum(excess[:, 0], 0.0), Details(inequalities=excess))
    assert sizes[:3] == [1, 4, 1]


def test_workers_do_not_change_the_run():
    one = search(hs71, [(1, 5)] * 4, HS71, x0=[1, 5, 5, 1])
    two = search(hs71, [(1, 5)] * 4, HS71, x0=[1, 5, 5, 1], workers=2)
    assert one.x.tolist() == two.x.tolist()
    assert one.nfev == two.nfev


def test_a_narrow_range_is_no_contradiction():
    """On 0.9999 <= x·x <= 1.0001 the minimum of x + y is -√(2·1.0001): g03 of CEC 2006 is alike."""
    narrow = SimpleNamespace(fun=lambda x: x @ x, lb=0.9999, ub=1.0001)
    result = search(lambda x: x[0] + x[1], BOX, narrow, x0=[3.0, 1.0])
    assert result.success
    assert result.fun == pytest.approx(-math.sqrt(2 * 1.0001), abs=1e-6)


def alkylation(x):
    a, b, c, d, _, f, g = x
    return [
        0.0059553571 * f**2 * a + 0.88392857 * c - 0.1175625 * f * a - a,
        1.1088 * a + 0.1303533 * a * f - 0.0066033 * a * f**2 - c,
        6.66173269 * f**2 + 172.39878 * x[4] - 56.596669 * d - 191.20592 * f - 10000,
        1.08702 * f + 0.32175 * d - 0.03762 * f**2 - x[4] + 56.85075,
        0.006198 * g * d * c + 2462.3121 * b - 25.125634 * b * d - c * d,
        161.18996 * c * d + 5000 * b * d - 489510 * b - c * d * g,
        0.33 * g - x[4] + 44.333333,
        0.022556 * x[4] - 0.007595 * g - 1,
        0.00061 * c - 0.0005 * a - 1,
        0.819672 * a - c + 0.819672,
        24500 * b - 250 * b * d - c * d,
        1020.4082 * d * b + 1.2244898 * c * d - 100000 * b,
        6.25 * a * f + 6.25 * a - 7.625 * c - 100000,
        1.22 * c - f * a - a + 1,
    ]


@pytest.mark.parametrize("seed", [1, 2])
def test_contradictory_tangents_and_constraints_of_all_sizes(seed):
    """Problem RC03 of CEC 2020: at first linear models of the constraints contradict each other."""
    result = search(
        lambda x: (-1.715 - 0.035 * x[5]) * x[0] - (4.0565 - 0.063 * x[4]) * x[2] - 10 * x[1],
        [(1000, 2000), (0, 100), (2000, 4000), (0, 100), (0, 100), (0, 20), (0, 200)],
        SimpleNamespace(fun=alkylation, lb=-INF, ub=0.0), seed=seed, budget=6000, target=-4529.1,
    )  # fmt: skip
    assert result.maxcv == 0
    assert result.fun <= -4529.1


def test_a_smooth_problem_takes_few_evaluations():
    """Problem 28 of Hock and Schittkowski: quadratic, with a linear equality."""
    plane = SimpleNamespace(A=[[1.0, 2.0, 3.0]], lb=1.0, ub=1.0)
    result = search(
        lambda x: (x[0] + x[1]) ** 2 + (x[1] + x[2]) ** 2, None, plane, x0=[-4, 1, 1], target=1e-6
    )
    assert result.fun <= 1e-6
    assert result.nfev <= 32


def test_differences_become_shorter_where_slopes_change_quickly():
    """A rational fit to exp from one side (CUTEst's EXPFITB): differences of 2 % hid its slopes."""
    t = np.linspace(0.0, 5.0, 51)
    powers = np.vander(t, 3, increasing=True)
    shifts = np.column_stack([t - 5.0, (t - 5.0) ** 2])
    above = np.hstack([powers, -np.exp(t)[:, None] * shifts])
    positive = np.hstack([np.zeros((51, 3)), shifts])
    limits = SimpleNamespace(
        A=np.vstack([above, positive]), lb=np.append(np.exp(t), np.full(51, -0.99999)), ub=INF
    )

    def misfit(x):
        ratios = powers @ x[:3] / (1.0 + shifts @ x[3:])
        return float(np.sum((ratios / np.exp(t) - 1.0) ** 2))

    result = search(misfit, None, limits, x0=[1, 1, 6, 0, 0], budget=400)
    assert result.maxcv == 0
    assert result.fun == pytest.approx(0.0050193657, abs=1e-6)


def test_wide_differences_of_exponentials_do_not_spoil_the_model():
    """Problem 111 of Hock and Schittkowski: over a tenth of the box, slopes are 1e10."""
    costs = [-6.089, -17.164, -34.054, -5.914, -24.721, -14.986, -24.1, -10.708, -26.662, -22.179]
    atoms = np.zeros((3, 10))
    atoms[0, [0, 1, 2, 5, 9]] = 1, 2, 2, 1, 1
    atoms[1, [3, 4, 5, 6]] = 1, 2, 1, 1
    atoms[2, [2, 6, 7, 8, 9]] = 1, 1, 1, 2, 1
    balance = SimpleNamespace(fun=lambda x: atoms @ np.exp(x) - [2, 1, 1], lb=0.0, ub=0.0)

    def energy(x):
        return float(np.exp(x) @ (costs + x - np.log(np.exp(x).sum())))

    result = search(energy, [(-100, 100)] * 10, balance, x0=np.full(10, -2.3), budget=600)
    assert result.maxcv <= 1e-5
    assert result.fun == pytest.approx(-47.7611, abs=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_runs_start_near_x0_first_where_there_are_no_bounds(seed):
    """CUTEst's MWRIGHT: from its start a run ends at 24.3, from points nearby at 0.8."""
    root = math.sqrt(2)
    limits = SimpleNamespace(
        fun=lambda x: [
            x[0] + x[1] ** 2 + x[2] ** 3 - 2 - 3 * root,
            x[1] - x[2] ** 2 + x[3] + 2 - 2 * root,
            x[0] * x[4] - 2,
        ],
        lb=0.0,
        ub=0.0,
    )

    def fun(x):
        a, b, c, d, e = x
        return a**2 + (a - b) ** 2 + (b - c) ** 3 + (c - d) ** 4 + (d - e) ** 4

    result = search(fun, None, limits, x0=[-1, 2, 1, -2, -2], budget=1500, seed=seed)
    assert result.fun == pytest.approx(0.83716, abs=1e-4)


SHIFTED = np.array([1.0, 2.0, 3.0, 4.0])
ROW = [1.0, 1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("limits", "optimum"),
    [
        (SimpleNamespace(A=[ROW, ROW, [2.0] * 4], lb=[4, 4, 8], ub=[4, 4, 8]), 9.0),
        (SimpleNamespace(fun=lambda x: 1e6 * (x @ x - 4), lb=0.0, ub=0.0), 12.09110),
        (SimpleNamespace(fun=lambda x: x @ x, lb=9.0, ub=9.0), 6.13665),
    ],
    ids=["redundant", "badly scaled", "no slope at the start"],
)
def test_equalities_that_stop_other_solvers(limits, optimum):
    """SciPy's SLSQP makes no step on any of these."""
    result = uaos.minimize(
        lambda x: float((x - SHIFTED) @ (x - SHIFTED)), [(-10, 10)] * 4, constraints=limits,
        x0=np.zeros(4), seed=1,
    )  # fmt: skip
    assert result.success
    assert result.fun == pytest.approx(optimum, abs=1e-4)
    assert result.nfev < 1000


@pytest.mark.parametrize("value", [0.0, 1.0, -1e6])
def test_a_feasible_point_is_found_without_an_objective(value):
    """A constant function, as users have it who only look for a feasible point."""
    limits = [
        {"type": "eq", "fun": lambda x: [x[0] ** 2 + x[1] ** 2 - 1, x[2] - x[3] ** 3]},
        {"type": "ineq", "fun": lambda x: x[2] - x[0]},
    ]
    x0 = [3.0, -3.0, 3.0, -3.0]
    result = search(lambda x: value, [(-5, 5)] * 4, limits, x0=x0, budget=150)
    assert result.maxcv <= 1e-6


def test_constraints_are_met_from_the_minimum_of_the_objective():
    """At `x0` the gradient is 0, and the point is infeasible."""
    result = search(
        lambda x: float(x @ x), BOX, at_least(1.0, lambda x: x[0] + x[1]), x0=[0, 0], budget=60,
        jac=lambda x: 2 * x,
    )  # fmt: skip
    assert result.fun == pytest.approx(0.5, abs=1e-9)


def test_rounding_errors_do_not_hide_that_all_is_convex():
    """Shares that sum to 1: the sum does not change from step to step, but for rounding."""
    rng = np.random.default_rng(5)
    returns = rng.standard_normal((30, 12))
    gains, risks = rng.uniform(0, 0.2, 12), returns.T @ returns / 30
    limits = [
        {"type": "eq", "fun": lambda x: x.sum() - 1},
        {"type": "ineq", "fun": lambda x: gains @ x - 0.12},
    ]
    result = uaos.minimize(
        lambda x: float(x @ risks @ x), [(0, 1)] * 12, constraints=limits, x0=np.full(12, 1 / 12),
        seed=1,
    )  # fmt: skip
    assert result.success
    assert result.nfev < 700


def test_a_local_run_goes_on_where_its_start_was_better():
    """The first full step leads to a corner of a higher value, far from any optimum."""

    def camel(x):
        a, b = x
        return 4 * a**2 - 2.1 * a**4 + a**6 / 3 + a * b - 4 * b**2 + 4 * b**4

    limit = {
        "type": "ineq",
        "fun": lambda x: 1.5 + np.sin(4 * np.pi * x[0]) - 2 * np.sin(2 * np.pi * x[1]) ** 2,
    }
    bounds = [(-1, 0.75), (-1, 1)]
    result = uaos.minimize(camel, bounds, x0=[0.5, 0.5], constraints=limit, method="SQP")
    assert result.success
    assert result.fun < 0.18  # 0.374 at the start


def test_a_line_search_that_fails_at_a_kink_is_no_convergence():
    def kinks(x):
        return 10 * abs(x[1] - x[0] ** 2) + abs(1 - x[0])  # 0 at (1, 1)

    line = {"type": "ineq", "fun": lambda x: 3 - x.sum()}
    result = uaos.minimize(
        kinks, [(-5, 5)] * 2, x0=[-1.2, 1], constraints=line, method="SQP"
    )  # fmt: skip
    assert result.fun > 0.1
    assert not result.success
    assert result.message == "a run ended before it reached an optimum"


def test_many_variables_have_their_constraints_met_by_the_default():
    def bowl(x):
        return float(np.sum((x - 1) ** 2))

    limits = {"type": "ineq", "fun": lambda x: [300 - x @ x, x[0] + x[1] - 3]}
    result = uaos.minimize(bowl, [(-5, 5)] * 600, constraints=limits, budget="10D", seed=1)
    assert result.maxcv == 0
    # Without the second constraint: all x at √0.5; that costs less than 1.
    assert result.fun == pytest.approx(600 * (1 - np.sqrt(0.5)) ** 2, abs=3)


def test_large_multipliers_of_long_steps_do_not_spoil_the_model():
    """A truss of ten bars: areas and displacements, which are far away at first."""
    nodes = np.array([(2, 1), (2, 0), (1, 1), (1, 0), (0, 1), (0, 0)])  # the last two are held
    bars = [(4, 2), (2, 0), (5, 3), (3, 1), (2, 3), (0, 1), (4, 3), (5, 2), (2, 1), (3, 0)]
    lengths, stretch = np.zeros(10), np.zeros((10, 8))
    for k, (start, end) in enumerate(bars):
        way = nodes[end] - nodes[start]
        lengths[k] = np.linalg.norm(way)
        for node, sign in ((start, -1), (end, 1)):
            if node < 4:
                stretch[k, 2 * node : 2 * node + 2] = sign * way / lengths[k]
    loads = np.array([0, 0, 0, -100, 0, 0, 0, -100])

    def volume(x):
        return lengths @ x[:10]

    def unbalanced(x):
        return stretch.T @ (x[:10] / lengths * (stretch @ x[10:])) - loads

    limits = [{"type": "eq", "fun": unbalanced}, {"type": "ineq", "fun": lambda x: 50 + x[13]}]
    result = uaos.minimize(
        volume, [(0.645, np.inf)] * 10 + [(-np.inf, np.inf)] * 8, x0=[0.645] * 10 + [0] * 8,
        constraints=limits, method="SQP", budget=900,
    )  # fmt: skip
    assert result.maxcv <= 1e-6
    assert result.fun == pytest.approx(160.4728, rel=1e-4)


def test_interchangeable_coordinates_are_moved_apart():
    """Five circles in a square: all start at its center, where their slopes are the same."""
    pairs = np.triu_indices(5, 1)

    def gaps(z):
        places = z[:10].reshape(5, 2)
        distances = np.hypot(*(places[:, None] - places[None]).T)[pairs]
        return np.concatenate([distances - 2 * z[10], z[:10] - z[10], 1 - z[:10] - z[10]])

    box = [(0, 1)] * 10 + [(0, 0.5)]
    inside = {"type": "ineq", "fun": gaps}
    settings = {"constraints": inside, "seed": 1, "record": "points"}
    result = uaos.minimize(lambda z: -z[10], box, budget="30D", **settings)
    assert result.fun < -0.19  # the largest radius is 0.2071
    start = [0.5] * 10 + [0.25]
    given = uaos.minimize(lambda z: -z[10], box, x0=start, budget="2D", method="SQP", **settings)
    assert np.ptp(given.X[12][:10]) < 1e-9  # a point that is given is a choice
    assert np.ptp(result.X[12][:10]) > 0.01


def test_coordinates_without_effect_are_not_moved_apart():
    """They are alike, too, but there is nothing to gain."""
    run = uaos.minimize(
        lambda x: (x[0] - 2) ** 2, [(-5, 5)] * 3, method="SQP", seed=1, budget=20,
        constraints={"type": "ineq", "fun": lambda x: 1 - x[0]}, record="points",
    )  # fmt: skip
    assert run.X[4] == pytest.approx([1, 0, 0], abs=1e-6)  # after the first gradient
