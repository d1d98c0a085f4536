"""R's irace as the tuner: Python does the runs that it asks for."""

import contextlib
import csv
import functools
import math
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from uaos.errors import InvalidParameter, UaosError
from uaos.tuning.irace_files import ELITES, LOG, RUNNER, write_files
from uaos.tuning.racer import (
    TESTS,
    Evaluate,
    Results,
    Rules,
    Task,
    Winners,
    check_search,
    checked_initial,
    cost_table,
    ranks,
)
from uaos.tuning.records import (
    NAN,
    Candidate,
    Elimination,
    Elite,
    Event,
    Iteration,
    IterationStarted,
    Step,
)
from uaos.tuning.space import Space, Values

#: What irace prints, errors included, kept in the folder of a run.
OUTPUT = "irace.log"

OLDEST = (3, 5)

# R reads its own settings for where packages are, but no profile or workspace of the user's.
_RSCRIPT = ("Rscript", "--no-save", "--no-restore", "--no-site-file", "--no-init-file")

# Seconds that R is given to end when told to.
_PATIENCE = 5

_LARGEST_SEED = 2**31 - 1


class IraceMissing(UaosError):
    """R or its package irace is not installed, or too old."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what}. To install irace: apt-get install r-cran-irace (Debian, Ubuntu), or "
            'install.packages("irace") in R. The built-in racer needs neither'
        )


class IraceFailed(UaosError):
    """irace ended with an error; `message` is irace's own, `log` all that it printed."""

    def __init__(self, message: str, log: Path) -> None:
        self.message, self.log = message, log
        super().__init__(f"irace failed: {message} (all that it printed: {log})")


def irace_version() -> tuple[int, ...]:
    """The version of irace that R finds; :class:`IraceMissing` if there is none or it is old."""
    return _version(os.environ.get("PATH", ""), os.environ.get("R_LIBS", ""))


@functools.lru_cache
def _version(path: str, libraries: str) -> tuple[int, ...]:
    if shutil.which(_RSCRIPT[0], path=path) is None:
        raise IraceMissing("R is not installed (there is no Rscript)")
    ask = 'cat(as.character(packageVersion("irace")))'
    done = subprocess.run([*_RSCRIPT, "-e", ask], capture_output=True, text=True, check=False)
    if done.returncode or not re.fullmatch(r"\d+(\.\d+)*", done.stdout.strip()):
        raise IraceMissing("R is installed, but its package irace is not")
    version = tuple(int(number) for number in done.stdout.strip().split("."))
    if version < OLDEST:
        raise IraceMissing(f"irace {done.stdout.strip()} is too old: 3.5 or newer is needed")
    return version


def check_budget(space: Space, runs: int, seed: int, rules: Rules) -> None:
    """Refuse what irace would refuse after it has started."""
    if not 0 <= seed <= _LARGEST_SEED:
        raise InvalidParameter("seed", seed, f"for irace an integer 0 to {_LARGEST_SEED}")
    check_search(space, runs, seed, rules)


def run_irace(
    space: Space,
    instances: Sequence[Any],
    evaluate: Evaluate,
    *,
    folder: str | os.PathLike[str],
    runs: int,
    seed: int = 1,
    initial: Sequence[Values] = (),
    rules: Rules | None = None,
    works: Callable[[Values], bool] = lambda _: True,
    on_event: Callable[[Event], None] = lambda _: None,
) -> Winners:
    """As :func:`~uaos.tuning.racer.iterated_racing`, by irace; its files go into `folder`.

    One call of `evaluate` gets all candidates that irace wants on one instance. A candidate that
    does not work costs infinity, and so leaves. What comes out depends on the arguments and the
    version of irace alone: a search that was stopped or killed and is begun again with the costs it
    had goes the same way. R ends when Python does, and an exception in `evaluate` ends R.
    """
    r = rules or Rules()
    check_budget(space, runs, seed, r)
    version = irace_version()
    start = checked_initial(space, initial)
    place = Path(folder)
    dialect = write_files(
        place, space, instances, runs=runs, seed=seed, rules=r, initial=start, version=version[0]
    )
    transcript = Transcript(len(start), r, on_event)
    # irace numbers the initial candidates from 1; ours have all their digits.
    known = {str(n): values if works(values) else None for n, values in enumerate(start, start=1)}

    def costs(batch: Sequence[Sequence[str]]) -> list[float]:
        """The costs of a batch; those that do not work are not run."""
        wanted = []
        for number, parent, instance, task_seed, *row in batch:
            if number not in known:
                made = dialect.values(row)
                known[number] = made if works(made) else None
            if (values := known[number]) is not None:
                wanted.append(Task(
                    int(number), values, instances[int(instance) - 1], int(task_seed),
                    None if parent == "NA" else int(parent),
                ))  # fmt: skip
        transcript.batch(wanted)
        found = map(float, evaluate(wanted) if wanted else ())
        given = {
            task.id: math.inf if math.isnan(cost) else cost
            for task, cost in zip(wanted, found, strict=True)
        }
        transcript.costs(wanted, given, len(batch))
        return [given.get(int(number), math.inf) for number, *_ in batch]

    _converse(place, transcript.line, costs)
    transcript.end()
    return _winners(place, transcript)


# Talking to R: it asks for runs on its output, and is answered on its input.

# As in the runner: this, and how many runs, each in a line of its own, apart by tabs.
_REQUEST = b"@uaos "


def _converse(
    folder: Path,
    on_line: Callable[[str], None],
    costs: Callable[[Sequence[Sequence[str]]], Sequence[float]],
    *arguments: str,
) -> None:
    """Run irace in a folder, and answer it until it ends."""
    for name in (LOG, ELITES, OUTPUT):
        (folder / name).unlink(missing_ok=True)
    with open(folder / OUTPUT, "ab", buffering=0) as log, _process(folder, log, arguments) as r:
        assert r.stdin is not None
        assert r.stdout is not None
        for line in r.stdout:
            printed, asked, count = line.partition(_REQUEST)
            if not asked:
                log.write(printed)
                on_line(printed.decode(errors="replace").rstrip("\n"))
                continue
            rows = [r.stdout.readline() for _ in range(int(count))]
            batch = [row.decode("ascii").rstrip("\n").split("\t") for row in rows]
            # In hexadecimal: R reads that exactly.
            answer = "".join(float(cost).hex() + "\n" for cost in costs(batch))
            with contextlib.suppress(OSError):  # R is gone, as the end of its output will tell
                r.stdin.write(answer.encode("ascii"))
                r.stdin.flush()
        status = r.wait()
    if status:
        raise IraceFailed(_message(folder / OUTPUT, status), folder / OUTPUT)


@contextlib.contextmanager
def _process(
    folder: Path, log: Any, arguments: Sequence[str]
) -> Iterator["subprocess.Popen[bytes]"]:
    """R with the runner, in a session of its own: Ctrl-C is for Python, which ends it."""
    process = subprocess.Popen(
        [*_RSCRIPT, RUNNER, *arguments], cwd=folder, env=os.environ | {"UAOS_RUNS": "yes"},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, start_new_session=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for stream in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):  # of an answer that R did not wait for
                stream.close()  # type: ignore[union-attr]


def _message(log: Path, status: int) -> str:
    """irace's own words in what it printed, on one line."""
    text = log.read_text(encoding="utf-8", errors="replace")
    words = text.rpartition("== irace == ")[2] if "== irace == " in text else ""
    if not words and "Error" in text:
        words = text[text.rindex("Error") :]
    words = " ".join(words.partition("Execution halted")[0].split())
    ended = f"with exit code {status}" if status > 0 else f"by signal {-status}"
    return words or f"R was ended {ended}"


# What happens in a race, from what irace prints and the runs it asks for. It prints a line when an
# iteration begins, a row for each instance, why the race ended, and the survivors. It does not
# print who left; that follows from the costs, by the same test, and from how many it says are left.

_ITERATION = re.compile(r"^# .*: Iteration (\d+) of (\d+)$")
_BUDGET = re.compile(r"^# currentBudget: (\d+)$")
# |marker|instance|alive|best|mean of the best|runs|time|…
_ROW = re.compile(r"^\|([-x=!.c])\| *(\d+)\| *(\d+)\| *(\d+)\|")
_WHY = re.compile(r"^# Stopped because (.*)$")
_SURVIVORS = re.compile(r"^# .*: Elite configurations \(first number is the configuration ID")
_SURVIVOR = re.compile(r"^ *(\d+)(?: |$)")

# Markers of rows after which the test was made.
_TESTED = "-=!"


class Transcript:
    """Turns a session of irace into events; `initial` is how many candidates it was given.

    Feed it every line that irace prints, every batch before it is run, and its costs after.
    """

    def __init__(self, initial: int, rules: Rules, tell: Callable[[Event], None]) -> None:
        self._initial, self._rules, self._tell = initial, rules, tell
        self.candidates: dict[int, Values] = {}
        self.results: Results = {}
        self.elites: tuple[Elite, ...] = ()
        self.used = 0
        self._iteration = self._planned = self._budget = self._size = 0
        self._places: dict[int, tuple[str, int]] = {}
        self._alive: list[int] = []
        self._unseen: dict[int, set[int]] = {}  # results that protect an elite
        self._covered: list[int] = []
        self._why = ""
        self._new: Mapping[int, float] = {}
        self._at = ("", 0)
        self._survivors: list[int] | None = None

    def line(self, text: str) -> None:
        """Take note of a printed line."""
        if self._survivors is not None:
            if found := _SURVIVOR.match(text):
                self._survivors.append(int(found[1]))
                return
            if self._survivors:
                self.end()
        if found := _ITERATION.match(text):
            self._iteration, self._planned = int(found[1]), int(found[2])
            self._alive, self._covered, self._why = [], [], ""
        elif found := _BUDGET.match(text):
            self._budget = int(found[1])
        elif found := _WHY.match(text):
            self._why = found[1]
        elif _SURVIVORS.match(text):
            self._survivors = []
        elif found := _ROW.match(text):
            self._row(found[1], *(int(found[i]) for i in (2, 3, 4)))

    def batch(self, runs: Sequence[Task]) -> None:
        """Take note of who joins, and of the start of a race if this is its first batch."""
        for run in runs:
            if run.id not in self.candidates:
                self.candidates[run.id], self.results[run.id] = run.values, {}
                origin = "initial" if run.id <= self._initial else "uniform"
                origin = "model" if self._iteration > 1 else origin
                here = run.id, self._iteration, run.parent
                self._tell(Candidate(*here, "", run.values, origin))
        if not self._alive:
            elites = [e.candidate for e in self.elites]
            self._alive = elites + [run.id for run in runs if run.id not in elites]
            self._size = len(self._alive)
            self._unseen = {i: set(self.results[i]) for i in elites}
            here = self._iteration, self._planned, self._budget
            self._tell(IterationStarted(*here, tuple(self._alive)))

    def costs(self, runs: Sequence[Task], costs: Mapping[int, float], used: int) -> None:
        """Take note of what the batch cost; `used` counts runs that irace pays for."""
        self._new = costs
        self._at = (str(runs[0].instance), runs[0].seed) if runs else ("", 0)
        self.used += used

    def end(self) -> None:
        """The race is over once all its survivors are known."""
        ids, self._survivors = self._survivors, None
        if ids:
            self.elites = _elites(self._iteration, ids, self.results, self._alive, self._covered)
            self._tell(Iteration(
                self._iteration, self._planned, self._budget, self._size, self.used, self._why,
                self.elites,
            ))  # fmt: skip

    def _row(self, marker: str, number: int, left: int, best: int) -> None:
        """An instance of a race is over: those that failed leave, and then those that lost."""
        place, new = number - 1, self._new
        if new:
            self._places[place] = self._at
        self._new = {}
        for one, cost in new.items():
            self.results[one][place] = cost
        self._covered.append(place)
        for unseen in self._unseen.values():
            unseen.discard(place)
        dropped = self._drop({i: (NAN, "failed") for i, cost in new.items() if cost == math.inf})
        statistic = p_value = NAN
        if marker in _TESTED and len(self._alive) > 1:
            statistic, p_value, losers = self._losers(left)
            dropped += self._drop(losers)
        known = [self.results[best][p] for p in self._covered if p in self.results.get(best, {})]
        self._tell(Step(
            self._iteration, len(self._covered), *self._places.get(place, ("", 0)), left, best,
            self.used, statistic, p_value, position=place,
            mean_cost=float(np.mean(known or [NAN])), costs=new, dropped=tuple(dropped),
        ))  # fmt: skip

    def _drop(self, losers: Mapping[int, tuple[float, str]]) -> list[Elimination]:
        self._alive = [i for i in self._alive if i not in losers]
        here = self._iteration, len(self._covered)
        return [Elimination(*here, one, *rest) for one, rest in losers.items()]

    def _losers(self, left: int) -> tuple[float, float, dict[int, tuple[float, str]]]:
        """Who left: as many as irace says. Where our test disagrees, its numbers are not told."""
        table = _shared(self.results, self._alive, self._covered)
        if not len(table):
            return NAN, NAN, {}
        statistic, p_value, stays = TESTS[self._rules.test](table, self._rules.alpha)
        sums = ranks(table).sum(axis=0)
        free = [i for i, one in enumerate(self._alive) if not self._unseen.get(one)]
        gone = [i for i in free if not stays[i]]
        expected = max(0, len(self._alive) - left)
        reason = f"{self._rules.test}, p = {p_value:.3g}"
        if len(gone) != expected:
            gone = sorted(sorted(free, key=lambda i: -sums[i])[:expected])
            statistic, p_value, reason = NAN, NAN, self._rules.test
        return statistic, p_value, {self._alive[i]: (float(sums[i]), reason) for i in gone}


def _elites(
    iteration: int, ids: Sequence[int], results: Results, alive: Sequence[int],
    covered: Sequence[int],
) -> tuple[Elite, ...]:  # fmt: skip
    """The survivors of a race in irace's order; rank sums are among all that were alive."""
    company = list(alive) if set(ids) <= set(alive) else list(ids)
    table = _shared(results, company, covered)
    totals = ranks(table).sum(axis=0) if len(table) else np.full(len(company), NAN)
    sums = dict(zip(company, map(float, totals), strict=True))
    return tuple(
        Elite(iteration, rank, i, len(results[i]), sums[i],
              float(np.mean(list(results[i].values()))))
        for rank, i in enumerate(ids, start=1)
    )  # fmt: skip


def _shared(results: Results, columns: Sequence[int], rows: Sequence[int]) -> Any:
    """The costs on the instances that all have been run on."""
    return cost_table(results, columns, [p for p in rows if all(p in results[i] for i in columns)])


def _winners(folder: Path, transcript: Transcript) -> Winners:
    """What irace's log says it found."""
    with open(folder / ELITES, encoding="ascii", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    elites = [(int(row["iteration"]), int(row["candidate"])) for row in rows]
    last = elites[-1][0]
    ids = [candidate for iteration, candidate in elites if iteration == last]
    found, results = transcript.elites, transcript.results
    if [e.candidate for e in found] != ids:
        found = _elites(last, ids, results, ids, sorted(results[ids[0]]))
    return Winners(found, transcript.candidates, results, transcript.used, last)
