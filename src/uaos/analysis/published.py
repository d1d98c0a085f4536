"""Our running times beside published ones: the framework's paper and COCO's archive.

The paper gives aRT as ratios to best 2009 on the 13 test instances of each function in 20-D:
Sharma, M., López-Ibáñez, M. & Kazakov, D. (2020), "Unified framework for the adaptive operator
selection of discrete parameters". COCO's archive has the aRT of algorithms on 15 instances.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from uaos.analysis.art import TABLE_TARGETS, running_times
from uaos.analysis.results import Results
from uaos.analysis.sectioning import Section, sections
from uaos.analysis.tables import coco_number, target_name
from uaos.errors import Missing, UnknownName
from uaos.problems import Published, reference, suite
from uaos.table import BLOCK, METHOD, NUMBER, TEXT, Cell, Column, Row, Table
from uaos.text import number

#: The dimension of the paper's runs.
DIMENSION = 20
#: Cells further apart than this factor are marked.
FACTOR = 2.0
#: Our names for the paper's algorithms: the name in its table, and its budget.
PAPER = {
    "U-AOS-FW": ("U-AOS-FW", 2_000_000),
    "RecPM-tuned": ("RecPM-AOS", 2_000_000),
    "PM-AdapSS-tuned": ("PM-AdapSS", 2_000_000),
    "F-AUC-MAB-tuned": ("F-AUC-MAB", 2_000_000),
    "Compass-tuned": ("Compass", 2_000_000),
    "JADE": ("JaDE", 1_000_000),
    "SHADE-restart": ("R-SHADE", 2_000_000),
}
_NOTES = {
    "U-AOS-FW": "The printed configuration of U-AOS-FW does not reproduce its published table on "
    "the ill-conditioned functions f10 to f14; the authors' own program does not solve f10 either.",
    "SHADE-restart": "SHADE-restart is not the published R-SHADE, a SHADE that was tuned for its "
    "budget (Tanabe and Fukunaga, 2015).",
}
# Budgets of the archive's profile, in evaluations / D.
_BUDGETS = (10, 100, 1000, 10_000, 100_000, 1_000_000)


@dataclass(frozen=True)
class PaperCell:
    """Our aRT ratio beside the published one."""

    function: str
    target: float
    ours: float
    published: float

    @property
    def factor(self) -> float:
        """Return ours divided by the published one; 1 if both are infinite."""
        both = np.isinf(self.ours) and np.isinf(self.published)
        return 1.0 if both else self.ours / self.published

    @property
    def is_off(self) -> bool:
        """Return whether the two are more than a factor of 2 apart."""
        return not 1 / FACTOR <= self.factor <= FACTOR


@dataclass(frozen=True)
class PaperComparison:
    """One method against its published table.

    `solved` has, by function, our successes and trials, then theirs. `budget` is what our runs were
    cut to, and `longest` the longest of ours.
    """

    method: str
    cells: tuple[PaperCell, ...]
    solved: dict[str, tuple[int, int, int, int]]
    budget: int
    longest: int

    @property
    def finite(self) -> int:
        """Return the finite published cells that we have runs for."""
        return sum(np.isfinite(c.published) for c in self.cells)

    @property
    def within(self) -> int:
        """Return how many of those cells of ours lie within the factor."""
        return sum(np.isfinite(c.published) and not c.is_off for c in self.cells)

    @property
    def totals(self) -> tuple[int, ...]:
        """Return the columns of `solved`, summed over the functions."""
        return tuple(map(sum, zip(*self.solved.values(), strict=True)))


def against_paper(results: Results, *, seed: int = 1) -> list[PaperComparison]:
    """Compare every method that has a published table, on the published test instances.

    Our runs are read as if they had stopped at the published budget, so that a longer one of ours
    does not look better for its length.

    Parameters
    ----------
    results : Results
        Our runs.
    seed : int
        Of the simulated restarts.

    Returns
    -------
    list of PaperComparison
        One for each method that the paper has a table of; empty if none of the runs are comparable.

    Examples
    --------
    >>> from uaos.analysis import Results, against_paper
    >>> against_paper(Results.read("mine.db"))  # the paper's runs are in 20-D
    []
    """
    references = reference(results.suite)
    if references is None:
        return []
    table = {(c.algorithm, c.function, c.target): c for c in references.published("paper")}
    test_problems = suite("bbob", dimension=DIMENSION, instances="test").names
    comparisons = []
    for method, (theirs, budget) in PAPER.items():
        cells: list[PaperCell] = []
        solved: dict[str, tuple[int, int, int, int]] = {}
        longest = 0
        for all_runs in results.of(method):
            runs = all_runs.on(test_problems).cut(budget)
            if not len(runs):
                continue
            longest = max(longest, int(all_runs.budgets.max()))
            times = references.running_times(runs.function, DIMENSION)
            for cell in running_times(runs, reference=times, seed=seed):
                other = table[theirs, runs.function, cell.target]
                cells.append(PaperCell(runs.function, cell.target, cell.ratio, other.ratio))
                solved[runs.function] = runs.solved, len(runs), other.successes, other.trials
        if cells:
            comparisons.append(PaperComparison(method, tuple(cells), solved, budget, longest))
    return comparisons


def paper_tables(results: Results, *, seed: int = 1) -> list[Table]:
    """Return the summary and a table for each method; an error if there is nothing to compare."""
    compared = against_paper(results, seed=seed)
    if not compared:
        raise Missing(
            "there are no runs to compare with the published table; it takes finished "
            f"{DIMENSION}-D runs of {', '.join(PAPER)} on the published test instances"
        )
    return [paper_summary(compared), *map(paper_table, compared)]


def paper_summary(comparisons: Sequence[PaperComparison]) -> Table:
    """Compare each method with its published table."""
    records = [
        {"method": c.method, "published_as": PAPER[c.method][0], "finite_cells": c.finite,
         "within": c.within, "share": c.within / c.finite if c.finite else np.nan,
         **dict(zip(("solved", "runs", "published_solved", "published_runs"), c.totals,
                    strict=True)),
         "budget": c.budget}
        for c in comparisons
    ]  # fmt: skip
    columns: dict[str, Column] = {
        "method": (METHOD, "method"), "published as": (TEXT, "published_as"),
        "solved": (NUMBER, lambda r: Cell(f"{r['solved']}/{r['runs']}", r["solved"])),
        "published": (NUMBER, lambda r: Cell(f"{r['published_solved']}/{r['published_runs']}",
                                             r["published_solved"])),
        f"within a factor of {FACTOR:g}": (
            NUMBER, lambda r: Cell(f"{r['within']} of {r['finite_cells']}", r["within"])),
        "share": (NUMBER, "share", lambda share: number(share, ".0%")),
        "budget": (NUMBER, "budget", "{:,}".format),
    }  # fmt: skip
    return Table.from_records(
        "paper", f"Against the published table, {DIMENSION}-D, its test instances", columns,
        records,
        note="Solved: error at most 1e-8. The share is of the finite published cells. Our runs "
        "count as if stopped at the published budget.",
    )  # fmt: skip


def paper_table(compared: PaperComparison) -> Table:
    """Compare one method with its published table, function by function."""
    name = PAPER[compared.method][0]
    rows = []
    for function, (ours, trials, theirs, published_trials) in compared.solved.items():
        cells = [
            Cell(f"{coco_number(c.ours)} · {coco_number(c.published)}", c.factor, warning=c.is_off)
            for c in compared.cells
            if c.function == function
        ]
        rows.append(
            [function, *cells, Cell(f"{ours}/{trials} · {theirs}/{published_trials}", float(ours))]
        )
    records = [
        {"method": compared.method, "published_as": name, "dimension": DIMENSION,
         "function": c.function, "target": c.target, "ratio": c.ours,
         "published_ratio": c.published, "factor": c.factor, "off": c.is_off}
        for c in compared.cells
    ]  # fmt: skip
    notes = [f"! marks cells that are more than a factor of {FACTOR:g} apart."]
    if compared.longest < compared.budget:
        notes.append(f"Our runs had {compared.longest:,} evaluations, the published ones "
                     f"{compared.budget:,}.")  # fmt: skip
    _, runs, _, published_runs = compared.totals
    if runs != published_runs:
        notes.append(f"We have {runs} runs, the published table {published_runs}.")
    notes += [_NOTES[compared.method]] if compared.method in _NOTES else []
    columns = {"function": TEXT, **{target_name(t): NUMBER for t in TABLE_TARGETS},
               "solved": NUMBER}  # fmt: skip
    return Table.of(
        f"paper-{compared.method}",
        f"{compared.method}: our aRT ratio · the published one ({name}), {DIMENSION}-D",
        columns, rows, records, " ".join(notes),
    )  # fmt: skip


def archive_names() -> tuple[str, ...]:
    """Return the algorithms of COCO's archive that ship with the package.

    Returns
    -------
    tuple of str
        Their names.

    Examples
    --------
    >>> from uaos.analysis import archive_names
    >>> "HCMA" in archive_names()
    True
    """
    references = reference("bbob")
    assert references is not None
    return tuple(dict.fromkeys(c.algorithm for c in references.published("archive")))


def archive_tables(results: Results, names: Iterable[str], *, seed: int = 1) -> list[Table]:
    """Return the aRT of archived algorithms beside ours, with a profile over the seven targets.

    Parameters
    ----------
    results
        Our runs.
    names
        Algorithms of the archive.
    seed
        Of simulated restarts.

    Returns
    -------
    list of Table
        For each dimension a profile, and the aRT to the seven targets.

    Raises
    ------
    Missing
        If the suite is not BBOB.
    UnknownName
        If an algorithm is not in the archive.

    Examples
    --------
    >>> from uaos.analysis import Results, archive_tables
    >>> [table.name for table in archive_tables(Results.read("mine.db"), ["HCMA"])]
    ['archive-profile', 'archive']
    """
    references = reference(results.suite)
    if references is None:
        raise Missing(f"the archive has no runs on the suite {results.suite}")
    algorithms = list(dict.fromkeys(names))
    for name in algorithms:
        if name not in archive_names():
            raise UnknownName("algorithm of the archive", name, archive_names())
    table = {(c.algorithm, c.function, c.dimension, c.target): c
             for c in references.published("archive")}  # fmt: skip
    tables = []
    for part in sections(results, seed=seed):
        if part.dimension is not None:
            arts = {f: _arts(part, part.dimension, algorithms, table, f) for f in part.functions}
            tables += [_archive_profile(part, part.dimension, arts), _archive_art(part, arts)]
    return tables


#: The aRT to the seven targets, by function and algorithm.
_Arts = dict[str, dict[str, list[float]]]


def _arts(
    section: Section, dimension: int, names: Sequence[str],
    table: dict[tuple[str, str, int, float], Published], function: str,
) -> dict[str, list[float]]:  # fmt: skip
    """Return the aRT of our methods and of the archive's; NaN where it is not there."""
    arts = {m: [c.art for c in section.running_times[m, function]]
             for m in section.methods if (m, function) in section.runs}  # fmt: skip
    for name in names:
        cells = [table.get((name, function, dimension, t)) for t in TABLE_TARGETS]
        arts[f"{name} (archive)"] = [np.nan if c is None else c.art for c in cells]
    return arts


def _archive_art(section: Section, arts_of: _Arts) -> Table:
    rows, records = [], []
    for function, every in arts_of.items():
        least = np.nanmin(np.array(list(every.values())), axis=0)
        for name, arts in every.items():
            cells = [Cell(coco_number(a), a, bold=bool(np.isfinite(a) and a == low))
                     for a, low in zip(arts, least, strict=True)]  # fmt: skip
            kind = "" if name in section.methods else "reference"
            rows.append(Row((Cell(function), Cell(name, name), *cells), kind))
            records += [
                {"algorithm": name, "dimension": section.dimension, "function": function,
                 "target": t, "art": a}
                for t, a in zip(TABLE_TARGETS, arts, strict=True)
            ]  # fmt: skip
    columns = {"function": BLOCK, "algorithm": METHOD}
    columns |= {target_name(t): NUMBER for t in TABLE_TARGETS}
    return Table.of(
        "archive", f"Average running time (aRT) in evaluations beside COCO's archive, "
        f"{section.title}", columns, rows, records,
        note="Bold: the smallest. ∞: never reached. –: not in the archive.",
    )  # fmt: skip


def _archive_profile(section: Section, dimension: int, arts: _Arts) -> Table:
    """Return the share of (function, target) pairs whose aRT is within a budget."""
    rows, records = [], []
    for name in dict.fromkeys(name for f in section.shared for name in arts[f]):
        values = np.array([arts[f][name] for f in section.shared]) / dimension
        missing = int(np.isnan(values).sum())
        shares = [float((values <= b).mean()) for b in (*_BUDGETS, np.finfo(float).max)]
        shares = [np.nan] * len(shares) if missing == values.size else shares
        cells = [Cell(number(share, ".1%"), share) for share in shares]
        rows.append(Row((Cell(name, name), *cells, Cell(str(missing or ""), float(missing))),
                        "" if name in section.methods else "reference"))  # fmt: skip
        records.append(
            {"algorithm": name, "dimension": dimension, "missing": missing, "ever": shares[-1]}
            | {f"within_{b}D": s for b, s in zip(_BUDGETS, shares, strict=False)}
        )
    columns = {"algorithm": METHOD, **{f"{b:,}·D": NUMBER for b in _BUDGETS}, "ever": NUMBER,
               "missing": NUMBER}  # fmt: skip
    return Table.of(
        "archive-profile", f"(Function, target) pairs with aRT within a budget, {section.title}",
        columns, rows, records,
        note=f"Over {len(section.shared)} functions and the seven targets of the archive; the "
        "archive has aRT, not single runs. Missing: pairs that the archive does not have.",
    )  # fmt: skip
