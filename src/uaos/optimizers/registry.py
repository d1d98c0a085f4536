"""The optimizers by name, and what makes a class one of them."""

import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from uaos.errors import InvalidComponent, NameClash, UnknownName
from uaos.optimizers.base import OF_EVERY_OPTIMIZER, Optimizer
from uaos.selection.components import Component
from uaos.selection.components import register as register_component

_optimizers: dict[str, type[Optimizer]] = {}

C = TypeVar("C", bound=type[Optimizer] | type[Component])


def register(cls: C) -> C:
    """Add a component or an optimizer under its `name`; usable as a decorator.

    From then on the name works wherever one is named: a component in :class:`uaos.Method`, an
    optimizer in :func:`uaos.minimize` and :func:`uaos.configuration`, both in files, on the command
    line (`uaos --import FILE.py …`) and in experiments. Registering the same definition again (a
    re-run notebook cell) replaces it; another class under a taken name is refused.

    Parameters
    ----------
    cls : type
        A subclass of one of the component bases (:class:`uaos.Metric`, :class:`uaos.WindowReward`,
        …) or of :class:`uaos.Optimizer`.

    Returns
    -------
    type
        The class itself.

    Raises
    ------
    InvalidComponent
        If the class lacks a name or a method.
    NameClash
        If another class has the name.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> import uaos
    >>> @uaos.register
    ... @dataclass(frozen=True)
    ... class Improvements(uaos.Metric):
    ...     def compute(self, parents, offspring, best_so_far):
    ...         return np.sqrt(np.maximum(parents - offspring, 0.0))
    >>> uaos.method("SaDE", metric="improvements").metric
    Improvements()
    """
    if not (inspect.isclass(cls) and issubclass(cls, Optimizer)):
        register_component(cls)
        return cls
    title = f"{cls.__name__} (optimizer)"
    name = getattr(cls, "name", None)
    if not isinstance(name, str) or not name:
        raise InvalidComponent(f'{title} lacks its name: set `name = "…"` in the class')
    if inspect.isabstract(cls):
        missing = ", ".join(sorted(cls.__abstractmethods__))
        raise InvalidComponent(f"{title} lacks {missing}")
    present = _optimizers.get(name)
    if present is not None and _identity(present) != _identity(cls):
        raise NameClash(
            f"the optimizer {name!r} exists already ({present.__module__}.{present.__qualname__}); "
            "give the class another `name`"
        )
    _optimizers[name] = cls
    return cls


def _identity(cls: type) -> tuple[str, str]:
    return cls.__module__, cls.__qualname__


def optimizers() -> Mapping[str, type[Optimizer]]:
    """The registered optimizers by name."""
    return MappingProxyType(_optimizers)


def optimizer(name: str) -> type[Optimizer]:
    """The optimizer called `name`."""
    if not isinstance(name, str) or name not in _optimizers:
        hint = "(a custom one: uaos.register it first)"
        raise UnknownName("optimizer", name, _optimizers, hint=hint)
    return _optimizers[name]


def settings_of(cls: type[Optimizer]) -> dict[str, Any]:
    """The settings of an optimizer with their defaults: the keywords that not every one has."""
    given = inspect.signature(cls.__init__).parameters.values()
    return {
        p.name: p.default
        for p in given
        if p.kind is p.KEYWORD_ONLY and p.name not in OF_EVERY_OPTIMIZER
    }
