"""A tuning from its plan to files: the same however it is run, stopped and begun again."""

import dataclasses
import functools
import itertools
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from raising import raises
from tuning_cases import AtOnce, sade_with

import uaos
from uaos.errors import InvalidParameter, UaosError, UnknownName
from uaos.optimizers.catalogue import configuration
from uaos.problems import suite
from uaos.tuning import tuner
from uaos.tuning.design_space import INITIAL, design
from uaos.tuning.plan import TuningPlan, initial_candidates
from uaos.tuning.records import Candidate, Iteration, IterationStarted, Step
from uaos.tuning.store import TuningStore
from uaos.tuning.summaries import candidate_words
from uaos.tuning.tuner import TuningResult, tune

PROBLEMS = suite("bbob", functions="1,2,8", dimension=2, instances=[16])


class Killed(BaseException):
    """The process is no more."""


small = functools.partial(sade_with, "F", "max_gen")


def plan(**changes: Any) -> TuningPlan:
    told = {"runs": 96, "budget": "40D", "seed": 3, "training_set": "three"} | changes
    return TuningPlan(told.pop("design", None) or small(), PROBLEMS, **told)


def record(path: Path, number: int = 1) -> dict[str, Any]:
    """All that a store tells of a tuning, but for times."""
    with TuningStore.open(path) as store:
        told = {
            "candidates": store.candidates(number), "iterations": store.iterations(number),
            "steps": [s._replace(elapsed=0.0) for s in store.steps(number)],
            "elites": store.elites(number), "results": store.results(number),
            "runs": sorted((unit, o.error, o.evaluations) for unit, o in store.cached().items()),
            "setup": [(t.setup, t.data["used"], t.data["best"]) for t in store.tunings()],
        }  # fmt: skip
    return {name: repr(rows) for name, rows in told.items()}


def files(result: TuningResult) -> list[str]:
    return [configuration.to_toml() for configuration in result.configurations]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> tuple[TuningResult, dict[str, Any]]:
    path = tmp_path_factory.mktemp("whole") / "tuning.db"
    return tune(plan(), path, jobs=1), record(path)


def test_a_tuning_finds_configurations_that_say_how(
    uninterrupted: tuple[TuningResult, dict[str, Any]], tmp_path: Path
) -> None:
    found, _ = uninterrupted
    assert found.runs <= 96
    assert [e.rank for e in found.elites] == list(range(1, len(found.configurations) + 1))
    best = found.best
    assert best.name == "tuned"
    told = best.tuning
    assert (told["tuner"], told["training_set"], told["problems"]) == ("racer", "three", 3)
    assert (told["dimension"], told["objective"]) == (2, "error")
    assert (told["runs"], told["seed"], told["evaluations_of_a_run"]) == (96, 3, 80)
    assert (told["runs_used"], told["rank"]) == (found.runs, 1)
    assert told["versions"]["uaos"] == uaos.__version__
    best.to_toml(tmp_path / "best.toml")
    again = configuration(tmp_path / "best.toml")
    assert again == best
    assert again.tuning == best.tuning
    # what is not searched is as before
    assert best.method.selection == configuration("SaDE").method.selection
    assert best.settings.CR == configuration("SaDE").settings.CR


def test_mean_costs_are_those_of_the_results(tmp_path: Path) -> None:
    found = tune(plan(), tmp_path / "t.db", AtOnce())
    with TuningStore.open(tmp_path / "t.db") as store:
        costs = [
            cost.cost for cost in store.results(1) if cost.candidate == found.elites[0].candidate
        ]
    assert len(costs) == found.best.tuning["on_instances"]
    assert sum(costs) / len(costs) == pytest.approx(found.best.tuning["mean_cost"])


@pytest.mark.parametrize("kills", [[1], [2, 30], [47, 3]])
def test_a_killed_tuning_goes_on_and_ends_as_if_nothing_had_happened(
    kills: list[int], uninterrupted: tuple[TuningResult, dict[str, Any]], tmp_path: Path
) -> None:
    whole, told = uninterrupted
    path = tmp_path / "t.db"
    for limit in kills:
        left = iter(range(limit - 1))

        def ended(_: object, left: Iterator[int] = left) -> None:
            if next(left, None) is None:
                raise Killed

        with pytest.raises(Killed):
            tune(plan(), path, AtOnce(1), on_run=ended)
    with TuningStore.open(path) as store:
        finished = len(store.cached())
    assert finished >= sum(kills)
    ran: list[object] = []
    found = tune(plan(), path, AtOnce(), on_run=ran.append)
    assert record(path) == told
    assert files(found) == files(whole)
    assert len(ran) == found.runs - finished  # nothing was run twice


def test_the_time_of_earlier_sessions_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, steps, ticks = tmp_path / "tuning.db", [], itertools.count()
    clock = SimpleNamespace(perf_counter=lambda: float(next(ticks)))
    monkeypatch.setattr(tuner, "time", clock)

    def kill(event: Any) -> None:
        if isinstance(event, Step):
            steps.append(event)
            if len(steps) == 6:
                raise Killed

    whole = tune(plan(), tmp_path / "whole.db", AtOnce())
    with pytest.raises(Killed):
        tune(plan(), path, AtOnce(), on_event=kill)
    with TuningStore.open(path) as store:
        assert (
            store.tuning(plan().to_dict()).seconds == 7
        )  # the clock is read once a step, and at the end
        assert store.tuning(plan(seed=4).to_dict()) is None
    assert tune(plan(), path, AtOnce()).seconds == whole.seconds + 7


def test_a_finished_tuning_is_told_again_without_a_run(
    uninterrupted: tuple[TuningResult, dict[str, Any]], tmp_path: Path
) -> None:
    path = tmp_path / "t.db"
    tune(plan(), path, AtOnce())
    again: list[object] = []
    found = tune(plan(), path, AtOnce(), on_run=again.append)
    assert not again
    assert record(path) == uninterrupted[1]
    assert files(found) == files(uninterrupted[0])


def test_the_number_of_workers_does_not_matter(
    uninterrupted: tuple[TuningResult, dict[str, Any]], tmp_path: Path
) -> None:
    found = tune(plan(), tmp_path / "t.db", jobs=2)
    assert record(tmp_path / "t.db") == uninterrupted[1]
    assert files(found) == files(uninterrupted[0])


def test_several_tunings_share_a_store(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    first = tune(plan(), path, AtOnce())
    other = tune(plan(seed=4), path, AtOnce())
    assert (first.tuning, other.tuning) == (1, 2)
    with TuningStore.open(path) as store:
        assert len(store.tunings()) == 2
        assert store.candidates(1) != store.candidates(2)


def test_events_reach_the_user_after_the_store(tmp_path: Path) -> None:
    told: list[Any] = []
    tune(plan(), tmp_path / "t.db", AtOnce(), on_event=told.append)
    kinds = [type(event) for event in told]
    assert kinds[0] is Candidate
    assert kinds[-1] is Iteration
    assert {Candidate, IterationStarted, Step, Iteration} == set(kinds)
    with TuningStore.open(tmp_path / "t.db") as store:
        assert len(store.steps(1)) == kinds.count(Step)
        assert len(store.iterations(1)) == kinds.count(Iteration)
        assert len(store.candidates(1)) == kinds.count(Candidate)


def test_initial_candidates_take_part(tmp_path: Path) -> None:
    start = small().space.fill(
        lambda v: v.domain.choices[0] if v.fixed else {"F": 0.5, "max_gen": 7}[v.name]
    )
    tune(plan(initial=(start,)), tmp_path / "t.db", AtOnce())
    with TuningStore.open(tmp_path / "t.db") as store:
        first = store.candidates(1)[0]
    assert (first.origin, first.values) == ("initial", start)


# Plans


def test_every_part_of_a_plan_tells_it_from_others() -> None:
    narrow = dataclasses.replace(small(), space=small().space.limit("F", 0.2, 0.9))
    plans = [
        plan(), plan(runs=97), plan(budget=80), plan(objective="anytime"), plan(seed=4),
        plan(training_set="others"), plan(design=narrow), plan(tuner="irace"),
        plan(initial=({"F": 0.5},)),
    ]  # fmt: skip
    assert len({one.key for one in plans}) == len(plans)
    assert plan().key == plan().key


def test_a_plan_that_cannot_be_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with raises(UnknownName, name="race", near="racer"):
        plan(tuner="race")
    with raises(UnknownName, name="eror", near="error"):
        plan(objective="eror")
    with raises(InvalidParameter, name="budget", value="many"):
        plan(budget="many")
    with raises(InvalidParameter, name="runs", value=95):
        tune(plan(runs=95), tmp_path / "t.db", AtOnce())
    with raises(InvalidParameter, name="seed", value=-1):
        tune(plan(seed=-1), tmp_path / "t.db", AtOnce())
    assert not list(tmp_path.iterdir())


# Where a search starts


def test_a_search_starts_from_the_tuned_configurations_it_has() -> None:
    made, remarks = initial_candidates(design())
    assert {n: c["reward"] for n, c in made.items()} == {
        n: configuration(n).method.reward.name for n in INITIAL
    }
    assert not remarks
    narrow = dataclasses.replace(design(), space=design().space.only("selection", ["greedy"]))
    made, remarks = initial_candidates(narrow)
    assert list(made) == ["F-AUC-MAB-tuned"]
    assert len(remarks) == 3
    assert "RecPM-tuned is not in this search space (selection of RecPM-tuned is" in remarks[0]


def test_named_configurations_take_part_with_remarks_on_what_changes() -> None:
    made, remarks = initial_candidates(design(), ["SaDE", "U-AOS-FW", "SaDE"])
    assert list(made) == ["SaDE", "U-AOS-FW"]
    assert remarks[0].startswith("SaDE takes part with the search space's own scale_rewards: False")
    assert not any(remark.startswith("U-AOS-FW") for remark in remarks)
    with raises(UaosError, name="gamma", value=0.0):
        initial_candidates(design(), ["Hybrid"])


def test_a_candidate_is_told_in_a_line() -> None:
    values = design().values(configuration("Compass-tuned"))
    assert candidate_words(values) == (
        "parent_improvement · compass_projection · identity · probability_matching · proportional "
        "| F 0.51, CR 0.95, NP 163, top_NP 0.64, fix_appl 66, theta 90, p_min 0.08, error 0.55"
    )
    assert candidate_words({"F": 0.5}) == "F 0.5"


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"jobs": 0}, "jobs"),
        ({"executor": 3}, "executor"),
    ],
)
def test_where_nothing_can_run_nothing_is_written(
    arguments: dict[str, Any], name: str, tmp_path: Path
) -> None:
    with raises(InvalidParameter, name=name):
        tune(plan(), tmp_path / "a.db", **arguments)
    assert not list(tmp_path.iterdir())
