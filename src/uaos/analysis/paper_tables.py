"""The published table beside ours, as tables to be shown."""

import numpy as np

from uaos.analysis.art import printed
from uaos.analysis.best2009 import TABLE_TARGETS
from uaos.analysis.paper import DIMENSION, FACTOR, NAMES, NOTES, Cell, PaperComparison
from uaos.analysis.tables import Table, target_name

#: Ends a cell in which ours and the published number are further apart than the factor.
FLAG = " !"


def paper_table(compared: PaperComparison) -> Table:
    """One method, function by function: ours, then the published number."""
    by_function: dict[str, list[Cell]] = {}
    for cell in compared.cells:
        by_function.setdefault(cell.function, []).append(cell)
    rows = []
    for function, cells in by_function.items():
        ours, trials, theirs, of = compared.solved[function]
        rows.append((function, *map(_beside, cells), f"{ours}/{trials} · {theirs}/{of}"))
    records = [
        {"method": c.method, "published_as": NAMES[c.method], "dimension": DIMENSION,
         "function": c.function, "target": c.target, "ratio": c.ours,
         "published_ratio": c.published, "factor": c.factor, "off": c.is_off}
        for c in compared.cells
    ]  # fmt: skip
    return Table(
        f"paper-{compared.method}",
        f"{compared.method}: our aRT ratio · the published one ({NAMES[compared.method]}), "
        f"{DIMENSION}-D",
        ("f", *map(target_name, TABLE_TARGETS), "solved"), tuple(rows), tuple(records),
        " ".join(_said(compared)),
    )  # fmt: skip


def paper_summary(comparisons: list[PaperComparison]) -> Table:
    """How close we are, a row a method."""
    rows, records = [], []
    for c in comparisons:
        share = c.within / c.finite if c.finite else np.nan
        rows.append(
            (c.method, f"{c.within} of {c.finite}", "–" if np.isnan(share) else f"{share:.0%}",
             f"{c.total(0)}/{c.total(1)}", f"{c.total(2)}/{c.total(3)}", f"{c.budget:,}")
        )  # fmt: skip
        records.append(
            {"method": c.method, "finite_cells": c.finite, "within": c.within, "share": share,
             "solved": c.total(0), "runs": c.total(1), "published_solved": c.total(2),
             "published_runs": c.total(3), "budget": c.budget}
        )  # fmt: skip
    return Table(
        "paper", f"Against the published table, {DIMENSION}-D, its test instances",
        ("method", f"within a factor {FACTOR:g}", "share", "solved", "published", "budget"),
        tuple(rows), tuple(records),
        "The share is of the finite published cells; solved: f − f_opt ≤ 1e-8. Our runs count as "
        "if stopped at the published budget.",
    )  # fmt: skip


def _beside(cell: Cell) -> str:
    return f"{printed(cell.ours)} · {printed(cell.published)}{FLAG if cell.is_off else ''}"


def _said(c: PaperComparison) -> list[str]:
    said = [f"{FLAG.strip()} marks what is more than a factor {FACTOR:g} off."]
    if c.largest < c.budget:
        said.append(f"Our runs had {c.largest:,} evaluations, the published {c.budget:,}.")
    if c.total(1) != c.total(3):
        said.append(f"We have {c.total(1)} runs beside {c.total(3)} published ones.")
    return said + ([NOTES[c.method]] if c.method in NOTES else [])
