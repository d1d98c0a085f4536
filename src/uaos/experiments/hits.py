"""Counting the evaluations at which each target is first reached."""

import numpy as np
from numpy.typing import NDArray

from uaos.experiments.targets import TARGETS

_TARGETS = TARGETS.tolist()
_DESCENDING = -TARGETS


def from_bytes(data: bytes) -> NDArray[np.int64]:
    """The evaluations at which the targets were reached, as stores keep them."""
    at = np.frombuffer(data, "<i8").astype(np.int64)
    if len(at) != len(TARGETS):
        raise ValueError(f"{len(at)} targets in a run, not {len(TARGETS)}")
    return at


class Hits:
    """Sees the values of a run in the order of evaluation, one generation after another."""

    def __init__(self, f_opt: float) -> None:
        self.f_opt = f_opt
        self.at = np.full(len(TARGETS), -1, np.int64)
        self.evaluations = 0
        self.best = np.inf
        self._next = 0  # the first target not yet reached

    @property
    def solved(self) -> bool:
        """Whether the final target was reached."""
        return self._next == len(_TARGETS)

    @property
    def error(self) -> float:
        """The best f - f_opt so far."""
        return float(self.best - self.f_opt)

    def see(self, values: NDArray[np.float64]) -> None:
        """Note the values of points evaluated one after the other; NaN never reaches a target."""
        lowest = np.fmin.reduce(values)
        if lowest < self.best:
            self.best = lowest
            if self._next < len(_TARGETS) and lowest - self.f_opt <= _TARGETS[self._next]:
                self._note(values)
        self.evaluations += len(values)

    def _note(self, values: NDArray[np.float64]) -> None:
        errors = np.fmin.accumulate(values - self.f_opt)
        reached = int(np.searchsorted(_DESCENDING, -errors[-1], side="right"))
        # The errors fall: the first that is at or below a target is found by bisection.
        found = np.searchsorted(-errors, _DESCENDING[self._next : reached], side="left")
        self.at[self._next : reached] = self.evaluations + found + 1
        self._next = reached

    def see_one(self, value: float) -> None:
        """The same for a single evaluation."""
        self.evaluations += 1
        if value < self.best:
            self.best = value
            error = value - self.f_opt
            while self._next < len(_TARGETS) and error <= _TARGETS[self._next]:
                self.at[self._next] = self.evaluations
                self._next += 1
