"""Differential evolution whose operators are chosen by a selector: the loop.

An *epoch* lies between two restarts; its first batch is the initial population, each later one the
offspring of a generation.
"""

import dataclasses
import os
import weakref
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np

from uaos.arrays import FloatArray, IntArray
from uaos.errors import InvalidParameter, shortened
from uaos.history import History
from uaos.optimizers.base import Optimizer, feasibility
from uaos.optimizers.base.outstanding import Batch
from uaos.optimizers.base.saving import load_run
from uaos.optimizers.base.settings import OptimizerSettings
from uaos.optimizers.base.spending import DEFAULT_PER_DIMENSION
from uaos.optimizers.catalogue import RECOMMENDED, as_configuration
from uaos.optimizers.de import custom, layout, saved
from uaos.optimizers.de.operators import (
    CustomOperator,
    Operator,
    as_members,
    check_population,
    least_population,
)
from uaos.optimizers.de.pool import Pool, SingleOperator
from uaos.optimizers.de.population import Epoch, Offspring, Population, Relaxation
from uaos.optimizers.de.rates import RateMemory
from uaos.optimizers.de.settings import (
    BOUNDARIES,
    MOST_PARENTS,
    DifferentialEvolutionSettings,
    Linear,
    Stagnation,
)
from uaos.optimizers.de.variation import (
    choose_partners,
    cross,
    move_integers,
    mutate,
    mutate_categories,
    repair,
)
from uaos.optimizers.de.view import PopulationView
from uaos.optimizers.registration import register
from uaos.result import Result
from uaos.selection.method import Method
from uaos.selection.selector import Selector
from uaos.statefile import SavedState
from uaos.text import count

# The most differences in the formula of a strategy.
_DIFFERENCES = (layout.PARTNERS - 1) // 2
# The rule by which a population that does not restart stagnates.
_PATIENCE = Stagnation(spread=0.0)

#: Under noise, parents are evaluated again after this many generations.
REASSESSMENT = 3
#: The columns of the history beside those of every history.
COLUMNS = ("population", "restarts", "repairs")


@register
class DifferentialEvolution(Optimizer):
    """Differential evolution with adaptive operators.

    A generation makes one offspring for each parent: the selector chooses an operator, the operator
    makes a mutant, crossover mixes it with the parent, and the better of parent and offspring
    survives. All random numbers come from one generator, which the selector shares.

    Parameters
    ----------
    bounds, settings, seed, target, x0, history, integrality
        As for every :class:`uaos.Optimizer`.
    method : str, path, Method or Configuration, optional
        The name of a configuration (`uaos methods` lists them), a TOML file, a method or a whole
        configuration, which brings all its settings along; arguments that are given win. None is
        the recommended configuration, with a population that fits a short budget; given by its
        name, it keeps its own size.
    F, CR : float or rule, optional
        Scale of differences and crossover rate of the operators that do not set their own.
    popsize : int or str, optional
        The population size NP, or a multiple of the dimension such as "18D".
    top_NP : float or str, optional
        The share of best parents that x_pbest is one of, or "U(2/NP,0.2)" to draw it for each
        offspring.
    boundary : {"none", "clip", "reflect", "midpoint", "resample"}, optional
        What happens to a coordinate that leaves the box: it is set to the bound, mirrored at it,
        moved halfway from its parent to the bound, or drawn anew. With "none" it stays where it
        is if the box allows points outside (:class:`uaos.Box`); otherwise "none" is "midpoint".
    operators : sequence, optional
        Strategy names, :class:`uaos.Operator`, or objects with a `name` and a method
        `propose(state, parents, rng)`; or "paper", the nine strategies of the framework's paper.
    center : bool, optional
        Whether the middle of the box is in the first population.
    best_rule : {"population", "latest"}, optional
        Which point is x_best: the best parent, or the individual that now stands where the last
        generation's best offspring was made.
    archive : {"recent", "history"}, optional
        Which of the parents that lost to their offspring stay in a full archive: the newest, in
        place of a random one, or a random sample of all that ever lost.
    archive_size : float, optional
        The size of the archive in multiples of NP.
    NP_schedule : Linear, mapping or str, optional
        How the population shrinks: "constant", or :class:`uaos.optimizers.de.settings.Linear`.
    restart : Stagnation, mapping or str, optional
        When to start afresh: "none", "stagnation", or
        :class:`uaos.optimizers.de.settings.Stagnation`.
    budget : int, optional
        The largest number of evaluations. Without one, a population schedule runs over 10 000·D
        evaluations.

    Examples
    --------
    >>> import uaos
    >>> de = uaos.DifferentialEvolution([(-5, 5)] * 2, method="JADE", popsize=20, seed=1, budget=99)
    >>> while not de.done:
    ...     X = de.ask()                      # points to evaluate, (n, D); n may change
    ...     de.tell((X**2).sum(axis=1))       # one value for each, NaN for a failure
    >>> de.result.nfev
    99
    """

    name: ClassVar[str] = "DE"
    keeps_inside: ClassVar[bool] = True
    handles: ClassVar[tuple[str, ...]] = ("constraints", "integrality", "categories")
    starts_together: ClassVar[bool] = True
    single_run: ClassVar[Mapping[str, str]] = MappingProxyType({"restart": "none"})

    settings_class: ClassVar[type[DifferentialEvolutionSettings]] = DifferentialEvolutionSettings
    listed: ClassVar[bool] = False  # its configurations are
    selects: ClassVar[bool] = True
    section: ClassVar[str] = "de"
    state_names: ClassVar[tuple[str, ...]] = (
        "pool", "population", "epoch", "relaxation", "offspring", "rates", "selector",
        "asked_probabilities",
    )  # fmt: skip
    batch_names: ClassVar[tuple[str, ...]] = ("offspring", "asked_probabilities")
    settings: DifferentialEvolutionSettings
    #: Random numbers of each offspring beyond those that `layout` lists, for a subclass.
    further_columns: ClassVar[int] = 0

    @classmethod
    def needs_method(cls, settings: OptimizerSettings) -> bool:  # noqa: D102 (see Optimizer)
        return settings.alternatives > 1

    def _choose_settings(
        self, settings: object, method: Any, changes: Mapping[str, object]
    ) -> tuple[DifferentialEvolutionSettings, Method | None]:
        if settings is not None:
            base = self.settings_class.of(settings)
            chosen = method
            if not (method is None or isinstance(method, Method)):
                chosen = as_configuration(method).method
        else:
            configuration = as_configuration(RECOMMENDED if method is None else method)
            chosen = configuration.method
            if configuration.optimizer != self.name:
                raise InvalidParameter(
                    f"method {configuration.name!r} is a configuration of "
                    f"{configuration.optimizer}; expected one of differential evolution. Use it "
                    "with uaos.minimize, or its build()",
                    name="method", value=configuration.name,
                )  # fmt: skip
            base = self.settings_class.of(configuration.settings)
            sized = any(changes.get(name) is not None for name in ("popsize", "NP"))
            if method is None and not sized:
                base = _fitted(base, self.dimension, self.budget)
        return resolve(base, chosen, changes, self.dimension, self.budget), chosen

    def _start(self) -> None:
        settings = self.settings
        self.pool = Pool(settings)
        if self.history is not None:
            self.history = History(self.pool.names, COLUMNS)
        self._horizon = DEFAULT_PER_DIMENSION * self.dimension
        self._NP_end: int | None = None
        if isinstance(settings.NP_schedule, Linear):
            self._NP_end = settings.NP_schedule.end(self.dimension, self.pool.members)
        NP = settings.population_size(self.dimension, self.budget)
        self._begin(NP, self.evaluations, self.x0, settings.center)

    # An epoch

    def _begin(
        self, NP: int, start: int, x0: FloatArray | None = None, center: bool = False
    ) -> None:
        """Start with a new population, archive, rules and selector, after `start` evaluations."""
        low, high = self.region.draw(self.rng, NP)
        points = low + self.rng.random((NP, self.dimension)) * (high - low)
        points = np.clip(points, self.low, self.high)  # rounding may step outside
        if x0 is not None:
            if len(x0) > NP:
                raise InvalidParameter(
                    f"x0 has {len(x0)} points; expected at most {NP}, the population size",
                    name="x0", value=f"{len(x0)} points",
                )  # fmt: skip
            points[: len(x0)] = x0
        elif center:
            points[0] = (self.low + self.high) / 2.0
        end = self.budget or self._horizon
        if end <= start:  # an unlimited run that went on past its horizon
            end = start + self._horizon
        self.epoch = Epoch(start, end - start)
        self.population = Population(
            points, self.low, self.high, self.settings, self.pool.uses_archive
        )
        self.relaxation = Relaxation(self.population, self.epoch)
        left = None if self.budget is None else max(1, self.budget - start - NP)
        self.selector = self._new_selector(left)
        self.asked_probabilities = np.zeros(len(self.pool.members))
        self._leader_counts = np.zeros(0, np.int64)
        self.rates = RateMemory(self.pool.rules)
        columns = layout.CROSS + self.dimension + self.settings.top_drawn + self.further_columns
        columns += self.dimension if self.settings.boundary == "resample" else 0
        self.offspring = Offspring(columns)

    def _new_selector(self, budget: int | None) -> Selector | SingleOperator:
        """Return the selector of an epoch with `budget` evaluations after its first population."""
        if len(self.pool.members) == 1:
            return SingleOperator()
        assert self.method is not None  # `resolve` has checked it
        horizon = self._horizon if budget is None else budget
        return self.method.selector(len(self.pool.members), seed=self.rng, budget=horizon)

    @property
    def generation(self) -> int:
        """Generations so far, without the evaluation of initial populations."""
        return self.iterations

    @property
    def operators(self) -> tuple[str, ...]:
        """Names of the operators."""
        return self.pool.names

    @property
    def probabilities(self) -> FloatArray:
        """Current probabilities of the operators."""
        return self.selector.probabilities

    @property
    def capacity(self) -> int:
        """Population size NP."""
        return self.population.NP

    @property
    def epsilon(self) -> float:  # noqa: D102 (see Optimizer)
        return min(self.relaxation.epsilon, feasibility.UNLIMITED)

    @property
    def candidates(self) -> FloatArray:
        """The best parent, the mean of all, and the best point."""
        if not self.epoch.started:
            return super().candidates
        population = self.population
        best, rows = population.rows[population.order[0]], population.rows[: population.NP]
        with np.errstate(over="ignore", invalid="ignore"):
            mean = rows.mean(0)
        mean = np.where(np.isfinite(mean), mean, (rows / len(rows)).sum(0))  # if the sum overflows
        mean = np.clip(mean, rows.min(0), rows.max(0))
        return np.vstack([self.rounded(np.array([best, mean])), super().candidates])

    @property
    def view(self) -> PopulationView:
        """Present state of the run, as callbacks and custom operators see it."""
        return PopulationView(self)

    @property
    def _weak_view(self) -> PopulationView:
        """View for custom operators, which does not keep the run in memory."""
        return PopulationView(weakref.proxy(self))

    # A generation: ask

    def _propose(self) -> FloatArray:
        if self.epoch.started:
            self._prepare()  # may shrink the population, or restart with a new one
        # A new population has no fitness yet; if values are noisy, fitness is measured again.
        if not self.epoch.started or self._reassesses():
            return self.population.rows[: self._affordable(self.population.NP)].copy()
        if self.history is not None:
            self.asked_probabilities = self.selector.probabilities
        operators = self.selector.select(self._affordable(self._offspring_count()))
        return self._make_offspring(operators)

    def _reassesses(self) -> bool:
        """Return whether it is time to evaluate the parents again, because values are noisy.

        A parent stays as long as its offspring look worse. Where values are noisy, those with the
        luckiest values stay, unless new values show what they are.
        """
        epoch, plain = self.epoch, not self.incumbent.constrained
        due = self.noise.strong and plain and self.iterations % REASSESSMENT == 0
        epoch.reassessing = due and not epoch.reassessed
        epoch.reassessed = epoch.reassessing
        return epoch.reassessing

    def _affordable(self, n: int) -> int:
        """Return n, or what is left of the budget: then only the first parents have offspring."""
        return n if self.remaining is None else min(n, self.remaining - self.points_out)

    def _offspring_count(self) -> int:
        """Return how many offspring a generation has."""
        return self.population.NP

    def _make_offspring(self, operators: IntArray) -> FloatArray:
        """Make offspring i from parent i by `operators[i]`."""
        self.offspring.draw(operators, self.rng)
        self._draw_rates()
        partners = self._choose_partners()
        mutants = self._mutate(partners)
        points = self._cross(mutants)
        self._repair(points)
        self._add_custom(points)
        if self.integers is not None:
            parents = self._parents()
            move_integers(
                points, parents, self.integers, self.categories, self.low, self.high, self.rng
            )
        return points

    # The steps of a generation, each of which a subclass may replace

    def _parents(self) -> FloatArray:
        """Return the parent of each offspring."""
        return self.population.rows[: len(self.offspring.operators)]

    def _draw_rates(self) -> None:
        """Draw F and CR of each offspring."""
        offspring = self.offspring
        self.rates.draw(
            self.pool.table, offspring.operators, offspring.uniforms, offspring.F, offspring.CR
        )

    def _leaders(self) -> IntArray:
        """Return, for each offspring, how many of the best parents x_pbest is one of."""
        NP, n, settings = self.population.NP, len(self.offspring.operators), self.settings
        if not settings.top_drawn:
            if len(self._leader_counts) != n:  # the same as long as NP is
                self._leader_counts = np.full(n, min(NP, max(2, round(settings.top * NP))))
            return self._leader_counts
        u = self.offspring.uniforms[:, layout.CROSS + self.dimension]
        drawn = 2.0 / NP + u * (settings.top - 2.0 / NP)
        return np.clip(np.rint(drawn * NP), 2, NP).astype(np.int64)

    def _choose_partners(self) -> IntArray:
        """Choose the partners of each mutant: rows of the population and its archive."""
        population, offspring = self.population, self.offspring
        partners = np.empty((len(offspring.operators), layout.PARTNERS), np.int64)
        choose_partners(
            offspring.operators, self.pool.roles, population.order, population.best_index,
            population.NP_start, population.archived, self._leaders(), offspring.uniforms, partners,
        )  # fmt: skip
        return partners

    def _mutate(self, partners: IntArray) -> FloatArray:
        """Return the mutants that partners make by the formulas of their operators."""
        mutants = np.empty((len(partners), self.dimension))
        mutate(
            self.population.rows, partners, self.offspring.operators, self.pool.differences,
            self.offspring.F, mutants,
        )  # fmt: skip
        if self.categories is not None:
            uniforms = self.rng.random((len(partners), len(self.categories), _DIFFERENCES))
            mutate_categories(
                self.population.rows, partners, self.offspring.operators, self.pool.differences,
                self.offspring.F, self.categories, uniforms, mutants,
            )  # fmt: skip
        return mutants

    def _cross(self, mutants: FloatArray) -> FloatArray:
        """Return offspring that take some coordinates from mutants and the others from parents."""
        points = np.empty_like(mutants)
        cross(self._parents(), mutants, self.offspring.CR, self.offspring.uniforms, points)
        return points

    def _repair(self, points: FloatArray) -> None:
        """Bring offspring back into the box."""
        boundary, uniforms = BOUNDARIES[self.settings.boundary], self.offspring.uniforms
        self.offspring.repairs = repair(
            points, self._parents(), self.low, self.high, boundary, uniforms
        )

    def _add_custom(self, points: FloatArray) -> None:
        """Put in the offspring that custom operators propose, repaired."""
        boundary = BOUNDARIES[self.settings.boundary]
        for k, operator in self.pool.custom.items():
            own = np.flatnonzero(self.offspring.operators == k)
            if not len(own):
                continue
            proposed = custom.proposals(operator, self._weak_view, own, self.rng)
            spare = np.zeros(proposed.shape)
            if boundary == layout.RESAMPLE:
                self.rng.random(out=spare)
            parents = self.population.rows[own]
            self.offspring.repairs += repair(
                proposed, parents, self.low, self.high, boundary, spare
            )
            points[own] = proposed

    # A generation: tell

    def _learn(self, points: FloatArray, values: FloatArray) -> None:
        if not self.epoch.started:
            self._enter(values)
            return
        if self.epoch.reassessing:
            self.iterations -= 1  # it is not a generation
            self.population.reassess(values)
            return
        parents, offspring = self._compare(values)
        self.selector.learn(self.offspring.operators, parents, offspring)
        self._learn_rates(parents, offspring)
        if self.pool.custom:
            custom.report_outcomes(
                self.pool.custom, self._weak_view, self.offspring.operators, points, offspring,
                parents,
            )  # fmt: skip
        self._survive(points, values)
        self._record()

    def _compare(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the fitness that parents and offspring are compared by."""
        if self.violations is not None:
            return self.relaxation.compare(values, self.violations)
        return self.population.fitness[: len(values)], values

    def _learn_rates(self, parents: FloatArray, offspring: FloatArray) -> None:
        """Let the rules for F and CR learn, from the fitness of parents and offspring."""
        drawn = self.offspring
        self.rates.learn(self.pool.table, drawn.operators, parents, offspring, drawn.F, drawn.CR)

    def _survive(self, points: FloatArray, values: FloatArray) -> None:
        """Let offspring take their parents' places."""
        constrained = self.violations is not None
        # Under constraints, violations are compared as well as values.
        survival = self.relaxation if constrained else self.population
        best = survival.survive(points, values, self.offspring)
        if best is not None:
            self.population.latest = best
        if constrained:
            self.relaxation.lower(self.evaluations)
        else:
            self.epoch.note(np.inf if best is None else values.item(best))

    def _enter(self, values: FloatArray) -> None:
        """Take in the initial population."""
        self.iterations -= 1  # it does not count as a generation
        population, epoch = self.population, self.epoch
        population.enter(values)
        if self.violations is None:
            epoch.note(float(population.fitness[population.order[0]]))
        else:
            self.relaxation.start(self.violations, self.evaluations)
        epoch.started, epoch.since_better = True, 0

    def _record(self) -> None:
        """Add the generation to the history."""
        if self.history is not None:
            counts = np.bincount(self.offspring.operators, minlength=len(self.pool.members))
            numbers = (
                self.best_fitness, self.evaluations, self.iterations, self.population.NP,
                self.restarts, self.offspring.repairs,
            )  # fmt: skip
            self.history.append(numbers, counts, self.asked_probabilities)

    # Between generations: population schedule, restart, convergence

    def _prepare(self) -> None:
        """Resize the population by its schedule, or start afresh."""
        population, epoch, rule = self.population, self.epoch, self.settings.restart
        schedule, end = self.settings.NP_schedule, self._NP_end
        if isinstance(schedule, Linear) and end is not None and end < population.NP:
            spent = self.evaluations - epoch.start
            NP = schedule.size(population.NP_start, end, spent, epoch.length)
            if NP < population.NP:
                self._shrink(NP)
        if isinstance(rule, Stagnation) and epoch.is_stagnating(rule, population):
            self.restarts += 1
            least = max(4, least_population(self.pool.members)[0])
            NP = min(MOST_PARENTS, max(least, round(population.NP_start * rule.growth)))
            self._begin(NP, self.evaluations)

    def _shrink(self, NP: int) -> None:
        """Let the worst leave the population."""
        self.population.resize(NP, self.rng)

    @property
    def patience(self) -> Stagnation:
        """Rule by which the population stagnates, even if it does not restart."""
        rule = self.settings.restart
        return rule if isinstance(rule, Stagnation) else _PATIENCE

    @property
    def converged(self) -> bool:
        """True if the population has converged or stagnates.

        Converged: std f <= atol + tol·|mean f|. Stagnating: as the restart rule says, or by
        default after 200 generations without a better best.
        """
        population = self.population
        if not self.epoch.started:
            return False
        if self.epoch.is_stagnating(self.patience, population):
            return True
        return population.may_have_converged(self.atol, self.tol) and self.convergence > 1

    @property
    def doubt(self) -> str:  # noqa: D102 (see Optimizer)
        if self.convergence > 1:
            return ""
        idle = count(self.epoch.since_better, "generation")
        return f"no improvement for {idle}; not confirmed by a second search"

    @property
    def convergence(self) -> float:
        """(atol + tol·|mean f|) / std f of the population: above 1 once it has converged."""
        return self.population.convergence(self.atol, self.tol) if self.epoch.started else 0.0

    # Several batches at a time

    @property
    def overlaps(self) -> bool:  # noqa: D102 (see Optimizer)
        # Parents of a batch must still be there when its values are told.
        return self.epoch.started and not isinstance(self.settings.NP_schedule, Linear)

    def set_aside(self) -> Batch:  # noqa: D102
        batch = super().set_aside()
        self.offspring = Offspring(batch.notes["offspring"].uniforms.shape[1])
        return batch

    @property
    def result(self) -> Result:
        """Best point so far, and the population."""
        population = self.population
        if not self.epoch.started:
            return super().result
        return dataclasses.replace(
            super().result, population=self.rounded(population.rows[population.order]),
            population_energies=population.fitness[population.order],
        )  # fmt: skip

    # Exact resume

    def restore(self, state: SavedState) -> None:  # noqa: D102 (see Optimizer)
        saved.check(self, state)
        self._begin(state["population"]["NP_start"], state["epoch"]["start"])
        super().restore(state)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, operators: Sequence[CustomOperator] = ()
    ) -> Self:
        """Return a run that continues where the saved one stood.

        Parameters
        ----------
        path : path-like
            The file that :meth:`save` wrote.
        operators : sequence, optional
            The custom operators of the pool, again: code is not saved.
        """
        passed = as_members(operators) if operators else ()
        own = {member.name: member for member in passed if not isinstance(member, Operator)}
        return load_run(cls, path, own)

    def __repr__(self) -> str:
        sizes = f"{count(len(self.operators), 'operator')}, {count(self.evaluations, 'evaluation')}"
        return f"<DifferentialEvolution: {sizes}, best {self.best_fitness:g}>"


# Settings from the arguments of a run


def resolve(
    settings: DifferentialEvolutionSettings,
    method: Method | None,
    changes: Mapping[str, object],
    dimension: int,
    budget: int | None,
) -> DifferentialEvolutionSettings:
    """Return the settings with the changes that are not None, checked for a run."""
    try:
        changed = settings.changed(changes)
        check_population(changed.population_size(dimension, budget), changed.members)
    except InvalidParameter as error:
        if changes.get("popsize") is None or error.name != "NP":
            raise
        # Among settings it is NP, as an argument popsize.
        message = str(error).replace("NP", "popsize", 1)
        raise InvalidParameter(message, name="popsize", value=error.value) from None
    if method is None and changed.alternatives > 1:
        raise InvalidParameter(
            f"operators is {list(changed.names)}; expected one operator, as there is no method to "
            "choose among several. Give one, or another method=",
            name="operators", value=list(changed.names),
        )  # fmt: skip
    for role in ("F", "CR"):
        value = changes.get(role)
        if value is not None and not any(_leaves_open(m, role) for m in changed.operators):
            raise InvalidParameter(
                f"{role} is {shortened(value)}, but every operator of the pool has its own "
                f"{role}. Give operators= as well, or another method",
                name=role, value=value,
            )  # fmt: skip
    return changed


def _fitted(
    settings: DifferentialEvolutionSettings, dimension: int, budget: int | None
) -> DifferentialEvolutionSettings:
    """Return the recommended settings, with a smaller population if the budget is short.

    The recommended NP is 10·D; over few generations a smaller population does better.
    """
    if budget is None:
        return settings
    fitted = dataclasses.replace(settings, NP=None)
    usual = settings.population_size(dimension, budget)
    return fitted if fitted.population_size(dimension, budget) < usual else settings


def _leaves_open(member: object, role: str) -> bool:
    """Return whether an operator has no F or CR of its own."""
    return isinstance(member, Operator) and getattr(member, role) is None
