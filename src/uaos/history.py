"""The course of a run, iteration by iteration, in bounded memory."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uaos.arrays import FloatArray, IntArray
from uaos.extras import as_frame
from uaos.text import count

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Largest number of rows: a full history merges its rows two by two.
MAX_ROWS = 4096

# Number of iterations that enter the columns together.
_MAX_PENDING = 128

# The columns of every history, with their types.
_ALWAYS = {
    "counts": np.int64,
    "probabilities": np.float64,
    "best": np.float64,
    "evaluations": np.int64,
    "iteration": np.int64,
}
# Columns with one number per row.
_SINGLE = ("best", "evaluations", "iteration")
# Further columns that hold integers; all others hold floats.
_INTEGERS = ("population", "popsize", "restarts", "repairs")
# A merged row has the sum of these columns, and of all others the later value.
_SUMMED = ("counts", "repairs")


class History:
    """The course of a run, one row per iteration (in a long run, one per 2, 4, 8, … iterations).

    Parameters
    ----------
    operators : sequence of str
        The alternatives among which the run selects: operators, or the members of a portfolio.
        Empty if it selects nothing.
    columns : sequence of str
        Further columns, such as ``"sigma"``. Each becomes an attribute. Values are floats, those
        of ``population``, ``popsize``, ``restarts`` and ``repairs`` integers.
    max_rows : int
        The maximum number of rows. Beyond it, every two rows are merged into one: counts and
        repairs are added, every other column keeps the later value.

    Attributes
    ----------
    operators, columns : tuple of str
        As passed.
    counts : ndarray, shape (rows, K)
        Evaluations of each alternative.
    probabilities : ndarray, shape (rows, K)
        Their probabilities when they were selected.
    best, evaluations, iteration : ndarray, shape (rows,)
        The best fitness, the evaluations and the iterations so far.
    estimates : ndarray, shape (n, 3)
        If the function is noisy: evaluations, the mean of the values at the best candidate then,
        and its standard error. `best` is the luckiest value.

    Examples
    --------
    >>> import uaos
    >>> history = uaos.History(columns=("sigma",))
    >>> history.record(evaluations=10, best=3.5, iteration=1, sigma=0.3)
    >>> history.sigma.tolist()
    [0.3]
    """

    def __init__(
        self,
        operators: Sequence[str] = (),
        columns: Sequence[str] = (),
        max_rows: int = MAX_ROWS,
    ) -> None:
        self.operators = tuple(operators)
        self.columns = tuple(columns)
        self.max_rows = max_rows
        # Recorded, but not in the columns yet: numbers, counts and probabilities.
        self._pending: list[tuple[tuple[float, ...], IntArray | None, FloatArray | None]] = []
        self.estimates = np.zeros((0, 3))
        self._rows = 0
        self._stride = 1  # iterations per row
        self._filled = 0  # iterations in the row being filled
        self._data: dict[str, FloatArray] = {}
        for name, kind in _ALWAYS.items():
            shape = (0, len(self.operators)) if name in ("counts", "probabilities") else (0,)
            self._data[name] = np.zeros(shape, kind)
        for name in self.columns:
            self._data[name] = np.zeros(0, np.int64 if name in _INTEGERS else np.float64)

    def __getattr__(self, name: str) -> FloatArray:
        data = self.__dict__.get("_data", {})
        if name in data:
            self._enter()
            column: FloatArray = data[name][: self._rows]
            return column
        raise AttributeError(f"this history has no column {name!r}; it has: {', '.join(data)}")

    @property
    def generation(self) -> FloatArray:
        """Iterations, under the name that evolutionary algorithms use."""
        return self.iteration

    @property
    def stride(self) -> int:
        """Iterations per row."""
        self._enter()
        return self._stride

    def __len__(self) -> int:
        self._enter()
        return self._rows

    def __repr__(self) -> str:
        return f"<History of {count(len(self.operators), 'operator')}, {count(len(self), 'row')}>"

    def record(
        self,
        *,
        evaluations: int,
        best: float,
        iteration: int,
        counts: ArrayLike | None = None,
        probabilities: ArrayLike | None = None,
        **columns: float,
    ) -> None:
        """Add an iteration, with a value for each further column.

        `counts` and `probabilities` are needed where there are operators.
        """
        if tuple(columns) != self.columns:
            if columns.keys() != set(self.columns):
                raise TypeError(
                    f"the history has the columns {', '.join(self.columns) or 'none'}; "
                    f"recorded were {', '.join(columns) or 'none'}"
                )
            columns = {name: columns[name] for name in self.columns}
        numbers = (best, evaluations, iteration, *columns.values())
        if self.operators:  # copies, as the caller may change them
            self.append(numbers, np.array(counts, np.int64), np.array(probabilities, np.float64))
        else:
            self.append(numbers)

    def append(
        self,
        numbers: tuple[float, ...],
        counts: IntArray | None = None,
        probabilities: FloatArray | None = None,
    ) -> None:
        """Add an iteration without checks: best, evaluations, iteration, then further columns.

        The arrays are not copied, so they must not change any more.
        """
        self._pending.append((numbers, counts, probabilities))
        if len(self._pending) == _MAX_PENDING:
            self._enter()

    def add_operators(self, names: Sequence[str]) -> None:
        """Add operators later on; they have no share of the rows so far."""
        self._enter()
        self.operators += tuple(names)
        for name in ("counts", "probabilities"):
            self._data[name] = np.pad(self._data[name], ((0, 0), (0, len(names))))

    def note_estimate(self, evaluations: int, mean: float, error: float) -> None:
        """Add an estimate of the best value of a noisy function."""
        self.estimates = np.vstack([self.estimates, [evaluations, mean, error]])

    def _enter(self) -> None:
        """Bring the columns up to date: many rows at once take less time than one by one."""
        if self._pending:
            rows, counts, probabilities = zip(*self._pending, strict=True)
            self._pending = []
            names, values = (*_SINGLE, *self.columns), zip(*rows, strict=True)
            columns = dict(zip(names, map(np.array, values), strict=True))
            if self.operators:
                columns["counts"] = np.concatenate(counts).reshape(len(rows), -1)
                columns["probabilities"] = np.concatenate(probabilities).reshape(len(rows), -1)
            self.extend(**columns)

    def extend(self, **columns: NDArray[np.generic]) -> None:
        """Add several iterations, with an array for each column."""
        self._enter()
        done, count = 0, len(columns["best"])
        while done < count:
            if self._filled == 0 and self._rows == self.max_rows:
                self._thin()
            # Whole rows as far as they go, otherwise a part of one.
            rows = min((count - done) // self._stride, self.max_rows - self._rows)
            used = rows * self._stride
            if self._filled or rows == 0:
                rows, used = 1, min(self._stride - self._filled, count - done)
            fresh = self._filled == 0
            start = self._rows if fresh else self._rows - 1
            while start + rows > len(self._data["best"]):
                self._grow()
            for name, values in columns.items():
                held = self._data[name][start : start + rows]
                each = values[done : done + used].reshape(rows, -1, *held.shape[1:])
                if name in _SUMMED:
                    held[:] = each.sum(axis=1) + (0 if fresh else held)
                else:
                    held[:] = each[:, -1]
            self._rows = start + rows
            self._filled = (self._filled + used) % self._stride
            done += used

    def _grow(self) -> None:
        size = min(self.max_rows, max(64, 2 * len(self._data["best"])))
        for name, old in self._data.items():
            new = np.zeros((size, *old.shape[1:]), old.dtype)
            new[: len(old)] = old
            self._data[name] = new

    def _thin(self) -> None:
        half = self._rows // 2
        for name, column in self._data.items():
            later = column[1 : 2 * half : 2]
            column[:half] = column[: 2 * half : 2] + later if name in _SUMMED else later.copy()
        self._rows = half
        self._stride *= 2

    def coarsened(self, max_rows: int) -> "History":
        """Return a copy of at most `max_rows` rows, merged like those of a full history."""
        self._enter()
        step = 1
        while self._rows > step * max_rows:
            step *= 2
        first = np.arange(0, self._rows, step)
        last = np.minimum(first + step, self._rows) - 1
        coarse = History(self.operators, self.columns, max_rows)
        coarse._rows, coarse._stride = len(first), self._stride * step
        for name in self._data:
            column = getattr(self, name)
            if name in _SUMMED and len(first):
                coarse._data[name] = np.add.reduceat(column, first, axis=0)
            else:
                coarse._data[name] = column[last]
        return coarse

    def negated(self) -> "History":
        """Return a copy whose best values and estimates have the opposite sign."""
        state = self.state()
        state["data"]["best"] = -state["data"]["best"]
        state["estimates"][:, 1] *= -1
        return History.from_state(state)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame; without pandas, a dict of NumPy columns."""
        names = ("iteration", "evaluations", "best", *self.columns)
        columns: dict[str, FloatArray] = {name: getattr(self, name).copy() for name in names}
        for k, name in enumerate(self.operators):
            columns[f"count {name}"] = self.counts[:, k].copy()
        for k, name in enumerate(self.operators):
            columns[f"probability {name}"] = self.probabilities[:, k].copy()
        return as_frame(columns)

    def plot(
        self, path: str | os.PathLike[str] | None = None, *, f_opt: float | None = None
    ) -> "Figure":
        """Draw the run: use of the operators, if there are any, best fitness, further columns.

        Parameters
        ----------
        path : path-like, optional
            A file to write the figure to.
        f_opt : float, optional
            The optimum, if it is known, to show the distance to it.
        """
        from uaos.runs.picture import draw

        return draw(self, path, f_opt)

    def state(self) -> dict[str, Any]:
        """Return the history as plain values and arrays."""
        self._enter()
        return {
            "operators": list(self.operators), "columns": list(self.columns),
            "max_rows": self.max_rows, "stride": self._stride, "filled": self._filled,
            "data": {name: getattr(self, name).copy() for name in self._data},
            "estimates": self.estimates.copy(),
        }  # fmt: skip

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "History":
        """Return the history that :meth:`state` described."""
        history = cls(state["operators"], state["columns"], state["max_rows"])
        history._stride, history._filled = state["stride"], state["filled"]
        history._rows = len(state["data"]["best"])
        history.estimates = np.array(state.get("estimates", history.estimates))
        for name, empty in history._data.items():
            history._data[name] = np.array(state["data"][name], empty.dtype)
        return history

    def restore(self, state: dict[str, Any]) -> None:
        """Become the history that :meth:`state` described."""
        vars(self).update(vars(History.from_state(state)))
