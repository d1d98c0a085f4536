"""Simulate portfolios on recorded runs of their members, without evaluations.

Members of a portfolio do not see each other's points. The first n evaluations of a member are
therefore the same in any portfolio, and a run of each member alone, recorded once by `uaos bench`,
is enough to replay any selector:

    from uaos.tuning import Recordings, tune

    if __name__ == "__main__":
        recordings = Recordings("members.db")
        tuned = tune(recordings.plan(runs=2000), "selector.db", work=recordings.simulation)
        tuned.best.to_toml("selector.toml")

docs/portfolio.md says what is not exact, and by how much: recorded improvements are thinned, batch
sizes are read from the history of the run, consecutive batches of a member without an improvement
are one slice (`resolution` limits it), and only the recorded budget can be simulated.
"""

import dataclasses
import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from uaos.arrays import FloatArray, IntArray
from uaos.errors import InvalidFile, InvalidParameter, UnknownName
from uaos.experiments.recorder import NO_TRACE, TARGETS, Trace
from uaos.experiments.store import Store
from uaos.experiments.unit import Outcome
from uaos.files import as_path
from uaos.history import History
from uaos.optimizers.configuration import UNIFORM, Configuration
from uaos.optimizers.portfolio import Member, Turns, continuing, default_members
from uaos.problems import Problem, Suite
from uaos.selection.method import Method
from uaos.tuning.design_space import Design, portfolio_design
from uaos.tuning.plan import TuningPlan, check_training

#: Largest number of evaluations of a slice, as a share of the evaluations made so far.
RESOLUTION = 0.01


class RecordedRun(NamedTuple):
    """Run of one member alone. Made by :meth:`Recordings.runs`.

    Attributes
    ----------
    outcome : Outcome
    restarts : tuple of int
        Evaluations after which it had converged or restarted.
    ends : ndarray
        Evaluations after which its batches ended.
    """

    outcome: Outcome
    restarts: tuple[int, ...]
    ends: IntArray

    @classmethod
    def of(cls, outcome: Outcome, history: History, restarts: Sequence[int]) -> "RecordedRun":
        """Make a recorded run from its outcome with the trace, its history and its restarts."""
        iterations = np.arange(1, int(history.iteration[-1]) + 1)
        recorded = np.append(0, history.iteration), np.append(0, history.evaluations)
        ends = np.rint(np.interp(iterations, *recorded)).astype(np.int64)
        return cls(outcome, tuple(restarts), np.union1d(ends, np.array(restarts, np.int64)))


class _Replay:
    """Replay of a member's recorded run."""

    confirmed = steady = False  # recorded runs do not say
    converged = False  # convergence counts as a restart here

    def __init__(self, run: RecordedRun) -> None:
        self.run = run
        self.evaluations = 0
        self.best_fitness = float("inf")
        self._first_restart = run.restarts[0] if run.restarts else np.inf
        self._at, self._values = run.outcome.trace.evaluations, run.outcome.trace.values
        self._next = 0  # index of the next improvement
        self._batch = 0  # number of batches so far
        self.starts: list[tuple[int, int]] = []  # slices: evaluations of member and run

    @property
    def restarts(self) -> int:
        """Number of restarts, counted up to 1."""
        return int(self.evaluations >= self._first_restart)

    def advance(self, at: int, most: float) -> FloatArray:
        """Advance by one batch, or by several without an improvement; return the values.

        `at` is the number of evaluations of the whole run so far; several batches together have at
        most `most` evaluations.
        """
        ends, here = self.run.ends, self.evaluations
        if self._batch >= len(ends):
            outcome = self.run.outcome
            name = f"{outcome.method} on {outcome.problem}"
            raise InvalidParameter(
                f"the recorded run of {name} ended after {here} of {outcome.budget} evaluations; "
                "record runs that use their budget",
                name="runs", value=name,
            )  # fmt: skip
        last = self._batch + 1
        ahead = self._at[self._next] if self._next < len(self._at) else np.inf
        if here + most > ends[self._batch] and ahead > ends[self._batch]:
            limit = min(here + most, ahead - 1)
            if not self.restarts:
                limit = min(limit, self._first_restart)
            # An integer: for a float, NumPy would first convert all `ends`.
            last = max(last, int(np.searchsorted(ends, np.int64(limit), side="right")))
        self.starts.append((here, at))
        self.evaluations, self._batch = int(ends[last - 1]), last
        before = self.best_fitness if self.best_fitness < np.inf else np.nan
        values = np.full(self.evaluations - here, before)
        while self._next < len(self._at) and self._at[self._next] <= self.evaluations:
            self.best_fitness = values[self._at[self._next] - here - 1] = self._values[self._next]
            self._next += 1
        return values

    def times(self, evaluations: IntArray) -> IntArray:
        """Return when in the whole run evaluations of this member were made; -1 for never."""
        times = np.full(len(evaluations), -1, np.int64)
        if self.starts:
            own, whole = np.array(self.starts, np.int64).T
            reached = (evaluations > 0) & (evaluations <= self.evaluations)
            place = np.searchsorted(own, evaluations[reached] - 1, side="right") - 1
            times[reached] = whole[place] + evaluations[reached] - own[place]
        return times


def simulate(
    method: Method | None,
    members: Sequence[Member | Configuration | str],
    runs: Sequence[RecordedRun],
    *,
    seed: int | np.random.Generator | None = None,
    resolution: float = RESOLUTION,
    name: str = "portfolio",
) -> Outcome:
    """Simulate a run of a portfolio on one problem.

    Parameters
    ----------
    method : Method or None
        Chooses which member evaluates next, as in :class:`uaos.Portfolio`; None for its default.
    members : sequence of Member, Configuration or str
        The members, as for :class:`uaos.Portfolio`.
    runs : sequence of RecordedRun
        A run of each member on its own, on the same problem and with the same budget.
    seed : int or numpy.random.Generator, optional
        For methods that draw at random.
    resolution : float
        Largest number of evaluations of a slice, as a share of those made so far; 0 for single
        batches.
    name : str
        Name of the portfolio.

    Returns
    -------
    Outcome
        As a benchmark of the portfolio would record it: the evaluations at which targets were
        reached, the improvements, the best value.

    Raises
    ------
    InvalidParameter
        If there is not one run for each member, of one problem and budget.

    Examples
    --------
    >>> from uaos.tuning import Recordings, simulate
    >>> recordings = Recordings("mine.db", ["JADE", "uniform"])
    >>> runs = recordings.runs(recordings.suite[0].name)
    >>> simulate(None, recordings.members, runs, seed=1).evaluations
    400
    """
    team = tuple(map(Member.of, members))
    _check_runs(runs, len(team))
    first = runs[0].outcome
    replays = [_Replay(run) for run in runs]
    final = [run.outcome.hits[-1] if run.outcome.hits[-1] > 0 else np.inf for run in runs]
    turns = Turns(
        team, replays, method, dimension=first.dimension, budget=first.budget,
        rng=np.random.default_rng(seed),
    )  # fmt: skip
    total = 0
    while total < first.budget:
        k = turns.next()
        before = replays[k].best_fitness
        # An introductory run with a cap may end with any batch.
        values = replays[k].advance(
            total,
            0.0 if turns.selector is None and np.isfinite(team[k].cap) else resolution * total,
        )
        total += len(values)
        turns.learn(k, before, values)
        if replays[k].evaluations >= final[k]:
            break
    total = min(total, first.budget)
    return _outcome(first, replays, total)._replace(method=name)


def _check_runs(runs: Sequence[RecordedRun], members: int) -> None:
    """Raise an error unless there is one run per member, on one problem with one budget."""
    if len(runs) != members:
        raise InvalidParameter(
            f"there are {len(runs)} runs for {members} members; pass one run per member",
            name="runs", value=len(runs),
        )  # fmt: skip
    if len({(run.outcome.problem, run.outcome.budget) for run in runs}) > 1:
        different = [f"{r.outcome.problem}, {r.outcome.budget} evaluations" for r in runs]
        raise InvalidParameter(
            "the runs are on different problems or budgets: " + "; ".join(different),
            name="runs", value=different,
        )  # fmt: skip


def _outcome(like: Outcome, replays: Sequence[_Replay], total: int) -> Outcome:
    """Return the outcome of a simulated run of `total` evaluations."""
    hits = np.full(len(TARGETS), np.iinfo(np.int64).max)
    improvements: list[tuple[IntArray, FloatArray]] = []
    for replay in replays:
        times = replay.times(replay.run.outcome.hits)
        hits = np.where((times > 0) & (times <= total), np.minimum(hits, times), hits)
        at, values = replay.run.outcome.trace
        times = replay.times(at)
        reached = (times > 0) & (times <= total)
        improvements.append((times[reached], values[reached]))
    hits[hits == np.iinfo(np.int64).max] = -1
    times, values = (np.concatenate(parts) for parts in zip(*improvements, strict=True))
    order = np.argsort(times, kind="stable")
    times, values = times[order], values[order]
    lowest = np.minimum.accumulate(values) if len(values) else values
    better = np.append(True, lowest[1:] < lowest[:-1])[: len(values)]
    trace = Trace(times[better], values[better]) if len(values) else NO_TRACE
    best = float(trace.values[-1]) if len(trace.values) else float("inf")
    finite = [r.run.outcome for r in replays if np.isfinite(r.run.outcome.best)]
    optimum = finite[0].best - finite[0].error if finite else np.nan  # NaN if it is not known
    return like._replace(
        evaluations=total, best=best, error=best - optimum, hits=hits, trace=trace, seconds=0.0,
        status="done", reason="",
    )  # fmt: skip


# Runs of the members in a store


class Recordings:
    """Recorded runs of optimizers, from which portfolios of them are simulated.

    Parameters
    ----------
    path : str or path
        The store of a benchmark of the members.
    members : iterable of str, optional
        Names of recorded methods, in the order of the portfolio; by default all but uniform choice.
        Introductory runs are those of the default portfolio's members with the same optimizer; the
        first member without one runs alone until its first restart.

    Attributes
    ----------
    members : tuple of Member
    suite : Suite
        The problems of the store.

    Raises
    ------
    UnknownName
        If a member is not recorded.
    InvalidFile
        If a recorded run is missing.

    Examples
    --------
    >>> from uaos.tuning import Recordings
    >>> recordings = Recordings("mine.db", ["JADE", "uniform"])
    >>> [member.name for member in recordings.members]
    ['JADE', 'uniform']
    """

    def __init__(self, path: str | os.PathLike[str], members: Iterable[str] | None = None) -> None:
        self.path = as_path(path)
        with Store.open(self.path) as store:
            recorded = store.configurations()
            self.suite: Suite = store.load_suite()
        names = [n for n in recorded if n != UNIFORM] if members is None else list(members)
        introduced = {
            m.configuration.optimizer: m for m in default_members(2, None) if m.cap < np.inf
        }
        recorded_members = []
        for name in names:
            if name not in recorded:
                raise UnknownName("member", name, recorded, hint=f"(recorded in {self.path})")
            configuration = Configuration.from_dict(recorded[name])
            like = introduced.get(configuration.optimizer)
            recorded_members.append(Member(
                configuration, once=like is not None and like.once, cap=like.cap if like else np.inf
            ))  # fmt: skip
        self.members = tuple(recorded_members)
        continuing(self.members)
        self._runs = _read(str(self.path), tuple(names))
        for name in names:
            for problem in self.suite:
                if (name, problem.name) not in self._runs:
                    raise InvalidFile(
                        f"{self.path} lacks a run of {name} on {problem.name}; finish the "
                        "benchmark, with --retry-failed if runs failed"
                    )

    @property
    def budget(self) -> int | str:
        """Evaluations of a run, as a multiple of the dimension if possible."""
        budgets = {p.dimension: self.runs(p.name)[0].outcome.budget for p in self.suite}
        dimension, budget = next(iter(budgets.items()))
        if budget % dimension == 0 and all(b * dimension == budget * d for d, b in budgets.items()):
            return f"{budget // dimension}D"
        if len(set(budgets.values())) == 1:
            return budget
        raise InvalidFile(f"{self.path} has different budgets (dimension: budget): {budgets}")

    @property
    def design(self) -> Design:
        """Search space of the methods that can choose among the continuing members."""
        return portfolio_design(self.members, dimension=self.suite.dimensions[-1])

    @property
    def key(self) -> str:
        """Hash of the recorded runs."""
        digest = hashlib.sha256()
        for member, problem in sorted(self._runs):
            for run in self._runs[member, problem]:
                head = f"{member}\x1f{problem}\x1f{run.outcome.seed}\x1f{run.restarts}"
                digest.update(head.encode() + run.outcome.hits.tobytes())
                digest.update(run.outcome.trace.evaluations.tobytes())
        return digest.hexdigest()[:16]

    def runs(self, problem: str, repetition: int = 1) -> list[RecordedRun]:
        """Return a run of each member on a problem; repetitions are used cyclically."""
        recorded = [self._runs[member.name, problem] for member in self.members]
        return [runs[(repetition - 1) % len(runs)] for runs in recorded]

    def simulate(
        self, method: Method | None = None, *, seed: int = 1, name: str = "portfolio"
    ) -> list[Outcome]:
        """Simulate a portfolio on every problem.

        Parameters
        ----------
        method : Method, optional
            Chooses which member evaluates next; by default as :class:`uaos.Portfolio` does.
        seed, name
            As for :func:`simulate`.

        Returns
        -------
        list of Outcome
            One for each problem, of the first repetition.
        """
        return [
            simulate(method, self.members, self.runs(problem.name), seed=seed, name=name)
            for problem in self.suite
        ]

    def plan(
        self,
        *,
        runs: int = 3000,
        objective: str = "evaluations",
        seed: int = 1,
        tuner: str = "racer",
        design: Design | None = None,
        force: bool = False,
    ) -> TuningPlan:
        """Plan the tuning of a selector by simulation; it starts from the default selector.

        Parameters
        ----------
        runs, objective, seed, tuner
            As for :class:`TuningPlan`.
        design : Design, optional
            The search space; default: :attr:`design`.
        force : bool
            Whether to tune on problems that are held out for testing.

        Returns
        -------
        TuningPlan
        """
        check_training(self.suite, force=force)
        space = self.design if design is None else design
        options = space.options.copy()
        options["recordings"] = self.key
        space = dataclasses.replace(space, options=options)
        return TuningPlan(
            space, self.suite, f"the runs in {self.path.name}", runs, self.budget, objective, seed,
            (space.values(space.base),), tuner,
        )  # fmt: skip

    @property
    def simulation(self) -> "Simulation":
        """Function that :func:`uaos.tuning.tune` takes as `work`."""
        return Simulation(str(self.path), self.members)


@dataclass(frozen=True)
class Simulation:
    """Simulation of portfolio runs, for workers, which load the recordings once."""

    path: str
    members: tuple[Member, ...]

    def __call__(
        self, configuration: Configuration, problem: Problem, seed: int, budget: int
    ) -> Outcome:
        """Return the outcome of a portfolio on a problem; `seed` also picks the repetition."""
        names = tuple(member.name for member in self.members)
        recorded = _read(self.path, names)
        repetitions = [recorded[name, problem.name] for name in names]
        runs = [each[seed % len(each)] for each in repetitions]
        return simulate(
            configuration.method, self.members, runs, seed=seed, name=configuration.name
        )


@lru_cache(maxsize=4)
def _read(path: str, members: tuple[str, ...]) -> dict[tuple[str, str], list[RecordedRun]]:
    """Read the recorded runs, by member and problem."""
    runs: dict[tuple[str, str], list[RecordedRun]] = {}
    with Store.open(path) as store:
        for member in members:
            for outcome in store.outcomes(member, traces=True):
                key = member, outcome.problem, outcome.repetition
                history, restarts = store.course(*key)
                if outcome.status == "done" and history is not None and restarts is not None:
                    run = RecordedRun.of(outcome, history, restarts)
                    runs.setdefault((member, outcome.problem), []).append(run)
    return runs
