"""The families and who is in them: the one list that Python, the command line and the docs read."""

import dataclasses
import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeVar, dataclass_transform

from uaos.errors import InvalidComponent, InvalidParameter, NameClash, UnknownName
from uaos.params import known_only, parameters
from uaos.selection.components.base import Component

#: In the order in which a method uses them.
FAMILIES = ("metric", "reward", "quality", "probability", "selection")

_members: dict[str, dict[str, type[Component]]] = {family: {} for family in FAMILIES}

C = TypeVar("C", bound=type[Component])


@dataclass_transform(frozen_default=True)
def register(component: C) -> C:
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
            "uaos.WindowReward, which says what it looks at"
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
    """Whether `compute` is defined below the family's base class, which only declares it."""
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


def build(family: str, what: Any) -> Component:
    """A component from its object, its name, or a mapping with its name and parameters."""
    if isinstance(what, Component):
        if what.family != family:
            raise InvalidParameter(family, what, f"a {family}, where this is a {what.family}")
        return what
    if isinstance(what, str):
        name, values = what, {}
    elif isinstance(what, Mapping) and isinstance(what.get("name"), str):
        values = dict(what)
        name = values.pop("name")
    else:
        raise InvalidParameter(
            family, what, f"a {family} object, its name, or a mapping with `name`"
        )
    known = components(family)
    if name not in known:
        raise UnknownName(
            family,
            name,
            known,
            hint="(register a custom one with uaos.register first; on the "
            "command line, --import FILE.py does)",
        )
    known_only(values, parameters(known[name]), name)
    return known[name](**values)
