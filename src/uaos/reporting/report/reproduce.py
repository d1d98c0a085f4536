"""How to make all of it again: commands, seeds, versions."""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from uaos.experiments.plan import UNIFORM, competitor
from uaos.experiments.store import Outcome, differing, plain
from uaos.problems import Problem
from uaos.problems.bbob import INSTANCES, bbob
from uaos.reporting.figures import choice
from uaos.reporting.report.courses import Course
from uaos.reporting.report.grid import Cell, Row, grid
from uaos.reporting.report.html import Markup, joined, tag
from uaos.reporting.report.recipes import code
from uaos.reporting.report.sources import Experiment, Sources, TuningEntry

_FEW = [f"{name}:{n}" for name in ("test", "train") for n in range(1, len(INSTANCES))]
_SETS = ("test", "train", "all", *_FEW)
# How a tuning names its problems.
_PROBLEM = re.compile(r"f(?P<function>\d+) i(?P<instance>\d+) (?P<dimension>\d+)-D")


def bench_commands(experiment: Experiment) -> list[str]:
    """The commands that run the experiment: one for the methods that share their problems."""
    units: dict[tuple[str, int], list[Outcome]] = {}
    for o in experiment.outcomes:
        units.setdefault((o.method, o.dimension), []).append(o)
    of: dict[tuple[int, tuple[str, ...], int, int], list[str]] = {}
    for (method, dimension), found in units.items():
        if experiment.waiting:
            where = _span(experiment)
        else:
            where = _problems({(int(o.function[1:]), o.instance or 0) for o in found})
        times = max(o.repetition for o in found)
        of.setdefault((dimension, where, found[0].budget, times), []).append(method)
    commands = []
    stored = experiment.store.configurations()
    for (dimension, where, budget, times), methods in of.items():
        names = [_named(m, stored[m]) for m in stored if m in methods]
        words = ["uaos", "bench", experiment.name, "--methods", ",".join(names), "--dim",
                 str(dimension), *where, "--budget", _budget(budget, dimension)]  # fmt: skip
        words += ["--repetitions", str(times)] if times > 1 else []
        words += ["--seed", str(experiment.span.seed)] if experiment.span.seed != 1 else []
        words += [] if UNIFORM in methods else ["--without-uniform"]
        commands.append(shlex.join(words))
    return commands


def _problems(pairs: set[tuple[int, int]]) -> tuple[str, ...]:
    functions = sorted({f for f, _ in pairs})
    short = spans(functions)
    every = () if short == "1-24" else ("--functions", short)
    for name in _SETS:
        try:
            if pairs == {_pair(p) for p in bbob(functions=functions, instances=name)}:
                return (*every, "--instances", name)
        except ValueError:
            continue
    return (*every, "--instances", spans({i for _, i in pairs}))


def _pair(problem: Problem) -> tuple[int, int]:
    return int(problem.function[1:]), problem.instance or 0


def _span(experiment: Experiment) -> tuple[str, ...]:
    """Of an unfinished experiment: its whole range."""
    names = [_PROBLEM.fullmatch(name) for name in experiment.span.problems]
    found = [(int(n["function"]), int(n["instance"])) for n in names if n]
    return ("--functions", spans({f for f, _ in found}),
            "--instances", spans({i for _, i in found}))  # fmt: skip


def spans(numbers: Iterable[int]) -> str:
    """Numbers as the command line takes them: 1-5,8."""
    return choice.spans(numbers, "", dash="-", comma=",")


def _budget(budget: int, dimension: int) -> str:
    return str(budget) if budget % dimension else f"{budget // dimension}D"


def _named(method: str, stored: Mapping[str, Any]) -> str:
    """The method's name if the catalogue has the same, else that of its file."""
    try:
        known = plain(competitor(method).to_dict())
    except LookupError:
        return f"{method}.toml"
    return method if not differing(method, stored, known) else f"{method}.toml"


def tune_command(entry: TuningEntry) -> tuple[str, str]:
    """The command of a tuning, and what it does not say."""
    from uaos.tuning.design import design

    setup = entry.tuning.setup
    names = [_PROBLEM.fullmatch(str(name)) for name in setup["problems"]]
    functions = spans({int(n["function"]) for n in names if n})
    dimensions = sorted({int(n["dimension"]) for n in names if n})
    words = ["uaos", "tune", entry.name, "--dim", str(dimensions[0])]
    words += [] if functions == "1-24" else ["--functions", functions]
    for option in ("instances", "runs", "budget", "objective", "seed"):
        value = setup["training_set" if option == "instances" else option]
        words += [f"--{option}", str(value)]
    if setup["tuner"] != "racer":
        words += ["--tuner", str(setup["tuner"])]
    for name in ("extended", "paper", "wide"):
        if plain(design(name, dimension=dimensions[0]).space.to_dict()) == setup["space"]:
            return shlex.join([*words, "--space", name]), ""
    return shlex.join(words), "and the options that shaped its search space"


def figure_commands(sources: Sources, shown: Sequence[Course]) -> list[str]:
    """The commands that draw the figures of the report for a paper."""
    commands = []
    stores = [e.name for e in sources.experiments]
    several = len(sources.results.dimensions) > 1
    for D in sources.results.dimensions:
        count = sum(bool(sources.results.of(m, D)) for m in sources.results.methods)
        for kind in ("ecdf-overall", "ecdf-classes", "ecdf-functions", "art-ratio", "ranks"):
            if kind != "ranks" or count > 1:
                end = ["--dim", str(D)] if several else []
                file = f"{kind}-{D}.pdf" if several else f"{kind}.pdf"
                commands.append(["uaos", "plot", kind, *stores, "-o", file, *end])
    for course in shown:
        o = course.outcome
        which = [
            "--method",
            o.method,
            "--function",
            o.function.removeprefix("f"),
            "--instance",
            str(o.instance),
        ]
        which += ["--dim", str(o.dimension)] if several else []
        file = f"operators-{o.method}-{o.function}.pdf"
        commands.append(["uaos", "plot", "operators", *stores, "-o", file, *which])
    for entry in sources.tunings:
        number = str(entry.tuning.id)
        for kind in ("tuning-frequencies", "tuning-survival", "tuning-importance"):
            file = f"{kind}-{number}.pdf"
            commands.append(["uaos", "plot", kind, entry.name, "-o", file, "--tuning", number])
    return [shlex.join(words) for words in commands]


def reproduce_section(
    sources: Sources, commands: Sequence[str], shown: Sequence[Course], made: str
) -> Markup:
    """Commands first, then seeds and versions."""
    parts: list[object] = []
    if commands:
        parts += [tag("h3", "Everything"), code("\n".join(commands))]
    runs = [line for e in sources.experiments for line in bench_commands(e)]
    if runs:
        parts += [tag("h3", "The experiment"), code("\n".join(runs))]
        if any(".toml" in line for line in runs):
            parts.append(tag("p", "Files (.toml) are those under “Methods”.", class_="note"))
    for entry in sources.tunings:
        line, more = tune_command(entry)
        parts += [tag("h3", f"Tuning {entry.tuning.id} of {entry.name}"), code(line)]
        parts.append(tag("p", f"… {more}.", class_="note") if more else "")
    if drawn := figure_commands(sources, shown):
        parts += [tag("h3", "The figures, for a paper"), code("\n".join(drawn))]
    parts += [tag("h3", "This report"), code(made), _made_with(sources)]
    return joined(parts)


def _made_with(sources: Sources) -> Markup:
    records = version_records(sources)
    columns = list(records[0]) if records else []
    rows = [Row(tuple(Cell(record[c] or "–") for c in columns)) for record in records]
    return grid("versions", "Seeds and versions of each session", columns, rows, texts=len(columns))


def version_records(sources: Sources) -> list[dict[str, str]]:
    """When the runs were made, from which seeds and with which versions."""
    sessions: dict[tuple[str, str, str], dict[str, str]] = {}
    for e in sources.experiments:
        for started, found in e.store.sessions:
            sessions[e.name, str(e.span.seed), started] = found
    for t in sources.tunings:
        for started, found in t.store.sessions:
            sessions[t.name, str(t.tuning.setup["seed"]), started] = found
    packages = list(dict.fromkeys(p for found in sessions.values() for p in found))
    return [
        {"store": name, "seed": seed, "begun": started[:16].replace("T", " ")}
        | {package: found.get(package, "") for package in packages}
        for (name, seed, started), found in sessions.items()
    ]
