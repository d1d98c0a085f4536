"""Average running time (aRT) to a target, by COCO's definition, and its ratio to best2009."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uaos.analysis.best2009 import TABLE_TARGETS, best2009
from uaos.analysis.restarts import sample_size, simulated_restarts
from uaos.analysis.results import Runs, column, random_stream


@dataclass(frozen=True)
class AverageRunningTime:
    """One cell of COCO's table: a method on a function, to a target.

    `low` and `high` are the 10 and 90 %-tiles of the run lengths with simulated restarts;
    `reference` is the aRT of best2009 (NaN where there is none for the target).
    """

    method: str
    dimension: int
    function: str
    target: float
    art: float
    successes: int
    trials: int
    low: float
    high: float
    reference: float

    @property
    def ratio(self) -> float:
        """How many times best2009's aRT; NaN where best2009 never reached the target."""
        return self.art / self.reference if np.isfinite(self.reference) else np.nan

    @property
    def dispersion(self) -> float:
        """Half the distance from the 10 to the 90 %-tile of simulated run lengths."""
        return (self.high - self.low) / 2 if self.successes else np.nan

    @property
    def dispersion_ratio(self) -> float:
        """The dispersion in units of best2009's aRT: the number in brackets in COCO's tables."""
        return self.dispersion / self.reference if np.isfinite(self.reference) else np.nan


def average_running_time(
    evaluations: NDArray[np.float64], totals: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The aRT of each row of `evaluations` (targets × runs, NaN where a run missed the target).

        aRT = (Σ evaluations of successful runs to the target + Σ lengths of failed runs)
              / successes

    and infinite without a success: the expected length of restarting until the target is reached.

    Hansen, N., Auger, A., Ros, R., Mersmann, O., Tušar, T. & Brockhoff, D. (2021), "COCO: a
    platform for comparing continuous optimizers in a black-box setting", Optimization Methods and
    Software 36, section 4.
    """
    missed = np.isnan(evaluations)
    spent = np.where(missed, totals, evaluations).sum(axis=-1)
    successes = (~missed).sum(axis=-1)
    return np.where(successes > 0, spent / np.maximum(successes, 1), np.inf)


def running_times(
    runs: Runs, targets: Sequence[float] = TABLE_TARGETS, *, seed: int = 1
) -> list[AverageRunningTime]:
    """COCO's table row: aRT, successes and dispersion for each target.

    The percentiles are COCO's: of simulated run lengths (the least multiple of the number of runs
    that is at least 1000), a sample's i-th value standing at (i - 1/2) / size. While every run
    succeeds nothing in them is random; else they are drawn anew from `seed` for each target.
    cocopp 2.8 and later print them as they are, relative to the aRT; its predecessors, and the
    published table, print half of their distance, relative to best2009.
    """
    times = runs.evaluations_to(targets)
    arts = average_running_time(times, runs.evaluations)
    known = best2009(runs.function, runs.dimension)
    cells = []
    for target, row, art in zip(targets, times, arts, strict=True):
        low = high = np.inf
        successes = int(np.isfinite(row).sum())
        if successes:
            rng = np.random.default_rng(
                [seed, runs.dimension, random_stream(runs.function), column(target)]
            )
            drawn = simulated_restarts(row, runs.evaluations, sample_size(len(row)), rng)
            low, high = np.percentile(drawn, [10, 90], method="hazen")
        cells.append(
            AverageRunningTime(
                runs.method, runs.dimension, runs.function, float(target), float(art), successes,
                len(runs), float(low), float(high), known.get(float(target), np.nan),
            )
        )  # fmt: skip
    return cells


def printed(number: float) -> str:
    """A ratio as COCO's tables print it: two digits at least, and 1.2e4 from 10,000 on."""
    if np.isnan(number):
        return "–"
    if np.isinf(number):
        return "∞"
    if number == 1:
        return "1"
    if 0.01 <= number < 10_000:
        digits = len(f"{number:.0f}") - (number < 1)
        return f"{number:.{max(2 - digits, 0)}f}"
    mantissa, exponent = f"{number:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}" if int(exponent) else mantissa
