"""Our running times beside the published ones, method by method."""

from typing import Any

from uaos.analysis.paper import DIMENSION, NAMES, PaperComparison, against_paper
from uaos.analysis.paper_tables import paper_summary, paper_table
from uaos.analysis.results import Results
from uaos.reporting.report.grid import from_table
from uaos.reporting.report.html import Markup, joined, tag
from uaos.reporting.report.looks import Looks


def compared(results: Results) -> list[PaperComparison]:
    """What can be put beside the published table: nothing, in other dimensions than its own."""
    if DIMENSION not in results.dimensions or not any(m in NAMES for m in results.methods):
        return []
    return against_paper(results)


def published_section(found: list[PaperComparison], looks: Looks) -> Markup:
    """How close we are, and the cells side by side, folded."""
    if not found:
        return Markup("")
    tables = [
        tag("details", tag("summary", looks.called(one.method), tag("span", "cell by cell",
            class_="said")), from_table(paper_table(one), f"paper-{one.method}", looks.called))
        for one in found
    ]  # fmt: skip
    summary = from_table(paper_summary(found), "paper", looks.called, texts=("method",),
                         titled=False)  # fmt: skip
    return joined([tag("h3", "Against the published table"), summary, *tables])


def published_records(found: list[PaperComparison]) -> dict[str, tuple[dict[str, Any], ...]]:
    """The same for programs, by the names of the tables."""
    if not found:
        return {}
    made = {"paper": paper_summary(found).records}
    return made | {f"paper-{one.method}": paper_table(one).records for one in found}
