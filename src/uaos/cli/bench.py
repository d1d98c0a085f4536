"""`uaos bench`: run an experiment, see how far it is, merge and export its store."""

import math
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from uaos.cli import options
from uaos.cli.app import INTERRUPTED, app, console
from uaos.errors import InvalidParameter, Missing
from uaos.experiments import Plan, Stopped, Store, run
from uaos.experiments import Progress as Counts
from uaos.experiments.plan import UNIFORM
from uaos.experiments.store import ProblemRecord, Tally
from uaos.experiments.unit import Outcome
from uaos.files import check_output
from uaos.optimizers.catalogue import expanded
from uaos.problems import Problem
from uaos.problems import suite as suite_called
from uaos.text import count, join_names, ranges

# The least seconds between two lines of progress where there is no terminal.
_LINE_SECONDS = 10.0
# The most reasons for failures that are shown.
_REASONS = 10


# fmt: off
@dataclass(frozen=True)
class _Grid:
    """Which methods to run on which problems."""

    methods: Annotated[str | None, typer.Option(
        help="Run these: names (see `uaos methods`), configuration files (.toml) and groups of "
        "the catalogue (literature, tuned, winners, all), separated by commas.")] = None
    suite: options.SuiteName = "bbob"
    problems: Annotated[str | None, typer.Option(
        help="Run on these problems of the suite, separated by commas.")] = None
    functions: options.BbobFunctions = None
    dim: options.BbobDimension = None
    instances: Annotated[str | None, typer.Option(
        help='Choose BBOB instances: "train" (48 problems), "test" (the 312 others; the default), '
        '"all", "test:4" for the first four of each function, or numbers such as "1-5,7".')] = None


@dataclass(frozen=True)
class _Runs:
    """How to run."""

    budget: Annotated[str, typer.Option(
        help="Limit the evaluations of a run: a number, or a multiple of the dimension (10000D)."
        )] = "100000D"
    repetitions: Annotated[int, typer.Option(
        help="Run each method this often on each problem.")] = 1
    seed: options.Seed = 1
    without_uniform: Annotated[bool, typer.Option(
        "--without-uniform", help="Omit uniform choice, the baseline.")] = False
    retry_failed: options.RetryFailed = False


@dataclass(frozen=True)
class _Outputs:
    """What to do with a store instead of running."""

    status: Annotated[bool, typer.Option(
        "--status", help="Show how far the experiment is, and end.")] = False
    merge: Annotated[bool, typer.Option(
        "--merge", help="Make the first file out of the others, and end.")] = False
    export: Annotated[Path | None, typer.Option(
        help="Write the outcomes to this .csv or .parquet file, and end.")] = None
    coco_folder: Annotated[Path | None, typer.Option(
        "--export-coco", help="Write data folders for cocopp into this, and end.")] = None
    overwrite: options.Overwrite = False


@app.command(
    "bench",
    epilog="Example: [bold]uaos bench first.db --methods mix,JADE --dim 5 --instances 1-5 "
    "--budget 2000D --jobs 2[/]   ·   then: [bold]uaos bench first.db --status[/]",
)
@options.grouped
def bench_command(
    files: Annotated[list[Path], typer.Argument(
        metavar="STORE",
        help="The file of the experiment (with --merge: the new file, then those to merge).")],
    grid: _Grid,
    runs: _Runs,
    workers: options.Workers,
    outputs: _Outputs,
) -> None:
    # fmt: on
    """Run methods on a suite of problems, on every core; stopped or killed, it resumes.

    The same command runs what is missing. Methods and problems may be added to a store later. A
    suite of your own is a Python file that defines `suite = uaos.Suite(...)`.
    """
    if outputs.merge:
        from uaos.experiments.merge import merge_stores

        merged = count(merge_stores(files[0], files[1:]), "finished run")
        console.print(f"{files[0]}: {merged} of {count(len(files) - 1, 'store')}")
        return
    if len(files) != 1:
        names = [str(file) for file in files]
        raise InvalidParameter(
            f"{len(files)} stores given ({', '.join(names)}); uaos bench takes one, and several "
            "only with --merge", name="STORE", value=names,
        )  # fmt: skip
    if outputs.status or outputs.export is not None or outputs.coco_folder is not None:
        _show_or_export(files[0], outputs)
        return
    _run(_plan(grid, runs), files[0], workers, retry_failed=runs.retry_failed)


def _show_or_export(path: Path, outputs: _Outputs) -> None:
    """Show how far an experiment is, and write its outcomes for other programs."""
    from uaos.experiments.export import COLUMNS, export_coco, export_table

    if outputs.export is not None:
        is_csv = outputs.export.suffix.lower() == ".csv"
        check_output(
            outputs.export, inputs=[path], suffixes=[".csv", ".parquet"],
            overwrite=outputs.overwrite, columns=",".join(COLUMNS) if is_csv else "",
        )  # fmt: skip
    with Store.open(path) as store:
        if outputs.status:
            _show_status(store)
        written = [] if outputs.coco_folder is None else export_coco(store, outputs.coco_folder)
        if outputs.export is not None:
            export_table(store.outcomes(), outputs.export)
            written.append(outputs.export)
    for place in written:
        console.print(Text(f"written: {place}"))


def _plan(grid: _Grid, runs: _Runs) -> Plan:
    """Return the plan that the options describe; say so if uniform choice is added."""
    if grid.methods is None:
        raise Missing("Missing option --methods, for example: --methods mix,JADE")
    names = options.split_names(grid.methods)
    chosen = suite_called(
        grid.suite, functions=grid.functions, dimension=grid.dim, instances=grid.instances
    )
    if grid.problems is not None:
        chosen = chosen.select(options.split_names(grid.problems))
    plan = Plan.of(
        names, chosen, budget=runs.budget, repetitions=runs.repetitions, seed=runs.seed,
        uniform=not runs.without_uniform,
    )  # fmt: skip
    if UNIFORM in plan.competitors and UNIFORM not in expanded(names):
        console.print(
            "uniform is added, to show whether adapting pays (--without-uniform omits it)"
        )
    return plan


def _run(plan: Plan, path: Path, workers: options.Workers, *, retry_failed: bool) -> None:
    """Run what is missing, and show how far each method is."""
    bar = RunProgress()
    try:
        with bar.progress:
            tallies = run(
                plan, path, jobs=workers.jobs, dask=workers.dask, retry_failed=retry_failed,
                on_progress=bar.show,
            )  # fmt: skip
    except Stopped as stop:
        console.print(Text(str(stop)))
        sys.exit(INTERRUPTED)
    show_tallies(tallies, plan.suite)
    if any(tally.failed for tally in tallies.values()):
        with Store.open(path) as store:
            _show_failures(store)
        console.print("The same command with --retry-failed runs them again")
        if not any(tally.done for tally in tallies.values()):
            sys.exit(1)


def _show_status(store: Store) -> None:
    damaged = store.damaged()
    problems = {p.name: p for p in store.problems()}
    dimensions: dict[int, set[int]] = {}
    for planned in store.planned().values():
        for name, (_, budget) in planned.items():
            dimensions.setdefault(budget, set()).add(problems[name].dimension)
    budgets = ", ".join(f"{n:,} in {ranges(d)}-D" for n, d in sorted(dimensions.items()))
    about = f"{store.path}: suite {store.suite}, seed {store.seed}, evaluations at most {budgets}"
    console.print(Text(about))
    if damaged:
        omitted = f"omitted: {count(damaged, 'damaged run')}; the command that made the store"
        console.print(Text(f"{omitted} repeats them", style="yellow"))
    show_tallies(store.tallies(), problems.values())
    _show_failures(store)


def _show_failures(store: Store) -> None:
    """Show why runs failed, a line for each reason."""
    reasons: dict[str, list[Outcome]] = {}
    for outcome in store.failures():
        reasons.setdefault(outcome.reason, []).append(outcome)
    for reason, outcomes in sorted(reasons.items(), key=lambda item: -len(item[1]))[:_REASONS]:
        methods = _some(dict.fromkeys(outcome.method for outcome in outcomes))
        problems = _some(dict.fromkeys(outcome.problem for outcome in outcomes))
        runs = count(len(outcomes), "run")
        console.print(Text(f"failed: {runs} of {methods} on {problems}: {reason}", "yellow"))
    if len(reasons) > _REASONS:
        console.print(Text(f"and for {len(reasons) - _REASONS} more reasons", "yellow"))


def _some(names: Iterable[str], most: int = 4) -> str:
    every = list(names)
    more = [f"{len(every) - most} more"] if len(every) > most else []
    return join_names([*every[:most], *more])


def show_tallies(tallies: dict[str, Tally], problems: Iterable[Problem | ProblemRecord]) -> None:
    """Show how far each method is."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for column in ("method", "solved", "finished", "planned", "failed"):
        table.add_column(column, justify="left" if column == "method" else "right")
    for name, tally in tallies.items():
        over = tally.done + tally.failed
        shown = Text(name, style="bold")
        table.add_row(shown, *map(str, (tally.solved, over, tally.total, tally.failed)))
    console.print(table)
    if unknown := sum(p.optimum is None or math.isnan(p.optimum) for p in problems):
        console.print(Text(
            f"The optimum of {count(unknown, 'problem')} is not known, so their runs do not count "
            "as solved; uaos compare takes the best value of any run instead", style="dim",
        ))  # fmt: skip


class _Rate(ProgressColumn):
    """Show runs per second or per minute."""

    def render(self, task: Task) -> Text:
        speed = task.speed or 0.0
        text = f"{speed:.1f} runs/s" if speed >= 1 else f"{60 * speed:.1f} runs/min"
        return Text(text if speed else "", style="dim")


class RunProgress:
    """Progress of an experiment: a bar on a terminal, elsewhere a line now and then."""

    def __init__(self) -> None:
        self.progress = Progress(
            TextColumn("runs"), BarColumn(), MofNCompleteColumn(), _Rate(), TimeElapsedColumn(),
            TextColumn("left"), TimeRemainingColumn(), TextColumn("{task.fields[note]}"),
            console=console, transient=True, disable=not console.is_terminal,
            speed_estimate_period=600,
        )  # fmt: skip
        self._task = self.progress.add_task("", total=None, note="", start=False)
        self._before: int | None = None
        self._damaged = 0
        self._tenth, self._printed = 0, time.monotonic()

    def show(self, counts: Counts) -> None:
        """Show how far the experiment is."""
        if self._before is None:
            # What was finished earlier says nothing about today's speed.
            self._before = counts.over - counts.new
            self.progress.start_task(self._task)
        if counts.damaged > self._damaged:
            self._damaged = counts.damaged
            again = count(counts.damaged, "damaged run")
            console.print(Text(f"to be repeated: {again}", style="yellow"))
        note = f"{self._before} found in the store" if self._before else ""
        if counts.failed:
            note += f"{', ' if note else ''}{counts.failed} failed"
        self.progress.update(
            self._task, total=counts.total - self._before, completed=counts.new, note=note
        )
        tenth = 10 * counts.over // max(1, counts.total)
        waited = time.monotonic() - self._printed >= _LINE_SECONDS
        if not console.is_terminal and tenth > self._tenth and waited:
            self._tenth, self._printed = tenth, time.monotonic()
            console.print(f"{10 * tenth} %: {counts.over:,} of {counts.total:,} runs")
