"""pymoo: adaptive crossovers and mutations in genetic algorithms, adaptive variants in DE.

    algorithm = GA(pop_size=100, crossover=SBX(), mutation=PM())

becomes

    from uaos.adapters.pymoo import adaptive
    algorithm = adaptive(GA(pop_size=100), crossover=[SBX(), UX(), PCX()], mutation=[PM(), BFM()])

and runs with `minimize` or ask and tell, with seeds, callbacks, history and checkpoints as before:
the selectors use the algorithm's random state and are copied and pickled with it.
"""

import math
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, TypeVar

import numpy as np

from uaos.adapters.credit import DEFAULT, Credit, MethodLike, best
from uaos.errors import InvalidParameter
from uaos.extras import MissingExtra

try:
    from pymoo.algorithms.soo.nonconvex.de import Variant
    from pymoo.core.duplicate import DuplicateElimination
    from pymoo.core.infill import InfillCriterion
    from pymoo.core.mating import Mating
    from pymoo.core.population import Population
    from pymoo.operators.crossover.nox import NoCrossover
except ImportError as error:
    raise MissingExtra("uaos.adapters.pymoo", "pymoo", "pymoo") from error

Methods = MethodLike | Mapping[str, MethodLike]
Algorithm = TypeVar("Algorithm")


def adaptive(
    algorithm: Algorithm,
    *,
    crossover: Any = None,
    mutation: Any = None,
    variant: Any = None,
    method: Methods = DEFAULT,
    budget: int | None = None,
) -> Algorithm:
    """Make an algorithm choose its operators adaptively.

    Parameters
    ----------
    algorithm
        An algorithm with pymoo's Mating (such as GA) or Variant (such as DE).
    crossover, mutation : list of operators, optional
        For genetic algorithms: operators to choose from. What is not given stays as it is.
    variant : list of Variant or str, optional
        For differential evolution: variants to choose from. Strings such as "DE/rand/1/bin" take F,
        CR and the other settings from the algorithm's variant.
    method : Method, str, path, or mapping
        One method for all slots, or a mapping such as
        ``{"crossover": "SaDE", "mutation": "RecPM"}``.
    budget : int, optional
        Number of offspring, for methods that change towards the end of a run.

    Returns
    -------
    The same algorithm.
    """
    mating = getattr(algorithm, "mating", None)
    if isinstance(mating, Variant | AdaptiveVariant):
        _refuse(crossover=crossover, mutation=mutation, instead="variant=")
        own = mating.variants if isinstance(mating, AdaptiveVariant) else [mating]
        variants = [_variant(v, own[0]) for v in _listed(own if variant is None else variant)]
        made: Any = AdaptiveVariant(variants, method=method, budget=budget)
    elif isinstance(mating, Mating) and type(mating)._do in (Mating._do, AdaptiveMating._do):
        _refuse(variant=variant, instead="crossover= and mutation=")
        made = AdaptiveMating(
            mating.selection,
            mating.crossover if crossover is None else crossover,
            mating.mutation if mutation is None else mutation,
            method=method,
            budget=budget,
            repair=mating.repair,
            eliminate_duplicates=mating.eliminate_duplicates,
            n_max_iterations=mating.n_max_iterations,
        )
    else:
        allowed = "an algorithm with pymoo's Mating (such as GA) or Variant (such as DE)"
        raise InvalidParameter("algorithm", type(algorithm).__name__, allowed)
    algorithm.mating = made  # type: ignore[attr-defined]
    return algorithm


class AdaptiveMating(Mating):
    """pymoo's mating with a crossover chosen for each mating and a mutation for each offspring.

    Parents are selected as usual; a crossover that needs fewer of them than another takes the
    first ones. With one crossover and one mutation it equals pymoo's mating bit for bit.
    """

    def __init__(
        self,
        selection: Any,
        crossover: Any,
        mutation: Any,
        *,
        method: Methods = DEFAULT,
        budget: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(selection, _listed(crossover), _listed(mutation), **kwargs)
        self.eliminate_duplicates: Any = _Failing.of(self.eliminate_duplicates)
        slots = {"crossover": self.crossover, "mutation": self.mutation}
        names = {slot: [o.name for o in operators] for slot, operators in slots.items()}
        self._credit = Credit(names, method, _fitness, budget)

    @property
    def credit(self) -> Credit:
        """What was learned; up to date once the offspring are evaluated."""
        return _up_to_date(self._credit)

    def do(
        self, problem: Any, pop: Any, n_offsprings: int, random_state: Any = None, **kwargs: Any
    ) -> Any:
        """Learn from the last offspring, and make the next ones."""
        rng = _begin(self._credit, problem, random_state)
        off = super().do(problem, pop, n_offsprings, random_state=rng, **kwargs)
        kept = {id(individual) for individual in off}
        # What is in excess of a full generation was made, but will never be evaluated.
        self._credit.pending = [
            a for a in self._credit.pending if id(a.offspring) in kept or self._credit.known(a)
        ]
        return off

    def _do(
        self,
        problem: Any,
        pop: Any,
        n_offsprings: int,
        parents: Any = None,
        random_state: Any = None,
        **kwargs: Any,
    ) -> Any:
        sizes = np.array([c.n_offsprings for c in self.crossover])
        chosen = self._credit.choose("crossover", math.ceil(n_offsprings / sizes.min()))
        enough = np.searchsorted(np.cumsum(sizes[chosen]), n_offsprings) + 1
        chosen = chosen[:enough]
        if parents is None:
            most = max(c.n_parents for c in self.crossover)
            parents = self.selection(
                problem, pop, len(chosen), n_parents=most, random_state=random_state, **kwargs
            )
        families, made, copies = [], [], []
        for operator in np.unique(chosen):
            crossover = self.crossover[operator]
            rows = np.flatnonzero(chosen == operator)
            mates = parents[rows, : crossover.n_parents]
            off = crossover(problem, mates, random_state=random_state, **kwargs)
            if isinstance(crossover, NoCrossover):
                off = _as_others(off, len(rows))
            made.append(off)
            families.append(np.tile(rows, len(off) // len(rows)))
            copies.append(np.repeat(np.arange(len(off) // len(rows)), len(rows)))
        # In pymoo's order: the first offspring of every mating, then the second.
        family = np.concatenate(families)
        order = np.lexsort((family, np.concatenate(copies)))
        off, family = np.concatenate(made).view(Population)[order], family[order]
        mutated_by = self._credit.choose("mutation", len(off))
        for operator in np.unique(mutated_by):
            rows = np.flatnonzero(mutated_by == operator)
            mutation = self.mutation[operator]
            off[rows] = mutation(problem, off[rows], random_state=random_state, **kwargs)
        for individual, mating, mutator in zip(off, family, mutated_by, strict=True):
            crossover = self.crossover[chosen[mating]]
            parent = best([_fitness(p) for p in parents[mating, : crossover.n_parents]])
            self._credit.note(
                individual,
                parent,
                ("crossover", int(chosen[mating])),
                ("mutation", int(mutator)),
            )
        return off


class AdaptiveVariant(InfillCriterion):
    """Differential evolution's mating with a variant chosen for each target vector.

    The parent of an offspring is its target. pymoo's variants make whole generations, so each
    selected variant makes offspring for every target, and those assigned to it are used.
    """

    def __init__(
        self, variants: Sequence[Any], *, method: Methods = DEFAULT, budget: int | None = None
    ) -> None:
        super().__init__()
        self.variants = list(variants)
        names = [_variant_name(v) for v in self.variants]
        self._credit = Credit({"variant": names}, method, _fitness, budget)

    @property
    def credit(self) -> Credit:
        """What was learned; up to date once the offspring are evaluated."""
        return _up_to_date(self._credit)

    def do(
        self, problem: Any, pop: Any, n_offsprings: int, random_state: Any = None, **kwargs: Any
    ) -> Any:
        """Learn from the last offspring, and make the next ones."""
        rng = _begin(self._credit, problem, random_state)
        chosen = self._credit.choose("variant", n_offsprings)
        off = Population.empty(n_offsprings)
        for operator in np.unique(chosen):
            variant = self.variants[operator]
            made = variant.do(problem, pop, n_offsprings, random_state=rng, **kwargs)
            rows = np.flatnonzero(chosen == operator)
            off[rows] = made[rows]
        for individual, target, operator in zip(off, pop, chosen, strict=False):
            self._credit.note(individual, best([_fitness(target)]), ("variant", int(operator)))
        return off


class _Failing(DuplicateElimination):
    """Duplicate elimination that marks what it drops as failed."""

    def __init__(self, eliminate: Any) -> None:
        super().__init__()
        self.eliminate = eliminate

    @classmethod
    def of(cls, eliminate: Any) -> "_Failing":
        return eliminate if isinstance(eliminate, cls) else cls(eliminate)

    def do(self, pop: Any, *args: Any, **kwargs: Any) -> Any:
        kept = self.eliminate.do(pop, *args, **kwargs)
        ids = {id(individual) for individual in kept}
        for individual in pop:
            if id(individual) not in ids:
                individual.F = np.array([np.inf])
        return kept


def _fitness(individual: Any) -> float | None:
    """Return the objective, inf if infeasible, None before evaluation."""
    if individual.F is None or len(individual.F) == 0:
        return None
    return float(individual.F[0]) if individual.feas else math.inf


def _begin(credit: Credit, problem: Any, random_state: Any) -> np.random.Generator:
    """Learn from the last generation, or start anew in a new run, which has a new random state."""
    if problem.n_obj != 1:
        raise InvalidParameter(
            "n_obj", problem.n_obj, "1: operators are credited with a single objective",
            owner="the problem",
        )  # fmt: skip
    rng = random_state if random_state is not None else credit.rng or np.random.default_rng()
    if credit.rng is rng:
        credit.settle()
    else:
        credit.start(rng)
    return rng


def _up_to_date(credit: Credit) -> Credit:
    if all(credit.known(application) for application in credit.pending):
        credit.settle()
    return credit


def _as_others(parents: Any, matings: int) -> Any:
    """Copy what NoCrossover returns, in the order of other crossovers.

    It returns the parents themselves, mating by mating, which a mutation would change in place.
    """
    copies = Population.new("X", parents.get("X"))
    return copies.reshape(matings, -1).T.ravel()


def _listed(operators: Any) -> list[Any]:
    return list(operators) if isinstance(operators, list | tuple) else [operators]


def _refuse(*, instead: str, **given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            raise InvalidParameter(name, value, f"no value for this algorithm; use {instead}")


def _variant(given: Any, own: Any) -> Any:
    if not isinstance(given, str):
        return given
    parts = given.split("/")
    if len(parts) != 4 or parts[0] != "DE" or not parts[2].isdigit():
        raise InvalidParameter("variant", given, 'a string such as "DE/rand/1/bin", or a Variant')
    variant = deepcopy(own)
    values = (parts[1], int(parts[2]), parts[3])
    for name, value in zip(("selection", "n_diffs", "crossover"), values, strict=True):
        choice = getattr(variant, name)
        if value not in choice.all:
            raise InvalidParameter(name, value, f"one of {choice.all}", owner=f"variant {given!r}")
        choice.set(value)
    return variant


def _variant_name(variant: Any) -> str:
    """Return a name such as "DE/rand/1/bin", or the class name of a custom variant."""
    if not isinstance(variant, Variant):
        return type(variant).__name__
    parts = (variant.selection, variant.n_diffs, variant.crossover)
    return "/".join(["DE", *(str(part.get()) for part in parts)])
