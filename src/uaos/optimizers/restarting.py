"""Searches that restart: from one starting point until they stall, then from the next."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from uaos.arrays import FloatArray
from uaos.history import History
from uaos.optimizers.base import Optimizer, RunFinished
from uaos.optimizers.base.settings import OptimizerSettings
from uaos.optimizers.optima import Optima
from uaos.params import choice


@dataclass(frozen=True)
class RestartingSettings(OptimizerSettings):
    """Settings of every search that restarts.

    Parameters
    ----------
    restarts : bool
        Whether to restart when a run has ended. If not, `done` is true from then on.
    """

    restarts: bool = choice(
        True, False, default=True, tuned=False, doc="whether to restart when a run has ended"
    )


class RestartingSearch(Optimizer):
    """Search that restarts: a sequence of runs, each from one starting point.

    Runs start from the points of `x0` in turn; without them, the first starts from the center of
    the region and the others from uniform random points.

    A subclass prepares a run in `_begin_run`, returns its points in `_next_points`, and calls
    `_end_settled` or sets `_ended` when the run ends. `_x` is the current point of the run, `_f`
    its value, and `_phase` the purpose of the next batch, "start" at first.
    """

    #: The columns of the history.
    columns: ClassVar[tuple[str, ...]] = ("restarts",)
    keeps_inside: ClassVar[bool] = True
    state_names: ClassVar[tuple[str, ...]] = (
        "_runs", "_phase", "_ended", "_independent", "_x", "_f", "_width", "_optima",
    )  # fmt: skip

    settings: RestartingSettings

    def _start(self) -> None:
        if self.history is not None:
            self.history = History(columns=self.columns)
        self._runs = 0
        self._optima = Optima(self.dimension)  # at which independent runs ended
        self._begin()

    @abstractmethod
    def _begin_run(self) -> None:
        """Prepare a run from the point `_x`."""

    @abstractmethod
    def _next_points(self) -> FloatArray:
        """Return the points of the current phase."""

    def _begin(self, x: FloatArray | None = None) -> None:
        """Start a run from a point, or from the next starting point."""
        low, high = self.region.first()
        self._width = high - low
        self._x = self._next_start() if x is None else x.copy()
        self._f = float("nan")
        self._runs += 1
        self.restarts = self._runs - 1
        self._phase, self._ended, self._independent = "start", False, x is None
        self._begin_run()

    def _next_start(self) -> FloatArray:
        """Return the next starting point; set the width of the box that it was drawn from."""
        if self.x0 is not None and self._runs < len(self.x0):
            start: FloatArray = self.x0[self._runs]
            return start.copy()
        if self._runs == 0:
            low, high = self.region.first()
            return 0.5 * (low + high)
        low, high = self._drawn_box()
        self._width = high - low
        return self._drawn_start(low, high)

    def _drawn_box(self) -> tuple[FloatArray, FloatArray]:
        """Draw the box of a starting point."""
        return self.region.draw(self.rng)

    def _drawn_start(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Draw a starting point from a box."""
        return self.rng.uniform(low, high)

    def restart_from(self, x: FloatArray) -> None:
        """Abandon the current run and start one from a point."""
        self._begin(x)

    def _propose(self) -> FloatArray:
        if self._ended:
            if not self.settings.restarts:
                raise RunFinished("the run has converged; read the result, or set restarts=True")
            self._begin()
        return self._next_points()

    def _end_settled(self) -> None:
        """End the run at an optimum."""
        self._ended = True
        self._settle(self._f)

    @property
    def confirmed(self) -> bool:
        """True if runs from independent starts have ended at the best value, and few elsewhere."""
        return self._optima.repeated

    @property
    def converged(self) -> bool:
        """True if the run has ended, so that only a restart can follow."""
        return self._ended

    @property
    def done(self) -> bool:
        """True once the budget is spent, the target reached, or the only run ended."""
        return super().done or (self._ended and not self.settings.restarts)

    def _inside(self, points: FloatArray) -> FloatArray:
        """Return points moved into the box."""
        return np.minimum(np.maximum(points, self.low), self.high)
