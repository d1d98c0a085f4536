"""The pipeline of the framework's paper: tune, test, tabulate, report.

A study lives in a folder: `study.toml` describes it, and the stages write `tuning.db` and the
winner `tuned.toml`, `test.db`, `tables/` and `report.html`. An interrupted stage resumes where it
was stopped; a finished one is skipped.
"""

import dataclasses
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from uaos import jit
from uaos.errors import InvalidFile, InvalidParameter, UaosError, UnknownName
from uaos.experiments import Progress
from uaos.experiments import run as run_plan
from uaos.experiments.executors import check_pool
from uaos.experiments.plan import Plan
from uaos.experiments.reader import Tally
from uaos.experiments.store import Store
from uaos.experiments.unit import Unit, run_unit
from uaos.extras import require
from uaos.files import check_folder, read_toml, write_toml
from uaos.optimizers.catalogue import RECOMMENDED, configuration, methods
from uaos.optimizers.configuration import UNIFORM, Configuration
from uaos.problems import Suite
from uaos.problems import suite as suite_called
from uaos.tuning.design_space import DEFAULT_PRESET, Design, design, design_for
from uaos.tuning.plan import TuningPlan, initial_candidates
from uaos.tuning.store import TuningStore
from uaos.tuning.tuner import finished, tune

if TYPE_CHECKING:
    from uaos.analysis import Comparison
    from uaos.tuning.costs import RunCost
    from uaos.tuning.records import Event

#: The stages, in order.
STAGES = ("tune", "test", "tables", "report")

#: Name of the tuning's winner in the test.
WINNER = "tuned"

#: The methods that the winner is compared with: the configurations tuned in the paper, methods that
#: adapt their settings instead of choosing operators, CMA-ES, the portfolio, the default, and
#: uniform choice.
RIVALS = (
    *(name for name, c in methods().items() if c.kind == "tuned" and "inferred" not in name),
    "JADE", "SHADE-restart", "CMA-ES", "portfolio", RECOMMENDED, UNIFORM,
)  # fmt: skip

# Overhead in seconds, measured on a machine with two processors: of each stage, for example until
# its processes have started and loaded the compiled code, and of each run.
_STAGE_SECONDS = {"tune": 3.0, "test": 3.0, "tables": 1.5, "report": 9.0}
_RUN_SECONDS = 0.002

# Budgets of the trial runs that measure the speed of the machine, and the seconds that suffice.
_TRIAL_BUDGETS, _TRIAL_SECONDS = (300, 3000, 20_000), 0.3

# The default number of runs of each method on each test problem, if problems have no instances.
_REPETITIONS = 5


@dataclass(frozen=True)
class Preset:
    """Size of a study. Made by :func:`find_preset`.

    Attributes
    ----------
    name : str
        The name of the preset.
    dimension : int
        The dimension of the BBOB problems.
    tuning_runs : int
        The number of runs of the tuning.
    tuning_budget, test_budget : int or str
        The evaluations of a run, such as 5000, or "200D" for 200 times the dimension.
    instances : str
        The BBOB test problems, such as "test:4" for four of each function.
    purpose : str
        What the preset is for.
    repetitions : int, optional
        The number of runs of each method on each test problem; default: one if the problems have
        instances, otherwise five.
    """

    name: str
    dimension: int
    tuning_runs: int
    tuning_budget: int | str
    test_budget: int | str
    instances: str
    purpose: str
    repetitions: int | None = None


PRESETS = {
    preset.name: preset
    for preset in (
        Preset("smoke", 5, 800, "200D", "1000D", "test:1", "shows that everything works"),
        Preset("quick", 20, 1500, "2000D", "10000D", "test:2", "the paper's experiment, smaller"),
        Preset("paper", 20, 10_000, "10000D", "100000D", "test", "the paper's experiment"),
    )
}  # fmt: skip


def find_preset(
    name: str,
    *,
    tuning_runs: int | None = None,
    tuning_budget: int | str | None = None,
    test_budget: int | str | None = None,
    repetitions: int | None = None,
) -> Preset:
    """Return a preset by its name, with changes.

    Parameters
    ----------
    name : {"smoke", "quick", "paper"}
        The preset.
    tuning_runs, tuning_budget, test_budget, repetitions : optional
        Replace the values of the preset; see :class:`Preset`.

    Returns
    -------
    Preset

    Raises
    ------
    UnknownName
        If there is no such preset.

    Examples
    --------
    >>> from uaos.study import find_preset
    >>> find_preset("smoke", tuning_budget="20D").tuning_budget
    '20D'
    """
    if name not in PRESETS:
        raise UnknownName("preset", name, PRESETS)
    preset = PRESETS[name]
    return dataclasses.replace(
        preset,
        tuning_runs=preset.tuning_runs if tuning_runs is None else tuning_runs,
        tuning_budget=preset.tuning_budget if tuning_budget is None else tuning_budget,
        test_budget=preset.test_budget if test_budget is None else test_budget,
        repetitions=preset.repetitions if repetitions is None else repetitions,
    )


class Study:
    """Tune a method, test it against others on unseen problems, and write a report.

    All files are in one folder. An interrupted or killed study continues where it was stopped;
    finished stages are not repeated.

    Parameters
    ----------
    suite : str, path or Suite
        The problems: "bbob", a Python file that defines a suite, or a suite. The training and test
        problems of BBOB are those of the paper. Other suites are split: problems that are held out
        are for the test, if there are any; otherwise `train` decides.
    folder : path
        The folder of the study, new or of the same study.
    preset : str or Preset
        The size of the study: "smoke", "quick", "paper", or a preset with changes, such as
        ``find_preset("smoke", tuning_budget="20D")``.
    seed : int
        The same seed gives the same study.
    train : float or iterable of str, optional
        The share of the problems to tune on, or their names; default: half of them.
    split_seed : int
        The seed of the random split.
    space : str or Design
        The search space of the tuning: "extended", "paper", "wide", or a design.
    method : str, optional
        Tune the hyper-parameters of this method, or the declared settings of this optimizer,
        instead of `space`; it joins the rivals.
    rivals : iterable of str
        The methods that the winner is compared with: names of the catalogue, or configuration
        files.
    control : {"uniform"}, optional
        Whether to add a control for the winner and each rival that selects: the same algorithm with
        uniform choice.
    focus : str, optional
        The method that tables and report are about; one of the rivals, or "tuned".

    Attributes
    ----------
    training, test : Suite
        The problems to tune on and to test on.
    card, tuning_store, winner, test_store, tables, report : Path
        The description of the study, the runs of its tuning, the configuration that won, the runs
        of its test, the folder of its tables, and the report.

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
    >>> study = uaos.Study(suite, tempfile.mkdtemp(), preset="smoke")
    >>> study.training.names, study.test.names
    (('ackley', 'rastrigin'), ('rosenbrock', 'sphere'))
    >>> study.run()  # doctest: +SKIP
    """

    def __init__(
        self,
        suite: str | os.PathLike[str] | Suite = "bbob",
        folder: str | os.PathLike[str] = "study",
        *,
        preset: str | Preset = "quick",
        seed: int = 1,
        train: float | Iterable[str] | None = None,
        split_seed: int = 1,
        space: str | Design = DEFAULT_PRESET,
        method: str | None = None,
        rivals: Iterable[str] = RIVALS,
        control: str | None = None,
        focus: str | None = None,
    ) -> None:
        require("scipy", "a study")
        size = preset if isinstance(preset, Preset) else find_preset(preset)
        self.size, self.preset = size, size.name
        self.seed, self.control = seed, control
        self.rivals = tuple(dict.fromkeys((*rivals, *([] if method is None else [method]))))
        self.focus = focus
        self.folder = check_folder(folder)
        self.card, self.report = self.folder / "study.toml", self.folder / "report.html"
        self.tuning_store, self.test_store = self.folder / "tuning.db", self.folder / "test.db"
        self.winner, self.tables = self.folder / f"{WINNER}.toml", self.folder / "tables"
        self._overview = self.tables / "overview.csv"  # the table that is written last
        self.training, self.test = _split(suite, size, train, split_seed)
        self.tuning_runs = size.tuning_runs
        self.tuning_budget, self.test_budget = size.tuning_budget, size.test_budget
        has_instances = any(problem.instance is not None for problem in self.test)
        default = 1 if has_instances else _REPETITIONS
        self.repetitions = default if size.repetitions is None else size.repetitions
        largest = self.training.dimensions[-1]
        if method is not None:
            chosen = design_for(method, dimension=largest)
        else:
            chosen = space if isinstance(space, Design) else design(space, dimension=largest)
        self.design = chosen.suited_to(self.training)
        self._check_card()
        self._check_rivals()

    def _check_rivals(self) -> None:
        """Raise an error if a rival or the method in focus does not exist, before the tuning."""
        names = {*Plan.of(list(self.rivals), self.test).competitors, WINNER}
        if self.focus is not None and self.focus not in names:
            raise UnknownName("method", self.focus, names, hint="(among those of the study)")

    def __repr__(self) -> str:
        return f"<Study {self.preset} in {self.folder}>"

    def to_dict(self) -> dict[str, object]:
        """Return the settings of the study; studies with equal settings are the same study."""
        return {
            "preset": self.preset, "seed": self.seed, "suite": self.training.name,
            "suite_hash": self.training.hash, "tuning_runs": self.tuning_runs,
            "tuning_budget": self.tuning_budget, "test_budget": self.test_budget,
            "repetitions": self.repetitions, "space": dict(self.design.options),
            "training": list(self.training.names), "test": list(self.test.names),
            "rivals": list(self.rivals),
        } | ({} if self.control is None else {"control": self.control})  # fmt: skip

    def _check_card(self) -> None:
        """Raise an error if the folder holds a study with other settings."""
        if not self.card.exists():
            return
        recorded = read_toml(self.card)
        different = {
            name: recorded.get(name)
            for name, value in self.to_dict().items()
            if recorded.get(name) != value
        }
        if not different:
            return
        if different.pop("suite_hash", None) is not None:
            different["a different version of the suite file"] = ""
        short = [
            f"{name} {value}".rstrip()
            for name, value in different.items()
            if not isinstance(value, list | dict)
        ]
        raise InvalidFile(
            f"{self.folder} holds a study with other settings ({', '.join(short or different)}); "
            "choose another folder, or remove this one"
        )

    # Running

    def create(self) -> None:
        """Create the folder, and write the description of the study.

        Tables and report that are about another method are removed, to be written again.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.card.exists() and not self._has_focus:
            self._overview.unlink(missing_ok=True)
            self.report.unlink(missing_ok=True)
        if not self.card.exists() or not self._has_focus:
            write_toml(self.to_dict() | {"focus": self.focus or ""}, self.card)

    @property
    def _has_focus(self) -> bool:
        """True if the folder's tables and report are about this method."""
        return self.card.exists() and (read_toml(self.card).get("focus") or None) == self.focus

    def run(
        self,
        *,
        only: str | None = None,
        start: str | None = None,
        jobs: int | None = None,
        dask: str | None = None,
    ) -> Path:
        """Run the stages that are not done yet.

        Parameters
        ----------
        only : str, optional
            Run only this stage: "tune", "test", "tables" or "report".
        start : str, optional
            Run this stage and those after it.
        jobs : int, optional
            The number of processes; default: one per processor.
        dask : str, optional
            The address of a Dask cluster to run on.

        Returns
        -------
        Path
            The report.

        Raises
        ------
        Stopped
            After Ctrl-C; finished runs are kept.
        """
        chosen = chosen_stages(only, start)
        check_pool(None, jobs)
        self.check(chosen)
        self.create()
        runners: dict[str, Callable[[], object]] = {
            "tune": lambda: self.run_tuning(jobs=jobs, dask=dask),
            "test": lambda: self.run_test(jobs=jobs, dask=dask),
            "tables": self.write_tables,
            "report": self.write_report,
        }
        for stage in chosen:
            if not self.is_done(stage):
                runners[stage]()
        return self.report

    def run_tuning(
        self, *, jobs: int | None = None, dask: str | None = None,
        on_event: Callable[["Event"], None] = lambda _: None,
        on_run: Callable[["RunCost"], None] = lambda _: None,
    ) -> Path:  # fmt: skip
        """Tune by :func:`uaos.tuning.tune`, and write the winner."""
        plan, store = self.tuning_plan(), self.tuning_store
        result = finished(plan, store) if store.exists() else None
        if result is None:
            result = tune(plan, store, jobs=jobs, dask=dask, on_event=on_event, on_run=on_run)
        result.best.to_toml(self.winner)
        return self.winner

    def run_test(
        self, *, jobs: int | None = None, dask: str | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> dict[str, Tally]:  # fmt: skip
        """Run the winner and its rivals by :func:`uaos.experiments.run`."""
        return run_plan(
            self.test_plan(), self.test_store, jobs=jobs, dask=dask, on_progress=on_progress
        )

    def write_tables(self) -> tuple["Comparison", list[Path]]:
        """Compare the methods, and write the tables."""
        from uaos.analysis import Results, compare, write_csv

        comparison = compare(Results.read(self.test_store), focus=self.focus)
        # The overview is written last: it marks the stage as done.
        last = self._overview.stem
        tables = sorted(comparison.tables, key=lambda table: table.name == last)
        # With another method in focus, a table may have other columns.
        return comparison, write_csv(tables, self.tables, overwrite=True)

    def write_report(self, progress: Callable[[str], None] | None = None) -> Path:
        """Write the report; `progress` is called with the name of each step."""
        from uaos.reporting.report import write_report

        stores = [s for s in (self.test_store, self.tuning_store) if s.exists()]
        title = f"A {self.preset} study of adaptive operator selection"
        return write_report(stores, self.report, title=title, focus=self.focus, progress=progress)

    # Plans of the stages

    def tuning_plan(self) -> TuningPlan:
        """Return the plan of the search on the training problems."""
        start = tuple(initial_candidates(self.design)[0].values())
        return TuningPlan(
            self.design, self.training, runs=self.tuning_runs, budget=self.tuning_budget,
            seed=self.seed, initial=start,
        )  # fmt: skip

    def test_plan(self, winner: Configuration | None = None) -> Plan:
        """Return the plan of the test: the winner and its rivals on problems unseen in tuning."""
        tested = dataclasses.replace(winner or configuration(self.winner), name=WINNER)
        return Plan.of(
            [tested, *self.rivals], self.test, budget=self.test_budget, seed=self.seed,
            repetitions=self.repetitions, control=self.control,
        )  # fmt: skip

    def check(self, chosen: Sequence[str] = STAGES) -> None:
        """Raise an error if a chosen stage lacks its input, or if its input is another file."""
        needs = {"test": ("tune", self.winner), "tables": ("test", self.test_store),
                 "report": ("test", self.test_store)}  # fmt: skip
        for stage, (earlier, file) in needs.items():
            if stage in chosen and earlier not in chosen and not file.exists():
                raise InvalidFile(f"{file} does not exist; run the stage {earlier} first")
        # Check the stores before anything is written.
        if self.tuning_store.exists() and {"tune", "report"} & set(chosen):
            TuningStore.open(self.tuning_store).close()
        if self.test_store.exists() and {"test", "tables", "report"} & set(chosen):
            Store.open(self.test_store).close()

    def is_done(self, stage: str) -> bool:
        """Return whether a stage is finished."""
        if stage == "tables":
            return self._has_focus and _is_newer(self._overview, self.test_store)
        if stage == "report":
            return self._has_focus and _is_newer(self.report, self.test_store, self.tuning_store)
        try:
            winner = configuration(self.winner)
        except UaosError:
            return False
        tuned = winner.tuning.get("plan") == self.tuning_plan().key
        if stage == "tune" or not tuned:
            return tuned
        if not self.test_store.exists():
            return False
        plan = self.test_plan()
        with Store.open(self.test_store) as store:
            return set(plan.competitors) <= set(store.methods()) and not store.missing(plan)

    # Estimated duration

    @property
    def runs(self) -> dict[str, int]:
        """Largest number of runs of the stages tune and test."""
        # The winner is not known yet; for the count, any configuration will do.
        return {"tune": self.tuning_runs, "test": len(self.test_plan(configuration(RECOMMENDED)))}

    @property
    def evaluations(self) -> dict[str, int]:
        """Largest number of evaluations of the stages tune and test."""
        tuning, test = self.tuning_plan(), self.test_plan(configuration(RECOMMENDED))
        mean = sum(tuning.evaluations(p) for p in tuning.suite) / len(tuning.suite)
        per_method = sum(test.evaluations(p) for p in test.suite) * test.repetitions
        return {"tune": round(self.tuning_runs * mean), "test": per_method * len(test.competitors)}

    def seconds(self, chosen: Sequence[str], per_evaluation: float, processes: int) -> float:
        """Return a rough estimate of the time of stages, including overhead."""
        evaluation = sum(self.evaluations.get(stage, 0) for stage in chosen) * per_evaluation
        runs = sum(self.runs.get(stage, 0) for stage in chosen)
        overhead = sum(_STAGE_SECONDS[stage] for stage in chosen) + runs * _RUN_SECONDS
        return evaluation / processes + overhead

    def seconds_per_evaluation(self) -> float:
        """Measure the time per evaluation in trial runs (a second, once the code is compiled)."""
        entry = configuration("U-AOS-FW")
        # Runs become longer until they suffice, as the speed of functions varies widely.
        problems = self.training[:: max(1, len(self.training) // 4)]
        # The first runs compile the code and are not measured.
        with jit.at_once():
            for problem in problems:
                run_unit(Unit(entry.name, problem.name, 1, 1, _TRIAL_BUDGETS[0]), problem, entry)
        for budget in _TRIAL_BUDGETS:
            seconds, evaluations = 0.0, 0
            for problem in problems:
                start = time.perf_counter()
                outcome = run_unit(Unit(entry.name, problem.name, 1, 1, budget), problem, entry)
                seconds += time.perf_counter() - start
                if outcome.outcome.status == "failed":
                    raise UaosError(
                        f"a trial run on {problem.name} failed: {outcome.outcome.reason}"
                    )
                evaluations += outcome.outcome.evaluations
            if seconds > _TRIAL_SECONDS:
                break
        return seconds / evaluations


def _split(
    suite: str | os.PathLike[str] | Suite, size: Preset, train: float | Iterable[str] | None,
    seed: int,
) -> tuple[Suite, Suite]:  # fmt: skip
    """Return the problems to tune on and to test on."""
    if suite == "bbob":
        if train is not None:
            raise InvalidParameter(
                'the suite "bbob" has fixed training problems and does not accept train; '
                "pass another suite to split it",
                name="train", value=train,
            )  # fmt: skip
        return (
            suite_called("bbob", dimension=size.dimension, instances="train"),
            suite_called("bbob", dimension=size.dimension, instances=size.instances),
        )
    problems = suite if isinstance(suite, Suite) else suite_called(suite)
    if train is None and any(p.held_out for p in problems):
        train = [p.name for p in problems if not p.held_out]
    return problems.split(0.5 if train is None else train, seed=seed)


def _is_newer(file: Path, *sources: Path) -> bool:
    """Return whether a file exists and is newer than its sources."""
    return file.exists() and all(
        source.exists() and source.stat().st_mtime <= file.stat().st_mtime for source in sources
    )


def chosen_stages(only: str | None = None, start: str | None = None) -> tuple[str, ...]:
    """Return the stages to run: all, `only` one of them, or those from `start` on."""
    for name, value in (("only", only), ("from", start)):
        if value is not None and value not in STAGES:
            raise UnknownName("stage", value, STAGES, hint=f"(--{name})")
    if only is not None and start is not None:
        message = "--only and --from cannot be combined; use one of them"
        raise InvalidParameter(message, name="--only and --from", value=(only, start))
    if only is not None:
        return (only,)
    return STAGES[STAGES.index(start) :] if start is not None else STAGES
