"""Small search spaces, and whether R's irace is there."""

from typing import Any

import pytest

from uaos.params import Categorical, Integer, RealSetting, Value
from uaos.problems.variables import Clause, Condition, Forbidden, Space, Variable
from uaos.tuning.irace import IraceMissing, irace_version


def real(low: float, high: float, *, log: bool = False, digits: int = 2) -> RealSetting:
    return RealSetting(default=low, low=low, high=high, log=log, digits=digits)


def integer(low: int, high: int, *, log: bool = False) -> Integer:
    return Integer(default=low, low=low, high=high, log=log)


def choice(*choices: Value) -> Categorical:
    return Categorical(default=choices[0], choices=choices)


def variable(name: str, domain: Any, **when: tuple[Value, ...]) -> Variable:
    """A variable that exists where any of the others has one of the values."""
    return Variable(name, domain, tuple(Condition(k, v) for k, v in when.items()))


#: A log scale, a condition, a forbidden combination, a range that irace's digits would change.
SMALL = Space(
    (
        variable("x", real(-1, 1)),
        variable("n", integer(1, 100, log=True)),
        variable("kind", choice("plain", "a b", '#|"')),
        variable("rate", real(0.001, 1, log=True), kind=("plain", "a b")),
    ),
    (Forbidden((Clause("rate", ">", 0.5), Clause("kind", "==", "a b")), "too fast"),),
)

#: Two numbers: the least budget is 96 runs.
TINY = Space((variable("x", real(0, 1)), variable("n", integer(1, 50))))


def _missing() -> str:
    try:
        irace_version()
    except IraceMissing as error:
        return str(error)
    return ""


#: For the tests that need R; the reason names the Debian package, r-cran-irace.
needs_irace = pytest.mark.skipif(bool(_missing()), reason=_missing() or "irace is there")
