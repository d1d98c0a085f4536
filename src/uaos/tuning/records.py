"""Events of a tuning, which are also the rows of its store."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, TypedDict

from uaos.params import Value

NAN = float("nan")


class DomainData(TypedDict, total=False):
    """Domain of a variable as plain data: choices, or the range of a number."""

    choices: list[Value | bool]
    low: float
    high: float
    log: bool
    whole: bool


class VariableData(DomainData):
    """Variable of a search space as plain data."""

    name: str
    when: str


class DesignOptions(TypedDict, total=False):
    """Options that shaped a search space."""

    space: str
    pool: str
    method: str
    free: list[str]
    members: list[str]
    fix: dict[str, str]
    range: dict[str, str]
    recordings: str
    code: str


class Setup(TypedDict):
    """Plan of a tuning as plain data; equal plans have equal setups."""

    tuner: str
    runs: int
    budget: int | str
    objective: str
    seed: int
    training_set: str
    suite: str
    suite_hash: str
    problems: list[str]
    space: list[VariableData]
    forbidden: list[str]
    base: dict[str, object]
    constants: dict[str, Value | bool]
    options: DesignOptions
    initial: list[dict[str, Value | bool]]
    rules: dict[str, object]


class TuningOutcome(TypedDict, total=False):
    """Result of a tuning as plain data; empty until it is finished."""

    used: int
    iterations: int
    seconds: float
    best: dict[str, object]


class Tuning(NamedTuple):
    """One tuning of a store; `finished` is None while it runs.

    `seconds` is its running time over all sessions.
    """

    id: int
    key: str
    setup: Setup
    started: str
    versions: dict[str, str]
    seconds: float
    finished: str | None
    data: TuningOutcome


class Candidate(NamedTuple):
    """A candidate joined the search; `origin` is "initial", "uniform" or "model".

    `configuration` is the key of its configuration in a store.
    """

    id: int
    iteration: int
    parent: int | None
    configuration: str
    values: Mapping[str, Value]
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
    if no test was made. `runs_used` counts the runs of the whole tuning, `elapsed` its seconds.
    `costs` (of new runs) and `dropped` (candidates) are empty if the step is read from a store.
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
    """A survivor of an iteration; the best has rank 1."""

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


#: Events that a tuner reports.
Event = Candidate | IterationStarted | Step | Iteration


class Cost(NamedTuple):
    """Cost of a candidate's run at a position of the stream of problems."""

    candidate: int
    position: int
    cost: float


#: Rows of the record of a tuning.
Record = Candidate | Iteration | Step | Elite | Cost
