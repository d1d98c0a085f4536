"""Run a tuning plan, and read its result."""

import dataclasses
import functools
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from uaos.experiments.executors import check_pool
from uaos.experiments.plan import PlanConflict
from uaos.experiments.provenance import versions
from uaos.optimizers.configuration import Configuration
from uaos.text import count
from uaos.tuning.costs import CandidateRunner, RunCost, Work, run_one
from uaos.tuning.plan import TuningPlan
from uaos.tuning.race import AllCandidatesFailed, Task
from uaos.tuning.racer import iterated_racing
from uaos.tuning.records import Candidate, Cost, Elite, Event, Iteration, Step
from uaos.tuning.search import Tuner
from uaos.tuning.store import TuningStore


@dataclass(frozen=True)
class TuningResult:
    """The configurations that a tuning found. Made by :func:`tune`.

    Attributes
    ----------
    configurations : tuple of Configuration
        The survivors, best first.
    elites : tuple of Elite
        Their ranks and costs.
    tuning : int
        The number of the tuning in its store.
    runs : int
        Runs used.
    seconds : float
        Time taken.
    """

    configurations: tuple[Configuration, ...]
    elites: tuple[Elite, ...]
    tuning: int
    runs: int
    seconds: float

    def __repr__(self) -> str:
        survivors = count(len(self.configurations), "survivor")
        return f"<TuningResult: {survivors} after {count(self.runs, 'run')}; best: {self.best!r}>"

    @property
    def best(self) -> Configuration:
        """Configuration that won."""
        return self.configurations[0]


def tune(
    plan: TuningPlan,
    path: str | os.PathLike[str],
    executor: Executor | Callable[[], Executor] | None = None,
    *,
    jobs: int | None = None,
    dask: str | None = None,
    retry_failed: bool = False,
    on_event: Callable[[Event], None] = lambda _: None,
    on_run: Callable[[RunCost], None] = lambda _: None,
    work: Work = run_one,
) -> TuningResult:
    """Tune as planned; every run is kept in a store.

    The same call resumes a tuning that was stopped or killed: the plan alone decides the search,
    and nothing is run twice.

    Parameters
    ----------
    plan : TuningPlan
        The search space, the problems and the rules.
    path : str or path
        The store, new or begun by an earlier call.
    executor : Executor or callable, optional
        Where to run, instead of `jobs` or `dask`; or a function that makes executors.
    jobs : int, optional
        Number of processes; default: one per processor.
    dask : str, optional
        The address of a Dask cluster.
    retry_failed : bool
        Whether to repeat runs that failed.
    on_event, on_run : callable
        Called with each event of the search, and with the cost of each run.
    work : callable
        Makes one run.

    Returns
    -------
    TuningResult
        The surviving configurations.

    Raises
    ------
    AllCandidatesFailed
        If every candidate of a race failed.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> import uaos
    >>> from uaos.tuning import TuningPlan, design_for, tune
    >>> suite = uaos.suite("bbob", functions="1,8", dimension=2, instances=[16])
    >>> plan = TuningPlan(design_for("SaDE", dimension=2), suite, runs=200, budget="20D")
    >>> tuned = tune(plan, "sade.db", ThreadPoolExecutor(1))
    >>> text = tuned.best.to_toml("sade.toml")
    """
    plan.check()
    check_pool(executor, jobs)
    with TuningStore.create_or_resume(path, plan.suite) as store:
        _check_recordings(plan, store)
        if retry_failed:
            store.forget_failures()
        session = _Session(plan, store, on_event)
        try:
            with CandidateRunner(
                store, plan.objective, plan.evaluations, executor, jobs=jobs, dask=dask, work=work,
                on_run=on_run,
            ) as runner:  # fmt: skip
                session.run(runner)
        except AllCandidatesFailed as error:
            raise AllCandidatesFailed(f"{error}. {failures(store, session.number)}") from None
        result = _read_result(plan, store)
    assert result is not None
    return result


class _Session:
    """Run the search of a plan, and write its events to the store."""

    def __init__(
        self, plan: TuningPlan, store: TuningStore, on_event: Callable[[Event], None]
    ) -> None:
        self._plan, self._store, self._on_event = plan, store, on_event
        earlier = store.tuning(plan.to_dict())
        # The time of earlier sessions counts.
        self._start = time.perf_counter() - (earlier.seconds if earlier else 0.0)
        self.number = store.begin(plan.to_dict())
        self._configurations: dict[int, Configuration] = {}
        self._unwritten: list[Candidate] = []

    def run(self, runner: CandidateRunner) -> None:
        """Search to the end, and write the winner."""

        def evaluate(tasks: Sequence[Task]) -> list[float]:
            runs = [(self._configurations[t.id], t.instance, t.seed) for t in tasks]
            return [result.cost for result in runner.run(runs)]

        search = _search_function(self._plan, self._store)
        try:
            last = search(self._plan.search, evaluate, self._record)
        finally:
            seconds = time.perf_counter() - self._start
            self._store.add(self.number, seconds=seconds)
        winner = last.elites[0]
        best = _named(self._plan, self._configurations[winner.candidate], winner, last.runs_used)
        self._store.finish(self.number, {
            "used": last.runs_used, "iterations": last.iteration, "seconds": seconds,
            "best": best.to_dict(),
        })  # fmt: skip

    def _record(self, event: Event) -> None:
        """Write an event; new candidates are written together, before their first step."""
        if isinstance(event, Candidate):
            configuration = self._plan.design.configuration(event.values, f"candidate-{event.id}")
            self._configurations[event.id] = configuration
            key = self._store.key(configuration)
            self._unwritten.append(event._replace(configuration=key))
        elif self._unwritten:
            self._store.add(self.number, *self._unwritten)
            self._unwritten.clear()
        if isinstance(event, Step):
            costs = [Cost(c, event.position or 0, cost) for c, cost in event.costs.items()]
            elapsed = time.perf_counter() - self._start
            self._store.add(self.number, event._replace(elapsed=elapsed), *costs, seconds=elapsed)
        elif isinstance(event, Iteration):
            self._store.add(self.number, event, *event.elites)
        self._on_event(event)


def _search_function(plan: TuningPlan, store: TuningStore) -> Tuner:
    """Return the tuner of the plan."""
    if plan.tuner == "racer":
        return iterated_racing
    from uaos.tuning import irace

    return functools.partial(irace.run_irace, folder=f"{store.path}.irace")


def _check_recordings(plan: TuningPlan, store: TuningStore) -> None:
    """Raise an error if the store holds runs that are not simulated on the same recordings."""
    recordings = plan.design.options.get("recordings")
    for entry in store.tunings():
        if entry.setup["options"].get("recordings") != recordings:
            raise PlanConflict(
                f"{store.path} holds a tuning that is not simulated, or simulated on other "
                "recorded runs; use another file"
            )


def finished(plan: TuningPlan, path: str | os.PathLike[str]) -> TuningResult | None:
    """Read the result of a plan from its store; return None if its tuning is not finished."""
    with TuningStore.open(path) as store:
        return _read_result(plan, store)


def _read_result(plan: TuningPlan, store: TuningStore) -> TuningResult | None:
    entry = store.tuning(plan.to_dict())
    if entry is None or not entry.finished:
        return None
    keys = {c.id: c.configuration for c in store.candidates(entry.id)}
    runs = entry.data["used"]
    elites = store.survivors(entry.id)
    best = Configuration.from_dict(entry.data["best"])
    others = [_named(plan, store.configuration(keys[e.candidate]), e, runs) for e in elites[1:]]
    return TuningResult((best, *others), tuple(elites), entry.id, runs, entry.data["seconds"])


def failures(store: TuningStore, tuning: int) -> str:
    """Describe the failed runs of a tuning and what to do; "" if none failed."""
    keys = {c.configuration for c in store.candidates(tuning)}
    failed = [o for o in store.outcomes() if o.status == "failed" and o.method in keys]
    if not failed:
        return ""
    return (
        f"{count(len(failed), 'run')} failed: {failed[0].reason} (the first, on "
        f"{failed[0].problem}); to repeat failed runs, add --retry-failed"
    )


def _named(plan: TuningPlan, survivor: Configuration, elite: Elite, runs: int) -> Configuration:
    """Return a survivor with its name and a record of its tuning."""
    limits = sorted({plan.evaluations(p) for p in plan.suite})
    tuning = {
        "tuner": plan.tuner, "training_set": plan.training_set, "problems": len(plan.suite),
        "dimension": plan.design.dimension, "objective": plan.objective, "runs": plan.runs,
        "runs_used": runs, "evaluations_of_a_run": limits if len(limits) > 1 else limits[0],
        "seed": plan.seed, "rank": elite.rank, "mean_cost": elite.mean_cost,
        "on_instances": elite.instances, **plan.design.options, "plan": plan.key,
        "versions": versions(),
    }  # fmt: skip
    name = "tuned" if elite.rank == 1 else f"tuned-{elite.rank}"
    return dataclasses.replace(survivor, name=name, tuning=tuning)
