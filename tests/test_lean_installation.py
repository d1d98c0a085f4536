"""With numpy, numba, typer and rich alone: minimizing, the catalogue, selectors, clear errors."""

import subprocess
import sys

import pytest

OPTIONAL = (
    "scipy", "cocoex", "matplotlib", "plotly", "dask", "distributed", "cma", "pymoo", "alns",
    "deap", "cocopp", "pandas", "pyarrow",
)  # fmt: skip

BLOCK = f"""
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {OPTIONAL!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocked())
"""


def lean(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run code where the optional packages cannot be imported."""
    return subprocess.run(
        [sys.executable, "-c", BLOCK + code, *arguments],
        capture_output=True, text=True, check=False, timeout=900,
    )  # fmt: skip


def command(*words: str) -> subprocess.CompletedProcess[str]:
    return lean("from uaos.cli import main; main()", *words)


def test_minimize_needs_no_optional_package() -> None:
    done = lean("""
import uaos
for name in ("mix", "JADE", "SaDE"):
    result = uaos.minimize(
        lambda x: float((x**2).sum()), [(-5, 5)] * 3, method=name, budget=600, seed=1)
    assert result.fun < 1 and result.nfev == 600
print("minimized")
""")
    assert (done.stdout, done.returncode) == ("minimized\n", 0), done.stderr


def test_a_selector_in_a_custom_algorithm_needs_no_optional_package() -> None:
    done = lean("""
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
print("selected")
""")
    assert (done.stdout, done.returncode) == ("selected\n", 0), done.stderr


def test_the_catalogue_needs_no_optional_package() -> None:
    done = command("methods")
    assert done.returncode == 0, done.stderr
    assert "SaDE" in done.stdout


@pytest.mark.parametrize("words", [(), ("--help",), ("bench", "--help"), ("tune", "--help")])
def test_help_needs_no_optional_package(words: tuple[str, ...]) -> None:
    done = command(*words)
    assert "Traceback" not in done.stderr
    assert "Usage" in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (("run", "--dim", "2"), "experiments"),
        (("bench", "x.db", "--methods", "mix", "--dim", "2"), "experiments"),
        (("tune", "x.db", "--runs", "800", "--budget", "20D", "--dim", "2"), "experiments"),
        (("study", "--preset", "smoke", "--folder", "s"), "experiments"),
        (("scenario", "--repetitions", "2", "--plot", "x.png"), "plot"),
    ],
)
def test_a_missing_extra_is_named_in_one_line(
    words: tuple[str, ...], extra: str, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = command(*words)
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("error: ")
    assert line.endswith(f'pip install -e ".[{extra}]"')
    assert not list(tmp_path.glob("*.db"))
