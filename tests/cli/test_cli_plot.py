"""`uaos plot`: one command, one figure; what does not fit is said in a line."""

import re
from pathlib import Path

import pytest
from command_line import run
from figure_cases import ONE_FILE, experiment, tuning
from figure_cases import run as outcome

from uaos.experiments import Plan, Store
from uaos.experiments.unit import Finished
from uaos.problems import suite

KINDS = (
    "ecdf-overall", "ecdf-groups", "ecdf-functions", "convergence", "art-ratio", "ranks",
    "operators",
)  # fmt: skip
TUNING_KINDS = ("tuning-frequencies", "tuning-survival", "tuning-importance")
RUN = ("--method", "SaDE", "--function", "8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stores of a small experiment and of a small tuning."""
    place = tmp_path_factory.mktemp("stores")
    experiment(place / "mine.db", "SaDE", "JADE")
    tuning(place / "tuned.db")
    (place / "notes.txt").write_text("not a store")
    return place


def plot(folder: Path, tmp_path: Path, *arguments: str) -> str:
    """Run the command in an empty folder; what it printed."""
    stores = {name: str(folder / name) for name in ("mine.db", "tuned.db")}
    done = run("plot", *(stores.get(a, a) for a in arguments), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("kind", [*KINDS, *TUNING_KINDS])
def test_every_kind_is_drawn(kind: str, folder: Path, tmp_path: Path) -> None:
    store = "tuned.db" if kind in TUNING_KINDS else "mine.db"
    options = RUN if kind == "operators" else ()
    said = plot(folder, tmp_path, kind, store, "-o", "x.svg", "--width", "4", *options)
    assert re.fullmatch(rf"drawn: x\.svg \({kind}, 4 × [\d.]+ inches\)\n", said)
    assert (tmp_path / "x.svg").read_text().startswith("<?xml")
    assert [p.name for p in tmp_path.iterdir()] == ["x.svg"]
    plot(folder, tmp_path, kind, store, "-o", "x.svg", *options)  # its own output is replaced


@pytest.mark.parametrize("kind", [*KINDS, *TUNING_KINDS])
def test_a_file_that_uaos_did_not_write_stays(kind: str, folder: Path, tmp_path: Path) -> None:
    store = "tuned.db" if kind in TUNING_KINDS else "mine.db"
    options = RUN if kind == "operators" else ()
    photo = tmp_path / "photo.png"
    photo.write_bytes(b"\x89PNG of something else")
    arguments = ("plot", kind, str(folder / store), "-o", str(photo), *options)
    done = run(*arguments)
    assert done.returncode == 2
    assert "was not written by uaos" in done.stderr
    assert photo.read_bytes() == b"\x89PNG of something else"
    if kind == "ranks":
        assert run(*arguments, "--overwrite").returncode == 0


def test_underscores_do_as_in_python(folder: Path, tmp_path: Path) -> None:
    plot(folder, tmp_path, "art_ratio", "mine.db", "-o", "x.pdf", "--target", "1e-3")
    assert (tmp_path / "x.pdf").read_bytes().startswith(b"%PDF")


def test_a_color_kept_for_a_method_of_other_files_is_mentioned(
    folder: Path, tmp_path: Path
) -> None:
    done = run("plot", "ranks", str(folder / "mine.db"), "-o", str(tmp_path / "x.svg"),
               "--order", "JADE,mine")  # fmt: skip
    assert done.returncode == 0
    assert "mine is in none of these files" in done.stdout
    assert "JADE is in none" not in done.stdout


def test_options_reach_the_figure(folder: Path, tmp_path: Path) -> None:
    plot(folder, tmp_path, "ecdf-overall", "mine.db", "-o", "x.svg", "--methods", "JADE",
         "--no-restarts", "--font", "serif", "--dim", "20", "--order", "JADE,SaDE")  # fmt: skip
    drawn = (tmp_path / "x.svg").read_text()
    assert "JADE" in drawn
    assert "SaDE" not in drawn
    assert "STIXGeneral" in drawn
    assert "#0072b2" in drawn  # the first color, as asked for
    plot(folder, tmp_path, "operators", "mine.db", "-o", "y.svg", *RUN, "--instance", "2")
    assert "SaDE on f8 Rosenbrock i2 20-D" in (tmp_path / "y.svg").read_text()


def test_several_files_are_one_figure(folder: Path, tmp_path: Path) -> None:
    other = experiment(tmp_path / "other.db", "SHADE")
    plot(folder, tmp_path, "ranks", "mine.db", str(other), "-o", "x.svg")
    assert {"SaDE", "JADE", "SHADE"} <= set(re.findall(r"S?HADE|SaDE|JADE", _text(tmp_path)))


def _text(tmp_path: Path) -> str:
    return (tmp_path / "x.svg").read_text()


def test_a_file_alone_lists_what_fits_it(folder: Path, tmp_path: Path) -> None:
    for store, kinds in (("mine.db", KINDS), ("tuned.db", TUNING_KINDS)):
        said = plot(folder, tmp_path, store)
        assert re.findall(r"^uaos plot (\S+) ", said, re.MULTILINE) == list(kinds)


def test_without_arguments_all_figures_are_listed(tmp_path: Path) -> None:
    said = run("plot", cwd=tmp_path).stdout
    names = re.findall(r"^uaos plot (\S+) ", said, re.MULTILINE)
    assert names == [*KINDS, *TUNING_KINDS, "literature"]


def test_the_figure_of_the_catalogue_needs_no_file(tmp_path: Path) -> None:
    done = run("plot", "literature", "-o", str(tmp_path / "x.svg"))
    assert done.returncode == 0, done.stderr
    assert "parent_improvement" in _text(tmp_path)


def test_a_figure_of_ones_own_is_imported(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "counts.py").write_text(ONE_FILE)
    own = ("--import", str(tmp_path / "counts.py"), "plot")
    assert "uaos plot run-counts STORE -o FILE" in run(*own).stdout
    done = run(*own, "run-counts", str(folder / "mine.db"), "-o", str(tmp_path / "x.svg"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "x.svg").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("ecdf-overal mine.db -o x.png", "figure 'ecdf-overal'.*'ecdf-overall'"),
        ("ranks tuned.db -o x.png", "tuned.db .*tuning.* ranks "
         ".*: tuning-frequencies, tuning-survival, tuning-importance$"),
        ("tuning-survival mine.db -o x.png",
         "mine.db .*benchmark.* tuning-survival .*: ecdf-overall, "),
        ("tuning-survival tuned.db tuned.db -o x.png", "2 stores .*tuning"),
        ("tuning-survival tuned.db -o x.png --tuning 7", "tuning 7; .* 1$"),
        ("ranks", "ranks .*`uaos bench`"),
        ("tuning-survival", "tuning-survival .*`uaos tune`"),
        ("ranks notes.txt -o x.png", "notes.txt: not a store of uaos"),
        ("notes.txt", "notes.txt: not a store of uaos"),
        ("ranks no.db -o x.png", "no.db: .*not found"),
        ("no.db", "no.db: .*not found"),
        ("ranks mine.db", "-o .*.png, .svg or .pdf"),
        ("ranks mine.db -o x.gif", "x.gif .*.png, .svg or .pdf"),
        ("ranks mine.db -o no/x.png", "no/x.png .*written"),
        ("ranks mine.db -o x.png --width wide", "width .*'wide'.* inches"),
        ("ranks mine.db -o x.png --width 1", "width .*'1'.* 3 to 40"),
        ("ranks mine.db -o x.png --font Arial", "font 'Arial'.* sans, serif"),
        ("ranks mine.db -o x.png --dim 5", "dimension 5.* 20"),
        ("ranks mine.db -o x.png --methods SaED", "method 'SaED'.*'SaDE'"),
        ("ranks mine.db -o x.png --function 3", "ranks .*--function.* operators$"),
        ("ranks mine.db -o x.png --methods JADE", "two methods.* JADE"),
        ("operators mine.db -o x.png --order JADE", "operators .*--order"),
        # 10^0.6 and 10^0.4 are 3.98 and 2.51; the logarithm of 3 is 0.477
        ("art-ratio mine.db -o x.png --target 3", "target 3 .* 2.5118864$"),
        ("operators mine.db -o x.png --method JADE", "Missing option --function"),
        ("operators mine.db -o x.png --function 1", "Missing option --method"),
        ("operators mine.db -o x.png --method JDE --function 1", "method 'JDE'"),
        ("operators mine.db -o x.png --method JADE --function 3", "f3 .* JADE.* f1, f8$"),
        ("operators mine.db -o x.png --method JADE --function 8 --instance 9",
         "instance 9 .* JADE.* f8.* 1, 2$"),
        ("operators mine.db -o x.png --method JADE --problem x", "problem x "),
        ("ranks mine.db -o mine.db", "mine.db .*.png, .svg or .pdf"),
    ],
)  # fmt: skip
def test_bad_input_ends_with_exit_code_2_and_a_clear_line(
    arguments: str, message: str, folder: Path, tmp_path: Path
) -> None:
    known = {p.name: str(p) for p in folder.iterdir()}
    done = run("plot", *(known.get(a, a) for a in arguments.split()), cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert re.search(message, done.stderr.strip())
    assert not list(tmp_path.iterdir())


def test_several_dimensions_need_a_choice(tmp_path: Path) -> None:
    path = experiment(tmp_path / "mine.db", "SaDE", "JADE")
    plan = Plan.of(
        ["SaDE"],
        suite("bbob", functions="1", instances="1", dimension=5),
        uniform=False,
        budget=9999,
    )
    with Store.create_or_resume(path, plan) as store:
        store.record([Finished(outcome("SaDE", 1, 1, 1.0, 5), None)])
    done = run("plot", "ranks", str(path), "-o", str(tmp_path / "x.png"))
    assert done.returncode == 2
    assert re.search("--dim.* 5, 20", done.stderr)


def test_help_has_examples() -> None:
    shown = " ".join(run("plot", "--help").stdout.split())
    assert "uaos plot ecdf-overall mine.db -o ecdf.pdf" in shown
    assert "uaos plot operators mine.db -o run.pdf --method mix --function 8" in shown
