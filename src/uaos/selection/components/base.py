"""The base class of components, and the registry of the five families.

A component's fields are its hyper-parameters (declared with :mod:`uaos.params`), its docstring
holds the equation and the reference, and its one method `compute` evaluates the equation: in NumPy,
or by a numba kernel beside the class where NumPy's calls would cost more than the equation. Sums
of a kernel run in the order of the index and its functions are those of the C library, or both are
left to NumPy, so that compiled and interpreted kernels agree to the last bit.
"""

import dataclasses
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import ClassVar, Self, TypeVar, dataclass_transform

import numpy as np

from uaos.arrays import FloatArray
from uaos.errors import InvalidComponent, InvalidParameter, NameClash, UnknownName, shortened
from uaos.jit import njit
from uaos.params import check_fields, known_only, parameters

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
    #: The name of the component; by default the class name in snake case.
    name: ClassVar[str] = ""
    #: Whether the search space of a tuner includes it; otherwise it is used by name only.
    searched: ClassVar[bool] = True
    #: Whether it is one of the 32 of the framework's paper.
    printed: ClassVar[bool] = True
    #: The equation as a kernel, where all of it can be compiled; it takes what the family sees, and
    #: the `values` of the component.
    kernel: ClassVar[Callable[..., FloatArray] | None] = None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "name" not in vars(cls):
            cls.name = re.sub(r"(?<!^)(?=[A-Z]|\d+)", "_", cls.__name__).lower()

    def __new__(cls, *args: object, **values: object) -> Self:
        """Refuse a misspelled parameter with the near misses, before `__init__` sees it."""
        known_only(values, parameters(cls), cls.name)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        check_fields(self, self.name)

    def for_operators(self, n_operators: int) -> Self:
        """Return the component for K operators; raise if its parameters do not allow them."""
        return self

    @cached_property
    def values(self) -> tuple[float, ...]:
        """Return the parameters as a kernel takes them, in the order of declaration."""
        return tuple(float(getattr(self, name)) for name in parameters(self))

    def __repr__(self) -> str:
        values = ", ".join(f"{k}={getattr(self, k)!r}" for k in parameters(self))
        return f"{self.name}({values})" if values else self.name


def ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Return `numerator / denominator`, and 0 where the denominator is 0."""
    zero = denominator == 0
    return np.where(zero, 0.0, numerator / np.where(zero, 1.0, denominator))


@njit
def saturate(value: float) -> float:
    """Clip the value to ±LIMIT; NaN, an undefined quantity, becomes 0."""
    if np.isnan(value):
        return 0.0
    return min(max(value, -LIMIT), LIMIT)


# The families and their members, as Python, the command line and the docs list them

#: In the order in which a method uses them.
FAMILIES = ("metric", "reward", "quality", "probability", "selection")

_members: dict[str, dict[str, type[Component]]] = {family: {} for family in FAMILIES}

C = TypeVar("C", bound=type[Component])


@dataclass_transform(frozen_default=True)
def register_component(component: C) -> C:
    """Add a component class to its family, under its `name`; usable as a decorator.

    From then on the name works wherever a component is named: in :class:`uaos.Method`, in files, on
    the command line (`uaos --import FILE.py …`), in the search space of a tuner. Registering the
    same definition again (a re-run notebook cell) replaces it; another class under a taken name is
    refused. The class becomes a frozen dataclass, if it is not one already.
    """
    if not (inspect.isclass(component) and issubclass(component, Component)):
        raise InvalidComponent(
            f"{component!r} is not a component class: derive it from uaos.Metric, "
            "uaos.GenerationReward, uaos.SuccessReward, uaos.WindowReward, uaos.Quality, "
            "uaos.Probability or uaos.Selection"
        )
    title = f"{component.__name__} ({component.family or 'no family'})"
    if component.family not in _members:
        raise InvalidComponent(f"{title}: derive it from the base class of one of the families")
    if not _computes(component):
        raise InvalidComponent(f"{title} lacks its one method, compute")
    fields = [k for k, v in vars(component).items() if isinstance(v, dataclasses.Field)]
    undeclared = [k for k in fields if k not in vars(component).get("__annotations__", {})]
    if fields and not undeclared:  # not a dataclass yet
        dataclasses.dataclass(frozen=True, repr=False)(component)
    declared = parameters(component)
    undeclared += [f.name for f in dataclasses.fields(component) if f.name not in declared]
    if undeclared:
        raise InvalidComponent(
            f"{title}: the field {undeclared[0]} is not declared; give it a type and a range, as "
            "in `rate: float = uaos.real(0, 1, default=0.1)` (or uaos.integer, uaos.choice)"
        )
    if component.family == "reward" and not getattr(component, "memory", ""):
        raise InvalidComponent(
            f"{title}: a reward derives from uaos.GenerationReward, uaos.SuccessReward or "
            "uaos.WindowReward, which say what they read"
        )
    family = _members[component.family]
    present = family.get(component.name)
    if present is not None and _identity(present) != _identity(component):
        raise NameClash(
            f"the {component.family} {component.name!r} exists already "
            f"({present.__module__}.{present.__qualname__}); give the class another name, or set "
            "its `name`"
        )
    family[component.name] = component
    return component


def _computes(component: type[Component]) -> bool:
    """Return whether there is a kernel, or a `compute` below the family's base class."""
    if component.kernel is not None:
        return True
    for cls in component.__mro__:
        if "compute" in vars(cls):
            return not getattr(vars(cls)["compute"], "__isabstractmethod__", False)
    return False


def _identity(component: type[Component]) -> tuple[str, str]:
    return component.__module__, component.__qualname__


def components(family: str) -> Mapping[str, type[Component]]:
    """Return the components of a family by name.

    Parameters
    ----------
    family : {"metric", "reward", "quality", "probability", "selection"}

    Returns
    -------
    mapping of str to type

    Raises
    ------
    UnknownName
        If there is no such family.

    Examples
    --------
    >>> import uaos
    >>> list(uaos.components("probability"))[:2]
    ['probability_matching', 'adaptive_pursuit']
    """
    if not isinstance(family, str) or family not in _members:
        raise UnknownName("family of components", family, FAMILIES)
    return MappingProxyType(_members[family])


def build(family: str, recipe: object) -> Component:
    """Build a component from its name, or a mapping of its name and parameters, or return it."""
    if isinstance(recipe, Component):
        if recipe.family != family:
            message = f"{family} is {recipe!r}, which is a {recipe.family}; expected a {family}"
            raise InvalidParameter(message, name=family, value=recipe)
        return recipe
    if isinstance(recipe, str):
        name, values = recipe, {}
    elif isinstance(recipe, Mapping) and isinstance(recipe.get("name"), str):
        values = dict(recipe)
        name = values.pop("name")
    else:
        message = (
            f"{family} is {shortened(recipe)}; expected a {family}, its name, or a mapping with "
            "`name`"
        )
        raise InvalidParameter(message, name=family, value=recipe)
    members = components(family)
    if name not in members:
        hint = (
            "(register a custom one with uaos.register first, or on the command line with "
            "--import FILE.py)"
        )
        raise UnknownName(family, name, members, hint=hint)
    known_only(values, parameters(members[name]), name)
    return members[name](**values)
