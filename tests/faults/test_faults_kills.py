"""Commands killed at any moment and begun again end as if nothing had happened."""

import random
import time
from pathlib import Path

import pytest
from fault_tools import BENCH, STUDY, TUNE, finish, killed, runs, short_and_long, tuning


def kill_and_resume(command: list[str], folder: Path, times: int, took: float, seed: int) -> int:
    """Kill the command at random moments, again and again, then let it end; how often it died."""
    draw, deaths = random.Random(seed), 0
    for _ in range(times):
        deaths += killed(command, folder, draw.uniform(0.1, 0.7) * took)
    code, _, err = finish(command, folder)
    assert code == 0, err
    assert "Traceback" not in err
    return deaths


@short_and_long(1, 40)
@pytest.mark.parametrize(
    ("command", "read"), [(BENCH, runs), (TUNE, tuning)], ids=["bench", "tune"]
)
def test_a_killed_command_resumes_to_the_same_results(
    command: list[str], read, times: int, undisturbed: dict, tmp_path: Path, count
) -> None:
    path, took = undisturbed[command[0]]
    good, deaths = read(path), 0
    rounds = max(1, times // 4)
    for number in range(rounds):
        folder = tmp_path / str(number)
        folder.mkdir()
        deaths += kill_and_resume(command, folder, min(4, times), took, seed=number)
        assert read(folder / path.name) == good
        assert not list(folder.glob("*.part"))
    count(f"kills of uaos {command[0]}, resumed to identical results", deaths)


@pytest.mark.faults_long
def test_a_killed_study_resumes_to_the_same_results(tmp_path: Path, count) -> None:
    (tmp_path / "plain").mkdir()
    begun = time.monotonic()
    code, _, err = finish(STUDY, tmp_path / "plain")
    assert code == 0, err
    took = time.monotonic() - begun
    (tmp_path / "cut").mkdir()
    # Sooner than the others: what is finished need not be made again.
    deaths = kill_and_resume(STUDY, tmp_path / "cut", 12, took / 4, seed=11)
    for file, read in (("tuning.db", tuning), ("test.db", runs)):
        assert read(tmp_path / "cut" / "s" / file) == read(tmp_path / "plain" / "s" / file)
    assert (tmp_path / "cut" / "s" / "report.html").exists()
    count("kills of uaos study, resumed to identical results", deaths)
