"""Tables of the README and of docs/results are those of their data files."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
from report_cases import experiment

from uaos import configuration
from uaos.analysis import Results
from uaos.analysis.art import TABLE_TARGETS, reference_time, running_times
from uaos.analysis.tables import coco_number
from uaos.problems import reference

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def made() -> ModuleType:
    spec = importlib.util.spec_from_file_location("made", ROOT / "docs" / "make_results.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pages_show_their_data(made: ModuleType) -> None:
    """Otherwise: python docs/make_results.py"""
    stale = [
        path.name
        for path in made.PAGES
        if made.with_tables(path.read_text("utf-8")) != path.read_text("utf-8")
    ]
    assert stale == []


def test_every_table_is_on_a_page_and_every_data_file_is_used(made: ModuleType) -> None:
    pages = "".join(path.read_text("utf-8") for path in made.PAGES)
    assert all(f"<!-- results: {name} -->" in pages for name in made.TABLES)
    source = Path(made.__file__).read_text("utf-8")
    assert all(f'"{path.stem}"' in source for path in (made.RESULTS / "data").glob("*.csv"))


def test_sentences_say_what_their_data_say(made: ModuleType) -> None:
    assert made.unsaid() == []


def test_a_changed_number_is_noticed(made: ModuleType) -> None:
    page = made.with_tables("<!-- results: summary -->\n<!-- end of results -->\n")
    assert "| mix | 224 |" in page
    assert made.with_tables(page.replace("224", "225")) == page


#: Tables with digits that hold no results, by page and first column names.
WITHOUT_RESULTS = {
    ("README.md", "| you have | you write |"),  # digits in examples of code
    ("reproduction.md", "| part of the paper | status | see |"),  # digits in names and settings
}


def test_every_table_of_numbers_is_made_from_data(made: ModuleType) -> None:
    """Except on the pages that `uaos compare` writes, which are data themselves."""
    unmade = set()
    for path in [ROOT / "README.md", *made.RESULTS.glob("*.md")]:
        if path.stem.endswith("-20d"):
            continue
        rest = re.sub(r"<!-- results: .*?<!-- end of results -->", "", path.read_text("utf-8"),
                      flags=re.DOTALL)  # fmt: skip
        for table in re.findall(r"(?:^\|.*\n)+", rest, flags=re.MULTILINE):
            if re.search(r"\d", table):
                unmade.add((path.name, table.partition("\n")[0]))
    assert unmade <= WITHOUT_RESULTS


def test_notes_of_the_catalogue_say_what_their_data_say(made: ModuleType) -> None:
    """Ratios to published running times, and problems solved."""
    ratios = {
        name: sorted(float(cell.replace("∞", "inf")) for cell in cells)
        for name, *cells in (r.strip("| ").split(" | ") for r in made.archive().splitlines()[2:])
    }
    low, *_, high = ratios["DE-uniform"]
    assert f"{low:.2f} to {high:.2f} times" in configuration("DE-uniform").note
    low, *_, second, high = ratios["PM-AdapSS-DE"]
    said = f"{low:.2f} to {second:.2f} times the evaluations of COCO's archive on seven of eight"
    assert said in (note := configuration("PM-AdapSS-DE").note)
    assert f"{high:.1f} times on f8" in note
    inferred = [float(row.split(" | ")[3]) for row in made.inferred().splitlines()[2:]]
    note = configuration("U-AOS-FW-inferred").note
    assert f"{min(inferred):.2f} to {max(inferred):.2f} times the published" in note
    solved = {row[0]: row[1] for row in made.overview("irace-full-winners", ("all",))}
    assert f"solves {solved['U-AOS-FW-inferred']} of 312 problems" in note
    assert f"(as printed: {solved['U-AOS-FW']})" in note


@pytest.mark.parametrize(
    ("page", "method"),
    [
        ("literature-20d.md", "PDP"),
        ("literature-20d.md", "F-AUC-PM"),
        ("bbob-20d.md", "JADE"),
        ("bbob-20d.md", "U-AOS-FW"),
        ("bbob-20d.md", "Compass-tuned"),
    ],
)
def test_runs_on_a_page_come_out_again(
    made: ModuleType, tmp_path: Path, page: str, method: str
) -> None:
    """Repeat 13 runs on f1: every running time that the page has of them is the same."""
    store = experiment(
        tmp_path / "again.db", method, functions="1", dimension=20, instances="test",
        budget="10000D", uniform=False,
    )  # fmt: skip
    known = reference("bbob").running_times("f1", 20)
    cells = running_times(Results.read(store).runs[method, "f1", 20])
    found = [
        coco_number(cell.art / reference_time(known, target))
        for cell, target in zip(cells, TABLE_TARGETS, strict=True)
    ]
    lines = (made.RESULTS / page).read_text("utf-8").replace("*", "").splitlines()
    (row,) = (line for line in lines if line.startswith(f"| f1 | {method} |"))
    assert [cell.split()[0] for cell in row.strip("| ").split(" | ")[2:-1]] == found
