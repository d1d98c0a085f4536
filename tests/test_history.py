"""Histories of any optimizer: extra columns, packing, pictures."""

import numpy as np
import pytest

from uaos.experiments import recorder
from uaos.history import History


def recorded(rows: int = 20, **options) -> History:
    """A history without operators: sigma halves, restarts every ten iterations."""
    history = History(columns=("sigma", "restarts"), **options)
    for k in range(1, rows + 1):
        history.record(
            evaluations=5 * k, best=1.0 / k, iteration=k, sigma=2.0**-k, restarts=k // 10
        )
    return history


def test_extra_columns_are_attributes():
    history = recorded(3)
    assert history.sigma.tolist() == [0.5, 0.25, 0.125]
    assert history.restarts.dtype == np.int64
    assert history.counts.shape == (3, 0)
    with pytest.raises(AttributeError, match="no column 'condition'; it has: .*sigma"):
        _ = history.condition


def test_every_column_needs_a_value():
    history = History(columns=("sigma",))
    with pytest.raises(TypeError, match="has the columns sigma; recorded were none"):
        history.record(evaluations=1, best=1.0, iteration=1)


def test_a_thinned_history_keeps_the_later_value_of_extra_columns():
    history = recorded(6, max_rows=4)
    assert history.stride == 2
    assert history.iteration.tolist() == [2, 4, 6]
    assert history.sigma.tolist() == [2.0**-2, 2.0**-4, 2.0**-6]


@pytest.mark.parametrize("parts", [(50,), (1, 49), (7, 7, 7, 29), (3,) * 16 + (2,)])
def test_rows_may_be_added_several_at_a_time(parts):
    """As if each had been recorded, with rows that are merged and a last one that is not full."""
    rng = np.random.default_rng(1)
    columns = {
        "evaluations": np.arange(50), "best": rng.random(50), "iteration": np.arange(50),
        "counts": rng.integers(0, 9, (50, 2)), "probabilities": rng.random((50, 2)),
        "repairs": rng.integers(0, 9, 50), "sigma": rng.random(50),
    }  # fmt: skip
    one, other = (History("ab", ("repairs", "sigma"), max_rows=8) for _ in range(2))
    for row in range(50):
        one.record(**{name: column[row] for name, column in columns.items()})
    ends = np.cumsum(parts)
    for start, end in zip((0, *ends), ends, strict=False):
        other.extend(**{name: column[start:end] for name, column in columns.items()})
    a, b = one.state(), other.state()
    assert (a["stride"], a["filled"]) == (b["stride"], b["filled"]) == (8, 2)
    assert all(np.array_equal(a["data"][name], b["data"][name]) for name in a["data"])


def test_a_saved_history_continues_where_it_stood():
    one = recorded(5, max_rows=4)
    other = History.from_state(one.state())
    for history in (one, other):
        history.record(evaluations=99, best=0.0, iteration=6, sigma=1.0, restarts=9)
    assert one.to_frame()["sigma"].tolist() == other.to_frame()["sigma"].tolist()
    assert other.iteration.tolist() == [2, 4, 6]


def test_a_packed_history_has_all_columns():
    history = recorder.unpack_course(recorder.pack_course(recorded(300)))[0]
    assert history.columns == ("sigma", "restarts")
    assert len(history) == 75  # four iterations per row
    assert history.stride == 4
    assert history.iteration[:2].tolist() == [4, 8]
    assert history.sigma[0] == 2.0**-4


def test_the_picture_without_operators_has_a_panel_for_each_changing_column():
    figure = recorded().plot()
    assert [axes.get_ylabel() for axes in figure.axes] == ["best fitness", "sigma"]
    assert figure.axes[-1].get_xlabel() == "evaluations"
    assert History().plot() is not None


def test_the_picture_of_a_portfolio_shows_the_members_shares_of_evaluations():
    history = History(["CMA-ES", "mix"])
    for k in range(1, 5):
        history.record(
            evaluations=30 * k, best=1.0 / k, iteration=k, counts=[10, 20],
            probabilities=[0.5, 0.5],
        )  # fmt: skip
    figure = history.plot()
    assert figure.axes[0].get_ylabel() == "share of evaluations"
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["CMA-ES", "mix"]
