"""Hits, traces and courses of runs as the bytes that a store keeps."""

import json
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uaos.experiments.recorder import MAX_ENTRIES, NO_TRACE, TARGETS, Trace
from uaos.optimizers.history import History

#: The most rows kept of a run's history.
MAX_ROWS = 128
#: The most restarts kept of a run: the first ones.
MAX_RESTARTS = 100

# The columns of courses that were packed before they named them themselves.
_UNNAMED = {
    "counts": "<i8", "repairs": "<i8", "probabilities": "<f4", "best": "<f8",
    "evaluations": "<i8", "iteration": "<i8", "population": "<i4", "restarts": "<i4",
}  # fmt: skip
# Columns that need less room than the eight bytes of all others.
_SHORT = {"probabilities": "<f4", "population": "<i4", "restarts": "<i4"}
_FORMATS = ("<i4", "<i8", "<f4", "<f8")
# No course needs more: a few bytes in a received store must not become gigabytes.
_LARGEST = 2**24


def _decompressed(data: bytes, largest: int) -> bytes:
    unpacker = zlib.decompressobj()
    raw = unpacker.decompress(data, largest)
    if not unpacker.eof or unpacker.unused_data:
        raise ValueError("packed data of the wrong length")
    return raw


def hits_from_bytes(data: bytes) -> NDArray[np.int64]:
    """The evaluations at which the targets were reached."""
    hits = np.frombuffer(data, "<i8").astype(np.int64)
    if len(hits) != len(TARGETS):
        raise ValueError(f"{len(hits)} targets in a run, not {len(TARGETS)}")
    return hits


def pack_trace(trace: Trace) -> bytes:
    """A trace, compressed."""
    at, values = trace
    if not len(at):
        return b""
    steps = np.diff(at, prepend=0).astype("<i8")
    head = len(at).to_bytes(4, "little") + np.array(values[-1], "<f8").tobytes()
    return zlib.compress(head + steps.tobytes() + values.astype("<f8").tobytes(), 6)


def unpack_trace(data: bytes) -> Trace:
    """The inverse of :func:`pack_trace`.

    Traces that were stored with 7 digits of the distance to their last value are read as well.
    """
    if not data:
        return NO_TRACE
    raw = _decompressed(data, 12 + 16 * 4 * MAX_ENTRIES)
    count = int.from_bytes(raw[:4], "little")
    rounded = len(raw) == 12 + 12 * count
    if not (rounded or len(raw) == 12 + 16 * count):
        raise ValueError("a trace of the wrong length")
    at = np.cumsum(np.frombuffer(raw, "<i8", count, 12)).astype(np.int64)
    kind = "<f4" if rounded else "<f8"
    values = np.frombuffer(raw, kind, count, 12 + 8 * count).astype(np.float64)
    return Trace(at, np.frombuffer(raw, "<f8", 1, 4)[0] + values if rounded else values)


def pack_course(history: History, restarts: Sequence[int] = ()) -> bytes:
    """The history in at most MAX_ROWS rows, compressed.

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


def unpack_course(data: bytes) -> tuple[History, tuple[int, ...] | None]:
    """The history and the restarts of a course; None for restarts that were not recorded."""
    raw = _decompressed(data, _LARGEST)
    start = 4 + int.from_bytes(raw[:4], "little")
    head: dict[str, Any] = json.loads(raw[4:start])
    rows, wide = head["rows"], len(head["operators"])
    columns = {}
    for name, form in head.get("columns", _UNNAMED).items():
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
    restarts = head.get("restarts")
    return history, None if restarts is None else tuple(restarts)
