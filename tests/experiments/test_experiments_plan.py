"""A plan says which units there are."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from raising import raises

import uaos
from uaos.checks import parse_budget
from uaos.errors import InvalidParameter, NameClash, UaosError, UnknownName
from uaos.experiments import Plan, Store
from uaos.experiments.plan import DEFAULT_BUDGET
from uaos.problems import Problem, suite


def test_a_seed_beyond_the_integers_of_a_float_is_exact() -> None:
    plan = Plan.of(["mix"], suite(functions="3", instances="2"), uniform=False, seed=2**62 + 1)
    assert plan.seed == 2**62 + 1


def test_a_unit_has_the_same_seed_in_every_plan_that_has_it() -> None:
    small = Plan.of(["mix"], suite(functions="3", instances="2"), uniform=False)
    large = Plan.of(["JADE", "mix"], suite(functions="1-5", instances="1-4"), repetitions=2)
    assert set(small.units()) <= set(large.units())
    assert len({u.seed for u in large.units()}) == len(large) == 3 * 5 * 4 * 2
    other = Plan.of(["mix"], suite(functions="3", instances="2"), uniform=False, seed=2)
    assert next(other.units()).seed != next(small.units()).seed


def test_a_plan_may_leave_combinations_out(tmp_path: Path) -> None:
    """One of two methods runs on one of two problems: three units, in the store as well."""

    class Part(Plan):
        def combinations(self) -> Iterator[tuple[str, Problem, int]]:
            return (
                key for key in super().combinations() if (key[0], key[1].function) != ("mix", "f2")
            )

    whole = Plan.of(["mix", "JADE"], suite(functions="1-2", instances="1"), uniform=False)
    part = Part(**vars(whole))
    assert len(part) == len(list(part.units())) == 3
    assert set(part.units()) < set(whole.units())
    with Store.create_or_resume(tmp_path / "a.db", part) as store:
        assert len(store.missing(part)) == 3
        assert {name: tally.total for name, tally in store.tallies().items()} == {
            "mix": 1, "JADE": 2
        }  # fmt: skip


def test_uniform_choice_is_part_of_every_comparison() -> None:
    assert list(Plan.of(["mix"]).competitors) == ["mix", "uniform"]
    assert list(Plan.of(["uniform", "mix"]).competitors) == ["uniform", "mix"]
    assert list(Plan.of(["mix"], uniform=False).competitors) == ["mix"]


def test_a_control_is_added_to_each_method_that_adapts_its_choice() -> None:
    plan = Plan.of(["mix", "JADE", "uniform", "portfolio"], control="uniform")
    added = ["mix (uniform)", "portfolio (uniform)"]
    assert list(plan.competitors) == ["mix", "JADE", "uniform", "portfolio", *added]
    with pytest.raises(UnknownName, match="control"):
        Plan.of(["mix"], control="random")


def test_a_configuration_file_competes_under_its_name(tmp_path: Path) -> None:
    uaos.configuration("RecPM-tuned").to_toml(tmp_path / "a.toml")
    (tmp_path / "mine.toml").write_text("[de]\nF = 0.4\n")
    uaos.method("SaDE").to_toml(tmp_path / "bare.toml")
    files = [tmp_path / "a.toml", str(tmp_path / "mine.toml"), tmp_path / "bare.toml"]
    assert list(Plan.of(files, uniform=False).competitors) == ["RecPM-tuned", "mine", "bare"]


def test_two_methods_of_one_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "mix.toml").write_text('name = "mix"\n')
    with pytest.raises(NameClash):
        Plan.of(["mix", tmp_path / "mix.toml"])
    assert len(Plan.of(["mix", "mix"], uniform=False).competitors) == 1


@pytest.mark.parametrize(
    ("budget", "meant"),
    [
        (DEFAULT_BUDGET, 2_000_000),
        ("10000D", 200_000),
        (5000, 5000),
        ("2e6", 2_000_000),
        ("1e5d", 2_000_000),
    ],
)
def test_a_budget_is_a_number_or_a_multiple_of_the_dimension(budget: object, meant: int) -> None:
    assert parse_budget(budget, 20) == meant


@pytest.mark.parametrize("budget", ["", "D", "0", "-5", "1.5", "many", "nan", "inf", "1e99"])
def test_another_budget_is_refused(budget: str) -> None:
    with raises(InvalidParameter, name="budget"):
        parse_budget(budget, 20)


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"methods": ["mxi"]}, "mxi"),
        ({"methods": ["BIPOP-CMA"]}, "BIPOP-CMA"),
        ({"methods": []}, "methods"),
        ({"methods": ["nowhere.toml"]}, None),
        ({"suite": "bob"}, "bob"),
        ({"repetitions": 0}, "repetitions"),
        ({"seed": -1}, "seed"),
        ({"seed": 1.5}, "seed"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(changes: dict, name: str | None) -> None:
    arguments = {"methods": ["mix"]} | changes
    with raises(UaosError, name=name):
        Plan.of(arguments.pop("methods"), **arguments)


def test_an_unknown_component_in_a_file_keeps_its_message(tmp_path: Path) -> None:
    (tmp_path / "wrong.toml").write_text('[method]\nreward = "none"\n')
    with pytest.raises(UaosError):
        Plan.of([tmp_path / "wrong.toml"])
