"""Quadratic programs, against solutions by hand and the conditions of optimality."""

import numpy as np
import pytest

from uaos.optimizers.quadratic import PenaltyProgram

WIDE = np.full(2, np.inf)


def solve(g, A, c, equal, low=-WIDE, high=WIDE, B=None, weight=1e3):
    B = np.eye(len(g)) if B is None else B
    arrays = (np.asarray(v, float) for v in (g, A, c))
    return PenaltyProgram(B, *arrays, np.asarray(equal, bool), weight, low, high).solve()


def test_an_inequality_is_met_with_its_multiplier():
    """Of |d|²/2 + d0 + d1 under d0 + d1 >= 2: d = (1, 1), and d + g = (2, 2) = m √½ (1, 1)."""
    d, multipliers = solve([1, 1], [[-np.sqrt(0.5)] * 2], [np.sqrt(2)], [False])
    assert d == pytest.approx([1, 1], abs=1e-8)
    assert multipliers == pytest.approx([2 * np.sqrt(2)], abs=1e-6)


def test_bounds_and_equalities_hold():
    """d0 = 2 - d1 with d1 <= 0.5: d = (1.5, 0.5)."""
    d, _ = solve([1, 1], [[np.sqrt(0.5)] * 2], [-np.sqrt(2)], [True], high=np.array([np.inf, 0.5]))
    assert d == pytest.approx([1.5, 0.5], abs=1e-8)
    assert d[1] <= 0.5


def test_contradicting_constraints_have_a_compromise():
    """d0 >= 2 and d0 <= -1 cannot both hold; every d0 between violates them by 3 in all."""
    d, _ = solve([0.1, 1], [[-1, 0], [1, 0]], [2, 1], [False, False])
    assert -1.001 <= d[0] <= 2.001
    assert d[1] == pytest.approx(-1, abs=1e-6)


def test_random_programs_satisfy_the_conditions_of_optimality():
    rng = np.random.default_rng(1)
    for _ in range(30):
        D, M = int(rng.integers(1, 8)), int(rng.integers(1, 10))
        half = rng.normal(size=(D, D))
        B, g = half @ half.T + 0.01 * np.eye(D), rng.normal(size=D)
        A = rng.normal(size=(M, D))
        A /= np.linalg.norm(A, axis=1)[:, None]
        c = A @ rng.uniform(-0.4, 0.4, D) - rng.uniform(0, 0.5, M)  # feasible somewhere
        low, high = -rng.uniform(0.5, 1, D), rng.uniform(0.5, 1, D)
        d, multipliers = solve(g, A, c, np.zeros(M), low, high, B)
        slope = B @ d + g + A.T @ multipliers
        free = (d > low + 1e-7) & (d < high - 1e-7)
        assert np.abs(slope[free]).max(initial=0) < 1e-5
        assert (A @ d + c).max() < 1e-7
        assert multipliers.min() > -1e-5
        assert np.abs(multipliers * (A @ d + c)).max() < 1e-5


def test_equalities_with_large_multipliers_are_met():
    """Of |d|²/2 under d0 = 1 and d0 + d1/10⁴ = 1 + 1/10⁴: d = (1, 1), with multipliers of 10⁴."""
    rows = np.array([[1.0, 0.0], [1.0, 1e-4]])
    d, multipliers = solve([0, 1], rows, [-1, -1 - 1e-4], [True, True])
    assert d == pytest.approx([1, 1], abs=1e-6)
    assert np.abs(multipliers).max() > 1e4


@pytest.mark.parametrize("slope", [1e-5, 1e-12, 0.0])
@pytest.mark.parametrize("equal", [True, False])
def test_constraints_are_met_where_the_gradient_vanishes(slope, equal):
    """Of |d|²/2 under d0 + d1 >= 2, or = 2, the minimum is at (1, 1) but for the slope."""
    row = [[-np.sqrt(0.5)] * 2]
    d, multipliers = solve([slope, slope], row, [np.sqrt(2)], [equal], weight=1e6)
    assert d == pytest.approx([1, 1], abs=1e-7)
    assert multipliers == pytest.approx([np.sqrt(2) * (1 + slope)], abs=1e-6)


def test_a_constraint_that_is_just_met_does_not_shorten_a_tiny_step():
    """The minimum without constraints, (-1e-6, -2e-6), meets d0 <= 0."""
    d, _ = solve([1, 2], [[1.0, 0.0]], [0.0], [False], B=1e6 * np.eye(2))
    assert d == pytest.approx([-1e-6, -2e-6], rel=1e-6)
