"""The design space of adaptive operator selection: what a tuner may choose, and what it then runs.

The variables are read off the declarations on the components and on the settings of the
differential evolution; there is no second list. A component that a user registers is in the space
at once. Two presets:

- `paper`: the five components, their hyper-parameters, F, CR, NP and top_NP. Everything else is as
  in the experiments of the framework's authors (nine strategies, no bounds, x_best "latest", …).
- `wide`: also the pool of operators, the rules for F and CR, who x_best is, the archive's policy,
  the repair of bounds, the population's schedule, restarts, and the scaling of rewards.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from uaos.errors import InvalidParameter, UaosError, UnknownName
from uaos.optimizers.catalogue import configuration, methods
from uaos.optimizers.configuration import Configuration
from uaos.optimizers.de.rules import Cauchy, Constant, Jade, Normal, Rule, SuccessHistory
from uaos.optimizers.de.schedule import Linear, Stagnation
from uaos.optimizers.de.settings import Settings
from uaos.params import Choice, Integer, Real, Value, parameters, per_operator
from uaos.selection.components import FAMILIES, components
from uaos.selection.method import Method
from uaos.tuning.operator_pools import is_open, is_pool, pool_called, pools
from uaos.tuning.space import Candidate, Comparison, Condition, Forbidden, Space, Variable, searched

PRESETS = ("paper", "wide")

#: What is searched of the differential evolution in both presets: the declared ranges.
SETTINGS = tuple(name for name, p in parameters(Settings).items() if p.tuned)

#: The configurations that a race starts from unless told otherwise: those tuned in the paper.
INITIAL = tuple(name for name, c in methods().items() if c.kind == "tuned" and name != "U-AOS-FW")

_POOL, _SCALE = "pool", "scale_rewards"
_RULES = {"F_rule": ("constant", "cauchy", "jade", "success_history"),
          "CR_rule": ("constant", "normal", "jade", "success_history")}  # fmt: skip
_POLICIES = ("best_rule", "archive", "boundary")


@dataclass(frozen=True)
class Design:
    """A search space whose candidates are configurations; made by :func:`design`.

    `base` holds what is not searched. `slots` says which variable a component's parameter is.
    """

    space: Space
    base: Configuration
    slots: Mapping[tuple[str, str, str], str]
    dimension: int
    constants: Mapping[str, Value] = field(default_factory=dict)

    def narrowed(self, change: Callable[[Space], Space]) -> "Design":
        """The design with its space fixed or narrowed."""
        return dataclasses.replace(self, space=change(self.space))

    # From values to a configuration

    def configuration(self, values: Candidate, name: str = "candidate") -> Configuration:
        """What a candidate runs."""
        settings = self._settings(values)
        recipe: dict[str, Any] = {_SCALE: bool(values.get(_SCALE, self._scaled))}
        for family in FAMILIES:
            chosen = str(values[family])
            recipe[family] = {"name": chosen}
            for parameter, declared in parameters(components(family)[chosen]).items():
                if (family, chosen, parameter) in self.slots:
                    recipe[family][parameter] = values[self.slots[family, chosen, parameter]]
                elif not declared.tuned and parameter in self.constants:
                    recipe[family][parameter] = self.constants[parameter]
        method = Method(**recipe)
        method.for_operators(len(settings.members))  # raises if they cannot serve so many
        return Configuration(name, method, settings)

    def works(self, values: Candidate) -> bool:
        """Whether a candidate can run; for what no rule of the space says."""
        try:
            self.configuration(values)
        except UaosError:
            return False
        return True

    @property
    def _scaled(self) -> bool:
        return self.base.method is None or self.base.method.scale_rewards

    def _settings(self, values: Candidate) -> Settings:
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
            linear = values["schedule"] == "linear"
            changes["schedule"] = Linear(int(values["NP_end"])) if linear else None
        if "restart" in values:
            restart = values["restart"] == "stagnation"
            changes["restart"] = Stagnation(int(values["patience"])) if restart else None
        return dataclasses.replace(self.base.settings, **changes)

    # And back

    def values(self, of: Configuration) -> dict[str, Value]:
        """The candidate that a configuration is; an error if the space does not have it."""
        if of.method is None:
            raise InvalidParameter(
                "initial configuration", of.name, "one that selects among several operators"
            )
        given: dict[str, Value] = {}
        for family in FAMILIES:
            component = getattr(of.method, family)
            given[family] = component.name
            for parameter in parameters(component):
                slot = self.slots.get((family, component.name, parameter))
                if slot is not None:
                    given[slot] = _number(getattr(component, parameter), len(of.settings.members))
        given |= self._setting_values(of)
        return self.space.check({k: v for k, v in given.items() if k in self.space.names}, of.name)

    def differences(self, of: Configuration) -> list[str]:
        """What a configuration has that the space holds at other values, as "name: a, here b"."""
        here = self.configuration(self.values(of)).to_dict()
        there = of.to_dict()
        return [
            f"{name}: {there[part].get(name)!r}, here {value!r}"
            for part in ("method", "de")
            for name, value in here[part].items()
            if there[part].get(name) != value
        ]

    def _setting_values(self, of: Configuration) -> dict[str, Value]:
        settings = of.settings
        given: dict[str, Value] = {name: getattr(settings, name) for name in _POLICIES}
        given["NP"] = settings.population_size(self.dimension, None)
        top = settings.top_NP
        given["top_NP"] = settings.top if isinstance(top, str) else top
        for role in ("F", "CR"):
            rule = getattr(settings, role)
            given[f"{role}_rule"] = rule.rule
            if isinstance(rule, SuccessHistory):
                given["H"] = rule.H
            elif not isinstance(rule, Jade):
                given[role] = rule.value if isinstance(rule, Constant) else getattr(rule, "loc", 0)
        given["schedule"] = "linear" if isinstance(settings.schedule, Linear) else "constant"
        if isinstance(settings.schedule, Linear):
            given["NP_end"] = settings.schedule.end(self.dimension, settings.members)
        given["restart"] = "stagnation" if isinstance(settings.restart, Stagnation) else "none"
        if isinstance(settings.restart, Stagnation):
            given["patience"] = settings.restart.patience
        given[_SCALE] = int(of.method.scale_rewards) if of.method else 1
        if _POOL in self.space.names:
            members = list(settings.members)
            given[_POOL] = next(
                (name for name, pool in pools().items() if is_pool(members, pool)), "another"
            )
        return given


def design(
    preset: str = "paper",
    *,
    dimension: int = 20,
    pool: str | Sequence[str] | None = None,
) -> Design:
    """The design space of a preset, for problems of a dimension.

    `pool`: the operators to select from, a name ("nine", "nine-by-CR", "mix") or strategies.
    """
    if preset not in PRESETS:
        raise UnknownName("preset of the search space", preset, PRESETS)
    # The settings of the authors' experiments stand on their tuned configurations.
    tuned = configuration("U-AOS-FW")
    base = tuned if preset == "paper" else Configuration("base", Method(), Settings())
    constants: dict[str, Value] = {"ties": "first"} if preset == "paper" else {}
    if pool is not None:
        base = dataclasses.replace(
            base, settings=dataclasses.replace(base.settings, pool=pool_called(pool))
        )
    given = [r for r in ("F", "CR") if not is_open(base.settings.pool, r)]
    extra: list[Variable] = []
    if preset == "wide":
        extra = _wide(given, free_pool=pool is None)
    names = [name for name in SETTINGS if name not in given]
    numbers = _settings_variables(names, [v.name for v in extra])
    return _made(base, [*extra, *numbers], constants, dimension)


def design_for(name: str, free: Iterable[str] = (), *, dimension: int = 20) -> Design:
    """The space of one method of the catalogue (or file): its own hyper-parameters are free.

    Its components and its differential evolution stay as they are, but for the settings in `free`
    (F, CR, NP, top_NP).
    """
    base = configuration(name)
    if base.method is None:
        raise InvalidParameter("method", name, "one that selects among several operators")
    wanted = tuple(free)
    for one in wanted:
        if one not in SETTINGS:
            raise UnknownName("setting to free", one, SETTINGS)
        if one in ("F", "CR") and not is_open(base.settings.pool, one):
            raise InvalidParameter("setting to free", one, "NP and top_NP, as the pool gives it")
    constants: dict[str, Value] = {}
    for family in FAMILIES:
        component = getattr(base.method, family)
        constants |= {
            k: getattr(component, k) for k, p in parameters(component).items() if not p.tuned
        }
    made = _made(base, _settings_variables(wanted, ()), constants, dimension)
    space = made.space
    for family in FAMILIES:
        space = space.fix(family, getattr(base.method, family).name)
    return dataclasses.replace(made, space=space)


def _made(
    base: Configuration, settings: Sequence[Variable], constants: Mapping[str, Value],
    dimension: int,
) -> Design:  # fmt: skip
    chosen = []
    for family in FAMILIES:
        used = getattr(base.method, family).name if base.method is not None else None
        members = tuple(n for n, cls in components(family).items() if cls.searched or n == used)
        chosen.append(Variable(family, Choice(default=members[0], choices=members)))
    slots, hyper = _hyper_parameters()
    sizes = {"": len(base.settings.members)}
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
            (Comparison("p_max", "<", "p_min", variable=True),), "p_max must be at least p_min"
        ))  # fmt: skip
    if any(v.name == "F_rule" for v in settings):
        rules.append(Forbidden(
            (Comparison("F_rule", "==", "cauchy"), Comparison("F", ">", 1.0)),
            "what the rule draws is cut at 1",
        ))  # fmt: skip
    space = Space((*settings, *chosen, *bounded), tuple(rules))
    return Design(space, base, slots, dimension, dict(constants))


def _hyper_parameters() -> tuple[dict[tuple[str, str, str], str], list[Variable]]:
    """A variable for each tuned parameter; components that declare it alike share it."""
    found: dict[tuple[str, str], dict[Any, list[str]]] = {}
    for family in FAMILIES:
        for component, cls in components(family).items():
            for name, parameter in parameters(cls).items():
                if parameter.tuned:
                    alike = found.setdefault((family, name), {})
                    alike.setdefault(_range(searched(parameter)), []).append(component)
    # A name that several families have, or that the wide preset has, says its family.
    families = [name for _, name in found]
    taken = {*FAMILIES, *SETTINGS, *(v.name for v in _wide((), free_pool=True))}
    slots: dict[tuple[str, str, str], str] = {}
    variables = []
    for (family, name), groups in found.items():
        own = families.count(name) == 1 and name not in taken
        plain = name if own else f"{family}_{name}"
        for number, members in enumerate(groups.values()):
            called = plain if number == 0 else f"{members[0]}_{name}"
            for component in members:
                slots[family, component, name] = called
            domain = searched(parameters(components(family)[members[0]])[name])
            variables.append(Variable(called, domain, (Condition(family, tuple(members)),)))
    return slots, variables


def _range(domain: Real | Integer | Choice) -> tuple[Any, ...]:
    """What makes two declarations alike for a search."""
    if isinstance(domain, Choice):
        return domain.choices
    return type(domain), domain.low, domain.high, domain.log


def _below_share(variable: Variable, sizes: Mapping[str, int]) -> tuple[Variable, list[Forbidden]]:
    """A parameter below 1/K, in the declared decimals; where K varies, the rest is forbidden."""
    domain = variable.domain
    assert isinstance(domain, Real)
    unit = 10**domain.digits
    largest = {name: ((unit - 1) // K) / unit for name, K in sizes.items()}
    high = max(largest.values())
    rules = [
        Forbidden(
            (Comparison(_POOL, "==", name), Comparison(variable.name, ">", limit)),
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
    learnt: list[Condition] = []
    for role in (r for r in ("F", "CR") if r not in given):
        left = tuple(name for name, pool in pools().items() if is_open(pool, role))
        when = [Condition(_POOL, left)] if free_pool else []
        added.append(choose(f"{role}_rule", _RULES[f"{role}_rule"], *when))
        learnt.append(Condition(f"{role}_rule", ("success_history",)))
    if learnt:
        added.append(Variable("H", searched(parameters(SuccessHistory)["H"]), tuple(learnt)))
    for name in _POLICIES:
        added.append(Variable(name, searched(parameters(Settings)[name])))
    added.append(choose("schedule", ("constant", "linear")))
    # A strategy that takes five others needs six parents.
    ends = Integer(default=6, low=6, high=40, hard_low=6, hard_high=50, doc="NP at the end")
    added.append(Variable("NP_end", ends, (Condition("schedule", ("linear",)),)))
    added.append(choose("restart", ("none", "stagnation")))
    patience = searched(parameters(Stagnation)["patience"])
    added.append(Variable("patience", patience, (Condition("restart", ("stagnation",)),)))
    added.append(choose(_SCALE, (1, 0)))
    return added


def _rule(role: str, values: Candidate, memories: dict[str, Rule]) -> Rule | float:
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


def _number(value: Value, K: int) -> Value:
    """A parameter's value; one that is given as a share of the operators, for K of them."""
    share = per_operator(value) if isinstance(value, str) else None
    return value if share is None else share / K
