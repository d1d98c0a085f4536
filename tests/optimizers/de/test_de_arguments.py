"""What users and configuration files may get wrong, and what they are told."""

import warnings

import numpy as np
import pytest
from de_stubs import engine
from raising import raises

from uaos.errors import InvalidFeedback, InvalidFile, InvalidParameter, UnknownName
from uaos.minimization import minimize
from uaos.optimizers.configuration import Configuration
from uaos.optimizers.de.operators import Operator
from uaos.optimizers.de.optimizer import DifferentialEvolution
from uaos.optimizers.de.settings import DifferentialEvolutionSettings, Linear, Stagnation

BOX = [(-5.0, 5.0)] * 4


class Own:
    """An operator of the user's that proposes whatever it was given."""

    def __init__(self, proposed):
        self.name = "mine"
        self.proposed = proposed

    def propose(self, state, parents, rng):
        return self.proposed


@pytest.mark.parametrize(
    ("given", "error", "name"),
    [
        ({"popsize": 3}, InvalidParameter, "popsize"),
        ({"popsize": 10**8}, InvalidParameter, "popsize"),
        ({"popsize": "many"}, InvalidParameter, "popsize"),
        ({"popsize": "99999999999D"}, InvalidParameter, "popsize"),
        ({"popsize": "9" * 400 + "D"}, InvalidParameter, "popsize"),
        # Allowed in one dimension, and in four too many.
        ({"popsize": "2600000D"}, InvalidParameter, "popsize"),
        ({"popsize": np.zeros(3)}, InvalidParameter, "popsize"),
        ({"top_NP": 1.5}, InvalidParameter, "top_NP"),
        ({"top_NP": -1}, InvalidParameter, "top_NP"),
        ({"top_NP": np.zeros(3)}, InvalidParameter, "top_NP"),
        ({"top_NP": [0.1]}, InvalidParameter, "top_NP"),
        ({"top_NP": float("nan")}, InvalidParameter, "top_NP"),
        ({"boundary": np.zeros(3)}, InvalidParameter, "boundary"),
        ({"operators": "rand/1"}, InvalidParameter, "operators"),
        ({"operators": 3}, InvalidParameter, "operators"),
        ({"operators": Operator("rand/1")}, InvalidParameter, "operators"),
        ({"method": "JADE", "operators": ["rand/1", "best/1"]}, InvalidParameter,
         "operators"),
        ({"popsiz": 3}, TypeError, None),
        ({"callback": 3}, InvalidParameter, "callback"),
        ({"history": "no"}, InvalidParameter, "history"),
        ({"vectorized": "yes"}, InvalidParameter, "vectorized"),
        ({"on_error": ["fail"]}, InvalidParameter, "on_error"),
        ({"workers": lambda f, x: None}, InvalidFeedback, None),
        (
            {"workers": lambda f, x: [1.0], "method": "mix"},
            InvalidFeedback,
            None,
        ),
        ({"fun": lambda x: 1j}, InvalidFeedback, None),
        ({"bounds": [(-1e308, 1e308)]}, InvalidParameter, "bounds[0]"),
        ({"bounds": [(0, 1), (1e308, 1.5e308)]}, InvalidParameter, "bounds[1]"),
    ],
)  # fmt: skip
def test_arguments_that_make_no_sense_are_refused(given, error, name):
    with raises(error, name=name):
        minimize(**{"fun": lambda x: 0.0, "bounds": BOX} | given)


def test_in_a_configuration_the_population_size_is_called_np():
    small = Configuration("mine", None, DifferentialEvolutionSettings(pool=["rand/2"], NP=5))
    with raises(InvalidParameter, name="NP", value=5):
        DifferentialEvolution(BOX, method=small)


@pytest.mark.parametrize(
    ("given", "error", "name"),
    [
        ({"NP_schedule": {"rule": "linear"}}, InvalidParameter, "NP_schedule"),
        ({"NP_schedule": "linear"}, InvalidParameter, "NP_schedule"),
        ({"NP_schedule": ["linear"]}, UnknownName, ["linear"]),
        ({"NP_schedule": {"rule": ["linear"]}}, UnknownName, ["linear"]),
        ({"restart": 3}, UnknownName, 3),
        ({"F": {"rule": ["a"]}}, UnknownName, ["a"]),
        ({"pool": [{"strategy": ["rand/1"]}]}, UnknownName, ["rand/1"]),
        ({"pool": [{"own": ["x"]}]}, UnknownName, ["x"]),
        ({"pool": 3}, InvalidParameter, "pool"),
        ({"NP": ["auto"]}, InvalidParameter, "NP"),
        ({"NP": "99999999999D"}, InvalidParameter, "NP"),
    ],
)  # fmt: skip
def test_configuration_data_that_makes_no_sense_is_refused(given, error, name):
    with raises(error, name=name):
        DifferentialEvolutionSettings.from_dict(given)


def test_a_restart_may_be_named_alone():
    assert DifferentialEvolutionSettings(restart="stagnation") == DifferentialEvolutionSettings(
        restart=Stagnation()
    )
    text = '[de]\nrestart = "stagnation"\nschedule = {rule = "linear", NP_end = 6}\n'
    settings = Configuration.from_toml(text).settings
    assert (settings.restart, settings.NP_schedule) == (Stagnation(), Linear(6))
    with pytest.raises(InvalidFile):
        Configuration.from_toml('[de]\nschedule = "linear"\n')


def test_a_population_never_grows_past_the_largest(monkeypatch):
    monkeypatch.setattr("uaos.optimizers.de.optimizer.MOST_PARENTS", 50)
    one = engine(restart=Stagnation(growth=100.0))
    one.tell(np.zeros(len(one.ask())))  # all alike: restart
    assert len(one.ask()) == 50


@pytest.mark.parametrize(
    "proposed", [None, "points", {"a": 1}, np.full((20, 3), 1j), [[1], [2, 3]]]
)
def test_an_own_operator_that_returns_no_array_is_named(proposed):
    one = engine(pool=[Own(proposed)])
    one.tell(np.zeros(len(one.ask())))
    with pytest.raises(InvalidFeedback):
        one.ask()


def test_complex_values_are_refused_and_change_nothing():
    one = DifferentialEvolution(BOX, seed=1)
    asked = one.ask()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for values in (np.full(40, 1j), [1j] * 40, [np.complex128(1)] * 40):
            with pytest.raises(InvalidFeedback):
                one.tell(values)
    assert (one.ask() == asked).all()
