"""One race: candidates run on a sequence of instances, and a test drops the worse ones.

A survivor of earlier races (an elite) keeps its results, and the test cannot drop it before the
race has covered all instances of these results.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from uaos.arrays import BoolArray, FloatArray
from uaos.errors import InvalidParameter, UaosError, UnknownName
from uaos.params import check_fields, integer
from uaos.problems import Problem
from uaos.problems.variables import Values
from uaos.statistics import friedman_test, paired_t_test, rank_rows, sign_test, wilcoxon_test
from uaos.tuning.records import NAN, Elite, Step

#: Costs of candidates (columns) on instances that all of them have been run on (rows).
Costs = FloatArray


# Eliminations: which candidates are significantly worse than the best one. All tests are those of
# :mod:`uaos.statistics`.


class Decision(NamedTuple):
    """Result of a test: its statistic and p-value, and which candidates stay."""

    statistic: float
    p_value: float
    stays: BoolArray


def decide_by_friedman(costs: Costs, alpha: float) -> Decision:
    """Apply Friedman's test and drop candidates that differ from the best by Conover's criterion.

    Two candidates are compared by :func:`decide_by_wilcoxon`.
    """
    if costs.shape[1] == 2:
        return decide_by_wilcoxon(costs, alpha)
    test = friedman_test(costs)
    rank_sums = test.ranks.sum(axis=0)
    difference = math.inf if test.p_value >= alpha else test.conover_difference(alpha)
    return Decision(test.statistic, test.p_value, rank_sums - rank_sums.min() <= difference)


def decide_by_ranks(costs: Costs, alpha: float) -> Decision:
    """Decide as :func:`decide_by_friedman`, but compare two candidates by the sign test.

    Costs are compared within an instance only, never between instances: for problems whose values
    have different scales.
    """
    decide = decide_by_signs if costs.shape[1] == 2 else decide_by_friedman
    return decide(costs, alpha)


def decide_by_wilcoxon(costs: Costs, alpha: float) -> Decision:
    """Compare two candidates by Wilcoxon's test; one that is never worse, and not equal, wins.

    The statistic is the smaller of the two rank sums.
    """
    difference = costs[:, 0] - costs[:, 1]
    (p_value,), (signed_ranks,) = wilcoxon_test(difference)
    if difference.any() and ((difference <= 0).all() or (difference >= 0).all()):
        return Decision(0.0, 0.0, np.array([signed_ranks < 0, signed_ranks > 0]))
    n = len(difference)
    smaller = (n * (n + 1) / 2 - abs(signed_ranks)) / 2
    stays = np.array([signed_ranks < 0, signed_ranks > 0]) | (p_value >= alpha)
    return Decision(float(smaller), float(p_value), stays)


def decide_by_signs(costs: Costs, alpha: float) -> Decision:
    """Compare two candidates by the sign test; one that is never worse, and not equal, wins."""
    wins, losses = (int((costs[:, a] < costs[:, 1 - a]).sum()) for a in (0, 1))
    if wins == losses == 0:
        return Decision(0.0, 1.0, np.ones(2, bool))
    fewer = min(wins, losses)
    p_value = sign_test(wins, losses) if fewer else 0.0
    stays = np.array([wins > losses, losses > wins]) | (p_value >= alpha)
    return Decision(float(fewer), p_value, stays)


def decide_by_t_test(costs: Costs, alpha: float) -> Decision:
    """Compare every candidate with the one of the smallest mean by the paired t-test.

    For costs whose size matters, not only their order. The p-value is the smallest one.
    """
    best = int(np.argmin(costs.mean(axis=0)))
    t, p_values = paired_t_test(costs - costs[:, [best]])
    return Decision(float(t.max()), float(p_values.min()), p_values >= alpha)


#: The tests by name.
TESTS: dict[str, Callable[[Costs, float], Decision]] = {
    "friedman": decide_by_friedman, "ranks": decide_by_ranks, "t-test": decide_by_t_test,
}  # fmt: skip


# Races


class Task(NamedTuple):
    """A run to make: a candidate on an instance with a seed."""

    id: int
    values: Values
    instance: Problem
    seed: int


#: Returns the cost of each task, in order; smaller is better, infinity drops the candidate.
Evaluate = Callable[[Sequence[Task]], Sequence[float]]

#: The costs of candidates, each by place in the stream.
Results = dict[int, dict[int, float]]


class AllCandidatesFailed(UaosError):
    """Every candidate of a race failed."""


@dataclass(frozen=True)
class Rules:
    """Rules of a race, named as in the literature on iterated racing.

    Parameters
    ----------
    test : {"friedman", "ranks", "t-test"}
        The statistical test.
    alpha : float
        The level of the tests.

    Raises
    ------
    UnknownName
        If there is no such test.
    InvalidParameter
        If a number is out of range.

    Examples
    --------
    >>> from uaos.tuning import Rules
    >>> Rules(first_test=8).least
    8
    """

    test: str = "friedman"
    first_test: int = integer(2, 1000, default=5, doc="instances before the first test")
    each_test: int = integer(1, 1000, default=1, doc="instances between tests")
    alpha: float = 0.05
    new_instances: int = integer(
        0, 1000, default=1, doc="new instances at the start of each later race"
    )
    elitist_limit: int = integer(
        1, 1000, default=2, doc="tests in a row that drop no candidate, after which a race ends"
    )
    mu: int = integer(1, 1000, default=5, doc="minimum number of instances for the size of a race")

    def __post_init__(self) -> None:
        check_fields(self, "")
        if self.test not in TESTS:
            raise UnknownName("test", self.test, TESTS)
        if not 0 < self.alpha < 1:
            raise InvalidParameter(
                f"alpha is {self.alpha!r}; expected a number between 0 and 1",
                name="alpha", value=self.alpha,
            )  # fmt: skip

    @property
    def least(self) -> int:
        """Instances that every new candidate of a race should see."""
        return max(self.mu, self.first_test)


class Stream:
    """Instances in the order in which races use them: shuffled passes, each entry with a seed."""

    def __init__(self, instances: Sequence[Problem], seed: int) -> None:
        if not instances:
            raise InvalidParameter(
                "there are no problems to race on; pass at least one", name="instances", value=[]
            )
        self._instances = list(instances)
        self._rng = np.random.default_rng([seed, 1])
        self._drawn: list[tuple[Problem, int]] = []

    def __getitem__(self, position: int) -> tuple[Problem, int]:
        while len(self._drawn) <= position:
            for index in self._rng.permutation(len(self._instances)):
                seed = int(self._rng.integers(2**31 - 1))
                self._drawn.append((self._instances[index], seed))
        return self._drawn[position]


@dataclass
class Standings:
    """Candidates of a race and their costs on the instances covered so far.

    `results` includes the costs of earlier races.
    """

    candidates: Iterable[int]
    elites: Sequence[int]
    results: Results
    rules: Rules
    covered: list[int] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self.alive = list(self.candidates)
        # Earlier results of elites that the race has not covered yet; they protect the elite.
        self._uncovered = {e: set(self.results[e]) for e in self.elites}

    def cover(self, place: int) -> list[int]:
        """Cover one more instance; drop the candidates that failed on it, and return them."""
        self.covered.append(place)
        for places in self._uncovered.values():
            places.discard(place)
        failed = [c for c in self.alive if self.results[c].get(place) == math.inf]
        self.drop(failed)
        return failed

    def drop(self, losers: Sequence[int]) -> None:
        """Drop candidates."""
        self.alive = [c for c in self.alive if c not in losers]

    def is_protected(self, candidate: int) -> bool:
        """Return whether the test cannot drop a candidate yet."""
        return bool(self._uncovered.get(candidate))

    def table(self) -> Costs:
        """Return the costs of the remaining candidates (columns) on shared instances (rows)."""
        return shared_costs(self.results, self.alive, self.covered)

    def test(self) -> tuple[float, float, list[int]]:
        """Return the statistic and p-value of the test, and the candidates to drop."""
        table = self.table()
        if not len(table):
            return NAN, NAN, []
        statistic, p_value, stays = TESTS[self.rules.test](table, self.rules.alpha)
        losers = [c for c, stay in zip(self.alive, stays, strict=True)
                  if not stay and not self.is_protected(c)]  # fmt: skip
        return statistic, p_value, losers


def shared_costs(results: Results, candidates: Sequence[int], places: Iterable[int]) -> Costs:
    """Return the costs of candidates (columns) on the instances that all were run on (rows)."""
    columns = [results[c] for c in candidates]
    rows = [p for p in places if all(p in column for column in columns)]
    return np.array([[column[p] for column in columns] for p in rows])


@dataclass
class Race(Standings):
    """Race of the built-in racer; :meth:`run` yields its steps.

    New costs are added to `results`. `seen` is the number of places that earlier races have used.
    `budget` limits the runs of the race, but not before its first test.
    """

    candidates: Mapping[int, Values]
    iteration: int
    seen: int
    budget: int
    survivors: int
    stream: Stream
    evaluate: Evaluate
    rng: np.random.Generator
    used_before: int = 0
    used: int = field(default=0, init=False)
    why: str = field(default="", init=False)
    _idle_tests: int = field(default=0, init=False)

    def run(self) -> Iterator[Step]:
        """Race until few candidates remain, the budget is spent, or tests drop no candidate."""
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
                self.why = f"{self._idle_tests} tests in a row dropped no candidate"

    @property
    def _due(self) -> int:
        """Instances that a later race must cover: the new ones and those of earlier races."""
        return self.seen + self.rules.new_instances if self.seen else 0

    def _places(self) -> Iterator[int]:
        """Yield new instances, then those of earlier races, shuffled, then further new ones."""
        yield from range(self.seen, self._due)
        yield from (int(place) for place in self.rng.permutation(self.seen))
        yield from itertools.count(self._due)

    def _run(self, tasks: Sequence[tuple[int, int]]) -> Results:
        """Run (candidate, place) pairs, and return their costs by place."""
        runs = [Task(c, self.candidates[c], *self.stream[p]) for c, p in tasks]
        costs = self.evaluate(runs) if runs else []
        by_place: Results = {}
        for (candidate, place), cost in zip(tasks, costs, strict=True):
            value = math.inf if math.isnan(cost) else float(cost)
            self.results[candidate][place] = by_place.setdefault(place, {})[candidate] = value
        return by_place

    def _step(self, place: int, new: Mapping[int, float]) -> Step:
        """Cover one more place: drop candidates that failed, and then those that lose the test."""
        self.used += len(new)
        dropped = self.cover(place)
        instance, seed = self.stream[place]
        if not self.alive:
            raise AllCandidatesFailed(
                f"every candidate of race {self.iteration} has failed, the last of them on "
                f"{instance}"
            )
        statistic = p_value = NAN
        since = len(self.covered) - self.rules.first_test
        if since >= 0 and since % self.rules.each_test == 0 and len(self.alive) > 1:
            statistic, p_value, losers = self.test()
            self.drop(losers)
            dropped += losers
            protected = any(map(self.is_protected, self.alive))
            self._idle_tests = 0 if losers or protected else self._idle_tests + 1
        table = self.table()
        leader = int(np.argmin(self._scores(table)))
        return Step(
            self.iteration, len(self.covered), str(instance), seed, len(self.alive),
            self.alive[leader], self.used_before + self.used, statistic, p_value, position=place,
            mean_cost=float(table[:, leader].mean()), costs=new, dropped=tuple(dropped),
        )  # fmt: skip

    def _scores(self, table: Costs) -> Costs:
        """Return what candidates are ordered by: rank sums, or means for a test of means."""
        means = self.rules.test == "t-test"
        return np.asarray(table.mean(axis=0) if means else rank_rows(table).sum(axis=0))

    def survived(self) -> tuple[Elite, ...]:
        """Return the survivors, best first: by the number of instances, then by score."""
        elites: list[Elite] = []
        counts = {c: len(self.results[c]) for c in self.alive}
        for count in sorted(set(counts.values()), reverse=True):
            equals = [c for c in self.alive if counts[c] == count]
            table = shared_costs(self.results, equals, sorted(self.results[equals[0]]))
            sums = rank_rows(table).sum(axis=0)
            for i in np.argsort(self._scores(table), kind="stable"):
                mean = float(np.mean(list(self.results[equals[i]].values())))
                rank = len(elites) + 1
                elites.append(Elite(self.iteration, rank, equals[i], count, float(sums[i]), mean))
        return tuple(elites[: self.survivors])
