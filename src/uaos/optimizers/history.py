"""What happened in a run, generation by generation, in bounded memory."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from uaos.optimizers.de.protocols import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: More rows than this are never kept: a full history merges its rows two by two.
MAX_ROWS = 4096

# Per row, of the generations that the row stands for: the sum of some columns, the last of others.
_SUMMED = ("counts", "repairs")
_LAST = ("probabilities", "best", "evaluations", "generation", "population", "restarts")


class History:
    """The course of a run, one row for each generation (or, in a long run, 2, 4, 8, … of them).

    `operators`: their names. Columns: `counts` (rows × K: offspring made by each operator),
    `probabilities` (rows × K: at the time they were chosen), `best` (best fitness of the run),
    `evaluations` (spent so far), `generation`, `population` (its size), `restarts` (so far),
    `repairs` (offspring that a bound was enforced on). Past `max_rows` rows every two are merged:
    counts and repairs are added, of the other columns the later value stays.
    """

    def __init__(self, operators: Sequence[str], max_rows: int = MAX_ROWS) -> None:
        self.operators = tuple(operators)
        self.max_rows = max_rows
        K = len(self.operators)
        self._rows = 0
        self._stride = 1  # generations to a row
        self._filled = 0  # generations in the row now being filled
        self._counts = np.zeros((0, K), np.int64)
        self._repairs = np.zeros(0, np.int64)
        self._probabilities = np.zeros((0, K))
        self._best = np.zeros(0)
        self._evaluations = np.zeros(0, np.int64)
        self._generation = np.zeros(0, np.int64)
        self._population = np.zeros(0, np.int64)
        self._restarts = np.zeros(0, np.int64)

    @property
    def counts(self) -> Array:
        """Offspring made by each operator, (rows, K)."""
        return self._counts[: self._rows]

    @property
    def probabilities(self) -> Array:
        """The operators' probabilities when they were chosen, (rows, K)."""
        return self._probabilities[: self._rows]

    @property
    def best(self) -> Array:
        """Best fitness of the run so far."""
        return self._best[: self._rows]

    @property
    def evaluations(self) -> Array:
        """Evaluations spent so far."""
        return self._evaluations[: self._rows]

    @property
    def repairs(self) -> Array:
        """Offspring on which a bound was enforced."""
        return self._repairs[: self._rows]

    @property
    def generation(self) -> Array:
        """The last generation that each row stands for, counted from 1."""
        return self._generation[: self._rows]

    @property
    def population(self) -> Array:
        """Population size."""
        return self._population[: self._rows]

    @property
    def restarts(self) -> Array:
        """Restarts so far."""
        return self._restarts[: self._rows]

    @property
    def stride(self) -> int:
        """How many generations a row stands for."""
        return self._stride

    def __len__(self) -> int:
        return self._rows

    def __repr__(self) -> str:
        return f"<History of {len(self.operators)} operators, {self._rows} rows>"

    def record(
        self,
        counts: Array,
        probabilities: Array,
        best: float,
        evaluations: int,
        generation: int,
        population: int,
        restarts: int,
        repairs: int,
    ) -> None:
        """Add a generation."""
        if self._filled == 0:
            if self._rows == self.max_rows:
                self._thin()
            if self._rows == len(self._best):
                self._grow()
            self._rows += 1
            self._counts[self._rows - 1] = counts
            self._repairs[self._rows - 1] = repairs
        else:
            self._counts[self._rows - 1] += counts
            self._repairs[self._rows - 1] += repairs
        row = self._rows - 1
        self._probabilities[row] = probabilities
        self._best[row] = best
        self._evaluations[row] = evaluations
        self._generation[row] = generation
        self._population[row] = population
        self._restarts[row] = restarts
        self._filled = (self._filled + 1) % self._stride

    def _grow(self) -> None:
        size = min(self.max_rows, max(64, 2 * len(self._best)))
        for name in _SUMMED + _LAST:
            old = getattr(self, f"_{name}")
            new = np.zeros((size, *old.shape[1:]), old.dtype)
            new[: len(old)] = old
            setattr(self, f"_{name}", new)

    def _thin(self) -> None:
        half = self._rows // 2
        for name in _SUMMED:
            column = getattr(self, f"_{name}")
            column[:half] = column[: 2 * half : 2] + column[1 : 2 * half : 2]
        for name in _LAST:
            column = getattr(self, f"_{name}")
            column[:half] = column[1 : 2 * half : 2].copy()
        self._rows = half
        self._stride *= 2

    def to_frame(self) -> Any:
        """The history as a pandas DataFrame; without pandas, as a dict of NumPy columns."""
        columns: dict[str, Array] = {
            name: getattr(self, name).copy()
            for name in ("generation", "evaluations", "best", "population", "restarts", "repairs")
        }
        for k, name in enumerate(self.operators):
            columns[f"count {name}"] = self.counts[:, k].copy()
        for k, name in enumerate(self.operators):
            columns[f"probability {name}"] = self.probabilities[:, k].copy()
        try:
            import pandas  # type: ignore[import-not-found,import-untyped,unused-ignore]
        except ImportError:
            return columns
        return pandas.DataFrame(columns)

    def plot(self, path: Any = None, *, f_opt: float | None = None) -> "Figure":
        """Operator use above, best fitness below; written to `path` if one is given."""
        from uaos.optimizers.picture import draw

        return draw(self, path, f_opt)

    def state(self) -> dict[str, Any]:
        """The history as plain values and arrays."""
        columns = {name: getattr(self, name).copy() for name in _SUMMED + _LAST}
        return {
            "operators": list(self.operators), "max_rows": self.max_rows,
            "stride": self._stride, "filled": self._filled, "columns": columns,
        }  # fmt: skip

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "History":
        """The inverse of :meth:`state`."""
        made = cls(state["operators"], state["max_rows"])
        made._stride, made._filled = state["stride"], state["filled"]
        made._rows = len(state["columns"]["best"])
        for name, column in state["columns"].items():
            setattr(made, f"_{name}", np.array(column))
        return made
