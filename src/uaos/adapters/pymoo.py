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
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from functools import partial
from typing import ClassVar, TypeAlias, TypeVar, cast

import numpy as np

from uaos.adapters.credit import DEFAULT, Credit, MethodLike, best
from uaos.arrays import IntArray
from uaos.checks import positive_integer
from uaos.errors import InvalidParameter, shortened
from uaos.extras import MissingExtra
from uaos.optimizers import catalogue
from uaos.selection.method import Method

try:
    from pymoo.algorithms.base.genetic import GeneticAlgorithm
    from pymoo.algorithms.moo.moead import MOEAD, ParallelMOEAD
    from pymoo.algorithms.soo.nonconvex.de import Variant
    from pymoo.core.crossover import Crossover
    from pymoo.core.duplicate import DuplicateElimination
    from pymoo.core.individual import Individual
    from pymoo.core.infill import InfillCriterion
    from pymoo.core.mating import Mating
    from pymoo.core.mutation import Mutation
    from pymoo.core.population import Population
    from pymoo.core.problem import Problem
    from pymoo.core.selection import Selection
    from pymoo.operators.crossover.dex import DEM
    from pymoo.operators.crossover.nox import NoCrossover
    from pymoo.operators.crossover.sbx import SBX
    from pymoo.operators.crossover.ux import UX
    from pymoo.operators.mutation.pm import PM
except ImportError as error:
    raise MissingExtra("uaos.adapters.pymoo", "pymoo", "pymoo") from error

Methods: TypeAlias = MethodLike | Mapping[str, MethodLike]
Operators: TypeAlias = Sequence[Crossover] | Sequence[Mutation] | Crossover | Mutation
Algorithm = TypeVar("Algorithm")
T = TypeVar("T")


def adaptive(
    algorithm: Algorithm,
    *,
    crossover: Operators | None = None,
    mutation: Operators | None = None,
    variant: Sequence[Variant | str] | Variant | str | None = None,
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
        For genetic algorithms: operators to choose from; by default those of the algorithm.
        :func:`real_operators` suggests some for real variables.
    variant : list of Variant or str, optional
        For differential evolution: variants to choose from. Strings such as "DE/rand/1/bin" take F,
        CR and the other settings from the algorithm's variant. By default: the algorithm's variant,
        and a copy of it with CR = 0.9.
    method : Method, str, path, or mapping, optional
        One method for all slots, or a mapping such as
        ``{"crossover": "SaDE", "mutation": "RecPM"}``. The default is PDP, with p_min = 0.02 for
        variants. In MOEA/D it is :func:`frrmab`, which was designed for it and ranks before PDP
        there, both on ZDT1 and on eight problems with other seeds.
    segment : int, optional
        Number of offspring that make one generation of the method; by default the size of the
        population. In MOEA/D it is half of that, or one with the default method.
    budget : int, optional
        Number of offspring, for methods that change toward the end of a run.

    Returns
    -------
    algorithm
        The same algorithm; ``algorithm.mating.credit`` holds what it learns.

    Raises
    ------
    InvalidParameter
        If the algorithm has neither kind of mating, or not the one for these operators; if an
        operator is a class, a string or of the wrong kind; if `segment` is not a positive integer.

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
    segment = None if segment is None else positive_integer(segment, "segment")
    mating = getattr(algorithm, "mating", None)
    if isinstance(mating, Variant | AdaptiveVariant):
        _reject(crossover=crossover, mutation=mutation, instead="variant=")
        variants = _variants(mating, variant)
        adaptive_mating = AdaptiveVariant(variants, method=method, segment=segment, budget=budget)
    elif isinstance(mating, Mating) and type(mating)._do in (Mating._do, AdaptiveMating._do):
        _reject(variant=variant, instead="crossover= and mutation=")
        operators = (
            mating.crossover if crossover is None else crossover,
            mating.mutation if mutation is None else mutation,
        )
        adaptive_mating = _adaptive_mating(algorithm, operators, method, segment, budget)
    else:
        kind = type(algorithm).__name__
        message = (
            f"algorithm is a {kind}, without pymoo's Mating (as in GA) or Variant (as in DE); pass "
            "one that has either, such as NSGA2 or DE"
        )
        raise InvalidParameter(message, name="algorithm", value=kind)
    algorithm.mating = adaptive_mating  # type: ignore[attr-defined]
    return algorithm


def _adaptive_mating(
    algorithm: GeneticAlgorithm,
    operators: tuple[Operators, Operators],
    method: Methods | None,
    segment: int | None,
    budget: int | None,
) -> "AdaptiveMating":
    """Return a mating that chooses among crossovers and mutations, for a genetic algorithm."""
    mating = algorithm.mating
    by_subproblem = isinstance(algorithm, MOEAD)
    if method is None and by_subproblem and not isinstance(algorithm, ParallelMOEAD):
        method = frrmab(algorithm.pop_size)
        segment = segment or 1
    build = partial(_SubproblemMating, algorithm) if by_subproblem else AdaptiveMating
    return build(
        mating.selection,
        *operators,
        method=DEFAULT if method is None else method,
        segment=segment,
        budget=budget,
        repair=mating.repair,
        eliminate_duplicates=mating.eliminate_duplicates,
        n_max_iterations=mating.n_max_iterations,
    )


def frrmab(pop_size: int) -> Method:
    """Return FRRMAB, the bandit that was designed for MOEA/D, with its published settings.

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


def real_operators(n_obj: int = 1) -> dict[str, list[Crossover] | list[Mutation]]:
    """Return crossovers and mutations for real variables that complement each other.

    The crossovers are simulated binary crossover with children near their parents (pymoo's default)
    and far from them, uniform crossover, and a scaled difference of parents. The mutations are
    polynomial mutation with pymoo's default step size, with larger steps, and with a third size:
    smaller than the default for one objective, the largest of the three for several, because small
    steps improve on their parents but do not keep a set of solutions diverse.

    Parameters
    ----------
    n_obj : int
        The number of objectives, as in ``problem.n_obj``.

    Returns
    -------
    dict of str to list
        The lists "crossover" and "mutation", as arguments of :func:`adaptive`.

    Raises
    ------
    InvalidParameter
        If `n_obj` is not a positive integer.

    Examples
    --------
    >>> from uaos.adapters.pymoo import real_operators
    >>> [mutation.name for mutation in real_operators(n_obj=2)["mutation"]]
    ['PM', 'coarse PM', 'very coarse PM']
    """
    n_obj = positive_integer(n_obj, "n_obj")
    third = PM(eta=100, name="fine PM") if n_obj == 1 else PM(eta=2, name="very coarse PM")
    return {
        "crossover": [SBX(), SBX(eta=3, name="wide SBX"), UX(), DEM()],
        "mutation": [PM(), PM(eta=5, name="coarse PM"), third],
    }


class _Learning:
    """Base class of the adaptive matings: decides when they learn."""

    segment: int | None
    #: The default segment as a share of the population.
    share: ClassVar[float] = 1.0
    _credit: Credit[Individual]
    _due: int = 0

    @property
    def credit(self) -> Credit[Individual]:
        """Return what was learned; it is up to date once a segment of offspring is evaluated."""
        pending = self._credit.pending
        if len(pending) >= self._due and all(map(self._credit.is_evaluated, pending)):
            self._credit.settle()
        return self._credit

    def _begin(
        self, pop: Population, random_state: np.random.Generator | None
    ) -> np.random.Generator:
        """Learn from a complete segment, or start anew if the random state is that of a new run."""
        credit = self._credit
        rng = random_state if random_state is not None else credit.rng or np.random.default_rng()
        self._due = self.segment or math.ceil(self.share * len(pop))
        if credit.rng is not rng:
            credit.start(rng)
        elif len(credit.pending) >= self._due:
            credit.settle()
        return rng

    def _note(
        self, individual: Individual, parents: Iterable[Individual], *operators: tuple[str, int]
    ) -> None:
        """Remember which operators produced an individual, and what it is compared with."""
        objectives = [_objectives(parent) for parent in parents]
        if len(objectives[0]) == 1:
            reference = best([values[0] for values in objectives])
        else:  # the fitness is minus the share of dominated parents, so 0 is no success
            individual.set("parents", objectives)
            reference = 0.0
        self._credit.note(individual, reference, *operators)


class AdaptiveMating(_Learning, Mating):
    """pymoo's mating, choosing a crossover for each mating and a mutation for each offspring.

    Parents are selected as usual; a crossover that needs fewer of them than another takes the
    first ones. With one crossover and one mutation the results equal pymoo's bit for bit.
    """

    eliminate_duplicates: DuplicateElimination

    @staticmethod
    def outcome(individual: Individual) -> float | None:
        """Return the fitness that an offspring is credited with, or None if it is not known yet."""
        return _fitness(individual)

    def __init__(
        self,
        selection: Selection,
        crossover: Operators,
        mutation: Operators,
        *,
        method: Methods = DEFAULT,
        segment: int | None = None,
        budget: int | None = None,
        **kwargs: object,
    ) -> None:
        crossovers = _Crossovers(_checked(crossover, Crossover, "crossover"))
        super().__init__(selection, crossovers, _checked(mutation, Mutation, "mutation"), **kwargs)
        if not isinstance(self.eliminate_duplicates, _FailedDuplicates):
            self.eliminate_duplicates = _FailedDuplicates(self.eliminate_duplicates)
        self.segment = segment
        slots = {"crossover": self.crossover, "mutation": self.mutation}
        names = {slot: [o.name for o in operators] for slot, operators in slots.items()}
        self._credit = Credit(names, method, self.outcome, budget)

    def do(
        self,
        problem: Problem,
        pop: Population,
        n_offsprings: int,
        random_state: np.random.Generator | None = None,
        **kwargs: object,
    ) -> Population:
        """Learn from earlier offspring, and make the next ones."""
        rng = self._begin(pop, random_state)
        credit, earlier = self._credit, len(self._credit.pending)
        off = super().do(problem, pop, n_offsprings, random_state=rng, **kwargs)
        full_generation = {id(individual) for individual in off}
        # Offspring in excess of a full generation are never evaluated; failed duplicates stay.
        credit.pending[earlier:] = [
            application
            for application in credit.pending[earlier:]
            if id(application.offspring) in full_generation or credit.is_evaluated(application)
        ]
        return off

    def _do(
        self,
        problem: Problem,
        pop: Population,
        n_offsprings: int,
        parents: Population | None = None,
        random_state: np.random.Generator | None = None,
        **kwargs: object,
    ) -> Population:
        if parents is None:
            crossed_by = self._choose_crossovers(n_offsprings)
            mates = self.selection(
                problem, pop, len(crossed_by), n_parents=self.crossover.n_parents,
                random_state=random_state, **kwargs,
            )  # fmt: skip
        else:
            crossed_by, mates = self._credit.choose("crossover", len(parents)), parents
        off, mating = self._cross(problem, mates, crossed_by, random_state, **kwargs)
        if parents is not None:  # ParallelMOEAD expects the same number from each mating
            equal = len(off) // len(crossed_by) * len(crossed_by)
            off, mating = off[:equal], mating[:equal]
        mutated_by = self._credit.choose("mutation", len(off))
        for operator in np.unique(mutated_by):
            rows = np.flatnonzero(mutated_by == operator)
            mutation = self.mutation[operator]
            off[rows] = mutation(problem, off[rows], random_state=random_state, **kwargs)
        for individual, row, mutator in zip(off, mating, mutated_by, strict=True):
            crossover = int(crossed_by[row])
            family = mates[row, : self.crossover[crossover].n_parents]
            self._note(individual, family, ("crossover", crossover), ("mutation", int(mutator)))
        return off

    def _choose_crossovers(self, n_offsprings: int) -> IntArray:
        """Return a crossover for each of as many matings as make the offspring."""
        sizes = np.array([crossover.n_offsprings for crossover in self.crossover])
        chosen = self._credit.choose("crossover", math.ceil(n_offsprings / sizes.min()))
        return chosen[: np.searchsorted(np.cumsum(sizes[chosen]), n_offsprings) + 1]

    def _cross(
        self,
        problem: Problem,
        mates: Population,
        crossed_by: IntArray,
        random_state: np.random.Generator | None,
        **kwargs: object,
    ) -> tuple[Population, IntArray]:
        """Return the offspring of all matings, and the mating that each comes from.

        They are in pymoo's order: the first offspring of every mating, then the second.
        """
        groups, matings, places = [], [], []
        for operator in np.unique(crossed_by):
            crossover = self.crossover[operator]
            rows = np.flatnonzero(crossed_by == operator)
            parents = mates[rows, : crossover.n_parents]
            off = crossover(problem, parents, random_state=random_state, **kwargs)
            if isinstance(crossover, NoCrossover):
                off = _copy_in_order(off, len(rows))
            per_mating = len(off) // len(rows)
            groups.append(off)
            matings.append(np.tile(rows, per_mating))
            places.append(np.repeat(np.arange(per_mating), len(rows)))
        mating = np.concatenate(matings)
        order = np.lexsort((mating, np.concatenate(places)))
        return np.concatenate(groups).view(Population)[order], mating[order]


class _SubproblemMating(AdaptiveMating):
    """MOEA/D's mating: the credit of an offspring is its fitness improvement rate.

    That is the sum of the relative improvements of the subproblems that it takes over (Li et al.,
    2014). It is computed before the next offspring is made, from the populations before and after.
    """

    share = 0.5

    def __init__(
        self,
        algorithm: MOEAD,
        selection: Selection,
        crossover: Operators,
        mutation: Operators,
        **kwargs: object,
    ) -> None:
        super().__init__(selection, crossover, mutation, **kwargs)  # type: ignore[arg-type]
        self.algorithm = algorithm
        self._before = np.empty((0, 0))

    @staticmethod
    def outcome(individual: Individual) -> float | None:
        """Return minus the fitness improvement rate, or None if it is not known yet."""
        gain = individual.get("gain")
        return None if gain is None else -gain

    def do(
        self,
        problem: Problem,
        pop: Population,
        n_offsprings: int,
        random_state: np.random.Generator | None = None,
        **kwargs: object,
    ) -> Population:
        """Credit the previous offspring, and make the next ones."""
        for application in reversed(self._credit.pending):
            offspring = application.offspring
            if self._credit.is_evaluated(application):
                break
            if len(offspring.F):
                offspring.set("gain", self._gain(offspring, pop))
        self._before = pop.get("F")
        return super().do(problem, pop, n_offsprings, random_state=random_state, **kwargs)

    def _gain(self, offspring: Individual, pop: Population) -> float:
        """Return the relative improvements of the subproblems that an offspring took over."""
        subproblems = np.flatnonzero([individual is offspring for individual in pop])
        if len(subproblems) == 0:
            return 0.0
        values = partial(
            self.algorithm.decomposition.do, weights=self.algorithm.ref_dirs[subproblems],
            ideal_point=self.algorithm.ideal, _type="one_to_one",
        )  # fmt: skip
        before = values(self._before[subproblems])
        after = values(np.tile(offspring.F, (len(subproblems), 1)))
        return float(((before - after) / before).sum())


class AdaptiveVariant(_Learning, InfillCriterion):
    """pymoo's differential evolution, choosing a variant for each target vector."""

    def __init__(
        self,
        variants: Sequence[Variant],
        *,
        method: Methods | None = None,
        segment: int | None = None,
        budget: int | None = None,
    ) -> None:
        super().__init__()
        # With two variants, a small p_min wastes the fewest offspring on the worse one.
        method = catalogue.method(DEFAULT, p_min=0.02) if method is None else method
        self.variants = list(variants)
        self.segment = segment
        names = [_variant_name(v) for v in self.variants]
        self._credit = Credit({"variant": names}, method, _fitness, budget)

    def do(
        self,
        problem: Problem,
        pop: Population,
        n_offsprings: int,
        random_state: np.random.Generator | None = None,
        **kwargs: object,
    ) -> Population:
        """Learn from earlier offspring, and make the next ones."""
        rng = self._begin(pop, random_state)
        chosen = self._credit.choose("variant", n_offsprings)
        off = Population.empty(n_offsprings)
        for operator in np.unique(chosen):
            rows = np.flatnonzero(chosen == operator)
            # A variant makes offspring of the first members: put those that chose it there.
            others = np.setdiff1d(np.arange(len(pop)), rows)
            reordered = pop[np.concatenate([rows, others])]
            off[rows] = self.variants[operator].do(
                problem, reordered, len(rows), random_state=rng, **kwargs
            )
        for individual, target, operator in zip(off, pop, chosen, strict=False):
            self._note(individual, [target], ("variant", int(operator)))
        return off


class _Crossovers(list[Crossover]):
    """The crossovers to choose from."""

    @property
    def n_parents(self) -> int:
        """Return the largest number of parents, which MOEA/D asks for."""
        return max(int(crossover.n_parents) for crossover in self)


class _FailedDuplicates(DuplicateElimination):
    """Duplicate elimination that marks the duplicates as failed."""

    def __init__(self, eliminate: DuplicateElimination) -> None:
        super().__init__()
        self.eliminate = eliminate

    def do(self, pop: Population, *args: Population, **kwargs: bool) -> Population:
        unique = self.eliminate.do(pop, *args, **kwargs)
        ids = {id(individual) for individual in unique}
        for individual in pop:
            if id(individual) not in ids:
                individual.set("parents", None)
                individual.F = np.array([np.inf])
        return unique


def _objectives(individual: Individual) -> list[float]:
    """Return the objectives, which are infinite if the individual is infeasible."""
    objectives: list[float] = individual.F.tolist()
    return objectives if individual.feas else [math.inf] * len(objectives)


def _fitness(individual: Individual) -> float | None:
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
    objectives = individual.F.tolist()  # lists of so few numbers are faster than arrays
    dominated: list[bool] = [
        objectives != parent and all(a <= b for a, b in zip(objectives, parent, strict=True))
        for parent in parents
    ]
    return -sum(dominated) / len(dominated)


def _copy_in_order(parents: Population, matings: int) -> Population:
    """Copy the parents that NoCrossover returns, and order them as other crossovers do.

    NoCrossover returns the parents themselves, mating by mating; a mutation would change them in
    place.
    """
    copies = Population.new("X", parents.get("X"))
    return copies.reshape(matings, -1).T.ravel()


def _as_list(operators: Sequence[T] | T) -> list[T]:
    return list(operators) if isinstance(operators, list | tuple) else [cast("T", operators)]


def _checked(operators: Sequence[T] | T, kind: type, slot: str) -> list[T]:
    """Return the operators of a slot as a list; raise an error if one is of another kind."""
    checked = _as_list(operators)
    for operator in checked:
        if isinstance(operator, kind):
            continue
        if isinstance(operator, type):
            name = operator.__name__
            problem = f"the class {name}; expected an object of it, such as {name}()"
        elif isinstance(operator, Crossover | Mutation):
            other = "mutation" if isinstance(operator, Mutation) else "crossover"
            problem = f"{operator.name}, which is a {other}; expected {slot}s, this one in {other}="
        else:
            problem = f"{shortened(operator)}; expected objects of pymoo's {kind.__name__}"
        raise InvalidParameter(f"{slot} contains {problem}", name=slot, value=operator)
    return checked


def _reject(*, instead: str, **operators: object) -> None:
    """Raise an error for operators that this kind of algorithm does not have."""
    for name, value in operators.items():
        if value is not None:
            message = f"this algorithm has no {name} to choose; use {instead}"
            raise InvalidParameter(message, name=name, value=value)


def _variants(
    mating: "Variant | AdaptiveVariant", variant: Sequence[Variant | str] | Variant | str | None
) -> list[Variant]:
    """Return the variants to choose from; by default the present one and a copy with CR = 0.9.

    The copy takes nearly all coordinates from the mutant.
    """
    if isinstance(mating, AdaptiveVariant):
        present = mating.variants
    else:
        present = [mating, deepcopy(mating)]
        present[1].CR.set(0.9)
    if variant is None:
        return present
    return [_checked_variant(v, present[0]) for v in _as_list(variant)]


def _checked_variant(variant: Variant | str, template: Variant) -> Variant:
    """Return a variant, which may be named; raise if it is none."""
    if isinstance(variant, str):
        return _parse_variant(variant, template)
    if isinstance(variant, type) or not callable(getattr(variant, "do", None)):
        is_class = isinstance(variant, type)
        shown = f"the class {variant.__name__}" if is_class else shortened(variant)
        raise InvalidParameter(
            f'variant contains {shown}; expected strings such as "DE/rand/1/bin", or objects of '
            "pymoo's Variant",
            name="variant", value=variant,
        )  # fmt: skip
    return variant


def _parse_variant(text: str, template: Variant) -> Variant:
    """Return a copy of `template` changed to a name such as "DE/rand/1/bin"."""
    parts = text.split("/")
    if len(parts) != 4 or parts[0] != "DE" or not parts[2].isdigit():
        message = f'variant must be a Variant or a string such as "DE/rand/1/bin", not {text!r}'
        raise InvalidParameter(message, name="variant", value=text)
    variant = deepcopy(template)
    values = (parts[1], int(parts[2]), parts[3])
    for name, value in zip(("selection", "n_diffs", "crossover"), values, strict=True):
        choice = getattr(variant, name)
        if value not in choice.all:
            message = (
                f"variant {text!r} has the {name} {shortened(value)}; expected one of {choice.all}"
            )
            raise InvalidParameter(message, name=name, value=value)
        choice.set(value)
    return variant


def _variant_name(variant: Variant) -> str:
    """Return a name such as "DE/rand/1/bin CR 0.9", or the class name of a custom variant."""
    if not isinstance(variant, Variant):
        return type(variant).__name__
    parts = (variant.selection, variant.n_diffs, variant.crossover)
    name = "/".join(["DE", *(str(part.get()) for part in parts)])
    return f"{name} CR {variant.CR.get()}"
