"""Recorded runs, in which selectors are replayed."""

import numpy as np
import pytest

import uaos
from uaos.errors import InvalidParameter
from uaos.scenarios import traces
from uaos.scenarios.traces import OutcomeTrace


@pytest.fixture
def trace() -> OutcomeTrace:
    """Two operators: the first always gains one order of magnitude, the second never improves."""
    parents = np.full((30, 10), 100.0)
    offspring = np.stack([parents / 10, parents * 2], axis=2)
    return OutcomeTrace("f0-i0", parents, offspring)


def test_merits_are_orders_of_magnitude(trace: OutcomeTrace) -> None:
    """100 to 10 is one, 100 to 200 is none, and more than three count as three."""
    assert trace.merits[0].tolist() == [1.0, 0.0]
    far = OutcomeTrace("f0-i0", np.array([[1.0]]), np.array([[[1e-8, 1.0]]]))
    assert far.merits.tolist() == [[3.0, 0.0]]


def test_baselines_of_a_run_whose_best_operator_changes() -> None:
    """The first operator gains 1 in the first half, the second in the other."""
    offspring = np.full((8, 1, 2), 10.0)
    offspring[:4, 0, 0] = offspring[4:, 0, 1] = 1.0
    baselines = OutcomeTrace("f0-i0", np.full((8, 1), 10.0), offspring).baselines
    assert baselines == (0.5, 0.5, 1.0, 1.0)
    assert baselines.score(0.75) == 0.5


def test_a_method_that_finds_the_better_operator_nears_the_oracle(trace: OutcomeTrace) -> None:
    """Uniform choice has a score near 0; greedy choice loses only what it takes to explore."""
    greedy = uaos.Method("parent_improvement", "success_sum", "identity",
                         "probability_matching", "greedy")  # fmt: skip
    assert traces.score(greedy, [trace])[0] > 0.9
    assert abs(traces.score(uaos.method("uniform"), [trace])[0]) < 0.2


def test_a_replay_is_repeatable_and_depends_on_the_seed() -> None:
    """Choices on different runs are independent of each other."""
    (first, second) = traces.load("nine")[:2]
    uniform = uaos.method("uniform")
    assert first.replay(uniform, seed=1) == first.replay(uniform, seed=1)
    assert first.replay(uniform, seed=1) != first.replay(uniform, seed=2)
    twin = OutcomeTrace("another", first.parents, first.offspring)
    assert first.replay(uniform) != twin.replay(uniform)
    assert second.name == "f2-i1"


@pytest.mark.parametrize(("host", "operators"), [("nine", 9), ("mix", 7)])
def test_the_recorded_runs_are_complete(host: str, operators: int) -> None:
    """24 functions, two instances, 40 generations of 20 parents."""
    runs = traces.load(host)
    assert [run.name for run in runs] == [f"f{f}-i{i}" for i in (1, 2) for f in range(1, 25)]
    for run in runs:
        assert run.offspring.shape == (40, 20, operators)
        assert (run.parents > 0).all()
        assert np.isfinite(run.offspring).all()
        baselines = run.baselines
        assert 0 < baselines.uniform < baselines.best_single
        rounding = 1e-12
        assert baselines.best_single <= baselines.best_schedule + rounding
        assert baselines.best_schedule <= baselines.oracle + rounding


def test_the_scores_of_published_methods_are_those_of_a_replay() -> None:
    """PDP, replayed again; all methods of the literature have a score."""
    published = traces.published()
    assert set(published) == {n for n, e in uaos.methods().items() if e.kind == "method"}
    again = [traces.score(uaos.method("PDP"), traces.load(host)).mean() for host in traces.HOSTS]
    assert published["PDP"] == pytest.approx(np.mean(again), abs=1e-4)


def test_an_unknown_host_is_refused() -> None:
    with pytest.raises(InvalidParameter) as caught:
        traces.load("ten")
    assert (caught.value.name, caught.value.value) == ("host", "ten")
