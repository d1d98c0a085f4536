"""R's irace as the tuner; Python makes the runs."""

import contextlib
import functools
import math
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO

import numpy as np

from uaos.errors import InvalidParameter, UaosError
from uaos.files import as_path
from uaos.problems.variables import Values
from uaos.statistics import rank_rows
from uaos.tuning.irace_files import LOG, RUNNER, Dialect, write_files
from uaos.tuning.race import Evaluate, Results, Standings, Task, shared_costs
from uaos.tuning.records import NAN, Candidate, Elite, Event, Iteration, IterationStarted, Step
from uaos.tuning.search import Search

#: The file with irace's output, errors included, in the folder of a run.
OUTPUT = "irace.log"

OLDEST = (3, 5)

# R reads its settings for where packages are, but no profile or workspace of the user.
_RSCRIPT = ("Rscript", "--no-save", "--no-restore", "--no-site-file", "--no-init-file")

# Seconds to wait for R to terminate.
_TIMEOUT = 5

_LARGEST_SEED = 2**31 - 1


class IraceMissing(UaosError):
    """R or its package irace is not installed, or too old."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what}. To install irace: apt-get install r-cran-irace (Debian, Ubuntu), or "
            'install.packages("irace") in R. The built-in racer needs neither R nor irace'
        )


class IraceFailed(UaosError):
    """irace ended with an error: `message` is from irace, `log` is the file of its output."""

    def __init__(self, message: str, log: Path) -> None:
        self.message, self.log = message, log
        super().__init__(f"irace failed: {message} (its output: {log})")


def irace_version() -> tuple[int, ...]:
    """Return the version of irace; raise :class:`IraceMissing` if it is missing or too old."""
    return _version(os.environ.get("PATH", ""), os.environ.get("R_LIBS", ""))


@functools.lru_cache
def _version(path: str, libraries: str) -> tuple[int, ...]:
    if shutil.which(_RSCRIPT[0], path=path) is None:
        raise IraceMissing("R is not installed (Rscript was not found)")
    query = 'cat(as.character(packageVersion("irace")))'
    done = subprocess.run([*_RSCRIPT, "-e", query], capture_output=True, text=True, check=False)
    if done.returncode or not re.fullmatch(r"\d+(\.\d+)*", done.stdout.strip()):
        raise IraceMissing("R is installed, but its package irace is not")
    version = tuple(int(number) for number in done.stdout.strip().split("."))
    if version < OLDEST:
        raise IraceMissing(
            f"irace {done.stdout.strip()} is too old; version 3.5 or later is needed"
        )
    return version


def check_search(search: Search) -> None:
    """Raise an error if irace would reject the search."""
    if not 0 <= search.seed <= _LARGEST_SEED:
        raise InvalidParameter(
            f"seed is {search.seed!r}; irace needs an integer from 0 to {_LARGEST_SEED}",
            name="seed", value=search.seed,
        )  # fmt: skip
    search.check()


def run_irace(
    search: Search,
    evaluate: Evaluate,
    on_event: Callable[[Event], None] = lambda _: None,
    *,
    folder: str | os.PathLike[str],
) -> Iteration:
    """Search by irace, as :func:`~uaos.tuning.racer.iterated_racing` does; return the last race.

    One call of `evaluate` gets all candidates that irace runs on one instance. A candidate that
    does not work costs infinity, and so is dropped. The result depends on the arguments and the
    version of irace alone: a search that was stopped and is begun again with the same costs takes
    the same course. R ends when Python does, and an exception in `evaluate` ends R.

    Parameters
    ----------
    search : Search
    evaluate : callable
        Returns the costs of runs.
    on_event : callable
        Called with each event.
    folder : str or path
        The folder of irace's files.

    Returns
    -------
    Iteration
        The last race, with its survivors.
    """
    check_search(search)
    version = irace_version()
    place = as_path(folder, "folder")
    dialect = write_files(place, search, version=version[0])
    session = IraceSession(dialect, search, evaluate, on_event)
    _converse(place, session.line, session.answer)
    session.end()
    if session.last is None:
        raise IraceFailed("it did not print the survivors", place / OUTPUT)
    return session.last


# Communication with R: it requests runs on its output, and gets their costs on its input.

# As in the runner: this and the number of runs, then one line per run, separated by tabs.
_REQUEST = b"@uaos "


def _converse(
    folder: Path,
    on_line: Callable[[str], None],
    costs: Callable[[Sequence[Sequence[str]]], Sequence[float]],
    *arguments: str,
) -> None:
    """Run irace in a folder, and answer its requests until it ends."""
    for name in (LOG, OUTPUT):
        (folder / name).unlink(missing_ok=True)
    with open(folder / OUTPUT, "ab", buffering=0) as log, _process(folder, log, arguments) as r:
        assert r.stdin is not None
        assert r.stdout is not None
        for line in r.stdout:
            printed, request, count = line.partition(_REQUEST)
            if not request:
                log.write(printed)
                on_line(printed.decode(errors="replace").rstrip("\n"))
                continue
            rows = [r.stdout.readline() for _ in range(int(count))]
            batch = [row.decode("ascii").rstrip("\n").split("\t") for row in rows]
            # R reads hexadecimal numbers exactly.
            answer = "".join(float(cost).hex() + "\n" for cost in costs(batch))
            with contextlib.suppress(OSError):  # R has ended, and so does its output
                r.stdin.write(answer.encode("ascii"))
                r.stdin.flush()
        status = r.wait()
    if status:
        raise IraceFailed(_message(folder / OUTPUT, status), folder / OUTPUT)


@contextlib.contextmanager
def _process(
    folder: Path, log: IO[bytes], arguments: Sequence[str]
) -> Iterator["subprocess.Popen[bytes]"]:
    """Start R with the runner in its own session: Ctrl-C reaches Python, which terminates R."""
    process = subprocess.Popen(
        [*_RSCRIPT, RUNNER, *arguments], cwd=folder, env=os.environ | {"UAOS_RUNS": "yes"},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, start_new_session=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(_TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for stream in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):  # an answer that R did not wait for
                stream.close()  # type: ignore[union-attr]


def _message(log: Path, status: int) -> str:
    """Return irace's error message from its output, on one line."""
    text = log.read_text(encoding="utf-8", errors="replace")
    words = text.rpartition("== irace == ")[2] if "== irace == " in text else ""
    if not words and "Error" in text:
        words = text[text.rindex("Error") :]
    words = " ".join(words.partition("Execution halted")[0].split())
    ended = f"with exit code {status}" if status > 0 else f"by signal {-status}"
    return words or f"R was terminated {ended}"


# The events of a race follow from irace's output and the runs it requests. It prints a line when an
# iteration begins, a row for each instance, why the race ended, and the survivors. It does not
# print which candidates were dropped; that follows from the costs, by our test, and from the number
# of candidates left.

_ITERATION = re.compile(r"^# .*: Iteration (\d+) of (\d+)$")
_BUDGET = re.compile(r"^# currentBudget: (\d+)$")
# |marker|instance|alive|best|mean of the best|runs|time|…
_ROW = re.compile(r"^\|([-x=!.c])\| *(\d+)\| *(\d+)\| *(\d+)\|")
_WHY = re.compile(r"^# Stopped because (.*)$")
_SURVIVORS = re.compile(r"^# .*: Elite configurations \(first number is the configuration ID")
_SURVIVOR = re.compile(r"^ *(\d+)(?: |$)")

# Markers of rows with a test.
_TESTED = "-=!"


class IraceSession:
    """Answers irace's requests, and turns what it prints into events.

    irace numbers the initial candidates from 1 and rounds them; here they keep all their digits.
    """

    def __init__(
        self,
        dialect: Dialect,
        search: Search,
        evaluate: Evaluate,
        on_event: Callable[[Event], None],
    ) -> None:
        self._dialect, self._search, self._evaluate = dialect, search, evaluate
        self._start = dict(enumerate(search.initial_candidates(), start=1))
        self._tell = on_event
        self.candidates: dict[int, Values] = {}  # those that work
        self.results: Results = {}
        self.last: Iteration | None = None  # the last race that is over
        self.used = 0
        self._broken: set[int] = set()
        self._race = Standings((), (), self.results, search.rules)
        self._iteration = self._planned = self._budget = 0
        self._why = ""
        self._places: dict[int, tuple[str, int]] = {}  # their instances and seeds
        self._at, self._new = ("", 0), dict[int, float]()  # the last batch: place and costs
        self._survivors: list[int] | None = None

    def answer(self, batch: Sequence[Sequence[str]]) -> list[float]:
        """Return the costs of requested runs; candidates that cannot work are not run."""
        tasks = [task for row in batch if (task := self._task(*row)) is not None]
        if not self._race.alive:
            elites = [e.candidate for e in self.last.elites] if self.last else []
            candidates = [*elites, *(task.id for task in tasks if task.id not in elites)]
            self._race = Standings(candidates, elites, self.results, self._race.rules)
            here = self._iteration, self._planned, self._budget
            self._tell(IterationStarted(*here, tuple(candidates)))
        costs = map(float, self._evaluate(tasks) if tasks else ())
        self._new = {
            task.id: math.inf if math.isnan(cost) else cost
            for task, cost in zip(tasks, costs, strict=True)
        }
        self._at = (str(tasks[0].instance), tasks[0].seed) if tasks else ("", 0)
        self.used += len(batch)
        return [self._new.get(int(number), math.inf) for number, *_ in batch]

    def _task(self, number: str, parent: str, instance: str, seed: str, *row: str) -> Task | None:
        """Return a requested run, or None if the candidate cannot work; report new candidates."""
        i = int(number)
        if i in self._broken:
            return None
        if i not in self.candidates:
            values = self._start.get(i) or self._dialect.values(row)
            if not self._search.works(values):
                self._broken.add(i)
                return None
            self.candidates[i], self.results[i] = values, {}
            origin = "initial" if i in self._start else "uniform"
            origin = "model" if self._iteration > 1 else origin
            parent_id = None if parent == "NA" else int(parent)
            self._tell(Candidate(i, self._iteration, parent_id, "", values, origin))
        return Task(i, self.candidates[i], self._search.instances[int(instance) - 1], int(seed))

    def line(self, text: str) -> None:
        """Read a printed line."""
        if self._survivors is not None:
            if match := _SURVIVOR.match(text):
                self._survivors.append(int(match[1]))
                return
            if self._survivors:
                self.end()
        if match := _ITERATION.match(text):
            self._iteration, self._planned = int(match[1]), int(match[2])
            self._race, self._why = Standings((), (), self.results, self._race.rules), ""
        elif match := _BUDGET.match(text):
            self._budget = int(match[1])
        elif match := _WHY.match(text):
            self._why = match[1]
        elif _SURVIVORS.match(text):
            self._survivors = []
        elif match := _ROW.match(text):
            self._row(match[1], *(int(match[i]) for i in (2, 3, 4)))

    def end(self) -> None:
        """End the race, once all its survivors have been printed."""
        ids, self._survivors = self._survivors, None
        if ids:
            self.last = Iteration(
                self._iteration, self._planned, self._budget, len(list(self._race.candidates)),
                self.used, self._why, self._ranked(ids),
            )  # fmt: skip
            self._tell(self.last)

    def _row(self, marker: str, number: int, left: int, best: int) -> None:
        """Cover one more instance: drop candidates that failed, and then those that lost.

        The arguments are columns of irace's table: the outcome of the test, the number of the
        instance, the candidates left, and the best of them.
        """
        place, new, race = number - 1, self._new, self._race
        if new:
            self._places[place] = self._at
        self._new = {}
        for candidate, cost in new.items():
            self.results[candidate][place] = cost
        dropped = race.cover(place)
        statistic = p_value = NAN
        if marker in _TESTED and len(race.alive) > 1:
            statistic, p_value, losers = race.test()
            expected = max(0, len(race.alive) - left)
            if len(losers) != expected:  # irace decides; do not report our statistics
                statistic, p_value, losers = NAN, NAN, self._worst(expected)
            race.drop(losers)
            dropped += losers
        costs = [self.results[best][p] for p in race.covered if p in self.results.get(best, {})]
        self._tell(Step(
            self._iteration, len(race.covered), *self._places.get(place, ("", 0)), left, best,
            self.used, statistic, p_value, position=place,
            mean_cost=float(np.mean(costs or [NAN])), costs=new, dropped=tuple(dropped),
        ))  # fmt: skip

    def _worst(self, count: int) -> list[int]:
        """Return the remaining candidates with the largest rank sums that may be dropped."""
        sums = self._rank_sums(self._race.alive)
        free = [c for c in self._race.alive if not self._race.is_protected(c)]
        worst = sorted(free, key=lambda c: -sums[c])[:count]
        return [c for c in free if c in worst]

    def _ranked(self, ids: Sequence[int]) -> tuple[Elite, ...]:
        """Return the survivors in irace's order; rank sums are among all remaining candidates."""
        alive = self._race.alive
        sums = self._rank_sums(alive if set(ids) <= set(alive) else ids)
        return tuple(
            Elite(self._iteration, rank, i, len(self.results[i]), sums[i],
                  float(np.mean(list(self.results[i].values()))))
            for rank, i in enumerate(ids, start=1)
        )  # fmt: skip

    def _rank_sums(self, candidates: Sequence[int]) -> dict[int, float]:
        table = shared_costs(self.results, candidates, self._race.covered)
        sums = rank_rows(table).sum(axis=0) if len(table) else [NAN] * len(candidates)
        return dict(zip(candidates, map(float, sums), strict=True))
