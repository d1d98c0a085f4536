"""One race: candidates run on instance after instance, and those that are worse leave.

A survivor of earlier races (an elite) brings its results along, and the test cannot drop it before
the race has covered every instance that it brings a result of.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from uaos.errors import InvalidParameter, UaosError, UnknownName
from uaos.params import Value
from uaos.tuning.events import Dropped, Elite, Step
from uaos.tuning.ranking import TESTS, Costs, ranks


class Task(NamedTuple):
    """A run that a race wants: a candidate on the instance at a place of the stream."""

    id: int
    values: Mapping[str, Value]
    instance: Any
    seed: int


#: Gives the cost of each task, in order; smaller is better, infinity rejects the candidate.
Evaluate = Callable[[Sequence[Task]], Sequence[float]]


class NobodyLeft(UaosError):
    """Every candidate of a race failed."""


@dataclass(frozen=True)
class Rules:
    """How races are run; the names are those of the literature on iterated racing.

    `first_test`: instances before the first test. `each_test`: instances between tests. `alpha`:
    the tests' level. `new_instances`: how many each later race begins with. `elitist_limit`: tests
    in a row without a loser that end a race. `mu`: least instances that the size of a race is
    computed for.
    """

    test: str = "friedman"
    first_test: int = 5
    each_test: int = 1
    alpha: float = 0.05
    new_instances: int = 1
    elitist_limit: int = 2
    mu: int = 5

    def __post_init__(self) -> None:
        if self.test not in TESTS:
            raise UnknownName("test", self.test, TESTS)
        least = {"first_test": 2, "each_test": 1, "new_instances": 0, "elitist_limit": 1, "mu": 1}
        for name, low in least.items():
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= 1000:
                raise InvalidParameter(name, value, f"a whole number {low} to 1000")
        if not 0 < self.alpha < 1:
            raise InvalidParameter("alpha", self.alpha, "a level between 0 and 1")

    @property
    def least(self) -> int:
        """Instances that every new candidate of a race should see."""
        return max(self.mu, self.first_test)


class Stream:
    """The instances in the order in which races come to them: shuffled passes, each with a seed."""

    def __init__(self, instances: Sequence[Any], seed: int) -> None:
        if not instances:
            raise InvalidParameter("instances", [], "at least one")
        self._instances = list(instances)
        self._rng = np.random.default_rng([seed, 1])
        self._drawn: list[tuple[Any, int]] = []

    def __getitem__(self, position: int) -> tuple[Any, int]:
        while len(self._drawn) <= position:
            for index in self._rng.permutation(len(self._instances)):
                seed = int(self._rng.integers(2**31 - 1))
                self._drawn.append((self._instances[index], seed))
        return self._drawn[position]


@dataclass
class Race:
    """The state of one race; :meth:`run` yields its steps.

    `results` maps a candidate to its costs by place in the stream, and is added to. `seen` is the
    number of places that earlier races have used. `budget` are the runs that the race may make; it
    comes to its first test whatever that takes.
    """

    iteration: int
    candidates: Mapping[int, Mapping[str, Value]]
    elites: Sequence[int]
    results: dict[int, dict[int, float]]
    seen: int
    budget: int
    survivors: int
    stream: Stream
    evaluate: Evaluate
    rules: Rules
    rng: np.random.Generator
    used_before: int = 0
    used: int = 0
    why: str = ""
    covered: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.alive = list(self.candidates)
        # What an elite brings and the race has not covered: as long as there is any, it stays.
        self._uncovered = {e: set(self.results[e]) for e in self.elites}
        self._idle_tests = 0

    def run(self) -> Iterator[Step]:
        """Race until few are left, the budget does not allow one more step, or nobody leaves."""
        places = self._places()
        while not self.why:
            # No test comes before the first: until then the steps can be run as one batch.
            count = 1 if self.covered else self.rules.first_test
            block = [next(places) for _ in range(count)]
            tasks = [(c, p) for p in block for c in self.alive if p not in self.results[c]]
            if self.covered and self.used + len(tasks) > self.budget:
                self.why = "the next step does not fit the budget"
                break
            new = self._run(tasks)
            for place in block:
                yield self._step(place, new.get(place, {}))
            if len(self.alive) <= self.survivors and len(self.covered) >= self._due:
                self.why = "1 is left" if len(self.alive) == 1 else f"{len(self.alive)} are left"
            elif self._idle_tests >= self.rules.elitist_limit:
                self.why = f"{self._idle_tests} tests in a row dropped nobody"

    @property
    def _due(self) -> int:
        """How many instances a later race is to cover: the new ones and those of earlier races."""
        return self.seen + self.rules.new_instances if self.seen else 0

    def _places(self) -> Iterator[int]:
        """New instances first, then those of earlier races, shuffled, then the ones to come."""
        yield from range(self.seen, self._due)
        yield from (int(place) for place in self.rng.permutation(self.seen))
        yield from itertools.count(self._due)

    def _run(self, tasks: Sequence[tuple[int, int]]) -> dict[int, dict[int, float]]:
        """Run (candidate, place) pairs; their costs by place."""
        asked = [Task(c, self.candidates[c], *self.stream[p]) for c, p in tasks]
        found = self.evaluate(asked) if asked else []
        costs: dict[int, dict[int, float]] = {}
        for (candidate, place), cost in zip(tasks, found, strict=True):
            value = float("inf") if math.isnan(cost) else float(cost)
            self.results[candidate][place] = value
            costs.setdefault(place, {})[candidate] = value
        return costs

    def _step(self, place: int, new: Mapping[int, float]) -> Step:
        """Cover one more place: those that failed leave, and then those that the test tells to."""
        self.used += len(new)
        self.covered.append(place)
        for left in self._uncovered.values():
            left.discard(place)
        failures = [c for c in self.alive if self.results[c][place] == float("inf")]
        dropped = [Dropped(c, float("nan"), "failed") for c in failures]
        self._drop(dropped)
        if not self.alive:
            raise NobodyLeft(
                f"every candidate of race {self.iteration} has failed on some instance; the last "
                f"was {self.stream[place][0]}"
            )
        statistic = p_value = float("nan")
        since = len(self.covered) - self.rules.first_test
        if since >= 0 and since % self.rules.each_test == 0 and len(self.alive) > 1:
            statistic, p_value, losers = self._test()
            self._drop(losers)
            dropped += losers
            protected = any(self._uncovered.get(c) for c in self.alive)
            self._idle_tests = 0 if losers or protected else self._idle_tests + 1
        best, mean = self._best()
        instance, seed = self.stream[place]
        return Step(
            self.iteration, len(self.covered), place, str(instance), seed, new, len(self.alive),
            best, mean, statistic, p_value, tuple(dropped), self.used_before + self.used,
        )  # fmt: skip

    def _test(self) -> tuple[float, float, list[Dropped]]:
        table = self._table(self.alive, self.covered)
        verdict = TESTS[self.rules.test](table, self.rules.alpha)
        sums = ranks(table).sum(axis=0)
        losers = [
            Dropped(c, float(sums[i]), f"{self.rules.test}, p = {verdict.p_value:.3g}")
            for i, c in enumerate(self.alive)
            if not (verdict.stays[i] or self._uncovered.get(c))
        ]
        return verdict.statistic, verdict.p_value, losers

    def _drop(self, losers: Sequence[Dropped]) -> None:
        gone = {one.id for one in losers}
        self.alive = [c for c in self.alive if c not in gone]

    def _table(self, candidates: Sequence[int], places: Iterable[int]) -> Costs:
        """The costs of candidates (columns) on instances (rows)."""
        columns = [self.results[c] for c in candidates]
        return np.array([[column[p] for column in columns] for p in places])

    def _scores(self, table: Costs) -> Costs:
        """By what candidates are ordered: rank sums, or means where the test looks at means."""
        means = self.rules.test == "t-test"
        return np.asarray(table.mean(axis=0) if means else ranks(table).sum(axis=0))

    def _best(self) -> tuple[int, float]:
        """Who leads, and its mean cost on the instances covered."""
        table = self._table(self.alive, self.covered)
        leader = int(np.argmin(self._scores(table)))
        return self.alive[leader], float(table[:, leader].mean())

    def survived(self) -> tuple[Elite, ...]:
        """Those alive, best first, at most the wanted number: more instances, then the score."""
        elites: list[Elite] = []
        counts = {c: len(self.results[c]) for c in self.alive}
        for count in sorted(set(counts.values()), reverse=True):
            equals = [c for c in self.alive if counts[c] == count]
            common = set.intersection(*(set(self.results[c]) for c in equals))
            table = self._table(equals, sorted(common))
            sums = ranks(table).sum(axis=0)
            for i in np.argsort(self._scores(table), kind="stable"):
                mean = float(np.mean(list(self.results[equals[i]].values())))
                elites.append(Elite(equals[i], len(elites) + 1, count, float(sums[i]), mean))
        return tuple(elites[: self.survivors])
