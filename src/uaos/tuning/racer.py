"""Elitist iterated racing: races, survivors, models around them, and races again.

An independent implementation of the algorithm of R's irace, which does not need R.

López-Ibáñez, M., Dubois-Lacoste, J., Pérez Cáceres, L., Birattari, M. & Stützle, T. (2016), "The
irace package: iterated racing for automatic algorithm configuration", Operations Research
Perspectives 3.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from uaos.arrays import BoolArray, FloatArray
from uaos.params import Categorical, Integer, Real, Value
from uaos.problems.variables import (
    REDRAWS,
    ForbiddenCandidate,
    Space,
    Values,
    Variable,
    bounds,
    rounded,
)
from uaos.tuning.race import Evaluate, Race, Results, Stream
from uaos.tuning.records import Candidate, Elite, Event, Iteration, IterationStarted
from uaos.tuning.sampling import draw_distinct, uniform_candidates
from uaos.tuning.search import Search, races_planned

# New candidates are drawn from models. Every survivor has its own model: a spread for each number,
# which shrinks from race to race, and a distribution for each choice, which moves toward the
# survivor's value. A child inherits the model of its parent.


@dataclass(frozen=True)
class Sampler:
    """Spreads of the numbers (in log space for a log scale) and distributions of the choices."""

    spreads: dict[str, float]
    chances: dict[str, FloatArray]

    @classmethod
    def first(cls, space: Space) -> "Sampler":
        """Return the model before the first race: half of each range, and equal chances."""
        sizes = {v.name: len(v.domain.choices) for v in space if isinstance(v.domain, Categorical)}
        return cls(
            {v.name: v.width / 2 for v in space if v.name not in sizes},
            {name: np.full(size, 1 / size) for name, size in sizes.items()},
        )

    def updated(
        self, space: Space, values: Values, *, iteration: int, planned: int, new: int
    ) -> "Sampler":
        """Return the model of a survivor for iteration j of J, in which `new` candidates are drawn.

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
        """Return the model after a soft restart, for an iteration that draws `new` candidates.

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
        """Draw a value near the parent's, or uniformly if the parent has none."""
        domain = variable.domain
        if isinstance(domain, Categorical):
            chosen: Value = domain.choices[_pick(np.cumsum(self.chances[variable.name]), rng)]
            return chosen
        if variable.name not in parent:
            return variable.uniform(rng)
        return _near(domain, float(parent[variable.name]), self.spreads[variable.name], rng)


def _near(domain: Real | Integer, center: float, spread: float, rng: np.random.Generator) -> Value:
    """Draw from a truncated normal distribution by inverting its distribution function."""
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


def _pick(cumulative: FloatArray, rng: np.random.Generator) -> int:
    """Draw an index by cumulative probabilities, the last of which may be just below 1."""
    index = int(np.searchsorted(cumulative, rng.random(), side="right"))
    return min(index, len(cumulative) - 1)


def _index(variable: Variable, value: Value) -> int:
    assert isinstance(variable.domain, Categorical)
    return variable.domain.choices.index(value)


def children(
    space: Space, parents: Mapping[int, tuple[Values, Sampler]], count: int,
    rng: np.random.Generator, works: Callable[[Values], bool], besides: Iterable[Values] = (),
) -> list[tuple[int, dict[str, Value]]]:  # fmt: skip
    """Draw `count` new candidates, each with its parent: the best of E has E shares, the last 1.

    None is forbidden, none occurs twice, none is a parent or one of `besides`.
    """
    numbers, shares = list(parents), np.arange(len(parents), 0, -1)
    cumulative = np.cumsum(shares) / np.sum(shares)

    def draw() -> tuple[int, dict[str, Value]]:
        parent = numbers[_pick(cumulative, rng)]
        values, model = parents[parent]
        return parent, space.draw(lambda variable: model.draw(variable, values, rng))

    old = [values for values, _ in parents.values()]
    return draw_distinct(space, count, draw, works, (*old, *besides))


def nearly_equal(space: Space, candidates: Sequence[Values]) -> BoolArray:
    """Return which candidates have a near twin.

    Twins have the same choices, and numbers within 10^-digits of the range. An integer counts as a
    real number of the usual two digits.
    """
    alike = ~np.eye(len(candidates), dtype=bool)
    for variable in space:
        column = np.array([_coordinate(variable, c.get(variable.name)) for c in candidates])
        apart = np.abs(column[:, None] - column[None, :])
        near = 10.0 ** -getattr(variable.domain, "digits", 2) + 1e-9  # not decided by rounding
        alike &= apart <= (0.5 if isinstance(variable.domain, Categorical) else near)
    return np.asarray(alike.any(axis=1))


def _coordinate(variable: Variable, value: Value | None) -> float:
    """Map a value to a scale on which choices are 1 apart, ranges 1 wide, and absence is far."""
    if value is None:
        return -1e9
    if isinstance(variable.domain, Categorical):
        return float(_index(variable, value))
    number = math.log(float(value)) if variable.domain.log else float(value)
    return (number - bounds(variable.domain)[0]) / (variable.width or 1.0)


def iterated_racing(
    search: Search, evaluate: Evaluate, on_event: Callable[[Event], None] = lambda _: None
) -> Iteration:
    """Search by races between survivors and new candidates; return the last race.

    The result depends on the arguments alone: a search that was killed and is begun again with the
    same costs takes the same course.

    Parameters
    ----------
    search : Search
    evaluate : callable
        Returns the costs of runs.
    on_event : callable
        Called with each event.

    Returns
    -------
    Iteration
        The last race, with its survivors.
    """
    search.check()
    state = _State(search, Stream(search.instances, search.seed), evaluate)
    initial = search.initial_candidates()
    for number, values in enumerate(initial, start=1):
        if not search.works(values):
            raise ForbiddenCandidate(f"initial candidate {number} cannot run: {values}")
    planned = races_planned(search.space.free)
    last: Iteration | None = None
    for iteration in itertools.count(1):
        planned = max(planned, iteration)
        budget = (search.runs - state.used) // (planned - iteration + 1)
        size = state.race_size(budget, iteration)
        if not state.can_race(size):
            break
        first = iteration == 1
        joined = state.first(size, initial) if first else state.next(size, iteration, planned)
        if not joined:
            break  # all candidates of the space have been tried
        for candidate in joined:
            on_event(candidate)
        race = state.race(joined, iteration, budget)
        on_event(IterationStarted(iteration, planned, budget, tuple(race.candidates)))
        for step in race.run():
            on_event(step)
        state.finish(race)
        last = Iteration(
            iteration, planned, budget, len(race.candidates), state.used, race.why, state.elites
        )
        on_event(last)
    assert last is not None
    return last


@dataclass
class _State:
    """The outcome of the races so far, and the candidates of the next one."""

    search: Search
    stream: Stream
    evaluate: Evaluate
    candidates: dict[int, Values] = field(default_factory=dict)
    models: dict[int, Sampler] = field(default_factory=dict)
    results: Results = field(default_factory=dict)
    elites: tuple[Elite, ...] = ()
    seen: int = 0
    used: int = 0

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng([self.search.seed, 2])
        self.survivors = races_planned(self.search.space.free)

    # The size of a race

    def race_size(self, budget: int, iteration: int) -> int:
        """Return C = ⌊(B + E I) / max(m + e min(5, j), I + Tnew)⌋.

        E is the number of survivors, I that of the instances seen.
        """
        r = self.search.rules
        instances = max(
            r.least + r.each_test * min(5, iteration),
            self.seen + r.new_instances if self.seen else 0,
        )
        return (budget + len(self.elites) * self.seen) // instances

    def can_race(self, size: int) -> bool:
        """Return whether a race of this size has new candidates and comes to its first test."""
        if size <= max(self.survivors, len(self.elites)):
            return False
        return self._runs_to_first_test(size) <= self.search.runs - self.used

    def _runs_to_first_test(self, size: int) -> int:
        """Return the most runs that a race of this size can take to its first test."""
        r = self.search.rules
        lacking = (r.new_instances + self.seen - e.instances for e in self.elites)
        of_elites = sum(min(r.first_test, lacks) for lacks in lacking)
        return of_elites + (size - len(self.elites)) * r.least

    # The race

    def race(self, joined: Sequence[Candidate], iteration: int, budget: int) -> Race:
        """Return a race of the survivors and the candidates that joined."""
        elites = [e.candidate for e in self.elites]
        numbers = (*elites, *(candidate.id for candidate in joined))
        return Race(
            {i: self.candidates[i] for i in numbers}, elites, self.results, self.search.rules,
            iteration, self.seen, budget, self.survivors, self.stream, self.evaluate, self.rng,
            self.used,
        )  # fmt: skip

    def finish(self, race: Race) -> None:
        """Count the runs of a race, and keep its survivors."""
        self.used += race.used
        self.seen = max(self.seen, *(place + 1 for place in race.covered))
        self.elites = race.survived()

    # Its candidates

    def first(self, size: int, initial: Sequence[Values]) -> list[Candidate]:
        """Add the initial candidates and uniform ones."""
        start = initial[:size]
        more = uniform_candidates(
            self.search.space, size - len(start), self.rng, self.search.works, start
        )
        if not (start or more):
            raise ForbiddenCandidate(
                f"none of {size * REDRAWS} random candidates can run; widen the search space"
            )
        origins = ["initial"] * len(start) + ["uniform"] * len(more)
        return [
            self._join(1, None, values, origin)
            for values, origin in zip([*start, *more], origins, strict=True)
        ]

    def next(self, size: int, iteration: int, planned: int) -> list[Candidate]:
        """Add children of the survivors; draw them again from wider models if some are alike.

        Models that yield too few different candidates are widened as well.
        """
        old = [e.candidate for e in self.elites]
        new = size - len(old)
        for i in old:
            self.models[i] = self.models[i].updated(
                self.search.space, self.candidates[i], iteration=iteration, planned=planned, new=new
            )
        drawn = self._children(old, new)
        owners = [*old, *(parent for parent, _ in drawn)]
        candidates = [self.candidates[i] for i in old] + [values for _, values in drawn]
        alike = nearly_equal(self.search.space, candidates)
        narrow = {owner for owner, twin in zip(owners, alike, strict=True) if twin}
        if len(drawn) < new:
            narrow.update(old)
        if narrow:
            for i in narrow:
                self.models[i] = self.models[i].widened(self.search.space, new)
            drawn = self._children(old, new)
        return [self._join(iteration, parent, values, "model") for parent, values in drawn]

    def _children(self, old: Sequence[int], count: int) -> list[tuple[int, dict[str, Value]]]:
        """Draw new candidates, none equal to one that failed, each with its parent's number."""
        parents = {i: (self.candidates[i], self.models[i]) for i in old}
        failed = [c for i, c in self.candidates.items() if math.inf in self.results[i].values()]
        return children(self.search.space, parents, count, self.rng, self.search.works, failed)

    def _join(self, iteration: int, parent: int | None, values: Values, origin: str) -> Candidate:
        """Number a new candidate, and prepare its model and results."""
        number = len(self.candidates) + 1
        self.candidates[number] = values
        self.results[number] = {}
        self.models[number] = (
            Sampler.first(self.search.space) if parent is None else self.models[parent]
        )
        return Candidate(number, iteration, parent, "", values, origin)
