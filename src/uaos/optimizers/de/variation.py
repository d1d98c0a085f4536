"""The steps that make offspring, compiled: partners, mutation, crossover, repair.

Plain arrays in and out; no kernel draws a random number (see `layout`). Sums and differences are
taken in the order in which the formulas are written, and nothing is reassociated, so that the
compiled and the interpreted kernel agree to the last bit.

`rows` holds the population in rows 0 .. NP-1 and the archive from a later row on, so that a member
of either is one row number. Offspring i is that of parent i.
"""

import numpy as np

from uaos.arrays import FloatArray, IntArray
from uaos.jit import njit
from uaos.optimizers.base.search_box import LARGEST
from uaos.optimizers.de import layout as at


@njit
def distinct(
    i: int,
    NP: int,
    uniforms: FloatArray,
    m: int,
    count: int,
    used: IntArray,
    drawn: IntArray,
    first: int,
) -> None:
    """Write `count` distinct indices of 0 .. NP-1 other than i to `drawn`, without rejection.

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
def choose_partners(
    operators: IntArray,
    roles: IntArray,
    order: IntArray,
    best_row: int,
    archive_start: int,
    archive_size: int,
    leaders: IntArray,
    uniforms: FloatArray,
    partners: IntArray,
) -> None:
    """Write the rows of the partners of each mutant: base, plus, minus, plus, minus, …

    `roles` names the points in the formula of each operator, and `order` the parents from best to
    worst. x_best is row `best_row`; x_pbest is one of the first `leaders[i]` parents of `order`;
    the archive has `archive_size` members from row `archive_start` on.
    """
    NP = len(order)
    used = np.empty(6, np.int64)
    row_of = np.empty(at.ROLES, np.int64)  # the row that plays each role: x_best, x_r1, …
    row_of[at.BEST] = best_row
    # All of r1 .. r5, even if a strategy needs fewer: the loop always has the same length.
    count = min(5, NP - 1)
    for i in range(len(operators)):
        row_of[at.PARENT] = i
        distinct(i, NP, uniforms, i, count, used, row_of, at.R1)
        row_of[at.P_BEST] = order[int(uniforms[i, at.PBEST] * leaders[i])]
        # x_arch: any member of population and archive except parent i.
        member = int(uniforms[i, at.ARCHIVE] * (NP - 1 + archive_size))
        member += int(member >= i)
        row_of[at.ARCH] = member + int(member >= NP) * (archive_start - NP)
        for k in range(at.PARTNERS):
            partners[i, k] = row_of[roles[operators[i], k]]


@njit
def mutate(
    rows: FloatArray,
    partners: IntArray,
    operators: IntArray,
    differences: IntArray,
    F: FloatArray,
    mutants: FloatArray,
) -> None:
    """Write the mutants v = base + F (plus - minus [+ plus - minus [+ plus - minus]]).

    `differences` has the number of differences in the formula of each operator.
    """
    n, D = mutants.shape
    for i in range(n):
        base = partners[i, at.BASE]
        plus_1, minus_1 = partners[i, at.PLUS_1], partners[i, at.MINUS_1]
        plus_2, minus_2 = partners[i, at.PLUS_2], partners[i, at.MINUS_2]
        plus_3, minus_3 = partners[i, at.PLUS_3], partners[i, at.MINUS_3]
        count, F_i = differences[operators[i]], F[i]
        # One loop per difference: the compiler vectorizes loops that read few rows.
        for j in range(D):
            mutants[i, j] = rows[plus_1, j] - rows[minus_1, j]
        if count > 1:
            for j in range(D):
                mutants[i, j] = mutants[i, j] + rows[plus_2, j] - rows[minus_2, j]
        if count > 2:
            for j in range(D):
                mutants[i, j] = mutants[i, j] + rows[plus_3, j] - rows[minus_3, j]
        for j in range(D):
            mutants[i, j] = rows[base, j] + F_i * mutants[i, j]


@njit
def mutate_categories(
    rows: FloatArray,
    partners: IntArray,
    operators: IntArray,
    differences: IntArray,
    F: FloatArray,
    categories: IntArray,
    uniforms: FloatArray,
    mutants: FloatArray,
) -> None:
    """Write the categories of mutants, which have no differences.

    A mutant has the category of its base. For each difference whose two points have different
    categories, it takes that of the first one with probability F: what is the same in both points
    stays, as in v = base + F (plus - minus).
    """
    for i in range(len(mutants)):
        for c in range(len(categories)):
            j = categories[c]
            chosen = np.rint(rows[partners[i, at.BASE], j])
            for k in range(differences[operators[i]]):
                plus = np.rint(rows[partners[i, at.PLUS_1 + 2 * k], j])
                minus = np.rint(rows[partners[i, at.MINUS_1 + 2 * k], j])
                if plus != minus and uniforms[i, c, k] < F[i]:
                    chosen = plus
            mutants[i, j] = chosen


@njit
def cross(
    parents: FloatArray,
    mutants: FloatArray,
    CR: FloatArray,
    uniforms: FloatArray,
    offspring: FloatArray,
) -> None:
    """Write offspring by binomial crossover.

    Each coordinate comes from the mutant with probability CR, and one random coordinate always.
    """
    n, D = offspring.shape
    for i in range(n):
        rate = CR[i]
        for j in range(D):
            parent, mutant = parents[i, j], mutants[i, j]
            offspring[i, j] = mutant if uniforms[i, at.CROSS + j] < rate else parent
        j_rand = int(uniforms[i, at.J_RAND] * D)
        offspring[i, j_rand] = mutants[i, j_rand]


# Wider boxes lack a bound. There is nothing to resample from, and both rules mirror once.
_UNBOUNDED = LARGEST / 2.0


@njit
def repaired(v: float, low: float, high: float, parent: float, u: float, boundary: int) -> float:
    """Return a coordinate that left [low, high], brought back by the boundary rule."""
    if v != v:
        return parent
    if boundary == at.MIDPOINT:  # halves first: a sum may overflow
        return parent / 2.0 + low / 2.0 if v < low else parent / 2.0 + high / 2.0
    if high - low > _UNBOUNDED and (boundary == at.REFLECT or boundary == at.RESAMPLE):
        v = low + (low - v) if v < low else high + (high - v)
    elif boundary == at.RESAMPLE:
        return low + u * (high - low)
    elif boundary == at.REFLECT:
        # Mirrored at either bound as often as it takes: a triangle wave of period twice the width.
        width = high - low
        away = v - low
        away -= 2.0 * width * np.floor(away / (2.0 * width))
        if away > width:
            away = 2.0 * width - away
        v = low + away
    # Rounding, or a width that overflowed, may leave a coordinate outside, or make it NaN.
    return parent if v != v else min(max(v, low), high)


@njit
def repair(
    offspring: FloatArray,
    parents: FloatArray,
    low: FloatArray,
    high: FloatArray,
    boundary: int,
    uniforms: FloatArray,
) -> int:
    """Bring coordinates back into the box; return the number of offspring that were outside.

    The last D columns of `uniforms` are for coordinates that are resampled.
    """
    n, D = offspring.shape
    if boundary == at.NONE:
        return 0
    first, repairs = uniforms.shape[1] - D, 0
    for i in range(n):
        outside = False
        for j in range(D):
            v = offspring[i, j]
            outside |= not (low[j] <= v <= high[j])  # or NaN
        if outside:
            repairs += 1
            for j in range(D):
                v = offspring[i, j]
                if not (low[j] <= v <= high[j]):
                    u = uniforms[i, first + j] if boundary == at.RESAMPLE else 0.0
                    offspring[i, j] = repaired(v, low[j], high[j], parents[i, j], u, boundary)
    return repairs


# The probability that an integer coordinate of an offspring with its parent's integers moves.
_INTEGER_STEP = 0.1


def move_integers(
    offspring: FloatArray,
    parents: FloatArray,
    integers: IntArray,
    categories: IntArray | None,
    low: FloatArray,
    high: FloatArray,
    rng: np.random.Generator,
) -> None:
    """Keep integer coordinates from stagnating.

    Of an offspring whose integers are all those of its parent, a random one moves by 1, a category
    to any other: always if nothing else is new either, otherwise with probability 0.1.
    """
    new = offspring != parents
    new[:, integers] = np.rint(offspring[:, integers]) != np.rint(parents[:, integers])
    same = ~new[:, integers].any(axis=1)
    draws = rng.random((len(offspring), 3))
    for i in np.flatnonzero(same & (~new.any(axis=1) | (draws[:, 0] < _INTEGER_STEP))):
        j = integers[int(draws[i, 1] * len(integers))]
        if categories is not None and j in categories:
            count = round(high[j] - low[j])  # of the choices, as the box is that wide
            other = int(draws[i, 2] * (count - 1))
            offspring[i, j] = np.ceil(low[j]) + other
            offspring[i, j] += float(offspring[i, j] >= np.rint(parents[i, j]))
            continue
        step = 1.0 if draws[i, 2] < 0.5 else -1.0
        for moved in (offspring[i, j] + step, offspring[i, j] - step):
            if low[j] <= moved <= high[j]:
                offspring[i, j] = moved
                break
