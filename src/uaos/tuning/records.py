"""The rows of a tuning's tables, as they are written and read."""

from typing import Any, NamedTuple


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
    """A configuration in the race, the `values` of its parameters, and where it came from."""

    id: int
    iteration: int
    parent: int | None
    configuration: str
    values: dict[str, Any]
    origin: str


class Iteration(NamedTuple):
    """A race: how many are planned, its budget in runs, who took part, and why it ended.

    `runs_used` are those of the whole tuning up to its end.
    """

    iteration: int
    planned: int
    budget: int
    candidates: int
    runs_used: int
    why: str


class Step(NamedTuple):
    """One more problem raced on, which stands at `position` of the stream of problems.

    `alive` are left after it; `best` leads them with `mean_cost`. `statistic` and `pvalue` are NaN
    where nothing was tested. `runs_used` are those of the whole tuning, `elapsed` its seconds.
    """

    iteration: int
    step: int
    instance: str
    seed: int
    alive: int
    best: int | None
    runs_used: int
    statistic: float = float("nan")
    pvalue: float = float("nan")
    elapsed: float = float("nan")
    position: int | None = None
    mean_cost: float = float("nan")


class Elimination(NamedTuple):
    """A candidate that left the race."""

    iteration: int
    step: int
    candidate: int
    rank_sum: float
    reason: str


class Elite(NamedTuple):
    """A candidate that an iteration ended with; the best has rank 1."""

    iteration: int
    rank: int
    candidate: int
    instances: int
    rank_sum: float
    mean_cost: float


class Cost(NamedTuple):
    """What a candidate's run cost at a position of the stream of problems."""

    candidate: int
    position: int
    cost: float
