"""All runs of a store in columns."""

from collections.abc import Container
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from uaos.experiments.database import Database
from uaos.experiments.recorder import TARGETS
from uaos.experiments.rows import whole_columns

_INTEGERS = ("id", "method", "problem", "repetition", "seed", "budget", "evaluations")
_REALS = ("best", "error", "seconds")


class ProblemRecord(NamedTuple):
    """A problem of a store; `optimum` is NaN if unknown, `instance` None if not numbered."""

    name: str
    function: str
    group: str
    dimension: int
    instance: int | None
    optimum: float


@dataclass(frozen=True)
class RunTable:
    """All finished runs of a store in columns. Made by :meth:`Store.table`.

    Attributes
    ----------
    methods, problems : tuple
        The entries to which the columns `method` and `problem` are indices.
    id : ndarray
        The number of each run in the store.
    method, problem, repetition, seed, budget : ndarray
        The unit of work.
    evaluations, best, error, seconds : ndarray
        The outcome: evaluations, best value, its distance from the optimum, duration.
    failed : ndarray of bool
        Which runs failed.
    hits : ndarray, shape (runs, targets)
        The evaluation at which each of `TARGETS` was first reached, or -1.
    """

    methods: tuple[str, ...]
    problems: tuple[ProblemRecord, ...]
    id: NDArray[np.int64]
    method: NDArray[np.int32]
    problem: NDArray[np.int32]
    repetition: NDArray[np.int64]
    seed: NDArray[np.int64]
    budget: NDArray[np.int64]
    evaluations: NDArray[np.int64]
    best: NDArray[np.float64]
    error: NDArray[np.float64]
    seconds: NDArray[np.float64]
    failed: NDArray[np.bool_]
    hits: NDArray[np.int32] | NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.id)

    def select(self, methods: Container[str]) -> "RunTable":
        """Return the runs of these methods only."""
        keep = np.array([name in methods for name in self.methods], bool)
        rows = keep[self.method]
        columns = {f.name: getattr(self, f.name)[rows] for f in fields(self)[2:]}
        columns["method"] = (np.cumsum(keep, dtype=np.int32) - 1)[columns["method"]]
        names = tuple(name for name in self.methods if name in methods)
        return RunTable(names, self.problems, **columns)


def read_columns(database: Database) -> dict[str, Any]:
    """Return the columns of all undamaged runs, by name."""
    rows, most = database.rows("SELECT COUNT(*), MAX(evaluations) FROM runs")[0]
    integers = np.zeros((len(_INTEGERS), rows), np.int64)
    reals = np.zeros((len(_REALS), rows))
    failed = np.zeros(rows, bool)
    # This takes most of the memory; 32 bits suffice below 2^31 evaluations.
    kind = np.int32 if isinstance(most, int) and most < 2**31 else np.int64
    hits = np.zeros((rows, len(TARGETS)), kind)
    end = 0
    # The order is that of an index: nothing has to be sorted.
    for column in whole_columns(database.connection, "runs", "method, problem, repetition"):
        start, end = end, end + len(column["id"])
        integers[:, start:end] = [column[name] for name in _INTEGERS]
        reals[:, start:end] = np.array([column[name] for name in _REALS], float)  # None: NaN
        failed[start:end] = [status == b"failed" for status in column["status"]]
        packed = np.frombuffer(b"".join(column["hits"]), "<i8")
        hits[start:end] = packed.reshape(end - start, len(TARGETS))
    integers, reals = integers[:, :end], reals[:, :end]
    reals[0, np.isnan(reals[0])] = np.inf
    named: dict[str, Any] = dict(zip((*_INTEGERS, *_REALS), (*integers, *reals), strict=True))
    for table in ("methods", "problems"):
        ids = [number for (number,) in database.rows(f"SELECT id FROM {table} ORDER BY id")]
        name = table.removesuffix("s")
        named[name] = np.searchsorted(ids, named[name]).astype(np.int32)
    return named | {"failed": failed[:end], "hits": hits[:end]}
