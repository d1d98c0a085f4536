"""BIPOP-CMA-ES of the library pycma as an optimizer, for comparison."""

import queue
import threading
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from uaos.arrays import FloatArray
from uaos.errors import InvalidParameter, UaosError, in_one_line
from uaos.extras import optional
from uaos.optimizers.base import Optimizer
from uaos.optimizers.base.settings import OptimizerSettings
from uaos.optimizers.registration import register
from uaos.params import real
from uaos.problems.space import Box
from uaos.selection import bibliography as bib
from uaos.statefile import SavedState, State

# pycma draws from NumPy's global generator, which all threads of a process share.
_global_generator = threading.Lock()


@dataclass(frozen=True)
class PyCMASettings(OptimizerSettings):
    """Settings of pycma's BIPOP-CMA-ES. Passed to :class:`uaos.PyCMA`.

    Parameters
    ----------
    sigma0 : float
        The initial step size, as a share of the box's width in each coordinate.
    start : float
        The share of the box, around its center, that starting points are drawn from.

    Raises
    ------
    InvalidParameter
        If a setting is out of range.
    """

    title: ClassVar[str] = "BIPOP-CMA-ES"

    sigma0: float = real(
        0.05, 1, default=0.2, allowed=(0, 10), open_low=True, log=True, symbol="σ₀",
        doc="initial step size, times the width of the box",
    )  # fmt: skip
    start: float = real(0, 1, default=0.8, tuned=False, doc="share of the box that runs start in")


@register
class PyCMA(Optimizer):
    """BIPOP-CMA-ES of the library pycma.

    Points stay inside the box by pycma's own transformation of bounded variables. Where the box
    allows it, as BBOB's does, runs start inside, but points may leave it.

    pycma has its own loop over generations and restarts, which runs in a thread and waits for the
    values of its points. A run cannot be saved.

    Parameters
    ----------
    bounds, seed, budget, target, history
        As for every :class:`uaos.Optimizer`.
    settings, sigma0, start
        See :class:`PyCMASettings`.
    x0 : None
        Not supported.

    Raises
    ------
    InvalidParameter
        If `x0` is given.

    References
    ----------
    Hansen, N. (2009), "Benchmarking a BI-population CMA-ES on the BBOB-2009 function testbed",
    GECCO 2009 Companion, 2389-2396.

    Examples
    --------
    >>> import uaos
    >>> from uaos.problems import sphere
    >>> result = uaos.minimize(sphere, [(-5, 5)] * 3, method="BIPOP-CMA-ES", target=1e-8, seed=1)
    >>> result.success
    True
    """

    name: ClassVar[str] = "BIPOP-CMA-ES"
    keeps_inside: ClassVar[bool] = True
    settings_class: ClassVar[type[OptimizerSettings]] = PyCMASettings
    reference: ClassVar[str] = bib.HANSEN_2009

    settings: PyCMASettings

    def _checked_starts(self, x0: ArrayLike | None) -> None:
        if x0 is not None:
            raise InvalidParameter(
                f"{self.name} takes no x0: its starting points are drawn at random",
                name="x0", value=x0,
            )  # fmt: skip

    def _start(self) -> None:
        cma = optional("cma", self.name)
        drawn = self.seed if self.seed is not None else int(self.rng.integers(2**62))
        self._thread = _Thread(cma, self.box, self.settings, drawn)
        # End the thread, which waits for values, with the run.
        weakref.finalize(self, self._thread.stop)
        self._values: list[float] = []

    def _propose(self) -> FloatArray:
        return self._thread.advance(self._values)

    def _learn(self, points: FloatArray, values: FloatArray) -> None:
        self._values = np.where(np.isnan(values), np.inf, values).tolist()

    def state(self) -> State:
        """Raise, as the Python objects of pycma cannot be saved."""
        raise UaosError(
            f"a run of {self.name} cannot be saved: its state is inside the library pycma. Use "
            'method="CMA-ES" if runs have to be resumed'
        )

    def restore(self, state: SavedState) -> None:
        """Raise, like :meth:`state`."""
        self.state()


class _Thread:
    """Thread that runs pycma's loop, and waits whenever it needs values."""

    def __init__(self, cma: ModuleType, box: Box, settings: PyCMASettings, seed: int) -> None:
        self._points: queue.Queue[FloatArray | BaseException] = queue.Queue()
        self._values: queue.Queue[list[float] | None] = queue.Queue()  # None: the run is over
        self._generator_state: dict[str, object] | None = None
        self._thread: threading.Thread | None = None
        rng = np.random.default_rng(seed)
        self._box = box
        center, width = (box.lb + box.ub) / 2, box.ub - box.lb
        shape: dict[str, object] = {}
        if not box.outside_allowed:  # pycma searches the unit cube
            center, width = np.full(len(center), 0.5), np.ones(len(width))
            shape["bounds"] = [[0.0] * len(width), [1.0] * len(width)]
        elif not (width == width[0]).all():
            shape["CMA_stds"] = width / width.mean()

        def loop() -> None:
            # 0 would be a seed from the clock; each restart adds 1, and NumPy takes 32 bits.
            options = {
                "seed": seed % 2**31 + 1, "verbose": -9, "verb_log": 0, "verb_disp": 0,
                "maxfevals": np.inf, **shape,
            }  # fmt: skip
            sigma0 = settings.sigma0 * width.mean()
            half = settings.start * width / 2
            cma.fmin2(
                None, lambda: center + rng.uniform(-half, half), sigma0, options,
                restarts=10_000, bipop=True, parallel_objective=self._evaluate,
            )  # fmt: skip

        def guarded() -> None:
            try:
                loop()
                self._points.put(UaosError("pycma has used up its restarts"))
            except _Stopped:
                pass
            except BaseException as error:
                self._points.put(error)

        self._run = guarded

    def _evaluate(self, points: Sequence[FloatArray]) -> list[float]:
        batch = np.array(points, float)
        if not self._box.outside_allowed:
            low, high = self._box.lb, self._box.ub
            batch = np.clip(low + batch * (high - low), low, high)
        self._points.put(batch)
        values = self._values.get()
        if values is None:
            raise _Stopped
        return values

    def advance(self, values: list[float]) -> FloatArray:
        """Send the values of the last points, and return the next ones."""
        with _global_generator:
            before = np.random.get_state(legacy=False)  # noqa: NPY002
            if self._generator_state is not None:
                np.random.set_state(self._generator_state)  # noqa: NPY002
            try:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, daemon=True)
                    self._thread.start()
                else:
                    self._values.put(values)
                points = self._points.get()
                self._generator_state = np.random.get_state(legacy=False)  # noqa: NPY002
            finally:
                np.random.set_state(before)  # noqa: NPY002
        if isinstance(points, Exception) and not isinstance(points, UaosError):
            raise UaosError(
                f'pycma cannot go on ({in_one_line(points)}); use method="CMA-ES"'
            ) from points
        if isinstance(points, BaseException):
            raise points
        return points

    def stop(self) -> None:
        """End the thread."""
        self._values.put(None)


class _Stopped(Exception):
    """Signal to end the thread."""
