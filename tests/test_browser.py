"""A report in a real browser: headless Chromium, over its DevTools protocol."""

# ruff: noqa: F811 (fixtures are imported)

import base64
import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from report_cases import report, stores  # noqa: F401

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((path for path in map(shutil.which, NAMES) if path), None)

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium here (Debian: apt install chromium); reports are not seen"
)


class Browser:
    """One page of a headless Chromium, spoken to through a pipe (messages end with a NUL)."""

    def __init__(self, profile: Path) -> None:
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        # The program expects its ends at 3 and 4; so high, neither is in the other's way.
        reads, writes = (fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in (theirs_in, theirs_out))
        move = f"import os, sys; os.dup2({reads}, 3); os.dup2({writes}, 4)"
        arguments = [
            str(CHROMIUM), "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-dev-shm-usage", "--disable-background-networking", "--disable-extensions",
            "--remote-debugging-pipe", "--hide-scrollbars", f"--user-data-dir={profile}",
            "about:blank",
        ]  # fmt: skip
        self.process = subprocess.Popen(
            [sys.executable, "-Sc", f"{move}; os.execv(sys.argv[1], sys.argv[1:])", *arguments],
            pass_fds=(reads, writes), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        for fd in (theirs_in, theirs_out, reads, writes):
            os.close(fd)
        self._in, self._out = os.fdopen(ours_in, "rb", buffering=0), ours_out
        self._pending, self._number = b"", 0
        self.events: list[dict[str, Any]] = []
        self._session = ""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command, and wait for its answer; events that come before it are kept."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self.events.append(answer)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._pending:
            chunk = self._in.read(1 << 20)
            assert chunk, "the browser ended"
            self._pending += chunk
        message, self._pending = self._pending.split(b"\0", 1)
        return json.loads(message)

    def run(self, script: str) -> Any:
        """The value of an expression in the page; promises are waited for."""
        found = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def open(self, url: str, width: int = 1440, height: int = 900) -> None:
        """Load a page, and wait until it is there."""
        self.size(width, height)
        self.events.clear()
        self.call("Page.navigate", url=url)
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next())

    def size(self, width: int, height: int = 900) -> None:
        """Make the window so wide and high; the narrow ones are phones."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)  # fmt: skip

    def picture(self, path: Path) -> None:
        """What is seen now, as a PNG."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def complaints(self) -> list[str]:
        """What the page wrote to the console, threw, or was refused."""
        found = []
        for event in self.events:
            kind, said = event["method"], event.get("params", {})
            if kind == "Runtime.exceptionThrown":
                found.append(json.dumps(said["exceptionDetails"]))
            elif kind == "Runtime.consoleAPICalled" and said["type"] in ("error", "warning"):
                found.append(json.dumps(said["args"]))
            elif kind == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning"):
                found.append(said["entry"]["text"])
        return found

    def requests(self) -> list[str]:
        """The addresses that were asked for."""
        asked = [e for e in self.events if e["method"] == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in asked]

    def close(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._in.close()
        os.close(self._out)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    made = Browser(tmp_path_factory.mktemp("profile"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def opened(browser: Browser, report: Path) -> Browser:
    """The report, wide, with every plot drawn as if the reader had been everywhere."""
    browser.open(report.as_uri())
    browser.run("uaosReport.then(() => true)")
    browser.run("all('[data-plot]').forEach(paint)")
    return browser


def overflow(browser: Browser) -> list[str]:
    """What sticks out of the window to the right, but for what scrolls by itself."""
    return browser.run("""(() => {
      const wide = document.documentElement.clientWidth;
      const scrolls = (e) => e.closest('.scroll, nav, pre, .hidden, .skip');
      return [...document.querySelectorAll('main *, header *, footer *')].filter((e) =>
        !scrolls(e) && e.getClientRects().length && e.getBoundingClientRect().right > wide + 1
      ).map((e) => e.tagName + '.' + e.className + ' ' + e.textContent.slice(0, 40));
    })()""")


def test_nothing_is_complained_of_and_nothing_is_asked_for(opened: Browser, report: Path) -> None:
    assert opened.complaints() == []
    assert {url.split(",")[0] for url in opened.requests()} == {
        report.as_uri(), "data:image/png;base64"
    }  # fmt: skip


def test_the_page_may_not_ask_for_anything(browser: Browser, opened: Browser) -> None:
    refused = "fetch('https://example.org').then(() => 'allowed', () => 'refused')"
    assert opened.run(refused) == "refused"
    assert any("Content Security Policy" in text for text in browser.complaints())
    browser.events.clear()


def test_every_plot_is_drawn_with_lines_in_it(opened: Browser) -> None:
    drawn = opened.run("""all('[data-plot]').map((e) => [
      e.dataset.plot, e.querySelectorAll('.main-svg').length > 0,
      e.querySelectorAll('.scatterlayer .trace, .barlayer .trace').length, e.offsetHeight])""")
    # over all, two classes, three functions; a run; survivors; the choice and the number drawn
    assert sorted(kind for kind, *_ in drawn) == sorted(
        ["profile"] * 6 + ["course", "survival", "choice", "number"]
    )
    for kind, svg, traces, height in drawn:
        assert svg, kind
        assert traces > 0, kind
        assert height > 90, kind


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


def test_tables_are_filtered_by_function_and_class(opened: Browser) -> None:
    choose = """((name, value) => {
      const menu = document.querySelector(`.running [data-filter=${name}]`);
      menu.value = value; menu.dispatchEvent(new Event('change'));
    })"""
    opened.run(f"{choose}('where', 'class:separable')")
    assert {row[1] for row in opened.run(COLUMN)} == {"1", "5"}
    opened.run(f"{choose}('where', 'function:8'); {choose}('who', 'method:mix')")
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
    title = "document.querySelector('figure .keys .key').textContent"
    opened.run("""(() => {
      const menu = document.querySelector('[data-menu=method]');
      menu.value = 'uniform'; menu.dispatchEvent(new Event('change'));
    })()""")
    assert opened.run(title).startswith("uniform on f")
    assert opened.run("document.querySelector('[data-plot=course] .main-svg') !== null")


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
    opened.size(width)
    opened.run("new Promise((done) => setTimeout(done, 150))")
    assert opened.run("document.documentElement.scrollWidth") <= width
    assert overflow(opened) == []
    cut = "all('.method').filter((e) => e.scrollWidth > e.clientWidth + 1 && e.clientWidth).length"
    assert opened.run(cut) == 0


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
