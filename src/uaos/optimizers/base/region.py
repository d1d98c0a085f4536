"""Where runs start, and how long their first steps are.

In most boxes that is the box itself. Where it is infinite, or far wider than a starting point is
large, runs start around that point instead, with steps that fit it, and later runs start from ever
wider boxes around it.
"""

from dataclasses import dataclass

import numpy as np

from uaos.arrays import BoolArray, FloatArray
from uaos.errors import InvalidParameter

#: A box is far wider than a coordinate of x0 is large from this factor on.
WIDE = 100.0
#: The scale is then this multiple of the coordinate.
FITTED = 4.0
#: Later runs start from boxes that are at most this many times as wide as the scale.
GROWTH = 1e6
# A scale that is almost the width of the box is no reason to start around a point.
_NARROW = 0.99


@dataclass(frozen=True, eq=False)
class Region:
    """Part of the box in which runs start.

    Parameters
    ----------
    low, high : ndarray, shape (D,)
        The box.
    center : ndarray, shape (D,)
        The point around which runs start where the scale is below the width of the box.
    scale : ndarray, shape (D,)
        The length of a typical step in each coordinate, at most the width of the box.
    """

    low: FloatArray
    high: FloatArray
    center: FloatArray
    scale: FloatArray

    @classmethod
    def around(
        cls,
        low: FloatArray,
        high: FloatArray,
        x0: FloatArray | None,
        scale: FloatArray | None = None,
    ) -> "Region":
        """Return the region for starting points and a scale, which may be missing.

        Parameters
        ----------
        low, high : ndarray, shape (D,)
            The box.
        x0 : ndarray, shape (m, D), optional
            The starting points.
        scale : ndarray, shape (D,), optional
            The length of a typical step; by default fitted to `x0`.
        """
        width = high - low
        if scale is None:
            scale = width if x0 is None else _fitted(np.abs(x0).max(axis=0), width)
        center = 0.5 * (low + high) if x0 is None else x0[0]
        return cls(low, high, center, np.minimum(scale, width))

    @property
    def narrowed(self) -> BoolArray:
        """Coordinates in which runs start around the center, not anywhere in the box."""
        return self.scale < _NARROW * (self.high - self.low)

    def first(self) -> tuple[FloatArray, FloatArray]:
        """Return the box of the first run, as wide as the scale."""
        return self._sized(0.0)

    def widest(self) -> tuple[FloatArray, FloatArray]:
        """Return the widest box that a run starts from."""
        return self._sized(1.0)

    def draw(
        self, rng: np.random.Generator, n: int | None = None, most: float = 1.0
    ) -> tuple[FloatArray, FloatArray]:
        """Draw a box to start from, or `n`, (n, D): widths are uniform on a logarithmic scale.

        They are at most `most` on a scale from 0, the first box, to 1, the widest. The box itself
        is all there is, and no number is drawn, where no coordinate is narrowed.
        """
        if not self.narrowed.any():
            return self.low, self.high
        return self._sized(most * rng.random(() if n is None else (n, 1)))

    def _sized(self, share: FloatArray | float) -> tuple[FloatArray, FloatArray]:
        """Return the box between the first and the widest, on a logarithmic scale."""
        narrowed = self.narrowed
        if not narrowed.any():
            return self.low, self.high
        with np.errstate(over="ignore"):  # of an infinite box and a tiny scale
            growth = np.minimum((self.high - self.low) / self.scale, GROWTH)
        reach = 0.5 * self.scale * growth**share
        low = np.where(narrowed, np.maximum(self.low, self.center - reach), self.low)
        high = np.where(narrowed, np.minimum(self.high, self.center + reach), self.high)
        return low, high


def _fitted(size: FloatArray, width: FloatArray) -> FloatArray:
    """Return the width, or where that is far larger than starting points, what fits these.

    A coordinate may be near 0 by chance. So boxes are compared with all coordinates of that width.
    """
    size = np.where(size > 0, size, 1.0)
    most = width / WIDE
    largest = np.array([size[width == each].max() for each in width])
    return np.where(largest < most, FITTED * np.minimum(size, most), width)


def check_start(low: FloatArray, high: FloatArray, x0: object) -> None:
    """Raise if a box is infinite and there is no point to start from."""
    if x0 is not None or (np.isfinite(low).all() and np.isfinite(high).all()):
        return
    j = int(np.flatnonzero(~(np.isfinite(low) & np.isfinite(high)))[0])
    raise InvalidParameter(
        f"bounds[{j}] is {(float(low[j]), float(high[j]))}, without a starting point; give x0, "
        "around which the search begins, or finite bounds",
        name=f"bounds[{j}]", value=(float(low[j]), float(high[j])),
    )  # fmt: skip
