"""Sequential quadratic programming over real and integer coordinates."""

import math

import numpy as np
import pytest

import uaos
from uaos.optimizers.base.details import Details

VESSEL_BOUNDS = [(1, 99), (1, 99), (10, 200), (10, 200)]


def vessel(x):
    """Return the cost of a pressure vessel, whose minimum is 6059.714."""
    shell, head, r, length = x[0] / 16, x[1] / 16, x[2], x[3]
    return (
        0.6224 * shell * r * length
        + 1.7781 * head * r**2
        + shell**2 * (3.1661 * length + 19.84 * r)
    )


def vessel_margins(x):
    volume = math.pi * x[2] ** 2 * x[3] + 4 / 3 * math.pi * x[2] ** 3
    return [x[0] / 16 - 0.0193 * x[2], x[1] / 16 - 0.00954 * x[2], volume / 1e6 - 1.296]


VESSEL = {
    "bounds": VESSEL_BOUNDS,
    "constraints": {"type": "ineq", "fun": vessel_margins},
    "integrality": [1, 1, 0, 0],
}


@pytest.mark.parametrize("seed", range(3))
def test_a_pressure_vessel_takes_few_evaluations_with_the_default_method(seed):
    """The default starts with this search where there are constraints and integers."""
    result = uaos.minimize(vessel, **VESSEL, budget=300, seed=seed)
    assert result.maxcv == 0
    assert result.fun < 6091


def test_the_function_is_called_at_whole_integers_inside_the_box_only():
    """Neither differences nor steps of the model leave the points that exist."""
    points = []

    def recorded(x):
        points.append(x.copy())
        return vessel(x)

    uaos.minimize(recorded, **VESSEL, method="mixed-SQP", budget=400, seed=1)
    seen = np.array(points)
    low, high = np.transpose(VESSEL_BOUNDS)
    assert (seen[:, :2] == np.rint(seen[:, :2])).all()
    assert ((seen >= low) & (seen <= high)).all()


def test_integers_alone_are_searched_by_the_model():
    """Ten integers with four linear constraints: the relaxed optimum is 31.1."""
    rng = np.random.default_rng(1)
    demand, price = rng.integers(0, 6, (4, 10)), rng.uniform(1, 5, 10)
    least = demand.sum(axis=1) * rng.uniform(2, 5, 4)
    arguments = {
        "bounds": [(0, 20)] * 10,
        "integrality": [1] * 10,
        "constraints": {"type": "ineq", "fun": lambda x: demand @ x - least},
        "budget": 300,
    }
    found = uaos.minimize(lambda x: float(price @ x), **arguments, method="mixed-SQP", seed=1)
    other = uaos.minimize(lambda x: float(price @ x), **arguments, method="mix", seed=1)
    assert found.maxcv == 0
    assert found.fun < other.fun


def test_an_equality_between_integers_and_real_numbers_is_met():
    """x + y = 7.5 with an integer x: the nearest to (4.2, 4.2) are x = 4, y = 3.5."""
    line = {"type": "eq", "fun": lambda x: x[0] + x[1] - 7.5}
    result = uaos.minimize(
        lambda x: (x[0] - 4.2) ** 2 + (x[1] - 4.2) ** 2, [(-50, 50)] * 2,
        constraints=line, integrality=[1, 0], method="mixed-SQP", budget=200, seed=1,
    )  # fmt: skip
    assert result.x == pytest.approx([4, 3.5], abs=1e-5)


def test_points_where_the_function_fails_are_passed_over():
    """NaN to the right of 5, where the differences of an integer reach."""
    result = uaos.minimize(
        lambda x: (x[0] - 5) ** 2 + x[1] ** 2 if x[0] <= 5 else math.nan, [(-20, 20)] * 2,
        constraints={"type": "ineq", "fun": lambda x: x[1] - 1}, integrality=[1, 0],
        method="mixed-SQP", budget=200, seed=1,
    )  # fmt: skip
    assert result.x == pytest.approx([5, 1], abs=1e-6)


@pytest.mark.parametrize("batches", [3, 8, 15, 40])
def test_a_restored_run_goes_on_as_if_nothing_had_happened(batches):
    """In a search of the real numbers, between searches, and among neighbors."""

    def advanced(run, n):
        asked = []
        for _ in range(n):
            points = run.ask()
            asked.append(points)
            margins = -np.array([vessel_margins(x) for x in points])
            details = Details(margins, np.zeros((len(points), 0)))
            run.tell([vessel(x) for x in points], np.maximum(margins, 0).sum(axis=1), details)
        return np.concatenate(asked)

    first = uaos.MixedSQP(VESSEL_BOUNDS, integrality=VESSEL["integrality"], seed=1)
    advanced(first, batches)
    second = uaos.MixedSQP(VESSEL_BOUNDS, integrality=VESSEL["integrality"], seed=2)
    second.restore(first.state())
    assert np.array_equal(advanced(first, 20), advanced(second, 20))
