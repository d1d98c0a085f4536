"""Runtime profiles: which share of (function, target) pairs was solved within a budget."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uaos.analysis.restarts import sample_size, simulated_restarts
from uaos.analysis.results import Runs, random_stream
from uaos.experiments.targets import ECDF_TARGETS
from uaos.problems.bbob import GROUPS


@dataclass(frozen=True)
class Ecdf:
    """A step curve: after `times[i]` evaluations / dimension the share is `shares[i]`.

    `times` ascend, and `shares` ascend with them to the share that was ever reached.
    """

    times: NDArray[np.float64]
    shares: NDArray[np.float64]

    def at(self, time: ArrayLike) -> NDArray[np.float64]:
        """The share of pairs solved within `time` evaluations / dimension."""
        steps = np.searchsorted(self.times, time, side="right")
        return np.concatenate([[0.0], self.shares])[steps]

    @property
    def reached(self) -> float:
        """The share of pairs that were ever solved."""
        return float(self.shares[-1]) if len(self.shares) else 0.0

    def area(self, limit: float) -> float:
        """Area under the curve over log10(evaluations / dimension), from 1 to `limit`, scaled to 1.

            A = 1/L ∫₀ᴸ ECDF(10ᵘ) du,  L = log10(limit)

        1 if everything is solved at once, 0 if nothing is solved within the limit.
        """
        end = np.log10(limit)
        steps = np.diff(self.shares, prepend=0.0)
        left = np.clip(end - np.log10(np.maximum(self.times, 1.0)), 0.0, None)
        return float(steps @ left / end) if end > 0 else 0.0


def ecdf(
    runs: Runs, targets: Sequence[float] | None = None, *, restarts: bool = False, seed: int = 1
) -> Ecdf:
    """The runtime profile of a method on a function, over the 51 targets 10^2 … 10^-8.

    Raw, each (run, target) pair counts once, at the evaluation that first hit the target. With
    `restarts` each target counts at the lengths of simulated algorithms which are run again until
    they succeed (:func:`~uaos.analysis.restarts.simulated_restarts`), so that a target reached once
    is reached eventually; `seed` makes them repeatable.

    Hansen, N., Auger, A., Brockhoff, D. & Tušar, T. (2022), "Anytime performance assessment in
    blackbox optimization benchmarking", IEEE Transactions on Evolutionary Computation 26.
    """
    wanted = tuple(map(float, ECDF_TARGETS if targets is None else targets))
    asked = (ecdf, wanted, seed if restarts else None)
    if asked not in runs.kept:
        times = runs.evaluations_to(wanted)
        if restarts:
            rng = np.random.default_rng([seed, runs.dimension, random_stream(runs.function)])
            size = sample_size(len(runs))
            each = [simulated_restarts(row, runs.evaluations, size, rng) for row in times]
            times = np.array(each)
        runs.kept[asked] = _curve(times.ravel() / runs.dimension, np.ones(times.size), times.size)
    curve: Ecdf = runs.kept[asked]
    return curve


def combined(curves: Sequence[Ecdf]) -> Ecdf:
    """One profile of several functions, each with the same weight however many runs it had."""
    times = np.concatenate([c.times for c in curves])
    weights = np.concatenate([np.diff(c.shares, prepend=0.0) for c in curves])
    return _curve(times, weights, len(curves))


def profiles(runs: Sequence[Runs], *, restarts: bool = False, seed: int = 1) -> dict[str, Ecdf]:
    """Profiles of a method: by function ("f1" …), by class of functions, and "all"."""
    single = {r.function: ecdf(r, restarts=restarts, seed=seed) for r in runs}
    curves = dict(single)
    for name, members in GROUPS.items():
        if present := [single[f] for f in members if f in single]:
            curves[name] = combined(present)
    return curves | {"all": combined(list(single.values()))} if single else curves


def _curve(times: NDArray[np.float64], weights: NDArray[np.float64], whole: int) -> Ecdf:
    reached = np.isfinite(times)
    values, where = np.unique(times[reached], return_inverse=True)
    steps = np.bincount(where, weights[reached], minlength=len(values))
    return Ecdf(values, np.cumsum(steps) / whole)
