"""Maximize a black box: minimize its negative, and show the values themselves."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from uaos.checks import real_numbers, real_target
from uaos.errors import InvalidParameter, shortened
from uaos.minimization import minimize
from uaos.problems.problem import Problem
from uaos.problems.space import BoundsLike
from uaos.result import Ending, Result, RunView


class Negated:
    """A function with the opposite sign, which can be sent to workers.

    Parameters
    ----------
    function : callable
        Returns a number, an array, or a tuple of these; None stays None.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = self.__wrapped__ = function

    def __call__(self, *args: object) -> object:
        """Return the negative of the function's value."""
        value = self.function(*args)
        if value is None:
            return None
        if isinstance(value, tuple):
            return tuple(0 - np.asarray(part) for part in value)
        return 0 - np.asarray(value)  # also of a bool


class _NegatedView:
    """The view of a run with the values that the user's function returned."""

    def __init__(self, view: RunView) -> None:
        self._view = view

    def __getattr__(self, name: str) -> object:
        value = getattr(self._view, name)
        return -value if name in ("fun", "fitness") else value


def _with_own_values(callback: Callable[..., object]) -> Callable[..., object]:
    """Return a callback that gets values of the function, not of its negative."""

    @functools.wraps(callback)
    def shown(*args: Any, **keywords: Any) -> object:
        state = [_NegatedView(a) if hasattr(a, "nfev") else a for a in args]
        named = {k: _NegatedView(a) if hasattr(a, "nfev") else a for k, a in keywords.items()}
        return callback(*state, **named)

    return shown


def _negated_known(known: object) -> object:
    """Return points with negated values; leave errors to the checks of `minimize`."""
    if not isinstance(known, tuple | list) or len(known) < 2:
        return known
    try:
        return (known[0], -real_numbers(known[1]), *known[2:])
    except (TypeError, ValueError):
        return known


def maximize(
    fun: Callable[..., object], bounds: BoundsLike | None = None, **arguments: Any
) -> Result:
    """Maximize a function over a box.

    Parameters
    ----------
    fun : callable
        The function.
    bounds
        As in :func:`uaos.minimize`.
    **arguments
        The other arguments of :func:`uaos.minimize`. The run ends once a value at or above `target`
        has been found; a callback sees values of `fun`.

    Returns
    -------
    Result
        As of :func:`uaos.minimize`; `fun` and the history have the values of the function.

    Raises
    ------
    InvalidParameter
        If an argument is not what it should be.

    Examples
    --------
    >>> import uaos
    >>> result = uaos.maximize(lambda x: 3 - (x[0] - 1) ** 2, [(-5, 5)], seed=1)
    >>> round(result.fun, 9), round(float(result.x[0]), 4)
    (3.0, 1.0)
    """
    if isinstance(fun, Problem) or not callable(fun):
        raise InvalidParameter(
            f"fun is {shortened(fun)}; expected a function to maximize. A uaos.Problem is "
            "minimized",
            name="fun", value=fun,
        )  # fmt: skip
    target, callback = real_target(arguments.get("target")), arguments.get("callback")
    if target is not None:
        arguments["target"] = -target
    if arguments.get("known") is not None:
        arguments["known"] = _negated_known(arguments["known"])
    if callable(arguments.get("jac")):
        arguments["jac"] = Negated(arguments["jac"])
    if callable(callback):
        arguments["callback"] = _with_own_values(callback)
    result = minimize(Negated(fun), bounds, **arguments)
    value, message = 0.0 - result.fun, result.message  # never -0.0
    if target is not None and value >= target:
        message = Ending.of_target(target).message
    history = None if result.history is None else result.history.negated()
    values = None if result.F is None else 0.0 - result.F
    return dataclasses.replace(result, fun=value, history=history, message=message, F=values)
