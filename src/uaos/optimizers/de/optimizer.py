"""Differential evolution whose operators are chosen by a selector: the loop.

An *epoch* is what lies between two restarts; its first batch is the initial population, each later
one the offspring of a generation.
"""

import dataclasses
import math
import os
import weakref
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from uaos.errors import InvalidFeedback, InvalidParameter
from uaos.history import History
from uaos.optimizers.base import Array, Optimizer, register
from uaos.optimizers.catalogue import RECOMMENDED, as_configuration
from uaos.optimizers.de import saved
from uaos.optimizers.de.operators import (
    CustomOperator,
    Operator,
    as_members,
    check_population,
    least_population,
)
from uaos.optimizers.de.population import Epoch, Population, Relaxation
from uaos.optimizers.de.settings import MOST_PARENTS, Linear, Settings, Stagnation
from uaos.optimizers.de.variation import Pool, SingleOperator, Variation
from uaos.optimizers.de.view import PopulationView
from uaos.optimizers.local import LocalSearch
from uaos.optimizers.settings import OptimizerSettings
from uaos.problems.space import start_points
from uaos.selection.method import Method
from uaos.text import count

# When a population that does not restart is taken to stagnate.
_PATIENCE = Stagnation(spread=0.0)


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
    boundary : {"none", "clip", "reflect", "midpoint", "resample", "mixed"}, optional
        What happens to a coordinate that leaves the box. "mixed": each generation draws one of
        midpoint, clip and resample.
    operators : sequence, optional
        Strategy names, :class:`uaos.Operator`, or objects with a `name` and a method
        `propose(state, parents, rng)`; or "paper", the nine strategies of the framework's paper.
    center : bool, optional
        Whether the middle of the box is in the first population.
    best_rule : {"population", "latest"}, optional
        Who x_best is: the best parent, or the individual that now stands where the last
        generation's best offspring was made.
    archive : {"recent", "history"}, optional
        Which of the parents that lost to their offspring stay in a full archive: the newest, in
        place of a random one, or a random sample of all that ever lost.
    archive_size : float, optional
        The size of the archive in multiples of NP.
    schedule : Linear, mapping or str, optional
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
    handles: ClassVar[tuple[str, ...]] = ("constraints", "integrality")
    starts_together: ClassVar[bool] = True
    single_run: ClassVar[Mapping[str, str]] = MappingProxyType({"restart": "none"})

    settings_class: ClassVar[type[OptimizerSettings]] = Settings
    listed: ClassVar[bool] = False  # its configurations are
    selects: ClassVar[bool] = True
    section: ClassVar[str] = "de"
    settings: Settings

    @classmethod
    def needs_method(cls, settings: OptimizerSettings) -> bool:  # noqa: D102 (see Optimizer)
        return settings.alternatives > 1

    def _choose_settings(
        self, settings: object, method: Any, changes: Mapping[str, object]
    ) -> tuple[Settings, Method | None]:
        if settings is not None:
            base = Settings.of(settings)
            chosen = method
            if not (method is None or isinstance(method, Method)):
                chosen = as_configuration(method).method
        else:
            configuration = as_configuration(RECOMMENDED if method is None else method)
            base, chosen = configuration.settings, configuration.method
            if not isinstance(base, Settings):
                raise InvalidParameter(
                    f"method {configuration.name!r} is a configuration of "
                    f"{configuration.optimizer}; expected one of differential evolution. Use it "
                    "with uaos.minimize, or its build()",
                    name="method", value=configuration.name,
                )  # fmt: skip
            sized = any(changes.get(name) is not None for name in ("popsize", "NP"))
            if method is None and not sized:
                base = _fitted(base, self.dimension, self.budget)
        return resolve(base, chosen, changes, self.dimension, self.budget), chosen

    def _checked_starts(self, x0: ArrayLike | None) -> Array | None:
        return start_points(x0, self.low, self.high, self.settings.boundary)

    def _start(self) -> None:
        settings = self.settings
        self.pool = Pool(settings)
        if self.history is not None:
            self.history = History(self.pool.names, COLUMNS)
        self._horizon = DEFAULT_BUDGET * self.dimension
        self._NP_end: int | None = None
        if isinstance(settings.schedule, Linear):
            self._NP_end = settings.schedule.end(self.dimension, self.pool.members)
        self._takes_turns = (
            self.method is not None
            and self.method.scope == "generation"
            and len(self.pool.members) > 1
        )
        NP = settings.population_size(self.dimension, self.budget)
        self._begin(NP, self.evaluations, self.x0, settings.center)

    # An epoch

    def _begin(self, NP: int, start: int, x0: Array | None = None, center: bool = False) -> None:
        """Start with a new population, archive, rules and selector, after `start` evaluations."""
        points = self.low + self.rng.random((NP, self.dimension)) * (self.high - self.low)
        points = np.clip(points, self.low, self.high)  # rounding may step outside
        if x0 is not None:
            if len(x0) > NP:
                raise InvalidParameter("x0", f"{len(x0)} points", f"at most NP = {NP} points")
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
        # A proxy, so that a run that nobody needs is freed at once, with its arrays.
        view = PopulationView(weakref.proxy(self)) if self.pool.custom else None
        self.variation = Variation(
            self.pool, self.settings, self.population, self.epoch, view, self.rng,
            self._takes_turns,
        )  # fmt: skip
        self.local = LocalPhase(self.settings.local_search, self.low, self.high)

    def _new_selector(self, budget: int | None) -> Any:
        """The selector of an epoch; `budget`: evaluations after its first population."""
        if len(self.pool.members) == 1:
            return SingleOperator()
        assert self.method is not None  # `resolve` has checked it
        horizon = self._horizon if budget is None else budget
        return self.method.selector(len(self.pool.members), seed=self.rng, budget=horizon)

    @property
    def generation(self) -> int:
        """Generations so far; the evaluation of an initial population is none."""
        return self.iterations

    @property
    def operators(self) -> tuple[str, ...]:
        """The names of the operators."""
        return self.pool.names

    @property
    def probabilities(self) -> Array:
        """The operators' current probabilities."""
        probabilities: Array = self.selector.probabilities
        return probabilities

    @property
    def capacity(self) -> int:
        """The population size NP."""
        return self.population.NP

    @property
    def epsilon(self) -> float:  # noqa: D102 (see Optimizer)
        return self.relaxation.epsilon

    @property
    def view(self) -> PopulationView:
        """The run as it is now, as callbacks and custom operators see it."""
        return PopulationView(self)

    # A generation: ask

    def _propose(self) -> Array:
        if self.local.search is not None:
            return self.local.search.ask()
        if self.epoch.started:
            self._prepare()
        population = self.population
        # The budget is exact: in the last generation only the first parents have offspring.
        n = population.offspring if self.epoch.started else population.NP
        if self.budget is not None:
            n = min(n, self.budget - self.evaluations)
        if not self.epoch.started:
            return population.rows[:n].copy()
        if self.history is not None:
            self.asked_probabilities = self.selector.probabilities
        operators = self.selector.select(n)
        offspring = self.variation.vary(operators, self.evaluations)
        if self.integers is not None:
            self.variation.vary_integers(offspring, self.integers)
        return offspring

    # A generation: tell

    def _learn(self, points: Array, values: Array) -> None:
        if not self.epoch.started:
            self._enter(values)
            return
        if self.local.search is not None:
            self.local.learn(values, self.population, self.epoch)
            self._record(np.zeros(len(self.pool.members), np.int64), repairs=0)
            return
        population, variation, violations = self.population, self.variation, self.violations
        batch, evaluations = variation.batch, self.evaluations
        # Compare: what the offspring compete with, and their own values.
        offspring, places = values, None
        if violations is not None:
            parents, offspring = self.relaxation.compare(values, violations)
        elif population.newest:
            parents = population.fitness[batch.parents]
        elif variation.replaces_worst():
            parents, places = population.against_worst(values)
        else:
            parents = population.fitness[: len(values)]
        # Learn.
        self.selector.learn(batch.operators, parents, offspring)
        variation.learn(points, offspring, parents, evaluations)
        # Survive.
        counts = np.zeros(len(self.pool.members), np.int64)
        capacity = population.capacity if variation.uses_archive() else 0
        if places is not None:
            best = population.replace_worst(points, values, places, batch, counts)
        elif population.newest:
            best = population.survive_newest(points, values, batch, counts)
        else:
            if self.pool.follows_success:
                survived = np.count_nonzero(offspring <= parents)
                population.success_rate = float(survived) / len(values)
            survival = population if violations is None else self.relaxation
            best = survival.survive(points, values, batch, capacity, counts)
        if best >= 0:
            population.latest = best
        if violations is None:
            self.epoch.note(values.item(best) if best >= 0 else np.inf)
        else:
            self.relaxation.lower(evaluations)
        variation.follow(evaluations)
        self._record(counts, batch.repairs)
        if self.settings.local_search > 0.0 and violations is None and self.integers is None:
            self.local.start(population, self.epoch, evaluations, self.rng)

    def _enter(self, values: Array) -> None:
        """Take in the initial population."""
        self.iterations -= 1  # it is no generation
        population, epoch = self.population, self.epoch
        population.enter(values)
        if self.violations is None:
            epoch.note(float(population.fitness[population.order[0]]))
        else:
            self.relaxation.start(self.violations, self.evaluations)
        epoch.started, epoch.since_better = True, 0

    def _record(self, counts: Array, repairs: int) -> None:
        if self.history is not None:
            numbers = (
                self.best_fitness, self.evaluations, self.iterations, self.population.NP,
                self.restarts, repairs,
            )  # fmt: skip
            self.history.append(numbers, counts, self.asked_probabilities)

    def _checked_violations(self, violations: Any, n: int) -> Array | None:
        if violations is not None and self.population.newest:
            raise InvalidFeedback('survival="newest" takes no constraints. Nothing was changed')
        return super()._checked_violations(violations, n)

    # Between generations: population schedule, restart, convergence

    def _prepare(self) -> None:
        """Resize the population by its schedule, or start afresh."""
        population, epoch, rule = self.population, self.epoch, self.settings.restart
        schedule, end = self.settings.schedule, self._NP_end
        if isinstance(schedule, Linear) and end is not None and end < population.NP:
            spent = self.evaluations - epoch.start
            NP = schedule.size(population.NP_start, end, spent, epoch.length)
            if NP < population.NP:
                self.variation.keep(population.resize(NP, self.rng))
        if isinstance(rule, Stagnation) and epoch.is_stagnating(rule, population):
            self.restarts += 1
            least = max(4, least_population(self.pool.members)[0])
            NP = min(MOST_PARENTS, max(least, round(population.NP_start * rule.growth)))
            self._begin(NP, self.evaluations)

    @property
    def patience(self) -> Stagnation:
        """When the population is taken to stagnate, even if it does not restart."""
        rule = self.settings.restart
        return rule if isinstance(rule, Stagnation) else _PATIENCE

    @property
    def converged(self) -> bool:
        """Whether the population has converged or stagnates.

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
    def convergence(self) -> float:
        """(atol + tol·|mean f|) / std f of the population: above 1 once it has converged."""
        return self.population.convergence(self.atol, self.tol) if self.epoch.started else 0.0

    # Exact resume

    def state(self) -> dict[str, Any]:  # noqa: D102 (see Optimizer)
        state = super().state()
        state |= saved.arrays(self) | self.variation.state() | self.local.state()
        return state | {"selector": self.selector.state()}

    def restore(self, state: Mapping[str, Any]) -> None:  # noqa: D102
        saved.check(self, state)
        super().restore(state)
        self._begin(state["NP_start"], state["_epoch_start"])
        saved.fill(self, state)
        self.selector.restore(state["selector"])
        self.variation.restore(state)
        self.local.restore(state)
        # Last, for all parts have the same generator.
        self.rng.bit_generator.state = state["rng"]

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
        custom = {one.name: one for one in passed if not isinstance(one, Operator)}
        return cls._load(path, custom)

    def __repr__(self) -> str:
        sizes = f"{count(len(self.operators), 'operator')}, {count(self.evaluations, 'evaluation')}"
        return f"<DifferentialEvolution: {sizes}, best {self.best_fitness:g}>"


# What the arguments of a run mean


def resolve(
    settings: Settings,
    method: Method | None,
    changes: Mapping[str, object],
    dimension: int,
    budget: int | None,
) -> Settings:
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
        value, pool = changes.get(role), changed.pool or ()
        if value is not None and pool and not any(_open(m, role) for m in pool):
            raise InvalidParameter(
                f"{role} is {value!r}, but every operator of the pool has its own {role}. Give "
                "operators= as well, or another method",
                name=role, value=value,
            )  # fmt: skip
    return changed


def _fitted(settings: Settings, dimension: int, budget: int | None) -> Settings:
    """Return the recommended settings, with a smaller population if the budget is short.

    The recommended NP is 10·D; over few generations a smaller population does better.
    """
    if budget is None:
        return settings
    fitted = dataclasses.replace(settings, NP=None)
    usual = settings.population_size(dimension, budget)
    return fitted if fitted.population_size(dimension, budget) < usual else settings


def _open(member: object, role: str) -> bool:
    return isinstance(member, Operator) and getattr(member, role) is None


# Local searches from the best point, late in a run. Sallam et al. (2020), IMODE.

# A generation is followed by a local search with the first probability, with the second after one
# that failed; the search may take this share of the run's evaluations.
_CHANCES, _SHARE = (0.1, 0.01), 0.02


class LocalPhase:
    """The local searches of a population."""

    def __init__(self, after: float, low: Array, high: Array) -> None:
        self._after, self._box = after, np.stack([low, high], axis=1)
        self.chance = _CHANCES[0]
        self.search: LocalSearch | None = None  # that which is under way

    def start(
        self, population: Population, epoch: Epoch, evaluations: int, rng: np.random.Generator
    ) -> None:
        """After a generation late in the run, perhaps improve the best point."""
        spent, whole = evaluations - epoch.start, epoch.length
        if self._after * whole < spent < whole and rng.random() < self.chance:
            budget = min(math.ceil(_SHARE * whole), whole - spent)
            self.search = self._search(budget, population.rows[population.order[0]])

    def _search(self, budget: int, x0: Array | None) -> LocalSearch:
        return LocalSearch(self._box, seed=0, budget=budget, x0=x0, history=False, restarts=False)

    def learn(self, values: Array, population: Population, epoch: Epoch) -> None:
        """Tell the search; a better point takes the place of the worst parent once it is done."""
        search = self.search
        assert search is not None
        search.tell(values)
        if not search.done:
            return
        self.search = None
        improved = search.best_fitness < population.fitness[population.order[0]]
        self.chance = _CHANCES[0 if improved else 1]
        if improved:
            worst = population.order[-1]
            population.rows[worst], population.fitness[worst] = search.best_x, search.best_fitness
            population.sort()
            epoch.best, epoch.since_better = search.best_fitness, 0

    def state(self) -> dict[str, Any]:
        """What changes in a run."""
        search = self.search
        return {
            "_local_chance": self.chance,
            "local": None if search is None else search.state(),
            "local_budget": None if search is None else search.budget,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from what :meth:`state` returned."""
        self.chance, self.search = state["_local_chance"], None
        if state["local"] is not None:
            self.search = self._search(state["local_budget"], None)
            self.search.restore(state["local"])


#: Evaluations for each dimension where no budget is given.
DEFAULT_BUDGET = 10_000

#: What the history has beside the columns of every history.
COLUMNS = ("population", "restarts", "repairs")
