"""Making offspring, compiled: who takes part, mutation, crossover, repair.

Plain arrays in and out; no kernel draws a random number (see `layout`). Sums and differences are
taken in the order in which the formulas are written, and nothing is reassociated, so that the
compiled and the interpreted kernel agree to the last bit.

`rows` holds the population in rows 0..NP-1 and the archive from row `offset` on, so that a member
of either is one row number.
"""

import math

import numpy as np

from uaos.jit import njit
from uaos.optimizers.base import Array
from uaos.optimizers.de import layout as at

# Who can stand in a formula, by the place in `cast` that `propose` puts it in (`strategies.CAST`).
_I, _BEST, _PBEST, _ARCH, _R1 = range(5)
_RANK, _STORED, _ELITE, _CENTER, _CAST = range(9, 14)
_SAMPLE = 13
_WEIGHTED, _HAS_R1, _HAS_ELITE = 7, 8, 9  # columns of the role table


@njit
def distinct(
    i: int, NP: int, uniforms: Array, m: int, count: int, used: Array, drawn: Array, first: int
) -> None:
    """Write `count` distinct indices of 0..NP-1 other than i to `drawn`, without rejection.

    The k-th is `floor(u (NP - 1 - k))`, moved past the indices already used, which are kept sorted.
    """
    used[0] = i
    for k in range(count):
        v = int(uniforms[m, at.R + k] * (NP - 1 - k))
        for e in range(k + 1):
            v += int(v >= used[e])
        drawn[first + k] = v
        for e in range(k + 1):
            smaller = min(used[e], v)
            v = max(used[e], v)
            used[e] = smaller
        used[k + 1] = v


@njit
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


@njit
def exponential_length(uniforms: Array, m: int, D: int, CR: float, start: int, kind: int) -> int:
    """How many coordinates exponential crossover takes, from `start` on.

    Each further one with chance CR until the first that fails; from the last it goes on with the
    first, unless `kind` is CUT.
    """
    last = D - start if kind == at.CUT else D
    taken = 1
    while taken < last and uniforms[m, at.CROSS + taken] < CR:
        taken += 1
    return taken


@njit
def cross_rotated(
    mutant: Array,
    rows: Array,
    i: int,
    CR: float,
    start: int,
    length: int,
    uniforms: Array,
    m: int,
    basis: Array,
    turned: Array,
    along: Array,
    offspring: Array,
) -> int:
    """Crossover in rotated coordinates; return how many the mutant gave, which is overwritten.

    The child is  x + Σ_taken b_j (b_j · (v - x))  with the rows b_j of `basis`, whose transpose is
    `turned`. Exponential crossover takes `length` of them; 0 is binomial crossover.
    """
    D = len(mutant)
    for j in range(D):
        offspring[m, j] = rows[i, j]
        along[j] = 0.0
        mutant[j] -= rows[i, j]
    # All products at once, each with its sum in the order of the coordinates.
    for k in range(D):
        for j in range(D):
            along[j] += turned[k, j] * mutant[k]
    taken = 0
    for j in range(D):
        if length > 0:
            takes = start <= j < start + length or j < start + length - D
        else:
            takes = j == start or uniforms[m, at.CROSS + j] < CR
        if takes:
            taken += 1
            for k in range(D):
                offspring[m, k] += along[j] * basis[j, k]
    return taken


@njit
def propose(
    rows: Array,
    NP: int,
    offset: int,
    archived: int,
    order: Array,
    best: int,
    parents: Array,
    operators: Array,
    table: Array,
    role_table: Array,
    uniforms: Array,
    rank_column: int,
    pressure: float,
    samples: Array,
    top: float,
    top_drawn: bool,
    weight: float,
    crossover: int,
    basis: Array,
    common_CR: float,
    kept_CR: Array,
    always: bool,
    low: Array,
    high: Array,
    boundary: int,
    offspring: Array,
    F_used: Array,
    CR_used: Array,
) -> int:
    """Make an offspring of each of `parents`, with its F and CR; return how many were repaired.

    Every strategy is  base + F (p1 - m1 [+ p2 - m2 [+ p3 - m3]]); `role_table` has them by code. A
    table and not a chain of branches, since the strategy of the next offspring cannot be predicted,
    and mispredicted branches were what this took most of its time for. Rows of operators without a
    strategy are left as they are. x_rank has rank k with a chance proportional to exp(-λk/NP), λ
    the `pressure`, by column `rank_column` of the uniforms if that is not -1. `samples` has
    x_sample, where it is used. The CR is `common_CR` unless that is below 0, `kept_CR` of the
    parent if there are any and the operator's may be below 1, or that of `CR_used`, which becomes
    the share of coordinates taken where the operator's rule learns from that. One coordinate is
    forced, `always` or only where crossover takes none.
    """
    n, D = offspring.shape
    used = np.empty(6, np.int64)
    cast = np.empty(_CAST, np.int64)
    # More indices than a strategy needs do no harm, and the loop always has the same length.
    count = min(5, NP - 1)
    cast[_BEST] = best
    cast[_CENTER] = rows.shape[0] - 1
    few_of_run = min(NP, max(2, int(np.rint(top * NP))))
    step = np.empty(D)
    along = np.empty(D)
    turned = basis.T.copy()
    of_ranks = math.expm1(-pressure)
    rotated = len(basis) > 0
    top_column = at.CROSS + D
    resample_column = uniforms.shape[1] - D
    repairs = 0
    for m in range(n):
        op = operators[m]
        code = int(table[op, at.STRATEGY])
        if code == at.OWN:
            continue
        i = parents[m]
        F = F_used[m]

        # Mutation and crossover. Few arrays to a loop and no branches, so that the compiler makes
        # vector instructions of them; and no views, whose references are counted.
        base = role_table[code, 0]
        if base == _SAMPLE:
            for j in range(D):
                step[j] = samples[m, j]
        else:
            # Who takes part.
            cast[_I] = i
            distinct(i, NP, uniforms, m, count, used, cast, _R1)
            best_few = few_of_run
            if top_drawn:
                p = 2.0 / NP + uniforms[m, top_column] * (top - 2.0 / NP)
                best_few = min(NP, max(2, int(np.rint(p * NP))))
            if table[op, at.TOP] > 0.0:
                best_few = min(NP, max(2, int(np.rint(table[op, at.TOP] * NP))))
            place = uniforms[m, at.PBEST] * best_few
            k = int(place)
            if role_table[code, at.OTHER] > 0 and order[k] == i:
                # One of the others, by what the first choice has left of the same number.
                k = int((place - k) * (best_few - 1))
                k += int(k >= int(place))
            cast[_PBEST] = order[k]
            a = int(uniforms[m, at.ARCHIVE] * (NP - 1 + archived))
            a += int(a >= i)
            cast[_ARCH] = a + int(a >= NP) * (offset - NP)
            if rank_column >= 0:
                u = uniforms[m, rank_column]
                k = min(int(-math.log1p(u * of_ranks) * (NP / pressure)), NP - 1)
                while role_table[code, _HAS_R1] > 0 and (order[k] == i or order[k] == cast[_R1]):
                    k = (k + 1) % NP
                cast[_RANK] = order[k]
                cast[_STORED] = cast[_RANK]
                cast[_ELITE] = cast[_PBEST]
                if archived > 1:
                    elite = int(uniforms[m, at.PBEST] * min(best_few, archived))
                    apart = role_table[code, _HAS_ELITE] > 0
                    stored = int(uniforms[m, at.ARCHIVE] * (archived - int(apart)))
                    cast[_STORED] = offset + stored + int(apart and stored >= elite)
                    cast[_ELITE] = offset + elite

            plus, minus = cast[role_table[code, 1]], cast[role_table[code, 2]]
            for j in range(D):
                step[j] = rows[plus, j] - rows[minus, j]
            if role_table[code, _WEIGHTED] > 0:
                for j in range(D):
                    step[j] = weight * step[j]
            for term in range(3, 7, 2):
                if role_table[code, term] >= 0:
                    plus, minus = cast[role_table[code, term]], cast[role_table[code, term + 1]]
                    for j in range(D):
                        step[j] = step[j] + rows[plus, j] - rows[minus, j]
            first = cast[base]
            for j in range(D):
                step[j] = rows[first, j] + F * step[j]
        rate = CR_used[m]
        if common_CR >= 0.0:
            rate = common_CR
        elif len(kept_CR) > 0 and table[op, at.CROSSED] > 0.0:
            rate = kept_CR[i]
        j_rand = int(uniforms[m, at.J_RAND] * D)
        if not always:
            for j in range(D):
                if uniforms[m, at.CROSS + j] < rate:
                    j_rand = j
                    break
        taken = 0
        if crossover != at.BINOMIAL:
            taken = exponential_length(uniforms, m, D, rate, j_rand, crossover)
        if rotated:
            taken = cross_rotated(
                step, rows, i, rate, j_rand, taken, uniforms, m, basis, turned, along, offspring
            )
        elif taken > 0:
            end, wrapped = j_rand + taken, j_rand + taken - D
            for j in range(D):
                ours, new = rows[i, j], step[j]
                offspring[m, j] = new if (j_rand <= j) & (j < end) | (j < wrapped) else ours
        else:
            for j in range(D):
                ours, new = rows[i, j], step[j]
                offspring[m, j] = new if uniforms[m, at.CROSS + j] < rate else ours
            offspring[m, j_rand] = step[j_rand]
        if table[op, at.TAKEN] > 0.0:
            if taken == 0:
                taken = int(not uniforms[m, at.CROSS + j_rand] < rate)
                for j in range(D):
                    taken += int(uniforms[m, at.CROSS + j] < rate)
            CR_used[m] = taken / D

        # Bounds. The parent is inside them, so only coordinates of the mutant can be outside.
        if boundary != at.NONE:
            outside = False
            for j in range(D):
                v = offspring[m, j]
                outside |= (v < low[j]) | (v > high[j])
            if outside:
                repairs += 1
                for j in range(D):
                    v = offspring[m, j]
                    if v < low[j] or v > high[j]:
                        u = uniforms[m, resample_column + j] if boundary == at.RESAMPLE else 0.0
                        offspring[m, j] = repaired(v, low[j], high[j], rows[i, j], u, boundary)
    return repairs


@njit
def enforce(
    offspring: Array,
    made: Array,
    parents: Array,
    rows: Array,
    uniforms: Array,
    low: Array,
    high: Array,
    boundary: int,
) -> int:
    """Bounds for the offspring `made`, by no strategy; returns how many were repaired."""
    repairs = 0
    if boundary == at.NONE:
        return repairs
    for m in range(made.shape[0]):
        i, parent = made[m], rows[parents[m]]
        left = False
        for j in range(offspring.shape[1]):
            v = offspring[i, j]
            if not (low[j] <= v <= high[j]):
                left = True
                offspring[i, j] = repaired(v, low[j], high[j], parent[j], uniforms[m, j], boundary)
        if left:
            repairs += 1
    return repairs
