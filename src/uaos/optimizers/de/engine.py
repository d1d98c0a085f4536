"""The loop: `ask` for the points to evaluate, `tell` what they were worth.

One :class:`Engine` is one run. An *epoch* is what lies between two restarts; its first `ask`
returns the initial population, each later one the offspring of a generation.
"""

from typing import Any

import numpy as np

from uaos.errors import InvalidFeedback, InvalidParameter, UaosError
from uaos.optimizers.arguments import real_numbers
from uaos.optimizers.de import kernels, layout, sampling, saved
from uaos.optimizers.de.compilation import announce
from uaos.optimizers.de.pool import Pool, RuleMemory
from uaos.optimizers.de.protocols import Array, OnlyOne, Selector, SelectorFactory
from uaos.optimizers.de.schedule import (
    MOST_PARENTS,
    Linear,
    Stagnation,
    check_population,
    least_population,
)
from uaos.optimizers.de.settings import BOUNDARIES, Settings
from uaos.optimizers.de.view import EngineView
from uaos.optimizers.history import History

# Above this size the order of the parents is sorted anew; below it, insertion is faster.
_INSERTION = 1024

#: What the history of a run has beside the columns of every history.
COLUMNS = ("population", "restarts", "repairs")


class RunFinished(UaosError):
    """Points were asked for after the budget was spent."""


class Engine:
    """Differential evolution over a box, with operators chosen by a selector.

    `make_selector(n_operators, budget, rng)` is called at the start and at each restart, and not at
    all for a pool of one operator. All random numbers come from `rng`, which the selector shares.
    `horizon` is what a population schedule runs over where there is no `budget`.
    """

    def __init__(
        self,
        settings: Settings,
        low: Array,
        high: Array,
        *,
        make_selector: SelectorFactory | None,
        rng: np.random.Generator,
        budget: int | None = None,
        horizon: int | None = None,
        x0: Array | None = None,
        history: bool = True,
    ) -> None:
        announce()
        self.settings = settings
        self.low, self.high = low, high
        self.rng = rng
        self.budget = budget
        self.pool = Pool(settings)
        if make_selector is None and len(self.pool.members) > 1:
            raise InvalidParameter(
                "method", None, f"a method, to choose among {len(self.pool.members)} operators"
            )
        self._make_selector = make_selector
        self._horizon = horizon
        if budget is None and horizon is None and settings.schedule is not None:
            raise InvalidParameter("budget", None, "a number of evaluations, for the schedule")
        D = len(low)
        self._resample = settings.boundary == "resample"
        self._boundary = BOUNDARIES[settings.boundary]
        self._top, self._top_drawn = settings.top, settings.top_drawn
        self._best_is_latest = settings.best_rule == "latest"
        self._reservoir = settings.archive == "history"
        self._columns = layout.columns(D, settings.top_drawn, self._resample)
        self._uniforms = np.empty((0, self._columns))
        self.view = EngineView(self)
        self.history = History(self.pool.names, COLUMNS) if history else None

        self.evaluations = 0
        self.generation = 0
        self.restarts = 0
        self.best_x: Array | None = None
        self.best_fitness = np.inf
        NP = settings.population_size(D, budget)
        check_population(NP, self.pool.members)
        self._NP_end: int | None = None
        if isinstance(settings.schedule, Linear):
            self._NP_end = settings.schedule.end(D, self.pool.members)
        self._begin(NP, x0, settings.centre)

    # An epoch

    def _begin(self, NP: int, x0: Array | None, centre: bool) -> None:
        """A new population, archive, rules and selector."""
        D = len(self.low)
        self.NP = self.NP_start = NP
        self._capacity = self._archive_capacity(NP)
        # Rows 0..NP-1 are the population, the archive follows.
        self._rows = np.empty((NP + self._capacity, D))
        points = self.low + self.rng.random((NP, D)) * (self.high - self.low)
        self._rows[:NP] = np.clip(points, self.low, self.high)  # rounding may step outside
        if x0 is not None:
            if len(x0) > NP:
                raise InvalidParameter("x0", f"{len(x0)} points", f"at most NP = {NP} points")
            self._rows[: len(x0)] = x0
        elif centre:
            self._rows[0] = (self.low + self.high) / 2.0
        self._fitness = np.full(NP, np.inf)
        self._order = np.arange(NP)
        self._counters = np.zeros(2, np.int64)
        self._latest = -1
        self._rules = RuleMemory(self.pool.rules)
        self._epoch_start = self.evaluations
        self._epoch_best = np.inf
        self._since_better = 0
        self._started = False
        self._asked: Array | None = None
        left = None if self.budget is None else max(1, self.budget - self.evaluations - NP)
        self._selector = self._new_selector(left)

    def _new_selector(self, budget: int | None) -> Selector:
        if len(self.pool.members) == 1 or self._make_selector is None:
            return OnlyOne()
        return self._make_selector(len(self.pool.members), budget, self.rng)

    def _archive_capacity(self, NP: int) -> int:
        return round(self.settings.archive_size * NP) if self.pool.uses_archive else 0

    @property
    def done(self) -> bool:
        """Whether the budget is spent."""
        return self.budget is not None and self.evaluations >= self.budget

    @property
    def started(self) -> bool:
        """Whether the current population has been evaluated."""
        return self._started

    @property
    def probabilities(self) -> Array:
        """The operators' current probabilities."""
        return self._selector.probabilities

    @property
    def best_index(self) -> int:
        """Where x_best stands: the best parent, or by `best_rule="latest"` (see `Settings`)."""
        if self._best_is_latest and self._latest >= 0:
            return self._latest
        return int(self._order[0])

    # The loop

    def ask(self) -> Array:
        """The points to evaluate next, (n, D); asked again before `tell`, the same ones."""
        if self._asked is None:
            if self.done:
                raise RunFinished(
                    f"the budget of {self.budget} evaluations is spent; read the result, or start "
                    "with a larger budget"
                )
            if self._started:
                self._resize()
                self._restart_if_stagnant()
            # The budget is exact: in the last generation only the first parents have offspring.
            n = self.NP if self.budget is None else min(self.NP, self.budget - self.evaluations)
            if self._started:
                self._vary(n)
            else:
                self._asked = self._rows[:n].copy()
        assert self._asked is not None
        return self._asked.copy()

    def _vary(self, n: int) -> None:
        """Select an operator for each parent, and make its offspring."""
        if self.history is not None:
            self._probabilities = np.array(self._selector.probabilities)
        self._operators = np.ascontiguousarray(self._selector.select(n), np.int64)
        if len(self._uniforms) != n:
            self._uniforms = np.empty((n, self._columns))
        uniforms = self.rng.random(out=self._uniforms)
        offspring = np.empty((n, len(self.low)))
        self._F, self._CR = np.empty(n), np.empty(n)
        self._repairs = kernels.propose(
            self._rows, self.NP, self.NP_start, int(self._counters[layout.ARCHIVED]), self._order,
            self.best_index, self._operators, self.pool.table, self._rules.means,
            self._rules.lengths, uniforms, self._top, self._top_drawn,
            self.low, self.high, self._boundary, offspring, self._F, self._CR,
        )  # fmt: skip
        if self.pool.own:
            self._repairs += self._vary_own(offspring)
        self._asked = offspring

    def _vary_own(self, offspring: Array) -> int:
        """Let the users' own operators make theirs; bounds hold for them too."""
        repairs = 0
        for k, operator in self.pool.own.items():
            parents = np.flatnonzero(self._operators == k)
            if len(parents) == 0:
                continue
            wanted = (len(parents), len(self.low))
            proposed = operator.propose(self.view, parents, self.rng)
            try:
                made = real_numbers(proposed)
            except (TypeError, ValueError) as error:
                raise InvalidFeedback(
                    f"operator {operator.name!r} proposed no array of real numbers: {error}; "
                    f"expected finite numbers, one row for each parent: {wanted}"
                ) from error
            if made.shape != wanted or not np.isfinite(made).all():
                raise InvalidFeedback(
                    f"operator {operator.name!r} proposed an array of shape {made.shape}"
                    f"{'' if made.shape != wanted else ' with values that are not finite'}; "
                    f"expected finite numbers, one row for each parent: {wanted}"
                )
            spare = self.rng.random(wanted) if self._resample else np.zeros(wanted)
            offspring[parents] = made
            repairs += kernels.enforce(
                offspring, parents, self._rows, spare, self.low, self.high, self._boundary
            )
        return repairs

    def tell(self, values: Any) -> None:
        """What the points were worth, in the order of `ask`; not finite means failed."""
        if self._asked is None:
            raise InvalidFeedback("tell() before ask(): there are no points to tell about")
        try:
            # A copy: kernels are compiled for plain, writable arrays, and this may be any kind.
            u = real_numbers(values)
        except (TypeError, ValueError) as error:
            raise InvalidFeedback(
                f"values must be real numbers, NaN where an evaluation failed: {error}. "
                "Nothing was changed"
            ) from error
        if u.shape != (len(self._asked),):
            raise InvalidFeedback(
                f"{len(self._asked)} points were asked for, and values of shape {u.shape} told; "
                f"expected shape {(len(self._asked),)}. Nothing was changed"
            )
        varied = self._started
        best = self._learn_and_survive(u) if varied else self._enter(u)
        self.evaluations += len(u)
        self.generation += varied
        self._note_best(best, u)
        if varied and self.history is not None:
            self.history.record(
                evaluations=self.evaluations, best=self.best_fitness, iteration=self.generation,
                counts=self._counts, probabilities=self._probabilities, population=self.NP,
                restarts=self.restarts, repairs=self._repairs,
            )  # fmt: skip
        self._asked = None
        self._started = True

    def _enter(self, u: Array) -> int:
        """The initial population's fitness. A point that was not evaluated, or failed: +inf."""
        finite = np.isfinite(u)
        self._fitness[: len(u)] = np.where(finite, u, np.inf)
        self._order = np.argsort(self._fitness, kind="stable")
        return int(self._order[0]) if finite.any() else -1

    def _learn_and_survive(self, u: Array) -> int:
        """Selector and rules learn from the parents as they were; then survival."""
        assert self._asked is not None
        parents = self._fitness[: len(u)]
        self._selector.update(self._operators, parents, u)
        rules = self._rules
        if len(rules.lengths):
            sampling.learn(
                rules.means, rules.lengths, rules.rates, rules.turns, self.pool.table,
                self._operators, parents, u, self._F, self._CR,
            )  # fmt: skip
        for k, operator in self.pool.own.items():
            mine = np.flatnonzero(self._operators == k)
            if len(mine) and hasattr(operator, "learn"):
                improved = np.isfinite(u[mine]) & (u[mine] < parents[mine])
                operator.learn(self.view, mine, self._asked[mine], u[mine], improved)
        self._counts = np.zeros(len(self.pool.members), np.int64)
        best: int = kernels.survive(
            self._rows, self._fitness, self.NP_start, self._capacity, self._reservoir,
            self._counters, self._asked, u, self._uniforms, self._operators, self._counts,
            self._order, self.NP if self.NP <= _INSERTION else 0,
        )  # fmt: skip
        if self.NP > _INSERTION:
            self._order = np.argsort(self._fitness, kind="stable")
        if best >= 0:
            self._latest = best
        return best

    def _note_best(self, best: int, u: Array) -> None:
        """Keep the best point of the run, and how long ago the epoch last had a better one."""
        assert self._asked is not None
        if best >= 0 and u[best] < self.best_fitness:
            self.best_fitness = float(u[best])
            self.best_x = self._asked[best].copy()
        if best >= 0 and u[best] < self._epoch_best:
            self._epoch_best = float(u[best])
            self._since_better = 0
        elif self._started:  # patience counts generations, not the initial population
            self._since_better += 1

    # Population schedule and restart

    def _resize(self) -> None:
        """Population schedule: the worst leave, and random members of an archive now too large."""
        if self._NP_end is None:
            return
        limit = self.budget or self._horizon or 0
        if limit <= self._epoch_start:  # an unlimited run that went on past its horizon
            limit = self._epoch_start + (self._horizon or 0)
        spent, whole = self.evaluations - self._epoch_start, limit - self._epoch_start
        end = min(self._NP_end, self.NP_start)
        NP = max(end, round(self.NP_start + (end - self.NP_start) * spent / whole))
        if NP >= self.NP:
            return
        stay = np.sort(self._order[:NP])
        if self._latest >= 0:
            found = np.flatnonzero(stay == self._latest)
            self._latest = int(found[0]) if len(found) else -1
        self._rows[:NP] = self._rows[stay]
        self._fitness = self._fitness[stay]
        self._order = np.argsort(self._fitness, kind="stable")
        self.NP = NP
        self._capacity = self._archive_capacity(NP)
        excess = int(self._counters[layout.ARCHIVED]) - self._capacity
        for u in self.rng.random(max(0, excess)):
            last = int(self._counters[layout.ARCHIVED]) - 1
            gap = self.NP_start + int(u * (last + 1))
            self._rows[gap] = self._rows[self.NP_start + last]
            self._counters[layout.ARCHIVED] = last

    def _restart_if_stagnant(self) -> None:
        """Restart: too long without a better best, or a fitness that is the same everywhere."""
        rule = self.settings.restart
        if not isinstance(rule, Stagnation):
            return
        best = float(self._fitness[self._order[0]])
        worst = float(self._fitness[self._order[-1]])
        alike = worst < np.inf and worst - best <= rule.spread * (1.0 + abs(best))
        if alike or self._since_better >= rule.patience:
            self.restarts += 1
            least = max(4, least_population(self.pool.members)[0])
            NP = min(MOST_PARENTS, max(least, round(self.NP_start * rule.growth)))
            self._begin(NP, None, centre=False)

    # Exact resume

    def state(self) -> dict[str, Any]:
        """All that is needed to continue, as plain values and arrays."""
        return saved.state(self)

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what :meth:`state` returned; the engine must have the same settings.

        What does not fit raises :class:`uaos.errors.InvalidFile`, and the engine is as before.
        """
        saved.restore(self, state)
