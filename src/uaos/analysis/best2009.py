"""The reference of COCO's tables: best2009, the best of the algorithms of BBOB-2009.

For each function, dimension and target it is the aRT of whichever of the 31 algorithms entered at
the BBOB-2009 workshop reached the target soonest: Hansen, N., Auger, A., Ros, R., Finck, S. &
Pošík, P. (2010), "Comparing results of 31 algorithms from the black-box optimization benchmarking
BBOB-2009", GECCO 2010 companion. The file beside this one holds the aRT to the seven targets of
the tables, as cocopp 2.9.1 (BSD licence) gives them.
"""

import csv
from functools import cache
from importlib.resources import files
from types import MappingProxyType

#: The seven targets of COCO's tables.
TABLE_TARGETS = (1e1, 1e0, 1e-1, 1e-2, 1e-3, 1e-5, 1e-7)


def best2009(function: int, dimension: int) -> MappingProxyType[float, float]:
    """Best aRT by target; infinite where no algorithm of 2009 reached it, empty if unknown."""
    return _table().get((function, dimension), MappingProxyType({}))


@cache
def _table() -> dict[tuple[int, int], MappingProxyType[float, float]]:
    table: dict[tuple[int, int], dict[float, float]] = {}
    with (files("uaos.analysis") / "best2009.csv").open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            of = table.setdefault((int(row["function"]), int(row["dimension"])), {})
            of[float(row["target"])] = float(row["art"])
    return {key: MappingProxyType(of) for key, of in table.items()}
