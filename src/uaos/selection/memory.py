"""Memories: what a method remembers of past generations, in arrays of fixed size.

A selector calls `record` once per generation; a numba kernel passes over the offspring once. A
reward is computed from the arrays, which components must not change. Entries that are not filled
are 0 unless stated otherwise. K operators are numbered 0..K-1. The reward of a method decides which
memory it has.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from uaos.arrays import BoolArray, FloatArray, IntArray
from uaos.errors import InvalidFile
from uaos.jit import njit
from uaos.selection.components.rewards import Reward, column_sums

Numbers = FloatArray | IntArray


class Memory(ABC):
    """Base class of the memories."""

    #: Whether the last generation may have changed what the reward reads.
    changed: bool = True

    @abstractmethod
    def record(
        self, operators: IntArray, metrics: FloatArray, successes: BoolArray, offspring: FloatArray
    ) -> None:
        """Record one generation."""

    @abstractmethod
    def observations(self) -> Numbers:
        """Return the number of successes (or applications) that the reward uses, per operator."""

    @abstractmethod
    def arrays(self) -> dict[str, Numbers]:
        """Return everything the memory holds, for saving."""

    def restore(self, saved: Mapping[str, Numbers]) -> None:
        """Copy the saved :meth:`arrays` of a memory of the same size."""
        arrays = self.arrays()
        layout = {name: (array.shape, array.dtype) for name, array in arrays.items()}
        saved_layout = {name: (np.shape(a), np.asarray(a).dtype) for name, a in saved.items()}
        if layout != saved_layout or not self._is_consistent(saved):
            raise InvalidFile("the state belongs to a selector with another memory")
        for name, array in arrays.items():
            array[...] = saved[name]

    def _is_consistent(self, saved: Mapping[str, Numbers]) -> bool:
        """Return whether all indices and counts lie inside the arrays; kernels do not check."""
        return True


def memory_for(reward: Reward, n_operators: int) -> Memory:
    """Return the memory that a reward reads, empty."""
    return _BUILDERS[reward.memory](reward, n_operators)


class GenerationMemory(Memory):
    """The last generations, newest first. Passed to :meth:`uaos.GenerationReward.compute`.

    Row t is the t-th last generation, row 0 the one just evaluated.

    Parameters
    ----------
    n_operators, max_gen
        Size of the table.
    counts_failures
        Whether observations are all applications, not only successes.

    Attributes
    ----------
    successes, applications : ndarray, shape (max_gen, K)
        `s[t, op]` and `n[t, op]`: the numbers of successes and of offspring of op.
    sums, bests : ndarray, shape (max_gen, K)
        `S[t, op]` and `B[t, op]`: sum and maximum of the metric over the successes.
    count : ndarray of shape ()
        `T`: the number of filled rows.
    """

    def __init__(self, n_operators: int, max_gen: int, counts_failures: bool = False) -> None:
        self._counts_failures = counts_failures
        # One block for the kernels.
        self.table = np.zeros((4, max_gen, n_operators))
        self.successes, self.applications, self.sums, self.bests = self.table
        self.count = np.zeros(())

    def record(
        self, operators: IntArray, metrics: FloatArray, successes: BoolArray, offspring: FloatArray
    ) -> None:
        """Move every generation one row down and fill row 0."""
        record_generation(self.table, self.count, operators, metrics, successes, offspring)

    def observations(self) -> Numbers:  # noqa: D102 (see Memory)
        return column_sums(self.table[1 if self._counts_failures else 0])

    def arrays(self) -> dict[str, Numbers]:  # noqa: D102
        return {"table": self.table, "count": self.count}


class ElitistMemory(GenerationMemory):
    """Generations whose bests are those since the selector was built: B[t, op] never falls.

    Before the first success of an operator its best is -inf.
    """

    def __init__(self, n_operators: int, max_gen: int, counts_failures: bool = False) -> None:
        super().__init__(n_operators, max_gen, counts_failures)
        self.bests[:] = -np.inf

    def record(  # noqa: D102
        self, operators: IntArray, metrics: FloatArray, successes: BoolArray, offspring: FloatArray
    ) -> None:
        super().record(operators, metrics, successes, offspring)
        own = np.where(self.successes[0] > 0, self.bests[0], -np.inf)
        self.bests[0] = np.maximum(own, self.bests[1])


class SuccessMemory(Memory):
    """Each operator's last successes. Passed to :meth:`uaos.SuccessReward.compute`.

    Parameters
    ----------
    n_operators, fix_appl
        Size of the table.

    Attributes
    ----------
    metrics : ndarray, shape (K, fix_appl)
        The first ``counts[op]`` entries of a row are filled, in no particular order.
    counts : ndarray, shape (K,)
        The number of remembered successes of each operator.
    """

    def __init__(self, n_operators: int, fix_appl: int) -> None:
        self.metrics = np.zeros((n_operators, fix_appl))
        self.counts = np.zeros(n_operators)
        self._next = np.zeros(n_operators, dtype=np.int64)

    def points(self) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Return standard deviation and mean of each operator's metrics, and whether it has any.

        Both are taken relative to the smallest metric, so that equal metrics give a deviation of
        exactly 0 and a mean of exactly that metric, whatever their number; and in order, so that
        operators with the same metrics have the same point to the last bit.
        """
        n = np.maximum(self.counts, 1.0)
        relative, smallest = _above_smallest(self.metrics, self.counts)
        shift = relative.sum(axis=1) / n
        squares = _squared_deviations(relative, shift, self.counts)
        return np.sqrt(squares.sum(axis=1) / n), smallest + shift, self.counts > 0

    def record(
        self, operators: IntArray, metrics: FloatArray, successes: BoolArray, offspring: FloatArray
    ) -> None:
        """Write each success over its operator's oldest."""
        self.changed = bool(successes.any())
        if self.changed:
            _record_successes(self.metrics, self.counts, self._next, operators, metrics, successes)

    def observations(self) -> Numbers:  # noqa: D102
        return self.counts

    def arrays(self) -> dict[str, Numbers]:  # noqa: D102
        return {"metrics": self.metrics, "counts": self.counts, "next": self._next}

    def _is_consistent(self, saved: Mapping[str, Numbers]) -> bool:
        size = self.metrics.shape[1]
        counts, following = saved["counts"], saved["next"]
        inside = (counts >= 0) & (counts <= size) & (following >= 0) & (following < size)
        return bool(inside.all())


class WindowMemory(Memory):
    """The last successes of all operators. Passed to :meth:`uaos.WindowReward.compute`.

    Successes enter in the order of the population. Once the window is full, a new entry replaces
    the oldest of the same operator. If that operator has none, it replaces the entry with the
    smallest metric (the oldest of equals), unless its own metric is no larger; then it is not
    stored (⚑ the paper always evicts the worst).

    Parameters
    ----------
    n_operators, W
        Number of operators, and size of the window.

    Attributes
    ----------
    operators, metrics : ndarray, shape (W,)
        The entries, oldest first; -1 and -inf where the window is not filled.
    size : ndarray of shape ()
        `m`: the number of filled entries.
    labels : ndarray, shape (K,)
        0..K-1.
    """

    def __init__(self, n_operators: int, W: int) -> None:
        self.operators = np.full(W, -1, dtype=np.int64)
        self.metrics = np.full(W, -np.inf)
        self.size = np.zeros((), dtype=np.int64)
        self.labels = np.arange(n_operators)

    def membership(self) -> BoolArray:
        """Return K rows of W flags: whether the entry belongs to the operator."""
        return np.asarray(self.labels[:, None] == self.operators)

    def record(
        self, operators: IntArray, metrics: FloatArray, successes: BoolArray, offspring: FloatArray
    ) -> None:
        """Insert the successes one by one."""
        self.changed = bool(successes.any())
        if self.changed:
            _record_window(self.operators, self.metrics, self.size, operators, metrics, successes)

    def observations(self) -> Numbers:  # noqa: D102
        return _tally(self.operators, len(self.labels))

    def arrays(self) -> dict[str, Numbers]:  # noqa: D102
        return {"operators": self.operators, "metrics": self.metrics, "size": self.size}

    def _is_consistent(self, saved: Mapping[str, Numbers]) -> bool:
        operators, size = saved["operators"], int(saved["size"])
        filled = np.arange(len(operators)) < size
        named = (operators >= 0) & (operators < len(self.labels))
        inside = np.where(filled, named, operators == -1)
        return 0 <= size <= len(operators) and bool(inside.all())


class BestMemory(Memory):
    """The best finite fitness of each operator's offspring since the selector was built."""

    def __init__(self, n_operators: int) -> None:
        #: `best[op]`: smaller is better; inf before the first value.
        self.values = np.full(n_operators, np.inf)

    def record(
        self, operators: IntArray, metrics: FloatArray, successes: BoolArray, offspring: FloatArray
    ) -> None:
        """Update the best fitness of each operator."""
        _record_bests(self.values, operators, offspring)

    def observations(self) -> Numbers:  # noqa: D102
        return np.ones(len(self.values))

    def arrays(self) -> dict[str, Numbers]:  # noqa: D102
        return {"values": self.values}


class CountMemory(Memory):
    """Successes of each operator, reset to `start` when a share falls below `least`."""

    def __init__(self, n_operators: int, start: float, least: float) -> None:
        self._start, self._least = start, least
        self._successes = np.zeros(n_operators)

    @property
    def counts(self) -> FloatArray:
        """Return `c[op]`, the count of each operator."""
        return self._start + self._successes

    def record(
        self, operators: IntArray, metrics: FloatArray, successes: BoolArray, offspring: FloatArray
    ) -> None:
        """Reset the counts if a share was too small, and add the successes."""
        _record_counts(self._successes, self._start, self._least, operators, successes)

    def observations(self) -> Numbers:  # noqa: D102
        return self._successes

    def arrays(self) -> dict[str, Numbers]:  # noqa: D102
        return {"successes": self._successes}

    def _is_consistent(self, saved: Mapping[str, Numbers]) -> bool:
        return bool((saved["successes"] >= 0).all())


class StateMemory(Memory):
    """The value of each operator in each state of the search, learned as in Q-learning.

    A state combines the share of successes in the last generation with the number of generations
    since the best so far improved, both in steps (`SUCCESS_STEPS`, `STAGNATION_STEPS`).

    Attributes
    ----------
    values : ndarray, shape (S + 1, K)
        `Q[state, op]`; the last row is learned in all states.
    applications : ndarray, shape (S + 1, K)
        The generations that each value was learned from.
    state : ndarray of shape ()
        The present state, 0 to S - 1.
    """

    def __init__(self, n_operators: int, rate: float, discount: float) -> None:
        self._rate, self._discount = rate, discount
        self.values = np.zeros((STATES + 1, n_operators))
        self.applications = np.zeros((STATES + 1, n_operators))
        self.state = np.zeros((), np.int64)
        # The best fitness so far, and the generations since then.
        self._history = np.array([np.inf, 0.0])

    @property
    def estimates(self) -> FloatArray:
        """Return the values in the present state; where it has none, those of all states."""
        return _estimates(self.values, self.applications, int(self.state))

    def record(
        self, operators: IntArray, metrics: FloatArray, successes: BoolArray, offspring: FloatArray
    ) -> None:
        """Find the next state, and learn the values of the operators that led to it."""
        before = int(self.state)
        self.state[()] = _next_state(self._history, successes, offspring)
        value = self._discount * float(self.estimates.max())
        for row in (before, STATES):
            _learn_values(
                self.values[row], self.applications[row], self._rate, value,
                operators, metrics, successes,
            )  # fmt: skip

    def observations(self) -> Numbers:  # noqa: D102
        counts: FloatArray = self.applications[int(self.state)]
        return counts

    def arrays(self) -> dict[str, Numbers]:  # noqa: D102
        return {"values": self.values, "applications": self.applications, "state": self.state,
                "history": self._history}  # fmt: skip

    def _is_consistent(self, saved: Mapping[str, Numbers]) -> bool:
        return 0 <= int(saved["state"]) < STATES


def _generation_memory(reward: Any, n_operators: int) -> Memory:
    memory = ElitistMemory if getattr(reward, "elitist", False) else GenerationMemory
    return memory(n_operators, reward.max_gen, reward.counts_failures)


#: How to build each memory, by the name that a reward declares.
_BUILDERS: dict[str, Callable[[Any, int], Memory]] = {
    "generations": _generation_memory,
    "successes": lambda reward, K: SuccessMemory(K, reward.fix_appl),
    "window": lambda reward, K: WindowMemory(K, reward.W),
    "bests": lambda _, K: BestMemory(K),
    "tally": lambda reward, K: CountMemory(K, reward.start, reward.least / K),
    "states": lambda reward, K: StateMemory(K, reward.rate, reward.gamma),
}

#: Thresholds of the share of successes in a generation.
SUCCESS_STEPS = (0.05, 0.2)
#: Thresholds of the number of generations without a new best.
STAGNATION_STEPS = (1.0, 10.0)
#: The number of states.
STATES = (len(SUCCESS_STEPS) + 1) * (len(STAGNATION_STEPS) + 1)


@njit
def _step(value: float, steps: tuple[float, ...]) -> int:
    """Return the number of thresholds that a value has reached."""
    reached = 0
    for step in steps:
        reached += int(value >= step)
    return reached


@njit
def _next_state(history: FloatArray, successes: BoolArray, offspring: FloatArray) -> int:
    """Update the best fitness and the generations since then; return the number of the state."""
    best, succeeded = np.inf, 0.0
    for i in range(len(offspring)):
        if successes[i]:
            succeeded += 1.0
        if np.isfinite(offspring[i]) and offspring[i] < best:
            best = offspring[i]
    history[1] = 0.0 if best < history[0] else history[1] + 1.0
    history[0] = min(history[0], best)
    level = _step(succeeded / len(offspring), SUCCESS_STEPS)
    return level * (len(STAGNATION_STEPS) + 1) + _step(history[1], STAGNATION_STEPS)


@njit
def _estimates(values: FloatArray, applications: FloatArray, state: int) -> FloatArray:
    """Return the values in a state; those of all states where an operator was not applied."""
    K = values.shape[1]
    estimates = np.empty(K)
    for op in range(K):
        row = state if applications[state, op] > 0.0 else len(values) - 1
        estimates[op] = values[row, op]
    return estimates


@njit
def _learn_values(
    values: FloatArray,
    applications: FloatArray,
    rate: float,
    value: float,
    operators: IntArray,
    metrics: FloatArray,
    successes: BoolArray,
) -> None:
    """Move the value of each applied operator toward its mean metric plus the next state's."""
    K = len(values)
    sums, counts = np.zeros(K), np.zeros(K)
    for i in range(len(operators)):
        counts[operators[i]] += 1.0
        if successes[i]:
            sums[operators[i]] += metrics[i]
    for op in range(K):
        if counts[op] > 0.0:
            applications[op] += 1.0
            weight = max(rate, 1.0 / applications[op])
            values[op] += weight * (sums[op] / counts[op] + value - values[op])


@njit
def _above_smallest(metrics: FloatArray, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return each row in order and relative to its smallest metric, and that metric."""
    K, size = metrics.shape
    relative, smallest = np.zeros((K, size)), np.zeros(K)
    for op in range(K):
        count = int(counts[op])
        if count > 0:
            ordered = np.sort(metrics[op, :count])
            smallest[op] = ordered[0]
            for e in range(count):
                relative[op, e] = ordered[e] - ordered[0]
    return relative, smallest


@njit
def _squared_deviations(relative: FloatArray, shift: FloatArray, counts: FloatArray) -> FloatArray:
    K, size = relative.shape
    squares = np.zeros((K, size))
    for op in range(K):
        for e in range(int(counts[op])):
            deviation = relative[op, e] - shift[op]
            squares[op, e] = deviation * deviation
    return squares


@njit
def _record_counts(
    counts: FloatArray, start: float, least: float, operators: IntArray, successes: BoolArray
) -> None:
    """Reset the counts if a share was too small, and add the successes."""
    total, smallest = 0.0, np.inf
    for op in range(len(counts)):
        total += start + counts[op]
        smallest = min(smallest, start + counts[op])
    if smallest / total < least:
        counts[:] = 0.0
    for i in range(len(operators)):
        if successes[i]:
            counts[operators[i]] += 1.0


@njit
def _record_bests(values: FloatArray, operators: IntArray, offspring: FloatArray) -> None:
    """Update the best fitness of each operator."""
    for i in range(len(operators)):
        if np.isfinite(offspring[i]) and offspring[i] < values[operators[i]]:
            values[operators[i]] = offspring[i]


@njit
def record_generation(
    table: FloatArray,
    count: FloatArray,
    operators: IntArray,
    metrics: FloatArray,
    successes: BoolArray,
    _offspring: FloatArray,
) -> None:
    """Move every generation one row down and fill row 0."""
    # Successes and applications; the sum and the maximum of the metric over the successes.
    s, n, total, best = table[0], table[1], table[2], table[3]
    rows, k = s.shape
    for t in range(rows - 1, 0, -1):
        for part in range(4):
            for op in range(k):
                table[part, t, op] = table[part, t - 1, op]
    for part in range(4):
        for op in range(k):
            table[part, 0, op] = 0.0
    for i in range(len(operators)):
        op = operators[i]
        n[0, op] += 1.0
        if successes[i]:
            if s[0, op] == 0.0 or metrics[i] > best[0, op]:
                best[0, op] = metrics[i]
            s[0, op] += 1.0
            total[0, op] += metrics[i]
    count[()] = min(float(count[()]) + 1.0, float(rows))


@njit
def _record_successes(
    remembered: FloatArray,
    counts: FloatArray,
    following: IntArray,
    operators: IntArray,
    metrics: FloatArray,
    successes: BoolArray,
) -> None:
    size = remembered.shape[1]
    for i in range(len(operators)):
        if successes[i]:
            op = operators[i]
            remembered[op, following[op]] = metrics[i]
            following[op] = (following[op] + 1) % size
            counts[op] = min(counts[op] + 1.0, float(size))


@njit
def _record_window(
    held_operators: IntArray,
    held_metrics: FloatArray,
    size: IntArray,
    operators: IntArray,
    metrics: FloatArray,
    successes: BoolArray,
) -> None:
    capacity = len(held_operators)
    for i in range(len(operators)):
        if not successes[i]:
            continue
        op = operators[i]
        place = int(size[()])
        if place < capacity:
            size[()] += 1
        else:
            leaving = -1
            smallest = 0
            for e in range(capacity):
                if held_operators[e] == op:
                    leaving = e
                    break
                if held_metrics[e] < held_metrics[smallest]:
                    smallest = e
            if leaving < 0:
                if not held_metrics[smallest] < metrics[i]:
                    continue
                leaving = smallest
            place = capacity - 1
            for e in range(leaving, place):
                held_operators[e] = held_operators[e + 1]
                held_metrics[e] = held_metrics[e + 1]
        held_operators[place] = op
        held_metrics[place] = metrics[i]


@njit
def _tally(held_operators: IntArray, n_operators: int) -> IntArray:
    counts = np.zeros(n_operators, np.int64)
    for op in held_operators:
        if op < 0:
            break
        counts[op] += 1
    return counts
