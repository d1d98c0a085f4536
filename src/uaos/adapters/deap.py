"""DEAP: a toolbox whose `mate` and `mutate` choose among several operators.

    toolbox.register("mate", tools.cxTwoPoint)
    toolbox.register("mutate", tools.mutFlipBit, indpb=0.05)

becomes, with each operator registered under its own name,

    from uaos.adapters.deap import adaptive
    variation = adaptive(toolbox, mate=["one_point", "two_point"], mutate=["flip", "shuffle"])

DEAP's varAnd, varOr, eaSimple, eaMuPlusLambda and eaMuCommaLambda, and similar loops, take their
operators from the toolbox and need no change.
"""

import inspect
import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Protocol, TypeAlias

import numpy as np

from uaos.adapters.credit import DEFAULT, Application, Credit, MethodLike, best
from uaos.errors import InvalidFeedback, InvalidParameter
from uaos.extras import MissingExtra

try:
    from deap.base import Toolbox
except ImportError as error:
    raise MissingExtra("uaos.adapters.deap", "deap", "deap") from error


class Fitness(Protocol):
    """The part of DEAP's fitness that is used here."""

    weights: Sequence[float]
    wvalues: Sequence[float]
    values: Sequence[float]
    valid: bool


class Individual(Protocol):
    """An individual of DEAP: any object with a fitness."""

    fitness: Fitness


#: An operator of DEAP: it takes individuals, and returns as many or fewer.
Operator: TypeAlias = Callable[..., Sequence[Individual]]

#: An operator, or the name under which the toolbox knows it.
OperatorLike: TypeAlias = str | Operator


def adaptive(
    toolbox: Toolbox,
    *,
    mate: Sequence[OperatorLike] | None = None,
    mutate: Sequence[OperatorLike] | None = None,
    method: MethodLike | Mapping[str, MethodLike] = DEFAULT,
    budget: int | None = None,
) -> "AdaptiveVariation":
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
    AdaptiveVariation
        Its attribute `credit` holds what is learned.

    Raises
    ------
    InvalidParameter
        If `mate` or `mutate` is not a list, or contains what cannot be called with two individuals,
        or with one.

    Examples
    --------
    >>> from deap import base, tools
    >>> from uaos.adapters.deap import adaptive
    >>> variation = adaptive(base.Toolbox(), mate=[tools.cxOnePoint, tools.cxTwoPoint])
    >>> variation.credit.probabilities
    {'mate': {'cxOnePoint': 0.5, 'cxTwoPoint': 0.5}}
    """
    slots: dict[str, list[Operator]] = {}
    names: dict[str, list[str]] = {}
    for slot, candidates in (("mate", mate), ("mutate", mutate)):
        if candidates is None and not hasattr(toolbox, slot):
            continue
        operators = [getattr(toolbox, slot)] if candidates is None else _as_list(candidates, slot)
        slots[slot] = [_operator(toolbox, o, slot) for o in operators]
        names[slot] = [_name(o) for o in operators]
    variation = AdaptiveVariation(slots, Credit(names, method, fitness_of, budget))
    for slot in slots:
        toolbox.register(slot, getattr(variation, slot))
    return variation


class AdaptiveVariation:
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

    def __init__(self, operators: Mapping[str, list[Operator]], credit: Credit[Individual]) -> None:
        self._operators = dict(operators)
        self._credit = credit
        # The pending applications by the id of their offspring, which they keep alive.
        self._pending_by_id: dict[int, Application[Individual]] = {}

    @property
    def credit(self) -> Credit[Individual]:
        """Return what was learned; it is up to date once the offspring are evaluated."""
        self._catch_up()
        return self._credit

    @credit.setter
    def credit(self, credit: Credit[Individual]) -> None:
        self._credit, self._pending_by_id = credit, {}

    def restart(self) -> None:
        """Forget what was learned, to start a new run."""
        self._pending_by_id = {}
        # Without a choice to make, leave the sequence of Python's random numbers unchanged.
        seed = random.getrandbits(64) if self._credit.selectors else 0
        self._credit.start(np.random.default_rng(seed))

    def mate(self, *parents: Individual) -> tuple[Individual, ...]:
        """Return offspring of the parents by the selected operator, without fitness."""
        return self._vary("mate", parents)

    def mutate(self, parent: Individual) -> tuple[Individual, ...]:
        """Return the individual changed by the selected operator, without fitness."""
        return self._vary("mutate", (parent,))

    def _vary(self, slot: str, parents: tuple[Individual, ...]) -> tuple[Individual, ...]:
        """Apply a selected operator, and note which parents its offspring are compared with."""
        self._catch_up()
        if self._credit.rng is None:
            self.restart()
        applied = (slot, int(self._credit.choose(slot)[0]))
        # An individual already varied in this generation has no fitness, but its parents had.
        earlier = [self._pending_by_id.pop(id(parent), None) for parent in parents]
        fitness = [
            fitness_of(parent) if application is None else application.parent
            for parent, application in zip(parents, earlier, strict=True)
        ]
        offspring = self._offspring(slot, applied[1], parents)
        for child, application in zip_longest(offspring, earlier[: len(offspring)]):
            del child.fitness.values
            if application is not None:
                application.offspring, application.parent = child, best(fitness)
                application.operators.append(applied)
            elif any(value is not None for value in fitness):
                application = self._credit.note(child, best(fitness), applied)
            if application is not None:
                self._pending_by_id[id(child)] = application
        return offspring

    def _offspring(
        self, slot: str, operator: int, parents: tuple[Individual, ...]
    ) -> tuple[Individual, ...]:
        """Return the offspring of an operator; raise an error if they are not individuals."""
        offspring = self._operators[slot][operator](*parents)
        is_one = hasattr(offspring, "fitness")
        if (
            isinstance(offspring, Iterable)
            and not is_one
            and all(hasattr(c, "fitness") for c in offspring)
        ):
            return tuple(offspring)
        name = list(self._credit.counts[slot])[operator]
        what = "an individual" if is_one else f"a {type(offspring).__name__}"
        raise InvalidFeedback(
            f"the operator {name} of {slot} returned {what}; expected a tuple of individuals, as "
            "DEAP's operators return it: `return individual,`"
        )

    def _catch_up(self) -> None:
        """Learn from the pending applications if DEAP has evaluated their offspring.

        DEAP's loops vary a whole generation before they evaluate it, so it suffices to look at the
        oldest and the newest offspring.
        """
        pending = self._credit.pending
        evaluated = self._credit.is_evaluated
        if pending and (evaluated(pending[0]) or evaluated(pending[-1])):
            self._credit.settle()
            self._pending_by_id = {}

    def __getstate__(self) -> dict[str, object]:
        """Omit ids, which do not survive pickling."""
        return self.__dict__ | {"_pending_by_id": {}}


def fitness_of(individual: Individual) -> float | None:
    """Return the fitness as DEAP compares it, negated: smaller is better for any weight.

    It is infinite if constraints of DEAP's `ConstrainedFitness` are violated, and None before the
    evaluation.
    """
    fitness = individual.fitness
    if len(fitness.weights) != 1:
        raise InvalidFeedback(
            f"the fitness has {len(fitness.weights)} weights; operators are credited with a single "
            "objective, so create the fitness with one weight"
        )
    if fitness.valid:
        return -float(fitness.wvalues[0])
    return math.inf if getattr(fitness, "constraint_violation", None) is not None else None


#: The number of individuals that the operators of a slot take.
_PARENTS = {"mate": 2, "mutate": 1}


def _as_list(operators: Sequence[OperatorLike], slot: str) -> list[OperatorLike]:
    """Return the operators of a slot as a list; raise if it is a single one."""
    if isinstance(operators, str) or not isinstance(operators, Iterable):
        shown = (
            repr(operators) if isinstance(operators, str) else f"the function {_name(operators)}"
        )
        raise InvalidParameter(
            f"{slot} is {shown}; expected a list of operators to choose from",
            name=slot, value=operators,
        )  # fmt: skip
    return list(operators)


def _operator(toolbox: Toolbox, name: OperatorLike, slot: str) -> Operator:
    """Return an operator, which may be named as in the toolbox."""
    operator: Operator | None = getattr(toolbox, name, None) if isinstance(name, str) else name
    if operator is None or not callable(operator):
        message = (
            f"{slot} contains {name!r}, which is neither a function nor the name of an operator in "
            "the toolbox; register it first"
        )
        raise InvalidParameter(message, name=slot, value=name)
    if isinstance(operator, type):
        raise InvalidParameter(
            f"{slot} contains the class {operator.__name__}; expected functions of individuals, or "
            "their names in the toolbox",
            name=slot, value=name,
        )  # fmt: skip
    parents = _PARENTS[slot]
    try:
        inspect.signature(operator).bind(*[None] * parents)
    except TypeError as error:
        raise InvalidParameter(
            f"{slot} contains {_name(name)}, which cannot be called with {parents} "
            f"individual{'s' * (parents > 1)} alone ({error}); register it with its other "
            "arguments, and name it here",
            name=slot, value=name,
        ) from None  # fmt: skip
    except ValueError:  # a builtin without a signature
        pass
    return operator


def _name(operator: OperatorLike) -> str:
    """Return the name of an operator."""
    if isinstance(operator, str):
        return operator
    function = getattr(operator, "func", operator)  # of a functools.partial
    return str(getattr(function, "__name__", type(function).__name__))
