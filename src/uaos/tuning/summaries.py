"""What a tuning says: its survivors, the values drawn, and the importance of parameters."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from uaos.errors import UnknownName
from uaos.params import Value
from uaos.selection.components import FAMILIES
from uaos.statistics import rank_rows
from uaos.table import NUMBER, TEXT, Table
from uaos.tuning.race import shared_costs
from uaos.tuning.records import Tuning
from uaos.tuning.store import TuningStore

#: An open store and the number of one of its tunings.
TuningSource = tuple[TuningStore, int]

# Groups that the values of a number are cut into, as many candidates in each.
_GROUPS = 4
# Degrees of freedom within groups, below which nothing is said.
_LEAST = 10


@dataclass(frozen=True)
class Drawn:
    """The values of a parameter that were drawn, race by race.

    `new` counts the candidates that were new in a race; `values` are of those that have the
    parameter. `winner` is None where the winner has not. `choices` are the values of a choice; a
    number has none, but the range from `low` to `high`.
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
    def shares(self) -> NDArray[np.float64]:
        """The share of each value of a choice among all candidates new in a race: a row a race."""
        counts = [[race.count(one) for one in self.choices] for race in self.values]
        return np.array(counts, dtype=np.float64) / np.maximum(self.new, 1)[:, None]


class Survival(NamedTuple):
    """A race: how many candidates it began with, and how many were alive after each step."""

    iteration: int
    alive: tuple[int, ...]


class Importance(NamedTuple):
    """How much a parameter mattered, as a share of 1, judged by so many candidates.

    A share below `noise` may well be chance.
    """

    name: str
    share: float
    noise: float
    candidates: int


def candidate_words(values: Mapping[str, Value]) -> str:
    """A candidate in one line."""
    main = " · ".join(str(values[family]) for family in FAMILIES if family in values)
    rest = ", ".join(f"{k} {v}" for k, v in values.items() if k not in FAMILIES)
    return f"{main} | {rest}" if main else rest


def survivors_table(store: TuningStore, tuning: int) -> Table:
    """The survivors of a tuning of which a race is over, best first."""
    entry = _entry(store, tuning)
    values = {c.id: c.values for c in store.candidates(tuning)}
    names, free = ([v["name"] for v in of] for of in (entry.setup["space"], _free(entry)))
    records = []
    for elite in store.survivors(tuning):
        own = values[elite.candidate]
        words = candidate_words({name: own[name] for name in free if name in own})
        own = {name: own.get(name, "") for name in names}
        records.append({**elite._asdict(), "configuration": words, **own})
    columns: dict[str, tuple[Any, ...]] = {
        "rank": (NUMBER, "rank"), "runs": (NUMBER, "instances"),
        "rank sum": (NUMBER, "rank_sum", "{:g}".format),
        "mean cost": (NUMBER, "mean_cost", "{:.3g}".format),
        "configuration": (TEXT, "configuration"),
    }  # fmt: skip
    # Values of problems on scales of their own have no mean that says anything.
    if any(np.isnan(p.optimum) for p in store.problems() if p.name in entry.setup["problems"]):
        del columns["mean cost"]
    note, test = "No test was made: too few problems.", entry.setup["rules"].get("test", "friedman")
    for step in store.steps(tuning):
        if not np.isnan(step.pvalue):
            note = (
                f"Last test ({test}), in race {step.iteration} after {step.step} problems: "
                f"p = {step.pvalue:.2g}. Survivors that do not differ significantly are ordered by "
                "their ranks."
            )
    made = Table.from_records("survivors", "Survivors, best first", columns, records, note)
    return replace(made, rows=(replace(made.rows[0], kind="winner"), *made.rows[1:]))


def frequencies(store: TuningStore, tuning: int) -> dict[str, Drawn]:
    """Which values of each free parameter were drawn in each iteration.

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
    found: dict[str, Drawn] = {}
    for variable in _free(entry):
        name, told = variable["name"], ("choices", "low", "high", "log")
        domain = {key: variable[key] for key in told if key in variable}
        if "choices" in domain:
            domain["choices"] = tuple(domain["choices"])
        values = tuple(tuple(one[name] for one in race if name in one) for race in drawn)
        found[name] = Drawn(name, values, new, best.get(name), **domain)
    return found


def survival(store: TuningStore, tuning: int) -> list[Survival]:
    """Return the races, in their order."""
    _entry(store, tuning)
    members, steps = _members(store, tuning), store.steps(tuning)
    return [
        Survival(j, (len(members[j]), *(s.alive for s in steps if s.iteration == j)))
        for j in dict.fromkeys(s.iteration for s in steps)
    ]


def importance(store: TuningStore, tuning: int) -> list[Importance]:
    """Which parameters mattered, the most important first.

    In each race every candidate is run on the same first instances. Its mean rank there, from 0 for
    the best to 1 for the worst, is what is explained: candidates are grouped by their value of the
    parameter (a number is cut into quarters), and the share is that of the variance within races
    which lies between groups, less what as many random groups would explain (ε², at least 0),

        ε² = (B - b W / w) / (B + W)

    with sums of squares B between and W within groups, b and w their degrees of freedom. For a
    parameter that does nothing ε² spreads by about √(2b) / w around 0; `noise` is twice that.

    To be read with care. It sees one parameter at a time, no interaction. A parameter that others
    switch on is judged among the candidates that have it. Later races are drawn around survivors:
    what the tuning has settled early no longer varies and counts by its first races, and parameters
    that were inherited together share the credit, so that shares need not add up to 1. Parameters
    of which too few candidates differ are left out.

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
    ...     names = [found.name for found in importance(store, 1)]
    """
    entry = _entry(store, tuning)
    values = {c.id: c.values for c in store.candidates(tuning)}
    races = _mean_ranks(store, tuning)
    found = []
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
        if w >= _LEAST and b and total > 0:
            share = max(0.0, (between - b * (total - between) / w) / total)
            found.append(Importance(name, share, float(2 * np.sqrt(2 * b) / w), count))
    return sorted(found, key=lambda one: -one.share)


def _groups(values: list[Any], choice: bool) -> NDArray[np.int64]:
    if choice:
        return np.unique([str(v) for v in values], return_inverse=True)[1].astype(np.int64)
    numbers = np.array(values, dtype=np.float64)
    cuts = np.quantile(numbers, np.arange(1, _GROUPS) / _GROUPS)
    return np.searchsorted(cuts, numbers, side="right").astype(np.int64)


def _mean_ranks(store: TuningStore, tuning: int) -> list[dict[int, float]]:
    """For each race, the candidates' mean ranks in [0, 1] on what all of them were run on."""
    costs: defaultdict[int, dict[int, float]] = defaultdict(dict)
    for one in store.results(tuning):
        costs[one.candidate][one.position] = one.cost
    found = []
    for members in _members(store, tuning).values():
        known = [c for c in members if c in costs]
        table = shared_costs(costs, known, sorted(costs[known[0]])) if known else np.empty(0)
        if len(known) > 1 and len(table):
            mean = ((rank_rows(table) - 1) / (len(known) - 1)).mean(axis=0)
            found.append(dict(zip(known, map(float, mean), strict=True)))
    return found


def _members(store: TuningStore, tuning: int) -> dict[int, tuple[int, ...]]:
    """Who each race began with: the survivors of the one before, and those drawn for it."""
    elites, candidates = store.elites(tuning), store.candidates(tuning)
    return {
        j: (*(e.candidate for e in elites if e.iteration == j - 1),
            *(c.id for c in candidates if c.iteration == j))
        for j in sorted({c.iteration for c in candidates})
    }  # fmt: skip


def _free(entry: Tuning) -> list[dict[str, Any]]:
    """The parameters that had something to search."""
    space: list[dict[str, Any]] = entry.setup["space"]
    return [v for v in space if len(v.get("choices", "ab")) > 1]


def _entry(store: TuningStore, tuning: int) -> Tuning:
    found = {t.id: t for t in store.tunings()}
    if tuning not in found:
        raise UnknownName("tuning", tuning, map(str, found), hint=f"(in {store.path})")
    return found[tuning]
