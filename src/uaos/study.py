"""The whole pipeline of the framework's paper: tune, test, tabulate, report.

A study lives in a folder: `tuning.db` and the winner `tuned.toml`, `test.db`, `tables/`,
`report.html`, and `study.toml`, which says what it is. Every stage resumes where it was stopped,
and is skipped when it is done.
"""

import dataclasses
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uaos.errors import InvalidFile, InvalidParameter, UaosError, UnknownName
from uaos.experiments import Progress
from uaos.experiments import run as run_plan
from uaos.experiments.executors import check_pool
from uaos.experiments.plan import UNIFORM, Plan
from uaos.experiments.store import Store, Tally
from uaos.experiments.unit import Unit, run_unit
from uaos.files import check_folder, read_toml, write_toml
from uaos.optimizers.catalogue import RECOMMENDED, configuration, methods
from uaos.optimizers.configuration import Configuration
from uaos.problems import Suite
from uaos.problems import suite as suite_called
from uaos.tuning.design import DEFAULT_PRESET, Design, design
from uaos.tuning.store import TuningStore
from uaos.tuning.tune import TuningPlan, finished, initial_candidates, tune

if TYPE_CHECKING:
    from uaos.analysis import Comparison
    from uaos.tuning.evaluator import RunCost
    from uaos.tuning.records import Event

#: The stages, in their order.
STAGES = ("tune", "test", "tables", "report")

#: The name under which the winner of the tuning is tested.
WINNER = "tuned"

#: What the winner is compared with: the configurations tuned in the paper, methods that adapt their
#: settings instead of choosing operators, CMA-ES, our default, the portfolio, and uniform choice.
RIVALS = (
    *(name for name, c in methods().items() if c.kind == "tuned" and "inferred" not in name),
    "JADE", "R-SHADE", "CMA-ES", "portfolio", RECOMMENDED, UNIFORM,
)  # fmt: skip

# Seconds that go into no evaluation, as measured on one machine with two processors: for a stage,
# such as until its processes have started and loaded the compiled code, and for each of its runs.
_STAGE_SECONDS = {"tune": 3.0, "test": 3.0, "tables": 1.5, "report": 9.0}
_RUN_SECONDS = 0.002

# The trial runs that show how fast a machine is: their evaluations, and the seconds that suffice.
_TRIALS, _TRIAL_SECONDS = (300, 3000, 20_000), 0.3

# Runs of each method on each test problem of a suite whose problems have no instances.
_REPETITIONS = 5


@dataclass(frozen=True)
class Preset:
    """The size of a study. Made by :class:`Study` from its `preset`.

    Attributes
    ----------
    dimension : int
        Of the BBOB problems.
    tuning_runs : int
        Runs of the tuning.
    tuning_budget, test_budget : str
        Evaluations of a run, in multiples of the dimension.
    instances : str
        The BBOB test problems, such as "test:4" for four of each function.
    words : str
        What it is for.
    """

    dimension: int
    tuning_runs: int
    tuning_budget: str
    test_budget: str
    instances: str
    words: str


PRESETS = {
    "smoke": Preset(5, 800, "200D", "1000D", "test:1", "shows that everything works"),
    "quick": Preset(20, 1500, "2000D", "10000D", "test:2", "the paper's experiment made small"),
    "paper": Preset(20, 10_000, "10000D", "100000D", "test", "the paper's experiment"),
}


class Study:
    """Tune a method, test it against others on problems it has not seen, and write a report.

    Everything goes into one folder. Stopped or killed, the same study continues; what is done is
    not done again.

    Parameters
    ----------
    suite : str, path or Suite
        The problems: "bbob", a Python file that defines a suite, or a suite. Of BBOB the training
        and test problems are those of the paper. Other suites are split: problems that are held out
        are for the test, if there are any; otherwise as `train` says.
    folder : path
        Where everything goes; new, or of the same study.
    preset : {"quick", "smoke", "paper"}
        How large the study is.
    seed : int
        Makes it repeatable.
    train : float or iterable of str, optional
        The share of the problems to tune on, or their names; default: half of them.
    split_seed : int
        Of the random split.
    space : str or Design
        The search space of the tuning: "extended", "paper", "wide", or a design.
    rivals : iterable of str
        What the winner is compared with: names of the catalogue or configuration files.
    tuning_runs, tuning_budget, test_budget, repetitions : optional
        Runs of the tuning, evaluations of each, evaluations of a test run, and runs of each method
        on each test problem, in place of the preset's.

    Attributes
    ----------
    training, test : Suite
        The problems to tune on and to test on.
    card, tuning_store, winner, test_store, tables, report : Path
        What the study is, the runs of its tuning, the configuration found, the runs of its test,
        the folder of its tables, and the report.

    Raises
    ------
    UnknownName
        If there is no such preset.
    InvalidFile
        If the folder holds another study.

    Examples
    --------
    >>> import tempfile, uaos
    >>> from uaos.problems import ackley, rastrigin, rosenbrock, sphere
    >>> suite = uaos.Suite("four", [
    ...     uaos.Problem(f, [(-5, 5)] * 2, optimum=0.0)
    ...     for f in (ackley, rastrigin, rosenbrock, sphere)
    ... ])
    >>> study = uaos.Study(suite, tempfile.mkdtemp(), preset="smoke", tuning_budget="20D")
    >>> study.training.names, study.test.names
    (('ackley', 'rastrigin'), ('rosenbrock', 'sphere'))
    >>> study.run()  # doctest: +SKIP
    """

    def __init__(
        self,
        suite: str | os.PathLike[str] | Suite = "bbob",
        folder: str | os.PathLike[str] = "study",
        *,
        preset: str = "quick",
        seed: int = 1,
        train: float | Iterable[str] | None = None,
        split_seed: int = 1,
        space: str | Design = DEFAULT_PRESET,
        rivals: Iterable[str] = RIVALS,
        tuning_runs: int | None = None,
        tuning_budget: int | str | None = None,
        test_budget: int | str | None = None,
        repetitions: int | None = None,
    ) -> None:
        if preset not in PRESETS:
            raise UnknownName("preset", preset, PRESETS)
        size = PRESETS[preset]
        self.preset, self.seed, self.rivals = preset, seed, tuple(rivals)
        self.folder = check_folder(folder)
        self.card, self.report = self.folder / "study.toml", self.folder / "report.html"
        self.tuning_store, self.test_store = self.folder / "tuning.db", self.folder / "test.db"
        self.winner, self.tables = self.folder / f"{WINNER}.toml", self.folder / "tables"
        self.training, self.test = _split(suite, size, train, split_seed)
        self.tuning_runs = size.tuning_runs if tuning_runs is None else tuning_runs
        self.tuning_budget = size.tuning_budget if tuning_budget is None else tuning_budget
        self.test_budget = size.test_budget if test_budget is None else test_budget
        numbered = any(problem.instance is not None for problem in self.test)
        usual = 1 if numbered else _REPETITIONS
        self.repetitions = usual if repetitions is None else repetitions
        largest = self.training.dimensions[-1]
        self.design = space if isinstance(space, Design) else design(space, dimension=largest)
        self._overview = self.tables / "overview.csv"  # the table that is written last
        found = read_toml(self.card) if self.card.exists() else self.to_dict()
        if different := {k: found.get(k) for k, v in self.to_dict().items() if found.get(k) != v}:
            if different.pop("suite_hash", None) is not None:
                different["another version of the suite's file"] = ""
            short = [
                f"{k} {v}".rstrip() for k, v in different.items() if not isinstance(v, list | dict)
            ]
            raise InvalidFile(
                f"{self.folder}: holds another study ({', '.join(short or different)}); choose "
                "another folder, or remove this one"
            )

    def to_dict(self) -> dict[str, Any]:
        """What tells one study from another."""
        return {
            "preset": self.preset, "seed": self.seed, "suite": self.training.name,
            "suite_hash": self.training.hash, "tuning_runs": self.tuning_runs,
            "tuning_budget": self.tuning_budget, "test_budget": self.test_budget,
            "repetitions": self.repetitions, "space": dict(self.design.options),
            "training": list(self.training.names), "test": list(self.test.names),
            "rivals": list(self.rivals),
        }  # fmt: skip

    # Running it

    def create(self) -> None:
        """Make the folder, and say in it what it is for."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if not self.card.exists():
            write_toml(self.to_dict(), self.card)

    def run(
        self,
        *,
        only: str | None = None,
        start: str | None = None,
        jobs: int | None = None,
        dask: str | None = None,
    ) -> Path:
        """Run what is not done yet.

        Parameters
        ----------
        only : str, optional
            Only this stage: "tune", "test", "tables" or "report".
        start : str, optional
            This stage and those after it.
        jobs : int, optional
            Processes; default: one for each processor.
        dask : str, optional
            The address of a Dask cluster to run on.

        Returns
        -------
        Path

        Raises
        ------
        Stopped
            After Ctrl-C; what was finished is kept.
        """
        wanted = stages(only, start)
        check_pool(None, jobs)
        self.check(wanted)
        self.create()
        for stage in wanted:
            if self.is_done(stage):
                continue
            if stage in ("tune", "test"):
                (self.run_tuning if stage == "tune" else self.run_test)(jobs=jobs, dask=dask)
            else:
                (self.write_tables if stage == "tables" else self.write_report)()
        return self.report

    def run_tuning(
        self, *, jobs: int | None = None, dask: str | None = None,
        on_event: Callable[["Event"], None] = lambda _: None,
        on_run: Callable[["RunCost"], None] = lambda _: None,
    ) -> Path:  # fmt: skip
        """Tune, as :func:`uaos.tuning.tune` does, and write the winner."""
        plan, store = self.tuning_plan(), self.tuning_store
        found = finished(plan, store) if store.exists() else None
        if found is None:
            found = tune(plan, store, jobs=jobs, dask=dask, on_event=on_event, on_run=on_run)
        found.best.to_toml(self.winner)
        return self.winner

    def run_test(
        self, *, jobs: int | None = None, dask: str | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> dict[str, Tally]:  # fmt: skip
        """Run the winner and its rivals, as :func:`uaos.experiments.run` does."""
        return run_plan(
            self.test_plan(), self.test_store, jobs=jobs, dask=dask, on_progress=on_progress
        )

    def write_tables(self) -> tuple["Comparison", list[Path]]:
        """Compare the methods, and write the tables."""
        from uaos.analysis import Results, compare, write_csv

        made = compare(Results.read(self.test_store))
        # The overview last: it says that the stage is done.
        last = self._overview.stem
        return made, write_csv(sorted(made.tables, key=lambda t: t.name == last), self.tables)

    def write_report(self, progress: Callable[[str], None] | None = None) -> Path:
        """Write the report; `progress` hears what is being made."""
        from uaos.reporting.report import write_report

        stores = [s for s in (self.test_store, self.tuning_store) if s.exists()]
        title = f"A {self.preset} study of adaptive operator selection"
        return write_report(stores, self.report, title=title, progress=progress)

    # What the stages run

    def tuning_plan(self) -> TuningPlan:
        """The search on the training problems."""
        start = tuple(initial_candidates(self.design)[0].values())
        return TuningPlan(
            self.design, self.training, runs=self.tuning_runs, budget=self.tuning_budget,
            seed=self.seed, initial=start,
        )  # fmt: skip

    def test_plan(self, winner: Configuration | None = None) -> Plan:
        """The winner and its rivals on test problems, which the tuning has never seen."""
        tested = dataclasses.replace(winner or configuration(self.winner), name=WINNER)
        return Plan.of(
            [tested, *self.rivals], self.test, budget=self.test_budget, seed=self.seed,
            repetitions=self.repetitions,
        )  # fmt: skip

    def check(self, wanted: Sequence[str] = STAGES) -> None:
        """Refuse stages that lack what an earlier one makes, or find another file in its place."""
        needs = {"test": ("tune", self.winner), "tables": ("test", self.test_store),
                 "report": ("test", self.test_store)}  # fmt: skip
        for stage, (earlier, file) in needs.items():
            if stage in wanted and earlier not in wanted and not file.exists():
                raise InvalidFile(f"{file}: there is no such file; run the stage {earlier} first")
        # Before anything is written: a report of the wrong store would take the good one's place.
        if self.tuning_store.exists() and {"tune", "report"} & set(wanted):
            TuningStore.open(self.tuning_store).close()
        if self.test_store.exists() and {"test", "tables", "report"} & set(wanted):
            Store.open(self.test_store).close()

    def is_done(self, stage: str) -> bool:
        """Whether there is nothing to do in a stage."""
        if stage == "tables":
            return _newer(self._overview, self.test_store)
        if stage == "report":
            return _newer(self.report, self.test_store, self.tuning_store)
        try:
            found = configuration(self.winner)
        except UaosError:
            return False
        tuned = found.tuning.get("plan") == self.tuning_plan().key
        if stage == "tune" or not tuned or not self.test_store.exists():
            return stage == "tune" and tuned
        plan = self.test_plan()
        with Store.open(self.test_store) as store:
            return set(plan.competitors) <= set(store.methods()) and not store.missing(plan)

    # How long it takes

    @property
    def runs(self) -> dict[str, int]:
        """The runs of the two stages that have any, at most."""
        # The winner's place is held by any configuration: it is the number of them that counts.
        return {"tune": self.tuning_runs, "test": len(self.test_plan(configuration(RECOMMENDED)))}

    @property
    def evaluations(self) -> dict[str, int]:
        """The evaluations of the same, at most."""
        tuning, test = self.tuning_plan(), self.test_plan(configuration(RECOMMENDED))
        mean = sum(tuning.evaluations(p) for p in tuning.suite) / len(tuning.suite)
        each = sum(test.evaluations(p) for p in test.suite) * test.repetitions
        return {"tune": round(self.tuning_runs * mean), "test": each * len(test.competitors)}

    def seconds(self, wanted: Sequence[str], per_evaluation: float, processes: int) -> float:
        """About how long stages take, at most: their evaluations, and what comes on top."""
        spread = sum(self.evaluations.get(stage, 0) for stage in wanted) * per_evaluation
        runs = sum(self.runs.get(stage, 0) for stage in wanted)
        on_top = sum(_STAGE_SECONDS[stage] for stage in wanted) + runs * _RUN_SECONDS
        return spread / processes + on_top

    def seconds_per_evaluation(self) -> float:
        """From trial runs on training problems, of about a second, after a warm-up."""
        entry = configuration("U-AOS-FW")
        # Problems from all over the suite, longer and longer runs: a function may be slow.
        problems = self.training[:: max(1, len(self.training) // 4)]
        # What has yet to be compiled is not counted.
        run_unit(Unit(entry.name, problems[0].name, 1, 1, _TRIALS[0]), problems[0], entry)
        for budget in _TRIALS:
            seconds, evaluations = 0.0, 0
            for problem in problems:
                start = time.perf_counter()
                outcome = run_unit(Unit(entry.name, problem.name, 1, 1, budget), problem, entry)
                seconds += time.perf_counter() - start
                if outcome.outcome.status == "failed":
                    raise UaosError(f"{problem.name}: a trial run failed: {outcome.outcome.reason}")
                evaluations += outcome.outcome.evaluations
            if seconds > _TRIAL_SECONDS:
                break
        return seconds / evaluations


def _split(
    suite: str | os.PathLike[str] | Suite, size: Preset, train: float | Iterable[str] | None,
    seed: int,
) -> tuple[Suite, Suite]:  # fmt: skip
    """The problems to tune on and to test on."""
    if suite == "bbob":
        if train is not None:
            raise InvalidParameter(
                "train", train, 'nothing for the suite "bbob": its training problems are those of '
                "the paper; pass a suite of problems to split it",
            )  # fmt: skip
        return (
            suite_called("bbob", dimension=size.dimension, instances="train"),
            suite_called("bbob", dimension=size.dimension, instances=size.instances),
        )
    problems = suite if isinstance(suite, Suite) else suite_called(suite)
    if train is None and any(p.held_out for p in problems):
        train = [p.name for p in problems if not p.held_out]
    return problems.split(0.5 if train is None else train, seed=seed)


def _newer(made: Path, *sources: Path) -> bool:
    """Whether a file is there and was made after what it is made from."""
    return made.exists() and all(
        source.exists() and source.stat().st_mtime <= made.stat().st_mtime for source in sources
    )


def stages(only: str | None = None, start: str | None = None) -> tuple[str, ...]:
    """The stages to run: all, `only` one of them, or those from `start` on."""
    for name, value in (("only", only), ("from", start)):
        if value is not None and value not in STAGES:
            raise UnknownName(f"stage of --{name}", value, STAGES)
    if only is not None and start is not None:
        raise InvalidParameter("--only and --from", (only, start), "one of the two")
    if only is not None:
        return (only,)
    return STAGES[STAGES.index(start) :] if start is not None else STAGES
