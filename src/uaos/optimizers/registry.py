"""Optimizers and custom operators by name. :func:`uaos.register` adds them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from uaos.errors import NameClash, UnknownName

if TYPE_CHECKING:
    from uaos.optimizers.base import Optimizer

_optimizers: dict[str, type["Optimizer"]] = {}
_operators: dict[str, type] = {}


def add(kind: Literal["optimizer", "operator"], cls: type, name: str) -> None:
    """Add an optimizer or a custom operator; the same definition replaces an earlier one."""
    registry: dict[str, Any] = _optimizers if kind == "optimizer" else _operators
    present = registry.get(name)
    if present is not None and _identity(present) != _identity(cls):
        raise NameClash(
            f"the {kind} {name!r} already exists ({present.__module__}.{present.__qualname__}); "
            "give the class another `name`"
        )
    registry[name] = cls


def _identity(cls: type) -> tuple[str, str]:
    return cls.__module__, cls.__qualname__


def optimizer_classes() -> Mapping[str, type["Optimizer"]]:
    """Return the registered optimizers by name."""
    return MappingProxyType(_optimizers)


def custom_operators() -> dict[str, object]:
    """Return a new operator of each registered class, by name."""
    return {name: cls() for name, cls in _operators.items()}


def optimizer_class(name: object) -> type["Optimizer"]:
    """Return the optimizer called `name`."""
    if not isinstance(name, str) or name not in _optimizers:
        hint = "(a custom one: uaos.register it first)"
        raise UnknownName("optimizer", name, _optimizers, hint=hint)
    return _optimizers[name]


class MissingOperator(UnknownName):
    """Error: a saved run or a file needs a custom operator that was not passed."""
