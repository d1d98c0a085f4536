"""A search space as a ConfigurationSpace of the library ConfigSpace, for tuners that speak it.

ConfigSpace has no decimals: what it draws is rounded, as the space declares it, on the way back. It
scales numbers to [0, 1], and so may see a difference where two are equal: where p_max < p_min is
forbidden, it refuses some candidates with p_max = p_min.

Lindauer, M., Eggensperger, K., Feurer, M., Biedenkapp, A., Marben, J., Müller, P. & Hutter, F.
(2019), "BOAH: a tool suite for multi-fidelity Bayesian optimization & analysis of
hyperparameters", arXiv 1908.06756.
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from uaos.extras import optional
from uaos.files import MARK
from uaos.params import Choice, Integer, Real, Value
from uaos.tuning.space import Clause, Space, Variable, uniform_candidates

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace

_NAMES = {"<": "LessThan", ">": "GreaterThan", "==": "Equals"}


class _Never(Exception):
    """A comparison that holds for no value."""


def to_configspace(space: Space, *, seed: int | None = None) -> "ConfigurationSpace":
    """Return the same space for ConfigSpace: names, ranges, conditions, and what is forbidden.

    Parameters
    ----------
    space : Space
    seed : int, optional
        Of its sampling.

    Returns
    -------
    ConfigSpace.ConfigurationSpace

    Examples
    --------
    >>> from uaos.tuning import design_for
    >>> from uaos.tuning.configspace import to_configspace
    >>> "F" in to_configspace(design_for("SaDE", ["F"]).space, seed=1)
    True
    """
    library = optional("ConfigSpace", "the export to ConfigSpace")
    defaults = _defaults(space)
    made = {v.name: _hyperparameter(library, v, defaults) for v in space}
    configspace: ConfigurationSpace = library.ConfigurationSpace(name=MARK, seed=seed)
    configspace.add(list(made.values()))
    for variable in space:
        conditions = [
            library.InCondition(made[variable.name], made[c.name], list(c.values))
            for c in variable.when
        ]
        if conditions:
            configspace.add(
                library.OrConjunction(*conditions) if len(conditions) > 1 else conditions[0]
            )
    for one in space.forbidden:
        try:
            clauses = [_clause(library, space, made, c) for c in one.clauses]
        except _Never:
            continue
        configspace.add(
            library.ForbiddenAndConjunction(*clauses) if len(clauses) > 1 else clauses[0]
        )
    return configspace


def from_configspace(space: Space, configuration: Mapping[str, Any]) -> dict[str, Value]:
    """Return the candidate that a configuration of ConfigSpace is, rounded as declared.

    Parameters
    ----------
    space : Space
    configuration : mapping
        A configuration of :func:`to_configspace`'s space.

    Returns
    -------
    dict
        The values by name.

    Examples
    --------
    >>> from uaos.tuning import design_for
    >>> from uaos.tuning.configspace import from_configspace, to_configspace
    >>> space = design_for("SaDE", ["F"]).space
    >>> drawn = to_configspace(space, seed=1).sample_configuration()
    >>> sorted(from_configspace(space, drawn)) == sorted(drawn)
    True
    """
    values: dict[str, Any] = {}
    for name, value in dict(configuration).items():
        plain, domain = value.item() if isinstance(value, np.generic) else value, space[name].domain
        if isinstance(domain, Real):
            plain = float(min(max(round(float(plain), domain.digits), domain.low), domain.high))
        values[name] = plain
    return space.check(values, "the configuration")


def _hyperparameter(library: Any, variable: Variable, defaults: Mapping[str, Value]) -> Any:
    name, domain = variable.name, variable.domain
    if isinstance(domain, Choice):
        if variable.fixed:
            return library.Constant(name, domain.choices[0])
        default = defaults.get(name, domain.choices[0])
        return library.CategoricalHyperparameter(name, domain.choices, default_value=default)
    if domain.low == domain.high:
        return library.Constant(name, domain.low)
    kind = "UniformInteger" if isinstance(domain, Integer) else "UniformFloat"
    return getattr(library, f"{kind}Hyperparameter")(
        name, domain.low, domain.high, default_value=defaults.get(name), log=domain.log
    )


def _defaults(space: Space) -> dict[str, Value]:
    """The declared defaults, or else a candidate: ConfigSpace wants defaults that can work."""

    def default(variable: Variable) -> Value:
        domain = variable.domain
        if isinstance(domain, Choice):
            return domain.default if domain.default in domain.choices else domain.choices[0]
        return min(max(domain.default, domain.low), domain.high)

    declared = space.fill(default)
    if not space.why_forbidden(declared):
        return declared
    found = uniform_candidates(space, 1, np.random.default_rng(1), works=lambda _: True)
    return found[0] if found else declared


def _clause(library: Any, space: Space, made: Mapping[str, Any], one: Clause) -> Any:
    if one.variable:
        return getattr(library, f"Forbidden{_NAMES[one.relation]}Relation")(
            made[one.name], made[str(one.other)]
        )
    domain = space[one.name].domain
    if isinstance(domain, Choice) or domain.low == domain.high:
        choices = domain.choices if isinstance(domain, Choice) else (domain.low,)
        values = [v for v in choices if one.holds({one.name: v})]
        if not values:
            raise _Never
        return library.ForbiddenInClause(made[one.name], values)
    name, value = _NAMES[one.relation], float(one.other)
    if isinstance(domain, Integer):
        value = math.floor(value) if one.relation == ">" else math.ceil(value)
    # ConfigSpace accepts no number outside the range.
    if not domain.low <= value <= domain.high:
        if one.relation == "==" or (one.relation == ">") == (value > domain.high):
            raise _Never
        name, value = f"{name}Equals", domain.low if one.relation == ">" else domain.high
    return getattr(library, f"Forbidden{name}Clause")(made[one.name], value)
