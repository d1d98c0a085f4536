"""Moves in a mixed space: each makes points inside it from the best so far."""

import numpy as np
import pytest

from uaos import Categorical, Integer, Real
from uaos.optimizers.mixed import Coordinates
from uaos.optimizers.moves import MOVES
from uaos.problems.variables import Space

SPACE = Space({
    "x": Real(-1, 1), "n": Integer(0, 9), "k": Categorical(list("abcd")),
    "m": Integer(0, 9, when={"k": "a"}),
})  # fmt: skip
COORDINATES = Coordinates.of(SPACE)
BEST = np.array([[0.5, 3.0, 0.0, 7.0], [-0.5, 5.0, 1.0, 4.0], [0.25, 3.0, 2.0, 4.0]])


def made_by(name: str, best: np.ndarray = BEST) -> np.ndarray:
    """Return 300 points of a move."""
    rng = np.random.default_rng(1)
    return np.array([MOVES[name](COORDINATES, best, rng) for _ in range(300)])


@pytest.mark.parametrize("name", MOVES)
def test_points_are_inside_and_rounded(name: str) -> None:
    """Integers are integers, and a coordinate that does not count is in the middle."""
    points = made_by(name)
    assert ((points >= [-1, 0, 0, 0]) & (points <= [1, 9, 3, 9])).all()
    assert (points[:, 1:] == np.rint(points[:, 1:])).all()
    assert (points[points[:, 2] != 0, 3] == 4.0).all()
    assert len(np.unique(points, axis=0)) > 5


def test_a_step_changes_one_coordinate_an_integer_by_1() -> None:
    """The better a point, the more often it is moved."""
    points = made_by("step", np.array([[0.5, 3.0, 0.0, 7.0]]))
    changed = (points != [0.5, 3.0, 0.0, 7.0])[:, :3].sum(axis=1)
    assert changed.max() == 1
    assert set(points[:, 1]) == {2.0, 3.0, 4.0}
    assert set(points[:, 2]) == {0.0, 1.0, 2.0, 3.0}
    first, second, third = ((made_by("step")[:, 0] == x).sum() for x in BEST[:, 0])
    assert first > 1.5 * second > 1.5 * third


def test_a_crossover_has_the_values_of_two_points() -> None:
    """Nothing is new, and three points are never mixed."""
    points = made_by("crossover")
    for j in range(3):
        assert set(points[:, j]) == set(BEST[:, j])
    from_points = [
        [(np.isin(point[:3], BEST[[a, b], :3])).all() for a, b in ((0, 1), (0, 2), (1, 2))]
        for point in points
    ]
    assert np.any(from_points, axis=1).all()


def test_marginals_are_mostly_those_of_the_best() -> None:
    """Each coordinate has a new value in one of eight points, that of others in the rest."""
    new = ~np.isin(made_by("marginals")[:, 0], BEST[:, 0])
    assert 0.05 < new.mean() < 0.2


def test_a_difference_keeps_what_its_points_share() -> None:
    """All three points have the same category, and two have the same integer."""
    best = BEST.copy()
    best[:, 2] = 1.0
    assert set(made_by("difference", best)[:, 2]) == {1.0}
    assert set(made_by("difference", best)[:, 1]) >= {3.0, 5.0}
