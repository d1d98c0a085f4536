"""Summaries of a tuning: its survivors, the values drawn, and the importance of parameters."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from uaos.arrays import FloatArray, IntArray
from uaos.errors import UnknownName
from uaos.params import Value
from uaos.selection.components import FAMILIES
from uaos.statistics import rank_rows
from uaos.table import NUMBER, TEXT, Column, Table
from uaos.tuning.race import shared_costs
from uaos.tuning.records import Tuning, VariableData
from uaos.tuning.store import TuningStore

#: An open store and the number of one of its tunings.
TuningSource = tuple[TuningStore, int]

# Groups of equal size into which the values of a number are cut.
_GROUPS = 4
# Smallest number of degrees of freedom within groups for an estimate of importance.
_MIN_FREEDOM = 10


@dataclass(frozen=True)
class Drawn:
    """Values of a parameter that were drawn, race by race.

    `new` counts the candidates that were new in a race; `values` are those of candidates that have
    the parameter. `winner` is None if the winner does not have it. `choices` are the values of a
    choice; a number has a range from `low` to `high` instead.
    """

    name: str
    values: tuple[tuple[Value, ...], ...]
    new: tuple[int, ...]
    winner: Value | None
    choices: tuple[Value, ...] = ()
    low: float = 0.0
    high: float = 1.0
    log: bool = False

    @property
    def shares(self) -> FloatArray:
        """Share of each value of a choice among the new candidates, one row per race."""
        counts = [[race.count(choice) for choice in self.choices] for race in self.values]
        return np.array(counts, dtype=np.float64) / np.maximum(self.new, 1)[:, None]


class Survival(NamedTuple):
    """Candidates of a race at its start and after each step."""

    iteration: int
    alive: tuple[int, ...]


class Importance(NamedTuple):
    """Share of the variance of ranks that a parameter explains, judged by `candidates`.

    A share below `noise` may be due to chance.
    """

    name: str
    share: float
    noise: float
    candidates: int


def candidate_words(values: Mapping[str, Value]) -> str:
    """Describe a candidate in one line."""
    main = " · ".join(str(values[family]) for family in FAMILIES if family in values)
    rest = ", ".join(f"{k} {v}" for k, v in values.items() if k not in FAMILIES)
    return f"{main} | {rest}" if main else rest


def survivors_table(store: TuningStore, tuning: int) -> Table:
    """Return a table of the survivors of a tuning, best first."""
    entry = _entry(store, tuning)
    values = {c.id: c.values for c in store.candidates(tuning)}
    names = [variable["name"] for variable in entry.setup["space"]]
    free = [variable["name"] for variable in _free(entry)]
    records = []
    for elite in store.survivors(tuning):
        own = values[elite.candidate]
        words = candidate_words({name: own[name] for name in free if name in own})
        cells = {name: own.get(name, "") for name in names}
        records.append({**elite._asdict(), "configuration": words, **cells})
    columns: dict[str, Column] = {
        "rank": (NUMBER, "rank"), "runs": (NUMBER, "instances"),
        "rank sum": (NUMBER, "rank_sum", "{:g}".format),
        "mean cost": (NUMBER, "mean_cost", "{:.3g}".format),
        "configuration": (TEXT, "configuration"),
    }  # fmt: skip
    # The mean of values with different scales is meaningless.
    if any(np.isnan(p.optimum) for p in store.problems() if p.name in entry.setup["problems"]):
        del columns["mean cost"]
    note = "No test was made: too few problems."
    for step in store.steps(tuning):
        if not np.isnan(step.pvalue):
            note = (
                f"Last test ({entry.setup['rules']['test']}), in race {step.iteration} after "
                f"{step.step} runs each: p = {step.pvalue:.2g}. Survivors that do not differ "
                "significantly are ordered by their ranks."
            )
    table = Table.from_records("survivors", "Survivors, best first", columns, records, note)
    return replace(table, rows=(replace(table.rows[0], kind="winner"), *table.rows[1:]))


def frequencies(store: TuningStore, tuning: int) -> dict[str, Drawn]:
    """Return the values of each free parameter that were drawn in each iteration.

    Survivors of earlier races count in the iteration that they were drawn in.

    Parameters
    ----------
    store : TuningStore
    tuning : int
        The number of the tuning.

    Returns
    -------
    dict of str to Drawn
        By parameter.

    Examples
    --------
    >>> from uaos.tuning import TuningStore
    >>> from uaos.tuning.summaries import frequencies
    >>> with TuningStore.open("tuning.db") as store:
    ...     print("F" in frequencies(store, 1))
    True
    """
    entry = _entry(store, tuning)
    candidates = store.candidates(tuning)
    last = max((c.iteration for c in candidates), default=0)
    drawn = [[c.values for c in candidates if c.iteration == j] for j in range(1, last + 1)]
    leader = [e.candidate for e in store.survivors(tuning)[:1]]
    best = next((c.values for c in candidates if c.id in leader), {})
    new = tuple(map(len, drawn))
    by_name: dict[str, Drawn] = {}
    for variable in _free(entry):
        name = variable["name"]
        values = tuple(tuple(c[name] for c in race if name in c) for race in drawn)
        by_name[name] = Drawn(
            name, values, new, best.get(name), tuple(variable.get("choices", ())),
            variable.get("low", 0.0), variable.get("high", 1.0), variable.get("log", False),
        )  # fmt: skip
    return by_name


def survival(store: TuningStore, tuning: int) -> list[Survival]:
    """Return the races, in their order."""
    _entry(store, tuning)
    members, steps = _members(store, tuning), store.steps(tuning)
    return [
        Survival(j, (len(members[j]), *(s.alive for s in steps if s.iteration == j)))
        for j in dict.fromkeys(s.iteration for s in steps)
    ]


def importance(store: TuningStore, tuning: int) -> list[Importance]:
    """Estimate how much each parameter mattered, the most important first.

    In each race all candidates run on the same first instances. Their mean ranks there, from 0 for
    the best to 1 for the worst, are explained by the parameter: candidates are grouped by its value
    (numbers are cut into quarters), and the share is the part of the variance within races that
    lies between groups, less what as many random groups would explain (ε², at least 0),

        ε² = (B - b W / w) / (B + W)

    with sums of squares B between and W within groups, b and w their degrees of freedom. For a
    parameter without effect, ε² spreads by about √(2b) / w around 0; `noise` is twice that.

    Read it with care. It considers one parameter at a time and no interactions. A conditional
    parameter is judged among the candidates that have it. Candidates of later races are drawn
    around survivors: a parameter that was settled early no longer varies and counts by the first
    races, and parameters that were inherited together share the credit, so that shares need not add
    up to 1. Parameters that vary too little are omitted.

    Parameters
    ----------
    store : TuningStore
    tuning : int
        The number of the tuning.

    Returns
    -------
    list of Importance
        One for each parameter that varied enough.

    Examples
    --------
    >>> from uaos.tuning import TuningStore
    >>> from uaos.tuning.summaries import importance
    >>> with TuningStore.open("tuning.db") as store:
    ...     names = [parameter.name for parameter in importance(store, 1)]
    """
    entry = _entry(store, tuning)
    values = {c.id: c.values for c in store.candidates(tuning)}
    races = _mean_ranks(store, tuning)
    estimates = []
    for variable in _free(entry):
        name = variable["name"]
        total = between = 0.0  # sums of squares
        b = w = count = 0  # degrees of freedom, and candidates
        for race in races:
            having = [c for c in race if name in values[c]]
            if len(having) > 1:
                order = np.array([race[c] for c in having])
                groups = _groups([values[c][name] for c in having], "choices" in variable)
                mean, kinds = order.mean(), np.unique(groups)
                parts = [order[groups == kind] for kind in kinds]
                between += sum(len(part) * float((part.mean() - mean) ** 2) for part in parts)
                total += float(((order - mean) ** 2).sum())
                b, w, count = b + len(kinds) - 1, w + len(order) - len(kinds), count + len(order)
        if w >= _MIN_FREEDOM and b and total > 0:
            share = max(0.0, (between - b * (total - between) / w) / total)
            estimates.append(Importance(name, share, float(2 * np.sqrt(2 * b) / w), count))
    return sorted(estimates, key=lambda estimate: -estimate.share)


def _groups(values: list[Value], is_choice: bool) -> IntArray:
    """Return the group of each value: that of a choice, or the quarter of a number."""
    if is_choice:
        return np.unique([str(v) for v in values], return_inverse=True)[1].astype(np.int64)
    numbers = np.array(values, dtype=np.float64)
    cuts = np.quantile(numbers, np.arange(1, _GROUPS) / _GROUPS)
    return np.searchsorted(cuts, numbers, side="right").astype(np.int64)


def _mean_ranks(store: TuningStore, tuning: int) -> list[dict[int, float]]:
    """Return the mean ranks, in [0, 1], of the candidates of each race on shared instances."""
    costs: defaultdict[int, dict[int, float]] = defaultdict(dict)
    for result in store.results(tuning):
        costs[result.candidate][result.position] = result.cost
    races = []
    for members in _members(store, tuning).values():
        ran = [candidate for candidate in members if candidate in costs]
        table = shared_costs(costs, ran, sorted(costs[ran[0]])) if ran else np.empty(0)
        if len(ran) > 1 and len(table):
            mean = ((rank_rows(table) - 1) / (len(ran) - 1)).mean(axis=0)
            races.append(dict(zip(ran, map(float, mean), strict=True)))
    return races


def _members(store: TuningStore, tuning: int) -> dict[int, tuple[int, ...]]:
    """Return the candidates of each race: survivors of the one before, and new ones."""
    elites, candidates = store.elites(tuning), store.candidates(tuning)
    return {
        j: (*(e.candidate for e in elites if e.iteration == j - 1),
            *(c.id for c in candidates if c.iteration == j))
        for j in sorted({c.iteration for c in candidates})
    }  # fmt: skip


def _free(entry: Tuning) -> list[VariableData]:
    """Return the parameters that were not fixed."""
    return [v for v in entry.setup["space"] if "choices" not in v or len(v["choices"]) > 1]


def _entry(store: TuningStore, tuning: int) -> Tuning:
    tunings = {t.id: t for t in store.tunings()}
    if tuning not in tunings:
        raise UnknownName("tuning", tuning, map(str, tunings), hint=f"(in {store.path})")
    return tunings[tuning]
