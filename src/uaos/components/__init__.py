"""The five families of components, in the order in which a method uses them.

metric → (memory) → reward → quality → probability → selection

One family is one file, one component is one small frozen dataclass: its fields are its
hyper-parameters, its docstring gives the equation and the reference, its `compute` evaluates it.
"""

from uaos.components.base import Component
from uaos.components.metrics import Metric
from uaos.components.probabilities import Probability
from uaos.components.qualities import Evidence, Quality
from uaos.components.registry import FAMILIES, build, components, register
from uaos.components.rewards import GenerationReward, Reward, SuccessReward, WindowReward
from uaos.components.rewards_ranked import AreaUnderCurve as _  # noqa: F401 (registers the family)
from uaos.components.selections import Draws, Selection

__all__ = [
    "FAMILIES",
    "Component",
    "Draws",
    "Evidence",
    "GenerationReward",
    "Metric",
    "Probability",
    "Quality",
    "Reward",
    "Selection",
    "SuccessReward",
    "WindowReward",
    "build",
    "components",
    "register",
]
