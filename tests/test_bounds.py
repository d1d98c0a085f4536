"""Bounds are a promise: no method evaluates a point outside, unless the problem allows it."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tuning_cases import AtOnce

import uaos
from uaos.errors import InvalidParameter
from uaos.experiments import Plan, run_unit
from uaos.optimizers.registry import optimizer_class
from uaos.problems import suite
from uaos.tuning import TuningPlan, design, design_for, initial_candidates, tune

INF = np.inf
PLAIN = np.array([(-1.0, 2.0), (0.0, 1.0), (3.0, 4.0)])
BOXES = {
    "plain": PLAIN,
    "tiny": np.array([(1.0, 1.0 + 4e-15), (-1e-300, 1e-300), (0.0, 5e-324)]),
    "huge": np.array([(-8e307, 8e307)] * 3),
}
PAIRS = [
    (-1.0, 2.0), (0.0, 1e-9), (-1e6, 1e6), (3.0, 4.0), (0.0, INF), (-INF, 3.0), (-INF, INF),
]  # fmt: skip
# Every catalogue method, but the single strategies, which differ in nothing that matters here.
METHODS = [name for name in uaos.methods() if "/" not in name]
CONSTRAINED = [
    name
    for name in METHODS
    if "constraints" in optimizer_class(uaos.configuration(name).optimizer).handles
]
REPAIRED = ("U-AOS-FW", "RecPM-tuned", "PM-AdapSS-DE", "DE-uniform")


def slope(x):
    """Return a value that falls toward a corner of the box."""
    return float(np.sum(x / max(1.0, np.abs(x).max())))


def guarded(box, fun=slope):
    """Return the function, which fails the test at a point outside the box."""

    def checked(x):
        assert np.isfinite(x).all(), x
        assert ((box[:, 0] <= x) & (x <= box[:, 1])).all(), x
        return fun(x)

    return checked


@pytest.mark.parametrize("name", METHODS)
def test_no_point_outside_is_evaluated(name):
    """On plain, tiny and huge boxes, from a corner, and with integers."""
    if name == "BIPOP-CMA-ES":
        pytest.importorskip("cma")
    budget = 30 if name in ("GP", "portfolio") else 250  # a Gaussian process takes long
    for kind, box in BOXES.items():
        corner = None if name == "BIPOP-CMA-ES" or kind == "tiny" else box[:, 1]
        uaos.minimize(
            guarded(box), box, method=name, budget=budget, seed=1, x0=corner, history=False
        )
    if "integrality" in optimizer_class(uaos.configuration(name).optimizer).handles:
        uaos.minimize(guarded(PLAIN), PLAIN, method=name, budget=budget, seed=1, integrality=True)


@given(
    name=st.sampled_from([name for name in METHODS if name != "BIPOP-CMA-ES"]),
    pairs=st.lists(st.sampled_from(PAIRS), min_size=1, max_size=4),
    place=st.sampled_from([None, 0.0, 0.3, 1.0]),
    sign=st.sampled_from([-1.0, 1.0]),
    whole=st.booleans(),
    limited=st.booleans(),
)  # fmt: skip
def test_no_method_evaluates_outside_of_any_box(name, pairs, place, sign, whole, limited):
    """Bounded and half-bounded; from nowhere, from a corner, from inside; with all that applies."""
    box = np.array(pairs)
    handles = optimizer_class(uaos.configuration(name).optimizer).handles
    low, high = np.clip(box, -10, 10).T
    if place is None and not np.isfinite(box).all():
        place = 0.3
    start = None if place is None else low + place * (high - low)
    if start is not None and whole:
        start = np.where(np.rint(start) <= high, np.rint(start), np.floor(high))
    edge = {"type": "ineq", "fun": guarded(box, lambda x: 1.0 - sign * float(x[0]))}
    uaos.minimize(
        guarded(box, lambda x: sign * slope(x)), box, method=name, x0=start, budget=60, seed=1,
        integrality=True if whole and "integrality" in handles else None,
        constraints=edge if limited and "constraints" in handles else None, history=False,
    )  # fmt: skip


@pytest.mark.parametrize("name", CONSTRAINED)
def test_under_constraints_no_point_outside_is_evaluated(name):
    """Neither by the function nor by the constraint, whose edge ends at the bounds."""
    edge = {"type": "ineq", "fun": guarded(PLAIN, lambda x: x[0] + x[1] - 0.5)}
    uaos.minimize(
        guarded(PLAIN), PLAIN, method=name, constraints=edge, budget=150, seed=1,
        x0=PLAIN[:, 1], history=False,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["portfolio", "SQP", *REPAIRED])
def test_asynchronous_evaluations_stay_inside(name):
    """Points that are asked for one by one are inside as well."""
    limits = {"type": "ineq", "fun": guarded(PLAIN, lambda x: x[0] + 0.5)}
    for constraints in (None, limits) if name in CONSTRAINED else (None,):
        with ThreadPoolExecutor(2) as pool:
            uaos.minimize(
                guarded(PLAIN), PLAIN, method=name, workers=pool, schedule="async", budget=150,
                seed=1, constraints=constraints,
            )  # fmt: skip


@pytest.mark.parametrize("name", ["portfolio", "CMA-ES", *REPAIRED])
@pytest.mark.parametrize("noise", ["normal", "outliers"])
def test_evaluations_that_measure_noise_stay_inside(name, noise):
    rng = np.random.default_rng(1)
    draw = rng.standard_cauchy if noise == "outliers" else rng.standard_normal
    fun = guarded(PLAIN, lambda x: slope(x) + 0.3 * draw())
    result = uaos.minimize(fun, PLAIN, method=name, budget=400, seed=1, x0=PLAIN[:, 1])
    assert ((PLAIN[:, 0] <= result.x) & (result.x <= PLAIN[:, 1])).all()


def test_polishing_and_least_squares_stay_inside():
    """The optimum is beyond a corner, so that every step is cut."""
    for constraints in (None, {"type": "ineq", "fun": guarded(PLAIN, lambda x: x[0] + 0.5)}):
        uaos.minimize(
            guarded(PLAIN), PLAIN, budget=150, seed=1, polish=True, constraints=constraints
        )
    residuals = guarded(PLAIN, lambda x: x - [9.0, -9.0, 9.0])
    fitted = uaos.least_squares(residuals, PLAIN.mean(axis=1), bounds=PLAIN, seed=1, budget=150)
    assert fitted.x == pytest.approx([2.0, 0.0, 4.0])


@pytest.mark.parametrize("name", REPAIRED)
def test_methods_without_a_published_repair_get_one_where_bounds_are_kept(name):
    """Their settings say which; where the box allows it, they run as published."""
    kept = uaos.configuration(name).build(PLAIN, seed=1)
    published = uaos.configuration(name).build(uaos.Box(PLAIN, outside_allowed=True), seed=1)
    assert (kept.settings.boundary, published.settings.boundary) == ("midpoint", "none")


@pytest.mark.parametrize(
    ("optimizer", "repair"),
    [
        (uaos.DifferentialEvolution, "midpoint"),
        (uaos.CMAES, "penalty"),
        (uaos.LocalSearch, "project"),
    ],
)
def test_boundary_none_has_no_effect_where_bounds_are_kept(optimizer, repair):
    run = optimizer(PLAIN, boundary="none", seed=1, budget=200)
    assert run.settings.boundary == repair
    while not run.done:
        run.tell([guarded(PLAIN)(x) for x in run.ask()])


def test_a_box_that_allows_points_outside_is_searched_there():
    box = uaos.Box([(-1.0, 1.0)] * 3, outside_allowed=True)
    result = uaos.minimize(
        lambda x: float(np.sum((x - 3) ** 2)), box, method="U-AOS-FW", budget=6000, seed=1
    )
    assert np.allclose(result.x, 3, atol=0.1)


def test_only_problems_that_say_so_may_be_searched_outside():
    assert not uaos.Problem(slope, PLAIN).outside_allowed
    assert uaos.Problem(slope, uaos.Box(PLAIN, outside_allowed=True)).outside_allowed
    pytest.importorskip("cocoex")
    assert suite("bbob", dimension=2, functions="1", instances="1")[0].outside_allowed


def test_a_saved_run_knows_whether_it_may_leave_the_box(tmp_path):
    for allowed in (False, True):
        box = uaos.Box(PLAIN, outside_allowed=allowed)
        run = uaos.DifferentialEvolution(box, method="U-AOS-FW", seed=1)
        run.save(tmp_path / "run")
        loaded = uaos.DifferentialEvolution.load(tmp_path / "run")
        assert loaded.outside_allowed is allowed
        assert loaded.settings.boundary == run.settings.boundary


@pytest.mark.parametrize("preset", ["paper", "wide"])
def test_a_tuning_on_bounds_that_are_kept_does_not_search_without_repair(preset):
    own = uaos.Suite("mine", [uaos.Problem(slope, PLAIN)])
    plan = TuningPlan(design(preset, dimension=3), own)
    if preset == "wide":
        assert "none" not in plan.design.space["boundary"].domain.choices
    else:
        assert plan.design.base.settings.boundary == "midpoint"
    candidates, _ = initial_candidates(plan.design, ["U-AOS-FW"])
    assert len(candidates) == 1


def test_the_runs_of_a_tuning_stay_inside(tmp_path):
    """Those of every candidate; the method is published without a repair."""
    outside = []

    def fun(x):
        if not ((PLAIN[:, 0] <= x) & (x <= PLAIN[:, 1])).all():
            outside.append(x)
        return slope(x)

    own = uaos.Suite("mine", [uaos.Problem(fun, PLAIN, name=name) for name in "abcde"])
    plan = TuningPlan(
        design_for("DE-uniform", ["F"], dimension=3), own, runs=96, budget="30D", seed=1
    )
    result = tune(plan, tmp_path / "tuning.db", AtOnce())
    assert result.configurations
    assert not outside


@pytest.mark.parametrize("name", REPAIRED)
def test_a_benchmark_stays_inside(name):
    problem = uaos.Problem(guarded(PLAIN), PLAIN, name="slope")
    plan = Plan.of([name], uaos.Suite("mine", [problem]), budget=300)
    unit = next(plan.units())
    outcome = run_unit(unit, problem, plan.competitors[unit.method]).outcome
    assert outcome.evaluations == 300


def test_a_polishing_function_cannot_leave_the_bounds():
    pytest.importorskip("scipy")

    def careless(fun, x, **_):
        assert fun(x + 10) == np.inf

        class Outcome:
            pass

        Outcome.x = x + 10
        return Outcome

    result = uaos.minimize(guarded(PLAIN), PLAIN, budget=50, seed=1, polish=careless)
    assert (PLAIN[:, 0] <= result.x).all()
    assert (result.x <= PLAIN[:, 1]).all()


def test_a_box_is_checked():
    with pytest.raises(InvalidParameter):
        uaos.Box([(1, 0)])
    with pytest.raises(InvalidParameter):
        uaos.Box([(0, 1)], outside_allowed="no")
