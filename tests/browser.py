"""Headless Chromium, spoken to over its DevTools protocol."""

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((path for path in map(shutil.which, NAMES) if path), None)
# Seconds without a word after which the browser is taken for dead.
PATIENCE = 120

needs_browser = pytest.mark.skipif(
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
            ready, _, _ = select.select([self._in], [], [], PATIENCE)
            assert ready, "the browser does not answer"
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


@contextlib.contextmanager
def headless(profile: Path) -> Iterator[Browser]:
    """A browser, closed at the end; where it is installed but does not start, nothing is tested."""
    try:
        made = Browser(profile)
    except AssertionError as error:
        pytest.skip(f"Chromium does not start here: {error}")
    try:
        yield made
    finally:
        made.close()


def open_report(browser: Browser, report: Path) -> None:
    """The report, wide, with every plot drawn as if the reader had been everywhere."""
    browser.open(report.as_uri())
    browser.run("uaosReport.then(() => true)")
    browser.run("all('details:has([data-plot])').forEach((one) => { one.open = true; })")
    browser.run("all('[data-plot]').forEach(paint)")


def drawn_plots(browser: Browser) -> list[str]:
    """The kinds of the plots in a report, each of which is drawn, with something in it."""
    found = browser.run("""all('[data-plot]').map((e) => [
      e.dataset.plot, e.querySelectorAll('.main-svg').length > 0,
      e.querySelectorAll('.scatterlayer .trace, .barlayer .trace').length, e.offsetHeight])""")
    for kind, svg, traces, height in found:
        assert svg, kind
        assert traces > 0, kind
        assert height > 90, kind
    return [kind for kind, *_ in found]


def overflow(browser: Browser) -> list[str]:
    """What sticks out of the window to the right, but for what scrolls by itself."""
    return browser.run("""(() => {
      const wide = document.documentElement.clientWidth;
      const scrolls = (e) => e.closest('.scroll, nav, pre, .hidden, .skip');
      return [...document.querySelectorAll('main *, header *, footer *')].filter((e) =>
        !scrolls(e) && e.getClientRects().length && e.getBoundingClientRect().right > wide + 1
      ).map((e) => e.tagName + '.' + e.className + ' ' + e.textContent.slice(0, 40));
    })()""")


def check_layout(browser: Browser, width: int) -> None:
    """Nothing is cut off, and nothing sticks out, in a window of this width."""
    browser.size(width)
    cut = "all('.method').filter((e) => e.scrollWidth > e.clientWidth + 1 && e.clientWidth).length"
    for _ in range(100):  # plots follow the window when the browser gets round to it
        browser.run("new Promise((done) => setTimeout(done, 150))")
        wide, out = browser.run("document.documentElement.scrollWidth"), overflow(browser)
        if wide <= width and not out and not browser.run(cut):
            return
    raise AssertionError(f"{wide} pixels wide, sticking out: {out}, cut off: {browser.run(cut)}")


def check_quiet(browser: Browser, report: Path) -> None:
    """The page complained of nothing, and asked for nothing but what is in it."""
    assert browser.complaints() == []
    assert {url.split(",")[0] for url in browser.requests()} == {
        report.as_uri(), "data:image/png;base64"
    }  # fmt: skip
