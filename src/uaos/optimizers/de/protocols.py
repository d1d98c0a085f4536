"""What the engine asks of the parts that it is given."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

if TYPE_CHECKING:
    from uaos.optimizers.de.view import EngineView

Array = np.ndarray[Any, Any]


class Selector(Protocol):
    """Chooses an operator for each parent, and hears what became of it.

    The generator that it was made with is shared with the engine: a selector must go on using that
    object after :meth:`restore`, not a copy of its own.
    """

    @property
    def probabilities(self) -> Array:
        """The current probability of each operator."""

    def select(self, n: int, /) -> Array:
        """An operator number for each of n parents."""

    def update(self, operators: Array, parent_fitness: Array, offspring_fitness: Array, /) -> None:
        """Learn from an evaluated generation."""

    def state(self) -> dict[str, Any]:
        """All that is needed to continue, as plain values and arrays."""

    def restore(self, state: dict[str, Any], /) -> None:
        """Continue from what :meth:`state` returned."""


#: `make_selector(n_operators, budget, rng)`; `budget`: evaluations after the first population.
SelectorFactory = Callable[[int, int | None, np.random.Generator], Selector]


class OnlyOne:
    """The selector of a pool of one operator: there is nothing to choose, and nothing to learn."""

    probabilities: Array = np.ones(1)

    def select(self, n: int, /) -> Array:
        """Operator 0, n times."""
        return np.zeros(n, np.int64)

    def update(self, operators: Array, parent_fitness: Array, offspring_fitness: Array, /) -> None:
        """Nothing to learn."""

    def state(self) -> dict[str, Any]:
        """Nothing to keep."""
        return {}

    def restore(self, state: dict[str, Any], /) -> None:
        """Nothing to continue."""


@runtime_checkable
class OwnOperator(Protocol):
    """A user's own operator: any object with a `name` and a method `propose`.

    It may also have `learn(state, parents, offspring, fitness, improved)`, called with the outcome
    before the parents are replaced, and, if it remembers anything between generations, `state()`
    and `restore(state)` (plain values and arrays), so that a saved run continues exactly.
    """

    name: str

    def propose(self, state: "EngineView", parents: Array, rng: np.random.Generator) -> Array:
        """One offspring for each of `parents` (indices into the population): (len(parents), D)."""
