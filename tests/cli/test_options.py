"""Options of the command line."""

from dataclasses import dataclass
from typing import Annotated

import typer
from typer.testing import CliRunner

from uaos.cli.options import Workers, grouped


@dataclass(frozen=True)
class Size:
    """A group with a required option."""

    width: Annotated[int, typer.Option(help="How wide.")]
    unit: Annotated[str, typer.Option(help="Of which unit.")] = "cm"


def test_a_group_becomes_options_and_arrives_as_one_argument() -> None:
    """Fields are options with their help; the command gets the dataclasses."""
    received: list[object] = []
    app = typer.Typer()

    @app.command()
    @grouped
    def measure(name: str, size: Size, workers: Workers, loud: bool = False) -> None:
        """Measure."""
        received.extend((name, size, workers, loud))

    run = CliRunner().invoke
    assert run(app, ["box", "--width", "3", "--jobs", "2"]).exit_code == 0
    assert received == ["box", Size(3, "cm"), Workers(2, None), False]
    shown = run(app, ["--help"]).output
    assert "--width" in shown
    assert "Of which unit." in shown
    assert run(app, ["box"]).exit_code == 2  # --width is missing
