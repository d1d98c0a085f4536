"""The pools of operators that a design may select from."""

import functools
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from uaos.errors import InvalidParameter, UnknownName
from uaos.optimizers.catalogue import configuration
from uaos.optimizers.de.operators import Operator
from uaos.optimizers.de.strategies import STRATEGIES

# Crossover probabilities of the pool that has every strategy with each of them.
_CROSSOVERS = (0.1, 0.5, 0.9)


@functools.cache
def pools() -> Mapping[str, tuple[Operator, ...]]:
    """The pools by name."""
    nine = tuple(Operator(name) for name in STRATEGIES)
    crossed = tuple(
        Operator(name, None, CR, f"{name}, CR {CR:g}") for name in STRATEGIES for CR in _CROSSOVERS
    )
    mixed = tuple(m for m in configuration("mix").settings.members if isinstance(m, Operator))
    return MappingProxyType({"nine": nine, "nine-by-CR": crossed, "mix": mixed})


def pool_called(wanted: str | Sequence[str]) -> tuple[Operator, ...]:
    """The pool of a name, or of strategies: a list, or a text with commas."""
    known = pools()
    if isinstance(wanted, str) and wanted in known:
        return known[wanted]
    names = [n.strip() for n in wanted.split(",")] if isinstance(wanted, str) else list(wanted)
    for name in names:
        if name not in STRATEGIES:
            raise UnknownName("pool or strategy", name, (*known, *STRATEGIES))
    if len(set(names)) < max(2, len(names)):
        raise InvalidParameter("pool", names, "two strategies or more, each once")
    return tuple(Operator(name) for name in names)


def is_open(pool: Iterable[Any] | None, role: str) -> bool:
    """Whether a pool (None: the nine strategies) leaves F or CR to the run's settings."""
    return pool is None or any(isinstance(m, Operator) and getattr(m, role) is None for m in pool)


def is_pool(members: Sequence[Any], pool: Sequence[Operator]) -> bool:
    """Whether members are a pool's, whatever F and CR fill the gaps it leaves."""
    return len(pool) == len(members) and all(
        isinstance(m, Operator) and m.strategy == p.strategy
        and p.F in (None, m.F) and p.CR in (None, m.CR)
        for p, m in zip(pool, members, strict=True)
    )  # fmt: skip
