"""What the documentation says runs, the commands it gives exist, and the site is built from it."""

import importlib.util
import io
import json
import os
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stdout
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import matplotlib
import numpy as np
import pytest
import typer
from browser import Browser, headless, needs_browser
from command_line import run
from raising import raises
from threadpoolctl import threadpool_info

import uaos
from uaos.cli import load_commands
from uaos.optimizers.de.strategies import STRATEGIES
from uaos.optimizers.portfolio.kinds import KINDS, NOISY_KINDS, Kind, kind_of
from uaos.selection.components import FAMILIES, components
from uaos.selection.descriptions import describe

ROOT = Path(__file__).parents[1]
OUTSIDE = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/results.md")
PAGES = [*(ROOT / name for name in OUTSIDE), *sorted((ROOT / "docs").rglob("*.md"))]
GROUP: Any = typer.main.get_command(load_commands())
# Options in the text that are those of other programs.
FOREIGN = {"--nthreads", "--nworkers"}
PARTS = ("analysis", "experiments", "problems", "scenarios", "tuning")
PUBLIC = ["uaos", *(f"uaos.{part}" for part in PARTS)]


# Blocks of Python and commands; what is shown below them as text is what they print.
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?", re.M | re.S)
# The processor that printed the numbers of the pages: on others, sums of OpenBLAS differ.
PROCESSOR = "SkylakeX"


def code_of(page: Path) -> list[tuple[str, str, str]]:
    """The blocks of a page: language, code at its line numbers, and output if it is shown.

    Of the commands, only runs with a shown output are included; others take too long.
    """
    text = page.read_text(encoding="utf-8")
    return [
        (block[1], "\n" * text.count("\n", 0, block.start(2)) + block[2], block[3] or "")
        for block in BLOCK.finditer(text)
        if block[1] == "python" or (block[3] and block[2].startswith("uaos run "))
    ]


def same_output(printed: str, shown: str) -> bool:
    """Compare what is printed with a page, where "…" stands for anything, such as a time."""
    printed, shown = (re.sub(r" +$", "", text, flags=re.M).rstrip() for text in (printed, shown))
    if PROCESSOR not in {library.get("architecture") for library in threadpool_info()}:
        printed, shown = (re.sub(r"[\d.]+(e[+-]\d+)?", "#", text) for text in (printed, shown))
    return bool(re.fullmatch(".*".join(map(re.escape, shown.split("…"))), printed, re.S))


@pytest.mark.parametrize(
    "page", [p for p in PAGES if code_of(p)], ids=lambda p: str(p.relative_to(ROOT))
)
def test_the_code_of_a_page_runs_and_prints_what_it_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick_workers: None
) -> None:
    monkeypatch.chdir(tmp_path)
    matplotlib.use("Agg")
    namespace = {"__name__": "__main__"}
    for language, code, shown in code_of(page):
        if language == "sh":
            printed = run(*shlex.split(code)[1:]).stdout
        else:
            with redirect_stdout(io.StringIO()) as stream:
                exec(compile(code, str(page), "exec"), namespace)
            printed = stream.getvalue()
        assert not shown or same_output(printed, shown), printed


@pytest.mark.parametrize("printed", ["solved in 12 s", "solved: 7 in 1.2 s, at last"])
def test_another_output_than_a_page_shows_is_noticed(printed: str) -> None:
    assert not same_output(printed, "solved: 7 in … s")
    assert same_output("solved: 7 in 0.1 s\n", "solved: 7 in … s")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", prose):
        assert (page.parent / target).exists(), target


def named(pages: list[Path]) -> Any:
    return pytest.mark.parametrize("page", pages, ids=lambda p: str(p.relative_to(ROOT)))


def shell_lines(page: Path) -> list[list[str]]:
    """The lines of a page's shell blocks in words, without comments and variables set before."""
    found = re.findall(r"^```(?:sh|bash)\n(.*?)^```", page.read_text("utf-8"), re.M | re.S)
    lines = "".join(found).replace("\\\n", " ").splitlines()
    words = [shlex.split(re.sub(r"^(?:[A-Z]+=\S+ +)+", "", line), comments=True) for line in lines]
    return [line for line in words if line]


def parse(words: list[str]) -> None:
    """Take a command line apart as `uaos` does, without running it; what is wrong is raised."""
    place = next((i for i, word in enumerate(words) if word in GROUP.commands), None)
    try:
        GROUP.make_context("uaos", words if place is None else words[: place + 1])
        assert place is not None, f"there is no command in {words}"
        GROUP.commands[words[place]].make_context(words[place], words[place + 1 :])
    except typer.Exit:
        pass  # --help and --version end there


@named([p for p in PAGES if shell_lines(p)])
def test_the_commands_of_a_page_exist(page: Path) -> None:
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M)
    for program, *words in shell_lines(page):
        if program == "uaos":
            parse(words)
        elif program == "make":
            assert set(words) <= set(targets), words


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("bench a.db --dimm 5", None),
        ("bench a.db --dim five", None),
        ("bensch a.db", None),
        ("--imports my.py bench a.db", None),
    ],
)
def test_a_command_that_does_not_exist_is_noticed(line: str, name: str) -> None:
    with raises(Exception, name=name):
        parse(line.split())


@named(PAGES)
def test_the_options_in_the_text_of_a_page_exist(page: Path) -> None:
    """As in `--dask ADDRESS`, of any command, and in `uaos bench --status`, of that one."""
    every = {"uaos": GROUP, **GROUP.commands}
    prose = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    for code in re.findall(r"`([^`\n]+)`", prose):
        words = code.split()
        if words[0] == "uaos" and len(words) > 1 and words[1][0].islower():
            known = {name for p in every[words[1]].params for name in p.opts} | {"--help"}
        elif words[0].startswith("--"):
            known = {name for c in every.values() for p in c.params for name in p.opts} | FOREIGN
        else:
            continue
        assert {word for word in words if re.match("--?[a-z]", word)} <= known, code


def test_the_extras_that_pages_name_can_be_installed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for page in PAGES:
        for extras in re.findall(r"(?:uaos|'\.)\[([a-z,]+)\]", page.read_text("utf-8")):
            assert set(extras.split(",")) <= set(project["optional-dependencies"]), page


def test_the_page_of_components_is_current() -> None:
    """Otherwise: python docs/make_components.py"""
    made = runpy.run_path(str(ROOT / "docs" / "make_components.py"))["components_page"]()
    assert (ROOT / "docs" / "components.md").read_text(encoding="utf-8") == made


@pytest.mark.parametrize(
    ("family", "name"), [(f, n) for f in FAMILIES for n in components(f)], ids=str
)
def test_every_component_gives_its_equation_and_reference(family: str, name: str) -> None:
    about = describe(components(family)[name])
    assert about.summary
    assert about.equation
    # author, year, title
    published = re.search(r"\w.* \(\d{4}\), \".+\"", about.reference)
    assert published or about.reference.startswith("this package")


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_is_in_the_reference(module: str) -> None:
    pages = (ROOT / "docs" / "reference").glob("*.md")
    text = "\n".join(page.read_text("utf-8") for page in pages)
    for name in importlib.import_module(module).__all__:
        assert re.search(rf"^(::: |.*heading: ){module}\.{name}\b", text, re.M), f"{module}.{name}"


def texts(drawing: str) -> list[str]:
    """What is written in a drawing, in its order."""
    return re.findall(
        r">([^<>\n]+)</text>", (ROOT / "docs" / "images" / drawing).read_text("utf-8")
    )


def test_a_notebook_fails_if_one_of_its_commands_fails(tmp_path: Path) -> None:
    """The site is not built from a notebook whose command ended with an error."""
    pytest.importorskip("IPython", reason="IPython is not installed: the extra uaos[docs]")
    notebook, pages = tmp_path / "broken.ipynb", tmp_path / "pages.json"
    source = ["!exit 3\n", "!echo afterwards"]
    notebook.write_text(json.dumps({"cells": [{"cell_type": "code", "source": source}]}))
    call = "import sys, pathlib, notebooks; notebooks.execute(*map(pathlib.Path, sys.argv[1:]))"
    run = subprocess.run(
        [sys.executable, "-c", call, str(notebook), str(pages)],
        cwd=ROOT / "docs", capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode
    assert "exit status 3: exit 3" in run.stderr
    assert not pages.exists()


def _local_search(kind: Kind) -> str:
    """Return what the page of the portfolio says of the introduction of the local search."""
    seat = next((seat for seat in kind.first if seat.name == "BFGS"), None)
    if seat is None:
        return "does not take part"
    if seat.once:
        return f"at most {seat.cap:g}·D, then retires"
    if seat.share == np.inf:
        return "until it has converged"
    if seat.steady_cap:
        return f"{seat.share:.0%} of the budget; at most {seat.steady_cap:g}·D while it gains"
    return f"{seat.share:.0%}, at most {seat.cap:g}·D"


def _differential_evolution(kind: Kind) -> str:
    seat = next((seat for seat in kind.then if seat.name == "mix"), None)
    if seat is None:
        return "does not take part"
    start = "not introduced" if seat.share == np.inf else f"{seat.share:.0%}"
    return f"{start}, population {str(seat.settings['NP']).replace('D', '·D')}"


def test_the_tables_of_the_portfolio_have_the_numbers_of_its_members() -> None:
    page = (ROOT / "docs" / "portfolio.md").read_text("utf-8").replace(" %", "%")
    rows = re.findall(r"^\| (?:below ([\d,]+)·D|above, .*?) \|(.*)\|$", page, re.MULTILINE)
    ends = [int(end.replace(",", "")) if end else 10**6 for end, _ in rows]
    assert sorted({*ends, 40}) == [*(kind.least for kind in KINDS[1:]), 10**6]
    for end, (_, row) in zip(ends, rows, strict=True):
        kind, cells = kind_of(200, 200 * (end - 1)), [cell.strip() for cell in row.split("|")]
        assert cells[0].startswith(_local_search(kind))
        assert cells[2] == _differential_evolution(kind)
        assert cells[3] in ("", f"{kind.kappa:g}")
    assert [seat.name for seat in kind_of(100, 513).first] == ["QUAD"]
    assert kind_of(100, 514) == kind_of(101, 514)
    assert "Below 5·D + 14 evaluations" in page
    heads, sizes = re.search(r"^\| budget from (.*)\n.*\n.*usual size (.*)$", page, re.M).groups()
    budgets = [int(budget.replace(",", "")) for budget in re.findall(r"([\d,]+)·D", heads)]
    enlarged = [kind.then[0].settings["enlarged"] for kind in NOISY_KINDS[1:]]
    assert budgets == [kind.least for kind in NOISY_KINDS[1:]]
    assert [int(size) for size in re.findall(r"\d+", sizes)] == enlarged


def test_the_drawn_loop_says_how_many_components_there_are() -> None:
    written = texts("loop.svg")
    for family in FAMILIES:
        count = next(t for t in written[written.index(family) :] if t.startswith("one of "))
        assert count == f"one of {len(components(family))}"


def test_the_drawn_generation_has_the_numbers_of_its_code() -> None:
    namespace: dict[str, Any] = {}
    page = (ROOT / "docs" / "framework.md").read_text("utf-8")
    exec(re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0].split("print(")[0], namespace)
    selector: uaos.Selector = namespace["selector"]
    written = texts("generation.svg")
    expected = {
        "reward": [f"{r:g}" for r in selector.rewards],  # 2 1 0
        "quality": [f"{q:.2f}" for q in selector.qualities],  # 0.58 0.33 0.08
        "probability": [f"{p:.2f}" for p in selector.probabilities],  # 0.51 0.33 0.16
        "selection": [str(n) for n in np.bincount(selector.select(12))],  # 5 5 2
    }
    for step, numbers in expected.items():
        start = written.index(step) + 2  # after its name and its rule
        assert written[start : start + 3] == numbers


class Page(HTMLParser):
    """What a reader and a browser find in a page of the site."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []  # images, scripts and styles
        self.code: list[tuple[str, str]] = []  # language and text of each block
        self._language, self._block = "", None
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        if language := re.search(r"language-(\w+)", given.get("class", "")):
            self._language = language[1]
        if tag == "pre":
            self._block = ""
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in ("img", "script") and "src" in given:
            self.loaded.append(given["src"])
        if tag == "link" and "href" in given:
            self.loaded.append(given["href"])

    def handle_endtag(self, tag: str) -> None:
        if tag == "pre" and self._block is not None:
            self.code.append((self._language, self._block))
            self._language, self._block = "", None

    def handle_data(self, data: str) -> None:
        if self._block is not None:
            self._block += data


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documentation, built strictly: no warning."""
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    """The pages of the site; the one for addresses that do not exist has absolute links."""
    return {path: Page(path) for path in site.rglob("*.html") if path.name != "404.html"}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with headless(tmp_path_factory.mktemp("profile")) as started:
        yield started


# Widths of a window.
DESKTOP, PHONE = 1440, 390

# One process builds the site and looks at it.
on_the_site = pytest.mark.xdist_group("site")


@on_the_site
def test_the_site_needs_no_network_and_can_be_searched(site: Path, pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        # Links may lead outside; what a page loads may not.
        assert not [url for url in page.loaded if re.match("(https?:)?//", url)], path
    assert "@import" not in "".join(c.read_text("utf-8") for c in site.rglob("*.css"))
    assert 'class="drawing"' in (site / "framework.html").read_text("utf-8")
    assert "adaptive_pursuit" in (site / "search" / "search_index.js").read_text("utf-8")


@on_the_site
def test_links_and_images_of_the_site_lead_somewhere(pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        for url in [*page.links, *page.loaded]:
            address = urlsplit(url)
            if address.scheme in ("http", "https", "data", "mailto", "javascript"):
                continue
            target = (path.parent / unquote(address.path)).resolve() if address.path else path
            assert target.is_file(), f"{path.name}: {url}"
            if address.fragment and target in pages and address.fragment != "__toc":
                assert unquote(address.fragment) in pages[target].ids, f"{path.name}: {url}"
        for url in page.loaded:
            if url.endswith(".png"):
                assert (path.parent / url).read_bytes().startswith(b"\x89PNG"), f"{path}: {url}"


@on_the_site
def test_code_blocks_of_the_site_hold_code(pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        for language, text in page.code:
            assert text.strip(), path
            if language == "python":
                compile(text, str(path), "exec")
                lines = [line for line in text.splitlines() if line.strip()]
                assert max(map(len, lines)) > 4, f"{path.name}: {text[:80]}"


@on_the_site
def test_the_page_of_examples_shows_their_code(site: Path, pages: dict[Path, Page]) -> None:
    shown = [text.strip() for _, text in pages[site / "examples.html"].code]
    for path in (ROOT / "examples").rglob("*.py"):
        _, _, code = path.read_text("utf-8").split('"""', 2)
        assert code.strip() in shown, path.name


@on_the_site
def test_the_tour_of_the_site_shows_the_source(site: Path, pages: dict[Path, Page]) -> None:
    """The page follows a run through the code that computes it."""
    shown = "\n".join(text for _, text in pages[site / "inside.html"].code)
    for piece in ("while not self._stops()", "def choose_partners", "def learn", "free = 1.0 - K"):
        assert piece in shown


@on_the_site
def test_the_reference_has_the_formula_of_every_strategy(site: Path) -> None:
    page = (site / "reference" / "de.html").read_text("utf-8")
    rows = dict(re.findall(r"<td><code>(.+?)</code></td>\n<td><code>(.+?)</code></td>", page))
    assert {s.name: s.formula for s in STRATEGIES.values()}.items() <= rows.items()


def interactive_data() -> dict[str, Any]:
    """What docs/make_interactive.py computed for the interactive page."""
    path = ROOT / "docs" / "assets" / "interactive-data.js"
    assert path.stat().st_size < 1_500_000
    text = path.read_text("utf-8").removeprefix("window.uaosCourses = ").rstrip(";\n")
    return json.loads(text)


def test_the_interactive_page_has_the_equations_and_values_of_the_catalogue() -> None:
    """Otherwise: python docs/make_interactive.py"""
    spec = importlib.util.spec_from_file_location("made", ROOT / "docs" / "make_interactive.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    found = interactive_data()
    assert found["recipes"] == {name: made.recipe(c) for name, c in made.entries().items()}
    for family in FAMILIES:
        now = {n: describe(c).equation for n, c in components(family).items()}
        assert found["equations"][family].items() <= now.items()


def test_a_course_of_the_interactive_page_adds_up_and_follows_the_best_operator() -> None:
    found = interactive_data()
    K, N = found["operators"], found["generations"]
    for name, kinds in found["courses"].items():
        for kind, course in kinds.items():
            shares = np.reshape(course["p"], (N, K))
            assert abs(shares.sum(axis=1) - 1000).max() <= K / 2, (name, kind)
            assert (np.reshape(course["n"], (N, K)).sum(axis=1) == found["offspring"]).all()
    # It sees how often operators succeed, but not how much they improve.
    sade = {kind: course["share"] for kind, course in found["courses"]["SaDE"].items()}
    assert sade["boolean"] > 0.28 > sade["uniform"]


@on_the_site
@needs_browser
@pytest.mark.parametrize("width", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_interactive_page_shows_the_method_that_is_chosen(
    site: Path, browser: Browser, width: int
) -> None:
    choose = """((id, value, event) => {
      const one = document.getElementById(id);
      one.value = value;
      one.dispatchEvent(new Event(event));
    })"""
    browser.open((site / "interactive.html").as_uri(), width)
    assert browser.run("document.querySelectorAll('.lab-picture path').length") == 4
    browser.run(choose + "('lab-method', 'F-AUC-MAB', 'change')")
    text = browser.run("document.querySelector('.lab-equations').textContent")
    for part in ("area_under_curve", "step(q)", "W = 50", "Fialho et al. (2010)"):
        assert part in text
    browser.run(choose + "('lab-at', 45, 'input')")
    assert "Generation 45: " in browser.run("document.querySelector('.lab-sentence').textContent")
    before = browser.run("document.querySelector('.lab-picture').innerHTML")
    browser.run("document.querySelector('[name=lab-kind][value=outlier]').click()")
    assert browser.run("document.querySelector('.lab-picture').innerHTML") != before
    assert browser.complaints() == []


@on_the_site
@needs_browser
def test_every_page_of_the_site_is_shown_in_a_browser(
    pages: dict[Path, Page], browser: Browser
) -> None:
    """Its images are there, nothing sticks out to the right, and no script complains."""
    # The search field moves to its new place when the window changes; nothing else moves for a
    # reader who wants less motion.
    settled = "Promise.all(document.getAnimations().map((a) => a.finished.catch(() => null)))"
    calm = {"name": "prefers-reduced-motion", "value": "reduce"}
    browser.call("Emulation.setEmulatedMedia", features=[calm])
    for path in pages:
        browser.open(path.as_uri(), PHONE)
        broken = """(async () => {
          const images = [...document.querySelectorAll('main img')];
          images.forEach((one) => { one.loading = 'eager'; });
          await Promise.all(images.map((one) => one.decode().catch(() => null)));
          return images.filter((one) => !one.naturalWidth).map((one) => one.src);
        })()"""
        assert browser.run(broken) == [], path.name
        for width in (PHONE, DESKTOP):
            browser.size(width)
            browser.run(settled)
            assert browser.run("document.documentElement.scrollWidth") <= width, path.name
        assert browser.complaints() == [], path.name
