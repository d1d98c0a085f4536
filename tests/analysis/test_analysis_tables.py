"""Tables, files, and the command that shows them."""

import csv
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from uaos.analysis import Results, compare, write_csv
from uaos.analysis.tables import printed_dispersion
from uaos.cli import main
from uaos.errors import Missing
from uaos.experiments.store import Outcome


def test_the_overview_counts_what_was_solved(three_methods: Results) -> None:
    (section,) = compare(three_methods).sections
    table = section.tables[0]
    assert table.columns == (
        "method", "separable", "moderate", "all", "ECDF area", "with restarts", "mean rank",
    )  # fmt: skip
    assert [row[:4] for row in table.rows] == [
        ("good", "10/10", "10/10", "20/20"),
        ("uniform", "5/10", "5/10", "10/20"),
        ("bad", "0/10", "0/10", "0/20"),
    ]
    assert [row[-1] for row in table.rows] == ["1.00", "2.00", "3.00"]
    areas = [float(row[4]) for row in table.rows]
    assert areas == sorted(areas, reverse=True)


def test_files_hold_the_numbers_themselves(three_methods: Results, tmp_path: Path) -> None:
    paths = write_csv(compare(three_methods).tables, tmp_path / "new" / "folder")
    assert [p.name for p in paths] == ["overview.csv", "art.csv", "pairs.csv", "ranks.csv"]
    with paths[1].open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 3 * 7
    row = next(r for r in rows if r["method"] == "good" and r["target"] == "1e-07")
    # Runs end at 201 … 210 and reach 1e-7 five targets before: 200.5 on average.
    assert float(row["art"]) == 200.5
    assert float(row["ratio"]) == 200.5 / 43


def test_two_dimensions_are_two_sections_and_one_file(made: Callable[..., Outcome],
                                                      tmp_path: Path) -> None:  # fmt: skip
    results = Results.from_outcomes([made(dimension=d, instance=i) for d in (2, 5) for i in (1, 2)])
    comparison = compare(results)
    assert [s.dimension for s in comparison.sections] == [2, 5]
    paths = write_csv(comparison.tables, tmp_path)
    assert len([p for p in paths if p.name == "art.csv"]) == 1
    assert len(paths[1].read_text().splitlines()) == 1 + 2 * 7


def test_what_has_to_be_known_about_the_data_is_said(made: Callable[..., Outcome]) -> None:
    outcomes = [made("A", 1, 1), made("A", 1, 2), made("B", 1, 1, budget=500)]
    outcomes.append(made("B", 1, 2, status="failed"))
    (section,) = compare(Results.from_outcomes(outcomes)).sections
    assert section.notes == (
        "Tests and ranks take the 1 of 2 problems that every method was run on.",
        "The budgets differ: 500 for B; 1,000 for A.",
        "1 unit of B failed, and is in no number here.",
    )


def test_markdown_has_the_verdict_and_every_table(three_methods: Results) -> None:
    text = compare(three_methods).to_markdown()
    assert text.startswith("## 20-D\n\n**Does adapting pay? Yes")
    assert text.count("\n### ") == 4
    assert "| 1 | good |" in text
    assert "| good | 10/10 | 10/10 | 20/20 |" in text


def test_without_a_finished_run_there_is_nothing_to_compare(made: Callable[..., Outcome]) -> None:
    with pytest.raises(Missing, match="there are no finished runs .* to compare; 1 failed"):
        compare(Results.from_outcomes([made(status="failed")]))


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.0, "0"), (0.34, "0.3"), (0.009, "0.009"), (2.4, "2"), (9.7, "10"), (368.2, "368")],
)
def test_dispersions_are_short(number: float, text: str) -> None:
    assert printed_dispersion(number) == text


# The command


class Done(NamedTuple):
    returncode: int | str | None
    stdout: str
    stderr: str


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    def run(*arguments: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["uaos", "compare", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return Done(ended.value.code, *capsys.readouterr())

    return run


@pytest.fixture
def store(made: Callable[..., Outcome], make_store: Callable[..., Path]) -> Path:
    rng = np.random.default_rng(1)
    return make_store([
        made(m, f, i, solved_at=int(rng.integers(100, 900)) + 100 * (m == "uniform"))
        for m in ("JADE", "RecPM-tuned", "uniform") for f in (1, 8, 15) for i in (2, 3, 4)
    ])  # fmt: skip


def test_the_command_shows_all_and_writes_files(
    run: Callable[..., Done], store: Path, tmp_path: Path
) -> None:
    done = run(store, "--against-paper", "--csv", tmp_path / "csv", "--markdown", tmp_path / "a.md")
    assert done.returncode == 0, done.stderr
    for part in ("Does adapting pay?", "aRT divided by that of best2009", "Pairwise Wilcoxon",
                 "Mean ranks", "Against the published table", "RecPM-tuned: our aRT ratio",
                 "runs beside 39 published"):  # fmt: skip
        assert part in done.stdout
    assert len(list((tmp_path / "csv").iterdir())) == 7
    assert (tmp_path / "a.md").read_text().startswith("## 20-D")


def test_the_command_filters_methods_and_functions(run: Callable[..., Done], store: Path) -> None:
    done = run(store, "--methods", "JADE", "--functions", "1,8")
    assert done.returncode == 0
    assert "RecPM-tuned" not in done.stdout
    assert "uniform" in done.stdout
    assert "multi-modal" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--functions", "0-3"], "numbers 1 to 24"),
        (["--functions", "x"], "numbers 1 to 24"),
        (["--functions", "24"], "there are no finished runs of these"),
        (["--methods", "JAED"], "did you mean 'JADE'"),
        (["--csv", "{store}"], "a folder, new or not"),
        (["--markdown", "no/such/folder.md"], "a file in a folder that exists"),
        (["--seed", "-1"], "seed"),
        (["{here}/other.sqlite"], "there is no such file"),
        (["{here}/text.sqlite"], "not a store of uaos"),
    ],
)
def test_bad_input_ends_in_one_line(
    run: Callable[..., Done], store: Path, arguments: list[str], message: str
) -> None:
    (store.parent / "text.sqlite").write_text("not a database\n" * 20)
    done = run(store, *(a.format(store=store, here=store.parent) for a in arguments))
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    if "seed" not in message:
        assert len(done.stderr.splitlines()) == 1


def test_the_paper_needs_one_of_its_methods(
    run: Callable[..., Done], made: Callable[..., Outcome], make_store: Callable[..., Path]
) -> None:
    done = run(make_store([made("mix"), made("uniform")]), "--against-paper")
    assert done.returncode == 2
    assert "20-D runs of RecPM-tuned, JADE, U-AOS-FW" in done.stderr
