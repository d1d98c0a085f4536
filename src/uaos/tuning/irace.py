"""R's irace as the tuner: Python does the runs that it asks for.

López-Ibáñez, M., Dubois-Lacoste, J., Pérez Cáceres, L., Birattari, M. & Stützle, T. (2016), "The
irace package: iterated racing for automatic algorithm configuration", Operations Research
Perspectives 3.
"""

import csv
import functools
import math
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from uaos.errors import InvalidParameter, UaosError
from uaos.params import Value
from uaos.tuning.irace_files import ELITES, EXPERIMENTS, LOG, RUNNER, Dialect, write_files
from uaos.tuning.irace_link import Link, Request
from uaos.tuning.irace_output import Run, Transcript, survivors
from uaos.tuning.racer import Elite, Evaluate, Event, Rules, Task, Winners, check_search
from uaos.tuning.space import Candidate, Space

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


def run_irace(
    space: Space,
    instances: Sequence[Any],
    evaluate: Evaluate,
    *,
    folder: str | os.PathLike[str],
    runs: int,
    seed: int = 1,
    initial: Sequence[Candidate] = (),
    rules: Rules | None = None,
    works: Callable[[Candidate], bool] = lambda _: True,
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
    start = _distinct([space.check(c, f"initial {n}") for n, c in enumerate(initial, start=1)])
    place = Path(folder)
    dialect = write_files(
        place, space, instances, runs=runs, seed=seed, rules=r, initial=start, version=version[0]
    )
    transcript = Transcript(len(start), r)
    desk = _Desk(dialect, instances, start, works, evaluate, transcript, on_event)
    _converse(place, desk.line, desk.costs)
    desk.tell(transcript.end())
    return _winners(place, transcript)


def check_irace(
    space: Space,
    instances: Sequence[Any],
    *,
    folder: str | os.PathLike[str],
    runs: int,
    seed: int = 1,
    initial: Sequence[Candidate] = (),
    rules: Rules | None = None,
) -> None:
    """Write the files of a run into `folder` and have irace check them, without running anything.

    :class:`IraceFailed` says what irace does not like.
    """
    version = irace_version()
    place = Path(folder)
    write_files(
        place, space, instances, runs=runs, seed=seed, rules=rules, initial=initial,
        version=version[0],
    )  # fmt: skip
    _converse(place, lambda _: None, lambda batch: [0.0] * len(batch), "--check")


def check_budget(space: Space, runs: int, seed: int, rules: Rules) -> None:
    """Refuse what irace would refuse after it has started."""
    if not 0 <= seed <= _LARGEST_SEED:
        raise InvalidParameter("seed", seed, f"for irace an integer 0 to {_LARGEST_SEED}")
    check_search(space, runs, seed, rules)


class _Desk:
    """Answers irace: translates its requests, has them run, and tells what happens."""

    def __init__(
        self, dialect: Dialect, instances: Sequence[Any], initial: Sequence[dict[str, Value]],
        works: Callable[[Candidate], bool], evaluate: Evaluate, transcript: Transcript,
        on_event: Callable[[Event], None],
    ) -> None:  # fmt: skip
        self._dialect, self._instances, self._works = dialect, instances, works
        self._evaluate, self._transcript, self._on_event = evaluate, transcript, on_event
        # irace numbers the initial candidates from 1; ours have all their digits.
        self._values: dict[str, dict[str, Value] | None] = {
            str(n): values if works(values) else None for n, values in enumerate(initial, start=1)
        }

    def tell(self, events: Sequence[Event]) -> None:
        for event in events:
            self._on_event(event)

    def line(self, text: str) -> None:
        self.tell(self._transcript.line(text))

    def costs(self, batch: Sequence[Request]) -> list[float]:
        """The costs of a batch; those that do not work are not run."""
        found = [self._candidate(request) for request in batch]
        runs = [
            Run(int(q.candidate), q.parent, values, self._instances[q.instance], q.seed)
            for q, values in zip(batch, found, strict=True)
            if values is not None
        ]
        self.tell(self._transcript.batch(runs))
        tasks = [Task(run.id, run.values, run.instance, run.seed) for run in runs]
        given = [float(cost) for cost in self._evaluate(tasks)] if tasks else []
        costs = [math.inf if math.isnan(cost) else cost for cost in given]
        self._transcript.costs(runs, costs, len(batch))
        left = iter(costs)
        return [math.inf if values is None else next(left) for values in found]

    def _candidate(self, request: Request) -> dict[str, Value] | None:
        if request.candidate not in self._values:
            values = self._dialect.values(request.row)
            self._values[request.candidate] = values if self._works(values) else None
        return self._values[request.candidate]


def _converse(
    folder: Path,
    on_line: Callable[[str], None],
    costs: Callable[[Sequence[Request]], Sequence[float]],
    *arguments: str,
) -> None:
    """Run irace in a folder, and answer it until it ends."""
    for name in (LOG, ELITES, EXPERIMENTS, OUTPUT):
        (folder / name).unlink(missing_ok=True)
    with Link(folder) as link, _process(folder, arguments) as (process, log):
        assert process.stdout is not None
        for message in link.messages(process.stdout):
            if isinstance(message, str):
                log.write(message.encode() + b"\n")
                on_line(message)
            else:
                link.answer(costs(message))
        status = process.wait()
    if status:
        raise IraceFailed(_message(folder / OUTPUT, status), folder / OUTPUT)


@contextmanager
def _process(
    folder: Path, arguments: Sequence[str]
) -> Iterator[tuple["subprocess.Popen[bytes]", IO[bytes]]]:
    """R with the runner, in a session of its own: Ctrl-C is for Python, which ends it."""
    with open(folder / OUTPUT, "ab", buffering=0) as file:
        process = subprocess.Popen(
            [*_RSCRIPT, RUNNER, *arguments], cwd=folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=file, start_new_session=True,
        )  # fmt: skip
        try:
            yield process, file
        finally:
            process.terminate()
            try:
                process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            assert process.stdout is not None
            process.stdout.close()


def _message(log: Path, status: int) -> str:
    """irace's own words in what it printed, on one line."""
    text = log.read_text(encoding="utf-8", errors="replace")
    words = text.rpartition("== irace == ")[2] if "== irace == " in text else ""
    if not words and "Error" in text:
        words = text[text.rindex("Error") :]
    words = " ".join(words.partition("Execution halted")[0].split())
    ended = f"with exit code {status}" if status > 0 else f"by signal {-status}"
    return words or f"R was ended {ended}"


def _winners(folder: Path, transcript: Transcript) -> Winners:
    """What irace's log says it found."""
    results: dict[int, dict[int, float]] = {}
    for row in _rows(folder / EXPERIMENTS):
        costs = results.setdefault(int(row["candidate"]), {})
        costs[int(row["position"]) - 1] = float.fromhex(row["cost"])
    elites = [(int(r["iteration"]), int(r["candidate"])) for r in _rows(folder / ELITES)]
    last = max(iteration for iteration, _ in elites)
    ids = [candidate for iteration, candidate in elites if iteration == last]
    found: tuple[Elite, ...] = transcript.elites
    if [e.id for e in found] != ids:
        found = survivors(ids, results, ids, sorted(results[ids[0]]))
    return Winners(found, transcript.candidates, results, transcript.used, last)


def _rows(path: Path) -> list[dict[str, str]]:
    with open(path, encoding="ascii", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def _distinct(candidates: Sequence[dict[str, Value]]) -> list[dict[str, Value]]:
    """Without repetitions, which irace refuses."""
    return [c for n, c in enumerate(candidates) if c not in candidates[:n]]
