"""One table type, shown in the terminal, as Markdown, LaTeX, HTML or CSV."""

import csv
import io
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from uaos.files import check_output, whole_file
from uaos.markup import Markup, escaped, joined, tag
from uaos.text import superscript, typeset

if TYPE_CHECKING:
    from rich.console import RenderableType

#: Kinds of columns: names of methods, other words, numbers, and words that head a block of rows.
METHOD, TEXT, NUMBER, BLOCK = "method", "text", "number", "block"
# A terminal narrower than this shows cells without their small print.
_WIDE = 110
# HTML tables with more rows scroll under their heads; LaTeX tables with more run over pages.
_LONG = 40
# HTML tables with more rows are not printed: they would fill many pages.
_UNPRINTED = 150
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "∞": r"$\infty$", "–": "--", "−": "$-$", "★": r"$\star$", "↓": r"$\downarrow$",
    "≤": r"$\leq$", "·": r"$\cdot$", "×": r"$\times$", "α": r"$\alpha$", "χ": r"$\chi$",
    "²": "$^2$", "’": "'", "“": "``", "”": "''", "…": r"\dots{}", "ε": r"$\varepsilon$",
    "\u202f": r"\,", "\u00a0": "~",
}  # fmt: skip
_MINUS = re.compile(r"(?<![\w.])-(?=\d)")


@dataclass(frozen=True)
class Cell:
    """One cell: its text, and `minor`, small print after it, such as a dispersion.

    A column is sorted by `value`, or by the text if that is None. `marks` are signs with an
    exponent, such as ``("★", 3)`` for p < 10⁻³; exponent 1 stands for p < 0.05. A `bold` cell is
    the best of its kind; a `warning` asks for attention. HTML shades a `share` of the cell, a
    number up to 1, and shows the `detail` when the pointer is over it.
    """

    text: str
    value: float | str | None = None
    minor: str = ""
    marks: tuple[tuple[str, int], ...] = ()
    bold: bool = False
    warning: bool = False
    share: float | None = None
    detail: str = ""

    @property
    def plain(self) -> str:
        """Return the cell as one string: text, marks, small print and warning."""
        signs = "".join(s + (superscript(k) if k > 1 else "") for s, k in self.marks)
        flag = " !" if self.warning else ""
        return f"{self.text}{signs}{f' {self.minor}' if self.minor else ''}{flag}"


@dataclass(frozen=True)
class Row:
    """A row; `kind` is "reference" if other rows are compared with it, "winner" or ""."""

    cells: tuple[Cell, ...]
    kind: str = ""
    filters: Mapping[str, object] = field(default_factory=dict)


#: A column of records: its kind, the key of a value and perhaps its format, or what makes a cell.
Column = tuple[str, str] | tuple[str, str, Callable[..., str]] | tuple[str, Callable[..., Cell]]


@dataclass(frozen=True)
class Table:
    """A table.

    Parameters
    ----------
    name
        Name of its file.
    title
        Heading or caption.
    columns
        Each column's title and kind: METHOD, TEXT, NUMBER or BLOCK. A word of a BLOCK column is
        shown once, above the rows that share it.
    rows
        Rows to show.
    records
        Unformatted values, one mapping per observation, for files that programs read.
    note
        Explanation below the table.

    Examples
    --------
    >>> from uaos.analysis import Table
    >>> table = Table.of("solved", "Solved", {"method": "method", "runs": "number"}, [["mix", 3]])
    >>> print(table.to_csv())
    method,runs
    mix,3
    """

    name: str
    title: str
    columns: tuple[tuple[str, str], ...]
    rows: tuple[Row, ...]
    records: tuple[Mapping[str, object], ...] = ()
    note: str = ""

    def __repr__(self) -> str:
        columns = ", ".join(name for name, _ in self.columns)
        return f"<Table {self.name!r} of {len(self.rows)} rows: {columns}>"

    @classmethod
    def of(
        cls,
        name: str,
        title: str,
        columns: Mapping[str, str],
        rows: Iterable[Sequence[object] | Row],
        records: Iterable[Mapping[str, object]] | None = None,
        note: str = "",
    ) -> "Table":
        """Make a table from strings, cells or rows; by default its records are the cells."""
        complete_rows = tuple(_row(row) for row in rows)
        titles = tuple(columns)
        if records is None:
            records = [
                dict(zip(titles, (_value(c) for c in row.cells), strict=True))
                for row in complete_rows
            ]
        return cls(name, title, tuple(columns.items()), complete_rows, tuple(records), note)

    @classmethod
    def from_records(
        cls,
        name: str,
        title: str,
        columns: Mapping[str, Column],
        records: Iterable[Mapping[str, object]],
        note: str = "",
    ) -> "Table":
        """Make a table with a row for each record.

        `columns` maps each title to the kind of the column, followed by the key of a value and
        perhaps its format, or by a function that turns a record into a cell.
        """
        records_read = tuple(records)
        rows = [[_shown(record, *column) for column in columns.values()] for record in records_read]
        return cls.of(name, title, {t: c[0] for t, c in columns.items()}, rows, records_read, note)

    @property
    def titles(self) -> tuple[str, ...]:
        """Return the titles of the columns."""
        return tuple(title for title, _ in self.columns)

    def texts(self) -> list[tuple[str, ...]]:
        """Return every row as plain strings."""
        return [tuple(cell.plain for cell in row.cells) for row in self.rows]

    def to_markdown(self) -> str:
        """Render as Markdown, with the title as a heading."""
        marks = [" :-- " if kind != NUMBER else " --: " for _, kind in self.columns]
        rule = "|" + "|".join(marks) + "|"
        lines = [f"### {self.title}", "", _pipes(self.titles), rule]
        for row in self.rows:
            lines.append(_pipes(f"**{c.plain}**" if c.bold else c.plain for c in row.cells))
        return "\n".join([*lines, "", *([self.note, ""] if self.note else [])])

    def to_csv(self) -> str:
        """Render the records as CSV."""
        written = io.StringIO()
        if self.records:
            columns = dict.fromkeys(key for record in self.records for key in record)
            writer = csv.DictWriter(written, list(columns), lineterminator="\n", restval="")
            writer.writeheader()
            writer.writerows(self.records)
        return written.getvalue()

    def to_latex(self) -> str:
        """Render as LaTeX; needs the packages booktabs and, for long tables, longtable."""
        align = "".join("r" if kind == NUMBER else "l" for _, kind in self.columns)
        head = " & ".join(map(_latex, self.titles)) + r" \\"
        body, previous = [], ""
        for row in self.rows:
            cells, first = [_latex_cell(c) for c in row.cells], row.cells[0].text
            if self.columns[0][1] == BLOCK:
                if previous and first != previous:
                    body.append(r"\midrule")
                cells[0] = "" if first == previous else cells[0]
                previous = first
            body.append(" & ".join(cells) + r" \\")
        note = rf"\par\smallskip{{\footnotesize {_latex(self.note)}}}" if self.note else ""
        caption = rf"\caption{{{_latex(self.title)}}}\label{{tab:{self.name}}}"
        if len(self.rows) > _LONG:
            parts = [rf"\begin{{longtable}}{{{align}}}", caption + r" \\", r"\toprule", head,
                     r"\midrule", r"\endfirsthead", r"\toprule", head, r"\midrule", r"\endhead",
                     *body, r"\bottomrule", r"\end{longtable}", note]  # fmt: skip
        else:
            parts = [r"\begin{table}", r"\centering", caption, rf"\begin{{tabular}}{{{align}}}",
                     r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}",
                     note, r"\end{table}"]  # fmt: skip
        return "\n".join(part for part in parts if part) + "\n"

    def to_rich(self, width: int) -> "RenderableType":
        """Render for a terminal that is `width` characters wide."""
        from rich.cells import cell_len
        from rich.console import Group
        from rich.table import Table as RichTable
        from rich.text import Text

        lines, previous = [], None
        for row in self.rows:
            cells = [c if width >= _WIDE else replace(c, minor="") for c in row.cells]
            shown = [(cell.plain, _style(cell, row)) for cell in cells]
            if self.columns[0][1] == BLOCK:
                if cells[0].text == previous:
                    shown[0] = (replace(cells[0], text="").plain, shown[0][1])
                previous = cells[0].text
            lines.append(shown)
        note = [Text(self.note, style="dim")] if self.note else []
        widths = [max(map(cell_len, (title, *(line[i][0] for line in lines))))
                  for i, title in enumerate(self.titles)]  # fmt: skip
        if sum(widths) + 2 * len(widths) <= width:
            # Nothing has to be folded: rich would take seconds for a thousand rows.
            grid = Text(no_wrap=True)
            for line in ([(title, "bold") for title in self.titles], *lines):
                grid.append("\n" if grid else "")
                for (text, style), (_, kind), size in zip(line, self.columns, widths, strict=True):
                    space = " " * (size - cell_len(text))
                    grid.append(space + text if kind == NUMBER else text + space, style)
                    grid.append("  ")
            return Group(Text(self.title, style="bold"), grid, *note, Text(""))
        folded = RichTable(
            box=None, padding=(0, 2, 0, 0), pad_edge=False, title=Text(self.title),
            title_justify="left", title_style="bold",
        )  # fmt: skip
        for title, kind in self.columns:
            folded.add_column(title, justify="right" if kind == NUMBER else "left", overflow="fold")
        for line in lines:
            folded.add_row(*(Text(text, style=style) for text, style in line))
        return Group(folded, *note, Text(""))

    def to_html(
        self, *, method: Callable[[str], Markup] = escaped, show_title: bool = True,
        download: bool = True,
    ) -> Markup:  # fmt: skip
        """Render as HTML, which a script can sort, filter and, with `download`, save as CSV.

        `method` renders the name of a method. Without `show_title` only screen readers announce the
        title, because a heading shows it.
        """
        title, count = typeset(self.title), len(self.rows)
        head = [
            tag("th", tag("button", typeset(name), type="button"), scope="col", data_column=i,
                class_=None if kind == NUMBER else "words")
            for i, (name, kind) in enumerate(self.columns)
        ]  # fmt: skip
        caption = tag("caption", tag("span", title), class_=None if show_title else "hidden")
        body = tag("tbody", *(self._html_row(row, method) for row in self.rows))
        table = tag("table", caption, tag("thead", tag("tr", *head)), body, data_table=self.name)
        look = "scroll" + " long" * (count > _LONG) + " unprinted" * (count > _UNPRINTED)
        parts = [tag("div", table, class_=look, tabindex="0", role="region", aria_label=title)]
        if count > _UNPRINTED:
            parts.append(tag("p", f"{title}: {count} rows, not printed.", class_="note printed"))
        under = [tag("p", typeset(self.note), class_="note")] if self.note else []
        if download:
            under.append(tag("button", "CSV", type="button", class_="csv", data_csv=self.name,
                             title=f"Save “{title}” as CSV"))  # fmt: skip
        return joined([*parts, tag("div", *under, class_="under")])

    def _html_row(self, row: Row, method: Callable[[str], Markup]) -> Markup:
        cells = [
            tag("td" if i else "th", _inner(cell, kind, method), scope=None if i else "row",
                **_attributes(cell, kind))
            for i, (cell, (_, kind)) in enumerate(zip(row.cells, self.columns, strict=True))
        ]  # fmt: skip
        filters = {f"data_{key}": value for key, value in row.filters.items()}
        return tag("tr", *cells, class_=row.kind or None, **filters)


def write_csv(tables: Sequence[Table], folder: Path, *, overwrite: bool = False) -> list[Path]:
    """Write the records of tables as CSV files into a folder, one file per table name.

    Parameters
    ----------
    tables : sequence of Table
        Tables; those of the same name share a file.
    folder : Path
        Created if it does not exist.
    overwrite : bool
        Whether to replace a file that has other columns.

    Returns
    -------
    list of Path
        The files written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from uaos.analysis import Results, compare, write_csv
    >>> files = write_csv(compare(Results.read("mine.db")).tables, Path("tables"))
    >>> files[0].suffix
    '.csv'
    """
    folder.mkdir(parents=True, exist_ok=True)
    texts = {}
    for name in dict.fromkeys(table.name for table in tables):
        same = [table for table in tables if table.name == name]
        text = replace(same[0], records=sum((t.records for t in same), ())).to_csv()
        if text:
            path = folder / f"{name}.csv"
            texts[path] = text
            check_output(path, columns=text.partition("\n")[0], overwrite=overwrite)
    for path, text in texts.items():
        with whole_file(path) as part:
            part.write_text(text, encoding="utf-8")
    return list(texts)


def _row(row: Sequence[object] | Row) -> Row:
    if isinstance(row, Row):
        return row
    return Row(tuple(c if isinstance(c, Cell) else Cell(str(c)) for c in row))


def _shown(
    record: Mapping[str, object],
    kind: str,
    content: str | Callable[..., Cell],
    form: Callable[..., str] = str,
) -> Cell:
    if callable(content):
        return content(record)
    value = cast(float | str, record[content])
    return Cell(form(value), None if kind in (TEXT, BLOCK) else value)


def _value(cell: Cell) -> float | str:
    return cell.text if cell.value is None else cell.value


def _pipes(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _latex(text: str) -> str:
    return _MINUS.sub("$-$", "".join(_LATEX.get(sign, sign) for sign in text))


def _latex_cell(cell: Cell) -> str:
    text = _latex(cell.text)
    text = rf"\textbf{{{text}}}" if cell.bold else text
    signs = "".join(f"$^{{{_latex(s).strip('$')}{k if k > 1 else ''}}}$" for s, k in cell.marks)
    minor = rf" {{\footnotesize {_latex(cell.minor)}}}" if cell.minor else ""
    return f"{text}{signs}{minor}" + (r"\,!" if cell.warning else "")


def _style(cell: Cell, row: Row) -> str:
    if cell.warning:
        return "bold red"
    if row.kind == "reference":
        return "dim"
    return "bold" if cell.bold else ""


def _attributes(cell: Cell, kind: str) -> dict[str, object]:
    looks = {"words": kind != NUMBER, "best": cell.bold, "share": cell.share is not None,
             "never": cell.text == "∞", "warning": cell.warning,
             "wrap": len(cell.text) > 60}  # fmt: skip
    is_nan = isinstance(cell.value, float) and math.isnan(cell.value)
    share = cell.share
    if share is not None:
        share = 0.0 if math.isnan(share) else share
    return {
        "class_": " ".join(look for look, on in looks.items() if on) or None,
        "data_sort": "" if is_nan else cell.value,
        "style": None if share is None else f"--s:{100 * share:.0f}%",
    }


def _inner(cell: Cell, kind: str, method: Callable[[str], Markup]) -> Markup:
    if kind == METHOD and cell.text not in ("", "–"):
        names = cell.text.split(", ") if not isinstance(cell.value, str) else [cell.text]
        return joined(map(method, names), ", ")
    signs = [
        tag("span", s, superscript(k) if k > 1 else "", class_="star",
            title="p < 0.05" if k < 2 else f"p < 1e-{k}")
        for s, k in cell.marks
    ]  # fmt: skip
    minor = tag("small", f" {typeset(cell.minor)}") if cell.minor else ""
    inner = joined([typeset(cell.text), minor, *signs, " !" if cell.warning else ""])
    return tag("span", inner, title=cell.detail) if cell.detail else inner
