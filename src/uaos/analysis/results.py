"""What came out of experiments, arranged for analysis: the runs of a method on a function."""

import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uaos.errors import InvalidParameter, UnknownName
from uaos.experiments.plan import UNIFORM
from uaos.experiments.store import Outcome, Store, differing
from uaos.experiments.targets import FINAL, TARGETS
from uaos.problems import natural_key


@dataclass(frozen=True)
class Runs:
    """The runs of one method on one function in one dimension, a row or an entry each.

    `hits[i, j]` is the evaluation, counted from 1, at which run i first came within `TARGETS[j]` of
    the optimum, or -1; `evaluations[i]` is how many it made in all; `errors[i]` is how close it
    came.
    """

    method: str
    dimension: int
    function: str
    instances: NDArray[np.int64]
    evaluations: NDArray[np.int64]
    errors: NDArray[np.float64]
    hits: NDArray[np.int64]
    budgets: NDArray[np.int64]
    #: Where what is computed from the runs is kept, for those who ask again.
    kept: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.evaluations)

    def evaluations_to(self, targets: ArrayLike) -> NDArray[np.float64]:
        """Evaluations to each target (rows) in each run (columns); NaN where it was missed."""
        hits = self.hits[:, [column(float(t)) for t in np.atleast_1d(targets)]].T
        return np.where(hits > 0, hits, np.nan)

    @property
    def solved(self) -> int:
        """How many runs reached the final target, 1e-8."""
        return int((self.hits[:, column(FINAL)] > 0).sum())

    def cut(self, budget: int) -> "Runs":
        """The same runs, had they been stopped after `budget` evaluations.

        Errors are those of the whole runs: how close a run was half-way is not recorded.
        """
        hits = np.where(self.hits > budget, -1, self.hits)
        return replace(
            self, hits=hits, evaluations=np.minimum(self.evaluations, budget),
            budgets=np.minimum(self.budgets, budget),
        )  # fmt: skip

    def on(self, instances: Iterable[int]) -> "Runs":
        """The runs on these instances only."""
        keep = np.isin(self.instances, list(instances))
        return replace(
            self, instances=self.instances[keep], evaluations=self.evaluations[keep],
            errors=self.errors[keep], hits=self.hits[keep], budgets=self.budgets[keep],
        )  # fmt: skip


@cache
def random_stream(function: str) -> int:
    """The number that a function's random draws are derived from: 12 for f12."""
    number = re.fullmatch(r"f(\d+)", function)
    return int(number[1]) if number else zlib.crc32(function.encode())


@cache
def column(target: float) -> int:
    """Where a target stands among the recorded ones."""
    near = int(np.argmin(np.abs(np.log10(TARGETS) - np.log10(target)))) if target > 0 else -1
    if not np.isclose(TARGETS[near], target, rtol=1e-6, atol=0):
        # In digits enough to be taken for it.
        allowed = (
            f"one of {len(TARGETS)} from {TARGETS[0]:g} to {TARGETS[-1]:g}; "
            f"the nearest is {TARGETS[near]:.8g}"
        )
        raise InvalidParameter("target", target, allowed)
    return near


@dataclass(frozen=True)
class Results:
    """Runs of several methods, by (method, dimension, function); failed units are counted only."""

    runs: Mapping[tuple[str, int, str], Runs]
    failed: Mapping[str, int] = field(default_factory=dict)
    configurations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods, in the order in which they first appear."""
        return tuple(dict.fromkeys(method for method, _, _ in self.runs))

    @property
    def dimensions(self) -> tuple[int, ...]:
        """The dimensions, ascending."""
        return tuple(sorted({dimension for _, dimension, _ in self.runs}))

    @property
    def functions(self) -> tuple[str, ...]:
        """The functions, in natural order: f2 before f10."""
        return tuple(sorted({function for _, _, function in self.runs}, key=natural_key))

    def of(self, method: str, dimension: int) -> list[Runs]:
        """One method's runs in one dimension, function by function."""
        keys = [k for k in self.runs if k[0] == method and k[1] == dimension]
        return [self.runs[k] for k in sorted(keys, key=lambda k: natural_key(k[2]))]

    def select(
        self,
        *,
        methods: Sequence[str] | None = None,
        functions: Iterable[str] | None = None,
        dimension: int | None = None,
    ) -> "Results":
        """Only these methods (uniform choice always stays), functions and dimension."""
        for name in methods or ():
            if name not in (known := {*self.methods, *self.failed}):
                raise UnknownName("method", name, sorted(known), hint="(of those in the stores)")
        wanted = None if methods is None else (*methods, UNIFORM)
        order = self.methods if wanted is None else tuple(dict.fromkeys(wanted))
        kept = None if functions is None else set(functions)
        runs = {
            key: runs
            for name in order
            for key, runs in self.runs.items()
            if key[0] == name
            and (dimension is None or key[1] == dimension)
            and (kept is None or key[2] in kept)
        }
        failed = {m: n for m, n in self.failed.items() if wanted is None or m in wanted}
        return Results(runs, failed, self.configurations)

    @classmethod
    def from_outcomes(
        cls,
        outcomes: Iterable[Outcome],
        configurations: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> "Results":
        """Arrange outcomes; the same run met twice (in two stores) counts once."""
        done: dict[tuple[Any, ...], Outcome] = {}
        failed: dict[tuple[Any, ...], Outcome] = {}
        for o in outcomes:
            unit = (o.method, o.problem, o.repetition, o.seed)
            if o.status != "done":
                failed[unit] = o
            elif unit in done and done[unit].budget != o.budget:
                name = f"{o.method} on {o.problem}"
                budgets = f"{done[unit].budget:,} and {o.budget:,}"
                raise InvalidParameter(
                    "budget", budgets, "one for the same run in all stores", owner=name
                )
            else:
                done.setdefault(unit, o)
        groups: dict[tuple[str, int, str], list[Outcome]] = {}
        for o in done.values():
            groups.setdefault((o.method, o.dimension, o.function), []).append(o)
        counts: dict[str, int] = {}
        for unit in failed.keys() - done.keys():
            counts[unit[0]] = counts.get(unit[0], 0) + 1
        runs = {key: _gathered(key, group) for key, group in groups.items()}
        return cls(runs, dict(sorted(counts.items())), configurations or {})

    @classmethod
    def read(cls, *paths: str | PathLike[str]) -> "Results":
        """The results in one or several stores.

        A name must mean the same in all of them: two configurations of one name are refused.
        """
        outcomes: list[Outcome] = []
        configurations: dict[str, Mapping[str, Any]] = {}
        for path in paths:
            with Store.open(path) as store:
                for name, made in store.configurations().items():
                    if found := differing(name, configurations.setdefault(name, made), made):
                        allowed = "the same configuration in all stores"
                        raise InvalidParameter("; ".join(found[:4]), name, allowed, owner=str(path))
                    outcomes += store.outcomes(name)
        return cls.from_outcomes(outcomes, configurations)


def _gathered(key: tuple[str, int, str], group: list[Outcome]) -> Runs:
    group = sorted(group, key=lambda o: (o.instance or 0, o.problem, o.repetition, o.seed))
    return Runs(
        *key,
        instances=np.array([o.instance or 0 for o in group], np.int64),
        evaluations=np.array([o.evaluations for o in group], np.int64),
        errors=np.array([o.error for o in group], np.float64),
        hits=np.array([o.hits for o in group], np.int64).reshape(len(group), len(TARGETS)),
        budgets=np.array([o.budget for o in group], np.int64),
    )
