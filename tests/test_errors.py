"""Errors of the package: what their messages say, and how other processes see them."""

import copy
import pickle
from collections.abc import Callable

import numpy as np
import pytest

import uaos
from uaos.errors import InvalidFeedback, InvalidParameter, UaosError, UnknownName, shortened
from uaos.extras import MissingExtra


@pytest.mark.parametrize(
    "error",
    [
        InvalidParameter("tol is -1; expected a number >= 0", name="tol", value=-1),
        UnknownName("method", "JADEE", ["JADE", "SHADE"], hint="(or a file)"),
        InvalidFeedback("values has shape ()"),
        MissingExtra("a figure", "matplotlib", "plot"),
    ],
)
def test_an_error_is_the_same_in_another_process(error):
    """A multiprocessing.Pool waits forever for an exception that it cannot read."""
    error.add_note("in a worker process")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is type(error)
        assert str(again) == str(error)
        assert vars(again) == vars(error)


def sphere(x: np.ndarray) -> float:
    return float(x @ x)


BOX = [(-5, 5)] * 2


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (lambda: uaos.minimize(sphere, BOX, budget=0), ("budget", "0", "positive")),
        (lambda: uaos.minimize(sphere, BOX, seed=-1), ("seed", "-1", "integer")),
        (lambda: uaos.minimize(sphere, [(1, 0)] * 2), ("bounds", "(1.0, 0.0)", "low")),
        (lambda: uaos.minimize(sphere, BOX, x0=[0, 9]), ("x0", "9", "-5 to 5")),
        (lambda: uaos.minimize(sphere, BOX, method="SaED"), ("method", "'SaED'", "'SaDE'")),
        (lambda: uaos.minimize(lambda x: "a", BOX), ("fun", "real number", "'a'")),
        (lambda: uaos.method("SaDE", max_gn=3), ("'max_gn'", "'max_gen'")),
        (lambda: uaos.method("SaDE", p_min=2.0), ("p_min", "2.0", "1")),
        (lambda: uaos.Method.from_toml("reward = \n"), ("TOML",)),
        (lambda: uaos.suite("bob"), ("suite", "'bob'", "'bbob'")),
    ],
)
def test_a_message_says_what_is_wrong_and_what_is_expected(
    call: Callable[[], object], parts: tuple[str, ...]
) -> None:
    with pytest.raises(UaosError) as caught:
        call()
    message = str(caught.value)
    assert all(part in message for part in parts), message
    assert "\n" not in message


def test_messages_repeat_values_in_one_short_line():
    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError

    assert shortened("a" * 1000, 10) == "'aaaaaaaaa…"
    assert shortened(np.zeros((2, 2))) == "array([[0., 0.],        [0., 0.]])"
    assert shortened(10**5000) == "<int that cannot be shown>"
    assert shortened(Broken()) == "<Broken that cannot be shown>"
    assert shortened([object()]) == "[<object object>]"  # not "<object object at 0x7f…>"


def test_a_name_that_differs_in_case_or_hyphens_only_is_the_only_suggestion():
    """Neither SHADE nor JADE is meant by SADE."""
    error = UnknownName("method", "cma_es", ["CMA-ES", "BIPOP-CMA-ES", "MAENSm"])
    assert error.near == ("CMA-ES",)
    assert UnknownName("method", "ade", ["SaDE", "JADE", "SHADE"]).args[0].count(" or ") == 1
