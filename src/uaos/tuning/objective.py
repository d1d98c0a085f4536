"""What a tuning minimizes: the cost of a run."""

from collections.abc import Callable

import numpy as np

from uaos.errors import UnknownName
from uaos.experiments.recorder import ECDF_TARGETS, FINAL, TARGETS
from uaos.experiments.unit import Outcome

#: The cost of a run; less is better.
Objective = Callable[[Outcome], float]

_EASIEST = len(TARGETS) - len(ECDF_TARGETS)


def error(outcome: Outcome) -> float:
    """How far from the optimum the run ended: max(f_best - f_opt, 10⁻⁸).

    Where the optimum is not known, the best value itself. A run ends when it comes within 10⁻⁸, the
    final target, and by how much it then overshoots says nothing about the method: a run that
    solved its problem is as good as another that did.
    """
    if outcome.status != "done" or not outcome.best < np.inf:
        return float("inf")
    if np.isnan(outcome.error):
        return outcome.best
    return max(outcome.error, FINAL)


def evaluations(outcome: Outcome) -> float:
    """How long the run took: log10 of the evaluations to within 10⁻⁸ of the optimum.

    A run that did not come so close counts with its budget, and the decades that it lacks (at most
    20 of them) add a hundredth each, to distinguish unsolved runs. Where the optimum is
    not known, the cost is the best value.
    """
    if outcome.status != "done" or not outcome.best < np.inf:
        return float("inf")
    if np.isnan(outcome.error):
        return outcome.best
    if outcome.solved:
        return float(np.log10(outcome.hits[-1]))
    lacking = np.log10(outcome.error / FINAL) if outcome.error > FINAL else 0.0
    return float(np.log10(outcome.budget) + 0.01 * min(lacking, 20.0))


def anytime(outcome: Outcome) -> float:
    """How much of the whole run was spent far from the optimum: 1 - A.

        A = 1/L ∫₀ᴸ ECDF(10ᵘ) du,  L = log10(budget / D)

    ECDF(t) is the share of the 51 targets 10², 10¹·⁸, …, 10⁻⁸ that the run reached within t·D
    evaluations. 0 if all are reached at once, 1 if none is reached within the budget. Where the
    optimum is not known there are no targets, and the cost is the best value.
    """
    if outcome.status != "done":
        return float("inf")
    if np.isnan(outcome.error):
        return outcome.best
    end = np.log10(outcome.budget / outcome.dimension)
    if not end > 0:
        return 1.0
    hits = outcome.hits[_EASIEST:]
    times = np.maximum(hits[hits > 0] / outcome.dimension, 1.0)
    left = np.clip(end - np.log10(times), 0.0, None)
    return float(1.0 - left.sum() / (len(ECDF_TARGETS) * end))


OBJECTIVES: dict[str, Objective] = {
    "error": error, "evaluations": evaluations, "anytime": anytime,
}  # fmt: skip


def objective(name: str) -> Objective:
    """The objective of this name."""
    if name not in OBJECTIVES:
        raise UnknownName("objective", name, OBJECTIVES)
    return OBJECTIVES[name]
