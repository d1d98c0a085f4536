"""Credit: which operators were applied to whom, and what came of it.

The bookkeeping that the hosts have in common. An adapter asks which operator to apply, notes the
application, and settles when the host has evaluated the offspring.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uaos.errors import InvalidParameter
from uaos.optimizers import catalogue
from uaos.params import known_only
from uaos.selection.method import Method
from uaos.selection.selector import Selector

#: The method that adapts where none is named; docs/adapters.md says why.
DEFAULT = "SaDE"

#: A method, its name in the catalogue, or a TOML file.
MethodLike = Method | str | os.PathLike[str]


@dataclass
class Application:
    """The operators on the way from one parent to one offspring: pairs of slot and number.

    `offspring` is the host's own object, whose fitness is asked for when it is known.
    """

    offspring: Any
    parent: float
    operators: list[tuple[str, int]]


class Slot:
    """A place of an algorithm where one of several operators is applied, with its selector.

    Where there is a single operator, there is nothing to select and nothing to learn.
    """

    def __init__(self, names: Sequence[str], method: Method, budget: int | None) -> None:
        self.names = _distinct(names)
        self.method = method
        self.budget = budget
        self.start(np.random.default_rng())

    def start(self, rng: np.random.Generator) -> None:
        """Forget what was learnt, and draw from `rng`."""
        self.counts = np.zeros(len(self.names), dtype=np.int64)
        self.selector = self._selector(rng)

    def _selector(self, rng: np.random.Generator) -> Selector | None:
        if len(self.names) < 2:
            return None
        return self.method.selector(len(self.names), seed=rng, budget=self.budget)

    def choose(self, n: int) -> NDArray[np.int64]:
        """The operators of the next `n` applications."""
        if self.selector is None:
            return np.zeros(n, dtype=np.int64)
        return self.selector.select(n)

    def learn(
        self, operators: Sequence[int], parents: Sequence[float], offspring: Sequence[float]
    ) -> None:
        """Learn from one generation of applications."""
        self.counts += np.bincount(np.asarray(operators, dtype=np.int64), minlength=len(self.names))
        if self.selector is not None:
            self.selector.update(operators, parents, offspring)

    def __getstate__(self) -> dict[str, Any]:
        """A selector at work holds compiled equations, which cannot be pickled: its state can.

        The generator goes as the object it is, so that copying a whole algorithm keeps it shared.
        """
        state = self.__dict__.copy()
        selector = state.pop("selector")
        state["at_work"] = None if selector is None else (selector.rng, selector.state())
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        at_work = state.pop("at_work")
        self.__dict__.update(state)
        self.selector = None
        if at_work is not None:
            rng, learnt = at_work
            self.selector = self.method.selector(len(self.names), seed=rng, budget=self.budget)
            self.selector.restore(learnt)


class Credit:
    """The slots of an algorithm, and the applications whose outcome is not known yet.

    `slots` gives the names of each slot's operators. `method` is one for all slots, or a mapping
    from slots to methods. `fitness` tells the fitness of an offspring, smaller being better: inf if
    it failed, None if it has not been evaluated.
    """

    def __init__(
        self,
        slots: Mapping[str, Sequence[str]],
        method: MethodLike | Mapping[str, MethodLike],
        fitness: Callable[[Any], float | None],
        budget: int | None = None,
    ) -> None:
        chosen = method if isinstance(method, Mapping) else dict.fromkeys(slots, method)
        known_only(chosen, slots, "method")
        self.slots = {
            slot: Slot(names, resolved(chosen.get(slot, DEFAULT)), budget)
            for slot, names in slots.items()
        }
        self.pending: list[Application] = []
        self._fitness = fitness
        self.rng: np.random.Generator | None = None

    def start(self, rng: np.random.Generator) -> None:
        """Begin a run: forget what was learnt and what is pending, and draw from `rng`."""
        self.pending = []
        self.rng = rng
        for slot in self.slots.values():
            slot.start(rng)

    def follow(self, rng: np.random.Generator) -> None:
        """Draw from `rng` from now on, and keep what was learnt."""
        if self.rng is None:
            self.start(rng)
        elif self.rng is not rng:
            self.rng = rng
            for slot in self.slots.values():
                if slot.selector is not None:
                    slot.selector.rng = rng

    def choose(self, slot: str, n: int = 1) -> NDArray[np.int64]:
        """The operators of the next `n` applications in a slot."""
        return self.slots[slot].choose(n)

    def note(self, offspring: Any, parent: float, *operators: tuple[str, int]) -> Application:
        """Remember how an offspring was made until its fitness is known."""
        application = Application(offspring, parent, list(operators))
        self.pending.append(application)
        return application

    def settle(self) -> None:
        """Learn from what was noted: one generation. What has not been evaluated is forgotten."""
        settled, self.pending = self.pending, []
        learnt: dict[str, list[tuple[int, float, float]]] = {slot: [] for slot in self.slots}
        for application in settled:
            outcome = self._fitness(application.offspring)
            if outcome is not None:
                for slot, operator in application.operators:
                    learnt[slot].append((operator, application.parent, outcome))
        for slot, rows in learnt.items():
            if rows:
                self.slots[slot].learn(*zip(*rows, strict=True))

    def known(self, application: Application) -> bool:
        """Whether the offspring of an application has been evaluated."""
        return self._fitness(application.offspring) is not None

    @property
    def selectors(self) -> dict[str, Selector]:
        """The selectors at work, by slot; slots with a single operator have none."""
        return {s: slot.selector for s, slot in self.slots.items() if slot.selector is not None}

    @property
    def probabilities(self) -> dict[str, dict[str, float]]:
        """The chance of each operator of each slot, by name."""
        shown = {}
        for name, slot in self.slots.items():
            chances = [1.0] if slot.selector is None else slot.selector.probabilities.tolist()
            shown[name] = dict(zip(slot.names, chances, strict=True))
        return shown

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """How many applications of each operator of each slot came to an outcome, by name."""
        counts = {name: slot.counts.copy() for name, slot in self.slots.items()}
        for application in filter(self.known, self.pending):
            for slot, operator in application.operators:
                counts[slot][operator] += 1
        return {
            name: dict(zip(self.slots[name].names, row.tolist(), strict=True))
            for name, row in counts.items()
        }


def resolved(method: MethodLike) -> Method:
    """The method that was meant."""
    if isinstance(method, Method):
        return method
    if isinstance(method, str | os.PathLike):
        return catalogue.method(os.fspath(method))
    allowed = "a uaos.Method, a name of the catalogue, a TOML file, or a mapping of slots to these"
    raise InvalidParameter("method", method, allowed)


def best(fitness: Sequence[float | None]) -> float:
    """The best of several parents; inf if none has a finite fitness."""
    return min((f for f in fitness if f is not None and np.isfinite(f)), default=np.inf)


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Names to tell the operators apart: the second SBX becomes "SBX 2"."""
    if not names:
        raise InvalidParameter("operators", list(names), "one or more; two or more to select from")
    seen: dict[str, int] = {}
    distinct = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        distinct.append(name if seen[name] == 1 else f"{name} {seen[name]}")
    return tuple(distinct)
