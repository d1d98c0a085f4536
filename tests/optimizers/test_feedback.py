"""What an optimizer is told: failures are marked, single values collected."""

import numpy as np
import pytest

from uaos.errors import InvalidFeedback
from uaos.optimizers.base.feedback import Feedback, Replies
from uaos.optimizers.base.incumbent import Incumbent
from uaos.optimizers.base.search_box import SearchBox

NAN, INF = np.nan, np.inf


def test_values_that_are_not_finite_are_failures():
    """Infinities become NaN; the lowest of the others is known."""
    feedback = Feedback.checked([3.0, -INF, NAN, 2.0], None, 4)
    assert np.isnan(feedback.values).tolist() == [False, True, True, False]
    assert (feedback.lowest, feedback.violations) == (3, None)


def test_a_feasible_point_without_a_value_has_failed():
    """Its violation is infinite, as is one that is unknown; infeasible points need no value."""
    feedback = Feedback.checked([NAN, NAN, 1.0, 1.0], [0.0, 2.0, 0.0, NAN], 4)
    assert feedback.violations.tolist() == [INF, 2.0, 0.0, INF]


@pytest.mark.parametrize(
    ("values", "violations"), [([1.0], None), ([1.0, 2.0], [0.0]), ([1.0, 2.0], [0.0, -1.0])]
)
def test_feedback_that_does_not_fit_is_refused(values, violations):
    """There is one value for each of two points, and no violation is negative."""
    with pytest.raises(InvalidFeedback):
        Feedback.checked(values, violations, 2)


def test_replies_are_complete_once_every_point_is_told():
    """The order does not matter, and no point is told twice."""
    replies = Replies.to(2)
    replies.add(1, 5.0)
    assert not replies.complete
    with pytest.raises(InvalidFeedback):
        replies.add(1, 5.0)
    replies.add(0, NAN, 0.5)
    assert replies.complete
    assert replies.violations[0] == 0.5


def best(*batches):
    """Return the incumbent after batches of values, with violations or without."""
    incumbent, box = Incumbent(), SearchBox.of([(0, 9)], integrality=True)
    for first, (values, violations) in enumerate(batches):
        points = 0.2 + first + 0.0 * np.array(values)[:, None]
        incumbent.update(points, Feedback.checked(values, violations, len(values)), box)
    return None if incumbent.x is None else incumbent.x[0], incumbent.value, incumbent.violation


def test_the_incumbent_is_the_lowest_value_as_it_was_evaluated():
    """Points are rounded: 1.2 was evaluated as 1. Failures and equal values change nothing."""
    assert best(([NAN], None)) == (None, INF, 0.0)
    assert best(([3.0], None), ([2.0, 4.0], None), ([2.0], None)) == (1.0, 2.0, 0.0)


def test_under_constraints_the_least_violation_comes_first():
    """A feasible point beats a lower value elsewhere; among infeasible ones values do not count."""
    assert best(([1.0], [3.0]), ([9.0], [2.0])) == (1.0, INF, 2.0)
    assert best(([1.0], [3.0]), ([9.0], [0.0]), ([5.0], [0.0])) == (2.0, 5.0, 0.0)
    assert best(([NAN], [NAN])) == (None, INF, INF)
