"""The course of a run, thinned and packed for the store: operator use, probabilities, best."""

import json
import zlib

import numpy as np

from uaos.optimizers.history import History

#: No more rows than this are kept of a run.
MAX_ROWS = 128

_FORMATS = {
    "counts": "<i8", "repairs": "<i8", "probabilities": "<f4", "best": "<f8",
    "evaluations": "<i8", "generation": "<i8", "population": "<i4", "restarts": "<i4",
}  # fmt: skip
_SUMMED = ("counts", "repairs")


def pack(history: History) -> bytes:
    """The history in at most MAX_ROWS rows, as bytes."""
    rows = len(history)
    step = 1
    while rows > step * MAX_ROWS:
        step *= 2
    first = np.arange(0, rows, step)
    last = np.minimum(first + step, rows) - 1
    parts = []
    for name, form in _FORMATS.items():
        column = getattr(history, name)
        if name in _SUMMED:
            column = np.add.reduceat(column, first, axis=0) if rows else column
        else:
            column = column[last]
        parts.append(np.ascontiguousarray(column, form).tobytes())
    head = {"operators": history.operators, "rows": len(first), "stride": history.stride * step}
    text = json.dumps(head).encode()
    return zlib.compress(len(text).to_bytes(4, "little") + text + b"".join(parts), 1)


def unpack(data: bytes) -> History:
    """The inverse of :func:`pack`."""
    raw = zlib.decompress(data)
    start = 4 + int.from_bytes(raw[:4], "little")
    head = json.loads(raw[4:start])
    rows, wide = head["rows"], len(head["operators"])
    columns = {}
    for name, form in _FORMATS.items():
        shape = (rows, wide) if name in ("counts", "probabilities") else (rows,)
        count = int(np.prod(shape))
        column = np.frombuffer(raw, form, count, start)
        start += column.nbytes
        kind = np.float64 if np.dtype(form).kind == "f" else np.int64
        columns[name] = column.reshape(shape).astype(kind)
    state = {
        "operators": head["operators"], "max_rows": MAX_ROWS, "stride": head["stride"],
        "filled": 0, "columns": columns,
    }  # fmt: skip
    return History.from_state(state)
