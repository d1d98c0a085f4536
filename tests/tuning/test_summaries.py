"""What a tuning's store tells, on a tuning of two races that can be followed by hand."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import tuning_cases
from raising import raises

from uaos.errors import UnknownName
from uaos.problems import suite
from uaos.tuning.records import Candidate, Cost, Elite, Step
from uaos.tuning.store import TuningStore
from uaos.tuning.summaries import frequencies, importance, survival

SPACE = [
    {"name": "reward", "choices": ["a", "b"], "when": ""},
    {"name": "W", "low": 1, "high": 100, "log": True, "whole": True, "when": "reward is b"},
    {"name": "F", "low": 0.0, "high": 1.0, "log": False, "whole": False, "when": ""},
    {"name": "quality", "choices": ["only"], "when": ""},
]
SUITE = suite("bbob", dimension=2, instances=[16])
SETUP = {**tuning_cases.SETUP, "space": SPACE}


def candidate(number: int, iteration: int = 1, **values: object) -> Candidate:
    return Candidate(number, iteration, None, "key", {**values, "quality": "only"}, "uniform")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[TuningStore]:
    """Race 1: twelve candidates whose costs are their numbers. Race 2: 1, 2, and two new ones."""
    with TuningStore.create_or_resume(tmp_path / "x.db", SUITE) as made:
        number = made.begin(SETUP)
        with made.database.transaction():
            made.add_methods({"key": "{}"})
        made.add(number, *[candidate(n, reward="a", F=0.5) for n in range(1, 7)])
        made.add(number, *[candidate(n, reward="b", F=0.5, W=10 * (n - 6)) for n in range(7, 13)])
        first = range(1, 13)
        made.add(
            number,
            Step(1, 1, "f1 i16 2-D", 7, 12, 1, 12, position=0),
            *[Cost(n, 0, float(n)) for n in first],
        )
        made.add(
            number,
            Step(1, 2, "f1 i16 2-D", 8, 3, 1, 24, pvalue=0.01, position=1),
            *[Cost(n, 1, float(n)) for n in first],
        )
        made.add(
            number,
            Step(1, 3, "f1 i16 2-D", 9, 2, 1, 27, pvalue=0.04, position=2),
            *[Cost(n, 2, float(n)) for n in (1, 2, 3)],
        )
        made.add(number, Elite(1, 1, 1, 3, 3.0, 1.0), Elite(1, 2, 2, 3, 6.0, 2.0))
        made.add(
            number,
            candidate(13, 2, reward="a", F=0.25),
            candidate(14, 2, reward="b", F=0.75, W=100),
        )
        made.add(
            number,
            Step(2, 1, "f1 i16 2-D", 7, 4, 14, 33, position=0),
            Cost(13, 0, 0.5),
            Cost(14, 0, 0.25),
        )
        made.add(number, Elite(2, 1, 14, 1, 1.0, 0.25), Elite(2, 2, 13, 1, 2.0, 0.5))
        yield made


def test_shares_are_of_all_that_were_new_in_an_iteration(store: TuningStore) -> None:
    reward = frequencies(store, 1)["reward"]
    assert reward.choices == ("a", "b")
    # race 1 drew six of each; race 2 drew 13 with a and 14 with b: its elites are not new
    np.testing.assert_array_equal(reward.shares, [[0.5, 0.5], [0.5, 0.5]])
    assert reward.winner == "b"


def test_numbers_are_those_of_the_candidates_that_have_them(store: TuningStore) -> None:
    found = frequencies(store, 1)
    W = found["W"]
    assert W.values == ((10, 20, 30, 40, 50, 60), (100,))  # candidate 13 has none
    assert W.winner == 100


def test_what_is_fixed_is_not_told(store: TuningStore) -> None:
    assert list(frequencies(store, 1)) == ["reward", "W", "F"]


def test_races_tell_how_many_were_alive(store: TuningStore) -> None:
    first, second = survival(store, 1)
    assert first.alive == (12, 12, 3, 2)
    assert second.alive == (4, 4)  # the survivors 1 and 2 come along


def test_importance_is_the_variance_between_values_less_that_of_random_ones(
    store: TuningStore,
) -> None:
    by_name = {one.name: one for one in importance(store, 1)}
    # Race 1: ranks k = 0..11, over 11. In units of 1/121: all 143, between a and b 12 * 3^2 = 108.
    # Race 2: 14, 13, 1, 2 have ranks 0, 1, 2, 3, over 3. In units of 1/9: all 5; b is rank 0, a has
    # 1, 2, 3 with mean 2: between 1.5^2 + 3 * 0.5^2 = 3.
    all_, between = 143 / 121 + 5 / 9, 108 / 121 + 3 / 9
    within_freedom = (12 - 2) + (4 - 2)
    expected = (between - 2 * (all_ - between) / within_freedom) / all_
    assert by_name["reward"].share == pytest.approx(expected)
    assert by_name["reward"].noise == pytest.approx(2 * np.sqrt(2 * 2) / within_freedom)
    assert by_name["reward"].candidates == 16


def test_a_parameter_that_did_not_vary_enough_is_not_judged(store: TuningStore) -> None:
    # W: six candidates of race 1 in four groups leave two degrees of freedom
    assert "W" not in {one.name for one in importance(store, 1)}


def test_a_parameter_that_does_nothing_has_no_importance(tmp_path: Path) -> None:
    """Alternating values among ranked candidates: less than random groups explain, so 0."""
    with TuningStore.create_or_resume(tmp_path / "x.db", SUITE) as store:
        number = store.begin(SETUP)
        with store.database.transaction():
            store.add_methods({"key": "{}"})
        made = [candidate(n, reward="abba"[n % 4], F=n / 100) for n in range(40)]
        store.add(number, *made)
        costs = [Cost(n, 0, float(n)) for n in range(40)]
        store.add(number, Step(1, 1, "f1", 1, 40, 0, 40, position=0), *costs)
        F, reward = importance(store, number)
    assert (reward.name, reward.share) == ("reward", 0.0)
    # F gives the order: quarters of ten. Of the squares about the mean, 40 (40^2 - 1) / 12 = 5330,
    # those of quarters about their means, 4 * 10 (10^2 - 1) / 12 = 330, are not explained.
    assert F.share == pytest.approx((5000 - 3 * 330 / 36) / 5330)


def test_a_tuning_that_has_just_begun_can_be_looked_at(tmp_path: Path) -> None:
    with TuningStore.create_or_resume(tmp_path / "x.db", SUITE) as store:
        number = store.begin(SETUP)
        assert frequencies(store, number)["F"].winner is None
        assert survival(store, number) == []
        assert importance(store, number) == []


def test_a_tuning_that_is_not_there_is_named(store: TuningStore) -> None:
    for look in (frequencies, survival, importance):
        with raises(UnknownName, name=2):
            look(store, 2)
