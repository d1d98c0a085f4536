"""A user's limits narrow the search space; what cannot be is refused in one clear sentence."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from raising import raises

from uaos.errors import InvalidFile, InvalidParameter, UaosError, UnknownName
from uaos.params import Categorical, Integer, Real
from uaos.tuning.design_space import design, design_for
from uaos.tuning.limits import narrow

PAPER = design("paper")


def test_a_number_is_held_at_a_value() -> None:
    made = narrow(PAPER, fix=["F=0.5", " NP = 100 "]).space
    assert made["F"].domain.choices == (0.5,)
    assert made["NP"].domain.choices == (100,)
    assert isinstance(made["NP"].domain.choices[0], int)
    assert made.free == PAPER.space.free - 2


def test_a_choice_that_is_held_takes_out_what_only_others_need() -> None:
    made = narrow(PAPER, fix=["reward=immediate_success"]).space
    assert "W" not in made.names
    assert "max_gen" not in made.names


def test_a_number_is_narrowed() -> None:
    made = narrow(PAPER, ranges=["NP=50..150", "F=.4..0.9"]).space
    NP, F = made["NP"].domain, made["F"].domain
    assert isinstance(NP, Integer)
    assert (NP.low, NP.high) == (50, 150)
    assert isinstance(F, Real)
    assert (F.low, F.high) == (0.4, 0.9)


def test_a_choice_is_narrowed_to_some_of_its_values() -> None:
    made = narrow(PAPER, ranges=["reward=success_sum | success_rate"]).space
    domain = made["reward"].domain
    assert isinstance(domain, Categorical)
    assert domain.choices == ("success_sum", "success_rate")
    assert not made["max_gen"].when  # both have it


def test_the_order_of_limits_does_not_matter() -> None:
    texts = ["reward=area_under_curve", "W=50", "D=0.5"]
    spaces = [narrow(PAPER, fix=order).space for order in (texts, texts[::-1])]
    assert spaces[0] == spaces[1]
    for order in (["reward=immediate_success", "W=50"], ["W=50", "reward=immediate_success"]):
        with raises(InvalidParameter, name="W", value="50"):
            narrow(PAPER, fix=order)


def test_a_file_holds_limits_and_what_is_typed_wins(tmp_path: Path) -> None:
    (tmp_path / "limits.toml").write_text(
        "[fix]\nreward = 'success_rate'\npower = 1\nCR = 0.9\n"
        "[range]\nNP = [50, 150]\nF = '0.4..0.9'\nselection = ['greedy', 'proportional']\n"
    )
    made = narrow(PAPER, fix=["CR=1"], file=tmp_path / "limits.toml").space
    assert made["reward"].domain.choices == ("success_rate",)
    assert made["power"].domain.choices == (1,)
    assert made["CR"].domain.choices == (1.0,)
    assert (made["NP"].domain.low, made["NP"].domain.high) == (50, 150)
    assert (made["F"].domain.low, made["F"].domain.high) == (0.4, 0.9)
    assert made["selection"].domain.choices == ("greedy", "proportional")


def test_true_and_false_of_a_file_are_the_numbers_of_a_switch(tmp_path: Path) -> None:
    (tmp_path / "limits.toml").write_text("[fix]\nscale_rewards = false\n")
    made = narrow(design("wide"), file=tmp_path / "limits.toml").space
    assert made["scale_rewards"].domain.choices == (0,)


@pytest.mark.parametrize(
    ("fix", "ranges", "name", "value"),
    [
        (["NP"], [], "--fix", "NP"),
        (["=3"], [], "--fix", "=3"),
        (["F="], [], "--fix", "F="),
        (["F=much"], [], "F", "much"),
        (["F=nan"], [], "F", "nan"),
        (["F=9"], [], "F", 9.0),
        (["NP=50.5"], [], "NP", 50.5),
        (["F=0.5", "F=0.6"], [], "--fix", "F=0.6"),
        (["F=0.5"], ["F=0.1..0.6"], "--range", "F=0.1..0.6"),
        ([], ["NP"], "--range", "NP"),
        ([], ["NP=50"], "NP", "50"),
        ([], ["NP=50.."], "NP", ""),
        ([], ["NP=50..inf"], "NP", "inf"),
        ([], ["NP=150..50"], "NP", "150..50"),
        ([], ["F=0.1..9"], "F", 9.0),
        ([], ["NP=50|100"], "NP", "50|100"),
        ([], ["power=1..2"], "power", "1..2"),
        (["reward=immediate_success", "W=50"], [], "W", "50"),
    ],
)
def test_what_cannot_be_is_refused(
    fix: list[str], ranges: list[str], name: str, value: object
) -> None:
    with raises(InvalidParameter, name=name, value=value):
        narrow(PAPER, fix, ranges)


def test_an_unknown_name_is_refused_with_near_misses() -> None:
    with raises(UnknownName, name="rewrd", near="reward"):
        narrow(PAPER, ["rewrd=x"])
    with raises(UnknownName, name="sucess_sum", near="success_sum"):
        narrow(PAPER, ["reward=sucess_sum"])
    with raises(UnknownName, name=""):
        narrow(PAPER, (), ["reward=success_sum|"])
    with pytest.raises(UnknownName, match="--space wide"):
        narrow(PAPER, ["boundary=clip"])


def test_a_space_of_which_nothing_can_run_is_refused() -> None:
    impossible = ["probability=adaptive_pursuit", "p_min=0.1", "p_max=0.05"]
    with pytest.raises(UaosError, match="p_max < p_min"):
        narrow(PAPER, impossible)
    # nine operators of at least 0.5 each
    with pytest.raises(UaosError, match="can run: p_min"):
        narrow(PAPER, ["probability=probability_matching", "p_min=0.5"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[fix]\nF = ", "limits.toml: .*TOML"),
        ("[fixed]\nF = 0.5", "limits.toml: .*'fixed'"),
        ("fix = 3", "limits.toml: fix .*3"),
        ("[fix]\nG = 0.5", "limits.toml: .*'G'"),
        ("[fix]\nF = [1, 2]", r"limits.toml: F .*'1\.\.2'"),
        ("[range]\nF = 0.5", "limits.toml: the range of F is 0.5"),
        ("[range]\nF = [0.1, 'x']", r"limits.toml: the range of F is 0.1\|x"),
        ("[fix]\nF = 1\n[range]\nF = [1, 2]", r"limits.toml: --range F=1\.\.2 .*twice"),
    ],
)
def test_the_error_of_a_file_names_it(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "limits.toml").write_text(text)
    with pytest.raises(InvalidFile, match=message):
        narrow(PAPER, file=tmp_path / "limits.toml")


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(InvalidFile):
        narrow(PAPER, file="nowhere.toml")


@given(st.sampled_from(PAPER.space.names), st.data())
def test_any_value_of_the_space_can_be_typed(name: str, data: st.DataObject) -> None:
    domain = PAPER.space[name].domain
    value = data.draw(
        st.sampled_from(domain.choices) if isinstance(domain, Categorical)
        else st.integers(domain.low, domain.high) if isinstance(domain, Integer)
        else st.floats(domain.low, domain.high)
    )  # fmt: skip
    made = narrow(PAPER, [f"{name}={value}"]).space
    assert made[name].domain.choices == (value,)


def test_a_method_of_the_catalogue_is_narrowed_alike() -> None:
    made = narrow(design_for("SaDE"), ["power=1"], ["max_gen=1..10"]).space
    assert made["max_gen"].domain.high == 10
    assert made["power"].fixed
