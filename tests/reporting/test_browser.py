"""A report in a real browser: headless Chromium, over its DevTools protocol."""

# ruff: noqa: F811 (fixtures are imported)

import base64
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import (
    Browser,
    check_layout,
    check_quiet,
    drawn_plots,
    headless,
    needs_browser,
    open_report,
)
from report_cases import experiment, report, stores  # noqa: F401

import uaos
from uaos.reporting.report import write_report

pytestmark = needs_browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with headless(tmp_path_factory.mktemp("profile")) as made:
        yield made


@pytest.fixture(scope="module")
def opened(browser: Browser, report: Path) -> Browser:
    open_report(browser, report)
    return browser


def test_nothing_is_complained_of_and_nothing_is_asked_for(opened: Browser, report: Path) -> None:
    check_quiet(opened, report)


def test_the_page_may_not_ask_for_anything(browser: Browser, opened: Browser) -> None:
    refused = "fetch('https://example.org').then(() => 'allowed', () => 'refused')"
    assert opened.run(refused) == "refused"
    assert any("Content Security Policy" in text for text in browser.complaints())
    browser.events.clear()


def test_every_plot_is_drawn_with_lines_in_it(opened: Browser) -> None:
    # first of all; over all, two classes, three functions; again three; a run; survivors; the
    # choice and the number drawn
    assert sorted(drawn_plots(opened)) == sorted(
        ["profile", "course"] + ["profile"] * 6 + ["convergence"] * 3
        + ["course", "survival", "choice", "number"]
    )  # fmt: skip


def test_two_methods_of_ones_choice_stand_head_to_head(opened: Browser) -> None:
    """Another choice changes the table; the other order inverts its ratios."""
    answer = "document.querySelector('[data-duel-answer]').textContent"
    ratio = "document.querySelector('[data-duel] tbody b').textContent"
    rows = "document.querySelectorAll('[data-duel] tbody tr').length"

    def choose(menu: str, name: str) -> None:
        opened.run(
            f"(() => {{ const menu = document.querySelector('[data-duel-menu={menu}]');"
            f"menu.value = '{name}'; menu.dispatchEvent(new Event('change')); }})()"
        )

    choose("first", "mix")
    choose("second", "JADE")
    assert opened.run(answer).startswith("mix is ")
    assert " than JADE on " in opened.run(answer)
    assert opened.run(rows) == opened.run("Object.values(data.sections)[0].duels.problems.length")
    before = float(opened.run(ratio).replace(",", ""))
    choose("first", "JADE")  # the second makes room
    choose("second", "mix")
    after = float(opened.run(ratio).replace(",", ""))
    assert before * after == pytest.approx(1, rel=0.1)  # two digits are shown


def test_a_method_can_be_left_out_of_all_profiles(opened: Browser) -> None:
    count = "document.querySelector('[data-panel=all] .scatterlayer').children.length"
    before = opened.run(count)
    opened.run("document.querySelector('[data-keys=profile] [data-method=JADE]').click()")
    assert opened.run(count) == before - 2  # its line and the mark of its budget
    assert opened.run("state.hidden.has('JADE')")
    opened.run("document.querySelector('[data-keys=profile] [data-method=JADE]').click()")
    assert opened.run(count) == before


def test_a_profile_is_enlarged_and_closed_with_the_keyboard(opened: Browser) -> None:
    opened.run("document.querySelector('[data-enlarge=f8]').focus()")
    for kind, key in (("keyDown", "Enter"), ("keyUp", "Enter")):
        opened.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, text="\r",
                    windowsVirtualKeyCode=13)  # fmt: skip
    title = "document.getElementById('enlarged-title').textContent"
    assert opened.run("document.getElementById('enlarged').open")
    assert opened.run(title) == "f8 Rosenbrock, 2-D"
    assert opened.run("document.querySelectorAll('#enlarged-plot .scatterlayer .trace').length") > 0
    opened.run("document.getElementById('previous').click()")
    assert opened.run(title) == "f5 linear slope, 2-D"
    for kind in ("keyDown", "keyUp"):
        opened.call("Input.dispatchKeyEvent", type=kind, key="Escape", code="Escape",
                    windowsVirtualKeyCode=27)  # fmt: skip
    assert not opened.run("document.getElementById('enlarged').open")


COLUMN = """(() => {
  const rows = [...document.querySelector('[data-table=art-2]').tBodies[0].rows];
  return rows.filter((r) => !r.hidden).map((r) => [r.className, r.dataset.function,
    r.dataset.method, Number(r.cells[2].dataset.sort)]);
})()"""


def test_tables_are_sorted_by_any_column_and_back(opened: Browser) -> None:
    head = "document.querySelector('[data-table=art-2] th[data-column=\"2\"] button').click()"
    first = opened.run(COLUMN)
    assert [row[0] for row in first].count("reference") == 3
    opened.run(head)
    rising = [row[3] for row in opened.run(COLUMN)]
    assert len(rising) == 9  # three methods on three functions, without best 2009's rows
    assert rising == sorted(rising)
    opened.run(head)
    assert [row[3] for row in opened.run(COLUMN)] == sorted(rising, reverse=True)
    opened.run("document.querySelector('[data-table=art-2] th[data-column=\"0\"] button').click()")
    assert opened.run(COLUMN) == first


def test_tables_are_filtered_by_function_and_group(opened: Browser) -> None:
    choose = """((name, value) => {
      const menu = document.querySelector(`.running [data-filter=${name}]`);
      menu.value = value; menu.dispatchEvent(new Event('change'));
    })"""
    opened.run(f"{choose}('where', 'group:separable')")
    assert {row[1] for row in opened.run(COLUMN)} == {"f1", "f5"}
    opened.run(f"{choose}('where', 'function:f8'); {choose}('who', 'method:mix')")
    assert [row[2] for row in opened.run(COLUMN)] == [None, "mix"]  # best 2009 heads it
    opened.run(f"{choose}('where', ''); {choose}('who', '')")
    assert len(opened.run(COLUMN)) == 12


def test_a_table_is_saved_as_csv(opened: Browser) -> None:
    saved = opened.run("""new Promise((done) => {
      const click = HTMLAnchorElement.prototype.click;
      HTMLAnchorElement.prototype.click = function () {
        HTMLAnchorElement.prototype.click = click;
        done([this.download, this.href.slice(0, 5)]);
      };
      document.querySelector('[data-csv=pairs-2]').click();
    })""")
    assert saved == ["pairs-2.csv", "blob:"]


def test_another_run_is_chosen_from_the_menus(opened: Browser) -> None:
    title = "document.querySelector('figure.tall .keys .key').textContent"
    opened.run("""(() => {
      const menu = document.querySelector('[data-menu=method]');
      menu.value = 'uniform'; menu.dispatchEvent(new Event('change'));
    })()""")
    assert opened.run(title).startswith("uniform on f")
    assert opened.run("document.querySelector('.tall [data-plot=course] .main-svg') !== null")


def test_the_theme_is_switched_and_remembered(opened: Browser, report: Path) -> None:
    color = "getComputedStyle(document.body).backgroundColor"
    light = opened.run(color)
    opened.run("document.getElementById('theme').click()")
    assert opened.run("document.documentElement.dataset.theme") == "dark"
    assert opened.run(color) != light
    paper = opened.run("document.querySelector('[data-panel=all] .xtick text').style.fill")
    assert paper == opened.run("getComputedStyle(document.body).color")  # plots follow
    opened.open(report.as_uri())
    opened.run("uaosReport.then(() => true)")
    assert opened.run("document.documentElement.dataset.theme") == "dark"
    opened.run("document.getElementById('theme').click(); all('[data-plot]').forEach(paint)")
    assert opened.run(color) == light


@pytest.mark.parametrize("width", [390, 768, 1440])
def test_the_layout_holds(opened: Browser, width: int) -> None:
    check_layout(opened, width)


def test_print_has_images_and_nothing_folded(opened: Browser) -> None:
    opened.call("Emulation.setEmulatedMedia", media="print")
    opened.run("dispatchEvent(new Event('beforeprint'))")
    seen = "all('{}').filter((e) => e.getClientRects().length).length"
    assert opened.run(seen.format(".static img")) == opened.run("all('.static img').length") > 0
    assert opened.run(seen.format(".live, nav, .csv, .screen")) == 0
    assert opened.run("all('details:not([open])').length") == 0
    opened.run("dispatchEvent(new Event('afterprint'))")
    assert opened.run("all('details:not([open])').length") > 0
    opened.call("Emulation.setEmulatedMedia", media="")


def test_a_printed_report_has_at_most_twelve_pages(opened: Browser) -> None:
    printed = base64.b64decode(opened.call("Page.printToPDF", preferCSSPageSize=True)["data"])
    assert 1 < len(re.findall(rb"/Type\s*/Page[^s]", printed)) <= 12


def test_without_scripts_the_images_stand(browser: Browser, report: Path) -> None:
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(report.as_uri())
        page = browser.call("DOM.getDocument")["root"]["nodeId"]
        found = browser.call("DOM.querySelectorAll", nodeId=page, selector=".static img")["nodeIds"]
        assert found
        for node in found:
            assert browser.call("DOM.getBoxModel", nodeId=node)["model"]["height"] > 50
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


def test_the_layout_holds_for_long_names(browser: Browser, tmp_path: Path) -> None:
    long = "a-method-of-my-own-with-a-name-that-no-line-of-a-phone-has-room-for"
    uaos.method("SaDE").to_toml(tmp_path / f"{long}.toml")
    bench = experiment(tmp_path / "x.db", str(tmp_path / f"{long}.toml"), "JADE")
    open_report(browser, write_report([bench], tmp_path / "long.html"))
    assert long in browser.run("document.body.textContent")
    check_layout(browser, 390)
