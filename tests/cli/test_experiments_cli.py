"""`uaos bench`: from a terminal, all that the library does; never a traceback."""

import csv
import os
import re
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import Done
from command_line import run as command
from experiment_stubs import content, small_plan, wait_for
from tuning_cases import AtOnce

from uaos.cli.bench import RunProgress
from uaos.experiments import Progress, Store, run
from uaos.experiments.export import COLUMNS

pytestmark = pytest.mark.usefixtures("quick_workers")

SMALL = ["--functions=1-2", "--dim=2", "--instances=1-2", "--budget=60D", "--jobs=1"]
COMMAND = [sys.executable, "-m", "uaos", "bench"]


def bench(*arguments: object, cwd: Path) -> Done:
    return command("bench", *map(str, arguments), cwd=cwd)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an experiment in it, made by the command."""
    made = tmp_path_factory.mktemp("bench")
    done = bench("a.db", "--methods", "mix,JADE", *SMALL, cwd=made)
    assert done.returncode == 0, done.stderr
    assert "added: uniform" in done.stdout
    assert re.search(r"^mix +\d +4 +4 +0 *$", done.stdout, re.M), done.stdout
    return made


def test_the_command_does_what_the_library_does(folder: Path, tmp_path: Path) -> None:
    plan = small_plan("mix", "JADE", functions="1-2", instances="1-2", uniform=True)
    run(plan, tmp_path / "b.db", jobs=1)
    assert content(tmp_path / "b.db") == content(folder / "a.db")


def test_another_dimension_is_noted(tmp_path: Path) -> None:
    tiny = ("--methods=JADE", "--without-uniform", "--functions=1", "--instances=1",
            "--budget=20D", "--jobs=1")  # fmt: skip
    for more, noted in (("--dim=2", False), ("--dim=2", False), ("--dim=3", True)):
        done = bench("a.db", *tiny, more, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert ("a.db has problems in 2-D; this adds 3-D" in done.stdout) == noted


@pytest.mark.parametrize(
    ("methods", "note"),
    [("SaDE,JADE", "added: SaDE (uniform)\n"), ("JADE", "no control added: none of the methods")],
)
def test_the_controls_that_are_added_are_named(methods: str, note: str, tmp_path: Path) -> None:
    done = bench("a.db", f"--methods={methods}", "--control=uniform", "--without-uniform",
                 "--functions=1", "--instances=1", "--dim=2", "--budget=20D", "--jobs=1",
                 cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert note in done.stdout


def test_a_store_remembers_its_commands(folder: Path, tmp_path: Path) -> None:
    """The store alone continues the experiment, under another name, too."""
    for more in (["--methods", "mix", "--without-uniform"], ["--methods", "JADE"]):
        assert bench("first.db", *more, *SMALL, cwd=tmp_path).returncode == 0
    with Store.open(tmp_path / "first.db") as store:
        commands = store.commands
    connection = sqlite3.connect(tmp_path / "first.db")
    connection.execute("DELETE FROM runs WHERE method = (SELECT id FROM methods LIMIT 1)")
    connection.commit()
    connection.close()
    (tmp_path / "first.db").rename(tmp_path / "moved.db")
    done = bench("moved.db", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("continuing: uaos bench first.db --methods") == 2
    with Store.open(tmp_path / "moved.db") as store:
        assert store.commands == commands
        assert all(tally.done == tally.total == 4 for tally in store.tallies().values())


def test_a_store_without_a_command_cannot_be_continued_alone(tmp_path: Path) -> None:
    """It was filled from Python."""
    run(small_plan("mix", functions="1", instances="1"), tmp_path / "b.db", AtOnce())
    done = bench("b.db", cwd=tmp_path)
    assert done.returncode == 2
    assert "--methods: b.db has no record of a command" in done.stderr


def test_a_store_alone_refuses_options_of_another_experiment(folder: Path) -> None:
    """They would have no effect: the recorded command is repeated."""
    done = bench("a.db", "--repetitions=4", "--budget", "10D", cwd=folder)
    assert done.returncode == 2
    assert "Missing option --methods beside --budget, --repetitions" in done.stderr
    assert bench("a.db", "--retry-failed", "--jobs=1", cwd=folder).returncode == 0


def test_the_status_shows_how_far_it_is(folder: Path) -> None:
    done = bench("--status", "a.db", cwd=folder)
    assert "a.db: suite bbob, seed 1, budget 120 in 2-D" in done.stdout
    assert re.search(r"^JADE +0 +4 +4 +0 *$", done.stdout, re.M), done.stdout


def test_the_outcomes_become_a_table(folder: Path) -> None:
    done = bench("a.db", "--export", "a.csv", cwd=folder)
    assert "written: a.csv" in done.stdout
    with open(folder / "a.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS
    with Store.open(folder / "a.db") as store:
        for row, outcome in zip(rows, store.outcomes(), strict=True):
            assert row["method"] == outcome.method
            assert float(row["error"]) == outcome.error
            assert [int(row[name]) for name in COLUMNS[-61:]] == outcome.hits.tolist()


def test_stores_are_merged(folder: Path, tmp_path: Path) -> None:
    done = bench("--merge", tmp_path / "b.db", "a.db", "a.db", cwd=folder)
    assert "12 finished runs of 2 stores" in done.stdout.replace("\n", " ")
    assert content(tmp_path / "b.db") == content(folder / "a.db")


def test_ctrl_c_ends_with_exit_code_130_and_says_how_to_continue(tmp_path: Path) -> None:
    arguments = ["a.db", "--methods", "mix", "--dim", "20", "--instances", "test", "--jobs", "1",
                 "--budget", "200D"]  # fmt: skip
    process = subprocess.Popen([*COMMAND, *arguments], cwd=tmp_path, stdout=subprocess.PIPE,
                               text=True)  # fmt: skip
    wait_for(process, tmp_path / "a.db", 1)
    os.kill(process.pid, signal.SIGINT)
    shown, _ = process.communicate(timeout=600)
    assert process.returncode == 130
    assert re.search(r"stopped: [1-9]\d* of 624 runs are in a.db; the same command", shown)
    assert [p.name for p in tmp_path.iterdir()] == ["a.db"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("new.db", "Missing option --methods"),
        ("new.db --methods mxi", "'mxi'.*'mix'"),
        ("new.db --methods mix --dim 4", "dimension.* 4.* 2, 3"),
        ("new.db --methods mix --functions 0-3", "functions.*'0-3'"),
        ("new.db --methods mix --instances some", "instances.*'some'"),
        ("new.db --methods mix --budget lots", "budget .*'lots'"),
        ("new.db --methods mix --jobs 0", "jobs .*0.* processes"),
        ("no/new.db --methods mix", "no/new.db: .*folder"),
        (
            "a.db --methods mix --seed 2 --dim 2 --budget 120",
            "a.db holds another.*seed: 1 .* 2 ",
        ),
        ("a.csv.db --status", "a.csv.db: .*not found"),
        ("note.txt --status", "note.txt: not a store of uaos"),
        ("note.txt --methods mix", "note.txt: not a store of uaos"),
        ("a.db --export a.xls", r"a\.xls .*\.csv or \.parquet"),
        ("a.db --export no/a.csv", "no/a.csv .*written"),
        ("a.db b.db --status", "2 stores .*a.db, b.db.*--merge"),
        ("--merge a.db a.db", "a.db exists"),
    ],
)
def test_bad_input_ends_with_exit_code_2_and_a_clear_line(
    arguments: str, message: str, folder: Path
) -> None:
    (folder / "note.txt").write_text("dear diary\n" * 20)
    before = sorted(p.name for p in folder.iterdir())
    done = bench(*arguments.split(), cwd=folder)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert re.search(message, done.stderr), done.stderr
    after = sorted(p.name for p in folder.iterdir())
    # An experiment whose plan was good is there, and waits for workers.
    assert after in (before, sorted({*before, "new.db"}))
    (folder / "new.db").unlink(missing_ok=True)


def test_what_is_not_installed_is_named_with_its_extra(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from uaos.experiments.export import export_table
    from uaos.extras import MissingExtra

    for module in ("cma", "pyarrow"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra):
        run(small_plan("BIPOP-CMA-ES"), tmp_path / "a.db")
    assert not (tmp_path / "a.db").exists()
    with pytest.raises(MissingExtra):
        export_table([], tmp_path / "a.parquet")


def test_without_a_terminal_a_line_says_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("uaos.cli.bench._LINE_SECONDS", 0.0)
    progress = RunProgress()
    for over in (1, 3, 4, 5, 40):
        progress.show(Progress(total=40, over=over, new=over, failed=0))
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["10 %: 4 of 40 runs", "100 %: 40 of 40 runs"]


def test_help_has_an_example(folder: Path) -> None:
    shown = bench("--help", cwd=folder).stdout
    assert "Example" in shown
    for option in ("--methods", "--dask", "--status", "--merge", "--export-coco"):
        assert option in shown
