"""What the command line shows is text: names from files cannot control the terminal."""

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


@pytest.mark.parametrize("what", [HOSTILE, table(), Panel(HOSTILE)], ids=["text", "table", "panel"])
def test_control_characters_are_replaced(what: object, capsys: pytest.CaptureFixture[str]) -> None:
    """A version of rich that renders in another way fails here."""
    console.print(what, markup=False)
    shown = capsys.readouterr().out
    assert "a\ufffd[2Jb" in shown
    assert not set(shown) & {"\x1b", "\u202e"}


def test_control_characters_are_replaced_in_live_displays(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Live(table(), console=console, refresh_per_second=1):
        pass
    assert "a\ufffd[2Jb" in capsys.readouterr().out
