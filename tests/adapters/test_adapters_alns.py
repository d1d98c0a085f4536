"""ALNS: the scheme does what the package asks of one, in every combination with its other parts.

The package ships its tests: those of a selection scheme, and those of the search with a scheme, run
here with ours in place of theirs.
"""

import pickle
from collections.abc import Callable
from math import inf, nan
from typing import Any

import alns.accept
import alns.select.tests.test_random_select as of_schemes
import alns.select.tests.test_roulette_wheel as of_coupling
import alns.tests.test_alns as of_the_search
import numpy as np
import pytest
from alns import ALNS
from alns.accept import HillClimbing
from alns.Outcome import Outcome
from alns.select import OperatorSelectionScheme
from alns.select.tests.test_random_select import (  # noqa: F401
    test_op_coupling,
    test_single_operators,
    test_uniform_selection,
    test_uniform_selection_op_coupling,
)
from alns.select.tests.test_roulette_wheel import (  # noqa: F401
    test_raise_uncoupled_destroy_op,
    test_raises_wrong_op_coupling_shape,
    test_select_coupled_operators,
    test_single_destroy_operator_coerces_coupling_matrix,
)
from alns.stop import MaxIterations, MaxRuntime, NoImprovement

# Theirs with a fixed seed pins the roulette wheel's draws, and those with a run time measure time.
from alns.tests.test_alns import (  # noqa: F401
    test_bugfix_pass_kwargs_to_on_best,
    test_iterate_kwargs_are_correctly_passed_to_operators,
    test_nonnegative_max_iterations,
    test_on_best_is_called,
    test_other_callbacks_are_called,
    test_raises_missing_destroy_operator,
    test_raises_missing_repair_operator,
    test_trivial_example,
    test_zero_max_iterations,
    test_zero_max_runtime,
)
from raising import raises
from test_adapters_credit import METHODS

import uaos
from uaos.adapters.alns import AdaptiveSelect
from uaos.errors import InvalidFeedback, InvalidParameter, UnknownName


@pytest.fixture(autouse=True)
def _ours_in_their_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    def in_place_of_the_wheel(scores, decay, num_destroy, num_repair, op_coupling=None):
        return AdaptiveSelect(num_destroy, num_repair, op_coupling)

    def in_place_of_chance(*operators):
        return AdaptiveSelect(*operators, method="uniform")

    monkeypatch.setattr(of_schemes, "RandomSelect", in_place_of_chance)
    monkeypatch.setattr(of_coupling, "RouletteWheel", in_place_of_the_wheel)
    monkeypatch.setattr(of_the_search, "RouletteWheel", in_place_of_the_wheel)


class State:
    """A bit string to be emptied; the objective is the number of ones."""

    def __init__(self, bits: np.ndarray) -> None:
        self.bits = bits

    def objective(self) -> float:
        return float(self.bits.sum())


class Fixed:
    def __init__(self, value: float) -> None:
        self.value = value

    def objective(self) -> float:
        return self.value


def clear(share: float) -> Callable[..., State]:
    def operator(state: State, rng: np.random.Generator) -> State:
        return State(state.bits & (rng.random(len(state.bits)) > share))

    return operator


def fill(share: float) -> Callable[..., State]:
    def operator(state: State, rng: np.random.Generator) -> State:
        return State(state.bits | (rng.random(len(state.bits)) < share))

    return operator


def search(seed: int = 1) -> ALNS:
    made = ALNS(np.random.default_rng(seed))
    for share in (0.01, 0.1, 0.4):
        made.add_destroy_operator(clear(share), name=f"clear {share}")
    for share in (0.0, 0.2):
        made.add_repair_operator(fill(share), name=f"fill {share}")
    return made


START = State(np.ones(60, dtype=bool))


def run(select: AdaptiveSelect, seed: int = 1, iterations: int = 40) -> list[float]:
    result = search(seed).iterate(START, select, HillClimbing(), MaxIterations(iterations))
    return result.statistics.objectives.tolist()


@pytest.mark.parametrize("independent", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_every_method_of_the_catalogue_serves(method: str, independent: bool) -> None:
    select = AdaptiveSelect(3, 2, method=method, independent=independent)
    assert isinstance(select, OperatorSelectionScheme)
    objectives = run(select)
    assert objectives[-1] < objectives[0]
    for slot, counts in select.credit.counts.items():
        assert sum(counts.values()) == 40
        assert sum(select.credit.probabilities[slot].values()) == pytest.approx(1)


ACCEPT = {
    "AlwaysAccept": (), "GreatDeluge": (2.0, 0.01), "HillClimbing": (),
    "LateAcceptanceHillClimbing": (5,), "MovingAverageThreshold": (0.1, 5),
    "NonLinearGreatDeluge": (2.0, 0.1, 0.1, 0.1), "RandomAccept": (0.5, 0.0, 0.01),
    "RecordToRecordTravel": (5, 0, 0.1), "SimulatedAnnealing": (5, 0.1, 0.1),
}  # fmt: skip


def test_every_acceptance_criterion_of_the_package_is_tried() -> None:
    theirs = {n for n in vars(alns.accept) if n[0].isupper()} - {"AcceptanceCriterion"}
    assert theirs == set(ACCEPT)


@pytest.mark.parametrize(("stop", "limit"), [(MaxIterations, 15), (NoImprovement, 5),
                                             (MaxRuntime, 0.01)])  # fmt: skip
@pytest.mark.parametrize("accept", ACCEPT)
def test_it_works_with_every_acceptance_and_stopping_criterion(
    accept: str, stop: Any, limit: float
) -> None:
    criterion = getattr(alns.accept, accept)(*ACCEPT[accept])
    select = AdaptiveSelect(3, 2)
    result = search().iterate(START, select, criterion, stop(limit))
    assert sum(select.credit.counts["pair"].values()) == len(result.statistics.objectives) - 1


@pytest.mark.parametrize("independent", [False, True])
def test_the_generator_of_the_search_determines_everything(independent: bool) -> None:
    made = [AdaptiveSelect(3, 2, independent=independent) for _ in range(3)]
    first, again, other = (run(s, seed) for s, seed in zip(made, (1, 1, 2), strict=True))
    assert first == again
    assert made[0].credit.counts == made[1].credit.counts
    assert first != other


@pytest.mark.parametrize("independent", [False, True])
@pytest.mark.parametrize("segment", [1, 7])
def test_a_resumed_search_equals_an_uninterrupted_one(independent: bool, segment: int) -> None:
    def scheme() -> AdaptiveSelect:
        return AdaptiveSelect(3, 2, method="Ex-AP", independent=independent, segment=segment)

    through = run(scheme(), iterations=40)
    half, select = search(), scheme()
    found = half.iterate(START, select, HillClimbing(), MaxIterations(17))
    # Under hill climbing the best solution is the current one. Operators are code: only the
    # generator is stored of the search.
    rng, select, state = pickle.loads(pickle.dumps((half._rng, select, found.best_state)))
    rest = search()
    rest._rng = rng
    result = rest.iterate(state, select, HillClimbing(), MaxIterations(23))
    assert [*found.statistics.objectives, *result.statistics.objectives[1:]] == through


def told(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What the selectors hear, each time they hear something."""
    heard: list[tuple[Any, ...]] = []
    update = uaos.Selector.update

    def listening(self: uaos.Selector, *feedback: Any) -> None:
        heard.append(tuple(list(part) for part in feedback))
        update(self, *feedback)

    monkeypatch.setattr(uaos.Selector, "update", listening)
    return heard


def test_the_parent_is_the_current_solution_and_the_offspring_the_candidate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heard = told(monkeypatch)
    select, rng = AdaptiveSelect(2, 2, segment=1), np.random.default_rng(1)
    select(rng, Fixed(3.0), Fixed(10.0))
    select.update(Fixed(7.0), 1, 0, Outcome.BETTER)
    # The pairs are (0, 0), (0, 1), (1, 0), (1, 1): (1, 0) is number 2.
    assert heard == [([2], [10.0], [7.0])]


def test_in_independent_slots_both_operators_hear_it(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = told(monkeypatch)
    select, rng = AdaptiveSelect(3, 2, independent=True, segment=1), np.random.default_rng(1)
    select(rng, Fixed(3.0), Fixed(10.0))
    select.update(Fixed(7.0), 2, 1, Outcome.BETTER)
    assert heard == [([2], [10.0], [7.0]), ([1], [10.0], [7.0])]


@pytest.mark.parametrize("value", [nan, inf])
def test_a_candidate_without_a_finite_objective_is_a_failure(value: float) -> None:
    counting = uaos.method("SaDE", noise=0.0)
    select, rng = AdaptiveSelect(1, 2, method=counting, segment=2), np.random.default_rng(1)
    for repair, objective in ((0, value), (1, 5.0)):
        select(rng, Fixed(3.0), Fixed(10.0))
        select.update(Fixed(objective), 0, repair, Outcome.REJECT)
    np.testing.assert_array_equal(select.credit.selectors["pair"].rewards, [0, 1])


def test_a_segment_of_iterations_is_one_generation(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = told(monkeypatch)
    select = AdaptiveSelect(3, 2, segment=8)
    run(select, iterations=20)
    # 8 + 8, and 4 that wait for the next call of iterate
    assert [len(operators) for operators, *_ in heard] == [8, 8]
    assert sum(select.credit.counts["pair"].values()) == 20


@pytest.mark.parametrize("independent", [False, True])
def test_the_coupling_matrix_is_respected_and_all_that_it_allows_is_tried(
    independent: bool,
) -> None:
    coupling = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 1], [1, 0, 1]], dtype=bool)
    select, rng = AdaptiveSelect(4, 3, coupling, independent=independent), np.random.default_rng(1)
    seen = set()
    for _ in range(300):
        pair = select(rng, Fixed(1.0), Fixed(1.0))
        seen.add(pair)
        select.update(Fixed(rng.random()), *pair, Outcome.ACCEPT)
    assert seen == {(int(d), int(r)) for d, r in np.argwhere(coupling)}


def test_destroy_operators_that_allow_the_same_repairs_share_what_is_learned_about_them() -> None:
    coupling = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 1], [1, 0, 1]])
    assert list(AdaptiveSelect(4, 3, coupling, independent=True).credit.counts) == [
        "destroy", "repair (0, 2)", "repair (1)", "repair (0, 1, 2)",
    ]  # fmt: skip
    assert list(AdaptiveSelect(4, 3, independent=True).credit.counts) == ["destroy", "repair"]


def test_each_slot_may_have_a_method_of_its_own() -> None:
    methods = {"destroy": "SaDE", "repair": "Compass"}
    coupling = np.array([[1, 0, 1], [1, 1, 1]])
    slots = AdaptiveSelect(2, 3, coupling, independent=True, method=methods).credit.selectors
    assert slots["destroy"].method == uaos.method("SaDE")
    assert slots["repair (0, 2)"].method == slots["repair (0, 1, 2)"].method
    assert slots["repair (0, 2)"].method == uaos.method("Compass")
    with raises(UnknownName, name="repairs", near="repair"):
        AdaptiveSelect(2, 3, independent=True, method={"repairs": "SaDE"})


def test_what_does_not_fit_is_refused() -> None:
    select = AdaptiveSelect(2, 2, np.eye(2))
    with pytest.raises(InvalidFeedback):
        select.update(Fixed(1.0), 0, 0, Outcome.BEST)
    select(np.random.default_rng(1), Fixed(1.0), Fixed(1.0))
    with pytest.raises(InvalidFeedback):
        select.update(Fixed(1.0), 0, 1, Outcome.BEST)
    with raises(InvalidParameter, name="segment", value=0) as error:
        AdaptiveSelect(2, 2, segment=0)
    assert (error.value.name, error.value.value) == ("segment", 0)


def test_integers_of_numpy_are_integers() -> None:
    assert AdaptiveSelect(np.int64(2), 2, segment=np.int64(10)).segment == 10


@pytest.mark.parametrize("name", ["num_destroy", "num_repair", "segment"])
@pytest.mark.parametrize("value", [0, "3", 2.5, [1, 2], True])
def test_counts_are_positive_integers(name: str, value: object) -> None:
    counts = {"num_destroy": 2, "num_repair": 2, name: value}
    with pytest.raises(InvalidParameter, match=f"{name} is .*; expected a positive integer"):
        AdaptiveSelect(**counts)
