"""Operators: a strategy with a rule for F and a rule for CR.

Several settings of one strategy are several operators, so that the same selector that chooses among
strategies also chooses among "discrete parameters".
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from uaos.arrays import FloatArray, IntArray
from uaos.errors import InvalidParameter, NameClash
from uaos.optimizers.base import MissingOperator
from uaos.optimizers.de.rules import Rule, as_rule, rule_from_data, rule_to_data
from uaos.optimizers.de.strategies import POOLS, strategy
from uaos.params import known_only

if TYPE_CHECKING:
    from uaos.optimizers.de.view import PopulationView


@dataclass(frozen=True)
class Operator:
    """A strategy of differential evolution with its settings.

    Parameters
    ----------
    strategy : str
        The strategy, such as "rand/1".
    F, CR : float or rule, optional
        Its scale of differences and crossover probability; None for those of the run.
    name : str, optional
        Its name in histories; by default made from strategy, F and CR.

    Raises
    ------
    InvalidParameter
        If a setting is out of range.

    Examples
    --------
    >>> import uaos
    >>> uaos.Operator("rand/1", F=0.5, CR=0.9).label
    'rand/1 F=0.5 CR=0.9'
    """

    strategy: str
    F: float | Rule | None = None
    CR: float | Rule | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        strategy(self.strategy)
        for role in ("F", "CR"):
            value = getattr(self, role)
            if value is not None:
                object.__setattr__(self, role, as_rule(value, role, self.strategy))
        if self.name is not None and not (isinstance(self.name, str) and self.name):
            raise InvalidParameter("name", self.name, "a non-empty text", owner=self.strategy)

    @property
    def label(self) -> str:
        """The name, or the strategy with the settings that are its own."""
        if isinstance(self.F, Rule) and self.F is self.CR:
            own = [str(self.F)]
        else:
            own = [f"{role}={v}" for role, v in (("F", self.F), ("CR", self.CR)) if v is not None]
        return self.name or " ".join([self.strategy, *own])

    def to_dict(self, labels: Mapping[int, str]) -> dict[str, Any]:
        """The operator as plain data; `labels` names the rules that it shares."""
        data: dict[str, Any] = {"strategy": self.strategy}
        for role in ("F", "CR"):
            rule = getattr(self, role)
            if rule is not None:
                data[role] = rule_to_data(rule, labels)
        return data if self.name is None else data | {"name": self.name}


@runtime_checkable
class CustomOperator(Protocol):
    """A user's own operator: any object with a `name` and a method `propose`.

    It may also have `learn(state, parents, offspring, fitness, improved)`, called with the outcome
    before the parents are replaced, and, if it remembers anything between generations, `state()`
    and `restore(state)` (plain values and arrays), so that a saved run continues exactly.

    Examples
    --------
    >>> import uaos
    >>> class Gaussian:
    ...     name = "gaussian"
    ...
    ...     def propose(self, state, parents, rng):
    ...         return state.population[parents] + rng.normal(size=(len(parents), len(state.low)))
    >>> run = uaos.DifferentialEvolution([(-5, 5)] * 3, operators=["rand/1", Gaussian()])
    >>> run.operators
    ('rand/1', 'gaussian')
    """

    name: str

    def propose(
        self, state: "PopulationView", parents: IntArray, rng: np.random.Generator
    ) -> FloatArray:
        """Return an offspring for each of `parents`, indices into the population: (n, D)."""


#: What a pool is made of.
PoolMember = Operator | CustomOperator


def paper_pool() -> tuple[Operator, ...]:
    """Return the pool `paper`: its nine strategies, all with the run's F and CR."""
    return tuple(Operator(name) for name in POOLS["paper"])


def product(
    strategies: Iterable[str],
    *,
    F: Sequence[float | Rule | None] = (None,),
    CR: Sequence[float | Rule | None] = (None,),
) -> tuple[Operator, ...]:
    """Every combination of the given strategies, F and CR as an operator.

    An adaptive rule given once in `F` and in `CR` is one memory shared by all that name it.

    Parameters
    ----------
    strategies : iterable of str
        The strategies.
    F, CR : sequence of float or rule
        The values to combine; None for that of the run.

    Returns
    -------
    tuple of Operator
        For `operators` of :class:`uaos.DifferentialEvolution`.

    Examples
    --------
    >>> import uaos
    >>> len(uaos.product(["rand/1", "best/1"], F=[0.5, 0.9]))
    4
    """
    return tuple(Operator(s, f, c) for s in strategies for f in F for c in CR)


def as_members(pool: object) -> tuple[PoolMember, ...]:
    """Check a pool: names of strategies, operators, and custom operators."""
    if isinstance(pool, str | bytes | Mapping) or not isinstance(pool, Iterable):
        raise InvalidParameter(
            "operators", pool, 'a list of operators or strategy names, such as ["rand/1"]'
        )
    members: list[PoolMember] = []
    for one in pool:
        if isinstance(one, str):
            members.append(Operator(one))
        elif isinstance(one, Operator):
            members.append(one)
        elif isinstance(one, CustomOperator) and not isinstance(one, type):
            if not (isinstance(one.name, str) and callable(one.propose)):
                raise InvalidParameter("name", one.name, "a text", owner=type(one).__name__)
            members.append(one)
        else:
            raise InvalidParameter(
                "operators", one, "strategy names, uaos.Operator(...), or objects with a name "
                "and propose(state, parents, rng) -> offspring",
            )  # fmt: skip
    if not members:
        raise InvalidParameter("operators", (), "at least one operator")
    return tuple(members)


def unique_names(pool: Sequence[PoolMember]) -> tuple[str, ...]:
    """A name for each operator; those that nobody named are numbered where they coincide."""
    given = [m.name for m in pool if m.name]
    for name in given:
        if given.count(name) > 1:
            raise NameClash(f"two operators of the pool are named {name!r}; give each its own name")
    names: list[str] = []
    for member in pool:
        label = member.label if isinstance(member, Operator) else member.name
        candidate, number = label, 1
        while candidate in names or (candidate in given and candidate != member.name):
            number += 1
            candidate = f"{label} ({number})"
        names.append(candidate)
    return tuple(names)


def member_from_data(
    data: object, shared: dict[str, Rule], own: Mapping[str, CustomOperator]
) -> PoolMember:
    """An operator from plain data: a strategy's name or a table; `own` holds users' operators."""
    if isinstance(data, str):
        return Operator(data)
    if not isinstance(data, Mapping):
        raise InvalidParameter("pool", data, "strategy names and tables with a `strategy`")
    if "own" in data:
        name = data["own"]
        if not isinstance(name, str) or name not in own:
            hint = (
                "(the pool has it, but code is not saved: pass it in operators=, or register it in "
                "a file for --import)"
            )
            raise MissingOperator("custom operator", name, own, hint=hint)
        return own[name]
    known_only(data, dict.fromkeys(("strategy", "F", "CR", "name")), "an operator")
    if "strategy" not in data:
        raise InvalidParameter("pool", dict(data), "tables with a `strategy`")
    rules: dict[str, Any] = {
        role: rule_from_data(data[role], shared) for role in ("F", "CR") if role in data
    }
    return Operator(data["strategy"], name=data.get("name"), **rules)


def least_population(members: Sequence[PoolMember]) -> tuple[int, str]:
    """The smallest NP that every operator of a pool can work with, and the strategy that needs it.

    Never below 2, as x_pbest is one of at least two.
    """
    needs = [
        (strategy(m.strategy).least_population, m.strategy)
        for m in members
        if isinstance(m, Operator)
    ]
    return max([(2, ""), *needs], key=lambda need: need[0])


def check_population(NP: int, members: Sequence[PoolMember], name: str = "NP") -> None:
    """Raise :class:`InvalidParameter` if a strategy of the pool cannot work with so few parents."""
    least, neediest = least_population(members)
    if least > NP:
        raise InvalidParameter(name, NP, f"at least {least}, which {neediest} needs")
