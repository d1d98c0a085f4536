"""With numpy, numba, typer and rich alone: minimizing, the catalogue, selectors, clear errors."""

import subprocess
import sys
from pathlib import Path

import pytest
from command_line import Done, run_in_one_process

OPTIONAL = (
    "scipy", "cocoex", "matplotlib", "plotly", "dask", "distributed", "cma", "pymoo", "alns",
    "deap", "optuna", "sklearn", "cocopp", "pandas", "pyarrow",
)  # fmt: skip

BLOCK = f"""
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {OPTIONAL!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocked())
"""


MINIMIZE = """
import uaos
for name in ("mix", "JADE", "SaDE"):
    result = uaos.minimize(
        lambda x: float((x**2).sum()), [(-5, 5)] * 3, method=name, budget=600, seed=1)
    assert result.fun < 1 and result.nfev == 600
"""

SELECT = """
import numpy as np, uaos
rng, x = np.random.default_rng(1), np.full(4, 3.0)
selector = uaos.method("PDP").selector(2, seed=1)
for _ in range(200):
    (operator,) = selector.select(1)
    y = x + rng.normal(0, (0.01, 0.5)[operator], 4)
    before, after = (x**2).sum(), (y**2).sum()
    selector.update([operator], [before], [after])
    x = y if after < before else x
assert (x**2).sum() < 1 and selector.probabilities.sum() > 0.99
"""

HELP = [(), ("--help",), ("bench", "--help"), ("tune", "--help")]
RUN = ("run", "--dim", "2", "--method", "mix", "--budget", "200")
# Commands that need more, and the extra that has it.
MISSING = {
    ("bench", "x.db", "--suite", "bbob-noisy", "--methods", "mix", "--dim", "2"): "experiments",
    ("tune", "x.db", "--runs", "800", "--budget", "20D", "--dim", "2"): "experiments",
    ("study", "--preset", "smoke", "--folder", "s"): "experiments",
    ("scenario", "--repetitions", "2", "--plot", "x.png"): "plot",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lean")


@pytest.fixture(scope="module")
def without_extras(folder: Path) -> dict[tuple[str, ...], Done]:
    """What each command did."""
    commands = [("methods",), RUN, *HELP, *MISSING]
    done = run_in_one_process(commands, folder, before=BLOCK)
    return dict(zip(commands, done, strict=True))


def test_minimizing_and_selecting_need_no_optional_package() -> None:
    done = subprocess.run(
        [sys.executable, "-c", BLOCK + MINIMIZE + SELECT],
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_catalogue_needs_no_optional_package(without_extras) -> None:
    code, out, err = without_extras["methods",]
    assert code == 0, err
    assert "SaDE" in out


def test_a_run_on_bbob_needs_no_optional_package(without_extras) -> None:
    """The functions of BBOB are the package's own."""
    code, out, err = without_extras[RUN]
    assert code == 0, err
    assert "f8 Rosenbrock" in out


@pytest.mark.parametrize("words", HELP)
def test_help_needs_no_optional_package(words: tuple[str, ...], without_extras) -> None:
    _, out, err = without_extras[words]
    assert "Traceback" not in err
    assert "Usage" in out + err


@pytest.mark.parametrize(("words", "extra"), MISSING.items(), ids=[w[0] for w in MISSING])
def test_a_missing_extra_is_named_in_one_line(
    words: tuple[str, ...], extra: str, without_extras, folder: Path
) -> None:
    code, _, err = without_extras[words]
    assert code == 2, err
    (line,) = err.strip().splitlines()
    assert line.startswith("error: ")
    assert line.endswith(f'pip install -e ".[{extra}]"')
    assert not list(folder.glob("*.db"))
