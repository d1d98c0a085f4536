"""F and CR, compiled: drawing them for a generation, and learning them from what improved.

Values are drawn by inverse distribution functions, so that each takes exactly one uniform number;
see `layout` for whose they are.
"""

import math

import numpy as np

from uaos.jit import njit
from uaos.optimizers.base import Array
from uaos.optimizers.de import layout as at


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


@njit
def failed_keepers(having: Array, operators: Array, parents: Array, survived: Array) -> Array:
    """The parents that have such values and whose offspring did not survive."""
    failed = np.empty(operators.shape[0], np.int64)
    count = 0
    for m in range(operators.shape[0]):
        if having[operators[m]] and not survived[m]:
            failed[count] = parents[m]
            count += 1
    return failed[:count]
