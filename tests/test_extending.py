"""The six additions of CONTRIBUTING, each of them made: one file of code, then its use.

A reward, an operator, a suite and an optimizer are a user's file; a strategy and a figure join a
copy of the package.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import run, run_in_one_process
from report_cases import packed, words

import uaos
from uaos.experiments import Store

pytestmark = pytest.mark.usefixtures("quick_workers")

SOURCES = Path(uaos.__file__).parent

REWARD = '''
from dataclasses import dataclass

import numpy as np
import uaos


@uaos.register
@dataclass(frozen=True)
class BestShare(uaos.GenerationReward):
    """The operator's best metric of the last max_gen generations, as a share of all."""

    max_gen: int = uaos.integer(1, 50, default=5, doc="number of generations")

    def compute(self, memory):
        best = memory.bests.max(axis=0)
        return best / np.maximum(best.sum(), 1e-12)
'''

OPTIMIZER = '''
import uaos


@uaos.register
class RandomSearch(uaos.Optimizer):
    """Uniform points."""

    name = "random-search"

    def _propose(self):
        return self.rng.uniform(self.low, self.high, (10, self.dimension))

    def _learn(self, points, values):
        pass
'''

OPERATOR = '''
import uaos


@uaos.register
class Halfway:
    """Between the parent and the best point."""

    name = "halfway"

    def propose(self, state, parents, rng):
        middle = (state.population[parents] + state.best) / 2
        return middle + 0.01 * rng.standard_normal(middle.shape)
'''

SUITE = """
import uaos


def bowl(x):
    return float(((x - 1) ** 2).sum())


def valley(x):
    return float(abs(x[0] - x[1]) + 0.1 * (x**2).sum())


suite = uaos.Suite("shapes", [
    uaos.Problem(bowl, [(-5, 5)] * 2, optimum=0.0),
    uaos.Problem(valley, [(-5, 5)] * 3),
])
"""

STRATEGY = '    Strategy("best/3", "x_best + F (x_r1 - x_r2 + x_r3 - x_r4 + x_r5 - x_i)"),\n'

FIGURE = '''
"""How many runs each method solved."""

from uaos.reporting.figures import SECTION, Figure


def data(section, methods=None):
    """Return the numbers of solved runs."""
    return {m: sum(r.solved for r in section.results.of(m)) for m in section.methods}


def draw(of, style):
    """Draw a bar for each method."""
    with style.figure(style.inches("column"), 2.0) as figure:
        figure.subplots().bar(list(of), list(of.values()))
    return figure


FIGURE = Figure("solved", "runs that were solved", SECTION, data, draw, options=("dim",),
                in_report="profiles", caption="Solved runs of each method.")
'''


def uaos_command(folder: Path, *arguments: str) -> str:
    """What `uaos` prints in a folder; it must succeed."""
    done = run(*arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


# A benchmark on the sphere in 2-D, of methods to be named.
BENCH = (
    "bench", "a.db", "--functions", "1", "--dim", "2", "--instances", "1-2", "--budget", "60D",
    "--jobs", "1", "--methods",
)  # fmt: skip


def bench(folder: Path, methods: str, *before: str) -> str:
    """Benchmark methods; what `uaos compare` says of them."""
    uaos_command(folder, *before, *BENCH, methods)
    return uaos_command(folder, "compare", "a.db")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A folder with a copy of the package, to be changed."""
    ignored = shutil.ignore_patterns("*.nb?")
    shutil.copytree(SOURCES, tmp_path / "uaos", ignore=ignored)
    return tmp_path


def test_a_reward_is_one_file(tmp_path: Path) -> None:
    (tmp_path / "my_reward.py").write_text(REWARD)
    before = ("--import", "my_reward.py")
    assert "max_gen" in uaos_command(tmp_path, *before, "methods", "--components")
    (tmp_path / "mine.toml").write_text(
        'version = 1\nmetric = {name = "parent_improvement"}\nreward = {name = "best_share"}\n'
    )
    assert "mine" in bench(tmp_path, "mine.toml", *before)


def test_an_optimizer_is_one_file(tmp_path: Path) -> None:
    (tmp_path / "my_search.py").write_text(OPTIMIZER)
    before = ("--import", "my_search.py")
    assert "Uniform points." in uaos_command(tmp_path, *before, "methods")
    assert "random-search" in bench(tmp_path, "random-search", *before)


def test_an_operator_is_one_file(tmp_path: Path) -> None:
    """Another version of the class is refused, as its runs would be of another operator."""
    (tmp_path / "my_operator.py").write_text(OPERATOR)
    (tmp_path / "mine.toml").write_text('[de]\npool = ["rand/1", {own = "halfway"}]\nNP = 10\n')
    before = ("--import", "my_operator.py")
    assert "halfway" in uaos_command(tmp_path, *before, "methods", "mine.toml")
    assert "mine" in bench(tmp_path, "mine.toml", *before)
    with Store.open(tmp_path / "a.db") as store:
        assert all(outcome.status == "done" for outcome in store.outcomes("mine"))
        used = store.history("mine", "f1 i1 2-D", 1)
    assert used.operators == ("rand/1", "halfway")
    assert used.counts[:, 1].sum() > 10
    (tmp_path / "my_operator.py").write_text(OPERATOR.replace("0.01", "0.02"))
    (done,) = run_in_one_process([[*before, *BENCH, "mine.toml"]], tmp_path)
    assert done.returncode == 2
    assert "code of mine has changed" in done.stderr


def test_a_suite_is_one_file(tmp_path: Path) -> None:
    (tmp_path / "shapes.py").write_text(SUITE)
    uaos_command(
        tmp_path, "bench", "a.db", "--suite", "shapes.py", "--methods", "CMA-ES,BFGS",
        "--budget", "60D", "--jobs", "1",
    )  # fmt: skip
    assert re.search("CMA-ES|BFGS", uaos_command(tmp_path, "compare", "a.db"))
    uaos_command(tmp_path, "report", "a.db", "-o", "report.html")
    report = tmp_path / "report.html"
    # Compressed data and images may have any four letters.
    shown = words(report.read_text("utf-8")) + packed(report, "data")
    assert "valley" in shown
    assert "BBOB" not in shown


def test_a_strategy_is_one_line(copy: Path) -> None:
    """It is selected among others, and runs of the default pool of nine stay what they were."""
    file = copy / "uaos" / "optimizers" / "de" / "strategies.py"
    text = file.read_text("utf-8")
    file.write_text(text.replace("_ALL = (\n", "_ALL = (\n" + STRATEGY), "utf-8")
    (copy / "run.py").write_text(
        "import uaos\n"
        "settings = dict(bounds=[(-5, 5)] * 3, popsize=10, budget=200, seed=1)\n"
        "sphere = lambda x: float(x @ x)\n"
        "run = uaos.minimize(sphere, operators=['best/3', 'rand/1'], **settings)\n"
        "print(run.history.operators[0], run.history.counts[:, 0].sum() > 10)\n"
        "print(uaos.minimize(sphere, method='SaDE', **settings).fun)\n"
    )
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(copy)}
    done = subprocess.run(
        [sys.executable, "run.py"], cwd=copy, env=environment, capture_output=True, text=True
    )
    before = uaos.minimize(
        lambda x: float(x @ x), [(-5, 5)] * 3, method="SaDE", popsize=10, budget=200, seed=1
    )
    assert len(before.history.operators) == 9
    assert done.stdout == f"best/3 True\n{before.fun}\n", done.stderr


def test_a_figure_is_one_file(copy: Path) -> None:
    """`uaos plot` lists and draws it, and the report shows it."""
    (copy / "uaos" / "reporting" / "figures" / "solved.py").write_text(FIGURE)
    # Interpreted: a copied package would be compiled anew.
    settings = {"NUMBA_DISABLE_JIT": "1", "MPLBACKEND": "Agg", "PYTHONPATH": str(copy)}
    commands = [
        [*BENCH, "CMA-ES,BFGS"],
        ["plot"],
        ["plot", "solved", "a.db", "-o", "solved.svg"],
        ["report", "a.db", "-o", "report.html"],
    ]
    done = run_in_one_process(commands, copy, environment=os.environ | settings)
    assert [one.returncode for one in done] == [0] * 4, done
    assert "runs that were solved" in done[1].stdout
    assert "CMA-ES" in (copy / "solved.svg").read_text("utf-8")
    assert "Solved runs of each method." in (copy / "report.html").read_text("utf-8")
