"""Stopping rules: each looks at the optimizer after every batch and says why the run ends.

The first rule that returns an :class:`uaos.result.Ending` ends the run.
"""

import inspect
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from uaos.errors import InvalidFeedback, InvalidParameter, shortened
from uaos.optimizers.base import Optimizer
from uaos.problems.space import FreeSpace, Point
from uaos.result import Ending, RunView, Status
from uaos.runs.memory import PointMemory
from uaos.text import count

#: The ending of a run after Ctrl-C.
INTERRUPTED = Ending(Status.INTERRUPTED, "interrupted; this is the best so far")

#: The ending of a run whose executor, which the user owns, takes no more calls.
BROKEN = Ending(
    Status.INTERRUPTED,
    "the executor broke; this is the best so far. With a number of processes as workers, only the "
    "evaluation that ends its process is lost",
)

#: The ending of a run that has nothing to search.
HELD = Ending(Status.SUCCESS, "converged: every coordinate is fixed by its bounds")


class StoppingRule(ABC):
    """Base class of stopping rules, which decide when and why a run ends."""

    #: Whether the rule is asked before the first batch as well as after each.
    at_start: ClassVar[bool] = False

    @abstractmethod
    def __call__(self, optimizer: Optimizer) -> Ending | None:
        """Return why the run ends, None if it goes on."""


class Target(StoppingRule):
    """End the run once its target is reached."""

    at_start = True

    def __call__(self, optimizer: Optimizer) -> Ending | None:
        """Return why the run ends, None if it goes on."""
        if optimizer.target is None or not optimizer.on_target:
            return None
        return Ending.of_target(optimizer.target)


class Budget(StoppingRule):
    """End the run once its budget is spent.

    Parameters
    ----------
    default : bool
        Whether the budget is the default one, which the message then says.
    """

    at_start = True

    def __init__(self, *, default: bool = False) -> None:
        self._default = default

    def __call__(self, optimizer: Optimizer) -> Ending | None:
        """Return why the run ends, None if it goes on."""
        if optimizer.budget is None or not optimizer.exhausted:
            return None
        if optimizer.best_x is None:
            return Ending.of_failures(optimizer.evaluations)
        return Ending.of_budget(optimizer.budget, default=self._default)


class Done(StoppingRule):
    """End the run once the optimizer reports that it is done."""

    at_start = True

    def __call__(self, optimizer: Optimizer) -> Ending | None:
        """Return why the run ends, None if it goes on."""
        if not optimizer.done:
            return None
        failed = optimizer.best_x is None
        if failed:
            return Ending.of_failures(optimizer.evaluations)
        return Ending.converged(optimizer.doubt)


class AllFailed(StoppingRule):
    """End the run once this many evaluations have all failed.

    Parameters
    ----------
    evaluations : int
        The number of evaluations.
    """

    def __init__(self, evaluations: int) -> None:
        self._evaluations = evaluations

    def __call__(self, optimizer: Optimizer) -> Ending | None:
        """Return why the run ends, None if it goes on."""
        if optimizer.best_x is not None or optimizer.evaluations < self._evaluations:
            return None
        return Ending.of_failures(optimizer.evaluations)


class EveryPoint(StoppingRule):
    """End the run once every point of a finite space was evaluated, and one of them twice.

    The second value shows that the function is not noisy.

    Parameters
    ----------
    size : float
        The number of points.
    memory : PointMemory
        Remembers those that were evaluated.
    """

    def __init__(self, size: float, memory: PointMemory) -> None:
        self._size, self._memory = size, memory

    def __call__(self, optimizer: Optimizer) -> Ending | None:
        """Return why the run ends, None if it goes on."""
        if self._memory.evaluated < self._size or not self._memory.confirmed:
            return None
        if optimizer.best_x is None:
            return Ending.of_failures(optimizer.evaluations)
        points = count(int(self._size), "point")
        return Ending(Status.SUCCESS, f"converged: all {points} of the space were evaluated")


class Converged(StoppingRule):
    """End the run once the optimizer has converged."""

    def __call__(self, optimizer: Optimizer) -> Ending | None:
        """Return why the run ends, None if it goes on."""
        if optimizer.best_x is None or not optimizer.converged:
            return None
        return Ending.converged(optimizer.doubt)


class Iterations(StoppingRule):
    """End the run after a number of iterations.

    Parameters
    ----------
    limit : int
        The largest number of iterations.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit

    def __call__(self, optimizer: Optimizer) -> Ending | None:
        """Return why the run ends, None if it goes on."""
        if optimizer.iterations < self._limit:
            return None
        message = f"the limit of {count(self._limit, 'iteration')} is reached"
        return Ending(Status.ITERATIONS, message)


class Time(StoppingRule):
    """End the run after a number of seconds, counted from the creation of the rule.

    Parameters
    ----------
    seconds : float
        The time limit.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds, self._started = seconds, time.monotonic()

    def __call__(self, optimizer: Optimizer) -> Ending | None:
        """Return why the run ends, None if it goes on."""
        if time.monotonic() - self._started < self._seconds:
            return None
        return Ending(Status.TIME, f"the time limit of {self._seconds:g} s is reached")


class Callback(StoppingRule):
    """End the run when the user's callback asks for it.

    Parameters
    ----------
    callback : callable
        Called after each batch, once a value was finite, as ``callback(intermediate_result)``, as
        ``callback(x, convergence)`` or as ``callback(xk)``. It ends the run if it returns a true
        value or raises StopIteration.
    space : FreeSpace
        The space of the problem: the callback sees all coordinates.

    Raises
    ------
    InvalidParameter
        If it is not callable, or takes other arguments.
    """

    def __init__(self, callback: Callable[..., object], space: FreeSpace) -> None:
        if not callable(callback):
            raise InvalidParameter(
                f"callback is {shortened(callback)}; expected a function of the run's state, or "
                "None",
                name="callback",
                value=callback,
            )
        self._call, self._space = _function_of_view(callback), space

    def __call__(self, optimizer: Optimizer) -> Ending | None:
        """Return why the run ends, None if it goes on."""
        if optimizer.best_x is None:
            return None
        view: Any = optimizer.view
        if self._space.names is not None or self._space.dimension < len(self._space.low):
            view = _FullView(view, self._space)
        try:
            returned = self._call(view)
        except StopIteration:
            returned = True
        try:
            stops = bool(returned)
        except ValueError:
            raise InvalidFeedback(
                f"callback returned {shortened(returned, 60)}; expected a true value to end the "
                "run, otherwise False or None"
            ) from None
        return Ending(Status.CALLBACK, "the callback ended the run") if stops else None


def _function_of_view(callback: Callable[..., object]) -> Callable[[RunView], object]:
    """Return the callback as a function of the state of the run."""
    try:
        parameters = list(inspect.signature(callback).parameters.values())
    except (TypeError, ValueError):  # of some built-in functions
        return callback
    names = [p.name for p in parameters]
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = sum(p.default is p.empty for p in positional)
    if not parameters or required > 2:
        raise InvalidParameter(
            f"callback is {shortened(callback)}; expected callback(intermediate_result) or "
            "callback(x, convergence)",
            name="callback",
            value=callback,
        )
    if "intermediate_result" in names:
        return lambda view: callback(intermediate_result=view)
    if "convergence" in names:
        return lambda view: callback(_copied(view.x), convergence=view.convergence)
    if required == 2:
        return lambda view: callback(_copied(view.x), view.convergence)
    if names == ["xk"]:
        return lambda view: callback(_copied(view.x))
    return callback


def _copied(x: Point | None) -> Point:
    """Return a copy of a point that the callback may change."""
    return dict(x) if isinstance(x, dict) else np.array(x)


class _FullView:
    """The view of a run over the free coordinates, with the fixed ones or the names filled in."""

    def __init__(self, view: RunView, space: FreeSpace) -> None:
        self._view, self._space = view, space

    def __repr__(self) -> str:
        return repr(self._view)

    def __getattr__(self, name: str) -> object:
        value = getattr(self._view, name)
        if name in ("x", "best", "population", "archive"):
            return None if value is None else self._space.point(self._space.full(value))
        return getattr(self._space, name) if name in ("low", "high") else value
