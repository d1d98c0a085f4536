"""The course of a run, coarsened and packed for the store."""

import json
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from uaos.optimizers.history import History

#: The most rows kept of a run.
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


def pack(history: History, restarts: Sequence[int] | None = None) -> bytes:
    """The history in at most MAX_ROWS rows, as bytes.

    Parameters
    ----------
    history : History
    restarts : sequence of int, optional
        The evaluations after which the optimizer had converged or started afresh. The columns are
        too coarse to tell.
    """
    coarse = history.coarsened(MAX_ROWS)
    parts, formats = [], {}
    for name, column in coarse.state()["data"].items():
        formats[name] = _SHORT.get(name, f"<{column.dtype.kind}8")
        parts.append(np.ascontiguousarray(column, formats[name]).tobytes())
    head: dict[str, Any] = {
        "operators": coarse.operators, "rows": len(coarse), "stride": coarse.stride,
        "columns": formats,
    }  # fmt: skip
    if restarts is not None:
        head["restarts"] = [int(at) for at in restarts[:MAX_RESTARTS]]
    text = json.dumps(head).encode()
    return zlib.compress(len(text).to_bytes(4, "little") + text + b"".join(parts), 1)


def unpack(data: bytes) -> History:
    """The inverse of :func:`pack`."""
    raw = _decompressed(data)
    start, head = _head(raw)
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
    state = {
        "operators": head["operators"], "columns": [n for n in columns if n not in always],
        "max_rows": MAX_ROWS, "stride": head["stride"], "filled": 0, "data": columns,
    }  # fmt: skip
    return History.from_state(state)


def restarts(data: bytes) -> tuple[int, ...] | None:
    """The restarts that were packed with a history; None if they were not recorded."""
    found = _head(_decompressed(data))[1].get("restarts")
    return None if found is None else tuple(found)


def _head(raw: bytes) -> tuple[int, dict[str, Any]]:
    """Where the columns begin, and what stands before them."""
    start = 4 + int.from_bytes(raw[:4], "little")
    return start, json.loads(raw[4:start])


def _decompressed(data: bytes) -> bytes:
    unpacker = zlib.decompressobj()
    raw = unpacker.decompress(data, _LARGEST)
    if not unpacker.eof or unpacker.unused_data:
        raise ValueError("a course of the wrong length")
    return raw
