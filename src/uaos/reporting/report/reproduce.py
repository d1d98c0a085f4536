"""How to reproduce everything: commands, seeds, versions."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from uaos.errors import UaosError
from uaos.experiments.plan import CODE, UNIFORM, as_json, competitor, differing
from uaos.experiments.store import ProblemRecord
from uaos.problems import suite
from uaos.reporting.figures import RUN, SECTION, TUNING, figures
from uaos.reporting.report.html import code
from uaos.reporting.sources import Course, Experiment, Sources, TuningEntry
from uaos.table import TEXT, Table
from uaos.text import Markup, joined, ranges, tag

# Sets of instances that `uaos bench` knows by name.
_SETS = ("test", "train", "all", *(f"{s}:{n}" for s in ("test", "train") for n in range(1, 15)))


def bench_commands(experiment: Experiment) -> list[str]:
    """Return the commands that run the experiment: one for the methods that share problems."""
    stored, problems = experiment.store.configurations(), experiment.store.problems()
    of: dict[tuple[Any, ...], list[str]] = {}
    for method, planned in experiment.store.planned().items():
        times = max(repetitions for repetitions, _ in planned.values())
        for where, members in _by_dimension(experiment, [p for p in problems if p.name in planned]):
            each = {(planned[p.name][1], p.dimension) for p in problems if p.name in members}
            of.setdefault((where, _budget(each), times), []).append(method)
    commands = []
    for (where, budget, times), methods in of.items():
        names = [_named(m, stored[m]) for m in stored if m in methods]
        words = ["uaos", "bench", experiment.name, "--methods", ",".join(names), *where,
                 "--budget", budget]  # fmt: skip
        words += ["--repetitions", str(times)] if times > 1 else []
        words += ["--seed", str(experiment.store.seed)] if experiment.store.seed != 1 else []
        words += [] if UNIFORM in methods else ["--without-uniform"]
        commands.append(shlex.join(words))
    return commands


def _by_dimension(
    experiment: Experiment, problems: Sequence[ProblemRecord]
) -> Iterable[tuple[tuple[str, ...], set[str]]]:
    """Return the options that choose the problems, for each command that it takes."""
    if experiment.store.suite != "bbob":
        # Named, as they may be a part of the file's.
        names = [p.name for p in problems]
        file = experiment.store.suite_file or f"{experiment.store.suite}.py"
        yield ("--suite", file, "--problems", ",".join(names)), set(names)
        return
    for dimension in sorted({p.dimension for p in problems}):
        of = [p for p in problems if p.dimension == dimension]
        yield ("--dim", str(dimension), *_bbob_options(of, dimension)), {p.name for p in of}


def _bbob_options(problems: Sequence[ProblemRecord], dimension: int) -> tuple[str, ...]:
    functions = sorted({int(p.function[1:]) for p in problems})
    every = () if len(functions) == 24 else ("--functions", spans(functions))
    names = {p.name for p in problems}
    for chosen in _SETS:
        try:
            there = suite("bbob", dimension=dimension, functions=functions, instances=chosen)
        except ValueError:
            continue
        if names == set(there.names):
            return (*every, "--instances", chosen)
    return (*every, "--instances", spans({p.instance or 0 for p in problems}))


def spans(numbers: Iterable[int]) -> str:
    """Return numbers as the command line takes them: 1-5,8."""
    return ranges(numbers, dash="-", comma=",")


def _budget(budgets: set[tuple[int, int]]) -> str:
    """Return one budget for problems of several dimensions."""
    multiples = {b // d for b, d in budgets if b % d == 0}
    if len(multiples) == 1 and all(b % d == 0 for b, d in budgets):
        return f"{multiples.pop()}D"
    return str(max(b for b, _ in budgets))


def _named(method: str, stored: Mapping[str, Any]) -> str:
    """Return the method's name if the catalogue has the same, otherwise that of its file."""
    try:
        known = as_json(competitor(method).to_dict())
    except LookupError:
        return f"{method}.toml"
    return method if not differing(method, stored, known) else f"{method}.toml"


def tune_command(entry: TuningEntry) -> tuple[str, str]:
    """Return the command of a tuning, and what it does not say."""
    from uaos.tuning.limits import design_of, option_words

    setup = entry.tuning.setup
    records = {p.name: p for p in entry.store.problems()}
    problems = [records[name] for name in map(str, setup["problems"]) if name in records]
    words = ["uaos", "tune", entry.name]
    dimension = problems[0].dimension if problems else 20
    if entry.store.suite == "bbob":
        words += ["--dim", str(dimension)]
        functions = spans({int(p.function[1:]) for p in problems})
        words += [] if functions == "1-24" else ["--functions", functions]
        words += ["--instances", str(setup["training_set"])]
    else:
        words += ["--suite", entry.store.suite_file or f"{entry.store.suite}.py"]
        words += ["--train", ",".join(p.name for p in problems)]
    for option in ("runs", "budget", "objective", "seed"):
        words += [f"--{option}", str(setup[option])]
    if setup["tuner"] != "racer":
        words += ["--tuner", str(setup["tuner"])]
    if setup["rules"]["test"] != "friedman":
        words += ["--test", str(setup["rules"]["test"])]
    options = setup.get("options", {})
    try:
        largest = max(p.dimension for p in problems)
        told = as_json(design_of(options, dimension=largest).space.to_dict()) == setup["space"]
    except (UaosError, ValueError):
        told = False
    rest = "" if told else "and the options that shaped its search space"
    return shlex.join([*words, *option_words(options)]), rest


def figure_commands(sources: Sources, runs: Sequence[Course]) -> list[str]:
    """Return the commands that draw the figures of the report for a paper."""
    from uaos.analysis.section import sections

    commands = []
    stores = [e.name for e in sources.experiments]
    parts = sections(sources.results) if sources.results.runs else []
    several = len(parts) > 1
    for part in parts:
        for kind in figures().values():
            if kind.source == SECTION and (kind.name != "ranks" or len(part.methods) > 1):
                end = ["--dim", part.key] if several else []
                file = f"{kind.name}-{part.key}.pdf" if several else f"{kind.name}.pdf"
                commands.append(["uaos", "plot", kind.name, *stores, "-o", file, *end])
    for c in runs:
        which = ["--method", c.method, "--problem", c.problem]
        file = f"operators-{c.method}-{c.function}.pdf"
        names = [k.name for k in figures().values() if k.source == RUN]
        commands += [["uaos", "plot", name, *stores, "-o", file, *which] for name in names]
    for entry in sources.tunings:
        number = str(entry.tuning.id)
        for kind in figures().values():
            if kind.source == TUNING:
                commands.append(["uaos", "plot", kind.name, entry.name, "-o",
                                 f"{kind.name}-{number}.pdf", "--tuning", number])  # fmt: skip
    return [shlex.join(words) for words in commands]


def reproduce_section(
    sources: Sources, commands: Sequence[str], runs: Sequence[Course], made: str
) -> Markup:
    """Return commands first, then seeds and versions."""
    parts: list[object] = []
    if commands:
        parts += [tag("h3", "Everything"), code("\n".join(commands))]
    bench = [line for e in sources.experiments for line in bench_commands(e)]
    if bench:
        parts += [tag("h3", "The experiment"), code("\n".join(bench))]
        if any(".toml" in line for line in bench):
            parts.append(tag("p", "Files (.toml) are those under “Methods”.", class_="note"))
        known = (key for e in sources.experiments for key in e.store.identity())
        if custom := [key.removeprefix(CODE) for key in known if key.startswith(CODE)]:
            said = f"With --import and the file that defines it: {', '.join(custom)}."
            parts.append(tag("p", said, class_="note"))
    for entry in sources.tunings:
        line, more = tune_command(entry)
        parts += [tag("h3", f"Tuning {entry.tuning.id} of {entry.name}"), code(line)]
        parts.append(tag("p", f"… {more}.", class_="note") if more else "")
    if drawn := figure_commands(sources, runs):
        parts += [tag("h3", "The figures, for a paper"), code("\n".join(drawn))]
    table = version_table(sources).to_html()
    return joined([*parts, tag("h3", "This report"), code(made), table])


def version_table(sources: Sources) -> Table:
    """Return when the runs were made, from which seeds and with which versions."""
    sessions: dict[tuple[str, str, str], dict[str, str]] = {}
    for e in sources.experiments:
        for started, found in e.store.sessions:
            sessions[e.name, str(e.store.seed), started] = found
    for t in sources.tunings:
        for started, found in t.store.sessions:
            sessions[t.name, str(t.tuning.setup["seed"]), started] = found
    packages = list(dict.fromkeys(p for found in sessions.values() for p in found))
    records = [
        {"store": name, "seed": seed, "begun": started[:16].replace("T", " ")}
        | {package: found.get(package, "") for package in packages}
        for (name, seed, started), found in sessions.items()
    ]
    columns = dict.fromkeys(("store", "seed", "begun", *packages), TEXT)
    rows = [[str(r[c] or "–") for c in columns] for r in records]
    return Table.of("versions", "Seeds and versions of each session", columns, rows, records)
