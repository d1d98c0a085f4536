"""jSO: L-SHADE with a weighted strategy and limits of F and CR that change over the run.

Brest, Maučec and Bošković (2017), "Single objective real-parameter optimization: algorithm jSO".
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from uaos.arrays import FloatArray, IntArray
from uaos.jit import njit
from uaos.optimizers.de import layout as at
from uaos.optimizers.de.operators import Operator, PoolMember
from uaos.optimizers.de.rules import SuccessHistory
from uaos.optimizers.de.settings import DifferentialEvolutionSettings, Linear
from uaos.optimizers.registration import register
from uaos.optimizers.winners.base import Winner, WinnerSettings, default

#: The strategy, and the limits of F and CR over the run, as tables show them.
STRATEGY = "x_i + w F (x_pbest - x_i) + F (x_r1 - x_arch)"
F_LIMIT = "at most 0.7 up to 60 %"
CR_LIMIT = "at least 0.7 up to 25 %, 0.6 up to 50 %"


@cache
def _pool() -> tuple[Operator, ...]:
    """Return the only operator, whose F and CR share a memory."""
    memory = SuccessHistory(5, F=0.3, CR=0.8, rate=0.5, CR_mean="Lehmer", last=0.9)
    return (Operator("curr-to-pbest/1 (archived)", memory, memory, "current-to-pbest-w/1"),)


def limit_rates(progress: float, F: FloatArray, CR: FloatArray) -> None:
    """Limit F from above and CR from below, as the share of the run that is spent demands."""
    np.minimum(F, 0.7 if progress < 0.6 else 1.0, out=F)
    np.maximum(CR, 0.7 if progress < 0.25 else 0.6 if progress < 0.5 else 0.0, out=CR)


def weight(progress: float) -> float:
    """Return F_w / F, the weight of the first difference, at a share of the run."""
    return 0.7 if progress < 0.2 else 0.8 if progress < 0.4 else 1.2


def leader_count(
    share: float, progress: float, NP: int, rounded: Callable[[float], int] = round
) -> int:
    """Return how many of the best x_pbest is one of: a share of NP that falls to its half."""
    now = share - share / 2 * min(1.0, progress)
    return min(NP, max(2, rounded(now * NP)))


@njit
def avoid_parent(order: IntArray, leaders: int, uniforms: FloatArray, partners: IntArray) -> None:
    """Let x_pbest be another one of the leaders where it is the parent itself."""
    for i in range(len(partners)):
        if partners[i, at.PLUS_1] == i:
            # By what the first choice has left of the same number.
            place = uniforms[i, at.PBEST] * leaders
            k = int((place - int(place)) * (leaders - 1))
            partners[i, at.PLUS_1] = order[k + int(k >= int(place))]


@njit
def mutate_weighted(
    rows: FloatArray, partners: IntArray, weight: float, F: FloatArray, mutants: FloatArray
) -> None:
    """Write the mutants x_i + F_w (x_pbest - x_i) + F (x_r1 - x_arch) with F_w = weight·F."""
    n, D = mutants.shape
    for i in range(n):
        pbest, r1, arch = partners[i, at.PLUS_1], partners[i, at.PLUS_2], partners[i, at.MINUS_2]
        for j in range(D):
            toward = weight * (rows[pbest, j] - rows[i, j])
            mutants[i, j] = rows[i, j] + F[i] * (toward + rows[r1, j] - rows[arch, j])


_SCHEDULE = Linear(4)


@dataclass(frozen=True, eq=False)
class JSOSettings(WinnerSettings):
    """Settings of jSO, those of differential evolution with other defaults.

    `top_NP` falls to its half over the run.
    """

    title: ClassVar[str] = "jSO"

    NP: int | str | None = default("NP", "25sqrt(D) ln(D)")
    top_NP: float | str = default("top_NP", 0.25)
    NP_schedule: Linear | str | None = _SCHEDULE

    @classmethod
    def default_pool(cls) -> tuple[PoolMember, ...]:  # noqa: D102
        return _pool()

    def operator_texts(self) -> list[tuple[str, str, str, str]]:  # noqa: D102
        ((name, _, F, CR),) = super().operator_texts()
        return [(name, STRATEGY, f"{F}, {F_LIMIT}", f"{CR}, {CR_LIMIT}")]


@register
class JSO(Winner):
    """Successor of L-SHADE with a weighted strategy.

    Its strategy weighs the difference to x_pbest, which is not the parent in the first half of the
    run; F and CR have limits that change over the run.
    """

    name: ClassVar[str] = "jSO"
    settings_class: ClassVar[type[DifferentialEvolutionSettings]] = JSOSettings

    def _draw_rates(self) -> None:
        super()._draw_rates()
        limit_rates(self.progress, self.offspring.F, self.offspring.CR)

    def _leaders(self) -> IntArray:
        count = leader_count(self.settings.top, self.progress, self.population.NP)
        return np.full(len(self.offspring.operators), count)

    def _choose_partners(self) -> IntArray:
        partners = super()._choose_partners()
        if self.progress < 0.5:
            count = leader_count(self.settings.top, self.progress, self.population.NP)
            avoid_parent(self.population.order, count, self.offspring.uniforms, partners)
        return partners

    def _mutate(self, partners: IntArray) -> FloatArray:
        mutants = np.empty((len(partners), self.dimension))
        mutate_weighted(
            self.population.rows, partners, weight(self.progress), self.offspring.F, mutants
        )
        return mutants
