"""Unified adaptive operator selection.

An evolutionary algorithm has several ways to make a new solution, its operators. Which one is best
changes from problem to problem and during a run; adaptive operator selection learns it on the way:

    select → vary → evaluate → metric → memory → reward → quality → probability → select …

Each arrow after `evaluate` is an exchangeable component (`uaos.components`); five of them make a
method (`uaos.Method`); a running method is a selector (`uaos.Selector`).
"""

# ruff: noqa: E402
from uaos import interrupts as _interrupts

_interrupts.handle_while_starting()

from importlib import import_module
from typing import TYPE_CHECKING, Any

from uaos.errors import UaosError
from uaos.fitting import least_squares
from uaos.history import History
from uaos.maximization import maximize
from uaos.minimization import minimize
from uaos.optimizers.assisted import AssistedCMAES
from uaos.optimizers.base import Optimizer
from uaos.optimizers.base.settings import OptimizerSettings
from uaos.optimizers.catalogue import configuration, method, methods
from uaos.optimizers.cma import CMAES
from uaos.optimizers.configuration import Configuration
from uaos.optimizers.coordinate import CoordinateSearch
from uaos.optimizers.de.operators import Operator, product
from uaos.optimizers.de.optimizer import DifferentialEvolution
from uaos.optimizers.interpolation import QuadraticSearch
from uaos.optimizers.least_squares import LM
from uaos.optimizers.local import LocalSearch
from uaos.optimizers.mixed_sqp import MixedSQP
from uaos.optimizers.portfolio import Member, Portfolio
from uaos.optimizers.pycma import PyCMA
from uaos.optimizers.registration import register
from uaos.optimizers.sqp import SQP
from uaos.optimizers.surrogate import SurrogateSearch
from uaos.params import Categorical, Integer, Real, choice, integer, real
from uaos.problems import Problem, Suite, suite
from uaos.problems.space import Box
from uaos.problems.variables import Space
from uaos.result import Result
from uaos.selection.components import (
    Component,
    Draws,
    Evidence,
    GenerationReward,
    Metric,
    Probability,
    Quality,
    Selection,
    SuccessReward,
    WindowReward,
    components,
)
from uaos.selection.method import Method
from uaos.selection.selector import Selector

if TYPE_CHECKING:
    from uaos.study import Study

__version__ = "0.3.0.dev0"

__all__ = [
    "CMAES", "LM", "SQP", "AssistedCMAES", "Box", "Categorical", "Component", "Configuration",
    "CoordinateSearch", "DifferentialEvolution", "Draws", "Evidence", "GenerationReward", "History",
    "Integer", "LocalSearch", "Member", "Method", "Metric", "MixedSQP", "Operator", "Optimizer",
    "OptimizerSettings", "Portfolio", "Probability", "Problem", "PyCMA", "QuadraticSearch",
    "Quality", "Real", "Result", "Selection", "Selector", "Space", "Study", "SuccessReward",
    "Suite", "SurrogateSearch", "UaosError", "WindowReward", "choice", "components",
    "configuration", "integer", "least_squares", "maximize", "method", "methods", "minimize",
    "product", "real", "register", "suite",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    # Experiments, tuning and adapters would slow down every import.
    if name == "adapters":
        return import_module("uaos.adapters")
    if name == "Study":
        from uaos.study import Study

        return Study
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
