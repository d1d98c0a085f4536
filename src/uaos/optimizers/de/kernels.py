"""The inner loops of a generation: making offspring, and survival.

Plain arrays in and out; no kernel draws a random number (see `layout`). Sums and differences are
taken in the order in which the formulas are written, and nothing is reassociated, so that the
compiled and the interpreted kernel agree to the last bit.

`rows` holds the population in rows 0..NP-1 and the archive from row `offset` on, so that a member
of either is one row number.
"""

from typing import Any

import numpy as np

from uaos.jit import njit
from uaos.optimizers.de import layout as at
from uaos.optimizers.de.sampling import draw

Array = np.ndarray[Any, Any]

# Who can stand in a formula, by the place in `cast` that `propose` puts it in (`strategies.CAST`).
_I, _BEST, _PBEST, _ARCH, _R1 = range(5)


@njit(cache=True, nogil=True, error_model="numpy")
def distinct(i: int, NP: int, uniforms: Array, count: int, used: Array, r: Array) -> None:
    """Write `count` distinct indices of 0..NP-1 other than i to `r`, without rejection.

    The k-th is `floor(u (NP - 1 - k))`, moved past the indices already used, which are kept sorted.
    """
    used[0] = i
    for k in range(count):
        v = int(uniforms[at.R + k] * (NP - 1 - k))
        for m in range(k + 1):
            v += int(v >= used[m])
        r[k] = v
        for m in range(k + 1):
            smaller = min(used[m], v)
            v = max(used[m], v)
            used[m] = smaller
        used[k + 1] = v


@njit(cache=True, nogil=True, error_model="numpy")
def repaired(v: float, low: float, high: float, parent: float, u: float, boundary: int) -> float:
    """A coordinate that left [low, high], brought back by the boundary rule."""
    if boundary == at.MIDPOINT:
        return (parent + low) / 2.0 if v < low else (parent + high) / 2.0
    if boundary == at.RESAMPLE:
        return low + u * (high - low)
    if boundary == at.REFLECT:
        # Mirrored at either bound as often as it takes: a triangle wave of period twice the width.
        width = high - low
        away = v - low
        away -= 2.0 * width * np.floor(away / (2.0 * width))
        if away > width:
            away = 2.0 * width - away
        v = low + away
    # What rounding (or a width that overflowed) may have left outside.
    return min(max(v, low), high)


@njit(cache=True, nogil=True, error_model="numpy")
def propose(
    rows: Array,
    NP: int,
    offset: int,
    archived: int,
    order: Array,
    best: int,
    operators: Array,
    table: Array,
    role_table: Array,
    means: Array,
    lengths: Array,
    uniforms: Array,
    top: float,
    top_drawn: bool,
    low: Array,
    high: Array,
    boundary: int,
    offspring: Array,
    F_used: Array,
    CR_used: Array,
) -> int:
    """Make the offspring of parents 0..n-1 and note their F and CR; return how many were repaired.

    Every strategy is  base + F (p1 - m1 [+ p2 - m2 [+ p3 - m3]]); `role_table` has them by code. A
    table and not a chain of branches, since the strategy of the next offspring cannot be predicted,
    and mispredicted branches were what this took most of its time for. Rows of operators without a
    strategy are left as they are.
    """
    n, D = offspring.shape
    used = np.empty(6, np.int64)
    cast = np.empty(9, np.int64)
    # More indices than a strategy needs do no harm, and the loop always has the same length.
    count = min(5, NP - 1)
    cast[_BEST] = best
    best_few = min(NP, max(2, int(np.rint(top * NP))))
    step = np.empty(D)
    top_column = at.CROSS + D
    resample_column = top_column + int(top_drawn)
    repairs = 0
    for i in range(n):
        op = operators[i]
        code = int(table[op, at.STRATEGY])
        if code == at.OWN:
            continue
        row = uniforms[i]
        # The call is for sampled rules only: constants are the common case, and it is not free.
        F, kind = table[op, at.F_A], int(table[op, at.F_KIND])
        if kind != at.CONSTANT:
            F = draw(
                kind, F, table[op, at.F_B], int(table[op, at.F_ROW]), at.OF_F,
                row[at.F], row[at.MEMORY], means, lengths,
            )  # fmt: skip
        CR, kind = table[op, at.CR_A], int(table[op, at.CR_KIND])
        if kind != at.CONSTANT:
            CR = draw(
                kind, CR, table[op, at.CR_B], int(table[op, at.CR_ROW]), at.OF_CR,
                row[at.CR], row[at.MEMORY], means, lengths,
            )  # fmt: skip
        F_used[i] = F
        CR_used[i] = CR

        # Who takes part.
        cast[_I] = i
        distinct(i, NP, row, count, used, cast[_R1:])
        if top_drawn:
            p = 2.0 / NP + row[top_column] * (top - 2.0 / NP)
            best_few = min(NP, max(2, int(np.rint(p * NP))))
        cast[_PBEST] = order[int(row[at.PBEST] * best_few)]
        a = int(row[at.ARCHIVE] * (NP - 1 + archived))
        a += int(a >= i)
        cast[_ARCH] = a + int(a >= NP) * (offset - NP)

        # Mutation and binomial crossover. Few arrays to a loop and no branches, so that the
        # compiler makes vector instructions of them.
        roles = role_table[code]
        base, p1, m1 = rows[cast[roles[0]]], rows[cast[roles[1]]], rows[cast[roles[2]]]
        for j in range(D):
            step[j] = p1[j] - m1[j]
        for term in range(3, 7, 2):
            if roles[term] >= 0:
                plus, minus = rows[cast[roles[term]]], rows[cast[roles[term + 1]]]
                for j in range(D):
                    step[j] = step[j] + plus[j] - minus[j]
        for j in range(D):
            step[j] = base[j] + F * step[j]
        parent, child, cross = rows[i], offspring[i], row[at.CROSS :]
        for j in range(D):
            ours, new = parent[j], step[j]
            child[j] = new if cross[j] < CR else ours
        j_rand = int(row[at.J_RAND] * D)
        child[j_rand] = step[j_rand]

        # Bounds. The parent is inside them, so only coordinates of the mutant can be outside.
        if boundary != at.NONE:
            outside = False
            for j in range(D):
                v = child[j]
                outside |= (v < low[j]) | (v > high[j])
            if outside:
                repairs += 1
                for j in range(D):
                    v = child[j]
                    if v < low[j] or v > high[j]:
                        u = row[resample_column + j] if boundary == at.RESAMPLE else 0.0
                        child[j] = repaired(v, low[j], high[j], parent[j], u, boundary)
    return repairs


@njit(cache=True, nogil=True, error_model="numpy")
def sort_again(order: Array, fitness: Array, NP: int) -> None:
    """Bring `order` (best first, ties by index) up to date by insertion: few parents have moved."""
    for k in range(1, NP):
        moved = order[k]
        f = fitness[moved]
        m = k - 1
        while m >= 0:
            other = order[m]
            g = fitness[other]
            if g > f or (g == f and other > moved):
                order[m + 1] = other
                m -= 1
            else:
                break
        order[m + 1] = moved


@njit(cache=True, nogil=True, error_model="numpy")
def survive(
    rows: Array,
    fitness: Array,
    offset: int,
    capacity: int,
    reservoir: bool,
    counters: Array,
    offspring: Array,
    values: Array,
    uniforms: Array,
    operators: Array,
    counts: Array,
    order: Array,
    ordered: int,
) -> int:
    """Let each offspring with u <= f take its parent's place, parents that lost enter the archive.

    A value that is not finite never survives; a failed parent has fitness +inf and yields to any
    finite value. Returns the index of the best offspring, -1 if all failed. A full archive gives
    up a random member (`recent`) or is a reservoir of all parents that ever lost (`history`). The
    first `ordered` of `order` are sorted again.
    """
    n, D = offspring.shape
    best = -1
    for i in range(n):
        counts[operators[i]] += 1
        u = values[i]
        if not np.isfinite(u):
            continue
        if best < 0 or u < values[best]:
            best = i
        if u > fitness[i]:
            continue
        if u < fitness[i] and capacity > 0:
            counters[at.EVER_LOST] += 1
            place = counters[at.ARCHIVED]
            if place < capacity:
                counters[at.ARCHIVED] += 1
            elif reservoir:
                place = int(uniforms[i, at.KEEP] * counters[at.EVER_LOST])
            else:
                place = int(uniforms[i, at.KEEP] * capacity)
            if place < capacity:
                for j in range(D):
                    rows[offset + place, j] = rows[i, j]
        for j in range(D):
            rows[i, j] = offspring[i, j]
        fitness[i] = u
    sort_again(order, fitness, ordered)
    return best


@njit(cache=True, nogil=True, error_model="numpy")
def enforce(
    offspring: Array,
    parents: Array,
    rows: Array,
    uniforms: Array,
    low: Array,
    high: Array,
    boundary: int,
) -> int:
    """Bounds for offspring that no strategy made; returns how many were repaired."""
    repairs = 0
    if boundary == at.NONE:
        return repairs
    for m in range(parents.shape[0]):
        i = parents[m]
        left = False
        for j in range(offspring.shape[1]):
            v = offspring[i, j]
            if not (low[j] <= v <= high[j]):
                left = True
                offspring[i, j] = repaired(v, low[j], high[j], rows[i, j], uniforms[m, j], boundary)
        if left:
            repairs += 1
    return repairs
