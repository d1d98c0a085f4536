"""Operators: a strategy with a rule for F and a rule for CR.

Several settings of one strategy are several operators, so that the same selector that chooses among
strategies also chooses among "discrete parameters".
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from uaos.arrays import FloatArray, IntArray
from uaos.errors import InvalidParameter, NameClash, shortened
from uaos.optimizers.de.rules import RateRule, as_rule, rule_from_data, rule_to_data
from uaos.optimizers.de.strategies import POOLS, strategy
from uaos.optimizers.registry import MissingOperator
from uaos.params import known_only

if TYPE_CHECKING:
    from uaos.optimizers.de.view import PopulationView


@dataclass(frozen=True)
class Operator:
    """Strategy of differential evolution with its F and CR.

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
    F: float | RateRule | None = None
    CR: float | RateRule | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        strategy(self.strategy)
        for role in ("F", "CR"):
            value = getattr(self, role)
            if value is not None:
                object.__setattr__(self, role, as_rule(value, role, self.strategy))
        if self.name is not None and not (isinstance(self.name, str) and self.name):
            raise InvalidParameter(
                f"name of {self.strategy} is {shortened(self.name)}; expected a non-empty string",
                name="name", value=self.name,
            )  # fmt: skip

    @property
    def label(self) -> str:
        """Name, or the strategy with its own F and CR."""
        if isinstance(self.F, RateRule) and self.F is self.CR:
            own = [str(self.F)]
        else:
            own = [f"{role}={v}" for role, v in (("F", self.F), ("CR", self.CR)) if v is not None]
        return self.name or " ".join([self.strategy, *own])

    def to_dict(self, labels: Mapping[int, str]) -> dict[str, object]:
        """Return the operator as plain data; `labels` names the rules that it shares."""
        data: dict[str, object] = {"strategy": self.strategy}
        for role in ("F", "CR"):
            rule = getattr(self, role)
            if rule is not None:
                data[role] = rule_to_data(rule, labels)
        return data if self.name is None else data | {"name": self.name}


@runtime_checkable
class CustomOperator(Protocol):
    """Custom operator: any object with a `name` and a method `propose`.

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


#: A member of a pool.
PoolMember = Operator | CustomOperator


def paper_pool() -> tuple[Operator, ...]:
    """Return the pool `paper`: its nine strategies, all with the run's F and CR."""
    return tuple(Operator(name) for name in POOLS["paper"])


def product(
    strategies: Iterable[str],
    *,
    F: Sequence[float | RateRule | None] = (None,),
    CR: Sequence[float | RateRule | None] = (None,),
) -> tuple[Operator, ...]:
    """Return an operator for every combination of strategies, F and CR.

    The same adaptive rule object in `F` and in `CR` is one memory for all these operators.

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
    """Return the members of a pool of strategy names, operators and custom operators."""
    try:
        if isinstance(pool, str | bytes | Mapping):
            raise TypeError
        listed: tuple[object, ...] = tuple(pool)  # type: ignore[arg-type]
    except TypeError:  # an array without dimensions looks iterable, but is not
        raise InvalidParameter(
            f'operators is {shortened(pool)}; expected a list, such as ["rand/1", "best/1"]',
            name="operators", value=pool,
        ) from None  # fmt: skip
    members = tuple(_as_member(member) for member in listed)
    if not members:
        raise InvalidParameter(
            "operators is empty; expected at least one operator", name="operators", value=()
        )
    return members


def _as_member(member: object) -> PoolMember:
    if isinstance(member, str):
        return Operator(member)
    if isinstance(member, Operator):
        return member
    if not isinstance(member, CustomOperator) or isinstance(member, type):
        raise InvalidParameter(
            f"operators has {shortened(member)}; expected strategy names, uaos.Operator(...), or "
            "objects with a name and propose(state, parents, rng) -> offspring",
            name="operators", value=member,
        )  # fmt: skip
    if not (isinstance(member.name, str) and callable(member.propose)):
        raise InvalidParameter(
            f"name of {type(member).__name__} is {shortened(member.name)}; expected a string",
            name="name", value=member.name,
        )  # fmt: skip
    return member


def unique_names(pool: Sequence[PoolMember]) -> tuple[str, ...]:
    """Return a unique name for each operator; default names that coincide are numbered."""
    chosen = [m.name for m in pool if m.name]
    for name in chosen:
        if chosen.count(name) > 1:
            raise NameClash(f"two operators of the pool are named {name!r}; give each its own name")
    names: list[str] = []
    for member in pool:
        label = member.label if isinstance(member, Operator) else member.name
        candidate, number = label, 1
        while candidate in names or (candidate in chosen and candidate != member.name):
            number += 1
            candidate = f"{label} ({number})"
        names.append(candidate)
    return tuple(names)


def member_from_data(
    data: object, shared: dict[str, RateRule], custom: Mapping[str, CustomOperator]
) -> PoolMember:
    """Return an operator from plain data: the name of a strategy, or a mapping.

    `shared` collects the rules that have a label, `custom` has the custom operators by name.
    """
    if isinstance(data, str):
        return Operator(data)
    if isinstance(data, Mapping) and "own" in data:
        name = data["own"]
        if not isinstance(name, str) or name not in custom:
            hint = (
                "(the pool has it, but code is not saved: pass it in operators=, or register it in "
                "a file for --import)"
            )
            raise MissingOperator("custom operator", name, custom, hint=hint)
        return custom[name]
    if isinstance(data, Mapping):
        known_only(data, dict.fromkeys(("strategy", "F", "CR", "name")), "an operator")
    if not isinstance(data, Mapping) or "strategy" not in data:
        raise InvalidParameter(
            f"pool has {shortened(data)}; expected strategy names, and mappings with a `strategy`",
            name="pool", value=data,
        )  # fmt: skip
    rules: dict[str, Any] = {
        role: rule_from_data(data[role], shared) for role in ("F", "CR") if role in data
    }
    return Operator(data["strategy"], name=data.get("name"), **rules)


def least_population(members: Sequence[PoolMember]) -> tuple[int, str]:
    """Return the smallest NP that a pool can work with, and the strategy that needs it.

    It is at least 2, as x_pbest is one of at least two.
    """
    needs = [
        (strategy(m.strategy).least_population, m.strategy)
        for m in members
        if isinstance(m, Operator)
    ]
    return max([(2, ""), *needs], key=lambda need: need[0])


def check_population(NP: int, members: Sequence[PoolMember], name: str = "NP") -> None:
    """Raise :class:`InvalidParameter` if a strategy of the pool needs more parents."""
    least, neediest = least_population(members)
    if least > NP:
        raise InvalidParameter(
            f"{name} is {NP}; expected at least {least}, which {neediest} needs",
            name=name, value=NP,
        )  # fmt: skip
