"""Runtime profiles and simulated restarts: by hand, and against the exact distribution."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from uaos.analysis import Results, Runs, combined, ecdf, section, simulated_restarts
from uaos.analysis.profiles import Ecdf, area, sample_size


def test_the_raw_profile_counts_run_and_target_pairs(make_runs: Callable[..., Runs]) -> None:
    """Three runs in 20-D: all 51 targets after 40 evaluations, all after 200, none."""
    curve = ecdf(make_runs([40, 200, 0], [300, 300, 300]))
    assert curve.times.tolist() == [2.0, 10.0]
    assert curve.shares == pytest.approx([1 / 3, 2 / 3])
    assert curve.at([1.9, 2, 9, 10, 1e9]) == pytest.approx([0, 1 / 3, 1 / 3, 2 / 3, 2 / 3])
    assert curve.reached == pytest.approx(2 / 3)


def test_a_curve_is_computed_once_for_the_same_runs(make_runs: Callable[..., Runs]) -> None:
    runs = make_runs([10, 0], [1000, 1000])
    assert ecdf(runs, restarts=True, seed=2) is ecdf(runs, restarts=True, seed=2)
    assert ecdf(runs, restarts=True, seed=2) is not ecdf(runs, restarts=True, seed=3)
    assert ecdf(runs).reached == 0.5  # one of two runs
    assert ecdf(runs.cut(5)).reached == 0.0  # other runs, other curves


def test_the_area_is_over_powers_of_ten(make_runs: Callable[..., Runs]) -> None:
    """All solved at 10 evaluations / D, to the limit 1000: two of three decades are left."""
    runs = make_runs([200], [200])
    assert area(runs, 1000) == pytest.approx(2 / 3)
    assert area(runs, 10) == area(runs, 1) == 0
    assert area(make_runs([0], [200]), 1000) == 0
    assert area(make_runs([20], [200]), 1000) == pytest.approx(1)


def test_only_the_51_targets_from_100_on_count(make_runs: Callable[..., Runs]) -> None:
    """Targets 1e4 … 1e0 reached: 10 are above 1e2, 11 of the 51 are not."""
    assert ecdf(make_runs([20], [100], target=1.0)).reached == pytest.approx(11 / 51)


def test_functions_weigh_the_same_however_many_runs_they_have() -> None:
    often = Ecdf(np.array([1.0]), np.array([1.0]))
    never = Ecdf(np.array([]), np.array([]))
    assert combined([often, never]).at(5) == 0.5


def test_a_profile_of_several_functions_is_their_mean(three_methods: Results) -> None:
    part = section(three_methods)
    each = [part.profile("uniform", (f,), restarts=False) for f in ("f1", "f8")]
    both = part.profile("uniform", ("f1", "f8"), restarts=False)
    assert both.reached == pytest.approx((each[0].reached + each[1].reached) / 2)
    assert part.profile("uniform", ("f9",), restarts=False) is None


def test_with_restarts_whatever_was_reached_once_is_reached_always(
    make_runs: Callable[..., Runs],
) -> None:
    runs = make_runs([40, 0, 0], [300, 300, 300])
    assert ecdf(runs).reached == pytest.approx(1 / 3)
    curve = ecdf(runs, restarts=True, seed=5)
    assert curve.reached == pytest.approx(1)
    assert (curve.times == ecdf(runs, restarts=True, seed=5).times).all()
    # A third of the samples begins with the run that succeeds at once.
    assert curve.at(2) == pytest.approx(1 / 3)


def test_simulated_restarts_have_the_exact_distribution() -> None:
    """A success after 1, a failure of 10: 1 + 10 k evaluations have the chance 2^-(k + 1)."""
    times, totals = np.array([1.0, np.nan]), np.array([3, 10])
    drawn = simulated_restarts(times, totals, 40_000, np.random.default_rng(1))
    failures = ((drawn - 1) / 10).astype(int)
    assert set(drawn) == {1 + 10 * k for k in set(failures)}
    assert (failures == 0).sum() == 20_000  # half of all first draws, exactly
    later = failures[failures > 0]
    observed = [(later == k).sum() for k in range(1, 8)] + [(later > 7).sum()]
    expected = [2.0**-k * 20_000 for k in range(1, 8)] + [2.0**-7 * 20_000]
    assert stats.chisquare(observed, expected).pvalue > 0.01
    # The mean is the aRT: (1 + 10) / 1.
    assert drawn.mean() == pytest.approx(11, rel=0.02)


def test_without_failures_each_run_is_drawn_equally_often() -> None:
    drawn = simulated_restarts(
        np.array([3.0, 1.0, 2.0]), np.array([9, 9, 9]), 6, np.random.default_rng(1)
    )
    assert drawn.tolist() == [1, 1, 2, 2, 3, 3]


def test_never_reached_stays_infinite() -> None:
    drawn = simulated_restarts(np.array([np.nan]), np.array([9]), 3, np.random.default_rng(1))
    assert np.isinf(drawn).all()


def test_the_sample_is_a_multiple_of_the_runs() -> None:
    assert [sample_size(n) for n in (13, 15, 1000, 3000)] == [1001, 1005, 1000, 3000]
