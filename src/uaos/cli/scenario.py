"""`uaos scenario`: compare methods on simulated operators whose rewards change."""

import math
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from uaos.arrays import FloatArray
from uaos.cli.app import INTERRUPTED, app, console
from uaos.cli.options import Overwrite, Seed, grouped, split_names
from uaos.errors import InvalidParameter
from uaos.optimizers.catalogue import expanded
from uaos.pictures import check_picture
from uaos.scenarios import (
    KINDS,
    Scenario,
    ScenarioResult,
    compare_methods,
    find_method,
    load_map,
    make_scenario,
    traces,
)
from uaos.scenarios.comparison import estimate
from uaos.scenarios.own import OwnSelector
from uaos.selection.maps import VERSION as MAP_VERSION
from uaos.selection.method import Method
from uaos.text import count

# Reference choices that need to know the whole recorded run.
_HINDSIGHT = {
    "best_single": "best single operator",
    "best_schedule": "best operator of each quarter",
}

# Published scores are rounded to four digits.
_ROUNDING = 1e-4

# The number of applications (about ten seconds) from which several processes pay off.
_PARALLEL_FROM = 500_000


# fmt: off
@dataclass(frozen=True)
class _ScenarioChoice:
    """Scenario."""

    kind: Annotated[str, typer.Option(
        help=f"Choose how rewards are distributed: {', '.join(KINDS)}.")] = "uniform"
    operators: Annotated[int, typer.Option(help="Simulate this many operators.")] = 5
    every: Annotated[int, typer.Option(
        help="Change the best operator after this many applications.")] = 50
    steps: Annotated[int, typer.Option(
        help="Apply operators this many times in each repetition.")] = 500

    def scenario(self) -> Scenario:
        """Return the scenario that the options describe."""
        return make_scenario(
            self.kind, operators=self.operators, every=self.every, steps=self.steps
        )

    def __str__(self) -> str:
        return (
            f"{self.kind} scenario, {self.operators} operators, "
            f"{count(self.steps, 'application')}, a new best operator every {self.every}"
        )


@dataclass(frozen=True)
class _Comparison:
    """Comparison."""

    methods: Annotated[str, typer.Option(
        help="Compare these methods: AP (adaptive pursuit), PM (probability matching), MAB "
        "(bandit), names (see `uaos methods`) or files (.toml), separated by commas; with "
        "--recorded also classes of yours (FILE.py:CLASS)."
        )] = "AP,PM,MAB"
    repetitions: Annotated[int, typer.Option(help="Repeat each method this many times.")] = 100
    seed: Seed = 1
    jobs: Annotated[int | None, typer.Option(
        help="Use this many processes (default: one; for long comparisons, one per processor)."
        )] = None

    def run(self, scenario: Scenario) -> ScenarioResult:
        """Compare the methods and show progress."""
        names, jobs = split_names(self.methods), self.jobs
        if jobs is None and len(names) * self.repetitions * scenario.steps <= _PARALLEL_FROM:
            jobs = 1
        bar = Progress(
            TextColumn("repetitions"), BarColumn(), MofNCompleteColumn(), TextColumn("left"),
            TimeRemainingColumn(), console=console, transient=True,
            disable=not console.is_terminal,
        )
        task = bar.add_task("", total=self.repetitions)
        with bar:
            return compare_methods(
                names, scenario, repetitions=self.repetitions, seed=self.seed, jobs=jobs,
                on_progress=lambda finished: bar.update(task, completed=finished),
            )


@app.command(
    "scenario",
    epilog="Example: [bold]uaos scenario --methods AP,PM,F-AUC-MAB --kind uniform --operators 5 "
    "--every 50 --plot scenario.png[/]",
)
@grouped
def scenario_command(
    choice: _ScenarioChoice,
    comparison: _Comparison,
    recorded: Annotated[bool, typer.Option("--recorded",
        help="Replay the methods on recorded runs instead.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the curves (.png, .svg or .pdf).")] = None,
    overwrite: Overwrite = False,
) -> None:
    # fmt: on
    """Test how methods select among simulated operators whose rewards change.

    The table shows the share of applications of the best operator, the regret per application, the
    number of applications until a method prefers a new best operator, and the share of changes
    missed (not noticed before the next one).

    With --recorded, operators are those of differential evolution in recorded runs. The table shows
    the score of a method there (0 is uniform choice, 1 the best operator of each generation), and
    its place among the published methods and among all combinations of components.
    """
    if recorded:
        _check_unused(choice, comparison, plot=plot)
        _replay(split_names(comparison.methods), comparison.seed)
        return
    if plot is not None:
        check_picture(plot, overwrite=overwrite)
    try:
        outcome = comparison.run(choice.scenario())
    except KeyboardInterrupt:
        console.print("interrupted; nothing is drawn")
        sys.exit(INTERRUPTED)
    console.print(_table(outcome))
    repeated = count(comparison.repetitions, "repetition")
    console.print(f"[dim]{choice}; {repeated}, ± one standard error[/]")
    if plot is not None:
        outcome.plot(plot)
        console.print(Text(f"drawn: {plot}"))


def _table(outcome: ScenarioResult) -> Table:
    """Return a table with a row per method, and dimmed rows for the baselines."""
    table = Table(box=None, padding=(0, 3, 0, 0), pad_edge=False)
    for column in ("method", "best chosen", "regret", "reaction time", "changes missed"):
        table.add_column(column, justify="left" if column == "method" else "right")
    for row in outcome.summaries():
        style = "bold" if row.name in outcome.methods else "dim"
        missed = "–" if math.isnan(row.missed) else f"{row.missed:.0%}"
        table.add_row(
            Text(row.name, style=style), str(row.share), str(row.regret), str(row.reaction), missed
        )
    return table


def _check_unused(*choices: object, plot: Path | None) -> None:
    """Raise an error if an option does not apply to recorded runs."""
    unused = [
        field.name
        for choice in choices
        for field in fields(choice)  # type: ignore[arg-type]
        if field.name not in ("methods", "seed") and getattr(choice, field.name) != field.default
    ]
    for name in [*unused, *(["plot"] if plot else [])]:
        raise InvalidParameter(
            f"--recorded does not accept --{name}; it replays methods on recorded runs",
            name=f"--{name}", value=True,
        )  # fmt: skip


def _selecting(name: str, n_operators: int) -> tuple[str, Method | OwnSelector]:
    """Return a method by its name, or a class by its file and name."""
    if ".py:" in name:
        return name.rpartition(":")[2], OwnSelector.load(name)
    return find_method(name, n_operators)


def _replay(names: list[str], seed: int) -> None:
    """Print the scores of methods, and of the best choices in hindsight, on recorded runs."""
    by_host = {host: traces.load(host) for host in traces.HOSTS}
    scale, published = load_map(), traces.published()
    table = Table(box=None, padding=(0, 3, 0, 0), pad_edge=False)
    table.add_column("method")
    for host in by_host:
        table.add_column(f"score, {host}", justify="right")
    for column in (f"place among {len(published)}", "score, map", f"place of {len(scale):,}"):
        table.add_column(column, justify="right")
    for name in expanded(names, selecting=True):
        title, cells = name, []
        scores: dict[str, FloatArray] = {}
        for host, runs in by_host.items():
            title, method = _selecting(name, runs[0].offspring.shape[2])
            scores[host] = traces.score(method, runs, seed)
            cells.append(str(estimate(scores[host])))
        mean = float(np.mean([own.mean() for own in scores.values()]))
        nine = zip((run.name for run in by_host["nine"]), scores["nine"].tolist(), strict=True)
        by_run = dict(nine)
        on_map = np.array([by_run[run] for run in scale.replayed])
        better = sum(other > mean + _ROUNDING for key, other in published.items() if key != title)
        cells += [str(1 + better), str(estimate(on_map)), f"{scale.place(by_run):,}"]
        table.add_row(Text(title, style="bold"), *cells)
    for field, title in _HINDSIGHT.items():
        own = [
            estimate(np.array([r.baselines.score(getattr(r.baselines, field)) for r in runs]))
            for runs in by_host.values()
        ]
        table.add_row(Text(title, style="dim"), *map(str, own))
    console.print(table)
    runs_of_host, combinations = len(by_host["nine"]), f"{len(scale):,} combinations"
    console.print(
        f"[dim]{runs_of_host} recorded runs of each host, version {traces.VERSION}, seed {seed}. "
        "Score: 0 is uniform choice, 1 the best operator of each generation; ± one standard error. "
        f"The {len(published)} are the published methods, by the mean of both hosts. Map, version "
        f"{MAP_VERSION}: the {len(scale.replayed)} runs of nine that all {combinations} of "
        "components were replayed on.[/]"
    )
