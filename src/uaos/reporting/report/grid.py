"""Tables that are sorted, filtered and saved as CSV by the reader."""

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from uaos.analysis.tables import Table
from uaos.reporting.report.html import Markup, joined, markup, prose, tag

# A table with more rows scrolls under its heads.
_LONG = 40


@dataclass(frozen=True)
class Cell:
    """What a cell shows, the number it is sorted by (NaN last), and its look."""

    shown: object
    sort: float | str | None = None
    look: str = ""
    style: str = ""


@dataclass(frozen=True)
class Row:
    """Cells, and what the row can be filtered by."""

    cells: tuple[Cell, ...]
    look: str = ""
    filters: Mapping[str, object] | None = None


def grid(
    name: str,
    title: str,
    columns: Sequence[object],
    rows: Iterable[Row],
    *,
    note: object = "",
    texts: int = 1,
    saved: bool = True,
    titled: bool = True,
) -> Markup:
    """A table; `name` is that of its CSV, `texts` how many columns are words, not numbers.

    Its title is for those who listen only, if it is not `titled`: a heading says the same.
    """
    head = tag("tr", *(
        tag("th", tag("button", markup(c), type="button"), scope="col",
            class_="words" if i < texts else None, data_column=i)
        for i, c in enumerate(columns)
    ))  # fmt: skip
    given = list(rows)
    body = tag("tbody", *(_row(row, texts) for row in given))
    look = "scroll long" if len(given) > _LONG else "scroll"
    caption = tag("caption", tag("span", title), class_=None if titled else "hidden")
    table = tag("table", caption, tag("thead", head), body, data_table=name)
    tools = tag("button", "CSV", type="button", class_="csv", data_csv=name,
                title=f"Save “{title}” as CSV") if saved else ""  # fmt: skip
    return joined([
        tag("div", table, class_=look, tabindex="0", role="region", aria_label=title),
        tag("div", tag("p", note, class_="note") if note else "", tools, class_="under"),
    ])  # fmt: skip


def _row(row: Row, texts: int) -> Markup:
    cells = []
    for i, cell in enumerate(row.cells):
        look = " ".join(filter(None, ("words" if i < texts else "", cell.look)))
        key = cell.sort
        if isinstance(key, float) and math.isnan(key):
            key = ""
        cells.append(
            tag("th" if i == 0 else "td", cell.shown, class_=look or None, data_sort=key,
                style=cell.style or None, scope="row" if i == 0 else None)
        )  # fmt: skip
    filters = {f"data_{k}": v for k, v in (row.filters or {}).items()}
    return tag("tr", *cells, class_=row.look or None, **filters)


def from_table(
    table: Table, name: str, called: Any, *, texts: Sequence[str] = (), titled: bool = True
) -> Markup:
    """A table of the comparison; in the columns `texts` stand methods."""
    kinds = [column in texts for column in table.columns]
    rows = [
        Row(tuple(
            Cell(called(cell), cell) if is_method and cell not in ("", "–") else Cell(prose(cell))
            for cell, is_method in zip(row, kinds, strict=True)
        ))
        for row in table.rows
    ]  # fmt: skip
    words = next((i for i, is_method in enumerate(kinds) if not is_method), len(kinds))
    return grid(name, table.title, table.columns, rows, note=prose(table.note), texts=words,
                titled=titled)  # fmt: skip


def csv_text(records: Sequence[Mapping[str, Any]]) -> str:
    """Records as CSV."""
    written = io.StringIO()
    if records:
        writer = csv.DictWriter(written, list(records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
    return written.getvalue()
