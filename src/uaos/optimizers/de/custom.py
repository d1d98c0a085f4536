"""Custom operators in a run: check their proposals, and report the outcomes to them."""

from collections.abc import Mapping

import numpy as np

from uaos.arrays import FloatArray, IntArray
from uaos.checks import real_numbers
from uaos.errors import InvalidFeedback
from uaos.optimizers.de.operators import CustomOperator
from uaos.optimizers.de.view import PopulationView


def proposals(
    operator: CustomOperator, view: PopulationView, parents: IntArray, rng: np.random.Generator
) -> FloatArray:
    """Return the offspring that an operator proposes for some parents, or raise."""
    shape = (len(parents), len(view.low))
    expected = f"expected finite numbers, one row for each parent: {shape}"
    proposed = operator.propose(view, parents, rng)
    try:
        points = real_numbers(proposed)
    except (TypeError, ValueError) as error:
        raise InvalidFeedback(
            f"operator {operator.name!r} proposed no array of real numbers: {error}; {expected}"
        ) from error
    if points.shape != shape or not np.isfinite(points).all():
        raise InvalidFeedback(
            f"operator {operator.name!r} proposed an array of shape {points.shape}"
            f"{'' if points.shape != shape else ' with values that are not finite'}; {expected}"
        )
    return points


def report_outcomes(
    operators: Mapping[int, CustomOperator],
    view: PopulationView,
    chosen: IntArray,
    points: FloatArray,
    values: FloatArray,
    parents: FloatArray,
) -> None:
    """Report to custom operators that learn what their offspring are worth, before survival.

    `chosen` has the operator of each offspring, `parents` the fitness it is compared with.
    """
    for k, operator in operators.items():
        own = np.flatnonzero(chosen == k)
        if len(own) and hasattr(operator, "learn"):
            improved = values[own] < parents[own]  # false for NaN
            operator.learn(view, own, points[own], values[own], improved)
