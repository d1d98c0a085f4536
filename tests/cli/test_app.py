"""What the command line shows is text: names from files cannot control the terminal."""

import io

import pytest
from rich.live import Live
from rich.panel import Panel
from rich.table import Table

from uaos.cli.app import console

HOSTILE = "a\x1b[2Jb\u202ec"


def table() -> Table:
    rows = Table("name")
    rows.add_row(HOSTILE)
    return rows


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What the console of the command line writes."""
    stream = io.StringIO()
    monkeypatch.setattr(console, "file", stream)
    return stream


@pytest.mark.parametrize("what", [HOSTILE, table(), Panel(HOSTILE)], ids=["text", "table", "panel"])
def test_control_characters_are_replaced(what: object, shown: io.StringIO) -> None:
    """A version of rich that renders in another way fails here."""
    console.print(what, markup=False)
    assert "a\ufffd[2Jb" in shown.getvalue()
    assert not set(shown.getvalue()) & {"\x1b", "\u202e"}


def test_control_characters_are_replaced_in_live_displays(shown: io.StringIO) -> None:
    with Live(table(), console=console, refresh_per_second=1):
        pass
    assert "a\ufffd[2Jb" in shown.getvalue()
