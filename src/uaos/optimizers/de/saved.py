"""Saved state of a run: its names in files, and the checks when it is loaded."""

from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from uaos.arrays import FloatArray, IntArray
from uaos.errors import InvalidFile
from uaos.optimizers.de.operators import least_population
from uaos.optimizers.de.settings import MOST_PARENTS
from uaos.statefile import SavedState, State, copied

if TYPE_CHECKING:
    from uaos.optimizers.de.optimizer import DifferentialEvolution

#: Numbers and arrays of a run's parts, by their names in files.
NAMES = {
    "NP": "population.NP", "NP_start": "population.NP_start",
    "_capacity": "population.capacity", "_latest": "population.latest",
    "_rows": "population.rows", "_fitness": "population.fitness", "_order": "population.order",
    "_counters": "population.counters", "_excess": "population.excess",
    "_epoch_start": "epoch.start", "_epoch_best": "epoch.best",
    "_epoch_violation": "epoch.violation", "_since_better": "epoch.since_better",
    "_started": "epoch.started", "_reassessing": "epoch.reassessing",
    "_reassessed": "epoch.reassessed", "_epsilon": "relaxation.epsilon",
    "_first_epsilon": "relaxation.first", "_operators": "offspring.operators",
    "_uniforms": "offspring.uniforms", "_F": "offspring.F", "_CR": "offspring.CR",
    "_repairs": "offspring.repairs", "_asked_probabilities": "asked_probabilities",
}  # fmt: skip


def parts(run: "DifferentialEvolution") -> State:
    """Return copies of the parts that :data:`NAMES` lists."""
    return {name: copied(attrgetter(path)(run)) for name, path in NAMES.items()}


def fill(run: "DifferentialEvolution", state: SavedState) -> None:
    """Restore the parts of a run that :func:`parts` returned."""
    for name, path in NAMES.items():
        part, _, attribute = path.rpartition(".")
        setattr(attrgetter(part)(run) if part else run, attribute, copied(state[name]))


def check(run: "DifferentialEvolution", state: SavedState) -> None:
    """Raise if the arrays of a state do not fit the run; the kernels check nothing."""
    if not _fits(run, state):
        raise InvalidFile("the state does not fit the settings; it was damaged or altered")


def _fits(run: "DifferentialEvolution", state: SavedState) -> bool:
    population, rates = run.population, run.rates
    NP, start, D = state["NP"], state["NP_start"], run.dimension
    archived, ever_lost = state["_counters"].tolist()
    most, rows = population.capacity_at(start), len(state["_operators"])
    n = 0  # the offspring that wait for their values
    if state["_asked"] is not None and state["_started"] and not state["_reassessing"]:
        n = len(state["_asked"])
    shapes = {
        "_rows": (start + most, D), "_fitness": (NP,), "_excess": (NP,), "_order": (NP,),
        "_operators": (rows,), "_uniforms": (rows, run.offspring.uniforms.shape[1]), "_F": (rows,),
        "_CR": (rows,),
    }  # fmt: skip
    numbers = ("_rows", "_fitness", "_uniforms", "_F", "_CR")
    rules = state["rules"]
    return (
        least_population(run.pool.members)[0] <= NP <= start <= MOST_PARENTS
        and all(state[name].shape == shape for name, shape in shapes.items())
        and all(state[name].dtype == np.float64 for name in numbers)
        and all(state[name].dtype == np.int64 for name in ("_order", "_counters"))
        and np.array_equal(np.sort(state["_order"]), np.arange(NP))
        and 0 <= archived <= min(state["_capacity"], population.capacity_at(NP))
        and ever_lost >= 0
        and state["_capacity"] <= most
        and (state["_latest"] is None or 0 <= state["_latest"] < NP)
        and n <= min(rows, NP)
        and (n == 0 or state["_asked"].shape == (n, D))
        and _within(state["_operators"][:n], len(run.pool.members))
        and _within(state["_uniforms"][:n], 1)
        and rules["means"].shape == rates.means.shape
        and _within(rules["turns"], rates.lengths)
    )


def _within(numbers: FloatArray | IntArray, end: int | IntArray) -> bool:
    """Return whether all are in [0, end)."""
    return bool(((numbers >= 0) & (numbers < end)).all())
