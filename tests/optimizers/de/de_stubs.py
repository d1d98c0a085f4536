"""Small parts that the tests of the engine share."""

import numpy as np

from uaos.optimizers.configuration import Configuration
from uaos.optimizers.de.optimizer import DifferentialEvolution
from uaos.optimizers.de.pool import SingleOperator
from uaos.optimizers.de.settings import DifferentialEvolutionSettings
from uaos.selection.method import Method


class Uniform:
    """A selector that chooses uniformly and remembers what it was told."""

    def __init__(self, K, budget, rng):
        self.K, self.budget, self.rng = K, budget, rng
        self.told = []

    @property
    def probabilities(self):
        return np.full(self.K, 1 / self.K)

    def select(self, n):
        return (self.rng.random(n) * self.K).astype(np.int64)

    def learn(self, operators, parents, offspring):
        self.told.append((operators.copy(), parents.copy(), offspring.copy()))

    def state(self):
        return {"updates": len(self.told)}

    def restore(self, state):
        self.told = [None] * state["updates"]


def engine(D=3, budget=None, seed=1, x0=None, history=True, make=Uniform, **settings):
    """Differential evolution on [-5, 5]^D with uniform choice of operators."""

    class Stubbed(DifferentialEvolution):
        def _new_selector(self, budget):
            if len(self.pool.members) == 1:
                return SingleOperator()
            return make(len(self.pool.members), budget, self.rng)

    return Stubbed(
        [(-5.0, 5.0)] * D,
        method=Configuration(
            "stub", Method(), DifferentialEvolutionSettings(**({"NP": 20} | settings))
        ),
        seed=np.random.default_rng(seed),
        budget=budget,
        x0=x0,
        history=history,
    )


def sphere(X):
    return ((X - 1.0) ** 2).sum(axis=1)


def run(one, fun=sphere):
    while not one.done:
        one.tell(fun(one.ask()))
    return one
