"""R's irace does the search, Python the runs."""

import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import irace_fake
import pytest
from irace_spaces import SMALL, TINY, choice, needs_irace, variable
from race_log import RaceLog
from raising import raises

from uaos.errors import InvalidParameter
from uaos.params import Value
from uaos.problems.variables import Space
from uaos.tuning import irace
from uaos.tuning.design_space import PRESETS, design
from uaos.tuning.irace import IraceFailed, IraceMissing, IraceSession, irace_version, run_irace
from uaos.tuning.irace_files import Dialect, write_files
from uaos.tuning.plan import initial_candidates
from uaos.tuning.race import Task
from uaos.tuning.records import Candidate, Elite, Event, Iteration, IterationStarted, Step
from uaos.tuning.search import Search

INSTANCES = ("a", "b", "c")
TINY_SEARCH = Search(TINY, INSTANCES, 96)


def cost(values: dict[str, Value] | object, seed: int) -> float:
    """The objective of the recorded session."""
    assert isinstance(values, dict)
    x, n = float(values["x"]), float(values["n"])
    return round(abs(x - 0.3) + n / 100 + seed % 7 * x / 20, 3)


def evaluate(tasks: Sequence[Task]) -> list[float]:
    return [cost(t.values, t.seed) for t in tasks]


# What irace prints


@pytest.fixture(scope="module")
def recorded() -> list[Event]:
    """The events of the recorded session."""
    events: list[Event] = []
    session = IraceSession(Dialect(TINY), Search(TINY, INSTANCES, 96), evaluate, events.append)
    for part in irace_fake.session():
        if isinstance(part, str):
            session.line(part)
        else:
            session.answer(part)
    session.end()
    return events


def of(events: Sequence[Event], kind: type) -> list[Event]:
    return [event for event in events if isinstance(event, kind)]


def test_a_race_begins_with_those_who_join(recorded: list[Event]) -> None:
    assert recorded[0] == Candidate(1, 1, None, "", {"x": 0.6, "n": 33}, "uniform")
    assert recorded[5] == IterationStarted(1, 3, 32, (1, 2, 3, 4, 5))
    assert of(recorded, Candidate)[5] == Candidate(6, 2, 4, "", {"x": 0.71, "n": 3}, "model")
    assert of(recorded, IterationStarted)[1] == IterationStarted(2, 3, 35, (4, 6, 7, 8, 9))


def test_a_row_is_a_step(recorded: list[Event]) -> None:
    first = of(recorded, Step)[0]
    assert isinstance(first, Step)
    assert first[:7] == (1, 1, "a", 799790031, 5, 4, 5)
    assert (first.position, first.mean_cost) == (0, 0.213)
    assert first.costs == {1: 0.78, 2: 0.277, 3: 1.258, 4: 0.213, 5: 0.77}
    assert math.isnan(first.statistic)  # the first test comes after five instances
    assert first.dropped == ()


def test_who_left_is_found_by_the_same_test(recorded: list[Event]) -> None:
    fifth = of(recorded, Step)[4]
    assert isinstance(fifth, Step)
    # Ranks of 1 to 5 on the five instances: 4 5 4 4 4 ... The sums are 19, 10, 25, 5 and 16;
    # X = 12 (4² + 5² + 10² + 10² + 1²) / (5·5·6) = 19.36, and of t's threshold only 4 is left.
    assert fifth.statistic == pytest.approx(19.36)
    assert fifth.pvalue == pytest.approx(0.000668, abs=1e-6)
    assert fifth.dropped == (1, 2, 3, 5)
    assert fifth.alive == 1


def test_an_elite_is_not_taken_for_a_loser_as_long_as_it_is_protected(
    recorded: list[Event],
) -> None:
    """In race 3 the test drops 10, of rank sum 10, but neither 7 (15) nor 4 (25)."""
    step = next(s for s in of(recorded, Step) if isinstance(s, Step) and s[:2] == (3, 5))
    assert step.dropped == (10, 11, 12, 13)
    assert step.alive == 3


def test_a_step_without_runs_is_a_step_too(recorded: list[Event]) -> None:
    last = of(recorded, Step)[-1]
    assert isinstance(last, Step)
    assert (last.iteration, last.step, last.position, last.costs) == (4, 7, 4, {})
    assert (last.instance, last.seed) == ("b", 631621743)  # as in race 1
    assert last.runs_used == 83


def test_a_race_ends_with_a_reason_and_its_survivors(recorded: list[Event]) -> None:
    ended = of(recorded, Iteration)
    assert len(ended) == 4
    why = "number of alive configurations (1) <= minimum number of configurations (3)"
    elite = Elite(1, 1, 4, 5, 5.0, pytest.approx(0.2084))
    assert ended[0] == Iteration(1, 3, 32, 5, 25, why, (elite,))
    assert isinstance(ended[3], Iteration)
    survivors = [(e.candidate, e.rank, e.instances) for e in ended[3].elites]
    assert survivors == [(7, 1, 8), (4, 2, 8), (14, 3, 7)]
    assert recorded[-1] is ended[3]


def race_of(rows: Sequence[tuple[str, int, list[float]]], count: int) -> list[Event]:
    """The steps of a race with these markers, numbers left and costs."""
    events: list[Event] = []
    found: list[float] = []
    search = Search(TINY, "a", 96, initial=[{"x": 0.5, "n": 1}])
    session = IraceSession(Dialect(TINY), search, lambda _: found, events.append)
    session.line("# 2026-01-01 12:00:00 UTC: Iteration 1 of 2")
    alive = list(range(1, count + 1))
    for place, (marker, left, costs) in enumerate(rows, start=1):
        found[:] = costs
        session.answer([(str(i), "NA", "1", "1", "0.5", "1") for i in alive])
        session.line(f"|{marker}| {place:10}| {left:10}| {1:10}| 0.5| 9|00:00:00|")
        assert isinstance(events[-1], Step)
        alive = [i for i in alive if i not in events[-1].dropped]
    return events


def test_an_initial_candidate_is_called_so() -> None:
    assert [e.origin for e in race_of([("x", 2, [1, 2])], 2) if isinstance(e, Candidate)] == [
        "initial",
        "uniform",
    ]


def test_a_run_that_failed_ends_its_candidate() -> None:
    step = race_of([("x", 2, [1, math.inf, 2])], 3)[-1]
    assert isinstance(step, Step)
    assert step.dropped == (2,)


def test_where_our_test_disagrees_with_irace_the_worst_have_left() -> None:
    """Nobody is worse by our test, yet irace says that one has left: the one of rank sum 3."""
    step = race_of([("-", 2, [1, 3, 2])], 3)[-1]
    assert isinstance(step, Step)
    assert step.dropped == (2,)
    assert math.isnan(step.pvalue)


# With a stand-in for R


@pytest.fixture
def no_r(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A PATH without R; what is put into the folder is found there."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


@pytest.fixture
def fake(no_r: Path) -> None:
    """A stand-in for Rscript that replays a recorded session."""
    script = no_r / "Rscript"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} {irace_fake.__file__} "$@"\n')
    script.chmod(0o755)


@pytest.mark.usefixtures("no_r")
def test_without_r_one_line_says_how_to_install_it() -> None:
    with pytest.raises(IraceMissing) as caught:
        irace_version()
    for hint in ("apt-get install r-cran-irace", 'install.packages("irace")', "built-in racer"):
        assert hint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_without_the_package_one_line_says_so(no_r: Path) -> None:
    (no_r / "Rscript").write_text("#!/bin/sh\nexit 1\n")
    (no_r / "Rscript").chmod(0o755)
    with pytest.raises(IraceMissing):
        irace_version()


@pytest.mark.usefixtures("fake")
def test_an_old_irace_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_VERSION", "3.4.1")
    with pytest.raises(IraceMissing):
        irace_version()


@pytest.mark.usefixtures("fake")
def test_a_session_gives_the_winners_that_irace_logged(
    tmp_path: Path, recorded: list[Event]
) -> None:
    batches, events = [], []

    def seen(tasks: Sequence[Task]) -> list[float]:
        batches.append(len(tasks))
        return evaluate(tasks)

    last = run_irace(TINY_SEARCH, seen, events.append, folder=tmp_path / "run")
    found = RaceLog(events, last)
    assert repr(events) == repr(recorded)  # NaN is not NaN
    assert batches[:6] == [5, 5, 5, 5, 5, 5]  # all candidates on one instance are one call
    assert found.best == {"x": 0.3, "n": 7}
    assert [e.candidate for e in found.elites] == [7, 4, 14]
    assert found.results[7] == {p: cost(found.best, s) for p, s in positions(events).items()}
    assert (found.used, found.iterations) == (83, 4)
    log = (tmp_path / "run" / "irace.log").read_text()
    assert "Iteration 1 of 3" in log


def positions(events: Sequence[Event]) -> dict[int, int]:
    return {e.position: e.seed for e in events if isinstance(e, Step)}


@pytest.mark.usefixtures("fake")
def test_a_candidate_that_does_not_work_is_not_run(tmp_path: Path) -> None:
    asked: set[int] = set()
    events: list[Event] = []

    def seen(tasks: Sequence[Task]) -> list[float]:
        asked.update(t.id for t in tasks)
        return evaluate(tasks)

    search = Search(TINY, INSTANCES, 96, works=lambda c: c["n"] != 33)
    run_irace(search, seen, events.append, folder=tmp_path)
    assert asked == set(range(2, 16))
    assert {e.id for e in events if isinstance(e, Candidate)} == asked


@pytest.mark.usefixtures("fake")
def test_a_cost_that_is_no_number_is_infinite(tmp_path: Path) -> None:
    events: list[Event] = []

    def broken(tasks: Sequence[Task]) -> list[float]:
        return [math.nan if t.id == 3 else cost(t.values, t.seed) for t in tasks]

    run_irace(TINY_SEARCH, broken, events.append, folder=tmp_path)
    first = of(events, Step)[0]
    assert isinstance(first, Step)
    assert first.costs[3] == math.inf
    assert first.dropped == (3,)


@pytest.mark.usefixtures("fake")
def test_an_error_of_irace_is_one_line_with_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_IRACE", "fails")
    with pytest.raises(IraceFailed) as caught:
        run_irace(TINY_SEARCH, evaluate, folder=tmp_path)
    log = tmp_path / "irace.log"
    assert str(caught.value) == f"irace failed: All is lost! (its output: {log})"


@pytest.mark.usefixtures("fake")
def test_the_death_of_r_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_IRACE", "dies")
    with pytest.raises(IraceFailed, match="irace failed: R was terminated by signal 9"):
        run_irace(TINY_SEARCH, evaluate, folder=tmp_path)


@pytest.mark.usefixtures("fake")
def test_an_objective_that_raises_ends_r_and_is_heard(tmp_path: Path) -> None:
    def broken(_: Sequence[Task]) -> list[float]:
        raise ZeroDivisionError("no such problem")

    with pytest.raises(ZeroDivisionError, match="no such problem"):
        run_irace(TINY_SEARCH, broken, folder=tmp_path)


def test_what_irace_would_refuse_is_refused_before_it_starts(tmp_path: Path) -> None:
    # Two free parameters: J = S = 3, T = 5 + 1 + 2, and (3 + 1) 3 8 = 96.
    with raises(InvalidParameter, name="runs", value=95):
        run_irace(Search(TINY, INSTANCES, 95), evaluate, folder=tmp_path)
    with raises(InvalidParameter, name="seed", value=2147483648):
        run_irace(Search(TINY, INSTANCES, 96, 2**31), evaluate, folder=tmp_path)
    fixed = Space((variable("x", choice(1)),))
    with raises(InvalidParameter, name="space"):
        run_irace(Search(fixed, INSTANCES, 96), evaluate, folder=tmp_path)
    assert not list(tmp_path.iterdir())


# With R


@needs_irace
@pytest.mark.parametrize("preset", PRESETS)
def test_irace_accepts_the_presets(preset: str, tmp_path: Path) -> None:
    whole = design(preset)
    initial, _ = initial_candidates(whole)
    search = Search(whole.space, ["f1 20-D i3"], 3000, initial=[*initial.values()])
    write_files(tmp_path, search, version=irace_version()[0])
    irace._converse(tmp_path, lambda _: None, lambda batch: [0.0] * len(batch), "--check")
    assert "Check successful" in (tmp_path / "irace.log").read_text()


def small_cost(task: Task) -> float:
    """Best at x 0.3, n 20, kind "a b", a small rate; some noise, and failures for one kind."""
    values = task.values
    if values["kind"] == '#|"':
        return math.inf
    noise = (task.seed * 7919 + task.id * 104729) % 1000 / 1e4
    distance = abs(float(values["x"]) - 0.3) + abs(math.log(float(values["n"]) / 20)) / 10
    return distance + 0.5 * (values["kind"] != "a b") + float(values["rate"]) + noise


START = {"x": 0.123456, "n": 3, "kind": "plain", "rate": 0.25}


def race(
    folder: Path, on_event: Callable[[Event], None], known: dict[object, float] | None = None,
    allowed: int = 10**9,
) -> Iteration:  # fmt: skip
    """A real race; `known` are costs that were found before, `allowed` how many more may be."""

    def seen(tasks: Sequence[Task]) -> list[float]:
        for task in tasks:
            key = (tuple(task.values.items()), task.instance, task.seed)
            if known is not None and key not in known:
                if len(known) >= allowed:
                    raise KeyboardInterrupt
                known[key] = small_cost(task)
        return [small_cost(task) for task in tasks]

    search = Search(SMALL, [f"i{k}" for k in range(10)], 200, initial=[START])
    return run_irace(search, seen, on_event, folder=folder)


@pytest.fixture(scope="module")
def raced(tmp_path_factory: pytest.TempPathFactory) -> tuple[RaceLog, list[Event], Path]:
    """A real race over a space with everything in it."""
    folder, events = tmp_path_factory.mktemp("race"), []
    last = race(folder, events.append)
    return RaceLog(events, last), events, folder


Raced = tuple[RaceLog, list[Event], Path]


@needs_irace
def test_irace_searches_the_same_space(raced: Raced) -> None:
    _, events, _ = raced
    sampled = [e for e in events if isinstance(e, Candidate)]
    assert sampled[0].values == START  # with all its digits
    assert sampled[0].origin == "initial"
    for one in sampled[1:]:
        assert SMALL.check(one.values) == one.values
        assert all(round(v, 2) == v or v == 0.001 for v in one.values.values()
                   if isinstance(v, float))  # fmt: skip
    assert {one.values["kind"] for one in sampled} == {"plain", "a b", '#|"'}


@needs_irace
def test_irace_finds_what_is_good(raced: Raced) -> None:
    found, _, _ = raced
    assert found.best["kind"] == "a b"
    first = small_cost(Task(1, START, "", 0))
    assert small_cost(Task(found.elites[0].candidate, found.best, "", 0)) < first


@needs_irace
def test_the_events_are_what_irace_logged(raced: Raced) -> None:
    found, events, _ = raced
    assert sum(map(len, found.results.values())) == found.used <= 200
    ended = [e for e in events if isinstance(e, Iteration)]
    assert ended[-1].elites == found.elites
    assert len(ended) == found.iterations


@needs_irace
def test_irace_has_the_candidates_that_were_run(raced: Raced) -> None:
    """With their parents and rounded as we round them: the models are around what was run."""
    _, events, folder = raced
    ask = """
        load("irace.Rdata")
        all <- iraceResults$allConfigurations
        cat(sprintf("%d %d %.17g %.17g", all$.ID., all$.PARENT., all$x, all$rate), sep = "\\n")
    """
    rows = subprocess.run(
        ["Rscript", "-e", ask], cwd=folder, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    logged = [[None if word == "NA" else float(word) for word in row.split()] for row in rows]
    assert logged == [
        [e.id, e.parent, e.values["x"], e.values.get("rate")]
        for e in events
        if isinstance(e, Candidate)
    ]


@needs_irace
def test_who_is_left_is_as_many_as_irace_says(raced: Raced) -> None:
    """Of every step the number told is the number that those who left leave."""
    _, events, _ = raced
    alive: set[int] = set()
    for event in events:
        if isinstance(event, IterationStarted):
            alive = set(event.candidates)
        elif isinstance(event, Step):
            alive -= set(event.dropped)
            assert len(alive) == event.alive
            assert event.best in alive
        elif isinstance(event, Iteration):
            assert {e.candidate for e in event.elites} <= alive


@needs_irace
def test_a_race_that_was_stopped_goes_the_same_way_when_begun_again(
    raced: Raced, tmp_path: Path
) -> None:
    found, events, _ = raced
    known: dict[object, float] = {}
    with pytest.raises(KeyboardInterrupt):
        race(tmp_path, lambda _: None, known, allowed=90)
    assert processes_in(tmp_path) == []
    before = len(known)
    again: list[Event] = []
    assert race(tmp_path, again.append, known) == found.last
    assert repr(again) == repr(events)
    assert before == 90


def processes_in(folder: Path) -> list[int]:
    """The processes that work in a folder."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.readlink(entry / "cwd") == str(folder.resolve()):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


BLOCKED = """
import sys, time
sys.path.insert(0, sys.argv[1])
from irace_spaces import TINY
from uaos.tuning.irace import run_irace
from uaos.tuning.search import Search

def evaluate(tasks):
    print("asked", flush=True)
    time.sleep(600)

run_irace(Search(TINY, ["a"], 96), evaluate, folder=sys.argv[2])
"""


@needs_irace
@pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="looks for processes in /proc")
def test_r_does_not_survive_python(tmp_path: Path) -> None:
    command = [sys.executable, "-c", BLOCKED, str(Path(__file__).parent), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as python:
        assert python.stdout is not None
        assert python.stdout.readline() == "asked\n"
        assert len(processes_in(tmp_path)) == 1
        python.send_signal(signal.SIGKILL)
        python.wait()
    for _ in range(300):
        if not processes_in(tmp_path):
            return
        time.sleep(0.1)
    pytest.fail("R is still there")


@needs_irace
def test_if_everything_fails_irace_says_so(tmp_path: Path) -> None:
    with pytest.raises(IraceFailed, match="irace failed: All configurations have been .*rejected"):
        run_irace(TINY_SEARCH, lambda tasks: [math.inf] * len(tasks), folder=tmp_path)
