"""Operator use in single runs: how much it changes, and which runs are worth showing."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from uaos.optimizers.history import History

# Parts of a run whose operator use is compared.
_PARTS = 6


@dataclass(frozen=True, eq=False)
class Course:
    """One run with its history.

    `optimum` is the value that errors are relative to; None if it is not known.
    """

    method: str
    problem: str
    function: str
    dimension: int
    repetition: int
    evaluations: int
    error: float
    solved: bool
    history: History
    optimum: float | None
    function_title: str = ""

    @property
    def title(self) -> str:
        """What was run."""
        name = self.problem
        if self.function_title and name.startswith(self.function):
            name = self.function_title + name.removeprefix(self.function)
        again = f", repetition {self.repetition}" if self.repetition > 1 else ""
        return f"{self.method} on {name}{again}"

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """Each operator's share of the run's evaluations."""
        total = self.history.counts.sum(axis=0)
        share: NDArray[np.float64] = total / max(1, int(total.sum()))
        return share

    @cached_property
    def change(self) -> float:
        """How much operator use changes, from 0 to 1; see :func:`change`."""
        return change(self.history)


def change(history: History) -> float:
    """Measure how much operator use changes in a run.

    The run is cut into six parts with equally many rows; the result is the mean over every two
    parts of the total variation distance of their shares, less what chance alone would make of it
    if the shares were equal; at least 0.
    """
    parts = [p for p in np.array_split(history.counts, min(_PARTS, len(history))) if p.sum()]
    if len(parts) < 2:
        return 0.0
    sizes = np.array([p.sum() for p in parts], dtype=np.float64)
    shares = np.array([p.sum(axis=0) for p in parts]) / sizes[:, None]
    common = sizes @ shares / sizes.sum()
    # The mean distance of two normal draws of variance v is √(2 v / π).
    variance = common * (1 - common) * (1 / sizes[:, None, None] + 1 / sizes[None, :, None])
    apart = np.abs(shares[:, None] - shares[None]) - np.sqrt(2 * variance / np.pi)
    off = ~np.eye(len(parts), dtype=bool)
    return max(0.0, float(apart.sum(axis=2)[off].mean()) / 2)


def alternate(courses: Iterable[Course], order: Sequence[str]) -> list[Course]:
    """Sort runs by how much operator use changes, the methods taking turns as in `order`."""
    of: dict[str, list[Course]] = {method: [] for method in order}
    for course in courses:
        of.setdefault(course.method, []).append(course)
    for each in of.values():
        each.sort(key=lambda c: -c.change)
    longest = max((len(each) for each in of.values()), default=0)
    return [each[i] for i in range(longest) for each in of.values() if i < len(each)]
