"""Limited-memory BFGS: steps of a quasi-Newton model that needs no matrix.

Nocedal & Wright (2006), "Numerical Optimization", 2nd ed., algorithm 7.4.
"""

from typing import ClassVar

import numpy as np

from uaos.arrays import BoolArray, FloatArray
from uaos.statefile import Stateful

#: The number of steps that a model remembers.
MEMORY = 20
# A step is remembered if the curvature along it exceeds this share of |s| |y|.
_LEAST_CURVATURE = 1e-8


class LimitedModel(Stateful):
    """Quadratic model: a diagonal, and the last steps with the changes of the gradient.

    Parameters
    ----------
    dimension : int
        The number of variables.

    Attributes
    ----------
    diagonal : ndarray, shape (D,)
        The diagonal of the Hessian, before the steps.
    steps, changes : ndarray, shape (m, D)
        The last steps and the changes of the gradient along them, the oldest first.
    """

    state_names: ClassVar[tuple[str, ...]] = ("diagonal", "steps", "changes")

    def __init__(self, dimension: int) -> None:
        self.diagonal = np.ones(dimension)
        self.steps, self.changes = np.zeros((2, 0, dimension))

    def reset(self, diagonal: FloatArray) -> None:
        """Start again from a diagonal."""
        self.diagonal = diagonal
        self.steps, self.changes = self.steps[:0], self.changes[:0]

    def update(self, s: FloatArray, y: FloatArray) -> None:
        """Remember a step and the change of the gradient, if the function is convex along it."""
        if float(s @ y) > _LEAST_CURVATURE * float(np.sqrt((s @ s) * (y @ y))):
            self.steps = np.concatenate([self.steps, s[None]])[-MEMORY:]
            self.changes = np.concatenate([self.changes, y[None]])[-MEMORY:]

    def step(self, gradient: FloatArray, free: BoolArray) -> FloatArray:
        """Return the step to the minimum of the model over the free coordinates."""
        direction = np.where(free, gradient, 0.0)
        steps, changes = self.steps * free, self.changes * free
        curvatures = np.sum(steps * changes, axis=1)
        used = np.flatnonzero(curvatures > 0)
        shares = np.zeros(len(steps))
        for k in used[::-1]:
            shares[k] = steps[k] @ direction / curvatures[k]
            direction -= shares[k] * changes[k]
        inverse = np.where(free, 1.0 / self.diagonal, 0.0)
        if len(used):
            last = used[-1]
            inverse *= curvatures[last] / float(changes[last] ** 2 @ inverse)
        direction *= inverse
        for k in used:
            share = changes[k] @ direction / curvatures[k]
            direction += (shares[k] - share) * steps[k]
        return -direction
