"""What happens in a race of irace, from what it prints and the runs it asks for.

irace prints a line when an iteration begins, a row for each instance, why the race ended, and the
survivors. It does not print who left; that follows from the costs, by the same test, and from how
many it says are left.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from uaos.params import Value
from uaos.tuning.racer import (
    TESTS,
    Costs,
    Dropped,
    Elite,
    Event,
    IterationEnded,
    IterationStarted,
    Rules,
    Sampled,
    Step,
    ranks,
)

_ITERATION = re.compile(r"^# .*: Iteration (\d+) of (\d+)$")
_BUDGET = re.compile(r"^# currentBudget: (\d+)$")
# |marker|instance|alive|best|mean of the best|runs|time|…
_ROW = re.compile(r"^\|([-x=!.c])\| *(\d+)\| *(\d+)\| *(\d+)\| *[^|]*\| *(\d+)\|")
_WHY = re.compile(r"^# Stopped because (.*)$")
_SURVIVORS = re.compile(r"^# .*: Elite configurations \(first number is the configuration ID")
_SURVIVOR = re.compile(r"^ *(\d+)(?: |$)")

# Markers of rows after which the test was made.
_TESTED = "-=!"


class Run(NamedTuple):
    """A run that irace asked for, in our terms."""

    id: int
    parent: int | None
    values: Mapping[str, Value]
    instance: Any
    seed: int


class Transcript:
    """Turns a session of irace into events; `initial` is how many candidates it was given.

    Feed it every line that irace prints, every batch before it is run, and its costs after.
    """

    def __init__(self, initial: int, rules: Rules) -> None:
        self._initial, self._rules = initial, rules
        self.candidates: dict[int, Mapping[str, Value]] = {}
        self.results: dict[int, dict[int, float]] = {}
        self.elites: tuple[Elite, ...] = ()
        self.iteration = 0
        self.used = 0
        self._planned = self._budget = 0
        self._places: dict[int, tuple[str, int]] = {}
        self._alive: list[int] = []
        self._unseen: dict[int, set[int]] = {}  # results that protect an elite
        self._covered: list[int] = []
        self._why = ""
        self._batch: tuple[Sequence[Run], Sequence[float]] | None = None
        self._survivors: list[int] | None = None

    # What comes

    def line(self, text: str) -> list[Event]:
        """What a printed line tells."""
        events: list[Event] = []
        if self._survivors is not None:
            if found := _SURVIVOR.match(text):
                self._survivors.append(int(found[1]))
                return []
            if self._survivors:
                events = self.end()
        if found := _ITERATION.match(text):
            self.iteration, self._planned = int(found[1]), int(found[2])
            self._alive, self._covered, self._why = [], [], ""
        elif found := _BUDGET.match(text):
            self._budget = int(found[1])
        elif found := _WHY.match(text):
            self._why = found[1]
        elif _SURVIVORS.match(text):
            self._survivors = []
        elif found := _ROW.match(text):
            events += self._row(found[1], *(int(found[i]) for i in (2, 3, 4)))
        return events

    def batch(self, runs: Sequence[Run]) -> list[Event]:
        """Who joins, and the start of a race if this is its first batch."""
        events: list[Event] = []
        for run in runs:
            if run.id not in self.candidates:
                self.candidates[run.id] = run.values
                self.results[run.id] = {}
                events.append(self._sampled(run))
        if not self._alive:
            elites = [e.id for e in self.elites]
            self._alive = elites + [run.id for run in runs if run.id not in elites]
            self._unseen = {i: set(self.results[i]) for i in elites}
            events.append(
                IterationStarted(self.iteration, self._planned, self._budget, tuple(self._alive))
            )
        return events

    def costs(self, runs: Sequence[Run], costs: Sequence[float], used: int) -> None:
        """What the batch cost; `used` counts runs that irace pays for."""
        self._batch = (runs, costs)
        self.used += used

    def end(self) -> list[Event]:
        """The end of the race, once all its survivors are known."""
        ids, self._survivors = self._survivors, None
        if not ids:
            return []
        self.elites = survivors(ids, self.results, self._alive, self._covered)
        return [IterationEnded(self.iteration, self._why, self.elites, self.used)]

    # Inside

    def _sampled(self, run: Run) -> Sampled:
        origin = "initial" if run.id <= self._initial else "uniform"
        if self.iteration > 1:
            origin = "model"
        return Sampled(run.id, self.iteration, run.parent, run.values, origin)

    def _row(self, marker: str, number: int, left: int, best: int) -> list[Event]:
        place = number - 1
        new: dict[int, float] = {}
        if self._batch is not None:
            runs, costs = self._batch
            new = {run.id: cost for run, cost in zip(runs, costs, strict=True)}
            if runs:
                self._places[place] = (str(runs[0].instance), runs[0].seed)
            self._batch = None
        for one, cost in new.items():
            self.results[one][place] = cost
        self._covered.append(place)
        for one in self._unseen:
            self._unseen[one].discard(place)
        dropped = [Dropped(i, math.nan, "failed") for i, cost in new.items() if cost == math.inf]
        self._drop(dropped)
        statistic = p_value = math.nan
        if marker in _TESTED and len(self._alive) > 1:
            statistic, p_value, losers = self._losers(left)
            self._drop(losers)
            dropped += losers
        instance, seed = self._places.get(place, ("", 0))
        known = [self.results[best][p] for p in self._covered if p in self.results.get(best, {})]
        return [Step(
            self.iteration, len(self._covered), place, instance, seed, new, left, best,
            float(np.mean(known or [math.nan])), statistic, p_value, tuple(dropped), self.used,
        )]  # fmt: skip

    def _drop(self, losers: Sequence[Dropped]) -> None:
        gone = {one.id for one in losers}
        self._alive = [i for i in self._alive if i not in gone]

    def _losers(self, left: int) -> tuple[float, float, list[Dropped]]:
        """Who left: as many as irace says. Where our test disagrees, its numbers are not told."""
        table = _table(self.results, self._alive, self._covered)
        if not len(table):
            return math.nan, math.nan, []
        statistic, p_value, stays = TESTS[self._rules.test](table, self._rules.alpha)
        sums = ranks(table).sum(axis=0)
        free = [i for i, one in enumerate(self._alive) if not self._unseen.get(one)]
        gone = [i for i in free if not stays[i]]
        expected = max(0, len(self._alive) - left)
        if len(gone) != expected:
            gone = sorted(sorted(free, key=lambda i: -sums[i])[:expected])
            statistic = p_value = math.nan
        reason = self._rules.test + ("" if math.isnan(p_value) else f", p = {p_value:.3g}")
        return statistic, p_value, [
            Dropped(self._alive[i], float(sums[i]), reason) for i in gone
        ]  # fmt: skip


def survivors(
    ids: Sequence[int], results: Mapping[int, Mapping[int, float]], alive: Sequence[int],
    covered: Sequence[int],
) -> tuple[Elite, ...]:  # fmt: skip
    """The survivors of a race in irace's order; rank sums are among all that were alive."""
    company = list(alive) if set(ids) <= set(alive) else list(ids)
    table = _table(results, company, covered)
    totals = ranks(table).sum(axis=0) if len(table) else np.full(len(company), math.nan)
    sums = dict(zip(company, map(float, totals), strict=True))
    return tuple(
        Elite(i, rank, len(results[i]), sums[i], float(np.mean(list(results[i].values()))))
        for rank, i in enumerate(ids, start=1)
    )


def _table(
    results: Mapping[int, Mapping[int, float]], columns: Sequence[int], rows: Sequence[int]
) -> Costs:
    """The costs on the instances that all have been run on."""
    shared = [p for p in rows if all(p in results[i] for i in columns)]
    return np.array([[results[i][p] for i in columns] for p in shared])
