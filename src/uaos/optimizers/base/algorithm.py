"""What an algorithm defines: two methods, and answers to questions that have a default."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from uaos.arrays import FloatArray
from uaos.optimizers.base.settings import OptimizerSettings
from uaos.statefile import Stateful


class Algorithm(Stateful, ABC):
    """Part of an optimizer that each algorithm defines for itself.

    `_propose` and `_learn` are the algorithm. Everything else may be left as it is; an algorithm
    overrides what it can answer better. Derive from :class:`uaos.Optimizer`, which adds the rest.

    Examples
    --------
    >>> import uaos
    >>> class RandomSearch(uaos.Optimizer):
    ...     name = "random-search"
    ...     def _propose(self):
    ...         return self.rng.uniform(self.low, self.high, (4, self.dimension))
    ...     def _learn(self, points, values):
    ...         pass
    >>> run = RandomSearch([(-5, 5)] * 2, seed=1, budget=10)
    >>> while not run.done:
    ...     run.tell([float(x @ x) for x in run.ask()])
    >>> run.evaluations, run.iterations
    (10, 3)
    """

    #: The optimizer's name in the catalogue.
    name: ClassVar[str]
    #: The publication it is described in.
    reference: ClassVar[str] = ""
    #: The class of its settings.
    settings_class: ClassVar[type[OptimizerSettings]] = OptimizerSettings
    #: The attributes that change during a run, beside those of the base classes. Values are
    #: numbers, strings, None, arrays, lists and dicts of these, or objects with methods `state`
    #: and `restore`.
    state_names: ClassVar[tuple[str, ...]] = ()
    #: The attributes that `_propose` leaves for `_learn`.
    batch_names: ClassVar[tuple[str, ...]] = ()
    #: Features beside bounds that it supports: "constraints" (`violations` in `_learn`),
    #: "integrality", "categories" (integers without an order), "noise", and "outliers"
    #: (`start_over`).
    handles: ClassVar[tuple[str, ...]] = ()
    #: Whether it takes a method, which selects among its operators or members.
    selects: ClassVar[bool] = False
    #: Whether it selects without being given a method, too.
    always_selects: ClassVar[bool] = False
    #: Whether the points of `x0` are one batch, the first.
    starts_together: ClassVar[bool] = False
    #: Settings with which a run ends instead of restarting.
    single_run: ClassVar[Mapping[str, str]] = MappingProxyType({})
    #: Whether the catalogue lists it with its default settings.
    listed: ClassVar[bool] = True
    #: Whether its points lie inside the box, or outside only where that is allowed. If not, `ask`
    #: checks them.
    keeps_inside: ClassVar[bool] = False
    #: The section of a configuration file with its settings; "optimizer" has the name, too.
    section: ClassVar[str] = "optimizer"

    # The search

    def _start(self) -> None:
        """Prepare the run: set what `_propose` and `_learn` need."""
        return

    @abstractmethod
    def _propose(self) -> FloatArray:
        """Return the points to evaluate next, (n, D) with n >= 1, inside the bounds."""

    @abstractmethod
    def _learn(self, points: FloatArray, values: FloatArray) -> None:
        """Take in the values of the points of the last `_propose`; NaN is a failed evaluation.

        The last batch of a run may have been cut to the budget, so `points` can be shorter than
        what was proposed.
        """

    @property
    def wants_gradients(self) -> bool:
        """True if gradients at the points of the present batch would be of use."""
        return False

    @property
    def epsilon(self) -> float:
        """Violation up to which points count as feasible at present.

        Infinity means that the value of the function is needed at every point.
        """
        return 0.0

    @property
    def capacity(self) -> int | None:
        """Number of starting points that fit in the first batch; None if there is no limit."""
        return None

    # Convergence

    @property
    def converged(self) -> bool:
        """True if a restart is all that is left to do."""
        return False

    @property
    def convergence(self) -> float:
        """Closeness to convergence: above 1 once the run has converged."""
        return 2.0 if self.converged else 0.0

    @property
    def confirmed(self) -> bool:
        """True if independent starts have led to the best value."""
        return False

    @property
    def steady(self) -> bool:
        """True if the first run has not ended, and goes on as well as expected."""
        return False

    @property
    def doubt(self) -> str:
        """Reason why convergence does not count as success; empty if it does.

        Convergence counts if it shows an optimum: a population of equal values, a point from which
        no direction leads down, or searches that agree.
        """
        return ""

    # Selection among operators or members

    @classmethod
    def needs_method(cls, settings: OptimizerSettings) -> bool:
        """Return whether a run with these settings has to be given a method."""
        return False

    @property
    def operators(self) -> tuple[str, ...]:
        """Names of the alternatives among which the run selects, if it does."""
        return ()

    @property
    def probabilities(self) -> FloatArray:
        """Current probabilities of the alternatives."""
        return np.zeros(0)

    # Noise, and values that are off

    @property
    def rivals(self) -> int:
        """Number of searches in this run; the first candidates are those of each."""
        return 1

    def credit(self, estimates: FloatArray) -> None:
        """Take in estimates of the first candidates, one of each search: means plus errors."""
        return

    def start_over(self, x: FloatArray, value: float) -> None:
        """Forget all values so far, some of which are wrong, except that of a point.

        Optimizers that can do so list "outliers" in `handles`.
        """
        raise NotImplementedError

    def start_near(self, points: FloatArray) -> None:
        """Take in the latest points of the search that this one is to go on with, (n, D)."""
        return

    # Several batches at a time

    @property
    def overlaps(self) -> bool:
        """True if it can propose another batch now, before the values of the last one are told."""
        return False

    def foresee(self) -> FloatArray | None:
        """Return a point that it may ask for once the values of its last batch are told, or None.

        Each call returns another one, the most probable one first. Workers that would be idle
        evaluate them in advance.
        """
        return None

    def expect(self, workers: int) -> None:
        """Prepare for this many points at a time, before the first is asked for."""
        return
