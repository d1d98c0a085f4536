"""Configuration: an optimizer with its settings and, where it selects, its method."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from uaos.errors import InvalidFile, InvalidParameter, UaosError
from uaos.files import read_toml, write_toml
from uaos.optimizers.base import (
    Optimizer,
    custom_operators,
    optimizer,
    optimizers,
    register,
    settings_of,
)
from uaos.optimizers.de.operators import CustomOperator, Operator
from uaos.optimizers.de.settings import STORED_NAMES, Settings
from uaos.params import known_only
from uaos.selection.components import FAMILIES
from uaos.selection.method import FORMAT, Method, check_format

#: The optimizer whose settings have a class of their own.
DE = "DE"


@dataclass(frozen=True)
class Configuration:
    """An optimizer with all its settings, under a name.

    Parameters
    ----------
    name : str
        What it is called in tables and figures.
    method : Method, optional
        Selects among operators (or members). None where there is nothing to select.
    settings : Settings or mapping
        For differential evolution its :class:`~uaos.optimizers.de.settings.Settings`, for any other
        optimizer the keyword arguments of its constructor.
    reference, note : str
        A publication, and what else there is to know.
    kind : str
        "method" for a method of the literature (its settings are the defaults), "tuned",
        "baseline", "original" for an algorithm of the literature with its own settings,
        "winner" of a competition, "optimizer", or "custom" for a user's.
    tuning : mapping
        How the configuration was found by a tuner (training set, seed, budget, versions); it does
        not change what is run.
    optimizer : str
        The name of the optimizer.

    Raises
    ------
    InvalidParameter
        If the name is empty, or settings and method do not fit the optimizer.

    Examples
    --------
    >>> import uaos
    >>> small = uaos.Configuration("small", optimizer="CMA-ES", settings={"popsize": 6})
    >>> small.build([(-5, 5)] * 2, seed=1).ask().shape
    (6, 2)
    """

    name: str
    method: Method | None = None
    settings: Any = None
    reference: str = ""
    note: str = ""
    kind: str = "custom"
    tuning: Mapping[str, Any] = field(default_factory=dict, compare=False)
    optimizer: str = DE

    def __post_init__(self) -> None:
        if not (isinstance(self.name, str) and self.name.strip() and self.name.isprintable()):
            raise InvalidParameter("name", self.name, "a string of printable characters")
        if self.settings is None:
            object.__setattr__(self, "settings", Settings() if self.optimizer == DE else {})
        if self.optimizer != DE:
            return
        if not isinstance(self.settings, Settings):
            raise InvalidParameter("settings", self.settings, "Settings of uaos.optimizers.de")
        if self.method is None and len(self.settings.members) > 1:
            raise InvalidParameter(
                "method", None, "a method, as the pool has several operators", owner=self.name
            )

    # A worker process that gets a configuration of a custom optimizer needs its class as well.

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "optimizer_class": optimizers().get(self.optimizer)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        made = state.pop("optimizer_class")
        if made is not None:
            register(made)
        for name, value in state.items():
            object.__setattr__(self, name, value)

    def build(
        self,
        bounds: Any,
        *,
        seed: int | np.random.Generator | None = None,
        budget: int | None = None,
        target: float | None = None,
        x0: Any = None,
        history: bool = True,
        integrality: Any = None,
        **settings: Any,
    ) -> Optimizer:
        """Return the optimizer, ready to run on a box.

        Parameters
        ----------
        bounds, seed, budget, target, x0, history, integrality
            As for every :class:`uaos.Optimizer`.
        **settings
            Settings of the optimizer that replace those of the configuration.
        """
        made: Any = optimizer(self.optimizer)
        given: dict[str, Any] = {"seed": seed, "budget": budget, "target": target, "x0": x0}
        given["history"] = history
        if integrality is not None:
            if "integrality" not in made.handles:
                raise InvalidParameter(
                    "integrality", integrality, f"None: {self.name} takes no integer coordinates"
                )
            given["integrality"] = integrality
        if self.optimizer == DE:
            return cast(Optimizer, made(bounds, method=self, **given, **settings))
        chosen = {**self.settings, **settings}
        if self.method is not None:
            chosen.setdefault("method", self.method)
        known_only(chosen, settings_of(made), self.optimizer)
        return cast(Optimizer, made(bounds, **given, **chosen))

    def check(self, dimension: int, budget: int) -> None:
        """Raise if the configuration cannot run at all in this dimension and with this budget."""
        self.build([(-1.0, 1.0)] * dimension, seed=0, budget=budget, history=False)

    def to_dict(self) -> dict[str, Any]:
        """The configuration as plain data, which :meth:`from_dict` reads back."""
        data: dict[str, Any] = {"version": FORMAT, "name": self.name}
        data |= {"reference": self.reference, "note": self.note}
        if self.method is not None:
            data["method"] = self.method.to_dict()
        if self.optimizer == DE:
            data["de"] = self.settings.to_dict()
        else:
            data["optimizer"] = {"name": self.optimizer, **self.settings}
        if self.tuning:
            data["tuning"] = dict(self.tuning)
        return data

    @classmethod
    def from_dict(
        cls, data: Mapping[str, Any], custom: Mapping[str, CustomOperator] | None = None
    ) -> "Configuration":
        """The configuration that :meth:`to_dict` described; what is left out takes its default.

        `custom` gives the custom operators of a pool, by name, that are not registered.
        """
        if not isinstance(data, Mapping):
            raise InvalidParameter("configuration", data, "a mapping, as to_dict gives it")
        values = dict(data)
        check_format(values.pop("version", FORMAT))
        known = ("name", "reference", "note", "method", "de", "optimizer", "tuning")
        known_only(values, dict.fromkeys(known), "the configuration")
        for part in ("method", "de", "optimizer", "tuning"):
            if not isinstance(values.get(part, {}), Mapping):
                raise InvalidParameter(part, values[part], "a mapping", owner="the configuration")
        for part in ("name", "reference", "note"):
            if not isinstance(values.get(part, ""), str):
                raise InvalidParameter(part, values[part], "a string", owner="the configuration")
        recipe = values.pop("method", None)
        if "optimizer" in values:
            if "de" in values:
                raise InvalidParameter(
                    "de", "given", "one of [de] and [optimizer]", owner="the configuration"
                )
            settings: Any = dict(values.pop("optimizer"))
            kind = settings.pop("name", None)
            known_only(settings, settings_of(optimizer(kind)), str(kind))
        else:
            own = {**custom_operators(), **(custom or {})}
            kind, settings = DE, Settings.from_dict(values.pop("de", {}), own)
            if recipe is None and len(settings.members) > 1:
                recipe = {}
        method = None if recipe is None else Method.from_dict(recipe)
        return cls(values.pop("name", "unnamed"), method, settings, optimizer=kind, **values)

    def to_toml(self, path: str | os.PathLike[str] | None = None) -> str:
        """The configuration as TOML text, written to `path` if one is given."""
        return write_toml(self.to_dict(), path)

    @classmethod
    def from_toml(cls, source: str | os.PathLike[str]) -> "Configuration":
        """The configuration in a TOML file (a path), or in TOML text (with a line break).

        The file of a bare method, as :meth:`uaos.Method.to_toml` writes it, is accepted too: it
        runs in the default differential evolution.
        """
        data = read_toml(source)
        where = "the text" if isinstance(source, str) and "\n" in source else os.fspath(source)
        try:
            if any(family in data for family in FAMILIES):
                stem = "unnamed" if where == "the text" else Path(where).stem
                return cls(stem, Method.from_dict(data), Settings(NP=None))
            return cls.from_dict(data)
        except UaosError as error:
            raise InvalidFile(f"{where}: {error}") from error

    def setting_texts(self) -> dict[str, str]:
        """The settings of differential evolution that matter to the recipe, but for the pool."""
        custom = [m for m in self.settings.pool or () if isinstance(m, Operator)]
        shown = {}
        names = {stored: name for name, stored in STORED_NAMES.items()}
        for stored, value in self.settings.to_dict().items():
            name = names.get(stored, stored)
            # An F or CR that every operator replaces by its own is not part of the recipe.
            given = [getattr(m, name) is not None for m in custom] if name in ("F", "CR") else []
            if name == "pool" or (given and all(given)):
                continue
            shown[name] = str(value)
            if isinstance(value, Mapping):
                rest = ", ".join(f"{k} {v}" for k, v in value.items() if k != "rule")
                shown[name] = f"{value['rule']} ({rest})" if rest else str(value["rule"])
        return shown

    def operator_texts(self) -> list[tuple[str, str, str, str]]:
        """Name, strategy, F and CR of each operator of differential evolution."""
        rows = []
        for name, member in zip(self.settings.names, self.settings.members, strict=True):
            given = ("", "", "")
            if isinstance(member, Operator):
                top = "" if member.top_NP is None else f", top_NP {member.top_NP:g}"
                given = (member.strategy + top, str(member.F), str(member.CR))
            rows.append((name, *given))
        return rows

    def __rich__(self) -> RenderableType:
        """The recipe on one screen."""
        parts: list[RenderableType] = [Text(self.name, style="bold")]
        parts += [Text(line) for line in (self.reference, self.note) if line]
        if self.method is not None:
            parts.append(self.method)
        return Group(*parts)
