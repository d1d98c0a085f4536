"""The course of a run, coarsened and packed for the store."""

import json
import zlib

import numpy as np

from uaos.optimizers.history import History

#: The most rows kept of a run.
MAX_ROWS = 128

# The columns of courses that were packed before they named them themselves.
_UNNAMED = {
    "counts": "<i8", "repairs": "<i8", "probabilities": "<f4", "best": "<f8",
    "evaluations": "<i8", "iteration": "<i8", "population": "<i4", "restarts": "<i4",
}  # fmt: skip
# Columns that need less room than the eight bytes of all others.
_SHORT = {"probabilities": "<f4", "population": "<i4", "restarts": "<i4"}


def pack(history: History) -> bytes:
    """The history in at most MAX_ROWS rows, as bytes."""
    coarse = history.coarsened(MAX_ROWS)
    parts, formats = [], {}
    for name, column in coarse.state()["data"].items():
        formats[name] = _SHORT.get(name, f"<{column.dtype.kind}8")
        parts.append(np.ascontiguousarray(column, formats[name]).tobytes())
    head = {
        "operators": coarse.operators, "rows": len(coarse), "stride": coarse.stride,
        "columns": formats,
    }  # fmt: skip
    text = json.dumps(head).encode()
    return zlib.compress(len(text).to_bytes(4, "little") + text + b"".join(parts), 1)


def unpack(data: bytes) -> History:
    """The inverse of :func:`pack`."""
    raw = zlib.decompress(data)
    start = 4 + int.from_bytes(raw[:4], "little")
    head = json.loads(raw[4:start])
    rows, wide = head["rows"], len(head["operators"])
    columns = {}
    for name, form in head.get("columns", _UNNAMED).items():
        shape = (rows, wide) if name in ("counts", "probabilities") else (rows,)
        column = np.frombuffer(raw, form, int(np.prod(shape)), start)
        start += column.nbytes
        columns[name] = column.reshape(shape)
    always = History().state()["data"]
    state = {
        "operators": head["operators"], "columns": [n for n in columns if n not in always],
        "max_rows": MAX_ROWS, "stride": head["stride"], "filled": 0, "data": columns,
    }  # fmt: skip
    return History.from_state(state)
