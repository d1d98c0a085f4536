"""What `uaos tune` does: understands what is asked, checks it, tunes, and reports."""

import dataclasses
import os
import shlex
import sys
from pathlib import Path

from rich.text import Text

from uaos.cli.app import INTERRUPTED, console
from uaos.cli.options import listed
from uaos.cli.tune_tables import elites_table, plan_table, recipe, space_table, status_table
from uaos.cli.tune_view import View, clock
from uaos.errors import InvalidParameter, UaosError
from uaos.experiments import Stopped
from uaos.experiments.pools import check_pool
from uaos.experiments.storefile import check_folder
from uaos.optimizers.configuration import Configuration
from uaos.params import Value
from uaos.tuning.design import DEFAULT_PRESET, INITIAL, Design, design, design_for
from uaos.tuning.racer import NobodyLeft, check_search
from uaos.tuning.store import TuningStore
from uaos.tuning.tune import (
    Plan,
    Tuned,
    finished,
    initial_candidates,
    plan_key,
    seconds_so_far,
    tune,
)

# What the winner is compared with in the command that is suggested at the end.
_RIVAL = "U-AOS-FW"

# What is asked for


def wanted_design(
    space: str | None, method: str | None, free: str | None, pool: str | None, dim: int
) -> Design:
    """The search space before its limits."""
    if method is None:
        if free is not None:
            raise InvalidParameter("--free", free, "settings to free of a --method")
        return design(DEFAULT_PRESET if space is None else space, dimension=dim, pool=pool)
    for name, given in (("--space", space), ("--pool", pool)):
        if given is not None:
            raise InvalidParameter(name, given, "nothing, as --method brings its own")
    return design_for(method, listed(free or ""), dimension=dim)


def wanted_start(
    of: Design, wanted: str | None, method: str | None
) -> tuple[list[dict[str, Value]], str]:
    """The candidates to start from, and what to say about them."""
    random = "random candidates"
    if wanted is not None and wanted.strip() == "none":
        return [], random
    if wanted is not None:
        names = listed(wanted)
        if not names:
            raise InvalidParameter("--initial", wanted, "names, .toml files, or none")
        made, remarks = initial_candidates(of, names)
        return made, "; ".join([f"{', '.join(names)} and {random}", *remarks])
    if method is not None:
        try:
            return initial_candidates(of, [method])[0], f"{method} and {random}"
        except UaosError as error:
            return [], f"{random}; {method} itself is not in this search space ({error})"
    made, remarks = initial_candidates(of)
    out = [name for name in INITIAL if any(r.startswith(f"{name} ") for r in remarks)]
    missing = f" (not in this search space: {', '.join(out)})" if out else ""
    names = [name for name in INITIAL if name not in out]
    return made, f"{', '.join(names) + ' and ' if names else ''}{random}{missing}"


# Checking it, before anything is written


def check(plan: Plan, store: Path, jobs: int | None, output: Path, overwrite: bool) -> None:
    """Refuse what cannot be done."""
    check_search(plan.design.space, plan.runs, plan.seed, plan.rules)
    if plan.tuner == "irace":
        from uaos.tuning.irace import check_budget, irace_version

        irace_version()
        check_budget(plan.design.space, plan.runs, plan.seed, plan.rules)
    check_pool(None, jobs)
    check_folder(store)
    if store.exists():
        TuningStore.open(store).close()
    check_output(output, store, plan, overwrite)


def check_output(output: Path, store: Path, plan: Plan, overwrite: bool) -> None:
    """Refuse to replace what is not an earlier result of the same plan."""
    if output.suffix != ".toml":
        raise InvalidParameter("output", str(output), "a file that ends in .toml")
    if output.absolute() == store.absolute():
        raise InvalidParameter("output", str(output), "another file than STORE")
    folder = output.absolute().parent
    if output.is_dir() or not (folder.is_dir() and os.access(folder, os.W_OK)):
        raise InvalidParameter(
            "output", str(output), "a file in a folder that exists, to be written to"
        )
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


# Doing it


def announce(plan: Plan, start: str, output: Path) -> None:
    """Say what is going to happen."""
    console.print(plan_table(plan, start, output))


def run(plan: Plan, store: Path, jobs: int | None, dask: str | None, retry: bool) -> Tuned:
    """Tune, shown as it happens; what is there already is told, and not done again."""
    if store.exists():
        found = None if retry else finished(plan, store)
        if found is not None:
            console.print(Text(
                f"This tuning is finished: {found.used:,} runs in {clock(found.seconds)}. Its "
                f"result, from {store}:"
            ))  # fmt: skip
            return found
        with TuningStore.open(store) as record:
            count = len(record.cached())
        if count:
            console.print(Text(f"{count:,} runs found in the store; they are not run again"))
    try:
        with View(plan, console, seconds_so_far(plan, store)) as view:
            return tune(
                plan, store, jobs=jobs, dask=dask, retry_failed=retry, on_event=view.on_event,
                on_run=view.on_run,
            )  # fmt: skip
    except Stopped as stop:
        console.print(Text(str(stop)))
        sys.exit(INTERRUPTED)
    except NobodyLeft as error:
        raise NobodyLeft(f"{error}. {_failures(plan, store)}") from None


def report(plan: Plan, store: Path, tuned: Tuned, output: Path, imported: Path | None) -> None:
    """Show who survived, write the winner, and say what to do next."""
    console.print()
    console.print(elites_table(tuned, plan, _last_test(plan, store, tuned)))
    # Called as its file, so that several tuned ones can be told apart.
    best = dataclasses.replace(tuned.best, name=output.stem)
    console.print(recipe(best))
    if mattered := _mattered(store, tuned.tuning):
        console.print(Text(mattered))
    if failures := _failures(plan, store):
        console.print(Text(failures, style="yellow"))
    best.to_toml(output)
    console.print(Text(f"written: {output}, the winner"))
    dimensions = sorted({i.dimension for i in plan.suite})
    command = ["uaos", *(["--import", str(imported)] if imported else []), "bench", "test.db",
               "--methods", f"{output},{_RIVAL}", "--dim", str(dimensions[-1]),
               "--instances", "test", "--budget", str(plan.budget)]  # fmt: skip
    console.print(Text.assemble("next: ", (shlex.join(command), "bold")), soft_wrap=True)
    if any(problem.held_out for problem in plan.suite):
        console.print(Text(
            "It was trained on test problems, where its results now say nothing about others",
            style="yellow",
        ))  # fmt: skip


def _last_test(plan: Plan, store: Path, tuned: Tuned) -> str:
    with TuningStore.open(store) as record:
        tested = [s for s in record.steps(tuned.tuning) if s.pvalue == s.pvalue]
    if not tested:
        return "no test was made"
    last = tested[-1]
    return (
        f"last test ({plan.rules.test}), of race {last.iteration} after {last.step} instances: "
        f"p = {last.pvalue:.2g}; ranks are among those alive at the end"
    )


def _mattered(store: Path, tuning: int) -> str:
    from uaos.analysis.tuning import importance

    with TuningStore.open(store) as record:
        found = [one for one in importance(record, tuning) if one.share > one.noise][:5]
    if not found:
        return ""
    shares = ", ".join(f"{one.name} {one.share:.0%}" for one in found)
    return f"What mattered most, as a share of the variance of the candidates' ranks: {shares}"


def _failures(plan: Plan, store: Path) -> str:
    """How many runs of the tuning failed, the first reason, and what to do; "" if none did."""
    with TuningStore.open(store) as record:
        number = next(t.id for t in record.tunings() if plan_key(t.setup) == plan.key)
        keys = {c.configuration for c in record.candidates(number)}
        failed = [o for o in record.cached().values() if o.status == "failed" and o.method in keys]
    if not failed:
        return ""
    runs = "1 run" if len(failed) == 1 else f"{len(failed)} runs"
    first = failed[0]
    return (
        f"{runs} failed: {first.reason} (the first, on {first.problem}); "
        "--retry-failed runs what failed again"
    )


# Showing and exporting


def show_space(of: Design) -> None:
    """The search space as a table."""
    console.print(space_table(of))


def show_status(store: Path, plot: Path | None) -> None:
    """The tunings of a store; the last one is drawn if that is wanted."""
    with TuningStore.open(store) as record:
        tunings = record.tunings()
        if not tunings:
            console.print(Text(f"{store}: no tuning was begun"))
            return
        console.print(status_table(record, tunings))
    if plot is not None:
        draw(store, tunings[-1].id, plot)


def draw(store: Path, tuning: int, path: Path) -> None:
    """The picture of a tuning."""
    from uaos.reporting import figures

    with TuningStore.open(store) as record:
        figures.save(figures.draw("tuning-frequencies", (record, tuning)), path)
    console.print(Text(f"drawn: {path}"))


def export(plan: Plan, irace_folder: Path | None, configspace_file: Path | None) -> None:
    """The search space for other tuners."""
    if irace_folder is not None:
        from uaos.tuning.irace_files import write_files

        if irace_folder.exists() and not irace_folder.is_dir():
            raise InvalidParameter("--export-irace", str(irace_folder), "a folder, new or not")
        write_files(
            irace_folder, plan.design.space, plan.suite, runs=plan.runs, seed=plan.seed,
            rules=plan.rules, initial=plan.initial,
        )  # fmt: skip
        console.print(Text(f"written: {irace_folder}"))
    if configspace_file is not None:
        from uaos.tuning.configspace import to_configspace

        folder = configspace_file.absolute().parent
        if configspace_file.suffix != ".json" or not folder.is_dir():
            allowed = "a file that ends in .json, in a folder that exists"
            raise InvalidParameter("--export-configspace", str(configspace_file), allowed)
        to_configspace(plan.design.space, seed=plan.seed).to_json(configspace_file)
        console.print(Text(f"written: {configspace_file}"))
