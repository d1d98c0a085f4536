"""The table of a benchmark: its rows, on the terminal and as Markdown."""

from collections.abc import Iterable
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

COLUMNS = ("what", "measured", "reference", "ratio", "aim", "met")


@dataclass(frozen=True)
class Row:
    """One line: the measured time, its rival, and the aim if there is one.

    `met` is empty for a row that only informs.
    """

    what: str
    measured: str
    reference: str = ""
    ratio: str = ""
    aim: str = ""
    met: str = ""

    @property
    def cells(self) -> tuple[str, ...]:
        """Return the six columns."""
        return self.what, self.measured, self.reference, self.ratio, self.aim, self.met


@dataclass(frozen=True)
class Section:
    """The rows of one part, and how they were measured."""

    title: str
    how: str
    rows: tuple[Row, ...]


def on_terminal(sections: Iterable[Section]) -> Table:
    """Return all sections as one rich table in which a missed aim stands out."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in COLUMNS:
        table.add_column(name, overflow="fold")
    for section in sections:
        table.add_row("")
        table.add_row(Text(section.title, style="bold"))
        for row in section.rows:
            table.add_row(*map(Text, row.cells), style="red" if row.met == "no" else "")
    return table


def as_markdown(sections: Iterable[Section], header: Iterable[str]) -> str:
    """Return the table in Markdown, with a header and how each part was measured."""
    sections = tuple(sections)
    lines = ["# Benchmarks", "", *(f"- {line}" for line in header), ""]
    lines += [f"| {' | '.join(COLUMNS)} |", "|" + "---|" * len(COLUMNS)]
    for section in sections:
        lines.append(f"| **{section.title}** |" + " |" * (len(COLUMNS) - 1))
        lines += [f"| {' | '.join(_escaped(cell) for cell in row.cells)} |" for row in section.rows]
    lines += ["", "## How it was measured", ""]
    lines += [f"- **{section.title}**: {section.how}" for section in sections]
    return "\n".join(lines) + "\n"


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|")
