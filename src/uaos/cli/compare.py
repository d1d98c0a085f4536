"""`uaos compare`: the methods in one or several stores, and the published table beside them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from uaos.cli.app import app, console
from uaos.cli.options import listed
from uaos.errors import InvalidParameter
from uaos.files import whole_file

if TYPE_CHECKING:
    from uaos.analysis.comparison import Section
    from uaos.analysis.tables import Table

# Ends a cell whose two numbers are far apart.
_FLAG = " !"
# A narrower terminal gets aRT ratios without their dispersion.
_WIDE = 110


@app.command(
    "compare",
    epilog="Example: [bold]uaos compare results.sqlite --against-paper --csv tables[/]",
)
def show_comparison(
    stores: Annotated[list[Path], typer.Argument(help="Files that `uaos bench` wrote.")],
    methods: Annotated[
        str | None,
        typer.Option(help="Only these methods, with commas; uniform choice always stays."),
    ] = None,
    functions: Annotated[
        str | None, typer.Option(help="Only these functions, like 1-5,8 (default: all).")
    ] = None,
    against_paper: Annotated[
        bool, typer.Option("--against-paper", help="Our aRT ratios beside the published ones.")
    ] = False,
    csv: Annotated[
        Path | None, typer.Option(help="Write each table as CSV into this folder.")
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Write the comparison as Markdown to this file.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the simulated restarts.", min=0)] = 1,
) -> None:
    """Compare methods: solved, aRT against best2009, ECDF areas, tests, and a verdict."""
    # Here, as scipy's statistics would slow down the start of every other command.
    from uaos.analysis import Results, compare, write_csv
    from uaos.problems.bbob import parse_numbers

    wanted = None if methods is None else listed(methods)
    _check_outputs(csv, markdown)
    kept = (
        None
        if functions is None
        else [f"f{n}" for n in parse_numbers("functions", functions, 1, 24)]
    )
    results = Results.read(*stores).select(methods=wanted, functions=kept)
    comparison = compare(results, paper=against_paper, seed=seed)
    for section in comparison.sections:
        console.print(_drawn_section(section))
    for table in comparison.paper:
        console.print(_drawn(table))
    if csv is not None:
        for path in write_csv(comparison.tables, csv):
            console.print(f"written: {path}", highlight=False)
    if markdown is not None:
        with whole_file(markdown) as part:
            part.write_text(comparison.to_markdown(), encoding="utf-8")
        console.print(f"written: {markdown}", highlight=False)


def _check_outputs(csv: Path | None, markdown: Path | None) -> None:
    """Refuse what cannot be written before the work, not after it."""
    if csv is not None and csv.exists() and not csv.is_dir():
        raise InvalidParameter("csv", str(csv), "a folder, new or not")
    if markdown is not None and (markdown.is_dir() or not markdown.parent.is_dir()):
        raise InvalidParameter("markdown", str(markdown), "a file in a folder that exists")


def _drawn_section(section: "Section") -> RenderableType:
    parts: list[RenderableType] = [_drawn(table) for table in section.tables]
    parts.append(Text(section.verdict.headline, style="bold"))
    parts += [Text(f"  {line}") for line in section.verdict.details]
    parts += [Text(line, style="yellow") for line in section.notes]
    return Group(*parts, Text(""))


def _drawn(table: "Table") -> RenderableType:
    drawn = RichTable(
        box=None, padding=(0, 2, 0, 0), pad_edge=False, title=table.title,
        title_justify="left", title_style="bold",
    )  # fmt: skip
    texts = {"method", "first", "second", "better", "beyond the critical difference"}
    for column in table.columns:
        drawn.add_column(column, justify="left" if column in texts else "right", overflow="fold")
    previous = ""
    for row in table.rows:
        # A function's number stands once, before its methods.
        first = "" if row[0] == previous and table.columns[0] == "f" else row[0]
        previous = row[0]
        drawn.add_row(*(_styled(cell) for cell in (first, *row[1:])))
    return Group(drawn, Text(table.note, style="dim"), Text(""))


def _styled(cell: str) -> Text:
    if console.width < _WIDE and cell.endswith(")"):
        cell = cell.split(" (")[0]
    return Text(cell, style="bold red" if cell.endswith(_FLAG) else "")
