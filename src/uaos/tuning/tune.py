"""Tuning: from a design space and training problems to configurations that are ready to use."""

import dataclasses
import functools
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from uaos.errors import InvalidParameter, UaosError, UnknownName
from uaos.experiments.executors import check_pool
from uaos.experiments.plan import PlanConflict, parse_budget
from uaos.experiments.provenance import versions
from uaos.optimizers.catalogue import configuration as catalogue_entry
from uaos.optimizers.configuration import Configuration
from uaos.params import Choice, Value
from uaos.problems import Problem, Suite
from uaos.text import count
from uaos.tuning.design import INITIAL, Design
from uaos.tuning.evaluator import CostEvaluator, RunCost, Work, objective_called, run_one
from uaos.tuning.race import NobodyLeft, Rules, Task
from uaos.tuning.racer import check_search, iterated_racing, races_planned
from uaos.tuning.records import Candidate, Cost, Elite, Event, Iteration, Step
from uaos.tuning.store import TuningStore

TUNERS = ("racer", "irace")


class HeldOutProblems(UaosError, ValueError):
    """A tuning would see problems that are held out to judge its result.

    Parameters
    ----------
    found : iterable of Problem
        Those that are held out.
    total : int
        How many problems there are.
    """

    def __init__(self, found: Iterable[Problem], total: int) -> None:
        self.found = tuple(found)
        some = count(len(self.found), "is a test problem", "are test problems")
        super().__init__(
            f"of the {total} problems {some} (the first: {self.found[0]}); a method tuned on them "
            "cannot be compared on them. Instances above 15 are free; --force-test-instances "
            "(force=True) tunes on them all the same"
        )


def check_training(suite: Suite, *, force: bool = False) -> Suite:
    """The suite, if a tuner may train on it.

    Parameters
    ----------
    suite : Suite
    force : bool
        Whether to allow problems that are held out.

    Returns
    -------
    Suite

    Raises
    ------
    HeldOutProblems
        If problems of the suite are held out for testing.

    Examples
    --------
    >>> import uaos
    >>> from uaos.tuning import check_training
    >>> len(check_training(uaos.suite("bbob", dimension=5, instances="train")))
    48
    """
    held_out = [problem for problem in suite if problem.held_out]
    if held_out and not force:
        raise HeldOutProblems(held_out, len(suite))
    return suite


@dataclass(frozen=True)
class Found:
    """A configuration that survived. Made by :func:`tune`.

    Attributes
    ----------
    configuration : Configuration
    elite : Elite
        Its rank and costs.
    """

    configuration: Configuration
    elite: Elite


@dataclass(frozen=True)
class Tuned:
    """What a tuning found. Made by :func:`tune`.

    Attributes
    ----------
    found : tuple of Found
        The survivors, best first.
    tuning : int
        The number of the tuning in its store.
    used : int
        Runs made.
    seconds : float
        Time taken.
    """

    found: tuple[Found, ...]
    tuning: int
    used: int
    seconds: float

    @property
    def best(self) -> Configuration:
        """The winner."""
        return self.found[0].configuration


@dataclass(frozen=True)
class TuningPlan:
    """Everything that decides what a tuning does; equal plans give equal results.

    Attributes
    ----------
    design : Design
        What is searched.
    suite : Suite
        The problems to train on.
    training_set : str
        What to call them.
    runs : int
        Runs of all candidates together.
    budget : int or str
        Evaluations of a run at most, or a multiple of each problem's dimension such as "1000D".
    objective : {"error", "evaluations", "anytime"}
        The cost of a run; where the optimum is not known, it is the best value found.
    seed : int
    initial : tuple of mappings
        Candidates that take part in the first race.
    tuner : {"racer", "irace"}
    rules : Rules
        How candidates race. By default costs are ranked; where an optimum is not known, only within
        a problem.

    Raises
    ------
    UnknownName
        If there is no such tuner.
    InvalidParameter
        If the rules do not fit the problems.

    Examples
    --------
    >>> import uaos
    >>> from uaos.tuning import TuningPlan, design
    >>> plan = TuningPlan(design(dimension=5), uaos.suite("bbob", dimension=5, instances="train"))
    >>> plan.evaluations(plan.suite[0]), plan.rules.test
    (5000, 'friedman')
    """

    design: Design
    suite: Suite
    training_set: str = "train"
    runs: int = 3000
    budget: int | str = "1000D"
    objective: str = "error"
    seed: int = 1
    initial: tuple[Mapping[str, Value], ...] = ()
    tuner: str = "racer"
    rules: Rules = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        objective_called(self.objective)  # which must exist
        if self.tuner not in TUNERS:
            raise UnknownName("tuner", self.tuner, TUNERS)
        self.evaluations(self.suite[0])
        if self.rules is None:
            made = Rules(test="friedman" if self.comparable else "ranks")
            object.__setattr__(self, "rules", made)
        elif self.rules.test == "t-test" and not self.comparable:
            raise InvalidParameter(
                "test", "t-test", "ranks or friedman, as the optimum of some problems is not known "
                "and values of different problems cannot be averaged",
            )  # fmt: skip

    @property
    def comparable(self) -> bool:
        """Whether costs of different problems can be compared: every optimum is known."""
        return all(problem.optimum is not None for problem in self.suite)

    def evaluations(self, problem: Problem) -> int:
        """The most evaluations of a run on a problem."""
        return parse_budget(self.budget, problem.dimension)

    def check(self) -> None:
        """Refuse what could not run at all, such as too few runs, or irace without R."""
        if self.tuner == "racer":
            check_search(self.design.space, self.runs, self.seed, self.rules)
            return
        from uaos.tuning import irace

        irace.irace_version()
        irace.check_budget(self.design.space, self.runs, self.seed, self.rules)

    def warnings(self) -> list[str]:
        """What is doubtful about the plan, in sentences."""
        space, rules = self.design.space, self.rules
        NP = space["NP"].domain if "NP" in space.names else None
        largest = max(map(int, NP.choices)) if isinstance(NP, Choice) else getattr(NP, "high", 0)
        evaluations = min(self.evaluations(p) for p in self.suite)
        found = []
        if largest > evaluations:
            found.append(
                f"NP may be {largest:,}, but a run of {evaluations:,} evaluations then ends within "
                "its first population; more evaluations (--budget) or a smaller NP (--range) avoid "
                "it"
            )
        # As the racer computes the size of its first race.
        room = self.runs // races_planned(space.free) // (rules.least + rules.each_test)
        if self.tuner == "racer" and len(self.initial) > room:
            found.append(
                f"the first race has room for {count(room, 'candidate')}: of the "
                f"{len(self.initial)} to start from, only the first {room} will race; more runs "
                "(--runs) make room"
            )
        return found

    @property
    def key(self) -> str:
        """The same for equal plans, and in the files of what they find."""
        text = json.dumps(self.to_dict(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data: what tells one tuning from another."""
        base = self.design.base.to_dict()
        names = ("tuner", "runs", "budget", "objective", "seed", "training_set")
        return {name: getattr(self, name) for name in names} | {
            "suite": self.suite.name, "suite_hash": self.suite.hash,
            "problems": list(self.suite.names), "space": self.design.space.to_dict(),
            "forbidden": [str(f) for f in self.design.space.forbidden],
            "base": {part: base[part] for part in ("method", "de", "optimizer") if part in base},
            "constants": dict(self.design.constants), "options": dict(self.design.options),
            "initial": [dict(c) for c in self.initial], "rules": dataclasses.asdict(self.rules),
        }  # fmt: skip


def initial_candidates(
    design: Design, names: Sequence[str] | None = None
) -> tuple[dict[str, dict[str, Value]], list[str]]:
    """Return named configurations as candidates of a search space.

    Parameters
    ----------
    design : Design
    names : sequence of str, optional
        The configurations; by default those tuned in the paper, as far as the space has them.

    Returns
    -------
    candidates : dict of str to dict
        Their values, by name; of equal ones the first.
    remarks : list of str
        What the space changes in them.

    Examples
    --------
    >>> from uaos.tuning import design, initial_candidates
    >>> candidates, remarks = initial_candidates(design(dimension=5), ["U-AOS-FW"])
    >>> len(candidates)
    1
    """
    made: dict[str, dict[str, Value]] = {}
    remarks: list[str] = []
    for name in INITIAL if names is None else names:
        entry = catalogue_entry(name)
        try:
            values = design.values(entry)
        except UaosError as error:
            if names is not None:
                raise
            remarks.append(f"{name} is not in this search space ({error})")
            continue
        if names is not None and (changed := design.differences(entry)):
            remarks.append(f"{name} takes part with the search space's own " + "; ".join(changed))
        if values not in made.values():
            made[name] = values
    return made, remarks


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
) -> Tuned:
    """Tune as planned; every run is kept in a store.

    Stopped or killed, the same call continues: the plan alone decides the search, and nothing is
    run twice.

    Parameters
    ----------
    plan : TuningPlan
        What to search, and on what.
    path : str or path
        The store.
    executor : Executor or callable, optional
        Where to run, instead of on `jobs` or `dask`; or a function that makes executors.
    jobs : int, optional
        Processes of this machine; by default one for each processor.
    dask : str, optional
        The address of a Dask cluster.
    retry_failed : bool
        Whether to repeat runs that failed.
    on_event, on_run : callable
        Called with each step of the search and with each run.
    work : callable
        Makes one run.

    Returns
    -------
    Tuned
        The surviving configurations.

    Raises
    ------
    NobodyLeft
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
    search = iterated_racing
    if plan.tuner == "irace":
        from uaos.tuning import irace  # here, as most do without R

        search = functools.partial(irace.run_irace, folder=f"{os.fspath(path)}.irace")
    with TuningStore.create_or_resume(path, plan.suite) as store:
        _check_recordings(plan, store)
        if retry_failed:
            store.forget_failures()
        known = store.tuning(plan.to_dict())
        # What earlier sessions of this tuning took counts, too.
        started = time.perf_counter() - (known.seconds if known else 0.0)
        number = store.begin(plan.to_dict())
        configurations: dict[int, Configuration] = {}
        joining: list[Candidate] = []

        def record(event: Event) -> None:
            """Write what happened; candidates together, before the first step they are in."""
            if isinstance(event, Candidate):
                made = plan.design.configuration(event.values, f"candidate-{event.id}")
                configurations[event.id] = made
                joining.append(event._replace(configuration=store.key(made)))
            elif joining:
                store.add(number, *joining)
                joining.clear()
            if isinstance(event, Step):
                costs = [Cost(c, event.position or 0, cost) for c, cost in event.costs.items()]
                took = time.perf_counter() - started
                store.add(number, event._replace(elapsed=took), *costs, seconds=took)
            elif isinstance(event, Iteration):
                store.add(number, event, *event.elites)
            on_event(event)

        def evaluate(tasks: Sequence[Task]) -> list[float]:
            wanted = [(configurations[t.id], t.instance, t.seed) for t in tasks]
            return [result.cost for result in evaluator.evaluate(wanted)]

        try:
            with CostEvaluator(
                store, plan.objective, plan.evaluations, executor, jobs=jobs, dask=dask, work=work,
                on_run=on_run,
            ) as evaluator:  # fmt: skip
                winners = search(
                    plan.design.space, plan.suite, evaluate, runs=plan.runs, seed=plan.seed,
                    initial=plan.initial, rules=plan.rules, works=plan.design.works,
                    on_event=record,
                )  # fmt: skip
        except NobodyLeft as error:
            raise NobodyLeft(f"{error}. {failures(store, number)}") from None
        finally:
            seconds = time.perf_counter() - started
            store.add(number, seconds=seconds)
        first = winners.elites[0]
        best = _named(plan, configurations[first.candidate], first, winners.used)
        store.finish(number, {
            "used": winners.used, "iterations": winners.iterations, "seconds": seconds,
            "best": best.to_dict(),
        })  # fmt: skip
        found = _found(plan, store)
    assert found is not None
    return found


def _check_recordings(plan: TuningPlan, store: TuningStore) -> None:
    """Refuse to mix runs that were simulated on other recordings, or not simulated."""
    here = plan.design.options.get("recordings")
    for entry in store.tunings():
        if entry.setup["options"].get("recordings") != here:
            raise PlanConflict(
                f"{store.path} holds a tuning whose runs were not simulated on the same recorded "
                "runs; use another file"
            )


def finished(plan: TuningPlan, path: str | os.PathLike[str]) -> Tuned | None:
    """What a tuning of this plan found, read from its store; None if none is finished there."""
    with TuningStore.open(path) as store:
        return _found(plan, store)


def _found(plan: TuningPlan, store: TuningStore) -> Tuned | None:
    entry = store.tuning(plan.to_dict())
    if entry is None or not entry.finished:
        return None
    made = {c.id: c.configuration for c in store.candidates(entry.id)}
    used = entry.data["used"]
    first, *others = store.survivors(entry.id)
    found = [Found(Configuration.from_dict(entry.data["best"]), first)]
    found += [Found(_named(plan, store.configuration(made[e.candidate]), e, used), e)
              for e in others]  # fmt: skip
    return Tuned(tuple(found), entry.id, used, entry.data["seconds"])


def failures(store: TuningStore, tuning: int) -> str:
    """How many runs of a tuning failed, the first reason, and what to do; "" if none did."""
    keys = {c.configuration for c in store.candidates(tuning)}
    failed = [o for o in store.outcomes() if o.status == "failed" and o.method in keys]
    if not failed:
        return ""
    return (
        f"{count(len(failed), 'run')} failed: {failed[0].reason} (the first, on "
        f"{failed[0].problem}); --retry-failed runs what failed again"
    )


def _named(plan: TuningPlan, made: Configuration, elite: Elite, used: int) -> Configuration:
    """A survivor as a configuration of its own, with what one must know to trust it."""
    limits = sorted({plan.evaluations(p) for p in plan.suite})
    tuning = {
        "tuner": plan.tuner, "training_set": plan.training_set, "problems": len(plan.suite),
        "dimension": plan.design.dimension, "objective": plan.objective, "runs": plan.runs,
        "runs_used": used, "evaluations_of_a_run": limits if len(limits) > 1 else limits[0],
        "seed": plan.seed, "rank": elite.rank, "mean_cost": elite.mean_cost,
        "on_instances": elite.instances, **plan.design.options, "plan": plan.key,
        "versions": versions(),
    }  # fmt: skip
    name = "tuned" if elite.rank == 1 else f"tuned-{elite.rank}"
    return dataclasses.replace(made, name=name, tuning=tuning)
