"""What `uaos tune` shows before and after: plan, search space, survivors, status."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from uaos.cli.tune_view import clock, free_words
from uaos.optimizers.configuration import Configuration
from uaos.params import Choice
from uaos.problems import Suite
from uaos.tuning.design import Design
from uaos.tuning.racer import least_budget, races_planned
from uaos.tuning.records import Tuning
from uaos.tuning.store import TuningStore
from uaos.tuning.tune import Plan, Tuned, candidate_words


def plan_table(plan: Plan, starts: str, output: Path) -> RenderableType:
    """What a tuning is going to do."""
    space = plan.design.space
    least = least_budget(space.free, plan.rules)
    limits = sorted({plan.evaluations(i) for i in plan.suite})
    each = " or ".join(f"{n:,}" for n in limits)
    plural = "" if space.free == 1 else "s"
    table = Table.grid(padding=(0, 2))
    fixed = len(space) - space.free
    more = f" ({fixed} fixed)" if fixed else ""
    table.add_row("parameters", f"{space.free} free{more}; --show-space lists them")
    table.add_row("trains on", training(plan.suite, plan.training_set))
    table.add_row(
        "runs", f"{plan.runs:,} × {each} evaluations at most = {plan.runs * limits[-1]:,} (least: "
        f"{least:,} runs for {space.free} free parameter{plural})",
    )  # fmt: skip
    table.add_row("starts from", starts)
    races = races_planned(space.free)
    table.add_row(
        "tuner", f"{plan.tuner}, {races} races planned, test {plan.rules.test}, objective "
        f"{plan.objective}, seed {plan.seed}",
    )  # fmt: skip
    table.add_row("result", f"{output}, written at the end")
    parts: list[RenderableType] = [table]
    NP = space["NP"].domain if "NP" in space.names else None
    largest = max(map(int, NP.choices)) if isinstance(NP, Choice) else getattr(NP, "high", 0)
    if largest > limits[0]:
        parts.append(Text(
            f"NP may be {largest:,}, but a run of {limits[0]:,} evaluations then ends within its "
            "first population; more evaluations (--budget) or a smaller NP (--range) avoid it",
            style="yellow",
        ))  # fmt: skip
    # As the racer computes the size of its first race.
    room = plan.runs // races // (plan.rules.least + plan.rules.each_test)
    if plan.tuner == "racer" and len(plan.initial) > room:
        parts.append(Text(
            f"the first race has room for {room} candidates: of the {len(plan.initial)} to start "
            f"from, the first {room} take part; more runs (--runs) make room",
            style="yellow",
        ))  # fmt: skip
    return Group(*parts, Text(""))


def training(suite: Suite, which: str) -> str:
    """The training problems in a few words."""
    functions = len({i.function for i in suite})
    dimensions = ", ".join(f"{d}-D" for d in sorted({i.dimension for i in suite}))
    plural = "" if len(suite) == 1 else "s"
    kinds = "1 function" if functions == 1 else f"{functions} functions"
    seen = sum(i.held_out for i in suite)
    forced = f"; {seen} of them are TEST problems" if seen else ""
    return f"{len(suite)} problem{plural} of {kinds}, {dimensions} ({which}){forced}"


def space_table(design: Design) -> RenderableType:
    """The parameters, when they exist, and what is forbidden."""
    space = design.space
    table = _plain("parameter", "values", "exists where", "meaning")
    for variable in space:
        when = " or ".join(map(str, variable.when))
        text = variable.domain.range
        values = f"fixed: {text.removeprefix('one of ')}" if variable.fixed else text
        style = "dim" if variable.fixed else ""
        cells = (values, when or "always", variable.domain.doc)
        table.add_row(Text(variable.name, style="bold"), *(Text(c, style=style) for c in cells))
    parts: list[RenderableType] = [table, Text("")]
    if space.forbidden:
        parts.append(Text("forbidden", style="bold"))
        parts += [Text(f"{one} ({one.why})") for one in space.forbidden]
        parts.append(Text(""))
    free = f"{space.free} free parameters" if space.free != 1 else "1 free parameter"
    parts.append(Text(f"{free}: a tuning needs {least_budget(space.free):,} runs or more"))
    return Group(*parts)


def elites_table(tuned: Tuned, plan: Plan, test: str) -> RenderableType:
    """The survivors, best first."""
    table = _plain("rank", "instances", "rank sum", "mean cost", "configuration")
    for column in table.columns[:4]:
        column.justify = "right"
    for found in tuned.found:
        elite = found.elite
        values = plan.design.values(found.configuration)
        table.add_row(
            str(elite.rank), str(elite.instances), f"{elite.rank_sum:g}",
            f"{elite.mean_cost:.3g}", Text(free_words(plan.design.space, values)),
        )  # fmt: skip
    return Group(table, Text(test, style="dim"), Text(""))


def recipe(configuration: Configuration) -> RenderableType:
    """The winner: its method, and the settings it runs in."""
    settings = {k: v for k, v in configuration.settings.to_dict().items() if k != "pool"}
    shown = ", ".join(f"{k} {_words(v)}" for k, v in settings.items())
    operators = len(configuration.settings.members)
    words = f"in a differential evolution of {operators} operators with {shown}"
    return Group(configuration, Text(words), Text(""))


def _words(value: Any) -> str:
    """A setting's value; a rule by its name, with its numbers."""
    if not isinstance(value, Mapping):
        return str(value)
    rest = ", ".join(f"{k} {v}" for k, v in value.items() if k != "rule")
    return f"{value['rule']} ({rest})" if rest else str(value["rule"])


def status_table(store: TuningStore, tunings: Sequence[Tuning]) -> RenderableType:
    """The tunings of a store, and how far each is."""
    table = _plain("tuning", "begun", "runs", "races", "problems", "of a run", "objective", "seed",
                   "time", "state")  # fmt: skip
    best: list[RenderableType] = []
    for tuning in tunings:
        setup, steps = tuning.setup, store.steps(tuning.id)
        races = store.iterations(tuning.id)
        used = steps[-1].runs_used if steps else 0
        table.add_row(
            str(tuning.id), tuning.started[:16].replace("T", " "), f"{used:,} of {setup['runs']:,}",
            f"{len(races)} of {races[-1].planned}" if races else "0",
            f"{len(setup['problems'])} ({setup['training_set']})", str(setup["budget"]),
            str(setup["objective"]), str(setup["seed"]),
            clock(steps[-1].elapsed) if steps else "", "finished" if tuning.finished else "begun",
        )  # fmt: skip
        elites = store.elites(tuning.id)
        if elites:
            last = next(e for e in elites if e.iteration == elites[-1].iteration)
            values = {c.id: c.values for c in store.candidates(tuning.id)}[last.candidate]
            best.append(Text(f"best of tuning {tuning.id}: {candidate_words(values)}"))
    return Group(table, *best)


def _plain(*columns: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
