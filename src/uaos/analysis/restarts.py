"""Simulated restarts: how long would it take if the algorithm were run until it succeeds?"""

import numpy as np
from numpy.typing import NDArray

#: Samples drawn at least, rounded up to a multiple of the number of runs, as cocopp does.
SAMPLES = 1000

#: How far restarts are shown, in multiples of the longest run: they begin where runs end.
ROOM = 10


def sample_size(runs: int, least: int = SAMPLES) -> int:
    """The smallest multiple of `runs` that is at least `least`."""
    return -(-least // runs) * runs


def simulated_restarts(
    evaluations: NDArray[np.float64],
    totals: NDArray[np.int64],
    size: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Sorted run lengths of `size` simulated algorithms that restart until they succeed.

    A run is drawn; while it is one that missed the target, its whole length is paid and another is
    drawn, all with the same chance:

        T = Σ (lengths of the failed runs drawn) + evaluations of the first successful one

    so that E[T] is the aRT. `evaluations` to the target are NaN in runs that missed it; `totals`
    are the whole lengths. As in COCO, each run starts equally many samples (chance decides only
    which start one more, where `size` is no multiple of their number), and later draws are
    independent. Infinite where no run succeeded.

    Hansen, N., Auger, A., Brockhoff, D. & Tušar, T. (2022), "Anytime performance assessment in
    blackbox optimization benchmarking", IEEE Transactions on Evolutionary Computation 26.
    """
    missed = np.isnan(evaluations)
    if missed.all():
        return np.full(size, np.inf)
    n = len(evaluations)
    lengths = np.where(missed, totals, evaluations)
    drawn = np.concatenate([np.tile(np.arange(n), size // n), rng.permutation(n)[: size % n]])
    sums: NDArray[np.float64] = lengths[drawn]
    pending = np.flatnonzero(missed[drawn])
    while pending.size:
        drawn = rng.integers(0, n, pending.size)
        sums[pending] += lengths[drawn]
        pending = pending[missed[drawn]]
    sums.sort()
    return sums
