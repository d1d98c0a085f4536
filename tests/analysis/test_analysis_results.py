"""Reading stores: what counts once, what is refused, what is only counted."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from uaos.analysis import Results
from uaos.errors import InvalidFile, InvalidParameter, UnknownName
from uaos.experiments.store import Outcome


def test_a_store_gives_runs_by_method_dimension_and_function(
    made: Callable[..., Outcome], make_store: Callable[..., Path]
) -> None:
    outcomes = [made(m, f, i, solved_at=60 + i) for m in ("mix", "JADE") for f in (1, 8)
                for i in (1, 2)]  # fmt: skip
    results = Results.read(make_store(outcomes))
    assert results.methods == ("mix", "JADE")
    assert results.functions == ("f1", "f8")
    assert results.dimensions == (20,)
    runs = results.runs["JADE", 20, "f8"]
    assert runs.evaluations.tolist() == [61, 62]
    assert runs.evaluations_to([1e-8]).tolist() == [[61, 62]]
    assert results.configurations["mix"]["method"]


def test_the_same_run_in_two_stores_counts_once(
    made: Callable[..., Outcome], make_store: Callable[..., Path]
) -> None:
    first = make_store([made("mix", 1, 1), made("mix", 1, 2)], "one.sqlite")
    second = make_store([made("mix", 1, 2), made("mix", 1, 3)], "two.sqlite")
    results = Results.read(first, second)
    assert results.runs["mix", 20, "f1"].instances.tolist() == [1, 2, 3]


def test_runs_with_another_seed_are_further_repetitions(made: Callable[..., Outcome]) -> None:
    results = Results.from_outcomes([made(seed=1), made(seed=2)])
    assert len(results.runs["A", 20, "f1"]) == 2


def test_the_same_run_with_two_budgets_is_refused(made: Callable[..., Outcome]) -> None:
    with pytest.raises(InvalidParameter, match="1,000 and 2,000"):
        Results.from_outcomes([made(), made(budget=2000)])


def test_two_configurations_of_one_name_are_refused(
    made: Callable[..., Outcome], make_store: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from uaos.experiments import plan

    first = make_store([made("mix")], "one.sqlite")
    other = plan.configuration("JADE").to_dict() | {"name": "mix"}
    changed = plan.Configuration.from_dict(other)
    monkeypatch.setattr(plan, "competitor", lambda name: changed)
    second = make_store([made("mix")], "two.sqlite")
    with pytest.raises(InvalidParameter, match="the same configuration in all stores"):
        Results.read(first, second)


def test_failed_units_are_counted_and_in_no_number(made: Callable[..., Outcome]) -> None:
    failed = made("B", 1, 2, status="failed", error=np.inf, evaluations=0, reason="died")
    results = Results.from_outcomes([made("B", 1, 1), failed])
    assert results.failed == {"B": 1}
    assert len(results.runs["B", 20, "f1"]) == 1
    # Done elsewhere, it has not failed.
    assert not Results.from_outcomes([failed, made("B", 1, 2)]).failed


def test_uniform_choice_stays_in_every_selection(three_methods: Results) -> None:
    assert three_methods.select(methods=["bad"]).methods == ("bad", "uniform")
    assert three_methods.select(functions=["f8"]).functions == ("f8",)
    with pytest.raises(UnknownName, match="did you mean 'good'"):
        three_methods.select(methods=["goood"])


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidFile, match="no such file"):
        Results.read(tmp_path / "none.sqlite")
