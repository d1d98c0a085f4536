"""A study: from nothing to a report, stopped and continued at will."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from uaos.errors import InvalidFile, InvalidParameter, UnknownName
from uaos.study import PRESETS, RIVALS, STAGES, Study, stages


def uaos(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "uaos.cli", *arguments]


def test_the_stages_follow_one_another() -> None:
    assert stages() == ("tune", "test", "tables", "report")
    assert stages(only="tables") == ("tables",)
    assert stages(start="tables") == ("tables", "report")


def test_a_stage_that_there_is_not_is_refused() -> None:
    with pytest.raises(UnknownName, match="unknown stage of --from 'tets'; did you mean 'test'"):
        stages(start="tets")
    with pytest.raises(InvalidParameter, match="one of the two"):
        stages(only="tune", start="test")


def test_a_preset_that_there_is_not_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean 'quick'"):
        Study.at(tmp_path, "quik")


def test_a_folder_that_holds_another_study_is_refused(tmp_path: Path) -> None:
    Study.at(tmp_path / "one", "smoke").create()
    Study.at(tmp_path / "one", "smoke")
    with pytest.raises(InvalidFile, match="another study .preset smoke, seed 1.; name another"):
        Study.at(tmp_path / "one", "quick")
    with pytest.raises(InvalidFile, match="another study"):
        Study.at(tmp_path / "one", "smoke", seed=2)


def test_the_preset_paper_is_the_experiment_of_the_paper(tmp_path: Path) -> None:
    study = Study.at(tmp_path, "paper")
    tuning = study.tuning_plan()
    assert (len(tuning.instances), tuning.runs) == (48, 10_000)
    assert tuning.evaluations(tuning.instances[0]) == 200_000  # 10,000 × 20
    # 10,000 runs × 200,000; the winner and nine rivals on 312 problems × 2,000,000
    assert study.evaluations == {"tune": 2_000_000_000, "test": 10 * 312 * 2_000_000}


@pytest.mark.parametrize("preset", PRESETS)
def test_no_training_problem_is_tested_on(tmp_path: Path, preset: str) -> None:
    study = Study.at(tmp_path, preset)
    trained = {(i.function, i.instance) for i in study.tuning_plan().instances}
    from uaos.catalogue import configuration

    tested = study.test_plan(configuration("U-AOS-FW"))
    assert not trained & set(tested.problems)
    assert {function for function, _ in tested.problems} == set(range(1, 25))
    assert set(RIVALS) <= set(tested.competitors)


def test_nothing_is_done_in_a_new_folder(tmp_path: Path) -> None:
    study = Study.at(tmp_path / "new", "smoke")
    assert not any(study.is_done(stage) for stage in STAGES)
    assert not (tmp_path / "new").exists()


def test_a_killed_study_goes_on_and_ends_in_a_report(tmp_path: Path) -> None:
    """Killed twice without warning, in the tuning and in the test."""
    command = uaos("study", "--preset", "smoke", "--folder", "first", "--jobs", "2")
    study = Study.at(tmp_path / "first", "smoke")
    for reached in (study.tuning_store, study.test_store):
        process = subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.DEVNULL, start_new_session=True
        )
        while not reached.exists():
            assert process.poll() is None
            time.sleep(0.05)
        time.sleep(1)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "tuning on the training problems: done before" in done.stdout
    assert "Open first/report.html in a browser" in done.stdout
    assert all(study.is_done(stage) for stage in STAGES)
    assert (study.tables / "art.csv").exists()
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert again.stdout == "Everything is done: open first/report.html in a browser\n"


def test_a_later_stage_says_which_one_it_needs(tmp_path: Path) -> None:
    command = uaos("study", "--preset", "smoke", "--folder", "new", "--only", "test")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "error: new/tuned.toml: there is no such file; run the stage tune first\n"
    assert not (tmp_path / "new").exists()
