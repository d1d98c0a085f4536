"""`uaos study`: the paper's pipeline in one command, from tuning to the report."""

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from uaos.cli.app import INTERRUPTED, app, console
from uaos.cli.options import Dask, Jobs

if TYPE_CHECKING:
    from uaos.study import Study

_TITLES = {
    "tune": "tuning on the training problems",
    "test": "testing on problems that the tuning has not seen",
    "tables": "tables and statistics",
    "report": "report",
}


@app.command(
    "study",
    epilog="Example: [bold]uaos study --preset smoke --folder first[/]   ·   the paper's "
    "experiment in full: [bold]uaos study --preset paper --folder paper[/]",
)
def study_command(
    preset: Annotated[
        str, typer.Option(help="smoke (a minute), quick (about ten minutes) or paper (hours).")
    ] = "quick",
    folder: Annotated[Path, typer.Option(help="Where everything goes.")] = Path("study"),
    only: Annotated[
        str | None, typer.Option(help="Only this stage: tune, test, tables or report.")
    ] = None,
    start: Annotated[
        str | None, typer.Option("--from", help="This stage and those after it.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Makes the study repeatable.")] = 1,
    jobs: Jobs = None,
    dask: Dask = None,
) -> None:
    """Tune a method, test it against published ones, and write a report to read in a browser.

    Stopped or killed, the same command goes on where it was; what is done is not done again.
    """
    # Here, as a tuner would slow down the start of every other command.
    from uaos.experiments.pools import check_pool
    from uaos.study import Study, stages

    wanted = stages(only, start)
    check_pool(None, jobs)
    study = Study.at(folder, preset, seed)
    study.check(wanted)
    begun = time.perf_counter()
    left = [stage for stage in wanted if not study.is_done(stage)]
    if not left:
        console.print(Text(f"Everything is done: open {study.report} in a browser"))
        return
    _announce(study, left, jobs, dask)
    study.create()
    try:
        for stage in wanted:
            if study.is_done(stage):
                console.print(Text(f"{_TITLES[stage]}: done before", style="dim"))
                continue
            console.print(Text(f"\n{_TITLES[stage]}", style="bold"))
            _STAGES[stage](study, jobs, dask)
    except KeyboardInterrupt:
        console.print("stopped: what was finished is kept; the same command continues")
        sys.exit(INTERRUPTED)
    took = _duration(time.perf_counter() - begun)
    console.print(Text(f"\nDone in {took}.", style="bold"))
    if study.report.exists():
        console.print(Text(f"Open {study.report} in a browser."))


def _announce(study: "Study", left: list[str], jobs: int | None, dask: str | None) -> None:
    """What will be run, and about how long that takes."""
    size = study.preset
    console.print(Text(f"{study.name}: {size.words}, in {size.dimension}-D, in {study.folder}/"))
    costs = {k: v for k, v in study.evaluations.items() if k in left}
    if not costs:
        return
    total = sum(costs.values())
    if dask is not None:
        console.print(Text(f"at most {total:,} evaluations, on the cluster at {dask}"))
        return
    count = jobs or os.cpu_count() or 1
    console.print(Text("a trial run, to see how fast this machine is …", style="dim"))
    seconds = study.seconds(left, study.seconds_per_evaluation(), count)
    console.print(Text(
        f"at most {total:,} evaluations on {count} processes: about {_duration(seconds)}, less "
        "where problems are solved early"
    ))  # fmt: skip


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    minutes = seconds / 60
    return f"{minutes:.0f} minutes" if minutes < 100 else f"{minutes / 60:.1f} hours"


def _tune(study: "Study", jobs: int | None, dask: str | None) -> None:
    from uaos.cli import tune_job

    plan = study.tuning_plan()
    tuned = tune_job.run(plan, study.tuning_store, jobs, dask, False)
    tuned.best.to_toml(study.winner)
    console.print(Text(f"written: {study.winner}, the winner of {tuned.used:,} runs"))


def _test(study: "Study", jobs: int | None, dask: str | None) -> None:
    from uaos.cli.bench import run_shown

    run_shown(study.test_plan(study.tested()), study.test_store, jobs=jobs, dask=dask)


def _tables(study: "Study", jobs: int | None, dask: str | None) -> None:
    from uaos.analysis import Results, compare, write_csv

    comparison = compare(Results.read(study.test_store))
    for section in comparison.sections:
        console.print(Text(section.headline))
        console.print(Text(section.verdict))
        for line in section.notes:
            console.print(Text(line, style="yellow"))
    # The overview last: it says that the stage is done.
    tables = sorted(comparison.tables, key=lambda table: table.name == study.overview.stem)
    written = write_csv(tables, study.tables)
    console.print(Text(f"written: {', '.join(str(path) for path in written)}"), soft_wrap=True)


def _report(study: "Study", jobs: int | None, dask: str | None) -> None:
    from uaos.cli.report import write_shown

    command = f"uaos study --preset {study.name} --folder {study.folder} --seed {study.seed}"
    write_shown(
        [s for s in (study.test_store, study.tuning_store) if s.exists()], study.report,
        title=f"A {study.name} study of adaptive operator selection", commands=[command],
    )  # fmt: skip


_STAGES = {"tune": _tune, "test": _test, "tables": _tables, "report": _report}
