"""Selectors that are no methods: a class of a user's file, replayed on recorded runs."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from uaos.arrays import FloatArray, IntArray
from uaos.errors import InvalidComponent, shortened
from uaos.loading import load_file


@dataclass(frozen=True)
class OwnSelector:
    """A class that selects operators, in the place of a method in a replay.

    Attributes
    ----------
    create : callable
        Returns a selector for a number of operators, a random generator, and a number of offspring.
        A selector has `select` and `update` like :class:`uaos.Selector`.

    Examples
    --------
    >>> import numpy as np
    >>> from uaos.scenarios import OwnSelector, traces
    >>> class Favorite:
    ...     def __init__(self, n_operators, rng, budget):
    ...         self.best = 0
    ...     def select(self, n):
    ...         return np.full(n, self.best)
    ...     def update(self, operators, parent_fitness, offspring_fitness):
    ...         self.best = operators[np.argmax(parent_fitness - offspring_fitness)]
    >>> scores = traces.score(OwnSelector(Favorite), traces.load("nine"))
    >>> scores.shape
    (48,)
    """

    create: Callable[[int, np.random.Generator, int], Any]

    @classmethod
    def load(cls, name: str) -> "OwnSelector":
        """Return the class that "FILE.py:CLASS" names."""
        file, _, title = name.rpartition(":")
        create = getattr(load_file(Path(file)), title, None)
        missing = [part for part in ("select", "update") if not hasattr(create, part)]
        if missing:
            raise InvalidComponent(
                f"{name} lacks {' and '.join(missing)}; expected a class with select(n) and "
                "update(operators, parent_fitness, offspring_fitness)"
            )
        assert create is not None
        return cls(create)

    def selector(
        self, n_operators: int, *, seed: np.random.Generator, budget: int
    ) -> "_CheckedSelector":
        """Return a new selector for a run."""
        return _CheckedSelector(self.create(n_operators, seed, budget), n_operators)


class _CheckedSelector:
    """A selector whose choices are checked."""

    def __init__(self, selector: Any, n_operators: int) -> None:
        self._selector, self._n_operators = selector, n_operators

    def select(self, n: int) -> IntArray:
        """Return the operators that the selector chooses."""
        chosen = self._selector.select(n)
        operators = np.asarray(chosen)
        valid = operators.shape == (n,) and operators.dtype.kind in "iu"
        if not valid or operators.min() < 0 or operators.max() >= self._n_operators:
            raise InvalidComponent(
                f"select({n}) of {type(self._selector).__name__} returned {shortened(chosen)}; "
                f"expected {n} integers from 0 to {self._n_operators - 1}"
            )
        return operators.astype(np.int64)

    def learn(self, operators: IntArray, parents: FloatArray, offspring: FloatArray) -> None:
        """Tell the selector what its choices achieved."""
        self._selector.update(operators, parents, offspring)
