"""A run's cost: the error that it ended with, or the area above its own runtime profile."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from outcome_results import results_of
from raising import raises

from uaos.analysis.profiles import area
from uaos.errors import UnknownName
from uaos.experiments.recorder import TARGETS
from uaos.experiments.unit import Outcome, Unit, failed
from uaos.experiments.unit import outcome as made_outcome
from uaos.problems import BBOB
from uaos.tuning.costs import OBJECTIVES
from uaos.tuning.costs import objective_called as objective


def outcome(hits: list[int] | np.ndarray, *, error: float = 1.0, budget: int = 2000) -> Outcome:
    """A run in 2-D that reached the first targets at `hits`, and no other."""
    at = np.full(len(TARGETS), -1, np.int64)
    at[: len(hits)] = hits
    problem = BBOB(1, 2, 1)
    return made_outcome(
        Unit("m", problem.name, 1, 1, budget), problem, evaluations=budget, error=error,
        best=problem.optimum + error, hits=at,
    )  # fmt: skip


def test_the_error_is_that_of_the_end() -> None:
    assert objective("error")(outcome([], error=0.25)) == 0.25


@pytest.mark.parametrize("error", [1e-8, 0.5e-8, 0.0, -1e-12])
def test_one_solved_run_is_as_good_as_another(error: float) -> None:
    assert objective("error")(outcome([1] * 61, error=error)) == 1e-8


@pytest.mark.parametrize("name", OBJECTIVES)
def test_a_failed_run_costs_infinity(name: str) -> None:
    unit = Unit("m", "f1 i1 2-D", 1, 1, 2000)
    assert objective(name)(failed(unit, BBOB(1, 2, 1), "lost").outcome) == float("inf")
    # whatever it had reached before
    assert objective(name)(outcome([1] * 61, error=0.0)._replace(status="failed")) == float("inf")


def test_a_run_that_measured_nothing_costs_infinity() -> None:
    assert objective("error")(outcome([], error=float("inf"))) == float("inf")


@pytest.mark.parametrize("name", OBJECTIVES)
def test_without_a_known_optimum_the_cost_is_the_best_value(name: str) -> None:
    run = outcome([])._replace(error=float("nan"), best=-3.5)
    assert objective(name)(run) == -3.5


def test_the_area_is_computed_by_hand() -> None:
    # budget / D = 1000: log10 from 0 to 3. Of the 61 targets the first 10, above 10^2, do not
    # count. Evaluations 1 and 2 are at or before one of each dimension: a whole share of 1/51 each.
    # 20 evaluations are 10 D: log10 = 1, so 2/3 of a share. 2000 are the budget: nothing.
    run = outcome([1] * 10 + [1, 2, 20, 2000])
    assert objective("anytime")(run) == pytest.approx(1 - (1 + 1 + 2 / 3 + 0) / 51)


def test_the_area_has_its_ends() -> None:
    assert objective("anytime")(outcome([1] * 61)) == pytest.approx(0)
    assert objective("anytime")(outcome([1] * 10)) == 1
    # no time passes on a logarithmic axis that ends where it begins
    assert objective("anytime")(outcome([1] * 61, budget=2)) == 1


@given(
    st.lists(st.integers(1, 5000), max_size=61),
    st.integers(3, 4000),
)
def test_the_area_is_that_of_the_analysis(hits: list[int], budget: int) -> None:
    run = outcome(sorted(hits), budget=budget)
    (runs,) = results_of([run]).of("m")
    expected = 1 - area(runs, budget / 2)
    assert objective("anytime")(run) == pytest.approx(expected, abs=1e-12)


@given(st.lists(st.integers(1, 5000), min_size=11, max_size=61), st.data())
def test_an_earlier_hit_never_costs_more(hits: list[int], data: st.DataObject) -> None:
    hits = sorted(hits)
    sooner = sorted(data.draw(st.integers(1, hit)) for hit in hits)
    cost = objective("anytime")
    assert cost(outcome(sooner)) <= cost(outcome(hits)) + 1e-12


@pytest.mark.parametrize("name", OBJECTIVES)
def test_every_objective_is_found_by_its_name(name: str) -> None:
    assert objective(name) is OBJECTIVES[name]


def test_an_unknown_objective_is_an_error_with_near_misses() -> None:
    with raises(UnknownName, name="eror", near="error"):
        objective("eror")
