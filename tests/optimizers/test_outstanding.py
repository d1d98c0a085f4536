"""Points can be asked for while others are out, and their values told in any order."""

import numpy as np
import pytest

import uaos
from uaos.errors import InvalidFeedback
from uaos.optimizers.outstanding import Outstanding

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
