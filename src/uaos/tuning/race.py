"""One race: candidates run on instance after instance, and those that are worse leave.

A survivor of earlier races (an elite) brings its results along, and cannot be dropped before the
race has covered as many instances as those results.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
        if not 2 <= self.first_test <= 1000:
            raise InvalidParameter("first_test", self.first_test, "a whole number 2 to 1000")
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
    number of places that earlier races have used.
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
        self._stored = {e: len(self.results[e]) for e in self.elites}
        self._idle_tests = 0

    def run(self) -> Iterator[Step]:
        """Race until few are left, the budget does not allow one more step, or nobody leaves."""
        places = self._places()
        while not self.why:
            # No test comes before the first: until then the steps can be run as one batch.
            count = 1 if self.covered else self.rules.first_test
            block = [next(places) for _ in range(count)]
            tasks = [(c, p) for p in block for c in self.alive if p not in self.results[c]]
            if self.used + len(tasks) > self.budget:
                self.why = "the next step does not fit the budget"
                break
            costs = self._run(tasks)
            for place in block:
                yield self._step(place, costs)
            if len(self.alive) <= self.survivors and len(self.covered) >= self._least_steps:
                self.why = f"{len(self.alive)} are left"
            elif self._idle_tests >= self.rules.elitist_limit:
                self.why = f"{self._idle_tests} tests in a row dropped nobody"

    @property
    def _least_steps(self) -> int:
        """Steps until the instances of earlier races are all covered."""
        return max(self.rules.first_test, self.seen + self.rules.new_instances if self.seen else 0)

    def _places(self) -> Iterator[int]:
        """New instances first, then those of earlier races, shuffled, then the ones to come."""
        if not self.seen:
            first: list[int] = []
        else:
            first = [self.seen + i for i in range(self.rules.new_instances)]
            first += [int(p) for p in self.rng.permutation(self.seen)]
        yield from first
        following = self.seen + self.rules.new_instances if self.seen else 0
        while True:
            yield following
            following += 1

    def _run(self, tasks: Sequence[tuple[int, int]]) -> dict[int, dict[int, float]]:
        """Run (candidate, place) pairs; their costs by place."""
        asked = [Task(c, self.candidates[c], *self.stream[p]) for c, p in tasks]
        found = self.evaluate(asked) if asked else []
        costs: dict[int, dict[int, float]] = {}
        for (candidate, place), cost in zip(tasks, found, strict=True):
            value = float(cost) if cost == cost else float("inf")
            self.results[candidate][place] = value
            costs.setdefault(place, {})[candidate] = value
        return costs

    def _step(self, place: int, costs: Mapping[int, Mapping[int, float]]) -> Step:
        new = costs.get(place, {})
        self.used += len(new)
        self.covered.append(place)
        dropped = [
            Dropped(c, float("nan"), "failed")
            for c in self.alive
            if self.results[c][place] == float("inf")
        ]
        self._drop(dropped)
        if not self.alive:
            raise NobodyLeft(
                f"every candidate of race {self.iteration} has failed on some instance; the last "
                f"was {self.stream[place][0]}"
            )
        statistic = p_value = float("nan")
        step = len(self.covered)
        since = step - self.rules.first_test
        if since >= 0 and since % self.rules.each_test == 0 and len(self.alive) > 1:
            statistic, p_value, losers = self._test()
            self._drop(losers)
            dropped += losers
            free = all(step >= self._stored[e] for e in self.elites)
            self._idle_tests = self._idle_tests + 1 if free and not losers else 0
        best, mean = self._best()
        instance, seed = self.stream[place]
        return Step(
            self.iteration, step, place, str(instance), seed, new, len(self.alive), best, mean,
            statistic, p_value, tuple(dropped), self.used_before + self.used,
        )  # fmt: skip

    def _test(self) -> tuple[float, float, list[Dropped]]:
        table = self.table()
        verdict = TESTS[self.rules.test](table, self.rules.alpha)
        sums = ranks(table).sum(axis=0)
        losers = [
            Dropped(c, float(sums[i]), f"{self.rules.test}, p = {verdict.p_value:.3g}")
            for i, c in enumerate(self.alive)
            if not verdict.stays[i] and len(self.covered) >= self._stored.get(c, 0)
        ]
        return verdict.statistic, verdict.p_value, losers

    def _drop(self, losers: Sequence[Dropped]) -> None:
        gone = {one.id for one in losers}
        self.alive = [c for c in self.alive if c not in gone]

    def table(self) -> Costs:
        """The costs of those alive (columns) on the instances covered (rows)."""
        return np.array([[self.results[c][p] for c in self.alive] for p in self.covered])

    def _best(self) -> tuple[int, float]:
        table = self.table()
        sums = _rank_sums(table)
        leader = min(range(len(self.alive)), key=lambda i: (sums[i], self.alive[i]))
        return self.alive[leader], float(table[:, leader].mean())

    def survived(self) -> tuple[Elite, ...]:
        """Those alive in order, at most the wanted number: more instances, then rank sum."""
        table = self.table()
        sums, means = _rank_sums(table), table.mean(axis=0)
        order = sorted(
            range(len(self.alive)),
            key=lambda i: (-len(self.results[self.alive[i]]), sums[i], self.alive[i]),
        )
        return tuple(
            Elite(self.alive[i], rank, len(self.results[self.alive[i]]), float(sums[i]),
                  float(means[i]))
            for rank, i in enumerate(order[: self.survivors], start=1)
        )  # fmt: skip


def _rank_sums(table: Costs) -> NDArray[np.float64]:
    return np.asarray(ranks(table).sum(axis=0), dtype=np.float64)
