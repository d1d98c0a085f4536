"""Show a tuning while it runs: a panel on a terminal, and a line per finished race."""

import time
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.constrain import Constrain
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table as Grid
from rich.text import Text

from uaos.problems.variables import Values
from uaos.tuning.costs import RunCost
from uaos.tuning.plan import TuningPlan
from uaos.tuning.records import Candidate, Event, Iteration, IterationStarted, Step
from uaos.tuning.store import TuningStore
from uaos.tuning.summaries import candidate_words


class View:
    """Show a tuning while it runs: `on_event` and `on_run` are for :func:`~uaos.tuning.tune`."""

    def __init__(self, plan: TuningPlan, console: Console, earlier: float = 0.0) -> None:
        self._plan, self._console = plan, console
        self._start = time.perf_counter() - earlier  # earlier sessions count
        self._race = IterationStarted(0, 0, 0, ())
        self._alive = 0
        self._step: Step | None = None
        self._values: dict[int, Values] = {}
        self._finished = self._failed = 0  # runs of this session
        self._before_first = time.perf_counter()
        self._used = self._since_step = 0
        self._tenth = self._leader = 0
        # Refreshed by time, as a step may take minutes.
        self._live = Live(
            console=console, transient=True, refresh_per_second=4, get_renderable=self.drawn
        )

    @classmethod
    def of(cls, plan: TuningPlan, store: Path, console: Console) -> "View":
        """Return the view of a tuning that resumes from its store."""
        if not store.exists():
            return cls(plan, console)
        with TuningStore.open(store) as record:
            entry = record.tuning(plan.to_dict())
        return cls(plan, console, entry.seconds if entry else 0.0)

    def __enter__(self) -> "View":
        if self._console.is_terminal:
            self._live.start(refresh=True)  # before anything is printed above it
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    @property
    def used(self) -> int:
        """Runs used, including finished runs of the current step."""
        return min(self._used + self._since_step, self._plan.runs)

    def on_event(self, event: Event) -> None:
        """Show an event."""
        if isinstance(event, Candidate):
            self._values[event.id] = event.values
            return
        self._since_step = 0
        if not self._finished:
            self._before_first = time.perf_counter()
        if isinstance(event, IterationStarted):
            self._race, self._alive = event, len(event.candidates)
            return
        self._used = event.runs_used
        if isinstance(event, Step):
            self._step, self._alive = event, event.alive
            self._print_progress()
        else:
            self._show_race(event)

    def on_run(self, result: RunCost) -> None:
        """Count a finished run."""
        self._finished += 1
        self._since_step += 1
        self._failed += bool(result.reason)
        self._print_progress()

    def _print_progress(self) -> None:
        tenth = 10 * self.used // self._plan.runs
        if not self._console.is_terminal and tenth > self._tenth:
            self._tenth = tenth
            runs = f"{self.used:,} of {self._plan.runs:,} runs"
            self._console.print(f"{10 * tenth} %: {runs}, {self._time()}", soft_wrap=True)

    def _time(self) -> str:
        """Return the elapsed time, and an estimate of the rest from the runs of this session."""
        now = time.perf_counter()
        elapsed = clock(now - self._start)
        if not self._finished:
            return elapsed
        pace = (now - self._before_first) / self._finished
        return f"{elapsed}, about {clock(pace * (self._plan.runs - self.used))} left"

    def _words(self, candidate: int | None) -> str:
        space, values = self._plan.design.space, self._values.get(candidate or 0, {})
        return candidate_words({k: v for k, v in values.items() if not space[k].fixed})

    def _show_race(self, race: Iteration) -> None:
        """Print a row for a finished race; a terminal truncates it."""
        best = race.elites[0]
        row = {
            "left": f"{self._alive} of {race.candidates}", "runs each": str(best.instances),
            "runs": f"{race.runs_used:,}", "time": clock(time.perf_counter() - self._start),
        } | ({"mean cost": f"{best.mean_cost:.3g}"} if self._plan.comparable else {})  # fmt: skip
        same = best.candidate == self._leader
        words = "unchanged" if same else self._words(best.candidate)
        lines = [("race", *row, "best configuration")] if not self._leader else []
        lines.append((f"{race.iteration}/{race.planned}", *row.values(), words))
        for first, *cells, last in lines:
            text = "".join([f"{first:<6}", *(f"{cell:>11}" for cell in cells), f"  {last}"])
            if self._console.is_terminal:
                self._console.print(Text(text), no_wrap=True, overflow="ellipsis")
            else:
                self._console.print(Text(text), soft_wrap=True)
        self._leader = best.candidate

    def drawn(self) -> RenderableType:
        """Return the current race, always in the same number of rows.

        rich may draw while a line is printed.
        """
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
        panel = Panel(Group(grid(rows), bar), title="tuning", expand=False)
        # Leave room for "^C" at the end of the last line: if it wrapped, the panel would not be
        # erased completely.
        return Constrain(panel, max(20, self._console.width - 8))


def grid(rows: Mapping[str, str]) -> Grid:
    """Return a table of names and values."""
    table = Grid.grid(padding=(0, 2))
    for name, text in rows.items():
        table.add_row(name, Text(text))
    return table


def clock(seconds: float) -> str:
    """Format seconds as 1:02:03, or 2:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
