"""Base classes of the winners."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from uaos.errors import InvalidParameter
from uaos.optimizers.base.settings import OptimizerSettings
from uaos.optimizers.de.optimizer import DifferentialEvolution
from uaos.optimizers.de.settings import DifferentialEvolutionSettings
from uaos.selection.method import Method

_DECLARED = {declared.name: declared for declared in fields(DifferentialEvolutionSettings)}


def default(name: str, value: object) -> Any:
    """Declare a setting of differential evolution again, with another default."""
    return field(default=value, metadata=_DECLARED[name].metadata)


@dataclass(frozen=True, eq=False)
class WinnerSettings(DifferentialEvolutionSettings):
    """Settings of a winner: those of differential evolution, but for the pool."""

    def __post_init__(self) -> None:
        if self.pool is not None:
            raise InvalidParameter(
                f"{self.title} does not accept operators; it has its own",
                name="operators", value=self.pool,
            )  # fmt: skip
        super().__post_init__()


class Winner(DifferentialEvolution):
    """Differential evolution with the settings of a winner."""

    section: ClassVar[str] = "optimizer"
    settings_class: ClassVar[type[DifferentialEvolutionSettings]] = WinnerSettings
    #: The method that selects among its operators unless another is given.
    default_method: ClassVar[Method | None] = None
    settings: WinnerSettings

    @classmethod
    def needs_method(cls, settings: OptimizerSettings) -> bool:  # noqa: D102 (see Optimizer)
        return False

    def _choose_settings(
        self, settings: object, method: Any, changes: Mapping[str, object]
    ) -> tuple[DifferentialEvolutionSettings, Method | None]:
        chosen = self.settings_class.of(settings)
        return super()._choose_settings(
            chosen, self.default_method if method is None else method, changes
        )

    @property
    def progress(self) -> float:
        """Share of the epoch's evaluations that is spent."""
        return self.epoch.progress(self.evaluations)
