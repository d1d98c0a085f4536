"""What a search did, read off its events."""

from collections.abc import Sequence
from dataclasses import dataclass

from uaos.problems.variables import Values
from uaos.tuning.records import Candidate, Elite, Event, Iteration, Step


@dataclass
class RaceLog:
    """The candidates of a search, their results, and its last race."""

    events: Sequence[Event]
    last: Iteration

    def __post_init__(self) -> None:
        joined = [e for e in self.events if isinstance(e, Candidate)]
        self.candidates: dict[int, Values] = {c.id: c.values for c in joined}
        self.results: dict[int, dict[int, float]] = {c.id: {} for c in joined}
        for step in self.events:
            if isinstance(step, Step):
                for candidate, cost in step.costs.items():
                    self.results[candidate][step.position or 0] = cost

    @property
    def elites(self) -> tuple[Elite, ...]:
        return self.last.elites

    @property
    def best(self) -> Values:
        return self.candidates[self.elites[0].candidate]

    @property
    def used(self) -> int:
        return self.last.runs_used

    @property
    def iterations(self) -> int:
        return self.last.iteration
