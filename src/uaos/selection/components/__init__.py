"""The five families of components, in the order in which a method uses them.

metric → (memory) → reward → quality → probability → selection

One family is one file, one component is one small frozen dataclass: its fields are its
hyper-parameters, its docstring gives the equation and the reference, its `compute` evaluates it.
"""

from uaos.selection.components.base import (
    FAMILIES,
    Component,
    build,
    components,
    register_component,
)
from uaos.selection.components.metrics import Metric
from uaos.selection.components.probabilities import Probability
from uaos.selection.components.qualities import Evidence, Quality
from uaos.selection.components.rewards import GenerationReward, Reward, SuccessReward, WindowReward
from uaos.selection.components.selections import Draws, Selection

__all__ = [
    "FAMILIES", "Component", "Draws", "Evidence", "GenerationReward", "Metric", "Probability",
    "Quality", "Reward", "Selection", "SuccessReward", "WindowReward", "build", "components",
    "register_component",
]  # fmt: skip
