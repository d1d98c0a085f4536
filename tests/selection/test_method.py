"""A method is a recipe: composed from names or objects, written down and read back."""

import io
from pathlib import Path

import numpy as np
import pytest
from raising import raises
from rich.console import Console

import uaos
from uaos import Method
from uaos.errors import InvalidFile, InvalidParameter, UnknownName

SUM = uaos.components("reward")["success_sum"]


def test_names_objects_and_tables_compose_the_same_method() -> None:
    by_name = Method(reward="success_sum")
    assert by_name == Method(reward=SUM())
    assert by_name == Method(reward={"name": "success_sum", "max_gen": 10})
    assert by_name != Method(reward=SUM(max_gen=11))


def test_a_method_is_immutable_and_hashable() -> None:
    method = Method()
    with pytest.raises(AttributeError):
        method.reward = SUM()
    assert len({Method(), Method(), Method(selection="greedy")}) == 2


def test_there_are_25200_methods_before_hyper_parameters_6300_of_the_paper() -> None:
    families = ("metric", "reward", "quality", "probability", "selection")
    sizes = [len(uaos.components(f)) for f in families]
    assert sizes == [8, 18, 5, 5, 7]
    assert np.prod(sizes) == 25_200
    printed = [sum(c.printed for c in uaos.components(f).values()) for f in families]
    assert np.prod(printed) == np.prod([7, 12, 5, 3, 5]) == 6300


@pytest.mark.parametrize(
    ("family", "wrong", "name"),
    [
        ("metric", "parent_improvment", "parent_improvment"),
        ("reward", "zzz", "zzz"),
        ("quality", 7, "quality"),
        ("probability", {"p_min": 0.1}, "probability"),
        ("selection", SUM(), "selection"),
        ("reward", {"name": "success_sum", "max_gn": 3}, "max_gn"),
        ("scale_rewards", "yes", "scale_rewards"),
    ],
)
def test_what_is_no_component_is_refused(family: str, wrong: object, name: str) -> None:
    with raises((UnknownName, InvalidParameter), name=name):
        Method(**{family: wrong})


def test_an_unknown_family_is_refused() -> None:
    with raises(UnknownName, name="rewards", near="reward"):
        uaos.components("rewards")


@pytest.mark.parametrize("name", [n for n, c in uaos.methods().items() if c.method])
def test_every_method_survives_dict_and_toml(name: str, tmp_path: Path) -> None:
    method = uaos.method(name)
    assert Method.from_dict(method.to_dict()) == method
    assert Method.from_toml(method.to_toml()) == method
    method.to_toml(tmp_path / "method.toml")
    assert Method.from_toml(tmp_path / "method.toml") == method


@pytest.mark.parametrize("family", ["metric", "reward", "quality", "probability", "selection"])
def test_every_component_survives_toml(family: str) -> None:
    for name in uaos.components(family):
        method = Method(**{family: name}, scale_rewards=False)
        assert Method.from_toml(method.to_toml()) == method


def test_a_recipe_that_leaves_components_out_takes_the_defaults() -> None:
    assert Method.from_dict({"reward": "success_sum"}) == Method(reward="success_sum")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("version = 2\n", None),
        ("version = 'x'\n", None),
        ("rewards = 'success_sum'\n", "rewards"),
        ("reward = \n", None),
    ],
)
def test_a_recipe_that_cannot_be_read_is_refused(text: str, name: str | None) -> None:
    with raises((InvalidFile, UnknownName), name=name):
        Method.from_toml(text)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidFile):
        Method.from_toml(tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidFile):
        Method.from_toml(tmp_path / "binary.toml")
    with raises(InvalidParameter, name="recipe", value=7):
        Method.from_dict(7)


def test_replace_exchanges_components_and_parameters() -> None:
    method = Method().replace(selection="greedy", c2=0.1, p_min=0.01, scale_rewards=False)
    assert method.selection.name == "greedy"
    assert method.quality == uaos.components("quality")["bellman"](c2=0.1)
    assert not method.scale_rewards


def test_replace_tells_parameters_of_the_same_name_apart() -> None:
    method = Method(reward="best_2_generations", quality="upper_confidence_bound")
    apart = method.replace(reward_C=0.25, quality_C=4.0)
    assert (apart.reward.C, apart.quality.C) == (0.25, 4.0)
    both = method.replace(C=0.75)
    assert (both.reward.C, both.quality.C) == (0.75, 0.75)


def test_replace_refuses_a_parameter_that_the_method_does_not_have() -> None:
    with raises(UnknownName, name="W"):
        Method().replace(W=30)


def test_the_recipe_fits_on_one_screen() -> None:
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(uaos.method("F-AUC-MAB-tuned"))
    shown = console.export_text()
    assert len(shown.splitlines()) <= 24
    for part in ("area_under_curve", "W = 138, D = 0.47", "greedy", "scaled to [0, 1]: yes"):
        assert part in shown
    assert "area_under_curve(W=138, D=0.47)" in repr(uaos.method("F-AUC-MAB-tuned"))
