"""Checks of a saved state before it is loaded."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from uaos.arrays import FloatArray, IntArray
from uaos.errors import InvalidFile
from uaos.optimizers.de.operators import least_population
from uaos.optimizers.de.settings import MOST_PARENTS
from uaos.statefile import SavedState

if TYPE_CHECKING:
    from uaos.optimizers.de.optimizer import DifferentialEvolution


def check(run: "DifferentialEvolution", state: SavedState) -> None:
    """Raise if the arrays of a state do not fit the run; the kernels check nothing."""
    if not _fits(run, state):
        raise InvalidFile("the state does not fit the settings; it was damaged or altered")


def _fits(run: "DifferentialEvolution", state: SavedState) -> bool:
    population, parents, offspring = run.population, state["population"], state["offspring"]
    NP, start, D = parents["NP"], parents["NP_start"], run.dimension
    archived, ever_lost = parents["counters"].tolist()
    capacity, latest = parents["capacity"], parents["latest"]
    most, n_rows = population.capacity_at(start), len(offspring["operators"])
    n = 0  # the offspring that wait for their values
    epoch = state["epoch"]
    if state["_asked"] is not None and epoch["started"] and not epoch["reassessing"]:
        n = len(state["_asked"])
    floats: dict[str, tuple[int, ...]] = {
        "rows": (start + most, D), "fitness": (NP,), "excess": (NP,),
        "uniforms": (n_rows, run.offspring.uniforms.shape[1]), "F": (n_rows,), "CR": (n_rows,),
    }  # fmt: skip
    integers: dict[str, tuple[int, ...]] = {
        "order": (NP,),
        "counters": (2,),
        "operators": (n_rows,),
    }
    floats["means"], integers["turns"] = run.rates.means.shape, run.rates.turns.shape
    arrays = parents | offspring | state["rates"]
    return (
        least_population(run.pool.members)[0] <= NP <= start <= MOST_PARENTS
        and _are(arrays, floats, np.float64)
        and _are(arrays, integers, np.int64)
        and np.array_equal(np.sort(arrays["order"]), np.arange(NP))
        and 0 <= archived <= min(capacity, population.capacity_at(NP))
        and ever_lost >= 0
        and capacity <= most
        and (latest is None or 0 <= latest < NP)
        and n <= min(n_rows, NP)
        and (n == 0 or state["_asked"].shape == (n, D))
        and _within(arrays["operators"][:n], len(run.pool.members))
        and _within(arrays["uniforms"][:n], 1)
        and _within(arrays["turns"], run.rates.lengths)
    )


def _are(arrays: SavedState, shapes: Mapping[str, tuple[int, ...]], kind: type) -> bool:
    """Return whether arrays have these shapes and numbers of a kind."""
    return all(arrays[k].shape == shape and arrays[k].dtype == kind for k, shape in shapes.items())


def _within(numbers: FloatArray | IntArray, end: int | IntArray) -> bool:
    """Return whether all are in [0, end)."""
    return bool(((numbers >= 0) & (numbers < end)).all())
