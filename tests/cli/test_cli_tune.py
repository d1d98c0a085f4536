"""`uaos tune`: from a terminal, all that the library does; never a traceback, nothing damaged."""

import io
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from command_line import OWN_REWARD, Done, run
from rich.console import Console
from terminal import interrupted, screen

import uaos
from uaos.cli.tune_view import View
from uaos.experiments import Plan, Store
from uaos.experiments.executors import SharedPool
from uaos.problems import BBOB, suite
from uaos.tuning import TuningPlan, TuningStore, costs, design_for, narrow
from uaos.tuning.records import Candidate, IterationStarted, Step

# One free parameter, max_gen: 42 runs are enough.
PROBLEMS = ["--dim=2", "--budget=50D", "--functions=1-3", "--instances=16-18"]
SADE = ["--method=SaDE", *(f"--fix={name}=0" for name in ("frac", "error", "p_min")),
        "--fix=noise=0.01", "--fix=power=1"]  # fmt: skip
SMALL = [*SADE, *PROBLEMS, "--runs", "50", "--jobs", "1"]


class Here(Executor):
    """Runs what is submitted at once, in this process, which saves starting another one."""

    def __init__(self, on_submit: Callable[[int], None] = lambda count: None) -> None:
        self.count, self._on_submit = 0, on_submit

    def submit(self, work: Callable[..., Any], /, *arguments: Any, **named: Any) -> "Future[Any]":
        self.count += 1
        self._on_submit(self.count)
        future: Future[Any] = Future()
        future.set_result(work(*arguments, **named))
        return future


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> Here:
    made = Here()
    monkeypatch.setattr(costs, "pool_for", lambda *_: SharedPool(made, 1))
    return made


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    """A folder with a finished tuning, and what the command said."""
    folder = tmp_path_factory.mktemp("tune")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(costs, "pool_for", lambda *_: SharedPool(Here(), 1))
        done = run("tune", "a.db", *SMALL, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder, done


def test_the_plan_is_stated_before_anything_is_run(first: tuple[Path, Done]) -> None:
    shown = re.sub(" +", " ", first[1].stdout)
    for line in (
        "parameters 1 free (10 fixed); --show-space lists them",
        "trains on 9 problems of 3 functions, 2-D (16-18)",
        "runs 50 × 100 evaluations at most = 5,000 (minimum: 42 runs for 1 free parameter)",
        "starts from SaDE and random candidates",
        "tuner racer, 2 races planned, test friedman, objective error, seed 1",
        "result a.toml, written at the end",
    ):
        assert line in shown
    assert "found in the store" not in shown


def test_a_file_or_pipe_gets_a_line_for_each_race_and_tenth_of_the_budget(
    first: tuple[Path, Done],
) -> None:
    shown = first[1].stdout
    assert "\x1b" not in shown
    assert "\r" not in shown
    assert re.search(
        "^race +left +runs each +runs +time +mean cost +best configuration$", shown, re.M
    )
    race = r"^1/2 +\d of \d +\d+ +\d+ +0:\d\d +\S+ +max_gen \d+$"
    assert re.search(race, shown, re.M)
    assert (
        len(re.findall(r"^\d0 %: \d+ of 50 runs, \d+:\d\d, about \d+:\d\d left$", shown, re.M)) >= 8
    )


def test_runs_are_counted_within_a_step_that_takes_long() -> None:
    fixed = [option.removeprefix("--fix=") for option in SADE[1:]]
    design = narrow(design_for("SaDE", dimension=2), fixed)
    problems = suite("bbob", instances="16-18", functions="1", dimension=2)
    out = io.StringIO()
    view = View(TuningPlan(design, problems, runs=50), Console(file=out, width=100))
    view.on_event(IterationStarted(1, 2, 25, (1, 2, 3)))
    for _ in range(6):
        view.on_run(costs.RunCost(1.0, ""))
    assert re.fullmatch(r"10 %: 5 of 50 runs, 0:00, about 0:00 left\n", out.getvalue())
    assert view.used == 6
    step = Step(1, 1, "f1 2-D i16", 7, 3, 1, 8, 0.5, 0.5, mean_cost=1.0)
    view.on_event(step)  # six runs and two that the store had
    assert view.used == 8


def test_a_panel_leaves_room_for_an_echoed_ctrl_c() -> None:
    """In a full line "^C" would wrap, and the panel would be erased a line too low."""
    design = design_for("SaDE", ["F", "CR", "NP", "top_NP"], dimension=2)
    problems = suite("bbob", instances="16-18", functions="1", dimension=2)
    console = Console(file=io.StringIO(), width=60, force_terminal=True, color_system=None)
    view = View(TuningPlan(design, problems, runs=500), console)
    values = design.values(uaos.configuration("SaDE"))
    view.on_event(Candidate(1, 1, None, "", values, "initial"))
    view.on_event(IterationStarted(1, 2, 25, (1,)))
    view.on_event(Step(1, 1, "f1 2-D i16", 7, 3, 1, 8, 0.5, 0.5, mean_cost=1.0))
    lines = console.render_lines(view.drawn())
    assert max(len("".join(s.text for s in line).rstrip()) for line in lines) == 52


def test_the_survivors_are_shown_with_their_statistics(first: tuple[Path, Done]) -> None:
    folder, done = first
    with TuningStore.open(folder / "a.db") as store:
        last = store.iterations(1)[-1].iteration
        elites = [e for e in store.elites(1) if e.iteration == last]
    for elite in elites:
        mean = f"{elite.mean_cost:.3g}"
        row = rf"^ +{elite.rank} +{elite.instances} +{elite.rank_sum:g} +{mean} +max_gen \d+ *$"
        assert re.search(row, done.stdout, re.M), (row, done.stdout)
    assert "Last test (friedman), in race" in done.stdout


def test_the_winner_is_a_file_for_every_command_and_for_minimize(
    first: tuple[Path, Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, done = first
    assert "written: a.toml" in done.stdout
    suggested = "uaos bench test.db --methods a.toml,SaDE --dim 2 --instances test --budget 50D"
    assert f"next: {suggested}" in done.stdout
    found = uaos.configuration(folder / "a.toml")
    assert found.name == "a"
    assert found.tuning["training_set"] == "16-18"
    assert found.tuning["method"] == "SaDE"
    assert found.tuning["fix"] == {
        "frac": "0", "noise": "0.01", "error": "0", "p_min": "0", "power": "1",
    }  # fmt: skip
    assert f"max_gen = {found.method.reward.max_gen}" in done.stdout
    assert "in differential evolution with 9 operators: F 0.5, CR 0.9" in done.stdout
    problem = BBOB(1, 2, 1)
    uaos.minimize(problem, problem.bounds, method=str(folder / "a.toml"), budget=200, seed=1)
    common = ["--method", "a.toml", "--function", "1", "--dim", "2", "--budget", "100"]
    assert run("run", *common, cwd=folder).returncode == 0
    assert "success rate" in run("methods", "a.toml", cwd=folder).stdout.replace("_", " ")
    plan = Plan.of(
        [folder / "a.toml", "U-AOS-FW"], suite("bbob", functions="1", dimension=2, instances="2"),
        budget="50D",
    )  # fmt: skip
    uaos.experiments.run(plan, folder / "test.db", Here())
    with Store.open(folder / "test.db") as store:
        assert [o.status for o in store.outcomes("a")] == ["done"]
    (folder / "test.db").unlink()


def test_a_finished_tuning_is_shown_again_without_a_run(
    first: tuple[Path, Done], here: Here
) -> None:
    folder, done = first
    before = (folder / "a.toml").read_bytes()
    again = run("tune", "a.db", *SMALL, cwd=folder)
    assert again.returncode == 0
    assert re.search(r"This tuning is finished: \d+ runs in \d+:\d\d. Its result", again.stdout)
    assert here.count == 0
    assert (folder / "a.toml").read_bytes() == before
    tail = done.stdout.index("Survivors")
    assert again.stdout[again.stdout.index("Survivors") :] == done.stdout[tail:]


def test_stopped_and_continued_it_finds_the_same(
    first: tuple[Path, Done], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ctrl_c(count: int) -> None:
        if count == 17:
            os.kill(os.getpid(), signal.SIGINT)

    stopped = Here(ctrl_c)
    monkeypatch.setattr(costs, "pool_for", lambda *_: SharedPool(stopped, 1))
    done = run("tune", "a.db", *SMALL, cwd=tmp_path)
    assert done.returncode == 130
    assert re.search(
        r"stopped: all finished runs \(\d+\) are in a.db; the same command continues", done.stdout
    )
    assert [p.name for p in tmp_path.iterdir()] == ["a.db"]
    status = run("tune", "--status", "a.db", cwd=tmp_path).stdout
    assert re.search(r"^1 +.* 0 of 50 +0 .* unfinished *$", status, re.M), status
    rest = Here()
    monkeypatch.setattr(costs, "pool_for", lambda *_: SharedPool(rest, 1))
    again = run("tune", "a.db", *SMALL, cwd=tmp_path)
    found = int(re.search(r"^(\d+) runs found in the store", again.stdout, re.M)[1])
    assert found >= 16
    with TuningStore.open(tmp_path / "a.db") as store:
        assert len(store.cached()) == found + rest.count  # nothing was run twice
    assert (tmp_path / "a.toml").read_bytes() == (first[0] / "a.toml").read_bytes()


def test_the_status_tells_how_far_the_tunings_are(first: tuple[Path, Done]) -> None:
    folder, done = first
    shown = run("tune", "--status", "a.db", cwd=folder).stdout
    used = re.findall(r"^\d/\d .* (\d+) +\d:\d\d ", done.stdout, re.M)[-1]
    row = rf"^1 +\S+ \S+ +{used} of 50 +\d of \d +9 \(16-18\) +50D +error +1 +\d+:\d\d +finished"
    assert re.search(row, shown, re.M), shown
    assert "best of tuning 1: parent_improvement · success_rate" in shown


def test_a_tuning_is_drawn(first: tuple[Path, Done]) -> None:
    folder, _ = first
    done = run("tune", "--status", "a.db", "--plot", "a.png", cwd=folder)
    assert "drawn: a.png" in done.stdout
    assert (folder / "a.png").read_bytes().startswith(b"\x89PNG")


def test_what_plot_suggests_for_a_store_of_tunings_works(
    first: tuple[Path, Done], tmp_path: Path
) -> None:
    """Also where there are several; a figure that so short a tuning does not allow says so."""
    shutil.copy(first[0] / "a.db", tmp_path)
    for seed in (1, 2):
        done = run("tune", "a.db", *SMALL, "--seed", str(seed), "-o", f"{seed}.toml", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        commands = re.findall(r"^uaos (plot tuning.*\.pdf(?: --\S+ \d+)?)",
                              run("plot", "a.db", cwd=tmp_path).stdout, re.M)  # fmt: skip
        assert len(commands) >= 2
        for command in commands:
            drawn = run(*command.split(), "--overwrite", cwd=tmp_path)
            few = "importance" in command and "it takes more candidates" in drawn.stderr
            assert few or drawn.returncode == 0, drawn.stderr


def test_the_command_that_a_store_records_is_the_same_tuning(tmp_path: Path) -> None:
    """Limits, pool, test and initial candidates included: nothing is left to run."""
    given = [*FRAGILE, *PROBLEMS, "--fix=max_gen=5", "--range=F=0.4..0.6", "--runs=60"]
    given = [o.replace("fragile", "success_sum") for o in given if not o.startswith("--fix=F=")]
    given += ["--pool=rand/1,best/1,rand/2", "--test=t-test"]
    done = run("tune", "a.db", *given, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = uaos.configuration(tmp_path / "a.toml").tuning
    assert told["pool"] == "rand/1,best/1,rand/2"
    assert told["range"] == {"F": "0.4..0.6"}
    assert told["fix"]["max_gen"] == "5"
    with TuningStore.open(tmp_path / "a.db") as store:
        (command,) = store.commands
    assert shlex.split(command) == ["uaos", "tune", "a.db", *given]
    again = run(*shlex.split(command)[1:], cwd=tmp_path)
    assert "This tuning is finished" in again.stdout


def test_a_cluster_that_does_not_answer_leaves_no_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise uaos.errors.InvalidParameter(
            "dask is tcp://x; expected a scheduler that answers", name="dask", value="tcp://x"
        )

    monkeypatch.setattr(costs, "pool_for", refuse)
    done = run("tune", "a.db", *SMALL, "--dask", "tcp://x", cwd=tmp_path)
    assert done.returncode == 2
    assert "a scheduler that answers" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_something_else_is_replaced_only_if_told(
    first: tuple[Path, Done], tmp_path: Path
) -> None:
    output = tmp_path / "a.toml"
    uaos.configuration("SaDE").to_toml(output)
    before = output.read_bytes()
    done = run("tune", "a.db", *SMALL, cwd=tmp_path)
    assert done.returncode == 2
    assert "a.toml exists" in done.stderr
    assert done.stdout == ""
    assert output.read_bytes() == before
    assert not (tmp_path / "a.db").exists()
    done = run("tune", "a.db", *SMALL, "--overwrite", cwd=tmp_path)
    assert done.returncode == 0
    assert output.read_bytes() == (first[0] / "a.toml").read_bytes()
    # another tuning in the same store would otherwise replace the first one's result
    done = run("tune", "a.db", *SMALL, "--seed", "2", cwd=tmp_path)
    assert done.returncode == 2
    assert run("tune", "a.db", *SMALL, cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "Missing argument STORE"),
        ("new.db --runs 100", "100 runs .*33 free parameters.* 728 runs"),
        ("new.db --fix rewrd=x", "'rewrd'.*'reward'"),
        ("new.db --fix F=9", "F .*9.0.* 0 to 2"),
        ("new.db --range reward=1..2", r"reward .*1\.\.2.*success_rate\|"),
        ("new.db --range NP=", r"--range is NP=; .*NAME=LOW\.\.HIGH"),
        ("new.db --space-file note.txt", "note.txt: .*TOML"),
        ("new.db --space narrow", "'narrow'.* paper, extended, wide"),
        ("new.db --pool rand/9,best/1", "pool or strategy 'rand/9'"),
        ("new.db --method SaED", "'SaED'.*'SaDE'"),
        ("new.db --method JADE", "JADE .*nothing to tune"),
        ("new.db --method SaDE --free W", "'W'.* F, CR, NP, top_NP"),
        ("new.db --method SaDE --space wide", "--space .*--method"),
        ("new.db --free F", "--free .*--method"),
        ("new.db --instances 1-3", "f1 i2 20-D.*--force-test-instances"),
        ("new.db --instances note.txt", "note.txt, line 1: 'dear diary'"),
        ("new.db --instances no.csv", "no.csv: .*not found"),
        ("new.db --functions 25", "functions .* 1 to 24"),
        ("new.db --dim 4", "dimension.* 4.* 2, 3"),
        ("new.db --budget lots", "budget .*'lots'"),
        ("new.db --objective speed", "objective 'speed'.* error, evaluations, anytime"),
        ("new.db --test anova", "test 'anova'.* friedman, ranks, t-test"),
        ("new.db --tuner smac", "tuner 'smac'.* racer, irace"),
        ("new.db --initial nobody", "unknown method 'nobody'"),
        ("new.db --initial ,", "--initial .*empty"),
        ("new.db --initial RecPM-tuned --fix F=0.1", "F of RecPM-tuned is 0.57.* 0.1"),
        ("new.db --seed -1", "seed .* -1"),
        ("new.db --runs 0", "--runs.* 1 "),
        ("new.db --jobs 0", "jobs .*0.* processes"),
        ("new.db -o a.txt", r"a\.txt .*\.toml"),
        ("new.db -o no/a.toml", "no/a.toml .*written"),
        ("new.toml", "new.toml .*input"),
        ("new.db --plot a.gif", r"a\.gif .*\.png"),
        ("no/new.db", "no/new.db: .*folder"),
        ("note.txt", "note.txt: not a store of uaos"),
        ("bench.db", "bench.db: .*benchmark.*tuning"),
        ("--status no.db", "no.db: .*not found"),
        ("--status bench.db", "bench.db: .*benchmark"),
        ("--export-irace note.txt", "note.txt .*folder"),
    ],
)
def test_bad_input_ends_with_exit_code_2_and_a_clear_line(
    arguments: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "note.txt").write_text("dear diary\n" * 20)
    plan = Plan.of(
        ["mix"], suite("bbob", functions="1", dimension=2, instances="1"), budget=100, uniform=False
    )
    Store.create_or_resume(tmp_path / "bench.db", plan).close()
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    done = run("tune", *arguments.split(), cwd=tmp_path)
    assert done.returncode == 2
    assert re.search(message, done.stderr)
    assert len(done.stderr.splitlines()) == 1
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_a_forbidden_initial_configuration_is_refused(tmp_path: Path) -> None:
    # Among the nine operators p_min is 0.2/9 = 0.022.
    pursuit = uaos.Method(probability={"name": "adaptive_pursuit", "p_min": "0.2/K", "p_max": 0.01})
    made = uaos.Configuration("mine", pursuit, uaos.configuration("U-AOS-FW").settings)
    made.to_toml(tmp_path / "mine.toml")
    done = run("tune", "a.db", "--initial", "mine.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert re.search("p_max .*0.01.*p_min.*0.02222", done.stderr)


def test_a_store_in_use_is_left_alone(first: tuple[Path, Done], tmp_path: Path) -> None:
    with TuningStore.create_or_resume(tmp_path / "a.db", suite("bbob", dimension=2)):
        done = run("tune", "a.db", *SMALL, cwd=tmp_path)
    assert done.returncode == 2
    assert "a.db: another process" in done.stderr


def test_test_problems_are_trained_on_only_by_force_and_it_is_said(tmp_path: Path) -> None:
    forced = [*SMALL, "--instances", "2-4", "--force-test-instances"]
    done = run("tune", "a.db", *forced, cwd=tmp_path)
    assert done.returncode == 0
    assert "9 of them are TEST problems" in done.stdout
    assert "trained on test problems" in done.stdout


def test_what_the_plan_makes_doubtful_is_said_before_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        uaos.configuration("SaDE").method.replace(max_gen=number + 1).to_toml(
            tmp_path / f"{number}.toml"
        )
    stop = Here(lambda count: os.kill(os.getpid(), signal.SIGINT))
    monkeypatch.setattr(costs, "pool_for", lambda *_: SharedPool(stop, 1))
    many = ["--runs=42", "--initial=0.toml,1.toml,2.toml,3.toml"]
    shown = run("tune", "a.db", *SMALL, *many, cwd=tmp_path).stdout
    # 42 runs, two races, six instances for each candidate
    assert re.search("3 candidates, so 1 of the 4 initial configurations", shown)
    large = ["--free=NP", "--fix=NP=200", "--initial=none"]
    shown = run("tune", "a.db", *SMALL, *large, cwd=tmp_path).stdout
    assert re.search("NP = 200, .*100 evaluations", shown)


# Components of one's own


def register_reward(limit: int) -> None:
    """A reward that cannot be computed where its max_gen is above a limit."""

    @uaos.register
    @dataclass(frozen=True)
    class Fragile(uaos.GenerationReward):
        max_gen: int = uaos.integer(1, 50, default=5)

        def compute(self, memory: Any) -> Any:
            if self.max_gen > limit:
                raise ArithmeticError("too many generations")
            return memory.bests.max(axis=0)


FRAGILE = ["--fix=metric=parent_improvement", "--fix=reward=fragile", "--fix=quality=identity",
           "--fix=probability=identity", "--fix=selection=proportional", "--fix=F=0.5",
           "--fix=CR=0.9", "--fix=NP=20", "--fix=top_NP=0.1", "--initial=none"]  # fmt: skip


def test_runs_that_fail_do_not_end_the_tuning_are_told_of_and_run_again_if_told(
    tmp_path: Path, here: Here
) -> None:
    register_reward(limit=25)
    common = [*FRAGILE, *PROBLEMS, "--runs", "60"]
    done = run("tune", "a.db", *common, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = r"\d+ runs failed: ArithmeticError: too many generations .the first, on f\d i1\d 2-D"
    assert re.search(told, done.stdout), done.stdout
    assert "--retry-failed" in done.stdout
    assert uaos.configuration(tmp_path / "a.toml").method.reward.max_gen <= 25
    before = here.count
    again = run("tune", "a.db", *common, "--retry-failed", cwd=tmp_path)
    assert here.count > before
    assert "This tuning is finished" not in again.stdout
    assert re.search(told, again.stdout)  # they fail again


def test_if_every_candidate_fails_the_reason_is_said(tmp_path: Path) -> None:
    register_reward(limit=0)
    done = run("tune", "a.db", *FRAGILE, *PROBLEMS, "--runs", "60", cwd=tmp_path)
    assert done.returncode == 2
    assert "every candidate of race 1 has failed" in done.stderr
    assert "ArithmeticError: too many generations" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "a.toml").exists()


def test_a_component_of_ones_own_is_in_the_space_and_runs_on_workers(tmp_path: Path) -> None:
    (tmp_path / "my_reward.py").write_text(OWN_REWARD)
    program = [Path(sys.executable).parent / "uaos", "--import", "my_reward.py", "tune"]
    both = "--range=reward=success_sum|share_of_best"
    mine = [both if option == "--fix=reward=fragile" else option for option in FRAGILE]
    common = [*mine, "--fix=max_gen=5", *PROBLEMS, "--runs=42", "--jobs=1"]
    done = subprocess.run(
        [*program, "a.db", *common], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "failed" not in done.stdout
    assert "next: uaos --import my_reward.py bench test.db --methods a.toml" in done.stdout
    with TuningStore.open(tmp_path / "a.db") as store:
        rewards = {c.values["reward"] for c in store.candidates(1)}
    assert rewards == {"success_sum", "share_of_best"}


# The space, and other tuners


def test_the_space_is_a_table_with_conditions_and_what_is_forbidden() -> None:
    done = run("tune", "--show-space", "--fix", "F=0.5", "--range", "NP=50..150")
    for part in (
        r"^F +fixed: 0.5 +always",
        r"^NP +50 to 150 +always",
        r"^reward_C +0.001 to 1 +reward is best_2_generations",
        r"^p_max < p_min \(p_max must be at least p_min\)",
        r"^32 free parameters: a tuning needs at least 728 runs",
    ):
        assert re.search(part, done.stdout, re.M), part


def test_the_space_is_written_for_irace(tmp_path: Path) -> None:
    done = run("tune", *SMALL, "--export-irace", "files", cwd=tmp_path)
    assert "written: files" in done.stdout
    assert "max_gen" in (tmp_path / "files" / "parameters.txt").read_text()
    assert "maxExperiments <- 50" in (tmp_path / "files" / "scenario.txt").read_text()


def test_irace_is_called_if_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from uaos.tuning import irace
    from uaos.tuning.racer import iterated_racing

    folders = []

    def fake(*arguments: Any, folder: str, **named: Any) -> Any:
        folders.append(folder)
        return iterated_racing(*arguments, **named)

    monkeypatch.setattr(irace, "irace_version", lambda: (3, 5))
    monkeypatch.setattr(irace, "run_irace", fake)
    done = run("tune", "a.db", *SMALL, "--tuner", "irace", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert folders == ["a.db.irace"]
    assert uaos.configuration(tmp_path / "a.toml").tuning["tuner"] == "irace"


def test_without_r_irace_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = run("tune", "a.db", *SMALL, "--tuner", "irace", cwd=tmp_path)
    assert done.returncode == 2
    assert "R is not installed" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not list(tmp_path.iterdir())


# On a terminal


def test_a_terminal_sees_the_race_live_and_ctrl_c_says_how_to_continue(tmp_path: Path) -> None:
    long = [*SADE, "--dim", "10", "--budget", "2000D", "--instances", "16-18", "--jobs", "1"]
    # Runs are counted within a step, too: the first one takes minutes.
    done = interrupted(
        "tune", "a.db", *long, "--runs", "5000", cwd=tmp_path,
        when=lambda shown: re.search(r"runs +[1-9]\d* of 5,000", shown),
    )  # fmt: skip
    assert done.returncode == 130
    for part in ("race", "1 of 2", "candidates", "left"):
        assert part in done.shown
    assert "are in a.db; the same command continues" in done.shown
    assert "Traceback" not in done.shown
    assert [p.name for p in tmp_path.iterdir()] == ["a.db"]


def test_ctrl_c_leaves_no_border_though_kernels_are_compiled(tmp_path: Path) -> None:
    long = [*SADE, "--dim", "10", "--budget", "2000D", "--instances", "16-18", "--jobs", "2"]
    cache = tmp_path / "cache"
    done = interrupted(
        "tune", "a.db", *long, "--runs", "5000", cwd=tmp_path,
        when=lambda shown: shown.count("tuning ─") > 12,
        NUMBA_CACHE_DIR=str(cache),
    )  # fmt: skip
    left = screen(done.shown)
    assert not [line for line in left if set("╭╰│") & set(line)], left


def test_help_has_an_example_and_explains_every_option() -> None:
    shown = run("tune", "--help").stdout
    assert "Example: uaos tune first.db --runs 800 --budget 200D --dim 5" in shown
    for option in ("--range", "--space-file", "--export-irace", "--force-test-instances"):
        assert option in shown
    plain = " ".join(shown.replace("│", " ").split())
    assert "from the tables `fix` and `range` of a TOML file" in plain
