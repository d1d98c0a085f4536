"""The protocol of every optimizer: `ask` for points, `tell` their values, save and resume exactly.

A new optimizer is one class. It says which points to evaluate (`_propose`) and what it learns from
their values (`_learn`), and names the attributes that make up its state; counting evaluations,
keeping the best point, cutting the last batch to the budget, and saving belong to the base class.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from uaos.errors import InvalidFeedback
from uaos.optimizers.arguments import (
    box,
    generator,
    real_numbers,
    real_target,
    start_points,
    whole_budget,
)

Array = np.ndarray[Any, Any]


class Optimizer(ABC):
    """A minimizer of a black box that proposes batches of points and is told their values.

    Parameters
    ----------
    bounds : array_like, shape (D, 2)
        The box to search, as pairs (low, high).
    seed : int or numpy.random.Generator, optional
        Makes the run repeatable.
    budget : int, optional
        The largest number of evaluations; exact, the last batch is cut to fit.
    target : float, optional
        The run is done once a value at or below it has been told.
    x0 : array_like, optional
        One point or several, (m, D), to start from.
    history : bool
        Whether to record the course of the run.

    Attributes
    ----------
    evaluations : int
        Values told so far.
    iterations : int
        Batches told so far.
    best_x, best_fitness
        The best point so far and its value; None and inf before the first finite value.
    restarts : int
        Fresh starts so far.
    """

    #: The optimizer's name in the catalogue.
    name: ClassVar[str]
    #: The attributes that change during a run, beside those of this class. Values are numbers,
    #: strings, None, arrays, or lists and dicts of these.
    state_names: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        bounds: Any,
        *,
        seed: int | np.random.Generator | None = None,
        budget: int | None = None,
        target: float | None = None,
        x0: Any = None,
        history: bool = True,
    ) -> None:
        self.low, self.high = box(bounds)
        self.dimension = len(self.low)
        self.seed, self.rng = generator(seed)
        self.budget = whole_budget(budget)
        self.target = real_target(target)
        self.x0 = start_points(x0, self.low, self.high, "enforced")
        self.keeps_history = history
        self.evaluations = 0
        self.iterations = 0
        self.restarts = 0
        self.best_x: Array | None = None
        self.best_fitness = float("inf")
        self._asked: Array | None = None

    # What a subclass provides

    @abstractmethod
    def _propose(self) -> Array:
        """The points to evaluate next, (n, D) with n >= 1."""

    @abstractmethod
    def _learn(self, points: Array, values: Array) -> None:
        """Take in the values of the points of the last `_propose`; NaN is a failed evaluation.

        The last batch of a run may have been cut to the budget, so `points` can be shorter than
        what was proposed.
        """

    @property
    def converged(self) -> bool:
        """Whether the optimizer has nothing better to do than to start afresh."""
        return False

    # The loop

    def ask(self) -> Array:
        """Return the points to evaluate next, (n, D); the same again until they are told."""
        if self._asked is None:
            points = self._propose()
            if self.budget is not None:
                points = points[: max(0, self.budget - self.evaluations)]
            self._asked = points
        return self._asked

    def tell(self, values: Any) -> None:
        """Take in one value for each point of :meth:`ask`; NaN and infinities are failures."""
        points = self.ask()
        try:
            told = real_numbers(values)
        except (TypeError, ValueError) as error:
            raise InvalidFeedback(
                f"values must be real numbers, NaN where an evaluation failed: {error}. "
                "Nothing was changed"
            ) from error
        if told.shape != (len(points),):
            raise InvalidFeedback(
                f"values has shape {told.shape}; expected {(len(points),)}, one value for each "
                "point of ask(). Nothing was changed"
            )
        told[~np.isfinite(told)] = np.nan
        self._asked = None
        self.evaluations += len(told)
        self.iterations += 1
        self._note_best(points, told)
        self._learn(points, told)

    def _note_best(self, points: Array, values: Array) -> None:
        if len(values) == 0:
            return
        # Not nanargmin, which takes as long as all else that `tell` does.
        best = int(np.where(np.isnan(values), np.inf, values).argmin())
        if values[best] < self.best_fitness:
            self.best_fitness = float(values[best])
            self.best_x = points[best].copy()

    @property
    def on_target(self) -> bool:
        """Whether the target has been reached."""
        return self.target is not None and self.best_fitness <= self.target

    @property
    def done(self) -> bool:
        """Whether the budget is spent or the target reached."""
        return self.on_target or (self.budget is not None and self.evaluations >= self.budget)

    # Exact resume

    _BASE_STATE: ClassVar = ("evaluations", "iterations", "restarts", "best_x", "best_fitness")

    def state(self) -> dict[str, Any]:
        """Everything that changes during the run, as plain values and copies of arrays."""
        names = (*self._BASE_STATE, "_asked", *self.state_names)
        state = {name: _copied(getattr(self, name)) for name in names}
        state["rng"] = self.rng.bit_generator.state
        return state

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what :meth:`state` of an optimizer with the same settings returned."""
        for name in (*self._BASE_STATE, "_asked", *self.state_names):
            setattr(self, name, _copied(state[name]))
        self.rng.bit_generator.state = state["rng"]


def _copied(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, dict):
        return {key: _copied(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [_copied(v) for v in value]
    return value
