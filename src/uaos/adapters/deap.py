"""DEAP: a toolbox whose `mate` and `mutate` choose among several operators.

    toolbox.register("mate", tools.cxTwoPoint)
    toolbox.register("mutate", tools.mutFlipBit, indpb=0.05)

becomes, with each operator registered under its own name,

    from uaos.adapters.deap import adaptive
    variation = adaptive(toolbox, mate=["one_point", "two_point"], mutate=["flip", "shuffle"])

DEAP's varAnd, varOr, eaSimple, eaMuPlusLambda and eaMuCommaLambda, and similar loops, take their
operators from the toolbox and need no change.
"""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from uaos.adapters.credit import DEFAULT, Application, Credit, MethodLike, best
from uaos.errors import InvalidFeedback, InvalidParameter
from uaos.extras import MissingExtra

try:
    from deap.base import Toolbox
except ImportError as error:
    raise MissingExtra("uaos.adapters.deap", "deap", "deap") from error

#: An operator: a function as DEAP's, or the name it is registered by in the toolbox.
OperatorLike = str | Callable[..., Any]


def adaptive(
    toolbox: Toolbox,
    *,
    mate: Sequence[OperatorLike] | None = None,
    mutate: Sequence[OperatorLike] | None = None,
    method: MethodLike | Mapping[str, MethodLike] = DEFAULT,
    budget: int | None = None,
) -> "Variation":
    """Register adaptive `mate` and `mutate` operators in a toolbox.

    Parameters
    ----------
    toolbox : deap.base.Toolbox
        The toolbox.
    mate, mutate : sequence of callable or str, optional
        Operators to choose from, or their names in the toolbox. A slot that is not given keeps the
        operator of the toolbox.
    method : Method, str, path, or mapping
        One method for both slots, or a mapping such as ``{"mate": "SaDE", "mutate": "RecPM"}``.
    budget : int, optional
        Number of offspring, for methods that change toward the end of a run.

    Returns
    -------
    Variation
        What is learned, in its attribute `credit`.

    Examples
    --------
    >>> from deap import base, tools
    >>> from uaos.adapters.deap import adaptive
    >>> variation = adaptive(base.Toolbox(), mate=[tools.cxOnePoint, tools.cxTwoPoint])
    >>> variation.credit.probabilities
    {'mate': {'cxOnePoint': 0.5, 'cxTwoPoint': 0.5}}
    """
    slots: dict[str, list[Callable[..., Any]]] = {}
    names: dict[str, list[str]] = {}
    for slot, given in (("mate", mate), ("mutate", mutate)):
        if given is None and not hasattr(toolbox, slot):
            continue
        operators = [getattr(toolbox, slot)] if given is None else list(given)
        slots[slot] = [_operator(toolbox, o, slot) for o in operators]
        names[slot] = [_name(o) for o in operators]
    variation = Variation(slots, Credit(names, method, fitness_of, budget))
    for slot in slots:
        toolbox.register(slot, getattr(variation, slot))
    return variation


class Variation:
    """Adaptive operators of a toolbox. Made by :func:`adaptive`.

    The selectors are seeded from Python's `random`, like everything in DEAP: after `random.seed` a
    run is repeatable if it starts with a new :func:`adaptive` or with :meth:`restart`. In a
    checkpoint, store `credit` beside the population and the random state, and assign it to resume.

    Parameters
    ----------
    operators : mapping of str to list of callable
        The operators of each slot.
    credit : Credit
        What is learned about them.
    """

    def __init__(self, operators: Mapping[str, list[Callable[..., Any]]], credit: Credit) -> None:
        self._operators = dict(operators)
        self._credit = credit
        # The pending applications by the identity of their offspring, which they keep alive.
        self._of: dict[int, Application] = {}

    @property
    def credit(self) -> Credit:
        """What was learned; up to date once the offspring are evaluated."""
        self._catch_up()
        return self._credit

    @credit.setter
    def credit(self, credit: Credit) -> None:
        self._credit, self._of = credit, {}

    def restart(self) -> None:
        """Reset what was learned, to start a new run."""
        self._of = {}
        # Where there is nothing to select, DEAP's own sequence of random numbers is left alone.
        seed = random.getrandbits(64) if self._credit.selectors else 0
        self._credit.start(np.random.default_rng(seed))

    def mate(self, *parents: Any) -> tuple[Any, ...]:
        """Return offspring of the parents by the selected operator, without fitness."""
        return self._vary("mate", parents)

    def mutate(self, parent: Any) -> tuple[Any, ...]:
        """Return the individual changed by the selected operator, without fitness."""
        return self._vary("mutate", (parent,))

    def _vary(self, slot: str, parents: tuple[Any, ...]) -> tuple[Any, ...]:
        self._catch_up()
        if self._credit.rng is None:
            self.restart()
        applied = (slot, int(self._credit.choose(slot)[0]))
        # What was varied before in this generation has no fitness, but its parents had.
        earlier = [self._of.pop(id(p), None) for p in parents]
        known = [
            fitness_of(p) if a is None else a.parent for p, a in zip(parents, earlier, strict=True)
        ]
        offspring = tuple(self._operators[slot][applied[1]](*parents))
        for child, before in zip_longest(offspring, earlier[: len(offspring)]):
            del child.fitness.values
            if before is not None:
                before.offspring, before.parent = child, best(known)
                before.operators.append(applied)
            elif any(fitness is not None for fitness in known):
                before = self._credit.note(child, best(known), applied)
            if before is not None:
                self._of[id(child)] = before
        return offspring

    def _catch_up(self) -> None:
        """Settle once the host has evaluated: the oldest or the newest of what is pending says so.

        In DEAP's loops all variation of a generation comes before all evaluation.
        """
        pending = self._credit.pending
        if pending and (self._credit.known(pending[0]) or self._credit.known(pending[-1])):
            self._credit.settle()
            self._of = {}

    def __getstate__(self) -> dict[str, Any]:
        """Identities do not survive pickling."""
        return self.__dict__ | {"_of": {}}


def fitness_of(individual: Any) -> float | None:
    """The fitness as DEAP compares it, negated: smaller is better, whatever the weight's sign.

    Inf for one that violates constraints (of DEAP's `ConstrainedFitness`), None before evaluation.
    """
    fitness = individual.fitness
    if len(fitness.weights) != 1:
        raise InvalidFeedback(
            f"the fitness has {len(fitness.weights)} weights; operators are credited with a single "
            "objective, so it must have one"
        )
    if fitness.valid:
        return -float(fitness.wvalues[0])
    return math.inf if getattr(fitness, "constraint_violation", None) is not None else None


def _operator(toolbox: Toolbox, given: OperatorLike, slot: str) -> Callable[..., Any]:
    operator = getattr(toolbox, given, None) if isinstance(given, str) else given
    if not callable(operator):
        allowed = "functions, or names of operators that the toolbox has"
        raise InvalidParameter(slot, given, allowed)
    return operator


def _name(operator: OperatorLike) -> str:
    if isinstance(operator, str):
        return operator
    plain = getattr(operator, "func", operator)
    return str(getattr(plain, "__name__", type(plain).__name__))
