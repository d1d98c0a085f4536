"""A plan says which units there are."""

from pathlib import Path

import pytest

import uaos
from uaos.errors import InvalidParameter, NameClash, UaosError
from uaos.experiments import Plan, training_set
from uaos.experiments.plan import evaluations, numbers, problems


def test_the_training_set_has_48_problems_and_the_test_set_the_312_others() -> None:
    train, test = problems("1-24", "train"), problems("1-24", "test")
    assert (len(train), len(test)) == (48, 312)
    assert sorted(train + test) == problems("1-24", "all")
    assert set(train) == training_set()
    assert {f for f, _ in train} == set(range(1, 25))


def test_the_first_problems_of_each_function_are_named_by_their_number() -> None:
    few = problems("1-24", "test:4")
    assert len(few) == 24 * 4
    for f in range(1, 25):
        of = [pair for pair in problems("1-24", "test") if pair[0] == f]
        assert [pair for pair in few if pair[0] == f] == of[:4]
    assert problems("3", "all:2") == [(3, 1), (3, 2)]
    with pytest.raises(InvalidParameter, match="instances is 'test:0'; allowed: a set with"):
        problems("1-24", "test:0")


def test_a_unit_has_the_same_seed_in_every_plan_that_has_it() -> None:
    small = Plan.of(["mix"], functions="3", instances="2", uniform=False)
    large = Plan.of(["JADE", "mix"], functions="1-5", instances="1-4", repetitions=2)
    assert set(small.units()) <= set(large.units())
    assert len({u.seed for u in large.units()}) == len(large) == 3 * 5 * 4 * 2
    other = Plan.of(["mix"], functions="3", instances="2", uniform=False, seed=2)
    assert next(other.units()).seed != next(small.units()).seed


def test_uniform_choice_is_part_of_every_comparison() -> None:
    assert list(Plan.of(["mix"]).competitors) == ["mix", "uniform"]
    assert list(Plan.of(["uniform", "mix"]).competitors) == ["uniform", "mix"]
    assert list(Plan.of(["mix"], uniform=False).competitors) == ["mix"]


def test_a_configuration_file_competes_under_its_name(tmp_path: Path) -> None:
    uaos.configuration("RecPM-tuned").to_toml(tmp_path / "a.toml")
    (tmp_path / "mine.toml").write_text("[de]\nF = 0.4\n")
    uaos.method("SaDE").to_toml(tmp_path / "bare.toml")
    files = [tmp_path / "a.toml", str(tmp_path / "mine.toml"), tmp_path / "bare.toml"]
    assert list(Plan.of(files, uniform=False).competitors) == ["RecPM-tuned", "mine", "bare"]


def test_two_methods_of_one_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "mix.toml").write_text('name = "mix"\n')
    with pytest.raises(NameClash, match="two different methods are called 'mix'"):
        Plan.of(["mix", tmp_path / "mix.toml"])
    assert len(Plan.of(["mix", "mix"], uniform=False).competitors) == 1


@pytest.mark.parametrize(
    ("text", "meant"),
    [("1-5,8", [1, 2, 3, 4, 5, 8]), ("3", [3]), (" 2 , 1 - 2", [1, 2]), ([7, 7, 2], [2, 7])],
)
def test_numbers_are_lists_and_ranges(text: str, meant: list[int]) -> None:
    assert numbers("functions", text, 1, 24) == meant


@pytest.mark.parametrize("text", ["", "0", "25", "5-3", "1,,2", "a", "1-", "-1", "1.5", [0], []])
def test_other_numbers_are_refused(text: str) -> None:
    with pytest.raises(InvalidParameter, match="functions is "):
        numbers("functions", text, 1, 24)


@pytest.mark.parametrize(
    ("budget", "meant"),
    [(None, 2_000_000), ("10000D", 200_000), (5000, 5000), ("2e6", 2_000_000), ("1e5d", 2_000_000)],
)
def test_a_budget_is_a_number_or_a_multiple_of_the_dimension(budget: object, meant: int) -> None:
    assert evaluations(budget, 20) == meant


@pytest.mark.parametrize("budget", ["", "D", "0", "-5", "1.5", "many", "nan", "inf", "1e99"])
def test_another_budget_is_refused(budget: str) -> None:
    with pytest.raises(InvalidParameter, match="budget is .*evaluations >= 1"):
        evaluations(budget, 20)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"methods": ["mxi"]}, "unknown method 'mxi'; did you mean 'mix'"),
        ({"methods": ["BIPOP-CMA"]}, "did you mean 'BIPOP-CMA-ES'"),
        ({"methods": []}, "at least one method"),
        ({"methods": ["nowhere.toml"]}, "nowhere.toml: there is no such file"),
        ({"dimension": 7}, "dimension is 7; allowed: one of 2, 3, 5"),
        ({"repetitions": 0}, "repetitions is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 1.5}, "seed is 1.5"),
        ({"instances": "tests"}, '\'tests\'; allowed: "train", "test", "all", "test:4", or'),
        ({"functions": "1-30"}, "functions is '1-30'"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(changes: dict, message: str) -> None:
    arguments = {"methods": ["mix"]} | changes
    with pytest.raises(UaosError, match=message):
        Plan.of(arguments.pop("methods"), **arguments)


def test_an_unknown_component_in_a_file_keeps_its_message(tmp_path: Path) -> None:
    (tmp_path / "wrong.toml").write_text('[method]\nreward = "none"\n')
    with pytest.raises(UaosError, match="wrong.toml: .*unknown reward 'none'"):
        Plan.of([tmp_path / "wrong.toml"])
