"""Parameters are declared once; what does not fit is refused with what would."""

from dataclasses import dataclass

import numpy as np
import pytest
from raising import raises

from uaos.errors import InvalidParameter, UnknownName
from uaos.params import check_fields, choice, integer, parameters, real
from uaos.selection.components import components


@dataclass(frozen=True)
class Thing:
    speed: float = real(0, 1, default=0.5, symbol="v", doc="how fast")
    count: int = integer(2, 10, default=3, allowed=(1, 100))
    color: str = choice("red", "blue", default="red")
    share: float | str = real(0, 1, default=0.1, bound="1/K")

    def __post_init__(self) -> None:
        check_fields(self, "thing")


def test_declared_parameters_are_read_back_from_the_class() -> None:
    declared = parameters(Thing)
    assert list(declared) == ["speed", "count", "color", "share"]
    assert declared["speed"].range == "0 to 1"
    assert declared["count"].range == "2 to 10"
    assert declared["color"].range == "one of red, blue"
    assert declared["share"].range == "0 to 1/K"


def test_values_are_stored_as_the_declared_type() -> None:
    thing = Thing(speed=np.float32(1), count=np.int16(4))
    assert type(thing.speed) is float
    assert type(thing.count) is int


def test_a_value_outside_the_search_range_may_be_allowed_by_hand() -> None:
    assert Thing(count=1).count == 1


@pytest.mark.parametrize(
    ("field", "value", "allowed"),
    [
        ("speed", 1.5, "a real number from 0 to 1"),
        ("speed", -0.1, "a real number from 0 to 1"),
        ("speed", float("nan"), "a real number from 0 to 1"),
        ("speed", float("inf"), "a real number from 0 to 1"),
        ("speed", "fast", "a real number from 0 to 1"),
        ("speed", True, "a real number from 0 to 1"),
        ("speed", None, "a real number from 0 to 1"),
        ("speed", 10**400, "a real number from 0 to 1"),
        ("color", np.array([1, 2]), "one of red, blue"),
        ("count", 0, "an integer from 1 to 100"),
        ("count", 3.0, "an integer from 1 to 100"),
        ("count", True, "an integer from 1 to 100"),
        ("color", "green", "one of red, blue"),
        ("share", "1.5/K", 'or a share such as "0.2/K"'),
        ("share", "K/2", 'or a share such as "0.2/K"'),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_what_is_allowed(
    field: str, value: object, allowed: str
) -> None:
    with raises(InvalidParameter, name=field, owner="thing") as caught:
        Thing(**{field: value})
    assert allowed in str(caught.value)
    assert caught.value.value is value


def test_a_share_of_the_operators_is_kept_as_it_was_given() -> None:
    assert Thing(share=" .2 / K ").share == "0.2/K"


ALL = [(f, n) for f in ("reward", "quality", "probability", "selection") for n in components(f)]


@pytest.mark.parametrize(("family", "name"), ALL)
def test_every_component_refuses_a_misspelled_parameter_with_the_near_miss(
    family: str, name: str
) -> None:
    cls = components(family)[name]
    for parameter in parameters(cls):
        with raises(UnknownName, name=f"{parameter}x", near=parameter):
            cls(**{parameter + "x": 1})


@pytest.mark.parametrize(("family", "name"), ALL)
def test_every_component_refuses_nan_and_a_wrong_type(family: str, name: str) -> None:
    cls = components(family)[name]
    for parameter in parameters(cls):
        for wrong in (float("nan"), "nonsense", None, [1]):
            with raises(InvalidParameter, name=parameter, owner=name):
                cls(**{parameter: wrong})


@pytest.mark.parametrize(
    ("family", "name", "values"),
    [
        ("reward", "success_rate", {"power": 3}),
        ("reward", "area_under_curve", {"W": 0}),
        ("reward", "area_under_curve", {"D": 1.01}),
        ("reward", "compass_projection", {"theta": 60}),
        ("quality", "bellman", {"gamma": 1.0}),
        ("quality", "weighted_sum", {"delta": -0.01}),
        ("probability", "probability_matching", {"p_min": -0.1}),
        ("selection", "epsilon_greedy", {"eps": 2}),
    ],
)
def test_values_outside_the_specified_ranges_are_refused(
    family: str, name: str, values: dict[str, float]
) -> None:
    with raises(InvalidParameter, name=next(iter(values)), owner=name):
        components(family)[name](**values)


def test_the_discount_may_be_zero_by_hand_but_never_one() -> None:
    bellman = components("quality")["bellman"]
    assert bellman(gamma=0) == bellman(gamma=0.0)
    with raises(InvalidParameter, name="gamma", value=1):
        bellman(gamma=1)
