"""Evidence about optima: how often runs ended at them, and whether functions are convex."""

import numpy as np
import pytest

from uaos.optimizers.optima import Optima, Tangents


def optima(values):
    evidence = Optima(1)
    for value in values:
        evidence.add(value, np.array([value]))
    return evidence


@pytest.mark.parametrize(
    ("values", "repeated", "known"),
    [
        ([], False, False),
        ([1.0], False, False),
        ([1.0, 1.0], True, False),
        ([1.0, 1.0, 2.0], False, False),
        ([1.0, 1.0 + 1e-9, 2.0, 1.0], True, False),
        ([1.0] * 6, True, True),
        ([2.0, 2.0, 2.0, 2.0, 2.0, 1.0], False, False),  # the best was met once
        ([2.0, 2.0, 2.0, 2.0, 1.0, 1.0], False, True),
        ([1.0, 1.0, 2.0, 3.0, 4.0, 5.0], False, False),  # there may be many more
    ],
)
def test_agreeing_runs_are_evidence(values, repeated, known):
    evidence = optima(values)
    assert (evidence.repeated, evidence.known) == (repeated, known)


def test_the_best_optima_are_kept():
    evidence = optima(np.arange(100.0)[::-1])
    assert (evidence.number, evidence.runs, len(evidence.values)) == (100, 100, 50)
    assert evidence.values.min() == 0


def convex(fun, slope, points, linear=False):
    tangents = Tangents(1)
    for x in points:
        tangents.add(
            np.array([x]), np.array([fun(x)]), np.array([[slope(x)]]), 1e-4, np.array([linear])
        )
    return tangents.convex


def test_tangents_show_what_is_not_convex():
    assert convex(lambda x: x**2, lambda x: 2 * x + 1e-4, [-2.0, 0.5, 1.0, 0.99])
    assert not convex(lambda x: x**2, lambda x: 2 * x, [-2.0, 1.0], linear=True)
    assert convex(lambda x: 3 * x, lambda x: 3.0, [-2.0, 1.0, 4.0], linear=True)
    assert not convex(np.sin, np.cos, [0.0, 1.0])
