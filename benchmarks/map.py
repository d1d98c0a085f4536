"""Replay every combination of the five components on recorded runs.

    python benchmarks/map.py layer nine FILE      all 23,800 methods on eight runs of a host
    python benchmarks/map.py layer mix FILE

Hyper-parameters have their defaults. FILE (.npy) holds one score per combination and run, NaN where
it has not been computed; the same command continues it.
"""

import itertools
import sys
import time
from pathlib import Path

import numpy as np

import uaos
from uaos.errors import UaosError
from uaos.scenarios import traces
from uaos.selection.components import FAMILIES

#: Functions of BBOB, instance 1, that all methods are replayed on: some of every group.
FUNCTIONS = (3, 6, 8, 10, 13, 15, 17, 21)
# Seconds between two saves.
INTERVAL = 20.0


def combinations() -> list[tuple[str, ...]]:
    """Return all combinations of components, in the order of the registry."""
    return list(itertools.product(*(uaos.components(family) for family in FAMILIES)))


def first_layer(host: str, file: Path) -> None:
    """Compute what is missing in a file, in an order that covers all components early."""
    every = combinations()
    runs = [trace for trace in traces.load(host, (1,)) if int(trace.name[1:-3]) in FUNCTIONS]
    scores = np.load(file) if file.exists() else np.full((len(every), len(runs)), np.nan)
    todo = np.random.default_rng(1).permutation(np.flatnonzero(np.isnan(scores[:, 0])))
    saved = time.monotonic()
    for done, k in enumerate(todo, start=1):
        try:
            scores[k] = traces.score(uaos.Method(*every[k]), runs)
        except UaosError as error:
            print(every[k], error)
            scores[k] = -np.inf
        if time.monotonic() - saved > INTERVAL or done == len(todo):
            np.save(file, scores)
            saved = time.monotonic()
            print(f"{host}: {done} of {len(todo)}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] != "layer":
        sys.exit(__doc__)
    first_layer(sys.argv[2], Path(sys.argv[3]))
