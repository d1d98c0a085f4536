"""Elitist iterated racing: races, survivors, models around them, and races again.

An independent implementation of the algorithm that R's irace made known, for those without R.

López-Ibáñez, M., Dubois-Lacoste, J., Pérez Cáceres, L., Birattari, M. & Stützle, T. (2016), "The
irace package: iterated racing for automatic algorithm configuration", Operations Research
Perspectives 3.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from uaos.errors import InvalidParameter
from uaos.params import Value
from uaos.text import count as plural
from uaos.tuning.models import Sampler, children, nearly_equal
from uaos.tuning.race import Evaluate, Race, Results, Rules, Stream
from uaos.tuning.records import Candidate, Elite, Event, Iteration, IterationStarted
from uaos.tuning.space import REDRAWS, ForbiddenCandidate, Space, Values, uniform_candidates


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
