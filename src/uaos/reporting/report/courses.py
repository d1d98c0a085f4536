"""Operator use in single runs: which runs are shown, and their courses for the script."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from uaos.errors import InvalidParameter
from uaos.experiments.store import Outcome, Store
from uaos.optimizers.history import History
from uaos.problems.bbob import TITLES
from uaos.reporting.report.sources import Experiment

#: Characters of courses in a report at most.
ROOM = 1_500_000
# Errors are drawn no smaller: a run ends at 1e-8.
_FLOOR = 1e-9
# Parts of a run whose operator use is compared.
_PARTS = 6

#: What `--runs` expects.
FORM = "method:function:instance, such as mix:8:3, several with commas"


class Chosen(NamedTuple):
    """A run that was asked for."""

    method: str
    function: str
    instance: int


@dataclass(frozen=True, eq=False)
class Course:
    """A run with its course; `change` is how much its operator use changes, 0 to 1."""

    outcome: Outcome
    history: History
    f_opt: float
    change: float

    @property
    def title(self) -> str:
        """What was run."""
        o = self.outcome
        name = TITLES.get(o.function, "")
        again = f", repetition {o.repetition}" if o.repetition > 1 else ""
        return f"{o.method} on {o.function} {name}, {o.dimension}-D, instance {o.instance}{again}"

    @property
    def shares(self) -> NDArray[np.float64]:
        """Each operator's share of the run's offspring."""
        total = self.history.counts.sum(axis=0)
        share: NDArray[np.float64] = total / max(1, int(total.sum()))
        return share

    @cached_property
    def data(self) -> dict[str, Any]:
        """For the script: shares and probabilities in thousandths."""
        o, h = self.outcome, self.history
        made = np.maximum(h.counts.sum(axis=1, keepdims=True), 1)
        again = np.flatnonzero(np.diff(h.restarts, prepend=0))
        error = np.maximum(h.best - self.f_opt, _FLOOR)
        return {
            "method": o.method, "function": o.function, "dimension": o.dimension,
            "instance": o.instance, "repetition": o.repetition, "title": self.title,
            "name": f"{o.function} {TITLES.get(o.function, '')}".strip(),
            "operators": list(h.operators), "evaluations": h.evaluations.tolist(),
            "shares": np.round(1000 * h.counts / made).astype(int).T.tolist(),
            "probabilities": np.round(1000 * h.probabilities).astype(int).T.tolist(),
            "error": [float(f"{e:.3g}") if np.isfinite(e) else None for e in error],
            "restarts": h.evaluations[again].tolist(), "solved": o.solved, "spent": o.evaluations,
            "stride": h.stride,
        }  # fmt: skip


def parsed(given: str | Iterable[str | tuple[str, Any, int]] | None) -> list[Chosen] | None:
    """Chosen runs from text such as "mix:8:3,JADE:1:2", or from tuples."""
    if given is None:
        return None
    each: Iterable[Any] = given.split(",") if isinstance(given, str) else given
    found = []
    for one in each:
        parts = one.strip().rsplit(":", 2) if isinstance(one, str) else one
        try:
            method, function, instance = parts
            found.append(Chosen(str(method), f"f{int(str(function).lstrip('f'))}", int(instance)))
        except (TypeError, ValueError):
            raise InvalidParameter("runs", one, FORM) from None
    if not found:
        raise InvalidParameter("runs", given, FORM)
    return found


def courses(
    experiments: Sequence[Experiment],
    chosen: Sequence[Chosen] | None,
    order: Sequence[str] = (),
) -> tuple[list[Course], int]:
    """The runs to be shown, the most telling first, and how many more there is no room for.

    Those that were chosen; else, for each method with several operators, its median solved run (or
    the median one, if none was solved) on each function, in the order of how much its operator use
    changes, the methods taking turns as in `order`.
    """
    if chosen is not None:
        found = _wanted(experiments, chosen)
    else:
        medians = _medians(experiments)
        first = [m for m in order if m in medians]
        found = list(_turns({m: medians[m] for m in dict.fromkeys((*first, *medians))}))
    size = 0
    for kept, one in enumerate(found):
        size += len(json.dumps(one.data, separators=(",", ":")))
        if size > ROOM and kept:
            return found[:kept], len(found) - kept
    return found, 0


def _wanted(experiments: Sequence[Experiment], chosen: Sequence[Chosen]) -> list[Course]:
    found = []
    for one in chosen:
        made = [
            course
            for e in experiments
            for outcome in e.outcomes
            if (outcome.method, outcome.function, outcome.instance) == one
            and outcome.status == "done"
            and (course := _course(e.store, outcome)) is not None
        ]
        if not made:
            allowed = "finished runs of a method of uaos in the stores"
            raise InvalidParameter("runs", ":".join(map(str, one)), allowed)
        found += made
    return found


def _medians(experiments: Sequence[Experiment]) -> dict[str, list[Course]]:
    """For each method with several operators a run on each function, most change first."""
    groups: dict[tuple[str, int, str], list[tuple[Outcome, Store]]] = {}
    for e in experiments:
        single = {m for m, c in e.store.configurations().items() if c.get("method") is None}
        for outcome in e.outcomes:
            if outcome.status == "done" and outcome.method not in single:
                key = (outcome.method, outcome.dimension, outcome.function)
                groups.setdefault(key, []).append((outcome, e.store))
    found: dict[str, list[Course]] = {}
    for (method, _, _), runs in groups.items():
        outcome, store = _median(runs)
        course = _course(store, outcome)
        if course is not None and len(course.history.operators) > 1:
            found.setdefault(method, []).append(course)
    for of in found.values():
        of.sort(key=lambda c: -c.change)
    return found


def _median(runs: list[tuple[Outcome, Store]]) -> tuple[Outcome, Store]:
    solved = [r for r in runs if r[0].solved]
    if solved:
        return sorted(solved, key=lambda r: r[0].evaluations)[(len(solved) - 1) // 2]
    return sorted(runs, key=lambda r: r[0].error)[(len(runs) - 1) // 2]


def _turns(of: dict[str, list[Course]]) -> Iterable[Course]:
    longest = max((len(one) for one in of.values()), default=0)
    for place in range(longest):
        for one in of.values():
            if place < len(one):
                yield one[place]


def _course(store: Store, o: Outcome) -> Course | None:
    history = store.history(o.method, o.problem, o.repetition)
    if history is None or not len(history):
        return None
    return Course(o, history, o.best - o.error, change(history))


def change(history: History) -> float:
    """How much operator use changes in a run.

    The run is cut into six parts with as many rows each; the mean over every two parts of the
    distance of their shares (total variation, 0 to 1), less what chance alone would make of it
    were the shares equal. At least 0.
    """
    parts = [p for p in np.array_split(history.counts, min(_PARTS, len(history))) if p.sum()]
    if len(parts) < 2:
        return 0.0
    sizes = np.array([p.sum() for p in parts], dtype=np.float64)
    shares = np.array([p.sum(axis=0) for p in parts]) / sizes[:, None]
    common = sizes @ shares / sizes.sum()
    # The mean distance of two normal draws of variance v is √(2 v / π).
    variance = common * (1 - common) * (1 / sizes[:, None, None] + 1 / sizes[None, :, None])
    apart = np.abs(shares[:, None] - shares[None]) - np.sqrt(2 * variance / np.pi)
    off = ~np.eye(len(parts), dtype=bool)
    return max(0.0, float(apart.sum(axis=2)[off].mean()) / 2)
