"""A study: from nothing to a report, stopped and continued at will."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from browser import check_layout, check_quiet, drawn_plots, headless, needs_browser, open_report
from command_line import run
from raising import raises

from uaos.errors import InvalidFile, InvalidParameter, UnknownName
from uaos.experiments import Plan, Store
from uaos.optimizers.catalogue import configuration
from uaos.problems import Problem, Suite, suite
from uaos.study import PRESETS, RIVALS, STAGES, Preset, Study, chosen_stages, find_preset
from uaos.tuning import design_for, narrow
from uaos.tuning.store import TuningStore

pytestmark = pytest.mark.usefixtures("quick_workers")


def uaos(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "uaos", *arguments]


def test_the_stages_follow_one_another() -> None:
    assert chosen_stages() == ("tune", "test", "tables", "report")
    assert chosen_stages(only="tables") == ("tables",)
    assert chosen_stages(start="tables") == ("tables", "report")


def test_a_stage_that_there_is_not_is_refused() -> None:
    with raises(UnknownName, name="tets", near="test"):
        chosen_stages(start="tets")
    with pytest.raises(InvalidParameter) as error:
        chosen_stages(only="tune", start="test")
    assert error.value.value == ("tune", "test")


def test_a_preset_that_there_is_not_is_refused(tmp_path: Path) -> None:
    with raises(UnknownName, name="quik", near="quick"):
        Study(folder=tmp_path, preset="quik")


def test_a_folder_that_holds_another_study_is_refused(tmp_path: Path) -> None:
    one = tmp_path / "one"
    Study(folder=one, preset="smoke").create()
    Study(folder=one, preset="smoke")
    with pytest.raises(InvalidFile):
        Study(folder=one, preset="quick")
    with pytest.raises(InvalidFile):
        Study(folder=one, preset="smoke", seed=2)
    with pytest.raises(InvalidFile):
        Study(folder=one, preset=find_preset("smoke", tuning_budget="20D"))


def test_the_preset_paper_is_the_experiment_of_the_paper(tmp_path: Path) -> None:
    study = Study(folder=tmp_path, preset="paper")
    tuning = study.tuning_plan()
    assert (len(tuning.suite), tuning.runs) == (48, 10_000)
    assert tuning.evaluations(tuning.suite[0]) == 200_000  # 10,000 × 20
    # 10,000 runs × 200,000; the winner and its rivals on 312 problems × 2,000,000
    methods = 1 + len(RIVALS)
    assert study.evaluations == {"tune": 2_000_000_000, "test": methods * 312 * 2_000_000}


@pytest.mark.parametrize("preset", PRESETS)
def test_no_training_problem_is_tested_on(tmp_path: Path, preset: str) -> None:
    study = Study(folder=tmp_path, preset=preset)
    trained = set(study.tuning_plan().suite.names)
    from uaos.optimizers.catalogue import configuration

    tested = study.test_plan(configuration("U-AOS-FW"))
    assert not trained & set(tested.suite.names)
    assert len({problem.function for problem in tested.suite}) == 24
    assert set(RIVALS) <= set(tested.competitors)


def test_nothing_is_done_in_a_new_folder(tmp_path: Path) -> None:
    study = Study(folder=tmp_path / "new", preset="smoke")
    assert not any(study.is_done(stage) for stage in STAGES)
    assert not (tmp_path / "new").exists()


def test_the_time_of_a_study_is_more_than_that_of_its_evaluations(tmp_path: Path) -> None:
    study = Study(folder=tmp_path / "new", preset="smoke")
    runs = 24 * (1 + len(RIVALS))  # a problem of each of 24 functions
    assert study.runs == {"tune": 800, "test": runs}
    # 200 and 1000 evaluations a run for each of five dimensions
    assert study.evaluations == {"tune": 800_000, "test": 5000 * runs}
    # on two processes, a microsecond each; 3 + 3 + 1.5 + 9 s of the stages; 2 ms a run
    total = (0.8 + 0.005 * runs) / 2 + 16.5 + 0.002 * (800 + runs)
    assert study.seconds(STAGES, 1e-6, 2) == pytest.approx(total)
    # on one process; 3 s of the stage
    assert study.seconds(["test"], 1e-6, 1) == pytest.approx(0.007 * runs + 3)


def half(x: Any) -> float:
    return float(abs(x[0]) / 2)


def four_problems(**changes: Any) -> Suite:
    names = ("one", "two", "three", "four")
    return Suite("mine", [Problem(half, [(-1, 1)] * 2, name=name, **changes) for name in names])


def test_a_suite_is_split_in_half_or_as_told(tmp_path: Path) -> None:
    study = Study(four_problems(), tmp_path, preset="smoke")
    assert sorted((*study.training.names, *study.test.names)) == ["four", "one", "three", "two"]
    assert len(study.training) == len(study.test) == 2
    assert study.training.names == Study(four_problems(), tmp_path).training.names
    named = Study(four_problems(), tmp_path, train=["two", "four", "one"])
    assert (named.training.names, named.test.names) == (("one", "two", "four"), ("three",))
    with raises(InvalidParameter, name="train"):
        Study(four_problems(), tmp_path, train=["one", "two", "three", "four"])
    with pytest.raises(InvalidParameter) as error:
        Study("bbob", tmp_path, train=0.5)
    assert (error.value.name, error.value.value) == ("train", 0.5)


def test_problems_that_are_held_out_are_tested_on(tmp_path: Path) -> None:
    problems = suite("bbob", dimension=2, functions="1-2", instances="3,16")
    study = Study(problems, tmp_path, preset="smoke")
    assert study.training.names == ("f1 i16 2-D", "f2 i16 2-D")
    assert study.test.names == ("f1 i3 2-D", "f2 i3 2-D")
    assert study.repetitions == 1


def test_problems_without_instances_are_repeated(tmp_path: Path) -> None:
    study = Study(four_problems(), tmp_path, preset="smoke", rivals=["JADE"])
    # the winner, JADE and uniform choice on two problems, five times each
    assert study.runs["test"] == 3 * 2 * 5
    twice = find_preset("quick", repetitions=2)
    assert Study(four_problems(), tmp_path, preset=twice).repetitions == 2


# One study for all that is said of it; with fewer evaluations than the preset has.
one_study = pytest.mark.xdist_group("study")
BUDGETS = {"tuning_budget": "20D", "test_budget": "50D"}
SMOKE = ("study", "--preset", "smoke", "--folder", "first", "--jobs", "1", "--tuning-budget",
         BUDGETS["tuning_budget"], "--test-budget", BUDGETS["test_budget"])  # fmt: skip


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, str]:
    """A study killed twice without warning, in the tuning and in the test, and what ended it."""
    where = tmp_path_factory.mktemp("study")
    study = Study(folder=where / "first", preset=find_preset("smoke", **BUDGETS))
    for reached in (study.tuning_store, study.test_store):
        process = subprocess.Popen(
            uaos(*SMOKE), cwd=where, stdout=subprocess.DEVNULL, start_new_session=True
        )
        while not reached.exists():
            assert process.poll() is None
            time.sleep(0.05)
        time.sleep(1)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    done = run(*SMOKE, cwd=where)
    assert (done.returncode, done.stderr) == (0, "")
    return study, done.stdout


@one_study
def test_a_killed_study_goes_on_and_ends_in_a_report(finished: tuple[Study, str]) -> None:
    study, said = finished
    assert "tuning on the training problems: finished" in said
    assert "Open first/report.html in a browser" in said
    assert all(study.is_done(stage) for stage in STAGES)
    assert (study.tables / "art.csv").exists()
    again = run(*SMOKE, cwd=study.folder.parent)
    assert len(again.stdout.splitlines()) == 1
    assert "first/report.html" in again.stdout


@one_study
@needs_browser
def test_the_report_of_a_study_is_seen_in_a_browser(
    finished: tuple[Study, str], tmp_path: Path
) -> None:
    report = finished[0].report.absolute()
    with headless(tmp_path / "profile") as browser:
        open_report(browser, report)
        check_quiet(browser, report)
        kinds = drawn_plots(browser)
        # first of all; over all functions, in five classes, on each of 24
        assert kinds.count("profile") == 1 + 1 + 5 + 24
        assert {"course", "survival", "choice", "number"} <= set(kinds)
        for width in (390, 1440):
            check_layout(browser, width)
        assert browser.complaints() == []


# What Dask says about its own use of asyncio.
@pytest.mark.filterwarnings("ignore")
def test_a_cluster_gives_the_same_study(
    cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fixed = ["power=1", "frac=0", "noise=0", "error=0", "p_min=0"]
    small = narrow(design_for("SaDE", dimension=2), fix=fixed)
    monkeypatch.setattr("uaos.study.design", lambda *_, **__: small)
    monkeypatch.setitem(PRESETS, "tiny", Preset("tiny", 2, 60, "20D", "50D", "test:1", "of a test"))
    found = {}
    places = {"here": ("--jobs", "1"), "there": ("--dask", cluster)}
    for folder, where in places.items():
        for stage in STAGES[:3]:
            done = run("study", "--preset", "tiny", "--folder", folder, "--only", stage, *where,
                       cwd=tmp_path)  # fmt: skip
            assert (done.returncode, done.stderr) == (0, ""), done.stderr
        tables = sorted((tmp_path / folder / "tables").iterdir())
        files = [tmp_path / folder / "tuned.toml", *tables]
        found[folder] = {file.name: file.read_text() for file in files}
    assert found["here"] == found["there"]
    assert {"tuned.toml", "overview.csv", "art.csv", "pairs.csv"} <= set(found["here"])


def test_ctrl_c_says_that_nothing_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Study, "run_tuning", interrupt)
    done = run("study", "--preset", "smoke", "--folder", "new", "--only", "tune", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (130, "")
    assert "finished runs are kept" in done.stdout


def test_a_later_stage_says_which_one_it_needs(tmp_path: Path) -> None:
    done = run("study", "--preset", "smoke", "--folder", "new", "--only", "test", cwd=tmp_path)
    assert done.returncode == 2
    assert re.search("new/tuned.toml .* stage tune", done.stderr)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("stage", "name", "kind", "found"),
    [
        ("tune", "tuning.db", Store, "a benchmark"),
        ("test", "test.db", TuningStore, "a tuning"),
        ("tables", "test.db", TuningStore, "a tuning"),
        ("report", "test.db", TuningStore, "a tuning"),
        ("report", "tuning.db", Store, "a benchmark"),
    ],
)
def test_a_store_of_the_wrong_kind_is_refused_before_anything_is_written(
    stage: str, name: str, kind: type[Store], found: str, tmp_path: Path
) -> None:
    files = {"test.db": Store, "tuning.db": TuningStore, name: kind}
    for file, of in files.items():
        problems = suite("bbob", dimension=2, functions="1", instances="1")
        plan = problems if of is TuningStore else Plan.of("mix", problems)
        of.create_or_resume(tmp_path / file, plan).close()
    (tmp_path / "tuned.toml").touch()
    (tmp_path / "report.html").write_text("the good one")
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    done = run("study", "--preset", "smoke", "--folder", str(tmp_path), "--only", stage)
    assert done.returncode == 2
    assert str(tmp_path / name) in done.stderr
    assert found in done.stderr
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_one_optimizer_is_tuned_by_its_settings_and_tested_untuned(tmp_path: Path) -> None:
    """Another method in focus writes tables and report again, and runs nothing again."""
    size = find_preset("smoke", tuning_runs=100, tuning_budget=40, test_budget=40, repetitions=3)
    chosen = {"preset": size, "method": "STEP", "rivals": ["BFGS"]}
    study = Study(four_problems(), tmp_path / "one", **chosen)
    assert study.rivals == ("BFGS", "STEP")
    study.run(jobs=1)
    assert configuration(study.winner).optimizer == "STEP"
    assert set(study.test_plan().competitors) == {"tuned", "BFGS", "STEP", "uniform"}
    focused = Study(four_problems(), tmp_path / "one", **chosen, focus="BFGS")
    assert [focused.is_done(stage) for stage in STAGES] == [True, True, False, False]
    focused.run(jobs=1)
    assert all(focused.is_done(stage) for stage in STAGES)
    assert "BFGS against the others" in study.report.read_text(encoding="utf-8")
