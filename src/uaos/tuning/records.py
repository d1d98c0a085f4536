"""The tables of a tuning's store, and their rows as they are written and read."""

from typing import Any, NamedTuple

from uaos.experiments.storefile import Kind

TUNING = Kind(
    noun="tuning",
    application=b"uaot",
    format=1,
    apart="use another file",
    schema="""
CREATE TABLE tunings (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, setup TEXT NOT NULL, started TEXT NOT NULL,
    versions TEXT NOT NULL, finished TEXT, data TEXT
);
CREATE TABLE sessions (id INTEGER PRIMARY KEY, started TEXT NOT NULL, versions TEXT NOT NULL);
CREATE TABLE configurations (key TEXT PRIMARY KEY, configuration TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE runs (
    configuration TEXT NOT NULL REFERENCES configurations (key), function INTEGER NOT NULL,
    dimension INTEGER NOT NULL, instance INTEGER NOT NULL, seed INTEGER NOT NULL,
    budget INTEGER NOT NULL, evaluations INTEGER NOT NULL, error REAL, hits BLOB NOT NULL,
    seconds REAL NOT NULL, status TEXT NOT NULL CHECK (status IN ('done', 'failed')),
    reason TEXT NOT NULL, session INTEGER REFERENCES sessions (id),
    PRIMARY KEY (configuration, function, dimension, instance, seed, budget)
);
CREATE TABLE candidates (
    tuning INTEGER NOT NULL REFERENCES tunings (id), id INTEGER NOT NULL,
    iteration INTEGER NOT NULL, parent INTEGER,
    configuration TEXT NOT NULL REFERENCES configurations (key), vals TEXT NOT NULL,
    origin TEXT NOT NULL,
    PRIMARY KEY (tuning, id)
);
CREATE TABLE iterations (
    tuning INTEGER NOT NULL REFERENCES tunings (id), iteration INTEGER NOT NULL,
    planned INTEGER NOT NULL, budget INTEGER NOT NULL, candidates INTEGER NOT NULL,
    runs_used INTEGER NOT NULL, why TEXT NOT NULL,
    PRIMARY KEY (tuning, iteration)
);
CREATE TABLE steps (
    tuning INTEGER NOT NULL REFERENCES tunings (id), iteration INTEGER NOT NULL,
    step INTEGER NOT NULL, instance TEXT NOT NULL, seed INTEGER NOT NULL, alive INTEGER NOT NULL,
    best INTEGER, runs_used INTEGER NOT NULL, statistic REAL, pvalue REAL, elapsed REAL,
    position INTEGER, mean_cost REAL,
    PRIMARY KEY (tuning, iteration, step)
);
CREATE TABLE eliminations (
    tuning INTEGER NOT NULL REFERENCES tunings (id), iteration INTEGER NOT NULL,
    step INTEGER NOT NULL, candidate INTEGER NOT NULL, rank_sum REAL, reason TEXT NOT NULL,
    PRIMARY KEY (tuning, iteration, step, candidate)
);
CREATE TABLE elites (
    tuning INTEGER NOT NULL REFERENCES tunings (id), iteration INTEGER NOT NULL,
    rank INTEGER NOT NULL, candidate INTEGER NOT NULL, instances INTEGER NOT NULL, rank_sum REAL,
    mean_cost REAL,
    PRIMARY KEY (tuning, iteration, rank)
);
CREATE TABLE results (
    tuning INTEGER NOT NULL REFERENCES tunings (id), candidate INTEGER NOT NULL,
    position INTEGER NOT NULL, cost REAL,
    PRIMARY KEY (tuning, candidate, position)
) WITHOUT ROWID;
""",
)


class Tuning(NamedTuple):
    """One tuning of a store; `finished` is None as long as it runs, and `data` is empty."""

    id: int
    key: str
    setup: dict[str, Any]
    started: str
    versions: dict[str, str]
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
