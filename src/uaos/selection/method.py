"""Method: an immutable recipe of five components that can be saved and compared."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from uaos.checks import true_or_false
from uaos.errors import InvalidFile, InvalidParameter, UnknownName, shortened
from uaos.files import read_toml, write_toml
from uaos.params import known_only, parameters
from uaos.selection.components import (
    FAMILIES,
    Metric,
    Probability,
    Quality,
    Reward,
    Selection,
    build,
)

if TYPE_CHECKING:
    from rich.table import Table

    from uaos.selection.selector import Selector

#: Version of the dict and TOML form of a method.
FORMAT = 1

#: What one choice of an operator covers; the host algorithm decides the length of a step.
SCOPES = ("offspring", "generation", "step")


@dataclass(frozen=True, init=False, repr=False)
class Method:
    """A method of adaptive operator selection: metric, reward, quality, probability, selection.

    Methods are immutable; they can be compared, hashed, and written to and read from TOML.

    Parameters
    ----------
    metric, reward, quality, probability, selection : component, str or mapping
        A component object, its name (with default parameters), or a mapping with its name and
        parameters.
    scale_rewards : bool
        Whether the rewards of a generation are mapped linearly onto [0, 1] before the quality sees
        them, as in the experiments of the framework's authors. False gives exactly the equations of
        their paper.
    scope : {"offspring", "generation", "step"}
        What one choice covers: a single offspring, all offspring of a generation, or a step, whose
        offspring are divided among the operators at its start and learned from at its end. A step
        is a part of the run in a :class:`uaos.Portfolio`, and a generation elsewhere.

    Raises
    ------
    UnknownName
        If there is no such component or scope.
    InvalidParameter
        If a hyper-parameter is out of range.

    Examples
    --------
    >>> import uaos
    >>> method = uaos.Method(reward="success_sum", quality={"name": "weighted_sum", "delta": 0.3})
    >>> method.reward, method.quality
    (success_sum(max_gen=10), weighted_sum(delta=0.3))
    """

    metric: Metric
    reward: Reward
    quality: Quality
    probability: Probability
    selection: Selection
    scale_rewards: bool
    scope: str

    def __init__(
        self,
        metric: Metric | str | Mapping[str, object] = "parent_improvement",
        reward: Reward | str | Mapping[str, object] = "immediate_success",
        quality: Quality | str | Mapping[str, object] = "bellman",
        probability: Probability | str | Mapping[str, object] = "probability_matching",
        selection: Selection | str | Mapping[str, object] = "proportional",
        scale_rewards: bool = True,
        scope: str = "offspring",
    ) -> None:
        recipes = (metric, reward, quality, probability, selection)
        for family, recipe in zip(FAMILIES, recipes, strict=True):
            object.__setattr__(self, family, build(family, recipe))
        object.__setattr__(self, "scale_rewards", true_or_false(scale_rewards, "scale_rewards"))
        if scope not in SCOPES:
            raise UnknownName("scope of selection", scope, SCOPES)
        object.__setattr__(self, "scope", scope)

    def selector(
        self,
        n_operators: int,
        *,
        seed: int | np.random.Generator | None = None,
        budget: int | None = None,
        bests: ArrayLike | None = None,
    ) -> "Selector":
        """Return a selector that follows the method.

        Parameters
        ----------
        n_operators : int
            The number of operators to select from, at least 2.
        seed : int or numpy.random.Generator, optional
            A seed, or a generator to draw from (shared, not copied).
        budget : int, optional
            The number of offspring that will be reported; needed by selections that change toward
            the end of a run.
        bests : array_like, optional
            The best fitness value that each operator starts with (inf: none yet), for rewards that
            compare them (`leader`); the others ignore it.

        Returns
        -------
        Selector
        """
        from uaos.selection.selector import Selector

        return Selector(self, n_operators, seed=seed, budget=budget, bests=bests)

    def for_operators(self, n_operators: int) -> "Method":
        """Return the method with the parameters that it has for `n_operators` operators.

        A minimum probability declared as a share, such as `"0.36/K"`, becomes a number.

        Raises
        ------
        InvalidParameter
            If a parameter does not allow this number of operators, such as p_min >= 1/K.
        """
        fitted = {f: getattr(self, f).for_operators(n_operators) for f in FAMILIES}
        return Method(**fitted, scale_rewards=self.scale_rewards, scope=self.scope)

    def replace(self, **changes: object) -> "Method":
        """Return the method with other components, or other parameters of its components.

        A parameter that several components have (`C`) changes in all of them, unless it is passed
        as `reward_C` or `quality_C`.

        Examples
        --------
        >>> Method().replace(selection="greedy", gamma=0.3).quality
        bellman(c1=1.0, c2=0.9, gamma=0.3, softmax=True)
        """
        recipe = self.to_dict()
        fields = (*FAMILIES, "scale_rewards", "scope")
        recipe.update({k: changes.pop(k) for k in tuple(changes) if k in fields})
        recipe.pop("version")
        chosen = Method(**recipe)
        accepted: dict[str, list[tuple[str, str]]] = {}
        for family in FAMILIES:
            for name in parameters(getattr(chosen, family)):
                accepted.setdefault(name, []).append((family, name))
                accepted.setdefault(f"{family}_{name}", []).append((family, name))
        known_only(changes, dict.fromkeys(fields) | accepted, "this method")
        recipe = chosen.to_dict()
        for key, value in changes.items():
            for family, name in accepted[key]:
                recipe[family][name] = value
        return Method.from_dict(recipe)

    def to_dict(self) -> dict[str, Any]:
        """Return the recipe as plain data, which :meth:`from_dict` reads back."""
        recipe: dict[str, Any] = {"version": FORMAT, "scale_rewards": self.scale_rewards}
        if self.scope != SCOPES[0]:
            recipe["scope"] = self.scope
        for family in FAMILIES:
            component = getattr(self, family)
            values = {name: getattr(component, name) for name in parameters(component)}
            recipe[family] = {"name": component.name, **values}
        return recipe

    @classmethod
    def from_dict(cls, recipe: Mapping[str, Any]) -> Self:
        """Return the method that :meth:`to_dict` described; missing components take defaults."""
        if not isinstance(recipe, Mapping):
            message = (
                f"recipe is {shortened(recipe)}; expected a mapping, as Method.to_dict returns"
            )
            raise InvalidParameter(message, name="recipe", value=recipe)
        values = dict(recipe)
        check_format(values.pop("version", FORMAT))
        known_only(values, dict.fromkeys((*FAMILIES, "scale_rewards", "scope")), "Method")
        return cls(**values)

    def to_toml(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the recipe as TOML text, written to `path` if one is given."""
        return write_toml(self.to_dict(), path)

    @classmethod
    def from_toml(cls, source: str | os.PathLike[str]) -> Self:
        """Read the method in a TOML file (a path), or in TOML text (a string with a line break)."""
        return cls.from_dict(read_toml(source))

    def __repr__(self) -> str:
        parts = [f"{family}={getattr(self, family)!r}" for family in FAMILIES]
        if self.scope != SCOPES[0]:
            parts.append(f"scope={self.scope!r}")
        return f"Method({', '.join(parts)}, scale_rewards={self.scale_rewards})"

    def __rich__(self) -> "Table":
        """Show the recipe on one screen, in the order of the loop."""
        from rich.table import Table

        table = Table(title="method", title_justify="left", show_edge=False, pad_edge=False)
        for column in ("step", "component", "parameters"):
            table.add_column(column, style="bold" if column == "component" else "")
        for family in FAMILIES:
            component = getattr(self, family)
            values = (f"{name} = {getattr(component, name)}" for name in parameters(component))
            table.add_row(family, component.name, ", ".join(values))
            if family == "selection" and self.scope != SCOPES[0]:
                table.add_row("", "", f"for a whole {self.scope}")
            if family == "reward":
                table.add_row("", "", f"scaled to [0, 1]: {'yes' if self.scale_rewards else 'no'}")
        return table


def check_format(version: object) -> None:
    """Refuse a recipe written by a newer version of this package."""
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise InvalidFile(f"version is {shortened(version)}; expected an integer, 1 or more")
    if version > FORMAT:
        raise InvalidFile(
            f"written in format {version} by a newer uaos; this one reads up to {FORMAT}. "
            "Update uaos to read it"
        )
