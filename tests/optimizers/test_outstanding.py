"""Points can be asked for while others are out, and their values told in any order."""

import numpy as np
import pytest

import uaos
from uaos.errors import InvalidFeedback
from uaos.optimizers.base.outstanding import Outstanding

BOX = [(-5.0, 5.0)] * 3


def bowl(x):
    return float((x - 1) @ (x - 1))


def search(optimizer, workers, seed=0):
    """Evaluate with `workers` whose calls end in random order; return the largest number out."""
    rng, waiting, most = np.random.default_rng(seed), [], 0
    while not optimizer.done:
        waiting += list(optimizer.ask(workers - len(waiting)))
        most = max(most, len(waiting))
        x = waiting.pop(int(rng.integers(len(waiting))))
        optimizer.tell([bowl(x)], points=[x])
    return most


@pytest.mark.parametrize("method", ["portfolio", "CMA-ES", "mix", "BFGS", "L-SHADE", "JADE"])
def test_a_run_whose_values_come_in_any_order_finds_the_minimum(method):
    optimizer = uaos.configuration(method).build(BOX, seed=1, budget=1500)
    search(optimizer, workers=6)
    assert optimizer.evaluations == 1500
    assert optimizer.best_fitness < 0.05
    assert optimizer.best_fitness == bowl(optimizer.best_x)


@pytest.mark.parametrize("method", ["portfolio", "CMA-ES"])
def test_all_workers_are_busy(method):
    optimizer = uaos.configuration(method).build(BOX, seed=1, budget=400)
    assert search(optimizer, workers=16) == 16


def test_every_value_counts_at_once():
    optimizer = uaos.CMAES(BOX, seed=1, budget=100, target=-1.0)
    points = optimizer.ask(5)
    optimizer.tell([3.0], points=points[3:4])
    assert (optimizer.evaluations, optimizer.best_fitness) == (1, 3.0)
    optimizer.tell([-2.0, 5.0], points=points[:2])
    assert optimizer.done


def test_the_budget_includes_points_that_are_out():
    optimizer = uaos.configuration("portfolio").build(BOX, seed=1, budget=25)
    points = np.vstack([optimizer.ask(10) for _ in range(3)])
    while len(points) < 25:
        optimizer.tell([bowl(x) for x in points[:1]], points=points[:1])
        points = np.vstack([points[1:], optimizer.ask(30)])
        if optimizer.evaluations + len(points) == 25:
            break
    assert len(optimizer.ask(5)) == 0
    optimizer.tell([bowl(x) for x in points], points=points)
    assert optimizer.evaluations == 25


def test_a_generation_in_one_part_is_that_of_whole_batches():
    """Told in order and as large as a batch, points are learned from as by `ask` and `tell`."""
    one, other = (uaos.configuration("mix").build(BOX, seed=3, budget=600) for _ in range(2))
    while not one.done:
        one.tell([bowl(x) for x in one.ask()])
    out = Outstanding(other, workers=1)
    while not other.done:
        for number, x in out.ask(1):
            out.tell(number, bowl(x))
    assert other.best_x.tolist() == one.best_x.tolist()


def test_what_is_not_out_is_refused():
    optimizer = uaos.CMAES(BOX, seed=1)
    points = optimizer.ask(2)
    optimizer.tell([1.0], points=points[:1])
    for wrong in (points[:1], points + 1.0):
        with pytest.raises(InvalidFeedback, match="Nothing was changed"):
            optimizer.tell(np.ones(len(wrong)), points=wrong)
    with pytest.raises(InvalidFeedback, match="one for each"):
        optimizer.tell([1.0, 2.0], points=points[1:])
    assert optimizer.evaluations == 1


def test_failures_and_violations_are_told_with_their_points():
    optimizer = uaos.CMAES(BOX, seed=1, budget=200)
    while not optimizer.done:
        for x in optimizer.ask(4):
            value = np.nan if x[0] > 4 else bowl(x)
            optimizer.tell([value], [max(0.0, 2.0 - x[0])], points=[x])
    assert optimizer.best_violation == 0
    assert optimizer.best_x[0] >= 2.0


def handed_out(optimizer, workers):
    """Return what is handed out to workers, and a function that tells one value and asks again."""
    out = Outstanding(optimizer, workers)
    points = dict(out.ask(workers))

    def tell(number, value=None):
        x = points.pop(number)
        out.tell(number, bowl(x) if value is None else value)
        new = out.ask(workers - out.waiting)
        points.update(new)
        return [number for number, _ in new]

    return points, tell


@pytest.mark.parametrize("method", ["CMA-ES", "mix", "JADE", "STEP", "GP"])
def test_the_starting_point_is_proposed_once_if_workers_ask_one_by_one(method):
    optimizer = uaos.configuration(method).build(BOX, seed=1, budget=20, x0=[1.0, 2.0, 0.5])
    points = [x for _ in range(4) for x in optimizer.ask(1)]
    assert [np.array_equal(x, [1.0, 2.0, 0.5]) for x in points].count(True) == 1


def test_idle_workers_evaluate_the_gradient_in_advance():
    """The first gradient, eight points, is out with the starting point, the next with a trial."""
    bfgs = uaos.LocalSearch([(-5.0, 5.0)] * 4, seed=1)
    points, tell = handed_out(bfgs, workers=20)
    assert list(points) == list(range(9))
    assert [tell(number) for number in (0, 8, 1, 3, 2, 7, 4, 6)] == [[]] * 8
    assert tell(5) == [9, 10, 11, 12, 13]  # a trial, and the forward differences at it
    assert tell(12) == tell(11) == tell(9) == tell(10) == []
    assert bfgs.best_fitness == 0.0  # the trial is the minimum of a quadratic function
    assert (bfgs.evaluations, bfgs.points_out) == (13, 1)
    assert len(tell(13)) == 5


def test_a_trial_that_fails_wastes_only_what_was_out():
    """Points in advance that were not handed out are dropped; those of the next trial follow."""
    bfgs = uaos.LocalSearch([(-5.0, 5.0)] * 4, seed=1)
    points, tell = handed_out(bfgs, workers=4)
    assert [tell(number) for number in range(8)] == [[4], [5], [6], [7], [8], [], [], []]
    assert tell(8) == [9, 10, 11, 12]
    assert tell(9, value=1e6) == [13]
    np.testing.assert_allclose(points[13], np.full(4, 0.1))  # a tenth of the way to (1, 1, 1, 1)
    assert tell(10) == [14]
    np.testing.assert_allclose(points[14], points[13], atol=1e-6)  # of its gradient


@pytest.mark.parametrize("method", ["BFGS", "portfolio"])
@pytest.mark.parametrize("budget", [13, 30, 61])
def test_points_in_advance_count(method, budget):
    """The budget is exact, and no point is evaluated twice."""
    optimizer = uaos.configuration(method).build(BOX, seed=1, budget=budget)
    out, rng, waiting, seen = Outstanding(optimizer, 9), np.random.default_rng(2), [], []
    while not optimizer.done:
        waiting += out.ask(9 - len(waiting))
        assert optimizer.evaluations + len(waiting) <= budget
        number, x = waiting.pop(int(rng.integers(len(waiting))))
        seen.append(x.tobytes())
        out.tell(number, bowl(x) + np.sin(9 * x).sum())
    assert optimizer.evaluations == budget
    assert len(set(seen)) == budget


def test_the_only_run_of_a_local_search_ends():
    """Its last gradient may be known before it is asked for."""
    for seed in range(5):
        bfgs = uaos.LocalSearch(BOX, seed=seed, restarts=False)
        search(bfgs, workers=12, seed=seed)
        assert bfgs.best_fitness < 1e-12


def test_workers_are_kept_free_for_a_local_search_that_goes_on_well():
    """As many as it has variables, so that at most three of seven are left to CMA-ES."""
    portfolio = uaos.Portfolio([(-5.0, 5.0)] * 4, seed=1, budget=4000)
    local, cma = portfolio.optimizers[0], portfolio.optimizers[2]
    out, waiting, most = Outstanding(portfolio, 7), [], {False: 0, True: 0}
    for _ in range(60):
        waiting += out.ask(7 - len(waiting))
        assert local.steady or len(waiting) == 7
        most[local.steady] = max(most[local.steady], cma.points_out)
        number, x = waiting.pop(0)
        out.tell(number, bowl(x) + 0.01 * float(x @ x) ** 2)
    assert most[False] > 3
    assert 0 < most[True] <= 3


def test_many_workers_are_all_busy_beside_a_local_search():
    """With twice as many workers as variables or more, enough become free at any time."""
    portfolio = uaos.Portfolio([(-5.0, 5.0)] * 4, seed=1, budget=4000)
    out, waiting = Outstanding(portfolio, 8), []
    for _ in range(60):
        waiting += out.ask(8 - len(waiting))
        assert len(waiting) == 8
        number, x = waiting.pop(0)
        out.tell(number, bowl(x) + 0.01 * float(x @ x) ** 2)
    assert portfolio.optimizers[0].steady
