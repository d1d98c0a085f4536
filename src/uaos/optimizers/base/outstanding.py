"""Points that are out: ask for any number at any time, and tell their values in any order."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from uaos.arrays import FloatArray
from uaos.checks import feedback_numbers
from uaos.errors import InvalidFeedback
from uaos.optimizers.base.details import Details, stacked
from uaos.optimizers.base.feedback import Feedback, Replies

if TYPE_CHECKING:
    from uaos.optimizers.base.optimizer import Optimizer

# The number of latest points handed out in advance that are kept.
_MOST_EARLY = 1000


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
    replies: Replies
    details: list[Details | None]
    epsilon: float  # largest violation at which the optimizer needs values
    gradients: bool  # whether it can use gradients
    waiting: list[int]  # rows that have not been handed out, in order


@dataclass(frozen=True)
class _Reply:
    """What was told about a point."""

    value: float
    violation: float | None
    details: Details | None


@dataclass(eq=False)
class _Handed:
    """A point that was handed out: a row of a batch, or one in advance, without a batch so far."""

    point: FloatArray
    epsilon: float
    source: _OpenBatch | None = None
    row: int = 0
    reply: _Reply | None = None  # if it was told before its batch was proposed


class Outstanding:
    """Hands out the points of an optimizer one by one, and collects their values.

    An optimizer learns from a batch when all of its values are there, whatever the order in which
    they come. Meanwhile it proposes further batches, if it can, so that no worker has to wait for
    the slowest; a portfolio proposes batches of several members. Points that the optimizer foresees
    go first: they are handed out in advance, and are not evaluated again if it proposes them. Every
    value counts at once for the best point and the budget.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer. It is to be asked and told through this object only.
    workers : int
        How many points will be out at a time, so that batches can be large enough.
    gradients : bool
        Whether gradients will be told where the optimizer can use them. Then none is evaluated in
        advance by differences.

    Examples
    --------
    >>> import uaos
    >>> from uaos.optimizers.base.outstanding import Outstanding
    >>> cma = uaos.CMAES([(-5, 5)] * 2, seed=1, budget=200)
    >>> out = Outstanding(cma, workers=10)
    >>> first, second = out.ask(8), out.ask(2)  # while the first are being evaluated
    >>> for number, x in [*second, *first]:
    ...     out.tell(number, float(x @ x))
    >>> cma.evaluations
    10
    """

    def __init__(self, optimizer: "Optimizer", workers: int, gradients: bool = False) -> None:
        self.optimizer = optimizer
        optimizer.expect(workers)
        optimizer.told_gradients = gradients
        self._open: list[_OpenBatch] = []
        self._handed_out = 0
        self._out: dict[int, _Handed] = {}  # by number
        self._early: dict[bytes, _Handed] = {}  # handed out in advance and not asked for yet
        self._numbers: dict[bytes, list[int]] = defaultdict(list)  # of points of `ask_points`

    @property
    def waiting(self) -> int:
        """Number of points that are out."""
        return len(self._out)

    def ask(self, n: int, *, new: bool = True) -> list[tuple[int, FloatArray]]:
        """Return up to n points, each with its number.

        There are fewer if the budget is spent, or the optimizer must learn before it goes on.
        Without `new`, they are the rest of what it has proposed.
        """
        points: list[tuple[int, FloatArray]] = []
        while len(points) < n:
            source = next((o for o in self._open if o.waiting), None)
            if source is not None:
                row = source.waiting.pop(0)
                handed = _Handed(source.batch.points[row], source.epsilon, source, row)
                points.append((self._hand_out(handed), source.points[row]))
                continue
            remaining = self.optimizer.remaining
            spent = remaining is not None and remaining <= self.optimizer.points_out
            if spent or not new:
                break
            self.optimizer.wanted = n - len(points)
            foresees = bool(self._open) and not self.optimizer.told_gradients
            foreseen = self.optimizer.foresee() if foresees else None
            if foreseen is not None:
                number = self._hand_out_early(foreseen)
                points.append((number, self.optimizer.rounded(foreseen)))
            elif not self._open or self.optimizer.overlaps:
                self._propose()
                if not self._open and self.optimizer.done:  # all its values were known
                    break
            else:
                break
        return points

    def _hand_out(self, handed: _Handed) -> int:
        """Number a point that is handed out."""
        number = self._handed_out
        self._handed_out += 1
        self._out[number] = handed
        return number

    def _hand_out_early(self, point: FloatArray) -> int:
        """Number a point that the optimizer has not proposed yet, and keep it until it does."""
        while len(self._early) >= _MOST_EARLY:
            self._early.pop(next(iter(self._early)))
        handed = self._early[point.tobytes()] = _Handed(point, self.optimizer.epsilon)
        self.optimizer.points_out += 1
        return self._hand_out(handed)

    def epsilon(self, number: int) -> float:
        """Return the violation up to which the optimizer needs the value of a point that is out."""
        return self._handed(number).epsilon

    def wants_gradient(self, number: int) -> bool:
        """Return whether the optimizer can use the gradient at a point that is out."""
        source = self._handed(number).source
        return source is not None and source.gradients

    def _handed(self, number: int) -> _Handed:
        """Return a point that is out."""
        if number not in self._out:
            raise InvalidFeedback(
                f"point {number} is not being evaluated; expected a number that ask() gave"
            )
        return self._out[number]

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
        handed = self._handed(number)
        self.optimizer.count_one(handed.point, value, violation)
        del self._out[number]
        reply = _Reply(value, violation, details)
        if handed.source is None:
            handed.reply = reply
        else:
            self._add(handed.source, handed.row, reply)

    def _add(self, source: _OpenBatch, row: int, reply: _Reply) -> None:
        """Add what was told about a row of a batch; learn from the batch once it is complete."""
        replies = source.replies
        replies.add(row, reply.value, reply.violation)
        source.details[row] = reply.details
        if replies.complete:
            self._open.remove(source)
            violations = None if reply.violation is None else replies.violations
            feedback = Feedback.of(replies.values, violations)
            self.optimizer.learn_batch(source.batch, feedback, stacked(source.details))

    def ask_points(self, n: int) -> FloatArray:
        """Return up to n points, (n, D), to be told by :meth:`tell_points`."""
        asked = self.ask(n)
        for number, x in asked:
            self._numbers[x.tobytes()].append(number)
        return np.array([x for _, x in asked]).reshape(len(asked), self.optimizer.dimension)

    def tell_points(
        self, points: ArrayLike, values: ArrayLike, violations: ArrayLike | None
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
                    f"points[{row}] is not being evaluated: it was told already, or ask(n) did not "
                    "return it. Nothing was changed"
                )
        for k, key in enumerate(keys):
            violation = None if excess is None else float(excess[k])
            self.tell(self._numbers[key].pop(0), float(numbers[k]), violation)

    def _propose(self) -> None:
        """Open a batch, of at most `wanted` points if the optimizer can divide its batches.

        Points that were handed out in advance are not handed out again.
        """
        points = self.optimizer.ask()
        n, epsilon, gradients = len(points), self.optimizer.epsilon, self.optimizer.wants_gradients
        batch = self.optimizer.set_aside()
        opened = _OpenBatch(batch, points, Replies.to(n), [None] * n, epsilon, gradients, [])
        self._open.append(opened)
        told: list[tuple[int, _Reply]] = []
        for row, point in enumerate(batch.points):
            early = self._early.pop(point.tobytes(), None)
            if early is None:
                opened.waiting.append(row)
                continue
            self.optimizer.points_out -= 1  # it was counted when it was handed out
            early.source, early.row = opened, row
            if early.reply is not None:
                told.append((row, early.reply))
        for row, reply in told:
            self._add(opened, row, reply)
