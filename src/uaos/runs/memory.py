"""Memory of a run: values that are known, so that none is evaluated twice, and a record."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import numpy as np

from uaos.arrays import FloatArray
from uaos.statefile import SavedState, State

#: A value is recalled at most this many times, once for each member of a portfolio. Recalls do not
#: count against the budget: without a limit, a search that keeps asking for one point never ends.
MOST_RECALLS = 5


class PointMemory:
    """Values of points that are known, and of points that a run has evaluated.

    Parameters
    ----------
    record : bool
        Whether to keep all points that are evaluated.
    remember : bool
        Whether to recall the values of points that are evaluated, too, until a point has two
        different values.

    Attributes
    ----------
    recalled : int
        Evaluations saved because the value was known.
    confirmed : bool
        Whether a point that is remembered had the same value when it was evaluated again.

    Examples
    --------
    >>> import numpy as np
    >>> from uaos.runs.memory import PointMemory
    >>> memory = PointMemory()
    >>> memory.learn(np.array([[1.0, 2.0]]), np.array([5.0]))
    >>> memory.recall(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [5.0, nan]
    """

    def __init__(self, *, record: bool = False, remember: bool = False) -> None:
        self.recalled, self.confirmed = 0, False
        self._record, self._remember = record, remember
        self._evaluated: dict[bytes, float] = {}  # remembered points, known ones too
        self._known: dict[bytes, tuple[float, int]] = {}  # values, and how often to recall them
        self._latest: set[bytes] = set()  # points of the present batch that were recalled
        # How often values had been recalled before it, and what was known of these points.
        self._before: tuple[int, dict[bytes, tuple[float, int]]] = (0, {})
        self._used = True  # whether known values are returned
        self._points: list[FloatArray] = []
        self._values: list[FloatArray] = []
        self._violations: list[FloatArray] = []
        # The same of a batch that was interrupted: not saved, as it will be evaluated again.
        self._unfinished: list[tuple[FloatArray, FloatArray]] = []

    def learn(self, points: FloatArray, values: Iterable[float]) -> None:
        """Remember the finite values of points with all coordinates."""
        for x, value in zip(points, values, strict=True):
            if np.isfinite(value):
                self._known[_key(x)] = float(value), MOST_RECALLS
            if self._remember:
                self._evaluated[_key(x)] = float(value)

    def recall(self, points: FloatArray) -> FloatArray | None:
        """Return the known values of points, NaN where there is none; None if none is known."""
        if not (self._known and self._used):
            return None
        keys = [_key(x) for x in points]
        rows = [row for row, key in enumerate(keys) if key in self._known]
        if not rows:
            return None
        values = np.full(len(points), np.nan)
        values[rows] = [self._known[keys[row]][0] for row in rows]
        self._latest = {keys[row] for row in rows}
        self._before = self.recalled, {key: self._known[key] for key in self._latest}
        self.recalled += len(rows)
        for key in self._latest:
            value, left = self._known.pop(key)
            if left > 1:
                self._known[key] = value, left - 1
        return values

    @contextmanager
    def unused(self) -> Iterator[None]:
        """Evaluate known points, too, inside the context: under noise their values differ."""
        self._used = False
        try:
            yield
        finally:
            self._used = True

    @property
    def evaluated(self) -> int:
        """Number of different points that are remembered."""
        return len(self._evaluated)

    def record(
        self, points: FloatArray, values: FloatArray, violations: FloatArray | None = None
    ) -> None:
        """Keep points that have been evaluated, if the run has a record or remembers them."""
        latest, self._latest = self._latest, set()
        if self._remember:
            pairs = zip(points, values, strict=True)
            self._learn_evaluated((x, value) for x, value in pairs if _key(x) not in latest)
        if not self._record:
            return
        new = np.array([not latest or _key(x) not in latest for x in points], bool)
        excess = np.zeros(len(points)) if violations is None else violations
        self._points.append(points[new])
        self._values.append(values[new])
        self._violations.append(excess[new])

    def interrupt(self, points: FloatArray, values: FloatArray) -> None:
        """Give back what an interrupted batch recalled; keep the points that were ready.

        A saved run evaluates the batch again.
        """
        if self._latest:
            self.recalled, known = self._before
            self._known |= known
            self._latest = set()
        if self._record and len(points):
            self._unfinished.append((points, values))

    def _learn_evaluated(self, evaluations: Iterable[tuple[FloatArray, float]]) -> None:
        """Remember the values of points; forget all, for good, if one of them has changed."""
        for x, value in evaluations:
            before = self._evaluated.get(_key(x), np.nan)
            if abs(before - value) > 0:  # not if one of them is NaN
                self._remember = False
                self._known.clear()
                self._evaluated.clear()
                return
            self.confirmed = self.confirmed or before == value
            self.learn(x[None], [value])

    def recorded(self) -> tuple[FloatArray, FloatArray, FloatArray] | None:
        """Return points, values and violations in the order of evaluation; None without a record.

        Before the first evaluation the points have no coordinates.
        """
        if not self._record:
            return None
        points, values, violations = self._finished()
        for late_points, late_values in self._unfinished:
            points = np.vstack([points, late_points]) if len(points) else late_points
            values = np.concatenate([values, late_values])
            violations = np.concatenate([violations, np.zeros(len(late_values))])
        return points, values, violations

    def _finished(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the record without an interrupted batch."""
        points = np.concatenate(self._points) if self._points else np.zeros((0, 0))
        empty = np.zeros(0)
        return (
            points,
            np.concatenate([empty, *self._values]),
            np.concatenate([empty, *self._violations]),
        )

    # Exact resume

    def state(self) -> State:
        """Return everything that changes during the run."""
        return {
            "recalled": self.recalled,
            "points": np.array([np.frombuffer(key) for key in self._known]),
            "values": np.array([value for value, _ in self._known.values()]),
            "recalls": np.array([left for _, left in self._known.values()]),
            "record": list(self._finished()) if self._record else None,
            "remember": self._remember,
            "confirmed": self.confirmed,
            "evaluated": np.array([np.frombuffer(key) for key in self._evaluated]),
            "evaluations": np.array(list(self._evaluated.values())),
        }

    def restore(self, state: SavedState) -> None:
        """Continue from what :meth:`state` returned."""
        self.recalled = state["recalled"]
        self._known = {
            _key(np.array(x, float)): (float(value), int(left))
            for x, value, left in zip(
                state["points"], state["values"], state["recalls"], strict=True
            )
        }
        self._remember, self.confirmed = state["remember"], state["confirmed"]
        self._evaluated = {
            _key(np.array(x, float)): float(value)
            for x, value in zip(state["evaluated"], state["evaluations"], strict=True)
        }
        if state["record"] is not None and self._record and len(state["record"][1]):
            points, values, violations = (np.array(part, float) for part in state["record"])
            self._points, self._values, self._violations = [points], [values], [violations]


def _key(x: FloatArray) -> bytes:
    """Return a point as bytes, the same for 0.0 and -0.0."""
    return (x + 0.0).tobytes()
