"""Records of a run: hits of targets, improvements and course, and their packed form."""

import json
import zlib
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from uaos.history import History

#: The target errors f - f_opt at which a run's evaluations are noted: 10^4, 10^3.8, …, 10^-8.
TARGETS: NDArray[np.float64] = 10.0 ** np.linspace(4, -8, 61)

#: The 51 targets from 10^2 to 10^-8, over which COCO draws its ECDF.
ECDF_TARGETS: NDArray[np.float64] = TARGETS[10:]

#: The error at which a problem is solved, and a run ends.
FINAL = 1e-8

TARGETS.flags.writeable = False
ECDF_TARGETS.flags.writeable = False

#: Smallest step between two entries of a trace, in decades of the error.
STEP = 0.01
#: The best value also becomes an entry if it lasts for this share of further evaluations.
PLATEAU = 0.05
#: Largest number of entries of a trace; step and share are doubled until they fit.
MAX_ENTRIES = 400

# Improvements that are collected before they are thinned, where the optimum is not known.
_BUFFER = 4096
_TARGETS = TARGETS.tolist()


class Trace(NamedTuple):
    """The improvements of a run. Made by :func:`run_unit`.

    It is thinned. If the optimum is known, an entry is at least 0.01 decades below
    the one before, in terms of the error; without it, in terms of the distance to the run's own
    best value, so that the distance to any lower value is resolved at least as well. The best value
    of a plateau, where 5 % more evaluations brought no improvement, is kept exactly: the ranking of
    runs in the same local optimum may depend on the last digits. Step and share are doubled until
    400 entries suffice. The first and the last improvement are always kept.

    Attributes
    ----------
    evaluations : ndarray
        When the best value improved, counted from 1.
    values : ndarray
        The best value from then on.
    """

    evaluations: NDArray[np.int64]
    values: NDArray[np.float64]


NO_TRACE = Trace(np.zeros(0, np.int64), np.zeros(0))


class Recorder:
    """Records the values of a run, batch by batch.

    If the optimum is not known, no target counts as reached.
    """

    def __init__(self, optimum: float | None) -> None:
        self.optimum = optimum
        self.hits = np.full(len(TARGETS), -1, np.int64)
        self.evaluations = 0
        self.best = float("inf")
        self._next = 0  # the first target not yet reached
        self._improvements: list[tuple[int, float]] = []
        self._best_at = 0
        self._trace_below = np.inf

    @property
    def solved(self) -> bool:
        """Return whether the final target was reached; never if the optimum is not known."""
        return bool(self.hits[-1] > 0)

    @property
    def error(self) -> float:
        """Return the best value minus the optimum; NaN if that is not known."""
        return float("nan") if self.optimum is None else float(self.best - self.optimum)

    def see(self, values: NDArray[np.float64]) -> None:
        """Record the values of a batch in the order of evaluation, ignoring NaN and infinities."""
        (lower,) = (values < self.best).nonzero()
        if len(lower):
            for i, value in zip(lower.tolist(), values[lower].tolist(), strict=True):
                if -np.inf < value < self.best:
                    self._improve(self.evaluations + i + 1, value)
            if len(self._improvements) > _BUFFER:
                # Relative to a later, lower best, the entries are even closer to each other.
                lowest = self._improvements[-1][1]
                self._improvements = _thinned(self._improvements, lowest, STEP, PLATEAU)
        self.evaluations += len(values)

    def judge(self, evaluations: int, value: float) -> None:
        """Record the true value of the point recommended after a number of evaluations."""
        self.evaluations = evaluations
        if -np.inf < value < self.best:
            self._improve(evaluations, value)

    def trace(self) -> Trace:
        """Return the improvements so far, thinned."""
        if self.best == np.inf:
            return NO_TRACE
        entries = [*self._improvements]
        if entries[-1][1] > self.best:
            entries.append((self._best_at, self.best))
        reference = self.best if self.optimum is None else self.optimum
        step, share = STEP, PLATEAU
        entries = _thinned(entries, reference, step, share)
        while len(entries) > MAX_ENTRIES:
            step, share = 2 * step, 2 * share
            entries = _thinned(entries, reference, step, share)
        at, values = zip(*entries, strict=True)
        return Trace(np.array(at, np.int64), np.array(values))

    def _improve(self, at: int, value: float) -> None:
        """Record an improvement."""
        if self.optimum is not None:
            while self._next < len(_TARGETS) and value - self.optimum <= _TARGETS[self._next]:
                self.hits[self._next] = at
                self._next += 1
        if value <= self._trace_below:
            left_out = bool(self._improvements) and self._improvements[-1][1] > self.best
            if left_out and at > (1 + PLATEAU) * self._best_at:
                self._improvements.append((self._best_at, self.best))
            self._improvements.append((at, value))
            if self.optimum is not None:
                self._trace_below = _below(value, self.optimum, STEP)
        self._best_at, self.best = at, value


def _below(value: float, reference: float, step: float) -> float:
    """Return the value whose distance to the reference is smaller by a factor of 10^step."""
    gap = value - reference
    return reference + gap * 10.0**-step if gap > 0 else value


def _thinned(
    entries: list[tuple[int, float]], reference: float, step: float, share: float
) -> list[tuple[int, float]]:
    """Return entries a step below the one before, those before plateaus, the first and the last."""
    thinned = [entries[0]]
    below = _below(entries[0][1], reference, step)
    for entry, following in pairwise(entries[1:]):
        if entry[1] <= below or following[0] > (1 + share) * entry[0]:
            thinned.append(entry)
            below = _below(entry[1], reference, step)
    if len(entries) > 1:
        thinned.append(entries[-1])
    return thinned


# Packed, as in a store

#: Largest number of rows of a stored history.
MAX_ROWS = 128
#: Largest number of stored restarts of a run: the first ones.
MAX_RESTARTS = 100

# Columns with less than eight bytes per value.
_SHORT = {"probabilities": "<f4", "population": "<i4", "restarts": "<i4"}
_FORMATS = ("<i4", "<i8", "<f4", "<f8")
# Bound on decompressed data: a few bytes of a foreign store must not become gigabytes.
_LARGEST = 2**24


def _decompressed(data: bytes, largest: int) -> bytes:
    unpacker = zlib.decompressobj()
    raw = unpacker.decompress(data, largest)
    if not unpacker.eof or unpacker.unused_data:
        raise ValueError("packed data of the wrong length")
    return raw


def hits_from_bytes(data: bytes) -> NDArray[np.int64]:
    """Return the evaluations at which the targets were reached."""
    hits = np.frombuffer(data, "<i8").astype(np.int64)
    if len(hits) != len(TARGETS):
        raise ValueError(f"{len(hits)} targets in a run, not {len(TARGETS)}")
    return hits


def pack_trace(trace: Trace) -> bytes:
    """Compress a trace."""
    evaluations, values = trace
    if not len(evaluations):
        return b""
    steps = np.diff(evaluations, prepend=0).astype("<i8")
    # 12 bytes: the number of entries, and the last value.
    head = len(evaluations).to_bytes(4, "little") + np.array(values[-1], "<f8").tobytes()
    return zlib.compress(head + steps.tobytes() + values.astype("<f8").tobytes(), 6)


def unpack_trace(data: bytes) -> Trace:
    """Decompress a trace; the inverse of :func:`pack_trace`."""
    if not data:
        return NO_TRACE
    raw = _decompressed(data, 12 + 16 * 4 * MAX_ENTRIES)
    count = int.from_bytes(raw[:4], "little")
    if len(raw) != 12 + 16 * count:
        raise ValueError(f"a trace of the wrong length: {len(raw)} bytes for {count} entries")
    evaluations = np.cumsum(np.frombuffer(raw, "<i8", count, 12)).astype(np.int64)
    values = np.frombuffer(raw, "<f8", count, 12 + 8 * count).astype(np.float64)
    return Trace(evaluations, values)


def pack_course(history: History, restarts: Sequence[int] = ()) -> bytes:
    """Compress a history to at most MAX_ROWS rows.

    `restarts` are the evaluations after which the optimizer had converged or started afresh; the
    columns are too coarse to tell.
    """
    coarse = history.coarsened(MAX_ROWS)
    parts, formats = [], {}
    for name, column in coarse.state()["data"].items():
        formats[name] = _SHORT.get(name, f"<{column.dtype.kind}8")
        parts.append(np.ascontiguousarray(column, formats[name]).tobytes())
    head = {
        "operators": coarse.operators, "rows": len(coarse), "stride": coarse.stride,
        "columns": formats, "restarts": [int(at) for at in restarts[:MAX_RESTARTS]],
    }  # fmt: skip
    text = json.dumps(head).encode()
    return zlib.compress(len(text).to_bytes(4, "little") + text + b"".join(parts), 1)


def unpack_course(data: bytes) -> tuple[History, tuple[int, ...]]:
    """Return the history and the restarts of a course; the inverse of :func:`pack_course`."""
    raw = _decompressed(data, _LARGEST)
    start = 4 + int.from_bytes(raw[:4], "little")
    head: dict[str, Any] = json.loads(raw[4:start])
    rows, wide = head["rows"], len(head["operators"])
    columns = {}
    for name, form in head["columns"].items():
        shape = (rows, wide) if name in ("counts", "probabilities") else (rows,)
        if form not in _FORMATS:
            raise ValueError("a column of an unknown type")
        column = np.frombuffer(raw, form, int(np.prod(shape)), start)
        start += column.nbytes
        columns[name] = column.reshape(shape)
    always = History().state()["data"]
    history = History.from_state({
        "operators": head["operators"], "columns": [n for n in columns if n not in always],
        "max_rows": MAX_ROWS, "stride": head["stride"], "filled": 0, "data": columns,
    })  # fmt: skip
    return history, tuple(head["restarts"])
