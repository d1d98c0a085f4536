"""The command line shows what the library knows, and never a traceback."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import OWN_REWARD, run
from terminal import interrupted

import uaos


def test_the_catalogue_is_a_table_of_methods_components_and_references() -> None:
    shown = run("methods").stdout
    for name in uaos.methods():
        assert f"\n{name} " in shown
    row = next(line for line in shown.splitlines() if line.startswith("SaDE"))
    assert row.split("  ")[0] == "SaDE"
    for part in ("parent improvement", "success rate", "identity", "Qin et al. (2009)"):
        assert part in row


def test_the_methods_of_a_group_are_listed() -> None:
    shown = run("methods", "tuned").stdout
    assert "U-AOS-FW-inferred" in shown
    assert "SaDE" not in shown


def test_a_recipe_shows_equations_and_values() -> None:
    shown = run("methods", "U-AOS-FW").stdout
    for part in ("gamma = 0.54", "r[op] = s[0,op] / NP", "solve (I − γ P) q = q'", "262"):
        assert part in shown


@pytest.mark.parametrize(
    ("method", "optimizer"),
    [("jSO", "jSO"), ("SaDE", "differential evolution"), ("CMA-ES", "CMA-ES")],
)
def test_a_recipe_names_the_optimizer_of_its_settings(method: str, optimizer: str) -> None:
    assert f"\nsettings of {optimizer}\n" in run("methods", method).stdout


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
        (["methods", "SaED"], "'SaED'.*'SaDE'"),
        (["methods", "nowhere.toml"], "nowhere.toml: .*not found"),
        (["methods", "broken.toml"], "broken.toml: .*TOML"),
        (["methods", "wrong.toml"], "wrong.toml: .*reward 'none'"),
        (["run", "--function", "99"], "function.* 99.* 24"),
        (["run", "--dim", "7"], "dimension.* 7.* 2, 3"),
        (["run", "--method", "JDE"], "'JDE'.*'JADE'"),
        (["methods", "zzz"], "'zzz'.*`uaos methods`"),
        (["run", "--budget", "0"], "budget.*'0'.* evaluations"),
        (["run", "--popsize", "3"], r"popsize.* 3.*\[4, "),
        (["run", "--seed", "-1"], "seed.* -1"),
        (["run", "--plot", "x.gif"], r"x\.gif.*\.png"),
        (["run", "--plot", "no/x.png"], "no/x.png .*written"),
        (["run", "--method", "wrong.toml"], "wrong.toml: .*reward 'none'"),
        (["--import", "no.py", "methods"], "no.py: .*not found"),
        (["--import", "bad.py", "methods"], "bad.py, line 1: .*ZeroDivisionError"),
        (["run", "--plot", "/proc/x.png"], "/proc/x.png: .*written"),
        (["run", "--function", "x"], "--function.*integer"),
        (["run", "--problem", "f"], "--problem needs --suite"),
        (["run", "--suite", "fails.py", "--function", "3"], "fails.py with --problem"),
        (["run", "--suite", "fails.py"], r"f raised ZeroDivisionError.*\(fails.py, line 3\)"),
        (["nothing"], "'nothing'.*uaos --help"),
        (["methods", "--nothing"], "--nothing.*uaos methods --help"),
        (["bench", "a.db", "--workers", "2"], "--workers.*--jobs"),
    ],
)
def test_bad_input_ends_with_exit_code_2_and_a_clear_line(
    arguments: list[str], message: str, tmp_path: Path
) -> None:
    (tmp_path / "broken.toml").write_text("name = ")
    (tmp_path / "bad.py").write_text("1 / 0")
    (tmp_path / "wrong.toml").write_text('[method]\nreward = "none"\n')
    (tmp_path / "fails.py").write_text(
        "import uaos\ndef f(x):\n    return 1 / 0\nuaos_f = uaos.Problem(f, [(0, 1)])\n"
    )
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert re.search(message, done.stderr)


def test_components_of_ones_own_work_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "my_reward.py").write_text(OWN_REWARD)
    (tmp_path / "mine.toml").write_text('[method]\nreward = "share_of_best"\n')
    program = Path(sys.executable).parent / "uaos"
    common = [program, "--import", "my_reward.py"]
    experiment = ["bench", "x.db", "--methods", "mine.toml", "--dim", "2", "--functions", "1",
                  "--instances", "1", "--budget", "200", "--jobs", "1"]  # fmt: skip
    for arguments in (["methods", "mine.toml"], experiment):
        done = subprocess.run(
            [*common, *arguments], capture_output=True, text=True, cwd=tmp_path, check=False
        )
        assert done.returncode == 0, done.stderr
    assert re.search(r"mine +\d +1 +1 +0", done.stdout)  # finished, none failed


@pytest.mark.parametrize("command", ["methods", "run", "bench", "compare"])
def test_help_has_an_example(command: str) -> None:
    assert re.search(rf"Examples?: uaos {command} ", run(command, "--help").stdout)


@pytest.mark.parametrize(
    "program", [[str(Path(sys.executable).parent / "uaos")], [sys.executable, "-m", "uaos"]]
)
def test_the_installed_program_shows_its_version(program: list[str]) -> None:
    done = subprocess.run([*program, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"uaos {uaos.__version__}"


def test_a_run_is_summed_up_and_drawn(tmp_path: Path) -> None:
    done = run(
        "run", "--function", "1", "--dim", "5", "--method", "U-AOS-FW", "--popsize", "30",
        "--seed", "3", "--plot", "run.png", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0
    for part in ("f1 sphere, 5-D, instance 1", "solved: best - f_opt", "rand-to-best/2"):
        assert part in done.stdout
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")


def test_a_run_that_does_not_solve_the_problem_says_so() -> None:
    done = run("run", "--function", "15", "--dim", "10", "--budget", "50D", "--seed", "1")
    assert done.returncode == 0
    assert "not solved: best - f_opt" in done.stdout
    assert "500 evaluations" in done.stdout


SUITE = """
import uaos
def cup(x):
    return float((x**2).sum())
suite = uaos.Suite("cups", [
    uaos.Problem(cup, [(-1, 2)] * d, name=f"cup {d}-D", optimum=0.0 if d == 2 else None)
    for d in (2, 3)
])
"""


def test_a_run_takes_a_problem_of_a_suite_file(tmp_path: Path) -> None:
    (tmp_path / "cups.py").write_text(SUITE)
    common = ("run", "--suite", "cups.py", "--budget", "300", "--seed", "1")
    done = run(*common, "--problem", "cup 2-D", cwd=tmp_path)
    assert re.search(r"problem +cup 2-D, 2-D *\nmethod +portfolio *\n", done.stdout), done.stdout
    assert "solved: best - f_opt" in done.stdout
    done = run(*common, "--problem", "cup 3-D", cwd=tmp_path)
    assert re.search("outcome +best = ", done.stdout), done.stdout
    done = run(*common, cwd=tmp_path)
    assert re.search("--problem.* cup 2-D, cup 3-D$", done.stderr.strip())
    done = run(*common, "--problem", "cup 2-D", "--function", "3", cwd=tmp_path)
    assert re.search("function.*COCO's suites", done.stderr)


def test_the_same_seed_gives_the_same_run(tmp_path: Path) -> None:
    uaos.configuration("JADE").to_toml(tmp_path / "mine.toml")
    common = ("run", "--function", "8", "--dim", "3", "--seed", "5", "--budget", "4000")
    by_name = run(*common, "--method", "JADE").stdout
    by_file = run(*common, "--method", str(tmp_path / "mine.toml")).stdout
    outcome = re.search("outcome.*[0-9]", by_name)
    assert outcome[0] == re.search("outcome.*[0-9]", by_file)[0]


def test_a_terminal_sees_the_run_live_and_ctrl_c_keeps_the_best_so_far() -> None:
    command = ["run", "--function", "15", "--dim", "10", "--budget", "100000000", "--seed", "1"]
    done = interrupted(*command, when=lambda shown: "best - f_opt" in shown)
    assert done.returncode == 130
    assert "of 100,000,000" in done.shown
    assert "interrupted" in done.shown
    assert "Traceback" not in done.shown


def test_ctrl_c_is_answered_by_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("uaos.analysis.Results.read", interrupt)
    assert run("compare", "any.db") == (130, "", "interrupted\n")
