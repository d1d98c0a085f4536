"""A tuning as it happens: live on a terminal, in plain lines elsewhere."""

import time
from collections.abc import Mapping
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.constrain import Constrain
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from uaos.params import Value
from uaos.tuning.evaluator import Result
from uaos.tuning.racer import Event, IterationEnded, IterationStarted, Sampled, Step
from uaos.tuning.space import Space
from uaos.tuning.tune import Plan, candidate_words

# Elsewhere than on a terminal a line tells of each tenth of the budget.
_TENTHS = 10

# The table of the races that are over.
_ROW = "{:<6} {:>10}  {:>9}  {:>7}  {:>7}  {:>9}  {}"
_HEAD = ("race", "left", "instances", "runs", "time", "mean cost", "best configuration")


class Watch:
    """What is known of a tuning so far, and how long it may still take."""

    def __init__(self, plan: Plan, earlier: float = 0.0) -> None:
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
        if isinstance(event, Sampled):
            self.values[event.id] = event.values
            return
        self._since_step = 0
        if not self.fresh:
            self._before_first = time.perf_counter()
        if isinstance(event, IterationStarted):
            self.iteration, self.planned = event.iteration, event.planned
            self.candidates = self.alive = len(event.candidates)
        elif isinstance(event, Step):
            self.step, self.alive, self._used = event, event.alive, event.used
        else:
            self._used = event.used

    def see_run(self, result: Result) -> None:
        """Take note of a run that ended."""
        self.fresh += 1
        self._since_step += 1
        self.failed += bool(result.reason)

    def words(self, candidate: int) -> str:
        """A candidate, without what the space holds fixed."""
        return free_words(self.plan.design.space, self.values.get(candidate, {}))


class View:
    """Shows a tuning while it runs: `on_event` and `on_run` are for :func:`~uaos.tuning.tune`."""

    def __init__(self, plan: Plan, console: Console, earlier: float = 0.0) -> None:
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
        if isinstance(event, IterationEnded):
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

    def _line(self, event: IterationEnded) -> str:
        watch, best = self.watch, event.elites[0]
        return (
            f"race {event.iteration} of {watch.planned}: {watch.alive} of {watch.candidates} left, "
            f"{best.instances} instances, {event.used:,} runs, {clock(watch.seconds)}; best mean "
            f"cost {best.mean_cost:.3g}: {watch.words(best.id)}"
        )

    # On a terminal

    def _row(self, event: IterationEnded) -> None:
        """A line of the table that stays, cut at the edge of the terminal."""
        watch, best = self.watch, event.elites[0]
        lines = [Text(_ROW.format(*_HEAD), style="bold")] if not self._leader else []
        words = "the same" if best.id == self._leader else watch.words(best.id)
        lines.append(Text(_ROW.format(
            f"{event.iteration}/{watch.planned}", f"{watch.alive} of {watch.candidates}",
            best.instances, f"{event.used:,}", clock(watch.seconds), f"{best.mean_cost:.3g}", words,
        )))  # fmt: skip
        for line in lines:
            self._console.print(line, no_wrap=True, overflow="ellipsis")
        self._leader = best.id

    def drawn(self) -> RenderableType:
        """The race under way."""
        watch, runs = self.watch, self.watch.plan.runs
        left = watch.seconds_left
        table = Table.grid(padding=(0, 2))
        table.add_row("race", f"{watch.iteration} of {watch.planned or '…'}")
        step = watch.step
        if step is not None and step.iteration == watch.iteration:
            tested = "" if step.p_value != step.p_value else f", last test p = {step.p_value:.2g}"
            table.add_row("instance", f"{step.instance} (step {step.step}{tested})")
        table.add_row("alive", f"{watch.alive} of {watch.candidates} candidates")
        if step is not None:
            table.add_row("best", Text(watch.words(step.best)))
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
