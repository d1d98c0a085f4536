"""aRT and dispersion, by hand."""

from collections.abc import Callable

import numpy as np
import pytest
from raising import raises

from uaos.analysis import Runs, average_running_time, running_times
from uaos.analysis.results import target_index
from uaos.analysis.tables import coco_number
from uaos.errors import InvalidParameter
from uaos.problems import reference

BEST_2009 = reference("bbob").running_times("f1", 20)


def test_art_divides_all_evaluations_by_the_successes() -> None:
    """Two successes after 10 and 30 evaluations, a failure after 100: (10 + 30 + 100) / 2."""
    times = np.array([[10.0, 30.0, np.nan]])
    assert average_running_time(times, np.array([50, 60, 100])) == [70.0]


def test_what_a_successful_run_does_after_the_target_does_not_count() -> None:
    assert average_running_time(np.array([[10.0]]), np.array([1_000_000])) == [10.0]


def test_art_is_infinite_without_a_success() -> None:
    assert average_running_time(np.array([[np.nan, np.nan]]), np.array([5, 6])) == [np.inf]


def test_a_row_has_a_cell_for_each_target(make_runs: Callable[..., Runs]) -> None:
    runs = make_runs([40, 80], [90, 90], target=1e-2)
    cells = running_times(runs, reference=BEST_2009)
    assert [c.target for c in cells] == [1e1, 1e0, 1e-1, 1e-2, 1e-3, 1e-5, 1e-7]
    assert [c.successes for c in cells] == [2, 2, 2, 2, 0, 0, 0]
    assert cells[0].art == 60
    assert cells[0].ratio == 60 / 43  # best 2009 needs 43 evaluations on f1 in 20-D
    assert np.isinf(cells[-1].ratio)
    assert np.isnan(cells[-1].dispersion)


def test_dispersion_is_half_the_distance_of_the_percentiles(make_runs: Callable[..., Runs]) -> None:
    """Run lengths 1 … 10, each a hundred times: the 10 %-tile lies between 1 and 2, so 1.5."""
    cell = running_times(make_runs(range(1, 11), [20] * 10), reference=BEST_2009)[0]
    assert (cell.low, cell.high) == (1.5, 9.5)
    assert cell.dispersion == 4.0
    assert cell.dispersion_ratio == 4 / 43


def test_dispersion_with_failures_is_repeatable(make_runs: Callable[..., Runs]) -> None:
    """Sums of few lengths are few values, on which two seeds may well agree: eight do not."""
    runs = make_runs([10, 20, 37, 0, 0, 0], [100, 100, 100, 173, 91, 58])
    cells = [running_times(runs, seed=seed)[0] for seed in range(8)]
    assert cells == [running_times(runs, seed=seed)[0] for seed in range(8)]
    assert len({cell.high for cell in cells}) > 1
    assert all(cell.low < cell.art < cell.high for cell in cells)


def test_without_a_reference_there_is_no_ratio(make_runs: Callable[..., Runs]) -> None:
    cell = running_times(make_runs([10], [10], dimension=7))[0]
    assert cell.art == 10
    assert np.isnan(cell.ratio)


@pytest.mark.parametrize(
    ("number", "text"),
    [(1, "1"), (0.714, "0.71"), (2.04, "2.0"), (12.3, "12"), (719.4, "719"), (12_345, "1.2e4"),
     (0.0042, "4.2e-3"), (np.inf, "∞"), (np.nan, "–")],
)  # fmt: skip
def test_ratios_are_printed_as_coco_does(number: float, text: str) -> None:
    assert coco_number(number) == text


def test_only_recorded_targets_can_be_asked_for() -> None:
    assert target_index(1e4) == 0
    assert target_index(1e-8) == 60
    for target in (3.0, 0.0, -1.0, 1e-9):
        with raises(InvalidParameter, name="target"):
            target_index(target)


def test_cut_runs_are_as_if_stopped_earlier(make_runs: Callable[..., Runs]) -> None:
    runs = make_runs([40, 80], [90, 90]).cut(50)
    assert runs.solved == 1
    assert runs.evaluations.tolist() == [50, 50]
    assert running_times(runs)[0].art == 90  # (40 + 50) / 1
