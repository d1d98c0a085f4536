"""What every component is: a frozen dataclass with a name, declared parameters and one method.

A component's fields are its hyper-parameters (declared with :mod:`uaos.params`), its docstring
holds the equation and the reference, and its one method `compute` evaluates the equation: in NumPy,
or by a numba kernel beside the class where NumPy's calls would cost more than the equation. Sums
of a kernel run in the order of the index and its functions are those of the C library, or both are
left to NumPy, so that compiled and interpreted kernels agree to the last bit.
"""

import re
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from uaos.jit import njit
from uaos.params import check_fields, known_only, parameters

#: A NumPy array; what numba returns has no type.
Array = Any

#: Metrics, rewards and qualities saturate at ±LIMIT, so that their squares, cubes and sums over a
#: memory stay finite even for fitness values near the end of the floating-point range.
LIMIT = 1e100


@dataclass(frozen=True, repr=False)
class Component:
    """Base of all five families.

    Examples
    --------
    >>> import uaos
    >>> issubclass(uaos.components("reward")["area_under_curve"], uaos.Component)
    True
    """

    family: ClassVar[str] = ""
    #: What the component is called everywhere; by default the class name in snake case.
    name: ClassVar[str] = ""
    #: Whether the search space of a tuner has it; one that is set apart is used by name only.
    searched: ClassVar[bool] = True
    #: Whether it is one of the 32 of the framework's paper.
    printed: ClassVar[bool] = True

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in vars(cls):
            cls.name = re.sub(r"(?<!^)(?=[A-Z]|\d+)", "_", cls.__name__).lower()

    def __new__(cls, *args: Any, **values: Any) -> Self:
        """Refuse a misspelled parameter with the near misses, before `__init__` sees it."""
        known_only(values, parameters(cls), cls.name)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        check_fields(self, self.name)

    def for_operators(self, n_operators: int) -> Self:
        """The component as it serves K operators; raises if its parameters cannot."""
        return self

    def __repr__(self) -> str:
        values = ", ".join(f"{k}={getattr(self, k)!r}" for k in parameters(self))
        return f"{self.name}({values})" if values else self.name


def ratio(numerator: Array, denominator: Array) -> Array:
    """`numerator / denominator`, and 0 where the denominator is 0."""
    zero = denominator == 0
    return np.where(zero, 0.0, numerator / np.where(zero, 1.0, denominator))


@njit
def saturate(value: float) -> float:
    """The value cut to ±LIMIT; NaN, an undefined quantity, is 0."""
    if np.isnan(value):
        return 0.0
    return min(max(value, -LIMIT), LIMIT)
