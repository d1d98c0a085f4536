"""What users and configuration files may get wrong, and what they are told."""

import warnings

import numpy as np
import pytest
from de_stubs import engine

from uaos.errors import InvalidFeedback, InvalidFile, InvalidParameter, UnknownName
from uaos.minimization import minimize
from uaos.optimizers.configuration import Configuration
from uaos.optimizers.de.operators import Operator
from uaos.optimizers.de.optimizer import DifferentialEvolution
from uaos.optimizers.de.settings import Linear, Settings, Stagnation

BOX = [(-5.0, 5.0)] * 4


class Own:
    """An operator of the user's that proposes whatever it was given."""

    def __init__(self, proposed):
        self.name = "mine"
        self.proposed = proposed

    def propose(self, state, parents, rng):
        return self.proposed


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"popsize": 3}, InvalidParameter, "^popsize is 3; allowed: an integer 4 to 10000000"),
        ({"popsize": 10**8}, InvalidParameter, "^popsize is 100000000; .* 4 to 10000000"),
        ({"popsize": "many"}, InvalidParameter, "^popsize is 'many'"),
        ({"popsize": "99999999999D"}, InvalidParameter, "^popsize is '99999999999D'; .* 10000000"),
        ({"popsize": "9" * 400 + "D"}, InvalidParameter, "^popsize is .* at most 10000000"),
        # Allowed in one dimension, and in four too many.
        ({"popsize": "2600000D"}, InvalidParameter, "at most 10000000 parents; .* 1.04e.07"),
        ({"popsize": np.zeros(3)}, InvalidParameter, "^popsize is array"),
        ({"top_NP": 1.5}, InvalidParameter, "top_NP is 1.5; allowed: a real number > 0 and at mos"),
        ({"top_NP": -1}, InvalidParameter, "top_NP is -1; allowed: a real number > 0 and at most"),
        ({"top_NP": np.zeros(3)}, InvalidParameter, "top_NP is array.* > 0 and at most 1"),
        ({"top_NP": [0.1]}, InvalidParameter, r"top_NP is \[0.1\]"),
        ({"top_NP": float("nan")}, InvalidParameter, "top_NP is nan"),
        ({"boundary": np.zeros(3)}, InvalidParameter, "boundary is array.* one of none, clip"),
        ({"operators": "rand/1"}, InvalidParameter, r"operators is 'rand/1'; .*such as \[.rand/1"),
        ({"operators": 3}, InvalidParameter, "operators is 3; allowed: a list of operators"),
        ({"operators": Operator("rand/1")}, InvalidParameter, "operators is Operator.* a list of"),
        ({"method": "JADE", "operators": ["rand/1", "best/1"]}, InvalidParameter,
         r"operators is \['rand/1', 'best/1'\]; allowed: one operator: JADE has no method to"),
        ({"popsiz": 3}, TypeError, "unexpected keyword argument 'popsiz'"),
        ({"callback": 3}, InvalidParameter, "callback is 3; allowed: a function of"),
        ({"history": "no"}, InvalidParameter, "history is 'no'; allowed: True or False"),
        ({"vectorized": "yes"}, InvalidParameter, "vectorized is 'yes'; allowed: True or False"),
        ({"on_error": ["fail"]}, InvalidParameter, "on_error is"),
        ({"workers": lambda f, x: None}, InvalidFeedback, "workers.*like map.*returned None"),
        (
            {"workers": lambda f, x: [1.0], "method": "mix"},
            InvalidFeedback,
            "it returned 1 value for 40 points",
        ),
        ({"fun": lambda x: 1j}, InvalidFeedback, "fun must return a real number for each"),
        ({"bounds": [(-1e308, 1e308)]}, InvalidParameter, r"bounds\[0\] is .* width .* is finite"),
        ({"bounds": [(0, 1), (1e308, 1.5e308)]}, InvalidParameter, r"bounds\[1\] is .* overflow"),
    ],
)  # fmt: skip
def test_arguments_that_make_no_sense_are_refused(given, error, message):
    with pytest.raises(error, match=message):
        minimize(**{"fun": lambda x: 0.0, "bounds": BOX} | given)


def test_in_a_configuration_the_population_size_is_called_np():
    small = Configuration("mine", None, Settings(pool=["rand/2"], NP=5))
    with pytest.raises(InvalidParameter, match="^NP is 5; allowed: at least 6, which rand/2 needs"):
        DifferentialEvolution(BOX, method=small)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"schedule": {"rule": "linear"}}, InvalidParameter, '{rule = "linear", NP_end = 4}'),
        ({"schedule": "linear"}, InvalidParameter, '{rule = "linear", NP_end = 4}'),
        ({"schedule": ["linear"]}, UnknownName, "unknown schedule .'linear'.; did you mean"),
        ({"schedule": {"rule": ["linear"]}}, UnknownName, "unknown schedule"),
        ({"restart": 3}, UnknownName, "unknown restart 3; known: none, stagnation"),
        ({"F": {"rule": ["a"]}}, UnknownName, r"unknown rule for F or CR \['a'\]"),
        ({"pool": [{"strategy": ["rand/1"]}]}, UnknownName, r"strategy \['rand/1'\]; did you"),
        ({"pool": [{"own": ["x"]}]}, UnknownName, r"unknown custom operator \['x'\]"),
        ({"pool": 3}, InvalidParameter, "pool is 3; allowed: a list"),
        ({"NP": ["auto"]}, InvalidParameter, "NP is"),
        ({"NP": "99999999999D"}, InvalidParameter, "NP is '9999.*; allowed: at most 10000000"),
    ],
)  # fmt: skip
def test_configuration_data_that_makes_no_sense_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        Settings.from_dict(given)


def test_a_restart_may_be_named_alone():
    assert Settings(restart="stagnation") == Settings(restart=Stagnation())
    text = '[de]\nrestart = "stagnation"\nschedule = {rule = "linear", NP_end = 6}\n'
    settings = Configuration.from_toml(text).settings
    assert (settings.restart, settings.schedule) == (Stagnation(), Linear(6))
    with pytest.raises(InvalidFile, match="the text: schedule is 'linear'; allowed: with the size"):
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
    with pytest.raises(InvalidFeedback, match="operator 'mine' proposed .*expected finite numbers"):
        one.ask()


def test_complex_values_are_refused_and_change_nothing():
    one = DifferentialEvolution(BOX, seed=1)
    asked = one.ask()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for values in (np.full(40, 1j), [1j] * 40, [np.complex128(1)] * 40):
            with pytest.raises(InvalidFeedback, match="real numbers.*complex.*Nothing was changed"):
                one.tell(values)
    assert (one.ask() == asked).all()
