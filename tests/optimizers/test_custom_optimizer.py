"""A user's optimizer is one class in one file, and works by name from there on."""

import math
import pickle
import textwrap
from pathlib import Path

import pytest
from command_line import run, run_in_one_process

import uaos
from uaos.errors import InvalidFeedback
from uaos.optimizers import registry

pytestmark = pytest.mark.usefixtures("quick_workers")

CLASS = '''
from dataclasses import dataclass

import uaos

@dataclass(frozen=True)
class WalkSettings(uaos.OptimizerSettings):
    batch: int = uaos.integer(1, 100, default=4, doc="points per batch")
    centered: bool = uaos.choice(True, False, default=False, doc="near the center")

@uaos.register
class Walk(uaos.Optimizer):
    """Random points."""

    name = "walk"
    settings_class = WalkSettings

    def _propose(self):
        return self.rng.uniform(self.low, self.high, (self.settings.batch, self.dimension))

    def _learn(self, points, values):
        pass
'''


def command(folder: Path, *arguments: str) -> str:
    """Return what a command prints that knows the file; it must succeed."""
    done = run("--import", "my_walk.py", *arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def new_process(folder: Path, *arguments: str, status: int = 0) -> str:
    """Return what a command prints in a process that has not seen the file before."""
    (done,) = run_in_one_process([["--import", "my_walk.py", *arguments]], folder)
    assert done.returncode == status, done.stderr
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "my_walk.py").write_text(textwrap.dedent(CLASS))
    return tmp_path


def test_it_is_listed_benchmarked_and_compared_on_the_command_line(folder):
    assert "Random points." in command(folder, "methods")
    assert "batch" in command(folder, "methods", "walk")
    command(
        folder, "bench", "a.db", "--methods", "walk,CMA-ES", "--dim", "2", "--functions", "1",
        "--instances", "1-2", "--budget", "50D", "--jobs", "2",
    )  # fmt: skip
    table = command(folder, "compare", "a.db")
    assert "walk" in table
    assert "CMA-ES" in table


def test_runs_of_a_changed_file_do_not_join_those_of_the_former_one(folder):
    arguments = ["bench", "a.db", "--methods", "walk", "--dim", "2", "--functions", "1",
                 "--instances", "1", "--budget", "9", "--jobs", "1", "--without-uniform",
                 "--repetitions"]  # fmt: skip
    file = folder / "my_walk.py"
    good, bad = file.read_text(), file.read_text().replace("self.settings.batch, ", "")
    file.write_text(bad)
    assert "failed: 1 run of walk" in new_process(folder, *arguments, "1", status=1)
    file.write_text(good)  # the only run failed
    new_process(folder, *arguments, "1", "--retry-failed")
    command(folder, "report", "a.db", "-o", "a.html")
    assert "--import my_walk.py" in (folder / "a.html").read_text("utf-8")
    file.write_text(good + "# a comment\nclass Another:\n    pass\n")  # walk is the same
    new_process(folder, *arguments, "2")
    file.write_text(good.replace("uniform(self.low", "uniform(0.5 * self.low"))
    with pytest.raises(AssertionError, match="code of walk has changed"):
        new_process(folder, *arguments, "3")


def test_the_tuner_searches_its_declared_settings(folder):
    """A changed class is tuned anew, in the same store."""
    tune = ["tune", "t.db", "--method", "walk", "--dim", "2", "--functions", "1-2",
            "--instances", "16", "--budget", "20D", "--runs", "96", "--jobs", "1"]  # fmt: skip
    assert "batch      1 to 100" in new_process(folder, "tune", "--method", "walk", "--show-space")
    shown = new_process(folder, *tune)
    assert "starts from  walk and random candidates" in shown
    assert "next: uaos --import my_walk.py bench test.db --methods t.toml,walk" in shown
    tuned = uaos.files.read_toml(folder / "t.toml")
    assert tuned["optimizer"]["name"] == "walk"
    assert tuned["optimizer"].get("batch", 4) in range(1, 101)  # the default is not written
    assert "This tuning is finished" in new_process(folder, *tune)
    file = folder / "my_walk.py"
    file.write_text(file.read_text().replace("uniform(self.low", "uniform(0.5 * self.low"))
    assert "This tuning is finished" not in new_process(folder, *tune, "--overwrite")


@pytest.mark.parametrize("points", [[1.0], [], [[1.0]]])
def test_points_of_the_wrong_shape_are_refused(points):
    class Wrong(uaos.Optimizer):
        name = "wrong"

        def _propose(self):
            return points

        def _learn(self, points, values):
            pass

    with pytest.raises(InvalidFeedback):
        Wrong([(0, 1)] * 2).ask()


@pytest.mark.parametrize("value", [1.5, math.nan, -math.inf])
def test_points_outside_the_bounds_are_refused(value):
    class Outside(uaos.Optimizer):
        name = "outside"

        def _propose(self):
            return [[0.0, 1.0], [0.5, value]]

        def _learn(self, points, values):
            pass

    class Derived(Outside):
        name = "derived"

    for kind in (Outside, Derived):
        with pytest.raises(InvalidFeedback):
            kind([(0, 1)] * 2).ask()


def test_several_files_can_be_imported(folder):
    (folder / "other.py").write_text(CLASS.replace('"walk"', '"run"').replace("Walk", "Run"))
    assert "Random points." in new_process(folder, "--import", "other.py", "methods", "walk")


def test_a_process_that_gets_its_configuration_knows_it(folder, monkeypatch):
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(registry, "_optimizers", dict(registry._optimizers))
    import my_walk

    sent = pickle.dumps(uaos.Configuration("mine", optimizer="walk", settings={"batch": 3}))
    del registry._optimizers["walk"]
    received = pickle.loads(sent)
    assert received.build([(0, 1)] * 2, seed=1).ask().shape == (3, 2)
    assert type(received.build([(0, 1)] * 2)) is my_walk.Walk
    assert uaos.methods()["walk"].kind == "custom"
