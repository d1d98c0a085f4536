"""The outcome of a run."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from uaos.optimizers.arguments import Array
from uaos.optimizers.history import History


@dataclass(frozen=True)
class Result:
    """The best point found and how the run went; fields by attribute or, as in SciPy, by key.

    `success` is True when the target was reached, the budget was spent as planned, or the callback
    ended the run; False after Ctrl-C, when no evaluation gave a finite value, and while a run that
    is driven by ask and tell is still under way. `message` says which. `x` is None if no evaluation
    succeeded. `nfev` counts evaluations, `nit` generations. `seed` makes the same run again (None
    if the run was given a generator). `history` is None if it was switched off.
    """

    x: Array | None
    fun: float
    nfev: int
    nit: int
    success: bool
    message: str
    seed: int | None
    history: History | None

    def __getitem__(self, key: str) -> Any:
        if key in self.keys():
            return getattr(self, key)
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __contains__(self, key: object) -> bool:
        return key in self.keys()

    def keys(self) -> list[str]:
        """The names of the fields."""
        return [f.name for f in fields(self)]

    def __repr__(self) -> str:
        shown = {name: getattr(self, name) for name in self.keys()}
        width = max(len(name) for name in shown)
        return "\n".join(f"{name:>{width}}: {value}" for name, value in shown.items())
