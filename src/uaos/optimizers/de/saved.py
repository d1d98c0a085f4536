"""What is saved of a run, under which names, and what is refused when it is loaded."""

from collections.abc import Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from uaos.errors import InvalidFile
from uaos.optimizers.base import Array, copied
from uaos.optimizers.de.operators import least_population
from uaos.optimizers.de.settings import MOST_PARENTS

if TYPE_CHECKING:
    from uaos.optimizers.de.optimizer import DifferentialEvolution

#: Numbers and arrays of a run's parts, by their names in files.
NAMES = {
    "NP": "population.NP", "NP_start": "population.NP_start",
    "_capacity": "population.capacity", "_latest": "population.latest",
    "_rows": "population.rows", "_fitness": "population.fitness", "_order": "population.order",
    "_counters": "population.counters", "_success_rate": "population.success_rate",
    "_elite_fitness": "population.elite_fitness", "_excess": "population.excess",
    "_epoch_start": "epoch.start", "_epoch_best": "epoch.best",
    "_epoch_violation": "epoch.violation", "_since_better": "epoch.since_better",
    "_started": "epoch.started", "_epsilon": "relaxation.epsilon",
    "_first_epsilon": "relaxation.first", "_operators": "variation.batch.operators",
    "_parents": "variation.batch.parents", "_uniforms": "variation.batch.uniforms",
    "_F": "variation.batch.F", "_CR": "variation.batch.CR",
    "_repairs": "variation.batch.repairs", "_rates": "variation.rates",
    "_asked_probabilities": "asked_probabilities",
}  # fmt: skip


def arrays(run: "DifferentialEvolution") -> dict[str, Any]:
    """Copies of what :data:`NAMES` lists."""
    return {name: copied(attrgetter(path)(run)) for name, path in NAMES.items()}


def fill(run: "DifferentialEvolution", state: Mapping[str, Any]) -> None:
    """Write what :func:`arrays` returned to the parts of a run."""
    for name, path in NAMES.items():
        part, _, attribute = path.rpartition(".")
        setattr(attrgetter(part)(run) if part else run, attribute, copied(state[name]))


def check(run: "DifferentialEvolution", state: Mapping[str, Any]) -> None:
    """Refuse a state whose arrays the kernels cannot work with: they do not look."""
    if not _fits(run, state):
        raise InvalidFile("the state does not fit the settings; it was damaged or altered")


def _fits(run: "DifferentialEvolution", state: Mapping[str, Any]) -> bool:
    population, variation = run.population, run.variation
    NP, start, D = state["NP"], state["NP_start"], run.dimension
    archived, second = state["_counters"].tolist()
    most, kept, made = population.capacity_at(start), len(variation.rates), len(state["_operators"])
    n = 0  # the offspring that wait for their values
    if state["_asked"] is not None and state["_started"] and state["local"] is None:
        n = len(state["_asked"])
    shapes = {
        "_rows": (start + most + 1, D), "_fitness": (NP,), "_excess": (NP,), "_order": (NP,),
        "_elite_fitness": (archived if population.newest else 0,), "_parents": (made,),
        "_operators": (made,), "_uniforms": (made, variation.columns), "_F": (made,),
        "_CR": (made,), "_rates": (kept, NP if kept else state["_rates"].shape[1]),
    }  # fmt: skip
    numbers = ("_rows", "_fitness", "_uniforms", "_F", "_CR", "_rates")
    rules = state["rules"]
    return (
        least_population(run.pool.members)[0] <= NP <= start <= MOST_PARENTS
        and all(state[name].shape == shape for name, shape in shapes.items())
        and all(state[name].dtype == np.float64 for name in numbers)
        and all(state[name].dtype == np.int64 for name in ("_order", "_counters"))
        and np.array_equal(np.sort(state["_order"]), np.arange(NP))
        and 0 <= archived <= min(state["_capacity"], population.capacity_at(NP))
        and (0 <= second < NP if population.newest else archived <= second)
        and state["_capacity"] <= most
        and -1 <= state["_latest"] < NP
        and 0 <= state["_success_rate"] <= 1
        and n <= min(made, NP)
        and (n == 0 or state["_asked"].shape == (n, D))
        and _within(state["_operators"][:n], len(run.pool.members))
        and _within(state["_parents"][:n], NP)
        and _within(state["_uniforms"][:n], 1)
        and rules["means"].shape == variation.rules.means.shape
        and _within(rules["turns"], variation.rules.lengths)
    )


def _within(numbers: Array, end: Any) -> bool:
    """Whether all are in [0, end)."""
    return bool(((numbers >= 0) & (numbers < end)).all())
