"""How the offspring of a generation are made: F and CR, mutants, crossover, repair.

And what is learnt from them: by the rules for F and CR, by models and by custom operators.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from uaos.errors import InvalidFeedback
from uaos.optimizers.arguments import real_numbers
from uaos.optimizers.base import Array
from uaos.optimizers.de import kernels, layout
from uaos.optimizers.de.epoch import Epoch
from uaos.optimizers.de.models import MODELS, Generation, Model, eigenvectors
from uaos.optimizers.de.operators import CustomOperator
from uaos.optimizers.de.pool import Pool, RuleMemory
from uaos.optimizers.de.population import Batch, Population
from uaos.optimizers.de.settings import BOUNDARIES, Settings
from uaos.optimizers.de.view import PopulationView

# The three repairs of a generation under boundary="mixed".
_MIXED = (layout.MIDPOINT, layout.CLIP, layout.RESAMPLE)

# The probability that an integer coordinate of an offspring with its parent's integers moves.
_INTEGER_STEP = 0.1


class Variation:
    """The making of offspring, as long as a population lives.

    Parameters
    ----------
    pool : Pool
        The operators.
    settings : Settings
        The settings.
    population : Population
        The parents.
    epoch : Epoch
        Their course.
    view : PopulationView
        The run as custom operators see it.
    rng : numpy.random.Generator
        The generator of the run.
    takes_turns : bool
        Whether one operator makes all offspring of a generation.
    """

    def __init__(
        self,
        pool: Pool,
        settings: Settings,
        population: Population,
        epoch: Epoch,
        view: PopulationView,
        rng: np.random.Generator,
        takes_turns: bool,
    ) -> None:
        self._pool, self._settings, self._rng = pool, settings, rng
        self._population, self._epoch, self._view = population, epoch, view
        self._takes_turns, self._special = takes_turns, pool.special
        self._low, self._high = population.low, population.high
        D = len(self._low)
        self.boundary = BOUNDARIES[settings.boundary]
        self._resample = settings.boundary in ("resample", "mixed")
        self.top, self.top_drawn, self._weight = settings.top(), settings.top_drawn, 1.0
        #: Whether nothing depends on the stage of the run or on the success rate.
        self.steady = pool.steady and (settings.top_drawn or not isinstance(settings.top_NP, str))
        # The columns of the random numbers, as `layout` has them.
        columns = layout.CROSS + D + int(settings.top_drawn)
        self._rank_column = columns if pool.uses_ranks else -1
        self._parent_column = columns + int(pool.uses_ranks)
        self.columns = self._parent_column + int(population.newest)
        self.columns += D if self._resample else 0
        self._nothing = np.zeros((0, D))
        self._nobody, self._everyone = np.zeros(0, np.int64), np.arange(population.NP)
        self._further = not settings.is_classic or bool(pool.individual_rates) or bool(pool.models)
        #: Whether a generation needs nothing but kernels, whatever the stage of the run.
        self.kernels_suffice = self.steady and not (
            self._further or pool.custom or pool.uses_ranks or self.boundary == layout.MIXED
        )
        self.batch = Batch(self.columns)
        self.rules = RuleMemory(pool.rules, D)
        now, NP = self._now(epoch.start), population.NP_start
        self.models: dict[str, Model] = {
            name: MODELS[name](now, NP, round(epoch.length / NP)) for name in pool.models
        }
        # The F and CR that individuals keep, a row for each rule.
        self.rates = np.empty((len(pool.individual_rates), NP))
        for row, (rule, role, _) in zip(self.rates, pool.individual_rates, strict=True):
            row[:] = rule.draw(role, rng.random(NP))

    # Making offspring

    def vary(self, operators: Array, evaluations: int) -> Array:
        """Make the offspring of the first parents, one by each of `operators`."""
        pool, settings, population = self._pool, self._settings, self._population
        batch, rules, rng, n = self.batch, self.rules, self._rng, len(operators)
        batch.operators = operators
        crossover, basis = layout.BINOMIAL, self._nothing
        if self._further:
            crossover, basis = self._crossover()
        boundary = self.boundary
        if boundary == layout.MIXED:
            boundary = _MIXED[int(3 * rng.random())]
        if len(batch.uniforms) != n:
            batch.uniforms = np.empty((n, self.columns))
            batch.F, batch.CR = np.empty(n), np.empty(n)
        uniforms = rng.random(out=batch.uniforms)
        batch.parents = self._everyone[:n]
        if population.newest:
            batch.parents = (uniforms[:, self._parent_column] * population.NP).astype(np.int64)
        if not self.steady:
            self._follow_progress(self._epoch.progress(evaluations))
        kernels.draw_parameters(
            operators, pool.table, rules.means, rules.lengths, rules.numbers, uniforms, batch.F,
            batch.CR,
        )  # fmt: skip
        CR, samples = batch.CR, self._nothing
        if self._further:
            CR, samples = self._further_parameters(crossover, basis, evaluations)
        offspring = np.empty((n, len(self._low)))
        batch.repairs = kernels.propose(
            population.rows, population.NP, population.NP_start,
            population.counters.item(layout.ARCHIVED), population.order, population.best_index,
            batch.parents, operators, pool.table, pool.role_table, uniforms, self._rank_column,
            settings.rank_pressure, samples, self.top, self.top_drawn, self._weight, crossover,
            basis, self._low, self._high, boundary, offspring, batch.F, CR, batch.CR,
        )  # fmt: skip
        for k, operator in pool.custom.items():
            made = np.flatnonzero(operators == k)
            if len(made):
                self._vary_custom(operator, made, boundary, offspring)
        return offspring

    def _crossover(self) -> tuple[int, Array]:
        """The crossover of a generation, and the axes it uses where these are not the box's."""
        settings, population = self._settings, self._population
        chosen, basis = layout.BINOMIAL, self._nothing
        if self._happens(settings.exponential):
            chosen = layout.EXPONENTIAL if settings.exponential_wraps else layout.CUT
        if self._happens(settings.eigen):
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
        success = self._population.success_rate
        self._pool.move(progress, success)
        self.rules.move(progress)
        self.top = self._settings.top(progress, success)
        # What F of a weighted strategy's first difference is multiplied by (jSO).
        self._weight = 0.7 if progress < 0.2 else 0.8 if progress < 0.4 else 1.2

    def _further_parameters(
        self, crossover: int, basis: Array, evaluations: int
    ) -> tuple[Array, Array]:
        """F and CR by the rules of recipes: the CR for crossover, and x_sample of models."""
        pool, settings, batch = self._pool, self._settings, self.batch
        operators, parents, n = batch.operators, batch.parents, len(batch.operators)
        if settings.sorted_CR:  # the best parent gets the smallest
            order = self._population.order
            if self._population.newest:
                order = self._population.fitness[parents].argsort(kind="stable")
            batch.CR[order[order < n]] = np.sort(batch.CR)
        for row, (_, role, having) in enumerate(pool.individual_rates):
            if self._takes_turns and not having[operators[0]]:
                continue
            kernels.take_individual_rates(
                having, operators, parents, self.rates[row], batch.F if role == "F" else batch.CR
            )
        samples = self._nothing
        if self.models and not self.is_ordinary():
            samples = self._samples(self._now(evaluations, len(basis) > 0))
        CR = batch.CR
        if settings.eigen_CR == "kept" and len(basis):
            rates = self.rates[[role for _, role, _ in pool.individual_rates].index("CR")]
            CR = CR.copy()
            kernels.take_individual_rates(pool.crossed, operators, parents, rates, CR)
        if settings.j_rand == "if none":
            kernels.force_none(batch.uniforms, CR, len(self._low))
        if settings.binomial_CR == "rising" and crossover == layout.BINOMIAL:
            CR = np.full(n, max(0.0, 2.0 * self._epoch.progress(evaluations) - 1.0))
        return CR, samples

    def _samples(self, now: Generation) -> Array:
        """The mutant of each offspring whose operator has a model, which may set its CR too."""
        batch, samples = self.batch, self._nothing
        n = len(batch.operators)
        for name, model in self.models.items():
            mine = self._made_by(self._pool.models[name])
            if len(mine) == n:
                samples, CR = model.propose(now, batch.parents, batch.F)
                if CR is not None:
                    batch.CR = CR
            elif len(mine):
                made, CR = model.propose(now, batch.parents[mine], batch.F[mine])
                if CR is not None:
                    batch.CR[mine] = CR
                if len(samples) == 0:
                    samples = np.empty((n, len(self._low)))
                samples[mine] = made
        return samples

    def _now(self, evaluations: int, rotated: bool = False) -> Generation:
        """The population as the models see it."""
        population = self._population
        return Generation(
            population.rows[: population.NP], population.order, evaluations, rotated, self._low,
            self._high, self._rng,
        )  # fmt: skip

    def _vary_custom(
        self, operator: CustomOperator, made: Array, boundary: int, offspring: Array
    ) -> None:
        """Write the offspring that a custom operator proposes."""
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
        self.batch.repairs += kernels.enforce(
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
        pool, batch, rules = self._pool, self.batch, self.rules
        if len(rules.lengths):
            kernels.learn(
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
        if (pool.learning or pool.individual_rates) and not self.is_ordinary():
            self._tell_models(points, values, values <= parents, evaluations)

    def _tell_models(self, points: Array, values: Array, survived: Array, evaluations: int) -> None:
        """Let models learn from their offspring, and individuals whose offspring failed redraw."""
        batch = self.batch
        for name in self._pool.learning:
            mine = self._made_by(self._pool.models[name])
            if len(mine) == len(values):
                self.models[name].learn(self._now(evaluations), points, values, survived)
            elif len(mine):
                self.models[name].learn(
                    self._now(evaluations), points[mine], values[mine], survived[mine]
                )
        for rates, (rule, role, having) in zip(
            self.rates, self._pool.individual_rates, strict=True
        ):
            if self._takes_turns and not having[batch.operators[0]]:
                continue
            failed = kernels.failed_keepers(having, batch.operators, batch.parents, survived)
            if len(failed):
                rates[failed] = rule.draw(role, self._rng.random(len(failed)))

    def follow(self, evaluations: int) -> None:
        """Let models hear of the survivors."""
        for name in self._pool.following:
            self.models[name].follow(self._now(evaluations))

    def keep(self, stay: Array) -> None:
        """Forget what is kept for parents that have left."""
        if len(self.rates):
            self.rates = self.rates[:, stay]

    # Who made them

    def is_ordinary(self) -> bool:
        """Whether one of several operators, with neither model nor kept values, had its turn."""
        return self._takes_turns and self.batch.operators.item(0) not in self._special

    def replaces_worst(self) -> bool:
        """Whether a generation is that of a model whose offspring compete with the worst."""
        if not self._pool.replacing or self.is_ordinary():
            return False
        models, n = self._pool.models, len(self.batch.operators)
        return any(len(self._made_by(models[name])) == n for name in self._pool.replacing)

    def uses_archive(self) -> bool:
        """Whether parents that lost enter the archive.

        Not if one operator of many had the whole generation and does not use the archive.
        """
        return not self._takes_turns or bool(self._pool.archived[self.batch.operators[0]])

    def _made_by(self, chosen: Array) -> Array:
        """The offspring of the operators that are marked."""
        made: Array
        operators = self.batch.operators
        if self._takes_turns or len(chosen) == 1:
            made = self._everyone[: len(operators)] if chosen[operators[0]] else self._nobody
        else:
            made = chosen[operators].nonzero()[0]
        return made

    # Exact resume

    def accepts(self, state: Mapping[str, Any], n: int) -> bool:
        """Whether the kernels can work with a saved run whose batch has n offspring."""
        operators, parents, uniforms, F, CR = (
            state[name] for name in ("_operators", "_parents", "_uniforms", "_F", "_CR")
        )
        kept, rules, m = len(self.rates), state["rules"], len(operators)
        return (
            n <= m
            and operators.shape == parents.shape == F.shape == CR.shape == (m,)
            and uniforms.shape == (m, self.columns)
            and uniforms.dtype == F.dtype == CR.dtype == np.float64
            and _within(operators[:n], len(self._pool.members))
            and _within(parents[:n], state["NP"])
            and _within(uniforms[:n], 1)
            and len(state["_rates"]) == kept
            and (kept == 0 or state["_rates"].shape == (kept, state["NP"]))
            and rules["means"].shape == self.rules.means.shape
            and _within(rules["turns"], self.rules.lengths)
        )

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


def _within(numbers: Array, end: Any) -> bool:
    """Whether all are in [0, end)."""
    return bool(((numbers >= 0) & (numbers < end)).all())
