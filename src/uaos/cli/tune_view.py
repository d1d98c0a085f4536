"""What `uaos tune` shows: its plan, the race as it happens, survivors, search space, status."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.constrain import Constrain
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from uaos.optimizers.configuration import Configuration
from uaos.optimizers.portfolio import Member
from uaos.params import Choice, Value
from uaos.problems import Suite
from uaos.tuning.design import Design
from uaos.tuning.evaluator import Result
from uaos.tuning.racer import least_budget, races_planned
from uaos.tuning.records import Candidate, Event, Iteration, IterationStarted, Step, Tuning
from uaos.tuning.space import Space
from uaos.tuning.store import TuningStore
from uaos.tuning.tune import Tuned, TuningPlan, candidate_words, entry_of

# The race as it happens

# Elsewhere than on a terminal a line tells of each tenth of the budget.
_TENTHS = 10

# The table of the races that are over.
_ROW = "{:<6} {:>10}  {:>9}  {:>7}  {:>7}  {:>9}  {}"
_HEAD = ("race", "left", "runs each", "runs", "time", "mean cost", "best configuration")


class Watch:
    """What is known of a tuning so far, and how long it may still take."""

    def __init__(self, plan: TuningPlan, earlier: float = 0.0) -> None:
        self.plan, self._earlier = plan, earlier
        self.iteration = self.planned = 0
        self.candidates = self.alive = 0
        self.step: Step | None = None
        self.values: dict[int, Mapping[str, Value]] = {}
        self.fresh = self.failed = 0
        self._since_step = 0
        self._used = 0
        self._start = self._before_first = time.perf_counter()

    @property
    def used(self) -> int:
        """Runs used, those of the step under way included as they end."""
        return min(self._used + self._since_step, self.plan.runs)

    @property
    def seconds(self) -> float:
        """Since the start, earlier sessions included."""
        return self._earlier + time.perf_counter() - self._start

    @property
    def seconds_left(self) -> float | None:
        """At the pace of the runs that were not found in the store."""
        if not self.fresh:
            return None
        pace = (time.perf_counter() - self._before_first) / self.fresh
        return pace * (self.plan.runs - self.used)

    def see(self, event: Event) -> None:
        """Take note of what happened."""
        if isinstance(event, Candidate):
            self.values[event.id] = event.values
            return
        self._since_step = 0
        if not self.fresh:
            self._before_first = time.perf_counter()
        if isinstance(event, IterationStarted):
            self.iteration, self.planned = event.iteration, event.planned
            self.candidates = self.alive = len(event.candidates)
        elif isinstance(event, Step):
            self.step, self.alive, self._used = event, event.alive, event.runs_used
        else:
            self._used = event.runs_used

    def see_run(self, result: Result) -> None:
        """Take note of a run that ended."""
        self.fresh += 1
        self._since_step += 1
        self.failed += bool(result.reason)

    def words(self, candidate: int | None) -> str:
        """A candidate, without what the space holds fixed."""
        return free_words(self.plan.design.space, self.values.get(candidate or 0, {}))


class View:
    """Show a tuning while it runs: `on_event` and `on_run` are for :func:`~uaos.tuning.tune`."""

    def __init__(self, plan: TuningPlan, console: Console, earlier: float = 0.0) -> None:
        self.watch = Watch(plan, earlier)
        self._console = console
        self._live: Live | None = None
        self._told = 0
        self._leader = 0
        if console.is_terminal:
            # Drawn by the clock: a step may take minutes.
            self._live = Live(
                console=console, transient=True, refresh_per_second=4, get_renderable=self.drawn
            )

    @classmethod
    def of(cls, plan: TuningPlan, store: Path, console: Console) -> "View":
        """The view of a tuning that goes on from its store."""
        if not store.exists():
            return cls(plan, console)
        with TuningStore.open(store) as record:
            entry = entry_of(plan, record)
        return cls(plan, console, entry.seconds if entry else 0.0)

    def __enter__(self) -> "View":
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        if self._live is not None:
            self._live.stop()

    def on_event(self, event: Event) -> None:
        """Show what happened."""
        self.watch.see(event)
        if isinstance(event, Iteration):
            if self._live is None:
                self._print(self._line(event))
            else:
                self._row(event)
        elif isinstance(event, Step):
            self._tell()

    def on_run(self, result: Result) -> None:
        """Show that a run ended."""
        self.watch.see_run(result)
        self._tell()

    # Plain lines

    def _print(self, text: str) -> None:
        self._console.print(Text(text), soft_wrap=True)

    def _tell(self) -> None:
        watch = self.watch
        tenth = _TENTHS * watch.used // watch.plan.runs
        if self._live is None and tenth > self._told:
            self._told = tenth
            left = watch.seconds_left
            more = "" if left is None else f", about {clock(left)} left"
            self._print(
                f"{100 * tenth // _TENTHS} %: {watch.used:,} of {watch.plan.runs:,} runs, "
                f"{clock(watch.seconds)}{more}"
            )

    def _line(self, event: Iteration) -> str:
        watch, best = self.watch, event.elites[0]
        mean = f" (mean cost {best.mean_cost:.3g})" if watch.plan.comparable else ""
        return (
            f"race {event.iteration} of {watch.planned}: {watch.alive} of {watch.candidates} left "
            f"after {best.instances} runs each, {event.runs_used:,} runs, {clock(watch.seconds)}; "
            f"best{mean}: {watch.words(best.candidate)}"
        )

    # On a terminal

    def _row(self, event: Iteration) -> None:
        """A line of the table that stays, cut at the edge of the terminal."""
        watch, best = self.watch, event.elites[0]
        lines = [Text(_ROW.format(*_HEAD), style="bold")] if not self._leader else []
        words = "the same" if best.candidate == self._leader else watch.words(best.candidate)
        lines.append(Text(_ROW.format(
            f"{event.iteration}/{watch.planned}", f"{watch.alive} of {watch.candidates}",
            best.instances, f"{event.runs_used:,}", clock(watch.seconds),
            f"{best.mean_cost:.3g}" if watch.plan.comparable else "", words,
        )))  # fmt: skip
        for line in lines:
            self._console.print(line, no_wrap=True, overflow="ellipsis")
        self._leader = best.candidate

    def drawn(self) -> RenderableType:
        """The race under way."""
        watch, runs = self.watch, self.watch.plan.runs
        left = watch.seconds_left
        table = Table.grid(padding=(0, 2))
        table.add_row("race", f"{watch.iteration} of {watch.planned or '…'}")
        step = watch.step
        if step is not None and step.iteration == watch.iteration:
            tested = "" if step.pvalue != step.pvalue else f", last test p = {step.pvalue:.2g}"
            table.add_row("problem", f"{step.instance} (step {step.step}{tested})")
        table.add_row("alive", f"{watch.alive} of {watch.candidates} candidates")
        if step is not None:
            table.add_row("best", Text(watch.words(step.best)))
            if watch.plan.comparable:
                table.add_row("mean cost", f"{step.mean_cost:.3g}")
        failed = f", {watch.failed} failed" if watch.failed else ""
        table.add_row("runs", f"{watch.used:,} of {runs:,}{failed}")
        time_left = "" if left is None else f", about {clock(left)} left"
        table.add_row("time", f"{clock(watch.seconds)}{time_left}")
        bar = ProgressBar(total=runs, completed=watch.used, width=48)
        panel = Panel(Group(table, bar), title="tuning", expand=False)
        # Room for a "^C" at the end of the last line: one that wraps would move the panel away from
        # where it is erased.
        return Constrain(panel, max(20, self._console.width - 8))


def clock(seconds: float) -> str:
    """Hours, minutes and seconds as 1:02:03, or 2:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def free_words(space: Space, values: Mapping[str, Value]) -> str:
    """A candidate in one line, without what the space holds fixed."""
    return candidate_words({k: v for k, v in values.items() if not space[k].fixed})


# Tables before and after


def plan_table(plan: TuningPlan, starts: str, output: Path) -> RenderableType:
    """What a tuning is going to do."""
    space = plan.design.space
    least = least_budget(space.free, plan.rules)
    limits = sorted({plan.evaluations(p) for p in plan.suite})
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
    functions = len({p.function for p in suite})
    dimensions = ", ".join(f"{d}-D" for d in suite.dimensions)
    problems = "1 problem" if len(suite) == 1 else f"{len(suite)} problems"
    if functions < len(suite):
        problems += f" of {functions} function{'' if functions == 1 else 's'}"
    seen = sum(p.held_out for p in suite)
    forced = f"; {seen} of them are TEST problems" if seen else ""
    return f"{problems}, {dimensions} ({which}){forced}"


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


def elites_table(tuned: Tuned, plan: TuningPlan, test: str) -> RenderableType:
    """The survivors, best first."""
    # Values of problems on scales of their own have no mean that says anything.
    means = plan.comparable
    table = _plain("rank", "runs", "rank sum", *(["mean cost"] if means else []), "configuration")
    for column in table.columns[:-1]:
        column.justify = "right"
    for found in tuned.found:
        elite = found.elite
        values = plan.design.values(found.configuration)
        cells = [str(elite.rank), str(elite.instances), f"{elite.rank_sum:g}"]
        cells += [f"{elite.mean_cost:.3g}"] if means else []
        table.add_row(*cells, Text(free_words(plan.design.space, values)))
    return Group(table, Text(test, style="dim"), Text(""))


def recipe(configuration: Configuration) -> RenderableType:
    """The winner: its method, and the settings it runs in."""
    if configuration.optimizer == "portfolio":
        names = [Member.of(given).name for given in configuration.settings["members"]]
        return Group(configuration, Text(f"in a portfolio of {', '.join(names)}"), Text(""))
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
    table = _plain("tuning", "begun", "runs", "races", "problems", "budget", "objective", "seed",
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
