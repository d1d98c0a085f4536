"""The reference of COCO's tables at their seven targets: best2009 (`uaos.problems.bbob`)."""

from functools import cache
from types import MappingProxyType

import numpy as np

from uaos.problems.bbob import REFERENCE

#: The seven targets of COCO's tables.
TABLE_TARGETS = (1e1, 1e0, 1e-1, 1e-2, 1e-3, 1e-5, 1e-7)


@cache
def best2009(function: str, dimension: int) -> MappingProxyType[float, float]:
    """Best aRT by target; infinite where no algorithm of 2009 reached it, empty if unknown."""
    times = {t: REFERENCE.running_time(function, dimension, t) for t in TABLE_TARGETS}
    return MappingProxyType({} if any(map(np.isnan, times.values())) else times)
