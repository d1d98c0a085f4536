"""What a user's operator or callback sees of a run: the same arrays, but not to be written to."""

from typing import TYPE_CHECKING

import numpy as np

from uaos.optimizers.de import layout
from uaos.optimizers.de.protocols import Array

if TYPE_CHECKING:
    from uaos.optimizers.de.engine import Engine


def read_only(array: Array) -> Array:
    """A view of `array` that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


class EngineView:
    """A look at a run as it is now. Copy what you want to keep: later generations overwrite it."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine

    @property
    def population(self) -> Array:
        """The parents, (NP, D)."""
        return read_only(self._engine._rows[: self._engine.NP])

    @property
    def fitness(self) -> Array:
        """The parents' fitness, +inf where the evaluation failed."""
        return read_only(self._engine._fitness)

    @property
    def best(self) -> Array:
        """The point that the strategies call x_best."""
        return read_only(self._engine._rows[self._engine.best_index])

    @property
    def archive(self) -> Array:
        """Parents that lost to their offspring, (m, D)."""
        start = self._engine.NP_start
        count = int(self._engine._counters[layout.ARCHIVED])
        return read_only(self._engine._rows[start : start + count])

    @property
    def low(self) -> Array:
        """Lower bounds."""
        return read_only(self._engine.low)

    @property
    def high(self) -> Array:
        """Upper bounds."""
        return read_only(self._engine.high)

    @property
    def evaluations(self) -> int:
        """Evaluations spent."""
        return self._engine.evaluations

    @property
    def generation(self) -> int:
        """Generations completed."""
        return self._engine.generation

    @property
    def restarts(self) -> int:
        """Restarts so far."""
        return self._engine.restarts

    @property
    def operators(self) -> tuple[str, ...]:
        """The operators' names."""
        return self._engine.pool.names

    @property
    def probabilities(self) -> Array:
        """The operators' current probabilities."""
        return read_only(np.asarray(self._engine.probabilities))

    @property
    def x(self) -> Array | None:
        """The best point of the whole run, None before any evaluation succeeded."""
        return None if self._engine.best_x is None else read_only(self._engine.best_x)

    @property
    def fun(self) -> float:
        """The best fitness of the whole run, +inf before any evaluation succeeded."""
        return self._engine.best_fitness
