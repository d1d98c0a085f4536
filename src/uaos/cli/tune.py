"""`uaos tune`: find the best configuration for a set of problems."""

import dataclasses
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from uaos.cli import options
from uaos.cli.app import INTERRUPTED, app, console
from uaos.errors import InvalidParameter, Missing, UaosError
from uaos.files import check_output
from uaos.optimizers.catalogue import RECOMMENDED
from uaos.optimizers.configuration import Configuration
from uaos.params import Value
from uaos.pictures import PICTURES
from uaos.problems import Suite
from uaos.problems import suite as suite_called
from uaos.text import count

if TYPE_CHECKING:
    from uaos.tuning import Design, Recordings, TuningPlan

# What --simulate brings, so that options cannot choose it otherwise.
_RECORDED = (
    "suite", "train", "split_seed", "space", "method", "free", "pool", "instances", "functions",
    "dim", "budget", "initial", "dask",
)  # fmt: skip


# fmt: off
@app.command(
    "tune",
    epilog="Example: [bold]uaos tune first.db --runs 800 --budget 200D --dim 5[/]   ·   on your "
    "problems: [bold]uaos tune mine.db --suite problems.py --runs 800 --budget 200D[/]",
)
def tune_command(
    context: typer.Context,
    store: Annotated[Path | None, typer.Argument(
        metavar="STORE", help="Keep every run in this file.")] = None,
    suite: options.SuiteName = "bbob",
    train: options.Train = None,
    split_seed: options.SplitSeed = 1,
    simulate: Annotated[Path | None, typer.Option(
        metavar="MEMBERS.db", help="Tune the selector of a portfolio by simulation, on the runs "
        "that `uaos bench` recorded of its members; nothing is evaluated.")] = None,
    members: Annotated[str | None, typer.Option(
        help="Make the portfolio of these recorded methods, in this order (default: all; with "
        "--simulate).")] = None,
    space: Annotated[str | None, typer.Option(
        help="Search this space: extended (components, hyper-parameters, F, CR, NP, top_NP; the "
        "default), paper (the same in its printed ranges) or wide (also the pool, the rules for F "
        "and CR, bounds, restarts, …).")] = None,
    method: Annotated[str | None, typer.Option(
        help="Tune the hyper-parameters of this method (or .toml file) alone.")] = None,
    free: Annotated[str | None, typer.Option(
        help="Tune these of F,CR,NP,top_NP as well (with --method).")] = None,
    pool: Annotated[str | None, typer.Option(
        help="Select from these operators: nine, nine-by-CR, mix, or strategies such as "
        "rand/1,best/1.")] = None,
    fix: Annotated[list[str] | None, typer.Option(
        metavar="NAME=VALUE", help="Hold a parameter at a value; repeat it for more.")] = None,
    limit: Annotated[list[str] | None, typer.Option(
        "--range", metavar="NAME=RANGE",
        help='Narrow a parameter: NP=50..150, "reward=success_sum|success_rate".')] = None,
    space_file: Annotated[Path | None, typer.Option(
        help="Read such limits from the tables `fix` and `range` of a TOML file.")] = None,
    instances: Annotated[str | None, typer.Option(
        help='Train on these BBOB instances: "train" (the 48 problems of the paper; the default), '
        'numbers such as "16-20" of each function, or a file (.txt, .csv) with function and '
        "instance in each line.")] = None,
    functions: options.BbobFunctions = None,
    dim: options.BbobDimension = None,
    force: Annotated[bool, typer.Option(
        "--force-test-instances",
        help="Train even on problems that are held out for testing.")] = False,
    runs: Annotated[int, typer.Option(min=1, help="Make this many runs in all.")] = 3000,
    budget: Annotated[str, typer.Option(
        help="Limit the evaluations of a run: a number, or a multiple of the dimension (1000D)."
        )] = "1000D",
    objective: Annotated[str | None, typer.Option(
        help="Minimize the error at the end of a run (the default), the evaluations to the target "
        "(evaluations; the default with --simulate), or the error over the whole run (anytime)."
        )] = None,
    test: Annotated[str | None, typer.Option(
        help="Compare candidates by friedman (ranks; the default where optima are known), ranks "
        "(within a problem only; the default elsewhere) or t-test (costs).")] = None,
    initial: Annotated[str | None, typer.Option(
        help="Start from these configurations: names, .toml files, or none (default: those tuned "
        "in the paper; with --method, that method).")] = None,
    tuner: Annotated[str, typer.Option(
        help="Use the racer (built in), or irace (R's, if it is installed).")] = "racer",
    seed: options.Seed = 1,
    jobs: options.Jobs = None,
    dask: options.Dask = None,
    retry_failed: options.RetryFailed = False,
    output: Annotated[Path | None, typer.Option(
        "--output", "-o", help="Write the winner here (default: STORE as .toml).")] = None,
    overwrite: options.Overwrite = False,
    irace_folder: Annotated[Path | None, typer.Option(
        "--export-irace", help="Write irace's files into this folder, and end.")] = None,
    show_space: Annotated[bool, typer.Option(
        "--show-space", help="Show the search space, and end.")] = False,
    status: Annotated[bool, typer.Option(
        "--status", help="Show how far the tunings of STORE are, and end.")] = False,
    plot: Annotated[Path | None, typer.Option(
        help="Draw how the parameters evolved (.png, .svg or .pdf).")] = None,
) -> None:
    # fmt: on
    """Find the best configuration for a set of problems, by racing many against each other.

    Candidates run on one training problem after the other; those that fall behind leave, new ones
    are drawn around the survivors. Stopped or killed, the same command continues.
    """
    # Here, because a tuner would slow down the start of every other command.
    from uaos import tuning
    from uaos.cli.tune_tables import plan_table, space_table, status_table
    from uaos.experiments.storefile import check_place

    if plot is not None:
        inputs = [] if store is None else [store]
        check_output(plot, inputs=inputs, suffixes=PICTURES, overwrite=overwrite)
    if status:
        with tuning.TuningStore.open(_needed(store)) as record:
            numbers = [entry.id for entry in record.tunings()]
            shown = status_table(record, console.width)
        console.print(shown if numbers else Text(f"{store}: no tuning was begun"))
        if plot is not None and numbers:
            _draw(_needed(store), numbers[-1], plot)
        return
    recordings, rest = None, None
    if simulate is not None:
        recordings = _wanted_recordings(context, simulate, members)
        training, which = recordings.suite, f"the runs in {simulate.name}"
        design = recordings.design
    elif members is not None:
        raise InvalidParameter("--members", members, "recorded methods, with --simulate")
    else:
        if suite == "bbob" and instances is None:
            instances = "train"
        training = suite_called(suite, functions=functions, dimension=dim, instances=instances)
        which = instances or f"all problems of {training.name}"
        share = options.parse_train(train)
        if share is not None:
            which = f"of the {len(training)} problems of {training.name}"
            training, rest = training.split(share, seed=split_seed)
        design = _wanted_design(space, method, free, pool, training.dimensions[-1])
    tuning.check_training(training, force=force)
    if fix or limit or space_file is not None:
        design = tuning.narrow(design, fix or (), limit or (), space_file)
    if show_space:
        console.print(space_table(design, console.width))
        return
    settings: dict[str, Any] = {
        "training_set": which, "runs": runs, "seed": seed, "tuner": tuner,
        "rules": None if test is None else tuning.Rules(test=test),
    } | ({} if objective is None else {"objective": objective})  # fmt: skip
    if recordings is not None:
        starts = "the default selector and random candidates"
        plan = recordings.plan(force=force, design=design, **settings)
    else:
        start, starts = _wanted_start(design, initial, method)
        plan = tuning.TuningPlan(design, training, budget=budget, initial=start, **settings)
    if irace_folder is not None:
        _export(plan, irace_folder)
        return
    place = _needed(store)
    result = place.with_suffix(".toml") if output is None else output
    plan.check()
    check_place(place)
    _check_winner(result, place, plan, overwrite)
    console.print(plan_table(plan, starts, result))
    if recordings is None and suite != "bbob" and rest is None:
        console.print(Text("no problem is kept for testing; --train SHARE keeps some", "yellow"))
    work = {} if recordings is None else {"work": recordings.simulation}
    number = _run(plan, place, result, overwrite, retry_failed, jobs=jobs, dask=dask, **work)
    imported = (context.parent.params.get("imported") if context.parent else None) or []
    command = shlex.join(_next_command(plan, result, imported, suite, rest))
    console.print(Text.assemble("next: ", (command, "bold")), soft_wrap=True)
    if any(problem.held_out for problem in plan.suite):
        console.print(Text(
            "It was trained on test problems, where its results now say nothing about others",
            style="yellow",
        ))  # fmt: skip
    if plot is not None:
        _draw(place, number, plot)


def _needed(store: Path | None) -> Path:
    if store is None:
        raise Missing("Missing argument STORE, the file of the tuning, for example: first.db")
    return store


# What is asked for


def _wanted_recordings(context: typer.Context, store: Path, members: str | None) -> "Recordings":
    """The recorded runs to simulate."""
    from uaos.tuning import Recordings

    for name in _RECORDED:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise InvalidParameter(
                f"--{name.replace('_', '-')}", context.params[name], "nothing, as --simulate "
                "brings members, problems and budget, and nothing is evaluated",
            )  # fmt: skip
    return Recordings(store, None if members is None else options.split_names(members))


def _wanted_design(
    space: str | None, method: str | None, free: str | None, pool: str | None, dimension: int
) -> "Design":
    """The search space before its limits."""
    from uaos.tuning.design_space import DEFAULT_PRESET, design, design_for

    if method is None:
        if free is not None:
            raise InvalidParameter("--free", free, "settings to tune with --method")
        return design(space or DEFAULT_PRESET, dimension=dimension, pool=pool)
    for name, given in (("--space", space), ("--pool", pool)):
        if given is not None:
            raise InvalidParameter(name, given, "nothing, as --method brings its own")
    return design_for(method, options.split_names(free or ""), dimension=dimension)


def _wanted_start(
    of: "Design", wanted: str | None, method: str | None
) -> tuple[tuple[dict[str, Value], ...], str]:
    """The candidates to start from, and what to say about them."""
    from uaos.tuning.plan import initial_candidates

    random = "random candidates"
    if wanted is not None and wanted.strip() == "none":
        return (), random
    names = None if wanted is None else options.split_names(wanted)
    if names == []:
        raise InvalidParameter("--initial", wanted, "names, .toml files, or none")
    if names is None and method is not None:
        try:
            made, _ = initial_candidates(of, [method])
            return tuple(made.values()), f"{method} and {random}"
        except UaosError as error:
            return (), f"{random}; {method} itself is not in this search space ({error})"
    made, remarks = initial_candidates(of, names)
    first = f"{', '.join(made)} and {random}" if made else random
    return tuple(made.values()), "; ".join([first, *remarks])


# Doing it


def _check_winner(output: Path, store: Path, plan: "TuningPlan", overwrite: bool) -> None:
    """Refuse to replace what is not an earlier result of the same plan."""
    check_output(output, inputs=[store], suffixes=[".toml"], overwrite=True)
    if not output.exists() or overwrite:
        return
    try:
        earlier = Configuration.from_toml(output).tuning.get("plan")
    except UaosError:
        earlier = None
    if earlier != plan.key:
        raise InvalidParameter(
            "output", str(output), "a new file (-o FILE.toml): this one exists and is not an "
            "earlier result of this tuning; --overwrite replaces it",
        )  # fmt: skip


def _run(
    plan: "TuningPlan", store: Path, output: Path, overwrite: bool, retry: bool, **settings: Any
) -> int:
    """Tune, show what was found, and write the winner; the number of the tuning.

    A tuning that is finished is read from its store.
    """
    from uaos.cli.tune_tables import recipe
    from uaos.cli.tune_view import View, clock
    from uaos.experiments import Stopped
    from uaos.tuning import TuningStore, tune
    from uaos.tuning.summaries import importance, survivors_table
    from uaos.tuning.tuner import failures, finished

    tuned = finished(plan, store) if store.exists() and not retry else None
    if tuned is not None:
        console.print(Text(
            f"This tuning is finished: {count(tuned.runs, 'run')} in {clock(tuned.seconds)}. Its "
            f"result, from {store}:"
        ))  # fmt: skip
    else:
        if store.exists():
            with TuningStore.open(store) as record:
                there = len(record.cached())
            if there:
                console.print(Text(f"{count(there, 'run')} found in the store, not to be repeated"))
        try:
            with View.of(plan, store, console) as view:
                tuned = tune(
                    plan, store, retry_failed=retry, on_event=view.on_event, on_run=view.on_run,
                    **settings,
                )  # fmt: skip
        except Stopped as stop:
            console.print(Text(str(stop)))
            sys.exit(INTERRUPTED)
    _check_winner(output, store, plan, overwrite)  # it may have appeared meanwhile
    # Called as its file, to distinguish several tuned methods.
    best = dataclasses.replace(tuned.best, name=output.stem)
    with TuningStore.open(store) as record:
        console.print()
        console.print(survivors_table(record, tuned.tuning).to_rich(console.width))
        console.print(recipe(best))
        found = importance(record, tuned.tuning)
        failed = failures(record, tuned.tuning)
    if mattered := [f"{one.name} {one.share:.0%}" for one in found if one.share > one.noise]:
        console.print(Text(
            "What mattered most, as a share of the variance of the candidates' ranks: "
            + ", ".join(mattered[:5])
        ))  # fmt: skip
    if failed:
        console.print(Text(failed, style="yellow"))
    best.to_toml(output)
    console.print(Text(f"written: {output}, the winner"))
    return tuned.tuning


def _next_command(
    plan: "TuningPlan", output: Path, imported: list[Path], suite: str, rest: Suite | None
) -> list[str]:
    """The command that compares the winner with another method."""
    words = ["uaos", *(word for file in imported for word in ("--import", str(file)))]
    words += ["bench", "test.db"]
    portfolio = "portfolio" if plan.design.base.optimizer == "portfolio" else None
    if plan.suite.name == "bbob":
        dimension, rival = str(plan.suite.dimensions[-1]), portfolio or "U-AOS-FW"
        words += ["--methods", f"{output},{rival}", "--dim", dimension, "--instances", "test"]
    else:
        words += ["--suite", plan.suite.file or suite]
        words += ["--methods", f"{output},{portfolio or RECOMMENDED}"]
        words += [] if rest is None else ["--problems", ",".join(rest.names)]
    return [*words, "--budget", str(plan.budget)]


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
