"""What `uaos tune` does and shows: plan, race, survivors, search space, status, exports."""

import dataclasses
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.constrain import Constrain
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table as Grid
from rich.text import Text

from uaos.cli.app import INTERRUPTED, console
from uaos.errors import InvalidParameter, UaosError
from uaos.experiments import Stopped
from uaos.experiments.pools import check_pool
from uaos.experiments.storefile import check_place
from uaos.files import check_folder, check_output, whole_file
from uaos.optimizers.catalogue import RECOMMENDED
from uaos.optimizers.configuration import Configuration
from uaos.optimizers.portfolio import Member
from uaos.params import Choice
from uaos.problems import Suite
from uaos.table import NUMBER, TEXT, Cell, Row, Table
from uaos.text import count, join_names
from uaos.tuning.design import Design
from uaos.tuning.evaluator import RunCost
from uaos.tuning.race import NobodyLeft
from uaos.tuning.racer import least_budget, races_planned
from uaos.tuning.records import Candidate, Event, Iteration, IterationStarted, Step, Tuning
from uaos.tuning.space import Space, Values
from uaos.tuning.store import TuningStore
from uaos.tuning.summaries import importance
from uaos.tuning.tune import Tuned, TuningPlan, candidate_words, entry_of, finished, tune

# The race as it happens

# Elsewhere than on a terminal a line tells of each tenth of the budget.
_TENTHS = 10

# The table of the races that are over.
_ROW = "{:<6} {:>10}  {:>9}  {:>7}  {:>7}  {:>9}  {}"
_HEAD = ("race", "left", "runs each", "runs", "time", "mean cost", "best configuration")


class View:
    """Show a tuning while it runs: `on_event` and `on_run` are for :func:`~uaos.tuning.tune`."""

    def __init__(self, plan: TuningPlan, console: Console, earlier: float = 0.0) -> None:
        self._plan, self._console = plan, console
        self._start = time.perf_counter() - earlier  # earlier sessions count
        self._race = IterationStarted(0, 0, 0, ())
        self._alive = 0
        self._step: Step | None = None
        self._values: dict[int, Values] = {}
        self._fresh = self._failed = 0  # runs of this session
        self._before_first = time.perf_counter()
        self._used = self._since_step = 0
        self._told = self._leader = 0
        self._live: Live | None = None
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
            self._live.start(refresh=True)  # before anything is printed above it
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    @property
    def used(self) -> int:
        """Runs used, those of the step under way included as they end."""
        return min(self._used + self._since_step, self._plan.runs)

    def on_event(self, event: Event) -> None:
        """Show what happened."""
        if isinstance(event, Candidate):
            self._values[event.id] = event.values
            return
        self._since_step = 0
        if not self._fresh:
            self._before_first = time.perf_counter()
        if isinstance(event, IterationStarted):
            self._race, self._alive = event, len(event.candidates)
            return
        self._used = event.runs_used
        if isinstance(event, Step):
            self._step, self._alive = event, event.alive
            self._tell()
        else:
            self._show_race(event)

    def on_run(self, result: RunCost) -> None:
        """Show that a run ended."""
        self._fresh += 1
        self._since_step += 1
        self._failed += bool(result.reason)
        self._tell()

    def _tell(self) -> None:
        tenth = _TENTHS * self.used // self._plan.runs
        if self._live is None and tenth > self._told:
            self._told = tenth
            runs = f"{self.used:,} of {self._plan.runs:,} runs"
            self._print(f"{100 * tenth // _TENTHS} %: {runs}, {self._time()}")

    def _time(self) -> str:
        """The time so far, and what is left at the pace of the runs that were not in the store."""
        now = time.perf_counter()
        told = clock(now - self._start)
        if not self._fresh:
            return told
        pace = (now - self._before_first) / self._fresh
        return f"{told}, about {clock(pace * (self._plan.runs - self.used))} left"

    def _print(self, text: str) -> None:
        self._console.print(Text(text), soft_wrap=True)

    def _words(self, candidate: int | None) -> str:
        return free_words(self._plan.design.space, self._values.get(candidate or 0, {}))

    def _show_race(self, race: Iteration) -> None:
        """A line of a race that is over; on a terminal, cut at its edge, one of a table."""
        best = race.elites[0]
        number, planned, left = race.iteration, race.planned, f"{self._alive} of {race.candidates}"
        took = clock(time.perf_counter() - self._start)
        cost = f"{best.mean_cost:.3g}" if self._plan.comparable else ""
        if self._live is None:
            mean = f" (mean cost {cost})" if cost else ""
            self._print(
                f"race {number} of {planned}: {left} left after {count(best.instances, 'run')} "
                f"each, {count(race.runs_used, 'run')}, {took}; best{mean}: "
                + self._words(best.candidate)
            )
            return
        if not self._leader:
            self._console.print(Text(_ROW.format(*_HEAD), style="bold"), no_wrap=True)
        same = best.candidate == self._leader
        words = "the same" if same else self._words(best.candidate)
        line = _ROW.format(f"{number}/{planned}", left, best.instances, f"{race.runs_used:,}", took,
                           cost, words)  # fmt: skip
        self._console.print(Text(line), no_wrap=True, overflow="ellipsis")
        self._leader = best.candidate

    def drawn(self) -> RenderableType:
        """The race under way, always in as many rows: rich may draw while a line is printed."""
        race, step, runs = self._race, self._step, self._plan.runs
        problem = mean = "…"
        if step is not None:
            mean = f"{step.mean_cost:.3g}"
        if step is not None and step.iteration == race.iteration:
            tested = "" if step.pvalue != step.pvalue else f", last test p = {step.pvalue:.2g}"
            problem = f"{step.instance} (step {step.step}{tested})"
        rows = {
            "race": f"{race.iteration} of {race.planned or '…'}", "problem": problem,
            "alive": f"{self._alive} of {len(race.candidates)} candidates",
            "best": self._words(step.best) if step else "…",
        } | ({"mean cost": mean} if self._plan.comparable else {})  # fmt: skip
        failed = f", {self._failed} failed" if self._failed else ""
        rows |= {"runs": f"{self.used:,} of {runs:,}{failed}", "time": self._time()}
        bar = ProgressBar(total=runs, completed=self.used, width=48)
        panel = Panel(Group(_grid(rows), bar), title="tuning", expand=False)
        # Room for a "^C" at the end of the last line: one that wraps would move the panel away from
        # where it is erased.
        return Constrain(panel, max(20, self._console.width - 8))


def _grid(rows: Mapping[str, str]) -> Grid:
    made = Grid.grid(padding=(0, 2))
    for name, text in rows.items():
        made.add_row(name, Text(text))
    return made


def clock(seconds: float) -> str:
    """Hours, minutes and seconds as 1:02:03, or 2:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def free_words(space: Space, values: Values) -> str:
    """A candidate in one line, without what the space holds fixed."""
    return candidate_words({k: v for k, v in values.items() if not space[k].fixed})


# Tables before and after


def plan_table(plan: TuningPlan, starts: str, output: Path) -> RenderableType:
    """What a tuning is going to do, and what is doubtful about it."""
    space, rules = plan.design.space, plan.rules
    limits = sorted({plan.evaluations(p) for p in plan.suite})
    each = join_names([f"{n:,}" for n in limits], "or")
    fixed = len(space) - space.free
    more = f" ({fixed} fixed)" if fixed else ""
    races = races_planned(space.free)
    parts: list[RenderableType] = [_grid({
        "parameters": f"{space.free} free{more}; --show-space lists them",
        "trains on": training(plan.suite, plan.training_set),
        "runs": f"{plan.runs:,} × {each} evaluations at most = {plan.runs * limits[-1]:,} (least: "
        f"{least_budget(space.free, rules):,} runs for {count(space.free, 'free parameter')})",
        "starts from": starts,
        "tuner": f"{plan.tuner}, {count(races, 'race')} planned, test {rules.test}, objective "
        f"{plan.objective}, seed {plan.seed}",
        "result": f"{output}, written at the end",
    })]  # fmt: skip
    NP = space["NP"].domain if "NP" in space.names else None
    largest = max(map(int, NP.choices)) if isinstance(NP, Choice) else getattr(NP, "high", 0)
    if largest > limits[0]:
        parts.append(Text(
            f"NP may be {largest:,}, but a run of {limits[0]:,} evaluations then ends within its "
            "first population; more evaluations (--budget) or a smaller NP (--range) avoid it",
            style="yellow",
        ))  # fmt: skip
    # As the racer computes the size of its first race.
    room = plan.runs // races // (rules.least + rules.each_test)
    if plan.tuner == "racer" and len(plan.initial) > room:
        parts.append(Text(
            f"the first race has room for {count(room, 'candidate')}: of the {len(plan.initial)} "
            f"to start from, only the first {room} will race; more runs (--runs) make room",
            style="yellow",
        ))  # fmt: skip
    return Group(*parts, Text(""))


def training(suite: Suite, which: str) -> str:
    """The training problems in a few words."""
    functions = len({p.function for p in suite})
    dimensions = ", ".join(f"{d}-D" for d in suite.dimensions)
    problems = count(len(suite), "problem")
    if functions < len(suite):
        problems += f" of {count(functions, 'function')}"
    seen = sum(p.held_out for p in suite)
    forced = f"; {seen} of them are TEST problems" if seen else ""
    return f"{problems}, {dimensions} ({which}){forced}"


def space_table(design: Design, width: int) -> RenderableType:
    """The parameters, when they exist, and what is forbidden."""
    space, rows = design.space, []
    for variable in space:
        text = variable.domain.range
        values = f"fixed: {text.removeprefix('one of ')}" if variable.fixed else text
        when = " or ".join(map(str, variable.when)) or "always"
        cells = (Cell(variable.name, bold=True), *map(Cell, (values, when, variable.domain.doc)))
        rows.append(Row(cells, "reference" if variable.fixed else ""))
    columns = dict.fromkeys(("parameter", "values", "exists where", "meaning"), TEXT)
    parts = [Table.of("space", "", columns, rows).to_rich(width)]
    if space.forbidden:
        parts.append(Text("forbidden", style="bold"))
        parts += [Text(f"{one} ({one.why})") for one in space.forbidden]
        parts.append(Text(""))
    free, least = count(space.free, "free parameter"), least_budget(space.free)
    return Group(*parts, Text(f"{free}: a tuning needs {least:,} runs or more"))


def elites_table(tuned: Tuned, plan: TuningPlan, test: str, width: int) -> RenderableType:
    """The survivors, best first."""
    # Values of problems on scales of their own have no mean that says anything.
    means = ["mean cost"] if plan.comparable else []
    columns = dict.fromkeys(["rank", "runs", "rank sum", *means], NUMBER) | {"configuration": TEXT}
    rows = []
    for found in tuned.found:
        elite = found.elite
        words = free_words(plan.design.space, plan.design.values(found.configuration))
        mean = [f"{elite.mean_cost:.3g}"] if means else []
        rows.append((elite.rank, elite.instances, f"{elite.rank_sum:g}", *mean, words))
    return Table.of("survivors", "", columns, rows, note=test).to_rich(width)


def recipe(configuration: Configuration) -> RenderableType:
    """The winner: its method, and the settings it runs in."""
    if configuration.optimizer == "portfolio":
        names = [Member.of(given).name for given in configuration.settings["members"]]
        return Group(configuration, Text(f"in a portfolio of {', '.join(names)}"), Text(""))
    shown = ", ".join(f"{name} {text}" for name, text in configuration.setting_texts().items())
    operators = len(configuration.settings.members)
    words = f"in a differential evolution of {count(operators, 'operator')} with {shown}"
    return Group(configuration, Text(words), Text(""))


def status_table(store: TuningStore, tunings: Sequence[Tuning], width: int) -> RenderableType:
    """The tunings of a store, and how far each is."""
    rows: list[list[Any]] = []
    best: list[RenderableType] = []
    for tuning in tunings:
        setup, steps = tuning.setup, store.steps(tuning.id)
        races, survivors = store.iterations(tuning.id), store.survivors(tuning.id)
        used = steps[-1].runs_used if steps else 0
        rows.append([
            tuning.id, tuning.started[:16].replace("T", " "), f"{used:,} of {setup['runs']:,}",
            f"{len(races)} of {races[-1].planned}" if races else "0",
            f"{len(setup['problems'])} ({setup['training_set']})", setup["budget"],
            setup["objective"], setup["seed"], clock(tuning.seconds),
            "finished" if tuning.finished else "begun",
        ])  # fmt: skip
        if survivors:
            values = {c.id: c.values for c in store.candidates(tuning.id)}[survivors[0].candidate]
            best.append(Text(f"best of tuning {tuning.id}: {candidate_words(values)}"))
    columns = ("tuning", "begun", "runs", "races", "problems", "budget", "objective", "seed",
               "time", "state")  # fmt: skip
    table = Table.of("tunings", "", dict.fromkeys(columns, TEXT), rows)
    return Group(table.to_rich(width), *best)


# Checking it, before anything is written


def check(plan: TuningPlan, store: Path, jobs: int | None, output: Path, overwrite: bool) -> None:
    """Refuse what cannot be done."""
    plan.check()
    check_pool(None, jobs)
    check_place(store)
    if store.exists():
        TuningStore.open(store).close()
    check_winner(output, store, plan, overwrite)


def check_winner(output: Path, store: Path, plan: TuningPlan, overwrite: bool) -> None:
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


# Doing it, and showing what was found


def run_shown(plan: TuningPlan, store: Path, retry: bool, **settings: Any) -> Tuned:
    """Tune and show progress; a tuning that is finished is read from its store."""
    if store.exists():
        found = None if retry else finished(plan, store)
        if found is not None:
            console.print(Text(
                f"This tuning is finished: {count(found.used, 'run')} in {clock(found.seconds)}. "
                f"Its result, from {store}:"
            ))  # fmt: skip
            return found
        with TuningStore.open(store) as record:
            there = len(record.cached())
        if there:
            console.print(Text(f"{count(there, 'run')} found in the store, not to be repeated"))
    try:
        with View.of(plan, store, console) as view:
            return tune(
                plan, store, retry_failed=retry, on_event=view.on_event, on_run=view.on_run,
                **settings,
            )  # fmt: skip
    except Stopped as stop:
        console.print(Text(str(stop)))
        sys.exit(INTERRUPTED)
    except NobodyLeft as error:
        with TuningStore.open(store) as record:
            raise NobodyLeft(f"{error}. {_failures(plan, record)}") from None


def report(plan: TuningPlan, store: Path, tuned: Tuned, output: Path) -> None:
    """Show who survived and what mattered, and write the winner."""
    with TuningStore.open(store) as record:
        tested = [s for s in record.steps(tuned.tuning) if s.pvalue == s.pvalue]
        mattered = [one for one in importance(record, tuned.tuning) if one.share > one.noise][:5]
        failures = _failures(plan, record)
    test = "no test was made"
    if tested:
        test = (
            f"last test ({plan.rules.test}), of race {tested[-1].iteration} after "
            f"{count(tested[-1].step, 'run')} each: p = {tested[-1].pvalue:.2g}; ranks are among "
            "those alive at the end"
        )
    console.print()
    console.print(elites_table(tuned, plan, test, console.width))
    # Called as its file, to distinguish several tuned methods.
    best = dataclasses.replace(tuned.best, name=output.stem)
    console.print(recipe(best))
    if mattered:
        shares = ", ".join(f"{one.name} {one.share:.0%}" for one in mattered)
        console.print(Text(
            f"What mattered most, as a share of the variance of the candidates' ranks: {shares}"
        ))  # fmt: skip
    if failures:
        console.print(Text(failures, style="yellow"))
    best.to_toml(output)
    console.print(Text(f"written: {output}, the winner"))


def _failures(plan: TuningPlan, record: TuningStore) -> str:
    """How many runs of the tuning failed, the first reason, and what to do; "" if none did."""
    entry = entry_of(plan, record)
    keys = {c.configuration for c in record.candidates(entry.id)} if entry else set()
    failed = [o for o in record.outcomes() if o.status == "failed" and o.method in keys]
    if not failed:
        return ""
    return (
        f"{count(len(failed), 'run')} failed: {failed[0].reason} (the first, on "
        f"{failed[0].problem}); --retry-failed runs what failed again"
    )


def next_command(
    plan: TuningPlan, output: Path, imported: list[Path], suite: str, rest: Suite | None
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


def show_status(store: Path, plot: Path | None) -> None:
    """Show the tunings of a store; draw the last one if that is wanted."""
    with TuningStore.open(store) as record:
        tunings = record.tunings()
        if not tunings:
            console.print(Text(f"{store}: no tuning was begun"))
            return
        console.print(status_table(record, tunings, console.width))
    if plot is not None:
        draw(store, tunings[-1].id, plot)


def draw(store: Path, tuning: int, path: Path) -> None:
    """Draw how the parameters of a tuning evolved."""
    from uaos.reporting import figures

    with TuningStore.open(store) as record:
        figures.save(figures.draw("tuning-frequencies", (record, tuning)), path)
    console.print(Text(f"drawn: {path}"))


def export(
    plan: TuningPlan, irace_folder: Path | None, configspace_file: Path | None, overwrite: bool
) -> None:
    """Write the search space for other tuners."""
    if irace_folder is not None:
        from uaos.tuning.irace_files import write_files

        check_folder(irace_folder)
        write_files(
            irace_folder, plan.design.space, plan.suite, runs=plan.runs, seed=plan.seed,
            rules=plan.rules, initial=plan.initial,
        )  # fmt: skip
        console.print(Text(f"written: {irace_folder}"))
    if configspace_file is not None:
        from uaos.tuning.configspace import to_configspace

        check_output(configspace_file, suffixes=[".json"], overwrite=overwrite)
        with whole_file(configspace_file) as part:
            to_configspace(plan.design.space, seed=plan.seed).to_json(part)
        console.print(Text(f"written: {configspace_file}"))
