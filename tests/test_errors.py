"""Errors of the package, as other processes see them."""

import copy
import pickle

import pytest

from uaos.errors import InvalidFeedback, InvalidParameter, UnknownName
from uaos.extras import MissingExtra


@pytest.mark.parametrize(
    "error",
    [
        InvalidParameter("tol", -1, "a number >= 0", owner="a run"),
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
