"""Differential evolution whose operators are chosen by a selector.

An *epoch* is what lies between two restarts; its first batch is the initial population, each later
one the offspring of a generation.
"""

import dataclasses
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from uaos.errors import InvalidFeedback, InvalidFile, InvalidParameter
from uaos.jit import is_compiled
from uaos.optimizers import feasibility
from uaos.optimizers.arguments import real_numbers, start_points
from uaos.optimizers.base import Array, Optimizer, register
from uaos.optimizers.catalogue import RECOMMENDED, configuration
from uaos.optimizers.configuration import Configuration
from uaos.optimizers.de import kernels, layout
from uaos.optimizers.de.generations import (
    Engine,
    Population,
    Rows,
    generations,
    may_have_converged,
)
from uaos.optimizers.de.models import (
    MODELS,
    Generation,
    Model,
    against_worst,
    eigenvectors,
    take_places,
)
from uaos.optimizers.de.operators import CustomOperator, Operator, as_members
from uaos.optimizers.de.rules import SuccessRate
from uaos.optimizers.de.settings import (
    BOUNDARIES,
    MOST_PARENTS,
    Linear,
    Pool,
    RuleMemory,
    Settings,
    Stagnation,
    check_population,
    least_population,
)
from uaos.optimizers.history import History
from uaos.optimizers.local import LocalSearch
from uaos.optimizers.result import RunView, read_only
from uaos.selection.fused import Fused, learn_nothing
from uaos.selection.method import Method
from uaos.text import count

#: What `method` may be: None for the recommended configuration, a name of the catalogue, the path
#: of a TOML file, a method (which runs with default settings) or a whole configuration.
MethodLike = None | str | os.PathLike[str] | Method | Configuration

#: Evaluations for each dimension where no budget is given.
DEFAULT_BUDGET = 10_000

#: What the history has beside the columns of every history.
COLUMNS = ("population", "restarts", "repairs")

# Above this size the order of the parents is sorted anew; below it, insertion is faster.
_INSERTION = 1024

# The three repairs of a generation under boundary="mixed".
_MIXED = (layout.MIDPOINT, layout.CLIP, layout.RESAMPLE)

# A generation is followed by a local search with the first probability, with the second after one
# that failed; the search may take this share of the run's evaluations.
_LOCAL_CHANCES, _LOCAL_SHARE = (0.1, 0.01), 0.02

# Random numbers that a compiled loop has in advance: as many as the caches hold.
_AHEAD = 2**17

# The least number of evaluations that makes up for calling a compiled loop.
_WORTHWHILE = 500

# The probability that an integer coordinate of an offspring with its parent's integers moves.
_INTEGER_STEP = 0.1

# When a population that does not restart is taken to stagnate.
_PATIENCE = Stagnation(spread=0.0)

# The level ε of the ε-constrained method starts as the violation at this quantile of the first
# population, and reaches 0 after the first share of the budget; in a short run after that many
# generations, or the second share.
_RELAXED_QUANTILE, _RELAXED_POWER = 0.2, 5.0
_RELAXED_SHARES, _RELAXED_GENERATIONS = (0.3, 0.7), 200


@register
class DifferentialEvolution(Optimizer):
    """Differential evolution with adaptive operators.

    A generation makes one offspring for each parent: the selector chooses an operator, the operator
    makes a mutant, crossover mixes it with the parent, and the better of parent and offspring
    survives. All random numbers come from one generator, which the selector shares.

    Parameters
    ----------
    bounds, seed, target, x0, history, integrality
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
        How the population shrinks: "constant", or :func:`uaos.optimizers.de.settings.linear`.
    restart : Stagnation, mapping or str, optional
        When to start afresh: "none", "stagnation", or
        :func:`uaos.optimizers.de.settings.stagnation`.
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
    state_names: ClassVar[tuple[str, ...]] = (
        "NP", "NP_start", "_capacity", "_latest", "_epoch_start", "_epoch_best", "_since_better",
        "_started", "_rows", "_fitness", "_order", "_counters", "_operators", "_F", "_CR",
        "_uniforms", "_repairs", "_asked_probabilities", "_parents", "_success_rate",
        "_elite_fitness", "_excess", "_epsilon", "_first_epsilon", "_epoch_violation",
        "_local_chance", "_rates",
    )  # fmt: skip

    def __init__(
        self,
        bounds: Any,
        *,
        method: MethodLike = None,
        F: Any = None,
        CR: Any = None,
        popsize: int | str | None = None,
        top_NP: float | str | None = None,
        boundary: str | None = None,
        operators: Sequence[Any] | str | None = None,
        center: bool | None = None,
        best_rule: str | None = None,
        archive: str | None = None,
        archive_size: float | None = None,
        schedule: Any = None,
        restart: Any = None,
        seed: int | np.random.Generator | None = None,
        budget: int | None = None,
        target: float | None = None,
        x0: Any = None,
        history: bool = True,
        integrality: Any = None,
    ) -> None:
        super().__init__(
            bounds, seed=seed, budget=budget, target=target, history=history,
            integrality=integrality,
        )  # fmt: skip
        chosen = _configuration(method)
        if method is None and popsize is None and self.budget is not None:
            # The recommended NP is 10·D; over few generations a smaller population does better.
            chosen = _fitted(chosen, self.dimension, self.budget)
        changes = {
            "F": F, "CR": CR, "NP": popsize, "top_NP": top_NP, "boundary": boundary,
            "pool": operators, "center": center, "best_rule": best_rule, "archive": archive,
            "archive_size": archive_size, "schedule": schedule, "restart": restart,
        }  # fmt: skip
        with _called_popsize(popsize):
            settings = _changed(chosen, {k: v for k, v in changes.items() if v is not None})
            self.configuration = dataclasses.replace(chosen, settings=settings)
            self.settings = settings
            self.pool = Pool(settings)
            NP = settings.population_size(self.dimension, self.budget)
            check_population(NP, self.pool.members)
        self.x0 = start_points(x0, self.low, self.high, settings.boundary)
        self.history = History(self.pool.names, COLUMNS) if history else None
        self._horizon = DEFAULT_BUDGET * self.dimension
        self._NP_end: int | None = None
        if isinstance(settings.schedule, Linear):
            self._NP_end = settings.schedule.end(self.dimension, self.pool.members)
        self._boundary = BOUNDARIES[settings.boundary]
        self._resample = settings.boundary in ("resample", "mixed")
        self._newest = settings.survival == "newest"
        self._reservoir = settings.archive == "history"
        self._takes_turns = (
            chosen.method is not None
            and chosen.method.scope == "generation"
            and len(self.pool.members) > 1
        )
        self._replacing, self._learning, self._following = (
            [name for name in self.pool.models if getattr(MODELS[name], what)]
            for what in ("replaces_worst", "learns", "follows")
        )
        marked = [
            *self.pool.models.values(),
            *(having for _, _, having in self.pool.individual_rates),
        ]
        self._special = {k for having in marked for k in having.nonzero()[0].tolist()}
        self._classic = settings.is_classic
        self._steady = self.pool.steady and (
            settings.top_drawn or not isinstance(settings.top_NP, str)
        )
        self._follows_success = any(
            isinstance(rule, SuccessRate) for rule in self.pool.moving.values()
        ) or settings.top(success_rate=0.0) != settings.top(success_rate=1.0)
        self._top, self._top_drawn, self._weight = settings.top(), settings.top_drawn, 1.0
        columns = layout.CROSS + self.dimension + int(settings.top_drawn)
        self._rank_column = columns if self.pool.uses_ranks else -1
        self._parent_column = columns + int(self.pool.uses_ranks)
        self._columns = self._parent_column + int(self._newest)
        self._columns += self.dimension if self._resample else 0
        self._nothing = np.zeros((0, self.dimension))
        self._nobody = self._everyone = np.zeros(0, np.int64)
        self._begin(NP, self.x0, settings.center)

    # An epoch

    def _begin(self, NP: int, x0: Array | None, center: bool) -> None:
        """Start with a new population, archive, rules and selector."""
        self.NP = self.NP_start = NP
        self._capacity = self._archive_capacity(NP)
        # Rows 0..NP-1 are the population, the archive follows; the last is the middle of the box.
        self._rows = np.zeros((NP + self._capacity + 1, self.dimension))
        self._rows[-1] = (self.low + self.high) / 2.0
        points = self.low + self.rng.random((NP, self.dimension)) * (self.high - self.low)
        self._rows[:NP] = np.clip(points, self.low, self.high)  # rounding may step outside
        if x0 is not None:
            if len(x0) > NP:
                raise InvalidParameter("x0", f"{len(x0)} points", f"at most NP = {NP} points")
            self._rows[: len(x0)] = x0
        elif center:
            self._rows[0] = self._rows[-1]
        self._fitness = np.full(NP, np.inf)
        self._excess = np.zeros(NP)  # the violations of the constraints, if there are any
        self._epsilon = self._first_epsilon = np.inf  # no first population has been told yet
        self._epoch_violation = np.inf
        self._order = np.arange(NP)
        self._counters = np.zeros(2, np.int64)
        self._latest = -1
        self._elite_fitness = np.zeros(0)
        self._success_rate = 0.5
        self._rules = RuleMemory(self.pool.rules, self.dimension)
        self._epoch_start = self.evaluations
        self._epoch_best = np.inf
        self._since_better = 0
        self._started = False
        self._local: LocalSearch | None = None
        self._local_chance = _LOCAL_CHANCES[0]
        # Of the generation that has been asked for.
        self._operators = self._parents = np.zeros(0, np.int64)
        self._F, self._CR = np.zeros(0), np.zeros(0)
        self._uniforms = np.zeros((0, self._columns))
        self._repairs = 0
        self._asked_probabilities = np.zeros(len(self.pool.members))
        left = None if self.budget is None else max(1, self.budget - self.evaluations - NP)
        self._selector = self._new_selector(left)
        self._models = self._new_models()
        # The F and CR that individuals keep, a row for each rule.
        self._rates = np.empty((len(self.pool.individual_rates), NP))
        for row, (rule, role, _) in zip(self._rates, self.pool.individual_rates, strict=True):
            row[:] = rule.draw(role, self.rng.random(NP))

    def _new_models(self) -> dict[str, Model]:
        """What makes x_sample in an epoch, where an operator has it."""
        if not self.pool.models:
            return {}
        _, whole = self._span()
        now, NP = self._now(), self.NP_start
        return {name: MODELS[name](now, NP, round(whole / NP)) for name in self.pool.models}

    def _now(self, rotated: bool = False) -> Generation:
        """The population as the models see it."""
        population, evaluations = self._rows[: self.NP], self.evaluations
        return Generation(
            population, self._order, evaluations, rotated, self.low, self.high, self.rng
        )

    def _new_selector(self, budget: int | None) -> Any:
        """The selector of an epoch; `budget`: evaluations after its first population."""
        if len(self.pool.members) == 1:
            return SingleOperator()
        method = self.configuration.method
        assert method is not None  # a configuration of several operators has one
        horizon = self._horizon if budget is None else budget
        return method.selector(len(self.pool.members), seed=self.rng, budget=horizon)

    def _archive_capacity(self, NP: int) -> int:
        return round(self.settings.archive_size * NP) if self.pool.uses_archive else 0

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
        probabilities: Array = self._selector.probabilities
        return probabilities

    @property
    def view(self) -> "PopulationView":
        """The run as it is now, as callbacks and custom operators see it."""
        return PopulationView(self)

    @property
    def best_index(self) -> int:
        """Where x_best stands: the best parent, or by `best_rule="latest"`."""
        if self._latest >= 0 and self.settings.best_rule == "latest":
            return self._latest
        return int(self._order[0])

    # A generation

    def _propose(self) -> Array:
        if self._local is not None:
            return self._local.ask()
        if self._started:
            self._resize()
            self._restart_if_stagnant()
        # The budget is exact: in the last generation only the first parents have offspring.
        n = self.NP if self.budget is None else min(self.NP, self.budget - self.evaluations)
        return self._vary(n) if self._started else self._rows[:n].copy()

    def _vary(self, n: int) -> Array:
        """Select an operator for each parent, and make its offspring."""
        pool, rules, settings = self.pool, self._rules, self.settings
        if self.history is not None:
            self._asked_probabilities = self._selector.probabilities
        self._operators = self._selector.select(n)
        crossover, basis = (layout.BINOMIAL, self._nothing) if self._classic else self._crossover()
        boundary = self._boundary
        if boundary == layout.MIXED:
            boundary = _MIXED[int(3 * self.rng.random())]
        if len(self._uniforms) != n:
            self._uniforms = np.empty((n, self._columns))
        uniforms = self.rng.random(out=self._uniforms)
        if len(self._everyone) < n:
            self._everyone = np.arange(n)
        self._parents = self._everyone[:n]
        if self._newest:
            self._parents = (uniforms[:, self._parent_column] * self.NP).astype(np.int64)
        if not self._steady:
            self._follow_progress()
        offspring = np.empty((n, self.dimension))
        self._F, self._CR = np.empty(n), np.empty(n)
        kernels.draw_parameters(
            self._operators, pool.table, rules.means, rules.lengths, rules.numbers, uniforms,
            self._F, self._CR,
        )  # fmt: skip
        if settings.sorted_CR:
            order = self._by_rank()
            self._CR[order[order < n]] = np.sort(self._CR)  # the best gets the smallest
        CR, samples = self._CR, self._nothing
        if not self._classic or pool.individual_rates or self._models:
            CR, samples = self._further_parameters(uniforms, crossover, basis)
        self._repairs = kernels.propose(
            self._rows, self.NP, self.NP_start, self._counters.item(layout.ARCHIVED), self._order,
            self.best_index, self._parents, self._operators, pool.table, pool.role_table, uniforms,
            self._rank_column, settings.rank_pressure, samples, self._top, self._top_drawn,
            self._weight, crossover, basis, self.low, self.high, boundary, offspring, self._F, CR,
            self._CR,
        )  # fmt: skip
        for k, operator in pool.custom.items():
            made = np.flatnonzero(self._operators == k)
            if len(made):
                parents = self._parents[made]
                offspring[made] = self._custom_offspring(operator, parents)
                shape = (len(made), self.dimension)
                spare = self.rng.random(shape) if self._resample else np.zeros(shape)
                self._repairs += kernels.enforce(
                    offspring, made, parents, self._rows, spare, self.low, self.high, boundary,
                )  # fmt: skip
        if self.integers is not None:
            self._vary_integers(offspring)
        return offspring

    def _follow_progress(self) -> None:
        """Set what depends on the share of the run that is over, or on the success rate."""
        progress, success = self._progress(), self._success_rate
        self.pool.move(progress, success)
        self._rules.move(progress)
        self._top, self._weight = self.settings.top(progress, success), _first_weight(progress)

    def _further_parameters(
        self, uniforms: Array, crossover: int, basis: Array
    ) -> tuple[Array, Array]:
        """F and CR by the rules of recipes: the CR for crossover, and x_sample of models."""
        pool, settings = self.pool, self.settings
        for row, (_, role, having) in enumerate(pool.individual_rates):
            if self._takes_turns and not having[self._operators[0]]:
                continue
            kernels.take_individual_rates(
                having, self._operators, self._parents, self._rates[row],
                self._F if role == "F" else self._CR,
            )  # fmt: skip
        samples = self._nothing
        if self._models and not self._ordinary():
            samples = self._samples(len(basis) > 0)
        CR = self._CR
        if settings.eigen_CR == "kept" and len(basis):
            rates = self._rates[[role for _, role, _ in pool.individual_rates].index("CR")]
            CR = CR.copy()
            kernels.take_individual_rates(pool.crossed, self._operators, self._parents, rates, CR)
        if settings.j_rand == "if none":
            kernels.force_none(uniforms, CR, self.dimension)
        if settings.binomial_CR == "rising" and crossover == layout.BINOMIAL:
            CR = np.full(len(CR), max(0.0, 2.0 * self._progress() - 1.0))
        return CR, samples

    def _samples(self, rotated: bool) -> Array:
        """The mutant of each offspring whose operator has a model, which may set its CR too."""
        n, samples = len(self._operators), self._nothing
        for name, model in self._models.items():
            mine = self._made_by(self.pool.models[name])
            if len(mine) == n:
                samples, CR = model.propose(self._now(rotated), self._parents, self._F)
                if CR is not None:
                    self._CR = CR
            elif len(mine):
                now = self._now(rotated)
                made, CR = model.propose(now, self._parents[mine], self._F[mine])
                if CR is not None:
                    self._CR[mine] = CR
                if len(samples) == 0:
                    samples = np.empty((n, self.dimension))
                samples[mine] = made
        return samples

    def _ordinary(self) -> bool:
        """Whether one of several operators, with neither model nor kept values, had its turn."""
        return self._takes_turns and self._operators.item(0) not in self._special

    def _made_by(self, chosen: Array) -> Array:
        """The offspring of the operators that are marked."""
        made: Array
        operators = self._operators
        if self._takes_turns or len(chosen) == 1:
            made = self._everyone[: len(operators)] if chosen[operators[0]] else self._nobody
        else:
            made = chosen[operators].nonzero()[0]
        return made

    def _crossover(self) -> tuple[int, Array]:
        """The crossover of a generation, and the axes it uses where these are not the box's."""
        chosen, basis = layout.BINOMIAL, self._nothing
        if self._happens(self.settings.exponential):
            chosen = layout.EXPONENTIAL if self.settings.exponential_wraps else layout.CUT
        if self._happens(self.settings.eigen):
            few = max(2, round(self.settings.eigen_share * self.NP))
            found = eigenvectors(self._rows, self._order[:few])
            if found is not None:
                basis = found
        return chosen, basis

    def _happens(self, chance: float) -> bool:
        """Whether something of this chance happens; what is certain takes no random number."""
        return chance > 0.0 and (chance == 1.0 or self.rng.random() < chance)

    def _by_rank(self) -> Array:
        """The offspring in the order of their parents, best first; further indices do not count."""
        if self._newest:
            return self._fitness[self._parents].argsort(kind="stable")
        return self._order

    def _vary_integers(self, offspring: Array) -> None:
        """Keep integer coordinates from stagnating.

        Of an offspring whose integers are all those of its parent, a random one moves by 1: always
        if nothing else is new either, otherwise with probability 0.1.
        """
        assert self.integers is not None
        new = self._rounded(offspring) != self._rounded(self._rows[self._parents])
        same = ~new[:, self.integers].any(axis=1)
        draws = self.rng.random((len(offspring), 3))
        for i in np.flatnonzero(same & (~new.any(axis=1) | (draws[:, 0] < _INTEGER_STEP))):
            j = self.integers[int(draws[i, 1] * len(self.integers))]
            step = 1.0 if draws[i, 2] < 0.5 else -1.0
            for moved in (offspring[i, j] + step, offspring[i, j] - step):
                if self.low[j] <= moved <= self.high[j]:
                    offspring[i, j] = moved
                    break

    def _custom_offspring(self, operator: CustomOperator, parents: Array) -> Array:
        wanted = (len(parents), self.dimension)
        expected = f"expected finite numbers, one row for each parent: {wanted}"
        proposed = operator.propose(self.view, parents, self.rng)
        try:
            made = real_numbers(proposed)
        except (TypeError, ValueError) as error:
            raise InvalidFeedback(
                f"operator {operator.name!r} proposed no array of real numbers: {error}; {expected}"
            ) from error
        if made.shape != wanted or not np.isfinite(made).all():
            raise InvalidFeedback(
                f"operator {operator.name!r} proposed an array of shape {made.shape}"
                f"{'' if made.shape != wanted else ' with values that are not finite'}; {expected}"
            )
        return made

    def _learn(self, points: Array, values: Array) -> None:
        if not self._started:
            self._enter(values)
            return
        if self._local is not None:
            self._learn_locally(values)
            return
        told = values
        parents = self._fitness[self._parents] if self._newest else self._fitness[: len(values)]
        ranks = self._fitness, values
        places: Array | None = None
        ordinary = self._ordinary()
        if self.violations is not None:
            parents, values, ranks = self._compared(told, self.violations)
        elif self._replacing and not ordinary and self._replaces_worst():
            places, parents = np.empty(len(values), np.int64), np.empty(len(values))
            against_worst(self._fitness.copy(), values, places, parents)
        self._selector.learn(self._operators, parents, values)
        rules = self._rules
        if len(rules.lengths):
            kernels.learn(
                rules.means, rules.lengths, rules.numbers, rules.turns, self.pool.table,
                self._operators, parents, values, self._F, self._CR,
            )  # fmt: skip
        for k, operator in self.pool.custom.items():
            mine = np.flatnonzero(self._operators == k)
            if len(mine) and hasattr(operator, "learn"):
                improved = values[mine] < parents[mine]  # not so for NaN
                operator.learn(self.view, self._parents[mine], points[mine], values[mine], improved)
        if not ordinary and (self._learning or self.pool.individual_rates):
            self._tell_models(points, values, values <= parents)
        counts = np.zeros(len(self.pool.members), np.int64)
        if places is not None:
            best = self._replace_worst(points, values, places, counts)
        else:
            best = self._survive(points, told, values, parents, ranks, counts)
        for name in self._following:
            self._models[name].follow(self._now())
        if best >= 0:
            self._latest = best
        self._since_better += 1
        if self.violations is not None:
            self._note_epoch_best()
        elif best >= 0 and values[best] < self._epoch_best:
            self._epoch_best = float(values[best])
            self._since_better = 0
        if self.history is not None:
            self.history.append(
                (self.best_fitness, self.evaluations, self.iterations, self.NP, self.restarts,
                 self._repairs),
                counts, self._asked_probabilities,
            )  # fmt: skip
        if self.settings.local_search > 0.0:
            self._start_local_search()

    # Local search

    def _start_local_search(self) -> None:
        """After a generation late in the run, perhaps improve the best point by a local search."""
        spent, whole = self._span()
        late = self.settings.local_search * whole < spent < whole
        if not late or self._constrained or self.integers is not None:
            return
        if self._happens(self._local_chance):
            evaluations = min(math.ceil(_LOCAL_SHARE * whole), whole - spent)
            self._local = self._new_local_search(evaluations, self._rows[self._order[0]])

    def _new_local_search(self, budget: int, x0: Array | None) -> LocalSearch:
        box = np.stack([self.low, self.high], axis=1)
        return LocalSearch(box, seed=0, budget=budget, x0=x0, history=False, restarts=False)

    def _learn_locally(self, values: Array) -> None:
        local = self._local
        assert local is not None
        local.tell(values)
        if local.done:
            self._local = None
            improved = local.best_fitness < self._fitness[self._order[0]]
            self._local_chance = _LOCAL_CHANCES[0 if improved else 1]
            if improved:
                worst = self._order[-1]
                self._rows[worst], self._fitness[worst] = local.best_x, local.best_fitness
                self._order = self._sorted()
                self._epoch_best, self._since_better = local.best_fitness, 0
        self.record(
            counts=np.zeros(len(self.pool.members), np.int64),
            probabilities=self._asked_probabilities, population=self.NP, restarts=self.restarts,
            repairs=0,
        )  # fmt: skip

    def _tell_models(self, points: Array, values: Array, survived: Array) -> None:
        """Let models learn from their offspring, and individuals whose offspring failed redraw."""
        for name in self._learning:
            mine = self._made_by(self.pool.models[name])
            if len(mine) == len(values):
                self._models[name].learn(self._now(), points, values, survived)
            elif len(mine):
                self._models[name].learn(self._now(), points[mine], values[mine], survived[mine])
        for rates, (rule, role, having) in zip(
            self._rates, self.pool.individual_rates, strict=True
        ):
            if self._takes_turns and not having[self._operators[0]]:
                continue
            failed = kernels.failed_keepers(having, self._operators, self._parents, survived)
            if len(failed):
                rates[failed] = rule.draw(role, self.rng.random(len(failed)))

    def _replaces_worst(self) -> bool:
        """Whether a generation is that of a model whose offspring compete with the worst."""
        n = len(self._operators)
        return any(len(self._made_by(self.pool.models[name])) == n for name in self._replacing)

    def _replace_worst(self, points: Array, values: Array, places: Array, counts: Array) -> int:
        """Let the successful take their places; return the best offspring's index, -1 if none."""
        counts[self._operators[0]] += len(values)
        best: int = take_places(self._rows, self._fitness, points, values, places)
        self._order = np.argsort(self._fitness, kind="stable")
        if self._follows_success:
            self._success_rate = float(np.count_nonzero(places >= 0)) / len(values)
        return best

    def _survive(
        self,
        points: Array,
        told: Array,
        values: Array,
        parents: Array,
        ranks: tuple[Array, Array],
        counts: Array,
    ) -> int:
        """Replace parents by offspring; return the best offspring's index, -1 if all failed.

        `told` are the fitness values, `values` and `parents` what credit compares, `ranks` what
        survival does, of all parents and of the offspring. They differ under constraints only.
        """
        best: int
        if self._newest:
            successful = np.zeros(len(values), np.bool_)
            best = kernels.survive_newest(
                self._rows, self._fitness, self._parents, self._counters, points, values,
                self._operators, counts, successful,
            )  # fmt: skip
            found = np.flatnonzero(successful)
            self._keep_best(points, values, found[values[found].argsort(kind="stable")])
            self._success_rate = len(found) / len(values)
        else:
            if self._follows_success:
                self._success_rate = float(np.count_nonzero(values <= parents)) / len(values)
            best = kernels.survive(
                self._rows, ranks[0], self.NP_start, self._room(), self._reservoir,
                self._counters, points, ranks[1], self._uniforms, self._operators, counts,
                self._order, self.NP if self.NP <= _INSERTION else 0,
            )  # fmt: skip
        if self.violations is not None:
            taken = np.flatnonzero(ranks[0][: len(told)] == ranks[1])
            self._fitness[taken] = np.where(np.isnan(told), np.inf, told)[taken]
            self._excess[taken] = self.violations[taken]
            self._lower_epsilon()
        elif self._newest or self.NP > _INSERTION:
            self._order = np.argsort(self._fitness, kind="stable")
        return best

    def _room(self) -> int:
        """The size of the archive; none where one operator of many had the whole generation.

        Unless it uses the archive: what others lose is not its business then.
        """
        if self._takes_turns and not self.pool.archived[self._operators[0]]:
            return 0
        return self._capacity

    def _keep_best(self, points: Array, values: Array, order: Array) -> None:
        """Let the archive hold the best of its members and of some points, which `order` sorts."""
        elite = self._elite_fitness
        size = min(len(elite) + len(order), self._capacity)
        self._elite_fitness = np.empty(size)
        kernels.keep_best(
            self._rows, self.NP_start, elite, points, values, order, self._elite_fitness
        )
        self._counters[layout.ARCHIVED] = size

    def _enter(self, values: Array) -> None:
        """Take in the initial population. A point that was not evaluated, or failed, has +inf."""
        self.iterations -= 1  # it is no generation
        n = len(values)
        self._fitness[:n] = np.where(np.isnan(values), np.inf, values)
        if self.violations is None:
            self._order = np.argsort(self._fitness, kind="stable")
            self._epoch_best = float(self._fitness[self._order[0]])
        else:
            self._excess[:n], self._excess[n:] = self.violations, np.inf
            # Without values of infeasible points there is nothing to compare them by.
            known = np.isfinite(self._fitness)
            level = np.quantile(self._excess, _RELAXED_QUANTILE, method="lower")
            self._first_epsilon = float(level) if (known & (self._excess > 0)).any() else 0.0
            self._lower_epsilon()
            self._note_epoch_best()
        self._started = True
        if self._newest:
            self._keep_best(self._rows[: self.NP], self._fitness, self._order)

    def _note_epoch_best(self) -> None:
        top = self._order[0]
        found = float(self._excess[top]), float(self._fitness[top])
        if self._epsilon > 0:
            self._since_better = 0  # what is best changes with ε
        elif found < (self._epoch_violation, self._epoch_best):
            self._epoch_violation, self._epoch_best = found
            self._since_better = 0

    # Several generations at once

    def advance(self, evaluate: Any, most: int, *, stops: bool = False) -> int:
        """Make whole generations in a compiled loop, the same as `ask` and `tell` would.

        Parameters
        ----------
        evaluate : compiled function
            Writes the values of points, (n, D), to an array of length n.
        most : int
            The largest number of generations.
        stops : bool
            Whether to pause where the run may have converged.

        Returns
        -------
        int
            How many it made, possibly fewer; 0 if `ask` and `tell` are to make the next one.
        """
        if not (self._kernels_suffice and self._started and self._asked is None):
            return 0
        if self._constrained or self.best_x is None or not is_compiled(kernels.propose):
            return 0
        self._resize()
        self._restart_if_stagnant()
        selector = self._selector.fused
        if selector is None or not self._started or self.NP > _INSERTION:
            return 0
        K, columns = len(self.pool.members), self._columns
        sizes = self._sizes_ahead(most)
        if sum(sizes) < _WORTHWHILE:
            return 0
        archives = {NP: self._archive_capacity(NP) for NP in set(sizes)}
        capacities = [archives[NP] for NP in sizes]
        before = self.rng.bit_generator.state
        selected = 2 * sum(sizes) + len(sizes) if K > 1 else 0
        draws = self.rng.random(selected + sum(sizes) * columns + capacities[0] - capacities[-1])
        settings, rules = self.settings, self._rules
        rule = settings.restart
        if stops and not isinstance(rule, Stagnation):
            rule = _PATIENCE
        ending = (rule.patience, rule.spread) if isinstance(rule, Stagnation) else (2**62, -1.0)
        engine = Engine(
            np.array(sizes), np.array(capacities), self.pool.table, self.pool.role_table,
            rules.lengths, rules.numbers, self.low, self.high, self._boundary, self.NP_start,
            columns, self._reservoir, self._top, self._top_drawn,
            settings.best_rule == "latest", -np.inf if self.target is None else self.target,
            *ending, *((self.atol, self.tol) if stops else (-1.0, -1.0)),
        )  # fmt: skip
        now = Population(
            self._rows, self._fitness, self._order, self._counters, rules.means, rules.turns,
            np.zeros(self.NP, np.int64), np.empty(self.NP), np.empty(self.NP), self.best_x.copy(),
            np.array([self.best_fitness, self._epoch_best]),
            np.array([self._latest, self._since_better, self.NP, 0, 0]),
        )  # fmt: skip
        rows = Rows(
            np.empty((len(sizes), K), np.int64), np.empty((len(sizes), K)), np.empty(len(sizes)),
            np.empty(len(sizes), np.int64),
        )  # fmt: skip
        made = generations(evaluate, self._selector.learner, draws, engine, now, selector, rows)
        self.best_x = now.best_x
        self.best_fitness, self._epoch_best = now.floats.tolist()
        self._latest, self._since_better, NP, drawn, used = now.integers.tolist()
        if used < len(draws):  # as if only these had been drawn
            self.rng.bit_generator.state = before
            self.rng.random(used)
        self.NP, self._capacity = NP, self._archive_capacity(NP)
        self._fitness, self._order = self._fitness[:NP], self._order[:NP]
        self._excess, self._rates = self._excess[:NP], self._rates[:, :NP]
        # Of the last generation.
        n = sizes[made - 1]
        self._operators, self._F, self._CR = now.operators[:n], now.F[:n], now.CR[:n]
        self._parents, self._repairs = np.arange(n), int(rows.repairs[made - 1])
        self._uniforms = draws[drawn - n * columns : drawn].reshape(n, columns).copy()
        evaluations = self.evaluations + np.cumsum(sizes[:made])
        if self.history is not None:
            self._asked_probabilities = rows.probabilities[made - 1].copy()
            self.history.extend(
                evaluations=evaluations, iteration=self.iterations + np.arange(1, made + 1),
                population=engine.sizes[:made], restarts=np.full(made, self.restarts),
                **{name: column[:made] for name, column in rows._asdict().items()},
            )  # fmt: skip
        self.evaluations = int(evaluations[-1])
        self.iterations += made
        return made

    @cached_property
    def _kernels_suffice(self) -> bool:
        """Whether a generation needs nothing but kernels, whatever the stage of the run."""
        pool = self.pool
        return (
            self._classic
            and self._steady
            and not (pool.custom or pool.models or pool.individual_rates or pool.uses_ranks)
            and self.integers is None
            and self._boundary != layout.MIXED
        )

    def _sizes_ahead(self, most: int) -> list[int]:
        """The size of the population in each of the next generations, `most` at most.

        As many as the budget has whole ones for, and the caches random numbers.
        """
        spent, whole = self._span()
        left = max(self.NP, _AHEAD // (self._columns + 2))
        if self.budget is not None:
            left = min(left, self.budget - self.evaluations)
        sizes: list[int] = []
        NP = self.NP
        while len(sizes) < most and left >= NP:
            sizes.append(NP)
            left -= NP
            spent += NP
            if self._NP_end is not None and self._NP_end < NP:
                NP = self._size_after(spent, whole)
        return sizes

    # Constraints

    def _checked_violations(self, violations: Any, n: int) -> Array | None:
        if violations is not None and self._newest:
            raise InvalidFeedback('survival="newest" takes no constraints. Nothing was changed')
        return super()._checked_violations(violations, n)

    def _compared(
        self, values: Array, violations: Array
    ) -> tuple[Array, Array, tuple[Array, Array]]:
        """Parents and offspring under constraints: what credit compares, and what survival does."""
        n, NP = len(values), self.NP
        fitness = np.concatenate([self._fitness, np.where(np.isnan(values), np.inf, values)])
        excess = np.concatenate([self._excess, violations])
        # Up to ε values decide; a point without one has failed.
        excess[NP:][np.isnan(values) & (violations <= self._epsilon)] = np.inf
        ranks = feasibility.ranks(fitness, excess, self._epsilon)
        paired = np.r_[:n, NP : NP + n]
        credit = feasibility.merits(fitness[paired], excess[paired], self._epsilon)
        parents = np.where(np.isnan(credit[:n]), np.inf, credit[:n])
        return parents, credit[n:], (ranks[:NP].copy(), ranks[NP:].copy())

    def _lower_epsilon(self) -> None:
        """Bring ε, and the order of the parents, up to date."""
        spent, whole = self._span()
        least, most = _RELAXED_SHARES
        relaxed = min(max(least * whole, _RELAXED_GENERATIONS * self.NP_start), most * whole)
        left = max(0.0, 1.0 - spent / relaxed)
        self._epsilon = self._first_epsilon * left**_RELAXED_POWER
        self._order = self._sorted()

    def _sorted(self) -> Array:
        """The parents, best first."""
        if self._constrained:
            return feasibility.order(self._fitness, self._excess, self._epsilon)
        return np.argsort(self._fitness, kind="stable")

    @property
    def epsilon(self) -> float:  # noqa: D102 (see Optimizer)
        return self._epsilon

    # Population schedule, restart, convergence

    def _span(self) -> tuple[int, int]:
        """The evaluations spent since the last start, and those from it to the end of the run."""
        limit = self.budget or self._horizon
        if limit <= self._epoch_start:  # an unlimited run that went on past its horizon
            limit = self._epoch_start + self._horizon
        return self.evaluations - self._epoch_start, limit - self._epoch_start

    def _progress(self) -> float:
        """The share of the evaluations since the last start that is spent."""
        spent, whole = self._span()
        return spent / whole

    def _size_after(self, spent: int, whole: int) -> int:
        """NP after so many of the evaluations from the last start to the end of the run."""
        schedule = self.settings.schedule
        if not isinstance(schedule, Linear) or self._NP_end is None:
            return self.NP
        return schedule.size(self.NP_start, min(self._NP_end, self.NP_start), spent, whole)

    def _resize(self) -> None:
        """Population schedule: the worst leave, and random members of an archive now too large."""
        if self._NP_end is None:
            return
        NP = self._size_after(*self._span())
        if NP >= self.NP:
            return
        stay = np.empty(NP, np.int64)
        self._latest = kernels.shrink(
            self._rows, self._fitness, self._order, NP, self._latest, stay
        )  # fmt: skip
        self._fitness, self._order = self._fitness[:NP], self._order[:NP]
        self._excess = self._excess[stay] if self._constrained else self._excess[:NP]
        if len(self._rates):
            self._rates = self._rates[:, stay]
        else:
            self._rates = self._rates[:, :NP]
        self.NP = NP
        self._capacity = self._archive_capacity(NP)
        if self._newest:
            self._counters[layout.PLACE] %= NP
            self._elite_fitness = self._elite_fitness[: self._capacity]  # the best come first
            self._counters[layout.ARCHIVED] = len(self._elite_fitness)
            return
        excess = int(self._counters[layout.ARCHIVED]) - self._capacity
        if excess > 0:
            kernels.shrink_archive(
                self._rows, self.NP_start, self._counters, self.rng.random(excess)
            )

    def _restart_if_stagnant(self) -> None:
        rule = self.settings.restart
        if isinstance(rule, Stagnation) and self._is_stagnating(rule):
            self.restarts += 1
            least = max(4, least_population(self.pool.members)[0])
            NP = min(MOST_PARENTS, max(least, round(self.NP_start * rule.growth)))
            self._begin(NP, None, False)

    def _is_stagnating(self, rule: Stagnation) -> bool:
        """Whether there was no better best for too long, or all fitness is alike."""
        if self._since_better >= rule.patience:
            return True
        first, last = self._order.item(0), self._order.item(-1)
        if self._excess.item(last) > 0:
            return False
        return kernels.alike(self._fitness.item(first), self._fitness.item(last), rule.spread)

    @property
    def converged(self) -> bool:
        """Whether the population has converged or stagnates.

        Converged: std f <= atol + tol·|mean f|. Stagnating: as the restart rule says, or by
        default after 200 generations without a better best.
        """
        if not self._started:
            return False
        rule = self.settings.restart
        patience = rule if isinstance(rule, Stagnation) else _PATIENCE
        if self._is_stagnating(patience):
            return True
        best, worst = self._order.item(0), self._order.item(-1)
        least, most = self._fitness.item(best), self._fitness.item(worst)
        possible = may_have_converged(least, most, self.NP, self.atol, self.tol)
        return possible and self.convergence > 1

    @property
    def convergence(self) -> float:
        """(atol + tol·|mean f|) / std f of the population: above 1 once it has converged."""
        last = self._order[-1]
        if not self._started or self._fitness[last] == np.inf or self._excess[last] > 0:
            return 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            spread, mean = float(np.std(self._fitness)), float(np.mean(self._fitness))
        tolerated = self.atol + self.tol * abs(mean)
        if spread <= tolerated:
            return 2.0 if spread == 0 else max(float(np.nextafter(1, 2)), tolerated / spread)
        return tolerated / spread if spread < np.inf else 0.0

    # Exact resume

    def state(self) -> dict[str, Any]:  # noqa: D102 (see Optimizer)
        state = super().state()
        state["rules"] = self._rules.state()
        state["selector"] = self._selector.state()
        state["models"] = {name: model.state() for name, model in self._models.items()}
        state["local"] = None if self._local is None else self._local.state()
        state["local_budget"] = None if self._local is None else self._local.budget
        state["custom"] = {}
        for operator in self.pool.custom.values():
            remembered = getattr(operator, "state", None)
            if callable(remembered):
                state["custom"][operator.name] = remembered()
        return state

    def restore(self, state: Mapping[str, Any]) -> None:  # noqa: D102
        self._check(state)
        super().restore(state)
        self._rules = RuleMemory(self.pool.rules, self.dimension)
        self._rules.restore(state["rules"])
        left = None
        if self.budget is not None:
            left = max(1, self.budget - self._epoch_start - self.NP_start)
        self._selector = self._new_selector(left)
        self._selector.restore(state["selector"])
        self._models = self._new_models()
        for name, model in self._models.items():
            model.restore(state["models"][name])
        self._local = None
        if state["local"] is not None:
            self._local = self._new_local_search(state["local_budget"], None)
            self._local.restore(state["local"])
        for operator in self.pool.custom.values():
            if operator.name in state["custom"] and hasattr(operator, "restore"):
                operator.restore(state["custom"][operator.name])
        # Last, for the selector has the same generator.
        self.rng.bit_generator.state = state["rng"]

    def _check(self, state: Mapping[str, Any]) -> None:
        """Refuse a state whose arrays the kernels cannot work with: they do not look."""
        NP, start, D = state["NP"], state["NP_start"], self.dimension
        most = self._archive_capacity(start)
        n = 0
        if state["_asked"] is not None and state["_started"] and state["local"] is None:
            n = len(state["_asked"])
        used = state["_operators"][:n], state["_uniforms"][:n]
        parents = state["_parents"][:n]
        shapes = {
            "_rows": (start + most + 1, D), "_fitness": (NP,), "_order": (NP,), "_counters": (2,),
            "_elite_fitness": (int(state["_counters"][0]) if self._newest else 0,),
            "_excess": (NP,), "_rates": (len(self.pool.individual_rates), NP),
        }  # fmt: skip
        archived, ever = state["_counters"].tolist()
        fits = (
            least_population(self.pool.members)[0] <= NP <= start <= MOST_PARENTS
            and all(state[name].shape == shape for name, shape in shapes.items())
            and state["_rows"].dtype == state["_fitness"].dtype == np.float64
            and state["_order"].dtype == state["_counters"].dtype == np.int64
            and np.array_equal(np.sort(state["_order"]), np.arange(NP))
            and 0 <= archived <= min(state["_capacity"], self._archive_capacity(NP))
            and (0 <= ever < NP if self._newest else archived <= ever)
            and state["_capacity"] <= most
            and -1 <= state["_latest"] < NP
            and n <= NP
            and (n == 0 or state["_asked"].shape == (n, D))
            and used[0].shape == state["_F"][:n].shape == state["_CR"][:n].shape == (n,)
            and used[1].shape == (n, self._columns)
            and parents.shape == (n,)
            and bool(((parents >= 0) & (parents < NP)).all())
            and 0 <= state["_success_rate"] <= 1
            and bool(((used[0] >= 0) & (used[0] < len(self.pool.members))).all())
            and bool(((used[1] >= 0) & (used[1] < 1)).all())
            and state["rules"]["means"].shape == self._rules.means.shape
            and bool((state["rules"]["turns"] >= 0).all())
            and bool((state["rules"]["turns"] < self._rules.lengths).all())
        )
        if not fits:
            raise InvalidFile("the state does not fit the settings; it was damaged or altered")

    def settings_data(self) -> dict[str, Any]:  # noqa: D102
        return {"configuration": self.configuration.to_dict()}

    @classmethod
    def settings_from_data(  # noqa: D102
        cls, data: Mapping[str, Any], custom: Mapping[str, CustomOperator] | None = None
    ) -> dict[str, Any]:
        return {"method": Configuration.from_dict(data["configuration"], custom)}

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
        return cls._load(path, lambda kind, data: kind.settings_from_data(data, custom))

    def __repr__(self) -> str:
        sizes = f"{count(len(self.operators), 'operator')}, {count(self.evaluations, 'evaluation')}"
        name = self.configuration.name
        return f"<DifferentialEvolution {name}: {sizes}, best {self.best_fitness:g}>"


class SingleOperator:
    """The selector of a pool of one operator: there is nothing to choose, and nothing to learn."""

    probabilities: Array = np.ones(1)
    #: No component, and one operator.
    fused = Fused(
        np.zeros((0, 0)), False, np.zeros((0, 0, 0)), np.zeros(()),
        *(np.zeros(0), np.zeros(0), np.ones(1), np.zeros(0)),
    )  # fmt: skip
    learner = staticmethod(learn_nothing)

    def select(self, n: int, /) -> Array:
        """Operator 0, n times."""
        return np.zeros(n, np.int64)

    def learn(self, operators: Array, parents: Array, offspring: Array, /) -> None:
        """Nothing to learn."""

    def state(self) -> dict[str, Any]:
        """Nothing to keep."""
        return {}

    def restore(self, state: Mapping[str, Any], /) -> None:
        """Nothing to continue."""


class PopulationView(RunView):
    """A run of differential evolution as it is now.

    Passed to :meth:`CustomOperator.propose` and to callbacks.

    Parameters
    ----------
    run : DifferentialEvolution
        The run.
    """

    _run: DifferentialEvolution

    @property
    def population(self) -> Array:
        """The parents, (NP, D)."""
        return read_only(self._run._rows[: self._run.NP])

    @property
    def fitness(self) -> Array:
        """The parents' fitness, +inf where the evaluation failed."""
        return read_only(self._run._fitness)

    @property
    def violations(self) -> Array:
        """By how much each parent violates the constraints, 0 without any."""
        return read_only(self._run._excess)

    @property
    def best(self) -> Array:
        """The point that the strategies call x_best."""
        return read_only(self._run._rows[self._run.best_index])

    @property
    def archive(self) -> Array:
        """Parents that lost to their offspring, (m, D)."""
        start = self._run.NP_start
        return read_only(self._run._rows[start : start + int(self._run._counters[0])])

    @property
    def generation(self) -> int:
        """Generations so far, the same as `nit`."""
        return self._run.generation


# What the arguments mean


def _configuration(method: MethodLike) -> Configuration:
    if isinstance(method, Method):
        return Configuration("custom method", method, Settings(NP=None))
    if method is None or isinstance(method, str | os.PathLike | Configuration):
        found = configuration(RECOMMENDED if method is None else method)
        if found.optimizer != DifferentialEvolution.name:
            raise InvalidParameter(
                "method", found.name, f"a configuration of differential evolution; this one is of "
                f"{found.optimizer}. Use it with uaos.minimize, or its build()",
            )  # fmt: skip
        return found
    raise InvalidParameter(
        "method", method, "None, a name, a TOML file, a uaos.Method or a uaos.Configuration"
    )


def _first_weight(progress: float) -> float:
    """What F of a weighted strategy's first difference is multiplied by (jSO)."""
    return 0.7 if progress < 0.2 else 0.8 if progress < 0.4 else 1.2


def _fitted(chosen: Configuration, dimension: int, budget: int) -> Configuration:
    fitted = dataclasses.replace(chosen.settings, NP=None)
    usual = chosen.settings.population_size(dimension, budget)
    if fitted.population_size(dimension, budget) >= usual:
        return chosen
    return dataclasses.replace(chosen, settings=fitted)


@contextmanager
def _called_popsize(popsize: int | str | None) -> Iterator[None]:
    """What was given as popsize is called so, while in a configuration it is NP."""
    try:
        yield
    except InvalidParameter as error:
        if popsize is None or error.name != "NP":
            raise
        raise InvalidParameter("popsize", error.value, error.allowed) from None


def _changed(chosen: Configuration, changes: dict[str, Any]) -> Settings:
    """The configuration's settings with what was given in their place."""
    settings: Settings = dataclasses.replace(chosen.settings, **changes)
    pool = settings.pool or ()
    if chosen.method is None and len(settings.members) > 1:
        raise InvalidParameter(
            "operators", list(settings.names), f"one operator: {chosen.name} has no method to "
            "choose among several. Give one, or another method=",
        )  # fmt: skip
    for role in ("F", "CR"):
        if role in changes and pool and not any(_open(m, role) for m in pool):
            raise InvalidParameter(
                role, changes[role], f"nothing here: every operator of {chosen.name!r} has its own "
                f"{role}. Give operators= as well, or another method",
            )  # fmt: skip
    return settings


def _open(member: object, role: str) -> bool:
    return isinstance(member, Operator) and getattr(member, role) is None
