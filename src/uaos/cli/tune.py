"""`uaos tune`: find the best configuration for a set of problems."""

from pathlib import Path
from typing import Annotated

import typer

from uaos.cli.app import app
from uaos.cli.options import Dask, Dimension, Functions, Jobs
from uaos.cli.run import check_plot
from uaos.errors import InvalidParameter


@app.command(
    "tune",
    epilog="Example: [bold]uaos tune first.db --runs 800 --budget 200D --dim 5[/]   ·   then: "
    "[bold]uaos bench test.db --methods first.toml,U-AOS-FW --dim 5[/]",
)
def tune_command(
    context: typer.Context,
    store: Annotated[
        Path | None, typer.Argument(metavar="STORE", help="The file that keeps every run.")
    ] = None,
    space: Annotated[
        str | None,
        typer.Option(
            help="Search this space: extended (components, hyper-parameters, F, CR, NP, top_NP; "
            "the default), paper (the same in its printed ranges) or wide (also the pool, the "
            "rules for F and CR, bounds, restarts, …)."
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(help="Tune this method (or .toml file) alone: its own hyper-parameters."),
    ] = None,
    free: Annotated[
        str | None,
        typer.Option(help="With --method: also these of F,CR,NP,top_NP."),
    ] = None,
    pool: Annotated[
        str | None,
        typer.Option(help='Operators: nine, nine-by-CR, mix, or strategies "rand/1,best/1".'),
    ] = None,
    fix: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Hold a parameter at a value; again for more."),
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(
            "--range",
            metavar="NAME=RANGE",
            help='Narrow a parameter: NP=50..150, "reward=success_sum|success_rate".',
        ),
    ] = None,
    space_file: Annotated[
        Path | None,
        typer.Option(help="A TOML file with such limits, in its tables `fix` and `range`."),
    ] = None,
    instances: Annotated[
        str,
        typer.Option(
            help='Training problems: "train" (the paper\'s 48), instances such as "16-20" of each '
            "function, or a file (.txt, .csv) with function and instance in each line."
        ),
    ] = "train",
    functions: Functions = "1-24",
    dim: Dimension = 20,
    force: Annotated[
        bool,
        typer.Option("--force-test-instances", help="Train even on problems meant for testing."),
    ] = False,
    runs: Annotated[int, typer.Option(min=1, help="Runs of all candidates together.")] = 3000,
    budget: Annotated[
        str,
        typer.Option(
            help="Evaluations of a run at most, or a multiple of the dimension: 20000, 1000D."
        ),
    ] = "1000D",
    objective: Annotated[
        str,
        typer.Option(help="error (at the end of a run) or anytime (over its whole course)."),
    ] = "error",
    test: Annotated[
        str, typer.Option(help="friedman (by ranks) or t-test (by the size of the costs).")
    ] = "friedman",
    initial: Annotated[
        str | None,
        typer.Option(
            help="Configurations to start from: names, .toml files, or none (default: those tuned "
            "in the paper; with --method, that method)."
        ),
    ] = None,
    tuner: Annotated[
        str, typer.Option(help="racer (built in), or irace (R's, if it is installed).")
    ] = "racer",
    seed: Annotated[int, typer.Option(min=0, help="Makes the tuning repeatable.")] = 1,
    jobs: Jobs = None,
    dask: Dask = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run again what failed before.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where the winner goes (default: STORE as .toml)."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an output file of something else.")
    ] = False,
    irace_folder: Annotated[
        Path | None,
        typer.Option("--export-irace", help="Write irace's files into this folder, and end."),
    ] = None,
    configspace_file: Annotated[
        Path | None,
        typer.Option(
            "--export-configspace", help="Write the space for ConfigSpace (.json), and end."
        ),
    ] = None,
    show_space: Annotated[
        bool, typer.Option("--show-space", help="Show the search space, and end.")
    ] = False,
    status: Annotated[
        bool, typer.Option("--status", help="Show how far the tunings of STORE are, and end.")
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw how the parameters evolved (.png, .svg or .pdf)."),
    ] = None,
) -> None:
    """Find the best configuration for a set of problems, by racing many against each other.

    Candidates run on one training problem after the other; those that fall behind leave, new ones
    are drawn around the survivors. Stopped or killed, the same command continues.
    """
    # Here, as a tuner would slow down the start of every other command.
    from uaos.cli import tune_job as job
    from uaos.problems import suite
    from uaos.tuning.design import narrow
    from uaos.tuning.instances import check_training
    from uaos.tuning.racer import Rules
    from uaos.tuning.tune import Plan

    if plot is not None:
        check_plot(plot)
    if status:
        job.show_status(_needed(store), plot)
        return
    training = check_training(
        suite("bbob", instances=instances, functions=functions, dimension=dim), force=force
    )
    design = narrow(
        job.wanted_design(space, method, free, pool, dim), fix or (), limit or (), space_file
    )
    if show_space:
        job.show_space(design)
        return
    start, told = job.wanted_start(design, initial, method)
    plan = Plan(
        design, training, training_set=instances, runs=runs, budget=budget, objective=objective,
        seed=seed, initial=tuple(start), tuner=tuner, rules=Rules(test=test),
    )  # fmt: skip
    if irace_folder is not None or configspace_file is not None:
        job.export(plan, irace_folder, configspace_file)
        return
    place = _needed(store)
    result = place.with_suffix(".toml") if output is None else output
    job.check(plan, place, jobs, result, overwrite)
    job.announce(plan, told, result)
    tuned = job.run(plan, place, jobs, dask, retry_failed)
    job.check_output(result, place, plan, overwrite)  # it may have appeared meanwhile
    own = context.parent.params.get("imported") if context.parent else None
    job.report(plan, place, tuned, result, own)
    if plot is not None:
        job.draw(place, tuned.tuning, plot)


def _needed(store: Path | None) -> Path:
    if store is None:
        raise InvalidParameter("STORE", None, "the file of the tuning, such as first.db")
    return store
