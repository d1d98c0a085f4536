"""Elitist iterated racing: races, survivors, models around them, and races again.

An independent implementation of the algorithm that R's irace made known, for those without R; the
tests, the sampling and the race stand in `ranking`, `models` and `race`.

López-Ibáñez, M., Dubois-Lacoste, J., Pérez Cáceres, L., Birattari, M. & Stützle, T. (2016), "The
irace package: iterated racing for automatic algorithm configuration", Operations Research
Perspectives 3.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from uaos.errors import InvalidParameter
from uaos.params import Value
from uaos.tuning.events import Elite, Event, IterationEnded, IterationStarted, Sampled
from uaos.tuning.models import Model, children, nearly_equal, uniform_candidates
from uaos.tuning.race import Evaluate, Race, Rules, Stream
from uaos.tuning.space import REDRAWS, Candidate, ForbiddenCandidate, Space


@dataclass(frozen=True)
class Winners:
    """The survivors of the last race, best first, and what they are."""

    elites: tuple[Elite, ...]
    candidates: Mapping[int, Mapping[str, Value]]
    results: Mapping[int, Mapping[int, float]]
    used: int
    iterations: int

    @property
    def best(self) -> Mapping[str, Value]:
        """The values of the best candidate."""
        return self.candidates[self.elites[0].id]


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
    T = r.least + r.each_test + (
        (J - 5) * r.new_instances + 5 * more if J > 5 else (J - 1) * more
    )  # fmt: skip
    return (J + 1) * J * T


def iterated_racing(
    space: Space,
    instances: Sequence[Any],
    evaluate: Evaluate,
    *,
    runs: int,
    seed: int = 1,
    initial: Sequence[Candidate] = (),
    rules: Rules | None = None,
    works: Callable[[Candidate], bool] = lambda _: True,
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
    start = search.checked(initial)
    planned = survivors = races_planned(space.free)
    iteration = 0
    while True:
        iteration += 1
        planned = max(planned, iteration)
        budget = (runs - search.used) // (planned - iteration + 1)
        size = search.race_size(budget, iteration)
        if size <= max(survivors, len(search.elites)):
            break  # too few to tell anything
        if search.runs_to_first_test(size) > runs - search.used:
            break  # they could not be tested
        if iteration == 1:
            fresh = search.first(size, start)
        else:
            fresh = search.next(size, iteration, planned)
        if not fresh:
            break  # nothing new is left to try
        elites = [e.id for e in search.elites]
        joined = search.join(fresh, iteration)
        for sampled in joined:
            on_event(sampled)
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
        on_event(IterationEnded(iteration, race.why, search.elites, search.used))
    return Winners(search.elites, search.candidates, search.results, search.used, iteration - 1)


def check_search(space: Space, runs: int, seed: int, rules: Rules) -> None:
    """Refuse a search that has nothing to search, too few runs for that, or no seed."""
    if not space.free:
        raise InvalidParameter("space", "all fixed", "at least one free parameter")
    least = least_budget(space.free, rules)
    if runs < least:
        plural = "" if space.free == 1 else "s"
        raise InvalidParameter(
            "runs", runs, f"at least {least:,} for {space.free} free parameter{plural}; allow more "
            "runs, or leave fewer parameters free (--fix, --method)",
        )  # fmt: skip
    if not isinstance(seed, int) or seed < 0:
        raise InvalidParameter("seed", seed, "a whole number, 0 or more")


class _Fresh(NamedTuple):
    """A candidate that is to join: its parent's number, its values, and where it comes from."""

    parent: int | None
    values: Mapping[str, Value]
    origin: str


@dataclass
class _Search:
    """What the races so far have left behind, and who is in the next one."""

    space: Space
    works: Callable[[Candidate], bool]
    rules: Rules
    rng: np.random.Generator
    candidates: dict[int, Mapping[str, Value]] = field(default_factory=dict)
    models: dict[int, Model] = field(default_factory=dict)
    results: dict[int, dict[int, float]] = field(default_factory=dict)
    elites: tuple[Elite, ...] = ()
    seen: int = 0
    used: int = 0

    def checked(self, initial: Sequence[Candidate]) -> list[Mapping[str, Value]]:
        """The initial candidates, each once; an error if one cannot run."""
        made: list[Mapping[str, Value]] = []
        for number, given in enumerate(initial, start=1):
            values = self.space.check(given, f"initial candidate {number}")
            if not self.works(values):
                raise ForbiddenCandidate(f"initial candidate {number} cannot run: {values}")
            if values not in made:
                made.append(values)
        return made

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

    def first(self, size: int, initial: Sequence[Mapping[str, Value]]) -> list[_Fresh]:
        """The initial candidates, and uniform ones."""
        given = initial[:size]
        more = uniform_candidates(self.space, size - len(given), self.rng, self.works, given)
        if not (given or more):
            raise ForbiddenCandidate(
                f"no candidate was found that can run, in {size * REDRAWS} draws; widen the space"
            )
        return [_Fresh(None, values, "initial") for values in given] + [
            _Fresh(None, values, "uniform") for values in more
        ]

    def next(self, size: int, iteration: int, planned: int) -> list[_Fresh]:
        """Children of the survivors; drawn again, from wider models, where some are alike.

        Models too narrow to give as many as wanted are widened too: their draws repeat themselves.
        """
        old = [e.id for e in self.elites]
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
        return [_Fresh(parent, values, "model") for parent, values in made]

    def _children(self, old: Sequence[int], count: int) -> list[tuple[int, dict[str, Value]]]:
        """New candidates, each with its parent's number; what has failed is not tried again."""
        weights = range(len(old), 0, -1)  # the best of E survivors has E shares, the last has 1
        failed = [c for i, c in self.candidates.items() if math.inf in self.results[i].values()]
        made = children(
            self.space, [self.candidates[i] for i in old], [self.models[i] for i in old], weights,
            count, self.rng, self.works, failed,
        )  # fmt: skip
        return [(old[index], values) for index, values in made]

    def join(self, fresh: Sequence[_Fresh], iteration: int) -> list[Sampled]:
        """Number new candidates, and give them models and a place for their results."""
        first = Model.first(self.space)
        joined = []
        for parent, values, origin in fresh:
            number = len(self.candidates) + 1
            self.candidates[number] = values
            self.results[number] = {}
            self.models[number] = first if parent is None else self.models[parent]
            joined.append(Sampled(number, iteration, parent, values, origin))
        return joined
