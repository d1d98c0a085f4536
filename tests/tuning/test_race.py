"""One race: the order of instances, who is run and who leaves, and why it ends."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from raising import raises

from uaos.errors import InvalidParameter, UnknownName
from uaos.tuning.race import AllCandidatesFailed, Race, Rules, Stream, Task
from uaos.tuning.records import Step

Cost = Callable[[int, int], float]


class Costs:
    """Evaluates by a function of candidate and place, and remembers what was asked for."""

    def __init__(self, cost: Cost) -> None:
        self.cost = cost
        self.asked: list[tuple[int, int]] = []
        self.calls: list[int] = []

    def __call__(self, tasks: Sequence[Task]) -> list[float]:
        self.calls.append(len(tasks))
        self.asked += [(task.id, task.instance) for task in tasks]
        return [self.cost(task.id, task.instance) for task in tasks]


class Places(Stream):
    """A stream whose instance at a place is the place."""

    def __init__(self) -> None:
        super().__init__([0], 1)

    def __getitem__(self, position: int) -> tuple[Any, int]:
        return position, 1000 + position


def race(
    costs: Costs | Cost, candidates: int, *, elites: dict[int, dict[int, float]] | None = None,
    seen: int = 0, budget: int = 1000, survivors: int = 1, seed: int = 1, **rules: Any,
) -> tuple[Race, list[Step]]:  # fmt: skip
    """Run a race of candidates 1, 2, …, of which the `elites` bring results along."""
    evaluate = costs if isinstance(costs, Costs) else Costs(costs)
    old = elites or {}
    results = {c: dict(old.get(c, {})) for c in range(1, candidates + 1)}
    made = Race(
        {c: {} for c in results}, list(old), results, Rules(**rules), 2 if seen else 1, seen,
        budget, survivors, Places(), evaluate, np.random.default_rng(seed),
    )  # fmt: skip
    return made, list(made.run())


def gone(steps: Sequence[Step]) -> dict[int, int]:
    """At which step each candidate left."""
    return {one: step.step for step in steps for one in step.dropped}


# Rules


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"first_test": 1}, "first_test"),
        ({"first_test": 5.5}, "first_test"),
        ({"each_test": 0}, "each_test"),
        ({"new_instances": -1}, "new_instances"),
        ({"elitist_limit": 0}, "elitist_limit"),
        ({"mu": True}, "mu"),
        ({"alpha": 1}, "alpha"),
        ({"alpha": math.nan}, "alpha"),
    ],
)
def test_rules_that_make_no_race_are_refused(wrong: dict[str, Any], name: str) -> None:
    with raises(InvalidParameter, name=name):
        Rules(**wrong)


def test_an_unknown_test_is_an_error_with_near_misses() -> None:
    with raises(UnknownName, name="fridman", near="friedman"):
        Rules(test="fridman")


# The stream of instances


def test_every_pass_of_the_stream_is_a_permutation_and_every_entry_has_a_seed() -> None:
    stream = Stream("abcde", 3)
    drawn = [stream[i] for i in range(50)]
    for first in range(0, 50, 5):
        assert sorted(name for name, _ in drawn[first : first + 5]) == list("abcde")
    assert len({seed for _, seed in drawn}) == 50
    assert len({tuple(n for n, _ in drawn[i : i + 5]) for i in range(0, 50, 5)}) > 1


def test_the_stream_is_the_seed_s_however_it_is_read() -> None:
    stream, again = Stream(range(7), 3), Stream(range(7), 3)
    late = again[40]
    assert [stream[i] for i in range(41)][40] == late
    assert [again[i] for i in range(41)] == [stream[i] for i in range(41)]
    assert [Stream(range(7), 4)[i] for i in range(7)] != [stream[i] for i in range(7)]


def test_a_stream_needs_instances() -> None:
    with raises(InvalidParameter, name="instances"):
        Stream([], 1)


# The order of instances


def test_a_first_race_takes_the_instances_in_order() -> None:
    _, steps = race(lambda c, p: float(c), 3, survivors=1)
    assert [step.position for step in steps] == list(range(len(steps)))
    assert [step.step for step in steps] == list(range(1, len(steps) + 1))


def test_a_later_race_takes_new_instances_then_old_ones_shuffled_then_those_to_come() -> None:
    elites = {1: dict.fromkeys(range(6), 0.0)}
    orders = set()
    for seed in range(5):
        # costs that no test can tell apart
        _, steps = race(
            lambda c, p: float((c + p) % 3), 3, elites=elites, seen=6, seed=seed, elitist_limit=3,
            new_instances=2,
        )  # fmt: skip
        positions = [step.position for step in steps]
        assert positions[:2] == [6, 7]
        assert sorted(positions[2:8]) == list(range(6))
        assert positions[8:] == list(range(8, 8 + len(positions) - 8))
        assert len(positions) > 8
        orders.add(tuple(positions[2:8]))
    assert len(orders) > 1


def test_a_step_tells_its_instance_seed_and_costs() -> None:
    _, steps = race(lambda c, p: c + p / 10, 2, survivors=1)
    assert (steps[3].instance, steps[3].seed) == ("3", 1003)
    assert steps[3].costs == {1: 1.3, 2: 2.3}
    assert steps[3].best == 1
    assert steps[3].mean_cost == pytest.approx((1.0 + 1.1 + 1.2 + 1.3) / 4)


# Who is run


def test_only_those_alive_without_a_result_are_run() -> None:
    costs = Costs(lambda c, p: float(c))
    # 1 knows six places, 2 only four of them
    elites = {1: dict.fromkeys(range(6), 1.0), 2: dict.fromkeys(range(4), 2.0)}
    made, steps = race(costs, 5, elites=elites, seen=6, survivors=2)
    asked = Counter(costs.asked)
    assert max(asked.values()) == 1
    assert (1, 6) in asked  # the new instance, for everybody
    assert not any(c == 1 and p < 6 for c, p in asked)
    assert not any(c == 2 and p < 4 for c, p in asked)
    assert made.used == len(costs.asked) == sum(len(step.costs) for step in steps)
    assert steps[-1].runs_used == made.used
    left = gone(steps)
    for c, step in left.items():
        covered = [s.position for s in steps[:step]]
        assert all(p in covered for who, p in asked if who == c)


def test_what_comes_before_the_first_test_is_one_batch() -> None:
    costs = Costs(lambda c, p: float(c))
    race(costs, 6, first_test=4)
    assert costs.calls[0] == 6 * 4
    assert all(calls <= 6 for calls in costs.calls[1:])


def test_used_counts_on_from_what_was_used_before() -> None:
    made = Race(
        {1: {}, 2: {}, 3: {}}, [], {1: {}, 2: {}, 3: {}}, Rules(), 1, 0, 100, 1, Places(),
        Costs(lambda c, p: float(c)), np.random.default_rng(1), used_before=40,
    )  # fmt: skip
    steps = list(made.run())
    assert [step.runs_used for step in steps] == [43, 46, 49, 52, 55]


# Who leaves


def test_nobody_leaves_before_the_first_test() -> None:
    _, steps = race(lambda c, p: float(c), 4)
    assert all(not step.dropped and math.isnan(step.pvalue) for step in steps[:4])
    assert steps[4].dropped
    assert steps[4].pvalue < 0.05


def test_the_worse_leave_after_the_test() -> None:
    # five times 1 2 3: X = 10, p = e^-5 = 0.00674; rank sums 5, 10, 15
    made, steps = race(lambda c, p: float(c), 3)
    assert steps[4].dropped == (2, 3)
    assert steps[4].pvalue == pytest.approx(0.00674, abs=5e-6)
    assert (steps[4].alive, made.alive) == (1, [1])


def test_tests_come_every_so_many_steps() -> None:
    _, steps = race(lambda c, p: float((c + p) % 4), 4, first_test=4, each_test=3, elitist_limit=3)
    tested = [step.step for step in steps if not math.isnan(step.pvalue)]
    assert tested == [4, 7, 10]


def test_an_elite_stays_until_the_race_has_covered_all_its_results() -> None:
    # The elites 1 and 2, with results of 8 and 6 places, are now the worst of all.
    elites = {1: dict.fromkeys(range(8), 9.0), 2: dict.fromkeys(range(6), 8.0)}
    for seed in range(6):
        made, steps = race(
            lambda c, p: {1: 9.0, 2: 8.0}.get(c, c / 10), 5, elites=elites, seen=8, seed=seed
        )
        positions = [step.position for step in steps]
        # one new instance and its 8 old ones: the ninth step. The other: the last of its six.
        freed = max(positions.index(p) + 1 for p in range(6))
        assert gone(steps)[1] == 9
        assert gone(steps)[2] == freed
        assert gone(steps)[5] == 5
        assert made.alive == [3]


def test_an_elite_that_fails_leaves_at_once() -> None:
    elites = {1: dict.fromkeys(range(8), 0.0)}
    made, steps = race(
        lambda c, p: math.inf if c == 1 else float(c + (c * p) % 2), 4, elites=elites, seen=8
    )
    assert gone(steps)[1] == 1  # on the new instance
    assert 1 not in made.alive


def test_an_infinite_cost_or_none_removes_at_once() -> None:
    costs = {(2, 1): math.inf, (3, 2): math.nan}
    made, steps = race(lambda c, p: costs.get((c, p), float((c + p) % 2)), 6, survivors=2)
    assert gone(steps)[2] == 2
    assert gone(steps)[3] == 3
    assert made.results[3][2] == math.inf
    assert not {2, 3} & set(made.alive)


def test_runs_of_a_batch_count_even_if_their_candidate_failed_before() -> None:
    costs = Costs(lambda c, p: math.inf if (c, p) == (1, 0) else float(c))
    made, steps = race(costs, 3, survivors=2)
    assert made.used == sum(costs.calls) == 15
    assert 1 in steps[4].costs


def test_a_race_that_everybody_fails_is_an_error() -> None:
    with pytest.raises(AllCandidatesFailed):
        race(lambda c, p: math.inf if p == 3 else 1.0, 4)


def test_a_single_candidate_left_is_not_tested() -> None:
    made, steps = race(lambda c, p: math.inf if c > 1 else 1.0, 3)
    assert all(math.isnan(step.pvalue) for step in steps)
    assert made.why == "1 is left"
    assert [e.candidate for e in made.survived()] == [1]


# Why it ends


def test_it_ends_when_few_are_left() -> None:
    made, steps = race(lambda c, p: float(min(c, 3)) + (c + p) % 2 / 10, 9, survivors=3)
    assert made.why.endswith("are left")
    assert len(made.alive) <= 3
    assert len(steps) >= 5


def test_a_later_race_goes_on_until_the_old_instances_are_covered() -> None:
    elites = {1: dict.fromkeys(range(9), 0.0)}
    made, steps = race(lambda c, p: float(c), 4, elites=elites, seen=9, survivors=3)
    assert made.why == "1 is left"
    assert len(steps) == 10
    # the elite alone costs nothing: 4 on the new instance, and 3 on each of the next four
    assert made.used == 4 + 3 * 4


def test_it_ends_before_a_step_that_does_not_fit() -> None:
    # no test tells these apart; 4 candidates: 5 steps are 20 runs, and 22 do not allow a sixth
    made, steps = race(lambda c, p: float((c + p) % 4), 4, budget=22)
    assert (made.used, len(steps)) == (20, 5)
    assert made.why == "the next step does not fit the budget"
    made, steps = race(lambda c, p: float((c + p) % 4), 4, budget=24)
    assert (made.used, len(steps)) == (24, 6)


def test_it_ends_when_tests_in_a_row_drop_nobody() -> None:
    made, steps = race(lambda c, p: float((c + p) % 4), 4, elitist_limit=3)
    assert len(steps) == 7  # tests at 5, 6 and 7
    assert made.why == "3 tests in a row dropped no candidate"


def test_tests_are_counted_once_no_elite_is_protected() -> None:
    elites = {1: {p: float((1 + p) % 4) for p in range(8)}}
    made, steps = race(lambda c, p: float((c + p) % 4), 4, elites=elites, seen=8)
    assert len(steps) == 9 + 1  # at 9, when all its results are covered, and 10
    assert made.why == "2 tests in a row dropped no candidate"


# Who survives


def test_more_instances_come_first_then_rank_sums() -> None:
    # 1 and 2 bring 8 results each, 3 brings 6, 4 is new; the budget ends the race at its first test
    elites = {
        1: dict.fromkeys(range(8), 2.0), 2: dict.fromkeys(range(8), 1.0),
        3: dict.fromkeys(range(6), 0.5),
    }  # fmt: skip
    made, steps = race(
        lambda c, p: {1: 1.0, 2: 2.0, 3: 0.5}.get(c, 0.4 + (p % 2)), 4, elites=elites, seen=8,
        budget=1, survivors=3, alpha=1e-9,
    )  # fmt: skip
    assert len(steps) == 5
    found = made.survived()
    # 2 is better than 1 on the 8 old instances, 1 on the new one: rank sums 10 and 17
    assert [(e.candidate, e.rank, e.instances, e.rank_sum) for e in found] == [
        (2, 1, 9, 10.0), (1, 2, 9, 17.0), (3, 3, len(made.results[3]), len(made.results[3])),
    ]  # fmt: skip
    assert found[0].mean_cost == pytest.approx((8 * 1.0 + 2.0) / 9)


def test_among_equals_the_earlier_one_leads() -> None:
    made, steps = race(lambda c, p: 1.0, 4, survivors=2)
    assert [e.candidate for e in made.survived()] == [1, 2]
    assert {step.best for step in steps} == {1}
    assert [e.rank_sum for e in made.survived()] == [2.5 * len(steps)] * 2


def test_with_the_t_test_means_decide_and_not_ranks() -> None:
    # 1 is better by a little four times in five, and worse by much once
    def cost(c: int, p: int) -> float:
        return {1: 90.0 if p % 5 == 4 else 1.0, 2: 1.1, 3: 50.0}[c]

    ranked, _ = race(cost, 3, survivors=2)
    assert ranked.survived()[0].candidate == 1
    meant, steps = race(cost, 3, survivors=2, test="t-test")
    assert meant.survived()[0].candidate == 2
    assert steps[4].best == 2
    assert steps[4].dropped == (3,)
