"""Selection in isolation: operators simulated by rewards whose distributions change.

In a real run nobody knows which operator is best at a given moment. Here it is known: each of K
operators has a rank, its rewards are drawn from the distribution of that rank, and every ΔT
applications the ranks are permuted. So the performance of a method can be measured exactly: how
often it chooses the best operator, how much it loses by not doing so, and how quickly it reacts to
a change.

    scenario = Uniform(operators=5, every=50, steps=500)
    compare(["AP", "PM"], scenario, repetitions=100, seed=1).plot("scenario.png")

A method takes part through its :class:`uaos.Selector`: one application is a generation of
one, and a reward r is an offspring of fitness −r of a parent of fitness 0, so that a reward of 0 is
a failure.
"""

from uaos.scenarios.comparison import Estimate, ScenarioResult, Summary, compare
from uaos.scenarios.kinds import KINDS, Boolean, Outlier, Scenario, Uniform, scenario
from uaos.scenarios.recipes import RECIPES, named

__all__ = [
    "KINDS", "RECIPES", "Boolean", "Estimate", "Outlier", "Scenario", "ScenarioResult",
    "Summary", "Uniform", "compare", "named", "scenario",
]  # fmt: skip
