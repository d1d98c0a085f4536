"""Selection in isolation: operators simulated by rewards whose distributions change.

In a real run the best operator at a given moment is unknown. Here it is known: each of K operators
has a rank, its rewards are drawn from the distribution of that rank, and the ranks are permuted
every ΔT applications. So the performance of a method can be measured exactly: how often it chooses
the best operator, how much it loses by not doing so, and how quickly it reacts to a change.

    scenario = UniformScenario(operators=5, every=50, steps=500)
    compare_methods(["AP", "PM"], scenario, repetitions=100, seed=1).plot("scenario.png")

A method takes part through its :class:`uaos.Selector`: each application is a generation of one, and
a reward r is an offspring of fitness −r of a parent of fitness 0, so that a reward of 0 is a
failure.
"""

from uaos.scenarios import traces
from uaos.scenarios.comparison import Estimate, ScenarioResult, Summary, compare_methods
from uaos.scenarios.kinds import (
    KINDS,
    BooleanScenario,
    CauchyScenario,
    NoisyScenario,
    OutlierScenario,
    Scenario,
    UniformScenario,
    make_scenario,
)
from uaos.scenarios.own import OwnSelector
from uaos.scenarios.recipes import RECIPES, find_method
from uaos.selection.maps import MethodMap, load_map

__all__ = [
    "KINDS", "RECIPES", "BooleanScenario", "CauchyScenario", "Estimate", "MethodMap",
    "NoisyScenario", "OutlierScenario", "OwnSelector", "Scenario", "ScenarioResult", "Summary",
    "UniformScenario", "compare_methods", "find_method", "load_map", "make_scenario", "traces",
]  # fmt: skip
