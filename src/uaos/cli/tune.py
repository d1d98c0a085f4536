"""`uaos tune`: find the best configuration for a set of problems."""

import dataclasses
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from uaos.cli import options
from uaos.cli.app import INTERRUPTED, app, console
from uaos.errors import InvalidParameter, Missing, UaosError
from uaos.files import check_output
from uaos.optimizers.catalogue import RECOMMENDED
from uaos.optimizers.configuration import Configuration
from uaos.params import Value
from uaos.pictures import check_picture
from uaos.problems import Suite
from uaos.problems import suite as suite_called
from uaos.text import count

# The tuner is imported where it is used: it would slow down the start of every other command.
if TYPE_CHECKING:
    from uaos.tuning import Design, Recordings, TuningPlan, TuningResult

# Options that --simulate does not accept: the recorded runs determine them.
_NOT_SIMULATED = (
    "suite", "train", "split_seed", "space", "method", "free", "pool", "instances", "functions",
    "dim", "budget", "initial", "dask",
)  # fmt: skip


_NO_TEST_PROBLEMS = "all problems are used for training; --train SHARE keeps some for testing"


# fmt: off
@dataclass(frozen=True)
class _Training:
    """Training problems."""

    suite: options.SuiteName = "bbob"
    train: options.Train = None
    split_seed: options.SplitSeed = 1
    instances: Annotated[str | None, typer.Option(
        help='Train on these BBOB instances: "train" (the 48 problems of the paper; the default), '
        'numbers such as "16-20" of each function, or a file (.txt, .csv) with function and '
        "instance in each line.")] = None
    functions: options.BbobFunctions = None
    dim: options.BbobDimension = None
    force: Annotated[bool, typer.Option(
        "--force-test-instances",
        help="Allow training on problems that are held out for testing.")] = False


@dataclass(frozen=True)
class _Simulation:
    """Simulation instead of training problems."""

    simulate: Annotated[Path | None, typer.Option(
        metavar="MEMBERS.db", help="Tune the selector of a portfolio by simulation, on the runs "
        "of its members that `uaos bench` recorded; nothing is evaluated.")] = None
    members: Annotated[str | None, typer.Option(
        help="Build the portfolio from these recorded methods, in this order (default: all; "
        "needs --simulate).")] = None


@dataclass(frozen=True)
class _Space:
    """Search space."""

    space: Annotated[str | None, typer.Option(
        help="Search this space: extended (components, hyper-parameters, F, CR, NP, top_NP; the "
        "default), paper (the same in its printed ranges) or wide (also the pool, the rules for F "
        "and CR, bounds, restarts, …).")] = None
    method: Annotated[str | None, typer.Option(
        help="Tune only the hyper-parameters of this method, or the declared settings of this "
        "optimizer (a name or .toml file).")] = None
    free: Annotated[str | None, typer.Option(
        help="Tune some of F,CR,NP,top_NP as well (needs --method).")] = None
    pool: Annotated[str | None, typer.Option(
        help="Select from these operators: nine, nine-by-CR, mix, or strategies such as "
        "rand/1,best/1.")] = None
    fix: Annotated[list[str] | None, typer.Option(
        metavar="NAME=VALUE", help="Hold a parameter at a value (repeatable).")] = None
    limit: Annotated[list[str] | None, typer.Option(
        "--range", metavar="NAME=RANGE",
        help='Narrow a parameter: NP=50..150, "reward=success_sum|success_rate" (repeatable).')
    ] = None
    space_file: Annotated[Path | None, typer.Option(
        help="Read limits from the tables `fix` and `range` of a TOML file.")] = None


@dataclass(frozen=True)
class _Races:
    """Search."""

    runs: Annotated[int, typer.Option(min=1, help="Make this many runs in total.")] = 3000
    budget: Annotated[str, typer.Option(
        help="Limit the evaluations of a run: a number, or a multiple of the dimension (1000D)."
        )] = "1000D"
    objective: Annotated[str | None, typer.Option(
        help="Minimize the error at the end of a run (the default), the evaluations to the target "
        "(evaluations; the default with --simulate), or the error over the whole run (anytime)."
        )] = None
    test: Annotated[str | None, typer.Option(
        help="Compare candidates by friedman (ranks; the default where optima are known), ranks "
        "(within a problem only; the default elsewhere) or t-test (costs).")] = None
    initial: Annotated[str | None, typer.Option(
        help="Start from these configurations: names, .toml files, or none (default: those tuned "
        "in the paper; with --method, that method).")] = None
    tuner: Annotated[str, typer.Option(
        help="Use the built-in racer, or irace (an R package).")] = "racer"
    seed: options.Seed = 1
    retry_failed: options.RetryFailed = False


@dataclass(frozen=True)
class _Outputs:
    """Output."""

    output: Annotated[Path | None, typer.Option(
        "--output", "-o", help="Write the winner here (default: STORE with the suffix .toml).")
    ] = None
    overwrite: options.Overwrite = False
    irace_folder: Annotated[Path | None, typer.Option(
        "--export-irace", help="Write the files of an irace scenario into this folder, and exit.")
    ] = None
    show_space: Annotated[bool, typer.Option(
        "--show-space", help="Show the search space, and exit.")] = False
    status: Annotated[bool, typer.Option(
        "--status", help="Show the progress of the tunings in STORE, and exit.")] = False
    plot: Annotated[Path | None, typer.Option(
        help="Draw how the parameters evolved (.png, .svg or .pdf).")] = None


@app.command(
    "tune",
    epilog="Example: [bold]uaos tune first.db --runs 800 --budget 200D --dim 5[/]   ·   on your "
    "problems: [bold]uaos tune mine.db --suite problems.py --runs 800 --budget 200D[/]",
)
@options.grouped
def tune_command(
    context: typer.Context,
    training: _Training,
    simulation: _Simulation,
    space: _Space,
    races: _Races,
    workers: options.Workers,
    outputs: _Outputs,
    store: Annotated[Path | None, typer.Argument(
        metavar="STORE", help="Use this file for the tuning, new or existing.")] = None,
) -> None:
    # fmt: on
    """Find the best configuration for a set of problems by racing candidates.

    Candidates run on a sequence of training problems; a statistical test drops the worse ones, and
    new ones are drawn around the survivors. After an interruption the same command continues.
    """
    from uaos.cli.tune_tables import plan_table, space_table
    from uaos.experiments.storefile import check_place

    _check_plot(outputs, store)
    if outputs.status:
        _show_status(_required(store), outputs.plot)
        return
    subject = _subject(context, training, simulation, space)
    if outputs.show_space:
        console.print(space_table(subject.design, console.width))
        return
    plan, starts = _plan(subject, training, races)
    if outputs.irace_folder is not None:
        _export(plan, outputs.irace_folder)
        return
    path = _required(store)
    winner = path.with_suffix(".toml") if outputs.output is None else outputs.output
    plan.check()
    check_place(path)
    _check_winner(winner, path, plan, outputs.overwrite)
    console.print(plan_table(plan, starts, winner))
    if subject.recordings is None and training.suite != "bbob" and subject.rest is None:
        console.print(Text(_NO_TEST_PROBLEMS, "yellow"))
    result = _tune(plan, path, subject.recordings, workers, retry_failed=races.retry_failed)
    _check_winner(winner, path, plan, outputs.overwrite)  # it may have appeared meanwhile
    _show_result(result, path, winner)
    _show_next(context, plan, winner, training.suite, subject.rest)
    if outputs.plot is not None:
        _draw(path, result.tuning, outputs.plot)


def _check_plot(outputs: _Outputs, store: Path | None) -> None:
    """Raise an error if the figure would replace another file."""
    if outputs.plot is not None:
        inputs = [] if store is None else [store]
        check_picture(outputs.plot, inputs=inputs, overwrite=outputs.overwrite)


def _required(store: Path | None) -> Path:
    if store is None:
        raise Missing("Missing argument STORE, the file of the tuning, for example: first.db")
    return store


# From options to a plan


@dataclass(frozen=True)
class _Subject:
    """A search space, and the problems or recorded runs to train on.

    `name` describes the training set; `rest` are the problems kept for testing.
    """

    design: "Design"
    suite: Suite
    name: str
    rest: Suite | None = None
    recordings: "Recordings | None" = None


def _subject(
    context: typer.Context, training: _Training, simulation: _Simulation, space: _Space
) -> _Subject:
    """Return the search space and the problems that the options choose."""
    from uaos.tuning import check_training, narrow

    if simulation.simulate is not None:
        subject = _simulated(context, simulation.simulate, simulation.members)
    elif simulation.members is not None:
        raise InvalidParameter(
            "--members needs --simulate STORE, the recorded runs of the members",
            name="--members", value=simulation.members,
        )  # fmt: skip
    else:
        subject = _evaluated(training, space)
    check_training(subject.suite, force=training.force)
    if space.fix or space.limit or space.space_file is not None:
        design = narrow(subject.design, space.fix or (), space.limit or (), space.space_file)
        subject = dataclasses.replace(subject, design=design)
    return subject


def _simulated(context: typer.Context, store: Path, members: str | None) -> _Subject:
    """Return the portfolio of recorded members."""
    from uaos.tuning import Recordings

    for name in _NOT_SIMULATED:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option = f"--{name.replace('_', '-')}"
            raise InvalidParameter(
                f"{option} cannot be combined with --simulate: the recorded runs determine "
                "members, problems and budget",
                name=option, value=context.params[name],
            )  # fmt: skip
    recordings = Recordings(store, None if members is None else options.split_names(members))
    return _Subject(
        recordings.design, recordings.suite, f"the runs in {store.name}", recordings=recordings
    )


def _evaluated(training: _Training, space: _Space) -> _Subject:
    """Return the chosen space, and the training problems of the suite."""
    instances = training.instances
    if training.suite == "bbob" and instances is None:
        instances = "train"
    suite = suite_called(
        training.suite, functions=training.functions, dimension=training.dim, instances=instances
    )
    name, rest = instances or f"all problems of {suite.name}", None
    share = options.parse_train(training.train)
    if share is not None:
        name = f"of the {len(suite)} problems of {suite.name}"
        suite, rest = suite.split(share, seed=training.split_seed)
    design = _design(space, suite.dimensions[-1]).suited_to(suite)
    return _Subject(design, suite, name, rest)


def _design(space: _Space, dimension: int) -> "Design":
    """Return the search space before its limits."""
    from uaos.tuning.design_space import DEFAULT_PRESET, design, design_for

    if space.method is None:
        if space.free is not None:
            raise InvalidParameter(
                "--free needs --method, the method to tune", name="--free", value=space.free
            )
        return design(space.space or DEFAULT_PRESET, dimension=dimension, pool=space.pool)
    for name, value in (("--space", space.space), ("--pool", space.pool)):
        if value is not None:
            raise InvalidParameter(
                f"{name} cannot be combined with --method, which has its own; omit one",
                name=name, value=value,
            )  # fmt: skip
    return design_for(space.method, options.split_names(space.free or ""), dimension=dimension)


def _plan(
    subject: _Subject, training: _Training, races: _Races
) -> tuple["TuningPlan", str]:
    """Return the plan of the tuning, and a description of its initial candidates."""
    from uaos.tuning import Rules, TuningPlan

    if subject.recordings is not None:
        starts = "the default selector and random candidates"
        plan = subject.recordings.plan(
            runs=races.runs, objective=races.objective or "evaluations", seed=races.seed,
            tuner=races.tuner, design=subject.design, force=training.force,
        )  # fmt: skip
    else:
        start, starts = _start(subject.design, races.initial)
        plan = TuningPlan(
            subject.design, subject.suite, subject.name, races.runs, races.budget,
            races.objective or "error", races.seed, start, races.tuner,
        )  # fmt: skip
    if races.test is not None:
        plan = dataclasses.replace(plan, rules=Rules(test=races.test))
    return plan, starts


def _start(
    design: "Design", initial: str | None
) -> tuple[tuple[dict[str, Value], ...], str]:
    """Return the initial candidates, and a description of them."""
    from uaos.tuning.plan import initial_candidates

    random = "random candidates"
    if initial is not None and initial.strip() == "none":
        return (), random
    names = None if initial is None else options.split_names(initial)
    if names == []:
        raise InvalidParameter(
            "--initial is empty; expected names, .toml files, or none",
            name="--initial", value=initial,
        )  # fmt: skip
    candidates, remarks = initial_candidates(design, names)
    first = f"{', '.join(candidates)} and {random}" if candidates else random
    return tuple(candidates.values()), "; ".join([first, *remarks])


# Tuning


def _check_winner(output: Path, store: Path, plan: "TuningPlan", overwrite: bool) -> None:
    """Raise an error if the file exists and is not an earlier result of the same plan."""
    check_output(output, inputs=[store], suffixes=[".toml"], overwrite=True)
    if not output.exists() or overwrite:
        return
    try:
        earlier = Configuration.from_toml(output).tuning.get("plan")
    except UaosError:
        earlier = None
    if earlier != plan.key:
        raise InvalidParameter(
            f"{output} exists and is not an earlier result of this tuning; choose another file "
            "(-o FILE.toml), or replace it with --overwrite",
            name="output", value=str(output),
        )  # fmt: skip


def _tune(
    plan: "TuningPlan", store: Path, recordings: "Recordings | None", workers: options.Workers,
    *, retry_failed: bool,
) -> "TuningResult":  # fmt: skip
    """Tune and show the progress, or read the result of a finished tuning from its store."""
    from uaos.cli.tune_view import View, clock
    from uaos.experiments import Stopped
    from uaos.tuning import TuningStore, tune
    from uaos.tuning.costs import run_one
    from uaos.tuning.tuner import finished

    result = finished(plan, store) if store.exists() and not retry_failed else None
    if result is not None:
        console.print(Text(
            f"This tuning is finished: {count(result.runs, 'run')} in {clock(result.seconds)}. Its "
            f"result, from {store}:"
        ))  # fmt: skip
        return result
    if store.exists():
        with TuningStore.open(store) as record:
            earlier = len(record.cached())
        if earlier:
            console.print(Text(f"{count(earlier, 'run')} found in the store will not be repeated"))
    try:
        with View.of(plan, store, console) as view:
            return tune(
                plan, store, jobs=workers.jobs, dask=workers.dask, retry_failed=retry_failed,
                on_event=view.on_event, on_run=view.on_run,
                work=run_one if recordings is None else recordings.simulation,
            )  # fmt: skip
    except Stopped as stop:
        console.print(Text(str(stop)))
        sys.exit(INTERRUPTED)


def _show_result(result: "TuningResult", store: Path, output: Path) -> None:
    """Show the survivors and the parameters that mattered, and write the winner."""
    from uaos.cli.tune_tables import recipe
    from uaos.tuning import TuningStore
    from uaos.tuning.summaries import importance, survivors_table
    from uaos.tuning.tuner import failures

    # Named after its file, to distinguish several tuned methods.
    best = dataclasses.replace(result.best, name=output.stem)
    with TuningStore.open(store) as record:
        console.print()
        console.print(survivors_table(record, result.tuning).to_rich(console.width))
        console.print(recipe(best))
        parameters = importance(record, result.tuning)
        failed = failures(record, result.tuning)
    if shares := [f"{p.name} {p.share:.0%}" for p in parameters if p.share > p.noise]:
        console.print(Text(
            "Most important parameters, by their share of the variance of ranks: "
            + ", ".join(shares[:5])
        ))  # fmt: skip
    if failed:
        console.print(Text(failed, style="yellow"))
    best.to_toml(output)
    console.print(Text(f"written: {output} (the winner)"))


def _show_next(
    context: typer.Context, plan: "TuningPlan", output: Path, suite: str, rest: Suite | None
) -> None:
    """Show the command that compares the winner with another method."""
    imported = (context.parent.params.get("imported") if context.parent else None) or []
    words = ["uaos", *(word for file in imported for word in ("--import", str(file)))]
    words += ["bench", "test.db"]
    # A method that was tuned alone is compared with itself; a recorded portfolio with the default.
    itself = plan.design.options.get("method") or (
        "portfolio" if plan.design.base.optimizer == "portfolio" else None
    )
    if plan.suite.name == "bbob":
        dimension, rival = str(plan.suite.dimensions[-1]), itself or "U-AOS-FW"
        words += ["--methods", f"{output},{rival}", "--dim", dimension, "--instances", "test"]
    else:
        words += ["--suite", plan.suite.file or suite]
        words += ["--methods", f"{output},{itself or RECOMMENDED}"]
        words += [] if rest is None else ["--problems", ",".join(rest.names)]
    words += ["--budget", str(plan.budget)]
    console.print(Text.assemble("next: ", (shlex.join(words), "bold")), soft_wrap=True)
    if any(problem.held_out for problem in plan.suite):
        console.print(Text(
            "It was trained on test problems, so results on them do not carry over to others",
            style="yellow",
        ))  # fmt: skip


# Showing and writing without tuning


def _show_status(store: Path, plot: Path | None) -> None:
    """Show the progress of the tunings in a store."""
    from uaos.cli.tune_tables import status_table
    from uaos.tuning import TuningStore

    with TuningStore.open(store) as record:
        numbers = [entry.id for entry in record.tunings()]
        table = status_table(record, console.width)
    console.print(table if numbers else Text(f"{store} holds no tuning"))
    if plot is not None and numbers:
        _draw(store, numbers[-1], plot)


def _draw(store: Path, tuning: int, path: Path) -> None:
    """Draw how the parameters of a tuning evolved."""
    from uaos.reporting import figures
    from uaos.tuning import TuningStore

    with TuningStore.open(store) as record:
        figures.save(figures.draw("tuning-frequencies", (record, tuning)), path)
    console.print(Text(f"drawn: {path}"))


def _export(plan: "TuningPlan", folder: Path) -> None:
    """Write the files of a scenario for irace."""
    from uaos.tuning.irace_files import write_files

    write_files(folder, plan.search)
    console.print(Text(f"written: {folder}"))
