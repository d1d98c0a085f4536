"""A comparison: the tables of every section, the answer in words, and published numbers."""

from collections.abc import Sequence
from dataclasses import dataclass

from uaos.analysis.findings import headline, verdict
from uaos.analysis.published import archive_tables, paper_tables
from uaos.analysis.results import Results
from uaos.analysis.sectioning import Section, sections
from uaos.analysis.tables import section_tables
from uaos.errors import InvalidParameter
from uaos.table import Table
from uaos.text import count

#: With more methods, the tests of all pairs would take minutes.
MOST_METHODS = 1000


@dataclass(frozen=True)
class ComparedSection:
    """One section: its tables, which method did best, whether adapting pays, and notes."""

    section: Section
    tables: tuple[Table, ...]
    headline: str
    verdict: str
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<{self.section.title}, {count(len(self.tables), 'table')}: {self.headline}>"


@dataclass(frozen=True)
class Comparison:
    """The comparison of every section. Made by :func:`compare`.

    Attributes
    ----------
    sections : tuple
        For each section its `tables`, `headline`, `verdict` and `notes`.
    published : tuple of Table
        Our numbers beside published ones.
    """

    sections: tuple[ComparedSection, ...]
    published: tuple[Table, ...] = ()

    def __repr__(self) -> str:
        tables = count(len(self.tables), "table")
        return f"<Comparison, {tables}: {' '.join(s.headline for s in self.sections)}>"

    @property
    def tables(self) -> list[Table]:
        """Return all tables in the order in which they are shown."""
        return [t for section in self.sections for t in section.tables] + list(self.published)

    def to_markdown(self) -> str:
        """Render as Markdown, with headings of the second level."""
        parts = []
        for part in self.sections:
            parts += [f"## {part.section.title}", "", f"**{part.headline}** {part.verdict}", ""]
            parts += [f"- {line}" for line in part.notes] + ([""] if part.notes else [])
            parts += [table.to_markdown() for table in part.tables]
        if self.published:
            parts += ["## Beside published numbers", ""]
            parts += [table.to_markdown() for table in self.published]
        return "\n".join(parts).rstrip() + "\n"

    def to_latex(self) -> str:
        """Render every table as LaTeX."""
        head = "% Needs \\usepackage{booktabs,longtable}\n"
        return head + "\n".join(table.to_latex() for table in self.tables)


def compare(
    results: Results,
    *,
    paper: bool = False,
    archive: Sequence[str] = (),
    seed: int = 1,
    focus: str | None = None,
) -> Comparison:
    """Compare the methods, section by section.

    Parameters
    ----------
    results
        The runs.
    paper
        Whether to compare with the published table of the framework's paper.
    archive
        Algorithms of COCO's archive to compare with.
    seed
        The seed of the simulated restarts.
    focus
        The method that the comparison is about: headline, tests and the first table are those of
        this method against each of the others.

    Returns
    -------
    Comparison
        The tables, and the findings in words.

    Raises
    ------
    Missing
        If there are no finished runs, or none on problems of the paper.
    InvalidParameter
        If there are more than 1,000 methods, and none is in focus.

    Examples
    --------
    >>> from uaos.analysis import Results, compare
    >>> comparison = compare(Results.read("mine.db"))
    >>> print(comparison.to_markdown())
    ## 2-D
    ...
    """
    if focus is None and len(results.methods) > MOST_METHODS:
        raise InvalidParameter(
            f"{len(results.methods):,} methods are too many to compare all pairs; expected at most "
            f"{MOST_METHODS:,}. Name some of them (--methods)",
            name="methods",
            value=len(results.methods),
        )
    compared = tuple(_compared(part, results) for part in sections(results, seed=seed, focus=focus))
    published: list[Table] = paper_tables(results, seed=seed) if paper else []
    if archive:
        published += archive_tables(results, archive, seed=seed)
    return Comparison(compared, tuple(published))


def _compared(part: Section, results: Results) -> ComparedSection:
    failed = [
        f"{count(n, 'run')} of {method} failed and {'is' if n == 1 else 'are'} not included."
        for method, n in results.failed.items()
    ]
    return ComparedSection(
        part, tuple(section_tables(part)), headline(part), verdict(part).headline,
        (*part.notes, *failed),
    )  # fmt: skip
