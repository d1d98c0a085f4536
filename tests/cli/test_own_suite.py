"""Problems in a user's file, from benchmark to report: no command mentions BBOB."""

import csv
import re
from pathlib import Path

import pytest
from command_line import run

pytestmark = pytest.mark.usefixtures("quick_workers")

# Six problems of three dimensions; the optimum of the first two is not known.
PROBLEMS = """
import numpy as np
import uaos

def dents(x):
    return np.sum(np.sin(3 * x) + 0.1 * x**2)

def tilted(x):
    return np.max(np.abs(x)) + 0.5 * x[0]

def bowl(x):
    return np.sum((x - 0.5) ** 2)

def cone(x):
    return np.sqrt(np.sum(x**2))

suite = uaos.Suite("workshop", [
    uaos.Problem(dents, [(-4, 4)] * 2),
    uaos.Problem(tilted, [(-1, 3)] * 3),
    *(uaos.Problem(bowl, [(-5, 5)] * d, name=f"bowl {d}-D", function="bowl", optimum=0.0)
      for d in (2, 5)),
    *(uaos.Problem(cone, [(-5, 5)] * d, name=f"cone {d}-D", function="cone", optimum=0.0)
      for d in (2, 5)),
])
"""
BENCH = ["--suite", "problems.py", "--methods", "mix,JADE", "--budget", "30D"]
# One free parameter: 42 runs are enough.
TUNE = [
    "--suite", "problems.py", "--train", "0.5", "--method", "SaDE", "--budget", "20D", "--runs",
    "42", *(f"--fix={name}" for name in ("frac=0", "error=0", "p_min=0", "noise=0", "power=1")),
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "problems.py").write_text(PROBLEMS)
    return tmp_path


def uaos(folder: Path, *arguments: str) -> str:
    """Return what a command prints."""
    done = run(*arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "bbob" not in (done.stdout + done.stderr).lower()
    return done.stdout


def rows(path: Path) -> list[dict[str, str]]:
    """The runs of an exported table, without their times."""
    with open(path, newline="", encoding="utf-8") as file:
        return [{k: v for k, v in row.items() if k != "seconds"} for row in csv.DictReader(file)]


def test_a_file_is_tuned_on_in_part_or_as_a_whole_and_it_is_said(folder: Path) -> None:
    said = uaos(folder, "tune", "a.db", *TUNE, "--jobs", "1")
    assert "3 problems" in said
    assert "(of the 6 problems of workshop)" in said
    assert "test ranks" in said
    assert "mean cost" not in said  # values on different scales have none
    assert "next: uaos bench test.db --suite problems.py --methods a.toml,SaDE --problems" in said
    whole = [option for option in TUNE if option not in ("--train", "0.5")]
    said = uaos(folder, "tune", "b.db", *whole, "--jobs", "1")
    assert "(all problems of workshop)" in said
    assert "--train SHARE" in said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--test", "t-test"], "t-test .*optimum"),
        (["--dim", "5"], "dimension .*COCO's suites.*--problems"),
        (["--train", "bowl 2-D,bowl 3-D"], "'bowl 3-D'.*'bowl 2-D'"),
        (["--train", "1.5"], "train.*1.5.*between 0 and 1"),
        (["--suite", "none.py"], "none.py: .*not found"),
    ],
)
def test_what_a_file_does_not_allow_is_refused_in_one_line(
    options: list[str], message: str, folder: Path
) -> None:
    done = run("tune", "a.db", *TUNE, *options, cwd=folder)
    assert done.returncode == 2
    assert re.search(message, done.stderr)
    assert len(done.stderr.splitlines()) == 1
    assert not (folder / "a.db").exists()


def test_a_study_of_a_file_ends_in_a_report(folder: Path) -> None:
    command = [
        "study", "--suite", "problems.py", "--preset", "smoke", "--folder", "out", "--jobs", "1",
        "--method", "SaDE", "--methods", "JADE", "--tuning-runs", "180", "--tuning-budget", "10D",
        "--test-budget", "20D", "--repetitions", "1",
    ]  # fmt: skip
    said = uaos(folder, *command)
    assert "tunes on 3 problems" in said
    assert "Open out/report.html in a browser" in said
    for file in (folder / "out").rglob("*.*"):
        if file.suffix != ".db":
            # As a word: four letters occur by chance in the base64 of pictures, fonts and data.
            text = file.read_text(encoding="utf-8")
            assert not re.search(r"\bbbob\b", text, re.IGNORECASE), file
    assert len(uaos(folder, *command).splitlines()) == 1  # nothing is left to do
    (folder / "problems.py").write_text(PROBLEMS + "\n# changed\n")
    done = run(*command, cwd=folder)
    assert done.returncode == 2
    assert "version of the suite file" in done.stderr


# What Dask says about its own use of asyncio.
@pytest.mark.filterwarnings("ignore")
def test_a_cluster_runs_a_file_that_its_workers_do_not_have(cluster: str, folder: Path) -> None:
    for name, where in (
        ("here", ["--jobs", "1"]), ("there", ["--dask", cluster])
    ):  # fmt: skip
        uaos(folder, "bench", f"{name}.db", *BENCH, *where)
        uaos(folder, "bench", f"{name}.db", "--export", f"{name}.csv")
        uaos(folder, "tune", f"{name}-tuned.db", *TUNE, *where, "-o", f"{name}.toml")
    key = lambda row: sorted(row.items())  # noqa: E731
    assert sorted(rows(folder / "here.csv"), key=key) == sorted(rows(folder / "there.csv"), key=key)
    texts = [(folder / f"{name}.toml").read_text().splitlines()[2:] for name in ("here", "there")]
    assert texts[0] == texts[1]


NAMED = """
import uaos

def loss(p):
    return (p["x"] - 1) ** 2 + (abs(p["n"] - 3) if p["k"] == "b" else 2)

space = {
    "x": uaos.Real(-4, 6), "k": uaos.Categorical(["a", "b", "c"]),
    "n": uaos.Integer(0, 9, when={"k": "b"}), "fixed": 3,
}
suite = uaos.Suite("named", [
    uaos.Problem(loss, space, name="first", optimum=0.0),
    uaos.Problem(lambda p: abs(p["n"] - 7), {"n": uaos.Integer(0, 50)}, name="second"),
])
"""


def test_problems_with_named_variables_are_compared_tuned_on_and_reported(tmp_path: Path) -> None:
    (tmp_path / "named.py").write_text(NAMED)
    bench = ["--suite", "named.py", "--methods", "GP,mix,portfolio", "--budget", "12D"]
    said = uaos(tmp_path, "bench", "a.db", *bench, "--repetitions", "2", "--jobs", "1")
    assert re.search(r"GP +\d +4 +4 +0", said)  # solved, finished, planned, failed
    assert "first" in uaos(tmp_path, "compare", "a.db")
    assert "written: best.toml" in uaos(tmp_path, "recommend", "a.db", "-o", "best.toml")
    assert "written: a.html" in uaos(tmp_path, "report", "a.db", "-o", "a.html")
    assert "start" in (tmp_path / "a.html").read_text(encoding="utf-8")
    tune = [option.replace("problems.py", "named.py") for option in TUNE]
    assert "1 problem" in uaos(tmp_path, "tune", "t.db", *tune, "--jobs", "1")
    said = uaos(tmp_path, "run", "--suite", "named.py", "--problem", "first", "--method", "GP",
                "--budget", "30", "--seed", "1")  # fmt: skip
    assert re.search(r"best point +x = .*k = 'b'", said)


def test_a_method_for_real_numbers_says_what_to_use_instead(tmp_path: Path) -> None:
    (tmp_path / "named.py").write_text(NAMED)
    done = run("run", "--suite", "named.py", "--problem", "first", "--method", "BFGS", cwd=tmp_path)
    assert done.returncode == 2
    assert "BFGS searches real numbers only" in done.stderr


NOISY = """
import numpy as np
import uaos

rng = np.random.default_rng(1)
space = {
    "x": uaos.Real(-4, 6), "k": uaos.Categorical(["a", "b"]),
    "n": uaos.Integer(0, 9, when={"k": "b"}), "c": 2.0,
}

def true(p):
    return (p["x"] - 1) ** 2 + (abs(p["n"] - 3) if p["k"] == "b" else 2) + p["c"]

named = uaos.Problem(
    lambda p: true(p) + rng.standard_normal(), space, name="named", true=true, optimum=2.0
)
plain = uaos.Problem(
    lambda x: float(np.sum(x**2) + rng.standard_normal()), [(-5, 5)] * 2, name="plain",
    true=lambda x: float(np.sum(x**2)), optimum=0.0,
)
"""


@pytest.mark.parametrize("name", ["named", "plain"])
def test_a_run_on_a_noisy_problem_is_judged_by_its_true_value(tmp_path: Path, name: str) -> None:
    """A lucky estimate below the optimum neither ends the run nor solves the problem."""
    (tmp_path / "noisy.py").write_text(NOISY)
    said = uaos(
        tmp_path, "run", "--suite", "noisy.py", "--problem", name, "--budget", "150", "--seed", "1"
    )
    assert "not solved: best - f_opt = " in said
    assert "best - f_opt = -" not in said
    assert "(2 standard errors)" in said
    assert re.search(r"evaluations +150 in", said)
