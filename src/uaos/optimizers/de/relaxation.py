"""The ε-constrained method: how much violation is tolerated, from the first population on.

The level ε starts as the violation at a quantile of the first population and falls to 0. See
:mod:`uaos.optimizers.feasibility` for the order of points under it.
"""

import numpy as np

from uaos.optimizers import feasibility
from uaos.optimizers.base import Array
from uaos.optimizers.de.epoch import Epoch
from uaos.optimizers.de.population import Batch, Population

_QUANTILE, _POWER = 0.2, 5.0
# ε reaches 0 after the first share of the run; in a short one after that many generations, or the
# second share.
_SHARES, _GENERATIONS = (0.3, 0.7), 200


class Relaxation:
    """The level ε of a population."""

    def __init__(self, population: Population, epoch: Epoch) -> None:
        self._population, self._epoch = population, epoch
        self.epsilon = self.first = np.inf  # no first population has been told yet
        # Of the offspring that are compared.
        self._violations = self._ranks = np.zeros(0)

    def start(self, violations: Array, evaluations: int) -> None:
        """Set the level by the first population."""
        population, n = self._population, len(violations)
        population.excess[:n], population.excess[n:] = violations, np.inf
        # Without values of infeasible points there is nothing to compare them by.
        known = np.isfinite(population.fitness)
        level = np.quantile(population.excess, _QUANTILE, method="lower")
        self.first = float(level) if (known & (population.excess > 0)).any() else 0.0
        self.lower(evaluations)

    def compare(self, values: Array, violations: Array) -> tuple[Array, Array]:
        """What credit compares, of parents and offspring; the ranks of all are for survival."""
        population, epsilon = self._population, self.epsilon
        n, NP = len(values), population.NP
        fitness = np.concatenate([population.fitness, np.where(np.isnan(values), np.inf, values)])
        excess = np.concatenate([population.excess, violations])
        # Up to ε values decide; a point without one has failed.
        excess[NP:][np.isnan(values) & (violations <= epsilon)] = np.inf
        self._violations, self._ranks = violations, feasibility.ranks(fitness, excess, epsilon)
        paired = np.r_[:n, NP : NP + n]
        credit = feasibility.merits(fitness[paired], excess[paired], epsilon)
        return np.where(np.isnan(credit[:n]), np.inf, credit[:n]), credit[n:]

    def survive(
        self, points: Array, values: Array, batch: Batch, capacity: int, counts: Array
    ) -> int:
        """Let offspring of no worse rank take their parents' places: see `Population`."""
        population, n, NP = self._population, len(values), self._population.NP
        parents, offspring = self._ranks[:NP].copy(), self._ranks[NP:].copy()
        best = population.survive(points, offspring, batch, capacity, counts, parents)
        taken = np.flatnonzero(parents[:n] == offspring)
        population.fitness[taken] = np.where(np.isnan(values), np.inf, values)[taken]
        population.excess[taken] = self._violations[taken]
        return best

    def lower(self, evaluations: int) -> None:
        """Bring ε and the order of the parents up to date, and note who is best."""
        population, epoch = self._population, self._epoch
        least, most = (share * epoch.length for share in _SHARES)
        relaxed = min(max(least, _GENERATIONS * population.NP_start), most)
        left = max(0.0, 1.0 - (evaluations - epoch.start) / relaxed)
        self.epsilon = self.first * left**_POWER
        population.order = feasibility.order(population.fitness, population.excess, self.epsilon)
        top = population.order[0]
        found = float(population.excess[top]), float(population.fitness[top])
        epoch.since_better += 1
        if self.epsilon > 0:
            epoch.since_better = 0  # what is best changes with ε
        elif found < (epoch.violation, epoch.best):
            epoch.violation, epoch.best = found
            epoch.since_better = 0
