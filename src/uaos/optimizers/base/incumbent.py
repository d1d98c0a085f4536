"""The best point that a run has found."""

from dataclasses import dataclass

import numpy as np

from uaos.arrays import FloatArray
from uaos.optimizers.base import feasibility
from uaos.optimizers.base.feedback import Feedback
from uaos.optimizers.base.search_box import SearchBox


@dataclass(eq=False)
class Incumbent:
    """Best point so far: the lowest value, or under constraints the least violation first.

    Attributes
    ----------
    x : ndarray, shape (D,), or None
        The point, as it was evaluated; None before the first finite value.
    value : float
        Its value; infinite if it is infeasible.
    violation : float
        By how much it violates constraints.
    constrained : bool
        Whether violations are told.
    """

    x: FloatArray | None = None
    value: float = np.inf
    violation: float = 0.0
    constrained: bool = False

    def update(self, points: FloatArray, feedback: Feedback, box: SearchBox) -> None:
        """Take the best of some points if it is better."""
        k, value, violation = feedback.lowest, np.inf, 0.0
        if feedback.violations is not None:
            if not self.constrained and self.x is None:
                self.violation = np.inf
            self.constrained = True
            k = int(feasibility.order(feedback.values, feedback.violations)[0])
            violation = float(feedback.violations[k])
        if k >= 0 and violation == 0:
            value = float(feedback.values[k])
        if violation < self.violation or (violation == self.violation and value < self.value):
            self.x, self.value, self.violation = box.rounded(points[k]), value, violation
