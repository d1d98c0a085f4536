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
from uaos.analysis.section import Section, sections
from uaos.analysis.table import BLOCK, METHOD, NUMBER, TEXT, Cell, Row, Table
from uaos.analysis.tables import coco_number, target_name
from uaos.errors import Missing, UnknownName
from uaos.problems import Published, reference, suite

#: Where the paper's runs were made.
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
    "R-SHADE": ("R-SHADE", 2_000_000),
}
_NOTES = {
    "U-AOS-FW": "The printed configuration of U-AOS-FW does not reproduce its published table on "
    "the ill-conditioned functions f10 to f14; the authors' own program does not solve f10 either."
}
_TITLES = {"paper": "The framework's paper", "archive": "COCO's archive"}


@dataclass(frozen=True)
class PaperCell:
    """Our aRT ratio beside the published one."""

    function: str
    target: float
    ours: float
    published: float

    @property
    def factor(self) -> float:
        """Ours divided by the published one; 1 if both are infinite."""
        if np.isinf(self.ours) and np.isinf(self.published):
            return 1.0
        return self.ours / self.published

    @property
    def is_off(self) -> bool:
        """Whether the two are more than a factor of 2 apart."""
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
        """Finite published cells that we have runs for."""
        return sum(np.isfinite(c.published) for c in self.cells)

    @property
    def within(self) -> int:
        """How many of those of ours lie within the factor."""
        return sum(np.isfinite(c.published) and not c.is_off for c in self.cells)

    def total(self, column: int) -> int:
        """Return a column of `solved`, summed over the functions."""
        return sum(row[column] for row in self.solved.values())


def against_paper(results: Results, *, seed: int = 1) -> list[PaperComparison]:
    """Compare every method that has a published table, on the published test instances.

    Our runs are read as if they had stopped at the published budget, so that a longer one of ours
    does not look better for its length.
    """
    if reference(results.suite) is None:
        return []
    return [c for method in PAPER if (c := _compared(results, method, seed)).cells]


def _compared(results: Results, method: str, seed: int) -> PaperComparison:
    theirs, budget = PAPER[method]
    known = reference(results.suite)
    assert known is not None
    table = {(c.function, c.target): c for c in known.published("paper") if c.algorithm == theirs}
    cells: list[PaperCell] = []
    solved: dict[str, tuple[int, int, int, int]] = {}
    longest = 0
    for all_runs in results.of(method):
        if all_runs.dimension != DIMENSION:
            continue
        runs = all_runs.on(_test_problems()).cut(budget)
        if not len(runs):
            continue
        longest = max(longest, int(all_runs.budgets.max()))
        times = known.running_times(runs.function, DIMENSION)
        for cell in running_times(runs, reference=times, seed=seed):
            published = table[runs.function, cell.target]
            cells.append(PaperCell(runs.function, cell.target, cell.ratio, published.ratio))
            solved[runs.function] = (
                runs.solved, len(runs), published.successes, published.trials
            )  # fmt: skip
    return PaperComparison(method, tuple(cells), solved, budget, longest)


def _test_problems() -> tuple[str, ...]:
    return suite("bbob", dimension=DIMENSION, instances="test").names


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
    """How close each method is to its published table."""
    rows, records = [], []
    for c in comparisons:
        share = c.within / c.finite if c.finite else np.nan
        rows.append([
            Cell(c.method, c.method), PAPER[c.method][0],
            Cell(f"{c.total(0)}/{c.total(1)}", float(c.total(0))),
            Cell(f"{c.total(2)}/{c.total(3)}", float(c.total(2))),
            Cell(f"{c.within} of {c.finite}", float(c.within)),
            Cell("–" if np.isnan(share) else f"{share:.0%}", share),
            Cell(f"{c.budget:,}", float(c.budget)),
        ])  # fmt: skip
        records.append({
            "method": c.method, "published_as": PAPER[c.method][0], "finite_cells": c.finite,
            "within": c.within, "share": share, "solved": c.total(0), "runs": c.total(1),
            "published_solved": c.total(2), "published_runs": c.total(3), "budget": c.budget,
        })  # fmt: skip
    columns = {"method": METHOD, "published as": TEXT, "solved": NUMBER, "published": NUMBER,
               f"within a factor of {FACTOR:g}": NUMBER, "share": NUMBER,
               "budget": NUMBER}  # fmt: skip
    return Table.of(
        "paper", f"Against the published table, {DIMENSION}-D, its test instances", columns, rows,
        records,
        note="Solved: error at most 1e-8. The share is of the finite published cells. Our runs "
        "count as if stopped at the published budget.",
    )  # fmt: skip


def paper_table(compared: PaperComparison) -> Table:
    """One method, function by function: ours, then the published number."""
    by_function: dict[str, list[PaperCell]] = {}
    for cell in compared.cells:
        by_function.setdefault(cell.function, []).append(cell)
    rows = []
    for function, cells in by_function.items():
        ours, trials, theirs, of = compared.solved[function]
        rows.append([
            function,
            *(Cell(f"{coco_number(c.ours)} · {coco_number(c.published)}", c.factor,
                   warning=c.is_off) for c in cells),
            Cell(f"{ours}/{trials} · {theirs}/{of}", float(ours)),
        ])  # fmt: skip
    name = PAPER[compared.method][0]
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
    if compared.total(1) != compared.total(3):
        notes.append(f"We have {compared.total(1)} runs, the published table {compared.total(3)}.")
    notes += [_NOTES[compared.method]] if compared.method in _NOTES else []
    columns = {"function": TEXT, **{target_name(t): NUMBER for t in TABLE_TARGETS},
               "solved": NUMBER}  # fmt: skip
    return Table.of(
        f"paper-{compared.method}",
        f"{compared.method}: our aRT ratio · the published one ({name}), {DIMENSION}-D",
        columns, rows, records, " ".join(notes),
    )  # fmt: skip


# COCO's archive


def archive_names() -> tuple[str, ...]:
    """Return the algorithms of COCO's archive that ship with the package."""
    known = reference("bbob")
    assert known is not None
    return tuple(dict.fromkeys(c.algorithm for c in known.published("archive")))


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
    """
    known = reference(results.suite)
    if known is None:
        raise Missing(f"the archive has no runs on the suite {results.suite}")
    wanted = list(dict.fromkeys(names))
    for name in wanted:
        if name not in archive_names():
            raise UnknownName("algorithm of the archive", name, archive_names())
    table = {(c.algorithm, c.function, c.dimension, c.target): c
             for c in known.published("archive") if c.algorithm in wanted}  # fmt: skip
    tables = []
    for part in sections(results, seed=seed):
        if part.dimension is not None:
            tables += [_archive_profile(part, wanted, table), _archive_art(part, wanted, table)]
    return tables


_Table = dict[tuple[str, str, int, float], Published]


def _arts(section: Section, names: Sequence[str], table: _Table, function: str
          ) -> dict[str, list[float]]:  # fmt: skip
    """The aRT to the seven targets of our methods and of the archive's; NaN if not there."""
    D = section.dimension
    assert D is not None
    found = {m: [c.art for c in section.running_times[m, function]]
             for m in section.methods if (m, function) in section.runs}  # fmt: skip
    for name in names:
        cells = [table.get((name, function, D, t)) for t in TABLE_TARGETS]
        found[f"{name} (archive)"] = [np.nan if c is None else c.art for c in cells]
    return found


def _archive_art(section: Section, names: Sequence[str], table: _Table) -> Table:
    rows, records = [], []
    for function in section.functions:
        every = _arts(section, names, table, function)
        least = np.nanmin(np.array(list(every.values())), axis=0)
        for name, arts in every.items():
            cells = [
                Cell(coco_number(a), a, bold=bool(np.isfinite(a) and a == least[i]))
                for i, a in enumerate(arts)
            ]
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
        note="Bold: the least. ∞: never reached. –: not in the archive.",
    )  # fmt: skip


def _archive_profile(section: Section, names: Sequence[str], table: _Table) -> Table:
    """The share of (function, target) pairs whose aRT is within a budget."""
    D = section.dimension
    assert D is not None
    budgets = (10, 100, 1000, 10_000, 100_000, 1_000_000)
    times: dict[str, list[float]] = {}
    for function in section.shared:
        for name, arts in _arts(section, names, table, function).items():
            times.setdefault(name, []).extend(arts)
    rows, records = [], []
    for name, arts in times.items():
        values = np.array(arts) / D
        if np.isnan(values).all():
            shares = [np.nan] * (len(budgets) + 1)
        else:
            shares = [float((values <= b).mean()) for b in budgets]
            shares.append(float(np.isfinite(values).mean()))
        missing = int(np.isnan(values).sum())
        cells = [Cell("–" if np.isnan(s) else f"{s:.1%}", s) for s in shares]
        rows.append(Row((Cell(name, name), *cells, Cell(str(missing or ""), float(missing))),
                        "" if name in section.methods else "reference"))  # fmt: skip
        records.append(
            {"algorithm": name, "dimension": D, "missing": missing, "ever": shares[-1]}
            | {f"within_{b}D": s for b, s in zip(budgets, shares, strict=False)}
        )
    columns = {"algorithm": METHOD, **{f"{b:,}·D": NUMBER for b in budgets}, "ever": NUMBER,
               "missing": NUMBER}  # fmt: skip
    return Table.of(
        "archive-profile", f"(Function, target) pairs with aRT within a budget, {section.title}",
        columns, rows, records,
        note=f"Over {len(section.shared)} functions and the seven targets of the archive; the "
        "archive has aRT, not single runs. Missing: pairs that the archive does not have.",
    )  # fmt: skip
