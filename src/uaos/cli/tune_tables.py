"""Tables of `uaos tune`: the plan, the search space, the winner, the tunings of a store."""

from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from uaos.cli.tune_view import clock, grid
from uaos.optimizers.configuration import Configuration
from uaos.params import Setting
from uaos.problems import Suite
from uaos.table import TEXT, Cell, Row, Table
from uaos.text import count, join_names
from uaos.tuning.design_space import Design
from uaos.tuning.plan import TuningPlan
from uaos.tuning.search import least_budget, races_planned
from uaos.tuning.store import TuningStore
from uaos.tuning.summaries import candidate_words


def plan_table(plan: TuningPlan, starts: str, output: Path) -> RenderableType:
    """Return the plan of a tuning as a table, with warnings."""
    space, rules = plan.design.space, plan.rules
    limits = sorted({plan.evaluations(p) for p in plan.suite})
    each = join_names([f"{n:,}" for n in limits], "or")
    fixed = len(space) - space.free
    more = f" ({fixed} fixed)" if fixed else ""
    least = least_budget(space.free, rules)
    rows = grid({
        "parameters": f"{space.free} free{more}; --show-space lists them",
        "trains on": training(plan.suite, plan.training_set),
        "runs": f"{plan.runs:,} × {each} evaluations at most = {plan.runs * limits[-1]:,} "
        f"(minimum: {least:,} runs for {count(space.free, 'free parameter')})",
        "starts from": starts,
        "tuner": f"{plan.tuner}, {count(races_planned(space.free), 'race')} planned, test "
        f"{rules.test}, objective {plan.objective}, seed {plan.seed}",
        "result": f"{output}, written at the end",
    })  # fmt: skip
    return Group(rows, *(Text(warning, style="yellow") for warning in plan.warnings()), Text(""))


def training(suite: Suite, which: str) -> str:
    """Describe the training problems briefly."""
    functions = len({p.function for p in suite})
    dimensions = ", ".join(f"{d}-D" for d in suite.dimensions)
    problems = count(len(suite), "problem")
    if functions < len(suite):
        problems += f" of {count(functions, 'function')}"
    seen = sum(p.held_out for p in suite)
    forced = f"; {seen} of them are TEST problems" if seen else ""
    return f"{problems}, {dimensions} ({which}){forced}"


def space_table(design: Design, width: int) -> RenderableType:
    """Return a table of the parameters, their conditions, and the forbidden combinations."""
    space, rows = design.space, []
    for variable in space:
        text = variable.domain.range
        values = f"fixed: {text.removeprefix('one of ')}" if variable.fixed else text
        when = " or ".join(map(str, variable.when)) or "always"
        doc = variable.domain.doc if isinstance(variable.domain, Setting) else ""
        cells = (Cell(variable.name, bold=True), *map(Cell, (values, when, doc)))
        rows.append(Row(cells, "reference" if variable.fixed else ""))
    columns = dict.fromkeys(("parameter", "values", "exists where", "meaning"), TEXT)
    parts = [Table.of("space", "", columns, rows).to_rich(width)]
    if space.forbidden:
        parts.append(Text("forbidden", style="bold"))
        parts += [Text(f"{rule} ({rule.why})") for rule in space.forbidden]
        parts.append(Text(""))
    free, least = count(space.free, "free parameter"), least_budget(space.free)
    return Group(*parts, Text(f"{free}: a tuning needs at least {least:,} runs"))


def recipe(configuration: Configuration) -> RenderableType:
    """Return the winner's method and settings."""
    settings = configuration.settings
    operators = settings.operator_texts()
    if operators:
        shown = ", ".join(f"{name} {text}" for name, text in settings.texts().items())
        words = f"in differential evolution with {count(len(operators), 'operator')}: {shown}"
    else:
        words = f"{configuration.optimizer} with {settings.summary() or 'its default settings'}"
    return Group(configuration, Text(words), Text(""))


def status_table(store: TuningStore, width: int) -> RenderableType:
    """Return a table of the tunings of a store and their progress."""
    rows: list[list[object]] = []
    best: list[RenderableType] = []
    for tuning in store.tunings():
        setup, steps = tuning.setup, store.steps(tuning.id)
        races, survivors = store.iterations(tuning.id), store.survivors(tuning.id)
        used = steps[-1].runs_used if steps else 0
        rows.append([
            tuning.id, tuning.started[:16].replace("T", " "), f"{used:,} of {setup['runs']:,}",
            f"{len(races)} of {races[-1].planned}" if races else "0",
            f"{len(setup['problems'])} ({setup['training_set']})", setup["budget"],
            setup["objective"], setup["seed"], clock(tuning.seconds),
            "finished" if tuning.finished else "unfinished",
        ])  # fmt: skip
        if survivors:
            values = {c.id: c.values for c in store.candidates(tuning.id)}[survivors[0].candidate]
            best.append(Text(f"best of tuning {tuning.id}: {candidate_words(values)}"))
    columns = ("tuning", "started", "runs", "races", "problems", "budget", "objective", "seed",
               "time", "state")  # fmt: skip
    table = Table.of("tunings", "", dict.fromkeys(columns, TEXT), rows)
    return Group(table.to_rich(width), *best)
