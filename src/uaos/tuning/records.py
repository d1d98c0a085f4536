"""Events of a tuning, which are also the rows of its store."""

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

    `configuration` is the key of its configuration in a store.
    """

    id: int
    iteration: int
    parent: int | None
    configuration: str
    values: Mapping[str, Any]
    origin: str


class IterationStarted(NamedTuple):
    """A race begins: its number, the races planned, its budget in runs, and its candidates."""

    iteration: int
    planned: int
    budget: int
    candidates: tuple[int, ...]


class Step(NamedTuple):
    """A race has covered one more problem, at `position` of the stream of problems.

    `alive` candidates remain; `best` leads them with `mean_cost`. `statistic` and `pvalue` are NaN
    without a test. `runs_used` counts the runs of the whole tuning, `elapsed` its seconds. `costs`
    (of new runs) and `dropped` (candidates) are empty if the step is read from a store.
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
    """A race is over: its plan, why it ended, and its survivors.

    `runs_used` counts the runs of the whole tuning up to its end. `elites` is empty if the race is
    read from a store.
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
    """Cost of a candidate's run at a position of the stream of problems."""

    candidate: int
    position: int
    cost: float
