"""Average running time (aRT) to a target, by COCO's definition."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uaos.analysis.profiles import sample_size, simulated_restarts, stream
from uaos.analysis.results import Runs, target_index
from uaos.experiments.recorder import ECDF_TARGETS, TARGETS

#: The seven targets of COCO's tables.
TABLE_TARGETS = (1e1, 1e0, 1e-1, 1e-2, 1e-3, 1e-5, 1e-7)


@dataclass(frozen=True)
class AverageRunningTime:
    """The average running time (aRT) of a method on a function. Made by :func:`running_times`.

    Attributes
    ----------
    method, function, dimension, target
        What was run, and to which target.
    art : float
        The aRT.
    successes, trials : int
        How many of the runs reached the target.
    low, high : float
        10th and 90th percentile of the run lengths with simulated restarts.
    reference : float
        The aRT of the suite's reference; NaN if there is none for the target.
    """

    method: str
    function: str
    dimension: int
    target: float
    art: float
    successes: int
    trials: int
    low: float
    high: float
    reference: float

    @property
    def ratio(self) -> float:
        """Return the aRT divided by the reference's; NaN where that never reached the target."""
        return self.art / self.reference if np.isfinite(self.reference) else np.nan

    @property
    def dispersion(self) -> float:
        """Return half the distance between the two percentiles."""
        return (self.high - self.low) / 2 if self.successes else np.nan

    @property
    def dispersion_ratio(self) -> float:
        """Return the dispersion divided by the reference's aRT: in brackets in COCO's tables."""
        return self.dispersion / self.reference if np.isfinite(self.reference) else np.nan


def average_running_time(
    evaluations: NDArray[np.float64], totals: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the average running time (aRT) to targets.

        aRT = (Σ evaluations of successful runs to the target + Σ lengths of failed runs)
              / successes

    It is the expected length of restarting until the target is reached, infinite without success.

    Parameters
    ----------
    evaluations : ndarray, shape (targets, runs)
        Evaluations to each target; NaN where a run missed it.
    totals : ndarray, shape (runs,)
        The lengths of the runs.

    Returns
    -------
    ndarray, shape (targets,)
        The aRT to each target.

    References
    ----------
    Hansen, N., Auger, A., Ros, R., Mersmann, O., Tušar, T. & Brockhoff, D. (2021), "COCO: a
    platform for comparing continuous optimizers in a black-box setting", Optimization Methods and
    Software 36, section 4.

    Examples
    --------
    >>> import numpy as np
    >>> from uaos.analysis import average_running_time
    >>> average_running_time(np.array([[100.0, np.nan, 300.0]]), np.array([100, 500, 300]))
    array([450.])
    """
    missed = np.isnan(evaluations)
    spent = np.where(missed, totals, evaluations).sum(axis=-1)
    successes = (~missed).sum(axis=-1)
    return np.where(successes > 0, spent / np.maximum(successes, 1), np.inf)


def running_times(
    runs: Runs,
    targets: Sequence[float] = TABLE_TARGETS,
    *,
    reference: NDArray[np.float64] | None = None,
    seed: int = 1,
) -> list[AverageRunningTime]:
    """Return aRT, successes and dispersion for each target.

    The percentiles are COCO's: of simulated run lengths (the smallest multiple of the number of
    runs that is at least 1000), a sample's i-th value standing at (i - 1/2) / size.

    Parameters
    ----------
    runs
        The runs of a method on a function.
    targets
        The targets.
    reference
        The aRT of the suite's reference to the 51 targets of a runtime profile, if it has one.
    seed
        Of the simulated restarts, drawn anew for each target.

    Returns
    -------
    list of AverageRunningTime
        One for each target.

    Examples
    --------
    >>> from uaos.analysis import Results, running_times
    >>> runs = Results.read("mine.db").runs["JADE", "f1", 2]
    >>> [(time.target, time.successes) for time in running_times(runs, [10.0, 1.0])]
    [(10.0, 2), (1.0, 2)]
    """
    times = runs.evaluations_to(targets)
    arts = average_running_time(times, runs.evaluations)
    successes = np.isfinite(times).sum(axis=1)
    ends = np.full((2, len(arts)), np.inf)
    drawn = [
        simulated_restarts(row, runs.evaluations, sample_size(len(runs)),
                           np.random.default_rng(stream(runs, seed, target_index(target))))
        for target, row, reached in zip(targets, times, successes, strict=True) if reached
    ]  # fmt: skip
    if drawn:
        ends[:, successes > 0] = np.percentile(drawn, [10, 90], axis=1, method="hazen")
    return [
        AverageRunningTime(
            runs.method, runs.function, runs.dimension, float(target), float(arts[i]),
            int(successes[i]), len(runs), float(ends[0, i]), float(ends[1, i]),
            reference_time(reference, target),
        )
        for i, target in enumerate(targets)
    ]  # fmt: skip


def reference_time(reference: NDArray[np.float64] | None, target: float) -> float:
    """Return the reference's aRT to a target; NaN if it has none."""
    at = target_index(target) - (len(TARGETS) - len(ECDF_TARGETS))
    return np.nan if reference is None or at < 0 else float(reference[at])
