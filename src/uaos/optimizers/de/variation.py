"""How the offspring of a generation are made: F and CR, mutants, crossover, repair.

And what is learnt from them: by the rules for F and CR, by models and by custom operators.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from uaos.checks import real_numbers
from uaos.errors import InvalidFeedback
from uaos.optimizers.base import Array
from uaos.optimizers.de import layout, mutation
from uaos.optimizers.de.models import MODELS, Model, eigenvectors
from uaos.optimizers.de.operators import CustomOperator, Operator
from uaos.optimizers.de.population import Batch, Epoch, Population
from uaos.optimizers.de.rules import (
    BimodalCauchy,
    Constant,
    Jade,
    Rule,
    SuccessHistory,
    SuccessRate,
    redraw,
)
from uaos.optimizers.de.settings import BOUNDARIES, Settings
from uaos.optimizers.de.strategies import role_table, strategy
from uaos.optimizers.de.view import PopulationView

# A pool made ready to run: operators as tables for the kernels, rules with their memory


class Kept(NamedTuple):
    """Values of F or CR that individuals keep for the same operators."""

    having: Array
    """Which operators these are."""
    rows: Array
    """Where the values are among the rates of individuals."""
    numbers: Array
    """What :func:`redraw` needs to know of their rules."""
    columns: Array
    """The random numbers of an offspring that make new values of its parent."""


class Pool:
    """The operators of a run: tables for the kernels, and the custom ones by number."""

    def __init__(self, settings: Settings) -> None:
        self.members = settings.members
        self.names = settings.names
        self.table = np.full((len(self.members), layout.TABLE), -1.0)
        self.role_table = role_table()
        self.custom: dict[int, CustomOperator] = {}
        self.rules: list[Rule] = []
        self.uses_archive = settings.survival == "newest"
        self.uses_ranks = False
        self.weighted = False
        #: Whose strategies use the archive.
        self.archived = np.zeros(len(self.members), np.bool_)
        #: Which operators have each model, and each rule whose values individuals keep.
        self.models: dict[str, Array] = {}
        self.individual_rates: list[tuple[BimodalCauchy, str, Array]] = []
        #: Operators whose F follows the success rate, or is uniform in the first half of the run.
        self.moving: dict[int, Any] = {}
        #: Strategies whose x_pbest is not the parent, up to a share of the run.
        self.apart: dict[int, float] = {}
        for k, member in enumerate(self.members):
            if isinstance(member, Operator):
                chosen = strategy(member.strategy)
                self.table[k, layout.STRATEGY] = chosen.code
                self.uses_archive |= chosen.archive
                self.uses_ranks |= chosen.ranked
                self.weighted |= chosen.weighted
                self.archived[k] = chosen.archive
                self.table[k, layout.CROSSED] = Constant(1.0) != member.CR
                if chosen.sampled:
                    nobody = np.zeros(len(self.members), np.bool_)
                    self.models.setdefault(chosen.model, nobody)[k] = True
                if chosen.other_until > 0.0:
                    self.apart[chosen.code] = chosen.other_until
                self._enter(k, layout.F_KIND, member.F)
                self._enter(k, layout.CR_KIND, member.CR)
                self.table[k, layout.TOP] = -1.0 if member.top_NP is None else member.top_NP
                self.table[k, layout.TAKEN] = getattr(member.CR, "learns", "") == "taken"
                if isinstance(member.F, SuccessRate) or getattr(member.F, "phases", "") == "SPA":
                    self.moving[k] = member.F
            else:
                # A custom operator may look at the archive, so one is kept for it.
                self.custom[k] = member
                self.uses_archive = True
        #: Whether F or top_NP depends on the share of offspring that survived.
        self.follows_success = settings.top(success_rate=0.0) != settings.top(
            success_rate=1.0
        ) or any(isinstance(rule, SuccessRate) for rule in self.moving.values())

    def kept_by(self, operators: Sequence[int]) -> tuple[Kept, ...]:
        """What individuals keep for any of some operators, those with the same owners together."""
        found: dict[bytes, list[int]] = {}
        for row, (_, _, having) in enumerate(self.individual_rates):
            if having[list(operators)].any():
                found.setdefault(having.tobytes(), []).append(row)
        return tuple(self._kept(rows) for rows in found.values())

    def _kept(self, rows: list[int]) -> Kept:
        chosen = [self.individual_rates[row] for row in rows]
        numbers = np.array([rule.numbers_of(role) for rule, role, _ in chosen])
        columns = [layout.F if role == "F" else layout.CR for _, role, _ in chosen]
        return Kept(chosen[0][2], np.array(rows), numbers, np.array(columns))

    def _enter(self, k: int, column: int, rule: Any) -> None:
        """Write a rule's kind, two numbers and memory row to the table, from `column` on."""
        if isinstance(rule, BimodalCauchy):
            role = "F" if column == layout.F_KIND else "CR"
            if not any(one is rule and of == role for one, of, _ in self.individual_rates):
                self.individual_rates.append((rule, role, np.zeros(len(self.members), np.bool_)))
            values: tuple[float, ...] = ()
            for row, (one, of, having) in enumerate(self.individual_rates):
                if one is rule and of == role:
                    having[k], values = True, (row,)
        else:
            values = () if rule.adaptive else rule.numbers
        self.table[k, column] = rule.kind
        self.table[k, column + 1 : column + 1 + len(values)] = values
        if rule.adaptive:
            rows = [row for row, known in enumerate(self.rules) if known is rule]
            if not rows:
                self.rules.append(rule)
                rows = [len(self.rules) - 1]
            self.table[k, column + 3] = rows[0]

    @property
    def steady(self) -> bool:
        """Whether nothing depends on the stage of the run or on the success rate."""
        phased = any(getattr(rule, "phases", "none") != "none" for rule in self.rules)
        return not (self.moving or self.apart or self.weighted or phased)

    def move(self, progress: float) -> None:
        """Set what depends on the stage of the run: the F of some rules, who x_pbest may be."""
        for code, until in self.apart.items():
            self.role_table[code, layout.OTHER] = progress < until
        for k, rule in self.moving.items():
            if not isinstance(rule, SuccessRate):
                kind = layout.UNIFORM if progress <= 0.5 else layout.ADAPTIVE
                self.table[k, layout.F_KIND : layout.F_B + 1] = kind, 0.45, 0.55

    def follow_success(self, success_rate: float) -> None:
        """Set the F of the rules that depend on the success rate."""
        for k, rule in self.moving.items():
            if isinstance(rule, SuccessRate):
                self.table[k, layout.F_A] = rule.location(success_rate)


class RuleMemory:
    """The running state of a pool's adaptive rules, one row for each rule object.

    `means[row, OF_F or OF_CR, k]` is mu of `jade` (k = 0) or the k-th pair of `success_history`.
    """

    def __init__(self, rules: list[Rule], dimension: int) -> None:
        histories = [r if isinstance(r, SuccessHistory) else SuccessHistory(1) for r in rules]
        self.lengths = np.array([r.length(dimension) for r in histories], int)
        self.means = np.empty((len(rules), 2, max([1, *self.lengths.tolist()])))
        self.numbers = np.zeros((len(rules), layout.NUMBERS))
        for row, rule in enumerate(histories):
            of_jade = rules[row]
            self.means[row, layout.OF_F], self.means[row, layout.OF_CR] = rule.F, rule.CR
            if rule.last:
                self.means[row, :, self.lengths[row] - 1] = rule.last
            self.numbers[row] = (
                of_jade.c if isinstance(of_jade, Jade) else rule.rate,
                not isinstance(of_jade, Jade), rule.CR_mean == "Lehmer", rule.idle, rule.last,
                0.1, rule.CR_scale, rule.CR_zero, *rule.limits(1.0),
            )  # fmt: skip
        self.turns = np.zeros(len(rules), int)
        self._phased = [(row, rule) for row, rule in enumerate(histories) if rule.phases == "jSO"]

    def move(self, progress: float) -> None:
        """Set the limits of F and CR at a share of the run."""
        for row, rule in self._phased:
            F_most, CR_least = rule.limits(progress)
            self.numbers[row, layout.F_MOST], self.numbers[row, layout.CR_LEAST] = F_most, CR_least

    def state(self) -> dict[str, Array]:
        """What changes in a run."""
        return {"means": self.means.copy(), "turns": self.turns.copy()}

    def restore(self, state: dict[str, Array]) -> None:
        """Continue from what :meth:`state` returned."""
        self.means[:] = state["means"]
        self.turns[:] = state["turns"]


class SingleOperator:
    """The selector of a pool of one operator: there is nothing to choose, and nothing to learn."""

    probabilities: Array = np.ones(1)

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


# A generation of offspring

# The three repairs of a generation under boundary="mixed".
_MIXED = (layout.MIDPOINT, layout.CLIP, layout.RESAMPLE)

# The shares of a run at which rules and strategies may change.
_STAGES = (0.2, 0.25, 0.4, 0.5, 0.6, 1.0)

# The probability that an integer coordinate of an offspring with its parent's integers moves.
_INTEGER_STEP = 0.1


class Turn(NamedTuple):
    """What belongs to the operators of a generation: to the one whose turn it is, or to all."""

    models: tuple[tuple[Model, Array], ...]
    """Their models, each with a mark for those that have it."""
    learning: tuple[tuple[Model, Array], ...]
    """Those of them that want to hear of their offspring."""
    kept: tuple[Kept, ...]
    """What individuals keep for them."""
    adapts: bool
    """Whether rules learn from their offspring."""
    crossed: bool
    """Whether their mutants are crossed over."""
    archived: bool
    """Whether parents that lost enter the archive: not if one of many does not use it."""
    replacing: tuple[Array, ...]
    """Marks for the operators of models whose offspring compete with the worst."""


class Variation:
    """The making of offspring, as long as a population lives."""

    def __init__(
        self,
        pool: Pool,
        settings: Settings,
        population: Population,
        epoch: Epoch,
        view: PopulationView | None,
        rng: np.random.Generator,
        takes_turns: bool,
    ) -> None:
        self._pool, self._settings, self._rng = pool, settings, rng
        self._population, self._epoch, self._view = population, epoch, view
        self._takes_turns, K = takes_turns, len(pool.members)
        self._low, self._high = population.low, population.high
        D = len(self._low)
        self.boundary = BOUNDARIES[settings.boundary]
        self._resample = settings.boundary in ("resample", "mixed")
        self.top, self.top_drawn, self._weight = settings.top(), settings.top_drawn, 1.0
        self._stage_end = -math.inf
        #: Whether nothing depends on the stage of the run or on the success rate.
        self.steady = pool.steady and (settings.top_drawn or not isinstance(settings.top_NP, str))
        # The columns of the random numbers, as `layout` has them.
        columns = layout.CROSS + D + int(settings.top_drawn)
        self._rank_column = columns if pool.uses_ranks else -1
        self._parent_column = columns + int(pool.uses_ranks)
        self.columns = self._parent_column + int(population.newest)
        self.columns += D if self._resample else 0
        self._no_points, self._no_rates = np.zeros((0, D)), np.zeros(0)
        self._sampled = np.empty((population.NP if pool.models else 0, D))
        self._everyone = np.arange(population.NP)
        self._crosses_otherwise = settings.exponential > 0.0 or settings.eigen > 0.0
        self._further = not settings.is_classic or bool(pool.individual_rates) or bool(pool.models)
        self.batch = Batch(self.columns)
        self.rules = RuleMemory(pool.rules, D)
        NP = population.NP_start
        self.models: dict[str, Model] = {
            name: MODELS[name](population, rng, round(epoch.length / NP)) for name in pool.models
        }
        self._following = [model for model in self.models.values() if model.follows]
        self._always = settings.j_rand == "always"
        # Those of each operator that may have its turn; the last is of all.
        self._turns = [*(self._turn_of([k]) for k in range(K)), self._turn_of(range(K))]
        # The F and CR that individuals keep, a row for each rule.
        self.rates = np.empty((len(pool.individual_rates), NP))
        for kept in self._turns[-1].kept:
            # As if all had failed, by an operator of theirs.
            n, one_of_them, failed = len(kept.rows), kept.having.argmax(), np.zeros(NP, np.bool_)
            redraw(
                self.rates, kept.rows, kept.numbers, np.arange(n), rng.random((NP, n)),
                kept.having, np.full(NP, one_of_them), self._everyone, failed,
            )  # fmt: skip
        roles = [role for _, role, _ in pool.individual_rates]
        self._row_of_CR = roles.index("CR") if "CR" in roles else -1

    def _turn_of(self, operators: Sequence[int]) -> Turn:
        pool, rules, chosen = self._pool, self.rules, list(operators)
        models = tuple(
            (self.models[name], having)
            for name, having in pool.models.items()
            if having[chosen].any()
        )
        memories = pool.table[chosen][:, [layout.F_ROW, layout.CR_ROW]]
        return Turn(
            models=models,
            learning=tuple(one for one in models if one[0].learns),
            kept=pool.kept_by(chosen),
            # A rule may also change because nobody has used it.
            adapts=bool((memories >= 0).any() or (rules.numbers[:, layout.IDLE] > 0).any()),
            crossed=bool(pool.table[chosen, layout.CROSSED].any()),
            archived=not self._takes_turns or bool(pool.archived[chosen].any()),
            replacing=tuple(having for model, having in models if model.replaces_worst),
        )

    def _turn(self) -> Turn:
        """What belongs to those who made the offspring."""
        return self._turns[self.batch.operators.item(0) if self._takes_turns else -1]

    # Making offspring

    def vary(self, operators: Array, evaluations: int) -> Array:
        """Make the offspring of the first parents, one by each of `operators`."""
        pool, settings, population = self._pool, self._settings, self._population
        batch, rules, rng, n = self.batch, self.rules, self._rng, len(operators)
        batch.operators = operators
        turn, crossover, basis = self._turn(), layout.BINOMIAL, self._no_points
        if self._crosses_otherwise:
            crossover, basis = self._crossover(turn.crossed)
        boundary = self.boundary
        if boundary == layout.MIXED:
            boundary = _MIXED[int(3 * rng.random())]
        if len(batch.uniforms) < n:
            batch.uniforms = np.empty((n, self.columns))
            batch.F, batch.CR = np.empty(n), np.empty(n)
        elif len(batch.uniforms) > n:  # no new memory where a population shrinks
            batch.uniforms, batch.F, batch.CR = batch.uniforms[:n], batch.F[:n], batch.CR[:n]
        uniforms = rng.random(out=batch.uniforms)
        batch.parents = self._everyone[:n]
        if population.newest:
            batch.parents = (uniforms[:, self._parent_column] * population.NP).astype(np.int64)
        if not self.steady:
            self._follow_progress(self._epoch.progress(evaluations))
        mutation.draw_parameters(
            operators, batch.parents, pool.table, rules.means, rules.lengths, rules.numbers,
            self.rates, uniforms, batch.F, batch.CR,
        )  # fmt: skip
        common_CR, kept_CR, samples = -1.0, self._no_rates, self._no_points
        if self._further:
            if settings.sorted_CR:
                self._sort_rates()
            if turn.models:
                samples = self._samples(turn, len(basis) > 0)
            if settings.eigen_CR == "kept" and len(basis):
                kept_CR = self.rates[self._row_of_CR]
            if settings.binomial_CR == "rising" and crossover == layout.BINOMIAL:
                common_CR = max(0.0, 2.0 * self._epoch.progress(evaluations) - 1.0)
        offspring = np.empty((n, len(self._low)))
        batch.repairs = mutation.propose(
            population.rows, population.NP, population.NP_start,
            population.counters.item(layout.ARCHIVED), population.order, population.best_index,
            batch.parents, operators, pool.table, pool.role_table, uniforms, self._rank_column,
            settings.rank_pressure, samples, self.top, self.top_drawn, self._weight, crossover,
            basis, common_CR, kept_CR, self._always, self._low, self._high, boundary, offspring,
            batch.F, batch.CR,
        )  # fmt: skip
        for k, operator in pool.custom.items():
            made = np.flatnonzero(operators == k)
            if len(made):
                self._vary_custom(operator, made, boundary, offspring)
        return offspring

    def _crossover(self, crossed: bool) -> tuple[int, Array]:
        """The crossover of a generation, and the axes it uses where these are not the box's."""
        settings, population = self._settings, self._population
        chosen, basis = layout.BINOMIAL, self._no_points
        if self._happens(settings.exponential):
            chosen = layout.EXPONENTIAL if settings.exponential_wraps else layout.CUT
        if self._happens(settings.eigen) and crossed:
            few = max(2, round(settings.eigen_share * population.NP))
            found = eigenvectors(population.rows, population.order[:few])
            if found is not None:
                basis = found
        return chosen, basis

    def _happens(self, chance: float) -> bool:
        """Whether something of this chance happens; what is certain takes no random number."""
        return chance > 0.0 and (chance == 1.0 or self._rng.random() < chance)

    def _follow_progress(self, progress: float) -> None:
        """Set what depends on the share of the run that is over, or on the success rate."""
        if progress >= self._stage_end:
            self._pool.move(progress)
            self.rules.move(progress)
            # What F of a weighted strategy's first difference is multiplied by (jSO).
            self._weight = 0.7 if progress < 0.2 else 0.8 if progress < 0.4 else 1.2
            # The end itself belongs to either stage, as rules say: the next time is soon enough.
            self._stage_end = min((end for end in _STAGES if end >= progress), default=math.inf)
        success = self._population.success_rate
        if self._pool.follows_success:
            self._pool.follow_success(success)
        self.top = self._settings.top(progress, success)

    def _sort_rates(self) -> None:
        """Let the best parent have the smallest CR, and so on."""
        population, batch = self._population, self.batch
        order, n = population.order, len(batch.CR)
        if population.newest:
            order = population.fitness[batch.parents].argsort(kind="stable")
        elif n < population.NP:
            order = order[order < n]
        batch.CR[order] = np.sort(batch.CR)

    def _samples(self, turn: Turn, rotated: bool) -> Array:
        """The mutant of each offspring whose operator has a model, which may set its CR too."""
        samples = self._no_points
        for model, having in turn.models:
            mine = self._made_by(having)
            if len(mine):
                if len(samples) == 0:
                    samples = self._sampled[: len(self.batch.operators)]
                model.propose(self.batch, mine, rotated, samples)
        return samples

    def _vary_custom(
        self, operator: CustomOperator, made: Array, boundary: int, offspring: Array
    ) -> None:
        """Write the offspring that a custom operator proposes."""
        assert self._view is not None  # as there are custom operators
        parents = self.batch.parents[made]
        wanted = (len(made), len(self._low))
        expected = f"expected finite numbers, one row for each parent: {wanted}"
        proposed = operator.propose(self._view, parents, self._rng)
        try:
            points = real_numbers(proposed)
        except (TypeError, ValueError) as error:
            raise InvalidFeedback(
                f"operator {operator.name!r} proposed no array of real numbers: {error}; {expected}"
            ) from error
        if points.shape != wanted or not np.isfinite(points).all():
            raise InvalidFeedback(
                f"operator {operator.name!r} proposed an array of shape {points.shape}"
                f"{'' if points.shape != wanted else ' with values that are not finite'}; "
                f"{expected}"
            )
        offspring[made] = points
        spare = self._rng.random(wanted) if self._resample else np.zeros(wanted)
        self.batch.repairs += mutation.enforce(
            offspring, made, parents, self._population.rows, spare, self._low, self._high, boundary
        )

    def vary_integers(self, offspring: Array, integers: Array) -> None:
        """Keep integer coordinates from stagnating.

        Of an offspring whose integers are all those of its parent, a random one moves by 1: always
        if nothing else is new either, otherwise with probability 0.1.
        """
        parents = self._population.rows[self.batch.parents]
        new = offspring != parents
        new[:, integers] = np.rint(offspring[:, integers]) != np.rint(parents[:, integers])
        same = ~new[:, integers].any(axis=1)
        draws = self._rng.random((len(offspring), 3))
        for i in np.flatnonzero(same & (~new.any(axis=1) | (draws[:, 0] < _INTEGER_STEP))):
            j = integers[int(draws[i, 1] * len(integers))]
            step = 1.0 if draws[i, 2] < 0.5 else -1.0
            for moved in (offspring[i, j] + step, offspring[i, j] - step):
                if self._low[j] <= moved <= self._high[j]:
                    offspring[i, j] = moved
                    break

    # Learning from them

    def learn(self, points: Array, values: Array, parents: Array, evaluations: int) -> None:
        """Hear of the offspring and what they compete with, before they take their places."""
        pool, batch, rules, turn = self._pool, self.batch, self.rules, self._turn()
        if turn.adapts:
            mutation.learn(
                rules.means, rules.lengths, rules.numbers, rules.turns, pool.table,
                batch.operators, parents, values, batch.F, batch.CR,
            )  # fmt: skip
        for k, operator in pool.custom.items():
            mine = np.flatnonzero(batch.operators == k)
            if len(mine) and hasattr(operator, "learn"):
                improved = values[mine] < parents[mine]  # not so for NaN
                operator.learn(
                    self._view, batch.parents[mine], points[mine], values[mine], improved
                )
        if turn.learning or turn.kept:
            self._tell_models(turn, points, values, values <= parents, evaluations)

    def _tell_models(
        self, turn: Turn, points: Array, values: Array, survived: Array, evaluations: int
    ) -> None:
        """Let models learn from their offspring, and individuals whose offspring failed redraw."""
        batch = self.batch
        for model, having in turn.learning:
            mine = self._made_by(having)
            if len(mine) == len(values):
                model.learn(points, values, survived, evaluations)
            elif len(mine):
                model.learn(points[mine], values[mine], survived[mine], evaluations)
        for having, rows, numbers, columns in turn.kept:
            redraw(
                self.rates, rows, numbers, columns, batch.uniforms, having, batch.operators,
                batch.parents, survived,
            )  # fmt: skip

    def follow(self, evaluations: int) -> None:
        """Let models hear of the survivors."""
        for model in self._following:
            model.follow(evaluations)

    def keep(self, stay: Array) -> None:
        """Forget what is kept for parents that have left."""
        if len(self.rates):
            self.rates = self.rates.take(stay, axis=1)  # contiguous, which an index would not be

    # Who made them

    def replaces_worst(self) -> bool:
        """Whether a generation is that of a model whose offspring compete with the worst."""
        replacing = self._turn().replacing
        if not replacing:
            return False
        n = len(self.batch.operators)
        return any(len(self._made_by(having)) == n for having in replacing)

    def uses_archive(self) -> bool:
        """Whether parents that lost enter the archive."""
        return self._turn().archived

    def _made_by(self, chosen: Array) -> Array:
        """The offspring of the operators that are marked."""
        operators = self.batch.operators
        if self._takes_turns or len(chosen) == 1:  # only those whose turn it is are asked for
            return self._everyone[: len(operators)]
        made: Array = chosen[operators].nonzero()[0]
        return made

    # Exact resume

    def state(self) -> dict[str, Any]:
        """What changes in a run, beside arrays."""
        custom = {}
        for operator in self._pool.custom.values():
            remembered = getattr(operator, "state", None)
            if callable(remembered):
                custom[operator.name] = remembered()
        models = {name: model.state() for name, model in self.models.items()}
        return {"rules": self.rules.state(), "models": models, "custom": custom}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from what :meth:`state` returned."""
        self.rules.restore(state["rules"])
        for name, model in self.models.items():
            model.restore(state["models"][name])
        for operator in self._pool.custom.values():
            if operator.name in state["custom"] and hasattr(operator, "restore"):
                operator.restore(state["custom"][operator.name])
