"""Credit assignment: which operators were applied to which parents, with which outcome.

All adapters share this bookkeeping. An adapter asks which operator to apply, notes the application,
and settles it once the host has evaluated the offspring.
"""

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

import numpy as np

from uaos.arrays import IntArray
from uaos.errors import InvalidParameter
from uaos.optimizers import catalogue
from uaos.params import known_only
from uaos.selection.method import Method
from uaos.selection.selector import Selector

#: The default method; docs/adapters.md gives the reasons.
DEFAULT = "PDP"

#: A method, its name in the catalogue, or a TOML file.
MethodLike: TypeAlias = Method | str | os.PathLike[str]


#: What the host calls an individual or a solution.
Offspring = TypeVar("Offspring")


@dataclass
class Application(Generic[Offspring]):
    """The operators that led from one parent to one offspring.

    Attributes
    ----------
    offspring
        The host's object, whose fitness is read once it has been evaluated.
    parent : float
        The fitness of the parent.
    operators : list of (str, int)
        The slots involved, each with the number of the operator applied there.
    """

    offspring: Offspring
    parent: float
    operators: list[tuple[str, int]]


class Slot:
    """A step of an algorithm at which one of several operators is applied, with its selector.

    A slot with a single operator has no selector.
    """

    def __init__(self, names: Sequence[str], method: Method, budget: int | None) -> None:
        self.names = _distinct(names)
        self.method = method
        self.budget = budget
        self.start(np.random.default_rng())

    def start(self, rng: np.random.Generator) -> None:
        """Forget what was learned, and draw from `rng`."""
        self.counts = np.zeros(len(self.names), dtype=np.int64)
        self.selector: Selector | None = None
        if len(self.names) > 1:
            self.selector = self.method.selector(len(self.names), seed=rng, budget=self.budget)

    def choose(self, n: int) -> IntArray:
        """Return the operators of the next `n` applications."""
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


class Credit(Generic[Offspring]):
    """Assign credit to the operators of all slots of an algorithm.

    Parameters
    ----------
    slots : mapping of str to sequence of str
        The names of the operators of each slot.
    method : Method, str, path, or mapping
        One method for all slots, or a mapping from slots to methods.
    fitness : callable
        Returns the fitness of an offspring, smaller is better; inf if it failed, None if it has not
        been evaluated.
    budget : int, optional
        Number of applications, for methods that change toward the end of a run.

    Examples
    --------
    >>> from uaos.adapters.credit import Credit
    >>> credit = Credit({"move": ["swap", "insert"]}, "SaDE", fitness=lambda tour: sum(tour))
    >>> application = credit.note([1, 2], 5.0, ("move", 0))  # a swap made it from a parent of 5
    >>> credit.settle()
    >>> credit.counts
    {'move': {'swap': 1, 'insert': 0}}
    """

    def __init__(
        self,
        slots: Mapping[str, Sequence[str]],
        method: MethodLike | Mapping[str, MethodLike],
        fitness: Callable[[Offspring], float | None],
        budget: int | None = None,
    ) -> None:
        methods = method if isinstance(method, Mapping) else dict.fromkeys(slots, method)
        known_only(methods, slots, "method")
        self.slots = {
            slot: Slot(names, resolve_method(methods.get(slot, DEFAULT)), budget)
            for slot, names in slots.items()
        }
        self.pending: list[Application[Offspring]] = []
        self._fitness = fitness
        self.rng: np.random.Generator | None = None

    def start(self, rng: np.random.Generator) -> None:
        """Start a run: forget what was learned and what is pending, and draw from `rng`."""
        self.pending = []
        self.rng = rng
        for slot in self.slots.values():
            slot.start(rng)

    def follow(self, rng: np.random.Generator) -> None:
        """Draw from `rng` from now on, and keep what was learned."""
        if self.rng is None:
            self.start(rng)
        elif self.rng is not rng:
            self.rng = rng
            for slot in self.slots.values():
                if slot.selector is not None:
                    slot.selector.rng = rng

    def choose(self, slot: str, n: int = 1) -> IntArray:
        """Return the operators of the next `n` applications in a slot."""
        return self.slots[slot].choose(n)

    def note(
        self, offspring: Offspring, parent: float, *operators: tuple[str, int]
    ) -> Application[Offspring]:
        """Remember how an offspring was made until its fitness is known."""
        application = Application(offspring, parent, list(operators))
        self.pending.append(application)
        return application

    def settle(self) -> None:
        """Learn from the noted applications as one generation; drop those not evaluated."""
        settled, self.pending = self.pending, []
        learned: dict[str, list[tuple[int, float, float]]] = {slot: [] for slot in self.slots}
        for application in settled:
            outcome = self._fitness(application.offspring)
            if outcome is not None:
                for slot, operator in application.operators:
                    learned[slot].append((operator, application.parent, outcome))
        for slot, rows in learned.items():
            if rows:
                self.slots[slot].learn(*zip(*rows, strict=True))

    def is_evaluated(self, application: Application[Offspring]) -> bool:
        """Return whether the offspring of an application has been evaluated."""
        return self._fitness(application.offspring) is not None

    @property
    def selectors(self) -> dict[str, Selector]:
        """Return the selectors by slot; slots with a single operator have none."""
        return {s: slot.selector for s, slot in self.slots.items() if slot.selector is not None}

    @property
    def probabilities(self) -> dict[str, dict[str, float]]:
        """Return the probability of each operator of each slot, by name."""
        by_slot = {}
        for name, slot in self.slots.items():
            chances = [1.0] if slot.selector is None else slot.selector.probabilities.tolist()
            by_slot[name] = dict(zip(slot.names, chances, strict=True))
        return by_slot

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """Return the number of evaluated applications of each operator, by slot and name."""
        counts = {name: slot.counts.copy() for name, slot in self.slots.items()}
        for application in filter(self.is_evaluated, self.pending):
            for slot, operator in application.operators:
                counts[slot][operator] += 1
        return {
            name: dict(zip(self.slots[name].names, row.tolist(), strict=True))
            for name, row in counts.items()
        }


def resolve_method(method: MethodLike) -> Method:
    """Return the method that a name, a file or a method stands for."""
    if isinstance(method, Method):
        return method
    if isinstance(method, str | os.PathLike):
        return catalogue.method(os.fspath(method))
    raise InvalidParameter(
        "method must be a uaos.Method, a name of the catalogue, a TOML file, or a mapping of slots "
        f"to these, not {method!r}",
        name="method", value=method,
    )  # fmt: skip


def best(fitness: Sequence[float | None]) -> float:
    """Return the best fitness of several parents; inf if none is finite."""
    return min((f for f in fitness if f is not None and np.isfinite(f)), default=np.inf)


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Make the names of operators unique: the second SBX becomes "SBX 2"."""
    if not names:
        message = "the list of operators is empty; pass one or more, or two or more to select from"
        raise InvalidParameter(message, name="operators", value=list(names))
    seen: Counter[str] = Counter()
    distinct = []
    for name in names:
        seen[name] += 1
        distinct.append(name if seen[name] == 1 else f"{name} {seen[name]}")
    return tuple(distinct)
