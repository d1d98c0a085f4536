"""Tables: one type for terminal, Markdown, LaTeX, HTML and CSV; and `uaos compare`."""

import csv
import io
import math
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from outcome_results import results_of
from raising import raises
from rich.console import Console

from uaos.analysis import AverageRunningTime, Results, compare, comparison, section, write_csv
from uaos.analysis.tables import _art_cell, art_table, dispersion, rank_table
from uaos.cli import main
from uaos.errors import InvalidParameter
from uaos.experiments.unit import Outcome
from uaos.table import BLOCK, METHOD, NUMBER, TEXT, Cell, Row, Table
from uaos.text import join_names, large, p_value, ranges, typeset


@pytest.fixture
def table() -> Table:
    return Table.of(
        "t", "Times & more",
        {"f": BLOCK, "method": METHOD, "aRT": NUMBER},
        [
            ["f1", Cell("a_b", "a_b"), Cell("1.2e4", 12000.0, "(0.5)", (("★", 3),), bold=True)],
            Row((Cell("f1"), Cell("B|C", "B|C"), Cell("∞", math.inf, warning=True)), "reference"),
            ["f2", Cell("<B>", "<B>"), Cell("–", math.nan)],
        ],
        [{"method": "a_b", "art": 12000.0}, {"method": "B, C", "art": math.inf}],
        note="∞: p < 0.05",
    )  # fmt: skip


def test_a_table_in_markdown(table: Table) -> None:
    assert table.to_markdown().splitlines() == [
        "### Times & more", "", "| f | method | aRT |", "| :-- | :-- | --: |",
        "| f1 | a_b | **1.2e4★³ (0.5)** |", "| f1 | B\\|C | ∞ ! |", "| f2 | <B> | – |", "",
        "∞: p < 0.05",
    ]  # fmt: skip


def test_a_table_in_latex(table: Table) -> None:
    text = table.to_latex()
    assert r"\caption{Times \& more}\label{tab:t}" in text
    assert r"\begin{tabular}{llr}" in text
    assert r"f1 & a\_b & \textbf{1.2e4}$^{\star3}$ {\footnotesize (0.5)} \\" in text
    # the word that heads a block stands once, and a rule parts the blocks
    assert r" & B|C & $\infty$\,! \\" in text
    assert text.count(r"\midrule") == 2
    long = Table.of("l", "Long", {"n": NUMBER}, [[str(i)] for i in range(50)])
    assert r"\begin{longtable}{r}" in long.to_latex()


def test_a_table_in_html(table: Table) -> None:
    made = table.to_html()
    assert '<th scope="row" class="words">f1</th>' in made
    assert '<td class="best" data-sort="12000.0">1.2 × 10⁴<small> (0.5)</small>' in made
    assert '<span class="star" title="p &lt; 1e-3">★³</span>' in made
    assert '<tr class="reference">' in made
    assert '<td class="never warning" data-sort="inf">∞ !</td>' in made
    assert '<td data-sort="">–</td>' in made
    assert "&lt;B&gt;" in made
    assert "<B>" not in made
    assert made.count("data-column") == 3
    assert 'data-csv="t"' in made
    assert 'data-csv="t"' not in table.to_html(download=False)


def test_names_of_methods_are_shown_as_told() -> None:
    row = [Cell("A, B"), Cell("A, B", "A, B")]
    made = Table.of("t", "T", {"several": METHOD, "one": METHOD}, [row]).to_html(
        method=lambda name: f"[{name}]"
    )
    assert "[A], [B]</th>" in made
    assert "[A, B]</td>" in made


def test_a_table_in_a_terminal(table: Table) -> None:
    def shown(width: int) -> str:
        console = Console(width=width, file=io.StringIO())
        console.print(table.to_rich(width))
        return console.file.getvalue()

    assert "1.2e4★³ (0.5)" in shown(120)
    assert "(0.5)" not in shown(80)  # a narrow one does without the small print
    assert shown(120).count("f1") == 1


def test_records_come_back_from_csv(table: Table) -> None:
    assert list(csv.DictReader(io.StringIO(table.to_csv()))) == [
        {"method": "a_b", "art": "12000.0"}, {"method": "B, C", "art": "inf"},
    ]  # fmt: skip
    assert Table.of("t", "T", {"x": TEXT}, []).to_csv() == ""


def test_csv_files_of_others_are_not_replaced(table: Table, tmp_path: Path) -> None:
    (path,) = write_csv([table], tmp_path)
    before = path.read_text()
    write_csv([table], tmp_path)  # its own columns
    path.write_text("mine,only\n1,2\n")
    with raises(InvalidParameter, name="output"):
        write_csv([table], tmp_path)
    write_csv([table], tmp_path, overwrite=True)
    assert path.read_text() == before


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (ranges([f"f{i}" for i in range(1, 25)]), "f1–f24"),
        (ranges(["f10", "f8", "f1", "f9"]), "f1, f8–f10"),
        (ranges([8, 4, 3, 1]), "1, 3–4, 8"),
        (ranges(["valley", "bowl"]), "bowl, valley"),
        (ranges([]), ""),
        (join_names(["A"]), "A"),
        (join_names(["A", "B", "C"], "or"), "A, B or C"),
        (typeset("p = 1e-05 of 1,560"), "p = 10⁻⁵ of 1\u202f560"),
        (typeset("curr-to-best/1e3x"), "curr-to-best/1e3x"),
        (p_value(0.0504), "0.0504"),
        (p_value(math.nan), "–"),
        (large(1.94e6), "1.94 million"),
        (large(1.6e9), "1.6e9"),
    ],
)
def test_names_and_numbers_as_text(written: str, expected: str) -> None:
    assert written == expected


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (0.00004, "4e-05"), (0.032, "0.03"), (0.5, "0.5"), (4.4, "4"), (9.6, "10"),
     (27.4, "27"), (368.2, "368")],
)  # fmt: skip
def test_dispersions_are_short(number: float, text: str) -> None:
    assert dispersion(number) == text


def test_whole_numbers_of_evaluations_have_no_decimals() -> None:
    def text(art: float, reference: float) -> str:
        return _art_cell(
            AverageRunningTime("A", "f1", 2, 1.0, art, 2, 2, 1.0, 1.0, reference), (), False
        ).text

    assert [text(art, np.nan) for art in (1.0, 3.0, 2.5, 12.0)] == ["1", "3", "2.5", "12"]
    assert text(3.0, np.inf) == "3 ev."
    assert text(3.0, 1.0) == "3.0"  # a ratio, as COCO writes it


# The tables of a comparison


def test_the_overview_counts_what_was_solved(three_methods: Results) -> None:
    (one,) = compare(three_methods).sections
    table = one.tables[0]
    assert table.titles == (
        "method", "separable", "moderate", "all", "ECDF area", "with restarts", "mean rank",
    )  # fmt: skip
    rows = table.texts()
    assert [row[:4] for row in rows] == [
        ("good", "10/10", "10/10", "20/20"),
        ("uniform", "5/10", "5/10", "10/20"),
        ("bad", "0/10", "0/10", "0/20"),
    ]
    assert [row[-1] for row in rows] == ["1.00", "2.00", "3.00"]
    areas = [float(row[4]) for row in rows]
    assert areas == sorted(areas, reverse=True)


def test_too_many_methods_are_refused(
    three_methods: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All pairs of methods are tested, so that their number is limited: here 3 methods of 2."""
    monkeypatch.setattr(comparison, "MOST_METHODS", 2)
    with pytest.raises(InvalidParameter, match="3 methods are too many to compare all pairs"):
        compare(three_methods)
    assert compare(three_methods, focus=three_methods.methods[0]).sections


def test_running_times_are_relative_to_the_reference(three_methods: Results) -> None:
    table = art_table(section(three_methods))
    first, good, uniform, bad = table.rows[:4]
    assert (first.kind, first.cells[1].plain) == ("reference", "best 2009 sphere")
    assert [c.text for c in first.cells[2:-1]] == ["43"] * 7
    # Runs end at 201 … 210 and reach 1e-7 five targets before: 200.5 of 43 on average.
    assert good.cells[-2].text == "4.7"
    assert good.cells[-2].bold
    assert good.cells[-2].marks == (("★", 3),)
    assert bad.cells[-2].text == "∞"
    # ten runs of 100 … evaluations are faster than best 2009's 2,039 on f8: p = 2 / 2^10, times 2
    assert ("↓", 2) in table.rows[5].cells[2].marks
    assert uniform.filters == {"function": "f1", "group": "separable", "method": "uniform"}


def test_without_a_reference_running_times_are_evaluations(three_methods: Results) -> None:
    table = art_table(section(Results(three_methods.runs, suite="mine")))
    assert "in evaluations" in table.title
    assert "best 2009" not in table.to_markdown()
    assert table.rows[0].cells[-2].text == "200"
    assert "ratio" not in table.records[0]


def test_own_problems_are_compared_one_by_one(made: Callable[..., Outcome]) -> None:
    """A's errors are 1 to 5 and B's 11 to 15 on each of two problems: 2/252 < 0.05 / 2."""
    results = results_of(
        [made(m, f, repetition=r, error=e + r)
         for m, e in (("A", 0.0), ("B", 10.0)) for f in (1, 8) for r in range(1, 6)], suite="mine",
    )  # fmt: skip
    tables = {t.name: t for t in compare(results).tables}
    assert tables["pairs"].rows[0].cells[-1].text == "2/0/0"
    assert tables["pairs"].records[0]["problems_better"] == 2
    # the mean of 1 to 5, and the root of (4 + 1 + 0 + 1 + 4) / 4
    first = [cell.text for cell in tables["values"].rows[0].cells]
    assert first[1:] == ["A", "1", "3", "5", "3", "1.6", "5"]
    (_, note) = compare(results).sections[0].section.notes[-1].split("; ")
    assert note == (
        "more problems are needed, or --focus METHOD, which tests by all runs. The table of pairs "
        "has tests on single problems."
    )


def test_ranks_and_pairs_rest_on_the_same_test(three_methods: Results) -> None:
    part = section(three_methods)
    against = {row[0]: row[2] for row in rank_table(part).texts()}
    assert against == {"good": "", "uniform": "worse", "bad": "worse"}
    assert all(part.pairs.pair("good", m).better == "good" for m in ("uniform", "bad"))


def test_files_hold_the_numbers_themselves(three_methods: Results, tmp_path: Path) -> None:
    paths = write_csv(compare(three_methods).tables, tmp_path / "new" / "folder")
    assert [p.name for p in paths] == [
        "overview.csv", "art.csv", "groups.csv", "pairs.csv", "ranks.csv", "adapting.csv",
    ]  # fmt: skip
    with paths[1].open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 3 * 7
    row = next(r for r in rows if r["method"] == "good" and r["target"] == "1e-07")
    assert float(row["art"]) == 200.5
    assert float(row["ratio"]) == 200.5 / 43


def test_two_dimensions_are_two_sections_and_one_file(
    made: Callable[..., Outcome], tmp_path: Path
) -> None:
    results = results_of([made(dimension=d, instance=i) for d in (2, 5) for i in (1, 2)])
    comparison = compare(results)
    assert [s.section.dimension for s in comparison.sections] == [2, 5]
    paths = write_csv(comparison.tables, tmp_path)
    assert len([p for p in paths if p.name == "art.csv"]) == 1
    assert len(paths[1].read_text().splitlines()) == 1 + 2 * 7


def test_what_has_to_be_known_about_the_data_is_noted(made: Callable[..., Outcome]) -> None:
    outcomes = [made("A", 1, 1), made("A", 1, 2), made("B", 1, 1, budget=500)]
    outcomes.append(made("B", 1, 2, status="failed"))
    (one,) = compare(results_of(outcomes)).sections
    assert one.notes == (
        "Tests and ranks use the 1 of 2 problems that every method was run on.",
        "B was run on 1 of 2 problems.",
        "With 1 problem, no difference among 2 methods can be significant; more problems are "
        "needed.",
        "The budgets differ: 1,000 for A; 500 for B.",
        "1 run of B failed and is not included.",
    )


def test_markdown_has_the_findings_and_every_table(three_methods: Results) -> None:
    text = compare(three_methods).to_markdown()
    assert text.startswith("## 20-D\n\n**good did best: it is significantly better than every")
    assert "Does adapting pay? Yes" in text
    assert text.count("\n### ") == 6
    assert "| good | **10/10** | **10/10** | **20/20** |" in text


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
    files = [tmp_path / name for name in ("csv", "a.md", "a.tex")]
    options = ("--against-paper", "--archive", "HCMA", "--csv", files[0], "--markdown", files[1],
               "--latex", files[2])  # fmt: skip
    for _ in range(2):  # its own output may be replaced
        done = run(store, *options)
        assert done.returncode == 0, done.stderr
    for part in ("Does adapting pay?", "divided by that of best 2009", "Pairwise Wilcoxon",
                 "Mean ranks", "Against the published table", "RecPM-tuned: our aRT ratio",
                 "HCMA (archive)"):  # fmt: skip
        assert part in done.stdout
    assert re.search(r"We have \d runs, the published table 39", " ".join(done.stdout.split()))
    assert len(list(files[0].iterdir())) == 11
    assert files[1].read_text().startswith("<!-- made with uaos -->\n\n## 20-D")
    assert files[2].read_text().count(r"\toprule") >= 11


def test_the_command_filters_methods_and_functions(run: Callable[..., Done], store: Path) -> None:
    done = run(store, "--methods", "JADE", "--functions", "1,8")
    assert done.returncode == 0
    assert "RecPM-tuned" not in done.stdout
    assert "uniform" in done.stdout
    assert "multi-modal" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--functions", "24"], "unknown function '24'"),
        (["--functions", "x"], "unknown function 'x'"),
        (["--methods", "JAED"], "did you mean 'JADE'"),
        (["--archive", "HCAM"], "did you mean 'HCMA'"),
        (["--csv", "{store}"], "a folder, which may be new"),
        (["--markdown", "no/such/folder.md"], "a file in a folder that exists"),
        (["--markdown", "a.pdf"], "must end in .md, .markdown or .txt"),
        (["--markdown", "{here}/notes.md"], "was not written by uaos"),
        (["--latex", "{here}/store.tex"], "is a store, which is never replaced"),
        (["--latex", "{store}"], "must end in .tex"),
        (["--seed", "-1"], "seed"),
        (["{here}/other.sqlite"], "file not found; check the path"),
        (["{here}/text.sqlite"], "not a store of uaos"),
    ],
)
def test_bad_input_ends_in_one_line(
    run: Callable[..., Done], store: Path, arguments: list[str], message: str
) -> None:
    here = store.parent
    (here / "text.sqlite").write_text("not a database\n" * 20)
    (here / "notes.md").write_text("## My notes\n")
    (here / "store.tex").write_bytes(store.read_bytes())
    before = {p.name: p.read_bytes() for p in here.iterdir() if p.is_file()}
    done = run(store, *(a.format(store=store, here=here) for a in arguments))
    assert done.returncode == 2
    assert re.search(re.escape(message), done.stderr)
    assert "Traceback" not in done.stderr
    if "seed" not in message:
        assert len(done.stderr.splitlines()) == 1
    assert {p.name: p.read_bytes() for p in here.iterdir() if p.is_file()} == before


def test_an_input_is_never_replaced(run: Callable[..., Done], store: Path) -> None:
    link = store.with_name("link.md")
    link.symlink_to(store)
    done = run(store, "--markdown", link, "--overwrite")
    assert done.returncode == 2
    assert "is one of the inputs" in done.stderr


def test_the_paper_needs_one_of_its_methods(
    run: Callable[..., Done], made: Callable[..., Outcome], make_store: Callable[..., Path]
) -> None:
    done = run(make_store([made("mix"), made("uniform")]), "--against-paper")
    assert done.returncode == 2
    assert "20-D runs of U-AOS-FW, RecPM-tuned, PM-AdapSS-tuned" in done.stderr


def test_a_table_of_many_pages_is_left_out_of_print() -> None:
    few, many = (
        Table.of("rows", "Rows", {"row": "number"}, [[k] for k in range(n)]).to_html()
        for n in (150, 151)
    )
    assert "unprinted" not in few
    assert "unprinted" in many
    assert "Rows: 151 rows, not printed." in many
