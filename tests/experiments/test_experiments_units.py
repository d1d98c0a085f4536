"""A unit depends on itself alone, and its hits are exact to the evaluation."""

import numpy as np
import pytest
from experiment_stubs import essence

import uaos
from uaos.experiments import ECDF_TARGETS, FINAL, TARGETS, Unit, course, run_unit
from uaos.experiments.hits import Hits
from uaos.experiments.peers import PEERS
from uaos.experiments.records import derived_seed
from uaos.problems import BBOB


def test_the_targets_are_cocos() -> None:
    assert len(TARGETS) == 61
    assert TARGETS[0] == 1e4
    assert TARGETS[-1] == FINAL == 1e-8
    np.testing.assert_allclose(ECDF_TARGETS, 10.0 ** np.linspace(2, -8, 51), rtol=1e-14)


def brute_force_hits(errors: list[float]) -> list[int]:
    """The definition, read aloud."""
    return [
        next((k for k, error in enumerate(errors, 1) if error <= target), -1) for target in TARGETS
    ]


@pytest.mark.parametrize("name", ["mix", "JADE", "U-AOS-FW"])
def test_hits_are_those_of_the_recorded_sequence_of_evaluations(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[float] = []

    class Recording(BBOB):
        def __init__(self, *arguments: int) -> None:
            super().__init__(*arguments)
            plain = self._evaluate

            def evaluate(x: np.ndarray) -> float:
                seen.append(plain(x) - self.f_opt)
                return plain(x)

            self._evaluate = evaluate

    monkeypatch.setattr("uaos.experiments.units.BBOB", Recording)
    unit = Unit(name, 1, 2, 3, 1, 17, 6000)
    outcome = run_unit(unit, uaos.configuration(name)).outcome
    assert outcome.hits.tolist() == brute_force_hits(seen)
    assert outcome.evaluations == len(seen)
    assert outcome.error == min(seen)
    assert outcome.status == "done"


@pytest.mark.parametrize("sizes", [[1], [2, 3], [50], [7, 1, 30]])
def test_hits_do_not_depend_on_how_values_are_grouped(sizes: list[int]) -> None:
    rng = np.random.default_rng(1)
    values = 5.0 + 10.0 ** rng.uniform(-9, 5, 200)
    values[rng.random(200) < 0.1] = np.nan
    values[3] = np.inf
    one_by_one, grouped = Hits(5.0), Hits(5.0)
    for value in values:
        one_by_one.see_one(value)
    left = values
    for turn in range(1000):
        size = sizes[turn % len(sizes)]
        if len(left):
            grouped.see(left[:size])
        left = left[size:]
    assert grouped.at.tolist() == one_by_one.at.tolist() == brute_force_hits(list(values - 5.0))
    assert grouped.evaluations == one_by_one.evaluations == 200
    assert grouped.error == one_by_one.error


def test_a_run_ends_with_the_generation_that_reaches_the_final_target() -> None:
    outcome = run_unit(Unit("mix", 1, 2, 1, 1, 5, 50_000), uaos.configuration("mix")).outcome
    assert outcome.solved
    assert outcome.error <= FINAL
    assert outcome.hits[-1] <= outcome.evaluations < outcome.hits[-1] + 20


def test_a_budget_is_exact() -> None:
    outcome = run_unit(Unit("JADE", 3, 5, 1, 1, 5, 777), uaos.configuration("JADE")).outcome
    assert outcome.evaluations == 777
    assert not outcome.solved


def test_a_unit_gives_the_same_again() -> None:
    unit = Unit("mix", 8, 5, 2, 1, 99, 3000)
    first, second = (run_unit(unit, uaos.configuration("mix")) for _ in range(2))
    assert essence(first.outcome) == essence(second.outcome)
    assert first.course == second.course


def test_seeds_depend_on_the_identity_alone_and_differ() -> None:
    assert derived_seed(1, "mix", 3, 20, 4, 1) == derived_seed(1, "mix", 3, 20, 4, 1)
    seeds = {
        derived_seed(s, m, f, d, i, r)
        for s in (1, 2) for m in ("mix", "JADE") for f in range(1, 25) for d in (2, 20)
        for i in range(1, 16) for r in (1, 2)
    }  # fmt: skip
    assert len(seeds) == 2 * 2 * 24 * 2 * 15 * 2
    assert all(0 <= seed < 2**63 for seed in seeds)
    # 1, 12 and 11, 2 are not the same when written one after the other
    assert derived_seed(1, "mix", 1, 12) != derived_seed(1, "mix", 11, 2)


def test_the_course_of_a_run_comes_back_thinned() -> None:
    problem = BBOB(3, 2, 1)
    result = uaos.minimize(problem, problem.bounds, method="uniform", budget=70_000, seed=1)
    whole, back = result.history, course.unpack(course.pack(result.history))
    assert len(whole) > course.MAX_ROWS >= len(back) > course.MAX_ROWS // 2
    assert back.operators == whole.operators
    np.testing.assert_array_equal(back.counts.sum(axis=0), whole.counts.sum(axis=0))
    assert back.repairs.sum() == whole.repairs.sum()
    assert back.best[-1] == whole.best[-1]
    assert back.evaluations[-1] == whole.evaluations[-1]
    assert set(back.best) <= set(whole.best)
    np.testing.assert_allclose(back.probabilities[-1], whole.probabilities[-1], rtol=1e-6)


def test_an_exception_is_a_failed_run_with_its_reason() -> None:
    outcome = run_unit(Unit("mix", 99, 2, 1, 1, 1, 100), uaos.configuration("mix")).outcome
    assert outcome.status == "failed"
    assert outcome.reason.startswith("InvalidParameter: function of a BBOB problem is 99")
    assert outcome.error == float("inf")
    assert (outcome.hits == -1).all()


def test_the_cma_es_peer_solves_counts_and_repeats() -> None:
    pytest.importorskip("cma", reason="pycma is not installed: the extra uaos[peers]")
    peer = PEERS["BIPOP-CMA-ES"]
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    first, second = (run_unit(Unit(peer.name, 1, 5, 1, 1, 3, 5000), peer) for _ in range(2))
    assert essence(first.outcome) == essence(second.outcome)
    assert (np.random.get_state()[1] == state).all()  # noqa: NPY002
    assert first.outcome.solved
    assert first.outcome.evaluations == first.outcome.hits[-1] < 2000


def test_the_cma_es_peer_restarts_until_the_budget_is_spent() -> None:
    pytest.importorskip("cma", reason="pycma is not installed: the extra uaos[peers]")
    peer = PEERS["BIPOP-CMA-ES"]
    outcome = run_unit(Unit(peer.name, 24, 2, 1, 1, 4, 4000), peer).outcome
    assert outcome.status == "done", outcome.reason
    assert outcome.solved or outcome.evaluations == 4000
