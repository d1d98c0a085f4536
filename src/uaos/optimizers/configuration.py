"""Configuration: a method together with the differential evolution it runs in."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from uaos.errors import InvalidFile, InvalidParameter, UaosError
from uaos.optimizers.de.settings import Settings
from uaos.params import known_only
from uaos.selection.components import FAMILIES
from uaos.selection.method import FORMAT, Method, check_format, read_toml, write_toml


@dataclass(frozen=True)
class Configuration:
    """A method plus the settings of the differential evolution it was made for.

    `method` is None where the pool has a single operator, so that there is nothing to select.
    `kind` is "method" for a method of the literature (its settings are the defaults), "tuned" or
    "baseline" for the others, "own" for a user's. `tuning` says how a configuration was found by a
    tuner (training set, seed, budget, versions); it does not change what is run.
    """

    name: str
    method: Method | None
    settings: Settings
    reference: str = ""
    note: str = ""
    kind: str = "own"
    tuning: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        if self.method is None and len(self.settings.members) > 1:
            raise InvalidParameter(
                "method", None, "a method, as the pool has several operators", owner=self.name
            )

    def to_dict(self) -> dict[str, Any]:
        """The configuration as plain data, which :meth:`from_dict` reads back."""
        data: dict[str, Any] = {"version": FORMAT, "name": self.name}
        data |= {"reference": self.reference, "note": self.note}
        if self.method is not None:
            data["method"] = self.method.to_dict()
        data["de"] = self.settings.to_dict()
        if self.tuning:
            data["tuning"] = dict(self.tuning)
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Configuration":
        """The configuration that :meth:`to_dict` described; what is left out takes its default."""
        if not isinstance(data, Mapping):
            raise InvalidParameter("configuration", data, "a table, as to_dict gives it")
        values = dict(data)
        check_format(values.pop("version", FORMAT))
        known = ("name", "reference", "note", "method", "de", "tuning")
        known_only(values, dict.fromkeys(known), "the configuration")
        for part in ("method", "de", "tuning"):
            if not isinstance(values.get(part, {}), Mapping):
                raise InvalidParameter(part, values[part], "a table", owner="the configuration")
        for part in ("name", "reference", "note"):
            if not isinstance(values.get(part, ""), str):
                raise InvalidParameter(part, values[part], "a text", owner="the configuration")
        settings = Settings.from_dict(values.pop("de", {}))
        recipe = values.pop("method", None)
        if recipe is None and len(settings.members) > 1:
            recipe = {}
        method = None if recipe is None else Method.from_dict(recipe)
        return cls(values.pop("name", "unnamed"), method, settings, **values)

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

    def __rich__(self) -> RenderableType:
        """The recipe on one screen."""
        parts: list[RenderableType] = [Text(self.name, style="bold")]
        parts += [Text(line) for line in (self.reference, self.note) if line]
        if self.method is not None:
            parts.append(self.method)
        return Group(*parts)
