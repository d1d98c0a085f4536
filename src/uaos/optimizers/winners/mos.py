"""The differential evolution of MOS: parents by tournament, exponential crossover.

LaTorre, Muelas and Peña (2010), "Benchmarking a MOS-based algorithm on the BBOB-2010 noiseless
function testbed".
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from uaos.arrays import FloatArray, IntArray
from uaos.jit import njit
from uaos.optimizers.de import layout as at
from uaos.optimizers.de.operators import Operator, PoolMember
from uaos.optimizers.de.settings import DifferentialEvolutionSettings, Stagnation
from uaos.optimizers.registration import register
from uaos.optimizers.winners.base import Winner, WinnerSettings, default


@njit
def choose_by_tournament(order: IntArray, uniforms: FloatArray, partners: IntArray) -> None:
    """Write three partners of each mutant, each the better of two parents drawn at random.

    The smaller of two uniform ranks is below k with probability 1 - (1 - k/NP)². A partner that is
    drawn twice is replaced by the next in rank.
    """
    NP = len(order)
    for i in range(len(partners)):
        first = int(NP * (1.0 - np.sqrt(1.0 - uniforms[0, i])))
        second = int(NP * (1.0 - np.sqrt(1.0 - uniforms[1, i])))
        third = int(NP * (1.0 - np.sqrt(1.0 - uniforms[2, i])))
        if second == first:
            second = (second + 1) % NP
        for _ in range(2):
            if third in (first, second):
                third = (third + 1) % NP
        partners[i, at.BASE] = order[first]
        partners[i, at.PLUS_1], partners[i, at.MINUS_1] = order[second], order[third]


@njit
def cross_exponentially(
    parents: FloatArray,
    mutants: FloatArray,
    CR: FloatArray,
    uniforms: FloatArray,
    offspring: FloatArray,
) -> None:
    """Write offspring that take consecutive coordinates from their mutants, from a random one on.

    Each further coordinate is taken with probability CR, up to the first that is not; the first
    coordinate follows the last.
    """
    n, D = offspring.shape
    for i in range(n):
        start, crossed = int(uniforms[i, at.J_RAND] * D), 1
        while crossed < D and uniforms[i, at.CROSS + crossed] < CR[i]:
            crossed += 1
        for j in range(D):
            offspring[i, j] = parents[i, j]
        for k in range(start, start + crossed):
            offspring[i, k % D] = mutants[i, k % D]


_RESTART = Stagnation(growth=2.0)


@dataclass(frozen=True, eq=False)
class TournamentSettings(WinnerSettings):
    """Settings of the differential evolution of MOS."""

    title: ClassVar[str] = "MOS-DE"

    NP: int | str | None = default("NP", 15)
    restart: Stagnation | str | None = _RESTART

    @classmethod
    def default_pool(cls) -> tuple[PoolMember, ...]:  # noqa: D102
        return (Operator("rand/1", 0.5, 0.5, "DE"),)


@register
class TournamentDE(Winner):
    """Differential evolution whose partners win tournaments, with exponential crossover."""

    name: ClassVar[str] = "MOS-DE"
    settings_class: ClassVar[type[DifferentialEvolutionSettings]] = TournamentSettings

    def _choose_partners(self) -> IntArray:
        n = len(self.offspring.operators)
        partners = np.zeros((n, at.PARTNERS), np.int64)
        choose_by_tournament(self.population.order, self.rng.random((3, n)), partners)
        return partners

    def _cross(self, mutants: FloatArray) -> FloatArray:
        points = np.empty_like(mutants)
        cross_exponentially(
            self._parents(), mutants, self.offspring.CR, self.offspring.uniforms, points
        )
        return points
