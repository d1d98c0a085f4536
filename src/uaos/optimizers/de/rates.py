"""F and CR of the offspring: drawn for a generation, and learned from those that improved.

Values are drawn by inverse distribution functions, so that each takes exactly one uniform number.
"""

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from uaos.arrays import BoolArray, FloatArray, IntArray
from uaos.jit import njit
from uaos.optimizers.de import layout as at
from uaos.optimizers.de.rules import AdaptiveRule
from uaos.statefile import Stateful

#: The scale of the Cauchy distribution of F around a learned location.
F_SCALE = 0.1
#: Lehmer's mean of CR if all CR that improved were 0. A pair with this value keeps it, and its
#: draws are all cut to 0 (L-SHADE).
CR_ENDED = -1.0


class RateMemory(Stateful):
    """State of the adaptive rules of a pool, one row for each rule object.

    `means[row, OF_F or OF_CR, k]` is mu of `jade` (k = 0) or the k-th pair of `success_history`.
    """

    state_names: ClassVar[tuple[str, ...]] = ("means", "turns")

    def __init__(self, rules: Sequence[AdaptiveRule]) -> None:
        adaptations = [rule.adaptation for rule in rules]
        self.lengths = np.array([a.pairs for a in adaptations], np.int64)
        self.means = np.empty((len(rules), 2, max([1, *self.lengths.tolist()])))
        self.numbers = np.empty((len(rules), at.NUMBERS))
        for row, a in enumerate(adaptations):
            self.means[row, at.OF_F], self.means[row, at.OF_CR] = a.F, a.CR
            if a.fixed is not None:
                self.means[row, :, a.pairs - 1] = a.fixed
            self.numbers[row] = a.rate, a.weighted, a.lehmer, a.fixed is not None, a.CR_scale
        self.turns = np.zeros(len(rules), np.int64)

    def draw(
        self,
        table: FloatArray,
        operators: IntArray,
        uniforms: FloatArray,
        F: FloatArray,
        CR: FloatArray,
    ) -> None:
        """Write F and CR of each offspring, by the rules of its operator."""
        draw_rates(
            operators, table, self.means, self.lengths, self.numbers, uniforms, F, CR
        )  # fmt: skip

    def learn(
        self,
        table: FloatArray,
        operators: IntArray,
        fitness: FloatArray,
        values: FloatArray,
        F: FloatArray,
        CR: FloatArray,
    ) -> None:
        """Update the rules from the offspring that improved; call before survival."""
        if len(self.turns):
            learn_rates(
                self.means, self.lengths, self.numbers, self.turns, table, operators, fitness,
                values, F, CR,
            )  # fmt: skip


# Drawing


@njit
def cauchy(loc: float, scale: float, u: float) -> float:
    """Return a Cauchy value redrawn while <= 0 and cut at 1.

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
    """Return the inverse of the normal distribution function, relative error about 1e-16.

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
    """Return a normal value cut to [0, 1]."""
    return min(1.0, max(0.0, loc + scale * standard_normal(u)))


@njit
def draw_rate(
    kind: int,
    a: float,
    b: float,
    half: int,
    u: float,
    u_memory: float,
    means: FloatArray,
    lengths: IntArray,
    numbers: FloatArray,
) -> float:
    """Return one value of a sampled rule, its numbers being a and b, for F or CR (`half`)."""
    if kind == at.UNIFORM:
        return a + u * (b - a)
    if kind == at.CAUCHY:
        return cauchy(a, b, u)
    if kind == at.NORMAL:
        return normal(a, b, u)
    row = int(a)
    loc = means[row, half, int(u_memory * lengths[row])]
    if half == at.OF_F:
        return cauchy(loc, F_SCALE, u)
    return normal(loc, numbers[row, at.CR_SCALE], u)


@njit
def draw_rates(
    operators: IntArray,
    table: FloatArray,
    means: FloatArray,
    lengths: IntArray,
    numbers: FloatArray,
    uniforms: FloatArray,
    F: FloatArray,
    CR: FloatArray,
) -> None:
    """Write F and CR of each offspring, by the rules of its operator."""
    for i in range(len(operators)):
        op = operators[i]
        # Constants are the common case and need no call.
        kind, F[i] = int(table[op, at.F_KIND]), table[op, at.F_A]
        if kind != at.CONSTANT:
            F[i] = draw_rate(
                kind, table[op, at.F_A], table[op, at.F_B], at.OF_F,
                uniforms[i, at.F], uniforms[i, at.MEMORY], means, lengths, numbers,
            )  # fmt: skip
        kind, CR[i] = int(table[op, at.CR_KIND]), table[op, at.CR_A]
        if kind != at.CONSTANT:
            CR[i] = draw_rate(
                kind, table[op, at.CR_A], table[op, at.CR_B], at.OF_CR,
                uniforms[i, at.CR], uniforms[i, at.MEMORY], means, lengths, numbers,
            )  # fmt: skip


# Learning


@njit
def improvement_weights(fitness: FloatArray, values: FloatArray, weights: FloatArray) -> None:
    """Write the weight of each improvement: f - u, relative to the largest so that sums are finite.

    An improvement that is not finite, as the parent had failed, weighs as much as the largest.
    """
    largest = 0.0
    for i in range(len(values)):
        if improves(values[i], fitness[i]) and np.isfinite(fitness[i] - values[i]):
            largest = max(largest, fitness[i] - values[i])
    for i in range(len(values)):
        weights[i] = 1.0
        if largest > 0.0 and np.isfinite(fitness[i] - values[i]):
            weights[i] = (fitness[i] - values[i]) / largest


@njit
def improves(value: float, fitness: float) -> bool:
    """Return whether an offspring is better than its parent."""
    return bool(np.isfinite(value) and value < fitness)


@njit
def rate_sums(
    row: int,
    column: int,
    table: FloatArray,
    operators: IntArray,
    better: BoolArray,
    weights: FloatArray,
    rates: FloatArray,
) -> tuple[float, float, float]:
    """Return Σw, Σwr and Σwr² over the rates r of a memory, a row, that improved.

    `column` is that of F_KIND or CR_KIND in the table of operators.
    """
    total = first = second = 0.0
    for i in range(len(rates)):
        op, w = operators[i], weights[i]
        if better[i] and table[op, column] == at.ADAPTIVE and table[op, column + 1] == row:
            total += w
            first += w * rates[i]
            second += w * rates[i] * rates[i]
    return total, first, second


@njit
def learn_rates(
    means: FloatArray,
    lengths: IntArray,
    numbers: FloatArray,
    turns: IntArray,
    table: FloatArray,
    operators: IntArray,
    fitness: FloatArray,
    values: FloatArray,
    F: FloatArray,
    CR: FloatArray,
) -> None:
    """Move the pair in turn of each memory toward the means of F and CR that improved.

    The mean of F is ΣwF²/ΣwF, that of CR is ΣwCR/Σw or ΣwCR²/ΣwCR, with w = f - u or 1.
    """
    weights, ones = np.empty(len(values)), np.ones(len(values))
    improvement_weights(fitness, values, weights)
    better = np.empty(len(values), np.bool_)
    for i in range(len(values)):
        better[i] = improves(values[i], fitness[i])
    for row in range(len(lengths)):
        w = weights if numbers[row, at.WEIGHTED] > 0.0 else ones
        F_w, F_1, F_2 = rate_sums(row, at.F_KIND, table, operators, better, w, F)
        CR_w, CR_1, CR_2 = rate_sums(row, at.CR_KIND, table, operators, better, w, CR)
        if not (F_w > 0.0 or CR_w > 0.0):
            continue
        k, c = turns[row], numbers[row, at.RATE]
        turns[row] = (k + 1) % lengths[row]
        if numbers[row, at.LAST] > 0.0 and k == lengths[row] - 1:
            continue  # that pair is fixed
        if F_1 > 0.0:
            means[row, at.OF_F, k] = (1.0 - c) * means[row, at.OF_F, k] + c * (F_2 / F_1)
        if CR_w > 0.0:
            mean = CR_1 / CR_w
            if numbers[row, at.LEHMER] > 0.0:
                mean = CR_2 / CR_1 if CR_1 > 0.0 else CR_ENDED
                if means[row, at.OF_CR, k] == CR_ENDED:
                    mean = CR_ENDED
            means[row, at.OF_CR, k] = (1.0 - c) * means[row, at.OF_CR, k] + c * mean
