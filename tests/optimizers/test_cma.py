"""CMA-ES: the update against an independent one, restarts by hand, exact resume, bounds, BBOB."""

import json
import math
import os
import subprocess
import sys

import numpy as np
import pytest
from raising import raises

from uaos.errors import InvalidParameter
from uaos.optimizers.cma import CMAES, _sample, constants
from uaos.problems.space import Box


def ellipsoid(points):
    scales = 10.0 ** (4 * np.arange(points.shape[1]) / max(1, points.shape[1] - 1))
    return ((points - 1.0) ** 2 * scales).sum(axis=1)


def run(optimizer, fun, batches):
    for _ in range(batches):
        if optimizer.done:
            break
        optimizer.tell(fun(optimizer.ask()))
    return optimizer


# The update


class Reference:
    """The tutorial's equations with matrices, from the points and their values alone."""

    def __init__(self, optimizer, gap):
        D, n = optimizer.dimension, optimizer.popsize
        self.D, self.gap = D, gap
        self.width = optimizer.high - optimizer.low
        self.m, self.sigma = optimizer.mean.copy(), optimizer.sigma
        self.C, self.C_used = np.eye(D), np.eye(D)
        self.ps, self.pc, self.g = np.zeros(D), np.zeros(D), 0
        raw = np.log((n + 1) / 2) - np.log(np.arange(1, n + 1))
        up, down = raw > 0, raw < 0
        up[n // 2 :] = False
        self.mu_eff = raw[up].sum() ** 2 / (raw[up] ** 2).sum()
        mu_eff_down = raw[down].sum() ** 2 / (raw[down] ** 2).sum()
        self.c1 = 2 / ((D + 1.3) ** 2 + self.mu_eff)
        mu = self.mu_eff
        self.cmu = min(1 - self.c1, 2 * (1 / 4 + mu + 1 / mu - 2) / ((D + 2) ** 2 + 2 * mu / 2))
        alpha = min(
            1 + self.c1 / self.cmu,
            1 + 2 * mu_eff_down / (self.mu_eff + 2),
            (1 - self.c1 - self.cmu) / (D * self.cmu),
        )
        self.w = np.zeros(n)
        self.w[up] = raw[up] / raw[up].sum()
        self.w[down] = alpha * raw[down] / np.abs(raw[down]).sum()
        self.cs = (self.mu_eff + 2) / (D + self.mu_eff + 5)
        self.ds = 1 + 2 * max(0, math.sqrt((self.mu_eff - 1) / (D + 1)) - 1) + self.cs
        self.cc = (4 + self.mu_eff / D) / (D + 4 + 2 * self.mu_eff / D)
        self.chi = math.sqrt(D) * (1 - 1 / (4 * D) + 1 / (21 * D**2))

    def step(self, points, values):
        D, cs, cc = self.D, self.cs, self.cc
        eigenvalues, B = np.linalg.eigh(self.C_used)
        inverse_root = B @ np.diag(eigenvalues**-0.5) @ B.T
        y = ((points - self.m) / (self.sigma * self.width))[np.argsort(values)]
        mean_y = sum(w * v for w, v in zip(self.w, y, strict=True) if w > 0)
        self.g += 1
        self.m = self.m + self.sigma * self.width * mean_y
        self.ps = (1 - cs) * self.ps + math.sqrt(cs * (2 - cs) * self.mu_eff) * (
            inverse_root @ mean_y
        )
        norm = np.linalg.norm(self.ps)
        h = norm / math.sqrt(1 - (1 - cs) ** (2 * self.g)) < (1.4 + 2 / (D + 1)) * self.chi
        self.pc = (1 - cc) * self.pc + h * math.sqrt(cc * (2 - cc) * self.mu_eff) * mean_y
        scaled = [
            w if w >= 0 else w * D / np.linalg.norm(inverse_root @ v) ** 2
            for w, v in zip(self.w, y, strict=True)
        ]
        delta = (1 - h) * cc * (2 - cc)
        self.C = (
            (1 + self.c1 * delta - self.c1 - self.cmu * self.w.sum()) * self.C
            + self.c1 * np.outer(self.pc, self.pc)
            + self.cmu * sum(w * np.outer(v, v) for w, v in zip(scaled, y, strict=True))
        )
        self.sigma *= math.exp(min(1, cs / self.ds * (norm / self.chi - 1)))
        if self.g % self.gap == 0:
            self.C_used = self.C


@pytest.mark.parametrize(("D", "popsize", "gap"), [(1, 4, 1), (3, 7, 1), (5, 30, 1), (20, 12, 3)])
def test_the_kernels_follow_the_equations_of_the_tutorial(D, popsize, gap):
    """Mean, step size, paths and matrix after each of 25 generations; widths differ."""
    bounds = [(-5.0 - i, 5.0) for i in range(D)]
    optimizer = CMAES(Box(bounds, outside_allowed=True), seed=3, popsize=popsize, boundary="none")
    reference = Reference(optimizer, gap)
    for _ in range(25):
        points = optimizer.ask()
        values = ellipsoid(points)
        optimizer.tell(values)
        reference.step(points, values)
        np.testing.assert_allclose(optimizer.mean, reference.m, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(optimizer.sigma, reference.sigma, rtol=1e-8)
        np.testing.assert_allclose(optimizer._path_sigma, reference.ps, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(optimizer._path_c, reference.pc, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(
            np.tril(optimizer._C), np.tril(reference.C), rtol=1e-7, atol=1e-9
        )


def test_the_constants_are_those_computed_by_hand():
    """D = 2, λ = 6: raw weights ln 3.5 - ln i = 1.2528, 0.5596, 0.1542, -0.1335, …"""
    c = constants(2, 6)
    assert c.mu == 3
    assert c.mu_eff == pytest.approx(2.0286, abs=2e-4)  # 1.9666² / 1.9064
    assert c.weights[:3] == pytest.approx([0.6370, 0.2846, 0.0784], abs=1e-4)  # over 1.9666
    assert c.c_sigma == pytest.approx(4.0286 / 9.0286, abs=1e-4)
    assert c.c_1 == pytest.approx(2 / (3.3**2 + 2.0286), abs=1e-5)
    assert c.c_mu == pytest.approx(2 * (0.25 + 2.0286 + 0.4930 - 2) / 18.0286, abs=1e-4)
    assert c.max_generations == 610  # 100 + 50 · 25 / √6 = 610.3
    assert c.fun_window == 20  # 10 + 30 · 2 / 6
    assert c.stagnation_least == 130  # 120 + 30 · 2 / 6


@pytest.mark.parametrize("popsize", [2, 3, 4, 12, 100, 5000])
@pytest.mark.parametrize("D", [1, 2, 20, 200])
def test_the_weights_keep_the_matrix_positive_definite(D, popsize):
    """Positive weights sum to one; the negative ones are bounded by what the matrix can lose."""
    c = constants(D, popsize)
    assert c.weights[: c.mu].sum() == pytest.approx(1)
    assert (c.weights[c.mu :] <= 0).all()
    lost = -D * c.c_mu * c.weights[c.mu :].sum()
    assert 1 - c.c_1 - c.c_mu - lost >= -1e-12


# Restarts


def runs_of(optimizer, value, count):
    """Population size, initial step size, evaluations and end of the first `count` runs."""
    found = []
    start = 0
    points = optimizer.ask()
    sigma = optimizer.sigma
    while True:
        optimizer.tell(np.full(len(points), value(len(points))))
        if optimizer.converged:
            used = optimizer.evaluations - start
            found.append((optimizer.popsize, sigma, used, optimizer.ended_by))
            assert optimizer.restarts == len(found) - 1
            if len(found) == count:
                return found
            start = optimizer.evaluations
        points = optimizer.ask()
        if optimizer._generation == 0:
            sigma = optimizer.sigma


# On a constant function a run ends after 10 + ⌈30 D/λ⌉ generations. D = 2: λ = 6 takes 120
# evaluations, 12 takes 180, 24 takes 312, 48 takes 576.
BOX = [(-5, 5)] * 2


def test_ipop_doubles_the_population():
    runs = runs_of(CMAES(BOX, seed=1, restarts="IPOP"), lambda n: 0.0, 4)
    assert [r[0] for r in runs] == [6, 12, 24, 48]
    assert [r[1] for r in runs] == [0.2] * 4
    assert [r[2] for r in runs] == [120, 180, 312, 576]
    assert {r[3] for r in runs} == {"tolfun"}


@pytest.mark.parametrize(
    ("value", "sizes"),
    [
        # Equal values, equal shares. Large 180 > small 120: small; 180 <= 240: large, now 492;
        # small 360, 480, 600; large.
        (lambda n: 0.0, [6, 12, 6, 24, 6, 6, 6, 48]),
        # Large runs are better: one whenever large <= 2 · small. 180 <= 240: large, now 492; small
        # 240, 360; 492 <= 720: large, now 1068; small 480, 600; 1068 <= 1200: large.
        (lambda n: -float(n > 6), [6, 12, 24, 6, 6, 48, 6, 6, 96]),
        # Small runs are better: a large one whenever 2 · large <= small. 360 <= 360 after two
        # small; large is now 492; 984 <= 1080 after six more.
        (lambda n: -float(n == 6), [6, 12, 6, 6, 24, 6, 6, 6, 6, 6, 6, 48]),
    ],
)
def test_nbipop_gives_the_better_regime_twice_the_evaluations(value, sizes):
    runs = runs_of(CMAES(BOX, seed=1), value, len(sizes))
    assert [r[0] for r in runs] == sizes
    large = [r[1] for r in runs if r[0] > 6]
    assert large == pytest.approx(
        [0.125, 0.078125, 0.048828125, 0.030517578125][: len(large)]
    )  # 0.2 / 1.6^i
    small = [r[1] for r in runs[1:] if r[0] == 6]
    assert all(0.002 <= s <= 0.2 for s in small)
    assert len(set(small)) == len(small)


def test_bipop_limits_small_runs_to_half_of_the_last_large_run():
    """Large 180 > small 120: a small run of 180 / 2; 180 <= 210: large, 492; small runs of 156."""
    runs = runs_of(CMAES(BOX, seed=1, restarts="BIPOP"), lambda n: 0.0, 6)
    assert [r[0] for r in runs[:4]] == [6, 12, 6, 24]
    assert [r[2] for r in runs[:4]] == [120, 180, 90, 312]
    assert runs[2][3] == "maxfevals"
    for popsize, sigma, used, _ in runs[4:]:
        assert 6 <= popsize <= 12
        assert 0.002 <= sigma <= 0.2
        assert used <= 156 + popsize


def test_without_restarts_a_run_stays_converged():
    """It can still be asked, and its distribution no longer changes."""
    optimizer = CMAES(BOX, seed=1, restarts="none")
    run(optimizer, lambda x: np.zeros(len(x)), 20)
    assert optimizer.converged
    mean, sigma = optimizer.mean.copy(), optimizer.sigma
    run(optimizer, lambda x: (x**2).sum(axis=1), 30)
    assert optimizer.converged
    assert optimizer.restarts == 0
    assert sigma == optimizer.sigma
    np.testing.assert_array_equal(mean, optimizer.mean)


def test_convergence_shows_between_two_runs_only():
    optimizer = CMAES(BOX, seed=1)
    run(optimizer, lambda x: np.zeros(len(x)), 19)
    assert not optimizer.converged
    run(optimizer, lambda x: np.zeros(len(x)), 1)
    assert optimizer.converged
    optimizer.ask()
    assert not optimizer.converged
    assert optimizer.restarts == 1


def test_stagnation_ends_a_run_on_noise():
    noise = np.random.default_rng(5)
    optimizer = CMAES(BOX, seed=1, restarts="none")
    run(optimizer, lambda x: noise.random(len(x)), 610)
    assert optimizer.ended_by == "stagnation"


def test_given_points_start_the_first_runs():
    """Each is the first point evaluated of its run."""
    x0 = [[1.0, 2.0], [-3.0, 0.5]]
    optimizer = CMAES(BOX, seed=1, x0=x0)
    starts = []
    while len(starts) < 3:
        points = optimizer.ask()
        if optimizer._generation == 0:
            starts.append(points[0].copy())
        optimizer.tell(np.zeros(len(points)))
    np.testing.assert_array_equal(starts[:2], x0)
    assert (starts[2] != starts[1]).all()


# Resume


def rugged(points):
    values = (points**2).sum(axis=1) + 3 * (1 - np.cos(2 * np.pi * points)).sum(axis=1)
    values[points[:, 0] > 4] = np.nan
    return values


def same(a, b):
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=True)
    return a is b or (type(a) is type(b) and a == b)


def test_the_state_names_everything_that_changes():
    """Whatever attribute differs after a run is in the state, or follows from it."""
    optimizer = CMAES(BOX, seed=1, boundary="penalty")
    before = {
        k: v.copy() if isinstance(v, np.ndarray | list) else v for k, v in vars(optimizer).items()
    }
    run(optimizer, rugged, 300)
    assert optimizer.restarts > 0
    changed = {k for k, v in vars(optimizer).items() if not same(v, before.get(k))}
    assert changed - {"_constants"} <= set(optimizer.state())


# Bounds


@pytest.mark.parametrize("D", [1, 2, 7])
def test_points_stay_inside_the_box_and_find_its_corner(D):
    """The unconstrained optimum at 0 is outside; the corner's value is D · 1² = D."""
    optimizer = CMAES([(1.0, 6.0)] * D, seed=4, budget=2000 * D)
    while not optimizer.done:
        points = optimizer.ask()
        assert (points >= 1.0).all()
        assert (points <= 6.0).all()
        optimizer.tell((points**2).sum(axis=1))
    assert optimizer.best_fitness == pytest.approx(D, abs=1e-9)


@pytest.mark.parametrize(
    ("sigma", "z", "excess"),
    [
        (0.1, 2.0, 4.0),  # two deviations outside
        (0.1, -8.0, 0.0),  # 1 - 0.8 is inside
        (0.005, 3.0, 1.0),  # half of 0.01: 4 / 2 deviations are free, (3 - 2)²
        (0.005, 1.5, 0.0),
    ],
)
def test_the_penalized_distance_is_that_computed_by_hand(sigma, z, excess):
    """One coordinate with mean 1 in the box 0 to 1."""
    one = np.ones(1)
    steps, points, found = np.empty((1, 1)), np.empty((1, 1)), np.empty(1)
    left = _sample(
        np.array([[z]]), np.eye(1), one, one, sigma, np.eye(1), 0 * one, one, True,
        steps, points, found,
    )  # fmt: skip
    assert points[0, 0] == pytest.approx(min(1 + sigma * z, 1))
    assert found[0] == pytest.approx(excess)
    assert left == (excess > 0)


def test_the_penalty_is_in_units_of_the_interquartile_range():
    """Quartiles of 0, 10, 20, 40, 50, 60 by rank: 10 and 50; with D = 2 the factor is 40 · 2/2."""
    optimizer = CMAES(BOX, popsize=6)
    optimizer._excess = np.array([0.0, 0.25, 0.0, 1.0, 0.0, 0.0])
    values = np.array([0.0, 10.0, 20.0, 40.0, 50.0, 60.0])
    penalized = optimizer._penalized(values, np.arange(6))
    assert penalized.tolist() == [0.0, 20.0, 20.0, 80.0, 50.0, 60.0]


def test_points_inside_have_no_penalty_where_values_overflow():
    """In one dimension, twice a range of 2e308 is infinite, and infinity times 0 is NaN."""
    optimizer = CMAES([(0, 1)], seed=1, popsize=4)
    optimizer._excess = np.array([0.0, 0.5, 0.0, 0.0])
    values = np.array([-1e308, -1e308, 1e308, 1e308])
    penalized = optimizer._penalized(values, np.arange(4))
    assert penalized[[0, 2, 3]].tolist() == [-1e308, 1e308, 1e308]
    assert penalized[1] > -1e308


def test_without_bound_handling_points_leave_the_box():
    open_box = Box([(1.0, 6.0)] * 3, outside_allowed=True)
    optimizer = CMAES(open_box, seed=4, boundary="none", budget=4000, target=1e-8)
    run(optimizer, lambda x: (x**2).sum(axis=1), 10**6)
    assert optimizer.on_target


# Robustness


@pytest.mark.parametrize("D", [1, 2, 3, 15])
def test_an_ellipsoid_is_solved_in_any_dimension(D):
    optimizer = CMAES([(-5, 5)] * D, seed=2, budget=2000 * D, target=1e-10)
    run(optimizer, ellipsoid, 10**6)
    assert optimizer.on_target


def test_failed_evaluations_rank_last():
    """A third of the box fails, the optimum lies at its edge."""

    def fun(points):
        return np.where(points[:, 0] < 1, np.nan, ellipsoid(points))

    optimizer = CMAES([(-5, 5)] * 3, seed=2, budget=20000, target=1e-8)
    run(optimizer, fun, 10**6)
    assert optimizer.on_target


def test_a_function_that_always_fails_ends_its_runs():
    optimizer = CMAES(BOX, seed=1, budget=5000)
    run(optimizer, lambda x: np.full(len(x), np.nan), 10**6)
    assert optimizer.best_x is None
    assert optimizer.restarts > 0


@pytest.mark.parametrize("scale", [1e-300, 1e-20, 1.0, 1e20, 1e300])
@pytest.mark.parametrize("width", [1e-150, 1e-8, 1e8, 1e150])
def test_scales_of_values_and_variables_do_not_matter(scale, width):
    """The result is as good, relative to both."""
    optimizer = CMAES([(-width, width)] * 3, seed=2, budget=3000)
    with np.errstate(over="ignore", under="ignore"):
        run(optimizer, lambda x: ((x / width - 0.3) ** 2).sum(axis=1) * scale, 10**6)
    np.testing.assert_allclose(optimizer.best_x / width, 0.3, atol=1e-4)


def test_values_at_the_ends_of_the_floating_point_range_do_no_harm():
    optimizer = CMAES(BOX, seed=2, budget=3000)
    run(optimizer, lambda x: np.where(x[:, 0] > 3, -1.7e308, 1.7e308), 10**6)
    assert optimizer.best_fitness == -1.7e308


@pytest.mark.parametrize("boundary", ["none", "penalty"])
def test_a_slope_without_end_does_not_overflow(boundary):
    optimizer = CMAES(Box(BOX, outside_allowed=True), seed=2, budget=20000, boundary=boundary)
    run(optimizer, lambda x: x.sum(axis=1), 10**6)
    assert np.isfinite(optimizer.best_x).all()


def test_the_history_has_a_row_for_each_batch():
    optimizer = run(CMAES(BOX, seed=1), lambda x: np.zeros(len(x)), 40)
    history = optimizer.history
    assert history.evaluations.tolist()[18:22] == [114, 120, 132, 144]
    assert history.popsize.tolist() == [6] * 20 + [12] * 15 + [6] * 5
    assert history.restarts.tolist() == [0] * 20 + [1] * 15 + [2] * 5
    assert history.sigma[-1] == optimizer.sigma
    assert history.condition[-1] == optimizer.condition
    assert CMAES(BOX, history=False).history is None


def test_the_budget_is_exact():
    optimizer = CMAES([(-5, 5)] * 3, seed=2, budget=100)
    sizes = []
    while not optimizer.done:
        points = optimizer.ask()
        sizes.append(len(points))
        optimizer.tell(ellipsoid(points))
    assert sizes == [7] * 14 + [2]


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("restarts", "always"), ("boundary", "clip"), ("sigma0", 0), ("sigma0", "big"),
        ("sigma0", math.nan), ("popsize", 1), ("popsize", 2.5), ("popsize", True),
    ],
)  # fmt: skip
def test_wrong_arguments_are_named(argument, value):
    with raises(InvalidParameter, name=argument):
        CMAES(BOX, **{argument: value})


SCRIPT = """
import json, sys
import numpy as np
from uaos import jit
from uaos.optimizers.cma import CMAES
from uaos.problems.space import Box
jit.PATIENCE = 0.0  # compiled at once
report = []
for boundary in ("none", "penalty"):
    box = Box([(-1, 5)] * 3, outside_allowed=True)
    optimizer = CMAES(box, seed=5, budget=900, boundary=boundary, x0=[0.5, 1, 2])
    while not optimizer.done:
        x = optimizer.ask()
        optimizer.tell((x ** 2 * [1, 100, 10000]).sum(axis=1))
        report.append([float(v).hex() for v in (*optimizer.mean, optimizer.sigma, *x[-1])])
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
    assert len(reports[0]) > 200
    assert reports[0] == reports[1]


# BBOB


@pytest.mark.parametrize("boundary", ["none", "penalty"])
@pytest.mark.parametrize("function", [1, 8, 10])
def test_bbob_functions_in_5_d_are_solved(function, boundary):
    """Sphere, Rosenbrock and rotated ellipsoid, to 1e-8, within 2,000·D evaluations."""
    cocoex = pytest.importorskip("cocoex")
    for instance in (41, 42, 43):
        problem = cocoex.BareProblem("bbob", function, 5, instance)
        optimizer = CMAES(
            Box([(-5, 5)] * 5, outside_allowed=True), seed=instance, budget=10_000,
            boundary=boundary,
            target=problem.best_value() + 1e-8,
        )  # fmt: skip
        run(optimizer, lambda x: [problem(row) for row in x], 10**6)  # noqa: B023
        assert optimizer.on_target


def test_start_near_points_of_another_search():
    """Points 0.1 and 0.3 of the box away in one of two coordinates: √((0.01 + 0.09) / 4)."""
    optimizer = CMAES([(-5, 5), (0, 1)], x0=[0.0, 0.5], seed=1)
    optimizer.start_near(np.array([[1.0, 0.5], [0.0, 0.8]]))
    assert optimizer.sigma == pytest.approx((0.1 / 4) ** 0.5)
    optimizer.start_near(np.array([[0.0, 0.5]]))
    assert optimizer.sigma == pytest.approx(0.03 * (0.1 / 4) ** 0.5)


def test_start_near_distant_points():
    """Distant points leave the step size as it is."""
    optimizer = CMAES([(-5, 5)] * 2, x0=[0.0, 0.0], seed=1)
    optimizer.start_near(np.array([[5.0, 5.0]]))
    assert optimizer.sigma == 0.2


def noisy_run(levels, budget=100_000):
    """Return a run that hears of these levels of noise, which dominate, between generations."""
    optimizer = CMAES([(-5, 5)] * 2, seed=1, budget=budget, restarts="IPOP")
    for level in levels:
        optimizer.tell([float(x @ x) for x in optimizer.ask()])
        optimizer.expect_noise(level, level)
    return optimizer


def test_lasting_noise_ends_a_run():
    """Noise that stays the same for three times enlarges the population, then the run ends."""
    assert noisy_run([1.0] * 2).popsize == 6
    assert noisy_run([1.0] * 3).ended_by == ""
    optimizer = noisy_run([1.0] * 4)
    assert optimizer.ended_by == "noise"
    assert optimizer.popsize == round(1.7 * 6)
    optimizer.ask()
    assert (optimizer.restarts, optimizer.popsize) == (1, 12)


def test_fading_noise_does_not_end_a_run():
    """Noise that falls belongs to a run that makes progress; late in a run nothing ends it."""
    assert noisy_run(0.4 ** np.arange(8)).ended_by == ""
    assert noisy_run([1.0] * 6, budget=40).ended_by == ""


def test_average_of_means_comes_first_where_noise_dominates():
    """It is 0.8 times the average plus 0.2 times the mean, generation by generation."""
    optimizer = noisy_run([1.0] * 2)
    first = optimizer.mean.copy()
    optimizer.tell([float(x @ x) for x in optimizer.ask()])
    assert not np.array_equal(optimizer.candidates[0], optimizer.mean)
    optimizer.expect_noise(0.01, 1.0)
    assert np.array_equal(optimizer.candidates[0], optimizer.mean)
    again = noisy_run([1.0] * 2)
    assert np.array_equal(again.mean, first)
    average = again.candidates[0]
    again.tell([float(x @ x) for x in again.ask()])
    assert np.allclose(again.candidates[0], 0.8 * average + 0.2 * again.mean)
