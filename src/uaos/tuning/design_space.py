"""The design space of adaptive operator selection: what a tuner may choose, and what it then runs.

The variables are read off the declarations on the components and on the settings of differential
evolution; there is no second list. A component that a user registers is in the space at once. The
presets `paper`, `extended` (the default) and `wide` are described in docs/tune.md. A user narrows a
space by limits (:mod:`uaos.tuning.limits`).
"""

import dataclasses
import functools
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from uaos.errors import InvalidParameter, UaosError, UnknownName
from uaos.optimizers.catalogue import configuration, methods
from uaos.optimizers.configuration import Configuration
from uaos.optimizers.de.operators import Operator, paper_pool
from uaos.optimizers.de.rules import Cauchy, Constant, Jade, Normal, Rule, SuccessHistory
from uaos.optimizers.de.settings import Linear, Settings, Stagnation
from uaos.optimizers.de.strategies import STRATEGIES
from uaos.optimizers.portfolio import Member, PortfolioSettings, continuing, leader_method
from uaos.optimizers.settings import OptimizerSettings
from uaos.params import Choice, Integer, Real, Value, parameters
from uaos.selection.components import FAMILIES, components
from uaos.selection.method import SCOPES, Method
from uaos.tuning.space import (
    Clause,
    Condition,
    Forbidden,
    Space,
    Values,
    Variable,
    plain,
    searched,
)

PRESETS = ("paper", "extended", "wide")
DEFAULT_PRESET = "extended"

# Where the paper prints another range than the component declares. Of p_min, [0, 1] there, what is
# not below 1/K cannot be used.
_PRINTED: dict[tuple[str, str], dict[str, Any]] = {
    ("reward", "fix_appl"): {"high": 50},
    ("quality", "C"): {"low": 0.0, "high": 1.0, "log": False},
    ("quality", "q_min"): {"low": 0.01},
}

#: What is searched of differential evolution in every preset: the declared ranges.
SETTINGS = tuple(name for name, p in parameters(Settings).items() if p.tuned)

#: The configurations that a race starts from unless told otherwise: those tuned in the paper.
INITIAL = tuple(
    name for name, c in methods().items() if c.kind == "tuned" and "U-AOS-FW" not in name
)

_POOL, _SCALE, _SCOPE = "pool", "scale_rewards", "scope"
_RULES = {"F_rule": ("constant", "cauchy", "jade", "success_history"),
          "CR_rule": ("constant", "normal", "jade", "success_history")}  # fmt: skip
_POLICIES = ("best_rule", "archive", "boundary")


@dataclass(frozen=True)
class Design:
    """A search space whose candidates are configurations. Made by :func:`design`.

    Attributes
    ----------
    space : Space
        What is searched.
    base : Configuration
        What is not.
    slots : mapping
        Which variable a component's parameter is.
    dimension : int
        Of the problems, for population sizes.
    constants : mapping
        Parameters that are not searched.
    options : mapping
        What shaped the space: preset or method, pool, fixed values and ranges.
    """

    space: Space
    base: Configuration
    slots: Mapping[tuple[str, str, str], str]
    dimension: int
    constants: Mapping[str, Value] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def method(self) -> Method:
        """The method of the base."""
        assert self.base.method is not None
        return self.base.method

    # From values to a configuration

    def configuration(self, values: Values, name: str = "candidate") -> Configuration:
        """What a candidate runs."""
        settings = self._settings(values)
        scaled = bool(values.get(_SCALE, self.method.scale_rewards))
        recipe: dict[str, Any] = {_SCALE: scaled, _SCOPE: values.get(_SCOPE, self.method.scope)}
        for family in FAMILIES:
            chosen = str(values[family])
            recipe[family] = {"name": chosen}
            for parameter, declared in parameters(components(family)[chosen]).items():
                if (family, chosen, parameter) in self.slots:
                    recipe[family][parameter] = values[self.slots[family, chosen, parameter]]
                elif not declared.tuned and parameter in self.constants:
                    recipe[family][parameter] = self.constants[parameter]
        method = Method(**recipe)
        made = Configuration(name, method, settings, optimizer=self.base.optimizer)
        method.for_operators(made.settings.alternatives)  # raises if they cannot serve so many
        return made

    def works(self, values: Values) -> bool:
        """Whether a candidate can run; for what no rule of the space says."""
        try:
            self.configuration(values)
        except UaosError:
            return False
        return True

    def _settings(self, values: Values) -> OptimizerSettings:
        changes: dict[str, Any] = {
            name: values[name] for name in (*SETTINGS, *_POLICIES) if name in values
        }
        if _POOL in values:
            changes[_POOL] = pools()[str(values[_POOL])]
        memories: dict[str, Rule] = {}
        for role in ("F", "CR"):
            if f"{role}_rule" in values:
                changes[role] = _rule(role, values, memories)
        if "schedule" in values:
            shrinks = values["schedule"] == Linear.rule
            changes["schedule"] = Linear(int(values["NP_end"])) if shrinks else None
        if "restart" in values:
            restart = values["restart"] == "stagnation"
            changes["restart"] = Stagnation(int(values["patience"])) if restart else None
        settings: OptimizerSettings = dataclasses.replace(self.base.settings, **changes)
        return settings

    # And back

    def values(self, of: Configuration) -> dict[str, Value]:
        """The candidate that a configuration is; an error if the space does not have it."""
        given = self._given(of)
        return self.space.check({k: v for k, v in given.items() if k in self.space.names}, of.name)

    def _given(self, of: Configuration) -> dict[str, Value]:
        """The values of a configuration, whether the space has them or not."""
        if of.method is None:
            raise InvalidParameter(
                "initial configuration", of.name, "one that selects among several operators"
            )
        given: dict[str, Value] = {
            _SCALE: int(of.method.scale_rewards), _SCOPE: of.method.scope,
        }  # fmt: skip
        method = of.method.for_operators(of.settings.alternatives)
        for family in FAMILIES:
            component = getattr(method, family)
            given[family] = component.name
            for parameter in parameters(component):
                slot = self.slots.get((family, component.name, parameter))
                if slot is not None:
                    given[slot] = getattr(component, parameter)
        settings = of.settings
        return given | (self._setting_values(settings) if isinstance(settings, Settings) else {})

    def differences(self, of: Configuration) -> list[str]:
        """What a configuration has that the space holds at other values, as "name: a, here b"."""
        here = self.configuration(self.values(of)).to_dict()
        there = of.to_dict()
        if of.method is not None:
            there["method"] = of.method.for_operators(of.settings.alternatives).to_dict()
        return [
            f"{name}: {there[part].get(name)!r}, here {value!r}"
            for part in ("method", "de", "optimizer")
            for name, value in here.get(part, {}).items()
            if there.get(part, {}).get(name) != value
        ]

    def _setting_values(self, settings: Settings) -> dict[str, Value]:
        given: dict[str, Value] = {name: getattr(settings, name) for name in _POLICIES}
        given["NP"] = settings.population_size(self.dimension, None)
        given["top_NP"] = settings.top
        for role in ("F", "CR"):
            rule = getattr(settings, role)
            given[f"{role}_rule"] = rule.rule
            if isinstance(rule, SuccessHistory):
                given["H"] = rule.H
            elif not isinstance(rule, Jade):
                given[role] = rule.value if isinstance(rule, Constant) else getattr(rule, "loc", 0)
        given |= {"schedule": "constant", "restart": "none"}
        if isinstance(settings.schedule, Linear):
            end = settings.schedule.end(self.dimension, settings.members)
            given |= {"schedule": settings.schedule.rule, "NP_end": end}
        if isinstance(settings.restart, Stagnation):
            given |= {"restart": "stagnation", "patience": settings.restart.patience}
        if _POOL in self.space.names:
            same = (name for name, pool in pools().items() if is_pool(settings.members, pool))
            given[_POOL] = next(same, "another")
        return given


def design(
    preset: str = DEFAULT_PRESET,
    *,
    dimension: int = 20,
    pool: str | Sequence[str] | None = None,
) -> Design:
    """The design space of a preset.

    Parameters
    ----------
    preset : {"extended", "paper", "wide"}
        How much is searched.
    dimension : int
        The dimension at which population sizes such as "10D" are read; that of the problems, or the
        largest one.
    pool : str or sequence of str, optional
        The operators to select from: "nine", "nine-by-CR", "mix", or names of strategies.

    Returns
    -------
    Design

    Raises
    ------
    UnknownName
        If there is no such preset.

    Examples
    --------
    >>> from uaos.tuning import design
    >>> design("paper").space["fix_appl"].domain.range
    '10 to 50'
    """
    if preset not in PRESETS:
        raise UnknownName("search space", preset, PRESETS)
    # The settings of the authors' experiments stand on their tuned configurations.
    authors = preset != "wide"
    tuned = configuration("U-AOS-FW")
    base = tuned if authors else Configuration("base", Method(), Settings())
    constants: dict[str, Value] = {"ties": "first"} if authors else {}
    options: dict[str, Any] = {"space": preset}
    if pool is not None:
        base = dataclasses.replace(
            base, settings=dataclasses.replace(base.settings, pool=pool_called(pool))
        )
        options["pool"] = pool if isinstance(pool, str) else ",".join(pool)
    given = [r for r in ("F", "CR") if not is_open(base.settings.pool, r)]
    extra: list[Variable] = []
    if preset == "wide":
        extra = _wide(given, free_pool=pool is None)
    names = [name for name in SETTINGS if name not in given]
    numbers = _settings_variables(names, [v.name for v in extra])
    return _made(base, [*extra, *numbers], constants, dimension, options, preset=preset)


def design_for(
    name: str | os.PathLike[str], free: Iterable[str] = (), *, dimension: int = 20
) -> Design:
    """The space of one method: its own hyper-parameters are free, its components stay.

    A range that does not have the method's own value is extended to it.

    Parameters
    ----------
    name : str or path
        A method of the catalogue, or a configuration file.
    free : iterable of str
        Settings of differential evolution that are free, too: F, CR, NP, top_NP.
    dimension : int
        As for :func:`design`.

    Returns
    -------
    Design

    Raises
    ------
    InvalidParameter
        If the method does not select, or the pool gives its operators their own F or CR.
    UnknownName
        If there is no such method or setting.

    Examples
    --------
    >>> from uaos.tuning import design_for
    >>> [variable.name for variable in design_for("RecPM", ["F"]).space]
    ['F', ...]
    """
    base = configuration(name)
    if base.method is None:
        raise InvalidParameter(
            "method", name, "one that selects among operators of differential evolution, such as "
            "SaDE or mix; to compare others, use uaos bench",
        )  # fmt: skip
    wanted = tuple(free)
    for one in wanted:
        if one not in SETTINGS:
            raise UnknownName("setting to free", one, SETTINGS)
        if one in ("F", "CR") and not is_open(base.settings.pool, one):
            raise InvalidParameter("setting to free", one, "NP and top_NP, as the pool gives it")
    chosen = {family: getattr(base.method, family) for family in FAMILIES}
    constants = {
        k: getattr(one, k) for one in chosen.values()
        for k, p in parameters(one).items() if not p.tuned
    }  # fmt: skip
    options = {"method": os.fspath(name)} | ({"free": list(wanted)} if wanted else {})
    made = _made(base, _settings_variables(wanted, ()), constants, dimension, options)
    space = made.space
    for family, component in chosen.items():
        space = space.fix(family, component.name)
    for slot, value in made._given(base).items():
        domain = space[slot].domain if slot in space.names else None
        if isinstance(domain, Real | Integer) and not domain.low <= float(value) <= domain.high:
            ends = min(domain.low, float(value)), max(domain.high, float(value))
            space = space.limit(slot, *ends)
    return dataclasses.replace(made, space=space)


def portfolio_design(members: Sequence[Member], *, dimension: int = 20) -> Design:
    """The space of the methods that can choose among the members of a portfolio.

    Parameters
    ----------
    members : sequence of Member
        Two or more of them without ``once``.
    dimension : int
        As for :func:`design`.

    Returns
    -------
    Design

    Raises
    ------
    InvalidParameter
        If fewer than two members run on.

    Examples
    --------
    >>> import uaos
    >>> from uaos.tuning import portfolio_design
    >>> members = [uaos.Member("CMA-ES"), uaos.Member("mix")]
    >>> portfolio_design(members).base.optimizer
    'portfolio'
    """
    count = len(continuing(members))
    if count < 2:
        raise InvalidParameter(
            "members", [m.name for m in members], "two or more that do not run once"
        )
    settings = PortfolioSettings(members)
    base = Configuration("portfolio", leader_method(count), settings, optimizer="portfolio")
    return _made(base, (), {}, dimension, {"members": [m.name for m in members]})


def _made(
    base: Configuration, settings: Sequence[Variable], constants: Mapping[str, Value],
    dimension: int, options: Mapping[str, Any], *, preset: str = "wide",
) -> Design:  # fmt: skip
    """The design of the components of a preset."""
    chosen, choices = [], {}
    for family in FAMILIES:
        used = getattr(base.method, family).name
        members = tuple(
            n for n, cls in _components(family, preset).items() if cls.searched or n == used
        )
        chosen.append(Variable(family, Choice(default=members[0], choices=members)))
        choices[family] = members
    slots, hyper = _hyper_parameters(preset, choices)
    sizes = {"": base.settings.alternatives}
    if any(v.name == _POOL for v in settings):
        sizes = {name: len(pool) for name, pool in pools().items()}
    rules: list[Forbidden] = []
    bounded = []
    for variable in hyper:
        if isinstance(variable.domain, Real) and variable.domain.bound:
            variable, more = _below_share(variable, sizes)
            rules += more
        bounded.append(variable)
    names = {v.name for v in bounded}
    if {"p_min", "p_max"} <= names:
        rules.append(Forbidden(
            (Clause("p_max", "<", "p_min", variable=True),), "p_max must be at least p_min"
        ))  # fmt: skip
    if any(v.name == "F_rule" for v in settings):
        rules.append(Forbidden(
            (Clause("F_rule", "==", "cauchy"), Clause("F", ">", 1.0)),
            "what the rule draws is cut at 1",
        ))  # fmt: skip
    space = Space((*settings, *chosen, *bounded), tuple(rules))
    return Design(space, base, slots, dimension, dict(constants), options)


def _components(family: str, preset: str) -> dict[str, Any]:
    """The components of a preset: those of the paper, also those of users, or all."""
    return {
        name: cls for name, cls in components(family).items()
        if preset == "wide" or (cls.printed and cls.__module__.startswith("uaos."))
        or (preset != "paper" and not cls.__module__.startswith("uaos."))
    }  # fmt: skip


def _hyper_parameters(
    preset: str, choices: Mapping[str, Sequence[str]]
) -> tuple[dict[tuple[str, str, str], str], list[Variable]]:
    """A variable for each tuned parameter; components that declare it alike share it."""
    found: dict[tuple[str, str], dict[str, tuple[Real | Integer | Choice, list[str]]]] = {}
    for family in FAMILIES:
        for component, cls in _components(family, preset).items():
            for name, parameter in parameters(cls).items():
                if parameter.tuned:
                    domain = searched(parameter)
                    if preset == "paper" and not isinstance(domain, Choice):
                        domain = dataclasses.replace(domain, **_PRINTED.get((family, name), {}))
                    alike = found.setdefault((family, name), {})
                    alike.setdefault(str(plain(domain)), (domain, []))[1].append(component)
    # A name that several families have, or that the wide preset has, says its family.
    families = [name for _, name in found]
    taken = {*FAMILIES, *SETTINGS, *(v.name for v in _wide((), free_pool=True))}
    slots: dict[tuple[str, str, str], str] = {}
    variables = []
    for (family, name), groups in found.items():
        own = families.count(name) == 1 and name not in taken
        usual = name if own else f"{family}_{name}"
        for number, (domain, members) in enumerate(groups.values()):
            called = usual if number == 0 else f"{members[0]}_{name}"
            for component in members:
                slots[family, component, name] = called
            active = tuple(member for member in members if member in choices[family])
            if active:
                variables.append(Variable(called, domain, (Condition(family, active),)))
    return slots, variables


def _below_share(variable: Variable, sizes: Mapping[str, int]) -> tuple[Variable, list[Forbidden]]:
    """A parameter below 1/K, in the declared decimals; where K varies, the rest is forbidden."""
    domain = variable.domain
    assert isinstance(domain, Real)
    unit = 10**domain.digits
    largest = {name: ((unit - 1) // K) / unit for name, K in sizes.items()}
    high = max(largest.values())
    rules = [
        Forbidden(
            (Clause(_POOL, "==", name), Clause(variable.name, ">", limit)),
            f"K p_min must be below 1, and K is {sizes[name]}",
        )
        for name, limit in largest.items()
        if limit < high
    ]
    return dataclasses.replace(
        variable, domain=dataclasses.replace(domain, high=high, bound="")
    ), rules


def _settings_variables(names: Iterable[str], with_rules: Sequence[str]) -> list[Variable]:
    made = []
    for name in names:
        when: tuple[Condition, ...] = ()
        if f"{name}_rule" in with_rules:
            when = (Condition(f"{name}_rule", _RULES[f"{name}_rule"][:2]),)
        made.append(Variable(name, searched(parameters(Settings)[name]), when))
    return made


def _wide(given: Sequence[str], *, free_pool: bool) -> list[Variable]:
    """What the wide preset adds; F and CR exist where neither pool nor rule gives them."""

    def choose(name: str, values: Sequence[Value], *when: Condition) -> Variable:
        return Variable(name, Choice(default=values[0], choices=tuple(values)), when)

    added = [choose(_POOL, tuple(pools()))] if free_pool else []
    learned: list[Condition] = []
    for role in (r for r in ("F", "CR") if r not in given):
        left = tuple(name for name, pool in pools().items() if is_open(pool, role))
        when = [Condition(_POOL, left)] if free_pool else []
        added.append(choose(f"{role}_rule", _RULES[f"{role}_rule"], *when))
        learned.append(Condition(f"{role}_rule", ("success_history",)))
    if learned:
        added.append(Variable("H", searched(parameters(SuccessHistory)["H"]), tuple(learned)))
    for name in _POLICIES:
        added.append(Variable(name, searched(parameters(Settings)[name])))
    added.append(choose("schedule", ("constant", Linear.rule)))
    # A strategy that takes five others needs six parents.
    ends = Integer(default=6, low=6, high=40, hard_low=6, hard_high=50, doc="NP at the end")
    added.append(Variable("NP_end", ends, (Condition("schedule", (Linear.rule,)),)))
    added.append(choose("restart", ("none", "stagnation")))
    patience = searched(parameters(Stagnation)["patience"])
    added.append(Variable("patience", patience, (Condition("restart", ("stagnation",)),)))
    added += [choose(_SCALE, (1, 0)), choose(_SCOPE, SCOPES[:2])]  # here a step is a generation
    return added


def _rule(role: str, values: Values, memories: dict[str, Rule]) -> Rule | float:
    kind = values[f"{role}_rule"]
    if kind == "constant":
        return float(values[role])
    if kind == "cauchy":
        return Cauchy(float(values[role]), 0.1)
    if kind == "normal":
        return Normal(float(values[role]), 0.1)
    # One object for both roles: F and CR are drawn from the same pair.
    fresh = Jade() if kind == "jade" else SuccessHistory(int(values["H"]))
    return memories.setdefault(str(kind), fresh)


# Pools of operators

# Crossover probabilities of the pool that has every strategy with each of them.
_CROSSOVERS = (0.1, 0.5, 0.9)


@functools.cache
def pools() -> Mapping[str, tuple[Operator, ...]]:
    """The pools by name."""
    nine = paper_pool()
    crossed = tuple(
        Operator(one.strategy, None, CR, f"{one.strategy}, CR {CR:g}")
        for one in nine for CR in _CROSSOVERS
    )  # fmt: skip
    mixed = configuration("mix").settings.members
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
