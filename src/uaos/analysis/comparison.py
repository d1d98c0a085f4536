"""A whole comparison: tables, verdict and what has to be said about the data."""

from dataclasses import dataclass

from uaos.analysis.paper import DIMENSION, NAMES, against_paper
from uaos.analysis.paper_tables import paper_summary, paper_table
from uaos.analysis.results import Results
from uaos.analysis.scores import Scores, scores
from uaos.analysis.statistics import friedman, pairwise
from uaos.analysis.tables import Table, art_table, overview, pair_table, ranking_table
from uaos.analysis.verdict import Verdict, verdict
from uaos.errors import Missing


@dataclass(frozen=True)
class Section:
    """The comparison in one dimension."""

    dimension: int
    tables: tuple[Table, ...]
    verdict: Verdict
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """The comparison in every dimension, and beside the published table if that was asked for."""

    sections: tuple[Section, ...]
    paper: tuple[Table, ...] = ()

    @property
    def tables(self) -> list[Table]:
        """All tables in the order in which they are shown."""
        return [t for section in self.sections for t in section.tables] + list(self.paper)

    def to_markdown(self) -> str:
        """The comparison as Markdown, headings from the second level on."""
        parts = []
        for section in self.sections:
            parts += [f"## {section.dimension}-D", "", f"**{section.verdict.headline}**", ""]
            parts += [f"- {line}" for line in (*section.verdict.details, *section.notes)]
            parts += ["", *(table.to_markdown() for table in section.tables)]
        if self.paper:
            parts += ["## Against the published table", ""]
            parts += [table.to_markdown() for table in self.paper]
        return "\n".join(parts).rstrip() + "\n"


def compare(results: Results, *, paper: bool = False, seed: int = 1) -> Comparison:
    """Compare the methods, dimension by dimension; `seed` is for the simulated restarts."""
    if not results.runs:
        failed = sum(results.failed.values())
        but = f"; {failed} failed" if failed else ""
        raise Missing(f"there are no finished runs of these methods and functions to compare{but}")
    sections = tuple(_section(results, d, seed) for d in results.dimensions)
    if not paper:
        return Comparison(sections)
    compared = against_paper(results, seed=seed)
    if not compared:
        raise Missing(
            "there are no runs to put beside the published table; it takes finished "
            f"{DIMENSION}-D runs of {', '.join(NAMES)} on the published test instances"
        )
    return Comparison(sections, (paper_summary(compared), *map(paper_table, compared)))


def _section(results: Results, dimension: int, seed: int) -> Section:
    table = scores(results, dimension)
    ranking = friedman(table)
    tables = [overview(results, dimension, ranking, seed=seed)]
    tables.append(art_table(results, dimension, seed=seed))
    if len(table.methods) > 1 and table.problems:
        tables.append(pair_table(pairwise(table), pairwise(table.by_function()), dimension))
        tables.append(ranking_table(ranking, dimension))
    said = verdict(table, results.configurations)
    return Section(dimension, tuple(tables), said, tuple(_notes(results, dimension, table)))


def _notes(results: Results, dimension: int, table: Scores) -> list[str]:
    notes = []
    if table.left_out:
        shared, every = len(table.problems), len(table.problems) + table.left_out
        notes.append(
            f"Tests and ranks take the {shared} of {every} problems that every method was run on."
        )
    budgets: dict[int, list[str]] = {}
    for method in table.methods:
        most = max(int(r.budgets.max()) for r in results.of(method, dimension))
        budgets.setdefault(most, []).append(method)
    if len(budgets) > 1:
        each = "; ".join(f"{b:,} for {', '.join(m)}" for b, m in sorted(budgets.items()))
        notes.append(f"The budgets differ: {each}.")
    for method, count in results.failed.items():
        unit, be = ("unit", "is") if count == 1 else ("units", "are")
        notes.append(f"{count} {unit} of {method} failed, and {be} in no number here.")
    return notes
