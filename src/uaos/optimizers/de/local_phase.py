"""Local searches from the best point, late in a run. Sallam et al. (2020), IMODE."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from uaos.optimizers.base import Array
from uaos.optimizers.de.epoch import Epoch
from uaos.optimizers.de.population import Population
from uaos.optimizers.local import LocalSearch

# A generation is followed by a local search with the first probability, with the second after one
# that failed; the search may take this share of the run's evaluations.
_CHANCES, _SHARE = (0.1, 0.01), 0.02


class LocalPhase:
    """The local searches of a population."""

    def __init__(self, after: float, low: Array, high: Array) -> None:
        self._after, self._box = after, np.stack([low, high], axis=1)
        self.chance = _CHANCES[0]
        self.search: LocalSearch | None = None  # that which is under way

    def start(
        self, population: Population, epoch: Epoch, evaluations: int, rng: np.random.Generator
    ) -> None:
        """After a generation late in the run, perhaps improve the best point."""
        spent, whole = evaluations - epoch.start, epoch.length
        if self._after * whole < spent < whole and rng.random() < self.chance:
            budget = min(math.ceil(_SHARE * whole), whole - spent)
            self.search = self._search(budget, population.rows[population.order[0]])

    def _search(self, budget: int, x0: Array | None) -> LocalSearch:
        return LocalSearch(self._box, seed=0, budget=budget, x0=x0, history=False, restarts=False)

    def learn(self, values: Array, population: Population, epoch: Epoch) -> None:
        """Tell the search; a better point takes the place of the worst parent once it is done."""
        search = self.search
        assert search is not None
        search.tell(values)
        if not search.done:
            return
        self.search = None
        improved = search.best_fitness < population.fitness[population.order[0]]
        self.chance = _CHANCES[0 if improved else 1]
        if improved:
            worst = population.order[-1]
            population.rows[worst], population.fitness[worst] = search.best_x, search.best_fitness
            population.sort()
            epoch.best, epoch.since_better = search.best_fitness, 0

    def state(self) -> dict[str, Any]:
        """What changes in a run."""
        search = self.search
        return {
            "_local_chance": self.chance,
            "local": None if search is None else search.state(),
            "local_budget": None if search is None else search.budget,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from what :meth:`state` returned."""
        self.chance, self.search = state["_local_chance"], None
        if state["local"] is not None:
            self.search = self._search(state["local_budget"], None)
            self.search.restore(state["local"])
