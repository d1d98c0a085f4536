"""Several generations in one compiled loop, for an objective that numba has compiled.

The loop makes what `ask`, the evaluation and `tell` make, by the same kernels from the same random
numbers: a run does not depend on which of its generations were made here. It serves runs whose
every step is a kernel: strategies of the package with binomial crossover, settings that stay as
they are but for the size of the population, and a method that :mod:`uaos.selection.fused` has.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types

from uaos.jit import linked
from uaos.optimizers.base import Array, mark_failures
from uaos.optimizers.de import kernels
from uaos.optimizers.de import layout as at
from uaos.selection.components.selections import draw_proportionally
from uaos.selection.fused import Fused

#: What evaluates a batch: a compiled function that writes the values of points to an array.
EVALUATE = types.FunctionType(types.void(types.float64[:, ::1], types.float64[::1]))

#: Which numbers of `Population.floats` and `.integers` are which.
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


class Population(NamedTuple):
    """What every generation changes; of arrays for each parent, the first NP count."""

    rows: Array
    fitness: Array
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
    evaluate: Any, learn: Any, draws: Array, engine: Engine, now: Population, selector: Fused,
    rows: Rows,
) -> int:  # fmt: skip
    """Make a generation of each of the sizes, until the run may end; return how many.

    `draws` are the random numbers; of them USED counts those in use, DRAWN those up to the last
    generation.
    """
    n, D = len(now.fitness), now.rows.shape[1]
    selecting = len(selector.numbers) > 0
    everyone, empty = np.arange(n), np.zeros((0, D))
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
        kernels.draw_parameters(
            operators, engine.table, now.means, engine.lengths, engine.numbers, uniforms, F, CR
        )  # fmt: skip
        latest = engine.by_latest and now.integers[LATEST] >= 0
        rows.repairs[g] = kernels.propose(
            now.rows, n, engine.offset, now.counters[at.ARCHIVED], order,
            now.integers[LATEST] if latest else order[0], parents, operators, engine.table,
            engine.role_table, uniforms, -1, 1.0, empty, engine.top, engine.top_drawn, 1.0,
            at.BINOMIAL, empty, engine.low, engine.high, engine.boundary, offspring, F, CR, CR,
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
            kernels.learn(
                now.means, engine.lengths, engine.numbers, now.turns, engine.table, operators,
                fitness, values, F, CR,
            )  # fmt: skip
        rows.counts[g] = 0
        best = kernels.survive(
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
            or kernels.alike(least, most, engine.spread)
            or _may_have_converged(least, most, n, engine.atol, engine.tol)
        ):
            return g + 1
        if g + 1 < len(engine.sizes) and engine.sizes[g + 1] < n:
            n = _shrink(draws, engine, now, fitness, order, g + 1)
            if kernels.alike(least, now.fitness[now.order[n - 1]], engine.spread):
                return g + 1
    return len(engine.sizes)


@linked
def _shrink(
    draws: Array, engine: Engine, now: Population, fitness: Array, order: Array, g: int
) -> int:
    """Let the worst leave before generation g, and members of the archive; return the new NP."""
    n: int = engine.sizes[g]
    now.integers[SIZE] = n
    stay = np.empty(n, np.int64)
    now.integers[LATEST] = kernels.shrink(
        now.rows, fitness, order, n, now.integers[LATEST], stay
    )  # fmt: skip
    used = now.integers[USED]
    now.integers[USED] = used + max(0, now.counters[at.ARCHIVED] - engine.capacities[g])
    kernels.shrink_archive(
        now.rows, engine.offset, now.counters, draws[used : now.integers[USED]]
    )  # fmt: skip
    return n


def may_have_converged(least: float, most: float, NP: int, atol: float, tol: float) -> bool:
    """Whether std f <= atol + tol·|mean f| is possible: std f is at least (max - min) / √(2 NP)."""
    tolerated = atol + tol * max(abs(least), abs(most))
    return most - least <= 1.01 * tolerated * math.sqrt(2.0 * NP)


_may_have_converged = linked(may_have_converged)


def generations(evaluate: Any, learn: Any, draws: Array, *arguments: Any) -> int:
    """Make generations in a compiled loop: see `_generations`."""
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
