"""A suite from a user's file goes through the bench as BBOB does, on processes and on Dask."""

import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from command_line import run as command_line
from experiment_stubs import content
from raising import raises

import uaos
from uaos.errors import InvalidFile, InvalidParameter, UaosError
from uaos.experiments import Plan, PlanConflict, Store, run
from uaos.experiments.export import export_coco
from uaos.experiments.merge import merge_stores

FILE = Path(__file__).with_name("six_problems.py")
UAOS = [sys.executable, "-m", "uaos"]
BENCH = ["bench", "a.db", "--methods", "JADE,CMA-ES", "--suite", "six.py", "--budget", "150D",
         "--without-uniform"]  # fmt: skip
METHODS = ["JADE", "CMA-ES"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the suite's file in it, where nothing can be imported from."""
    (tmp_path / "six.py").write_bytes(FILE.read_bytes())
    return tmp_path


def plan(path: Path, **changes: object) -> Plan:
    return Plan.of(METHODS, path, **({"budget": "150D", "uniform": False} | changes))


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict:
    """The plan run one after the other, in this process."""
    path = tmp_path_factory.mktemp("plain") / "plain.db"
    with ThreadPoolExecutor(1) as executor:
        run(plan(FILE), path, executor)
    return content(path)


def test_what_is_stored_of_a_suite(folder: Path, expected: dict) -> None:
    with ThreadPoolExecutor(1) as executor:
        run(plan(folder / "six.py"), folder / "a.db", executor)
    assert content(folder / "a.db") == expected
    with Store.open(folder / "a.db") as store:
        assert store.suite == "six"
        (of, *_) = store.planned().values()
        budgets = [budget for _, budget in of.values()]
        assert budgets == [450, 600, 300, 750, 300, 900]
        problems = {p.name: p for p in store.problems()}
        assert problems["trid 4-D"] == ("trid 4-D", "trid", "six", 4, None, -16.0)
        assert problems["shifted"].group == "easy"
        assert np.isnan(problems["waves"].optimum)
        table = store.table()
        for row, outcome in enumerate(store.outcomes(traces=True)):
            assert outcome.status == "done", outcome.reason
            assert table.methods[table.method[row]] == outcome.method
            assert table.problems[table.problem[row]].name == outcome.problem
            assert table.best[row] == outcome.best
            assert (table.hits[row] == outcome.hits).all()
            assert np.isnan(table.error[row]) == (outcome.problem in ("egg", "waves"))
            assert outcome.trace.values[-1] == outcome.best
            trace = store.traces([int(table.id[row])])[int(table.id[row])]
            assert (trace.values == outcome.trace.values).all()
        if np.isnan(table.error[0]):
            assert (table.hits[0] == -1).all()
        with raises(InvalidParameter, name="export-coco"):
            export_coco(store, folder / "coco")


HELD = """
import time
from pathlib import Path

def held(value):
    while Path("hold").exists():
        Path("reached").touch()
        time.sleep(0.01)
    return value
"""


def test_a_bench_killed_and_resumed_leaves_the_same_rows(folder: Path, expected: dict) -> None:
    """The problem max holds it up, so that it cannot end before it is killed."""
    text = FILE.read_text().replace("import numpy as np\n", "import numpy as np\n" + HELD)
    text = text.replace("float(np.abs(x).max())", "held(float(np.abs(x).max()))")
    (folder / "six.py").write_text(text)
    (folder / "hold").touch()
    path, reached, most = folder / "a.db", folder / "reached", 0
    for number in range(3):
        reached.unlink(missing_ok=True)
        process = subprocess.Popen(
            [*UAOS, *BENCH, "--jobs", str(1 + number % 2)], cwd=folder, stdout=subprocess.DEVNULL
        )
        while process.poll() is None and not reached.exists():
            if path.exists() and len(content(path)) > most:
                break
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        found = content(path)
        assert found.items() <= expected.items()
        assert len(found) >= most
        most = len(found)
    assert 0 < most <= 10
    (folder / "hold").unlink()
    done = command_line(*BENCH, "--jobs", "1", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert content(path) == expected
    assert "bbob" not in (done.stdout + done.stderr).lower()
    for name in METHODS:
        assert re.search(rf"^{name} +\d +6 +6 +0 *$", done.stdout, re.M), done.stdout
    shown = command_line(*BENCH[:2], "--status", cwd=folder).stdout
    assert "a.db: suite six, seed 1, budget 300 in 2-D, 450 in 3-D" in shown
    assert "of 2 problems is unknown" in shown


@pytest.mark.filterwarnings("ignore")
def test_dask_workers_load_a_suite_by_its_content(
    cluster: str, folder: Path, expected: dict
) -> None:
    made = plan(folder / "six.py")
    (folder / "six.py").unlink()  # workers may be where the file is not
    run(made, folder / "a.db", dask=cluster)
    assert content(folder / "a.db") == expected


def test_reasons_of_failures_are_told_once(folder: Path) -> None:
    (folder / "six.py").write_text(
        "import uaos\ndef broken(x): raise RuntimeError('no license')\n"
        "def fine(x): return 1.0\n"
        "suite = uaos.Suite('six', [uaos.Problem(f, [(0, 1)]) for f in (broken, fine)])\n"
    )
    words = [*BENCH, "--repetitions", "2", "--jobs", "1"]
    done = command_line(*words, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "4 runs of JADE and CMA-ES on broken: RuntimeError: no license (six.py, " in done.stdout
    assert "line 2)" in done.stdout
    assert done.stdout.count("no license") == 1
    shown = command_line(*BENCH[:2], "--status", cwd=folder).stdout
    assert shown.count("no license") == 1
    alone = ["b.db" if word == "a.db" else word for word in words] + ["--problems", "broken"]
    assert command_line(*alone, cwd=folder).returncode == 1


def test_problems_are_chosen_by_their_names(folder: Path) -> None:
    done = command_line(*BENCH, "--problems", "max, trid 3-D", "--jobs", "1", cwd=folder)
    assert done.returncode == 0, done.stderr
    with Store.open(folder / "a.db") as store:
        assert [p.name for p in store.problems()] == ["trid 3-D", "max"]
    for options, message in (
        (["--problems", "mx"], "unknown problem 'mx'; did you mean 'max'"),
        (["--dim", "5"], "dimension is only for COCO's suites; choose problems of six.py by"),
    ):
        done = command_line(*BENCH, *options, cwd=folder)
        assert done.returncode == 2
        assert message in done.stderr


def test_a_changed_file_is_refused(folder: Path) -> None:
    with ThreadPoolExecutor(1) as executor:
        run(plan(folder / "six.py"), folder / "a.db", executor)
        before = (folder / "a.db").read_bytes()
        with open(folder / "six.py", "a") as file:
            file.write("# a remark\n")
        with pytest.raises(PlanConflict):
            run(plan(folder / "six.py"), folder / "a.db", executor)
        assert (folder / "a.db").read_bytes() == before
        run(plan(folder / "six.py"), folder / "b.db", executor)
    with pytest.raises(UaosError):
        merge_stores(folder / "c.db", [folder / "a.db", folder / "b.db"])


def test_a_suite_made_in_place_runs_where_its_functions_can_be_sent(tmp_path: Path) -> None:
    sphere = uaos.problems.sphere
    made = uaos.Suite("two", [
        uaos.Problem(sphere, [(-1, 1)] * d, name=f"sphere {d}", vectorized=True) for d in (2, 3)
    ])  # fmt: skip
    tallies = run(Plan.of("JADE", made, budget=100, uniform=False), tmp_path / "a.db", jobs=1)
    assert tallies["JADE"].done == 2
    other = uaos.Suite("two", [uaos.Problem(lambda x: 0.0, [(0, 1)], name="flat")])
    with pytest.raises(UaosError, match="problem 'flat' cannot be sent .* into a suite file"):
        run(Plan.of("JADE", other, budget=100), tmp_path / "b.db", jobs=1)
    assert not (tmp_path / "b.db").exists()
    wider = uaos.Suite("two", [uaos.Problem(sphere, [(-9, 9)] * 2, name="sphere 2")])
    with pytest.raises(PlanConflict):
        run(Plan.of("JADE", wider, budget=100, uniform=False), tmp_path / "a.db", jobs=1)


CUSTOM = """
import numpy as np
import uaos

@uaos.register
class Guess(uaos.Optimizer):
    '''Uniform random points.'''
    name = "guess"

    def _propose(self):
        return self.rng.uniform(self.low, self.high, (5, self.dimension))

    def _learn(self, points, values):
        pass
"""


def test_an_optimizer_of_an_imported_file_runs_in_workers_whatever_the_file_is_called(
    folder: Path,
) -> None:
    (folder / "code").mkdir()
    (folder / "code" / "json.py").write_text(CUSTOM)
    command = [*UAOS, "--import", "code/json.py", *BENCH]
    command[command.index("JADE,CMA-ES")] = "guess"
    done = subprocess.run(
        [*command, "--jobs", "1"], cwd=folder, capture_output=True, text=True, check=False,
        env=os.environ | {"COLUMNS": "150"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with Store.open(folder / "a.db") as store:
        assert [o.status for o in store.outcomes("guess")] == ["done"] * 6, store.outcomes()[0]


def test_a_file_that_is_no_suite_leaves_nothing_behind(folder: Path) -> None:
    (folder / "six.py").write_text("x = 1\n")
    done = command_line(*BENCH, cwd=folder)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "defines no problems; expected suite" in done.stderr
    assert not (folder / "a.db").exists()
    with pytest.raises(InvalidFile):
        uaos.suite(folder / "none.py")
