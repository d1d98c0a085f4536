"""A unit of work, and what came out of it."""

import hashlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from uaos.experiments.targets import TARGETS


class Unit(NamedTuple):
    """One run of an experiment: a method on a problem, for the so-manieth time."""

    method: str
    function: int
    dimension: int
    instance: int
    repetition: int
    seed: int
    budget: int

    @property
    def key(self) -> tuple[str, int, int, int, int]:
        """What tells the unit from the others of its experiment."""
        return self[:5]

    def __str__(self) -> str:
        return (
            f"{self.method} on f{self.function}, {self.dimension}-D, instance {self.instance}, "
            f"repetition {self.repetition}"
        )


class Outcome(NamedTuple):
    """What came out of a unit.

    `error` is the best f - f_opt as measured (infinite if nothing was). `hits[t]` is the
    evaluation, counted from 1, at which f - f_opt <= TARGETS[t] was first seen, -1 for never.
    `status` is "done", or "failed" with the `reason`.
    """

    method: str
    function: int
    dimension: int
    instance: int
    repetition: int
    seed: int
    budget: int
    evaluations: int
    error: float
    hits: NDArray[np.int64]
    seconds: float
    status: str
    reason: str

    @property
    def solved(self) -> bool:
        """Whether the final target was reached."""
        return bool(self.hits[-1] > 0)


class Finished(NamedTuple):
    """An outcome with the course of its run, packed (see `uaos.experiments.course`)."""

    outcome: Outcome
    course: bytes | None


def derived_seed(experiment: int, *identity: Any) -> int:
    """A unit's seed: a hash of the experiment's seed and the unit's identity, and nothing else."""
    text = "\x1f".join(map(str, (experiment, *identity)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def failed(unit: Unit, reason: str) -> Finished:
    """The record of a unit of which nothing came back."""
    hits = np.full(len(TARGETS), -1, np.int64)
    outcome = Outcome(
        *unit, evaluations=0, error=float("inf"), hits=hits, seconds=0.0, status="failed",
        reason=reason[:1000],
    )  # fmt: skip
    return Finished(outcome, None)
