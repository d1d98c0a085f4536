"""A unit depends on itself alone, and its hits are exact to the evaluation."""

import zlib
from typing import Any

import numpy as np
import pytest
from experiment_stubs import essence

import uaos
from uaos.experiments import ECDF_TARGETS, FINAL, TARGETS, Outcome, Trace, Unit, recorder, run_unit
from uaos.experiments.recorder import NO_TRACE, Recorder, pack_trace, unpack_trace
from uaos.experiments.unit import derived_seed
from uaos.optimizers.de.settings import DifferentialEvolutionSettings
from uaos.problems import BBOB, Problem, sphere


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


def run(name: str, problem: Problem, seed: int, budget: int) -> Outcome:
    unit = Unit(name, problem.name, 1, seed, budget)
    return run_unit(unit, problem, uaos.configuration(name)).outcome


@pytest.mark.parametrize("name", ["mix", "JADE", "U-AOS-FW"])
def test_hits_are_those_of_the_recorded_sequence_of_evaluations(name: str) -> None:
    seen: list[float] = []

    problem = BBOB(1, 2, 3)

    def recorded(x: np.ndarray) -> float:
        seen.append(problem(x) - problem.optimum)
        return problem(x)

    recording = Problem(recorded, problem.bounds, optimum=problem.optimum)
    outcome = run(name, recording, 17, 6000)
    assert outcome.hits.tolist() == brute_force_hits(seen)
    assert outcome.evaluations == len(seen)
    assert outcome.error == min(seen)
    assert outcome.status == "done"


def test_what_a_custom_operator_learns_ends_with_its_run() -> None:
    class Shrinking:
        name = "shrinking"
        step = 1.0

        def propose(self, state: Any, parents: Any, rng: np.random.Generator) -> np.ndarray:
            self.step *= 0.9
            return state.best + self.step * rng.standard_normal((len(parents), len(state.best)))

    settings = DifferentialEvolutionSettings(pool=("rand/1", Shrinking()), NP=10)
    chosen = uaos.Configuration("shrinking", uaos.method("SaDE"), settings)
    unit = Unit("shrinking", "f1 i1 2-D", 1, 1, 200)
    first, second = (run_unit(unit, BBOB(1, 2, 1), chosen).outcome for _ in range(2))
    assert first.best == second.best


@pytest.mark.parametrize("sizes", [[1], [2, 3], [50], [7, 1, 30]])
def test_what_is_recorded_does_not_depend_on_how_values_are_grouped(sizes: list[int]) -> None:
    rng = np.random.default_rng(1)
    values = 5.0 + 10.0 ** rng.uniform(-9, 5, 200)
    values[rng.random(200) < 0.1] = np.nan
    values[0], values[3], values[5] = np.nan, np.inf, -np.inf
    for optimum in (5.0, None):
        one_by_one, grouped = Recorder(optimum), Recorder(optimum)
        for value in values:
            one_by_one.see(np.array([value]))
        left = values
        for turn in range(1000):
            size = sizes[turn % len(sizes)]
            if len(left):
                grouped.see(left[:size])
            left = left[size:]
        assert grouped.hits.tolist() == one_by_one.hits.tolist()
        finite = np.where(np.isfinite(values), values, np.nan)
        if optimum is not None:
            assert grouped.hits.tolist() == brute_force_hits(list(finite - 5.0))
        assert grouped.evaluations == one_by_one.evaluations == 200
        assert grouped.best == one_by_one.best == np.nanmin(finite)
        for one, other in zip(grouped.trace(), one_by_one.trace(), strict=True):
            np.testing.assert_array_equal(one, other)


def test_an_evaluation_that_failed_reaches_no_target() -> None:
    recorder = Recorder(0.0)
    recorder.see(np.array([np.nan, 1e4, 9e3]))
    assert recorder.hits[0] == 2
    assert (recorder.hits[1:] == -1).all()


def improvements(values: np.ndarray) -> list[tuple[int, float]]:
    """Every improvement, counted by hand."""
    found: list[tuple[int, float]] = []
    for number, value in enumerate(values.tolist(), 1):
        if not found or value < found[-1][1]:
            found.append((number, value))
    return found


@pytest.mark.parametrize("optimum", [3.0, None])
def test_a_trace_resolves_every_target_to_its_step(optimum: float | None) -> None:
    # 20,000 values that fall from 1e6 to 1e-9 above 3: 15 decades, more than 400 steps of 0.01.
    rng = np.random.default_rng(2)
    values = 3.0 + 10.0 ** (np.linspace(6, -9, 20_000) + rng.normal(0, 0.3, 20_000))
    recorder = Recorder(optimum)
    for batch in np.array_split(values, 130):
        recorder.see(batch)
    trace, every = recorder.trace(), improvements(values)
    assert set(zip(*(column.tolist() for column in trace), strict=True)) <= set(every)
    assert (trace.evaluations[0], trace.values[0]) == every[0]
    assert (trace.evaluations[-1], trace.values[-1]) == every[-1]
    assert 100 < len(trace.values) <= 400
    # 15 decades in 400 entries: a step of 0.04, and a single improvement may be larger than that.
    for at, value in every:
        gap = np.log10((value - 3.0 + 1e-12) / (trace.values - 3.0 + 1e-12))
        assert np.abs(gap).min() < 0.09, (at, value)


def test_a_trace_comes_back_from_its_bytes() -> None:
    trace = Trace(np.array([1, 7, 5_000_000_000]), np.array([1e5, 2.5, -1.0]))
    back = unpack_trace(pack_trace(trace))
    np.testing.assert_array_equal(back.evaluations, trace.evaluations)
    np.testing.assert_array_equal(back.values, trace.values)
    assert len(unpack_trace(pack_trace(NO_TRACE)).values) == 0
    with pytest.raises(ValueError, match="wrong length"):
        unpack_trace(zlib.compress(bytes(10**6)))


@pytest.mark.parametrize("size", [1, 40])
def test_a_trace_has_what_was_best_on_a_plateau(size: int) -> None:
    """1.999 is less than 0.01 decades below 2, but nothing better came from 30 to 100."""
    values = np.full(120, 9.0)
    values[[9, 29, 99, 101]] = 2.0, 1.999, 1.0, 0.999
    recorder = Recorder(0.0)
    for start in range(0, 120, size):
        recorder.see(values[start : start + size])
    trace = recorder.trace()
    assert trace.evaluations.tolist() == [1, 10, 30, 100, 102]
    assert trace.values.tolist() == [9.0, 2.0, 1.999, 1.0, 0.999]


def test_without_an_optimum_a_run_ends_with_its_budget_and_hits_nothing() -> None:
    unknown = Problem(sphere, [(-5, 5)] * 2, vectorized=True)
    outcome = run("mix", unknown, 5, 4000)
    assert (outcome.evaluations, outcome.status) == (4000, "done")
    assert np.isnan(outcome.error)
    assert outcome.best < 1e-8
    assert (outcome.hits == -1).all()
    assert outcome.trace.values[-1] == outcome.best
    known = run("mix", Problem(sphere, [(-5, 5)] * 2, vectorized=True, optimum=0.0), 5, 4000)
    assert known.solved
    assert known.evaluations < 4000


def test_a_run_ends_with_the_generation_that_reaches_the_final_target() -> None:
    outcome = run("mix", BBOB(1, 2, 1), 5, 50_000)
    assert outcome.solved
    assert outcome.error <= FINAL
    assert outcome.hits[-1] <= outcome.evaluations < outcome.hits[-1] + 20


def test_a_budget_is_exact() -> None:
    outcome = run("JADE", BBOB(3, 5, 1), 5, 777)
    assert outcome.evaluations == 777
    assert not outcome.solved


def test_a_unit_gives_the_same_again() -> None:
    problem = BBOB(8, 5, 2)
    unit = Unit("mix", problem.name, 1, 99, 3000)
    first, second = (run_unit(unit, problem, uaos.configuration("mix")) for _ in range(2))
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
    whole, back = result.history, recorder.unpack_course(recorder.pack_course(result.history))[0]
    assert len(whole) > recorder.MAX_ROWS >= len(back) > recorder.MAX_ROWS // 2
    assert back.operators == whole.operators
    np.testing.assert_array_equal(back.counts.sum(axis=0), whole.counts.sum(axis=0))
    assert back.repairs.sum() == whole.repairs.sum()
    assert back.best[-1] == whole.best[-1]
    assert back.evaluations[-1] == whole.evaluations[-1]
    assert set(back.best) <= set(whole.best)
    np.testing.assert_allclose(back.probabilities[-1], whole.probabilities[-1], rtol=1e-6)


def test_an_exception_is_a_failed_run_with_its_reason() -> None:
    def broken(x: np.ndarray) -> float:
        raise ZeroDivisionError("on purpose")

    outcome = run("mix", Problem(broken, [(0, 1)], optimum=0.0), 1, 100)
    assert outcome.status == "failed"
    assert outcome.reason == "ZeroDivisionError: on purpose"
    assert outcome.best == outcome.error == float("inf")
    assert (outcome.hits == -1).all()


@pytest.mark.parametrize("returned", ["1.5", 1j, None, [1, 2]])
def test_a_function_that_returns_no_number_fails_its_run(returned: object) -> None:
    outcome = run("mix", Problem(lambda x: returned, [(0, 1)], name="odd"), 1, 100)
    assert outcome.status == "failed"
    assert outcome.reason.startswith("InvalidFeedback: odd: ")


def test_any_optimizer_of_the_catalogue_runs_and_repeats() -> None:
    for name in ("CMA-ES", "JADE"):
        first, second = (run(name, BBOB(1, 5), 3, 20_000) for _ in range(2))
        assert essence(first) == essence(second)
        assert first.solved, first.reason


def test_bipop_cma_es_of_pycma_leaves_the_global_generator_alone() -> None:
    pytest.importorskip("cma", reason="pycma is not installed: the extra uaos[peers]")
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    outcome = run("BIPOP-CMA-ES", BBOB(24, 2), 4, 4000)
    assert (np.random.get_state()[1] == state).all()  # noqa: NPY002
    assert outcome.status == "done", outcome.reason
    assert outcome.solved or outcome.evaluations == 4000


def total(x: np.ndarray) -> float:
    return float(x.sum())


def at_least_three(x: np.ndarray) -> float:
    return float(x.sum() - 3.2)


@pytest.mark.parametrize("name", ["portfolio", "mix", "CMA-ES"])
def test_a_unit_keeps_to_constraints_and_integers(name: str) -> None:
    """The smallest sum of two integers and one held at 1 that is at least 3.2 is 4."""
    called = []

    def objective(x: np.ndarray) -> float:
        called.append(x.copy())
        return total(x)

    problem = Problem(
        objective, [(0, 9), (0, 9), (1, 1)], name="sum", optimum=4.0, integrality=True,
        constraints={"type": "ineq", "fun": at_least_three},
    )  # fmt: skip
    outcome = run(name, problem, 1, 2000)
    assert outcome.status == "done", outcome.reason
    assert outcome.solved
    assert outcome.best == 4.0
    assert outcome.evaluations >= len(called)
    points = np.array(called)
    assert (points == np.rint(points)).all()
    assert (points[:, 2] == 1).all()
    assert (points.sum(axis=1) >= 3.2).all()


def test_values_of_infeasible_points_are_not_recorded() -> None:
    """An equality is approached from infeasible points, whose values may be lower."""
    problem = Problem(
        total, [(-5, 5)] * 2, name="line", optimum=1.0,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1.0},
    )  # fmt: skip
    outcome = run("mix", problem, 1, 3000)
    assert outcome.status == "done", outcome.reason
    assert outcome.best == pytest.approx(1.0, abs=2e-6)


def test_a_method_without_constraints_says_so() -> None:
    problem = Problem(
        total, [(-5, 5)] * 2, constraints={"type": "ineq", "fun": lambda x: x[0]}
    )  # fmt: skip
    outcome = run("BFGS", problem, 1, 100)
    assert outcome.status == "failed"
    assert outcome.reason.startswith("InvalidParameter: BFGS cannot handle constraints;")
    assert outcome.evaluations == 0
