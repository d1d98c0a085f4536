"""Several generations in one compiled loop, for an objective that numba has compiled.

The loop makes what `ask`, the evaluation and `tell` make, by the same kernels from the same random
numbers: a run does not depend on which of its generations were made here. It serves runs whose
every step is a kernel: strategies of the package with binomial crossover, settings that stay as
they are but for the size of the population, and a method that :mod:`uaos.selection.fused` has.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import typeof, types

from uaos.jit import is_compiled, linked
from uaos.optimizers.base import Array, mark_failures
from uaos.optimizers.de import layout as at
from uaos.optimizers.de import mutation
from uaos.optimizers.de.population import INSERTION, alike, may_have_converged, shrink, survive
from uaos.optimizers.de.settings import Stagnation
from uaos.selection.components.selections import draw_proportionally
from uaos.selection.fused import Fused

if TYPE_CHECKING:
    from uaos.optimizers.de.optimizer import DifferentialEvolution

# Random numbers that a compiled loop has in advance: as many as the caches hold.
_AHEAD = 2**17

# The least number of evaluations that makes up for calling a compiled loop.
_WORTHWHILE = 500

#: What evaluates a batch: a compiled function that writes the values of points to an array.
EVALUATE = types.FunctionType(types.void(types.float64[:, ::1], types.float64[::1]))

#: Which numbers of `State.floats` and `.integers` are which.
BEST, EPOCH_BEST = range(2)
LATEST, SINCE_BETTER, SIZE, DRAWN, USED = range(5)


class Engine(NamedTuple):
    """What stays as it is."""

    sizes: Array
    """The size of the population in each generation, and of the archive."""
    capacities: Array
    table: Array
    role_table: Array
    lengths: Array
    numbers: Array
    low: Array
    high: Array
    boundary: int
    offset: int
    columns: int
    reservoir: bool
    top: float
    top_drawn: bool
    by_latest: bool
    """Whether x_best is by the rule "latest"."""
    target: float
    patience: int
    spread: float
    atol: float
    """`atol` and `tol` of the convergence that ends a run; below 0 if none does."""
    tol: float


class State(NamedTuple):
    """What every generation changes; of arrays for each parent, the first NP count."""

    rows: Array
    fitness: Array
    excess: Array
    order: Array
    counters: Array
    means: Array
    turns: Array
    operators: Array
    F: Array
    CR: Array
    best_x: Array
    floats: Array
    integers: Array


class Rows(NamedTuple):
    """What the history has of each generation."""

    counts: Array
    probabilities: Array
    best: Array
    repairs: Array


def _generations(
    evaluate: Any, learn: Any, draws: Array, engine: Engine, now: State, selector: Fused,
    rows: Rows,
) -> int:  # fmt: skip
    """Make a generation of each of the sizes, until the run may end; return how many.

    `draws` are the random numbers; of them USED counts those in use, DRAWN those up to the last
    generation.
    """
    n, D = len(now.fitness), now.rows.shape[1]
    selecting = len(selector.numbers) > 0
    everyone, empty, none = np.arange(n), np.zeros((0, D)), np.zeros(0)
    all_offspring, all_points, all_values = np.empty((n, D)), np.empty((n, D)), np.empty(n)
    for g in range(len(engine.sizes)):
        parents, fitness, order = everyone[:n], now.fitness[:n], now.order[:n]
        operators, F, CR = now.operators[:n], now.F[:n], now.CR[:n]
        offspring, points, values = all_offspring[:n], all_points[:n], all_values[:n]
        used = now.integers[USED]
        # Element by element: the compiler takes seconds for an assignment to a slice.
        for op in range(len(selector.probabilities)):
            rows.probabilities[g, op] = selector.probabilities[op]
        if selecting:
            drawn = draw_proportionally(selector.probabilities, draws[used : used + n])
            for m in range(n):
                operators[m] = drawn[m]
            used += 2 * n + 1
        uniforms = draws[used : used + n * engine.columns].reshape((n, engine.columns))
        now.integers[DRAWN] = now.integers[USED] = used + n * engine.columns
        mutation.draw_parameters(
            operators, parents, engine.table, now.means, engine.lengths, engine.numbers, empty,
            uniforms, F, CR,
        )  # fmt: skip
        latest = engine.by_latest and now.integers[LATEST] >= 0
        rows.repairs[g] = mutation.propose(
            now.rows, n, engine.offset, now.counters[at.ARCHIVED], order,
            now.integers[LATEST] if latest else order[0], parents, operators, engine.table,
            engine.role_table, uniforms, -1, 1.0, empty, engine.top, engine.top_drawn, 1.0,
            at.BINOMIAL, empty, -1.0, none, True, engine.low, engine.high, engine.boundary,
            offspring, F, CR,
        )  # fmt: skip
        for m in range(n):  # a copy, which the objective may write to
            for j in range(D):
                points[m, j] = offspring[m, j]
        evaluate(points, values)
        best = mark_failures(values)
        if best >= 0 and values[best] < now.floats[BEST]:
            now.floats[BEST] = values[best]
            for j in range(D):
                now.best_x[j] = offspring[best, j]
        if selecting:
            learn(
                selector.numbers, selector.scale, selector.table, selector.count,
                selector.rewards, selector.qualities, selector.probabilities, selector.tally,
                operators, fitness, values,
            )  # fmt: skip
        if len(engine.lengths):
            mutation.learn(
                now.means, engine.lengths, engine.numbers, now.turns, engine.table, operators,
                fitness, values, F, CR,
            )  # fmt: skip
        rows.counts[g] = 0
        best = survive(
            now.rows, fitness, engine.offset, engine.capacities[g], engine.reservoir, now.counters,
            offspring, values, uniforms, operators, rows.counts[g], order, n,
        )  # fmt: skip
        now.integers[SINCE_BETTER] += 1
        if best >= 0:
            now.integers[LATEST] = best
            if values[best] < now.floats[EPOCH_BEST]:
                now.floats[EPOCH_BEST] = values[best]
                now.integers[SINCE_BETTER] = 0
        rows.best[g] = now.floats[BEST]
        least, most = fitness[order[0]], fitness[order[-1]]
        if (
            now.floats[BEST] <= engine.target
            or now.integers[SINCE_BETTER] >= engine.patience
            or _alike(least, most, engine.spread)
            or _may_have_converged(least, most, n, engine.atol, engine.tol)
        ):
            return g + 1
        if g + 1 < len(engine.sizes) and engine.sizes[g + 1] < n:
            n = _shrink(draws, engine, now, fitness, order, g + 1)
            if _alike(least, now.fitness[now.order[n - 1]], engine.spread):
                return g + 1
    return len(engine.sizes)


@linked
def _shrink(draws: Array, engine: Engine, now: State, fitness: Array, order: Array, g: int) -> int:
    """Let the worst leave before generation g, and members of the archive; return the new NP."""
    n: int = engine.sizes[g]
    now.integers[SIZE] = n
    stay = np.empty(n, np.int64)
    used = now.integers[USED]
    now.integers[USED] = used + max(0, now.counters[at.ARCHIVED] - engine.capacities[g])
    now.integers[LATEST] = shrink(
        now.rows, fitness, now.excess, order, n, now.integers[LATEST], stay, engine.offset,
        now.counters, draws[used : now.integers[USED]],
    )  # fmt: skip
    return n


_alike, _may_have_converged = linked(alike), linked(may_have_converged)


def advance(run: "DifferentialEvolution", evaluate: Any, most: int, stops: bool) -> int:
    """Make whole generations of a run: see :meth:`DifferentialEvolution.advance`."""
    if run.best_x is None or not run.variation.kernels_suffice:
        return 0
    if not is_compiled(mutation.propose):
        return 0
    run.prepare()
    population, epoch, variation = run.population, run.epoch, run.variation
    selector, rules, batch = run.selector.fused, variation.rules, variation.batch
    if selector is None or not epoch.started or population.NP > INSERTION:
        return 0
    K, columns, n = len(run.pool.members), variation.columns, population.NP
    sizes = _sizes_ahead(run, most)
    if sum(sizes) < _WORTHWHILE:
        return 0
    capacities = [population.capacity_at(NP) for NP in sizes]
    before = run.rng.bit_generator.state
    selected = 2 * sum(sizes) + len(sizes) if K > 1 else 0
    draws = run.rng.random(selected + sum(sizes) * columns + capacities[0] - capacities[-1])
    patience, spread = 2**62, -1.0
    if stops or isinstance(run.settings.restart, Stagnation):
        patience, spread = run.patience.patience, run.patience.spread
    engine = Engine(
        np.array(sizes), np.array(capacities), run.pool.table, run.pool.role_table,
        rules.lengths, rules.numbers, run.low, run.high, variation.boundary, population.NP_start,
        columns, population.reservoir, variation.top, variation.top_drawn, population.by_latest,
        -np.inf if run.target is None else run.target, patience, spread,
        *((run.atol, run.tol) if stops else (-1.0, -1.0)),
    )  # fmt: skip
    now = State(
        population.rows, population.fitness, population.excess, population.order,
        population.counters, rules.means, rules.turns, np.zeros(n, np.int64), np.empty(n),
        np.empty(n), run.best_x.copy(),
        np.array([run.best_fitness, epoch.best]),
        np.array([population.latest, epoch.since_better, n, 0, 0]),
    )  # fmt: skip
    rows = Rows(
        np.empty((len(sizes), K), np.int64), np.empty((len(sizes), K)), np.empty(len(sizes)),
        np.empty(len(sizes), np.int64),
    )  # fmt: skip
    made = _compiled(evaluate, run.selector.learner, draws, engine, now, selector, rows)
    run.best_x = now.best_x
    run.best_fitness, epoch.best = now.floats.tolist()
    population.latest, epoch.since_better, NP, drawn, used = now.integers.tolist()
    if used < len(draws):  # as if only these had been drawn
        run.rng.bit_generator.state = before
        run.rng.random(used)
    population.cut(NP)
    # Of the last generation.
    n = sizes[made - 1]
    batch.operators, batch.F, batch.CR = now.operators[:n], now.F[:n], now.CR[:n]
    batch.parents, batch.repairs = np.arange(n), int(rows.repairs[made - 1])
    batch.uniforms = draws[drawn - n * columns : drawn].reshape(n, columns).copy()
    evaluations = run.evaluations + np.cumsum(sizes[:made])
    if run.history is not None:
        run.asked_probabilities = rows.probabilities[made - 1].copy()
        run.history.extend(
            evaluations=evaluations, iteration=run.iterations + np.arange(1, made + 1),
            population=engine.sizes[:made], restarts=np.full(made, run.restarts),
            **{name: column[:made] for name, column in rows._asdict().items()},
        )  # fmt: skip
    run.evaluations = int(evaluations[-1])
    run.iterations += made
    return made


def _sizes_ahead(run: "DifferentialEvolution", most: int) -> list[int]:
    """The size of the population in each of the next generations, `most` at most.

    As many as the budget has whole ones for, and the caches random numbers.
    """
    NP, spent = run.population.NP, run.evaluations - run.epoch.start
    left = max(NP, _AHEAD // (run.variation.columns + 2))
    if run.budget is not None:
        left = min(left, run.budget - run.evaluations)
    sizes: list[int] = []
    shrinks = run.shrinks
    while len(sizes) < most and left >= NP:
        sizes.append(NP)
        left -= NP
        spent += NP
        if shrinks:
            NP = min(NP, run.size_after(spent))
    return sizes


def _compiled(evaluate: Any, learn: Any, draws: Array, *arguments: Any) -> int:
    """Call `_generations`, compiled."""
    global _loop
    if _loop is None:
        # With its signature, so that one loop serves every objective and method.
        _loop = linked(_generations)
        if hasattr(_loop, "compile"):  # not so without numba's compiler
            selector = arguments[2]
            taken = (*map(typeof, selector), types.int64[::1], types.float64[::1])
            learns = types.FunctionType(types.void(*taken, types.float64[::1]))
            _loop.compile((EVALUATE, learns, *map(typeof, (draws, *arguments))))
            _loop.disable_compile()
    made: int = _loop(evaluate, learn, draws, *arguments)
    return made


_loop: Any = None
