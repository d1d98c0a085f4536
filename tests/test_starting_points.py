"""A starting point sets where a search begins and how long its steps are, also without bounds."""

from types import SimpleNamespace

import numpy as np
import pytest

import uaos
from uaos.errors import InvalidParameter
from uaos.optimizers.base.region import Region
from uaos.optimizers.base.search_box import LARGEST
from uaos.problems import rosenbrock

INF = np.inf
TIMES = np.linspace(0, 10, 50)
DATA = 3 * np.exp(-1.3 * TIMES)


def misfit(p):
    """Return the sum of squares of an exponential fit, whose optimum is [3, 1.3]."""
    if abs(p[1]) >= 30:
        return INF
    return float(np.sum((p[0] * np.exp(-p[1] * TIMES) - DATA) ** 2))


@pytest.mark.parametrize(
    "bounds",
    [
        [(-1e4, 1e4)] * 2,
        [(0, INF), (0, INF)],
        [(-INF, INF), (0, 1e6)],
        None,
    ],
    ids=["wide", "half-bounded", "mixed", "none"],
)
def test_an_exponential_fit_is_found_from_a_starting_point(bounds):
    for seed in (1, 2, 3):
        result = uaos.minimize(misfit, bounds, x0=[1, 1], seed=seed)
        assert np.allclose(result.x, [3, 1.3], atol=1e-6)
        assert result.success


def test_a_coordinate_near_zero_does_not_set_the_scale_if_others_fit_the_box():
    """Coordinates with boxes of another width, or starting points near 0 in all, have their own."""
    low, high = np.full(3, -5.0), np.array([5.0, 5.0, 1e4])
    assert list(Region.around(low, high, np.array([[3.0, 0.01, 1.0]])).scale[:2]) == [10.0, 10.0]
    assert list(Region.around(low, high, np.array([[3.0, 0.01, 1.0]])).scale[2:]) == [4.0]
    assert list(Region.around(low, high, np.array([[0.02, 0.01, 1.0]])).scale) == [0.08, 0.04, 4.0]


@pytest.mark.parametrize("method", ["CMA-ES", "BFGS", "mix", "jSO", "EA4eig", "L-SRTDE", "STEP"])
def test_methods_search_without_bounds(method):
    """A bowl 100 times as far away as x0 is large, and one a millionth of the size of 1."""
    for scale in (1.0, 1e-6):
        result = uaos.minimize(
            lambda x: float(np.sum((x / scale - 100) ** 2)),  # noqa: B023
            x0=[scale, 2 * scale], method=method, budget=3000, seed=1,
        )  # fmt: skip
        assert result.fun < 1e-3


def test_half_bounds_are_kept():
    def guarded(x):
        assert (x >= [0, 2]).all()
        return float(np.sum((x + 1) ** 2))

    result = uaos.minimize(guarded, [(0, INF), (2, INF)], x0=[5, 5], seed=1)
    assert np.allclose(result.x, [0, 2])


def test_infinite_bounds_without_a_starting_point_are_refused():
    with pytest.raises(InvalidParameter, match="x0"):
        uaos.minimize(rosenbrock, [(0, 1), (0, INF)])
    with pytest.raises(InvalidParameter, match=r"minimize\(fun, x0=x0\)"):
        uaos.minimize(rosenbrock)
    with pytest.raises(InvalidParameter, match="x0"):
        uaos.CMAES([(-INF, INF)])


def test_a_point_in_the_place_of_bounds_is_recognized():
    """SciPy's minimize(fun, x0) becomes minimize(fun, x0=x0)."""
    with pytest.raises(InvalidParameter, match=r"minimize\(fun, x0="):
        uaos.minimize(rosenbrock, [1.0, 2.0, 3.0])


def test_the_scale_is_the_width_of_a_box_that_fits_the_starting_point():
    assert uaos.CMAES([(-5, 5), (0, 1)], x0=[1, 1]).scale.tolist() == [10, 1]
    assert uaos.CMAES([(-5, 5), (0, 1)]).scale.tolist() == [10, 1]


def test_the_scale_fits_the_starting_point_in_a_box_that_is_far_wider():
    """From 100 times its size on; where it is 0, the scale is 4."""
    box = [(-1e4, 1e4), (0, INF), (-INF, INF)]
    assert uaos.CMAES(box, x0=[1, 2e-3, 0]).scale.tolist() == [4, 8e-3, 4]


def test_a_given_scale_wins():
    assert uaos.CMAES(uaos.Box([(-5, 5), (0, 1)], scale=0.5), x0=[1, 1]).scale.tolist() == [0.5] * 2
    first = []
    uaos.minimize(
        lambda x: first.append(x) or 0.0, x0=[7.0, 7.0], scale=[1e-3, 1.0], method="CMA-ES",
        budget=6, seed=1,
    )  # fmt: skip
    spread = np.std(first, axis=0)
    assert spread[0] < 1e-3 < 0.02 < spread[1]


@pytest.mark.parametrize("scale", [0, -1, "wide", [1, 2, 3]])
def test_a_wrong_scale_is_named(scale):
    with pytest.raises(InvalidParameter, match="scale"):
        uaos.minimize(rosenbrock, x0=[1, 1], scale=scale)


def test_later_runs_start_from_wider_boxes_around_the_starting_point():
    low, high = np.full(2, -1e4), np.full(2, 1e4)
    region = Region.around(low, high, np.array([[1.0, -2.0]]))
    assert [end.tolist() for end in region.first()] == [[-1.0, -6.0], [3.0, 2.0]]
    assert [end.tolist() for end in region.widest()] == [[-9999.0, -1e4], [1e4, 9998.0]]
    rng = np.random.default_rng(1)
    widths = np.array([np.subtract(*region.draw(rng)[::-1])[0] for _ in range(200)])
    assert widths.min() < 10
    assert widths.max() > 1000
    drawn = np.array([np.subtract(*region.draw(rng, most=0.5)[::-1])[0] for _ in range(200)])
    assert 4 <= drawn.min() < drawn.max() < 4 * np.sqrt(2e4 / 4)


def test_a_box_that_fits_is_drawn_whole_and_without_random_numbers():
    low, high = np.zeros(2), np.ones(2)
    rng = np.random.default_rng(1)
    assert Region.around(low, high, np.array([[0.5, 0.1]])).draw(rng) == (low, high)
    assert rng.random() == np.random.default_rng(1).random()


@pytest.mark.parametrize("name", ["portfolio", "CMA-ES", "BFGS", "STEP", "mix", "EA4eig"])
def test_a_run_without_bounds_resumes_exactly(name, tmp_path):
    def values(points):
        return (points**2).sum(axis=1) + np.cos(9 * points).sum(axis=1)

    runs = [uaos.configuration(name).build(None, x0=[3.0, 1.0], seed=1) for _ in range(2)]
    for _ in range(60):
        for run in runs:
            run.tell(values(run.ask()))
    runs[1].save(tmp_path / "run")
    runs[1] = uaos.Optimizer.load(tmp_path / "run")
    assert runs[1].low.tolist() == [-LARGEST] * 2
    for _ in range(60):
        a, b = (run.ask() for run in runs)
        assert np.array_equal(a, b)
        for run in runs:
            run.tell(values(a))


def test_success_is_not_claimed_where_nothing_confirms_it():
    """A needle that was met by chance: no second search finds it, and it is no local optimum."""
    calls = []

    def needle(x):
        calls.append(1)
        return 0.0 if len(calls) == 30 else float(1 + np.sum(np.sin(50 * x) ** 2) + np.abs(x).sum())

    result = uaos.minimize(needle, [(-5, 5)] * 2, seed=1, noise=False)
    assert not result.success
    assert result.status == uaos.result.Status.STALLED
    assert "not confirmed by a second search" in result.message


def test_a_value_that_does_not_come_out_again_is_not_the_result():
    """The same needle: its point is evaluated again, and the search ends at the optimum."""
    calls = []

    def needle(x):
        calls.append(1)
        return 0.0 if len(calls) == 30 else float(1 + np.sum(np.sin(50 * x) ** 2) + np.abs(x).sum())

    result = uaos.minimize(needle, [(-5, 5)] * 2, seed=1)
    assert result.fun == pytest.approx(1.0, abs=1e-6)
    assert "some values of the function are off" in result.message


def test_a_few_huge_values_do_not_make_all_others_equal():
    """Values of 1e300 near the rim; the members agree only once they are at the optimum."""

    def walled(x):
        return float(np.sum((x - 0.3) ** 2) if np.abs(x).max() < 4 else 1e300)

    result = uaos.minimize(walled, [(-5, 5)] * 3, seed=1)
    assert result.success
    assert np.allclose(result.x, 0.3, atol=1e-5)


def test_one_pair_of_bounds_stands_for_all_coordinates_of_the_start():
    """Bounds(0, inf) with three coordinates: none of them is below 0, as in SciPy."""
    bounds = SimpleNamespace(lb=0.0, ub=np.inf)
    result = uaos.minimize(lambda x: float(np.sum((x - 2) ** 2)), bounds, x0=[1, 1, 1], seed=1)
    assert result.x == pytest.approx([2, 2, 2])


@pytest.mark.parametrize(
    ("bounds", "x0", "message"),
    [
        ([(-5, 5)] * 2, [5.0000000001, 0], r"x0\[0\] is 5.0000000001; expected -5 to 5"),
        ([(2, 2), (-5, 5)], [2, 9], r"x0\[1\] is 9; expected -5 to 5, as bounds\[1\]"),
        ([(0, None)], [-1], r"x0\[0\] is -1; expected at least 0"),
        ([(0, 1)], [[1], [3]], r"x0\[1, 0\] is 3"),
    ],
)
def test_a_start_outside_the_bounds_is_named_with_its_coordinate_and_all_digits(
    bounds, x0, message
):
    """Coordinates are those of the user, also beside fixed ones."""
    with pytest.raises(InvalidParameter, match=message):
        uaos.minimize(lambda x: 0.0, bounds, x0=x0)
