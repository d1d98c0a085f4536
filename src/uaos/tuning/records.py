"""What happens in a tuning: events as they happen, and rows of its store."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

NAN = float("nan")


class Tuning(NamedTuple):
    """One tuning of a store; `finished` is None as long as it runs, and `data` is empty.

    `seconds` is how long it has run, all sessions together.
    """

    id: int
    key: str
    setup: dict[str, Any]
    started: str
    versions: dict[str, str]
    seconds: float
    finished: str | None
    data: dict[str, Any]


class Candidate(NamedTuple):
    """A candidate joined the search; `origin` is "initial", "uniform" or "model".

    `configuration` is the key of what it runs, in a store.
    """

    id: int
    iteration: int
    parent: int | None
    configuration: str
    values: Mapping[str, Any]
    origin: str


class IterationStarted(NamedTuple):
    """A race begins: its number, how many are planned, its budget in runs, and who takes part."""

    iteration: int
    planned: int
    budget: int
    candidates: tuple[int, ...]


class Step(NamedTuple):
    """One more problem raced on, which stands at `position` of the stream of problems.

    `alive` are left after it; `best` leads them with `mean_cost`. `statistic` and `pvalue` are NaN
    where nothing was tested. `runs_used` are those of the whole tuning, `elapsed` its seconds.
    As it happens, `costs` has the runs that were new and `dropped` who left.
    """

    iteration: int
    step: int
    instance: str
    seed: int
    alive: int
    best: int | None
    runs_used: int
    statistic: float = NAN
    pvalue: float = NAN
    elapsed: float = NAN
    position: int | None = None
    mean_cost: float = NAN
    costs: Mapping[int, float] = MappingProxyType({})
    dropped: tuple[int, ...] = ()


class Elite(NamedTuple):
    """A candidate that an iteration ended with; the best has rank 1."""

    iteration: int
    rank: int
    candidate: int
    instances: int
    rank_sum: float
    mean_cost: float


class Iteration(NamedTuple):
    """A race that is over: as it was planned, why it ended, and as it happens its survivors.

    `runs_used` are those of the whole tuning up to its end.
    """

    iteration: int
    planned: int
    budget: int
    candidates: int
    runs_used: int
    why: str
    elites: tuple[Elite, ...] = ()


Event = Candidate | IterationStarted | Step | Iteration


class Cost(NamedTuple):
    """What a candidate's run cost at a position of the stream of problems."""

    candidate: int
    position: int
    cost: float
