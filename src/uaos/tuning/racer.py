"""Elitist iterated racing: races, survivors, models around them, and races again.

An independent implementation of the algorithm that R's irace made known, for those without R. In
the order of this file: the statistical tests, the sampling models, one race, and the search itself.

López-Ibáñez, M., Dubois-Lacoste, J., Pérez Cáceres, L., Birattari, M. & Stützle, T. (2016), "The
irace package: iterated racing for automatic algorithm configuration", Operations Research
Perspectives 3.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from uaos.errors import InvalidParameter, UaosError, UnknownName
from uaos.params import Choice, Integer, Real, Value, check_fields, integer
from uaos.text import count as plural
from uaos.tuning.records import (
    NAN,
    Candidate,
    Elimination,
    Elite,
    Event,
    Iteration,
    IterationStarted,
    Step,
)
from uaos.tuning.space import (
    REDRAWS,
    ForbiddenCandidate,
    Space,
    Values,
    Variable,
    bounds,
    distinct,
    rounded,
    uniform_candidates,
)

# Tests: which candidates are worse than the best one. A test sees the costs of the candidates
# (columns) on the instances they all have been run on (rows). SciPy is imported where it is used:
# the processes that make the runs need none.

Costs = NDArray[np.float64]


class Decision(NamedTuple):
    """The test's statistic and p-value, and which candidates stay."""

    statistic: float
    p_value: float
    stays: NDArray[np.bool_]


def ranks(costs: Costs) -> NDArray[np.float64]:
    """The candidates' ranks on each instance, 1 for the smallest cost, ties their mean."""
    from scipy import stats

    return np.asarray(stats.rankdata(costs, axis=1), dtype=np.float64)


def friedman(costs: Costs, alpha: float) -> Decision:
    """Friedman's test, and Conover's comparison of each candidate with the best.

    With n instances, k candidates, rank sums R and tie sizes u,

        X = 12 Σ (R - n(k+1)/2)² / (n k (k+1) - Σ (u³ - u)/(k-1))

    is chi-square with k - 1 degrees of freedom where all are alike. If it says they are not, those
    stay for which R - min R <= t(1 - α/2; (n-1)(k-1)) √(2 (n A - Σ R²) / ((n-1)(k-1))), A the sum
    of the squared ranks. Two candidates are compared by :func:`wilcoxon`.

    Conover, W. J. (1999), Practical Nonparametric Statistics, 3rd edition, section 5.8.
    """
    from scipy.special import chdtrc, stdtrit

    n, k = costs.shape
    if k == 2:
        return wilcoxon(costs, alpha)
    order = ranks(costs)
    sums = order.sum(axis=0)
    squares = float((order**2).sum())
    # A tie of u ranks takes (u³ - u)/12 from the sum of their squares: this is the denominator of
    # X times (k-1)/12, and exact, as ranks are multiples of 1/2.
    below = squares - n * k * (k + 1) ** 2 / 4
    if below <= 0:  # every instance is one tie
        return Decision(0.0, 1.0, np.ones(k, bool))
    statistic = (k - 1) * float(((sums - n * (k + 1) / 2) ** 2).sum()) / below
    p_value = float(chdtrc(k - 1, statistic))
    if p_value >= alpha:
        return Decision(statistic, p_value, np.ones(k, bool))
    freedom = (n - 1) * (k - 1)
    spread = 2 * (n * squares - float((sums**2).sum())) / freedom
    critical = float(stdtrit(freedom, 1 - alpha / 2)) * math.sqrt(spread)
    return Decision(statistic, p_value, sums - sums.min() <= critical)


def by_ranks(costs: Costs, alpha: float) -> Decision:
    """As :func:`friedman`, but two candidates are compared by :func:`sign_test`.

    Costs are compared within an instance only, never between instances: for problems whose values
    are on scales of their own.
    """
    return (sign_test if costs.shape[1] == 2 else friedman)(costs, alpha)


def wilcoxon(costs: Costs, alpha: float) -> Decision:
    """Wilcoxon's signed-rank test of two candidates; one that is never worse, and not equal, wins.

    Wilcoxon, F. (1945), "Individual comparisons by ranking methods", Biometrics Bulletin 1.
    """
    from scipy import stats

    difference = costs[:, 0] - costs[:, 1]
    if not difference.any():
        return Decision(0.0, 1.0, np.ones(2, bool))
    if (difference <= 0).all() or (difference >= 0).all():
        return Decision(0.0, 0.0, np.array([difference.min() < 0, difference.max() > 0]))
    unequal = difference[difference != 0]
    sizes = np.abs(unequal)
    exact = len(sizes) <= 50 and len(np.unique(sizes)) == len(sizes)
    method = "exact" if exact else "approx"
    found = stats.wilcoxon(unequal, correction=not exact, method=method)
    p_value = float(found.pvalue)
    signed = float((np.sign(unequal) * stats.rankdata(sizes)).sum())
    stays = np.array([signed < 0, signed > 0]) | (p_value >= alpha)
    return Decision(float(found.statistic), p_value, stays)


def sign_test(costs: Costs, alpha: float) -> Decision:
    """The two-sided sign test of two candidates; one that is never worse, and not equal, wins.

    With m instances that one of them wins and n - m that the other wins, m <= n - m, the p-value is
    2 Σ_{i <= m} C(n, i) / 2ⁿ, at most 1; instances on which they are equal do not count.
    """
    first, second = (int((costs[:, a] < costs[:, 1 - a]).sum()) for a in (0, 1))
    fewer, n = min(first, second), first + second
    if n == 0:
        return Decision(0.0, 1.0, np.ones(2, bool))
    p_value = 0.0  # never worse
    if fewer:
        p_value = min(1.0, 2 * sum(math.comb(n, i) for i in range(fewer + 1)) / 2**n)
    stays = np.array([first > second, second > first]) | (p_value >= alpha)
    return Decision(float(fewer), p_value, stays)


def t_test(costs: Costs, alpha: float) -> Decision:
    """The paired t-test of every candidate against the one of the smallest mean.

    For costs whose size matters, not only their order. The p-value is the smallest one.
    """
    from scipy.special import stdtr

    n, _ = costs.shape
    best = int(np.argmin(costs.mean(axis=0)))
    difference = costs - costs[:, [best]]
    mean = difference.mean(axis=0)
    error = difference.std(axis=0, ddof=1) / math.sqrt(n)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(mean == 0, 0.0, mean / error)  # a constant difference is an infinite t
    p_values = 2 * stdtr(n - 1, -t)
    return Decision(float(t.max()), float(p_values.min()), p_values >= alpha)


#: The tests by name.
TESTS: dict[str, Callable[[Costs, float], Decision]] = {
    "friedman": friedman, "ranks": by_ranks, "t-test": t_test,
}  # fmt: skip


# Models: where new candidates come from. Every survivor carries a model of its own: a spread for
# each number, which shrinks from race to race, and a distribution for each choice, which moves
# toward the survivor's value. A child inherits the model of its parent.


@dataclass(frozen=True)
class Sampler:
    """Spreads of the numbers (in log space for a log scale) and distributions of the choices."""

    spreads: dict[str, float]
    chances: dict[str, NDArray[np.float64]]

    @classmethod
    def first(cls, space: Space) -> "Sampler":
        """Half of each range, and equal chances."""
        sizes = {v.name: len(v.domain.choices) for v in space if isinstance(v.domain, Choice)}
        return cls(
            {v.name: v.width / 2 for v in space if v.name not in sizes},
            {name: np.full(size, 1 / size) for name, size in sizes.items()},
        )

    def updated(
        self, space: Space, values: Values, *, iteration: int, planned: int, new: int
    ) -> "Sampler":
        """The model of a survivor for iteration j of J in which `new` candidates are drawn.

        With N free variables, spreads shrink by (1/new)^(1/N); chances become p (1 - (j-1)/J), plus
        (j-1)/J for the survivor's own value, at most 0.2^(1/N), and are normalized.
        """
        N = max(1, space.free)
        shrink = (1 / new) ** (1 / N)
        share = (iteration - 1) / planned
        chances = {}
        for name, p in self.chances.items():
            if name in values:
                p = p * (1 - share)
                p[_index(space[name], values[name])] += share
                p = np.minimum(p, 0.2 ** (1 / N))
            chances[name] = p / p.sum()
        return Sampler({name: s * shrink for name, s in self.spreads.items()}, chances)

    def widened(self, space: Space, new: int) -> "Sampler":
        """Softly restarted, for an iteration in which `new` candidates are drawn.

        Spreads go back by two iterations, times new^(2/N), to that of the second iteration at most;
        chances become 0.9 p + 0.1 max p, and are normalized.
        """
        shrink = (1 / new) ** (1 / max(1, space.free))
        spreads = {
            name: min(s / shrink**2, space[name].width / 2 * shrink)
            for name, s in self.spreads.items()
        }
        flatter = {name: 0.9 * p + 0.1 * p.max() for name, p in self.chances.items()}
        return Sampler(spreads, {name: p / p.sum() for name, p in flatter.items()})

    def draw(self, variable: Variable, parent: Values, rng: np.random.Generator) -> Value:
        """A value near the parent's; uniform where the parent has none."""
        domain = variable.domain
        if isinstance(domain, Choice):
            return domain.choices[_pick(np.cumsum(self.chances[variable.name]), rng)]
        if variable.name not in parent:
            return variable.uniform(rng)
        return _near(domain, float(parent[variable.name]), self.spreads[variable.name], rng)


def _near(domain: Real | Integer, center: float, spread: float, rng: np.random.Generator) -> Value:
    """Truncated normal around a value, by inversion of the distribution function."""
    from scipy.special import ndtr, ndtri

    low, high = bounds(domain)
    center += 0.5 * isinstance(domain, Integer)  # the middle of [n, n + 1)
    if domain.log:
        center = math.log(center)
    if spread <= 0:
        return rounded(domain, center)
    least, most = ndtr((low - center) / spread), ndtr((high - center) / spread)
    drawn = center + spread * float(ndtri(least + (most - least) * rng.random()))
    return rounded(domain, min(max(drawn, low), high))


def _pick(steps: NDArray[np.float64], rng: np.random.Generator) -> int:
    """The step of a cumulated distribution into which a draw falls; the last may miss 1."""
    return min(int(np.searchsorted(steps, rng.random(), side="right")), len(steps) - 1)


def _index(variable: Variable, value: Value) -> int:
    assert isinstance(variable.domain, Choice)
    return variable.domain.choices.index(value)


def children(
    space: Space, parents: Sequence[Values], models: Sequence[Sampler], weights: Sequence[float],
    count: int, rng: np.random.Generator, works: Callable[[Values], bool],
    besides: Iterable[Values] = (),
) -> list[tuple[int, dict[str, Value]]]:  # fmt: skip
    """`count` new candidates, each with the index of its parent, who is drawn by weight.

    None is forbidden, none comes twice, none is a parent or one of `besides`.
    """
    steps = np.cumsum(weights) / np.sum(weights)

    def draw() -> tuple[int, dict[str, Value]]:
        index = _pick(steps, rng)
        return index, space.draw(lambda variable: models[index].draw(variable, parents[index], rng))

    return distinct(space, count, draw, works, (*parents, *besides))


def nearly_equal(space: Space, candidates: Sequence[Values]) -> NDArray[np.bool_]:
    """Which candidates have a near twin: the same choices, numbers within 10^-digits of the range.

    An integer counts as a real number of the usual two digits.
    """
    alike = ~np.eye(len(candidates), dtype=bool)
    for variable in space:
        column = np.array([_coordinate(variable, c.get(variable.name)) for c in candidates])
        apart = np.abs(column[:, None] - column[None, :])
        near = 10.0 ** -getattr(variable.domain, "digits", 2) + 1e-9  # not decided by rounding
        alike &= apart <= (0.5 if isinstance(variable.domain, Choice) else near)
    return np.asarray(alike.any(axis=1))


def _coordinate(variable: Variable, value: Value | None) -> float:
    """A value on a scale where different choices are 1 apart, a range is 1 wide, absent is far."""
    if value is None:
        return -1e9
    if isinstance(variable.domain, Choice):
        return float(_index(variable, value))
    number = math.log(float(value)) if variable.domain.log else float(value)
    return (number - bounds(variable.domain)[0]) / (variable.width or 1.0)


# One race: candidates run on instance after instance, and those that are worse leave. A survivor of
# earlier races (an elite) brings its results along, and the test cannot drop it before the race has
# covered every instance that it brings a result of.


class Task(NamedTuple):
    """A run that a race wants: a candidate on the instance at a place of the stream."""

    id: int
    values: Values
    instance: Any
    seed: int
    parent: int | None = None


#: Gives the cost of each task, in order; smaller is better, infinity rejects the candidate.
Evaluate = Callable[[Sequence[Task]], Sequence[float]]

#: The costs of candidates, each by place in the stream.
Results = dict[int, dict[int, float]]


class NobodyLeft(UaosError):
    """Every candidate of a race failed."""


@dataclass(frozen=True)
class Rules:
    """How races are run; the names are those of the literature on iterated racing.

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
    new_instances: int = integer(0, 1000, default=1, doc="how many each later race begins with")
    elitist_limit: int = integer(1, 1000, default=2, doc="idle tests in a row that end a race")
    mu: int = integer(1, 1000, default=5, doc="instances that a race is sized for, at least")

    def __post_init__(self) -> None:
        check_fields(self, "")
        if self.test not in TESTS:
            raise UnknownName("test", self.test, TESTS)
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

    `results` is added to. `seen` is the number of places that earlier races have used. `budget` are
    the runs that the race may make; it comes to its first test whatever that takes.
    """

    iteration: int
    candidates: Mapping[int, Values]
    elites: Sequence[int]
    results: Results
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

    def _run(self, tasks: Sequence[tuple[int, int]]) -> Results:
        """Run (candidate, place) pairs; their costs, by place."""
        asked = [Task(c, self.candidates[c], *self.stream[p]) for c, p in tasks]
        found = self.evaluate(asked) if asked else []
        costs: Results = {}
        for (candidate, place), cost in zip(tasks, found, strict=True):
            value = math.inf if math.isnan(cost) else float(cost)
            self.results[candidate][place] = costs.setdefault(place, {})[candidate] = value
        return costs

    def _step(self, place: int, new: Mapping[int, float]) -> Step:
        """Cover one more place: those that failed leave, and then those that the test tells to."""
        self.used += len(new)
        self.covered.append(place)
        for left in self._uncovered.values():
            left.discard(place)
        failures = [c for c in self.alive if self.results[c][place] == math.inf]
        dropped = self._drop(dict.fromkeys(failures, (NAN, "failed")))
        instance, seed = self.stream[place]
        if not self.alive:
            raise NobodyLeft(
                f"every candidate of race {self.iteration} has failed on some instance; the last "
                f"was {instance}"
            )
        statistic = p_value = NAN
        since = len(self.covered) - self.rules.first_test
        if since >= 0 and since % self.rules.each_test == 0 and len(self.alive) > 1:
            statistic, p_value, losers = self._test()
            dropped += self._drop(losers)
            protected = any(self._uncovered.get(c) for c in self.alive)
            self._idle_tests = 0 if losers or protected else self._idle_tests + 1
        table = cost_table(self.results, self.alive, self.covered)
        leader = int(np.argmin(self._scores(table)))
        return Step(
            self.iteration, len(self.covered), str(instance), seed, len(self.alive),
            self.alive[leader], self.used_before + self.used, statistic, p_value, position=place,
            mean_cost=float(table[:, leader].mean()), costs=new, dropped=tuple(dropped),
        )  # fmt: skip

    def _test(self) -> tuple[float, float, dict[int, tuple[float, str]]]:
        """The test's statistic and p-value, and of those that it drops the rank sum and why."""
        table = cost_table(self.results, self.alive, self.covered)
        statistic, p_value, stays = TESTS[self.rules.test](table, self.rules.alpha)
        sums = ranks(table).sum(axis=0)
        return statistic, p_value, {
            c: (float(sums[i]), f"{self.rules.test}, p = {p_value:.3g}")
            for i, c in enumerate(self.alive)
            if not (stays[i] or self._uncovered.get(c))
        }  # fmt: skip

    def _drop(self, losers: Mapping[int, tuple[float, str]]) -> list[Elimination]:
        self.alive = [c for c in self.alive if c not in losers]
        here = self.iteration, len(self.covered)
        return [Elimination(*here, c, *rest) for c, rest in losers.items()]

    def _scores(self, table: Costs) -> Costs:
        """By what candidates are ordered: rank sums, or means where the test looks at means."""
        means = self.rules.test == "t-test"
        return np.asarray(table.mean(axis=0) if means else ranks(table).sum(axis=0))

    def survived(self) -> tuple[Elite, ...]:
        """Those alive, best first, at most the wanted number: more instances, then the score."""
        elites: list[Elite] = []
        counts = {c: len(self.results[c]) for c in self.alive}
        for count in sorted(set(counts.values()), reverse=True):
            equals = [c for c in self.alive if counts[c] == count]
            common = set.intersection(*(set(self.results[c]) for c in equals))
            table = cost_table(self.results, equals, sorted(common))
            sums = ranks(table).sum(axis=0)
            for i in np.argsort(self._scores(table), kind="stable"):
                mean = float(np.mean(list(self.results[equals[i]].values())))
                here = self.iteration, len(elites) + 1
                elites.append(Elite(*here, equals[i], count, float(sums[i]), mean))
        return tuple(elites[: self.survivors])


def cost_table(
    results: Mapping[int, Mapping[int, float]], candidates: Sequence[int], places: Iterable[int]
) -> Costs:
    """The costs of candidates (columns) on instances (rows)."""
    columns = [results[c] for c in candidates]
    return np.array([[column[p] for column in columns] for p in places])


# The search


@dataclass(frozen=True)
class Winners:
    """The survivors of the last race, best first, and what they are."""

    elites: tuple[Elite, ...]
    candidates: Mapping[int, Values]
    results: Results
    used: int
    iterations: int

    @property
    def best(self) -> Values:
        """The values of the best candidate."""
        return self.candidates[self.elites[0].candidate]


def races_planned(free: int) -> int:
    """Iterations J, and survivors S, of a space with N free variables: ⌊2 + log₂ N⌋."""
    return math.floor(2 + math.log2(max(1, free)))


def least_budget(free: int, rules: Rules | None = None) -> int:
    """The fewest runs that let every planned race be run: (S + 1) J T.

    T = m + e + (J-5) Tnew + 5 max(e, Tnew) if J > 5, else m + e + (J-1) max(e, Tnew), with m the
    instances each new candidate should see and e those between tests.
    """
    r = rules or Rules()
    J = races_planned(free)
    more = max(r.each_test, r.new_instances)
    T = r.least + r.each_test + max(0, J - 5) * r.new_instances + min(J - 1, 5) * more
    return (J + 1) * J * T


def check_search(space: Space, runs: int, seed: int, rules: Rules) -> None:
    """Refuse a search that has nothing to search, too few runs for that, or no seed."""
    if not space.free:
        raise InvalidParameter("space", "all fixed", "at least one free parameter")
    least = least_budget(space.free, rules)
    if runs < least:
        raise InvalidParameter(
            "runs", runs, f"at least {least:,} for {plural(space.free, 'free parameter')}; allow "
            "more runs, or leave fewer parameters free (--fix, --method)",
        )  # fmt: skip
    if not isinstance(seed, int) or seed < 0:
        raise InvalidParameter("seed", seed, "an integer, 0 or more")


def checked_initial(space: Space, initial: Sequence[Values]) -> list[Values]:
    """The initial candidates, each once; an error if the space does not have one."""
    made: list[Values] = []
    for number, given in enumerate(initial, start=1):
        values = space.check(given, f"initial candidate {number}")
        if values not in made:
            made.append(values)
    return made


def iterated_racing(
    space: Space,
    instances: Sequence[Any],
    evaluate: Evaluate,
    *,
    runs: int,
    seed: int = 1,
    initial: Sequence[Values] = (),
    rules: Rules | None = None,
    works: Callable[[Values], bool] = lambda _: True,
    on_event: Callable[[Event], None] = lambda _: None,
) -> Winners:
    """Search `space` with at most `runs` runs on `instances`; `evaluate` gives their costs.

    `initial` candidates take part in the first race. `works` says of a candidate that no rule of
    the space forbids whether it can run. What comes out depends on the arguments alone: a search
    that was killed and is begun again with the costs it had goes the same way.
    """
    r = rules or Rules()
    check_search(space, runs, seed, r)
    stream = Stream(instances, seed)
    search = _Search(space, works, r, np.random.default_rng([seed, 2]))
    start = checked_initial(space, initial)
    for number, values in enumerate(start, start=1):
        if not works(values):
            raise ForbiddenCandidate(f"initial candidate {number} cannot run: {values}")
    planned = survivors = races_planned(space.free)
    for iteration in itertools.count(1):
        planned = max(planned, iteration)
        budget = (runs - search.used) // (planned - iteration + 1)
        size = search.race_size(budget, iteration)
        if size <= max(survivors, len(search.elites)):
            break  # too few to tell anything
        if search.runs_to_first_test(size) > runs - search.used:
            break  # they could not be tested
        first = iteration == 1
        joined = search.first(size, start) if first else search.next(size, iteration, planned)
        if not joined:
            break  # nothing new is left to try
        for one in joined:
            on_event(one)
        elites = [e.candidate for e in search.elites]
        racing = {i: search.candidates[i] for i in (*elites, *(one.id for one in joined))}
        on_event(IterationStarted(iteration, planned, budget, tuple(racing)))
        race = Race(
            iteration, racing, elites, search.results, search.seen, budget, survivors, stream,
            evaluate, r, search.rng, search.used,
        )  # fmt: skip
        for step in race.run():
            on_event(step)
        search.used += race.used
        search.seen = max(search.seen, *(place + 1 for place in race.covered))
        search.elites = race.survived()
        on_event(Iteration(
            iteration, planned, budget, len(racing), search.used, race.why, search.elites
        ))  # fmt: skip
    return Winners(search.elites, search.candidates, search.results, search.used, iteration - 1)


@dataclass
class _Search:
    """What the races so far have left behind, and who is in the next one."""

    space: Space
    works: Callable[[Values], bool]
    rules: Rules
    rng: np.random.Generator
    candidates: dict[int, Values] = field(default_factory=dict)
    models: dict[int, Sampler] = field(default_factory=dict)
    results: Results = field(default_factory=dict)
    elites: tuple[Elite, ...] = ()
    seen: int = 0
    used: int = 0

    # How many race

    def race_size(self, budget: int, iteration: int) -> int:
        """C = ⌊(B + E I) / max(m + e min(5, j), I + Tnew)⌋, for E survivors and I instances."""
        r = self.rules
        instances = max(
            r.least + r.each_test * min(5, iteration),
            self.seen + r.new_instances if self.seen else 0,
        )
        return (budget + len(self.elites) * self.seen) // instances

    def runs_to_first_test(self, size: int) -> int:
        """The most runs that a race of that size can take to its first test."""
        r = self.rules
        lacking = (r.new_instances + self.seen - e.instances for e in self.elites)
        old = sum(min(r.first_test, lacks) for lacks in lacking)
        return old + (size - len(self.elites)) * r.least

    # Who races

    def first(self, size: int, initial: Sequence[Values]) -> list[Candidate]:
        """The initial candidates, and uniform ones."""
        given = initial[:size]
        more = uniform_candidates(self.space, size - len(given), self.rng, self.works, given)
        if not (given or more):
            raise ForbiddenCandidate(
                f"no candidate was found that can run, in {size * REDRAWS} draws; widen the space"
            )
        origins = ["initial"] * len(given) + ["uniform"] * len(more)
        return [self.join(1, None, *one) for one in zip([*given, *more], origins, strict=True)]

    def next(self, size: int, iteration: int, planned: int) -> list[Candidate]:
        """Children of the survivors; drawn again, from wider models, where some are alike.

        Models too narrow to give as many as wanted are widened too: their draws repeat themselves.
        """
        old = [e.candidate for e in self.elites]
        new = size - len(old)
        for i in old:
            self.models[i] = self.models[i].updated(
                self.space, self.candidates[i], iteration=iteration, planned=planned, new=new
            )
        made = self._children(old, new)
        owners = [*old, *(parent for parent, _ in made)]
        alike = nearly_equal(self.space, [self.candidates[i] for i in old] + [v for _, v in made])
        narrow = {owner for owner, twin in zip(owners, alike, strict=True) if twin}
        if len(made) < new:
            narrow.update(old)
        if narrow:
            for i in narrow:
                self.models[i] = self.models[i].widened(self.space, new)
            made = self._children(old, new)
        return [self.join(iteration, parent, values, "model") for parent, values in made]

    def _children(self, old: Sequence[int], count: int) -> list[tuple[int, dict[str, Value]]]:
        """New candidates, each with its parent's number; what has failed is not tried again."""
        weights = range(len(old), 0, -1)  # the best of E survivors has E shares, the last has 1
        failed = [c for i, c in self.candidates.items() if math.inf in self.results[i].values()]
        made = children(
            self.space, [self.candidates[i] for i in old], [self.models[i] for i in old], weights,
            count, self.rng, self.works, failed,
        )  # fmt: skip
        return [(old[index], values) for index, values in made]

    def join(self, iteration: int, parent: int | None, values: Values, origin: str) -> Candidate:
        """Number a new candidate, and give it a model and a place for its results."""
        number = len(self.candidates) + 1
        self.candidates[number] = values
        self.results[number] = {}
        self.models[number] = Sampler.first(self.space) if parent is None else self.models[parent]
        return Candidate(number, iteration, parent, "", values, origin)
