"""What the arguments of a run mean: a configuration, with what was given in its place."""

import dataclasses
import os
from typing import Any

from uaos.errors import InvalidParameter
from uaos.optimizers.catalogue import RECOMMENDED, configuration
from uaos.optimizers.configuration import DE, Configuration
from uaos.optimizers.de.operators import Operator, check_population
from uaos.optimizers.de.settings import Settings
from uaos.selection.method import Method

#: What `method` may be: None for the recommended configuration, a name of the catalogue, the path
#: of a TOML file, a method (which runs with default settings) or a whole configuration.
MethodLike = None | str | os.PathLike[str] | Method | Configuration


def resolve(
    method: MethodLike, changes: dict[str, Any], dimension: int, budget: int | None
) -> tuple[Configuration, int]:
    """The configuration that `method` names, with the changes that are not None, and its NP."""
    chosen = _configuration(method)
    given = {name: value for name, value in changes.items() if value is not None}
    if method is None and "NP" not in given and budget is not None:
        # The recommended NP is 10·D; over few generations a smaller population does better.
        fitted = dataclasses.replace(chosen.settings, NP=None)
        usual = chosen.settings.population_size(dimension, budget)
        if fitted.population_size(dimension, budget) < usual:
            chosen = dataclasses.replace(chosen, settings=fitted)
    try:
        settings = _changed(chosen, given)
        NP = settings.population_size(dimension, budget)
        check_population(NP, settings.members)
    except InvalidParameter as error:
        if "NP" not in given or error.name != "NP":
            raise
        # In a configuration it is NP, as an argument popsize.
        raise InvalidParameter("popsize", error.value, error.allowed) from None
    return dataclasses.replace(chosen, settings=settings), NP


def _configuration(method: MethodLike) -> Configuration:
    if isinstance(method, Method):
        return Configuration("custom method", method, Settings(NP=None))
    if method is None or isinstance(method, str | os.PathLike | Configuration):
        found = configuration(RECOMMENDED if method is None else method)
        if found.optimizer != DE:
            raise InvalidParameter(
                "method", found.name, f"a configuration of differential evolution; this one is of "
                f"{found.optimizer}. Use it with uaos.minimize, or its build()",
            )  # fmt: skip
        return found
    raise InvalidParameter(
        "method", method, "None, a name, a TOML file, a uaos.Method or a uaos.Configuration"
    )


def _changed(chosen: Configuration, changes: dict[str, Any]) -> Settings:
    """The configuration's settings with what was given in their place."""
    settings: Settings = dataclasses.replace(chosen.settings, **changes)
    pool = settings.pool or ()
    if chosen.method is None and len(settings.members) > 1:
        raise InvalidParameter(
            "operators", list(settings.names), f"one operator: {chosen.name} has no method to "
            "choose among several. Give one, or another method=",
        )  # fmt: skip
    for role in ("F", "CR"):
        if role in changes and pool and not any(_open(m, role) for m in pool):
            raise InvalidParameter(
                role, changes[role], f"nothing here: every operator of {chosen.name!r} has its own "
                f"{role}. Give operators= as well, or another method",
            )  # fmt: skip
    return settings


def _open(member: object, role: str) -> bool:
    return isinstance(member, Operator) and getattr(member, role) is None
