"""Least squares: exact fits, bounds, other basins, failures."""

import numpy as np
import pytest
from raising import raises

import uaos
from uaos.errors import InvalidFeedback, InvalidParameter
from uaos.problems.residuals import ResidualProblem

TIMES = np.linspace(0, 10, 50)


def decay(p):
    """Zero at p = (3, 1.3)."""
    return p[0] * np.exp(-p[1] * TIMES) - 3 * np.exp(-1.3 * TIMES)


@pytest.mark.parametrize("bounds", [None, [(-1e4, 1e4)] * 2, [(0, 5)] * 2])
def test_an_exact_fit_is_found_whatever_the_bounds(bounds):
    result = uaos.least_squares(decay, [1, 1], bounds, seed=1)
    assert result.success
    assert result.x == pytest.approx([3, 1.3], abs=1e-6)
    assert result.nfev < 200
    assert result.residuals == pytest.approx(np.zeros(50), abs=1e-6)


def test_a_line_through_three_points_by_hand():
    """Of y = 0, 2, 1 at t = 0, 1, 2 the best line is 0.5 + 0.5 t, with squares that add to 1.5."""
    t, y = np.array([0.0, 1.0, 2.0]), np.array([0.0, 2.0, 1.0])
    result = uaos.least_squares(lambda p: p[0] + p[1] * t - y, [0, 0], seed=1)
    assert result.x == pytest.approx([0.5, 0.5], abs=1e-6)
    assert result.fun == pytest.approx(0.75)
    assert result.success


def test_bounds_hold_at_every_call():
    seen = []

    def fun(p):
        seen.append(p.copy())
        return decay(p)

    result = uaos.least_squares(fun, [1, 1], [(0, 2), (0, 2)], seed=1, budget=300)
    assert result.x[0] == pytest.approx(2)
    assert np.min(seen) >= 0
    assert np.max(seen) <= 2


def test_other_basins_are_searched():
    """A frequency has many local optima; the start is in the wrong one."""
    wave = np.sin(2.5 * TIMES)
    result = uaos.least_squares(
        lambda p: np.sin(p[0] * TIMES) - wave, [0.7], [(0.1, 5)], seed=1, budget=3000, target=1e-12
    )
    assert result.x == pytest.approx([2.5], abs=1e-5)


def test_the_local_solver_alone_and_further_arguments():
    result = uaos.least_squares(lambda p, a: p - a, [1, 1], method="LM", args=(0.5,), budget=50)
    assert result.x == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("jac", "omit it: differences of the residuals are used"),
        ("constraints", "use minimize"),
        ("loss", "transform the residuals"),
        ("f_scale", "transform the residuals"),
        ("zzz", r"help\(uaos.least_squares\)"),
    ],
)
def test_arguments_that_least_squares_lacks_are_named_with_what_to_do(name, advice):
    """The message speaks of least_squares, not of the function that it calls."""
    with pytest.raises(TypeError, match=rf"least_squares\(\) got .*'{name}'; .*{advice}"):
        uaos.least_squares(decay, [1, 1], **{name: 1})


def test_two_arrays_of_bounds_are_refused_even_in_two_dimensions():
    """SciPy's (lower, upper) would hold each coordinate, away from x0."""
    with raises(InvalidParameter, name="x0[0]"):
        uaos.least_squares(decay, [1, 1], bounds=([0, 0], [10, 10]))


def test_residuals_that_fail_are_failures():
    def fun(p):
        return np.full(50, np.nan) if p[0] > 4 else decay(p)

    assert uaos.least_squares(fun, [1, 1], [(0, 5)] * 2, seed=1).success
    with pytest.raises(InvalidFeedback):
        uaos.least_squares(lambda p: "abc", [1, 1])
    with raises(InvalidParameter, name="residuals"):
        uaos.least_squares(3, [1, 1])


def test_residuals_of_different_lengths_are_refused():
    problem = ResidualProblem(lambda p: np.ones(2 if p[0] > 0 else 3), [(-1, 1)], name="p")
    with pytest.raises(InvalidFeedback):
        problem.evaluate(np.array([[-1.0], [1.0]]))


@pytest.mark.parametrize("odd", [[1j, 1j], [10**400, 1], "ab", [1.0, 2.0, 3.0], [[1], [1, 2]]])
def test_odd_residuals_of_a_later_batch_are_refused(odd):
    """Complex numbers, too large ones, and another number of residuals than before."""
    calls = iter([np.ones(2)] * 4)
    with pytest.raises(InvalidFeedback):
        uaos.least_squares(lambda p: next(calls, odd), [1, 1], budget=50, seed=1)


def test_lm_ends_where_the_value_is_negative_and_nothing_is_promised():
    """As a plain minimizer its only residual is the value, whose sign is free."""
    flat = uaos.minimize(lambda x: -3.0 + 0.0 * x[0], [(-1e308, 7e307)] * 3, method="LM", budget=40)
    assert flat.fun == -3.0


def test_a_step_to_a_bound_is_not_rounded_beyond_it():
    """x + (low - x) may be less than low, for example with low = -0.999999999."""
    low = -0.999999999
    starts = np.random.default_rng(1).uniform(low, 1e6, 1000)
    x = next(x for x in starts if x + (low - x) < low)
    search = uaos.configuration("LM").build([(low, 1e6)], seed=1, budget=50, x0=[[x]])
    search._phase, search._step = "trial", np.array([low - x])
    assert search.ask().tolist() == [[low]]


@pytest.mark.parametrize("on_error", ["fail", "raise"])
def test_an_exception_at_the_end_counts_as_any_other(on_error):
    """The function is called once more for the residuals of the result."""
    calls = []

    def raises_at_last(x):
        calls.append(x)
        if len(calls) == 2:
            raise ZeroDivisionError
        return x - 3.0

    options = {"budget": 1, "seed": 1, "method": "BFGS", "on_error": on_error}
    if on_error == "raise":
        with pytest.raises(ZeroDivisionError):
            uaos.least_squares(raises_at_last, [1.0], **options)
    else:
        result = uaos.least_squares(raises_at_last, [1.0], **options)
        assert (result.fun, result.residuals) == (2.0, None)


def test_residuals_of_named_variables():
    """A start is not needed; a log scale and fixed values work as in `minimize`."""
    t = np.linspace(0, 10, 50)
    height = uaos.Real(0.1, 1e3, log=True)
    space = {"height": height, "rate": uaos.Real(0.01, 10), "offset": 0.5}

    def decay(p):
        return p["height"] * np.exp(-p["rate"] * t) + p["offset"] - 3 * np.exp(-1.3 * t) - 0.5

    result = uaos.least_squares(decay, bounds=space, seed=1)
    assert result.x == pytest.approx({"height": 3.0, "rate": 1.3, "offset": 0.5})
    assert result.success
    np.testing.assert_allclose(result.residuals, 0, atol=1e-8)
    start = {"height": 2.0, "rate": 1.0}
    assert uaos.least_squares(decay, start, space, seed=1, method="LM").fun < 1e-12


@pytest.mark.parametrize("bounds", [None, [(-5, 5)] * 2])
def test_noisy_residuals_are_averaged(bounds):
    """Differences between noisy residuals say nothing: the search is one for noisy functions."""
    rng = np.random.default_rng(1)

    def residuals(x):
        return x - [1, 2] + 0.1 * rng.standard_normal(2)

    result = uaos.least_squares(residuals, [0, 0], bounds, budget=300, seed=1)
    assert result.x == pytest.approx([1, 2], abs=0.2)
    assert result.fun_std > 0


def test_integers_leave_levenberg_marquardt_out():
    space = {"a": uaos.Real(-5, 5), "k": uaos.Integer(0, 9)}
    result = uaos.least_squares(
        lambda p: [p["a"] - 1.5, p["k"] - 3], None, space, budget=100, seed=1
    )
    assert result.x == pytest.approx({"a": 1.5, "k": 3}, abs=0.1)


def _box(p):
    """BoxBOD of NIST's reference data sets; the sum of squares is 1168.0088766."""
    return np.array([109, 149, 149, 191, 213, 224]) - p[0] * (
        1 - np.exp(-p[1] * np.array([1, 2, 3, 5, 7, 10]))
    )


def _meyer(p):
    """MGH10, from 7,000 times the size of the best parameters; 87.945855171."""
    y = [34780, 28610, 23650, 19630, 16370, 13720, 11540, 9744, 8261, 7030, 6005, 5147, 4427, 3820,
         3307, 2872]  # fmt: skip
    return np.array(y) - p[0] * np.exp(p[1] / (np.arange(50, 126, 5) + p[2]))


def _osborne(p):
    """MGH17, whose far starting point leads along a curved valley; 5.4648946975e-5."""
    y = [844, 908, 932, 936, 925, 908, 881, 850, 818, 784, 751, 718, 685, 658, 628, 603, 580, 558,
         538, 522, 506, 490, 478, 467, 457, 448, 438, 431, 424, 420, 414, 411, 406]  # fmt: skip
    t = 10.0 * np.arange(33)
    return np.array(y) / 1000 - (p[0] + p[1] * np.exp(-t * p[3]) + p[2] * np.exp(-t * p[4]))


@pytest.mark.parametrize(
    ("residuals", "start", "squares"),
    [
        (_box, [1, 1], 1168.0088766), (_box, [100, 0.75], 1168.0088766),
        (_meyer, [2, 400_000, 25_000], 87.945855171), (_meyer, [0.02, 4000, 250], 87.945855171),
        (_osborne, [50, 150, -100, 1, 2], 5.4648946975e-5),
        (_osborne, [0.5, 1.5, -1, 0.01, 0.02], 5.4648946975e-5),
    ],
)  # fmt: skip
@pytest.mark.parametrize("method", ["LM", None])
def test_reference_problems_of_nist_are_solved_from_both_starts(residuals, start, squares, method):
    with np.errstate(all="ignore"):  # of exponentials far away
        result = uaos.least_squares(residuals, start, method=method, seed=1, history=False)
    assert 2 * result.fun == pytest.approx(squares, rel=1e-8)
    assert result.success


def test_a_plateau_is_no_optimum():
    """Far out, where the exponential has vanished, no parameter has influence."""

    def vanished(p):
        return p[0] * np.exp(-p[1] * TIMES[1:]) - 1

    result = uaos.least_squares(vanished, [1, 5e4], [(0, 10), (2e4, 1e5)], method="LM", seed=1)
    assert not result.success
    assert result.message == "a run ended before it reached an optimum"


def test_a_fit_without_residuals_is_an_optimum_of_the_local_solver_at_once():
    result = uaos.least_squares(decay, [2, 2], method="LM", seed=1)
    assert result.success
    assert result.nfev < 60


def test_a_parameter_without_influence_does_no_harm():
    result = uaos.least_squares(lambda p: np.array([p[0] - 3, p[0] ** 2 - 9.5]), [1, 1], seed=1)
    assert result.success
    assert result.fun == pytest.approx(0.5 * 0.006584592, rel=1e-5)


def test_residuals_that_are_always_zero_are_an_exact_fit():
    result = uaos.least_squares(lambda p: np.zeros(3), [1.0, 0.0], method="LM", seed=1)
    assert result.fun == 0
    assert result.success
