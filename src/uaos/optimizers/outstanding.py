"""Points that are out: ask for any number at any time, and tell their values in any order."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from uaos.arrays import FloatArray
from uaos.checks import feedback_numbers
from uaos.errors import InvalidFeedback
from uaos.optimizers.details import Details, stacked
from uaos.optimizers.feedback import Feedback, Replies

if TYPE_CHECKING:
    from uaos.optimizers.base import Optimizer


@dataclass
class Batch:
    """Points that an optimizer proposed together, and what it will need to learn from them.

    Parameters
    ----------
    points : ndarray, shape (n, D)
        The points.
    restarts : int
        The restarts of the optimizer before it proposed them.
    notes : mapping
        Its attributes that belong to the batch.
    """

    points: FloatArray
    restarts: int
    notes: dict[str, Any]


@dataclass(eq=False)
class _OpenBatch:
    """A batch some of whose points have been handed out, and some of whose values are known."""

    batch: Batch
    points: FloatArray  # with integers rounded
    first: int  # number of its first point
    replies: Replies
    details: list[Details | None]
    epsilon: float  # largest violation at which the optimizer needs values
    handed_out: int = 0


class Outstanding:
    """Hands out the points of an optimizer one by one, and collects their values.

    An optimizer learns from a batch when all of its values are there, whatever the order in which
    they come. Meanwhile it proposes further batches, if it can, so that no worker has to wait for
    the slowest; a portfolio proposes batches of several members. Every value counts at once for
    the best point and the budget.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer. It is to be asked and told through this object only.
    workers : int
        How many points will be out at a time, so that batches can be large enough.

    Examples
    --------
    >>> import uaos
    >>> from uaos.optimizers.outstanding import Outstanding
    >>> cma = uaos.CMAES([(-5, 5)] * 2, seed=1, budget=200)
    >>> out = Outstanding(cma, workers=10)
    >>> first, second = out.ask(8), out.ask(2)  # while the first are being evaluated
    >>> for number, x in [*second, *first]:
    ...     out.tell(number, float(x @ x))
    >>> cma.evaluations
    10
    """

    def __init__(self, optimizer: "Optimizer", workers: int) -> None:
        self.optimizer = optimizer
        optimizer.expect(workers)
        self._open: list[_OpenBatch] = []
        self._proposed = 0
        self._numbers: dict[bytes, list[int]] = defaultdict(list)  # of points of `ask_points`

    @property
    def waiting(self) -> int:
        """Number of points that are out."""
        return sum(o.handed_out - int(o.replies.told.sum()) for o in self._open)

    def ask(self, n: int, *, new: bool = True) -> list[tuple[int, FloatArray]]:
        """Return up to n points, each with its number.

        There are fewer if the budget is spent, or the optimizer must learn before it goes on.
        Without `new`, they are the rest of what it has proposed.
        """
        points: list[tuple[int, FloatArray]] = []
        while len(points) < n:
            source = next((o for o in self._open if o.handed_out < len(o.points)), None)
            if source is None:
                if not (new and self._can_propose()):
                    break
                source = self._propose(n - len(points))
            points.append((source.first + source.handed_out, source.points[source.handed_out]))
            source.handed_out += 1
        return points

    def epsilon(self, number: int) -> float:
        """Return the violation up to which the optimizer needs the value of a point that is out."""
        return self._source(number).epsilon

    def _source(self, number: int) -> _OpenBatch:
        """Return the batch of a point that is out."""
        source = next((o for o in self._open if o.first <= number < o.first + o.handed_out), None)
        if source is None or source.replies.told[number - source.first]:
            raise InvalidFeedback(f"point {number} is not out; expected a number that ask() gave")
        return source

    def tell(
        self,
        number: int,
        value: float,
        violation: float | None = None,
        details: Details | None = None,
    ) -> None:
        """Take in the value of a point; NaN if the evaluation failed.

        Parameters
        ----------
        number : int
            The number that :meth:`ask` returned with the point.
        value : float
            Its value.
        violation : float, optional
            Under constraints, by how much it violates them.
        details : Details, optional
            The values of the constraints, in arrays of one row.

        Raises
        ------
        InvalidFeedback
            If no such point is out.
        """
        source = self._source(number)
        row = number - source.first
        self.optimizer.count_one(source.batch.points[row], value, violation)
        replies = source.replies
        replies.add(row, value, violation)
        source.details[row] = details
        if replies.complete:
            self._open.remove(source)
            violations = None if violation is None else replies.violations
            feedback = Feedback.of(replies.values, violations)
            self.optimizer.learn_batch(source.batch, feedback, stacked(source.details))

    def ask_points(self, n: int) -> FloatArray:
        """Return up to n points, (n, D), to be told by :meth:`tell_points`."""
        asked = self.ask(n)
        for number, x in asked:
            self._numbers[x.tobytes()].append(number)
        return np.array([x for _, x in asked]).reshape(len(asked), self.optimizer.dimension)

    def tell_points(
        self, points: ArrayLike, values: ArrayLike, violations: ArrayLike | None = None
    ) -> None:
        """Take in the values of points that :meth:`ask_points` returned."""
        rows = np.atleast_2d(feedback_numbers(points, "points is"))
        numbers = np.atleast_1d(feedback_numbers(values, "values is"))
        excess = None
        if violations is not None:
            excess = np.atleast_1d(feedback_numbers(violations, "violations is"))
        for column in (numbers, *([] if excess is None else [excess])):
            if column.shape != (len(rows),):
                raise InvalidFeedback(
                    f"there are values of shape {column.shape} for {len(rows)} points; expected "
                    "one for each. Nothing was changed"
                )
        keys = [x.tobytes() for x in rows]
        counts: Counter[bytes] = Counter()
        for row, key in enumerate(keys):
            counts[key] += 1
            if counts[key] > len(self._numbers.get(key, ())):
                raise InvalidFeedback(
                    f"points[{row}] is not out: it was told already, or ask(n) did not return it. "
                    "Nothing was changed"
                )
        for k, key in enumerate(keys):
            violation = None if excess is None else float(excess[k])
            self.tell(self._numbers[key].pop(0), float(numbers[k]), violation)

    def _can_propose(self) -> bool:
        """Return whether the optimizer can propose another batch within its budget."""
        remaining = self.optimizer.remaining
        if remaining is not None and remaining <= self.optimizer.points_out:
            return False
        return not self._open or self.optimizer.overlaps

    def _propose(self, wanted: int) -> _OpenBatch:
        """Open a batch, of as many points as are wanted if the optimizer can divide its batches."""
        self.optimizer.wanted = wanted
        points = self.optimizer.ask()
        n, epsilon = len(points), self.optimizer.epsilon
        opened = _OpenBatch(
            self.optimizer.set_aside(), points, self._proposed, Replies.to(n), [None] * n, epsilon
        )
        self._proposed += n
        self._open.append(opened)
        return opened
