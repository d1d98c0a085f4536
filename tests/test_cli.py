"""The command line shows what the library knows, and never a traceback."""

import subprocess
import sys
from pathlib import Path

import pytest

import uaos


def run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "uaos.cli", *arguments],
        capture_output=True, text=True, cwd=cwd, check=False,
    )  # fmt: skip


def test_the_catalogue_is_a_table_of_methods_components_and_references() -> None:
    shown = run("methods").stdout
    for name in uaos.methods():
        assert f"\n{name} " in shown
    row = next(line for line in shown.splitlines() if line.startswith("SaDE"))
    assert row.split("  ")[0] == "SaDE"
    for part in ("parent improvement", "success rate", "identity", "Qin et al. (2009)"):
        assert part in row


def test_a_recipe_shows_equations_and_values() -> None:
    shown = run("methods", "U-AOS-FW").stdout
    for part in ("gamma = 0.54", "r[op] = s[0,op] / NP", "solve (I − γ P) q = q'", "262"):
        assert part in shown


def test_a_single_operator_has_a_recipe_too() -> None:
    shown = run("methods", "L-SHADE").stdout
    assert "nothing to select" in shown
    assert "18D" in shown


def test_the_components_are_listed_with_their_ranges() -> None:
    shown = run("methods", "--components").stdout
    for family in ("metric", "reward", "quality", "probability", "selection"):
        for name in uaos.components(family):
            assert name in shown
    assert "0.01 to 100, log scale" in shown


def test_a_configuration_file_is_shown_like_a_name(tmp_path: Path) -> None:
    uaos.configuration("RecPM-tuned").to_toml(tmp_path / "mine.toml")
    assert "RecPM-tuned" in run("methods", str(tmp_path / "mine.toml")).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["methods", "SaED"], "unknown method 'SaED'; did you mean 'SaDE'"),
        (["methods", "nowhere.toml"], "nowhere.toml: there is no such file"),
        (["methods", "broken.toml"], "broken.toml: not readable as TOML"),
        (["methods", "wrong.toml"], "wrong.toml: .*unknown reward 'none'"),
        (["nothing"], "No such command 'nothing'"),
        (["methods", "--nothing"], "No such option"),
    ],
)
def test_bad_input_ends_with_exit_code_2_and_a_clear_line(
    arguments: list[str], message: str, tmp_path: Path
) -> None:
    (tmp_path / "broken.toml").write_text("name = ")
    (tmp_path / "wrong.toml").write_text('[method]\nreward = "none"\n')
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    import re

    assert re.search(message, done.stderr)


def test_help_has_an_example_and_the_version_is_shown() -> None:
    assert "Example" in run("methods", "--help").stdout
    assert run("--version").stdout.strip() == f"uaos {uaos.__version__}"
