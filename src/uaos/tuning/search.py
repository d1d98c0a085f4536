"""A search: the task of a tuner."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from uaos.errors import InvalidParameter
from uaos.problems import Problem
from uaos.problems.variables import Space, Values
from uaos.text import count
from uaos.tuning.race import Evaluate, Rules
from uaos.tuning.records import Event, Iteration


@dataclass(frozen=True)
class Search:
    """Task of a tuner; its result depends on nothing else.

    Attributes
    ----------
    space : Space
        Search space.
    instances : sequence of Problem
        Problems that candidates run on.
    runs : int
        Total number of runs.
    seed : int
    initial : sequence of mappings
        Candidates that take part in the first race.
    rules : Rules
        Rules of the races.
    works : callable
        Returns whether a candidate that the space allows can run.
    """

    space: Space
    instances: Sequence[Problem]
    runs: int
    seed: int = 1
    initial: Sequence[Values] = ()
    rules: Rules = field(default_factory=Rules)
    works: Callable[[Values], bool] = lambda _: True

    def check(self) -> None:
        """Raise an error if there are no free parameters, too few runs, or an invalid seed."""
        if not self.space.free:
            raise InvalidParameter(
                "all parameters of the search space are fixed; leave at least one free",
                name="space", value=self.space,
            )  # fmt: skip
        least = least_budget(self.space.free, self.rules)
        if self.runs < least:
            free = count(self.space.free, "free parameter")
            raise InvalidParameter(
                f"{count(self.runs, 'run')} cannot tune {free}; allow at least {least:,} runs, or "
                "fix some parameters (--fix, --method)",
                name="runs", value=self.runs,
            )  # fmt: skip
        if not isinstance(self.seed, int) or self.seed < 0:
            raise InvalidParameter(
                f"seed is {self.seed!r}; expected a non-negative integer",
                name="seed", value=self.seed,
            )  # fmt: skip

    def initial_candidates(self) -> list[Values]:
        """Return the initial candidates without duplicates; raise if one is not in the space."""
        candidates: list[Values] = []
        for number, values in enumerate(self.initial, start=1):
            checked = self.space.check(values, f"initial candidate {number}")
            if checked not in candidates:
                candidates.append(checked)
        return candidates


#: Searches with the costs that `evaluate` gives, reports events, and returns the last iteration.
Tuner = Callable[[Search, Evaluate, Callable[[Event], None]], Iteration]


def races_planned(free: int) -> int:
    """Return the number of races J, and of survivors S, for N free variables: ⌊2 + log₂ N⌋."""
    return math.floor(2 + math.log2(max(1, free)))


def least_budget(free: int, rules: Rules | None = None) -> int:
    """Return the smallest number of runs that suffices for all planned races: (S + 1) J T.

    T = m + e + (J-5) Tnew + 5 max(e, Tnew) if J > 5, else m + e + (J-1) max(e, Tnew), with m the
    instances that each new candidate should see and e those between tests.
    """
    r = rules or Rules()
    J = races_planned(free)
    more = max(r.each_test, r.new_instances)
    T = r.least + r.each_test + max(0, J - 5) * r.new_instances + min(J - 1, 5) * more
    return (J + 1) * J * T
