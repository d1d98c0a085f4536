"""Noisy functions: noise is noticed, the search copes with it, and the result is an average."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import uaos
from uaos.history import History
from uaos.optimizers.portfolio import NOISY_KINDS, Traits, default_members
from uaos.runs.evaluator import Evaluator
from uaos.runs.noise import NoiseMeter, PointEstimate
from uaos.runs.run import Run
from uaos.runs.stopping import Iterations

BOX = [(-5.0, 5.0)] * 3


def sphere(x):
    return float(np.sum((x - 1.0) ** 2))


class Noisy:
    """Sphere with normal noise; every point and value is recorded."""

    def __init__(self, deviation=0.5, seed=1):
        self.deviation, self.rng = deviation, np.random.default_rng(seed)
        self.points, self.values = [], []

    def __call__(self, x):
        value = sphere(x) + self.deviation * self.rng.standard_normal()
        self.points.append(x.copy())
        self.values.append(value)
        return value


def test_estimate_by_hand():
    """Values 1, 2, 6: mean 3, variance (4 + 1 + 9)/2 = 7, error √(7/3) t/2 with t = 4.37."""
    estimate = PointEstimate(np.zeros(1))
    estimate.include([1.0, np.nan, 2.0, np.inf, 6.0])
    assert (estimate.count, estimate.mean) == (3, 3.0)
    assert estimate.deviation == pytest.approx(7**0.5)
    assert estimate.error() == pytest.approx((7 / 3) ** 0.5 * 4.37 / 2, rel=1e-2)


def test_equal_values_by_hand():
    """Ten zeros of steps of 1: 1 + 1.25/9 + 49/32/81 + 1.43/729 = 1.1597 times √(2/9/10)."""
    estimate = PointEstimate(np.zeros(1))
    estimate.include([0.0] * 10)
    assert estimate.error() == 0.0
    assert estimate.error(step=1.0) == pytest.approx(1.1597 * (2 / 90) ** 0.5, rel=1e-4)


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5])
def test_two_standard_errors_cover_a_share(share):
    """Also of rare losses, of which there may be none."""
    rng, within = np.random.default_rng(1), 0
    for values in rng.random((2000, 30)) < share:
        estimate = PointEstimate(np.zeros(1))
        estimate.include(values)
        within += abs(estimate.mean - share) <= 2 * estimate.error(step=1.0)
    assert within / 2000 >= 0.94


@pytest.mark.parametrize("n", [5, 8, 30])
def test_two_standard_errors_cover_the_mean(n):
    """Of normal samples, 95 % have their mean within two standard errors, however few values."""
    rng, within = np.random.default_rng(1), 0
    for values in rng.standard_normal((4000, n)):
        estimate = PointEstimate(np.zeros(1))
        estimate.include(values)
        within += abs(estimate.mean) <= 2 * estimate.error()
    assert within / 4000 == pytest.approx(0.9545, abs=0.01)


def test_estimate_without_values_is_last():
    """A point that always fails has an infinite mean and no error."""
    estimate = PointEstimate(np.zeros(1))
    estimate.include([np.nan])
    assert estimate.mean == np.inf
    assert np.isnan(estimate.error())


def test_estimate_survives_saving():
    """A restored estimate goes on as if nothing had happened."""
    estimate = PointEstimate(np.ones(2))
    estimate.include([1.0, 4.0])
    again = PointEstimate.from_state(estimate.state())
    for e in (estimate, again):
        e.include([2.0])
    assert (again.mean, again.error()) == (estimate.mean, estimate.error())


@pytest.mark.parametrize("method", [None, "CMA-ES", "mix", "BFGS"])
def test_deterministic_function_has_the_same_run(method):
    """Without noise the points are those of noise=False, except for at most 1 % repeated ones.

    The last generation of differential evolution is left out: it is cut to the budget.
    """
    courses = []
    for noise in (False, "auto"):
        points = []

        def fun(x, points=points):
            points.append(tuple(x))
            return sphere(x) + np.sin(9 * x[0])

        result = uaos.minimize(fun, BOX, method=method, budget=1500, seed=3, noise=noise)
        assert result.nfev == len(points) == 1500
        assert result.fun_std is None
        courses.append(points)
    plain, checked = courses
    position = repeats = 0
    for point in checked[:1400]:
        if position < len(plain) and point == plain[position]:
            position += 1
        else:
            assert point in plain[:position]
            repeats += 1
    assert 0 < repeats <= 15
    assert position == 1400 - repeats


def test_short_runs_are_not_checked():
    """One evaluation is more than 1 % of less than 100: none is spent, unless it is asked for."""
    assert uaos.minimize(Noisy(), BOX, budget=99, seed=1).fun_std is None
    assert uaos.minimize(Noisy(), BOX, budget=99, seed=1, noise=True).fun_std > 0
    assert uaos.minimize(Noisy(), BOX, budget=100, seed=1).fun_std > 0


def test_weak_noise_that_is_expected_leaves_the_search_what_it_is():
    """With `noise=True`, 50 evaluations get near the optimum, as they do without noise."""
    for seed in range(1, 6):
        fun = Noisy(deviation=0.1, seed=seed)
        result = uaos.minimize(fun, BOX, budget=50, seed=seed, noise=True)
        assert result.fun_std > 0
        assert sphere(result.x) < 0.2


@pytest.mark.parametrize("budget", [1, 2, 7])
def test_a_single_value_is_called_so(budget):
    """Where noise is expected and too few evaluations are left to repeat one, nothing is hidden."""
    result = uaos.minimize(Noisy(), BOX, budget=budget, seed=1, noise=True)
    assert np.isnan(result.fun_std)
    assert result.fun_evaluations == 1
    assert "the function is noisy: fun is a single value" in result.message


@pytest.mark.parametrize("seed", range(4))
def test_a_game_is_noisy(seed):
    """Lost or won, the best points all have the value 0; others show that it is luck."""
    rng = np.random.default_rng(seed)

    def lost(x):
        return rng.random() > 0.9 * np.exp(-sphere(x) / 20)

    result = uaos.minimize(lost, BOX, budget=1000, seed=seed)
    assert "the function is noisy" in result.message
    assert abs(result.fun - 1 + 0.9 * np.exp(-sphere(result.x) / 20)) < 3 * result.fun_std


@pytest.mark.parametrize("seed", range(4))
def test_noise_near_the_optimum_is_noticed_in_a_short_run(seed):
    """The last of three checks is after a quarter of the run, when the search is there."""
    rng = np.random.default_rng(seed)

    def fun(x):
        return sphere(x) + (0.5 * rng.standard_normal() if sphere(x) < 3 else 0.0)

    assert uaos.minimize(fun, BOX, budget=300, seed=seed).fun_std > 0


def test_one_of_a_hundred_evaluations_is_a_check():
    """Without noise, a run of 100 evaluations repeats one, and is otherwise the same."""
    fun, unchecked = Noisy(deviation=0.0), Noisy(deviation=0.0)
    assert uaos.minimize(fun, BOX, budget=100, seed=1).nfev == 100
    uaos.minimize(unchecked, BOX, budget=100, seed=1, noise=False)
    same = np.all(np.equal(fun.points, unchecked.points), axis=1)
    check = int(np.argmin(same))
    assert any(np.array_equal(fun.points[check], x) for x in fun.points[:check])
    np.testing.assert_array_equal(np.delete(fun.points, check, axis=0), unchecked.points[:99])


def test_noise_that_fades_with_the_value_does_not_end_a_local_search():
    """With 1 % of relative noise, BFGS gets to the optimum of a sphere in 20 dimensions.

    Its differences are short, and noise is as large as their spread, but not as large as what each
    step gains.
    """
    rng = np.random.default_rng(1)
    center = rng.uniform(-4, 4, 20)
    errors = []

    def measured(x):
        errors.append(float(np.sum((x - center) ** 2)))
        return errors[-1] * math.exp(0.01 * rng.standard_normal()) + 100

    uaos.minimize(measured, [(-5, 5)] * 20, budget=500, seed=1)
    assert min(errors) < 1e-4


def test_result_is_an_average():
    """The value of the result is a mean at its point, not the luckiest value."""
    fun = Noisy()
    result = uaos.minimize(fun, BOX, budget=1000, seed=1)
    own = [v for x, v in zip(fun.points, fun.values, strict=True) if np.array_equal(x, result.x)]
    assert result.nfev == len(fun.values) == 1000
    assert result.fun == pytest.approx(np.mean(own[-result.fun_evaluations :]))
    assert result.fun_std == pytest.approx(0.5 / result.fun_evaluations**0.5, rel=0.6)
    assert sphere(result.x) < 0.3
    assert result.history.best[-1] == min(fun.values) < -0.5
    assert "the function is noisy" in result.message
    assert "fun_std" in result
    assert result.history.estimates[-1][1:].tolist() == [result.fun, result.fun_std]


def test_repeats_are_one_batch():
    """Evaluations of one point are made together, where workers share them."""
    sizes = []

    def fun(points):
        sizes.append((len(points), len(np.unique(points, axis=0))))
        return np.sum((points - 1) ** 2, axis=1) + rng.standard_normal(len(points))

    rng = np.random.default_rng(1)
    result = uaos.minimize(fun, BOX, budget=1000, seed=1, vectorized=True)
    assert (result.fun_evaluations, 1) in sizes


def test_false_takes_values_as_they_are():
    """With noise=False the result is the lowest value."""
    fun = Noisy()
    result = uaos.minimize(fun, BOX, budget=500, seed=1, noise=False)
    assert result.fun == min(fun.values)


def test_rounding_is_not_noise():
    """Differences in the last digits are those of sums in another order."""
    rng = np.random.default_rng(1)

    def fun(x):
        return sphere(x) * (1 + 1e-15 * rng.standard_normal()) + 1.0

    assert uaos.minimize(fun, BOX, budget=1000, seed=1).fun_std is None


def test_weak_noise_leaves_the_members():
    """The local search goes on while differences are well above the noise."""
    fun = Noisy(deviation=1e-7)
    result = uaos.minimize(fun, BOX, budget=300, seed=1)
    assert result.fun_std < 1e-6
    assert sphere(result.x) < 1e-5
    spent = dict(zip(result.history.operators, result.history.counts.sum(axis=0), strict=True))
    assert spent["BFGS"] > 20


def test_strong_noise_changes_the_members():
    """CMA-ES with a larger population takes over from the local search."""
    portfolio = uaos.Portfolio(BOX, budget=1000, seed=1)
    names = portfolio.operators
    portfolio.tell([sphere(x) for x in portfolio.ask()])
    portfolio.expect_noise(1.0, 2.1)
    assert [member.name for member in portfolio.members] == ["lq-CMA-ES"]
    assert portfolio.operators == (*names, "lq-CMA-ES")
    assert portfolio.optimizers[0].popsize == 3 * 7  # 4 + floor(3 ln 3) = 7
    points = portfolio.ask()
    portfolio.tell([sphere(x) for x in points])
    assert portfolio.history.counts[-1].tolist() == [0] * len(names) + [len(points)]


def test_noise_that_fades_does_not_stop_the_local_search():
    """Where noise is 2 % of the value, it is measured again as the value falls."""
    for seed in range(3):
        rng = np.random.default_rng(seed)

        def fun(x, rng=rng):
            return sphere(x) * np.exp(0.02 * rng.standard_normal())

        result = uaos.minimize(fun, [(-5.0, 5.0)] * 5, budget=300, seed=seed)
        assert result.fun_std is not None
        assert sphere(result.x) < 1e-12


def test_late_noise_goes_on_where_the_search_is():
    """Members that take over near the optimum search there, at the start anywhere."""
    widths = []
    for tellings in (1, 12):
        portfolio = uaos.Portfolio(BOX, budget=1000, seed=1)
        for _ in range(tellings):
            portfolio.tell([sphere(x) for x in portfolio.ask()])
        portfolio.expect_noise(1.0, 1.0)
        widths.append(portfolio.optimizers[0].sigma)
    assert widths[0] == 0.2
    assert 0 < widths[1] < 0.1
    assert np.allclose(portfolio.optimizers[0].mean, portfolio.best_x)


def test_chosen_members_stay_if_they_can():
    """Of members that the user chose, those that handle noise remain."""
    portfolio = uaos.Portfolio(BOX, members=["BFGS", "CMA-ES", "mix"], budget=1000, seed=1)
    portfolio.expect_noise(1.0, 2.1)
    assert [member.name for member in portfolio.members] == ["CMA-ES"]
    only = uaos.Portfolio(BOX, members=["BFGS"], budget=1000, seed=1)
    only.expect_noise(1.0, 2.1)
    assert [member.name for member in only.members] == ["BFGS"]


def test_noisy_portfolio_resumes(tmp_path):
    """A portfolio that changed its members continues bit for bit."""
    portfolio = uaos.Portfolio(BOX, budget=600, seed=1)
    for _ in range(3):
        portfolio.tell([sphere(x) for x in portfolio.ask()])
    portfolio.expect_noise(0.1, 0.3)
    for _ in range(3):
        portfolio.tell([sphere(x) for x in portfolio.ask()])
    portfolio.save(tmp_path / "run")
    again = uaos.Portfolio.load(tmp_path / "run")
    assert again.noise.strong
    for _ in range(5):
        np.testing.assert_array_equal(portfolio.ask(), again.ask())
        for run in (portfolio, again):
            run.tell([sphere(x) for x in run.ask()])


def test_meter_resumes():
    """A restored run makes the same repeated evaluations and gives the same result."""

    def built(fun):
        optimizer = uaos.CMAES(BOX, seed=1, budget=800)
        return Run(optimizer, Evaluator(uaos.Problem(fun, BOX, name="f")), noise=NoiseMeter())

    fun = Noisy(seed=5)
    whole = built(fun).complete()
    again = Noisy(seed=5)
    first = built(again)
    first.rules = [Iterations(40)]
    first.advance()
    second = built(again)
    second.restore(first.state())
    assert second.noise.detected
    result = second.complete()
    np.testing.assert_array_equal(result.x, whole.x)
    assert (result.fun, result.fun_std, result.nfev) == (whole.fun, whole.fun_std, whole.nfev)


def test_target_needs_an_estimate():
    """One lucky value below the target does not end a run on a noisy function."""
    result = uaos.minimize(Noisy(deviation=1.0), BOX, budget=2000, target=-0.9, seed=1)
    assert not result.success
    reached = uaos.minimize(Noisy(deviation=0.1), BOX, budget=2000, target=0.3, seed=1)
    assert reached.success
    assert reached.nfev < 2000


def test_constraints_and_integers():
    """The recommended point is feasible and has integer coordinates."""
    result = uaos.minimize(
        Noisy(deviation=0.2), BOX, budget=800, seed=1, integrality=[True, False, False],
        constraints={"type": "ineq", "fun": lambda x: x[1] - 1.5},
    )  # fmt: skip
    assert result.fun_std > 0
    assert result.maxcv == 0
    assert result.x[0] == round(result.x[0])
    assert result.x[1] >= 1.5


def test_failures_are_left_out():
    """A function that fails now and then has a finite estimate."""
    rng = np.random.default_rng(1)

    def fun(x):
        return np.nan if rng.random() < 0.2 else sphere(x) + 0.1 * rng.standard_normal()

    result = uaos.minimize(fun, BOX, budget=600, seed=1)
    assert np.isfinite([result.fun, result.fun_std]).all()
    assert result.nfev == 600


def test_interrupt_returns_what_is_known():
    """Ctrl-C gives the best candidate so far, without further evaluations."""
    fun = Noisy()

    def interrupting(x):
        if len(fun.values) == 700:
            raise KeyboardInterrupt
        return fun(x)

    result = uaos.minimize(interrupting, BOX, budget=5000, seed=1)
    assert result.fun_evaluations >= 2
    assert result.nfev <= 701


def test_workers_give_the_same_result():
    """Repeated evaluations go through the same workers as all others."""
    results = [
        uaos.minimize(Noisy(), BOX, budget=300, seed=1, workers=w)
        for w in (1, lambda f, xs: map(f, xs))
    ]
    assert results[0].fun == results[1].fun


@pytest.mark.parametrize("noise", ["yes", None, 2, "True"])
def test_invalid_argument(noise):
    """The message says what is allowed."""
    with pytest.raises(uaos.errors.InvalidParameter, match="expected True, False") as caught:
        uaos.minimize(sphere, BOX, budget=10, noise=noise)
    assert caught.value.name == "noise"


def test_tables_of_members():
    """Every row of the noisy table has members at any budget, in few and in many variables."""
    assert [kind.least for kind in NOISY_KINDS] == sorted(kind.least for kind in NOISY_KINDS)
    for dimension in (2, 800):
        for budget in (10, 10**4, 10**7, None):
            for late in (False, True):
                members = default_members(dimension, budget, Traits(noisy=True, late=late))
                plenty = budget is None or budget >= 2_000 * dimension
                name = "mix" if dimension > 500 else "CMA-ES" if plenty else "lq-CMA-ES"
                assert [member.name for member in members] == [name]


def test_parents_are_evaluated_again(tmp_path):
    """Under noise every third generation of differential evolution is followed by its parents."""
    de = uaos.DifferentialEvolution(BOX, seed=1, popsize=12, budget=400)
    de.expect_noise(1.0, 1.0)
    de.ask()
    de.tell(np.arange(12.0))
    before = de.population.rows[:12].copy()
    np.testing.assert_array_equal(de.ask(), before)
    de.save(tmp_path / "run")
    again = uaos.DifferentialEvolution.load(tmp_path / "run")
    for run in (de, again):
        run.tell(np.full(12, 20.0))  # the means of 0, …, 11 with 20
        np.testing.assert_array_equal(run.population.fitness, 10 + np.arange(12) / 2)
        assert run.iterations == 0
    np.testing.assert_array_equal(de.ask(), again.ask())
    assert not np.array_equal(de.ask(), before)


def test_leader_is_credited_by_estimates(tmp_path):
    """A member with one lucky value does not lead: estimates of its candidates count."""
    portfolio = uaos.Portfolio(
        BOX, members=[uaos.Member("CMA-ES", cap=20), uaos.Member("mix", cap=20)], budget=5000,
        seed=1, noisy=True,
    )  # fmt: skip
    while portfolio.evaluations < 400:
        lucky = -50.0 if portfolio.members[portfolio._chosen].name == "mix" else 0.0
        values = [sphere(x) for x in portfolio.ask()]
        values[0] += lucky
        portfolio.tell(values)
    assert portfolio.rivals == 2
    active = [portfolio.members[k].name for k in portfolio._searching]
    portfolio.credit(np.array([1.0 if name == "CMA-ES" else 2.0 for name in active]))
    for _ in range(5):
        portfolio.tell([sphere(x) for x in portfolio.ask()])
    portfolio.save(tmp_path / "run")
    again = uaos.Portfolio.load(tmp_path / "run")
    for run in (portfolio, again):
        for _ in range(15):
            run.tell([sphere(x) for x in run.ask()])
    np.testing.assert_array_equal(portfolio.ask(), again.ask())
    names = portfolio.operators
    shares = dict(zip(names, portfolio.probabilities, strict=True))
    assert shares["CMA-ES"] > 0.9
    spent = dict(zip(names, portfolio.history.counts[-20:].sum(axis=0), strict=True))
    assert spent["CMA-ES"] > 3 * spent["mix"]


def test_maximize_turns_estimates_round():
    """The estimates of a maximization have the sign of its values."""
    noisy = Noisy(deviation=0.2)
    result = uaos.maximize(lambda x: -noisy(x), BOX, budget=500, seed=1)
    assert result.history.estimates[-1, 1] == result.fun
    assert result.fun_std > 0


def test_candidates_are_finite_and_inside_where_a_sum_of_points_overflows():
    low, high = -1.7e308, 0.0
    evolution = uaos.configuration("mix").build([(low, high)] * 2, seed=1, budget=200)
    evolution.tell(evolution.ask()[:, 0] * 1e-10)
    assert ((low <= evolution.candidates) & (evolution.candidates <= high)).all()


def test_a_recommended_point_whose_new_evaluations_all_fail_is_not_the_result():
    """The function fails from some evaluation on, so that only earlier values are known."""
    calls = []

    def fails_later(x):
        calls.append(x)
        return float(x @ x) if len(calls) < 45 else float("nan")

    result = uaos.minimize(fails_later, [(-5, 5)] * 2, method="mix", budget=60, seed=1, noise=True)
    assert np.isfinite(result.fun)
    assert result.fun == pytest.approx(float(result.x @ result.x))


@pytest.mark.parametrize(
    ("name", "budget", "more"),
    [
        ("lq-CMA-ES", 280, {"integrality": [True, False, False]}),
        ("CMA-ES", 320, {"constraints": {"type": "ineq", "fun": lambda x: x[1] - 1.5}}),
    ],
)
def test_members_come_in_later(name, budget, more):
    """A short run starts with members that are of no use under noise; others join its history."""
    result = uaos.minimize(Noisy(deviation=2.0), BOX, budget=budget, seed=1, **more)
    assert result.nfev == budget
    assert result.fun_std > 0
    assert name in result.history.operators
    assert result.history.counts.sum() == result.history.evaluations[-1]
    assert result.history.counts[:, result.history.operators.index(name)].sum() > 0


def test_legend_is_above_the_band():
    """The legend of a noisy run covers nothing that is drawn."""
    pytest.importorskip("matplotlib")
    figure = uaos.minimize(Noisy(), BOX, budget=600, seed=1).plot()
    axes = figure.axes[1]
    figure.draw_without_rendering()
    legend = axes.get_legend()
    assert next(text.get_text() for text in legend.get_texts()) == "± 2 standard errors"
    assert legend.get_window_extent().y0 >= axes.get_window_extent().y1


@pytest.mark.parametrize("method", [None, "CMA-ES", "mix"])
@pytest.mark.parametrize("noise", ["auto", True])
@pytest.mark.parametrize("budget", [100, 400])
def test_asynchronous_run_averages(method, noise, budget):
    """It notices noise, too; all evaluations count, and the estimate rests on new ones."""
    fun = Noisy()
    with ThreadPoolExecutor(4) as executor:
        result = uaos.minimize(
            fun, BOX, method=method, budget=budget, seed=1, noise=noise, workers=executor,
            schedule="async",
        )  # fmt: skip
    assert len(fun.values) == result.nfev <= budget
    assert result.fun_evaluations >= 5
    assert abs(result.fun - sphere(result.x)) < 5 * result.fun_std
    assert "the function is noisy" in result.message


def test_asynchronous_run_looks_for_noise_beside_the_search():
    """Without noise at most 1 % of the evaluations repeat points, and the log repeats the run."""
    points = []

    def fun(x):
        points.append(x.tobytes())
        return sphere(x)

    with ThreadPoolExecutor(3) as executor:
        result = uaos.minimize(
            fun, BOX, method="CMA-ES", budget=500, seed=1, workers=executor, schedule="async"
        )
    assert len(points) == 500
    assert 1 <= len(points) - len(set(points)) <= 5
    assert result.fun_std is None
    again = uaos.minimize(sphere, BOX, method="CMA-ES", budget=500, seed=1, schedule=result.log)
    assert again.x.tolist() == result.x.tolist()
    assert again.log.tolist() == result.log.tolist()


def test_asynchronous_run_ends_at_a_target():
    """Points that are out are waited for, so that the workers can share the last evaluations."""
    with ThreadPoolExecutor(4) as executor:
        result = uaos.minimize(
            Noisy(), BOX, budget=3000, target=0.2, seed=1, workers=executor, schedule="async"
        )
    assert result.success
    assert result.fun_evaluations > 100


def test_late_noise_in_an_asynchronous_run():
    """Noise near the optimum alone is found by the checks of the best point."""
    rng = np.random.default_rng(1)

    def fun(x):
        value = sphere(x)
        return value + 0.2 * rng.standard_normal() * (value < 1)

    with ThreadPoolExecutor(3) as executor:
        result = uaos.minimize(fun, BOX, budget=1000, seed=1, workers=executor, schedule="async")
    assert result.fun_std > 0
    assert sphere(result.x) < 0.3


def test_rounding_of_large_terms_is_not_noise():
    """Where terms of the size of earlier values cancel, their rounding is left."""
    rng = np.random.default_rng(1)

    def fun(x):
        return sphere(x) + 1e-14 * rng.standard_normal()

    for seed in range(5):
        assert uaos.minimize(fun, BOX, budget=2000, seed=seed).fun_std is None


def test_a_single_estimate_is_drawn():
    """A short run has one estimate: a point with a bar in place of a line with a band."""
    pytest.importorskip("matplotlib")
    figure = uaos.minimize(Noisy(), BOX, budget=50, seed=1, noise=True).plot()
    axes = figure.axes[1]
    assert len(axes.containers) == 1
    names = {text.get_text() for text in axes.get_legend().get_texts()}
    assert names == {"± 2 standard errors", "mean at the best candidate", "lowest single value"}


def test_a_very_lucky_value_does_not_hide_the_band():
    """Under heavy tails the lowest single value may be far below all estimates."""
    pytest.importorskip("matplotlib")
    history = History(("CMA-ES",))
    for n, best in ((10, 3.0), (20, -500.0), (30, -500.0)):
        history.append((best, n, n // 10), np.array([10]), np.ones(1))
    history.note_estimate(10, 1.0, 0.2)
    history.note_estimate(30, 0.5, 0.1)
    low, high = history.plot().axes[1].get_ylim()
    assert -0.5 < low < 0.3
    assert 1.4 < high < 2.0


@pytest.mark.parametrize("kind", ["eq", "ineq"])
@pytest.mark.parametrize("budget", [200, 600])
def test_noise_under_constraints(kind, budget):
    """The lowest value on the plane is 3 (2/3)² = 4/3; SQP goes on with wide differences."""
    fun = Noisy(deviation=0.1)
    plane = {"type": kind, "fun": lambda x: 1 - np.sum(x)}
    result = uaos.minimize(fun, BOX, budget=budget, seed=1, constraints=plane)
    assert result.maxcv < 1e-6
    assert sphere(result.x) - 4 / 3 < 0.3
    assert abs(result.fun - sphere(result.x)) < 4 * result.fun_std
