"""`uaos compare`: compare the methods in stores with each other and with published numbers."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from uaos.cli.app import app, console
from uaos.cli.options import Focus, Overwrite, ShownMethods, grouped, split_names
from uaos.files import MARK, check_folder, check_output, whole_file

if TYPE_CHECKING:
    from uaos.analysis import Comparison, Results


# fmt: off
@dataclass(frozen=True)
class _Files:
    """Output files."""

    csv: Annotated[Path | None, typer.Option(
        help="Write each table as CSV into this folder.")] = None
    markdown: Annotated[Path | None, typer.Option(
        help="Write the comparison as Markdown to this file.")] = None
    latex: Annotated[Path | None, typer.Option(
        help="Write the tables as LaTeX to this file.")] = None
    overwrite: Overwrite = False

    def check(self, stores: list[Path]) -> None:
        """Raise an error if a file must not be written."""
        for path, suffixes in ((self.markdown, (".md", ".markdown", ".txt")),
                               (self.latex, (".tex",))):
            if path is not None:
                check_output(path, inputs=stores, suffixes=suffixes, overwrite=self.overwrite)
        if self.csv is not None:
            check_folder(self.csv)


@app.command(
    "compare",
    epilog="Examples: [bold]uaos compare results.db --against-paper --latex tables.tex[/]   ·   "
    "[bold]uaos compare results.db --archive HCMA,MOS[/]",
)
@grouped
def compare_command(
    stores: Annotated[list[Path], typer.Argument(
        metavar="STORE", help="Read these files, written by `uaos bench`.")],
    files: _Files,
    methods: ShownMethods = None,
    functions: Annotated[str | None, typer.Option(
        help='Show only these functions, such as "1-5,8" or names (default: all).')] = None,
    against_paper: Annotated[bool, typer.Option(
        "--against-paper", help="Compare with the published tables of the paper.")] = False,
    focus: Focus = None,
    archive: Annotated[str | None, typer.Option(
        metavar="NAMES",
        help="Compare with these algorithms of COCO's archive, separated by commas.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Set the seed of simulated restarts.")] = 1,
) -> None:
    # fmt: on
    """Compare methods by solved runs, running times, ECDF areas and statistical tests."""
    # Imported here, because SciPy's statistics would slow down the start of every other command.
    from uaos.analysis import Results, compare

    files.check(stores)
    results = _select(Results.read(*stores), methods, functions)
    comparison = compare(
        results, paper=against_paper, archive=split_names(archive or ""), seed=seed, focus=focus
    )
    _show(comparison)
    for path in _write(comparison, files):
        console.print(Text(f"written: {path}"))


def _select(results: "Results", methods: str | None, functions: str | None) -> "Results":
    """Return the results of the methods and functions that the options name."""
    if methods is not None:
        results = results.select(methods=split_names(methods))
    if functions is not None:
        results = results.select(functions=results.matching(functions))
    return results


def _show(comparison: "Comparison") -> None:
    """Print the tables and verdicts of all sections, and published numbers."""
    for section in comparison.sections:
        for table in section.tables:
            console.print(table.to_rich(console.width))
        console.print(Text(section.headline, style="bold"))
        console.print(Text(section.verdict))
        for line in section.notes:
            console.print(Text(line, style="yellow"))
        console.print()
    for table in comparison.published:
        console.print(table.to_rich(console.width))


def _write(comparison: "Comparison", files: _Files) -> Iterator[Path]:
    """Write the requested files, and yield their paths."""
    from uaos.analysis import write_csv

    if files.csv is not None:
        yield from write_csv(comparison.tables, files.csv, overwrite=files.overwrite)
    documents = (
        (files.markdown, f"<!-- {MARK} -->\n\n", comparison.to_markdown),
        (files.latex, f"% {MARK}\n", comparison.to_latex),
    )
    for path, mark, render in documents:
        if path is not None:
            with whole_file(path) as part:
                part.write_text(mark + render(), encoding="utf-8")
            yield path
