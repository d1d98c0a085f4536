"""The whole pipeline of the framework's paper: tune, test, tabulate, report.

A study lives in a folder: `tuning.db` and the winner `tuned.toml`, `test.db`, `tables/`,
`report.html`, and `study.toml`, which says what it is. Every stage resumes where it was stopped,
and is skipped when it is done.
"""

import dataclasses
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from uaos.errors import InvalidFile, InvalidParameter, UaosError, UnknownName
from uaos.experiments.plan import UNIFORM, Plan, evaluations
from uaos.experiments.records import Unit
from uaos.experiments.store import Store
from uaos.experiments.units import run_unit
from uaos.optimizers.catalogue import RECOMMENDED, configuration, methods
from uaos.optimizers.configuration import Configuration
from uaos.problems import BBOB, suite
from uaos.selection.method import read_toml, write_toml
from uaos.tuning.design import design
from uaos.tuning.store import TuningStore
from uaos.tuning.tune import Plan as TuningPlan
from uaos.tuning.tune import initial_candidates

#: The stages, in their order.
STAGES = ("tune", "test", "tables", "report")

#: The name under which the winner of the tuning is tested.
WINNER = "tuned"

#: What the winner is compared with: the configurations tuned in the paper, two methods that adapt
#: their settings instead of choosing operators, our default, and uniform choice.
RIVALS = (
    *(name for name, c in methods().items() if c.kind == "tuned" and "inferred" not in name),
    "JADE", "R-SHADE", RECOMMENDED, UNIFORM,
)  # fmt: skip


# Seconds that go into no evaluation, as measured on one machine with two processors: for a stage,
# such as until its processes have started and loaded the compiled code, and for each of its runs.
_STAGE_SECONDS = {"tune": 3.0, "test": 3.0, "tables": 1.5, "report": 9.0}
_RUN_SECONDS = 0.002


@dataclass(frozen=True)
class Preset:
    """How large a study is. Budgets are evaluations of a run, in multiples of the dimension.

    `instances` are those of the test, such as "test:4" for four problems of each function.
    """

    dimension: int
    tuning_runs: int
    tuning_budget: str
    test_budget: str
    instances: str
    words: str


PRESETS = {
    "smoke": Preset(5, 800, "200D", "1000D", "test:1", "shows that everything works"),
    "quick": Preset(20, 2000, "2000D", "10000D", "test:4", "the paper's experiment made small"),
    "paper": Preset(20, 10_000, "10000D", "100000D", "test", "the paper's experiment"),
}


@dataclass(frozen=True)
class Study:
    """A study in a folder; :meth:`at` checks that the folder holds this one or none."""

    folder: Path
    name: str
    preset: Preset
    seed: int

    @classmethod
    def at(cls, folder: str | os.PathLike[str], preset: str = "quick", seed: int = 1) -> "Study":
        """The study of a preset; a folder that holds another one is refused."""
        if preset not in PRESETS:
            raise UnknownName("preset", preset, PRESETS)
        place = Path(folder)
        if place.exists() and not place.is_dir():
            raise InvalidParameter("folder", str(place), "a folder, new or not")
        made = cls(place, preset, PRESETS[preset], seed)
        if made.card.exists():
            found = read_toml(made.card)
            if found != made.to_dict():
                there = ", ".join(f"{k} {v}" for k, v in found.items() if k in ("preset", "seed"))
                raise InvalidFile(
                    f"{place}: holds another study ({there}); name another folder, or remove it"
                )
        return made

    @property
    def card(self) -> Path:
        """The file that says what the study is."""
        return self.folder / "study.toml"

    @property
    def tuning_store(self) -> Path:
        """The runs of the tuning."""
        return self.folder / "tuning.db"

    @property
    def winner(self) -> Path:
        """The configuration that the tuning found."""
        return self.folder / f"{WINNER}.toml"

    @property
    def test_store(self) -> Path:
        """The runs on the test problems."""
        return self.folder / "test.db"

    @property
    def tables(self) -> Path:
        """The folder of the comparison's tables."""
        return self.folder / "tables"

    @property
    def overview(self) -> Path:
        """The table that is written last."""
        return self.tables / "overview.csv"

    @property
    def report(self) -> Path:
        """The report."""
        return self.folder / "report.html"

    def to_dict(self) -> dict[str, Any]:
        """What tells one study from another."""
        sizes = {k: v for k, v in dataclasses.asdict(self.preset).items() if k != "words"}
        return {"preset": self.name, "seed": self.seed, **sizes}

    def create(self) -> None:
        """Make the folder, and say in it what it is for."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if not self.card.exists():
            write_toml(self.to_dict(), self.card)

    # What the stages run

    def tuning_plan(self) -> TuningPlan:
        """The search in the extended space on the training problems."""
        size = self.preset
        space = design(dimension=size.dimension)
        start, _ = initial_candidates(space)
        return TuningPlan(
            space, suite("bbob", instances="train", dimension=size.dimension),
            runs=size.tuning_runs, budget=size.tuning_budget, seed=self.seed, initial=tuple(start),
        )  # fmt: skip

    def test_plan(self, winner: Configuration) -> Plan:
        """The winner and its rivals on test problems, which the tuning has never seen."""
        size = self.preset
        return Plan.of(
            [winner, *RIVALS],
            suite("bbob", dimension=size.dimension, instances=size.instances),
            budget=size.test_budget, seed=self.seed,
        )  # fmt: skip

    def check(self, wanted: Sequence[str]) -> None:
        """Refuse stages that lack what an earlier one makes, or find another file in its place."""
        needs = {"test": ("tune", self.winner), "tables": ("test", self.test_store),
                 "report": ("test", self.test_store)}  # fmt: skip
        for stage, (earlier, file) in needs.items():
            if stage in wanted and earlier not in wanted and not file.exists():
                raise InvalidFile(f"{file}: there is no such file; run the stage {earlier} first")
        # Before anything is written: a report of the wrong store would take the good one's place.
        uses = {self.tuning_store: (TuningStore, {"tune", "report"}),
                self.test_store: (Store, {"test", "tables", "report"})}  # fmt: skip
        for store, (kind, users) in uses.items():
            if store.exists() and users & set(wanted):
                kind.open(store).close()

    def tested(self) -> Configuration:
        """The winner as it is tested."""
        return dataclasses.replace(configuration(self.winner), name=WINNER)

    # Which stages are done

    def is_done(self, stage: str) -> bool:
        """Whether there is nothing to do in a stage."""
        return self._checks()[stage]()

    def _checks(self) -> Mapping[str, Callable[[], bool]]:
        return {
            "tune": self._is_tuned,
            "test": self._is_tested,
            "tables": lambda: _newer(self.overview, self.test_store),
            "report": lambda: _newer(self.report, self.test_store, self.tuning_store),
        }

    def _is_tuned(self) -> bool:
        try:
            found = configuration(self.winner)
        except UaosError:
            return False
        return found.tuning.get("plan") == self.tuning_plan().key

    def _is_tested(self) -> bool:
        if not (self._is_tuned() and self.test_store.exists()):
            return False
        plan = self.test_plan(self.tested())
        with Store.open(self.test_store) as store:
            return set(plan.competitors) <= set(store.methods()) and not store.missing(plan)

    # How long it takes

    @property
    def runs(self) -> dict[str, int]:
        """The runs of the two stages that have any, at most."""
        # The winner's place is held by any configuration: it is the number of them that counts.
        test = self.test_plan(dataclasses.replace(configuration("U-AOS-FW"), name=WINNER))
        return {"tune": self.preset.tuning_runs, "test": len(test)}

    @property
    def evaluations(self) -> dict[str, int]:
        """The evaluations of the same, at most."""
        size = self.preset
        budgets = {"tune": size.tuning_budget, "test": size.test_budget}
        return {
            stage: runs * evaluations(budgets[stage], size.dimension)
            for stage, runs in self.runs.items()
        }

    def seconds(self, wanted: Sequence[str], per_evaluation: float, processes: int) -> float:
        """About how long stages take, at most: their evaluations, and what comes on top."""
        spread = sum(self.evaluations.get(stage, 0) for stage in wanted) * per_evaluation
        runs = sum(self.runs.get(stage, 0) for stage in wanted)
        on_top = sum(_STAGE_SECONDS[stage] for stage in wanted) + runs * _RUN_SECONDS
        return spread / processes + on_top

    def seconds_per_evaluation(self) -> float:
        """From a trial of about a second on this machine, after a warm-up."""
        entry, size = configuration("U-AOS-FW"), self.preset
        seconds, evaluations = 0.0, 0
        for function in (8, 8, 3, 15, 21):
            problem = BBOB(function, size.dimension, 1)
            unit = Unit(entry.name, problem.name, 1, 1, 20_000)
            start = time.perf_counter()
            outcome = run_unit(unit, problem, entry).outcome
            if seconds or function != 8:
                evaluations += outcome.evaluations
                seconds += time.perf_counter() - start
        return seconds / evaluations


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
