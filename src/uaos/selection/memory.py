"""Memories: what a method remembers of past generations, in a size fixed at the start.

The kinds are those of :mod:`uaos.selection.components.views`. A memory is fed by `record`
once a generation, in one pass over the offspring that a numba kernel makes, and read by `view`,
which shows the live arrays. Which one a method has is up to its reward; the others are not kept.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uaos.errors import InvalidFile
from uaos.jit import njit
from uaos.selection.components.rewards import Reward, SuccessCount, column_sums
from uaos.selection.components.views import Bests, Generations, SuccessCounts, Successes, Window
from uaos.selection.kernels import count_applications

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Memory(ABC):
    """What a selector needs of its memory."""

    @abstractmethod
    def record(
        self, operators: Integers, metrics: Floats, successes: Flags, offspring: Floats
    ) -> None:
        """Take in one generation."""

    @abstractmethod
    def view(self) -> Any:
        """The arrays as the reward reads them."""

    @abstractmethod
    def observations(self) -> NDArray[Any]:
        """How many successes (or applications) of each operator the reward looks at."""

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything the memory holds, for saving."""

    def restore(self, saved: Mapping[str, NDArray[Any]]) -> None:
        """Take up the :meth:`arrays` of a memory of the same size."""
        held = self.arrays()
        layout = {name: (array.shape, array.dtype) for name, array in held.items()}
        found = {name: (np.shape(a), np.asarray(a).dtype) for name, a in saved.items()}
        if layout != found or not self._is_consistent(saved):
            raise InvalidFile("the state is of a selector with another memory")
        for name, array in held.items():
            array[...] = saved[name]

    def _is_consistent(self, saved: Mapping[str, NDArray[Any]]) -> bool:
        """Whether no index or count lies outside the arrays; kernels do not look."""
        return True


def memory_for(reward: Reward, n_operators: int) -> Memory:
    """The memory that a reward reads, empty."""
    if isinstance(reward, SuccessCount):
        return CountMemory(n_operators, reward.start, reward.least / n_operators)
    if reward.memory == "bests":
        return BestMemory(n_operators)
    size = getattr(reward, reward.extent)
    if reward.memory == "generations":
        return GenerationMemory(n_operators, size, reward.counts_failures)
    return (SuccessMemory if reward.memory == "successes" else WindowMemory)(n_operators, size)


class GenerationMemory(Memory):
    """Successes, applications, sum and best of the metric in the last `max_gen` generations."""

    def __init__(self, n_operators: int, max_gen: int, counts_failures: bool = False) -> None:
        self._counts_failures = counts_failures
        # One block: successes, applications, sums, bests, each (max_gen, K), newest row first.
        self.table = np.zeros((4, max_gen, n_operators))
        self.count = np.zeros(())
        self._view = _rows(self.table, self.count)

    def record(
        self, operators: Integers, metrics: Floats, successes: Flags, offspring: Floats
    ) -> None:
        """Move every generation one row down and fill row 0."""
        record_generation(self.table, self.count, operators, metrics, successes)

    def view(self) -> Generations:  # noqa: D102 (see Memory)
        return self._view

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A deep copy has a table of its own, and its view must show that one."""
        self.__dict__.update(state, _view=_rows(state["table"], state["count"]))

    def observations(self) -> NDArray[Any]:  # noqa: D102
        seen = self._view.applications if self._counts_failures else self._view.successes
        counts: Floats = column_sums(seen)
        return counts

    def arrays(self) -> dict[str, NDArray[Any]]:  # noqa: D102
        return {"table": self.table, "count": self.count}


def _rows(table: Floats, count: Floats) -> Generations:
    s, n, sums, bests = table
    return Generations(s, n, sums, bests, count)


class SuccessMemory(Memory):
    """The metrics of the last `fix_appl` successes of each operator, oldest dropped first."""

    def __init__(self, n_operators: int, fix_appl: int) -> None:
        self._metrics = np.zeros((n_operators, fix_appl))
        self._counts = np.zeros(n_operators)
        self._next = np.zeros(n_operators, dtype=np.int64)
        self._view = Successes(self._metrics, self._counts)

    def record(
        self, operators: Integers, metrics: Floats, successes: Flags, offspring: Floats
    ) -> None:
        """Write each success over its operator's oldest."""
        _record_successes(self._metrics, self._counts, self._next, operators, metrics, successes)

    def view(self) -> Successes:  # noqa: D102
        return self._view

    def observations(self) -> NDArray[Any]:  # noqa: D102
        return self._counts

    def arrays(self) -> dict[str, NDArray[Any]]:  # noqa: D102
        return {"metrics": self._metrics, "counts": self._counts, "next": self._next}

    def _is_consistent(self, saved: Mapping[str, NDArray[Any]]) -> bool:
        size = self._metrics.shape[1]
        counts, following = saved["counts"], saved["next"]
        inside = (counts >= 0) & (counts <= size) & (following >= 0) & (following < size)
        return bool(inside.all())


class WindowMemory(Memory):
    """At most `W` successes of all operators, oldest first.

    Successes enter in the order of the population. While the window is not full an entry is
    appended. When it is full the new entry becomes the newest, and what leaves is the oldest entry
    of the same operator; if that operator has none, the entry with the smallest metric (the oldest
    of equals), provided it is smaller than the new one's; otherwise the new one is not stored
    (⚑ the paper always evicts the worst).
    """

    def __init__(self, n_operators: int, W: int) -> None:
        self._operators = np.full(W, -1, dtype=np.int64)
        self._metrics = np.full(W, -np.inf)
        self._size = np.zeros((), dtype=np.int64)
        self._view = Window(self._operators, self._metrics, self._size, np.arange(n_operators))

    def record(
        self, operators: Integers, metrics: Floats, successes: Flags, offspring: Floats
    ) -> None:
        """Insert the successes one by one."""
        _record_window(
            self._operators, self._metrics, self._size, operators, metrics, successes
        )  # fmt: skip

    def view(self) -> Window:  # noqa: D102
        return self._view

    def observations(self) -> NDArray[Any]:  # noqa: D102
        counts: Integers = _tally(self._operators, len(self._view.labels))
        return counts

    def arrays(self) -> dict[str, NDArray[Any]]:  # noqa: D102
        return {"operators": self._operators, "metrics": self._metrics, "size": self._size}

    def _is_consistent(self, saved: Mapping[str, NDArray[Any]]) -> bool:
        operators, size = saved["operators"], int(saved["size"])
        filled = np.arange(len(operators)) < size
        named = (operators >= 0) & (operators < len(self._view.labels))
        inside = np.where(filled, named, operators == -1)
        return 0 <= size <= len(operators) and bool(inside.all())


class BestMemory(Memory):
    """The best finite fitness of each operator's offspring, in the life of the selector."""

    def __init__(self, n_operators: int) -> None:
        # Laid out like that of generations, which compiled learning takes.
        self.table, self.count = np.zeros((4, 1, n_operators)), np.zeros(())
        self.table[3] = np.inf
        self._seen = np.ones(n_operators)

    def record(
        self, operators: Integers, metrics: Floats, successes: Flags, offspring: Floats
    ) -> None:
        """Lower the best of each operator that has made something better."""
        record_bests(self.table, operators, offspring)

    def view(self) -> Bests:  # noqa: D102
        return Bests(self.table[3, 0])

    def observations(self) -> NDArray[Any]:  # noqa: D102
        return self._seen

    def arrays(self) -> dict[str, NDArray[Any]]:  # noqa: D102
        return {"values": self.table[3, 0]}


class CountMemory(Memory):
    """Successes of each operator, counted from `start` again once a share is below `least`."""

    def __init__(self, n_operators: int, start: float, least: float) -> None:
        self._start, self._least = start, least
        self._successes = np.zeros(n_operators)

    def record(
        self, operators: Integers, metrics: Floats, successes: Flags, offspring: Floats
    ) -> None:
        """Start anew if the generation was chosen with a share too small, and count."""
        counts = self.view().counts
        if counts.min() / counts.sum() < self._least:
            self._successes[:] = 0.0
        count_applications(self._successes, operators[successes])

    def view(self) -> SuccessCounts:  # noqa: D102
        return SuccessCounts(self._start + self._successes)

    def observations(self) -> NDArray[Any]:  # noqa: D102
        return self._successes

    def arrays(self) -> dict[str, NDArray[Any]]:  # noqa: D102
        return {"successes": self._successes}

    def _is_consistent(self, saved: Mapping[str, NDArray[Any]]) -> bool:
        return bool((saved["successes"] >= 0).all())


@njit(cache=True)
def record_bests(table, operators, offspring):  # type: ignore[no-untyped-def]
    """Lower the best of each operator that has made something better."""
    values = table[3, 0]
    for i in range(len(operators)):
        if np.isfinite(offspring[i]) and offspring[i] < values[operators[i]]:
            values[operators[i]] = offspring[i]


@njit(cache=True)
def record_generation(table, count, operators, metrics, successes):  # type: ignore[no-untyped-def]
    """Move every generation one row down and fill row 0."""
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
    count[()] = min(count[()] + 1.0, float(rows))


@njit(cache=True)
def _record_successes(remembered, counts, following, operators, metrics, successes):  # type: ignore[no-untyped-def]
    size = remembered.shape[1]
    for i in range(len(operators)):
        if successes[i]:
            op = operators[i]
            remembered[op, following[op]] = metrics[i]
            following[op] = (following[op] + 1) % size
            counts[op] = min(counts[op] + 1.0, float(size))


@njit(cache=True)
def _record_window(held_operators, held_metrics, size, operators, metrics, successes):  # type: ignore[no-untyped-def]
    capacity = len(held_operators)
    for i in range(len(operators)):
        if not successes[i]:
            continue
        op = operators[i]
        place = size[()]
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


@njit(cache=True)
def _tally(held_operators, n_operators):  # type: ignore[no-untyped-def]
    counts = np.zeros(n_operators, np.int64)
    for op in held_operators:
        if op < 0:
            break
        counts[op] += 1
    return counts
