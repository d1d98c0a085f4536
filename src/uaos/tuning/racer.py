"""Elitist iterated racing: races, survivors, models around them, and races again.

An independent implementation of the algorithm that R's irace made known, for those without R.

López-Ibáñez, M., Dubois-Lacoste, J., Pérez Cáceres, L., Birattari, M. & Stützle, T. (2016), "The
irace package: iterated racing for automatic algorithm configuration", Operations Research
Perspectives 3.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uaos.errors import InvalidParameter
from uaos.params import Choice, Integer, Real, Value
from uaos.text import count as plural
from uaos.tuning.race import Evaluate, Race, Results, Rules, Stream
from uaos.tuning.records import Candidate, Elite, Event, Iteration, IterationStarted
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
    space: Space, parents: Mapping[int, tuple[Values, Sampler]], count: int,
    rng: np.random.Generator, works: Callable[[Values], bool], besides: Iterable[Values] = (),
) -> list[tuple[int, dict[str, Value]]]:  # fmt: skip
    """`count` new candidates, each with its parent: the best of E has E shares, the last has 1.

    None is forbidden, none comes twice, none is a parent or one of `besides`.
    """
    numbers, shares = list(parents), np.arange(len(parents), 0, -1)
    steps = np.cumsum(shares) / np.sum(shares)

    def draw() -> tuple[int, dict[str, Value]]:
        parent = numbers[_pick(steps, rng)]
        values, model = parents[parent]
        return parent, space.draw(lambda variable: model.draw(variable, values, rng))

    taken = [values for values, _ in parents.values()]
    return distinct(space, count, draw, works, (*taken, *besides))


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
            racing, elites, search.results, r, iteration, search.seen, budget, survivors, stream,
            evaluate, search.rng, search.used,
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
        parents = {i: (self.candidates[i], self.models[i]) for i in old}
        failed = [c for i, c in self.candidates.items() if math.inf in self.results[i].values()]
        return children(self.space, parents, count, self.rng, self.works, failed)

    def join(self, iteration: int, parent: int | None, values: Values, origin: str) -> Candidate:
        """Number a new candidate, and give it a model and a place for its results."""
        number = len(self.candidates) + 1
        self.candidates[number] = values
        self.results[number] = {}
        self.models[number] = Sampler.first(self.space) if parent is None else self.models[parent]
        return Candidate(number, iteration, parent, "", values, origin)
