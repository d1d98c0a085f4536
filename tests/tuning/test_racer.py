"""Elitist iterated racing: sizes and budgets by hand, what a seed decides, and what it is worth."""

import math
import zlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import reference_racer as reference
from hypothesis import given, settings
from hypothesis import strategies as st
from race_log import RaceLog
from raising import raises
from spaces import choice, flat, real, when, whole

from uaos.errors import InvalidParameter
from uaos.problems.variables import Clause, Forbidden, ForbiddenCandidate, Space, Values
from uaos.tuning.race import AllCandidatesFailed, Rules, Stream, Task
from uaos.tuning.racer import Sampler, _State, iterated_racing
from uaos.tuning.records import Candidate, Elite, Event, Iteration, IterationStarted, Step
from uaos.tuning.search import Search, least_budget, races_planned

FEW = settings(max_examples=12)


def twelve() -> Space:
    """A conditional space of 12 parameters."""
    a, b, c = when("way", "a"), when("way", "b"), when("way", "c")
    return Space((
        choice("way", "a", "b", "c"), choice("mode", "x", "y", "z", "w"), choice("s", 1, 2, 3, 4),
        whole("k", 10, 150), real("p", 0, 1), real("q", 0, 1), real("t", 0, 1),
        real("a1", 0, 1, a), real("a2", 0, 1, a), real("b1", 0.01, 100, b, log=True),
        whole("b2", 1, 50, b), real("c1", 0, 1, c),
    ))  # fmt: skip


def truth(v: Values) -> float:
    """What a candidate of :func:`twelve` is worth; 0 is the least there is."""
    f = {"a": 0.3, "b": 0.0, "c": 0.6}[str(v["way"])]
    f += {"x": 0.2, "y": 0.0, "z": 0.4, "w": 0.1}[str(v["mode"])] + 0.1 * abs(v["s"] - 3)
    f += 2 * ((v["k"] - 40) / 140) ** 2 + (v["q"] - 0.8) ** 2
    f += 1.5 * (v["p"] - 0.2) ** 2 + (v["p"] + v["t"] - 0.9) ** 2
    if v["way"] == "a":
        return f + (v["a1"] - 0.3) ** 2 + (v["a2"] - 0.6) ** 2
    if v["way"] == "b":
        return f + 0.04 * math.log(v["b1"] / 2) ** 2 + 2 * ((v["b2"] - 12) / 49) ** 2
    return f + (v["c1"] - 0.5) ** 2


def noise(values: Values, seed: int) -> float:
    """A number of mean 0 and deviation 1 that candidate and seed decide."""
    digits = ",".join(map(str, values.values()))
    return math.sqrt(12) * (zlib.crc32(f"{digits};{seed}".encode()) / 2**32 - 0.5)


class Noisy:
    """The truth with noise, on instances of different scales; counts what it was asked for."""

    def __init__(self, spread: float = 0.3) -> None:
        self.spread, self.asked = spread, 0

    def __call__(self, tasks: Sequence[Task]) -> list[float]:
        self.asked += len(tasks)
        return [self.cost(task) for task in tasks]

    def cost(self, task: Task) -> float:
        worth = 2 + truth(task.values) + self.spread * noise(task.values, task.seed)
        return 10.0 ** (task.instance % 4) * worth


def raced(
    evaluate: Any, *, space: Space | None = None, **changes: Any
) -> tuple[RaceLog, list[Event]]:
    events: list[Event] = []
    search = Search(space or twelve(), range(6), **({"runs": 400} | changes))
    last = iterated_racing(search, evaluate, events.append)
    return RaceLog(events, last), events


# Numbers by hand


@pytest.mark.parametrize(
    ("free", "races", "least"),
    [
        (1, 2, 42),  # (2 + 1) 2 (5 + 1 + 1)
        (2, 3, 96),  # (3 + 1) 3 (5 + 1 + 2)
        (4, 4, 180),  # (4 + 1) 4 (5 + 1 + 3)
        (12, 5, 300),  # (5 + 1) 5 (5 + 1 + 4)
        (33, 7, 728),  # (7 + 1) 7 (5 + 1 + 2 + 5)
        (35, 7, 728),
        (45, 7, 728),
        (64, 8, 1008),  # (8 + 1) 8 (5 + 1 + 3 + 5)
    ],
)
def test_races_survivors_and_the_least_budget(free: int, races: int, least: int) -> None:
    assert races_planned(free) == races
    assert least_budget(free) == least == reference.least_budget(free)


def test_the_least_budget_follows_the_rules() -> None:
    # J = 3: m + e + 2 max(e, Tnew) = 8 + 2 + 2·2 = 14
    assert least_budget(2, Rules(first_test=8, each_test=2)) == 4 * 3 * 14
    # J = 7: 5 + 1 + 2·3 + 5·3 = 27, and 6 + 3 + 2·1 + 5·3 = 26
    assert least_budget(35, Rules(new_instances=3)) == 8 * 7 * 27
    assert least_budget(35, Rules(first_test=6, each_test=3)) == 8 * 7 * 26


def after(space: Space, *elites: tuple[Values, int], seen: int) -> _State:
    """A search whose survivors are these candidates, with results of so many places."""
    search = _State(Search(space, range(6), 400), Stream(range(6), 1), lambda _: [])
    for values, _ in elites:
        search._join(1, None, values, "uniform")
    search.elites = tuple(
        Elite(1, n, n, places, float(n), 0.0) for n, (_, places) in enumerate(elites, start=1)
    )
    search.seen = seen
    return search


def test_the_size_of_a_race_is_computed_by_hand() -> None:
    one = ({"c0": 0}, 8)
    assert after(flat(2), seen=0).race_size(100, 1) == 16  # 100 / (5 + 1)
    # (100 + 3·8) / max(5 + 2, 8 + 1) and (100 + 3·5) / max(5 + 5, 5 + 1)
    assert after(flat(2), one, one, one, seen=8).race_size(100, 2) == 13
    assert after(flat(2), one, one, one, seen=5).race_size(100, 7) == 11


def test_the_runs_to_the_first_test_are_computed_by_hand() -> None:
    # Ten in the race. New ones: 5 each. Of 8 places seen, survivors lack 0, 2 and 6: with the new
    # one 1, 3 and, before the first test, 5 runs.
    search = after(flat(2), ({"c0": 0}, 8), ({"c0": 0}, 6), ({"c0": 0}, 2), seen=8)
    assert search._runs_to_first_test(10) == 7 * 5 + 1 + 3 + 5
    assert after(flat(2), seen=0)._runs_to_first_test(10) == 50


def test_a_race_that_could_not_come_to_its_first_test_is_not_begun(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_State, "_runs_to_first_test", lambda self, _: 280 if self.elites else 0)
    found, _ = raced(Noisy(), runs=300)
    assert found.used > 20
    assert found.iterations == 1


# Who is in the next race


def test_children_inherit_the_model_of_their_parent() -> None:
    space = Space((real("x", 0, 1000),))
    search = after(space, ({"x": 100.0}, 5), ({"x": 900.0}, 5), seen=5)
    made = search.next(12, 2, 3)
    assert len(made) == 10
    assert search.models[1].spreads == {"x": 50.0}  # 500 times (1/10)^(1/1)
    for one in made:
        assert search.models[one.id] is search.models[one.parent]
    assert (made[0].origin, made[0].id) == ("model", 3)


def test_the_better_of_two_survivors_has_two_thirds_of_the_children() -> None:
    space = Space((real("x", 0, 1000), real("y", 0, 1000)))
    both = {"x": 100.0, "y": 100.0}, {"x": 900.0, "y": 900.0}
    search = after(space, (both[0], 5), (both[1], 5), seen=5)
    parents = Counter(one.parent for one in search.next(302, 2, 3))
    assert abs(parents[1] - 200) < 41  # 5 sqrt(300 · 2/9)


def test_where_candidates_are_alike_their_models_are_widened_once() -> None:
    space = Space((real("x", 0, 1), real("y", 0, 1)))
    search = after(space, ({"x": 0.1, "y": 0.1}, 5), ({"x": 0.9, "y": 0.9}, 5), seen=5)
    search.models |= {1: Sampler({"x": 0.02, "y": 0.02}, {}), 2: Sampler({"x": 0.5, "y": 0.5}, {})}
    made = search.next(6, 2, 3)  # 4 new, N = 2: spreads times 1/2, widened times 4
    assert len(made) == 4
    assert search.models[1].spreads == {"x": 0.04, "y": 0.04}
    assert search.models[2].spreads == {"x": 0.25, "y": 0.25}


def test_models_that_repeat_themselves_are_widened() -> None:
    # a spread of 0.001 gives 0.50 in two digits, which is the parent
    space = Space((real("x", 0, 1),))
    search = after(space, ({"x": 0.5}, 5), seen=5)
    search.models[1] = Sampler({"x": 0.004}, {})
    made = search.next(5, 2, 3)  # 4 new, N = 1: times 1/4, then times 16
    assert search.models[1].spreads == {"x": 0.016}
    assert len(made) == 4


def test_too_small_a_budget_is_refused_with_the_least_one() -> None:
    with raises(InvalidParameter, name="runs", value=299):
        raced(Noisy(), runs=299)
    assert raced(Noisy(), runs=300)[0].used <= 300


def test_what_cannot_be_searched_is_refused() -> None:
    with raises(InvalidParameter, name="space"):
        raced(Noisy(), space=flat(1))
    for seed in (-1, 1.5):
        with raises(InvalidParameter, name="seed"):
            raced(Noisy(), seed=seed)
    with pytest.raises(ForbiddenCandidate):
        raced(Noisy(), works=lambda _: False)


# Budget and events


@FEW
@given(st.integers(0, 2**32), st.integers(300, 900))
def test_the_budget_is_never_exceeded_and_only_runs_count(seed: int, runs: int) -> None:
    costs = Noisy(1.0)
    found, events = raced(costs, runs=runs, seed=seed)
    assert found.used == costs.asked <= runs
    steps = [e for e in events if isinstance(e, Step)]
    assert found.used == sum(len(step.costs) for step in steps) == steps[-1].runs_used
    assert [s.runs_used for s in steps] == np.cumsum([len(s.costs) for s in steps]).tolist()
    made = {i: len(costs_of) for i, costs_of in found.results.items()}
    assert sum(made.values()) == found.used


def test_events_come_in_order_and_tell_the_whole_search() -> None:
    found, events = raced(Noisy(), runs=600)
    kinds = [type(e) for e in events]
    starts = [e for e in events if isinstance(e, IterationStarted)]
    ends = [e for e in events if isinstance(e, Iteration)]
    assert [s.iteration for s in starts] == [e.iteration for e in ends]
    assert found.iterations == len(ends) >= 5
    assert kinds[0] is Candidate
    assert kinds[-1] is Iteration
    sampled = {e.id: e for e in events if isinstance(e, Candidate)}
    assert list(sampled) == list(range(1, len(sampled) + 1)) == list(found.candidates)
    for start, end, before in zip(starts, ends, [None, *ends], strict=False):
        old = [] if before is None else [e.candidate for e in before.elites]
        new = [s.id for s in sampled.values() if s.iteration == start.iteration]
        assert list(start.candidates) == old + new
        assert all(e.candidate in start.candidates for e in end.elites)
        assert [e.rank for e in end.elites] == list(range(1, len(end.elites) + 1))
        assert len(end.elites) <= 5
    assert found.elites == ends[-1].elites
    assert found.best == found.candidates[found.elites[0].candidate]
    assert {s.origin for s in sampled.values() if s.iteration == 1} == {"uniform"}
    assert {s.origin for s in sampled.values() if s.iteration > 1} == {"model"}
    assert all(s.parent in sampled for s in sampled.values() if s.iteration > 1)


def test_budgets_and_sizes_follow_from_what_is_left() -> None:
    _, events = raced(Noisy(), runs=1000)
    starts = [e for e in events if isinstance(e, IterationStarted)]
    ends = [e for e in events if isinstance(e, Iteration)]
    assert starts[0].budget == 200  # 1000 / 5
    assert len(starts[0].candidates) == 33  # 200 / 6
    for start, before in zip(starts[1:], ends, strict=False):
        races_left = max(1, 5 - start.iteration + 1)
        assert start.budget == (1000 - before.runs_used) // races_left
        assert start.planned == max(5, start.iteration)


def test_survivors_keep_their_results_and_are_not_run_again() -> None:
    asked: list[tuple[int, Any, int]] = []
    costs = Noisy()

    def evaluate(tasks: Sequence[Task]) -> list[float]:
        asked.extend((t.id, t.instance, t.seed) for t in tasks)
        return costs(tasks)

    raced(evaluate, runs=800)
    assert len(set(asked)) == len(asked)


# Initial candidates


def test_initial_candidates_race_first_and_once() -> None:
    space = flat(4, 4, 4)
    given_ones = [
        {"c0": 1, "c1": 2, "c2": 3},
        {"c0": 0, "c1": 0, "c2": 0},
        {"c0": 1, "c1": 2, "c2": 3},
    ]
    _, events = raced(lambda tasks: [float(sum(t.values.values())) for t in tasks], space=space,
                      initial=given_ones)  # fmt: skip
    first = [e for e in events if isinstance(e, Candidate) and e.iteration == 1]
    assert [e.origin for e in first[:3]] == ["initial", "initial", "uniform"]
    assert [dict(e.values) for e in first[:2]] == given_ones[:2]
    assert all(dict(e.values) not in given_ones for e in first[2:])


def test_more_initial_candidates_than_fit_are_cut() -> None:
    space = flat(10, 10)
    many = [{"c0": i, "c1": j} for i in range(10) for j in range(10)]
    found, events = raced(lambda tasks: [float(t.id) for t in tasks], space=space, runs=96,
                          initial=many)  # fmt: skip
    first = [e for e in events if isinstance(e, Candidate) and e.iteration == 1]
    assert [dict(e.values) for e in first] == many[:5]  # 96 / 3 / 6
    assert found.used <= 96


def test_an_initial_candidate_that_the_space_lacks_is_refused() -> None:
    with raises(InvalidParameter, name="c0", value=7):
        raced(Noisy(), space=flat(2), initial=[{"c0": 1}, {"c0": 7}])
    with pytest.raises(ForbiddenCandidate):
        raced(Noisy(), space=flat(2), initial=[{"c0": 1}], works=lambda v: v["c0"] == 0)


# Failures and small spaces


def test_what_failed_once_is_out_for_good() -> None:
    space = flat(3, 3, 3)

    def cost(task: Task) -> float:
        return math.inf if task.values["c0"] == 1 else float(noise(task.values, task.seed))

    found, events = raced(lambda tasks: [cost(t) for t in tasks], space=space, runs=600)
    failed = [i for i, c in found.candidates.items() if c["c0"] == 1]
    assert failed
    values = [tuple(found.candidates[i].items()) for i in failed]
    assert len(set(values)) == len(values)  # none is drawn again
    starts = [e for e in events if isinstance(e, IterationStarted)]
    assert all(sum(i in start.candidates for start in starts) == 1 for i in failed)
    assert all(found.candidates[e.candidate]["c0"] != 1 for e in found.elites)


def test_a_search_in_which_all_fails_is_an_error() -> None:
    with pytest.raises(AllCandidatesFailed):
        raced(lambda tasks: [math.inf] * len(tasks))


def test_a_space_whose_candidates_have_all_survived_ends_the_search() -> None:
    found, _ = raced(lambda tasks: [1.0] * len(tasks), space=flat(2), runs=100)
    assert len(found.candidates) == 2
    assert found.iterations == 1
    assert found.used == 10


def test_a_small_space_is_searched_until_the_budget_allows_no_race() -> None:
    found, _ = raced(lambda tasks: [float(t.values["c0"]) for t in tasks], space=flat(3), runs=200)
    assert found.best == {"c0": 0}
    assert {c["c0"] for c in found.candidates.values()} == {0, 1, 2}
    assert 150 < found.used <= 200


def test_forbidden_candidates_are_never_run() -> None:
    space = Space(
        (real("x", 0, 1), real("y", 0, 1)),
        (Forbidden((Clause("x", "<", "y", variable=True),), "so"),),
    )
    found, _ = raced(
        lambda tasks: [abs(t.values["x"] - 0.4) + abs(t.values["y"] - 0.6) for t in tasks],
        space=space, runs=300, works=lambda values: values["x"] != 0.5,
    )  # fmt: skip
    assert all(c["x"] >= c["y"] and c["x"] != 0.5 for c in found.candidates.values())
    # the best that is allowed lies on x = y between 0.4 and 0.6
    assert found.best["x"] - found.best["y"] <= 0.05


def test_instances_that_a_survivor_lacks_never_break_the_budget() -> None:
    # With one survivor in each race stopped by its budget, later ones lack results of old places.
    for seed in range(12):
        rng = np.random.default_rng(seed)

        def evaluate(tasks: Sequence[Task], rng: Any = rng) -> list[float]:
            return rng.normal(size=len(tasks)).tolist()

        rules = Rules(new_instances=3, first_test=6)
        found, _ = raced(evaluate, space=flat(9, 9, 9), runs=300 + seed, rules=rules, seed=seed)
        assert found.used <= 300 + seed


# What a seed decides


def test_a_seed_decides_everything() -> None:
    first, events = raced(Noisy(1.0), seed=7)
    again, same = raced(Noisy(1.0), seed=7)
    assert repr(events) == repr(same)  # NaN is not equal to itself
    assert again.best == first.best
    assert repr(raced(Noisy(1.0), seed=8)[1]) != repr(events)


def test_how_the_runs_are_done_does_not_matter() -> None:
    costs = Noisy(1.0)

    def backwards(tasks: Sequence[Task]) -> list[float]:
        found = {index: costs.cost(tasks[index]) for index in reversed(range(len(tasks)))}
        return [found[index] for index in range(len(tasks))]

    assert repr(raced(backwards)[1]) == repr(raced(costs)[1])


class Killed(Exception):
    """The machine went down."""


@FEW
@given(st.integers(0, 2**32), st.lists(st.integers(0, 60), min_size=1, max_size=4))
def test_a_killed_search_goes_the_same_way_with_the_costs_it_had(
    seed: int, kills: list[int]
) -> None:
    whole_one = repr(raced(Noisy(1.0), seed=seed, runs=300)[1])
    known: dict[tuple[str, Any, int], float] = {}
    costs = Noisy(1.0)

    def searched(limit: int | None) -> list[Event]:
        calls = 0

        def evaluate(tasks: Sequence[Task]) -> list[float]:
            nonlocal calls
            for task in tasks:
                key = (str(task.values), task.instance, task.seed)
                if key not in known:
                    if calls == limit:
                        raise Killed
                    known[key] = costs([task])[0]
                    calls += 1
            return [known[str(t.values), t.instance, t.seed] for t in tasks]

        return raced(evaluate, seed=seed, runs=300)[1]

    for limit in kills:
        with pytest.raises(Killed):
            searched(limit)
    assert repr(searched(None)) == whole_one
    assert costs.asked == len(known) <= 300


# What it is worth


def by_chance(seed: int, runs: int, instances: int = 10) -> float:
    """Random search: as many candidates as the budget allows, the least sum of ranks wins."""
    rng = np.random.default_rng([seed, 9])
    space, costs = twelve(), Noisy()
    drawn = [space.draw(lambda v: v.uniform(rng)) for _ in range(runs // instances)]
    table = np.array([costs([Task(0, c, i, seed + i) for c in drawn]) for i in range(instances)])
    return truth(drawn[int(table.argsort(axis=1).argsort(axis=1).sum(axis=0).argmin())])


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_racing_beats_random_search_with_the_same_budget(seed: int) -> None:
    found, _ = raced(Noisy(), runs=1500, seed=seed)
    chance = [by_chance(again, 1500) for again in range(5)]
    assert truth(found.best) < 0.7 * float(np.median(chance))
    assert found.best["way"] == "b"
