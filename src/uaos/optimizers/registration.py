"""Registration of components, optimizers and operators under their names."""

import inspect
from typing import TypeVar

from uaos.errors import InvalidComponent
from uaos.optimizers import registry
from uaos.optimizers.base import Optimizer
from uaos.selection.components import register_component

C = TypeVar("C", bound=type)


def register(cls: C) -> C:
    """Add a component, an optimizer or an operator under its `name`; usable as a decorator.

    The name can then be used in :class:`uaos.Method` (a component), in :func:`uaos.minimize` and
    :func:`uaos.configuration` (an optimizer), or as ``{own = "name"}`` in the pool of a file (an
    operator); and on the command line (`uaos --import FILE.py …`) and in experiments. Registering
    the same definition again, as a notebook cell does, replaces it; another class under the same
    name is refused.

    Parameters
    ----------
    cls : type
        A subclass of one of the component bases (:class:`uaos.Metric`, :class:`uaos.WindowReward`,
        …) or of :class:`uaos.Optimizer`; or a class with a `name` and a method `propose`, an
        operator of differential evolution, which is created without arguments.

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
    name = getattr(cls, "name", None)
    if not (inspect.isclass(cls) and issubclass(cls, Optimizer)):
        if inspect.isclass(cls) and isinstance(name, str) and hasattr(cls, "propose"):
            registry.add("operator", cls, name)
        else:
            register_component(cls)
        return cls
    title = f"{cls.__name__} (optimizer)"
    if not isinstance(name, str) or not name:
        raise InvalidComponent(f'{title} lacks its name: set `name = "…"` in the class')
    if inspect.isabstract(cls):
        missing = ", ".join(sorted(cls.__abstractmethods__))
        raise InvalidComponent(f"{title} lacks {missing}")
    own = inspect.signature(cls.__init__).parameters.values()
    common = inspect.signature(Optimizer.__init__).parameters
    undeclared = [p.name for p in own if p.kind is p.KEYWORD_ONLY and p.name not in common]
    if undeclared:
        raise InvalidComponent(
            f"{title}: its constructor takes {', '.join(undeclared)}; declare settings as fields "
            "of a uaos.OptimizerSettings, and name that class by `settings_class = …`"
        )
    registry.add("optimizer", cls, name)
    return cls
