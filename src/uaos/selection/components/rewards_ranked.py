"""Rewards over remembered successes: distributions of metrics, and ranks within a window."""

import math
from dataclasses import dataclass
from typing import Any

from uaos.params import choice, integer, real
from uaos.selection.components.base import Array, Namespace, ratio, saturate
from uaos.selection.components.registry import register
from uaos.selection.components.rewards import SuccessReward, WindowReward
from uaos.selection.components.views import Successes, Window


def successes_parameter() -> Any:
    """Declare `fix_appl`; the paper prints 10 to 50, yet one of its tuned values is 66."""
    return integer(
        10, 150, default=50, allowed=(1, 100_000), doc="how many successes of each operator count"
    )


def window_parameter() -> Any:
    """Declare `W`."""
    return integer(20, 150, default=50, allowed=(1, 100_000), doc="size of the window")


def decay_parameter() -> Any:
    """Declare `D`."""
    return real(0, 1, default=0.4, symbol="D", doc="decay factor of the ranks")


def _dominates(memory: Successes, xp: Namespace) -> tuple[Array, Array]:
    """`dominates[a, b]`: the point (std, mean) of a is >= in both, > in one; and who has a point.

    Both are maximised: diversity and quality of what an operator makes.
    """
    std, mean, present = memory.points(xp)
    std_a, mean_a = std[:, None], mean[:, None]
    at_least = (std_a >= std) & (mean_a >= mean)
    better = (std_a > std) | (mean_a > mean)
    return at_least & better & present[:, None] & present, present


@register
@dataclass(frozen=True, repr=False)
class ParetoDominance(SuccessReward):
    """How many operators it dominates in diversity and mean of its successes.

    Each operator is the point (std, mean) of its last fix_appl success metrics, both maximised. An
    operator without a success has no point: reward 0, and it takes no part.

    Equation:
        PD(op) = #{j : op dominates j}
        r[op] = PD(op) / Σ_j PD(j)

    Reference: Maturana, J., Lardeux, F. & Saubion, F. (2010), "Autonomous operator management for
    evolutionary algorithms", Journal of Heuristics 16(6).
    """

    fix_appl: int = successes_parameter()

    def compute(self, memory: Successes, xp: Namespace) -> Array:  # noqa: D102 (see base)
        dominates, _ = _dominates(memory, xp)
        count = dominates.sum(axis=1)
        return ratio(count, count.sum(), xp)


@register
@dataclass(frozen=True, repr=False)
class ParetoRank(SuccessReward):
    """How few operators dominate it in diversity and mean of its successes.

    Points as in pareto_dominance; an operator without a point has reward 0. (The paper's PR / ΣPR
    rewards the dominated; it is subtracted from 1, so that larger is better.)

    Equation:
        PR(op) = #{j : j dominates op}
        r[op] = 1 − PR(op) / Σ_j PR(j)

    Reference: Maturana, J., Lardeux, F. & Saubion, F. (2010), "Autonomous operator management for
    evolutionary algorithms", Journal of Heuristics 16(6).
    """

    fix_appl: int = successes_parameter()

    def compute(self, memory: Successes, xp: Namespace) -> Array:  # noqa: D102
        dominates, present = _dominates(memory, xp)
        count = dominates.sum(axis=0)
        return xp.where(present, 1.0 - ratio(count, count.sum(), xp), 0.0)


@register
@dataclass(frozen=True, repr=False)
class CompassProjection(SuccessReward):
    """Diversity and mean of its successes, projected on the direction θ.

    σ and μ are the operator's std and mean, each divided by its maximum over the operators; an
    operator without a success is the point (0, 0). (The paper's minimum keeps the wrong index.)

    Equation:
        v[op] = hypot(σ, μ) · cos(atan2(μ, σ) − θ) = σ cos θ + μ sin θ
        r[op] = v[op] − min_j v[j]

    Reference: Maturana, J. & Saubion, F. (2008), "A compass to guide genetic algorithms", PPSN X.
    """

    fix_appl: int = successes_parameter()
    theta: int = choice(36, 45, 54, 90, default=45, symbol="θ", unit="°", doc="direction")

    def compute(self, memory: Successes, xp: Namespace) -> Array:  # noqa: D102
        std, mean, present = memory.points(xp)
        std, mean = xp.where(present, std, 0.0), xp.where(present, mean, 0.0)
        std = saturate(ratio(std, std.max(), xp), xp)
        mean = saturate(ratio(mean, mean.max(), xp), xp)
        angle = math.radians(self.theta)
        v = std * math.cos(angle) + mean * math.sin(angle)
        return v - v.min()


@register
@dataclass(frozen=True, repr=False)
class AreaUnderCurve(WindowReward):
    """Area under the operator's curve through the ranking of the window, best first.

    An entry of op raises y by its step, an entry of another operator adds y · step to the area and
    moves x by its step. Entries with equal metric share the mean of their steps and are walked
    along the diagonal. y > 0 and x = 0: 1; y = 0: 0.

    Equation:
        step(q) = D^q (m − q), q = 0..m−1 the rank, m the number of entries; D = 0: step 1
        r[op] = area / (final x · final y)

    Reference: Fialho, Á., Schoenauer, M. & Sebag, M. (2010), "Toward comparison-based adaptive
    operator selection", GECCO.
    """

    W: int = window_parameter()
    D: float = decay_parameter()

    def compute(self, memory: Window, xp: Namespace) -> Array:  # noqa: D102
        order = (-memory.metrics).argsort()
        falling = -memory.metrics[order]
        mine = memory.labels[:, None] == memory.operators[order]
        rank = xp.arange(falling.shape[0])
        # 0^q would leave a single entry: every rank weighs the same instead.
        step = self.D**rank * (memory.size - rank) if self.D > 0 else xp.ones(rank.shape)
        step = xp.where(rank < memory.size, step, 0.0)
        # Equal metrics stand side by side, from `first` to before `last`: they share their steps.
        first = xp.searchsorted(falling, falling, side="left")
        last = xp.searchsorted(falling, falling, side="right")
        below = _running_sum(step, xp)
        step = (below[last] - below[first]) / (last - first)
        y = _running_sum(xp.where(mine, step, 0.0), xp)
        across = xp.where(mine, 0.0, step)
        # Along the diagonal of a tie the mean height is that of its two ends.
        area = (across * (xp.take(y, first, axis=1) + xp.take(y, last, axis=1))).sum(axis=1) / 2.0
        x, y = across.sum(axis=1), y[:, -1]
        return xp.where(y > 0, xp.where(x > 0, ratio(ratio(area, x, xp), y, xp), 1.0), 0.0)


def _running_sum(values: Array, xp: Namespace) -> Array:
    """Sums of the values before each place along the last axis, and of all of them at the end."""
    start = xp.zeros((*values.shape[:-1], 1))
    return xp.concatenate([start, values.cumsum(axis=-1)], axis=-1)


@register
@dataclass(frozen=True, repr=False)
class SumOfRanks(WindowReward):
    """The operator's share of the rank weights in the window.

    Ties get the smallest rank of the tie. D = 0 gives every rank the weight 0, hence every operator
    the reward 0.

    Equation:
        r[op] = Σ_{op's entries} D^q (W − q) / Σ_{all entries} D^q (W − q), q = 1..m the rank

    Reference: Fialho, Á., Schoenauer, M. & Sebag, M. (2010), "Toward comparison-based adaptive
    operator selection", GECCO.
    """

    W: int = window_parameter()
    D: float = decay_parameter()

    def compute(self, memory: Window, xp: Namespace) -> Array:  # noqa: D102
        falling = xp.sort(-memory.metrics)
        rank = xp.searchsorted(falling, -memory.metrics, side="left") + 1.0
        weight = self.D**rank * (self.W - rank)
        per_operator = xp.where(memory.membership(xp), weight, 0.0).sum(axis=1)
        return ratio(per_operator, per_operator.sum(), xp)


@register
@dataclass(frozen=True, repr=False)
class WindowSuccessSum(WindowReward):
    """The mean metric of the operator's entries in the window.

    Equation:
        r[op] = mean of op's metrics; normalise = 1: divided by the largest such mean

    Reference: Fialho, Á., Schoenauer, M. & Sebag, M. (2009), "Analysis of adaptive operator
    selection techniques on the royal road and long k-path problems", GECCO.
    """

    W: int = window_parameter()
    normalise: int = choice(0, 1, default=1, symbol="ω", doc="1: relative to the best operator")

    def compute(self, memory: Window, xp: Namespace) -> Array:  # noqa: D102
        mine = memory.membership(xp)
        total = xp.where(mine, memory.metrics, 0.0).sum(axis=1)
        mean = ratio(total, mine.sum(axis=1), xp)
        return ratio(mean, mean.max(), xp) if self.normalise else mean
