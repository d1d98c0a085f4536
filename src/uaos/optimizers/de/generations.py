"""Several generations in one compiled loop, for an objective that numba has compiled.

The loop makes what `ask`, the evaluation and `tell` make, by the same kernels from the same random
numbers: a run does not depend on which of its generations were made here. It serves runs whose
every step is a kernel: strategies of the package with binomial crossover, settings that stay as
they are, and a method that :mod:`uaos.selection.fused` has.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types

from uaos.jit import linked
from uaos.optimizers.base import Array, mark_failures
from uaos.optimizers.de import kernels
from uaos.optimizers.de import layout as at
from uaos.selection.components.selections import draw_proportionally
from uaos.selection.fused import Fused, learn

#: What evaluates a batch: a compiled function that writes the values of points to an array.
EVALUATE = types.FunctionType(types.void(types.float64[:, ::1], types.float64[::1]))

#: Which numbers of `Population.floats` and `.integers` are which.
BEST, EPOCH_BEST, SUCCESS_RATE = range(3)
LATEST, SINCE_BETTER = range(2)


class Engine(NamedTuple):
    """What stays as it is."""

    table: Array
    role_table: Array
    lengths: Array
    numbers: Array
    low: Array
    high: Array
    boundary: int
    offset: int
    capacity: int
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
    """What every generation changes."""

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
    evaluate: Any, draws: Array, engine: Engine, now: Population, selector: Fused, rows: Rows
) -> int:
    """Make a generation from each row of `draws`, until the run may end; return how many."""
    NP, D = len(now.fitness), now.rows.shape[1]
    selecting = len(selector.codes) > 0
    first = 2 * NP + 1 if selecting else 0
    columns = (draws.shape[1] - first) // NP
    parents, none, empty = np.arange(NP), np.zeros(0, np.int64), np.zeros((0, D))
    offspring, points, values = np.empty((NP, D)), np.empty((NP, D)), np.empty(NP)
    for g in range(len(draws)):
        rows.probabilities[g] = selector.probabilities
        if selecting:
            now.operators[:] = draw_proportionally(selector.probabilities, draws[g, :NP])
        uniforms = draws[g, first:].reshape((NP, columns))
        kernels.draw_parameters(
            now.operators, engine.table, now.means, engine.lengths, engine.numbers, uniforms, now.F,
            now.CR,
        )  # fmt: skip
        latest = engine.by_latest and now.integers[LATEST] >= 0
        rows.repairs[g] = kernels.propose(
            now.rows, NP, engine.offset, now.counters[at.ARCHIVED], now.order,
            now.integers[LATEST] if latest else now.order[0], parents, now.operators, engine.table,
            engine.role_table, uniforms, none, empty, engine.top, engine.top_drawn, 1.0,
            at.BINOMIAL, empty, engine.low, engine.high, engine.boundary, offspring, now.F, now.CR,
            now.CR,
        )  # fmt: skip
        points[:] = offspring  # a copy, which the objective may write to
        evaluate(points, values)
        best = mark_failures(values)
        if best >= 0 and values[best] < now.floats[BEST]:
            now.floats[BEST] = values[best]
            now.best_x[:] = offspring[best]
        if selecting:
            learn(selector, now.operators, now.fitness, values)
        if len(engine.lengths):
            kernels.learn(
                now.means, engine.lengths, engine.numbers, now.turns, engine.table, now.operators,
                now.fitness, values, now.F, now.CR,
            )  # fmt: skip
        now.floats[SUCCESS_RATE] = np.sum(values <= now.fitness) / NP
        rows.counts[g] = 0
        best = kernels.survive(
            now.rows, now.fitness, engine.offset, engine.capacity, engine.reservoir, now.counters,
            offspring, values, uniforms, now.operators, rows.counts[g], now.order, NP,
        )  # fmt: skip
        now.integers[SINCE_BETTER] += 1
        if best >= 0:
            now.integers[LATEST] = best
            if values[best] < now.floats[EPOCH_BEST]:
                now.floats[EPOCH_BEST] = values[best]
                now.integers[SINCE_BETTER] = 0
        rows.best[g] = now.floats[BEST]
        least, most = now.fitness[now.order[0]], now.fitness[now.order[-1]]
        if (
            now.floats[BEST] <= engine.target
            or now.integers[SINCE_BETTER] >= engine.patience
            or kernels.alike(least, most, engine.spread)
            or _may_have_converged(least, most, NP, engine.atol, engine.tol)
        ):
            return g + 1
    return len(draws)


@linked
def _may_have_converged(least: float, most: float, NP: int, atol: float, tol: float) -> bool:
    """Whether std f <= atol + tol·|mean f| is possible: std f is at least (max - min) / √(2 NP)."""
    tolerated = atol + tol * max(abs(least), abs(most))
    return atol >= 0.0 and most - least <= 1.01 * tolerated * np.sqrt(2.0 * NP)


def generations(evaluate: Any, *arguments: Any) -> int:
    """Make generations in a compiled loop: see `_generations`."""
    global _loop
    if _loop is None:
        # With its signature, so that one loop serves every objective.
        _loop = linked(_generations)
        if hasattr(_loop, "compile"):  # not so without numba's compiler
            _loop.compile((EVALUATE, *map(typeof, arguments)))
            _loop.disable_compile()
    made: int = _loop(evaluate, *arguments)
    return made


_loop: Any = None
