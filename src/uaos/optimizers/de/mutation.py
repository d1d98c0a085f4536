"""Making offspring, compiled: who takes part, mutation, crossover, repair; their F and CR.

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


# F and CR: drawing them for a generation, and learning them from what improved. Values are drawn by
# inverse distribution functions, so that each takes exactly one uniform number.


@njit
def cauchy(loc: float, scale: float, u: float) -> float:
    """A Cauchy value redrawn while <= 0 and cut at 1.

    Redrawing leaves the distribution truncated to (0, inf), whose inverse is the Cauchy's own on
    the part of [0, 1] above its distribution function at 0.
    """
    at_zero = 0.5 - math.atan(loc / scale) / math.pi
    p = 1.0 - u * (1.0 - at_zero)
    value = loc + scale * math.tan(math.pi * (p - 0.5))
    if value >= 1.0 or p >= 1.0:
        return 1.0
    # Rounding at the lower end may give 0 or less; F stays positive.
    return value if value > 0.0 else np.finfo(np.float64).tiny


@njit
def standard_normal(p: float) -> float:
    """The inverse of the normal distribution function, relative error about 1e-16.

    Wichura (1988), algorithm AS 241, PPND16; `statistics.NormalDist.inv_cdf` computes the same.
    """
    q = p - 0.5
    if math.fabs(q) <= 0.425:
        r = 0.180625 - q * q
        num = (((((((2.5090809287301226727e+3 * r + 3.3430575583588128105e+4) * r
               + 6.7265770927008700853e+4) * r + 4.5921953931549871457e+4) * r
               + 1.3731693765509461125e+4) * r + 1.9715909503065514427e+3) * r
               + 1.3314166789178437745e+2) * r + 3.3871328727963666080e+0) * q  # fmt: skip
        den = (((((((5.2264952788528545610e+3 * r + 2.8729085735721942674e+4) * r
               + 3.9307895800092710610e+4) * r + 2.1213794301586595867e+4) * r
               + 5.3941960214247511077e+3) * r + 6.8718700749205790830e+2) * r
               + 4.2313330701600911252e+1) * r + 1.0)  # fmt: skip
        return num / den
    r = p if q <= 0.0 else 1.0 - p
    if r <= 0.0:
        return -math.inf if q < 0.0 else math.inf
    r = math.sqrt(-math.log(r))
    if r <= 5.0:
        r = r - 1.6
        num = (((((((7.74545014278341407640e-4 * r + 2.27238449892691845833e-2) * r
               + 2.41780725177450611770e-1) * r + 1.27045825245236838258e+0) * r
               + 3.64784832476320460504e+0) * r + 5.76949722146069140550e+0) * r
               + 4.63033784615654529590e+0) * r + 1.42343711074968357734e+0)  # fmt: skip
        den = (((((((1.05075007164441684324e-9 * r + 5.47593808499534494600e-4) * r
               + 1.51986665636164571966e-2) * r + 1.48103976427480074590e-1) * r
               + 6.89767334985100004550e-1) * r + 1.67638483018380384940e+0) * r
               + 2.05319162663775882187e+0) * r + 1.0)  # fmt: skip
    else:
        r = r - 5.0
        num = (((((((2.01033439929228813265e-7 * r + 2.71155556874348757815e-5) * r
               + 1.24266094738807843860e-3) * r + 2.65321895265761230930e-2) * r
               + 2.96560571828504891230e-1) * r + 1.78482653991729133580e+0) * r
               + 5.46378491116411436990e+0) * r + 6.65790464350110377720e+0)  # fmt: skip
        den = (((((((2.04426310338993978564e-15 * r + 1.42151175831644588870e-7) * r
               + 1.84631831751005468180e-5) * r + 7.86869131145613259100e-4) * r
               + 1.48753612908506148525e-2) * r + 1.36929880922735805310e-1) * r
               + 5.99832206555887937690e-1) * r + 1.0)  # fmt: skip
    x = num / den
    return -x if q < 0.0 else x


@njit
def normal(loc: float, scale: float, u: float) -> float:
    """A normal value cut to [0, 1]."""
    return min(1.0, max(0.0, loc + scale * standard_normal(u)))


@njit
def draw(
    kind: int,
    a: float,
    b: float,
    row: int,
    half: int,
    u: float,
    u_memory: float,
    means: Array,
    lengths: Array,
    numbers: Array,
) -> float:
    """One value of the rule (kind, a, b), or of the adaptive rule whose memory is `row`."""
    if kind == at.UNIFORM:
        return a + u * (b - a)
    if kind == at.CAUCHY:
        return cauchy(a, b, u)
    if kind == at.NORMAL:
        return normal(a, b, u)
    k = int(u_memory * lengths[row])
    loc = means[row, half, k]
    if half == at.OF_F:
        most: float = numbers[row, at.F_MOST]
        return min(cauchy(loc, numbers[row, at.SCALE_F], u), most)
    least: float = numbers[row, at.CR_LEAST]
    return max(normal(loc, numbers[row, at.SCALE_CR], u), least)


@njit
def draw_parameters(
    operators: Array,
    parents: Array,
    table: Array,
    means: Array,
    lengths: Array,
    numbers: Array,
    rates: Array,
    uniforms: Array,
    F_used: Array,
    CR_used: Array,
) -> None:
    """Write F and CR of each offspring, by the rules of its operator, or as its parent keeps them.

    `rates` has a row for each rule whose values individuals keep.
    """
    for i in range(operators.shape[0]):
        op = operators[i]
        # The call is for sampled rules only: constants are the common case, and it is not free.
        F, kind = table[op, at.F_A], int(table[op, at.F_KIND])
        if kind == at.KEPT:
            F = rates[int(F), parents[i]]
        elif kind > at.CONSTANT:
            F = draw(
                kind, F, table[op, at.F_B], int(table[op, at.F_ROW]), at.OF_F,
                uniforms[i, at.F], uniforms[i, at.MEMORY], means, lengths, numbers,
            )  # fmt: skip
        CR, kind = table[op, at.CR_A], int(table[op, at.CR_KIND])
        if kind == at.KEPT:
            CR = rates[int(CR), parents[i]]
        elif kind > at.CONSTANT:
            CR = draw(
                kind, CR, table[op, at.CR_B], int(table[op, at.CR_ROW]), at.OF_CR,
                uniforms[i, at.CR], uniforms[i, at.MEMORY], means, lengths, numbers,
            )  # fmt: skip
        F_used[i] = F
        CR_used[i] = CR


@njit
def learn(
    means: Array,
    lengths: Array,
    numbers: Array,
    turns: Array,
    table: Array,
    operators: Array,
    fitness: Array,
    values: Array,
    F_used: Array,
    CR_used: Array,
) -> None:
    """Update the adaptive rules from the offspring that improved; call before survival.

    The pair in turn moves by its rate c toward the mean of F, ΣwF²/ΣwF, and of CR, ΣwCR/Σw or
    ΣwCR²/ΣwCR. `jade` has w = 1, `success_history` w = f - u.
    An improvement that is not finite (the parent had failed) weighs as much as the largest that is;
    weights are taken relative to that one, so that no sum overflows.
    """
    n = values.shape[0]
    largest = 0.0
    for i in range(n):
        if np.isfinite(values[i]) and values[i] < fitness[i]:
            gain = fitness[i] - values[i]
            if np.isfinite(gain) and gain > largest:
                largest = gain
    for row in range(lengths.shape[0]):
        weighted = numbers[row, at.WEIGHTED] > 0.0
        F_1 = F_2 = CR_1 = CR_2 = F_w = CR_w = 0.0
        for i in range(n):
            if not (np.isfinite(values[i]) and values[i] < fitness[i]):
                continue
            w = 1.0
            if weighted and largest > 0.0:
                gain = fitness[i] - values[i]
                if np.isfinite(gain):
                    w = gain / largest
            op = operators[i]
            if table[op, at.F_ROW] == row:
                F_w += w
                F_1 += w * F_used[i]
                F_2 += w * F_used[i] * F_used[i]
            if table[op, at.CR_ROW] == row:
                CR_w += w
                CR_1 += w * CR_used[i]
                CR_2 += w * CR_used[i] * CR_used[i]
        k = turns[row]
        if not (F_w > 0.0 or CR_w > 0.0):
            if numbers[row, at.IDLE] > 0.0:
                means[row, at.OF_F, k] = means[row, at.OF_CR, k] = numbers[row, at.IDLE]
            continue
        turns[row] = (k + 1) % lengths[row]
        if numbers[row, at.LAST] > 0.0 and k == lengths[row] - 1:
            continue  # that pair is fixed
        c = numbers[row, at.RATE]
        if F_1 > 0.0:
            means[row, at.OF_F, k] = (1.0 - c) * means[row, at.OF_F, k] + c * (F_2 / F_1)
        if CR_w > 0.0:
            mean = CR_1 / CR_w
            if numbers[row, at.LEHMER] > 0.0:
                # At -1 the pair ends: a location whose draws are all cut to 0.
                mean = CR_2 / CR_1 if CR_1 > 0.0 else numbers[row, at.ZERO]
                if means[row, at.OF_CR, k] == -1.0:
                    mean = -1.0
            means[row, at.OF_CR, k] = (1.0 - c) * means[row, at.OF_CR, k] + c * mean
