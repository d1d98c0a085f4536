"""Runtime profiles: the share of (function, target) pairs solved within a budget."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uaos.analysis.results import Runs
from uaos.arrays import FloatArray, IntArray
from uaos.experiments.recorder import ECDF_TARGETS

#: Samples drawn at least, rounded up to a multiple of the number of runs, as cocopp does.
SAMPLES = 1000

# Runs are drawn one after the other unless more than this share of them failed.
_RARE = 0.9
# Values drawn at once, at most.
_CHUNK = 2_000_000

#: Simulated restarts are shown to this multiple of the longest run: they begin where runs end.
RESTART_HORIZON = 10


@dataclass(frozen=True)
class Ecdf:
    """A runtime profile, as a step curve. Made by :func:`ecdf`.

    Attributes
    ----------
    times : ndarray
        Evaluations / dimension, ascending.
    shares : ndarray
        The share of pairs of function and target solved by then.
    """

    times: NDArray[np.float64]
    shares: NDArray[np.float64]

    def at(self, time: ArrayLike) -> NDArray[np.float64]:
        """Return the share of pairs solved within `time` evaluations / dimension."""
        steps = np.searchsorted(self.times, time, side="right")
        return np.concatenate([[0.0], self.shares])[steps]

    @property
    def reached(self) -> float:
        """Return the share of pairs that were ever solved."""
        return float(self.shares[-1]) if len(self.shares) else 0.0


def ecdf(
    runs: Runs, targets: Sequence[float] | None = None, *, restarts: bool = False, seed: int = 1
) -> Ecdf:
    """Return the runtime profile of a method on a function.

    Parameters
    ----------
    runs
        The runs of the method on the function.
    targets
        The targets; the 51 from 10^2 to 10^-8 if None.
    restarts
        Whether a run that missed a target is continued by simulated restarts
        (:func:`simulated_restarts`), so that a target reached once is reached eventually. Without,
        each (run, target) pair counts at the evaluation that first hit the target.
    seed
        Of the simulated restarts.

    Returns
    -------
    Ecdf
        The profile, a step curve.

    References
    ----------
    Hansen, N., Auger, A., Brockhoff, D. & Tušar, T. (2022), "Anytime performance assessment in
    blackbox optimization benchmarking", IEEE Transactions on Evolutionary Computation 26.

    Examples
    --------
    >>> from uaos.analysis import Results, ecdf
    >>> curve = ecdf(Results.read("mine.db").runs["JADE", "f1", 2])
    >>> bool(curve.at(10) < curve.at(200))
    True
    """
    levels = tuple(map(float, ECDF_TARGETS if targets is None else targets))
    key = (ecdf, levels, seed if restarts else None)
    if key not in runs.cache:
        runs.cache[key] = _curve(*_times(runs, levels, restarts, seed))
    curve: Ecdf = runs.cache[key]
    return curve


def area(runs: Runs, limit: float, *, restarts: bool = False, seed: int = 1) -> float:
    """Return the area under a method's profile on a function over log10(evaluations / dimension).

        A = 1/L ∫₀ᴸ ECDF(10ᵘ) du,  L = log10(limit)

    It is 1 if everything is solved at once, 0 if nothing is solved within the limit.
    """
    key = (area, limit, seed if restarts else None)
    if key not in runs.cache:
        times, counts, total = _times(runs, tuple(ECDF_TARGETS.tolist()), restarts, seed)
        # Of the logarithmic axis from 1 to the limit, how much lies after each time.
        end = max(0.0, np.log10(limit))
        left = np.maximum(end - np.log10(np.maximum(times, 1.0)), 0.0)
        runs.cache[key] = float(np.sum(counts * left)) / (end or 1.0) / total
    share: float = runs.cache[key]
    return share


def _times(
    runs: Runs, targets: tuple[float, ...], restarts: bool, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.int64], int]:
    """Return evaluations / D to all targets, how often each counts, and the total of all counts.

    They are those of the runs, or of simulated algorithms that restart.
    """
    times = runs.evaluations_to(targets)
    total = times.size
    if restarts:
        rng = np.random.default_rng(stream(runs, seed))
        size = sample_size(len(runs))
        missed = np.isnan(times)
        times, failures = times[~missed.all(axis=1)], missed.sum(axis=1) % len(runs)
        if failures.any():
            parts = [_restarted(row, runs.evaluations, size, rng) for row in times]
            times, counts = (np.concatenate(part) for part in zip(*parts, strict=True))
        else:  # nothing is left to chance
            times = times.ravel()
            counts = np.full(times.size, size // len(runs))
        total = len(targets) * size
    else:
        times, counts = times.ravel(), np.ones(times.size, np.int64)
    reached = np.isfinite(times)
    return times[reached] / runs.dimension, counts[reached], total


def stream(runs: Runs, *parts: int) -> list[int]:
    """Return the seed of the random numbers drawn for a function: the same for all methods."""
    number = re.fullmatch(r"[^\d]*(\d{1,9})", runs.function)
    name = [int(number[1])] if number else list(runs.function.encode())
    return [*parts[:1], runs.dimension, *name, *parts[1:]]


def combined(curves: Sequence[Ecdf]) -> Ecdf:
    """Return one profile of several functions, each with the same weight.

    Parameters
    ----------
    curves : sequence of Ecdf
        One profile for each function.

    Returns
    -------
    Ecdf
        Their mean.

    Examples
    --------
    >>> from uaos.analysis import Results, combined, ecdf
    >>> curve = combined([ecdf(runs) for runs in Results.read("mine.db").of("JADE")])
    >>> 0 < curve.reached < 1
    True
    """
    times = np.concatenate([c.times for c in curves])
    weights = np.concatenate([np.diff(c.shares, prepend=0.0) for c in curves])
    return _curve(times, weights, len(curves))


def of_times(times: NDArray[np.float64], dimension: int) -> Ecdf:
    """Return the profile of given running times, infinite where a target was not reached."""
    reached = times[np.isfinite(times)]
    return _curve(reached / dimension, np.ones(len(reached)), len(times))


def _curve(times: NDArray[np.float64], weights: FloatArray | IntArray, total: int) -> Ecdf:
    values, where = np.unique(times, return_inverse=True)
    steps = np.bincount(where, weights, minlength=len(values))
    return Ecdf(values, np.cumsum(steps) / total)


def sample_size(runs: int) -> int:
    """Return the smallest multiple of `runs` that is at least `SAMPLES`."""
    return -(-SAMPLES // runs) * runs


def simulated_restarts(
    evaluations: NDArray[np.float64],
    totals: NDArray[np.int64],
    size: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return sorted run lengths of `size` simulated algorithms that restart until they succeed.

    A run is drawn; while it is one that missed the target, its length is added and another is
    drawn, all with the same probability:

        T = Σ (lengths of the failed runs drawn) + evaluations of the first successful one

    so that E[T] is the aRT. As in COCO, each run starts equally many samples (chance decides only
    which start one more, where `size` is no multiple of their number), and later draws are
    independent.

    Parameters
    ----------
    evaluations
        To the target in each run; NaN where it was missed.
    totals
        The lengths of the runs.
    size
        How many samples to draw.
    rng
        Where random numbers come from.

    Returns
    -------
    ndarray
        Infinite if no run succeeded.

    Examples
    --------
    >>> import numpy as np
    >>> from uaos.analysis import simulated_restarts
    >>> rng = np.random.default_rng(1)
    >>> simulated_restarts(np.array([100.0, np.nan]), np.array([100, 500]), 4, rng)
    array([ 100.,  100., 1100., 1600.])
    """
    return np.sort(np.repeat(*_restarted(evaluations, totals, size, rng)))


def _restarted(
    evaluations: NDArray[np.float64],
    totals: NDArray[np.int64],
    size: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the run lengths of :func:`simulated_restarts`, and how often each of them occurs."""
    n, missed = len(evaluations), np.isnan(evaluations)
    failures = int(np.count_nonzero(missed))
    if failures == n:
        return np.array([np.inf]), np.array([size])
    more = rng.permutation(n)[: size % n]
    counts = np.full(n, size // n)
    counts[more] += 1
    if not failures:
        return evaluations, counts
    lengths, reached = np.where(missed, totals, evaluations), ~missed
    # Samples that begin with a failed run.
    sums = np.concatenate([np.tile(lengths[missed], size // n), lengths[more][missed[more]]])
    if failures > _RARE * n:
        # How many runs fail before one succeeds is geometric: all of them are drawn at once.
        again = rng.geometric((n - failures) / n, sums.size) - 1
        sums += _sums(lengths[missed], again, rng) + rng.choice(lengths[reached], sums.size)
    else:
        pending = np.arange(sums.size)
        while pending.size:
            drawn = rng.integers(0, n, pending.size)
            sums[pending] += lengths[drawn]
            pending = pending[missed[drawn]]
    each = np.concatenate([counts[reached], np.ones(sums.size, np.int64)])
    return np.concatenate([lengths[reached], sums]), each


def _sums(
    values: NDArray[np.float64], counts: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return sums of a number of values each, drawn with replacement."""
    if values.min() == values.max():
        return np.asarray(values[0] * counts)
    sums = np.zeros(len(counts))
    # In parts, so that memory is bounded.
    for part in np.array_split(np.arange(len(counts)), 1 + int(counts.sum()) // _CHUNK):
        drawn = rng.choice(values, int(counts[part].sum()))
        ends = np.concatenate([[0.0], np.cumsum(drawn)])[np.cumsum(counts[part])]
        sums[part] = np.diff(ends, prepend=0.0)
    return sums
