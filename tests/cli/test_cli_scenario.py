"""`uaos scenario`: one command, a table and a picture; never a traceback."""

import re
from pathlib import Path

import pytest
from command_line import run
from terminal import interrupted

SMALL = ("--repetitions", "3", "--steps", "30", "--every", "12", "--operators", "3")


def test_the_table_has_the_methods_and_the_references(tmp_path: Path) -> None:
    done = run("scenario", "--methods", "AP, F-AUC-MAB", *SMALL, "--plot", "it.png", cwd=tmp_path)
    assert done.returncode == 0
    lines = [line.split()[0] for line in done.stdout.splitlines()]
    assert lines[:5] == ["method", "AP", "F-AUC-MAB", "uniform", "oracle"]
    assert re.search(r"^AP +0\.\d+ ± 0\.\d+ +\d\.\d+ ± 0\.\d+ +\d", done.stdout, re.M)
    assert re.search(r"^oracle +1 +0 +0 +0% *$", done.stdout, re.M)
    assert "uniform scenario, 3 operators, 30 applications" in done.stdout
    assert "drawn: it.png" in done.stdout
    assert (tmp_path / "it.png").read_bytes().startswith(b"\x89PNG")


def test_the_same_seed_gives_the_same_table() -> None:
    first, again, other = (
        run("scenario", "--methods", "PM", "--kind", "boolean", *SMALL, "--seed", seed).stdout
        for seed in ("5", "5", "6")
    )
    assert first == again != other


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--methods", "SaED"], "'SaED'.*'SaDE'"),
        (["--methods", "JADE"], "JADE .*does not select"),
        (["--methods", ","], "at least one method"),
        (["--methods", "no.toml"], "no.toml: .*not found"),
        (["--kind", "gauss"], "scenario 'gauss'.* uniform, boolean, outlier"),
        (["--operators", "1"], "operators.* 1.* 2"),
        (["--methods", "RecPM", "--operators", "12"], "p_min .*below 1/K"),
        (["--every", "0"], "every.* 0"),
        (["--steps", "x"], "--steps.*integer"),
        (["--repetitions", "0"], "repetitions is 0; .*integer"),
        (["--seed", "-1"], "seed is -1; .*integer"),
        (["--jobs", "0"], "jobs.* 0"),
        (["--plot", "x.gif"], r"x\.gif.*\.png"),
        (["--plot", "no/x.png"], "no/x.png .*written"),
    ],
)
def test_bad_input_ends_with_exit_code_2_and_a_clear_line(
    arguments: list[str], message: str, tmp_path: Path
) -> None:
    done = run("scenario", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert re.search(message, done.stderr)
    assert not list(tmp_path.iterdir())


def test_help_has_an_example_that_runs() -> None:
    shown = " ".join(run("scenario", "--help").stdout.split())
    example = re.search(r"Example: uaos (scenario .*?) --plot", shown)
    assert example
    assert run(*example[1].split(), *SMALL[:4]).returncode == 0


def test_a_terminal_sees_progress_and_ctrl_c_ends_it() -> None:
    command = ["scenario", "--repetitions", "100000", "--jobs", "1"]
    done = interrupted(*command, when=lambda shown: "/100000" in shown)
    assert done.returncode == 130
    assert "interrupted" in done.shown
    assert "Traceback" not in done.shown


def test_methods_are_replayed_on_recorded_runs() -> None:
    """The table has a row per method, and what could be known afterwards."""
    done = run("scenario", "--recorded", "--methods", "uniform")
    rows = [line.split("  ")[0] for line in done.stdout.splitlines()]
    assert rows[:4] == [
        "method",
        "uniform",
        "best single operator",
        "best operator of each quarter",
    ]
    assert "place of 25,200" in done.stdout
    assert "recorded runs of each host, version 1, seed 1." in done.stdout


def test_the_place_of_a_method_is_that_among_published_ones() -> None:
    """ADOPP has the best score of the 27 on the recorded runs."""
    done = run("scenario", "--recorded", "--methods", "ADOPP")
    row = next(line for line in done.stdout.splitlines() if line.startswith("ADOPP"))
    assert row.replace("±", " ").split()[5] == "1"


@pytest.mark.parametrize("option", [("--plot", "x.png"), ("--kind", "boolean"), ("--jobs", "2")])
def test_options_of_simulated_operators_do_not_apply_to_recorded_runs(
    option: tuple[str, str],
) -> None:
    done = run("scenario", "--recorded", *option)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: --recorded does not accept {option[0]}; ")


def test_a_seed_that_recorded_runs_cannot_have_is_refused() -> None:
    done = run("scenario", "--recorded", "--methods", "uniform", "--seed", "-1")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("error: seed is -1; expected an integer >= 0")


SELECTORS = """
import numpy as np

class First:
    def __init__(self, n_operators, rng, budget):
        self.n_operators = n_operators
    def select(self, n):
        return np.zeros(n, int)
    def update(self, operators, parent_fitness, offspring_fitness):
        pass

class Beyond(First):
    def select(self, n):
        return np.full(n, self.n_operators)

class Failing(First):
    def update(self, operators, parent_fitness, offspring_fitness):
        raise KeyError("lost")

class Half:
    select = None
"""


def test_a_class_of_a_file_is_replayed_on_recorded_runs(tmp_path: Path) -> None:
    """It gets a row and a place, like a method."""
    (tmp_path / "own.py").write_text(SELECTORS)
    done = run("scenario", "--recorded", "--methods", f"{tmp_path / 'own.py'}:First")
    row = next(line for line in done.stdout.splitlines() if line.startswith("First"))
    assert row.count("±") == 3


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Beyond", "select(20) of Beyond returned array([9, "),
        ("Failing", "own.py, line 18 raised KeyError: 'lost'"),
        ("Half", "Half lacks update; expected a class with select(n) and"),
        ("Missing", "Missing lacks select and update; expected"),
    ],
)
def test_a_class_that_cannot_select_is_refused_in_one_line(
    tmp_path: Path, name: str, message: str
) -> None:
    (tmp_path / "own.py").write_text(SELECTORS)
    done = run("scenario", "--recorded", "--methods", f"{tmp_path / 'own.py'}:{name}")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert message in done.stderr
