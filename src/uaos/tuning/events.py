"""What happens in a tuning, as it happens: the live table draws it and the store keeps it."""

from collections.abc import Mapping
from typing import NamedTuple

from uaos.params import Value


class Sampled(NamedTuple):
    """A candidate joined the search; `origin` is "initial", "uniform" or "model"."""

    id: int
    iteration: int
    parent: int | None
    values: Mapping[str, Value]
    origin: str


class IterationStarted(NamedTuple):
    """A race begins: its number, how many are planned, its budget in runs, and who takes part."""

    iteration: int
    planned: int
    budget: int
    candidates: tuple[int, ...]


class Dropped(NamedTuple):
    """A candidate left the race, for good; `reason` says whether by the test or by failing."""

    id: int
    rank_sum: float
    reason: str


class Step(NamedTuple):
    """One more instance of a race is over.

    `position` is the instance's place in the stream; `costs` the runs that were new; `alive` counts
    who is left after the test; `used` the runs of the whole tuning so far. Where no test was made,
    `statistic` and `p_value` are NaN.
    """

    iteration: int
    step: int
    position: int
    instance: str
    seed: int
    costs: Mapping[int, float]
    alive: int
    best: int
    mean_cost: float
    statistic: float
    p_value: float
    dropped: tuple[Dropped, ...]
    used: int


class Elite(NamedTuple):
    """A survivor: its rank (1 is best), on how many instances, and how it did on them."""

    id: int
    rank: int
    instances: int
    rank_sum: float
    mean_cost: float


class IterationEnded(NamedTuple):
    """A race is over; why it ended, and its survivors in order."""

    iteration: int
    why: str
    elites: tuple[Elite, ...]
    used: int


Event = Sampled | IterationStarted | Step | IterationEnded
