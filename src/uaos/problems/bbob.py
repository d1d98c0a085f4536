"""The 24 noiseless BBOB functions, through COCO's own implementation (coco-experiment).

Hansen, N., Auger, A., Ros, R., Mersmann, O., Tušar, T. & Brockhoff, D. (2021), "COCO: a platform
for comparing continuous optimizers in a black-box setting", Optimization Methods and Software 36.
"""

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uaos.errors import InvalidParameter

#: The dimensions of COCO's suite.
DIMENSIONS = (2, 3, 5, 10, 20, 40)

#: The five classes of functions.
CLASSES = {
    "separable": range(1, 6),
    "moderate": range(6, 10),
    "ill-conditioned": range(10, 15),
    "multi-modal": range(15, 20),
    "weakly structured": range(20, 25),
}

_NAMES = (
    "sphere", "separable ellipsoid", "separable Rastrigin", "Büche-Rastrigin", "linear slope",
    "attractive sector", "step ellipsoid", "Rosenbrock", "rotated Rosenbrock", "ellipsoid",
    "discus", "bent cigar", "sharp ridge", "different powers", "Rastrigin", "Weierstrass",
    "Schaffer F7", "ill-conditioned Schaffer F7", "Griewank-Rosenbrock", "Schwefel",
    "Gallagher 101 peaks", "Gallagher 21 peaks", "Katsuura", "Lunacek bi-Rastrigin",
)  # fmt: skip


class BBOB:
    """One BBOB problem: call it with a point; `f_opt` is its minimum, `bounds` the box [-5, 5]^D.

    Bounds are not enforced: the function is defined everywhere. It can be sent to other processes.
    """

    def __init__(self, function: int, dimension: int = 20, instance: int = 1) -> None:
        # COCO itself ends the whole process for a problem that does not exist.
        self.function = _checked("function", function, 1, 24)
        self.instance = _checked("instance", instance, 1, 1000)
        self.dimension = checked_dimension(dimension, "a BBOB problem")
        import cocoex

        self._evaluate = cocoex.BareProblem("bbob", self.function, self.dimension, self.instance)
        self.f_opt = float(self._evaluate.best_value())
        self.bounds = [(-5.0, 5.0)] * self.dimension

    @property
    def name(self) -> str:
        """What the function is called."""
        return _NAMES[self.function - 1]

    def __call__(self, x: NDArray[np.float64]) -> float:
        """The value at one point."""
        # COCO reads D numbers, whatever it is given.
        if len(x) != self.dimension:
            allowed = f"a point of length {self.dimension}"
            raise InvalidParameter("x", f"of length {len(x)}", allowed, owner=repr(self))
        value: float = self._evaluate(x)
        return value

    def __reduce__(self) -> tuple[Any, ...]:
        return BBOB, (self.function, self.dimension, self.instance)

    def __repr__(self) -> str:
        return f"BBOB(f{self.function} {self.name}, {self.dimension}-D, instance {self.instance})"


def checked_dimension(dimension: int, owner: str = "") -> int:
    """The dimension, if it is one of COCO's suite."""
    if dimension not in DIMENSIONS:
        allowed = "one of " + ", ".join(map(str, DIMENSIONS))
        raise InvalidParameter("dimension", dimension, allowed, owner=owner)
    return int(dimension)


def _checked(name: str, value: object, low: int, high: int) -> int:
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        number = int(value)
        if low <= number <= high:
            return number
    raise InvalidParameter(name, value, f"a whole number {low} to {high}", owner="a BBOB problem")
