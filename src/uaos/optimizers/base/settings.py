"""Settings of optimizers: dataclasses with fields declared by :mod:`uaos.params`."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Self

from uaos.errors import InvalidParameter, shortened
from uaos.params import check_fields, known_only


@dataclass(frozen=True)
class OptimizerSettings:
    """Base class of settings, without fields.

    A subclass is a frozen dataclass with a default for each field. Fields that are declared by
    :func:`uaos.real`, :func:`uaos.integer` or :func:`uaos.choice` are checked, documented and saved
    as they are; for others override `__post_init__`, `to_dict` and `from_dict`.

    Raises
    ------
    InvalidParameter
        If a setting is out of range.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import uaos
    >>> @dataclass(frozen=True)
    ... class WalkSettings(uaos.OptimizerSettings):
    ...     batch: int = uaos.integer(1, 100, default=4, doc="points per batch")
    >>> WalkSettings(batch=8).to_dict()
    {'batch': 8}
    """

    #: The name of the optimizer in messages.
    title: ClassVar[str] = "the optimizer"
    #: What replaces ``boundary="none"`` where points must stay inside the bounds.
    repair: ClassVar[str] = ""
    #: Alternative names of keyword arguments, and the fields they stand for.
    aliases: ClassVar[Mapping[str, str]] = MappingProxyType({})

    def __post_init__(self) -> None:
        check_fields(self, "")

    @classmethod
    def of(cls, value: object) -> Self:
        """Return settings from settings, a mapping of names to values, or None (the defaults)."""
        if value is None:
            return cls()
        if isinstance(value, cls):
            return value
        if isinstance(value, Mapping):
            return cls.from_dict(value)
        raise InvalidParameter(
            f"settings is {shortened(value)}; expected {cls.__name__}, a mapping, or None",
            name="settings", value=value,
        )  # fmt: skip

    def kept_inside(self) -> Self:
        """Return settings with which no point leaves the bounds."""
        if self.repair and getattr(self, "boundary", "") == "none":
            return dataclasses.replace(self, **{"boundary": self.repair})
        return self

    @classmethod
    def keywords(cls) -> tuple[str, ...]:
        """Return the names that the settings have as keyword arguments."""
        aliases = {field: alias for alias, field in cls.aliases.items()}
        return tuple(aliases.get(field.name, field.name) for field in dataclasses.fields(cls))

    def changed(self, changes: Mapping[str, object]) -> Self:
        """Return the settings with some replaced; None leaves a setting as it is.

        Raises
        ------
        UnknownName
            If there is no such setting.
        """
        fields = {field.name: field for field in dataclasses.fields(self)}
        known_only(changes, {**fields, **self.aliases}, self.title)
        values: dict[str, object] = {
            self.aliases.get(name, name): value
            for name, value in changes.items()
            if value is not None
        }
        return dataclasses.replace(self, **values) if values else self

    @property
    def alternatives(self) -> int:
        """Number of operators, or members, among which a run selects."""
        return 1

    # Plain data

    def to_dict(self) -> dict[str, object]:
        """Return the settings that differ from their defaults, as plain data that TOML can hold."""
        return {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if getattr(self, field.name) != field.default
        }

    @classmethod
    def from_dict(
        cls, data: Mapping[str, object], custom: Mapping[str, object] | None = None
    ) -> Self:
        """Return the settings that :meth:`to_dict` described.

        Parameters
        ----------
        data : mapping
            Settings by name; those left out take their defaults.
        custom : mapping, optional
            Objects that plain data only names, such as custom operators.

        Raises
        ------
        UnknownName
            If there is no such setting.
        """
        known_only(data, {field.name: field for field in dataclasses.fields(cls)}, cls.title)
        return cls(**data)

    # For tables

    def texts(self) -> dict[str, str]:
        """Return the settings as strings."""
        return {field.name: str(getattr(self, field.name)) for field in dataclasses.fields(self)}

    def summary(self) -> str:
        """Return the settings that differ from their defaults, in one line."""
        return ", ".join(f"{name} {value}" for name, value in self.to_dict().items())

    def operator_texts(self) -> list[tuple[str, str, str, str]]:
        """Return name, strategy, F and CR of each operator, if the optimizer has operators."""
        return []
