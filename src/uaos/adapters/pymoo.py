"""pymoo: adaptive crossovers and mutations in genetic algorithms, adaptive variants in DE.

    algorithm = NSGA2(pop_size=100)

becomes

    from uaos.adapters.pymoo import adaptive, real_operators
    algorithm = adaptive(NSGA2(pop_size=100), **real_operators())

and runs with `minimize` or ask and tell, with seeds, callbacks, history and checkpoints as before:
the selectors use the algorithm's random state and are copied and pickled with it.

An offspring succeeds if it is better than the best of its parents; with several objectives, if it
dominates one of them, and its credit is the share of its parents that it dominates; in MOEA/D, if
it takes over a subproblem, and its credit is the sum of their relative improvements.
"""

import math
from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import partial
from typing import Any, ClassVar, TypeVar

import numpy as np

from uaos.adapters.credit import DEFAULT, Credit, MethodLike, best
from uaos.errors import InvalidParameter
from uaos.extras import MissingExtra
from uaos.optimizers import catalogue
from uaos.selection.method import Method

try:
    from pymoo.algorithms.moo.moead import MOEAD, ParallelMOEAD
    from pymoo.algorithms.soo.nonconvex.de import Variant
    from pymoo.core.duplicate import DuplicateElimination
    from pymoo.core.infill import InfillCriterion
    from pymoo.core.mating import Mating
    from pymoo.core.population import Population
    from pymoo.operators.crossover.dex import DEM
    from pymoo.operators.crossover.nox import NoCrossover
    from pymoo.operators.crossover.sbx import SBX
    from pymoo.operators.crossover.ux import UX
    from pymoo.operators.mutation.pm import PM
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
    method: Methods | None = None,
    segment: int | None = None,
    budget: int | None = None,
) -> Algorithm:
    """Make an algorithm choose its operators adaptively.

    Parameters
    ----------
    algorithm
        An algorithm with pymoo's Mating (such as GA, NSGA2, NSGA3 or MOEAD) or Variant (such as
        DE).
    crossover, mutation : list of operators, optional
        For genetic algorithms: operators to choose from. What is not given stays as it is.
        :func:`real_operators` suggests some for real variables.
    variant : list of Variant or str, optional
        For differential evolution: variants to choose from. Strings such as "DE/rand/1/bin" take F,
        CR and the other settings from the algorithm's variant. By default the algorithm's variant,
        and the same with CR = 0.9.
    method : Method, str, path, or mapping, optional
        One method for all slots, or a mapping such as
        ``{"crossover": "SaDE", "mutation": "RecPM"}``. By default PDP; for variants with p_min =
        0.02; in MOEA/D :func:`frrmab`, which was made for it and ranks before PDP there, on ZDT1
        as on eight problems with other seeds.
    segment : int, optional
        Offspring that make one generation of the method; by default as many as the population has
        members, in MOEA/D half as many, with its default method one.
    budget : int, optional
        Number of offspring, for methods that change toward the end of a run.

    Returns
    -------
    algorithm
        The same algorithm; what it learns is in ``algorithm.mating.credit``.

    Raises
    ------
    InvalidParameter
        If the algorithm has another kind of mating, or none for these operators.

    Examples
    --------
    >>> from pymoo.algorithms.soo.nonconvex.ga import GA
    >>> from pymoo.optimize import minimize
    >>> from pymoo.problems.single.rastrigin import Rastrigin
    >>> from uaos.adapters.pymoo import adaptive, real_operators
    >>> algorithm = adaptive(GA(pop_size=20), **real_operators())
    >>> result = minimize(Rastrigin(), algorithm, ("n_gen", 5), seed=1)
    >>> list(result.algorithm.mating.credit.counts["mutation"])
    ['PM', 'coarse PM', 'fine PM']
    """
    if segment is not None and (not isinstance(segment, int) or segment < 1):
        raise InvalidParameter("segment", segment, "a number of offspring, 1 or more")
    mating = getattr(algorithm, "mating", None)
    made: Any
    if isinstance(mating, Variant | AdaptiveVariant):
        _refuse(crossover=crossover, mutation=mutation, instead="variant=")
        own = mating.variants if isinstance(mating, AdaptiveVariant) else _two_rates(mating)
        variants = [_variant(v, own[0]) for v in _listed(own if variant is None else variant)]
        made = AdaptiveVariant(variants, method=method, segment=segment, budget=budget)
    elif isinstance(mating, Mating) and type(mating)._do in (Mating._do, AdaptiveMating._do):
        _refuse(variant=variant, instead="crossover= and mutation=")
        of_moead = isinstance(algorithm, MOEAD)
        if method is None and of_moead and not isinstance(algorithm, ParallelMOEAD):
            method = frrmab(algorithm.pop_size)  # type: ignore[attr-defined]
            segment = segment or 1
        made = (partial(_SubproblemMating, algorithm) if of_moead else AdaptiveMating)(
            mating.selection,
            mating.crossover if crossover is None else crossover,
            mating.mutation if mutation is None else mutation,
            method=DEFAULT if method is None else method,
            segment=segment,
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


def frrmab(pop_size: int) -> Method:
    """Return FRRMAB, the bandit that was made for MOEA/D, with the settings of its publication.

    It learns from one offspring at a time (``segment=1``). Its sliding window is half a population;
    its C of 5 stands outside a root with a factor of 2, which is part of C here.

    Parameters
    ----------
    pop_size : int
        The size of the population.

    Returns
    -------
    Method
        The bandit.

    References
    ----------
    Li, K., Fialho, Á., Kwong, S. & Zhang, Q. (2014), "Adaptive operator selection with bandits for
    a multiobjective evolutionary algorithm based on decomposition", IEEE Transactions on
    Evolutionary Computation 18(1).

    Examples
    --------
    >>> from uaos.adapters.pymoo import frrmab
    >>> frrmab(40).reward.max_gen
    20
    """
    return Method(
        reward={"name": "fitness_rate_rank", "max_gen": math.ceil(pop_size / 2), "D": 1.0},
        quality={"name": "upper_confidence_bound", "C": 5 * math.sqrt(2)},
        probability={"name": "probability_matching", "p_min": 0.0},
        selection="greedy",
        scale_rewards=False,
    )


def real_operators(n_obj: int = 1) -> dict[str, list[Any]]:
    """Return crossovers and mutations for real variables that differ in what they are good for.

    Simulated binary crossover with children near their parents (pymoo's default) and far from them,
    uniform crossover, a scaled difference of parents; polynomial mutation with steps of pymoo's
    default size, larger ones, and a third size: smaller for one objective, the largest for several.
    Small steps improve on their parents more often than they keep a set of solutions diverse.

    Parameters
    ----------
    n_obj : int
        The number of objectives, as in ``problem.n_obj``.

    Returns
    -------
    dict of str to list
        The lists "crossover" and "mutation", as arguments of :func:`adaptive`.

    Examples
    --------
    >>> from uaos.adapters.pymoo import real_operators
    >>> [mutation.name for mutation in real_operators(n_obj=2)["mutation"]]
    ['PM', 'coarse PM', 'very coarse PM']
    """
    third = PM(eta=100, name="fine PM") if n_obj == 1 else PM(eta=2, name="very coarse PM")
    return {
        "crossover": [SBX(), SBX(eta=3, name="wide SBX"), UX(), DEM()],
        "mutation": [PM(), PM(eta=5, name="coarse PM"), third],
    }


class _Learning:
    """What the two kinds of adaptive mating share: when they learn."""

    segment: int | None
    #: The segment as a share of the population, unless one is given.
    share: ClassVar[float] = 1.0
    _credit: Credit
    _due: int = 0

    @property
    def credit(self) -> Credit:
        """What was learned; up to date once a segment of offspring is evaluated."""
        pending = self._credit.pending
        if len(pending) >= self._due and all(map(self._credit.known, pending)):
            self._credit.settle()
        return self._credit

    def _begin(self, pop: Any, random_state: Any) -> np.random.Generator:
        """Learn from a segment of offspring, or start anew: a new run has a new random state."""
        credit = self._credit
        rng = random_state if random_state is not None else credit.rng or np.random.default_rng()
        self._due = self.segment or math.ceil(self.share * len(pop))
        if credit.rng is not rng:
            credit.start(rng)
        elif len(credit.pending) >= self._due:
            credit.settle()
        return rng

    def _note(self, individual: Any, parents: Any, *operators: tuple[str, int]) -> None:
        """Remember how an individual was made, and what it is to be compared with."""
        known = [_objectives(parent) for parent in parents]
        if len(known[0]) > 1:
            individual.set("parents", np.array(known))
        reference = best([float(values[0]) for values in known]) if len(known[0]) == 1 else 0.0
        self._credit.note(individual, reference, *operators)


class AdaptiveMating(_Learning, Mating):
    """pymoo's mating with a crossover chosen for each mating and a mutation for each offspring.

    Parents are selected as usual; a crossover that needs fewer of them than another takes the
    first ones. With one crossover and one mutation it equals pymoo's mating bit for bit.
    """

    @staticmethod
    def outcome(individual: Any) -> float | None:
        """Return what is learned from an offspring, smaller is better; None: not known yet."""
        return _fitness(individual)

    def __init__(
        self,
        selection: Any,
        crossover: Any,
        mutation: Any,
        *,
        method: Methods = DEFAULT,
        segment: int | None = None,
        budget: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(selection, _Crossovers(_listed(crossover)), _listed(mutation), **kwargs)
        self.eliminate_duplicates: Any = _Failing.of(self.eliminate_duplicates)
        self.segment = segment
        slots = {"crossover": self.crossover, "mutation": self.mutation}
        names = {slot: [o.name for o in operators] for slot, operators in slots.items()}
        self._credit = Credit(names, method, self.outcome, budget)

    def do(
        self, problem: Any, pop: Any, n_offsprings: int, random_state: Any = None, **kwargs: Any
    ) -> Any:
        """Learn from earlier offspring, and make the next ones."""
        rng = self._begin(pop, random_state)
        credit, earlier = self._credit, len(self._credit.pending)
        off = super().do(problem, pop, n_offsprings, random_state=rng, **kwargs)
        kept = {id(individual) for individual in off}
        # What is in excess of a full generation was made, but will never be evaluated.
        credit.pending[earlier:] = [
            a for a in credit.pending[earlier:] if id(a.offspring) in kept or credit.known(a)
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
        given = parents is not None
        if not given:
            sizes = np.array([c.n_offsprings for c in self.crossover])
            chosen = self._credit.choose("crossover", math.ceil(n_offsprings / sizes.min()))
            chosen = chosen[: np.searchsorted(np.cumsum(sizes[chosen]), n_offsprings) + 1]
            parents = self.selection(
                problem, pop, len(chosen), n_parents=self.crossover.n_parents,
                random_state=random_state, **kwargs,
            )  # fmt: skip
        else:
            chosen = self._credit.choose("crossover", len(parents))
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
        if given:  # ParallelMOEAD takes as many from each mating
            order = order[: len(order) // len(chosen) * len(chosen)]
        off, family = np.concatenate(made).view(Population)[order], family[order]
        mutated_by = self._credit.choose("mutation", len(off))
        for operator in np.unique(mutated_by):
            rows = np.flatnonzero(mutated_by == operator)
            mutation = self.mutation[operator]
            off[rows] = mutation(problem, off[rows], random_state=random_state, **kwargs)
        for individual, mating, mutator in zip(off, family, mutated_by, strict=True):
            crossed_by = int(chosen[mating])
            mates = parents[mating, : self.crossover[crossed_by].n_parents]
            self._note(individual, mates, ("crossover", crossed_by), ("mutation", int(mutator)))
        return off


class _SubproblemMating(AdaptiveMating):
    """MOEA/D's mating: the credit of an offspring is its fitness improvement rate.

    That is the sum of the relative improvements of the subproblems that it takes over (Li et al.,
    2014). It is known when the next offspring is made, from the population then and before.
    """

    share = 0.5

    def __init__(self, algorithm: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.algorithm = algorithm
        self._before = np.empty((0, 0))

    @staticmethod
    def outcome(individual: Any) -> float | None:
        gain = individual.get("gain")
        return None if gain is None else -gain

    def do(
        self, problem: Any, pop: Any, n_offsprings: int, random_state: Any = None, **kwargs: Any
    ) -> Any:
        """Credit the offspring made last, and make the next ones."""
        for application in reversed(self._credit.pending):
            offspring = application.offspring
            if self._credit.known(application):
                break
            if len(offspring.F):
                offspring.set("gain", self._gain(offspring, pop))
        self._before = pop.get("F")
        return super().do(problem, pop, n_offsprings, random_state=random_state, **kwargs)

    def _gain(self, offspring: Any, pop: Any) -> float:
        taken = np.flatnonzero([individual is offspring for individual in pop])
        if len(taken) == 0:
            return 0.0
        values = partial(
            self.algorithm.decomposition.do, weights=self.algorithm.ref_dirs[taken],
            ideal_point=self.algorithm.ideal, _type="one_to_one",
        )  # fmt: skip
        before = values(self._before[taken])
        return float(((before - values(np.tile(offspring.F, (len(taken), 1)))) / before).sum())


class AdaptiveVariant(_Learning, InfillCriterion):
    """Differential evolution's mating with a variant chosen for each target vector."""

    def __init__(
        self,
        variants: Sequence[Any],
        *,
        method: Methods | None = None,
        segment: int | None = None,
        budget: int | None = None,
    ) -> None:
        super().__init__()
        # A choice between two costs least if the worse one is nearly given up.
        method = catalogue.method(DEFAULT, p_min=0.02) if method is None else method
        self.variants = list(variants)
        self.segment = segment
        names = [_variant_name(v) for v in self.variants]
        self._credit = Credit({"variant": names}, method, _fitness, budget)

    def do(
        self, problem: Any, pop: Any, n_offsprings: int, random_state: Any = None, **kwargs: Any
    ) -> Any:
        """Learn from earlier offspring, and make the next ones."""
        rng = self._begin(pop, random_state)
        chosen = self._credit.choose("variant", n_offsprings)
        off = Population.empty(n_offsprings)
        for operator in np.unique(chosen):
            rows = np.flatnonzero(chosen == operator)
            # A variant makes offspring for the first members: those that chose it.
            others = np.setdiff1d(np.arange(len(pop)), rows)
            reordered = pop[np.concatenate([rows, others])]
            off[rows] = self.variants[operator].do(
                problem, reordered, len(rows), random_state=rng, **kwargs
            )
        for individual, target, operator in zip(off, pop, chosen, strict=False):
            self._note(individual, [target], ("variant", int(operator)))
        return off


class _Crossovers(list[Any]):
    """The crossovers to choose from; MOEA/D asks its crossover how many parents it needs."""

    @property
    def n_parents(self) -> int:
        return max(int(crossover.n_parents) for crossover in self)


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
                individual.set("parents", None)
                individual.F = np.array([np.inf])
        return kept


def _objectives(individual: Any) -> Any:
    """Return the objectives; inf where the individual is infeasible."""
    return individual.F if individual.feas else np.full(len(individual.F), np.inf)


def _fitness(individual: Any) -> float | None:
    """Return the objective, inf if infeasible, None before evaluation.

    With several objectives: minus the share of the parents that it dominates.
    """
    if individual.F is None or len(individual.F) == 0:
        return None
    if not individual.feas:
        return math.inf
    parents = individual.get("parents")
    if parents is None:
        return float(individual.F[0])
    gain = parents - individual.F  # inf where a parent is infeasible
    dominated = (gain >= 0).all(axis=1) & (gain > 0).any(axis=1)
    return -float(dominated.mean())


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


def _two_rates(variant: Any) -> list[Any]:
    """Return the variant, and a copy that takes nearly all coordinates from the mutant."""
    copy = deepcopy(variant)
    copy.CR.set(0.9)
    return [variant, copy]


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
    """Return a name such as "DE/rand/1/bin CR 0.9", or the class name of a custom variant."""
    if not isinstance(variant, Variant):
        return type(variant).__name__
    parts = (variant.selection, variant.n_diffs, variant.crossover)
    name = "/".join(["DE", *(str(part.get()) for part in parts)])
    return f"{name} CR {variant.CR.get()}"
