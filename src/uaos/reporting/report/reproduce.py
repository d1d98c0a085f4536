"""How to reproduce everything: commands, seeds, versions."""

import shlex
from collections.abc import Sequence

from uaos.experiments.provenance import current_command
from uaos.experiments.store import Store
from uaos.markup import Markup, joined, tag
from uaos.reporting.figures import RUN, SECTION, TUNING, figures
from uaos.reporting.report.elements import code
from uaos.reporting.sources import Course, Sources
from uaos.table import TEXT, Table
from uaos.text import join_names


def reproduce_section(sources: Sources, runs: Sequence[Course]) -> Markup:
    """Return the commands that made the runs, the figures and the report; seeds and versions."""
    parts: list[object] = []
    stores = _stores(sources)
    commands = list(dict.fromkeys(line for store in stores for line in store.commands))
    if commands:
        note = "File names are relative to the folder in which the commands were run."
        if any(".toml" in line for line in commands):
            note += " Configuration files (.toml) are under “Methods”."
        parts += [tag("h3", "The runs"), code("\n".join(commands)), tag("p", note, class_="note")]
    if unrecorded := [store.name for store in stores if not store.commands]:
        note = (
            f"No command is recorded in {join_names(unrecorded)}: the runs were started in Python."
        )
        parts.append(tag("p", note, class_="note"))
    if lines := figure_commands(sources, runs):
        parts += [
            tag("h3", "The figures, for a paper"),
            tag("p", "In the folder of the stores:", class_="note"),
            code("\n".join(lines)),
        ]
    if (command := current_command()) and command not in commands:
        parts += [tag("h3", "This report"), code(command)]
    return joined([*parts, version_table(sources).to_html()])


def _stores(sources: Sources) -> list[Store]:
    """Return the stores of benchmarks, then those of tunings."""
    stores: list[Store] = [experiment.store for experiment in sources.experiments]
    return list(dict.fromkeys([*stores, *(entry.store for entry in sources.tunings)]))


def figure_commands(sources: Sources, runs: Sequence[Course]) -> list[str]:
    """Return the commands that draw the figures of the report for a paper."""
    stores = [experiment.name for experiment in sources.experiments]
    commands = [*_section_commands(sources, stores)]
    run_figures = [kind.name for kind in figures().values() if kind.source == RUN]
    for run in runs:
        options = ["--method", run.method, "--problem", run.problem]
        file = f"operators-{run.method}-{run.function}.pdf"
        commands += [[name, *stores, "-o", file, *options] for name in run_figures]
    for entry in sources.tunings:
        number = str(entry.tuning.id)
        commands += [
            [kind.name, entry.name, "-o", f"{kind.name}-{number}.pdf", "--tuning", number]
            for kind in figures().values()
            if kind.source == TUNING
        ]
    return [shlex.join(["uaos", "plot", *words]) for words in commands]


def _section_commands(sources: Sources, stores: list[str]) -> list[list[str]]:
    from uaos.analysis.sectioning import sections

    parts = sections(sources.results) if sources.results.runs else []
    commands = []
    for part in parts:
        for kind in figures().values():
            if kind.source != SECTION or (kind.name == "ranks" and len(part.methods) < 2):
                continue
            if len(parts) > 1:
                file, options = f"{kind.name}-{part.key}.pdf", ["--dim", part.key]
            else:
                file, options = f"{kind.name}.pdf", []
            if sources.is_selection and "methods" in kind.options:
                options = [*options, "--methods", ",".join(part.methods)]
            commands.append([kind.name, *stores, "-o", file, *options])
    return commands


def version_table(sources: Sources) -> Table:
    """Return when the runs were made, from which seeds and with which versions."""
    sessions: dict[tuple[str, str, str], dict[str, str]] = {}
    for experiment in sources.experiments:
        for started, versions in experiment.store.sessions:
            sessions[experiment.name, str(experiment.store.seed), started] = versions
    for entry in sources.tunings:
        for started, versions in entry.store.sessions:
            sessions[entry.name, str(entry.tuning.setup["seed"]), started] = versions
    packages = list(dict.fromkeys(name for versions in sessions.values() for name in versions))
    records = [
        {"store": name, "seed": seed, "started": started[:16].replace("T", " ")}
        | {package: versions.get(package, "") for package in packages}
        for (name, seed, started), versions in sessions.items()
    ]
    columns = dict.fromkeys(("store", "seed", "started", *packages), TEXT)
    rows = [[str(record[c] or "–") for c in columns] for record in records]
    return Table.of("versions", "Seeds and versions of each session", columns, rows, records)
