"""A user's component joins its family by name, or is told what it lacks."""

import runpy
from dataclasses import FrozenInstanceError, dataclass
from pathlib import Path

import numpy as np
import pytest

import uaos
from uaos import Method, Selector
from uaos.errors import InvalidComponent, NameClash


def best_ratio() -> type[uaos.GenerationReward]:
    @uaos.register
    @dataclass(frozen=True, repr=False)
    class BestRatio(uaos.GenerationReward):
        """The operator's best metric, relative to everybody's."""

        max_gen: int = uaos.integer(1, 50, default=5)

        def compute(self, memory):
            best = memory.bests.max(axis=0)
            return best / max(best.max(), 1e-12)

    return BestRatio


def test_a_registered_reward_works_by_name_everywhere(tmp_path: Path) -> None:
    best_ratio()
    method = Method(reward={"name": "best_ratio", "max_gen": 2})
    assert method.replace(max_gen=3).reward.max_gen == 3
    assert Method.from_toml(method.to_toml()) == method
    selector = method.selector(2, seed=1)
    selector.update([0, 1], [5, 5], [1, 3])
    assert selector.rewards.tolist() == [1, 0]  # 4/4 and 2/4, scaled to [0, 1]
    selector.save(tmp_path / "s")
    assert Selector.load(tmp_path / "s").method == method
    page = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "make_components.py"))
    assert "### `best_ratio`" in page["components_page"]()


def test_every_family_takes_a_users_component() -> None:
    @uaos.register
    class Halved(uaos.Metric):
        def compute(self, parents, offspring, best_so_far):
            return (parents - offspring) / 2

    @uaos.register
    class Constant(uaos.Quality):
        def compute(self, now):
            return np.ones(len(now.rewards))

    @uaos.register
    class Flat(uaos.Probability):
        def compute(self, qualities, probabilities):
            return np.ones(len(qualities))

    @uaos.register
    class Second(uaos.Selection):
        def compute(self, probabilities, draws, progress):
            return np.ones(len(draws.pick), dtype=int)

    @uaos.register
    class Newest(uaos.WindowReward):
        def compute(self, memory):
            return memory.membership().sum(axis=1)

    @uaos.register
    class Many(uaos.SuccessReward):
        def compute(self, memory):
            return memory.counts

    for reward in ("newest", "many"):
        method = Method("halved", reward, "constant", "flat", "second")
        selector = method.selector(3, seed=1)
        selector.update([0, 1, 2], [2, 2, 2], [1, 2, 3])
        assert selector.probabilities.tolist() == [1 / 3] * 3
        assert selector.select(4).tolist() == [1, 1, 1, 1]


def test_registering_the_same_definition_again_replaces_it() -> None:
    best_ratio()
    again = best_ratio()
    assert uaos.components("reward")["best_ratio"] is again


def test_a_taken_name_is_refused() -> None:
    class SuccessSum(uaos.GenerationReward):
        def compute(self, memory):
            return memory.successes[0]

    with pytest.raises(NameClash):
        uaos.register(SuccessSum)


def test_what_is_no_component_is_refused() -> None:
    for wrong in (int, 7, "reward", best_ratio()()):
        with pytest.raises(InvalidComponent):
            uaos.register(wrong)


def test_a_class_without_its_method_is_refused() -> None:
    class Empty(uaos.Quality):
        pass

    with pytest.raises(InvalidComponent):
        uaos.register(Empty)


def test_a_class_outside_the_families_is_refused() -> None:
    class Lost(uaos.Component):
        def compute(self):
            return 1

    with pytest.raises(InvalidComponent):
        uaos.register(Lost)


def test_a_reward_that_does_not_say_what_it_reads_is_refused() -> None:
    from uaos.selection.components import Reward

    class Vague(Reward):
        def compute(self, memory):
            return memory

    with pytest.raises(InvalidComponent):
        uaos.register(Vague)


def test_a_field_that_is_not_declared_is_refused() -> None:
    @dataclass(frozen=True)
    class Undeclared(uaos.Quality):
        weight: float = 0.5

        def compute(self, now):
            return now.rewards

    with pytest.raises(InvalidComponent):
        uaos.register(Undeclared)


def test_registering_makes_a_frozen_dataclass() -> None:
    @uaos.register
    class Weighted(uaos.Quality):
        weight: float = uaos.real(0, 1, default=0.5)

        def compute(self, now):
            return self.weight * now.rewards

    made = uaos.Method(quality={"name": "weighted", "weight": 0.25}).quality
    assert made == Weighted(weight=0.25)
    assert repr(made) == "weighted(weight=0.25)"
    with pytest.raises(FrozenInstanceError):
        made.weight = 1.0


def test_a_declared_field_without_a_type_is_refused() -> None:
    class Untyped(uaos.Quality):
        weight = uaos.real(0, 1, default=0.5)

        def compute(self, now):
            return now.rewards

    with pytest.raises(InvalidComponent):
        uaos.register(Untyped)


class Wrong(uaos.Selection):
    """Returns what it is told to."""

    answer: object = None

    def compute(self, probabilities, draws, progress):
        return self.answer


@pytest.mark.parametrize(
    "answer",
    [
        np.array([0, 3]),
        np.array([0]),
        np.array([0.0, 1.0]),
    ],
)
def test_a_selection_that_returns_no_operators_is_refused(answer: object) -> None:
    Wrong.answer = answer
    with pytest.raises(InvalidComponent):
        Method(selection=Wrong()).selector(3, seed=1).select(2)
