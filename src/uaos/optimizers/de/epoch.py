"""What lies between two restarts: how far it is, and whether it still gets anywhere."""

import math

from uaos.optimizers.de.population import Population, alike
from uaos.optimizers.de.schedules import Stagnation


class Epoch:
    """The course of a population from its start on."""

    def __init__(self, start: int, length: int) -> None:
        # Evaluations before it, and from there to the end of the run.
        self.start, self.length = start, length
        self.started = False  # whether the first population has been told
        self.best = self.violation = math.inf
        self.since_better = 0  # generations

    def progress(self, evaluations: int) -> float:
        """The share of its evaluations that is spent after so many of the run."""
        return (evaluations - self.start) / self.length

    def note(self, value: float) -> None:
        """Compare the best value of a generation with the best so far."""
        self.since_better += 1
        if value < self.best:
            self.best, self.since_better = value, 0

    def is_stagnating(self, rule: Stagnation, population: Population) -> bool:
        """Whether there was no better best for too long, or all fitness is alike."""
        if self.since_better >= rule.patience:
            return True
        first, last = population.order.item(0), population.order.item(-1)
        if population.excess.item(last) > 0:
            return False
        fitness = population.fitness
        return alike(fitness.item(first), fitness.item(last), rule.spread)
