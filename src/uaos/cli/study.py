"""`uaos study`: run the paper's pipeline in one command, from tuning to the report."""

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from uaos.cli import options
from uaos.cli.app import INTERRUPTED, app, console, spinner
from uaos.text import count, duration

if TYPE_CHECKING:
    from uaos.study import Study

_TITLES = {
    "tune": "tuning on the training problems",
    "test": "testing on problems unseen in tuning",
    "tables": "tables and statistics",
    "report": "report",
}


# fmt: off
@dataclass(frozen=True)
class _Size:
    """Size; options override the preset."""

    preset: Annotated[str, typer.Option(
        help="Set the size: smoke (a minute), quick (about eight minutes) or paper (hours)."
        )] = "quick"
    tuning_runs: Annotated[int | None, typer.Option(
        min=1, help="Make this many runs in the tuning.")] = None
    tuning_budget: Annotated[str | None, typer.Option(
        help="Limit the evaluations of a tuning run, such as 200D.")] = None
    test_budget: Annotated[str | None, typer.Option(
        help="Limit the evaluations of a test run, such as 1000D.")] = None
    repetitions: Annotated[int | None, typer.Option(
        min=1, help="Repeat each method on each test problem this many times.")] = None
    control: options.Control = None
    methods: Annotated[str | None, typer.Option(
        help="Test the winner against these methods instead of the default ones: names of the "
        "catalogue or TOML files, separated by commas.")] = None
    focus: options.Focus = None


@dataclass(frozen=True)
class _Problems:
    """Problems and search space."""

    suite: options.SuiteName = "bbob"
    train: options.Train = None
    split_seed: options.SplitSeed = 1
    space: Annotated[str, typer.Option(
        help="Search this space: extended, paper or wide (see uaos tune).")] = "extended"
    method: Annotated[str | None, typer.Option(
        help="Tune the hyper-parameters of this method, or the declared settings of this "
        "optimizer, instead of the space; it is tested untuned as well.")] = None


@dataclass(frozen=True)
class _Stages:
    """Stages."""

    only: Annotated[str | None, typer.Option(
        help="Run only this stage: tune, test, tables or report.")] = None
    start: Annotated[str | None, typer.Option(
        "--from", help="Run this stage and those after it.")] = None


@app.command(
    "study",
    epilog="Examples: [bold]uaos study --preset smoke --folder first[/]   ·   on your problems: "
    "[bold]uaos study --suite problems.py --preset smoke --folder mine[/]",
)
@options.grouped
def study_command(
    problems: _Problems,
    size: _Size,
    stages: _Stages,
    workers: options.Workers,
    folder: Annotated[Path, typer.Option(help="Write all files into this folder.")] = Path("study"),
    seed: options.Seed = 1,
) -> None:
    # fmt: on
    """Tune a method, test it against published ones, and write a report.

    After an interruption the same command continues; finished stages are not repeated. A suite of
    your own is split in half: one half for tuning, the other for testing (--train changes that).
    """
    # Imported here, because the tuner would slow down the start of every other command.
    from uaos.experiments.executors import check_pool
    from uaos.study import RIVALS, Study, chosen_stages, find_preset

    chosen = chosen_stages(stages.only, stages.start)
    check_pool(None, workers.jobs)
    preset = find_preset(
        size.preset, tuning_runs=size.tuning_runs, tuning_budget=size.tuning_budget,
        test_budget=size.test_budget, repetitions=size.repetitions,
    )  # fmt: skip
    study = Study(
        problems.suite, folder, preset=preset, seed=seed, train=options.parse_train(problems.train),
        split_seed=problems.split_seed, space=problems.space, method=problems.method,
        control=size.control,
        rivals=RIVALS if size.methods is None else options.split_names(size.methods),
        focus=size.focus,
    )  # fmt: skip
    study.check(chosen)
    _run(study, chosen, workers)


def _run(study: "Study", chosen: Sequence[str], workers: options.Workers) -> None:
    """Run the chosen stages, and show their progress."""
    from uaos.experiments import Stopped

    begin = time.perf_counter()
    remaining = [stage for stage in chosen if not study.is_done(stage)]
    if not remaining:
        console.print(Text(f"All stages are finished: open {study.report} in a browser"))
        return
    _announce(study, remaining, workers)
    try:
        study.create()
        for stage in chosen:
            if study.is_done(stage):
                console.print(Text(f"{_TITLES[stage]}: finished earlier", style="dim"))
                continue
            console.print(Text(f"\n{_TITLES[stage]}", style="bold"))
            if written := _run_stage(study, stage, workers):
                console.print(Text(f"written: {', '.join(map(str, written))}"), soft_wrap=True)
    except Stopped as stop:
        console.print(Text(str(stop)))
        sys.exit(INTERRUPTED)
    except KeyboardInterrupt:
        console.print("stopped: finished runs are kept; the same command continues")
        sys.exit(INTERRUPTED)
    console.print(Text(f"\nDone in {duration(time.perf_counter() - begin)}.", style="bold"))
    if study.report.exists():
        console.print(Text(f"Open {study.report} in a browser."))


def _announce(study: "Study", remaining: list[str], workers: options.Workers) -> None:
    """Print what will be run, and an estimate of the time."""
    from uaos.cli.tune_tables import training

    size = study.size
    bbob = study.training.name == "bbob"
    words = f"{size.purpose}, in {size.dimension}-D, " if bbob else ""
    console.print(Text(f"{study.preset}: {words}in {study.folder}/"))
    if not bbob:
        for what, part in (("tunes on", study.training), ("tests on", study.test)):
            console.print(Text(f"{what} {training(part, ', '.join(part.names))}"))
    costs = {k: v for k, v in study.evaluations.items() if k in remaining}
    if not costs:
        return
    total = sum(costs.values())
    if workers.dask is not None:
        console.print(Text(f"at most {total:,} evaluations, on the cluster at {workers.dask}"))
        return
    jobs = workers.jobs or os.cpu_count() or 1
    console.print(Text("measuring the speed of this machine in trial runs …", style="dim"))
    seconds = study.seconds(remaining, study.seconds_per_evaluation(), jobs)
    console.print(Text(
        f"at most {total:,} evaluations on {count(jobs, 'process', 'processes')}: roughly "
        f"{duration(seconds)}"
    ))  # fmt: skip


def _run_stage(study: "Study", stage: str, workers: options.Workers) -> list[Path]:
    """Run a stage, show its progress, and return the files that it wrote."""
    from uaos.cli.bench import RunProgress, show_tallies
    from uaos.cli.tune_view import View

    jobs, dask = workers.jobs, workers.dask
    if stage == "tune":
        with View.of(study.tuning_plan(), study.tuning_store, console) as view:
            return [study.run_tuning(
                jobs=jobs, dask=dask, on_event=view.on_event, on_run=view.on_run
            )]  # fmt: skip
    if stage == "test":
        runs = RunProgress()
        with runs.progress:
            tallies = study.run_test(jobs=jobs, dask=dask, on_progress=runs.show)
        show_tallies(tallies, study.test)
        return []
    if stage == "tables":
        comparison, written = study.write_tables()
        for section in comparison.sections:
            console.print(Text(f"{section.headline}\n{section.verdict}"))
            for line in section.notes:
                console.print(Text(line, style="yellow"))
        return list(written)
    with spinner() as bar:
        return [study.write_report(lambda what: bar.update(bar.task_ids[0], description=what))]
