"""The inner loops of a generation: making offspring, and survival.

Plain arrays in and out; no kernel draws a random number (see `layout`). Sums and differences are
taken in the order in which the formulas are written, and nothing is reassociated, so that the
compiled and the interpreted kernel agree to the last bit.

`rows` holds the population in rows 0..NP-1 and the archive from row `offset` on, so that a member
of either is one row number.
"""

from typing import Any

import numpy as np
from numba import njit

from uaos.de import layout as at
from uaos.de.sampling import draw
from uaos.de.strategies import STRATEGIES

Array = np.ndarray[Any, Any]

_DRAWN = tuple(s.drawn for s in STRATEGIES.values())
(
    _RAND_1, _RAND_2, _RAND_TO_BEST_2, _CURR_TO_RAND_1, _CURR_TO_PBEST_1,
    _ARCHIVED, _BEST_1, _CURR_TO_BEST_1, _BEST_2,
) = (s.code for s in STRATEGIES.values())  # fmt: skip


@njit(cache=True, nogil=True)
def distinct(i: int, NP: int, uniforms: Array, count: int, used: Array, r: Array) -> None:
    """Write `count` distinct indices of 0..NP-1 other than i to `r`, without rejection.

    The k-th is `floor(u (NP - 1 - k))`, moved past the indices already used, which are kept sorted.
    """
    used[0] = i
    for k in range(count):
        v = int(uniforms[at.R + k] * (NP - 1 - k))
        place = k + 1
        for m in range(k + 1):
            if v >= used[m]:
                v += 1
            else:
                place = m
                break
        for m in range(k, place - 1, -1):
            used[m + 1] = used[m]
        used[place] = v
        r[k] = v


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def propose(
    rows: Array,
    NP: int,
    offset: int,
    archived: int,
    order: Array,
    best: int,
    operators: Array,
    table: Array,
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

    Rows of operators that are not one of the nine strategies are left as they are.
    """
    n, D = offspring.shape
    used = np.empty(6, np.int64)
    r = np.empty(5, np.int64)
    mutant = np.empty(D)
    top_column = at.CROSS + D
    resample_column = top_column + int(top_drawn)
    repairs = 0
    for i in range(n):
        op = operators[i]
        code = int(table[op, at.STRATEGY])
        if code == at.OWN:
            continue
        row = uniforms[i]
        F = draw(
            int(table[op, at.F_KIND]), table[op, at.F_A], table[op, at.F_B],
            int(table[op, at.F_ROW]), at.OF_F, row[at.F], row[at.MEMORY], means, lengths,
        )  # fmt: skip
        CR = draw(
            int(table[op, at.CR_KIND]), table[op, at.CR_A], table[op, at.CR_B],
            int(table[op, at.CR_ROW]), at.OF_CR, row[at.CR], row[at.MEMORY], means, lengths,
        )  # fmt: skip
        F_used[i] = F
        CR_used[i] = CR
        distinct(i, NP, row, _DRAWN[code], used, r)

        pbest = best
        if code == _CURR_TO_PBEST_1 or code == _ARCHIVED:
            p = top
            if top_drawn:
                p = 2.0 / NP + row[top_column] * (top - 2.0 / NP)
            best_few = min(NP, max(2, int(np.rint(p * NP))))
            pbest = order[int(row[at.PBEST] * best_few)]

        # Every strategy is base + F (p1 - m1 [+ p2 - m2 [+ p3 - m3]]).
        p2 = m2 = p3 = m3 = -1
        if code == _RAND_1:
            base, p1, m1 = r[0], r[1], r[2]
        elif code == _RAND_2:
            base, p1, m1, p2, m2 = r[0], r[1], r[2], r[3], r[4]
        elif code == _RAND_TO_BEST_2:
            base, p1, m1, p2, m2, p3, m3 = r[0], best, r[0], r[1], r[2], r[3], r[4]
        elif code == _CURR_TO_RAND_1:
            base, p1, m1, p2, m2 = i, r[0], i, r[1], r[2]
        elif code == _CURR_TO_PBEST_1:
            base, p1, m1, p2, m2 = i, pbest, i, r[0], r[1]
        elif code == _ARCHIVED:
            a = int(row[at.ARCHIVE] * (NP - 1 + archived))
            if a >= i:
                a += 1
            if a >= NP:
                a += offset - NP
            base, p1, m1, p2, m2 = i, pbest, i, r[0], a
        elif code == _BEST_1:
            base, p1, m1 = best, r[0], r[1]
        elif code == _CURR_TO_BEST_1:
            base, p1, m1, p2, m2 = i, best, i, r[0], r[1]
        else:
            base, p1, m1, p2, m2 = best, r[0], r[1], r[2], r[3]

        if p2 < 0:
            for j in range(D):
                mutant[j] = rows[base, j] + F * (rows[p1, j] - rows[m1, j])
        elif p3 < 0:
            for j in range(D):
                step = rows[p1, j] - rows[m1, j] + rows[p2, j] - rows[m2, j]
                mutant[j] = rows[base, j] + F * step
        else:
            for j in range(D):
                step = rows[p1, j] - rows[m1, j] + rows[p2, j] - rows[m2, j]
                mutant[j] = rows[base, j] + F * (step + rows[p3, j] - rows[m3, j])

        # Binomial crossover, then the bounds.
        j_rand = int(row[at.J_RAND] * D)
        left = False
        for j in range(D):
            v = rows[i, j]
            if row[at.CROSS + j] < CR or j == j_rand:
                v = mutant[j]
                if boundary != at.NONE and not (low[j] <= v <= high[j]):
                    left = True
                    u = row[resample_column + j] if boundary == at.RESAMPLE else 0.0
                    v = repaired(v, low[j], high[j], rows[i, j], u, boundary)
            offspring[i, j] = v
        if left:
            repairs += 1
    return repairs


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def survive(
    rows: Array,
    fitness: Array,
    offset: int,
    capacity: int,
    reservoir: bool,
    counters: Array,
    offspring: Array,
    values: Array,
    keep: Array,
    operators: Array,
    counts: Array,
) -> int:
    """Let each offspring with u <= f take its parent's place, parents that lost enter the archive.

    A value that is not finite never survives; a failed parent has fitness +inf and yields to any
    finite value. Returns the index of the best offspring, -1 if all failed. A full archive gives up
    a random member (`recent`) or is a reservoir of all parents that ever lost (`history`).
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
                place = int(keep[i] * counters[at.EVER_LOST])
            else:
                place = int(keep[i] * capacity)
            if place < capacity:
                for j in range(D):
                    rows[offset + place, j] = rows[i, j]
        for j in range(D):
            rows[i, j] = offspring[i, j]
        fitness[i] = u
    return best
