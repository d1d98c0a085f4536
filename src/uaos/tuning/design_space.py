"""The design space of adaptive operator selection: its variables, and the configurations they give.

The variables are read from the declarations of the components and of the settings of differential
evolution; there is no second list. A component that a user registers joins the space. The presets
`paper`, `extended` (the default) and `wide` are described in docs/tune.md. A user narrows a space
by limits (:mod:`uaos.tuning.limits`).
"""

import dataclasses
import functools
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from uaos.errors import InvalidParameter, UaosError, UnknownName
from uaos.optimizers.base.settings import OptimizerSettings
from uaos.optimizers.catalogue import configuration
from uaos.optimizers.configuration import Configuration
from uaos.optimizers.de.operators import Operator, paper_pool
from uaos.optimizers.de.rules import Cauchy, Constant, Jade, Normal, RateRule, SuccessHistory
from uaos.optimizers.de.settings import DifferentialEvolutionSettings, Linear, Stagnation
from uaos.optimizers.de.strategies import STRATEGIES
from uaos.optimizers.portfolio import Member, PortfolioSettings, continuing, leader_method
from uaos.params import (
    Categorical,
    Integer,
    IntegerSetting,
    Real,
    RealSetting,
    Value,
    parameters,
)
from uaos.problems.problem import Problem
from uaos.problems.variables import Clause, Condition, Forbidden, Space, Values, Variable
from uaos.selection.components import FAMILIES, components
from uaos.selection.components.base import Component
from uaos.selection.method import SCOPES, Method
from uaos.text import count
from uaos.tuning.records import DesignOptions
from uaos.tuning.sampling import plain, searched

PRESETS = ("paper", "extended", "wide")
DEFAULT_PRESET = "extended"

# Ranges in the paper that differ from those that the components declare. The paper's [0, 1] for
# p_min is cut at 1/K, as larger values cannot be used.
_PRINTED: dict[tuple[str, str], dict[str, Any]] = {
    ("reward", "fix_appl"): {"high": 50},
    ("quality", "C"): {"low": 0.0, "high": 1.0, "log": False},
    ("quality", "q_min"): {"low": 0.01},
}

#: Settings of differential evolution that every preset searches, in their declared ranges.
SETTINGS = tuple(name for name, p in parameters(DifferentialEvolutionSettings).items() if p.tuned)

#: Configurations that a race starts from by default: those tuned in the paper.
INITIAL = ("RecPM-tuned", "PM-AdapSS-tuned", "F-AUC-MAB-tuned", "Compass-tuned")

_POOL, _SCALE, _SCOPE = "pool", "scale_rewards", "scope"
_RULES = {"F_rule": ("constant", "cauchy", "jade", "success_history"),
          "CR_rule": ("constant", "normal", "jade", "success_history")}  # fmt: skip
_BOUNDARY = "boundary"
_POLICIES = ("best_rule", "archive", _BOUNDARY)
# Stands for a family in the slots of an optimizer's settings.
_SETTINGS = "settings"


@dataclass(frozen=True)
class Design:
    """A search space whose candidates are configurations. Made by :func:`design`.

    Attributes
    ----------
    space : Space
        The search space.
    base : Configuration
        Supplies what is not searched.
    slots : mapping
        The variable of each parameter of a component, and of each setting of the optimizer.
    dimension : int
        Dimension of the problems, for population sizes.
    constants : mapping
        Parameters that are not searched.
    options : mapping
        The choices that shaped the space: preset or method, pool, fixed values and ranges.
    """

    space: Space
    base: Configuration
    slots: Mapping[tuple[str, str, str], str]
    dimension: int
    constants: Mapping[str, Value] = field(default_factory=dict)
    options: DesignOptions = field(default_factory=DesignOptions)

    def __repr__(self) -> str:
        parameters = f"{self.space.free} free of {count(len(self.space), 'parameter')}"
        return f"<Design of {self.base.optimizer}: {parameters}>"

    @property
    def components(self) -> list[type[Component]]:
        """Components that a candidate may have."""
        families = [family for family in FAMILIES if family in self.space.names]
        return [
            components(family)[name]
            for family in families
            for name in getattr(self.space[family].domain, "choices", ())
        ]

    def suited_to(self, problems: Iterable[Problem]) -> "Design":
        """Return the design for these problems: no candidate leaves bounds that must be kept.

        Parameters
        ----------
        problems : iterable of Problem
            The problems to train on.
        """
        if all(problem.outside_allowed for problem in problems):
            return self
        base = dataclasses.replace(self.base, settings=self.base.settings.kept_inside())
        space = self.space
        if _BOUNDARY in space.names:
            rules = getattr(space[_BOUNDARY].domain, "choices", ())
            space = space.only(_BOUNDARY, [rule for rule in rules if rule != "none"])
        return dataclasses.replace(self, base=base, space=space)

    # From values to a configuration

    def configuration(self, values: Values, name: str = "candidate") -> Configuration:
        """Return the configuration of a candidate."""
        settings, base = self._settings(values), self.base.method
        if base is None:
            return Configuration(name, None, settings, optimizer=self.base.optimizer)
        scaled = bool(values.get(_SCALE, base.scale_rewards))
        recipe: dict[str, Any] = {_SCALE: scaled, _SCOPE: values.get(_SCOPE, base.scope)}
        for family in FAMILIES:
            chosen = str(values[family])
            recipe[family] = {"name": chosen}
            for parameter, declared in parameters(components(family)[chosen]).items():
                if (family, chosen, parameter) in self.slots:
                    recipe[family][parameter] = values[self.slots[family, chosen, parameter]]
                elif not declared.tuned and parameter in self.constants:
                    recipe[family][parameter] = self.constants[parameter]
        method = Method(**recipe)
        method.for_operators(settings.alternatives)  # raises if it does not allow that number
        return Configuration(name, method, settings, optimizer=self.base.optimizer)

    def works(self, values: Values) -> bool:
        """Return whether a candidate that the space allows can run."""
        try:
            self.configuration(values)
        except UaosError:
            return False
        return True

    def _settings(self, values: Values) -> OptimizerSettings:
        changes: dict[str, Any] = {
            name: values[name] for name in (*SETTINGS, *_POLICIES) if name in values
        } | {
            name: values[variable]
            for (family, _, name), variable in self.slots.items()
            if family == _SETTINGS
        }
        if _POOL in values:
            changes[_POOL] = pools()[str(values[_POOL])]
        memories: dict[str, RateRule] = {}
        for role in ("F", "CR"):
            if f"{role}_rule" in values:
                changes[role] = _rule(role, values, memories)
        if "schedule" in values:
            shrinks = values["schedule"] == Linear.rule
            changes["NP_schedule"] = Linear(int(values["NP_end"])) if shrinks else None
        if "restart" in values:
            restart = values["restart"] == "stagnation"
            changes["restart"] = Stagnation(int(values["patience"])) if restart else None
        return dataclasses.replace(self.base.settings, **changes)

    # From a configuration to values

    def values(self, config: Configuration) -> dict[str, Value]:
        """Return the candidate with this configuration; raise if it is not in the space."""
        values = self._all_values(config)
        return self.space.check(
            {name: value for name, value in values.items() if name in self.space.names}, config.name
        )

    def _all_values(self, config: Configuration) -> dict[str, Value]:
        """Return the values of a configuration, whether they are in the space or not."""
        self._check_searchable(config)
        values = self._method_values(config)
        settings = config.settings
        if isinstance(settings, DifferentialEvolutionSettings):
            values |= self._setting_values(settings)
        for (family, _, name), variable in self.slots.items():
            if family == _SETTINGS:
                values[variable] = getattr(settings, name)
        return values

    def _check_searchable(self, config: Configuration) -> None:
        """Raise if a configuration is not of the kind that the space describes."""
        wrong = ""
        if not isinstance(config.settings, type(self.base.settings)):
            other = self.base.optimizer
            wrong = f"is a {config.optimizer}, but the search space is that of {other}"
        elif config.method is None and self.base.method is not None:
            wrong = "does not select among operators"
        if wrong:
            raise InvalidParameter(
                f"{config.name} {wrong}, so a race cannot start from it; choose another one",
                name="initial configuration", value=config.name,
            )  # fmt: skip

    def _method_values(self, config: Configuration) -> dict[str, Value]:
        """Return the values of the components; none if the space has none."""
        if self.base.method is None or config.method is None:
            return {}
        values: dict[str, Value] = {
            _SCALE: int(config.method.scale_rewards), _SCOPE: config.method.scope,
        }  # fmt: skip
        method = config.method.for_operators(config.settings.alternatives)
        for family in FAMILIES:
            component = getattr(method, family)
            values[family] = component.name
            for parameter in parameters(component):
                slot = self.slots.get((family, component.name, parameter))
                if slot is not None:
                    values[slot] = getattr(component, parameter)
        return values

    def differences(self, config: Configuration) -> list[str]:
        """List the settings of a configuration that the space replaces, as "name: a, here b"."""
        here = self.configuration(self.values(config)).to_dict()
        there = config.to_dict()
        if config.method is not None:
            method = config.method.for_operators(config.settings.alternatives)
            there["method"] = method.to_dict()
        return [
            f"{name}: {there[part].get(name)!r}, here {value!r}"
            for part in ("method", "de", "optimizer")
            for name, value in here.get(part, {}).items()
            if there.get(part, {}).get(name) != value
        ]

    def _setting_values(self, settings: DifferentialEvolutionSettings) -> dict[str, Value]:
        searched_rules = _BOUNDARY in self.space.names and self.space[_BOUNDARY].domain
        if "none" not in getattr(searched_rules, "choices", ("none",)):
            settings = settings.kept_inside()
        values: dict[str, Value] = {name: getattr(settings, name) for name in _POLICIES}
        values["NP"] = settings.population_size(self.dimension, None)
        values["top_NP"] = settings.top
        for role in ("F", "CR"):
            rule = getattr(settings, role)
            values[f"{role}_rule"] = rule.rule
            if isinstance(rule, SuccessHistory):
                values["H"] = rule.H
            elif not isinstance(rule, Jade):
                is_constant = isinstance(rule, Constant)
                values[role] = rule.value if is_constant else getattr(rule, "loc", 0)
        values |= {"schedule": "constant", "restart": "none"}
        if isinstance(settings.NP_schedule, Linear):
            end = settings.NP_schedule.end(self.dimension, settings.members)
            values |= {"schedule": settings.NP_schedule.rule, "NP_end": end}
        if isinstance(settings.restart, Stagnation):
            values |= {"restart": "stagnation", "patience": settings.restart.patience}
        if _POOL in self.space.names:
            same = (name for name, pool in pools().items() if is_pool(settings.members, pool))
            values[_POOL] = next(same, "another")
        return values


def design(
    preset: str = DEFAULT_PRESET,
    *,
    dimension: int = 20,
    pool: str | Sequence[str] | None = None,
) -> Design:
    """Return the design space of a preset.

    Parameters
    ----------
    preset : {"extended", "paper", "wide"}
        How much is searched.
    dimension : int
        Dimension of the problems, or the largest one, for population sizes such as "10D".
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
    # The tuned configurations have the settings of the authors' experiments.
    authors = preset != "wide"
    tuned = configuration("U-AOS-FW")
    base = tuned if authors else Configuration("base", Method(), DifferentialEvolutionSettings())
    constants: dict[str, Value] = {"ties": "first"} if authors else {}
    options: DesignOptions = {"space": preset}
    if pool is not None:
        base = dataclasses.replace(
            base, settings=dataclasses.replace(_evolution(base), pool=pool_called(pool))
        )
        options["pool"] = pool if isinstance(pool, str) else ",".join(pool)
    fixed_by_pool = [r for r in ("F", "CR") if not is_open(_evolution(base).pool, r)]
    extra: list[Variable] = []
    if preset == "wide":
        extra = _wide(fixed_by_pool, free_pool=pool is None)
    names = [name for name in SETTINGS if name not in fixed_by_pool]
    numbers = _settings_variables(names, [v.name for v in extra])
    return _build(base, [*extra, *numbers], constants, dimension, options, preset=preset)


def design_for(
    name: str | os.PathLike[str], free: Iterable[str] = (), *, dimension: int = 20
) -> Design:
    """Return the space of one method: its hyper-parameters are free, its components are fixed.

    Of an optimizer other than differential evolution, such as a custom one, the settings that it
    declares with ``tuned`` are free as well. A range that does not contain the value of the method
    is extended to it.

    Parameters
    ----------
    name : str or path
        A method of the catalogue, the name of a registered optimizer, or a configuration file.
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
        If there is nothing to tune, or the pool gives its operators their own F or CR.
    UnknownName
        If there is no such method or setting.

    Examples
    --------
    >>> from uaos.tuning import design_for
    >>> [variable.name for variable in design_for("RecPM", ["F"]).space]
    ['F', ...]
    >>> [variable.name for variable in design_for("CMA-ES").space]
    ['restarts', 'sigma0', 'popsize', 'center']
    """
    base, free = configuration(name), tuple(free)
    _check_free(base, free)
    options: DesignOptions = {"method": os.fspath(name)}
    if free:
        options["free"] = list(free)
    settings = _settings_variables(free, ())
    slots, declared = _declared_settings(base)
    if base.method is None:
        _check_tunable(base, (*settings, *declared))
        designed = Design(Space((*settings, *declared)), base, slots, dimension, {}, options)
    else:
        designed = _around_method(base, (*settings, *declared), slots, dimension, options)
    space = designed.space
    for slot, value in designed._all_values(base).items():
        domain = space[slot].domain if slot in space.names else None
        if value is None or not isinstance(domain, Real | Integer):
            continue
        if not domain.low <= float(value) <= domain.high:
            ends = min(domain.low, float(value)), max(domain.high, float(value))
            space = space.limit(slot, *ends)
    return dataclasses.replace(designed, space=space)


def _check_free(base: Configuration, free: Sequence[str]) -> None:
    """Raise if a setting of differential evolution cannot be free."""
    for setting in free:
        if setting not in SETTINGS:
            raise UnknownName("setting to free", setting, SETTINGS)
        if setting in ("F", "CR") and not is_open(_evolution(base).pool, setting):
            raise InvalidParameter(
                f"the operators of {base.name} have their own {setting}; only NP and top_NP can be "
                "free",
                name="setting to free", value=setting,
            )  # fmt: skip


def _check_tunable(base: Configuration, variables: Sequence[Variable]) -> None:
    """Raise if a configuration without a method has no settings to tune either."""
    if variables:
        return
    if isinstance(base.settings, DifferentialEvolutionSettings):
        hint = f"free some of its settings with --free {','.join(SETTINGS)}"
    else:
        hint = "a custom optimizer declares settings by uaos.real, uaos.integer and uaos.choice"
    raise InvalidParameter(
        f"{base.name} has nothing to tune: it does not select among operators and declares no "
        f"settings for it ({hint}). Choose a method such as SaDE or CMA-ES (to compare methods, "
        "use uaos bench)",
        name="method", value=base.name,
    )  # fmt: skip


def _declared_settings(
    base: Configuration,
) -> tuple[dict[tuple[str, str, str], str], list[Variable]]:
    """Return a variable for each tuned setting; none for differential evolution."""
    slots: dict[tuple[str, str, str], str] = {}
    variables: list[Variable] = []
    if isinstance(base.settings, DifferentialEvolutionSettings):
        return slots, variables
    reserved = set() if base.method is None else {*FAMILIES, *_parameter_names(base.method)}
    for name, parameter in parameters(base.settings).items():
        if parameter.tuned:
            variable = f"{base.optimizer}_{name}" if name in reserved else name
            slots[_SETTINGS, base.optimizer, name] = variable
            variables.append(Variable(variable, searched(parameter)))
    return slots, variables


def _parameter_names(method: Method) -> set[str]:
    return {name for family in FAMILIES for name in parameters(getattr(method, family))}


def _around_method(
    base: Configuration, settings: Sequence[Variable], slots: Mapping[tuple[str, str, str], str],
    dimension: int, options: DesignOptions,
) -> Design:  # fmt: skip
    """Return the space of a method with its components fixed."""
    chosen = {family: getattr(base.method, family) for family in FAMILIES}
    constants = {
        name: getattr(component, name) for component in chosen.values()
        for name, parameter in parameters(component).items() if not parameter.tuned
    }  # fmt: skip
    designed = _build(base, settings, constants, dimension, options)
    space = designed.space
    for family, component in chosen.items():
        space = space.fix(family, component.name)
    return dataclasses.replace(designed, space=space, slots={**designed.slots, **slots})


def portfolio_design(members: Sequence[Member], *, dimension: int = 20) -> Design:
    """Return the space of the methods that can choose among the members of a portfolio.

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
        names = [member.name for member in members]
        raise InvalidParameter(
            f"a selector needs at least two members without `once`, but {', '.join(names)} has "
            f"{count}",
            name="members", value=names,
        )  # fmt: skip
    settings = PortfolioSettings(members)
    base = Configuration("portfolio", leader_method(count), settings, optimizer="portfolio")
    return _build(base, (), {}, dimension, {"members": [m.name for m in members]})


def _build(
    base: Configuration, settings: Sequence[Variable], constants: Mapping[str, Value],
    dimension: int, options: DesignOptions, *, preset: str = "wide",
) -> Design:  # fmt: skip
    """Return the design of the components of a preset."""
    chosen, choices = [], {}
    for family in FAMILIES:
        used = getattr(base.method, family).name
        members = tuple(
            n for n, cls in _components(family, preset).items() if cls.searched or n == used
        )
        chosen.append(Variable(family, Categorical(default=members[0], choices=members)))
        choices[family] = members
    slots, hyper = _hyper_parameters(preset, choices)
    sizes = {"": base.settings.alternatives}
    if any(v.name == _POOL for v in settings):
        sizes = {name: len(pool) for name, pool in pools().items()}
    rules: list[Forbidden] = []
    bounded = []
    for variable in hyper:
        if isinstance(variable.domain, RealSetting) and variable.domain.bound:
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
            "draws above 1 are cut to 1",
        ))  # fmt: skip
    space = Space((*settings, *chosen, *bounded), tuple(rules))
    return Design(space, base, slots, dimension, dict(constants), options)


def _components(family: str, preset: str) -> dict[str, type[Component]]:
    """Return the components of a preset: those of the paper, with those of users, or all."""
    return {
        name: cls for name, cls in components(family).items()
        if preset == "wide" or (cls.printed and cls.__module__.startswith("uaos."))
        or (preset != "paper" and not cls.__module__.startswith("uaos."))
    }  # fmt: skip


def _hyper_parameters(
    preset: str, choices: Mapping[str, Sequence[str]]
) -> tuple[dict[tuple[str, str, str], str], list[Variable]]:
    """Return a variable for each tuned parameter; equal declarations share one."""
    declared: dict[tuple[str, str], dict[str, tuple[Real | Integer | Categorical, list[str]]]] = {}
    for family in FAMILIES:
        for component, cls in _components(family, preset).items():
            for name, parameter in parameters(cls).items():
                if parameter.tuned:
                    domain = searched(parameter)
                    if preset == "paper" and not isinstance(domain, Categorical):
                        domain = dataclasses.replace(domain, **_PRINTED.get((family, name), {}))
                    alike = declared.setdefault((family, name), {})
                    alike.setdefault(str(plain(domain)), (domain, []))[1].append(component)
    # A name that occurs in several families or in the wide preset is prefixed by the family.
    names = [name for _, name in declared]
    reserved = {*FAMILIES, *SETTINGS, *(v.name for v in _wide((), free_pool=True))}
    slots: dict[tuple[str, str, str], str] = {}
    variables = []
    for (family, name), groups in declared.items():
        is_unique = names.count(name) == 1 and name not in reserved
        basic_name = name if is_unique else f"{family}_{name}"
        for number, (domain, members) in enumerate(groups.values()):
            variable = basic_name if number == 0 else f"{members[0]}_{name}"
            for component in members:
                slots[family, component, name] = variable
            active = tuple(member for member in members if member in choices[family])
            if active:
                variables.append(Variable(variable, domain, (Condition(family, active),)))
    return slots, variables


def _below_share(variable: Variable, sizes: Mapping[str, int]) -> tuple[Variable, list[Forbidden]]:
    """Bound a parameter by 1/K, in the declared decimals; where K varies, forbid the rest."""
    domain = variable.domain
    assert isinstance(domain, RealSetting)
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
    variables = []
    for name in names:
        when: tuple[Condition, ...] = ()
        if f"{name}_rule" in with_rules:
            when = (Condition(f"{name}_rule", _RULES[f"{name}_rule"][:2]),)
        variables.append(
            Variable(name, searched(parameters(DifferentialEvolutionSettings)[name]), when)
        )
    return variables


def _wide(fixed_by_pool: Sequence[str], *, free_pool: bool) -> list[Variable]:
    """Return what the wide preset adds; F and CR exist where neither pool nor rule sets them."""

    def choose(name: str, values: Sequence[Value], *when: Condition) -> Variable:
        return Variable(name, Categorical(default=values[0], choices=tuple(values)), when)

    added = [choose(_POOL, tuple(pools()))] if free_pool else []
    learned: list[Condition] = []
    for role in (r for r in ("F", "CR") if r not in fixed_by_pool):
        left = tuple(name for name, pool in pools().items() if is_open(pool, role))
        when = [Condition(_POOL, left)] if free_pool else []
        added.append(choose(f"{role}_rule", _RULES[f"{role}_rule"], *when))
        learned.append(Condition(f"{role}_rule", ("success_history",)))
    if learned:
        added.append(Variable("H", searched(parameters(SuccessHistory)["H"]), tuple(learned)))
    for name in _POLICIES:
        added.append(Variable(name, searched(parameters(DifferentialEvolutionSettings)[name])))
    added.append(choose("schedule", ("constant", Linear.rule)))
    # A strategy that takes five others needs six parents.
    ends = IntegerSetting(default=6, low=6, high=40, hard_high=50, doc="NP at the end")
    added.append(Variable("NP_end", ends, (Condition("schedule", (Linear.rule,)),)))
    added.append(choose("restart", ("none", "stagnation")))
    patience = searched(parameters(Stagnation)["patience"])
    added.append(Variable("patience", patience, (Condition("restart", ("stagnation",)),)))
    added += [choose(_SCALE, (1, 0)), choose(_SCOPE, SCOPES[:2])]  # here a step is a generation
    return added


def _rule(role: str, values: Values, memories: dict[str, RateRule]) -> RateRule | float:
    kind = values[f"{role}_rule"]
    if kind == "constant":
        return float(values[role])
    if kind == "cauchy":
        return Cauchy(float(values[role]), 0.1)
    if kind == "normal":
        return Normal(float(values[role]), 0.1)
    # One object for both roles: F and CR are drawn from the same pair.
    memory = Jade() if kind == "jade" else SuccessHistory(int(values["H"]))
    return memories.setdefault(str(kind), memory)


# Pools of operators

# Crossover probabilities of the pool that combines every strategy with each of them.
_CROSSOVERS = (0.1, 0.5, 0.9)


@functools.cache
def pools() -> Mapping[str, tuple[Operator, ...]]:
    """Return the pools by name."""
    nine = paper_pool()
    crossed = tuple(
        Operator(operator.strategy, None, CR, f"{operator.strategy}, CR {CR:g}")
        for operator in nine for CR in _CROSSOVERS
    )  # fmt: skip
    members = _evolution(configuration("mix")).members
    mixed = tuple(member for member in members if isinstance(member, Operator))
    return MappingProxyType({"nine": nine, "nine-by-CR": crossed, "mix": mixed})


def _evolution(config: Configuration) -> DifferentialEvolutionSettings:
    """Return the settings of a configuration of differential evolution."""
    if not isinstance(config.settings, DifferentialEvolutionSettings):
        raise InvalidParameter(
            f"{config.name} is a {config.optimizer}; expected a configuration of differential "
            "evolution, as its F, CR and pool are searched",
            name="method", value=config.name,
        )  # fmt: skip
    return config.settings


def pool_called(pool: str | Sequence[str]) -> tuple[Operator, ...]:
    """Return the pool of a name, or of strategies: a list, or a string with commas."""
    named = pools()
    if isinstance(pool, str) and pool in named:
        return named[pool]
    names = [n.strip() for n in pool.split(",")] if isinstance(pool, str) else list(pool)
    for name in names:
        if name not in STRATEGIES:
            raise UnknownName("pool or strategy", name, (*named, *STRATEGIES))
    if len(set(names)) < max(2, len(names)):
        raise InvalidParameter(
            f"pool is {', '.join(names)}; expected two or more different strategies",
            name="pool", value=names,
        )  # fmt: skip
    return tuple(Operator(name) for name in names)


def is_open(pool: Iterable[object] | None, role: str) -> bool:
    """Return whether a pool (None: the nine strategies) leaves F or CR to the settings."""
    return pool is None or any(isinstance(m, Operator) and getattr(m, role) is None for m in pool)


def is_pool(members: Sequence[object], pool: Sequence[Operator]) -> bool:
    """Return whether members are those of a pool, apart from F and CR that it leaves open."""
    return len(pool) == len(members) and all(
        isinstance(m, Operator) and m.strategy == p.strategy
        and p.F in (None, m.F) and p.CR in (None, m.CR)
        for p, m in zip(pool, members, strict=True)
    )  # fmt: skip
