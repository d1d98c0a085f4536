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
from typing import Any

import numpy as np

from uaos.errors import InvalidParameter
from uaos.params import Value
from uaos.tuning.events import Elite, Event, IterationEnded, IterationStarted, Sampled
from uaos.tuning.models import Model, children, nearly_equal, uniform_candidates
from uaos.tuning.race import Evaluate, Race, Rules, Stream
from uaos.tuning.space import Candidate, Space


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


@dataclass
class _State:
    """What the races so far have left behind."""

    candidates: dict[int, Mapping[str, Value]] = field(default_factory=dict)
    models: dict[int, Model] = field(default_factory=dict)
    results: dict[int, dict[int, float]] = field(default_factory=dict)
    elites: tuple[Elite, ...] = ()
    seen: int = 0
    used: int = 0


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
    least = least_budget(space.free, r)
    if runs < least:
        raise InvalidParameter(
            "runs", runs, f"at least {least}, as there are {space.free} free parameters"
        )
    if not space.free:
        raise InvalidParameter("space", "all fixed", "at least one free parameter")
    stream = Stream(instances, seed)
    rng = np.random.default_rng([seed, 2])
    planned = survivors = races_planned(space.free)
    state = _State()
    start = [space.check(c, f"initial candidate {n}") for n, c in enumerate(initial, start=1)]
    iteration = 0
    while True:
        iteration += 1
        planned = max(planned, iteration)
        budget = (runs - state.used) // (planned - iteration + 1)
        size = _race_size(budget, iteration, state, r)
        if not _is_worth_it(size, survivors, runs - state.used, state, r):
            break
        if iteration == 1:
            fresh = _first(space, size, start, rng, works)
        else:
            fresh = _next(space, size, iteration, planned, state, rng, works)
        if not fresh:
            break  # nothing new is left to try
        elites = [e.id for e in state.elites]
        joined = _joined(fresh, iteration, state, space)
        for sampled in joined:
            on_event(sampled)
        racing = {i: state.candidates[i] for i in (*elites, *(one.id for one in joined))}
        on_event(IterationStarted(iteration, planned, budget, tuple(racing)))
        race = Race(
            iteration, racing, elites, state.results, state.seen, budget, survivors, stream,
            evaluate, r, rng, state.used,
        )  # fmt: skip
        for step in race.run():
            on_event(step)
        state.used += race.used
        state.seen = max(state.seen, *(p + 1 for p in race.covered), 0)
        state.elites = race.survived()
        on_event(IterationEnded(iteration, race.why, state.elites, state.used))
    return Winners(state.elites, state.candidates, state.results, state.used, iteration - 1)


def _race_size(budget: int, iteration: int, state: _State, rules: Rules) -> int:
    """C = ⌊(B + E I) / max(m + e min(5, j), I + Tnew)⌋, with E survivors and I instances seen."""
    instances = max(
        rules.least + rules.each_test * min(5, iteration),
        state.seen + rules.new_instances if state.seen else 0,
    )
    return (budget + len(state.elites) * state.seen) // instances


def _is_worth_it(size: int, survivors: int, left: int, state: _State, rules: Rules) -> bool:
    """Whether a race of that size can tell anything, and its first test fits what is left."""
    old = len(state.elites)
    if size <= survivors or size <= old:
        return False
    return left >= (size - old) * rules.least + old * rules.new_instances


def _first(
    space: Space, size: int, initial: Sequence[Mapping[str, Value]], rng: np.random.Generator,
    works: Callable[[Candidate], bool],
) -> list[Sampled]:  # fmt: skip
    more = uniform_candidates(space, max(0, size - len(initial)), rng, works, besides=initial)
    return [Sampled(0, 1, None, c, "initial") for c in initial[:size]] + [
        Sampled(0, 1, None, c, "uniform") for c in more
    ]


def _next(
    space: Space, size: int, iteration: int, planned: int, state: _State, rng: np.random.Generator,
    works: Callable[[Candidate], bool],
) -> list[Sampled]:  # fmt: skip
    """Children of the survivors; drawn a second time, from wider models, where all are alike."""
    old = [e.id for e in state.elites]
    new = size - len(old)
    for i in old:
        state.models[i] = state.models[i].updated(
            space, state.candidates[i], iteration=iteration, planned=planned, new=new
        )
    parents = [state.candidates[i] for i in old]
    count = len(old)
    weights = [(count - rank + 1) / (count * (count + 1) / 2) for rank in range(1, count + 1)]

    def draw() -> list[tuple[int, dict[str, Value]]]:
        models = [state.models[i] for i in old]
        return children(space, parents, models, weights, new, rng, works)

    made = draw()
    alike = nearly_equal(space, [*parents, *(values for _, values in made)])
    if alike.any():
        narrow = {i for i in range(count) if alike[i]}
        narrow |= {parent for (parent, _), twin in zip(made, alike[count:], strict=True) if twin}
        for index in sorted(narrow):
            state.models[old[index]] = state.models[old[index]].widened(space, new)
        made = draw()
    return [Sampled(0, iteration, old[parent], values, "model") for parent, values in made]


def _joined(fresh: Sequence[Sampled], iteration: int, state: _State, space: Space) -> list[Sampled]:
    """Number the new candidates, and give them models and a place for their results."""
    named = []
    for one in fresh:
        number = len(state.candidates) + 1
        state.candidates[number] = one.values
        state.results[number] = {}
        state.models[number] = (
            Model.first(space) if one.parent is None else state.models[one.parent]
        )
        named.append(one._replace(id=number, iteration=iteration))
    return named
