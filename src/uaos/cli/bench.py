"""`uaos bench`: run an experiment, show its progress, merge and export its store."""

import math
import shlex
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, fields, replace
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
from uaos.errors import InvalidParameter, Missing, UaosError
from uaos.experiments import Plan, Stopped, Store, run
from uaos.experiments import Progress as Counts
from uaos.experiments.plan import differences
from uaos.experiments.provenance import command_line
from uaos.experiments.reader import Tally
from uaos.experiments.run_table import ProblemRecord
from uaos.experiments.unit import Outcome
from uaos.files import check_output
from uaos.loading import load_file
from uaos.optimizers.catalogue import expanded
from uaos.optimizers.configuration import UNIFORM
from uaos.problems import Problem
from uaos.problems import suite as suite_called
from uaos.text import count, join_names, ranges

# The minimum number of seconds between lines of progress without a terminal.
_LINE_SECONDS = 10.0
# The maximum number of reasons for failures that are shown, and of names in each.
_REASONS, _NAMES = 10, 4


# fmt: off
@dataclass(frozen=True)
class _Grid:
    """Methods and problems."""

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
    """Runs."""

    budget: Annotated[str, typer.Option(
        help="Limit the evaluations of a run: a number, or a multiple of the dimension (10000D)."
        )] = "100000D"
    repetitions: Annotated[int, typer.Option(
        help="Repeat each method on each problem this many times.")] = 1
    seed: options.Seed = 1
    without_uniform: Annotated[bool, typer.Option(
        "--without-uniform", help="Omit the baseline, uniform choice of operators.")] = False
    control: options.Control = None
    retry_failed: options.RetryFailed = False


@dataclass(frozen=True)
class _Outputs:
    """Actions on an existing store."""

    status: Annotated[bool, typer.Option(
        "--status", help="Show the progress of the experiment, and exit.")] = False
    merge: Annotated[bool, typer.Option(
        "--merge", help="Merge the other files into the first, and exit.")] = False
    export: Annotated[Path | None, typer.Option(
        help="Write the outcomes to this .csv or .parquet file, and exit.")] = None
    coco_folder: Annotated[Path | None, typer.Option(
        "--export-coco", help="Write data folders for cocopp into this folder, and exit.")] = None
    ioh_folder: Annotated[Path | None, typer.Option(
        "--export-ioh", help="Write data folders for IOHanalyzer into this folder, and exit.")
    ] = None
    overwrite: options.Overwrite = False

    @property
    def is_asked(self) -> bool:
        """True if the experiment is to be shown or exported, but not run."""
        asked = (self.export, self.coco_folder, self.ioh_folder)
        return self.status or any(place is not None for place in asked)


@app.command(
    "bench",
    epilog="Example: [bold]uaos bench first.db --methods mix,JADE --dim 5 --instances 1-5 "
    "--budget 2000D --jobs 2[/]   ·   to continue it: [bold]uaos bench first.db[/]",
)
@options.grouped
def bench_command(
    files: Annotated[list[Path], typer.Argument(
        metavar="STORE",
        help="Use this file for the experiment (with --merge: a new file, then those to merge).")],
    grid: _Grid,
    runs: _Runs,
    workers: options.Workers,
    outputs: _Outputs,
) -> None:
    # fmt: on
    """Run methods on a suite of problems, on all cores.

    After an interruption the same command continues; so does `uaos bench STORE` alone, as the
    store remembers its commands. Methods and problems can be added to a store later. To use your
    own problems, pass a Python file that defines `suite = uaos.Suite(...)`.
    """
    if outputs.merge:
        from uaos.experiments.merge import merge_stores

        merged = count(merge_stores(files[0], files[1:]), "finished run")
        console.print(f"{files[0]}: {merged} of {count(len(files) - 1, 'store')}")
        return
    if len(files) != 1:
        names = [str(file) for file in files]
        raise InvalidParameter(
            f"uaos bench got {len(files)} stores ({', '.join(names)}); expected one, or several "
            "with --merge", name="STORE", value=names,
        )  # fmt: skip
    if outputs.is_asked:
        _show_or_export(files[0], outputs)
        return
    if grid.methods is None and files[0].exists():
        _check_plain(files[0], grid, runs)
        _resume(files[0], workers, retry_failed=runs.retry_failed)
        return
    plan = _plan(grid, runs)
    _note_another_dimension(plan, files[0])
    _run(plan, files[0], workers, retry_failed=runs.retry_failed)


def _note_another_dimension(plan: Plan, path: Path) -> None:
    """Print a note if a store gets problems of a dimension that it does not have yet."""
    before: set[int] = set()
    if path.exists():
        with suppress(UaosError), Store.open(path) as store:  # `run` says what is wrong with it
            if not differences(store.identity(), plan.identity()):
                before = {problem.dimension for problem in store.problems()}
    added = {problem.dimension for problem in plan.suite} - before
    if before and added:
        old, new = (", ".join(f"{d}-D" for d in sorted(part)) for part in (before, added))
        console.print(f"note: {path.name} has problems in {old}; this adds {new} (--dim chooses)")


def _check_plain(path: Path, grid: _Grid, runs: _Runs) -> None:
    """Raise an error if a command that only continues an experiment has options of another one."""
    chosen = replace(runs, retry_failed=False)
    changed = [
        f"--{field.name.replace('_', '-')}"
        for group in (grid, chosen)
        for field in fields(group)
        if getattr(group, field.name) != field.default
    ]
    if changed:
        raise Missing(
            f"Missing option --methods beside {', '.join(changed)}: without it, "
            f"`uaos bench {path}` continues the experiment as it was begun"
        )


def _resume(path: Path, workers: options.Workers, *, retry_failed: bool) -> None:
    """Run the commands that a store remembers again; finished runs are not repeated."""
    with Store.open(path) as store:
        commands = store.commands
    recorded = [words for words in map(shlex.split, commands) if _fills_a_store(words)]
    if not recorded:
        origin = f"; it was written by: {'; '.join(commands)}" if commands else ""
        raise Missing(
            f"Missing option --methods: {path} has no record of a command of uaos bench to continue"
            f"{origin}"
        )
    for words in recorded:
        console.print(Text(f"continuing: {shlex.join(words)}"), soft_wrap=True)
        at = words.index("bench")
        for place, word in enumerate(words[:at]):
            if word == "--import":
                load_file(Path(words[place + 1]))
        grid, runs = _recorded_options(words[at + 1 :])
        with command_line(words[1:]):  # the store has it already
            _run(_plan(grid, runs), path, workers, retry_failed=retry_failed)


def _fills_a_store(words: list[str]) -> bool:
    """Return whether a command line is one of `uaos bench` that runs methods."""
    return "bench" in words and any(word.split("=")[0] == "--methods" for word in words)


def _recorded_options(words: list[str]) -> tuple[_Grid, _Runs]:
    """Parse the options of a recorded command line."""
    command = typer.main.get_command(app).commands["bench"]  # type: ignore[attr-defined]
    values = command.make_context("bench", list(words)).params
    groups = (_Grid, _Runs)
    grid, runs = (kind(**{f.name: values[f.name] for f in fields(kind)}) for kind in groups)
    return grid, runs  # type: ignore[return-value]


def _show_or_export(path: Path, outputs: _Outputs) -> None:
    """Show the progress of an experiment, and export its outcomes."""
    from uaos.experiments.export import COLUMNS, export_coco, export_ioh, export_table

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
        if outputs.ioh_folder is not None:
            written += export_ioh(store, outputs.ioh_folder)
        if outputs.export is not None:
            export_table(store.outcomes(), outputs.export)
            written.append(outputs.export)
    for place in written:
        console.print(Text(f"written: {place}"))


def _plan(grid: _Grid, runs: _Runs) -> Plan:
    """Return the plan that the options describe, and print a note if uniform choice is added."""
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
        uniform=not runs.without_uniform, control=runs.control,
    )  # fmt: skip
    added = not runs.without_uniform and UNIFORM not in expanded(names)
    if added and UNIFORM in plan.competitors:
        console.print(
            "added: uniform, the baseline of methods that adapt (--without-uniform omits it)"
        )
    if runs.control is not None:
        controls = ", ".join(name for name in plan.competitors if name.endswith(f" ({UNIFORM})"))
        missing = "no control added: none of the methods adapts a choice among operators"
        console.print(Text(f"added: {controls}" if controls else missing))
    return plan


def _run(plan: Plan, path: Path, workers: options.Workers, *, retry_failed: bool) -> None:
    """Run what is missing, and show the progress."""
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
        console.print("To repeat failed runs, add --retry-failed to the same command")
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
    about = f"{store.path}: suite {store.suite}, seed {store.seed}, budget {budgets}"
    console.print(Text(about))
    if damaged:
        omitted = f"omitted: {count(damaged, 'damaged run')}; to repeat, run the experiment again"
        console.print(Text(omitted, style="yellow"))
    show_tallies(store.tallies(), problems.values())
    _show_failures(store)


def _show_failures(store: Store) -> None:
    """Show why runs failed, one line per reason."""
    reasons: dict[str, list[Outcome]] = {}
    for outcome in store.failures():
        reasons.setdefault(outcome.reason, []).append(outcome)
    for reason, outcomes in sorted(reasons.items(), key=lambda item: -len(item[1]))[:_REASONS]:
        methods = _first_names(dict.fromkeys(outcome.method for outcome in outcomes))
        problems = _first_names(dict.fromkeys(outcome.problem for outcome in outcomes))
        runs = count(len(outcomes), "run")
        console.print(Text(f"failed: {runs} of {methods} on {problems}: {reason}", "yellow"))
    if len(reasons) > _REASONS:
        console.print(Text(f"… and {count(len(reasons) - _REASONS, 'more reason')}", "yellow"))


def _first_names(names: Iterable[str]) -> str:
    """Join the first names, and say how many more there are."""
    shown = list(names)
    more = [f"{len(shown) - _NAMES} more"] if len(shown) > _NAMES else []
    return join_names([*shown[:_NAMES], *more])


def show_tallies(tallies: dict[str, Tally], problems: Iterable[Problem | ProblemRecord]) -> None:
    """Show the runs of each method: solved, finished, planned, failed."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for column in ("method", "solved", "finished", "planned", "failed"):
        table.add_column(column, justify="left" if column == "method" else "right")
    for name, tally in tallies.items():
        finished = tally.done + tally.failed
        cells = map(str, (tally.solved, finished, tally.total, tally.failed))
        table.add_row(Text(name, style="bold"), *cells)
    console.print(table)
    if unknown := sum(p.optimum is None or math.isnan(p.optimum) for p in problems):
        console.print(Text(
            f"The optimum of {count(unknown, 'problem')} is unknown, so runs there cannot count as "
            "solved; uaos compare ranks them by the best value of all runs", style="dim",
        ))  # fmt: skip


class _Rate(ProgressColumn):
    """Show runs per second or per minute."""

    def render(self, task: Task) -> Text:
        speed = task.speed or 0.0
        text = f"{speed:.1f} runs/s" if speed >= 1 else f"{60 * speed:.1f} runs/min"
        return Text(text if speed else "", style="dim")


class RunProgress:
    """Show the progress of an experiment: a bar on a terminal, otherwise occasional lines."""

    def __init__(self) -> None:
        self.progress = Progress(
            TextColumn("runs"), BarColumn(), MofNCompleteColumn(), _Rate(), TimeElapsedColumn(),
            TextColumn("left"), TimeRemainingColumn(), TextColumn("{task.fields[note]}"),
            console=console, transient=True, disable=not console.is_terminal,
            speed_estimate_period=600,
        )  # fmt: skip
        self._task = self.progress.add_task("", total=None, note="", start=False)
        self._before: int | None = None  # runs of earlier sessions, once known
        self._damaged = 0  # damaged runs reported so far
        # The last line printed: tenths of the experiment, and when.
        self._tenth, self._printed = 0, time.monotonic()

    def show(self, counts: Counts) -> None:
        """Show the progress of the experiment."""
        if self._before is None:
            # Runs of earlier sessions do not count for the speed.
            self._before = counts.over - counts.new
            self.progress.start_task(self._task)
        if counts.damaged > self._damaged:
            self._damaged = counts.damaged
            damaged = count(counts.damaged, "damaged run")
            console.print(Text(f"{damaged} will be repeated", style="yellow"))
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
