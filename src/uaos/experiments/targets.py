"""The target errors f - f_opt at which a run's evaluations are noted."""

import numpy as np
from numpy.typing import NDArray

#: 10^4, 10^3.8, …, 10^-8.
TARGETS: NDArray[np.float64] = 10.0 ** np.linspace(4, -8, 61)

#: The 51 targets from 10^2 to 10^-8, over which COCO draws its ECDF.
ECDF_TARGETS: NDArray[np.float64] = TARGETS[10:]

#: The error at which a problem is solved, and a run ends.
FINAL = 1e-8

TARGETS.flags.writeable = False
ECDF_TARGETS.flags.writeable = False
