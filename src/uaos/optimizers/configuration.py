"""Configuration: an optimizer with its settings and, where it selects, its method."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from uaos.checks import printable_name
from uaos.errors import InvalidFile, InvalidParameter, UaosError, shortened
from uaos.files import read_toml, write_toml
from uaos.optimizers.base import Optimizer
from uaos.optimizers.base.settings import OptimizerSettings
from uaos.optimizers.registration import register
from uaos.optimizers.registry import optimizer_class, optimizer_classes
from uaos.params import known_only
from uaos.problems.space import BoundsLike
from uaos.selection.components import FAMILIES
from uaos.selection.method import FORMAT, Method, check_format

if TYPE_CHECKING:
    from rich.console import RenderableType

#: The optimizer of a configuration that names none.
DEFAULT_OPTIMIZER = "DE"

#: Name of uniform choice, and of the control that has it in place of a configuration's method.
UNIFORM = "uniform"

#: Selections that hand out shares instead of drawing; a control keeps them.
_BY_SHARE = ("largest_deficit", "shares")

#: The settings that a bare method runs with: the population size is chosen for each run.
FOR_ANY_RUN = {"NP": None}

_PARTS = ("name", "reference", "note", "method", "de", "optimizer", "tuning")


@dataclass(frozen=True, init=False)
class Configuration:
    """Optimizer with all its settings, under a name.

    Parameters
    ----------
    name : str
        The name in tables and figures.
    method : Method, optional
        Selects among operators (or members). None where there is nothing to select.
    settings : OptimizerSettings or mapping, optional
        The settings, an instance of the optimizer's `settings_class`; a mapping of names to values
        becomes one.
    reference, note : str
        A publication, and further information.
    kind : str
        "method" for a method of the literature (its settings are the defaults), "tuned",
        "baseline", "original" for an algorithm of the literature with its own settings,
        "winner" of a competition, "optimizer", or "custom" for a user's.
    tuning : mapping
        How a tuner found the configuration (training set, seed, budget, versions); it does not
        change the run.
    optimizer : str
        The name of the optimizer.

    Raises
    ------
    InvalidParameter
        If the name is empty, or settings and method do not fit the optimizer.
    UnknownName
        If there is no such optimizer or setting.

    Examples
    --------
    >>> import uaos
    >>> small = uaos.Configuration("small", optimizer="CMA-ES", settings={"popsize": 6})
    >>> small.build([(-5, 5)] * 2, seed=1).ask().shape
    (6, 2)
    """

    name: str
    method: Method | None
    settings: OptimizerSettings
    reference: str
    note: str
    kind: str
    tuning: Mapping[str, object] = field(compare=False)
    optimizer: str

    def __init__(
        self,
        name: str,
        method: Method | None = None,
        settings: OptimizerSettings | Mapping[str, object] | None = None,
        reference: str = "",
        note: str = "",
        kind: str = "custom",
        tuning: Mapping[str, object] = MappingProxyType({}),
        optimizer: str = DEFAULT_OPTIMIZER,
    ) -> None:
        name = printable_name(name, "name")
        cls = optimizer_class(optimizer)
        checked = cls.settings_class.of(settings)
        if method is None and cls.needs_method(checked):
            raise InvalidParameter(
                f"{name} has no method; with several operators it needs one. Give method=",
                name="method", value=None,
            )  # fmt: skip
        if method is not None and not cls.selects:
            raise InvalidParameter(
                f"{name} has a method, but {optimizer} does not select among operators",
                name="method", value=method,
            )  # fmt: skip
        values = (name, method, checked, reference, note, kind, dict(tuning), optimizer)
        for part, value in zip(fields(self), values, strict=True):
            object.__setattr__(self, part.name, value)

    def __repr__(self) -> str:
        settings = self.settings.to_dict()
        parts = [repr(self.name), f"optimizer={self.optimizer!r}"]
        parts += [f"method={self.method!r}"] if self.method is not None else []
        parts += [f"settings={shortened(settings)}"] if settings else []
        return f"Configuration({', '.join(parts)})"

    # A worker process that receives a configuration of a custom optimizer needs its class, too.

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "optimizer_class": optimizer_classes().get(self.optimizer)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        kind = state.pop("optimizer_class")
        if kind is not None:
            register(kind)
        for name, value in state.items():
            object.__setattr__(self, name, value)

    def build(
        self,
        bounds: BoundsLike,
        *,
        seed: int | np.random.Generator | None = None,
        budget: int | None = None,
        target: float | None = None,
        x0: ArrayLike | None = None,
        history: bool = True,
        integrality: ArrayLike | None = None,
        **changes: object,
    ) -> Optimizer:
        """Return the optimizer, ready to run on a box.

        Parameters
        ----------
        bounds, seed, budget, target, x0, history, integrality
            As for every :class:`uaos.Optimizer`.
        **changes
            Settings of the optimizer that replace those of the configuration.
        """
        return optimizer_class(self.optimizer)(
            bounds, self.settings, method=self.method, seed=seed, budget=budget, target=target,
            x0=x0, history=history, integrality=integrality, **changes,
        )  # fmt: skip

    def with_uniform_choice(self) -> "Configuration":
        """Return the control: the same optimizer and settings, every alternative with equal chance.

        What the configuration achieves beyond its control is due to adapting, the rest to its
        operators and settings.

        Returns
        -------
        Configuration
            Its name is that of this one with " (uniform)" added.

        Raises
        ------
        InvalidParameter
            If the configuration has nothing to select.

        Examples
        --------
        >>> import uaos
        >>> uaos.configuration("U-AOS-FW-inferred").with_uniform_choice().name
        'U-AOS-FW-inferred (uniform)'
        """
        if not self.selects:
            raise InvalidParameter(
                f"{self.name} does not select among operators, so it has no control with uniform "
                "choice; expected a configuration that selects",
                name="configuration", value=self.name,
            )  # fmt: skip
        return replace(
            self, name=f"{self.name} ({UNIFORM})", method=uniform_method(self.method),
            note=f"{self.name} with uniform choice: what adapting has to beat.", kind="baseline",
        )  # fmt: skip

    @property
    def selects(self) -> bool:
        """Whether a run selects among operators or members."""
        return self.method is not None or optimizer_class(self.optimizer).always_selects

    def check(self, dimension: int, budget: int) -> None:
        """Raise if the configuration cannot run in this dimension with this budget."""
        self.build([(-1.0, 1.0)] * dimension, seed=0, budget=budget, history=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the configuration as plain data, which :meth:`from_dict` reads back."""
        data: dict[str, Any] = {"version": FORMAT, "name": self.name}
        data |= {"reference": self.reference, "note": self.note}
        if self.method is not None:
            data["method"] = self.method.to_dict()
        section, settings = optimizer_class(self.optimizer).section, self.settings.to_dict()
        data[section] = {"name": self.optimizer, **settings} if section == "optimizer" else settings
        if self.tuning:
            data["tuning"] = dict(self.tuning)
        return data

    @classmethod
    def from_dict(
        cls, data: Mapping[str, Any], custom: Mapping[str, object] | None = None
    ) -> "Configuration":
        """Return the configuration that :meth:`to_dict` described.

        Parameters
        ----------
        data : mapping
            What is left out takes its default.
        custom : mapping, optional
            Custom operators of a pool, by name, that are not registered.
        """
        if not isinstance(data, Mapping):
            raise InvalidParameter(
                f"configuration is {shortened(data)}; expected a mapping, as to_dict returns it",
                name="configuration", value=data,
            )  # fmt: skip
        values = dict(data)
        check_format(values.pop("version", FORMAT))
        known_only(values, dict.fromkeys(_PARTS), "the configuration")
        _check_types(values)
        kind, stored = _optimizer_and_settings(values)
        settings = kind.settings_class.from_dict(stored, custom)
        recipe = values.pop("method", None)
        if recipe is None and kind.needs_method(settings):
            recipe = {}
        method = None if recipe is None else Method.from_dict(recipe)
        name = values.pop("name", "unnamed")
        return cls(name, method, settings, optimizer=kind.name, **values)

    def to_toml(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the configuration as a TOML string, written to `path` if one is given."""
        return write_toml(self.to_dict(), path)

    @classmethod
    def from_toml(cls, source: str | os.PathLike[str]) -> "Configuration":
        """Return the configuration in a TOML file, or in a TOML string (with a line break).

        The file of a bare method, as :meth:`uaos.Method.to_toml` writes it, is accepted too: it
        runs in the default differential evolution.
        """
        data = read_toml(source)
        where = "the text" if isinstance(source, str) and "\n" in source else os.fspath(source)
        try:
            if any(family in data for family in FAMILIES):
                stem = "unnamed" if where == "the text" else Path(where).stem
                return cls(stem, Method.from_dict(data), FOR_ANY_RUN)
            return cls.from_dict(data)
        except UaosError as error:
            raise InvalidFile(f"{where}: {error}") from error

    def __rich__(self) -> "RenderableType":
        """Show the recipe on one screen."""
        from rich.console import Group
        from rich.text import Text

        parts: list[RenderableType] = [Text(self.name, style="bold")]
        parts += [Text(line) for line in (self.reference, self.note) if line]
        if self.method is not None:
            parts.append(self.method)
        return Group(*parts)


def uniform_method(like: Method | None = None) -> Method:
    """Return uniform choice: with δ = 0 the qualities stay at 1/K.

    It chooses for as many offspring at a time as the method `like`, and keeps a selection that
    hands out shares.
    """
    by_share = like is not None and like.selection.name in _BY_SHARE
    return Method(
        "parent_improvement", "immediate_success", {"name": "weighted_sum", "delta": 0.0},
        "identity", like.selection.name if like is not None and by_share else "proportional",
        scope="offspring" if like is None else like.scope,
    )  # fmt: skip


def _check_types(values: Mapping[str, object]) -> None:
    """Check that the parts of a configuration are mappings and strings."""
    for part in _PARTS:
        kind, expected = (str, "a string") if part in _PARTS[:3] else (Mapping, "a mapping")
        if part in values and not isinstance(values[part], kind):
            raise InvalidParameter(
                f"{part} of the configuration is {shortened(values[part])}; expected {expected}",
                name=part, value=values[part],
            )  # fmt: skip


def _optimizer_and_settings(values: dict[str, Any]) -> tuple[type[Optimizer], dict[str, Any]]:
    """Take the optimizer and its stored settings out of the parts of a configuration."""
    default = optimizer_class(DEFAULT_OPTIMIZER)
    if "optimizer" not in values:
        return default, dict(values.pop(default.section, {}))
    if default.section in values:
        raise InvalidParameter(
            f"the configuration has both [{default.section}] and [optimizer]; expected one of them",
            name=default.section, value=values[default.section],
        )  # fmt: skip
    stored = dict(values.pop("optimizer"))
    return optimizer_class(stored.pop("name", None)), stored
